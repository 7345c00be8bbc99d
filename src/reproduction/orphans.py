"""Jobs that a killed run left in Slurm's queue: found by their working directory, cancelled before the next run starts.

They would go on writing the files that the next run makes again. Only jobs of this user, submitted from this very
folder by Snakemake's executor, are touched.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_NAME = re.compile(r"(.*_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # the executor's name of a run
_PATIENCE = 60.0  # seconds
_OPTIONS = ("--executor", "--profile", "--workflow-profile")


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


def _gone(jobs: list[str]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while left := sorted(set(jobs) & set(of_folder(Path.cwd()))):
        if time.monotonic() > deadline:
            raise TimeoutError(f"jobs {', '.join(left)} of a killed run do not end; scancel them")
        time.sleep(0.5)
    print(f"Cancelled {len(jobs)} jobs that a killed run had left in the queue: {', '.join(jobs)}", file=sys.stderr)
