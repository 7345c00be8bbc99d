"""Adapter: the R baseline of balmat2018, or one row saying that R was not found."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial import provenance, tables
from dpmultinomial.papers.balmat2018 import r_baseline

p = snakemake.params
table = r_baseline.r_timings(p.rscript, Path(snakemake.input.script), root_seed=p.root_seed, **p.settings)
tables.write(table, snakemake.output.csv)
tables.write_html(table, snakemake.output.html, title="R timings", caption=p.caption)
used = {"inputs": [Path(snakemake.input.script)], "code": map(Path, snakemake.input.code)}
name = "papers.balmat2018.r_baseline.r_timings"
made = provenance.record(function=name, settings=p.settings, root_seed=p.root_seed, **used)
tables.write_json(made, snakemake.output.provenance)
