"""Priors of a count (assumptions about the count before its noisy value is known), and the choice of a prior.

The prior of each count is the requested prior, or a default for each group. Results state which prior was used. The
grid of a fitted prior has narrow cells in regions with many counts, and wider cells for large counts.

The fit maximises the penalised evidence of a histogram, and also chooses the smoothness.

The log densities f of the cells maximise sum_i c_i log sum_b E_ib m_b(f) - f' P f/2, where E_ib is the mean likelihood
of row i on cell b, m_b the mass of the cell, and P a penalty of second differences. If the expected number of counts in
each cell is held fixed, this is one step of EM. Its information matrix n (diag m - m m') + P is used if the observed
information is not positive definite, so that every step increases the evidence. The evidence in Laplace's approximation
determines the penalty, and whether the cell of 0 may differ from its neighbours.

A fitted prior is the histogram that maximises the probability of the noisy values of many counts.

The density is constant on each cell of a grid, and the log density is smooth unless many counts indicate otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_solve
from scipy.special import betainc, gammaln

from ... import _checks
from . import windows
from .cells import FEWEST, Cells, enough, groups_of
from .windows import CountPrior

Array = NDArray[np.float64]
WORDS = ("flat", "1/(1+n)", "geometric", "negative_binomial", "table", "fitted")
_LOG_ZERO = -np.inf


class Flat:
    """Improper flat prior that gives every count the same weight. Flat priors for many counts imply an assumption about
    their sum.
    """

    proper, peak, first, last = False, 0.0, -np.inf, np.inf

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log weight of the flat prior, which is 0 for every integer, including negative integers."""
        return np.zeros(np.shape(counts))

    def below(self, counts: ArrayLike) -> Array:
        """Return NaN for every count, because an improper prior does not define probabilities."""
        return np.full(np.shape(counts), np.nan)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return infinite limits, because no finite range contains almost all of the weight of an improper prior."""
        return -np.inf, np.inf

    def settings(self) -> dict[str, object]:
        """Return the description of the prior as configuration keys and values."""
        return {"law": "flat"}


class Reciprocal:
    """Prior with weight 1/(1 + n) for every count n >= 0. It is improper and nearly flat in the logarithm of the
    count.
    """

    proper, peak, first, last = False, 0.0, 0.0, np.inf

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior weight -log(1 + n) of a count n, which is -inf for n < 0."""
        n = np.asarray(counts, dtype=np.float64)
        return np.where(n >= 0, -np.log1p(np.maximum(n, 0.0)), _LOG_ZERO)

    def below(self, counts: ArrayLike) -> Array:
        """Return NaN for every count, because an improper prior does not define probabilities."""
        return np.full(np.shape(counts), np.nan)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return infinite limits, because no finite range contains almost all of the weight of an improper prior."""
        return -np.inf, np.inf

    def settings(self) -> dict[str, object]:
        """Return the description of the prior as configuration keys and values."""
        return {"law": "1/(1+n)"}


class Geometric:
    """Geometric prior P(n) = (1 - a) a^n of a count n, with a = mean/(1 + mean).

    Parameters
    ----------
    mean : mean of the count, > 0.
    """

    proper, first, last = True, 0.0, np.inf

    def __init__(self, mean: float) -> None:
        self.mean = _checks.positive("mean", mean)
        self.peak = -float(np.log1p(self.mean))

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior probabilities of given counts, which are -inf for negative counts."""
        n = np.asarray(counts, dtype=np.float64)
        return np.where(n >= 0, self.peak - n * np.log1p(1 / self.mean), _LOG_ZERO)

    def below(self, counts: ArrayLike) -> Array:
        """Return the prior probability P(count < n) for every n in an array."""
        n = np.ceil(np.maximum(np.asarray(counts, dtype=np.float64), 0.0))
        return np.asarray(-np.expm1(-n * np.log1p(1 / self.mean)))

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return the first and the last count of a range with prior probability at least 1 - exp(-log_mass)."""
        return 0.0, float(np.ceil(log_mass / np.log1p(1 / self.mean)))

    def settings(self) -> dict[str, object]:
        """Return the description of the prior as configuration keys and values."""
        return {"law": "geometric", "mean": self.mean}


class NegativeBinomial:
    """Negative binomial prior: the count is Poisson with a Gamma-distributed mean. The variance of the count is mean +
    mean^2/shape. The prior is geometric at shape 1.

    Parameters
    ----------
    mean : mean of the count, > 0.
    shape : shape of the Gamma distribution, > 0; small if there are many zeros and a long tail.
    """

    proper, first, last = True, 0.0, np.inf

    def __init__(self, mean: float, shape: float) -> None:
        self.mean, self.shape = _checks.positive("mean", mean), _checks.positive("shape", shape)
        top = max(int(np.floor(self.mean * (self.shape - 1) / self.shape)), 0)
        self.peak = float(self.log_weights(np.array([top, top + 1])).max())

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior probabilities of given counts, which are -inf for negative counts."""
        n = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
        rising = gammaln(n + self.shape) - gammaln(n + 1) - gammaln(self.shape)
        logs = rising - n * np.log1p(self.shape / self.mean) - self.shape * np.log1p(self.mean / self.shape)
        return np.where(np.asarray(counts) >= 0, logs, _LOG_ZERO)

    def below(self, counts: ArrayLike) -> Array:
        """Return the prior probability P(count < n) for every n in an array."""
        n = np.ceil(np.maximum(np.asarray(counts, dtype=np.float64), 0.0))
        return np.where(n > 0, betainc(self.shape, np.maximum(n, 1.0), self.shape / (self.shape + self.mean)), 0.0)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return the first and the last count of a range with prior probability at least 1 - exp(-log_mass)."""
        last = np.ceil(self.mean + self.shape + 1.0)
        while True:
            fall = (
                (last + self.shape) / (last + 1) * self.mean / (self.mean + self.shape)
            )  # ratio of consecutive weights, or an upper bound
            if fall < 1 and self.log_weights(last) - np.log1p(-fall) <= -log_mass:
                return 0.0, float(last)
            last = np.ceil(1.2 * last)

    def settings(self) -> dict[str, object]:
        """Return the description of the prior as configuration keys and values."""
        return {"law": "negative_binomial", "mean": self.mean, "shape": self.shape}


class Listed:
    """Prior that assigns given probabilities to the counts in a list. All other counts have probability 0.

    Parameters
    ----------
    counts : integers >= 0, all distinct.
    probabilities : numbers >= 0 with a positive sum, divided by their sum.
    """

    proper = True

    def __init__(self, counts: ArrayLike, probabilities: ArrayLike) -> None:
        n, p = _checks.counts("counts", counts), _checks.reals("probabilities", probabilities)
        if len(n) != len(p) or len(np.unique(n)) != len(n):
            raise ValueError(
                f"counts must be distinct, with one probability per count, got {len(n)} counts ({len(np.unique(n))} "
                f"distinct) and {len(p)} probabilities"
            )
        if p.min() < 0 or not p.sum() > 0:
            raise ValueError(
                f"probabilities must be >= 0 with a positive sum, got the minimum {p.min()} and the sum {p.sum()}"
            )
        order = np.argsort(n)
        self.counts = n[order]
        with np.errstate(divide="ignore"):
            self.logs: Array = np.log(p[order] / p.sum())
        self.peak = float(self.logs.max())
        possible = self.counts[self.logs > _LOG_ZERO]
        self.first, self.last = float(possible[0]), float(possible[-1])

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior probabilities of given counts, which are -inf for counts that are not listed."""
        n = np.asarray(counts, dtype=np.float64)
        place = np.minimum(np.searchsorted(self.counts, n), len(self.counts) - 1)
        return np.where(self.counts[place] == n, self.logs[place], _LOG_ZERO)

    def below(self, counts: ArrayLike) -> Array:
        """Return the prior probability P(count < n) for every n in an array."""
        sums = np.concatenate([[0.0], np.cumsum(np.exp(self.logs))])
        return np.asarray(sums[np.searchsorted(self.counts, np.asarray(counts, dtype=np.float64))])

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return the smallest and the largest count that have positive prior probability."""
        return self.first, self.last

    def settings(self) -> dict[str, object]:
        """Return the configuration keys and values that describe the prior, without the list of counts."""
        return {"law": "table", "counts": len(self.counts)}


class Splits:
    """Improper prior weights Gamma(n + alpha)/(Gamma(alpha) n!) of a count n. The product of these weights over all
    counts, times a factor of the total, is the Dirichlet-multinomial distribution.

    Parameters
    ----------
    alpha : concentration of one category, > 0.
    """

    proper, first, last = False, 0.0, np.inf

    def __init__(self, alpha: float) -> None:
        self.alpha = _checks.positive("alpha", alpha)
        self.peak = 0.0 if self.alpha <= 1 else np.inf

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior weights of given counts, which are -inf for negative counts."""
        n = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
        logs = gammaln(n + self.alpha) - gammaln(n + 1) - gammaln(self.alpha)
        return np.where(np.asarray(counts) >= 0, logs, -np.inf)

    def below(self, counts: ArrayLike) -> Array:
        """Return NaN for every count, because an improper prior does not define probabilities."""
        return np.full(np.shape(counts), np.nan)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return infinite limits, because no finite range contains almost all of the weight of an improper prior."""
        return -np.inf, np.inf

    def settings(self) -> dict[str, object]:
        """Return the description of the prior as configuration keys and values."""
        return {"law": "multinomial", "alpha": self.alpha}


def prior_of(words: Any) -> CountPrior:
    """Build a prior from its description as a string, a mapping or an object. The string ``"fitted"`` is not accepted
    (see `priors.fit`).

    Parameters
    ----------
    words : ``"flat"``, ``"1/(1+n)"``; ``{law: geometric, mean: m}``, ``{law: negative_binomial, mean: m, shape: s}``,
        ``{law: table, counts: [..], probabilities: [..]}``; or an object with ``log_weights``.

    Returns
    -------
    CountPrior

    Raises
    ------
    ValueError, TypeError
        If a key is unknown or missing.
    """
    if hasattr(words, "log_weights"):
        prior: CountPrior = words
        return prior
    given = {"law": words} if isinstance(words, str) else words
    if not isinstance(given, Mapping):
        raise TypeError(
            f"prior must be one of {', '.join(WORDS)}, a mapping with the key 'law', or the result of priors.fit(..), "
            f"got {words!r}"
        )
    law = given.get("law")
    if law == "fitted":
        raise ValueError(
            "prior must not be 'fitted' for a single noisy count: fit the prior to many counts with priors.fit(..), "
            "and pass the result"
        )
    if law not in WORDS:
        hint = get_close_matches(str(law), WORDS, n=1)
        raise ValueError(
            f"prior must be one of {', '.join(WORDS)}, got {law!r}" + (f": did you mean {hint[0]}?" if hint else "")
        )
    needs = _NEEDS[law]
    if set(given) - {"law"} != set(needs):
        got = ", ".join(sorted(set(given) - {"law"})) or "none"
        rule = f"requires the parameters {' and '.join(needs)}" if needs else "must not have parameters"
        raise ValueError(f"prior: the distribution {law} {rule}, got {got}")
    count_prior: CountPrior = _MADE[law](**{name: given[name] for name in needs})
    return count_prior


_NEEDS = {
    "flat": (),
    "1/(1+n)": (),
    "geometric": ("mean",),
    "negative_binomial": ("mean", "shape"),
    "table": ("counts", "probabilities"),
}
_MADE: dict[str, Any] = {
    "flat": Flat,
    "1/(1+n)": Reciprocal,
    "geometric": Geometric,
    "negative_binomial": NegativeBinomial,
    "table": Listed,
}


Whole = NDArray[np.int64]
_GROWTH = 0.25  # largest width of a cell, relative to the count
_NOISE = 0.2  # smallest useful width of a cell, relative to the standard deviation of the noise
_SHARE = 1 / 150  # target fraction of the counts in a cell
_RIDGE = 1e-6


def edges_of(centre: Array, sd: Array, last: float) -> Whole:
    """Return the edges of the bins of a histogram of counts. The first edge is 0. Bin b contains the counts
    edges[b]..edges[b + 1] - 1, and the count 0 has a separate bin.

    Parameters
    ----------
    centre : float64 (n,), rough values of the counts.
    sd : float64 (n,), standard deviations of their noise.
    last : largest count that the prior must cover.

    Returns
    -------
    int64 (cells + 1,)
        Increasing edges.
    """
    places, width = np.sort(centre), _NOISE * np.quantile(sd, 0.25)
    hold = max(int(np.ceil(_SHARE * len(places))), 1)
    edges = [0, 1]
    while edges[-1] <= last or len(edges) < 6:
        n = edges[-1]
        ahead = np.searchsorted(places, n) + hold
        reach = places[ahead] - n if ahead < len(places) else np.inf
        step = min(max(reach, width, 1.0), max(_GROWTH * n, width, 1.0))
        edges.append(n + max(int(step), 1))
    return np.array(edges, dtype=np.int64)


def penalty(cells: int, smoothness: float, zero: float) -> Array:
    """Return the matrix of the quadratic roughness penalty on the log densities of a histogram. The penalty is
    `smoothness` times the sum of the squared second differences of the log densities.

    Parameters
    ----------
    cells : number of cells, at least 5.
    smoothness : weight of the penalty, > 0.
    zero : weight of the penalty for the difference at the cell of 0, instead of `smoothness`.

    Returns
    -------
    float64 (cells, cells)
        Positive definite. A geometric sequence of densities has almost no penalty.
    """
    second = np.diff(np.eye(cells), n=2, axis=0)
    weights = np.full(len(second), smoothness)
    weights[0] = zero
    return np.asarray((second.T * weights) @ second + _RIDGE * np.eye(cells))


_SMOOTH = 10.0 ** np.arange(5, -2, -1)
_USUAL, _SPREAD = 1.5, 1.0  # normal prior of log10 of the smoothness, so that few counts cannot give a rough prior
_FREE = 0.1  # smoothness at 0 if the cell of 0 may differ; a factor of exp(3) is one standard deviation
_ROUNDS = 60
_STEP = 3.0  # largest change of a log density in one step
_GAIN = 1e-4  # the maximum is reached if the gain in log evidence is below this
_ROWS = 2_048  # number of rows that are processed together
_ONE_THREAD = 900_000  # largest number of multiplications of a matrix product that is computed by one thread
_SMALLEST_BLOCK = 16  # smallest number of rows in a block of `_cross`


def largest(likelihood: Array, times: Array, width: Array) -> tuple[Array, float]:
    """Return the bin probabilities and the smoothness of the histogram prior that maximise the penalised evidence.

    Parameters
    ----------
    likelihood : float64 (rows, cells), mean likelihood of every row on every cell, up to a factor per row.
    times : float64 (rows,), multiplicity of each row.
    width : float64 (cells,), number of counts in each cell.

    Returns
    -------
    masses : float64 (cells,)
    smoothness : float
    """
    problem = _Problem(likelihood, times, width)
    best, masses, chosen = -np.inf, width, 0.0
    for free in (False, True):
        f, worse = -np.log(1.0 + np.cumsum(width)), 0
        for smoothness in _SMOOTH:
            weights = penalty(len(width), smoothness, _FREE if free else smoothness)
            f, evidence = problem.climb(f, weights)
            evidence -= ((np.log10(smoothness) - _USUAL) / _SPREAD) ** 2 / 2
            worse = 0 if evidence > best else worse + 1
            if evidence > best:
                best, masses, chosen = evidence, problem.masses(f), float(smoothness)
            elif worse > 1:
                break
    return masses, chosen


class _Problem:
    """Penalised log evidence as a function of the log densities of a histogram prior, with the gradient and the
    information matrix of this function.
    """

    def __init__(self, likelihood: Array, times: Array, width: Array) -> None:
        self.likelihood, self.times, self.width, self.n = likelihood, times, width, float(times.sum())

    def masses(self, f: Array) -> Array:
        weights = self.width * np.exp(f - f.max())
        return np.asarray(weights / weights.sum())

    def value(self, f: Array, weights: Array) -> float:
        each = np.einsum("ij,j->i", self.likelihood, self.masses(f))
        with np.errstate(divide="ignore"):
            return float(self.times @ np.log(each) - f @ weights @ f / 2)

    def climb(self, f: Array, weights: Array) -> tuple[Array, float]:
        """Return the log densities that maximise the penalised log-likelihood for given penalty weights, and the log
        evidence of these weights.
        """
        value = self.value(f, weights)
        for _ in range(_ROUNDS):
            slope, complete, observed = self._local(f, weights)
            new = next(
                (
                    candidate
                    for info in (observed, complete)
                    if (candidate := self._step(f, value, slope, info, weights))
                ),
                None,
            )
            if new is None:
                break
            gain = new[1] - value
            f, value = new
            if gain < _GAIN:
                break
        _, complete, observed = self._local(f, weights)
        root = _root(observed)
        root = _root(complete) if root is None else root
        assert root is not None
        size = np.linalg.slogdet(weights)[1] / 2 - np.log(np.diag(root)).sum()
        return f, value + float(size)

    def _step(
        self, f: Array, value: float, slope: Array, information: Array, weights: Array
    ) -> tuple[Array, float] | None:
        """Return updated log densities with a larger penalised log-likelihood, or None if no step increases the
        penalised log-likelihood.
        """
        root = _root(information)
        if root is None:
            return None
        step = cho_solve((root, True), slope)
        size = min(1.0, _STEP / max(float(np.abs(step).max()), 1e-300))
        while size > 1e-4:
            new = f + size * step
            new -= new.max()
            new_value = self.value(new, weights)
            if new_value > value:
                return new, new_value
            size /= 2
        return None

    def _local(self, f: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Return the gradient of the penalised log evidence, the complete-data information matrix of the EM algorithm,
        and the observed information matrix.
        """
        m = self.masses(f)
        expected, cross = np.zeros(len(m)), np.zeros((len(m), len(m)))
        for start in range(0, len(self.times), _ROWS):
            part, times = self.likelihood[start : start + _ROWS], self.times[start : start + _ROWS]
            each = np.einsum("ij,j->i", part, m)
            expected += np.einsum("i,ij->j", times / each, part)
            cross += _cross(part * (np.sqrt(times) / each)[:, None])
        expected *= m
        slope = expected - self.n * m - weights @ f
        complete = self.n * (np.diag(m) - np.outer(m, m)) + weights
        observed = complete - np.diag(expected) + cross * np.outer(m, m)
        return slope, complete, observed


