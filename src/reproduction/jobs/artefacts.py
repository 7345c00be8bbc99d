"""Rules of the workflow for the papers, with one rule for each table, figure and simulation loop.

========================== ================================================ =======================================
rule                       file                                             function, in the paper's folder
========================== ================================================ =======================================
``<paper>_<name>_table``   ``results/<paper>/<name>.csv``                   ``table.function`` of paper.yaml
``<paper>_<name>_figure``  ``figures/<paper>/<name>.png`` and ``.pdf``      ``figure.function``
``<paper>_<module>_loop``  ``results/<paper>/simulated/<module>_{shard}..`` ``<module>.simulate``, in several parts
========================== ================================================ =======================================

One job makes one file. A table with ``by: summarise`` reads all parts of its module's loop. If no rule makes a target,
the target is rejected with a list of the valid names, before Snakemake reports a missing rule.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from math import ceil
from pathlib import Path
from typing import Any

from .. import dependencies
from ..config.config import nearest
from ..paper import Artefact, Paper, Table

# smallest number of minutes for which a loop is divided into parts, and a table gets a separate cluster submission
LONG = 0.2
PIECE = 0.4  # number of minutes of one part of a long loop
MOST_PIECES = 4
PRINTED = "published.tsv"  # the printed statements of a paper
SECTIONS = {"scenario": "scenarios", "page": "scenarios", "plan": "plans", "release": "releases"}


@dataclass(frozen=True)
class Loop:
    """Simulation loop whose draws are summarised by the tables of one module. The loop is divided into parts, with one
    job per part.

    Parameters
    ----------
    slug : slug of the paper.
    module : module whose function `simulate` runs one block of the loop.
    settings : section of the paper's settings that contains `replications` and `block`.
    minutes : expected minutes on one core.
    pieces : number of jobs, >= 1.
    """

    slug: str
    module: str
    settings: str
    minutes: float
    pieces: int

    @property
    def rule(self) -> str:
        """Return the name of the workflow rule that runs a simulation loop in several parts (shards)."""
        return f"{self.slug}_{self.module}_loop"

    @property
    def function(self) -> str:
        """Return the dotted name of the function that simulates one block of a simulation loop. The name is relative to
        the package ``papers``.
        """
        return f"{self.slug}.{self.module}.simulate"

    @property
    def file(self) -> str:
        """Return the file path of a partial result of a simulation loop, in which the wildcard {shard} stands for the
        number of the part.
        """
        return f"results/{self.slug}/simulated/{self.module}_{{shard}}_of_{self.pieces}.csv"

    @property
    def files(self) -> list[str]:
        """Return the file paths of all parts of a simulation loop, ordered by the number of the part."""
        return [self.file.format(shard=shard) for shard in range(1, self.pieces + 1)]


def table_rule(paper: Paper, artefact: Artefact) -> str:
    """Return the name of the rule that computes the table of an artefact."""
    return f"{paper.slug}_{artefact.name}_table"


def figure_rule(paper: Paper, artefact: Artefact) -> str:
    """Return the name of the rule that plots the figure of an artefact."""
    return f"{paper.slug}_{artefact.name}_figure"


def table_file(paper: Paper, name: str) -> str:
    """Return the path of the table with the given name."""
    return f"results/{paper.slug}/{name}.csv"


def figure_file(paper: Paper, name: str, end: str = "png") -> str:
    """Return the path of the figure with the given name."""
    return f"figures/{paper.slug}/{name}.{end}"


def loops(paper: Paper, section: Mapping[str, Any] | None = None, shards: int | str = "auto") -> list[Loop]:
    """Return all simulation loops of a paper, with the expected computing time and the number of parts of each loop.

    Parameters
    ----------
    paper : a paper, as returned by `paper.discover`.
    section : settings of the paper; None: the default settings.
    shards : number of parts of each loop of at least `LONG` minutes. With ``auto``, the number depends only on the
        expected minutes, so that results remain valid on a machine with a different number of cores.
    """
    declared: dict[tuple[str, str], float] = {}
    for _, table in tables(paper):
        if table.by == "summarise":
            key = (table.module, table.settings)
            declared[key] = max(declared.get(key, 0.0), table.loop_minutes)
    all_loops = []
    for (module, settings), minutes in declared.items():
        expected = minutes * _relative_length(paper, settings, section)
        pieces = 1
        if max(minutes, expected) >= LONG:
            pieces = min(MOST_PIECES, max(1, ceil(expected / PIECE))) if shards == "auto" else int(shards)
        all_loops.append(Loop(paper.slug, module, settings, expected, pieces))
    return all_loops


def _relative_length(paper: Paper, settings: str, section: Mapping[str, Any] | None) -> float:
    """Return the number of replications in `section`, divided by the default number."""
    properties = (paper.settings.get("sections") or {}).get(settings, {}).get("properties", {})
    default = properties.get("replications", {}).get("default")
    asked = (section or {}).get(settings, {}).get("replications", default)
    return asked / default if default else 1.0


def tables(paper: Paper) -> list[tuple[Artefact, Table]]:
    """Return the artefacts of a paper for which there is a table, each together with its table."""
    return [(artefact, artefact.table) for artefact in paper.artefacts if artefact.table]


def modules(paper: Paper) -> list[str]:
    """Return the full names of the modules that the jobs of a paper import."""
    functions = [table.function for _, table in tables(paper)]
    functions += [artefact.figure.function for artefact in paper.artefacts if artefact.figure]
    functions += [*paper.rules.values(), "agreement.ours"]
    return sorted({f"{paper.package}.{function.partition('.')[0]}" for function in functions})


def inputs(paper: Paper, table: Table, section: Mapping[str, Any], of_paper: Iterable[Loop]) -> dict[str, str]:
    """Return the tables from which a table is computed, as a mapping from names to files. The mapping has the order in
    which the tables are stacked.

    Parameters
    ----------
    paper, table : the paper and one of its tables.
    section : the paper's settings. With ``by: gather``, an input ``<folder>/<setting>`` represents one file
        ``results/<paper>/<folder>/<name>.csv`` for each name that the setting lists.
    of_paper : all loops of the paper, from `loops`.
    """
    if table.by == "summarise":
        (loop,) = (loop for loop in of_paper if (loop.module, loop.settings) == (table.module, table.settings))
        return {file: file for file in loop.files}
    if table.by == "gather":
        parts = [name.split("/") for name in table.inputs]
        files = [table_file(paper, f"{folder}/{name}") for folder, setting in parts for name in section[setting]]
        return {file: file for file in files}
    printed = {"published": str(paper.folder / PRINTED)}
    return {name: printed.get(name, table_file(paper, name)) for name in table.inputs}


def printed(paper: Paper, module: str) -> list[str]:
    """Return a list that contains the file of the paper's printed statements if the plotting code of a module reads
    this file, and an empty list otherwise.
    """
    reached = dependencies.of_job(f"{paper.package}.{module}")
    module_files = [path for path in reached if path.suffix == ".py" and path.is_relative_to(paper.folder)]
    read = any(f'"{PRINTED}"' in path.read_text(encoding="utf-8") for path in module_files)
    return [str(paper.folder / PRINTED)] if read else []


def groups(paper: Paper) -> dict[str, str]:
    """Return a mapping from the name of each table that is quick to compute to the name of its job group. The tables of
    a group are submitted to the cluster together.

    A quick table takes less than `LONG` minutes, and is neither a timing nor gathered. ``tables`` contains the quick
    tables whose inputs are all in the same group. ``summaries`` contains the quick tables that read a slow table which
    has not read a summary, so that no group waits for itself. Slow tables do not belong to a group.
    """
    by_name = {artefact.name: table for artefact, table in tables(paper)}
    slow_loops = {(loop.module, loop.settings) for loop in loops(paper) if loop.minutes >= LONG}
    group_of: dict[str, str] = {}
    after_summary: set[str] = set()  # slow tables that have read a summary, directly or indirectly
    for name in _in_order(by_name):
        table = by_name[name]
        read = [other for other in table.inputs if other in by_name]
        slow_loop = table.by == "summarise" and (table.module, table.settings) in slow_loops
        if table.by not in ("compute", "summarise") or table.minutes >= LONG or after_summary.intersection(read):
            if any(group_of.get(other) == "summaries" or other in after_summary for other in read):
                after_summary.add(name)
        elif slow_loop or any(group_of.get(other) != "tables" for other in read):
            group_of[name] = "summaries"
        else:
            group_of[name] = "tables"
    return group_of


def minutes_from_nothing(paper: Paper) -> dict[str, float]:
    """Return a mapping from each table to the expected time, in minutes, for computing the table from scratch on one
    core. The time includes the computation of all inputs of the table.

    The inputs of a gathered table are not counted, because the paper's additional rules make them.
    """
    by_name = {artefact.name: table for artefact, table in tables(paper)}
    by_loop = {(loop.module, loop.settings): loop.minutes for loop in loops(paper)}
    needed: dict[str, set[str]] = {}
    for name in _in_order(by_name):
        read = [other for other in by_name[name].inputs if other in by_name]
        needed[name] = {name}.union(*(needed[other] for other in read))
    minutes = {}
    for name, made_from in needed.items():
        parts = [by_name[other] for other in made_from]
        looped = {(table.module, table.settings) for table in parts if table.by == "summarise"}
        minutes[name] = sum(table.minutes for table in parts) + sum(by_loop[key] for key in looped)
    return minutes


def _in_order(by_name: Mapping[str, Table]) -> list[str]:
    """Return the names of tables in an order in which every table comes after the tables that it reads."""
    graph = {name: [other for other in table.inputs if other in by_name] for name, table in by_name.items()}
    return list(TopologicalSorter(graph).static_order())


def refused_targets(
    targets: Iterable[str],
    *,
    rules: Iterable[str],
    files: Iterable[str],
    made: Callable[[str], bool],
    sections: Mapping[str, Iterable[str]],
) -> str:
    """Return an error message with one line per invalid target of a command. The text is empty if every target is a
    rule, an existing file, or a file that a rule makes.

    Parameters
    ----------
    targets : targets of the command line.
    rules : names of all rules.
    files : output files of rules without wildcards.
    made : function that returns whether a rule makes a file.
    sections : mapping from a section of the configuration to the names of its entries.
    """
    known, lines = set(rules), []
    for target in targets:
        if target in known or made(target) or Path(target).exists():
            continue
        near = nearest(target, files if "/" in target else sorted(known - {"all"}))
        section = SECTIONS.get(target.partition("_")[0], "")
        there = list(sections.get(section, ()))
        names = f"; {section} are {', '.join(there[:20]) or 'none'}; add others with --configfile" if section else ""
        lines.append(f"{target!r} is not a target{names}{near}")
    return "\n".join([*lines, "Nothing was run."]) if lines else ""
