"""Differentially private release of counts together with their total, by the four mechanisms of Wang (2020), section
3.1. The released counts sum to the released total.

The total and every component are released with noise at the same epsilon, and one person changes both. A release is
therefore 2 epsilon-DP by composition (`_accounting.privacy_profiles`), not epsilon-DP.

`AdditiveCounts` is the additive release of Wang (2020) as a mechanism: counts whose total is their sum, with its cost.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heapreplace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting import privacy_profiles
from .._accounting.composition import RELATIONS, ApproxDP, PureDP
from .._accounting.privacy_loss import DiscreteLaplaceLoss, Mechanism, PureLoss, TruncatedLaplaceLoss
from .._kernels import geometric
from . import additive_release
from .laplace import default_support
from .noise_law import changed_counts

ALGORITHMS = additive_release.ALGORITHMS
TIES = additive_release.RULES
Whole = NDArray[np.int64]
_LARGEST_CHANGE = 10**6
_WIDEST = 10**6  # largest support for which truncated noise has a loss distribution


def release(
    counts: ArrayLike,
    *,
    epsilon: float,
    algorithm: str,
    rng: np.random.Generator,
    size: int,
    support: int | None = None,
    ties: str = "random",
) -> NDArray[np.int64]:
    """Draw independent releases of component counts that sum to a released total.

    Parameters
    ----------
    counts : integers >= 0 (S,), the confidential components. The total is their sum.
    epsilon : privacy parameter, > 0, used once for the total and once for the components.
    algorithm : ``"1-independent"``, ``"1-summed"``, ``"2"`` or ``"3"`` (`additive_release`).
    rng : numpy Generator.
    size : number of releases >= 0.
    support : the noise is between -support and support. None: ceil(50/epsilon), the paper's 50 at epsilon = 1 (the
        truncation adds less than exp(-50) to delta, see `_accounting.privacy_profiles`).
    ties : for algorithm 3: ``"random"`` (exact), ``"first"``, ``"last"`` (exact) or ``"ieee"`` (Theorem 1 in doubles).

    Returns
    -------
    int64 (size, S), non-negative; the total of a release is the sum of its row.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    _checks.one_of("algorithm", algorithm, ALGORITHMS)
    drawn = release_all(
        counts, epsilon=epsilon, algorithms=(algorithm,), rng=rng, size=size, support=support, ties=ties
    )
    return np.asarray(drawn[0])


def _support(epsilon: float, support: int | None) -> int:
    return default_support(epsilon) if support is None else _checks.integer("support", support, least=1)


def release_all(
    counts: ArrayLike,
    *,
    epsilon: float,
    rng: np.random.Generator,
    size: int,
    algorithms: tuple[str, ...] = ALGORITHMS,
    support: int | None = None,
    ties: str = "random",
) -> NDArray[np.int64]:
    """Draw releases by several algorithms with the same noise, for example to repeat the comparison in Wang (2020).

    Parameters
    ----------
    counts, epsilon, rng, size, support, ties : as in `release`.
    algorithms : names of the algorithms, in the order of the result.

    Returns
    -------
    int64 (algorithms, size, S), non-negative.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    return additive_release.draw(
        _checks.counts("counts", counts),
        epsilon=_checks.positive("epsilon", epsilon),
        support=_support(epsilon, support),
        algorithms=tuple(algorithms),
        ties=ties,
        size=size,
        rng=rng,
    )


def release_from_noisy(
    noisy: NDArray[np.int64],
    totals: NDArray[np.int64],
    *,
    epsilon: float,
    algorithm: str,
    rng: np.random.Generator,
    support: int | None = None,
    ties: str = "random",
) -> NDArray[np.int64]:
    """Compute releases from existing noisy counts. The counts of each release sum to its total. This post-processing
    has no additional privacy cost.

    Parameters
    ----------
    noisy : int64 (n, S), noisy components, one release per row.
    totals : int64 (n,), noisy totals.
    epsilon, support : parameters of the noise (used by ``"1-independent"``).
    algorithm : ``"1-independent"``, ``"2"`` or ``"3"``.
    ties : as in `release`.
    rng : numpy Generator.

    Returns
    -------
    int64 (n, S).

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    _checks.one_of("algorithm", algorithm, ("1-independent", "2", "3"))
    support = _support(epsilon, support)
    weights: Whole = np.maximum(noisy, 0)
    sizes: Whole = np.maximum(totals, 0)
    if algorithm == "1-independent":
        drawn = geometric.draw(noisy.size, epsilon=epsilon, support=support, rng=rng, least=-noisy.ravel())
        weights = noisy + drawn.reshape(noisy.shape)
        sizes = totals + geometric.draw(len(totals), epsilon=epsilon, support=support, rng=rng, least=-totals)
    weights = np.where(weights.sum(axis=1, keepdims=True) == 0, 1, weights)
    if algorithm == "3":
        return additive_release.modes(sizes, weights, ties=ties, rng=rng)
    return np.asarray(rng.multinomial(sizes, weights / weights.sum(axis=1, keepdims=True)))


