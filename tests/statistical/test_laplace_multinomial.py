"""Check samplers against exact distributions. Seeds are fixed; each threshold states its false-alarm rate."""

import numpy as np
import pytest
from reference import count_laws as reference
from scipy.stats import chi2, kstest

from dpmultinomial._kernels import dirichlet
from dpmultinomial._posteriors.counts import _fixed_sum, laplace_multinomial
from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018 import calibration

R = {"category": 0, "given": (0, 1)}
MODEL = {"total": 50, "scale": 2.0, "alpha": 1.0}
SETTINGS = [(5, 40, 5), (15, 30, 5), (12.3, -4.1, 44.2)]


def share(p):
    return p[:, 0] / (p[:, 0] + p[:, 1])


def distance(x, cdf):
    """Return Kolmogorov's distance evaluated at every tenth draw, at most 10/n less than the exact distance."""
    at = np.arange(0, len(x), 10)
    below = cdf(np.sort(x)[at])
    return max((below - at / len(x)).max(), ((at + 1) / len(x) - below).max())


def test_fixed_sum_draws_follow_the_enumerated_law():
    rng = stream(1, "law")
    logs = rng.normal(0, 1.5, (3, 8))
    counts, weights = reference.law(logs)
    draws = _fixed_sum.draw(_fixed_sum.tables(logs), 200_000, rng=rng)
    key = (counts @ [64, 8, 1]).tolist()
    seen = np.bincount(draws @ [64, 8, 1], minlength=512)[key]
    expected = 200_000 * weights
    kept = expected > 5
    statistic = ((seen - expected)[kept] ** 2 / expected[kept]).sum()
    assert statistic < chi2.ppf(0.999, kept.sum() - 1)  # false alarm 0.001


@pytest.mark.parametrize("noisy", SETTINGS)
def test_exact_draws_follow_the_exact_distribution_function(noisy):
    posterior = laplace_multinomial.exact(noisy, **MODEL)
    p = posterior.sample(20_000, rng=stream(2, "ks", str(noisy)))
    assert np.allclose(p.sum(axis=1), 1)
    # Kolmogorov-Smirnov, false alarm 0.001 each
    assert distance(share(p), lambda x: posterior.cdf(x, **R)) <= 1.95 / np.sqrt(len(p))
    assert distance(p[:, 2], lambda x: posterior.cdf(x, category=2)) <= 1.95 / np.sqrt(len(p))


@pytest.mark.parametrize("kernel", laplace_multinomial.KERNELS)
@pytest.mark.parametrize("noisy", SETTINGS)
def test_gibbs_has_the_exact_moments(noisy, kernel):
    posterior = laplace_multinomial.exact(noisy, **MODEL)
    n, tau = 20_000, 3.0  # integrated autocorrelation time is below 3
    p = laplace_multinomial.gibbs(
        noisy, **MODEL, draws=n, burn_in=500, rng=stream(3, kernel, str(noisy)), kernel=kernel
    )
    r, sd = share(p), posterior.variance(**R) ** 0.5
    # four standard errors: false alarm 6e-5 each
    assert abs(r.mean() - posterior.mean(**R)) <= 4 * sd * np.sqrt(tau / n)
    assert abs(r.std() - sd) <= 4 * sd * np.sqrt(tau / (2 * n))


def test_gibbs_for_five_categories_has_the_exact_means():
    noisy = [3.0, 8.5, -2.0, 11.0, 6.0]
    model = {"total": 30, "scale": 1.5, "alpha": [0.5, 1.0, 2.0, 1.0, 3.0]}
    posterior = laplace_multinomial.exact(noisy, **model)
    p = laplace_multinomial.gibbs(noisy, **model, draws=40_000, burn_in=500, rng=stream(4, "five"))
    # four standard errors, autocorrelation time below 4: false alarm 3e-4 over five means
    assert np.all(np.abs(p.mean(axis=0) - posterior.mean()) <= 4 * np.sqrt(posterior.variance() * 4 / 40_000))


@pytest.mark.parametrize(("noisy", "mean"), [((5, 40, 5), 0.3660), ((15, 30, 5), 0.4374)])
def test_the_frozen_listing_averages_to_its_own_law_not_to_the_posterior(noisy, mean):
    runs = 1500
    rng = stream(5, "frozen", str(noisy))
    means = [
        laplace_multinomial.conditional(noisy, probabilities=p, **MODEL).mean(**R)
        for p in rng.dirichlet(np.ones(3), runs)
    ]
    assert np.mean(means) == pytest.approx(mean, abs=4 * 0.24 / np.sqrt(runs))  # four standard errors: false alarm 6e-5


def test_a_frozen_run_draws_from_the_law_given_its_first_p():
    start = [0.6, 0.1, 0.3]
    law = laplace_multinomial.conditional((5, 40, 5), probabilities=start, **MODEL)
    p = laplace_multinomial.gibbs(
        (5, 40, 5), **MODEL, draws=20_000, burn_in=10, rng=stream(6, "frozen"), initial=start, frozen=True
    )
    assert distance(share(p), lambda x: law.cdf(x, **R)) <= 1.95 / np.sqrt(20_000)  # false alarm 0.001


def test_dirichlet_draws_have_beta_marginals():
    counts = np.tile(np.array([[3, 0, 7]]), (20_000, 1))
    p = dirichlet.draw(np.array([0.5, 1.0, 2.0]), counts, rng=stream(7, "beta"))
    for i, (a, rest) in enumerate([(3.5, 10.0), (1.0, 12.5), (9.0, 4.5)]):
        assert kstest(p[:, i], "beta", args=(a, rest)).pvalue > 0.001  # false alarm 0.001 each


def test_exact_and_gibbs_are_calibrated_and_the_listing_is_not():
    settings = {"total": 20, "epsilons": [1.0], "gibbs_draws": 400, "burn_in": 50}
    table = calibration.simulate(2000, **settings, rng=stream(8, "calibration")).assign(block=0)
    result = calibration.coverage(table, **settings).set_index("method")
    for method in ("exact", "gibbs"):
        assert abs(result.loc[method, "coverage"] - 0.95) <= 4 * result.loc[method, "se"] + 1 / 400  # Gibbs: 400 draws
    assert result.loc["exact", "p_value"] > 1e-4  # false alarm 1e-4
    assert result.loc["listing 6.4 (p frozen)", "coverage"] < 0.8
    assert result.loc["listing 6.4 (p frozen)", "p_value"] < 1e-10
