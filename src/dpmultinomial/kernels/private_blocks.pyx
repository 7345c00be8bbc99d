# cython: language_level=3, cdivision=True, wraparound=False
"""Private releases of many histograms at once, for many privacy levels and repeats."""
import numpy as np

from libc.math cimport log
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_laplace, random_standard_gamma, random_standard_normal

from .bitgen cimport c_bitgen

from .. import _checks

LAWS = ("dirichlet", "gaussian", "laplace")


cdef inline double c_release(bitgen_t *bits, int law, double count, double first, double second) noexcept nogil:
    """One cell before it is normalised: a gamma draw of shape first*count + second, or the count plus noise."""
    if law == 0:
        return random_standard_gamma(bits, first * count + second)
    if law == 1:
        return count + first * random_standard_normal(bits)
    return count + random_laplace(bits, 0.0, first)


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


cdef void private_blocks_fill(const double[::1] counts, const int64_t[::1] starts, int law, const double[::1] first,
                              const double[::1] second, const double[::1] floors, bint normalise,
                              double[:, ::1] out, bitgen_t *bits) noexcept nogil:
    cdef Py_ssize_t m, i, b
    for m in range(out.shape[0]):
        for i in range(counts.shape[0]):
            out[m, i] = c_release(bits, law, counts[i], first[m], second[m])
        for b in range(starts.shape[0] - 1):
            c_log_shares(&out[m, starts[b]], starts[b + 1] - starts[b], floors[m], normalise)


def release(counts, starts, *, law, first, second=None, floors=None, normalise=True, rng):
    """Log probabilities of every block of `counts`, released once per entry of `first`.

    Parameters
    ----------
    counts : float64 (cells,), all histograms one after the other, >= 0.
    starts : int64 (blocks + 1,), increasing from 0 to cells; every block is a histogram of its own, not empty.
    law : ``"dirichlet"`` (shape first*count + second), ``"gaussian"`` (standard deviation first) or ``"laplace"``
        (scale first).
    first, second : float64 (releases,), > 0; `second` for the Dirichlet only.
    floors : float64 (releases,), >= 0: released cells below are lifted to it before normalising. None: 0 for the
        Dirichlet; additive noise needs one, because a log of a negative count is not defined.
    normalise : False returns log(max(cell, floor)) as it is.
    rng : numpy Generator; one standard gamma, normal or Laplace draw a cell, release by release.

    Returns
    -------
    float64 (releases, cells)

    Raises
    ------
    ValueError
        For an unknown law, an array out of shape, or a missing or zero floor with additive noise.

    Notes
    -----
    A Dirichlet cell whose gamma draw underflows (shape below about 0.01) has log probability -inf.
    """
    kind = LAWS.index(_checks.one_of("law", law, LAWS))
    _checks.generator(rng)
    first = _checks.positives("first", first, len(np.atleast_1d(first)))
    releases = len(first)
    second = np.ones(releases) if second is None else _checks.positives("second", second, releases)
    if kind == 0 and floors is None:
        floors = np.zeros(releases)
    elif floors is None:
        raise ValueError("floors must be given with additive noise, got None")
    elif kind != 0:
        floors = _checks.positives("floors", floors, releases)
    floors = np.ascontiguousarray(np.broadcast_to(np.asarray(floors, dtype=float), releases))
    last = starts[starts.shape[0] - 1]
    if starts[0] != 0 or last != len(counts) or (np.diff(starts) <= 0).any():
        raise ValueError(f"starts must increase from 0 to {len(counts)}, got {starts[0]} .. {last}")
    cdef const double[::1] counts_view = counts, first_view = first, second_view = second, floors_view = floors
    cdef const int64_t[::1] starts_view = starts
    out = np.empty((releases, len(counts)))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    cdef bint scaled = normalise
    cdef int law_number = kind
    with rng.bit_generator.lock, nogil:
        private_blocks_fill(counts_view, starts_view, law_number, first_view, second_view, floors_view, scaled,
                            view, bits)
    return out
