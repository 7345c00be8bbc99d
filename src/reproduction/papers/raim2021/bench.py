"""Speed of the direct sampler, the closed forms and the Gibbs sweeps at the slides' size, n = 1,000."""

import numpy as np
from run import timed

from dpmultinomial.kernels.reference import censored_gibbs as numpy_gibbs
from dpmultinomial.kernels.reference import censored_records as numpy_records
from dpmultinomial.mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial.posteriors import censored_normal, convergence
from dpmultinomial.posteriors import censored_statistics as cs
from dpmultinomial.posteriors import direct_sampling as ds
from dpmultinomial.seeding import stream

SCALE, SIZE = 8.494, 20_000
RELEASE = (-21.27, 778.56, 23.0, 27.0)
PRIOR = (0.0, 100.0, 1.0, 1.0)
WEIGHTS = {
    "xi_mean": ds.NormalWeight(-21.27, mu=0.0, sigma2=1.0, count=950),
    "xi_sse": ds.GammaWeight(778.56, sigma2=1.0, count=950),
}


def vectorised(weight, rng):
    """The direct sampler in NumPy alone: all candidates at once, on the knots of the compiled one."""
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
    q = -log_u / weight.power  # e^t - 1 - t = q on both sides of 0, by Newton
    ends = []
    for t in (-np.sqrt(2 * q) - q, np.sqrt(2 * q)):
        for _ in range(14):
            t = t - (np.expm1(t) - t - q) / np.expm1(t)
        ends.append(weight.z - (weight.z - weight.mode) * np.exp(t))
    return ends[1], ends[0]


def benchmarks():
    rng, rows = stream(1, "bench"), []
    targets = {"xi_mean": "<= 0.010 s; R package 0.353 s", "xi_sse": "<= 0.020 s; R package 1.440 s"}
    for name, weight in WEIGHTS.items():
        ours = timed(lambda w=weight: ds.DirectSampler(w, ds.LaplaceBase(SCALE)).sample(SIZE, rng=rng), 31)
        numpy = timed(lambda w=weight: vectorised(w, rng), 5)
        rows.append((f"{name}, set-up and 20,000 draws", ours, "vectorised NumPy", numpy, targets[name]))
    model = {"n": 1000, "lower": -2.0, "upper": 2.0, "scale": SCALE, "burn_in": 0, "initial": (0.0, 1.0)}
    twins = {"as_written": _twin("as_written", 40), "corrected": _twin("corrected", 2), "exact": _records(2)}
    draws = 400
    for method, seconds in twins.items():
        ours = timed(lambda m=method: censored_normal.chain(RELEASE, **model, method=m, draws=draws, rng=rng), 7)
        rows.append((f"Gibbs, {method}, one sweep", ours / draws, "NumPy twin", seconds, "<= 0.0005 s"))
    rows += _without_records(rng)
    names = ("name", "seconds", "baseline", "baseline_seconds", "target")
    return [dict(zip(names, row, strict=True)) for row in rows]


def _without_records(rng):
    """Seconds for 20,000 effective draws without records, and for as many of the chain of all 1,000 records."""
    model, size = {"lower": -0.5, "upper": 3.0}, {"draws": 50_000, "chains": 4, "thin": 1}
    x = rng.standard_normal(1000)
    scale = CensoredStatistics(**model).sensitivity(1000)
    z = CensoredStatistics(**model).release(x, epsilon=1.0, rng=rng)
    kept = []
    records = timed(
        lambda: kept.append(
            censored_normal.chain(
                z, n=1000, **model, scale=scale, method="exact", draws=4000, burn_in=100, rng=rng
            ).draws
        ),
        1,
    )
    theirs = records / min(convergence.bulk_ess(kept[0][None, :, i]) for i in range(2)) * 20_000
    rows = []
    for n in (1000, 10_000, 100_000):
        z = CensoredStatistics(**model).release(rng.standard_normal(n), epsilon=1.0, rng=rng)
        found = []
        seconds = timed(lambda n=n, z=z, f=found: f.append(cs.sample(z, n=n, **model, scale=scale, **size, rng=rng)), 3)
        ours = seconds / min(found[-1].ess) * 20_000
        rows.append(
            (f"20,000 effective draws, n = {n}", ours, "chain of 1,000 records", theirs, "<= 1 s beyond 0.2 s set-up")
        )
    return rows


def _twin(form, draws):
    setting = (RELEASE, 1000, -2.0, 2.0, (SCALE,) * 4, PRIOR, (0.0, 1.0))
    rng = stream(2, "twin")
    return timed(lambda: numpy_gibbs.statistics_chain(*setting, form=form, draws=draws, burn_in=0, rng=rng), 1) / draws


def _records(draws):
    setting = (RELEASE, 1000, -2.0, 2.0, (SCALE,) * 4, PRIOR, (0.0, 1.0), np.zeros(1000))
    rng = stream(2, "twin")
    return timed(lambda: numpy_records.records_chain(*setting, draws=draws, burn_in=0, rng=rng), 1) / draws
