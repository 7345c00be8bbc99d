"""Adapter: the closing words of a run."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import summary, tables

agreement = tables.read(snakemake.input.agreement)
batches = {
    name: tables.read(path) for name, path in zip(snakemake.params.batches, snakemake.input.batches, strict=True)
}
about = {"made": list(snakemake.input.made), "papers": snakemake.params.papers, "batches": batches}
text = summary.text(agreement, **about)
Path(snakemake.output[0]).write_text(text, encoding="utf-8")
