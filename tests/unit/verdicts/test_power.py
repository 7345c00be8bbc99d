"""Tests that a stated detection limit is detected in nine cases of ten."""

import numpy as np
import pytest
from scipy import stats

from dpmultinomial._seeding import stream
from reproduction.verdicts import draw_tests, power


def test_a_z_test_sees_what_moves_it_far_enough():
    """Check level 0.05: z must be 1.96, and in nine cases of ten 1.96 + 1.2816 = 3.2415 standard errors."""
    assert power.normal(100, 0.05) == pytest.approx(0.032415, rel=1e-4)
    assert power.normal(0, 0.05) == np.inf


def test_kolmogorov_s_test_refuses_what_it_sees():
    """Check normal draws moved by d: distance d/sqrt(2 pi) per unit. Of 200 samples, at least 170 are rejected."""
    seen = power.kolmogorov(1 / np.sqrt(2 * np.pi), 2000, 0.001)
    rng = stream(1, "kolmogorov")
    refused = sum(stats.kstest(rng.normal(seen, 1, 2000), "norm").pvalue < 0.001 for _ in range(200))
    assert 170 <= refused <= 200


def test_a_chi_squared_test_refuses_what_it_sees():
    """Check ten cells, one larger by x and one smaller: noncentrality n (2 x^2/10). Of 400, 0.9 +- 0.015 rejected."""
    even = np.full(10, 100.0)
    tilted = even.copy()
    tilted[:2] += (100, -100)
    seen = power.chi_squared(power.noncentrality(even, tilted), 9, 0.001)
    truth = (even + seen * (tilted - even)) / 1000
    rng = stream(2, "chi")
    refused = sum(stats.chisquare(rng.multinomial(1000, truth)).pvalue < 0.001 for _ in range(400))
    assert 0.84 * 400 <= refused <= 0.96 * 400  # four standard errors


def test_words_say_percent_or_a_factor():
    words = power.words({"noise scale": 0.0183, "rate": 1.5, "prior": np.inf})
    assert words == "noise scale by 1.8 %; rate by a factor of 2.5; prior by no factor below 10"


def test_a_histogram_is_judged_against_the_curve_as_it_is_drawn():
    """Check ten bins of a flat density: 1,000 draws fit; a curve or bars that are a tenth too high do not."""
    left, x = np.linspace(0, 0.9, 10), np.linspace(0, 1, 101)
    heights = np.array([1.1, 0.9, 1.0, 1.0, 1.05, 0.95, 1.0, 1.0, 1.02, 0.98])
    assert draw_tests.masses(left, x, np.ones(101)) == pytest.approx(np.full(10, 0.1))
    assert draw_tests.histogram(left, heights, x, np.ones(101), 1000) > 0.5
    assert draw_tests.histogram(left, heights, x, np.full(101, 1.1), 10_000) < 1e-4
    assert draw_tests.histogram(left, 1.1 * heights, x, np.ones(101), 10_000) < 1e-4
    assert draw_tests.histogram(left, heights, x, np.where(x == 0.5, np.nan, 1.0), 1000) == 0


def test_neighbouring_draws():
    """Check four products of -1/4: z = 12 (-1)/sqrt(4) = -6. Repeating one of 20 draws moves z by 0.05 sqrt(30,000)."""
    assert draw_tests.serial_p_value([0.0, 1.0, 0.0, 1.0, 0.0]) == pytest.approx(2 * stats.norm.sf(6), rel=1e-12)
    assert np.isnan(draw_tests.serial_p_value([0.1, 0.9]))
    rng = stream(3, "neighbours")
    found = np.array([draw_tests.serial_p_value(rng.random(50)) for _ in range(4000)])
    assert abs((found < 0.1).mean() - 0.1) < 4.5 * np.sqrt(0.09 / 4000)  # false alarm 7e-6
    u = rng.random(30_000)
    u[19::20] = u[18::20]
    z = stats.norm.isf(draw_tests.serial_p_value(u) / 2)
    assert z == pytest.approx(0.05 * np.sqrt(30_000), abs=4.5)  # one standard deviation is about 1
