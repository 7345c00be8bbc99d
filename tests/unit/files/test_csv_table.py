"""Tests of the strict reader: RFC 4180 by its reference on random bytes, named cases by hand, and error messages."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import csv_fields as reference

from dpmultinomial._files import _csv_fields, csv_table
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
    with pytest.raises(ValueError, match="line 2, column 1: the field must be at most 3 bytes long, got 4 bytes"):
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
