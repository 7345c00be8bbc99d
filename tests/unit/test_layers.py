"""Layers run one way: every import of both packages is read and held against them."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
LIBRARY = SRC / "dpmultinomial"
# A room may import from the rooms named after it, from itself, and from the ground: _seeding, _honesty, _checks, ..
ROOMS = {
    "_kernels": (),
    "_results": (),
    "_files": ("_kernels",),
    "_accounting": ("_kernels",),
    "_mechanisms": ("_kernels", "_accounting"),
    "_posteriors": ("_kernels", "_results", "_accounting", "_mechanisms"),
    "_measurement_files": ("_kernels", "_results", "_files", "_mechanisms", "_posteriors"),
    "_inference": ("_kernels", "_results", "_files", "_accounting", "_mechanisms", "_posteriors"),
    "_models": ("_kernels", "_results", "_accounting", "_mechanisms", "_posteriors"),
    "_releases": ("_kernels", "_results", "_files", "_accounting", "_mechanisms", "_posteriors", "_models"),
}
# The rooms of posteriors and of the reproduction, likewise; what stands beside them is common to all.
POSTERIORS = {
    "counts": (),
    "published": (),
    "trees": ("published",),
    "additive": ("counts",),
    "swapping": ("counts",),
    "censored": (),
}
REPRODUCTION = {
    "config": (),
    "jobs": ("config",),
    "verdicts": ("config", "jobs"),
    "scenarios": ("config",),
    "studies": ("config", "jobs"),
    "report": ("config", "jobs", "verdicts", "scenarios"),
    "archive": ("config", "jobs", "verdicts"),
}
EXTRAS_OF_USE = {"plot.py": {"matplotlib"}, "posterior.py": {"arviz_base"}}  # imported where they are asked for
GROUND = {"_seeding", "_honesty", "_arrays", "_quadrature", "_checks", "_lazy", "__init__"}
OUTSIDE = {"numpy", "scipy", "pandas"}  # what the library depends on
EXTRAS = {
    "_models": {"sklearn", "networkx"},
    "_releases": {"opendp", "randomgen"},
    "_measurement_files": {"pyarrow"},
}
_PYX = re.compile(r"^\s*(?:from\s+(\.*)([\w.]*)\s+c?import\s+\(?([\w, ]+)|c?import\s+([\w.]+))", re.MULTILINE)


@cache
def imports(path):
    """(absolute dotted module, names) of every import statement of a source file."""
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
    """Rooms (or ground modules) of the library that a file imports, and packages from outside."""
    rooms, outside = set(), set()
    for module, names in imports(path):
        top, *rest = module.split(".")
        if top == "dpmultinomial":
            rooms |= {rest[0]} if rest else set(names) or {"__init__"}
        elif top not in ("reproduction", ""):
            outside.add(top)
    return rooms, outside


LIBRARY_FILES = sources(LIBRARY)


@pytest.mark.parametrize("path", LIBRARY_FILES, ids=[str(p.relative_to(SRC)) for p in LIBRARY_FILES])
def test_the_library_imports_downwards_only(path):
    room = path.relative_to(LIBRARY).parts[0] if path.parent != LIBRARY else ""
    rooms, outside = reached(path)
    allowed = set(ROOMS.get(room, ())) | {room} | GROUND | {"__version__"}
    assert rooms <= allowed, f"{room or 'the ground'} must not import {sorted(rooms - allowed)}"
    standard = set(__import__("sys").stdlib_module_names) | {"libc", "cpython", "cython", "__future__"}
    foreign = outside - standard - OUTSIDE - EXTRAS.get(room, set())
    foreign -= EXTRAS_OF_USE.get(path.name, set()) if room == "_results" else set()
    assert not foreign, f"{room or 'the ground'} must not depend on {sorted(foreign)}"


def test_the_library_knows_no_paper_and_no_workflow():
    slugs = [p.name for p in (SRC / "reproduction/papers").iterdir() if p.is_dir() and not p.name.startswith("_")]
    words = re.compile(
        "|".join([r"\bimport snakemake\b", r"^(from|import) matplotlib\b", r"\breproduction\.", *slugs]), re.M
    )
    door = SRC / "dpmultinomial/_command.py"  # the installed `dpm` hands over to the project's where that is there
    for path in sorted(set(LIBRARY_FILES) - {door}):
        found = words.search(path.read_text(encoding="utf-8"))
        assert not found, f"{path.relative_to(SRC)}: {found and found.group()}"


def targets(path):
    """Modules and names inside modules that a file of ours imports from our packages, as dotted names."""
    for module, names in imports(path):
        if module.split(".")[0] in ("dpmultinomial", "reproduction"):
            yield from (f"{module}.{name}" for name in names or [""])


def dotted(path):
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize(
    ("package", "order"), [("dpmultinomial._posteriors", POSTERIORS), ("reproduction", REPRODUCTION)]
)
def test_inner_packages_are_layers_too(package, order):
    folder = SRC.joinpath(*package.split("."))
    assert {p.name for p in folder.iterdir() if (p / "__init__.py").is_file()} - {"papers"} == set(order)
    for room, allowed in order.items():
        for path in sources(folder / room):
            met = {name.removeprefix(f"{package}.").split(".")[0] for name in targets(path) if name.startswith(package)}
            assert not met & (set(order) - {room, *allowed}), path


def test_what_has_an_underscore_is_used_in_its_folder_alone():
    """A room of the library is private to this repository, whose other package is the reproduction."""
    for path in sources(SRC):
        for name in targets(path):
            parts = name.rstrip(".").split(".")
            for i, part in enumerate(parts):
                if part.startswith("_") and not part.startswith("__"):
                    own = dotted(path).split(".")[:i] == parts[:i]
                    assert own or (i == 1 and parts[0] == "dpmultinomial"), f"{dotted(path)} imports {name}"


def test_the_reproduction_imports_the_packages_it_uses_and_not_the_face():
    """Names of the face load lazily: a job that used them would not be run again when their modules change."""
    for path in sources(SRC / "reproduction"):
        for module, names in imports(path):
            own = {name for name in names if not name.startswith("_")}
            assert module != "dpmultinomial" or not own, f"{dotted(path)}: {own}"


def test_no_modules_wait_for_each_other():
    modules = {dotted(path): path for path in sources(SRC) if path.suffix == ".py" and path.stem != "__init__"}
    graph = {}
    for name, path in modules.items():
        met = {".".join(parts[:i]) for t in targets(path) for parts in [t.split(".")] for i in range(1, len(parts) + 1)}
        graph[name] = met & modules.keys() - {name}
    list(TopologicalSorter(graph).static_order())  # raises CycleError with the circle


def test_production_code_never_imports_tests():
    for path in sources(SRC):
        for module, _ in imports(path):
            assert module.split(".")[0] not in ("twins", "tests"), path


def test_only_releases_reach_confidential_files():
    """Who opens files at all is checked in test_release_layers."""
    for path in sources(SRC):
        if path.relative_to(SRC).parts[:2] != ("dpmultinomial", "_releases"):
            for module, names in imports(path):
                assert "_confidential" not in [*module.split("."), *names], path


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
