# cython: language_level=3, cdivision=True, wraparound=False
"""Bounds of a node's tilted weight over all counts, those outside its window too: what the certificate rests on."""
from libc.math cimport INFINITY, exp, fabs, floor, log1p, sqrt, tanh
from libc.stdint cimport int64_t

from ._sites cimport FAR, Site, c_concave, c_peak, c_plain, c_power, c_rises

cdef extern from *:
    const double LOG_2 "0.6931471805599453"


cdef inline double c_log_cosh(double x) noexcept nogil:
    x = fabs(x)
    return x + log1p(exp(-2.0 * x)) - LOG_2


cdef inline double c_smooth(const Site *s, double tilt, double eta, double centre, double n,
                            double base) noexcept nogil:
    """Concave part less log cosh(eta (n - centre)), concave too."""
    return c_concave(s, tilt, n, base) - (c_log_cosh(eta * (n - centre)) if eta > 0.0 else 0.0)


cdef inline double c_slope(const Site *s, double tilt, double eta, double centre, double n) noexcept nogil:
    cdef double slope = s.slope + tilt - 2.0 * s.square * (n - s.centre) - eta * tanh(eta * (n - centre))
    return slope - s.absolute if n > s.centre else (slope + s.absolute if n < s.centre else slope)


cdef inline double c_top(const Site *s, double tilt, double eta, double centre, double low, double high) noexcept nogil:
    """Where the smooth part is largest on [low, high], to half a count."""
    cdef double middle
    cdef int64_t k
    if eta == 0.0:
        return min(max(c_peak(s, tilt), low), high)
    if c_slope(s, tilt, eta, centre, low) <= 0.0:
        return low
    if c_slope(s, tilt, eta, centre, high) >= 0.0:
        return high
    for k in range(200):
        middle = low + 0.5 * (high - low)
        if c_slope(s, tilt, eta, centre, middle) > 0.0:
            low = middle
        else:
            high = middle
        if high - low < 1e-9 * (1.0 + fabs(high)):
            break
    return high


cdef inline double c_beyond_end(const Site *s, const double *tables, double tilt, double eta, double centre,
                                double reach, double base, bint up) noexcept nogil:
    """As `c_supremum`, from the end of a list on to `reach`: all parts but the power are concave there."""
    cdef double n = s.begin + s.length - 1 if up else s.begin, next_ = n + 1.0 if up else n - 1.0
    cdef double fall = s.above if up else s.below, ratio, best
    if fall == INFINITY or (reach <= n if up else reach >= n):
        return -INFINITY
    if not fall >= 0.0:
        return INFINITY
    ratio = c_concave(s, tilt, next_, n) - fall - c_log_cosh(eta * (next_ - centre)) + c_log_cosh(eta * (n - centre))
    best = c_plain(s, tables, tilt, <int64_t> n, base) - c_log_cosh(eta * (n - centre))
    best += c_power(s, n if up or c_rises(s) else reach)
    if up and c_rises(s):
        ratio += c_power(s, next_) - c_power(s, n)  # grows ever more slowly
    if ratio > 0.0:
        return INFINITY if up and reach >= FAR else best + ratio * fabs(reach - n)
    return best + ratio


cdef inline double c_supremum(const Site *s, const double *tables, double tilt, double eta, double centre,
                              int64_t first, int64_t last, double base) noexcept nogil:
    """Upper bound of the log of weight(n) exp(tilt n)/cosh(eta (n - centre)) over first .. last, concave part relative
    to `base`; the power part is taken from one end of blocks that grow away from the top."""
    cdef double low = max(first, s.lower), high = min(last, s.upper), top, best, here, ahead, width
    cdef int64_t n
    if low > high:
        return -INFINITY
    if s.table >= 0:
        best = max(c_beyond_end(s, tables, tilt, eta, centre, high, base, True),
                   c_beyond_end(s, tables, tilt, eta, centre, low, base, False))
        for n in range(<int64_t> max(low, s.begin), <int64_t> min(high, s.begin + s.length - 1) + 1):
            here = c_plain(s, tables, tilt, n, base) + c_power(s, n) - c_log_cosh(eta * (n - centre))
            best = max(best, here)
        return best
    top = s.slope + tilt
    if high >= FAR and eta > 0.0 and fabs(top - eta) <= 1e-15 * eta and s.square == 0.0 and s.absolute == 0.0:
        return INFINITY if c_rises(s) else eta * (centre - base) + LOG_2 + c_power(s, low)  # rises towards a limit
    top = c_top(s, tilt, eta, centre, low, high)
    if top >= FAR:
        return INFINITY
    best = c_smooth(s, tilt, eta, centre, top, base)
    if s.own == s.others and s.damped == 0.0:
        return best
    width = 0.25 / sqrt(s.square) if s.square > 0.0 else (0.25 / s.absolute if s.absolute > 0.0 else 1.0)
    width = max(width, 1.0)
    if c_rises(s):
        best += c_power(s, floor(top) + 1.0)
        here = top
        while here < high:
            ahead = min(here + width, high)
            best = max(best, c_smooth(s, tilt, eta, centre, here, base) + c_power(s, ahead))
            if ahead >= FAR:
                return INFINITY
            if c_smooth(s, tilt, eta, centre, ahead, base) + c_power(s, ahead) < \
                    c_smooth(s, tilt, eta, centre, here, base) + c_power(s, here):
                break
            here = ahead
            width *= 1.25
        return best
    here = floor(top)
    best += c_power(s, max(here, low))
    while here > low:
        ahead = max(here - width, low)
        best = max(best, c_smooth(s, tilt, eta, centre, here, base) + c_power(s, ahead))
        if c_smooth(s, tilt, eta, centre, ahead, base) + c_power(s, low) <= best:
            break
        here = ahead
        width *= 1.25
    return best
