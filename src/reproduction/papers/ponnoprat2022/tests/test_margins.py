"""Check margins of claims about several methods, data sets and budgets on a table small enough for
calculation by hand.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from reproduction.papers.ponnoprat2022 import agreement_models


def scores(*rows, measure="cross_entropy"):
    """Return a table with the columns dataset, method, epsilon, mean and standard error."""
    return pd.DataFrame(rows, columns=["dataset", "method", "epsilon", f"{measure}_mean", f"{measure}_se"])


def widened(n):
    """Return the factor of the error for n rows, for which two increased errors have the n-th part of the tail
    probability of two errors.
    """
    return norm.isf(norm.sf(2) / n) / 2


def test_advantage_over_the_best_of_the_others():
    """Check that losses 2 +- .3 and 3 +- .4 (the smaller of the competitors' 3 and 5) differ by 1 +- .5, or in logs by
    log(3/2) +- hypot(.15, .4/3).
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
    """Check that the losses 4 at 1 and 2 at e^2 are interpolated as 3 at e, with an error of .35, so that 5 +- .12 is
    worse by 2 +- .37.
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
    """Check the margins of data set A, (1 + 3)/2 +- hypot(.3, .4)/2, and B, 5 +- 1, of which B is worse since it is
    only five errors from 0.
    """
    gaps = pd.DataFrame({"dataset": ["A", "A", "B"], "gap": [1.0, 3.0, 5.0], "se": [0.3, 0.4, 1.0]})
    assert agreement_models.least_mean(gaps) == pytest.approx((5.0, widened(2)))
    assert agreement_models.least_mean(gaps.assign(gap=[0.0, 0.5, 5.0])) == pytest.approx((0.25, 0.25 * widened(2)))
    assert np.isnan(agreement_models.least_mean(gaps.head(0))).all()


def test_a_share_and_its_binomial_error():
    """Check that 3 of 4 are a share of .75 +- sqrt(.75 .25/4), and that for 4 of 4, p (1 - p) is
    replaced by 1/(4 n).
    """
    assert agreement_models.share([True, True, True, False]) == pytest.approx((0.75, np.sqrt(0.75 * 0.25 / 4)))
    assert agreement_models.share([True] * 4) == pytest.approx((1.0, np.sqrt(0.25 / 4 / 4)))
    assert np.isnan(agreement_models.share([])).all()


@pytest.mark.parametrize(("measure", "gap"), [("cross_entropy", -0.3), ("accuracy", 0.3), ("log_likelihood", 0.3)])
def test_losses_count_down_and_scores_up(measure, gap):
    """Check that, for 0.9 compared with 0.6, a loss is worse by 0.3, and an accuracy or a likelihood is
    better by 0.3.
    """
    table = scores(("A", "dirichlet", 1.0, 0.9, 0.03), ("A", "laplace", 1.0, 0.6, 0.04), measure=measure)
    found = agreement_models.advantage(table, measure, ["laplace"]).iloc[0]
    assert (found["gap"], found["se"]) == pytest.approx((gap, 0.05))
