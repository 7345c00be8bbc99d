"""Adapter: one figure from its table."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import style, tables
from reproduction.jobs import adapters

with style.applied():
    figure = adapters.find(snakemake.params.function)(tables.read(snakemake.input.table))
    style.save(figure, snakemake.output.png, snakemake.output.pdf)
