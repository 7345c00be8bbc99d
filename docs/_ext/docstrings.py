"""Docstrings write laws as plain text: ``|x|`` is an absolute value and ``n_`` a name, neither is markup."""

import re

from sphinx.application import Sphinx

_LITERAL = re.compile(r"(``.*?``|:[a-z:]+:`[^`]*`|`[^`]*`_?)")
_BAR = re.compile(r"(?<!\\)\|")
_TRAILING = re.compile(r"(?<=\w)_(?!\w)")


def plain(line: str) -> str:
    """One line of a docstring whose bars and trailing underscores reStructuredText leaves alone."""
    if line.lstrip().startswith(".. "):
        return line
    parts = _LITERAL.split(line)
    parts[::2] = [_TRAILING.sub(r"\\_", _BAR.sub(r"\\|", part)) for part in parts[::2]]
    return "".join(parts)


def _process(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    indented_code = False
    for number, line in enumerate(lines):
        if line.strip():
            indented_code = indented_code and line.startswith(" ")
        if not indented_code and not line.lstrip().startswith(">>>"):
            lines[number] = plain(line)
        indented_code = indented_code or line.rstrip().endswith("::")


def setup(app: Sphinx) -> dict[str, bool]:
    """Runs before numpydoc reads a docstring."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
