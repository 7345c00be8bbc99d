"""Tests of confidential files: reading, the key next to them, and fingerprints of their content."""

import os

import pytest

from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import _confidential


def test_a_confidential_file_is_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    held = os.open(
        tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK
    )  # a pipe without a writer would keep its reader waiting
    with pytest.raises(ValueError, match="regular file"):
        _confidential.read(tmp_path / "pipe")
    os.close(held)
    (tmp_path / "f").write_bytes(b"abc")
    assert _confidential.read(tmp_path / "f") == b"abc"
    assert not _confidential.has_key(tmp_path)
    _confidential.key(tmp_path)
    assert _confidential.has_key(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    (tmp_path / _confidential.KEY).write_bytes(b"short")
    with pytest.raises(ValueError, match="must contain 32 bytes, got 5"):
        _confidential.key(tmp_path)
    marks = [
        _confidential.fingerprint(b"k" * 32, *parts) for parts in [(b"a", b"b"), (b"ab",), (b"ab", b""), (b"b", b"a")]
    ]
    assert len(set(marks)) == 4


def _content(text):
    return _confidential.content(parse(text.encode(), name="f.csv", confidential=True))


def test_a_table_of_counts_is_known_by_them_where_they_are_enough(tmp_path):
    """Check 812, 390 and 77 in any order: log2(813 * 391 * 78 / 6) = 21.98 bits; 120, 75 and 5: 13.16."""
    known = _content("category,count\na,812\nb,390\nc,77\n")
    for same in ("category,count\nx,+77\ny,0390\nz,812\n", "count,category\n812,1\n390,2\n0,3\n77,4\n"):
        assert _content(same) == known
    for other in ("category,count\na,812\nb,390\nc,78\n", "category,count\na,812\nb,390\nc,77\nd,77\n"):
        assert _content(other) != known
    few = _content("category,count\na,120\nb,75\nc,5\n")
    assert few != _content("category,count\nx,120\ny,75\nz,5\n")
    assert few == _content("category,count\nc,5\nb,75\na,+120\n")
    huge = "category,count\na,812\nb," + "9" * 5000 + "\n"  # is refused later, by its line
    assert _content(huge) != known
    at, below = "category,count\na,1447\nb,1448\n", "category,count\na,1447\nb,1446\n"  # 1448 * 1449 / 2 > 2^20 > ..
    assert _content(at).startswith(b"counts")
    assert not _content(below).startswith(b"counts")