def multinomial_mode(
    total: int, probabilities: ArrayLike, *, ties: str = "first", rng: np.random.Generator | None = None
) -> NDArray[np.int64]:
    """Compute an exact mode of Multinomial(total, probabilities), treating every double as an exact fraction.

    Parameters
    ----------
    total : integer >= 0.
    probabilities : float (S,), finite, >= 0, with a positive sum; scaled to sum to 1. Integer weights are allowed.
    ties : rule if the mode is not unique: ``"first"`` prefers the lowest index, ``"last"`` the highest, ``"random"``
        draws (needs `rng`), ``"ieee"`` is Theorem 1 in doubles.
    rng : numpy Generator, for ``ties="random"``.

    Returns
    -------
    int64 (S,), that sum to `total`.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """
    total = _checks.integer("total", total, most=additive_release.LARGEST_WEIGHT)
    p = _checks.reals("probabilities", probabilities)
    _checks.one_of("ties", ties, TIES)
    if p.min() < 0 or not p.sum() > 0:
        raise ValueError(f"probabilities must be >= 0 with a positive sum, got {probabilities!r}")
    if ties == "ieee":
        return _theorem(total, p)
    weights = [Fraction(v) for v in p.tolist()]
    order = list(range(len(p))[:: -1 if ties == "last" else 1])
    if ties == "random":
        order = _checks.generator(rng).permutation(len(p)).tolist()
    rank = {i: place for place, i in enumerate(order)}
    return _allocate(total, weights, rank)


def _theorem(total: int, p: NDArray[np.float64]) -> NDArray[np.int64]:
    """Compute the mode of a multinomial distribution by Theorem 1 of Wang (2020) in double precision. The algorithm
    starts at floor((m + S/2) p) and adds or removes single units at the smallest q, or at the lowest index if several q
    are equal.
    """
    left = (total + 0.5 * len(p)) * (p / p.sum())
    k: Whole = np.floor(left).astype(np.int64)
    left -= k
    step = 1 if k.sum() < total else -1
    while k.sum() != total:
        loss = np.divide(left, k, out=np.full(len(p), np.inf), where=k > 0)
        q = (1.0 - left) / (k + 1) if step == 1 else loss
        i = int(np.argmin(q))
        k[i] += step
        left[i] -= step
    return k


