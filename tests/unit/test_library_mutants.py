"""What random changes of the library survived: bounds from wrong rows, units of synthetic values, code of honesty."""

import numpy as np
import pandas as pd
import pytest

from dpmultinomial import _honesty
from dpmultinomial._honesty import Honesty
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._models.private_network import PrivateBayesianNetwork
from dpmultinomial._posteriors.censored import _inside_error
from dpmultinomial._posteriors.censored import censored_statistics as cs
from dpmultinomial._posteriors.censored.normal_prior import Prior
from dpmultinomial._seeding import stream


def test_the_error_of_the_law_is_that_of_the_rows_that_were_drawn():
    """Where it is not 0: 200 records on one side of the middle. The rows are rebuilt from the draws that are shown."""
    n, lower, upper = 200, 0.5, 4.0
    half, middle = (upper - lower) / 2, (lower + upper) / 2
    x = stream(1, "law error").standard_normal(n)
    z = CensoredStatistics(lower=lower, upper=upper).of(x) + stream(2, "law error").laplace(0, 2.0, 4)
    ours = cs.sample(
        z, n=n, lower=lower, upper=upper, scale=2.0, prior=Prior(0.2, 0.09, 10.0, 9.0), draws=500,
        rng=stream(3, "law error"),
    )  # fmt: skip
    rows = ours.statistics.reshape(-1, 4)
    rows = rows[np.linspace(0, len(rows) - 1, 400).astype(int)]
    counts = (n - rows[:, 2] - rows[:, 3]).astype(np.int64)
    mean, sse = (rows[:, 0] - middle) / half, rows[:, 1] / half**2
    expected, checks = _inside_error.total_variation(mean, sse, counts)
    assert ours.law_error == pytest.approx(expected, rel=1e-6)
    assert ours.law_error > 1e-6
    assert ours.checks == checks
    assert ours.honesty.error == ours.law_error


def test_synthetic_numbers_lie_in_the_middle_of_bins_between_their_bounds():
    """Bounds -3 and 4 and 7 bins: middles -2.5, -1.5, .. 3.5, however far from 0 the lower bound is."""
    frame = pd.DataFrame({"wide": np.linspace(-3, 4, 400), "few": np.arange(400) % 2})
    model = PrivateBayesianNetwork(
        {"few": (), "wide": ("few",)}, levels={"few": [0, 1]}, bounds={"wide": (-3.0, 4.0)}, bins=7,
        mechanism="none", random_state=0,
    ).fit(frame)  # fmt: skip
    found = model.sample(2000, rng=stream(1, "synthetic"))["wide"]
    assert sorted(set(found.round(9))) == [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]


STATES = [
    Honesty("exact"),
    Honesty("approximate", 1e-9, "law"),
    Honesty("approximate", 1e-3, "law"),
    Honesty("approximate", float("nan"), "law"),
    Honesty("converged", float("nan"), "chain"),
    Honesty("not converged", float("nan"), "chain"),
]


def test_the_worst_of_several_states_is_the_last_word_and_the_largest_error():
    for i in range(len(STATES)):
        for j in range(i + 1):
            assert _honesty.worst([STATES[i], STATES[j]]) is STATES[i]
            assert _honesty.worst([STATES[j], STATES[i]]) is STATES[i]


def test_a_standard_error_is_half_over_the_root():
    assert _honesty.standard_error(400.0) == 0.025
    assert np.isnan(_honesty.standard_error(0.0))


def test_chains_pass_at_the_limits_and_know_no_error():
    good = _honesty.of_chains([400.0, 900.0], [1.01, 1.0])
    assert (good.word, np.isnan(good.error)) == ("converged", True)
    assert _honesty.of_chains([399.9, 900.0], [1.0]).word == "not converged"
    assert _honesty.of_chains([900.0], [1.0, 1.0101]).word == "not converged"


def test_a_summary_has_one_state_a_row():
    given = {"mean": [1.0, 2.0], "sd": [0.1, 0.2], "lower": [0.5, 1.0], "upper": [1.5, 2.0], "level": 0.9}
    found = _honesty.summary_frame(["a", "b"], **given, status=STATES[:2])
    assert found["status"].tolist() == ["exact", "approximate"]
    assert found["error"].tolist() == [0.0, 1e-9]
    assert _honesty.summary_frame(["a", "b"], **given, status=STATES[2])["error"].tolist() == [1e-3, 1e-3]
    with pytest.raises(ValueError, match="one for all or one a quantity, got 3 for 2"):
        _honesty.summary_frame(["a", "b"], **given, status=STATES[:3])
    with pytest.raises(ValueError, match="lower must be at most upper"):
        _honesty.summary_frame(["a", "b"], **given | {"lower": [0.5, 2.5]}, status=STATES[0])


@pytest.mark.parametrize("error", [-1e-300, -1.0])
def test_an_error_is_not_negative(error):
    with pytest.raises(ValueError, match="error must be >= 0"):
        Honesty("approximate", error, "law")
