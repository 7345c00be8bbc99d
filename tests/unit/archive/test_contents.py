"""Tests of an archive: equal bytes from two paths, changes are detected, and the printed results it contains."""

import csv
import hashlib
import io
import json
import os
import py_compile
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import yaml

from dpmultinomial import __version__, _git
from reproduction import paper, provenance, tables, trust
from reproduction.archive import checksums, claims, contents, crate, verifying
from reproduction.jobs import artefacts, costs
from reproduction.verdicts import in_process, summary

# the trial with every index checked runs a copy of the packages alone
pytestmark = pytest.mark.skipif(not (contents.ROOT / "Snakefile").exists(), reason="no folder of the whole project")

ROOT = Path(__file__).parents[3]
SLUG = "balmat2018"
CANARY = b"canary-7f3a9c"
TOP = f"dpmultinomial-{__version__}"


@pytest.fixture(scope="module", autouse=True)
def listed_by_git():
    """Provide a list of sources and the time of a commit in a copy that is no checkout, as for the trial of mutants."""
    with pytest.MonkeyPatch.context() as patch:
        if not (ROOT / ".git").exists():
            tops = (ROOT / name for name in ("src", "tests", "workflow", "config", "docs"))
            paths = [path for top in tops for path in top.rglob("*") if path.suffix in (".py", ".md", ".yaml", ".smk")]
            paths += [path for path in ROOT.iterdir() if path.is_file()]
            names = sorted(str(path.relative_to(ROOT)) for path in paths)
            patch.setattr(_git, "files", lambda folder: names)
            patch.setattr(_git, "commit_time", lambda folder: 1767323045)
        yield


def state(path, text, **inputs):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    made = provenance.short(function=f"{SLUG}.agreement.ours", inputs=inputs.values())
    provenance.write(made | {provenance.SOURCES: {}}, path)


def make_run(folder):
    """Write the files of a run of one paper with a few letters each, and files that must never be archived."""
    (folder / "results").mkdir(parents=True)
    state(folder / contents.CONFIG, yaml.safe_dump({"run": [SLUG], "shards": "auto"}))
    for name in ("results/agreement.tsv", "results/summary.txt"):
        state(folder / name, name)
    found = paper.discover()[SLUG]
    for name in contents.of_paper(found, {}, "auto"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    by_record = {}
    for name in contents.of_paper(found, {}, "auto"):
        stem = name.rpartition(".")[0].removesuffix("_tables") if "agreement" in name else name.rpartition(".")[0]
        by_record.setdefault(stem, []).append(folder / name)
    for files in by_record.values():
        provenance.write(provenance.short(function=f"{SLUG}.figure_1.figure_1"), *files)
    for name in (
        *("confidential/county.csv", "confidential/.ledger.key", "releases/county/1/record.json"),
        *(f"results/{SLUG}/scenario_county.csv", f"results/{SLUG}/batches/b_1_of_1.csv", "results/logs/x.log"),
        *(f"figures/{SLUG}/scenario_county.png", "mine.yaml", ".snakemake/run.json", "results/releases/x.csv"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(CANARY)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "here")


@pytest.fixture(scope="module")
def archive(run, tmp_path_factory):
    target = tmp_path_factory.mktemp("tar") / "a.tar"
    crate.write(target, run)
    return target


@pytest.fixture(scope="module")
def small(run, tmp_path_factory):
    """Return an archive of a few sources, which is unpacked quickly."""
    target = tmp_path_factory.mktemp("tar") / "small.tar"
    names = ["Snakefile", "CITATION.cff", "src/reproduction/tables.py", "src/reproduction/verdicts/agreement.py"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "tracked", lambda: names)
        crate.write(target, run)
    return target


@pytest.fixture
def unpacked(small, tmp_path, monkeypatch):
    """Return an unpacked archive with synthetic tables, for which no agreement is computed."""
    subprocess.run(["tar", "-xf", small], cwd=tmp_path, check=True)
    for part in ("_agreement", "_together", "_summarised"):
        monkeypatch.setattr(verifying, part, lambda *arguments: iter(()))
    monkeypatch.setattr(verifying, "_recomputed", lambda *arguments: (0, []))
    return tmp_path / TOP


def sealed(folder):
    """Return SHA256SUMS of a folder, as left by somebody who changes a file and its checksum."""
    names = [line.partition("  ")[2] for line in (folder / crate.SUMS).read_text().splitlines()]
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / crate.SUMS).write_text("".join(lines))


def test_it_is_the_same_to_the_byte_on_another_path(run, archive, tmp_path):
    other = tmp_path / "elsewhere/much/deeper"
    shutil.copytree(run, other)
    crate.write(tmp_path / "b.tar", other)
    assert (tmp_path / "b.tar").read_bytes() == archive.read_bytes()
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
    assert [m.name for m in members] == sorted(m.name for m in members)
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, 0, "", "")}
    assert {m.mode for m in members} <= {0o644, 0o755}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout: an archive holds what git knows")
