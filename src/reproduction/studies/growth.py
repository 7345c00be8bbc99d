"""Measure how the computing time of a posterior grows with the problem size. In addition, simulate the duration of runs
as a function of the number of cores.

A simulated run starts each job as soon as a core is free (`makespan`).
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import dpmultinomial as dpm
from dpmultinomial._seeding import stream

from .. import paper
from ..jobs import artefacts
from ..paper import Paper
from ..style import CYCLE, DOUBLE, GREY, MARKERS, letters, log_scale

RUN = "run"  # value of the column `subject` in the rows of simulated runs; the other rows are about posteriors
COLUMNS = ("what", "size", "cores", "seconds")


def table(
    root_seed: int,
    *,
    totals: Sequence[int],
    counts: Sequence[int],
    records: Sequence[int],
    releases: Sequence[int],
    repeats: int,
    times: Sequence[float],
    cores: Sequence[int],
    start_up: float,
    piece: float,
) -> pd.DataFrame:
    """Return a table with measured computing times of posteriors by problem size, and simulated durations of runs, in
    seconds.

    Parameters
    ----------
    root_seed : root seed of all streams.
    totals, counts, records, releases : sizes M, S, n and number of releases of the posteriors that are measured.
    repeats : number of repetitions of each measurement; the shortest time is reported.
    times : lengths of all loops in the simulated runs, in units of the default lengths.
    cores, start_up, piece : arguments of `of_papers` for the simulated runs.

    Returns
    -------
    DataFrame
        The columns are `COLUMNS`. The subjects ``M``, ``S``, ``n`` and ``releases`` have the CPU seconds on this
        machine (with 1 core). The size of the subject `RUN` is in units of `times`, and its seconds are simulated
        wall-clock seconds.
    """
    sizes: dict[str, tuple[Sequence[int], Callable[[int, np.random.Generator], object]]] = {
        "M": (totals, lambda size, rng: _noisy(size, 3, rng)),
        "S": (counts, lambda size, rng: _noisy(200, size, rng)),
        "n": (records, _censored),
        "releases": (releases, lambda size, rng: [_noisy(100, 3, rng) for _ in range(size)]),
    }
    rows: list[tuple[str, float, int, float]] = []
    for what, (grid, call) in sizes.items():
        for size in grid:
            used = [_used(partial(call, size), root_seed, what, size, repeat) for repeat in range(repeats)]
            rows.append((what, size, 1, min(used)))
    papers = paper.discover().values()
    for factor in times:
        steps = of_papers(papers, times=factor, piece=piece, start_up=start_up)
        rows += [(RUN, factor, number, makespan(steps, number)) for number in cores]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _used(call: Callable[[np.random.Generator], object], root_seed: int, *names: str | int) -> float:
    rng = stream(root_seed, "studies", "growth", *names)
    start = process_time()
    call(rng)
    return process_time() - start


def _noisy(total: int, size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return a summary of the posterior for simulated counts with a public total and Laplace noise (epsilon = 1). The
    summary includes all intervals.
    """
    law = dpm.Laplace(scale=2.0)
    truth = rng.multinomial(total, rng.dirichlet(np.ones(size)))
    return dpm.posterior(dpm.Release(law.sample(truth, rng=rng), mechanism=law, total=total)).summary()


