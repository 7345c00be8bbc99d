"""Rules for every docstring of ``src``: one entry per line, known sections, existing parameters and existing names.

Files are read but not imported, so that compiled and Python modules are checked in the same way.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "Examples")  # in this order
WIDTH, ROOM = 120, 30  # line length; columns that a broken line may leave unused
_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : \S")
_SECOND = re.compile(r"[.;:)] +\w+(?:, \w+)* : ")
_ERRORS = re.compile(r"[A-Z]\w*(?:, (?:\w+\.)*[A-Z]\w*)*$")
_TEXT = re.compile(r'""".*?"""', re.DOTALL)
_NAME = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)*)`(?!`)")
_HEAD = re.compile(
    r"^ *(?:cdef class|class|cp?def|def)\b[^\n(]*?(\w+)(?:\((.*)\))?[^()]*:[^:()]*\Z", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Docstring:
    """One docstring, with the names that its ``Parameters`` may and must have, or None if these are unknown."""

    where: str
    name: str
    text: str
    parameters: tuple[str, ...] | None

    @property
    def sections(self) -> list[tuple[str, list[str]]]:
        """Return (title, lines) of every underlined section, without empty lines at its ends."""
        lines = inspect.cleandoc(self.text).splitlines()
        starts = [i - 1 for i, line in enumerate(lines) if i and re.fullmatch(r"-{3,}", line)]
        ends = [*starts[1:], len(lines)]
        return [
            (lines[first], "\n".join(lines[first + 2 : end]).strip("\n").splitlines())
            for first, end in zip(starts, ends, strict=False)
        ]


def of_python(path: Path, source: str) -> Iterator[Docstring]:
    """Yield the docstrings of a Python module, of its classes and of its functions."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text:
                name = getattr(node, "name", "")
                yield Docstring(f"{path}:{node.body[0].lineno}", name, text, _parameters(node, tree))


def of_cython(path: Path, source: str) -> Iterator[Docstring]:
    """Yield the docstrings of a Cython module; a class has the arguments of its ``__init__`` or ``__cinit__``."""
    parts = source.split('"""')
    for i in range(1, len(parts), 2):
        head = _HEAD.search(re.split(r"^(?= *(?:c?p?def|class)\b)", parts[i - 1], flags=re.MULTILINE)[-1])
        arguments = head and head[2]
        if head and arguments is None:
            made = re.search(r"def __c?init__\((.*?)\):", parts[i + 1], re.DOTALL)
            arguments = made and made[1]
        names = None if arguments is None else tuple(_cython_arguments(arguments))
        line = '"""'.join(parts[:i]).count("\n") + 1
        yield Docstring(f"{path}:{line}", head[1] if head else "", parts[i], names)


def _cython_arguments(text: str) -> Iterator[str]:
    for part in re.sub(r"\([^()]*\)|\[[^\[\]]*\]|#.*", "", text).split(","):  # remove default values and shapes
        declared = part.partition("=")[0].strip().removesuffix(" not None")
        found = re.search(r"(\w+)\s*(?::.*)?$", declared)
        if found and found[1] not in ("self", "cls"):
            yield found[1]


def _parameters(node: ast.AST, tree: ast.Module) -> tuple[str, ...] | None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given = node.args
        plain = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        starred = [a.arg for a in (given.vararg, given.kwarg) if a]
        return tuple(name for name in (*plain, *starred) if name not in ("self", "cls"))
    return _fields(node, tree) if isinstance(node, ast.ClassDef) else None


