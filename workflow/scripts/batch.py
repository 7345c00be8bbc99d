"""Adapter: one shard of a batch; its progress goes to the log and to the screen."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance
from reproduction.cases import batch_tables, batches
from reproduction.config import json_text
from reproduction.jobs import adapters

p, shard = snakemake.params, int(snakemake.wildcards.shard)


def tell(line):
    """To the log, and to the screen of who started the run."""
    for stream in (sys.stderr, sys.__stderr__):
        print(f"{p.label}, shard {shard} of {p.shards}: {line}", file=stream, flush=True)


function = adapters.find(p.function)
parts = batches.answers(
    function,
    json_text.decoded(p.settings),
    json_text.decoded(p.about),
    further=adapters.seeds(function, root_seed=p.root_seed, names=tuple(p.names)),
    shard=shard,
    shards=p.shards,
    tell=tell,
)
batch_tables.write(parts, Path(snakemake.output.csv))
provenance.write(provenance.short(function=p.function, job=provenance.job(snakemake)), snakemake.output.csv)
