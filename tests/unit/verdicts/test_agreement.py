"""Tests of verdicts on printed numbers, the exactness of tables, provenance and the closing sentences."""

import ast
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, ncx2

from reproduction import evidence, paper, provenance, tables
from reproduction.verdicts import agreement, in_process, rows, summary, table_tests


def verdicts(value, digits, *candidates, kind="number", error=np.nan, words=np.nan):
    published = pd.DataFrame([["t", "q", kind, value, digits, error, "p. 1", words]], columns=list(agreement.PUBLISHED))
    ours = []
    for variant, value, se in candidates:
        stated = (value, ">", 0) if kind == "claim" else (value,)
        made = rows.claim if kind == "claim" else rows.computed
        if variant == "not_run":
            ours.append(rows.not_run("t", "q", "why"))
        elif kind == "law":
            ours.append(rows.law("t", "q", value, "why", variant, sees="rate by 2 %"))
        else:
            ours.append(made("t", "q", *stated, "why", variant, se))
    return agreement.compare(published, pd.DataFrame(ours), paper="x").iloc[0]


@pytest.mark.parametrize(
    ("value", "digits", "candidates", "verdict", "variant"),
    [
        (0.47, 2, [("corrected", 0.4749, 0)], "reproduced", "corrected"),
        (0.47, 2, [("corrected", 0.4751, 0)], "differs", "corrected"),
        (0.47, 2, [("corrected", 0.48, 0.01)], "reproduced", "corrected"),
        (0.47, 2, [("corrected", 0.51, 0.01)], "differs", "corrected"),
        (50, -1, [("corrected", 54.9, 0)], "reproduced", "corrected"),
        (50, -1, [("corrected", 63.0, 0)], "differs", "corrected"),
        (3, 0, [("corrected", 9, 0), ("as_written", 3, 0)], "reproduced", "as_written"),
        (3, 0, [("published", 3, 0), ("corrected", 9, 0)], "reproduced_by_slip", "published"),
        (3, 0, [("published", 4, 0), ("corrected", 9, 0)], "differs", "corrected"),
        (np.nan, np.nan, [("corrected", 9, 0)], "not_stated", "corrected"),
        (3, 0, [("not_run", np.nan, 0)], "not_run", "not_run"),
        (3, 0, [("corrected", np.nan, 0)], "differs", "corrected"),  # NaN never passes
        (3, 0, [("corrected", 3.0, np.nan)], "differs", "corrected"),
    ],
)
def test_verdicts(value, digits, candidates, verdict, variant):
    row = verdicts(value, digits, *candidates)
    assert (row["verdict"], row["variant"]) == (verdict, variant)


@pytest.mark.parametrize(
    ("kind", "value", "error", "ours", "mc_se", "verdict"),
    [
        ("claim", np.nan, np.nan, 0.1, 0.0, "reproduced"),
        ("claim", np.nan, np.nan, 0.0, 0.0, "differs"),
        ("claim", np.nan, np.nan, -0.1, 0.0, "differs"),
        ("claim", np.nan, np.nan, 0.1, 0.04, "reproduced"),  # 2.5 standard errors above none
        ("claim", np.nan, np.nan, 0.1, 0.06, "undecided"),  # 1.7
        ("claim", np.nan, np.nan, -0.1, 0.04, "differs"),
        ("claim", np.nan, np.nan, np.nan, 0.0, "differs"),
        ("claim", np.nan, np.nan, 0.1, np.nan, "differs"),  # of an error that is not known nothing follows
        ("number", np.nan, np.nan, np.nan, 0.0, "differs"),  # not printed, and ours is missing
        ("law", np.nan, 1e-3, 0.002, 0.0, "reproduced"),
        ("law", np.nan, 1e-3, 0.0005, 0.0, "differs"),
        ("law", np.nan, 1e-3, np.nan, 0.0, "differs"),
        ("curve", 2.0, 0.1, 2.09, 0.0, "reproduced"),
        ("curve", 2.0, 0.1, 2.11, 0.0, "differs"),
        ("curve", 2.0, 0.1, 2.2, 0.03, "reproduced"),  # 0.1 of reading and 3.5 x 0.03 of simulation
        ("timing", 2.0, 3.0, 900.0, 0.0, "machine_dependent"),
        ("input", 2.0, np.nan, 2.0, 0.0, "input"),
        ("derived", 2.0, np.nan, 2.0, 0.0, "derived"),
    ],
)
def test_each_kind_of_statement_has_its_test(kind, value, error, ours, mc_se, verdict):
    assert verdicts(value, np.nan, ("corrected", ours, mc_se), kind=kind, error=error)["verdict"] == verdict


