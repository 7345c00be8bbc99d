"""Tests of the files of a run that may be read: those whose bytes match the provenance of the last run."""

import base64
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import psutil
import pytest

from reproduction import provenance, run, tables, trust
from reproduction.config import overlays
from reproduction.jobs import mending

TABLE = pd.DataFrame({"quantity": ["a", "b"], "value": [0.1, 1 / 3]})
JOB = provenance.Job("toy_compute_numbers", provenance.digest(["'a'", "7"]))


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a folder with one table, its second file and a figure, and Snakemake's record of it."""
    monkeypatch.chdir(tmp_path)
    for folder in ("results/toy", "figures/toy", ".snakemake/metadata"):
        (tmp_path / folder).mkdir(parents=True)
    csv, second = tmp_path / "results/toy/numbers.csv", tmp_path / "results/toy/numbers_densities.csv"
    tables.write(TABLE, csv)
    tables.write(TABLE.head(1), second)
    provenance.write(provenance.short(function="toy.numbers", job=JOB), csv, second)
    png, pdf = tmp_path / "figures/toy/numbers.png", tmp_path / "figures/toy/numbers.pdf"
    png.write_bytes(b"\x89PNG")
    pdf.write_bytes(b"%PDF")
    provenance.write(provenance.short(function="toy.figures.numbers", inputs=[csv], job=JOB), png, pdf)
    record(tmp_path, "results/toy/numbers.csv", ["'a'", "7"])
    return tmp_path


def record(root, name, params):
    path = root / ".snakemake/metadata" / base64.urlsafe_b64encode(name.encode()).decode()
    path.write_text(json.dumps({"params": params}))


def faults(root, expected=()):
    return [(fault.why, sorted(path.name for path in fault.files)) for fault in trust.untrusted(root, expected)]


def test_what_was_made_is_read_and_nothing_is_found_wrong(made):
    pd.testing.assert_frame_equal(trust.table("results/toy/numbers.csv"), TABLE, check_dtype=False)
    assert len(trust.table("results/toy/numbers_densities.csv")) == 1
    assert trust.content(made / "figures/toy/numbers.png") == b"\x89PNG"
    assert trust.checked("results/toy/numbers.csv").name == "numbers.csv"
    assert trust.stated("results/toy/numbers.csv")["rule"] == "toy_compute_numbers"
    assert faults(made, ["results/toy/numbers.csv", "results/toy/none.csv"]) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:-1],
        lambda raw: raw.replace(b"0.1", b"0.2"),
        lambda raw: raw + b"\n",
        lambda raw: b"",
        lambda raw: raw.replace(b"\n", b"\r\n"),
    ],
)
@pytest.mark.parametrize("name", ["results/toy/numbers.csv", "results/toy/numbers_densities.csv"])
def test_a_damaged_file_stops_its_reader_with_name_and_rule_and_is_found(made, name, damage):
    path = made / name
    path.write_bytes(damage(path.read_bytes()))
    for reader in (trust.table, trust.content, trust.checked):
        with pytest.raises(trust.Damaged, match=rf"{name}.*Rule toy_compute_numbers regenerates it.*--force {name}"):
            reader(name)
    why, files = faults(made)[0]
    assert why == f"{name} does not match its provenance"
    assert files == ["numbers.csv", "numbers.provenance.json", "numbers_densities.csv"]


