"""Adapter: the tables of one job."""

import os
import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)
os.chdir(snakemake.output[0].rpartition("results/")[0] or ".")  # where a module's prefix puts its files

from reproduction.config import sealing
from reproduction.jobs import making

p = snakemake.params
making.all_tables([*map(sealing.unsealed, p.loops)], [*map(sealing.unsealed, p.parts)], root_seed=p.root_seed)
