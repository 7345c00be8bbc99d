"""Adapter: the figure of a user's scenario from its table and its densities."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, results, style
from reproduction.cases import scenario_tables
from reproduction.jobs import adapters

read = (snakemake.input.table, snakemake.input.densities)
parts = [results.read(path) for path in read]
with style.applied():
    figure = adapters.find(snakemake.params.function)(scenario_tables.joined(*parts))
    style.save(figure, snakemake.output.png, snakemake.output.pdf)
made = provenance.short(function=snakemake.params.function, inputs=map(Path, read), job=provenance.job(snakemake))
provenance.write(made, snakemake.output.png, snakemake.output.pdf)
