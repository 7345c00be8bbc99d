"""Test small cases against results derived by hand: the distributions of the algorithm, the pooled tests, the coverage,
and the margins by which claims hold or fail.
"""

import re
from fractions import Fraction
from math import comb, exp, log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom, chi2, kstest, norm

from dpmultinomial._posteriors.swapping import swapped_table
from dpmultinomial._seeding import stream
from reproduction.papers.pan2023 import (
    abc,
    agreement,
    algorithm,
    coverage,
    drawn_formulas,
    figure_checks,
    phi_by_rate,
    phi_density,
    privacy,
    settings,
)
from reproduction.verdicts import draw_tests


def test_the_law_of_three_records():
    # K of 3 is never 1: P(0) = q^3/c, P(2) = 3 p^2 q/c, P(3) = p^3/c with c = 1 - 3 p q^2; p = 1/5:
    # c = 1 - 48/125 = 77/125, so 64/77, 12/77 over three exchanges, 1/77 over two cycles
    law = algorithm.exact_law([0, 0, 0], "abc", rate=0.2)
    wanted = {"abc": 64, "bac": 4, "cba": 4, "acb": 4, "bca": Fraction(1, 2), "cab": Fraction(1, 2)}
    assert {"".join(k): v for k, v in law.items()} == pytest.approx({k: float(v) / 77 for k, v in wanted.items()})


def test_the_law_of_two_strata_is_a_product_and_single_records_stay():
    # a stratum of two records: exchanged with probability p^2/(p^2 + q^2) = 1/10 at p = 1/4
    law = algorithm.exact_law(["x", "y", "x", "y", "z"], "abcde", rate=0.25)
    wanted = {"abcde": 0.81, "cbade": 0.09, "adcbe": 0.09, "cdabe": 0.01}
    assert {"".join(k): v for k, v in law.items()} == pytest.approx(wanted)


def test_outcomes_that_look_alike_are_added():
    # values 1, 1, 0: the six arrangements of the records are equal in pairs; p = 1/5 as above
    law = algorithm.exact_law([0, 0, 0], (1, 1, 0), rate=0.2)
    assert law == pytest.approx({(1, 1, 0): 68 / 77, (0, 1, 1): 4.5 / 77, (1, 0, 1): 4.5 / 77})


def test_the_table_of_the_algorithm_expects_its_law():
    table = algorithm.algorithm(runs=200, rate=0.2, records=5, rng=stream(7, "a"))
    sums = table.groupby("check")[["simulated", "expected"]].sum().drop("rules")
    assert sums["expected"].to_numpy() == pytest.approx(200)
    assert sums["simulated"].eq(200).all()
    selected = table[table["check"] == "selected of 5"].set_index("outcome")["expected"]
    none = 1 - 5 * 0.2 * 0.8**4
    assert selected["1"] == 0
    assert selected["2"] == pytest.approx(200 * comb(5, 2) * 0.2**2 * 0.8**3 / none)
    printed = table[table["printed"].astype(bool)].set_index("check")["outcome"]
    assert printed["record example"] == "0, 1, 1, 1, 0"
    assert printed["worked example, Sect"] == "Zoe Kim, Ava Chen, John Smith, Leo Park"
    # four permutations of the example's V1 = (1, 1, 0, 1, 0) give the printed (0, 1, 1, 1, 0) with two moved records:
    # records 1 and 3 exchanged; the exact probability is that of the enumeration of all 120
    law = algorithm.exact_law([0] * 5, (1, 1, 0, 1, 0), rate=0.2)
    assert sum(law.values()) == pytest.approx(1)
    assert len(law) == comb(5, 2)


def test_pooled_chi_squared_by_hand():
    # 60, 30, 10 of 100, where 50, 40, 10 are expected: 100/50 + 100/40 + 0 = 4.5 with two degrees of freedom
    assert draw_tests.pooled([60, 30, 10], [50, 40, 10], 100) == pytest.approx(exp(-2.25))
    # the rare outcomes 4 and 6 form one cell of 10: (10 - 6)^2/6 with (90 - 94)^2/94, one degree of freedom
    statistic = 16 / 94 + 16 / 6
    assert draw_tests.pooled([90, 4, 6], [94, 3, 3], 100) == pytest.approx(chi2.sf(statistic, 1))
    # 20 rare outcomes, where .01 are expected in total: P(Bin(100, 1e-4) >= 20) = C(100, 20) 1e-80, to 1 %; two such
    # outcomes pass
    assert draw_tests.pooled([80, 10, 10], [99.99, 0.005, 0.005], 100) == pytest.approx(
        comb(100, 20) * 1e-80, rel=0.02, abs=0
    )
    assert draw_tests.pooled([98, 2, 0], [99.0, 0.5, 0.5], 100) == 1
    # 3 outcomes outside the list, where 1 is expected: pooled with the smallest cell, 20 + 1 compared with 23
    assert draw_tests.pooled([77, 20], [79, 20], 100) == pytest.approx(chi2.sf(4 / 79 + 4 / 21, 1))
    assert draw_tests.pooled([90, 10, 0], [90, 10, 0], 100) == 1
    assert draw_tests.pooled([90, 9, 1], [90, 10, 0], 100) == 0  # an impossible outcome was counted
    assert draw_tests.pooled([90, 9], [90, 10], 100) == 0  # one outcome of 100 is impossible
    assert draw_tests.pooled([np.nan, 50], [50, 50], 100) == 0
    # a sum that is rounded up, in its last digit or in the last four, leaves no probability outside
    for size in (np.nextafter(100.0, 101.0), 100 + 1e-12, 100 - 1e-12):
        assert draw_tests.pooled([60, 30, 10], [50, 40, 10], size) == pytest.approx(exp(-2.25))
    # draws that count as 100.5 trials: 20.5 rare outcomes are between 20 of 100 and 21 of 101 in rarity
    rare = [draw_tests.pooled([size - r, r], [size - 0.01, 0.01], size) for size, r in ((100, 20), (100.5, 20.5))]
    assert binom.sf(20, 101, 1e-4) < rare[1] < rare[0] == pytest.approx(binom.sf(19, 100, 1e-4), rel=1e-9, abs=0)
    assert np.isnan(draw_tests.pooled([], [], 0))


