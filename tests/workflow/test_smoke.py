"""Tests of the whole workflow at toy size: its output files, and that they are the same however it is run."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from docutils.core import publish_doctree

from reproduction import paper, style, tables, trust
from reproduction.jobs import making
from reproduction.papers.balmat2018 import agreement as balmat2018
from tests import drawn
from tests.browser import conftest
from tests.docs import site_pages

from .running import environment

PAPERS = paper.discover()


def test_every_declared_artefact_is_made(smoke):
    shown = [PAPERS[slug] for slug in smoke.papers]
    for name in [name for found in shown for name in (*found.tables(), *found.figures())]:
        path = smoke.path / name
        assert path.stat().st_size > 50, name
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
            assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
        else:
            record = json.loads(path.with_suffix(".provenance.json").read_text())
            assert record["root_seed"] == 7


def test_every_printed_number_has_its_row_and_the_run_says_how_it_went(smoke):
    agreement = pd.read_csv(smoke.path / "results/agreement.tsv", sep="\t")
    for slug in smoke.papers:
        published = pd.read_csv(PAPERS[slug].folder / "published.tsv", sep="\t")
        rows = agreement[agreement["paper"] == slug]
        assert list(rows["quantity"]) == list(published["quantity"])
    explained = agreement[agreement["verdict"].isin(["differs", "not_run"])]
    assert explained["note"].str.len().gt(10).all()
    notes = agreement.loc[agreement["verdict"] != "not_run", "note"].dropna()
    assert notes[~notes.str.fullmatch(r"[A-Z0-9].*\.")].tolist() == []  # complete sentences
    assert "Evidence for the papers" in smoke.output
    said = (smoke.path / "results/summary.txt").read_text()
    assert said in smoke.output
    config = yaml.safe_load((smoke.path / "config.yaml").read_text())
    named = [f"\n  {name}: " for name in config["scenarios"]]
    assert named
    assert all(name in said for name in named)


def test_a_second_run_has_nothing_to_do(smoke):
    assert "Nothing to be done" in smoke.snakemake()


@pytest.mark.thorough
def test_the_effective_configuration_is_a_configuration(smoke, folder):
    again = folder()
    shutil.copy(smoke.path / "results/config.effective.yaml", again.path / "config.yaml")
    assert again.planned("results/agreement.tsv")


@pytest.mark.thorough
@pytest.mark.parametrize("shards", [2, 3])
def test_results_do_not_depend_on_cores_shards_or_other_scenarios(smoke, folder, shards):
    scenarios = {"extra": {"kind": "noisy_counts", "rehearsal": {"counts": [3, 4, 5]}, "epsilon": 1.0}}
    settings = {"run": ["balmat2018"], "shards": shards}
    other = folder(**settings)
    overlay = other.path / "overlay.json"
    overlay.write_text(json.dumps({"scenarios": scenarios}))
    targets = ["results/balmat2018/figure_2_digits.csv"]
    if shards == 3:
        targets += [f"results/balmat2018/{name}.csv" for name in ("figure_1", "calibration_coverage")]
        targets += ["figures/balmat2018/figure_1.png", "figures/balmat2018/figure_1.pdf"]
        targets += [f"results/scenarios/{name}.csv" for name in ("noisy_counts_rehearsed", "additive_counts_grid")]
    other.snakemake(*targets, "results/scenarios/extra.csv", "--configfile", str(overlay), cores=1)
    for target in targets:
        assert (other.path / target).read_bytes() == (smoke.path / target).read_bytes(), target


@pytest.mark.thorough
def test_a_killed_run_leaves_nothing_that_is_trusted_and_resumes(smoke, folder):
    killed = folder()
    target = "results/balmat2018/simulated/calibration_1_of_1.csv"
    process = subprocess.Popen(
        killed.command(target),
        **{
            "env": environment(),
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            "start_new_session": True,
        },
    )
    deadline = time.monotonic() + 60
    begun = (".snakemake/scripts/*", ".snakemake/incomplete/*")  # Snakemake starts a job before it marks its files
    while not all(list(killed.path.glob(name)) for name in begun) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed.path / target).exists()
    # Files that a job killed while writing would leave:
    (killed.path / target).write_text("block,epsilon\n0,1.0\n")
    killed.snakemake("--unlock")
    assert "incomplete" in killed.snakemake(target, good=False).lower()
    killed.snakemake(target, "--rerun-incomplete")
    assert (killed.path / target).read_bytes() == (smoke.path / target).read_bytes()


@pytest.mark.thorough
def test_without_r_the_run_goes_on_and_says_so(smoke, folder, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if not tool.name.startswith("R"):
            (tools / tool.name).symlink_to(tool)
    path = f"{Path(os.sys.executable).parent}{os.pathsep}{tools}"
    if shutil.which("Rscript", path=path):
        pytest.fail("Rscript still found")
    alone = folder()
    made = {name: f"results/balmat2018/{name}.csv" for name in ("r_timings", "table_2", "figure_3")}
    alone.snakemake(*made.values(), PATH=path)
    tables_of_paper = {p.stem: tables.read(p) for p in (smoke.path / "results/balmat2018").glob("*.csv")}
    tables_of_paper |= {name: tables.read(alone.path / file) for name, file in made.items()}
    rows = balmat2018.ours(tables_of_paper).set_index("quantity")
    for quantity in (
        "time of the standard relative to the improved algorithm at M = 50",
        "method 2 relative to method 1",
    ):
        assert np.isnan(rows.loc[quantity, "ours"])
        assert "Rscript" in rows.loc[quantity, "note"]


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed; .ci/run installs it")
def test_snakemakes_report_renders_in_a_browser(smoke, tmp_path):
    """Check the report of one paper and a scenario, because that of all papers is large: it repeats every address."""
    report, shown = smoke.path / "results/report.html", PAPERS["wang2020"]
    made = [*shown.tables(), *shown.figures(), "results/scenarios/noisy_counts_rehearsed.csv"]
    smoke.snakemake("--report", str(report), *made)
    page = subprocess.run(
        [
            "chromium",
            *conftest.FLAGS,
            f"--user-data-dir={tmp_path}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            report.as_uri(),
        ],
        **{"capture_output": True, "text": True, "check": True, "timeout": 120},
    ).stdout
    assert "Five papers on differentially private counts" in page  # written by the script of the page
    assert not list((smoke.path / "results/wang2020").glob("*.html"))  # a table is its CSV file
    assert "Results" in page


def test_every_caption_is_what_that_report_can_read():
    stated = [part for found in PAPERS.values() for a in found.artefacts for part in (a.table, a.figure) if part]
    assert len(stated) > 150
    for part in stated:
        publish_doctree(part.caption, settings_overrides={"halt_level": 2})  # stops at the first warning


@pytest.mark.thorough
def test_a_whole_run_has_a_report_without_gaps(smoke):
    smoke.snakemake("report")
    pages = smoke.path / "results/report"
    assert list(site_pages.broken(pages)) == []
    assert list(site_pages.remote(pages)) == []
    assert "Not made in this run" not in "".join(path.read_text() for path in pages.glob("*.html"))
    assert sum(path.stat().st_size for path in pages.rglob("*") if path.is_file()) < 25e6
    assert smoke.planned("report") == {}


@pytest.mark.thorough
@pytest.mark.parametrize("slug", PAPERS)
def test_every_figure_can_be_read(smoke, slug):
    """Check that texts do not overlap, are not cut or crossed by a curve, and that every mark touches its bar."""
    wrong = []
    for artefact in PAPERS[slug].artefacts:
        if artefact.figure:
            with style.applied():
                draw = making.find(f"{slug}.{artefact.figure.function}")
                figure = draw(trust.table(smoke.path / f"results/{slug}/{artefact.name}.csv"))
                wrong += [f"{artefact.name}: {fault}" for fault in drawn.faults(figure)]
    assert wrong == []


SURVEY = {"source": "survey", "data": "confidential/county.csv", "mechanism": "discrete_laplace", "epsilon": 0.001}


@pytest.mark.thorough
def test_a_report_of_nothing_needs_no_paper_and_a_release_is_shown_from_its_public_files(folder):
    alone = folder(releases={"county": SURVEY}, budgets={"survey": {"epsilon": 2.0}})
    (alone.path / "confidential").mkdir(mode=0o700)
    (alone.path / "confidential/county.csv").write_text("category,count\nnorth,812404\nsouth,77\n")
    assert alone.planned("report") == {"effective_config": 1, "report": 1}
    alone.snakemake("report")
    page = alone.path / "results/report/release-county.html"
    assert "snakemake --cores 1 release_county" in page.read_text()
    alone.snakemake("release_county")
    assert alone.planned("report") == {"report": 1}  # all public files are inputs
    alone.snakemake("report")
    text = page.read_text()
    assert "discrete Laplace" in text
    assert "812404" not in text  # noise of scale 2,000 is 0 once in 4,000 runs
