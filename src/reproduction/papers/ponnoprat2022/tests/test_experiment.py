"""Test the privacy accounting of Appendix C, that is, the total cost of n releases and the division of delta, against
formulas derived by hand.
"""

import functools

import numpy as np
import pandas as pd
import pytest
import stand_ins
from scipy import stats
from scipy.optimize import brentq
from scipy.special import betaln, polygamma

from dpmultinomial._accounting import privacy_profiles
from dpmultinomial._models import calibrated_noise, coded_table
from reproduction.papers.ponnoprat2022 import (
    agreement_models,
    catalogue,
    experiment,
    naive_bayes,
    networks,
    privacy,
    theorem_2,
)
from reproduction.papers.ponnoprat2022.algorithms import gohari

DELTA = 1e-5


def offset(order, delta=DELTA):
    """Return epsilon_hat - epsilon = log(order - 1) - (log(delta) + order log(order))/(order - 1), the offset of
    equation 14.
    """
    return np.log(order - 1) - (np.log(delta) + order * np.log(order)) / (order - 1)


def one_gohari(r, alpha, total, cells, delta):
    """Return the epsilon of Theorem 1 of Gohari et al. for a record that moves between the two cells of the set W.

    With k = r N + d alpha, k eta = alpha, k (1 - eta_bar - eta) = r N + alpha and k shift/2 = r, epsilon is r log((1 -
    g)/g) + log B(alpha, r N + alpha) - log B(alpha + r, r N + alpha - r). The guarantee fails with probability delta:
    each of the two cells, at the lowest vertex Beta(alpha, k - alpha), is below g with probability delta/2.
    """
    g = stats.beta(alpha, r * total + (cells - 1) * alpha).ppf(delta / 2)
    high = r * total + alpha
    return r * np.log((1 - g) / g) + betaln(alpha, high) - betaln(alpha + r, high - r)


@pytest.mark.parametrize(
    ("r", "releases", "delta", "basic"), [(0.5, 3, DELTA, True), (1e-4, 400, DELTA, False), (1e-4, 400, 0.03, False)]
)
def test_gohari_by_basic_and_by_advanced_composition(r, releases, delta, basic):
    """Check that the cost of n releases is the smaller of the bounds by basic and by advanced composition. Basic
    composition uses delta/n for each release. Advanced composition (Dwork, Rothblum, Vadhan 2010) uses delta/(2n) for
    each of the n releases, and delta/2 for the bound epsilon sqrt(2 n log(2/delta)) + n epsilon (exp(epsilon) - 1). The
    histogram with the largest number of cells is not the most expensive one.
    """
    alpha, total, sizes = 1 + 4 * r, 150, (1, 2, 3, 7)
    simple = releases * max(one_gohari(r, alpha, total, d, delta / releases) for d in sizes[1:])
    one = max(one_gohari(r, alpha, total, d, delta / (2 * releases)) for d in sizes[1:])
    advanced = one * np.sqrt(2 * releases * np.log(2 / delta)) + releases * one * (np.exp(one) - 1)
    assert (simple < advanced) == basic
    found = experiment.gohari_epsilon(r, alpha, total=total, sizes=sizes, delta=delta, releases=releases)
    assert found == pytest.approx(min(simple, advanced), rel=1e-6)


def test_the_dearest_histogram_is_charged_for_all():
    """Check that the histogram with the most cells determines the privacy cost, because the threshold gamma decreases
    with the number of cells. It has 7 cells among (2, 7, 3), and a histogram with one cell has no cost.
    """
    kw = {"total": 80, "delta": DELTA, "releases": 2}
    found = [experiment.gohari_epsilon(0.3, 2.2, sizes=sizes, **kw) for sizes in ((2, 7, 3), (7,), (1, 7), (2,), (3,))]
    assert found[0] == found[1] == found[2]
    assert found[0] == max(found) > min(found)


def test_the_union_bound_is_on_the_safe_side_and_close():
    """Check that the exact probability at the threshold gamma from the union bound is between delta/2 and delta. The
    probability for a single cell is delta/2.
    """
    r, alpha, total, cells = 0.4, 2.6, 100, 5
    k = r * total + cells * alpha
    gamma = experiment._gamma_by_union_bound(DELTA, k, alpha)
    exact = gohari.delta(gamma, concentration=k, eta=alpha / k, eta_bar=(cells - 2) * alpha / k)
    assert DELTA / 2 < exact <= DELTA
    assert experiment._gamma_by_union_bound(0.9, 2e6 + 1, 1e6) == 0.49  # two cells: both halves are above 0.49


