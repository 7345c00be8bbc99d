"""Tests of the framework of the benchmarks: the text of a row, the suites, and that each can be loaded."""

import importlib.util
import inspect
import sys
from pathlib import Path

import numpy  # noqa: F401  whose linear algebra is asked for its threads
import pytest

BENCH = Path(__file__).parents[1] / "bench"


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def frame(monkeypatch):
    """Return `measuring` and `run` as the benchmarks import them; the modules are restored afterwards."""
    monkeypatch.setitem(sys.modules, "measuring", None)
    return module("measuring", BENCH / "measuring.py"), module("run_benchmarks", BENCH / "run.py")


def test_linear_algebra_has_one_thread_here_as_in_benchmarks_and_jobs():
    pools = pytest.importorskip("threadpoolctl").threadpool_info()
    assert {pool["num_threads"] for pool in pools if pool["user_api"] == "blas"} == {1}


def test_a_row_is_within_its_target_or_over(frame):
    measuring, _ = frame
    assert measuring.Row("a", 0.5, "limit", 1.0).verdict == "within"
    assert measuring.Row("a", 2.0, "limit", 1.0).verdict == "over"
    row = measuring.Row("a", 2.0, "loop", 10.0, 6.0)
    assert (row.ratio, row.verdict) == (5.0, "over")
    assert "loop 10 s, wanted 6" in str(row)
    assert str(measuring.NotRun("b", "no file")).startswith("not run")


def test_times_are_cpu_seconds_and_memory_is_that_of_the_code_alone(frame):
    measuring, _ = frame
    calls = []
    assert 0 <= measuring.timed(lambda: calls.append(1), 3) < 1
    assert len(calls) == 3
    assert measuring.limited("sleep", lambda: __import__("time").sleep(0.2), 0.1, 1).verdict == "within"
    seconds, memory = measuring.alone("import time\n# timed\nblock = bytearray(50 * 2**20)")
    assert seconds < 5
    assert 50 < memory < 90  # MiB: the block and a bare interpreter


def test_every_suite_can_be_loaded_and_yields_rows(frame):
    _, run = frame
    suites = run.suites()
    assert len(suites) >= 6
    for name, path in suites.items():
        assert inspect.isgeneratorfunction(module(f"bench_{name}", path).benchmarks)


def test_an_unknown_suite_is_refused(frame, capsys):
    _, run = frame
    with pytest.raises(SystemExit):
        run.main(["--only", "nowhere"])
    assert "invalid choice: 'nowhere'" in capsys.readouterr().err
