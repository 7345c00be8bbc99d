"""A scenario on a screen: the sentence to read, the first rows of its table, what was assumed, how far to trust it."""

import unicodedata
from collections.abc import Sequence

from .making import Files
from .told import Told, told

SHOWN = 24  # rows; the file has all
_WIDEST = 60  # letters of a column; longer ones push what follows


def text(files: Files) -> str:
    """What a screen says of a scenario, from the files that were made of it.

    Parameters
    ----------
    files : of any scenario. Where a table is too large for CSV alone, the Parquet file that has all is named.
    """
    found = told(files)
    whole = [
        str(files.csv.with_name(point["all_rows"])) for point in found.facts.get("points", ()) if "all_rows" in point
    ]
    where = ", ".join(whole) or str(files.csv)
    batch = found.form == "batch"
    lines = [found.headline, *(found.sentences if batch else ()), "", *_rows(found)]
    if (size := len(found.lines) + found.more) > SHOWN:
        lines.append(f".. {'the other tables are' if batch else f'{size - SHOWN:,} rows more'} in {where}")
    return "\n".join([*lines, "", *found.assumed, *found.trust, "", f"All digits: {where}; facts: {files.facts}"])


def _rows(found: Told) -> list[str]:
    """The first rows; with the point or table where there are several, with least squares where any row has them."""
    head = ["quantity", "what it is", "released", "mean", f"{found.level} interval", "accuracy"]
    rows = [[line.quantity, line.noun, line.released, line.mean, line.interval, line.state] for line in found.lines]
    if any(line.beside for line in found.lines):
        head.insert(-1, "least squares")
        for row, line in zip(rows, found.lines, strict=True):
            row.insert(-1, line.beside)
    if any(line.key for line in found.lines):
        head.insert(0, "table" if found.form == "batch" else ", ".join(found.facts["points"][0]["at"]))
        for row, line in zip(rows, found.lines, strict=True):
            row.insert(0, line.key)
    return table([head, *rows[:SHOWN]])


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the cells of each row in columns."""
    widths = [min(max(_wide(row[i]) for row in rows), _WIDEST) for i in range(len(rows[0]))]
    return ["  ".join(c + " " * (w - _wide(c)) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _wide(cell: str) -> int:
    """Columns of a screen that a text takes: two for each letter of Chinese, Japanese, Korean."""
    return len(cell) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in cell)
