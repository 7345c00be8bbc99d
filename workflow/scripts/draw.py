"""Adapter: one figure from its table."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial import artefacts, tables
from dpmultinomial.figures import style

with style.applied():
    figure = artefacts.find(snakemake.params.function)(tables.read(snakemake.input.table))
    style.save(figure, snakemake.output.png, snakemake.output.pdf)
