"""Jointly test all numbers of a printed table under each variant, and compute the power of the test to distinguish the
variants.

Cells without random error must round to the printed numbers. Cells with random error are standardised; under the
correct variant, the sum of their squares has a chi-squared distribution with as many degrees of freedom as there are
cells. The variant of the table is the first of corrected, as_written and published that passes the test. If none
passes, it is the variant that is closest to the printed table, and the verdict is that the table differs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # scipy.stats is loaded on first use
from numpy.typing import NDArray

Array = NDArray[np.float64]
VARIANTS = ("corrected", "as_written", "published")  # order in which variants are tried
# limit of the score of a single cell, which is exceeded with probability 5e-4 under the correct variant
LARGEST_Z = 3.5
LEVEL = 0.001  # level of the joint test
COLUMNS = (
    *("artefact", "variant", "cells", "random", "wrong", "chi_squared", "p_value", "power", "against"),
    *("fits", "chosen"),
)


def standard_score(ours: float, mc_se: float, printed: float, digits: float) -> float:
    """Return the standard score of a reproduced number, (ours - printed)/sqrt(mc_se^2 + 10^(-2 digits)/12). The
    rounding error of a printed number is assumed to be uniform within its last digit.
    """
    return float((ours - printed) / np.hypot(mc_se, 10.0**-digits / np.sqrt(12)))


def unit_error(mc_se: float, digits: float) -> float:
    """Return the largest difference at which a reproduced number is accepted as equal to the printed number in a single
    cell.
    """
    return float(LARGEST_Z * np.hypot(mc_se, 10.0**-digits / np.sqrt(12)) if mc_se > 0 else 10.0**-digits / 2)


def rounds(ours: float, printed: float, digits: float) -> bool:
    """Return whether `ours` rounds to the printed number. A tie may be rounded in either direction."""
    return bool(abs(ours - printed) <= 10.0**-digits / 2 * (1 + 1e-9))


def judge(numbers: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    """Return the results of the joint test of every printed table under each of its variants.

    Parameters
    ----------
    numbers : table of the printed numbers with the columns artefact, quantity, value and digits.
    ours : table with the columns artefact, quantity, variant, ours and mc_se. If a quantity was not computed under a
        variant, its first variant is used.

    Returns
    -------
    DataFrame with `COLUMNS`
        `cells`: number of cells, of which `random`; `wrong`: exact cells that do not round to the printed number;
        `chi_squared` of the random cells, its `p_value`; `power`: the probability that the joint test at `LEVEL`
        rejects this variant if the closest other variant, named in `against`, were true; `fits`; `chosen`: the table's
        variant.
    """
    return pd.DataFrame([*judged_tables(numbers.itertuples(), ours.itertuples())], columns=list(COLUMNS))


def judged_tables(numbers: Iterable[Any], ours: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table that `judge` returns, given the printed and the computed rows as iterables of named
    tuples.
    """
    by_artefact: dict[Any, dict[Any, list[Any]]] = {}  # rows by artefact and quantity
    for row in ours:
        by_artefact.setdefault(row.artefact, {}).setdefault(row.quantity, []).append(row)
    printed: dict[str, list[Any]] = {}
    for row in numbers:
        if row.quantity in by_artefact.get(row.artefact, {}):
            printed.setdefault(str(row.artefact), []).append(row)
    for artefact, statements in printed.items():
        mine = by_artefact[artefact]
        named = {row.variant for statement in statements for row in mine[statement.quantity]}
        cells = {variant: _cells(statements, mine, variant) for variant in VARIANTS if variant in named}
        rows = [_judged(artefact, variant, cells) for variant in cells]
        fitting = [row for row in rows if row["fits"]]
        best = fitting[0] if fitting else min(rows, key=lambda row: (row["wrong"], -row["p_value"]))
        yield from (row | {"chosen": row is best} for row in rows)


class _Cells(NamedTuple):
    """Printed numbers of a table, together with the reproduced numbers and their Monte Carlo standard errors."""

    value: Array
    digits: Array
    ours: Array
    mc_se: Array


def _cells(statements: list[Any], found: Mapping[Any, list[Any]], variant: str) -> _Cells:
    """Return the printed numbers of a table, together with the numbers computed under one variant. If a number was not
    computed under this variant, its first variant is used.
    """

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
    """Return the smallest power of the joint test to reject the other variants, and the variant with this power. The
    power is NaN if there is no other variant.
    """
    mine, powers = cells[variant], []
    for other, theirs in cells.items():
        if other == variant:
            continue
        apart = [not rounds(*numbers) for numbers in zip(theirs.ours, mine.ours, mine.digits, strict=True)]
        if np.any(apart & (mine.mc_se == 0)):
            powers.append((1.0, other))  # a cell without random error distinguishes the two variants
            continue
        random = mine.mc_se > 0
        scores = (mine.ours - theirs.ours) / np.hypot(mine.mc_se, 10.0**-mine.digits / np.sqrt(12))
        shift, degrees = float(np.nansum(scores[random] ** 2)), int(random.sum())
        power = (
            float(scipy.stats.ncx2.sf(scipy.stats.chi2.isf(LEVEL, degrees), degrees, shift))
            if degrees and shift
            else LEVEL
        )
        powers.append((power, other))
    return min(powers) if powers else (np.nan, "")
