"""Check the tables that the functions for this paper return, the curves of the figures on the slides of Raim (2021),
and the rules for the configuration of this paper. The expected values are properties, independently written formulas,
and values derived by hand next to each assertion.
"""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._seeding import stream
from reproduction import evidence, style
from reproduction.jobs import making
from reproduction.papers.raim2021 import (
    agreement,
    beyond,
    coverage,
    draws,
    errata,
    figure_checks,
    figures,
    gibbs,
    method,
    statistics_laws,
    validation,
)
from reproduction.papers.raim2021.algorithms import bernstein_sheldon, censored_normal
from reproduction.papers.raim2021.algorithms import direct_sampling as ds

SETTING = {"z_mean": -21.27, "z_sse": 778.56, "mu": 0.0, "sigma2": 1.0, "count": 950}


def test_step_functions_lie_above_the_area_and_improve_with_n():
    table = method.step_functions(z=0.5, sigma2=1.0, scale=1.0, knots=[3, 12])
    area = table[table["kind"] == "area"]
    bounds = []
    for n in (3, 12):
        steps = table[table["knots"] == n].sort_values("u")
        height = steps["y"].to_numpy()[np.searchsorted(steps["u"], area["u"], side="right") - 1]
        assert (height >= area["y"] - 1e-12).all()
        bounds.append(steps["bound"].iloc[0])
    assert bounds[1] < bounds[0] / 2


def test_accepted_candidates_lie_below_the_area():
    table = method.accept_reject(z=0.5, sigma2=1.0, scale=1.0, knots=6, candidates=400, rng=stream(1, "ar"))
    area = table[table["kind"] == "area"]
    for kind, sign in (("accepted", 1), ("rejected", -1)):
        rows = table[table["kind"] == kind]
        assert (sign * (np.interp(rows["u"], area["u"], area["y"]) - rows["y"]) > -1e-3).all()


def test_density_of_x_given_u_has_probability_one():
    table = method.weighted_density(z=3.0, sigma2=1.0, scale=1.0, u=0.3)
    for curve in ("conditional", "target"):
        rows = table[table["curve"] == curve]
        assert np.trapezoid(rows["y"], rows["x"]) == pytest.approx(1, abs=2e-3)


def test_log_density_of_u_has_probability_one():
    table = method.descent(**SETTING, scale=8.494)
    for _, rows in table[table["curve"] == "density"].groupby("target"):
        assert np.trapezoid(rows["y"], rows["log_u"]) == pytest.approx(1, abs=5e-3)


def test_histogram_and_exact_density_agree():
    table = draws.xi_sse(**SETTING, deltas=[22.0], epsilon=2.0, draws=4000, knots=25, bins=20, rng=stream(2, "xi"))
    for _, rows in table.groupby("variant"):
        bars, curve = rows[rows["kind"] == "histogram"], rows[rows["kind"] == "density"]
        middle = np.interp(bars["x"] + bars["bin_width"] / 2, curve["x"], curve["y"])
        # standard error of the highest bar 0.00015, plus the curvature
        assert np.abs(bars["y"] - middle).max() < 0.0015


def test_errata_show_what_they_say():
    table = errata.errata(sweeps=150, rng=stream(3, "errata")).set_index("number")["evidence"]
    assert len(table) == 8
    assert "0.003" in table[1]
    assert "0.19" in table[8]
    with pytest.raises(ValueError, match="erratum must be one of 1, 2"):
        evidence.show(errata.ERRATA, 9, rng=stream(3, "errata"), size=10)


def test_coverage_blocks_do_not_depend_on_shards():
    settings = {"epsilons": [2.0], "methods": ["exact"], "n": 40, "lower": -2.0, "upper": 2.0, "delta_s": 16.988}
    settings |= {"draws": 20, "burn_in": 2, "replications": 5, "block": 2}
    size = {"root_seed": 1, "names": ("raim2021", "coverage")}
    whole = making.simulate(coverage.simulate, settings, **size)
    parts = [making.simulate(coverage.simulate, settings, **size, shard=s, shards=2) for s in (1, 2)]
    pd.testing.assert_frame_equal(whole, pd.concat(parts, ignore_index=True))
    found = coverage.coverage(whole)
    assert set(found["method"]) == {"exact", "without privacy"}
    assert (found["data_sets"] == 5).all()


def test_sums_are_the_better_release():
    size = {"n": 500, "lower": -2.0, "upper": 2.0, "epsilons": [1.0], "data_sets": 2, "draws": 1500, "burn_in": 300}
    table = beyond.release_designs(**size, rng=stream(4, "designs"))
    sd = table[table["parameter"] == "mu"].groupby("design")["sd"].mean()
    assert sd["without privacy"] < sd["sums released"] < sd["exact sensitivity"] / 2


