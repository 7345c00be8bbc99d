"""Twin of `kernels.joint_counts`."""

import numpy as np
from numpy.typing import NDArray


def count(
    codes: NDArray[np.int32], groups: NDArray[np.int32], starts: NDArray[np.int64], number_of_groups: int
) -> NDArray[np.int64]:
    """`joint_counts.count`."""
    out = np.zeros((number_of_groups, starts[-1]), dtype=np.int64)
    for k in range(codes.shape[1]):
        seen = codes[:, k] >= 0
        np.add.at(out, (groups[seen], starts[k] + codes[seen, k]), 1)
    return out
