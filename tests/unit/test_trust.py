"""Tests of the files of a run that may be read: those whose bytes match the provenance of the last run."""

import base64
import json

import pandas as pd
import pytest

from reproduction import provenance, tables, trust
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
