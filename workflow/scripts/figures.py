"""Adapter: the figures of one job."""

import os
import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)
os.chdir(snakemake.output[0].rpartition("figures/")[0] or ".")  # where a module's prefix puts its files

from reproduction import provenance
from reproduction.config import json_text
from reproduction.jobs import drawing, job_log

job_log.followed(snakemake)
drawing.all_figures([*map(json_text.decoded, snakemake.params.parts)], job=provenance.job(snakemake))
