"""Adapter: data sets as integer-coded tables, or a mark that one could not be had; then the experiments on them."""

import os
import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)
os.chdir(snakemake.output[0].rpartition("results/")[0] or ".")  # where a module's prefix puts its files

from reproduction import provenance, tables
from reproduction.jobs import adapters
from reproduction.jobs.job_log import followed, named
from reproduction.papers.ponnoprat2022 import artefacts, datasets, retrieval

followed(snakemake)
p = snakemake.params
results = Path("results/ponnoprat2022")
job = provenance.job(snakemake)


def prepare(name):
    written = [str(results / f"data/{name}.{end}") for end in ("csv", "json")]
    try:
        table = datasets.load(name, folders=p.folders, download=p.download, retries=p.retries)
        datasets.write(table, *written)
    except (retrieval.UnavailableError, retrieval.ChecksumError) as error:
        table = str(error)
        print(table, file=sys.stderr)
        datasets.write_missing(name, table, *written)
    provenance.write(provenance.short(function="ponnoprat2022.datasets.load", job=job), *written)
    facts = results / f"facts/{name}.csv"
    tables.write(artefacts.facts(table, name=name), facts)
    provenance.write(provenance.short(function="ponnoprat2022.artefacts.facts", job=job), facts)
    return datasets.read(*written)


made = {}
for name in p.sets:
    with named({"name": name, "function": "ponnoprat2022.datasets.load"}, "load"):
        made[name] = prepare(name)
for kind, function, name in p.runs:
    function = f"ponnoprat2022.{function}"
    with named({"name": f"{kind}_{name}", "function": function}, "run"):
        table = adapters.find(function)(made[name], name=name, root_seed=p.root_seed, **p.settings[kind])
        tables.write(table, results / kind / f"{name}.csv")
        read = [results / f"data/{name}.csv"]
        made_by = provenance.short(function=function, inputs=read, job=job)
        provenance.write(made_by, results / kind / f"{name}.csv")
