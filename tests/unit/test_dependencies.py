"""The files named as a rule's inputs are those that Python really loads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction import dependencies

ROOT = Path(dependencies.ROOT)
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("papers", "figures", "posteriors")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.name != "__init__.py"
]
# One process loads the libraries, then a fork for every module imports it and says what of the package came along.
_LOADED = """
import importlib, json, os, sys
import matplotlib.figure, numpy, pandas, scipy.optimize, scipy.special, scipy.stats, sklearn.base
for name in sys.argv[1:]:
    sys.stdout.flush()
    if os.fork() == 0:
        importlib.import_module("dpmultinomial." + name)
        files = [m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "dpmultinomial"]
        print(json.dumps([name, files]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_sources_cover_everything_that_is_imported():
    wanted = [m for m in MODULES if m.count(".") > 1 or m.startswith("figures")]
    run = subprocess.run([sys.executable, "-c", _LOADED, *wanted], capture_output=True, text=True, check=True)
    loaded = dict(json.loads(line) for line in run.stdout.splitlines())
    assert sorted(loaded) == sorted(wanted)
    for module, files in loaded.items():
        assert {Path(path).resolve() for path in files} <= set(dependencies.sources(module)), module


def test_sources_leave_out_what_is_not_used():
    names = {path.stem.split(".")[0] for path in dependencies.sources("papers.balmat2018.tables")}
    assert "compositions" in names
    assert not names & {"laplace_gibbs", "products", "beta_mixture", "figure_2"}


def test_figures_import_no_science():
    for path in (ROOT / "figures").glob("*.py"):
        files = dependencies.sources(f"figures.{path.stem}") if path.stem != "__init__" else []
        assert {p.parent.name for p in files} <= {"dpmultinomial", "figures"}, path


def test_kernel_sources_follow_cimports():
    names = [path.name for path in dependencies.kernel_sources("laplace_gibbs")]
    assert names == ["bitgen.pxd", "dirichlet.pxd", "fixed_sum.pxd", "laplace_gibbs.pyx"]
    assert all(dependencies.extension_file(kernel).is_file() for kernel in dependencies.kernels())


def test_an_unknown_module_is_an_error():
    with pytest.raises(ModuleNotFoundError, match=r"papers\.nobody"):
        dependencies.sources("papers.nobody")


def test_nothing_in_the_package_knows_the_workflow():
    for path in ROOT.rglob("*.py"):
        text = path.read_text()
        assert "import snakemake" not in text
        assert "snakemake." not in text.replace("`snakemake", ""), path
