"""Functions for tables with given proportions, for the names of panels, and for odds ratios. These functions are used
by several artefacts.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmultinomial._kernels import dirichlet


def table_of(theta: list[float], total: int) -> NDArray[np.int64]:
    """Return the 2 x 2 table with the counts total * theta.

    Raises
    ------
    ValueError
        If total * theta is not an integer.
    """
    cells = total * np.asarray(theta, dtype=float)
    counts = np.rint(cells)
    if np.abs(cells - counts).max() > 1e-6 or counts.sum() != total:
        raise ValueError(
            f"the products of total and theta must be integers, got total = {total} and theta = {list(theta)}"
        )
    return counts.astype(np.int64).reshape(2, 2)


def posterior_draws(tables: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw one vector theta of cell probabilities from Dir(1 + y) for every table y in an array of shape (m, 4). This
    is the posterior of the slide Generating Models.
    """
    return dirichlet.draw(np.ones(4), tables, rng=rng)


def name_of(theta: list[float]) -> str:
    """Return the name of the panel for a vector theta of cell probabilities. An example of a name is ``(0.27, 0.23,
    0.23, 0.27)``.
    """
    return f"({', '.join(f'{t:g}' for t in theta)})"


def odds_ratio(table: ArrayLike) -> float:
    """Return the odds ratio theta_1 theta_4/(theta_2 theta_3) of a 2 x 2 table."""
    a, b, c, d = np.ravel(table).astype(float)
    return a * d / (b * c)


def abs_log_odds(tables: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the absolute value of the log odds ratio for tables of shape (m, 2, 2). The value is infinite with one
    zero cell, and 0 if a margin is empty.
    """
    a, b, c, d = tables.reshape(-1, 4).T.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.abs(np.log(a * d) - np.log(b * c))
    return np.where(np.isnan(value), 0.0, value)
