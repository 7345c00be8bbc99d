"""The paper's printed numbers, as this run gives them."""

from typing import Any

import numpy as np
import pandas as pd

from ...agreement import computed
from .examples import REPRESENTATIVES

_PRINTED_RUNS = 10_000  # releases behind a printed mean or variance


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows artefact, quantity, variant, ours, mc_se, note; one or more variants for every published quantity."""
    rows = [*_figure_1(tables["figure_1"]), *_table_2(tables["table_2"])]
    for name in ("table_1", "table_3"):
        rows += _moments(name, tables[name])
    for name in ("table_4", "table_5"):
        rows += _pairs(name, tables[name])
    return pd.DataFrame([*rows, *_privacy(tables["privacy"])])


def _figure_1(table: pd.DataFrame) -> list[dict[str, Any]]:
    note = "a vector that meets all stated constraints; the paper's own is not published"
    counts = table["count"]
    rows = [computed("figure_1", "total", counts.sum(), note), computed("figure_1", "components", len(counts))]
    chosen = table[table["representative"] != ""].set_index("representative")["count"]
    return rows + [computed("figure_1", name, chosen[name], note) for name in REPRESENTATIVES]


def _table_2(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = [
        computed("table_2", f"components with count {row.count_}", row.instances, row.note)
        for row in table.rename(columns={"count": "count_"}).itertuples()
    ]
    counts = np.repeat(table["count"], table["instances"]).to_numpy()
    missing = "863 = 428 + 435: one state with seven seats is missing and the national total is a component"
    rows.append(computed("table_2", "total", counts.sum(), missing))
    note = "order statistics 1, 12, 25, 38, 50 (quantile type 3)"
    places = dict(zip(REPRESENTATIVES, (0, 11, 24, 37, 49), strict=True))
    return rows + [computed("table_2", name, np.sort(counts)[place], note) for name, place in places.items()]


def _moments(name: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Exact values where they exist, with the printed number's simulation error; else simulated, with both errors."""
    rows = []
    rounded = table[table["variant"] == "as_written"].set_index("representative")
    for row in table.itertuples():
        scale = np.sqrt(row.n / _PRINTED_RUNS)
        for what in ("mean", "variance"):
            exact, simulated = getattr(row, f"exact_{what}"), getattr(row, what)
            error = getattr(row, f"{what}_se")
            printed_error = error * scale
            known = np.isfinite(exact)
            note = (
                f"exact; simulated {simulated:.4g} +- {error:.2g}" if known else "simulated: ties settled by rounding"
            )
            if row.algorithm == "Algorithm 3" and known:
                note += f"; random ties. Ties by rounding, as written: {rounded.loc[row.representative, what]:.4g}"
            value, mc_se = (exact, printed_error) if known else (simulated, np.hypot(error, printed_error))
            rows.append(
                computed(name, f"{row.algorithm}, {row.representative}: {what}", value, note, row.variant, mc_se)
            )
    return rows


def _pairs(name: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    ties = {"corrected": "; random ties", "as_written": "; ties by rounding", "published": "; ties by rounding"}
    rows = []
    for variant, part in table.groupby("variant", sort=False):
        window = part["window"].iloc[0]
        note = "no window at all" if np.isnan(window) else f"windows of +-{window:g}"
        note += " in place of the stated +-30" if variant == "published" else ""
        note += ties[variant] if name == "table_5" else ""
        found = part.set_index("row").reindex(range(1, 11))
        for number, row in found.iterrows():
            missing = "" if pd.notna(row["N1"]) else "this run has fewer rows; "
            for column in ("N1", "N2", "N", "probability"):
                rows.append(computed(name, f"row {number}: {column}", row[column], missing + note, variant))
    return rows


def _privacy(table: pd.DataFrame) -> list[dict[str, Any]]:
    both = table[table["counts"] == "total and components"]
    enough = both.loc[both["delta"] < 1e-9, "claimed"].min()
    note = "total and components are both released and one person moves both; the claim of 1 holds for either alone"
    return [computed("privacy", "epsilon of a release", enough, note)]
