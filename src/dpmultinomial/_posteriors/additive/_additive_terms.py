"""The likelihood of an additive release as a sum of products over the components.

The methods of Wang (2020) in the documentation derive each.

Algorithms 1 (independent) and 2: 1/T^M = int u^(M-1) exp(-u T) du / Gamma(M) turns the multinomial likelihood with
weights x_s/T into an integral of products, by the trapezoid rule in log u. Algorithm 3: the released vector is a mode
exactly if the smallest quotient x_j/r_j that was served is at least the largest x_i/(r_i + 1) that was not; for every
level of that smallest quotient the noisy counts lie in intervals, ties by rule.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv, gammaincinv, gammaln, loggamma, xlogy

from ... import _quadrature
from ._coupled_counts import Terms
from ._noise_operators import DIGITS, Noise

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_NUMBERS = 1_000_000  # numbers of an array that is worked on at a time


def windows(
    released: NDArray[np.int64], noise: Noise, window: int | None, *, drawn: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lowest and highest true count of every component: the paper's window, or all that matter.

    Parameters
    ----------
    released : int64 (S,).
    noise : Noise.
    window : whole number, or None for all that matter.
    drawn : whether weights are posterior draws (algorithms 1).

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
    """Algorithms 2 and, with `drawn`, 1 (independent).

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
    if total and np.all(empty.sum(axis=2) > 0):  # all weights 0: equal shares
        factors = np.concatenate([factors, empty])
        log_weights, nodes = np.append(log_weights, -total * np.log(size)), np.append(nodes, 1.0)
    tilts = _tilts(factors, low, noise, *noise.total_factor(total, drawn=drawn))
    return Terms(low, log_weights, factors[:, None], tilts)


def _nodes(total: int, below: int, above: int) -> tuple[Array, Array]:
    """Nodes u and log weights of the trapezoid rule for int u^(M-1) exp(-u T) du / Gamma(M), M-below <= T <= M+above.

    The step makes the rule's error |Gamma(M + 2 pi i/h)|/Gamma(M) smaller than exp(-38). M = 0 needs no integral.
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
    """Algorithm 3 with ties ``"first"``, ``"last"`` or ``"random"``.

    Parameters
    ----------
    released, noise, window : as in `windows`.
    ties : the rule.

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
    block = max(1, _NUMBERS // x.size)
    found = [_boxes(released, x, levels[start : start + block], ties) for start in range(0, len(levels), block)]
    if total == 0:
        found = [(np.ones((1, 1, *x.shape)), np.zeros(1))]
    elif released.max() - released.min() <= 1:  # all weights 0: equal shares, the remainder by rule
        chance = _log_remainder(released, ties)
        if chance > -np.inf:
            empty = np.broadcast_to((x == 0).astype(float), (1, 3, *x.shape))
            found.append((empty, np.array([chance - np.log(size)])))
    factors = np.concatenate([noise.spread(boxes) * inside for boxes, _ in found])
    largest = factors.max(axis=1)
    tilts = _tilts(largest, low, noise, *noise.total_factor(total, drawn=False))
    return Terms(low, np.concatenate([logs for _, logs in found]), factors, tilts)


def _levels(released: Whole, noise: Noise) -> Whole:
    """Smallest served quotients that are possible at all: level M <= sum of weights <= level (M + S).

    Numerators and denominators in lowest terms (L, 2), rising.
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
    """How far below and above the noisy total the sum of the weights max(n_s, 0) can lie (plain and clipped noise)."""
    positive = noise.p[noise.reach :].copy()
    positive[0] = noise.p[: noise.reach + 1].sum()
    return _far(noise.p, noise, size), _far(np.concatenate([np.zeros(noise.reach), positive]), noise, size)


def _far(law: Array, noise: Noise, size: int) -> int:
    """A value that `size` variables of this law and the noise of the total hardly ever add up to."""
    out = noise.of_total.p
    for _ in range(size):
        out = np.convolve(out, law)
        kept = np.flatnonzero(out > 1e-28)
        reach = max(len(out) // 2 - int(kept[0]), int(kept[-1]) - len(out) // 2)
        out = out[len(out) // 2 - reach : len(out) // 2 + reach + 1]
    return len(out) // 2


def _boxes(released: Whole, x: Whole, levels: Whole, ties: str) -> tuple[Array, Array]:
    """Likelihood factors (stay0, move, stay1) of these levels (T, 3, S, W), with one entry a node for random ties, and
    the nodes' log weights (T,)."""
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
    t = ((nodes + 1) / 2)[:, None, None]  # chance of a place before the last served claim
    free = clear[row] + t * got[row] + (1 - t) * lost[row]
    return np.stack([free, got[row], free], axis=1), np.log(weights / 2)


def _log_remainder(released: NDArray[np.int64], ties: str) -> float:
    """Log probability of this split of a remainder among equal claims."""
    size, extra = len(released), int(released.sum()) % len(released)
    if ties == "random":
        return float(gammaln(extra + 1) + gammaln(size - extra + 1) - gammaln(size + 1))
    winners = np.flatnonzero(released > released.min()) if extra else np.arange(0)
    expected = np.arange(extra) if ties == "first" else np.arange(size - extra, size)
    return 0.0 if np.array_equal(winners, expected) else -np.inf


def _tilts(factors: Array, low: Whole, noise: Noise, total_low: int, total_factor: Array) -> Array:
    """The tilt of every term (T, S, W), from a grid, with the smallest bound on its weight; none beyond what doubles
    can hold."""
    terms, size, width = factors.shape
    totals = total_low + np.arange(len(total_factor))
    scale = float(totals @ total_factor / total_factor.sum()) + size
    steep = noise.epsilon * np.linspace(-0.9, 0.9, 37)
    fine = 10 / np.sqrt(scale) * np.linspace(-1, 1, 41)
    falling = -np.geomspace(noise.epsilon, noise.epsilon + 3 + size, 16)
    grid = np.unique(np.concatenate([steep, fine[np.abs(fine) < 0.9 * noise.epsilon], falling]))
    grid = grid[np.abs(grid) * width <= 600]
    rise = np.exp(grid * np.arange(width)[:, None])
    best, block = np.empty(terms), max(1, _NUMBERS // (size * len(grid)))
    with np.errstate(divide="ignore"):
        edge = (np.log(total_factor) - np.outer(grid, totals - low.sum())).max(axis=1)
        for start in range(0, terms, block):
            some = factors[start : start + block]
            bound = np.log(some.reshape(-1, width) @ rise).reshape(len(some), size, -1).sum(axis=1) + edge
            best[start : start + block] = np.where(np.isfinite(bound).all(axis=1), grid[bound.argmin(axis=1)], 0.0)
    return best


def noisy(noisy_counts: NDArray[np.int64], noise: Noise, total_low: int, total_factor: Array) -> Terms:
    """The noisy components themselves, without an additive release.

    Parameters
    ----------
    noisy_counts : int64 (S,).
    noise : Noise.
    total_low : first total.
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
