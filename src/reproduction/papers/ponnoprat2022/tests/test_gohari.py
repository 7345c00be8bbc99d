"""Test the two quadrature rules for the delta of Gohari et al. separately, because one rule could hide an error of the
other rule.

The rule of degree 50 is exact up to its degree, and its error for the peaked density is the printed floor.
"""

from math import lgamma

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import betainc

from reproduction.papers.ponnoprat2022.algorithms import gohari

# the first rule is inaccurate where the two rules disagree
RULES = [(gohari._some_below, 1e-4), (gohari._some_below_by_quantiles, 1e-7)]


@pytest.mark.parametrize(("rule", "rel"), RULES)
@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 0.05, 0.2])
@pytest.mark.parametrize("cells", [2, 3, 4])
def test_of_equal_uniform_cells_some_is_small(rule, rel, gamma, cells):
    """Check the probability that at least one cell, other than the last cell, is below a threshold under the uniform
    distribution Dirichlet(1, .., 1). All of k - 1 of its k cells exceed g with probability (1 - (k - 1) g)^(k - 1).
    """
    expected = -np.expm1((cells - 1) * np.log1p(-(cells - 1) * gamma))
    assert float(rule(np.asarray(gamma), np.ones(cells))) == pytest.approx(expected, rel=rel)


@pytest.mark.parametrize(("rule", "rel"), RULES)
@pytest.mark.parametrize("a", [(2.0, 3.0, 5.0), (0.4, 7.0, 2.0), (30.0, 0.8, 40.0)])
def test_of_three_cells_some_is_small(rule, rel, a):
    """Check the probability P(Y1 > g, Y2 > g) against the midpoint rule with 400,000 nodes for Y1. Given Y1 = y, Y2/(1
    - y) is Beta(a2, a3).
    """
    gamma = 0.04
    y = gamma + (1 - 2 * gamma) * (np.arange(400_000) + 0.5) / 400_000
    density = np.diff(betainc(a[0], a[1] + a[2], np.linspace(gamma, 1 - gamma, 400_001)))
    both = density @ (1 - betainc(a[1], a[2], gamma / (1 - y)))
    assert float(rule(np.asarray(gamma), np.array(a))) == pytest.approx(1 - both, rel=rel)


def test_their_nodes_integrate_what_they_are_made_for():
    """Check that the quadrature rules give n! for the integral of exp(-v) v^n over v > 0, and 1/(p + 1) for the
    integral of y^p over (0, 1).
    """
    v, weight = gohari._exponential()
    for n, expected in ((0, 1.0), (1, 1.0), (4, 24.0)):
        assert weight @ v**n == pytest.approx(expected, rel=1e-12)
    y, weight = gohari._double_exponential()
    for p in (0.0, 0.5, 3.0):
        assert weight @ y**p == pytest.approx(1 / (p + 1), rel=1e-7)
    assert weight @ (1 - y) ** 3 == pytest.approx(1 / 4, rel=1e-7)


@pytest.mark.parametrize("part", [0.9, 0.5, 0.1])
def test_no_gamma_is_named_where_the_least_one_misses_the_target(part):
    """Check that `calibrate` returns gamma = 1e-300, the smallest value allowed, if the target cannot be reached. For
    example, a cell with parameter 0.001 has half of its probability below 1e-300.
    """
    law = {"concentration": 0.01, "eta": 0.1, "eta_bar": 0.1, "members": 2}
    least = gohari.delta(1e-300, **law)
    assert 0.3 < least < 1
    assert gohari.calibrate(part * least, **law) == 1e-300
    assert gohari.calibrate(min(1.05 * least, 0.5 * (1 + least)), **law) > 1e-300


LAWS = [(50, 0.01, 0.1, 2), (5000, 0.1, 0.1, 2), (0.5, 0.3, 0.4, 2), (500, 0.01, 0.1, 2)]


@pytest.mark.parametrize("target", [1e-9, 1e-3, 0.2])
@pytest.mark.parametrize("law", LAWS)
def test_the_gamma_named_is_the_largest(law, target):
    """Check that `calibrate` returns the largest gamma for which delta does not exceed the target. If gamma is
    increased by a relative 1e-10, delta exceeds the target. If gamma is decreased by a relative 1e-10, delta does not
    exceed the target.
    """
    about = dict(zip(("concentration", "eta", "eta_bar", "members"), law, strict=True))
    gamma = gohari.calibrate(target, **about)
    if gamma < 0.999999 / (law[3] + 1):
        assert gohari.delta(gamma * (1 + 1e-10), **about) > target
    assert gohari.delta(gamma * (1 - 1e-10), **about) <= target


