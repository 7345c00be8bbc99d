"""Compare the printed numbers of one paper with the reproduced numbers, as a job of the workflow."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, tables, trust
from reproduction.jobs import costs, making
from reproduction.verdicts import agreement

with costs.of_job(snakemake, f"{snakemake.params.paper}.agreement.ours"):
    paper = snakemake.params.paper
    made = {Path(path).stem: trust.table(path) for path in snakemake.input.tables}
    ours = making.find(f"{paper}.agreement.ours")(made)
    published = agreement.read_published(snakemake.input.published)
    tables.write(agreement.compare(published, ours, paper=paper), snakemake.output.csv)
    tables.write(agreement.variants(published, ours), snakemake.output.tables)
    record = provenance.short(
        function=f"{paper}.agreement.ours", inputs=map(Path, snakemake.input.tables), job=provenance.job(snakemake)
    )
    provenance.write(record, snakemake.output.csv, snakemake.output.tables)
