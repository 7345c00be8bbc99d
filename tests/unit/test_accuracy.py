"""Tests for random changes of the library that no other test detected: bounds, synthetic values, accuracy."""

import inspect
import re
from importlib import import_module
from pkgutil import walk_packages
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpmultinomial as dpm
from dpmultinomial import _accuracy
from dpmultinomial._accuracy import Accuracy
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._models._support import SupportFromData
from dpmultinomial._models.coded_table import encode, examine
from dpmultinomial._models.naive_bayes import PrivateNaiveBayes
from dpmultinomial._models.private_network import PrivateBayesianNetwork
from dpmultinomial._posteriors.censored import censored_statistics
from dpmultinomial._posteriors.censored import censored_statistics as cs
from dpmultinomial._posteriors.censored.normal_model import Prior
from dpmultinomial._posteriors.published import counts
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.published.priors import Splits as Uniform
from dpmultinomial._posteriors.published.tied_windows import Leaves as OfCounts
from dpmultinomial._posteriors.swapping.unknown_rate import RateLaw
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import Leaves, Tree
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._releases import _statistics
from dpmultinomial._seeding import stream
from reproduction.papers.pan2023.algorithms import swapping_audit


def test_the_error_of_the_law_is_that_of_the_rows_that_were_drawn():
    """Check where it is not 0: 200 records on one side of the middle. The rows are rebuilt from the draws shown."""
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
    expected, checks = censored_statistics.total_variation(mean, sse, counts)
    assert ours.law_error == pytest.approx(expected, rel=1e-6)
    assert ours.law_error > 1e-6
    assert ours.checks == checks
    assert ours.accuracy.error == ours.law_error


def test_intervals_without_a_stated_level_have_probability_095():
    """Every function and method of the library with a default level; the counts of additive releases have 0.9."""
    names = [part.name for part in walk_packages(dpm.__path__, "dpmultinomial.") if "__main__" not in part.name]
    found = {}
    for module in map(import_module, names):
        own = [one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__]
        methods = [method for one in own if inspect.isclass(one) for method in vars(one).values()]
        for function in filter(inspect.isfunction, [*own, *methods]):
            level = inspect.signature(function).parameters.get("level")
            if level is not None and isinstance(level.default, float):
                found[f"{module.__name__.rpartition('.')[2]}.{function.__qualname__}"] = level.default
    others = {name: level for name, level in found.items() if level != 0.95}
    assert others == {"additive_counts.AdditivePosterior.interval": 0.9}
    assert len(found) > 30


def test_synthetic_numbers_lie_in_the_middle_of_bins_between_their_bounds():
    """Check bounds -3 and 4 with 7 bins: midpoints -2.5, -1.5, .. 3.5, for any lower bound."""
    frame = pd.DataFrame({"wide": np.linspace(-3, 4, 400), "few": np.arange(400) % 2})
    model = PrivateBayesianNetwork(
        {"few": (), "wide": ("few",)}, levels={"few": [0, 1]}, bounds={"wide": (-3.0, 4.0)}, bins=7,
        mechanism="none", random_state=0,
    ).fit(frame)  # fmt: skip
    found = model.sample(2000, rng=stream(1, "synthetic"))["wide"]
    assert sorted(set(found.round(9))) == [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]


STATES = [
    Accuracy("exact"),
    Accuracy("approximate", 1e-9, "law"),
    Accuracy("approximate", 1e-3, "law"),
    Accuracy("approximate", float("nan"), "law"),
    Accuracy("converged", float("nan"), "chain"),
    Accuracy("not converged", float("nan"), "chain"),
]


def test_the_worst_of_several_states_is_the_last_word_and_the_largest_error():
    for i in range(len(STATES)):
        for j in range(i + 1):
            assert _accuracy.worst([STATES[i], STATES[j]]) is STATES[i]
            assert _accuracy.worst([STATES[j], STATES[i]]) is STATES[i]


def test_a_standard_error_is_half_over_the_root():
    assert _accuracy.standard_error(400.0) == 0.025
    assert np.isnan(_accuracy.standard_error(0.0))


def test_chains_pass_at_the_limits_and_know_no_error():
    good = _accuracy.of_chains([400.0, 900.0], [1.01, 1.0])
    assert (good.status, np.isnan(good.error)) == ("converged", True)
    assert _accuracy.of_chains([399.9, 900.0], [1.0]).status == "not converged"
    assert _accuracy.of_chains([900.0], [1.0, 1.0101]).status == "not converged"


