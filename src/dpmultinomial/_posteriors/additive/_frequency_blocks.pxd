# cython: language_level=3, cdivision=True, wraparound=False
"""Blocks of frequencies: products of complex numbers, and one column of a term (see frequency_products.pyx)."""
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #define BLOCK 32
    #define PAIR 64  /* BLOCK real parts, then BLOCK imaginary parts */
    #if defined(_MSC_VER)
    #define ALONE __restrict
    #else
    #define ALONE __restrict__
    #endif
    /* out = a b, out += a b, out += weight a, out = weight a, out = a, out = value: out overlaps no input */
    static inline void c_times(const double *ALONE a, const double *ALONE b, double *ALONE out) {
        for (int k = 0; k < BLOCK; k++) {
            double re = a[k] * b[k] - a[k + BLOCK] * b[k + BLOCK];
            out[k + BLOCK] = a[k] * b[k + BLOCK] + a[k + BLOCK] * b[k];
            out[k] = re;
        }
    }
    static inline void c_add_times(const double *ALONE a, const double *ALONE b, double *ALONE out) {
        for (int k = 0; k < BLOCK; k++) {
            out[k] += a[k] * b[k] - a[k + BLOCK] * b[k + BLOCK];
            out[k + BLOCK] += a[k] * b[k + BLOCK] + a[k + BLOCK] * b[k];
        }
    }
    static inline void c_add_scaled(double weight, const double *ALONE a, double *ALONE out) {
        for (int k = 0; k < PAIR; k++) out[k] += weight * a[k];
    }
    static inline void c_scaled(double weight, const double *ALONE a, double *ALONE out) {
        for (int k = 0; k < PAIR; k++) out[k] = weight * a[k];
    }
    static inline void c_copy(const double *ALONE a, double *ALONE out) {
        for (int k = 0; k < PAIR; k++) out[k] = a[k];
    }
    static inline void c_fill(double value, double *ALONE out) {
        for (int k = 0; k < BLOCK; k++) { out[k] = value; out[k + BLOCK] = 0.0; }
    }
    """
    const int BLOCK
    const int PAIR
    void c_times(const double *a, const double *b, double *out) noexcept nogil
    void c_add_times(const double *a, const double *b, double *out) noexcept nogil
    void c_add_scaled(double weight, const double *a, double *out) noexcept nogil
    void c_scaled(double weight, const double *a, double *out) noexcept nogil
    void c_copy(const double *a, double *out) noexcept nogil
    void c_fill(double value, double *out) noexcept nogil


cdef inline void c_power(const double *a, int64_t n, double *out, double *square, double *spare) noexcept nogil:
    """out = a^n by repeated squaring."""
    if n <= 0:
        c_fill(1.0, out)
        return
    if n == 1:
        c_copy(a, out)
        return
    if n == 2:
        c_times(a, a, out)
        return
    c_fill(1.0, out)
    c_copy(a, square)
    while True:
        if n & 1:
            c_times(out, square, spare)
            c_copy(spare, out)
        n >>= 1
        if n == 0:
            return
        c_times(square, square, spare)
        c_copy(spare, square)


cdef inline void c_load(const double complex *row, int count, double *out) noexcept nogil:
    cdef int k
    for k in range(count):
        out[k] = row[k].real
        out[k + BLOCK] = row[k].imag
    for k in range(count, BLOCK):
        out[k] = out[k + BLOCK] = 0.0


cdef inline void c_add_row(double complex[:, ::1] out, int64_t row, Py_ssize_t start, int count,
                           const double *a) noexcept nogil:
    """The conjugate is stored: its inverse transform runs forwards."""
    cdef int k
    cdef double *place
    if row < 0:
        return
    place = <double *> &out[row, start]
    for k in range(count):
        place[2 * k] += a[k]
        place[2 * k + 1] -= a[k + BLOCK]


cdef struct Columns:
    # one block of PAIR doubles a column, in one piece of memory each
    double *early
    double *late
    double *gain
    double *slope     # E^(m - 1)
    double *slope2    # E^(m - 2), of claimed columns that repeat
    double *held      # adjoint of a column that has not changed since `row`
    double *rest_late  # suffix products prod L
    double *rest_gain  # suffix sums with the distinguished one still to come


cdef inline void c_release(Columns *c, int64_t u, int64_t *row, double complex[:, ::1] adjoints, Py_ssize_t start,
                           int count, double *spare) noexcept nogil:
    """Add what column u has collected to its row."""
    if row[u] >= 0:
        c_times(c.held + u * PAIR, c.slope + u * PAIR, spare)
        c_add_row(adjoints, row[u], start, count, spare)
    row[u] = -1


cdef inline void c_clear_column(Columns *c, int64_t u, int64_t repeats, const double complex *spectrum, int count,
                                double *work) noexcept nogil:
    cdef double *value = work
    c_load(spectrum, count, value)
    c_power(value, repeats - 1, c.slope + u * PAIR, work + PAIR, work + 2 * PAIR)
    c_times(c.slope + u * PAIR, value, c.early + u * PAIR)
    c_fill(0.0, c.held + u * PAIR)


cdef inline void c_claimed_column(Columns *c, int64_t u, int64_t repeats, const double complex[:, ::1] spectra,
                                  int64_t clear, int64_t got, int64_t lost, double e, double l, Py_ssize_t start,
                                  int count, double *work) noexcept nogil:
    """early, late and gain of a column that may be distinguished; `slope` and `slope2` if it repeats."""
    cdef double *value = work
    cdef double *part = work + PAIR
    c_fill(0.0, c.early + u * PAIR)
    if clear >= 0:
        c_load(&spectra[clear, start], count, c.early + u * PAIR)
    if repeats == 1:
        c_copy(c.early + u * PAIR, c.late + u * PAIR)
    c_fill(0.0, c.gain + u * PAIR)
    if got >= 0:
        c_load(&spectra[got, start], count, c.gain + u * PAIR)
        c_add_scaled(e, c.gain + u * PAIR, c.early + u * PAIR)
        if repeats == 1:
            c_add_scaled(l, c.gain + u * PAIR, c.late + u * PAIR)
    if lost >= 0:
        c_load(&spectra[lost, start], count, part)
        c_add_scaled(1.0 - e, part, c.early + u * PAIR)
        if repeats == 1:
            c_add_scaled(1.0 - l, part, c.late + u * PAIR)
    if repeats > 1:
        c_copy(c.early + u * PAIR, value)
        c_power(value, repeats - 2, c.slope2 + u * PAIR, part, work + 2 * PAIR)
        c_times(c.slope2 + u * PAIR, value, c.slope + u * PAIR)
        c_times(c.slope + u * PAIR, value, c.early + u * PAIR)
        c_copy(c.early + u * PAIR, c.late + u * PAIR)
        if got >= 0:
            c_scaled(<double> repeats, c.gain + u * PAIR, part)
            c_times(part, c.slope + u * PAIR, c.gain + u * PAIR)


cdef inline void c_claimed_adjoint(Columns *c, int64_t u, int64_t repeats, const double complex[:, ::1] spectra,
                                   int64_t clear, int64_t got, int64_t lost, double e, double l, Py_ssize_t start,
                                   int count, double *before, double *after, double *moved,
                                   double complex[:, ::1] adjoints, double *work) noexcept nogil:
    """before, after, moved: adjoints of E, L and G of the column; passed on to its rows, for one of its components."""
    cdef double *part = work
    cdef double *spare = work + PAIR
    if repeats > 1:
        c_add_scaled(1.0, after, before)
        c_times(before, c.slope + u * PAIR, part)
        if got >= 0:
            c_load(&spectra[got, start], count, spare)
            c_times(spare, c.slope2 + u * PAIR, after)
            c_scaled(<double> (repeats - 1), after, spare)
            c_add_times(spare, moved, part)
        c_times(moved, c.slope + u * PAIR, spare)
        c_copy(spare, moved)
        c_copy(part, before)
        c_fill(0.0, after)
    if clear >= 0:
        c_copy(before, part)
        c_add_scaled(1.0, after, part)
        c_add_row(adjoints, clear, start, count, part)
    if got >= 0:
        c_scaled(e, before, part)
        c_add_scaled(l, after, part)
        c_add_scaled(1.0, moved, part)
        c_add_row(adjoints, got, start, count, part)
    if lost >= 0:
        c_scaled(1.0 - e, before, part)
        c_add_scaled(1.0 - l, after, part)
        c_add_row(adjoints, lost, start, count, part)


cdef inline void c_suffixes(Columns *c, Py_ssize_t size, const int64_t *split, Py_ssize_t first, Py_ssize_t last,
                            bint plain) noexcept nogil:
    """rest_late[u] = prod_{s >= u} L_s for u > first, rest_gain[u] = the distinguished one among s >= u, for u <= last.

    Plain terms: rest_gain[u] = prod_{s >= u} E_s.
    """
    cdef Py_ssize_t u, v
    cdef double *late
    c_fill(1.0, c.rest_late + size * PAIR)
    c_fill(1.0 if plain else 0.0, c.rest_gain + (last + 1) * PAIR)
    for v in range(size):
        u = size - 1 - v
        if not plain and u > first:
            late = c.late + u * PAIR if split[u] else c.early + u * PAIR
            c_times(late, c.rest_late + (u + 1) * PAIR, c.rest_late + u * PAIR)
        if u <= last:
            if u == last and not plain:
                c_times(c.gain + u * PAIR, c.rest_late + (u + 1) * PAIR, c.rest_gain + u * PAIR)
                continue
            c_times(c.early + u * PAIR, c.rest_gain + (u + 1) * PAIR, c.rest_gain + u * PAIR)
            if split[u]:
                c_add_times(c.gain + u * PAIR, c.rest_late + (u + 1) * PAIR, c.rest_gain + u * PAIR)
