"""Simulate one part of a simulation loop, as a job of the workflow."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance
from reproduction.config import json_text
from reproduction.jobs import costs, making

p = snakemake.params
with costs.of_job(snakemake, p.function):
    making.piece(
        p.function,
        snakemake.output.csv,
        settings=json_text.decoded(p.settings),
        names=p.stream,
        root_seed=p.root_seed,
        shard=int(snakemake.wildcards.shard),
        shards=p.pieces,
        job=provenance.job(snakemake),
    )
