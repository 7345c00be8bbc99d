"""What a job says of each table or figure it makes: a line in its log, a row of time and memory, a name in errors."""

import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_BENCHMARKS = Path("results/benchmarks")


@contextmanager
def named(part: Mapping[str, Any], by: str = "") -> Iterator[None]:
    """Whatever goes wrong inside names its artefact; the time inside goes to the log and, with `by`, to a file.

    Parameters
    ----------
    part : its `name`, and `function` below the paper.
    by : how it is made, for the name of the file; none for figures.
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
    if by:
        _benchmark(_BENCHMARKS / f"{slug}_{by}_{name}.tsv", wall, used)


def _cpu() -> float:
    """CPU seconds of this process and of those it waited for."""
    return sum(os.times()[:4])


def _benchmark(path: Path, wall: float, used: float) -> None:
    """One row, named as in Snakemake's own files; memory in MB is the largest of the process so far."""
    clock = f"{int(wall) // 3600}:{int(wall) // 60 % 60:02d}:{int(wall) % 60:02d}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"s\th:m:s\tmax_rss\tcpu_time\n{wall:.4f}\t{clock}\t{memory:.2f}\t{used:.2f}\n")
