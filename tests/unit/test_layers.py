"""Tests of the layers: the contracts of pyproject.toml hold for Python modules (lint-imports) and compiled modules."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.house

SRC = Path(__file__).parents[2] / "src"
LIBRARY = SRC / "dpmultinomial"
EXTRAS_OF_USE = {"plot.py": {"matplotlib"}, "posterior.py": {"arviz_base"}}  # imported where they are asked for
OUTSIDE = {"numpy", "scipy", "pandas"}  # what the library depends on
EXTRAS = {
    "_models": {"sklearn", "networkx"},
    "_releases": {"opendp", "randomgen"},
    "_measurement_files": {"pyarrow"},
}
_PYX = re.compile(r"^\s*(?:from\s+(\.*)([\w.]*)\s+c?import\s+\(?([\w, ]+)|c?import\s+([\w.]+))", re.MULTILINE)


@cache
def imports(path):
    """Yield (absolute dotted module, names) of every import statement of a source file."""
    return [*_read(path)]


def _read(path):
    module = path.relative_to(SRC).with_suffix("").parts
    package = module if path.stem == "__init__" else module[:-1]
    package = package[:-1] if path.stem == "__init__" else package
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else ()
                yield ".".join([*base, *filter(None, [node.module])]), [alias.name for alias in node.names]
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name, []
    else:
        for dots, dotted, names, plain in _PYX.findall(text):
            base = package[: len(package) - len(dots) + 1] if dots else ()
            yield plain or ".".join([*base, *filter(None, [dotted])]), re.findall(r"\w+", names)


def sources(folder):
    paths = [p for suffix in ("*.py", "*.pyx", "*.pxd") for p in sorted(folder.rglob(suffix))]
    return [p for p in paths if "tests" not in p.parts and p.name != "bench.py"]


def reached(path):
    """Return packages (or base modules) of the library that a file imports, and packages from outside."""
    rooms, outside = set(), set()
    for module, names in imports(path):
        top, *rest = module.split(".")
        if top == "dpmultinomial":
            rooms |= {rest[0]} if rest else set(names) or {"__init__"}
        elif top not in ("reproduction", ""):
            outside.add(top)
    return rooms, outside


LIBRARY_FILES = sources(LIBRARY)
COMPILED = [path for path in sources(SRC) if path.suffix != ".py"]
CONTRACTS = tomllib.loads((SRC.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_contracts_hold():
    """Run what `make lint` runs; it reads only Python modules."""
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command, "--no-cache"], cwd=SRC.parent, env=os.environ | {"PYTHONPATH": "src"},
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("contract", [c for c in CONTRACTS if c["type"] == "layers"], ids=lambda c: c["id"])
def test_compiled_modules_import_downwards_only(contract):
    depth = {name.strip(): i for i, layer in enumerate(contract["layers"]) for name in layer.split("|")}
    for container in contract["containers"]:
        for path in COMPILED:
            own = below(container, dotted(path))
            for name in targets(path):
                met = below(container, name)
                if own in depth and met in depth and met != own:
                    assert depth[met] > depth[own], f"{dotted(path)} imports {name}"


@pytest.mark.parametrize("contract", [c for c in CONTRACTS if c["type"] == "forbidden"], ids=lambda c: c["id"])
def test_compiled_modules_import_nothing_that_is_forbidden(contract):
    for path in COMPILED:
        if any(is_in(source, dotted(path)) for source in contract["source_modules"]):
            for module, names in imports(path):
                for name in [module, *(f"{module}.{one}" for one in names)]:
                    wrong = [one for one in contract["forbidden_modules"] if is_in(one, name)]
                    assert not wrong, f"{dotted(path)} imports {name}"


def test_a_papers_compiled_modules_import_no_other_paper():
    for path in COMPILED:
        own = below("reproduction.papers", dotted(path))
        met = {below("reproduction.papers", name) for name in targets(path)} - {own, None}
        assert own is None or not met, f"{dotted(path)} imports {met}"


def test_contracts_are_read_from_compiled_modules_too(tmp_path, monkeypatch):
    """Check that a cimport that violates the layers, which lint-imports does not see, is detected."""
    file = SRC / "dpmultinomial/_kernels/wrong.pyx"
    monkeypatch.setitem(globals(), "imports", lambda _: [("dpmultinomial._posteriors.counts", ["_fixed_sum"])])
    monkeypatch.setitem(globals(), "COMPILED", [file])
    rooms = next(c for c in CONTRACTS if c["id"] == "rooms")
    with pytest.raises(AssertionError, match="wrong imports"):
        test_compiled_modules_import_downwards_only(rooms)


@pytest.mark.parametrize("path", LIBRARY_FILES, ids=[str(p.relative_to(SRC)) for p in LIBRARY_FILES])
def test_the_library_depends_on_few_packages(path):
    room = path.relative_to(LIBRARY).parts[0] if path.parent != LIBRARY else ""
    _, outside = reached(path)
    standard = {*sys.stdlib_module_names, "libc", "cpython", "cython"}
    foreign = outside - standard - OUTSIDE - EXTRAS.get(room, set())
    foreign -= EXTRAS_OF_USE.get(path.name, set()) if room == "_results" else set()
    assert not foreign, f"{room or 'the ground'} must not depend on {sorted(foreign)}"
    assert not re.search(r"^(from|import) matplotlib\b", path.read_text(encoding="utf-8"), re.M)  # loaded when asked


def is_in(package, name):
    return name == package or name.startswith(f"{package}.")


def below(container, name):
    """Return the package or module directly below `container` that contains a dotted name; None for other names."""
    return name.removeprefix(f"{container}.").split(".")[0] if name.startswith(f"{container}.") else None


def targets(path):
    """Return modules and names in modules that a file imports from both packages, as dotted names."""
    for module, names in imports(path):
        if module.split(".")[0] in ("dpmultinomial", "reproduction"):
            yield from (f"{module}.{name}" for name in names or [""])


def dotted(path):
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def test_what_has_an_underscore_is_used_in_its_folder_alone():
    """Check that packages of the library are private to this repository, whose other package is the reproduction."""
    for path in sources(SRC):
        for name in targets(path):
            parts = name.rstrip(".").split(".")
            for i, part in enumerate(parts):
                if part.startswith("_") and not part.startswith("__"):
                    own = dotted(path).split(".")[:i] == parts[:i]
                    assert own or (i == 1 and parts[0] == "dpmultinomial"), f"{dotted(path)} imports {name}"


def test_the_reproduction_imports_the_packages_it_uses_and_not_the_face():
    """Check that no job uses names of the interface, which are loaded lazily: changes would not rerun the job."""
    for path in sources(SRC / "reproduction"):
        for module, names in imports(path):
            own = {name for name in names if not name.startswith("_")}
            assert module != "dpmultinomial" or not own, f"{dotted(path)}: {own}"


def test_production_code_never_imports_tests():
    for path in sources(SRC):
        for module, _ in imports(path):
            assert module.split(".")[0] not in ("reference", "tests"), path


def test_figures_draw_and_compute_nothing():
    for path in sorted((SRC / "reproduction/papers").glob("*/*figure*.py")):
        if "figures" not in path.stem and path.stem != "figure":
            continue  # figure_1.py makes a table
        rooms, _ = reached(path)
        assert not rooms, f"{path}: a figure draws its table and computes nothing"


def test_no_code_outside_a_paper_names_it():
    root = SRC.parent
    papers = SRC / "reproduction/papers"
    slugs = [p.name for p in papers.iterdir() if p.is_dir() and not p.name.startswith("_")]
    code = [p for p in sources(SRC) if papers not in p.parents]
    code += [p for p in (root / "workflow").rglob("*") if p.suffix in (".py", ".smk")]
    for path in code:
        text = path.read_text(encoding="utf-8")
        assert not [slug for slug in slugs if slug in text], path


def test_functions_and_lines_are_short():
    for path in sources(SRC):
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    body = node.body[1:] if ast.get_docstring(node) else node.body
                    size = node.end_lineno - body[0].lineno + 1 if body else 0
                    assert size <= 60, f"{path.relative_to(SRC)}: {node.name} has {size} lines; split it"
    for path in [*sources(SRC), *SRC.rglob("*.yaml"), *SRC.rglob("*.smk")]:
        long = [n for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if len(line) > 120]
        assert not long, f"{path.relative_to(SRC)}: lines {long} are longer than 120 characters"


def test_files_are_at_most_800_lines_long():
    for path in [*SRC.rglob("*.py"), *SRC.rglob("*.pyx")]:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 800, f"{path.relative_to(SRC)} has {lines} lines; split it by ideas"
