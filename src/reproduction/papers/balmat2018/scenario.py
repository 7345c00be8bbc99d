"""A user's release -> what can be said about the shares. True counts enter `dpmultinomial._releases` alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._files.published import Published
from dpmultinomial._honesty import LEVEL
from dpmultinomial._mechanisms.discrete_gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.discrete_laplace import DiscreteLaplace
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import noisy_counts as posteriors

from . import release_fit
from .release_fit import Law
from .validation import names as names_of

REHEARSAL = "rehearsal: the noise can be repeated by anyone; not a release"
COLUMNS = (
    *("quantity", "statistic", "released", "mean", "sd", "mode", "lower", "upper", "level", "status", "note"),
    *("x", "density"),
)
_JEFFREYS = 0.5


@dataclass(frozen=True)
class Source:
    """What a scenario is about.

    Parameters
    ----------
    noisy : float64 (k,), released counts.
    names : of the k categories.
    total : public.
    law : of the noise.
    words : mechanism, law, scale and cost in words.
    """

    noisy: NDArray[np.float64]
    names: list[str]
    total: int
    law: Law
    words: str


def table(
    *,
    release: Published | None = None,
    noisy_counts: list[float] | None = None,
    rehearsal: dict[str, list[int]] | None = None,
    total: int | None = None,
    epsilon: float | None = None,
    noise: str = "laplace",
    sensitivity: float = 2.0,
    alpha: float | list[float] = 1.0,
    categories: list[str] | None = None,
    given: list[str] | None = None,
    thresholds: list[float] | None = None,
    level: float = LEVEL,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Posterior of every share, and of the shares among `given`.

    Parameters are the keys of a scenario (config.yaml); `release` is the opened release of that name.

    Returns
    -------
    DataFrame with `COLUMNS`. First one row a quantity, statistic ``summary`` (`mean` is the estimate, `lower` and
        `upper` end the central interval of `level`; `mode` is missing where the density is highest at infinity), then
        ``probability`` rows, whose `mean` is P(share > threshold), then ``check``: the probability of the release under
        what is stated about it; last the ``density`` of every share at x. `status` is the word of
        `dpmultinomial._honesty`.

    Raises
    ------
    ValueError
        If `given`, `alpha` or the law do not fit the release's record.
    """
    source = _source(release, noisy_counts, rehearsal, total, epsilon, noise, sensitivity, categories, rng)
    prior = list(alpha) if isinstance(alpha, list) else [float(alpha)] * len(source.noisy)
    if len(prior) != len(source.noisy):
        raise ValueError(f"alpha must be one number or {len(source.noisy)}, one a category, got {alpha}")
    unknown = [g for g in given or () if g not in source.names]
    if unknown:
        raise ValueError(f"given: {', '.join(unknown)} not among the categories {', '.join(source.names)}")
    exact = posteriors.exact(source.noisy, total=source.total, noise=source.law, alpha=prior)
    jeffreys = posteriors.exact(source.noisy, total=source.total, noise=source.law, alpha=_JEFFREYS)
    words = f"{source.words}; prior Dirichlet({', '.join(f'{a:g}' for a in prior)})"
    wanted = list(_wanted(source.names, given))
    rows = [_summary(exact, jeffreys, source, level, words, *which) for which in wanted]
    rows += [_above(exact, t, words, *which) for which in wanted for t in thresholds or ()]
    fit = release_fit.fit(source.noisy, total=source.total, law=source.law, alpha=np.asarray(prior, float))
    about = {"quantity": "release as stated", "statistic": "check", "status": "approximate"}
    rows.append(about | {"mean": fit.least, "note": f"{fit}; {words}"})
    grid = np.linspace(0, 1, 501)
    curves = [
        pd.DataFrame({"quantity": quantity, "statistic": "density", "x": grid, "density": _density(law, grid)})
        for quantity, law in ((name, exact.beta(category, group)) for name, category, group in wanted)
    ]
    return pd.concat([pd.DataFrame(rows), *curves], ignore_index=True).reindex(columns=list(COLUMNS))


