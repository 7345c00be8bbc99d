"""Mixtures of the distributions Dirichlet(alpha + S) with random counts S: the conjugate posterior distribution of
rates given noisy counts.

The distribution of the counts S is any object with the attributes ``total`` and ``categories`` and these methods:

``pair(inside, others)`` arrays (s, t, weight): joint distribution of S[inside] and the sum of S over `others`;
``share(inside, others, alpha=, beta=)`` distribution of a share if a list of pairs would be too long, else None;
``tails(inside, others, negligible)`` as ``pair``, without pairs whose total weight is below `negligible`; ``least`` the
smallest tail probability with full relative accuracy, 0 if all tails have it; ``marginal(category)`` float64 (total +
1,): distribution of one count; ``draw(size, rng=)`` int64 (size, k).

Finite mixtures of Beta distributions have a density, distribution function, quantiles, moments and a mode without
simulation.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit, logit, xlog1py, xlogy

from ... import _checks
from ..._accuracy import EXACT, LEVEL, Accuracy, summary_frame
from ..._kernels import dirichlet
from .panel_density import TailedLaw, share_at
from .share_law import ShareLaw

ERROR = 1e-11  # relative error of the smaller tail probability at every quantile; documented, but not used by the code
_ACCEPTED = 9.5e-12  # tolerance of a quantile in the centre; beyond it, logs of tail probabilities are used
CDF_ERROR = 1e-13  # relative error of `cdf` and `sf`
_NEGLIGIBLE = 1e-17  # total weight of the components that are neglected in the centre
_TAIL = 1e-6  # probabilities of a tail below this number are sums over all components
# weight that may be neglected in tails down to 1e-20; for smaller tails, weight relative to the tail
_FAINT, _FAINTER = 1e-32, 1e-12
_FARTHEST = 745.0  # largest |log(x/(1 - x))|; beyond this, x is 0 or 1 in float64
_CHUNK = 2_000_000  # number of pairs of component and point that are evaluated together
Array = NDArray[np.float64]
Components = tuple[Array, Array, Array]


class BetaMixture(TailedLaw):
    """Mixture of the distributions Beta(a_j, b_j) with weights w_j.

    Probabilities of either tail have the relative error `CDF_ERROR` above 1e-300. At every quantile, the probability of
    the smaller tail has the relative error `ERROR`.

    Parameters
    ----------
    a, b : float64 (n,), positive.
    weights : float64 (n,), non-negative, divided by their sum. Components whose total weight is below 1e-17 are
        neglected except in tails.
    tails : function that maps a weight to (a, b, weights) of the same mixture without components whose total weight is
        below this weight; None: all components are listed.
    least : smallest level, and smallest distance of a level from 1; more extreme levels are rejected, because the
        weights are not accurate enough.
    accuracy : accuracy of the weights.
    """

    accuracy: Accuracy = EXACT
    support = (0.0, 1.0)

    def __init__(
        self,
        a: ArrayLike,
        b: ArrayLike,
        weights: ArrayLike,
        *,
        tails: Callable[[float], Components] | None = None,
        least: float = 0.0,
        accuracy: Accuracy = EXACT,
    ) -> None:
        given = np.asarray(weights, dtype=np.float64)
        shares: Array = given / given.sum()
        order = np.argsort(shares, kind="stable")
        kept = np.sort(order[np.cumsum(shares[order]) > _NEGLIGIBLE])
        self._all: Components = np.asarray(a, dtype=float), np.asarray(b, dtype=float), shares
        self._tails, self.least, self.accuracy = tails, least, accuracy
        self.a, self.b, self.weights = (part[kept] for part in self._all)

    @property
    def smallest_shape(self) -> float:
        """Smallest first parameter of a component: the mean of 1/x is infinite if it is at most 1."""
        return float(self.a.min())

    def mean(self) -> float:
        """Return the expected value of the mixture of Beta distributions."""
        return float(self.weights @ (self.a / (self.a + self.b)))

    def variance(self) -> float:
        """Return the variance of the mixture, which is the mean of the variances of the components plus the variance of
        their means. It is computed without cancellation.
        """
        n = self.a + self.b
        means = self.a / n
        centre = self.weights @ means
        return float(self.weights @ (means * (self.b / n) / (n + 1) + (means - centre) ** 2))

    def pdf(self, x: ArrayLike) -> Array:
        """Return the density of the share at x in [0, 1]. The density is +inf at 0 (at 1) if a component with a < 1 (b
        < 1) has positive weight.
        """
        return self._sum(x, lambda v: np.exp(self._norm + xlogy(self.a - 1, v) + xlog1py(self.b - 1, -v)))

    def mode(self) -> float | None:
        """Return the mode of the mixture, which is the point with the highest density.

        If the density is infinite at an end (a or b < 1), the result is the highest interior maximum, or None if there
        is none.
        """
        width = np.sqrt(self.variance())
        grid = np.concatenate([np.linspace(0, 1, 513)[1:-1], self.mean() + width * np.linspace(-8, 8, 257)])
        grid = np.unique(grid[(grid > 0) & (grid < 1)])
        slope = np.array([self._slope(x) for x in grid])
        falls = np.flatnonzero((slope[:-1] > 0) & (slope[1:] <= 0))
        modes = [brentq(self._slope, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-14) for i in falls]
        ends = self.pdf([0.0, 1.0])
        if not np.isinf(ends).any():
            modes += [0.0, 1.0]
        return float(max(modes, key=lambda x: float(self.pdf(x)))) if modes else None

    def _slope(self, x: float) -> float:
        """Return the derivative of the density of the mixture at one point, up to a positive factor."""
        logs = self._norm + (self.a - 1) * np.log(x) + (self.b - 1) * np.log1p(-x)
        return float(np.exp(logs - logs.max()) @ ((self.a - 1) * (1 - x) - (self.b - 1) * x))

    @cached_property
    def _norm(self) -> Array:
        """Return log(weight/B(a, b)) for every component of the mixture, where B is the beta function."""
        return np.asarray(np.log(self.weights) - betaln(self.a, self.b))

    def _quantile(self, level: float) -> float:
        if level in (0.0, 1.0):
            return level
        upper = level > 0.5
        tail = 1 - level if upper else level
        if tail >= _TAIL:
            x = float(brentq(lambda x: self._below(x) - level, 0.0, 1.0, xtol=1e-15, rtol=1e-14))
            if abs(float(_tail(self._all, float(logit(x)), upper)) - tail) <= _ACCEPTED * tail:
                return x
        return self._tail_root(tail, upper)

    def _tail_root(self, wanted: float, upper: bool) -> float:
        """Compute the quantile at a given log tail probability, by Newton's method within a bracket on the scale of
        log(x/(1 - x)).
        """
        a, b, weights = self._components(wanted)
        norm, sign = np.log(weights) - betaln(a, b), -1.0 if upper else 1.0
        ends, z = [-_FARTHEST, _FARTHEST], float(logit(np.clip(self.mean(), 1e-300, 1 - 1e-16)))
        for _ in range(200):
            tail = float(_tail((a, b, weights), z, upper))
            ends[int((tail > wanted) != upper)] = z
            density = float(np.exp(norm - a * np.logaddexp(0.0, -z) - b * np.logaddexp(0.0, z)).sum())
            new = z - sign * np.log(tail / wanted) * tail / density if tail > 0 and density > 0 else np.nan
            new = new if ends[0] < new < ends[1] else 0.5 * (ends[0] + ends[1])
            z, step = new, abs(new - z)
            if step <= 4e-16 * (1 + abs(z)):
                break
        return float(upper) if abs(z) >= _FARTHEST - 1e-9 and (z > 0) == upper else share_at(z)

    def _components(self, probability: float) -> Components:
        """Return all mixture components that are needed to compute a tail probability of a given size, or the quantile
        with this tail probability.
        """
        parts = self._deep if probability > _FAINT / _FAINTER else self._listed(probability * _FAINTER)
        order = np.argsort(parts[2], kind="stable")
        kept = order[np.cumsum(parts[2][order]) > 0.01 * _ACCEPTED * probability]
        return parts[0][kept], parts[1][kept], parts[2][kept]

    @cached_property
    def _deep(self) -> Components:
        return self._listed(_FAINT)

    def _listed(self, negligible: float) -> Components:
        if self._tails is None:
            return self._all
        a, b, weights = self._tails(negligible)
        return np.asarray(a, dtype=float), np.asarray(b, dtype=float), weights / weights.sum()

    def _probability(self, x: ArrayLike, *, upper: bool) -> Array:
        points = _checks.fraction("x", x)
        out = self._central(points, upper=upper)
        for place in np.argwhere((out < _TAIL) & (points > 0) & (points < 1)):
            index = tuple(place)
            z = float(logit(points[index]))
            out[index] = _tail(self._deep, z, upper)
            if 0 < out[index] < _FAINT / _FAINTER:
                out[index] = _tail(self._components(float(out[index])), z, upper)
        return out

    def _central(self, x: ArrayLike, *, upper: bool) -> Array:
        """Return the probability that a share is below given points, or above these points if `upper` is true.
        Components of the mixture with negligible weight are omitted.
        """
        if upper:
            return self._sum(x, lambda v: self.weights * betainc(self.b, self.a, 1 - v))
        return self._sum(x, lambda v: self.weights * betainc(self.a, self.b, v))

    def _below(self, x: float) -> float:
        """Return the probability that a share is below a given value. Components of the mixture with negligible weight
        are omitted.
        """
        return float((self.weights * betainc(self.a, self.b, x)).sum())

    def __repr__(self) -> str:
        return f"BetaMixture({len(self.a)} components; mean {self.mean():.6g}, sd {self.variance() ** 0.5:.3g})"

    def _sum(self, x: ArrayLike, terms: Callable[[Array], Array]) -> Array:
        points = _checks.fraction("x", x)
        flat = points.reshape(-1, 1)
        step = max(1, _CHUNK // len(self.a))
        parts = [terms(flat[i : i + step]).sum(axis=1) for i in range(0, len(flat), step)]
        return np.concatenate(parts).reshape(points.shape) if parts else np.zeros(points.shape)


def _tail(parts: Components, z: float, upper: bool) -> float:
    """Return the tail probability P(X <= x) or P(X > x) of a mixture at z = log(x/(1 - x)), computed as a sum of
    positive terms.
    """
    a, b, weights = parts
    return float(weights @ (betainc(b, a, expit(-z)) if upper else betainc(a, b, expit(z))))


Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


class CountsLaw(Protocol):
    """Interface of a distribution of counts with a fixed total."""

    total: int
    categories: int
    least: float

    def pair(self, inside: int, others: Sequence[int]) -> Pairs: ...

    def share(self, inside: int, others: Sequence[int], *, alpha: float, beta: float) -> ShareLaw | None: ...

    def tails(self, inside: int, others: Sequence[int], negligible: float) -> Pairs: ...

    def marginal(self, category: int) -> NDArray[np.float64]: ...

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]: ...


class PairedLaw(ABC):
    """Base class of distributions of counts that can list the possible pairs (count, sum of other counts) for every
    share.
    """

    least = 0.0

    @abstractmethod
    def pair(self, inside: int, others: Sequence[int]) -> Pairs:
        """Return the joint distribution of one count and the sum of the counts in `others`, as two arrays of values and
        an array of weights.
        """

    def share(self, inside: int, others: Sequence[int], *, alpha: float, beta: float) -> ShareLaw | None:
        """Return None instead of the distribution of a share, because this distribution is computed as a mixture over
        all pairs of counts.
        """
        return None

    def tails(self, inside: int, others: Sequence[int], negligible: float) -> Pairs:
        """Return the joint distribution of one count and of the sum of the counts in `others`. No pair is neglected."""
        return self.pair(inside, others)


class ExplicitLaw(PairedLaw):
    """Distribution of a vector of counts that is given by a list of possible vectors and their weights.

    Parameters
    ----------
    counts : int64 (m, k), each row with the same total.
    weights : float64 (m,), non-negative, divided by their sum.
    """

    def __init__(self, counts: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        self.rows, self.weights = np.ascontiguousarray(counts, dtype=np.int64), weights / weights.sum()
        self.categories, self.total = counts.shape[1], int(counts[0].sum())

    def marginal(self, category: int) -> NDArray[np.float64]:
        """Return the distribution of one count, as a float64 array of shape (total + 1,)."""
        return np.asarray(np.bincount(self.rows[:, category], self.weights, self.total + 1), dtype=np.float64)

    def pair(self, inside: int, others: Sequence[int]) -> Pairs:
        """Return the joint distribution of one count s and the sum t of the counts in `others`, as arrays (s, t,
        weight).
        """
        return self.rows[:, inside], self.rows[:, others].sum(axis=1), self.weights

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw independent vectors of counts, as an int64 array of shape (size, k)."""
        cumulative = np.cumsum(self.weights)
        return np.asarray(self.rows[np.searchsorted(cumulative[:-1], rng.random(size) * cumulative[-1], side="right")])


