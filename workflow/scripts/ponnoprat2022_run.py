"""Adapter: one experiment on one data set."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial import artefacts, tables
from dpmultinomial.papers.ponnoprat2022 import datasets

p, name = snakemake.params, snakemake.wildcards.dataset
table = datasets.read(snakemake.input.csv, snakemake.input.schema)
found = artefacts.find(p.function)(table, name=name, root_seed=p.root_seed, **p.settings)
tables.write(found.assign(block=p.block), snakemake.output.csv)
