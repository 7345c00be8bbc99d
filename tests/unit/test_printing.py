"""What is printed: characters that a terminal interprets or reorders are escapes, in every command."""

import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpmultinomial import _printing
from dpmultinomial._releases import room
from reproduction import command

RAW = "\x1b[31m\x9b\u202e\u2066\u2028\u2029\ufeff"


def test_every_control_and_every_bidirectional_mark_is_an_escape():
    """Unicode's own tables: all characters of the categories Cc, Zl, Zp and Cs, and all explicit directional marks."""
    for code in range(0x110000):
        char = chr(code)
        marks = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        bad = unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs") or unicodedata.bidirectional(char) in marks
        if bad and char not in "\n\t":
            assert _printing.printable(char).isascii(), hex(code)
    for char in "\u200e\u200f\u061c":
        assert _printing.printable(char) == f"\\u{ord(char):04x}"


def test_text_stays_as_it_is():
    text = "Zürich, \u05ea\u05dc \u6771\u4eac\tα ≤ 3\n"
    assert _printing.printable(text) == text
    assert _printing.printable("a\x1b\x9b\u202eb\ud800") == "a\\x1b\\x9b\\u202eb\\ud800"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_names_of_a_public_file_reach_the_terminal_as_escapes(tmp_path, monkeypatch, capsys, form):
    monkeypatch.chdir(tmp_path)
    names = [f"a{RAW}", "b"]
    if form == "csv":
        (tmp_path / "c.csv").write_text(f"name,value\n{names[0]},12\nb,7\n", encoding="utf-8")
    else:
        pa.parquet.write_table(pa.table({"name": names, "value": np.array([12.0, 7.0])}), tmp_path / "c.parquet")
    command.main(["answer", f"c.{form}", "--noise", "laplace", "--scale", "2", "--total", "20"])
    said = capsys.readouterr().out
    assert "a\\x1b[31m\\x9b\\u202e\\u2066\\u2028\\u2029\\ufeff" in said
    assert not set(RAW) & set(said) - set("[31m")
    with pytest.raises(SystemExit) as stopped:
        command.main(["answer", f"{RAW}.csv", "--noise", "laplace", "--scale", "2"])
    assert not set(RAW) & set(str(stopped.value)) - set("[31m")


@pytest.mark.parametrize("mark", ["\x1b", "\x9b", "\u202e", "\u2066", "\u2028", "\t"])
def test_a_release_has_no_name_that_a_terminal_interprets(tmp_path, mark):
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/c.csv").write_text(f"category,count\na{mark}b,12\nc,7\n", encoding="utf-8")
    settings = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0}
    with pytest.raises(ValueError, match="line 2, column 'category': must have no control characters"):
        room.make("r", settings, root=tmp_path)


@pytest.mark.parametrize(
    ("error", "words", "status"),
    [
        (MemoryError(), "not enough memory", None),
        (np.linalg.LinAlgError("singular"), "singular", None),
        (OverflowError("too large"), "outside the range of floating-point numbers (too large)", None),
        (ZeroDivisionError("division by zero"), "division by zero", None),
        (RecursionError("deep"), "nested too deeply", None),
        (KeyboardInterrupt(), "interrupted", 130),
        (KeyError("no scenario x"), "no scenario x", None),
        (KeyError(), "", None),
        (ValueError("a\x1bb"), "a\\x1bb", None),
    ],
)
def test_no_error_of_a_command_ends_in_a_stack(monkeypatch, capsys, error, words, status):
    def fails(_):
        raise error

    monkeypatch.setattr(command, "_check", fails)
    with pytest.raises(SystemExit) as stopped:
        command.main(["check", "config.yaml"])
    text = str(stopped.value.code) if status is None else capsys.readouterr().err
    assert text.startswith("dpm check: ")
    assert words in text
    assert status is None or stopped.value.code == status
