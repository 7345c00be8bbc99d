"""Read the columns of public files of a scenario before any job starts. The module is written in plain Python."""

import csv
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from os import stat
from os.path import isfile
from pathlib import Path
from typing import Any

from dpmultinomial._files import places

TABLE = "table"  # name of the column that makes a file a batch
LARGEST = 10**8  # largest allowed integer
LARGEST_ROWS = 10**7  # largest number of rows of a Parquet file
LARGEST_UNPACKED = 4 * 2**30  # largest number of bytes of a Parquet file after decompression
LARGEST_NAME = 1000  # largest number of characters of a name in a Parquet file
_READ = 1 << 20  # number of bytes of a file that are examined before any job
_PLACE = "paths are relative to the working directory"
Judge = Callable[[str], object]
_RULE = "a file of public numbers must be CSV in UTF-8 with a header, or .parquet"


def header(path: Path) -> list[str]:
    """Return the names of the columns of a public file.

    Raises
    ------
    ValueError
        If the file is confidential, missing, unreadable, not UTF-8, empty or without rows, or a name is a duplicate.
    """
    if not isfile(places.public(path)):
        raise ValueError(f"{str(path)!r} is not a file: {_PLACE}")
    try:
        names = _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{str(path)!r} is not valid UTF-8 (byte {error.start}): {_RULE}") from None
    except (OSError, csv.Error) as error:
        raise ValueError(f"{str(path)!r} cannot be read ({error}): {_RULE}") from None
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ValueError(f"{str(path)!r} has two columns with the name {twice[0]!r}: rename one of these columns")
    return names


def columns(path: str, batch: bool) -> list[str]:
    """Return the column names of a batch of tables or of a file with a single table. The file with a single table can
    have any column separator. The errors are those of `header`.
    """
    if batch or path.lower().endswith(".parquet") or not isfile(places.public(path)):
        return header(Path(path))
    table = _table(path, _stamp(path))
    if not len(table):
        raise ValueError(f"{path!r} has no rows: {_RULE}")
    return list(table.columns)


def is_batch(file: object) -> bool:
    """Return whether the `file` of a scenario has a column `TABLE` and is therefore a batch. The result is False if the
    file cannot be read.
    """
    try:
        return isinstance(file, str) and TABLE in header(Path(file))
    except ValueError:
        return False


def texts(path: str, kinds: Mapping[str, str], judges: Mapping[str, Judge] | None = None) -> dict[str, list[str]]:
    """Read a file that contains one table, check that the numeric columns contain only numbers, and return all columns
    as strings.

    Parameters
    ----------
    path : path of a CSV file, or of a Parquet file if its name ends in .parquet.
    kinds : mapping from a column to ``text``, ``number`` (an empty cell stays empty) or ``whole``, 0 to 10^8.
    judges : mapping from a column to a function that raises ValueError with the rule if a cell is invalid.

    Raises
    ------
    ValueError
        For all mistakes in the file, or if the file is confidential.
    """
    if path.lower().endswith(".parquet"):
        listed = {column: _parquet_texts(path, column, kind) for column, kind in kinds.items()}
        for column, row, rule, text in _judged(listed, judges or {}):
            raise ValueError(f"{path!r}, row {row + 1}, column {column!r}: {rule}, got {text[:80]!r}")
        return listed
    by_column, wrong = _texts(path, _stamp(path), tuple(kinds.items()))
    if wrong := [*wrong, *_judged(by_column, judges or {})]:
        _table(path, _stamp(path)).refuse_all(wrong)
    return dict(by_column)


def _judged(columns: Mapping[str, list[str]], judges: Mapping[str, Judge]) -> list[tuple[str, int, str, str]]:
    """Return the invalid cells of some columns as tuples (column, record, rule, value). Equal texts are checked
    once.
    """
    wrong = []
    for column, judge in judges.items():
        rules: dict[str, str] = {}
        for text in dict.fromkeys(columns[column]):
            try:
                judge(text)
            except ValueError as error:
                rules[text] = str(error)
        if rules:
            wrong += [(column, i, rules[text], text) for i, text in enumerate(columns[column]) if text in rules]
    return wrong


def _stamp(path: str) -> tuple[int, ...]:
    """Return numbers that identify the state of a file and change if the file is changed or replaced."""
    status = stat(places.public(path))
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(1)
def _table(path: str, stamp: tuple[int, ...]) -> Any:
    """Return the table in a CSV file, which is taken from the cache if this file was read last. The table that was read
    last is cached, so that the checks and the answers of one command share it.
    """
    from dpmultinomial._files import csv_table  # this import requires a compiled kernel

    return csv_table.read(path)


@lru_cache(1)
def _texts(
    path: str, stamp: tuple[int, ...], columns: tuple[tuple[str, str], ...]
) -> tuple[dict[str, list[str]], list[tuple[str, int, str, str]]]:
    """Return the given columns of a file, and the invalid cells in the numeric columns."""
    table, kinds = _table(path, stamp), dict(columns)
    by_column = {column: table.texts(column) for column in kinds}
    wrong = [cell for c, kind in kinds.items() if kind == "number" for cell in table.wrong_cells(c, kind, empty=True)]
    whole = [c for c, kind in kinds.items() if kind == "whole"]
    wrong += [cell for c in whole for cell in table.wrong_cells(c, "whole", least=0, most=LARGEST)]
    return by_column, wrong


