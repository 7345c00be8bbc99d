"""Tests of a paper's checks: statements if tables are replaced, overlapping texts of figures, and detection limits."""

import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

from dpmultinomial._seeding import stream
from reproduction import style
from reproduction.verdicts import draw_tests, in_process, power
from tests import drawn

CODE = """
from collections.abc import Callable
from typing import Any
import pandas as pd

calls = []

def made(table: pd.DataFrame, name: str = "a") -> list[dict[str, Any]]:
    calls.append(("made", name))
    return [{"quantity": name, "verdict": float(table["x"].sum())}]

def generated(table: pd.DataFrame):
    calls.append(("generated", ""))
    for value in table["x"]:
        yield {"quantity": "each", "verdict": float(value)}

def scaled(table: pd.DataFrame, by: Any) -> float:
    calls.append(("scaled", by))
    return float(by(table["x"].sum()) if callable(by) else by * table["x"].sum())

def one(number: int) -> int:
    calls.append(("one", number))
    return number

def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    rows = [*made(tables["first"]), *made(tables["second"], "b"), *generated(tables["second"])]
    rows += made(tables["first"][:1], "part")
    rows[0]["verdict"] += one(0)
    return pd.DataFrame(rows)
"""


@pytest.fixture
def toy(monkeypatch):
    module = ModuleType("reproduction.papers.toy.agreement")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(CODE, vars(module))
    monkeypatch.setattr(in_process, "verdicts", lambda slug, made: module.ours(made)["verdict"])
    return module


@pytest.fixture
def honest():
    return {"first": pd.DataFrame({"x": [1.0, 2.0]}), "second": pd.DataFrame({"x": [3.0, 5.0]})}


def test_rows_of_honest_tables_are_made_once_and_those_of_others_each_time(toy, honest):
    judge = in_process.Judge("toy", honest)
    assert judge.verdicts.tolist() == [3, 8, 3, 5, 1]
    judge({})
    toy.calls.clear()
    for _ in range(2):
        assert judge({"first": pd.DataFrame({"x": [10.0, 20.0]})}).tolist() == [30, 8, 3, 5, 10]
    assert toy.calls == 2 * [("made", "a"), ("made", "part"), ("one", 0)]
    assert judge({"second": honest["second"].copy()}).equals(judge.verdicts)
    assert toy.calls[-4:] == [("made", "b"), ("generated", ""), ("made", "part"), ("one", 0)]


def test_tables_that_change_places_are_told_apart(toy, honest):
    judge = in_process.Judge("toy", honest)
    exchanged = {"first": honest["second"], "second": honest["first"]}
    assert judge({}).equals(judge.verdicts)
    assert judge(exchanged).tolist() == in_process.verdicts("toy", exchanged).tolist() == [8, 3, 1, 2, 3]


def test_who_changes_rows_changes_none_that_are_kept(toy, honest):
    judge = in_process.Judge("toy", honest)
    with judge._remembering():
        toy.made(honest["first"])[0]["verdict"] = 0
        next(toy.generated(honest["first"]))["verdict"] = 0
    assert judge({}).tolist() == [3, 8, 3, 5, 1]
    with judge._remembering():
        assert [row["verdict"] for row in toy.generated(honest["first"])] == [1, 2]
        assert [row["verdict"] for row in toy.generated(honest["first"])] == [1, 2]


def test_values_are_told_apart_by_kind_and_functions_are_not_kept(toy, honest):
    judge, table = in_process.Judge("toy", honest), honest["first"]
    toy.calls.clear()
    with judge._remembering():
        assert [toy.scaled(table, by) for by in (2, 3, 2, True, 1, 1.0)] == [6, 9, 6, 3, 3, 3]
        assert [str(by) for _, by in toy.calls] == ["2", "3", "True", "1", "1.0"]
        assert [toy.scaled(table, by=lambda x: x + 1) for _ in range(2)] == [4, 4]
    assert len(toy.calls) == 7


def test_the_papers_own_functions_are_back_also_after_an_error(toy, honest):
    own = dict(vars(toy))
    judge = in_process.Judge("toy", honest)
    judge({})
    with pytest.raises(KeyError, match="x"):
        judge({"second": pd.DataFrame({"y": [1.0]})})
    assert dict(vars(toy)) == own
    with judge._remembering():
        assert {name for name, value in vars(toy).items() if value is not own[name]} == {"made", "generated", "scaled"}


def axes():
    figure = Figure(figsize=(3, 2), dpi=100)
    axis = figure.add_axes((0.2, 0.2, 0.7, 0.7))
    axis.set(xlim=(0, 1), ylim=(0, 1))
    return figure, axis


def test_a_figure_that_can_be_read_has_no_faults():
    figure, axis = axes()
    style.interval(axis, [0.5], [0.5], [0.4], [0.6])
    axis.plot([0, 1], [0.1, 0.1])
    axis.text(0.2, 0.7, "free")
    assert list(drawn.faults(figure)) == []


def test_texts_on_each_other_are_found_also_labels_of_ticks():
    figure, axis = axes()
    axis.set_xticks([0.5, 0.55], ["2x10", "3x10"])
    assert list(drawn.faults(figure)) == ["'2x10' lies on '3x10'"]


