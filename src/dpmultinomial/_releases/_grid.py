"""Sensitivities of the censored statistics, and the public grid on which they are released; plain arithmetic."""

import math

FINE = 20
SPARE = 2  # steps: one for rounding, one for floating point
LEAST_RECORDS, MOST_RECORDS = 4, 10**8


def sensitivities(width: float, records: int) -> dict[str, float]:
    """Largest change of every statistic when one of `records` records is replaced.

    The mean moves by at most the width w (one record left inside, or the mean of none), the sum of squares by
    w^2 (1 - 1/n): moving x among m records changes (1 - 1/m)(x - mean of the others)^2, each count by 1.

    Parameters
    ----------
    width : upper less lower limit, > 0.
    records : how many, >= 1.

    Returns
    -------
    dict
        mean, sse, low, high -> sensitivity.
    """
    return {"mean": width, "sse": width**2 * (1 - 1 / records), "low": 1.0, "high": 1.0}


def units_of(sensitivity: float, epsilon: float) -> tuple[float, int]:
    """The step of a statistic's grid, and its sensitivity in steps, rounding included.

    Parameters
    ----------
    sensitivity : > 0.
    epsilon : its share, > 0.

    Returns
    -------
    step, units : float, int
    """
    found = step(sensitivity, epsilon)
    return found, math.ceil(sensitivity / found) + SPARE


def step(sensitivity: float, epsilon: float) -> float:
    """A power of two, at most 2^-20 of the sensitivity and of the scale sensitivity/epsilon.

    Parameters
    ----------
    sensitivity, epsilon : as in `units_of`.
    """
    return float(2.0 ** (math.floor(math.log2(min(sensitivity, sensitivity / epsilon))) - FINE))
