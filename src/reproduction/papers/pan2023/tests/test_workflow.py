"""From confidential records to a release and its posterior through the workflow, and what happens to true records."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from reproduction import smoke

ROOT = Path(__file__).parents[5]
TARGETS = ("results/pan2023/scenario_mine.csv", "figures/pan2023/scenario_mine.png")
RELEASE = {
    **{"mechanism": "swap", "data": "confidential/people.csv", "swap": ["name", "sex"], "match": "block", "rate": 0.5}
}


@pytest.fixture
def people(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    lines = [f"{i:03d},{'fm'[i % 2]},{i % 3},{'ab'[i % 5 < 2]}\n" for i in range(90)]
    (tmp_path / "confidential" / "people.csv").write_text("name,sex,block,role\n" + "".join(lines))
    return tmp_path


def snakemake(folder, mine, *arguments, good=True, **sections):
    settings = smoke.configuration()
    settings["pan2023"]["scenarios"] = {"mine": mine}
    (folder / "config.yaml").write_text(yaml.safe_dump(settings | sections))
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
    options = ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder), "--cores", "1", "--show-failed-logs"]
    command = [sys.executable, "-m", "snakemake", *options, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    output = run.stdout + run.stderr
    assert (run.returncode == 0) == good, output
    return output


def test_a_release_and_its_scenario(people):
    mine = {"release": "people", "held": ["role"], "swapped": ["sex"]}
    made = {"releases": {"people": RELEASE}}
    assert "snakemake --cores 1 release_people" in snakemake(people, mine, "-n", *TARGETS, good=False, **made)
    snakemake(people, mine, "release_people", **made)
    snakemake(people, mine, *TARGETS, **made)
    table = pd.read_csv(people / TARGETS[0])
    said = table.loc[table["quantity"] == "loss of one exchange, theorem", "mean"].item()
    record = yaml.safe_load((people / "releases" / "people" / "1" / "record.json").read_text())
    assert said == record["cost"]["epsilon"]
    assert "Nothing to be done" in snakemake(people, mine, "-n", *TARGETS, **made)


def test_true_records_stop_before_any_job(people):
    mine = {"data": "confidential/people.csv", "swap": ["sex"], "match": ["block"], "rate": 0.1}
    output = snakemake(people, mine, *TARGETS, good=False)
    assert "pan2023.scenarios.mine.data: is not taken by a scenario: true records get their swap" in output
    assert not (people / "results").exists()
