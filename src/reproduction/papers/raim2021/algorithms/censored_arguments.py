"""Check the arguments that are common to both samplers for released censored statistics."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmultinomial import _checks

LEAST_RECORDS = 4
MOST_RECORDS = 10**7  # largest number of records of both samplers
FARTHEST = 1e7  # distance in scales of a released number from its statistic's range above which float64 is inaccurate


class Arguments(NamedTuple):
    """Checked arguments of the samplers, in the order in which `checked` returns them.

    Attributes
    ----------
    release, n, a, b, scales, prior, initial : as in `checked`.
    """

    release: NDArray[np.float64]
    n: int
    a: float
    b: float
    scales: NDArray[np.float64]
    prior: NDArray[np.float64]
    initial: NDArray[np.float64]


def checked(
    release: ArrayLike,
    n: int,
    a: float,
    b: float,
    scales: ArrayLike,
    prior: ArrayLike,
    initial: ArrayLike,
    *,
    sums: bool = False,
) -> Arguments:
    """Check the arguments of `censored_gibbs.statistics_chain` and return them.

    Parameters
    ----------
    release : four finite numbers, each within 10^7 scales of the range of its statistic.
    n : 4 to 10^7.
    a, b : finite, a < b.
    scales : one number > 0, or four such numbers.
    prior : (mu0, var0 > 0, shape0 > 0, rate0 > 0).
    initial : (mu, sigma2 > 0).
    sums : whether the release consists of sums.

    Returns
    -------
    Arguments

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message states the argument, its rule and the value.
    """
    z, size = _sized("release", release, 4), _checks.positives("scales", scales, 4)
    count = _checks.integer("n", n, least=LEAST_RECORDS, most=MOST_RECORDS)
    if not _checks.number("a", a) < _checks.number("b", b):
        raise ValueError(f"a must be below b, got a = {a} and b = {b}")
    half = 0.5 * (b - a)
    low = np.array([-half * count if sums else a, 0.0, 0.0, 0.0])
    high = np.array([half * count if sums else b, count * half**2, count, count])
    away = np.maximum(np.maximum(low - z, z - high), 0.0) / size
    if away.max() > FARTHEST:
        worst = int(np.argmax(away))
        raise ValueError(
            "the distance of every entry of release from the range of its statistic must be at most "
            f"{FARTHEST:g} times the noise scale, got {z[worst]:g} at index {worst} for the range "
            f"[{low[worst]:g}, {high[worst]:g}] and scale {size[worst]:g}"
        )
    values, theta = _sized("prior", prior, 4), _sized("initial", initial, 2)
    if values[1:].min() <= 0:
        raise ValueError(
            f"prior must be (mu0, var0, shape0, rate0) with var0, shape0 and rate0 > 0, got {values.tolist()}"
        )
    if theta[1] <= 0:
        raise ValueError(f"initial must be (mu, sigma2) with sigma2 > 0, got {theta.tolist()}")
    return Arguments(z, count, float(a), float(b), size, values, theta)


def _sized(name: str, values: ArrayLike, size: int) -> NDArray[np.float64]:
    numbers = _checks.reals(name, values)
    if len(numbers) != size:
        raise ValueError(f"{name} must have {size} entries, got {len(numbers)} entries")
    return numbers