def test_a_lost_torn_or_nameless_provenance_stops_the_reader_and_is_found(made):
    beside = made / "results/toy/numbers.provenance.json"
    whole = json.loads(beside.read_text())
    all_three = ["numbers.csv", "numbers.provenance.json", "numbers_densities.csv"]
    for text, why, files in (
        ("{", "results/toy/numbers.provenance.json is incomplete", all_three[:2]),
        ("[]", "results/toy/numbers.provenance.json is incomplete", all_three[:2]),
        ('{"files_sha256": 3}', "results/toy/numbers.provenance.json is incomplete", all_three[:2]),
        (json.dumps({**whole, "files_sha256": {}}), "results/toy/numbers.csv does not match", all_three[:2]),
        (
            json.dumps({k: v for k, v in whole.items() if k != "files_sha256"}),
            "numbers.csv does not match",
            all_three[:2],
        ),
    ):
        beside.write_text(text)
        with pytest.raises(trust.Damaged, match="numbers"):
            trust.table("results/toy/numbers.csv")
        found = faults(made)
        assert why in found[0][0]
        assert found[0][1] == files
    beside.unlink()
    with pytest.raises(trust.Damaged, match=r"no provenance record contains the SHA-256 checksum of .*numbers\.csv"):
        trust.table("results/toy/numbers.csv")
    assert faults(made, ["results/toy/numbers.csv"]) == [("results/toy/numbers.csv has no provenance", ["numbers.csv"])]


@pytest.mark.parametrize("key", [provenance.SOURCES, provenance.INPUTS, "function", "root_seed", provenance.OWN])
def test_a_changed_entry_of_a_provenance_is_found_and_its_files_are_made_again(made, key):
    path = made / "results/toy/numbers.csv"
    stated = {provenance.SOURCES: {"toy.py": "0" * 64}, provenance.INPUTS: {"raw.csv": "0" * 64}, "root_seed": 7}
    provenance.write(provenance.short(function="toy.numbers", job=JOB) | stated, path)
    assert faults(made) == []
    beside = made / "results/toy/numbers.provenance.json"
    found = json.loads(beside.read_text())
    changed = json.dumps(found[key]).translate(str.maketrans("0y7", "1x8"))
    beside.write_text(json.dumps(found | {key: changed if key == provenance.OWN else json.loads(changed)}))
    names = ["numbers.csv", "numbers.provenance.json"]
    assert faults(made) == [("the provenance of results/toy/numbers.csv was changed", names)]


@pytest.fixture
def chained(made):
    """raw -> facts -> numbers (which every run makes) -> figure, and an unrelated table."""
    for name, inputs in (("raw", []), ("facts", ["raw"]), ("numbers", ["facts"]), ("other", [])):
        path = made / f"results/toy/{name}.csv"
        path.write_text(f"x\n{len(name)}.5\n")
        read = [made / f"results/toy/{one}.csv" for one in inputs]
        provenance.write(provenance.short(function="toy.f", inputs=read, job=JOB), path)
    return made


REQUESTED = ["results/toy/numbers.csv", "figures/toy/numbers.png"]


def test_a_damaged_intermediate_takes_its_tables_along_so_that_make_needs_it_again(chained):
    """Snakemake makes an intermediate file only if a file that is requested is missing or older."""
    assert list(trust.untrusted(chained, (), REQUESTED)) == []
    (chained / "results/toy/raw.csv").write_text("torn")
    found = [fault.why for fault in trust.untrusted(chained, (), REQUESTED)]
    assert found == [
        "results/toy/raw.csv does not match its provenance",
        "results/toy/facts.csv was made from results/toy/raw.csv",
        "results/toy/numbers.csv was made from results/toy/facts.csv",
    ]
    removed = {path.name for fault in trust.untrusted(chained, (), REQUESTED) for path in fault.files}
    assert {"raw.csv", "facts.csv", "numbers.csv"} <= removed
    assert not {"other.csv", "numbers.png"} & removed
    assert [why for why, _ in faults(chained)] == found[:1]


def test_a_damaged_table_that_every_run_makes_takes_nothing_along(chained):
    (chained / "results/toy/facts.csv").write_text("torn")
    requested = [*REQUESTED, "results/toy/facts.csv"]
    assert len(list(trust.untrusted(chained, (), requested))) == 1


