"""Detection of tests that depend on the set of existing papers, from their source text, per function."""

import ast
import re

ASKS = re.compile(r"(?<!kind\.)(?<!studies\.)\bdiscover\(\)(?!\[)")  # the set of papers, but not one paper by its name


def about_papers(source):
    """Return every test outside the papers' folders that depends on the set of papers and runs no workflow: directly,
    by its parametrisation, or through anything that it uses from its own module or another test module."""
    rooms = [p for room in ("unit", "docs") for p in sorted((source / "tests" / room).rglob("test_*.py"))]
    files = {p: p.read_text() for p in rooms if p.name != "test_built_site.py"}
    return [f"{p}::{name}" for p, text in files.items() for name in asking(text, source) if name.startswith("test_")]


def asking(text, source):
    """Return the names that a test module defines or imports from another and that depend on the set of papers."""
    if not ASKS.search(text) and "from tests" not in text:
        return []
    statements = [(_defined(node), node) for node in ast.parse(text).body]
    used = [(names, {part for n in ast.walk(node) for part in _names(n)}) for names, node in statements if names]
    asks = {name for names, node in statements if _asks(node, text.splitlines(), source) for name in names}
    while more := {name for names, needed in used if asks & needed for name in names} - asks:
        asks |= more
    return [name for names, _ in used for name in names if name in asks]


def _defined(node):
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, ast.Assign):
        return [part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


def _names(node):
    """Return names that are used, including arguments, which may be fixtures."""
    return [node.id] if isinstance(node, ast.Name) else [node.arg] if isinstance(node, ast.arg) else []


def _asks(node, lines, source):
    """Return whether a statement depends on the set of papers, or imports from a test module that does."""
    if not isinstance(node, ast.ImportFrom):
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        return bool(ASKS.search("\n".join(lines[first - 1 : node.end_lineno])))
    place = source.joinpath(*(node.module or "").split("."))
    files = [place.with_suffix(".py"), *(place / f"{alias.name}.py" for alias in node.names)]
    of_tests = (node.module or "").startswith("tests")
    return of_tests and any(ASKS.search(file.read_text()) for file in files if file.is_file())
