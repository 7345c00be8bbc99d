"""Find jobs that a killed run left running, on the current machine or in the Slurm queue, and end them before the next
run.

They would otherwise overwrite files of the next run. Only jobs of this user that Snakemake started in this folder are
ended.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

_NAME = re.compile(r"(.*_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # the executor's name for a run
_PATIENCE, _GENTLE = 60.0, 5.0  # seconds before giving up on Slurm, and before killing a process
_SCRIPTS = (
    ".snakemake/scripts/",
    "reproduction.jobs.fork_server",
)  # part of the command line of every job on this machine
_OPTIONS = ("--executor", "--profile", "--workflow-profile")


def controller() -> int | None:
    """Return the process id of a Snakemake that runs in the current folder; processes of jobs on a cluster are not
    counted.
    """
    for process, words in _here():
        names = {Path(word).name for word in words[:3]} | {Path(word).parent.name for word in words[:3]}
        if "snakemake" in names and "--mode" not in words and process.pid != os.getpid():
            return process.pid
    return None


def ended() -> list[int]:
    """End the processes that run scripts of a dead run in the current folder, and return their ids."""
    found = [process for process, words in _here() if any(name in word for name in _SCRIPTS for word in words)]
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(found, timeout=_GENTLE)[1]:
        process.kill()
    if found:
        print(f"Ended {len(found)} processes left by a killed run.", file=sys.stderr)
    return [process.pid for process in found]


def cancelled(arguments: Sequence[str]) -> list[str]:
    """Cancel the jobs of a killed run in the Slurm queue and return their ids; empty if the arguments do not start a
    run on a cluster.

    Parameters
    ----------
    arguments : arguments of snakemake.

    Raises
    ------
    TimeoutError
        If Slurm still runs them after a minute; a new run would then make the same files at the same time.
    """
    asked = any(word.partition("=")[0] in _OPTIONS for word in arguments)
    dry = any(word in ("-n", "--dry-run", "--dryrun") for word in arguments)
    if not asked or dry or not shutil.which("squeue"):
        return []
    if found := of_folder(Path.cwd()):
        subprocess.run(["scancel", *found], check=False)
        _gone(found)
    return found


def of_folder(folder: Path) -> list[str]:
    """Return the ids of the user's unfinished jobs that Snakemake's executor submitted from `folder`."""
    command = ["squeue", "--me", "--noheader", "--states=PD,R,CF,CG,S", "--format=%i|%j|%k|%Z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = []
    for line in listed.splitlines():
        job, name, comment, place = (*line.split("|", 3), "", "", "")[:4]
        if _NAME.fullmatch(name) and comment.startswith("rule_") and Path(place) == folder:
            found.append(job)
    return found


def _here() -> Iterator[tuple[psutil.Process, list[str]]]:
    """Return the user's processes whose working directory is the current one, with their command lines."""
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
            raise TimeoutError(f"jobs {', '.join(left)} of a killed run have not ended; cancel them with scancel")
        time.sleep(0.5)
    print(f"Cancelled {len(jobs)} queued jobs of a killed run: {', '.join(jobs)}", file=sys.stderr)