def _cross(rows: Array) -> Array:
    """Return the matrix product rows.T @ rows, computed as a sum over blocks of rows.

    NumPy computes a small product with one thread. With several threads, most of the CPU time of a fit would be spent
    on waiting for other threads. The same holds for products of a matrix and a vector, which are computed by `einsum`.
    If there are so many columns that blocks would be inefficient, the product is computed as a whole.
    """
    size = _ONE_THREAD // rows.shape[1] ** 2
    if size < _SMALLEST_BLOCK:
        return np.asarray(rows.T @ rows)
    whole = len(rows) // size * size
    stacked, last = rows[:whole].reshape(-1, size, rows.shape[1]), rows[whole:]
    return np.asarray(np.matmul(stacked.transpose(0, 2, 1), stacked.copy()).sum(axis=0) + last.T @ last.copy())


def _root(information: Array) -> Array | None:
    try:
        return np.asarray(np.linalg.cholesky(information + 1e-9 * np.trace(information) * np.eye(len(information))))
    except np.linalg.LinAlgError:
        return None


# a fitted prior is uncertain if its standard deviation is below this number of standard errors of its mean
CERTAIN = 2.0
MOST_ROWS = 20_000  # largest number of distinct rows for a fit; if there are more, every k-th row is used
_LOG_MASS = 25.0  # smaller likelihoods contain less than 1e-11 of the mass of a row
_COUNTS = Reciprocal()  # counts start at 0


