"""The posterior of true counts given an additive release: moments, marginals, intervals, draws, the prior's part."""

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ... import _checks
from ..._honesty import EXACT, LEVEL, Honesty, summary_frame
from . import _count_priors
from ._count_priors import CountsPrior

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class CountsLaw(Protocol):
    """Law of the true counts."""

    @property
    def components(self) -> int: ...

    def marginal(self, component: int) -> tuple[NDArray[np.int64], Array]: ...

    def total(self) -> tuple[NDArray[np.int64], Array]: ...

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]: ...

    def top(self, k: int) -> tuple[NDArray[np.int64], Array]: ...


class AdditivePosterior:
    """Posterior of the true component counts; their total is their sum.

    Parameters
    ----------
    law : what the release implies, available as ``.law``.
    prior : name of the prior.
    left_out : called once for the state of the law.
    again : prior -> the posterior under it, for `prior_influence`; None where there is no other.
    """

    def __init__(
        self,
        law: CountsLaw,
        *,
        prior: str = "flat",
        left_out: Callable[[], Honesty] = lambda: EXACT,
        again: "Callable[[CountsPrior], AdditivePosterior] | None" = None,
    ) -> None:
        self.law, self.prior, self._left_out, self._again = law, prior, left_out, again

    def __repr__(self) -> str:
        values, p = self.total()
        mean = float(values @ p)
        sd = float(np.sqrt((values - mean) ** 2 @ p))
        return (
            f"AdditivePosterior of {self.law.components} counts, prior {self.prior}, "
            f"total {mean:.6g} (sd {sd:.3g}), {self.honesty.word}"
        )

    @cached_property
    def honesty(self) -> Honesty:
        """``exact``, or ``approximate`` with the mass that windows or grids neglect."""
        return self._left_out()

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """One row a component (``0``, ``1``, ..) and one for the total, columns `honesty.SUMMARY`.

        Parameters
        ----------
        level : of the central intervals, in (0, 1).

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
        return summary_frame(names, mean=mean, sd=sd, lower=lower, upper=upper, level=level, status=self.honesty)

    def prior_influence(self, level: float = LEVEL) -> pd.DataFrame:
        """How much the prior decides: the posterior total under each of three priors.

        Parameters
        ----------
        level : of the central intervals, in (0, 1).

        Returns
        -------
        DataFrame with columns prior, mean, sd, lower, upper, level, status; the rows are flat on every count, flat on
            the total with equal chances for all its splits, and flat on the total with Jeffreys' Dirichlet-multinomial
            (1/2).

        Raises
        ------
        ValueError
            If the law was computed within a window or below a largest count, where there is one prior only.
        """
        if self._again is None:
            raise ValueError("prior_influence needs a posterior without window and largest")
        size, rows = self.law.components, []
        for prior in (
            _count_priors.of("flat", size),
            _count_priors.of("flat total", size),
            _count_priors.of(0.5, size),
        ):
            posterior = self._again(prior)
            rows.append(posterior.summary(level).iloc[[-1]].drop(columns="quantity").assign(prior=prior.name))
        table = pd.concat(rows, ignore_index=True)
        return table[["prior", *table.columns.drop("prior")]]

    def mean(self) -> Array:
        """Expected true counts, float64 (S,)."""
        return np.array([v @ p for v, p in self._marginals()])

    def variance(self) -> Array:
        """Variances of the true counts, float64 (S,)."""
        return np.array([(v - v @ p) ** 2 @ p for v, p in self._marginals()])

    def marginal(self, i: int) -> tuple[NDArray[np.int64], Array]:
        """Law of one component: (values, probabilities)."""
        return self.law.marginal(_checks.whole("i", i, most=self.law.components - 1))

    def total(self) -> tuple[NDArray[np.int64], Array]:
        """Law of the total: (values, probabilities)."""
        return self.law.total()

    def interval(self, i: int, *, level: float = 0.9) -> tuple[int, int]:
        """Central interval of one component: the smallest values at or above probability (1 -+ level)/2."""
        _checks.fraction("level", level)
        return _central(*self.marginal(i), level)

    def top(self, k: int) -> tuple[NDArray[np.int64], Array]:
        """The k most probable vectors of true counts, int64 (k, S), and their probabilities, most probable first."""
        return self.law.top(_checks.whole("k", k))

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent draws of the true counts, int64 (size, S)."""
        return self.law.draw(_checks.whole("size", size), rng=_checks.generator(rng))

    def _marginals(self) -> list[tuple[NDArray[np.int64], Array]]:
        return [self.law.marginal(i) for i in range(self.law.components)]


def _central(values: Whole, p: Array, level: float) -> tuple[int, int]:
    place = np.searchsorted(np.cumsum(p), [(1 - level) / 2, (1 + level) / 2 - 1e-12])
    low, high = values[np.minimum(place, len(values) - 1)]
    return int(low), int(high)