def by_table(path: str, columns: Mapping[str, Sequence[str]], keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that are given as columns of a file with one table. Each of these columns must be constant.

    Parameters
    ----------
    path : path of the file, for error messages.
    columns : columns of the file, as strings.
    keys : mapping from the keys that may be columns to ``text`` or ``number``.

    Raises
    ------
    ValueError
        If a column has different values or no value.
    """
    settings: dict[str, Any] = {}
    for key in (key for key in keys if key in columns):
        values = list(dict.fromkeys(columns[key]))
        if len(values) != 1 or not values[0]:
            raise ValueError(
                f"{path!r}, column {key!r}: all rows must have the same value, which must not be empty, got "
                f"{', '.join(map(repr, values[:5]))}"
            )
        number = float(values[0]) if keys[key] == "number" else 0.5
        settings[key] = values[0] if keys[key] == "text" else int(number) if number == int(number) else number
    return settings


def _csv(path: Path) -> list[str]:
    with path.open("rb") as stream:
        start = stream.read(_READ)
    if b"\0" in start:
        raise ValueError(f"{str(path)!r} is not a text file, because it contains NUL bytes: {_RULE}")
    whole = start if len(start) < _READ else start.rpartition(b"\n")[0]
    rows = filter(None, csv.reader(whole.decode("utf-8-sig").splitlines()))  # an empty line is not a row
    names = next(rows, [])
    if not next(rows, []):
        raise ValueError(f"{str(path)!r} has no rows: {_RULE}")
    return names


def _parquet(path: Path) -> list[str]:
    import pyarrow as pa  # imported only for a Parquet file, because it is slow
    import pyarrow.parquet

    try:
        file = pa.parquet.ParquetFile(path)
    except (pa.ArrowException, MemoryError) as error:
        raise ValueError(f"{str(path)!r} is not a Parquet file ({error}): {_RULE}") from None
    if not file.metadata.num_rows:
        raise ValueError(f"{str(path)!r} has no rows: {_RULE}")
    _refuse_large(path, file.metadata)
    return list(file.schema_arrow.names)


def _refuse_large(path: Path, stated: Any) -> None:
    """Reject a Parquet file whose footer states too many rows, columns or bytes, before any of its data are read."""
    unpacked = sum(stated.row_group(k).total_byte_size for k in range(stated.num_row_groups))
    for number, most, what in (
        (stated.num_rows, LARGEST_ROWS, "rows"),
        (stated.num_columns, 10_000, "columns"),
        (unpacked, LARGEST_UNPACKED, "bytes when it is decompressed"),
    ):
        if number > most:
            raise ValueError(f"{str(path)!r} must have at most {most} {what}, got {number}: split the file")


def _parquet_texts(path: str, column: str, kind: str) -> list[str]:
    """Return one column of a Parquet file as strings. Repeated strings are read once, and numbers must be finite."""
    import pyarrow as pa  # imported only for a Parquet file, because it is slow
    import pyarrow.parquet

    header(Path(path))
    name = places.public(path)
    try:
        read = pa.parquet.read_table(
            name, columns=[column], read_dictionary=[column] if kind == "text" else [], use_threads=False
        )
        values = read.column(0).combine_chunks()
        if pa.types.is_dictionary(values.type):
            known = values.dictionary.to_pylist()
            wide = next((text for text in known if len(str(text)) > LARGEST_NAME), None)
            if wide is not None:
                raise ValueError(
                    f"{path!r}, column {column!r}: a name must have at most {LARGEST_NAME} characters, "
                    f"got a name with {len(str(wide))} characters that begins with {str(wide)[:20]!r}: shorten the name"
                )
            listed = ["" if k is None else str(known[k]) for k in values.indices.to_pylist()]
        else:
            listed = ["" if value is None or value != value else str(value) for value in values.to_pylist()]
    except (pa.ArrowException, UnicodeError, MemoryError, OverflowError) as error:
        raise ValueError(
            f"{path!r}, column {column!r}: the values cannot be read ({str(error)[:200]}): {_RULE}"
        ) from None
    if kind != "text":
        _refuse_numbers(path, column, kind, listed)
    return listed


def _refuse_numbers(path: str, column: str, kind: str, listed: Sequence[str]) -> None:
    """Raise ValueError for the first cell in a column that does not contain a valid number. An empty cell is allowed
    unless the kind is `whole`.
    """
    for row, text in enumerate(listed, start=1):
        if not text and kind == "number":
            continue
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        rule = "a finite number" if kind == "number" else f"an integer in [0, {LARGEST}]"
        if not math.isfinite(value) or (kind == "whole" and not (0 <= value <= LARGEST and value == int(value))):
            raise ValueError(f"{path!r}, row {row}, column {column!r}: the value must be {rule}, got {text[:80]!r}")
