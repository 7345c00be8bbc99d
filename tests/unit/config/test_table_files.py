"""Public files of a scenario: what is too large, too deep or not a number is rejected before anything is computed."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dpmultinomial as dpm
from dpmultinomial._files import published
from dpmultinomial._files.places import FileFault
from reproduction.config import reading, table_files
from reproduction.scenarios import table_stream
from reproduction.scenarios.noisy_counts import rules

KINDS = {"name": "text", "value": "number"}


def parquet(path, **columns):
    pa.parquet.write_table(pa.table(columns), path)
    return str(path)


def test_a_column_of_numbers_is_read_as_it_is(tmp_path):
    path = parquet(tmp_path / "a.parquet", name=["a", None, "c"], value=[1.5, None, -2.0])
    assert table_files.texts(path, KINDS) == {"name": ["a", "", "c"], "value": ["1.5", "", "-2.0"]}
    path = parquet(tmp_path / "b.parquet", name=["a", "b"], value=[3, 4])
    assert table_files.texts(path, {"name": "text", "value": "whole"})["value"] == ["3", "4"]


@pytest.mark.parametrize("wrong", [float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_named_with_its_row(tmp_path, wrong):
    path = parquet(tmp_path / "a.parquet", name=["a", "b"], value=[1.0, wrong])
    with pytest.raises(ValueError, match=f"row 2, column 'value': the value must be a finite number, got '{wrong}'"):
        table_files.texts(path, KINDS)


@pytest.mark.parametrize("wrong", [-1, 10**8 + 1, 0.5, None, "x"])
def test_an_integer_has_a_range(tmp_path, wrong):
    path = parquet(tmp_path / "a.parquet", name=["a"], value=[wrong])
    with pytest.raises(ValueError, match=r"row 1, column 'value': the value must be an integer in \[0, 100000000\]"):
        table_files.texts(path, {"name": "text", "value": "whole"})


def test_more_rows_than_allowed_are_rejected_by_the_footer(tmp_path, monkeypatch):
    """A name of 10^5 letters, repeated 10^5 times: 40 kB on disk, 10^10 bytes when it is read without a dictionary."""
    rows = 10**5
    name = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["x" * rows]))
    path = parquet(tmp_path / "bomb.parquet", table=name, name=name, value=np.zeros(rows))
    with pytest.raises(ValueError, match="a name must have at most 1000 characters, got"):
        table_files.texts(path, KINDS)
    with pytest.raises(ValueError, match="a name must have at most 1000 bytes, got 100000"):
        table_stream.of_shard(tmp_path / "bomb.parquet", KINDS, 1, 1)
    monkeypatch.setattr(table_files, "LARGEST_ROWS", rows - 1)
    monkeypatch.setattr(pa.parquet, "read_table", lambda *_, **__: pytest.fail("a row was read"))
    for call in (lambda: table_files.header(tmp_path / "bomb.parquet"), lambda: table_files.texts(path, KINDS)):
        with pytest.raises(ValueError, match="must have at most 99999 rows, got 100000"):
            call()
    monkeypatch.setattr(table_files, "LARGEST_ROWS", rows)
    monkeypatch.setattr(table_files, "LARGEST_UNPACKED", 1000)
    with pytest.raises(ValueError, match="at most 1000 bytes when it is decompressed"):
        table_files.header(tmp_path / "bomb.parquet")


def test_a_name_that_is_not_utf_8_is_rejected(tmp_path):
    ends = pa.py_buffer(np.array([0, 1, 4], dtype=np.int32).tobytes())
    name = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"a\xed\xa0\x80")])
    path = parquet(tmp_path / "a.parquet", table=name, name=name, value=[1.0, 2.0])
    with pytest.raises(ValueError, match="column 'name': the values cannot be read"):
        table_files.texts(path, KINDS)
    with pytest.raises(ValueError, match="cannot be read as a file of tables"):
        table_stream.of_shard(tmp_path / "a.parquet", KINDS, 1, 1)


def chain(size):
    return {"name": [f"n{i}" for i in range(size)], "parent": ["", *(f"n{i}" for i in range(size - 1))]}


def test_a_chain_of_50_levels_is_a_tree_and_one_of_51_is_not():
    assert max(rules.depths(chain(50)).values()) == 49
    backwards = {key: values[::-1] for key, values in chain(50).items()}
    assert rules.depths(backwards) == rules.depths(chain(50))
    for size in (51, 100_000):
        for order in (1, -1):
            with pytest.raises(
                ValueError, match=r"must be fewer than 50 steps below the root, got at least 5[01] steps"
            ):
                rules.depths({key: values[::order] for key, values in chain(size).items()})
    with pytest.raises(ValueError, match=r"the path of parents from '[ab]' contains a cycle"):
        rules.depths({"name": ["r", "a", "b"], "parent": ["", "b", "a"]})


@pytest.mark.parametrize("size", [51, 100_000])
def test_a_deep_tree_is_rejected_before_anything_is_allocated(size):
    columns = chain(size)
    parents = {name: above or None for name, above in zip(columns["name"], columns["parent"], strict=True)}
    with pytest.raises(ValueError, match="to the root must have fewer than 50 steps"):
        dpm.Release(dict.fromkeys(parents, 1.0), mechanism=dpm.Laplace(scale=2.0), parents=parents)
    with pytest.raises(ValueError, match="must not contain a cycle: correct the parents"):
        dpm.Release([1.0, 2.0, 3.0], mechanism=dpm.Laplace(scale=2.0), parents=[None, 2, 1])


@pytest.mark.parametrize(("total", "prior", "wrong"), [(None, "flat", True), (20, "flat", False), (None, None, True)])
def test_an_empty_cell_needs_something_that_bounds_the_count(total, prior, wrong):
    columns = {"name": ["a", "b"], "value": ["1", ""]}
    settings = {"noise": {"law": "laplace", "scale": 2.0}, "file": "c.csv"}
    settings |= {key: value for key, value in (("total", total), ("prior", prior)) if value is not None}
    said = [text for _, text in rules.mistakes(settings, columns, False)]
    assert any("'b' has no value: fill the empty cell" in text for text in said) == wrong


@pytest.mark.parametrize("text", ["1e99999", "-1e99999", "1e309"])
def test_a_number_beyond_floating_point_is_no_infinity(text):
    with pytest.raises(reading.ConfigError, match=rf"numbers must lie between -1\.8e308 and 1\.8e308, got {text}"):
        reading.parse(f'{{"a": {text}}}', form="json")
    with pytest.raises(FileFault, match="is outside the range of floating-point numbers"):
        published.parsed(f'{{"release": {text}}}'.encode(), "record.json")


def test_half_of_a_surrogate_pair_is_no_character():
    assert reading.parse(r'{"a": "\ud83d\ude00"}', form="json") == {"a": "\U0001f600"}
    for text in (r'{"a\ud800": 1}', r'{"a": "\udfff"}', r'{"a": ["b", {"c": "\ud800x"}]}'):
        with pytest.raises(reading.ConfigError, match="unpaired surrogate"):
            reading.parse(text, form="json")
    with pytest.raises(FileFault, match="is not valid JSON"):
        published.parsed(rb'{"release": "\ud800"}', "record.json")


@pytest.mark.parametrize("rows", [29, 30])
def test_empty_lines_of_a_batch_are_not_rows(rows, tmp_path):
    """Check that a batch with empty lines has the same columns and number of rows as the batch without these lines."""
    path = tmp_path / "batch.csv"
    lines = [f"t{i // 2},c{i % 2},{i}" for i in range(rows)]
    path.write_text("\n".join(["table,name,value", "", lines[0], "", "", *lines[1:], ""]))
    assert table_files.is_batch(str(path))
    assert table_files.header(path) == ["table", "name", "value"]
    settings = {"file": str(path), "prior": "fitted"}
    faults = [text for _, text in rules._prior_of_batch(settings, {"table": [], "name": [], "value": []})]
    wanted = [] if rows == 30 else ["fitting a prior requires at least 30 measured counts, got 29 rows"]
    assert faults == wanted
    path.write_text("table,name,value\n\n\n")
    assert not table_files.is_batch(str(path))
