"""The paper's printed statements about its model, its coefficients and Figures 1 and 2, as this run gives them.

Statements about time are in `timings_agreement`.
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from ...verdicts.rows import claim, computed, not_run
from . import drawn_agreement, joint, privacy, timings_agreement

_ITERATIONS = 5000
_CLOSE = 1e-6
_COEFFICIENTS = "the coefficients are M!/(S1! S0! Serr!)"
_MISPRINT = "row 5: its factorials M!/((M - 2)!0!2!) give its coefficient"


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows artefact, quantity, variant, ours, mc_se, note; one or more variants for every published quantity."""
    rows = [*_table_1(tables["table_1"]), _categories(tables["table_1_categories"])]
    rows += [*_equation_3(tables["equation_3"]), *_privacy(tables["privacy"])]
    rows += [*_listings(tables["figure_1_moments"]), _no_noise(tables["figure_1_moments"])]
    rows += [*_trapped(tables["trapped"]), *drawn_agreement.rows(tables)]
    return pd.DataFrame([*rows, *timings_agreement.rows(tables)])


def _table_1(table: pd.DataFrame) -> list[dict[str, Any]]:
    total = int(table["S1"].max())
    at_50 = {
        "rows at M = 50": (float(len(table)), "(M + 1)(M + 2)/2"),
        "coefficient evaluations of the standard algorithm": (float(len(table) * _ITERATIONS), "rows x iterations"),
        "unique evaluations, percent": (100 / _ITERATIONS, "one in as many as there are iterations"),
    }
    by_row = table.set_index("i")["coefficient"]
    for i in range(1, 11):
        at_50[f"row {i}: coefficient at M = 50"] = (by_row.get(i, np.nan), "M!/(S1! S0! Serr!)")
    misprint = "misprint: row 5 is (M - 2, 1, 1), so 0!2! should read 1!1!; its recurrence is right"
    if total == 50:
        rows = [computed("table_1", name, *value) for name, value in at_50.items()]
    else:
        rows = [not_run("table_1", name, f"this run computed M = {total}") for name in at_50]
    rows.append(claim("table_1", _MISPRINT, by_row.get(5, np.nan), "=", total * (total - 1) / 2, misprint))
    column, words = _recurrences(table, total)
    pairs = zip(table["S1"].astype(int), table["S0"].astype(int), strict=True)
    own = np.array([float(math.comb(total, s1) * math.comb(total - s1, s0)) for s1, s0 in pairs])
    apart = np.abs(table["coefficient"] / own - 1)
    index, linear = table["i"].to_numpy(float), total - table["k"].to_numpy(float) + 1
    bend = float(np.abs(linear - np.polyval(np.polyfit(index, linear, 1), index)).max())
    first = "holds for the first row of each block; in general the divisor is k - S0, and the last row copies the first"
    quadratic = "they are linear in k, and the row index is quadratic in k; largest distance from a straight line"
    return [
        *rows,
        claim("table_1", _COEFFICIENTS, apart, "=", 0, "largest relative error, against integers", rounding=1e-12),
        claim("table_1", _RULES[0], column, "=", 0, "largest relative deviation from exact", rounding=1e-12),
        claim("table_1", _RULES[1], words, "=", 0, f"{first}; largest relative deviation", rounding=1e-12),
        claim("table_1", _RULES[2], bend, "=", 0, quadratic, rounding=_CLOSE),
    ]


_RULES = (
    "last column: (M - k + 1)/(k - S0), and the last row of a block copies its first",
    "every row i is row i - k times (M - k + 1)/k",
    "the ratio's whole numbers are linear in the row index",
)


def _recurrences(table: pd.DataFrame, total: int) -> tuple[float, float]:
    """Largest relative deviation of our coefficients from Table 1's last column and from the rule in words."""
    mc, k, s0 = (table[name].to_numpy(float) for name in ("coefficient", "k", "S0"))
    column, words = [0.0], [0.0]
    for i in range(1, len(table)):
        before = mc[int(i - k[i])]
        ours = mc[i]
        stated = before if s0[i] == k[i] else before * (total - k[i] + 1) / (k[i] - s0[i])
        column.append(abs(stated - ours) / ours)
        words.append(abs(before * (total - k[i] + 1) / k[i] - ours) / ours)
    return float(np.max(column)), float(np.max(words))


def _categories(table: pd.DataFrame) -> dict[str, Any]:
    note = f"largest relative error for {', '.join(map(str, table['categories']))} categories"
    quantity = "the table extends to any number of categories"
    return claim("table_1_categories", quantity, table["largest_error"].max(), "=", 0, note, rounding=1e-12)


