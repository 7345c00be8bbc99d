# cython: language_level=3
"""Weight psi(n) of the count n of a node of a tree: the product of the likelihood of the measurements, the factor of
the prior, the indicator of the bounds, and exp(tilt n).

The log weight is log psi(n) = concave(n) + power(n), where the concave part is a parabola or a tent plus a line,

concave(n) = (slope + tilt) n - square (n - centre)^2 - absolute |n - centre|, and the monotone
power(n) = log Gamma(n + own)/Gamma(n + others) - damped log(1 + n).

Weights without this form are tables. Windows are computed from these shapes in closed form, and the sum of the weights
beyond a window is bounded by geometric series. The last part of the file computes an upper bound on a weight over all
counts, including the counts outside its window. The bound on the total variation distance is based on it.
"""
from libc.math cimport INFINITY, ceil, exp, fabs, floor, log, log1p, sqrt, tanh
from libc.stdint cimport int64_t

cdef enum:
    GOOD = 0
    UNBOUNDED = 1  # the tilted weight does not decrease
    WIDE = 2
    EMPTY = 3
    WIDEST = 1 << 26  # largest width of a window

cdef extern from *:
    const int64_t FAR "(1LL << 52)"  # value that means that there is no upper bound
    const double STEEP "500.0"  # largest range of log weights for a product of ratios
    const double MARGIN "5.0"  # log weight added to the requested range of a window
    const double LOG_2 "0.6931471805599453"

cdef struct Site:
    double centre, square, absolute  # -square (n - centre)^2 - absolute |n - centre|; at most one is positive
    double own, others, slope, damped
    int64_t lower, upper
    int64_t table, begin, length  # log weights tables[table + n - begin], -inf elsewhere; table = -1: there is no table
    double highest, swing  # largest entry of the table, and its largest entry minus its smallest entry
    double below, above  # smallest decrease of the log weight per count beyond the ends; infinite: weight 0


cdef inline double c_stirling(double x) noexcept nogil:
    """Return log Gamma(x) - ((x - 1/2) log x - x + log(2 pi)/2) for x >= 20, with an error of 1e-15."""
    cdef double y = 1.0 / (x * x)
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / x


cdef inline double c_power(const Site *s, double n) noexcept nogil:
    """Return log Gamma(n + own)/Gamma(n + others) - damped log(1 + n), without cancellation of large logarithms."""
    cdef double a = s.own, b = s.others, x = n, shift = 1.0, u, v
    if a == b:
        return -s.damped * log1p(n) if s.damped != 0.0 else 0.0
    # Gamma(x + a)/Gamma(x + b) = (x + b)/(x + a) times the ratio at x + 1, until Stirling's series is accurate
    while x + min(a, b) < 20.0:
        shift *= (x + a) / (x + b)
        x += 1.0
    # (u - 1/2) log u - (v - 1/2) log v, with log u = log v + log1p((a - b)/v)
    u, v = x + a, x + b
    u = (u - 0.5) * log1p((a - b) / v) + (a - b) * log(v) - (a - b) + c_stirling(u) - c_stirling(v)
    return u - log(shift) - (s.damped * log1p(n) if s.damped != 0.0 else 0.0)


cdef inline bint c_rises(const Site *s) noexcept nogil:
    """Return whether the power part of the log weight of a node increases with the count n."""
    return s.own > s.others


cdef inline double c_concave(const Site *s, double tilt, double n, double base) noexcept nogil:
    """Return the concave part of the log weight of a node at count n, minus its value at count `base`."""
    cdef double gap = n - base
    cdef double value = gap * (s.slope + tilt - s.square * (n + base - 2.0 * s.centre))
    if s.absolute > 0.0:
        value -= s.absolute * (fabs(n - s.centre) - fabs(base - s.centre))
    return value


cdef inline double c_level(const Site *s, double tilt, double n) noexcept nogil:
    """Return the concave part of the log weight of a node at count n."""
    cdef double gap = n - s.centre
    return (s.slope + tilt) * n - s.square * gap * gap - s.absolute * fabs(gap)


cdef inline double c_table(const Site *s, const double *tables, double n) noexcept nogil:
    cdef double place = n - s.begin
    return tables[s.table + <int64_t> place] if 0.0 <= place < s.length else -INFINITY


cdef inline double c_log(const Site *s, const double *tables, double tilt, double n, double base) noexcept nogil:
    """Return the log weight of a node at count n, with the concave part relative to its value at `base`."""
    cdef double value = c_concave(s, tilt, n, base)
    if s.own != s.others or s.damped != 0.0:
        value += c_power(s, n)
    return value + c_table(s, tables, n) if s.table >= 0 else value


