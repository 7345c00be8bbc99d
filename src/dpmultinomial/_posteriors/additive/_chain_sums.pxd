# cython: language_level=3, cdivision=True, wraparound=False
"""Forward and backward sums of a chain of counts over their partial sums: the loops of `_sum_chain`."""
from libc.math cimport log
from libc.stdint cimport int64_t


cdef extern from *:
    """
    #define CHAIN_TRIM 1e-24  /* partial sums below this share of the largest are neglected */
    """
    const double TRIM "CHAIN_TRIM"


cdef inline void c_move(const double *source, const double *h, double *out, int64_t n, int64_t w, int64_t shift,
                        int64_t length, bint back) noexcept nogil:
    """out[c + x - shift] += h[x] source[c] wherever that lies in 0..length - 1; `back`: the same transposed."""
    cdef int64_t x, c, low, high, to, of
    cdef double weight
    for x in range(w):
        weight = h[x]
        if weight == 0.0:
            continue
        low = shift - x if shift > x else 0
        high = length + shift - x if length + shift - x < n else n
        to = 0 if back else x - shift
        of = x - shift if back else 0
        for c in range(low, high):
            out[c + to] += weight * source[c + of]


cdef inline void c_marginal(const double *a, const double *b, const double *h, double *out, int64_t n, int64_t w,
                            int64_t shift, int64_t length) noexcept nogil:
    """out[x] += h[x] sum_c a[c] b[c + x - shift], four running sums at a time."""
    cdef int64_t x, c, low, high
    cdef double s0, s1, s2, s3
    for x in range(w):
        if h[x] == 0.0:
            continue
        low = shift - x if shift > x else 0
        high = length + shift - x if length + shift - x < n else n
        s0 = s1 = s2 = s3 = 0.0
        c = low
        while c + 3 < high:
            s0 += a[c] * b[c + x - shift]
            s1 += a[c + 1] * b[c + x - shift + 1]
            s2 += a[c + 2] * b[c + x - shift + 2]
            s3 += a[c + 3] * b[c + x - shift + 3]
            c += 4
        while c < high:
            s0 += a[c] * b[c + x - shift]
            c += 1
        out[x] += h[x] * ((s0 + s1) + (s2 + s3))


cdef inline double c_rescale(double[:, :, ::1] table, Py_ssize_t i, int64_t length) noexcept nogil:
    """Divide both states of step i by their largest entry; returns its log."""
    cdef double largest = 0.0
    cdef int64_t c
    cdef Py_ssize_t state
    for state in range(table.shape[1]):
        for c in range(length):
            if table[i, state, c] > largest:
                largest = table[i, state, c]
    if largest > 0.0:
        for state in range(table.shape[1]):
            for c in range(length):
                table[i, state, c] /= largest
        return log(largest)
    return 0.0


cdef inline void c_forward(const double[:, :, ::1] h, double[:, :, ::1] table, int64_t[::1] begin,
                           int64_t[::1] length, double *scale) noexcept nogil:
    """table[i, state, c]: weight of the first i components adding up to begin[i] + c; ranges shrink to what matters."""
    cdef Py_ssize_t i, states = table.shape[1], size = h.shape[1]
    cdef int64_t w = h.shape[2], shift, lead, c, n
    scale[0] = 0.0
    for i in range(size):
        n = length[i + 1]
        shift = begin[i + 1] - begin[i]
        for c in range(n):
            table[i + 1, 0, c] = 0.0
            table[i + 1, states - 1, c] = 0.0
        c_move(&table[i, 0, 0], &h[0, i, 0], &table[i + 1, 0, 0], length[i], w, shift, n, False)
        if states == 2:
            c_move(&table[i, 0, 0], &h[1, i, 0], &table[i + 1, 1, 0], length[i], w, shift, n, False)
            c_move(&table[i, 1, 0], &h[2, i, 0], &table[i + 1, 1, 0], length[i], w, shift, n, False)
        scale[0] += c_rescale(table, i + 1, n)
        if i + 1 < size:
            while n > 1 and table[i + 1, 0, n - 1] < TRIM and table[i + 1, states - 1, n - 1] < TRIM:
                n -= 1
            lead = 0
            while lead < n - 1 and table[i + 1, 0, lead] < TRIM and table[i + 1, states - 1, lead] < TRIM:
                lead += 1
            if lead:
                for c in range(n - lead):
                    table[i + 1, 0, c] = table[i + 1, 0, c + lead]
                    if states == 2:
                        table[i + 1, 1, c] = table[i + 1, 1, c + lead]
            begin[i + 1] += lead
            length[i + 1] = n - lead


cdef inline void c_backward(const double[:, :, ::1] h, double[:, :, ::1] table, const int64_t[::1] begin,
                            const int64_t[::1] length, double[:, ::1] marginals, double[:, ::1] spare) noexcept nogil:
    """Replace every step of `table` by the weights of what follows; the marginals need both, they come on the way."""
    cdef Py_ssize_t i, states = table.shape[1], size = h.shape[1], state
    cdef int64_t w = h.shape[2], shift, c, n, m
    for i in range(size - 1, -1, -1):
        n, m = length[i], length[i + 1]
        shift = begin[i + 1] - begin[i]
        c_marginal(&table[i, 0, 0], &table[i + 1, 0, 0], &h[0, i, 0], &marginals[i, 0], n, w, shift, m)
        for c in range(n):
            spare[0, c] = 0.0
            spare[states - 1, c] = 0.0
        c_move(&table[i + 1, 0, 0], &h[0, i, 0], &spare[0, 0], n, w, shift, m, True)
        if states == 2:
            c_marginal(&table[i, 0, 0], &table[i + 1, 1, 0], &h[1, i, 0], &marginals[i, 0], n, w, shift, m)
            c_marginal(&table[i, 1, 0], &table[i + 1, 1, 0], &h[2, i, 0], &marginals[i, 0], n, w, shift, m)
            c_move(&table[i + 1, 1, 0], &h[1, i, 0], &spare[0, 0], n, w, shift, m, True)
            c_move(&table[i + 1, 1, 0], &h[2, i, 0], &spare[1, 0], n, w, shift, m, True)
        for state in range(states):
            for c in range(n):
                table[i, state, c] = spare[state, c]
        c_rescale(table, i, n)
