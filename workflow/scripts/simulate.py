"""Adapter: one shard of a long loop."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import adapters, blocks, sealing, tables

p = snakemake.params
table = blocks.simulate(
    adapters.find(p.function),
    sealing.unsealed(p.settings),
    root_seed=p.root_seed,
    names=tuple(p.names),
    shard=int(snakemake.wildcards.shard),
    shards=p.shards,
)
tables.write(table, snakemake.output.csv)
