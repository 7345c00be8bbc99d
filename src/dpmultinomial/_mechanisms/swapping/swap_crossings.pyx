# cython: language_level=3
"""Exact distribution of a swapped 2 x 2 table at any size, as a sum of positive terms.

Let R be the set of records in one category of the swapped variable: r of n records, m = n - r; y of them are in a
category of c records of the held variable. A permutation acts on the table only through i, the number of records of R
that give their value to a record outside R. By symmetry, the givers are a uniform i-subset of R and the takers a
uniform i-subset of the other records, so that

P(s | y) = sum_i w_i sum_u Hyp(u; r, y, i) Hyp(u + s - y; m, c - y, i).

With k1 and k2 records selected inside and outside R (independent binomials, conditional on a total other than one),

w_i = 1/Z sum_{k1, k2} Bin(k1; r, p) Bin(k2; m, p) C(k1, i) C(k2, i)/C(k1 + k2, k1) g(k1, i) g(k2, i)/g(k1 + k2, 0),

Z = 1 - n p q^(n - 1). g(k, i) = sum_f (-1)^f/f! prod_{l < f} (k - i - l)/(k - l) is the share of arrangements in
which no record of one side has its own value, if i of the k records of this side receive a value from the other side:
inclusion and exclusion over fixed points. Only g has negative terms, and it is in [0.33, 1] wherever it is not 0
(k = 1, i = 0), so there is no cancellation.

All four sums run over bell-shaped sequences. A bell of standard deviation sd is summed with stride D = sd/1.6. The
relative error is the characteristic function at 2 pi/D, about 2 exp(-2 pi^2 1.6^2) = 2e-22. The error is checked: even
and odd nodes give the error e of stride 2 D, and for this e a sum of independent Bernoulli variables has an error of
at most 2 (e/2)^(4 cos^2(pi/(2 D))) at stride D, since 1 - 4 v sin^2 2 t <= (1 - 4 v sin^2 t)^(4 cos^2 t). If this
bound exceeds 1e-14, or if a range ends before its terms are negligible and e exceeds 1e-13, the stride is halved and
the sum is recomputed. Up to tens of thousands of records, the terms of both sums are tabulated as products of three
factors, one of each index and one of their sum.
"""
import numpy as np

from libc.math cimport INFINITY, NAN, cos, exp, fabs, fmax, isnan, log, log1p, pow, sqrt
from libc.stdint cimport int64_t

from ... import _checks

cdef extern from "loader.h" nogil:
    double c_log_binomial "dpm_log_binomial"(double x, double n, double p, double q) noexcept
    double c_log_hypergeometric "dpm_log_hypergeometric"(double x, double n, double marked, double drawn) noexcept

cdef extern from "double_sums.h" nogil:
    enum:
        SETTLED "DPM_SETTLED"
        SHORT "DPM_SHORT"
        TABLED "DPM_TABLED"
        HALF "DPM_HALF"
    ctypedef struct Side "dpm_side":
        double *values
        int64_t mode, first, last, stride
    double c_log_share "dpm_log_share"(double k, double i) noexcept
    double c_balance "dpm_balance"(double size, double i, double odds, double other) noexcept
    bint c_side "dpm_tabulate"(Side *side, double size, double i, double odds, double scale) noexcept
    void c_shares "dpm_shares"(Side *side, double i, double *term, double *total) noexcept
    void c_joint_factors "dpm_joint_factors"(const double *inverse_share, int64_t mode, int64_t first, int64_t last,
                                             double *values) noexcept
    bint c_enough "dpm_enough"(int64_t stride, double error) noexcept
    int64_t c_stride "dpm_stride"(const Side *side, double sd, int64_t low, int64_t high) noexcept
    bint c_range "dpm_range"(Side *side, double sd, int64_t low, int64_t high, double strided) noexcept
    void c_nodes_of "dpm_nodes_of"(Side *side, double *out) noexcept
    double c_double_sum "dpm_double_sum"(const Side *one, const Side *two, const double *mine, const double *theirs,
                                         const double *both, double *errors) noexcept
    double c_ends "dpm_ends"(const Side *one, const Side *two, const double *mine, const double *theirs,
                             const double *both, int64_t lows, int64_t highs) noexcept

LARGEST_TOTAL = 1 << 40  # products of four counts are finite, and counts are exact
_MOST_RATIOS = 1 << 20  # largest number of ratios of neighbouring w_i that are cached
cdef double NEGLIGIBLE = 1e-19  # size of a negligible term, relative to the sum