def _source(
    release: Published | None,
    noisy_counts: list[float] | None,
    rehearsal: dict[str, list[int]] | None,
    total: int | None,
    epsilon: float | None,
    noise: str,
    sensitivity: float,
    categories: list[str] | None,
    rng: np.random.Generator,
) -> Source:
    if release is not None:
        return _of_release(release)
    if epsilon is None:
        raise ValueError("epsilon must be given with noisy_counts or rehearsal")
    kind = DiscreteLaplace if noise == "discrete_laplace" else Laplace
    law = kind.calibrated(epsilon, sensitivity=sensitivity)
    about = f"{noise.replace('_', ' ')} noise of scale {law.scale:g}, cost epsilon = {epsilon:g} at sensitivity "
    about += f"{sensitivity:g}"
    if rehearsal is not None:
        counts = rehearsal["counts"]
        drawn = np.asarray(law.sample(counts, rng=rng), dtype=float)
        return Source(drawn, names_of(len(counts), categories), sum(counts), law, f"{REHEARSAL}; {about}")
    if noisy_counts is None or total is None:
        raise ValueError("a scenario needs a release, noisy_counts with their total, or a rehearsal")
    found = np.asarray(noisy_counts, dtype=float)
    return Source(found, names_of(len(found), categories), total, law, f"published counts; {about}")


def _of_release(release: Published) -> Source:
    """The record's own words: law, scale, total, cost."""
    record = release.record
    stated, known = str(record.get("law")), ("discrete Laplace", "discrete Gaussian")
    if stated not in known:
        raise ValueError(f"{release!r}: must be counts with {' or '.join(known)} noise, its record states law {stated}")
    scale = release.number("scale")
    laws: dict[str, Law] = dict(zip(known, (DiscreteLaplace(scale=scale), DiscreteGaussian(sigma=scale)), strict=True))
    cost = record.get("cost")
    paid = ", ".join(f"{k} {v:g}" for k, v in cost.items() if k != "relation") if isinstance(cost, dict) else "?"
    words = f"release {record['release']}, generation {record['generation']}: {stated} noise of scale {scale:g}, cost "
    return Source(
        noisy=release.table.numbers("count"),
        names=release.table.texts("category"),
        total=int(release.number("total")),
        law=laws[stated],
        words=f"{words}{paid} ({record.get('neighbours', 'relation not stated')})",
    )


def _wanted(names: list[str], given: list[str] | None) -> Iterator[tuple[str, int, tuple[int, ...] | None]]:
    """(quantity, category, group) of every share."""
    yield from ((name, i, None) for i, name in enumerate(names))
    inside = tuple(names.index(g) for g in given or ())
    yield from ((f"{names[i]} | {', '.join(given or ())}", i, inside) for i in inside)


def _summary(
    exact: Any,
    jeffreys: Any,
    source: Source,
    level: float,
    words: str,
    quantity: str,
    category: int,
    group: tuple[int, ...] | None,
) -> dict[str, Any]:
    law = exact.beta(category, group)
    lower, upper = law.quantile([(1 - level) / 2, (1 + level) / 2])
    other = jeffreys.beta(category, group).mean()
    return {
        **{"quantity": quantity, "statistic": "summary", "released": source.noisy[category], "mean": law.mean()},
        **{"sd": law.variance() ** 0.5, "mode": law.mode(), "lower": lower, "upper": upper, "level": level},
        **{"status": law.honesty.word, "note": f"{words}; with Jeffreys' prior the mean is {other:.4g}"},
    }


def _above(
    exact: Any, t: float, words: str, quantity: str, category: int, group: tuple[int, ...] | None
) -> dict[str, Any]:
    law = exact.beta(category, group)
    about = {"quantity": f"P({quantity} > {t!r})", "statistic": "probability", "mean": float(law.sf(t))}
    return about | {"status": law.honesty.word, "note": f"posterior probability; {words}"}


def _density(law: Any, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    density = law.pdf(grid)
    return np.where(np.isfinite(density), density, np.nan)