@pytest.mark.parametrize(
    ("ours", "verdict", "variant"),
    [
        ({"published": 0.1, "as_written": 0.1, "corrected": 0.1}, "reproduced", "corrected"),
        ({"published": 0.1, "as_written": 0.1, "corrected": -0.1}, "reproduced", "as_written"),
        ({"published": 0.1, "as_written": -0.1, "corrected": -0.1}, "reproduced_by_slip", "published"),
        ({"published": -0.3, "as_written": -0.2, "corrected": -0.1}, "differs", "corrected"),
    ],
)
def test_variants_are_asked_in_their_order_however_they_are_listed(ours, verdict, variant):
    row = verdicts(np.nan, np.nan, *((name, value, 0.0) for name, value in ours.items()), kind="claim")
    assert (row["verdict"], row["variant"], row["ours"]) == (verdict, variant, ours[variant])


def test_a_row_shows_the_verdicts_of_all_variants():
    row = verdicts(np.nan, np.nan, ("corrected", -0.1, 0), ("published", 0.1, 0), ("as_written", 0.2, 0), kind="claim")
    assert (row["variant"], row["verdict"]) == ("as_written", "reproduced")
    assert row["other_variants"] == "corrected: differs; published: reproduced_by_slip"
    assert verdicts(3, 0, ("corrected", 3, 0))["other_variants"] == ""
    assert verdicts(3, 0, ("corrected", 3, 0), ("published", 3, 0), kind="derived")["other_variants"] == ""


def test_a_cell_shows_what_it_would_be_in_the_other_variants_of_its_table():
    """Check each variant by its own joint test: nine cells off by 2.5 standard errors fail, a single one passes."""
    se = np.sqrt(1 - 0.1**2 / 12)
    made = table_of([0.0] * 9, corrected=([2.5] * 9, [se] * 9), as_written=([0.5] * 9, [se] * 9))
    compared = agreement.compare(*made, paper="x")
    assert set(compared["variant"]) == {"as_written"}
    assert set(compared["other_variants"]) == {"corrected: differs"}


def judged(*claim, **more):
    """Return the row of one claim."""
    published = pd.DataFrame([["t", "q", "claim", np.nan, np.nan, np.nan, "", ""]], columns=list(agreement.PUBLISHED))
    return agreement.compare(published, pd.DataFrame([rows.claim("t", "q", *claim, "why", **more)]), paper="x")


@pytest.mark.parametrize(
    ("left", "relation", "right", "rounding", "margin", "verdict"),
    [
        (1.0, "<=", 1.0, 0.0, 0.0, "reproduced"),  # a true <= that holds with equality
        (1.0, "<", 1.0, 0.0, 0.0, "differs"),
        (1.0, ">=", 1.0, 0.0, 0.0, "reproduced"),
        (1.0, ">", 1.0, 0.0, 0.0, "differs"),
        (1.0, "=", 1.0, 0.0, 0.0, "reproduced"),
        (1.0, "=", 1.5, 0.0, -0.5, "differs"),
        (1.5, "=", 1.0, 0.5, 0.0, "reproduced"),
        (1.5, "<=", 1.0, 0.25, -0.25, "differs"),
        (1.5, "<=", 1.0, 0.5, 0.0, "reproduced"),  # what rounding costs a weak relation
        (1.0, "<", 1.5, 0.5, 0.0, "differs"),  # a strict one must hold beyond it
        (1.0, "<", 1.5, 0.25, 0.25, "reproduced"),
        (1.5, ">", 1.0, 0.25, 0.25, "reproduced"),
        (1.0, ">=", 1.5, 0.25, -0.25, "differs"),
        (np.nan, "<=", 1.0, 0.0, np.nan, "differs"),
        (np.inf, "<=", np.inf, 0.0, np.nan, "differs"),
    ],
)
def test_a_claim_is_judged_by_its_relation(left, relation, right, rounding, margin, verdict):
    row = judged(left, relation, right, rounding=rounding).iloc[0]
    assert row["verdict"] == verdict
    assert row["ours"] == pytest.approx(margin, nan_ok=True)
    stated = (row["left"], row["relation"], row["right"], row["rounding"])
    assert stated == pytest.approx((left, relation, right, rounding), nan_ok=True)


def test_an_equality_with_random_error_is_undecided():
    assert judged(1.0, "<=", 1.0, mc_se=0.1).iloc[0]["verdict"] == "undecided"


