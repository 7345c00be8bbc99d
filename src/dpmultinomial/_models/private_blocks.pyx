# cython: language_level=3, cdivision=True, wraparound=False
"""Private releases of many histograms for many privacy levels and repetitions, and scores of the naive Bayes models
that are built from these releases.

`release` draws the log probabilities of all blocks; `scores` computes the cross-entropy and the accuracy of many naive
Bayes models, whose tables are such blocks, on one test set.
"""
import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_laplace, random_standard_gamma, random_standard_normal

from .._kernels.bitgen cimport c_bitgen

from .. import _checks

LAWS = ("dirichlet", "gaussian", "laplace")


cdef inline double c_release(bitgen_t *bits, int law, double count, double scale, double alpha) noexcept nogil:
    """Draw the value of one cell before normalisation: a gamma draw with shape scale*count + alpha, or the count plus
    noise.
    """
    if law == 0:
        return random_standard_gamma(bits, scale * count + alpha)
    if law == 1:
        return count + scale * random_standard_normal(bits)
    return count + random_laplace(bits, 0.0, scale)


cdef inline void c_log_shares(double *x, Py_ssize_t size, double floor, bint normalise) noexcept nogil:
    """Replace the values x of a block by log(max(x, floor)), minus the log of their total if `normalise` is true."""
    cdef Py_ssize_t i
    cdef double total = 0.0, shift = 0.0
    # raise cells to the floor and compute their sum
    for i in range(size):
        if x[i] < floor:
            x[i] = floor
        total += x[i]
    if normalise:
        shift = log(total)
    for i in range(size):
        x[i] = log(x[i]) - shift


cdef void private_blocks_fill(const double[::1] counts, const int64_t[::1] starts, int law, const double[::1] scale,
                              const double[::1] alpha, const double[::1] floors, bint normalise,
                              double[:, ::1] out, bitgen_t *bits) noexcept nogil:
    cdef Py_ssize_t m, i, b
    for m in range(out.shape[0]):
        # one draw per cell, then convert each block to log probabilities
        for i in range(counts.shape[0]):
            out[m, i] = c_release(bits, law, counts[i], scale[m], alpha[m])
        for b in range(starts.shape[0] - 1):
            c_log_shares(&out[m, starts[b]], starts[b + 1] - starts[b], floors[m], normalise)


def release(counts, starts, *, law, scale, alpha=None, floors=None, normalise=True, rng):
    """Draw private releases of several histograms: the log probabilities of every block of `counts`, once per entry of
    `scale`.

    Parameters
    ----------
    counts : float64 (cells,), the concatenated histograms, finite and >= 0; at least one cell.
    starts : int64 (blocks + 1,), increasing from 0 to cells; every block is a separate, non-empty histogram.
    law : ``"dirichlet"`` (gamma shape scale*count + alpha), ``"gaussian"`` (standard deviation scale) or ``"laplace"``
        (Laplace scale).
    scale, alpha : float64 (releases,), > 0; `alpha` is used only for the Dirichlet distribution.
    floors : float64 (releases,), >= 0: smaller released cells are increased to the floor before normalisation. None: 0
        for the Dirichlet distribution; additive noise requires a floor, because the log of a negative count is not
        defined.
    normalise : if False, log(max(cell, floor)) is returned without normalisation.
    rng : numpy Generator; one standard gamma, normal or Laplace draw per cell, release by release.

    Returns
    -------
    float64 (releases, cells)

    Raises
    ------
    ValueError, TypeError
        For an unknown distribution, an array out of shape or range, or a missing or zero floor with additive noise.

    Notes
    -----
    A Dirichlet cell whose gamma draw underflows (shape below about 0.01) has log probability -inf. Source: Ponnoprat
    (2022), Algorithm 1 and section 5. The cost is releases * cells draws, without memory other than the result.
    """
    kind = LAWS.index(_checks.one_of("law", law, LAWS))
    _checks.generator(rng)
    counts = _checks.reals("counts", counts)
    if counts.min() < 0:
        raise ValueError(f"counts must be >= 0, got {counts.min()}")
    scale = _checks.positives("scale", scale, np.size(scale))
    releases = len(scale)
    alpha = np.ones(releases) if alpha is None else _checks.positives("alpha", alpha, releases)
    largest = float(scale.max(initial=0.0)) * float(counts.max()) + float(alpha.max(initial=0.0))
    if kind == 0 and not np.isfinite(largest):
        raise ValueError(f"scale * counts + alpha must be finite, got scale {scale.max()} and count {counts.max()}")
    floors = _floors(floors, releases, kind != 0)
    starts = _starts(starts, len(counts))
    cdef const double[::1] counts_view = counts, scale_view = scale, alpha_view = alpha, floors_view = floors
    cdef const int64_t[::1] starts_view = starts
    out = np.empty((releases, len(counts)))
    cdef double[:, ::1] view = out
    cdef bitgen_t *bits = c_bitgen(rng)
    cdef bint scaled = bool(normalise)
    cdef int law_number = kind
    with rng.bit_generator.lock, nogil:
        private_blocks_fill(counts_view, starts_view, law_number, scale_view, alpha_view, floors_view, scaled,
                            view, bits)
    return out


