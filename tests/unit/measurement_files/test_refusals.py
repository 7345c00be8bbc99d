"""Measurement files that are torn, doubled, of another state or of other types: refused, and nothing is added up twice.

Every edit starts from two counties, which the last test reads.
"""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measured_files import put

from dpmultinomial._measurement_files import places, reading
from dpmultinomial._measurement_files.places import Places

ROWS = [("050100071", "total_dpq", {}, [100], 4.0), ("050100091", "total_dpq", {}, [50], 4.0)]
INTS = pa.list_(pa.int32())


def read(folder, **more):
    return reading.read(folder, **({"product": "pl94", "table": "person", "state": "VT"} | more))


def released(folder):
    return read(folder).levels["County"].released.tolist()


def rewritten(folder, column, values):
    """The two counties with another column; None takes it away."""
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


HOSTILE = {
    "a half": ("value", pa.array([[100.5], [50.0]]), r"total_dpq: value must have whole numbers .* got 100\.5"),
    "a NaN": ("value", pa.array([[float("nan")], [50.0]]), "value must have whole numbers"),
    "an infinity": ("value", pa.array([[float("inf")], [50.0]]), "value must have whole numbers"),
    "more than 2^53": ("value", pa.array([[2**53 + 2], [50]]), r"whole numbers within \+-2\^53"),
    "texts": ("value", pa.array([["100"], ["50"]]), "value must have lists of whole numbers"),
    "flags": ("value", pa.array([[True], [False]]), "value must have lists of whole numbers"),
    "no lists": ("value", pa.array([100, 50]), "value must have lists of whole numbers, has int64"),
    "lists of lists": ("value", pa.array([[[100]], [[50]]]), "value must have lists of whole numbers"),
    "an empty list": ("value", pa.array([None, [50]], INTS), "value must have 1 numbers in every row"),
    "two cells": ("value", pa.array([[1, 2], [50]], INTS), "value must have 1 numbers in every row"),
    "names that are numbers": ("query_name", pa.array([1, 2]), "column query_name: must be text"),
    "codes that are numbers": ("geocode", pa.array([1, 2]), "geocodes of level County must begin with 050 or 150"),
    "codes of another state": ("geocode", pa.array(["044100071", "044100091"]), "begin with 050 or 150, got '044100071'"),
    "codes of another branch": ("geocode", pa.array(["250100071", "050100091"]), "begin with 050 or 150, got '250100071'"),
    "an infinite variance": ("variance", pa.array([float("inf"), 4.0]), "variance must be > 0 and finite, got inf"),
    "a variance that is none": ("variance", pa.array([float("nan"), 4.0]), "variance must be > 0 and finite"),
    "no variance": ("variance", None, "lacks variance"),
    "another shape below": ("query_shape", pa.array([[1, 1, 1, 1], [1, 1, 2, 1]], INTS), r"is \[1, 1, 2, 1\]"),
    "a shape that is longer": ("query_shape", pa.array([[1, 1, 1, 1, 1]] * 2, INTS), "query_shape is"),
    "a shape that is no list": ("query_shape", pa.array([1, 1]), "query_shape is 1, its binnings make"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_column_of_another_kind_is_refused_by_its_name(tmp_path, what):
    column, values, words = HOSTILE[what]
    rewritten(tmp_path, column, values)
    with pytest.raises(ValueError, match=words):
        read(tmp_path)


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    path = put(tmp_path, "County", ROWS)
    table = pq.read_table(path)
    pq.write_table(table.append_column("geocode", table.column("geocode")), path)
    with pytest.raises(ValueError, match=r"part-00000\.parquet': has the column geocode twice"):
        read(tmp_path)


def test_a_part_that_is_there_twice_is_not_added_up(tmp_path):
    """A copy beside it, a copy of the state's folder under its other name, and a row in a batch of its own."""
    put(tmp_path, "County", ROWS)
    put(tmp_path, "County", ROWS[:1], part=1)
    with pytest.raises(
        ValueError, match="total_dpq: geocode 050100071 has two rows; is a part of the files there twice"
    ):
        read(tmp_path)
    put(tmp_path / "folders", "County", ROWS)
    put(tmp_path / "folders", "County", ROWS, state="50")
    with pytest.raises(ValueError, match="has two rows"):
        read(tmp_path / "folders")
    filling = [(f"05{i:04d}", "cenrace_dpq", {"cenrace": "cenrace"}, range(63), 4.0) for i in range(3000)]
    put(tmp_path / "batches", "County", [ROWS[0], *filling, *ROWS])
    with pytest.raises(ValueError, match="total_dpq: geocode 050100071 has two rows"):
        read(tmp_path / "batches")
    exact = [("050100071", "total_con", {}, [100], "=")]
    put(tmp_path / "exact", "County", ROWS)
    put(tmp_path / "exact", "County", exact, kind="Constraint")
    assert read(tmp_path / "exact").levels["County"].variance.tolist() == [0, 4]
    put(tmp_path / "exact", "County", exact, kind="Constraint", part=1)
    with pytest.raises(ValueError, match="total_con: geocode 050100071 has two rows"):
        read(tmp_path / "exact")


@pytest.mark.parametrize("what", ["torn", "empty", "folder", "pipe", "dangling", "circle"])
def test_what_is_no_parquet_file_is_refused_by_its_name(tmp_path, what):
    path = put(tmp_path, "County", ROWS)
    raw = path.read_bytes()
    path.unlink()
    if what in ("torn", "empty"):
        path.write_bytes(raw[: len(raw) // 2] if what == "torn" else b"")
    elif what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere" if what == "dangling" else path)
    with pytest.raises(
        ValueError, match=r"part-00000\.parquet' (cannot be read as Parquet|must be a file, and is none)"
    ):
        read(tmp_path)


@pytest.mark.parametrize("state", ["²", "５０", "../VT", "", "5O", "State=050", None])
def test_what_is_no_state_is_refused_in_words(tmp_path, state):
    put(tmp_path, "County", ROWS)
    with pytest.raises(ValueError, match="is no state; write two letters"):
        read(tmp_path, state=state)


def test_folders_with_digits_of_other_scripts_are_of_no_state(tmp_path):
    put(tmp_path, "County", ROWS)
    put(tmp_path, "County", ROWS, state="²")
    put(tmp_path, "County", ROWS, state="０５０")
    assert released(tmp_path) == [100, 50]


def test_folders_of_no_branch_are_of_no_state(tmp_path):
    put(tmp_path, "County", ROWS)
    put(tmp_path, "County", ROWS, state="250")
    put(tmp_path, "County", ROWS, state="1050")
    assert released(tmp_path) == [100, 50]


def test_draws_state_the_largest_standard_error_of_a_probability(tmp_path):
    """That of one half: sqrt(1/4/draws)."""
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
