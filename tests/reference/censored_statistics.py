"""Reference implementation of `_statistics_sampler`: the same steps with the same stream in NumPy and SciPy.

The saddlepoint is computed every time by SciPy on 400 nodes; moments are those of SciPy's truncated normal
distribution.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.special import gammaln, log_ndtr, ndtri_exp
from scipy.stats import truncnorm

Array = NDArray[np.float64]
MeanAndVariance = tuple[float, float]
Prior = tuple[float, float, float, float]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)
FEW = 64


def log_inside_density(mean: float, sse: float, count: int) -> float:
    """Return log h_c(m, q) by the same expansion, with every expectation written out."""
    v, d = sse / count, NODES - mean

    def law(e: Array) -> tuple[float, Array]:
        logs = e[0] * d + e[1] * d**2
        top = logs.max()
        p = WEIGHTS * np.exp(logs - top)
        return float(top + np.log(p.sum())), p / p.sum()

    def gap(e: Array) -> Array:
        p = law(e)[1]
        return np.array([(p @ d) / v**0.5, (p @ d**2 - v) / v])

    unit = np.array([v**-0.5, 1 / v])

    def scaled_gap(y: Array) -> Array:
        return gap(y * unit)

    e = root(scaled_gap, [0.0, -0.5], tol=1e-14).x * unit
    log_mass, p = law(e)
    y = np.column_stack([d, d**2 - v])
    covariance = (y * p[:, None]).T @ y
    y = y @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    square = (y**2).sum(axis=1)
    third = np.einsum("n,ni,nj,nk->ijk", p, y, y, y)
    second = (p @ square**2 - 8) / 8 - ((p @ (square[:, None] * y)) ** 2).sum() / 8 - (third**2).sum() / 12
    exponent = count * (log_mass - e[1] * v)
    return float(exponent - 0.5 * np.linalg.slogdet(covariance)[1] - np.log(2 * np.pi) + np.log1p(second / count))


def _place(w: float, expected: float, variance: float, z: float, scale: float) -> tuple[float, float]:
    k = 2 * scale**2 / (2 * scale**2 + variance)
    return k * expected + (1 - k) * z + (k * variance) ** 0.5 * w, 0.5 * np.log(k * variance)


def _weights(w: float, s: float, expected: float, variance: float, z: float, scale: float) -> float:
    """Return the w for which `_place` gives s."""
    k = 2 * scale**2 / (2 * scale**2 + variance)
    return float((s - k * expected - (1 - k) * z) / (k * variance) ** 0.5)


def _inside(mu: float, sd: float) -> tuple[float, float, float, float]:
    """Return the mean and the central moments of orders 2, 3 and 4 of a record inside."""
    p = WEIGHTS * np.exp(-((NODES - mu) ** 2) / (2 * sd**2) + (np.clip(mu, -1, 1) - mu) ** 2 / (2 * sd**2))
    p /= p.sum()
    mean = p @ NODES
    second, third, fourth = (p @ (NODES - mean) ** k for k in (2, 3, 4))
    return float(mean), float(second), float(third), float(fourth)


def _side_laws(
    n: int, mu: float, sd: float
) -> tuple[Callable[[], MeanAndVariance], Callable[[float], MeanAndVariance]]:
    """Return mean and variance of the count below, and of the count above given the count below."""
    low, high = np.exp(log_ndtr((-1 - mu) / sd)), np.exp(log_ndtr((mu - 1) / sd) - log_ndtr((1 + mu) / sd))
    high = min(high, 1.0)
    return (
        lambda: (n * low, n * low * (1 - low) + 1 / 12),
        lambda below: ((n - below) * high, (n - below) * high * (1 - high) + 1 / 12),
    )


def log_target(
    release: Array,
    n: int,
    scales: Array,
    grids: Array,
    prior: Prior,
    start: Array,
    uniforms: Array,
    *,
    origin: float = 0.0,
    sums: bool = False,
) -> tuple[float, Array]:
    """Compute `censored_statistics.log_target`."""
    (mu, t, *w), sd = start, np.exp(start[1] / 2)
    mu0, var0, shape0, rate0 = prior
    counts: list[float] = []
    below, above = _side_laws(n, mu, sd)
    total = -((mu - mu0) ** 2) / (2 * var0) - shape0 * t - rate0 * np.exp(-t)
    laws: tuple[Callable[[], MeanAndVariance], ...] = (below, lambda: above(counts[0]))
    for i, law in enumerate(laws):
        scale = (scales[2 + i] ** 2 + 1 / 24) ** 0.5
        s, slope = _place(w[i], *law(), np.clip(release[2 + i], 0, n), scale)
        counts.append(float(np.floor(s + 0.5)))
        total += slope
        if not 0 <= counts[-1] <= n - sum(counts[:-1]):
            return -np.inf, np.full(4, np.nan)
    low, high = counts
    c = n - low - high
    logs = log_ndtr((-1 - mu) / sd), log_ndtr((mu - 1) / sd)
    total += gammaln(n + 1) - gammaln(low + 1) - gammaln(high + 1) - gammaln(c + 1) + low * logs[0] + high * logs[1]
    if c < FEW:
        mean, sse, part = _few(mu, sd, int(c), w, uniforms)
    else:
        mean, sse, part = _many(release, scales, mu, sd, c, w, sums)
    stated = np.array([c * mean if sums else mean, sse + c * mean**2 if sums else sse, low, high])
    shift = np.array([0.0 if sums else origin, 0, 0, 0])
    grid = np.asarray(grids, dtype=float)
    safe = np.where(grid > 0, grid, 1.0)
    noisy = np.where(grid > 0, np.rint((stated + shift) / safe) * safe - shift, stated)
    misfit = (np.abs(np.asarray(release) - noisy) / np.asarray(scales)).sum()
    return float(total + part - misfit), np.array([mean, sse, low, high])


def _few(mu: float, sd: float, c: int, w: list[float], uniforms: Array) -> tuple[float, float, float]:
    law = truncnorm((-1 - mu) / sd, (1 - mu) / sd, mu, sd)
    u = np.asarray(uniforms)[:c]
    x = law.ppf(u)
    if mu <= -1:  # the kernel counts its uniforms from the tail with more probability
        top = log_ndtr((mu + 1) / sd)
        ratio = np.exp(log_ndtr((mu - 1) / sd) - top)
        x = mu - sd * ndtri_exp(top + np.log(ratio + u * (1 - ratio)))
    mean = float(x.mean()) if c else 0.0
    inside = (
        np.log(np.exp(log_ndtr((1 - mu) / sd)) - np.exp(log_ndtr((-1 - mu) / sd)))
        if mu <= 0
        else np.log(np.exp(log_ndtr((1 + mu) / sd)) - np.exp(log_ndtr((mu - 1) / sd)))
    )
    idle = -np.log(2 * np.pi) - 0.5 * (w[2] ** 2 + w[3] ** 2)
    return mean, float(((x - mean) ** 2).sum()), float((c * inside if c else 0.0) + idle)


def _many(
    release: Array, scales: Array, mu: float, sd: float, c: float, w: list[float], sums: bool
) -> tuple[float, float, float]:
    centre, variance, third, fourth = _inside(mu, sd)
    z, scale = (release[0] / c, scales[0] / c) if sums else (release[0], scales[0])
    mean, slope1 = _place(w[2], centre, variance / c, np.clip(z, -1, 1), scale)
    z = release[1] - c * mean**2 if sums else release[1]
    tilt = third / variance
    left = max(fourth - variance**2 - tilt * third, 1e-3 * variance**2)
    sse, slope2 = _place(w[3], (c - 1) * (variance + tilt * (mean - centre)), c * left, np.clip(z, 0, c), scales[1])
    v, gap = sse / c, 1 - abs(mean)
    if not (0 < v < min(0.8 * (1 - mean**2), 20 * gap**2) and gap > 0):
        return mean, sse, -np.inf
    found = log_inside_density(mean, sse, int(c)) + slope1 + slope2
    return mean, sse, found - c * (0.5 * np.log(2 * np.pi) + np.log(sd)) - (sse + c * (mean - mu) ** 2) / (2 * sd**2)


def chain(
    release: Array,
    n: int,
    scales: Array,
    grids: Array,
    prior: Prior,
    start: Array,
    uniforms: Array,
    *,
    walk: Array,
    centre: Array,
    spread: Array,
    draws: int,
    thin: int,
    rng: np.random.Generator,
    origin: float = 0.0,
    sums: bool = False,
) -> tuple[Array, Array]:
    """Compute `censored_statistics.chain`: draws (draws, 10) and the final uniforms."""

    def target(y: Array, u: Array) -> tuple[float, Array]:
        return log_target(release, n, scales, grids, prior, y, u, origin=origin, sums=sums)

    y, u, out = np.array(start, dtype=float), np.array(uniforms, dtype=float), np.empty((draws, 10))
    now, s = target(y, u)
    for t in range(draws):
        for _ in range(thin):
            fresh, ratio = propose(prior, walk, centre, spread, y, rng)
            found, statistics = target(fresh, u)
            if np.log(rng.random()) < found - now + ratio:
                y, now, s = fresh, found, statistics
            first = int(FEW * rng.random())
            if n - s[2] - s[3] >= FEW:
                u[first] = rng.random()
                continue
            other = u.copy()
            other[(first + np.arange(8)) % FEW] = rng.random(8)
            found, statistics = target(y, other)
            if np.log(rng.random()) < found - now:
                u, now, s = other, found, statistics
        out[t] = [*y, *s]
    return out, u


def propose(
    prior: Prior, walk: Array, centre: Array, spread: Array, y: Array, rng: np.random.Generator
) -> tuple[Array, float]:
    """Return the proposed coordinates and the log Hastings ratio."""
    kind = int(np.searchsorted([0.05, 0.2, 0.25, 0.6, 0.65, 0.85], rng.random(), side="right"))
    fresh, ratio = y.copy(), 0.0
    mu0, var0, shape0, rate0 = prior

    def log_t(theta: Array) -> float:
        return float(-3 * np.log1p(np.sum(np.linalg.solve(spread, theta - centre) ** 2) / 4))

    def log_prior(theta: Array) -> float:
        return float(-((theta[0] - mu0) ** 2) / (2 * var0) - shape0 * theta[1] - rate0 * np.exp(-theta[1]))

    if kind < 3:
        fresh += (0.3, 1.0, 2.5)[kind] * np.asarray(walk) @ rng.standard_normal(6)
    if kind in (3, 5):
        normals = rng.standard_normal(2)
        fresh[:2] = centre + np.asarray(spread) @ normals * np.sqrt(2 / rng.standard_gamma(2.0))
        ratio += log_t(y[:2]) - log_t(fresh[:2])
    if kind == 4:
        mu = mu0 + var0**0.5 * rng.standard_normal()
        fresh[:2] = mu, np.log(rate0) - np.log(rng.standard_gamma(shape0))
        ratio += log_prior(y[:2]) - log_prior(fresh[:2])
    if kind > 4:
        fresh[2:] = 0.5 * y[2:] + 0.75**0.5 * rng.standard_normal(4)
        ratio += 0.5 * float(fresh[2:] @ fresh[2:] - y[2:] @ y[2:])
    return fresh, ratio


def coordinates(
    release: Array, n: int, scales: Array, theta: Array, statistics: Array, idle: Array, rng: np.random.Generator
) -> Array:
    """Return coordinates with the given `theta` and `statistics`; counts are uniform within their rounding cells."""
    (mu, t), (mean, sse, low, high) = theta, statistics
    sd, out = np.exp(t / 2), np.array([mu, t, 0, 0, *idle], dtype=float)
    below, above = _side_laws(n, mu, sd)
    for i, (count, law) in enumerate(((low, below()), (high, above(low)))):
        scale = (scales[2 + i] ** 2 + 1 / 24) ** 0.5
        out[2 + i] = _weights(0.0, count + rng.random() - 0.5, *law, np.clip(release[2 + i], 0, n), scale)
    c = n - low - high
    if c >= FEW:
        centre, variance, third, fourth = _inside(mu, sd)
        tilt = third / variance
        left = max(fourth - variance**2 - tilt * third, 1e-3 * variance**2)
        out[4] = _weights(0.0, mean, centre, variance / c, np.clip(release[0], -1, 1), scales[0])
        expected = (c - 1) * (variance + tilt * (mean - centre))
        out[5] = _weights(0.0, sse, expected, c * left, np.clip(release[1], 0, c), scales[1])
    return out


def joint_chain(
    n: int,
    scales: Array,
    prior: Prior,
    theta: Array,
    steps: int,
    rng: np.random.Generator,
    run: Callable[..., tuple[Array, Array, int, int]],
) -> Array:
    """Run steps of `run` (the kernel's `chain`), redrawing the release from the statistics after each: (steps, 10)."""
    mu, sigma2 = theta
    u = rng.uniform(1e-12, 1, FEW)
    x = mu + sigma2**0.5 * rng.standard_normal(n)
    inside = x[np.abs(x) <= 1]
    mean = inside.mean() if len(inside) else 0.0
    s = np.array([mean, ((inside - mean) ** 2).sum(), (x < -1).sum(), (x > 1).sum()])
    walk, spread = np.diag([0.1, 0.2, 0.5, 0.5, 0.5, 0.5]), np.diag([0.15, 0.4])
    centre = np.array([prior[0], np.log(prior[3] / prior[2])])
    y, out = np.array([mu, np.log(sigma2), 0.0, 0.0, 0.0, 0.0]), np.empty((steps, 10))
    if n - s[2] - s[3] < FEW:
        law = truncnorm((-1 - mu) / sigma2**0.5, (1 - mu) / sigma2**0.5, mu, sigma2**0.5)
        u[: len(inside)] = law.cdf(inside) if mu > -1 else law.sf(inside)
    for t in range(steps):
        release = s + rng.laplace(size=4) * scales
        y = coordinates(release, n, scales, y[:2], s, y[4:], rng)
        found, u, _, _ = run(
            release,
            n,
            scales,
            np.zeros(4),
            prior,
            y,
            u,
            walk=walk,
            centre=centre,
            spread=spread,
            draws=1,
            thin=1,
            rng=rng,
        )
        out[t], y, s = found[0], found[0, :6], found[0, 6:]
    return out