def test_the_first_sweeps_are_those_of_every_method():
    setting = {"z_mean": 0.4, "z_sse": 20.0, "z_low": 1.0, "z_high": 2.0, "n": 30, "lower": -2.0, "upper": 2.0}
    setting |= {"delta_s": 6.0, "epsilon": 2.0, "mu0": 0.0, "var0": 100.0, "shape0": 1.0, "rate0": 1.0}
    methods = ["as_written", "exact"]
    table = gibbs.gibbs_traces(methods=methods, sweeps=7, **setting, rng=stream(6, "traces"))
    assert table.groupby("method")["sweep"].max().to_dict() == dict.fromkeys(methods, 7)
    size = {"chains": 2, "draws": 50, "burn_in": 5, "bins": 8}
    found = gibbs.gibbs_posteriors(methods=methods, **size, **setting, rng=stream(6, "posteriors"))
    assert set(found[found["kind"] == "summary"]["statistic"]) >= {"mean", "ess", "rhat", "diverged"}


@pytest.mark.parametrize("target", ["xi_mean", "xi_sse"])
def test_numbers_of_knots_do_not_lie_on_each_other(target):
    table = getattr(draws, target)(
        **SETTING, deltas=[16.988], epsilon=2.0, draws=200, knots=25, bins=20, rng=stream(4, "knots")
    )
    with style.applied():
        figure = getattr(figures, target)(table)
        figure.draw_without_rendering()
    for axis in figure.axes[1:]:
        places = [t.get_window_extent() for t in axis.texts if t.get_text().isdigit()]
        assert len(places) > 5
        assert not [1 for a, b in combinations(places, 2) if a.overlaps(b)]


NORMAL = {"z": 0.5, "sigma2": 2.0, "scale": 1.5}


def curve(table, name, column="curve"):
    rows = table[table[column] == name]
    return rows["x"].to_numpy(), rows["y"].to_numpy()


def area(u):
    """Return the probability P(A_u) that the relative weight exceeds u, under Laplace noise of scale 1.5. The weight
    function is normal with mean 1/2 and variance 2.
    """
    reach = np.sqrt(-4 * np.log(u))
    law = stats.laplace(scale=1.5)
    return law.cdf(0.5 + reach) - law.cdf(0.5 - reach)


def test_weighted_density():
    """Check the plotted curves for the base distribution Laplace(1.5) and the weight exp(-(x - 1/2)^2/4). The interval
    A_u is the set in which the weight is above u = 0.3.
    """
    table = method.weighted_density(**NORMAL, u=0.3)
    x, base = curve(table, "base")
    assert base == pytest.approx(stats.laplace.pdf(x, scale=1.5), rel=1e-12)
    assert (x[0], x[-1]) == pytest.approx((-4.5, 0.5 + 3.5 * 2**0.5))
    assert curve(table, "weight")[1] == pytest.approx(np.exp(-((x - 0.5) ** 2) / 4), rel=1e-9)
    product = base * np.exp(-((x - 0.5) ** 2) / 4)
    target = curve(table, "target")[1]
    assert target / target.max() == pytest.approx(product / product.max(), rel=1e-9)
    inside, density = curve(table, "conditional")
    reach = np.sqrt(-4 * np.log(0.3))
    assert (inside[0], inside[-1]) == pytest.approx((0.5 - reach, 0.5 + reach))
    assert density == pytest.approx(stats.laplace.pdf(inside, scale=1.5) / area(0.3), rel=1e-9)
    assert curve(table, "level")[1].tolist() == [0.3, 0.3]


def test_step_functions_have_the_area_and_start_at_one():
    table = method.step_functions(**NORMAL, knots=[5])
    rows = table[table["kind"] == "area"]
    assert rows["y"].to_numpy()[:-1] == pytest.approx(area(rows["u"].to_numpy()[:-1]), rel=1e-9)
    steps = table[table["kind"] == "step"].sort_values("u")
    inner = steps[steps["u"] < 1]
    assert inner["y"].to_numpy()[1:] == pytest.approx(area(inner["u"].to_numpy()[1:]), rel=1e-9)
    assert set(steps["order"]) >= {0, 1, 2}


def test_candidates_are_uniform_under_the_steps():
    """Check that candidate points are uniformly distributed under the step function: the height relative to the step is
    a uniform variable. A step of height h and width du has the probability h du.
    """
    table = method.accept_reject(**NORMAL, knots=4, candidates=4000, rng=stream(1, "candidates"))
    steps = table[table["kind"] == "step"].sort_values("u")
    u, h = steps["u"].to_numpy(), steps["y"].to_numpy()
    both = table[table["kind"].isin(["accepted", "rejected"])]
    piece = np.searchsorted(u, both["u"], side="right") - 1
    assert len(both) == 4000
    share = both["y"].to_numpy() / h[piece]
    assert stats.kstest(share, "uniform").pvalue > 1e-4
    mass = np.diff(u) * h[:-1]
    expected = mass / mass.sum() * 4000
    counts = np.bincount(piece, minlength=len(mass))[: len(mass)]
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected) + 1).all()
    accepted = (both["kind"] == "accepted").to_numpy()
    assert accepted.tolist() == (both["y"] < area(both["u"])).tolist()


