"""Write the agreement table of all papers, as a job of the workflow."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from pathlib import Path

import pandas as pd

from reproduction import provenance, tables, trust
from reproduction.jobs import costs
from reproduction.verdicts import agreement

with costs.of_job(snakemake, "reproduction.verdicts.agreement"):
    parts = [trust.table(path) for path in snakemake.input.tables]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(agreement.COLUMNS))
    tables.write(table, snakemake.output.tsv)
    made = provenance.short(
        function="reproduction.verdicts", inputs=map(Path, snakemake.input.tables), job=provenance.job(snakemake)
    )
    provenance.write(made, snakemake.output.tsv)
