"""Prepare a folder for a run by cleaning up after earlier runs. The remaining jobs of a killed run are ended (on the
current machine or in the Slurm queue), and untrusted results are removed. The run then computes these results again.

Jobs that were left running would overwrite files of the next run. Only jobs of this user that were started by Snakemake
in this folder are ended.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from dpmultinomial import _printing

from .. import trust
from ..paper import Paper
from . import artefacts

# Arguments with which Snakemake does not make any file.
_DRY = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-?run")
_LOOKS = re.compile(
    r"-[a-zA-Z]*[tlDShv][a-zA-Z]*|--(touch|unlock|lint|report|summary|detailed-summary|list.*|dag|rulegraph|filegraph|"
    r"d3dag|archive|cleanup-.*|export-cwl|generate-unit-tests|containerize|help|version)(=.*)?"
)
_SHOWN = 20  # number of files that are listed for each run


def taken_away(papers: Mapping[str, Paper], settings: Mapping[str, Any], words: Sequence[str]) -> list[Path]:
    """Remove and report all incomplete, edited or outdated results below the working directory, and all results with
    missing files.

    Snakemake then regenerates the requested files. A part of a long loop is regenerated only if a table still needs
    it.

    Parameters
    ----------
    papers : papers by slug.
    settings : the whole configuration.
    words : arguments of Snakemake. If Snakemake makes no files, nothing is removed. For a dry run, the function reports
        the files that a run would regenerate.

    Returns
    -------
    list of Path
        Files that were removed, or would be removed in a dry run.

    Raises
    ------
    OSError
        If a folder is in the place of a result.
    """
    dry = any(_DRY.fullmatch(word) for word in words)
    if not dry and any(_LOOKS.fullmatch(word) for word in words):
        return []
    wanted = [*expected(papers, settings)]
    if folders := [name for name in wanted if Path(name).is_dir()]:
        raise NotADirectoryError(f"{folders[0]} is a folder, but must be a result file: remove or rename the folder")
    faults = list(trust.untrusted(Path(), wanted, requested(papers, settings)))
    for fault in faults[:_SHOWN]:
        why = _printing.message(fault.why)
        print(f"{why}; it {'would be' if dry else 'is'} removed and regenerated.", file=sys.stderr)
    if len(faults) > _SHOWN:
        print(f"and {len(faults) - _SHOWN} more.", file=sys.stderr)
    files = [path for fault in faults for path in fault.files]
    if not dry:
        for path in files:
            path.unlink(missing_ok=True)
    return files


def requested(papers: Mapping[str, Paper], settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tables, figures and agreement tables that a run without targets computes. The arguments are those of
    `expected`.
    """
    for slug in (slug for slug in papers if slug in settings["run"]):
        yield from (*papers[slug].tables(), *papers[slug].figures(), f"results/{slug}/agreement.csv")


def expected(papers: Mapping[str, Paper], settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the result files of papers and scenarios for which a provenance record is required.

    Parameters
    ----------
    papers : papers by slug.
    settings : the whole configuration, with its defaults.
    """
    for slug, paper in papers.items():
        section = settings[slug]
        yield from (*paper.tables(), *paper.figures(), f"results/{slug}/agreement.csv")
        yield from (file for loop in artefacts.loops(paper, section, settings["shards"]) for file in loop.files)
    for name in settings["scenarios"]:
        yield from (f"results/scenarios/{name}.csv", f"results/scenarios/{name}.json", f"figures/scenarios/{name}.png")


_NAME = re.compile(r"(.*_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # name that the executor gives to a run
_PATIENCE, _GENTLE = 60.0, 5.0  # seconds before giving up on Slurm, and before killing a process
_SCRIPTS = (
    ".snakemake/scripts/",
    "reproduction.jobs.fork_server",
)  # part of the command line of every job on this machine
_OPTIONS = ("--executor", "--profile", "--workflow-profile")


def controller() -> int | None:
    """Return the process ID of a Snakemake process that runs in the current folder, or None if no such process exists.
    Processes of jobs on a cluster are not counted.
    """
    for process, words in _here():
        names = {Path(word).name for word in words[:3]} | {Path(word).parent.name for word in words[:3]}
        if "snakemake" in names and "--mode" not in words and process.pid != os.getpid():
            return process.pid
    return None


def ended() -> list[int]:
    """End the processes that run scripts of a killed run in the current folder, and return their process IDs."""
    processes = [process for process, words in _here() if any(name in word for name in _SCRIPTS for word in words)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(processes, timeout=_GENTLE)[1]:
        process.kill()
    if processes:
        print(f"Ended {len(processes)} processes left by a killed run.", file=sys.stderr)
    return [process.pid for process in processes]


def cancelled(arguments: Sequence[str]) -> list[str]:
    """Cancel the jobs of a killed run in the Slurm queue, and return their job IDs. The list is empty if the arguments
    do not start a run on a cluster.

    Parameters
    ----------
    arguments : arguments of Snakemake.

    Raises
    ------
    TimeoutError
        If Slurm still runs the jobs after a minute; a new run would then write the same files at the same time.
    """
    asked = any(word.partition("=")[0] in _OPTIONS for word in arguments)
    dry = any(word in ("-n", "--dry-run", "--dryrun") for word in arguments)
    if not asked or dry or not shutil.which("squeue"):
        return []
    if job_ids := of_folder(Path.cwd()):
        subprocess.run(["scancel", *job_ids], check=False)
        _gone(job_ids)
    return job_ids


def of_folder(folder: Path) -> list[str]:
    """Return the IDs of the user's unfinished jobs that Snakemake's executor submitted from `folder`."""
    command = ["squeue", "--me", "--noheader", "--states=PD,R,CF,CG,S", "--format=%i|%j|%k|%Z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    job_ids = []
    for line in listed.splitlines():
        job, name, comment, place = (*line.split("|", 3), "", "", "")[:4]
        if _NAME.fullmatch(name) and comment.startswith("rule_") and Path(place) == folder:
            job_ids.append(job)
    return job_ids


def _here() -> Iterator[tuple[psutil.Process, list[str]]]:
    """Yield the user's processes whose working directory is the current folder, with the command lines of the
    processes.
    """
    folder = str(Path.cwd())
    for process in psutil.process_iter():
        try:
            if process.uids().real == os.getuid() and process.cwd() == folder:
                yield process, process.cmdline()
        except psutil.Error:  # ended, or owned by another user
            continue


def _gone(jobs: list[str]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while left := sorted(set(jobs) & set(of_folder(Path.cwd()))):
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"the jobs {', '.join(left)} of a killed run are still running: cancel these jobs with scancel"
            )
        time.sleep(0.5)
    print(f"Cancelled {len(jobs)} queued jobs of a killed run: {', '.join(jobs)}", file=sys.stderr)
