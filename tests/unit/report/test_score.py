"""Tests of the first page of the report: the score, one row per printed artefact, printed tables, differences."""

import math

import pandas as pd
import pytest

from reproduction.report import score, statements, texts
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
