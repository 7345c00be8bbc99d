"""Distributions of counts that are mixtures of products (one factor per count), multiplied by a factor that depends on
the total. Every posterior distribution given an additive release has this form.

P(N) is proportional to g(N_1 + .. + N_S) sum_t w_t prod_s h_ts(N_s). Each term requires one run of `_sum_chain`.

The most probable vectors of a distribution on integers are found by best-first search over single-unit moves.

The likelihood of an additive release is written as a sum of products over the components.

The derivations are in the documentation, on the page about the methods of Wang (2020).

Algorithms 1 (independent) and 2: 1/T^M = int u^(M-1) exp(-u T) du / Gamma(M) converts the multinomial likelihood with
weights x_s/T into an integral of products, which is computed by the trapezoid rule in log u. Algorithm 3: the released
vector is a mode exactly if the smallest quotient x_j/r_j that received a unit is at least the largest quotient x_i/(r_i
+ 1) that did not. For every level (value of the smallest quotient), each noisy count lies in an interval. Ties follow
the tie-breaking rule.

Fourier transforms give the marginals, the total, draws, the most probable vectors, and the truncated mass of the same
distribution, and of the distribution with one distinguished component (`_frequency_products`). Marginals have absolute
accuracy (about 1e-16 of the largest probability), but not relative accuracy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Protocol

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy.special import gammainccinv, gammaincinv, gammaln, loggamma, logsumexp, xlogy

from ... import _quadrature
from ..._accuracy import EXACT, Accuracy
from ..._printing import at_most, steps
from . import _sum_chain
from ._noise import DIGITS, Noise


def most_probable(
    log_probabilities: Callable[[NDArray[np.int64]], NDArray[np.float64]], start: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the k most probable vectors of counts in decreasing order of probability. Vectors with equal probabilities
    are in increasing lexicographic order.

    The search climbs from `start` to a local maximum. It then repeatedly expands the most probable vector seen so far:
    it adds one unit, subtracts one unit, or moves one unit between two components. The search is complete for
    distributions without separate peaks (if every superlevel set is connected by such moves), such as the posteriors of
    this package. The probabilities do not depend on the search.

    Parameters
    ----------
    log_probabilities : function int64 (n, S) -> float64 (n,), -inf for impossible vectors.
    start : starting point, int64 (S,).
    k : number of vectors >= 0.

    Returns
    -------
    vectors, log_probabilities : int64 (k, S), float64 (k,); fewer rows if fewer vectors are possible.
    """
    moves = _moves(len(start))
    best, value = start, float(log_probabilities(start[None])[0])
    while True:
        around = best + moves
        logs = log_probabilities(around)
        if not logs.max() > value:
            break
        best, value = around[np.argmax(logs)], float(logs.max())
    seen, queue = {tuple(best.tolist())}, [(-value, tuple(best.tolist()))]
    ranked: list[tuple[tuple[int, ...], float]] = []
    heapify(queue)
    while queue and len(ranked) < k:
        negative, vector = heappop(queue)
        ranked.append((vector, -negative))
        around = np.array(vector, dtype=np.int64) + moves
        logs = log_probabilities(around)
        for index in np.argsort(-logs, kind="stable")[: 4 * k + 8]:
            other = tuple(around[index].tolist())
            if logs[index] > -np.inf and other not in seen:
                seen.add(other)
                heappush(queue, (-float(logs[index]), other))
    vectors = np.array([v for v, _ in ranked], dtype=np.int64).reshape(-1, len(start))
    return vectors, np.array([p for _, p in ranked])


def _moves(size: int) -> NDArray[np.int64]:
    """Return all local moves of a vector of counts, which add 1 to a count, subtract 1 from a count, or move one unit
    between two counts.
    """
    unit = np.eye(size, dtype=np.int64)
    swaps = (unit[:, None] - unit[None]).reshape(-1, size)
    return np.concatenate([unit, -unit, swaps[np.any(swaps != 0, axis=1)]])


Array = NDArray[np.float64]
_NEGLIGIBLE = 36.0  # terms with a weight below exp(-36) of the largest weight are neglected
_BLOCK, _NUMBERS = 64, 2_000_000  # number of terms, and number of entries of their factors, that are processed together


