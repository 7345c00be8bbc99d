"""Mixtures of Dirichlet laws, Dirichlet(alpha + S) with S random: the conjugate posterior given noisy counts.

The law of the counts S is any object with ``total``, ``categories`` and these methods:

``pair(inside, others)``  arrays (s, t, weight): joint law of S[inside] and the sum of S over `others`;
``share(inside, others, alpha=, beta=)``  the law of a share where a list of pairs would be too long, else None;
``tails(inside, others, negligible)``  as ``pair``, with all pairs but those of less weight than this together;
``least``                 the smallest probability of a tail that the law is good for, 0 where all keep their digits;
``marginal(category)``    float64 (total + 1,): law of one count;
``draw(size, rng=)``      int64 (size, k).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._honesty import EXACT, LEVEL, Honesty, summary_frame
from ..._kernels import dirichlet
from ._beta_mixture import BetaMixture, Components
from ._share_law import ShareLaw

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


class CountsLaw(Protocol):
    """Law of counts with a fixed total."""

    total: int
    categories: int
    least: float

    def pair(self, inside: int, others: Sequence[int]) -> Pairs: ...

    def share(self, inside: int, others: Sequence[int], *, alpha: float, beta: float) -> ShareLaw | None: ...

    def tails(self, inside: int, others: Sequence[int], negligible: float) -> Pairs: ...

    def marginal(self, category: int) -> NDArray[np.float64]: ...

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]: ...


class PairedLaw(ABC):
    """A law whose pairs of counts are short lists: shares need no other road."""

    least = 0.0

    @abstractmethod
    def pair(self, inside: int, others: Sequence[int]) -> Pairs:
        """Values of one count, of the sum over `others`, and their weights."""

    def share(self, inside: int, others: Sequence[int], *, alpha: float, beta: float) -> ShareLaw | None:
        """None: a share is a mixture over `pair`."""
        return None

    def tails(self, inside: int, others: Sequence[int], negligible: float) -> Pairs:
        """`pair`: nothing of it is neglected."""
        return self.pair(inside, others)


class ExplicitLaw(PairedLaw):
    """A list of possible counts with their weights.

    Parameters
    ----------
    counts : int64 (m, k), each row with the same total.
    weights : float64 (m,), non-negative; scaled to 1.
    """

    def __init__(self, counts: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        self.rows, self.weights = np.ascontiguousarray(counts, dtype=np.int64), weights / weights.sum()
        self.categories, self.total = counts.shape[1], int(counts[0].sum())

    def marginal(self, category: int) -> NDArray[np.float64]:
        """Law of one count, float64 (total + 1,)."""
        return np.asarray(np.bincount(self.rows[:, category], self.weights, self.total + 1), dtype=np.float64)

    def pair(self, inside: int, others: Sequence[int]) -> Pairs:
        """Values s of one count, t of the sum over `others`, and their weights, one entry a row of the list."""
        return self.rows[:, inside], self.rows[:, others].sum(axis=1), self.weights

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent draws of the counts, int64 (size, k)."""
        cumulative = np.cumsum(self.weights)
        return np.asarray(self.rows[np.searchsorted(cumulative[:-1], rng.random(size) * cumulative[-1], side="right")])


