"""What is printed: characters that a terminal interprets or reorders are escapes, in every command."""

import io
import os
import pty
import subprocess
import sys
import time
import unicodedata

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import dpmultinomial as dpm
from dpmultinomial import _printing
from dpmultinomial._files import csv_table
from dpmultinomial._posteriors.additive import additive_counts
from dpmultinomial._posteriors.trees.tree import Tree
from dpmultinomial._releases import room
from reproduction import command
from tests.workflow import running

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
    line = f"counts: 8 of 10 (80%) in 4 s; expected end {end} (in 1 s)"  # 2 of 8 are left: 4 s / 8 * 2
    whole = time.strftime("%H:%M:%S", time.localtime(1e9))
    last = f"counts: 10 of 10 (100%) in 6 s; expected end {whole} (in 0 s)"
    assert found.getvalue() == f"\r\x1b[K{line}\r\x1b[K{last}\r\x1b[K"
    assert _printing.progress(1999, 2000, "tables", 1.0).startswith("tables: 1,999 of 2,000 (99%) in 1 s")


def test_quick_computations_and_those_inside_another_show_no_progress(monkeypatch):
    found, now = terminal(monkeypatch)
    assert list(_printing.steps(range(3), 3, "quick")) == [0, 1, 2]
    for _ in _printing.steps(range(1), 1, "outer"):
        for _ in _printing.steps(range(9), 9, "inner"):
            now[0] += 1.0
    assert "inner" not in found.getvalue()
    assert "outer: 1 of 1 (" in found.getvalue()
    stopped = _printing.steps(range(3), 3, "stopped")
    next(stopped)
    with pytest.raises(KeyboardInterrupt):
        stopped.throw(KeyboardInterrupt)
    assert _printing._shown == []


COUNTED = """
from dpmultinomial import _printing
_printing._QUICK = _printing._EVERY = -1.0
print(sum(_printing.steps(range(3), 3, "counts")))
"""


@pytest.mark.parametrize("shown", [True, False])
def test_progress_of_a_process_is_shown_on_a_terminal_alone(shown):
    """Run a process whose standard error is a pseudo-terminal, or a pipe. Its standard output is a pipe."""
    ours, theirs = pty.openpty() if shown else os.pipe()
    environment = {key: value for key, value in os.environ.items() if key != _printing.SHOWN}
    run = subprocess.run([sys.executable, "-c", COUNTED], stdout=-1, stderr=theirs, env=environment, check=True)
    os.write(theirs, b".")  # a pipe without content would block
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)
    assert run.stdout == b"3\n"
    lines = said.removesuffix(".").split("\r\x1b[K")
    numbers = [f"counts: {i} of 3" for i in (1, 2, 3)] if shown else []
    assert [line.partition(" (")[0] for line in lines if line] == numbers
    assert all("; expected end " in line for line in lines if line)


def read_csv(_):
    csv_table.parse(b"name,count\na,1\nb,2\n", name="c.csv", confidential=False).numbers("count")


def answer_a_file(folder):
    (folder / "c.csv").write_text("name,value\na,12\nb,7\nc,31\n", encoding="utf-8")
    file, folder = str(folder / "c.csv"), str(folder)
    command.main(["answer", file, "--noise", "discrete_laplace", "--scale", "2", "--folder", folder])


def release_counts(folder):
    (folder / "confidential").mkdir(mode=0o700)
    (folder / "confidential/c.csv").write_text("category,count\na,12\nc,7\n", encoding="utf-8")
    settings = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0}
    room.make("r", settings, root=folder)


def analyse_a_tree(_):
    law = dpm.DiscreteLaplace(scale=2.0)
    parents = {"all": None, "a": "all", "b": "all"}
    found = dpm.posterior(dpm.Release({"all": 9, "a": 900, "b": 1}, mechanism=law, parents=parents))
    assert found.facts


def analyse_rates(_):
    release = dpm.Release([5.0, 9.0, 2.0, 1.0], mechanism=dpm.DiscreteGaussian(sigma=2.0))
    dpm.posterior(release, prior=dpm.Regression(exposure=[900, 1500, 400, 700])).rates.numbers()


