# cython: language_level=3, cdivision=True, wraparound=False
"""Cross-entropy and accuracy of many naive Bayes models on the same test set."""
import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from .. import _checks


cdef inline void c_logits(const double *table, const int32_t *cells, Py_ssize_t columns, Py_ssize_t classes,
                          double *logits) noexcept nogil:
    """Add the log probabilities of one record's cells to `logits`; a negative cell adds nothing."""
    cdef Py_ssize_t k, j
    cdef const double *row
    for k in range(columns):
        if cells[k] >= 0:
            row = table + <int64_t> cells[k] * classes
            for j in range(classes):
                logits[j] += row[j]


cdef inline void c_logits_of_two(const double *table, const int32_t *cells, Py_ssize_t columns,
                                 double *logits) noexcept nogil:
    """`c_logits` for two classes: the sums stay in registers, in the same order."""
    cdef Py_ssize_t k
    cdef double first = logits[0], second = logits[1]
    for k in range(columns):
        if cells[k] >= 0:
            first += table[2 * cells[k]]
            second += table[2 * cells[k] + 1]
    logits[0] = first
    logits[1] = second


cdef inline double c_log_share(const double *logits, Py_ssize_t classes, Py_ssize_t label, double cap) noexcept nogil:
    """log(p + cap) for the probability p that the logits give `label`; equal shares where all of them are -inf."""
    cdef Py_ssize_t j
    cdef double top = logits[0], total = 0.0
    for j in range(1, classes):
        if logits[j] > top:
            top = logits[j]
    if top == -INFINITY:
        return log(1.0 / classes + cap)
    for j in range(classes):
        total += exp(logits[j] - top)
    if cap > 0.0:
        return log(exp(logits[label] - top) / total + cap)
    return logits[label] - top - log(total)


cdef void scores_fill(const double[:, ::1] priors, const double[:, :, ::1] tables, const int32_t[:, ::1] cells,
                      const int32_t[::1] labels, double cap, double[:, ::1] out, double *logits) noexcept nogil:
    cdef Py_ssize_t m, i, j, right, classes = priors.shape[1], columns = cells.shape[1], n = cells.shape[0]
    cdef double loss
    for m in range(out.shape[0]):
        loss = 0.0
        right = 0
        for i in range(n):
            for j in range(classes):
                logits[j] = priors[m, j]
            if classes == 2:
                c_logits_of_two(&tables[m, 0, 0], &cells[i, 0], columns, logits)
            else:
                c_logits(&tables[m, 0, 0], &cells[i, 0], columns, classes, logits)
            loss -= c_log_share(logits, classes, labels[i], cap)
            for j in range(classes):
                if logits[j] > logits[labels[i]]:
                    break
            else:
                right += 1
        out[m, 0] = loss / n
        out[m, 1] = <double> right / n


def scores(priors, tables, cells, labels, *, cap=0.0):
    """Mean cross-entropy -log(p + cap) and accuracy of every model.

    Parameters
    ----------
    priors : float64 (models, classes), log weights of the classes.
    tables : float64 (models, cells, classes), log weight of every (column, category) cell for every class.
    cells : int32 (n, columns), the cells of every test record; -1 adds nothing.
    labels : int32 (n,), true classes.
    cap : >= 0 and small, added to the probability; 1e-20 is the published protocol's, 0 the plain cross-entropy.

    Returns
    -------
    float64 (models, 2): cross-entropy in nats, and the share of records whose label has the largest weight (a tie
        counts).

    Raises
    ------
    ValueError, TypeError
        If shapes or dtypes differ, the test set is empty, a weight is NaN or +inf, or a cell or label is out of range.

    Notes
    -----
    O(models n columns classes) additions, O(classes) working memory. Weights need not be normalised; -inf is the weight
    of what cannot be, and a record that no class allows counts as equally shared. Law: Ponnoprat (2022), section 5.1.
    """
    priors, tables = _weights("priors", priors, 2), _weights("tables", tables, 3)
    cells, labels = _indices("cells", cells, 2), _indices("labels", labels, 1)
    cap = _checks.number("cap", cap)
    if cap < 0:
        raise ValueError(f"cap must be >= 0, got {cap}")
    models, size, classes = tables.shape
    if priors.shape != (models, classes) or len(cells) != len(labels) or min(cells.shape[1], size, classes) < 1:
        raise ValueError(f"priors {priors.shape}, tables {tables.shape}, cells {cells.shape} and labels "
                         f"{labels.shape} do not fit together")
    if not len(labels):
        raise ValueError("labels must not be empty")
    if labels.min() < 0 or labels.max() >= classes:
        raise ValueError(f"labels must lie in [0, {classes}), got {labels.min()} .. {labels.max()}")
    if cells.min() < -1 or cells.max() >= size:
        raise ValueError(f"cells must lie in [-1, {size}), got {cells.min()} .. {cells.max()}")
    cdef const double[:, ::1] priors_view = priors
    cdef const double[:, :, ::1] tables_view = tables
    cdef const int32_t[:, ::1] cells_view = np.ascontiguousarray(cells, dtype=np.int32)
    cdef const int32_t[::1] labels_view = np.ascontiguousarray(labels, dtype=np.int32)
    out = np.empty((models, 2))
    cdef double[:, ::1] view = out
    cdef double add = cap
    cdef double *logits = <double *> malloc(classes * sizeof(double))
    if logits == NULL:
        raise MemoryError(f"no memory for {classes} classes")
    with nogil:
        scores_fill(priors_view, tables_view, cells_view, labels_view, add, view, logits)
    free(logits)
    return out


def _weights(name, values, dimensions):
    """Float64 weights in C order, of the right dimension, none of them NaN or +inf."""
    found = np.asarray(values)
    if found.dtype.kind not in "iuf" or found.ndim != dimensions:
        raise TypeError(f"{name} must be numbers in {dimensions} dimensions, got {found.dtype} of shape {found.shape}")
    found = np.ascontiguousarray(found, dtype=np.float64)
    if found.size and not found.max() < np.inf:  # a NaN is its own maximum
        raise ValueError(f"{name} must not hold NaN or +inf, got {found.max()}")
    return found


def _indices(name, values, dimensions):
    """Whole numbers of the right dimension."""
    found = np.asarray(values)
    if found.dtype.kind not in "iu" or found.ndim != dimensions:
        got = f"{found.dtype} of shape {found.shape}"
        raise TypeError(f"{name} must be whole numbers in {dimensions} dimensions, got {got}")
    return found
