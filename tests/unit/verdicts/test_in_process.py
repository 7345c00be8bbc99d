"""Tests of a paper's checks: statements if tables are replaced, overlapping texts of figures, and minimum detectable
effects."""

import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

from dpmultinomial._seeding import stream
from reproduction import style
from reproduction.verdicts import artists, draw_tests, in_process, power, quotes, summary
from reproduction.verdicts import drawn as judged
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


def test_pooling_at_its_limits():
    """Check cells with an expected number of 5, which are tested alone, and of 4.9, which are pooled.

    For 7, 3 and 90 with 5, 5 and 90 expected, the statistic is 4/5 + 4/5 with two degrees of freedom. With 4.9 and 4.9
    expected, the two cells form one cell of 9.8, and the statistic is 0.04/9.8 + 0.04/90.2.
    """
    assert draw_tests.pooled([7, 3, 90], [5, 5, 90], 100) == pytest.approx(stats.chi2.sf(1.6, 2))
    statistic = 0.04 / 9.8 + 0.04 / 90.2
    assert draw_tests.pooled([7, 3, 90], [4.9, 4.9, 90.2], 100) == pytest.approx(stats.chi2.sf(statistic, 1))
    # a single cell: one degree of freedom
    assert draw_tests.pooled([90], [100], 100) < draw_tests.pooled([100], [100], 100) == 1


def test_rare_outcomes_join_the_smallest_cell_unless_they_are_too_many():
    """Check 5 outcomes with 3 expected, which are added to the smaller cell: (55 - 50)^2/50 + (45 - 50)^2/50 = 1. Of
    1,000 outcomes, 8 with an expected number of 1/2 have the probability P(B >= 8) of a binomial number B.
    """
    assert draw_tests.pooled([50, 45], [47, 50], 100) == pytest.approx(stats.chi2.sf(1, 1))
    many = draw_tests.pooled([496, 496], [499.75, 499.75], 1000)
    assert many == pytest.approx(stats.binom.sf(7, 1000, 0.0005), rel=1e-9)
    assert many < 1e-6
    six = draw_tests.pooled([497, 497], [499.75, 499.75], 1000)  # the probability is above a millionth
    assert six == pytest.approx(stats.chi2.sf(2.75**2 / 500.25 + 2.75**2 / 499.75, 1))


def test_a_score_test_of_one_parameter():
    """Check counts 60 and 40 with 50 and 50 expected, and 51 and 49 at a parameter larger by 1 %. The scores are 2 and
    -2 per 100 %, the information is 400, and z is 40/20 = 2. The other p-value, of the chi-squared statistic 4, is the
    same.
    """
    p, seen = draw_tests.scored([60, 40], [50, 50], [51, 49], 100, step=0.01, level=0.01)
    assert p == pytest.approx(2 * 2 * stats.norm.sf(2))
    assert seen == pytest.approx((stats.norm.isf(0.0025) + stats.norm.ppf(0.9)) / 20)
    down = draw_tests.scored([60, 40], [50, 50], [49, 51], 100, step=-0.01, level=0.01)
    assert down == pytest.approx((p, seen))
    assert draw_tests.scored([50, 50], [50, 50], [51, 49], 100, step=0.01, level=0.01)[0] == 1
    empty = draw_tests.scored([60, 40, 0], [50, 50, 0], [51, 49, 1], 100, step=0.01, level=0.01)
    assert empty == pytest.approx((p, seen))  # an outcome that is not expected has no score
    # a rare outcome with the score 100 adds 100^2/1000 = 10 to the information; below a millionth, it is not used
    for x, information in ((1e-3, 410), (9e-7, 400)):
        _, found = draw_tests.scored([60, 40, 0], [50, 50, x], [51, 49, 2 * x], 100, step=0.01, level=0.01)
        assert found == pytest.approx((stats.norm.isf(0.0025) + stats.norm.ppf(0.9)) / information**0.5)


def test_serial_scores_by_hand():
    """Check the draws 1, 2, 3 with sd 2: (2 + 6)/(4 sqrt(2)). Two draws have no score."""
    assert draw_tests.serial_z([1.0, 2.0, 3.0], sd=2.0) == pytest.approx(2**0.5)
    assert np.isnan(draw_tests.serial_z([1.0, 2.0], sd=2.0))
    assert draw_tests.serial_p_value([0.5, 0.5, 0.5]) == 1


