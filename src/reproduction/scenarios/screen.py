"""Text of a scenario for the terminal: main result, first rows of the table, assumptions, accuracy."""

import json
import unicodedata
from collections.abc import Sequence

import pandas as pd

from . import batch, making
from .making import Files
from .summary import Summary, summarise

SHOWN = 24  # maximum number of rows shown; the file has all rows
_WIDEST = 60  # maximum width of a column; longer cells shift the next columns


def text(files: Files) -> str:
    """Return the text of a scenario for the terminal.

    Parameters
    ----------
    files : files of its results. If the CSV file does not hold all rows, the text names the Parquet file that does.
    """
    found = summarise(files)
    whole = [
        str(files.csv.with_name(point["all_rows"])) for point in found.facts.get("points", ()) if "all_rows" in point
    ]
    where = ", ".join(whole) or str(files.csv)
    batch = found.form == "batch"
    lines = [found.headline, *found.warnings, *(found.sentences if batch else ()), "", *_rows(found)]
    if (size := len(found.lines) + found.more) > SHOWN:
        lines.append(f".. {'the other tables are' if batch else f'{size - SHOWN:,} more rows are'} in {where}")
    accuracy = [text for text in found.accuracy if text not in found.warnings]
    full = f"Full precision: {where}; facts: {files.facts}"
    return "\n".join([*lines, "", *found.assumptions, *accuracy, "", full])


def as_json(files: Files) -> str:
    """Return a scenario as JSON: ``rows`` with the columns of its table (null if a cell is empty), ``headline``,
    ``warnings``, ``assumptions`` and ``accuracy`` as sentences, and the names of its files.

    Parameters
    ----------
    files : files of its results.
    """
    found = summarise(files)
    table = pd.concat(list(batch.read(files.csv))) if found.form == "batch" else making.read(files)[0]
    rows = table.astype(object).where(table.notna() & (table != ""), None).to_dict("records")
    said = {"headline": found.headline, "warnings": list(found.warnings)}
    said |= {"assumptions": list(found.assumptions), "accuracy": list(found.accuracy)}
    whole = {"scenario": found.name, "rows": rows, **said, "table": str(files.csv), "facts": str(files.facts)}
    return json.dumps(making.plain(whole), indent=1, ensure_ascii=False, allow_nan=False)


def _rows(found: Summary) -> list[str]:
    """Return the first rows of the table, with a column for the point or table if the scenario has several, and with
    least squares if a row has them.
    """
    head = ["quantity", "type", "released", "mean", f"{found.level} interval", "accuracy"]
    rows = [[line.quantity, line.noun, line.released, line.mean, line.interval, line.state] for line in found.lines]
    if any(line.least_squares for line in found.lines):
        head.insert(-1, "least squares")
        for row, line in zip(rows, found.lines, strict=True):
            row.insert(-1, line.least_squares)
    if any(line.confidence for line in found.lines):
        head.insert(-1, "confidence interval")
        for row, line in zip(rows, found.lines, strict=True):
            row.insert(-1, line.confidence)
    if any(line.key for line in found.lines):
        head.insert(0, "table" if found.form == "batch" else ", ".join(found.facts["points"][0]["at"]))
        for row, line in zip(rows, found.lines, strict=True):
            row.insert(0, line.key)
    return table([head, *rows[:SHOWN]])


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of text in which the columns of the rows are aligned."""
    widths = [min(max(_wide(row[i]) for row in rows), _WIDEST) for i in range(len(rows[0]))]
    return ["  ".join(c + " " * (w - _wide(c)) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _wide(cell: str) -> int:
    """Return the width of a text on screen: two columns for each Chinese, Japanese or Korean character."""
    return len(cell) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in cell)
