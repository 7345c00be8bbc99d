# cython: language_level=3
"""Positions of the fields in a CSV file (RFC 4180), and exchange of fields between records in the file's bytes.

The format is RFC 4180, with these additional rules: a record ends at LF or CRLF; a carriage return elsewhere outside
quotes, a quote inside an unquoted field and a NUL byte are errors; a quoted field may contain delimiters, doubled
quotes and any line breaks; an empty line is not a record; the last record needs no line break; the first record
determines the number of columns of all records. Bytes >= 128 are not interpreted, so every encoding that contains
ASCII is supported (UTF-8, Latin-1).
"""
from collections import namedtuple

import numpy as np

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from .. import _checks

FAULTS = ("none", "width", "quote inside", "after quote", "open quote", "carriage return", "nul", "length", "columns")
Fields = namedtuple("Fields", "starts ends lines fault line column found")
Fields.__doc__ = "int64 (records, width) starts and ends, (records,) first lines; fault of FAULTS, its place, a number."

cdef enum:
    NONE, WIDTH, QUOTE_INSIDE, AFTER_QUOTE, OPEN_QUOTE, CARRIAGE_RETURN, NUL, LENGTH, COLUMNS
cdef uint8_t QUOTE = 34, LF = 10, CR = 13


cdef inline int c_field(const uint8_t *data, int64_t *place, int64_t size, uint8_t delimiter,
                        int64_t *line) noexcept nogil:
    """Move `place` from the first byte of a field to the byte after its end, and count the line feeds inside quotes."""
    cdef int64_t i = place[0]
    cdef uint8_t byte
    if i < size and data[i] == QUOTE:  # quoted: up to a quote that is not doubled
        i += 1
        while i < size:
            byte = data[i]
            if byte == QUOTE:
                if i + 1 < size and data[i + 1] == QUOTE:
                    i += 1
                else:
                    break
            elif byte == LF:
                line[0] += 1
            elif byte == 0:
                return NUL
            i += 1
        if i >= size:
            return OPEN_QUOTE
        i += 1
        place[0] = i
        if i < size and data[i] != delimiter and data[i] != LF and data[i] != CR:
            return AFTER_QUOTE
        return NONE
    while i < size:  # not quoted: up to a delimiter or a line break
        byte = data[i]
        if byte == delimiter or byte == LF or byte == CR:
            break
        if byte == QUOTE:
            return QUOTE_INSIDE
        if byte == 0:
            return NUL
        i += 1
    place[0] = i
    return NONE


cdef int split_fill(const uint8_t[::1] data, uint8_t delimiter, int64_t first, int64_t most_columns,
                    int64_t most_length, int64_t[::1] starts, int64_t[::1] ends, int64_t[::1] lines,
                    int64_t *about) noexcept nogil:
    """Find all delimiters and line breaks; `about` receives: fields, records, width, line, column, found."""
    cdef const uint8_t *bytes_ = &data[0]
    cdef int64_t size = data.shape[0], i = first, line = 1, fields = 0, records = 0, width = 0, column, start
    cdef int fault
    while i < size:
        # an empty line is not a record
        if bytes_[i] == LF or (bytes_[i] == CR and i + 1 < size and bytes_[i + 1] == LF):
            i += 1 + (bytes_[i] == CR)
            line += 1
            continue
        lines[records] = line
        column = 0
        while True:
            column += 1
            start = i
            about[3], about[4] = line, column
            fault = c_field(bytes_, &i, size, delimiter, &line)
            if fault != NONE:
                return fault
            if i - start > most_length:
                about[5] = i - start
                return LENGTH
            if column > most_columns:
                about[5] = column
                return COLUMNS
            if records > 0 and column > width:
                about[5] = column
                return WIDTH
            starts[fields] = start
            ends[fields] = i
            fields += 1
            if i < size and bytes_[i] == delimiter:
                i += 1
                continue
            break
        # the first record determines the width of all records
        if records == 0:
            width = column
        if column != width:
            about[5] = column
            return WIDTH
        # line break: LF or CR LF
        if i < size and bytes_[i] == CR:
            i += 1
            if i >= size or bytes_[i] != LF:
                return CARRIAGE_RETURN
        if i < size:
            i += 1
            line += 1
        records += 1
        about[0], about[1], about[2] = fields, records, width
    return NONE


