"""Test the scenarios for noisy measurement files. The tests include tables by GEOID, questions, error messages, large
tables and the command line.
"""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._measurement_files import reading
from dpmultinomial._measurement_files.cells import CellPlaces
from dpmultinomial._measurement_files.places import COLUMNS
from dpmultinomial._seeding import stream
from reproduction import command, kind, synthetic_census
from reproduction.config import config, scenario_settings
from reproduction.scenarios import figure, making, page, sentences
from reproduction.scenarios.noisy_measurements import rules
from reproduction.scenarios.summary import summarise

STATED = {"kind": "noisy_measurements", "state": "VT", "cell": {"hispanic": "hispanic"}, "levels": ["County", "Tract"]}
LARGER = {"larger": {"probability": "county 50001 > county 50003"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "nmf"
    size = synthetic_census.Size(counties=2, tracts=6, groups=12, blocks=60, reservation=True)
    for state, seed in (("VT", 1), ("NH", 2)):
        synthetic_census.write(path, state=state, rng=np.random.default_rng(seed), size=size)
    return path


def scenario(folder, **settings):
    return scenario_settings.single("mine", {**STATED, "folder": str(folder), **settings}, kind.discover())


def made(folder, into, **settings):
    files = making.files("mine", into)
    making.part(scenario(folder, **settings), files, root_seed=1)
    return files


def test_a_table_by_geoid_with_least_squares_and_questions(folder, tmp_path):
    files = made(folder, tmp_path, questions=LARGER)
    rows = pd.read_csv(files.csv, dtype={"geoid": str, "geocode": str})
    assert list(rows.columns) == list(COLUMNS)
    assert rows["level"].value_counts().to_dict() == {"Tract": 6, "County": 2}
    assert rows["geoid"][:2].tolist() == ["50001", "50003"]
    assert set(rows["quantity"]) == {"hispanic", "larger"}
    measured = reading.read_with_total(folder, product="pl94", table="person", state="VT", cell=STATED["cell"])
    rng = stream(1, "scenarios", "mine")
    found = CellPlaces(measured, STATED["levels"], rng=rng)
    expected = found.table("hispanic", rng=rng)
    np.testing.assert_array_equal(rows["mean"][:-1], expected["mean"])
    np.testing.assert_array_equal(rows["least_squares_sd"][:-1], expected["least_squares_sd"])
    assert rows["mean"].iloc[-1] == found.ask(LARGER, rng=rng)["mean"][0]


def test_words_page_and_figure_name_the_places_and_say_synthetic(folder, tmp_path):
    files = made(folder, tmp_path, questions=LARGER)
    found = summarise(files)
    assert found.headline.startswith("The true count of hispanic in county 500")
    assert found.lines[0].quantity == "hispanic in county 50001"
    assert found.lines[-1].quantity == "larger"
    assert any(text.startswith("SYNTHETIC") for text in found.assumptions)
    assert any("combined by least squares" in text for text in found.assumptions)
    assert any("given 16 draws of the totals" in text for text in found.assumptions)
    assert len(figure.drawn(files).axes) == 1
    page.write(files, tmp_path / "page.html")
    assert "SYNTHETIC" in (tmp_path / "page.html").read_text(encoding="utf-8")
    facts = json.loads(files.facts.read_text())["points"][0]
    assert "hispanic" in facts["queries"]["County"]
    assert facts["nodes"]["Block"] == 60
    assert sum(state["rows"] for state in facts["accuracy"]) == len(found.lines)  # the answer to the question counts
    assert facts["not_used"] == ["hhgq_total_lb_con", "nurse_nva_0_con"]
    alone = json.loads(made(folder, tmp_path, query="hispanic").facts.read_text())["points"][0]
    assert (alone["combined"], alone["accuracy"][0]["status"]) == (False, "exact")


@pytest.mark.thorough
def test_states_make_a_grid_and_shards_change_nothing(folder, tmp_path):
    asked = scenario(folder, state=["VT", "NH"], levels=["County"])
    whole = making.files("mine", tmp_path / "whole")
    making.part(asked, whole, root_seed=1)
    parts = [making.files(f"mine_{i}", tmp_path / "parts") for i in (1, 2)]
    for i, files in enumerate(parts, 1):
        making.part(asked, files, root_seed=1, shard=i, of=2)
    together = making.files("mine", tmp_path / "together")
    together.csv.parent.mkdir(parents=True)
    making.together(parts, together)
    for one, two in zip(whole.all, together.all, strict=True):
        assert one.read_bytes() == two.read_bytes(), one
    rows = pd.read_csv(whole.csv, dtype=str)
    assert rows["state"].tolist() == ["VT", "VT", "NH", "NH"]
    assert rows["geoid"].tolist() == ["50001", "50003", "33001", "33003"]


@pytest.mark.thorough
def test_large_tables_are_in_parquet_too(folder, tmp_path, monkeypatch):
    small = pd.read_csv(made(folder, tmp_path / "small", questions=LARGER).csv, dtype=str, keep_default_na=False)
    monkeypatch.setattr(making, "MOST", 5)
    files = made(folder, tmp_path / "large", questions=LARGER)
    rows = pd.read_csv(files.csv, dtype=str, keep_default_na=False)
    assert rows["quantity"].tolist() == ["larger", *["hispanic"] * 4]
    assert json.loads(files.facts.read_text())["points"][0]["all_rows"] == "mine.parquet"
    every = pd.read_parquet(files.csv.with_name("mine.parquet"))
    assert every["geoid"].tolist() == small["geoid"].tolist()
    asked = scenario(folder, state=["VT", "NH"])
    parts = [making.files(f"mine_{i}", tmp_path / "parts") for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        making.part(asked, part, root_seed=1, shard=i, of=2)
    into = making.files("mine", tmp_path / "both")
    into.csv.parent.mkdir(parents=True)
    making.together(parts, into)
    names = [point["all_rows"] for point in making.facts_of(into)["points"]]
    assert names == ["mine_state_VT.parquet", "mine_state_NH.parquet"]
    assert [len(pd.read_parquet(into.csv.with_name(name))) for name in names] == [8, 8]
    assert making.large(into) == [into.csv.with_name(name) for name in names]
    monkeypatch.undo()
    made(folder, tmp_path / "large")
    assert not files.csv.with_name("mine.parquet").exists()


def test_its_files_are_inputs_of_the_job(folder):
    found = scenario(folder).files
    # five levels and two branches, each with one file of measurements and two files of constraints
    assert len(found) == 5 * 2 * (1 + 2)
    assert all("State=050" in path or "State=150" in path for path in found)
    assert len(scenario(folder, state=["VT", "NH"]).files) == 60


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"state": None}, "mine.state: is missing"),
        ({"state": "Vermont"}, "mine.state: state must be two letters"),
        ({"state": "ME"}, "mine.state: "),
        ({"product": "dhc"}, "mine.folder: "),
        ({"product": "dhc", "table": "unit"}, "mine.table: the product dhc with the table unit is not supported"),
        (
            {"cell": {"sex": "male"}},
            "mine.cell: 'sex' is not an axis of pl94 person but of dhc person",
        ),
        ({"cell": {"cenrace": "purple"}}, "mine.cell: cenrace: the level 'purple' is not known"),
        ({"query": "salary"}, "mine.query: the query salary must contain only binnings of pl94 person, got salary"),
        ({"levels": ["Ward"]}, "mine.levels: unknown level Ward; the levels of pl94 are State, County"),
        ({"levels": []}, "mine.levels"),
        ({"prior": "flatt"}, "got 'flatt'"),
        ({"prior": -1}, "mine.prior"),
        ({"questions": {"q": {"mode": "a"}}}, "mine.questions.q: a question must have exactly one of"),
        ({"folder": "nowhere"}, "mine.folder: 'nowhere' does not contain US_Person_PL_PROD"),
        ({"folder": None}, "mine: must contain exactly one of the keys folder, got none"),
        ({"total": -1}, "mine.total"),
        ({"draws": 257}, "mine.draws"),
        ({"draws": -1}, "mine.draws"),
    ],
)
def test_mistakes(folder, change, said):
    asked = {key: value for key, value in {**STATED, "folder": str(folder), **change}.items() if value is not None}
    with pytest.raises(config.ConfigError) as caught:
        scenario_settings.single("mine", asked, kind.discover())
    assert said in str(caught.value)


