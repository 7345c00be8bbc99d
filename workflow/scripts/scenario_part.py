"""Adapter: one part of a scenario's grid or batch; progress is written to the log and to the screen."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial._printing import printable
from reproduction import provenance
from reproduction.config import json_text, scenario_settings
from reproduction.jobs import costs
from reproduction.scenarios import making

with costs.of_job(snakemake, "scenarios.making.part"):
    p, shard = snakemake.params, int(snakemake.wildcards.shard)
    scenario = scenario_settings.restored(json_text.decoded(p.scenario))

    def tell(line):
        """To the log, and to the screen of who started the run."""
        for stream in (sys.stderr, sys.__stderr__):
            print(printable(f"scenario {scenario.name}, part {shard} of {p.of}: {line}"), file=stream, flush=True)

    into = making.Files(Path(snakemake.output.csv).with_suffix(""))
    making.part(scenario, into, root_seed=p.root_seed, shard=shard, of=p.of, tell=tell)
    made = provenance.short(function="scenarios.making.part", job=provenance.job(snakemake))
    provenance.write(made, *[into.csv, *into.all[1:]])
