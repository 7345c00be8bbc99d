"""Regenerate every figure and table of the papers on differentially private counts, and compute extensions of them.

snakemake --cores N               all papers listed under `run` in config.yaml, then the agreement table
snakemake --cores N balmat2018    one paper
snakemake --cores N figures/balmat2018/figure_1.png    one artefact

A paper is a folder of src/reproduction/papers; its paper.yaml names the function of each artefact, its
settings.yaml describes each setting. Users edit config.yaml.
"""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.27")
ROOT = Path(workflow.current_basedir)
sys.path.insert(0, str(ROOT / "src"))

from dpmultinomial._printing import message, printable
from reproduction.config import overlays
from reproduction.config.reading import ConfigError

# Read with our strict reader, not by `configfile:`, which would run templates. A module gets its configuration.
if not workflow.modifier.skip_configfile:
    try:
        given = workflow.config_settings
        config = overlays.in_use(given.configfiles, given.config or {}, Path.cwd())
    except ConfigError as error:
        raise WorkflowError(message(error)) from None


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/kernels.smk"
include: "workflow/rules/releases.smk"
include: "workflow/rules/papers.smk"
include: "workflow/rules/scenarios.smk"
include: "workflow/rules/plans.smk"
include: "workflow/rules/studies.smk"


for paper in PAPERS.values():
    if (paper.folder / "rules.smk").is_file():

        include: str(paper.folder / "rules.smk")


include: "workflow/rules/agreement.smk"
include: "workflow/rules/report.smk"


rule all:
    """All results of the papers under `run`, the agreement with print, and a summary."""
    default_target: True
    input:
        [paper_files(slug) for slug in config["run"]],
        [scenario_files(name) for name in SCENARIOS],
        "results/config.effective.yaml",
        "results/agreement.tsv",
        "results/summary.txt",


if not workflow.modifier.skip_configfile and (wrong := unknown_targets()):
    raise WorkflowError(wrong)


onstart:
    internals.without_rate_limit(workflow)
    progress.follow(workflow, declared_minutes())
    forks.begin(workflow, imported())


onsuccess:
    forks.end()
    costs.write_run(STARTED, time.time() - STARTED)
    print(printable(closing_words()))


onerror:
    forks.end()
    costs.write_run(STARTED, time.time() - STARTED)
    print(
        "\nStopped by an error. Job logs are in results/logs. Finished results are kept; run the same command to resume."
    )