def test_detection_limits_at_their_ends():
    assert power.kolmogorov(0.0, 100, 0.01) == np.inf
    assert power.kolmogorov(0.5, 0.9, 0.01) == np.inf
    one = power.kolmogorov(0.5, 1, 0.01)
    assert one == pytest.approx((0.995 + 1.2815516 / 2) / 0.5)  # the largest distance of one draw is 1 - level/2
    assert power.kolmogorov(-0.5, 1, 0.01) == one
    assert power.chi_squared(0.0, 3, 0.01) == np.inf
    assert power.noncentrality([10, 0, 20], [12, 5, 18]) == pytest.approx(4 / 10 + 4 / 20)
    assert power.words({"a": 0.994, "b": 0.995, "c": 9.99, "d": 10.0}) == (
        "a by 99 %; b by a factor of 2; c by a factor of 11; d by no factor below 10"
    )


@pytest.mark.parametrize(
    ("written", "value", "half"),
    [
        ("1,234", 1234, 0.5), ("0.50", 0.5, 0.005), ("-3", -3, 0.5), ("−3.5", -3.5, 0.05), ("19 %", 0.19, 0.005),
        ("2e-3", 2e-3, 0.5e-3), ("1.8·10⁻²²", 1.8e-22, 0.05e-22), (r"1.5 \cdot 10^{-16}", 1.5e-16, 0.05e-16),
        ("2.5%", 0.025, 0.0005), (" 7 ", 7, 0.5),
    ],
)  # fmt: skip
def test_quoted_numbers_have_half_a_unit_of_their_last_digit(written, value, half):
    assert quotes.value(written) == pytest.approx((value, half), rel=1e-12, abs=0)


def test_words_are_no_quoted_numbers():
    for written in ("two", "1 2", ""):
        with pytest.raises(ValueError, match="must be written in digits"):
            quotes.value(written)


def test_a_quote_is_compared_with_its_numbers():
    """Check the phrase with two numbers: 1/3 rounds to 0.33, and 0.335 is half a unit away, which is accepted."""
    quote = quotes.Quote("a.md", "is {{0.33}} in\nplace of {{1\u2013}}{{10^{-2}}}", "t", lambda table: table["x"])
    assert quote.numbers == ["0.33", "1\u2013", "10^{-2}"]
    plain = quotes.Quote("a.md", "is {{0.33}} of\n  {{20}}", "t", lambda table: table["x"])
    assert plain.words == "is 0.33 of 20"
    for first, second, wrong in (
        (1 / 3, 20, ""),
        (0.335, 20.5, ""),
        (0.3351, 20, "0.33 is quoted, but t contains 0.3351"),
        (0.33, 20.51, "20 is quoted, but t contains 20.51"),
        (0.3249, 19.49, "0.33 is quoted, but t contains 0.3249; 20 is quoted, but t contains 19.49"),
    ):
        assert quotes.broken(plain, pd.DataFrame({"x": [first, second]})) == wrong
    assert quotes.broken(plain, pd.DataFrame({"x": [1.0]})) == "2 numbers are quoted, but t contains 1 numbers"
    missing = quotes.broken(plain, pd.DataFrame({"y": [1.0]}))
    assert missing == "t: 'x'"
    assert "nan" in quotes.broken(plain, pd.DataFrame({"x": [np.nan, 20]}))


def test_a_quote_refers_to_one_row():
    table = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "y"], "v": [0.1, 0.2, 0.3], "number": [1, 2, 3]})
    assert quotes.at(table, "v", a=1, b="y") == 0.2
    for where, count in (({"a": 1}, 2), ({"a": 3}, 0)):
        with pytest.raises(ValueError, match=f"refers to {count} rows"):
            quotes.at(table, "v", **where)
    shown = table.assign(evidence=["p is 0.5 and 7.", "none", "q"])
    assert quotes.told(shown, 1, r"p is ([\d.]+) and (\d+)") == [0.5, 7]
    with pytest.raises(ValueError, match=r"erratum 2 must match the pattern .*, got 'none'"):
        quotes.told(shown, 2, r"p is ([\d.]+)")