cdef enum:
    LOW_END = 8  # number of terms at the lower end that are always included
    SLOTS = 64  # cached terms of w_i, indexed by k1 modulo this number
    ANEW = 256  # g is recomputed from its definition after this number of k2
    RECURSED = 40  # bells of u and of k2 up to this sd are summed term by term, by the ratio of neighbouring terms

cdef struct Swap:
    double n
    double r
    double m
    double c
    double p
    double log_norm
    double y
    double s
    double k1
    double i
    double *log_w  # NaN: not yet computed
    double[SETTLED] inverse_share  # 1/g(k, 0); 0 for k = 1, which is impossible
    int64_t warm_selected
    int64_t warm_crossing
    int64_t[SLOTS] known  # k1 of the cached terms of w_i; -1: none
    double[SLOTS] known_term
    double *share  # TABLED numbers: g(k2, i) from k2 = base on, of which `filled` are computed
    double *ratio  # TABLED numbers
    int64_t tabled  # i of the table; -1: none
    int64_t base
    int64_t filled
    double *products  # 7 TABLED numbers
    double *rho  # r numbers, NaN: not yet computed; NULL: too many, or not needed


ctypedef double (*Term)(Swap *, int64_t) noexcept nogil


# Sums of bell-shaped sequences with a stride (derived in the module docstring).

cdef inline double c_strided(Swap *swap, Term term, int64_t low, int64_t high, int64_t mode, double sd) noexcept nogil:
    """Return the log of the sum of exp(term) over low..high, from every D-th term, starting at a mode in the range."""
    cdef int64_t stride = <int64_t> (sd / 1.6), x, step
    cdef double top, value, even, odd, error, lost, allowed
    cdef int ends, turn
    cdef bint is_odd
    if stride < 1:
        stride = 1
    top = term(swap, mode)
    value = term(swap, low)
    if value > top:
        top = value
    if top == -INFINITY:
        return -INFINITY
    while True:
        # nodes mode + j D, on both sides until terms are negligible or the range ends; separate sums of even and odd j
        even, odd, ends = exp(term(swap, mode) - top), 0.0, 2
        for turn in range(2):
            step = stride if turn == 0 else -stride
            is_odd = False
            x = mode + step
            while low <= x <= high:
                is_odd = not is_odd
                value = exp(term(swap, x) - top)
                if is_odd:
                    odd += value
                else:
                    even += value
                if x > low + LOW_END and value < 1e-19 * (even + odd):
                    ends -= 1
                    break
                x += step
        if stride == 1:
            return top + log(even + odd)
        # error e of stride 2 D; the error at stride D is at most 2 (e/2)^(4 cos^2(pi/(2 D)))
        error = fabs(even - odd) / (even + odd)
        lost = cos(3.141592653589793 / (2 * stride))
        allowed = 2.0 * pow(0.5e-14, 1.0 / (4.0 * lost * lost))
        if error <= (1e-13 if ends else allowed):
            return top + log((even + odd) * stride)
        stride //= 2


cdef inline double c_all_terms(Swap *swap, Term term, int64_t low, int64_t high, int64_t *mode) noexcept nogil:
    cdef double values[SHORT + 1]
    cdef double top = -INFINITY, total = 0.0
    cdef int64_t x
    for x in range(low, high + 1):
        values[x - low] = term(swap, x)
        if values[x - low] > top:
            top = values[x - low]
            mode[0] = x
    if top == -INFINITY:
        return top
    for x in range(high - low + 1):
        total += exp(values[x] - top)
    return top + log(total)


cdef inline double c_bell(Swap *swap, Term term, int64_t low, int64_t high, int64_t *mode) noexcept nogil:
    """Return the log of the sum of exp(term) over low..high; `mode` is an initial guess and is set to the mode."""
    cdef int64_t left = low + LOW_END, right = high, x, y, step = 1
    cdef double curve, peak, up, down
    if high < low:
        return -INFINITY
    if high - low <= SHORT:
        return c_all_terms(swap, term, low, high, mode)
    x = mode[0]
    x = left if x < left else high - 1 if x >= high else x
    if term(swap, x + 1) > term(swap, x):  # the terms increase at x: gallop to a point where they decrease
        left = x + 1
        while x + step < high:
            y = x + step
            if term(swap, y + 1) > term(swap, y):
                left = y + 1
                step *= 2
            else:
                right = y
                break
    else:
        right = x
        while x - step >= left:
            y = x - step
            if term(swap, y + 1) > term(swap, y):
                left = y + 1
                break
            right = y
            step *= 2
    # bisection for the mode: the first point where the terms stop increasing
    while left < right:
        y = left + (right - left) // 2
        if term(swap, y + 1) > term(swap, y):
            left = y + 1
        else:
            right = y
    mode[0] = left
    if left == high or left == low + LOW_END:  # a mode at an end is not a bell: sum every term
        return c_strided(swap, term, low, high, left, 0.0)
    # stride from the second difference of the logs at the mode, 1/sd^2
    peak, up, down = term(swap, left), term(swap, left + 1), term(swap, left - 1)
    curve = 2 * peak - up - down
    return c_strided(swap, term, low, high, left, 1.0 / sqrt(curve) if curve > 0.0 else 0.0)