def test_it_holds_sources_locks_and_every_declared_result_with_its_provenance(archive):
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name for name in tracked.splitlines() if (ROOT / name).exists()} <= names
    found = paper.discover()[SLUG]
    assert {*found.tables(), *found.figures(), contents.CONFIG, "envs/run.lock", "CITATION.cff"} <= names
    assert f"figures/{SLUG}/figure_1.pdf" in names
    assert f"results/{SLUG}/figure_1.provenance.json" in names
    assert {crate.SUMS, crate.NAME, claims.NAME} <= names


def test_an_action_is_named_by_its_function_and_its_first_file(archive):
    with tarfile.open(archive) as tar:
        text = tar.extractfile(f"{TOP}/{crate.NAME}").read()
    made = {entity["@id"]: entity for entity in json.loads(text)["@graph"]}
    action = made[f"#results/{SLUG}/figure_1"]
    files = sorted(file["@id"] for file in action["result"])
    assert action["name"] == f"{SLUG}.figure_1.figure_1 makes {files[0]}"


def test_nothing_confidential_and_no_folder_of_this_machine_is_in_it(run, archive):
    raw = archive.read_bytes()
    assert CANARY not in raw.replace(b'CANARY = b"' + CANARY, b"")  # this file itself is a source
    for folder in (run, ROOT, Path(shutil.__file__).parent):
        assert str(folder).encode() not in raw


@pytest.mark.parametrize("folder", [ROOT, Path.home(), "run"], ids=["sources", "home", "run"])
def test_a_result_that_names_a_folder_of_this_machine_is_refused(tmp_path, folder):
    here = make_run(tmp_path / "run")
    text = f"data: {here if folder == 'run' else folder}/x.csv"
    state(here / "results/summary.txt", text)
    with pytest.raises(contents.ArchiveError, match=r"results/summary\.txt contains a path on this machine"):
        contents.files(here)


def test_a_tracked_private_file_is_refused_before_it_is_opened(run, monkeypatch):
    monkeypatch.setattr(contents, "tracked", lambda: ["README.md", "confidential/county.csv"])
    with pytest.raises(contents.ArchiveError, match=r"confidential/county\.csv is confidential"):
        contents.files(run)


def test_a_link_to_a_private_file_is_refused(run, monkeypatch, tmp_path):
    (tmp_path / "notes.md").symlink_to(run / "confidential/county.csv")
    monkeypatch.setattr(contents, "ROOT", tmp_path)
    monkeypatch.setattr(contents, "tracked", lambda: ["notes.md"])
    with pytest.raises(contents.ArchiveError, match=r"notes\.md must be a regular file"):
        contents.files(run)


@pytest.mark.parametrize("way", ["deep folder", "link to the folder", "hard link"])
def test_a_file_of_a_private_folder_is_refused_under_every_name(run, monkeypatch, tmp_path, way):
    data = tmp_path / "confidential/c.csv"
    data.parent.mkdir()
    data.write_bytes(CANARY)
    name = {"deep folder": "examples/confidential/c.csv", "link to the folder": "examples/c.csv"}.get(way, "c.csv")
    if way == "hard link":
        (tmp_path / name).hardlink_to(data)
    elif way == "link to the folder":
        (tmp_path / "examples").symlink_to(data.parent)
    else:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(CANARY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(contents, "ROOT", tmp_path)
    monkeypatch.setattr(contents, "tracked", lambda: [name])
    with pytest.raises(contents.ArchiveError, match=f"{name} is confidential"):
        contents.files(run)


def test_a_result_that_is_not_its_provenance_s_or_is_missing_is_refused(tmp_path):
    here = make_run(tmp_path / "run")
    table = here / f"results/{SLUG}/figure_1.csv"
    table.write_text(table.read_text() + "1")
    with pytest.raises(contents.ArchiveError, match=r"figure_1\.csv cannot be archived"):
        contents.files(here)
    table.unlink()
    with pytest.raises(contents.ArchiveError, match=r"figure_1\.csv cannot be archived"):
        contents.files(here)
    (here / contents.CONFIG).unlink()
    with pytest.raises(contents.ArchiveError, match="make reproduce"):
        contents.files(here)


def test_an_unpacked_archive_is_verified_and_may_have_been_built_in(unpacked):
    (unpacked / ".venv/lib").mkdir(parents=True)
    (unpacked / ".venv/lib/x.py").touch()
    (unpacked / "build").mkdir()
    said = verifying.verified(unpacked)
    assert "files match SHA256SUMS" in said
    assert "skipped, because they are made when an archive is used: .venv, build" in said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda f: (f / "Snakefile").write_text("rule all:"), "Snakefile differs from the archived file"),
        (lambda f: (f / f"figures/{SLUG}/figure_1.png").unlink(), "figure_1.png is missing"),
        (lambda f: (f / "results/more.csv").touch(), "results/more.csv was added"),
        (lambda f: (f / "conftest.pyc.py").touch(), "conftest.pyc.py was added"),
        (lambda f: (f / crate.SUMS).unlink(), "SHA256SUMS is missing"),
        (lambda f: (f / crate.SUMS).write_text(f"{'0' * 64}  ../x\n"), "must be a file in the archive"),
    ],
    ids=["changed", "lost", "added", "added code", "no sums", "outside"],
)
def test_what_was_changed_lost_or_added_is_named(unpacked, change, why):
    change(unpacked)
    with pytest.raises(verifying.Differs, match=why):
        verifying.verified(unpacked)


