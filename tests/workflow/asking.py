"""Which tests ask which papers there are: read from their text, as far as each function."""

import ast
import re

ASKS = re.compile(r"(?<!kind\.)(?<!studies\.)\bdiscover\(\)(?!\[)")  # which there are, not for one by its name


def about_papers(source):
    """Every test outside the papers' folders that asks which papers there are, and runs no workflow: itself, by what it
    is parametrised with, or by anything of its module or of a module of tests that it names."""
    rooms = [p for room in ("unit", "docs") for p in sorted((source / "tests" / room).rglob("test_*.py"))]
    files = {p: p.read_text() for p in rooms if p.name != "test_built_site.py"}
    return [f"{p}::{name}" for p, text in files.items() for name in asking(text, source) if name.startswith("test_")]


def asking(text, source):
    """Names that a module of tests defines or imports from another, and that depend on which papers there are."""
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
    """A name that is used, or an argument, which may be a fixture."""
    return [node.id] if isinstance(node, ast.Name) else [node.arg] if isinstance(node, ast.arg) else []


def _asks(node, lines, source):
    """Whether a statement does, or the module of tests it imports from."""
    if not isinstance(node, ast.ImportFrom):
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        return bool(ASKS.search("\n".join(lines[first - 1 : node.end_lineno])))
    place = source.joinpath(*(node.module or "").split("."))
    files = [place.with_suffix(".py"), *(place / f"{alias.name}.py" for alias in node.names)]
    of_tests = (node.module or "").startswith("tests")
    return of_tests and any(ASKS.search(file.read_text()) for file in files if file.is_file())