class Fitted:
    """Prior distribution of a count, given by a fitted histogram of counts.

    Parameters
    ----------
    edges : int64 (cells + 1,), increasing from 0: cell b contains the counts edges[b]..edges[b + 1] - 1.
    masses : float64 (cells,), probability of each cell, divided by their sum.
    fitted_on : number of counts used in the fit.
    smoothness : weight of the penalty.
    noise : float64 (counts,), variances of the noise of the counts used in the fit; by default 0 for all counts.
    """

    proper = True

    def __init__(
        self, edges: ArrayLike, masses: ArrayLike, *, fitted_on: int, smoothness: float, noise: ArrayLike = ()
    ) -> None:
        self.edges = np.asarray(edges, dtype=np.int64)
        p = np.asarray(masses, dtype=np.float64)
        total = p.sum()
        # masses that have already been normalised are not changed
        self.masses: Array = p if abs(total - 1) <= 1e-12 else p / total
        with np.errstate(divide="ignore"):
            self.logs: Array = np.log(self.masses / np.diff(self.edges))
        self.fitted_on, self.smoothness = fitted_on, smoothness
        spread = self.variance() + np.asarray(noise, dtype=np.float64)
        with np.errstate(divide="ignore"):
            self.mean_error = float(1 / np.sqrt((1 / spread).sum())) if len(spread) else self.sd() / fitted_on**0.5
        self.peak = float(self.logs.max())
        self.first, self.last = 0.0, float(self.edges[-1] - 1)

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior probabilities of given counts. The value is -inf for counts outside the cells of the
        histogram.
        """
        n = np.asarray(counts, dtype=np.float64)
        cell = np.searchsorted(self.edges, n, side="right") - 1
        inside = (cell >= 0) & (cell < len(self.logs))
        return np.where(inside, self.logs[np.where(inside, cell, 0)], -np.inf)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return the smallest and the largest count that the histogram covers."""
        return self.first, self.last

    def below(self, counts: ArrayLike) -> Array:
        """Return the prior probability P(count < n) for every n in an array."""
        n = np.clip(np.asarray(counts, dtype=np.float64), 0, self.edges[-1])
        sums = np.concatenate([[0.0], np.cumsum(self.masses)])
        return np.asarray(np.interp(n, self.edges, sums))

    def mean(self) -> float:
        """Return the expected value of the count under the fitted prior."""
        return float(self.masses @ (self.edges[:-1] + self.edges[1:] - 1) / 2)

    def variance(self) -> float:
        """Return the variance of the count under the fitted prior. All counts within a cell of this prior are equally
        probable.
        """
        middle = (self.edges[:-1] + self.edges[1:] - 1) / 2
        within = (np.diff(self.edges).astype(np.float64) ** 2 - 1) / 12
        return float(self.masses @ ((middle - self.mean()) ** 2 + within))

    def sd(self) -> float:
        """Return the standard deviation of the count under the fitted prior."""
        return float(np.sqrt(self.variance()))

    @property
    def uncertain(self) -> bool:
        """True if the standard deviation of the fitted prior is below `CERTAIN` times the standard error of its mean.
        Intervals under such a prior are too short, because they treat the mean as known.
        """
        return self.sd() < CERTAIN * self.mean_error

    def settings(self) -> dict[str, object]:
        """Return the details of the fitted histogram and of the fit, in a form that can be written as JSON."""
        return {
            "law": "fitted",
            "fitted_on": self.fitted_on,
            "cells": len(self.masses),
            "smoothness": self.smoothness,
            "mean": self.mean(),
            "mean_error": self.mean_error,
            "sd": self.sd(),
            "uncertain": self.uncertain,
            "zero": float(self.masses[0]),
        }


