"""Measure the speed of three samplers for data sets of n = 1,000 to 100,000 records. They are the direct sampler, the
Gibbs sampler, and the sampler that does not store individual records.
"""

import numpy as np
from measuring import Row, limited, timed
from reference import censored_gibbs as numpy_gibbs

from dpmultinomial import _accuracy
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._posteriors.censored import censored_statistics as cs
from dpmultinomial._seeding import stream
from reproduction.papers.raim2021.algorithms import bernstein_sheldon, censored_normal
from reproduction.papers.raim2021.algorithms import direct_sampling as ds

SCALE, SIZE = 8.494, 20_000
RELEASE = (-21.27, 778.56, 23.0, 27.0)
PRIOR = (0.0, 100.0, 1.0, 1.0)
WEIGHTS = {  # weight, limit in seconds; the R package takes 0.353 s and 1.440 s
    "xi_mean": (ds.NormalWeight(-21.27, mu=0.0, sigma2=1.0, count=950), 0.010),
    "xi_sse": (ds.GammaWeight(778.56, sigma2=1.0, count=950), 0.020),
}


def vectorised(weight, rng):
    """Run the NumPy implementation of the direct sampler. This version processes all candidates at once and uses the
    knots of the compiled sampler.
    """
    sampler = ds.DirectSampler(weight, ds.LaplaceBase(SCALE))
    steps = sampler.step_function()
    left, log_height = steps["log_u"].to_numpy(), steps["log_height"].to_numpy()[:-1]
    mass = np.exp(left[1:] + np.log(-np.expm1(left[:-1] - left[1:])) + log_height - log_height.max())
    done = []
    while sum(map(len, done)) < SIZE:
        piece = np.searchsorted(np.cumsum(mass), rng.random(SIZE) * mass.sum(), side="right").clip(max=len(mass) - 1)
        share, ratio = 1 - rng.random(SIZE), np.exp(left[piece] - left[piece + 1])
        log_u = left[piece + 1] + np.log(ratio + share * (1 - ratio))
        low, high = _interval(weight, log_u)
        cdf = [
            np.where(x < 0, np.exp(np.minimum(x, 0) / SCALE) / 2, 1 - np.exp(-np.maximum(x, 0) / SCALE) / 2)
            for x in (low, high)
        ]
        area = cdf[1] - cdf[0]
        good = rng.random(SIZE) < area / np.exp(log_height[piece])
        q = (cdf[0] + rng.random(SIZE) * area)[good]
        done.append(np.where(q < 0.5, np.log(2 * q), -np.log(2 * (1 - q))) * SCALE)
    return np.concatenate(done)[:SIZE]


def _interval(weight, log_u):
    if isinstance(weight, ds.NormalWeight):
        reach = np.sqrt(-2 * log_u * weight.sigma2 / weight.count)
        return weight.mode - reach, weight.mode + reach
    q = -log_u / weight.power  # e^t - 1 - t = q on both sides of 0, by Newton's method
    ends = []
    for t in (-np.sqrt(2 * q) - q, np.sqrt(2 * q)):
        for _ in range(14):
            t = t - (np.expm1(t) - t - q) / np.expm1(t)
        ends.append(weight.z - (weight.z - weight.mode) * np.exp(t))
    return ends[1], ends[0]


def benchmarks():
    rng = stream(1, "bench")
    for name, (weight, limit) in WEIGHTS.items():
        ours = timed(lambda w=weight: ds.DirectSampler(w, ds.LaplaceBase(SCALE)).sample(SIZE, rng=rng), 101)
        numpy = timed(lambda w=weight: vectorised(w, rng), 15)
        yield Row(f"{name}, set-up and 20,000 draws", ours, "limit", limit)
        yield Row(f"{name}, set-up and 20,000 draws", ours, "vectorised NumPy", numpy, 2)
    yield from _hard(rng)
    yield from _sweeps(rng)
    yield from _without_records(rng)


def _hard(rng):
    """Measure the computing time of the direct sampler for extreme inputs. For these inputs, a sampler with fixed
    knots, or with logarithms that are not numerically stable, would never finish.
    """
    narrow = ds.GammaWeight(778.56, sigma2=3.0, count=9500)
    far = [1e7, -1e7, 1e7, 1e7]
    model = {"n": 1000, "lower": -2.0, "upper": 2.0, "scale": 1.0, "burn_in": 0}
    name = "direct sampler, 20,000 draws of a weight far from its base"
    yield limited(name, lambda: ds.DirectSampler(narrow, ds.LaplaceBase(SCALE)).sample(SIZE, rng=rng), 1.0)
    name = "corrected, 100 sweeps, a release far outside its range"
    yield limited(name, lambda: censored_normal.chain(far, **model, draws=100, rng=rng), 1.0)


