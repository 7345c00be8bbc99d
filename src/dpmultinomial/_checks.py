"""Checks of arguments, which run once at the start of every public function.

Each function returns the clean value or raises ``ValueError``/``TypeError`` naming the argument, the rule and the
value.
"""

from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def integer(name: str, value: Any, *, least: int = 0, most: int | None = None) -> int:
    """Return `value` as an integer in [least, most]."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    converted = int(value)
    if converted < least or (most is not None and converted > most):
        rule = f">= {least}" if most is None else f"in [{least}, {most}]"
        raise ValueError(f"{name} must be {rule}, got {value}")
    return converted


def positive(name: str, value: Any) -> float:
    """Return `value` as a finite float > 0."""
    real = _real(name, value)
    if not (isfinite(real) and real > 0):
        raise ValueError(f"{name} must be finite and > 0, got {value}")
    return real


def number(name: str, value: Any) -> float:
    """Return `value` as a finite float."""
    real = _real(name, value)
    if not isfinite(real):
        raise ValueError(f"{name} must be finite, got {value}")
    return real


def inside(name: str, value: Any) -> float:
    """Return `value` as a float in the open interval (0, 1)."""
    real = _real(name, value)
    if not 0 < real < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value}")
    return real


def fraction(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return `value` as an array of numbers in [0, 1], of any shape."""
    array = floats(name, value)
    if not np.all((array >= 0) & (array <= 1)):
        raise ValueError(f"{name} must lie in [0, 1], got {_worst(array, (array >= 0) & (array <= 1))}")
    return array


def levels(name: str, value: ArrayLike, *, least: float) -> NDArray[np.float64]:
    """Return `value` as an array of numbers in [0, 1], of any shape. Each number must be 0, 1 or at least `least` away
    from both.
    """
    array = fraction(name, value)
    tail = np.minimum(array, 1 - array)
    good = (tail == 0) | (tail >= least)
    if not np.all(good):
        raise ValueError(
            f"{name} must be 0, 1 or in [{least:g}, 1 - {least:g}], got {_worst(array, good)}: other values would give "
            "inaccurate results"
        )
    return array


def reals(name: str, values: ArrayLike, *, least_size: int = 1) -> NDArray[np.float64]:
    """Return `values` as a one-dimensional array of finite numbers."""
    array = floats(name, values)
    if array.ndim != 1 or array.size < least_size:
        raise ValueError(f"{name} must be one-dimensional with at least {least_size} entries, got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {_worst(array, np.isfinite(array))}")
    return np.ascontiguousarray(array)


def positives(name: str, values: ArrayLike, size: int) -> NDArray[np.float64]:
    """Check that `values` are finite numbers > 0, and return them as an array with `size` entries. A single number is
    repeated `size` times.
    """
    array = floats(name, values)
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise ValueError(f"{name} must be one number or {size} numbers, got shape {array.shape}")
    if not np.all(np.isfinite(array) & (array > 0)):
        raise ValueError(f"{name} must be finite and > 0, got {_worst(array, np.isfinite(array) & (array > 0))}")
    return np.ascontiguousarray(array)


def counts(name: str, values: ArrayLike, *, least_size: int = 1) -> NDArray[np.int64]:
    """Return `values` as a one-dimensional array of integers >= 0."""
    array = reals(name, values, least_size=least_size)
    good = (array >= 0) & (array == np.floor(array))
    if not np.all(good):
        raise ValueError(f"{name} must contain only integers >= 0, got {_worst(array, good)}")
    return array.astype(np.int64)


def integral(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return integers of any sign and shape as a float64 array. Their magnitude must be below 2^53."""
    array = floats(name, values)
    good = np.isfinite(array) & (np.abs(array) < 2.0**53) & (array == np.floor(array))
    if not np.all(good):
        raise ValueError(
            f"{name} must contain only integers with absolute values below 2^53, got {_worst(array, good)}"
        )
    return array


def int64s(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return `values` as a contiguous one-dimensional int64 array. Other integer types are converted to int64, and
    nothing is rounded.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or (array.dtype.kind == "u" and array.dtype.itemsize == 8):
        raise TypeError(f"{name} must be an array of integers (int64), got dtype {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    return np.ascontiguousarray(array, dtype=np.int64)


def shaped(name: str, values: ArrayLike, *shape: int | None) -> NDArray[np.float64]:
    """Return a contiguous float64 array that has the given shape and does not contain NaN. None in the shape allows any
    length along that axis.
    """
    array = np.ascontiguousarray(floats(name, values))
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got shape {array.shape}")
    if np.isnan(array).any():
        raise ValueError(f"{name} must not contain NaN, got {_worst(array, ~np.isnan(array))}")
    return array


def shaped_counts(name: str, values: ArrayLike, *shape: int | None) -> NDArray[np.int64]:
    """Return `values` as a contiguous int64 array of counts >= 0 with the given shape. None in the shape allows any
    length along that axis.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must contain integers (int64), got dtype {array.dtype}")
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got shape {array.shape}")
    if array.size and not (array.min() >= 0 and array.max() <= 1 << 52):
        raise ValueError(f"{name} must lie in [0, 2^52], got values from {array.min()} to {array.max()}")
    return np.ascontiguousarray(array, dtype=np.int64)


def table(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return a table of integers >= 0 with at least two rows and two columns."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 2 or min(array.shape) < 2:
        raise ValueError(f"{name} must be two-dimensional, at least 2 x 2, got shape {array.shape}")
    good = np.isfinite(array) & (array >= 0) & (array == np.floor(array))
    if not np.all(good):
        raise ValueError(f"{name} must contain only integers >= 0, got {_worst(array, good)}")
    return np.ascontiguousarray(array.astype(np.int64))


def generator(rng: Any) -> np.random.Generator:
    """Check that `rng` is a NumPy Generator, and return it. Seeds and None are rejected, so that every random stream is
    named.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a numpy.random.Generator, for example dpmultinomial.stream(seed, 'name'), got {rng!r}"
        )
    return rng


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of the allowed strings."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return str(value)


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{name} must be within the range of float64, got {value}") from error


def floats(name: str, values: Any) -> NDArray[np.float64]:
    """Return `values` as a float64 array of any shape, in which NaN and infinite values are allowed."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "iufb":
        raise TypeError(f"{name} must be a number or an array of numbers, got {values!r}")
    return array.astype(float)


def _worst(array: NDArray[Any], good: NDArray[np.bool_]) -> str:
    place = tuple(int(i) for i in np.argwhere(~good)[0])
    index = f" (index {', '.join(map(str, place))})" if place else ""
    return f"{array[place]}{index}"
