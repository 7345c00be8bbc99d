"""Tests of the workflow as a module of another workflow, with and without a prefix."""

import pytest

from .running import ROOT, snakemake

pytestmark = pytest.mark.thorough

PARENT = """\
configfile: "parent.yaml"

module counts:
    snakefile: "{source}/Snakefile"
    config: config["counts"]
{prefix}
use rule * from counts as counts_*

rule mine:
    default_target: True
    input: "{place}results/balmat2018/table_1.csv"
    output: "mine.txt"
    shell: "wc -l < {{input}} > {{output}}"
"""


@pytest.mark.parametrize("prefix", ["", "inner"])
def test_another_workflow_uses_it_as_a_module(tmp_path, prefix):
    written = f'    prefix: "{prefix}"\n' if prefix else ""
    place = f"{prefix}/" if prefix else ""
    (tmp_path / "Snakefile").write_text(PARENT.format(source=ROOT, prefix=written, place=place))
    sizes = "{table_1: {total: 6}, table_1_accuracy: {totals: [1, 5]}}"
    (tmp_path / "parent.yaml").write_text(f"counts: {{root_seed: 3, balmat2018: {sizes}}}\n")
    snakemake(["--cores", "1", "--directory", str(tmp_path), "--snakefile", str(tmp_path / "Snakefile")])
    assert int((tmp_path / "mine.txt").read_text()) == 29  # a header and the 28 compositions of 6 into 3


USERS = """
  scenarios:
    one: {kind: noisy_counts, file: counts.csv, epsilon: 1.0, total: 50}
    grid: {kind: noisy_counts, counts: {a: 5, b: 9}, total: 14, noise: {law: laplace, scale: [1.0, 2.0]}}
    many: {kind: noisy_counts, file: tables.csv, noise: {law: laplace, scale: 2.0}}
    made: {release: county}
  plans:
    mine: {names: {a: 0.5, b: 0.5}, total: 60, want: {interval: a, narrower: 0.5, probability: 0.8}, releases: 100}
  releases:
    county: {source: county, data: confidential/county.csv, mechanism: discrete_laplace, epsilon: 1.0}
  budgets: {county: {epsilon: 4.0}}
"""


def test_a_users_own_cases_work_in_a_module_with_a_prefix(tmp_path):
    """Check a file, a grid, a batch, a plan, a page and a release: only the files that are made have the prefix."""
    (tmp_path / "Snakefile").write_text(PARENT.format(source=ROOT, prefix='    prefix: "inner"\n', place="inner/"))
    (tmp_path / "parent.yaml").write_text(f"counts:\n  root_seed: 3{USERS}")
    (tmp_path / "counts.csv").write_text("name,value\nmet,8.1\nnot_met,0.2\nunknown,41.9\n")
    (tmp_path / "tables.csv").write_text("table,name,value,total\nt1,a,3,9\nt1,b,6,9\nt2,a,1,4\nt2,b,4,4\n")
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/county.csv").write_text("category,count\nx,30\ny,20\n")
    run = ["--cores", "2", "--directory", str(tmp_path), "--snakefile", str(tmp_path / "Snakefile")]
    snakemake(["counts_release_county", *run])
    assert (tmp_path / "releases/county/1/record.json").is_file()  # it belongs to the project and never gets a prefix
    targets = ["scenario_grid", "scenario_many", "scenario_made", "plan_mine", "page_one"]
    snakemake([*(f"counts_{target}" for target in targets), *run])
    made = tmp_path / "inner"
    for name in ("grid", "many", "made"):
        assert (made / f"results/scenarios/{name}.csv").is_file()
        assert (made / f"figures/scenarios/{name}.png").is_file()
    assert (made / "results/plans/mine.csv").is_file()
    assert "met" in (made / "pages/one.html").read_text()
    assert not (tmp_path / "results").exists()
