"""What a job says of each table or figure it makes: a line in its log, a row of time and memory, a name in errors."""

import atexit
import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BENCHMARKS = Path("results/benchmarks")
_spent = {"tables": 0.0, "figures": 0.0}  # CPU seconds of this process's parts


@contextmanager
def named(part: Mapping[str, Any], by: str = "") -> Iterator[None]:
    """Whatever goes wrong inside names its artefact; the time inside goes to the log and, with `by`, to a file.

    Parameters
    ----------
    part : its `name`, and `function` below the paper.
    by : how it is made, for the name of the file; no file where it is empty.
    """
    slug, name = part["function"].partition(".")[0], part["name"]
    wall, used = time.perf_counter(), _cpu()
    try:
        yield
    except Exception as error:
        error.add_note(f"while making {slug} {name} ({part['function']})")
        print(f"{slug} {name}: {type(error).__name__}: {error}", file=sys.__stderr__)
        raise
    wall, used = time.perf_counter() - wall, _cpu() - used
    print(f"{name}: {wall:.2f} s, {used:.2f} s of CPU", file=sys.stderr)
    _spent["figures" if by == "draw" else "tables"] += used
    if by:
        _benchmark(BENCHMARKS / f"{slug}_{by}_{name}.tsv", wall, used)


@contextmanager
def counted(what: str) -> Iterator[None]:
    """CPU seconds inside count as `what`, ``tables`` or ``figures``, in this process's row alone."""
    used = _cpu()
    try:
        yield
    finally:
        _spent[what] += _cpu() - used


def followed(snakemake: Any) -> None:
    """What this process uses until its end: a row of its own, `seconds` reads it. Scripts call it after their imports.

    Columns beside those of a table: `start_up`, CPU seconds until now; `tables` (with loops) and `figures`,
    those of its parts.

    Parameters
    ----------
    snakemake : what Snakemake hands over to a script; several jobs of one rule are told apart by their wildcards.
    """
    name = ".".join([snakemake.rule, *map(str, snakemake.wildcards)]).replace(os.sep, "-")
    atexit.register(_ended, (BENCHMARKS / "jobs" / f"{name}.tsv").absolute(), time.perf_counter(), _cpu())


def _ended(path: Path, begun: float, start_up: float) -> None:
    _benchmark(path, time.perf_counter() - begun, _cpu(), start_up=start_up, **_spent)


def _cpu() -> float:
    """CPU seconds of this process and of those it waited for."""
    return sum(os.times()[:4])


def _benchmark(path: Path, wall: float, used: float, **further: float) -> None:
    """One row, named as in Snakemake's own files; memory in MB is the largest of the process so far."""
    clock = f"{int(wall) // 3600}:{int(wall) // 60 % 60:02d}:{int(wall) % 60:02d}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    path.parent.mkdir(parents=True, exist_ok=True)
    header = "\t".join(["s", "h:m:s", "max_rss", "cpu_time", *further])
    row = "\t".join([f"{wall:.4f}", clock, f"{memory:.2f}", f"{used:.2f}", *(f"{x:.2f}" for x in further.values())])
    path.write_text(f"{header}\n{row}\n")
