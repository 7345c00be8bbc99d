"""Tests of the record of a table: contents, not names; settings, not their order; the state of the checkout; and of
the archive that is described by such records.
"""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from dpmultinomial import __version__
from reproduction import dependencies, provenance, tables
from reproduction.archive import claims, contents, crate

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of "abc": FIPS 180-2, appendix B.1


def test_a_file_is_known_by_its_content(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert provenance.sha256(path) == ABC


def recorded(code, settings=()):
    return provenance.record(function="f", settings=dict(settings), root_seed=1, code=code)


def test_a_change_of_code_shows_even_where_names_stay(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("x = 1\n")
    before = recorded([path])["code_sha256"]
    assert recorded([path])["code_sha256"] == before
    path.write_text("x = 2\n")
    assert recorded([path])["code_sha256"] != before
    path.write_text("x = 1\n")
    other = path.rename(tmp_path / "other.py")
    assert recorded([other])["code_sha256"] != before


def test_settings_are_told_apart_by_their_values():
    assert provenance.digest({"a": 1, "b": [1, 2]}) == provenance.digest({"b": [1, 2], "a": 1})
    assert provenance.digest({"a": 1}) != provenance.digest({"a": 2})
    # printf '"abc"' | sha256sum: of the JSON text, five bytes
    assert provenance.digest("abc") == "6cc43f858fbb763301637b5af970e2a46b46f461f27e5a0f41e009c59b827b25"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_a_checkout_says_its_commit_and_whether_it_was_changed(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(["git", *identity, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    module = tmp_path / "module.py"
    monkeypatch.setattr(provenance, "__file__", str(module))
    commit = provenance.commit.__wrapped__  # a process asks once
    assert commit() == "unknown"
    module.write_text("x = 1\n")
    git("init", "-q")
    git("add", "module.py")
    git("commit", "-q", "-m", "first")
    head = git("rev-parse", "HEAD")
    assert commit() == head
    module.write_text("x = 2\n")
    assert commit() == f"{head}-dirty"


def test_sources_of_a_kernel_are_what_it_was_compiled_from():
    kernel = "dpmultinomial/_posteriors/trees/_sum_product"
    own = dependencies.SRC / "reproduction/provenance.py"
    found = provenance.sources([dependencies.extension_file(kernel), own, dependencies.SRC.parent / "setup.py"])
    folder = "dpmultinomial/_posteriors/trees"
    compiled_from = {
        f"{kernel}.pyx",
        f"{folder}/_sites.pxd",
        f"{folder}/convolution.h",
        f"{folder}/messages.h",
        "dpmultinomial/_kernels/bitgen.pxd",
    }
    assert set(found) == {*compiled_from, "reproduction/provenance.py"}
    assert found["reproduction/provenance.py"] == provenance.sha256(own)
    assert recorded([own])[provenance.SOURCES] == {"reproduction/provenance.py": provenance.sha256(own)}


def test_two_inputs_of_one_name_are_both_stated(tmp_path):
    paths = [tmp_path / folder / "t.csv" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(path.parent.name)
    stated = provenance.short(function="f", inputs=paths)[provenance.INPUTS]
    assert stated == {"a/t.csv": provenance.sha256(paths[0]), "b/t.csv": provenance.sha256(paths[1])}
    alone = provenance.short(function="f", inputs=paths[:1])[provenance.INPUTS]
    assert list(alone) == ["t.csv"]


def test_a_record_states_settings_seed_code_and_job(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("x = 1\n")
    job = provenance.Job("rule", "abc")
    found = provenance.record(function="f", settings={"n": 3}, root_seed=7, inputs=[path], code=iter([path]), job=job)
    assert (found["function"], found["rule"], found["params_sha256"]) == ("f", "rule", "abc")
    assert (found["settings"], found["settings_sha256"]) == ({"n": 3}, provenance.digest({"n": 3}))
    assert (found["root_seed"], found["inputs_sha256"]) == (7, {"module.py": provenance.sha256(path)})
    assert found["code_sha256"] == provenance.digest([["module.py", provenance.sha256(path)]])
    assert found["sources_sha256"] == {}  # the file is outside of the source tree
    assert set(found["packages"]) == {"numpy", "scipy", "pandas", "cython", "matplotlib", "snakemake"}
    assert {"dpmultinomial", "commit", "python", "platform", "machine"} <= set(found)
    short = provenance.short(function="f")
    assert short == {**short, "rule": "", "params_sha256": "", "inputs_sha256": {}}
    assert len(short) == 5


def test_a_record_on_disk_has_the_digests_of_its_files_and_of_itself(tmp_path):
    one, other = tmp_path / "a.csv", tmp_path / "a.pdf"
    one.write_bytes(b"abc")
    other.write_bytes(b"")
    provenance.write({"function": "f"}, one, other)
    text = (tmp_path / "a.provenance.json").read_text()
    assert text.endswith("}\n")
    stated = json.loads(text)
    assert list(stated) == sorted(stated)
    assert stated["files_sha256"] == {"a.csv": ABC, "a.pdf": provenance.sha256(other)}
    own = {key: value for key, value in stated.items() if key != "record_sha256"}
    assert stated["record_sha256"] == provenance.digest(own) == provenance.own_digest(stated)
    assert provenance.own_digest(stated | {"function": "g"}) != stated["record_sha256"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.pdf", "a.provenance.json"]


def test_a_job_is_known_by_its_rule_and_its_plain_parameters():
    plain = ["b", 1, None, 2.5, ["x"], {"k": 1}, True]
    snakemake = SimpleNamespace(rule="r", params=[*plain, len, object()])
    found = provenance.job(snakemake)
    assert found == provenance.Job("r", provenance.digest(sorted(map(repr, plain))))
    assert provenance.job(SimpleNamespace(rule="r", params=plain[::-1])) == found


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_table_is_read_back_as_it_was_written(tmp_path, name):
    table = pd.DataFrame({"a": ["x", "", "y,\tz"], "b": [0.1, 1 / 3, 1e-300], "c": [1, 2, 3], "note": ["", "", ""]})
    tables.write(table, tmp_path / name)
    found = tables.read(tmp_path / name)
    assert found.to_dict("list") == table.to_dict("list")
    assert tables.read(name, io.BytesIO((tmp_path / name).read_bytes())).equals(found)
    separator = "\t" if name.endswith(".tsv") else ","
    assert (tmp_path / name).read_text().startswith(separator.join(["a", "b", "c", "note"]) + "\nx")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.fixture
def packed(tmp_path, monkeypatch):
    """Return a function that archives files with the given modes, and returns the archive and the sentence about it."""

    def write(modes, raw=b"abc"):
        found = {}
        for name, mode in modes.items():
            path = tmp_path / "sources" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
            path.chmod(mode)
            found[name] = path
        monkeypatch.setattr(contents, "files", lambda run: found)
        monkeypatch.setattr(crate, "text", lambda files, run: f"crate of {len(files)} in {run.name}".encode())
        monkeypatch.setattr(claims, "text", lambda run: "claims of ä")
        return tmp_path / "new/folder/a.tar", crate.write(tmp_path / "new/folder/a.tar", tmp_path / "run")

    return write


def test_an_archive_has_sorted_members_without_times_and_owners(packed):
    modes = {"z.txt": 0o644, "run.sh": 0o755, "b/own.sh": 0o700, "b/group": 0o654, "a b.csv": 0o600}
    target, said = packed(modes)
    raw = dict.fromkeys(modes, b"abc") | {crate.NAME: b"crate of 5 in run", claims.NAME: "claims of ä".encode()}
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in raw.items()}
    raw[crate.SUMS] = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode()
    assert digests["z.txt"] == ABC
    with tarfile.open(target, "r:") as archive:
        members = archive.getmembers()
        assert [m.name for m in members] == [f"dpmultinomial-{__version__}/{name}" for name in sorted(raw)]
        for member in members:
            name = member.name.partition("/")[2]
            assert archive.extractfile(member).read() == raw[name]
            executable = name in ("run.sh", "b/own.sh", "b/group")
            assert (member.mode, member.mtime) == (0o755 if executable else 0o644, 0)
            assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    assert said == f"8 files, 0 MB, SHA-256 {digest}"
    assert [*target.parent.iterdir()] == [target]
    assert packed(modes, bytes(300_000))[1].startswith("8 files, 2 MB, SHA-256 ")  # 5 x 0.3 = 1.5, and headers


def test_no_part_of_an_archive_remains_after_an_error(packed, tmp_path, monkeypatch):
    target, _ = packed({"a": 0o644, "b": 0o644})
    target.unlink()
    (tmp_path / "sources/b").unlink()

    class Lost(dict):  # deleted while the archive is written, after the checksums
        def __getitem__(self, name):
            return tmp_path / "sources" / name if name != "b" else tmp_path / "gone"

    (tmp_path / "sources/b").write_bytes(b"abc")
    lost = Lost(a=tmp_path / "sources/a", b=tmp_path / "sources/b")
    monkeypatch.setattr(contents, "files", lambda run: lost)
    with pytest.raises(FileNotFoundError):
        crate.write(target, tmp_path / "run")
    assert list(target.parent.iterdir()) == []


def test_an_archive_that_cannot_be_described_is_not_written(packed, tmp_path, monkeypatch):
    target, _ = packed({"a": 0o644})
    before = target.read_bytes()
    monkeypatch.setattr(claims, "text", lambda run: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        crate.write(target, tmp_path)
    assert target.read_bytes() == before
    assert crate.default_name() == f"build/dpmultinomial-{__version__}.tar"


PROJECT = {"title": "T", "author": "A", "description": "D", "version": "9", "license": "https://spdx.org/licenses/L"}


def ids(*names):
    return [{"@id": name} for name in names]


def test_the_general_entities_of_a_description_by_hand(monkeypatch):
    monkeypatch.setattr(crate, "_project", lambda: PROJECT)
    found = crate._frame(["Snakefile", "b"], ids("#run"), crate.Times("2026-01-02", ()))
    profiles = [*crate._PROFILES]
    assert found[0] == {
        "@id": "ro-crate-metadata.json", "@type": "CreativeWork", "about": {"@id": "./"},
        "conformsTo": ids("https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"),
    }  # fmt: skip
    assert found[1] == {
        "@id": "./", "@type": "Dataset", "name": "T, version 9", "description": "D", "datePublished": "2026-01-02",
        "license": {"@id": PROJECT["license"]}, "author": {"@id": "#contributors"}, "conformsTo": ids(*profiles),
        "mainEntity": {"@id": "Snakefile"}, "mentions": ids("#run"), "hasPart": ids("Snakefile", "b"),
    }  # fmt: skip
    assert [(e["@id"], e["name"], e["version"]) for e in found[2:5]] == [
        ("https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"),
        ("https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"),
        ("https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0"),
    ]
    assert [e["@id"] for e in found[5:]] == [crate._LANGUAGE, PROJECT["license"], "#contributors"]
    assert found[5]["identifier"] == {"@id": found[5]["url"]}
    assert found[7] == {"@id": "#contributors", "@type": "Organization", "name": "A"}
    assert crate._workflow() == {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"], "name": "T", "version": "9",
        "programmingLanguage": {"@id": crate._LANGUAGE}, "license": {"@id": PROJECT["license"]},
        "creator": {"@id": "#contributors"},
    }  # fmt: skip


@pytest.mark.parametrize("times", [(), ("2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z")])
@pytest.mark.parametrize("names", [(), ("config.yaml",), (contents.CONFIG, "other", "config.yaml")])
def test_the_action_of_a_whole_run_by_hand(times, names):
    found = crate._whole(["r1", "r2"], dict.fromkeys(names), crate.Times("2026-01-02", times))
    stated = dict(zip(("startTime", "endTime"), times, strict=True)) if times else {}
    assert found == {
        "@id": "#run", "@type": "CreateAction", "name": "One run of the whole workflow",
        "instrument": {"@id": "Snakefile"}, "agent": {"@id": "#contributors"},
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
        "object": ids(*(name for name in ("config.yaml", contents.CONFIG) if name in names)),
        "result": ids("r1", "r2"), **stated,
    }  # fmt: skip


def test_the_action_of_a_function_by_hand():
    """Check inputs that have the stated name and digest in any folder, and outputs beside the record, both sorted."""
    record = {
        provenance.FILES: {"b.csv": "2", "a.csv": "1"}, "function": "toy.tables.one",
        provenance.INPUTS: {"x.csv": "7", "y.csv": "8", "gone.csv": "9"},
    }  # fmt: skip
    digests = {
        "results/toy/y.csv": "8", "results/x.csv": "7", "data/x.csv": "7", "results/y.csv": "7", "results/ax.csv": "7",
        "x.csv": "7", "src/reproduction/papers/toy/tables.py": "0",
    }  # fmt: skip
    name = f"results/toy/a{provenance.SUFFIX}"
    assert crate._action(name, record, digests) == {
        "@id": "#results/toy/a", "@type": "CreateAction", "name": "toy.tables.one makes results/toy/a.csv",
        "instrument": {"@id": "src/reproduction/papers/toy/tables.py"}, "agent": {"@id": "#contributors"},
        "object": ids("data/x.csv", "results/toy/y.csv", "results/x.csv"),
        "result": ids("results/toy/a.csv", "results/toy/b.csv"),
    }  # fmt: skip


def test_a_description_names_the_project_and_the_date_of_its_commit(tmp_path, monkeypatch):
    """Check that 2026-01-02 03:04:05 UTC is 1767323045 seconds after 1970 (date -u -d ... +%s)."""
    (tmp_path / "CITATION.cff").write_text("title: T\nlicense: L\nauthors: [{name: A}, {name: B}]\n")
    (tmp_path / "pyproject.toml").write_text('[project]\ndescription = "D"\n')
    monkeypatch.setattr(contents, "ROOT", tmp_path)
    monkeypatch.setattr(crate._git, "commit_time", lambda root: {tmp_path: 1767323045}[root])
    assert crate._project() == PROJECT | {"version": __version__}
    assert crate.published() == "2026-01-02"
    assert crate._time(1767323045.9) == "2026-01-02T03:04:05Z"


def test_a_description_contains_all_entities(tmp_path, monkeypatch):
    """Check two sources, a result with its record, and a result that the archive does not contain."""
    names = [
        "Snakefile",
        "src/reproduction/papers/toy/tables.py",
        "results/toy/a.csv",
        f"results/toy/a{provenance.SUFFIX}",
    ]
    found = {name: tmp_path / name for name in names}
    for path in found.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"abc")
    record = {provenance.FILES: {"a.csv": ABC, "gone.csv": ABC}, "function": "toy.tables.one"}
    found[names[3]].write_text(json.dumps(record))
    monkeypatch.setattr(crate, "_project", lambda: PROJECT)
    raw = crate.text(found, tmp_path, crate.Times("2026-01-02", ()))
    assert raw.endswith(b"}\n")
    described = json.loads(raw)
    assert described["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    graph = {entity["@id"]: entity for entity in described["@graph"]}
    assert graph["#run"]["result"] == ids("results/toy/a.csv")
    assert graph["./"]["mentions"] == ids("#run", "#results/toy/a")
    assert graph["./"]["hasPart"] == ids(*names)
    assert graph[names[1]]["@type"] == ["File", "SoftwareSourceCode"]
    assert graph["Snakefile"]["@type"] == ["File", "SoftwareSourceCode", "ComputationalWorkflow"]
    assert (graph["Snakefile"]["sha256"], graph["Snakefile"]["name"]) == (ABC, "T")
    assert graph["results/toy/a.csv"]["@type"] == "File"
    assert [entity["@id"] for entity in described["@graph"]].count("Snakefile") == 1


@pytest.mark.parametrize(
    ("after", "refused"), [("/x", True), ("\n", True), ('"', True), ("", False), ("x/", False), (" ", False)]
)
def test_a_path_is_one_only_before_a_separator(tmp_path, after, refused):
    here = tmp_path / "run"
    (tmp_path / "a").write_text(f"from {here}{after}")
    found = {"results/a": tmp_path / "a"}
    folders = [Path("/"), here]
    if refused:
        words = rf"^results/a contains a path on this machine, {here}: replace this path with a path relative"
        with pytest.raises(contents.ArchiveError, match=words):
            contents._refuse_paths(found, folders)
    else:
        contents._refuse_paths(found, folders)


def test_a_path_that_leads_through_a_link_is_a_path_too(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("real", "link"):
        (tmp_path / "a").write_text(f"{tmp_path / name}/x")
        with pytest.raises(contents.ArchiveError, match="contains a path on this machine"):
            contents._refuse_paths({"a": tmp_path / "a"}, [tmp_path / "link"])


def test_an_archive_contains_only_regular_files(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    contents._refuse_links({"file": tmp_path / "file"})
    for name in ("link", "nothing", "."):
        with pytest.raises(contents.ArchiveError, match=f"^{name} must be a regular file, because"):
            contents._refuse_links({"file": tmp_path / "file", name: tmp_path / name})


def test_hard_links_are_archived_unless_they_are_confidential(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "confidential").mkdir()
    (tmp_path / "confidential/c").write_text("")
    (tmp_path / "one").write_text("")
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    contents._refuse_private({"a": tmp_path / "one", "b": tmp_path / "two"})
    (tmp_path / "three").hardlink_to(tmp_path / "confidential/c")
    for name, path in (("c", "three"), ("releases/x", "one"), ("confidential/x", "one"), ("d", "confidential/c")):
        with pytest.raises(contents.ArchiveError, match=f"^{name} is confidential or belongs to a release"):
            contents._refuse_private({"a": tmp_path / "one", name: tmp_path / path})
    contents._refuse_private({"results/releases": tmp_path / "one"})


def test_tracked_files_that_were_deleted_are_not_archived(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    monkeypatch.setattr(contents, "ROOT", tmp_path)
    monkeypatch.setattr(contents._git, "files", lambda root: ["a", "gone", "dangling"] if root == tmp_path else [])
    assert contents.tracked() == ["a", "dangling"]

    def fails(root):
        raise contents._git.GitError("no git")

    monkeypatch.setattr(contents._git, "files", fails)
    words = r"git cannot list the source files \(no git\): run make archive in a git checkout"
    with pytest.raises(contents.ArchiveError, match=words):
        contents.tracked()


def test_results_of_the_papers_that_were_run_are_listed_once(tmp_path, monkeypatch):
    """Check the settings and shards that decide the parts of loops, and a name that is not a paper."""
    toy = SimpleNamespace(slug="toy", tables=lambda: ["t/b.csv", "t/a.csv"], figures=lambda: ["f/one.png"])
    asked = []

    def loops(found, section, shards):
        asked.append((found, section, shards))
        return [SimpleNamespace(files=["l/1.csv"]), SimpleNamespace(files=["l/2.csv", "l/3.csv"])]

    monkeypatch.setattr(contents.artefacts, "loops", loops)
    own = ["t/b.csv", "t/a.csv", "f/one.png", "f/one.pdf", "l/1.csv", "l/2.csv", "l/3.csv",
           "results/toy/agreement.csv", "results/toy/agreement_tables.csv"]  # fmt: skip
    assert contents.of_paper(toy, {"n": 1}, 4) == own
    settings = {"run": ["toy", "unknown"], "toy": {"n": 2}}
    monkeypatch.setattr(contents.config, "read", lambda path: settings)
    monkeypatch.setattr(contents.paper, "discover", lambda: {"other": None, "toy": toy})
    monkeypatch.setattr(contents, "_stated", lambda run, name: f"{name[:1]}.json")
    whole = ["results/agreement.tsv", "results/config.effective.yaml", "results/summary.txt"]
    beside = ["t.json", "f.json", "l.json", "r.json"]
    assert contents.results(tmp_path) == sorted([*own, *whole, *beside])
    settings.update(shards=7)
    del settings["toy"]
    assert contents.results(tmp_path) == sorted([*own, *whole, *beside])
    assert asked == [(toy, {"n": 1}, 4), (toy, {"n": 2}, "auto"), (toy, {}, 7)]