def test_coverage_counts_what_lies_between_the_tails():
    pits = pd.DataFrame(
        {"theta": "t", "total": 9, "rate": 0.1, "method": "naive", "pit": [0.04, 0.06, 0.5, 0.94, 0.96]}
    )
    given = {"thetas": [], "totals": [], "rates": [], "aware_up_to": 0, "aware_every": 1}
    row = coverage.coverage(pits, **given, level=0.9).iloc[0]
    assert (row["coverage"], row["size"]) == (0.6, 5)  # between .05 and .95
    assert row["mc_se"] == pytest.approx(sqrt(0.6 * 0.4 / 5))
    assert coverage.coverage(pits, **given, level=0.95).iloc[0]["coverage"] == 1


def test_checks_of_the_sampler_by_hand():
    row = abc._check(0.1, "a", 12.0, 9.0, 1.5)
    assert (row["z"], row["simulated"], row["exact"]) == (2.0, 12.0, 9.0)
    # the Kolmogorov distribution function at 1.3581 is 95 %
    assert abc._gap(0.1, "a", 1.3581 / 20, 0.0, 400)["p_value"] == pytest.approx(0.05, abs=1e-5)


def test_the_error_of_a_median_of_draws():
    # without a swap, phi has the distribution under a single Dirichlet; the median of m draws has the error 1/(2 f sqrt
    # m)
    setting = {"thetas": [[0.25] * 4], "totals": [400], "rates": [0.0], "swaps": 900, "tables": 10}
    rows = phi_density.phi_draws(**setting, rng=stream(7, "m")).iloc[0]
    # log phi is nearly normal with variance 4 psi'(101) = 4/100.5, symmetric about 0: f(0) = 1/sqrt(2 pi variance)
    assert rows["exact"] == pytest.approx(1, abs=1e-12)
    assert rows["mc_se"] == pytest.approx(0.5 / 30 * sqrt(2 * np.pi * 4 / 100.5), rel=5e-3)
    assert np.isnan(rows["p_tables"])


def test_draws_of_the_conjugate_posterior_by_hand(monkeypatch):
    """Check the five tests of 500 draws from Dirichlet(1, 1, 1, 1). The sum of the logs has the mean -22/3, which is 4
    psi(1) - 4 psi(4), and the variance 4 psi'(1) - 16 psi'(4) = 196/9 - 2 pi^2. Every cell has the distribution
    function 1 - (1 - x)^3.
    """
    monkeypatch.setattr(abc, "_DRAWS", 500)
    found = abc._draws_tested(np.zeros(4, dtype=np.int64), stream(1, "conjugate"))
    theta = settings.posterior_draws(np.zeros((500, 4), dtype=np.int64), stream(1, "conjugate"))
    sd = sqrt(196 / 9 - 2 * np.pi**2)
    z = (np.log(theta).sum(axis=1).mean() + 22 / 3) / sd * sqrt(500)
    p_values = [kstest(theta[:, i], lambda x: 1 - (1 - x) ** 3).pvalue for i in range(4)] + [2 * norm.sf(abs(z))]
    assert found["p value of draws"] == pytest.approx(min(1.0, 5 * min(p_values)))
    assert found["sees concentration"] == pytest.approx((norm.isf(1e-5) + norm.ppf(0.9)) / (sd * sqrt(500)))


def test_the_detection_limit_of_swapped_tables_is_that_of_twelve_tests():
    """Check two records that are exchanged with probability e = p^2/(p^2 + q^2), which is 1/10 at p = 1/4. The level is
    1e-4, divided by 12 tests, by two tests of a row and by two sides. The default run has 6 + 5 tests in a row.
    """
    original = np.array([[1, 0], [0, 1]])
    less = 0.2475**2 / (0.2475**2 + 0.7525**2)  # p smaller by 1 %
    information = 1000 * ((0.1 - less) ** 2 / 0.1 + (0.1 - less) ** 2 / 0.9) / 0.01**2
    p_value, sees = phi_density.tables_tested(np.repeat([0, 1], [100, 900]), original, 0.25)
    assert p_value == pytest.approx(1)
    assert sees == pytest.approx((norm.isf(1e-4 / 12 / 4) + norm.ppf(0.9)) / sqrt(information))


def test_odds_ratio_and_names():
    assert settings.odds_ratio([[1, 2], [3, 4]]) == pytest.approx(4 / 6)
    assert settings.name_of([0.7, 0.1, 0.1, 0.1]) == "(0.7, 0.1, 0.1, 0.1)"


def audits(**columns):
    return pd.DataFrame(
        {"size": [10, 10], "rate": [0.1, 0.3], "per_unit": [1.0, 2.0], "per_exchange": [2.0, 4.0]} | columns
    )


def test_margins_of_the_theorem():
    epsilon = pd.DataFrame(
        {"size": 10, "rate": [0.1, 0.3, 0.1, 0.3, 0.8, 0.8],
         "variant": ["as_written", "as_written", "corrected", "corrected", "as_written", "corrected"],
         "epsilon": [4.0, 3.0, 3.5, 2.9, 0.0, 9.0]}
    )  # fmt: skip
    found = {row["quantity"]: row["ours"] for row in agreement.theorem(audits(epsilon=[3.0, 3.5]), epsilon)}
    assert list(found.values()) == pytest.approx([1.5, -0.5, 0.1, 0.6])  # rates above 1/2 are dropped


