"""A user's release of a censored sample -> what can be said about mu and sigma2, and how far to trust it."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
import pandas as pd

from dpmultinomial._files.published import Published
from dpmultinomial._mechanisms.sufficient_statistics import STATISTICS
from dpmultinomial._posteriors.censored import censored_statistics, noiseless_statistics
from dpmultinomial._posteriors.censored.censored_statistics import CensoredPosterior
from dpmultinomial._posteriors.censored.normal_prior import Prior

from . import scenario_source
from .scenario_source import Source

COLUMNS = (
    *("quantity", "mean", "sd", "lower", "upper", "level", "status", "note", "statistic"),
    *("ess", "rhat", "x", "density"),
)
MEANINGS = {
    "mu": "mean of the law the records come from",
    "sigma2": "variance of the law the records come from",
    "s_mean": "the data's own mean of the records inside the limits, before the noise",
    "s_sse": "the data's own sum of squares of the records inside, before the noise",
    "s_low": "number of records below the lower limit, before the noise",
    "s_high": "number of records above the upper limit, before the noise",
}


def table(
    *,
    release: Published | Mapping[str, float] | None = None,
    rehearsal: Mapping[str, float] | None = None,
    n: int | None = None,
    lower: float | None = None,
    upper: float | None = None,
    epsilon: float | None = None,
    sensitivity: float | None = None,
    scales: Mapping[str, float] | None = None,
    prior: Mapping[str, float] | None = None,
    chains: int = 4,
    draws: int = 2000,
    thin: int = 5,
    level: float = 0.95,
    bins: int = 60,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Posterior of mu and sigma2 with its assumptions, its state, and what other assumptions would give.

    Parameters are the keys of a scenario (config.yaml); `release` is a made release, or the four numbers.

    Returns
    -------
    DataFrame `COLUMNS`. First one row a quantity (statistic ``summary``): estimate, interval, level, status, a note; mu
        and sigma2 also under a weaker prior and with the noise ignored. Then what was assumed, in words
        (``assumption``), the released numbers with their noise (``released``), and the density of mu and sigma2
        (``density`` at `x`).
    """
    stated: dict[str, Any] = {"lower": lower, "upper": upper, "epsilon": epsilon}  # not None where `validation` asks
    if isinstance(release, Published):
        source = scenario_source.made(release)
    elif isinstance(release, Mapping):
        source = scenario_source.inline(release, n=cast(int, n), sensitivity=sensitivity, scales=scales, **stated)
    else:
        source = scenario_source.rehearsed(cast(Mapping[str, float], rehearsal), rng=rng, **stated)
    used = _prior(source, prior)
    size = {"draws": draws, "chains": chains, "thin": thin}
    found = _sample(source, used, size, rng)
    weaker = _sample(source, Prior(used.mu0, 4 * used.var0, used.shape0 / 2, used.rate0 / 2), size, rng)
    parts = [_summary(source, found, weaker, level), _assumptions(source, found, weaker), _released(source)]
    parts += [_density(name, found.draws[:, :, i], bins) for i, name in enumerate(censored_statistics.THETA)]
    return pd.concat(parts, ignore_index=True).reindex(columns=list(COLUMNS))


def _prior(source: Source, given: Mapping[str, float] | None) -> Prior:
    """From the public limits; what the scenario states takes the place of its parts."""
    default = Prior.from_limits(source.lower, source.upper)
    stated = dict(zip(("mu0", "var0", "shape0", "rate0"), default, strict=True)) | dict(given or {})
    return Prior(**stated)


def _sample(source: Source, prior: Prior, size: dict[str, Any], rng: np.random.Generator) -> CensoredPosterior:
    public: dict[str, Any] = {"n": source.n, "lower": source.lower, "upper": source.upper}
    return censored_statistics.sample(
        source.values, **public, scale=source.scale, grid=source.step, prior=prior, rng=rng, **size
    )


