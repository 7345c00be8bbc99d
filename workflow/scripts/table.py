"""Compute one table of a paper, as a job of the workflow."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction.jobs import environment

environment.one_thread()  # must be called before NumPy is loaded

from reproduction import provenance
from reproduction.config import json_text
from reproduction.jobs import costs, making

p = snakemake.params
with costs.of_job(snakemake, p.function, p.label):
    making.table(
        p.function,
        snakemake.output.csv,
        by=p.by,
        settings=json_text.decoded(p.settings),
        reads=dict(zip(p.reads, snakemake.input.tables, strict=True)),
        files=dict(zip(p.files, snakemake.input.files, strict=True)),
        programs=p.programs,
        names=p.stream,
        root_seed=p.root_seed,
        job=provenance.job(snakemake),
    )
