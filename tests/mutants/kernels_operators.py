"""Small wrong changes of a Cython source, token by token: signs, comparisons, constants, statements, arguments.

Cython's tokens are Python's. Declarations, signatures, imports, strings and pointers are left alone; what does not
compile all the same is drawn anew by `kernels.py`.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SWAPS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "and": "or", "or": "and", "min": "max",
    "max": "min", "fmin": "fmax", "fmax": "fmin", "floor": "ceil", "ceil": "floor", "break": "continue",
    "True": "False", "False": "True",
}  # fmt: skip
OPERATORS = {
    "+": "arithmetic", "-": "arithmetic", "*": "arithmetic", "/": "arithmetic", "//": "arithmetic", "%": "arithmetic",
    "+=": "arithmetic", "-=": "arithmetic", "*=": "arithmetic", "/=": "arithmetic", "and": "logic", "or": "logic",
}  # fmt: skip
DECLARING = ("import", "from", "cimport", "def", "cpdef", "class", "struct", "enum", "ctypedef", "extern", "@")
TYPES = {"double", "int", "int64_t", "uint64_t", "uint32_t", "Py_ssize_t", "char", "void", "float", "object", "bint"}
LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)
Token = tokenize.TokenInfo


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Parameters
    ----------
    path : the file. line : its line, from 1. operator : kind of change. start, end : offsets in the text. old, new :
    the text there and its replacement. before, after : the line as it is and as it becomes.
    """

    path: Path
    line: int
    operator: str
    start: int
    end: int
    old: str
    new: str
    before: str
    after: str

    def apply(self, text: str) -> str:
        """The mutated text."""
        assert text[self.start : self.end] == self.old, "the file is not the one the mutant was made for"
        return text[: self.start] + self.new + text[self.end :]


def mutants(path: Path) -> list[Mutant]:
    """Every mutant of a file, in the order of its text."""
    text = path.read_text(encoding="utf-8")
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    found = []
    for statement in _statements(text):
        if not _declares(statement):
            changes = [*_tokens(statement), *_dropped(statement), *_arguments(statement)]
            found += [_mutant(path, text, offsets, *change) for change in changes]
    return found


def replaced(path: Path, old: str, new: str) -> Mutant:
    """The mutant that has `new` in place of `old`.

    Raises
    ------
    ValueError
        If `old` does not stand there exactly once: the code has moved on and the list must follow.
    """
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ValueError(f"{old!r} must stand once in {path.name}; change the entry")
    start = text.index(old)
    return _changed(path, text, "by hand", start, start + len(old), new)


def _mutant(path: Path, text: str, offsets: list[int], operator: str, first: Token, last: Token, new: str) -> Mutant:
    start, end = (offsets[row - 1] + column for row, column in (first.start, last.end))
    return _changed(path, text, operator, start, end, new)


def _changed(path: Path, text: str, operator: str, start: int, end: int, new: str) -> Mutant:
    left, right = text.rfind("\n", 0, start) + 1, text.index("\n", end)
    before, after = text[left:right], text[left:start] + new + text[end:right]
    shown = (" ".join(part.split()) for part in (before, after))
    return Mutant(path, text.count("\n", 0, start) + 1, operator, start, end, text[start:end], new, *shown)


def _statements(text: str) -> Iterator[list[Token]]:
    """Tokens of one logical line after another, without layout and comments."""
    statement: list[Token] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            yield statement
            statement = []
        elif token.type not in LAYOUT and token.string:
            statement.append(token)


def _declares(statement: list[Token]) -> bool:
    words = [token.string for token in statement]
    if not words or statement[0].type == tokenize.STRING or words[0] in DECLARING or words[0] == "raise":
        return True
    if words[0] not in ("cdef", "const") and words[0] not in TYPES:
        return False
    return words[-1] == ":" or "=" not in words or words[1] in DECLARING


def _is_value(token: Token) -> bool:
    return token.type in (tokenize.NAME, tokenize.NUMBER) or token.string in (")", "]")


def _tokens(statement: list[Token]) -> Iterator[tuple[str, Token, Token, str]]:
    """Changes of one token: number, operator, name of a function or a word."""
    for i, token in enumerate(statement[1:-1], 1):
        before, after, new = statement[i - 1], statement[i + 1], SWAPS.get(token.string)
        if token.string in "<>" and (after.string in TYPES or before.string in (*TYPES, "*")):
            continue  # a cast
        if token.string in "+-" and not _is_value(before):
            yield "sign", token, token, ""
        elif token.string == "*" and not (_is_value(before) and before.string not in TYPES):
            continue
        elif token.string == "not" and before.string not in ("is",) and after.string != "in":
            yield "logic", token, token, ""
        elif new is not None and before.string != ".":
            yield OPERATORS.get(token.string, "comparison" if token.string[0] in "<>=!" else "word"), token, token, new
    for i, token in enumerate(statement):
        layout = i > 1 and (
            statement[i - 2].string == "shape" or statement[i - 2].string == statement[i - 1].string == ":"
        )
        if token.type == tokenize.NUMBER and not token.string.endswith("j") and not layout:
            yield from _constants(token, first=i > 0 and token.string == "0" and statement[i - 1].string in "[,")


def _constants(token: Token, *, first: bool) -> Iterator[tuple[str, Token, Token, str]]:
    """A number one more and one less, as far as its digits show it; `first`: the 0 of an index only one more."""
    value = ast.literal_eval(token.string)
    for new in (value + 1,) if first else (value + 1, value - 1):
        if new != value:
            yield "constant", token, token, repr(new) if new >= 0 else f"({new!r})"


def _dropped(statement: list[Token]) -> Iterator[tuple[str, Token, Token, str]]:
    """A statement of no block of its own left out."""
    words = [token.string for token in statement]
    blocks = ("if", "for", "while", "elif", "else", "with", "try", "except", "return", "cdef", "pass", "finally")
    if words[0] not in blocks and words[-1] != ":" and ("(" in words or any(w.endswith("=") for w in words)):
        yield "dropped", statement[0], statement[-1], "pass"


def _arguments(statement: list[Token]) -> Iterator[tuple[str, Token, Token, str]]:
    """f(a, b, ..) becomes f(b, a, ..), a and b names or numbers."""
    plain = (tokenize.NAME, tokenize.NUMBER)
    for i in range(len(statement) - 5):
        name, opening, a, comma, b, closing = statement[i : i + 6]
        called = name.type == tokenize.NAME and opening.string == "(" and name.string not in ("range", "in", "return")
        if called and comma.string == "," and closing.string in (",", ")") and {a.type, b.type} <= set(plain):
            yield from [("arguments", a, b, f"{b.string}, {a.string}")] if a.string != b.string else []
