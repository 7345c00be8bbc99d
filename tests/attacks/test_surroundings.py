"""Tests of the environment of a run: a home that is not writable, a non-Unicode terminal, torn Snakemake records.

Snakemake alone ends in errors in these cases; `python -m reproduction.run` continues.
"""

import json
import re

import pytest
import yaml

from reproduction import paper, smoke
from reproduction.config import checks, config
from tests.workflow import running
from tests.workflow.running import ROOT

from .test_configuration_attacks import python

pytestmark = pytest.mark.thorough

TARGET = "results/pan2023/errata.csv"
OURS, ALONE = "reproduction.run", "snakemake"
SIZES = {"run": ["pan2023"], "pan2023": smoke.configuration()["pan2023"]}


def run(folder, module, *words, monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return python(folder, "-m", module, "-s", str(ROOT / "Snakefile"), "--cores", "1", *words)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(SIZES))
    return tmp_path


@pytest.mark.parametrize(("module", "good"), [(OURS, True), (ALONE, False)])
def test_a_home_that_cannot_be_written(folder, monkeypatch, module, good):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    code, said = run(folder, module, "-n", monkeypatch=monkeypatch, HOME="/proc/nobody")
    assert ((code == 0) and "Traceback" not in said) == good, said


@pytest.mark.parametrize(("module", "good"), [(OURS, True), (ALONE, False)])
def test_a_terminal_of_less_than_unicode(tmp_path, monkeypatch, module, good):
    folder = tmp_path / "h\xe4user"
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump(SIZES))
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code, said = run(folder, module, TARGET, monkeypatch=monkeypatch, **plain)
    assert code == 0, said
    assert ("Logging error" not in said) == good
    assert (folder / TARGET).exists()


def test_torn_records_of_snakemake_are_taken_away_with_what_they_spoke_for(folder):
    words = ("--cores", "1", TARGET)
    assert running.make(folder, *words)[0] == 0
    before = (folder / TARGET).read_bytes()
    for path in (folder / ".snakemake/metadata").iterdir():
        path.write_bytes(b"\xff\xfe{garbage")
    said = running.snakemake(["-s", str(ROOT / "Snakefile"), *words, "-n"], folder=folder, good=False)
    assert "UnicodeDecodeError" in said
    code, said = running.make(folder, *words)
    assert code == 0, said
    assert f"Snakemake's record of {TARGET} is incomplete; it is removed and regenerated." in said
    assert (folder / TARGET).read_bytes() == before


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        ({"s": {"epsilon": 1, "delta": 0.9999}}, r"budgets\.s\.delta: must be at most 0\.0001"),
        ({"s": {"epsilon": "1"}}, r"budgets\.s\.epsilon: must be a number"),
        ({"s": {}}, r"budgets\.s: must have epsilon"),
        ({"s": 3}, r"budgets\.s: must have epsilon|budgets\.s: 3 is not keys and values"),
        ({"S": {"epsilon": 1}}, r"budgets\.S: a source's name|budgets: 'S' is not a valid name"),
        ({"s": {"epsilon": -1.0}, "t": {"delta": 1e-6}}, r"2 mistakes|budgets\.t"),
    ],
)
def test_a_ceiling_that_is_none_is_told_once_and_by_its_own_path(budgets, words, tmp_path, monkeypatch):
    """Check any number of releases, including none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/c.csv").write_text("category,count\na,1\nb,2\n")
    asked = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0, "source": "s"}
    for releases in ({}, {"a": asked}, {"a": asked, "b": asked}):
        settings = json.loads(json.dumps({"run": [], "releases": releases, "budgets": budgets}))
        with pytest.raises(config.ConfigError, match=words) as told:
            checks.checked(settings, paper.discover())
        assert "releases.s" not in str(told.value)
        assert len(re.findall(words.split("|")[0], str(told.value))) <= 1
