# cython: language_level=3, cdivision=True, wraparound=False
"""Private releases of many histograms at once, for many privacy levels and repeats."""
import numpy as np

from libc.math cimport log
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_laplace, random_standard_gamma, random_standard_normal

from .._kernels.bitgen cimport c_bitgen

from .. import _checks

LAWS = ("dirichlet", "gaussian", "laplace")


cdef inline double c_release(bitgen_t *bits, int law, double count, double scale, double alpha) noexcept nogil:
    """One cell before it is normalised: a gamma draw of shape scale*count + alpha, or the count plus noise."""
    if law == 0:
        return random_standard_gamma(bits, scale * count + alpha)
    if law == 1:
        return count + scale * random_standard_normal(bits)
    return count + random_laplace(bits, 0.0, scale)


cdef inline void c_log_shares(double *x, Py_ssize_t size, double floor, bint normalise) noexcept nogil:
    """x becomes log(max(x, floor)), less the logarithm of the block's total where `normalise`."""
    cdef Py_ssize_t i
    cdef double total = 0.0, shift = 0.0
    for i in range(size):
        if x[i] < floor:
            x[i] = floor
        total += x[i]
    if normalise:
        shift = log(total)
    for i in range(size):
        x[i] = log(x[i]) - shift


cdef void private_blocks_fill(const double[::1] counts, const int64_t[::1] starts, int law, const double[::1] scale,
                              const double[::1] alpha, const double[::1] floors, bint normalise,
                              double[:, ::1] out, bitgen_t *bits) noexcept nogil:
    cdef Py_ssize_t m, i, b
    for m in range(out.shape[0]):
        for i in range(counts.shape[0]):
            out[m, i] = c_release(bits, law, counts[i], scale[m], alpha[m])
        for b in range(starts.shape[0] - 1):
            c_log_shares(&out[m, starts[b]], starts[b + 1] - starts[b], floors[m], normalise)


def release(counts, starts, *, law, scale, alpha=None, floors=None, normalise=True, rng):
    """Log probabilities of every block of `counts`, released once per entry of `scale`.

    Parameters
    ----------
    counts : float64 (cells,), all histograms one after the other, finite and >= 0; at least one cell.
    starts : int64 (blocks + 1,), increasing from 0 to cells; every block is a histogram of its own, not empty.
    law : ``"dirichlet"`` (gamma shape scale*count + alpha), ``"gaussian"`` (standard deviation scale) or ``"laplace"``
        (Laplace scale).
    scale, alpha : float64 (releases,), > 0; `alpha` for the Dirichlet only.
    floors : float64 (releases,), >= 0: released cells below are lifted to it before normalising. None: 0 for the
        Dirichlet; additive noise needs one, because a log of a negative count is not defined.
    normalise : False returns log(max(cell, floor)) as it is.
    rng : numpy Generator; one standard gamma, normal or Laplace draw a cell, release by release.

    Returns
    -------
    float64 (releases, cells)

    Raises
    ------
    ValueError, TypeError
        For an unknown law, an array out of shape or range, or a missing or zero floor with additive noise.

    Notes
    -----
    A Dirichlet cell whose gamma draw underflows (shape below about 0.01) has log probability -inf.
    Law: Ponnoprat (2022), Algorithm 1 and section 5. Cost: releases * cells draws, no memory but the result.
    """
    kind = LAWS.index(_checks.one_of("law", law, LAWS))
    _checks.generator(rng)
    counts = _checks.reals("counts", counts)
    if counts.min() < 0:
        raise ValueError(f"counts must be >= 0, got {counts.min()}")
    scale = _checks.positives("scale", scale, np.size(scale))
    releases = len(scale)
    alpha = np.ones(releases) if alpha is None else _checks.positives("alpha", alpha, releases)
    largest = float(scale.max(initial=0.0)) * float(counts.max()) + float(alpha.max(initial=0.0))
    if kind == 0 and not np.isfinite(largest):
        raise ValueError(f"scale * counts + alpha must be finite, got scale {scale.max()} and count {counts.max()}")
    floors = _floors(floors, releases, kind != 0)
    starts = _starts(starts, len(counts))
    cdef const double[::1] counts_view = counts, scale_view = scale, alpha_view = alpha, floors_view = floors
    cdef const int64_t[::1] starts_view = starts
    out = np.empty((releases, len(counts)))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    cdef bint scaled = bool(normalise)
    cdef int law_number = kind
    with rng.bit_generator.lock, nogil:
        private_blocks_fill(counts_view, starts_view, law_number, scale_view, alpha_view, floors_view, scaled,
                            view, bits)
    return out


def _floors(floors, releases, additive):
    """One floor a release: > 0 with additive noise, else >= 0."""
    if floors is None:
        if additive:
            raise ValueError("floors must be given with additive noise, got None")
        return np.zeros(releases)
    if additive:
        return _checks.positives("floors", floors, releases)
    found = _checks.reals("floors", np.full(releases, floors) if np.ndim(floors) == 0 else floors, least_size=releases)
    if len(found) != releases or found.min(initial=0.0) < 0:
        least = found.min(initial=0.0)
        raise ValueError(f"floors must be {releases} numbers >= 0, got {len(found)}, the least {least}")
    return found


def _starts(starts, cells):
    """Block borders as int64, strictly increasing from 0 to `cells`."""
    found = np.asarray(starts)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise TypeError(f"starts must be whole numbers in one dimension, got {found.dtype} of shape {found.shape}")
    found = found.astype(np.int64)
    if len(found) < 2 or found[0] != 0 or found[len(found) - 1] != cells or np.diff(found).min() <= 0:
        raise ValueError(f"starts must increase from 0 to {cells}, got {len(found)} from {found.min(initial=cells)} to "
                         f"{found.max(initial=0)}")
    return found
