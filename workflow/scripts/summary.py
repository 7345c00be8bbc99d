"""Write the summary at the end of a run, as a job of the workflow."""

import json
import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance, trust
from reproduction.jobs import costs
from reproduction.verdicts import summary

with costs.of_job(snakemake, "verdicts.summary.text"):
    agreement = trust.table(snakemake.input.agreement)
    about = {"made": [*snakemake.input.made, *snakemake.input.scenarios], "papers": snakemake.params.papers}
    about["scenarios"] = {
        name: json.loads(trust.content(f"results/scenarios/{name}.json")) for name in snakemake.params.scenarios
    }
    text = summary.text(agreement, **about)
    Path(snakemake.output.txt).write_text(text, encoding="utf-8")
    made = provenance.short(function="verdicts.summary.text", job=provenance.job(snakemake))
    provenance.write(made, snakemake.output.txt)
