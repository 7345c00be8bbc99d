"""Tests of sensitivities and of the division of epsilon, against all neighbours on a grid."""

import numpy as np
import pytest

from dpmultinomial._mechanisms.sufficient_statistics import SHARES, CensoredStatistics
from dpmultinomial._seeding import stream

LIMITS = [(-2.0, 2.0), (0.0, 0.3), (0.0, 1.5), (10.0, 20.0)]


def changes(mechanism, n, sums, inside):
    of = mechanism.sums_of if sums else mechanism.of
    return np.array([np.abs(of(x) - of(y)) for x, y in mechanism._neighbours(n, inside)])


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("sums", [False, True])
def test_cost_and_sensitivities_are_those_of_all_neighbours(limits, sums):
    """Check extremal neighbours, with records at the ends (and, for sums, one inside, which the grid of 15 points
    misses by 2 %)."""
    mechanism = CensoredStatistics(lower=limits[0], upper=limits[1])
    rng = stream(1, "cost", *(str(v) for v in limits))
    scales = [np.ones(4), *(10.0 ** rng.uniform(-1.5, 1.5, (12, 4)) * mechanism.sensitivities(3, sums=sums))]
    for n, inside in ((2, 15 if sums else 4), (3, 3), (4, 2)):
        found = changes(mechanism, n, sums, inside)
        if n > 2 or not sums:
            assert found.max(axis=0) == pytest.approx(mechanism.sensitivities(n, sums=sums), rel=1e-9)
        for scale in scales:
            brute, exact = (found / scale).sum(axis=1).max(), mechanism.epsilon(n, scale, sums=sums)
            assert brute <= exact * (1 + 1e-9)
            if not sums or inside == 15:
                assert brute == pytest.approx(exact, rel=0.02 if sums else 1e-9)


@pytest.mark.parametrize("limits", LIMITS)
def test_unit_scales_cost_the_l1_sensitivity(limits):
    mechanism = CensoredStatistics(lower=limits[0], upper=limits[1])
    for n in (1, 2, 7, 1000):
        assert mechanism.epsilon(n, 1.0) == pytest.approx(mechanism.sensitivity(n), rel=1e-14)
        assert mechanism.epsilon(n, 2.0, sums=True) == pytest.approx(mechanism.sums_sensitivity() / 2, rel=1e-14)


@pytest.mark.parametrize("sums", [False, True])
def test_scales_spend_epsilon_and_keep_the_proportions(sums):
    mechanism = CensoredStatistics(lower=0.0, upper=100_000.0)
    found = mechanism.scales(5000, epsilon=0.7, sums=sums)
    assert mechanism.epsilon(5000, found, sums=sums) == pytest.approx(0.7, rel=1e-13)
    share = mechanism.sensitivities(5000, sums=sums) / found
    assert share / share.sum() == pytest.approx(np.array(SHARES), rel=1e-12)
    assert share.sum() >= 0.7  # composition would allow no more than this
    assert mechanism.scales(5000, epsilon=0.7, shares=(4.0, 3.0, 1.5, 1.5), sums=sums) == pytest.approx(
        found, rel=1e-12
    )


def test_releases_have_the_scale_of_each_statistic():
    """Check that the mean absolute noise of 4,000 releases is the scale within 4.5 standard errors (each scale/63):
    false alarm 3e-5."""
    mechanism, x = CensoredStatistics(lower=0.0, upper=10.0), np.linspace(-1, 12, 50)
    scale = mechanism.scales(50, epsilon=1.0, sums=True)
    rng = stream(2, "releases")
    z = np.array([mechanism.release(x, epsilon=1.0, shares=SHARES, sums=True, rng=rng) for _ in range(4000)])
    away = np.abs(z - mechanism.sums_of(x)).mean(axis=0)
    assert np.all(np.abs(away / scale - 1) < 4.5 / 4000**0.5)


@pytest.mark.parametrize(("call", "match"), [
    (lambda m: m.epsilon(0, 1.0), "n must be >= 1"),
    (lambda m: m.epsilon(5, (1.0, 2.0)), "scale must be one number or 4"),
    (lambda m: m.epsilon(5, (1.0, 2.0, 0.0, 1.0)), "scale must be finite and > 0"),
    (lambda m: m.sensitivities(1), "n must be >= 2"),
    (lambda m: m.scales(5, epsilon=-1.0), "epsilon must be finite and > 0"),
    (lambda m: m.scales(5, epsilon=1.0, shares=(1, 1, 0, 1)), "shares must be finite and > 0"),
    (lambda m: m.release([1.0], epsilon=1.0, shares=1.0, sensitivity=2.0, rng=stream(1, "x")), "not both"),
])  # fmt: skip
def test_bad_input_is_named(call, match):
    with pytest.raises(ValueError, match=match):
        call(CensoredStatistics(lower=-2.0, upper=2.0))