def link(path, target):
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def moved(folder, name):
    """Replace a folder of the archive by a link to an equal folder."""
    (folder / name).rename(folder.parent / "elsewhere")
    (folder / name).symlink_to(folder.parent / "elsewhere")


PLANTED = {
    "pyc": lambda f: (f / "src/reproduction/tables.pyc").touch(),
    "pycache": lambda f: ((f / "src/reproduction/__pycache__").mkdir(), (f / "src/reproduction/__pycache__/x").touch()),
    "empty pycache": lambda f: (f / "src/__pycache__").mkdir(),
    "so": lambda f: (f / "src/reproduction/_kernel.so").touch(),
    "pyd": lambda f: (f / "src/_kernel.pyd").touch(),
    "egg-info": lambda f: ((f / "src/x.egg-info").mkdir(), (f / "src/x.egg-info/x.py").touch()),
    "build below": lambda f: ((f / "results/build").mkdir(), (f / "results/build/evil.csv").touch()),
    "git below": lambda f: (f / "src/.git").mkdir(),
    "link to a folder": lambda f: (f / "more").symlink_to(f / "src"),
    "dangling link": lambda f: (f / "more").symlink_to("nowhere"),
    "build as a link": lambda f: (f / "build").symlink_to(f.parent),
    "git as a file": lambda f: (f / ".git").write_text("gitdir: elsewhere"),
    "pipe": lambda f: os.mkfifo(f / "results/pipe"),
    "listed, a pipe": lambda f: ((f / "Snakefile").unlink(), os.mkfifo(f / "Snakefile")),
    "listed, a folder": lambda f: ((f / "Snakefile").unlink(), (f / "Snakefile").mkdir()),
    "listed, a link": lambda f: (shutil.copy(f / "Snakefile", f.parent / "s"), link(f / "Snakefile", f.parent / "s")),
    "listed, a dangling link": lambda f: link(f / "Snakefile", "nowhere"),
    "listed, below a link": lambda f: moved(f, "results"),
    "sums, a link": lambda f: (shutil.copy(f / crate.SUMS, f.parent / "s"), link(f / crate.SUMS, f.parent / "s")),
    "sums, not UTF-8": lambda f: (f / crate.SUMS).write_bytes(b"\xff" * 64),
    "sums, empty": lambda f: (f / crate.SUMS).write_bytes(b""),
    "sums, twice": lambda f: (f / crate.SUMS).write_text((f / crate.SUMS).read_text() * 2),
    "sums, a control": lambda f: (f / crate.SUMS).write_text("0" * 64 + "  a\x1bb\n"),
    "sums, built": lambda f: (f / crate.SUMS).write_text("0" * 64 + "  build/x\n"),
}  # fmt: skip


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_nothing_that_has_no_checksum_is_passed_over(unpacked, plant):
    assert "files match" in verifying.verified(unpacked)
    plant(unpacked)
    with pytest.raises(verifying.Differs, match=r"added|replaced|link|SHA256SUMS"):
        verifying.verified(unpacked)


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", "{}", '{"files_sha256": []}', '{"files_sha256": {"a": 1}}', "[" * 9**5]
)
def test_a_provenance_that_is_not_one_is_named(unpacked, text):
    (unpacked / "results/summary.provenance.json").write_text(text)
    sealed(unpacked)
    with pytest.raises(verifying.Differs, match=r"results/summary\.provenance\.json is not a provenance record"):
        verifying.verified(unpacked)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (crate.NAME, lambda raw: b"{}"),
        (crate.NAME, lambda raw: b'{"@graph": []}'),
        (crate.NAME, lambda raw: b""),
        (crate.NAME, lambda raw: b"\xff"),
        (crate.NAME, lambda raw: raw.replace(b"MIT License", b"no licence")),
        (crate.NAME, lambda raw: raw.replace(b'"datePublished": "', b'"datePublished": "x')),
        (claims.NAME, lambda raw: b""),
        (claims.NAME, lambda raw: raw.replace(b"results/", b"result/", 1)),
    ],
)
def test_a_description_changed_together_with_its_checksum_is_noticed(unpacked, name, change):
    before = (unpacked / name).read_bytes()
    assert change(before) != before
    (unpacked / name).write_bytes(change(before))
    sealed(unpacked)
    with pytest.raises(verifying.Differs, match=f"{name} does not follow"):
        verifying.verified(unpacked)


SCENARIO = f"{summary.SCENARIOS}\n  survey: 8 exact\n    CONFLICT: improbable\n\n"


