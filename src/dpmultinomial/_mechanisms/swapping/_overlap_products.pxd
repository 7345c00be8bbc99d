# cython: language_level=3, cdivision=True, wraparound=False
"""P(s | y) as one double sum over u and j = i - u (derived in swap_crossings.pyx), where its terms fit into tables.

Of the records that cross from R, u lie in the category and j outside; v = u + s - y and z = j - s + y of those that
cross the other way. With omega_i = w_i/(C(r, i) C(m, i)) a term is a(u) b(j) omega(u + j),

a(u) = C(y, u) C(c - y, v), b(j) = C(r - y, j) C(m - c + y, z),

tabled from the mode outwards by ratios of neighbours, as `_crossing_products` does for w_i. omega may be convex in
logs, so ends are looked for by the standard deviations at the mode, and what lies there must be negligible.
"""
from libc.math cimport NAN, exp, isnan, log, sqrt
from libc.stdint cimport int64_t

from ._crossing_products cimport HALF, Side, c_double_sum, c_enough
from ._crossing_weights cimport c_log_crossing
from ._loader cimport c_log_hypergeometric
from ._strided_sums cimport SHORT, TABLED, Swap

cdef enum:
    SPARE = 16  # more than nine and a half standard deviations, for the skewness of small counts
    NEAR = 8  # and for ends of a range


cdef inline double c_rho(Swap *swap, int64_t i) noexcept nogil:
    """omega_(i + 1)/omega_i, remembered."""
    if isnan(swap.rho[i]):
        swap.rho[i] = (exp(c_log_crossing(swap, i + 1) - c_log_crossing(swap, i))
                       * ((i + 1.0) / (swap.r - i)) * ((i + 1.0) / (swap.m - i)))
    return swap.rho[i]


cdef inline double c_inside_ratio(Swap *swap, double u) noexcept nogil:
    """a(u + 1)/a(u)."""
    cdef double v = u + swap.s - swap.y
    return (swap.y - u) * (swap.c - swap.y - v) / ((u + 1.0) * (v + 1.0))


cdef inline double c_outside_ratio(Swap *swap, double j) noexcept nogil:
    """b(j + 1)/b(j)."""
    cdef double z = j - swap.s + swap.y
    return (swap.r - swap.y - j) * (swap.m - swap.c + swap.y - z) / ((j + 1.0) * (z + 1.0))


ctypedef double (*Ratio)(Swap *, double) noexcept nogil


cdef inline void c_values(Swap *swap, Side *side, Ratio ratio, double tilt) noexcept nogil:
    """Values of a or b from first to last, over that at the mode, times powers of the tilt."""
    cdef int64_t k
    cdef double at = 1.0
    cdef double *values = side.values + HALF - side.mode
    values[side.mode] = 1.0
    for k in range(side.mode, side.last):
        at *= ratio(swap, <double> k) * tilt
        values[k + 1] = at
    at = 1.0
    for k in range(side.mode - 1, side.first - 1, -1):
        at /= ratio(swap, <double> k) * tilt
        values[k] = at


cdef inline bint c_range(Side *side, double sd, int64_t low, int64_t high, double strided) noexcept nogil:
    """Range and stride of a side; False where it does not fit. Where it ends early, every term is taken."""
    cdef double reach = 9.5 * sd + SPARE
    if not reach < HALF:
        return False
    side.first = max(low, side.mode - <int64_t> reach)
    side.last = min(high, side.mode + <int64_t> reach)
    side.stride = max(<int64_t> (strided / 1.6), <int64_t> 1)
    if (side.last - side.first <= SHORT or side.mode - low < 9.5 * sd + NEAR or high - side.mode < 9.5 * sd + NEAR):
        side.stride = 1
    return True


cdef inline void c_nodes_of(Side *side, double *out) noexcept nogil:
    """The values at the nodes, without gaps; `first` and `last` become the outermost ones."""
    cdef int64_t below = (side.mode - side.first) // side.stride, above = (side.last - side.mode) // side.stride, j
    cdef double *values = side.values + HALF - side.mode
    side.first, side.last = side.mode - below * side.stride, side.mode + above * side.stride
    for j in range(below + above + 1):
        out[j] = values[side.first + j * side.stride]


cdef inline double c_ends(Side *one, Side *two, const double *mine, const double *theirs, const double *both,
                          int64_t lows, int64_t highs) noexcept nogil:
    """Sum of the outermost terms, but where a range ends of itself; bits 0 and 1 of lows and highs say where."""
    cdef int64_t count = (one.last - one.first) // one.stride, inner = (two.last - two.first) // two.stride, j
    cdef double total = 0.0
    for j in range(count + 1):
        if not lows & 2:
            total += mine[j] * theirs[0] * both[j * one.stride]
        if not highs & 2:
            total += mine[j] * theirs[inner] * both[j * one.stride + inner * two.stride]
    for j in range(inner + 1):
        if not lows & 1:
            total += mine[0] * theirs[j] * both[j * two.stride]
        if not highs & 1:
            total += mine[count] * theirs[j] * both[count * one.stride + j * two.stride]
    return total


cdef inline int64_t c_best(Swap *swap, int64_t i, Side *one, Side *two) noexcept nogil:
    """The u with the largest a(u) b(i - u); `first` and `last` are the ends of u and j."""
    cdef int64_t left = max(one.first, i - two.last), right = min(one.last, i - two.first), u
    while left < right:
        u = left + (right - left) // 2
        if c_inside_ratio(swap, u) > c_outside_ratio(swap, i - u - 1):
            left = u + 1
        else:
            right = u
    return left


