"""Rows of the benchmarks, and their measurement: CPU seconds, the fastest of several calls."""

import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, stdev
from time import process_time
from typing import Any


@dataclass(frozen=True)
class Row:
    """Measured number with its baseline.

    Parameters
    ----------
    name : what is measured. found : the measured number, in `unit`.
    baseline : a limit, or another method for the same task. against : the number of the baseline, in `unit`.
    least : required ratio against / found; 1 if the baseline is a limit.
    unit : ``s`` (CPU seconds), ``MiB`` or ``err`` (share of test records misclassified).
    """

    name: str
    found: float
    baseline: str
    against: float
    least: float = 1.0
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Return the ratio of the baseline to the measured number."""
        return self.against / max(self.found, 1e-9)

    @property
    def verdict(self) -> str:
        """Return ``within`` or ``over``."""
        return "within" if self.ratio >= self.least else "over"

    def __str__(self) -> str:
        aim = "" if self.least == 1.0 else f", wanted {self.least:g}"
        return (
            f"{self.verdict:6} {self.found:11.5f} {self.unit:3} {self.ratio:10.3g}  {self.name}"
            f" [{self.baseline} {self.against:.5g} {self.unit}{aim}]"
        )


@dataclass(frozen=True)
class Beside:
    """Comparison of two random numbers of the same kind, each with a standard error; smaller is better.

    Parameters
    ----------
    name : what is measured. ours, theirs : independent values, at least two each. other : name of the other method.
    unit : the same as in `Row`.
    """

    name: str
    ours: list[float]
    theirs: list[float]
    other: str
    unit: str = "err"

    @property
    def verdict(self) -> str:
        """Return ``better``, ``worse``, or ``equal`` (means within three standard errors of their difference)."""
        (ours, error), (theirs, other) = _mean(self.ours), _mean(self.theirs)
        if abs(ours - theirs) <= 3 * (error**2 + other**2) ** 0.5:
            return "equal"
        return "better" if ours < theirs else "worse"

    def __str__(self) -> str:
        (ours, error), (theirs, other) = _mean(self.ours), _mean(self.theirs)
        return (
            f"{self.verdict:6} {ours:11.5f} {self.unit:3} {theirs / max(ours, 1e-9):10.3g}  {self.name}, +- {error:.5f}"
            f" [{self.other} {theirs:.5f} +- {other:.5f}, {len(self.ours)} and {len(self.theirs)} runs]"
        )


def _mean(values: list[float]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    return fmean(values), stdev(values) / len(values) ** 0.5


@dataclass(frozen=True)
class NotRun:
    """Row that could not be measured on this machine, with the reason."""

    name: str
    reason: str
    verdict = "not run"

    def __str__(self) -> str:
        return f"not run {'':37}{self.name} [{self.reason}]"


def timed(call: Callable[[], Any], repeats: int = 7) -> float:
    """Return the smallest CPU seconds of `repeats` calls, which is least affected by other processes."""
    times = []
    for _ in range(repeats):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def limited(name: str, call: Callable[[], Any], limit: float, repeats: int = 3) -> Row:
    """Return a row whose baseline is a limit in CPU seconds."""
    return Row(name, timed(call, repeats), "limit", limit)


def alone(code: str) -> tuple[float, float]:
    """Return CPU seconds and peak memory in MiB of `code` in a new Python process; imports count only in the memory."""
    script = (
        "import sys, time, resource\n"
        "peak = lambda: next((int(x.split()[1]) for x in open('/proc/self/status') if x.startswith('VmHWM')), 0)\n"
        f"setup, work = {code.partition('# timed')[0]!r}, {code.partition('# timed')[2]!r}\n"
        "place = {}\nexec(setup, place)\nstart = time.process_time()\nexec(work, place)\n"
        "print(time.process_time() - start, peak() / 1024)\n"
    )
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    seconds, memory = map(float, found.stdout.split())
    return seconds, memory


def peak_memory() -> float:
    """Return the peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
