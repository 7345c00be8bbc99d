"""Check draws against exact distributions, Geweke's test, and divergence. Seeds are fixed; false-alarm rates refer to
the choice of seeds.
"""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from dpmultinomial._seeding import stream
from reproduction.papers.raim2021.algorithms import censored_normal
from reproduction.papers.raim2021.algorithms import direct_sampling as ds

SCALE = 8.494
TARGETS = {
    "mean": ds.NormalWeight(-21.27, mu=0.0, sigma2=1.0, count=950),
    "sse": ds.GammaWeight(778.56, sigma2=1.0, count=950),
    "far": ds.GammaWeight(400.0, sigma2=1.0, count=950),
    "near": ds.NormalWeight(0.2, mu=0.0, sigma2=30.0, count=1),
}
WITHIN = {"n": 1000, "lower": -2.0, "upper": 2.0, "scale": SCALE}
RELEASE = (-21.27, 778.56, 23.0, 27.0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("adaptive", [False, True])
def test_direct_sampler_draws_from_the_target(target, adaptive):
    weight = TARGETS[target]
    law = weight.exact(SCALE)
    sampler = ds.DirectSampler(weight, ds.LaplaceBase(SCALE), adaptive=adaptive)
    for seed in range(5):
        x, rejected, _ = sampler.sample_counted(20_000, rng=stream(seed, "direct", target))
        assert kstest(x, law.cdf).pvalue > 1e-3  # 40 tests: false alarm 4 %
        if not adaptive:
            rate, tries = sampler.rejection_rate, 20_000 + rejected
            assert abs(rejected / tries - rate) < 4 * (rate * (1 - rate) / tries) ** 0.5  # 20 tests: false alarm 0.1 %


@pytest.mark.parametrize("target", TARGETS)
def test_inversion_draws_from_the_target(target):
    law = TARGETS[target].exact(SCALE)
    assert kstest(law.sample(5000, rng=stream(1, "inversion", target)), law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("base", [ds.GeometricBase(SCALE), ds.DiscreteGaussianBase(12.0)])
def test_integer_noise_draws_from_its_law(base):
    weight = ds.GammaWeight(30.0, sigma2=1.0, count=30)
    k = np.arange(-80, 30)
    tail = base.log_tail(2000)
    mass = np.exp(tail[np.abs(k)]) * -np.expm1(tail[np.abs(k) + 1] - tail[np.abs(k)])
    p = mass * np.exp(weight.log_relative(k))
    x = ds.DirectSampler(weight, base).sample(20_000, rng=stream(2, "whole"))
    expected = 20_000 * p / p.sum()
    counts = np.array([(x == i).sum() for i in k])
    big = expected > 8
    counts, expected = (np.append(a[big], a[~big].sum()) for a in (counts, expected))
    assert chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-3


def test_gaussian_noise_draws_from_the_closed_form():
    weight = ds.NormalWeight(5.0, mu=0.0, sigma2=4.0)
    x = ds.DirectSampler(weight, ds.GaussianBase(3.0)).sample(20_000, rng=stream(3, "gauss"))
    variance = 1 / (1 / 4 + 1 / 9)
    assert kstest((x - variance * 5 / 4) / variance**0.5, "norm").pvalue > 1e-3


@pytest.mark.parametrize(("method", "limit", "passes"), [
    ("exact", 2.0, True), ("corrected", 2.0, True), ("slides_model", 2.0, True),
    ("as_written", 60.0, True), ("as_written", 2.0, False),
])  # fmt: skip
def test_geweke(method, limit, passes):
    """Check five z values per method; a sampler that leaves its model invariant passes with probability 0.9997.

    The gamma distribution of the corrected sampler is an approximation, visible at n = 30 in chains of 10^5 sweeps.
    """
    sweeps = 8000 if method == "corrected" else 30_000
    table = censored_normal.geweke(
        method=method, n=30, lower=-limit, upper=limit, scale=3.0, prior=(0.2, 0.09, 10.0, 9.0), sweeps=sweeps,
        rng=stream(1, "geweke", method, int(limit)),
    )  # fmt: skip
    largest = table["z"].abs().max()
    assert largest < 4 if passes else largest > 8


def test_posteriors_at_the_slides_release():
    """Check mu 0.033 (0.119), sigma2 1.108 (0.093) of an independent implementation; the corrected sampler is close."""
    for method, draws in (("exact", 20_000), ("corrected", 4000)):
        size = {"method": method, "draws": draws, "burn_in": 300}
        chains = [
            censored_normal.chain(RELEASE, **WITHIN, **size, rng=stream(i, "posterior", method)) for i in range(2)
        ]
        table = censored_normal.diagnostics(chains).set_index("parameter")
        assert not table["diverged"].any()
        assert (table["rhat"] < 1.03).all()
        for name, mean, sd in (("mu", 0.030, 0.120), ("sigma2", 1.108, 0.092)):
            assert abs(table["mean"][name] - mean) < 4 * table["mc_se"][name] + 0.006
            assert table["sd"][name] == pytest.approx(sd, rel=0.12)


def test_as_written_leaves_the_data_and_says_so():
    chain = censored_normal.chain(
        RELEASE, **WITHIN, method="as_written", draws=200, burn_in=0, initial=(0.0, 1.0), rng=stream(1, "escape")
    )
    assert chain.diverged
    assert (chain.draws[60:, 4] + chain.draws[60:, 5] > 900).all()
    assert censored_normal.diagnostics([chain])["diverged"].all()