def test_a_claim_about_pairs_shows_the_one_with_the_least_margin():
    row = rows.claim("t", "q", [1.0, 2.0, 5.0], "<=", [4.0, 3.0, 9.0], mc_se=[0.1, 0.2, 0.3])
    assert (row["left"], row["right"], row["ours"], row["mc_se"]) == (2.0, 3.0, 1.0, 0.2)
    assert rows.claim("t", "q", [3.0, 1.0], "<", 4.0)["left"] == 3.0
    assert np.isnan(rows.claim("t", "q", [1.0, np.nan], "<", [9.0, 9.0])["ours"])  # a missing number is the least


@pytest.mark.parametrize(
    ("arguments", "rounding", "message"),
    [
        ((1.0, "=<", 2.0), 0.0, "t: q: relation must be one of < <= = >= >, got '=<'"),
        ((1.0, "<", 2.0), -1.0, "t: q: rounding must be finite and >= 0, got -1.0"),
        ((1.0, "<", 2.0), np.nan, "rounding must be finite"),
        (([], "<", []), 0.0, "t: q: the relation < requires at least one pair of numbers, got none"),
    ],
)
def test_a_claim_without_sense_is_refused(arguments, rounding, message):
    with pytest.raises(ValueError, match=message):
        rows.claim("t", "q", *arguments, rounding=rounding)


def test_a_claim_and_nothing_else_states_a_relation():
    claim = pd.DataFrame([["t", "q", "claim", np.nan, np.nan, np.nan, "", ""]], columns=list(agreement.PUBLISHED))
    with pytest.raises(
        ValueError,
        match=r"x: rows of the kind claim must be created with claim\(.*\) or law\(.*\). The invalid rows are t: q",
    ):
        agreement.compare(claim, pd.DataFrame([rows.computed("t", "q", 1)]), paper="x")
    number = claim.assign(kind="number", value=1.0, digits=0.0)
    with pytest.raises(
        ValueError, match=r"x: rows of the kind number must be created with computed\(..\). The invalid rows are t: q"
    ):
        agreement.compare(number, pd.DataFrame([rows.claim("t", "q", 1, "<", 2)]), paper="x")
    agreement.compare(claim, pd.DataFrame([rows.not_run("t", "q", "no R here")]), paper="x")


def test_a_law_says_what_it_sees_and_nothing_else_does():
    printed = pd.DataFrame([["t", "q", "law", np.nan, np.nan, 1e-4, "", ""]], columns=list(agreement.PUBLISHED))
    with pytest.raises(
        ValueError, match=r"x: rows of the kind law must be created with law\(.*\). The invalid rows are t: q"
    ):
        agreement.compare(printed, pd.DataFrame([rows.computed("t", "q", 0.5)]), paper="x")
    with pytest.raises(ValueError, match="t: q: a row of the kind 'law' must state the minimum detectable effect"):
        rows.law("t", "q", 0.5, sees="")
    made = rows.law("t", "q", 0.5, sees="rate by 2 %")
    assert agreement.compare(printed, pd.DataFrame([made]), paper="x")["sees"].item() == "rate by 2 %"
    with pytest.raises(ValueError, match=r"created with computed\(..\). The invalid rows are t: q"):
        agreement.compare(printed.assign(kind="number", value=0.5, digits=1.0), pd.DataFrame([made]), paper="x")


def test_a_wide_tolerance_says_how_many_standard_errors_it_allows():
    """Check a printed 2 without decimals, error 0.05: 3.5 sqrt(0.05^2 + 1/12) = 1.0256, 51 % of it, 21 errors."""
    printed = pd.DataFrame([["t", "q", "number", 2.0, 0, np.nan, "", ""]], columns=list(agreement.PUBLISHED))
    row = agreement.compare(printed, pd.DataFrame([rows.computed("t", "q", 2.1, mc_se=0.05)]), paper="x").iloc[0]
    assert row["note"] == "The verdict allows a difference of 51 % of the printed value, which is 21 standard errors."


def test_what_differs_says_why():
    number = pd.DataFrame([["t", "q", "number", 1.0, 0, np.nan, "", ""]], columns=list(agreement.PUBLISHED))
    with pytest.raises(
        ValueError,
        match=r"must have a reason, but the reason is missing for t: q: add the reason as a note in agreement\.ours",
    ):
        agreement.compare(number, pd.DataFrame([rows.computed("t", "q", 2)]), paper="x")
    allowed = "The verdict allows a difference of 50 % of the printed value, which is half a unit of its last digit."
    assert agreement.compare(number, pd.DataFrame([rows.computed("t", "q", 1)]), paper="x")["note"].item() == allowed
    ten = number.assign(value=10.0)
    assert agreement.compare(ten, pd.DataFrame([rows.computed("t", "q", 10)]), paper="x")["note"].item() == ""
    missing = agreement.compare(number, pd.DataFrame([rows.computed("t", "q", np.nan)]), paper="x").iloc[0]
    assert (missing["verdict"], missing["note"]) == ("differs", "The computed value is not a number.")


