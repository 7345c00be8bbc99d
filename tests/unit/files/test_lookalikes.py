"""Tests of names that look the same: which names are equal to a reader, and which are not."""

import pytest

from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import _counts, _keys, checks

SAME = {
    "a blank at the end": ("a", "a "),
    "a blank before": ("a", " a"),
    "two spaces": ("a b", "a  b"),
    "a blank of another width": ("a b", "a\u2003b"),
    "a blank that holds words together": ("a b", "a\xa0b"),
    "composed and decomposed": ("caf\xe9", "cafe\u0301"),
    "a zero-width space": ("ab", "a\u200bb"),
    "a zero-width joiner": ("ab", "a\u200db"),
    "a soft hyphen": ("ab", "a\xadb"),
    "a word joiner": ("ab", "a\u2060b"),
    "a byte order mark": ("ab", "\ufeffab"),
    "a mark of direction": ("ab", "a\u202eb"),
    "a variation selector": ("ab", "a\ufe0fb"),
    "a filler": ("ab", "a\u3164b"),
    "full width": ("AB1", "\uff21\uff22\uff11"),
    "a ligature": ("file", "\ufb01le"),
    "Cyrillic a": ("a", "\u0430"),
    "Cyrillic words": ("Pace", "\u0420\u0430\u0441\u0435"),
    "Greek capitals": ("TAXH", "\u03a4\u0391\u03a7\u0397"),
    "Greek o": ("o", "\u03bf"),
}
OTHER = [("a", "b"), ("a", "A"), ("ab", "a b"), ("e", "\xe9"), ("1", "l"), ("", "a"), ("\u03b1", "a"), ("5", "-5")]


@pytest.mark.parametrize("how", SAME)
def test_what_a_reader_cannot_tell_apart_is_one_name(how):
    one, other = SAME[how]
    assert _keys.shown_name(one) == _keys.shown_name(other) != ""
    assert _keys.first_alike(["x", one, "y", other]) == (one, other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_a_reader_can_tell_apart_stays_apart(one, other):
    assert _keys.shown_name(one) != _keys.shown_name(other)
    assert _keys.first_alike([one, other]) is None


@pytest.mark.parametrize("name", ["", " ", "\u200b", "\ufeff\u2060", "\u3164", " \xad\t"])
def test_what_shows_nothing(name):
    assert _keys.shown_name(name) == ""


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\nb", "a\tb", "\x7f", "a\x85b", "a\u2028b", "\x00"])
def test_control_characters_are_found(name):
    assert _keys.has_controls(name)


@pytest.mark.parametrize("name", ["a b", "caf\xe9", "\u200b", "", "a\xa0b", "\U0001f600"])
def test_what_is_no_control_character(name):
    assert not _keys.has_controls(name)


@pytest.mark.parametrize("how", SAME)
def test_counts_of_names_that_look_the_same_are_refused_by_their_lines(how):
    one, other = SAME[how]
    raw = f"category,count\nx,1\n{one},2\n{other},3\n".encode()
    with pytest.raises(
        ValueError, match="line 4, column 'category': must differ from the category in line 3 by more"
    ) as told:
        _counts.read(parse(raw, name="c.csv", confidential=True))
    assert repr(other) not in str(told.value)


def test_the_same_name_twice_and_controls_are_told_as_such():
    for text, words in (
        ("category,count\na,1\na,2\n", "must differ from the category in line 2$"),
        ("category,count\na,1\nb\x1b[1m,2\n", "line 3.*must not contain control characters"),
        ('category,count\na,1\n"b\nc",2\n', "line 3.*must not contain control characters"),
        ("category,count\na,1\n\u200b,2\n", "line 3.*must not be empty"),
    ):
        with pytest.raises(ValueError, match=words):
            _counts.read(parse(text.encode(), name="c.csv", confidential=True))


def test_levels_of_a_model_must_look_different(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/p.csv").write_text("a,b\nx,1\n")
    settings = {"mechanism": "naive_bayes", "data": "confidential/p.csv", "target": "a", "epsilon": 1.0}
    settings |= {"noise": "discrete_laplace", "levels": {"a": ["x", "\u0445"], "b": ["1", "2"]}}
    ((place, words),) = checks.problems("r", settings, budgets={}, root=tmp_path)
    assert place == "releases/r/levels"
    assert "'x' and '\\u0445' of the column 'a' must differ by more than spaces" in words
    settings["levels"]["a"] = ["x", "y"]
    assert checks.problems("r", settings, budgets={}, root=tmp_path) == []
