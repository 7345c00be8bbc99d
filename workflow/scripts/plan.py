"""Compute a plan and write its curve, its metadata and its figure, as a job of the workflow."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from reproduction import provenance
from reproduction.config import json_text, plan_settings
from reproduction.jobs import costs
from reproduction.scenarios import planning

with costs.of_job(snakemake, "scenarios.planning.made"):
    p = snakemake.params
    settings = json_text.decoded(p.settings)
    folder = Path(snakemake.output.csv).parents[2]  # the path includes the prefix of a module
    if "release" not in settings:
        made_by, drawn_by = "planning.made", "planning.draw"
        found = planning.made(p.name, settings, root_seed=p.root_seed, folder=folder)
        planning.draw(found, snakemake.output.png, snakemake.output.pdf)
    else:
        made_by, drawn_by = "planning.release_made", "planning.draw_release"
        table = planning.release_made(p.name, settings, **json_text.decoded(p.release), folder=folder)
        level = plan_settings.filled(settings)["level"]
        planning.draw_release(table, level, snakemake.output.png, snakemake.output.pdf)
    made = provenance.record(
        function=f"scenarios.{made_by}", settings=settings, root_seed=p.root_seed, job=provenance.job(snakemake)
    )
    provenance.write(made, Path(snakemake.output.csv), Path(snakemake.output.facts))
    drawn = provenance.short(function=f"scenarios.{drawn_by}", job=provenance.job(snakemake))
    provenance.write(drawn, snakemake.output.png, snakemake.output.pdf)
