"""Adapter: all blocks of a grid -> one tidy table."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from pathlib import Path

from reproduction import provenance, results, tables
from reproduction.cases import grids
from reproduction.config import json_text

p = snakemake.params
table = grids.together(results.read(path) for path in snakemake.input.parts)
tables.write(table, snakemake.output.csv)
tables.write_html(table, snakemake.output.html, title=p.label, caption=p.caption)
used = {
    "inputs": map(Path, [*snakemake.input.data, *snakemake.input.release]),
    "code": map(Path, snakemake.input.code),
    "job": provenance.job(snakemake),
}
settings = json_text.decoded(p.settings)
made = provenance.record(function=p.function, settings=settings, root_seed=p.root_seed, **used)
provenance.write(made, snakemake.output.csv, snakemake.output.html)
