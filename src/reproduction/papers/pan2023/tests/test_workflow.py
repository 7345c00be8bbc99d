"""From confidential records to a release and its posterior through the workflow, and what happens to true records."""

import pandas as pd
import pytest
import yaml

from reproduction import smoke

TARGETS = ("results/pan2023/scenario_mine.csv", "figures/pan2023/scenario_mine.png")
RELEASE = {
    **{"mechanism": "swap", "data": "confidential/people.csv", "swap": ["name", "sex"], "match": "block", "rate": 0.5}
}


@pytest.fixture
def people(folder):
    made = folder()
    (made.path / "confidential").mkdir(mode=0o700)
    lines = [f"{i:03d},{'fm'[i % 2]},{i % 3},{'ab'[i % 5 < 2]}\n" for i in range(90)]
    (made.path / "confidential" / "people.csv").write_text("name,sex,block,role\n" + "".join(lines))
    return made


def snakemake(people, mine, *arguments, good=True, **sections):
    settings = smoke.configuration()
    settings["pan2023"]["scenarios"] = {"mine": mine}
    (people.path / "config.yaml").write_text(yaml.safe_dump(settings | sections))
    return people.snakemake(*arguments, cores=1, good=good)


def test_a_release_and_its_scenario(people):
    mine = {"release": "people", "held": ["role"], "swapped": ["sex"]}
    made = {"releases": {"people": RELEASE}}
    assert "snakemake --cores 1 release_people" in snakemake(people, mine, "-n", *TARGETS, good=False, **made)
    snakemake(people, mine, "release_people", **made)
    snakemake(people, mine, *TARGETS, **made)
    table = pd.read_csv(people.path / TARGETS[0])
    said = table.loc[table["quantity"] == "loss of one exchange, theorem", "mean"].item()
    record = yaml.safe_load((people.path / "releases" / "people" / "1" / "record.json").read_text())
    assert said == record["cost"]["epsilon"]
    assert "Nothing to be done" in snakemake(people, mine, "-n", *TARGETS, **made)


def test_true_records_stop_before_any_job(people):
    mine = {"data": "confidential/people.csv", "swap": ["sex"], "match": ["block"], "rate": 0.1}
    output = snakemake(people, mine, *TARGETS, good=False)
    assert "1 confidential files where only public ones may stand; nothing was run" in output
    assert "pan2023.scenarios.mine.data: " in output
    assert not (people.path / "results").exists()
