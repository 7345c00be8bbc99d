"""Which tables are made by one job, and which figures drawn by one: starting a process takes longer than most of them.

Every table and figure keeps its own file, stream, log line, provenance and benchmark; a job is only the process that
they share. What belongs together follows from paper.yaml: functions of one module share a job, long ones have one of
their own, `job` says otherwise. Figures whose tables are had in seconds are drawn together, apart from all tables.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from math import ceil
from typing import Any

from ..paper import Artefact, Paper, PaperError
from . import dependencies

LONG = 0.2  # minutes from which a table or a loop has a job of its own
QUICK = 0.5  # minutes of one core within which a figure's tables are had
PIECE = 0.4  # minutes of a piece of a long loop, where nothing else is asked for
MOST_PIECES = 4
PRINTED = "published.tsv"  # the printed statements of a paper
_ALONE, _ELSEWHERE = "measure", "gather"


@dataclass(frozen=True)
class Loop:
    """The simulation that the tables of one module summarise: in their own job, or cut in pieces with a job each."""

    slug: str
    module: str
    settings: str
    minutes: float
    pieces: int

    @property
    def rule(self) -> str:
        """Name of the rule of its pieces."""
        return f"{self.slug}_simulate_{self.module}"

    @property
    def file(self) -> str:
        """File of a piece, by its number {shard}."""
        return f"results/{self.slug}/simulated/{self.module}_{{shard}}_of_{max(1, self.pieces)}.csv"

    @property
    def files(self) -> list[str]:
        """All pieces in their order."""
        return [self.file.format(shard=shard) for shard in range(1, max(1, self.pieces) + 1)]


@dataclass(frozen=True)
class Tables:
    """Tables made one after the other by one process, with the short loops they are the first to need."""

    slug: str
    name: str
    by: str
    artefacts: tuple[Artefact, ...]
    loops: tuple[Loop, ...]
    reads: tuple[str, ...]

    @property
    def rule(self) -> str:
        """Name of its rule."""
        return f"{self.slug}_{self.by}_{self.name}"

    @property
    def modules(self) -> list[str]:
        """Modules of its functions, below the paper's folder."""
        return sorted({a.table.module for a in self.artefacts if a.table})

    @property
    def minutes(self) -> float:
        """Expected minutes on one core."""
        return sum(a.table.minutes for a in self.artefacts if a.table) + sum(loop.minutes for loop in self.loops)

    @property
    def mem_mb(self) -> int:
        """Memory of the largest."""
        return max(a.table.mem_mb for a in self.artefacts if a.table)


@dataclass(frozen=True)
class Figures:
    """Figures drawn one after the other by one process."""

    slug: str
    name: str
    artefacts: tuple[Artefact, ...]

    @property
    def rule(self) -> str:
        """Name of its rule."""
        return f"{self.slug}_draw_{self.name}"

    @property
    def modules(self) -> list[str]:
        """Modules of its functions, below the paper's folder."""
        return sorted({a.figure.function.partition(".")[0] for a in self.artefacts if a.figure})

    @property
    def minutes(self) -> float:
        """Expected minutes on one core."""
        return sum(a.figure.minutes for a in self.artefacts if a.figure)

    @property
    def mem_mb(self) -> int:
        """Memory of the largest."""
        return max(a.figure.mem_mb for a in self.artefacts if a.figure)


def table_job(artefact: Artefact) -> str:
    """Name of the job that makes a table."""
    table = artefact.table
    assert table is not None
    if table.job:
        return table.job
    together = {_ALONE: "timings", _ELSEWHERE: "sets"}.get(table.by, table.module)
    return artefact.name if table.minutes >= LONG and table.by not in (_ALONE, _ELSEWHERE) else together


def loops(paper: Paper, section: Mapping[str, Any] | None = None, shards: int | str = "auto") -> list[Loop]:
    """Every loop of a paper.

    Parameters
    ----------
    paper : as `paper.discover` found it.
    section : the paper's settings; by default the defaults.
    shards : jobs for each long loop; ``auto`` goes by its expected minutes, so that results of an earlier run are not
        cut anew on a machine with other cores.
    """
    declared: dict[tuple[str, str], float] = {}
    for artefact in paper.artefacts:
        if (table := artefact.table) and table.by == "summarise":
            key = (table.module, table.settings)
            declared[key] = max(declared.get(key, 0.0), table.loop_minutes)
    found = []
    for (module, settings), minutes in declared.items():
        expected = minutes * _scale(paper, settings, section)
        own_job = max(minutes, expected) >= LONG
        pieces = min(MOST_PIECES, max(1, ceil(expected / PIECE))) if shards == "auto" else int(shards)
        found.append(Loop(paper.slug, module, settings, expected, pieces if own_job else 0))
    return found


def _scale(paper: Paper, settings: str, section: Mapping[str, Any] | None) -> float:
    """Replications asked for, in proportion to the default's."""
    properties = (paper.settings.get("sections") or {}).get(settings, {}).get("properties", {})
    default = properties.get("replications", {}).get("default")
    asked = (section or {}).get(settings, {}).get("replications", default)
    return asked / default if default else 1.0


