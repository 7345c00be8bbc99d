"""Public files of a scenario: what is too large, too deep or not a number is rejected before anything is computed."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import dpmultinomial as dpm
from dpmultinomial._files import published
from dpmultinomial._files.places import FileFault
from reproduction.config import question_rules, reading, table_files
from reproduction.scenarios import batch, table_stream
from reproduction.scenarios.noisy_counts import rules
from reproduction.scenarios.table_stream import Tables

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
                ValueError, match=r"the depth of '.*' must be < 50, got at least 5[01]: use fewer levels"
            ):
                rules.depths({key: values[::order] for key, values in chain(size).items()})
    with pytest.raises(ValueError, match=r"the ancestors of '[ab]' contain a cycle \([ab] -> [ab] -> [ab]\)"):
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
    faults = [text for _, text in rules._of_batch(settings, {"table": [], "name": [], "value": []})]
    wanted = [] if rows == 30 else ["fitting a prior requires at least 30 measured counts, got 29 rows"]
    assert faults == wanted
    path.write_text("table,name,value\n\n\n")
    assert not table_files.is_batch(str(path))


def both(tmp_path, rows):
    """Return the same columns as a CSV file and as a Parquet file."""
    (tmp_path / "a.csv").write_text("name,value\n" + "".join(f"{name},{value}\n" for name, value in rows))
    names, values = zip(*rows, strict=True)
    return str(tmp_path / "a.csv"), parquet(tmp_path / "a.parquet", name=list(names), value=list(values))


def test_the_limits_of_integers_and_names_are_themselves_allowed(tmp_path):
    rows = [("a", 0), ("x" * 1000, 10**8)]
    for path in both(tmp_path, rows):
        found = table_files.texts(path, {"name": "text", "value": "whole"})
        assert found == {"name": ["a", "x" * 1000], "value": ["0", "100000000"]}
    (tmp_path / "b.csv").write_text("name,value\na,100000001\n")
    with pytest.raises(ValueError, match=r"line 2, column 'value': must be in .0, 100000000., got '100000001'"):
        table_files.texts(str(tmp_path / "b.csv"), {"name": "text", "value": "whole"})
    path = parquet(tmp_path / "b.parquet", name=["x" * 1001], value=[1])
    with pytest.raises(ValueError, match="must have at most 1000 characters, got a name with 1001 characters"):
        table_files.texts(path, KINDS)


@pytest.mark.parametrize(("rows", "columns", "size", "words"), [
    (10**7, 10_000, 2**31, ""),
    (10**7 + 1, 1, 1, "10000000 rows, got 10000001"),
    (1, 10_001, 1, "10000 columns, got 10001"),
    (1, 1, 2**31 + 1, "4294967296 bytes when it is decompressed, got 4294967298"),
])  # fmt: skip
def test_what_a_parquet_file_may_contain(rows, columns, size, words):
    """Two groups of rows have the same size, 2 GiB at most."""
    group = SimpleNamespace(total_byte_size=size)
    stated = SimpleNamespace(num_rows=rows, num_columns=columns, num_row_groups=2, row_group=[group, group].__getitem__)
    if words:
        with pytest.raises(ValueError, match=f"'a.parquet' must have at most {words}: split the file"):
            table_files._refuse_large(Path("a.parquet"), stated)
    else:
        table_files._refuse_large(Path("a.parquet"), stated)


@pytest.mark.parametrize("rows", [3, 2])
def test_the_limit_of_rows_and_bytes_is_itself_allowed(tmp_path, monkeypatch, rows):
    path = tmp_path / "a.parquet"
    parquet(path, name=["a", "b", "c"], value=[1, 2, 3])
    stated = pa.parquet.ParquetFile(path).metadata
    size = sum(stated.row_group(k).total_byte_size for k in range(stated.num_row_groups))
    monkeypatch.setattr(table_files, "LARGEST_UNPACKED", size - (rows == 2))
    if rows == 3:
        monkeypatch.setattr(table_files, "LARGEST_ROWS", 3)
        assert table_files.header(path) == ["name", "value"]
    else:
        with pytest.raises(ValueError, match=f"at most {size - 1} bytes when it is decompressed, got {size}"):
            table_files.header(path)


@pytest.mark.parametrize(
    ("values", "kind", "setting"),
    [(["3", "3"], "number", 3), (["2.5"], "number", 2.5), (["3"], "text", "3"), (["x", "x"], "text", "x")],
)
def test_a_setting_given_as_a_column(values, kind, setting):
    found = table_files.by_table("f.csv", {"total": values, "other": ["1"]}, {"total": kind, "level": "number"})
    assert found == {"total": setting}
    assert type(found["total"]) is type(setting)


@pytest.mark.parametrize(
    ("values", "words"),
    [(list("abcdef"), "'a', 'b', 'c', 'd', 'e'$"), (["a", ""], "'a', ''$"), ([""], "got ''$"), ([], "got $")],
)
def test_a_setting_given_as_a_column_has_one_value(values, words):
    with pytest.raises(ValueError, match=f"^'f.csv', column 'total': all rows must have the same value, .*{words}"):
        table_files.by_table("f.csv", {"total": values}, {"total": "text"})


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"a,b\n", "has no rows: a file of public numbers must be CSV in UTF-8 with a header, or .parquet"),
        (b"", "has no rows"),
        (b"a,b\n1,\xff\n", r"is not valid UTF-8 \(byte 6\)"),
        (b"a,b\n1,\0\n", "is not a text file, because it contains NUL bytes"),
        (b"b,a,b,a\n1,2,3,4\n", "has two columns with the name 'a': rename one of these columns"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "cannot be read .field larger than field limit"),
    ],
)
def test_files_that_are_no_tables(tmp_path, raw, words):
    (tmp_path / "a.csv").write_bytes(raw)
    with pytest.raises(ValueError, match=words):
        table_files.header(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="is not a file: paths are relative to the working directory"):
        table_files.header(tmp_path / "b.csv")


@pytest.mark.parametrize("size", [40, 41, 42])
def test_only_the_start_of_a_long_file_is_examined(tmp_path, monkeypatch, size):
    """The last line is cut in a file of at least as many bytes as are read, and is then not a row."""
    monkeypatch.setattr(table_files, "_READ", size)
    raw = b"name,value\n" + b"x" * 27 + b",1\n"
    assert len(raw) == 41
    (tmp_path / "a.csv").write_bytes(raw)
    if size == 40:
        with pytest.raises(ValueError, match="has no rows"):
            table_files.header(tmp_path / "a.csv")
    else:
        assert table_files.header(tmp_path / "a.csv") == ["name", "value"]


def test_cells_that_a_rule_rejects_are_named_once_each(tmp_path):
    """Equal texts are checked once, and every row with the text is named."""
    asked = []

    def judge(text):
        asked.append(text)
        if text == "bad":
            raise ValueError("must be good")

    path = tmp_path / "a.csv"
    path.write_text("name,value\na,bad\nb,good\nc,bad\n")
    with pytest.raises(ValueError, match=r"line 2, column 'value': must be good") as caught:
        table_files.texts(str(path), {"name": "text", "value": "text"}, {"value": judge})
    assert "line 4, column 'value': must be good" in str(caught.value)
    assert asked == ["bad", "good"]
    path = parquet(tmp_path / "a.parquet", name=["a", "b"], value=["good", "bad"])
    with pytest.raises(ValueError, match=r"row 2, column 'value': must be good, got 'bad'$"):
        table_files.texts(path, {"name": "text", "value": "text"}, {"value": judge})


NAMES = ("a", "b", "c", "all of them")
WHOLE = "all of them"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"probability": "a > b"}, None),
        ({"sum": "a"}, None),
        ({"sum": ["a", "b"], "about": "shares"}, None),
        ({"difference": ["a", ["b", "c"]]}, None),
        ({"rank": {"of": ["a", "b"], "top": 2}}, None),
        ({"rank": {"of": "a", "among": "all", "top": 3}}, None),
        ({"rank": {"of": ["a"], "among": ["b", "a"]}}, None),
        ({"rank": {"of": WHOLE, "among": [WHOLE, "a"]}}, None),
        ({"rank": {"of": "all", "top": 3}}, None),
        ({"share": {"of": "a", "among": ["a", "b"]}}, None),
        ({"share": {"of": "all", "among": ["a"]}}, "must also be listed under 'among', which lacks b, c \\("),
        ({"share": {"of": ["a"], "among": "all"}}, None),
        ({"share": {"of": ["a", "b"], "among": WHOLE}}, None),
        ({"share": {"of": "a", "among": [WHOLE, "a"]}}, "a is a part of all of them, .* one of them under 'among'$"),
        ({"share": {"of": [WHOLE, "b"], "among": WHOLE}}, "b is a part of all of them, .* one of them under 'of'$"),
        ({}, "must have exactly one of the keys sum, difference, ratio, share, probability, rank, got none"),
        ({"sum": ["a"], "ratio": ["a", "b"]}, "must have exactly one of the keys .*, got sum, ratio"),
        ({"mean": "a"}, "must have exactly one of the keys .*, got mean"),
        ({"probability": 3}, "probability requires a comparison such as 'a > b', got 3"),
        ({"probability": "a > z"}, "unknown name 'z'"),
        ({"sum": 3}, "sum requires names of quantities, got 3"),
        ({"sum": ["a", "z"]}, "unknown name 'z'"),
        ({"difference": ["a"]}, "difference requires two sides, such as .*, got .'a'."),
        ({"difference": ["a", "b", "c"]}, "difference requires two sides"),
        ({"difference": "ab"}, "difference requires two sides, .* got 'ab'"),
        ({"ratio": ["a", 3]}, "ratio requires names of quantities, got 3"),
        ({"rank": "all"}, "rank must have the form {of: all, top: 5}"),
        ({"rank": {"of": "all", "low": 1}}, "rank must have the form {of: all, top: 5}"),
        ({"rank": {"top": 1}}, "rank must have the form {of: all, top: 5}"),
        ({"rank": {"of": "all", "top": 0}}, r"top must be in \[1, 3\], got 0"),
        ({"rank": {"of": "all", "top": True}}, "top must be an integer, got True"),
        ({"rank": {"of": "all", "top": 4}}, r"top must be in \[1, 3\], got 4"),
        ({"rank": {"of": ["a", "b"], "top": 3}}, r"top must be in \[1, 2\], got 3"),
        ({"rank": {"of": "a"}}, "at least two .*: to rank a among all, write {of: a, among: all}"),
        ({"rank": {"of": ["a"], "among": "a", "top": 1}}, "at least two .* write {of: a, among: all}"),
        ({"rank": {"of": "a", "among": "all", "top": 4}}, r"top must be in \[1, 3\], got 4"),
        ({"rank": {"of": ["a", "b"], "among": ["b", "c"]}}, "rank: .* be listed under 'among', which lacks a \\("),
        ({"rank": {"of": WHOLE, "among": "all"}}, "must also be listed under 'among', which lacks all of them \\("),
        ({"share": ["a"]}, r"share must have the form {of: \[\.\.\], among: \[\.\.\]}"),
        ({"share": {"of": "a"}}, "share must have the form"),
        ({"share": {"of": "a", "among": ["b"], "top": 1}}, "share must have the form"),
        ({"share": {"of": "a", "among": ["b", "c"]}}, "share: .* must also be listed under 'among', which lacks a \\("),
    ],
)  # fmt: skip
def test_questions_are_checked_before_any_job(question, words):
    found = list(question_rules.mistakes({"q": question}, NAMES, dict.fromkeys("abc", WHOLE)))
    assert [place for place, _ in found] == [".questions.q"] * (words is not None)
    assert all(re.search(words, text) for _, text in found)
    if words is not None and not (
        "unknown" in words
        or "in \\[" in words
        or "listed" in words
        or "part of" in words
        or "two .*" in words
        or "ratio requ" in words
    ):
        assert list(question_rules.mistakes({"q": question}, ())) == found  # names are not known yet


_SIDES = (3, None, [], {}, "z", ["a", "z"], ["a", "a"], True, {"a": 1})  # none of them is a name or a list of names
FAULTY = [
    {},
    {"mean": "a"},
    {"about": "counts"},
    {"sum": "a", "rank": {"of": "all"}},
    *({"sum": side} for side in _SIDES),
    *({kind: [side, "b"]} for kind in ("difference", "ratio") for side in _SIDES),
    *({kind: what} for kind in ("difference", "ratio") for what in ("ab", ["a"], ["a", "b", "c"], 3, None, {"a": "b"})),
    *({"share": {"of": side, "among": "all"}} for side in _SIDES),
    *({"share": {"of": "a", "among": side}} for side in _SIDES),
    *({"share": what} for what in ("a", ["a", "b"], {"of": "a"}, {"of": "a", "among": "all", "top": 1}, None)),
    *(
        {"share": {"of": of, "among": among}}
        for of, among in (("a", "b"), (WHOLE, "all"), ([WHOLE, "a"], [WHOLE, "b"]))
    ),
    *({"share": {"of": "a", "among": ["a", WHOLE]}}, {"share": {"of": "all", "among": ["a", "b"]}}),
    *({"rank": {"of": side}} for side in _SIDES),
    *({"rank": {"of": "a", "among": side}} for side in _SIDES),
    *({"rank": {"of": "all", "top": top}} for top in (0, -1, 4, 1.5, True, "2", None)),
    *({"rank": what} for what in ("all", ["a", "b"], {"top": 1}, {"of": "all", "low": 1}, None, {"of": "a"})),
    *({"rank": {"of": ["a", "b"], "among": ["a", "c"]}}, {"rank": {"of": WHOLE, "among": "all"}}),
    *(
        {"probability": what}
        for what in (3, None, ["a", "b"], "", "a", "a > b > c", "a > z", "a / b > 1", "> 1", "a b > 1")
    ),
]


@pytest.fixture(scope="module")
def tree():
    parents = {"a": WHOLE, "b": WHOLE, "c": WHOLE, WHOLE: None}
    law = dpm.DiscreteLaplace(scale=1.0)
    return dpm.posterior(dpm.Release({"a": 5, "b": 7, "c": 2, WHOLE: 14}, mechanism=law, parents=parents))


def test_the_library_and_the_check_of_a_configuration_have_the_same_rules(tree):
    """Every question that the check rejects is rejected by the library with the same message, and no other question."""
    assert len(FAULTY) >= 100
    rng = np.random.default_rng(1)
    for question in FAULTY:
        found = list(question_rules.mistakes({"q": question}, NAMES, dict.fromkeys("abc", WHOLE)))
        assert [place for place, _ in found] == [".questions.q"], question
        with pytest.raises((ValueError, TypeError, KeyError)) as caught:
            tree.ask({"q": question}, rng=rng)
        assert str(caught.value.args[0]) == f"q: {found[0][1]}", question
    for question in ({"sum": "all"}, {"rank": {"of": ("a", "b")}}, {"share": {"of": ["a"], "among": WHOLE}},
                     {"difference": [["a", "b"], "a"]}, {"probability": "2 * a - b > 3"}):  # fmt: skip
        assert list(question_rules.mistakes({"q": question}, NAMES, dict.fromkeys("abc", WHOLE))) == []
        assert len(tree.ask({"q": question}, rng=rng)) >= 1


def test_the_form_of_a_question_is_checked_before_its_names_are_known():
    """Without names, only the rules about names and about the numbers of names are missing."""
    about_names = ("unknown name", "two quantities", "must also be listed", "is a part of", "top must be in",
                   "unexpected", "exactly one of the operators", "each side must be", "cannot be parsed")  # fmt: skip
    for question in FAULTY:
        ((_, text),) = question_rules.mistakes({"q": question}, NAMES, dict.fromkeys("abc", WHOLE))
        found = [text for _, text in question_rules.mistakes({"q": question}, ())]
        if not any(words in text for words in about_names):
            assert found == [text], question
        else:
            assert not found or "top must be >= 1" in found[0], question


def test_a_part_of_a_part_belongs_to_the_whole():
    parents = {"state": None, "county": "state", "tract": "county", "other": "state"}
    for of, among, words in (
        ("tract", "state", None),
        ("tract", "county", None),
        ("tract", "other", "share: .* which lacks tract"),
        ("tract", ["state", "tract"], "share: tract is a part of state, .* one of them under 'among'"),
    ):
        found = list(question_rules.mistakes({"q": {"share": {"of": of, "among": among}}}, list(parents), parents))
        assert len(found) == (words is not None)
        assert not found or re.search(words, found[0][1])


def test_a_question_about_an_unknown_group():
    found = list(
        question_rules.mistakes({"q": {"sum": "a", "about": "means"}, "r": {"sum": "a", "about": "rates"}}, ())
    )
    assert found == [(".questions.q.about", "must be one of counts, shares, rates, parameters, got 'means'")]


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), (" 2.5 ", 2.5), ("+3", 3), ("-.5", -0.5), ("4.", 4), ("1e3", 1000), ("+1E-2", 0.01), ("", np.nan),
     (" ", np.nan), ("x", np.inf), ("1 2", np.inf), (".", np.inf), ("e3", np.inf), ("0x10", np.inf), ("1e", np.inf)],
)  # fmt: skip
def test_a_cell_is_a_number_or_empty_or_a_mistake(text, number):
    """Other cells of the column are read in the same way, whether or not a cell is not a number."""
    for others in (["7"], ["7", "word"]):
        found = table_stream._numbers(pa.array([text, *others]))
        read = found.to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(read[:2], [number, 7])
    assert table_stream._numbers(pa.array([1, None])).to_pylist() == [1.0, None]
    assert table_stream._numbers(pa.array(["1", "2"]).dictionary_encode()).to_pylist() == [1.0, 2.0]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("shards", [1, 2, 3, 4])
def test_tables_of_a_file_are_those_of_its_shards(tmp_path, ending, shards):
    """Rows of three tables in turn: the tables are in the order of their first rows, and the rows in the file's."""
    rows = [("b", "x", 1), ("a", "y", 2), ("b", "z", 3), ("c", "x", 4), ("a", "x", 5)]
    path = tmp_path / f"many.{ending}"
    table, name, value = zip(*rows, strict=True)
    if ending == "csv":
        path.write_text("table,name,value\n" + "".join(f"{t},{n},{v}\n" for t, n, v in rows))
    else:
        parquet(path, table=list(table), name=list(name), value=list(value))
    found = [table_stream.of_shard(path, KINDS, s, shards) for s in range(1, shards + 1)]
    sizes = [len(part.names) for part in found]
    for part in found:
        assert len(part.starts) == len(part.names) + 1
        assert {len(values) for values in part.columns.values()} == {part.starts[-1]}
    assert sum(sizes) == 3
    assert max(sizes) - min(sizes) <= 1
    listed = {
        t: list(zip(part.columns["name"][a:b], part.columns["value"][a:b], strict=True))
        for part in found
        for t, a, b in zip(part.names, part.starts, part.starts[1:], strict=False)
    }
    assert list(listed) == ["b", "a", "c"]
    assert listed == {"b": [("x", 1), ("z", 3)], "a": [("y", 2), ("x", 5)], "c": [("x", 4)]}


