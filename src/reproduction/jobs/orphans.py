"""Jobs that a killed run left running, here or in Slurm's queue: found by their folder, ended before the next run.

They would go on writing the files that the next run makes again. Only jobs of this user, started in this very folder by
Snakemake, are touched.
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

_NAME = re.compile(r"(.*_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # the executor's name of a run
_PATIENCE, _GENTLE = 60.0, 5.0  # seconds until it is given up, and until a process is ended the hard way
_SCRIPTS = (".snakemake/scripts/", "reproduction.jobs.fork_server")  # what a job of this machine has in its command
_OPTIONS = ("--executor", "--profile", "--workflow-profile")


def controller() -> int | None:
    """Id of a Snakemake that runs in this folder, however it was started; jobs that a cluster runs here are none."""
    for process, words in _here():
        names = {Path(word).name for word in words[:3]} | {Path(word).parent.name for word in words[:3]}
        if "snakemake" in names and "--mode" not in words and process.pid != os.getpid():
            return process.pid
    return None


def ended() -> list[int]:
    """Ids of the processes that ran a script of Snakemake's in this folder for a run that is dead; they were ended."""
    found = [process for process, words in _here() if any(name in word for name in _SCRIPTS for word in words)]
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(found, timeout=_GENTLE)[1]:
        process.kill()
    if found:
        print(f"Ended {len(found)} processes that a killed run had left here.", file=sys.stderr)
    return [process.pid for process in found]


def cancelled(arguments: Sequence[str]) -> list[str]:
    """Ids of the jobs that were cancelled; none where the arguments start no run on a cluster.

    Parameters
    ----------
    arguments : of snakemake.

    Raises
    ------
    TimeoutError
        If Slurm still runs them after a minute; a run beside them would make the same files twice.
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
    """Ids of this user's unfinished jobs that Snakemake's executor submitted from `folder`."""
    command = ["squeue", "--me", "--noheader", "--states=PD,R,CF,CG,S", "--format=%i|%j|%k|%Z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = []
    for line in listed.splitlines():
        job, name, comment, place = (*line.split("|", 3), "", "", "")[:4]
        if _NAME.fullmatch(name) and comment.startswith("rule_") and Path(place) == folder:
            found.append(job)
    return found


def _here() -> Iterator[tuple[psutil.Process, list[str]]]:
    """This user's processes whose working directory is ours, with their commands."""
    here = str(Path.cwd())
    for process in psutil.process_iter():
        try:
            if process.uids().real == os.getuid() and process.cwd() == here:
                yield process, process.cmdline()
        except psutil.Error:  # gone, or not ours to look at
            continue


def _gone(jobs: list[str]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while left := sorted(set(jobs) & set(of_folder(Path.cwd()))):
        if time.monotonic() > deadline:
            raise TimeoutError(f"jobs {', '.join(left)} of a killed run do not end; scancel them")
        time.sleep(0.5)
    print(f"Cancelled {len(jobs)} jobs that a killed run had left in the queue: {', '.join(jobs)}", file=sys.stderr)