# w_i as one double sum over k1 and k2, if its terms fit into tables.
#
# A term is a product a(k1) b(k2) c(k1 + k2), where a and b include g(k, i) and c includes 1/g(k, 0). All three are
# tabulated from their mode outwards, by the ratios odds (r - k)(k + 1)/(k + 1 - i), the same with m, and 1/(k + 1),
# each divided by its value at the mode. No value therefore exceeds the value at the mode, and a term is negligible if a
# or b is negligible. Both sums have a stride, like the sum over a bell.

cdef inline double c_log_products(Swap *swap, int64_t crossing) noexcept nogil:
    """Return the log of the double sum of w_i, or NaN if its terms do not fit into tables."""
    cdef double i = crossing, odds = swap.p / (1.0 - swap.p), k1 = fmax(swap.r * swap.p, i), before = -1.0
    cdef double k2, a, b, c, peak, total, scale
    cdef double errors[2]
    cdef Side one, two
    cdef int turn
    # find the mode of the terms, alternately in k2 and k1
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
    # sd of k1, and of k2 given k1
    one.stride = c_stride(&one, 1.0 / sqrt(a + c * b / (b + c)), crossing, <int64_t> swap.r)
    two.stride = c_stride(&two, 1.0 / sqrt(b + c), crossing, <int64_t> swap.m)
    c_joint_factors(swap.inverse_share, one.mode + two.mode, one.first + two.first, one.last + two.last,
                    swap.products + 2 * TABLED)
    while True:
        total = c_nodes(swap, &one, &two, i, errors)
        if not c_enough(two.stride, errors[1]):
            two.stride = two.stride // 2
        elif not c_enough(one.stride, errors[0]):
            one.stride = one.stride // 2
        else:  # the weight is negligible if the mode is a single record, which is rejected
            return peak + log(total * one.stride * two.stride) if total > 1e-3 else NAN


cdef inline double c_nodes(Swap *swap, Side *first, Side *second, double i, double *errors) noexcept nogil:
    """Return the double sum at the strides of both sides."""
    cdef Side one = first[0], two = second[0]
    cdef double *mine = swap.products + 4 * TABLED
    cdef double *theirs = swap.products + 5 * TABLED
    cdef double *both = swap.products + 2 * TABLED
    cdef double *spare = swap.products + 6 * TABLED
    c_shares(&one, i, spare, mine)
    c_shares(&two, i, spare, theirs)
    return c_double_sum(&one, &two, mine, theirs, both + one.first + two.first - first.first - second.first, errors)


# w_i if the terms do not fit into tables: single terms, and nested sums.

cdef inline double c_inverse_share(Swap *swap, double k) noexcept nogil:
    return swap.inverse_share[<int> k] if k < SETTLED else 2.718281828459045


cdef inline double c_selected_outside(Swap *swap, int64_t k2) noexcept nogil:
    """Return the log of the terms of w_i in k2, given k1 and i, without the factor Bin(k1; r, p) g(k1, i)."""
    cdef double k = swap.k1 + k2
    return (c_log_binomial(k2, swap.m, swap.p, 1.0 - swap.p) + c_log_hypergeometric(swap.i, k, k2, swap.k1)
            + c_log_share(k2, swap.i) + log(c_inverse_share(swap, k)))


cdef inline void c_table(Swap *swap, int64_t last) noexcept nogil:
    """Fill the table up to k2 = `last`: g(k, i) = (k - 1)/k g(k - 1, i) + (k - i - 1)/(k (k - 1)) g(k - 2, i), which is
    recomputed from the definition at regular intervals.
    """
    cdef double i = swap.i, odds = swap.p / (1.0 - swap.p), k
    cdef int64_t at
    for at in range(swap.filled, min(last - swap.base + 1, <int64_t> TABLED)):
        k = swap.base + at
        if at % ANEW < 2:
            swap.share[at] = exp(c_log_share(k, i))
        else:
            swap.share[at] = (k - 1.0) / k * swap.share[at - 1] + (k - i - 1.0) / (k * (k - 1.0)) * swap.share[at - 2]
        swap.ratio[at] = odds * (swap.m - k) * (k + 1.0) / (k + 1.0 - i)
        swap.filled = at + 1


