"""Dirichlet mechanism, which releases a draw from Dirichlet(r f(x) + alpha) for the counts f(x) of a data set x. It is
the exponential mechanism for the KL divergence.

The module implements Algorithm 1 of Ponnoprat (2022), and the calibration to the exact worst case instead of the bound
of Theorem 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betainc, betaincc, digamma, gammaln, polygamma, xlogy

from .. import _checks
from .._accounting import renyi
from .._accounting.composition import RELATIONS, RenyiDP
from .._accounting.privacy_loss import DirichletLoss
from .noise_law import changed_counts

ORDERS = (1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
_LARGEST_RATIO = 1000.0  # largest r/alpha for which the losses are integrated


def calibrate(epsilon: float, *, order: float, l2_squared: float = 2.0, linf: float = 1.0) -> tuple[float, float]:
    """Compute the parameters r and alpha of the Dirichlet mechanism for (order, epsilon)-RDP by Algorithm 1 of
    Ponnoprat (2022).

    Parameters
    ----------
    epsilon : > 0.
    order : lambda >= 1.
    l2_squared, linf : squared L2 and L-infinity sensitivity of the counts; 2 and 1 if one record is replaced.

    Returns
    -------
    tuple of float
        r with a relative error of 1e-13, and alpha = 1 + 4 (order - 1) r linf.

    Notes
    -----
    The expression in line 1 increases in r, so the root is unique. It is bracketed with psi'(1 + x) <= psi'(1) and
    computed in log r.
    """
    epsilon, order = _checks.positive("epsilon", epsilon), renyi.order_at_least_one(order)
    low = float(np.sqrt(2 * epsilon / (order * _checks.positive("l2_squared", l2_squared) * polygamma(1, 1))))
    r = low
    if order > 1:

        def bound(s: float) -> float:
            return renyi.dirichlet_bound(float(np.exp(s)), order=order, l2_squared=l2_squared, linf=linf)

        high = low * 2
        while bound(float(np.log(high))) < epsilon:
            high *= 2
        r = float(
            np.exp(brentq(lambda s: float(np.log(bound(s) / epsilon)), np.log(low) - 1e-9, np.log(high), xtol=1e-15))
        )
        r = _polish(r, epsilon, order, l2_squared, linf)
    return r, 1 + 4 * (order - 1) * r * linf


def calibrate_exact(epsilon: float, *, order: float, alpha_per_r: float | None = None) -> tuple[float, float]:
    """Compute the parameters r and alpha of the Dirichlet mechanism for which the exact Rényi divergence, for the
    worst-case replacement of one record, is `epsilon`.

    Parameters
    ----------
    epsilon, order : as in `calibrate`.
    alpha_per_r : the relation is alpha = 1 + alpha_per_r r; None uses 4 (order - 1), as in Algorithm 1.

    Returns
    -------
    tuple of float
        r with a relative error of 1e-12, and alpha.

    Raises
    ------
    ValueError, TypeError
        If an argument is not a number or is outside its range.
    """
    epsilon, order = _checks.positive("epsilon", epsilon), renyi.order_at_least_one(order)
    slope = 4 * (order - 1) if alpha_per_r is None else _checks.number("alpha_per_r", alpha_per_r)
    if slope < 0:
        raise ValueError(f"alpha_per_r must be >= 0, got {alpha_per_r}")
    return _exact_root(epsilon, order, lambda r: 1 + slope * r)


def calibrate_for_kl(epsilon: float, *, order: float, counts: ArrayLike) -> tuple[float, float]:
    """Compute the pair (r, alpha) that minimises the expected KL divergence for a public histogram `counts`. The
    minimum is over all pairs whose exact worst-case Rényi divergence is `epsilon`.

    The argument `counts` must not be the data that are then released. Choose it from public knowledge, such as an
    earlier histogram.

    Parameters
    ----------
    epsilon, order : as in `calibrate`.
    counts : (d,) integers >= 0, not all equal: for a flat histogram, the largest alpha is always optimal.

    Returns
    -------
    tuple of float
        r and alpha; alpha between 1e-9 and 1e15.

    Raises
    ------
    ValueError, TypeError
        If `counts` is flat or so nearly flat that no alpha up to 1e15 is optimal, or if an argument is outside its
        range.

    Notes
    -----
    About 40 calibrations of O(1) and evaluations of the divergence of O(d); another 130 if the optimal alpha is outside
    [1e-3, 1e4].
    """
    epsilon, order = _checks.positive("epsilon", epsilon), renyi.order_at_least_one(order)
    counts = _checks.counts("counts", counts, least_size=2)
    if np.all(counts == counts[0]):
        raise ValueError(
            f"counts must not all be equal, got {counts[0]} for all counts: the optimal alpha would be infinite, "
            "because the expected loss decreases towards 0 as alpha increases"
        )

    def cost(log_alpha: float) -> float:
        alpha = float(np.exp(log_alpha))
        r, _ = _exact_root(epsilon, order, lambda _: alpha)
        return Dirichlet(r=r, alpha=alpha).expected_kl(counts)

    alpha = float(np.exp(_least_cost(cost)))
    return _exact_root(epsilon, order, lambda _: alpha)


def _least_cost(cost: Callable[[float], float]) -> float:
    """Minimise a function of log alpha for alpha in [1e-3, 1e4]. If the minimum is at a limit of this range, extend the
    range to [1e-9, 1e15].
    """
    ends = np.log(1e-3), np.log(1e4)
    best = float(minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-9}).x)
    if min(best - ends[0], ends[1] - best) > 1e-3:
        return best
    grid = np.log(np.geomspace(1e-9, 1e15, 97))
    place = int(np.argmin([cost(x) for x in grid]))
    if place in (0, len(grid) - 1):
        raise ValueError(
            f"the optimal alpha must lie between 1e-9 and 1e15, got about {np.exp(grid[place]):.0e}, because the "
            "counts are too similar: pass counts that differ more"
        )
    ends = grid[place - 1], grid[place + 1]
    return float(minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-9}).x)


@dataclass(frozen=True, kw_only=True)
class Dirichlet:
    """Mechanism that releases a draw of Dirichlet(r f + alpha) for a histogram f.

    Parameters
    ----------
    r : > 0, weight of one record.
    alpha : parameter of every cell without records, > 0.
    """

    r: float
    alpha: float

    def __post_init__(self) -> None:
        _checks.positive("r", self.r)
        _checks.positive("alpha", self.alpha)

    @classmethod
    def calibrated(cls, epsilon: float, *, order: float) -> "Dirichlet":
        """Return the Dirichlet mechanism that is exactly (order, `epsilon`)-RDP for the worst-case replacement of one
        record.
        """
        r, alpha = calibrate_exact(epsilon, order=order)
        return cls(r=r, alpha=alpha)

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator, size: int | None = None) -> NDArray[np.float64]:
        """Draw one or more releases for given counts.

        Parameters
        ----------
        counts : (d,) integers >= 0, with d >= 2.
        rng : numpy Generator.
        size : number of independent releases; None returns a single release.

        Returns
        -------
        float64 (d,) or (size, d)
            Probabilities; each row sums to 1.
        """
        return _checks.generator(rng).dirichlet(self._parameter(counts), size)

    def mean(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the expected value of a release, as a float64 array of shape (d,). It is (r f + alpha) / (r N + d
        alpha) for d counts f with the total N. The parameters of the mechanism are r and alpha. The argument `counts`
        is that of `sample`.
        """
        a = self._parameter(counts)
        return np.asarray(a / a.sum())

    def variance(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the variance of every cell of a release, as a float64 array of shape (d,). The argument `counts` is
        that of `sample`.
        """
        mean, total = self.mean(counts), self._parameter(counts).sum()
        return np.asarray(mean * (1 - mean) / (total + 1))

    def expected_kl(self, counts: ArrayLike) -> float:
        """Return the exact expected KL divergence E D_KL(f/N || release) in nats, for counts f with the total N > 0."""
        p, a = _shares(counts), self._parameter(counts)
        return float(np.sum(xlogy(p, p) - p * digamma(a)) + digamma(a.sum()))

    def kl_variance(self, counts: ArrayLike) -> float:
        """Return the exact variance of the KL divergence D_KL(f/N || release), where f/N are the relative frequencies
        of the counts. The argument `counts` is that of `expected_kl`.
        """
        p, a = _shares(counts), self._parameter(counts)
        return float(np.sum(p**2 * polygamma(1, a)) - polygamma(1, a.sum()))

    def log_weights(self, noisy: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the likelihood factor of a released probability given the count of the same cell, up
        to a constant. The arguments are broadcast against each other.

        With a fixed total, the density of the release is the product of these factors.

        Parameters
        ----------
        noisy : released probabilities in (0, 1].
        counts : integers >= 0, the possible true counts.

        Raises
        ------
        ValueError
            If a released probability is not in (0, 1].
        """
        y = np.asarray(noisy, dtype=float)
        if not np.all((y > 0) & (y <= 1)):
            raise ValueError(f"released probabilities must lie in (0, 1], got {y[~((y > 0) & (y <= 1))][0]:.12g}")
        a = self.r * np.asarray(counts, dtype=float) + self.alpha
        return np.asarray((a - 1) * np.log(y) - gammaln(a))

    def tails(
        self, noisy: float, counts: ArrayLike, *, total: int, categories: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and upper tail probabilities of one released share, for each true count. The probabilities
        are P(share <= noisy) and P(share >= noisy), where `noisy` is the released share.

        One share has the Beta distribution with parameters r n + alpha and r (total - n) + (categories - 1) alpha.

        Parameters
        ----------
        noisy : released share, in (0, 1].
        counts : integers in 0..total, the possible true counts n of the category.
        total : number of records.
        categories : number of categories, >= 2.

        Returns
        -------
        lower, upper : float64 of the shape of `counts`.
        """
        n = np.asarray(counts, dtype=float)
        a, b = self.r * n + self.alpha, self.r * (total - n) + (categories - 1) * self.alpha
        return np.asarray(betainc(a, b, noisy)), np.asarray(betaincc(a, b, noisy))

    def cost(
        self,
        relation: str = "replace a record",
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        orders: Sequence[float] = ORDERS,
        source: str = "data",
    ) -> RenyiDP:
        """Return the privacy cost of one release, given by the exact worst-case Rényi divergence at every order at
        which this divergence is finite.

        Parameters
        ----------
        relation : ``"replace a record"``.
        sensitivity : L1 sensitivity of the counts; None: 2, because one record moves from one count to another.
        changes : instead of `sensitivity`, the sizes of the changes of the two counts that change, e.g. ``(1, 1)``;
            they are equal, because the total is fixed.
        orders : > 1.
        source : name of the confidential data.

        Returns
        -------
        RenyiDP
            The cost includes the loss distribution, which gives a tighter composition.

        Raises
        ------
        ValueError
            If the divergence is unbounded at all of the orders, or the changes are not two equal numbers.
        """
        _checks.one_of("relation", relation, RELATIONS[1:2])
        sizes = changed_counts(changes, sensitivity)
        if sizes is not None and (len(sizes) != 2 or sizes[0] != sizes[1]):
            raise ValueError(
                f"changes must be two equal numbers, got {changes!r}: the total is fixed, so one count decreases by "
                "the same amount by which another count increases"
            )
        moved = 1.0 if sensitivity is None else _checks.positive("sensitivity", sensitivity) / 2
        r = self.r * (moved if sizes is None else sizes[0])
        divergences = {order: renyi.dirichlet_worst_case(r, alpha=self.alpha, order=order) for order in orders}
        finite = {order: epsilon for order, epsilon in divergences.items() if np.isfinite(epsilon)}
        if not finite:
            raise ValueError(
                "the divergence must be finite for at least one order, but is infinite for the orders "
                f"{', '.join(f'{o:g}' for o in orders)}: pass smaller orders"
            )
        mechanisms = (DirichletLoss(r, self.alpha),) if r <= _LARGEST_RATIO * self.alpha else None
        return RenyiDP(source=source, relation=relation, epsilons=finite, mechanisms=mechanisms)

    def renyi(self, *, order: float) -> float:
        """Return the Rényi privacy cost of one release at a given order >= 1. The cost is the exact maximum over all
        replacements of one record.
        """
        return renyi.dirichlet_worst_case(self.r, alpha=self.alpha, order=order)

    def _parameter(self, counts: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(self.r * _checks.counts("counts", counts, least_size=2) + self.alpha, dtype=float)


def _shares(counts: ArrayLike) -> NDArray[np.float64]:
    counts = _checks.counts("counts", counts, least_size=2)
    if counts.sum() == 0:
        raise ValueError(
            "at least one count must be > 0, got only zeros, for which the KL divergence is not defined: pass counts "
            "with a positive sum"
        )
    return np.asarray(counts / counts.sum())


def _polish(r: float, epsilon: float, order: float, l2_squared: float, linf: float) -> float:
    """Improve the parameter r of the Dirichlet mechanism by one Newton step, and return the result. After this step, r
    is accurate to double precision.
    """
    x = 3 * (order - 1) * linf
    value = renyi.dirichlet_bound(r, order=order, l2_squared=l2_squared, linf=linf)
    slope = value * (2 / r + x * float(polygamma(2, 1 + x * r) / polygamma(1, 1 + x * r)))
    return r - (value - epsilon) / slope


def _exact_root(epsilon: float, order: float, alpha_of: Callable[[float], float]) -> tuple[float, float]:
    """Return the pair (r, alpha), with alpha = alpha_of(r), for which the worst-case Rényi divergence is `epsilon`. The
    divergence increases with r and is infinite for r >= alpha/(order - 1).
    """

    def gap(log_r: float) -> float:
        r = float(np.exp(log_r))
        value = renyi.dirichlet_worst_case(r, alpha=alpha_of(r), order=order)
        return float(np.log(min(value, 1e300)) - np.log(epsilon))

    low = float(np.log(1e-4 * min(1.0, epsilon)))
    while gap(low) > 0:
        low -= 1
    high = low + 1
    while gap(high) < 0:
        high += 1
    r = float(np.exp(brentq(gap, low, high, xtol=1e-14)))
    return r, alpha_of(r)
