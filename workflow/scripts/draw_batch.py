"""Adapter: the figure of a batch from its table."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, style, trust
from reproduction.cases import batch_figure, batch_tables

parts = batch_tables.read(trust.checked(snakemake.input.table), batch_figure.COLUMNS)
with style.applied():
    style.save(batch_figure.batch(parts), snakemake.output.png, snakemake.output.pdf)
made = provenance.short(
    function="batch_figure.batch", inputs=[Path(snakemake.input.table)], job=provenance.job(snakemake)
)
provenance.write(made, snakemake.output.png, snakemake.output.pdf)