def test_margins_of_single_swaps():
    table = pd.DataFrame({
        "theta": "t", "total": 100, "rate": 0.5, "data": ["fixed", "random", "random"], "closer": [0.5, 0.5, 0.6],
        "farther": [0.2, 0.3, 0.2], "mc_se": 0.0, "size": [0, 400, 400],
    })  # fmt: skip
    more, none = agreement._single_swaps(table)
    assert (more["ours"], none["ours"]) == pytest.approx((0.2, -0.2))
    assert more["mc_se"] == pytest.approx(sqrt((0.8 - 0.04) / 400))  # variance of closer - farther of one table


def test_margins_of_trends_and_uniformity():
    # one table of 100 with shares (.4, .1, .1, .4): from rate 0 to .5, the last cell goes from 40 to 35, and the median
    # of phi from 16 to 4; the other theta is independent and does not change
    def rows(theta, rate, median, s11, sd):
        kinds = {"median": median, "mean_s11": s11, "sd_s11": sd}
        return pd.DataFrame(
            {"theta": theta, "total": 100, "rate": rate, "kind": list(kinds), "x": np.nan, "y": list(kinds.values())}
        )

    dependent, independent = "(0.4, 0.1, 0.1, 0.4)", "(0.25, 0.25, 0.25, 0.25)"
    table = pd.concat([
        rows(dependent, 0.0, 16.0, 40.0, 0.0), rows(dependent, 0.5, 4.0, 35.0, 2.0),
        rows(independent, 0.0, 1.0, 25.0, 0.0), rows(independent, 0.5, 1.0, 25.0, 3.0),
    ])  # fmt: skip
    astray = pd.DataFrame({
        "theta": "t", "total": 100, "rate": 0.5, "data": ["fixed", "random"], "closer": 0.5, "farther": 0.2,
        "mc_se": 0.0, "size": [0, 400],
    })  # fmt: skip
    found = [row["ours"] for row in agreement.results(table, astray)][:5]
    assert found[0] == pytest.approx(log(4) - 0.05)  # changes of the log median by -log 4 and 0
    assert found[1] == 0  # the table with independent columns does not approach independence
    assert found[2] == pytest.approx(0)  # its entropy does not increase
    assert found[3] == 0
    assert found[4] == 2.0


def test_densities_against_histograms_by_hand():
    # four bins of a density 2x on [0, 1]: masses 1/16, 3/16, 5/16, 7/16 of 160 draws
    grid = np.linspace(0, 1, 41)
    counts = np.array([14.0, 30.0, 50.0, 66.0])
    statistic = 16 / 10 + 16 / 70
    found = draw_tests.histogram([0, 0.25, 0.5, 0.75], counts / (160 * 0.25), grid, 2 * grid, 160)
    assert found == pytest.approx(chi2.sf(statistic, 3))


def test_the_least_of_several_p_values():
    assert figure_checks.bonferroni(pd.Series([0.5, 0.01, 0.9])) == pytest.approx(0.03)
    assert figure_checks.bonferroni(pd.Series([0.6, 0.9])) == 1
    assert np.isnan(figure_checks.bonferroni(pd.Series([np.nan, 0.9])))


def test_curves_of_the_privacy_figure():
    table = privacy.privacy_loss(sizes=[10], audit_sizes=[2], audit_rates=[0.1])
    exchange = table[table["kind"] == "exchange"].set_index("variant")["y"]
    # two records, p = .1: exchanged or not with odds p^2 to q^2, so the loss is 2 ln 9; epsilon = ln 3 + ln 9
    assert exchange["corrected"] == pytest.approx(2 * log(9))
    assert exchange["as_written"] == pytest.approx(log(27))
    assert exchange["twice"] == pytest.approx(2 * log(27))
    left = table[table["kind"] == "association"]["x"]
    assert left.min() == pytest.approx(0.4400614, abs=6e-8)  # lambda_1 of ten records at p = 1/2, by enumeration


def test_every_tenth_data_set_of_many_records_gets_an_interval_that_knows_the_swap():
    given = {"thetas": [[0.7, 0.1, 0.1, 0.1]], "totals": [120], "rates": [0.3], "aware_up_to": 120, "aware_every": 10}
    table = coverage.simulate(12, rng=stream(7, "c"), **given, level=0.9)
    assert table["method"].tolist() == ["naive", "swap-aware", *["naive"] * 10, "swap-aware", "naive"]


def test_the_note_on_iterations_is_there_only_if_they_are_not_the_slides():
    # the five million iterations of the slides have no note; larger or smaller numbers have a note
    checks = pd.DataFrame({"check": ["accepted"], "rate": [0.3]})  # at another rate, nothing else is judged
    summary = pd.DataFrame({"rate": [0.3], "statistic": ["acceptance"], "value": [0.1]})
    for iterations, note in ((5e6, ""), (6e6, "This run made 6,000,000 iterations."), (4e6, "4,000,000")):
        posterior = pd.DataFrame(
            {"quantity": "", "kind": ["iterations", "number accepted"], "x": np.nan, "y": [iterations, 7.0]}
        )
        first, *others = figure_checks.accepted(posterior, checks, summary)
        assert (first["ours"], note in first["note"], first["note"] == "") == (iterations, True, note == "")
        assert {row["variant"] for row in others} == {"not_run"}


