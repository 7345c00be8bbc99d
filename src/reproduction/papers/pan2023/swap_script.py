"""Adapter: swapped microdata of one scenario."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial.seeding import stream
from reproduction import tables
from reproduction.papers.pan2023 import scenario

p = snakemake.params
tables.write(scenario.swapped_data(**p.settings, rng=stream(p.root_seed, *p.names)), snakemake.output.csv)
