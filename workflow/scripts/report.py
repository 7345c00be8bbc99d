"""Adapter: the report of what is in this folder."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import report
from reproduction.jobs import job_log

job_log.followed(snakemake)
report.write(Path(), Path(snakemake.output[0]))
