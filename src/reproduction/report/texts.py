"""Convert the Markdown files in the folder of a paper to HTML. Formulas become MathML, and names of tables or figures
become links.

No resource is loaded and no script runs, because the browser typesets MathML. Raw HTML in the text is escaped.

Numbers and tables are shown with six digits. The CSV file has full precision (`shown`).
"""

import math
import numbers
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from docutils.utils.math import MathError, latex2mathml
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

_FILE = re.compile(r"^(?:(?:results|figures)/(\w+)/)?(\w+)\.(?:csv|png)$")


def formula(latex: str, options: dict[str, Any]) -> str:
    """Return a LaTeX formula as a MathML element. An invalid formula is shown as written."""
    block = bool(options.get("display_mode"))
    try:
        mathml = str(latex2mathml.tex2mathml(latex, as_block=block))
    except MathError:
        return f"<code>{escape(latex)}</code>"
    scroll = f'<div class="formula" tabindex="0" role="region" aria-label="formula">{mathml}</div>'
    return scroll if block else mathml


class Prose:
    """Converter of Markdown to HTML for the page of one paper.

    Parameters
    ----------
    slug : slug of the paper.
    places : names of the artefacts of the paper; a file name of an artefact becomes a link to its place on the page.
    """

    def __init__(self, slug: str, places: Collection[str] = ()) -> None:
        self._slug, self._places = slug, frozenset(places)
        self._parser = MarkdownIt("commonmark", {"html": False}).enable("table")
        self._parser.use(dollarmath_plugin, renderer=formula, allow_labels=False)
        self._parser.add_render_rule("code_inline", lambda _, tokens, index, *rest: self._code(tokens[index].content))
        self._parser.add_render_rule("table_open", _table_open)
        self._parser.add_render_rule("table_close", _table_close)

    def block(self, text: str) -> Markup:
        """Return the HTML of a Markdown text with paragraphs, lists, tables and formulas. Headings are two levels lower
        than in the text.
        """
        lowered = re.sub(r"^(#+ )", r"##\1", text, flags=re.MULTILINE)
        return Markup(self._parser.render(lowered))  # raw HTML is off, and all text is escaped

    def line(self, text: str) -> Markup:
        """Return the HTML of one line of Markdown, without a paragraph element."""
        return Markup(self._parser.renderInline(text))

    def mentioned(self, text: str) -> list[str]:
        """Return the names of the artefacts whose files are mentioned in a text, in order of appearance."""
        named = [self._place(code) for code in re.findall(r"`([^`]+)`", text)]
        return list(dict.fromkeys(name for name in named if name))

    def _place(self, code: str) -> str:
        match = _FILE.match(code)
        if not match or match[1] not in (None, self._slug) or match[2] not in self._places:
            return ""
        return str(match[2])

    def _code(self, text: str) -> str:
        code, place = f"<code>{escape(text)}</code>", self._place(text)
        return f'<a href="#{place}">{code}</a>' if place else code


def _table_open(*_: Any) -> str:
    return '<div class="wide" tabindex="0" role="region" aria-label="table"><table>'


def _table_close(*_: Any) -> str:
    return "</table></div>"


ROWS_WHOLE, ROWS_FIRST = 30, 10  # a table with more rows than the first number is truncated to the second number
COLUMNS_SHOWN = 14


@dataclass(frozen=True)
class Table:
    """Leading rows of a table of results, formatted for a page.

    Parameters
    ----------
    columns : names of the columns.
    rows : cells as strings.
    numeric : which columns contain numbers.
    total : number of rows in the file.
    file : href of the CSV file in the report; empty if the file is too large to be copied.
    path : path of the file in the run.
    """

    columns: list[str]
    rows: list[list[str]]
    numeric: list[bool] = field(default_factory=list)
    total: int = 0
    file: str = ""
    path: str = ""

    @property
    def cut(self) -> bool:
        """Return whether the page omits some rows of the table."""
        return self.total > len(self.rows)


def shown(table: pd.DataFrame, *, file: str = "", path: str = "", most: int = ROWS_WHOLE) -> Table:
    """Return a table of results, formatted for a page. The table is complete if it has at most `most` rows; otherwise,
    only its first rows are returned. Empty columns are omitted.
    """
    kept = table.dropna(axis=1, how="all").iloc[:, :COLUMNS_SHOWN]
    part = kept if len(kept) <= most else kept.head(ROWS_FIRST)
    rows = [[text(value) for value in row] for row in part.itertuples(index=False, name=None)]
    numeric = [pd.api.types.is_numeric_dtype(kept[name]) for name in kept]
    return Table([str(name) for name in kept], rows, numeric, len(table), file, path)


def text(value: Any) -> str:
    """Return the value of a table cell as text. A real number is formatted with six significant digits (see `number`),
    and a missing value becomes an empty string.
    """
    if value is None or value is pd.NA:
        return ""
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, numbers.Integral)):
        return number(float(value))
    return str(value)


def number(value: float, digits: int = 6) -> str:
    """Return a number as text with `digits` significant digits. Integers below 10^9 are written in full, and NaN gives
    an empty string.
    """
    if math.isnan(value):
        return ""
    if value == int(value) if math.isfinite(value) else False:
        return f"{int(value)}" if abs(value) < 1e9 else f"{value:.{digits}g}"
    return f"{value:.{digits}g}"


def printed(value: float, digits: float) -> str:
    """Return a printed number as text, with as many decimals as are printed in the paper."""
    if math.isnan(value) or math.isnan(digits):
        return number(value)
    return f"{value:.{max(0, int(digits))}f}"


def beside(value: float, digits: float) -> str:
    """Return a reproduced number as text, with two decimals more than the printed number. If the number of printed
    decimals is unknown, the text has at most six significant digits.
    """
    if not math.isfinite(value) or math.isnan(digits):
        return number(value)
    shown = f"{value:.{max(0, int(digits)) + 2}f}"
    return number(value) if value and (float(shown) == 0 or abs(value) >= 1e9) else _trimmed(shown, value)


def _trimmed(shown: str, value: float) -> str:
    """Return a number as text, without decimals if the number is an integer."""
    return f"{value:.0f}" if value == int(value) else shown
