"""Markdown of a paper's folder as HTML: formulas become MathML, and the name of a table or figure a link to its place.

Nothing is loaded and no script runs: MathML is typeset by the browser itself. Raw HTML in the text stays text.
"""

import re
from collections.abc import Collection
from typing import Any

from docutils.utils.math import MathError, latex2mathml
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

_FILE = re.compile(r"^(?:(?:results|figures)/(\w+)/)?(\w+)\.(?:csv|png)$")


def formula(latex: str, options: dict[str, Any]) -> str:
    """A formula in LaTeX as a MathML element; one that cannot be read is shown as it is written."""
    block = bool(options.get("display_mode"))
    try:
        found = str(latex2mathml.tex2mathml(latex, as_block=block))
    except MathError:
        return f"<code>{escape(latex)}</code>"
    scroll = f'<div class="formula" tabindex="0" role="region" aria-label="formula">{found}</div>'
    return scroll if block else found


class Prose:
    """Turns Markdown into HTML for the page of one paper.

    Parameters
    ----------
    slug : of the paper.
    places : names of its artefacts; a file of that name becomes a link to its place on the page.
    """

    def __init__(self, slug: str, places: Collection[str] = ()) -> None:
        self._slug, self._places = slug, frozenset(places)
        self._parser = MarkdownIt("commonmark", {"html": False}).enable("table")
        self._parser.use(dollarmath_plugin, renderer=formula, allow_labels=False)
        self._parser.add_render_rule("code_inline", lambda _, tokens, index, *rest: self._code(tokens[index].content))
        self._parser.add_render_rule("table_open", _table_open)
        self._parser.add_render_rule("table_close", _table_close)

    def block(self, text: str) -> Markup:
        """Paragraphs, lists, tables and formulas; its headings two levels down."""
        lowered = re.sub(r"^(#+ )", r"##\1", text, flags=re.MULTILINE)
        return Markup(self._parser.render(lowered))  # raw HTML is off, and every text is escaped

    def line(self, text: str) -> Markup:
        """One line, without a paragraph of its own."""
        return Markup(self._parser.renderInline(text))

    def mentioned(self, text: str) -> list[str]:
        """Artefacts of the paper whose files a text names, in the order of the text."""
        named = [self._place(code) for code in re.findall(r"`([^`]+)`", text)]
        return list(dict.fromkeys(name for name in named if name))

    def _place(self, code: str) -> str:
        match = _FILE.match(code)
        if not match or match[1] not in (None, self._slug) or match[2] not in self._places:
            return ""
        return str(match[2])

    def _code(self, said: str) -> str:
        code, place = f"<code>{escape(said)}</code>", self._place(said)
        return f'<a href="#{place}">{code}</a>' if place else code


def _table_open(*_: Any) -> str:
    return '<div class="wide" tabindex="0" role="region" aria-label="table"><table>'


def _table_close(*_: Any) -> str:
    return "</table></div>"
