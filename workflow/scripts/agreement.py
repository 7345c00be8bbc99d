"""Adapter: the agreement table of all papers."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

import pandas as pd

from reproduction import tables

table = pd.concat([tables.read(path) for path in snakemake.input.tables], ignore_index=True)
tables.write(table, snakemake.output.tsv)