@pytest.mark.parametrize("astray", [None, *(f"{what} theta{i}" for what in ("mean", "sd") for i in (1, 2, 3, 4))])
def test_every_moment_of_the_conjugate_posterior_counts(astray):
    """Check that an error in any moment of the conjugate posterior is detected. For the counts 3, 4, 5, 6, Dirichlet(4,
    5, 6, 7) has the sum 22, means a/22 and variances a (22 - a)/(22^2 23).
    """
    values = {"weight of [3, 4, 5, 6]": 1.0}
    for i, a in enumerate((4, 5, 6, 7), 1):
        values |= {f"mean theta{i}": a / 22, f"sd theta{i}": sqrt(a * (22 - a) / 23) / 22}
    values |= {astray: values[astray] + 1e-6} if astray else {}
    values |= {"p value of draws": 0.4, "draws": 1000.0, "sees concentration": 0.05}
    table = pd.DataFrame({"rate": 0.0, "statistic": list(values), "value": list(values.values())})
    row, drawn = agreement._posterior(table)
    assert (row["ours"] > 0) == (astray is None)
    assert (drawn["ours"], drawn["sees"]) == (0.4, "prior's concentration by 5 %")


def test_bars_are_as_many_as_asked_and_cover_the_curve():
    original, last = [0.4, 0.1, 0.1, 0.4], np.array([38, 40, 41] * 20)
    table = phi_density._panel(original, 100, last, 0.5, 10, 16, stream(7, "bars"))
    bars, curve = (table[table["kind"] == kind] for kind in ("swapped", "swapped exact"))
    assert len(bars) == 16
    width = np.diff(bars["x"])
    assert width == pytest.approx(width[0])
    ends = bars["x"].iloc[0], bars["x"].iloc[-1] + width[0]
    assert ends == pytest.approx((curve["x"].min(), curve["x"].max()))
    assert 0.97 < (bars["y"] * width[0]).sum() <= 1  # the ends are the 0.1 and 99.5 % points of three distributions
    single = table[table["x"].isna()].set_index("kind")["y"]
    # margins are halves: 25 are expected under independence, and the count is 40; 38, 40 and 41 leave 13/15, 1 and
    # 16/15
    assert single["attenuation"] == pytest.approx((13 + 15 + 16) / 45)
    assert single["phi"] == pytest.approx(16)
    known = table[table["kind"].isin(["rate", "phi", "limit", "attenuation exact"])]
    assert known["mc_se"].tolist() == [0, 0, 0, 0]
    error = table[table["x"].isna()].set_index("kind")["mc_se"]
    # in units of 1/15, 20 values each of 13, 15 and 16 have the mean 44/3 and squared deviations 25/9, 1/9 and 16/9
    assert error["attenuation"] == pytest.approx(sqrt(20 * 42 / 9 / 59 / 60) / 15)
    tables = np.array([[last, 50 - last], [50 - last, last]]).reshape(4, -1).T
    p = settings.posterior_draws(np.repeat(tables, 10, axis=0), stream(7, "bars"))
    medians = np.median((p[:, 0] * p[:, 3] / (p[:, 1] * p[:, 2])).reshape(20, 30), axis=1)
    assert error["median swapped"] == pytest.approx(np.std(medians, ddof=1) / sqrt(20))


def test_limits_of_phi_leave_two_and_a_half_percent_on_each_side():
    """Check phi under Dirichlet(2, 2, 2, 2), where phi is a ratio of the odds of two independent Beta(2, 2) shares."""
    table = phi_by_rate.phi_by_rate(thetas=[[0.25] * 4], totals=[4], rates=[0.0])
    found = table[table["x"].isna()].set_index("kind")["y"]
    nodes, weights = np.polynomial.legendre.leggauss(400)
    b = (1 + nodes) / 2
    for kind, below in (("lower", 0.025), ("median", 0.5), ("upper", 0.975)):
        inside = beta.cdf(found[kind] * b / (1 - b + found[kind] * b), 2, 2)
        assert weights @ (beta.pdf(b, 2, 2) * inside) / 2 == pytest.approx(below, abs=1e-6)


def test_every_class_is_audited_up_to_twenty_records():
    # the arrows of the figure (a lower bound) are drawn above this number, so at this number the audit must include all
    # classes
    table = privacy.exchange_audit(audit_sizes=[2], audit_rates=[0.1])
    assert table["classes"].tolist() == ["all"]
    assert [privacy._classes(n) for n in (19, 20, 21)] == ["all", "all", "extreme"]


def test_weights_and_acceptance_under_another_prior():
    """Check the weights and the acceptance probability under a prior other than Dir(1), for two records. The table (2,
    0, 0, 0) has probability a (a + 1)/(4 a (4 a + 1)) under Dir(a, a, a, a), and (1, 1, 0, 0) has probability 2 a^2/(4
    a (4 a + 1)). For a = 1 both probabilities are 1/10, and for a = 2 they are 1/12 and 1/9.
    """
    tables, weights = [[2, 0, 0, 0], [1, 1, 0, 0]], np.array([0.3, 0.7])
    assert drawn_formulas.accepted(tables, weights, 1.0) == pytest.approx(1, rel=1e-12)
    ratios = np.array([10 / 12, 10 / 9])
    assert drawn_formulas.accepted(tables, weights, 2.0) == pytest.approx(weights @ ratios, rel=1e-12)
    wanted = weights * ratios / (weights @ ratios)
    assert drawn_formulas.reweighted(tables, weights, 2.0) == pytest.approx(wanted, rel=1e-12)