def test_a_very_small_budget_stays_finite():
    """Check that the privacy cost is finite if the epsilon of each release exceeds 700. In this case, the advanced
    bound overflows, and the basic bound is n times the epsilon of one release.
    """
    one = one_gohari(50.0, 1.0, 1000, 2, DELTA / 2)
    found = experiment.gohari_epsilon(50.0, 1.0, total=1000, sizes=(2,), delta=DELTA, releases=2)
    assert one > 700
    assert found == pytest.approx(2 * one, rel=1e-6)


@pytest.mark.parametrize(("target", "releases"), [(0.3, 1), (2.0, 11)])
def test_gaussian_spends_its_delta(target, releases):
    """Check the standard deviation of Gaussian noise in n releases with a given total privacy cost. The releases are
    equivalent to one Gaussian release whose mean moves by D = sqrt(2 n), because one record moves two cells by 1.

    By Balle and Wang (2018), Theorem 8, delta = Phi(D/2s - e s/D) - exp(e) Phi(-D/2s - e s/D).
    """
    sigma = experiment.gaussian_for_dp(target, delta=DELTA, releases=releases)
    d = np.sqrt(2 * releases)
    phi = stats.norm.cdf
    spent = phi(d / 2 / sigma - target * sigma / d) - np.exp(target) * phi(-d / 2 / sigma - target * sigma / d)
    assert spent == pytest.approx(DELTA, rel=1e-8)


def theorem_1(r, order, times):
    """Return the privacy cost of Algorithm 1 for a squared sensitivity of 2, multiplied by the number of releases."""
    return times * order * r**2 * polygamma(1, 1 + 3 * (order - 1) * r)


def laplace_cost(scale, order):
    """Return the Rényi privacy cost of Laplace noise for one replaced record. The cost is twice the Rényi divergence
    for a shift of 1 (Mironov 2017, Table II), because two cells change by 1.

    The divergence is log(o/(2o - 1) exp((o - 1)/b) + (o - 1)/(2o - 1) exp(-o/b))/(o - 1).
    """
    o = order
    first, second = np.log(o / (2 * o - 1)) + (o - 1) / scale, np.log((o - 1) / (2 * o - 1)) - o / scale
    return 2 * np.logaddexp(first, second) / (o - 1)


def test_laplace_takes_the_better_of_two_accounts():
    """Check that the scale of Laplace noise is the smaller of the scales that pure composition and Rényi composition
    require, for few and for many releases. A few releases get the scale of pure composition, 2 n/target, since each
    release changes by 2 in L1.
    """
    assert experiment.laplace_for_dp(5.0, delta=1e-9, releases=1) == 2 / 5
    assert experiment.laplace_for_dp(8.0, delta=1e-9, releases=2) == 4 / 8
    scale = experiment.laplace_for_dp(1.0, delta=DELTA, releases=60)
    assert scale < 2 * 60
    orders = 1 + np.geomspace(1, 1e3, 20_001)
    spent = 60 * laplace_cost(scale, orders) + offset(orders)
    assert spent.min() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("target", "releases"), [(0.5, 20), (6.0, 1)])
def test_dirichlet_spends_its_budget_at_the_best_order(target, releases):
    """Check that several Dirichlet releases together use the complete budget at the best Rényi order. Each release
    costs o r^2 psi'(1 + 3 (o - 1) r) by Theorem 1 with squared sensitivity 2 and alpha = 1 + 4 (o - 1) r.

    The cost of n releases plus the offset of equation 14 equals the target at the order that alpha implies, and alpha/r
    is not smaller at any other order.
    """
    r, alpha = experiment.dirichlet_for_dp(target, delta=DELTA, releases=releases)
    order = 1 + (alpha - 1) / (4 * r)
    assert theorem_1(r, order, releases) + offset(order) == pytest.approx(target)
    best = alpha / r
    for other in order + (order - 1) * np.array([-0.1, -0.001, 0.001, 0.1]):
        left = target - offset(other)
        if left > 0:  # the cost increases with r
            cost = functools.partial(theorem_1, order=other, times=releases / left)
            largest = brentq(lambda s, cost=cost: np.log(cost(s)), 1e-9 * r, 1e3 * r, xtol=1e-15)
            assert (1 + 4 * (other - 1) * largest) / largest > best * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [0.02, 1.0])
