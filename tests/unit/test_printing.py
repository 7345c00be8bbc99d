"""What is printed: characters that a terminal interprets or reorders are escapes, in every command."""

import io
import sys
import time
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


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Put a terminal in the place of standard error, and return it with a clock that a test moves."""
    found, now = Terminal(), [0.0]
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(_printing.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(_printing.time, "time", lambda: 1e9)
    monkeypatch.delenv(_printing.SHOWN, raising=False)
    return found, now


def test_progress_is_one_line_with_an_expected_end_that_is_removed(monkeypatch):
    found, now = terminal(monkeypatch)
    for _ in _printing.steps([2, 6, 2], 10, "counts", int):
        now[0] += 2.0
    end = time.strftime("%H:%M:%S", time.localtime(1e9 + 1.0))
    line = f"8 of 10 counts (80%) in 4 s; expected end {end} (in 1 s)"  # 2 of 8 are left: 4 s / 8 * 2
    whole = time.strftime("%H:%M:%S", time.localtime(1e9))
    last = f"10 of 10 counts (100%) in 6 s; expected end {whole} (in 0 s)"
    assert found.getvalue() == f"\r\x1b[K{line}\r\x1b[K{last}\r\x1b[K"


def test_quick_computations_and_those_inside_another_show_no_progress(monkeypatch):
    found, now = terminal(monkeypatch)
    assert list(_printing.steps(range(3), 3, "quick")) == [0, 1, 2]
    for _ in _printing.steps(range(1), 1, "outer"):
        for _ in _printing.steps(range(9), 9, "inner"):
            now[0] += 1.0
    assert "inner" not in found.getvalue()
    assert "1 of 1 outer" in found.getvalue()
    stopped = _printing.steps(range(3), 3, "stopped")
    next(stopped)
    with pytest.raises(KeyboardInterrupt):
        stopped.throw(KeyboardInterrupt)
    assert _printing._shown == []


@pytest.mark.parametrize("how", ["a file", "a job", "no stream"])
def test_no_progress_without_a_terminal_and_in_jobs(how, monkeypatch):
    found, now = terminal(monkeypatch)
    if how == "a file":
        found.isatty = lambda: False
    elif how == "a job":
        monkeypatch.setenv(_printing.SHOWN, "0")
    else:
        monkeypatch.setattr(sys, "stderr", None)
    for _ in _printing.steps(range(9), 9, "counts"):
        now[0] += 1.0
    assert found.getvalue() == ""


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
    with pytest.raises(ValueError, match="line 2, column 'category': must not contain control characters"):
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
