"""The workflow as a module of another one, with and without a prefix."""

import pytest

from .running import ROOT, snakemake

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
    assert int((tmp_path / "mine.txt").read_text()) == 29  # a line of names and the 28 compositions of 6 into 3