def test_descent_is_the_area_against_log_u():
    table = method.descent(**SETTING, scale=8.494)
    rows = table[(table["target"] == "xi_mean") & (table["curve"] == "area")]
    log_u, noise = rows["log_u"].to_numpy(), stats.laplace(scale=8.494)
    reach = np.sqrt(-2 * log_u / 950)
    wanted = noise.cdf(-21.27 + reach) - noise.cdf(-21.27 - reach)
    assert rows["y"].to_numpy() == pytest.approx(wanted, rel=1e-6, abs=1e-12)
    assert (rows["log_u"].iloc[-1], len(rows)) == (pytest.approx(-1e-4), 800)
    singles = table[table["y"].isna()].set_index(["target", "curve"])["log_u"]
    assert rows["log_u"].iloc[0] == pytest.approx(4 * singles["xi_mean", "u_L machine"])
    assert singles["xi_mean", "u_L machine"] < singles["xi_mean", "u_L efficient"] < singles["xi_mean", "u_H"] <= 0


def test_intervals_of_the_weight_functions():
    """Check that the normal weight function equals u at both ends of the interval for level u. The ends are z - mu -+
    sqrt(-2 log(u)/950).
    """
    table = method.weight_functions(**SETTING, levels=[0.5, 0.1])
    ends = table[(table["target"] == "xi_mean") & (table["curve"] == "interval")]
    reach = np.sqrt(-2 * np.log([0.5, 0.1]) / 950)
    wanted = np.column_stack([-21.27 - reach, -21.27 + reach]).ravel()
    assert ends["xi"].to_numpy() == pytest.approx(wanted)
    assert ends["y"].tolist() == [0.5, 0.5, 0.1, 0.1]


def test_numbers_of_the_sampler():
    """Check that observed rejection rates are proportions of candidates with binomial standard errors, and that no
    standard error is given for an adaptive sampler.
    """
    table = draws.sampler_accuracy(
        **SETTING, deltas=[16.988], epsilon=2.0, draws=400, knots=[10], rng=stream(4, "accuracy")
    )
    tried = 400 + table["rejected"]
    assert table["observed_rate"].to_numpy() == pytest.approx(table["rejected"] / tried)
    fixed = table[table["rule"] != "efficient, adaptive"]
    rate = fixed["exact_rate"]
    assert fixed["mc_se"].to_numpy() == pytest.approx(np.sqrt(rate * (1 - rate) / (400 + fixed["rejected"])))
    assert table.loc[table["rule"] == "efficient, adaptive", "mc_se"].isna().all()
    written = table["rule"].str.startswith("as on the slides")
    assert (table["variant"] == np.where(written, "as_written", "corrected")).all()


def test_bars_and_steps_of_the_targets():
    table = draws.xi_mean(**SETTING, deltas=[16.988], epsilon=2.0, draws=300, knots=12, bins=15, rng=stream(4, "bars"))
    for _, rows in table.groupby("variant"):
        bars = rows[rows["kind"] == "histogram"]
        width = bars["bin_width"].iloc[0]
        assert np.diff(bars["x"]) == pytest.approx(width)
        assert (bars["y"] * width).sum() == pytest.approx(1)
        log_u = rows.loc[rows["kind"] == "area", "x"].to_numpy()
        assert (np.diff(log_u) > 0).all()
        assert log_u[-1] <= 0
        first = rows.loc[rows["kind"] == "step", "x"].min()
        assert log_u[0] == pytest.approx(first)


def test_exact_laws_in_closed_form():
    """Check the noise distribution for a released value z, a normal weight N(z, 1/950) and a Laplace base distribution.
    For z far below 0, the noise is normally distributed with mean z + 1/(950 b).
    """
    row = draws.exact_laws(deltas=[16.988], epsilon=2.0, **SETTING).set_index("target").loc["xi_mean"]
    mean, sd = -21.27 + 1 / (950 * 8.494), 950**-0.5
    assert (row["mean"], row["sd"], row["mode"]) == pytest.approx((mean, sd, mean), rel=1e-6)
    ends = stats.norm(mean, sd).ppf([0.025, 0.5, 0.975])
    assert [row["q025"], row["q500"], row["q975"]] == pytest.approx(ends, rel=1e-9)


def test_histograms_of_other_noises_close_at_zero():
    table = beyond.other_noises(
        delta_s=16.988, epsilon=2.0, draws=200, knots=12, bins=6, rng=stream(1, "others"), **SETTING
    )
    for _, rows in table[table["kind"] == "histogram"].groupby(["target", "noise"]):
        heights, edges = rows["y"].to_numpy(), rows["x"].to_numpy()
        assert heights[-1] == 0
        assert (heights[:-1] * np.diff(edges)).sum() == pytest.approx(1)
    numbers = table[table["kind"] == "number"].set_index(["target", "noise", "statistic"])["y"]
    for target in ("xi_mean", "xi_sse"):
        for noise in ("Laplace", "Gaussian"):
            rejected = numbers[target, noise, "rejected"]
            assert numbers[target, noise, "observed_rate"] == pytest.approx(rejected / (rejected + 200))


