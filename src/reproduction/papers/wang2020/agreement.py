"""Compare the paper's printed statements with the results of the run."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from ...verdicts.rows import claim, computed
from . import claims
from .examples import REPRESENTATIVES

_PRINTED_RUNS = 10_000  # number of releases of a printed mean or variance
_PLACES = (0, 11, 24, 37, 49)


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a table with the columns artefact, quantity, variant, ours, mc_se and note. Every published quantity has
    one row for each of its variants.
    """
    rows = [*_figure_1(tables["figure_1"]), *_table_2(tables["table_2"])]
    rows += _moments("table_1", tables["table_1"], "")
    rows += _moments("table_3", tables["table_3"], _ties(tables["tie_fit"]))
    rows += _literal(tables["readings"], tables["table_3"])
    for name in ("table_4", "table_5"):
        rows += _pairs(name, tables[name])
    return pd.DataFrame([*rows, *_privacy(tables["privacy"]), *claims.ours(tables)])


def _figure_1(table: pd.DataFrame) -> list[dict[str, Any]]:
    note = (
        "The counts satisfy all constraints stated in the paper, because the paper does not publish its vector of "
        "counts."
    )
    counts = table["count"]
    rows = [computed("figure_1", "total", counts.sum(), note), computed("figure_1", "components", len(counts), note)]
    chosen = table[table["representative"] != ""].set_index("representative")["count"]
    rows += [computed("figure_1", name, chosen[name], note) for name in REPRESENTATIVES]
    rows += [computed("figure_1", f"components with count {n}", (counts == n).sum(), note) for n in (0, 1, 2, 3)]
    small, large = np.sort(counts)[6:11], np.sort(counts)[11:]  # sorted positions after six counts from 0 to 3
    rows.append(computed("figure_1", "components between 15 and 60", ((small >= 15) & (small <= 60)).sum(), note))
    rows.append(computed("figure_1", "components from 60 to 1000", ((large >= 60) & (large <= 1000)).sum(), note))
    order = np.diff(counts) if table["rank"].is_monotonic_increasing else np.array([-1.0])
    return [*rows, claim("figure_1", "counts stand in the order of their rank", order, ">=", 0, note)]


def _table_2(table: pd.DataFrame) -> list[dict[str, Any]]:
    listed: Iterable[Any] = table.rename(columns={"count": "count_"}).itertuples()
    rows = [computed("table_2", f"components with count {row.count_}", row.instances, row.note) for row in listed]
    counts = np.repeat(table["count"].to_numpy(), table["instances"].to_numpy())
    missing = (
        "The total is 863 = 428 + 435, because one state with seven seats is missing, and the national total of 435 is "
        "used as a component."
    )
    rows.append(computed("table_2", "total", counts.sum(), missing))
    small = float((counts <= 50).mean())
    note = "The left side is the proportion of counts from 0 to 50."
    rows.append(claim("table_2", "most counts are small, 0 to 50", small, ">", 0.5, note))
    note = "The five values are the order statistics 1, 12, 25, 38 and 50 (quantile type 3 of R)."
    places = dict(zip(REPRESENTATIVES, _PLACES, strict=True))
    return rows + [computed("table_2", name, np.sort(counts)[place], note) for name, place in places.items()]


def _ties(fit: pd.DataFrame) -> str:
    """Return a note that compares two tie rules of algorithm 3 (rounding and random ties) with the printed row, by
    their p-values.
    """
    p = fit.set_index("ties")["p_value"]
    return (
        f" A joint test of the ten printed cells of algorithm 3 has p = {p['ieee']:.2g} if ties are resolved by "
        f"rounding and p = {p['random']:.2g} if ties are resolved at random."
    )


def _moments(name: str, table: pd.DataFrame, fit: str) -> Iterator[dict[str, Any]]:
    """Yield rows of the comparison table about the means and variances, with the errors of the printed and of the
    reproduced values. The moments of algorithms 1 and 2 are exact, and the moments of algorithm 3 are simulated.

    The errors are those of 10,000 releases: sqrt(variance/n) for a mean, sqrt((mu4 - variance^2)/n) for a variance.
    Algorithm 3 is Theorem 1 in double precision, as in the paper. Random ties are another method, not an interpretation
    of the paper.
    """
    wanted = np.where(table["algorithm"] == "Algorithm 3", "as_written", "corrected")
    row: Any
    for row in table[table["variant"] == wanted].itertuples():
        for what in ("mean", "variance"):
            simulated, error = getattr(row, what), getattr(row, f"{what}_se")
            quantity = f"{row.algorithm}, {row.representative}: {what}"
            printed_error = _printed_error(row, what)
            if row.algorithm == "Algorithm 3":
                note = f"The value is simulated, and ties are resolved by rounding.{fit}"
                yield computed(name, quantity, simulated, note, row.variant, np.hypot(error, printed_error))
            else:
                note = f"The value is exact. The simulated value is {simulated:.4g} with standard error {error:.2g}."
                yield computed(name, quantity, getattr(row, f"exact_{what}"), note, row.variant, printed_error)


def _printed_error(row: Any, what: str) -> float:
    """Return the standard error of a printed mean or variance of 10,000 releases. The printed value was computed from
    10,000 releases.
    """
    return float(getattr(row, f"{what}_se") * np.sqrt(row.n / _PRINTED_RUNS))


def _literal(readings: pd.DataFrame, table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield rows of the comparison table that compare the first row of Table 3 with releases whose draws must be above
    0, as the text of the paper states.
    """
    name = "Algorithm 1 (ind)"
    errors = {row.representative: row for row in table.itertuples() if row.algorithm == name}
    row: Any
    for row in readings[(readings["algorithm"] == name) & (readings["variant"] == "as_written")].itertuples():
        for what in ("mean", "variance"):
            error = _printed_error(errors[row.representative], what)
            quantity = f"{name}, {row.representative}: {what}"
            note = "The value is exact for draws that must be above 0."
            yield computed("table_3", quantity, getattr(row, what), note, row.variant, error)


def _pairs(name: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    rounded = " Ties are resolved by rounding."
    ties = {"corrected": " Ties are resolved at random.", "as_written": rounded, "published": rounded}
    rows = []
    for key, part in table.groupby("variant", sort=False):
        variant = str(key)
        window = part["window"].iloc[0]
        stated = " instead of the stated +-30" if variant == "published" else ""
        note = "No window is used." if np.isnan(window) else f"The windows are +-{window:g}{stated}."
        note += ties[variant] if name == "table_5" else ""
        found = part.set_index("row").reindex(range(1, 11))
        for number, row in found.iterrows():
            missing = "" if pd.notna(row["N1"]) else "This run includes fewer rows. "
            for column in ("N1", "N2", "N", "probability"):
                rows.append(computed(name, f"row {number}: {column}", row[column], missing + note, variant))
    return rows


def _privacy(table: pd.DataFrame) -> list[dict[str, Any]]:
    both = table[table["counts"] == "total and components"]
    enough = both.loc[both["delta"] < 1e-9, "claimed"].min()
    note = (
        "The value is the smallest claimed epsilon for which delta is below 1e-9. The total and the components are "
        "both released, and one person changes the total and one component, so the privacy cost is 2. The claim of 1 "
        "is correct only if the total or the components are released alone."
    )
    return [computed("privacy", "epsilon of a release", enough, note)]