def _sweeps(rng):
    """Measure the time per sweep of each Gibbs sampler and of its NumPy reference implementation."""
    model = {"n": 1000, "lower": -2.0, "upper": 2.0, "scale": SCALE, "burn_in": 0, "initial": (0.0, 1.0)}
    references = {
        "as_written": _reference("as_written", 40),
        "corrected": _reference("corrected", 2),
        "exact": _records(2),
    }
    draws = 400
    for method, seconds in references.items():
        ours = timed(lambda m=method: censored_normal.chain(RELEASE, **model, method=m, draws=draws, rng=rng), 5)
        yield Row(f"Gibbs, {method}, one sweep", ours / draws, "limit", 0.0005)
        yield Row(f"Gibbs, {method}, one sweep", ours / draws, "NumPy reference", seconds, 3)


def _without_records(rng):
    """Measure the time in seconds for 20,000 effective draws of the sampler that does not store individual records. For
    comparison, measure the seconds for two other samplers at n = 1,000.
    """
    model, x = {"lower": -0.5, "upper": 3.0}, rng.standard_normal(1000)
    scale = CensoredStatistics(**model).sensitivity(1000)
    z = CensoredStatistics(**model).release(x, epsilon=1.0, rng=rng)
    setting = {"n": 1000, **model, "scale": scale, "rng": rng}
    ours = _effective(lambda: cs.sample(z, draws=50_000, chains=4, thin=1, **setting).draws)
    records = _effective(
        lambda: censored_normal.chain(z, method="exact", draws=2000, burn_in=100, **setting).draws[None, :, :2]
    )
    others = _effective(lambda: bernstein_sheldon.gibbs(z, draws=2000, burn_in=200, **setting))
    yield Row("20,000 effective draws, n = 1,000", ours, "chain of all 1,000 records", records, 10)
    yield Row("20,000 effective draws, n = 1,000", ours, "Gibbs sampler of Bernstein and Sheldon", others, 1)
    for n in (1_000, 10_000, 100_000):
        for limits in ({"lower": -2.0, "upper": 2.0}, model):
            for epsilon in (0.1, 1.0, 1000.0):
                yield _rate(n, limits, epsilon, rng)


def _rate(n, limits, epsilon, rng):
    """Return a benchmark row with the CPU seconds for 20,000 effective draws. The time is measured on a long run, over
    which the set-up time of 0.2 s is spread.
    """
    statistics = CensoredStatistics(**limits)
    z = statistics.release(rng.standard_normal(n), epsilon=epsilon, rng=rng)
    setting = {"n": n, **limits, "scale": statistics.sensitivity(n) / epsilon, "rng": rng}
    seconds = _effective(lambda: cs.sample(z, draws=50_000, chains=4, thin=1, **setting).draws)
    name = f"20,000 effective draws, n = {n:,}, [{limits['lower']:g}, {limits['upper']:g}], epsilon = {epsilon:g}"
    return Row(name, seconds, "limit", 1.0)


def _effective(call):
    """Return the CPU seconds for 20,000 effective draws of mu or of sigma2, whichever mixes more slowly. The function
    `call` returns draws of shape (chains, draws, 2).
    """
    kept = []
    seconds = timed(lambda: kept.append(call()), 1)
    return seconds / min(_accuracy.bulk_ess(kept[0][:, :, i]) for i in range(2)) * 20_000


def _reference(form, draws):
    setting = (RELEASE, 1000, -2.0, 2.0, (SCALE,) * 4, PRIOR, (0.0, 1.0))
    rng = stream(2, "twin")
    return timed(lambda: numpy_gibbs.statistics_chain(*setting, form=form, draws=draws, burn_in=0, rng=rng), 1) / draws


def _records(draws):
    setting = (RELEASE, 1000, -2.0, 2.0, (SCALE,) * 4, PRIOR, (0.0, 1.0), np.zeros(1000))
    rng = stream(2, "twin")
    return timed(lambda: numpy_gibbs.records_chain(*setting, draws=draws, burn_in=0, rng=rng), 1) / draws
