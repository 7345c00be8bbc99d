# cython: language_level=3, cdivision=True, wraparound=False
"""How often every category of every column occurs together with every group of rows."""
import numpy as np

from libc.stdint cimport int32_t, int64_t


cdef inline void c_count_row(const int32_t *codes, Py_ssize_t columns, const int64_t *starts, int64_t *row) noexcept nogil:
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
    codes : int32 (n, columns); entry -1 counts nowhere, others lie in [0, starts[k + 1] - starts[k]).
    groups : int32 (n,), in [0, number_of_groups).
    starts : int64 (columns + 1,), increasing from 0; column k has its categories at starts[k] .. starts[k + 1] - 1.
    number_of_groups : whole number >= 1.

    Returns
    -------
    int64 (number_of_groups, starts[-1])

    Raises
    ------
    ValueError
        If shapes differ or a code or group is out of its range.

    Notes
    -----
    O(n columns) time, no temporary array of that size but the range check.
    """
    cdef const int32_t[:, ::1] codes_view = codes
    cdef const int32_t[::1] groups_view = groups
    cdef const int64_t[::1] starts_view = starts
    if codes.shape[0] != groups.shape[0] or codes.shape[1] != starts.shape[0] - 1 or codes.shape[1] < 1:
        raise ValueError(f"codes {codes.shape}, groups {groups.shape} and starts {starts.shape} do not fit together")
    if len(groups) and (groups.min() < 0 or groups.max() >= number_of_groups):
        raise ValueError(f"groups must lie in [0, {number_of_groups}), got {groups.min()} .. {groups.max()}")
    if len(groups) and ((codes >= np.diff(starts)).any() or codes.min() < -1):
        raise ValueError("codes must lie in [-1, number of categories of their column)")
    out = np.zeros((number_of_groups, starts[starts.shape[0] - 1]), dtype=np.int64)
    cdef int64_t[:, ::1] view = out
    with nogil:
        joint_counts_fill(codes_view, groups_view, starts_view, view)
    return out
