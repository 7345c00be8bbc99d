"""Adapter: the tables of one job."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import making, sealing

p = snakemake.params
making.all_tables([*map(sealing.unsealed, p.loops)], [*map(sealing.unsealed, p.parts)], root_seed=p.root_seed)
