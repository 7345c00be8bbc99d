"""Adapter: one block of the points of a scenario's grid."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial._files.published import open_release
from reproduction import provenance, tables
from reproduction.cases import grids
from reproduction.config import json_text
from reproduction.jobs import adapters

p, release = snakemake.params, snakemake.input.release
table = grids.of_shard(
    adapters.find(p.function),
    json_text.decoded(p.settings),
    names=tuple(p.names),
    root_seed=p.root_seed,
    shard=int(snakemake.wildcards.shard),
    shards=p.shards,
    further={"release": open_release(Path(release[0]).parent)} if release else {},
)
tables.write(table, snakemake.output.csv)
provenance.write(provenance.short(function=p.function, job=provenance.job(snakemake)), snakemake.output.csv)
