"""Tests of shares among some categories at any size, and of batches: many tables in one call against single tables."""

import pickle

import mpmath
import numpy as np
import pandas as pd
import pytest
from reference import count_laws
from scipy.special import betainc, gammaln

from dpmultinomial._accounting import renyi
from dpmultinomial._accuracy import EXACT
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.laplace import DiscreteLaplace, Laplace
from dpmultinomial._posteriors.counts import (
    _noisy_tables,
    beta_mixtures,
    laplace_multinomial,
    noisy_count_batches,
    noisy_counts,
    share_law,
)
from dpmultinomial._posteriors.swapping import swapped_batches, swapped_table
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture
from dpmultinomial._results.distributions import Discrete
from dpmultinomial._seeding import stream

R = {"category": 0, "given": (0, 1)}


def factors(noisy, total, scale, alpha):
    s = np.arange(total + 1)
    return [np.exp(gammaln(s + alpha) - gammaln(s + 1) - abs(s - x) / scale) for x in noisy]


@pytest.mark.parametrize(
    ("noisy", "total", "scale", "alpha"),
    [
        ((9, 15, 6), 30, 2.0, 1.0),
        ((2, 1, 27), 30, 0.3, 0.3),
        ((90, 40, 70), 200, 5.0, 1.0),
        ((150, 30, 220), 400, 90, 2.0),
    ],
)
def test_the_density_of_a_share_equals_the_sum_over_all_pairs(noisy, total, scale, alpha):
    mine, theirs, rest = factors(noisy, total, scale, alpha)
    z = np.log(noisy[0] / noisy[1]) + np.array([-60.0, -3, -1, 0, 0.5, 2, 50])
    arguments = {"mine": mine, "theirs": theirs, "of_total": rest[::-1].copy(), "alpha": alpha, "beta": alpha}
    ours = beta_mixtures.log_density(z, **arguments, first=(0, 0, 0))
    assert ours == pytest.approx(count_laws.log_density(z, **arguments, first=(0, 0, 0)), abs=1e-10)


@pytest.mark.parametrize(("noisy", "scale"), [([30.0, 50.5, 21.0], 4.0), ([20.0, 30.0, 10.0, 41.0, 5.0], 9.0)])
def test_interpolated_shares_equal_the_list_of_pairs(noisy, scale):
    """Compare with the list, which is tested to fifty digits elsewhere; only the method differs."""
    posterior = laplace_multinomial.exact(noisy, total=100, scale=scale, alpha=0.7)
    others, rest = [1, 2][: len(noisy) - 2], 0.7 * len([1, 2][: len(noisy) - 2])
    listed = posterior.beta(0, (0, *others))
    law = posterior.counts.interpolated(0, others, alpha=0.7, beta=rest)
    x = np.linspace(0.05, 0.95, 37)
    assert law.mean() == pytest.approx(listed.mean(), rel=1e-13)
    assert law.variance() == pytest.approx(listed.variance(), rel=1e-12)
    assert law.cdf(x) == pytest.approx(listed.cdf(x), abs=1e-11)
    assert law.sf(x) == pytest.approx(listed.sf(x), abs=1e-11)
    assert law.pdf(x[5:20]) == pytest.approx(listed.pdf(x[5:20]), rel=1e-9)
    q = [1e-6, 0.025, 0.5, 0.975]
    assert law.quantile(q) == pytest.approx(listed.quantile(q), abs=1e-10)
    assert law.mode() == pytest.approx(listed.mode(), abs=1e-6)
    assert 0 < law.error < 1e-9
    assert law.accuracy.status == "approximate"


def test_the_smallest_quantiles_are_solved_in_logs():
    """Check one known count of 5 in 50 (scale 1e-6): the share is Beta(6, 41), near 0 x^6/(6 B(6, 41))."""
    posterior = laplace_multinomial.exact([5, 40, 5], total=50, scale=1e-6, alpha=1.0)
    with mpmath.workdps(40):
        exact = float((mpmath.mpf("1e-30") * 6 * mpmath.beta(6, 41)) ** (mpmath.mpf(1) / 6))
    assert posterior.quantile(1e-30, **R) == pytest.approx(exact, rel=1e-4)  # x^6 has the factor 1 - O(x), x = 1e-4.6
    assert posterior.beta(0, (0, 1)).quantile(1e-30) == pytest.approx(exact, rel=1e-3)
    assert 0 < posterior.beta(0, (0, 1)).quantile(1e-100) < 1e-16


