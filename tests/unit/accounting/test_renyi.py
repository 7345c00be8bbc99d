"""Tests of Algorithm 1, Rényi divergences, conversions and Gohari's guarantee, by closed forms and multiprecision."""

import numpy as np
import pytest
from scipy.special import betainc, betaln
from scipy.stats import norm

from dpmultinomial._accounting import composition, privacy_profiles, renyi
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._mechanisms.gaussian import Gaussian
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._models import calibrated_noise
from dpmultinomial._seeding import stream
from reproduction.papers.ponnoprat2022.algorithms import gohari

# order, epsilon, r, alpha, exact worst case; 30-digit arithmetic
ALGORITHM_1 = [
    (1, 1, 0.779696801233676, 1.0, 0.660508585139840),
    (2, 1e-3, 0.0181176583301037, 1.07247063332041, 9.64263958958906e-4),
    (2, 1, 1.65556927635401, 7.62227710541603, 0.701498250701458),
    (2, 10, 15.1654456850866, 61.6617827403465, 6.83311135028466),
    (5, 1e-2, 0.0477259293317775, 1.76361486930844, 8.50174041687644e-3),
    (5, 1, 2.44119266151864, 40.0590825842982, 0.739862425220309),
    (20, 0.1, 0.293597332546945, 23.3133972735678, 0.0758719279063325),
    (200, 1e-3, 0.00370073407725631, 3.94578432549602, 7.95004069150953e-4),
    (200, 10, 29.8508375052725, 23762.2666541969, 7.5757479152753),
]
FLOORS = {2: 10.12663110385, 5: 2.25272833682, 20: 0.396980031476, 200: 0.0262166446007, 1000: 0.00360927963237}
FIGURE_2 = {"concentration": 0.97 * 147 + 6 * 4.88, "eta": 4.88 / 171.87, "eta_bar": 4 * 4.88 / 171.87}


@pytest.mark.parametrize(("order", "epsilon", "r", "alpha", "worst"), ALGORITHM_1)
def test_algorithm_1_and_its_exact_worst_case(order, epsilon, r, alpha, worst):
    ours = dirichlet.calibrate(epsilon, order=order)
    assert ours == pytest.approx((r, alpha), rel=1e-12)
    assert renyi.dirichlet_bound(ours[0], order=order) == pytest.approx(epsilon, rel=1e-13)
    assert renyi.dirichlet_worst_case(ours[0], alpha=ours[1], order=order) == pytest.approx(worst, rel=1e-11)


@pytest.mark.parametrize("order", [1, 2, 5, 20])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1, 10])
def test_exact_calibration_spends_the_budget_and_never_less_than_algorithm_1(order, epsilon):
    r, alpha = dirichlet.calibrate_exact(epsilon, order=order)
    assert renyi.dirichlet_worst_case(r, alpha=alpha, order=order) == pytest.approx(epsilon, rel=1e-9)
    assert r >= dirichlet.calibrate(epsilon, order=order)[0]


def test_free_alpha_halves_the_loss():
    counts = (119, 74, 618, 272, 13, 187)
    for epsilon, algorithm_1, best in [(0.1, 0.01193, 0.01008), (1, 0.00548, 0.00248), (10, 0.00473, 0.00072)]:
        pairs = dirichlet.calibrate(epsilon, order=5), dirichlet.calibrate_for_kl(epsilon, order=5, counts=counts)
        losses = [dirichlet.Dirichlet(r=r, alpha=a).expected_kl(counts) for r, a in pairs]
        assert losses == pytest.approx([algorithm_1, best], abs=1e-5)


@pytest.mark.parametrize("order", [1, 1.5, 2, 20])
def test_divergence_against_multiprecision(order):
    mp = pytest.importorskip("mpmath")
    rng = stream(1, "divergence")
    for r in (1e-3, 0.5, 20.0):
        alpha = 1 + 4 * (order - 1) * r
        f = rng.integers(0, 1000, 4)
        g = f + np.array([1, -1, 0, 0]) * (f[1] > 0)
        u, v = r * f + alpha, r * g + alpha
        with mp.workdps(50):
            a, b = [mp.mpf(float(x)) for x in u], [mp.mpf(float(x)) for x in v]
            log_beta = lambda x: sum(mp.loggamma(i) for i in x) - mp.loggamma(sum(x))  # noqa: E731
            if order == 1:
                tail = sum((i - j) * (mp.digamma(i) - mp.digamma(sum(a))) for i, j in zip(a, b, strict=True))
                exact = log_beta(b) - log_beta(a) + tail
            else:
                mixed = [order * i - (order - 1) * j for i, j in zip(a, b, strict=True)]
                exact = (log_beta(mixed) + (order - 1) * log_beta(b) - order * log_beta(a)) / (order - 1)
        assert renyi.dirichlet_divergence(u, v, order=order) == pytest.approx(float(exact), rel=1e-7, abs=1e-11)


