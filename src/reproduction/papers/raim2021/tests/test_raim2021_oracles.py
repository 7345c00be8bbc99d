"""Numbers derived by hand, beside the assertion, for what the other tests would let pass."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpmultinomial.mechanisms.laplace import Laplace
from dpmultinomial.mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial.posteriors import censored_normal
from dpmultinomial.posteriors import direct_sampling as ds
from dpmultinomial.seeding import stream
from reproduction.papers.raim2021 import beyond, coverage, geweke_level, gibbs, judgements, noise_tests, statistics_laws


def test_scales_of_the_designs(monkeypatch):
    """w = 4, n = 60, epsilon = 2. Ranges: (2 + 4 + 16)/2. Exact: (1 + 4/60 + 16 (1 - 1/60))/2.

    Separate: a third of epsilon each, 4, 16 and 2 (both counts together) over 2/3. Sums, half width 2: a record lost
    changes them by 1 + 2 + 4, over 2.
    """
    scales = []

    class Recorded(Laplace):
        def __post_init__(self):
            scales.append(self.scale)

    monkeypatch.setattr(beyond, "Laplace", Recorded)
    beyond.release_designs(
        n=60, lower=-2.0, upper=2.0, epsilons=[2.0], data_sets=1, draws=20, burn_in=0, rng=stream(1, "designs")
    )
    exact = (1 + 4 / 60 + 16 * (1 - 1 / 60)) / 2
    assert scales == pytest.approx([11.0] * 4 + [exact] * 4 + [6.0, 24.0, 3.0, 3.0] + [3.5] * 4)


def test_noises_have_equal_variance(monkeypatch):
    """A Laplace law of scale 16.988/2 = 8.494 has the standard deviation sqrt(2) 8.494 = 12.01233."""
    found = []
    right = ds.GaussianBase

    def recorded(sd):
        found.append(sd)
        return right(sd)

    monkeypatch.setattr(ds, "GaussianBase", recorded)
    monkeypatch.setattr(noise_tests, "p_value", lambda *_: 1.0)
    setting = {"z_mean": -21.27, "z_sse": 778.56, "mu": 0.0, "sigma2": 1.0, "count": 950}
    beyond.other_noises(delta_s=16.988, epsilon=2.0, draws=10, knots=10, bins=5, rng=stream(1, "noises"), **setting)
    assert found == pytest.approx([12.01233], abs=1e-5)


def test_pearson():
    """(10 - 20)^2/20 + 0 + (30 - 20)^2/20 = 10 with two degrees of freedom: p = exp(-5)."""
    found = noise_tests.chi_squared(np.array([10.0, 20, 30]), np.array([20.0, 20, 20]))
    assert found == pytest.approx(np.exp(-5))
    # cells that expect 3, 3 and 20, and a last one of 2, become 6 and 22: (9 - 6)^2/6 + (19 - 22)^2/22, one degree
    merged = noise_tests.chi_squared(np.array([5.0, 4, 18, 1]), np.array([3.0, 3, 20, 2]))
    assert merged == pytest.approx(stats.chi2.sf(9 / 6 + 9 / 22, 1))


def test_wilson():
    """Against scipy's own, and 0 of 40: [0, z^2/(40 + z^2)]."""
    for k in (0, 7, 40):
        theirs = stats.binomtest(k, 40).proportion_ci(0.95, method="wilson")
        assert coverage.wilson(k / 40, 40) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert coverage.wilson(0.0, 40)[1] == pytest.approx(1.96**2 / (40 + 1.96**2), rel=1e-4)


def test_median_interval():
    """Of ten values the second and the ninth: P(Bin(10, 1/2) <= 1) = 11/1024 < .025 < 56/1024 = P(.. <= 2)."""
    values = pd.Series([7.0, 1, 9, 3, 5, 2, 8, 4, 10, 6])
    assert coverage.median_interval(values) == (2, 9)
    assert coverage.median_interval(values.iloc[:6]) == (1, 9)  # 1/64 < .025: the ends of six
    assert coverage.median_interval(values.iloc[:1]) == (7, 7)
    rows = {"epsilon": 2.0, "method": "exact", "parameter": "mu", "truth": 0.0, "mean": 0.0, "diverged": False}
    row = coverage.coverage(pd.DataFrame(rows | {"lower": 0.0, "upper": values})).iloc[0]
    assert (row["length"], row["length_lower"], row["length_upper"]) == (5.5, 2, 9)


def test_worst_pair():
    """From [2, .., 2, -2] to [2, .., 2, -3]: count 1, mean 4/1000, sum of squares 16 (1 - 1/1000) = 15.984."""
    table = statistics_laws.privacy_loss(
        n=1000, lower=-2.0, upper=2.0, deltas=[16.988], epsilon=2.0, draws=10, rng=stream(1, "pair")
    )
    assert table["change"].iloc[0] == pytest.approx(1 + 0.004 + 15.984)
    assert table["largest_loss"].iloc[0] == pytest.approx(2.0)


