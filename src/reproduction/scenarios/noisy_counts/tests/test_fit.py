"""Check tests of a release against its total, noise and prior, using closed forms and enumeration."""

from math import exp

import numpy as np
import pytest
from scipy import stats

from dpmultinomial import DiscreteGaussian, DiscreteLaplace, Laplace
from reproduction.scenarios.noisy_counts import fit


@pytest.mark.parametrize("d", [-3, 0, 1, 4])
def test_tails_of_the_noises(d):
    """Check P(noise >= d) of Laplace noise against scipy, of discrete Laplace noise against the sum of (1 - a)/(1 + a)
    a^|k|, and of discrete Gaussian noise against the exact sum within 5 %.
    """
    where = np.array([float(d)])
    assert fit.at_least(Laplace(scale=3.0), where)[0] == pytest.approx(stats.laplace(scale=3.0).sf(d))
    k, a = np.arange(-400, 401), exp(-1 / 3)
    pmf = (1 - a) / (1 + a) * a ** np.abs(k)
    found = fit.at_least(DiscreteLaplace(scale=3.0), where)[0]
    assert found == pytest.approx(pmf[k >= d].sum())
    weights = np.exp(-(k**2) / (2 * 3.0**2))
    exact = weights[k >= d].sum() / weights.sum()
    assert fit.at_least(DiscreteGaussian(sigma=3.0), where)[0] == pytest.approx(exact, rel=0.05)


def test_the_sum_of_two_laplace_noises():
    """Check P(|sum| >= g) = (2 + g/b) exp(-g/b)/2 for the sum of two Laplace variables, which has density (1 + |x|/b)
    exp(-|x|/b)/(4 b).
    """
    g, b = 3.0, 1.5
    assert fit.sum_at_least(Laplace(scale=b), g, 2) == pytest.approx((2 + g / b) / 2 * exp(-g / b))
    assert fit.sum_at_least(Laplace(scale=b), g, 1) == pytest.approx(exp(-g / b))
    assert fit.sum_at_least(DiscreteLaplace(scale=b), g, 1) == pytest.approx(exp(-(g - 0.5) / b))
    # three by their characteristic function (1 + t^2)^-3: density (3 + 3 |x| + x^2) exp(-|x|)/16
    x = np.linspace(2.0, 60.0, 400_001)
    tail = 2 * np.trapezoid((3 + 3 * x + x**2) * np.exp(-x) / 16, x)
    assert fit.sum_at_least(Laplace(scale=1.0), 2.0, 3) == pytest.approx(tail, rel=1e-6)
    normal = 2 * stats.norm.sf(2.5, scale=2 * np.sqrt(3))
    assert fit.sum_at_least(DiscreteGaussian(sigma=2.0), 3.0, 3) == pytest.approx(normal)
    assert fit.sum_at_least(DiscreteGaussian(sigma=2.0), 0.2, 3) == 1.0


def test_fit_of_two_counts_by_enumeration():
    """Check the fit of two counts by enumeration: with alpha = (1, 1), every true count 0..2 has prior 1/3. Two-sided,
    and three probabilities in all (Bonferroni).
    """
    law, noisy = Laplace(scale=0.8), np.array([3.1, 0.4])
    found = fit.fit(noisy, total=2, law=law, alpha=np.ones(2))
    tail = stats.laplace(scale=0.8)
    for value, chance in zip(noisy, found.counts, strict=True):
        above = np.mean([tail.sf(value - s) for s in range(3)])
        assert chance == pytest.approx(min(1.0, 2 * min(above, 1 - above)))
    x = 1.5 / 0.8
    assert found.total == pytest.approx((2 + x) / 2 * exp(-x))
    assert found.least == pytest.approx(min(1.0, 3 * min(found.total, *found.counts)))


def test_words_of_a_fit():
    good = str(fit.Fit(0.0005, (0.5,)))  # 2 x 0.0005 is not below 0.001
    assert "prior predictive check passed (p = 0.001; warning below 0.001)" in good
    assert "do not add up to the total" in str(fit.Fit(0.0002, (0.5,)))
    assert "the release is improbable under the prior" in str(fit.Fit(0.5, (0.0002,)))
