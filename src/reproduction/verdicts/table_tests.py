"""A printed table is judged as a whole: one variant a table, by a joint test, with its power against the others.

Cells without random error must round to print. Cells with it are standardised; under the right variant the sum of their
squares is chi-squared with as many degrees of freedom. The table's variant is the first, in the order corrected,
as_written, published, that passes; where none does, the one that comes nearest, and the table differs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # its statistics load when they are first used
from numpy.typing import NDArray

Array = NDArray[np.float64]
VARIANTS = ("corrected", "as_written", "published")  # the order in which a table is looked for
LARGEST_Z = 3.5  # of a single cell: 5e-4 each under the right variant
LEVEL = 0.001  # of the joint test
COLUMNS = (
    *("artefact", "variant", "cells", "random", "wrong", "chi_squared", "p_value", "power", "against"),
    *("fits", "chosen"),
)


def standard_score(ours: float, mc_se: float, printed: float, digits: float) -> float:
    """(ours - printed)/sqrt(mc_se^2 + 10^(-2 digits)/12): the printed number is uniform within its last digit."""
    return float((ours - printed) / np.hypot(mc_se, 10.0**-digits / np.sqrt(12)))


def unit_error(mc_se: float, digits: float) -> float:
    """The largest distance from print that a single cell passes."""
    return float(LARGEST_Z * np.hypot(mc_se, 10.0**-digits / np.sqrt(12)) if mc_se > 0 else 10.0**-digits / 2)


def rounds(ours: float, printed: float, digits: float) -> bool:
    """Whether `ours` rounds to the printed number (ties either way)."""
    return bool(abs(ours - printed) <= 10.0**-digits / 2 * (1 + 1e-9))


def judge(numbers: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    """Every table under every variant it can be looked at in.

    Parameters
    ----------
    numbers : printed numbers: artefact, quantity, value, digits.
    ours : artefact, quantity, variant, ours, mc_se. A quantity without the variant is taken in its first one.

    Returns
    -------
    DataFrame with `COLUMNS`: `cells` judged, of which `random`; `wrong`: exact cells that do not round to print;
        `chi_squared` of the random cells, its `p_value`; `power`: the probability that the joint test at `LEVEL`
        refuses this variant if the one named in `against`, its nearest rival, were true; `fits`; `chosen`: the table's
        variant.
    """
    return pd.DataFrame([*judged_tables(numbers.itertuples(), ours.itertuples())], columns=list(COLUMNS))


def judged_tables(numbers: Iterable[Any], ours: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Rows of `judge`, from rows of both tables that name their columns."""
    found: dict[Any, dict[Any, list[Any]]] = {}  # by artefact and quantity
    for row in ours:
        found.setdefault(row.artefact, {}).setdefault(row.quantity, []).append(row)
    printed: dict[str, list[Any]] = {}
    for row in numbers:
        if row.quantity in found.get(row.artefact, {}):
            printed.setdefault(str(row.artefact), []).append(row)
    for artefact, statements in printed.items():
        mine = found[artefact]
        named = {row.variant for statement in statements for row in mine[statement.quantity]}
        cells = {variant: _cells(statements, mine, variant) for variant in VARIANTS if variant in named}
        rows = [_judged(artefact, variant, cells) for variant in cells]
        fitting = [row for row in rows if row["fits"]]
        best = fitting[0] if fitting else min(rows, key=lambda row: (row["wrong"], -row["p_value"]))
        yield from (row | {"chosen": row is best} for row in rows)


class _Cells(NamedTuple):
    """Printed numbers of a table, and ours."""

    value: Array
    digits: Array
    ours: Array
    mc_se: Array


def _cells(statements: list[Any], found: Mapping[Any, list[Any]], variant: str) -> _Cells:
    """Ours in this variant, or in the first one the number has."""

    def rank(row: Any) -> int:
        return -1 if row.variant == variant else VARIANTS.index(row.variant)

    rows = [
        (s.value, s.digits, first.ours, first.mc_se) for s in statements for first in [min(found[s.quantity], key=rank)]
    ]
    return _Cells(*np.array(rows, dtype=float).T)


def _judged(artefact: str, variant: str, cells: Mapping[str, _Cells]) -> dict[str, Any]:
    mine = cells[variant]
    exact = mine.mc_se == 0
    wrong = sum(not rounds(ours, value, digits) for value, digits, ours, _ in np.stack(mine, axis=1)[exact])
    scores = np.array([standard_score(o, se, value, d) for value, d, o, se in np.stack(mine, axis=1)[~exact]])
    statistic = float(np.sum(scores**2))
    p_value = float(scipy.stats.chi2.sf(statistic, len(scores))) if len(scores) else 1.0
    p_value = 0.0 if np.isnan(p_value) else p_value
    power, against = _power(variant, cells)
    return {
        "artefact": artefact,
        "variant": variant,
        "cells": len(exact),
        "random": len(scores),
        "wrong": wrong,
        "chi_squared": statistic,
        "p_value": p_value,
        "power": power,
        "against": against,
        "fits": wrong == 0 and p_value >= LEVEL,
    }


def _power(variant: str, cells: Mapping[str, _Cells]) -> tuple[float, str]:
    """Least power of the joint test among the other variants; NaN where there is no other."""
    mine, found = cells[variant], []
    for other, theirs in cells.items():
        if other == variant:
            continue
        apart = [not rounds(*numbers) for numbers in zip(theirs.ours, mine.ours, mine.digits, strict=True)]
        if np.any(apart & (mine.mc_se == 0)):
            found.append((1.0, other))  # an exact cell tells them apart
            continue
        random = mine.mc_se > 0
        scores = (mine.ours - theirs.ours) / np.hypot(mine.mc_se, 10.0**-mine.digits / np.sqrt(12))
        shift, degrees = float(np.nansum(scores[random] ** 2)), int(random.sum())
        power = (
            float(scipy.stats.ncx2.sf(scipy.stats.chi2.isf(LEVEL, degrees), degrees, shift))
            if degrees and shift
            else LEVEL
        )
        found.append((power, other))
    return min(found) if found else (np.nan, "")