@dataclass(frozen=True)
class Terms:
    """Terms of a mixture of products, where each product has one factor per count.

    Attributes
    ----------
    low : int64 (S,), smallest value of every component; the possible values are low, low + 1, .., low + W - 1.
    log_weights : float64 (T,), log weights of the terms.
    factors : float64 (T, 1 or 3, S, W), in the form of `_sum_chain.solve_each`.
    tilts : float64 (T,), theta for which the free total is near the released total; the tilt cancels in the result.
    """

    low: NDArray[np.int64]
    log_weights: Array
    factors: Array
    tilts: Array


class CoupledCounts:
    """Distribution of counts, given by a mixture of product distributions multiplied by a factor that depends on the
    total.

    Parameters
    ----------
    terms : terms of the mixture.
    total_low, total_factor : factor g at the totals total_low, total_low + 1, ..; it is 0 at all other totals.
    """

    def __init__(self, terms: Terms, total_low: int, total_factor: Array) -> None:
        self.terms, self.low = terms, terms.low
        skipped = max(int(self.low.sum()) - total_low, 0)
        self.total_low, self.total_factor = total_low + skipped, total_factor[skipped:]
        if not self.total_factor.size or not self.total_factor.max() > 0:
            raise ValueError(
                f"the released total requires the sum of the counts to be between {total_low} and "
                f"{total_low + len(total_factor) - 1}, but the windows of the counts allow only sums of at least "
                f"{int(self.low.sum())}: choose a larger window"
            )
        self._solve()

    @property
    def components(self) -> int:
        return len(self.low)

    def marginal(self, component: int) -> tuple[NDArray[np.int64], Array]:
        p = self._marginals[component]
        kept = np.flatnonzero(p > 0)
        inside = slice(kept[0], kept[-1] + 1)
        return self.low[component] + np.arange(len(p))[inside], p[inside]

    def total(self) -> tuple[NDArray[np.int64], Array]:
        return self.total_low + np.arange(len(self._total)), self._total

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        out = np.empty((size, self.components), dtype=np.int64)
        term = rng.choice(len(self._kept), size=size, p=self._weights)
        for t in np.unique(term):
            rows = np.flatnonzero(term == t)
            factors, _, g = (tilted[0] for tilted in self._tilted(self._kept[t : t + 1]))
            chain = _sum_chain.solve(factors, g, self._first)[3]
            out[rows] = self.low + _sum_chain.draw(factors, chain, len(rows), rng=rng)
        return out

    def top(self, k: int) -> tuple[NDArray[np.int64], Array]:
        start = np.array([np.rint(v @ p) for v, p in map(self.marginal, range(self.components))], dtype=np.int64)
        vectors, logs = most_probable(self.log_probabilities, start, k)
        return vectors, np.exp(logs)

    def log_probabilities(self, vectors: NDArray[np.int64]) -> Array:
        """Return the log probabilities of several vectors of counts, with one vector per row."""
        width = self._marginals.shape[1]
        place = vectors - self.low
        total = vectors.sum(axis=1) - self.total_low
        inside = ((place >= 0) & (place < width)).all(axis=1) & (total >= 0) & (total < len(self.total_factor))
        place, total = np.where(inside[:, None], place, 0), np.where(inside, total, 0)
        logs = np.full((len(self._kept), len(vectors)), -np.inf)
        columns = np.arange(self.components)
        for row, (weight, factors) in enumerate(self._kept_logs):
            logs[row] = weight + _vector_weights(factors, columns, place)
        with np.errstate(divide="ignore"):
            log_sums = logsumexp(logs, axis=0) + np.log(self.total_factor[total]) - self._log_normaliser
        return np.where(inside, log_sums, -np.inf)

    @cached_property
    def _kept_logs(self) -> list[tuple[float, Array]]:
        """Return the log weights and the log factors of all non-negligible terms of the mixture."""
        with np.errstate(divide="ignore"):
            return [(float(self.terms.log_weights[i]), np.log(self.terms.factors[i])) for i in self._kept]

    def _solve(self) -> None:
        """Compute the terms of the mixture in decreasing order of the bounds on their weights, until the remaining
        terms are negligible.
        """
        bounds, block = self._bounds(), self._block(_BLOCK // 4)
        order, logs, best = np.argsort(-bounds, kind="stable"), np.full(len(bounds), -np.inf), -np.inf
        solved: dict[int, tuple[Array, Array]] = {}
        for start in steps(range(0, len(order), block), -(-len(order) // block), "blocks of terms at most"):
            block_rows = order[start : start + block]
            block_rows = block_rows[bounds[block_rows] > best - _NEGLIGIBLE - np.log(len(bounds))]
            if not block_rows.size:
                break
            factors, scales, g = self._tilted(block_rows)
            log_weights, *laws = _sum_chain.solve_each(factors, g, self._first)
            logs[block_rows] = self.terms.log_weights[block_rows] + log_weights + scales
            solved |= dict(zip(block_rows.tolist(), zip(*laws, strict=True), strict=True))
            best = logs.max()
        if not best > -np.inf:
            raise ValueError(
                "the release has probability 0 under this mechanism for all counts in the windows: "
                "check the settings, or choose a larger window"
            )
        self._kept = np.flatnonzero(logs > best - _NEGLIGIBLE)
        logs = logs[self._kept]
        self._log_normaliser = float(logsumexp(logs))
        self._weights = np.exp(logs - self._log_normaliser)
        self._weights /= self._weights.sum()
        kept = list(zip(self._weights, [solved[i] for i in self._kept.tolist()], strict=True))
        self._marginals: Array = sum(w * marginals for w, (marginals, _) in kept)
        self._total: Array = sum(w * total for w, (_, total) in kept)

    def _block(self, most: int) -> int:
        """Return the number of components of the mixture that are processed at the same time."""
        return max(1, min(most, _NUMBERS // int(self.terms.factors[0].size)))

    def _bounds(self) -> Array:
        """Return an upper bound on the log weight of every component of the mixture. The bound is the log of the tilted
        sum without the factor of the total, plus the log of the largest tilted factor of the total.
        """
        terms, bounds = self.terms, np.empty(len(self.terms.log_weights))
        gap, block = self.total_low + np.arange(len(self.total_factor)) - self._centre, self._block(_BLOCK)
        for start in range(0, len(bounds), block):
            block_rows = slice(start, start + block)
            theta, factors = terms.tilts[block_rows, None], terms.factors[block_rows].sum(axis=1)
            mass = (factors @ np.exp(theta * np.arange(factors.shape[2]))[..., None])[..., 0]
            with np.errstate(divide="ignore"):
                bounds[block_rows] = np.log(mass).sum(axis=1) + (np.log(self.total_factor) - theta * gap).max(axis=1)
            bounds[block_rows] += terms.log_weights[block_rows] - theta[:, 0] * (self._centre - self.low.sum())
        return bounds

    @property
    def _centre(self) -> float:
        """Return the total that maximises g(total), the total-dependent factor of the joint weight. Tilts are centred
        at this total.
        """
        return float(self.total_low + np.argmax(self.total_factor))

    @property
    def _first(self) -> int:
        """Return the lowest possible total minus the sum of the lowest counts of all components. At lower totals, the
        factor g of the total is 0.
        """
        return int(self.total_low - self.low.sum())

    def _tilted(self, some: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Return the exponentially tilted factors of several terms of the mixture, scaled such that the largest factor
        of each component is 1 in each term. Also return the log of the scale that was removed, and the tilted factor g
        of the total.
        """
        theta, totals = self.terms.tilts[some, None], self.total_low + np.arange(len(self.total_factor))
        g = self.total_factor * np.exp(-theta * (totals - self._centre))
        factors = self.terms.factors[some]
        factors = factors * np.exp(theta * np.arange(factors.shape[3]))[:, None, None]
        largest = factors.max(axis=(1, 3))
        largest[largest == 0] = 1.0
        scale = np.log(largest).sum(axis=1) - theta[:, 0] * (self._centre - self.low.sum())
        return factors / largest[:, None, :, None], scale, g


def _vector_weights(log_factors: Array, columns: NDArray[np.int64], place: NDArray[np.int64]) -> Array:
    """Return, for every vector x of counts, the log of the product of the factors h_s(x_s) over the components s. With
    three factors per component, return the log of the sum of such products over all choices of the distinguished
    component.
    """
    logs = log_factors[:, columns, place]
    if len(log_factors) == 1:
        return np.asarray(logs[0].sum(axis=1))
    edge = np.zeros((len(place), 1))
    before = np.concatenate([edge, np.cumsum(logs[0], axis=1)[:, :-1]], axis=1)
    after = np.concatenate([np.cumsum(logs[2][:, :0:-1], axis=1)[:, ::-1], edge], axis=1)
    return np.asarray(logsumexp(before + logs[1] + after, axis=1))


Whole = NDArray[np.int64]
_TERM_NUMBERS = 1_000_000  # number of array entries that are processed together


def windows(
    released: NDArray[np.int64], noise: Noise, window: int | None, *, drawn: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for every component, the lowest and the highest true count over which the posterior is summed. They are
    the ends of the window of Wang (2020), or of the range of all counts that are not negligible.

    Parameters
    ----------
    released : int64 (S,).
    noise : noise of one count.
    window : half-width of the window, an integer, or None for all counts that are not negligible.
    drawn : whether the weights of the multinomial distribution are posterior draws (algorithm 1).

    Returns
    -------
    low, high : int64 (S,).
    """
    if window is not None:
        return noise.capped(np.maximum(released - window, 0), released + window)
    total, size = int(released.sum()), len(released)
    slack = noise.reach * (2 if drawn else 1)
    scale = total / (total + size) if total else 1.0
    above = gammainccinv(released + 1.0, np.exp(-DIGITS)) * scale * (1 + slack / max(total, 1))
    below = gammaincinv(released + 1.0, np.exp(-DIGITS)) * scale * max(1 - slack / max(total, 1), 0)
    low = np.maximum(np.floor(below).astype(np.int64) - slack, 0)
    high = np.minimum(np.ceil(above).astype(np.int64), total) + slack  # no component exceeds the total
    return noise.capped(np.minimum(low, high), high)


def multinomial(released: NDArray[np.int64], noise: Noise, window: int | None, *, drawn: bool) -> Terms:
    """Return the likelihood of the true counts given a release by algorithm 1 or 2 of Wang (2020), as a mixture of
    products with one factor per count. The release was produced by algorithm 1 (independent) if `drawn` is true, and
    otherwise by algorithm 2.

    Parameters
    ----------
    released, noise, window, drawn : as in `windows`.

    Returns
    -------
    Terms
    """
    low, high = windows(released, noise, window, drawn=drawn)
    width = int((high - low).max()) + 1
    inside = np.arange(width) <= (high - low)[:, None]
    margin = noise.reach * (2 if drawn else 1)
    x = low[:, None] - margin + np.arange(width + 2 * margin)
    total, size = int(released.sum()), len(released)

    def true_counts(likelihood: Array) -> Array:
        if not drawn:
            return noise.spread(likelihood) * inside
        return noise.spread(noise.drawn(np.where(x < 0, 0.0, likelihood), x[:, 0])) * inside

    weight = np.maximum(x, 0)
    nodes, log_nodes = _nodes(total, *(gap * (2 if drawn else 1) for gap in _beyond(noise, size)))
    logs = xlogy(released[:, None], weight) - nodes[:, None, None] * weight
    largest = logs.max(axis=2, keepdims=True)
    factors = true_counts(np.exp(logs - largest))
    log_weights = log_nodes + largest.sum(axis=(1, 2))
    empty = true_counts(np.broadcast_to((weight == 0).astype(float), (1, *weight.shape)))
    if total and np.all(empty.sum(axis=2) > 0):  # if all weights are 0, the shares are equal
        factors = np.concatenate([factors, empty])
        log_weights, nodes = np.append(log_weights, -total * np.log(size)), np.append(nodes, 1.0)
    tilts = _tilts(factors, low, noise, *noise.total_factor(total, drawn=drawn))
    return Terms(low, log_weights, factors[:, None], tilts)


def _nodes(total: int, below: int, above: int) -> tuple[Array, Array]:
    """Return nodes u and log weights of the trapezoid rule for the integral int u^(M-1) exp(-u T) du / Gamma(M). The
    rule is accurate for all T with M - below <= T <= M + above.

    The step h is chosen so that the quadrature error |Gamma(M + 2 pi i/h)|/Gamma(M) is smaller than exp(-38). No
    integral is needed if M = 0.
    """
    if total == 0:
        return np.zeros(1), np.zeros(1)
    frequency = np.geomspace(1, 1e6, 4001)
    decay = loggamma(total + 1j * frequency).real - gammaln(total)
    step = 2 * np.pi / frequency[np.argmax(decay < -DIGITS)]
    first = np.log(gammaincinv(total, np.exp(-DIGITS)) / (total + above))
    last = np.log(gammainccinv(total, np.exp(-DIGITS)) / max(total - below, 1))
    nodes = np.exp(np.arange(np.floor(first / step), np.ceil(last / step) + 1) * step)
    return nodes, np.log(step) + total * np.log(nodes) - gammaln(total)


def mode(released: NDArray[np.int64], noise: Noise, window: int | None, *, ties: str) -> Terms:
    """Return the likelihood of the true counts given a release by algorithm 3 of Wang (2020), as a mixture of products.
    The tie-breaking rule is ``"first"``, ``"last"`` or ``"random"``.

    Parameters
    ----------
    released, noise, window : as in `windows`.
    ties : tie-breaking rule.

    Returns
    -------
    Terms
    """
    total, size = int(released.sum()), len(released)
    levels = _levels(released, noise)
    if window is None:
        lowest, highest = (levels[[0, -1], 0] / levels[[0, -1], 1]) if len(levels) else (1.0, 1.0)
        low = np.maximum(np.floor(released * lowest).astype(np.int64) - noise.reach, 0)
        high = np.ceil((released + 1) * highest).astype(np.int64)
        high = np.minimum(high, total) + noise.reach  # no component exceeds the total
    else:
        low, high = np.maximum(released - window, 0), released + window
    low, high = noise.capped(low, high)
    width = int((high - low).max()) + 1
    inside = np.arange(width) <= (high - low)[:, None]
    x = np.maximum(low[:, None] - noise.reach + np.arange(width + 2 * noise.reach), 0)
    block = max(1, _TERM_NUMBERS // x.size)
    pieces = [_boxes(released, x, levels[start : start + block], ties) for start in range(0, len(levels), block)]
    if total == 0:
        pieces = [(np.ones((1, 1, *x.shape)), np.zeros(1))]
    elif released.max() - released.min() <= 1:  # equal shares; the tie-breaking rule assigns the remainder
        chance = _log_remainder(released, ties)
        if chance > -np.inf:
            empty = np.broadcast_to((x == 0).astype(float), (1, 3, *x.shape))
            pieces.append((empty, np.array([chance - np.log(size)])))
    factors = np.concatenate([noise.spread(boxes) * inside for boxes, _ in pieces])
    largest = factors.max(axis=1)
    tilts = _tilts(largest, low, noise, *noise.total_factor(total, drawn=False))
    return Terms(low, np.concatenate([logs for _, logs in pieces]), factors, tilts)


def _levels(released: Whole, noise: Noise) -> Whole:
    """Return the possible levels of a release by algorithm 3 of Wang (2020), as fractions in lowest terms. A level is a
    value of the smallest quotient that receives a unit. Every level satisfies level M <= sum of weights <= level (M +
    S).

    The result has shape (L, 2): numerators and denominators of the levels, in increasing order.
    """
    total, size = int(released.sum()), len(released)
    if total == 0:
        return np.empty((0, 2), dtype=np.int64)
    below, above = _beyond(noise, size)
    served = np.unique(released[released > 0])
    first = np.maximum(-(-max(total - below, 0) * served // (total + size)), 1)
    number = (total + above) * served // total + 1 - first
    r = np.repeat(served, number)
    a = np.repeat(first - np.cumsum(number) + number, number) + np.arange(len(r))
    common = np.gcd(a, r)
    levels = np.unique(np.stack([a // common, r // common], axis=1), axis=0)
    return levels[np.argsort(levels[:, 0] / levels[:, 1], kind="stable")]


def _beyond(noise: Noise, size: int) -> tuple[int, int]:
    """Return bounds on the distance between the noisy total and the sum of max(n_s, 0), which hold except with
    negligible probability. The first bound is for sums below the total, and the second bound is for sums above the
    total. The sum is over all noisy components n_s. The distance above is computed for noise that is clipped at 0 from
    below.
    """
    positive = noise.p[noise.reach :].copy()
    positive[0] = noise.p[: noise.reach + 1].sum()
    return _far(noise.p, noise, size), _far(np.concatenate([np.zeros(noise.reach), positive]), noise, size)


def _far(law: Array, noise: Noise, size: int) -> int:
    """Return a bound on the absolute value of the sum of the noise in the total and `size` independent noise terms with
    the distribution `law`. The sum exceeds the bound only with negligible probability.
    """
    out = noise.of_total.p
    for _ in range(size):
        out = np.convolve(out, law)
        kept = np.flatnonzero(out > 1e-28)
        reach = max(len(out) // 2 - int(kept[0]), int(kept[-1]) - len(out) // 2)
        out = out[len(out) // 2 - reach : len(out) // 2 + reach + 1]
    return len(out) // 2


def _boxes(released: Whole, x: Whole, levels: Whole, ties: str) -> tuple[Array, Array]:
    """Return the likelihood factors of each term, component and count, and the log weights of the quadrature nodes. The
    factors (stay0, move, stay1) are a float64 array of shape (T, 3, S, W), and the log weights have the shape (T,). The
    factors are computed for given levels of algorithm 3 of Wang (2020). With random ties, both arrays have one entry
    per level and node.
    """
    r, p, q = released[:, None], levels[:, 0, None, None], levels[:, 1, None, None]
    place, least, most = q * x, p * r, p * (r + 1)
    got, lost = (place == least) & (r > 0), place == most
    clear = ((place > least) | (r == 0)) & (place < most)
    if ties != "random":
        early, late = (clear | got, clear | lost) if ties == "first" else (clear | lost, clear | got)
        return np.stack([early, got, late], axis=1).astype(float), np.zeros(len(levels))
    claims = (got | lost).any(axis=2).sum(axis=1)
    rules = [_quadrature.legendre(claim // 2 + 1) for claim in claims.tolist()]
    nodes, weights = np.concatenate(rules, axis=1)
    row = np.repeat(np.arange(len(levels)), claims // 2 + 1)
    t = ((nodes + 1) / 2)[:, None, None]  # probability of a place before the component with the last unit
    free = clear[row] + t * got[row] + (1 - t) * lost[row]
    return np.stack([free, got[row], free], axis=1), np.log(weights / 2)


def _log_remainder(released: NDArray[np.int64], ties: str) -> float:
    """Return the log probability of the observed assignment of the remaining units to components, under a given
    tie-breaking rule. Units remain after an equal division of the total.
    """
    size, extra = len(released), int(released.sum()) % len(released)
    if ties == "random":
        return float(gammaln(extra + 1) + gammaln(size - extra + 1) - gammaln(size + 1))
    winners = np.flatnonzero(released > released.min()) if extra else np.arange(0)
    expected = np.arange(extra) if ties == "first" else np.arange(size - extra, size)
    return 0.0 if np.array_equal(winners, expected) else -np.inf


def _tilts(factors: Array, low: Whole, noise: Noise, total_low: int, total_factor: Array) -> Array:
    """Return the exponential tilt of every term of the mixture. The tilt is the value on a grid that minimises an upper
    bound on the weight of the term. Tilts at which the tilted weights could overflow are excluded.
    """
    terms, size, width = factors.shape
    totals = total_low + np.arange(len(total_factor))
    scale = float(totals @ total_factor / total_factor.sum()) + size
    steep = noise.epsilon * np.linspace(-0.9, 0.9, 37)
    fine = 10 / np.sqrt(scale) * np.linspace(-1, 1, 41)
    falling = -np.geomspace(noise.epsilon, noise.epsilon + 3 + size, 16)
    grid = np.unique(np.concatenate([steep, fine[np.abs(fine) < 0.9 * noise.epsilon], falling]))
    grid = grid[np.abs(grid) * width <= 600]
    rise = np.exp(grid * np.arange(width)[:, None])
    best, block = np.empty(terms), max(1, _TERM_NUMBERS // (size * len(grid)))
    with np.errstate(divide="ignore"):
        edge = (np.log(total_factor) - np.outer(grid, totals - low.sum())).max(axis=1)
        for start in range(0, terms, block):
            block_tilts = factors[start : start + block]
            bound = np.log(block_tilts.reshape(-1, width) @ rise).reshape(len(block_tilts), size, -1).sum(axis=1) + edge
            best[start : start + block] = np.where(np.isfinite(bound).all(axis=1), grid[bound.argmin(axis=1)], 0.0)
    return best


def noisy(noisy_counts: NDArray[np.int64], noise: Noise, total_low: int, total_factor: Array) -> Terms:
    """Return the likelihood of the true counts given their noisy counts, as a mixture with a single term. The factor of
    the total determines only the exponential tilt.

    Parameters
    ----------
    noisy_counts : int64 (S,).
    noise : noise of one count.
    total_low : first value of the total.
    total_factor : float64 (G,), factor of the total.

    Returns
    -------
    Terms
    """
    low, high = noise.capped(np.maximum(noisy_counts - noise.reach, 0), np.maximum(noisy_counts + noise.reach, 0))
    width = int((high - low).max()) + 1
    inside = np.arange(width) <= (high - low)[:, None]
    x = low[:, None] - noise.reach + np.arange(width + 2 * noise.reach)
    factors = (noise.spread((x == noisy_counts[:, None]).astype(float)) * inside)[None]
    return Terms(low, np.zeros(1), factors[:, None], _tilts(factors, low, noise, total_low, total_factor))


_TOLERANCE = 1e-11  # largest neglected probability mass, or rounding error, of a distribution whose status is ``exact``
# empirical bound: the rounding error of the marginals, divided by the condition number, is below this value
_ROUNDING = 4e-17
_DRAWS = 1 << 22  # number of weights in memory during drawing


@dataclass(frozen=True)
class Certificate:
    """Upper bounds on the probability mass that a computation of a posterior distribution neglects. The mass of the
    neglected terms is about a quarter of `pruned`. The numbers `wrapped` and `cut` are Chernoff bounds, so the true
    mass is smaller.

    Attributes
    ----------
    pruned : mass of neglected terms.
    wrapped : mass of totals beyond the length of the transform, which wrap around.
    cut : mass of counts and totals outside their grids.
    condition : condition number of the transforms: the sum of absolute values divided by the sum. The rounding error is
        about 1e-16 times this number.
    """

    pruned: float = 0.0
    wrapped: float = 0.0
    cut: float = 0.0
    condition: float = 1.0

    @property
    def error(self) -> float:
        """Upper bound on the error of any computed probability, including rounding errors."""
        return self.pruned + self.wrapped + self.cut + _ROUNDING * self.condition

    def accuracy(self) -> Accuracy:
        """Return the accuracy status of the distribution. The status is ``exact`` if the error bound is within the
        rounding tolerance, and otherwise ``approximate`` with the bound.
        """
        if self.error < _TOLERANCE:
            return EXACT
        return Accuracy(
            "approximate", self.error, f"at most {at_most(self.error)} of the probability is truncated or rounded"
        )


@dataclass(frozen=True)
class Chain:
    """One term of a mixture of product distributions. It contains the factors of all components at the counts low_s,
    low_s + 1, .., and the factor of the total.

    Attributes
    ----------
    early, late, gain : float64 (S, W); `gain` is None if no component is distinguished.
    tail : float64 (L,), factor of the total T at index sum(low) - T modulo L.
    """

    early: Array
    late: Array
    gain: Array | None
    tail: Array


class TermSource(Protocol):
    """Interface of classes that compute the terms of a mixture on demand."""

    def chain(self, term: int) -> Chain: ...

    def log_probabilities(self, vectors: Whole) -> Array: ...


@dataclass(frozen=True)
class Solved:
    """Marginal distributions, distribution of the total, and weights of the terms of a mixture, computed by Fourier
    transforms.

    Attributes
    ----------
    of : int64 (S,), column of every component.
    low : int64 (U,), first value of every column.
    marginals : one array of probabilities per column, which sum to 1.
    totals, total : values and probabilities of the total.
    weights : float64 (T,), probability of every term.
    """

    of: Whole
    low: Whole
    marginals: list[Array]
    totals: Whole
    total: Array
    weights: Array
    certificate: Certificate


class TransformedCounts:
    """Joint distribution of counts that was computed by Fourier transforms.

    Parameters
    ----------
    solved : marginals and total.
    terms : source of draws and of probabilities of vectors.
    """

    def __init__(self, solved: Solved, terms: TermSource) -> None:
        self.solved, self._terms = solved, terms
        self.components, self.certificate = len(solved.of), solved.certificate

    def marginal(self, component: int) -> tuple[Whole, Array]:
        """Return the marginal distribution of one component, as (values, probabilities)."""
        column = int(self.solved.of[component])
        return _trimmed(self.solved.low[column], self.solved.marginals[column])

    def total(self) -> tuple[Whole, Array]:
        """Return the distribution of the total, as (values, probabilities)."""
        return _trimmed(self.solved.totals[0], self.solved.total)

    def accuracy(self) -> Accuracy:
        """Accuracy status of the distribution: ``exact``, or ``approximate`` with a bound on the error."""
        return self.certificate.accuracy()

    def log_probabilities(self, vectors: Whole) -> Array:
        """Return the log probabilities of n vectors of counts, which are the rows of an array, as a float64 array of
        shape (n,).
        """
        return self._terms.log_probabilities(vectors)

    def top(self, k: int) -> tuple[Whole, Array]:
        """Return the k most probable vectors of counts, with their probabilities."""
        start = np.array([np.rint(v @ p) for v, p in map(self.marginal, range(self.components))], dtype=np.int64)
        vectors, logs = most_probable(self.log_probabilities, start, k)
        return vectors, np.exp(logs)

    def draw(self, size: int, *, rng: np.random.Generator) -> Whole:
        """Draw independent vectors of counts, as an int64 array of shape (size, S) for S components. For each vector, a
        term of the mixture is drawn first, and then each component in turn, given the sum of the earlier components.
        """
        out = np.empty((size, self.components), dtype=np.int64)
        term = rng.choice(len(self.solved.weights), size=size, p=self.solved.weights)
        low = self.solved.low[self.solved.of]
        for t in np.unique(term):
            rows = np.flatnonzero(term == t)
            chain = self._terms.chain(int(t))
            block = max(_DRAWS // (2 * chain.early.shape[1]), 1)
            after = _afterwards(chain)
            for begin in range(0, len(rows), block):
                block_rows = rows[begin : begin + block]
                out[block_rows] = low + _draw(chain, after, rng.random((len(block_rows), self.components)))
        return out


def _trimmed(first: np.int64, law: Array) -> tuple[Whole, Array]:
    kept = np.flatnonzero(law > 0)
    return first + np.arange(kept[0], kept[-1] + 1), law[kept[0] : kept[-1] + 1]


def _afterwards(chain: Chain) -> list[Array]:
    """Return, for every component, the convolution of the weights of the total and of all later components. The weight
    is a function of the sum t of this component and the earlier components. Each array has shape (1 or 2, L), with the
    value for t at index -t modulo L. The second row applies once a component has received the last unit.
    """
    length = len(chain.tail)
    late = scipy.fft.rfft(chain.tail)
    early = late if chain.gain is None else np.zeros_like(late)
    out = []
    for s in range(len(chain.early) - 1, -1, -1):
        states = [early] if chain.gain is None else [early, late]
        out.append(np.maximum(scipy.fft.irfft(np.stack(states), length, axis=1), 0.0))
        first = scipy.fft.rfft(chain.early[s], length)
        early = first * early
        if chain.gain is not None:
            early = early + scipy.fft.rfft(chain.gain[s], length) * late
            late = scipy.fft.rfft(chain.late[s], length) * late
    return out[::-1]


def _draw(chain: Chain, after: list[Array], uniforms: Array) -> Whole:
    """Draw one vector of counts for each row of uniform random numbers. The counts are returned as differences from the
    lowest counts.
    """
    size, width, length = len(uniforms), chain.early.shape[1], len(chain.tail)
    out, sums, state = (
        np.empty(uniforms.shape, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=bool),
    )
    x = np.arange(width)
    for s in range(uniforms.shape[1]):
        place = (-(sums[:, None] + x)) % length
        if chain.gain is None:
            weights = chain.early[s] * after[s][0][place]
        else:
            served = after[s][1][place]
            stay = np.where(state[:, None], chain.late[s] * served, chain.early[s] * after[s][0][place])
            weights = np.concatenate([stay, np.where(state[:, None], 0.0, chain.gain[s] * served)], axis=1)
        running = np.cumsum(weights, axis=1)
        pick = (running <= uniforms[:, s, None] * running[:, -1:]).sum(axis=1)
        pick = np.minimum(pick, weights.shape[1] - 1)
        out[:, s] = pick % width
        state |= pick >= width
        sums += out[:, s]
    return out
