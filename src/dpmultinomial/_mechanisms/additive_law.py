"""Base class for distributions of symmetric additive noise with one parameter, such as Laplace noise, Gaussian noise
and their discrete forms.

There are two families, Laplace and Gaussian. Each has a distribution on the real line and a distribution on the
integers, with a common kernel and a common cost.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting import renyi
from .._accounting.composition import ZCDP, Cost, PureDP
from .._accounting.privacy_loss import Mechanism, SplitLoss
from .coarsened import Coarsenable
from .noise_law import (
    DISJOINT,
    Array,
    Index,
    by_row,
    changed_counts,
    number_or_range,
    releasable,
    released_values,
    summed_over_records,
)


class AdditiveLaw(Coarsenable, ABC):
    """Base class of distributions of additive noise. A subclass is a dataclass with a single field, named `_name`."""

    discrete = False
    _word = ""  # name of the distribution in a configuration
    _name = ""  # name of the parameter
    _said = ""  # name of the parameter in a configuration, if different

    @abstractmethod
    def _log_kernel(self, gaps: Array, parameter: Array) -> Array:
        """Return the log probability or log density of the noise at `gaps`, up to the constant `_log_norm`."""

    @abstractmethod
    def _log_side(self, low: Array, high: Array, parameter: Array) -> Array:
        """Return log P(low <= noise <= high) up to the constant `_log_norm`, for 0 <= low <= high <= inf. For integers,
        low must be >= 1.
        """

    def _log_norm(self, parameter: Array) -> float | Array:
        """Return the log of the normalising constant for each parameter. This log is subtracted from `_log_kernel` and
        `_log_side`.
        """
        return 0.0

    @abstractmethod
    def variance(self) -> float | Array:
        """Return the variance of the noise of each row."""

    @abstractmethod
    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[Any]:
        """Draw noisy versions of `counts`, as an array of the same shape."""

    @abstractmethod
    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> Cost:
        """Return the privacy cost of one release."""

    @abstractmethod
    def loss(self, change: float) -> Mechanism | None:
        """Return the privacy loss of a single count that changes by `change`. Return None if the distribution of this
        loss is not known.
        """

    @abstractmethod
    def halfwidth(self, log_mass: float) -> float | Array:
        """Return, for each row, a distance that the absolute value of the noise exceeds with probability below
        exp(-log_mass).
        """

    @property
    def parameter(self) -> Array:
        """Scale parameter of the noise, as an array of shape () for a common value or of shape (rows,) for one value
        per row.
        """
        return np.asarray(getattr(self, self._name), dtype=np.float64)

    @property
    def row_count(self) -> int | None:
        """Number of rows with separate parameters, or None if all rows share a parameter."""
        return None if self.parameter.ndim == 0 else len(self.parameter)

    def take(self, rows: Index) -> Self:
        """Return the noise distribution of the selected rows."""
        if self.row_count is None:
            return self
        return replace(self, **{self._name: self.parameter[rows]})  # type: ignore[type-var]  # every law is a dataclass

    def with_parameter(self, parameter: float) -> Self:
        """Return a distribution of the same family with the given value of its single parameter."""
        return replace(self, **{self._name: float(parameter)})  # type: ignore[type-var]  # every law is a dataclass

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return a mask of the values that can be released under this distribution."""
        return releasable(released, discrete=self.discrete)

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return the normalised log P(release | count), or the log density. The arguments are broadcast against each
        other.

        Parameters
        ----------
        released : finite numbers, integers if the distribution is discrete. If there is one parameter per row, the
            first axis contains the rows.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape; the exponential has a relative error below 1e-12 down to 1e-300.

        Raises
        ------
        ValueError, TypeError
            If a released value is not finite or, for a discrete distribution, not an integer, or if there is not one
            value per row.
        """
        values = released_values(released, discrete=self.discrete)
        return self.log_density(values - np.asarray(counts, dtype=np.float64), self.by_row(values))

    def log_density(self, gaps: Array, parameter: Array) -> Array:
        """Return the log probability or log density of the noise at the values `gaps`. If the distribution is discrete,
        `gaps` are integers.

        Parameters
        ----------
        gaps : distances from the count, of a shape to which `parameter` can be broadcast.
        parameter : parameter of the noise, as returned by `by_row`.

        Returns
        -------
        float64 of the shape of `gaps`
        """
        return np.asarray(self._log_kernel(gaps, parameter) - self._log_norm(parameter))

    def log_within(self, low: ArrayLike, high: ArrayLike, parameter: ArrayLike) -> Array:
        """Return log P(low <= noise <= high), with relative accuracy in the tails. The arguments are broadcast against
        each other.

        Parameters
        ----------
        low, high : ends, low <= high; infinite if there is no end, integer or infinite if the distribution is discrete.
        parameter : parameter of the noise, as returned by `by_row`.

        Returns
        -------
        float64 of the broadcast shape
        """
        norm = self._log_norm(np.asarray(parameter, dtype=np.float64))
        ends = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float), np.asarray(parameter, float))
        low, high, parameter = (np.array(end, dtype=np.float64) for end in ends)
        shape, first = low.shape, 1.0 if self.discrete else 0.0
        low, high, parameter = low.ravel(), high.ravel(), parameter.ravel()
        left = high < 0
        low[left], high[left] = -high[left], -low[left]
        out = np.full(low.shape, -np.inf)
        side = low >= first
        out[side] = self._log_side(low[side], high[side], parameter[side])
        for reach in (high, -low):
            part = ~side & (reach >= first)
            more = self._log_side(np.full(part.sum(), first), reach[part], parameter[part])
            out[part] = np.logaddexp(out[part], more)
        if self.discrete:
            middle = self._log_kernel(np.zeros(int((~side).sum())), parameter[~side])
            out[~side] = np.logaddexp(out[~side], middle)
        return np.asarray(out.reshape(shape) - norm)

    def log_at_most(self, end: ArrayLike, parameter: ArrayLike) -> Array:
        """Return log P(noise <= end), computed as in `log_within`. If the noise is real-valued, each limit needs only a
        single evaluation. Since the noise is symmetric, this is also log P(noise >= -end).
        """
        if self.discrete:
            return self.log_within(-np.inf, end, parameter)
        both = np.broadcast_arrays(np.asarray(end, dtype=np.float64), np.asarray(parameter, dtype=np.float64))
        ends, sizes = (one.ravel() for one in both)
        out, finite, above = np.full(len(ends), -np.inf), np.isfinite(ends), ends > 0
        beyond = np.full(int(finite.sum()), np.inf)
        out[finite] = self._log_side(np.abs(ends[finite]), beyond, sizes[finite])  # the tail beyond abs(end)
        out[above] = np.log1p(-np.exp(out[above]))
        return out.reshape(both[0].shape)

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return limits (low, high) of the true count for each released value, given the half-width of the noise."""
        values = released_values(released, discrete=self.discrete)
        width = np.asarray(self.halfwidth(log_mass))
        return values - width, values + width

    def settings(self) -> dict[str, object]:
        """Return the distribution as configuration keys and values. If the parameter varies by row, return its smallest
        and its largest value.
        """
        return {"law": self._word, self._said or self._name: number_or_range(self.parameter)}

    def by_row(self, released: NDArray[Any]) -> Array:
        """Return the parameter of the noise distribution as an array whose shape broadcasts against released values.
        There is one parameter for each entry along the first axis of the released values.
        """
        return by_row(self._name, self.parameter, released)

    def _as_given(self, found: ArrayLike) -> float | Array:
        """Return a result as a float if the distribution has one parameter, or as an array if the distribution has one
        parameter per row.
        """
        return float(np.asarray(found)) if self.row_count is None else np.asarray(found)

    def _set_parameter(self) -> None:
        """Check that the parameter is a number > 0 or an array of such numbers, and store an array as read-only."""
        value = getattr(self, self._name)
        if np.ndim(value) == 0:
            _checks.positive(self._name, value)
            return
        array = np.array(_checks.positives(self._name, value, np.size(value)))
        array.flags.writeable = False
        object.__setattr__(self, self._name, array)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name))
            for f in fields(self)  # type: ignore[arg-type]  # every law is a dataclass
        )

    def __hash__(self) -> int:
        return hash((type(self), self.parameter.tobytes()))