def test_the_detection_limit_of_the_number_of_accepted_draws():
    """Check the minimum detectable effect of the test for the number of accepted draws, under the prior Dir(a). Two
    records fall into one given cell with probability (a + 1)/(4 (4 a + 1)), and into two given cells, in a given order,
    with probability a/(4 (4 a + 1)).

    A z test of the number detects a change by isf(level/2) + 1.2816 standard errors with probability .9.
    """
    values = {"acceptance": 0.02, "acceptance, 1 % less": 0.0199, "weight of [2, 0, 0, 0]": 0.5}
    row = figure_checks._number(1e8, 2e6, pd.Series(values | {"weight of [1, 1, 0, 0]": 0.5}))
    needed, se = norm.isf(figure_checks.LEVEL / 2) + norm.ppf(0.9), sqrt(0.98 / (0.02 * 1e8))
    same, apart = (lambda a: (a + 1) / (4 * a + 1)), (lambda a: a / (4 * a + 1))
    change = 0.5 * same(1.01) / same(1) + 0.5 * apart(1.01) / apart(1) - 1
    for name, moved in (("prior's concentration", change), ("rate", -0.005)):
        stated = float(re.search(rf"{name} by ([0-9.]+) %", row["sees"])[1])
        assert stated == pytest.approx(100 * needed * se * 0.01 / abs(moved), rel=0.06)  # two digits


@pytest.fixture(scope="module")
def drawn():
    """Return small tables with the data of the figures of phi and of the privacy loss."""
    given = {"thetas": [[0.4, 0.1, 0.1, 0.4]], "totals": [20]}
    last = phi_density.simulate(60, **given, rate=0.5, draws=2, bins=6, rng=stream(7, "few"))
    return {
        "phi_density": phi_density.phi_density(last, **given, rate=0.5, draws=2, bins=6, rng=stream(7, "phi")),
        "phi_by_rate": phi_by_rate.phi_by_rate(**given, rates=[0.0, 0.5]),
        "privacy_loss": privacy.privacy_loss(sizes=[4, 24], audit_sizes=[2, 3], audit_rates=[0.1]),
    }


CHECKS = {"phi_density": "_densities", "phi_by_rate": "_by_rate", "privacy_loss": "_epsilon"}


@pytest.mark.parametrize(
    ("name", "where", "by", "left"),
    [
        # single numbers have relative errors; an error of a curve is relative to its maximum
        *(("phi_density", {"kind": kind}, "relative", 0.125) for kind in ("phi", "limit")),
        *(("phi_density", {"kind": kind}, "curve", 0.125) for kind in ("original", "swapped exact", "one swap")),
        *(("phi_by_rate", {"kind": "limit", "rate": rate}, "relative", 0.125) for rate in (0.0, 0.5)),
        *(("phi_by_rate", {"kind": "density", "rate": rate}, "curve", 0.125) for rate in (0.0, 0.5)),
        ("privacy_loss", {"kind": "rate", "variant": "as_written", "group": 24}, "absolute", 0.125),
        ("privacy_loss", {"kind": "rate", "variant": "corrected", "group": 4, "x": 0.5}, "absolute", 0.125),
        ("privacy_loss", {"kind": "rate", "variant": "corrected", "group": 24, "x": 0.5}, "absolute", 0.125),
        ("privacy_loss", {"kind": "exchange", "variant": "as_written"}, "absolute", 0.125),
        ("privacy_loss", {"kind": "exchange", "variant": "twice"}, "absolute", 0.0625),
    ],
)  # fmt: skip
def test_an_error_of_a_plotted_value_is_the_left_side(drawn, name, where, by, left):
    """Check that the plotted values agree with the formulas, and that an error of known size in a plotted value changes
    the left side of the claimed equation to the expected value. A missing value is never accepted.
    """
    check = getattr(figure_checks, CHECKS[name])
    assert check(drawn[name])["ours"] > 0
    for sign in (1, -1):
        table = drawn[name].copy()
        place = table.index[(table[list(where)] == pd.Series(where)).all(axis=1)][0]
        size = {"relative": table.loc[place, "y"], "absolute": 1.0}
        if by == "curve":
            size["curve"] = table.loc[(table[list(where)] == pd.Series(where)).all(axis=1), "y"].iloc[::12].max()
        table.loc[place, "y"] += sign * 0.125 * size[by]
        assert check(table)["left"] == pytest.approx(left, rel=1e-5)
    table.loc[place, "y"] = np.nan
    assert np.isnan(check(table)["ours"])


def test_errors_of_medians_and_of_the_remaining_association(drawn):
    """Check that the left side of the claimed equation is 1/4 if the 3/4 quantile is plotted instead of the median, and
    that an error of the remaining association is reported.
    """
    table = drawn["phi_by_rate"].copy()
    (place,) = table.index[(table["kind"] == "median") & (table["rate"] == 0)]
    # theta1/theta2 and theta4/theta3 of Dirichlet(9, 3, 3, 9): log phi is the sum of two logits of Beta(9, 3)
    p = stream(7, "quantile").dirichlet([9, 3, 3, 9], 200_000)
    table.loc[place, "y"] = np.quantile(p[:, 0] * p[:, 3] / (p[:, 1] * p[:, 2]), 0.75)
    assert figure_checks._by_rate(table)["left"] == pytest.approx(0.25, abs=0.005)
    loss = drawn["privacy_loss"].copy()
    place = loss.index[(loss["kind"] == "association") & (loss["group"] == 24)][0]
    loss.loc[place, "x"] += 1e-4
    assert figure_checks._epsilon(loss)["left"] == pytest.approx(1e-4, rel=1e-3)


def test_derangements_and_the_remaining_association_by_hand():
    """Check ratios of numbers of derangements: D_4/D_2 = 9/1, D_5/D_3 = 44/2, and approximately b (b - 1) for
    D_b/D_(b-2) if b is large. Of three records with p = 1/2, the numbers 0, 2 and 3 have the probabilities 1/5, 3/5 and
    1/5, so that E[K] = 9/5 and lambda_1 = 1 - 9/10.
    """
    assert [figure_checks._ratio(b) for b in (4, 5, 21, 30)] == [9, 22, 420, 870]
    assert figure_checks._ratio(20) == pytest.approx(380, rel=1e-12)
    assert figure_checks._ratio(20) != 380
    assert figure_checks._kept(pd.Series([0.5]), pd.Series([3])).item() == pytest.approx(0.1)


