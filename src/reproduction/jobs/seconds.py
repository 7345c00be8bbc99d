"""Where a run's CPU seconds go: ``python -m reproduction.jobs.seconds`` prints those of the last run in this folder.

Every table, loop and figure has a row in ``results/benchmarks``, every job of them one in ``results/benchmarks/jobs``;
Snakemake's own process writes what it and all that it started have used when a run ends.
"""

import csv
import os
import sys
from pathlib import Path

from .job_log import BENCHMARKS as BENCHMARKS

_RUN = "snakemake.tsv"
_PARTS = ("tables", "figures", "other", "start-up")


def written(started: float, wall: float) -> None:
    """Keep what this process, Snakemake's, and all that it started have used; at the end of a run.

    Parameters
    ----------
    started : when the run began, in seconds of the clock.
    wall : seconds since then.
    """
    used = os.times()
    row = {"started": started, "s": wall, "snakemake": used.user + used.system}
    row["jobs"] = used.children_user + used.children_system
    BENCHMARKS.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(row), "\t".join(f"{value:.2f}" for value in row.values())]
    (BENCHMARKS / _RUN).write_text("\n".join(lines) + "\n")


def clock(folder: Path) -> tuple[float, float]:
    """When the last run began, in seconds of the clock, and how many it took.

    Parameters
    ----------
    folder : ``results/benchmarks`` of the run.

    Raises
    ------
    FileNotFoundError
        If no run has ended here.
    """
    run = _ended(folder)
    return run["started"], run["s"]


def of_run(folder: Path) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """CPU seconds of the last run.

    Parameters
    ----------
    folder : ``results/benchmarks`` of the run.

    Returns
    -------
    rules : rule -> number of jobs, and their tables (with loops), figures, other work, start-up.
    whole : the same of all; `elsewhere`: jobs without rows (comparison, summary, kernels) and the end of processes;
        `snakemake`: its own process, which plans and schedules; `s`: wall seconds.

    Raises
    ------
    FileNotFoundError
        If no run has ended here.
    """
    run = _ended(folder)
    rules: dict[str, dict[str, float]] = {}
    for path in sorted((folder / "jobs").glob("*.tsv")):
        if path.stat().st_mtime < run["started"]:
            continue  # of an earlier run
        row = _row(path)
        row["other"] = row["cpu_time"] - row["start_up"] - row["tables"] - row["figures"]
        row["start-up"] = row["start_up"]
        sums = rules.setdefault(path.stem.partition(".")[0], dict.fromkeys(("jobs", *_PARTS), 0.0))
        sums["jobs"] += 1
        for part in _PARTS:
            sums[part] += row[part]
    whole = {column: sum(sums[column] for sums in rules.values()) for column in ("jobs", *_PARTS)}
    inside = sum(whole[part] for part in _PARTS)
    return rules, whole | {"elsewhere": max(0.0, run["jobs"] - inside), "snakemake": run["snakemake"], "s": run["s"]}


def text(folder: Path) -> str:
    """`of_run` as a table for the terminal, the dearest rule first."""
    rules, whole = of_run(folder)
    dear = sorted(rules.items(), key=lambda item: -sum(item[1][part] for part in _PARTS))
    lines = [f"{'CPU seconds':44}{'jobs':>6}" + "".join(f"{part:>10}" for part in _PARTS)]
    for name, row in [*dear, ("all of them", whole)]:
        lines.append(f"{name:44}{row['jobs']:6.0f}" + "".join(f"{row[part]:10.2f}" for part in _PARTS))
    lines += ["", f"{'other jobs, ends of processes':44}{whole['elsewhere']:16.2f}"]
    lines += [f"{'Snakemake: planning, scheduling':44}{whole['snakemake']:16.2f}"]
    total = sum(whole[part] for part in (*_PARTS, "elsewhere", "snakemake"))
    return "\n".join([*lines, f"{'in all':44}{total:16.2f}", f"{'wall clock':44}{whole['s']:16.2f}"])


def _ended(folder: Path) -> dict[str, float]:
    if not (folder / _RUN).is_file():
        raise FileNotFoundError(f"{folder / _RUN} is missing: no run has ended here; make reproduce, then ask again")
    return _row(folder / _RUN)


def _row(path: Path) -> dict[str, float]:
    with path.open(newline="", encoding="utf-8") as stream:
        found = next(csv.DictReader(stream, delimiter="\t"))
    return {key: float(value) for key, value in found.items() if ":" not in value}


def main() -> None:
    """Print the table of the run in a folder, by default this one."""
    try:
        print(text(Path(*sys.argv[1:2]) / BENCHMARKS))
    except FileNotFoundError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