def test_a_large_total_has_the_small_ones_law():
    """Check noise far below the binomial spread: the share is Beta(1 + s, 1 + t) up to the width of the noise."""
    total, counts = 1_000_000, np.array([300_000, 500_000, 200_000])
    posterior = laplace_multinomial.exact(counts, total=total, scale=0.01, alpha=1.0)
    a, b = counts[0] + 1, counts[1] + 1
    assert posterior.mean(**R) == pytest.approx(a / (a + b), rel=1e-12)
    assert posterior.variance(**R) == pytest.approx(a * b / (a + b) ** 2 / (a + b + 1), rel=1e-10)
    low = posterior.quantile(0.025, **R)
    assert betainc(a, b, low) == pytest.approx(0.025, abs=1e-7)
    assert posterior.beta(0, (0, 1)).error < 1e-6


@pytest.mark.parametrize("scale", [3000.0, 30_000.0])
def test_moments_do_not_depend_on_the_first_guess(scale, monkeypatch):
    """Check that moments do not depend on the mean that long windows estimate from blocks of counts."""
    noisy, total = [30_000.0, 50_001.0, 19_998.0], 100_000
    law = laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=[0.5, 1.0, 2.0])
    law = law.counts.interpolated(0, [1], alpha=0.5, beta=1.0)
    mean, variance = law.mean(), law.variance()
    rounds = []
    about = share_law._about
    monkeypatch.setattr(share_law, "_about", lambda *given: rounds.append(len(given[1].weights)) or about(*given))
    again = share_law.share_moments(*law._weights.bulk, alpha=0.5, beta=1.0)
    assert (again.mean, again.variance) == (mean, variance)
    assert [size for size in rounds if size > 10_000] == rounds[-1:]  # one round: the guess from blocks was good enough
    monkeypatch.setattr(share_law, "_SHORT", 10**9)
    plain = share_law.share_moments(*law._weights.bulk, alpha=0.5, beta=1.0)
    assert (plain.mean, plain.variance) == pytest.approx((mean, variance), rel=1e-11)


@pytest.mark.thorough
def test_a_prepared_density_keeps_nothing_but_sums_and_a_copy_answers_alike():
    """Check that points give bit-identical results in any order, and a pickled distribution the same quantiles."""
    arguments = {"mine": np.full(4000, 0.5), "theirs": np.linspace(1, 2, 3000), "of_total": np.ones(6000)}
    density = beta_mixtures.Density(**arguments, alpha=0.7, beta=1.3)
    z = np.linspace(-3, 3, 9)
    fresh = [beta_mixtures.log_density([point], **arguments, alpha=0.7, beta=1.3)[0] for point in z]
    assert density.at(z[::-1])[::-1].tolist() == fresh == [density.at([point])[0] for point in z]
    law = laplace_multinomial.exact([3000.0, 5001.0, 1998.0], total=10_000, scale=2000.0, alpha=1.0).beta(0, (0, 1))
    assert law.quantile([0.1, 0.9]).tolist() == pickle.loads(pickle.dumps(law)).quantile([0.1, 0.9]).tolist()


