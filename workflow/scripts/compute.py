"""Adapter: one table from its function, settings and input tables."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial._files.published import open_release
from reproduction import provenance, tables
from reproduction.config import sealing
from reproduction.jobs import adapters

p = snakemake.params
settings = sealing.unsealed(p.settings)
release = snakemake.input.get("release", [])
table = adapters.made(
    p.function,
    by=p.by,
    settings=settings,
    read={Path(path).stem: tables.read(path) for path in snakemake.input.tables},
    programs=p.programs,
    files=dict(zip(p.files, map(Path, snakemake.input.files), strict=True)),
    names=tuple(p.names),
    root_seed=p.root_seed,
    further={"release": open_release(Path(release[0]).parent)} if release else {},
)
tables.write(table, snakemake.output.csv)
tables.write_html(table, snakemake.output.html, title=p.label, caption=p.caption)
read = [*snakemake.input.tables, *snakemake.input.files, *snakemake.input.get("data", []), *release]
used = {"inputs": map(Path, read), "code": map(Path, snakemake.input.code)}
made = provenance.record(function=p.function, settings=settings, root_seed=p.root_seed, **used)
tables.write_json(made, snakemake.output.provenance)
