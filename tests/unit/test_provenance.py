"""Tests of the record of a table: contents, not names; settings, not their order; the state of the checkout."""

import shutil
import subprocess

import pytest

from reproduction import dependencies, provenance

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