@pytest.mark.parametrize("sigma", [0.3, 0.999, 1.0, 4.0])
def test_discrete_gaussian_against_forty_digits(sigma):
    law, d = DiscreteGaussian(sigma=sigma), range(-200, 201)
    with mpmath.workdps(40):
        weights = [mpmath.exp(-(mpmath.mpf(i) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for i in d]
        norm = mpmath.fsum(weights)
        variance = mpmath.fsum(i * i * w for i, w in zip(d, weights, strict=True)) / norm
    assert law.log_normaliser == pytest.approx(float(mpmath.log(norm)), abs=1e-14)
    assert law.variance() == pytest.approx(float(variance), rel=1e-13)
    assert law.pmf([0, 1, 0.5]) == pytest.approx([float(1 / norm), float(weights[201] / norm), 0], rel=1e-13)
    assert DiscreteGaussian.calibrated(law.rho(l2_squared=2.0), l2_squared=2.0).sigma == pytest.approx(sigma, rel=1e-14)
    draws = law.sample(np.zeros(100_000, dtype=int), rng=stream(1, "gauss", str(sigma)))
    # four standard errors of a variance with kurtosis at most 5: false alarm 6e-5
    assert draws.var() == pytest.approx(law.variance(), abs=4 * law.variance() * np.sqrt(10 / 100_000) + 1e-3)


def test_discrete_laplace_against_its_sums():
    law, d = DiscreteLaplace.calibrated(0.5, sensitivity=2.0), np.arange(-600, 601)
    assert law.scale == 4.0
    assert law.pmf(d).sum() == pytest.approx(1, abs=1e-14)
    assert law.pmf(d) @ d**2 == pytest.approx(law.variance(), rel=1e-12)
    assert np.diff(law.log_pmf(d)).max() == pytest.approx(law.epsilon(sensitivity=1.0), rel=1e-12)
    draws = law.sample(np.full(100_000, 7), rng=stream(1, "laplace")) - 7
    assert draws.var() == pytest.approx(
        law.variance(), abs=4 * law.variance() * np.sqrt(5 / 100_000)
    )  # false alarm rate 6e-5
    with pytest.raises(ValueError, match="noisy_counts must contain only integers"):
        law.log_weights(1.5, np.arange(3))


def test_concentrated_cost_against_the_grid_of_orders():
    a = 1 + np.geomspace(1e-6, 1e9, 2_000_001)
    bound = 0.5 * a + np.log(1 / (a * 1e-6)) / (a - 1) + np.log1p(-1 / a)
    assert renyi.to_dp(0.5, delta=1e-6) == pytest.approx(bound.min(), rel=1e-9)
    assert renyi.concentrated_gaussian(2.0, l2_squared=2.0) == 0.25


@pytest.mark.parametrize("noise", [Laplace(scale=1.5), DiscreteLaplace(scale=2.5), DiscreteGaussian(sigma=1.7)])
def test_posterior_of_any_noise_against_enumeration(noise):
    noisy, total, alpha = [4, 7, -2, 1], 9, np.array([0.5, 1.0, 2.0, 1.0])
    s = np.arange(total + 1)
    density = noise.pdf if isinstance(noise, Laplace) else noise.pmf
    logs = np.array(
        [gammaln(s + a) - gammaln(s + 1) + np.log(density(x - s)) for x, a in zip(noisy, alpha, strict=True)]
    )
    counts, weights = count_laws.law(logs)
    posterior = noisy_counts.exact(noisy, total=total, noise=noise, alpha=alpha)
    assert posterior.mean() == pytest.approx(weights @ (counts + alpha) / (total + alpha.sum()), abs=1e-13)
    a = alpha[0] + counts[:, 0]
    shares = a / (a + alpha[1] + counts[:, 1])
    assert posterior.mean(**R) == pytest.approx(weights @ shares, abs=1e-13)
    assert len(posterior.summary()) == 4
    assert "4 shares" in repr(posterior)


def random_tables(n, name):
    rng = stream(1, "tables", name)
    for _ in range(n):
        k, total = int(rng.integers(2, 8)), int(np.exp(rng.uniform(0, 6)))
        scale, alpha = np.exp(rng.uniform(np.log(0.02), np.log(200))), np.exp(rng.uniform(np.log(0.05), np.log(40), k))
        yield rng.multinomial(total, rng.dirichlet(np.ones(k))) + rng.laplace(0, scale, k), total, scale, alpha


def test_batches_equal_the_exact_posterior_and_do_not_depend_on_company():
    tables = list(random_tables(60, "batch"))
    alphas = np.concatenate([t[3] for t in tables])
    noisy, totals, scales = [t[0] for t in tables], [t[1] for t in tables], [t[2] for t in tables]
    batch = noisy_count_batches.exact(noisy, totals=totals, scales=scales, alphas=alphas)
    assert batch.error.max() < 1e-9
    for t, (x, total, scale, alpha) in enumerate(tables):
        own = slice(batch.starts[t], batch.starts[t + 1])
        exact = laplace_multinomial.exact(x, total=total, scale=scale, alpha=alpha).summary()
        assert batch.mean[own] == pytest.approx(exact["mean"].to_numpy(), abs=1e-11)
        assert batch.sd[own] == pytest.approx(exact["sd"].to_numpy(), rel=1e-9)
        assert batch.lower[own] == pytest.approx(exact["lower"].to_numpy(), abs=1e-10)
        assert batch.upper[own] == pytest.approx(exact["upper"].to_numpy(), abs=1e-10)
        alone = noisy_count_batches.exact([x], totals=[total], scales=scale, alphas=alpha)
        for name in ("mean", "sd", "lower", "upper"):
            assert np.array_equal(getattr(alone, name), getattr(batch, name)[own])


def test_a_bad_table_has_a_reason_and_stops_nothing():
    noisy = [[1.0, 2.0], [np.nan, 2.0], [3.0, 4.0], [1.0, 1.0]]
    batch = noisy_count_batches.exact(noisy, totals=[3, 3, 2.5, 2], scales=[1.0, 1.0, 1.0, -1.0])
    assert [bool(r) for r in batch.reasons] == [False, True, True, True]
    assert "noisy counts must be finite" in batch.reasons[1]
    assert "total must be an integer" in batch.reasons[2]
    assert "scale must be finite and > 0" in batch.reasons[3]
    assert np.isfinite(batch.mean[:2]).all()
    assert np.isnan(batch.mean[2:]).all()
    assert (batch.summary()["status"] == ["exact"] * 2 + ["refused"] * 6).all()


def test_kernel_of_batches_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="starts must have 2 entries"):
        _noisy_tables.counts_and_rates([1.0, 2.0], starts=[0], totals=[3], scales=[1.0, 1.0], alphas=[1.0, 1.0])


LEVELS = (0.5, 0.9, 0.95, 0.999)


def alone(noisy, total, scale, alpha, level):
    law = laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=alpha)
    found = []
    for i in range(len(noisy)):
        chances = law.counts.marginal(i)
        count = Discrete(np.arange(len(chances)), chances, name="", type="count", accuracy=EXACT)
        found.append((count.mean(), count.sd(), *count.interval(level)))
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("whole", [False, True])
def test_counts_of_a_batch_are_those_of_its_tables(level, whole):
    rng = stream(3, "batch", str(level), str(whole))
    tables, totals, scales = [], [], []
    for _ in range(25):
        k, total = int(rng.integers(2, 6)), int(rng.integers(0, 90))
        noise = rng.geometric(0.3, k) - rng.geometric(0.3, k) if whole else rng.laplace(0, 3, k)
        tables.append((rng.multinomial(total, np.full(k, 1 / k)) + noise).astype(float))
        totals.append(total)
        scales.append(float(rng.uniform(0.2, 4)))
    found = noisy_count_batches.exact(tables, totals=totals, scales=scales, alphas=0.7, level=level)
    few = noisy_count_batches.exact(tables, totals=totals, scales=scales, alphas=0.7, level=level, rates=False)
    assert few.counts.tobytes() == found.counts.tobytes()
    assert np.isnan(few.mean).all()
    for t, (noisy, total, scale) in enumerate(zip(tables, totals, scales, strict=True)):
        own = found.counts[found.starts[t] : found.starts[t + 1]]
        assert own == pytest.approx(np.array(alone(noisy, total, scale, 0.7, level)), abs=1e-8)