def test_epsilon_has_the_larger_of_two_terms():
    """Check that the epsilon of the theorem has the larger of two terms, ln(b + 1) - ln o and ln o, where o = p/(1 -
    p). The second term is 0 at p = 1/2, and exceeds the first term at p = 0.9, because ln 9 > ln 4 - ln 9.
    """
    rows = pd.DataFrame({"x": [0.5, 0.9], "group": [3, 3], "y": [2.0, 2.0]})
    assert figure_checks._differences(rows).tolist() == pytest.approx([2 - log(4), 2 - log(9)])


TABLES, WEIGHTS = [[3, 1, 2, 4], [2, 2, 3, 3]], np.array([0.25, 0.75])


@pytest.mark.parametrize("alpha", [1.0, 2.5])
def test_densities_of_a_mixture_by_simulation(alpha):
    """Check the distribution functions of theta and of log phi under a mixture of two Dirichlet distributions against
    200,000 draws, and check the densities against the distribution functions.
    """
    rng = stream(7, "mixture")
    p = np.concatenate([
        rng.dirichlet(alpha + np.array(table), size) for table, size in zip(TABLES, (50_000, 150_000), strict=True)
    ])  # fmt: skip
    for cell in range(4):
        x = np.quantile(p[:, cell], [0.1, 0.5, 0.9])
        found = drawn_formulas.theta_cdf(x, TABLES, WEIGHTS, cell, alpha)
        assert found == pytest.approx([0.1, 0.5, 0.9], abs=0.005)
        slope = drawn_formulas.theta_cdf(x + 1e-5, TABLES, WEIGHTS, cell, alpha) - found
        assert drawn_formulas.theta_density(x, TABLES, WEIGHTS, cell, alpha) == pytest.approx(slope / 1e-5, rel=1e-3)
    log_phi = np.log(p) @ np.array([1.0, -1.0, -1.0, 1.0])
    for level in (0.1, 0.5, 0.9):
        x = np.quantile(log_phi, level)
        # P(log phi <= x) - P(log phi > x)
        excess = drawn_formulas.log_phi_excess(x, TABLES, WEIGHTS, alpha)
        assert excess == pytest.approx(2 * level - 1, abs=0.01)
        slope = (drawn_formulas.log_phi_excess(x + 1e-4, TABLES, WEIGHTS, alpha) - excess) / 2e-4
        assert drawn_formulas.log_phi_density([x], TABLES, WEIGHTS, alpha) == pytest.approx([slope], rel=1e-3)
    # tables with a negligible weight are omitted
    kept, weights = drawn_formulas._kept([*TABLES, [9, 9, 9, 9]], [0.25, 0.75, 1e-12], alpha)
    assert (kept.tolist(), weights.tolist()) == ((alpha + np.array(TABLES)).tolist(), [0.25, 0.75])
    assert len(drawn_formulas._kept(TABLES, [1.1e-12, 1.0], alpha)[1]) == 2


@pytest.mark.parametrize(("table", "rate"), [((1, 1, 1, 1), 0.3), ((2, 0, 1, 2), 0.1), ((0, 2, 1, 2), 0.5)])
def test_swaps_of_few_records_by_enumeration(table, rate):
    """Check P(swapped table | table) against the exact distribution of the algorithm over all permutations."""
    cells = [(0, 0), (0, 1), (1, 0), (1, 1)]
    records = [cell for cell, number in zip(cells, table, strict=True) for _ in range(number)]
    first, second = zip(*records, strict=True)
    wanted: dict[tuple[int, ...], float] = {}
    for arrangement, probability in algorithm.exact_law([0] * len(records), first, rate=rate).items():
        pairs = list(zip(arrangement, second, strict=True))
        after = tuple(pairs.count(cell) for cell in cells)
        wanted[after] = wanted.get(after, 0.0) + probability
    found = {after: drawn_formulas.forward(table, after, rate) for after in wanted}
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert sum(found.values()) == pytest.approx(1)


def test_a_shuffle_of_some_records_by_hand():
    """Check the result of shuffling the first variable among two random records of the table (1, 1, 1, 1). The last
    cell increases by one if the records are (0, 1) and (1, 0), a pair of six, and exchange their values, with
    probability 1/2.
    """
    cells = np.array([1, 1, 1, 1])
    assert drawn_formulas._shuffled(cells, 1, 2) == pytest.approx(1 / 12)
    assert drawn_formulas._shuffled(cells, -1, 2) == pytest.approx(1 / 12)
    assert drawn_formulas._shuffled(cells, 0, 2) == pytest.approx(10 / 12)
    assert drawn_formulas._shuffled(cells, 0, 0) == 1
    # all four records: two of each value, C(2, k)^2/C(4, 2)
    assert [drawn_formulas._shuffled(cells, k, 4) for k in (-1, 0, 1)] == pytest.approx([1 / 6, 4 / 6, 1 / 6])


def test_a_mixture_is_read_from_its_names():
    values = pd.Series({"weight of [1, 2, 3, 4]": 0.25, "weight of [0, 3, 4, 3]": 0.75, "acceptance": 0.1,
                        "weight of [1, 2, 3, 4], 1 % less": 0.9})  # fmt: skip
    tables, weights = figure_checks.mixture(values)
    assert tables.tolist() == [[1, 2, 3, 4], [0, 3, 4, 3]]
    assert weights.tolist() == [0.25, 0.75]