cdef inline double c_peak(const Site *s, double tilt) noexcept nogil:
    """Return the count at which the concave part of the log weight is largest, or plus or minus infinity if there is no
    maximum.
    """
    cdef double slope = s.slope + tilt
    if s.square > 0.0:
        return s.centre + slope / (2.0 * s.square)
    if fabs(slope) < s.absolute:
        return s.centre
    return INFINITY if slope > 0.0 else (-INFINITY if slope < 0.0 else 0.0)


cdef inline double c_step(const Site *s, double tilt, double base, double fall, bint up) noexcept nogil:
    """Return the distance from `base` at which the concave part of the log weight is lower by `fall`, if `base` is at
    or beyond the maximum.
    """
    cdef double slope = s.slope + tilt, lead
    if s.square > 0.0:  # square ((lead + step)^2 - lead^2) = fall
        lead = base - c_peak(s, tilt)
        lead = max(lead if up else -lead, 0.0)
        return sqrt(lead * lead + fall / s.square) - lead
    # the slope in this direction; it changes once, at the top of the tent, if the top lies in this direction
    slope = slope if up else -slope
    lead = s.centre - base if up else base - s.centre
    if lead > 0.0 and s.absolute > 0.0:
        if -(slope + s.absolute) * lead >= fall:
            return -fall / (slope + s.absolute)
        fall += (slope + s.absolute) * lead
    else:
        lead = 0.0
    return lead + fall / (s.absolute - slope) if s.absolute > slope else INFINITY


cdef inline int c_window(const Site *s, double tilt, double fall, int64_t *low, int64_t *high) noexcept nogil:
    """Set a range of counts that contains all counts with log weights within `fall` of the maximum. A table without
    another factor, or with zeros between positive weights, keeps its complete range.
    """
    cdef double peak = c_peak(s, tilt), base, right = fall + MARGIN, left, reach, most
    cdef int64_t k, first = s.lower, last = s.upper
    if s.table >= 0:
        first, last = max(first, s.begin), min(last, s.begin + s.length - 1)
        right += s.swing
        if first > last:
            return EMPTY
        if s.square == 0.0 and s.absolute == 0.0 or s.swing == INFINITY:
            low[0], high[0] = first, last
            return GOOD if last - first < WIDEST else WIDE
    # start at the peak of the concave part, within the bounds
    base = min(max(floor(peak + 0.5), <double> first), <double> last)
    if base >= FAR:
        return UNBOUNDED
    # a monotone power part moves the peak: allow for its increase up to the peak, to the right by fixed-point iteration
    left = right
    if c_rises(s):
        for k in range(40):
            reach = c_step(s, tilt, base, right, True)
            most = fall + MARGIN + (s.swing if s.table >= 0 else 0.0)
            most += (s.own - s.others) * log((base + reach + s.own) / (base + s.others))
            if reach > WIDEST or most - right < 0.1:
                break
            right = most
    else:
        left += c_power(s, first) - c_power(s, base) + log(base - first + 1.0)
    # ends where the concave part has decreased by this amount
    reach = c_step(s, tilt, base, right, True) if base < last else 0.0
    high[0] = last if reach >= last - base else <int64_t> (base + ceil(reach))
    reach = c_step(s, tilt, base, left, False) if base > first else 0.0
    low[0] = first if reach >= base - first else <int64_t> (base - ceil(reach))
    if high[0] >= FAR:
        return UNBOUNDED
    return GOOD if high[0] - low[0] < WIDEST else WIDE


cdef inline double c_plain(const Site *s, const double *tables, double tilt, int64_t n, double base) noexcept nogil:
    return c_concave(s, tilt, n, base) + c_table(s, tables, n)


cdef inline bint c_steep(const Site *s, int64_t low, int64_t high) noexcept nogil:
    """Return whether the power part of the log weight varies too much over a range to be computed as a product of
    ratios.
    """
    return fabs(s.own - s.others) * log((high + 1.0) / (low + min(s.own, s.others, 1.0))) > STEEP


cdef inline double c_fill_logs(const Site *s, const double *tables, double tilt, int64_t low, int64_t high,
                               double base, double *out) noexcept nogil:
    """Compute the result of `c_fill` from log weights, with the concave part relative to `base` and the power part
    relative to its first value.
    """
    cdef double total = 0.0, most = -INFINITY, n
    cdef int64_t k
    for k in range(high - low + 1):
        n = low + k
        out[k] = c_concave(s, tilt, n, base) + total
        if s.table >= 0:
            out[k] += c_table(s, tables, n)
        total += log1p((s.own - s.others) / (n + s.others))
        most = max(most, out[k])
    for k in range(high - low + 1):
        out[k] = exp(out[k] - most)
    return most


