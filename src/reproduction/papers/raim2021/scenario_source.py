"""Where a scenario's four noisy statistics come from: a made release, numbers already published, or a rehearsal."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmultinomial._files.published import Published
from dpmultinomial._mechanisms.sufficient_statistics import STATISTICS, CensoredStatistics

MECHANISM = "censored_statistics"
REHEARSAL = "rehearsal: the noise can be repeated by anyone; not a release"
_UNKNOWN = "unknown: the scales are given, not what they spend"


@dataclass(frozen=True, eq=False)
class Source:
    """What inference sees of a release.

    Parameters
    ----------
    values, scale, step : float64 (4,), in the order mean, sse, low, high: released numbers, Laplace scales, steps of
        the public grid (0: continuous noise).
    n : public number of records.
    lower, upper : public limits.
    origin, law, cost : in words, for the table.
    note : what every output must say, or nothing.
    """

    values: NDArray[np.float64]
    scale: NDArray[np.float64]
    step: NDArray[np.float64]
    n: int
    lower: float
    upper: float
    origin: str
    law: str
    cost: str
    note: str = ""


def made(release: Published) -> Source:
    """A release of this project: everything from its record, the values from its file.

    Raises
    ------
    ValueError
        If it is a release of another mechanism, or its file or record does not state what the mechanism states.
    """
    record = release.record
    if record["mechanism"] != MECHANISM:
        raise ValueError(f"release {record['release']}: must be of {MECHANISM}, is of {record['mechanism']}")
    named = dict(zip(release.table.texts("statistic"), release.table.numbers("value").tolist(), strict=True))
    scale, step, cost = (record.get(key) for key in ("scale", "step", "cost"))
    if set(named) != set(STATISTICS) or not isinstance(scale, Mapping) or not isinstance(step, Mapping):
        raise ValueError(f"release {record['release']}: must state value, scale and step of {', '.join(STATISTICS)}")
    spent = cost.get("epsilon") if isinstance(cost, Mapping) else None
    return Source(
        values=_ordered(named),
        scale=_ordered(scale),
        step=_ordered(step),
        n=int(release.number("records")),
        lower=release.number("lower"),
        upper=release.number("upper"),
        origin=f"release {record['release']}, generation {record['generation']}, column {record.get('column')}",
        law=str(record.get("law")),
        cost=f"epsilon {spent:.6g}; neighbours: {record.get('neighbours')}" if spent else "not stated by the record",
    )


def inline(
    release: Mapping[str, float],
    *,
    n: int,
    lower: float,
    upper: float,
    epsilon: float | None,
    sensitivity: float | None,
    scales: Mapping[str, float] | None,
) -> Source:
    """Numbers already published: one scale sensitivity/epsilon for all four, or `scales`, one a statistic."""
    if scales is None:
        assert epsilon is not None
        least = CensoredStatistics(lower=lower, upper=upper).sensitivity(n)
        used = sensitivity or least
        scale, cost = np.full(4, used / epsilon), f"epsilon {epsilon:g}; neighbours: one record replaced"
        if used < least:  # the noise is what it is, the privacy is not
            cost = f"epsilon {epsilon * least / used:.6g}, not {epsilon:g}: the sensitivity is {least:.6g}"
    else:
        scale, cost = _ordered(scales), _UNKNOWN
    return Source(
        values=_ordered(release),
        scale=scale,
        step=np.zeros(4),
        n=n,
        lower=float(lower),
        upper=float(upper),
        origin="published numbers, as written in the configuration",
        law="Laplace",
        cost=cost,
    )


def rehearsed(
    rehearsal: Mapping[str, float], *, lower: float, upper: float, epsilon: float, rng: np.random.Generator
) -> Source:
    """Made-up records from N(mu, sigma2), released as `releases` would: a quarter of epsilon a statistic."""
    mechanism, n = CensoredStatistics(lower=lower, upper=upper), int(rehearsal["n"])
    records = rehearsal["mu"] + rehearsal["sigma2"] ** 0.5 * rng.standard_normal(n)
    scale = mechanism.sensitivities(n) * 4 / epsilon
    return Source(
        values=mechanism.of(records) + scale * rng.laplace(size=4),
        scale=scale,
        step=np.zeros(4),
        n=n,
        lower=float(lower),
        upper=float(upper),
        origin=f"{n} made-up records from N({rehearsal['mu']:g}, {rehearsal['sigma2']:g})",
        law="Laplace",
        cost=f"epsilon {epsilon:g}, were it a release; neighbours: one record replaced",
        note=REHEARSAL,
    )


def _ordered(named: Mapping[str, float]) -> NDArray[np.float64]:
    return np.array([float(named[key]) for key in STATISTICS])
