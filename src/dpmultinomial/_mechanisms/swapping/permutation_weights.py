"""Probability of a permutation under a swap, by the number of records it moves.

`mixture_coefficients` writes the same law as a signed mixture of free shuffles (methods of Pan, 2023, in the
documentation).
"""

from functools import lru_cache
from math import comb, factorial, log
from operator import mul

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ... import _checks

_COUNTED = 200  # derangements of up to this many records are counted in whole numbers
_SPARE = 64  # bits more than asked for


def subfactorials(n: int) -> list[int]:
    """D_0..D_n, the numbers of derangements.

    Parameters
    ----------
    n : int
        At least 0.

    Returns
    -------
    list of int, n + 1 of them. O(n^2 log n) bits.
    """
    d = [1, 0]
    for k in range(2, n + 1):
        d.append((k - 1) * (d[-1] + d[-2]))
    return d[: n + 1]


@lru_cache(maxsize=64)
def mixture_coefficients(n: int, rate: float, bits: int) -> tuple[int, ...]:
    """a_0..a_n of the signed mixture as whole multiples of 2^-bits, each within one of them.

    Parameters
    ----------
    n : int
        Records, at least 2.
    rate : float
        Swap rate, in (0, 1).
    bits : int
        Binary digits after the point.

    Returns
    -------
    tuple of int, n + 1 of them. O(n^2) products of `bits` + n bits.
    """
    work = bits + n + _SPARE  # C(n, k) <= 2^n multiplies the rounding error of a power
    one = 1 << work
    top, bottom = rate.as_integer_ratio()
    up, down = [one], [one]
    for _ in range(n):
        up.append(up[-1] * top // bottom)
        down.append(down[-1] * (bottom - top) // bottom)
    norm = one - (n * up[1] * down[n - 1] >> work)
    derangements = subfactorials(n)
    weights = [0] * (n + 1)  # b_k k!/D_k, and 1/m! below, with _SPARE bits more than asked for
    for k in range(n + 1):
        if k != 1:
            selected = comb(n, k) * up[k] * down[n - k] // norm
            weights[k] = selected * factorial(k) // derangements[k] >> n
    shares = [1 << bits + _SPARE]
    while shares[-1]:
        shares.append(shares[-1] // len(shares))
    signed = [-share if m % 2 else share for m, share in enumerate(shares)]
    return tuple(sum(map(mul, weights[at:], signed)) >> bits + 2 * _SPARE for at in range(n + 1))


def log_permutation_weights(n: int, *, rate: float) -> NDArray[np.float64]:
    """log probability of one given permutation of n records with k moved points, k = 0..n; -inf at k = 1.

    Parameters
    ----------
    n : int
        Records, 0 to 2^31.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    float64 (n + 1,)
        Beyond 200 records ln D_k is ln k! - 1, to the last digit.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.

    Notes
    -----
    O(n).
    """
    p = _checks.inside("rate", rate)
    k = np.arange(_checks.whole("n", n, most=1 << 31) + 1)
    if n < 2:
        return np.where(k == 0, 0.0, -np.inf)
    with np.errstate(divide="ignore"):
        counted = np.array([log(d) if d else -np.inf for d in subfactorials(min(n, _COUNTED))])
    derangements = np.concatenate([counted, gammaln(k[_COUNTED + 1 :] + 1.0) - 1.0])
    norm = np.log1p(-n * p * (1 - p) ** (n - 1))
    return np.where(k == 1, -np.inf, k * np.log(p) + (n - k) * np.log1p(-p) - norm - np.where(k == 1, 0, derangements))
