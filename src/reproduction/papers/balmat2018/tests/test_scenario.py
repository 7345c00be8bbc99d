"""A scenario says what it assumes, and is right whatever it is about."""

import numpy as np
import pytest
from scipy.stats import beta

from dpmultinomial._files.published import open_release
from dpmultinomial._mechanisms.discrete_gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.discrete_laplace import DiscreteLaplace
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import laplace_multinomial
from dpmultinomial._releases.room import make
from dpmultinomial._seeding import stream
from reproduction import style
from reproduction.papers.balmat2018 import figures, release_fit, scenario


def rows(table, statistic="summary"):
    return table[table["statistic"] == statistic].set_index("quantity")


def rehearsed(**changes):
    asked = {"epsilon": 1.0, "given": ["S1", "S0"], "thresholds": [0.5], "rng": stream(7, "scenario")} | changes
    return scenario.table(rehearsal={"counts": [15, 30, 5]}, **asked)


def made(folder, settings, text="category,count\nmet,15\nnot met,30\nfailed,5\n"):
    (folder / "confidential").mkdir(mode=0o700)
    (folder / "confidential/mine.csv").write_text(text)
    return open_release(make("mine", {"data": "confidential/mine.csv", **settings}, root=folder))


def test_a_rehearsal_is_the_scenario_of_its_own_noisy_counts_and_says_what_it_is():
    first = rehearsed()
    noisy = rows(first)["released"][["S1", "S0", "Serr"]].tolist()
    asked = {"total": 50, "epsilon": 1.0, "given": ["S1", "S0"], "thresholds": [0.5], "rng": stream(8, "other")}
    again = scenario.table(noisy_counts=noisy, **asked)
    numbers = ["released", "mean", "sd", "mode", "lower", "upper", "level", "x", "density"]
    assert np.array_equal(first[numbers].to_numpy(float), again[numbers].to_numpy(float), equal_nan=True)
    assert rows(first)["note"].str.contains("can be repeated by anyone; not a release").all()
    assert not rows(again)["note"].str.contains("rehearsal").any()


def test_the_answers_come_first_one_row_a_quantity():
    table = rehearsed()
    assert table["quantity"].head(5).tolist() == ["S1", "S0", "Serr", "S1 | S1, S0", "S0 | S1, S0"]
    assert table["statistic"].drop_duplicates().tolist() == ["summary", "probability", "check", "density"]
    words = rows(table).loc["S1", "note"]
    for part in ("laplace noise of scale 2", "epsilon = 1", "sensitivity 2", "prior Dirichlet(1, 1, 1)", "Jeffreys"):
        assert part in words
    assert set(rows(table)["status"]) == {"exact"}
    assert set(rows(table)["level"]) == {0.95}


def test_complements_add_up():
    table = rehearsed()
    mean, above = rows(table)["mean"], rows(table, "probability")["mean"]
    assert mean["S1 | S1, S0"] + mean["S0 | S1, S0"] == pytest.approx(1, abs=1e-13)
    assert above["P(S1 | S1, S0 > 0.5)"] + above["P(S0 | S1, S0 > 0.5)"] == pytest.approx(1, abs=1e-12)


def test_without_noise_the_interval_is_a_beta_law_s_own():
    """At epsilon = 1000 the counts are known: S1's share is Beta(1 + 15, 2 + 35), by conjugacy."""
    table = scenario.table(noisy_counts=[15, 30, 5], total=50, epsilon=1000.0, level=0.8, rng=stream(1, "x"))
    row = rows(table).loc["S1"]
    assert [row["lower"], row["upper"]] == pytest.approx(beta(16, 37).ppf([0.1, 0.9]), abs=1e-12)
    assert row["level"] == 0.8


@pytest.mark.parametrize(
    ("settings", "law", "words"),
    [
        (
            {"mechanism": "discrete_laplace", "epsilon": 0.5},
            DiscreteLaplace(scale=4.0),
            ["discrete Laplace noise of scale 4", "cost epsilon 0.5", "replace a record"],
        ),
        (
            {"mechanism": "discrete_gaussian", "rho": 0.125},
            DiscreteGaussian(sigma=8.0**0.5),  # sqrt(2/(2 rho)): the squared L2 change is 2
            ["discrete Gaussian noise of scale 2.82843", "cost rho 0.125"],
        ),
    ],
)
def test_a_made_release_states_its_own_law(tmp_path, settings, law, words):
    release = made(tmp_path, settings)
    noisy = release.table.whole("count")
    table = scenario.table(release=release, given=["met", "not met"], rng=stream(1, "x"))
    assert rows(table)["released"].head(3).tolist() == noisy.tolist()
    logs = [law.log_weights(y, np.arange(51)) for y in noisy]  # P(y | s), s = 0..50; the prior of s is flat in all
    weight = {(a, b): logs[0][a] + logs[1][b] + logs[2][50 - a - b] for a in range(51) for b in range(51 - a)}
    w = np.exp(np.array(list(weight.values())) - max(weight.values()))
    means = np.array([[1 + a, 1 + b, 51 - a - b] for a, b in weight]) / 53
    assert rows(table)["mean"].head(3).tolist() == pytest.approx((w @ means / w.sum()).tolist(), rel=1e-6)
    assert all(part in rows(table).loc["met", "note"] for part in ["release mine, generation 1", *words])


