"""Study the coverage of intervals if the censoring limits a and b are not symmetric about the mean of the records."""

from typing import Any

import numpy as np
import pandas as pd

from . import coverage as symmetric


def simulate(size: int, *, rng: np.random.Generator, **settings: Any) -> pd.DataFrame:
    """Return simulated results for asymmetric censoring limits, in the format of `coverage.simulate`. The results are
    computed with separate random streams.
    """
    return symmetric.simulate(size, rng=rng, **settings)


def coverage(table: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Return the coverage of intervals for asymmetric censoring limits, in the format of `coverage.coverage`."""
    return symmetric.coverage(table)
