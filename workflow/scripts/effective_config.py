"""Write the configuration that a run uses, with default values and overlays, as a job of the workflow."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

import yaml

from reproduction import provenance
from reproduction.config import json_text
from reproduction.jobs import costs

with costs.of_job(snakemake, "reproduction.config"):
    text = yaml.safe_dump(
        json_text.decoded(snakemake.params.config), sort_keys=False, default_flow_style=None, width=120
    )
    Path(snakemake.output.yaml).write_text(text, encoding="utf-8")
    made = provenance.short(function="reproduction.config", job=provenance.job(snakemake))
    provenance.write(made, snakemake.output.yaml)
