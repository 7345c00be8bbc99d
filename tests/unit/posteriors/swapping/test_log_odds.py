"""Tests of the sums for the distribution of a log odds ratio, by their reference and closed forms."""

import numpy as np
import pytest
from reference import unswapping as reference
from scipy.special import betainc, expit

from dpmultinomial._posteriors.swapping import log_odds, unswapping
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture, UpperTail
from dpmultinomial._seeding import stream

STEP = np.array([1.0, -1.0, -1.0, 1.0])
T = 0.07 * (np.arange(90) + 0.5)


def chain(first, size):
    return np.asarray(first, dtype=float) + np.arange(size)[:, None] * STEP


@pytest.mark.parametrize("tilt", [0.0, 0.9])
@pytest.mark.parametrize("n", [1, 3, 90])
def test_components_follow_from_one_another(tilt, n):
    """Return two chains as one mixture, where the second begins within the stride of the first."""
    a = np.vstack([chain([0.7, 41.3, 44.2, 1.1], 40), chain([5.0, 30.0, 25.5, 3.0], 20)])
    weights = stream(3, "weights").random(len(a))
    fresh = np.isin(np.arange(len(a)), [0, 17, 40])
    starts = np.array([reference.mixture(row[None], np.ones(1), tilt, T[:n]) for row in a[fresh]])
    found = unswapping.mixture(a, weights, tilt, T[:n], fresh, starts)
    wanted = reference.mixture(a, weights, tilt, T[:n])
    assert np.abs(found - wanted).max() < 2e-13 * np.abs(wanted).max()
    assert np.abs(found / wanted - 1)[: min(n, 30)].max() < 1e-11


@pytest.mark.parametrize("entries", [1, 5_000, 500_000])
def test_a_transform_begins_anew_where_a_chain_is_long_or_ends(monkeypatch, entries):
    """Check parts of 32 components or more, a table that occurs twice, and one that is not adjacent."""
    monkeypatch.setattr(log_odds, "_ENTRIES", entries)
    a = np.vstack(
        [chain([2.0, 90.0, 80.0, 1.0], 70), chain([71.0, 21.0, 11.0, 70.0], 3), chain([3.0, 9.0, 9.0, 3.5], 2)]
    )
    weights = stream(4, "weights").random(len(a))
    for tilt, place in ((0.0, 0.0), (0.0, -1.5), (2.5, 0.4)):
        found = log_odds.transform(a, weights, T, tilt=tilt, place=place)
        wanted = reference.mixture(a, weights, tilt, T) * np.exp(-(tilt + 1j * T) * place)
        assert np.abs(found - wanted).max() < 1e-12 * np.abs(wanted).max()


def test_one_uniform_law_of_theta_has_a_closed_form():
    """Check theta uniform on the simplex: E exp(i t log phi) = (pi t/sinh(pi t))^2."""
    found = log_odds.transform(np.ones((1, 4)), np.ones(1), T)
    assert found == pytest.approx((np.pi * T / np.sinh(np.pi * T)) ** 2, rel=1e-12)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 200])
@pytest.mark.parametrize("m", [0, 1, 7, 8, 9, 30])
def test_fourier_sums_at_many_points(m, n):
    rng = stream(5, "waves", m, n)
    x, values = 40 * rng.normal(size=m), rng.normal(size=n) + 1j * rng.normal(size=n)
    found = unswapping.waves(x, 0.31, values)
    assert found.shape == (m,)
    assert (
        np.abs(found - reference.waves(x, 0.31, values)).max(initial=0.0)
        < 1e-15 * (20 + 0.31 * n * 100) * np.abs(values).sum()
    )


def test_a_point_does_not_depend_on_those_beside_it():
    values, x = np.exp(-0.01 * np.arange(100)) * (1 + 2j), np.linspace(-3, 5, 19)
    alone = [unswapping.waves(x[i : i + 1], 0.2, values)[0] for i in range(len(x))]
    assert unswapping.waves(x, 0.2, values).tolist() == alone


