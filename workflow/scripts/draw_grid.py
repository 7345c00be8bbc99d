"""Adapter: the figure of a scenario's grid from its table."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, results, style
from reproduction.cases import grid_figure
from reproduction.config import json_text

with style.applied():
    figure = grid_figure.grid(results.read(snakemake.input.table), json_text.decoded(snakemake.params.grid))
    style.save(figure, snakemake.output.png, snakemake.output.pdf)
made = provenance.short(
    function="grid_figure.grid", inputs=[Path(snakemake.input.table)], job=provenance.job(snakemake)
)
provenance.write(made, snakemake.output.png, snakemake.output.pdf)
