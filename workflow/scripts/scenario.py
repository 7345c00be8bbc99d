"""Compute a scenario and write its table, its metadata and its figure, or compute one part of a scenario, as a job of
the workflow.

Progress is written to the log and to the screen.
"""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial._printing import printable
from reproduction import provenance, trust
from reproduction.config import json_text, scenario_settings
from reproduction.jobs import costs
from reproduction.scenarios import figure, making

with costs.of_job(snakemake, "scenarios.making.part"):
    p, shard = snakemake.params, snakemake.wildcards.get("shard")
    scenario = scenario_settings.restored(json_text.decoded(p.scenario))
    into, shards = making.Files(Path(snakemake.output.csv).with_suffix("")), snakemake.input.get("parts", [])
    words = f"scenario {scenario.name}, part {shard} of {p.of}" if shard else f"scenario {scenario.name}"

    def tell(line):
        """Write a line to the log and to the terminal of the user who started the run."""
        for stream in (sys.stderr, sys.__stderr__):
            print(printable(f"{words}: {line}"), file=stream, flush=True)

    if shard:
        making.part(scenario, into, root_seed=p.root_seed, shard=int(shard), of=p.of, tell=tell)
        made = provenance.short(function="scenarios.making.part", job=provenance.job(snakemake))
        provenance.write(made, *[into.csv, *into.all[1:]])
    else:
        if shards:
            parts = [making.Files(Path(path).with_suffix("")) for path in shards]
            for file in (file for part in parts for file in part.all):
                trust.checked(file)
            making.together(parts, into)
        else:
            making.part(scenario, into, root_seed=p.root_seed, tell=tell)
        figure.save(into, snakemake.output.png, snakemake.output.pdf)
        used = {
            "inputs": map(Path, [*snakemake.input.data, *snakemake.input.release]),
            "job": provenance.job(snakemake),
        }
        made = provenance.record(
            function="scenarios.making.part", settings=dict(scenario.settings), root_seed=p.root_seed, **used
        )
        provenance.write(made, *into.all, *making.large(into))
        drawn = provenance.short(function="scenarios.figure.save", inputs=[into.csv], job=provenance.job(snakemake))
        provenance.write(drawn, snakemake.output.png, snakemake.output.pdf)