def test_points_without_end_lie_beyond_everything():
    law = LogOddsMixture(np.ones((1, 4)))
    assert np.isnan(unswapping.waves([np.inf, 0.0], 0.2, [1.0])).tolist() == [True, False]
    assert law.cdf([-np.inf, 0.0, np.inf]).tolist() == pytest.approx([0.0, 0.5, 1.0], abs=1e-15)
    assert law.pdf([-np.inf, np.inf]).tolist() == [0.0, 0.0]
    assert law.cdf(np.zeros((2, 0))).shape == (2, 0)


def test_density_and_probability_where_two_logistic_laws_add_up():
    """Check theta uniform: P(phi <= y) = y (y - 1 - ln y)/(y - 1)^2."""
    law, x = LogOddsMixture(np.ones((1, 4))), np.array([-5.0, -0.7, 0.2, 1.0, 4.0])
    y = np.exp(x)
    assert law.cdf(x) == pytest.approx(y * (y - 1 - x) / (y - 1) ** 2, abs=2e-14)
    h = np.linspace(-60, 60, 24001)
    wanted = [np.sum(expit(h) * expit(-h) * expit(at - h) * expit(h - at)) * 0.005 for at in x]
    assert law.pdf(x) == pytest.approx(wanted, abs=2e-14)


@pytest.mark.parametrize("x", [5.0, 30.0, 100.0, 300.0, 600.0])
def test_far_tails_where_two_logistic_laws_add_up(x):
    """Check theta uniform: P(X > x) = e^-x (x - 1 + e^-x)/(1 - e^-x)^2, down to probabilities of 1e-258."""
    tail, far = UpperTail(np.ones((1, 4)), np.ones(1)), np.exp(-x)
    wanted = far * (x - 1 + far) / (1 - far) ** 2
    assert tail.probability(x) == pytest.approx(wanted, rel=1e-12, abs=0)
    assert tail.quantile(wanted) == pytest.approx(x, rel=1e-13)


@pytest.mark.parametrize("small", [0, 1, 2, 3])
@pytest.mark.parametrize("least", [0.3, 1.0, 8.0])
def test_one_small_parameter_among_large_ones(small, least):
    """Integrate the distribution function of one logit over the density of the other; the small parameter makes
    E exp(i t X) decrease only like exp(-pi t/2), not like exp(-2 pi t)."""
    a = np.full(4, 3000.0)
    a[small] = least
    law = LogOddsMixture(a[None])
    x = law.mean() + np.array([-1.5, -0.2, 0.4, 1.0]) * law.variance() ** 0.5
    (up, down), (first, second) = (
        ((a[3], a[2]), a[:2]) if small < 2 else (a[:2], (a[3], a[2]))
    )  # the large pair is `up`
    u = np.log(up / down) + np.linspace(-9, 9, 2001) * np.sqrt(1 / up + 1 / down)
    density = np.exp(up * (u - u[1000]) - (up + down) * (np.logaddexp(0.0, u) - np.logaddexp(0.0, u[1000])))
    density /= np.trapezoid(density, u)
    wanted = [np.trapezoid(density * betainc(first, second, expit(at - u)), u) for at in x]
    assert law.cdf(x) == pytest.approx(wanted, abs=2e-12)
    assert [log_odds.below(a[None], at)[0] for at in x] == pytest.approx(wanted, abs=2e-12)


@pytest.mark.parametrize("x", [-4.0, 0.0, 0.3, 9.0])
def test_many_dirichlet_laws_at_once(monkeypatch, x):
    """Check parameters of 0.3 to 3,000, where some distributions have one sign and some tails are below 1e-4."""
    a = 10 ** stream(6, "laws").uniform(-0.5, 3.5, (60, 4))
    wanted = np.array([float(LogOddsMixture(row[None]).cdf(x)) for row in a])
    assert (wanted < 1e-4).any()
    assert (wanted > 1 - 1e-12).any()
    found = log_odds.below(a, x)
    assert found == pytest.approx(wanted, abs=5e-12)
    assert (found[wanted < 1e-4] == wanted[wanted < 1e-4]).all()
    monkeypatch.setattr(log_odds, "_ENTRIES", 100)
    assert log_odds.below(a, x) == pytest.approx(wanted, abs=5e-12)
    assert log_odds.below(np.ones((0, 4)), x).shape == (0,)