def table_of(cells, **variants):
    """Return one artefact: printed values with one decimal, and variant -> (values, standard errors)."""
    printed = [["t", f"q{i}", "number", value, 1, np.nan, "", ""] for i, value in enumerate(cells)]
    ours = [
        rows.computed("t", f"q{i}", value, "why", variant, se)
        for variant, (values, errors) in variants.items()
        for i, (value, se) in enumerate(zip(values, errors, strict=True))
    ]
    return (
        pd.DataFrame(printed, columns=list(agreement.PUBLISHED)),
        pd.DataFrame(ours),
    )


def test_a_table_has_one_variant_and_no_cell_picks_its_own():
    """Check that if cell 0 fits one variant and cell 1 the other, the table is not reproduced."""
    made = table_of([1.0, 2.0], corrected=([1.0, 2.5], [0, 0]), as_written=([1.5, 2.0], [0, 0]))
    compared = agreement.compare(*made, paper="x")
    assert compared["variant"].tolist() == ["corrected", "corrected"]
    assert compared["verdict"].tolist() == ["reproduced", "differs"]


def test_the_joint_test_refuses_what_each_cell_alone_would_pass():
    """Check nine cells off by 2.5 standard errors: chi-squared 9 x 6.25 = 56.2, 9 degrees, p = 7e-9; none above 3.5."""
    se = np.sqrt(1 - 0.1**2 / 12)  # with the printed digit the standard error is exactly 1
    made = table_of([0.0] * 9, corrected=([2.5] * 9, [se] * 9))
    judged = agreement.variants(*made).iloc[0]
    assert judged["chi_squared"] == pytest.approx(9 * 6.25)
    assert judged["p_value"] == pytest.approx(chi2.sf(56.25, 9))
    assert not judged["fits"]
    assert set(agreement.compare(*made, paper="x")["verdict"]) == {"differs"}
    mild = table_of([0.0] * 9, corrected=([1.0] * 9, [se] * 9))  # chi-squared 9 on 9 degrees, p = 0.44
    assert set(agreement.compare(*mild, paper="x")["verdict"]) == {"reproduced"}


def test_the_power_against_the_nearest_other_variant():
    """Check two cells off by 3 standard errors: noncentrality 18 on 2 degrees at level 0.001 (13.8)."""
    se = np.sqrt(1 - 0.1**2 / 12)
    made = table_of([0.0, 0.0], corrected=([0.0, 0.0], [se] * 2), as_written=([3.0, 3.0], [se] * 2))
    judged = agreement.variants(*made).set_index("variant")
    assert judged.loc["corrected", "chosen"]
    assert judged.loc["corrected", "against"] == "as_written"
    rng = np.random.default_rng(1)  # an independent estimate of the power
    simulated = np.mean(np.sum((rng.standard_normal((200_000, 2)) + 3.0) ** 2, axis=1) > chi2.isf(0.001, 2))
    assert judged.loc["corrected", "power"] == pytest.approx(simulated, abs=0.005)  # 5 standard errors
    far = table_of([1.0], corrected=([1.0], [0]), published=([2.0], [0]))
    assert agreement.variants(*far).set_index("variant").loc["corrected", "power"] == 1.0


def test_a_cell_that_is_missing_is_no_evidence_for_its_table_nor_for_the_power_against_another():
    se, nan = np.sqrt(1 - 0.1**2 / 12), np.nan
    missing = agreement.variants(*table_of([0.0, 0.0], corrected=([nan, 0.0], [se] * 2))).iloc[0]
    assert (missing["p_value"], missing["fits"]) == (0.0, False)
    # one random cell 3 standard errors from the rival's, one without a rival, two exact ones of which one is within
    # what is printed: noncentrality 9 on the degrees of the random cells, which alone carry it
    ours, theirs = ([0.0, 0.0, 1.0, 1.0], [se, se, 0, 0]), ([3.0, nan, 1.0, 1.04], [se, se, 0, 0])
    judged = agreement.variants(*table_of([0.0, 0.0, 1.0, 1.0], corrected=ours, as_written=theirs))
    power = judged.set_index("variant").loc["corrected", "power"]
    assert power == pytest.approx(ncx2.sf(chi2.isf(0.001, 2), 2, 9.0))


