"""Interface of all noise distributions, and a class for noise distributions that differ between the rows of one
release.

The normalised likelihood of a released value given a true count is also accurate in the extreme tails.

A parameter may be a single number, or an array with one entry per row, where the rows are the first axis of the
released values.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import Cost

Array = NDArray[np.float64]
Index = NDArray[np.int64] | slice
Scale = Any  # float or float64 (rows,); with Any, callers that pass a single number need no cast
DISJOINT = {"add or remove a record": 1, "replace a record": 2}  # number of counts that one record changes, each by 1


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
    """Interface of additive noise distributions for which the probabilities of intervals can be computed."""

    def by_row(self, released: NDArray[Any]) -> Array: ...

    def log_density(self, gaps: Array, parameter: Array) -> Array: ...

    def log_within(self, low: ArrayLike, high: ArrayLike, parameter: ArrayLike) -> Array: ...

    def log_at_most(self, end: ArrayLike, parameter: ArrayLike) -> Array: ...

    def take(self, rows: Index) -> "AddedNoise": ...


def releasable(released: ArrayLike, *, discrete: bool) -> NDArray[np.bool_]:
    """Return a mask of the values that a mechanism with additive noise can release. Released values are finite, and
    they are integers if the distribution is discrete.
    """
    values = np.asarray(released, dtype=np.float64)
    good = np.isfinite(values)
    return good & (values == np.floor(values)) & (np.abs(values) < 2.0**53) if discrete else good


def released_values(released: ArrayLike, *, discrete: bool) -> Array:
    """Check released values, and return them as a float64 array of the same shape. The values must be finite and, if
    the distribution is discrete, integers.
    """
    if discrete:
        return _checks.integral("noisy_counts", released)
    values = np.asarray(released)
    if values.dtype.kind not in "iuf":
        raise TypeError(f"noisy_counts must contain only numbers, got {released!r}")
    if not np.isfinite(values).all():
        raise ValueError(f"noisy_counts must be finite, got {values[~np.isfinite(values)].flat[0]}")
    return values.astype(np.float64)


def by_row(name: str, parameter: Array, released: NDArray[Any]) -> Array:
    """Reshape a parameter from (rows,) to (rows, 1, ..), so that the parameter broadcasts against released values. A
    parameter of shape () is unchanged.

    Parameters
    ----------
    name : name of the parameter, for the error.
    parameter : () or (rows,).
    released : array whose first axis contains the rows.

    Returns
    -------
    float64
    """
    if parameter.ndim == 0:
        return parameter
    if released.ndim == 0 or len(released) != len(parameter):
        raise ValueError(
            f"{name} must be one number or one number per row, got {len(parameter)} numbers for "
            f"released values of shape {released.shape}"
        )
    return parameter.reshape(-1, *[1] * (released.ndim - 1))


def number_or_range(parameter: Array) -> object:
    """Return a single parameter as a number, or several parameters as a range, in a form that can be written as
    JSON.
    """
    if parameter.ndim == 0:
        return float(parameter)
    ends = {"smallest": float(parameter.min()), "largest": float(parameter.max())} if parameter.size else {}
    return {**ends, "rows": len(parameter)}


def changed_counts(changes: Sequence[float] | None, sensitivity: float | None) -> tuple[float, ...] | None:
    """Return the absolute changes in the counts that one record can cause, or None if `changes` is None.

    Parameters
    ----------
    changes : nonzero numbers.
    sensitivity : must be None if `changes` is given.

    Returns
    -------
    tuple of float, or None

    Raises
    ------
    ValueError, TypeError
        If both arguments are given, or a change is 0 or not a number.
    """
    if changes is None:
        return None
    if sensitivity is not None:
        raise ValueError(
            f"sensitivity and changes must not both be given, got sensitivity = {sensitivity!r} and changes = "
            f"{changes!r}: omit one of the two arguments"
        )
    if isinstance(changes, str) or not isinstance(changes, Sequence) or not changes:
        raise TypeError(f"changes must be a sequence of numbers such as (1, 1), got {changes!r}")
    return tuple(_checks.positive("changes", abs(_checks.number("changes", change))) for change in changes)


def summed_over_records(cost: Array, relation: str, sensitivity: float | None) -> float:
    """Return the privacy cost of releasing several counts of the same records, if the noise parameter may differ
    between rows.

    Parameters
    ----------
    cost : cost of a change by 1 in each row, () or (rows,).
    relation : one of `composition.RELATIONS`.
    sensitivity : factor for the row with the largest cost. None if one record changes one count by 1 (add or remove) or
        two counts (replace); the cost is then that of the row with the largest cost, or of the two rows with the
        largest costs.

    Returns
    -------
    float
    """
    if sensitivity is not None:
        return float(cost.max()) * sensitivity
    if relation not in DISJOINT:
        known = " or ".join(repr(word) for word in DISJOINT)
        raise ValueError(
            f"sensitivity may be omitted only for counts with the neighbouring relation {known}, got the neighbouring "
            f"relation {relation!r}: pass sensitivity="
        )
    changed = DISJOINT[relation]
    return float(cost) * changed if cost.ndim == 0 else float(np.sort(cost)[::-1][:changed].sum())


class WithoutCost:
    """Base class of distributions for which no single finite privacy cost exists.

    Attributes
    ----------
    why_no_cost : message of the error, with the reason.
    """

    why_no_cost: ClassVar[str]

    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> Cost:
        """Raise ValueError with the reason why the distribution has no finite privacy cost."""
        raise ValueError(self.why_no_cost)


class LawByRow(WithoutCost):
    """Noise distributions that may differ between rows: row i of a release has the distribution ``laws[which[i]]``.

    Parameters
    ----------
    laws : noise distributions without separate parameters by row.
    which : (rows,), position of each row's distribution in `laws`.

    Raises
    ------
    ValueError, TypeError
        If a position does not refer to a distribution, or a distribution has separate parameters by row.
    """

    why_no_cost = (
        "counts with different noise distributions do not have a single cost: compute the cost of each distribution "
        "and add up the costs with dpmultinomial.compose"
    )

    def __init__(self, laws: Sequence[NoiseLaw], which: ArrayLike) -> None:
        self.laws, self.which = tuple(laws), _checks.int64s("which", which)
        if self.which.size and not 0 <= self.which.min() <= self.which.max() < len(self.laws):
            raise ValueError(
                f"the argument `which` must contain positions in [0, {len(self.laws)}), got positions "
                f"from {self.which.min()} to {self.which.max()}"
            )
        for law in self.laws:
            if law.row_count is not None:
                raise ValueError(
                    "each distribution in laws must have scalar parameters, got a distribution with "
                    f"{law.row_count} rows of parameters"
                )

    @classmethod
    def of(cls, laws: Sequence[NoiseLaw]) -> "LawByRow":
        """Build a `LawByRow` from one distribution per row, with equal distributions stored once."""
        places: dict[NoiseLaw, int] = {}
        which = [places.setdefault(law, len(places)) for law in laws]
        return cls(list(places), np.array(which, dtype=np.int64))

    @property
    def discrete(self) -> bool:
        """Return whether all noisy values are integers."""
        return all(law.discrete for law in self.laws)

    @property
    def row_count(self) -> int:
        """Number of rows of the release to which the noise distributions apply."""
        return len(self.which)

    def take(self, rows: Index) -> "LawByRow":
        """Return the distributions of the released values in the selected rows."""
        return LawByRow(self.laws, self.which[rows])

    def parts(self) -> list[tuple[NoiseLaw, NDArray[np.int64]]]:
        """Return each distribution with the rows of the release that have this distribution."""
        return [(law, np.flatnonzero(self.which == i)) for i, law in enumerate(self.laws)]

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return a mask of the values that are possible under the noise distribution of their row."""
        values = self._rows(released)
        out = np.zeros(values.shape, dtype=bool)
        for law, rows in self.parts():
            out[rows] = law.possible(values[rows])
        return out

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(release | count), with a separate noise distribution for each row of the first axis (see
        `NoiseLaw.log_likelihood`).

        Parameters
        ----------
        released : array whose first axis contains the rows.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape
        """
        values = self._rows(released)
        n = np.asarray(counts, dtype=np.float64)
        out = np.empty(np.broadcast_shapes(values.shape, n.shape))
        for law, rows in self.parts():
            totals = n[rows] if n.ndim == out.ndim and len(n) == len(values) else n
            out[rows] = law.log_likelihood(values[rows], totals)
        return out

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return the lower and upper limits of the true counts that are possible given each released value (see
        `NoiseLaw.reach`).
        """
        values = self._rows(released)
        low, high = np.empty(values.shape), np.empty(values.shape)
        for law, rows in self.parts():
            low[rows], high[rows] = law.reach(values[rows], log_mass)
        return low, high

    def halfwidth(self, log_mass: float) -> Array:
        """Return, for each row, a distance that the noise exceeds with negligible probability."""
        return np.array([law.halfwidth(log_mass) for law in self.laws], dtype=np.float64)[self.which]

    def variance(self) -> Array:
        """Return the variance of the noise of each row."""
        return np.array([law.variance() for law in self.laws], dtype=np.float64)[self.which]

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noisy versions of `counts`, using the noise distribution of each row, as a float64 array of the same
        shape.
        """
        values = self._rows(counts)
        out = np.empty(values.shape)
        for law, rows in self.parts():
            out[rows] = law.sample(values[rows], rng=rng)
        return out

    def settings(self) -> dict[str, object]:
        """Return the configuration keys and values of each distribution, and the number of rows with this
        distribution.
        """
        sizes = np.bincount(self.which, minlength=len(self.laws))
        return {"laws": [{**law.settings(), "rows": int(n)} for law, n in zip(self.laws, sizes, strict=True)]}

    def _rows(self, values: ArrayLike) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 0 or len(array) != len(self.which):
            raise ValueError(f"values must contain one value per row ({len(self.which)} rows), got shape {array.shape}")
        return array

    def __repr__(self) -> str:
        return f"LawByRow({len(self.laws)} laws, {len(self.which)} rows)"