@pytest.mark.parametrize(
    ("computed", "counted"),
    [
        (read_csv, ["blocks of records of c.csv", "checked blocks of records of c.csv"]),
        (answer_a_file, ["hundredths of the answer", "blocks of records of"]),
        (release_counts, ["checked names", "checked blocks of records of"]),
        (analyse_a_tree, ["blocks of nodes", "exact p-values"]),
        (lambda _: additive_counts.posterior([9, 4, 2], epsilon=0.5, algorithm="2", method="transforms"), ["nodes at"]),
        (lambda _: additive_counts.posterior([9, 4, 2], epsilon=0.5, algorithm="3", method="transforms"), ["levels"]),
        (analyse_rates, ["Newton steps at most", "values of log a at most", "nodes of log a", "areas"]),
    ],
)
def test_long_computations_show_their_progress(computed, counted, monkeypatch, tmp_path):
    found, _ = terminal(monkeypatch)
    monkeypatch.setattr(_printing, "_QUICK", -1.0)
    monkeypatch.setattr(_printing, "_EVERY", -1.0)
    monkeypatch.chdir(tmp_path)
    computed(tmp_path)
    said = found.getvalue()
    assert [what for what in counted if what not in said] == []


def test_an_error_message_does_not_follow_a_line_of_progress(monkeypatch):
    found, now = terminal(monkeypatch)
    counted = _printing.steps(range(9), 9, "counts")

    def fails(_):
        for _ in counted:
            now[0] += 9.0
            if now[0] > 40:
                raise ValueError("bad")

    monkeypatch.setattr(command, "_check", fails)
    with pytest.raises(SystemExit, match=r"^dpm check: bad$"):
        command.main(["check", "config.yaml"])
    assert "counts" in found.getvalue()
    assert found.getvalue().endswith("\r\x1b[K")
    counted.close()


def test_the_name_of_a_file_cannot_control_the_terminal(monkeypatch):
    found, now = terminal(monkeypatch)
    for _ in _printing.steps(range(9), 9, "records of a\x1b]0;owned\x07.csv"):
        now[0] += 1.0
    assert r"records of a\x1b]0;owned\x07.csv" in found.getvalue()
    assert "\x1b]" not in found.getvalue()


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
        (TypeError("bad operand"), "internal error, please report it: TypeError in test_printing.py, line", None),
        (AttributeError("no x"), "internal error, please report it: AttributeError in test_printing.py, line", None),
        (AssertionError(), "internal error, please report it: AssertionError", None),
        (ModuleNotFoundError("no module x", name="x"), "a package is missing (no module x): run make env", None),
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


def test_a_type_error_about_the_input_is_a_sentence_and_not_an_internal_error(monkeypatch):
    monkeypatch.setattr(command, "_check", lambda _: Tree([-1], names=[1]))
    with pytest.raises(SystemExit, match=r"^dpm check: names must contain only non-empty strings, got 1$"):
        command.main(["check", "config.yaml"])


def test_a_type_error_of_another_package_is_an_internal_error(monkeypatch):
    monkeypatch.setattr(command, "_check", lambda _: pd.concat(5))
    with pytest.raises(SystemExit, match=r"^dpm check: internal error, please report it: TypeError in concat\.py"):
        command.main(["check", "config.yaml"])


def test_a_debug_run_shows_the_stack_of_an_internal_error(monkeypatch):
    def fails(_):
        raise AttributeError("no x")

    monkeypatch.setattr(command, "_check", fails)
    monkeypatch.setenv("DPMULTINOMIAL_DEBUG", "1")
    with pytest.raises(AttributeError, match="no x"):
        command.main(["check", "config.yaml"])


LONG, X_Y = "n" * 100_000, "x y " * 25_000
A_RELEASE = "releases:\n  r:\n    mechanism: discrete_laplace\n"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (f"file {LONG} must exist: make it", f"file {'n' * 60}..{'n' * 58} must exist: make it"),
        (f"a must be b, got '{X_Y}': c", f"a must be b, got '{X_Y[:59]}..{X_Y[-57:]}': c"),
        (f"keys {', '.join(map(str, range(10_000)))}: did you mean 7?", "keys 0, 1, 2, .., 9999: did you mean 7?"),
        (f"q {', '.join(repr(f'a {k}') for k in range(10_000))}. End", "q 'a 0', 'a 1', 'a 2', .., 'a 9999'. End"),
        ("w " * 10_000 + "end", ("w " * 300) + ".." + ("w " * 198)[-395:] + "end"),
    ],
)
def test_long_values_of_a_message_are_cut_in_the_middle(line, wanted):
    """Each value keeps 60 characters at its beginning and 58 at its end, a list 3 entries and the last one, and a line
    its first 600 and its last 398 characters. 118 + 2 = 120 and 998 + 2 = 1000.
    """
    assert _printing.message(line) == wanted
    assert _printing.message(f"first\n{line}\nlast") == f"first\n{wanted}\nlast"
    assert len(wanted) <= _printing.LONGEST