def test_a_table_that_the_fast_way_cannot_certify_has_its_counts_by_the_other(monkeypatch):
    monkeypatch.setattr(noisy_count_batches, "LARGEST_ERROR", -1.0)
    found = noisy_count_batches.exact([[3.0, 40.0, 9.5]], totals=[50], scales=[2.0])
    assert found.error.tolist() == [0.0]
    assert found.counts == pytest.approx(np.array(alone([3.0, 40.0, 9.5], 50, 2.0, 1.0, 0.95)), rel=1e-12)
    rates = laplace_multinomial.exact([3.0, 40.0, 9.5], total=50, scale=2.0, alpha=1.0).summary(0.95)
    assert found.mean.tolist() == rates["mean"].tolist()


def test_an_interval_that_ends_between_two_counts_has_both_probabilities():
    """Check two counts with total 1 and equal noisy values: each is 0 or 1 with probability 1/2."""
    found = noisy_count_batches.exact([[0.5, 0.5]], totals=[1], scales=[2.0], level=0.95)
    assert found.counts == pytest.approx(np.array([[0.5, 0.5, 0, 1]] * 2), rel=1e-12)


@pytest.mark.parametrize("level", [*LEVELS, 0.9999])
def test_both_ends_at_once_are_the_quantiles(level):
    rng = stream(6, "odds")
    for _ in range(6):
        a = rng.uniform(0.3, 40, 4) + np.outer(np.arange(9), [1, -0.03, -0.03, 1])
        law = LogOddsMixture(a, rng.random(9))
        wanted = law.quantile([(1 - level) / 2, (1 + level) / 2])
        assert law.central_interval(level) == pytest.approx(tuple(wanted), abs=1e-9)


@pytest.mark.parametrize("cells", [(3, 1, 2, 5), (60, 20, 30, 70), (0, 4, 9, 0), (0, 0, 3, 4), (900, 40, 30, 800)])
def test_odds_of_a_batch_are_those_of_a_table(cells):
    data = pd.DataFrame({"table": ["t"] * 4, "row": list("aabb"), "column": list("pqpq"), "count": cells})
    found = swapped_batches.summaries(data, rate=0.2, alpha=0.8, level=0.9, odds=True)
    plain = swapped_batches.summaries(data, rate=0.2, alpha=0.8, level=0.9)
    assert found.iloc[:4].equals(plain)
    (odds,) = found.iloc[4:].to_dict("records")
    assert (odds["row"], odds["column"], odds["status"]) == ("log odds ratio", "", "exact")
    law = swapped_table.exact(np.reshape(cells, (2, 2)), rate=0.2, alpha=0.8).log_odds()
    wanted = (law.mean(), law.variance() ** 0.5, *law.quantile([0.05, 0.95]))
    assert [odds[key] for key in ("mean", "sd", "lower", "upper")] == pytest.approx(wanted, abs=1e-8)


def test_other_shapes_have_no_odds():
    data = pd.DataFrame(
        {"table": ["t"] * 6, "row": list("aabbcc"), "column": list("pqpqpq"), "count": [1, 2, 3, 2, 1, 4]}
    )
    found = swapped_batches.summaries(data, rate=0.2, odds=True)
    assert len(found) == 6
