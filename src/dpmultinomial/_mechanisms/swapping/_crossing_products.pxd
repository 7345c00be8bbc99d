# cython: language_level=3, cdivision=True, wraparound=False
"""w_i as one double sum over k1 and k2 (derived in swap_crossings.pyx), where its terms fit into tables.

A term is a product a(k1) b(k2) c(k1 + k2), a and b with g(k, i) and c with 1/g(k, 0); all are tabled from their mode
outwards, by the ratios odds (r - k)(k + 1)/(k + 1 - i), the same with m, and 1/(k + 1), each over its value at the
mode: so none exceeds its value there, and a term is negligible where a or b is. Both sums have a stride, as a bell's
sum (`_strided_sums`) has.
"""
from libc.math cimport NAN, cos, fabs, fmax, log, pow, sqrt
from libc.stdint cimport int64_t

from ._loader cimport c_log_binomial, c_log_hypergeometric
from ._strided_sums cimport SETTLED, SHORT, TABLED, Swap

cdef enum:
    HALF = TABLED // 2  # place of the mode in a side's table
    TERMS = 24  # of the series of g(k, i)


cdef struct Side:
    double *values  # a or b, later times g; TABLED numbers
    int64_t mode
    int64_t first
    int64_t last
    int64_t stride


cdef inline double c_balance(double size, double i, double odds, double other) noexcept nogil:
    """The real k in [i, size] at which the terms stop rising, given the other side's."""
    cdef double b = odds * (size + 1.0) + i - other
    cdef double root = (b + sqrt(b * b + 4.0 * (1.0 + odds) * i * other)) / (2.0 * (1.0 + odds))
    return i if not root > i else size if root > size else root


cdef inline bint c_side(Side *side, double size, double i, double odds, double scale) noexcept nogil:
    """Values around the mode until they are negligible; False where they do not fit."""
    cdef int64_t k = side.mode, low = <int64_t> i, high = <int64_t> size
    cdef double at = 1.0
    cdef double *values = side.values + HALF - side.mode
    values[k] = 1.0
    while k < high and at > 1e-20:
        at *= odds * (size - k) * (k + 1.0) / ((k + 1.0 - i) * scale)
        k += 1
        if k - side.mode >= HALF:
            return False
        values[k] = at
    side.last = k
    k, at = side.mode, 1.0
    while k > low and at > 1e-20:
        k -= 1
        at *= (k + 1.0 - i) * scale / (odds * (size - k) * (k + 1.0))
        if side.mode - k >= HALF:
            return False
        values[k] = at
    side.first = k
    return True


cdef inline void c_shares(Side *side, double i, double *term, double *total) noexcept nogil:
    """Values at the side's nodes, mode + stride times whole numbers, times g(k, i): from the least node on, without
    gaps. `first` and `last` become the outermost nodes."""
    cdef int64_t below = (side.mode - side.first) // side.stride, count, j, f
    cdef double k
    cdef double *values = side.values + HALF - side.mode
    side.first = side.mode - below * side.stride
    count = below + (side.last - side.mode) // side.stride + 1
    side.last = side.first + (count - 1) * side.stride
    for j in range(count):
        term[j] = total[j] = 1.0
    for f in range(TERMS):
        for j in range(count):
            k = <double> (side.first + j * side.stride)
            term[j] *= (i + f - k) / (fmax(k - f, 1.0) * (f + 1.0))
            total[j] += term[j]
    for j in range(count):
        total[j] *= values[side.first + j * side.stride]


cdef inline void c_together(Swap *swap, int64_t mode, int64_t first, int64_t last, double *values) noexcept nogil:
    """c(k) over its value at the mode, without 1/g there, for k = first..last; `values` begins at first."""
    cdef int64_t k
    cdef double at = 1.0, scale = mode + 1.0
    values[mode - first] = 1.0
    for k in range(mode, last):
        at *= scale / (k + 1.0)
        values[k + 1 - first] = at
    at = 1.0
    for k in range(mode - 1, first - 1, -1):
        at *= (k + 1.0) / scale
        values[k - first] = at
    for k in range(first, last + 1):
        values[k - first] *= swap.inverse_share[k] if k < SETTLED else 2.718281828459045


cdef inline bint c_enough(int64_t stride, double error) noexcept nogil:
    """Whether a sum whose even and odd nodes differ by `error` of it is right to 1e-14."""
    cdef double lost = cos(3.141592653589793 / (2 * stride))
    return stride == 1 or error <= 2.0 * pow(0.5e-14, 1.0 / (4.0 * lost * lost))