def split(data, *, delimiter=b",", first=0, most_columns=10_000, most_length=32_768):
    """Find every field of a CSV file.

    Parameters
    ----------
    data : bytes-like, the file in an encoding that contains ASCII.
    delimiter : one ASCII byte, neither a quote nor a line break.
    first : byte at which the first record starts (after a byte order mark), 0 <= first <= len(data).
    most_columns, most_length : limits on the width and on the bytes of one field, >= 1.

    Returns
    -------
    Fields
        `starts` and `ends`, int64 (records, width): field k of record i consists of the bytes ``data[start:end]``,
        including its quotes; the header is the first record. `lines`, int64 (records,): the line (from 1) on which each
        record starts. `fault`: one of ``FAULTS``. If there is a fault, the arrays contain the records before it, and
        `line`, `column` (from 1) and `found` (number of columns or of bytes) describe its position.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid. A fault of the file is returned instead, so that the caller can write the error
        message.

    Notes
    -----
    Cost: O(bytes), about 5 ns per byte and 16 bytes of memory per field. Source: RFC 4180, section 2.
    """
    raw = _bytes("data", data)
    if not isinstance(delimiter, bytes) or len(delimiter) != 1 or delimiter in b'"\r\n\0' or delimiter[0] > 127:
        raise ValueError(f"delimiter must be one ASCII byte other than a quote or a line break, got {delimiter!r}")
    first = _checks.integer("first", first, most=len(raw))
    cdef uint8_t separator = delimiter[0]
    cdef int64_t begin = first, columns = _checks.integer("most_columns", most_columns, least=1)
    cdef int64_t length = _checks.integer("most_length", most_length, least=1)
    ends_of_lines = int(np.count_nonzero(raw == 10))
    room = int(np.count_nonzero(raw == separator)) + ends_of_lines + 2
    starts, ends, lines = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(ends_of_lines + 2, np.int64)
    cdef int64_t[::1] starts_view = starts, ends_view = ends, lines_view = lines
    cdef int64_t[6] about = [0, 0, 0, 1, 1, 0]
    cdef const uint8_t[::1] view = raw
    cdef int fault = NONE
    if first < len(raw):
        with nogil:
            fault = split_fill(view, separator, begin, columns, length, starts_view, ends_view, lines_view, about)
    fields, records, width = about[0], about[1], about[2]
    spans = (a[:fields].reshape(records, width) for a in (starts, ends))
    return Fields(*spans, lines[:records].copy(), FAULTS[fault], about[3], about[4], about[5])


cdef void exchange_fill(const uint8_t[::1] data, const int64_t[:, ::1] starts, const int64_t[:, ::1] ends,
                        const int64_t[::1] columns, const int64_t[::1] sources, uint8_t[::1] out) noexcept nogil:
    cdef int64_t row, c, k, source, done = 0, place = 0, gap
    for row in range(starts.shape[0]):
        source = sources[row]
        if source == row:
            continue
        for c in range(columns.shape[0]):
            k = columns[c]
            # the bytes before the field are copied unchanged, then the field of the source record
            gap = starts[row, k] - done
            if gap > 0:
                memcpy(&out[place], &data[done], gap)
            place += gap
            gap = ends[source, k] - starts[source, k]
            if gap > 0:
                memcpy(&out[place], &data[starts[source, k]], gap)
            place += gap
            done = ends[row, k]
    if done < data.shape[0]:
        memcpy(&out[place], &data[done], data.shape[0] - done)


def exchange(data, starts, ends, *, columns, sources):
    """Return a copy of `data` in which the fields `columns` of every record come from the record given by `sources`.

    Parameters
    ----------
    data : bytes-like.
    starts, ends : int64 (records, width) from `split`, with or without the header's row; in increasing order.
    columns : int64 (m,), increasing; the columns whose fields are moved together.
    sources : int64 (records,), a permutation of 0..records-1.

    Returns
    -------
    bytes, as many as `data`: the bytes between the moved fields are unchanged, and quotes move with their field.

    Raises
    ------
    TypeError, ValueError
        If an array has the wrong shape, field positions are outside the data or overlap, columns are not increasing, or
        `sources` is not a permutation.

    Notes
    -----
    Cost: O(bytes). Field (i, k) of the result is field (sources[i], k) of `data` for k in `columns`; all other fields
    are unchanged.
    """
    raw = _bytes("data", data)
    starts, ends = _spans("starts", starts), _spans("ends", ends)
    if starts.shape != ends.shape:
        raise ValueError(f"ends must have the same shape as starts ({starts.shape}), got shape {ends.shape}")
    flat, last = starts.ravel(), ends.ravel()
    outside = len(flat) and (flat.min() < 0 or last.max() > len(raw) or (last < flat).any())
    if outside or (flat[1:] < last[:max(len(last) - 1, 0)]).any():
        raise ValueError("starts and ends must be increasing positions inside data")
    columns, sources = _integers("columns", columns), _integers("sources", sources)
    if len(columns) and (columns.min() < 0 or columns.max() >= starts.shape[1] or (np.diff(columns) <= 0).any()):
        raise ValueError(f"columns must be increasing and between 0 and {starts.shape[1] - 1}, got "
                         f"{columns.tolist()[:20]}")
    if len(sources) != len(starts) or (sources < 0).any() or (sources >= len(starts)).any() or (
            np.bincount(sources, minlength=len(starts)) != 1).any():
        raise ValueError(f"sources must be a permutation of 0..{len(starts) - 1}")
    out = np.empty(len(raw), dtype=np.uint8)
    if len(raw) == 0:
        return b""
    cdef const uint8_t[::1] view = raw
    cdef const int64_t[:, ::1] starts_view = starts, ends_view = ends
    cdef const int64_t[::1] columns_view = columns, sources_view = sources
    cdef uint8_t[::1] out_view = out
    with nogil:
        exchange_fill(view, starts_view, ends_view, columns_view, sources_view, out_view)
    return out.tobytes()


def _bytes(name, data):
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"{name} must be bytes, got {type(data).__name__}")
    if isinstance(data, memoryview) and not data.c_contiguous:
        raise ValueError(f"{name} must contain contiguous bytes, got a strided view")
    return np.frombuffer(data, dtype=np.uint8)


def _spans(name, values):
    array = np.asarray(values)
    if array.dtype != np.int64:
        raise TypeError(f"{name} must have dtype int64, got dtype {array.dtype}")
    if array.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional (records, width), got shape {array.shape}")
    return np.ascontiguousarray(array)


def _integers(name, values):
    array = np.asarray(values)
    if array.dtype != np.int64:
        raise TypeError(f"{name} must have dtype int64, got dtype {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    return np.ascontiguousarray(array)