def test_errors_of_the_posterior_curves_and_weights():
    """Check that the left side of the claimed equation equals the error of a plotted density, of a weight or of the
    acceptance probability.
    """
    law = swapped_table.exact([[1, 2], [3, 4]], rate=0.3)
    values = {f"weight of {t.ravel().tolist()}": w for t, w in zip(law.tables, law.weights, strict=True)}
    values["acceptance"] = law.acceptance
    summary = pd.DataFrame({"rate": 0.3, "statistic": list(values), "value": list(values.values())})
    assert figure_checks._weights(summary)["ours"] > 0
    first = summary.assign(value=summary["value"] + 0.125 * (summary.index == 0))
    assert figure_checks._weights(first)["left"] == pytest.approx(0.125)
    last = summary.assign(value=summary["value"] * (1 + 0.125 * (summary["statistic"] == "acceptance")))
    assert figure_checks._weights(last)["left"] == pytest.approx(0.125)
    model = figure_checks.mixture(summary.set_index("statistic")["value"])
    grid = np.linspace(0, 1, 11)
    curves = [
        pd.DataFrame({"quantity": f"theta{i + 1}", "kind": kind, "x": grid, "y": density.pdf(grid, category=i)})
        for i in range(4)
        for kind, density in (("exact", law), ("naive", swapped_table.naive([[1, 2], [3, 4]])))
    ]
    table = pd.concat(curves, ignore_index=True)
    assert figure_checks._curves(table, model)["ours"] > 0
    for kind in ("exact", "naive"):
        for name in ("theta1", "theta4"):
            chosen = (table["kind"] == kind) & (table["quantity"] == name)
            top = table.loc[chosen, "y"].max()
            wrong = table.assign(y=table["y"] + 0.125 * top * (table.index == table.index[chosen][3]))
            assert figure_checks._curves(wrong, model)["left"] == pytest.approx(0.125)


def test_theta_examples_of_phi():
    """Check that phi is 1 if all shares are equal, and that unequal shares give a phi on the expected side of 1. A
    share must agree in every cell.
    """
    rows = [(0.25, 0.25, 0.25, 0.25, 1.0, 0.0), (0.3, 0.2, 0.2, 0.3, 2.25, 0.0), (0.3, 0.2, 0.2, 0.3, 9.0, 0.5),
            (0.2, 0.3, 0.3, 0.21, 0.4, 0.0)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["theta1", "theta2", "theta3", "theta4", "phi", "rate"])
    equal, above, below = agreement._phi(table)
    assert (equal["ours"], above["left"], above["relation"], above["right"]) == (1, 2.25, ">", 1)
    assert below["variant"] == "not_run"


def test_medians_of_the_draws():
    """Check that the medians are computed only from the runs with the largest number of records, and that the tests of
    the tables use only swap rates above 0.
    """
    theta = "(0.7, 0.1, 0.1, 0.1)"
    table = pd.DataFrame({
        "theta": theta, "total": [50, 100, 50, 100], "rate": [0.0, 0.0, 0.5, 0.5], "swaps": 7, "exact": 1.23456,
        "median": [1.0, 2.0, 3.0, 4.0], "mc_se": [0.1, 0.2, 0.3, 0.4], "p_phi": [0.5, 0.6, 0.7, 0.04],
        "p_tables": [0.001, 0.001, 0.9, 0.9], "sees_rate": [np.nan, np.nan, 0.05, 0.02],
    })  # fmt: skip
    found = {row["quantity"]: row for row in agreement._draws(table)}
    row = found[f"draws of phi at theta = {theta}, every p"]
    assert (row["ours"], row["sees"]) == (pytest.approx(6 * 0.04), "swap rate by 2 %")
    assert "for 6 tests" in row["note"]
    for rate, median, error in ((0, 2.0, 0.2), (0.5, 4.0, 0.4)):
        row = found[f"median of phi at theta = {theta}, p = {rate:g}"]
        assert (row["ours"], row["mc_se"]) == (median, error)
        assert "n = 100 records and 7 swaps. The exact median is 1.2346." in row["note"]
    others = [row["variant"] for q, row in found.items() if theta not in q]
    assert others == ["not_run"] * 6


def test_the_swapped_density_is_closer_to_one():
    """Check the absolute log medians of phi before and after swapping, at the largest number of records and at the rate
    p = 0.5.
    """
    theta = "(0.27, 0.23, 0.23, 0.27)"
    kinds = {"rate": 0.5, "median original": np.exp(0.5), "median swapped": np.exp(-0.25)}
    rows = pd.DataFrame({"kind": list(kinds), "y": list(kinds.values()), "x": np.nan, "mc_se": 0.1})
    table = pd.concat([rows.assign(theta=theta, total=100), rows.assign(theta=theta, total=50, y=9.0)])
    table.loc[(table["total"] == 50) & (table["kind"] == "rate"), "y"] = 0.5
    first, second = agreement.findings(table)
    assert (first["left"], first["right"]) == pytest.approx((0.25, 0.5))
    assert first["mc_se"] == pytest.approx(0.1 * np.exp(0.25))
    assert "n = 100" in first["note"]
    assert second["variant"] == "not_run"
    other = table.assign(y=table["y"].where(table["kind"] != "rate", 0.4))
    assert [row["variant"] for row in agreement.findings(other)] == ["not_run"] * 2


def test_coverage_of_naive_intervals_is_the_smallest():
    about = {"level": 0.9, "size": 40, "theta": "t", "total": [10, 20, 30], "rate": [0.1, 0.3, 0.5]}
    table = pd.DataFrame(about | {"method": ["naive", "naive", "swap-aware"], "coverage": [0.8, 0.5, 0.1]})
    (row,) = agreement.structures(table)
    assert (row["left"], row["right"]) == (0.5, 0.9)
    assert row["mc_se"] == pytest.approx(sqrt(0.9 * 0.1 / 40))
    assert "smallest of 2 coverages, which occurs at theta = t, n = 20 and p = 0.3." in row["note"]


