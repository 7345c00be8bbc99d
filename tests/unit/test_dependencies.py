"""Tests that the files listed as a rule's inputs are those that Python loads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction import dependencies, kind, paper, studies
from reproduction.jobs import artefacts

pytestmark = pytest.mark.house


def run_by_jobs():
    """Return the modules that a rule passes to its jobs and whose files are its inputs."""
    found = {*dependencies.ADAPTERS, *(f"reproduction.verdicts.{name}" for name in ("agreement", "summary"))}
    found |= {"reproduction.report"}.union(*(artefacts.modules(described) for described in paper.discover().values()))
    for described in kind.discover().values():
        found |= {*described.modules}
    found |= {f"reproduction.scenarios.{name}" for name in ("page", "planning")}
    return sorted(found | {study.module for study in studies.discover().values()})


# One process loads the libraries. Forks share what the declared sources of several modules have in common, so that the
# rest alone is imported once per module: what is in the common sources of a fork's modules is allowed to each of them.
_LOADED = """
import gc, importlib, json, os, sys
import matplotlib.backends.backend_pdf, matplotlib.figure, numpy, pandas, pooch, rich.progress
import jsonschema, networkx, scipy.optimize, scipy.special, scipy.stats, sklearn.base, yaml
gc.disable()

def visit(group, loaded):
    common = set.intersection(*group.values()) - loaded
    for name in sorted(common):
        importlib.import_module(name)
    loaded = loaded | common
    for name in sorted(name for name, sources in group.items() if sources <= loaded):
        importlib.import_module(name)
        packages = ("dpmultinomial", "reproduction")
        files = [m.__file__ for n, m in sys.modules.items() if n.split(".")[0] in packages and m.__file__]
        print(json.dumps([name, files]), flush=True)
        del group[name]
    if not group:
        return
    rest = sorted(set().union(*group.values()) - loaded)
    first = max(rest, key=lambda source: sum(source in sources for sources in group.values()))
    having, others = ({n: s for n, s in group.items() if (first in s) == side} for side in (True, False))
    if others:
        if os.fork() == 0:
            visit(others, loaded)
            os._exit(0)
        assert os.wait()[1] == 0
    visit(having, loaded)

