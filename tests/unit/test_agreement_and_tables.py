"""Verdicts on printed numbers, the tables' exactness, provenance and the closing words."""

import json

import numpy as np
import pandas as pd
import pytest

from reproduction import agreement, paper, provenance, summary, tables


def verdicts(value, digits, *candidates):
    published = pd.DataFrame([["t", "q", value, digits, "p. 1"]], columns=list(agreement.PUBLISHED))
    rows = [["t", "q", variant, ours, se, "why"] for variant, ours, se in candidates]
    return agreement.compare(published, pd.DataFrame(rows, columns=list(agreement.OURS)), paper="x").iloc[0]


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
        (3, 0, [("corrected", np.nan, 0)], "not_run", "corrected"),
    ],
)
def test_verdicts(value, digits, candidates, verdict, variant):
    row = verdicts(value, digits, *candidates)
    assert (row["verdict"], row["variant"]) == (verdict, variant)


def test_z_counts_simulation_error_and_rounding():
    assert verdicts(0.5, 1, ("corrected", 0.53, 0.02))["z"] == pytest.approx(0.03 / np.hypot(0.02, 0.1 / np.sqrt(12)))


def test_printed_and_computed_numbers_must_pair_up():
    published = pd.DataFrame([["t", "q", 1, 0, ""]], columns=list(agreement.PUBLISHED))
    ours = pd.DataFrame([["t", "other", "corrected", 1, 0, ""]], columns=list(agreement.OURS))
    with pytest.raises(ValueError, match=r"only printed \[\('t', 'q'\)\].*only computed \[\('t', 'other'\)\]"):
        agreement.compare(published, ours, paper="x")
    with pytest.raises(ValueError, match="unknown variants"):
        agreement.compare(published, ours.assign(quantity="q", variant="fixed"), paper="x")


def test_published_files_must_have_the_columns(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("artefact\tvalue\n")
    with pytest.raises(ValueError, match="columns must be artefact, quantity"):
        agreement.read_published(path)


def test_tables_read_back_exactly_and_leave_no_part_file(tmp_path):
    table = pd.DataFrame({"x": [0.1, 1 / 3, 5e-324, np.nan], "n": [1, 2, 3, 4], "t": ["a", "", "b,c", 'd"']})
    tables.write(table, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(tables.read(tmp_path / "t.csv"), table, check_dtype=False)
    tables.write_html(table, tmp_path / "t.html", title="<T>", caption="a & b")
    page = (tmp_path / "t.html").read_text()
    assert "&lt;T&gt;" in page
    assert "a &amp; b" in page
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv", "t.html"]


def test_long_tables_are_cut_in_html_and_say_so(tmp_path):
    tables.write_html(pd.DataFrame({"x": range(1000)}), tmp_path / "t.html", title="T", caption="c")
    page = (tmp_path / "t.html").read_text()
    assert page.count("<tr>") == 201
    assert "First 200 of 1,000 rows" in page


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
    rows = [["x", "table_2", "reproduced", ""], ["x", "figure_3", "not_run", "no R here"]]
    table = pd.DataFrame(rows, columns=["paper", "artefact", "verdict", "note"])
    text = summary.text(table, made=["figures/x/a.png", "results/x/a.csv"], papers=["x"])
    assert "1 figures, 1 tables" in text
    assert "x: figure_3 (1 numbers): no R here" in text


@pytest.mark.parametrize("found", paper.discover().values(), ids=lambda found: found.slug)
def test_printed_numbers_are_well_formed(found):
    table = agreement.read_published(found.folder / "published.tsv")
    assert not table.duplicated(["artefact", "quantity"]).any()
    assert (table["value"].isna() == table["digits"].isna()).all()
