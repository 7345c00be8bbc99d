"""Write the report of the run in the current folder, as a job of the workflow."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import report
from reproduction.jobs import costs

with costs.of_job(snakemake, "reproduction.report.write"):
    report.write(Path(), Path(snakemake.output[0]))
