"""Adapter: the figure of a scenario's grid from its table."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import style, tables
from reproduction.cases import grid_figure
from reproduction.config import sealing

with style.applied():
    figure = grid_figure.grid(tables.read(snakemake.input.table), sealing.unsealed(snakemake.params.grid))
    style.save(figure, snakemake.output.png, snakemake.output.pdf)
