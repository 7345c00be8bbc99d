"""Starts and proposals for `kernels.censored_statistics`: tempered importance sampling, then pilot runs that adapt.

Nothing here enters the sampler's law: proposals are frozen before the first kept draw.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from . import _censored_moments, _statistics_sampler
from .normal_prior import Prior

Array = NDArray[np.float64]
PARTICLES = 600
ROUNDS, STEPS = 8, 4000  # of the pilot, steps in all chains together; the last two rounds are twice as long


@dataclass(frozen=True)
class Release:
    """A release on the scale of the limits: z, Laplace scales and grids of (mean, sse, low, high); n; prior.

    Parameters
    ----------
    z, scale, grid : float64 (4,).
    n : records.
    prior : Prior.
    origin : place of the grid of the sums.
    sums : whether sums were released.
    """

    z: Array
    n: int
    scale: Array
    grid: Array
    prior: Prior
    origin: float
    sums: bool

    def run(
        self, state: "State", by: "Proposal", draws: int, thin: int, rng: np.random.Generator
    ) -> tuple[Array, NDArray[np.int64], int]:
        """`draws` rows of the chain from `state`, which moves on; tried and accepted moves; how often no tilt was
        found."""
        found, uniforms, moves, unsolved = _statistics_sampler.chain(
            self.z, self.n, self.scale, self.grid, tuple(self.prior), state.y, state.uniforms,
            walk=by.walk, centre=by.centre, spread=by.spread, draws=draws, thin=thin, rng=rng,
            origin=self.origin, sums=self.sums,
        )  # fmt: skip
        if draws:
            state.y, state.uniforms = found[-1, :6], uniforms
        return found, moves, unsolved


@dataclass
class State:
    """Where a chain stands."""

    y: Array
    uniforms: Array


@dataclass
class Proposal:
    """Random walk, and mean and lower triangle of theta's t law.

    Parameters
    ----------
    walk : float64 (6, 6).
    centre : float64 (2,).
    spread : float64 (2, 2).
    log_size : log scale of the walk.
    """

    walk: Array
    centre: Array
    spread: Array
    log_size: float = field(default=float(np.log(2.0 / 6**0.5)))


def approximate(release: Release, theta: Array) -> Array:
    """Log posterior of (mu, log sigma2) with normal laws for statistics and noise: float64 (k,) from (k, 2)."""
    sigma2 = np.exp(np.clip(theta[:, 1], -60, 60))
    mean, covariance = _censored_moments.statistics(theta[:, 0], sigma2, release.n, sums=release.sums)
    noise = 2 * release.scale**2 + release.grid**2 / 12 + np.array([1e-12, 1e-12, 0.3, 0.3])
    root = np.linalg.cholesky(
        covariance + np.diag(noise) + 1e-10 * np.eye(4) * np.trace(covariance, axis1=1, axis2=2)[:, None, None]
    )
    away = np.linalg.solve(root, (release.z - mean)[:, :, None])[:, :, 0]
    half_log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    found = release.prior.log_density(theta[:, 0], theta[:, 1]) - 0.5 * (away**2).sum(axis=1) - half_log_det
    return np.where(np.isfinite(found) & (np.abs(theta[:, 1]) < 60), found, -np.inf)


def explore(release: Release, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Mean and covariance of (mu, log sigma2) under `approximate`, and weighted-resampled particles (PARTICLES, 2).

    Importance sampling from the prior, then from t_4 laws; the posterior's power grows as fast as an eighth of the
    particles stay effective.
    """
    found = release.prior.sample(PARTICLES, rng=rng)
    theta = np.column_stack([found[:, 0], np.log(found[:, 1])])
    log_from = release.prior.log_density(theta[:, 0], theta[:, 1])
    for _ in range(60):
        log_to = approximate(release, theta)
        power, weights = _tempered(log_to, log_from)
        mean = weights @ theta
        covariance = (theta - mean).T @ (weights[:, None] * (theta - mean)) + 1e-14 * np.eye(2)
        chosen = theta[rng.choice(PARTICLES, PARTICLES, p=weights)]
        if power == 1.0 and 1 / (weights**2).sum() > PARTICLES / 4:
            break
        root = np.linalg.cholesky(1.5 * covariance)
        normals = rng.standard_normal((PARTICLES, 2)) * np.sqrt(2 / rng.standard_gamma(2.0, PARTICLES))[:, None]
        theta = mean + normals @ root.T
        log_from = -3 * np.log1p((normals**2).sum(axis=1) / 4)
    return mean, covariance, chosen