def test_a_name_that_is_no_place_is_said(folder, tmp_path):
    with pytest.raises(KeyError, match="unknown name 'county 50009'"):
        made(folder, tmp_path, questions={"q": {"sum": ["county 50009"]}})


def test_two_commands_from_a_folder_to_tracts_and_a_question(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["answer", str(folder), "--state", "VT", "--cell", "hispanic=hispanic", "--levels", "County", "Tract"]
    command.main([*words, "--ask", "county 50001 > county 50003"])
    shown = capsys.readouterr().out
    assert "hispanic in tract 5000" in shown
    assert "county 50001 > county 50003" in shown
    questions = {"county 50001 > county 50003": {"probability": "county 50001 > county 50003"}}
    same = scenario_settings.single(
        "nmf",
        {**STATED, "folder": str(folder), "cell": {"hispanic": ["hispanic"]}, "questions": questions},
        kind.discover(),
    )
    files = making.files("nmf", tmp_path / "same")
    making.part(same, files, root_seed=20180531)
    assert (tmp_path / "results/scenarios/nmf.csv").read_bytes() == files.csv.read_bytes()
    with pytest.raises(SystemExit, match=r"--cell must have the form axis=level"):
        command.main(["answer", str(folder), "--state", "VT", "--cell", "hispanic"])
    with pytest.raises(SystemExit, match=r"nmf\.state: is missing"):
        command.main(["answer", str(folder)])


def test_the_example_writes_files_that_can_be_answered(tmp_path, capsys):
    from reproduction.scenarios.noisy_measurements import example

    example.main([str(tmp_path / "ex"), "--blocks", "60"])
    assert "synthetic" in capsys.readouterr().out
    rows = pd.read_csv(made(tmp_path / "ex", tmp_path, cell={}, levels=["State"]).csv, dtype={"geoid": str})
    assert rows["geoid"].tolist() == ["50"]


def test_a_public_total_is_an_assumption(folder, tmp_path):
    found = summarise(made(folder, tmp_path, query="hispanic", total=2700))
    assert "The count of hispanic in the whole state, 2,700, is public and exact." in found.assumptions
    assert not any("flat on the total" in text for text in found.assumptions)
    assert any("(no prior, bounds or public total)" in text for text in found.assumptions)
    (warning,) = found.warnings
    assert warning.startswith("CONFLICT: hispanic in node 150, ")  # the part in AIAN areas has no row
    assert " and hispanic in tract 50003000600 are improbable" in warning


def test_the_accuracy_covers_the_units_that_are_computed_from_draws(folder, tmp_path):
    files = made(folder, tmp_path, cell={}, query="total", levels=["State", "Block_Group"])
    states = making.facts_of(files)["points"][0]["accuracy"]
    rows = pd.read_csv(files.csv)["status"].value_counts()
    assert {state["status"]: state["rows"] for state in states} == rows.to_dict()
    assert set(rows.index) == {"exact", "approximate"}


def test_the_prior_of_the_deepest_counts_is_described():
    expected = (
        "the counts of the leaves are independent, and the prior of each leaf is: weight 1/(1 + n) for a count n >= 0"
    )
    assert rules.prior_text({"law": "leaves", "priors": {"law": "1/(1+n)"}}) == expected


@pytest.mark.parametrize(("cell", "end"), [("hispanic", " (counts of hispanic)."), ("total", "")])
def test_the_answer_to_a_question_names_the_cell(cell, end):
    row = SimpleNamespace(quantity="q", type="question", mean=0.25, lower=np.nan, status="exact", error=0.0)
    facts = {"kind": "noisy_measurements", "settings": {"questions": {"q": {"probability": "county 1 > county 2"}}}}
    said = sentences.sentence(row, facts, {"cell": cell})
    assert said == f"q: the probability that county 1 > county 2 is 25 %{end or '.'}"


def test_the_assumptions_of_one_query_of_one_draw_and_of_the_whole_total(folder, tmp_path):
    """One query measures two values of the cell; all levels of an axis together are the total itself."""
    one = summarise(made(folder, tmp_path, query="votingage*hispanic")).assumptions
    assert any(text.startswith("Several measured values of the same node were combined") for text in one)
    assert not any("Several queries" in text for text in one)
    drawn = summarise(made(folder, tmp_path, draws=1))
    assert any("given 1 draw of the totals" in text for text in drawn.assumptions)
    whole = summarise(made(folder, tmp_path, cell={"hispanic": ["hispanic", "not hispanic"]}, levels=["State"]))
    assert not any("at most the total" in text for text in whole.assumptions)
