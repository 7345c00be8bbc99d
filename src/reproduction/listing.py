"""List of all rules of the workflow, with the function, the file and the artefact of each rule. The command
``make rules`` (``python -m reproduction.listing``) prints the list.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dpmultinomial import _printing

from . import kind, paper, studies
from .config import checks, overlays, scenario_settings
from .jobs import artefacts

_OTHERS = (
    ("agreement", "verdicts.agreement", "results/agreement.tsv", "printed numbers of all papers next to ours"),
    ("effective_config", "config", "results/config.effective.yaml", "the configuration with all defaults"),
    ("summary", "verdicts.summary", "results/summary.txt", "closing summary of a run"),
    ("report", "report", "results/report", "report of a run: index.html"),
    ("compile_kernel", "setup.py", "src/{kernel}.*.so", "a compiled kernel"),
    ("all", "", "", "everything under `run`, all scenarios, agreement and summary"),
)


class Row(NamedTuple):
    """Rule of the workflow, with the rule's name, function, first file and artefact. The function is called by the jobs
    of the rule, and is below ``reproduction``.
    """

    rule: str
    function: str
    file: str
    artefact: str


def rows(config: Mapping[str, Any]) -> Iterator[Row]:
    """Yield one row per rule of the workflow, for a checked configuration that contains the default values."""
    for slug, this_paper in paper.discover().items():
        yield from of_paper(this_paper, config[slug], config["shards"])
    for scenario in scenario_settings.named(config, kind.discover()).values():
        name, answer = scenario.name, f"{scenario.kind.package.partition('.')[2]}.answer"
        if scenario_settings.shards(scenario, 1 if config["shards"] == "auto" else config["shards"]) > 1:
            parts = f"results/scenarios/parts/{name}_{{shard}}.csv"
            yield Row(f"scenario_{name}_parts", answer, parts, f"parts of scenario {name}")
        yield Row(f"scenario_{name}", answer, f"results/scenarios/{name}.csv", f"scenario {name}")
        yield Row(f"page_{name}", "scenarios.page.write", f"pages/{name}.html", f"page of scenario {name}")
    for name in config["plans"]:
        yield Row(f"plan_{name}", "scenarios.planning.made", f"results/plans/{name}.csv", f"plan {name}")
    for name in config["releases"]:
        yield Row(f"release_{name}", "dpmultinomial._releases.room.make", f"releases/{name}/", f"release {name}")
    for study in studies.discover().values():
        module = study.module.partition(".")[2]
        if study.parts:
            part = f"results/studies/{study.name}/{{part}}.parquet"
            yield Row(f"study_{study.name}_part", f"{module}.part", part, f"a part of study {study.name}")
        yield Row(f"study_{study.name}", f"{module}.table", f"results/studies/{study.name}.csv", study.title)
    for rule, function, file, about in _OTHERS:
        yield Row(rule, function, file, about)


def of_paper(found: paper.Paper, section: Mapping[str, Any], shards: int | str) -> Iterator[Row]:
    """Yield one row per workflow rule of a paper. There are rules for the loops, the tables, the figures, the
    comparison with the printed statements, and the complete paper.
    """
    for loop in artefacts.loops(found, section, shards):
        yield Row(loop.rule, f"papers.{loop.function}", loop.file, f"simulation for {loop.settings}")
    for artefact in found.artefacts:
        if artefact.table:
            file = artefacts.table_file(found, artefact.name)
            function = f"papers.{found.slug}.{artefact.table.function}"
            yield Row(artefacts.table_rule(found, artefact), function, file, artefact.label)
        if artefact.figure:
            file = artefacts.figure_file(found, artefact.name)
            function = f"papers.{found.slug}.{artefact.figure.function}"
            yield Row(artefacts.figure_rule(found, artefact), function, file, artefact.label)
    for name, function in found.rules.items():
        file = f"results/{found.slug}/{name}/{{dataset}}.csv"
        yield Row(f"{found.slug}_{name}", f"papers.{found.slug}.{function}", file, "one job per data set")
    ours = f"papers.{found.slug}.agreement.ours"
    yield Row(f"{found.slug}_compare", ours, f"results/{found.slug}/agreement.csv", "printed numbers next to ours")
    yield Row(found.slug, "", "", f"all results of {found.slug}")


def text(config: Mapping[str, Any]) -> str:
    """Return a table of all rules of the workflow, as text for the terminal."""
    cells = [Row("rule", "function", "file", "artefact"), *rows(config)]
    widths = [max(len(row[column]) for row in cells) for column in range(3)]
    lines = [[cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)] for row in cells]
    return "\n".join("  ".join([*line, row.artefact]).rstrip() for line, row in zip(lines, cells, strict=True))


def main() -> None:
    """Print the rules of the workflow for the configuration in the current folder, merged with the overlays that are
    named in the arguments.
    """
    try:
        config = overlays.in_use([Path(file) for file in sys.argv[1:]], {}, Path.cwd())
        _printing.show(text(checks.checked(config, paper.discover())))
    except ValueError as error:
        _printing.stop(error)


if __name__ == "__main__":
    main()
