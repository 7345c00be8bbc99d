# Everything the rules share: the papers found, the checked configuration, paths and small look-ups. No rules here.
import os
import shutil
import time
from pathlib import Path

from reproduction.jobs import dependencies, forks, jobs, own_tree, parts, progress, seconds, targets
from reproduction.config import json_text, made_releases, whole
from reproduction.provenance import SUFFIX as PROVENANCE
from reproduction import kind as kinds
from reproduction import paper as folders, studies
from reproduction.config import scenario_settings
from reproduction.scenarios import named

own_tree.come_first()

try:
    PAPERS = folders.discover()
    KINDS = kinds.discover()
    config = whole.checked(config, PAPERS)
    SCENARIOS = scenario_settings.named(config, KINDS)
    LOOPS = {slug: jobs.loops(found, config[slug], config["shards"]) for slug, found in PAPERS.items()}
    TABLES = {slug: jobs.tables(found, config[slug], config["shards"]) for slug, found in PAPERS.items()}
    FIGURES = {slug: jobs.figures(found) for slug, found in PAPERS.items()}
except (ConfigError, folders.PaperError, kinds.KindError) as error:
    raise WorkflowError(str(error)) from None

ENVIRONMENT = str(ROOT / "envs/dpmultinomial.yaml")
SCRIPTS = ROOT / "workflow/scripts"
CAPTION = str(ROOT / "workflow/report/artefact.rst")
SHARDS = (
    1 if config["shards"] == "auto" else config["shards"]
)  # for loops whose length is not known beforehand
STARTED = time.time()
QUIET = (
    workflow.resource_settings.cores or 2
)  # threads of a timing job: all cores, so that nothing runs beside it
EXTENSION = dependencies.extension_file("{kernel}")


wildcard_constraints:
    dataset="[A-Za-z_]+",
    kernel="[a-z0-9_/]+",
    shard="[0-9]+",


def code(*modules):
    """Modules and compiled kernels that these modules run: named as inputs, so that an edit re-runs what uses them."""
    return [str(path) for path in dependencies.of_job(*modules)]


def runtime(minutes):
    """Minutes to ask a cluster for: ten times what is expected on one core, at least ten."""
    return max(10, round(10 * minutes))


def scenario_shards(scenario):
    """Into how many parts a scenario is cut."""
    return scenario_settings.shards(scenario, SHARDS)


def scenario_part(scenario, ending, which=""):
    """A file of a part of a scenario, with the wildcard shard."""
    of = scenario_shards(scenario)
    return f"results/scenarios/parts/{scenario.name}_{{shard}}_of_{of}{which}.{ending}"


def scenario_text(scenario):
    """A scenario as a parameter of its rules."""
    return json_text.encoded(named.text(scenario))


def scenario_modules(scenario):
    """Modules that a scenario's jobs run."""
    return [
        *(f"reproduction.scenarios.{name}" for name in ("making", "drawing", "batch")),
        *(f"{scenario.kind.package}.{name}" for name in ("answer", "rules", "words")),
    ]


def scenario_code(scenario):
    """What those modules are: a parameter of its rules, so that an edit runs them again."""
    return dependencies.digest(*scenario_modules(scenario))


def scenario_kernels(scenario):
    """Compiled kernels that its jobs run."""
    return [str(path) for path in dependencies.extensions(*scenario_modules(scenario))]


def overlaid():
    """The words that name the configuration files of this run."""
    given = [] if workflow.modifier.skip_configfile else workflow.config_settings.configfiles
    names = [
        os.path.relpath(file) for file in given if overlays.WRITTEN not in Path(os.path.relpath(file)).parents
    ]
    return f" --configfile {' '.join(names)}" if names else ""


def scenario_release(scenario):
    """The public files of the release that a scenario is about; it must have been made."""
    if not scenario.release:
        return []
    files = [Path(scenario.release) / file for file in ("release.csv", made_releases.RECORD)]
    if not all(file.is_file() for file in files):
        release = scenario.settings["release"]
        raise WorkflowError(
            f"scenarios.{scenario.name}: release {release!r} has not been made; "
            f"this command makes it, once: snakemake --cores 1 release_{release}{overlaid()}"
        )
    return [str(file) for file in files]


def paper_files(slug):
    """All that a paper's target makes."""
    paper = PAPERS[slug]
    made = paper.tables() + paper.figures()
    return made + [f"results/{slug}/agreement.csv"]


def scenario_files(name):
    """What a scenario's target makes."""
    return [
        f"results/scenarios/{name}.csv",
        f"results/scenarios/{name}.json",
        f"figures/scenarios/{name}.png",
    ]


def unknown_targets():
    """What is wrong with the targets of the command line; empty where nothing is."""
    asked = targets.asked()
    rules = list(workflow.rules) if asked else []
    return targets.refusal(
        asked,
        rules=[rule.name for rule in rules],
        files=[str(file) for rule in rules for file in rule.output if not rule.has_wildcards()],
        made=lambda file: any(rule.is_producer(os.path.normpath(file)) for rule in rules),
        sections={section: list(config[section]) for section in set(targets.SECTIONS.values())},
    )


def closing_words():
    """What the end of a run prints: the summary, if this run wrote it."""
    path = Path("results/summary.txt")
    if not path.is_file():
        return ""
    fresh = path.stat().st_mtime >= STARTED
    return (
        f"\n{path.read_text()}" if fresh else "\nThe summary of the last full run is in results/summary.txt."
    )
