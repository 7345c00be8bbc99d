"""Reading and writing the pipeline's tables: exact CSV for machines, a styled HTML view for the report."""

import os
from html import escape
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

_ROWS_SHOWN = 200
_TEXT = {"note", "relation", "sees", "other_variants"}  # columns of text even where every cell is empty
_STYLE = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:1.5em;color:#222}table{border-collapse:collapse}"
    "th,td{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}"
    "th{border-bottom:2px solid #222;position:sticky;top:0;background:#fff}"
    "td.text{text-align:left;white-space:normal;max-width:48em}p{max-width:60em}"
)


def read(path: str | Path, content: BinaryIO | None = None) -> pd.DataFrame:
    """A table as it was written: floats to the last bit, empty cells of text columns as empty text.

    Parameters
    ----------
    path : of the file.
    content : its bytes, where somebody has read them already (`reproduction.results` alone reads what a run made).
    """
    table = pd.read_csv(path if content is None else content, sep="\t" if str(path).endswith(".tsv") else ",")
    text = [*table.select_dtypes(include=["object", "string"]).columns, *(_TEXT & set(table.columns))]
    return table.assign(**{c: table[c].astype("string").fillna("").astype(object) for c in text})


def write(table: pd.DataFrame, path: str | Path) -> None:
    """CSV (or TSV, by the name's ending) with floats written so that they read back exactly; all or nothing."""
    separator = "\t" if str(path).endswith(".tsv") else ","
    _replace(path, table.to_csv(index=False, sep=separator, lineterminator="\n"))


def write_html(table: pd.DataFrame, path: str | Path, *, title: str, caption: str) -> None:
    """One self-contained page; floats to six digits, the first rows only (the CSV has them all)."""
    shown = table.head(_ROWS_SHOWN)
    note = (
        f"<p>First {len(shown):,} of {len(table):,} rows; all are in the CSV file.</p>"
        if len(table) > len(shown)
        else ""
    )
    head = "".join(f"<th>{escape(str(c))}</th>" for c in shown.columns)
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown.itertuples(index=False))
    _replace(
        path,
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(title)}</title><style>{_STYLE}</style>"
        f"<h1>{escape(title)}</h1><p>{escape(caption)}</p>{note}<table><thead><tr>{head}</tr></thead>"
        f"<tbody>\n{body}\n</tbody></table></html>\n",
    )


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"<td>{'' if np.isnan(value) else f'{value:.6g}'}</td>"
    kind = " class='text'" if isinstance(value, str) else ""
    return f"<td{kind}>{escape(str(value))}</td>"


def _replace(path: str | Path, text: str) -> None:
    path = Path(path)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
