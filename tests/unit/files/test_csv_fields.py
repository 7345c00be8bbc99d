"""Tests of hostile arguments of `kernels.csv_fields`: rejected or processed correctly, never out of bounds."""

import numpy as np
import pytest

from dpmultinomial._files import _csv_fields

DATA = b"a,b\n1,2\n3,4\n"
GOOD = _csv_fields.split(DATA)
REFUSED = (ValueError, TypeError, OverflowError)


@pytest.mark.parametrize(
    "change",
    [
        {"data": "a,b"},
        {"data": None},
        {"data": [1, 2]},
        {"data": np.arange(3)},
        {"delimiter": b""},
        {"delimiter": b",,"},
        {"delimiter": ","},
        {"delimiter": b'"'},
        {"delimiter": b"\n"},
        {"delimiter": b"\0"},
        {"delimiter": b"\xff"},
        {"first": -1},
        {"first": len(DATA) + 1},
        {"first": 2**70},
        {"first": 1.0},
        {"first": True},
        {"most_columns": 0},
        {"most_columns": -5},
        {"most_columns": 2**80},
        {"most_length": 0},
        {"most_length": float("nan")},
    ],
)
def test_split_refuses(change):
    arguments = {"data": DATA} | change
    with pytest.raises(REFUSED):
        _csv_fields.split(arguments.pop("data"), **arguments)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\r", b'"', b'""', b",", b",\n", b"\r\n\r", b"\0", b'"\n', b'"\r', b'""\r', bytearray(DATA)]
)
def test_split_at_the_edges_of_its_buffer(data):
    for first in range(len(data) + 1):
        found = _csv_fields.split(data, first=first)
        assert found.fault in _csv_fields.FAULTS
        assert (found.starts <= found.ends).all()
        assert found.ends.max(initial=0) <= len(data)


def test_split_reads_views_and_every_number_of_fields():
    assert _csv_fields.split(memoryview(DATA)).starts.tolist() == GOOD.starts.tolist()
    with pytest.raises(REFUSED):
        _csv_fields.split(memoryview(DATA)[::2])
    for width in (1, 2, 50):
        row = b",".join([b""] * width) if width > 1 else b"x"
        for ending in (b"", b"\n", b"\r\n"):
            assert _csv_fields.split(b"\n".join([row] * 3) + ending).starts.shape == (3, width)


BAD = np.int64(-(2**62))


@pytest.mark.parametrize(
    "change",
    [
        {"data": "text"},
        {"data": DATA[:5]},
        {"data": b""},
        {"starts": GOOD.starts.astype(float)},
        {"starts": GOOD.starts.astype(np.int32)},
        {"starts": GOOD.starts.ravel()},
        {"starts": GOOD.starts[:2]},
        {"starts": GOOD.starts[:, :1]},
        {"starts": np.full_like(GOOD.starts, BAD)},
        {"starts": GOOD.starts[::-1]},
        {"ends": GOOD.ends + 10**15},
        {"ends": GOOD.ends + 1_000},
        {"ends": GOOD.starts - 1},
        {"starts": GOOD.starts - 1},
        {"ends": np.full((3, 2), np.nan)},
        {"columns": np.array([0, 0])},
        {"columns": np.array([1, 0])},
        {"columns": np.array([-1])},
        {"columns": np.array([2])},
        {"columns": np.array([2**62])},
        {"columns": np.array([0.0])},
        {"columns": np.array([[0]])},
        {"sources": np.array([0, 1])},
        {"sources": np.array([0, 1, 1])},
        {"sources": np.array([0, 1, 3])},
        {"sources": np.array([0, 1, -1])},
        {"sources": np.array([0, 1, 2**62])},
        {"sources": np.array([0, 1, np.inf])},
        {"sources": np.array([], dtype=np.int64)},
        {"sources": [0.0, 1.0, 2.0]},
        {"sources": None},
    ],
)
def test_exchange_refuses(change):
    good = {"data": DATA, "starts": GOOD.starts, "ends": GOOD.ends, "columns": np.array([1]), "sources": np.arange(3)}
    arguments = good | change
    with pytest.raises(REFUSED):
        _csv_fields.exchange(arguments.pop("data"), arguments.pop("starts"), arguments.pop("ends"), **arguments)


def test_exchange_reads_strided_and_empty_arrays():
    none = np.zeros(0, dtype=np.int64)
    sources = np.array([0, 9, 2, 9, 1, 9])[::2]
    columns = np.array([1, 7])[::2]
    wide = np.repeat(GOOD.starts, 2, axis=1)[:, ::2]
    found = _csv_fields.exchange(DATA, wide, np.asfortranarray(GOOD.ends), columns=columns, sources=sources)
    assert found == b"a,b\n1,4\n3,2\n"
    assert _csv_fields.exchange(DATA, GOOD.starts, GOOD.ends, columns=none, sources=np.arange(3)) == DATA
    empty = np.zeros((0, 0), dtype=np.int64)
    assert _csv_fields.exchange(b"", empty, empty, columns=none, sources=none) == b""
    assert _csv_fields.exchange(b"xy", empty, empty, columns=none, sources=none) == b"xy"