def test_a_row_with_too_many_fields_spoils_its_own_table(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("name,table,value\nx,a,1\ny,a,2,3\nx,b,4\nonly\n")
    found = table_stream.of_shard(path, KINDS, 1, 1)
    assert found.names == ["a", "b", ""]
    assert found.reasons == [
        "a row has 4 fields, but the header has 3", "", "a row has 1 fields, but the header has 3"]  # fmt: skip
    assert found.starts.tolist() == [0, 1, 2, 2]


def made(*sizes, **columns):
    """Return tables t0, t1, .. with the given numbers of rows."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    given = {name: np.array(values) for name, values in columns.items()} or {"value": np.arange(starts[-1])}
    return Tables([f"t{i}" for i in range(len(sizes))], starts, given, ["r" * i for i in range(len(sizes))])


@pytest.mark.parametrize(("size", "pieces"), [(1, 3), (2, 2), (3, 1), (9, 1)])
def test_pieces_of_tables_are_consecutive(size, pieces):
    whole = made(2, 0, 3)
    parts = list(whole.pieces(size))
    assert len(parts) == pieces
    assert [name for part in parts for name in part.names] == ["t0", "t1", "t2"]
    assert [reason for part in parts for reason in part.reasons] == ["", "r", "rr"]
    assert np.concatenate([part.columns["value"] for part in parts]).tolist() == list(range(5))
    assert [np.diff(part.starts).tolist() for part in parts] == [[2, 0, 3][i : i + size] for i in range(0, 3, size)]
    assert all(part.starts[0] == 0 for part in parts)


def test_some_tables_keep_their_rows():
    found = batch.only(made(2, 1, 3), np.array([0, 2]))
    assert (found.names, found.starts.tolist()) == (["t0", "t2"], [0, 2, 5])
    assert found.columns["value"].tolist() == [0, 1, 3, 4, 5]
    assert found.reasons == ["", ""]
    assert batch.only(made(2), np.array([], dtype=np.int64)).starts.tolist() == [0]


def test_a_parameter_is_the_same_in_all_rows_of_a_table():
    tables = made(2, 2, 1, 2, total=[3.0, 3.0, 4.0, 5.0, 6.0, np.nan, np.nan], how=list("aabcddd"))
    values, reasons = batch.one_a_table(tables, "total")
    np.testing.assert_array_equal(values, [3, 4, 6, np.nan])
    assert reasons == ["", "total must be the same in all rows of a table", "", ""]
    values, reasons = batch.one_a_table(tables, "how")
    assert values.tolist() == ["a", "b", "d", "d"]
    assert reasons == ["", "how must be the same in all rows of a table", "", ""]
    values, reasons = batch.one_a_table(tables, "total", 7)
    assert (values.tolist(), reasons) == ([7] * 4, [""] * 4)
    assert batch.one_a_table(made(), "value")[1] == []
    assert batch.both(["a", "", "b", ""], ["c", "d", "", ""]) == ["a; c", "d", "b", ""]


def test_rows_of_a_table_have_different_names():
    tables = made(2, 2, 2, 1, name=["a", "b", "a", "a", "", "b", "a"])
    empty, twice = "name must not be empty", "name must not contain duplicates"
    assert batch._named_once(tables, ["name"]) == ["", twice, empty, ""]
    two = made(2, 2, row=list("aabb"), column=list("xyxx"))
    assert batch._named_once(two, ["row", "column"]) == ["", "row and column must not contain duplicates"]
    two.names[0] = ""
    assert batch._named_once(two, ["row", "column"])[0] == "every table must have a name"


def test_counts_of_tables_are_added_and_ordered_by_their_number():
    parts = [
        {"all": 3, "refused": 1, "statuses": {"exact": 2, "refused: x": 1, "refused: y": 1}, "conflicts": 1},
        {"all": 5, "refused": 0, "statuses": {"converged": 4, "exact": 1}},
    ]
    found = batch.added(parts)["tables"]
    assert (found["all"], found["refused"]) == (8, 1)
    assert list(found["statuses"].items()) == [
        ("converged", 4),
        ("exact", 3),
        ("refused: x", 1),
        ("refused: y", 1),
    ]
    assert "conflicts" not in found
    assert batch.added([parts[0], {**parts[1], "conflicts": 2}])["tables"]["conflicts"] == 3
    found = batch.added([{"all": 2, "refused": 0, "statuses": {"b": 1, "a": 1}}])["tables"]
    assert list(found["statuses"].items()) == [("a", 1), ("b", 1)]
    assert batch.added([]) == {"tables": {"all": 0, "refused": 0, "statuses": {}}}


def test_a_table_has_its_worst_status_and_is_counted_for_each_reason_of_a_rejected_row():
    rows = [
        *((1, "exact"), (1, "approximate"), (1, "exact")),
        *((2, "exact"), (2, "exact")),
        *((3, "converged"), (3, "exact"), (3, "not converged")),
        *((4, "exact"), (4, "refused: x"), (4, "refused: y"), (4, "refused: x")),
        (5, "refused: y"),
        *((6, "approximate"), (6, "converged")),
    ]
    table, status = (pd.Series(column) for column in zip(*rows, strict=True))
    assert batch._statuses(status, table) == {
        "approximate": 1,
        "exact": 1,
        "not converged": 1,
        "converged": 1,
        "refused: x": 1,
        "refused: y": 2,
    }


def test_tables_are_analysed_one_after_the_other_unless_there_is_a_reason():
    def answer(t):
        if t == 1:
            raise ValueError("wrong")
        return pd.DataFrame({"mean": [float(t)] * 2})

    rows, reasons = batch.one_by_one(made(1, 1, 1, 1), answer, ["", "", "skipped", ""])
    assert rows["position"].tolist() == [0, 0, 3, 3]
    assert rows["mean"].tolist() == [0, 0, 3, 3]
    assert reasons == ["", "wrong", "skipped", ""]
    rows, reasons = batch.one_by_one(made(1), answer, ["x"])
    assert (len(rows), list(rows.columns), reasons) == (0, ["position"], ["x"])


def test_answers_are_in_the_order_of_the_tables_with_the_rejected_ones():
    tables = made(1, 1, 1, name=["a", "", "c"], value=[1.0, 2.0, 3.0])
    tables.reasons[:] = ["", "", ""]

    def many(usable, settings, streams):
        assert usable.names == ["t0", "t2"]
        one = {"quantity": "a", "type": "count", "mean": 1.0, "status": "exact"}
        return pd.DataFrame([{"position": 1, **one}]), ["too few", ""]

    found = batch.answered(many, tables, ["name"], {"level": 0.9}, None)
    assert found["table"].tolist() == ["t0", "t1", "t2"]
    assert found["status"].tolist() == ["refused: too few", "refused: name must not be empty", "exact"]
    assert found["level"].tolist() == [0.9] * 3
    assert found["analysis"].tolist() == [""] * 3