def test_published_pair_of_the_dirichlet(epsilon):
    """Check the parameters r and alpha of the author's runs with the Dirichlet mechanism, as functions of epsilon. The
    order is 1 + 1/e for the e with e + offset = epsilon, r follows from Theorem 1, and alpha = 1 + (order - 1) r lacks
    the factor 4.
    """
    r, alpha = experiment.published_dirichlet(epsilon, delta=DELTA)
    order = 1 + (alpha - 1) / r
    e = 1 / (order - 1)
    assert e + offset(order) == pytest.approx(epsilon, rel=1e-8)
    assert theorem_1(r, order, 1) == pytest.approx(e, rel=1e-9)


def test_published_noise():
    """Check the scale parameters of the noise that the published variant uses. If `share` is the part of delta for one
    release, Gaussian noise has the standard deviation sigma = sqrt(2 log(1.25/share)) sqrt(2)/epsilon. For the share
    1.25 exp(-8), sigma is 4 sqrt(2)/epsilon.

    The Laplace scale is (2/epsilon) sqrt(log(1/2 delta)/log(1/delta)); for delta = 1/4, the root is sqrt(1/2).
    """
    found = experiment.published_noise("gaussian", [0.5, 2.0], delta=0.1, share=1.25 * np.exp(-8.0))
    assert found.scale == pytest.approx([8 * np.sqrt(2), 2 * np.sqrt(2)])
    found = experiment.published_noise("laplace", [0.5, 2.0], delta=0.25, share=0.1)
    assert found.scale == pytest.approx([4 * np.sqrt(0.5), np.sqrt(0.5)])
    assert (found.law, found.alpha.tolist()) == ("laplace", [1.0, 1.0])
    found = experiment.published_noise("dirichlet", [0.5, 2.0], delta=0.25, share=1e-6)
    pairs = np.array([experiment.published_dirichlet(e, delta=1e-6) for e in (0.5, 2.0)])
    assert np.column_stack([found.scale, found.alpha]) == pytest.approx(pairs)


def test_corrected_noise_is_each_law_at_its_own_budget():
    kw = {"delta": 1e-6, "releases": 7}
    for law, find in (("gaussian", experiment.gaussian_for_dp), ("laplace", experiment.laplace_for_dp)):
        found = experiment.corrected_noise(law, [0.4, 3.0], **kw)
        assert found.law == law
        assert found.scale.tolist() == [find(0.4, **kw), find(3.0, **kw)]
    found = experiment.corrected_noise("dirichlet", [0.4], **kw)
    assert (found.scale[0], found.alpha[0]) == experiment.dirichlet_for_dp(0.4, **kw)


def test_whole_models_share_delta_among_all_their_histograms(monkeypatch):
    """Check the fraction of delta that is assigned to each release of a naive Bayes model with two attributes and a
    class label. The model consists of three releases. In the published variant, each release has the share delta/(2 3),
    with the printed factor 2 sqrt(2 m log(1/2 delta)) for m = 2 attributes.

    In the corrected variant and for Gohari, delta is for all three releases together. Gohari's bound on the number of
    records is the training part, 70 % of 60; its pairs have alpha = 1 + 4 r (order 2).
    """
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.integers(0, c, 60).astype(str) for name, c in (("a", 2), ("b", 3), ("y", 2))})
    table, asked = coded_table.encode(frame, name="small", target="y", numeric=()), []

    for what in ("published_noise", "corrected_noise", "gohari_epsilon"):
        spy = functools.partial(recorded, asked, what, getattr(experiment, what))
        monkeypatch.setattr(experiment, what, spy)
    sizes = {"per_release": [0.5], "targets": [2.0], "gohari_r": [0.1], "repeats": 1, "root_seed": 1}
    found = naive_bayes.approximate(table, name="small", delta=1e-3, **sizes).set_index(["variant", "method"])[
        "epsilon"
    ]
    published = [(given[1], how) for what, given, how in asked if what == "published_noise"]
    assert published == [([0.5], {"delta": 1e-3, "share": 1e-3 / 6})] * 3
    corrected = [(given[1], how) for what, given, how in asked if what == "corrected_noise"]
    assert corrected == [([2.0], {"delta": 1e-3, "releases": 3})] * 3
    charged = {"total": 42, "sizes": (2, 3, 2), "delta": 1e-3, "releases": 3}
    assert [(given, how) for what, given, how in asked if what == "gohari_epsilon"] == [((0.1, 1.4), charged)] * 2
    assert found["published", "gaussian"] == pytest.approx(0.5 * 2 * np.sqrt(2 * 2 * np.log(500)))
    assert found["corrected", "laplace"] == 2.0


