"""Tests of the commands and scenarios in README and the how-tos: each is run, or checked if it needs a cluster."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from reproduction import command, kind, paper
from reproduction.config import checks, scenario_settings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / f"docs/how-to/{name}.md" for name in ("scenario", "batches", "release", "plan"))]
BLOCKS = [
    (page.name, block)
    for page in PAGES
    for block in re.findall(r"^ *```yaml\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if re.search(r"^ *scenarios:", block, re.MULTILINE)
]
LINES = sorted(
    {
        line
        for page in PAGES
        for line in re.findall(r"(?:`|^)(dpm [^`\n]+)(?:`|$)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
)


def shown(page, start):
    """Return a file as shown on a page."""
    text = (ROOT / f"docs/how-to/{page}.md").read_text(encoding="utf-8")
    return re.search(rf"^```\n({re.escape(start)}.*?)^```", text, re.DOTALL | re.MULTILINE)[1]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Write the files that the pages assume: public counts, a confidential file, mine.yaml."""
    monkeypatch.chdir(tmp_path)
    Path("counts.csv").write_text("name,value\nmet,12.3\nnot_met,-4.1\nfailed,44.2\n")
    Path("geography.csv").write_text(shown("scenario", "name,value,parent"))
    Path("patients.csv").write_text("county,patients\nx,3\ny,*\n")
    Path("patients_by_age.csv").write_text("county,age,patients\nx,old,3\ny,young,4\n")
    Path("counties.csv").write_text("table,name,value,total\na,x,3.5,9\na,y,4.5,9\n")
    Path("confidential").mkdir(mode=0o700)
    Path("confidential/county.csv").write_text("category,count\nnorth,812\nsouth,471\n")
    readme = next(block for name, block in BLOCKS if name == "README.md" and "survey:" in block)
    Path("mine.yaml").write_text(readme)
    release = "{source: survey_2026, data: confidential/county.csv, mechanism: discrete_laplace, epsilon: 1.0}"
    Path("county.yaml").write_text(f"releases:\n  county: {release}\nbudgets:\n  survey_2026: {{epsilon: 4.0}}\n")
    planned = "names: {a: 0.5, b: 0.5}, total: 60, want: {interval: a, narrower: 0.2}, releases: 100"
    Path("config.yaml").write_text(
        f"{readme}{Path('county.yaml').read_text()}plans:\n  county: {{{planned}}}\n  widths: {{release: county}}\n"
    )
    return tmp_path


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_every_scenario_that_is_shown_is_accepted(home, page, block):
    lines = block.splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    settings = yaml.safe_load("\n".join(line[indent:] for line in lines))
    releases = settings.setdefault("releases", {"county": {"mechanism": "discrete_laplace"}})
    whole_ = {"scenarios": settings["scenarios"], "releases": releases}
    assert list(scenario_settings.mistakes(whole_, kind.discover())) == []


def test_there_are_commands_and_scenarios_to_run():
    assert len(LINES) >= 8
    assert len(BLOCKS) >= 9


@pytest.mark.parametrize("line", LINES)
def test_every_command_runs_on_a_screen(home, capsys, line):
    words = shlex.split(line)[1:]
    if "releases/county/1" in words or words[0] == "release":
        pytest.importorskip("opendp", reason="releases draw their noise with opendp")
        if words[0] != "release":
            command.main(["release", "county"])
            capsys.readouterr()
    command.main(words)
    said = capsys.readouterr().out
    assert 1 <= len(said.splitlines()) <= 60


def test_what_readme_says_of_its_example_is_what_comes_out(home, capsys):
    line = next(line for line in LINES if line.startswith("dpm answer counts.csv") and "--epsilon" in line)
    command.main(shlex.split(line)[1:])
    said = capsys.readouterr().out
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for number in ("66.7 %", "100 %", "95.3 %", "above 51.3 %", "90.2 %"):
        assert number in said
        assert number in readme
    assert "75.44 %" in said
    shown_there = re.search(r"^```text\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)[1].splitlines()
    assert set(shown_there) <= set(said.splitlines())
    assert len(said.partition("\n\n")[2].partition("\n\n")[0].splitlines()) == 1 + 14  # rows, as README states


def test_the_configuration_that_is_shipped_has_what_its_comments_promise():
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    assert set(kind.discover()) <= set(re.findall(r"\w+", text)) | {"noisy_measurements"}
    assert "survey" in checks.checked(yaml.safe_load(text), paper.discover())["scenarios"]


def test_a_tree_is_released_and_answered_as_the_page_says(home, capsys):
    pytest.importorskip("opendp", reason="releases draw their noise with opendp")
    text = (ROOT / "docs/how-to/release.md").read_text(encoding="utf-8")
    block = re.search(r"^```yaml\n(releases:\n.*?levels: \[state.*?)^```", text, re.DOTALL | re.MULTILINE)[1]
    block = block[block.rindex("releases:") :]
    Path("confidential/county.csv").write_text(shown("release", "category,parent,count"))
    Path("config.yaml").write_text(block)
    command.main(["release", "county"])
    assert capsys.readouterr().out.startswith("releases/county/1\n")
    command.main(["answer", "releases/county/1", "--ask", "essex > orange"])
    said = capsys.readouterr().out
    assert "1 at level state, 2 at level region and 3 at level county" in said
    assert "least squares" in said