def test_a_summary_follows_from_the_agreement_except_its_lines_about_scenarios(tmp_path):
    row = {"paper": SLUG, "artefact": "table_1", "kind": "number", "verdict": "reproduced", "note": ""}
    path = tmp_path / "results/agreement.tsv"
    path.parent.mkdir()
    tables.write(pd.DataFrame([row, row | {"verdict": "differs"}]), path)
    provenance.write(provenance.short(function="x.y"), path)
    (tmp_path / contents.CONFIG).write_text(yaml.safe_dump({"run": [SLUG], "scenarios": {"survey": {}}}))
    found = paper.discover()[SLUG]
    made = [*found.tables(), *found.figures(), "agreement.csv", "survey.csv", "survey.json", "survey.png"]
    facts = {"points": [{"accuracy": [{"status": "exact", "rows": 8}]}]}
    text = summary.text(trust.table(path), made=made, papers=[SLUG], scenarios={"survey": facts})
    assert summary.SCENARIOS in text
    place = tmp_path / "results/summary.txt"
    for good in (text, text.replace("8 exact", "8 exact\n    CONFLICT: improbable")):
        place.write_text(good)
        assert [*verifying._summarised(tmp_path)] == []
    changes = [("reproduced", "reproducible"), ("differs", "reproduced"), ("1 paper", "5 papers"), ("See ", "\nSee ")]
    for old, new in [*changes, (SCENARIO[:20], f"All is well.\n{SCENARIO[:20]}"), (text, "")]:
        assert old in text
        place.write_text(text.replace(old, new, 1))
        assert [*verifying._summarised(tmp_path)] == ["results/summary.txt does not follow from results/agreement.tsv"]
    place.unlink()
    assert len([*verifying._summarised(tmp_path)]) == 1


@pytest.mark.thorough
def test_quick_tables_are_recomputed(tmp_path):
    """Check a table of the archive that equals the recomputed one, one with rounding, and one with a changed number."""
    found = paper.discover()[SLUG]
    section = json.loads(in_process._checked(SLUG, "{}"))
    settings = {"run": [SLUG], "shards": "auto", "root_seed": in_process.ROOT_SEED, SLUG: section}
    (tmp_path / contents.CONFIG).parent.mkdir(parents=True)
    (tmp_path / contents.CONFIG).write_text(yaml.safe_dump(settings))
    name = f"results/{SLUG}/privacy.csv"
    table = in_process.tables_of(SLUG, only=["privacy"])["privacy"]
    (column, *_) = table.select_dtypes("float").columns
    for factor, faults in ((1.0, 0), (1 + 1e-9, 0), (1.001, 1)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        changed = table.assign(**{column: table[column] * factor})
        tables.write(changed, tmp_path / name)
        provenance.write(provenance.short(function=f"{SLUG}.x.y"), tmp_path / name)
        count, said = verifying._recomputed(tmp_path, [SLUG], {name})
        assert (count, len(said)) == (1, faults)
        assert not said or f"{name} does not follow from the sources" in said[0]
    assert artefacts.table_file(found, "privacy") == name
    assert verifying._recomputed(tmp_path, [SLUG], {f"results/{SLUG}/r_timings.csv"}) == (0, [])


@pytest.fixture
def runnable(run, tmp_path, monkeypatch):
    """Return an archive with the Makefile, and `planted(path)`: a program that leaves a mark when it runs."""
    names = [
        "Snakefile",
        "CITATION.cff",
        "Makefile",
        "src/reproduction/archive/checksums.py",
        "src/reproduction/trust.py",
    ]
    monkeypatch.setattr(contents, "tracked", lambda: names)
    crate.write(tmp_path / "a.tar", run)
    subprocess.run(["tar", "-xf", "a.tar"], cwd=tmp_path, check=True)

    def planted(name, code=None):
        path = tmp_path / TOP / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code or f"#!/bin/sh\necho {name} >> {tmp_path}/marks\n")
        path.chmod(0o755)

    return tmp_path / TOP, planted


