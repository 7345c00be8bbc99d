"""Run the workflow with the command ``python -m reproduction.run [arguments of snakemake]``, which the targets of
`make` call.

Before Snakemake starts, all configuration files are read with the project's strict reader and checked. Snakemake gets a
single merged file of plain JSON, so that templates in user files are never executed. If an earlier run was killed, its
lock and its jobs in Slurm's queue are removed, so that the same command resumes the run.
"""

import json
import locale
import os
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from dpmultinomial import _printing
from dpmultinomial._files import places

from . import paper
from .config import checks, overlays
from .config.reading import ConfigError
from .jobs import mending

_MARK = Path(".snakemake/run.json")  # states which process runs in this folder
_LOCKS = Path(".snakemake/locks")
_HERE = socket.gethostname()


def main(arguments: Sequence[str]) -> None:
    """Check the configuration, remove the lock of a run that has ended, and replace the current process by
    Snakemake.
    """
    try:
        asked = overlays.taken_apart(arguments)
        papers = paper.discover()
        settings, filled = configuration(asked, papers)
    except (ConfigError, paper.PaperError) as error:
        _printing.stop(f"{error}\nNothing was run.")
    if process := owner() or mending.controller():
        _printing.stop(
            f"Process {process} is running this workflow in this folder; wait for it or stop it. Nothing was run."
        )
    mending.ended()
    try:
        if not _locked() or (
            _MARK.is_file() and _mark().get("host", _HERE) == _HERE
        ):  # otherwise, the lock may belong to a run on another machine
            mending.cancelled(arguments)
            shutil.rmtree(_LOCKS, ignore_errors=True)  # the processes that held these locks have ended
        _MARK.parent.mkdir(exist_ok=True)
        started = psutil.Process().create_time()
        draft = places.draft(_MARK)
        draft.write_text(json.dumps({"host": _HERE, "process": os.getpid(), "started": started}))
        draft.replace(_MARK)
        file = None if settings is None else overlays.write(settings, Path.cwd())
        mending.taken_away(papers, filled, asked.rest) if filled else None
    except TimeoutError as error:
        _printing.stop(f"{error}. Nothing was run.")
    except NotADirectoryError as error:
        _printing.stop(f"{error}. Nothing was run.")
    except OSError as error:
        _printing.stop(f"{_MARK.resolve()} cannot be written ({error.strerror}). Nothing was run.")
    _caches()
    if locale.getencoding().lower().replace("-", "") != "utf8":
        os.environ["PYTHONUTF8"] = "1"  # Snakemake logs the names of all these files
    os.environ["PYTHONSAFEPATH"] = "1"  # no process of the run imports modules from the current folder
    # a profile is a program, so Snakemake must not read the profile profiles/default of the current folder unasked
    words = ["--workflow-profile=none", *asked.with_one(file)]
    os.execv(sys.executable, [sys.executable, "-m", "snakemake", *words])


def configuration(
    asked: overlays.Asked, papers: Mapping[str, paper.Paper]
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the configuration merged from config.yaml and the overlays, once as written and once with default values
    filled in. The first is None if no configuration exists.

    Raises
    ------
    ConfigError, PaperError
        For all mistakes.
    """
    files = [*([overlays.BASE] if overlays.BASE.exists() else []), *asked.overlays]
    if not files:
        return None, {}
    merged = overlays.merged(files, overlays.pairs(asked.pairs))
    return merged, checks.checked(merged, papers)


def _caches() -> None:
    """Set the cache folder to a folder next to the results if the home folder is not writable. This is the case, for
    example, in a container or on a cluster node.
    """
    os.environ.setdefault("USER", str(os.getuid()))  # a user id without a name
    for variable, usual in (("XDG_CACHE_HOME", "~/.cache"), ("MPLCONFIGDIR", "~/.config/matplotlib")):
        place = Path(os.environ.get(variable) or usual).expanduser()
        try:
            place.mkdir(parents=True, exist_ok=True)
            good = os.access(place, os.W_OK | os.X_OK)
        except OSError:
            good = False
        if not good:
            os.environ[variable] = str((_MARK.parent / "cache").absolute())


def owner() -> int | None:
    """Return the process ID of the process that runs the workflow in the current folder, or None if there is no such
    process. Only live processes on the current machine are considered.
    """
    mark = _mark()
    try:
        process = psutil.Process(mark["process"])
        alive = mark["host"] == _HERE and abs(process.create_time() - mark["started"]) < 1
    except (ValueError, TypeError, KeyError, OverflowError, psutil.Error):
        return None
    return process.pid if alive and process.status() != psutil.STATUS_ZOMBIE else None


def _mark() -> dict[str, Any]:
    """Return the record of the process of the last run, or an empty dictionary if no record can be read."""
    try:
        mark = json.loads(_MARK.read_text()) if _MARK.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return mark if isinstance(mark, dict) else {}


def _locked() -> bool:
    return _LOCKS.is_dir() and any(_LOCKS.iterdir())


if __name__ == "__main__":
    main(sys.argv[1:])