def test_numbers_that_could_be_results():
    """Check that integers below 100 are not results, and that decimals, percentages and powers of ten are."""
    text = "In 5 of 99 runs and 100 others, 0.5 and 3 % of 1,000, or 2e5, but not x7 nor 3.14/2 or 10^{3}."
    assert list(quotes.numbers_in(text)) == ["100", "0.5", "3 %", "1,000", "2e5", "3.14"]
    quote = quotes.Quote("a.md", "runs and {{100}} others", "t", list)
    assert quotes.unaccounted("a.md", text, [quote], {"0.5", "2e5"}) == ["3 %", "1,000", "3.14"]
    assert "100" in quotes.unaccounted("b.md", text, [quote], {"0.5"})


def test_the_summary_of_scenarios():
    """Check the words about converged and other numbers, suspect fits and conflicts, and at most four warnings."""
    about = {"accuracy": [{"status": "exact", "rows": 1200}, {"status": "approximate", "rows": 3}]}
    fine = {"points": [about, about]}
    doubt = {"fit": {"suspect": True, "sentence": "doubtful"}, "conflict": {"found": True, "names": ["a", "b"]}}
    late = {"accuracy": [{"status": "not converged", "rows": 2}, {"status": "exact", "rows": 1}]}
    many = [late | {"fit": {"suspect": True, "sentence": f"s{n}"}} for n in range(6)]
    empty = pd.DataFrame(columns=["paper", "artefact", "kind", "verdict", "note"])
    scenarios = {"a": fine, "b": {"points": [about | doubt, about | {"fit": {"suspect": False}, "conflict": None}]}}
    scenarios |= {"c": {"points": many}, "d": {"points": []}}
    text = summary.text(empty, made=[], papers=[], scenarios=scenarios)
    lines = text.partition(f"{summary.SCENARIOS}\n")[2].split("\n\n")[0].split("\n")
    assert lines == [
        "  a: 2,400 exact, 6 approximate",
        "  b: 2,400 exact, 6 approximate",
        "    doubtful",
        "    CONFLICT: improbable under the noise and prior: a, b",
        "  c: 6 exact, 12 not converged",
        "    NOT CONVERGED: do not use the numbers with this status",
        "    s0", "    s1", "    s2", "    s3",
        "  d: no numbers",
    ]  # fmt: skip
    assert text.startswith("No paper; 0 figures, 0 tables.\n")
    assert summary.text(empty, made=["a.png"], papers=["x", "y"]).startswith("2 papers: x, y; 1 figures, 0 tables.")
    assert summary.text(empty, made=["a.csv"], papers=["x"]).startswith("1 paper: x; 0 figures, 1 tables.")
    assert summary.SCENARIOS not in summary.text(empty, made=[], papers=[])


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"statuses": {"exact": 1200}, "refused": 0, "all": 1200}, "1,200 tables; 1,200 exact; 0 rejected"),
        (
            {"statuses": {"exact": 1, "refused: x": 2}, "refused": 2, "all": 3, "conflicts": 1},
            "3 tables; 1 exact; 2 rejected in whole or in part (the rows state the reasons); "
            "1 in CONFLICT (column conflict)",
        ),
        (
            {"statuses": {"exact": 1200}, "refused": 0, "all": 1200, "warned": 1100},
            "1,200 tables; 1,200 exact; 0 rejected; 1,100 with warnings (column warnings)",
        ),
        (
            {"statuses": {"not converged": 1}, "refused": 0, "all": 1, "conflicts": 0, "warned": 0},
            "1 table; 1 not converged; 0 rejected; do not use the numbers that did not converge",
        ),
        ({"statuses": {"refused": 1}, "refused": 1, "all": 1},
         "1 table; none completely analysed; 1 rejected in whole or in part (the rows state the reasons)"),
    ],
)  # fmt: skip
def test_the_summary_of_a_batch(tables, words):
    assert summary._batch("b", tables) == f"  b: {words}"