def made_verify(folder):
    words = ["make", "verify", "PYTHON=python3"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_make_verify_runs_nothing_that_has_no_checksum(runnable):
    folder, planted = runnable
    mark = f"open({str(folder.parent / 'marks')!r}, 'a').write('python')\n"
    for name in ("hashlib.py", "src/hashlib.py", "src/reproduction/archive/hashlib.py", "sitecustomize.py"):
        planted(name, mark)
    module = folder / "src/reproduction/archive/hashlib.py"
    py_compile.compile(str(module), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    for name in ("src/reproduction/archive/checksums.cpython-311-x86_64-linux-gnu.so", "setup.py"):
        planted(name)
    done = made_verify(folder)
    assert done.returncode
    for name in (
        "hashlib.py",
        "src/hashlib.py",
        "sitecustomize.py",
        "setup.py",
        "src/reproduction/archive/__pycache__",
    ):
        assert f"{name} was added" in done.stderr
    assert "checksums.cpython-311-x86_64-linux-gnu.so was added" in done.stderr
    assert not (folder.parent / "marks").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_make_verify_uses_no_program_of_the_folders_that_it_skips(runnable):
    """Check that it continues to build a copy, which fails because this archive has no lock file."""
    folder, planted = runnable
    for name in ("python", "python3", "mktemp", "rm", "sh", "make", "pip"):
        planted(f".venv/bin/{name}")
    done = made_verify(folder)
    assert "skipped, because they are made when an archive is used: .venv" in done.stdout
    assert "run.lock" in done.stderr
    assert not (folder.parent / "marks").exists()


def test_a_result_changed_together_with_its_checksum_is_not_what_its_provenance_states(unpacked):
    (unpacked / f"results/{SLUG}/figure_1.csv").write_text("x\n1\n")
    sealed(unpacked)
    with pytest.raises(verifying.Differs, match=r"figure_1\.csv does not match its provenance"):
        verifying.verified(unpacked)


def test_results_of_other_sources_are_noticed(unpacked):
    path = unpacked / "results/summary.provenance.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {provenance.SOURCES: {"reproduction/tables.py": "0" * 64}}))
    sealed(unpacked)
    with pytest.raises(verifying.Differs, match=r"was made by a version of src/reproduction/tables\.py"):
        verifying.verified(unpacked)


def test_other_code_than_the_archive_s_does_not_judge_it(unpacked):
    path = unpacked / "src/reproduction/verdicts/agreement.py"
    path.write_text(path.read_text() + "# another\n")
    sealed(unpacked)
    with pytest.raises(verifying.Differs, match="in the folder of the archive"):
        verifying.verified(unpacked)


def entities(archive):
    with tarfile.open(archive) as tar:
        metadata = json.load(io.TextIOWrapper(tar.extractfile(f"{TOP}/{crate.NAME}")))
    return {entity["@id"]: entity for entity in metadata["@graph"]}


def test_the_crate_names_every_file_with_its_digest_and_nothing_twice(archive):
    found = entities(archive)
    with tarfile.open(archive) as tar:
        files = {m.name.partition("/")[2]: tar.extractfile(m).read() for m in tar.getmembers()}
    described = {name for name, entity in found.items() if "File" in entity["@type"]}
    assert described == {*files} - {crate.SUMS, crate.NAME, claims.NAME}
    assert all(found[name]["sha256"] == hashlib.sha256(files[name]).hexdigest() for name in described)
    assert {part["@id"] for part in found["./"]["hasPart"]} == described
    named = {part["@id"] for entity in found.values() for key in ("object", "result") for part in entity.get(key, [])}
    assert named <= described


def test_an_action_has_its_function_s_source_and_the_files_it_read(tmp_path, monkeypatch):
    here = make_run(tmp_path / "run")
    monkeypatch.setattr(contents, "tracked", lambda: ["Snakefile", f"src/reproduction/papers/{SLUG}/figures.py"])
    table = here / f"results/{SLUG}/figure_1.csv"
    png, pdf = (here / f"figures/{SLUG}/figure_1.{end}" for end in ("png", "pdf"))
    made = provenance.short(function=f"{SLUG}.figures.figure_1", inputs=[table])
    provenance.write(made, png, pdf)
    target = tmp_path / "a.tar"
    crate.write(target, here)
    action = entities(target)[f"#figures/{SLUG}/figure_1"]
    assert action["instrument"] == {"@id": f"src/reproduction/papers/{SLUG}/figures.py"}
    assert action["object"] == [{"@id": f"results/{SLUG}/figure_1.csv"}]
    assert [part["@id"] for part in action["result"]] == [f"figures/{SLUG}/figure_1.{end}" for end in ("pdf", "png")]


def test_the_run_says_when_it_was(tmp_path, monkeypatch):
    """Check that 2026-01-02 03:04:05 UTC is 1767323045 seconds after 1970 (date -u -d ... +%s)."""
    here = make_run(tmp_path / "run")
    monkeypatch.setattr(contents, "tracked", lambda: ["Snakefile"])
    (here / costs.BENCHMARKS).mkdir(parents=True)
    (here / costs.BENCHMARKS / "snakemake.tsv").write_text("started\ts\tsnakemake\tjobs\n1767323045.00\t60.00\t1\t2\n")
    crate.write(tmp_path / "a.tar", here)
    action = entities(tmp_path / "a.tar")["#run"]
    assert (action["startTime"], action["endTime"]) == ("2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z")


def test_registries_read_what_the_project_says_elsewhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["abstract"] == project["description"]
    assert citation["keywords"] == project["keywords"]
    assert citation["license"] == project["license"]


PAPERS = paper.discover()
EVERY = claims.every()


def test_every_artefact_with_a_printed_statement_has_its_row_and_no_other():
    """Count the statements in published.tsv, whose first column names the artefact."""
    for slug, found in PAPERS.items():
        lines = (found.folder / "published.tsv").read_text(encoding="utf-8").splitlines()[1:]
        printed = [line.partition("\t")[0] for line in lines]
        labels = {name: name.replace("_", " ").capitalize() for name in printed}
        labels |= {a.name: a.label for a in found.artefacts}
        rows = {claim.claim: claim.statements for claim in EVERY if claim.paper == slug}
        assert rows == {labels[name]: printed.count(name) for name in dict.fromkeys(printed)}


def test_the_file_is_one_that_the_workflow_makes_and_the_command_names_it():
    made = {name for found in PAPERS.values() for name in (*found.tables(), *found.figures())}
    made |= {f"results/{slug}/agreement.csv" for slug in PAPERS}
    for claim in EVERY:
        assert claim.file in made
        assert claim.command == f"snakemake --cores 2 {claim.file}"
        assert claim.judged_in == f"results/{claim.paper}/agreement.csv"
        assert claim.places.count(";") <= 2
    own = [claim.file for claim in EVERY if claim.file != claim.judged_in]
    assert len(set(own)) == len(own) > len(EVERY) / 2


def test_minutes_are_those_of_all_that_a_figure_is_made_from():
    """Check wang2020, Table 1: minutes of the table, of the two tables that it reads, and of the loop."""
    found = PAPERS["wang2020"]
    by_name = {a.name: a for a in found.artefacts}
    (loop,) = (loop for loop in artefacts.loops(found) if loop.module == "releases")
    expected = sum(by_name[name].table.minutes for name in ("table_1", "exact_moments", "releases")) + loop.minutes
    claim = next(c for c in EVERY if c.file.endswith("wang2020/table_1.csv"))
    assert by_name["table_1"].figure is None
    assert claim.minutes == pytest.approx(expected)


def test_seconds_of_a_run_are_those_of_its_table_and_its_figure(tmp_path):
    folder = tmp_path / "results/benchmarks"
    folder.mkdir(parents=True)
    for name, seconds in (("figure_1_table", 2.5), ("figure_1_figure", 1.25), ("table_1_table", 7)):
        (folder / f"balmat2018_{name}.tsv").write_text(f"s\th:m:s\tmax_rss\tcpu_time\n1\t0:00:01\t9\t{seconds}\n")
    rows = {row["file"]: row for row in csv.DictReader(io.StringIO(claims.text(tmp_path)), delimiter="\t")}
    assert rows["figures/balmat2018/figure_1.png"]["cpu_seconds"] == "3.75"
    assert rows["results/balmat2018/table_1.csv"]["cpu_seconds"] == "7.00"
    assert {row["cpu_seconds"] for name, row in rows.items() if "balmat2018" not in name} == {""}
    assert all(row["cpu_seconds"] == "" for row in csv.DictReader(io.StringIO(claims.text()), delimiter="\t"))


@pytest.mark.parametrize(
    ("said", "short"),
    [
        (["section 5.4", "section 5.4 (1/5,000)", "Table 1, row 1: M!"], "section 5.4; Table 1"),
        (["a", "b", "c", "d", "e", ""], "a; b; c and 2 more"),
        ([], ""),
    ],
)
def test_places_are_named_once_and_three_at_most(said, short):
    assert claims._places(said) == short


SUM = "0" * 64


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"{SUM} a", f"line 2: the line must consist of a SHA-256, two spaces and a name, got '{SUM} a'"),
        (f"{SUM[1:]}  a", "line 2: the line must consist of a SHA-256, two spaces and a name, got"),
        (f"{SUM}0  a", "line 2: the line must consist of"),
        (f"{'A' * 64}  a", "line 2: the line must consist of"),
        (f"{SUM}  ", "line 2: the line must consist of"),
        (f"{SUM}  a\\b", "line 2: the line must consist of"),
        (f"{SUM}  a\x7fb", "line 2: the line must consist of"),
        (f"{SUM}  a\tb", "line 2: the line must consist of"),
        ("", "line 2: the line must consist of a SHA-256, two spaces and a name, got ''"),
        (f"{SUM}  /a", "line 2: '/a' must be a file in the archive"),
        (f"{SUM}  ../a", "line 2: '../a' must be a file in the archive"),
        (f"{SUM}  a/./b", "line 2: 'a/./b' must be a file in the archive"),
        (f"{SUM}  a//b", "line 2: 'a//b' must be a file in the archive"),
        (f"{SUM}  a/", "line 2: 'a/' must be a file in the archive"),
        (f"{SUM}  build/a", "line 2: 'build/a' must be a file in the archive"),
        (f"{SUM}  first", "line 2: the name 'first' occurs twice"),
    ],
)
def test_a_line_of_checksums_that_is_not_one_is_named(tmp_path, line, why):
    (tmp_path / checksums.SUMS).write_text(f"{SUM}  first\n{line}\n{SUM}  last\n")
    with pytest.raises(checksums.Differs) as caught:
        checksums.read(tmp_path)
    assert str(caught.value).startswith(f"{checksums.SUMS}, {why}")
    assert "\n" not in str(caught.value)


