# cython: language_level=3, cdivision=True, wraparound=False
"""Sums of bell-shaped sequences with a stride, and what the terms of swap_crossings.pyx share (derived there)."""
from libc.math cimport INFINITY, cos, exp, fabs, log, pow, sqrt
from libc.stdint cimport int64_t

cdef enum:
    SETTLED = 20
    SHORT = 48  # ranges up to this are summed whole
    LOW_END = 8  # terms at the lower end that are never passed over
    SLOTS = 64  # terms of w_i that are remembered, by k1 modulo this
    TABLED = 2048  # of k2: 25 standard deviations of a sum over it to either side
    ANEW = 256  # of k2


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
    double *log_w  # NaN: not yet known
    double[SETTLED] inverse_share  # 1/g(k, 0); 0 for k = 1, which is no possible number
    int64_t warm_selected
    int64_t warm_crossing
    int64_t[SLOTS] known  # k1 of the remembered terms of w_i; -1: none
    double[SLOTS] known_term
    double *share  # TABLED numbers: g(k2, i) from k2 = base on, the first `filled` of them
    double *ratio  # TABLED numbers
    int64_t tabled  # i of the table; -1: none
    int64_t base
    int64_t filled
    double *products  # 7 TABLED numbers
    double *rho  # r numbers, NaN: not yet known; NULL: too many, or not wanted


ctypedef double (*Term)(Swap *, int64_t) noexcept nogil


cdef inline double c_strided(Swap *swap, Term term, int64_t low, int64_t high, int64_t mode, double sd) noexcept nogil:
    """log of the sum of exp(term) over low..high, by every D-th term from a mode in it; see the module."""
    cdef int64_t stride = <int64_t> (sd / 1.6), x, step
    cdef double top, at, even, odd, error, lost, allowed
    cdef int ends, turn
    cdef bint is_odd
    if stride < 1:
        stride = 1
    top = term(swap, mode)
    at = term(swap, low)
    if at > top:
        top = at
    if top == -INFINITY:
        return -INFINITY
    while True:
        even, odd, ends = exp(term(swap, mode) - top), 0.0, 2
        for turn in range(2):
            step = stride if turn == 0 else -stride
            is_odd = False
            x = mode + step
            while low <= x <= high:
                is_odd = not is_odd
                at = exp(term(swap, x) - top)
                if is_odd:
                    odd += at
                else:
                    even += at
                if x > low + LOW_END and at < 1e-19 * (even + odd):
                    ends -= 1
                    break
                x += step
        if stride == 1:
            return top + log(even + odd)
        error = fabs(even - odd) / (even + odd)
        lost = cos(3.141592653589793 / (2 * stride))
        allowed = 2.0 * pow(0.5e-14, 1.0 / (4.0 * lost * lost))
        if error <= (1e-13 if ends else allowed):
            return top + log((even + odd) * stride)
        stride //= 2


cdef inline double c_whole(Swap *swap, Term term, int64_t low, int64_t high, int64_t *mode) noexcept nogil:
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
    """log of the sum of exp(term) over low..high; `mode` is a hint and becomes the mode."""
    cdef int64_t left = low + LOW_END, right = high, x, y, step = 1
    cdef double curve, peak, up, down
    if high < low:
        return -INFINITY
    if high - low <= SHORT:
        return c_whole(swap, term, low, high, mode)
    x = mode[0]
    x = left if x < left else high - 1 if x >= high else x
    if term(swap, x + 1) > term(swap, x):  # rising at x: gallop up to a place where it falls
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
    while left < right:
        y = left + (right - left) // 2
        if term(swap, y + 1) > term(swap, y):
            left = y + 1
        else:
            right = y
    mode[0] = left
    if left == high or left == low + LOW_END:  # an end is no bell: every term
        return c_strided(swap, term, low, high, left, 0.0)
    peak, up, down = term(swap, left), term(swap, left + 1), term(swap, left - 1)
    curve = 2 * peak - up - down
    return c_strided(swap, term, low, high, left, 1.0 / sqrt(curve) if curve > 0.0 else 0.0)