@pytest.mark.parametrize(
    "line",
    ["\\'" * 30_000, "'" * 30_001, '" ' * 30_000, "'a'b" * 20_000, "a, " * 30_000, "'" + "a, " * 30_000, ", " * 30_000],
)
def test_no_message_is_long_or_takes_long_to_cut(line):
    for text in (line, f"x {line} y", RAW * 2_000, line + "\x1b" * 9):
        found = _printing.message(text)
        assert max(map(len, found.split("\n"))) <= _printing.LONGEST
        assert not set("\x1b\x9b") & set(found)


def test_short_messages_stay_as_they_are():
    text = f"{'n' * 999}\n{', '.join(map(str, range(200)))}\n\x1b"
    assert _printing.message(text) == f"{'n' * 999}\n{', '.join(map(str, range(200)))}\n\\x1b"


CONFIGURATIONS = {
    "a long name": (
        f"{A_RELEASE}    source: {LONG}\n",
        "releases.r.source: must consist of at most 64 lower-case letters, digits and _",
    ),
    "a long value": (f"releases:\n  r:\n    mechanism: {LONG}\n", "releases.r.mechanism: must be one of 'discrete"),
    "a long path": (
        f"{A_RELEASE}    epsilon: 1\n    data: confidential/{'d/' * 2_000}c.csv\n",
        "releases.r.data: there is no file confidential/d/d/",
    ),
    "many names": ("releases:\n" + "".join(f"  region_{k}:\n    mechanism: swap\n" for k in range(10_000)), ""),
}


@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_no_line_of_dpm_is_long(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text, words = CONFIGURATIONS[case]
    (tmp_path / "config.yaml").write_text(text)
    path, commands = f"{'d/' * 2_000}c", [["release", LONG]]
    if case != "many names":
        commands += [["check", "config.yaml"], ["check", f"{path}.yaml"], ["check", "c", f"--{LONG}"], [LONG]]
        commands += [["answer", file, "--noise", "laplace", "--scale", "2"] for file in (LONG, f"{path}.csv")]
    for arguments in commands:
        with pytest.raises(SystemExit) as stopped:
            command.main(arguments)
        said = capsys.readouterr().err if stopped.value.code == 2 else str(stopped.value.code)
        assert max(map(len, said.split("\n"))) <= 1000, (arguments[0], said[:200])
        if arguments == ["check", "config.yaml"]:
            assert words in said
        if case == "many names":
            listed = "The available releases are region_0, region_1, region_2, .., region_9999"
            assert said == f"dpm release: '{'n' * 59}..{'n' * 57}' is not a release. {listed}"


@pytest.mark.thorough
@pytest.mark.parametrize("case", ["a long name", "a long path"])
def test_no_line_of_snakemake_is_long(case, tmp_path):
    (tmp_path / "config.yaml").write_text(CONFIGURATIONS[case][0])
    whole = running.Folder.__new__(running.Folder)
    whole.path, whole.source = tmp_path, running.ROOT
    said = whole.snakemake(good=False)
    assert CONFIGURATIONS[case][1] in said
    assert max(map(len, said.split("\n"))) <= 1000
    code, said = running.make(tmp_path)
    assert code != 0
    assert CONFIGURATIONS[case][1] in said
    assert max(map(len, said.split("\n"))) <= 1000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.00121, "0.0013"),
        (0.001200000000001, "0.0012"),  # the excess is smaller than 1e-9 of the value
        (0.1 + 0.2, "0.3"),
        (0.991, "1"),
        (3.21e-15, "3.3e-15"),
    ],
)
def test_a_bound_is_rounded_upwards(value, text):
    assert _printing.at_most(value) == text


def test_limits_of_large_counts_are_exact():
    assert _printing.limits(10**15 - 6.0, 10**15 + 6.0) == "999999999999994 .. 1000000000000006"
    assert _printing.limits(1e12 - 3, 1e12 + 3) == "999999999997 .. 1000000000003"
