"""Questions about several quantities at once: sums, differences, ratios, shares, probabilities, and ranks.

Answers are exact if the joint distribution of the quantities is known (`together`). The distributions of sums,
differences, ratios and shares of counts, and the probabilities of comparisons, are then computed without simulation.
Otherwise, `Drawer` answers from independent draws of the exact joint distribution and states the Monte Carlo error.

The rank of a count is 1 + the number of larger counts. The ranks of independent counts are exact.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._accuracy import EXACT, LEAST_ESS, Accuracy
from .._seeding import stream
from .convolutions import Array, Unlisted, Whole, Window, added_up
from .distributions import Discrete, Draws, Marginal
from .expressions import Comparison, Selection, comparison, kind_of
from .joint import Independent, Pair, Places, Together
from .quantities import Chance, Quantities

LARGEST_PAIR = 4_000_000  # largest number of pairs of values that are listed
_MULTIPLES = 1000  # largest coefficient for which sums of multiples are listed


def ratio(together: Together, above: Places, below: Places) -> tuple[Array, Array, float] | None:
    """Compute the distribution of a ratio of two sums, conditional on a non-zero denominator.

    Parameters
    ----------
    together : joint distribution of the quantities that are summed.
    above, below : positions; disjoint, or all of `above` contained in `below` (a share).

    Returns
    -------
    values, probabilities, undefined : increasing values, their probabilities, and the probability of a denominator of
        0. None if the ratio must be sampled.
    """
    inner = [i for i in below if i not in set(above)]
    share = len(inner) + len(above) == len(below)
    if not share and len(inner) < len(below):
        return None
    if not inner:  # the complete sum divided by itself
        law = together.sum_of(above)
        zero = float(law.at(0, 1)[0])
        return np.ones(1), np.ones(1), zero
    pair = together.pair_of(above, inner)
    if pair is None or len(pair.first.weights) * len(pair.second.weights) > LARGEST_PAIR:
        return None
    weights = pair.matrix()
    s, t = pair.first.values()[:, None].astype(float), pair.second.values()[None].astype(float)
    denominator = np.broadcast_to(s + t if share else t, weights.shape)
    kept = (weights > 0) & (denominator != 0)
    values, place = np.unique(np.broadcast_to(s, weights.shape)[kept] / denominator[kept], return_inverse=True)
    chances = np.asarray(np.bincount(place, weights[kept]), dtype=np.float64)
    return values, chances, float(weights[denominator == 0].sum())


def chance(together: Together, asked: Comparison) -> float | None:
    """Compute the probability of a comparison, or return None if the probability must be estimated from draws.

    Parameters
    ----------
    together : joint distribution of the quantities.
    asked : the comparison, in units of the quantities.

    Returns
    -------
    float or None
    """
    unit = together.unit
    if not asked.coefficients:
        return float(asked.holds(np.zeros(1))[0])
    plus = {p: c for p, c in asked.coefficients.items() if c > 0}
    minus = {p: -c for p, c in asked.coefficients.items() if c < 0}
    sizes = {abs(c) for c in asked.coefficients.values()}
    if len(sizes) == 1:
        (size,) = sizes
        law = difference(together, list(plus), list(minus))
        return _where(law.values() * (size * unit), law.weights, asked)
    if len(set(plus.values())) == len(set(minus.values())) == 1:
        pair = together.pair_of(list(plus), list(minus))
        if pair is not None and len(pair.first.weights) * len(pair.second.weights) <= LARGEST_PAIR:
            return _of_pair(pair, next(iter(plus.values())), next(iter(minus.values())), unit, asked)
    return _of_multiples(together, asked) if isinstance(together, Independent) else None


def difference(together: Together, plus: list[int], minus: list[int]) -> Window:
    """Compute the distribution of the sum of the quantities in `plus` minus the sum of the quantities in `minus`.

    Parameters
    ----------
    together : joint distribution of the quantities that are summed.
    plus, minus : positions, disjoint, not both empty.

    Returns
    -------
    Window
    """
    if plus and minus:
        return together.difference_of(plus, minus)
    return together.sum_of(plus) if plus else together.sum_of(minus).reflected()


def _of_pair(pair: Pair, plus: float, minus: float, unit: float, asked: Comparison) -> float:
    values = np.subtract.outer(plus * unit * pair.first.values(), minus * unit * pair.second.values())
    return _where(values.ravel(), pair.matrix().ravel(), asked)


def _of_multiples(together: Independent, asked: Comparison) -> float | None:
    """Return the probability that a comparison of a linear combination of independent quantities is true. All
    coefficients must be small integer multiples of a common unit.
    """
    step = _common(asked.coefficients)
    if step is None:
        return None
    parts = []
    for place, coefficient in asked.coefficients.items():
        law, factor = together.window(place), round(coefficient / step)
        parts.append(law.spread(factor) if factor > 0 else law.spread(-factor).reflected())
    law = added_up(parts).normalised()
    return _where(law.values() * (step * together.unit), law.weights, asked)


def _common(coefficients: Mapping[int, float]) -> float | None:
    """Return the largest unit 1/d with an integer d <= 60 such that all coefficients are small integer multiples of
    this unit.
    """
    for denominator in range(1, 61):
        scaled = [c * denominator for c in coefficients.values()]
        if all(abs(c - round(c)) < 1e-9 and abs(c) <= _MULTIPLES for c in scaled):
            return 1 / denominator
    return None


def _where(values: NDArray[Any], weights: Array, asked: Comparison) -> float:
    """Return the probability that a quantity with given values and weights satisfies a comparison. It is computed from
    the smaller of this probability and its complement.
    """
    true = asked.holds(values)
    yes, no = float(weights[true].sum()), float(weights[~true].sum())
    return yes / (yes + no) if yes <= no else 1 - no / (yes + no)


MOST_WORK = 10_000_000_000  # largest number of steps for the distribution of a rank; above it, ranks are sampled
_SURE = 1e-18  # tolerance within which a count is certainly larger, or certainly not larger


@dataclass(frozen=True)
class Rank:
    """Distribution of the rank of one quantity.

    Parameters
    ----------
    place : position of the quantity.
    ranks, probabilities : increasing ranks, and their probabilities; tied counts have the better rank.
    """

    place: int
    ranks: Whole
    probabilities: Array

    def among(self, top: int) -> float:
        """Return the probability that the rank of the quantity is at most `top`."""
        inside = self.ranks <= top
        return 1.0 if inside.all() else min(1.0, float(self.probabilities[inside].sum()))


def exact_ranks(
    together: Independent, places: Sequence[int], top: int, wanted: Sequence[int] | None = None
) -> list[Rank] | None:
    """Compute the distributions of the ranks of some of the quantities that are ranked.

    Parameters
    ----------
    together : independent quantities.
    places : positions of the quantities that are ranked.
    top : number of distributions to return: those of the quantities with the smallest expected ranks.
    wanted : indices in `places` of the distributions to return, instead of the first `top`.

    Returns
    -------
    list of Rank, or None
        In order of increasing expected rank; None if the computation would take too long.
    """
    laws = [together.window(i) for i in places]
    means = expected(laws)
    order = np.argsort(means, kind="stable")[:top] if wanted is None else sorted(wanted, key=lambda i: float(means[i]))
    distributions, work = [], 0
    for i in order:
        above = _exceeding(laws[i], [law for j, law in enumerate(laws) if j != i])
        unsure = np.asarray(((above > _SURE) & (above < 1 - _SURE)).any(axis=1))
        work += int(unsure.sum()) ** 2 * above.shape[1]
        if work > MOST_WORK:
            return None
        ranks, probabilities = _law(laws[i].weights / laws[i].weights.sum(), above, unsure)
        distributions.append(Rank(places[i], ranks, probabilities))
    return distributions


def expected(laws: Sequence[Window]) -> Array:
    """Compute the expected rank of each of several random variables, in one pass over all distributions. The expected
    rank of a variable is 1 + sum_j P(variable j is larger).

    Parameters
    ----------
    laws : distributions, one per number.

    Returns
    -------
    float64 (numbers,)
    """
    _, place = np.unique(np.concatenate([law.values() for law in laws]), return_inverse=True)
    mass = np.bincount(place, np.concatenate([law.weights / law.weights.sum() for law in laws]))
    larger = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)  # expected number of counts larger than each value
    out, start = np.empty(len(laws)), 0
    for i, law in enumerate(laws):
        p = law.weights / law.weights.sum()
        tail_sums = np.append(np.cumsum(p[::-1])[::-1][1:], 0.0)
        out[i] = 1 + p @ (larger[place[start : start + len(p)]] - tail_sums)
        start += len(p)
    return out


def _exceeding(law: Window, others: Sequence[Window]) -> Array:
    """Compute P(other count > n) for all other counts and for all possible values n of a given count. The array has the
    shape (others, values).
    """
    values, out = law.values(), np.zeros((len(others), len(law.weights)))
    for row, other in zip(out, others, strict=True):
        if other.first > values[-1]:  # the other count is larger with certainty
            row[:] = 1.0
            continue
        if other.first + len(other.weights) <= values[0]:  # the other count is smaller with certainty
            continue
        from_here = np.append(np.cumsum(other.weights[::-1])[::-1], 0.0) / other.weights.sum()
        row[:] = from_here[np.clip(values + 1 - other.first, 0, len(other.weights))]
    return np.minimum(out, 1.0)


def _law(p: Array, above: Array, unsure: NDArray[np.bool_]) -> tuple[Whole, Array]:
    """Compute the distribution of the rank of a count, which is 1 plus the number of larger counts. For every value of
    the count, this number is a sum of independent indicators.
    """
    base = (above[~unsure] > 0.5).sum(axis=0)  # number of counts that are certainly larger
    chances = above[unsure]
    counts = np.zeros((chances.shape[0] + 1, above.shape[1]))
    counts[0] = 1.0
    for m, chance in enumerate(chances, 1):
        counts[1 : m + 1] = counts[1 : m + 1] * (1 - chance) + counts[:m] * chance
        counts[0] *= 1 - chance
    first = int(base.min())
    out = np.zeros(int(base.max()) - first + len(counts))
    for column in range(above.shape[1]):
        start = int(base[column]) - first
        out[start : start + len(counts)] += p[column] * counts[:, column]
    ranks = 1 + first + np.arange(len(out))
    kept = out > 0
    return ranks[kept], out[kept]


DRAWS = 100_000
_AT_ONCE = 10_000_000  # number of values per block
_FEW = 50  # number of quantities whose draws are stored between questions


class Drawer:
    """Joint draws of one group of quantities, used for every question about the group.

    Parameters
    ----------
    group : the quantities.
    rng : numpy Generator, or None; with None, a question that needs draws raises an error.
    """

    def __init__(self, group: Quantities, rng: np.random.Generator | None) -> None:
        self.group = group
        self._seed = None if rng is None else int(_checks.generator(rng).integers(2**62))
        self._kept: Array | None = None

    @property
    def state(self) -> Accuracy:
        """Accuracy status of answers that are computed from draws. It is the convergence status if the posterior was
        sampled by Markov chains, and otherwise ``approximate``.
        """
        base = self.group[self.group.names[0]].accuracy
        if base.status in ("converged", "not converged"):
            return base
        draws, error = f"{DRAWS:,} independent draws", "one standard error, or a 95 % bound if all draws agree"
        if base.status == "approximate":  # the base has an error of its own, which the error of the draws omits
            reason = f"{draws} from an approximate distribution ({base.reason}); error, of the draws alone: {error}"
        else:
            reason = "; ".join([*([base.reason] * bool(base.reason)), draws, f"error: {error}"])
        return Accuracy("approximate", float("nan"), reason)

    def error(self, sd: float, size: int = DRAWS) -> float:
        """Return the standard error of a mean of `size` draws, or NaN for draws from Markov chains, which are not
        independent.
        """
        return sd / size**0.5 if self.state.status == "approximate" else float("nan")

    def error_of_chance(self, p: float, size: int = DRAWS) -> float:
        """Return the standard error of a probability that is estimated from `size` draws. If all draws agree, return
        the 95 % upper bound of Clopper and Pearson for the probability of the event that does not occur in any draw,
        1 - 0.05^(1/size) or about 3/size.
        """
        if 0 < p < 1:
            return self.error(float(np.sqrt(p * (1 - p))), size)
        return -math.expm1(math.log(0.05) / size) if self.state.status == "approximate" else float("nan")

    def error_of_rank(self, sd: float, size: int) -> float:
        """Return the standard error of a mean rank among `size` quantities. If all draws agree, return the bound of
        `error_of_chance`, multiplied by the largest distance to another rank.

        Parameters
        ----------
        sd : standard deviation of the rank in the draws.
        size : number of quantities that are ranked.

        Returns
        -------
        float
        """
        return self.error(sd) if sd > 0 else (size - 1) * self.error_of_chance(1.0)

    def columns(self, places: list[int]) -> Array:
        """Return joint draws of the quantities at the positions in `places`, as an array with `DRAWS` rows and one
        column per position.
        """
        if not places:
            return np.zeros((DRAWS, 0))
        return np.concatenate(list(self._parts(places)))

    def law(self, draws: Array, label: str) -> Draws:
        """Return the empirical distribution of a sample of draws. Draws without a value, 0/0, are NaN."""
        kept, reason = self._defined(draws)
        state = Accuracy(self.state.status, self.error(float(kept.std(ddof=1)), len(kept)), reason)
        discrete = self.group[self.group.names[0]].type in ("count", "share")
        return Draws(kept, name=label, type="question", accuracy=state, discrete=discrete)

    def chance(self, draws: Array, asked: Comparison) -> Chance:
        """Return the probability of a comparison, estimated by the fraction of draws for which it holds. Draws without
        a value, 0/0, are NaN.
        """
        kept, reason = self._defined(draws)
        p = float(asked.holds(kept).mean())
        return Chance(p, Accuracy(self.state.status, self.error_of_chance(p, len(kept)), reason))

    def _defined(self, draws: Array) -> tuple[Array, str]:
        """Return the draws that have a value, and the reason for the accuracy status of answers from these draws."""
        kept, reason = draws[~np.isnan(draws)], self.state.reason
        if not len(kept):
            raise ValueError(_ZERO)
        if len(kept) < len(draws):
            if len(kept) < LEAST_ESS:
                raise ValueError(
                    "the ratio is not stated, because its denominator is almost certainly 0: it is not 0 in "
                    f"{len(kept)} of {len(draws):,} draws, and at least {LEAST_ESS:g} are required"
                )
            reason = f"given that the denominator is not 0, as in {len(kept):,} of the draws; {reason}"
        return kept, reason

    def ranks(self, places: list[int], top: int, wanted: Sequence[int] | None = None) -> list[Rank]:
        """Compute the distributions of the ranks of some of the quantities that are ranked. Tied quantities have the
        better rank.

        Parameters
        ----------
        places : positions of the quantities that are ranked.
        top : number of distributions to return: those of the quantities with the smallest mean ranks in the first part
            of the draws.
        wanted : indices in `places` of the distributions to return, instead of the first `top`.

        Returns
        -------
        list of Rank
            In order of increasing mean rank.
        """
        from scipy.stats import rankdata  # the import takes half a second and is needed only for ranks

        first = None if wanted is None else np.array(wanted)
        seen: list[NDArray[np.int64]] = []
        for x in self._parts(places):
            if first is None:
                ranked = rankdata(-x[: max(_AT_ONCE // (10 * len(places)), 100)], method="min", axis=1)
                first = np.argsort(ranked.mean(axis=0), kind="stable")[:top]
            seen.append(1 + np.stack([(x > x[:, [i]]).sum(axis=1) for i in first], axis=1))
        assert first is not None
        distributions = []
        for i, ranks in zip(first, np.concatenate(seen).T, strict=True):
            values, times = np.unique(ranks, return_counts=True)
            distributions.append(Rank(places[i], values, times / times.sum()))
        return sorted(distributions, key=lambda rank: float(rank.ranks @ rank.probabilities))

    def _parts(self, places: list[int]) -> Iterator[Array]:
        """Yield the joint draws in blocks of rows."""
        if self._seed is None:
            raise ValueError("rng is required, because this question is answered by sampling: pass a NumPy Generator")
        together = self.group.together
        width = len(places) if together is not None else len(self.group)
        size = max(min(DRAWS, _AT_ONCE // max(width, 1)), 1)
        if together is None and len(self.group) <= _FEW:
            if self._kept is None:
                self._kept = np.asarray(self.group.sample(DRAWS, rng=stream(self._seed, "questions")), dtype=float)
            yield self._kept[:, places]
            return
        rng = stream(self._seed, "questions", *map(str, sorted(places)[:1000]))
        for start in range(0, DRAWS, size):
            rows = min(size, DRAWS - start)
            if together is not None:
                yield np.asarray(together.draw(places, rows, rng=rng) * together.unit, dtype=np.float64)
            else:
                yield np.asarray(self.group.sample(rows, rng=rng), dtype=np.float64)[:, places]


NAN = float("nan")
# accuracy of answers that hold for any data: no rank is larger than the number of ranked quantities. These answers are
# recognised by the identity of this object
CERTAIN = Accuracy("exact")
_CLOSE = "because its denominator can be close to 0"
_FAR = 0.1  # smallest denominator among the draws, relative to its mean, that is far from 0
_ZERO = "the ratio is not defined, because its denominator is certainly or almost certainly 0"
Found = TypeVar("Found")
Row = tuple[str, float, float, float, float, Accuracy]  # quantity, mean, sd, lower, upper, accuracy


def _heavy(law: Draws, tails: tuple[float, float], why: str) -> Draws:
    """Return a quantity with tails so long that its mean or its variance does not exist, so the mean of its draws has
    no standard error.

    Parameters
    ----------
    law : draws of the quantity.
    tails : tail indices of its distribution (see `Draws`).
    why : reason.
    """
    what = "standard deviation" if min(tails) > 1 else "mean"
    drawn = law.accuracy.reason.rsplit("; error", 1)[0]  # the reason without the meaning of the error of the draws
    reason = "; ".join(filter(None, (f"the {what} {why}", drawn)))
    state = replace(law.accuracy, error=NAN, reason=reason)
    return Draws(law.draws, name=law.name, type=law.type, accuracy=state, tails=tails)


class Asked:
    """Answers to questions about one group of quantities.

    Parameters
    ----------
    group : the quantities.
    drawer : draws of the quantities, for questions without a closed form.
    """

    def __init__(self, group: Quantities, drawer: Drawer) -> None:
        self.group, self.drawer = group, drawer
        self.selected = Selection(group.words, sums=group.sums, parents=group.parents)

    def rows(self, label: str, question: Mapping[str, Any], level: float) -> list[Row]:
        """Return the rows of the result table that answer one question.

        Parameters
        ----------
        label : name of the question.
        question : a mapping with one of `KINDS`.
        level : probability of the intervals, in (0, 1).

        Returns
        -------
        list of rows
            For a probability, the mean is the probability, and sd, lower and upper are NaN; a rank has two rows per
            name.
        """
        kind, what = kind_of(question)
        if kind == "probability":
            probability = self.probability(what)
            return [(label, float(probability), NAN, NAN, NAN, probability.accuracy)]
        if kind == "rank":
            return self._rank_rows(label, what, level)
        law = self.law(label, kind, what)
        ends = law.interval(level)
        return [(label, law.mean(), law.sd(), *ends, law.accuracy)]

    def law(self, label: str, kind: str, what: Any) -> Marginal:
        """Compute the distribution of a sum, difference, ratio or share.

        Parameters
        ----------
        label : name of the distribution.
        kind : one of the first four of `KINDS`.
        what : the names in the sum; or the two sides of a difference or a ratio, each a name or several names; or
            ``{of: [..], among: [..]}`` for a share.

        Returns
        -------
        Marginal
            Distribution of type ``question``. A ratio or share is conditional on a denominator other than 0, and
            `Marginal.accuracy` states the probability of a denominator of 0.
        """
        if kind == "sum":
            plus: list[int] = self.selected.places("sum", what)
            minus: list[int] = []
        elif kind == "share":
            plus, minus = self.selected.share(what)
        else:
            plus, minus = self.selected.sides(kind, what)
        together = self.group.together
        if kind in ("ratio", "share"):
            listed = _listed(lambda: None if together is None else ratio(together, plus, minus))
            if listed is not None:
                values, probabilities, undefined = listed
                if not len(values) or undefined >= 1:
                    raise ValueError(_ZERO)
                return Discrete(values, probabilities, name=label, type="question", accuracy=self._state(undefined))
            return self._drawn_ratio(label, plus, minus)
        both = set(plus) & set(minus)
        plus, minus = [i for i in plus if i not in both], [i for i in minus if i not in both]
        if not plus + minus:  # names on both sides cancel
            return Discrete(np.zeros(1), np.ones(1), name=label, type="question", accuracy=EXACT)
        if together is None:
            return self._drawn(label, plus, minus)
        law = _listed(lambda: difference(together, plus, minus))
        return self._drawn(label, plus, minus) if law is None else _discrete(law, together.unit, label)

    def probability(self, text: str) -> Chance:
        """Compute the probability that a comparison of quantities is true.

        Parameters
        ----------
        text : comparison, see `expressions.comparison`.

        Returns
        -------
        Chance
        """
        asked, together = comparison(text, self.group.words), self.group.together
        if not asked.coefficients:  # all names cancel
            return Chance(float(asked.holds(np.zeros(1))[0]), CERTAIN)
        if together is not None:
            probability = _listed(lambda: chance(together, asked))
            if probability is not None:
                return Chance(probability, EXACT)
        if len(asked.coefficients) == 1 and (single := self._of_one(asked)) is not None:
            return single
        places = list(asked.coefficients)
        values = self.drawer.columns(places) @ np.array([asked.coefficients[p] for p in places])
        return self.drawer.chance(values, asked)

    def _of_one(self, asked: Comparison) -> Chance | None:
        """Return the probability that a comparison of one quantity with a number is true. The result is None if the
        distribution of the quantity is known only from draws.
        """
        ((place, size),) = asked.coefficients.items()
        law = self.group[self.group.names[place]]
        if isinstance(law, Draws):
            return None
        if isinstance(law, Discrete):
            true = asked.holds(size * np.asarray(law.values, dtype=float))
            yes, no = float(law.probabilities[true].sum()), float(law.probabilities[~true].sum())
            return Chance(yes / (yes + no) if yes <= no else 1 - no / (yes + no), law.accuracy)
        if asked.operator in ("==", "!="):
            return Chance(float(asked.operator == "!="), law.accuracy)
        point = asked.bound / size
        low, high = getattr(getattr(law, "law", None), "support", (-np.inf, np.inf))
        below = float(law.cdf(point)) if low <= point <= high else float(point > high)
        return Chance(below if (asked.operator in ("<", "<=")) == (size > 0) else 1 - below, law.accuracy)

    def _rank_rows(self, label: str, what: Any, level: float) -> list[Row]:
        """Return two rows per name: the rank of the quantity, and the probability that this rank is at most `top`."""
        of, places, top = self.selected.rank(what)
        wanted = [places.index(place) for place in of] if "among" in what else None
        together = self.group.together
        exact = exact_ranks(together, places, top, wanted) if isinstance(together, Independent) else None
        state = self.drawer.state if exact is None else EXACT
        rows: list[Row] = []
        for rank in self.drawer.ranks(places, top, wanted) if exact is None else exact:
            name, p = self.group.names[rank.place], rank.among(top)
            law = Discrete(rank.ranks, rank.probabilities, name=name, type="question", accuracy=state)
            ends = self.drawer.error_of_rank(law.sd(), len(places)), self.drawer.error_of_chance(p)
            mean, chance_ = (replace(state, error=error) for error in ((0.0, 0.0) if exact else ends))
            mean = CERTAIN if len(places) == 1 else mean
            p, chance_ = (1.0, CERTAIN) if top == len(places) else (p, chance_)
            rows.append((f"{label}: {name}", law.mean(), law.sd(), *law.interval(level), mean))
            rows.append((f"{label}: P({name} in top {top})", p, NAN, NAN, NAN, chance_))
        return rows

    def _drawn(self, label: str, plus: list[int], minus: list[int]) -> Marginal:
        x = self.drawer.columns(plus + minus) @ np.array([1.0] * len(plus) + [-1.0] * len(minus))
        law, (low, high), (low_minus, high_minus) = self.drawer.law(x, label), self._tails(plus), self._tails(minus)
        tails = min(low, high_minus), min(high, low_minus)
        return law if min(tails) > 2 else _heavy(law, tails, "of a term is infinite")

    def _tails(self, places: list[int]) -> tuple[float, float]:
        """Return the tail indices of a sum of quantities at its lower and its upper end (see `Draws`)."""
        if not places or not isinstance(self.group[self.group.names[0]], Draws):
            return np.inf, np.inf
        laws = [self.group[self.group.names[place]] for place in places]
        low, high = zip(*(law.tails for law in laws if isinstance(law, Draws)), strict=True)
        return min(low), min(high)

    def _drawn_ratio(self, label: str, above: list[int], below: list[int]) -> Marginal:
        every = [*above, *(i for i in below if i not in set(above))]
        draws = self.drawer.columns(every)
        column = {place: i for i, place in enumerate(every)}
        top = draws[:, [column[i] for i in above]].sum(axis=1)
        bottom = draws[:, [column[i] for i in below]].sum(axis=1)
        law = self.drawer.law(np.divide(top, bottom, out=np.full(DRAWS, NAN), where=bottom != 0), label)
        kind = self.group[self.group.names[0]].type
        if kind not in ("rate", "parameter") or set(above) == set(below):  # the denominator is discrete or cancels
            return law
        if kind == "rate" and set(above) <= set(below):  # a share is at most 1
            return law
        tails = self._tails(above)
        if min(tails) <= 2:
            return _heavy(law, (min(tails), min(tails)), "of the numerator is infinite")
        laws = [getattr(self.group[self.group.names[place]], "law", None) for place in below[:_FEW]]
        # near 0, the density of the denominator x is of the order x^(shape - 1), or smaller for a sum
        shape = sum(getattr(law, "smallest_shape", NAN) for law in laws)
        if shape > 2:
            return law
        if len(laws) == 1 and shape == shape:
            return _heavy(law, (np.inf, shape), f"of this ratio is infinite, {_CLOSE}")
        if np.abs(bottom).min() > _FAR * np.abs(bottom.mean()):
            return law
        return _heavy(law, (NAN, NAN), f"of this ratio is not stated: it may be infinite, {_CLOSE}")

    def _state(self, undefined: float) -> Accuracy:
        if undefined <= 0:
            return EXACT
        defined = f"{1 - undefined:.6g}"
        defined = "more than 0.999999" if defined == "1" else defined
        return Accuracy("exact", 0.0, f"given that the denominator is not 0, which has probability {defined}")


def about_of(question: Any, groups: Sequence[str]) -> str:
    """Return the group of quantities to which a question refers: the stated group or, by default, the first of
    `groups`.
    """
    if not isinstance(question, Mapping):
        raise TypeError(f"a question must be a mapping such as {{difference: [a, b]}}, got {question!r}")
    return _checks.one_of("about", question.get("about", groups[0]), tuple(groups))


def _listed(find: Callable[[], Found]) -> Found | None:
    """Return the result of the function `find`, or None if the result must be estimated from draws."""
    try:
        return find()
    except Unlisted:
        return None


def _discrete(law: Window, unit: float, label: str) -> Discrete:
    values = law.values() if unit == 1 else law.values() * unit
    return Discrete(values, law.weights, name=label, type="question", accuracy=EXACT)
