"""Adapter: one table from its function, settings and input tables."""

import inspect
import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial import artefacts, provenance, tables
from dpmultinomial.seeding import stream

p = snakemake.params
function = artefacts.find(p.function)
found = [tables.read(path) for path in snakemake.input.tables]
if p.verb == "summarise":
    arguments = {"table": artefacts.stack(found), **artefacts.without_loop(p.settings)}
else:
    names = ["published" if "published" in Path(path).parts else Path(path).stem for path in snakemake.input.tables]
    arguments = dict(zip(names, found, strict=True)) | p.settings
if "rng" in inspect.signature(function).parameters:
    arguments["rng"] = stream(p.root_seed, *p.names)
table = function(**arguments)
tables.write(table, snakemake.output.csv)
tables.write_html(table, snakemake.output.html, title=p.label, caption=p.caption)
read = [*snakemake.input.tables, *snakemake.input.get("data", [])]
used = {"inputs": map(Path, read), "code": map(Path, snakemake.input.code)}
made = provenance.record(function=p.function, settings=p.settings, root_seed=p.root_seed, **used)
tables.write_json(made, snakemake.output.provenance)