def test_changes_of_a_table_leave_out_what_changes_nothing():
    """Check that a constant column has no reversed version, a column of zeros has no version, and booleans and text are
    not changed.
    """
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 3], "c": [0.0, 0.0], "d": [True, False], "e": ["x", "y"]})
    found = [(column, change) for column, change, _ in judged.changes(table)]
    assert found == [("a", "reversed"), ("a", "a tenth larger"), ("b", "a tenth larger")]
    first, second, third = (changed for *_, changed in judged.changes(table))
    assert first["a"].tolist() == [2.0, 1.0]
    assert second["a"].tolist() == pytest.approx([1.1, 2.2])
    assert third["b"].tolist() == pytest.approx([3.3, 3.3])
    both = judged._together(table, {"a", "b"})
    assert both["a"].tolist() == pytest.approx([2 * (1.1 + 0.01 * 2**0.5), 1.1 + 0.01 * 2**0.5])
    assert both["b"].tolist() == pytest.approx([3 * (1.1 + 0.01 * 3**0.5)] * 2)


def test_the_digest_of_a_figure_sees_every_artist():
    """Check that lines, points, bars, images and texts change the digest, and that an empty figure has another one."""

    def shown(draw):
        axis = Figure().subplots()
        draw(axis)
        return judged.picture(axis.figure)

    draws = [
        lambda axis: None,
        lambda axis: axis.plot([1, 2], [3, 4]),
        lambda axis: axis.plot([1, 2], [3, 5]),
        lambda axis: axis.scatter([1, 2], [3, 4]),
        lambda axis: axis.scatter([1, 2], [3, 4], c=[0.1, 0.2]),
        lambda axis: axis.scatter([1, 2], [3, 4], c=[0.1, 0.3]),
        lambda axis: axis.bar([1, 2], [3, 4]),
        lambda axis: axis.fill_between([1, 2], [3, 4]),
        lambda axis: axis.imshow([[1, 2]]),
        lambda axis: axis.imshow([[1, 3]]),
        lambda axis: axis.text(0.5, 0.5, "a"),
        lambda axis: axis.text(0.5, 0.6, "a"),
    ]
    digests = [shown(draw) for draw in draws]
    assert len(set(digests)) == len(draws)
    assert digests == [shown(draw) for draw in draws]


RED, GREEN = "#ff0000", "#00ff00"


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda axis: axis.plot([1, 2], [3, 4], color=RED), artists.line([1, 2], [3, 4], RED)),
        (lambda axis: axis.plot([1, 2], [3, 4], "o", color=RED), artists.line([1, 2], [3, 4], RED, kind="marks")),
        (lambda axis: axis.plot([1, 2], [3, 4], "o-", color=RED), artists.line([1, 2], [3, 4], RED, kind="curve")),
        (lambda axis: axis.plot([1, 2], [3, 4], "o-", lw=0, color=RED),
         artists.line([1, 2], [3, 4], RED, kind="marks")),
        (lambda axis: axis.step([1, 2], [3, 4], color=RED), artists.line([1, 2], [3, 4], RED, kind="step-pre")),
        (lambda axis: axis.axvline(2, color=RED), artists.across("upright", 2, RED)),
        (lambda axis: axis.axhline(2, color=RED), artists.across("level", 2, RED)),
        (lambda axis: axis.vlines([1, 2], [0, 1], [3, 4], color=RED), artists.bars([2, 1], [1, 0], [4, 3], colour=RED)),
        (lambda axis: axis.hlines([1, 2], [0, 1], [3, 4], color=RED),
         artists.bars([1, 2], [0, 1], [3, 4], horizontal=True, colour=RED)),
        (lambda axis: axis.fill_between([1, 2], [0, 1], [3, 4], color=RED), artists.band([1, 2], [0, 1], [3, 4], RED)),
        (lambda axis: axis.stairs([3, 4], [0, 1, 2], fill=True, color=RED), artists.stairs([0, 1, 2], [3, 4], RED)),
        (lambda axis: axis.stairs([3, 4], [0, 1, 2], color=RED), artists.stairs([0, 1, 2], [3, 4], RED)),
        (lambda axis: axis.bar([1, 2], [3, 4], 0.5, align="edge", color=RED),
         artists.boxes([1, 2], [0, 0], [0.5, 0.5], [3, 4], RED)),
        (lambda axis: axis.axvspan(1, 3, color=RED), artists.span(1, 3, RED)),
        (lambda axis: axis.axhspan(1, 3, color=RED), artists.span(1, 3, RED)),
    ],
)  # fmt: skip
def test_artists_are_described_by_their_data(draw, expected):
    axis = Figure().subplots()
    draw(axis)
    assert list(artists.shown(axis)) == [expected]
    assert artists.wrong(axis, expected) == []
    assert artists.wrong(axis, expected._replace(colour="")) == []
    assert len(artists.wrong(axis, expected._replace(colour=GREEN))) == 2
    assert len(artists.wrong(axis, expected, expected)) == 1
    assert len(artists.wrong(axis)) == 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda axis: axis.plot([], [], "o-"),
        lambda axis: axis.plot([1, 2], [3, 4], lw=0),
        lambda axis: axis.plot([1, 2], [3, 4], ls="", marker=""),
        lambda axis: axis.vlines([1, 2], 0, 1, lw=0),
        lambda axis: axis.bar([1], [0]),
        lambda axis: axis.bar([1], [2], 0),
        lambda axis: axis.plot([0.5], [0.5], "o", transform=axis.transAxes),
    ],
)
def test_artists_that_show_no_data_are_left_out(draw):
    axis = Figure().subplots()
    draw(axis)
    assert list(artists.shown(axis)) == []


