"""Tests of measurement files that are torn, duplicate, of another state or of other types: rejected, never summed.

Every edit starts from two counties, which the last test reads.
"""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measured_files import put
from refusals import rejects

from dpmultinomial._measurement_files import places, reading
from dpmultinomial._measurement_files.places import Places

ROWS = [("050100071", "total_dpq", {}, [100], 4.0), ("050100091", "total_dpq", {}, [50], 4.0)]
INTS = pa.list_(pa.int32())


def read(folder, **more):
    return reading.read(folder, **({"product": "pl94", "table": "person", "state": "VT"} | more))


def released(folder):
    return read(folder).levels["County"].released.tolist()


def rewritten(folder, column, values):
    """Return the two counties with another column, or without it for None."""
    path = put(folder, "County", ROWS)
    table = pq.read_table(path)
    place = table.schema.get_field_index(column)
    if values is None:
        table = table.remove_column(place)
    else:
        table = table.append_column(column, values) if place < 0 else table.set_column(place, column, values)
    pq.write_table(table, path)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("value", pa.array([[100], [50]], pa.list_(pa.int8()))),
        ("value", pa.array([[100], [50]], pa.large_list(pa.uint64()))),
        ("value", pa.array([[100], [50]], pa.list_(pa.int64(), 1))),
        ("value", pa.array([[100.0], [50.0]])),
        ("query_shape", pa.array([[1, 1, 1, 1], None], INTS)),
        ("query_shape", pa.array([None, None], INTS)),
        ("query_name", pa.array(["total_dpq"] * 2).dictionary_encode()),
    ],
)
def test_forms_that_say_the_same_are_read(tmp_path, column, values):
    rewritten(tmp_path, column, values)
    assert released(tmp_path) == [100, 50]


WRONG_COLUMNS = {
    "a half": ("value", pa.array([[100.5], [50.0]]), r"the column 'value' must contain integers .* got 100\.5"),
    "a NaN": ("value", pa.array([[float("nan")], [50.0]]), "'value' must contain integers"),
    "an infinity": ("value", pa.array([[float("inf")], [50.0]]), "'value' must contain integers"),
    "more than 2^53": ("value", pa.array([[2**53 + 2], [50]]), r"integers between -2\^53 and 2\^53"),
    "texts": ("value", pa.array([["100"], ["50"]]), "'value' must contain lists of integers"),
    "flags": ("value", pa.array([[True], [False]]), "'value' must contain lists of integers"),
    "no lists": ("value", pa.array([100, 50]), "'value' must contain lists of integers, got int64"),
    "lists of lists": ("value", pa.array([[[100]], [[50]]]), "'value' must contain lists of integers"),
    "an empty list": ("value", pa.array([None, [50]], INTS), "'value' must have length 1, got length 0"),
    "two cells": ("value", pa.array([[1, 2], [50]], INTS), "'value' must have length 1, got length 2"),
    "names that are numbers": ("query_name", pa.array([1, 2]), "column query_name must contain strings"),
    "codes that are numbers": ("geocode", pa.array([1, 2]), "geocodes of level County must begin with 050 or 150"),
    "another state": ("geocode", pa.array(["044100071", "044100091"]), "begin with 050 or 150, got '044100071'"),
    "another branch": ("geocode", pa.array(["250100071", "050100091"]), "begin with 050 or 150, got '250100071'"),
    "an infinite variance": ("variance", pa.array([float("inf"), 4.0]), "'variance' must be finite and > 0, got inf"),
    "a variance that is none": ("variance", pa.array([float("nan"), 4.0]), "'variance' must be finite and > 0"),
    "no variance": ("variance", None, "but lacks variance"),
    "another shape below": ("query_shape", pa.array([[1, 1, 1, 1], [1, 1, 2, 1]], INTS), r"got \[1, 1, 2, 1\]"),
    "a shape that is longer": ("query_shape", pa.array([[1, 1, 1, 1, 1]] * 2, INTS), "query_shape must contain"),
    "a shape that is no list": ("query_shape", pa.array([1, 1]), "the shape of the query's binnings, got 1"),
}  # fmt: skip


@pytest.mark.parametrize(("column", "values", "words"), WRONG_COLUMNS.values(), ids=WRONG_COLUMNS)
def test_a_column_of_another_kind_is_rejected_by_its_name(tmp_path, column, values, words):
    rewritten(tmp_path, column, values)
    rejects(read, {"folder": tmp_path}, words, ValueError)