def test_a_summary_has_one_state_a_row():
    given = {"mean": [1.0, 2.0], "sd": [0.1, 0.2], "lower": [0.5, 1.0], "upper": [1.5, 2.0], "level": 0.9}
    found = _accuracy.summary_frame(["a", "b"], **given, status=STATES[:2])
    assert found["status"].tolist() == ["exact", "approximate"]
    assert found["error"].tolist() == [0.0, 1e-9]
    assert _accuracy.summary_frame(["a", "b"], **given, status=STATES[2])["error"].tolist() == [1e-3, 1e-3]
    with pytest.raises(
        ValueError,
        match="status must be a single Accuracy or a list with one Accuracy per quantity, got 3 values for 2",
    ):
        _accuracy.summary_frame(["a", "b"], **given, status=STATES[:3])
    with pytest.raises(ValueError, match="lower must be <= upper"):
        _accuracy.summary_frame(["a", "b"], **given | {"lower": [0.5, 2.5]}, status=STATES[0])


@pytest.mark.parametrize("error", [-1e-300, -1.0])
def test_an_error_is_not_negative(error):
    with pytest.raises(ValueError, match="error must be >= 0"):
        Accuracy("approximate", error, "law")


@pytest.mark.parametrize(
    "question", ["0.5 * a + 0.2 * b > 0.3 * c", "0.5 * a + 0.25 * b >= c + 1", "0.25 * a - 0.2 * b + 0.5 * c < 1.5"]
)
def test_sums_of_different_fractions_are_summed_exactly(question):
    """Check three independent counts with weights exp(-|y - n|/2), listing all vectors up to 60."""
    posterior = counts.posterior({"a": 6.0, "b": 4.0, "c": 5.0}, noise=dpm.DiscreteLaplace(scale=2.0), prior="flat")
    n = np.arange(60)
    a, b, c = np.meshgrid(n, n, n, indexing="ij", sparse=True)
    p = np.exp(-(np.abs(a - 6) + np.abs(b - 4) + np.abs(c - 5)) / 2.0)
    found = posterior.probability(question)
    true = {
        "0.5 * a + 0.2 * b > 0.3 * c": 5 * a + 2 * b > 3 * c,
        "0.5 * a + 0.25 * b >= c + 1": 2 * a + b >= 4 * c + 4,
        "0.25 * a - 0.2 * b + 0.5 * c < 1.5": 5 * a - 4 * b + 10 * c < 30,
    }[question]
    assert found.accuracy.status == "exact"
    assert float(found) == pytest.approx(p[np.broadcast_to(true, p.shape)].sum() / p.sum(), abs=1e-9)


def test_what_a_classifier_adds_to_every_count_is_one():
    """Check the non-private model: P(class) = (n_c + 1)/(n + 2), P(value | class) = (n_cv + 1)/(n_c + 3)."""
    X, y = np.array([[0], [0], [1], [2], [2], [2]]), np.array(["no", "no", "no", "no", "yes", "yes"])
    model = PrivateNaiveBayes(mechanism="none", levels={0: [0, 1, 2]}, classes=["no", "yes"]).fit(X, y)
    assert np.exp(model.class_log_prior_) == pytest.approx([5 / 8, 3 / 8])
    assert np.exp(model.feature_log_prob_[0]) == pytest.approx(
        np.array([[3 / 7, 1 / 5], [2 / 7, 1 / 5], [2 / 7, 3 / 5]])
    )
    network = PrivateBayesianNetwork(
        {"y": (), "x": ("y",)}, levels={"x": [0, 1, 2], "y": ["no", "yes"]}, mechanism="none"
    ).fit(pd.DataFrame({"x": X[:, 0], "y": y}))
    drawn = network.sample(40_000, rng=stream(1, "smoothed"))
    for value, expected in zip((0, 1, 2), (3 / 7, 2 / 7, 2 / 7), strict=True):
        found = (drawn.loc[drawn["y"] == "no", "x"] == value).mean()
        assert abs(found - expected) < 5 * np.sqrt(expected * (1 - expected) / 24_000)  # false alarm 6e-7 each


def test_an_audit_of_swapping_stops_at_sixty_records():
    for n in (1, 61):
        with pytest.raises(ValueError, match=f"n must be .*{n}"):
            swapping_audit.two_by_two(n, rate=0.1)