def test_rows_of_runs_with_few_rates():
    """Check that claims about trends are not judged with a single swap rate, and that the theorem is not judged without
    an audited rate of at most one half.
    """
    rows = pd.DataFrame({"theta": "(0.4, 0.1, 0.1, 0.4)", "total": 100, "rate": 0.5, "x": np.nan,
                         "kind": ["median", "mean_s11", "sd_s11"], "y": [4.0, 35.0, 2.0]})  # fmt: skip
    astray = pd.DataFrame({
        "theta": "t", "total": 100, "rate": 0.5, "data": ["fixed", "random"], "closer": 0.5, "farther": 0.2,
        "mc_se": 0.0, "size": [0, 400],
    })  # fmt: skip
    assert [row["variant"] for row in agreement.results(rows, astray)][:5] == ["not_run"] * 5
    two = pd.concat([rows, rows.assign(rate=0.0, y=[16.0, 40.0, 0.0])])
    first, second, *_ = agreement.results(two, astray)
    assert (first["variant"], second["left"]) == ("not_run", pytest.approx(-log(4)))
    epsilon = pd.DataFrame({"size": 10, "rate": 0.6, "variant": ["as_written", "corrected"], "epsilon": [4.0, 3.0]})
    late = audits(epsilon=[3.0, 3.5]).assign(rate=0.6)
    assert {row["variant"] for row in agreement.theorem(late, epsilon)} == {"not_run"}
    one = agreement.theorem(audits(epsilon=[3.0, 3.5]), epsilon.assign(rate=0.5))
    assert [row["variant"] == "not_run" for row in one] == [False, False, False, True]
    half = list(agreement.theorem(audits(epsilon=[3.0, 3.5], classes="all").assign(rate=0.5), epsilon))
    assert half[0]["ours"] == 1.5
    assert (
        "At n = 10 and p = 0.5, the exact privacy loss of one exchange is 4.0000, whereas epsilon is 3.5000"
        in (half[1]["note"])
    )


def test_associations_of_the_examples():
    """Check the odds ratio phi and the direction of the association at the swap rates 0 and 1. Full swapping makes the
    variables independent.
    """
    thetas = [[0.3, 0.2, 0.2, 0.3], [0.2, 0.3, 0.3, 0.2], [0.25] * 4]
    table = algorithm.phi_examples(thetas=thetas, rates=[0.0, 1.0])
    assert table["phi"].tolist() == pytest.approx([2.25, 1, 4 / 9, 1, 1, 1])
    assert table["association"].tolist() == ["positive", "none", "negative", "none", "none", "none"]
    assert table.loc[2, ["theta1", "theta2", "theta3", "theta4", "rate"]].tolist() == [0.2, 0.3, 0.3, 0.2, 0]


def test_records_one_and_three_are_exchanged():
    table = algorithm.record_example()
    assert table["record"].tolist() == [1, 2, 3, 4, 5]
    assert table["V1"].tolist() == [1, 1, 0, 1, 0]
    assert table["V1_corrected"].tolist() == [0, 1, 1, 1, 0]
    assert table["V2_corrected"].tolist() == table["V2"].tolist() == [0, 0, 1, 1, 0]
    assert table["held"].tolist() == [True, False, True, True, True]


def test_steps_of_the_worked_example():
    table = algorithm.swap_example(rate=0.5, rng=stream(1, "steps"))
    counts = table.groupby(["step", "variant", "match"], sort=False).size()
    assert counts.to_dict() == {
        ("1 original", "published", ""): 4, ("2 partition", "published", ""): 1, ("3 match", "as_written", "Sect"): 1,
        ("3 match", "as_written", "#Attend"): 1, ("4 swap", "published", ""): 4, ("4 swap", "corrected", "Sect"): 4,
        ("4 swap", "corrected", "#Attend"): 4,
    }  # fmt: skip
    match = table[table["step"] == "3 match"]
    assert match[["Name", "Sect", "Role", "#Attend"]].to_numpy().tolist() == [
        ["swap", "hold, match", "hold", "hold"], ["swap", "hold", "hold", "hold, match"]
    ]  # fmt: skip


def test_tests_of_the_accepted_draws_at_their_limits():
    """Check that the binomial test uses exact counts, that a missing count gives no p-value, and that a histogram has
    the correct joint p-value.
    """
    values = {"acceptance": 0.5, "acceptance, 1 % less": 0.4, "weight of [1, 0, 0, 0]": 1.0}
    row = figure_checks._number(100.0, 60.0, pd.Series(values))
    assert row["ours"] == pytest.approx(2 * binom.sf(59, 100, 0.5))
    assert "is 60, and its expectation is 50.0 with standard deviation 5.0." in row["note"]
    assert np.isnan(figure_checks._number(100.0, np.nan, pd.Series(values))["ours"])
    bars = pd.DataFrame({"x": [0.0, 0.5], "y": [0.6, 1.4]})
    flat = pd.DataFrame({"x": np.linspace(0, 1, 5), "y": 1.0})
    p, seen = figure_checks._bars(bars, flat, 100.0, np.array([0.51, 0.49]), 0.01)
    # 30 and 70 draws: chi-squared 16, z = -4; a change by 1 % moves 50 to 51, so that the information is 4 x 100
    assert p == pytest.approx(2 * 2 * norm.sf(4))
    assert seen == pytest.approx((norm.isf(0.0025) + norm.ppf(0.9)) / 20)
    gone = figure_checks._bars(bars, flat.assign(y=np.nan), 100.0, np.array([0.5, 0.5]), 0.01)
    assert np.isnan(gone[0])
    assert gone[1] == np.inf
    assert figure_checks._relative(pd.Series([1.0, 3.0]), np.array([1.0, 4.0])) == 0.25
    assert np.isnan(figure_checks._relative(pd.Series([0.0]), np.array([0.0])))
