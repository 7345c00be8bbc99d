"""Adapter: one experiment on one data set."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import adapters, tables
from reproduction.papers.ponnoprat2022 import datasets

p, name = snakemake.params, snakemake.wildcards.dataset
table = datasets.read(snakemake.input.csv, snakemake.input.schema)
made = adapters.find(p.function)(table, name=name, root_seed=p.root_seed, **p.settings)
tables.write(made, snakemake.output.csv)
