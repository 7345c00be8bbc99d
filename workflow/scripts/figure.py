"""Plot one figure of a paper from its table, as a job of the workflow."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance
from reproduction.jobs import costs, making

p, made = snakemake.params, snakemake.output
with costs.of_job(snakemake, p.function, p.label):
    making.figure(p.function, snakemake.input.table, made.png, made.pdf, job=provenance.job(snakemake))
