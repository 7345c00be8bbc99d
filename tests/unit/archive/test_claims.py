"""Tests of the table of printed results: it is complete, has the workflow's files, and its times add up."""

import csv
import io

import pytest

from reproduction import paper
from reproduction.archive import claims
from reproduction.jobs import artefacts

PAPERS = paper.discover()
EVERY = claims.every()


def test_every_artefact_with_a_printed_statement_has_its_row_and_no_other():
    """Count the statements in published.tsv, whose first column names the artefact."""
    for slug, found in PAPERS.items():
        lines = (found.folder / "published.tsv").read_text(encoding="utf-8").splitlines()[1:]
        printed = [line.partition("\t")[0] for line in lines]
        labels = {name: name.replace("_", " ").capitalize() for name in printed}
        labels |= {a.name: a.label for a in found.artefacts}
        rows = {claim.claim: claim.statements for claim in EVERY if claim.paper == slug}
        assert rows == {labels[name]: printed.count(name) for name in dict.fromkeys(printed)}


def test_the_file_is_one_that_the_workflow_makes_and_the_command_names_it():
    made = {name for found in PAPERS.values() for name in (*found.tables(), *found.figures())}
    made |= {f"results/{slug}/agreement.csv" for slug in PAPERS}
    for claim in EVERY:
        assert claim.file in made
        assert claim.command == f"snakemake --cores 2 {claim.file}"
        assert claim.judged_in == f"results/{claim.paper}/agreement.csv"
        assert claim.places.count(";") <= 2
    own = [claim.file for claim in EVERY if claim.file != claim.judged_in]
    assert len(set(own)) == len(own) > len(EVERY) / 2


def test_minutes_are_those_of_all_that_a_figure_is_made_from():
    """Check wang2020, Table 1: minutes of the table, of the two tables that it reads, and of the loop."""
    found = PAPERS["wang2020"]
    by_name = {a.name: a for a in found.artefacts}
    (loop,) = (loop for loop in artefacts.loops(found) if loop.module == "releases")
    expected = sum(by_name[name].table.minutes for name in ("table_1", "exact_moments", "releases")) + loop.minutes
    claim = next(c for c in EVERY if c.file.endswith("wang2020/table_1.csv"))
    assert by_name["table_1"].figure is None
    assert claim.minutes == pytest.approx(expected)


def test_seconds_of_a_run_are_those_of_its_table_and_its_figure(tmp_path):
    folder = tmp_path / "results/benchmarks"
    folder.mkdir(parents=True)
    for name, seconds in (("figure_1_table", 2.5), ("figure_1_figure", 1.25), ("table_1_table", 7)):
        (folder / f"balmat2018_{name}.tsv").write_text(f"s\th:m:s\tmax_rss\tcpu_time\n1\t0:00:01\t9\t{seconds}\n")
    rows = {row["file"]: row for row in csv.DictReader(io.StringIO(claims.text(tmp_path)), delimiter="\t")}
    assert rows["figures/balmat2018/figure_1.png"]["cpu_seconds"] == "3.75"
    assert rows["results/balmat2018/table_1.csv"]["cpu_seconds"] == "7.00"
    assert {row["cpu_seconds"] for name, row in rows.items() if "balmat2018" not in name} == {""}
    assert all(row["cpu_seconds"] == "" for row in csv.DictReader(io.StringIO(claims.text()), delimiter="\t"))


@pytest.mark.parametrize(
    ("said", "short"),
    [
        (["section 5.4", "section 5.4 (1/5,000)", "Table 1, row 1: M!"], "section 5.4; Table 1"),
        (["a", "b", "c", "d", "e", ""], "a; b; c and 2 more"),
        ([], ""),
    ],
)
def test_places_are_named_once_and_three_at_most(said, short):
    assert claims._places(said) == short
