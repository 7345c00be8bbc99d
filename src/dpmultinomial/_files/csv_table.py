"""Strict reader for all CSV files that users provide.

Every value is text until a column is requested as numbers; no column becomes an index, and nothing is guessed silently.
Errors state file, line, column and rule; errors about a confidential file never show its content, not even its header.

`decode` converts the bytes of a file to bytes that are ASCII-compatible, and `Decoded.encode` converts them back
without loss.

UTF-8 and Latin-1 are not changed. UTF-16 is converted to UTF-8 and back to the same UTF-16 (an unpaired surrogate is
rejected, so the conversion is exactly reversible).

`read` opens public files. Confidential files are rejected (`_files.places`); only `_releases` opens them.
"""

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._printing import steps
from . import _csv_fields, places
from .places import FileFault

ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True)
class Decoded:
    """Contents of a file as ASCII-compatible bytes, with the original encoding of the file.

    Parameters
    ----------
    data : content of the file without its byte order mark, in UTF-8 or Latin-1.
    stored : encoding of the file: ``"utf-8"``, ``"utf-16-le"``, ``"utf-16-be"`` or ``"latin-1"``.
    mark : byte order mark at the start of the file, or empty.
    """

    data: bytes
    stored: str
    mark: bytes

    @property
    def inner(self) -> str:
        """Name of the character encoding of the bytes in `data`."""
        return "latin-1" if self.stored == "latin-1" else "utf-8"

    def encode(self, data: bytes) -> bytes:
        """Return `data` in the original encoding of the file, with the byte order mark of the file."""
        if self.stored in ("utf-8", "latin-1"):
            return self.mark + data
        return self.mark + data.decode("utf-8").encode(self.stored)


def decode(raw: bytes, *, name: str, encoding: str | None = None) -> Decoded:
    """Detect the encoding of a file, or check the encoding stated by the user.

    Parameters
    ----------
    raw : all bytes of the file.
    name : name of the file, for error messages.
    encoding : one of `ENCODINGS`. None uses the byte order mark, and assumes UTF-8 if there is none. ``"utf-16"``
        requires a mark. Latin-1 accepts any bytes, so it is never guessed.

    Returns
    -------
    Decoded

    Raises
    ------
    ValueError
        If the bytes are not in this encoding (with file and line), or a mark contradicts it. No byte of the file is
        shown.
    """
    mark, marked = next(((m, e) for m, e in _MARKS if raw.startswith(m)), (b"", ""))
    stated = None if encoding is None else _checks.one_of("encoding", encoding, ENCODINGS)
    if stated == "latin-1":
        return Decoded(raw, "latin-1", b"")
    if stated == "utf-16" and marked not in ("utf-16-le", "utf-16-be"):
        raise FileFault(
            f"{name}: the encoding utf-16 requires a byte order mark, but the file has no byte order mark: set the "
            "encoding to utf-16-le or utf-16-be"
        )
    if stated not in (None, "utf-16") and marked and marked != stated:
        raise FileFault(
            f"{name}: the stated encoding is {stated}, but the file begins with the byte order mark of "
            f"{marked}: correct the encoding"
        )
    stored = marked or stated or "utf-8"
    body = raw[len(mark) :]
    problem = None
    try:
        text = body.decode(stored)
    except UnicodeDecodeError as error:
        problem = error.start
    if problem is not None:
        raise FileFault(_not(name, stored, body, problem))
    return Decoded(body if stored == "utf-8" else text.encode("utf-8"), stored, mark)


def _not(name: str, stored: str, body: bytes, place: int) -> str:
    unit = "\n".encode(stored)
    line = 1 + body[:place].count(unit)
    hint = (
        ""
        if stored != "utf-8"
        else "; save it as UTF-8, or state the encoding of a release (latin-1, utf-16-le, utf-16-be)"
    )
    return f"{name}, line {line}: the file is not valid {stored} (byte {place}){hint}"


DELIMITERS = (",", ";", "\t", "|")
LARGEST_WHOLE = 2**53
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_FORMS = {"whole": (_WHOLE, "must be an integer"), "number": (_NUMBER, "must be a number with a decimal point")}
_AT_ONCE = 100_000  # number of records between which the progress is shown
_SHOWN = 20  # largest number of invalid cells that are listed
Cell = tuple[str, int, str, str]  # column, record, rule, value
_RULES = {
    "quote inside": "the field contains a quote but does not begin with a quote: enclose the field in quotes and "
    "double the quote",
    "after quote": "the field has text after its closing quote",
    "open quote": "the quoted field has no closing quote",
    "carriage return": "the line contains a carriage return without a line feed, outside quotes",
    "nul": "the line contains a NUL byte: if the file is UTF-16 without a byte order mark, save it as UTF-8",
}


