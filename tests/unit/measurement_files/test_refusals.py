"""Tests of measurement files that are torn, duplicate, of another state or of other types: rejected, never summed.

Every edit starts from two counties, which the last test reads.
"""

import os
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measured_files import put
from refusals import rejects

from dpmultinomial._measurement_files import cells, files, places, reading
from dpmultinomial._measurement_files.places import Places
from dpmultinomial._measurement_files.products import PRODUCTS
from dpmultinomial._posteriors.trees.tree import Tree

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


def columns(**given):
    """Return a batch of rows with the given columns."""
    return pa.RecordBatch.from_pydict(given)


@pytest.mark.parametrize(
    ("names", "wanted", "held"),
    [("bd", "b", True), ("bd", "d", True), ("bd", "c", True), ("bd", "a", False), ("bd", "e", False),
     ("bd", "ae", False), ("bd", "ac", True), ("b", "b", True)],
)  # fmt: skip
def test_a_group_of_rows_is_read_if_its_names_may_hold_a_query(tmp_path, names, wanted, held):
    """According to the first and the last name of the group; without these, every group is read."""
    path = tmp_path / "x.parquet"
    for statistics in (True, False):
        table = pa.table({"geocode": ["x"] * len(names), "query_name": list(names)})
        pq.write_table(table, path, write_statistics=statistics)
        with pq.ParquetFile(path) as file:
            assert files._may_hold(file, 0, set(wanted)) == (held or not statistics)


@pytest.mark.parametrize(("size", "rows"), [(2, 3), (2047, 1), (2048, 2049), (9999, 4096), (9999, 2047)])
def test_an_empty_name_is_reported_with_its_row(tmp_path, size, rows):
    """Groups of `size` rows and batches of 2,048; the row without a name is counted from the first of the file."""
    path = put(tmp_path, "County", [(f"05{i:07d}", "total_dpq", {}, [1], 4.0) for i in range(rows + 3)])
    table = pq.read_table(path)
    names = ["total_dpq"] * rows + [None] + ["total_dpq"] * 2
    pq.write_table(table.set_column(1, "query_name", pa.array(names)), path, row_group_size=size)
    with pytest.raises(ValueError, match=f"got an empty cell in row {rows + 1}$"):
        list(files.batches(PRODUCTS["pl94", "person"], [path], "DPQuery", values=False))


def test_batches_have_rows_of_one_query_whatever_their_order(tmp_path):
    """Rows a, b, a and b are one batch for each query, with the rows in the order of the file."""
    order = "abab"
    rows = [(f"05{i}", f"{name}_dpq", {}, [i], 4.0 + i) for i, name in enumerate(order)]
    path = put(tmp_path, "County", rows)
    found = list(files.batches(PRODUCTS["pl94", "person"], [path], "DPQuery", values=True))
    assert [(b.query.name, b.codes.to_pylist(), b.values.tolist(), b.variances.tolist()) for b in found] == [
        ("a_dpq", ["050", "052"], [[0], [2]], [4, 6]), ("b_dpq", ["051", "053"], [[1], [3]], [5, 7])]  # fmt: skip
    assert found[0].query.specs == ("*",) * 4
    (only,) = files.batches(PRODUCTS["pl94", "person"], [path], "DPQuery", values=False, wanted={"b_dpq"})
    assert (only.query.name, only.values, only.query.sign) == ("b_dpq", None, "")


@pytest.mark.parametrize(
    ("name", "sign"),
    [("x_lb_con", ">="), ("x_ub_con", "<="), ("x_con", "="), ("x_lb", ">="), ("x_ub", "<="), ("lb_x", "="),
     ("xlb_con", "=")],
)  # fmt: skip
def test_the_name_of_a_constraint_states_its_sign(name, sign):
    assert files._sign(columns(a=["x"]), name) == sign


@pytest.mark.parametrize(
    ("word", "sign"), [("ge", ">="), ("le", "<="), ("==", "="), ("=", "="), (">=", ">="), ("<=", "<=")]
)
def test_a_column_states_the_sign(word, sign):
    assert files._sign(columns(sign=[word] * 2), "x_lb_con") == sign
    with pytest.raises(ValueError, match="x: the value of the column 'sign' must be '=', '<=' or '>=', got '<'"):
        files._sign(columns(sign=["<"]), "x")
    with pytest.raises(ValueError, match=r"x: the column 'sign' must have the same value .*, got \['=', '<=', None\]"):
        files._sign(columns(sign=["=", "<=", None, ">="]), "x")


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize(("value", "ok"), [(2**53, True), (-(2**53), True), (2**53 + 2, False), (-(2**53) - 2, False)])
def test_values_are_integers_up_to_two_to_the_53(kind, value, ok):
    column = pa.array([[kind(1), kind(2)], [kind(3), kind(value)]])
    if ok:
        assert files._matrix(column, 2, "x").tolist() == [[1, 2], [3, value]]
    else:
        with pytest.raises(ValueError, match=f"between -2.53 and 2.53, got {value}$"):
            files._matrix(column, 2, "x")