def test_no_random_pair_beats_the_worst_case_or_the_bound():
    rng = stream(2, "pairs")
    for _ in range(300):
        order, r = float(rng.choice([1, 1.5, 2, 5, 30])), float(10 ** rng.uniform(-1, 1.3))
        alpha = 1 + 4 * (order - 1) * r
        f = rng.integers(0, 60, int(rng.integers(2, 7)))
        f[0] += 1
        g = f.copy()
        g[0] -= 1
        g[1] += 1
        found = renyi.dirichlet_divergence(r * f + alpha, r * g + alpha, order=order)
        worst = renyi.dirichlet_worst_case(r, alpha=alpha, order=order)
        assert found <= worst * (1 + 1e-8) <= renyi.dirichlet_bound(r, order=order)


def test_the_worst_case_keeps_its_digits_for_tiny_releases():
    mp = pytest.importorskip("mpmath")
    for r, alpha, order in [(1e-9, 1.0, 5.0), (1e-5, 1.3, 20.0), (1e-3, 2.0, 1.0), (0.3, 1.61, 2.0), (0.3, 1.59, 2.0)]:
        with mp.workdps(60):
            a, s, k = mp.mpf(alpha), mp.mpf(r), mp.mpf(order)
            if order == 1:
                exact = s * (mp.digamma(a + s) - mp.digamma(a))
            else:
                ends = mp.loggamma(a + k * s) + mp.loggamma(a - (k - 1) * s)
                exact = (ends - mp.loggamma(a + s) - mp.loggamma(a)) / (k - 1)
        assert renyi.dirichlet_worst_case(r, alpha=alpha, order=order) == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_an_infinite_divergence_is_infinite():
    assert renyi.dirichlet_divergence([1, 5], [5, 1], order=2) == np.inf
    assert renyi.dirichlet_worst_case(2.0, alpha=2.0, order=2) == np.inf


@pytest.mark.parametrize(("l1", "cells", "column"), [(1, 1, 0), (2, 1, 1), (2, 2, 2)])
def test_laplace_scales_of_the_three_readings(l1, cells, column):
    rows = {
        1e-3: (49.80010516818, 99.60021033637, 70.52049147426),
        0.1: (4.525491803422, 9.050983606844, 6.678942877051),
        1: (0.871885122430, 1.743770244860, 1.547144182337),
        10: (0.098551813948, 0.197103627897, 0.194289947972),
    }
    for epsilon, scales in rows.items():
        scale = renyi.laplace_scale(epsilon, order=5, l1=l1, cells=cells)
        assert scale == pytest.approx(scales[column], rel=1e-11)
        assert renyi.laplace(scale, order=5, l1=l1, cells=cells) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize(("l1", "cells"), [(1.0, 1), (2.0, 2), (0.3, 3)])
def test_laplace_scales_of_huge_budgets(l1, cells):
    """At a shift s in each cell, the divergence is cells (s + log(order/(2 order - 1))/(order - 1)) if exp(-s) is 0."""
    for epsilon in (1e4, 1e11, 1e13, 1e20):
        rest = cells * np.log(5 / 9) / 4
        assert renyi.laplace_scale(epsilon, order=5, l1=l1, cells=cells) == pytest.approx(
            l1 / (epsilon - rest), rel=1e-11, abs=0
        )


def test_gaussian_scale_is_the_papers():
    assert renyi.gaussian_sigma(0.1, order=5, l2_squared=2) == pytest.approx(7.071067811865, rel=1e-12)
    assert renyi.gaussian(7.0, order=5, l2_squared=2) == pytest.approx(5 / 49, rel=1e-15)


