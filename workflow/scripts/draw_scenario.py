"""Adapter: the figure of a user's scenario from its table and its densities."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import style, tables
from reproduction.cases import scenario_tables
from reproduction.jobs import adapters

parts = [tables.read(path) for path in (snakemake.input.table, snakemake.input.densities)]
with style.applied():
    figure = adapters.find(snakemake.params.function)(scenario_tables.joined(*parts))
    style.save(figure, snakemake.output.png, snakemake.output.pdf)