def test_a_duplicate_column_is_rejected(tmp_path):
    path = put(tmp_path, "County", ROWS)
    table = pq.read_table(path)
    pq.write_table(table.append_column("geocode", table.column("geocode")), path)
    rejects(
        read,
        {"folder": tmp_path},
        r"part-00000\.parquet': the file must not have duplicate columns, got geocode twice",
        ValueError,
    )


FILLING = [(f"05{i:04d}", "cenrace_dpq", {"cenrace": "cenrace"}, range(63), 4.0) for i in range(3000)]
EXACT = {"rows": [("050100071", "total_con", {}, [100], "=")], "kind": "Constraint"}
TWO_ROWS = "total_dpq: the geocode 050100071 occurs in more than one row"
TWICE = {
    "a part": ([{}, {"rows": ROWS[:1], "part": 1}], TWO_ROWS + ": remove the duplicates from the files"),
    "the folder of a state": ([{}, {"state": "50"}], "occurs in more than one row"),
    "a row of another batch": ([{"rows": [ROWS[0], *FILLING, *ROWS]}], TWO_ROWS),
    "an exact count": ([{}, EXACT, EXACT | {"part": 1}], "total_con: the geocode 050100071 occurs in more than"),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "words"), TWICE.values(), ids=TWICE)
def test_duplicates_are_rejected_and_not_added_up(tmp_path, parts, words):
    for part in parts:
        put(tmp_path, "County", **{"rows": ROWS} | part)
    rejects(read, {"folder": tmp_path}, words, ValueError)


def test_exact_and_noisy_counts_are_read_together(tmp_path):
    for part in ({}, EXACT):
        put(tmp_path, "County", **{"rows": ROWS} | part)
    assert read(tmp_path).levels["County"].variance.tolist() == [0, 4]


NO_FILE = {
    "torn": lambda path, raw: path.write_bytes(raw[: len(raw) // 2]), "empty": lambda path, raw: path.write_bytes(b""),
    "folder": lambda path, raw: path.mkdir(), "pipe": lambda path, raw: os.mkfifo(path),
    "dangling": lambda path, raw: path.symlink_to("nowhere"), "circle": lambda path, raw: path.symlink_to(path),
}  # fmt: skip


@pytest.mark.parametrize("make", NO_FILE.values(), ids=NO_FILE)
def test_a_path_that_is_not_a_parquet_file_is_rejected_by_its_name(tmp_path, make):
    path = put(tmp_path, "County", ROWS)
    raw = path.read_bytes()
    path.unlink()
    make(path, raw)
    words = r"part-00000\.parquet' (cannot be read as Parquet|must be a file)"
    rejects(read, {"folder": tmp_path}, words, ValueError)


@pytest.mark.parametrize("state", ["²", "５０", "../VT", "", "5O", "State=050", None])
def test_an_invalid_state_is_rejected(tmp_path, state):
    put(tmp_path, "County", ROWS)
    rejects(read, {"folder": tmp_path, "state": state}, "state must be two letters", ValueError)


@pytest.mark.parametrize(
    "others", [["²", "０５０"], ["250", "1050"]], ids=["digits of other scripts", "other branches"]
)
def test_folders_of_no_state_are_not_read(tmp_path, others):
    for state in ("050", *others):
        put(tmp_path, "County", ROWS, state=state)
    assert released(tmp_path) == [100, 50]


def test_draws_state_the_largest_standard_error_of_a_probability(tmp_path):
    """Check the error for a probability of one half: sqrt(1/4/draws)."""
    put(tmp_path, "County", ROWS)
    found = Places(read(tmp_path), ["County"], level=0.95, prior=1.0)
    drawn = found._drawn(np.arange(places._DRAWS) % 2)
    assert drawn.accuracy.error == pytest.approx(found.accuracy.error + np.sqrt(0.25 / places._DRAWS), rel=1e-12)
    assert drawn.mean() == 0.5


def test_two_counties_are_two_counties(tmp_path):
    put(tmp_path, "County", ROWS)
    found = Places(read(tmp_path), ["County"], level=0.95, prior=1.0).table("all", rng=np.random.default_rng(1))
    assert found["released"].tolist() == [100, 50]
    assert found["geoid"].tolist() == ["50007", "50009"]
