"""Run Python jobs as forks of one process that has loaded all modules, so that each job starts within a few hundredths
of a second.

The Snakefile calls `begin` when a run starts and `end` after the run has ended. A job is still a separate process with
separate streams, environment, memory and exit code, and runs the script that Snakemake wrote.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from snakemake.shell import shell

from . import environment, internals

# Modules are only loaded, and nothing is drawn: all forks would share the read position of an open font file.
_FIRST = (
    *("snakemake.iocontainers", "snakemake.logging", "reproduction.jobs.making"),
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf"),
)
FEWEST = 2  # smallest number of jobs for which loading saves time
_PREFIX = "dpmultinomial-"  # prefix of temporary folders, followed by the process ID
_LONGEST = 100  # maximum number of bytes in a socket's path
_CLIENT = Path(__file__).with_name("fork_client.py")
_running: list[tuple["subprocess.Popen[bytes]", Path]] = []


def begin(workflow: Any, modules: dict[str, Collection[str]]) -> bool:
    """Start the process that loads all modules, if the current run has enough jobs on the current machine.

    The process is not started if kernels are compiled (the loaded process would keep the old kernels), if jobs run in
    separate environments or containers, or if the path of the temporary folder is too long for a socket.

    Parameters
    ----------
    workflow : Snakemake's Workflow, after planning.
    modules : mapping from a rule to the modules that its jobs import.

    Returns
    -------
    Whether the process was started.
    """
    rules = [rule for _, rule in internals.planned(workflow)]
    forked = [rule for rule in rules if rule in modules]
    if not internals.runs_here(workflow) or "compile_kernel" in rules or len(forked) < FEWEST:
        return False
    remove_stale()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    if len(str(folder / "socket").encode()) > _LONGEST:
        shutil.rmtree(folder)
        return False
    start(folder, [*_FIRST, *sorted({name for rule in forked for name in modules[rule]})])
    shell.executable(str(folder / "bash"))
    return True


def remove_stale() -> list[Path]:
    """Remove the temporary folders of processes of the current user that were killed, and return the paths of these
    folders.
    """
    removed = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(OSError):
            ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink() and folder.is_dir()
            if ours and process.isdigit() and not psutil.pid_exists(int(process)):
                shutil.rmtree(folder)
                removed.append(folder)
    return removed


def start(folder: Path, modules: list[str]) -> Path:
    """Start the process that loads all modules.

    Parameters
    ----------
    folder : folder for the socket and the shell; accessible only to this user.
    modules : modules to load.

    Returns
    -------
    Path of the shell that passes jobs to the process, named as Snakemake expects for bash.
    """
    hand_over = [sys.executable, "-I", "-S", str(_CLIENT), sys.executable, str(folder / "socket")]
    script = folder / "bash"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(hand_over)} "$@"\n')
    script.chmod(0o700)
    command = [sys.executable, "-P", "-m", "reproduction.jobs.fork_server", str(folder / "socket"), *modules]
    _running.append((subprocess.Popen(command, stdin=subprocess.PIPE, env=_one_thread()), folder))
    while not (folder / "socket").exists() and _running[-1][0].poll() is None:
        time.sleep(0.01)
    return script


def end() -> None:
    """End the process that has loaded the modules of all jobs. Its CPU time is then counted among the child
    processes.
    """
    while _running:
        process, folder = _running.pop()
        if process.stdin:
            process.stdin.close()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
        shell.executable("bash")


def _one_thread() -> dict[str, str]:
    """Return the environment variables with which Snakemake starts a single-threaded job."""
    return dict(os.environ) | environment.ONE_THREAD