visit({name: set(sources) for name, sources in json.load(sys.stdin).items()}, set())
"""


def dotted(path):
    """Return the name of a module, given its file."""
    parts = path.relative_to(dependencies.SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_sources_cover_everything_that_is_imported():
    modules = run_by_jobs()
    declared = {module: set(dependencies.sources(module)) for module in modules}
    shared = {module: [dotted(path) for path in paths if path.suffix == ".py"] for module, paths in declared.items()}
    run = subprocess.run([sys.executable, "-c", _LOADED], input=json.dumps(shared), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded = dict(json.loads(line) for line in run.stdout.splitlines())
    assert sorted(loaded) == modules
    for module, files in loaded.items():
        assert {Path(path).resolve() for path in files} <= declared[module], module


def test_sources_leave_out_what_is_not_used():
    names = {path.stem.split(".")[0] for path in dependencies.sources("reproduction.papers.balmat2018.tables")}
    assert "compositions" in names
    assert not names & {"_fixed_sum", "composition_tables", "_beta_mixture", "figure_2"}


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import a", [(0, "a", [])]),
        ("import a.b, c as d", [(0, "a.b", []), (0, "c", [])]),
        ("  import a", [(0, "a", [])]),
        ("from a.b import c", [(0, "a.b", ["c"])]),
        ("from a import b as c, d", [(0, "a", ["b", "d"])]),
        ("from . import a", [(1, "", ["a"])]),
        ("from .. import a, b", [(2, "", ["a", "b"])]),
        ("from ...a.b import c", [(3, "a.b", ["c"])]),
        ("from .a import (\n    b,  # a remark, with a comma\n    c,\n)", [(1, "a", ["b", "c"])]),
        ("from a import b  # noqa", [(0, "a", ["b"])]),
        ("x = 1\nfrom a import b\nimport c\n", [(0, "a", ["b"]), (0, "c", [])]),
        ("# from a import b\nimports = 1", []),
        ("from a cimport b", []),
    ],
)
def test_import_statements_are_read_from_text(text, expected):
    assert dependencies._statements(text) == expected


@pytest.mark.parametrize(
    ("file", "module", "text", "expected"),
    [
        ("c.py", "reproduction.b.c", "from . import d", ["reproduction.b", "reproduction.b.d"]),
        ("c.py", "reproduction.b.c", "from .. import d", ["reproduction", "reproduction.d"]),
        ("c.py", "reproduction.b.c", "from ..d import e", ["reproduction.d", "reproduction.d.e"]),
        ("__init__.py", "reproduction.b", "from . import d", ["reproduction.b", "reproduction.b.d"]),
        ("__init__.py", "reproduction.b", "from .d import e", ["reproduction.b.d", "reproduction.b.d.e"]),
        ("__init__.py", "reproduction.b", "from .. import d", ["reproduction", "reproduction.d"]),
        (
            "c.py",
            "reproduction.c",
            "import numpy\nfrom scipy import stats\nimport dpmultinomial.x",
            ["dpmultinomial.x"],
        ),
        ("c.py", "reproduction.c", "from dpmultinomial import y", ["dpmultinomial", "dpmultinomial.y"]),
        ("c.py", "reproduction.c", "from reproductions import y", []),
    ],
)
def test_names_of_a_module_are_counted_from_its_package(tmp_path, file, module, text, expected):
    (tmp_path / file).write_text(text)
    assert dependencies._imported(tmp_path / file, module) == expected


def test_a_package_is_its_init_file_and_a_folder_is_no_module():
    assert dependencies._file("reproduction.jobs") == dependencies.SRC / "reproduction/jobs/__init__.py"
    assert dependencies._file("reproduction.jobs.making") == dependencies.SRC / "reproduction/jobs/making.py"
    kernel = "dpmultinomial._posteriors.counts._noisy_tables"
    assert dependencies._file(kernel) == dependencies.SRC / f"{kernel.replace('.', '/')}.pyx"
    assert dependencies._file("reproduction.jobs.making.table") is None


def test_sources_of_cimports_are_looked_up_from_the_folder_or_the_top(tmp_path, monkeypatch):
    monkeypatch.setattr(dependencies, "SRC", tmp_path)
    for name in ("a/b", "top"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a/b/k.pyx").write_text(
        "from .near cimport f\nfrom ..up cimport g\nfrom top.far cimport h\nfrom libc.math cimport exp\n"
    )
    for name in ("a/b/near.pxd", "a/up.pxd", "top/far.pxd", "a/b/near.pyx", "a/b/other.pxd"):
        (tmp_path / name).write_text("from .k cimport back\n")
    assert dependencies.kernel_sources("a/b/k") == [
        *(tmp_path / name for name in ("a/b/k.pyx", "a/b/near.pxd", "a/up.pxd", "top/far.pxd"))
    ]
    (tmp_path / "a/b/h.h").write_text("")
    (tmp_path / "a/b/k.pyx").write_text('cdef extern from "h.h":\n    pass\n')
    assert dependencies.kernel_sources("a/b/k") == [tmp_path / "a/b/h.h", tmp_path / "a/b/k.pyx"]
    assert dependencies.kernel_sources("libc/math") == []
    assert dependencies.kernels() == ["a/b/k", "a/b/near"]


def test_a_digest_names_python_files_and_extensions_are_the_others():
    module = "reproduction.papers.balmat2018.tables"
    listed, compiled = dependencies.of_job(module), dependencies.extensions(module)
    assert {path.suffix for path in listed if path not in compiled} == {".py"}
    assert compiled
    assert all(path.suffix in (".so", ".pyd") for path in compiled)
    assert dependencies.extension_file(dependencies.UTILITY) in compiled
    assert dependencies.digest(module) == dependencies.digest(module)
    assert dependencies.digest(module) != dependencies.digest("reproduction.report")