def test_whole_draws_against_their_law():
    """Check that integer draws from the tested distribution pass the goodness-of-fit test, and that draws from another
    distribution fail this test. Draws that are not integers have a p-value of 0.
    """
    weight = SimpleNamespace(log_relative=lambda x: -((x - 3.0) ** 2) / 8)
    noise = beyond.Noise(2.0, whole=True)
    k = np.arange(-40, 41)
    mass = np.exp(-((k - 3.0) ** 2) / 8 - np.abs(k) / 2)
    x = stream(3, "whole").choice(k, size=3000, p=mass / mass.sum()).astype(float)
    assert beyond.p_value(x, weight, noise) > 1e-3
    assert beyond.p_value(x + 1, weight, noise) < 1e-6
    assert beyond.p_value(x + 0.5, weight, noise) == 0


def test_the_detection_limit_of_whole_draws_is_detected_in_nine_cases_of_ten():
    """Check the minimum detectable effect of the chi-squared test of integer draws, given as a relative change of the
    noise scale. If the noise scale is larger by this relative change, the noncentrality of the chi-squared test gives a
    power of 0.9.
    """
    weight = SimpleNamespace(log_relative=lambda x: -((x - 3.0) ** 2) / 8)
    x = stream(3, "sees").normal(2.0, 1.5, 100_000)
    seen = beyond.sees(x, weight, beyond.Noise(2.0, whole=True), 1e-4)
    k = np.arange(-60, 61)

    def counts(width):
        mass = np.exp(-((k - 3.0) ** 2) / 8 - np.abs(k) / width)
        return 100_000 * mass / mass.sum()

    expected, wider = counts(2.0), counts(2.0 * (1 + seen))
    large = expected >= 5
    noncentrality = np.sum((wider - expected)[large] ** 2 / expected[large])
    limit = stats.chi2.isf(1e-4, large.sum() - 1)
    assert stats.ncx2.sf(limit, large.sum() - 1, noncentrality) == pytest.approx(0.9, abs=0.04)
    assert 0.005 < seen < 0.2


def test_a_missing_bound_is_no_bound():
    about = {
        "rule": "efficient",
        "target": "xi_mean",
        "delta_s": 8.0,
        "knots": 10,
        "mc_se": 0.01,
        "ks_p": 0.5,
        "serial_p": 0.5,
    }
    about |= {"seen": 0.02}
    table = pd.DataFrame(
        [about | {"observed_rate": 0.1, "exact_rate": 0.1, "bound": b, "total_variation": 0.0} for b in (0.3, np.nan)]
    )
    table = pd.concat([table, table.head(1).assign(rule="efficient, adaptive")])
    rows = {row["quantity"]: row["ours"] for row in agreement.sampler(table)}
    assert np.isnan(rows["the rejection probability is at most its bound"])
    assert np.isnan(rows["the total variation distance is at most its bound"])


def test_first_values_of_the_chains_alternate_around_zero_and_one():
    """Check the starting points of mu and sigma2 in four chains. The starting points of mu are 0, -1/2, 1/2 and -1, and
    the starting points of sigma2 are 1, 1, 1.5 and 1/1.5.
    """
    assert gibbs._starts(4) == [pytest.approx(pair) for pair in ((0, 1), (-0.5, 1), (0.5, 1.5), (-1, 1 / 1.5))]


def test_limits_stand_in_order():
    from reproduction.config import checks, config
    from reproduction.paper import discover

    papers = discover()
    right = config.check({"raim2021": {}}, checks.schema_of(papers), {})["raim2021"]
    assert list(validation.mistakes(right)) == []
    names = [name for name, part in right.items() if isinstance(part, dict) and {"lower", "upper"} <= set(part)]
    assert names
    for name in names:
        wrong = right | {name: right[name] | {"lower": 2.0, "upper": 2.0}}
        assert [path for path, _ in validation.mistakes(wrong) if path.startswith(name)]


def test_a_joint_p_value_is_at_most_one(monkeypatch):
    """Check that the combined p-value of two panels is min(1, 2 p), where p is the smaller p-value (Bonferroni). The
    p-values 0.9 and 0.8 give 1, and the p-values 0.3 and 0.8 give 0.6.
    """
    panels = pd.DataFrame({"variant": ["as_written", "corrected"], "delta_s": 1.0, "p": [0.9, 0.8], "kind": "none"})
    monkeypatch.setattr(figure_checks, "_bars", lambda name, of: (of["p"].iloc[0], ("scale", 0.1)))
    assert next(figure_checks._target("xi_mean", panels))["ours"] == 1
    panels.loc[0, "p"] = 0.3
    assert next(figure_checks._target("xi_mean", panels))["ours"] == pytest.approx(0.6)


