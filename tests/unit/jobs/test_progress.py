"""Tests of the expected end of a run, against runs with known ends."""

import io
import logging
from types import SimpleNamespace

import pytest

from reproduction.jobs import progress


def run(declared, real, cores):
    """Return (elapsed, predicted total) in seconds after each job of a run whose jobs start in order."""
    expectation = progress.Expectation(declared, cores)
    free, running, told, now = cores, [], [], 0.0
    waiting = list(declared)
    while waiting or running:
        while waiting and free:
            job = waiting.pop(0)
            expectation.started(job, now)
            running.append((now + real[job], job))
            free -= 1
        now, job = min(running)
        running.remove((now, job))
        free += 1
        expectation.finished(job, now)
        told.append((now, now + expectation.remaining(now)))
    return told


@pytest.mark.parametrize("slower", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("cores", [1, 2])
def test_the_end_is_told_whatever_the_speed_of_the_machine(slower, cores):
    declared = dict.fromkeys(range(20), 1.0)
    told = run(declared, dict.fromkeys(declared, 60 * slower), cores)
    end = 60 * slower * 20 / cores
    assert told[-1] == (end, end)
    # After half of the jobs the prior weighs 0.5 of 10.5 minutes: at four times the speed or a quarter of it the error
    # of the rest is at most 0.5/10.5 * 3 = 14 %.
    assert told[9][1] - told[9][0] == pytest.approx(end / 2, rel=0.15)


def test_the_longest_job_alone_may_set_the_end():
    expectation = progress.Expectation({1: 10.0, 2: 0.5, 3: 0.5}, cores=4)
    assert expectation.remaining(0.0) == 600.0
    expectation.started(1, 0.0)
    assert expectation.remaining(120.0) == 480.0


def test_a_job_that_takes_longer_than_declared_leaves_nothing_below_zero():
    expectation = progress.Expectation({1: 1.0}, cores=1)
    expectation.started(1, 0.0)
    assert expectation.remaining(3600.0) == 0.0


def record(event, **more):
    made = logging.LogRecord("snakemake", logging.INFO, "", 0, None, None, None)
    made.__dict__.update(event=SimpleNamespace(value=event), **more)
    return made


def test_lines_come_at_most_every_ten_seconds_and_not_at_the_end():
    stream, time = io.StringIO(), [1000.0]
    lines = progress.Lines(progress.Expectation(dict.fromkeys(range(4), 1.0), 1), stream=stream, clock=lambda: time[0])
    for job, now in enumerate((1060.0, 1065.0, 1180.0, 1240.0)):
        lines.emit(record("job_info", jobid=job))
        time[0] = now
        lines.emit(record("job_finished", job_id=job))
        lines.emit(record("progress", done=job + 1, total=4))
    first, third = stream.getvalue().splitlines()  # the second came after five seconds, the fourth is the end
    assert first.startswith("elapsed 60 s, about 3 min left (done ")
    assert third.startswith("elapsed 3 min, about ")


def test_lines_survive_records_of_other_kinds():
    stream = io.StringIO()
    lines = progress.Lines(progress.Expectation({}, 1), stream=stream)
    lines.emit(logging.LogRecord("snakemake", logging.INFO, "", 0, "text", None, None))
    lines.emit(record("job_finished", job_id=17))
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (99, "99 s"), (100, "2 min"), (7800, "2 h 10 min")])
def test_time_spans_in_words(seconds, text):
    assert progress.words(seconds) == text


@pytest.mark.parametrize("quiet", ["PROGRESS", "ALL"])
def test_nothing_is_said_where_quiet_was_asked_for(quiet):
    workflow = SimpleNamespace(output_settings=SimpleNamespace(quiet=[SimpleNamespace(name=quiet)]))
    before = list(logging.getLogger("snakemake.logging").handlers)
    progress.follow(workflow, {})
    assert logging.getLogger("snakemake.logging").handlers == before
