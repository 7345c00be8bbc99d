"""Exact posterior distributions of the true counts given a release with additive noise (Wang, 2020), for any number of
components.

For two components, the paper sums by brute force, and it leaves more components to future work. As in the paper, the
true counts have a flat prior on the integers >= 0. The posterior is computed exactly, without MCMC or sampling.

The results include moments, marginal distributions, credible intervals, draws, and a check of the influence of the
prior.

The function `posteriors` processes many additive releases in one call and returns one row per count of each table. If a
table is invalid, its row states the reason.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._accuracy import EXACT, LEVEL, Accuracy, summary_frame
from ..._mechanisms.additive_counts import ALGORITHMS, TIES, multinomial_mode, release, release_all
from ..._printing import at_most
from . import _coupled_counts, _mode_transforms, _noise, _pair_counts, _share_transforms
from ._coupled_counts import CoupledCounts, TransformedCounts
from ._noise import CountsPrior, Noise, NoiseModel

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class CountsLaw(Protocol):
    """Interface of the posterior distribution of the true counts."""

    @property
    def components(self) -> int: ...

    def marginal(self, component: int) -> tuple[NDArray[np.int64], Array]: ...

    def total(self) -> tuple[NDArray[np.int64], Array]: ...

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]: ...

    def top(self, k: int) -> tuple[NDArray[np.int64], Array]: ...


class AdditivePosterior:
    """Posterior distribution of the true counts of all components, and of the total, which is the sum of the
    components.

    Parameters
    ----------
    law : distribution implied by the release, available as ``.law``.
    prior : name of the prior.
    left_out : function that returns the accuracy of the distribution; called at most once.
    again : function that returns the posterior under a given prior, for `prior_influence`; None if no other prior is
        possible.
    """

    def __init__(
        self,
        law: CountsLaw,
        *,
        prior: str = "flat",
        left_out: Callable[[], Accuracy] = lambda: EXACT,
        again: "Callable[[CountsPrior], AdditivePosterior] | None" = None,
    ) -> None:
        self.law, self.prior, self._left_out, self._again = law, prior, left_out, again

    def __repr__(self) -> str:
        values, p = self.total()
        mean = float(values @ p)
        sd = float(np.sqrt((values - mean) ** 2 @ p))
        return (
            f"AdditivePosterior of {self.law.components} count{'s' * (self.law.components != 1)}, prior {self.prior}, "
            f"total {mean:.6g} (sd {sd:.3g}), {self.accuracy.status}"
        )

    @property
    def method(self) -> str:
        """Exact algorithm that was used, ``"chain"`` or ``"transforms"``."""
        return "transforms" if isinstance(self.law, TransformedCounts) else "chain"

    @cached_property
    def accuracy(self) -> Accuracy:
        """Accuracy status of the posterior distribution. The status is ``exact``, or ``approximate`` with the
        probability mass that is neglected by windows or grids.
        """
        return self._left_out()

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return a summary of the posterior distribution, as a table with one row per component (``0``, ``1``, ..) and
        one row for the total. The columns are `accuracy.SUMMARY`.

        Parameters
        ----------
        level : level of the central intervals, in (0, 1).

        Returns
        -------
        DataFrame

        Raises
        ------
        ValueError, TypeError
            If `level` is not in (0, 1).
        """
        level = _checks.inside("level", level)
        laws = [*self._marginals(), self.total()]
        mean = np.array([v @ p for v, p in laws])
        sd = np.sqrt([np.maximum((v - m) ** 2 @ p, 0.0) for (v, p), m in zip(laws, mean, strict=True)])
        lower, upper = np.array([_central(v, p, level) for v, p in laws]).T
        names = [*map(str, range(self.law.components)), "total"]
        return summary_frame(names, mean=mean, sd=sd, lower=lower, upper=upper, level=level, status=self.accuracy)

    def prior_influence(self, level: float = LEVEL) -> pd.DataFrame:
        """Compare the posterior distributions of the total under three priors. The comparison shows the influence of
        the prior.

        Parameters
        ----------
        level : level of the central intervals, in (0, 1).

        Returns
        -------
        DataFrame with columns prior, mean, sd, lower, upper, level, status. The rows are three priors: flat on every
            count; flat on the total, with equal probabilities for all its splits; and flat on the total, with Jeffreys'
            Dirichlet-multinomial distribution (1/2).

        Raises
        ------
        ValueError
            If the distribution was computed within a window or below a largest count; only one prior is then available.
        """
        if self._again is None:
            raise ValueError(
                "prior_influence requires a posterior that was computed without the arguments window and largest: "
                "compute the posterior again without these arguments"
            )
        size, rows = self.law.components, []
        for prior in (
            _noise.of("flat", size),
            _noise.of("flat total", size),
            _noise.of(0.5, size),
        ):
            posterior = self._again(prior)
            rows.append(posterior.summary(level).iloc[[-1]].drop(columns="quantity").assign(prior=prior.name))
        table = pd.concat(rows, ignore_index=True)
        return table[["prior", *table.columns.drop("prior")]]

    def mean(self) -> Array:
        """Return the posterior means of the true counts of all S components, as a float64 array of shape (S,)."""
        return np.array([v @ p for v, p in self._marginals()])

    def variance(self) -> Array:
        """Return the posterior variances of the true counts of all components, as a float64 array of shape (S,)."""
        return np.array([(v - v @ p) ** 2 @ p for v, p in self._marginals()])

    def marginal(self, i: int) -> tuple[NDArray[np.int64], Array]:
        """Return the posterior distribution of the true count of one component, as (values, probabilities)."""
        return self.law.marginal(_checks.integer("i", i, most=self.law.components - 1))

    def total(self) -> tuple[NDArray[np.int64], Array]:
        """Return the posterior distribution of the true total, as (values, probabilities)."""
        return self.law.total()

    def interval(self, i: int, *, level: float = 0.9) -> tuple[int, int]:
        """Return the central credible interval of the true count of one component. Its ends are the smallest counts at
        which the cumulative distribution function is at least (1 - level)/2 and (1 + level)/2.
        """
        _checks.fraction("level", level)
        return _central(*self.marginal(i), level)

    def top(self, k: int) -> tuple[NDArray[np.int64], Array]:
        """Return the k most probable vectors of true counts, as an int64 array of shape (k, S) for S components, and
        their probabilities, in decreasing order of probability.
        """
        return self.law.top(_checks.integer("k", k))

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw independent vectors of true counts from the posterior distribution, as an int64 array of shape (size,
        S).
        """
        return self.law.draw(_checks.integer("size", size), rng=_checks.generator(rng))

    def _marginals(self) -> list[tuple[NDArray[np.int64], Array]]:
        return [self.law.marginal(i) for i in range(self.law.components)]


def _central(values: Whole, p: Array, level: float) -> tuple[int, int]:
    place = np.searchsorted(np.cumsum(p), [(1 - level) / 2, (1 + level) / 2 - 1e-12])
    low, high = values[np.minimum(place, len(values) - 1)]
    return int(low), int(high)


__all__ = ["AdditivePosterior", "multinomial_mode", "posterior", "posterior_of_noisy", "release", "release_all"]

METHODS = ("auto", "chain", "transforms")
_GROWTH = 8.0  # log of the largest factor by which a flat prior may favour totals at the end of the grid of the chain
# largest half-width of the noise, largest number of components and largest count for which the chain is used
_SHORT, _FEW, _SMALL = 50, 50, 1000
# largest half-width of the noise of one count, for each algorithm
_MOST_NOISE = {"1, 2": 100_000, "3": 50_000}
# CPU seconds for three counts at a half-width of 10,000, and the power of the half-width with which the time grows;
# measured at 2,500, 5,000 and 10,000 (0.60, 2.1 and 7.4 s with algorithm 3; 0.24, 0.53 and 1.8 s with the others)
_SECONDS = {"1, 2": (1.8, 1.7), "3": (7.4, 1.8)}


def posterior(
    released: ArrayLike,
    *,
    epsilon: float,
    algorithm: str,
    window: int | None = None,
    support: float | None = None,
    ties: str = "random",
    largest: int | None = None,
    prior: str | ArrayLike | CountsPrior = "flat",
    method: str = "auto",
) -> AdditivePosterior:
    """Compute the posterior distribution of the true counts given one release that was produced by an algorithm of Wang
    (2020).

    Parameters
    ----------
    released : integers >= 0 (S,), the released components; the released total is their sum.
    epsilon : privacy parameter of the release, > 0.
    algorithm : ``"1-independent"``, ``"2"``, ``"3"``; for S = 2 also ``"1-summed"``.
    window : true counts within +-window of the released counts, and noise within +-window, as in section 3.2 (30 in the
        paper). This truncates the posterior, see ``.accuracy``. None keeps all values that are not negligible (to
        1e-14).
    support : the noise is between -support and support. None: ceil(50/epsilon), as in `release`; ``math.inf``:
        untruncated.
    ties : tie-breaking rule of algorithm 3: ``"random"``, ``"first"``, ``"last"``; for S = 2 also ``"ieee"``.
    largest : the prior is flat on 0..largest; None: on all integers >= 0.
    prior : ``"flat"``, ``"flat total"``, or the concentration of a Dirichlet-multinomial distribution under a flat
        total (`_noise.of`). Only ``"flat"`` can be combined with `window` or `largest`.
    method : ``"chain"`` (sums of products, relative accuracy in every tail), ``"transforms"`` (any epsilon, absolute
        accuracy), or ``"auto"``: the chain if it is fast.

    Returns
    -------
    AdditivePosterior

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or if the release has probability 0 under the stated mechanism.

    Notes
    -----
    Computing time on one core: S = 5 at epsilon 0.1 about 0.1 s, at 0.01 a few seconds; S = 50 at 0.1 about 1 s; S =
    500 at epsilon 1 about 0.5 s; 3 counts of 100,000 at epsilon 0.005 about 5 s (algorithms 1-independent and 2) or 25
    s (algorithm 3); algorithm 1-summed (S = 2) at 0.1 about 1 s, at 0.03 about 15 s and 1.3 GB. The chain
    takes O(S W L) for each term, with some tens (algorithms 1 and 2) or hundreds (algorithm 3) of terms, W values per
    component and L sums. For transforms, see `_mode_transforms` and `_share_transforms`. Source: Wang (2020), sections
    3.1 and 3.2.
    """
    counts = _checks.counts("released", released)
    _checks.positive("epsilon", epsilon)
    _checks.one_of("algorithm", algorithm, ALGORITHMS)
    _checks.one_of("ties", ties, TIES)
    _checks.one_of("method", method, METHODS)
    chosen, cut = _noise.of(prior, len(counts)), _noise.support_for(epsilon, support)
    for name, value, least in (("window", window, 1), ("largest", largest, 0)):
        if value is not None:
            _checks.integer(name, value, least=least)
    bounded = window is not None or largest is not None
    if bounded and chosen.concentration is not None:
        raise ValueError(f"window and largest may be given only with prior 'flat', got {prior!r}")
    if bounded and method == "transforms":
        raise ValueError(f"window and largest must be omitted for the method 'transforms', got {window} and {largest}")
    noise = NoiseModel(float(epsilon), cut)
    only_pairs = algorithm == "1-summed" or (algorithm == "3" and ties == "ieee")
    quick = _chain_is_quick(counts, int(counts.sum()), noise)
    by_chain = bounded or only_pairs or method == "chain" or (method == "auto" and quick)
    if chosen.concentration is not None or not by_chain:
        if only_pairs or method == "chain":
            what = (
                "algorithm '1-summed'" if algorithm == "1-summed" else "ties='ieee'" if only_pairs else "method 'chain'"
            )
            raise ValueError(f"prior must be 'flat' for {what}, got {prior!r}")
        transformed = _transformed(counts, noise, chosen, algorithm, ties)
        law: CountsLaw = transformed
        state = transformed.accuracy
    else:
        law, state = _summed(counts, noise, algorithm, window, largest, ties), lambda: EXACT
        if window is not None:
            state = lambda: _window_accuracy(counts, noise, algorithm, ties, window)  # noqa: E731

    def again(other: CountsPrior) -> AdditivePosterior:
        return posterior(counts, epsilon=epsilon, algorithm=algorithm, support=support, ties=ties, prior=other)

    others = None if bounded or only_pairs else again
    return AdditivePosterior(law, prior=chosen.name, left_out=state, again=others)


def _chain_is_quick(counts: Whole, total: int, noise: NoiseModel) -> bool:
    """Return whether the method ``"chain"`` is fast and truncation of the noise at 38/epsilon has a negligible effect.
    The effect is assessed under a flat prior.
    """
    far = min(noise.support, 38 / noise.epsilon)
    size = len(counts)
    growth = size * np.log1p(far / (max(total, 0) + size)) if far < noise.support else 0.0
    return bool(far <= _SHORT and size <= _FEW and counts.max() <= _SMALL and growth < _GROWTH)


def _transformed(counts: Whole, noise: NoiseModel, prior: CountsPrior, algorithm: str, ties: str) -> TransformedCounts:
    """Compute the posterior distribution of the true counts by Fourier transforms. A released total of 0 implies only
    that the noisy total was 0 or less.
    """
    _refuse_wide(noise, algorithm)
    if algorithm == "3" and counts.any():
        return _mode_transforms.solve(_mode_transforms.Problem(counts, noise, prior, ties))
    return _share_transforms.solve(_share_transforms.Problem(counts, noise, prior, algorithm == "1-independent"))


def _refuse_wide(noise: NoiseModel, algorithm: str) -> None:
    """Raise ValueError if the noise is so large that the transforms would take more than a few minutes."""
    key = "3" if algorithm == "3" else "1, 2"
    reach, most = min(noise.support, 50 / noise.epsilon), _MOST_NOISE[key]
    if reach > most:
        seconds, power = _SECONDS[key]
        minutes = max(seconds * (min(reach, 1e7) / 10_000) ** power / 60, 1.0)
        raise ValueError(
            f"epsilon is too small: the noise of each count is up to +-{reach:.6g}, and the largest noise that is "
            f"allowed with algorithm {algorithm} is +-{most:,}, because the analysis would take an estimated "
            f"{minutes:,.0f} minutes or more: choose epsilon >= {50 / most:g}, or set support if the noise was "
            "truncated"
        )


def _window_accuracy(counts: Whole, noise: NoiseModel, algorithm: str, ties: str, window: int) -> Accuracy:
    """Return the accuracy status of a posterior distribution that is restricted to true counts at most `window` away
    from the released counts. The neglected mass is computed from the distribution without this restriction.
    """
    if algorithm == "1-summed" or ties == "ieee":
        return Accuracy("approximate", float("nan"), f"true counts and noise are truncated at +-{window}")
    law = _transformed(counts, noise, _noise.FLAT, algorithm, ties)
    outside = [
        float(p[np.abs(v - r) > window].sum())
        for r, (v, p) in zip(counts, map(law.marginal, range(len(counts))), strict=True)
    ]
    left = max(outside)
    return Accuracy(
        "approximate", left, f"the window of +-{window} neglects a probability of at most {at_most(left)} per component"
    )


def _summed(
    counts: Whole, noise: NoiseModel, algorithm: str, window: int | None, largest: int | None, ties: str
) -> CountsLaw:
    """Compute the posterior distribution of the true counts by sums of products. The method uses a table of all pairs
    for two components, and otherwise forward and backward sums.
    """
    if window is None:
        _refuse_wide(noise, algorithm)
    support = ceil(50 / noise.epsilon) if noise.support == inf else int(noise.support)
    model = Noise(epsilon=noise.epsilon, support=support, window=window, largest=largest)
    only_pairs = algorithm == "1-summed" or (algorithm == "3" and ties == "ieee")
    what = "algorithm '1-summed'" if algorithm != "3" else "ties='ieee'"
    if len(counts) == 2:
        width, limit = _pair_counts.widest(counts, model, algorithm=algorithm, window=window)
        if width <= limit:
            return _pair_counts.solve(counts, model, algorithm=algorithm, window=window, support=support, ties=ties)
        if only_pairs:
            raise ValueError(
                f"the posterior under {what} is tractable only for two components of moderate size. This release "
                f"requires a table of {width:,} counts per component ({width**2 * 8e-09:.1f} GB) and "
                f"{2 * model.reach:,} sums of noisy counts for each pair, more than the limit of {limit:,}: set "
                "window, or a larger epsilon"
            )
    if only_pairs:
        why = (
            "rounding determines the mode"
            if algorithm == "3"
            else "the released total depends on the sum of the noisy counts"
        )
        raise ValueError(
            f"the posterior under {what} is tractable only for two components, because {why}, got {len(counts)} "
            f"components. The posterior would be a sum over about (2 x {model.reach:,})^{len(counts)} noisy counts: "
            "use algorithm '1-independent' or, for algorithm '3', another tie-breaking rule"
        )
    return chain(counts, model, algorithm=algorithm, window=window, ties=ties)


def chain(released: NDArray[np.int64], noise: Noise, *, algorithm: str, window: int | None, ties: str) -> CoupledCounts:
    """Compute the posterior distribution of the true counts by forward and backward sums, for any number of components
    S >= 1.

    Parameters
    ----------
    released : int64 (S,), the released components.
    noise : operators of the noise of one count.
    algorithm : ``"1-independent"``, ``"2"`` or ``"3"``.
    window : as in `posterior`.
    ties : as in `posterior`.

    Returns
    -------
    CoupledCounts
    """
    drawn = algorithm == "1-independent"
    if algorithm == "3":
        terms = _coupled_counts.mode(released, noise, window, ties=ties)
    else:
        terms = _coupled_counts.multinomial(released, noise, window, drawn=drawn)
    return CoupledCounts(terms, *noise.total_factor(int(released.sum()), drawn=drawn))


def posterior_of_noisy(
    noisy_counts: ArrayLike,
    *,
    noisy_total: int,
    epsilon: float,
    support: float | None = None,
    largest: int | None = None,
    prior: str | ArrayLike | CountsPrior = "flat",
) -> AdditivePosterior:
    """Compute the posterior distribution of the true counts given the noisy components and the noisy total.

    Parameters
    ----------
    noisy_counts : integers (S,), which may be negative.
    noisy_total : integer.
    epsilon, support, largest, prior : as in `posterior`.

    Returns
    -------
    AdditivePosterior

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or if the counts are impossible under the noise.

    Notes
    -----
    This posterior measures the information that an agency loses if it publishes `release` instead of the noisy counts
    from which the release is computed. Publishing the noisy counts has the same privacy cost. The posterior takes
    account of the additive constraint: the noisy total has the mean N_1 + .. + N_S.
    """
    values = _checks.reals("noisy_counts", noisy_counts)
    total = float(_checks.reals("noisy_total", [noisy_total])[0])
    if not np.all(values == np.floor(values)) or total != np.floor(total):
        raise ValueError(f"noisy_counts and noisy_total must be integers, got {values.tolist()} and {total:g}")
    _checks.positive("epsilon", epsilon)
    if largest is not None:
        _checks.integer("largest", largest)
    cut, counts = _noise.support_for(epsilon, support), values.astype(np.int64)
    chosen = _noise.of(prior, len(counts))
    if largest is not None and chosen.concentration is not None:
        raise ValueError(f"largest may be given only with prior 'flat', got {prior!r}")
    noise = NoiseModel(float(epsilon), cut)
    if chosen.concentration is None and (largest is not None or _chain_is_quick(counts, int(total), noise)):
        return AdditivePosterior(_noisy_chain(counts, int(total), epsilon, cut, largest))
    _refuse_wide(noise, "1")
    law = _share_transforms.solve_noisy(counts, int(total), noise, chosen)

    def again(other: CountsPrior) -> AdditivePosterior:
        return posterior_of_noisy(counts, noisy_total=noisy_total, epsilon=epsilon, support=support, prior=other)

    return AdditivePosterior(law, prior=chosen.name, left_out=law.accuracy, again=again)


def _noisy_chain(counts: Whole, total: int, epsilon: float, cut: float, largest: int | None) -> CoupledCounts:
    support = ceil(50 / epsilon) if cut == inf else int(cut)
    noise = Noise(epsilon=epsilon, support=support, window=None, largest=largest)
    low = max(total - noise.reach, 0)
    totals = np.arange(low, max(total + noise.reach, low) + 1)
    gap = np.abs(totals - total)
    factor = np.where(gap <= noise.reach, noise.p[np.minimum(gap, noise.reach) + noise.reach], 0.0)
    return CoupledCounts(_coupled_counts.noisy(counts, noise, low, factor), low, factor)


COLUMNS = ("table", "category", "mean", "sd", "lower", "upper", "level", "status", "reason")
REFUSED = "refused"


@dataclass(frozen=True)
class Release:
    """Release of one table of counts with additive noise, as an element of the batch that `posteriors` processes.

    Parameters
    ----------
    released : integers >= 0 (S,).
    epsilon : > 0.
    algorithm : algorithm, see `additive_counts.posterior`.
    """

    released: ArrayLike
    epsilon: float
    algorithm: str


def posteriors(
    releases: Mapping[Any, Release] | Iterable[tuple[Any, Release]],
    *,
    level: float = LEVEL,
    support: float | None = None,
    ties: str = "random",
    prior: Any = "flat",
) -> pd.DataFrame:
    """Compute the posterior mean, standard deviation and central interval of every true count for many releases by an
    algorithm of Wang (2020).

    Parameters
    ----------
    releases : mapping from the name of a table to a Release, or pairs of them.
    level : level of the intervals, in (0, 1).
    support, ties, prior : as in `additive_counts.posterior`, the same for all tables.

    Returns
    -------
    DataFrame with columns `COLUMNS`: for every table, one row per component (category ``0``, ``1``, ..) and one row for
        the total, in the given order. A table that is rejected has one row: empty category, NaN numbers, status
        ``refused``, and the reason. Each table is computed separately, so results do not depend on how a batch is
        split.

    Raises
    ------
    ValueError, TypeError
        If `level` is not in (0, 1). The rows state all other errors.
    """
    level = _checks.inside("level", level)
    pairs = releases.items() if isinstance(releases, Mapping) else releases
    rows: list[pd.DataFrame] = []
    for name, stated in pairs:
        try:
            law = posterior(
                stated.released,
                epsilon=stated.epsilon,
                algorithm=stated.algorithm,
                support=support,
                ties=ties,
                prior=prior,
            )
            summary_rows = law.summary(level).rename(columns={"quantity": "category"})
            ends = summary_rows[["lower", "upper"]].astype(float)
            rows.append(summary_rows.assign(table=name, reason=law.accuracy.reason, **ends)[list(COLUMNS)])
        except (ValueError, TypeError, OverflowError) as error:
            rows.append(_refused(name, level, str(error)))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=list(COLUMNS))


def _refused(name: Any, level: float, reason: str) -> pd.DataFrame:
    nothing = float("nan")
    return pd.DataFrame([(name, "", nothing, nothing, nothing, nothing, level, REFUSED, reason)], columns=list(COLUMNS))
