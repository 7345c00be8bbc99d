"""Compute the table and the figure of a study, or one part of a study, as a job of the workflow."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, studies, style, tables, trust
from reproduction.config import json_text
from reproduction.jobs import costs

p, part = snakemake.params, snakemake.wildcards.get("part")
study, settings = studies.discover()[p.study], json_text.decoded(p.settings)
name = "part" if part else "table"
with costs.of_job(snakemake, f"studies.{p.study}.{name}"):
    if part:
        written = [Path(snakemake.output.parquet)]
        study.function("part")(p.root_seed, part, written[0], **settings)
    else:
        written = [snakemake.output.csv, snakemake.output.png, snakemake.output.pdf]
        parts = {"parts": [trust.checked(path) for path in snakemake.input.parts]} if study.parts else {}
        tables.write(study.function("table")(p.root_seed, **parts, **settings), snakemake.output.csv)
        with style.applied():
            figure = study.function("figure")(tables.read(snakemake.output.csv))
            style.save(figure, snakemake.output.png, snakemake.output.pdf)
    made = provenance.record(
        function=f"{study.module}.{name}",
        settings=settings,
        root_seed=p.root_seed,
        inputs=map(Path, snakemake.input.get("parts", [])),
        code=map(Path, snakemake.input.code),
        job=provenance.job(snakemake),
    )
    provenance.write(made, *written)