def test_a_missing_value_is_reported_with_its_row():
    column = pa.array([[1, 2], [3, 4], [5, None]], pa.list_(pa.int64()))
    with pytest.raises(
        ValueError, match="x: the column 'value' must not contain missing values, but row 2 of the query"
    ):
        files._matrix(column, 2, "x")
    assert files._matrix(pa.array([], pa.list_(pa.int64())), 2, "x").shape == (0, 2)


@pytest.mark.parametrize(
    ("code", "county"),
    [("05010007", "50007"), ("050100071", "50007"), ("0501000", ""), ("05011007", ""), ("05001007", ""),
     ("15010025", "50025")],
)  # fmt: skip
def test_the_geoid_of_a_county_is_in_its_code(code, county):
    """Branch, state 50, the characters 10, county 007, and in some cases a number."""
    assert files._county(code) == county


def test_characters_are_cut_from_strings_of_equal_length():
    texts = np.array(["abcdef", "ghijkl"])
    assert files._cut(texts, 0, 2).tolist() == ["ab", "gh"]
    assert files._cut(texts, 2, 6).tolist() == ["cdef", "ijkl"]
    assert files._cut(texts[::-1], 5, 6).tolist() == ["l", "f"]


def test_parents_that_no_file_contains_are_added_to_the_spine():
    spine = files.spine_of({"State": np.array(["050"]), "County": np.array(["0501", "0503"]), "Block": np.array(
        ["05011", "05022", "05031"])}, 50)  # fmt: skip
    assert spine.levels == ("State", "County", "Block")
    assert spine.codes.tolist() == ["050", "0501", "0502", "0503", "05011", "05022", "05031"]
    assert spine.parent.tolist() == [-1, 0, 0, 0, 1, 2, 3]
    assert spine.starts == (0, 1, 4, 7)
    assert spine.rows("County").tolist() == [1, 2, 3]
    both = files.spine_of({"State": np.array(["050", "150"]), "County": np.array(["0501", "1501"])}, 50)
    assert both.levels == (files.TOP, "State", "County")
    assert both.parent.tolist() == [-1, 0, 0, 1, 2]
    assert files.spine_of({"State": np.array([], dtype="<U3"), "County": np.array(["0501"])}, 50).levels == ("County",)


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ({"State": ["050"], "County": ["050"]}, r"this length must be greater than 3, got lengths \[3\]"),
        ({"State": ["050", "0501"]}, r"greater than 0, got lengths \[3, 4\]"),
        ({"State": ["060"]}, "must begin with 050 or 150, got '060'"),
    ],
)
def test_codes_of_a_level_have_one_length_that_increases(codes, words):
    with pytest.raises(ValueError, match=words):
        files.spine_of({level: np.array(own) for level, own in codes.items()}, 50)


@pytest.mark.parametrize(
    ("deepest", "seen", "kept"),
    [
        (0, "nnnnnnn", "0123456"),  # no node below is measured: all of them are needed
        (0, "yyyyyyy", "012"),  # the last level, of blocks, is cut off
        (2, "yyyyyyy", "0123456"),
        (1, "yynyyyy", "01256"),  # the blocks 5 and 6 of the unmeasured node 2 are kept
        (1, "ynynnnn", "01234"),
    ],
)
def test_blocks_of_measured_nodes_are_cut_off(deepest, seen, kept):
    """A root, two nodes, and two blocks below each of them; y for a node with a measurement."""
    tree = Tree([-1, 0, 0, 1, 1, 2, 2], levels=("State", "County", "Block"))
    variance = np.array([1.0 if c == "y" else np.inf for c in seen])
    whole = SimpleNamespace(whole=SimpleNamespace(variance=variance), tree=tree)
    assert "".join(map(str, cells._above_cut(SimpleNamespace(cell=whole, rest=whole), deepest))) == kept