cdef inline double c_fill(const Site *s, const double *tables, double tilt, int64_t low, int64_t high,
                          double *out) noexcept nogil:
    """Store the scaled weights of a node at the counts low .. high in `out`, and return the log of the scale."""
    cdef double base = min(max(floor(c_peak(s, tilt) + 0.5), <double> low), <double> high), weight = 1.0, n, scale
    cdef int64_t k
    # all weights are relative to exp(scale): the concave part at `base`, the power part at `low`
    scale = c_level(s, tilt, base) + c_power(s, low)
    if s.table >= 0 or c_steep(s, low, high):
        scale += c_fill_logs(s, tables, tilt, low, high, base, out)
    else:
        if s.absolute > 0.0:
            for k in range(high - low + 1):
                out[k] = exp(c_concave(s, tilt, low + k, base))
        else:
            for k in range(high - low + 1):
                n = low + k
                out[k] = exp((n - base) * (s.slope + tilt - s.square * (n + base - 2.0 * s.centre)))
        if s.own != s.others:  # power part by ratios of neighbouring terms, (n + own)/(n + others)
            for k in range(high - low + 1):
                out[k] *= weight
                n = low + k
                weight *= (n + s.own) / (n + s.others)
    if s.damped != 0.0:  # damped = 1: a factor 1/(1 + n)
        for k in range(high - low + 1):
            out[k] *= (1.0 + low) / (1.0 + low + k)
    return scale


cdef inline double c_most(const Site *s) noexcept nogil:
    return s.highest if s.table >= 0 else 0.0


cdef inline double c_end(const Site *s, const double *tables, double tilt, double n, bint up) noexcept nogil:
    """Return an upper bound, by a geometric series, on the log of the sum of all weights beyond the end n of a
    truncated table.
    """
    cdef double fall = s.above if up else s.below, ratio, power = c_power(s, n), terms = n - s.lower
    if fall == INFINITY:
        return -INFINITY
    if not fall >= 0.0:
        return INFINITY
    # log ratio of neighbouring terms beyond the end: the concave part is concave, so the ratio is largest at the end
    ratio = c_concave(s, tilt, n + 1.0 if up else n - 1.0, n) - fall
    if up and c_rises(s):
        ratio += log((n + s.own) / (n + s.others))
    if not up and not c_rises(s):
        power = c_power(s, s.lower)
    power += c_level(s, tilt, n) + c_table(s, tables, n)
    if ratio < 0.0:
        return power + ratio - log(-ratio if ratio > -1e-8 else 1.0 - exp(ratio))
    return INFINITY if up else power + log(terms) + ratio * terms


cdef inline double c_above(const Site *s, const double *tables, double tilt, int64_t last) noexcept nogil:
    """Return an upper bound, by a geometric series, on the log of the sum of all weights at counts above `last`."""
    cdef double ratio, n = last + 1.0
    if last >= s.upper:
        return -INFINITY
    if s.table >= 0 and last >= s.begin + s.length - 1:
        return c_end(s, tables, tilt, s.begin + s.length - 1, True)
    if s.table >= 0 and not s.above >= 0.0:
        return INFINITY
    # psi(n)/(1 - ratio) bounds the sum of a sequence with decreasing ratios of neighbouring terms
    ratio = c_concave(s, tilt, n + 1.0, n)
    if c_rises(s):
        ratio += log((n + s.own) / (n + s.others))
    return c_level(s, tilt, n) + c_power(s, n) + c_most(s) - log(-ratio if ratio > -1e-8 else 1.0 - exp(ratio)) \
        if ratio < 0.0 else INFINITY


cdef inline double c_below(const Site *s, const double *tables, double tilt, int64_t first) noexcept nogil:
    """Return an upper bound on the log of the sum of all weights at counts below `first`."""
    cdef double ratio, n = first - 1.0, terms = first - s.lower
    if first <= s.lower:
        return -INFINITY
    if s.table >= 0 and first <= s.begin:
        return c_end(s, tables, tilt, s.begin, False)
    if s.table >= 0 and s.begin > s.lower and not s.below >= 0.0:
        return INFINITY
    # number of counts below times the largest weight, or the geometric series
    ratio = c_concave(s, tilt, n - 1.0, n)
    if ratio < 0.0 and terms * -ratio > 1.0:
        terms = 1.0 / (-ratio if ratio > -1e-8 else 1.0 - exp(ratio))
    return c_level(s, tilt, n) + c_power(s, n if c_rises(s) else s.lower) + c_most(s) + log(terms) \
        if ratio <= 0.0 else INFINITY


# Suprema of psi(n) exp(tilt n)/cosh(eta (n - centre)) over ranges of n.

