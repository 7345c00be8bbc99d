"""Workflow script that either converts a data set to a table of integer codes or runs one experiment on such a table.

If a data set is unavailable, a marker is written in place of its table.
"""

import inspect
import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, tables, trust
from reproduction.config import json_text
from reproduction.jobs import costs, making
from reproduction.papers.ponnoprat2022 import datasets

p, name = snakemake.params, snakemake.wildcards.dataset
with costs.of_job(snakemake, p.function, name):
    if p.function == "ponnoprat2022.datasets.load":
        written = (snakemake.output.csv, snakemake.output.json)
        try:
            datasets.write(datasets.load(name, folders=p.folders, download=p.download, retries=p.retries), *written)
        except (datasets.UnavailableError, datasets.ChecksumError) as error:
            print(error, file=sys.stderr)
            datasets.write_missing(name, str(error), *written)
        made = provenance.short(function=p.function, job=provenance.job(snakemake))
    else:
        written = (snakemake.output.csv,)
        read = [trust.checked(path) for path in (snakemake.input.csv, snakemake.input.json)]
        run = making.find(p.function)
        seed = {"root_seed": p.root_seed} if "root_seed" in inspect.signature(run).parameters else {}
        tables.write(run(datasets.read(*read), name=name, **seed, **json_text.decoded(p.settings)), *written)
        made = provenance.short(function=p.function, inputs=[Path(snakemake.input.csv)], job=provenance.job(snakemake))
    provenance.write(made, *written)