def _allocate(total: int, weights: list[Fraction], rank: dict[int, int]) -> NDArray[np.int64]:
    """Allocate the units of a total to the components by the D'Hondt method (largest quotients), in exact arithmetic.
    The algorithm starts at floor(scale weight) and adds or removes single units. Equal quotients are ordered by rank.
    """
    scale = (total + Fraction(len(weights), 2)) / sum(weights)
    k = [int(scale * w) for w in weights]
    step = 1 if sum(k) < total else -1
    # the next unit goes to the largest w/(k + 1); the last allocated unit is at the smallest w/k
    gap = 1 if step == 1 else 0
    heap = [(-step * w / (k[i] + gap), step * rank[i], i) for i, w in enumerate(weights) if k[i] + gap]
    heapify(heap)
    for _ in range(abs(total - sum(k))):
        i = heap[0][2]
        k[i] += step
        if k[i] + gap:
            heapreplace(heap, (-step * weights[i] / (k[i] + gap), step * rank[i], i))
        else:
            heappop(heap)
    return np.array(k, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class AdditiveCounts:
    """Mechanism that releases counts that sum to a released total. The counts and the total have two-sided geometric
    noise.

    Parameters
    ----------
    epsilon : > 0, used once for the total and once for the components.
    algorithm : ``"1-independent"``, ``"1-summed"`` (two components), ``"2"`` or ``"3"`` of Wang (2020), section 3.1.
    ties : rule for ties in algorithm 3: ``"random"``, ``"first"``, ``"last"`` or ``"ieee"``.
    support : the noise is between -support and support. None: ceil(50/epsilon); ``math.inf``: the noise is not
        truncated.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """

    epsilon: float
    algorithm: str = "3"
    ties: str = "random"
    support: float | None = None

    def __post_init__(self) -> None:
        _checks.positive("epsilon", self.epsilon)
        _checks.one_of("algorithm", self.algorithm, ALGORITHMS)
        _checks.one_of("ties", self.ties, TIES)
        if self.support is not None and self.support != math.inf:
            _checks.integer("support", self.support, least=1)

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one simulated release as an int64 array of integers >= 0 with the length of `counts`. Do not use this
        function for confidential counts.

        Raises
        ------
        ValueError
            If the noise is not truncated. The mechanisms of releases make such draws.
        """
        if self.support == math.inf:
            raise ValueError(
                f"support must be an integer for a simulation, which requires truncated noise, got {self.support}: "
                "pass an integer, or omit support to use the default truncation"
            )
        cut = None if self.support is None else int(self.support)
        drawn = release(
            counts, epsilon=self.epsilon, algorithm=self.algorithm, rng=rng, size=1, support=cut, ties=self.ties
        )
        return np.asarray(drawn[0])

    def cost(
        self,
        relation: str = "add or remove a record",
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> PureDP | ApproxDP:
        """Return the privacy cost of one release, which is epsilon times the sum of the absolute changes in the
        components and in their total. The cost has a delta if the noise is truncated.

        One record changes the total and one component, or two components: 2 epsilon. Algorithms 1 to 3 are
        post-processing.

        Parameters
        ----------
        relation : ``"add or remove a record"`` or ``"replace a record"``.
        sensitivity : L1 sensitivity of the components, an integer; the total changes by at most this number.
        changes : instead of `sensitivity`, the changes of the components that change, as signed integers, e.g. ``(1,
            -1)`` if a record is replaced. The total changes by their sum.
        source : name of the confidential data.

        Returns
        -------
        PureDP, or ApproxDP if the noise is truncated
            The cost includes the loss distribution, which gives a tighter composition.

        Raises
        ------
        ValueError, TypeError
            If a change is not an integer, or the truncated noise is narrower than a change.
        """
        _checks.one_of("relation", relation, RELATIONS[:2])
        changed_counts(changes, sensitivity)
        moves = [_checks.integer("changes", c, least=-_LARGEST_CHANGE, most=_LARGEST_CHANGE) for c in changes or ()]
        sizes = [abs(move) for move in moves]
        if sensitivity is not None:
            norm = _checks.integer("sensitivity", sensitivity, least=1, most=_LARGEST_CHANGE)
            sizes = [norm, norm]
        elif changes is None:
            sizes = [1, 1]
        elif moved := abs(sum(moves)):
            sizes.append(moved)
        spent, scale = self.epsilon * sum(sizes), 1 / self.epsilon
        if self.support == math.inf:
            mechanisms: tuple[Mechanism, ...] = tuple(DiscreteLaplaceLoss(scale, size) for size in sizes)
            if sensitivity is not None:  # one or several components: the bound for pure privacy holds in both cases
                mechanisms = (PureLoss(spent / 2), DiscreteLaplaceLoss(scale, sizes[0]))
            return PureDP(source=source, relation=relation, epsilon=spent, mechanisms=mechanisms)
        cut = default_support(self.epsilon) if self.support is None else int(self.support)
        if max(sizes) > cut:
            raise ValueError(
                "support must be >= the largest change that one record can cause in a count or in the total "
                f"({max(sizes)}), got {cut}"
            )
        if sensitivity is not None:
            raise ValueError(
                "the argument 'changes' is required instead of 'sensitivity', because the delta of truncated noise "
                "depends on the change of each count: pass changes=[..]"
            )
        lost = geometric.probabilities(self.epsilon, cut)[::-1].cumsum()
        delta = float(-np.expm1(sum(np.log1p(-lost[size - 1]) for size in sizes)))
        if set(sizes) == {1}:
            delta = privacy_profiles.geometric_delta(spent, epsilon=self.epsilon, changed=len(sizes), support=cut)
        delta = max(delta, float(np.finfo(float).tiny))  # a smaller delta can be rounded to 0
        known = tuple(TruncatedLaplaceLoss(scale, cut, size) for size in sizes) if cut <= _WIDEST else None
        return ApproxDP(source=source, relation=relation, epsilon=spent, delta=delta, mechanisms=known)
