"""Tests of the record of a table: contents, not names; settings, not their order; the state of the checkout."""

import io
import json
import shutil
import subprocess
from types import SimpleNamespace

import pandas as pd
import pytest

from reproduction import dependencies, provenance, tables

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
