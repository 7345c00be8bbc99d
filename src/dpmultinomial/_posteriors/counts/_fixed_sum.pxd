# cython: language_level=3, cdivision=True, wraparound=False
"""Inline routines shared by the kernels for independent counts conditioned on their sum (see fixed_sum.pyx)."""
from libc.math cimport exp, fabs, isfinite, sqrt


cdef inline void c_tilted(const double[:, ::1] logs, const double *slopes, double theta, double[:, ::1] factors,
                          double *mean, double *variance) noexcept nogil:
    """factors[i, s] = exp(logs[i, s] + (slopes[i] + theta) s), rows scaled to maximum 1; moments of the free sum."""
    cdef Py_ssize_t i, s, k = logs.shape[0], n = logs.shape[1]
    cdef double largest, value, slope, m0, m1, m2
    mean[0] = 0.0
    variance[0] = 0.0
    for i in range(k):
        slope = slopes[i] + theta
        largest = logs[i, 0]
        for s in range(1, n):
            value = logs[i, s] + slope * s
            if value > largest:
                largest = value
        m0 = m1 = m2 = 0.0
        for s in range(n):
            value = exp(logs[i, s] + slope * s - largest)
            factors[i, s] = value
            m0 += value
            m1 += value * s
            m2 += value * s * s
        m1 /= m0
        mean[0] += m1
        variance[0] += m2 / m0 - m1 * m1


cdef inline double c_tilt(const double[:, ::1] logs, const double *slopes, double start,
                          double[:, ::1] factors) noexcept nogil:
    """Fill factors with a tilt theta whose free sum has its mean within one standard deviation of the total.

    Safeguarded Newton from `start`; the mean rises with theta. The tilt cancels in the conditional law, so a coarse
    solution is as good as a fine one: it only has to keep the sums of products away from underflow.
    """
    cdef double total = <double> (logs.shape[1] - 1), theta = start, low = -1e300, high = 1e300, step = 1.0
    cdef double mean, variance, gap, proposal
    cdef int iteration
    for iteration in range(2000):
        c_tilted(logs, slopes, theta, factors, &mean, &variance)
        gap = total - mean
        if fabs(gap) <= 0.5 or gap * gap <= variance:
            break
        if gap > 0:
            low = theta
        else:
            high = theta
        proposal = theta + gap / variance if variance > 1e-12 else theta
        if low > -1e299 and high < 1e299:
            if not (low < proposal < high) or iteration > 20:
                proposal = low + 0.5 * (high - low)
        elif not (fabs(proposal - theta) > 0 and fabs(proposal - theta) <= step):
            proposal = theta + step if gap > 0 else theta - step
            step *= 2.0
        if proposal == theta:
            break
        theta = proposal
    return theta


cdef inline void c_convolve(const double *a, const double *b, double *out, Py_ssize_t n) noexcept nogil:
    """out[t] = sum_s a[s] b[t - s] for t < n, four terms at a time (an order of summation that vectorises)."""
    cdef Py_ssize_t s = 0, t
    cdef double w0, w1, w2, w3
    for t in range(n):
        out[t] = 0.0
    while s + 3 < n:
        w0, w1, w2, w3 = a[s], a[s + 1], a[s + 2], a[s + 3]
        if w0 + w1 + w2 + w3 > 0.0:
            out[s] += w0 * b[0]
            out[s + 1] += w0 * b[1] + w1 * b[0]
            out[s + 2] += w0 * b[2] + w1 * b[1] + w2 * b[0]
            for t in range(s + 3, n):
                out[t] += (w0 * b[t - s] + w1 * b[t - s - 1]) + (w2 * b[t - s - 2] + w3 * b[t - s - 3])
        s += 4
    while s < n:
        w0 = a[s]
        for t in range(s, n):
            out[t] += w0 * b[t - s]
        s += 1


cdef inline void c_suffix(const double[:, ::1] factors, double[:, ::1] suffix) noexcept nogil:
    """suffix[i, t]: weight of all counts i, .., k - 1 adding up to t (row 0 only at the full total)."""
    cdef Py_ssize_t k = factors.shape[0], n = factors.shape[1], i, s
    for s in range(n):
        suffix[k - 1, s] = factors[k - 1, s]
    for i in range(k - 2, 0, -1):
        c_convolve(&factors[i, 0], &suffix[i + 1, 0], &suffix[i, 0], n)
    suffix[0, n - 1] = 0.0
    for s in range(n):
        suffix[0, n - 1] += factors[0, s] * suffix[1, n - 1 - s]
