"""Adapter: one part of a study -> its file."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, studies
from reproduction.config import json_text
from reproduction.jobs import costs

with costs.of_job(snakemake, f"studies.{snakemake.params.study}.part"):
    p = snakemake.params
    study, settings = studies.discover()[p.study], json_text.decoded(p.settings)
    path = Path(snakemake.output.parquet)
    study.function("part")(p.root_seed, snakemake.wildcards.part, path, **settings)
    made = provenance.record(
        function=f"{study.module}.part",
        settings=settings,
        root_seed=p.root_seed,
        code=map(Path, snakemake.input.code),
        job=provenance.job(snakemake),
    )
    provenance.write(made, path)
