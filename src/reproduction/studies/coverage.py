"""Compute the coverage of intervals as a function of the size of the true count, and present the results in a
table and a figure.

Intervals of a posterior have their nominal coverage on average over the prior, not at every count. This study computes
the coverage, width, bias and error at each count (`by_true_value`), for posteriors, least squares, and least squares
clipped at zero.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import ndtri

from dpmultinomial import _checks
from dpmultinomial._accuracy import LEVEL
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.noise_law import NoiseLaw
from dpmultinomial._posteriors.published import counts, counts_with_total
from dpmultinomial._seeding import stream

from ..style import CYCLE, DOUBLE, GREY, MARKERS, letters

MULTINOMIAL = (
    # this is the default prior if there is a total: the file is a random sample, and the prior of the total is flat
    "multinomial"
)
CASES = {"alone": "no total", "with_total": "noisy total"}
_LOOKS = tuple(zip((*CYCLE, GREY), (*MARKERS, "*"), strict=True))


def table(
    root_seed: int,
    *,
    truth: Mapping[str, float],
    sigma: float,
    level: float,
    edges: Sequence[float],
    alone: Mapping[str, Any],
    with_total: Mapping[str, Any],
) -> pd.DataFrame:
    """Return the coverage and the width of intervals for counts, and the bias and the error of the estimates, by method
    and true count.

    Parameters
    ----------
    root_seed : root seed of all streams.
    truth : ``mean`` and ``shape`` of the negative binomial distribution of the true counts.
    sigma : parameter of the discrete Gaussian noise on every count.
    level : probability of the intervals.
    edges : increasing bin edges of the true counts.
    alone : settings ``counts`` (number of counts in a file), ``files`` and ``priors``.
    with_total : the same settings, and ``sigma`` of the noise on the total; `MULTINOMIAL` is the default prior with a
        total.

    Returns
    -------
    DataFrame
        The columns are case (`CASES`), level, and the columns of `by_true_value`.
    """
    shape, chance = truth["shape"], truth["shape"] / (truth["shape"] + truth["mean"])
    parts = []
    for case, setting in (("alone", alone), ("with_total", with_total)):
        size = int(setting["counts"])

        def draw(rng: np.random.Generator, size: int = size) -> NDArray[np.int64]:
            return rng.negative_binomial(shape, chance, size)

        frame = by_true_value(
            draw,
            DiscreteGaussian(sigma=sigma),
            total=DiscreteGaussian(sigma=setting["sigma"]) if "sigma" in setting else None,
            priors={name: None if name == MULTINOMIAL else name for name in setting["priors"]},
            edges=edges,
            replications=int(setting["files"]),
            rng=stream(root_seed, "studies", "coverage", case),
            level=level,
        )
        frame.insert(0, "case", CASES[case])
        frame.insert(1, "level", level)
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def figure(table: pd.DataFrame) -> Figure:
    """Plot the coverage and the width of intervals against the true count, with one column of panels per case."""
    figure_drawn = Figure(figsize=(DOUBLE, 4.2))
    panels = figure_drawn.subplots(2, table["case"].nunique(), sharex=True, sharey="row", squeeze=False)
    methods = list(dict.fromkeys(table["method"]))
    looks = {method: _LOOKS[i % len(_LOOKS)] for i, method in enumerate(methods)}
    for column, (case, rows) in zip(panels.T, table.groupby("case", sort=False), strict=True):
        labels = ranges(rows)
        for i, (method, method_rows) in enumerate(rows.groupby("method", sort=False)):
            colour, marker = looks[str(method)]
            x = np.arange(len(method_rows)) + 0.08 * (i - 3)
            error = 2 * method_rows["coverage_se"]
            look: dict[str, Any] = {"color": colour, "marker": marker, "lw": 0.8, "label": method}
            column[0].errorbar(x, method_rows["coverage"], error, elinewidth=0.6, **look)
            column[1].plot(x, method_rows["width"], **look)
        column[0].axhline(rows["level"].iloc[0], color=GREY, ls="--", lw=0.8, zorder=0)
        column[0].set_title(str(case))
        column[1].set_xticks(np.arange(len(labels)), labels)
        column[1].set_xlabel("true count")
    panels[0, 0].set_ylabel("coverage")
    panels[1, 0].set_ylabel("mean width")
    handles = {label: handle for a in panels[0] for handle, label in zip(*a.get_legend_handles_labels(), strict=True)}
    figure_drawn.legend(handles.values(), handles, loc="outside lower center", ncols=4)
    letters(panels.ravel())
    return figure_drawn


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for the documentation, with the bins as text and the coverage with three decimals."""
    labels = [words(low, high, _last(table)) for low, high in table[["from", "to"]].to_numpy()]
    frame = table[["case", "method", "counts", "coverage", "width", "bias", "rmse"]].copy()
    frame.insert(2, "true count", labels)
    return frame.round({"coverage": 3, "width": 1, "bias": 2, "rmse": 2})


