"""Moment generating functions of mixtures of log odds ratios, from those of a few components."""

from typing import Any

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
    complex128 (n,), to 1e-13 of its largest.
    """
    fresh = np.append(True, (np.diff(a, axis=0) != SIGNS).any(axis=1))
    fresh[::_CHAIN] = True
    s = np.asarray(tilt + 1j * t, dtype=np.complex128)
    out = np.zeros(len(t), dtype=complex)
    some = _CHAIN * max(1, _ENTRIES // (_CHAIN * len(t)))
    for low in range(0, len(a), some):
        part = slice(low, low + some)
        rows = a[part][fresh[part]]
        starts = np.exp(log_parts(rows, s) - s * place)
        out += _odds_sums.mixture(a[part], weights[part], tilt, t, fresh[part], starts)
    return out


def log_parts(a: Array, s: Complex) -> Complex:
    """log E exp(s X) of every component.

    Parameters
    ----------
    a : float64 (m, 4), positive.
    s : complex128 (n,) or, for each component its own, (m, n); all with the same real part.

    Returns
    -------
    complex128 (m, n), to 1e-13
    """
    cells = zip(a.T, SIGNS, strict=True)
    return np.asarray(
        sum(_log_gamma_ratios(cell, np.broadcast_to(sign * s, (len(a), s.shape[-1]))) for cell, sign in cells)
    )


def _log_gamma_ratios(a: Array, s: Complex) -> Complex:
    """log Gamma(a + s) - log Gamma(a), without the cancellation of large logarithms.

    Parameters
    ----------
    a : float64 (m,), positive.
    s : complex128 (m, n), all with the same real part, a + Re s > 0.

    Returns
    -------
    complex128 (m, n), to 1e-13
    """
    z, out = a[:, None] + s, np.empty(s.shape, dtype=np.complex128)
    large = np.minimum(a, z[:, 0].real) >= _LARGE
    if not large.all():
        out[~large] = loggamma(z[~large]) - gammaln(a[~large])[:, None]
    if large.any():
        start, turn, end = a[large][:, None], s[large], z[large]
        stirling = (start - 0.5) * log1p(turn / start) + turn * (np.log(end) - 1)
        out[large] = stirling + _remainder(end) - _remainder(start)
    return out


def _remainder(z: NDArray[np.inexact[Any]]) -> NDArray[Any]:
    """What Stirling's series adds to (z - 1/2) log z - z."""
    r = 1 / z**2
    return np.asarray((1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / z)
