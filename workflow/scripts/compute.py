"""Adapter: one table from its function, settings and input tables."""

import inspect
import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial.seeding import stream
from reproduction import adapters, provenance, tables

p = snakemake.params
function = adapters.find(p.function)
found = {Path(path).stem: tables.read(path) for path in snakemake.input.tables}
if p.by == "summarise":
    arguments = {"table": adapters.stack(list(found.values())), **adapters.without_loop(p.settings)}
elif p.by == "gather":
    arguments = {"table": adapters.together(list(found.values())), **p.settings}
else:
    arguments = found | p.settings
arguments |= {name.lower(): path for name, path in p.programs.items()}
arguments |= dict(zip(p.files, map(Path, snakemake.input.files), strict=True))
wanted = inspect.signature(function).parameters
if "rng" in wanted:
    arguments["rng"] = stream(p.root_seed, *p.names)
if "root_seed" in wanted:
    arguments["root_seed"] = p.root_seed
table = function(**arguments)
tables.write(table, snakemake.output.csv)
tables.write_html(table, snakemake.output.html, title=p.label, caption=p.caption)
read = [*snakemake.input.tables, *snakemake.input.files, *snakemake.input.get("data", [])]
used = {"inputs": map(Path, read), "code": map(Path, snakemake.input.code)}
made = provenance.record(function=p.function, settings=p.settings, root_seed=p.root_seed, **used)
tables.write_json(made, snakemake.output.provenance)
