"""``python -m reproduction.run [arguments of snakemake]``: what `make` runs.

Before Snakemake starts it reads the configuration files, so that a file Snakemake could not read, or one whose
templates it would run, ends in one clear line. And it takes away the lock of a run that was killed, and its jobs in
Slurm's queue: the same command goes on.
"""

import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from . import orphans, overlays
from .config import ConfigError

_MARK = Path(".snakemake/run.json")  # which process runs here
_LOCKS = Path(".snakemake/locks")


def main(arguments: Sequence[str]) -> None:
    """Check, free a stale lock, become Snakemake."""
    try:
        overlays.merged(configuration_files(arguments))
    except ConfigError as error:
        sys.exit(f"{error}\nNothing was run.")
    if found := owner() or orphans.controller():
        sys.exit(f"Process {found} is running this workflow here; wait for it, or end it. Nothing was run.")
    if _MARK.is_file() and _LOCKS.is_dir() and json.loads(_MARK.read_text())["host"] == socket.gethostname():
        shutil.rmtree(_LOCKS)  # its process is dead
    orphans.ended()
    try:
        orphans.cancelled(arguments)
    except TimeoutError as error:
        sys.exit(f"{error}. Nothing was run.")
    _MARK.parent.mkdir(exist_ok=True)
    started = psutil.Process().create_time()
    _MARK.write_text(json.dumps({"host": socket.gethostname(), "process": os.getpid(), "started": started}))
    os.execv(sys.executable, [sys.executable, "-m", "snakemake", *arguments])


def configuration_files(arguments: Sequence[str]) -> Iterator[Path]:
    """config.yaml, and what ``--configfile`` names."""
    if Path("config.yaml").exists():
        yield Path("config.yaml")
    named = False
    for word in arguments:
        if word.startswith("-"):
            option, _, value = word.partition("=")
            named = option in ("--configfile", "--configfiles")
            if named and value:
                yield Path(value)
        elif named:
            yield Path(word)


def owner() -> int | None:
    """The live process of this machine that runs the workflow in this folder, if there is one."""
    try:
        mark = json.loads(_MARK.read_text())
        process = psutil.Process(mark["process"])
        alive = mark["host"] == socket.gethostname() and abs(process.create_time() - mark["started"]) < 1
    except (OSError, ValueError, KeyError, psutil.Error):
        return None
    return process.pid if alive and process.status() != psutil.STATUS_ZOMBIE else None


if __name__ == "__main__":
    main(sys.argv[1:])