def _floors(floors, releases, additive):
    """Check the floors of the noisy counts, one per release: they must be > 0 with additive noise, and
    otherwise >= 0.
    """
    if floors is None:
        if additive:
            raise ValueError("floors must be given with additive noise, got None")
        return np.zeros(releases)
    if additive:
        return _checks.positives("floors", floors, releases)
    array = _checks.reals("floors", np.full(releases, floors) if np.ndim(floors) == 0 else floors, least_size=releases)
    if len(array) != releases or array.min(initial=0.0) < 0:
        least = array.min(initial=0.0)
        raise ValueError(f"floors must contain {releases} numbers >= 0, got {len(array)} numbers with the minimum "
                         f"{least}")
    return array


def _starts(starts, cells):
    """Check the first positions of the blocks, which must increase strictly from 0 to `cells`, and return them as
    int64.
    """
    borders = np.asarray(starts)
    if borders.dtype.kind not in "iu" or borders.ndim != 1:
        raise TypeError(f"starts must be one-dimensional integers, got dtype {borders.dtype} and shape {borders.shape}")
    borders = borders.astype(np.int64)
    if len(borders) < 2 or borders[0] != 0 or borders[len(borders) - 1] != cells or np.diff(borders).min() <= 0:
        least, largest = borders.min(initial=cells), borders.max(initial=0)
        raise ValueError(f"starts must increase from 0 to {cells}, got {len(borders)} values from {least} to {largest}")
    return borders


# Scores of naive Bayes models.

cdef inline void c_logits(const double *table, const int32_t *cells, Py_ssize_t columns, Py_ssize_t classes,
                          double *logits) noexcept nogil:
    """Add the log probabilities of the cells of one record to `logits`. A negative cell number adds nothing."""
    cdef Py_ssize_t k, j
    cdef const double *row
    for k in range(columns):
        if cells[k] >= 0:
            row = table + <int64_t> cells[k] * classes
            for j in range(classes):
                logits[j] += row[j]


cdef inline void c_logits_of_two(const double *table, const int32_t *cells, Py_ssize_t columns,
                                 double *logits) noexcept nogil:
    """Add the log probabilities of the cells of one record to the logits of two classes, in the same order as
    `c_logits` but with the sums in registers.
    """
    cdef Py_ssize_t k
    cdef double first = logits[0], second = logits[1]
    for k in range(columns):
        if cells[k] >= 0:
            first += table[2 * cells[k]]
            second += table[2 * cells[k] + 1]
    logits[0] = first
    logits[1] = second


cdef inline double c_log_share(const double *logits, Py_ssize_t classes, Py_ssize_t label, double cap) noexcept nogil:
    """Return log(p + cap) for the probability p of the class `label` given the logits. All classes are equally probable
    if all logits are -inf.
    """
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
            # logit of class j: log prior plus the log probabilities of the record's cells
            for j in range(classes):
                logits[j] = priors[m, j]
            if classes == 2:
                c_logits_of_two(&tables[m, 0, 0], &cells[i, 0], columns, logits)
            else:
                c_logits(&tables[m, 0, 0], &cells[i, 0], columns, classes, logits)
            # cross-entropy, and whether the label has the largest logit
            loss -= c_log_share(logits, classes, labels[i], cap)
            for j in range(classes):
                if logits[j] > logits[labels[i]]:
                    break
            else:
                right += 1
        out[m, 0] = loss / n
        out[m, 1] = <double> right / n


