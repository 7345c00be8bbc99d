"""Checks of the shape, dtype and range of arrays before they are passed to compiled kernels, so that no loop can access
memory out of bounds.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


def floats(name: str, values: Any, *, ndim: int, shape: tuple[int, ...] | None = None) -> NDArray[np.float64]:
    """Return `values` as a C-contiguous float64 array of the given dimension and shape, and reject NaN. Infinite values
    are allowed.
    """
    array = _array(name, values, "iuf")
    if array.ndim != ndim or (shape is not None and array.shape != shape):
        raise ValueError(f"{name} must have {_wanted(ndim, shape)}, got shape {array.shape}")
    out = np.ascontiguousarray(array, dtype=np.float64)
    if np.isnan(out).any():
        raise ValueError(f"{name} must not contain NaN, got NaN at index {int(np.isnan(out).argmax())}")
    return out


def spectra(name: str, values: Any, *, ndim: int) -> NDArray[np.complex128]:
    """Return a C-contiguous complex128 array of finite values."""
    array = _array(name, values, "iufc")
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {_wanted(ndim, None)}, got shape {array.shape}")
    out = np.ascontiguousarray(array, dtype=np.complex128)
    if not np.isfinite(out).all():
        raise ValueError(f"{name} must be finite, got {out[~np.isfinite(out)][0]}")
    return out


def integers(
    name: str, values: Any, *, ndim: int = 1, shape: tuple[int, ...] | None = None, least: int, most: int
) -> Whole:
    """Return `values` as a C-contiguous int64 array whose entries lie in [least, most]. Floats are rejected, not
    truncated.
    """
    array = _array(name, values, "iu")
    if array.ndim != ndim or (shape is not None and array.shape != shape):
        raise ValueError(f"{name} must have {_wanted(ndim, shape)}, got shape {array.shape}")
    if array.size and (int(array.min()) < least or int(array.max()) > most):
        raise ValueError(f"{name} must lie in [{least}, {most}], got values from {array.min()} to {array.max()}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _array(name: str, values: Any, kinds: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be a rectangular array of numbers, got {values!r}") from error
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64) if "f" not in kinds else array  # an empty list does not have an integer dtype
    if array.dtype.kind not in kinds:
        what = "integers" if kinds == "iu" else "numbers"
        raise TypeError(f"{name} must contain {what}, got dtype {array.dtype}")
    return array


def _wanted(ndim: int, shape: tuple[int, ...] | None) -> str:
    return f"{ndim} dimension{'s' * (ndim > 1)}" if shape is None else f"shape {shape}"
