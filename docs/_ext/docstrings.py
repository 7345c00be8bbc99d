"""Convert docstrings, signatures and formulas to the form that Sphinx expects.

Laws are plain text: ``|x|`` is an absolute value and ``n_`` a name, neither is markup. An entry of a section is
``name : text``, in which numpydoc would take the first line for a type. Signatures keep ``ArrayLike`` and
``NDArray[float64]``, which Sphinx would expand. Formulas become MathML when the site is built, so that pages load no
files and run no scripts.
"""

import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.typing import stringify_annotation
from sphinx.writers.html5 import HTML5Translator

_LITERAL = re.compile(r"(``.*?``|:[a-z:]+:`[^`]*`|`[^`]*`_?)")
_BAR = re.compile(r"(?<!\\)\|")
_TRAILING = re.compile(r"(?<=\w)_(?!\w)")
_SECTION = re.compile(r"(Parameters|Attributes|Returns|Yields)$")
_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.*)")
_TYPE = re.compile(r"(.{1,60}?)(?:[.:;] (.*))?$")
_ROOM = 90  # a line that ends here or earlier ends on purpose: it is a type, its description below


def plain(line: str) -> str:
    """Return one line of a docstring with bars and trailing underscores escaped for reStructuredText."""
    if line.lstrip().startswith(".. "):
        return line
    parts = _LITERAL.split(line)
    parts[::2] = [_TRAILING.sub(r"\\_", _BAR.sub(r"\\|", part)) for part in parts[::2]]
    return "".join(parts)


def described(entry: list[str]) -> list[str]:
    """Return an entry of a section with its text below its name (or below its type, if it has no name)."""
    first, *below = entry
    if below and len(first) + 1 + len(below[0].split()[0]) <= _ROOM:
        return entry
    text = " ".join(map(str.strip, entry))
    named = _ENTRY.match(text)
    if named:
        return [named[1], f"    {named[2]}"]
    typed = _TYPE.match(text)
    if typed and typed[2]:
        return [typed[1], f"    {typed[2]}"]
    return entry


def sections(lines: list[str]) -> list[str]:
    """Return a docstring in which all entries are described in this way."""
    done: list[str] = []
    entry: list[str] = []
    inside = False
    for number, line in enumerate([*lines, ""]):
        underlined = number + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[number + 1]) is not None
        if entry and not line.startswith(" "):
            done += described(entry)
            entry = []
        inside = bool(_SECTION.match(line)) if underlined else inside
        rule = number > 0 and re.fullmatch(r"-{3,}", line) is not None
        if inside and line.strip() and not underlined and not rule:
            entry.append(line)
        else:
            done.append(line)
    return done[:-1]


def _process(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    lines[:] = sections(lines)
    indented_code = False
    for number, line in enumerate(lines):
        if line.strip():
            indented_code = indented_code and line.startswith(" ")
        if not indented_code and not line.lstrip().startswith(">>>"):
            lines[number] = plain(line)
        indented_code = indented_code or line.rstrip().endswith("::")


_MODES = ("smart", "fully-qualified", "fully-qualified-except-typing")
_LIKE = re.compile("|".join(re.escape(stringify_annotation(ArrayLike, mode)) for mode in _MODES))
_ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?numpy\.dtype\[~?(?:numpy\.)?(\w+)\]\]")


def short(text: str) -> str:
    """Return a signature or a return annotation with the names of array types."""
    return _ARRAY.sub(r"NDArray[\1]", _LIKE.sub("ArrayLike", text))


def _shorten(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    return signature and short(signature), returns and short(returns)


_LOG = logging.getLogger(__name__)


def mathml(node: nodes.math | nodes.math_block, *, block: bool) -> str:
    """Return a formula in LaTeX as one MathML element; an invalid formula causes a warning and is shown as written."""
    try:
        return latex2mathml.tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        _LOG.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(mathml(node, block=False))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the conversions of docstrings, before numpydoc reads them, and of signatures, and the renderer of
    formulas, which `html_math_renderer` in conf.py names.
    """
    app.connect("autodoc-process-docstring", _process, priority=100)
    app.connect("autodoc-process-signature", _shorten)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
