"""Test censored-sample scenarios with almost no noise by comparing their results with the posterior given the exact
statistics. The comparison that ignores the noise is also tested.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from dpmultinomial._posteriors.censored.normal_model import Prior
from reproduction import kind
from reproduction.config import config, scenario_settings
from reproduction.scenarios import making, sentences
from reproduction.scenarios.censored_sample import answer, rules

STATED = {
    **{"kind": "censored_sample", "statistics": {"mean": 0.43, "sse": 741.2, "low": 18.6, "high": 31.0}},
    **{"records": 1000, "lower": -2.0, "upper": 2.0, "epsilon": 2.0},
}


def made(folder, **settings):
    scenario = scenario_settings.single("mine", {**STATED, **settings}, kind.discover())
    files = making.files("mine", folder)
    making.part(scenario, files, root_seed=1)
    return making.read(files)


def test_rows_and_what_stands_apart(tmp_path):
    asked = {"q": {"difference": ["mu", "sigma2"]}, "s": {"about": "counts", "sum": ["below", "above"]}}
    rows, comparison, facts = made(tmp_path, questions=asked)
    assert rows[["quantity", "type"]].values.tolist() == [
        ["mu", "parameter"], ["sigma2", "parameter"], ["below", "count"], ["above", "count"],
        ["q", "question"], ["s", "question"],
    ]  # fmt: skip
    answers = [sentences.sentence(row, facts, facts["points"][0]) for row in rows.iloc[4:].itertuples()]
    assert answers[0].startswith("q: mu minus sigma2 is between ")
    assert answers[1].startswith("s: the total count of below and above is between ")
    assert set(rows["status"]) == {"converged"}
    assert set(comparison["status"]) == {"for comparison"}
    assert "ignoring the noise" in set(comparison["analysis"])
    # the default prior of the limits -2 and 2 is N(0, 2^2) and IG(1, 4^2/100); a weaker prior has half the information
    weaker = f"with a weaker prior, {Prior(0.0, 16.0, 0.5, 0.08)!r}"
    assert set(comparison["analysis"]) == {weaker, "ignoring the noise"}
    point = facts["points"][0]
    assert point["scales"]["mean"] == pytest.approx(16.988 / 2, rel=1e-4)  # the paper's sensitivity for these limits
    # with the default prior, whose shape is 1, sigma2 and mu minus sigma2 have no finite mean
    assert rows["mean"].iloc[[1, 4]].tolist() == [float("inf"), -float("inf")]
    assert rows["sd"].iloc[[1, 4]].tolist() == [float("inf")] * 2
    assert "the posterior mean is infinite." in sentences.sentence(list(rows.itertuples())[1], facts, point)
    assert " ".join(sentences.accuracy(point)).lower().count("no conflict between the prior and the release") == 1
    said = sentences.sentence(next(rows.itertuples()), facts, point)
    assert said.startswith("The mean mu of the normal distribution of the records is between ")
    assert "[-2, 2]" in sentences.assumptions(facts, point)[2]


def test_without_noise_the_counts_are_those_released(tmp_path):
    rows, _, _ = made(tmp_path, epsilon=None, scales=dict.fromkeys(("mean", "sse", "low", "high"), 1e-3),
                      statistics={"mean": 0.1, "sse": 700.0, "low": 20, "high": 30})  # fmt: skip
    found = rows.set_index("quantity")
    assert (found.loc["below", "lower"], found.loc["below", "upper"]) == (20, 20)
    assert (found.loc["above", "lower"], found.loc["above", "upper"]) == (30, 30)
    assert found.loc["mu", "mean"] == pytest.approx(0.12, abs=0.1)


@pytest.fixture(autouse=True)
def _without_nothing(monkeypatch):
    """Remove settings with the value None in every test of this module."""
    single = scenario_settings.single
    clean = lambda name, written, kinds: single(name, {k: v for k, v in written.items() if v is not None}, kinds)  # noqa: E731
    monkeypatch.setattr(scenario_settings, "single", clean)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lower": 2.0}, "mine.lower: must be below upper, got lower = 2.0 and upper = 2.0"),
        ({"records": None}, "mine.records: is missing"),
        ({"epsilon": None}, "mine: a scenario must contain epsilon"),
        ({"statistics": {"mean": 0.4}}, "mine.statistics: missing keys: sse, low, high"),
        ({"questions": {"q": {"probability": "mi > 0", "about": "parameters"}}}, "mine.questions.q: unknown name 'mi'"),
        ({"questions": {"q": {"sum": ["below", "above"]}}}, "unknown name 'below': the known names are mu, sigma2"),
    ],
)
def test_mistakes(change, said):
    with pytest.raises(config.ConfigError) as caught:
        scenario_settings.single("mine", {**STATED, **change}, kind.discover())
    assert said in str(caught.value)


@pytest.mark.parametrize(("shape", "infinite"), [(0.5, True), (1.0, True), (1.1, False)])
def test_a_mean_of_sigma2_that_does_not_exist_is_stated(shape, infinite):
    """The release has a positive density as sigma2 grows, so the posterior density falls like sigma2^(-shape0 - 1)."""
    scales = dict.fromkeys(("mean", "sse", "low", "high"), 1.0)
    point = {"records": 10, "lower": 0.0, "upper": 1.0, "scales": scales, "prior": {"shape0": shape}}
    assert any("no finite mean" in text for text in rules.assumptions(point)) == infinite


@pytest.mark.parametrize(("used", "scale", "cost"), [(None, 8.494, 2.0), (8.494, 4.247, 4.0), (33.976, 16.988, 2.0)])
def test_the_cost_of_a_release_with_a_stated_sensitivity(used, scale, cost):
    """Check the noise and the cost for the sensitivity 16.988 of these limits. A smaller stated sensitivity gives less
    noise and a larger cost. A larger one gives more noise, and the stated epsilon remains an upper bound.
    """
    settings = STATED | ({} if used is None else {"sensitivity": used})
    release, facts = answer._release(SimpleNamespace(settings=settings, release=None))
    assert release.mechanism.scale == pytest.approx((scale,) * 4, rel=1e-4)
    assert facts["cost"]["epsilon"] == pytest.approx(cost, rel=1e-4)


def test_a_rehearsal_measures_each_statistic_with_a_quarter_of_epsilon():
    """A record that is replaced changes each number of censored records by at most 1, so its noise has the scale 2."""
    settings = STATED | {"rehearsal": {"records": 50, "mu": 0.0, "sigma2": 1.0}, "epsilon": 2.0}
    case = SimpleNamespace(settings=settings, release=None, rng=np.random.default_rng(1))
    release, facts = answer._release(case)
    assert release.mechanism.scale[2:] == pytest.approx((2.0, 2.0))
    assert facts["cost"] == {"epsilon": 2.0, "relation": "replace a record"}
