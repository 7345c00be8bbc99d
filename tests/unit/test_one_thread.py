"""Jobs compute in one thread: linear algebra that waits for a taken core burns seconds which are nobody's work."""

import os
import subprocess
import sys
from pathlib import Path

from reproduction.jobs import forks, one_thread

SCRIPT = Path(__file__).parents[2] / "workflow/scripts/make.py"
_PROGRAM = """
import sys
from types import SimpleNamespace

class Params(list):
    loops, parts, root_seed = [], [], 1

snakemake = SimpleNamespace(
    log=[sys.argv[2]], output=["results/toy/a.csv"], params=Params(),
    rule="toy_measure_timings", wildcards=[], input=[], threads=2, config={},
)
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
print(sorted({one["num_threads"] for one in threadpool_info()}), len(threadpool_info()))
"""


def test_a_timing_computes_in_one_thread_whatever_it_holds(tmp_path):
    """As Snakemake starts a job of two threads: every kind of variable says 2."""
    told = dict(os.environ) | dict.fromkeys(one_thread.VARIABLES, "2")
    call = [sys.executable, "-c", _PROGRAM, str(SCRIPT), str(tmp_path / "log")]
    done = subprocess.run(call, env=told, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + (tmp_path / "log").read_text()
    threads, libraries = done.stdout.rsplit(maxsplit=1)
    assert threads == "[1]"
    assert int(libraries) >= 1


def test_the_loaded_process_has_the_same(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    found = forks._one_thread()
    assert {key: found[key] for key in one_thread.VARIABLES} == dict.fromkeys(one_thread.VARIABLES, "1")
    assert found["PATH"] == os.environ["PATH"]
