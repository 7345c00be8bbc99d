"""The likelihood of an additive release as a sum of products over the components.

The methods of Wang (2020) in the documentation derive each.

Algorithms 1 (independent) and 2: 1/T^M = int u^(M-1) exp(-u T) du / Gamma(M) turns the multinomial likelihood with
weights x_s/T into an integral of products, by the trapezoid rule in log u. Algorithm 3: the released vector is a mode
exactly if the smallest quotient x_j/r_j that was served is at least the largest x_i/(r_i + 1) that was not; for every
level of that smallest quotient the noisy counts lie in intervals, ties by rule.
"""

from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv, gammaincinv, gammaln, loggamma, xlogy

from ... import _quadrature
from ._coupled_counts import Terms
from ._noise_operators import DIGITS, Noise

Array = NDArray[np.float64]


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
        rows = [noise.drawn(np.where(x[s] < 0, 0.0, likelihood[:, s]), int(x[s, 0])) for s in range(size)]
        return noise.spread(np.stack(rows, axis=1)) * inside

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
    return Terms(
        low,
        log_weights,
        lambda i: factors[i][:, None],
        _tilts(list(factors[:, None]), low, noise, *noise.total_factor(total, drawn=drawn)),
    )


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
        low = np.maximum(np.floor(released * float(min(levels, default=1))).astype(np.int64) - noise.reach, 0)
        high = np.ceil((released + 1) * float(max(levels, default=1))).astype(np.int64)
        high = np.minimum(high, total) + noise.reach  # no component exceeds the total
    else:
        low, high = np.maximum(released - window, 0), released + window
    low, high = noise.capped(low, high)
    width = int((high - low).max()) + 1
    x = np.maximum(low[:, None] - noise.reach + np.arange(width + 2 * noise.reach), 0)
    boxes: list[Array] = []
    weights: list[float] = []
    for level in levels:
        parts, logs = _box(released, x, level, ties)
        boxes += parts
        weights += logs
    if total == 0:
        boxes, weights = [np.ones((1, *x.shape))], [0.0]
    elif released.max() - released.min() <= 1:  # all weights 0: equal shares, the remainder by rule
        chance = _log_remainder(released, ties)
        if chance > -np.inf:
            empty = (x == 0).astype(float)
            boxes, weights = [*boxes, np.stack([empty] * 3)], [*weights, chance - np.log(size)]
    inside = np.arange(width) <= (high - low)[:, None]
    factors = [noise.spread(box) * inside for box in boxes]
    tilts = _tilts(factors, low, noise, *noise.total_factor(total, drawn=False))
    return Terms(low, np.array(weights), lambda i: np.stack([factors[j] for j in i]), tilts)


def _levels(released: NDArray[np.int64], noise: Noise) -> list[Fraction]:
    """Smallest served quotients that are possible at all: level M <= sum of weights <= level (M + S)."""
    total, size = int(released.sum()), len(released)
    if total == 0:
        return []
    below, above = _beyond(noise, size)
    lowest, highest = Fraction(max(total - below, 0), total + size), Fraction(total + above, total)
    return sorted(
        {
            Fraction(a, r)
            for r in set(released[released > 0].tolist())
            for a in range(max(1, ceil(lowest * r)), int(highest * r) + 1)
        }
    )


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


def _box(
    released: NDArray[np.int64], x: NDArray[np.int64], level: Fraction, ties: str
) -> tuple[list[Array], list[float]]:
    """Likelihood factors (stay0, move, stay1) of one level, with one entry a node for random ties."""
    r, p, q = released[:, None], level.numerator, level.denominator
    got = ((q * x == p * r) & (r > 0)).astype(float)
    lost = (q * x == p * (r + 1)).astype(float)
    clear = (((q * x > p * r) | (r == 0)) & (q * x < p * (r + 1))).astype(float)
    if ties != "random":
        early, late = (clear + got, clear + lost) if ties == "first" else (clear + lost, clear + got)
        return [np.stack([early, got, late])], [0.0]
    claims = int(np.count_nonzero((got + lost).any(axis=1)))
    nodes, weights = _quadrature.legendre(claims // 2 + 1)
    boxes = []
    for t in (nodes + 1) / 2:  # chance of a place before the last served claim
        free = clear + t * got + (1 - t) * lost
        boxes.append(np.stack([free, got, free]))
    return boxes, np.log(weights / 2).tolist()


def _log_remainder(released: NDArray[np.int64], ties: str) -> float:
    """Log probability of this split of a remainder among equal claims."""
    size, extra = len(released), int(released.sum()) % len(released)
    if ties == "random":
        return float(gammaln(extra + 1) + gammaln(size - extra + 1) - gammaln(size + 1))
    winners = np.flatnonzero(released > released.min()) if extra else np.arange(0)
    expected = np.arange(extra) if ties == "first" else np.arange(size - extra, size)
    return 0.0 if np.array_equal(winners, expected) else -np.inf


def _tilts(factors: list[Array], low: NDArray[np.int64], noise: Noise, total_low: int, total_factor: Array) -> Array:
    """The tilt, from a grid, with the smallest bound on each term's weight; none beyond what doubles can hold."""
    size, width = factors[0].shape[1:]
    totals = total_low + np.arange(len(total_factor))
    scale = float(totals @ total_factor / total_factor.sum()) + size
    steep = noise.epsilon * np.linspace(-0.9, 0.9, 37)
    fine = 10 / np.sqrt(scale) * np.linspace(-1, 1, 41)
    falling = -np.geomspace(noise.epsilon, noise.epsilon + 3 + size, 16)
    grid = np.unique(np.concatenate([steep, fine[np.abs(fine) < 0.9 * noise.epsilon], falling]))
    grid = grid[np.abs(grid) * width <= 600]
    rise = np.exp(grid * np.arange(width)[:, None])
    with np.errstate(divide="ignore"):
        edge = (np.log(total_factor) - np.outer(grid, totals - low.sum())).max(axis=1)
        best = np.empty(len(factors))
        for i, factor in enumerate(factors):
            bound = np.log(factor.max(axis=0) @ rise).sum(axis=0) + edge
            best[i] = grid[np.argmin(bound)] if np.isfinite(bound).all() else 0.0
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
    factors = (noise.spread((x == noisy_counts[:, None]).astype(float)) * inside)[None, None]
    return Terms(low, np.zeros(1), lambda i: factors[i], _tilts([factors[0]], low, noise, total_low, total_factor))