def test_a_long_line_of_checksums_is_quoted_in_part(tmp_path):
    (tmp_path / checksums.SUMS).write_text("x" * 101)
    with pytest.raises(checksums.Differs, match=f"got '{'x' * 100}'$"):
        checksums.read(tmp_path)


@pytest.mark.parametrize("name", ["a b", "builds/a", "a/build", ".gitignore", "..a", "ä"])
def test_names_of_checksums_are_read(tmp_path, name):
    (tmp_path / checksums.SUMS).write_text(f"{'0123456789abcdef' * 4}  {name}\n")
    assert checksums.read(tmp_path) == {name: "0123456789abcdef" * 4}


@pytest.mark.parametrize(
    ("raw", "why"),
    [(b"", "contains no file names"), (b"ab\xff", r"is not valid UTF-8 \(invalid byte at position 2\)")],
)
def test_a_list_without_names_or_in_other_bytes_is_refused(tmp_path, raw, why):
    (tmp_path / checksums.SUMS).write_bytes(raw)
    with pytest.raises(checksums.Differs, match=f"^{checksums.SUMS} {why}"):
        checksums.read(tmp_path)
    (tmp_path / checksums.SUMS).unlink()
    with pytest.raises(checksums.Differs, match="is missing or is not a regular file"):
        checksums.read(tmp_path)


