"""Adapter: the figures of one job."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import drawing, sealing

drawing.all_figures([*map(sealing.unsealed, snakemake.params.parts)])