def fit(cells: Cells) -> Fitted:
    """Fit a prior to noisy counts by maximum likelihood with a roughness penalty.

    Parameters
    ----------
    cells : noisy counts; rows that are invalid or not measured are skipped.

    Returns
    -------
    Fitted

    Raises
    ------
    ValueError
        If fewer than `FEWEST` counts remain.
    """
    rows = np.flatnonzero(cells.good & cells.measured)
    enough(len(rows))
    part, times = _different(cells, rows)
    low, high = windows.spans(cells.take(rows), _COUNTS, _LOG_MASS)
    last = float(high.max())
    low, high = windows.spans(cells.take(part), _COUNTS, _LOG_MASS)
    sd = np.sqrt(np.broadcast_to(np.asarray(cells.noise.variance()), (len(cells),)))[part]
    centre = np.clip((low + high) / 2, cells.lower[part], cells.upper[part])
    edges = edges_of(np.repeat(centre, times), np.repeat(sd, times), last)
    likelihood = _mean_likelihood(cells, part, low, high, edges)
    masses, smoothness = largest(likelihood, times.astype(float), np.diff(edges).astype(float))
    noise = np.repeat(sd, times) ** 2
    return Fitted(edges, masses, fitted_on=int(times.sum()), smoothness=smoothness, noise=noise)