def test_a_cut_text_is_found():
    figure, axis = axes()
    axis.text(0.9, 0.5, "longer than its place")
    assert list(drawn.faults(figure)) == ["'longer than its place' is cut at the figure's edge"]


@pytest.mark.parametrize("shape", ["default", "steps-post"])
def test_a_curve_through_a_word_is_found(shape):
    figure, axis = axes()
    axis.plot([0, 0.5, 1], [0.5, 0.5, 0.9], drawstyle=shape)
    axis.text(0.2, 0.5, "here", va="center")
    assert list(drawn.faults(figure)) == ["a curve runs through 'here'"]


def test_steps_are_no_slopes():
    """Check a staircase that descends to the right of a word; a line between its corners would cross the word."""
    figure, axis = axes()
    axis.text(0.3, 0.6, "word", va="center", ha="center")
    (line,) = axis.plot([0.1, 0.5], [0.3, 0.9], drawstyle="steps-post")
    assert list(drawn.faults(figure)) == []
    line.set_drawstyle("default")
    assert list(drawn.faults(figure)) == ["a curve runs through 'word'"]


@pytest.mark.parametrize("horizontal", [False, True])
def test_a_mark_beside_its_bar_is_found(horizontal):
    figure, axis = axes()
    style.interval(axis, [0.5, 0.7], [0.2, 0.5], [0.4, 0.4], [0.6, 0.6], horizontal=horizontal, label="ratio")
    (fault,) = drawn.faults(figure)
    assert fault.startswith("a mark of 'ratio' lies beside its bar")


def test_a_z_test_sees_what_moves_it_far_enough():
    """Check level 0.05: z must be 1.96, and in nine cases of ten 1.96 + 1.2816 = 3.2415 standard errors."""
    assert power.normal(100, 0.05) == pytest.approx(0.032415, rel=1e-4)
    assert power.normal(0, 0.05) == np.inf


def test_kolmogorov_s_test_refuses_what_it_sees():
    """Check normal draws moved by d: distance d/sqrt(2 pi) per unit. Of 200 samples, at least 170 are rejected."""
    seen = power.kolmogorov(1 / np.sqrt(2 * np.pi), 2000, 0.001)
    rng = stream(1, "kolmogorov")
    refused = sum(stats.kstest(rng.normal(seen, 1, 2000), "norm").pvalue < 0.001 for _ in range(200))
    assert 170 <= refused <= 200


def test_a_chi_squared_test_refuses_what_it_sees():
    """Check ten cells, one larger by x and one smaller: noncentrality n (2 x^2/10). Of 400, 0.9 +- 0.015 rejected."""
    even = np.full(10, 100.0)
    tilted = even.copy()
    tilted[:2] += (100, -100)
    seen = power.chi_squared(power.noncentrality(even, tilted), 9, 0.001)
    truth = (even + seen * (tilted - even)) / 1000
    rng = stream(2, "chi")
    refused = sum(stats.chisquare(rng.multinomial(1000, truth)).pvalue < 0.001 for _ in range(400))
    assert 0.84 * 400 <= refused <= 0.96 * 400  # four standard errors


def test_words_say_percent_or_a_factor():
    words = power.words({"noise scale": 0.0183, "rate": 1.5, "prior": np.inf})
    assert words == "noise scale by 1.8 %; rate by a factor of 2.5; prior by no factor below 10"


def test_a_histogram_is_judged_against_the_curve_as_it_is_drawn():
    """Check ten bins of a flat density: 1,000 draws fit; a curve or bars that are a tenth too high do not."""
    left, x = np.linspace(0, 0.9, 10), np.linspace(0, 1, 101)
    heights = np.array([1.1, 0.9, 1.0, 1.0, 1.05, 0.95, 1.0, 1.0, 1.02, 0.98])
    assert draw_tests.masses(left, x, np.ones(101)) == pytest.approx(np.full(10, 0.1))
    assert draw_tests.histogram(left, heights, x, np.ones(101), 1000) > 0.5
    assert draw_tests.histogram(left, heights, x, np.full(101, 1.1), 10_000) < 1e-4
    assert draw_tests.histogram(left, 1.1 * heights, x, np.ones(101), 10_000) < 1e-4
    assert draw_tests.histogram(left, heights, x, np.where(x == 0.5, np.nan, 1.0), 1000) == 0


def test_neighbouring_draws():
    """Check four products of -1/4: z = 12 (-1)/sqrt(4) = -6. Repeating one of 20 draws moves z by 0.05 sqrt(30,000)."""
    assert draw_tests.serial_p_value([0.0, 1.0, 0.0, 1.0, 0.0]) == pytest.approx(2 * stats.norm.sf(6), rel=1e-12)
    assert np.isnan(draw_tests.serial_p_value([0.1, 0.9]))
    rng = stream(3, "neighbours")
    found = np.array([draw_tests.serial_p_value(rng.random(50)) for _ in range(4000)])
    assert abs((found < 0.1).mean() - 0.1) < 4.5 * np.sqrt(0.09 / 4000)  # false alarm 7e-6
    u = rng.random(30_000)
    u[19::20] = u[18::20]
    z = stats.norm.isf(draw_tests.serial_p_value(u) / 2)
    assert z == pytest.approx(0.05 * np.sqrt(30_000), abs=4.5)  # one standard deviation is about 1
