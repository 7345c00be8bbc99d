"""Workflow script that runs one experiment on one data set."""

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
    read = [trust.checked(path) for path in (snakemake.input.csv, snakemake.input.json)]
    run = making.find(p.function)
    seed = {"root_seed": p.root_seed} if "root_seed" in inspect.signature(run).parameters else {}
    tables.write(run(datasets.read(*read), name=name, **seed, **json_text.decoded(p.settings)), snakemake.output.csv)
    made = provenance.short(function=p.function, inputs=[Path(snakemake.input.csv)], job=provenance.job(snakemake))
    provenance.write(made, snakemake.output.csv)