@dataclass(frozen=True)
class Limits:
    """Limits on the number of columns of a file and on the number of bytes of a field."""

    columns: int = 10_000
    length: int = 32_768


@dataclass(frozen=True, repr=False)
class CsvTable:
    """Contents of a CSV file that `parse` has checked.

    Parameters
    ----------
    name : name of the file, for error messages.
    confidential : whether errors must not show the content of the file.
    columns : names in the header.
    delimiter : delimiter between fields.
    source : bytes of the file and their encoding.
    starts, ends : int64 (records, columns), byte positions of every field, without the header.
    lines : int64 (records,), line on which each record begins.
    """

    name: str
    confidential: bool
    columns: tuple[str, ...]
    delimiter: str
    source: Decoded
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        return f"CsvTable({self.name}: {len(self)} records, {len(self.columns)} columns, {self.source.stored})"

    @property
    def raw(self) -> bytes:
        """Return the bytes of the file, in the original encoding and with the byte order mark."""
        return self.source.encode(self.source.data)

    def place(self, column: str) -> int:
        """Return the position of a column, counted from 0. Raise ValueError if no column has this name."""
        if column not in self.columns:
            known = "" if self.confidential else f". The columns of the file are {', '.join(map(repr, self.columns))}"
            raise FileFault(f"{self.name} has no column {column!r}{known}")
        return self.columns.index(column)

    def texts(self, column: str) -> list[str]:
        """Return the values of a column as strings without quotes. The first call takes O(records) time, about 0.3 s
        per million records.
        """
        if column not in self._read:
            self._read[column] = self._texts(self.place(column))
        return list(self._read[column])

    @cached_property
    def _read(self) -> dict[str, list[str]]:
        """Columns of the file that have been read, indexed by name."""
        return {}

    def _texts(self, k: int) -> list[str]:
        data, inner, texts = self.source.data, self.source.inner, list[str]()
        whole = data.decode("latin-1") if inner == "latin-1" or data.isascii() else None
        for rows in _parts(len(self), f"blocks of records of {self.name}"):
            spans = zip(self.starts[rows, k].tolist(), self.ends[rows, k].tolist(), strict=True)
            if whole is not None:
                fields = [whole[start:end] for start, end in spans]
            else:
                fields = [data[start:end].decode(inner) for start, end in spans]
            texts += [t[1:-1].replace('""', '"') if t[:1] == '"' else t for t in fields]
        return texts

    def whole(self, column: str, *, least: int = -LARGEST_WHOLE, most: int = LARGEST_WHOLE) -> NDArray[np.int64]:
        """Return a column of integers in [least, most] as a one-dimensional int64 array, with one integer per record.

        Only digits with an optional sign are accepted: ``3.0``, ``1e3``, spaces and empty cells are rejected.
        """
        texts = self.texts(column)
        wrong, values = self._judged(column, texts, "whole", least, most)
        self.refuse_all(wrong)
        return np.asarray(values, dtype=np.int64)

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return a column as a one-dimensional float64 array of finite numbers, one per record. The decimal separator
        is a point; spaces and words such as nan are rejected.
        """
        texts = self.texts(column)
        wrong, values = self._judged(column, texts, "number", -np.inf, np.inf)
        self.refuse_all(wrong)
        return np.asarray(values, dtype=np.float64)

    def wrong_cells(
        self, column: str, kind: str, *, least: float = -np.inf, most: float = np.inf, empty: bool = False
    ) -> list[Cell]:
        """Return the invalid cells of a column of numbers, in the format required by `refuse_all`.

        Parameters
        ----------
        column : name of the column.
        kind : ``"whole"`` or ``"number"``.
        least, most : bounds of integers.
        empty : whether a cell may be empty.
        """
        texts = self.texts(column)
        wrong, _ = self._judged(column, texts, kind, least, most)
        return [cell for cell in wrong if not (empty and cell[3] == "")]

    def refuse_all(self, cells: Sequence[Cell]) -> None:
        """Raise one error that lists all given invalid cells in the order of their lines in the file. Do nothing if
        there are no cells.

        Parameters
        ----------
        cells : (column, record, rule, value).

        Raises
        ------
        FileFault
            For one cell, the error of `refuse`; for several cells, an error with one line per cell, for at most twenty.
        """
        listed = sorted(cells, key=lambda cell: cell[1])
        if len(listed) == 1:
            raise self.refuse(*listed[0])
        if listed:
            lines = [str(self.refuse(*cell)).removeprefix(f"{self.name}, ") for cell in listed[:_SHOWN]]
            more = [f"and {len(listed) - _SHOWN} more"] if len(listed) > _SHOWN else []
            raise FileFault(
                "\n".join([f"{self.name}: {len(listed)} invalid cells", *(f"    {t}" for t in [*lines, *more])])
            )

    def exchanged(self, columns: Sequence[str], sources: NDArray[np.int64]) -> bytes:
        """Return the file after swapping, in which the fields `columns` of record i are taken from record sources[i]
        and all other bytes are unchanged.

        Parameters
        ----------
        columns : names of the columns, each once.
        sources : int64 (records,), a permutation of 0..records-1.
        """
        places = np.array(sorted(self.place(c) for c in columns), dtype=np.int64)
        source = self.source
        return source.encode(_csv_fields.exchange(source.data, self.starts, self.ends, columns=places, sources=sources))

    def sorted(self) -> "CsvTable":
        """Return a copy of the table in which the records are sorted by their bytes and empty lines are removed. Every
        line ends with the line break of the header. O(bytes log records).
        """
        data = self.source.data
        first = int(self.starts[0, 0]) if len(self) else len(data)
        header = data[:first].strip(b"\r\n")
        end = b"\r\n" if data[:first].endswith(b"\r\n") else b"\n"
        spans = zip(self.starts[:, 0].tolist(), self.ends[:, -1].tolist(), strict=True)
        records = sorted(data[start:stop] for start, stop in spans)
        content = self.source.encode(end.join([header, *records, b""]))
        encoding = None if self.source.mark else self.source.stored
        return parse(
            content, name=self.name, confidential=self.confidential, delimiter=self.delimiter, encoding=encoding
        )

    def refuse(self, column: str, record: int, rule: str, value: str) -> FileFault:
        """Return the error for one invalid cell, with file, line, column and rule. The error contains the value only if
        the file is not confidential.
        """
        shown = "" if self.confidential else f", got {value[:80]!r}"
        return FileFault(f"{self.name}, line {int(self.lines[record])}, column {column!r}: {rule}{shown}")

    def _judged(
        self, column: str, texts: list[str], kind: str, least: float, most: float
    ) -> tuple[list[Cell], NDArray[Any]]:
        """Return the invalid cells of a column of numbers, and the values of the column with invalid cells replaced by
        0.
        """
        form, rule = _FORMS[kind]
        good, values = list[bool](), np.empty(len(texts), dtype=np.int64 if kind == "whole" else np.float64)
        for rows in _parts(len(texts), f"checked blocks of records of {self.name}"):
            fit = [form.fullmatch(t) is not None for t in texts[rows]]
            values[rows] = np.array(
                [t if fits else "0" for t, fits in zip(texts[rows], fit, strict=True)], values.dtype
            )
            good += fit
        inside = np.isfinite(values) & (values >= least) & (values <= most)
        limits = f"must be in [{least}, {most}]" if kind == "whole" else "must be finite"
        wrong = [
            (column, record, limits if good[record] else rule, texts[record])
            for record in np.flatnonzero(~(np.array(good, dtype=bool) & inside)).tolist()
        ]
        return wrong, values


def _parts(size: int, what: str) -> Iterator[slice]:
    """Yield slices of consecutive records, and display the progress of the computation that uses the slices."""
    slices = [slice(start, start + _AT_ONCE) for start in range(0, size, _AT_ONCE)]
    return steps(slices, len(slices), what)


def parse(
    raw: bytes,
    *,
    name: str,
    confidential: bool,
    delimiter: str | None = None,
    encoding: str | None = None,
    limits: Limits | None = None,
) -> CsvTable:
    """Parse a complete CSV file and check its encoding, quoting, number of fields per row, column names and sizes.

    Parameters
    ----------
    raw : the file's bytes.
    name : name of the file, for error messages.
    confidential : whether the content of the file is kept out of error messages.
    delimiter : one of `DELIMITERS`; None detects the delimiter that occurs in the header outside quotes and for which
        every row has as many fields as the header. A file without any delimiter has one column.
    encoding : see `decode`.
    limits : limits on the number of columns and on the bytes of one field; None: the defaults of `Limits`.

    Returns
    -------
    CsvTable

    Raises
    ------
    ValueError
        With file, line, column and rule: a row with another number of fields, a column without a name or with a
        duplicate name, wrong quoting, a field or row that is too long, no header, a wrong encoding, or an ambiguous
        delimiter.

    Notes
    -----
    The rules are those of RFC 4180, with the additional rules of `_csv_fields`. About 5 ns per byte; 16 bytes of memory
    per field.
    """
    source = decode(raw, name=name, encoding=encoding)
    limits = limits or Limits()
    if delimiter is None:
        delimiter = _delimiter(source.data, name, limits)
    _checks.one_of("delimiter", delimiter, DELIMITERS)
    fields = _split(source.data, delimiter, limits)
    if fields.fault != "none":
        raise FileFault(_fault(fields, name, limits))
    if not len(fields.lines):
        raise FileFault(f"{name} is empty: the first line must contain the names of the columns")
    everything = CsvTable(name, confidential, (), delimiter, source, fields.starts, fields.ends, fields.lines)
    names = _header(everything)
    return CsvTable(name, confidential, names, delimiter, source, fields.starts[1:], fields.ends[1:], fields.lines[1:])


def _split(data: bytes, delimiter: str, limits: Limits) -> _csv_fields.Fields:
    return _csv_fields.split(data, delimiter=delimiter.encode(), most_columns=limits.columns, most_length=limits.length)


def _header(table: CsvTable) -> tuple[str, ...]:
    data, inner = table.source.data, table.source.inner
    spans = zip(table.starts[0].tolist(), table.ends[0].tolist(), strict=True)
    raw = [data[start:end].decode(inner) for start, end in spans]
    names = [t[1:-1].replace('""', '"') if t[:1] == '"' else t for t in raw]
    line, seen = int(table.lines[0]), dict[str, int]()
    for k, name in enumerate(names, start=1):
        if not name.strip():
            raise FileFault(f"{table.name}, line {line}, column {k}: the column has no name")
        if name in seen:
            shown = "" if table.confidential else f" ({name!r})"
            raise FileFault(
                f"{table.name}, line {line}, column {k}: the column has the same name as column "
                f"{seen[name]}{shown}: rename one of the columns"
            )
        seen[name] = k
    return tuple(names)


def _delimiter(data: bytes, name: str, limits: Limits) -> str:
    header = re.sub(rb'"(?:[^"]|"")*+"', b"", data[: 1 << 20]).lstrip(b"\r\n").split(b"\n", 1)[0]
    present = [d for d in DELIMITERS if d.encode() in header]
    if len(present) < 2:
        return present[0] if present else DELIMITERS[0]
    fitting = [d for d in present if _split(data, d, limits).fault == "none"]
    if len(fitting) == 1:
        return fitting[0]
    raise FileFault(
        f"{name}, line 1: the delimiter is ambiguous ({', '.join(map(repr, fitting or present))}): state the delimiter"
    )


def _fault(fields: _csv_fields.Fields, name: str, limits: Limits) -> str:
    place = f"{name}, line {fields.line}"
    if fields.fault == "width":
        width = fields.starts.shape[1]
        more = f"{fields.found} or more" if fields.found > width else str(fields.found)
        return f"{place}: the line must have {width} fields, as many as the header, got {more}"
    if fields.fault == "columns":
        return f"{place}: the file must have at most {limits.columns} columns"
    if fields.fault == "length":
        return (
            f"{place}, column {fields.column}: the field must have at most {limits.length} bytes, got "
            f"{fields.found} bytes"
        )
    return f"{place}, column {fields.column}: {_RULES[fields.fault]}"


LARGEST_FILE = 4 * 2**30


def read(path: str | Path, *, delimiter: str | None = None, encoding: str | None = None) -> CsvTable:
    """Read a public CSV file and check its contents.

    Parameters
    ----------
    path : path of the file.
    delimiter, encoding : stated values, or None to detect them (`csv_table.parse`).

    Returns
    -------
    CsvTable
        Errors about this file show the invalid value.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file does not exist, is confidential, has more than 4 GiB, or breaks a rule of `csv_table.parse`.
    """
    return parse(read_bytes(path), name=str(path), confidential=False, delimiter=delimiter, encoding=encoding)


def read_bytes(path: str | Path) -> bytes:
    """Return all bytes of a public file with a size of at most 4 GiB. The errors are the same as for `read`."""
    with open(places.public(path), "rb") as file:
        about = os.fstat(file.fileno())
        if about.st_size > LARGEST_FILE:
            raise FileFault(
                f"{path} must have at most {LARGEST_FILE:,} bytes, got {about.st_size:,} bytes: use a smaller file"
            )
        if not os.path.samestat(about, os.stat(places.public(path))):
            raise FileFault(f"{path} was replaced while it was being opened: run the command again")
        return file.read()