def ranges(rows: pd.DataFrame) -> list[str]:
    """Return a description of each bin of true counts, in the same order as the result rows for the first method."""
    bins = rows.loc[rows["method"] == rows["method"].iloc[0], ["from", "to"]].to_numpy()
    return [words(low, high, _last(rows)) for low, high in bins]


def _last(rows: pd.DataFrame) -> float:
    """Return the largest finite upper edge of the bins of true counts."""
    return float(rows.loc[np.isfinite(rows["to"]), "to"].max())


Array = NDArray[np.float64]
Ends = tuple[Array, Array, Array]  # estimate, lower, upper
COLUMNS = ("method", "from", "to", "counts", "coverage", "coverage_se", "width", "bias", "rmse")


def by_true_value(
    draw: Callable[[np.random.Generator], NDArray[np.int64]],
    noise: NoiseLaw,
    *,
    priors: Mapping[str, Any],
    edges: Sequence[float],
    replications: int,
    rng: np.random.Generator,
    total: NoiseLaw | None = None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Return the coverage and the width of intervals, and the bias and the root mean square error of estimates, by true
    value.

    Parameters
    ----------
    draw : function rng -> true counts (k,) of one file.
    noise : noise of the counts.
    priors : dictionary from names to priors of `counts.exact` or, if `total` is given, of
        `counts_with_total.posterior`.
    edges : increasing bin edges; bin i contains true counts from ``edges[i]`` to below ``edges[i + 1]``.
    replications : number of independent files.
    rng : numpy Generator.
    total : noise of a total that is also released; None if no total is released.
    level : probability of the intervals, in (0, 1).

    Returns
    -------
    DataFrame
        The columns are `COLUMNS`. There is one row per method and bin, and one row with ``from`` 0 and ``to`` infinity
        for all counts. The methods are the priors; ``released``, which is the noisy value with the normal interval of
        its noise; ``clipped``, which is the same interval restricted to values >= 0; and, with a total, ``least
        squares`` and ``least squares, clipped``.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    level, frames = _checks.inside("level", level), []
    if len(edges) < 2 or not np.all(np.diff(edges) > 0):
        raise ValueError(f"edges must be increasing and must contain at least two values, got {edges!r}")
    for _ in range(_checks.integer("replications", replications, least=1)):
        truth = draw(_checks.generator(rng))
        released = np.asarray(noise.sample(truth, rng=rng), dtype=np.float64)
        whole = None if total is None else float(np.asarray(total.sample(np.array([truth.sum()]), rng=rng))[0])
        methods = _usual(released, noise, whole, total, level)
        for name, prior in priors.items():
            methods[name] = _posterior(released, noise, whole, total, prior, level)
        frames += [errors(name, truth, *ends) for name, ends in methods.items()]
    return summed(pd.concat(frames, ignore_index=True), edges)


def _usual(
    released: Array, noise: NoiseLaw, whole: float | None, total: NoiseLaw | None, level: float
) -> dict[str, Ends]:
    """Return the estimates and the interval limits of the usual methods that do not use a posterior distribution."""
    z = float(ndtri((1 + level) / 2))
    variance = np.broadcast_to(np.asarray(noise.variance(), dtype=np.float64), released.shape)
    estimates = {"released": (released, variance)}
    if total is not None and whole is not None:
        spread = variance.sum() + float(np.asarray(total.variance()))
        shifted = released + variance * (whole - released.sum()) / spread
        estimates["least squares"] = (shifted, variance - variance**2 / spread)
    ends: dict[str, Ends] = {name: (y, y - z * np.sqrt(v), y + z * np.sqrt(v)) for name, (y, v) in estimates.items()}
    words = {"released": "clipped", "least squares": "least squares, clipped"}
    for name, (estimate, lower, upper) in list(ends.items()):
        ends[words[name]] = np.maximum(estimate, 0.0), np.maximum(lower, 0.0), np.maximum(upper, 0.0)
    return ends


def _posterior(
    released: Array, noise: NoiseLaw, whole: float | None, total: NoiseLaw | None, prior: Any, level: float
) -> Ends:
    if total is None or whole is None:
        answers = counts.exact(released, noise=noise, prior=prior, level=level).own
        return answers.mean, answers.lower, answers.upper
    inferred = counts_with_total.posterior(
        released, noise=noise, prior=prior, total={"released": whole, "noise": total}
    )
    ends = inferred.counts.interval(level).to_numpy(dtype=np.float64)
    mean = np.asarray(inferred.counts.mean(), dtype=np.float64)
    return mean, ends[:, 0], ends[:, 1]


def errors(name: str, truth: NDArray[np.int64], estimate: Array, lower: Array, upper: Array) -> pd.DataFrame:
    """Return, for each count and one method, whether the interval contains the true count, the width of the interval,
    and the error of the estimate.

    Parameters
    ----------
    name : name of the method.
    truth, estimate, lower, upper : (k,), for every count.

    Returns
    -------
    DataFrame The columns are method, truth, held (whether the interval contains the true count), width and error.
    """
    held = (lower <= truth) & (truth <= upper)
    return pd.DataFrame(
        {"method": name, "truth": truth, "held": held, "width": upper - lower, "error": estimate - truth}
    )


def summed(rows: pd.DataFrame, edges: Sequence[float]) -> pd.DataFrame:
    """Return the coverage with its binomial standard error, the mean width, the bias and the root mean square error,
    for each method and each bin of true values.

    Parameters
    ----------
    rows : rows of `errors`.
    edges : bin edges, as in `by_true_value`; bins without counts have no row.

    Returns
    -------
    DataFrame with columns `COLUMNS`.
    """
    cells = [(low, high) for low, high in pairwise(edges)] + [(0.0, np.inf)]
    out = []
    for method, method_rows in rows.groupby("method", sort=False):
        for low, high in cells:
            part = method_rows[(method_rows["truth"] >= low) & (method_rows["truth"] < high)]
            if not len(part):
                continue
            p = float(part["held"].mean())
            se = float(np.sqrt(max(p * (1 - p), 1 / len(part)) / len(part)))
            rmse = float(np.sqrt((part["error"] ** 2).mean()))
            out.append((method, low, high, len(part), p, se, part["width"].mean(), part["error"].mean(), rmse))
    return pd.DataFrame(out, columns=list(COLUMNS))


def words(low: float, high: float, last: float) -> str:
    """Return the description of a bin of true counts.

    Parameters
    ----------
    low, high : ends of the bin; the upper end is excluded.
    last : largest edge of all bins.
    """
    if np.isinf(high):
        return "all"
    if high == last:
        return f"{low:.0f} and more"
    return f"{low:.0f}" if high == low + 1 else f"{low:.0f} to {high - 1:.0f}"


METHODS = ("least squares", "clipped least squares", "posterior")


def answers(rows: pd.DataFrame, z: float) -> dict[str, tuple[Array, Array, Array]]:
    """Return a mapping from each method to the estimates and the interval limits.

    Parameters
    ----------
    rows : rows with one count each; the columns include least_squares and least_squares_sd, and mean, lower and upper
        of the posterior.
    z : half-width of a normal interval in standard deviations.

    Returns
    -------
    dict
        The keys are `METHODS`. The clipped interval consists of the integers >= 0 in the least-squares interval, or
        only of 0 if there are none.
    """
    least, sd = (np.asarray(rows[name], dtype=np.float64) for name in ("least_squares", "least_squares_sd"))
    low, high = least - z * sd, least + z * sd
    clipped = np.maximum(least, 0.0), np.maximum(np.ceil(low), 0.0), np.maximum(np.floor(high), 0.0)
    mean, lower, upper = (rows[name].to_numpy(dtype=np.float64) for name in ("mean", "lower", "upper"))
    return dict(zip(METHODS, ((least, low, high), clipped, (mean, lower, upper)), strict=True))
