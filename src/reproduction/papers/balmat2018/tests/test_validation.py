"""Rules of a configuration beyond its schema: each broken alone, and what is right beside it."""

import pytest

from reproduction.papers.balmat2018 import validation

PUBLISHED = {"noisy_counts": [4.2, 30.0, 5.5], "total": 50, "epsilon": 1.0}
REHEARSAL = {"rehearsal": {"counts": [15, 30, 5]}, "epsilon": 1.0}


def section(**changes):
    setting = {"settings": {"a": [5, 40, 5]}, "total": 50}
    names = ("figure_1", "figure_1_laws", "figure_1_moments", "realised_share", "trapped")
    plain = {"scenarios": {}, "choosing_epsilon": {"probabilities": [0.2, 0.3, 0.5]}, **dict.fromkeys(names, setting)}
    return plain | changes


def found(scenario):
    return list(validation.mistakes(section(scenarios={"mine": scenario})))


@pytest.mark.parametrize(
    "scenario",
    [
        PUBLISHED,
        REHEARSAL,
        {"release": "ours"},
        PUBLISHED | {"noise": "discrete_laplace", "noisy_counts": [4.0, 30, 5]},
        PUBLISHED | {"categories": ["x", "y", "z"], "given": ["x"], "alpha": [1.0, 2.0, 0.5]},
        PUBLISHED | {"noisy_counts": [1.0, 2.0], "categories": None, "given": ["c1", "c2"]},
        {"rehearsal": {"counts": [500_000, 499_999, 1]}, "epsilon": 1.0},
        {"noisy_counts": "not a list"},  # the schema says so
        {"noisy_counts": [1.0, "a"]},
    ],
)
def test_what_is_right_or_left_to_the_schema(scenario):
    assert found(scenario) == []


@pytest.mark.parametrize(
    ("scenario", "key", "words"),
    [
        ({"counts": [1, 2, 3]}, ".counts", "true counts are refused here"),
        ({"epsilon": 1.0}, "", "has no counts; give one of release"),
        (PUBLISHED | REHEARSAL, "", "has noisy_counts and rehearsal; give one of"),
        ({"release": "ours", "total": 5}, ".total", "the record of the release states it"),
        ({"release": "ours", "sensitivity": 2.0}, ".sensitivity", "the record of the release states it"),
        ({"noisy_counts": [1.0, 2.0, 3.0], "total": 9}, ".epsilon", "missing epsilon: noisy_counts need it"),
        ({"rehearsal": {"counts": [1, 2, 3]}}, ".epsilon", "missing epsilon: rehearsal need it"),
        ({"noisy_counts": [1.0, 2.0, 3.0], "epsilon": 1.0}, "", "noisy_counts need total"),
        (PUBLISHED | {"noise": "discrete_laplace"}, ".noisy_counts", "never gives a fraction"),
        (REHEARSAL | {"total": 50}, ".total", "50: a rehearsal has the sum of its counts, 50; leave it out"),
        ({"rehearsal": {"counts": [10**6, 1]}, "epsilon": 1.0}, ".rehearsal.counts", "add up to 1000001"),
        (PUBLISHED | {"categories": ["x", "y"]}, ".categories", "2 names for 3 counts"),
        (PUBLISHED | {"categories": ["x", "y", "x"]}, ".categories", "names something twice"),
        (PUBLISHED | {"alpha": [1.0, 2.0]}, ".alpha", "2 entries for 3 counts"),
        (PUBLISHED | {"given": ["S1", "other"]}, ".given", "other not among the categories S1, S0, Serr"),
    ],
)
def test_each_rule_of_a_scenario(scenario, key, words):
    ((path, text),) = found(scenario)
    assert path == f"scenarios.mine{key}"
    assert words in text


@pytest.mark.parametrize("name", ["figure_1", "figure_1_laws", "figure_1_moments", "realised_share", "trapped"])
@pytest.mark.parametrize("counts", [[5, 40, 6], [0, 0, 50]])
def test_settings_add_up_and_have_a_share(name, counts):
    ((path, text),) = validation.mistakes(section(**{name: {"settings": {"a": counts}, "total": 50}}))
    assert path == f"{name}.settings.a"
    assert f"must add up to {name}.total, 50, with S1 + S0 > 0" in text


def test_probabilities_add_up_to_one():
    ((path, text),) = validation.mistakes(section(choosing_epsilon={"probabilities": [0.2, 0.3, 0.6]}))
    assert (path, text) == ("choosing_epsilon.probabilities", "[0.2, 0.3, 0.6] adds up to 1.1, not to 1")


def test_what_a_scenario_costs_grows_with_total_categories_and_shares():
    """0.2 s, 0.04 a share (each category and each of `given`) and threshold, 4e-6 a unit of total times categories."""
    assert validation.work(PUBLISHED) == pytest.approx((0.2 + 0.04 * 3 + 4e-6 * 150, 7e-5 * 150 + 0.3))
    asked = REHEARSAL | {"given": ["S1", "S0"], "thresholds": [0.5, 0.6]}
    assert validation.work(asked) == pytest.approx((0.2 + 0.04 * 5 * 3 + 4e-6 * 150, 7e-5 * 150 + 0.5))


def test_names_of_categories():
    assert validation.names(3, None) == ["S1", "S0", "Serr"]
    assert validation.names(2, None) == ["c1", "c2"]
    assert validation.names(3, ["x", "y", "z"]) == ["x", "y", "z"]
