"""Speed of the exact posterior and of the Gibbs kernels at the paper's size, M = 50, three categories."""

import shutil
from pathlib import Path

import numpy as np
from run import timed

from dpmultinomial import kernels
from dpmultinomial.posteriors import laplace_multinomial, noisy_count_batches
from dpmultinomial.seeding import stream
from reproduction.papers.balmat2018 import numpy_gibbs, r_baseline

FOLDER = Path(__file__).parent
COUNTS = np.array([5.0, 40.0, 5.0])
MODEL = {"total": 50, "scale": 2.0, "alpha": 1.0}
KEPT = 5000
SHARE = {"category": 0, "given": (0, 1)}


def benchmarks():
    rng = stream(1, "bench")
    chain = {"draws": KEPT, "burn_in": 1000, "rng": rng}
    shapes = np.tile(COUNTS + 1, (KEPT, 1))
    counts, logs = kernels.log_multinomial_table(50)
    static = logs - np.abs(COUNTS - counts).sum(axis=1) / 2
    ones, start = np.ones(3), np.full(3, 1 / 3)

    gammas = timed(lambda: rng.standard_gamma(shapes), 51)
    exact = timed(lambda: laplace_multinomial.exact(COUNTS, **MODEL).sample(KEPT, rng=rng), 51)
    table = timed(lambda: laplace_multinomial.gibbs(COUNTS, **MODEL, **chain, kernel="table"), 15)
    convolution = timed(lambda: laplace_multinomial.gibbs(COUNTS, **MODEL, **chain), 31)
    vectorised = timed(lambda: numpy_gibbs.table_chain(counts, static, ones, start, **chain), 3)
    wide = timed(lambda: laplace_multinomial.exact(np.arange(10) * 20.0, total=1000, scale=2.0, alpha=1.0).mean(), 5)
    tall = timed(lambda: _moments(laplace_multinomial.exact([5e3, 4e3, 900.0], total=10_000, scale=2.0, alpha=1.0)), 3)
    half = timed(lambda: _moments(laplace_multinomial.exact([2.5e3, 2e3, 450.0], total=5_000, scale=2.0, alpha=1.0)), 3)
    rows = [
        ("exact, 5,000 draws", exact, "their gamma draws alone", gammas, "within 2.5x"),
        ("exact, 5,000 draws", exact, "compiled table Gibbs, 5,000 kept", table, ">= 100"),
        ("convolution Gibbs, 5,000 kept", convolution, "compiled table Gibbs, 5,000 kept", table, ">= 6"),
        ("compiled table Gibbs, 5,000 kept", table, "the same in vectorised NumPy", vectorised, ">= 3"),
        ("exact moments, k = 10, M = 1,000", wide, "one second", 1.0, "under 1 s"),
        ("exact moments, k = 3, M = 10,000", tall, "the same at M = 5,000", half, "ratio >= 0.25: no more than M^2"),
    ]
    big = {"total": 1_000_000, "scale": 20_000.0, "alpha": 1.0}
    millions = [300_000.0, 500_001.0, 199_998.0]
    moments = timed(lambda: laplace_multinomial.exact(millions, **big).variance(category=0, given=(0, 1)), 3)
    interval = timed(lambda: laplace_multinomial.exact(millions, **big).quantile([0.025, 0.975], **SHARE), 1)
    totals = np.exp(rng.uniform(np.log(50), np.log(5000), 100_000)).astype(np.int64)
    tables = rng.multinomial(totals, np.full(6, 1 / 6)) + rng.laplace(0.0, 2.0, (100_000, 6))
    many = timed(lambda: noisy_count_batches.exact(tables, totals=totals, scales=2.0), 1)
    rows += [
        ("share of two in three: moments, M = 1,000,000", moments, "one second", 1.0, "under 1 s"),
        ("share of two in three: 95 % interval, M = 1,000,000", interval, "three seconds", 3.0, "under 3 s"),
        ("100,000 tables of six categories, 95 % intervals", many, "ten seconds", 10.0, "under 10 s"),
    ]
    rscript = shutil.which("Rscript")
    if rscript:
        sizes = {
            "totals": [50],
            "epsilons": [1.0],
            "iterations": 120,
            "products_each": 1326,
            "vectors": 1,
            "repeats": 1,
        }
        script = FOLDER / "baseline.R"
        timings = r_baseline.r_timings(rscript=rscript, script=script, root_seed=1, **sizes)
        standard = timings.loc[timings["method"] == "standard (R dmultinom)", "seconds"].item()
        rows.append(("exact, 5,000 draws", exact, "R's dmultinom loop, 5,000 iterations", standard, ">= 20,000"))
    keys = ("name", "seconds", "baseline", "baseline_seconds", "target")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _moments(posterior):
    return posterior.mean(), posterior.variance()