def test_a_result_that_was_replaced_by_a_link_is_found_and_only_the_link_is_removed(made, tmp_path):
    path = made / "results/toy/numbers.csv"
    path.rename(made / "elsewhere.csv")
    path.symlink_to(made / "elsewhere.csv")
    (why, files), = faults(made)  # fmt: skip
    assert why == "results/toy/numbers.csv was replaced by a link"
    assert "numbers.csv" in files
    path.unlink()
    path.symlink_to("nowhere")
    assert faults(made)[0][0] == "results/toy/numbers.csv was replaced by a link"


def test_a_folder_in_the_place_of_a_result_is_named_before_anything_runs(made, monkeypatch):
    monkeypatch.setattr(mending, "expected", lambda *_: ["results/toy/numbers.csv"])
    monkeypatch.setattr(mending, "requested", lambda *_: [])
    (made / "results/toy/numbers.csv").unlink()
    (made / "results/toy/numbers.csv").mkdir()
    with pytest.raises(NotADirectoryError, match=r"results/toy/numbers\.csv is a folder, but must be a result file"):
        mending.taken_away({}, {}, [])
    assert mending.taken_away({}, {}, ["--list"]) == []


def test_a_provenance_cannot_speak_for_files_elsewhere(made):
    """Check that a name with a path in it, or of another kind, is never removed."""
    beside, other = made / "results/toy/numbers.provenance.json", made / "config.yaml"
    other.write_text("x: 1\n")
    stated = {"../../config.yaml": "0", "numbers.py": "0", "/etc/passwd": "0", "numbers.csv": "0"}
    beside.write_text(json.dumps({"files_sha256": stated}))
    assert [files for _, files in faults(made)] == [["numbers.csv", "numbers.provenance.json"]]


def test_a_consistent_pair_of_an_older_run_is_found(made):
    """Check a table and provenance restored together: Snakemake's record states that the last run differs."""
    assert faults(made) == []
    record(made, "results/toy/numbers.csv", ["'a'", "8"])
    assert faults(made)[0][0] == "results/toy/numbers.csv is not from the last run here"


@pytest.mark.parametrize("raw", [b"\xff{", b"", b"[]", b"{" * 100_000, bytes(range(256))])
def test_a_torn_record_of_snakemake_takes_its_file_with_it(made, raw):
    """Check a record for which Snakemake would stop with an error of its reader."""
    records = made / ".snakemake/metadata"
    record(made, "results/toy/numbers.csv", ["'a'", "7"])
    (path,) = records.iterdir()
    path.write_bytes(raw)
    assert faults(made) == [("Snakemake's record of results/toy/numbers.csv is incomplete", [path.name, "numbers.csv"])]
    path.unlink()
    for name in ("config.yaml", "results/../config.yaml", "/etc/passwd"):  # never a file that no run made
        (made / "config.yaml").write_text("x: 1\n")
        (records / base64.urlsafe_b64encode(name.encode()).decode()).write_bytes(raw)
    assert [len(files) for _, files in faults(made)] == [1, 1, 1]
    (records / "no base 64").write_bytes(raw)
    assert "no base 64 is incomplete" in "".join(why for why, _ in faults(made))


def test_a_run_takes_away_what_it_cannot_trust_and_a_dry_run_only_says_so(made, capsys):
    (made / "results/toy/numbers.csv").write_text("quantity,value\n")
    settings = {"shards": "auto", "scenarios": {}, "run": []}
    for words, removed in ((("-n",), False), (("--dry-run",), False), (("--unlock",), False), (("--cores", "2"), True)):
        found = mending.taken_away({}, settings, words)
        said = capsys.readouterr().err
        assert bool(found) == (words != ("--unlock",))
        assert ("would be removed and regenerated" in said) == (words in (("-n",), ("--dry-run",)))
        assert (made / "results/toy/numbers.csv").exists() != removed
    assert "results/toy/numbers.csv does not match its provenance; it is removed and regenerated." in said
    assert not (made / "results/toy/numbers.provenance.json").exists()
    assert not (made / "figures/toy/numbers.png").exists()  # no run of this configuration makes the table
    assert mending.taken_away({}, settings, ()) == []