def test_a_release_of_something_else_is_refused(tmp_path):
    release = made(tmp_path, {"mechanism": "swap", "swap": "count", "rate": 0.3})
    with pytest.raises(ValueError, match="must be counts with discrete Laplace or discrete Gaussian noise"):
        scenario.table(release=release, rng=stream(1, "x"))


def test_categories_that_a_release_lacks_are_named(tmp_path):
    release = made(tmp_path, {"mechanism": "discrete_laplace", "epsilon": 1.0})
    with pytest.raises(ValueError, match="given: S1 not among the categories met, not met, failed"):
        scenario.table(release=release, given=["S1", "met"], rng=stream(1, "x"))
    with pytest.raises(ValueError, match="one number or 3"):
        scenario.table(release=release, alpha=[1, 1], rng=stream(1, "x"))


def test_a_wrong_total_and_a_wrong_scale_are_said():
    for wrong in ({"total": 90, "epsilon": 1.0}, {"total": 50, "epsilon": 100.0}):
        table = scenario.table(noisy_counts=[16.4, 33.1, 8.0], rng=stream(1, "x"), **wrong)
        assert "CONFLICT: its sum is too far from the total" in rows(table, "check")["note"].iloc[0]
    good = scenario.table(noisy_counts=[16.4, 33.1, 2.0], total=50, epsilon=1.0, rng=stream(1, "x"))
    assert "fit together" in rows(good, "check")["note"].iloc[0]


def test_a_prior_that_the_release_contradicts_is_said():
    asked = {"noisy_counts": [16.4, 33.1, 2.0], "total": 50, "epsilon": 1.0, "rng": stream(1, "x")}
    table = scenario.table(alpha=[1.0, 1.0, 1000.0], **asked)
    assert "CONFLICT: prior and release disagree" in rows(table, "check")["note"].iloc[0]


def test_noise_tails_against_sums_of_their_probabilities():
    d = np.arange(-400, 401)
    for law in (DiscreteLaplace(scale=3.0), DiscreteGaussian(sigma=3.0)):
        tail = np.array([law.pmf(d[d >= x]).sum() for x in range(-9, 10)])
        near = 1e-12 if isinstance(law, DiscreteLaplace) else 0.05
        assert release_fit.at_least(law, np.arange(-9, 10)) == pytest.approx(tail, rel=near)
    # Laplace of scale 1: P(X >= x) = exp(-x)/2. Two of them: density (1 + |x|) exp(-|x|)/4, so that
    # P(|X + Y| >= x) = (1 + x/2) exp(-x).
    assert release_fit.at_least(Laplace(scale=1.0), np.array([2.0, -2.0])) == pytest.approx(
        [np.exp(-2) / 2, 1 - np.exp(-2) / 2], rel=1e-14
    )
    for x in (0.0, 1.0, 7.5):
        expected = (1 + x / 2) * np.exp(-x)
        assert release_fit.sum_at_least(Laplace(scale=1.0), x, 2) == pytest.approx(expected, rel=1e-13)


def test_a_share_too_large_to_list_says_that_it_is_approximate():
    counts = [12_000.0, 20_001.0, 7_998.0]
    asked = {"total": 40_000, "epsilon": 1e-3, "given": ["S1", "S0"], "rng": stream(1, "x")}
    table = scenario.table(noisy_counts=counts, **asked)
    law = laplace_multinomial.exact(counts, total=40_000, scale=2e3, alpha=1.0).beta(0, (0, 1))
    assert rows(table).loc["S1 | S1, S0", "status"] == law.honesty.word == "approximate"


def test_the_figure_says_level_law_and_rehearsal():
    with style.applied():
        figure = figures.scenario(rehearsed(level=0.9))
        words = figure.get_supxlabel()
        labels = [axis.get_xlabel() for axis in figure.axes]
        titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert scenario.REHEARSAL in words
    assert "laplace noise of scale 2" in words
    assert "90%" in labels[-1]
    assert titles[0].startswith("S1: 0.")