def _equation_3(table: pd.DataFrame) -> list[dict[str, Any]]:
    value = table.set_index(["law", "quantity", "way"])["value"]
    mean, given = ("mean of r", "mean of r given S")
    rows = []
    for name in (mean, given):
        model = value[joint.MODEL, name, "closed form"]
        under, again = (value[joint.EQUATION, name, way] for way in ("quadrature", "simulation"))
        note = f"{under:.4f} under (3) ({again:.4f} by simulation), {model:.4f} under the model (erratum 13)"
        joint_law = f"equation (3) is the joint law: {name}"
        rows.append(claim("equation_3", joint_law, under, "=", model, note, rounding=_CLOSE))
    apart = value[joint.EQUATION, "distance of the laws of S", "quadrature"]
    note = f"total variation {apart:.3f} from the model's law of S (erratum 13)"
    rows.append(claim("equation_3", "equation (4) is the law of S", apart, "=", 0, note, rounding=_CLOSE))
    gap = abs(value[joint.MODEL, mean, "closed form"] - value[joint.MODEL, mean, "quadrature"])
    note = f"a finite mixture of Beta laws gives what quadrature gives, to {gap:.0e}: the posterior has closed form"
    rows.append(claim("equation_3", "numeric evaluation is unavoidable", gap, ">", 0, note, rounding=_CLOSE))
    return rows


def _privacy(table: pd.DataFrame) -> list[dict[str, Any]]:
    lost = table.set_index("release")["lost"] / table["claimed"].to_numpy()
    claimed = table.set_index("release")["claimed"]
    wrong = "moving one partition changes two counts by one each: scale 1/epsilon costs 2 epsilon, not epsilon"
    two = "scale 2/epsilon on each of two counts that change by one"
    start = f"at least {lost[privacy.FIRST_P]:.2f} epsilon, and by the complement of that event no epsilon at all"
    spent = claimed[privacy.FIRST_P] * lost[privacy.FIRST_P]
    return [
        computed("privacy", "epsilon lost by the text's noise at epsilon = 1", lost[privacy.TEXT], wrong),
        computed("privacy", "epsilon lost by the listings' noise at epsilon = 1", lost[privacy.LISTINGS], two),
        claim("privacy", "starting from the true counts keeps epsilon", spent, "<=", claimed[privacy.FIRST_P], start),
    ]


def _listings(moments: pd.DataFrame) -> list[dict[str, Any]]:
    """Spread of a listing's means of r over runs on the same data, against that of Gibbs chains of the same length."""
    of_r = moments[moments["quantity"] == "r"].set_index(["method", "setting"])[["spread", "runs"]]
    gibbs = of_r.loc["gibbs"]
    rows = []
    for listing in ("listing 5.2", "listing 6.4"):
        method = next(m for m in of_r.index.get_level_values(0) if m.startswith(listing))
        wide = of_r.loc[method]
        worst = (wide["spread"] - 3 * gibbs["spread"]).idxmax()
        spread, runs = wide.loc[worst]
        thrice, error = 3 * gibbs.loc[worst, "spread"], spread / np.sqrt(2 * (runs - 1))
        note = f"means of r spread by {spread:.3f} over runs on the same data (panel {worst}): its p never moves"
        note += "; against three times a Gibbs chain's"
        about = ("figure_1", f"{listing} gives the same posterior in every run")
        rows.append(claim(*about, spread, "<=", thrice, note, "published", error))
    return rows


def _no_noise(moments: pd.DataFrame) -> dict[str, Any]:
    """Beta(1 + S1, 1 + S0), from the counts of the panels, whose mode is S1/(S1 + S0)."""
    about = ("figure_1", "without noise the posterior has closed form")
    found = moments[(moments["quantity"] == "r") & (moments["method"] == "no noise")]
    if "S1" not in found:
        return not_run(*about, "the table has no counts")
    s1, s0 = found["S1"].to_numpy(float), found["S0"].to_numpy(float)
    gap = np.abs(found["mean"].to_numpy() - (1 + s1) / (2 + s1 + s0)).max()
    note = "largest difference from the mean of Beta(1 + S1, 1 + S0)"
    return claim(*about, gap, "=", 0, note, rounding=_CLOSE)


_TRAPPED = ("step 6.4 without alpha keeps moving", "alpha keeps draws from being trapped")


def _trapped(table: pd.DataFrame) -> list[dict[str, Any]]:
    without, with_alpha = (table[table["alpha"] == a].set_index("setting") for a in (0.0, 1.0))
    worst: Any = without["trapped"].idxmax()
    one = without.loc[worst]
    share, error = _share(one)
    kept, error_kept = _share(with_alpha.loc[worst])
    moving, helped = (("trapped", what) for what in _TRAPPED)
    note = f"panel {worst}: {one['trapped']:.0f} of {one['chains']:.0f} chains end at a vertex"
    return [
        claim(*moving, share, "=", 0, f"{note} (erratum 4)", "as_written", error),
        claim(*helped, kept, "<", share, note, mc_se=float(np.hypot(error, error_kept))),
    ]


def _share(row: pd.Series) -> tuple[float, float]:
    """Share of trapped chains and its standard error, with one success and one failure added (Laplace)."""
    share = row["trapped"] / row["chains"]
    safe = (row["trapped"] + 1) / (row["chains"] + 2)
    return share, float(np.sqrt(safe * (1 - safe) / (row["chains"] + 2)))