def test_scales_of_the_designs(monkeypatch):
    """Check the noise scales of the release designs for a censoring interval of width w = 4, n = 60 records and epsilon
    = 2. The design with the ranges has scale (2 + 4 + 16)/2, and the design with the exact sensitivity has scale (1 +
    4/60 + 16 (1 - 1/60))/2.

    With separate scales, a third of epsilon is used for each of mean, sum of squares and counts: 4, 16 and 2 (both
    counts together) divided by 2/3. For sums with half-width 2, a record that leaves changes them by 1 + 2 + 4, divided
    by 2.
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
    """Check that all noise distributions have the standard deviation of Laplace noise of scale 16.988/2 = 8.494. This
    standard deviation is sqrt(2) times 8.494, or 12.01233.
    """
    found = []
    right = ds.GaussianBase

    class Recorded(right):
        def __init__(self, sd):
            found.append(sd)
            super().__init__(sd)

    monkeypatch.setattr(ds, "GaussianBase", Recorded)
    monkeypatch.setattr(beyond, "p_value", lambda *_: 1.0)
    monkeypatch.setattr(beyond, "sees", lambda *_: 0.01)
    setting = {"z_mean": -21.27, "z_sse": 778.56, "mu": 0.0, "sigma2": 1.0, "count": 950}
    beyond.other_noises(delta_s=16.988, epsilon=2.0, draws=10, knots=10, bins=5, rng=stream(1, "noises"), **setting)
    assert found == pytest.approx([12.01233], abs=1e-5)


def test_pearson():
    """Check the p-value of Pearson's chi-squared test if the statistic is (10 - 20)^2/20 + 0 + (30 - 20)^2/20 = 10.
    With two degrees of freedom, the p-value is exp(-5).
    """
    found = beyond.chi_squared(np.array([10.0, 20, 30]), np.array([20.0, 20, 20]))
    assert found == pytest.approx(np.exp(-5))
    # cells with expected counts 3, 3 and 20, and a last cell with 2, become 6 and 22: (9 - 6)^2/6 + (19 - 22)^2/22, one
    # degree of freedom
    merged = beyond.chi_squared(np.array([5.0, 4, 18, 1]), np.array([3.0, 3, 20, 2]))
    assert merged == pytest.approx(stats.chi2.sf(9 / 6 + 9 / 22, 1))


def test_wilson():
    """Check Wilson's interval for a proportion against SciPy and against a calculation by hand. For 0 of 40, the
    interval is [0, z^2/(40 + z^2)].
    """
    for k in (0, 7, 40):
        theirs = stats.binomtest(k, 40).proportion_ci(0.95, method="wilson")
        assert coverage.wilson(k / 40, 40) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert coverage.wilson(0.0, 40)[1] == pytest.approx(1.96**2 / (40 + 1.96**2), rel=1e-4)


def test_chains_of_the_baseline_are_put_one_after_the_other():
    z, model = (3.0, 900.0, 10.0, 12.0), {"n": 1000, "lower": -2.0, "upper": 2.0, "scale": 8.0}
    size = {"draws": 40, "burn_in": 3}
    found = coverage._four_chains("bernstein_sheldon", z, model, {**size, "rng": stream(5, "baseline")})
    chains = bernstein_sheldon.gibbs(
        z, **model, burn_in=3, draws=10, prior=censored_normal.VAGUE, rng=stream(5, "baseline")
    )
    assert found.tolist() == [list(draw) for chain in chains for draw in chain]


def test_median_interval():
    """Check that the interval for the median of ten values extends from the second to the ninth value. The reason is
    that P(Bin(10, 1/2) <= 1) = 11/1024 < .025 < 56/1024 = P(Bin(10, 1/2) <= 2).
    """
    values = pd.Series([7.0, 1, 9, 3, 5, 2, 8, 4, 10, 6])
    assert coverage.median_interval(values) == (2, 9)
    # 1/64 < .025: the limits are the smallest and largest of six values
    assert coverage.median_interval(values.iloc[:6]) == (1, 9)
    assert coverage.median_interval(values.iloc[:1]) == (7, 7)
    rows = {"epsilon": 2.0, "method": "exact", "parameter": "mu", "truth": 0.0, "mean": 0.0, "diverged": False}
    row = coverage.coverage(pd.DataFrame(rows | {"lower": 0.0, "upper": values})).iloc[0]
    assert (row["length"], row["length_lower"], row["length_upper"]) == (5.5, 2, 9)


def test_worst_pair():
    """Check the change in the statistics if the last record of the data set [2, .., 2, -2] is replaced by -3. The count
    changes by 1, the mean by 4/1000, and the sum of squares by 16 (1 - 1/1000) = 15.984.
    """
    table = statistics_laws.privacy_loss(
        n=1000, lower=-2.0, upper=2.0, deltas=[16.988], epsilon=2.0, draws=10, rng=stream(1, "pair")
    )
    assert table["change"].iloc[0] == pytest.approx(1 + 0.004 + 15.984)
    assert table["largest_loss"].iloc[0] == pytest.approx(2.0)


def test_counts_in_turn_and_jointly():
    """Check that the mean of s_c, the number of uncensored records, is 953.20 for counts drawn sequentially and 950.60
    for counts drawn jointly. The total variation distance is 0.184. These values come from an independently written
    program.
    """
    table = statistics_laws.counts_in_turn(
        z_mean=-21.27, z_sse=778.56, z_low=23.0, z_high=27.0, n=1000, lower=-2.0, upper=2.0,
        delta_s=16.988, epsilon=2.0, draws=1, rng=stream(1, "turn"),
    )  # fmt: skip
    assert table["s_c"] @ table["in_turn"] == pytest.approx(953.20, abs=0.005)
    assert table["s_c"] @ table["joint"] == pytest.approx(950.60, abs=0.005)
    assert np.abs(table["in_turn"] - table["joint"]).sum() / 2 == pytest.approx(0.184, abs=0.0006)


def test_normalising_constants_are_densities_of_the_release():
    """Check the log of the two densities of a released mean and sum of squares of four records from N(0, 1), each with
    Laplace noise of scale 2. The mean is N(0, 1/4), and the sum of squares is chi-squared with 3 degrees of freedom.
    """
    wanted = 0.0
    for law, z, x in (
        (stats.norm(scale=0.5), 0.7, np.linspace(-6, 6, 40_001)),
        (stats.chi2(3), 5.0, np.linspace(0, 90, 400_001)),
    ):
        wanted += np.log(np.trapezoid(law.pdf(x) * stats.laplace.pdf(z - x, scale=2), x))
    assert statistics_laws._log_psi(4, 0.7, 5.0, 2.0) == pytest.approx(wanted, abs=1e-6)


def test_the_shift_of_a_target_is_that_of_its_closed_form():
    """Check the derivative of the distribution function with respect to log sigma2, by a difference of 0.1 %."""
    x = np.linspace(-22.0, -20.5, 3001)
    up, down = (ds.exact_normal(-21.27, mu=0.0, sigma2=s, count=950, scale=8.0).cdf(x) for s in (1.001, 0.999))
    assert draws._shift("xi_mean", 8.0, **SETTING) == pytest.approx(np.abs(up - down).max() / 0.002, rel=0.02)


def test_level_of_the_joint_test():
    """Check the critical value of |z| in a joint test of five moments at level 0.01. It is 3.265, the 0.999 quantile of
    Student's t distribution with 49 degrees of freedom.
    """
    assert stats.t.isf(gibbs.PASSED / 10, gibbs.BATCHES - 1) == pytest.approx(3.265, abs=5e-4)


def test_least_p_value():
    assert agreement.jointly(pd.Series([0.02, 0.5])) == pytest.approx(0.04)
    assert agreement.jointly(pd.Series([0.6, 0.7])) == 1.0
    assert np.isnan(agreement.jointly(pd.Series([0.5, np.nan])))


def test_samplers_know_noise_of_scale_delta_over_epsilon(monkeypatch):
    """Check that every chain and the mechanism use the noise scale 3 if the sensitivity is 6 and epsilon is 2."""
    scales, releases = [], []
    chain, release = censored_normal.chain, CensoredStatistics.release

    def told(*given, **stated):
        if np.ndim(stated["scale"]) == 0:  # the posterior without privacy has nearly no noise, with four scales
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
    """Check that the interval computed from the draws 0, 1, .., 1000 is [25, 975], and that the mean is 500."""
    draws = np.column_stack([np.arange(1001.0), 3 * np.arange(1001.0), np.full(1001, np.nan)])
    first, second = coverage._rows(4, 2.0, "exact", draws, True)
    assert (first["lower"], first["upper"], first["mean"]) == pytest.approx((25, 975, 500))
    assert (second["lower"], second["upper"], second["truth"]) == pytest.approx((75, 2925, 1))
    assert (first["parameter"], second["parameter"], first["truth"], first["diverged"]) == ("mu", "sigma2", 0.0, True)


def test_coverage_by_hand():
    """Check the coverage and the lengths of four intervals if the true value is 0. Two of [-1, 1], [1, 2], [-3, 0] and
    [-5, -1] contain the true value 0 (ends included), and the lengths are 2, 1, 3 and 4.
    """
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


def test_edges_of_whole_numbers_lie_between_them():
    """Check the bin edges of a histogram of the values 0, .., 1000 that shows the middle 99.9 % of the values. This
    middle part is the range from .5 to 999.5. For integers, the bins begin at -1/2 and have width round(999/100) = 10.
    For real numbers, the bins have equal widths.
    """
    edges = beyond._edges(np.arange(1001.0), 100, True)
    assert edges[:3].tolist() == [-0.5, 9.5, 19.5]
    assert edges[-1] >= 999.5
    assert beyond._edges(np.arange(1001.0), 5000, True)[:2].tolist() == [-0.5, 0.5]
    assert beyond._edges(np.arange(1001.0), 2, False) == pytest.approx([0.5, 500, 999.5])


def test_laws_of_the_statistics_where_nothing_is_censored():
    """Check the moments of the statistics of samples of size n = 50 from N(1, 4) without censoring. The mean has
    expectation 1 and sd 2/sqrt(50), and the sum of squares has expectation 4 x 49 and sd 4 sqrt(2 x 49).
    """
    table = statistics_laws.statistics_laws(
        mu=1.0, sigma2=4.0, n=50, lower=-99.0, upper=101.0, data_sets=300, rng=stream(3, "laws")
    )
    for name, mean, sd in (("s_mean", 1.0, 2 / 50**0.5), ("s_sse", 196.0, 4 * 98**0.5)):
        rows = table[table["statistic"] == name]
        assert rows["law_mean"].to_numpy() == pytest.approx([mean] * 2, rel=1e-6)
        assert rows["law_sd"].to_numpy() == pytest.approx([sd] * 2, rel=1e-6)
        assert rows["mean"].to_numpy() == pytest.approx([mean] * 2, abs=4 * sd / 300**0.5)
        assert rows["sd"].to_numpy() == pytest.approx([sd] * 2, rel=0.2)  # 4 of its standard errors, 1/sqrt(600)
        # the distance between the distribution functions is phi(1) for 100 % of the sd, and phi(0) mean/sd for the mean
        apart = stats.norm.pdf(1) if name == "s_mean" else stats.norm.pdf(0) * mean / sd
        needed = stats.kstwo.isf(1e-4 / 2, 300) + stats.norm.ppf(0.9) / (2 * 300**0.5)
        assert rows["seen"].to_numpy() == pytest.approx([needed / apart] * 2, rel=1e-6)
        assert (rows["p_value"] > 1e-3).all()


def test_laws_of_the_statistics_where_a_side_is_censored():
    """Check the moments of the statistics of samples from N(1, 4) that are censored below 1 and above 5. The limit 5 is
    two standard deviations above the mean. The expected counts are n/2 below and n (1 - Phi(2)) above, and the other
    moments are truncated normal moments.
    """
    table = statistics_laws.statistics_laws(
        mu=1.0, sigma2=4.0, n=400, lower=1.0, upper=5.0, data_sets=400, rng=stream(3, "cut")
    ).set_index(["statistic", "variant"])
    q, cut = stats.norm.sf(2), stats.truncnorm(0, 2, loc=1, scale=2)
    keys = [("s_high", "as_written"), ("s_low", "as_written"), ("s_mean", "corrected"), ("s_sse", "corrected")]
    high, low, mean, sse = (table.loc[key] for key in keys)
    assert (high["law_mean"], high["law_sd"]) == pytest.approx((400 * q, (400 * q * (1 - q)) ** 0.5))
    # a binomial(400, 1/2) variable in two steps
    assert (low["law_mean"], low["law_sd"]) == pytest.approx((200, 10), rel=0.01)
    inside = 400 * (0.5 - q)
    assert (mean["law_mean"], mean["law_sd"]) == pytest.approx((cut.mean(), (cut.var() / inside) ** 0.5), rel=0.01)
    spread = inside * (cut.expect(lambda x: (x - cut.mean()) ** 4) - cut.var() ** 2)  # variance of a sum of squares
    # plus the variance of the number of records, nearly Poisson minus the difference to a binomial
    spread += inside * cut.var() ** 2
    assert sse["law_mean"] == pytest.approx((inside - 1) * cut.var(), rel=0.01)
    assert sse["law_sd"] ** 2 == pytest.approx(spread - inside**2 / 400 * cut.var() ** 2, rel=0.05)
    for row in (high, low, mean, sse):
        assert row["mean"] == pytest.approx(row["law_mean"], abs=4 * row["law_sd"] / 20)
        assert row["p_value"] > 1e-3


def test_geweke_of_one_set_of_limits():
    """Check the p-values of Geweke's test for a table with one of the two sets of censoring limits, and for a table
    with both sets. Without the slides' limits, only the wide limits are tested. With both sets, the p-value of each row
    is four times the upper tail probability of the largest |z|, for two moments and two sides.
    """
    wide = pd.DataFrame({"method": "as_written", "limits": "[-99, 99]", "z": [-1.5, 1.0], "se": 0.01, "expected": 1.0})
    cut = wide.assign(limits="[-2, 2]", z=[0.0, 5.0])
    others = wide.assign(method="exact", z=9.0)
    mild, grave = (4 * stats.t.sf(z, 49) for z in (1.5, 5.0))
    first, second = agreement.gibbs(pd.concat([others, wide]))
    assert (first["variant"], second["ours"]) == ("not_run", pytest.approx(mild))
    first, second = agreement.gibbs(pd.concat([others, cut, wide]))
    assert (first["ours"], second["ours"]) == pytest.approx((grave, mild))


def test_margins_of_the_mechanism():
    """Check the margins by which the claims about the mechanism hold. The sensitivities 6 and 24 at widths 2 and 4 grow
    as the power 2 of the width, and the exact sensitivity 6 is compared with 5.5 by brute force.
    """
    table = pd.DataFrame({
        "lower": [-1.0, -2.0, -2.0], "upper": [1.0, 2.0, 2.0], "n": [3, 3, 1000], "exact": [6.0, 20.0, 24.0],
        "brute_force": [5.5, 20.0, np.nan], "range_bound": [9.0, 30.0, 30.0],
    })  # fmt: skip
    loss = pd.DataFrame({
        "epsilon": [2.0, 2.0], "largest_loss": [1.5, 1.0], "observed_largest": [1.0, 1.75], "noise_p_value": [0.3, 0.2],
        "noise_sees": [0.01, 0.015],
    })  # fmt: skip
    found = {row["quantity"]: row for row in agreement.mechanism({"sensitivity": table, "privacy_loss": loss})}
    assert found["Delta_s"]["ours"] == 24
    assert found["Delta_s is the largest change over all neighbours"]["ours"] == pytest.approx(1e-9 - 0.5)
    assert found["the sum of the ranges is an upper bound of Delta_s"]["ours"] == 3
    assert found["Delta_s grows without bound with the limits"]["ours"] == pytest.approx(2)
    assert found["the mechanism is epsilon-DP"]["ours"] == pytest.approx(0.25)
    assert found["the noise is Laplace"]["ours"] == pytest.approx(0.4)
    assert found["the noise is Laplace"]["sees"] == "noise scale by 1.5 %"
    one = table[table["lower"] == -1]
    found = {row["quantity"]: row for row in agreement.mechanism({"sensitivity": one, "privacy_loss": loss})}
    assert [found[q]["variant"] for q in ("Delta_s", "Delta_s grows without bound with the limits")] == ["not_run"] * 2


def test_margins_of_the_noise_that_is_ignored():
    """Check the margin of the claim that the naive analysis, which ignores the noise, has a low coverage at the
    smallest epsilon. The larger of two coverages is .55 with an interval of width 2 x .0784, so the margin is .95 - .55
    with standard error .04.
    """
    about = {"method": "naive", "data_sets": 40}
    rows = [(1.0, 0.2), (1.0, 0.55), (2.0, 0.9)]
    table = pd.DataFrame([about | {"epsilon": e, "coverage": c} for e, c in rows])
    table = table.assign(coverage_lower=table["coverage"] - 0.0784, coverage_upper=table["coverage"] + 0.0784)
    (row,) = agreement.ignoring(table)
    assert (row["ours"], row["mc_se"]) == pytest.approx((0.4, 0.04))
    assert "40 data sets" in row["note"]
    assert agreement.ignoring(table.assign(method="exact"))[0]["variant"] == "not_run"


def test_margins_of_the_sampler():
    """Check the margins by which the claims about the sampler hold. The two targets have the bounds .3 and .5, the
    rejection rates .1 and .45, and the z scores (.1 - .1)/.01 = 0 and (.48 - .45)/.01 = 3.
    """
    about = {"rule": "efficient", "delta_s": 8.0, "knots": 10, "seen": 0.02}
    rows = [
        {
            "target": "xi_mean",
            "observed_rate": 0.1,
            "exact_rate": 0.1,
            "bound": 0.3,
            "total_variation": 0.0,
            "ks_p": 0.3,
            "serial_p": 0.1,
        },
        {
            "target": "xi_sse",
            "observed_rate": 0.48,
            "exact_rate": 0.45,
            "bound": 0.5,
            "total_variation": 0.1,
            "ks_p": 0.8,
            "serial_p": 0.2,
        },
    ]
    table = pd.DataFrame([about | {"mc_se": 0.01} | row for row in rows])
    adaptive = table.assign(rule="efficient, adaptive", mc_se=np.nan, observed_rate=[0.05, 0.35])
    found = {row["quantity"]: row for row in agreement.sampler(pd.concat([table, adaptive]))}
    assert found["the rejection probability is at most its bound"]["ours"] == pytest.approx(0.05 + 1e-9)
    assert found["the total variation distance is at most its bound"]["ours"] == pytest.approx(0.3 + 1e-9)
    assert found["draws of xi_mean are exact"]["ours"] == pytest.approx(0.4)  # four tests, smallest p-value 0.1
    worse = agreement.sampler(pd.concat([table, adaptive]).assign(ks_p=0.07))
    assert [row["ours"] for row in worse if "are exact" in row["quantity"]] == pytest.approx([0.28, 0.28])
    assert found["rejections have their exact probability"]["ours"] == pytest.approx(stats.chi2.sf(9, 2))
    # rates that are .05 and .1 smaller, with standard errors .01 and .01 of their mean
    better = found["adding rejected u improves the envelope"]
    assert (better["ours"], better["mc_se"]) == pytest.approx((0.075, 0.01 / 2**0.5))
    assert found["small rectangles are better than equal spacing, N = 25"]["variant"] == "not_run"


def test_margins_of_the_rules_at_25_knots():
    """Check the margins by which the claims about the rules for placing 25 knots hold. The bounds of equal spacing are
    100 and 1000 times the bounds of small rectangles, so the margin is log10(100) = 2. The rejection rate of the
    slides' rule is reported.
    """
    rows = [(rule, target, bound * times, rate) for rule, times, rate in (
        ("efficient", 1.0, 0.1), ("equal spacing", 100.0, 0.2), ("as on the slides", 5.0, 0.3))
        for target, bound in (("xi_mean", 0.01), ("xi_sse", 0.002))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["rule", "target", "bound", "exact_rate"]).assign(knots=25, delta_s=8.0)
    table.loc[(table["rule"] == "equal spacing") & (table["target"] == "xi_sse"), "bound"] = 2.0
    ratio, cost, mean, sse = agreement._rules(table)
    assert (ratio["ours"], cost["ours"], mean["ours"], sse["ours"]) == pytest.approx((2, 24, 0.3, 0.3))
    assert [row["variant"] for row in agreement._rules(table.assign(knots=12))] == ["not_run"] * 4
