"""Check the rules of a configuration beyond its schema: each is broken separately, next to a valid setting."""

import pytest

from reproduction.papers.balmat2018 import validation


def section(**changes):
    setting = {"settings": {"a": [5, 40, 5]}, "total": 50}
    names = ("figure_1", "figure_1_laws", "figure_1_moments", "realised_share", "trapped")
    plain = {"choosing_epsilon": {"probabilities": [0.2, 0.3, 0.5]}, **dict.fromkeys(names, setting)}
    return plain | changes


def test_what_is_right_is_taken():
    assert list(validation.mistakes(section())) == []


@pytest.mark.parametrize("name", ["figure_1", "figure_1_laws", "figure_1_moments", "realised_share", "trapped"])
@pytest.mark.parametrize("counts", [[5, 40, 6], [0, 0, 50]])
def test_settings_add_up_and_have_a_share(name, counts):
    ((path, text),) = validation.mistakes(section(**{name: {"settings": {"a": counts}, "total": 50}}))
    assert path == f"{name}.settings.a"
    assert f"must add up to {name}.total, 50, with S1 + S0 > 0" in text


def test_probabilities_add_up_to_one():
    ((path, text),) = validation.mistakes(section(choosing_epsilon={"probabilities": [0.2, 0.3, 0.6]}))
    assert (path, text) == ("choosing_epsilon.probabilities", "[0.2, 0.3, 0.6] must add up to 1, got 1.1")