@pytest.fixture
def calibrations(monkeypatch):
    """Return a list in which every call of `calibrated_noise.calibrated` is recorded. Each entry contains the
    distribution, the epsilons of one release, and the calibration.
    """
    found, right = [], calibrated_noise.calibrated

    def spy(law, each, **how):
        found.append((law, np.asarray(each).tolist(), how))
        return right(law, each, **how)

    monkeypatch.setattr(calibrated_noise, "calibrated", spy)
    return found


def test_a_model_shares_epsilon_evenly_among_its_releases(calibrations):
    """Check that a model with four attributes and the labels requires five releases, each with a budget of epsilon/5.

    The Laplace noise is calibrated for a change of one cell by 1 in the published variant (so that the scale is half of
    the scale for two cells), and for two cells in the corrected variant, in which the Dirichlet is also calibrated
    exactly.
    """
    settings = {"order": 5.0, "epsilons": [0.5], "repeats": 1, "splits": 1, "floors": ["sigma"]}
    name = catalogue.NAMES[0]
    naive_bayes.runs(stand_ins.records(name), name=name, root_seed=1, **settings)
    features = stand_ins.records(name).codes.shape[1] - 1
    assert {tuple(each) for _, each, _ in calibrations} == {(0.5 / (features + 1),)}
    laplace = [how["laplace"] for law, _, how in calibrations if law == "laplace"]
    assert laplace == ["one cell", "one cell", "exact"]
    assert sum(how.get("exact", False) for _, _, how in calibrations) == 1


def test_a_network_shares_epsilon_among_its_nodes_and_by_three_in_the_slip(calibrations):
    name = catalogue.NETWORKS[0]
    table = stand_ins.records(name)
    networks.runs(table, name=name, order=5.0, epsilons=[0.6], repeats=1, root_seed=1)
    nodes = len(catalogue.SOURCES[name].networks)
    assert nodes != 3
    each = [found[0] for _, found, _ in calibrations]
    laws = len(calibrated_noise.MECHANISMS)
    assert each == pytest.approx([0.6 / 3] * laws + [0.6 / nodes] * (2 * laws + 1))
    assert [how["laplace"] for law, _, how in calibrations if law == "laplace"] == ["one cell", "one cell", "exact"]


def test_a_network_shares_delta_among_its_nodes(monkeypatch):
    """Check that a Bayesian network divides delta among its nodes. In the published variant, each release has delta/(2
    3), and the epsilon of the network is 2 sqrt(2 k log(1/delta)) times the epsilon of a release. In the other
    variants, delta is for all k nodes together.
    """
    name, asked = catalogue.NETWORKS[0], []
    for what in ("published_noise", "corrected_noise", "gohari_epsilon"):
        right = getattr(experiment, what)
        spy = functools.partial(recorded, asked, what, right)
        monkeypatch.setattr(experiment, what, spy)
    sizes = {"per_release": [0.5], "targets": [2.0], "gohari_r": [0.1], "repeats": 1, "root_seed": 1}
    found = networks.approximate(stand_ins.records(name), name=name, delta=1e-3, **sizes)
    k = len(catalogue.SOURCES[name].networks)
    assert [how["share"] for what, _, how in asked if what == "published_noise"] == [1e-3 / 6] * 3
    assert {how["releases"] for what, _, how in asked if what != "published_noise"} == {k}
    assert {how["delta"] for _, _, how in asked} == {1e-3}
    assert {how["total"] for what, _, how in asked if what == "gohari_epsilon"} == {280}  # 70 % of 400
    assert [given[1] for what, given, _ in asked if what == "gohari_epsilon"] == [1.4] * 2  # 1 + 4 r
    reach = found.set_index(["variant", "method"])["epsilon"]
    assert reach["published", "laplace"] == pytest.approx(0.5 * 2 * np.sqrt(2 * k * np.log(1000)))
    assert reach["corrected", "laplace"] == 2.0


