"""Types for one case of a scenario: the settings at one point of a grid, and the results as tables and metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = ("quantity", "type", "released", "mean", "sd", "lower", "upper", "level", "status", "error")
BESIDE = ("tree_level", "least_squares", "least_squares_sd")  # additional columns for a tree, which follow `COLUMNS`
# additional columns if `confidence` is set, which follow all other columns
CONFIDENCE = ("ci_lower", "ci_upper", "ci_method")
# additional columns of a batch of noisy counts: the smallest p-value of the table times the number of tested values, if
# this product shows a conflict, and the name of the value with this p-value
CONFLICT = ("conflict", "conflict_name")
WARNINGS = "warnings"  # additional column of a batch: the warnings about each table
DENSITIES = ("quantity", "type", "x", "density")
COMPARISON = ("analysis", *COLUMNS)
FOR_COMPARISON = "for comparison"  # status of results that must not be used
REHEARSAL = "rehearsal"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Settings and data of one case of a scenario.

    Parameters
    ----------
    name : name of the scenario.
    settings : settings of the scenario, with defaults, at one point of a grid.
    rng : Generator used only for this point.
    release : folder of the release to analyse; empty if the settings contain the numbers.
    columns : columns of the case's file, as strings; None if there is no file.
    """

    name: str
    settings: Mapping[str, Any]
    rng: np.random.Generator
    release: str = ""
    columns: Mapping[str, Sequence[str]] | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Results of one case of a scenario, as tables and metadata.

    Parameters
    ----------
    rows : DataFrame with the columns `COLUMNS` and one row per quantity.
    facts : assumptions and results as values that can be written as JSON; sentences are made from them.
    densities : DataFrame with the columns `DENSITIES`.
    comparison : DataFrame with the columns `COMPARISON`, which contains analyses that are shown only for comparison.
    """

    rows: pd.DataFrame
    facts: dict[str, Any]
    densities: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(DENSITIES)))
    comparison: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(COMPARISON)))


def compared(analysis: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of an additional analysis, marked as shown only for comparison.

    Parameters
    ----------
    analysis : description of the difference between this analysis and the main analysis.
    rows : table with some of the columns `COLUMNS`.
    """
    marked = rows.reindex(columns=list(COLUMNS)).assign(status=FOR_COMPARISON)
    marked.insert(0, "analysis", analysis)
    return marked
