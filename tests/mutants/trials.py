"""Tests run in a fork of a process that has loaded the large libraries, in a copy of the tree, under limits.

A fork saves the seconds that their import costs each time. The code under test is never loaded before the fork.
"""

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_LARGE = (
    *("numpy", "scipy.stats", "scipy.optimize", "scipy.integrate", "pandas", "matplotlib.figure", "mpmath"),
    *("yaml", "jsonschema", "sklearn.naive_bayes", "sklearn.model_selection", "networkx", "coverage"),
)
_LEFT_OUT = (".git", ".snakemake", ".hypothesis", "build", "results", "figures", "_build", "*.egg-info", "__pycache__")


def load_large() -> None:
    """Import what every trial needs and no mutant changes; what is not installed is passed over."""
    os.environ |= {"MPLBACKEND": "Agg"} | {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    for name in _LARGE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def copied(tree: Path, folder: Path) -> Path:
    """The tree with its compiled kernels, without results and history."""
    copy = folder / "tree"
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    return copy


def in_child(copy: Path, work: Callable[[], Any], cpu_seconds: float, log: Path) -> tuple[Any, float]:
    """What `work` returns, None if it was stopped, and the CPU seconds it took.

    Stopped when it used `cpu_seconds`, or after thirty times that by the clock.

    Raises
    ------
    RuntimeError
        If `work` itself failed; the message is the end of its output.
    """
    answer = log.with_suffix(".json")
    answer.unlink(missing_ok=True)
    before = _spent()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _be_child(copy, work, cpu_seconds, log, answer)
    deadline = time.monotonic() + 30 * cpu_seconds
    ended, state = os.waitpid(child, os.WNOHANG)
    while ended == 0:
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)
        ended, state = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what it started and left behind
    if os.WIFEXITED(state) and not answer.exists():
        raise RuntimeError(log.read_text(encoding="utf-8")[-3000:])
    return (json.loads(answer.read_text()) if answer.exists() else None), _spent() - before


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _be_child(copy: Path, work: Callable[[], Any], cpu_seconds: float, log: Path, answer: Path) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 3))
    with log.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.chdir(copy)
    sys.path[:0] = [str(copy / "src"), str(copy)]
    os.environ["PYTHONPATH"] = str(copy / "src")
    try:
        part = answer.with_suffix(".part")
        part.write_text(json.dumps(work()))
        part.rename(answer)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


class _Chosen:
    """Plugin: only the tests chosen, in that order; remembers which failed."""

    def __init__(self, chosen: Sequence[str]):
        self.order = {name: number for number, name in enumerate(chosen)}
        self.failed: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Hypothesis keeps failing examples for the next run, which here is another mutant's."""
        from hypothesis import settings

        settings.register_profile("mutants", database=None, derandomize=True)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def run_tests(chosen: Sequence[str], *, to_the_end: bool = False) -> dict[str, Any]:
    """Run tests, by node id and in that order, until one fails: pytest's exit code and who failed. For a child."""
    import pytest

    plugin = _Chosen(chosen)
    files = list(dict.fromkeys(name.partition("::")[0] for name in chosen))
    options = ["-q", "-m", "not slow and not attack and not site", "--tb=line", "-p", "no:cacheprovider"]
    options += [] if to_the_end else ["-x"]
    code = int(pytest.main([*options, *files], plugins=[plugin]))
    return {"code": code, "failed": plugin.failed}