def recorded(asked, what, right, *given, **how):
    asked.append((what, given, how))
    return right(*given, **how)


def test_rounded_columns_are_those_of_the_catalogue():
    assert [name for name, source in catalogue.SOURCES.items() if source.rounded] == ["Shopper"]


def test_figure_1_at_two():
    """Check that psi'(2) = pi^2/6 - 1 is between its bounds 1/2 + 1/8 and 1/2 + 1/4."""
    row = privacy.figure_1(least=2.0, most=3.0, points=2).iloc[0]
    assert row[["trigamma", "lower", "upper"]].tolist() == pytest.approx([np.pi**2 / 6 - 1, 0.625, 0.75])


def test_pairs_of_figure_2_have_the_alpha_of_algorithm_1():
    """Check the Dirichlet parameter alpha and the total concentration k for Figure 2. Algorithm 1 has alpha = 1 + 4
    (order - 1) r, so alpha is 5 for order 3 and r = 0.5. It has k = r N + d alpha for d cells. Of these cells, |W| = 2
    cells are considered.
    """
    table = privacy.figure_2(
        total=100, cells=4, r=0.5, order=3.0, least=1e-4, most=1e-3, points=2, rule=gohari.DEGREE_50_RULE
    )
    k = 50 + 4 * 5
    assert (table["concentration"] == k).all()
    assert table["eta"].iloc[0] == pytest.approx(5 / k)
    assert table["eta_bar"].iloc[0] == pytest.approx(2 * 5 / k)
    exact = table[table["variant"] == "corrected"]
    # two cells with Beta(5, 65) each: the union bound is at most twice, and a single cell at least once, the
    # probability
    one = stats.beta(5, 65).cdf(exact["gamma"])
    assert ((one < exact["delta"]) & (exact["delta"] <= 2 * one)).all()


def test_the_slip_of_figure_3():
    """Check that, at order 2 and with delta = 2, Algorithm 1 is calibrated to the target minus the term that equation
    14 adds. The quantity r in this equation is computed for a squared sensitivity of 1, and alpha = 1 + 4 r.

    The pair of the exact profile has the same alpha. Gohari's pair has eta = alpha/k with empty cells, and (r +
    alpha)/k otherwise.
    """
    rows = privacy.figure_3_bottom(
        counts=(9, 5, 2), orders=[2.0], delta=DELTA, least=4.0, most=8.0, points=1, gohari_points=1
    ).set_index(["series", "variant"])
    slip = rows.loc[("Algorithm 1", "published")]
    assert slip["alpha"] == pytest.approx(1 + 4 * slip["r"])
    assert theorem_1(slip["r"], 2.0, 1) / 2 == pytest.approx(4.0 - offset(2.0, delta=2.0))
    exact = rows.loc[("exact profile", "corrected")]
    assert exact["alpha"] == pytest.approx(1 + 4 * exact["r"])
    spent = privacy_profiles.dirichlet_delta(4.0, r=exact["r"], alpha=exact["alpha"])
    assert spent == pytest.approx(DELTA, rel=1e-6)
    for variant, low in (("corrected", 0.0), ("published", 1.0)):
        row = rows.loc[("Gohari et al.", variant)]
        r, alpha, k = row["r"], row["alpha"], row["r"] * 16 + 3 * row["alpha"]
        region = {"concentration": k, "eta": (low * r + alpha) / k, "eta_bar": alpha / k}
        gamma = gohari.calibrate(DELTA, **region)
        assert row["epsilon_hat"] == pytest.approx(gohari.epsilon(gamma, **region, shift=2 * r / k))


def test_figure_8_is_theorem_1_and_the_floor():
    """Check the values of epsilon_hat in Figure 8, for the order o and the parameter r. These values are the sum of the
    privacy cost o r^2 psi'(1 + 3 (o - 1) r) and the offset of equation 14. The cost is for squared sensitivity 2, and
    half of it is for squared sensitivity 1.
    """
    table = privacy.figure_8(orders=[10.0], delta=DELTA, least=0.5, most=2.0, points=1)
    row = table.set_index("variant")["epsilon_hat"]
    assert row["corrected"] == pytest.approx(theorem_1(0.5, 10.0, 1) + offset(10.0))
    assert row["published"] == pytest.approx(theorem_1(0.5, 10.0, 1) / 2 + offset(10.0))


