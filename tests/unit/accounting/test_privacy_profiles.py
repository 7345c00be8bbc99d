"""Tests of costs at the ends of their ranges, against multiprecision, closed forms and enumeration."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betainc, betaln

from dpmultinomial._accounting import privacy_profiles, renyi
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._models import calibrated_noise
from reproduction.papers.ponnoprat2022.algorithms import gohari

mp = pytest.importorskip("mpmath")

ORDERS = [1, 1 + 1e-12, 1 + 1e-9, 1 + 1e-6, 1.001, 1.04, 1.06, 2, 200, 1e4, 1e7]


@pytest.mark.parametrize("order", ORDERS)
def test_laplace_divergence_at_any_order_and_scale(order):
    for shift in (1e-300, 1e-9, 1e-5, 1e-4, 1e-3, 0.1, 0.9, 1.1, 10, 1e3, 1e9, 1e12):
        with mp.workdps(700 if shift < 1e-100 else 80):
            s, o = mp.mpf(2) / 2 / mp.mpf(1 / shift), mp.mpf(order)
            if order == 1:
                exact = 2 * (s + mp.expm1(-s))
            else:
                moment = o / (2 * o - 1) * mp.exp((o - 1) * s) + (o - 1) / (2 * o - 1) * mp.exp(-o * s)
                exact = 2 * mp.log(moment) / (o - 1)
            exact = float(exact)
        assert renyi.laplace(1 / shift, order=order, l1=2, cells=2) == pytest.approx(exact, rel=2e-11, abs=0)


@pytest.mark.parametrize("order", ORDERS[:-1])
def test_dirichlet_worst_case_at_any_order(order):
    for r in (1e-9, 1e-3, 0.3, 30, 1e4, 1e8):
        for alpha in (1e-3, 0.5, 1, (order - 1) * r * 1.5, 1 + 4 * (order - 1) * r, 1e6):
            if alpha <= 0:
                continue
            found = renyi.dirichlet_worst_case(r, alpha=alpha, order=order)
            if alpha - (order - 1) * r <= 0:
                assert found == np.inf
                continue
            with mp.workdps(80):
                s, a, o = mp.mpf(r), mp.mpf(alpha), mp.mpf(order)
                if order == 1:
                    exact = s * (mp.digamma(a + s) - mp.digamma(a))
                else:
                    ends = mp.loggamma(a + o * s) + mp.loggamma(a - (o - 1) * s)
                    exact = (ends - mp.loggamma(a + s) - mp.loggamma(a)) / (o - 1)
            assert found == pytest.approx(float(exact), rel=1e-11, abs=0)


def test_laplace_profile_is_the_integral_of_its_definition():
    x, w = np.polynomial.legendre.leggauss(200)
    for scale, epsilon in ((0.5, 0.0), (0.5, 1.0), (2.0, 0.4), (0.05, 39.0), (1.0, 2.0)):
        s = 1 / scale  # sum over the laws of the two losses: atoms at s (1/2) and -s (exp(-s)/2), a density between
        atoms = 0.0
        for loss, chance in ((2 * s, 0.25), (0.0, np.exp(-s) / 2), (-2 * s, np.exp(-2 * s) / 4)):
            atoms += chance * max(0.0, -np.expm1(epsilon - loss))
        half = (2 * s - epsilon) / 2
        loss = epsilon + half * (1 + x)
        density = np.exp((loss - 2 * s) / 2) * (0.25 + (2 * s - loss) / 16)
        exact = atoms + half * np.sum(w * density * -np.expm1(epsilon - loss))
        assert float(privacy_profiles.laplace_delta(epsilon, scale=scale)) == pytest.approx(exact, rel=1e-12, abs=1e-15)


def test_a_false_laplace_claim_is_found_at_any_scale():
    assert calibrated_noise.exact_delta(Laplace(scale=1e-4), epsilon=1.0) == 1.0
    assert not calibrated_noise.dp_claim(Laplace(scale=1e-4), epsilon=1.0, delta=0.6).holds
    assert float(privacy_profiles.laplace_delta(1.0, scale=1e-320)) == 1.0
    assert privacy_profiles.laplace_delta([0.0, 2e3, np.inf], scale=1e-3).tolist() == [1.0, 0.0, 0.0]
    e = 2 - 1e-8  # near the end 1 - (1 + a/4) exp(-a/2) = a/4 + O(a^3), a = 1e-8
    assert float(privacy_profiles.laplace_delta(e, scale=1.0)) == pytest.approx((2 - e) / 4, rel=1e-8)


def test_audits_say_what_they_found():
    assert repr(calibrated_noise.Audit(claimed=1.0, exact=2.0)) == "Audit(claimed 1 is false, exact 2, slack 0.5)"
    assert calibrated_noise.Audit(claimed=1.0, exact=0.0).slack == np.inf


@pytest.mark.parametrize(
    ("epsilon", "r", "alpha"),
    [(800, 1, 1), (800, 300, 2), (800, 330, 40), (705, 400, 60), (800, 1100, 1000), (1500, 1e3, 0.5), (690, 400, 60)],
)
def test_dirichlet_profile_where_the_exponential_overflows(epsilon, r, alpha):
    with mp.workdps(60):
        e, s, a = mp.mpf(epsilon), mp.mpf(r), mp.mpf(alpha)
        x = 1 / (1 + mp.exp(e / s))
        exact = mp.betainc(a, a + s, 0, x, regularized=True) - mp.exp(e) * mp.betainc(a + s, a, 0, x, regularized=True)
    assert float(privacy_profiles.dirichlet_delta(epsilon, r=r, alpha=alpha)) == pytest.approx(
        float(exact), rel=1e-10, abs=1e-15
    )


@pytest.mark.parametrize(
    ("p", "q", "x"),
    [
        (80_000, 40_000, 0.6),
        (3e5, 0.5, 0.99),
        (1e6, 2e6, 0.32),
        (8.5e6, 1e3, 0.9995),
        (1e9, 3e5, 0.9996),
        (900, 1, 0.4),
    ],
)
def test_log_of_a_beta_tail_that_underflows(p, q, x):
    """I_x(p, q) = x^p/B(p, q) times the integral of exp(-p s) (1 - x exp(-s))^(q - 1) over s > 0."""
    assert betainc(p, q, x) < 1e-290

    def inside(s):
        return np.exp(-p * s + (q - 1) * np.log1p(x * -np.expm1(-s) / (1 - x)))

    rate = p - (q - 1) * x / (1 - x)
    area = quad(inside, 0, 5 / rate, epsrel=1e-12)[0] + quad(inside, 5 / rate, 80 / rate, epsrel=1e-12)[0]
    exact = p * np.log(x) + (q - 1) * np.log1p(-x) - betaln(p, q) + np.log(area)
    assert privacy_profiles._log_tail(p, q, x) == pytest.approx(exact, abs=1e-9 + 1e-15 * p)


def test_dirichlet_profile_keeps_its_shape_and_its_limits():
    found = privacy_profiles.dirichlet_delta(np.array([[0.0, np.inf, 750.0], [1.0, 2.0, 3.0]]), r=300, alpha=1)
    assert found.shape == (2, 3)
    assert found[0, 1] == 0.0
    assert found[0, 2] == float(privacy_profiles.dirichlet_delta(750.0, r=300, alpha=1))
    assert 0 <= float(privacy_profiles.dirichlet_delta(1e5, r=1.7e6, alpha=1.7e6)) <= 1


def test_gohari_delta_is_a_probability_between_its_bounds():
    for gamma in (1e-300, 1e-9, 1e-2, 0.2):
        for k in (1e-2, 1.0, 10.0, 1e5):
            for eta, eta_bar in ((1e-6, 0.5), (1e-3, 1e-3), (0.1, 0.2), (0.49, 0.01)):
                found = gohari.delta(gamma, concentration=k, eta=eta, eta_bar=eta_bar)
                pairs = [betainc(a[:-1], k - a[:-1], gamma) for a in gohari.vertices(k, eta, eta_bar, 2)]
                assert (
                    max(p.max() for p in pairs) * (1 - 1e-9)
                    <= found
                    <= min(1, max(p.sum() for p in pairs)) * (1 + 1e-9)
                )


def test_gohari_delta_with_little_concentration_by_multiprecision():
    gamma, a = 0.05, (0.2, 0.2, 0.6)  # k = 1, eta = 0.2, eta_bar = 0.6: both vertices are this one
    with mp.workdps(20):
        front = mp.gamma(1) / (mp.gamma(a[0]) * mp.gamma(a[1]) * mp.gamma(a[2]))
        inner = lambda x: x ** (a[0] - 1) * (1 - x) ** (a[1] + a[2] - 1) * mp.betainc(a[1], a[2], 0, gamma / (1 - x))  # noqa: E731
        both = front * mp.quad(inner, [0, 1e-12, 1e-6, 1e-3, gamma])
        one = mp.betainc(a[0], 0.8, 0, gamma, regularized=True)
    found = gohari.delta(gamma, concentration=1.0, eta=0.2, eta_bar=0.6)
    assert found == pytest.approx(float(2 * one - both), rel=1e-6)


@pytest.mark.parametrize(
    ("order", "counts"),
    [(1e4, [119, 74, 618, 272, 13, 187]), (5.0, np.arange(100_000) % 7), (1e6, [10, 20]), (5.0, [3, 3, 3, 4])],
)
def test_calibration_for_kl_finds_the_best_alpha(order, counts):
    r, alpha = dirichlet.calibrate_for_kl(1.0, order=order, counts=counts)
    assert renyi.dirichlet_worst_case(r, alpha=alpha, order=order) == pytest.approx(1.0, rel=1e-9)
    best = dirichlet.Dirichlet(r=r, alpha=alpha).expected_kl(counts)
    for factor in (0.5, 0.9, 1.1, 2.0):  # no neighbour with the same cost is better
        other = alpha * factor
        pair = dirichlet._exact_root(1.0, order, lambda _, a=other: a)
        assert dirichlet.Dirichlet(r=pair[0], alpha=other).expected_kl(counts) >= best


def test_calibration_for_kl_refuses_flat_counts():
    with pytest.raises(ValueError, match="counts must not all be equal"):
        dirichlet.calibrate_for_kl(1.0, order=5.0, counts=[3, 3, 3])


@pytest.mark.parametrize(
    ("epsilon", "delta", "per_r", "offset"),
    [(1.0, 1e-6, 0.0, 1.0), (0.1, 1e-9, 8.0, 1.0), (3.0, 1e-3, 0.5, 2.0), (1e-4, 0.9e-3, 0.0, 3.0)],
)
def test_calibration_gives_the_largest_r_with_the_stated_delta(epsilon, delta, per_r, offset):
    r = privacy_profiles.dirichlet_calibration(epsilon, delta_=delta, alpha_per_r=per_r, alpha_offset=offset)
    deltas = [
        float(privacy_profiles.dirichlet_delta(epsilon, r=s, alpha=offset + per_r * s)) for s in (r, 1.01 * r, 1.2 * r)
    ]
    assert deltas[0] == pytest.approx(delta, rel=1e-8)
    assert deltas[0] < deltas[1] < deltas[2]


def test_epsilon_inverts_delta():
    for r, alpha, delta in ((1.0, 10.0, 1e-6), (30.0, 2.0, 1e-3), (0.2, 0.5, 0.01)):
        found = privacy_profiles.dirichlet_epsilon(delta, r=r, alpha=alpha)
        assert float(privacy_profiles.dirichlet_delta(found, r=r, alpha=alpha)) == pytest.approx(delta, rel=1e-8)
    at_zero = float(privacy_profiles.dirichlet_delta(0.0, r=1.0, alpha=10.0))
    assert privacy_profiles.dirichlet_epsilon(at_zero * 1.001, r=1.0, alpha=10.0) == 0.0
    assert privacy_profiles.dirichlet_epsilon(at_zero * 0.999, r=1.0, alpha=10.0) > 0.0


@pytest.mark.parametrize(("changed", "support"), [(1, 1), (1, 4), (2, 3), (3, 2)])
def test_geometric_profile_by_enumeration(changed, support):
    """Sum of max(P - exp(claimed) P', 0) over all releases of counts that are 0 in one file and 1 in the other."""
    rate = 0.8
    weights = np.exp(-rate * np.abs(np.arange(-support, support + 1)))
    p = np.append(weights / weights.sum(), 0.0)
    q = np.append(0.0, p[:-1])
    first, second = p, q
    for _ in range(changed - 1):
        first, second = np.multiply.outer(first, p).ravel(), np.multiply.outer(second, q).ravel()
    for claimed in (0.0, 0.3, 1.0, 2.0):
        exact = np.maximum(first - np.exp(claimed) * second, 0).sum()
        found = privacy_profiles.geometric_delta(claimed, epsilon=rate, changed=changed, support=support)
        assert found == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: privacy_profiles.geometric_delta(-0.1, epsilon=1.0), ValueError, "claimed must be >= 0, got -0.1"),
        (lambda: privacy_profiles.geometric_delta(1.0, epsilon=1.0, support=0), ValueError, "support must be >= 1"),
        (lambda: privacy_profiles.geometric_delta(1.0, epsilon=1.0, changed=0), ValueError, "changed must be >= 1"),
        (lambda: privacy_profiles.geometric_delta(1.0, epsilon=0.0), ValueError, "epsilon must be finite and > 0"),
        (lambda: privacy_profiles.laplace_delta([1.0, -2.0], scale=1.0), ValueError, "epsilon must be >= 0, got -2.0"),
        (lambda: privacy_profiles.laplace_delta(1.0, scale=0.0), ValueError, "scale must be finite and > 0, got 0.0"),
        (lambda: privacy_profiles.dirichlet_delta([-1.0], r=1.0, alpha=1.0), ValueError, "epsilon must be >= 0"),
        (lambda: privacy_profiles.dirichlet_delta(1.0, r=0.0, alpha=1.0), ValueError, "r must be finite and > 0"),
        (lambda: privacy_profiles.dirichlet_epsilon(1.0, r=1.0, alpha=1.0), ValueError, "must lie in"),
        (lambda: privacy_profiles.dirichlet_epsilon(1e-12, r=1.0, alpha=1.0), ValueError, "must lie in"),
        (lambda: privacy_profiles.dirichlet_calibration(1.0, delta_=1e-12), ValueError, "must lie in"),
        (lambda: privacy_profiles.dirichlet_calibration(0.0, delta_=1e-6), ValueError, "epsilon_hat must be finite"),
    ],
)  # fmt: skip
def test_bad_arguments_of_profiles(call, error, words):
    with pytest.raises(error, match=words):
        call()