@pytest.mark.parametrize(
    ("word", "looks"),
    [("-l", True), ("--lint", True), ("--report=x.html", True), ("--cleanup-metadata", True), ("-t", True),
     ("--quiet", False), ("-k", False), ("-j4", False), ("--rerun-incomplete", False), ("-p", False)],
)  # fmt: skip
def test_words_with_which_nothing_is_made(word, looks):
    assert (mending._LOOKS.fullmatch(word) is not None) == looks


def test_a_papers_own_files_need_no_provenance():
    found = trust.table(trust.Path(provenance.__file__).parent / "papers/pan2023/published.tsv")
    assert len(found) > 10


def test_files_that_share_a_provenance_are_read_by_it(made):
    for part in ("_densities", "_comparison", "_summary", "_tables"):
        found = [path.name for path in trust._candidates(made / f"a{part}.csv")]
        assert found == [f"a{part}.provenance.json", "a.provenance.json"]
    assert [path.name for path in trust._candidates(made / "a_others.csv")] == ["a_others.provenance.json"]
    assert [path.name for path in trust._candidates(made / "tables.csv")] == ["tables.provenance.json"]


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"a.csv": "1", "a_b.csv": "2", "ab.png": "3"}, {"a.csv": "1", "a_b.csv": "2", "ab.png": "3"}),
        ({"b.csv": "1"}, {}),
        ({"a/x.csv": "1"}, {}),
        ({"a.py": "1"}, {}),
        ({"a.csv": 1}, {"a.csv": "1"}),
        ({}, {"a.tsv": "", "a.txt": ""}),
        (None, {"a.tsv": "", "a.txt": ""}),
    ],
)
def test_a_provenance_names_the_files_with_its_name(tmp_path, stated, expected):
    for name in ("a.tsv", "a.txt", "b.csv", "a.log"):
        (tmp_path / name).write_text("")
    record = {} if stated is None else {"files_sha256": stated}
    found = trust._named(tmp_path / "a.provenance.json", record)
    assert {path.name: digest for path, digest in found.items()} == expected


@pytest.mark.parametrize(
    ("text", "good"),
    [("{}", True), ('{"files_sha256": {}}', True), ('{"files_sha256": []}', False), ("[]", False), ("{", False)],
)
def test_a_provenance_is_an_object_with_an_object_of_files(tmp_path, text, good):
    path = tmp_path / "a.provenance.json"
    path.write_text(text)
    assert (trust._loaded(path) is not None) == good
    if good:
        assert trust._loaded(path) == {"files_sha256": {}}


def test_the_way_out_names_the_rule_where_it_is_known(made):
    text = "snakemake --cores 1 --force results/toy/numbers.csv; `make` does this automatically"
    (made / "results/toy/numbers.csv").write_text("x")
    with pytest.raises(trust.Damaged, match=f"from another run. Rule toy_compute_numbers regenerates it: {text}$"):
        trust.checked("results/toy/numbers.csv")
    (made / "results/toy/numbers.provenance.json").write_text("{")
    with pytest.raises(trust.Damaged, match=f"is not a provenance record. Regenerate it: {text}$"):
        trust.content("results/toy/numbers.csv")
    (made / "results/toy/numbers.provenance.json").unlink()
    with pytest.raises(trust.Damaged, match=f"checksum of results/toy/numbers.csv. Regenerate it: {text}$"):
        trust.stated("results/toy/numbers.csv")