class Family(AdditiveLaw):
    """Base class of real-valued or integer-valued noise whose density or probability is proportional to the exponential
    of `_exponent`.
    """

    @abstractmethod
    def _exponent(self, gaps: Array, parameter: Array) -> Array:
        """Return the log probability or log density of the noise at the values `gaps`, up to a constant that depends on
        the parameter.
        """

    def log_weights(self, noisy: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the log probability or log density of the release `noisy` given every count, up to a constant. The
        arguments are broadcast against each other.

        Parameters
        ----------
        noisy : finite numbers, integers if the noise is discrete.
        counts : integers, the possible true counts.

        Raises
        ------
        ValueError
            If a noisy count is not an integer but the distribution releases only integers.
        """
        values = _checks.integral("noisy_counts", noisy) if self.discrete else np.asarray(noisy, dtype=float)
        return self._exponent(values - np.asarray(counts, dtype=float), self.by_row(values))


class LaplaceFamily(Family):
    """Base class of noise z with a density or probability proportional to exp(-|z|/scale). A release satisfies pure
    differential privacy, with an exact cost.
    """

    @classmethod
    def calibrated(cls, epsilon: float, *, sensitivity: float | None = None) -> Self:
        """Return the mechanism that is epsilon-DP for queries with an L1 sensitivity of at most `sensitivity`.

        Parameters
        ----------
        epsilon : > 0.
        sensitivity : L1 sensitivity, > 0; 2 for counts with a fixed total, because a record that changes its cell
            changes two counts.

        Returns
        -------
        Self

        Raises
        ------
        TypeError, ValueError
            If the sensitivity is missing, or a number is not positive.
        """
        if sensitivity is None:
            raise TypeError(
                "sensitivity, the L1 change of the counts, is missing: pass sensitivity=2 if one "
                "record is replaced, or sensitivity=1 if one record is added or removed"
            )
        scale = _checks.positive("sensitivity", sensitivity) / _checks.positive("epsilon", epsilon)
        return cls(**{cls._name: scale})

    def _exponent(self, gaps: Array, parameter: Array) -> Array:
        return np.asarray(-np.abs(gaps) / parameter)

    def epsilon(self, *, sensitivity: float) -> float | Array:
        """Return the exact privacy cost of one release under pure differential privacy, epsilon = sensitivity/scale."""
        return self._as_given(_checks.positive("sensitivity", sensitivity) / self.parameter)

    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> PureDP:
        """Return the exact privacy cost of one release.

        Parameters
        ----------
        relation : neighbours, ``"add or remove a record"``, ``"replace a record"`` or ``"exchange within invariants"``.
        sensitivity : L1 sensitivity of the released vector; None: disjoint counts, 2 if one record is replaced, 1 if
            one is added or removed.
        changes : instead of `sensitivity`, the sizes of the changes of the counts that change, e.g. ``(1, 1)``.
        source : name of the confidential data.

        Returns
        -------
        PureDP
            The cost includes the loss distribution, if it is known, which gives a tighter composition.
        """
        sizes = changed_counts(changes, sensitivity)
        given = _checks.positive("sensitivity", sensitivity) if sensitivity is not None else None
        given = given if sizes is None else sum(sizes)
        epsilon = summed_over_records(1 / self.parameter, relation, given)
        mechanisms = known_mechanisms(self, sizes, relation, given, power=1)
        return PureDP(epsilon=epsilon, source=source, relation=relation, mechanisms=mechanisms)


class GaussianFamily(Family):
    """Base class of noise z with a density or probability proportional to exp(-z^2/(2 sigma^2)). A release satisfies
    zero-concentrated differential privacy.
    """

    @classmethod
    def calibrated(cls, rho: float, *, sensitivity: float | None = None, l2_squared: float | None = None) -> Self:
        """Return the mechanism that satisfies rho-zCDP for queries with a squared L2 sensitivity of at most
        `l2_squared`.

        Parameters
        ----------
        rho : > 0.
        sensitivity : L2 sensitivity, > 0; sqrt(2) for counts with a fixed total. Pass either the sensitivity or its
            square.
        l2_squared : > 0; 2 for counts with a fixed total.

        Returns
        -------
        Self

        Raises
        ------
        TypeError, ValueError
            If neither or both arguments are passed, or a number is not positive.
        """
        if (sensitivity is None) == (l2_squared is None):
            raise TypeError(
                "exactly one of sensitivity (the L2 change of the counts) and l2_squared (the square of this change) "
                f"must be given, got {sensitivity!r} and {l2_squared!r}: pass l2_squared=2 if one record is replaced, "
                "or l2_squared=1 if one record is added or removed"
            )
        if l2_squared is None:
            l2_squared = _checks.positive("sensitivity", sensitivity) ** 2
        return cls(**{cls._name: renyi.concentrated_gaussian_sigma(rho, l2_squared=l2_squared)})

    def _exponent(self, gaps: Array, parameter: Array) -> Array:
        return np.asarray(-((gaps / parameter) ** 2) / 2)

    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> ZCDP:
        """Return the privacy cost of one release in zCDP (zero-concentrated differential privacy). For the discrete
        distribution see Canonne, Kamath and Steinke (2020), Theorem 14.

        Parameters
        ----------
        relation : neighbours, ``"add or remove a record"``, ``"replace a record"`` or ``"exchange within invariants"``.
        sensitivity : L2 sensitivity of the released vector; None: disjoint counts, sqrt(2) if one record is replaced, 1
            if one is added or removed.
        changes : instead of `sensitivity`, the sizes of the changes of the counts that change, e.g. ``(1, 1)``.
        source : name of the confidential data.

        Returns
        -------
        ZCDP
            The cost rho, with the loss distribution if it is known. The function `compose` sums costs of queries
            with different scales, and ``dp(delta)`` converts the total.
        """
        sizes = changed_counts(changes, sensitivity)
        squared = _checks.positive("sensitivity", sensitivity) ** 2 if sensitivity is not None else None
        squared = squared if sizes is None else sum(size * size for size in sizes)
        rho = summed_over_records(1 / (2 * self.parameter**2), relation, squared)
        mechanisms = known_mechanisms(self, sizes, relation, squared, power=2)
        return ZCDP(rho=rho, source=source, relation=relation, mechanisms=mechanisms)


_MOST_SPLITS = 12  # largest norm for which all splits into integers are compared
_MOST_CASES = 40  # largest number of rows, or of pairs of rows, whose losses are compared


def known_mechanisms(
    law: AdditiveLaw, sizes: tuple[float, ...] | None, relation: str, norm: float | None, *, power: int
) -> tuple[Mechanism, ...] | None:
    """Return mechanisms whose composition bounds the privacy loss of one release for any change of one record. If all
    rows have the same noise parameter, the bound is the largest privacy loss of such a change.

    Parameters
    ----------
    law : distribution of the noise.
    sizes : sizes of the changes, None if only their norm is known.
    relation : which data sets are neighbours.
    norm : sum of the sizes to the `power`; None: disjoint counts that change by 1.
    power : 1 or 2.

    Returns
    -------
    tuple of mechanisms, or None if the losses are not known
    """
    if law.row_count is not None:
        return _largest_by_row(law, sizes, relation, norm, power=power)
    if sizes is None and norm is None:
        sizes = (1.0,) * DISJOINT[relation]
    if sizes is not None:
        return _losses(law, sizes)
    assert norm is not None
    if power == 2 and not law.discrete:
        return _losses(law, (norm**0.5,))  # Gaussian noise is the same in all directions
    if not law.discrete or abs(norm - round(norm)) > 1e-9 or norm > _MOST_SPLITS:
        return None
    cases = [_losses(law, split) for split in _splits(round(norm), power)]
    known_cases = tuple(case for case in cases if case is not None)
    if len(known_cases) < len(cases):  # the largest loss is not known if the loss of one possible change is not known
        return None
    return known_cases[0] if len(known_cases) == 1 else (SplitLoss(known_cases),)


def _largest_by_row(
    law: AdditiveLaw, sizes: tuple[float, ...] | None, relation: str, norm: float | None, *, power: int
) -> tuple[Mechanism, ...] | None:
    """Return mechanisms that bound the privacy loss of every record if the noise parameter differs between rows.

    Laplace, discrete Laplace and Gaussian noise with a larger parameter is noise with a smaller parameter plus
    independent noise. The rows with the smallest parameters are therefore the worst, and if the changes are given
    without their rows, all of them are assigned to the smallest parameter. For discrete Gaussian noise this is not
    known to hold: the largest loss of all rows, or pairs of rows, is returned, or None if there are too many.
    """
    parameters = np.sort(law.parameter)
    ordered, equal = power == 1 or not law.discrete, parameters[0] == parameters[-1]
    stated = sizes is not None or norm is not None
    if (stated and (ordered or equal)) or (equal and len(parameters) > 1):
        return known_mechanisms(law.with_parameter(parameters[0]), sizes, relation, norm, power=power)
    if stated:
        return None
    count = min(DISJOINT[relation], len(parameters))
    if ordered:
        rows = [tuple(parameters[:count].tolist())]
    else:
        values, often = np.unique(parameters, return_counts=True)
        rows = sorted(set(combinations(np.repeat(values, np.minimum(often, count)).tolist(), count)))
    if len(rows) > _MOST_CASES:
        return None
    cases = [[law.with_parameter(parameter).loss(1.0) for parameter in row] for row in rows]
    known_cases = tuple(tuple(one for one in case if one is not None) for case in cases if None not in case)
    if len(known_cases) < len(cases):
        return None
    return known_cases[0] if len(known_cases) == 1 else (SplitLoss(known_cases),)


def _losses(law: AdditiveLaw, sizes: Sequence[float]) -> tuple[Mechanism, ...] | None:
    losses = [law.loss(size) for size in sizes]
    return tuple(one for one in losses if one is not None) if all(one is not None for one in losses) else None


def _splits(norm: int, power: int, largest: int | None = None) -> list[tuple[float, ...]]:
    """Return all non-increasing tuples of integers >= 1 whose elements, raised to `power`, sum to `norm`."""
    if norm == 0:
        return [()]
    top = largest or norm
    return [
        (float(one), *rest)
        for one in range(top, 0, -1)
        if one**power <= norm
        for rest in _splits(norm - one**power, power, one)
    ]
