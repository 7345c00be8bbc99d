"""Adapter: a study -> its table and its figure."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, studies, style, tables, trust
from reproduction.config import json_text
from reproduction.jobs import costs

with costs.of_job(snakemake, f"studies.{snakemake.params.study}.table"):
    p = snakemake.params
    study, settings = studies.discover()[p.study], json_text.decoded(p.settings)
    parts = {"parts": [trust.checked(path) for path in snakemake.input.parts]} if study.parts else {}
    tables.write(study.function("table")(p.root_seed, **parts, **settings), snakemake.output.csv)
    with style.applied():
        figure = study.function("figure")(tables.read(snakemake.output.csv))
        style.save(figure, snakemake.output.png, snakemake.output.pdf)
    made = provenance.record(
        function=f"{study.module}.table",
        settings=settings,
        root_seed=p.root_seed,
        inputs=map(Path, snakemake.input.parts),
        code=map(Path, snakemake.input.code),
        job=provenance.job(snakemake),
    )
    provenance.write(made, snakemake.output.csv, snakemake.output.png, snakemake.output.pdf)
