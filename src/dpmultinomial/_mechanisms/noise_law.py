"""Interface of all noise distributions: the normalised likelihood of a released value given a true count, accurate also
in the far tails.

Parameters may be one number, or an array with one entry per row: the first axis of the released values.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import Cost

Array = NDArray[np.float64]
Index = NDArray[np.int64] | slice
Scale = Any  # a float, or float64 (rows,); who made a distribution with one number is spared a cast
DISJOINT = {"add or remove a record": 1, "replace a record": 2}  # counts that one record changes, by 1 each


class NoiseLaw(Protocol):
    """Interface of a distribution of released values given true counts.

    ``discrete``      whether the noisy values are integers
    ``row_count``     number of rows with separate parameters; None if all rows share one
    """

    @property
    def discrete(self) -> bool: ...

    @property
    def row_count(self) -> int | None: ...

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]: ...

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array: ...

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]: ...

    def halfwidth(self, log_mass: float) -> float | Array: ...

    def variance(self) -> float | Array: ...

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[Any]: ...

    def take(self, rows: Index) -> "NoiseLaw": ...

    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> Cost: ...

    def settings(self) -> dict[str, object]: ...


class AddedNoise(NoiseLaw, Protocol):
    """Interface of additive noise, with computable probabilities of intervals."""

    def by_row(self, released: NDArray[Any]) -> Array: ...

    def log_density(self, gaps: Array, parameter: Array) -> Array: ...

    def log_within(self, low: ArrayLike, high: ArrayLike, parameter: ArrayLike) -> Array: ...

    def take(self, rows: Index) -> "AddedNoise": ...


def releasable(released: ArrayLike, *, discrete: bool) -> NDArray[np.bool_]:
    """Return, for each value, whether a distribution of additive noise can release it: finite values, and integers if
    the distribution is discrete.
    """
    values = np.asarray(released, dtype=np.float64)
    good = np.isfinite(values)
    return good & (values == np.floor(values)) & (np.abs(values) < 2.0**53) if discrete else good


def released_values(released: ArrayLike, *, discrete: bool) -> Array:
    """Return released values as float64, any shape: finite, and integers if the distribution is discrete."""
    if discrete:
        return _checks.integral("noisy_counts", released)
    values = np.asarray(released)
    if values.dtype.kind not in "iuf":
        raise TypeError(f"noisy_counts must be numbers, got {released!r}")
    if not np.isfinite(values).all():
        raise ValueError(f"noisy_counts must be finite, got {values[~np.isfinite(values)].flat[0]}")
    return values.astype(np.float64)


def by_row(name: str, parameter: Array, released: NDArray[Any]) -> Array:
    """Return a parameter (rows,) in the shape (rows, 1, ..) of released values; a parameter () is returned unchanged.

    Parameters
    ----------
    name : name of the parameter, for the error.
    parameter : () or (rows,).
    released : array whose first axis has the rows.

    Returns
    -------
    float64
    """
    if parameter.ndim == 0:
        return parameter
    if released.ndim == 0 or len(released) != len(parameter):
        raise ValueError(
            f"{name} must be one number or one per row, got {len(parameter)} for released values {released.shape}"
        )
    return parameter.reshape(-1, *[1] * (released.ndim - 1))


def number_or_range(parameter: Array) -> object:
    """Return a single parameter as a number, or the range of several parameters, as values for JSON."""
    if parameter.ndim == 0:
        return float(parameter)
    ends = {"smallest": float(parameter.min()), "largest": float(parameter.max())} if parameter.size else {}
    return {**ends, "rows": len(parameter)}


def changed_counts(changes: Sequence[float] | None, sensitivity: float | None) -> tuple[float, ...] | None:
    """Return the sizes of the changes of the counts that one record changes, or None if they are not stated.

    Parameters
    ----------
    changes : numbers, not 0.
    sensitivity : must be None if `changes` is given.

    Returns
    -------
    tuple of float, or None

    Raises
    ------
    ValueError, TypeError
        If both are given, or a change is 0 or not a number.
    """
    if changes is None:
        return None
    if sensitivity is not None:
        raise ValueError("give sensitivity or changes, not both")
    if isinstance(changes, str) or not isinstance(changes, Sequence) or not changes:
        raise TypeError(f"changes must be a sequence of numbers such as (1, 1), got {changes!r}")
    return tuple(_checks.positive("changes", abs(_checks.number("changes", change))) for change in changes)


def summed_over_records(cost: Array, relation: str, sensitivity: float | None) -> float:
    """Return the privacy cost of releasing disjoint counts of the same records, given one parameter per row.

    Parameters
    ----------
    cost : cost of a change by 1 in each row, () or (rows,).
    relation : one of `composition.RELATIONS`.
    sensitivity : factor of the row with the largest cost; None if one record changes one count by 1 (add or remove), or
        two (replace): then the cost is that of the largest row, or of the two largest.

    Returns
    -------
    float
    """
    if sensitivity is not None:
        return float(cost.max()) * sensitivity
    if relation not in DISJOINT:
        known = " and ".join(repr(word) for word in DISJOINT)
        raise ValueError(f"sensitivity is required for relation {relation!r}; only {known} imply one for counts")
    changed = DISJOINT[relation]
    return float(cost) * changed if cost.ndim == 0 else float(np.sort(cost)[::-1][:changed].sum())
