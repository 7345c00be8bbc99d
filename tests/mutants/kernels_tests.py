"""Which test files see which kernel: those that import it, then those that import a module which does."""

import ast
from functools import cache
from pathlib import Path

from reproduction import dependencies

FOLDERS = {"tests/unit": 2, "tests/statistical": 2, "src/reproduction/papers/*/tests": 1}  # and imports at most
NOT_OF_KERNELS = {"test_layers.py", "test_dependencies.py", "test_stubs.py", "test_wheel.py", "test_sabotage.py"}


def kernels_of(path: Path, root: Path) -> list[str]:
    """Names of the kernels to build anew when `path` (a .pyx or .pxd below `root`) changes."""
    own = dependencies.SRC / path.relative_to(root / "src")
    return [kernel for kernel in dependencies.kernels() if own in dependencies.kernel_sources(kernel)]


@cache
def _imports(path: Path, root: Path) -> frozenset[str]:
    """Modules of the library that a Python file imports, as dotted names; names that are no modules do no harm."""
    found = set()
    package = (
        ".".join(path.relative_to(root / "src").with_suffix("").parts[:-1]) if root / "src" in path.parents else ""
    )
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], *base.split(".")])
            found |= {base.strip("."), *(f"{base.strip('.')}.{alias.name}" for alias in node.names)}
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(name for name in found if name.startswith(("dpmultinomial.", "reproduction.")))


def _file(module: str, root: Path) -> Path | None:
    path = root / "src" / Path(*module.split(".")).with_suffix(".py")
    return path if path.exists() else None


def distance(test: Path, kernel: str, root: Path, most: int = 2) -> int | None:
    """Imports from a test file to a kernel: 1 if it imports the kernel itself; None if more than `most`."""
    reached = {test}
    for step in range(1, most + 1):
        names = set().union(*(_imports(path, root) for path in reached))
        if kernel.replace("/", ".") in names:
            return step
        reached = {path for name in names if (path := _file(name, root))}
    return None


def tests_of(kernels: list[str], root: Path) -> list[Path]:
    """Test files of the kernels: unit tests first, nearest first."""
    found = {}
    for order, (folder, most) in enumerate(FOLDERS.items()):
        for test in sorted(root.glob(f"{folder}/**/test_*.py")):
            steps = [d for kernel in kernels if (d := distance(test, kernel, root, most)) is not None]
            if steps and test.name not in NOT_OF_KERNELS:
                found[test.relative_to(root)] = order, min(steps)
    return sorted(found, key=lambda test: (*found[test], str(test)))
