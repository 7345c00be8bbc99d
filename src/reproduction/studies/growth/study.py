"""How the cost of a run grows: posteriors measured by their sizes, runs simulated by their cores."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import dpmultinomial as dpm
from dpmultinomial._seeding import stream

from ... import paper
from ...style import CYCLE, DOUBLE, GREY, MARKERS, letters, log_scale
from . import scheduling

RUN = "run"  # what the simulated rows are about; the others are posteriors
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
    """Seconds by size.

    Parameters
    ----------
    root_seed : of all streams.
    totals, counts, records, releases : sizes M, S, n and number of releases of the posteriors that are measured.
    repeats : of each; the least counts.
    times : lengths of all loops, in default lengths, of the runs that are simulated.
    cores, start_up, piece : of those, as in `scheduling.of_papers`.

    Returns
    -------
    DataFrame
        `COLUMNS`: ``M``, ``S``, ``n``, ``releases`` with CPU seconds of this machine (cores 1), then `RUN`, whose
        size is in `times` and whose seconds are of wall clock, simulated.
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
        steps = scheduling.of_papers(papers, times=factor, piece=piece, start_up=start_up)
        rows += [(RUN, factor, number, scheduling.makespan(steps, number)) for number in cores]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _used(call: Callable[[np.random.Generator], object], root_seed: int, *names: str | int) -> float:
    rng = stream(root_seed, "studies", "growth", *names)
    start = process_time()
    call(rng)
    return process_time() - start


def _noisy(total: int, size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Counts with Laplace noise at epsilon 1, their total public: every interval."""
    law = dpm.Laplace(scale=2.0)
    truth = rng.multinomial(total, rng.dirichlet(np.ones(size)))
    return dpm.posterior(dpm.Release(law.sample(truth, rng=rng), mechanism=law, total=total)).summary()


def _censored(size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Statistics of a censored sample at epsilon 1."""
    law = dpm.CensoredStatistics.calibrated(1.0, n=size, lower=-2.0, upper=2.0, sums=True)
    noisy = law.sample(rng.standard_normal(size), rng=rng)
    return dpm.posterior(dpm.Release(noisy, mechanism=law, total=size), rng=rng).summary()


def figure(table: pd.DataFrame) -> Figure:
    """Growth of the posteriors, and hours of runs by cores."""
    made = Figure(figsize=(DOUBLE, 2.8))
    left, right = made.subplots(1, 2)
    looks = list(zip(CYCLE, MARKERS, strict=True))
    measured = table[table["what"] != RUN]
    for (colour, marker), (what, own) in zip(looks, measured.groupby("what", sort=False), strict=False):
        least = own.iloc[0]
        label = f"{what}, from {least['size']:g}: {least['seconds']:.2g} s"
        look: Mapping[str, Any] = {"color": colour, "marker": marker, "label": label}
        left.plot(own["size"] / least["size"], own["seconds"] / least["seconds"], **look)
    log_scale(left, "x", at=[1, 2, 4, 8, 16])
    log_scale(left, "y")
    left.set(xlabel="size, in proportion", ylabel="CPU seconds, in proportion")
    left.legend()
    runs = table[table["what"] == RUN]
    for (colour, marker), (size, own) in zip(looks, runs.groupby("size", sort=False), strict=False):
        right.plot(own["cores"], own["seconds"] / 3600, color=colour, marker=marker, label=f"loops times {size:g}")
        right.plot(own["cores"], own["seconds"].iloc[0] * own["cores"].iloc[0] / own["cores"] / 3600, "--", color=GREY)
    log_scale(right, "x", at=sorted(runs["cores"].unique()))
    log_scale(right, "y")
    right.set(xlabel="cores", ylabel="hours, simulated")
    right.legend()
    letters([left, right])
    return made
