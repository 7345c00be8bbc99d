# cython: language_level=3
"""How often every category of every column occurs together with every group of rows."""
import numpy as np

from libc.stdint cimport int32_t, int64_t

from .. import _checks


cdef inline void c_count_row(const int32_t *codes, Py_ssize_t columns, const int64_t *starts,
                             int64_t *row) noexcept nogil:
    """Add one record to `row`; negative codes are unseen categories and count nowhere."""
    cdef Py_ssize_t k
    for k in range(columns):
        if codes[k] >= 0:
            row[starts[k] + codes[k]] += 1


cdef void joint_counts_fill(const int32_t[:, ::1] codes, const int32_t[::1] groups, const int64_t[::1] starts,
                            int64_t[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(codes.shape[0]):
        c_count_row(&codes[i, 0], codes.shape[1], &starts[0], &out[groups[i], 0])


def count(codes, groups, starts, number_of_groups):
    """Contingency counts of every column with the group of the row, all columns in one pass.

    Parameters
    ----------
    codes : int32 (n, columns)
        C-contiguous, at least one column; entry -1 counts nowhere, others lie in [0, starts[k + 1] - starts[k]).
    groups : int32 (n,)
        In [0, number_of_groups).
    starts : int64 (columns + 1,)
        Never falling, from 0; column k has its categories at starts[k] .. starts[k + 1] - 1.
    number_of_groups : int
        At least 1.

    Returns
    -------
    int64 (number_of_groups, starts[-1])

    Raises
    ------
    TypeError
        If an array has another type.
    ValueError
        If shapes differ, `starts` falls or does not begin at 0, or a code or group is out of its range.

    Notes
    -----
    O(n columns) time, no temporary array of that size but the range check.
    """
    for name, array, dtype, dimensions in (("codes", codes, np.int32, 2), ("groups", groups, np.int32, 1),
                                           ("starts", starts, np.int64, 1)):
        if not isinstance(array, np.ndarray) or array.dtype != dtype:
            raise TypeError(f"{name} must be an array of {np.dtype(dtype)}, got {getattr(array, 'dtype', type(array))}")
        if array.ndim != dimensions or not array.flags.c_contiguous:
            raise ValueError(f"{name} must be contiguous with {dimensions} dimension(s), got shape {array.shape}")
    most = _checks.whole("number_of_groups", number_of_groups, least=1, most=1 << 40)
    if len(codes) != len(groups) or codes.shape[1] != len(starts) - 1 or codes.shape[1] < 1:
        raise ValueError(f"codes {codes.shape}, groups {groups.shape} and starts {starts.shape} do not fit together")
    sizes = np.diff(starts)
    if starts[0] != 0 or (sizes < 0).any() or (starts < 0).any():
        raise ValueError(f"starts must begin at 0 and never fall, got {starts.tolist()[:8]}")
    if len(groups) and (groups.min() < 0 or groups.max() >= most):
        raise ValueError(f"groups must lie in [0, {most}), got {groups.min()} .. {groups.max()}")
    if len(groups) and ((codes >= sizes).any() or codes.min() < -1):
        raise ValueError("codes must lie in [-1, number of categories of their column)")
    if most * max(int(starts.max()), 1) > 1 << 40:
        raise ValueError(f"number_of_groups times categories must be at most 2^40, got {most} x {starts.max()}")
    out = np.zeros((most, int(starts.max())), dtype=np.int64)
    if out.size == 0 or codes.size == 0:
        return out
    cdef const int32_t[:, ::1] codes_view = codes
    cdef const int32_t[::1] groups_view = groups
    cdef const int64_t[::1] starts_view = starts
    cdef int64_t[:, ::1] view = out
    with nogil:
        joint_counts_fill(codes_view, groups_view, starts_view, view)
    return out