cdef inline bint c_rising(Swap *swap, int64_t i, Side *one, Side *two) noexcept nogil:
    """Whether the largest term with i + 1 exceeds that with i."""
    cdef int64_t u = c_best(swap, i, one, two)
    return max(c_inside_ratio(swap, u), c_outside_ratio(swap, i - u)) * c_rho(swap, i) > 1.0


cdef inline int64_t c_mode(Swap *swap, Side *one, Side *two) noexcept nogil:
    """The i of the largest term, from the last one outwards."""
    cdef int64_t left = one.first + two.first, right = one.last + two.last, step = 1, i
    i = min(max(swap.warm_crossing, left), right - 1)
    if c_rising(swap, i, one, two):
        left = i + 1
        while left < right and i + step < right and c_rising(swap, i + step, one, two):
            left = i + step + 1
            step *= 2
        right = min(right, i + step)
    else:
        right = i
        while right > left and i - step >= left and not c_rising(swap, i - step, one, two):
            right = i - step
            step *= 2
        left = max(left, i - step + 1) if i - step >= left else left
    while left < right:
        i = left + (right - left) // 2
        if c_rising(swap, i, one, two):
            left = i + 1
        else:
            right = i
    return left


cdef inline void c_factors(Swap *swap, int64_t mode, int64_t first, int64_t last, double *both) noexcept nogil:
    """omega over its value at the mode, times powers of the tilt; `both` begins at first."""
    cdef double at = 1.0, tilt = swap.rho[mode]
    cdef int64_t k
    both[mode - first] = 1.0
    for k in range(mode, last):
        at *= swap.rho[k] / tilt
        both[k + 1 - first] = at
    at = 1.0
    for k in range(mode - 1, first - 1, -1):
        at *= tilt / swap.rho[k]
        both[k - first] = at


cdef inline double c_summed(Swap *swap, Side *one, Side *two, int64_t lows, int64_t highs) noexcept nogil:
    """The double sum over its value at the mode, by strides that are halved until they are fine; NaN where what lies
    at the ends of the ranges is not negligible."""
    cdef double *mine = swap.products + 4 * TABLED
    cdef double *theirs = swap.products + 5 * TABLED
    cdef const double *both
    cdef double total
    cdef double errors[2]
    cdef Side some, others
    while True:
        some, others = one[0], two[0]
        c_nodes_of(&some, mine)
        c_nodes_of(&others, theirs)
        both = swap.products + 2 * TABLED + (some.first + others.first - one.first - two.first)
        total = c_double_sum(&some, &others, mine, theirs, both, errors)
        if not total > 0.0:
            return NAN
        if not c_enough(two.stride, errors[1]):
            two.stride = two.stride // 2
        elif not c_enough(one.stride, errors[0]):
            one.stride = one.stride // 2
        elif c_ends(&some, &others, mine, theirs, both, lows, highs) > 1e-16 * total:
            return NAN
        else:
            return total * one.stride * two.stride


cdef inline double c_overlap_products(Swap *swap) noexcept nogil:
    """log P(s | y), NaN where the terms do not fit into tables."""
    cdef int64_t y = <int64_t> swap.y, s = <int64_t> swap.s, r = <int64_t> swap.r, c = <int64_t> swap.c
    cdef int64_t m = <int64_t> swap.m, low_u, high_u, low_j, high_j, i, k
    cdef double inner, outer, bend, det, v, z, total
    cdef Side one, two
    if swap.rho == NULL:
        return NAN
    low_u, high_u = max(y - s, <int64_t> 0), min(y, c - s)
    low_j, high_j = max(s - y, <int64_t> 0), min(r - y, m - c + s)
    one.first, one.last, two.first, two.last = low_u, high_u, low_j, high_j
    if high_u + high_j - low_u - low_j < 4:
        return NAN
    i = c_mode(swap, &one, &two)
    if i <= low_u + low_j or i >= high_u + high_j - 1:
        return NAN
    one.mode = c_best(swap, i, &one, &two)
    two.mode = i - one.mode
    swap.warm_crossing = i
    v, z = one.mode + s - y, two.mode - s + y
    inner = 1.0 / (y - one.mode + 1.0) + 1.0 / (c - y - v + 1.0) + 1.0 / (one.mode + 1.0) + 1.0 / (v + 1.0)
    outer = 1.0 / (r - y - two.mode + 1.0) + 1.0 / (m - c + y - z + 1.0) + 1.0 / (two.mode + 1.0) + 1.0 / (z + 1.0)
    bend = log(c_rho(swap, i - 1) / c_rho(swap, i))
    det = inner * outer + bend * (inner + outer)
    if not (det > 0.0 and inner + bend > 0.0 and outer + bend > 0.0):
        return NAN
    one.values, two.values = swap.products, swap.products + TABLED
    if not c_range(&one, sqrt((outer + bend) / det), low_u, high_u, sqrt((outer + bend) / det)):
        return NAN
    if not c_range(&two, sqrt((inner + bend) / det), low_j, high_j, 1.0 / sqrt(outer + bend)):
        return NAN
    for k in range(one.first + two.first, one.last + two.last):
        c_rho(swap, k)
    c_values(swap, &one, c_inside_ratio, swap.rho[i])
    c_values(swap, &two, c_outside_ratio, swap.rho[i])
    c_factors(swap, i, one.first + two.first, one.last + two.last, swap.products + 2 * TABLED)
    total = c_summed(swap, &one, &two, (one.first == low_u) + 2 * (two.first == low_j),
                     (one.last == high_u) + 2 * (two.last == high_j))
    return (log(total) + c_log_crossing(swap, i) + c_log_hypergeometric(one.mode, swap.r, swap.y, i)
            + c_log_hypergeometric(v, swap.m, swap.c - swap.y, i))