def test_nine_digits_are_compared():
    """Check that 1 and 1 + 1e-9 are equal to nine digits, and that 1 + 1e-8 is not. The sign of 0 has no effect."""
    axis = Figure().subplots()
    axis.plot([1, -0.0], [2, 3])
    assert artists.wrong(axis, artists.line([1 + 1e-9, 0.0], [2, 3])) == []
    assert len(artists.wrong(axis, artists.line([1 + 1e-8, 0.0], [2, 3]))) == 2
    assert len(artists.wrong(axis, artists.line([0, 1], [3, 2]))) == 2  # the order of a line matters
    other = Figure().subplots()
    other.plot([1, 2, 3, 4], [5, 6, 7, 8], color=RED)
    assert artists.wrong(other) == ["not expected: line #ff0000 (1, 5) (2, 6) (3, 7) .. (4 in all)"]
    other = Figure().subplots()
    other.plot([1, 2, 3], [5, 6, 7], color=RED)
    assert artists.wrong(other) == ["not expected: line #ff0000 (1, 5) (2, 6) (3, 7)"]


def test_words_of_panels():
    one, two = Figure().subplots(1, 2)
    one.set(title=r"$\theta_{1}$ left", xlabel="x", ylabel=r"{y}")
    two.set_title("at the left", loc="left")
    assert artists.words([one, two]) == [("theta_1 left", "x", "y"), ("at the left", "", "")]


def test_synthetic_tables_have_different_numbers():
    table = artists.crossed("u", "v", a=[1, 2], b=list("xyz"))
    assert table[["a", "b"]].to_numpy().tolist() == [[a, b] for a in (1, 2) for b in "xyz"]
    numbers = table[["u", "v"]].to_numpy()
    assert len(np.unique(numbers)) == 12
    assert 0.1 <= numbers.min() < numbers.max() <= 0.9
    assert not artists.crossed("u", seed=2, a=[1, 2], b=list("xyz"))["u"].equals(table["u"])


def test_labels_are_found_in_the_nearest_labelled_panel():
    """Check three panels in a row: the limits of the third are compared with those of the second, which has a label."""
    first, second, third = Figure().subplots(1, 3)
    for axis, end in ((first, 1), (second, 2), (third, 2)):
        axis.set_ylim(0, end)
    first.set_ylabel("a")
    second.set_ylabel("b")
    third.tick_params(labelleft=False)
    assert artists.wrong(third) == []
    second.set_ylim(0, 3)
    assert [text.split(",")[0] for text in artists.wrong(third)] == ["the y axis has no label"]
    assert artists.wrong(third, own="y") == []
    assert artists.wrong(first) == artists.wrong(second) == []
    above, middle, below = Figure().subplots(3, 1)
    for axis, end in ((above, 2), (middle, 2), (below, 1)):
        axis.set_xlim(0, end)
    below.set_xlabel("a")
    middle.set_xlabel("b")
    above.tick_params(labelbottom=False)
    assert artists.wrong(above) == []
    above.set_xlim(0, 1)
    assert len(artists.wrong(above)) == 1