def tables(paper: Paper, section: Mapping[str, Any] | None = None, shards: int | str = "auto") -> list[Tables]:
    """The jobs that make a paper's tables; arguments as for `loops`.

    Raises
    ------
    PaperError
        Where timings share a job with other tables, or two jobs wait for each other.
    """
    by_loop = {(loop.module, loop.settings): loop for loop in loops(paper, section, shards)}
    groups = _groups(paper)
    _refuse_circles(paper, groups)
    taken: set[Loop] = set()
    found = []
    for name, group in groups.items():
        used = [by_loop[a.table.module, a.table.settings] for a in group if a.table and a.table.by == "summarise"]
        own = tuple(loop for loop in dict.fromkeys(used) if not loop.pieces and loop not in taken)
        taken.update(own)
        made = {f"results/{paper.slug}/{a.name}.csv" for a in group}.union(*(loop.files for loop in own))
        read = dict.fromkeys(file for a in group for file in sources(paper, a, by_loop).values())
        reads = tuple(file for file in read if file not in made)
        found.append(Tables(paper.slug, name, _kind(paper, name, group), tuple(_in_order(group)), own, reads))
    return found


def sources(paper: Paper, artefact: Artefact, by_loop: Mapping[tuple[str, str], Loop]) -> dict[str, str]:
    """Tables that a table is made from, by name: pieces of its loop, or what its `inputs` name."""
    table = artefact.table
    assert table is not None
    if table.by == "summarise":
        return {file: file for file in by_loop[table.module, table.settings].files}
    if table.by == _ELSEWHERE:
        return {}
    given = {"published": str(paper.folder / PRINTED)}
    return {name: given.get(name, f"results/{paper.slug}/{name}.csv") for name in table.inputs}


def figures(paper: Paper) -> list[Figures]:
    """The jobs that draw a paper's figures."""
    had = reach(paper)
    groups: dict[str, list[Artefact]] = {}
    for artefact in paper.artefacts:
        if figure := artefact.figure:
            job = table_job(artefact) if artefact.table else artefact.name
            name = figure.job or ("quick" if had.get(job, float("inf")) <= QUICK else job)
            groups.setdefault(name, []).append(artefact)
    return [Figures(paper.slug, name, tuple(group)) for name, group in groups.items()]


def printed(paper: Paper, modules: Iterable[str]) -> list[str]:
    """The paper's printed statements, where figures read them: what these modules are made of names the file."""
    reached = dependencies.of_job(*(f"{paper.package}.{module}" for module in modules))
    own = [path for path in reached if path.is_relative_to(paper.folder)]
    read = any(f'"{PRINTED}"' in path.read_text(encoding="utf-8") for path in own)
    return [str(paper.folder / PRINTED)] if read else []


def rules(paper: Paper) -> dict[tuple[str, str], str]:
    """(artefact, ``table`` or ``figure``) -> name of the rule that makes it."""
    made = {(a.name, "table"): job.rule for job in tables(paper) for a in job.artefacts}
    return made | {(a.name, "figure"): job.rule for job in figures(paper) for a in job.artefacts}


def _groups(paper: Paper) -> dict[str, list[Artefact]]:
    groups: dict[str, list[Artefact]] = {}
    for artefact in paper.artefacts:
        if artefact.table:
            groups.setdefault(table_job(artefact), []).append(artefact)
    return groups


def _kind(paper: Paper, name: str, group: list[Artefact]) -> str:
    """How a job's tables are made, which must be one way: timings with nothing beside them, others as they come."""
    kinds = {a.table.by if a.table.by in (_ALONE, _ELSEWHERE) else "compute" for a in group if a.table}
    if len(kinds) > 1:
        made = ", ".join(a.name for a in group)
        text = f"job {name}: {' and '.join(sorted(kinds))} cannot share a job; it makes {made}"
        raise PaperError(f"papers/{paper.slug}/paper.yaml: {text}")
    return kinds.pop()


def _needs(groups: Mapping[str, list[Artefact]]) -> dict[str, set[str]]:
    """Job -> the jobs whose tables it reads."""
    makers = {a.name: name for name, group in groups.items() for a in group}
    return {
        name: {makers[i] for a in group if a.table for i in a.table.inputs if i in makers} - {name}
        for name, group in groups.items()
    }


def _refuse_circles(paper: Paper, groups: Mapping[str, list[Artefact]]) -> None:
    try:
        TopologicalSorter(_needs(groups)).prepare()
        for group in groups.values():
            _in_order(group)
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise PaperError(f"papers/{paper.slug}/paper.yaml: these wait for each other: {circle}") from None


def _in_order(group: Iterable[Artefact]) -> list[Artefact]:
    """The tables of a job, each after those of the same job that it reads."""
    by_name = {a.name: a for a in group}
    graph = {a.name: [i for i in a.table.inputs if i in by_name] for a in by_name.values() if a.table}
    return [by_name[name] for name in TopologicalSorter(graph).static_order()]


def reach(paper: Paper) -> dict[str, float]:
    """Job -> expected minutes until its tables are there, with all they are made from; unknown for `gather`."""
    groups = _groups(paper)
    needs = _needs(groups)
    by_loop = {(loop.module, loop.settings): loop.minutes for loop in loops(paper)}
    own = {
        name: sum(a.table.minutes if a.table.by != _ELSEWHERE else float("inf") for a in group if a.table)
        + sum(by_loop.get(key, 0.0) for key in {(a.table.module, a.table.settings) for a in group if a.table})
        for name, group in groups.items()
    }
    found: dict[str, float] = {}
    for name in TopologicalSorter(needs).static_order():
        found[name] = own[name] + sum(found[other] for other in needs[name])
    return found
