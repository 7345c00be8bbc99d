# cython: language_level=3, cdivision=True, wraparound=False
"""Windows of convolutions and correlations of non-negative numbers: sums of positive products keep their digits."""
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ._tiles cimport trees_tile

cdef enum:
    TILE = 64  # sums at a time


cdef inline int64_t c_room(int64_t na, int64_t nb) noexcept nogil:
    """Numbers that a convolution needs to spare, or a correlation of `na` with `nb`."""
    return na + 2 * nb + 2 * TILE


cdef inline void c_convolve(const double *a, int64_t na, const double *b, int64_t nb, int64_t first, int64_t last,
                            double *spare, double *out) noexcept nogil:
    """out[k - first] = sum_i a[i] b[k - i] for k = first .. last; 0 where the full convolution does not reach."""
    cdef double rest[TILE]
    cdef double *sums
    cdef int64_t k = first, begin
    if na > nb:
        a, b = b, a
        na, nb = nb, na
    memset(out, 0, (last - first + 1) * sizeof(double))
    memset(spare, 0, TILE * sizeof(double))  # tiles reach beyond either end of the longer one
    spare += TILE
    memcpy(spare, b, nb * sizeof(double))
    memset(spare + nb, 0, TILE * sizeof(double))
    while k <= last:
        sums = out + k - first
        if k + TILE - 1 > last:
            sums = rest
            memset(rest, 0, sizeof(rest))
        begin = max(0, k - nb + 1)
        trees_tile(a + begin, min(na, k + TILE) - begin, spare + k - begin, sums)
        if sums == rest:
            memcpy(out + k - first, rest, (last - k + 1) * sizeof(double))
        k += TILE


cdef inline void c_correlate(const double *a, int64_t na, int64_t low_a, const double *b, int64_t nb, int64_t low_b,
                             int64_t low, int64_t size, double *spare, double *out) noexcept nogil:
    """out[k] = sum_r a(low + k + r) b(r), arrays from low_a and low_b on."""
    cdef int64_t r, first = low + low_b + nb - 1 - low_a
    for r in range(nb):
        spare[r] = b[nb - 1 - r]
    c_convolve(a, na, spare, nb, first, first + size - 1, spare + nb, out)


cdef inline double c_sum(const double *values, int64_t n) noexcept nogil:
    """Four running sums."""
    cdef int64_t i = 0
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    while i + 3 < n:
        s0 += values[i]
        s1 += values[i + 1]
        s2 += values[i + 2]
        s3 += values[i + 3]
        i += 4
    while i < n:
        s0 += values[i]
        i += 1
    return (s0 + s1) + (s2 + s3)


cdef inline double c_about(const double *values, int64_t n, double centre, bint squared) noexcept nogil:
    """Sum of the values times their distance from `centre`, or its square, in four running sums."""
    cdef int64_t i, j
    cdef double gap
    cdef double sums[4]
    sums[0] = sums[1] = sums[2] = sums[3] = 0.0
    for i in range(0, n - 3, 4):
        for j in range(4):
            gap = i + j - centre
            sums[j] += (gap * gap if squared else gap) * values[i + j]
    for i in range(n - n % 4, n):
        gap = i - centre
        sums[0] += (gap * gap if squared else gap) * values[i]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


cdef inline int64_t c_cut(const double *values, int64_t n, double most, int64_t *begin) noexcept nogil:
    """Length of what is left when at most `most` is dropped at either end, from `begin` on."""
    cdef int64_t i = 0, j = n
    cdef double dropped = values[0]
    while i < n - 1 and dropped <= most:
        i += 1
        dropped += values[i]
    dropped = values[n - 1]
    while j > i + 1 and dropped <= most:
        j -= 1
        dropped += values[j - 1]
    begin[0] = i
    return j - i
