"""A run whose Python jobs are forks of one loaded process: each starts in hundredths of a second.

The Snakefile calls `begin` when a run starts and `end` when it has ended. Everything else is as without it: a job has
its own process, streams, environment, memory and exit code, and its script is the one that Snakemake wrote.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from snakemake.shell import shell

from . import environment, internals

# Modules alone, nothing drawn: a font that is open is read at one place by all forks.
_FIRST = (
    *("snakemake.iocontainers", "snakemake.logging", "reproduction.jobs.making"),
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf"),
)
FEWEST = 4  # jobs below which loading costs more than it saves
_LONGEST = 100  # bytes of a socket's path
_CLIENT = Path(__file__).with_name("fork_client.py")
_running: list[tuple["subprocess.Popen[bytes]", Path]] = []


def begin(workflow: Any, modules: dict[str, Collection[str]]) -> bool:
    """Start the loaded process, if this run has jobs enough on this machine.

    It is not started where kernels are compiled, which a loaded process would hold as they were; where jobs run in
    environments or containers of their own; and where the temporary folder's path is too long for a socket.

    Parameters
    ----------
    workflow : Snakemake's, with its jobs known.
    modules : rule -> modules that its jobs import.

    Returns
    -------
    Whether it was started.
    """
    rules = [rule for _, rule in internals.planned(workflow)]
    own = [rule for rule in rules if rule in modules]
    if not internals.runs_here(workflow) or "compile_kernel" in rules or len(own) < FEWEST:
        return False
    folder = Path(tempfile.mkdtemp(prefix="dpmultinomial-"))
    if len(str(folder / "socket").encode()) > _LONGEST:
        shutil.rmtree(folder)
        return False
    start(folder, [*_FIRST, *sorted({name for rule in own for name in modules[rule]})])
    shell.executable(str(folder / "bash"))
    return True


def start(folder: Path, modules: list[str]) -> Path:
    """Start the loaded process.

    Parameters
    ----------
    folder : for its socket and for the shell; of this user alone.
    modules : what it loads.

    Returns
    -------
    The shell that hands over to it, named as Snakemake expects a bash to be.
    """
    hand_over = [sys.executable, "-I", "-S", str(_CLIENT), sys.executable, str(folder / "socket")]
    script = folder / "bash"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(hand_over)} "$@"\n')
    script.chmod(0o700)
    command = [sys.executable, "-m", "reproduction.jobs.fork_server", str(folder / "socket"), *modules]
    _running.append((subprocess.Popen(command, stdin=subprocess.PIPE, env=_one_thread()), folder))
    while not (folder / "socket").exists() and _running[-1][0].poll() is None:
        time.sleep(0.01)
    return script


def end() -> None:
    """End the loaded process; what it used is now counted among this process's children."""
    while _running:
        process, folder = _running.pop()
        if process.stdin:
            process.stdin.close()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
        shell.executable("bash")


def _one_thread() -> dict[str, str]:
    """As Snakemake starts a job of one thread."""
    return dict(os.environ) | environment.ONE_THREAD