def test_audited_laplace_scales_are_those_of_their_sensitivities():
    """Check that Laplace noise that is calibrated for a change of one cell by 1 has an exact privacy cost of twice the
    claimed cost.

    A change of one cell by 2 costs more than a change of two cells by 1, so noise calibrated for one cell by 2 has a
    cost below the claim. If the noise is calibrated for two cells by 1, the cost is exactly the claim.
    """
    table = privacy.audits(order=5.0, epsilons=[0.7]).set_index(["mechanism", "variant"])
    assert table.loc[("Laplace", "as_written"), "exact"] == pytest.approx(1.4)
    assert table.loc[("Laplace", "corrected"), "exact"] == pytest.approx(0.7)
    assert table.loc[("Laplace", "published"), "exact"] < 0.7 * (1 - 1e-3)


def test_the_least_beta_and_the_bound_of_theorem_2():
    """Check the smallest beta that satisfies the condition of Theorem 2, and the bound exp(-beta eta^2/(2 (2 + eta)(4 +
    3 eta))). The smallest beta is d alpha/(exp(eta/2) - 1), which is d alpha/2 for eta = 2 log 3.
    """
    assert theorem_2.least_beta(10, 0.5, 2 * np.log(3)) == pytest.approx(2.5)
    blocks = pd.DataFrame({"alpha": 0.5, "cells": 10, "eta": 1.0, "beta": 21.0, "draws": 50, "above": [30, 20]})
    row = theorem_2.theorem_2(blocks, alphas=[], cells=[], etas=[]).iloc[0]
    assert row["bound"] == pytest.approx(np.exp(-21 / (2 * 3 * 7)))  # exp(-1/2)
    assert (row["frequency"], row["draws"]) == (0.5, 100)
    assert row["mc_se"] == pytest.approx(0.05)


def losses_of(**columns):
    """Return scores of the three mechanisms and the reference on every data set, for both variants."""
    rows = [
        {"dataset": name, "variant": variant, "method": method, "epsilon": epsilon, "cross_entropy_mean": loss,
         "cross_entropy_se": 0.01, "accuracy_mean": 1 - loss / 10, "accuracy_se": 0.001}
        for name in catalogue.NAMES
        for variant in ("published", "corrected")
        for method, epsilon, loss in (
            ("dirichlet", 0.05, 1.2), ("gaussian", 0.05, 2.0), ("laplace", 0.05, 3.0),
            ("dirichlet", 1.0, 1.1), ("gaussian", 1.0, 1.5), ("laplace", 1.0, 1.4),
            ("non-private", np.nan, 1.0), ("random", np.nan, 4.0), ("majority", np.nan, np.nan),
        )
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**columns)


def by_name(rows):
    return {(row["artefact"], row["quantity"], row["variant"]): row for row in rows}


def test_rows_of_naive_bayes():
    """Check the rows of the agreement table for all data sets. At epsilon = 0.05 and at epsilon = 1, the advantage of
    the Dirichlet mechanism over the better of the two other mechanisms is log(2/1.2) and log(1.4/1.1) on the log scale,
    and 0.8 and 0.3 on the original scale. The mean distance of the loss from 1 is (log 1.2 + log 1.1)/2.
    """
    table = losses_of()
    found = by_name(agreement_models.naive_bayes(table, table))
    for variant in ("published", "corrected"):
        over_all = found[
            "figure_4", "smaller loss than Gaussian and Laplace on all data sets, over all budgets", variant
        ]
        assert over_all["left"] == pytest.approx((np.log(2 / 1.2) + np.log(1.4 / 1.1)) / 2)
        assert f"for the data set (of {len(catalogue.NAMES)})" in over_all["note"]
        assert agreement_models.FLOORS[variant] in over_all["note"]
        every = found["figure_4", "smaller loss than Gaussian and Laplace on all data sets, at every budget", variant]
        assert every["left"] == pytest.approx(0.3)
        close = found["figure_4", "Bank: loss remarkably close to the non-private one", variant]
        assert (close["left"], close["right"]) == pytest.approx(((np.log(1.2) + np.log(1.1)) / 2, np.log(1.5)))
        # accuracies: 0.88 and 0.80 below epsilon = 0.1, 0.89 and 0.85 above
        digit = found["figure_5", "Digit: more accurate than the Gaussian (epsilon > 0.1)", variant]
        adult = found["figure_5", "Adult: more accurate than the Gaussian (epsilon < 0.1)", variant]
        assert (digit["left"], adult["left"]) == pytest.approx((0.04, 0.08))
        assert found["figure_5", "no mechanism is a clear winner", variant]["left"] == 1
        assert found["figure_5", "no mechanism is a clear winner", variant]["right"] == pytest.approx(2 / 3)
        guess = found["figure_5", "random guessing is well below the other models on some data sets", variant]
        # the smallest mean accuracy is that of the Laplace mechanism, (0.7 + 0.86)/2, and random guessing has 0.6
        assert (guess["left"], guess["right"]) == pytest.approx((0.18, 0.1))
        assert found["figure_4", "Bank: non-private loss", variant]["ours"] == 1.0
        assert found["figure_5", "Adult: non-private accuracy", variant]["ours"] == pytest.approx(0.9)
    few = table[table["dataset"] != "Spam"]
    found = by_name(agreement_models.naive_bayes(few, few))
    part = found["figure_4", "smaller loss than Gaussian and Laplace on all data sets, over all budgets", "not_run"]
    assert part["note"] == agreement_models.PARTLY
    assert found["figure_5", "Bank: more accurate than the Gaussian (all epsilon)", "corrected"]
    alone = table[table["method"] == "dirichlet"]
    found = by_name(agreement_models.naive_bayes(table, alone))
    assert found["figure_5", "Bank: non-private accuracy", "not_run"]["note"] == agreement_models.ABSENT
    assert found["figure_5", "random guessing is well below the other models on some data sets", "not_run"]


