"""Reference implementation of `direct_sampler` for Laplace noise: the same knots and draws, one attempt at a time."""

from typing import Required, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

Array = NDArray[np.float64]


class Weight(TypedDict, total=False):
    """A weight: ``"normal"`` with mode and width, or ``"gamma"`` with mode, width and power."""

    weight: Required[str]
    mode: Required[float]
    width: Required[float]
    power: float


def interval(problem: Weight, log_u: Array) -> tuple[Array, Array]:
    """Return the ends of A_u; for the gamma weight by Lambert's W function."""
    log_u = np.asarray(log_u, dtype=float)
    if problem["weight"] == "normal":
        reach = problem["width"] * np.sqrt(-2 * log_u)
        return problem["mode"] - reach, problem["mode"] + reach
    z, at = problem["mode"] + problem["width"], -np.exp(-1 + log_u / problem["power"])
    low, high = (z + problem["width"] * lambertw(at, k).real for k in (-1, 0))
    return low, high


def log_area(problem: Weight, scale: float, log_u: Array) -> Array:
    """Return log P(A_u) from differences of the Laplace distribution function in the nearer tail."""
    low, high = interval(problem, log_u)
    left, right = np.exp(np.minimum(high, 0) / scale) / 2, np.exp(-np.maximum(low, 0) / scale) / 2
    below, above = np.exp(np.minimum(low, 0) / scale) / 2, np.exp(-np.maximum(high, 0) / scale) / 2
    with np.errstate(divide="ignore"):
        return np.log(np.where(high <= 0, left - below, np.where(low >= 0, right - above, 1 - below - above)))


def small_rectangles(problem: Weight, scale: float, lower: float, upper: float, count: int) -> tuple[Array, Array]:
    """Return knots and log P(A_u) in order of addition, halving in log u; all rectangles are sorted each time."""
    made = [lower, upper]
    for _ in range(count - 1):
        knots = np.sort(made)
        p = np.exp(log_area(problem, scale, np.minimum(knots, -5e-324)))
        p[-1] = 0.0 if upper == 0 else p[-1]
        j = int(np.argmax(np.diff(np.exp(knots)) * -np.diff(p)))
        made.append((knots[j] + knots[j + 1]) / 2)
    u = np.array(made)
    p = log_area(problem, scale, np.minimum(u, -5e-324))
    p[u == 0] = -np.inf
    return u, p


def draw(
    problem: Weight, scale: float, log_u: Array, log_p: Array, first: float, size: int, *, rng: np.random.Generator
) -> tuple[Array, int]:
    """Return draws and the number of rejections: `direct_sampler.draw` without adaptation."""
    left, height = np.exp(np.append(-np.inf, log_u)), np.exp(np.append(first, log_p[:-1]))
    ends = np.cumsum(np.diff(left) * height)
    out, rejected = np.empty(size), 0
    for i in range(size):
        while True:
            target = rng.random() * ends[-1]
            piece = int(np.searchsorted(ends, target, side="right"))
            start = ends[piece - 1] if piece else 0.0
            share = 1 - (target - start) / (ends[piece] - start)
            at = np.log(left[piece] + share * (left[piece + 1] - left[piece]))
            if rng.random() < np.exp(log_area(problem, scale, at)) / height[piece]:
                break
            rejected += 1
        low, high = (end / scale for end in interval(problem, at))
        cdf = [np.exp(x) / 2 if x < 0 else 1 - np.exp(-x) / 2 for x in (low, high)]
        q = cdf[0] + rng.random() * (cdf[1] - cdf[0])
        out[i] = scale * (np.log(2 * q) if q < 0.5 else -np.log(2 * (1 - q)))
    return out, rejected