def test_a_number_that_is_not_printed_is_no_cell_of_its_table():
    printed, ours = table_of([1.0, np.nan], corrected=([1.0, 7.0], [0.5, 0.5]))
    judged = agreement.variants(printed, ours).iloc[0]
    assert (judged["cells"], judged["fits"]) == (1, True)
    assert agreement.compare(printed, ours, paper="x")["verdict"].tolist() == ["reproduced", "not_stated"]
    stated = printed.assign(kind=["number", "input"], value=[1.0, 3.0])  # an input is printed, and no result
    assert agreement.variants(stated, ours)["cells"].tolist() == [1]


def test_z_counts_simulation_error_and_rounding():
    assert verdicts(0.5, 1, ("corrected", 0.53, 0.02))["z"] == pytest.approx(0.03 / np.hypot(0.02, 0.1 / np.sqrt(12)))


def test_printed_and_computed_numbers_must_pair_up():
    published = pd.DataFrame([["t", "q", "number", 1, 0, np.nan, "", ""]], columns=list(agreement.PUBLISHED))
    ours = pd.DataFrame([rows.computed("t", "other", 1)])
    with pytest.raises(ValueError, match=r"published only: \[\('t', 'q'\)\].*computed only: \[\('t', 'other'\)\]"):
        agreement.compare(published, ours, paper="x")
    with pytest.raises(ValueError, match=r"variant must be one of .*, got "):
        agreement.compare(published, ours.assign(quantity="q", variant="fixed"), paper="x")


