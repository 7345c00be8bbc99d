"""Tests of the strict reader: RFC 4180 by its reference on random bytes, named cases by hand, hostile arguments."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import csv_fields as reference

from dpmultinomial._files import _csv_fields, csv_table, table_columns
from dpmultinomial._files.csv_table import Limits, parse

SECRET = "c4nary"


def read(raw, **options):
    return parse(raw, name="file.csv", **({"confidential": False} | options))


@given(
    st.lists(st.sampled_from([b"a", b"7", b",", b'"', b"\n", b"\r\n", b"\r", b"\0", b'""', b"\xc3\xa9"]), max_size=14)
)
@settings(max_examples=1500, deadline=None, derandomize=True)
def test_fields_are_the_reference(pieces):
    data = b"".join(pieces)
    found = _csv_fields.split(data)
    records, fault = reference.split(data)
    assert found.fault == fault
    spans = [list(zip(s, e, strict=True)) for s, e in zip(found.starts.tolist(), found.ends.tolist(), strict=True)]
    assert spans == records


CELLS = st.text(st.sampled_from('ab,"\n\r;é€'), max_size=5)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_what_the_standard_library_writes_is_read_back(rows, end):
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("x", "y", "z"), *rows])
    for stored in ("utf-8", "utf-8-sig", "utf-16"):
        table = read(stream.getvalue().encode(stored), delimiter=",")
        assert table.columns == ("x", "y", "z")
        assert list(zip(*(table.texts(c) for c in "xyz"), strict=True)) == rows


FILE = b'id;"block;no";tenure\r\n\r\n007;1;"own"\r\n008;2;"""rent"""\n009;1;"two\r\nlines"\r\n\n010;1;\r\n 011 ;2;own'


def test_exchange_touches_nothing_else():
    table = read(FILE)
    assert table.texts("id") == ["007", "008", "009", "010", " 011 "]
    assert table.texts("tenure") == ["own", '"rent"', "two\r\nlines", "", "own"]
    assert table.lines.tolist() == [3, 4, 5, 8, 9]
    swapped = table.exchanged(["tenure"], np.array([2, 4, 3, 0, 1]))
    assert swapped == (
        b'id;"block;no";tenure\r\n\r\n007;1;"two\r\nlines"\r\n008;2;own\n009;1;\r\n\n010;1;"own"\r\n 011 ;2;"""rent"""'
    )
    assert table.exchanged(["tenure", "id"], np.arange(5)) == FILE


@pytest.mark.parametrize("stored", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_every_encoding_returns_its_own_bytes(stored):
    text = 'näme,b\r\nü,1\r\n\r\n"é,é",2\r\n'
    raw = text.encode(stored)
    stated = None if stored in ("utf-8", "utf-8-sig", "utf-16") else stored
    table = read(raw, encoding=stated)
    assert table.columns == ("näme", "b")
    assert table.texts("näme") == ["ü", "é,é"]
    assert table.exchanged(["näme"], np.array([0, 1])) == raw
    exchanged = text.replace(",1", ",#").replace(",2", ",1").replace(",#", ",2")
    assert table.exchanged(["b"], np.array([1, 0])) == exchanged.encode(stored)


@given(st.data())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_exchange_is_the_reference(data):
    rows = data.draw(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6))
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_MINIMAL).writerows([("x", "y", "z"), *rows])
    table = read(stream.getvalue().encode(), delimiter=",")
    sources = data.draw(st.permutations(range(len(rows))))
    columns = sorted(data.draw(st.sets(st.sampled_from(["x", "y", "z"]))))
    places = [table.place(c) for c in columns]
    spans = [list(zip(s, e, strict=True)) for s, e in zip(table.starts.tolist(), table.ends.tolist(), strict=True)]
    expected = reference.exchange(table.source.data, spans, places, list(sources))
    assert table.exchanged(columns, np.array(sources, dtype=np.int64)) == expected


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (b"a,b\n1,2,\n", r"line 2: the line must have 2 fields, as many as the header, got 3"),
        (b"a,b\n1,2\n\n3\n", r"line 4: the line must have 2 fields, as many as the header, got 1"),
        (b"a,b\n1,2\n3,4,5,6\n", r"line 3: the line must have 2 fields, .* got 3 or more"),
        (b"a,a\n1,2\n", r"line 1, column 2: the column has the same name as column 1 \('a'\)"),
        (b"a, \n1,2\n", r"line 1, column 2: the column has no name"),
        (b"", r"empty"),
        (b"\xef\xbb\xbf\r\n\r\n", r"empty"),
        (b'a,b\n1,"2\n', r"line 2, column 2: the quoted field has no closing quote"),
        (b'a,b\n1,x"2"\n', r"line 2, column 2: the field contains a quote"),
        (b'a,b\n1,"2"x\n', r"line 2, column 2: the field has text after its closing quote"),
        (b"a,b\r1,2\r", r"line 1, column 2: the line contains a carriage return without a line feed"),
        (b"a,b\n1,2\0\n", r"line 2, column 2: the line contains a NUL byte"),
        (b"a,b\n1,\xff\n", r"line 2: the file is not valid utf-8 \(byte 6\); save it as UTF-8"),
        (b"a,b;c\n1,2;3\n", r"the delimiter is ambiguous"),
    ],
)
def test_faults_name_file_line_column_and_rule(raw, rule):
    with pytest.raises(ValueError, match=r"^file\.csv.*" + rule):
        read(raw)


def test_limits():
    wide = b",".join(b"c%d" % i for i in range(5)) + b"\n"
    assert len(read(wide, limits=Limits(columns=5)).columns) == 5
    with pytest.raises(ValueError, match="at most 4 columns"):
        read(wide, limits=Limits(columns=4))
    with pytest.raises(ValueError, match="line 2, column 1: the field must have at most 3 bytes, got 4 bytes"):
        read(b"abc\nabcd\n", limits=Limits(length=3))


def test_a_delimiter_is_found_by_the_width_of_every_row():
    assert read(b'a;"b,c"\n1;2\n').delimiter == ";"
    assert read(b"a;b,c\n1;2\n3;4\n").columns == ("a", "b,c")  # under "," rows have another width than the header
    assert read(b"one\n1\n").delimiter == ","
    assert read(b"a\tb\n1\t2\n").delimiter == "\t"
    with pytest.raises(ValueError, match="delimiter must be one of"):
        read(b"a b\n", delimiter=" ")


@pytest.mark.parametrize(
    "cell", ["3.0", "1e3", "", " 3", "3 ", "1_000", "0x1", "٣", "nan", "9" * 19, "9007199254740993"]
)
def test_whole_numbers_are_digits(cell):
    with pytest.raises(ValueError, match=r"line 3, column 'n': must be"):
        read(f"n,x\n7,y\n{cell},y\n".encode()).whole("n")


@pytest.mark.parametrize("cell", ["nan", "inf", "", "1,5", "1_0", "1e999", "0x1p3", " 1", "½", "1e", "."])
def test_numbers_have_a_decimal_point(cell):
    with pytest.raises(ValueError, match=r"line 3, column 'n': must be"):
        read(f"n;x\n7;y\n{cell};y\n".encode()).numbers("n")


@pytest.mark.parametrize("together", [1, 2, 5, 7])
def test_large_files_are_read_in_blocks(together, monkeypatch):
    monkeypatch.setattr(csv_table, "_AT_ONCE", together)
    table = read("n,x\n1,é\n2,b\n3,c\n4,d\n5,e\n".encode())
    assert table.texts("x") == ["é", "b", "c", "d", "e"]
    assert table.numbers("n").tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [(record, value) for _, record, _, value in table.wrong_cells("n", "whole", least=2, most=3)] == [
        (0, "1"),
        (3, "4"),
        (4, "5"),
    ]


def test_values_keep_their_text_until_they_are_numbers():
    table = read(b"n,x\n007,-1.5e2\n+8,.25\n-0,1.\n")
    assert table.texts("n") == ["007", "+8", "-0"]
    assert table.whole("n").tolist() == [7, 8, 0]
    assert table.numbers("x").tolist() == [-150.0, 0.25, 1.0]
    with pytest.raises(ValueError, match=r"must be in \[0, 7\], got '\+8'"):
        table.whole("n", least=0, most=7)


@pytest.mark.parametrize(
    "raw",
    [
        f"n,n2\n{SECRET},1\n".encode(),
        f"{SECRET},{SECRET}\n1,2\n".encode(),
        f"n,n2\n1,{SECRET},\n".encode(),
        f'n,n2\n1,"{SECRET}\n'.encode(),
        f'n,n2\n1,{SECRET}"\n'.encode(),
        f"n,n2\n1,{SECRET}\xff\n".encode("latin-1"),
        f"{SECRET},b\n1,2\n".encode(),
        f"n,n2\n{'9' * 18}.{SECRET},1\n".encode(),
    ],
)
def test_errors_of_a_confidential_file_show_nothing_it_holds(raw):
    with pytest.raises(ValueError) as caught:
        read(raw, confidential=True).whole("n")
    error = caught.value
    while error is not None:
        assert SECRET not in repr(error)
        assert not hasattr(error, "object")
        error = error.__context__
    assert SECRET not in repr(read(b"n\n1\n", confidential=True))


def test_stated_encodings_are_checked():
    for raw, encoding, rule in [
        (b"\xef\xbb\xbfa\n1\n", "utf-16-le", "begins with the byte order mark of utf-8"),
        (b"a\n1\n", "utf-16", "requires a byte order mark"),
        (b"a\n1\n", "ascii", "encoding must be one of"),
        (b"\xff\xfea\0\n\0\x00\xd8", "utf-16", "not valid utf-16-le"),
    ]:
        with pytest.raises(ValueError, match=rule):
            csv_table.decode(raw, name="f", encoding=encoding)


def test_public_files_say_what_is_wrong(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"n\nseven\n")
    with pytest.raises(ValueError, match="got 'seven'"):
        csv_table.read(path).whole("n")


@pytest.mark.parametrize(
    ("raw", "stated", "stored", "mark", "data"),
    [
        (b"a", None, "utf-8", b"", b"a"),
        (b"\xef\xbb\xbfa", None, "utf-8", b"\xef\xbb\xbf", b"a"),
        (b"\xef\xbb\xbfa", "utf-8", "utf-8", b"\xef\xbb\xbf", b"a"),
        (b"\xff\xfea\0", None, "utf-16-le", b"\xff\xfe", b"a"),
        (b"\xff\xfea\0", "utf-16", "utf-16-le", b"\xff\xfe", b"a"),
        (b"\xfe\xff\0a", "utf-16", "utf-16-be", b"\xfe\xff", b"a"),
        (b"\xfe\xff\0a", "utf-16-be", "utf-16-be", b"\xfe\xff", b"a"),
        (b"a\0", "utf-16-le", "utf-16-le", b"", b"a"),
        (b"\xff\xfe", "latin-1", "latin-1", b"", b"\xff\xfe"),
        (b"", None, "utf-8", b"", b""),
    ],
)
def test_encodings_by_their_marks(raw, stated, stored, mark, data):
    found = csv_table.decode(raw, name="f", encoding=stated)
    assert (found.stored, found.mark, found.data) == (stored, mark, data)
    assert found.inner == ("latin-1" if stored == "latin-1" else "utf-8")
    assert found.encode(found.data) == raw


@pytest.mark.parametrize(
    ("raw", "encoding", "place"),
    [
        (b"\xff\n", None, "line 1: the file is not valid utf-8 (byte 0); save it as UTF-8"),
        (b"a\nb\n\n\xff", None, "line 4: the file is not valid utf-8 (byte 5); save it as UTF-8"),
        (b"\xef\xbb\xbfa\n\xff", None, "line 2: the file is not valid utf-8 (byte 2); save it as UTF-8"),
        ("a\nb".encode("utf-16-le") + b"\0\xd8", "utf-16-le", "line 2: the file is not valid utf-16-le (byte 6)"),
    ],
)
def test_a_wrong_byte_is_told_by_its_line(raw, encoding, place):
    with pytest.raises(csv_table.FileFault) as caught:
        csv_table.decode(raw, name="f", encoding=encoding)
    assert str(caught.value).startswith(f"f, {place}")
    assert ("state the encoding of a release" in str(caught.value)) == (encoding is None)


@pytest.mark.parametrize(("count", "more"), [(2, []), (20, []), (21, ["    and 1 more"]), (25, ["    and 5 more"])])
def test_twenty_wrong_cells_are_listed_by_their_lines(count, more):
    table = read(b"n\n" + b"x\n" * count)
    cells = table.wrong_cells("n", "number")
    with pytest.raises(csv_table.FileFault) as caught:
        table.refuse_all(cells[::-1])
    lines = [f"    line {k + 2}, column 'n': must be a number with a decimal point, got 'x'" for k in range(count)]
    assert str(caught.value).splitlines() == [f"file.csv: {count} invalid cells", *lines[:20], *more]


def test_one_wrong_cell_and_none():
    table = read(b"n,m\n" + b"9" * 100 + b",2\n")
    with pytest.raises(csv_table.FileFault) as caught:
        table.whole("n")
    assert str(caught.value) == f"file.csv, line 2, column 'n': must be an integer, got '{'9' * 80}'"
    table.refuse_all([])
    with pytest.raises(csv_table.FileFault, match=r"^file\.csv has no column 'k'\. .* are 'n', 'm'$"):
        table.place("k")
    with pytest.raises(csv_table.FileFault, match=r"^file\.csv has no column 'k'$"):
        read(b"n,m\n", confidential=True).place("k")
    assert [table.place(name) for name in ("n", "m")] == [0, 1]


@pytest.mark.parametrize(
    ("cell", "good"),
    [
        ("9007199254740992", True),
        ("-9007199254740992", True),
        ("9007199254740993", False),
        ("-9007199254740993", False),
    ],
)
def test_the_largest_whole_number(cell, good):
    assert (read(f"n\n{cell}\n".encode()).wrong_cells("n", "whole", least=-(2**53), most=2**53) == []) == good


def test_empty_cells_are_wrong_unless_they_are_allowed():
    table = read(b"n,m\n,1\n2,2\n x,3\n")
    assert [(cell[1], cell[3]) for cell in table.wrong_cells("n", "whole")] == [(0, ""), (2, " x")]
    assert [(cell[1], cell[3]) for cell in table.wrong_cells("n", "whole", empty=True)] == [(2, " x")]
    assert {cell[2] for cell in table.wrong_cells("n", "whole")} == {"must be an integer"}
    assert {cell[2] for cell in table.wrong_cells("n", "number")} == {"must be a number with a decimal point"}


def test_a_table_is_told_by_its_size():
    assert repr(read(b"n,m\n1,2\n3,4\n")) == "CsvTable(file.csv: 2 records, 2 columns, utf-8)"
    assert len(read(b"n,m\n")) == 0


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"n,m\n2,b\n\n1,c\n", b"n,m\n1,c\n2,b\n"),
        (b"n,m\r\n2,b\n1,c", b"n,m\r\n1,c\r\n2,b\r\n"),
        (b"n,m\n2,b\r\n1,c\r\n", b"n,m\n1,c\n2,b\n"),
        (b"n,m\n", b"n,m\n"),
        (b"n,m", b"n,m\n"),
        (b"\xef\xbb\xbfn\n2\n1\n", b"\xef\xbb\xbfn\n1\n2\n"),
        (b"n\n10\n9\n", b"n\n10\n9\n"),
    ],
)
def test_records_are_sorted_by_their_bytes(raw, expected):
    assert read(raw).sorted().raw == expected


def test_sorting_keeps_delimiter_and_encoding():
    raw = "n;m\né;2\nb;1\n".encode("latin-1")
    found = read(raw, encoding="latin-1", confidential=True).sorted()
    assert (found.raw, found.delimiter) == ("n;m\nb;1\né;2\n".encode("latin-1"), ";")
    assert (found.source.stored, found.confidential, found.name) == ("latin-1", True, "file.csv")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a,b;c\n1,2;3\n", "file.csv, line 1: the delimiter is ambiguous (',', ';'): state the delimiter"),
        (b"a,b;c\n1\n", "file.csv, line 1: the delimiter is ambiguous (',', ';'): state the delimiter"),
        (b"a,b;c|d\n1,2;3|4|5\n", "file.csv, line 1: the delimiter is ambiguous (',', ';'): state the delimiter"),
    ],
)
def test_delimiters_that_fit_are_named(raw, said):
    with pytest.raises(csv_table.FileFault) as caught:
        read(raw)
    assert str(caught.value) == said


def test_delimiters_are_looked_for_in_the_header_outside_of_quotes():
    assert read(b'\r\n"a;b","c|""d"\n1;,2|\n').columns == ("a;b", 'c|"d')
    assert read(b"\na|b\n1,2|3;4\n").delimiter == "|"


def test_a_file_beyond_the_largest_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_table, "LARGEST_FILE", 5)
    path = tmp_path / "a.csv"
    path.write_bytes(b"n\n12\n")
    assert csv_table.read(path).texts("n") == ["12"]
    path.write_bytes(b"n\n123\n")
    with pytest.raises(csv_table.FileFault, match=r"a\.csv must have at most 5 bytes, got 6 bytes"):
        csv_table.read(path)


INF = float("inf")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        *((" 5 ", (5.0, None)), ("-1.5e2", (-150.0, None)), (".5", (0.5, None)), ("1,234", (1234.0, None))),
        *(("-1,234,567.5", (-1234567.5, None)), ("", (None, None)), ("  ", (None, None)), ("?", (None, None))),
        *(("#", (None, (-INF, 4))), ("1-9", (None, (1, 9))), ("1 – 9", (None, (1, 9))), ("3 to 3", (None, (3, 3)))),
        *(("3—5", (None, (3, 5))), ("<10", (None, (-INF, 9))), ("under 10", (None, (-INF, 9)))),
        *(("Fewer than 1", (None, (-INF, 0))), ("below 2", (None, (-INF, 1))), ("less than 2", (None, (-INF, 1)))),
        *(("<=10", (None, (-INF, 10))), ("≤ 10", (None, (-INF, 10))), ("at most 0", (None, (-INF, 0)))),
        *((">=10", (None, (10, INF))), ("≥10", (None, (10, INF))), ("at least 10", (None, (10, INF)))),
        *(("10+", (None, (10, INF))), ("10 or more", (None, (10, INF))), (">10", (None, (11, INF)))),
        *(("over 10", (None, (11, INF))), ("more than 0", (None, (1, INF))), ("above 9", (None, (10, INF)))),
    ],
)
def test_cells_of_published_counts(text, cell):
    assert table_columns.meaning(text, {"#": 5}, ["?"]) == cell


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("9-1", "the lower end 9 of the range must be <= the upper end 1"),
        ("<0", "the limit below which counts are withheld must be >= 1, got 0"),
        ("1e999", "the value 1e999 is outside the range of floating-point numbers"),
        ("N/A", "the meaning of the symbol 'N/A' is not stated: if counts below 10 were withheld, pass withheld="),
        ("*", "the meaning of the symbol '*' is not stated"),
        ("12,34", "must be a number, a range such as 10-50, a limit such as <10, or a symbol with a stated meaning"),
        ("1234,567", "must be a number, a range"),
        ("+1,234", "must be a number, a range"),
        ("nan", "must be a number, a range"),
        ("1 2", "must be a number, a range"),
        ("<-1", "must be a number, a range"),
        ("-1-5", "must be a number, a range"),
    ],
)
def test_cells_without_a_meaning(text, said):
    with pytest.raises(ValueError, match=r"must|meaning|outside the range") as caught:
        table_columns.meaning(text, {}, [])
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("bounds", "text"),
    [((1, 9), "1 to 9"), ((-INF, 9999), "at most 9,999"), ((1000, INF), "at least 1,000"), ((0, 0), "0 to 0")],
)
def test_bounds_in_words(bounds, text):
    assert table_columns.shown(bounds) == text


BELOW, NUMBER, NOTHING = (None, (-INF, 9)), (5.0, None), (None, None)


@pytest.mark.parametrize(
    ("cells", "noise", "threshold", "expected"),
    [
        ([NUMBER, NOTHING], "laplace", None, (None, None)),
        ([NUMBER, NOTHING], "laplace", 3.0, (3.0, None)),
        ([NUMBER, BELOW], "laplace", None, (10.0, None)),
        ([NUMBER, BELOW], "laplace", 10.0, (10.0, None)),
        ([NOTHING, BELOW], "laplace", 10.0, (10.0, None)),
        ([NUMBER, BELOW], "exact", None, (None, ([0.0, 0.0], [INF, 9.0]))),
        ([(None, (3, 5)), (None, (7, INF))], "exact", None, (None, ([3.0, 7.0], [5.0, INF]))),
        ([NUMBER, NUMBER], "exact", None, (None, None)),
    ],
)
def test_what_was_withheld_below_one_limit(cells, noise, threshold, expected):
    assert table_columns.censored(cells, ["a", "b"], noise, threshold) == expected


@pytest.mark.parametrize(
    ("cells", "threshold", "said"),
    [
        ([NUMBER, (None, (1, 9))], None, "'b' is the range 1 to 9, but ranges are supported only for counts without"),
        ([NUMBER, (None, (7, INF))], None, "'b' is the range at least 7, but ranges"),
        ([BELOW, (None, (-INF, 4))], None, "'b' is published as at most 4, but noisy counts (laplace) must all be "
         "withheld below the same limit (10)"),
        ([BELOW, NUMBER], 9.0, "'a' is published as at most 9, but noisy counts (laplace) must all be withheld "
         "below the same limit (9)"),
        ([BELOW, NOTHING], None, "'b' has no value, but counts below 10 are marked as withheld"),
    ],
)  # fmt: skip
def test_noisy_counts_that_were_not_withheld_below_one_limit(cells, threshold, said):
    with pytest.raises(ValueError, match=r"^'") as caught:
        table_columns.censored(cells, ["a", "b"], "laplace", threshold)
    assert str(caught.value).startswith(said)


def tree(*rows):
    table = read("".join(["name,parent\n", *(f"{name},{above}\n" for name, above in rows)]).encode())
    return table_columns.of(table, table.texts("name"))


def test_a_tree_by_hand():
    found = tree(("c", "b"), ("a", ""), ("b", "a"), ("d", "b"), ("e", "a"))
    assert (list(found.parent), list(found.depth), found.sizes) == ([2, -1, 1, 2, 1], [2, 0, 1, 2, 1], [1, 2, 2])
    assert found.unlike([1, 5, 3, 2, 2]) is None
    assert found.unlike([1, 5, 4, 2, 1]) == 2
    assert found.unlike([1, 6, 3, 2, 2]) == 1
    assert found.unlike([1, 6, 4, 2, 2]) == 2
    alone = tree(("a", ""))
    assert (alone.sizes, alone.unlike([7])) == ([1], None)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", ""), ("b", "")], "line 3, column 'parent': must be the name of a node, because only the root (line 2)"),
        ([("a", ""), ("b", "c")], "line 3, column 'parent': must be the name of a node of this file, got 'c'"),
        ([("a", "a")], "line 2, column 'parent': must lead to the root in fewer than 50 steps and without a cycle"),
        ([("a", ""), ("b", "c"), ("c", "b")], "line 3, column 'parent': must lead to the root in fewer than 50 steps"),
    ],
)
def test_files_that_are_no_tree(rows, said):
    with pytest.raises(csv_table.FileFault) as caught:
        tree(*rows)
    assert str(caught.value).startswith(f"file.csv, {said}")


@pytest.mark.parametrize("turned", [False, True])
def test_a_tree_has_at_most_fifty_levels(turned):
    rows = [("n0", ""), *((f"n{k}", f"n{k - 1}") for k in range(1, 51))]
    assert tree(*(rows[:50][::-1] if turned else rows[:50])).sizes == [1] * 50
    with pytest.raises(csv_table.FileFault, match="fewer than 50 steps"):
        tree(*(rows[::-1] if turned else rows))


def test_records_of_trees_have_levels():
    assert table_columns.is_of({"mechanism": "discrete_laplace", "levels": []})
    assert table_columns.is_of({"mechanism": "discrete_gaussian", "levels": []})
    assert not table_columns.is_of({"mechanism": "discrete_laplace"})
    assert not table_columns.is_of({"mechanism": "naive_bayes", "levels": {}})


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