cdef inline double c_outside_summed(Swap *swap, int64_t mode) noexcept nogil:
    """Return the log of the sum of exp c_selected_outside, by ratios of neighbouring terms: from the mode down until
    terms are negligible, then up. The factors that do not depend on k1 (g(k2, i), and the ratio of neighbouring terms
    times k1 + k2 + 1) are tabulated for each i."""
    cdef double relative = 1.0, total, k1 = swap.k1
    cdef double peak = (c_log_binomial(mode, swap.m, swap.p, 1.0 - swap.p)
                        + c_log_hypergeometric(swap.i, k1 + mode, mode, k1))
    cdef int64_t k2 = mode, last = <int64_t> swap.m, low = <int64_t> swap.i
    if swap.tabled != low or not swap.base <= mode < swap.base + TABLED - ANEW:
        swap.tabled, swap.filled, swap.base = low, 0, max(low, mode - TABLED // 2)
    c_table(swap, mode)
    # from the mode down, by ratios of neighbouring terms
    total = swap.share[mode - swap.base] * c_inverse_share(swap, k1 + mode)
    while k2 > low and k2 > swap.base and relative > 1e-19:
        k2 -= 1
        relative *= (k1 + k2 + 1.0) / swap.ratio[k2 - swap.base]
        total += relative * swap.share[k2 - swap.base] * c_inverse_share(swap, k1 + k2)
    if k2 > low and relative > 1e-19:  # the sum needs more terms than the table holds
        return c_strided(swap, c_selected_outside, low, last, mode, 0.0)
    # from the mode up
    relative, k2 = 1.0, mode
    while k2 < last and k2 < swap.base + TABLED - 1:
        relative *= swap.ratio[k2 - swap.base] / (k1 + k2 + 1.0)
        k2 += 1
        if k2 >= swap.base + swap.filled:
            c_table(swap, k2 + 15)
        total += relative * swap.share[k2 - swap.base] * c_inverse_share(swap, k1 + k2)
        if k2 > mode + LOW_END and relative < 1e-19 * total:
            return peak + log(total)
    if k2 < last:
        return c_strided(swap, c_selected_outside, low, last, mode, 0.0)
    return peak + log(total)


cdef inline double c_inside_summed(Swap *swap, int64_t k1) noexcept nogil:
    """Return the log of the terms of w_i in k1, summed over k2. Without g, the mode x = k2 + 1 is where the ratio is 1:
    odds (m + 1 - x) x = (x - i)(k1 + x)."""
    cdef double log_inside = c_log_share(k1, swap.i), odds = swap.p / (1.0 - swap.p), m = swap.m, i = swap.i
    cdef double b = odds * (m + 1.0) + i - k1, root, curve
    cdef int64_t mode
    if log_inside == -INFINITY:
        return -INFINITY
    swap.k1 = k1
    log_inside += c_log_binomial(k1, swap.r, swap.p, 1.0 - swap.p)
    # mode of the terms in k2
    root = (b + sqrt(b * b + 4.0 * (1.0 + odds) * i * k1)) / (2.0 * (1.0 + odds))
    root = i if not root > i else m if root > m else root
    mode = <int64_t> root
    if i < mode < m:
        curve = 1.0 / (m - mode) + 1.0 / (mode + 1.0 - i) + 1.0 / (k1 + mode + 1.0) - 1.0 / (mode + 1.0)
        if 0.0 < curve < 1.0 / (RECURSED * RECURSED):
            return log_inside + c_strided(swap, c_selected_outside, <int64_t> i, <int64_t> m, mode, 1.0 / sqrt(curve))
    return log_inside + c_outside_summed(swap, mode)


cdef inline double c_selected_inside(Swap *swap, int64_t k1) noexcept nogil:
    """Cached c_inside_summed: the search for the mode and the sum evaluate the same points."""
    cdef int64_t slot = k1 % SLOTS
    if swap.known[slot] != k1:
        swap.known[slot] = k1
        swap.known_term[slot] = c_inside_summed(swap, k1)
    return swap.known_term[slot]


cdef inline double c_log_crossing(Swap *swap, int64_t i) noexcept nogil:
    """Return log w_i, cached."""
    cdef int slot
    # by tables if the terms fit, otherwise by nested sums
    if isnan(swap.log_w[i]):
        swap.i = i
        swap.log_w[i] = c_log_products(swap, i) - swap.log_norm
    if isnan(swap.log_w[i]):
        for slot in range(SLOTS):
            swap.known[slot] = -1
        swap.log_w[i] = c_bell(swap, c_selected_inside, i, <int64_t> swap.r, &swap.warm_selected) - swap.log_norm
    return swap.log_w[i]


# P(s | y) as one double sum over u and j = i - u, if its terms fit into tables.
#
# Of the records of R that cross, u are in the category and j outside; of the records that cross in the other direction,
# v = u + s - y are in the category and z = j - s + y outside. With omega_i = w_i/(C(r, i) C(m, i)), a term is
# a(u) b(j) omega(u + j),
#
# a(u) = C(y, u) C(c - y, v), b(j) = C(r - y, j) C(m - c + y, z),
#
# tabulated from the mode outwards by ratios of neighbouring values, as for w_i. The log of omega may be convex, so the
# ends are determined from the standard deviations at the mode, and the terms at the ends must be negligible.

cdef inline double c_rho(Swap *swap, int64_t i) noexcept nogil:
    """Return omega_(i + 1)/omega_i, cached."""
    if isnan(swap.rho[i]):
        swap.rho[i] = (exp(c_log_crossing(swap, i + 1) - c_log_crossing(swap, i))
                       * ((i + 1.0) / (swap.r - i)) * ((i + 1.0) / (swap.m - i)))
    return swap.rho[i]


cdef inline double c_inside_ratio(Swap *swap, double u) noexcept nogil:
    """Return a(u + 1)/a(u)."""
    cdef double v = u + swap.s - swap.y
    return (swap.y - u) * (swap.c - swap.y - v) / ((u + 1.0) * (v + 1.0))


cdef inline double c_outside_ratio(Swap *swap, double j) noexcept nogil:
    """Return b(j + 1)/b(j)."""
    cdef double z = j - swap.s + swap.y
    return (swap.r - swap.y - j) * (swap.m - swap.c + swap.y - z) / ((j + 1.0) * (z + 1.0))


ctypedef double (*Ratio)(Swap *, double) noexcept nogil


cdef inline void c_values(Swap *swap, Side *side, Ratio ratio, double tilt) noexcept nogil:
    """Compute a or b from first to last, divided by the value at the mode, times powers of the tilt."""
    cdef int64_t k
    cdef double value = 1.0
    cdef double *values = side.values + HALF - side.mode
    values[side.mode] = 1.0
    for k in range(side.mode, side.last):
        value *= ratio(swap, <double> k) * tilt
        values[k + 1] = value
    value = 1.0
    for k in range(side.mode - 1, side.first - 1, -1):
        value /= ratio(swap, <double> k) * tilt
        values[k] = value


cdef inline int64_t c_best(Swap *swap, int64_t i, Side *one, Side *two) noexcept nogil:
    """Return the u with the largest a(u) b(i - u); `first` and `last` are the limits of u and j."""
    cdef int64_t left = max(one.first, i - two.last), right = min(one.last, i - two.first), u
    while left < right:
        u = left + (right - left) // 2
        if c_inside_ratio(swap, u) > c_outside_ratio(swap, i - u - 1):
            left = u + 1
        else:
            right = u
    return left


cdef inline bint c_rising(Swap *swap, int64_t i, Side *one, Side *two) noexcept nogil:
    """Return whether the largest term for i + 1 exceeds the largest term for i."""
    cdef int64_t u = c_best(swap, i, one, two)
    return max(c_inside_ratio(swap, u), c_outside_ratio(swap, i - u)) * c_rho(swap, i) > 1.0


cdef inline int64_t c_mode(Swap *swap, Side *one, Side *two) noexcept nogil:
    """Return the i of the largest term, searching from the previous i outwards."""
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
    """Compute omega divided by its value at the mode, times powers of the tilt; `both` begins at first."""
    cdef double value = 1.0, tilt = swap.rho[mode]
    cdef int64_t k
    both[mode - first] = 1.0
    for k in range(mode, last):
        value *= swap.rho[k] / tilt
        both[k + 1 - first] = value
    value = 1.0
    for k in range(mode - 1, first - 1, -1):
        value *= tilt / swap.rho[k]
        both[k - first] = value


cdef inline double c_summed(Swap *swap, Side *one, Side *two, int64_t lows, int64_t highs) noexcept nogil:
    """Return the double sum divided by its term at the mode, halving the strides until they are fine enough; NaN if the
    terms at the ends of the ranges are not negligible."""
    cdef double *mine = swap.products + 4 * TABLED
    cdef double *theirs = swap.products + 5 * TABLED
    cdef const double *both
    cdef double total
    cdef double errors[2]
    cdef Side nodes_u, nodes_j
    while True:
        nodes_u, nodes_j = one[0], two[0]
        c_nodes_of(&nodes_u, mine)
        c_nodes_of(&nodes_j, theirs)
        both = swap.products + 2 * TABLED + (nodes_u.first + nodes_j.first - one.first - two.first)
        total = c_double_sum(&nodes_u, &nodes_j, mine, theirs, both, errors)
        if not total > 0.0:
            return NAN
        if not c_enough(two.stride, errors[1]):
            two.stride = two.stride // 2
        elif not c_enough(one.stride, errors[0]):
            one.stride = one.stride // 2
        elif c_ends(&nodes_u, &nodes_j, mine, theirs, both, lows, highs) > 1e-16 * total:
            return NAN
        else:
            return total * one.stride * two.stride


cdef inline double c_overlap_products(Swap *swap) noexcept nogil:
    """Return log P(s | y), or NaN if the terms do not fit into tables."""
    cdef int64_t y = <int64_t> swap.y, s = <int64_t> swap.s, r = <int64_t> swap.r, c = <int64_t> swap.c
    cdef int64_t m = <int64_t> swap.m, low_u, high_u, low_j, high_j, i, k
    cdef double inner, outer, bend, det, v, z, total
    cdef Side one, two
    if swap.rho == NULL:
        return NAN
    # ranges of u and j in which no binomial coefficient is 0
    low_u, high_u = max(y - s, <int64_t> 0), min(y, c - s)
    low_j, high_j = max(s - y, <int64_t> 0), min(r - y, m - c + s)
    one.first, one.last, two.first, two.last = low_u, high_u, low_j, high_j
    if high_u + high_j - low_u - low_j < 4:
        return NAN
    # mode: the i of the largest term, and the u of the largest a(u) b(i - u)
    i = c_mode(swap, &one, &two)
    if i <= low_u + low_j or i >= high_u + high_j - 1:
        return NAN
    one.mode = c_best(swap, i, &one, &two)
    two.mode = i - one.mode
    swap.warm_crossing = i
    v, z = one.mode + s - y, two.mode - s + y
    # minus second differences of log a, log b and log omega at the mode; sd of u and j from the 2 x 2 matrix
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
    # tables of a, b and omega, tilted by the ratio of omega at the mode
    for k in range(one.first + two.first, one.last + two.last):
        c_rho(swap, k)
    c_values(swap, &one, c_inside_ratio, swap.rho[i])
    c_values(swap, &two, c_outside_ratio, swap.rho[i])
    c_factors(swap, i, one.first + two.first, one.last + two.last, swap.products + 2 * TABLED)
    total = c_summed(swap, &one, &two, (one.first == low_u) + 2 * (two.first == low_j),
                     (one.last == high_u) + 2 * (two.last == high_j))
    return (log(total) + c_log_crossing(swap, i) + c_log_hypergeometric(one.mode, swap.r, swap.y, i)
            + c_log_hypergeometric(v, swap.m, swap.c - swap.y, i))


# P(s | y) if the terms do not fit into tables, and the public functions.

cdef double c_overlap(Swap *swap, int64_t u) noexcept nogil:
    """Return log Hyp(u; r, y, i) Hyp(u + s - y; m, c - y, i)."""
    return (c_log_hypergeometric(u, swap.r, swap.y, swap.i)
            + c_log_hypergeometric(u + swap.s - swap.y, swap.m, swap.c - swap.y, swap.i))


cdef inline double c_overlap_ratio(Swap *swap, double u) noexcept nogil:
    """Return exp c_overlap(u + 1) divided by exp c_overlap(u), which decreases in u."""
    cdef double v = u + swap.s - swap.y, y = swap.y, i = swap.i, rest = swap.c - y
    return ((y - u) * (i - u) * (rest - v) * (i - v)
            / ((u + 1.0) * (swap.r - y - i + u + 1.0) * (v + 1.0) * (swap.m - rest - i + v + 1.0)))


cdef double c_overlaps(Swap *swap) noexcept nogil:
    """Return the log of the sum over u, given y, s and i."""
    cdef double y = swap.y, s = swap.s, i = swap.i, rest = swap.c - y, total = 1.0, relative = 1.0, curve
    cdef double first = i - (swap.r - y), second = i - (swap.m - rest)
    cdef int64_t low, high, mode, left, right, u
    # range of u: both hypergeometric factors are positive
    first = first if first > 0.0 else 0.0
    second = y - s + (second if second > 0.0 else 0.0)
    low = <int64_t> (first if first > second else second)
    first = y if y < i else i
    second = y - s + (rest if rest < i else i)
    high = <int64_t> (first if first < second else second)
    if high < low:
        return -INFINITY
    left, right = low, high
    while left < right:
        u = left + (right - left) // 2
        if c_overlap_ratio(swap, u) > 1.0:
            left = u + 1
        else:
            right = u
    # sum a wide bell with strides
    mode = left
    if low < mode < high:
        curve = log(c_overlap_ratio(swap, mode - 1) / c_overlap_ratio(swap, mode))
        if curve > 0.0 and curve < 1.0 / (RECURSED * RECURSED):
            return c_strided(swap, c_overlap, low, high, mode, 1.0 / sqrt(curve))
    # sum a narrow bell term by term, from the mode to both sides
    for u in range(mode, high):
        relative *= c_overlap_ratio(swap, u)
        total += relative
        if relative < NEGLIGIBLE * total:
            break
    relative = 1.0
    for u in range(mode - 1, low - 1, -1):
        relative /= c_overlap_ratio(swap, u)
        total += relative
        if relative < NEGLIGIBLE * total:
            break
    return c_overlap(swap, mode) + log(total)


cdef double c_crossing(Swap *swap, int64_t i) noexcept nogil:
    """Return the log of the terms of P(s | y) in i. The weight is computed first, because its sums also set swap.i."""
    cdef double weight = c_log_crossing(swap, i)
    if weight == -INFINITY:
        return weight
    swap.i = i
    return weight + c_overlaps(swap)


cdef double c_log_probability(Swap *swap, int64_t y, int64_t s) noexcept nogil:
    """Return log P(s | y)."""
    cdef int64_t r = <int64_t> swap.r, c = <int64_t> swap.c, m = <int64_t> swap.m
    cdef int64_t low = y - s if y > s else s - y, high = r - y + (y if y < c - s else c - s)
    cdef int64_t other = m - c + y + (c - y if c - y < s else s)
    cdef double log_p
    swap.y, swap.s = y, s
    log_p = c_overlap_products(swap)
    if not isnan(log_p):
        return log_p
    high = other if other < high else high
    high = r if r < high else high
    return c_bell(swap, c_crossing, low, high, &swap.warm_crossing)


cdef void law_fill(Swap *swap, int64_t at, const double[::1] log_prior, double[::1] rest, double window,
                   double[::1] out) noexcept nogil:
    """Compute log P(at | y) from y = at outwards, until it plus `rest` is `window` below the largest log posterior."""
    cdef int64_t y, turn, last = out.shape[0] - 1, warm
    cdef double best = -INFINITY, ahead = -INFINITY
    warm = swap.warm_crossing
    for turn in range(2):
        # rest[y]: the largest log prior from y on, in the direction of the loop
        ahead = -INFINITY
        if turn == 0:
            for y in range(last, at - 1, -1):
                ahead = log_prior[y] if log_prior[y] > ahead else ahead
                rest[y] = ahead
        else:
            swap.warm_crossing = warm
            for y in range(at):
                ahead = log_prior[y] if log_prior[y] > ahead else ahead
                rest[y] = ahead
        # upwards from `at`, then downwards from at - 1
        y = at - turn
        while 0 <= y <= last:
            out[y] = c_log_probability(swap, y, at)
            if out[y] + log_prior[y] > best:
                best = out[y] + log_prior[y]
            if y == at:
                warm = swap.warm_crossing
            if out[y] + rest[y] < best - window:
                break
            y += 1 - 2 * turn


cdef Swap c_swap(double n, double r, double c, double p, double[::1] log_w, double[:, ::1] table):
    cdef Swap swap
    cdef int k
    swap.inverse_share[0], swap.inverse_share[1] = 1.0, 0.0
    for k in range(2, SETTLED):
        swap.inverse_share[k] = exp(-c_log_share(k, 0.0))
    swap.n, swap.r, swap.m, swap.c, swap.p = n, r, n - r, c, p
    swap.y = swap.s = swap.k1 = swap.i = 0.0
    swap.log_norm = log1p(-n * p * exp((n - 1.0) * log1p(-p)))
    swap.log_w = &log_w[0]
    swap.share, swap.ratio, swap.tabled = &table[0, 0], &table[1, 0], -1
    swap.base = swap.filled = 0
    swap.products = &table[2, 0]
    swap.rho = NULL
    swap.warm_selected = <int64_t> (r * p)
    swap.warm_crossing = <int64_t> (r * (n - r) / n * p)
    return swap


def _weights_of(log_w, small):
    """Return the caller's cache of log w, or a new cache."""
    if log_w is None:
        return np.full(small + 1, np.nan)
    if not (isinstance(log_w, np.ndarray) and log_w.dtype == np.float64 and log_w.shape == (small + 1,)
            and log_w.flags.c_contiguous and log_w.flags.writeable):
        raise ValueError(f"log_w must be a contiguous writeable float64 array of shape ({small + 1},)")
    return log_w


def log_weights(n, small, *, rate):
    """Return log w_i, the distribution of the number of records that cross between two groups of records in one swap.

    Parameters
    ----------
    n : int
        Number of records, 2 to 2^40.
    small : int
        r, the number of records in one group, 0 to n.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    float64 (min(small, n - small) + 1,)
        log P(i records cross in each direction), i = 0, 1, ..; the relative error of the probabilities is 1e-13, or a
        few units in the last digit of the log.

    Raises
    ------
    ValueError, TypeError
        If a number is out of its range.

    Notes
    -----
    Computing time: about 0.01 ms per entry up to a few thousand records, and 0.3 ms per entry for any n.
    """
    cdef double total = _checks.integer("n", n, least=2, most=LARGEST_TOTAL), p = _checks.inside("rate", rate)
    r = _checks.integer("small", small, most=n)
    r = min(r, n - r)
    out = np.full(r + 1, np.nan)
    cdef double[::1] view = out
    cdef double[:, ::1] table = np.empty((9, TABLED))
    cdef Swap swap = c_swap(total, r, r, p, view, table)
    cdef int64_t i
    with nogil:
        for i in range(view.shape[0]):
            c_log_crossing(&swap, i)
    return out


def log_law(n, small, other, at, *, rate, log_prior=None, window=np.inf, log_w=None):
    """Return log P(at | y) for every original y of a 2 x 2 class: the likelihood of the original count.

    Parameters
    ----------
    n : int
        Number of records, 2 to 2^40.
    small, other : int
        Sizes of one category of either variable, 0 <= small <= other <= n - small; y counts the records in both,
        0..small.
    at : int
        The count after the swap, 0..small.
    rate : float
        Swap rate, in (0, 1).
    log_prior : float64 (small + 1,), optional Used only to determine where to stop, and not added to the result;
        without NaN. None is a flat prior.
    window : float Distance on the log scale. In the direction away from `at`, entries are neglected (-inf) if the log
        likelihood plus the largest log prior of the remaining entries is below the largest log posterior by more than
        `window`; the likelihood decreases beyond its peak. If infinite, all entries are computed.
    log_w : float64 (small + 1,), optional
        Cache of log w_i shared between calls with the same (n, small, rate), NaN if not yet computed; it is updated.

    Returns
    -------
    float64 (small + 1,)
        The relative error of a probability is below 1e-12, or a few units in the last digit of its log if larger.

    Raises
    ------
    ValueError, TypeError
        If a number is out of its range or an array has the wrong shape.

    Notes
    -----
    Computing time: about 5 microseconds per entry and 5 per new w_i up to tens of thousands of records; 40 and 300
    microseconds for any n: 0.3 ms for 100 records, 0.05 s for 10,000 records with 5,001 tables. Source of the swap:
    Bailie, Gong and Meng (2023); the sum is derived in the module docstring.
    """
    cdef double total = _checks.integer("n", n, least=2, most=LARGEST_TOTAL), p = _checks.inside("rate", rate)
    r = _checks.integer("small", small, most=n // 2)
    cdef double c = _checks.integer("other", other, least=r, most=n - r)
    cdef int64_t start = _checks.integer("at", at, most=r)
    prior = np.zeros(r + 1) if log_prior is None else np.ascontiguousarray(log_prior, dtype=np.float64)
    if prior.shape != (r + 1,) or np.isnan(prior).any():
        raise ValueError(f"log_prior must have shape ({r + 1},) and must not contain NaN, got shape {prior.shape}")
    if not float(window) > 0:
        raise ValueError(f"window must be > 0, got {window}")
    cdef double reach = window
    cdef double[::1] weights = _weights_of(log_w, r)
    out = np.full(r + 1, -np.inf)
    cdef double[::1] view = out, rest = np.empty(r + 1)
    cdef const double[::1] before = prior
    cdef double[:, ::1] table = np.empty((9, TABLED))
    cdef Swap swap = c_swap(total, r, c, p, weights, table)
    cdef double[::1] rho = np.full(r if r <= _MOST_RATIOS else 0, np.nan)
    if rho.shape[0]:
        swap.rho = &rho[0]
    with nogil:
        law_fill(&swap, start, before, rest, reach, view)
    return out
