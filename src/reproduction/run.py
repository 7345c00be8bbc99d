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
from typing import Any

import psutil

from .config import overlays
from .config.config import ConfigError
from .jobs import orphans

_MARK = Path(".snakemake/run.json")  # which process runs here
_LOCKS = Path(".snakemake/locks")
_HERE = socket.gethostname()


def main(arguments: Sequence[str]) -> None:
    """Check, free a stale lock, become Snakemake."""
    try:
        overlays.merged(configuration_files(arguments))
    except ConfigError as error:
        sys.exit(f"{error}\nNothing was run.")
    if found := owner() or orphans.controller():
        sys.exit(f"Process {found} is running this workflow here; wait for it, or end it. Nothing was run.")
    orphans.ended()
    try:
        if not _locked() or (_MARK.is_file() and _mark().get("host", _HERE) == _HERE):  # else a run of another machine
            orphans.cancelled(arguments)
            shutil.rmtree(_LOCKS, ignore_errors=True)  # their process is dead
        _MARK.parent.mkdir(exist_ok=True)
        started = psutil.Process().create_time()
        _MARK.write_text(json.dumps({"host": _HERE, "process": os.getpid(), "started": started}))
    except TimeoutError as error:
        sys.exit(f"{error}. Nothing was run.")
    except OSError as error:
        sys.exit(f"{_MARK.resolve()} cannot be written ({error.strerror}). Nothing was run.")
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
    mark = _mark()
    try:
        process = psutil.Process(mark["process"])
        alive = mark["host"] == _HERE and abs(process.create_time() - mark["started"]) < 1
    except (TypeError, KeyError, psutil.Error):
        return None
    return process.pid if alive and process.status() != psutil.STATUS_ZOMBIE else None


def _mark() -> dict[str, Any]:
    """What the last run said of itself; nothing where a full disk kept it from it."""
    try:
        mark = json.loads(_MARK.read_text())
    except (OSError, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}


def _locked() -> bool:
    return _LOCKS.is_dir() and any(_LOCKS.iterdir())


if __name__ == "__main__":
    main(sys.argv[1:])
