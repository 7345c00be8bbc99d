"""Measure the speed of the exact posterior and of the Gibbs kernels for three categories. The values of M range from
50, as in the paper, to a million.
"""

import shutil
from pathlib import Path

import numpy as np
from measuring import Row, limited, timed

from dpmultinomial import plan
from dpmultinomial._posteriors.counts import beta_mixtures, compositions, laplace_multinomial, noisy_count_batches
from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018 import speed
from reproduction.papers.balmat2018.algorithms import numpy_gibbs

FOLDER = Path(__file__).parent
COUNTS = np.array([5.0, 40.0, 5.0])
MODEL = {"total": 50, "scale": 2.0, "alpha": 1.0}
KEPT = 5000
DRAWN = "exact, 5,000 draws"
SHARE = {"category": 0, "given": (0, 1)}
MILLIONS = [300_000.0, 500_001.0, 199_998.0]


def benchmarks():
    rng = stream(1, "bench")
    yield from _paper_size(rng)
    yield from _moments()
    yield from _shares(rng)
    yield from _plans()
    totals = np.exp(rng.uniform(np.log(50), np.log(5000), 100_000)).astype(np.int64)
    tables = rng.multinomial(totals, np.full(6, 1 / 6)) + rng.laplace(0.0, 2.0, (100_000, 6))
    name = "100,000 tables of six categories, 95 % intervals"
    yield limited(name, lambda: noisy_count_batches.exact(tables, totals=totals, scales=2.0), 10.0, 1)


def _paper_size(rng):
    chain = {"draws": KEPT, "burn_in": 1000, "rng": rng}
    shapes = np.tile(COUNTS + 1, (KEPT, 1))
    counts, logs = compositions.log_multinomial_table(50)
    static = logs - np.abs(COUNTS - counts).sum(axis=1) / 2
    ones, start = np.ones(3), np.full(3, 1 / 3)
    gammas = timed(lambda: rng.standard_gamma(shapes), 501)
    exact = timed(lambda: laplace_multinomial.exact(COUNTS, **MODEL).sample(KEPT, rng=rng), 501)
    table = timed(lambda: laplace_multinomial.gibbs(COUNTS, **MODEL, **chain, kernel="table"), 15)
    convolution = timed(lambda: laplace_multinomial.gibbs(COUNTS, **MODEL, **chain), 15)
    vectorised = timed(lambda: numpy_gibbs.table_chain(counts, static, ones, start, **chain), 1)
    yield Row(DRAWN, exact, "their gamma draws alone", gammas, 0.4)
    yield Row(DRAWN, exact, "compiled table Gibbs, 5,000 kept", table, 100)
    yield Row("convolution Gibbs, 5,000 kept", convolution, "compiled table Gibbs", table, 6)
    yield Row("compiled table Gibbs, 5,000 kept", table, "the same in vectorised NumPy", vectorised, 3)
    rscript = shutil.which("Rscript")
    if rscript:
        sizes = {"totals": [50], "epsilons": [1.0], "iterations": 120, "products_each": 1326, "vectors": 1}
        timings = speed.r_timings(rscript=rscript, script=FOLDER / "baseline.R", root_seed=1, repeats=1, **sizes)
        standard = timings.loc[timings["method"] == "standard (R dmultinom)", "seconds"].item()
        yield Row(DRAWN, exact, "R's dmultinom loop, 5,000 iterations", standard, 20_000)


def _moments():
    """Measure the computing time of the posterior means and variances, and how this time grows with the total
    count M.
    """

    def moments(counts, total):
        posterior = laplace_multinomial.exact(counts, total=total, scale=2.0, alpha=1.0)
        return posterior.mean(), posterior.variance()

    yield limited("exact moments, k = 10, M = 1,000", lambda: moments(np.arange(10) * 20.0, 1000), 1.0)
    tall = timed(lambda: moments([5e3, 4e3, 900.0], 10_000), 3)
    half = timed(lambda: moments([2.5e3, 2e3, 450.0], 5_000), 3)
    yield Row("exact moments, k = 3, M = 10,000", tall, "at M = 5,000: no more than M^2", half, 0.25)
    wide = {"total": 1_000_000, "scale": 20_000.0}
    yield limited("exact moments of all three shares, M = 1,000,000", lambda: _wide(wide).variance(), 3.0)


def _wide(noise):
    return laplace_multinomial.exact(MILLIONS, alpha=1.0, **noise)


def _shares(rng):
    """Measure the computing time for the posterior of the share of one category among two of three categories, with M =
    1,000,000 records. The moments, the density, the mode and an interval are computed.
    """
    for scale in (2.0, 2_000.0, 20_000.0, 200_000.0):
        noise = {"total": 1_000_000, "scale": scale}
        name = f"share of two in three, M = 1,000,000, scale {scale:,.0f}: "
        yield limited(name + "mean and variance", lambda n=noise: _wide(n).beta(0, (0, 1)).variance(), 1.0)
        yield limited(name + "density, mode and 95 % interval", lambda n=noise: _laws(n), 3.0, 1)
    n, points = 500_000, np.linspace(-0.1, 0.1, 50)
    flat = {"mine": np.ones(n), "theirs": np.ones(n), "of_total": np.ones(2 * n - 1)}
    density = beta_mixtures.Density(**flat, alpha=1.0, beta=1.0)
    yield limited("50 points of a share's density, totals to 1,000,000, weights alike", lambda: density.at(points), 1.0)


def _laws(noise):
    law = _wide(noise).beta(0, (0, 1))
    return law.quantile([0.025, 0.975]), law.mode(), law.pdf([0.3, 0.375, 0.4]), law.cdf(0.4)


def _plans():
    shares = {"1": 0.1, "2": 0.8, "3": 0.1}
    yield limited(
        "smallest epsilon for an interval under 0.1, M = 500",
        lambda: plan(shares, 500, interval="1", narrower=0.1, releases=100, rng=stream(4, "bench")), 10.0, 1,
    )  # fmt: skip
    yield limited(
        "smallest epsilon that decides a share, M = 500",
        lambda: plan(shares, 500, question="'1' < '2'", releases=100, rng=stream(4, "bench")), 10.0, 1,
    )  # fmt: skip
