# Definitions that the rules share: papers, the checked configuration, paths and small helper functions. No rules.
import os
import shutil
import time
from pathlib import Path

from reproduction.jobs import artefacts, costs, environment, forks, internals, progress
from reproduction.config import checks, json_text, scenario_settings, user_files
from reproduction.provenance import SUFFIX as PROVENANCE
from reproduction import dependencies
from reproduction import kind as kinds
from reproduction import paper as folders, studies

environment.own_tree_first()
environment.no_progress()
# the scripts of another workflow may import modules in their folder
if not workflow.modifier.skip_configfile:
    environment.safe_path()

try:
    PAPERS = folders.discover()
    KINDS = kinds.discover()
    config = checks.checked(config, PAPERS)
    SCENARIOS = scenario_settings.named(config, KINDS)
    LOOPS = {slug: artefacts.loops(paper, config[slug], config["shards"]) for slug, paper in PAPERS.items()}
    GROUPS = {slug: artefacts.groups(paper) for slug, paper in PAPERS.items()}
except (ConfigError, folders.PaperError, kinds.KindError) as error:
    raise WorkflowError(message(error)) from None

ENVIRONMENT = str(ROOT / "envs/dpmultinomial.yaml")
CAPTION = str(ROOT / "workflow/report/artefact.rst")
SHARDS = (
    1 if config["shards"] == "auto" else config["shards"]
)  # for loops whose length is not known in advance
STARTED = time.time()
ALL_CORES = (
    workflow.resource_settings.cores or 2
)  # a timing takes all threads, so that no other job runs at the same time
FIRST = 10_000  # priority of timings: they start while all cores are free
EXTENSION = dependencies.extension_file("{kernel}")


wildcard_constraints:
    dataset="[A-Za-z_]+",
    kernel="[a-z0-9_/]+",
    shard="[0-9]+",


def code(*modules):
    """Return the files of the modules and compiled kernels that a job uses. They are inputs of its rule, so that an
    edit makes the job run again.
    """
    return [str(path) for path in dependencies.of_job(*modules)]


def kernels(paper, module):
    """Return the compiled kernels that a module of a paper uses. They are inputs of its rules, so that edited kernels
    are recompiled.
    """
    return [str(path) for path in dependencies.extensions(f"{paper.package}.{module}")]


def digest(paper, module):
    """Return a digest of the Python files that a module of a paper uses. It is a parameter of the module's rules, so
    that an edit makes their jobs run again.
    """
    return dependencies.digest(f"{paper.package}.{module}")


def reported(paper, artefact, file, what):
    """Return a file as an entry of Snakemake's report, in the paper's category."""
    labels = {"artefact": artefact.label, "what": what}
    return report(file, caption=CAPTION, category=paper.slug, labels=labels)


def provenance_of(file):
    """Return the provenance file of a result."""
    return str(Path(file).with_suffix(PROVENANCE))


def memory(mb):
    """Return the memory to request, in MB: proportional to the number of the attempt."""
    return lambda wildcards, attempt: mb * attempt


def priority(minutes):
    """Return the priority of a job. The longest job has the highest priority."""
    return round(100 * minutes)


def runtime(minutes):
    """Return the minutes to request from a cluster: ten times the expected minutes on one core, at least ten."""
    return max(10, round(10 * minutes))


def scenario_shards(scenario):
    """Return the number of shards of a scenario."""
    return scenario_settings.shards(scenario, SHARDS)


def scenario_part(scenario, ending, which=""):
    """Return a file of a shard of a scenario, with the wildcard shard."""
    of = scenario_shards(scenario)
    return f"results/scenarios/parts/{scenario.name}_{{shard}}_of_{of}{which}.{ending}"


def scenario_text(scenario):
    """Return a scenario as text, for a parameter of its rules."""
    return json_text.encoded(scenario_settings.as_text(scenario))


def scenario_modules(scenario):
    """Return the modules that the jobs of a scenario use."""
    return scenario.kind.modules


def scenario_code(scenario):
    """Return a digest of the modules of a scenario. It is a parameter of the scenario's rules, so that an edit makes
    their jobs run again.
    """
    return dependencies.digest(*scenario_modules(scenario))


def scenario_kernels(scenario):
    """Return the compiled kernels that the jobs of a scenario use."""
    return [str(path) for path in dependencies.extensions(*scenario_modules(scenario))]