def _different(cells: Cells, rows: Whole) -> tuple[Whole, Whole]:
    """Return the distinct rows of noisy counts and their multiplicities. If there are too many distinct rows, use only
    every k-th row.
    """
    which = cells.kinds[1]
    step = 1
    while True:
        part = rows[::step]
        _, first, times = np.unique(which[part], return_index=True, return_counts=True)
        if len(first) <= MOST_ROWS:
            return part[first], times
        step = max(step + 1, step * len(first) // MOST_ROWS)


def _mean_likelihood(cells: Cells, rows: Whole, low: Array, high: Array, edges: Whole) -> Array:
    """Return the likelihood of each noisy count, averaged over the true counts in each bin of a histogram. The result
    is determined up to one constant factor per noisy count.
    """
    place = np.empty(len(cells), dtype=np.int64)
    place[rows] = np.arange(len(rows))
    out = np.zeros((len(rows), len(edges) - 1))
    for block in windows.blocks(cells, rows, low, high):
        best = block.log_likelihood.max(axis=1, keepdims=True)
        below = np.zeros((len(block.rows), block.counts.shape[1] + 1))
        np.cumsum(np.exp(block.log_likelihood - best), axis=1, out=below[:, 1:])
        ends = np.clip(edges - block.low[:, None], 0, block.counts.shape[1])
        out[place[block.rows]] = np.diff(np.take_along_axis(below, ends, axis=1), axis=1)
    return out / np.diff(edges)


_DEFAULT = f"default: fitted if there are at least {FEWEST} measured counts, otherwise 1/(1+n)"
_DEFAULT_OF_GROUPS = f"default: fitted in groups of at least {FEWEST} measured counts, otherwise 1/(1+n)"


@dataclass(frozen=True)
class Choice:
    """Priors that were chosen for the noisy counts, one prior per group of rows.

    Parameters
    ----------
    priors : one per group.
    which : int64 (n,), position of each row's prior.
    groups : name of each group; ``""`` if there is only one.
    asked : whether the user chose the prior.
    unfitted : number of groups with enough counts whose fitted prior would be uncertain, so that the default is
        1/(1+n).
    """

    priors: tuple[CountPrior, ...]
    which: Whole
    groups: tuple[str, ...]
    asked: bool
    unfitted: int = 0

    def facts(self) -> dict[str, object]:
        """Return the chosen priors in a form that can be written as JSON. The result contains one prior, or one prior
        per group, and states whether the user or the default chose the prior.
        """
        sizes = np.bincount(self.which, minlength=len(self.priors))
        listed = [{**prior.settings(), "rows": int(n)} for prior, n in zip(self.priors, sizes, strict=True)]
        chosen = _DEFAULT if self.groups == ("",) else _DEFAULT_OF_GROUPS
        chosen = "given by the user" if self.asked else chosen
        if not self.asked and any(isinstance(prior, Flat) for prior in self.priors):
            chosen += "; flat if counts may be negative"
        if self.unfitted:
            where = "" if self.groups == ("",) else f" in {self.unfitted} of {len(self.groups)} groups"
            chosen += f"; the noise is too large to fit a prior to so few counts{where}"
        if self.groups == ("",):
            return {**listed[0], "chosen": chosen}
        return {"groups": dict(zip(self.groups, listed, strict=True)), "chosen": chosen}


def choose(cells: Cells, prior: Any, groups: Sequence[object] | NDArray[Any] | None) -> Choice:
    """Return the prior of every noisy count, as requested by the user or by default.

    Parameters
    ----------
    cells : noisy counts.
    prior : None for the default: a fitted prior in groups of at least `FEWEST` measured counts unless the fit is
        `uncertain`, otherwise 1/(1+n), or flat if counts have no lower bound. ``"fitted"``; an argument of
        `priors.prior_of`; or a mapping of groups to any of these.
    groups : one name per row, within which priors are fitted; None for a single group.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError, TypeError
        If a prior cannot be built, e.g. because too few counts are available for the fit; the message states the group.
    """
    names, which = groups_of(cells, prior, groups)
    by_group = isinstance(prior, Mapping) and "law" not in prior
    priors: list[CountPrior] = []
    unfitted = 0
    for i, name in enumerate(names):
        wanted = prior[name] if by_group else prior
        try:
            chosen_prior = _made(cells.take(np.flatnonzero(which == i)), wanted)
            if wanted is None and isinstance(chosen_prior, Fitted) and chosen_prior.uncertain:
                chosen_prior, unfitted = Reciprocal(), unfitted + 1
            priors.append(chosen_prior)
        except ValueError as error:
            raise ValueError(f"group {name}: {error}" if name else str(error)) from None
    return Choice(tuple(priors), which, names, prior is not None, unfitted)


def _made(cells: Cells, prior: Any) -> CountPrior:
    if prior is None:
        usable = cells.good & cells.measured
        if (cells.lower[usable] < 0).any():
            return Flat()
        prior = "fitted" if usable.sum() >= FEWEST else Reciprocal()
    if prior == "fitted" or prior == {"law": "fitted"}:
        return fit(cells)
    return prior_of(prior)
