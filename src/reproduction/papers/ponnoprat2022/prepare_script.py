"""Adapter: one data set as an integer-coded table, or a mark that it could not be had."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import tables
from reproduction.papers.ponnoprat2022 import artefacts, datasets, retrieval

name, p = snakemake.wildcards.dataset, snakemake.params
written = (snakemake.output.csv, snakemake.output.schema)
try:
    table = datasets.load(name, folders=p.folders, download=p.download, retries=p.retries)
    datasets.write(table, *written)
except (retrieval.UnavailableError, retrieval.ChecksumError) as error:
    table = str(error)
    print(table, file=sys.stderr)
    datasets.write_missing(name, table, *written)
tables.write(artefacts.facts(table, name=name), snakemake.output.facts)
