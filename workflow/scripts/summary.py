"""Adapter: the closing words of a run."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import summary, tables

agreement = tables.read(snakemake.input.agreement)
text = summary.text(agreement, made=list(snakemake.input.made), papers=snakemake.params.papers)
Path(snakemake.output[0]).write_text(text, encoding="utf-8")
