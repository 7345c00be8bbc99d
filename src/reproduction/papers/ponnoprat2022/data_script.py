"""Workflow script that prepares a data set as an integer-coded table, or writes a marker that the data set is
unavailable.
"""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance
from reproduction.jobs import costs
from reproduction.papers.ponnoprat2022 import datasets

p, name, written = snakemake.params, snakemake.wildcards.dataset, (snakemake.output.csv, snakemake.output.json)
with costs.of_job(snakemake, "ponnoprat2022.datasets.load", name):
    try:
        datasets.write(datasets.load(name, folders=p.folders, download=p.download, retries=p.retries), *written)
    except (datasets.UnavailableError, datasets.ChecksumError) as error:
        print(error, file=sys.stderr)
        datasets.write_missing(name, str(error), *written)
    made = provenance.short(function="ponnoprat2022.datasets.load", job=provenance.job(snakemake))
    provenance.write(made, *written)