def test_accuracies_near_a_tenth():
    """Check that the budget 0.1 is excluded both from budgets below 0.1 and from budgets above 0.1, and that accuracies
    within 0.01 of the best count as equal.
    """
    table = losses_of()
    table["epsilon"] = table["epsilon"].replace(0.05, 0.1)
    found = by_name(agreement_models.naive_bayes(table, table))
    adult = found["figure_5", "Adult: more accurate than the Gaussian (epsilon < 0.1)", "not_run"]
    assert adult["note"] == agreement_models.ABSENT
    digit = found["figure_5", "Digit: more accurate than the Gaussian (epsilon > 0.1)", "corrected"]
    assert digit["left"] == pytest.approx(0.04)
    for behind, share in ((0.0099, 1.0), (0.0101, 0.0)):
        near = losses_of()
        near["accuracy_mean"] = np.where(near["method"] == "dirichlet", 0.8 - behind, 0.8)
        assert agreement_models._as_well(near[near["variant"] == "corrected"])[0] == share


def test_rows_of_the_networks():
    """Check the differences between the likelihoods of the mechanisms for epsilon below 1, and the standard errors of
    the values at epsilon = 0.001.
    """
    rows = [
        {"dataset": name, "variant": variant, "method": method, "epsilon": epsilon, "log_likelihood_mean": value,
         "log_likelihood_se": 2.0}
        for name in catalogue.NETWORKS
        for variant in ("published", "stated_share", "corrected")
        for epsilon, values in ((0.001, (-300.0, -310.0, -330.0)), (1.0, (-900.0, -1.0, -1.0)))
        for method, value in zip(("dirichlet", "gaussian", "laplace"), values, strict=True)
    ]  # fmt: skip
    found = agreement_models.networks(pd.DataFrame(rows))
    label = "the Dirichlet has the largest likelihood on all data sets, every epsilon < 1"
    claims = [row for row in found if row["quantity"] == label]
    assert sorted((row["variant"], row["left"]) for row in claims) == [
        *(("corrected", 10.0), ("published", 10.0), ("published", 10.0))
    ]
    found = by_name(agreement_models.networks(pd.DataFrame(rows)))
    for name in catalogue.NETWORKS:
        for method, value in (("dirichlet", -300.0), ("gaussian", -310.0), ("laplace", -330.0)):
            row = found["figure_7", f"{name}: {method} at epsilon = 0.001", "published"]
            assert (row["ours"], row["mc_se"]) == (value, pytest.approx(2 * 2**0.5))
    late = [row | {"epsilon": 0.0011} for row in rows]
    missing = by_name(agreement_models.networks(pd.DataFrame(late)))
    name = catalogue.NETWORKS[0]
    assert missing["figure_7", f"{name}: dirichlet at epsilon = 0.001", "not_run"]["note"] == (
        f"This run does not include {name} with epsilon = 0.001."
    )