def test_counts_in_turn_and_jointly():
    """Mean s_c 953.20 in turn and 950.60 jointly, total variation 0.184: an independent program of ours."""
    table = statistics_laws.counts_in_turn(
        z_mean=-21.27, z_sse=778.56, z_low=23.0, z_high=27.0, n=1000, lower=-2.0, upper=2.0,
        delta_s=16.988, epsilon=2.0, draws=1, rng=stream(1, "turn"),
    )  # fmt: skip
    assert table["s_c"] @ table["in_turn"] == pytest.approx(953.20, abs=0.005)
    assert table["s_c"] @ table["joint"] == pytest.approx(950.60, abs=0.005)
    assert np.abs(table["in_turn"] - table["joint"]).sum() / 2 == pytest.approx(0.184, abs=0.0006)


def test_level_of_the_joint_test():
    """Five moments at level 0.01 together: |z| below the 0.999 quantile of Student's t with 49 degrees, 3.265."""
    assert stats.t.isf(geweke_level.PASSED / 10, geweke_level.BATCHES - 1) == pytest.approx(3.265, abs=5e-4)


def test_least_p_value():
    assert judgements.jointly(pd.Series([0.02, 0.5])) == pytest.approx(0.04)
    assert judgements.jointly(pd.Series([0.6, 0.7])) == 1.0
    assert np.isnan(judgements.jointly(pd.Series([0.5, np.nan])))


def test_samplers_know_noise_of_scale_delta_over_epsilon(monkeypatch):
    """Delta_s = 6 and epsilon = 2: every chain is told 3, and so is the mechanism that releases."""
    scales, releases = [], []
    chain, release = censored_normal.chain, CensoredStatistics.release

    def told(*given, **stated):
        if np.ndim(stated["scale"]) == 0:  # the posterior without privacy has next to none, of four scales
            scales.append(stated["scale"])
        return chain(*given, **stated)

    def made(self, x, *, epsilon, sensitivity, rng):
        releases.append(sensitivity / epsilon)
        return release(self, x, epsilon=epsilon, sensitivity=sensitivity, rng=rng)

    monkeypatch.setattr(censored_normal, "chain", told)
    monkeypatch.setattr(CensoredStatistics, "release", made)
    setting = {"z_mean": 0.4, "z_sse": 20.0, "z_low": 1.0, "z_high": 2.0, "n": 30, "lower": -2.0, "upper": 2.0}
    setting |= {"delta_s": 6.0, "epsilon": 2.0, "mu0": 0.0, "var0": 100.0, "shape0": 1.0, "rate0": 1.0}
    gibbs.gibbs_traces(methods=["exact"], sweeps=2, **setting, rng=stream(8, "scales"))
    gibbs.gibbs_posteriors(methods=["exact"], chains=2, draws=20, burn_in=1, bins=3, **setting, rng=stream(8, "scales"))
    public = {"n": 30, "lower": -2.0, "upper": 2.0, "delta_s": 6.0, "epsilons": [2.0]}
    coverage.simulate(2, methods=["exact"], draws=5, burn_in=1, **public, rng=stream(8, "scales"))
    assert scales == [3.0] * 5
    assert releases == [3.0] * 2


def test_intervals_hold_95_percent_of_the_draws():
    """Of draws 0, 1, .., 1000 the 2.5 and 97.5 % points are 25 and 975; the mean is 500."""
    draws = np.column_stack([np.arange(1001.0), 3 * np.arange(1001.0), np.full(1001, np.nan)])
    first, second = coverage._rows(4, 2.0, "exact", draws, True)
    assert (first["lower"], first["upper"], first["mean"]) == pytest.approx((25, 975, 500))
    assert (second["lower"], second["upper"], second["truth"]) == pytest.approx((75, 2925, 1))
    assert (first["parameter"], second["parameter"], first["truth"], first["diverged"]) == ("mu", "sigma2", 0.0, True)


def test_coverage_by_hand():
    """Of [-1, 1], [1, 2], [-3, 0] and [-5, -1] two hold the truth 0, the ends count; lengths 2, 1, 3, 4."""
    ends = {"lower": [-1.0, 1.0, -3.0, -5.0], "upper": [1.0, 2.0, 0.0, -1.0]}
    about = {
        "epsilon": 2.0,
        "method": "exact",
        "parameter": "mu",
        "truth": 0.0,
        "diverged": [True, False, False, False],
    }
    row = coverage.coverage(pd.DataFrame(ends | about | {"mean": [0.0, 1.0, 2.0, 5.0]})).iloc[0]
    assert (row["coverage"], row["length"], row["diverged"], row["bias"]) == (0.5, 2.5, 0.25, 2.0)
    assert row["coverage_se"] == pytest.approx(0.25)
    assert row["bias_se"] == pytest.approx(np.sqrt((4 + 1 + 0 + 9) / 3 / 4))
    assert (row["data_sets"], row["variant"]) == (4, "corrected")
