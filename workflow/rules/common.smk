# Everything the rules share: the checked configuration, the manifest, paths and small look-ups. No rules here.
import csv
import importlib
import shutil
import sys
import time
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.basedir)
SRC = ROOT / "src"
sys.path.insert(0, str(SRC))

from dpmultinomial import config as configuration
from dpmultinomial import dependencies

PAPERS = ("balmat2018", "wang2020", "raim2021", "pan2023", "ponnoprat2022")
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
RULES = {p: importlib.import_module(f"dpmultinomial.papers.{p}.rules").mistakes for p in PAPERS}

try:
    for path in workflow.configfiles:
        configuration.read(Path(path))
    config = configuration.check(config, SCHEMA, RULES)
except configuration.ConfigError as error:
    raise WorkflowError(str(error)) from None

with (ROOT / "workflow/artefacts.tsv").open(newline="") as stream:
    MANIFEST = list(csv.DictReader(stream, delimiter="\t"))
for row in MANIFEST:
    row["verb"] = row["rule"].removeprefix(f"{row['paper']}_").split("_")[0]
SIMULATIONS = sorted(
    {
        (r["paper"], r["function"].rpartition(".")[0], r["settings"])
        for r in MANIFEST
        if r["verb"] == "summarise"
    }
)
SHARDS = config["shards"]
RSCRIPT = shutil.which("Rscript") or ""
STARTED = time.time()
QUIET = (
    workflow.resource_settings.cores or 2
)  # threads of a timing job: all cores, so that nothing runs beside it
ADAPTERS = ("artefacts", "blocks", "provenance", "tables")
UCI_SETS = {
    "datasets": config["ponnoprat2022"]["datasets"],
    "bundled": config["ponnoprat2022"]["bundled"],
    "networked": config["ponnoprat2022"]["network_datasets"],
}
UCI_ORDER = list(dict.fromkeys(sum(UCI_SETS.values(), [])))
EXTENSION = dependencies.extension_file("{kernel}")


wildcard_constraints:
    dataset="[A-Za-z_]+",
    kernel="[a-z_]+",
    shard="[0-9]+",


def code(*modules):
    """Modules and compiled kernels that these modules run: named as inputs, so that an edit re-runs what uses them."""
    return [str(path) for path in dependencies.sources(*ADAPTERS, *modules)]


def rows(paper):
    """Manifest rows of a paper."""
    return [row for row in MANIFEST if row["paper"] == paper]


def table_inputs(row):
    """Tables a row reads: the shards of its simulation, or the tables its `inputs` name.

    The name `published` stands for the numbers printed in the paper.
    """
    paper, part = row["paper"], row["function"].rpartition(".")[0]
    if row["verb"] == "summarise":
        numbers = range(1, SHARDS + 1)
        return [f"results/{paper}/simulated/{part}_{shard}_of_{SHARDS}.csv" for shard in numbers]
    printed = str(ROOT / f"workflow/published/{paper}.tsv")
    return [
        printed if name == "published" else f"results/{paper}/{name}.csv" for name in row["inputs"].split()
    ]


def uci_tables(row):
    """Tables a gathering row reads: <kind>/<group> stands for one table a data set of the group."""
    kind, group = row["inputs"].split("/")
    return [f"results/ponnoprat2022/{kind}/{name}.csv" for name in UCI_SETS[group]]


def runtime(row):
    """Minutes to ask a cluster for: ten times what the manifest expects on one core, at least ten."""
    return max(10, round(10 * float(row["minutes"])))


def scenario_data(paper, name):
    """The user's own files that a scenario reads: inputs, so that an edited file runs again."""
    scenario = config[paper]["scenarios"][name]
    return [scenario[key] for key in ("data", "csv", "counts_file", "released_file") if key in scenario]


def scenario_files(paper):
    """Files of the scenarios that users write under <paper>.scenarios."""
    names = config[paper]["scenarios"]
    tables = [f"results/{paper}/scenario_{name}.csv" for name in names]
    swapped = [f"results/{paper}/swapped_{name}.csv" for name in names if "data" in names[name]]
    return tables + swapped + [f"figures/{paper}/scenario_{name}.png" for name in names]


def paper_files(paper):
    """All that a paper's target makes."""
    made = [row["output"] for row in rows(paper)]
    return made + scenario_files(paper) + [f"results/{paper}/agreement.csv"]


def closing_words():
    """What the end of a run prints: the summary, if this run wrote it."""
    path = Path("results/summary.txt")
    if not path.is_file():
        return ""
    fresh = path.stat().st_mtime >= STARTED
    return (
        f"\n{path.read_text()}" if fresh else "\nThe summary of the last full run is in results/summary.txt."
    )
