"""Adapter: a user's scenario -> its table and its densities."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial._files.published import open_release
from reproduction import provenance, tables
from reproduction.cases import scenario_tables
from reproduction.config import json_text
from reproduction.jobs import adapters

p, release = snakemake.params, snakemake.input.release
settings = json_text.decoded(p.settings)
table = adapters.made(
    p.function,
    by="compute",
    settings=settings,
    read={},
    programs={},
    files={},
    names=tuple(p.names),
    root_seed=p.root_seed,
    further={"release": open_release(Path(release[0]).parent)} if release else {},
)
main, densities = scenario_tables.split(table)
tables.write(densities, snakemake.output.densities)
tables.write(main, snakemake.output.csv)
tables.write_html(main, snakemake.output.html, title=p.label, caption=p.caption)
used = {"inputs": map(Path, [*snakemake.input.data, *release]), "code": map(Path, snakemake.input.code)}
used |= {"job": provenance.job(snakemake)}
made = provenance.record(function=p.function, settings=settings, root_seed=p.root_seed, **used)
provenance.write(made, snakemake.output.csv, snakemake.output.densities, snakemake.output.html)