@pytest.mark.parametrize("ends", [(-2.0, -1.5), (-600.0, -500.0)])
def test_a_search_that_begins_beside_the_root_finds_it(monkeypatch, ends):
    about = {"concentration": 50, "eta": 0.01, "eta_bar": 0.1}
    gamma = gohari.calibrate(1e-3, **about)
    low, high = gohari._around(1e-3, gohari.vertices(50, 0.01, 0.1, 2))
    assert low < np.log(gamma) < high < low + 2
    monkeypatch.setattr(gohari, "_around", lambda *given: ends)
    assert gohari.calibrate(1e-3, **about) == pytest.approx(gamma, rel=3e-12)


# N = 147, d = 6, r = 0.97, lambda = 2: alpha = 1 + 4 r = 4.88, k = 147 r + 6 alpha = 171.87
REGION = {"concentration": 171.87, "eta": 4.88 / 171.87, "eta_bar": 4 * 4.88 / 171.87}


def test_rule_integrates_every_monomial_of_its_degree():
    """Check that the quadrature rule of degree 50 integrates every monomial x^i y^j up to degree 50 over the triangle
    x, y >= 0, x + y <= 1. The mean over the triangle is 2 i! j!/(i + j + 2)! (Dirichlet's integral).
    """
    corners, weights = gohari.degree_50_rule()
    assert corners.shape == (453, 3)
    assert corners.min() > 0
    assert weights.min() > 0
    np.testing.assert_allclose(corners.sum(axis=1), 1, rtol=1e-14)
    for i in range(51):
        for j in range(51 - i):
            exact = 2 * np.exp(lgamma(i + 1) + lgamma(j + 1) - lgamma(i + j + 3))
            assert weights @ (corners[:, 0] ** i * corners[:, 1] ** j) == pytest.approx(exact, rel=1e-12, abs=0)


def test_rule_fails_far_beyond_its_degree():
    """Check that the quadrature rule of degree 50 has a large error for the function x^2000. This function is
    concentrated closer to its corner than any point of the rule.
    """
    corners, weights = gohari.degree_50_rule()
    exact = 2 * np.exp(lgamma(2001) - lgamma(2003))
    assert abs(weights @ corners[:, 0] ** 2000 / exact - 1) > 0.5


@pytest.mark.parametrize("gamma", [3e-4, 6e-4])
def test_its_error_is_the_printed_floor(gamma):
    """Check that the quadrature rule of degree 50 gives a delta of 2.1e-4, although the exact delta is below 1e-6. The
    value 2.1e-4 is printed in section 2.4 with two digits.
    """
    assert gohari.delta_by_degree_50(gamma, **REGION) == pytest.approx(2.1e-4, abs=0.06e-4)


def test_a_gentle_density_is_integrated_exactly():
    """Check that the quadrature rule of degree 50 gives the exact delta for concentration 12 and eta = eta_bar = 1/4.
    In this case, the densities of Dirichlet(3, 3, 6) and Dirichlet(3, 6, 3) are polynomials of degree 9.
    """

    def above(a, g=0.05):
        factor = np.exp(lgamma(12) - sum(lgamma(v) for v in a))
        density = lambda y, x: factor * x ** (a[0] - 1) * y ** (a[1] - 1) * (1 - x - y) ** (a[2] - 1)  # noqa: E731
        return dblquad(density, g, 1 - 2 * g, g, lambda x: 1 - x - g, epsabs=1e-13)[0]

    expected = 1 - min(above((3, 3, 6)), above((3, 6, 3)))
    assert gohari.delta_by_degree_50(0.05, concentration=12.0, eta=0.25, eta_bar=0.25) == pytest.approx(
        expected, rel=1e-9
    )


