"""The four released numbers, as a sequence or by name."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._mechanisms.sufficient_statistics import STATISTICS

Array = NDArray[np.float64]


def released(release: ArrayLike | Mapping[str, float]) -> Array:
    """The four released numbers in the order of `STATISTICS`: float64 (4,).

    Parameters
    ----------
    release : four finite numbers, or a mapping with the keys mean, sse, low, high.

    Raises
    ------
    ValueError, TypeError
        If they are not four finite numbers, or the keys are others.
    """
    if isinstance(release, Mapping):
        if set(release) != set(STATISTICS):
            raise ValueError(f"release must have the keys {', '.join(STATISTICS)}, got {', '.join(map(str, release))}")
        release = [release[key] for key in STATISTICS]
    z = _checks.reals("release", release)
    if len(z) != 4:
        raise ValueError(f"release must be four numbers ({', '.join(STATISTICS)}), got {len(z)}")
    return z