@pytest.mark.parametrize(("few", "said"), [(4, True), (5, False), (6, False)])
def test_a_class_is_rare_below_five_records(few, said):
    frame = pd.DataFrame({"x": np.arange(30) % 3, "y": ["a"] * few + ["b"] * (30 - few)})
    table = encode(frame, name="f", target="y", numeric=["x"])
    found = [finding for finding in examine(table) if finding.kind == "rare class"]
    assert [f"class 'a' has only {few} record" in finding.text for finding in found] == [True] * said


def test_columns_whose_support_was_taken_from_the_records_are_counted():
    """Check twenty-five columns without levels: the first are named, the others counted."""
    frame = pd.DataFrame({f"c{i}": np.arange(40) % 2 for i in range(25)})
    with pytest.warns(SupportFromData) as caught:
        PrivateNaiveBayes(classes=[0, 1], random_state=1).fit(frame, np.arange(40) % 2)
    (text,) = [str(w.message) for w in caught if issubclass(w.category, SupportFromData)]
    named = re.findall(r"c\d+", text)
    assert f"and {25 - len(named)} more" in text
    assert 1 < len(named) < 25


@pytest.mark.parametrize("scale", [0.7, 2.0, 30.0])
def test_a_leaf_that_only_wide_noise_holds_is_answered(scale):
    """Check two leaves with only one value with Laplace noise each: exp(-|y - n|/scale), n >= 0."""
    law = law_of({"law": "laplace", "scale": scale})
    found = infer(Measurements(Tree([-1, 0, 0]), [1, 2], [5.25, 3.5], [law, law]), prior=Leaves("flat"))
    n = np.arange(3000)
    for node, y in ((1, 5.25), (2, 3.5)):
        p = np.exp(-np.abs(y - n) / scale)
        assert found.mean[node] == pytest.approx(n @ p / p.sum(), rel=1e-9)


def test_what_windows_of_leaves_neglect_is_a_geometric_tail():
    """Weights a^|n - 60|, a = exp(-1/2): a^(60 - low + 1)/(1 - a) below, though counts end at 0, and as much above, or
    nothing where the bound of the count ends the window; over what is inside."""
    law, a = law_of({"law": "discrete_laplace", "scale": 2.0}), np.exp(-0.5)
    for upper in (np.inf, 66.0):
        leaves = OfCounts.of(cells_of([60.0], law, upper=upper), [Uniform(1.0)], 5.0)
        low, high = int(leaves.low[0]), int(leaves.low[0] + leaves.width[0]) - 1
        assert 0 < low < 54
        assert high == 66 if upper == 66 else high > 66
        inside = (a ** np.abs(np.arange(low, high + 1) - 60.0)).sum()
        outside = (a ** (60 - low + 1) + (0 if upper == 66 else a ** (high - 60 + 1))) / (1 - a)
        assert leaves.neglected(0.0) == pytest.approx(outside / inside, rel=1e-9)


def test_gauss_rule_of_a_law_of_three_rates_is_that_law():
    """Check that for any number of requested nodes, three rates have three orthogonal polynomials."""
    law = RateLaw(lambda rate: 0.0, 1.0, 1.0)
    law.__dict__["_discrete"] = np.array([0.1, 0.5, 0.8]), np.array([0.2, 0.3, 0.5])
    for size in (3, 6):
        rates, weights = law.nodes(size)
        assert rates == pytest.approx([0.1, 0.5, 0.8])
        assert weights == pytest.approx([0.2, 0.3, 0.5])


def test_a_release_of_statistics_has_a_largest_number_of_records(monkeypatch):
    for most, refused in ((5, True), (6, False), (7, False)):
        monkeypatch.setattr(_statistics, "MOST_RECORDS", most)
        table = SimpleNamespace(name="t", numbers=lambda _: np.arange(6.0))
        settings = {"column": "x", "lower": 1.0, "upper": 1.0}
        with pytest.raises(_statistics.Refused) as caught:  # what comes next is refused in all three
            _statistics.censored(settings, table)
        assert ("must have 4 to" in str(caught.value)) == refused


def test_the_sample_size_of_alternating_chains_is_at_most_n_log10_n():
    """Check two chains with the autocorrelation (-0.9)^k; the mean is as precise as that of 19 n independent draws."""
    x = stream(1, "alternating").standard_normal((2, 300))
    for t in range(1, 300):
        x[:, t] -= 0.9 * x[:, t - 1]
    assert _accuracy.bulk_ess(x) == _accuracy.mean_ess(x) == pytest.approx(600 * np.log10(600), rel=1e-12)
