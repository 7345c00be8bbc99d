"""Whether noise of the settings' scale can be drawn: a public fact, told before any confidential file is opened."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ._grid import FINE, LEAST_RECORDS, MOST_RECORDS, sensitivities, units_of
from ._noise import LARGEST_SCALE

_STATISTICS = ("mean", "sse", "low", "high")
_WIDEST = 1e100  # its square is a number
_ROOM = 1 - 1e-9  # a scale is raised by rounding


def problems(mechanism: str, get: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, what is wrong) of every scale above 2^40, and of limits too far from 0 for their distance.

    Parameters
    ----------
    mechanism : its name.
    get : checked and filled keys.
    """
    if mechanism == "censored_statistics":
        low, high = float(get["lower"]), float(get["upper"])
        if max(abs(low), abs(high)) > 2.0**FINE * (high - low) or high - low > _WIDEST:
            yield (
                "upper",
                "must lie within 2^20 times its distance to lower of 0, and that below 1e100; subtract a constant",
            )
            return
    for key, scale in _scales(mechanism, get):
        if not 0 < scale <= LARGEST_SCALE * _ROOM:
            yield key, f"needs noise of scale {scale:.3g}, above 2^40; it is too small, got {get[key]!r}"


def tables(mechanism: str, get: Mapping[str, Any]) -> int:
    """How many tables a model has.

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
    """Change of the counts, or of a tree's level; half of a replacement's where records are added or removed."""
    tree = bool(get["levels"] or get["relation"]) and get["relation"] != "replace a record"
    return -(-get["sensitivity"] // 2) if tree else int(get["sensitivity"])


def _least_share(get: Mapping[str, Any]) -> float:
    """Of a level, as far as it is stated."""
    return float(min((get["shares"] or {"": 1.0}).values()))