def _tempered(log_to: Array, log_from: Array) -> tuple[float, Array]:
    """The largest power at which an eighth of the particles count, and their weights."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = high if low == 0.0 and high == 1.0 else 0.5 * (low + high)
        logs = np.where(
            np.isfinite(log_to), middle * log_to - (log_from if middle == 1.0 else middle * log_from), -np.inf
        )
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        if 1 / (weights**2).sum() >= PARTICLES / 8:
            if middle == 1.0:
                return 1.0, weights
            low = middle
        elif middle == 1.0:
            low, high = 0.0, 1.0 - 1e-9
        else:
            high = middle
    return low, weights


def prepare(release: Release, chains: int, rng: np.random.Generator) -> tuple[list[State], Proposal]:
    """States of `chains` chains after the pilot, and the proposal to freeze.

    Parameters
    ----------
    release : Release.
    chains : how many, >= 1.
    rng : numpy Generator.

    Returns
    -------
    states, proposal : one State a chain, and the Proposal.
    """
    mean, covariance, particles = explore(release, rng)
    by = Proposal(np.eye(6), mean, np.asarray(np.linalg.cholesky(1.5 * covariance), np.float64))
    full = np.eye(6)
    full[:2, :2] = covariance
    by.walk = np.linalg.cholesky(full) * np.exp(by.log_size)
    states = [_feasible(release, by, particles, rng) for _ in range(chains)]
    kept: list[Array] = []
    for k in range(ROUNDS):
        steps = STEPS * (2 if k >= ROUNDS - 2 else 1) // chains
        runs = [release.run(state, by, steps, 1, rng) for state in states]
        kept.append(np.concatenate([found[:, :6] for found, _, _ in runs]))
        moves = np.sum([moves for _, moves, _ in runs], axis=0)
        full = _adapt(by, kept, moves, full)
    return states, by


def _adapt(by: Proposal, kept: list[Array], moves: NDArray[np.int64], full: Array) -> Array:
    """Proposal from the second half of the pilot; returns the walk's covariance."""
    rate = moves[1, 1] / max(moves[1, 0], 1)
    by.log_size += float(np.clip(2 * (rate - 0.23), -1.5, 0.7))
    recent = np.concatenate(kept[len(kept) // 2 :])
    share = len(recent) / (len(recent) + 4000.0) if rate > 0.02 else 0.0
    full = np.asarray(share * np.cov(recent.T) + (1 - share) * full, np.float64)
    full = full + 1e-9 * np.diag(np.diag(full))
    by.walk = np.linalg.cholesky(full) * np.exp(by.log_size)
    if len(kept) > 2:
        by.centre = recent[:, :2].mean(axis=0)
        spread = 1.1 * np.cov(recent[:, :2].T)
        root = np.linalg.cholesky(spread + np.diag(1e-9 * np.diag(spread)) + 1e-28 * np.eye(2))
        by.spread = np.asarray(root, np.float64)
    return full


def _feasible(release: Release, by: Proposal, particles: Array, rng: np.random.Generator) -> State:
    """A possible start: a particle with its statistics in their middle, then more and more at random."""
    for k in range(400):
        y = np.concatenate([particles[rng.integers(len(particles))], 0.01 * k * rng.standard_normal(4)])
        y[:2] += 0.01 * k * np.asarray(by.spread @ rng.standard_normal(2))
        state = State(y, rng.uniform(1e-12, 1 - 1e-12, 64))
        try:
            release.run(state, by, 0, 1, rng)
        except ValueError:
            continue
        return state
    raise RuntimeError("no sample fits the release: no possible start among 400 tried")
