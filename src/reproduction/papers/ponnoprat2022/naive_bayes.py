"""Compute Figures 4, 5, 9 and 10, which show results of naive Bayes classifiers on the UCI data sets. The classifiers
satisfy Rényi or approximate differential privacy.

The variants are `published`, the author's protocol (its binning loses test cells, noisy counts are raised to 1e-6, one
split, 1e-20 is added to probabilities); `as_written`, which draws the Dirichlet variables over classes as section 5.1
states; and `corrected`, which bins every test value, charges the exact Laplace cost, and raises noisy counts to the
standard deviation of the noise.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._models import calibrated_noise, naive_bayes
from dpmultinomial._models.calibrated_noise import Noise
from dpmultinomial._models.coded_table import CodedTable
from dpmultinomial._models.naive_bayes import Counts
from dpmultinomial._seeding import stream

from . import experiment
from .experiment import Split

PUBLISHED_FLOOR = 1e-6
PUBLISHED_CAP = 1e-20
# noise of a cell, number of releases per model, and delta; only in `approximate`
SPENT = ("noise_sd", "histograms", "delta")
COLUMNS = (
    *("dataset", "variant", "method", "floor", "epsilon", "split", "repeat", "cross_entropy", "accuracy"),
    *(*SPENT, "note"),
)


def runs(
    table: CodedTable | str,
    *,
    name: str,
    order: float,
    epsilons: Sequence[float],
    repeats: int,
    splits: int,
    floors: Sequence[float | str],
    bins: int = experiment.BINS,
    root_seed: int,
) -> pd.DataFrame:
    """Return the scores of every model on the test records, with one row per release.

    Parameters
    ----------
    table : the data set, or the reason why it is unavailable (the result is then one row without numbers).
    name : name of the data set.
    order : Rényi order.
    epsilons : budgets of a whole model.
    repeats : number of releases per split and budget.
    splits : number of 70-30 splits of the corrected variant; all other variants use the first split.
    floors : lower bounds of noisy counts in the corrected variant; numbers or ``"sigma"``.
    bins : intervals of a numeric column.
    root_seed : root seed; the streams are named after the paper, "naive_bayes", the data set, the variant and the
        split.
    """
    if isinstance(table, str):
        return missing(name, table)
    parts = []
    for number in range(splits):
        for variant in ("published", "as_written", "corrected") if number == 0 else ("corrected",):
            rng = stream(root_seed, "ponnoprat2022", "naive_bayes", name, variant, number)
            counts, test = prepared(table, variant, number, bins)
            todo = list(_releases(counts, variant, order, epsilons, floors, repeats))
            rows = [_scored(counts, test, variant, *job, repeats=repeats, rng=rng) for job in todo]
            rows += [_reference(counts, test, variant)]
            parts.append(pd.concat(rows, ignore_index=True).assign(variant=variant, split=number))
    return _finish(pd.concat(parts, ignore_index=True), name)


def prepared(table: CodedTable, variant: str, number: int, bins: int = experiment.BINS) -> tuple[Counts, Split]:
    """Return, for one variant of the experiment, the counts of the training records, and the split into training and
    test records.
    """
    if variant == "published":
        split = experiment.split(experiment.published_table(table), number, match="exact", bins=bins)
    else:
        split = experiment.split(table, number, bins=bins)
    features, labels = split.train[:, :-1], np.ascontiguousarray(split.train[:, -1])
    return Counts(features, labels, sizes=split.sizes[:-1], classes=table.classes), split


def _releases(
    counts: Counts, variant: str, order: float, epsilons: Sequence[float], floors: Sequence[float | str], repeats: int
) -> Iterator[tuple[str, float | str, NDArray, Noise]]:
    """Yield a tuple (method, floor, epsilons, noise) for every combination of a mechanism and a floor in a variant of
    the experiment. The floor is the lower bound of the noisy counts.
    """
    each = np.asarray(epsilons) / (counts.features + 1)
    corrected = variant == "corrected"
    for mechanism in calibrated_noise.MECHANISMS:
        law = calibrated_noise.calibrated(mechanism, each, order=order, laplace="exact" if corrected else "one cell")
        if mechanism == "dirichlet":
            yield mechanism, "none", np.repeat(epsilons, repeats), law.repeated(repeats)
            if corrected:
                tight = calibrated_noise.calibrated(mechanism, each, order=order, exact=True)
                yield "dirichlet, exact", "none", np.repeat(epsilons, repeats), tight.repeated(repeats)
            continue
        for floor in floors if corrected else (PUBLISHED_FLOOR,):
            yield mechanism, floor, np.repeat(epsilons, repeats), law.repeated(repeats)


def _scored(
    counts: Counts,
    test: Split,
    variant: str,
    method: str,
    floor: float | str,
    epsilons: NDArray[np.float64],
    law: Noise,
    *,
    repeats: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    direction = "classes" if variant == "as_written" else "categories"
    used = floor if law.law != "dirichlet" else 1.0
    model = counts.release(law, floor=used, rng=rng, direction=direction)
    scores = _score(model, counts, test, variant)
    return pd.DataFrame(
        {
            "method": method,
            "floor": str(floor),
            "epsilon": epsilons,
            "repeat": np.tile(np.arange(repeats), len(epsilons) // repeats),
            "cross_entropy": scores[:, 0],
            "accuracy": scores[:, 1],
        }
    )


def _score(model: Any, counts: Counts, test: Split, variant: str) -> NDArray[np.float64]:
    cap = 0.0 if variant == "corrected" else PUBLISHED_CAP
    return naive_bayes.score(model, counts.cells(test.test[:, :-1]), test.test[:, -1], cap=cap)


def _reference(counts: Counts, test: Split, variant: str) -> pd.DataFrame:
    """Return the scores of non-private models, of random guessing, and of a model that always predicts the largest
    class. There is one non-private model per smoothing value.
    """
    rows = []
    for smoothing in (0.1, 1.0) if variant == "corrected" else (0.1,):
        loss, right = _score(counts.smoothed(smoothing), counts, test, variant)[0]
        rows.append(("non-private", str(smoothing), loss, right))
    rows.append(("random", "none", np.log(counts.classes), 1 / counts.classes))
    share = np.mean(test.test[:, -1] == np.argmax(counts.labels))
    rows.append(("majority", "none", np.nan, share))
    frame = pd.DataFrame(rows, columns=["method", "floor", "cross_entropy", "accuracy"])
    return frame.assign(epsilon=np.nan, repeat=0)


def approximate(
    table: CodedTable | str,
    *,
    name: str,
    delta: float,
    per_release: Sequence[float],
    targets: Sequence[float],
    gohari_r: Sequence[float],
    repeats: int,
    bins: int = experiment.BINS,
    root_seed: int,
) -> pd.DataFrame:
    """Return the results for Appendix C in the format of `runs`. The column `epsilon` is the epsilon_hat of the whole
    model at `delta`.

    Parameters
    ----------
    table, name, repeats, bins, root_seed : as in `runs`.
    delta : delta of the whole model, in (0, 1).
    per_release : the author's epsilon of one release. The epsilon_hat of the published variant is this number times the
        printed composition factor for the data set.
    targets : epsilon_hat of the corrected variant.
    gohari_r : r of the releases with Gohari's guarantee.
    """
    if isinstance(table, str):
        return missing(name, table)
    parts = []
    for variant in ("published", "corrected"):
        rng = stream(root_seed, "ponnoprat2022", "naive_bayes_dp", name, variant)
        counts, test = prepared(table, variant, 0, bins)
        n, releases = len(test.train), counts.features + 1
        rows = []
        for method in calibrated_noise.MECHANISMS:
            if variant == "published":
                law = experiment.published_noise(method, per_release, delta=delta, share=delta / (2 * releases))
                reach = np.asarray(per_release) * 2 * np.sqrt(2 * counts.features * np.log(0.5 / delta))
            else:
                law = experiment.corrected_noise(method, targets, delta=delta, releases=releases)
                reach = np.asarray(targets)
            floor = PUBLISHED_FLOOR if variant == "published" else "sigma"
            job = (method, floor if method != "dirichlet" else "none", np.repeat(reach, repeats), law.repeated(repeats))
            spent: dict[str, Any] = dict(zip(SPENT, (law.repeated(repeats).sd(), releases, delta), strict=True))
            rows.append(_scored(counts, test, variant, *job, repeats=repeats, rng=rng).assign(**spent))
        r = np.asarray(gohari_r, dtype=float)
        law = Noise("dirichlet", r, 1 + 4 * r)
        sizes = (*counts.sizes.tolist(), counts.classes)
        reach = [
            experiment.gohari_epsilon(float(x), float(a), total=n, sizes=sizes, delta=delta, releases=releases)
            for x, a in zip(r, law.alpha, strict=True)
        ]
        job = ("gohari", "none", np.repeat(reach, repeats), law.repeated(repeats))
        rows.append(_scored(counts, test, variant, *job, repeats=repeats, rng=rng))
        rows.append(_reference(counts, test, variant))
        parts.append(pd.concat(rows, ignore_index=True).assign(variant=variant, split=0))
    return _finish(pd.concat(parts, ignore_index=True), name)


def missing(name: str, reason: str) -> pd.DataFrame:
    """Return one row that marks a data set as unavailable and states the reason."""
    row = dict.fromkeys(COLUMNS, np.nan) | {"dataset": name, "variant": "corrected", "method": "not_run"}
    return pd.DataFrame([row | {"floor": "none", "split": 0, "repeat": 0, "note": reason}], columns=list(COLUMNS))


def _finish(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    return frame.assign(dataset=name, note="").reindex(columns=list(COLUMNS))
