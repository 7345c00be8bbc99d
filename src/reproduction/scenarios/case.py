"""One case: what a scenario says at one point, and its answer in tables and facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = ("quantity", "type", "released", "mean", "sd", "lower", "upper", "level", "status", "error")
BESIDE = ("tree_level", "least_squares", "least_squares_sd")  # columns of a tree, after `COLUMNS`
DENSITIES = ("quantity", "type", "x", "density")
COMPARISON = ("analysis", *COLUMNS)
FOR_COMPARISON = "for comparison"  # status of what must not be used
REHEARSAL = "rehearsal"


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is asked.

    Parameters
    ----------
    name : of the scenario.
    settings : of its kind, with defaults, at one point of a grid.
    rng : Generator of this point alone.
    release : folder of the release it is about; empty where the settings state the numbers.
    columns : of its file, as texts; None where it has no file.
    """

    name: str
    settings: Mapping[str, Any]
    rng: np.random.Generator
    release: str = ""
    columns: Mapping[str, Sequence[str]] | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is said.

    Parameters
    ----------
    rows : DataFrame with `COLUMNS`, one row a quantity.
    facts : JSON-able; what was assumed and found, from which sentences are made.
    densities : DataFrame with `DENSITIES`.
    comparison : DataFrame with `COMPARISON`: analyses that are shown beside, and must not be used.
    """

    rows: pd.DataFrame
    facts: dict[str, Any]
    densities: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(DENSITIES)))
    comparison: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(COMPARISON)))


def compared(analysis: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of an analysis that is shown only beside others.

    Parameters
    ----------
    analysis : what it does otherwise, in words.
    rows : columns of `COLUMNS`, as far as it has them.
    """
    found = rows.reindex(columns=list(COLUMNS)).assign(status=FOR_COMPARISON)
    found.insert(0, "analysis", analysis)
    return found
