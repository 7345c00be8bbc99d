"""Which files of this package a module really uses, found by reading import statements.

The workflow names them as inputs of its rules: an edited module or kernel re-runs what depends on it, and nothing else.
"""

import ast
import re
from functools import cache
from pathlib import Path
from sysconfig import get_config_var

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT.name
_CIMPORT = re.compile(r"^\s*from\s+\.(\w+)\s+cimport\b", re.MULTILINE)
_PY_IMPORT = re.compile(r"^(?:from\s+(\.+[\w.]*)\s+import\s+(.+)|import\s+([\w.]+))", re.MULTILINE)


def extension_file(kernel: str) -> Path:
    """Path of the compiled extension of `kernel` for this Python."""
    return ROOT / "kernels" / f"{kernel}{get_config_var('EXT_SUFFIX')}"


def kernel_sources(kernel: str) -> list[Path]:
    """The .pyx of `kernel` and every .pxd it includes, directly or not."""
    found: dict[Path, None] = {}
    todo = [ROOT / "kernels" / f"{kernel}.pyx", ROOT / "kernels" / f"{kernel}.pxd"]
    while todo:
        path = todo.pop()
        if path.is_file() and path not in found:
            found[path] = None
            todo += [path.with_name(f"{name}.pxd") for name in _CIMPORT.findall(path.read_text(encoding="utf-8"))]
    return sorted(found)


def kernels() -> list[str]:
    """Names of all kernels."""
    return sorted(path.stem for path in (ROOT / "kernels").glob("*.pyx"))


def sources(*modules: str) -> list[Path]:
    """Files that `modules` (dotted names below the package) execute when imported: .py and compiled kernels.

    Raises
    ------
    ModuleNotFoundError
        If a named module does not exist.
    """
    found: set[Path] = set()
    todo = list(modules)
    for module in modules:
        if _file(module) is None:
            raise ModuleNotFoundError(f"no module {PACKAGE}.{module}")
    while todo:
        module = todo.pop()
        path = _file(module)
        if path is None or path in found:
            continue
        found.add(path)
        parts = module.split(".") if module else []
        todo += [".".join(parts[:i]) for i in range(len(parts))]
        todo += _imported(path, module)
    return sorted(extension_file(p.stem) if p.suffix == ".pyx" else p for p in found)


def _file(module: str) -> Path | None:
    """Source of a module given below the package ('' is the package itself); None for a name inside a module."""
    base = ROOT.joinpath(*module.split(".")) if module else ROOT
    candidates = (base / "__init__.py", base.with_suffix(".py"), base.with_suffix(".pyx"))
    return next((path for path in candidates if path.is_file()), None)


@cache
def _imported(path: Path, module: str) -> list[str]:
    """Names this file imports from the package; each may turn out to be a module or a name inside one."""
    is_package = path.name == "__init__.py"
    text = path.read_text(encoding="utf-8")
    names: list[str] = []
    for level, target, imported in _statements(text, path.suffix):
        if level == 0:
            if target.split(".")[0] != PACKAGE:
                continue
            base = target.split(".")[1:]
        else:
            parts = module.split(".") if module else []
            base = parts[: len(parts) - level + is_package] + (target.split(".") if target else [])
        names.append(".".join(base))
        names += [".".join([*base, name]) for name in imported]
    return names


def _statements(text: str, suffix: str) -> list[tuple[int, str, list[str]]]:
    if suffix == ".pyx":
        found = []
        for dotted, names, _ in _PY_IMPORT.findall(text):
            if dotted:
                rest = dotted.lstrip(".")
                found.append((len(dotted) - len(rest), rest, [n.split(" as ")[0].strip() for n in names.split(",")]))
        return found
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or "", [alias.name for alias in node.names]))
        elif isinstance(node, ast.Import):
            found += [(0, alias.name, []) for alias in node.names]
    return found
