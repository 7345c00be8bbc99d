"""Types for one case of a scenario: the settings at one point of a grid, and the results as tables and metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = ("quantity", "type", "released", "mean", "sd", "lower", "upper", "level", "status", "error")
BESIDE = ("tree_level", "least_squares", "least_squares_sd")  # columns for a tree, after `COLUMNS`
CONFIDENCE = ("ci_lower", "ci_upper", "ci_method")  # columns with `confidence`, after all others
DENSITIES = ("quantity", "type", "x", "density")
COMPARISON = ("analysis", *COLUMNS)
FOR_COMPARISON = "for comparison"  # status of results that must not be used
REHEARSAL = "rehearsal"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Settings and data of one case of a scenario.

    Parameters
    ----------
    name : of the scenario.
    settings : settings of its kind, with defaults, at one point of a grid.
    rng : Generator used only for this point.
    release : folder of the release that it analyses; empty if the settings contain the numbers.
    columns : columns of its file, as strings; None without a file.
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
    rows : DataFrame with `COLUMNS`, one row per quantity.
    facts : assumptions and results as JSON-compatible values, from which sentences are written.
    densities : DataFrame with `DENSITIES`.
    comparison : DataFrame with `COMPARISON`: analyses shown only for comparison.
    """

    rows: pd.DataFrame
    facts: dict[str, Any]
    densities: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(DENSITIES)))
    comparison: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(COMPARISON)))


def compared(analysis: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of an analysis, marked as shown only for comparison.

    Parameters
    ----------
    analysis : description of how it differs.
    rows : table with some of the columns `COLUMNS`.
    """
    found = rows.reindex(columns=list(COLUMNS)).assign(status=FOR_COMPARISON)
    found.insert(0, "analysis", analysis)
    return found
