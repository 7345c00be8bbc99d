# cython: language_level=3, cdivision=True, wraparound=False
"""Pieces of `_noisy_tables`: windows of factors, a Fourier transform, and mixtures of Beta laws with one total."""
from libc.math cimport exp, fabs, log, sqrt
from libc.stdint cimport int64_t

cdef extern from "<math.h>" nogil:
    long double lgammal(long double)
    long double logl(long double)
    long double log1pl(long double)
    long double expl(long double)


cdef struct Factor:  # a(s) = Gamma(s + alpha)/s! exp(-|noisy - s|/scale + theta s), relative to its value at centre
    double noisy, scale, alpha
    int64_t centre, below, above  # the window is centre - below .. centre + above
    double m0, m1, m2  # sum, and moments about the centre
    double up, down  # sums against exp(+-eta (s - centre))


cdef inline double c_step(Factor *f, double theta, int64_t s) noexcept nogil:
    """a(s + 1)/a(s)."""
    return (s + f.alpha) / (s + 1.0) * exp(theta + (fabs(f.noisy - s) - fabs(f.noisy - (s + 1))) / f.scale)


cdef inline int64_t c_walk(Factor *f, int64_t total, double theta, double eta, int side, double *out) noexcept nogil:
    """Sum over one side of the centre until what is left is below 1e-20; its size, or -1 to recentre."""
    cdef int64_t s = f.centre, d = 0
    cdef double q = 1.0, near, far, bound, lift, rise = exp(eta), fall = exp(-eta), a = 1.0, b = 1.0
    near = exp(side * theta + 1.0 / f.scale)  # towards the noisy count, and away from it
    far = exp(side * theta - 1.0 / f.scale)
    while True:
        if side > 0:
            if s >= total:
                break
            if s >= f.noisy:
                q *= (s + f.alpha) / (s + 1.0) * far
            elif s + 1 <= f.noisy:
                q *= (s + f.alpha) / (s + 1.0) * near
            else:
                q *= c_step(f, theta, s)
            s += 1
        else:
            if s <= 0:
                break
            if s <= f.noisy:
                q *= s / (s - 1.0 + f.alpha) * far
            elif s - 1 >= f.noisy:
                q *= s / (s - 1.0 + f.alpha) * near
            else:
                q /= c_step(f, theta, s - 1)
            s -= 1
        d += 1
        if q > 1e100:
            f.centre = s
            return -1
        a *= rise
        b *= fall
        if out != NULL:
            out[side * d] = q
        f.m0 += q
        f.m1 += side * d * q
        f.m2 += <double> d * d * q
        f.up += q * (a if side > 0 else b)
        f.down += q * (b if side > 0 else a)
        if q < 1e-20 * f.m0 and (s >= f.noisy if side > 0 else s <= f.noisy):
            lift = 1.0
            if side > 0:
                bound = far * ((s + f.alpha) / (s + 1.0) if f.alpha > 1 else 1.0)
            elif f.alpha >= 1:
                bound = far * s / (s - 1.0 + f.alpha)
            else:
                bound = far
                lift = exp((1 - f.alpha) * log(s + 1.0)) / f.alpha
            if bound < 1 and q * lift * bound / (1 - bound) < 1e-19 * f.m0:
                break
    return d


cdef inline void c_window(Factor *f, int64_t total, double theta, double eta) noexcept nogil:
    """The window and its sums; the centre moves to where the factor is not dwarfed."""
    cdef int64_t attempt
    for attempt in range(10000):
        f.m0, f.m1, f.m2, f.up, f.down = 1.0, 0.0, 0.0, 1.0, 1.0
        f.above = c_walk(f, total, theta, eta, 1, NULL)
        if f.above < 0:
            continue
        f.below = c_walk(f, total, theta, eta, -1, NULL)
        if f.below >= 0:
            return


cdef inline void c_fourier(double *z, int64_t n, const double *roots, int inverse) noexcept nogil:
    """Transform of n = 2^m complex numbers in place, without scaling; roots[span + r] = exp(-pi i r/span)."""
    cdef int64_t i, j = 0, bit, span, first, r
    cdef double xr, xi, wr, wi
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            xr, xi = z[2 * i], z[2 * i + 1]
            z[2 * i], z[2 * i + 1] = z[2 * j], z[2 * j + 1]
            z[2 * j], z[2 * j + 1] = xr, xi
    span = 1
    while span < n:
        first = 0
        while first < n:
            for r in range(span):
                wr = roots[2 * (span + r)]
                wi = -roots[2 * (span + r) + 1] if inverse else roots[2 * (span + r) + 1]
                i = 2 * (first + r)
                j = i + 2 * span
                xr = wr * z[j] - wi * z[j + 1]
                xi = wr * z[j + 1] + wi * z[j]
                z[j], z[j + 1] = z[i] - xr, z[i + 1] - xi
                z[i], z[i + 1] = z[i] + xr, z[i + 1] + xi
            first += 2 * span
        span *= 2


cdef inline double c_fraction(double a, double b, double x) noexcept nogil:
    """Continued fraction of the incomplete beta function (modified Lentz), for x < (a + 1)/(a + b + 2)."""
    cdef double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0), h, term, change
    cdef int64_t m
    d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
    h = d
    for m in range(1, 100000):
        term = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 + term * d
        c = 1.0 + term / c
        d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
        h *= d * c
        term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 + term * d
        c = 1.0 + term / (c if fabs(c) > 1e-300 else 1e-300)
        d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
        change = d * c
        h *= change
        if fabs(change - 1.0) < 1e-16:
            break
    return h


