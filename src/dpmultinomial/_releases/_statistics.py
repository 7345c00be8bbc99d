"""Mean, sum of squares and tail counts of a censored column (Bernstein and Sheldon 2018, Raim 2021), on a public grid.

Each statistic has its own sensitivity and its own share of epsilon. It is rounded to a grid whose step is a power of
two, at most 2^-20 of its sensitivity and of its scale, and gets exact discrete Laplace noise in units of the step.
Rounding can add one step to the sensitivity and floating-point arithmetic less than one more; both are in the stated
cost.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._files.csv_table import CsvTable
from .._mechanisms.sufficient_statistics import STATISTICS, CensoredStatistics
from . import _noise
from ._costs import REPLACE, Cost
from ._grid import FINE, LEAST_RECORDS, MOST_RECORDS, sensitivities, units_of
from ._plan import Drawn, Plan, csv_bytes
from ._refused import Refused


def censored(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """A release of the four statistics.

    Parameters
    ----------
    settings : checked and filled keys: column, lower, upper, epsilon, shares, sensitivities.
    table : the records.

    Raises
    ------
    Refused, FileFault
        If there are fewer than 4 or more than 1e8 records (their number is public), a value is no finite number, or a
        sensitivity is below the derived one.
    """
    records = table.numbers(settings["column"])
    if not LEAST_RECORDS <= len(records) <= MOST_RECORDS:
        raise Refused(f"{table.name}: must have {LEAST_RECORDS} to {MOST_RECORDS} records, got {len(records)}")
    if max(abs(settings["lower"]), abs(settings["upper"])) > 2**FINE * (settings["upper"] - settings["lower"]):
        raise Refused("lower, upper: lie too far from 0 for their distance (2^20 times); subtract a public constant")
    statistics = CensoredStatistics(lower=settings["lower"], upper=settings["upper"])
    derived = sensitivities(statistics.width, len(records))
    wanted = {**derived, **{k: float(v) for k, v in settings["sensitivities"].items()}}
    for key, value in derived.items():
        if wanted[key] < value:
            raise Refused(f"sensitivities/{key}: must be at least {value:.17g}, which follows from the limits")
    shares = settings["shares"] or dict.fromkeys(STATISTICS, 1 / len(STATISTICS))
    budgets = {key: settings["epsilon"] * shares[key] for key in STATISTICS}
    steps = {key: units_of(wanted[key], budgets[key])[0] for key in STATISTICS}
    units = {key: units_of(wanted[key], budgets[key])[1] for key in STATISTICS}
    scales = {key: _noise.laplace_scale(budgets[key], sensitivity=units[key]) for key in STATISTICS}
    spent = [_noise.laplace_epsilon(scales[key], sensitivity=units[key]) for key in STATISTICS]
    facts = {
        "law": "discrete Laplace on the grid of step x whole numbers",
        "scale": {key: scales[key] * steps[key] for key in STATISTICS},
        "step": steps,
        "sensitivity": wanted,
        "epsilon_of_each": dict(zip(STATISTICS, spent, strict=True)),
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

    return Plan(cost=Cost(relation=REPLACE, epsilon=math.fsum(spent)), facts=facts, draw=drawn)
