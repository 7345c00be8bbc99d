"""A printed table is judged as a whole: one variant a table, by a joint test, with its power against the others.

Cells without random error must round to print. Cells with it are standardised; under the right variant the sum of their
squares is chi-squared with as many degrees of freedom. The table's variant is the first, in the order corrected,
as_written, published, that passes; where none does, the one that comes nearest, and the table differs.
"""

from typing import Any

import numpy as np
import pandas as pd
import scipy  # its statistics load when they are first used

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
    rows = []
    for artefact, printed in numbers.groupby("artefact", sort=False):
        found = ours[(ours["artefact"] == artefact) & ours["quantity"].isin(printed["quantity"])]
        if found.empty:
            continue
        cells = {variant: _cells(printed, found, variant) for variant in VARIANTS if variant in set(found["variant"])}
        judged = [_judged(str(artefact), variant, cells) for variant in cells]
        fitting = [row for row in judged if row["fits"]]
        best = fitting[0] if fitting else min(judged, key=lambda row: (row["wrong"], -row["p_value"]))
        rows += [row | {"chosen": row is best} for row in judged]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _cells(printed: pd.DataFrame, found: pd.DataFrame, variant: str) -> pd.DataFrame:
    """One row a printed number: ours in this variant, or in the first one the number has."""
    rank = found["variant"].map(lambda name: -1 if name == variant else VARIANTS.index(name))
    first = found.assign(rank=rank).sort_values("rank", kind="stable").drop_duplicates("quantity")
    return printed.merge(first[["quantity", "ours", "mc_se"]], on="quantity").set_index("quantity")


def _judged(artefact: str, variant: str, cells: dict[str, pd.DataFrame]) -> dict[str, Any]:
    mine = cells[variant]
    exact: list[Any] = list(mine[mine["mc_se"] == 0].itertuples())
    wrong = sum(not rounds(row.ours, row.value, row.digits) for row in exact)
    random: list[Any] = list(mine[mine["mc_se"] != 0].itertuples())
    scores = np.array([standard_score(r.ours, r.mc_se, r.value, r.digits) for r in random])
    statistic = float(np.sum(scores**2))
    p_value = float(scipy.stats.chi2.sf(statistic, len(scores))) if len(scores) else 1.0
    p_value = 0.0 if np.isnan(p_value) else p_value
    power, against = _power(variant, cells)
    return {
        "artefact": artefact,
        "variant": variant,
        "cells": len(mine),
        "random": len(random),
        "wrong": wrong,
        "chi_squared": statistic,
        "p_value": p_value,
        "power": power,
        "against": against,
        "fits": wrong == 0 and p_value >= LEVEL,
    }


def _power(variant: str, cells: dict[str, pd.DataFrame]) -> tuple[float, str]:
    """Least power of the joint test among the other variants; NaN where there is no other."""
    mine, found = cells[variant], []
    for other, theirs in cells.items():
        if other == variant:
            continue
        shared = mine.index.intersection(theirs.index)
        a, b = mine.loc[shared], theirs.loc[shared]
        apart = [not rounds(y, x, d) for x, y, d in zip(a["ours"], b["ours"], a["digits"], strict=True)]
        if any(far and se == 0 for far, se in zip(apart, a["mc_se"], strict=True)):
            found.append((1.0, other))  # an exact cell tells them apart
            continue
        random = a["mc_se"] > 0
        unit = 10.0 ** -a["digits"] / np.sqrt(12)
        shift = float(np.sum(((a["ours"] - b["ours"]) / np.hypot(a["mc_se"], unit))[random] ** 2))
        degrees = int(random.sum())
        power = (
            float(scipy.stats.ncx2.sf(scipy.stats.chi2.isf(LEVEL, degrees), degrees, shift))
            if degrees and shift
            else LEVEL
        )
        found.append((power, other))
    return min(found) if found else (np.nan, "")