def overlaid():
    """Return the command-line arguments that name the configuration files of this run."""
    given = [] if workflow.modifier.skip_configfile else workflow.config_settings.configfiles
    names = [
        os.path.relpath(file) for file in given if overlays.WRITTEN not in Path(os.path.relpath(file)).parents
    ]
    return f" --configfile {' '.join(names)}" if names else ""


def scenario_data(scenario):
    """Return the user's files that a scenario reads. If the workflow is used as a module, its prefix applies only to
    files that the workflow makes.
    """
    return [local(file) for file in scenario.files]


def scenario_release(scenario):
    """Return the public files of the release that a scenario analyses. Raise an error if the release has not
    been made.
    """
    if not scenario.release:
        return []
    files = [Path(scenario.release) / file for file in ("release.csv", user_files.RECORD)]
    if not all(file.is_file() for file in files):
        release = scenario.settings["release"]
        raise WorkflowError(
            f"scenarios.{scenario.name}: release {release!r} has not been made; "
            f"this command makes it, once: snakemake --cores 1 release_{release}{overlaid()}"
        )
    return [local(str(file)) for file in files]


def paper_files(slug):
    """Return all files of a paper's target."""
    paper = PAPERS[slug]
    made = paper.tables() + paper.figures()
    return made + [f"results/{slug}/agreement.csv"]


def scenario_files(name):
    """Return all files of a scenario's target."""
    return [
        f"results/scenarios/{name}.csv",
        f"results/scenarios/{name}.json",
        f"figures/scenarios/{name}.png",
    ]


def declared_minutes():
    """Return the expected minutes of a job of every rule, as a dictionary; 0 for a timing whose programs are
    missing.
    """
    minutes = {}
    for slug, paper in PAPERS.items():
        for artefact, table in artefacts.tables(paper):
            missing = table.programs and not any(map(shutil.which, table.programs))
            minutes[artefacts.table_rule(paper, artefact)] = 0 if missing else table.minutes
        for artefact in paper.artefacts:
            if artefact.figure:
                minutes[artefacts.figure_rule(paper, artefact)] = artefact.figure.minutes
        minutes |= {loop.rule: loop.minutes / loop.pieces for loop in LOOPS[slug]}
    return minutes


def imported():
    """Return a dictionary from rules to the modules that their jobs import, as they are loaded in the current
    process.
    """
    found = {f"{slug}_compare": [f"{paper.package}.agreement"] for slug, paper in PAPERS.items()}
    for slug, paper in PAPERS.items():
        found |= {loop.rule: [f"{paper.package}.{loop.module}"] for loop in LOOPS[slug]}
        for artefact, table in artefacts.tables(paper):
            found[artefacts.table_rule(paper, artefact)] = [f"{paper.package}.{table.module}"]
        for artefact in paper.artefacts:
            if artefact.figure:
                found[artefacts.figure_rule(paper, artefact)] = [f"{paper.package}.{artefact.figure.module}"]
    for scenario in SCENARIOS.values():
        own = scenario_modules(scenario)
        found |= {f"scenario_{scenario.name}": own, f"scenario_{scenario.name}_parts": own}
    for study in studies.discover().values():
        found |= {f"study_{study.name}": [study.module], f"study_{study.name}_part": [study.module]}
    return found | {name: [f"reproduction.verdicts.{name}"] for name in ("agreement", "summary")}


def there_is():
    """Return the existing results of the papers under `run`. A report of a partial run states what is missing."""
    made = [path for slug in config["run"] for path in paper_files(slug)]
    made += [path for name in SCENARIOS for path in scenario_files(name)]
    for name, settings in config["releases"].items():
        folder = user_files.release_folder(name, settings)
        made += [str(folder / file) for file in ("release.csv", user_files.RECORD)]
    return [path for path in made if Path(path).is_file()]


def unknown_targets():
    """Return a message about invalid targets on the command line. It is empty if all targets are valid."""
    asked = internals.asked_targets()
    rules = list(workflow.rules) if asked else []
    return artefacts.refused_targets(
        asked,
        rules=[rule.name for rule in rules],
        files=[str(file) for rule in rules for file in rule.output if not rule.has_wildcards()],
        made=lambda file: any(rule.is_producer(os.path.normpath(file)) for rule in rules),
        sections={section: list(config[section]) for section in set(artefacts.SECTIONS.values())},
    )


def closing_words():
    """Return the text printed at the end of a run, which is the summary if this run wrote it."""
    path = Path("results/summary.txt")
    if not path.is_file():
        return ""
    fresh = path.stat().st_mtime >= STARTED
    return (
        f"\n{path.read_text()}" if fresh else "\nThe summary of the last full run is in results/summary.txt."
    )
