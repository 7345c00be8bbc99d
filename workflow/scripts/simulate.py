"""Adapter: one piece of a long loop."""

import os
import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)
os.chdir(snakemake.output[0].rpartition("results/")[0] or ".")  # where a module's prefix puts its files

from reproduction.config import sealing
from reproduction.jobs import making

p = snakemake.params
making.piece(sealing.unsealed(p.loop), int(snakemake.wildcards.shard), root_seed=p.root_seed)