class DirichletMixture:
    """Law of p with p | S ~ Dirichlet(alpha + S).

    Parameters
    ----------
    alpha : float64 (k,), positive.
    counts : law of S (see the module's first lines), available as ``.counts``.
    honesty : state of the law of the counts, which a share takes over unless it has an error of its own
        (``.beta(category, given).honesty``).

    Notes
    -----
    In every method ``given=(i, j, ..)`` conditions on those categories: with ``category=0, given=(0, 1)`` the quantity
    is p_0/(p_0 + p_1). Each is a finite mixture of Beta laws (``.beta(category, given)``), so no value is simulated.
    A list of its components is used where it is short, else `ShareLaw`, which states its error.
    """

    def __init__(self, alpha: NDArray[np.float64], counts: CountsLaw, honesty: Honesty = EXACT) -> None:
        self.alpha, self.counts, self.honesty = alpha, counts, honesty
        self._betas: dict[tuple[int, tuple[int, ...] | None], BetaMixture | ShareLaw] = {}

    def mean(self, *, category: int | None = None, given: Sequence[int] | None = None) -> NDArray[np.float64] | float:
        """Expected shares, float64 (k,), or one for each of `given`; with `category` one number."""
        return self._each(category, given, lambda law: law.mean())

    def variance(
        self, *, category: int | None = None, given: Sequence[int] | None = None
    ) -> NDArray[np.float64] | float:
        """Variances of the shares, float64 (k,), or one for each of `given`; with `category` one number."""
        return self._each(category, given, lambda law: law.variance())

    def pdf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Density of a share at x in [0, 1]."""
        return self.beta(category, given).pdf(x)

    def cdf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """P(share <= x)."""
        return self.beta(category, given).cdf(x)

    def sf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """P(share > x)."""
        return self.beta(category, given).sf(x)

    def logcdf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """log P(share <= x)."""
        return self.beta(category, given).logcdf(x)

    def logsf(self, x: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """log P(share > x)."""
        return self.beta(category, given).logsf(x)

    def quantile(self, q: ArrayLike, *, category: int, given: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Smallest x with P(share <= x) >= q; the relative error of the nearer tail's probability there is 1e-11 where
        the components are listed (`BetaMixture`), else the share's own `error` (`ShareLaw`).

        Parameters
        ----------
        q : numbers in [0, 1], any shape.
        category, given : see the class.

        Raises
        ------
        ValueError
            If a level is outside [0, 1] or asks for more digits than the counts' law has (its ``least``).
        """
        return self.beta(category, given).quantile(q)

    def mode(self, *, category: int, given: Sequence[int] | None = None) -> float | None:
        """Place of the highest density of a share (`BetaMixture.mode`)."""
        return self.beta(category, given).mode()

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Independent draws of p, float64 (size, k)."""
        counts = self.counts.draw(_checks.whole("size", size), rng=_checks.generator(rng))
        if self.counts.total == 0:
            return rng.dirichlet(self.alpha, size)
        return dirichlet.draw(self.alpha, counts, rng=rng)

    def summary(self, level: float = LEVEL, *, given: Sequence[int] | None = None) -> pd.DataFrame:
        """Mean, sd and central interval of every share, one row a category (`_honesty.summary_frame`).

        Parameters
        ----------
        level : of the interval, in (0, 1).
        given : as in the other methods.
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
            status=[law.honesty for law in laws],
        )

    def __repr__(self) -> str:
        means = ", ".join(f"{m:.4g}" for m in np.atleast_1d(self.mean())[:6])
        more = ", .." if self.counts.categories > 6 else ""
        return f"{type(self).__name__}({self.counts.categories} shares, total {self.counts.total}; means {means}{more})"

    def beta(self, category: int, given: Sequence[int] | None = None) -> BetaMixture | ShareLaw:
        """Law of one share.

        Parameters
        ----------
        category : 0..k - 1.
        given : categories among which the share is taken, at least two; all of them by default.
        """
        key = (category, None if given is None else tuple(given))
        if key not in self._betas:
            inside, others = self._split(*key)
            own, rest = float(self.alpha[inside]), float(self.alpha[others].sum())
            law: BetaMixture | ShareLaw | None = self.counts.share(inside, others, alpha=own, beta=rest)
            if law is None:
                law = BetaMixture(
                    *self._components(inside, others, self.counts.pair(inside, others)),
                    tails=partial(self._tails, inside, others),
                    least=self.counts.least,
                    honesty=self.honesty,
                )
            self._betas[key] = law
        return self._betas[key]

    def share_of_counts(
        self, *, category: int, given: tuple[int, ...]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Law of the realised share S_c/sum of S over `given`: (values rising, probabilities).

        The counts, not p, are the confidential facts; 0/0 (no count in `given` at all) is reported as NaN, last.
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
        group = range(last + 1) if given is None else [_checks.whole("given", i, most=last) for i in given]
        if _checks.whole("category", category, most=last) not in group or not 2 <= len(group) == len(set(group)):
            raise ValueError(
                f"given must name at least two different categories, category={category} among them, got {given}"
            )
        return category, sorted(i for i in group if i != category)

    def _each(
        self, category: int | None, given: Sequence[int] | None, what: Callable[[BetaMixture | ShareLaw], float]
    ) -> NDArray[np.float64] | float:
        if category is not None:
            return what(self.beta(category, given))
        group = range(self.counts.categories) if given is None else given
        return np.array([what(self.beta(i, given)) for i in group])
