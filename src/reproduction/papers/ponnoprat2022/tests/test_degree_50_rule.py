"""Check that the rule of degree 50 is exact up to its degree, and that its error on the peaked density is the printed
floor.
"""

from math import lgamma

import numpy as np
import pytest
from scipy.integrate import dblquad

from reproduction.papers.ponnoprat2022.algorithms import gohari

# N = 147, d = 6, r = 0.97, lambda = 2: alpha = 1 + 4 r = 4.88, k = 147 r + 6 alpha = 171.87
REGION = {"concentration": 171.87, "eta": 4.88 / 171.87, "eta_bar": 4 * 4.88 / 171.87}


def test_rule_integrates_every_monomial_of_its_degree():
    """Check that the mean of x^i y^j over the triangle x, y >= 0, x + y <= 1 is 2 i! j!/(i + j + 2)! (Dirichlet's
    integral).
    """
    corners, weights = gohari.degree_50_rule()
    assert corners.shape == (453, 3)
    assert corners.min() > 0
    assert weights.min() > 0
    np.testing.assert_allclose(corners.sum(axis=1), 1, rtol=1e-14)
    for i in range(51):
        for j in range(51 - i):
            exact = 2 * np.exp(lgamma(i + 1) + lgamma(j + 1) - lgamma(i + j + 3))
            assert weights @ (corners[:, 0] ** i * corners[:, 1] ** j) == pytest.approx(exact, rel=1e-12)


def test_rule_fails_far_beyond_its_degree():
    """Check that the rule fails for x^2000, which is concentrated closer to its corner than any point of the rule."""
    corners, weights = gohari.degree_50_rule()
    exact = 2 * np.exp(lgamma(2001) - lgamma(2003))
    assert abs(weights @ corners[:, 0] ** 2000 / exact - 1) > 0.5


@pytest.mark.parametrize("gamma", [3e-4, 6e-4])
def test_its_error_is_the_printed_floor(gamma):
    """Check that the rule gives 2.1e-4, as printed in section 2.4 with two digits, where the exact delta is
    below 1e-6.
    """
    assert gohari.delta_by_degree_50(gamma, **REGION) == pytest.approx(2.1e-4, abs=0.06e-4)


def test_a_gentle_density_is_integrated_exactly():
    """Check that the rule is exact for concentration 12 and eta = eta_bar = 1/4, where Dirichlet(3, 3, 6) and (3, 6, 3)
    are polynomials of degree 9.
    """

    def above(a, g=0.05):
        factor = np.exp(lgamma(12) - sum(lgamma(v) for v in a))
        density = lambda y, x: factor * x ** (a[0] - 1) * y ** (a[1] - 1) * (1 - x - y) ** (a[2] - 1)  # noqa: E731
        return dblquad(density, g, 1 - 2 * g, g, lambda x: 1 - x - g, epsabs=1e-13)[0]

    expected = 1 - min(above((3, 3, 6)), above((3, 6, 3)))
    assert gohari.delta_by_degree_50(0.05, concentration=12.0, eta=0.25, eta_bar=0.25) == pytest.approx(
        expected, rel=1e-9
    )