def test_floors_of_equation_14():
    for order, floor in FLOORS.items():
        assert composition.floor(order=order, delta=1e-5) == pytest.approx(floor, rel=1e-10)
        assert np.isnan(composition.dp_to_rdp(floor * 0.99, order=order, delta=1e-5))
        back = composition.dp_to_rdp(composition.rdp_to_dp(0.7, order=order, delta=1e-5), order=order, delta=1e-5)
        assert back == pytest.approx(0.7, rel=1e-13)
    assert composition.floor(order=1, delta=1e-5) == np.inf


def test_gohari_delta_has_no_floor():
    exact = {1e-3: 3.031102573e-6, 2e-3: 7.7820153e-5, 1e-4: 4.5221933742e-11, 1e-8: 1.385e-30}
    for gamma, value in exact.items():
        tolerance = 1e-3 if gamma == 1e-8 else 1e-7
        assert gohari.delta(gamma, **FIGURE_2) == pytest.approx(value, rel=tolerance, abs=0)
    assert gohari.calibrate(1e-5, **FIGURE_2) == pytest.approx(1.287480349e-3, rel=1e-8)
    assert gohari.delta_by_product_rule(1e-8, **FIGURE_2) > 1e-4
    better = gohari.delta_by_product_rule(1e-3, **FIGURE_2, degree=301)
    assert better == pytest.approx(gohari.delta(1e-3, **FIGURE_2), rel=1e-6)


@pytest.mark.thorough
def test_gohari_delta_lies_between_its_bounds_for_larger_sets():
    for members in (2, 3):
        k, eta = 40.0, 0.05
        q = [betainc(a, k - a, 0.01) for a in gohari.vertices(k, eta, 1 - members * eta, members)[0][:-1]]
        low = -np.expm1(np.sum(np.log1p(-np.array(q))))
        delta = gohari.delta(0.01, concentration=k, eta=eta, eta_bar=1 - members * eta, members=members)
        assert low * (1 - 1e-9) <= delta <= sum(q)


def test_gohari_epsilon_bounds_the_privacy_loss_inside_the_region():
    rng = stream(3, "gohari")
    k, b, eta, eta_bar, gamma = 30.0, 0.04, 0.1, 0.4, 0.01
    claimed = gohari.epsilon(gamma, concentration=k, eta=eta, eta_bar=eta_bar, shift=b)
    for _ in range(2000):
        p = rng.uniform(eta, 1 - eta_bar - eta - b / 2)
        rest = rng.uniform(eta + b / 2, 1 - eta_bar - p)
        y = rng.dirichlet([1, 1, 1]) * (1 - 3 * gamma) + gamma
        a, c = k * np.array([p, rest]), k * np.array([p + b / 2, rest - b / 2])
        loss = (a - c) @ np.log(y[:2]) - betaln(*a) + betaln(*c)
        assert abs(loss) <= claimed * (1 + 1e-12)


def test_exact_profile_of_one_release():
    assert privacy_profiles.dirichlet_epsilon(1e-5, r=6.43, alpha=1 + 4 * 6.43) == pytest.approx(8.38, abs=0.01)
    r = privacy_profiles.dirichlet_calibration(1.0, delta_=1e-5, alpha_per_r=4.0)
    assert float(privacy_profiles.dirichlet_delta(1.0, r=r, alpha=1 + 4 * r)) == pytest.approx(1e-5, rel=1e-9)
    assert privacy_profiles.dirichlet_epsilon(0.9, r=0.1, alpha=1.0) == 0.0


def test_exact_profile_agrees_with_sampling_and_beats_the_conversion():
    r, alpha, epsilon = 2.0, 3.0, 0.5
    rng = stream(4, "profile")
    y = rng.dirichlet([alpha + r, alpha, 5.0], 200_000)
    loss = r * np.log(y[:, 0] / y[:, 1])
    drawn = np.maximum(0, -np.expm1(epsilon - loss))
    exact = float(privacy_profiles.dirichlet_delta(epsilon, r=r, alpha=alpha))
    assert abs(drawn.mean() - exact) < 5 * drawn.std() / np.sqrt(len(drawn))  # 6e-7 false alarms
    for order in (2, 10):
        claim = composition.rdp_to_dp(renyi.dirichlet_worst_case(0.2, alpha=5.0, order=order), order=order, delta=1e-5)
        assert privacy_profiles.dirichlet_epsilon(1e-5, r=0.2, alpha=5.0) <= claim