cdef inline double c_betainc(double a, double b, double x) noexcept nogil:
    """Regularised incomplete beta function I_x(a, b), 0 < x < 1."""
    cdef long double front
    front = expl(lgammal(<long double> a + b) - lgammal(a) - lgammal(b) + a * logl(x) + b * log1pl(-<long double> x))
    if x < (a + 1.0) / (a + b + 2.0):
        return <double> (front * c_fraction(a, b, x) / a)
    return <double> (1.0 - front * c_fraction(b, a, 1.0 - x) / b)


cdef struct Mixture:  # Beta(first + j, whole - first - j) with weights[j], j < size
    const double *weights
    const double *cumulative
    int64_t size, place  # place: the component D is computed at
    double first, whole
    long double constant


cdef inline void c_place(Mixture *m, int64_t place) noexcept nogil:
    m.place = 0 if place < 0 else (m.size - 1 if place > m.size - 1 else place)
    m.constant = lgammal(m.whole) - lgammal(<long double> m.first + m.place + 1)
    m.constant -= lgammal(<long double> m.whole - m.first - m.place)


cdef inline double c_cdf(Mixture *m, double x, double *density, double *bend) noexcept nogil:
    """P(X <= x), the density, and its logarithmic derivative.

    With a + b fixed, I_x(a, b) = I_x(a + 1, b - 1) + D(a), so the mixture is sum_j D(first + j) cumulative[j] plus one
    incomplete beta function: positive terms, each a ratio of the last.
    """
    cdef double a = m.first + m.place, odds = x / (1.0 - x), start, d, g, total = 0.0, p = 0.0, q = 0.0, ratio
    cdef int64_t j
    cdef bint ended = False
    if (x * m.whole - a) * (x * m.whole - a) > 100.0 * (1.0 + m.whole * x * (1.0 - x)):
        c_place(m, <int64_t> (x * m.whole - m.first))
        a = m.first + m.place
    start = <double> expl(m.constant + a * logl(x) + (m.whole - a - 1.0) * log1pl(-<long double> x))
    d = start
    for j in range(m.place, m.size):
        a = m.first + j
        g = m.weights[j] * a * d
        p += g
        q += g * a
        if j == m.size - 1:
            break
        total += d * m.cumulative[j]
        ratio = odds * (m.whole - a - 1.0) / (a + 1.0)
        d *= ratio
        if ratio < 0.95 and d < 1e-19 * total and d * (a + 1.0) < 1e-19 * p:
            ended = True
            break
    if not ended:
        a = m.first + (m.size - 1)
        total += c_betainc(a, m.whole - a, x)
    d = start
    for j in range(m.place - 1, -1, -1):
        a = m.first + j
        d *= (a + 1.0) / (odds * (m.whole - a - 1.0))
        g = m.weights[j] * a * d
        p += g
        q += g * a
        total += d * m.cumulative[j]
        if d * m.cumulative[j] * (j + 1.0) < 1e-19 * total and d * a * m.cumulative[j] * (j + 1.0) < 1e-19 * p:
            break
    density[0] = p / x
    bend[0] = (q / p - 1.0) / x - (m.whole - q / p - 1.0) / (1.0 - x) if p > 0 else 0.0
    return total


cdef inline double c_quantile(Mixture *m, double level, double normal, double mean, double sd) noexcept nogil:
    """x with P(X <= x) = level: Halley's steps inside a bracket, from a normal law on the scale of log(x/(1 - x))."""
    cdef double low = 0.0, high = 1.0, x, f, bend, excess, step, new, typical
    cdef int64_t iteration
    x = 1.0 / (1.0 + exp(-(log(mean / (1.0 - mean)) + normal * sd / (mean * (1.0 - mean)))))
    if not 0.0 < x < 1.0:
        x = mean
    for iteration in range(400):
        excess = c_cdf(m, x, &f, &bend) - level
        if excess > 0:
            high = x
        else:
            low = x
        typical = sd if sd < x else x
        new = -1.0
        if f > 0:
            step = excess / f
            new = 1.0 - 0.5 * step * bend
            new = x - step / (new if new > 0.5 else 0.5)
            if fabs(new - x) <= 1e-6 * typical and fabs(step * bend) < 1e-3 and 0.0 < new < 1.0:
                return new
        if not low < new < high:
            if low == 0.0:
                new = high * 1e-3
            elif high > 4 * low:
                new = sqrt(low * high)
            else:
                new = low + 0.5 * (high - low)
        if high - low <= 4e-16 * high or high < 1e-300:
            return new
        x = new
    return x


cdef inline void c_count(const Factor *f, const double *weights, int64_t width, double level, double mean,
                         double variance, double *out) noexcept nogil:
    """Mean, sd, lower and upper of one count from its normalised weights; ties within 1e-12, as in `_results.laws`."""
    cdef double tail = 0.5 * (1.0 - level), running = 0.0
    cdef int64_t low = 0, high = width - 1, first = f.centre - f.below
    while low < width - 1 and running + weights[low] < tail * (1.0 - 1e-12):
        running += weights[low]
        low += 1
    running = 0.0
    while high > 0 and running + weights[high] <= tail * (1.0 + 1e-12):
        running += weights[high]
        high -= 1
    out[0], out[1], out[2], out[3] = f.centre + mean, sqrt(variance), first + low, first + high
