"""Tests of the first page of the report: the score, one row per printed artefact, printed tables, differences."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from reproduction.report import pages, papers, score, statements, texts
from reproduction.report.files import Folder, Run
from reproduction.report.scenarios import ReleasePage, ScenarioPage, page, record_in_words
from reproduction.verdicts import agreement
from reproduction.verdicts.table_tests import LARGEST_Z


def stated(*rows):
    """Return statements from (artefact, quantity, kind, verdict) and the differences from a plain reproduced number."""
    plain = {"paper": "p", "printed": 1.0, "printed_digits": 1.0, "ours": 1.04, "mc_se": 0.02, "z": 0.5}
    plain |= {"relation": "", "sees": "", "other_variants": "", "note": "", "place": "", "words": ""}
    plain |= {"variant": "corrected", "rounding": 0.0}
    made = []
    for number, (artefact, quantity, kind, verdict, further) in enumerate(rows, 1):
        about = {"artefact": artefact, "quantity": quantity, "kind": kind, "verdict": verdict, "number": number}
        made.append(plain | about | further)
    frame = pd.DataFrame(made).reindex(columns=[*agreement.COLUMNS, "number"])
    return statements.listed(frame.fillna({"relation": "", "sees": "", "other_variants": "", "words": ""}), {})


def one(**further):
    (found,) = stated(("table_1", "q", further.pop("kind", "number"), further.pop("verdict", "reproduced"), further))
    return found


def test_the_score_is_a_sentence_that_counts_what_is_judged():
    rows = [("a", f"q{n}", "number", "reproduced", {}) for n in range(3)]
    rows += [("a", "s", "claim", "reproduced_by_slip", {}), ("a", "d", "law", "differs", {})]
    rows += [("a", "f", "fact", "reproduced", {}), ("a", "t", "timing", "machine_dependent", {})]
    rows += [("a", "n", "number", "not_run", {})]
    rows += [("b", "w", "wording", "reproduced", {}), ("b", "v", "wording", "differs", {})]
    rows += [("b", "c", "check", "reproduced", {}), ("b", "r", "stricter", "differs", {})]
    said = "4 printed statements checked: 3 reproduce, 1 only with an error emulated. "
    said += "2 verbal statements judged with thresholds chosen by this project: 1 holds, 1 differs. "
    said += "2 tests of the samples and curves of this project: 1 passes, 1 differs. 1 more was not run."
    assert score.sentence(stated(*rows)) == said
    alone = [("a", "q", "curve", "undecided", {})]
    assert score.sentence(stated(*alone)) == "1 printed statement checked: 1 undecided."
    assert score.sentence([]) == "0 printed statements checked."
    counted = {g.name: {v.name: n for v, n in g.total} for g in score.groups(stated(*rows))}
    assert counted == {
        "paper": {"reproduced": 3, "reproduced_by_slip": 1, "not_run": 1},
        "wording": {"reproduced": 1, "differs": 1},
        "code": {"reproduced": 1, "differs": 1},
        "no": {"reproduced": 1, "differs": 1, "machine_dependent": 1},
    }
    assert {v.name: n for v, n in score.groups(stated(*rows))[0].papers["p"].items()} == counted["paper"]


def test_the_row_of_an_artefact_counts_each_group_by_itself():
    rows = [("a", "n", "number", "reproduced", {}), ("a", "w", "wording", "differs", {})]
    rows += [("a", f"l{n}", "law", "reproduced", {}) for n in range(3)] + [("a", "s", "stricter", "undecided", {})]
    (line,) = score.lines(stated(*rows))
    assert (line.good, line.judged, line.worded, line.tested) == (1, 1, "0 of 1", "3 of 3")
    assert [quantity for quantity, _ in line.why] == ["w"]  # a stricter reading does not count as a reason
    (line,) = score.lines(stated(rows[-1], rows[0]))
    assert (line.verdict.name, line.worded, line.tested) == ("reproduced", "", "")


def test_statements_that_reproduce_with_an_emulated_error_count_in_each_group():
    verdicts = ("reproduced_by_slip", "differs", "reproduced", "undecided")
    rows = [("a", f"{kind} {v}", kind, v, {}) for kind in ("number", "wording", "law") for v in verdicts]
    (line,) = score.lines(stated(*rows))
    assert (line.good, line.judged, line.worded, line.tested) == (2, 4, "2 of 4", "2 of 4")


def test_undecided_statements_are_reasons_and_every_statement_that_was_not_run_is_counted():
    rows = [("a", "n", "number", "reproduced", {}), ("a", "u", "claim", "undecided", {})]
    rows += [("a", "t", "timing", "not_run", {"note": "No clock."}), ("a", "m", "number", "not_run", {"note": "Late."})]
    (line,) = score.lines(stated(*rows))
    assert [(quantity, verdict.name) for quantity, verdict in line.why] == [("u", "undecided")]
    assert (line.judged, line.lacking, line.unrun) == (2, 2, "No clock.")


def test_the_words_of_the_paper_are_shown_where_it_prints_no_number():
    bare = {"printed": math.nan, "left": 1.0, "relation": "<", "right": 2.0}
    assert one(kind="wording", words="very close", **bare).printed == "“very close”"
    assert one(kind="stricter", words="all").printed == "1.0 “all”"
    assert one(kind="law", **bare).printed == "our test"


def test_a_printed_artefact_is_a_row_with_its_worst_verdict_and_largest_z():
    rows = [
        ("table_2", "x", "number", "reproduced", {"z": -2.25}),
        ("table_1", "y", "number", "reproduced_by_slip", {"z": 0.5}),
        ("table_2", "c", "claim", "differs", {"z": 40.0}),  # of a margin: not a distance from print
        ("table_2", "i", "input", "input", {"z": 9.0}),
    ]
    second, first = score.lines(stated(*rows))
    assert (second.label, second.good, second.judged, second.largest) == ("Table 2", 1, 2, "2.2")
    assert (second.verdict.name, second.why[0][0], second.more) == ("differs", "c", 0)
    assert (first.verdict.name, first.good, first.judged, first.why) == ("reproduced_by_slip", 1, 1, [])
    rows = [("t", f"q{n}", "claim", "differs", {}) for n in range(5)]
    many = score.lines(stated(*rows, ("t", "later", "number", "not_run", {"note": "no R here"})))[0]
    assert (many.judged, many.lacking, many.unrun) == (5, 1, "no R here")
    assert (first.lacking, first.unrun) == (0, "")
    assert [quantity for quantity, _ in many.why] == ["q0", "q1", "q2"]
    assert many.more == 2


def test_the_plot_has_a_dot_a_number_and_keeps_what_lies_outside():
    rows = [("a", f"q{z}", "number", "reproduced", {"z": z}) for z in (0.0, LARGEST_Z, -7.0)]
    rows += [("a long name", "other", "number", "differs", {"z": 1.0}), ("c", "claim", "claim", "reproduced", {})]
    rows += [("c", "exact", "number", "reproduced", {"z": math.inf})]
    plot = score.plot(stated(*rows))
    heights = dict(plot.levels)
    assert [dot.y for dot in plot.dots[:2]] == [heights["0"], heights[f"{LARGEST_Z:g}"]]
    assert [dot.outside for dot in plot.dots] == [False, False, True, False]
    assert heights["-3.5"] < plot.dots[2].y < plot.height  # at the edge, within the picture
    assert [dot.x for dot in plot.dots] == sorted({dot.x for dot in plot.dots})
    assert [label for _, label in plot.starts] == ["A", "A long name"]
    many = [("a", f"q{n}", "number", "reproduced", {}) for n in range(60)]
    crowded = score.plot(stated(*many, ("a long name", "q", "number", "reproduced", {})))
    assert [label for _, label in crowded.starts] == ["A", ""]  # no room for it
    assert score.plot(stated(("b", "claim", "claim", "reproduced", {}))) is None


def test_a_table_is_laid_out_as_printed():
    names = [f"{row}, {place}: {what}" for row in ("A 1", "B") for place in ("min", "max") for what in ("mean", "sd")]
    zs = (0.0, 1.5, 2.5, 4.0, -4.0, 0.2, 0.3, math.nan)
    rows = [("t", name, "number", "reproduced", {"z": z}) for name, z in zip(names, zs, strict=True)]
    grid = statements.grid(stated(*rows, ("t", "no table", "claim", "reproduced", {})))
    assert grid.groups == [("min", 2), ("max", 2)]
    assert grid.columns == ["mean", "sd", "mean", "sd"]
    assert [name for name, _ in grid.rows] == ["A 1", "B"]
    assert [cell.band for _, row in grid.rows for cell in row] == ["0", "1", "2", "3", "3", "0", "0", ""]
    assert (grid.rows[0][1][1].printed, grid.rows[0][1][1].ours, grid.rows[0][1][1].z) == ("1.0", "1.040", "+1.5")
    assert statements.grid(stated(*rows[:4])) is None  # one row is no table


@pytest.mark.parametrize(
    ("row", "ours", "off", "z"),
    [
        ({}, "1.040", "+0.04 (s.e. 0.02)", "+0.5"),
        ({"ours": 0.9, "mc_se": 0.0, "z": -3.46}, "0.900", "−0.1", "−3.5"),
        ({"ours": 1.0, "mc_se": 0.0, "z": 0.0}, "1", "none", "+0.0"),
        ({"kind": "law", "ours": 0.25, "mc_se": 0.0, "sees": "rate by 2 %"}, "p = 0.25", "", ""),
        (
            {"kind": "claim", "ours": 0.5, "left": 2.5, "relation": ">=", "right": 2.0, "mc_se": 0.0, "z": math.inf},
            "2.5 ≥ 2",
            "holds by 0.5",
            "",
        ),
        (
            {"kind": "claim", "ours": -12.76, "left": 14.76, "relation": "<", "right": 2.0, "mc_se": 0.1, "z": -127.0},
            "14.76 ≥ 2",
            "fails by 12.8 (s.e. 0.1)",
            "",
        ),
        (
            {"kind": "claim", "ours": 0.0, "mc_se": 0.0, "left": 1, "relation": "=", "right": 1},
            "1 = 1",
            "holds with equality",
            "",
        ),
        *(
            (
                {"kind": "claim", "ours": ours, "mc_se": 0.0, "left": left, "relation": relation, "right": 1.0}
                | {"rounding": 0.01},
                shown,
                off,
                "",
            )
            for left, relation, ours, shown, off in [
                (50.0, "=", -48.99, "50 ≠ 1", "fails by 49"),
                (1.005, "=", 0.005, "1.005 ≈ 1", "holds by 0.005"),
                (2.0, "<=", -0.99, "2 > 1", "fails by 0.99"),
                (0.5, ">=", -0.49, "0.5 < 1", "fails by 0.49"),
                (0.5, ">", -0.51, "0.5 ≤ 1", "fails by 0.51"),
                (1.005, ">", -0.005, "1.005 ≈ 1", "fails by 0.005"),
                (1.009, "=", 0.001, "1.009 ≈ 1", "holds by 0.001"),
                (1.011, "=", -0.001, "1.011 ≠ 1", "fails by 0.001"),
            ]
        ),
        ({"verdict": "not_run", "ours": math.nan, "z": math.nan}, "", "", ""),
    ],
)
def test_how_far_off_is_said_in_words_and_in_standard_errors(row, ours, off, z):
    found = one(**row)
    assert (found.ours, found.off, found.z_text) == (ours, off, z)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (378.095041, 0.0, "378.10"),
        (0.909063, 1.0, "0.909"),
        (435.0, 1.0, "435"),
        (1e-7, 2.0, "1e-07"),
        (1 / 3, math.nan, "0.333333"),
    ],
)
def test_ours_has_two_decimals_more_than_print(value, digits, expected):
    assert texts.beside(value, digits) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (123456789.0, "123456789"), (999999999.0, "999999999"), (1e9, "1e+09"), (-999999999.0, "-999999999"),
        (0.0, "0"), (123.456789, "123.457"), (-math.inf, "-inf"), (math.nan, ""),
    ],
)  # fmt: skip
def test_integers_below_a_thousand_million_are_written_in_full(value, text):
    assert texts.number(value) == text
    assert texts.text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (pd.NA, ""),
        (True, "True"),
        (np.int64(12345678901), "12345678901"),
        ("x", "x"),
        (np.float64(0.5), "0.5"),
    ],
)
def test_cells_that_are_not_real_numbers_are_shown_as_they_are(value, text):
    assert texts.text(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "printed", "ours"),
    [
        (12.3456, 1.0, "12.3", "12.346"),
        (12.3456, 0.0, "12", "12.35"),
        (1234.56, -1.0, "1235", "1234.56"),
        (12.0, 2.0, "12.00", "12"),
        (0.0, 1.0, "0.0", "0"),
        (math.nan, 2.0, "", ""),
        (math.inf, 2.0, "inf", "inf"),
        (12.3456789, math.nan, "12.3457", "12.3457"),
        (0.004, 0.0, "0", "0.004"),  # 0.00 would not be the number
        (0.006, 0.0, "0", "0.01"),
        (999999999.5, 0.0, "1000000000", "999999999.50"),
        (1e9 + 0.5, 0.0, "1000000000", "1e+09"),
        (-2e9, 0.0, "-2000000000", "-2e+09"),
    ],
)
def test_a_printed_number_and_ours_have_their_decimals(value, digits, printed, ours):
    assert texts.printed(value, digits) == printed
    assert texts.beside(value, digits) == ours


def test_a_table_has_its_first_fourteen_columns_and_its_columns_of_numbers():
    frame = pd.DataFrame({f"c{i}": [i, i + 0.5] for i in range(15)}).assign(c3="x", c4=np.nan)
    found = texts.shown(frame, file="f", path="p")
    assert found.columns == [f"c{i}" for i in range(15) if i != 4]
    assert found.rows[1][:4] == ["0.5", "1.5", "2.5", "x"]
    assert found.numeric == [name != "c3" for name in found.columns]
    assert (found.total, found.cut, found.file, found.path) == (2, False, "f", "p")
    more = texts.shown(frame.assign(c15=1, c4=1))
    assert more.columns == [f"c{i}" for i in range(14)]
    few = texts.shown(pd.DataFrame({"x": range(12)}), most=11)
    assert (len(few.rows), few.cut, few.rows[-1]) == (10, True, ["9"])
    assert not texts.shown(pd.DataFrame({"x": range(12)}), most=12).cut


def test_prose_has_lower_headings_and_tables_that_scroll():
    prose = texts.Prose("p", ["table_1", "figure_2"])
    found = str(prose.block("# Title\n\n## Part\n\n| a |\n|---|\n| b |\n\n$$x^2$$\n\n$\\nothing{$"))
    assert "<h3>Title</h3>" in found
    assert "<h4>Part</h4>" in found
    assert '<div class="wide" tabindex="0" role="region" aria-label="table"><table>' in found
    assert "</table></div>" in found
    assert found.count('<div class="formula"') == 1
    assert "<code>\\nothing{</code>" in found
    mention = "`table_1.csv`, `figures/p/figure_2.png`, `results/q/table_1.csv`, `table_1.csv`, `table_3.csv`, `x`"
    assert prose.mentioned(mention) == ["table_1", "figure_2"]
    assert prose.line("`figure_2.png`").startswith('<a href="#figure_2">')


def test_the_plot_has_its_dots_at_the_middle_of_equal_steps():
    """960 units with edges of 40: two numbers are 220 and 440 from the edge; z = 5.5 is at the upper end."""
    rows = [("a", "q1", "number", "reproduced", {"z": 1.1}), ("b", "q2", "curve", "differs", {"z": -5.5})]
    plot = score.plot(stated(*rows, ("b", "law", "law", "reproduced", {"z": 2.0})))
    assert [(dot.x, dot.y, dot.outside) for dot in plot.dots] == [
        (40 + 220, 90 * (1 - 1.1 / 5.5), False), (40 + 660, round(90 * (1 + 5 / 5.5), 1), True),
    ]  # fmt: skip
    assert plot.starts == [(40.0, "A"), (480.0, "B")]
    assert plot.levels == [
        ("3.5", round(90 * (1 - 3.5 / 5.5), 1)),
        ("0", 90.0),
        ("-3.5", round(90 * (1 + 3.5 / 5.5), 1)),
    ]
    assert (plot.outside, plot.width, plot.height, plot.edge) == (1, 960, 180, 40)
    assert plot.dots[1].text == "B, q2: z = -5.5"
    at_edge = score.plot(
        stated(("a", "q", "number", "reproduced", {"z": 5.0}), ("a", "r", "number", "reproduced", {"z": math.nan}))
    )
    assert [(dot.y, dot.outside) for dot in at_edge.dots] == [(round(90 * (1 - 5 / 5.5), 1), False)]


@pytest.mark.parametrize(("letters", "shown"), [(9, True), (10, False)])
def test_an_artefact_is_named_in_the_plot_if_its_name_fits(letters, shown):
    """Each letter has 7 units: 9 letters have 63 of 69.x units, and 10 letters have 70."""
    rows = [
        ("x" * letters, "q", "number", "reproduced", {}),
        *[("y", f"r{i}", "number", "reproduced", {}) for i in range(12)],
    ]
    plot = score.plot(stated(*rows))
    assert (plot.starts[0][1] != "") == shown  # 880 / 13 = 67.7 units per number


@pytest.mark.parametrize(("size", "more"), [(2, 0), (3, 0), (4, 1)])
def test_three_statements_are_named_as_reasons(size, more):
    (line,) = score.lines(stated(*[("t", f"q{n}", "claim", "differs", {}) for n in range(size)]))
    assert (len(line.why), line.more) == (min(size, 3), more)


@pytest.mark.parametrize(("missing", "words"), [(1, "1 more was not run."), (2, "2 more were not run.")])
def test_statements_that_were_not_run_are_counted(missing, words):
    rows = [("a", f"n{i}", "number", "not_run", {}) for i in range(missing)]
    said = score.sentence(stated(("a", "x", "number", "reproduced", {}), ("a", "y", "number", "differs", {}), *rows))
    assert said == f"2 printed statements checked: 1 reproduces, 1 differs. {words}"


@pytest.mark.parametrize(("size", "table"), [(5, None), (6, 3)])
def test_a_printed_table_has_at_least_six_cells(size, table):
    names = [f"{row}: {column}" for row in "abc" for column in "xy"][:size]
    grid = statements.grid(stated(*[("t", name, "number", "reproduced", {}) for name in names]))
    assert (grid and len(grid.rows)) == table
    assert grid is None or grid.groups == []


@pytest.mark.parametrize(("filled", "table"), [(11, False), (12, True), (13, True)])
def test_a_printed_table_is_at_least_three_fifths_full(filled, table):
    """Of 10 rows and 2 columns, 12 cells are three fifths."""
    names = [f"{row}: {column}" for column in "xy" for row in "abcdefghij"]
    grid = statements.grid(stated(*[("t", name, "number", "reproduced", {}) for name in names[:filled]]))
    assert (grid is not None) == table
    if grid is not None:
        assert [name for name, _ in grid.rows] == list("abcdefghij")
        assert sum(cell is None for _, row in grid.rows for cell in row) == 20 - filled


@pytest.mark.parametrize(
    ("z", "band"), [(0.0, "0"), (1.0, "0"), (-1.01, "1"), (2.0, "1"), (2.01, "2"), (3.5, "2"), (-3.51, "3")]
)
def test_the_colour_of_a_cell_is_the_size_of_z(z, band):
    (statement,) = stated(("t", "a: b", "number", "reproduced", {"z": z}))
    assert statements._cell(statement).band == band
    (claim,) = stated(("t", "a: b", "derived", "derived", {"z": z}))
    assert (statements._cell(claim).band, statements._cell(claim).z) == ("", "")


def test_columns_of_a_group_are_together_in_the_order_of_their_first():
    heads = [("b", "1"), ("a", "1"), ("b", "2"), ("", "x"), ("a", "2")]
    assert statements._together(heads) == [("b", "1"), ("b", "2"), ("a", "1"), ("a", "2"), ("", "x")]


def test_statements_of_an_artefact_begin_with_those_that_are_not_reproduced():
    rows = [("a", "good", "number", "reproduced", {}), ("b", "x", "number", "not_run", {}),
            ("a", "bad", "number", "differs", {}), ("a", "slip", "number", "reproduced_by_slip", {}),
            ("a", "open", "claim", "undecided", {}), ("a", "none", "number", "not_stated", {})]  # fmt: skip
    found = statements.grouped(stated(*rows))
    assert list(found) == ["a", "b"]
    assert [s.quantity for s in found["a"]] == ["bad", "open", "slip", "good", "none"]
    assert found["a"][0].row == "p-3"
    assert found["a"][0].address == "paper-p.html#a"


def test_other_methods_are_named_with_their_verdicts():
    others = "as_written: differs; published: reproduced_by_slip"
    assert one(other_variants=others).variant == (
        "corrected method; as written: differs; as in their program: reproduced by slip"
    )
    assert one().variant == "corrected method"
    assert one(kind="law").variant == ""
    assert (
        one(kind="law", other_variants="published: differs").variant == "corrected method; as in their program: differs"
    )
    assert one(variant="unknown").variant == ""
    assert one(kind="law", sees="a rate by 2 %", note="See the text.").note == (
        "See the text. The test detects the following changes with probability 0.9: a rate by 2 %."
    )


def test_values_for_sorting_have_all_digits_and_no_infinity():
    found = one(ours=1 / 3, printed=math.inf)
    assert (float(found.exact), found.printed_exact) == (1 / 3, "1.7976931348623157e+308")
    assert one(ours=-math.inf).exact == "-1.7976931348623157e+308"
    silent = one(verdict="not_run")
    assert (silent.ours, silent.exact, silent.off, silent.z_text) == ("", "", "", "")
    assert one(kind="claim", relation=">=", left=math.nan, right=2.0, ours=-0.5).ours == "fails by 0.5"


def shown(name, size=0, verdict="reproduced", **more):
    rows = stated(*[(name, f"q{n}", "number", verdict if n else "differs", {}) for n in range(size)])
    return papers.Shown(name, name, "", statements=rows, **more)


@pytest.mark.parametrize(("size", "first"), [(1, 1), (12, 12), (13, 1), (20, 1)])
def test_of_more_than_twelve_statements_those_that_differ_come_first(size, first):
    found = shown("a", size)
    assert (len(found.first), len(found.rest)) == (first, size - first)
    assert found.first[0].verdict.name == "differs"
    assert {v.name: n for v, n in found.verdicts} == {
        k: n for k, n in {"reproduced": size - 1, "differs": 1}.items() if n
    }


def test_the_page_of_a_paper_separates_printed_artefacts_from_extras():
    paper = SimpleNamespace(slug="p")
    parts = [shown("b", 2), shown("extra", table="t"), shown("a", 1)]
    lines = score.lines([*parts[2].statements, *parts[0].statements][::-1])
    page = papers.PaperPage(paper, parts, [], "", "", [], lines=lines)
    assert [a.name for a in page.printed] == [line.address.partition("#")[2] for line in lines]
    assert [a.name for a in page.extras] == ["extra"]
    assert page.address == "paper-p.html"
    assert page.made
    assert papers.PaperPage(paper, [shown("x", table="t")], [], "", "", []).made
    assert papers.PaperPage(paper, [shown("y"), shown("x", figure="f")], [], "", "", []).made
    assert not papers.PaperPage(paper, [shown("x")], [], "", "", []).made


def test_errata_are_read_from_the_text_and_from_the_run(tmp_path):
    rows = "| no | what | then |\n|---|---|---|\n| 2 | `table_1.csv` is wrong | so |\n| 1 | b | c |\n"
    text = f"# Errata\n\nA remark.\n\n{rows}"
    (tmp_path / "errata.md").write_text(text)
    paper = SimpleNamespace(slug="p", folder=tmp_path)
    evidence = pd.DataFrame(
        {"number": [1, 3], "erratum": ["x", "third"], "evidence": ["e1", "e3"], "command": ["c1", "c3"]}
    )
    run = SimpleNamespace(read=lambda path: evidence if path == "results/p/errata.csv" else None)
    found, remarks = papers._errata(run, paper, texts.Prose("p", ["table_1"]))
    assert [(e.number, e.evidence, e.command, e.artefacts) for e in found] == [
        (1, "e1", "c1", ()), (2, "", "", ("table_1",)), (3, "e3", "c3", ())]  # fmt: skip
    assert [str(e.follows) for e in found] == ["c", "so", ""]
    assert str(found[2].text) == "third"
    assert str(remarks) == "<p>A remark.</p>\n"
    nothing = papers._errata(
        SimpleNamespace(read=lambda _: None), SimpleNamespace(slug="p", folder=tmp_path / "no"), texts.Prose("p")
    )
    assert nothing == ([], "")


def test_statements_that_were_not_run_are_grouped_by_paper_and_reason():
    rows = [("a", "q1", "number", "not_run", {"note": "no R"}), ("b", "q2", "number", "not_run", {"note": "slow"}),
            ("b", "q3", "number", "not_run", {"note": "no R"}), ("c", "q4", "number", "differs", {})]  # fmt: skip
    one_, two = pages.not_run(stated(*rows))
    assert (one_.paper, one_.reason, [s.quantity for s in one_.statements]) == ("p", "no R", ["q1", "q3"])
    assert (two.reason, [s.quantity for s in two.statements]) == ("slow", ["q2"])
    assert one_.artefacts == {"A": "paper-p.html#a", "B": "paper-p.html#b"}


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (None, 0), (pd.DataFrame({"x": [1]}), 0), (pd.DataFrame({"status": ["exact", "converged"]}), 0),
        (pd.DataFrame({"status": ["not converged", "exact", "not converged"]}), 2),
    ],
)  # fmt: skip
def test_rows_that_did_not_converge_are_counted(table, rows):
    assert pages.failed(table) == rows


def test_tables_that_did_not_converge_are_listed_with_their_address():
    bad = pd.DataFrame({"status": ["not converged"] * 3})
    run = SimpleNamespace(read=lambda path: bad if path == "results/p/table_1.csv" else None)
    paper = SimpleNamespace(
        paper=SimpleNamespace(slug="p"), address="paper-p.html", artefacts=[shown("table_1"), shown("table_2")]
    )
    points = [{"accuracy": [{"status": "exact", "rows": 5}, {"status": "not converged", "rows": 2}]},
              {"accuracy": [{"status": "not converged", "rows": 4}]}]  # fmt: skip
    cases = [ScenarioPage("good"), ScenarioPage("mine", summary=SimpleNamespace(facts={"points": points}))]
    found = pages.not_converged(run, [paper], cases)
    assert [(one.paper, one.label, one.rows, one.address) for one in found] == [
        ("p", "table_1", 3, "paper-p.html#table_1"), ("scenarios", "mine", 6, "scenario-mine.html")]  # fmt: skip
    assert ScenarioPage("s", summary=SimpleNamespace(facts={})).unusable == 0


def test_the_origin_of_tables_is_counted(tmp_path):
    records = [
        {"settings": {}, "commit": "abc", "root_seed": 1, "platform": "L", "machine": "x", "python": "3.11",
         "dpmultinomial": "1", "packages": {"numpy": "2"}},
        {"settings": {}, "commit": "def", "root_seed": 1, "platform": "L", "machine": "y", "python": "3.11",
         "dpmultinomial": "1", "packages": {"numpy": "2", "scipy": "1"}},
        {"sha256": "only"},
    ]  # fmt: skip
    (tmp_path / "results/p").mkdir(parents=True)
    for i, record in enumerate(records):
        (tmp_path / f"results/p/{i}.provenance.json").write_text(json.dumps(record))
    found = pages.made(SimpleNamespace(root=tmp_path, papers=[SimpleNamespace(slug="p")], config={}))
    assert (found.tables, found.mixed) == (2, True)
    assert found.commits == {"abc": 1, "def": 1}
    assert found.versions == {"dpmultinomial": {"1": 2}, "python": {"3.11": 2}, "numpy": {"2": 2}, "scipy": {"1": 1}}
    assert found.seeds == {"1": 2}
    assert found.platforms == {"L, x": 1, "L, y": 1}
    assert not pages.Made(1, {"abc": 2}, {}, {}, {}).mixed


def test_the_origin_of_tables_of_scenarios_and_plans_is_counted(tmp_path):
    """Two cases of the configuration were made; `c` was not made, and `old` is not in the configuration."""
    for place in ("scenarios/a", "scenarios/old", "plans/b"):
        path = tmp_path / f"results/{place}.provenance.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"settings": {}, "commit": place, "root_seed": 1}))
    config = {"run": [], "scenarios": {"a": {}, "c": {}}, "plans": {"b": {}}}
    found = pages.made(SimpleNamespace(root=tmp_path, papers=[], config=config))
    assert found.commits == {"scenarios/a": 1, "plans/b": 1}
    assert (found.tables, found.mixed) == (2, True)


def test_settings_are_shown_by_section_with_the_single_ones_first():
    run = SimpleNamespace(config={"scenarios": {"a": {"counts": [1, 2]}}, "run": ["é"], "seed": 3})
    assert pages.settings(run) == [("all", "run: [é]\nseed: 3"), ("scenarios", "a:\n  counts: [1, 2]")]
    assert pages.settings(SimpleNamespace(config={})) == []


def test_templates_escape_values_and_reject_undefined_names():
    environment = pages._environment()
    assert environment.from_string("  {% if x %}\n{{ x }}\n  {% endif %}\n").render(x="<b>") == "&lt;b&gt;\n"
    with pytest.raises(Exception, match="'y' is undefined"):
        environment.from_string("{{ y }}").render()
    assert environment.from_string("{{ x | yaml }}").render(x={"a": {"b": 1}}) == "a: {b: 1}"


def test_a_record_of_a_release_is_listed_in_words():
    record = {"release": "r", "generation": 2, "other_entry": [1, 0.5, None], "sha256": "f", "epsilon_at_delta": 0.25,
              "law": {"law": "laplace", "scale": 1 / 3, "relation": "x"}}  # fmt: skip
    assert record_in_words(record) == [
        ("noise distribution", "law laplace, scale 0.333333 (x)"),
        ("epsilon of this release alone, at a delta", "0.25"),
        ("SHA-256 of release.csv", "f"),
        ("other entry", "1, 0.5, "),
    ]
    page = ReleasePage("county", 1, record=[("cost", "epsilon 1")])
    assert (page.cost, page.address) == ("epsilon 1", "release-county.html")
    assert ReleasePage("county", 1).cost == ""


def test_a_scenario_that_was_not_made_states_its_command(tmp_path):
    found = page(Run(tmp_path), "mine", {"release": "county"}, Folder(tmp_path, tmp_path / "report"))
    assert (found.missing, found.release, found.summary, found.unusable) == (
        "snakemake --cores 1 scenario_mine", "county", None, 0)  # fmt: skip


def test_a_figure_is_copied_with_its_size(tmp_path, monkeypatch):
    (tmp_path / "figures").mkdir()
    Image.new("RGB", (30, 20)).save(tmp_path / "figures/f.png")
    monkeypatch.setattr("reproduction.trust.content", lambda path: path.read_bytes())
    folder = Folder(tmp_path, tmp_path / "report")
    found = folder.figure("figures/f.png", alt="a", caption="c")
    assert (found.src, found.width, found.height, found.alt, found.caption) == ("figures/f.png", 30, 20, "a", "c")
    assert (tmp_path / "report/figures/f.png").read_bytes() == (tmp_path / "figures/f.png").read_bytes()
    assert folder.figure("figures/none.png", alt="a", caption="c") is None


@pytest.mark.parametrize(("size", "address"), [(250_000, "data/t.csv"), (250_001, "data/t.csv.gz")])
def test_a_table_of_more_than_250_000_bytes_is_compressed(tmp_path, monkeypatch, size, address):
    (tmp_path / "results").mkdir()
    (tmp_path / "results/t.csv").write_bytes(b"x" * size)
    monkeypatch.setattr("reproduction.trust.content", lambda path: path.read_bytes())
    assert Folder(tmp_path, tmp_path / "report").table("results/t.csv") == address


@pytest.mark.parametrize("beyond", [False, True])
def test_a_compressed_table_of_more_than_3_million_bytes_is_not_copied(tmp_path, monkeypatch, beyond):
    (tmp_path / "results").mkdir()
    (tmp_path / "results/t.csv").write_bytes(b"x" * 300_000)
    monkeypatch.setattr("reproduction.trust.content", lambda path: path.read_bytes())
    monkeypatch.setattr("reproduction.report.files.gzip.compress", lambda raw, mtime: b"y" * (3_000_000 + beyond))
    assert Folder(tmp_path, tmp_path / "report").table("results/t.csv") == ("" if beyond else "data/t.csv.gz")


def test_statements_of_several_papers_are_numbered_within_each_paper(tmp_path, monkeypatch):
    tables = {
        "results/p/agreement.csv": pd.DataFrame({"quantity": ["a", "b"]}),
        "results/r/agreement.csv": pd.DataFrame({"quantity": ["c"]}),
    }
    monkeypatch.setattr(Run, "papers", [SimpleNamespace(slug=slug) for slug in "pqr"])
    monkeypatch.setattr(Run, "read", lambda self, path: tables.get(path))
    assert Run(tmp_path).agreement["number"].tolist() == [1, 2, 1]
    tables.clear()
    assert list(Run(tmp_path).agreement.columns) == [*agreement.COLUMNS, "number"]
