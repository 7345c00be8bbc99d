# cython: language_level=3, cdivision=True, wraparound=False
"""One mode of a multinomial law (see multinomial_mode.pyx)."""
from libc.math cimport floor
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from ..._kernels.bitgen cimport c_uniform

cdef enum TieRule:
    FIRST = 0
    LAST = 1
    RANDOM = 2
    IEEE = 3


cdef inline void c_greedy(const int64_t *x, int64_t *k, Py_ssize_t size, int64_t total, int64_t weight,
                          bint last) noexcept nogil:
    """Exact divisor rule: k = floor((total + size/2) x / weight), then single units until they add up to total.

    Equal quotients: the lowest index keeps or gains the unit, the highest if `last`.
    """
    cdef Py_ssize_t i, best
    cdef int64_t given = 0, mine, theirs
    for i in range(size):
        k[i] = ((2 * total + size) * x[i]) // (2 * weight)
        given += k[i]
    while given < total:
        best = 0
        for i in range(1, size):
            mine = x[i] * (k[best] + 1)
            theirs = x[best] * (k[i] + 1)
            if mine > theirs or (last and mine == theirs):
                best = i
        k[best] += 1
        given += 1
    while given > total:
        best = -1
        for i in range(size):
            if k[i] == 0:
                continue
            if best >= 0:
                mine = x[i] * k[best]
                theirs = x[best] * k[i]
                if mine > theirs or (last and mine == theirs):
                    continue
            best = i
        k[best] -= 1
        given -= 1


cdef inline void c_shuffle_ties(bitgen_t *bits, const int64_t *x, int64_t *k, Py_ssize_t size) noexcept nogil:
    """Give the units of the last level to a uniformly random choice among those with a claim of that size."""
    cdef Py_ssize_t i, worst = -1
    cdef int64_t winners = 0, claims = 0
    for i in range(size):
        if k[i] > 0 and (worst < 0 or x[i] * k[worst] < x[worst] * k[i]):
            worst = i
    if worst < 0:
        return
    cdef int64_t top = x[worst], bottom = k[worst]
    for i in range(size):
        if k[i] > 0 and x[i] * bottom == top * k[i]:
            winners += 1
            claims += 1
        elif x[i] * bottom == top * (k[i] + 1):
            claims += 1
    if winners == claims:
        return
    for i in range(size):
        if k[i] > 0 and x[i] * bottom == top * k[i]:
            k[i] -= 1
        elif x[i] * bottom != top * (k[i] + 1):
            continue
        if c_uniform(bits) * claims < winners:
            k[i] += 1
            winners -= 1
        claims -= 1


cdef inline void c_theorem(const int64_t *x, int64_t *k, double *f, double *q, Py_ssize_t size, int64_t total,
                           int64_t weight) noexcept nogil:
    """Theorem 1 of the paper in doubles, the lowest index among equal q; components without a unit cannot lose one."""
    cdef Py_ssize_t i, best
    cdef int64_t given = 0
    cdef double p
    for i in range(size):
        p = <double> x[i] / <double> weight
        f[i] = (total + 0.5 * size) * p
        k[i] = <int64_t> floor(f[i])
        f[i] -= k[i]
        given += k[i]
    if given < total:
        for i in range(size):
            q[i] = (1.0 - f[i]) / (k[i] + 1)
        while given < total:
            best = 0
            for i in range(1, size):
                if q[i] < q[best]:
                    best = i
            k[best] += 1
            f[best] -= 1.0
            q[best] = (1.0 - f[best]) / (k[best] + 1)
            given += 1
    elif given > total:
        for i in range(size):
            q[i] = f[i] / k[i] if k[i] > 0 else 1e300
        while given > total:
            best = 0
            for i in range(1, size):
                if q[i] < q[best]:
                    best = i
            k[best] -= 1
            f[best] += 1.0
            q[best] = f[best] / k[best] if k[best] > 0 else 1e300
            given -= 1


cdef inline void c_mode(bitgen_t *bits, const int64_t *x, int64_t *k, double *f, double *q, Py_ssize_t size,
                        int64_t total, int rule) noexcept nogil:
    """k = mode of Multinomial(total, x / sum x); x must be positive somewhere."""
    cdef Py_ssize_t i
    cdef int64_t weight = 0
    for i in range(size):
        weight += x[i]
    if rule == IEEE:
        c_theorem(x, k, f, q, size, total, weight)
    else:
        c_greedy(x, k, size, total, weight, rule == LAST)
        if rule == RANDOM:
            c_shuffle_ties(bits, x, k, size)
