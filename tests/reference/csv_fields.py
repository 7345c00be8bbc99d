"""Reference implementation of `_csv_fields`: one character and one state at a time."""

import re

QUOTED = re.compile(rb'"(?:[^"]|"")*+"')


def split(data: bytes, delimiter: bytes = b",") -> tuple[list[list[tuple[int, int]]], str]:
    """Return (start, end) of every field of every record, and the name of the first fault ("none" without a fault)."""
    records: list[list[tuple[int, int]]] = []
    here = 0
    while here < len(data):
        if blank := re.compile(rb"\r?\n").match(data, here):
            here = blank.end()
            continue
        record, fault = [], "none"
        while True:
            start = here
            here, fault = _field(data, start, delimiter)
            record.append((start, here))
            if fault == "none" and records and len(record) > len(records[0]):
                return records, "width"
            if fault != "none" or data[here : here + 1] != delimiter:
                break
            here += 1
        if fault != "none":
            return records, fault
        if records and len(record) != len(records[0]):
            return records, "width"
        if data[here : here + 1] == b"\r" and data[here + 1 : here + 2] != b"\n":
            return records, "carriage return"
        here += 2 if data[here : here + 1] == b"\r" else 1
        records.append(record)
    return records, "none"


def _field(data: bytes, start: int, delimiter: bytes) -> tuple[int, str]:
    if data[start : start + 1] == b'"':
        found = QUOTED.match(data, start)
        text = data[start : found.end()] if found else data[start:]
        if b"\0" in text:
            return start, "nul"
        if found is None:
            return start, "open quote"
        after = data[found.end() : found.end() + 1]
        return found.end(), "none" if after in (b"", delimiter, b"\r", b"\n") else "after quote"
    end = start
    while end < len(data) and data[end : end + 1] not in (delimiter, b"\r", b"\n"):
        if data[end : end + 1] in (b'"', b"\0"):
            return end, "quote inside" if data[end : end + 1] == b'"' else "nul"
        end += 1
    return end, "none"


def exchange(data: bytes, spans: list[list[tuple[int, int]]], columns: list[int], sources: list[int]) -> bytes:
    """Concatenate the bytes: those between fields from this record, moved fields from their source record."""
    pieces, done = [], 0
    for row, record in enumerate(spans):
        for k in columns:
            start, end = spans[sources[row]][k]
            pieces += [data[done : record[k][0]], data[start:end]]
            done = record[k][1]
    return b"".join([*pieces, data[done:]])
