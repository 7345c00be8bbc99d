"""Compare scores, claims, non-private models and privacy costs of ponnoprat2022 with calculations by hand for small
tables.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import norm

from dpmultinomial._mechanisms.dirichlet import Dirichlet
from reproduction.papers.ponnoprat2022 import (
    agreement,
    agreement_models,
    artefacts,
    catalogue,
    laws,
    naive_bayes,
    networks,
    privacy,
    theorem_2,
)
from reproduction.papers.ponnoprat2022 import agreement_models as claims


def ours(rows):
    return {(row["quantity"], row["variant"]): row for row in rows}


def runs(**columns):
    about = {"dataset": "A", "variant": "corrected", "method": "dirichlet", "floor": "none", "epsilon": 1.0, "note": ""}
    return pd.DataFrame({**about, **columns})


def test_scores_of_releases():
    """Check the mean score and its standard error for three releases with the losses 1, 2 and 6. The mean is 3, the
    standard deviation is sqrt(14/3), and the standard error of the mean is sqrt(7)/sqrt(3).
    """
    row = artefacts.scores(runs(cross_entropy=[1.0, 2.0, 6.0], counted=0.5)).iloc[0]
    assert (row["cross_entropy_mean"], row["releases"], row["counted"]) == (3, 3, 0.5)
    assert row["cross_entropy_sd"] == pytest.approx(np.sqrt(14 / 3))
    assert row["cross_entropy_se"] == pytest.approx(np.sqrt(7 / 3))
    alone = artefacts.scores(runs(cross_entropy=[2.0], epsilon=[np.nan])).iloc[0]
    assert (alone["cross_entropy_se"], np.isnan(alone["epsilon"])) == (0, True)


def test_scores_of_releases_on_several_splits():
    """Check that two splits with the mean scores 2 and 6 give a standard error of sqrt(8)/sqrt(2) = 2. The variation
    between the releases of a split has no effect on this standard error.
    """
    row = artefacts.scores(runs(cross_entropy=[1.0, 3.0, 6.0, 6.0], split=[0, 0, 1, 1])).iloc[0]
    assert (row["cross_entropy_mean"], row["cross_entropy_se"]) == pytest.approx((4, 2))


def test_paired_differences():
    """Check the mean of two paired differences, -2 and -4, from two splits, and the t interval for this mean. They have
    mean -3 and sd sqrt(2), and the 80 % t interval with one degree of freedom has half-width 3.0777.
    """
    mine = runs(split=[0, 1], cross_entropy=[1.0, 2.0], accuracy=[0.5, 0.5])
    other = runs(split=[0, 1], cross_entropy=[3.0, 6.0], accuracy=[0.5, 0.5]).assign(method="laplace", floor="sigma")
    table = pd.concat([mine, other])
    rows = artefacts.paired_differences(table, level=0.8).set_index("measure")
    loss = rows.loc["cross_entropy"]
    assert (loss["difference"], loss["lower"], loss["upper"]) == pytest.approx((-3, -3 - 3.0777, -3 + 3.0777), abs=1e-4)
    assert loss["better"] == "undecided"
    assert artefacts.paired_differences(table, level=0.5).set_index("measure").loc["cross_entropy", "better"] == (
        "dirichlet"
    )  # the half-width is then 1
    assert rows.loc["accuracy", "better"] == "undecided"
    worse = artefacts.paired_differences(
        pd.concat([mine.assign(method="laplace", floor="sigma"), other.assign(method="dirichlet", floor="none")]),
        level=0.5,
    )
    assert worse.set_index("measure").loc["cross_entropy", "better"] == "other"
    one = artefacts.paired_differences(table[table["split"] == 0], level=0.5).iloc[0]
    assert (one["difference"], np.isnan(one["lower"]), one["better"]) == (-2, True, "undecided")


def test_floors_that_figures_4_and_5_show():
    """Check which rows of a table of scores are shown in the figures. They show all rows of the published variant, and
    the rows of the corrected variant with the lower bound sigma, with no lower bound, or with smoothing 0.1 and no
    noise.
    """
    table = pd.DataFrame({
        "variant": ["published", "corrected", "corrected", "corrected", "corrected", "corrected"],
        "floor": ["1e-06", "sigma", "none", "0.1", "0.1", "1.0"],
        "method": ["laplace", "laplace", "dirichlet", "non-private", "laplace", "non-private"],
    })  # fmt: skip
    assert artefacts._main_floor(table).tolist() == [True, True, True, True, False, False]


def test_the_introduction_by_hand():
    table = artefacts.introduction().set_index(["noise", "quantity"])["value"]
    assert table["z1", "L1"] == pytest.approx(0.135)
    assert table["z2", "L1"] == pytest.approx(0.137)
    assert table["z1", "KL sum"] == pytest.approx(0.1 * np.log(10) + 0.9 * np.log(0.9 / 0.945))
    assert table["z2", "KL"] == pytest.approx(0.1 * np.log(100) + 0.9 * np.log(0.9 / 0.862) + np.log(0.863))
    assert table["none", "loss of a probability of 0.1 relative to 0.4"] == pytest.approx(np.log(0.1) / np.log(0.4))


def scored(values, measure="accuracy", error=0.03, dataset="A", epsilons=None):
    """Return the given scores of the three methods (Dirichlet, Gaussian and Laplace) at every epsilon, as a table."""
    rows = []
    for i, triple in enumerate(values):
        for method, value in zip(("dirichlet", "gaussian", "laplace"), triple, strict=True):
            row = {"dataset": dataset, "epsilon": (epsilons or [1.0, 2.0, 4.0, 8.0])[i], "method": method}
            rows.append(row | {"variant": "corrected", f"{measure}_mean": value, f"{measure}_se": error})
    return pd.DataFrame(rows)


def test_no_winner_and_as_well_as_the_others():
    """Check the largest proportion of cases in which the same mechanism has the best score, in an example with four
    cases. The Dirichlet wins twice (once tied with the Gaussian), the Gaussian wins twice, and the Laplace wins once.

    Within .01 of the best accuracy, the Dirichlet is in three of four cases.
    """
    table = scored([(0.9, 0.8, 0.7), (0.9, 0.9, 0.1), (0.805, 0.81, 0.3), (0.5, 0.4, 0.6)])
    assert claims._no_winner(table) == pytest.approx((0.5, np.sqrt(0.25 / 4)))
    assert claims._as_well(table) == pytest.approx((0.75, np.sqrt(0.75 * 0.25 / 4)))
    gap = table.assign(accuracy_mean=table["accuracy_mean"].where(table["method"] != "laplace"))
    assert np.isnan(claims._no_winner(gap)).all()
    assert np.isnan(claims._as_well(gap)).all()


def test_laplace_against_gaussian():
    """Check the proportion of cases in which Laplace noise has a smaller loss than Gaussian noise, which is one of four
    cases. If the same numbers are likelihoods, Laplace is better in two of four cases.
    """
    table = scored([(1.0, 2.0, 1.5), (1.0, 2.0, 2.5), (1.0, 2.0, 2.0), (1.0, 2.0, 3.0)], "cross_entropy")
    assert claims._laplace(table, "cross_entropy")[0] == pytest.approx(0.25)
    other = table.rename(columns=lambda c: c.replace("cross_entropy", "log_likelihood"))
    assert claims._laplace(other, "log_likelihood")[0] == pytest.approx(0.5)


def test_closeness_to_the_model_without_privacy():
    """Check the mean absolute difference between the logs of the losses and the log of a reference loss. The losses e
    and e^3 have the distances 0 and 2 from the reference e, so the mean is 1. If each log loss has standard error .1,
    the mean has standard error .1/sqrt(2).
    """
    table = scored([(np.e, 9, 9), (np.e**3, 9, 9)], "cross_entropy")
    table["cross_entropy_se"] = 0.1 * table["cross_entropy_mean"]
    reference = {"dataset": "A", "method": "non-private", "cross_entropy_mean": np.e, "epsilon": np.nan}
    found = claims._closeness(pd.concat([table, pd.DataFrame([reference])]))
    assert found == pytest.approx((1.0, 0.1 / np.sqrt(2)))


def test_decline_of_gohari_from_the_largest_to_the_smallest_budget():
    """Check that the improvement from the smallest to the largest budget is 3 for the losses 5, 4, 2 at the budgets 1,
    2, 4. The standard errors at the two ends are 0.3 and 0.4. Likelihoods have the opposite sign.
    """
    table = pd.DataFrame({"dataset": "A", "method": "gohari", "epsilon": [4.0, 1.0, 2.0],
                          "cross_entropy_mean": [2.0, 5.0, 4.0], "cross_entropy_se": [0.4, 0.3, 9.0]})  # fmt: skip
    assert claims._decline(table, "cross_entropy") == pytest.approx((3, 0.5))
    other = table.rename(columns=lambda c: c.replace("cross_entropy", "log_likelihood"))
    assert claims._decline(other, "log_likelihood")[0] == pytest.approx(-3)


def test_a_claim_is_judged_only_where_all_its_sets_are():
    table = pd.DataFrame({"dataset": ["A", "B", "C"], "method": ["laplace", "not_run", "laplace"]})

    def judged(names):
        return claims._judged("figure_4", "q", table, lambda rows: (0.5, 0.1), "note", "corrected", names)

    assert judged(("A", "C"))["ours"] == 0.5
    assert judged(("A", "B"))["note"] == claims.PARTLY
    assert judged(("B", "D"))["note"] == claims.ABSENT


def test_margins_of_figures_1_and_2():
    """Check the margins of the claims about Figures 1 and 2. The margins are relative distances or decades. The
    trigamma value 2 between the bounds 1.9 and 2.2 has a relative distance of 0.05 from the nearer bound, and delta =
    2.1e-3 is one decade above 2.1e-4.
    """
    (row,) = agreement._figure_1(pd.DataFrame({"trigamma": [2.0, 4.0], "lower": [1.9, 3.0], "upper": [2.2, 4.4]}))
    assert row["ours"] == pytest.approx(0.05)
    table = pd.DataFrame({"variant": ["corrected", "corrected", "published"], "delta": [2.1e-3, 1e-2, 2.1e-4],
                          "concentration": 171.87, "eta": 0.03, "eta_bar": 0.1})  # fmt: skip
    found = ours(agreement._figure_2(table))
    assert found["delta cannot go below 2.1e-4", "corrected"]["ours"] == pytest.approx(1)
    assert found["delta cannot go below 2.1e-4", "published"]["ours"] == pytest.approx(0)
    assert found["delta cannot be brought down to 1e-5", "published"]["ours"] == pytest.approx(np.log10(21))
    assert found["eta'", "corrected"]["ours"] == 0.1


def test_margins_of_figure_3():
    """Check the margins by which the claims about Figure 3 hold. The bounds 2, 3 divided by the divergences 1, 2 have
    the largest ratio 2, and the log of the bound increases by log(3/2).
    """
    rows = []
    for (series, variant), values in {
        ("Algorithm 1", "corrected"): (2.0, 3.0),
        ("worst case", "corrected"): (1.0, 2.0),
        ("divergence", "as_written"): (0.5, 3.0),
        ("divergence", "published"): (2.0, 3.0),
    }.items():
        for r, value in zip((0.1, 0.2), values, strict=True):
            rows.append({"order": 2.0, "r": r, "series": series, "variant": variant, "epsilon": value})
    found = ours(agreement._figure_3_top(pd.DataFrame(rows)))
    name = "the guarantee is close to the divergence"
    values = [found[name, v]["ours"] for v in ("corrected", "as_written", "published")]
    assert values == pytest.approx([agreement.TIGHT - 2, agreement.TIGHT - 4, agreement.TIGHT - 1])
    assert found["epsilon of line 1 increases strictly with r", "corrected"]["ours"] == pytest.approx(np.log(1.5))


def test_share_of_points_where_algorithm_1_is_better():
    """Check the proportion of values of epsilon_hat at which Algorithm 1 has a smaller divergence than the mechanism of
    Gohari et al. The divergence of this mechanism is 8 at epsilon_hat = 1 and 2 at epsilon_hat = 4, and is interpolated
    as 4 at epsilon_hat = 2. Three points of the grid 1/2, 1, 2, 4 are in the range of Gohari's curve.

    Algorithm 1 has the values 3 at epsilon_hat = 2 and 5 at epsilon_hat = 4, so it is better at one of three points.
    """
    rows = [
        ("Gohari et al.", 1.0, 8.0),
        ("Gohari et al.", 4.0, 2.0),
        ("Algorithm 1", 2.0, 3.0),
        ("Algorithm 1", 4.0, 5.0),
    ]
    rows += [("exact profile", e, 1.0) for e in (0.5, 1.0, 2.0, 4.0)]
    table = pd.DataFrame(rows, columns=["series", "epsilon_hat", "kl_mean"])
    assert agreement._smaller(table) == (pytest.approx(1 / 3), 3, 2)
    table = table.assign(variant="corrected", order=200.0, floor=1e-2, kl_uniform=4.0)
    found = ours(agreement._figure_3_bottom(table))
    assert found["lambda = 200: Algorithm 1 reaches epsilon_hat = 0.001", "corrected"]["ours"] == pytest.approx(-1)
    smaller = found["lambda = 200: smaller KL than Gohari et al. at most values of epsilon_hat", "corrected"]
    assert smaller["ours"] == pytest.approx(1 / 3 - 0.5)
    close = found["at lambda = 200 the releases are close to uniform", "corrected"]
    assert close["ours"] == pytest.approx(3 / 4 - 0.5)


def test_margins_of_figure_8():
    """Check the margins by which the claims about Figure 8 hold. For two values of lambda, epsilon_hat is 1, 2 and 1/2,
    1/2 at two values of r. It increases with r by log 2 and 0, and decreases with lambda by log 2 and log 4.
    """
    rows = [(0.1, 2, 1.0), (0.2, 2, 2.0), (0.1, 20, 0.5), (0.2, 20, 0.5)]
    table = pd.DataFrame(rows, columns=["r", "order", "epsilon_hat"]).assign(variant="corrected")
    found = ours(agreement._figure_8(pd.concat([table, table.assign(variant="published")])))
    assert found["epsilon_hat increases with r", "corrected"]["ours"] == 0
    assert found["epsilon_hat decreases with lambda", "corrected"]["ours"] == pytest.approx(np.log(2))


def test_margins_of_laws_and_audits():
    laws = pd.DataFrame({"mechanism": ["dirichlet", "dirichlet", "dirichlet", "gaussian", "laplace", "laplace"],
                         "quantity": ["cell 1", "score of r", "divergence", "score of the scale", "cell 1",
                                      "score of the scale"],
                         "p_value": [0.3, 0.2, 0.01, 0.9, 0.04, 0.9],
                         "seen": [np.nan, 0.02, 0.03, 0.015, np.nan, 0.02]})  # fmt: skip
    found = list(agreement._laws(laws))
    assert [row["ours"] for row in found] == pytest.approx([0.4, 0.9, 0.08, 0.01])
    assert [row["sees"] for row in found] == ["r by 2 %", "noise scale by 1.5 %", "noise scale by 2 %", "r by 3 %"]
    table = pd.DataFrame({"order": 2.0, "variant": "corrected", "r": [0.1, 0.1, 0.2, 0.2],
                          "series": ["Algorithm 1", "worst case"] * 2, "epsilon": [3.0, 2.0, 5.0, 4.0]})  # fmt: skip
    assert next(agreement._theorem_1(table))["ours"] == pytest.approx(0.25)


def test_joint_tests_of_theorem_2():
    """Check the p-value P(Bin(10, .1) >= 5) = 0.00163 of the joint test of Theorem 2. In this case, the divergence
    exceeds eta for 5 of 10 draws, and the bound on the probability of this event is 0.1. With a second frequency that
    is not significant, the Bonferroni correction doubles the p-value.
    """
    table = pd.DataFrame({"above": [5, 0], "draws": 10, "bound": [0.1, 0.5]})
    p = 2 * stats.binom(10, 0.1).sf(4)
    assert agreement._not_refuted(table) == pytest.approx(np.log10(p / agreement.REFUTED))


def test_the_bound_of_theorem_2():
    """Check the formulas for beta and for the probability bound in Theorem 2. The frequency is .075 for 3 of 40
    draws.
    """
    table = pd.DataFrame({"alpha": 0.5, "cells": 10, "eta": 0.4, "beta": 22.583, "draws": [20, 20], "above": [1, 2]})
    row = theorem_2.theorem_2(table, alphas=[0.5], cells=[10], etas=[0.4]).iloc[0]
    assert theorem_2.least_beta(10, 0.5, 0.4) == pytest.approx(5 / (np.exp(0.2) - 1))
    bound = np.exp(-22.583 * 0.16 / (2 * 2.4 * 5.2))
    assert (row["frequency"], row["bound"]) == pytest.approx((0.075, bound))
    assert row["mc_se"] == pytest.approx(np.sqrt(max(0.075 * 0.925, bound * (1 - bound)) / 40))
    assert (bool(row["broken"]), bool(row["proved"])) == (False, True)
    assert row["kl_mean"] == pytest.approx(float(Dirichlet(r=2.2583, alpha=0.5).expected_kl(np.ones(10))))


def test_references_of_a_model():
    """Check the reference scores of random guessing and of always predicting the largest class. Random guessing among
    three classes has cross-entropy log 3 and accuracy 1/3. The largest class contains two of four test records and has
    accuracy 1/2.
    """

    class Counts:
        classes, labels = 3, np.array([5.0, 9.0, 1.0])

        def smoothed(self, smoothing):
            return smoothing

    class Test:
        test = np.array([[0, 1], [0, 1], [0, 0], [0, 2]])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive_bayes, "_score", lambda model, *_: [(10 * model, model)])
        rows = naive_bayes._reference(Counts(), Test(), "corrected").set_index(["method", "floor"])
        plain = naive_bayes._reference(Counts(), Test(), "published")
    assert rows.loc[("random", "none"), ["cross_entropy", "accuracy"]].tolist() == pytest.approx([np.log(3), 1 / 3])
    assert rows.loc[("majority", "none"), "accuracy"] == 0.5
    assert rows.loc[("non-private", "0.1"), ["cross_entropy", "accuracy"]].tolist() == [1, 0.1]
    assert rows.loc[("non-private", "1.0"), "accuracy"] == 1
    assert plain.loc[plain["method"] == "non-private", "floor"].tolist() == ["0.1"]


def test_smoothings_of_the_models_without_privacy(monkeypatch):
    """Check the smoothing constants of the non-private models. The published variants use the constant 0.1 printed in
    the paper, and the corrected variant also uses Laplace smoothing with constant 1.
    """
    asked = {}

    class Model:
        nodes = ("a", "b")

        def __init__(self, table, variant):
            self.variant = variant

        def private(self, *given):
            return networks.missing("set", "").head(0)

        def non_private(self, smoothings):
            asked[self.variant] = tuple(smoothings)
            return networks.missing("set", "").head(0)

    monkeypatch.setattr(networks, "Prepared", Model)
    networks.runs(object(), name="set", order=5, epsilons=[1.0], repeats=1, root_seed=1)
    assert asked == {"published": (0.1,), "stated_share": (0.1,), "corrected": (0.1, 1.0)}


@pytest.mark.parametrize("order", [2.0, 5.0])
def test_every_dirichlet_of_a_guarantee_has_the_alpha_of_theorem_1(order):
    """Check that the parameters of the Dirichlet mechanism satisfy alpha = 1 + 4 (order - 1) r, for every method of
    choosing r. The part 4 (order - 1) r follows from the theorem, and the part 1 is the prior.
    """
    size = {"counts": [30, 20, 10], "delta": 1e-5, "least": 1.0, "most": 20.0, "points": 2, "gohari_points": 3}
    table = privacy.figure_3_bottom(orders=[order], **size)
    table = table[~((table["series"] == "Algorithm 1") & (table["variant"] == "published"))]
    assert set(table["series"]) >= {"Gohari et al.", "exact profile", "Algorithm 1"}
    np.testing.assert_allclose(table["alpha"], 1 + 4 * (order - 1) * table["r"], rtol=1e-12)


def test_the_catalogue_has_the_printed_sizes():
    """Check that the numbers of records, attributes and classes and the share of positives in the catalogue are the
    same as in Table 1.
    """
    printed = pd.read_csv(Path(catalogue.__file__).with_name("published.tsv"), sep="\t", dtype=str)
    printed = printed[printed["artefact"] == "table_1"].set_index("quantity")["value"]
    names = ("instances", "attributes", "classes", "percent positive")
    for source in catalogue.SOURCES.values():
        for name, value in zip(names, source.printed, strict=True):
            wanted = printed.get(f"{source.name}: {name}")
            assert value == (None if wanted is None else float(wanted)), (source.name, name)


def scores(*rows, measure="cross_entropy"):
    """Return a table of scores with the columns dataset, method, epsilon, mean and standard error."""
    return pd.DataFrame(rows, columns=["dataset", "method", "epsilon", f"{measure}_mean", f"{measure}_se"])


def widened(n):
    """Return the factor by which standard errors are increased to allow for n comparisons. Two increased standard
    errors have the n-th part of the tail probability of two standard errors.
    """
    return norm.isf(norm.sf(2) / n) / 2


def test_advantage_over_the_best_of_the_others():
    """Check the difference between the loss 2 +- 0.3 and the smallest loss of the competitors, which is 3 +- 0.4. The
    loss 3 is the smaller of the competitors' losses 3 and 5. The gap is 1 +- .5, or log(3/2) +- hypot(.15, .4/3) on the
    log scale.
    """
    table = scores(
        ("A", "dirichlet", 1.0, 2.0, 0.3), ("A", "laplace", 1.0, 3.0, 0.4), ("A", "gaussian", 1.0, 5.0, 0.1),
        ("B", "laplace", 1.0, 3.0, 0.4), ("C", "dirichlet", 1.0, 3.0, 0.4), ("C", "laplace", 1.0, 3.0, 0.4),
    )  # fmt: skip
    found = agreement_models.advantage(table, "cross_entropy", ["laplace", "gaussian"])
    assert found.to_numpy().tolist() == [["A", 1.0, 1.0, pytest.approx(0.5)]]
    logs = agreement_models.advantage(table, "cross_entropy", ["laplace", "gaussian"], relative=True).iloc[0]
    assert (logs["gap"], logs["se"]) == pytest.approx((np.log(1.5), np.hypot(0.15, 0.4 / 3)))


def test_accuracy_counts_the_other_way():
    table = scores(("A", "dirichlet", 1.0, 0.7, 0.03), ("A", "laplace", 1.0, 0.6, 0.04), measure="accuracy")
    assert agreement_models.advantage(table, "accuracy", ["laplace"])["gap"].tolist() == pytest.approx([0.1])


def test_missing_scores_stay_missing():
    table = scores(("A", "dirichlet", 1.0, 2.0, 0.3), ("A", "laplace", 1.0, np.nan, 0.4))
    assert agreement_models.advantage(table, "cross_entropy", ["laplace"])["gap"].isna().all()


def test_points_of_another_guarantee_meet_the_dirichlet_between_its_own():
    """Check the interpolation on the log scale of epsilon_hat between a loss of 4 at epsilon_hat = 1 and a loss of 2 at
    epsilon_hat = e^2. The interpolated loss at epsilon_hat = e is 3, with a standard error of 0.35. The loss 5 +- .12
    at e is therefore worse by 2 +- .37.
    """
    e = np.e
    table = scores(
        ("A", "dirichlet", e**2, 2.0, 0.4), ("A", "dirichlet", 1.0, 4.0, 0.3), ("A", "gohari", e, 5.0, 0.12),
        ("A", "gohari", e**3, 1.0, 0.1), ("A", "gohari", e**2, 2.5, 0.3), ("B", "gohari", e, 5.0, 0.12),
    )  # fmt: skip
    found = agreement_models.at_same_reach(table, "cross_entropy")
    assert found["dataset"].tolist() == ["A", "A"]
    assert found["epsilon"].tolist() == [e, e**2]
    assert found["gap"].tolist() == pytest.approx([2.0, 0.5])
    assert found["se"].tolist() == pytest.approx([0.37, 0.5])


def test_the_worst_row_and_its_widened_error():
    gaps = pd.DataFrame({"gap": [3.0, 1.0, 2.0], "se": [1.0, 0.5, 0.1]})
    assert agreement_models.worst(gaps) == pytest.approx((1.0, 0.5 * widened(3)))
    assert agreement_models.worst(gaps.assign(se=[0.0, 0.5, 0.1])) == pytest.approx((1.0, 0.5 * widened(3)))
    assert agreement_models.worst(gaps.assign(gap=[3.0, 1.0, -2.0], se=[1.0, 0.5, 0.0])) == (-2.0, 0.0)
    assert np.isnan(agreement_models.worst(gaps.assign(se=[1.0, np.nan, 0.1]))).all()
    assert np.isnan(agreement_models.worst(gaps.head(0))).all()


def test_the_least_mean_of_the_sets():
    """Check that `least_mean` selects the data set for which the ratio of the mean gap to its standard error is
    smallest. Data set A has the mean gap (1 + 3)/2 +- hypot(.3, .4)/2, and data set B has the gap 5 +- 1. The result is
    the gap of B, because this gap is only five standard errors above 0.
    """
    gaps = pd.DataFrame({"dataset": ["A", "A", "B"], "gap": [1.0, 3.0, 5.0], "se": [0.3, 0.4, 1.0]})
    assert agreement_models.least_mean(gaps) == pytest.approx((5.0, widened(2)))
    assert agreement_models.least_mean(gaps.assign(gap=[0.0, 0.5, 5.0])) == pytest.approx((0.25, 0.25 * widened(2)))
    assert np.isnan(agreement_models.least_mean(gaps.head(0))).all()


def test_a_share_and_its_binomial_error():
    """Check that 3 of 4 cases give a proportion of 0.75 with the standard error sqrt(.75 x .25/4). For 4 of 4 cases, p
    (1 - p) is replaced by 1/(4 n).
    """
    assert agreement_models.share([True, True, True, False]) == pytest.approx((0.75, np.sqrt(0.75 * 0.25 / 4)))
    assert agreement_models.share([True] * 4) == pytest.approx((1.0, np.sqrt(0.25 / 4 / 4)))
    assert np.isnan(agreement_models.share([])).all()


@pytest.mark.parametrize(("measure", "gap"), [("cross_entropy", -0.3), ("accuracy", 0.3), ("log_likelihood", 0.3)])
def test_losses_count_down_and_scores_up(measure, gap):
    """Check the sign of the difference between 0.9 and 0.6, which depends on whether the two numbers are losses or
    scores. A loss of 0.9 is worse by 0.3, and an accuracy or a likelihood of 0.9 is better by 0.3.
    """
    table = scores(("A", "dirichlet", 1.0, 0.9, 0.03), ("A", "laplace", 1.0, 0.6, 0.04), measure=measure)
    found = agreement_models.advantage(table, measure, ["laplace"]).iloc[0]
    assert (found["gap"], found["se"]) == pytest.approx((gap, 0.05))


def divergences():
    """Return the tables of the figures that show theoretical values, each computed for a few parameter values."""
    size = {"least": 1.0, "most": 30.0, "points": 4}
    return {
        "figure_1": privacy.figure_1(least=0.5, most=3.0, points=4),
        "figure_2": privacy.figure_2(
            total=147, cells=6, r=0.97, order=2.0, least=1e-4, most=1e-2, points=3, rule=privacy.gohari.DEGREE_50_RULE
        ),
        "figure_3_top": privacy.figure_3_top(orders=[2.0, 5.0], least=0.1, most=1.0, points=2),
        "figure_3_bottom": privacy.figure_3_bottom(
            counts=[30, 20, 10], orders=[2.0, 5.0], delta=1e-5, gohari_points=2, **size
        ),
        "figure_8": privacy.figure_8(orders=[2.0, 5.0], delta=1e-5, least=0.1, most=1.0, points=2),
        "theorem_2": theorem_2.theorem_2(
            pd.DataFrame({"alpha": 0.5, "cells": [10, 20], "eta": 0.4, "draws": 40, "above": [3, 0]}).assign(
                beta=lambda t: [theorem_2.least_beta(d, 0.5, 0.4) for d in t["cells"]]
            ),
            alphas=[0.5], cells=[10, 20], etas=[0.4],
        ),
    }  # fmt: skip


@pytest.fixture(scope="module")
def theory():
    return divergences()


OF = {"figure_1": "_figure_1", "figure_2": "_figure_2", "figure_3_bottom": "_figure_3_bottom", "figure_8": "_figure_8"}


@pytest.mark.parametrize(
    ("name", "column", "where"),
    [
        *(("figure_1", column, {}) for column in ("trigamma", "lower", "upper")),
        ("figure_2", "delta", {"variant": "corrected"}),
        ("figure_2", "gamma_for_1e-5", {}),
        *(("figure_3_bottom", column, {"series": "exact profile"}) for column in ("kl_mean", "kl_sd", "kl_uniform")),
        *(("figure_3_bottom", "epsilon_hat", {"series": "Algorithm 1", "variant": "corrected", "order": o})
          for o in (2.0, 5.0)),
        *(("figure_8", "epsilon_hat", {"variant": variant, "order": o})
          for variant in ("corrected", "published") for o in (2.0, 5.0)),
    ],
)  # fmt: skip
def test_a_relative_error_of_a_plotted_value_is_the_left_side(theory, name, column, where):
    """Check that the plotted values agree with the formulas of the paper to 1e-6, and that the left side of the claimed
    equation is 1/8 if one plotted value is an eighth too large.
    """
    check = getattr(laws, OF[name])
    right = check(theory[name])
    assert right["ours"] > 0
    table = theory[name].copy()
    chosen = (table[list(where)] == pd.Series(where)).all(axis=1) if where else table.index >= 0
    place = table.index[chosen][-1]
    table.loc[place, column] *= 1.125
    left = check(table)["left"]
    if column == "gamma_for_1e-5":  # delta is nearly proportional to a power of gamma
        assert left > 0.2
    else:
        assert left == pytest.approx(0.125, rel=1e-4)
    table.loc[place, column] = np.nan
    assert np.isnan(check(table)["ours"])


DRAWN = (("Algorithm 1", "corrected"), ("worst case", "corrected"))
DRAWN += (("divergence", "as_written"), ("divergence", "published"))


@pytest.mark.parametrize(("series", "variant"), DRAWN)
def test_a_relative_error_of_a_divergence_is_the_left_side(theory, series, variant):
    table = theory["figure_3_top"]
    (right,) = laws._figure_3_top(table)
    assert right["ours"] > 0
    place = table.index[(table["series"] == series) & (table["variant"] == variant)][-1]
    (wrong,) = laws._figure_3_top(table.assign(epsilon=table["epsilon"] * (1 - 0.125 * (table.index == place))))
    assert wrong["left"] == pytest.approx(0.125, rel=1e-4)


def test_errors_of_theorem_2(theory):
    table = theory["theorem_2"]
    assert laws._theorem_2(table)["ours"] > 0
    for column in ("bound", "frequency"):
        wrong = table.assign(**{column: table[column] + 0.125 * (table.index == 1)})
        assert laws._theorem_2(wrong)["left"] == pytest.approx(0.125)
    assert np.isnan(laws._theorem_2(table.assign(bound=np.nan))["ours"])


def test_rows_of_lemma_3(theory):
    """Check that equation 13, at the epsilon_hat of equation 14, gives the delta that is used in the figure. If
    epsilon_hat is larger by 0.1 at the order 5, delta by equation 13 is smaller by the factor exp(-0.4). The second row
    is the largest ratio of two values of r.
    """
    first, second = laws._lemma_3(theory["figure_3_bottom"], theory["figure_8"])
    assert first["ours"] > 0
    assert second["ours"] >= 0
    drawn = theory["figure_8"]
    more = drawn.assign(epsilon_hat=drawn["epsilon_hat"] + 0.1 * (drawn["order"] == 5))
    assert next(laws._lemma_3(theory["figure_3_bottom"], more))["left"] == pytest.approx(1 - np.exp(-0.4), rel=1e-4)
    rows = [
        ("Algorithm 1", 2.0, 3.0),
        ("exact profile", 2.0, 4.0),
        ("Algorithm 1", 4.0, 9.0),
        ("exact profile", 4.0, 6.0),
    ]
    rows += [("exact profile", 8.0, 1.0)]
    table = pd.DataFrame(rows, columns=["series", "epsilon_hat", "r"]).assign(order=2.0, variant="corrected")
    assert list(laws._lemma_3(table, drawn))[1]["left"] == pytest.approx(1.5)
    missing = table.assign(r=table["r"].where(table.index > 0))
    assert np.isnan(list(laws._lemma_3(missing, drawn))[1]["ours"])
    none = table[table["series"] == "exact profile"]
    both = pd.concat([none, table[table["epsilon_hat"] == 2].assign(epsilon_hat=3.0).head(1)])
    assert list(laws._lemma_3(both, drawn))[1]["variant"] == "not_run"


def test_the_gaussian_noise_of_a_whole_model():
    """Check the claim about the noise of three Gaussian histograms that are released together. The shift is sqrt(6)/sd
    standard deviations, and delta is Phi(s/2 - e/s) - exp(e) Phi(-s/2 - e/s). The author's formula uses all but one of
    the histograms for epsilon, and all of them for delta.
    """
    e, sd, printed_e = 1.5, 4.0, 3.0
    s = np.sqrt(6) / sd
    delta = norm.cdf(s / 2 - e / s) - np.exp(e) * norm.cdf(-s / 2 - e / s)
    one = printed_e / (2 * np.sqrt(4 * np.log(0.5 / 1e-5)))
    printed_sd = np.sqrt(4 * np.log(2.5 * 3 / 1e-5)) / one
    table = pd.DataFrame({
        "method": ["gaussian", "gaussian", "laplace"], "variant": ["corrected", "published", "corrected"],
        "histograms": 3, "noise_sd": [sd, printed_sd, 1.0], "epsilon": [e, printed_e, 1.0], "delta": [delta, 1e-5, 1.0],
    })  # fmt: skip
    assert laws._gaussian("figure_9", table)["ours"] > 0
    worse = table.assign(delta=table["delta"] * [1 / 1.25, 1, 1])
    assert laws._gaussian("figure_9", worse)["left"] == pytest.approx(0.25)
    wider = table.assign(noise_sd=table["noise_sd"] * [1, 1 / 1.25, 1])
    assert laws._gaussian("figure_10", wider)["left"] == pytest.approx(0.25)
    assert laws._gaussian("figure_9", table[table["method"] == "laplace"])["variant"] == "not_run"


def test_special_functions_against_many_digits():
    """Check the trigamma function, the Rényi divergence, the floor of equation 14 and the calibration at simple values.
    psi'(1) = pi^2/6, psi'(1/2) = pi^2/2. Beta(2, 1) has density 2y, so its divergence of order 2 from Beta(1, 1) is
    log(4/3).
    """
    assert laws.trigamma([1.0, 0.5, 2.0]) == pytest.approx([np.pi**2 / 6, np.pi**2 / 2, np.pi**2 / 6 - 1], rel=1e-14)
    assert laws.trigamma(0.01) == pytest.approx(1e4 + np.pi**2 / 6 - 2 * 1.2020569 * 0.01 + 3 * 1.0823232e-4, rel=1e-8)
    assert laws.renyi([2.0, 1.0], [1.0, 1.0], 2.0) == pytest.approx(np.log(4 / 3))
    assert laws.renyi([2.0, 1.0], [1.0, 1.0], 3.0) == pytest.approx(np.log(2) / 2)  # the mean of (2y)^3 is 2
    # log(1e5)/4 + log(4/5) - log(5)/4
    assert float(laws.floor(5.0, 1e-5)) == pytest.approx(np.log(1e5) / 4 + np.log(0.8) - np.log(5) / 4)
    # (5/2) r^2 2 psi'(1 + 12 r); at r = 1/12, psi'(2) = pi^2/6 - 1
    cost = 5 / 144 * (np.pi**2 / 6 - 1)
    assert float(laws.guarantee(1 / 12, 5.0)) == pytest.approx(cost)
    assert float(laws.guarantee(1 / 12, 5.0, 1.0)) == pytest.approx(cost / 2)
    assert laws.calibrated(cost, 5.0) == pytest.approx((1 / 12, 1 + 16 / 12), rel=1e-9)
    assert laws._proposition_3()["left"] == pytest.approx(1022 * np.log(2) - np.log(2))


def test_moments_of_the_divergence_by_simulation():
    """Check the mean and the standard deviation of D_KL(f || y) for y ~ Dirichlet(0.5 f + 1) against 200,000 draws."""
    f = np.array([6.0, 2.0, 4.0])
    mean, sd = laws.divergence(f, [0.5, 50.0], [1.0, 1.0])
    y = np.random.default_rng(3).dirichlet(0.5 * f + 1, 200_000)
    found = (f / 12 * np.log(f / 12 / y)).sum(axis=1)
    assert mean[0] == pytest.approx(found.mean(), abs=4 * found.std() / 200_000**0.5)
    assert sd[0] == pytest.approx(found.std(), rel=0.02)
    assert mean[1] < mean[0] / 9
    assert sd[1] < sd[0] / 9


def test_a_score_test_by_hand():
    """Check the z score of a score test with the scores 1, 2 and 3 and the information 3, and the minimum detectable
    effect.
    """
    z, p, seen = laws._z(np.array([1.0, 2.0, 3.0]), 3.0, 4)
    assert z == 2
    assert p == pytest.approx(2 * norm.sf(2))
    assert seen == pytest.approx((norm.isf(1e-4 / 4 / 2) + norm.ppf(0.9)) / 3)


def test_a_probability_of_small_cells_by_simulation():
    """Check the probability that at least one of two cells is at most gamma, for Dirichlet(2, 3, 5), by a sum over the
    first cell.
    """
    y = (np.arange(200_000) + 0.5) / 200_000
    mass = np.diff(stats.beta(2, 8).cdf(np.linspace(0, 1, 200_001)))
    given = stats.beta(3, 5).cdf(np.minimum(0.1 / (1 - y), 1))
    wanted = mass @ np.where(y <= 0.1, 1.0, given)
    assert laws._some_below(0.1, 10.0, 0.2, 0.3) == pytest.approx(wanted, abs=2e-6)
    pairs = [laws._some_below(0.1, 10.0, 0.2, other) for other in (0.2, 1 - 0.5 - 0.2)]
    assert laws.some_below(0.1, 10.0, 0.2, 0.5) == max(pairs)


def test_left_ends_of_the_curves():
    """Check the values at the left ends of the plotted curves, which are taken at the smallest order."""
    table = pd.DataFrame({"x": [2.0, 1.0], "trigamma": [0.6, 1.6]})
    gamma = pd.DataFrame(
        {"variant": ["published", "corrected", "corrected"], "gamma": [0.1, 0.3, 0.2], "delta": [1, 2, 3]}
    )
    order = {"order": [5.0, 2.0, 2.0], "r": [0.1, 0.3, 0.2], "variant": ["corrected"] * 3}
    top = pd.DataFrame(order | {"series": "Algorithm 1", "epsilon": [1.0, 2.0, 3.0]})
    top = pd.concat([top.assign(series="worst case", epsilon=9.0, r=0.01), top])
    variants = ["corrected", "published", "published"]
    bottom = pd.DataFrame({"order": 2.0, "variant": variants, "epsilon_hat": [0.1, 0.3, 0.2], "kl_mean": [1.0, 2, 3]})
    last = pd.DataFrame(order | {"epsilon_hat": [1.0, 2.0, 3.0]})
    tables = dict(zip(("figure_1", "figure_2", "figure_3_top", "figure_3_bottom", "figure_8"),
                      (table, gamma, top, bottom, last), strict=True))  # fmt: skip
    rows = list(agreement._theory(tables))
    assert [row["ours"] for row in rows] == [1.6, 3, 3.0, 3.0, 3.0]
    starts = [
        "x = 1",
        "gamma = 0.2",
        "r = 0.2 and lambda = 2",
        "epsilon_hat = 0.2 and lambda = 2",
        "r = 0.2 and lambda = 2",
    ]
    for row, start in zip(rows, starts, strict=True):
        assert f"computed at {start}. " in row["note"]


def test_scores_at_the_middle_budget():
    """Check that the score at the third of four budgets is reported as the score at the middle budget. The printed
    value is a mean of as many releases, so that the error is larger by sqrt(2).
    """
    table = pd.DataFrame({
        "dataset": "A", "method": "dirichlet", "variant": "published", "epsilon": [8.0, 1.0, 2.0, 4.0, np.nan],
        "accuracy_mean": [0.9, 0.6, 0.7, 0.8, 0.1], "accuracy_se": [0.1, 0.2, 0.3, 0.4, 0.5],
    })  # fmt: skip
    others = [table.assign(dataset="B"), table.assign(method="laplace"), table.assign(variant="corrected")]
    row = agreement._curve("figure_5", pd.concat([*others, table]), "A", "accuracy")
    assert (row["ours"], row["mc_se"], row["variant"]) == (0.8, pytest.approx(0.4 * np.sqrt(2)), "published")
    assert (
        "0.8 at the budget 4. At the smallest budget, 1, it is 0.6, and at the largest budget, 8, it is 0.9"
        in row["note"]
    )
    assert agreement._curve("figure_5", table, "C", "accuracy")["note"] == claims.ABSENT
    assert agreement._curve("figure_5", table.tail(1), "A", "accuracy")["variant"] == "not_run"


def test_nodes_and_edges_of_the_networks():
    table = pd.DataFrame(
        {"dataset": catalogue.NETWORKS[0], "node": ["a", "b", "c", "c"], "parent": ["", "a", "a", "b"]}
    )
    rows = ours(agreement._networks(table))
    assert rows[f"{catalogue.NETWORKS[0]}: nodes", "corrected"]["ours"] == 3
    edges = rows[f"{catalogue.NETWORKS[0]}: edges", "corrected"]
    assert edges["ours"] == 3
    assert edges["note"].endswith("are a > b, a > c, b > c.")
    assert rows[f"{catalogue.NETWORKS[1]}: edges", "corrected"]["ours"] == 0


def test_rows_of_table_1():
    """Check the rows of Table 1 for data sets of three kinds: read, missing for a stated reason, and not part of the
    run.
    """
    columns = {"instances": 10.0, "attributes": 4.0, "classes": 2.0, "positive_percent": 25.0}
    table = pd.DataFrame(
        [{"dataset": "Adult", "note": ""} | columns, {"dataset": "Bank", "note": "no network"} | columns]
    )
    rows = {row["quantity"]: row for row in agreement._table_1(table)}
    assert rows["Adult: instances"]["ours"] == 10
    assert rows["Adult: percent positive"]["ours"] == 25
    assert "education-num" in rows["Adult: attributes"]["note"]
    assert rows["Adult: classes"]["note"] == "The number was counted in the file of the UCI repository."
    assert (rows["Bank: classes"]["variant"], rows["Bank: classes"]["note"]) == ("not_run", "no network")
    assert rows["Spam: classes"]["note"] == claims.ABSENT
    positive = {name for name, source in catalogue.SOURCES.items() if source.positive}
    assert {q.partition(":")[0] for q in rows if q.endswith("percent positive")} == positive
    assert positive < set(catalogue.SOURCES)


def test_rows_of_the_audits_and_of_the_introduction():
    """Check the smallest ratio of claimed to exact epsilon for each mechanism, and the ratio of the KL sums 0.5 and
    0.2.
    """
    names = [("Dirichlet", "Algorithm 1"), ("Gaussian", "variance order/epsilon"), ("Laplace", "one cell moves by 1"),
             ("Laplace", "one cell moves by 2")]  # fmt: skip
    table = pd.concat([
        pd.DataFrame({"mechanism": m, "calibration": c, "claimed": [4.0, 3], "exact": [2.0, 2 + n], "order": [5.0, 2]})
        for n, (m, c) in enumerate(names)
    ])  # fmt: skip
    rows = list(agreement._audits(table))
    assert [row["left"] for row in rows] == [1.5, 1.0, 0.75, 0.6]
    assert [row["variant"] for row in rows] == ["as_written", "as_written", "as_written", "published"]
    assert all("at order 2, 5, with the calibration" in row["note"] for row in rows)
    loss = "loss of a probability of 0.1 relative to 0.4"
    values = [("z1", "L1", 0.3), ("z1", "KL sum", 0.2), ("z2", "L1", 0.4), ("z2", "KL sum", 0.5), ("none", loss, 2.6)]
    table = pd.DataFrame(values, columns=["noise", "quantity", "value"])
    rows = {row["quantity"]: row for row in agreement._introduction(table)}
    assert rows["ratio of the KL sums"]["ours"] == 2.5
    assert [rows[f"{what} under {z}"]["ours"] for z in ("z1", "z2") for what in ("L1 distance", "KL sum")] == [
        *(0.3, 0.2, 0.4, 0.5)
    ]
    assert rows[loss]["ours"] == pytest.approx(0.1)
    for ratio, margin in ((2.9, 0.1), (3.2, -0.2), (2.4, -0.1)):
        table.loc[4, "value"] = ratio
        assert list(agreement._introduction(table))[-1]["ours"] == pytest.approx(margin)


def test_theorem_2_is_judged_separately_below_a_half():
    table = pd.DataFrame({"alpha": [0.4, 0.5, 0.6], "above": [5, 0, 5], "draws": 10, "bound": [0.1, 0.9, 1.5]})
    below, other = agreement._theorem_2(table)
    p = stats.binom(10, 0.1).sf(4)
    assert below["ours"] == pytest.approx(np.log10(p / 0.001))
    assert other["ours"] == pytest.approx(3)  # a bound above 1 and a frequency of 0 have the p-value 1
    assert "The proof omits" in below["note"]
    assert "of 2 exact binomial tests" in other["note"]
    none = next(agreement._theorem_2(table[table["alpha"] >= 0.5]))
    assert none["variant"] == "not_run"
    impossible = table.assign(above=10, draws=10, bound=1e-60)
    assert next(agreement._theorem_2(impossible))["ours"] == pytest.approx(-297)  # at least 1e-300
    assert np.isnan(next(agreement._theorem_2(table.assign(bound=np.nan)))["ours"])