def test_no_pair_of_the_profile_beats_the_pair_without_other_records():
    rng = stream(5, "worst pair")
    for _ in range(200):
        r, alpha, e = rng.uniform(0.1, 5), rng.uniform(1, 20), rng.uniform(0, 3)
        worst = float(privacy_profiles.dirichlet_delta(e, r=r, alpha=alpha))
        pair = float(privacy_profiles.dirichlet_delta(e, r=r, alpha=alpha, counts=tuple(rng.integers(0, 30, 2))))
        assert pair <= worst + 1e-13


def test_audit_tells_true_claims_from_false_ones():
    r, alpha = dirichlet.calibrate(1.0, order=5)
    assert calibrated_noise.renyi_claim(dirichlet.Dirichlet(r=r, alpha=alpha), order=5, epsilon=1.0).holds
    slip = calibrated_noise.renyi_claim(dirichlet.Dirichlet(r=r, alpha=1 + 4 * r), order=5, epsilon=1.0)
    assert not slip.holds
    assert slip.exact == pytest.approx(3.33, abs=0.005)
    laplace = Laplace(scale=renyi.laplace_scale(0.1, order=5, l1=2, cells=2))
    assert calibrated_noise.renyi_claim(laplace, order=5, epsilon=0.1).slack == pytest.approx(1, rel=1e-9)
    one_cell = Laplace(scale=renyi.laplace_scale(0.1, order=5, l1=1))
    assert not calibrated_noise.renyi_claim(one_cell, order=5, epsilon=0.1).holds
    assert calibrated_noise.renyi_claim(Gaussian.calibrated_renyi(0.1, order=5), order=5, epsilon=0.1).holds


def test_audit_of_approximate_privacy():
    laplace = Laplace.calibrated(1.0, sensitivity=2)
    assert calibrated_noise.exact_delta(laplace, epsilon=1.0) == pytest.approx(0, abs=1e-15)
    rng = stream(6, "two cells")
    z = rng.laplace(size=(400_000, 2))
    loss = (np.abs(z - 0.5) - np.abs(z)) @ np.array([1.0, 1.0])
    for epsilon in (0.0, 0.3, 0.7):
        drawn = np.maximum(0, -np.expm1(epsilon - loss))
        exact = calibrated_noise.exact_delta(Laplace(scale=2.0), epsilon=epsilon)
        assert abs(drawn.mean() - exact) < 5 * drawn.std() / np.sqrt(len(drawn))  # 6e-7 false alarms each
    a, e = np.sqrt(2) / 3, 0.4
    exact = norm.cdf(a / 2 - e / a) - np.exp(e) * norm.cdf(-a / 2 - e / a)
    assert calibrated_noise.exact_delta(Gaussian(sigma=3.0), epsilon=e) == pytest.approx(exact, rel=1e-12)
    assert not calibrated_noise.dp_claim(Gaussian(sigma=0.1), epsilon=1.0, delta=1e-5).holds
    with pytest.raises(TypeError, match="mechanism must be"):
        calibrated_noise.exact_delta("laplace", epsilon=1.0)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_moments_of_the_mechanism(alpha):
    mechanism, counts = dirichlet.Dirichlet(r=0.4, alpha=alpha), np.array([5, 0, 20])
    draws = mechanism.sample(counts, rng=stream(7, "moments"), size=100_000)
    p = counts / counts.sum()
    kl = np.sum(p[p > 0] * np.log(p[p > 0] / draws[:, p > 0]), axis=1)
    error = 5 / np.sqrt(len(draws))  # five standard errors: 6e-7 false alarms each
    assert np.all(np.abs(draws.mean(axis=0) - mechanism.mean(counts)) < error * draws.std(axis=0))
    assert draws.var(axis=0) == pytest.approx(mechanism.variance(counts), rel=0.05)
    assert abs(kl.mean() - mechanism.expected_kl(counts)) < error * kl.std()
    assert kl.var() == pytest.approx(mechanism.kl_variance(counts), rel=0.1)


@pytest.mark.parametrize("epsilon", [1e-26, 1e-3, 50.0])
def test_the_laplace_scale_is_found_at_any_budget(epsilon):
    found = renyi.laplace_scale(epsilon, order=2.0, l1=2.0, cells=2)
    assert renyi.laplace(found, order=2.0, l1=2.0, cells=2) == pytest.approx(epsilon, rel=1e-9, abs=0)