def test_dirichlet_laws_where_two_logistic_laws_add_up():
    """Check theta uniform: P(phi <= y) = y (y - 1 - ln y)/(y - 1)^2."""
    for x in (-5.0, -0.7, 1.0, 4.0):
        y = np.exp(x)
        assert log_odds.below(np.ones((3, 4)), x) == pytest.approx(
            np.full(3, y * (y - 1 - x) / (y - 1) ** 2), abs=2e-14
        )


@pytest.mark.parametrize(
    "first", [[0.7, 41.3, 44.2, 1.1], pytest.param([0.02, 60.0, 45.0, 0.3], marks=pytest.mark.thorough)]
)
def test_draws_have_the_law(first):
    """Check 40,000 draws by Kolmogorov's distance, false alarm 1e-6; a difference of 0.02 is nearly always detected."""
    law = LogOddsMixture(chain(first, 30), stream(4, "weights").random(30))
    levels = np.sort(law.cdf(law.sample(40_000, rng=stream(4, "draws"))))
    steps = np.arange(40_001) / 40_000
    assert max((steps[1:] - levels).max(), (levels - steps[:-1]).max()) < 2.69 / 200


def test_draws_of_tiny_parameters_do_not_underflow():
    """Check that log G(a) is -E/a to first order: its mean is -1/a, minus a constant."""
    draws = LogOddsMixture([[0.001, 5.0, 5.0, 5.0]]).sample(20_000, rng=stream(5, "tiny"))
    assert np.isfinite(draws).all()
    assert draws.mean() == pytest.approx(LogOddsMixture([[0.001, 5.0, 5.0, 5.0]]).mean(), abs=5 * 1000 / 20_000**0.5)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: log_odds.below(np.ones((2, 3)), 0.0), "a must have shape"),
        (lambda: log_odds.below([[1.0, 2.0, 0.0, 1.0]], 0.0), "the argument `a` must be finite and > 0"),
        (lambda: log_odds.below([[1.0, 2.0, np.inf, 1.0]], 0.0), "the argument `a` must be finite and > 0"),
        (lambda: log_odds.below(np.ones((2, 4)), np.inf), "x must be finite"),
        (lambda: unswapping.waves(np.zeros((2, 2)), 0.1, [1.0]), "x and values must be one-dimensional"),
        (lambda: unswapping.waves([1.0], 0.1, np.zeros((2, 2))), "x and values must be one-dimensional"),
        (lambda: unswapping.mixture(np.ones((2, 3)), [1, 1], 0.0, T, [True, True], np.ones((2, 90))), "shapes"),
        (lambda: unswapping.mixture(np.ones((2, 4)), [1, 1], 0.0, T, [True], np.ones((1, 90))), "shapes"),
        (lambda: unswapping.mixture(np.ones((2, 4)), [1, 1], 0.0, T, [True, False], np.ones((2, 90))), "shapes"),
        (lambda: unswapping.mixture(np.ones((2, 4)), [1, 1], 0.0, T, [True, False], np.ones((1, 89))), "shapes"),
        (lambda: unswapping.mixture(np.ones((2, 4)), [1, 1], 0.0, T, [False, True], np.ones((1, 90))), "fresh"),
        (lambda: unswapping.mixture(np.ones((1, 4)), [np.nan], 0.0, T, [True], np.ones((1, 90))), "weights must be"),
        (lambda: unswapping.mixture(np.ones((1, 4)), [1], 0.0, [], [True], np.ones((1, 0))), "t must be"),
    ],
)
def test_bad_input_is_named(call, match):
    with pytest.raises(ValueError, match=match):
        call()
