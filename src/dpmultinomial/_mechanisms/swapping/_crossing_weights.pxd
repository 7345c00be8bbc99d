# cython: language_level=3, cdivision=True, wraparound=False
"""w_i, the law of the number of records that cross: terms and sums (derived in swap_crossings.pyx)."""
from libc.math cimport INFINITY, exp, fabs, isnan, log, sqrt
from libc.stdint cimport int64_t

from ._crossing_products cimport c_log_products
from ._loader cimport c_log_binomial, c_log_hypergeometric
from ._strided_sums cimport ANEW, LOW_END, SETTLED, SLOTS, TABLED, Swap, c_bell, c_strided

cdef enum:
    RECURSED = 40  # inner bells up to this sd are summed term by term, each from its neighbour


cdef inline double c_log_share(double k, double i) noexcept nogil:
    """log g(k, i)."""
    cdef double total = 1.0, term = 1.0, left = k - i
    cdef int f
    if left <= 0.0:
        return 0.0
    if k == 1.0:
        return -INFINITY
    for f in range(24):
        term *= -(left - f) / ((k - f) * (f + 1))
        total += term
        if fabs(term) < 1e-19 or f + 1 >= left:
            break
    return log(total)


cdef inline double c_inverse_share(Swap *swap, double k) noexcept nogil:
    return swap.inverse_share[<int> k] if k < SETTLED else 2.718281828459045


cdef inline double c_selected_outside(Swap *swap, int64_t k2) noexcept nogil:
    """log of the terms of w_i in k2, given k1 and i, without Bin(k1; r, p) g(k1, i)."""
    cdef double k = swap.k1 + k2
    return (c_log_binomial(k2, swap.m, swap.p, 1.0 - swap.p) + c_log_hypergeometric(swap.i, k, k2, swap.k1)
            + c_log_share(k2, swap.i) + log(c_inverse_share(swap, k)))


cdef inline void c_table(Swap *swap, int64_t last) noexcept nogil:
    """Fill the table up to k2 = `last`: g(k, i) = (k - 1)/k g(k - 1, i) + (k - i - 1)/(k (k - 1)) g(k - 2, i), anew
    from its definition now and then."""
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
    """log of the sum of exp c_selected_outside, each term from its neighbour: down from the mode to where terms are
    negligible, and up. What does not depend on k1, g(k2, i) and the ratio of neighbours times k1 + k2 + 1, is tabled
    for each i."""
    cdef double at = 1.0, total, k1 = swap.k1
    cdef double peak = (c_log_binomial(mode, swap.m, swap.p, 1.0 - swap.p)
                        + c_log_hypergeometric(swap.i, k1 + mode, mode, k1))
    cdef int64_t k2 = mode, last = <int64_t> swap.m, low = <int64_t> swap.i
    if swap.tabled != low or not swap.base <= mode < swap.base + TABLED - ANEW:
        swap.tabled, swap.filled, swap.base = low, 0, max(low, mode - TABLED // 2)
    c_table(swap, mode)
    total = swap.share[mode - swap.base] * c_inverse_share(swap, k1 + mode)
    while k2 > low and k2 > swap.base and at > 1e-19:
        k2 -= 1
        at *= (k1 + k2 + 1.0) / swap.ratio[k2 - swap.base]
        total += at * swap.share[k2 - swap.base] * c_inverse_share(swap, k1 + k2)
    if k2 > low and at > 1e-19:  # more than the table holds
        return c_strided(swap, c_selected_outside, low, last, mode, 0.0)
    at, k2 = 1.0, mode
    while k2 < last and k2 < swap.base + TABLED - 1:
        at *= swap.ratio[k2 - swap.base] / (k1 + k2 + 1.0)
        k2 += 1
        if k2 >= swap.base + swap.filled:
            c_table(swap, k2 + 15)
        total += at * swap.share[k2 - swap.base] * c_inverse_share(swap, k1 + k2)
        if k2 > mode + LOW_END and at < 1e-19 * total:
            return peak + log(total)
    if k2 < last:
        return c_strided(swap, c_selected_outside, low, last, mode, 0.0)
    return peak + log(total)


cdef inline double c_inside_summed(Swap *swap, int64_t k1) noexcept nogil:
    """Terms of w_i in k1, the sum over k2 made. Its mode but for g: the ratio is 1 where odds (m + 1 - x) x = (x -
    i)(k1 + x), x = k2 + 1."""
    cdef double own = c_log_share(k1, swap.i), odds = swap.p / (1.0 - swap.p), m = swap.m, i = swap.i
    cdef double b = odds * (m + 1.0) + i - k1, root, curve
    cdef int64_t mode
    if own == -INFINITY:
        return -INFINITY
    swap.k1 = k1
    own += c_log_binomial(k1, swap.r, swap.p, 1.0 - swap.p)
    root = (b + sqrt(b * b + 4.0 * (1.0 + odds) * i * k1)) / (2.0 * (1.0 + odds))
    root = i if not root > i else m if root > m else root
    mode = <int64_t> root
    if i < mode < m:
        curve = 1.0 / (m - mode) + 1.0 / (mode + 1.0 - i) + 1.0 / (k1 + mode + 1.0) - 1.0 / (mode + 1.0)
        if 0.0 < curve < 1.0 / (RECURSED * RECURSED):
            return own + c_strided(swap, c_selected_outside, <int64_t> i, <int64_t> m, mode, 1.0 / sqrt(curve))
    return own + c_outside_summed(swap, mode)


cdef inline double c_selected_inside(Swap *swap, int64_t k1) noexcept nogil:
    """c_inside_summed, remembered: the search for the mode and the sum meet at the same places."""
    cdef int64_t slot = k1 % SLOTS
    if swap.known[slot] != k1:
        swap.known[slot] = k1
        swap.known_term[slot] = c_inside_summed(swap, k1)
    return swap.known_term[slot]


cdef inline double c_log_crossing(Swap *swap, int64_t i) noexcept nogil:
    """log w_i, remembered."""
    cdef int slot
    if isnan(swap.log_w[i]):
        swap.i = i
        swap.log_w[i] = c_log_products(swap, i) - swap.log_norm
    if isnan(swap.log_w[i]):
        for slot in range(SLOTS):
            swap.known[slot] = -1
        swap.log_w[i] = c_bell(swap, c_selected_inside, i, <int64_t> swap.r, &swap.warm_selected) - swap.log_norm
    return swap.log_w[i]
