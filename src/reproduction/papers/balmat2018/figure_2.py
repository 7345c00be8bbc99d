"""Compute Figure 2, which shows the significant digits of multinomial probabilities over all compositions, for many
random probability vectors p.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._posteriors.counts import compositions

from . import laws
from .algorithms import composition_tables
from .tables import exact_coefficients

COLUMNS = ("pair", *composition_tables.FORMULATIONS)
PROBABILITIES = ("p1", "p0", "perr")


def triplets(size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return random triplets (p1, p0, perr), drawn in the three stages of footnote 13. The first value is uniform on
    (0, 1), the second value is uniform between 0 and 1 minus the first value, and the third value is the remainder. The
    three values are shuffled.

    The footnote prints the second interval as [1 - first, first], but only [0, 1 - first] gives probabilities.
    """
    first = rng.random(size)
    second = rng.random(size) * (1 - first)
    return rng.permuted(np.column_stack([first, second, 1 - first - second]), axis=1)


def simulate(size: int, *, total: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the smallest number of significant digits to which two computations of a multinomial probability agree,
    over all compositions, with one row per triplet of probabilities.

    The columns are p1, p0 and perr; `pair`, the table compared with R's formula as in the paper; one column for each
    formulation compared with exact arithmetic; and `skipped`, the number of compositions whose probability is below
    float64's normal range.
    """
    counts, table = compositions.multinomial_table(total, 3)
    p = triplets(size, rng=rng)
    digits, skipped = composition_tables.fewest_digits(counts, table, exact_coefficients(counts), p)
    frame = pd.DataFrame(np.column_stack([p, digits]), columns=["p1", "p0", "perr", *COLUMNS])
    return frame.assign(skipped=skipped)


def points(table: pd.DataFrame, *, total: int) -> pd.DataFrame:
    """Return the points of Figure 2, one for each simulated triplet of probabilities."""
    return table.drop(columns="block")


def laws_of_triplets(table: pd.DataFrame, *, total: int) -> pd.DataFrame:
    """Test the triplets of probabilities against their exact distribution, and return the results of the tests (see
    `laws.figure_2_laws`).
    """
    return laws.figure_2_laws(table, total=total)


def digits(table: pd.DataFrame, *, total: int) -> pd.DataFrame:
    """Return the smallest and the median number of significant digits for each formulation of the multinomial
    probabilities. Both are given for all triplets and for the triplets without an extremely small p.

    The columns are formulation, against, triplets, min_p (smallest p among them), fewest, median and below_12 (number
    of triplets below 12 digits). For each p, `dip_<p>` is the median at .1 < p < .6 minus the median at p < .01 or >
    .95, which is the paper's bias near the end points; `dip_<p>_se` is its standard error over blocks.
    """
    smallest = table[list(PROBABILITIES)].min(axis=1)
    rows = []
    for scope, keep in (("all", smallest > 0), ("min p > 1e-6", smallest > 1e-6)):
        kept = table[keep]
        for name in COLUMNS:
            values = kept[name]
            rows.append(
                {
                    **{"formulation": "table_exp" if name == "pair" else name, "total": total},
                    **{"against": "lgamma (dmultinom)" if name == "pair" else "exact", "scope": scope},
                    **{"triplets": len(values), "min_p": smallest[keep].min()},
                    **{"fewest": values.min(), "median": values.median(), "below_12": int((values < 12).sum())},
                    **{f"dip_{p}": _dip(kept, name, p) for p in PROBABILITIES},
                    **{f"dip_{p}_se": _dip_se(kept, name, p) for p in PROBABILITIES},
                }
            )
    return pd.DataFrame(rows)


def _dip(table: pd.DataFrame, name: str, p: str) -> float:
    outer = (table[p] < 0.01) | (table[p] > 0.95)
    return float(table.loc[table[p].between(0.1, 0.6), name].median() - table.loc[outer, name].median())


def _dip_se(table: pd.DataFrame, name: str, p: str) -> float:
    """Return the standard error of the difference between two median numbers of significant digits. It is computed over
    blocks, and is NaN if fewer than two blocks are usable.
    """
    dips = np.array([_dip(block, name, p) for _, block in table.groupby("block")])
    usable = dips[np.isfinite(dips)]
    return float(usable.std(ddof=1) / np.sqrt(len(usable))) if len(usable) > 1 else np.nan


def tiny_p(*, total: int, exponents: list[int]) -> pd.DataFrame:
    """Return the numbers of correct digits of multinomial probabilities at p = (q, (1 - q)/2, (1 - q)/2), where q =
    10^-e for each exponent e. For these p, the claim of twelve digits is false.

    The factor exp(sum s log p) becomes subnormal, or 0, before the multiplication by the coefficient brings the product
    back into range.
    """
    counts, table = compositions.multinomial_table(total, 3)
    small = 10.0 ** -np.asarray(exponents, dtype=float)
    p = np.column_stack([small, (1 - small) / 2, (1 - small) / 2])
    values, skipped = composition_tables.fewest_digits(counts, table, exact_coefficients(counts), p)
    frame = pd.DataFrame(values, columns=list(COLUMNS))
    frame.insert(0, "p1", small)
    return frame.assign(skipped=skipped)