def test_a_folder_or_nothing_in_the_place_of_a_file_and_a_changed_record_are_told_apart(made):
    path, beside = made / "results/toy/numbers.csv", made / "results/toy/numbers.provenance.json"
    raw = path.read_bytes()
    path.unlink()
    assert faults(made)[0][0] == "results/toy/numbers.csv is missing"
    path.mkdir()
    assert faults(made) == [("results/toy/numbers.csv is a folder", [beside.name, "numbers_densities.csv"])]
    path.rmdir()
    path.write_bytes(raw)
    stated = json.loads(beside.read_text())
    beside.write_text(json.dumps(stated | {"rule": "other"}))
    assert faults(made)[0][0] == "the provenance of results/toy/numbers.csv was changed"
    beside.write_text(json.dumps({key: value for key, value in stated.items() if key != provenance.OWN}))
    assert faults(made) == []
    beside.write_text("[")
    why, files = faults(made)[0]
    assert why == "results/toy/numbers.provenance.json is incomplete"
    assert files == ["numbers.csv", "numbers.provenance.json"]


def test_a_file_without_provenance_is_found_where_one_is_expected(made):
    (made / "results/toy/new.csv").write_text("")
    assert faults(made) == []
    assert faults(made, ["results/toy/new.csv"]) == [("results/toy/new.csv has no provenance", ["new.csv"])]


@pytest.mark.parametrize(("count", "more"), [(19, ""), (20, ""), (21, "and 1 more.\n"), (25, "and 5 more.\n")])
def test_twenty_faults_are_told(made, monkeypatch, capsys, count, more):
    found = [trust.Fault(f"file {k}\x1b is wrong", ()) for k in range(count)]
    monkeypatch.setattr(trust, "untrusted", lambda *_: iter(found))
    assert mending.taken_away({}, {"shards": "auto", "scenarios": {}, "run": []}, ["-n"]) == []
    lines = [f"file {k}\\x1b is wrong; it would be removed and regenerated.\n" for k in range(min(count, 20))]
    assert capsys.readouterr().err == "".join(lines) + more


class Listed:
    """A process with a command line in a folder."""

    def __init__(self, pid, words):
        self.pid, self.words = pid, words


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["python", "-m", "snakemake", "--cores"], True),
        (["/usr/bin/python", "/usr/bin/snakemake"], True),
        (["snakemake"], True),
        (["python", "/lib/snakemake/__main__.py"], True),
        (["python", "-B", "/lib/snakemake/__main__.py"], True),
        (["python", "-B", "-B", "/lib/snakemake/__main__.py"], False),
        (["python", "-B", "-m", "snakemake"], False),
        (["python", "-m", "snakemake", "--mode", "remote"], False),
        (["vi", "snakemake.txt"], False),
        ([], False),
    ],
)
def test_a_run_is_known_by_the_first_words_of_its_command(monkeypatch, words, runs):
    monkeypatch.setattr(mending, "_here", lambda: iter([(Listed(1, ["bash"]), ["bash"]), (Listed(77, words), words)]))
    assert mending.controller() == (77 if runs else None)
    own = Listed(os.getpid(), words)
    monkeypatch.setattr(mending, "_here", lambda: iter([(own, words)]))
    assert mending.controller() is None


