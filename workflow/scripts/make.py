"""Adapter: the tables of one job."""

import os
import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)
os.chdir(snakemake.output[0].rpartition("results/")[0] or ".")  # where a module's prefix puts its files

from reproduction.jobs import one_thread

one_thread.kept()  # before NumPy is loaded

from reproduction import provenance
from reproduction.config import json_text
from reproduction.jobs import job_log, making

job_log.followed(snakemake)
p = snakemake.params
loops, parts = ([*map(json_text.decoded, found)] for found in (p.loops, p.parts))
making.all_tables(loops, parts, root_seed=p.root_seed, job=provenance.job(snakemake))
