"""Release of the mean, the sum of squares and the tail counts of a censored column (Bernstein and Sheldon 2018, Raim
2021), on a public grid.

Each statistic has a separate sensitivity and a separate share of epsilon. It is rounded to a grid whose step is a power
of two, at most 2^-20 of its sensitivity and of its scale, and gets exact discrete Laplace noise in units of the step.
Rounding can add one step to the sensitivity, and floating-point arithmetic less than one more; the stated cost includes
both.

The sensitivities of the censored statistics, and the public grid on which they are released, use plain arithmetic.

Noise with a very large scale cannot be drawn. This depends only on the public settings, and is reported before any
confidential file is opened.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._accounting.privacy_loss import PureLoss
from .._files.csv_table import CsvTable
from .._mechanisms.sufficient_statistics import STATISTICS, CensoredStatistics
from . import _noise
from ._noise import LARGEST_SCALE
from ._places import Refused
from .spending import REPLACE, Cost, Drawn, Plan, csv_bytes

FINE = 20
SPARE = 2  # number of steps: one for rounding, one for floating-point arithmetic
LEAST_RECORDS, MOST_RECORDS = 4, 10**8


def sensitivities(width: float, records: int) -> dict[str, float]:
    """Return the sensitivity of each statistic, which is the largest change of the statistic if one of the `records`
    records of the sample is replaced.

    The mean changes by at most the width w (if one record remains inside, or none). The sum of squares changes by at
    most w^2 (1 - 1/n), because moving x among m records changes (1 - 1/m)(x - mean of the others)^2. Each count changes
    by 1.

    Parameters
    ----------
    width : upper minus lower limit, > 0.
    records : number of records, >= 1.

    Returns
    -------
    dict
        Mapping from mean, sse, low, high to the sensitivity.
    """
    return {"mean": width, "sse": width**2 * (1 - 1 / records), "low": 1.0, "high": 1.0}


def units_of(sensitivity: float, epsilon: float) -> tuple[float, int]:
    """Return the step of the grid to which a statistic is rounded, and the sensitivity of the statistic in steps,
    including the effect of rounding.

    Parameters
    ----------
    sensitivity : > 0.
    epsilon : share of epsilon of the statistic, > 0.

    Returns
    -------
    step, units : float, int
    """
    grid_step = step(sensitivity, epsilon)
    return grid_step, math.ceil(sensitivity / grid_step) + SPARE


def step(sensitivity: float, epsilon: float) -> float:
    """Return a power of two that is at most 2^-20 times the sensitivity and at most 2^-20 times the scale
    sensitivity/epsilon.

    Parameters
    ----------
    sensitivity, epsilon : as in `units_of`.
    """
    return float(2.0 ** (math.floor(math.log2(min(sensitivity, sensitivity / epsilon))) - FINE))


def censored(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan a release of the four statistics of a censored column.

    Parameters
    ----------
    settings : checked and completed keys: column, lower, upper, epsilon, shares, sensitivities.
    table : table of records.

    Raises
    ------
    Rejected, FileFault
        If there are fewer than 4 or more than 1e8 records (their number is public), a value is not a finite number, or
        a sensitivity is below the derived value.
    """
    records = np.sort(table.numbers(settings["column"]))  # the last bits of sums depend on the order of the records
    if not LEAST_RECORDS <= len(records) <= MOST_RECORDS:
        raise Refused(
            f"{table.name}: the file must have {LEAST_RECORDS} to {MOST_RECORDS:,} records, got {len(records):,}"
        )
    if max(abs(settings["lower"]), abs(settings["upper"])) > 2**FINE * (settings["upper"] - settings["lower"]):
        raise Refused(
            "the absolute values of lower and upper must be <= 2^20 * (upper - lower), got lower = "
            f"{settings['lower']} and upper = {settings['upper']}: subtract a public constant from the data and the "
            "limits"
        )
    statistics = CensoredStatistics(lower=settings["lower"], upper=settings["upper"])
    derived = sensitivities(statistics.width, len(records))
    wanted = {**derived, **{k: float(v) for k, v in settings["sensitivities"].items()}}
    for key, value in derived.items():
        if wanted[key] < value:
            raise Refused(
                f"sensitivities/{key} must be >= the sensitivity that follows from the limits ({value:.17g}), "
                f"got {wanted[key]:.17g}"
            )
    shares = settings["shares"] or dict.fromkeys(STATISTICS, 1 / len(STATISTICS))
    budgets = {key: settings["epsilon"] * shares[key] for key in STATISTICS}
    steps = {key: units_of(wanted[key], budgets[key])[0] for key in STATISTICS}
    units = {key: units_of(wanted[key], budgets[key])[1] for key in STATISTICS}
    scales = {key: _noise.laplace_scale(budgets[key], sensitivity=units[key]) for key in STATISTICS}
    scales, spent = _noise.within(
        settings["epsilon"], scales, lambda key, scale: _noise.laplace_epsilon(scale, sensitivity=units[key])
    )
    facts = {
        "law": "discrete Laplace on the grid of step x integers",
        "scale": {key: scales[key] * steps[key] for key in STATISTICS},
        "step": steps,
        "sensitivity": wanted,
        "epsilon_of_each": spent,
        "records": len(records),
        "lower": float(settings["lower"]),
        "upper": float(settings["upper"]),
        "column": settings["column"],
        "hardened": True,
    }

    def drawn() -> Drawn:
        rows = []
        for key, value in zip(STATISTICS, statistics.of(records).tolist(), strict=True):
            placed = np.array([math.floor(value / steps[key] + 0.5)], dtype=np.int64)
            released = int(_noise.discrete_laplace(placed, scale=scales[key])[0])
            rows.append((key, repr(released * steps[key])))
        return Drawn(data=csv_bytes(("statistic", "value"), rows))

    cost = Cost(relation=REPLACE, epsilon=_noise.total(spent.values()))
    known = tuple(PureLoss(epsilon) for epsilon in spent.values())
    return Plan(cost=cost, facts=facts, draw=drawn, losses=known)


