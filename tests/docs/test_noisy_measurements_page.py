"""Tests of the page on noisy measurement files: commands are run, the scenario is answered, numbers are checked."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
import yaml

from dpmultinomial._measurement_files import products
from dpmultinomial._measurement_files.places import COLUMNS
from reproduction import command, kind, synthetic_census
from reproduction.config import scenario_settings
from reproduction.scenarios import making
from reproduction.scenarios.noisy_measurements import example

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to/noisy-measurements.md").read_text(encoding="utf-8")
METHODS = (DOCS / "methods/noisy-measurements.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return the folder that the first command of the page makes."""
    folder = tmp_path_factory.mktemp("home")
    first = next(line for line in PAGE.splitlines() if line.startswith("python -m "))
    words = shlex.split(first)
    assert words[2] == example.__name__
    example.main([str(folder / words[3])])
    return folder


def test_the_second_command_answers_tracts_and_the_question(home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    line = next(line for line in PAGE.splitlines() if line.startswith("dpm answer nmf"))
    command.main(shlex.split(line)[1:])
    said = capsys.readouterr().out
    assert "hispanic in tract 50001" in said
    assert "SYNTHETIC" in said
    rows = pd.read_csv("results/scenarios/nmf.csv", dtype={"geoid": str})
    assert rows["level"].value_counts().to_dict() == {"Tract": 20, "County": 4}
    assert 0 <= rows["mean"].iloc[-1] <= 1
    table = [name for row in re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]
    assert set(COLUMNS) <= set(table)


def test_the_scenario_of_the_page_is_answered(home, monkeypatch):
    monkeypatch.chdir(home)
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    ((name, written),) = yaml.safe_load(block)["scenarios"].items()
    files = making.files(name, home)
    making.part(scenario_settings.single(name, written, kind.discover()), files, root_seed=1)
    assert pd.read_csv(files.csv)["quantity"].tolist()[-2:] == ["larger", "both"]


def test_cells_that_are_shown_are_cells():
    people, dhc = products.PRODUCTS["pl94", "person"], products.PRODUCTS["dhc", "person"]
    assert products.masks(people, {"hhgq": "institutional"})[0].sum() == 4
    assert products.masks(people, {"cenrace": "asian in combination"})[3].sum() == 32
    assert products.masks(dhc, {"age": "65+"})[2].sum() == 51
    for text in ("{hhgq: institutional}", "{cenrace: asian in combination}", "{age: 65+}"):
        assert text in PAGE


def test_published_numbers_are_those_of_the_code():
    levels = ("State", "County", "Tract", "Block_Group", "Block")
    sds = [float(synthetic_census.variances("pl94", "person", level)["total"]) ** 0.5 for level in levels]
    for sd in (f"{sds[0]:.2f}", f"{sds[1]:.2f}", f"{sds[2]:.2f}", f"{sds[3]:.2f}", f"{sds[4]:.1f}"):
        assert sd in METHODS
    for table, fraction in (("person", "339/542"), ("unit", "12343/3379")):
        scale = synthetic_census.GLOBAL["pl94", table]
        assert f"{scale.numerator}/{scale.denominator}" == fraction
        assert fraction in METHODS
        assert f"{float(1 / scale**2):.2f} for {table}s" in METHODS
