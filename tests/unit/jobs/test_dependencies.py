"""The files named as a rule's inputs are those that Python really loads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction import kind, paper, studies
from reproduction.jobs import artefacts, dependencies


def run_by_jobs():
    """Modules that a rule hands to its jobs, and whose files are its inputs."""
    found = {*dependencies.ADAPTERS, *(f"reproduction.verdicts.{name}" for name in ("agreement", "summary"))}
    found |= {"reproduction.report"}.union(*(artefacts.modules(described) for described in paper.discover().values()))
    for described in kind.discover().values():
        found |= {*described.modules}
    found |= {f"reproduction.scenarios.{name}" for name in ("page", "planning")}
    return sorted(found | {study.module for study in studies.discover().values()})


# One process loads the libraries, then a fork for every module imports it and says what of the packages came along.
_LOADED = """
import gc, importlib, json, os, sys
import matplotlib.backends.backend_pdf, matplotlib.figure, numpy, pandas, pooch, rich.progress
import jsonschema, networkx, scipy.optimize, scipy.special, scipy.stats, sklearn.base, yaml
gc.disable()
for name in sys.argv[1:]:
    sys.stdout.flush()
    if os.fork() == 0:
        importlib.import_module(name)
        packages = ("dpmultinomial", "reproduction")
        files = [m.__file__ for n, m in sys.modules.items() if n.split(".")[0] in packages and m.__file__]
        print(json.dumps([name, files]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_sources_cover_everything_that_is_imported():
    modules = run_by_jobs()
    run = subprocess.run([sys.executable, "-c", _LOADED, *modules], capture_output=True, text=True, check=True)
    loaded = dict(json.loads(line) for line in run.stdout.splitlines())
    assert sorted(loaded) == modules
    for module, files in loaded.items():
        assert {Path(path).resolve() for path in files} <= set(dependencies.sources(module)), module


def test_sources_leave_out_what_is_not_used():
    names = {path.stem.split(".")[0] for path in dependencies.sources("reproduction.papers.balmat2018.tables")}
    assert "compositions" in names
    assert not names & {"_fixed_sum", "products", "_beta_mixture", "figure_2"}


def test_kernel_sources_follow_cimports():
    names = [path.name for path in dependencies.kernel_sources("dpmultinomial/_posteriors/counts/_noisy_tables")]
    assert names == ["_noisy_tables.pyx", "beta_mixtures.pxd"]
    names = [path.name for path in dependencies.kernel_sources("dpmultinomial/_posteriors/counts/beta_mixtures")]
    assert names == ["beta_mixtures.pxd", "beta_mixtures.pyx"]  # its own .pxd, which no statement names
    assert all(dependencies.extension_file(kernel).is_file() for kernel in dependencies.kernels())


def test_kernel_sources_follow_c_headers():
    names = [path.name for path in dependencies.kernel_sources("dpmultinomial/_posteriors/counts/_fixed_sum")]
    assert names == ["bitgen.pxd", "_fixed_sum.pyx", "row_weights.h"]
    folder = dependencies.SRC / "dpmultinomial"
    headers = {path for kernel in dependencies.kernels() for path in dependencies.kernel_sources(kernel)}
    assert set(folder.rglob("*.h")) <= headers  # no header is forgotten, and system headers are not among them
    assert all(path.is_relative_to(dependencies.SRC) for path in headers)


def test_an_unknown_module_is_an_error():
    with pytest.raises(ModuleNotFoundError, match=r"papers\.nobody"):
        dependencies.sources("reproduction.papers.nobody")