def _fields(node: ast.ClassDef, tree: ast.Module) -> tuple[str, ...] | None:
    """Return the arguments of a class: those of ``__init__``, or the fields of a dataclass and its parents."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            return _parameters(inner, tree)
    parents = {base.id for base in node.bases if isinstance(base, ast.Name)}
    above = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name in parents]
    names = [name for parent in above for name in _fields(parent, tree) or ()]
    for inner in node.body:
        if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            made = inner.value is not None and "init=False" in ast.unparse(inner.value)
            if not made and "ClassVar" not in ast.unparse(inner.annotation):
                names.append(inner.target.id)
    return tuple(names) or None


def mistakes(docstring: Docstring) -> Iterator[str]:
    """Yield the mistakes in one docstring, as text."""
    titles = [title for title, _ in docstring.sections]
    for title in titles:
        if title not in SECTIONS:
            yield f"{title!r} is no section of {', '.join(SECTIONS)}"
    if [t for t in SECTIONS if t in titles] != [t for t in titles if t in SECTIONS]:
        yield f"sections {titles} must each stand once, in the order {SECTIONS}"
    for title, lines in docstring.sections:
        if title in ("Parameters", "Attributes", "Returns", "Yields"):
            yield from _wrong_entries(title, lines)
        if title == "Raises":
            yield from _wrong_errors(lines)
        if title == "Parameters":
            yield from _wrong_parameters(docstring, lines)
    yield from _broken_lines(docstring.text)


def entries(lines: list[str]) -> list[list[str]]:
    """Return the entries of a section: a line at the margin with the indented lines below it."""
    found: list[list[str]] = []
    for line in filter(None, lines):
        if line.startswith(" ") and found:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _wrong_entries(title: str, lines: list[str]) -> Iterator[str]:
    found = entries(lines)
    for entry in found:
        alone = title in ("Returns", "Yields") and len(found) == 1  # a type without a name
        if not alone and not _ENTRY.match(entry[0]):
            yield f"{title}: {entry[0]!r} is no `name : text`, nor indented by 4 below one"
        for line in entry[1:]:
            if not re.match(r" {4}\S", line):
                yield f"{title}: {line!r} is not indented by 4"
        second = _SECOND.search(" ".join(map(str.strip, entry)))
        if second:
            yield f"{title}: {second.group()[2:-3].strip()!r} needs a line of its own"


def _wrong_errors(lines: list[str]) -> Iterator[str]:
    for entry in entries(lines):
        if not all(map(_ERRORS.match, [entry[0].split(".")[-1]])) or len(entry) < 2:
            yield f"Raises: {entry[0]!r} must be names of errors, and below it when"


def _wrong_parameters(docstring: Docstring, lines: list[str]) -> Iterator[str]:
    heads = filter(None, (_ENTRY.match(entry[0]) for entry in entries(lines)))
    named = [name.lstrip("*") for head in heads for name in head[1].split(", ")]
    known = docstring.parameters
    if known is None:
        yield "Parameters: nothing here takes any"
        return
    for name in sorted({name for name in named if named.count(name) > 1}):
        yield f"Parameters: {name} stands twice"
    if set(named) - set(known):
        yield f"Parameters: {sorted(set(named) - set(known))} are not in the signature"
    missing = [name for name in known if name not in named and not name.startswith("_")]
    if missing and not docstring.name.startswith("_"):
        yield f"Parameters: {missing} are missing"


def _broken_lines(text: str) -> Iterator[str]:
    """Yield lines that end within a sentence although the next word would fit, the effect of wrapping twice."""
    lines = inspect.cleandoc(text).splitlines()
    for line, after in pairwise(lines):
        if (
            not line.strip()
            or not after.strip()
            or ">>>" in line
            or re.search(r"([.:;!?]|-{3,}|={3,})$", line.rstrip())
        ):
            continue
        same = len(line) - len(line.lstrip()) == len(after) - len(after.lstrip())
        marked = (
            re.match(r"\s*(``|>>>|\||-{3,}|={3,}|\*{0,2}\w+(, \*{0,2}\w+)* : )", after) or "(" in after.split()[0]
        )  # a formula
        if same and not marked and len(line) + 1 + len(after.split()[0]) <= WIDTH - ROOM:
            yield f"line {line.strip()[-40:]!r} ends early before {after.split()[0]!r}"


class Names:
    """All words of the code below a folder, without docstrings, and the locations of its modules and packages."""

    def __init__(self, folder: Path) -> None:
        files = [p for suffix in ("py", "pyx", "pxd") for p in sorted(folder.rglob(f"*.{suffix}"))]
        self._words = {p: set(re.findall(r"\w+", _TEXT.sub("", p.read_text(encoding="utf-8")))) for p in files}
        self._all = set().union(*self._words.values(), (p.stem for p in files))
        self._places = {(p.parent.name, p.stem) for p in files} | {(p.parent.parent.name, p.parent.name) for p in files}

    def unknown(self, text: str) -> Iterator[str]:
        """Yield names in single backticks that do not exist; ``package.module.name`` is checked part by part."""
        for name in _NAME.findall(text):
            parts = name.split(".")
            if not all(part in self._all or part in dict(self._places) for part in parts):
                yield f"`{name}` names nothing"
            elif len(parts) > 1 and not self._follows(parts):
                yield f"`{name}`: {parts[0]} has no {parts[1]}"

    def _follows(self, parts: list[str]) -> bool:
        inside = [p for p in self._words if parts[0] in (p.stem, p.parent.name)]
        if not inside:  # a class or an argument
            return True
        return (parts[0], parts[1]) in self._places or any(
            parts[1] in self._words[p] for p in inside if p.stem in (parts[0], "__init__")
        )
