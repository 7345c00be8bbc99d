"""What the paper shows in images, which its text lacks: ours stand alone, as nothing can be read off.

Few values were read off the printed plots (published.tsv, kind curve); of the rest no point is known.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ...verdicts.rows import computed, not_run
from . import catalogue

Row = dict[str, Any]
IMAGE = "the plot is an image that the text lacks: none of its points can be read"
_MEASURES = {
    **{"figure_4": ("cross_entropy", catalogue.NAMES), "figure_9": ("cross_entropy", catalogue.NAMES)},
    **{"figure_5": ("accuracy", catalogue.NAMES), "figure_10": ("accuracy", catalogue.NAMES)},
    **{"figure_7": ("log_likelihood", catalogue.NETWORKS), "figure_11": ("log_likelihood", catalogue.NETWORKS)},
}


def rows(tables: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Rows of `agreement.ours`, all of them without print."""
    yield from _theory(tables)
    yield from _networks(tables["figure_6"])
    for artefact, (measure, names) in _MEASURES.items():
        for name in names:
            yield _curve(artefact, tables[artefact], name, measure)


def _theory(tables: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """The left end of a curve in each of figures 1, 2, 3 and 8."""
    ends: tuple[tuple[str, str, str, str, dict[str, str]], ...] = (
        ("figure_1", "trigamma at the left end", "x", "trigamma", {}),
        ("figure_2", "exact delta at the left end", "gamma", "delta", {"variant": "corrected"}),
        ("figure_3_top", "Algorithm 1 at the left end", "r", "epsilon", {"series": "Algorithm 1"}),
        ("figure_3_bottom", "Algorithm 1 at the left end", "epsilon_hat", "kl_mean", {"variant": "published"}),
        ("figure_8", "epsilon_hat at the left end", "r", "epsilon_hat", {"variant": "corrected"}),
    )
    for artefact, quantity, x, y, kept in ends:
        table = tables[artefact]
        for column, value in kept.items():
            table = table[table[column] == value]
        table = table[table["order"] == table["order"].min()] if "order" in table else table
        first = table.sort_values(x).iloc[0]
        order = f", lambda = {first['order']:g}" if "order" in table else ""
        yield computed(artefact, quantity, first[y], f"{x} = {first[x]:.4g}{order}; {IMAGE}")


def _networks(table: pd.DataFrame) -> Iterator[Row]:
    """Figure 6: the text says only that the networks are parts of those of Le Quy et al."""
    for name in catalogue.NETWORKS:
        of = table[table["dataset"] == name]
        edges = of[of["parent"].fillna("") != ""]
        drawn = ", ".join(f"{parent} > {node}" for parent, node in zip(edges["parent"], edges["node"], strict=True))
        note = "the figure is an image that the text lacks, and the text counts no nodes"
        yield computed("figure_6", f"{name}: nodes", of["node"].nunique(), note)
        yield computed("figure_6", f"{name}: edges", len(edges), f"{note}; ours: {drawn}")


def _curve(artefact: str, table: pd.DataFrame, name: str, measure: str) -> Row:
    """The Dirichlet in the middle of its budgets, as published, with both ends in the note."""
    about = (artefact, f"{name}: dirichlet in the middle of its budgets")
    mine = table[(table["dataset"] == name) & (table["method"] == "dirichlet") & (table["variant"] == "published")]
    some = mine[mine["epsilon"].notna()].sort_values("epsilon")
    if some.empty:
        return not_run(*about, "the data set is not among those of this run")
    values, at = some[f"{measure}_mean"].to_numpy(), some["epsilon"].to_numpy()
    k = len(some) // 2
    ends = f"{values[0]:.4g} at {at[0]:.4g} and {values[-1]:.4g} at {at[-1]:.4g}, the ends"
    error = np.sqrt(2) * some[f"{measure}_se"].to_numpy()[k]
    return computed(*about, values[k], f"{values[k]:.4g} at {at[k]:.4g}, {ends}; {IMAGE}", "published", error)
