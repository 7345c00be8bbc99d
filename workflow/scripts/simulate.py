"""Adapter: one piece of a long loop."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import making, sealing

p = snakemake.params
making.piece(sealing.unsealed(p.loop), int(snakemake.wildcards.shard), root_seed=p.root_seed)
