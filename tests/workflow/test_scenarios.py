"""Tests of scenarios in the workflow: a grid and a batch over three shards, a kill, invalid tables, and the output."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pandas as pd
import pytest

from reproduction import kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making
from reproduction.verdicts import summary

from .running import environment

SEED = 7  # seed of the configurations of these tests
WRITTEN = {
    "mine": {"kind": "noisy_counts", "file": "many.csv", "epsilon": 1.0},
    "grid": {"kind": "noisy_counts", "counts": [12.3, 30.1], "total": 50, "epsilon": [0.5, 2.0], "prior": "jeffreys"},
    "single": {"kind": "noisy_counts", "rehearsal": {"counts": [5, 9]}, "epsilon": 1.0},
    "sure": {"kind": "noisy_counts", "counts": {"a": 17, "b": 40}, "epsilon": 1.0, "confidence": 0.95},
}


def written(path, count=40):
    rng = np.random.default_rng(6)
    rows = [f"t{t},c{c},{rng.laplace(10, 2):.3f},30" for t in range(count) for c in range(3)]
    rows += ["bad,c0,many,30", "bad,c1,3,30"]
    (path / "many.csv").write_text("table,name,value,total\n" + "\n".join(rows) + "\n")


@pytest.fixture
def run(folder, monkeypatch):
    """Return a folder with a batch of 41 tables, a grid and a single case, over three shards."""
    made = folder(shards=3, run=[], scenarios={})
    written(made.path)
    (made.path / "mine.json").write_text(json.dumps({"scenarios": WRITTEN}))
    monkeypatch.chdir(made.path)
    return made


@pytest.mark.thorough
def test_scenarios_are_the_same_bytes_without_the_workflow_and_after_a_kill(run):
    mine = ("--configfile", str(run.path / "mine.json"))
    shards = [f"results/scenarios/parts/mine_{shard}_of_3.csv" for shard in (1, 2, 3)]
    said = run.snakemake(shards[1], *mine, cores=1)
    assert "scenario mine, part 2 of 3: tables: 14 of 14 (100%)" in said
    made = (run.path / shards[1]).stat().st_mtime_ns
    for script in run.path.glob(".snakemake/scripts/*"):
        script.unlink()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    killed = subprocess.Popen(run.command("scenario_mine", *mine, cores=1), env=environment(), **quiet)
    deadline = time.monotonic() + 120
    while not list(run.path.glob(".snakemake/scripts/*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    run.snakemake("--unlock", *mine)
    targets = [f"scenario_{name}" for name in WRITTEN]
    run.snakemake(*targets, "--rerun-incomplete", *mine)
    parts = run.path / "results/benchmarks/scenario_grid_parts.1.tsv"
    assert pd.read_csv(parts, sep="\t")["start_up"][0] < 0.4  # a fork: a process takes 0.8 CPU seconds to start
    assert (run.path / shards[1]).stat().st_mtime_ns == made
    kinds = kind.discover()
    for name, settings in WRITTEN.items():
        alone = making.files(name, run.path / "alone")
        making.part(scenario_settings.single(name, settings, kinds), alone, root_seed=SEED)
        for one, other in zip(alone.all, making.files(name, run.path).all, strict=True):
            assert one.read_bytes() == other.read_bytes(), one
        assert (run.path / f"figures/scenarios/{name}.png").stat().st_size > 1000
    record = json.loads((run.path / "results/scenarios/mine.provenance.json").read_text())
    assert record["inputs_sha256"]["many.csv"]
    assert run.planned(*targets, *mine) == {}
    said = run.snakemake(*mine)
    assert "mine: 41 tables; 40 exact; 1 rejected in whole or in part (the rows state the reasons)" in said
    assert "No paper" in said


@pytest.mark.thorough
def test_a_batch_whose_file_is_away_stops_before_any_job(run):
    mine = ("--configfile", str(run.path / "mine.json"))
    planned = run.planned("scenario_mine", *mine)
    assert planned == {"scenario_mine_parts": 3, "scenario_mine": 1}
    (run.path / "many.csv").unlink()
    said = run.snakemake("--dry-run", "scenario_mine", *mine, good=False)
    assert "scenarios.mine.file: 'many.csv' is not a file" in said
    assert "Traceback" not in said


def test_the_end_of_a_run_says_the_state_of_every_scenario():
    agreement = pd.DataFrame({"paper": ["p"], "kind": ["number"], "verdict": ["agrees"], "artefact": "a", "note": ""})
    states = [{"status": "exact", "reason": "", "rows": 3}, {"status": "not converged", "reason": "x", "rows": 1}]
    suspect = {"probability": 1e-6, "suspect": True, "sentence": "CONFLICT: the released mean"}
    cases = {
        "mine": {"points": [{"accuracy": states, "fit": suspect}, {"accuracy": states[:1], "fit": suspect}]},
        "far": {"points": [{"accuracy": states[:1], "conflict": {"found": True, "names": ["a", "total"]}}]},
        "many": {"tables": {"all": 41000, "refused": 1, "statuses": {"exact": 40999, "refused: x": 1}}},
        "unsure": {"tables": {"all": 2, "refused": 0, "statuses": {"not converged": 2}}},
    }
    lines = summary.text(agreement, made=["a.csv"], papers=["p"], scenarios=cases).splitlines()
    mine = lines.index("  mine: 6 exact, 1 not converged")
    assert lines[mine + 1 : mine + 3] == [
        "    NOT CONVERGED: do not use the numbers with this status",
        "    CONFLICT: the released mean",
    ]
    assert lines[lines.index("  far: 3 exact") + 1] == "    CONFLICT: improbable under the noise and prior: a, total"
    assert "  many: 41,000 tables; 40,999 exact; 1 rejected in whole or in part (the rows state the reasons)" in lines
    assert "  unsure: 2 tables; 2 not converged; 0 rejected; do not use the numbers that did not converge" in lines
    assert "Scenarios" not in "\n".join(summary.text(agreement, made=["a.csv"], papers=["p"]).splitlines())


@pytest.mark.thorough
def test_a_page_and_a_plan_are_targets(run):
    planned = {"names": {"a": 0.5, "b": 0.5}, "total": 60, "want": {"interval": "a", "narrower": 0.2}, "releases": 100}
    (run.path / "confidential").mkdir(mode=0o700, exist_ok=True)
    (run.path / "confidential/secret.csv").write_text("category,count\na,3\nb,4\n")
    release = {"data": "confidential/secret.csv", "mechanism": "discrete_laplace", "epsilon": 1.0}
    plans = {"county": planned, "widths": {"release": "public"}}
    written = {"scenarios": WRITTEN, "plans": plans, "releases": {"public": release}}
    (run.path / "mine.json").write_text(json.dumps(written))
    mine = ("--configfile", str(run.path / "mine.json"))
    run.snakemake("page_single", "page_sure", "plan_county", "plan_widths", *mine)
    sure = pd.read_csv(run.path / "results/scenarios/sure.csv")
    assert sure[["ci_lower", "ci_upper"]].to_numpy().tolist() == [[11, 23], [34, 46]]  # h = 6 at scale 2
    assert sure["ci_method"].tolist() == ["tails", "tails"]
    assert '<td data-label="confidence interval">11 to 23</td>' in (run.path / "pages/sure.html").read_text()
    planned_widths = pd.read_csv(run.path / "results/plans/widths.csv")
    assert (planned_widths["epsilon_at_delta"] <= planned_widths["cost"]).all()
    widths = (run.path / "results/plans/widths.csv").read_text().splitlines()
    assert len(widths) == 1 + 5  # a quarter to four times the epsilon of the release
    assert "secret" not in (run.path / "results/plans/widths.provenance.json").read_text()
    assert "rehearsal" in (run.path / "pages/single.html").read_text()
    found = json.loads((run.path / "results/plans/county.json").read_text())["found"]
    assert 0.01 < found["epsilon"] < 100
    assert (run.path / "figures/plans/county.png").stat().st_size > 1000
    assert run.planned("page_single", "plan_county", "plan_widths", *mine) == {}
