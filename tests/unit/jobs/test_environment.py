"""Tests that jobs use one thread: threads of linear algebra that wait for a busy core waste CPU seconds."""

import os
import subprocess
import sys
from pathlib import Path

from reproduction.jobs import environment, forks

SCRIPT = Path(__file__).parents[3] / "workflow/scripts/table.py"
_PROGRAM = """
import sys
from types import SimpleNamespace

class Params(list):
    function, by, settings, stream, reads, files, programs, root_seed, label = (
        "balmat2018.tables.table_1", "compute", '{"total": 3}', ["toy", "t"], [], [], {}, 1, "Table 1"
    )

snakemake = SimpleNamespace(
    log=[sys.argv[2]], params=Params(),
    rule="toy_t_table", wildcards=[], input=SimpleNamespace(tables=[], files=[]), threads=2, config={},
)

class Output(list):
    csv = "results/toy/a.csv"

snakemake.output = Output([Output.csv])
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
print(sorted({one["num_threads"] for one in threadpool_info()}), len(threadpool_info()))
"""


def test_a_timing_computes_in_one_thread_whatever_it_holds(tmp_path):
    """Check that Snakemake starts a job of two threads with 2 in every such variable."""
    (tmp_path / "results/toy").mkdir(parents=True)
    (tmp_path / "results/logs").mkdir()
    variables = dict(os.environ) | dict.fromkeys(environment.ONE_THREAD, "2")
    call = [sys.executable, "-c", _PROGRAM, str(SCRIPT), str(tmp_path / "results/logs/log")]
    done = subprocess.run(call, env=variables, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + (tmp_path / "results/logs/log").read_text()
    threads, libraries = done.stdout.rsplit(maxsplit=1)
    assert threads == "[1]"
    assert int(libraries) >= 1


def test_the_loaded_process_has_the_same(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    found = forks._one_thread()
    assert {key: found[key] for key in environment.ONE_THREAD} == dict.fromkeys(environment.ONE_THREAD, "1")
    assert found["PATH"] == os.environ["PATH"]


def test_this_tree_comes_first_once(monkeypatch):
    here = str(Path(environment.__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/elsewhere", here]))
    environment.own_tree_first()
    assert os.environ["PYTHONPATH"].split(os.pathsep) == [here, "/elsewhere"]
