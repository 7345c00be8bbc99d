"""Write the page of a scenario that users can share, as a job of the workflow."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import trust
from reproduction.jobs import costs
from reproduction.scenarios import making, page

with costs.of_job(snakemake, "scenarios.page.write"):
    files = making.Files(Path(snakemake.input.csv).with_suffix(""))
    for path in files.all:
        trust.checked(path)
    page.write(files, Path(snakemake.output.html), budgets=snakemake.params.budgets)
