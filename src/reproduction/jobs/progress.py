"""Estimate the time at which a run will end, from the minutes declared in paper.yaml and the observed speed of the
machine.
"""

import logging
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from . import internals

PRIOR = 0.5  # minutes of work at the declared speed, as the prior of the estimate
SMALL = 0.02  # minutes of a job without a declared duration
EVERY = 10.0  # number of seconds between two lines


class Expectation:
    """Estimate of the remaining time of a run, computed from the declared durations of all jobs and the measured
    durations of the finished jobs.

    Parameters
    ----------
    minutes : declared duration in minutes of every job that will run, by the number of the job.
    cores : number of jobs that run at the same time.
    """

    def __init__(self, minutes: Mapping[int, float], cores: int) -> None:
        self._minutes = {job: max(SMALL, declared) for job, declared in minutes.items()}
        self._cores = max(1, cores)
        self._started: dict[int, float] = {}
        self._waiting = set(self._minutes)
        self._declared = self._taken = PRIOR

    def started(self, job: int, now: float) -> None:
        """Record that a job started at the time `now`, in seconds on an arbitrary clock."""
        self._started[job] = now

    def finished(self, job: int, now: float) -> None:
        """Record that a job ended at the time `now`."""
        if job in self._waiting:
            self._waiting.remove(job)
            self._declared += self._minutes[job]
            self._taken += (now - self._started.get(job, now)) / 60

    def remaining(self, now: float) -> float:
        """Return the remaining time of a run in seconds. This time is the remaining work divided by the number of cores
        or, if longer, the time of the longest job.
        """
        slower = self._taken / self._declared
        left = [
            max(0.0, self._minutes[job] * slower - (now - self._started.get(job, now)) / 60) for job in self._waiting
        ]
        return 60 * max(sum(left) / self._cores, max(left, default=0.0))


class Lines(logging.Handler):
    """Log handler that periodically prints the elapsed time and the expected end of a run."""

    def __init__(
        self, expectation: Expectation, *, stream: TextIO | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self._expectation, self._stream, self._clock = expectation, stream or sys.stderr, clock
        self._begun = clock()
        self._said = self._begun - EVERY

    def emit(self, record: logging.LogRecord) -> None:
        """Record that a job starts or ends, and print the progress of the run. The progress is printed after the end of
        a job if enough time has passed since the last message.
        """
        event, now = str(getattr(getattr(record, "event", None), "value", "")), self._clock()
        if event == "job_info":
            self._expectation.started(record.__dict__["jobid"], now)
        elif event == "job_finished":
            self._expectation.finished(record.__dict__["job_id"], now)
        elif event == "progress" and record.__dict__["done"] < record.__dict__["total"] and now - self._said >= EVERY:
            self._said = now
            left = self._expectation.remaining(now)
            end = time.strftime("%H:%M", time.localtime(now + left))
            print(
                f"elapsed {words(now - self._begun)}, about {words(left)} left (done {end})",
                file=self._stream,
                flush=True,
            )


def words(seconds: float) -> str:
    """Return a time span as text, such as ``40 s``, ``3 min`` or ``2 h 10 min``."""
    if seconds < 99.5:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def follow(workflow: Any, minutes: Mapping[str, float]) -> None:
    """Print the expected end time of a run while it is running, unless Snakemake is called with ``--quiet``.

    Parameters
    ----------
    workflow : Snakemake's Workflow, after planning.
    minutes : mapping from a rule to the declared duration of one of its jobs in minutes.
    """
    if internals.shows_progress(workflow):
        jobs = {number: minutes.get(rule, 0.0) for number, rule in internals.planned(workflow)}
        expectation = Expectation(jobs, internals.slots(workflow))
        logging.getLogger("snakemake.logging").addHandler(Lines(expectation))