RUN = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("line", "mine"),
    [
        (f"1|{RUN}|rule_a|{{here}}", True),
        (f"1|name_{RUN}|rule_a|{{here}}", True),
        (f"1|name{RUN}|rule_a|{{here}}", False),
        (f"1|{RUN}0|rule_a|{{here}}", False),
        (f"1|{RUN.upper()}|rule_a|{{here}}", False),
        (f"1|{RUN}|a_rule_a|{{here}}", False),
        (f"1|{RUN}|rule_a|{{here}}/below", False),
        (f"1|{RUN}|rule_a", False),
        (f"1|{RUN}", False),
        ("1", False),
        ("", False),
    ],
)
def test_jobs_in_the_queue_are_those_of_the_executor_and_the_folder(tmp_path, monkeypatch, line, mine):
    def listing(command, **_):
        assert command[:3] == ["squeue", "--me", "--noheader"]
        return mending.subprocess.CompletedProcess(command, 0, f"{line.format(here=tmp_path)}\n", "")

    monkeypatch.setattr(mending.subprocess, "run", listing)
    assert mending.of_folder(tmp_path) == (["1"] if mine else [])


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--executor", "slurm"], True),
        (["--executor=slurm"], True),
        (["--profile", "p"], True),
        (["--workflow-profile=p"], True),
        (["--cores", "2"], False),
        (["--executor", "slurm", "-n"], False),
        (["--executor", "slurm", "--dry-run"], False),
        (["--executor", "slurm", "--dryrun"], False),
        ([], False),
    ],
)
def test_only_a_run_on_a_cluster_cancels_jobs(monkeypatch, capsys, words, asked):
    calls, queue = [], [["3", "4"], ["4"], []]
    monkeypatch.setattr(mending.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(mending, "of_folder", lambda _: queue.pop(0) if len(queue) > 1 else [])
    monkeypatch.setattr(mending.subprocess, "run", lambda command, **_: calls.append(command))
    monkeypatch.setattr(mending.time, "sleep", lambda _: None)
    assert mending.cancelled(words) == (["3", "4"] if asked else [])
    assert calls == ([["scancel", "3", "4"]] if asked else [])
    told = "Cancelled 2 queued jobs of a killed run: 3, 4\n"
    assert capsys.readouterr().err == (told if asked else "")
    monkeypatch.setattr(mending.shutil, "which", lambda name: None)
    assert mending.cancelled(words) == []


def test_jobs_that_stay_in_the_queue_for_a_minute_are_an_error(monkeypatch):
    clock = iter([0.0, 30.0, 60.0, 60.5])
    monkeypatch.setattr(mending, "of_folder", lambda _: ["9", "5", "7"])
    monkeypatch.setattr(mending.time, "sleep", lambda _: None)
    monkeypatch.setattr(mending.time, "monotonic", lambda: next(clock))
    with pytest.raises(TimeoutError, match=r"^the jobs 5, 9 of a killed run are still running"):
        mending._gone(["5", "9"])
    assert next(clock, None) is None


def test_no_jobs_in_the_queue_are_not_mentioned(monkeypatch, capsys):
    monkeypatch.setattr(mending.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(mending, "of_folder", lambda _: [])
    assert mending.cancelled(["--executor", "slurm"]) == []
    assert capsys.readouterr().err == ""


@pytest.fixture
def marked(tmp_path, monkeypatch):
    """Return a function that writes the mark of a run; the folder has no other mark."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").mkdir()

    def write(**changes):
        own = psutil.Process()
        mark = {"host": run._HERE, "process": own.pid, "started": own.create_time()}
        run._MARK.write_text(json.dumps(mark | changes))

    return write


@pytest.mark.parametrize(
    ("changes", "lives"),
    [
        ({}, True),
        ({"host": "elsewhere"}, False),
        ({"process": 2**22 + 5}, False),
        ({"process": "x"}, False),
        ({"process": -1}, False),
        ({"process": 2**70}, False),
        ({"started": 0}, False),
        ({"started": "x"}, False),
        ({"started": None}, False),
    ],
)
def test_the_owner_of_a_folder_is_a_live_process_on_this_machine(marked, changes, lives):
    assert run.owner() is None
    marked(**changes)
    assert run.owner() == (psutil.Process().pid if lives else None)


@pytest.mark.parametrize(("seconds", "lives"), [(0.9, True), (-0.9, True), (1.1, False), (-1.1, False)])
def test_another_process_with_the_same_number_is_not_the_owner(marked, seconds, lives):
    marked(started=psutil.Process().create_time() + seconds)
    assert (run.owner() is not None) == lives


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "\udcff"])
def test_a_mark_that_is_not_one_is_no_mark(marked, text):
    assert run._mark() == {}
    run._MARK.write_bytes(text.encode(errors="surrogateescape"))
    assert run._mark() == {}
    run._MARK.unlink()
    run._MARK.mkdir()
    assert run._mark() == {}


def test_a_folder_is_locked_by_a_file_among_its_locks(marked):
    assert not run._locked()
    run._LOCKS.mkdir()
    assert not run._locked()
    (run._LOCKS / "0.input.lock").write_text("")
    assert run._locked()


def test_caches_are_moved_where_their_folders_cannot_be_written(marked, tmp_path, monkeypatch):
    monkeypatch.delenv("USER", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new/cache"))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "file/below"))
    run._caches()
    assert os.environ["USER"] == str(os.getuid())
    assert os.environ["XDG_CACHE_HOME"] == str(tmp_path / "new/cache")
    assert (tmp_path / "new/cache").is_dir()
    assert os.environ["MPLCONFIGDIR"] == str(tmp_path / ".snakemake/cache")
    monkeypatch.setenv("USER", "someone")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "own"))
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path / "own" or not mode & os.X_OK)
    run._caches()
    assert os.environ["USER"] == "someone"
    assert os.environ["XDG_CACHE_HOME"] == str(tmp_path / "new/cache")
    assert os.environ["MPLCONFIGDIR"] == str(tmp_path / ".snakemake/cache")


def test_a_folder_without_files_and_a_run_without_arguments_have_no_configuration(marked):
    assert run.configuration(overlays.taken_apart([]), {}) == (None, {})


class Replaced(Exception):
    """The process would now be Snakemake."""


@pytest.fixture
def started(marked, monkeypatch):
    """Return a function that calls `run.main` and returns the calls of its parts, in order, and Snakemake's words."""
    calls = []

    def become(python, command):
        assert python == command[0] == sys.executable
        raise Replaced(command[1:])

    monkeypatch.setattr(os, "execv", become)
    monkeypatch.setattr(run.paper, "discover", lambda: {"toy": "a paper"})
    monkeypatch.setattr(run, "configuration", lambda asked, papers: (None, {}))
    monkeypatch.setattr(mending, "controller", lambda: None)
    monkeypatch.setattr(mending, "ended", lambda: calls.append(("ended",)))
    for name in ("cancelled", "taken_away"):
        monkeypatch.setattr(mending, name, lambda *given, name=name: calls.append((name, *given)))
    monkeypatch.setattr(run, "_caches", lambda: calls.append(("caches",)))
    for variable in ("PYTHONUTF8", "PYTHONSAFEPATH"):
        monkeypatch.delenv(variable, raising=False)

    def call(*words):
        calls.clear()
        with pytest.raises(Replaced) as caught:
            run.main(words)
        return list(calls), caught.value.args[0]

    return call


FIRST = ["-m", "snakemake", "--workflow-profile=none"]


def test_a_run_marks_its_folder_and_becomes_snakemake(started):
    calls, command = started("--cores", "2", "all")
    assert command == [*FIRST, "--cores", "2", "all"]
    assert calls == [("ended",), ("cancelled", ("--cores", "2", "all")), ("caches",)]
    own = psutil.Process()
    assert json.loads(run._MARK.read_text()) == {
        "host": run._HERE, "process": os.getpid(), "started": own.create_time()
    }  # fmt: skip
    assert list(Path(".snakemake").iterdir()) == [run._MARK]  # no draft is left
    assert os.environ["PYTHONSAFEPATH"] == "1"


def test_a_run_may_be_the_first_in_its_folder(started):
    Path(".snakemake").rmdir()
    started("all")
    assert run._MARK.is_file()


def test_a_configuration_is_written_and_outdated_results_are_removed(started, monkeypatch):
    monkeypatch.setattr(run, "configuration", lambda asked, papers: ({"run": ["toy"]}, {"run": ["toy"], "more": 1}))
    monkeypatch.setattr(overlays, "write", lambda settings, folder: Path(folder.name) / "-".join(settings))
    calls, command = started("--cores", "2", "--", "all")
    file = f"{Path.cwd().name}/run"
    assert command == [*FIRST, "--cores", "2", f"--configfile={file}", "--", "all"]
    assert calls[-2:] == [
        ("taken_away", {"toy": "a paper"}, {"run": ["toy"], "more": 1}, ("--cores", "2", "--", "all")), ("caches",)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("locked", "host", "removed"),
    [
        (False, None, True),
        (True, None, False),  # perhaps the lock of a run on another machine
        (True, "here", True),
        (True, "elsewhere", False),
        (True, "unstated", True),
        (False, "elsewhere", True),
    ],
)
def test_only_the_lock_of_a_run_on_this_machine_is_removed(started, marked, locked, host, removed):
    run._LOCKS.mkdir()
    if locked:
        (run._LOCKS / "0.input.lock").write_text("")
    if host == "unstated":
        run._MARK.write_text("{}")
    elif host:
        marked(started=0.0, **({} if host == "here" else {"host": host}))
    calls, _ = started("all")
    assert (("cancelled", ("all",)) in calls) == removed
    assert run._LOCKS.exists() != removed


@pytest.mark.parametrize("owner", [True, False])
def test_a_second_run_in_a_folder_is_refused(started, marked, owner, monkeypatch):
    if owner:
        marked()
        number = os.getpid()
    else:
        number = 4321
        monkeypatch.setattr(mending, "controller", lambda: number)
    with pytest.raises(SystemExit) as caught:
        run.main(["all"])
    assert caught.value.code == (
        f"Process {number} is running this workflow in this folder; wait for it or stop it. Nothing was run."
    )
    assert run._MARK.exists() == owner


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError("the jobs 5 are still running"), "the jobs 5 are still running. Nothing was run."),
        (NotADirectoryError("results is not a folder"), "results is not a folder. Nothing was run."),
        (PermissionError(13, "Permission denied"), "{mark} cannot be written (Permission denied). Nothing was run."),
    ],
)
def test_a_folder_that_cannot_be_used_is_named(started, error, words, monkeypatch):
    def fails(*_):
        raise error

    monkeypatch.setattr(mending, "cancelled", fails)
    with pytest.raises(SystemExit) as caught:
        run.main(["all"])
    assert caught.value.code == words.format(mark=run._MARK.resolve())


