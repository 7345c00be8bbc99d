"""Find the source files on which a module depends, by reading the import statements of the two packages of this
project.

The workflow lists these files as inputs of its rules, so that editing a module or kernel re-runs only the jobs that
depend on it.
"""

import hashlib
import re
from functools import cache
from pathlib import Path
from sysconfig import get_config_var

SRC = Path(__file__).resolve().parents[1]
ADAPTERS = (
    *("reproduction.jobs.making", "reproduction.jobs.making"),
    *("reproduction.provenance", "reproduction.trust", "reproduction.tables", "reproduction.trust"),
)
PACKAGES = ("dpmultinomial", "reproduction")
# Cython's utility module, which is compiled once and imported by every kernel
UTILITY = SRC / "dpmultinomial/_cyutility"
_CIMPORT = re.compile(r"^\s*from\s+(\.*)([\w.]+)\s+cimport\b", re.MULTILINE)
_HEADER = re.compile(r'^[ \t]*(?:cdef[ \t]+extern[ \t]+from|#include)[ \t]+"(\w+\.h)"', re.MULTILINE)
_PY_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


def extension_file(kernel: str | Path) -> Path:
    """Return the compiled extension of `kernel` (a path below ``src`` without the suffix) for the running version of
    Python.
    """
    base = SRC / kernel
    return base.with_name(f"{base.name}{get_config_var('EXT_SUFFIX')}")


def kernel_sources(kernel: str) -> list[Path]:
    """Return the .pyx file of `kernel`, and all .pxd files and C headers that the .pyx file includes directly or
    indirectly. The list is empty for the source code of Cython itself.
    """
    files: dict[Path, None] = {}
    todo = [SRC / f"{kernel}.pyx", SRC / f"{kernel}.pxd"]
    while todo:
        path = todo.pop()
        if path.is_file() and path not in files:
            files[path] = None
            text = path.read_text(encoding="utf-8")
            todo += [path.with_name(name) for name in _HEADER.findall(text)]
            for dots, module in _CIMPORT.findall(text):
                folder = path.parents[len(dots) - 1] if dots else SRC
                todo.append(folder.joinpath(*module.split(".")).with_suffix(".pxd"))
    return sorted(files)


def kernels() -> list[str]:
    """Return the names of all kernels, which are the paths of their files below ``src`` without the suffix."""
    return sorted(path.relative_to(SRC).with_suffix("").as_posix() for path in SRC.rglob("*.pyx"))


def sources(*modules: str) -> list[Path]:
    """Return the .py files and compiled kernels that are executed when `modules` (full dotted names) are imported.

    Raises
    ------
    ModuleNotFoundError
        If a named module does not exist.
    """
    for module in modules:
        if _file(module) is None:
            raise ModuleNotFoundError(f"the module {module} was not found: pass the full dotted name of a module")
    return sorted(set().union(*map(_reached, modules)))


def of_job(*modules: str) -> list[Path]:
    """Return the .py files and compiled kernels on which a job depends if the job calls functions of `modules`. These
    files include the modules that run jobs (see `sources`).
    """
    return sources(*ADAPTERS, *modules)


def digest(*modules: str) -> str:
    """Return a digest of the Python files that a job uses. The digest changes if a file is edited, but not if only its
    time stamp changes.
    """
    whole = hashlib.sha256()
    for path in of_job(*modules):
        if path.suffix == ".py":
            whole.update(f"{path.relative_to(SRC)} {_content(path)}\n".encode())
    return whole.hexdigest()


def extensions(*modules: str) -> list[Path]:
    """Return the compiled kernels that a job uses."""
    return [path for path in of_job(*modules) if path.suffix != ".py"]


@cache
def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _reached(first: str) -> frozenset[Path]:
    """Return the files that are executed when one module is imported."""
    files: set[Path] = set()
    seen, todo = {first}, [first]
    while todo:
        module = todo.pop()
        path = _file(module)
        if path is None or path in files:
            continue
        files.add(path)
        parts = module.split(".")
        named = {".".join(parts[:i]) for i in range(1, len(parts))}.union(_imported(path, module))
        todo += named - seen
        seen |= named
    compiled = {extension_file(p.with_suffix("")) if p.suffix == ".pyx" else p for p in files}
    return frozenset(compiled | {extension_file(UTILITY)} if compiled != files else compiled)


@cache
def _file(module: str) -> Path | None:
    """Return the source file of a module, or None for a name inside a module and for a folder without
    ``__init__.py``.
    """
    base = SRC.joinpath(*module.split("."))
    candidates = (base / "__init__.py", base.with_suffix(".py"), base.with_suffix(".pyx"))
    return next((path for path in candidates if path.is_file()), None)


@cache
def _imported(path: Path, module: str) -> list[str]:
    """Return the names that a Python file imports from the two packages of this project. Each name may be a module or a
    name inside a module.
    """
    is_package = path.name == "__init__.py"
    text = path.read_text(encoding="utf-8")
    names: list[str] = []
    for level, target, imported in _statements(text):
        if level == 0:
            base = target.split(".")
            if base[0] not in PACKAGES:
                continue
        else:
            parts = module.split(".")
            base = parts[: len(parts) - level + is_package] + (target.split(".") if target else [])
        names.append(".".join(base))
        names += [".".join([*base, name]) for name in imported]
    return names


def _statements(text: str) -> list[tuple[int, str, list[str]]]:
    """Return a tuple (level, module, names) for every import statement in the source code of a module. The statements
    are found with regular expressions, which is much faster than a syntax tree.
    """
    statements = []
    for dotted, names, plain in _PY_IMPORT.findall(text):
        if dotted:
            module = dotted.lstrip(".")
            listed = re.sub(r"#[^\n]*|[()\\]", " ", names).split(",")
            statements.append((len(dotted) - len(module), module, [n.split()[0] for n in listed if n.strip()]))
        else:
            statements += [(0, name.split()[0], []) for name in plain.split(",") if name.strip()]
    return statements
