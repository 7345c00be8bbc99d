"""Raw files to integer-coded tables, once, with the schema recorded; reading and writing such tables."""

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets as bundled

from dpmultinomial._models import coded_table
from dpmultinomial._models.coded_table import CodedTable

from . import catalogue, retrieval
from .catalogue import Source

NOT_RUN = "not_run"


def load(name: str, *, folders: Sequence[str | Path], download: bool, retries: int = 2) -> CodedTable:
    """A data set of the catalogue, or one that scikit-learn carries (``bundled_...``).

    Raises
    ------
    retrieval.ChecksumError, retrieval.UnavailableError
        As in `retrieval.obtain`.
    """
    if name in catalogue.BUNDLED:
        found = getattr(bundled, f"load_{name.removeprefix('bundled_')}")(as_frame=True)
        return coded_table.encode(found.frame, name=name, target="target", numeric=list(found.data.columns))
    source = catalogue.SOURCES[name]
    content = retrieval.obtain(source, folders=folders, download=download, retries=retries)
    return coded_table.encode(tidy(source, content), name=name, target=source.target, numeric=source.numeric)


def tidy(source: Source, content: dict[str, bytes]) -> pd.DataFrame:
    """One data frame of text cells from the raw files."""
    if any(name.endswith(".xls") for name in content):
        frame = _workbook(source, *content.values())
    else:
        skips = source.skip or (0,) * len(content)
        parts = [_text(source, raw, skip) for raw, skip in zip(content.values(), skips, strict=True)]
        frame = pd.concat(parts, ignore_index=True)
    frame = frame.drop(columns=list(source.dropped))
    if source.strip:
        frame[source.target] = frame[source.target].str.rstrip(source.strip)
    return frame


def _text(source: Source, raw: bytes, skip: int) -> pd.DataFrame:
    header: dict[str, Any] = {"header": 0} if source.header else {"header": None, "names": list(source.columns)}
    separator: dict[str, Any] = {"sep": source.separator, "skipinitialspace": source.separator == ","}
    return pd.read_csv(io.BytesIO(raw), dtype=str, keep_default_na=False, skiprows=skip, **header, **separator)


def _workbook(source: Source, raw: bytes) -> pd.DataFrame:
    frame = pd.read_excel(io.BytesIO(raw), header=1, engine="calamine")
    return frame.rename(columns={"default payment next month": source.target}).astype(str)


def write(table: CodedTable, csv: str | Path, schema: str | Path) -> None:
    """Codes as CSV, levels and roles as JSON; each all or nothing."""
    columns = [
        {"name": n, "numeric": bool(q), "levels": v.tolist()}
        for n, q, v in zip(table.columns, table.numeric, table.levels, strict=True)
    ]
    frame = pd.DataFrame(table.codes, columns=list(table.columns))
    _replace(csv, frame.to_csv(index=False, lineterminator="\n"))
    _replace(schema, json.dumps({"name": table.name, "status": "ready", "columns": columns}) + "\n")


def write_missing(name: str, reason: str, csv: str | Path, schema: str | Path) -> None:
    """What stands for a data set that could not be had."""
    _replace(csv, "\n")
    _replace(schema, json.dumps({"name": name, "status": NOT_RUN, "reason": reason}) + "\n")


def read(csv: str | Path, schema: str | Path) -> CodedTable | str:
    """The table, or the reason why there is none."""
    about: dict[str, Any] = json.loads(Path(schema).read_text(encoding="utf-8"))
    if about["status"] == NOT_RUN:
        return about["reason"]
    codes = pd.read_csv(csv, dtype=np.int32)
    return CodedTable(
        name=about["name"],
        columns=tuple(c["name"] for c in about["columns"]),
        codes=np.ascontiguousarray(codes.to_numpy()),
        levels=tuple(np.array(c["levels"]) for c in about["columns"]),
        numeric=tuple(c["numeric"] for c in about["columns"]),
    )


def _replace(path: str | Path, text: str) -> None:
    part = Path(f"{path}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
