"""Noisy values that are rounded, clipped or withheld before they are released.

A released value then means that the noisy value was in a set of neighbouring values. Its likelihood is the probability
of this set, a sum of tails. The order of the steps is: noise, rounding, clipping, withholding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import Cost
from .noise_law import Array, Index, LawByRow

TIES = ("even", "up", "away")
_NEAR = 1e-9  # tolerance relative to a step: a released value this close to a multiple counts as the multiple


class Coarsenable:
    """Base class of noise distributions whose values may be rounded, clipped or withheld before they are released."""

    def clipped(self, at: float) -> "Coarsened":
        """Return the distribution of releases that are clipped from below. The released value `at` means "`at` or
        less".
        """
        return Coarsened(self, at=at)

    def threshold(self, least: float) -> "Coarsened":
        """Return the distribution of releases in which values below `least` are withheld. A withheld value (NaN) means
        "below `least`".
        """
        return Coarsened(self, least=least)

    def rounded(self, step: float, *, ties: str = "even") -> "Coarsened":
        """Return the distribution of releases rounded to multiples of `step`."""
        return Coarsened(self, step=step, ties=ties)


@dataclass(frozen=True)
class Coarsened:
    """Distribution of noisy values that are rounded, clipped or withheld after the addition of `noise`.

    Parameters
    ----------
    noise : `Laplace`, `DiscreteLaplace`, `Gaussian`, `DiscreteGaussian`, `Exact`, `Perturbation` or `RandomRounding`.
    step : > 0 or None; values are rounded to multiples of `step`, which is an integer if the distribution is discrete.
    ties : direction in which a value half-way between two multiples is rounded: ``"even"``, to the even multiple;
        ``"up"``; or ``"away"`` from 0.
    at : number or None; lower values are replaced by `at`, so a released `at` means "`at` or less".
    least : number or None; lower values are withheld, so an absent value (NaN) means "below `least`".

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or no value could be withheld.
    """

    noise: Any
    step: float | None = None
    ties: str = "even"
    at: float | None = None
    least: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Coarsenable):
            raise TypeError(f"noise must be a noise distribution for single counts, got {self.noise!r}")
        _checks.one_of("ties", self.ties, TIES)
        if self.step is not None:
            step = _checks.positive("step", self.step)
            if self.discrete and step != np.floor(step):
                raise ValueError(f"step must be an integer for a discrete distribution, got {self.step}")
        for name in ("at", "least"):
            if getattr(self, name) is not None:
                _checks.number(name, getattr(self, name))
        if self.at is not None and self.least is not None and self.at >= self.least:
            raise ValueError(
                f"the threshold must be above the value at which counts are clipped ({self.at}), got {self.least}: "
                "with this threshold, no count would be withheld"
            )

    @property
    def discrete(self) -> bool:
        """Return whether the noisy values are integers before rounding and clipping."""
        return bool(self.noise.discrete)

    @property
    def row_count(self) -> int | None:
        """Number of rows with separate parameters, or None if all rows share a parameter."""
        rows: int | None = self.noise.row_count
        return rows

    @property
    def listed(self) -> bool:
        """Return whether the noise is a `Perturbation` or a `RandomRounding`. The noise of these mechanisms is bounded,
        and its distribution depends on the count.
        """
        return hasattr(self.noise, "log_between")

    def take(self, rows: Index) -> "Coarsened":
        """Return the distribution of the released values in the selected rows."""
        return replace(self, noise=self.noise.take(rows))

    def clipped(self, at: float) -> "Coarsened":
        """Return the distribution with additional clipping from below (`Coarsenable.clipped`)."""
        return replace(self, at=at)

    def threshold(self, least: float) -> "Coarsened":
        """Return the noise distribution with the additional rule that noisy values below `least` are withheld (see
        `Coarsenable.threshold`).
        """
        return replace(self, least=least)

    def rounded(self, step: float, *, ties: str = "even") -> "Coarsened":
        """Return the distribution with additional rounding (`Coarsenable.rounded`)."""
        return replace(self, step=step, ties=ties)

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(release | count), or the log density if a value is neither rounded nor clipped. The arguments
        are broadcast against each other.

        Parameters
        ----------
        released : numbers, NaN if a value was withheld. If there is one parameter per row, the first axis contains the
            rows.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape; the exponential has a relative error below 1e-12 down to 1e-300.

        Raises
        ------
        ValueError
            If a released value is impossible under this distribution.
        """
        values = np.asarray(released, dtype=np.float64)
        low, high = self.behind(values)
        if self.listed:
            return np.asarray(self.noise.log_between(low, high, counts))
        n, parameter = np.asarray(counts, dtype=np.float64), self.noise.by_row(values)
        point = (low == high) & (self.step is None)
        out = np.asarray(self.noise.log_density(np.where(point, low, 0.0) - n, parameter))
        if not point.all():
            wide = np.broadcast_to(~point, out.shape)
            low, high, n, parameter = (np.broadcast_to(x, out.shape)[wide] for x in (low, high, n, parameter))
            out[wide] = self.noise.log_within(low - n, high - n, parameter)
        return out

    log_weights = log_likelihood

    def behind(self, released: Array) -> tuple[Array, Array]:
        """Return the smallest and largest noisy value that each released value can represent.

        Parameters
        ----------
        released : float64, any shape, NaN if a value was withheld.

        Returns
        -------
        (low, high)
            float64 of the same shape; -inf if there is no smallest value.

        Raises
        ------
        ValueError
            As in `log_likelihood`.
        """
        absent = np.isnan(released)
        for good, text in self._rules(released):
            if not good.all():
                raise ValueError(f"{text}, got {released[~good].flat[0]} for the distribution {self.settings()}")
        low, high = self._multiples(np.where(absent, 0.0, released)) if self.step else (released, released)
        if self.at is not None:
            clipped = released == self.at
            low, high = np.where(clipped, -np.inf, low), np.where(clipped, self._end(self.at, below=False), high)
        if self.least is not None:
            low, high = np.where(absent, -np.inf, low), np.where(absent, self._end(self.least, below=True), high)
        return low, high

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return a mask of the values that can be released under this distribution. NaN represents a withheld value."""
        rules = self._rules(np.asarray(released, dtype=np.float64))
        return np.asarray(np.logical_and.reduce([good for good, _ in rules]), dtype=bool)

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return limits (low, high) of the true count for each released value, given the half-width of the noise. The
        lower limit may be -inf.
        """
        low, high = self.behind(np.asarray(released, dtype=np.float64))
        width = np.asarray(self.noise.halfwidth(log_mass))
        return low - width, high + width

    def halfwidth(self, log_mass: float) -> float | Array:
        """Return a distance that the absolute value of the noise exceeds only with negligible probability. The distance
        applies to values before they are rounded, clipped or withheld.
        """
        width: float | Array = self.noise.halfwidth(log_mass)
        return width

    def variance(self) -> float | Array:
        """Return the variance of the noise before the values are rounded, clipped or withheld."""
        variance: float | Array = self.noise.variance()
        return variance

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noisy versions of `counts`, and round, clip or withhold the noisy values according to the settings of
        the mechanism. The result is float64 of the same shape, with NaN for withheld values. Do not use this function
        for confidential counts.
        """
        return self.coarsen(np.asarray(self.noise.sample(counts, rng=rng), dtype=np.float64))

    def coarsen(self, noisy: Array) -> Array:
        """Round, clip and withhold noisy values, and return a float64 array of the same shape with NaN for withheld
        values.
        """
        values = noisy if self.step is None else self._rounded(noisy)
        if self.at is not None:
            values = np.maximum(values, self.at)
        return values if self.least is None else np.where(values < self.least, np.nan, values)

    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> Cost:
        """Return the privacy cost of the noise, which rounding, clipping and withholding cannot increase."""
        cost: Cost = self.noise.cost(relation, sensitivity=sensitivity, changes=changes, source=source)
        return cost

    def settings(self) -> dict[str, object]:
        """Return the distribution as configuration keys and values."""
        words = dict(self.noise.settings())
        if self.step is not None:
            words["rounded"] = self.step if self.ties == "even" else {"step": self.step, "ties": self.ties}
        if self.at is not None:
            words["clipped"] = {"at": self.at}
        if self.least is not None:
            words["threshold"] = self.least
        return words

    def _rules(self, released: Array) -> list[tuple[NDArray[np.bool_], str]]:
        """Return the rules that released values must satisfy. Each rule consists of a mask of the values that satisfy
        the rule, and the text of the error.
        """
        absent = np.isnan(released)
        rules = [
            (
                ~absent | (self.least is not None),
                "noisy_counts must not contain missing values (NaN) without a threshold",
            ),
            (absent | np.isfinite(released), "noisy_counts must be finite"),
            (
                absent | (released >= _or(self.least)),
                f"noisy_counts must be >= {self.least}, because smaller values are withheld",
            ),
            (
                absent | (released >= _or(self.at)),
                f"noisy_counts must be >= {self.at}, because smaller values are clipped",
            ),
        ]
        exempt = absent | (released == (np.nan if self.at is None else self.at))
        if self.step is not None:
            with np.errstate(invalid="ignore"):
                parts = released / self.step
                near = np.abs(parts - np.round(parts)) <= _NEAR + 2 * np.spacing(np.abs(parts))
            rules.append((exempt | near, f"noisy_counts must be multiples of {self.step}"))
        elif self.discrete:
            rules.append((exempt | (released == np.floor(released)), "noisy_counts must be integers"))
        return rules

    def _rounded(self, values: Array) -> Array:
        assert self.step is not None
        parts = values / self.step
        if self.ties == "even":
            whole = np.round(parts)
        elif self.ties == "up":
            whole = np.floor(parts + 0.5)
        else:
            whole = np.sign(parts) * np.floor(np.abs(parts) + 0.5)
        return np.asarray(whole * self.step)

    def _multiples(self, released: Array) -> tuple[Array, Array]:
        """Return the lower and upper limits of the noisy values that are rounded to each released value."""
        assert self.step is not None
        k = np.round(released / self.step)
        low, high = (k - 0.5) * self.step, (k + 0.5) * self.step
        if not self.discrete:
            return low, high
        if self.ties == "even":
            with_low = with_high = k % 2 == 0
        elif self.ties == "up":
            with_low, with_high = np.ones(k.shape, dtype=bool), np.zeros(k.shape, dtype=bool)
        else:
            with_low, with_high = k > 0, k < 0
        low = np.where(with_low, np.ceil(low), np.floor(low) + 1)
        return low, np.where(with_high, np.floor(high), np.ceil(high) - 1)

    def _end(self, limit: float, *, below: bool) -> float:
        """Return the largest noisy value that is rounded to at most `limit` or, if `below` is true, to less than
        `limit`.
        """
        if self.step is None:
            if not self.discrete:
                return float(limit)
            return float(np.ceil(limit) - 1 if below else np.floor(limit))
        multiple = (np.ceil(limit / self.step) - 1 if below else np.floor(limit / self.step)) * self.step
        return float(replace(self, at=None, least=None)._multiples(np.array([multiple]))[1][0])


def _or(limit: float | None) -> float:
    return -np.inf if limit is None else limit


def law_of_row(law: Any, row: int) -> Any:
    """Return the noise distribution of one row of a release, with a single parameter instead of one parameter per row.

    Parameters
    ----------
    law : noise distribution with one parameter, or with one per row.
    row : index of the row.
    """
    if isinstance(law, LawByRow):
        return law.laws[law.which[row]]
    if getattr(law, "row_count", None) is None:
        return law
    if isinstance(law, Coarsened):
        return replace(law, noise=law_of_row(law.noise, row))
    return law.with_parameter(law.parameter[row])
