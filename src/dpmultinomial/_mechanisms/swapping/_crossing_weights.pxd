# cython: language_level=3, cdivision=True, wraparound=False
"""w_i, the law of the number of records that cross: terms and sums (derived in swap_crossings.pyx)."""
from libc.math cimport INFINITY, exp, fabs, isnan, log, sqrt
from libc.stdint cimport int64_t

from ._loader cimport c_log_binomial, c_log_hypergeometric
from ._strided_sums cimport LOW_END, SETTLED, SLOTS, Swap, c_bell, c_strided

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


cdef inline double c_outside_ratio(Swap *swap, double k2) noexcept nogil:
    """The term at k2 + 1 over that at k2, but for g; falling in k2."""
    return (swap.p / (1.0 - swap.p) * (swap.m - k2) * (k2 + 1.0) / ((k2 + 1.0 - swap.i) * (swap.k1 + k2 + 1.0)))


cdef inline double c_outside_recursed(Swap *swap, int64_t mode) noexcept nogil:
    """log of the sum of exp c_selected_outside: down from the mode to where terms are negligible, then up through all
    of them with g(k, i) = (k - 1)/k g(k - 1, i) + (k - i - 1)/(k (k - 1)) g(k - 2, i)."""
    cdef double i = swap.i, at = 1.0, total = 0.0, before, share, after, k2 = mode, k = swap.k1 + mode
    cdef double peak = (c_log_binomial(k2, swap.m, swap.p, 1.0 - swap.p) + c_log_hypergeometric(i, k, k2, swap.k1))
    while k2 > i and at > 1e-19:
        k2 -= 1.0
        at /= c_outside_ratio(swap, k2)
    before = exp(c_log_share(k2 - 1.0, i)) if k2 > i else 0.0
    share = exp(c_log_share(k2, i))
    while True:
        total += at * share * c_inverse_share(swap, swap.k1 + k2)
        if k2 >= swap.m or (k2 > mode + LOW_END and at < 1e-19 * total):
            return peak + log(total)
        at *= c_outside_ratio(swap, k2)
        k2 += 1.0
        after = (k2 - 1.0) / k2 * share + ((k2 - i - 1.0) / (k2 * (k2 - 1.0)) * before if k2 > 1.0 else 0.0)
        before, share = share, after


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
    return own + c_outside_recursed(swap, mode)


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
        for slot in range(SLOTS):
            swap.known[slot] = -1
        swap.log_w[i] = c_bell(swap, c_selected_inside, i, <int64_t> swap.r, &swap.warm_selected) - swap.log_norm
    return swap.log_w[i]