def test_published_files_must_have_the_columns(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("artefact\tvalue\n")
    with pytest.raises(ValueError, match="the columns must be artefact, quantity"):
        agreement.read_published(path)
    header = "\t".join(agreement.PUBLISHED)
    path.write_text(f"{header}\nt\tq\tguess\t1\t0\t\tp. 1\n")
    with pytest.raises(ValueError, match=r"kind must be one of .*, got guess"):
        agreement.read_published(path)
    path.write_text(f"{header}\nt\tq\tcurve\t1\t0\t\tp. 1\n")
    with pytest.raises(
        ValueError,
        match="rows of the kind curve must have a value in the column 'error', but the value is missing for q",
    ):
        agreement.read_published(path)
    for kind in ("wording", "stricter"):
        path.write_text(f"{header}\nt\tq\t{kind}\t\t\t\tp. 1\t\n")
        with pytest.raises(
            ValueError,
            match=r"kinds wording and stricter must quote the paper in the column 'words', .* missing for q",
        ):
            agreement.read_published(path)
        path.write_text(f"{header}\nt\tq\t{kind}\t\t\t\tp. 1\tvery close\n")
        assert agreement.read_published(path)["words"].tolist() == ["very close"]


def test_a_kind_belongs_to_one_score_or_to_none():
    """Print against ours is evidence for the paper, ours against ours for the code; words with a limit are neither."""
    scores = (agreement.PAPER, agreement.WORDING, agreement.CODE)
    counted = [kind for kinds in scores for kind in kinds]
    assert len(set(counted)) == len(counted) == 6
    assert set(agreement.KINDS) - set(counted) == {"stricter", "fact", "timing", "input", "derived"}


@pytest.mark.parametrize("kind", ["wording", "check", "stricter", "fact", "timing"])
def test_a_relation_is_judged_by_its_margin_in_every_kind_that_may_have_one(kind):
    printed = pd.DataFrame([["t", "q", kind, np.nan, np.nan, np.nan, "", "close"]], columns=list(agreement.PUBLISHED))
    for left, verdict in ((0.5, "reproduced"), (1.5, "differs")):
        made = pd.DataFrame([rows.claim("t", "q", left, "<", 1.0, "why")])
        row = agreement.compare(printed, made, paper="x").iloc[0]
        assert row["verdict"] == ("machine_dependent" if kind == "timing" else verdict)
        assert (row["words"], row["left"], row["right"]) == ("close", left, 1.0)


def test_a_claim_about_a_distribution_is_judged_by_its_p_value():
    printed = pd.DataFrame([["t", "q", "claim", np.nan, np.nan, 1e-3, "", ""]], columns=list(agreement.PUBLISHED))
    for p_value, verdict in ((2e-3, "reproduced"), (5e-4, "differs")):
        made = pd.DataFrame([rows.law("t", "q", p_value, "why", sees="rate by 2 %")])
        assert agreement.compare(printed, made, paper="x")["verdict"].item() == verdict
    bare = printed.assign(error=np.nan)  # no level: no p-value is large enough
    assert agreement.compare(bare, made, paper="x")["verdict"].item() == "differs"


def test_a_stricter_reading_of_a_number_is_compared_as_a_number():
    printed = pd.DataFrame([["t", "q", "stricter", 1.0, 0, np.nan, "", "one"]], columns=list(agreement.PUBLISHED))
    for value, verdict in ((1.0, "reproduced"), (2.0, "differs")):
        made = pd.DataFrame([rows.computed("t", "q", value, "why")])
        assert agreement.compare(printed, made, paper="x")["verdict"].item() == verdict


@pytest.mark.parametrize(
    ("corrected", "published", "verdict", "variant"),
    [
        ((-0.3, 0.1), (0.1, 0.1), "undecided", "published"),
        ((-0.3, 0.1), (-0.1, 0.1), "undecided", "published"),  # the sign of a margin within its error decides nothing
        ((0.1, 0.1), (-0.3, 0.1), "undecided", "corrected"),
        ((-0.3, 0.1), (-0.3, 0.1), "differs", "corrected"),
        ((-0.1, 0.1), (0.3, 0.1), "reproduced_by_slip", "published"),
    ],
)
def test_a_statement_differs_only_if_no_method_leaves_it_open(corrected, published, verdict, variant):
    row = verdicts(np.nan, np.nan, ("corrected", *corrected), ("published", *published), kind="claim")
    assert (row["verdict"], row["variant"]) == (verdict, variant)


def test_tables_read_back_exactly_and_leave_no_part_file(tmp_path):
    table = pd.DataFrame({"x": [0.1, 1 / 3, 5e-324, np.nan], "n": [1, 2, 3, 4], "t": ["a", "", "b,c", 'd"']})
    tables.write(table, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(tables.read(tmp_path / "t.csv"), table, check_dtype=False)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_provenance_names_code_inputs_and_versions(tmp_path):
    (tmp_path / "in.csv").write_text("x\n1\n")
    record = provenance.record(
        function="f", settings={"b": 1, "a": 2}, root_seed=3, inputs=[tmp_path / "in.csv"], code=[tmp_path / "in.csv"]
    )
    assert record["settings_sha256"] == provenance.digest({"a": 2, "b": 1})
    assert record["inputs_sha256"]["in.csv"] == provenance.sha256(tmp_path / "in.csv")
    assert {"numpy", "scipy", "snakemake"} <= set(record["packages"])
    json.dumps(record)


def test_the_closing_words_say_what_was_not_run():
    rows = [
        ["x", "table_2", "number", "reproduced", ""],
        ["x", "figure_3", "number", "not_run", "no R here"],
        ["x", "figure_3", "timing", "machine_dependent", ""],
        ["y", "figure_1", "wording", "differs", ""],
        ["y", "figure_1", "check", "reproduced", ""],
        ["y", "figure_1", "law", "reproduced", ""],
        ["y", "figure_1", "stricter", "undecided", ""],
    ]
    table = pd.DataFrame(rows, columns=["paper", "artefact", "kind", "verdict", "note"])
    text = summary.text(table, made=["figures/x/a.png", "results/x/a.csv"], papers=["x"])
    assert "1 figures, 1 tables" in text
    assert "x: figure_3 (1 numbers): no R here" in text
    judged, _, others = text.partition("Not checked")
    assert "machine_dependent" in others
    assert "machine_dependent" not in judged
    assert text.partition("Evidence for the code")[2].split("\n")[2].split() == ["y", "2"]
    assert text.partition("Verbal statements")[2].split("\n\n")[0].split()[-3:] == ["differs", "y", "1"]
    assert "undecided" in text.partition("Interpretations that are stricter")[2].partition("\n\n")[0]


@pytest.mark.parametrize("found", paper.discover().values(), ids=lambda found: found.slug)
def test_errata_with_evidence_have_the_numbers_of_the_text(found):
    """Check that the numbers are 1, 2, .., and that none has evidence twice; both files are optional."""
    text, source = (
        path.read_text(encoding="utf-8") if (path := found.folder / name).is_file() else ""
        for name in ("errata.md", "errata.py")
    )
    shown = evidence.of(found.package)
    numbers = [int(number) for number in re.findall(r"^\| *(\d+) *\|", text, re.MULTILINE)] if text else list(shown)
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert set(shown) <= set(numbers)
    assert sum(isinstance(key, ast.Constant) for key in _keys(source, "ERRATA")) == len(shown)  # none is given twice


def _keys(source, name):
    """Return the keys of the dict display that is assigned to a name in a module; none if there is no such name."""
    for node in ast.parse(source).body:
        target = node.target if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [None])[0]
        if isinstance(target, ast.Name) and target.id == name:
            return node.value.keys
    return []


@pytest.mark.parametrize("found", paper.discover().values(), ids=lambda found: found.slug)
def test_printed_numbers_are_well_formed(found):
    table = agreement.read_published(found.folder / "published.tsv")
    assert not table.duplicated(["artefact", "quantity"]).any()
    numbers = table[table["kind"] == "number"]
    assert (numbers["value"].isna() == numbers["digits"].isna()).all()


def test_a_test_states_every_setting_of_the_tables_that_it_makes():
    """Check that with all settings stated defaults do not matter, and without changes the defaults are used."""
    with pytest.raises(ValueError, match=r"the test of balmat2018\.table_1 does not set total"):
        in_process.tables_of("balmat2018", {"table_1_categories": {"total": 3}}, only=["table_1"])
    made = in_process.tables_of("balmat2018", {"table_1": {"total": 2}}, only=["table_1"])
    assert len(made["table_1"]) == 6  # (M + 1)(M + 2)/2


def test_settings_of_tests_are_changed_key_by_key(tmp_path):
    (tmp_path / "settings.yaml").write_text("a: {x: 1, y: 2}\nb: {z: 3}\n")
    found = in_process.settings(tmp_path / "test_it.py", a={"y": 5}, c={"w": 0})
    assert found == {"a": {"x": 1, "y": 5}, "b": {"z": 3}, "c": {"w": 0}}


@pytest.mark.parametrize(
    ("margin", "mc_se", "verdict"),
    [(0.2, 0.1, "reproduced"), (0.1999, 0.1, "undecided"), (-0.1999, 0.1, "undecided"), (-0.2, 0.1, "differs")],
)
def test_a_random_claim_is_decided_from_two_standard_errors_on(margin, mc_se, verdict):
    row = verdicts(np.nan, np.nan, ("corrected", margin, mc_se), kind="claim")
    assert (row["verdict"], row["z"]) == (verdict, pytest.approx(margin / mc_se))


@pytest.mark.parametrize(
    ("ours", "mc_se", "verdict"),
    [
        # error of reading 1/8 around 1, plus 3.5 standard errors
        (1.125, 0.0, "reproduced"), (1.1251, 0.0, "differs"), (0.8749, 0.0, "differs"), (0.875, 0.0, "reproduced"),
        (1.474, 0.1, "reproduced"), (1.476, 0.1, "differs"),
    ],
)  # fmt: skip
def test_a_value_read_off_a_curve_has_its_reading_error(ours, mc_se, verdict):
    row = verdicts(1.0, np.nan, ("corrected", ours, mc_se), kind="curve", error=0.125)
    assert row["verdict"] == verdict
    assert row["z"] == pytest.approx((ours - 1) / 0.125)


@pytest.mark.parametrize(("level", "verdict"), [(1e-3, "reproduced"), (1.001e-3, "differs")])
def test_a_test_passes_if_its_p_value_reaches_the_level(level, verdict):
    assert verdicts(np.nan, np.nan, ("corrected", 1e-3, 0.0), kind="law", error=level)["verdict"] == verdict


def test_a_cell_with_random_error_is_accepted_up_to_its_largest_score():
    """Check a single cell, whose chi-squared test at level 0.001 has the limit |z| = 3.2905 (one degree of freedom)."""
    unit = np.hypot(0.01, 0.01 / 12**0.5)
    for z, verdict in ((3.290, "reproduced"), (3.291, "differs")):
        assert verdicts(0.47, 2, ("corrected", 0.47 + z * unit, 0.01))["verdict"] == verdict
    # of many cells, one score of 3.51 fails alone, although the joint test passes
    made = table_of([0.0] * 9, corrected=([3.49, *[0.0] * 8], [np.sqrt(1 - 0.1**2 / 12)] * 9))
    assert agreement.compare(*made, paper="x")["verdict"].tolist() == ["reproduced"] * 9
    made = table_of([0.0] * 9, corrected=([3.51, *[0.0] * 8], [np.sqrt(1 - 0.1**2 / 12)] * 9))
    assert agreement.compare(*made, paper="x")["verdict"].tolist() == ["differs", *["reproduced"] * 8]


@pytest.mark.parametrize(
    ("ours", "printed", "digits", "same"),
    [(0.475, 0.47, 2, True), (0.465, 0.47, 2, True), (0.47501, 0.47, 2, False), (45.0, 50, -1, True),
     (44.9, 50, -1, False)],
)  # fmt: skip
def test_a_tie_may_be_rounded_in_either_direction(ours, printed, digits, same):
    assert table_tests.rounds(ours, printed, digits) == same


def test_largest_accepted_differences():
    assert table_tests.unit_error(0.0, 2) == pytest.approx(0.005)
    assert table_tests.unit_error(0.03, 1) == pytest.approx(3.5 * np.hypot(0.03, 0.1 / 12**0.5))


ALLOWED = "The verdict allows a difference of"


@pytest.mark.parametrize(
    ("value", "digits", "ours", "mc_se", "note"),
    [
        (0.34, 1, 0.34, 0.0, ""),  # half a unit is 0.05, 14.7 % of 0.34
        (0.33, 1, 0.33, 0.0, f"{ALLOWED} 15 % of the printed value, which is half a unit of its last digit."),
        (1.0, 2, 1.0, 0.0427, ""),  # 3.5 sqrt(0.0427^2 + 0.01^2/12) = 0.14979
        (1.0, 2, 1.0, 0.0430, f"{ALLOWED} 15 % of the printed value, which is 4 standard errors."),
        (-0.2, 1, -0.2, 0.0, f"{ALLOWED} 25 % of the printed value, which is half a unit of its last digit."),
        (0.0, 1, 0.0, 0.0, ""),
    ],
)  # fmt: skip
def test_tolerances_above_fifteen_percent_are_stated(value, digits, ours, mc_se, note):
    assert verdicts(value, digits, ("corrected", ours, mc_se))["note"] == f"why {note}".strip()


def test_a_curve_with_a_wide_reading_error_says_so():
    for error, wide in ((0.15, False), (0.1501, True)):
        row = verdicts(1.0, np.nan, ("corrected", 1.0, 0.0), kind="curve", error=error)
        assert ("The verdict allows" in row["note"]) == wide
    note = verdicts(1.0, np.nan, ("corrected", 1.0, 0.02), kind="curve", error=0.13)["note"]
    assert f"{ALLOWED} 20 % of the printed value, which is 10 standard errors." in note  # 0.13 + 3.5 x 0.02


def test_the_variant_closest_to_a_table_has_the_fewest_wrong_cells():
    """Check a table that no variant fits: the variant with one wrong cell is chosen, and then the larger p-value."""
    made = table_of([1.0, 2.0, 3.0], corrected=([5.0, 5.0, 3.0], [0] * 3), as_written=([5.0, 2.0, 3.0], [0] * 3))
    judged = agreement.variants(*made).set_index("variant")
    assert judged["wrong"].to_dict() == {"corrected": 2, "as_written": 1}
    assert judged["chosen"].to_dict() == {"corrected": False, "as_written": True}
    se = np.sqrt(1 - 0.1**2 / 12)
    made = table_of([0.0, 0.0], corrected=([9.0, 9.0], [se] * 2), published=([8.0, 8.0], [se] * 2))
    judged = agreement.variants(*made).set_index("variant")
    assert judged["chosen"].to_dict() == {"corrected": False, "published": True}
    assert judged["random"].tolist() == [2, 2]
    assert judged["chi_squared"].to_dict() == pytest.approx({"corrected": 162, "published": 128})


def test_fewer_wrong_cells_count_more_than_a_larger_p_value():
    made = table_of(
        [1.0, 2.0, 3.0], corrected=([5.0, 2.0, 9.0], [0, 0, 1.0]), as_written=([5.0, 5.0, 3.0], [0, 0, 1.0])
    )
    judged = agreement.variants(*made).set_index("variant")
    assert judged["wrong"].to_dict() == {"corrected": 1, "as_written": 2}
    assert judged["p_value"]["corrected"] < 1e-8 < 0.9 < judged["p_value"]["as_written"]
    assert judged["chosen"].to_dict() == {"corrected": True, "as_written": False}


def test_margins_of_every_relation():
    """Check the margins of 3 and 5 with the tolerance 0.5, and whether a margin of 0 suffices."""
    pair = np.array([3.0]), np.array([5.0])
    found = {relation: rows.margin(pair[0], relation, pair[1], 0.5).item() for relation in rows.RELATIONS}
    assert found == {"<": 1.5, "<=": 2.5, "=": -1.5, ">=": -1.5, ">": -2.5}
    assert {relation: rows.holds(0.0, relation) for relation in rows.RELATIONS} == {
        **{"<": False, ">": False, "<=": True, ">=": True, "=": True}
    }
    assert rows.claim("t", "q", 1, "<", 2, rounding=0)["ours"] == 1
    for rounding in (-1e-9, np.inf, np.nan):
        with pytest.raises(ValueError, match="rounding must be finite and >= 0"):
            rows.claim("t", "q", 1, "<", 2, rounding=rounding)
    with pytest.raises(ValueError, match="must state the minimum detectable effect"):
        rows.law("t", "q", 0.5, sees="")
    assert np.isnan(rows.claim("t", "q", [1, np.inf], "<", [2, np.inf])["ours"])
