"""Every figure and table of five papers on differentially private counts, and what goes beyond them.

snakemake --cores N               everything that config.yaml lists under `run`, then the agreement table
snakemake --cores N balmat2018    one paper
snakemake --cores N figures/balmat2018/figure_1.png    one artefact

Which artefact comes from which function: workflow/artefacts.tsv. What each setting means: config.yaml.
"""

from snakemake.utils import min_version

min_version("9.27")


configfile: "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/kernels.smk"
include: "workflow/rules/artefacts.smk"
include: "workflow/rules/balmat2018.smk"
include: "workflow/rules/pan2023.smk"
include: "workflow/rules/ponnoprat2022.smk"
include: "workflow/rules/agreement.smk"


rule all:
    """Everything the papers under `run` make, what agrees with print, and a summary."""
    default_target: True
    input:
        [paper_files(paper) for paper in config["run"]],
        "results/config.effective.yaml",
        "results/agreement.tsv",
        "results/agreement.html",
        "results/summary.txt",


rule balmat2018:
    """Balmat, Barrientos, Reiter (2018): verification servers."""
    input:
        paper_files("balmat2018"),


rule pan2023:
    """Pan, Li, Li (2023): data swapping."""
    input:
        paper_files("pan2023"),


rule ponnoprat2022:
    """Ponnoprat (2022): the Dirichlet mechanism."""
    input:
        paper_files("ponnoprat2022"),


rule wang2020:
    """Wang (2020): counts with additive constraints."""
    input:
        paper_files("wang2020"),


rule raim2021:
    """Raim (2021): direct sampling and the privacy-aware Gibbs sampler."""
    input:
        paper_files("raim2021"),


onsuccess:
    print(closing_words())


onerror:
    print(
        "\nStopped by an error. Each job's log is in results/logs; what was finished is kept, run again to resume."
    )