def scores(priors, tables, cells, labels, *, cap=0.0):
    """Return the mean cross-entropy -log(p + cap) and the accuracy of every naive Bayes model on a test set.

    Parameters
    ----------
    priors : float64 (models, classes), log weights of the classes.
    tables : float64 (models, cells, classes), log weight of every (column, category) cell for every class.
    cells : int32 (n, columns), the cells of every test record; -1 contributes nothing.
    labels : int32 (n,), true classes.
    cap : >= 0 and small, added to the probability; 1e-20 as in the published protocol, 0 for the usual cross-entropy.

    Returns
    -------
    float64 (models, 2): cross-entropy in nats, and the share of records whose label has the largest weight (including
        ties).

    Raises
    ------
    ValueError, TypeError
        If shapes or dtypes are wrong, the test set is empty, a weight is NaN or +inf, or a cell or label is invalid.

    Notes
    -----
    The cost is O(models n columns classes) additions, O(classes) working memory. Weights need not be normalised. A
    weight of -inf denotes an impossible category; a record that is impossible in every class gets equal probabilities.
    Source: Ponnoprat (2022), section 5.1.
    """
    priors, tables = _weights("priors", priors, 2), _weights("tables", tables, 3)
    cells, labels = _indices("cells", cells, 2), _indices("labels", labels, 1)
    cap = _checks.number("cap", cap)
    if cap < 0:
        raise ValueError(f"cap must be >= 0, got {cap}")
    models, size, classes = tables.shape
    if priors.shape != (models, classes) or len(cells) != len(labels) or min(cells.shape[1], size, classes) < 1:
        raise ValueError(f"priors, tables, cells and labels must have consistent shapes, got {priors.shape}, "
                         f"{tables.shape}, {cells.shape} and {labels.shape}")
    if not len(labels):
        raise ValueError("labels must contain at least one label, got none")
    if labels.min() < 0 or labels.max() >= classes:
        raise ValueError(f"labels must lie in [0, {classes}), got values from {labels.min()} to {labels.max()}")
    if cells.min() < -1 or cells.max() >= size:
        raise ValueError(f"cells must lie in [-1, {size}), got values from {cells.min()} to {cells.max()}")
    cdef const double[:, ::1] priors_view = priors
    cdef const double[:, :, ::1] tables_view = tables
    cdef const int32_t[:, ::1] cells_view = np.ascontiguousarray(cells, dtype=np.int32)
    cdef const int32_t[::1] labels_view = np.ascontiguousarray(labels, dtype=np.int32)
    out = np.empty((models, 2))
    cdef double[:, ::1] view = out
    cdef double add = cap
    cdef double *logits = <double *> malloc(classes * sizeof(double))
    if logits == NULL:
        raise MemoryError(f"the scores of {classes} classes do not fit into memory: use fewer classes")
    with nogil:
        scores_fill(priors_view, tables_view, cells_view, labels_view, add, view, logits)
    free(logits)
    return out


def _weights(name, values, dimensions):
    """Check that weights have the right dimension and no NaN or +inf, and return them as float64 in C order."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or array.ndim != dimensions:
        raise TypeError(f"{name} must have {dimensions} dimensions and contain numbers, got dtype {array.dtype} and "
                        f"shape {array.shape}")
    array = np.ascontiguousarray(array, dtype=np.float64)
    if array.size and not array.max() < np.inf:  # the maximum of an array with a NaN is NaN
        raise ValueError(f"{name} must not contain NaN or +inf, got {array.max()}")
    return array


def _indices(name, values, dimensions):
    """Check that an array contains integers and has the right dimension, and return this array."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != dimensions:
        got = f"{array.dtype} of shape {array.shape}"
        raise TypeError(f"{name} must have {dimensions} dimensions and contain integers, got {got}")
    return array
