"""Moment generating functions of mixtures of log odds ratios, from those of a few components."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log1p, loggamma

from . import _odds_sums

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
_CHAIN = 32  # components that follow from one another before the next is computed afresh: rounding errors do not add up
_ENTRIES = 500_000  # components times places that are taken together
_LARGE = 30.0  # arguments of gamma functions from which their ratio is Stirling's


def transform(a: Array, weights: Array, t: Array, *, tilt: float = 0.0, place: float = 0.0) -> Complex:
    """sum_j w_j E exp((tilt + i t)(X_j - place)), X_j the log odds ratio under Dirichlet(a_j).

    Where a table follows from the last by one unit, its part does by Gamma(z + 1) = z Gamma(z) (`_odds_sums.mixture`).

    Parameters
    ----------
    a : float64 (m, 4), positive; those of cells 01 and 10 greater than `tilt`.
    weights : float64 (m,)
    t : float64 (n,), n >= 1.
    tilt, place : numbers; the tilt > minus the parameters of cells 00 and 11.

    Returns
    -------
    complex128 (n,), relative error about 1e-14, or the last digit of the largest log gamma function where nothing is
        tilted.
    """
    fresh = np.append(True, (np.diff(a, axis=0) != SIGNS).any(axis=1))
    fresh[::_CHAIN] = True
    s = np.asarray(tilt + 1j * t, dtype=np.complex128)
    out = np.zeros(len(t), dtype=complex)
    some = _CHAIN * max(1, _ENTRIES // (_CHAIN * len(t)))
    for low in range(0, len(a), some):
        part = slice(low, low + some)
        rows = a[part][fresh[part]]
        starts = np.exp((_tilted(rows, s) if tilt else _plain(rows, t)) - s * place)
        out += _odds_sums.mixture(a[part], weights[part], tilt, t, fresh[part], starts)
    return out


def _plain(a: Array, t: Array) -> Complex:
    """log E exp(i t X) of every component, complex128 (m, n)."""
    return np.asarray((loggamma(a[:, :, None] + 1j * SIGNS[:, None] * t) - loggamma(a)[:, :, None]).sum(axis=1))


def _tilted(a: Array, s: Complex) -> Complex:
    """log E exp(s X) of every component, complex128 (m, n)."""
    turn = SIGNS[:, None] * s
    return np.array([sum(_log_gamma_ratio(float(x), part) for x, part in zip(row, turn, strict=True)) for row in a])


def _log_gamma_ratio(a: float, s: Complex) -> Complex:
    """log Gamma(a + s) - log Gamma(a), without the cancellation of large logarithms.

    Parameters
    ----------
    a : > 0.
    s : complex128 (n,), all with the same real part, a + Re s > 0.

    Returns
    -------
    complex128 (n,), to 1e-13
    """
    z = a + s
    if min(a, float(z[0].real)) < _LARGE:
        return np.asarray(loggamma(z) - gammaln(a))
    stirling = (a - 0.5) * log1p(s / a) + s * (np.log(z) - 1)
    return np.asarray(stirling + _remainder(z) - _remainder(np.complex128(a)))


def _remainder(z: Complex | np.complex128) -> Complex:
    """What Stirling's series adds to (z - 1/2) log z - z."""
    r = 1 / z**2
    return np.asarray((1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / z)