def test_rows_of_the_settings():
    table = losses_of()
    none = table[table["epsilon"].isna()]
    found = by_name(agreement_models.settings(table, none))
    assert found["figure_4", "smallest epsilon", "corrected"]["ours"] == 0.05
    assert found["figure_4", "largest epsilon", "corrected"]["ours"] == 1
    assert found["figure_7", "largest epsilon", "not_run"]["note"] == agreement_models.ABSENT
    for artefact in ("figure_4", "figure_7"):
        assert found[artefact, "percentage of the records used for training", "corrected"]["ours"] == pytest.approx(70)
        assert found[artefact, "bins of a numerical attribute", "corrected"]["ours"] == 10


def test_rows_beside_gohari():
    """Check the claims that compare Gohari's mechanism with the Dirichlet mechanism, and the Laplace mechanism with the
    Gaussian mechanism.
    """
    table = losses_of()
    gohari = table[table["method"] == "dirichlet"].assign(method="gohari")
    gohari["cross_entropy_mean"] = np.where(gohari["epsilon"] < 0.1, 4.0, 3.0)
    both = pd.concat([table, gohari])
    found = by_name(agreement_models._beside_gohari("figure_9", both))
    for variant in ("published", "corrected"):
        better = found["figure_9", "better loss than Gohari et al. in all experiments", variant]
        assert better["left"] == pytest.approx(1.9)
        worse = found["figure_9", "Gohari et al.: much worse loss at small epsilon_hat", variant]
        assert worse["left"] == pytest.approx(1.0)
        laplace = found["figure_9", "better loss with Laplace than with Gaussian noise", variant]
        assert (laplace["left"], laplace["right"]) == (0.5, 0.5)
        mean = found["figure_9", "better loss than Gaussian and Laplace on all data sets, over all budgets", variant]
        assert mean["left"] == pytest.approx((0.8 + 0.3) / 2)
    accuracy = by_name(agreement_models._beside_gohari("figure_10", both))
    assert {quantity for _, quantity, _ in accuracy} == {
        "better accuracy than Gohari et al. in all experiments",
        "random guessing is well below the other models on some data sets",
    }
    assert len(accuracy) == 4


def test_the_search_for_the_best_order_finds_it():
    """Check that the minimum of (x - c)^2, where x = log(order - 1), is found inside the grid and at both ends."""
    low, high = np.log(1e-2), np.log(1e7)
    for centre in (low + 0.2, 3.0, high - 0.2):
        assert experiment._smallest(lambda x, c=centre: (x - c) ** 2) == pytest.approx(centre, abs=1e-4)
    assert experiment._smallest(lambda x: -x) == pytest.approx(high, abs=1e-3)
    assert experiment._smallest(lambda x: x) == pytest.approx(low, abs=1e-3)


def test_budgets_of_gohari_by_hand(monkeypatch):
    """Check that the smaller of the bounds by basic and by advanced composition is used, and that the most expensive
    histogram determines the cost. Histograms with one cell cost nothing.
    """
    asked = []

    def one(r, alpha, total, cells, delta):
        asked.append((cells, delta))
        return 0.01 * cells

    monkeypatch.setattr(experiment, "_one_gohari", one)
    few = experiment.gohari_epsilon(1.0, 5.0, total=100, sizes=[1, 2, 3, 3], delta=1e-4, releases=2)
    assert few == pytest.approx(2 * 0.03)
    assert set(asked) == {(2, 0.5e-4), (3, 0.5e-4), (2, 0.25e-4), (3, 0.25e-4)}
    many = experiment.gohari_epsilon(1.0, 5.0, total=100, sizes=[2, 3], delta=1e-4, releases=4000)
    advanced = 0.03 * np.sqrt(8000 * np.log(2e4)) + 4000 * 0.03 * np.expm1(0.03)
    assert many == pytest.approx(advanced)


def test_the_threshold_of_the_union_bound():
    """Check that the threshold gamma for Beta(1, k - 1) is 1 - (1 - delta/2)^(1/(k - 1)), and that gamma is at most
    0.49.
    """
    assert experiment._gamma_by_union_bound(0.02, 11.0, 1.0) == pytest.approx(1 - 0.99**0.1)
    assert experiment._gamma_by_union_bound(0.9999, 1.5, 1.0) == 0.49