class DirichletMixture:
    """Distribution of a vector p of probabilities with p | S ~ Dirichlet(alpha + S), for random counts S.

    Parameters
    ----------
    alpha : float64 (k,), positive.
    counts : distribution of S (see the first lines of the module), available as ``.counts``.
    accuracy : accuracy of the distribution of the counts. A share has the same accuracy unless it has a separate error
        (``.beta(category, given).accuracy``).

    Notes
    -----
    In every method, ``given=(i, j, ..)`` restricts the quantity to these categories: with ``category=0, given=(0, 1)``,
    the quantity is p_0/(p_0 + p_1). Each quantity is a finite mixture of Beta distributions (``.beta(category,
    given)``), so no values are simulated. If the list of components is short, it is used. Otherwise, `ShareLaw` is
    used, which states its error.
    """

    def __init__(self, alpha: NDArray[np.float64], counts: CountsLaw, accuracy: Accuracy = EXACT) -> None:
        self.alpha, self.counts, self.accuracy = alpha, counts, accuracy
        self._betas: dict[tuple[int, tuple[int, ...] | None], BetaMixture | ShareLaw] = {}

    def mean(self, *, category: int | None = None, given: Sequence[int] | None = None) -> NDArray[np.float64] | float:
        """Return the expected value of every share, as a float64 array with one entry per share. The shares are
        relative to all categories or to the categories `given`. If `category` is passed, return a single number.
        """
        return self._each(category, given, lambda law: law.mean())

    def variance(
        self, *, category: int | None = None, given: Sequence[int] | None = None
    ) -> NDArray[np.float64] | float:
        """Return the variances of all shares, or of the shares among the categories `given`, as a float64 array with
        one element per share. If `category` is passed, return a single number.
        """
        return self._each(category, given, lambda law: law.variance())

    def pdf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the posterior density of a share at points x in [0, 1]."""
        return self.beta(category, given).pdf(x)

    def cdf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the cumulative distribution function P(share <= x) of a share at x."""
        return self.beta(category, given).cdf(x)

    def sf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the upper tail probability P(share > x) of a share."""
        return self.beta(category, given).sf(x)

    def logcdf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the log of the cumulative distribution function P(share <= x) of a share."""
        return self.beta(category, given).logcdf(x)

    def logsf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the log of the upper tail probability P(share > x) of a share at x."""
        return self.beta(category, given).logsf(x)

    def quantile(self, q: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the quantile of a share at level q, the smallest x with P(share <= x) >= q. The relative error of the
        smaller tail probability at x is 1e-11 if the components are listed (`BetaMixture`), and otherwise the `error`
        of the share (`ShareLaw`).

        Parameters
        ----------
        q : numbers in [0, 1], any shape.
        category, given : as described in the class.

        Raises
        ------
        ValueError
            If a level is outside [0, 1] or requires more accuracy than the distribution of the counts has (attribute
            ``least``).
        """
        return self.beta(category, given).quantile(q)

    def mode(self, *, category: int, given: Sequence[int] | None = None) -> float | None:
        """Return the mode of a share, the point at which its density is highest (`BetaMixture.mode`)."""
        return self.beta(category, given).mode()

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw independent vectors p of probabilities from the mixture of Dirichlet distributions, as a float64 array
        of shape (size, k).
        """
        counts = self.counts.draw(_checks.integer("size", size), rng=_checks.generator(rng))
        if self.counts.total == 0:
            return rng.dirichlet(self.alpha, size)
        return dirichlet.draw(self.alpha, counts, rng=rng)

    def summary(self, level: float = LEVEL, *, given: Sequence[int] | None = None) -> pd.DataFrame:
        """Return a table with the mean, standard deviation and central interval of every share, with one row per
        category (`_accuracy.summary_frame`).

        Parameters
        ----------
        level : level of the interval, in (0, 1).
        given : as described in the class.
        """
        group = list(range(self.counts.categories) if given is None else given)
        tails = [(1 - _checks.inside("level", level)) / 2, (1 + level) / 2]
        laws = [self.beta(i, given) for i in group]
        ends = np.array([law.quantile(tails) for law in laws])
        return summary_frame(
            [f"p{i + 1}" if given is None else f"p{i + 1} | {', '.join(f'p{j + 1}' for j in group)}" for i in group],
            mean=[law.mean() for law in laws],
            sd=[np.sqrt(law.variance()) for law in laws],
            lower=ends[:, 0],
            upper=ends[:, 1],
            level=level,
            status=[law.accuracy for law in laws],
        )

    def __repr__(self) -> str:
        means = ", ".join(f"{m:.4g}" for m in np.atleast_1d(self.mean())[:6])
        more = ", .." if self.counts.categories > 6 else ""
        return f"{type(self).__name__}({self.counts.categories} shares, total {self.counts.total}; means {means}{more})"

    def beta(self, category: int, given: Sequence[int] | None = None) -> BetaMixture | ShareLaw:
        """Return the posterior distribution of the share of one category.

        Parameters
        ----------
        category : 0..k - 1.
        given : categories among which the share is computed, at least two; by default all categories.
        """
        key = (category, None if given is None else tuple(given))
        if key not in self._betas:
            inside, others = self._split(*key)
            alpha_inside, rest = float(self.alpha[inside]), float(self.alpha[others].sum())
            law: BetaMixture | ShareLaw | None = self.counts.share(inside, others, alpha=alpha_inside, beta=rest)
            if law is None:
                law = BetaMixture(
                    *self._components(inside, others, self.counts.pair(inside, others)),
                    tails=partial(self._tails, inside, others),
                    least=self.counts.least,
                    accuracy=self.accuracy,
                )
            self._betas[key] = law
        return self._betas[key]

    def share_of_counts(
        self, *, category: int, given: tuple[int, ...]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the distribution of the share of one category in the true counts, as (increasing values,
        probabilities). This share is S_c divided by the sum of S over `given`.

        The counts are confidential data, but p is a parameter of a model. A ratio 0/0 (no records in `given`) is
        reported as NaN in the last position.
        """
        s, t, weights = self.counts.pair(*self._split(category, given))
        share = np.divide(s, s + t, out=np.full(len(s), np.nan), where=s + t > 0)
        values, inverse = np.unique(share, return_inverse=True)
        return values, np.asarray(np.bincount(inverse, weights / weights.sum()), dtype=np.float64)

    def _components(self, inside: int, others: list[int], pairs: Pairs) -> Components:
        s, t, weights = pairs
        return self.alpha[inside] + s, self.alpha[others].sum() + t, weights

    def _tails(self, inside: int, others: list[int], negligible: float) -> Components:
        return self._components(inside, others, self.counts.tails(inside, others, negligible))

    def _split(self, category: int, given: Sequence[int] | None) -> tuple[int, list[int]]:
        last = self.counts.categories - 1
        group = range(last + 1) if given is None else [_checks.integer("given", i, most=last) for i in given]
        if _checks.integer("category", category, most=last) not in group or not 2 <= len(group) == len(set(group)):
            raise ValueError(
                f"the argument `given` must contain at least two different categories, including category={category}, "
                f"got {given}"
            )
        return category, sorted(i for i in group if i != category)

    def _each(
        self, category: int | None, given: Sequence[int] | None, what: Callable[[BetaMixture | ShareLaw], float]
    ) -> NDArray[np.float64] | float:
        if category is not None:
            return what(self.beta(category, given))
        group = range(self.counts.categories) if given is None else given
        return np.array([what(self.beta(i, given)) for i in group])
