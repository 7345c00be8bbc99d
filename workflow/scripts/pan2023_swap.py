"""Adapter: swapped microdata of one scenario."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial import tables
from dpmultinomial.papers.pan2023 import scenario
from dpmultinomial.seeding import stream

p = snakemake.params
tables.write(scenario.swapped_data(**p.settings, rng=stream(p.root_seed, *p.names)), snakemake.output.csv)
