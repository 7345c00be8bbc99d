"""The coverage study at limits that do not lie symmetrically about the records' mean."""

from typing import Any

import numpy as np
import pandas as pd

from . import coverage as symmetric


def simulate(size: int, *, rng: np.random.Generator, **settings: Any) -> pd.DataFrame:
    """As `coverage.simulate`; its own streams."""
    return symmetric.simulate(size, rng=rng, **settings)


def coverage(table: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """As `coverage.coverage`."""
    return symmetric.coverage(table)
