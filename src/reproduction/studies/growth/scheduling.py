"""How long a run takes: its jobs on so many cores, each started as soon as there is a core for it."""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil

from ...jobs import artefacts
from ...paper import Paper


@dataclass(frozen=True)
class Step:
    """One job of a run.

    Parameters
    ----------
    seconds : of wall clock.
    needs : names of those that must have ended.
    alone : whether nothing runs beside it.
    priority : the highest is started first among those that can be.
    """

    seconds: float
    needs: frozenset[str] = frozenset()
    alone: bool = False
    priority: float = 0.0


def makespan(steps: Mapping[str, Step], cores: int) -> float:
    """Seconds until all have ended, by list scheduling: whatever can start does, the highest priority first.

    Parameters
    ----------
    steps : by name.
    cores : >= 1, one a job.

    Raises
    ------
    ValueError
        If some wait for each other or for a name that is not there, or `cores` is below 1.
    """
    if cores < 1:
        raise ValueError(f"cores must be at least 1, got {cores}")
    waiting = sorted(steps, key=lambda name: (-steps[name].priority, -steps[name].seconds, name))
    running: list[tuple[float, str]] = []
    ended: set[str] = set()
    now, free = 0.0, cores
    while waiting or running:
        for name in [name for name in waiting if steps[name].needs <= ended]:
            taken = cores if steps[name].alone else 1
            if taken > free:
                break  # what is first waits for cores, nothing overtakes it
            free -= taken
            heapq.heappush(running, (now + steps[name].seconds, name))
            waiting.remove(name)
        if not running:
            raise ValueError(f"these wait for each other or for none of the run: {', '.join(waiting[:3])}")
        now = running[0][0]
        while running and running[0][0] == now:  # all that end together, before anything starts
            _, name = heapq.heappop(running)
            free += cores if steps[name].alone else 1
            ended.add(name)
    return now


def of_papers(papers: Iterable[Paper], *, times: float, piece: float, start_up: float) -> dict[str, Step]:
    """The job graph of a run on a cluster, with the minutes that the papers declare and loops `times` as long.

    Parameters
    ----------
    papers : as `paper.discover` found them.
    times : length of each loop in default lengths; nothing else grows.
    piece : minutes of a piece of a loop at most.
    start_up : seconds of each job before its work.

    Returns
    -------
    dict
        Steps by the names of their rules; timings run on a node of their own, beside all others.
    """
    found: dict[str, Step] = {}
    for paper in papers:
        makers: dict[str, str] = {}
        loops = artefacts.loops(paper)
        for loop in loops:
            minutes, pieces = loop.minutes * times, ceil(max(1.0, loop.minutes * times / piece))
            for shard in range(1, pieces + 1):
                found[f"{loop.rule}.{shard}"] = Step(60 * minutes / pieces + start_up)
            makers |= dict.fromkeys(loop.files, loop.rule)
        for artefact, table in artefacts.tables(paper):
            rule = artefacts.table_rule(paper, artefact)
            found[rule] = Step(60 * table.minutes + start_up)
            makers[artefacts.table_file(paper, artefact.name)] = rule
        for artefact, table in artefacts.tables(paper):
            rule = artefacts.table_rule(paper, artefact)
            gathered = table.by == "gather"  # the data sets' own jobs are not simulated
            read = {} if gathered else artefacts.inputs(paper, table, {}, loops)
            found[rule] = replace(found[rule], needs=_ready(found, makers, read.values()))
        for artefact in paper.artefacts:
            if artefact.figure:
                needs = _ready(found, makers, [artefacts.table_file(paper, artefact.name)])
                step = Step(60 * artefact.figure.minutes + start_up, needs)
                found[artefacts.figure_rule(paper, artefact)] = step
    return found


def _ready(found: Mapping[str, Step], makers: Mapping[str, str], files: Iterable[str]) -> frozenset[str]:
    """Steps that make these files; what no job makes is there."""
    rules = {makers[file] for file in files if file in makers}
    return frozenset(name for name in found if name in rules or name.rpartition(".")[0] in rules)