cdef inline double c_log_cosh(double x) noexcept nogil:
    x = fabs(x)
    return x + log1p(exp(-2.0 * x)) - LOG_2


cdef inline double c_smooth(const Site *s, double tilt, double eta, double centre, double n,
                            double base) noexcept nogil:
    """Return the concave part of the log weight at n minus log cosh(eta (n - centre)), a difference that is also
    concave.
    """
    return c_concave(s, tilt, n, base) - (c_log_cosh(eta * (n - centre)) if eta > 0.0 else 0.0)


cdef inline double c_slope(const Site *s, double tilt, double eta, double centre, double n) noexcept nogil:
    cdef double slope = s.slope + tilt - 2.0 * s.square * (n - s.centre) - eta * tanh(eta * (n - centre))
    return slope - s.absolute if n > s.centre else (slope + s.absolute if n < s.centre else slope)


cdef inline double c_top(const Site *s, double tilt, double eta, double centre, double low, double high) noexcept nogil:
    """Return the position on [low, high] at which the result of `c_smooth` is largest, with an accuracy of half a
    count.
    """
    cdef double middle
    cdef int64_t k
    if eta == 0.0:
        return min(max(c_peak(s, tilt), low), high)
    if c_slope(s, tilt, eta, centre, low) <= 0.0:
        return low
    if c_slope(s, tilt, eta, centre, high) >= 0.0:
        return high
    for k in range(200):  # bisection, because the slope decreases
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
    """Compute the result of `c_supremum` from the end of a table to `reach`, where all parts of the log weight except
    the power part are concave.
    """
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
        ratio += c_power(s, next_) - c_power(s, n)  # the increase becomes slower and slower
    if ratio > 0.0:
        return INFINITY if up and reach >= FAR else best + ratio * fabs(reach - n)
    return best + ratio


cdef inline double c_supremum(const Site *s, const double *tables, double tilt, double eta, double centre,
                              int64_t first, int64_t last, double base) noexcept nogil:
    """Return an upper bound on the log of weight(n) exp(tilt n)/cosh(eta (n - centre)) over first .. last, with the
    concave part relative to `base`. The power part is evaluated at one end of blocks whose lengths grow with the
    distance from the maximum.
    """
    cdef double low = max(first, s.lower), high = min(last, s.upper), top, best, value, near, far, width
    cdef int64_t n
    if low > high:
        return -INFINITY
    if s.table >= 0:  # every entry of the table, and bounds beyond the ends
        best = max(c_beyond_end(s, tables, tilt, eta, centre, high, base, True),
                   c_beyond_end(s, tables, tilt, eta, centre, low, base, False))
        for n in range(<int64_t> max(low, s.begin), <int64_t> min(high, s.begin + s.length - 1) + 1):
            value = c_plain(s, tables, tilt, n, base) + c_power(s, n) - c_log_cosh(eta * (n - centre))
            best = max(best, value)
        return best
    top = s.slope + tilt
    if high >= FAR and eta > 0.0 and fabs(top - eta) <= 1e-15 * eta and s.square == 0.0 and s.absolute == 0.0:
        return INFINITY if c_rises(s) else eta * (centre - base) + LOG_2 + c_power(s, low)  # increases towards a limit
    # the maximum of the smooth part; without a power part this is the result
    top = c_top(s, tilt, eta, centre, low, high)
    if top >= FAR:
        return INFINITY
    best = c_smooth(s, tilt, eta, centre, top, base)
    if s.own == s.others and s.damped == 0.0:
        return best
    width = 0.25 / sqrt(s.square) if s.square > 0.0 else (0.25 / s.absolute if s.absolute > 0.0 else 1.0)
    width = max(width, 1.0)
    # the power part increases: on each block, the smooth part at the near end plus the power part at the far end
    if c_rises(s):
        best += c_power(s, floor(top) + 1.0)
        near = top
        while near < high:
            far = min(near + width, high)
            best = max(best, c_smooth(s, tilt, eta, centre, near, base) + c_power(s, far))
            if far >= FAR:
                return INFINITY
            if c_smooth(s, tilt, eta, centre, far, base) + c_power(s, far) < \
                    c_smooth(s, tilt, eta, centre, near, base) + c_power(s, near):
                break
            near = far
            width *= 1.25
        return best
    # the power part decreases: the same to the left of the maximum
    near = floor(top)
    best += c_power(s, max(near, low))
    while near > low:
        far = max(near - width, low)
        best = max(best, c_smooth(s, tilt, eta, centre, near, base) + c_power(s, far))
        if c_smooth(s, tilt, eta, centre, far, base) + c_power(s, low) <= best:
            break
        near = far
        width *= 1.25
    return best