@pytest.mark.parametrize(("count", "last"), [(1, "d0"), (50, "d49"), (51, "and 1 more"), (70, "and 20 more")])
def test_fifty_differences_are_listed(count, last):
    with pytest.raises(checksums.Differs) as caught:
        checksums.stop([f"d{k}" for k in range(count)])
    lines = str(caught.value).splitlines()
    assert lines == [*(f"d{k}" for k in range(min(count, 50))), *([last] if count > 50 else [])]
    assert lines[-1] == last
    checksums.stop([])


def test_the_kinds_of_things_in_the_place_of_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    kinds = {name: checksums._kind(tmp_path / name) for name in ("file", "folder", "link", "pipe")}
    assert kinds == {"file": "a file", "folder": "a folder", "link": "a link", "pipe": "a pipe"}
    assert checksums._kind(Path("/dev/null")) == "a special file"
    assert [checksums._is_regular(tmp_path / name) for name in (*kinds, "none")] == [True, False, False, False, False]


def listed(folder, *names):
    """Write files and their list of checksums."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    lines = [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in names]
    (folder / checksums.SUMS).write_text("".join(lines))


def test_files_that_match_are_copied_with_their_modes(tmp_path):
    folder, target = tmp_path / "a", tmp_path / "b"
    folder.mkdir()
    listed(folder, "x", "y/z/run")
    (folder / "y/z/run").chmod(0o700)
    (folder / "x").chmod(0o600)
    (folder / "build").mkdir()
    (folder / "build/own").write_text("")
    sums, skipped = checksums.check(folder, target)
    assert (list(sums), skipped) == (["x", "y/z/run"], ["build"])
    found = {path.relative_to(target).as_posix(): path for path in target.rglob("*") if path.is_file()}
    assert {name: path.read_text() for name, path in found.items()} == {"x": "x", "y/z/run": "y/z/run"}
    assert {name: path.stat().st_mode & 0o777 for name, path in found.items()} == {"x": 0o644, "y/z/run": 0o755}


def test_every_difference_of_a_folder_is_named(tmp_path):
    listed(tmp_path, "a", "b", "c/d", "e", "f/g")
    (tmp_path / "a").write_text("other")
    (tmp_path / "b").unlink()
    (tmp_path / "c/new").write_text("")
    (tmp_path / "c/build").mkdir()
    (tmp_path / "e").unlink()
    (tmp_path / "e").mkdir()
    (tmp_path / "f").rename(tmp_path / "build")
    (tmp_path / "f").symlink_to("build")
    with pytest.raises(checksums.Differs) as caught:
        checksums.check(tmp_path)
    assert str(caught.value).splitlines() == [
        *("a differs from the archived file", "b is missing", "e was replaced by a folder"),
        "f/g must not be below the link f",
        *("c/build was added (a folder)", "c/new was added (a file)", "f was added (a link)"),
    ]


@pytest.mark.parametrize(
    ("skipped", "said"),
    [
        ([], "2 files match SHA256SUMS, and there are no others"),
        (
            ["build", ".venv"],
            "2 files match SHA256SUMS, and there are no others; skipped, because they are made when an archive is "
            "used: build, .venv",
        ),
    ],
)
def test_the_sentence_about_checksums(skipped, said):
    assert checksums.sentence({"a": SUM, "b": SUM}, skipped) == said


def test_texts_of_a_check_are_printable(tmp_path, capsys):
    assert checksums._printable("a\x1b[1m\nb\u202eä") == "a\\x1b[1m\nb\\u202eä"
    listed(tmp_path, "a")
    checksums.main([str(tmp_path)])
    assert capsys.readouterr().out == "1 files match SHA256SUMS, and there are no others\n"
    (tmp_path / "a").unlink()
    with pytest.raises(SystemExit, match=r"^make verify: a is missing$"):
        checksums.main([str(tmp_path)])


@pytest.mark.parametrize(
    ("stated", "made", "equal"),
    [
        ({"x": [1.0]}, {"x": [1.0 + 5e-7]}, True),
        ({"x": [1.0]}, {"x": [1.0 + 2e-6]}, False),
        ({"x": [1000.0]}, {"x": [1000.0005]}, True),
        ({"x": [0.0]}, {"x": [5e-13]}, True),
        ({"x": [0.0]}, {"x": [5e-12]}, False),
        ({"x": [1.0, float("nan")]}, {"x": [1.0, float("nan")]}, True),
        ({"x": [1.0, float("nan")]}, {"x": [1.0, 2.0]}, False),
        ({"x": [1]}, {"x": [1.0]}, True),
        ({"x": ["a"]}, {"x": ["a"]}, True),
        ({"x": ["a"]}, {"x": ["b"]}, False),
        ({"x": ["a"]}, {"x": [1]}, False),
        ({"x": [1]}, {"y": [1]}, False),
        ({"x": [1], "y": [1]}, {"y": [1], "x": [1]}, False),
        ({"x": [1, 1]}, {"x": [1]}, False),
        ({"x": [1]}, {"x": [1], "y": [1]}, False),
        ({"x": ["a"], "y": [1.0]}, {"x": ["a"], "y": [2.0]}, False),
        ({"y": [1.0], "x": ["a"]}, {"y": [1.0], "x": ["b"]}, False),
        ({"x": [1.0], "y": [1.0]}, {"x": [2.0], "y": [1.0]}, False),
    ],
)
def test_a_recomputed_table_equals_the_archived_one_up_to_rounding(stated, made, equal):
    assert verifying._equal(pd.DataFrame(stated), pd.DataFrame(made)) is equal


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("toy.tables.table_1", "src/reproduction/papers/toy/tables.py"),
        ("toy.run", "src/reproduction/papers/toy/__init__.py"),
        ("jobs.making.table", "src/reproduction/jobs/making.py"),
        ("dpmultinomial._git.tracked", "src/dpmultinomial/_git.py"),
        ("nobody.f", "Snakefile"),
    ],
)
def test_the_instrument_of_an_action_is_the_source_of_its_function(function, expected):
    names = [
        *("src/reproduction/papers/toy/tables.py", "src/reproduction/papers/toy/__init__.py"),
        *("src/reproduction/jobs/making.py", "src/reproduction/jobs/__init__.py", "src/dpmultinomial/_git.py"),
    ]
    assert crate._instrument(function, dict.fromkeys(names, SUM)) == expected


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("a.tsv", "text/tab-separated-values"), ("a.yaml", "application/yaml"), ("a.smk", "text/x-python")),
        *(("a.md", "text/markdown"), ("a.csv", "text/csv"), ("a.png", "image/png"), ("a.json", "application/json")),
        *(("a.pyx", "text/plain"), ("Snakefile", "text/plain"), ("a.py", "text/x-python")),
    ],
)
def test_a_file_of_the_crate_has_its_size_and_type(tmp_path, name, form):
    (tmp_path / name).write_text("abc")
    found = crate._file(name, tmp_path / name, SUM)
    assert found["encodingFormat"] == form
    assert (found["@id"], found["name"], found["@type"]) == (name, name, "File")
    assert (found["contentSize"], found["sha256"]) == ("3", SUM)


def stated(run, published="2026-01-02"):
    graph = [{"@id": "#run", **run}, {"@id": "./", "datePublished": published}]
    return json.dumps({"@graph": graph}).encode()


def test_times_are_read_from_a_crate():
    start, end = "2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z"
    assert crate.stated_times(stated({})) == crate.Times("2026-01-02", ())
    assert crate.stated_times(stated({"endTime": end, "startTime": start})) == crate.Times("2026-01-02", (start, end))


@pytest.mark.parametrize(
    "raw",
    [
        stated({}, "2026-13-01"),
        stated({}, "2026-01-02T03:04:05Z"),
        stated({"startTime": "2026-01-02"}),
        stated({"startTime": "2026-01-02T03:04:05Z", "endTime": "2026-01-02T03:04:61Z"}),
        b"[]",
        b'{"@graph": [{"@id": "./", "datePublished": "2026-01-02"}]}',
    ],
)
def test_times_of_a_crate_in_another_form_are_refused(raw):
    with pytest.raises((ValueError, KeyError, TypeError)):
        crate.stated_times(raw)


@pytest.mark.parametrize(("value", "cell"), [(1.005, "1.00"), (2.0, "2.00"), (float("nan"), ""), (3, "3"), ("a", "a")])
def test_cells_of_the_table_of_claims(value, cell):
    assert claims._cell(value) == cell


def test_minutes_of_claims_about_several_tables_are_those_of_all_tables_and_loops():
    for slug, found in PAPERS.items():
        tables_ = sum(a.table.minutes for a in found.artefacts if a.table)
        loops = sum(loop.minutes for loop in artefacts.loops(found))
        for claim in EVERY:
            if claim.paper == slug and claim.file == claim.judged_in:
                assert claim.minutes == pytest.approx(tables_ + loops)
    for artefact in PAPERS["balmat2018"].artefacts:
        minutes = 1.5 if artefact.table else 0.0
        expected = minutes + (artefact.figure.minutes if artefact.figure else 0.0)
        assert claims._minutes(artefact, {artefact.name: 1.5}) == expected