cdef inline int64_t c_stride(Side *side, double sd, int64_t low, int64_t high) noexcept nogil:
    """1 for a short range and for one that ends before its values are negligible."""
    cdef double *values = side.values + HALF - side.mode
    if side.last - side.first <= SHORT or (side.first == low and values[low] > 1e-19):
        return 1
    if side.last == high and values[high] > 1e-19:
        return 1
    return max(<int64_t> (sd / 1.6), <int64_t> 1)


cdef inline double c_double_sum(Side *one, Side *two, const double *mine, const double *theirs, const double *both,
                                double *errors) noexcept nogil:
    """sum a b c over the nodes; `errors` are the shares by which even and odd nodes differ: of k1, of k2 at worst."""
    cdef int64_t j, l, step = two.stride
    cdef int64_t count = (one.last - one.first) // one.stride + 1, inner = (two.last - two.first) // step + 1
    cdef double even, odd, total = 0.0, difference = 0.0, largest = 0.0
    cdef const double *c
    errors[1] = 0.0
    for j in range(count):
        even = odd = 0.0
        c = both + j * one.stride
        for l in range(0, inner - 1, 2):
            even += theirs[l] * c[l * step]
            odd += theirs[l + 1] * c[(l + 1) * step]
        if inner % 2:
            even += theirs[inner - 1] * c[(inner - 1) * step]
        total += mine[j] * (even + odd)
        difference += mine[j] * (even + odd) * (1 - 2 * (j % 2))
        largest = max(largest, mine[j] * (even + odd))
        if mine[j] * (even + odd) > 1e-15 * largest:
            errors[1] = max(errors[1], fabs(even - odd) / (even + odd))
    errors[0] = fabs(difference) / total
    return total


cdef inline double c_log_products(Swap *swap, int64_t crossing) noexcept nogil:
    """log of the double sum of w_i, NaN where its terms do not fit into tables."""
    cdef double i = crossing, odds = swap.p / (1.0 - swap.p), k1 = fmax(swap.r * swap.p, i), before = -1.0
    cdef double k2, a, b, c, peak, total, scale
    cdef double errors[2]
    cdef Side one, two
    cdef int turn
    for turn in range(100):
        k2 = c_balance(swap.m, i, odds, k1)
        k1 = c_balance(swap.r, i, odds, k2)
        if fabs(k1 - before) < 0.25:
            break
        before = k1
    one.values, one.mode = swap.products, <int64_t> k1
    two.values, two.mode = swap.products + TABLED, <int64_t> k2
    k1, k2 = one.mode, two.mode
    scale = k1 + k2 + 1.0
    if not (c_side(&one, swap.r, i, odds, scale) and c_side(&two, swap.m, i, odds, scale)):
        return NAN
    peak = (c_log_binomial(k1, swap.r, swap.p, 1.0 - swap.p) + c_log_binomial(k2, swap.m, swap.p, 1.0 - swap.p)
            + c_log_hypergeometric(i, k1 + k2, k2, k1))
    a = 1.0 / (swap.r - k1 + 1.0) + 1.0 / (k1 + 1.0 - i) - 1.0 / (k1 + 1.0)  # minus second differences of the logs
    b = 1.0 / (swap.m - k2 + 1.0) + 1.0 / (k2 + 1.0 - i) - 1.0 / (k2 + 1.0)
    c = 1.0 / scale
    one.stride = c_stride(&one, 1.0 / sqrt(a + c * b / (b + c)), crossing, <int64_t> swap.r)
    two.stride = c_stride(&two, 1.0 / sqrt(b + c), crossing, <int64_t> swap.m)
    c_together(swap, one.mode + two.mode, one.first + two.first, one.last + two.last, swap.products + 2 * TABLED)
    while True:
        total = c_nodes(swap, &one, &two, i, errors)
        if not c_enough(two.stride, errors[1]):
            two.stride = two.stride // 2
        elif not c_enough(one.stride, errors[0]):
            one.stride = one.stride // 2
        else:  # all but nothing where the mode is a single record, which is refused
            return peak + log(total * one.stride * two.stride) if total > 1e-3 else NAN


cdef inline double c_nodes(Swap *swap, Side *first, Side *second, double i, double *errors) noexcept nogil:
    """The double sum at the strides of both sides."""
    cdef Side one = first[0], two = second[0]
    cdef double *mine = swap.products + 4 * TABLED
    cdef double *theirs = swap.products + 5 * TABLED
    cdef double *both = swap.products + 2 * TABLED
    cdef double *spare = swap.products + 6 * TABLED
    c_shares(&one, i, spare, mine)
    c_shares(&two, i, spare, theirs)
    return c_double_sum(&one, &two, mine, theirs, both + one.first + two.first - first.first - second.first, errors)
