"""Tests of random rounding: probabilities by hand, draws by an exact test, posteriors by a table and enumeration."""

import numpy as np
import pytest
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._seeding import stream


def table(base, largest):
    """Return the same mechanism as a table of probabilities, up to a largest count."""
    rows = [(n, y, 1 - abs(y - n) / base) for n in range(largest + 1) for y in {n - n % base, n + -n % base}]
    true, released, p = map(list, zip(*rows, strict=True))
    return dpm.Perturbation({"true": true, "released": released, "probability": p})


@pytest.mark.parametrize("base", [2, 3, 5, 10])
def test_probabilities_add_up_and_keep_the_mean(base):
    law, n, y = dpm.RandomRounding(base=base), np.arange(40), np.arange(-base, 60)
    p = np.exp(law.log_likelihood(y, n[:, None]))
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_allclose(p @ y, n, atol=1e-12)
    assert (p[:, y % base != 0] == 0).all()
    assert p[1, y == 0] == 1 - 1 / base
    spread = p @ y**2 - n**2
    assert law.variance() == pytest.approx(spread.max())
    low, high = law.reach(y[y % base == 0], 40.0)
    assert all(n_ > lo and n_ < hi for n_, lo, hi in zip(y[y % base == 0], low, high, strict=True))


def test_draws_go_up_as_often_as_the_remainder_says():
    """Check 20,000 draws of every remainder by binomial tests; an error of 0.02 is detected with probability 0.99."""
    law, rng = dpm.RandomRounding(base=5), stream(1, "random rounding")
    for m in range(5):
        y = law.sample(np.full(20_000, 35 + m), rng=rng)
        assert set(np.unique(y)) <= {35, 40}
        assert stats.binomtest(int((y == 40).sum()), 20_000, m / 5).pvalue > 1e-4


@pytest.mark.parametrize("prior", ["flat", "1/(1+n)", {"law": "geometric", "mean": 7.0}])
def test_a_posterior_is_that_of_a_table_that_is_long_enough(prior):
    values = [0.0, 5.0, 30.0]
    short = dpm.posterior(dpm.Release(values, mechanism=dpm.RandomRounding(base=5)), prior=prior)
    long = dpm.posterior(dpm.Release(values, mechanism=table(5, 60)), prior=prior)
    for name in short.counts:
        n = np.arange(60)
        np.testing.assert_allclose(short.counts[name].pmf(n), long.counts[name].pmf(n), atol=1e-14)
    assert short.accuracy.status == "exact"


def test_a_large_rounded_count_is_known_to_less_than_the_base():
    """Check a flat prior: weights 1 - d/5 at distance d, so P(2946) = P(2954) = 1/25; 95 % interval 2946 to 2954."""
    found = dpm.posterior(dpm.Release([2950.0], mechanism=dpm.RandomRounding(base=5)), prior="flat").counts["1"]
    assert found.interval(0.95) == (2946, 2954)
    assert found.pmf(2946) == pytest.approx(1 / 25, rel=1e-12)
    assert found.mean() == pytest.approx(2950, rel=1e-14)


def test_counts_of_a_tree_add_up():
    """Check a root and two children, by enumeration of all pairs under the flat root and equal splits."""
    law = law_of({"law": "random_rounding", "base": 3})
    release = dpm.Release([9.0, 6.0, 6.0], mechanism=law, parents=[None, 0, 0])
    found = dpm.posterior(release, prior=1.0)
    a, b = np.indices((20, 20))
    weights = np.exp(law.log_likelihood(9, a + b) + law.log_likelihood(6, a) + law.log_likelihood(6, b)) / (a + b + 1)
    p = weights.sum(axis=1) / weights.sum()
    assert found.counts["2"].mean() == pytest.approx(p @ np.arange(20), rel=1e-10)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dpm.RandomRounding(base=1), ValueError, r"base must be in \[2, 10000\], got 1"),
        (lambda: dpm.RandomRounding(base=2.5), TypeError, "base must be"),
        (lambda: law_of({"law": "random_rounding"}), ValueError, "base must be"),
        (
            lambda: law_of({"law": "random_rounding", "base": 5, "rounded": 2}),
            ValueError,
            "combined with rounded",
        ),
        (
            lambda: law_of({"law": "random_rounding", "scale": 5}),
            ValueError,
            "has no scale; it takes base",
        ),
        (lambda: dpm.RandomRounding(base=5).cost("replace a record"), ValueError, "no finite epsilon"),
        (lambda: dpm.posterior(dpm.Release([7.0], mechanism=dpm.RandomRounding(base=5))), ValueError, "released 7"),
    ],
)
def test_what_cannot_be_is_rejected(call, error, words):
    with pytest.raises(error, match=words):
        call()