def test_bounds_of_cut_off_blocks_are_those_of_their_sum():
    tree = Tree([-1, 0, 0, 1, 1, 2, 2])
    lower, upper = np.array([0, 5, 0, 1, 2, 1, 1.0]), np.array([99, 9, 3, 3, 4, 3, np.inf])
    low, high = cells._gathered(tree, np.arange(3), lower - 1e-7, upper + 1e-7)
    assert low[:3].tolist() == [0, 5, 2]  # max(5, 1 + 2), max(0, 1 + 1)
    assert high[:3].tolist() == [99, 7, 3]  # min(9, 3 + 4), min(3, inf)
    low, high = cells._gathered(tree, np.arange(7), lower, upper)
    assert (low.tolist(), high.tolist()) == (lower.tolist(), upper.tolist())


def test_drawn_values_have_their_relative_frequencies():
    low, p = cells._counted(np.array([7, 5, 7, 8]))
    assert (low, p.tolist()) == (5, [0.25, 0.0, 0.5, 0.25])
    assert list(cells._texts({"a": "x", "b": [{"c": "y"}, 3, ("z",)]})) == ["x", "y", "z"]


@pytest.mark.parametrize(("empty", "coupled"), [("none", True), ("cell", False), ("rest", False), ("all", True)])
def test_a_cell_that_must_be_zero_in_some_place_is_not_given_the_total(empty, coupled):
    """In the second leaf, the cell or the rest has the upper bound 0; if the total is 0 there, it does not matter."""
    tree = Tree([-1, 0, 0])

    def whole(name):
        upper = np.array([9.0, 9.0, 0.0 if empty in (name, "all") else 9.0])
        return SimpleNamespace(whole=SimpleNamespace(variance=np.ones(3), upper=upper), tree=tree)

    measured = SimpleNamespace(**{name: whole(name) for name in ("cell", "rest", "total")})
    assert cells._coupled(measured, np.arange(3)) == coupled
    nothing = SimpleNamespace(whole=SimpleNamespace(variance=np.full(3, np.inf), upper=np.full(3, 9.0)), tree=tree)
    assert not cells._coupled(SimpleNamespace(cell=nothing, rest=nothing, total=nothing), np.arange(3))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("q", "q"), ("n1", "n1"), ("q: n1", "q: county 1"), ("q: P(n1 in top 2)", "q: P(county 1 in top 2)"),
        ("a: b: n1", "a: b: county 1"), ("q: n2", "q: n2"),
    ],
)  # fmt: skip
def test_rows_of_ranks_have_the_names_of_places(text, shown):
    assert places._renamed(text, {"n1": "county 1"}) == shown


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"rank": {"of": "all", "top": 1}}, r"'all' requires a single level, got 2 levels \(A, B\)"),
        ({"rank": {"of": "y"}}, "y cannot be ranked, because this place is a sum"),
        ({"rank": {"of": "x", "among": ["x", "y"]}}, "y cannot be ranked, because this place is a sum"),
        ({"share": {"of": "x", "among": "all"}}, r"'all' requires a single level, got 2 levels \(A, B\)"),
        ({"sum": "all"}, "'all' requires a single level"),
    ],
)
def test_places_of_several_levels_or_nodes_are_not_ranked(question, words):
    found = object.__new__(Places)
    vars(found).update(names={"x": [0], "y": [1, 2]}, levels=("A", "B"),
                       measured=SimpleNamespace(tree=SimpleNamespace(names=("n0", "n1", "n2"))))  # fmt: skip
    known = SimpleNamespace(place=lambda name: None)
    with pytest.raises(ValueError, match=words):
        found._translated(question, known)
    assert found._translated({"rank": {"of": "x", "top": 1}}, known) == {"rank": {"of": ["n0"], "top": 1}}
    assert found._translated({"rank": {"of": ["x"]}}, known) == {"rank": {"of": ["n0"]}}
    found.levels = ("A",)
    found.names = {"x": [0], "z": [2]}
    assert found._translated({"rank": {"of": "all"}}, known) == {"rank": {"of": ["n0", "n2"]}}
    for kind in ("share", "rank"):  # the tree has nodes of other levels, which contain the places
        asked = {kind: {"of": "x", "among": "all"}}
        assert found._translated(asked, known) == {kind: {"of": ["n0"], "among": ["n0", "n2"]}}
    assert found._translated({"sum": "all"}, known) == {"sum": ["n0", "n2"]}
    with pytest.raises(TypeError, match="a question must be a mapping"):
        found._translated("x > z", known)