def _summary(source: Source, found: CensoredPosterior, weaker: CensoredPosterior, level: float) -> pd.DataFrame:
    main = found.summary(level)
    other = weaker.summary(level).iloc[:2].assign(note=f"under a prior of half the weight: {weaker.prior!r}")
    public: dict[str, Any] = {"n": source.n, "lower": source.lower, "upper": source.upper, "prior": found.prior}
    blind = noiseless_statistics.naive(source.values, **public).summary(level)
    blind = blind.assign(note="what the analysis that takes the release for the data would say; do not use it")
    main = main.assign(note=[_sentence(row, found, source) for row in main.itertuples()])
    others = [
        frame.assign(quantity=frame["quantity"] + name)
        for frame, name in ((other, ", weaker prior"), (blind, ", noise ignored"))
    ]
    rows = pd.concat([main, *others], ignore_index=True).assign(statistic="summary")
    if source.note:
        rows["note"] = source.note + ". " + rows["note"]
    return rows


def _sentence(row, found: CensoredPosterior, source: Source) -> str:
    if found.honesty.word == "not converged":
        return f"NOT CONVERGED, do not use: {found.honesty.reason}"
    interval = f"with probability {row.level:.3g} in {row.lower:.5g} .. {row.upper:.5g}"
    text = f"{MEANINGS[row.quantity]}: {row.mean:.5g}, {interval}"
    return f"{text}; {found.conflict}" if found.conflict.found else text


def _assumptions(source: Source, found: CensoredPosterior, weaker: CensoredPosterior) -> pd.DataFrame:
    return pd.DataFrame(
        [{"quantity": name, "note": note, "statistic": "assumption"} for name, note in _words(source, found, weaker)]
    )


def _words(source: Source, found: CensoredPosterior, weaker: CensoredPosterior) -> Iterator[tuple[str, str]]:
    if source.note:
        yield "rehearsal", source.note
    yield "origin", source.origin
    yield (
        "model",
        f"{source.n} independent records from N(mu, sigma2); mean and sum of squares of those in "
        f"[{source.lower:g}, {source.upper:g}], and how many lie below and above, were released with noise",
    )
    scales = ", ".join(f"{name} {scale:.4g}" for name, scale in zip(STATISTICS, source.scale, strict=True))
    step = f", steps of the grid at most {source.step.max():.1g}" if source.step.any() else ""
    yield "noise", f"{source.law}, independent, of scale: {scales}{step}"
    yield "cost", source.cost
    yield "prior", repr(found.prior)
    yield "prior and release", str(found.conflict)
    yield "influence of the prior", _influence(found, weaker)
    yield "state of the answer", str(found.honesty)
    yield (
        "what this does not say",
        "anything about one record; anything where the records are not from a normal law: censored records are "
        "counted, and the law's tails stand in for them",
    )


def _influence(found: CensoredPosterior, weaker: CensoredPosterior) -> str:
    first, second = (posterior.summary().iloc[:2] for posterior in (found, weaker))
    moved = np.abs(second["mean"] - first["mean"]) / first["sd"]
    wider = second["sd"] / first["sd"]
    return (
        f"with half the weight on it the means of mu and sigma2 move by {moved[0]:.2f} and {moved[1]:.2f} standard "
        f"deviations, which become {wider[0]:.2f} and {wider[1]:.2f} times as large"
    )


def _released(source: Source) -> pd.DataFrame:
    rows = pd.DataFrame({"quantity": [f"released {name}" for name in STATISTICS], "mean": source.values})
    rows["sd"] = 2**0.5 * source.scale
    note = "the released number; sd is that of its noise"
    return rows.assign(note=f"{source.note}. {note}" if source.note else note, statistic="released")


def _density(name: str, draws: np.ndarray, bins: int) -> pd.DataFrame:
    """Histogram of the middle 99.8 % of the draws, so that a far tail does not hide the rest."""
    ends = np.quantile(draws, [0.001, 0.999])
    if ends[0] == ends[1]:  # a posterior narrower than floating point
        ends += np.array([-0.5, 0.5]) * max(abs(ends[0]), 1.0) * 1e-9
    counts, edges = np.histogram(draws, bins=bins, range=(float(ends[0]), float(ends[1])))
    heights = counts / (draws.size * np.diff(edges))
    middles = (edges[1:] + edges[:-1]) / 2
    return pd.DataFrame({"quantity": name, "statistic": "density", "x": middles, "density": heights})
