# cython: language_level=3, cdivision=True, wraparound=False
"""Windows of convolutions and correlations of non-negative numbers: sums of positive products keep their digits."""
from libc.stdint cimport int64_t


cdef extern from *:
    """
    #include <stdint.h>

    /* Compiled for wider registers too, the widest that a machine has is taken when it runs: every number is the sum
       of the same products in the same order, without fused multiply-add, so that no digit depends on the machine. */
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #define TREES_WIDE __attribute__((target_clones("default", "avx2", "avx512f"), optimize("fp-contract=off")))
    #else
    #define TREES_WIDE
    #endif

    TREES_WIDE
    static void trees_row(double weight, const double *__restrict b, int64_t low, int64_t high,
                          double *__restrict out) {
        for (int64_t k = low; k <= high; k++)
            out[k] += weight * b[k];
    }

    /* Eight rows at once: b[k - r] for row r. */
    TREES_WIDE
    static void trees_rows(const double *__restrict a, const double *__restrict b, int64_t low, int64_t high,
                           double *__restrict out) {
        double w0 = a[0], w1 = a[1], w2 = a[2], w3 = a[3], w4 = a[4], w5 = a[5], w6 = a[6], w7 = a[7];
        for (int64_t k = low; k <= high; k++)
            out[k] = (((((((out[k] + w0 * b[k]) + w1 * b[k - 1]) + w2 * b[k - 2]) + w3 * b[k - 3]) + w4 * b[k - 4])
                       + w5 * b[k - 5]) + w6 * b[k - 6]) + w7 * b[k - 7];
    }
    """
    void trees_row(double weight, const double *b, int64_t low, int64_t high, double *out) noexcept nogil
    void trees_rows(const double *a, const double *b, int64_t low, int64_t high, double *out) noexcept nogil


cdef inline void c_row(double weight, const double *b, int64_t low, int64_t high, double *out) noexcept nogil:
    """As `trees_row`, for the few numbers at either end of eight rows."""
    cdef int64_t k
    for k in range(low, high + 1):
        out[k] += weight * b[k]


cdef inline void c_convolve(const double *a, int64_t na, const double *b, int64_t nb, int64_t first, int64_t last,
                            double *out) noexcept nogil:
    """out[k - first] = sum_i a[i] b[k - i] for k = first .. last; 0 where the full convolution does not reach."""
    cdef int64_t i, r, k, end, low, high
    cdef const double *longer = b
    for k in range(last - first + 1):
        out[k] = 0.0
    if na > nb:
        longer, a = a, b
        na, nb = nb, na
    i = max(first - nb + 1, 0)
    end = min(na, last + 1)
    out -= first
    while i + 7 < end:
        low, high = max(first, i + 7), min(last, i + nb - 1)
        if low <= high:
            for r in range(7):
                c_row(a[i + r], longer - i - r, max(first, i + r), low - 1, out)
            trees_rows(a + i, longer - i, low, high, out)
            for r in range(7):
                c_row(a[i + r + 1], longer - i - r - 1, high + 1, min(last, i + r + nb), out)
        else:
            for r in range(8):
                trees_row(a[i + r], longer - i - r, max(first, i + r), min(last, i + r + nb - 1), out)
        i += 8
    while i < end:
        trees_row(a[i], longer - i, max(first, i), min(last, i + nb - 1), out)
        i += 1


cdef inline void c_correlate(const double *a, int64_t na, int64_t low_a, const double *b, int64_t nb, int64_t low_b,
                             int64_t low, int64_t size, double *spare, double *out) noexcept nogil:
    """out[k] = sum_r a(low + k + r) b(r), arrays from low_a and low_b on; `spare` holds nb numbers."""
    cdef int64_t r, first = low + low_b + nb - 1 - low_a
    for r in range(nb):
        spare[r] = b[nb - 1 - r]
    c_convolve(a, na, spare, nb, first, first + size - 1, out)


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