def test_epsilon_by_hand():
    """Check the value of epsilon for two cells whose Dirichlet parameters change from 3 and 6 to 4 and 5. It is 12/12
    log((1 - g)/g) + log B(3, 6) - log B(4, 5), where B(3, 6)/B(4, 5) = 5/3.
    """
    about = {"concentration": 12.0, "eta": 0.25, "eta_bar": 0.25, "shift": 1 / 6}
    for gamma in (0.01, 0.2):
        wanted = np.log((1 - gamma) / gamma) + np.log(5 / 3)
        assert gohari.epsilon(gamma, **about) == pytest.approx(wanted, rel=1e-12)
        # three cells of W: 1 - 2 gamma
        three = np.log((1 - 2 * gamma) / gamma) + np.log(5 / 3)
        assert gohari.epsilon(gamma, **about, members=3) == pytest.approx(three, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shift": 1.0}, r"shift must be < 2 \(1 - eta_bar - eta\) = 1, got 1"),
        ({"gamma": 0.5}, "gamma must be < 1/2, got 0.5"),
        ({"gamma": 0.34, "members": 3}, "gamma must be < 1/3, got 0.34"),
        ({"eta": 0.4}, r"members\*eta \+ eta_bar must be <= 1, got 1.05"),
        ({"members": 1}, "members"),
        ({"gamma": 0.0}, "gamma"),
        ({"concentration": -1.0}, "concentration"),
    ],
)
def test_invalid_guarantees_are_rejected(changes, message):
    given = {"gamma": 0.1, "concentration": 12.0, "eta": 0.25, "eta_bar": 0.25, "shift": 0.1} | changes
    with pytest.raises(ValueError, match=message):
        gohari.epsilon(given.pop("gamma"), **given)


def test_limits_of_valid_guarantees(monkeypatch):
    """Check that parameter values just inside their limits are accepted, and that more than three cells are
    rejected.
    """
    law = {"concentration": 12.0, "eta": 0.25, "eta_bar": 0.25}
    assert np.isfinite(gohari.epsilon(0.499, **law, shift=0.999))
    assert gohari.epsilon(0.1, concentration=12.0, eta=0.375, eta_bar=0.25, shift=0.1) > 0
    monkeypatch.setattr(gohari, "_checked_some_below", lambda gamma, a: float(a[-1]))
    assert gohari.delta(0.3, **law, members=3) == 3  # the largest of 12 (1 - 3/4) and 12 x 1/4
    with pytest.raises(ValueError, match="members must be <= 3, got 4"):
        gohari.delta(0.1, concentration=12.0, eta=0.1, eta_bar=0.1, members=4)


def test_vertices_of_the_region():
    """Check the two vertices of the parameter region for k = 10, eta = 0.1 and eta_bar = 0.2, with two and three cells
    in W.
    """
    low, high = gohari.vertices(10.0, 0.1, 0.2, 2)
    assert (low.tolist(), high.tolist()) == (pytest.approx([1, 1, 8]), pytest.approx([1, 7, 2]))
    low, high = gohari.vertices(10.0, 0.1, 0.2, 3)
    assert (low.tolist(), high.tolist()) == (pytest.approx([1, 1, 1, 7]), pytest.approx([1, 1, 6, 2]))


@pytest.mark.parametrize("order", [2, 3, 5])
def test_the_product_rule_is_exact_to_its_degree(order):
    """Check that the product rule with `order` points per direction is exact for monomials up to degree 2 order - 1.
    The integral of x^i y^j over the triangle is i! j!/(i + j + 2)!.
    """
    points, weights = gohari._triangle_rule(order)
    assert points.shape == (order**2, 2)
    degree = 2 * order - 1
    for i in range(degree + 1):
        for j in range(degree + 1 - i):
            exact = np.exp(lgamma(i + 1) + lgamma(j + 1) - lgamma(i + j + 3))
            assert weights @ (points[:, 0] ** i * points[:, 1] ** j) == pytest.approx(exact, rel=1e-12)


def test_two_rules_agree_for_a_gentle_density():
    """Check the product rule against the rule of degree 50, for densities that are polynomials of degree 9. A product
    rule of degree 7, which has four points per direction, is not exact.
    """
    law = {"concentration": 12.0, "eta": 0.25, "eta_bar": 0.25}
    for gamma in (0.02, 0.1):
        other = gohari.delta_by_degree_50(gamma, **law)
        assert gohari.delta_by_product_rule(gamma, **law) == pytest.approx(other, rel=1e-9)
        assert gohari.delta_by_product_rule(gamma, **law, degree=9) == pytest.approx(other, rel=1e-9)
        assert abs(gohari.delta_by_product_rule(gamma, **law, degree=7) / other - 1) > 1e-9
    a = np.array([3.0, 4.0, 5.0])
    assert gohari._log_beta(a) == pytest.approx(lgamma(3) + lgamma(4) + lgamma(5) - lgamma(12))
