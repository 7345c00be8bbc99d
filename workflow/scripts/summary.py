"""Adapter: the closing words of a run."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, results
from reproduction.jobs import job_log
from reproduction.verdicts import summary

job_log.followed(snakemake)
agreement = results.read(snakemake.input.agreement)
about = {"made": list(snakemake.input.made), "papers": snakemake.params.papers}
for kind in ("scenarios", "batches"):
    paths = zip(snakemake.params[kind], snakemake.input[kind], strict=True)
    about[kind] = {name: results.read(path) for name, path in paths}
text = summary.text(agreement, **about)
Path(snakemake.output.txt).write_text(text, encoding="utf-8")
made = provenance.short(function="verdicts.summary.text", job=provenance.job(snakemake))
provenance.write(made, snakemake.output.txt)
