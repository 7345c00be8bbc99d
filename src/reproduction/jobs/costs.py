"""Record the computing costs of the jobs of a run, with one row per job. The command
``python -m reproduction.jobs.costs`` sums the rows of the last run in the current folder.

A row has the columns of Snakemake's ``benchmark:``. This directive would measure only the client that waits for the
job, because jobs are forks of a process that has loaded all modules (`forks`).
"""

import atexit
import csv
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BENCHMARKS = Path("results/benchmarks")
_RUN = "snakemake.tsv"


@contextmanager
def of_job(snakemake: Any, function: str, about: str = "") -> Iterator[None]:
    """Log the output of a job, name the job in error messages, and write the computing costs of the job when the
    process ends. Scripts call the function after their imports.

    The row ``results/benchmarks/<rule>.tsv`` contains the wall seconds, peak memory in MB and CPU seconds of this
    process and of its finished child processes; `start_up` is the number of CPU seconds before the work began.

    Parameters
    ----------
    snakemake : object that Snakemake passes to a script.
    function : dotted name of the function that does the work.
    about : the artefact, for the log.
    """
    job = ".".join([snakemake.rule, *map(str, snakemake.wildcards)])
    path = Path(snakemake.log[0]).absolute().parents[1] / "benchmarks" / f"{job.replace(os.sep, '-')}.tsv"
    start_up, begun = _cpu(), time.perf_counter()
    atexit.register(lambda: _write_row(path, time.perf_counter() - begun, _cpu(), start_up))
    print(f"rule {job}: {function} -> {snakemake.output[0]}{f' ({about})' if about else ''}", file=sys.stderr)
    try:
        yield
    except Exception as error:
        error.add_note(f"while rule {job} called {function}")
        print(f"{job}: {type(error).__name__}: {error}", file=sys.__stderr__)
        raise
    print(f"{job}: {time.perf_counter() - begun:.2f} s, {_cpu() - start_up:.2f} s of CPU", file=sys.stderr)


def write_run(started: float, wall: float) -> None:
    """Write the CPU seconds of the current process (Snakemake) and of its child processes at the end of a run.

    Parameters
    ----------
    started : start of the run, in seconds of the clock.
    wall : seconds since the start.
    """
    used = os.times()
    row = {"started": started, "s": wall, "snakemake": used.user + used.system}
    row["jobs"] = used.children_user + used.children_system
    BENCHMARKS.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(row), "\t".join(f"{value:.2f}" for value in row.values())]
    path = BENCHMARKS / _RUN
    path.unlink(missing_ok=True)  # a link in its place is not followed
    path.write_text("\n".join(lines) + "\n")


def clock(folder: Path) -> tuple[float, float]:
    """Return the start time of the last run, in seconds since 1 January 1970, and its duration in wall-clock seconds.

    Parameters
    ----------
    folder : ``results/benchmarks`` of the run.

    Raises
    ------
    FileNotFoundError
        If no run has finished in this folder.
    """
    run = _last_run(folder)
    return run["started"], run["s"]


def cpu_seconds(folder: Path, rule: str) -> float:
    """Return the CPU seconds that a rule with a single job used in an earlier run, or NaN if `folder` has no row for
    this rule.
    """
    path = folder / f"{rule}.tsv"
    return _row(path)["cpu_time"] if path.is_file() else float("nan")


def of_run(folder: Path) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return the CPU time of the last run in seconds, for each rule and in total.

    Parameters
    ----------
    folder : ``results/benchmarks`` of the run.

    Returns
    -------
    rules : mapping from a rule to its number of jobs, and to CPU seconds of work and of start-up.
    total : the same for all rules; `elsewhere`: jobs without rows (kernels, the loaded process) and process shutdown;
        `snakemake`: planning and scheduling; `s`: wall seconds.

    Raises
    ------
    FileNotFoundError
        If no run has finished in this folder.
    """
    run = _last_run(folder)
    rules: dict[str, dict[str, float]] = {}
    for path in sorted(folder.glob("*.tsv")):
        if path.name == _RUN or path.stat().st_mtime < run["started"]:
            continue  # written by an earlier run
        row = _row(path)
        sums = rules.setdefault(path.stem.partition(".")[0], {"jobs": 0, "work": 0.0, "start-up": 0.0})
        sums["jobs"] += 1
        sums["work"] += row["cpu_time"] - row["start_up"]
        sums["start-up"] += row["start_up"]
    total = {column: sum(sums[column] for sums in rules.values()) for column in ("jobs", "work", "start-up")}
    elsewhere = max(0.0, run["jobs"] - total["work"] - total["start-up"])
    return rules, total | {"elsewhere": elsewhere, "snakemake": run["snakemake"], "s": run["s"]}


def text(folder: Path) -> str:
    """Return the costs of the last run as a table for the terminal, with the most expensive rule first. The costs are
    computed by `of_run`.
    """
    rules, total = of_run(folder)
    ordered = sorted(rules.items(), key=lambda item: -item[1]["work"] - item[1]["start-up"])
    lines = [f"{'CPU seconds':44}{'jobs':>6}{'work':>10}{'start-up':>10}"]
    for name, row in [*ordered, ("all rules", total)]:
        lines.append(f"{name:44}{row['jobs']:6.0f}{row['work']:10.2f}{row['start-up']:10.2f}")
    lines += ["", f"{'other jobs, ends of processes':44}{total['elsewhere']:16.2f}"]
    lines += [f"{'Snakemake: planning, scheduling':44}{total['snakemake']:16.2f}"]
    everything = sum(total[part] for part in ("work", "start-up", "elsewhere", "snakemake"))
    return "\n".join([*lines, f"{'total':44}{everything:16.2f}", f"{'wall clock':44}{total['s']:16.2f}"])


def _cpu() -> float:
    """Return the CPU seconds of the current process and its finished child processes."""
    return sum(os.times()[:4])


def _write_row(path: Path, wall: float, used: float, start_up: float) -> None:
    """Write the computing costs of a job as one row, with the column names of Snakemake's benchmark files."""
    clock = f"{int(wall) // 3600}:{int(wall) // 60 % 60:02d}:{int(wall) % 60:02d}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    path.parent.mkdir(parents=True, exist_ok=True)
    row = f"{wall:.4f}\t{clock}\t{memory:.2f}\t{used:.2f}\t{start_up:.2f}"
    path.unlink(missing_ok=True)  # a link in its place is not followed
    path.write_text(f"s\th:m:s\tmax_rss\tcpu_time\tstart_up\n{row}\n")


def _last_run(folder: Path) -> dict[str, float]:
    if not (folder / _RUN).is_file():
        raise FileNotFoundError(
            f"{folder / _RUN} is missing, so no run has finished in this folder: run make reproduce first"
        )
    return _row(folder / _RUN)


def _row(path: Path) -> dict[str, float]:
    with path.open(newline="", encoding="utf-8") as stream:
        row = next(csv.DictReader(stream, delimiter="\t"))
    return {key: float(value) for key, value in row.items() if ":" not in value}


def main() -> None:
    """Print the costs of the last run in a folder, by default in the current folder."""
    try:
        print(text(Path(*sys.argv[1:2]) / BENCHMARKS))
    except FileNotFoundError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
