"""A batch through the workflow: shards, a kill, wrong tables and what the run says at its end."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction import paper, tables
from reproduction.cases import batch_tables, batches
from reproduction.jobs import adapters

from .running import environment

SETTINGS = {"data": "many.csv", "epsilon": 1.0, "sensitivity": 2.0, "alpha": 1.0, "level": 0.95}


def written(path, count=40):
    rng = np.random.default_rng(6)
    rows = [f"t{t},c{c},{rng.laplace(10, 2):.3f},30" for t in range(count) for c in range(3)]
    rows += ["bad,c0,many,30", "bad,c1,3,30"]
    (path / "many.csv").write_text("table,category,noisy_count,total\n" + "\n".join(rows) + "\n")


def in_one_piece(path):
    """The same batch without the workflow."""
    about = paper.discover()["balmat2018"].settings["batch"]
    settings = SETTINGS | {"data": str(path / "many.csv")}
    batch_tables.write(
        batches.answers(adapters.find("balmat2018.batch.table"), settings, about, further={}), path / "whole.csv"
    )
    return (path / "whole.csv").read_bytes()


def batch_of(folder):
    """A folder with a batch of 41 tables over three shards."""
    run = folder(shards=3)
    written(run.path)
    (run.path / "mine.json").write_text(
        json.dumps({"balmat2018": {"batches": {"mine": {"data": "many.csv", "epsilon": 1.0}}}})
    )
    return run, ("--configfile", str(run.path / "mine.json"))


def test_a_killed_batch_keeps_its_finished_shards_and_ends_with_the_same_bytes(folder):
    run, mine = batch_of(folder)
    shards = [f"results/balmat2018/batches/mine_{shard}_of_3.csv" for shard in (1, 2, 3)]
    said = run.snakemake(shards[1], *mine, cores=1)
    assert "balmat2018 batch mine, shard 2 of 3: 14 of 14 tables (100%)" in said
    made = (run.path / shards[1]).stat().st_mtime_ns
    for script in run.path.glob(".snakemake/scripts/*"):
        script.unlink()
    target = "results/balmat2018/batch_mine.csv"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    killed = subprocess.Popen(run.command(target, *mine, cores=1), env=environment(), **quiet)
    deadline = time.monotonic() + 120
    while not list(run.path.glob(".snakemake/scripts/*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not (run.path / target).exists()
    run.snakemake("--unlock", *mine)
    run.snakemake(target, "figures/balmat2018/batch_mine.png", "--rerun-incomplete", *mine)
    assert (run.path / shards[1]).stat().st_mtime_ns == made
    assert (run.path / target).read_bytes() == in_one_piece(run.path)
    summary = tables.read(run.path / "results/balmat2018/batch_mine_summary.csv")
    assert summary.to_numpy().tolist() == [
        *(["tables", 41], ["refused", 1], ["exact", 40], ["refused: noisy counts must be finite", 1])
    ]
    assert Path(run.path / "figures/balmat2018/batch_mine.png").stat().st_size > 1000
    record = json.loads((run.path / "results/balmat2018/batch_mine.provenance.json").read_text())
    assert "many.csv" in json.dumps(record)


def test_an_edited_file_is_answered_again_and_a_wrong_one_starts_no_job(folder):
    run, mine = batch_of(folder)
    planned = run.planned("results/balmat2018/batch_mine.csv", *mine)
    assert planned == {"balmat2018_batches_mine": 3, "balmat2018_batch_mine": 1}
    (run.path / "many.csv").write_bytes("table,category\na,é\n".encode("latin-1"))
    said = run.snakemake("--dry-run", "results/balmat2018/batch_mine.csv", *mine, good=False)
    assert "balmat2018.batches.mine.data" in said
    assert "is not text in UTF-8 (byte 17)" in said
    assert "Traceback" not in said


def test_a_grid_is_blocks_of_points_one_table_and_one_figure(folder):
    scenario = {"noisy_counts": [12.3, 30.1], "total": 50, "grid": {"epsilon": [0.5, 2.0], "alpha": [1.0, 0.5]}}
    target = "results/balmat2018/scenario_mine.csv"
    made = {}
    for shards in (1, 3):
        run = folder(f"grid{shards}", shards=shards)
        (run.path / "mine.json").write_text(json.dumps({"balmat2018": {"scenarios": {"mine": scenario}}}))
        mine = ("--configfile", str(run.path / "mine.json"))
        if shards == 3:
            planned = run.planned("figures/balmat2018/scenario_mine.png", *mine)
            names = ("grid_mine", "scenario_mine", "draw_scenario_mine")
            assert planned == {f"balmat2018_{name}": count for name, count in zip(names, (3, 1, 1), strict=True)}
        run.snakemake(target, *(["figures/balmat2018/scenario_mine.png"] if shards == 3 else []), *mine)
        made[shards] = (run.path / target).read_bytes()
    assert made[1] == made[3]
    table = tables.read(run.path / target)
    assert list(table)[:4] == ["epsilon", "alpha", "quantity", "mean"]
    assert len(table[["epsilon", "alpha"]].drop_duplicates()) == 4
    assert (run.path / "figures/balmat2018/scenario_mine.png").stat().st_size > 1000


def test_the_end_of_a_run_counts_refused_tables():
    from reproduction.verdicts import summary

    agreement = pd.DataFrame({"paper": ["p"], "kind": ["number"], "verdict": ["agrees"], "artefact": "a", "note": ""})
    counted = pd.DataFrame({"status": ["tables", "refused", "exact", "refused: x"], "tables": [41000, 1, 40999, 1]})
    said = summary.text(agreement, made=["a.csv"], papers=["p"], batches={"p mine": counted})
    assert "p mine: 41,000 tables; 40,999 exact; 1 refused (each says why in its own row)" in said


def test_the_end_of_a_run_says_the_state_of_every_scenario():
    from reproduction.verdicts import summary

    agreement = pd.DataFrame({"paper": ["p"], "kind": ["number"], "verdict": ["agrees"], "artefact": "a", "note": ""})
    rows = [
        ("mu", "not converged", "summary", "NOT CONVERGED, do not use"),
        ("sigma2", "exact", "summary", ""),
        ("prior and release", "", "assumption", "prior and release disagree: the released mean; and more"),
        ("mu", "exact", "density", ""),
    ]
    table = pd.DataFrame(rows, columns=["quantity", "status", "statistic", "note"])
    plain = pd.DataFrame({"quantity": ["0", "1"], "status": ["approximate", "exact"]})
    counted = pd.DataFrame({"status": ["tables", "refused", "not converged"], "tables": [2, 0, 2]})
    about = {"made": ["a.csv"], "papers": ["p"], "batches": {"p many": counted}}
    said = summary.text(
        agreement, **about, scenarios={"p mine": table, "p other": plain, "p none": plain[["quantity"]]}
    )
    lines = said.splitlines()
    mine = lines.index("  p mine: 1 exact, 1 not converged")
    assert lines[mine + 1 : mine + 3] == [
        "    NOT CONVERGED, do not use: mu",
        "    prior and release: prior and release disagree: the released mean",
    ]
    assert "  p other: 1 exact, 1 approximate" in lines
    assert "  p none: no state given" in lines
    assert "  p many: 2 tables; 2 not converged; 0 refused; do not use those not converged" in lines
    assert "Scenarios" not in summary.text(agreement, **about)