_STATISTICS = ("mean", "sse", "low", "high")
_WIDEST = 1e100  # largest limit whose square is finite
_ROOM = 1 - 1e-9  # a scale is increased by rounding


def problems(mechanism: str, get: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (key, description) for every scale above 2^40, and for unsuitable censoring limits. Censoring limits are
    unsuitable if they are too far apart, or too far from 0 compared with the distance between them.

    Parameters
    ----------
    mechanism : name of the mechanism.
    get : checked and completed keys.
    """
    if mechanism == "censored_statistics":
        low, high = float(get["lower"]), float(get["upper"])
        if max(abs(low), abs(high)) > 2.0**FINE * (high - low) or high - low > _WIDEST:
            yield (
                "upper",
                "must satisfy max(|lower|, |upper|) <= 2^20 * (upper - lower) and upper - lower < 1e100, got lower = "
                f"{low} and upper = {high}: subtract a public constant from the data and the limits",
            )
            return
    for key, scale in _scales(mechanism, get):
        if not 0 < scale <= LARGEST_SCALE * _ROOM:
            yield (
                key,
                f"is too small, because it requires noise of scale {scale:.3g}, which exceeds 2^40, got {get[key]!r}",
            )


def tables(mechanism: str, get: Mapping[str, Any]) -> int:
    """Return the number of tables that the release of a model contains.

    Parameters
    ----------
    mechanism, get : as in `problems`.
    """
    if mechanism == "bayesian_network":
        return len(get["network"])
    return len({get["target"], *get["numeric"], *get["levels"]})


def _scales(mechanism: str, get: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    if mechanism == "discrete_laplace":
        yield "epsilon", _change(get) / get["epsilon"] / _least_share(get)
    elif mechanism == "discrete_gaussian":
        yield "rho", math.sqrt(_change(get) / get["rho"] / _least_share(get) / 2)
    elif mechanism == "additive_counts":
        yield "epsilon", 1 / get["epsilon"]
    elif mechanism == "censored_statistics":
        for records in (LEAST_RECORDS, MOST_RECORDS):
            derived = sensitivities(float(get["upper"]) - float(get["lower"]), records)
            for key in _STATISTICS:
                share = (get["shares"] or {}).get(key, 1 / len(_STATISTICS))
                wanted = max(derived[key], float(get["sensitivities"].get(key, 0.0)))
                yield "epsilon", units_of(wanted, get["epsilon"] * share)[1] / (get["epsilon"] * share)
    elif mechanism in ("naive_bayes", "bayesian_network") and get["noise"] != "dirichlet":
        change = 2 * tables(mechanism, get)
        laplace = get["noise"] == "discrete_laplace"
        yield ("epsilon", change / get["epsilon"]) if laplace else ("rho", math.sqrt(change / get["rho"] / 2))


def _change(get: Mapping[str, Any]) -> int:
    """Return the sensitivity of the counts of a release or of one level of a tree. If records are added or removed, the
    sensitivity is half the sensitivity for replacements, rounded up.
    """
    tree = bool(get["levels"] or get["relation"]) and get["relation"] != "replace a record"
    return -(-get["sensitivity"] // 2) if tree else int(get["sensitivity"])


def _least_share(get: Mapping[str, Any]) -> float:
    """Return the smallest share of the budget that the settings assign to a level of a tree."""
    return float(min((get["shares"] or {"": 1.0}).values()))