def _censored(size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return a posterior summary for noisy statistics of a simulated censored sample, where the noise has epsilon
    = 1.
    """
    law = dpm.CensoredStatistics.calibrated(1.0, n=size, lower=-2.0, upper=2.0, sums=True)
    noisy = law.sample(rng.standard_normal(size), rng=rng)
    return dpm.posterior(dpm.Release(noisy, mechanism=law, total=size), rng=rng).summary()


def figure(table: pd.DataFrame) -> Figure:
    """Plot the computing time of posteriors against the problem size, and the duration of runs in hours against the
    number of cores.
    """
    figure_drawn = Figure(figsize=(DOUBLE, 2.8))
    left, right = figure_drawn.subplots(1, 2)
    looks = list(zip(CYCLE, MARKERS, strict=True))
    measured = table[table["what"] != RUN]
    for (colour, marker), (what, size_rows) in zip(looks, measured.groupby("what", sort=False), strict=False):
        least = size_rows.iloc[0]
        label = f"{what}, from {least['size']:g}: {least['seconds']:.2g} s"
        look: Mapping[str, Any] = {"color": colour, "marker": marker, "label": label}
        left.plot(size_rows["size"] / least["size"], size_rows["seconds"] / least["seconds"], **look)
    log_scale(left, "x", at=[1, 2, 4, 8, 16])
    log_scale(left, "y")
    left.set(xlabel="relative size", ylabel="relative CPU seconds")
    left.legend()
    runs = table[table["what"] == RUN]
    for (colour, marker), (size, size_rows) in zip(looks, runs.groupby("size", sort=False), strict=False):
        right.plot(
            size_rows["cores"],
            size_rows["seconds"] / 3600,
            color=colour,
            marker=marker,
            label=f"loops {size:g} times as long",
        )
        right.plot(
            size_rows["cores"],
            size_rows["seconds"].iloc[0] * size_rows["cores"].iloc[0] / size_rows["cores"] / 3600,
            "--",
            color=GREY,
        )
    log_scale(right, "x", at=sorted(runs["cores"].unique()))
    log_scale(right, "y")
    right.set(xlabel="cores", ylabel="hours (simulated)")
    right.legend()
    letters([left, right])
    return figure_drawn


@dataclass(frozen=True)
class Step:
    """Job of a run, as a node of the graph of jobs.

    Parameters
    ----------
    seconds : wall-clock seconds.
    needs : names of jobs that must end first.
    alone : whether no other job may run at the same time.
    priority : among the jobs that can start, the highest priority starts first.
    """

    seconds: float
    needs: frozenset[str] = frozenset()
    alone: bool = False
    priority: float = 0.0


def makespan(steps: Mapping[str, Step], cores: int) -> float:
    """Return the simulated duration of a run, which is the time in seconds until all jobs have ended. Under list
    scheduling, each job starts as soon as possible, in the order of priority.

    Parameters
    ----------
    steps : dictionary of the jobs by name.
    cores : number of cores, >= 1; each job uses one core.

    Raises
    ------
    ValueError
        If some jobs wait for each other or for an unknown job, or `cores` is below 1.
    """
    if cores < 1:
        raise ValueError(f"cores must be >= 1, got {cores}")
    waiting = sorted(steps, key=lambda name: (-steps[name].priority, -steps[name].seconds, name))
    running: list[tuple[float, str]] = []
    ended: set[str] = set()
    now, free = 0.0, cores
    while waiting or running:
        for name in [name for name in waiting if steps[name].needs <= ended]:
            taken = cores if steps[name].alone else 1
            if taken > free:
                break  # the first waiting job has reserved the cores, so no other job may start before it
            free -= taken
            heapq.heappush(running, (now + steps[name].seconds, name))
            waiting.remove(name)
        if not running:
            raise ValueError(
                f"jobs must depend only on jobs that end earlier, got later jobs as inputs of "
                f"{', '.join(waiting[:3])}: correct these inputs"
            )
        now = running[0][0]
        # all jobs that end at the same time are completed before the next job starts
        while running and running[0][0] == now:
            _, name = heapq.heappop(running)
            free += cores if steps[name].alone else 1
            ended.add(name)
    return now


def of_papers(papers: Iterable[Paper], *, times: float, piece: float, start_up: float) -> dict[str, Step]:
    """Return the graph of the jobs of a run on a cluster. The jobs take the minutes that the papers declare, except
    that loops are `times` as long.

    Parameters
    ----------
    papers : papers found by `paper.discover`.
    times : length of each loop in units of its default length; no other job becomes longer.
    piece : maximum number of minutes for one part of a loop.
    start_up : number of seconds before each job begins its work.

    Returns
    -------
    dict
        Steps by the names of their rules. Timings are assumed to run on separate nodes.
    """
    steps: dict[str, Step] = {}
    for folder in papers:
        makers: dict[str, str] = {}
        loops = artefacts.loops(folder)
        for loop in loops:
            minutes, pieces = loop.minutes * times, ceil(max(1.0, loop.minutes * times / piece))
            for shard in range(1, pieces + 1):
                steps[f"{loop.rule}.{shard}"] = Step(60 * minutes / pieces + start_up)
            makers |= dict.fromkeys(loop.files, loop.rule)
        for artefact, table in artefacts.tables(folder):
            rule = artefacts.table_rule(folder, artefact)
            steps[rule] = Step(60 * table.minutes + start_up)
            makers[artefacts.table_file(folder, artefact.name)] = rule
        for artefact, table in artefacts.tables(folder):
            rule = artefacts.table_rule(folder, artefact)
            gathered = table.by == "gather"  # the jobs that prepare data sets are not simulated
            read = {} if gathered else artefacts.inputs(folder, table, {}, loops)
            steps[rule] = replace(steps[rule], needs=_ready(steps, makers, read.values()))
        for artefact in folder.artefacts:
            if artefact.figure:
                needs = _ready(steps, makers, [artefacts.table_file(folder, artefact.name)])
                step = Step(60 * artefact.figure.minutes + start_up, needs)
                steps[artefacts.figure_rule(folder, artefact)] = step
    return steps


def _ready(found: Mapping[str, Step], makers: Mapping[str, str], files: Iterable[str]) -> frozenset[str]:
    """Return the names of the jobs that compute the given files. A file that no job makes is assumed to exist."""
    rules = {makers[file] for file in files if file in makers}
    return frozenset(name for name in found if name in rules or name.rpartition(".")[0] in rules)
