"""Adapter: all shards of a batch -> its table, and how many tables have which status."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, tables, trust
from reproduction.cases import batch_tables, batches
from reproduction.config import json_text

p = snakemake.params
csv = Path(snakemake.output.csv)
batch_tables.together([trust.checked(path) for path in snakemake.input.parts], csv)
counted = batches.counted(batch_tables.read(csv, ("table", "status")))
tables.write(counted, snakemake.output.summary)
tables.write_html(counted, snakemake.output.html, title=p.label, caption=p.caption)
used = {"inputs": [Path(snakemake.input.data)], "code": map(Path, snakemake.input.code)}
used |= {"job": provenance.job(snakemake)}
settings = json_text.decoded(p.settings)
made = provenance.record(function=p.function, settings=settings, root_seed=p.root_seed, **used)
provenance.write(made, csv, snakemake.output.summary, snakemake.output.html)
