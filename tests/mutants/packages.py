"""Packages of the code: modules that are mutated together and the test files that may notice it.

A paper's package is its folder, found by being there: ``tests/mutations.yaml`` in it lists mutations made by hand, each
of a constant that decides what privacy costs. The library's packages are its folders; theirs stand in ``library.yaml``
here. What draws (it imports matplotlib), benchmarks and scripts that only hand over are excluded.
"""

import re
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).parents[2]
HERE = Path("tests/mutants")
WHOLE_RUNS = {"test_workflow.py"}  # files of tests that run the whole workflow


@dataclass(frozen=True)
class Package:
    """Paths are relative to the tree; `count` is the size of the sample if none is asked for."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    by_hand: str
    count: int


def found(tree: Path = TREE) -> dict[str, Package]:
    """All packages by name."""
    src = tree / "src"
    packages = [_paper(tree, path.parent) for path in sorted((src / "reproduction/papers").glob("*/paper.yaml"))]
    shared = [p for p in sorted((src / "reproduction").rglob("*.py")) if not {"papers", "report"} & set(p.parts)]
    unit = _test_files(tree, "tests/unit")
    packages.append(
        _package(tree, "reproduction", shared, _naming(unit, r"(?:from|import) reproduction"), HERE / "shared.yaml", 30)
    )
    both = unit + _test_files(tree, "tests/statistical")
    library = src / "dpmultinomial"
    for folder in sorted(path.parent for path in library.glob("_*/__init__.py")):
        modules = sorted(folder.rglob("*.py"))
        words = "|".join([folder.name, *(path.stem for path in modules if path.stem != "__init__")])
        packages.append(
            _package(tree, folder.name.lstrip("_"), modules, _naming(both, words), HERE / "library.yaml", 12)
        )
    ground = sorted(library.glob("*.py"))
    packages.append(_package(tree, "ground", ground, _naming(both, "dpmultinomial"), HERE / "library.yaml", 8))
    return {package.name: package for package in packages}


def _paper(tree: Path, folder: Path) -> Package:
    tests = [path for path in sorted((folder / "tests").glob("test_*.py")) if path.name not in WHOLE_RUNS]
    return _package(
        tree,
        folder.name,
        sorted([*folder.glob("*.py"), *folder.glob("algorithms/*.py")]),
        tests,
        folder.relative_to(tree) / "tests/mutations.yaml",
        24,
    )


def _package(tree: Path, name: str, modules: list[Path], tests: list[Path], by_hand: Path, count: int) -> Package:
    mutated = [str(path.relative_to(tree)) for path in modules if _is_mutated(path)]
    return Package(name, tuple(mutated), tuple(str(path.relative_to(tree)) for path in tests), str(by_hand), count)


def _is_mutated(path: Path) -> bool:
    if path.name in ("__init__.py", "bench.py") or path.stem.endswith("_script"):
        return False
    return not re.search(r"^\s*(import matplotlib|from matplotlib)", path.read_text(encoding="utf-8"), re.MULTILINE)


def _test_files(tree: Path, folder: str) -> list[Path]:
    return sorted((tree / folder).glob("test_*.py"))


def _naming(paths: list[Path], words: str) -> list[Path]:
    pattern = re.compile(rf"(?<!\w)({words})(?!\w)")
    return [path for path in paths if pattern.search(path.read_text(encoding="utf-8"))]