@pytest.mark.parametrize("kind", [run.ConfigError, run.paper.PaperError])
def test_a_mistake_in_the_configuration_ends_the_run(started, kind, monkeypatch):
    def fails(*_):
        raise kind("config.yaml: a mistake")

    monkeypatch.setattr(run, "configuration", fails)
    with pytest.raises(SystemExit) as caught:
        run.main(["all"])
    assert caught.value.code == "config.yaml: a mistake\nNothing was run."
    assert not run._MARK.exists()


@pytest.mark.parametrize(("encoding", "mode"), [("UTF-8", None), ("utf8", None), ("ANSI_X3.4-1968", "1")])
def test_snakemake_uses_utf_8_everywhere(started, encoding, mode, monkeypatch):
    monkeypatch.setattr(run, "locale", SimpleNamespace(getencoding=lambda: encoding))
    started("all")
    assert os.environ.get("PYTHONUTF8") == mode


@pytest.mark.parametrize("base", [True, False])
def test_overlays_are_merged_into_the_configuration_of_the_folder(marked, base, monkeypatch):
    """Check the files in the order in which later ones replace earlier ones, and the defaults beside them."""
    asked = overlays.Asked((Path("a.yaml"), Path("b.yaml")), ("seed=3",), ())
    monkeypatch.setattr(overlays, "merged", lambda files, pairs: {"files": files, "pairs": pairs})
    monkeypatch.setattr(overlays, "pairs", lambda words: list(words))
    monkeypatch.setattr(run.checks, "checked", lambda merged, papers: (merged["pairs"], papers))
    if base:
        overlays.BASE.write_text("")
    files = [*([overlays.BASE] if base else []), Path("a.yaml"), Path("b.yaml")]
    found, filled = run.configuration(asked, {"toy": 1})
    assert found == {"files": files, "pairs": ["seed=3"]}
    assert filled == (["seed=3"], {"toy": 1})
