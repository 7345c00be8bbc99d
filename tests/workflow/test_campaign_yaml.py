"""Tests of invalid configuration files and overlays: rejected with file and line, never with a traceback."""

import copy
from pathlib import Path

import pytest
import yaml

from reproduction.config import config, overlays

from .running import ROOT, Folder
from .test_campaign import check
from .test_resume import run

pytestmark = pytest.mark.thorough

# Each list contains the previous list nine times: some 350 bytes that represent four thousand million numbers.
LAUGHS = b"a: &a [1,1,1,1,1,1,1,1,1]\n" + b"".join(
    b"%c: &%c [" % (c, c) + b",".join([b"*%c" % (c - 1)] * 9) + b"]\n" for c in range(ord("b"), ord("k"))
)
FILES = {
    "missing": (None, "cannot be read"),
    "empty": (b"", "must contain keys and values"),
    "only a comment": (b"# nothing\n", "must contain keys and values"),
    "binary": (bytes(range(256)), ""),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(50), ""),
    "latin-1": ("# für\nroot_seed: 1\n".encode("latin-1"), "is not text in UTF-8"),
    "utf-16": ("root_seed: 1\n".encode("utf-16"), "is not text in UTF-8"),
    "utf-16 without mark": ("root_seed: 1\n".encode("utf-16-le"), ""),
    "utf-32": ("root_seed: 1\n".encode("utf-32"), ""),
    "a list": (b"- 1\n", "must contain keys and values"),
    "a text": (b"root_seed\n", "must contain keys and values"),
    "a number": (b"7\n", "must contain keys and values"),
    "two documents": (b"a: 1\n---\nb: 2\n", "document"),
    "tabs": (b"run:\n\t- balmat2018\n", "line 2"),
    "unclosed": (b"run: [balmat2018\n", "line"),
    "octal": (b"root_seed: 010\n", "reads this number as 8"),
    "sexagesimal": (b"shards: 1:30\n", "reads this number as 90"),
    "underscores": (b"root_seed: 1_000\n", "reads this number as 1000"),
    "hexadecimal": (b"root_seed: 0x1F\n", "reads this number as 31"),
    "binary number": (b"root_seed: 0b11\n", "reads this number as 3"),
    "key as number": (b"1: 2\n", "put it in quotation marks"),
    "key as truth": (b"yes: 2\n", "put it in quotation marks"),
    "key as nothing": (b"null: 2\n", "put it in quotation marks"),
    "key as list": (b"? [a, b]\n: 1\n", ""),
    "key as mapping": (b"? {a: b}\n: 1\n", ""),
    "twice": (b"root_seed: 1\nroot_seed: 2\n", "duplicate key"),
    "twice below": (b"pan2023: {abc: {bins: 1, bins: 2}}\n", "duplicate key"),
    "template": (b"__use_yte__: true\nroot_seed: ?1+1\n", "templates can run code"),
    "python object": (b"root_seed: !!python/object/apply:os.getcwd []\n", ""),
    "unknown tag": (b"root_seed: !seed 7\n", ""),
    "no date": (b"root_seed: 2026-13-45\n", ""),
    "float of text": (b"root_seed: !!float many\n", ""),
    "int of a list": (b"root_seed: !!int [1]\n", ""),
    "set": (b"root_seed: !!set [1]\n", ""),
    "template's key escaped": (b'"__use_yt\\x65__": true\n', "keys must not contain escapes (line 1)"),
    "template's key escaped below": (
        b'pan2023: {abc: {"\\u005f_use_yte__": true}}\n',
        "keys must not contain escapes (line 1)",
    ),
    "template's key in quotes": (b"'__use_yte__': true\n", "templates can run code"),
    "template's key as a block": (b"? |-\n  __use_yte__\n: true\n", "templates can run code"),
    "template's key in a list": (b"run: [{__definitions__: [import os]}]\n", "templates can run code"),
    "template's condition": (b"pan2023:\n  '?if True':\n    abc: 1\n", "templates can run code"),
    "any key escaped": (b'"run\\x61": 3\n', "keys must not contain escapes"),
    "a key folded over lines": (b'? "ro\\\n  ot_seed"\n: 1\n', "keys must not contain escapes"),
    "alias of a scalar": (b"root_seed: &s 7\nshards: *s\n", "anchors are not supported (line 1)"),
    "merge key": (b"pan2023: {<<: {abc: {bins: 3}}}\n", "merge keys are not supported (line 1); write the keys out"),
    "plain tag": (b"root_seed: !!int 7\n", "tags are not supported (line 1)"),
    "tag of a key": (b"!!str root_seed: 7\n", "tags are not supported"),
    "directive": (b"%YAML 1.1\n---\nroot_seed: 7\n", "directives are not supported"),
    "16 MB": (b"# " + b"x" * (1 << 24) + b"\nroot_seed: 7\n", "must be at most"),
    "control character in a key": (b'{"a\x7f": 1}\n', ""),
    "5000 digits": (b"root_seed: " + b"9" * 5000 + b"\n", ""),
    "unknown alias": (b"root_seed: *none\n", "line 1"),
    "holds itself": (b"pan2023: &a {abc: *a}\n", ""),
    "list that holds itself": (b"run: &a [*a]\n", ""),
    "deep": (b"pan2023: " + b"[" * 3000 + b"]" * 3000, ""),
    "deep mappings": (b"".join(b" " * i + b"a:\n" for i in range(400)), ""),
    "laughs": (LAUGHS, "anchors are not supported"),
    "control character": (b"root_seed: \x07\n", ""),
    "NUL": (b"root_seed: 1\x00\n", ""),
    "surrogate": (b'run: ["\xed\xa0\x80"]\n', "is not text in UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_configuration_is_refused_with_its_name(tmp_path, name):
    raw, said = FILES[name]
    path = tmp_path / "mine.yaml"
    if raw is not None:
        path.write_bytes(raw)
    with pytest.raises(config.ConfigError) as caught:
        check(overlays.merged([ROOT / "config.yaml", path]))
    assert said in str(caught.value)
    assert "mine.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("root_seed: {}", "root_seed"),
        ("root_seed: {a: 1}", "root_seed"),
        ("pan2023:", "pan2023"),
        ("pan2023: 3", "pan2023"),
        ("scenarios: []", "scenarios"),
        ("scenarios: {swapped: 7}", "scenarios.swapped"),
        ("scenarios: {swapped: {rate: {a: 1}}}", "scenarios.swapped.rate"),
        ("scenarios: {sample: {statistics: county}}", "scenarios.sample.statistics"),
        ("run: {balmat2018: true}", "run"),
    ],
)
def test_an_overlay_of_another_shape_is_refused(tmp_path, text, place):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(config.ConfigError, match=rf"mine\.yaml: {place}: has .* but another file has"):
        overlays.merged([ROOT / "config.yaml", path])


JSON_FILES = {
    "twice": ('{"root_seed": 1, "root_seed": 2}', "root_seed: duplicate key"),
    "twice below": ('{"pan2023": {"abc": {"bins": 1, "bins": 2}}}', "bins: duplicate key"),
    "template": ('{"__use_yte__": true}', "templates can run code"),
    "template escaped": ('{"\\u005f_use_yte__": true}', "templates can run code"),
    "no number": ('{"root_seed": NaN}', "NaN: is not a number"),
    "infinity": ('{"root_seed": -Infinity}', "-Infinity: is not a number"),
    "yaml": ("root_seed: 1", "is not valid JSON"),
    "a list": ("[]", "must contain keys and values"),
    "deep": ("[" * 100_000, "is nested too deeply"),
    "levels": ('{"a":' * 14 + "1" + "}" * 14, "levels deep"),
}


@pytest.mark.parametrize("name", JSON_FILES)
def test_json_is_read_as_strictly(tmp_path, name):
    text, said = JSON_FILES[name]
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(config.ConfigError) as caught:
        overlays.merged([path])
    assert said in str(caught.value)
    assert "mine.json" in str(caught.value)
    path.write_text('{"root_seed": 7, "pan2023": {"abc": {"bins": 1e1}}}')
    assert overlays.merged([path]) == {"root_seed": 7, "pan2023": {"abc": {"bins": 10.0}}}


def test_a_name_that_is_no_file_name_is_refused():
    with pytest.raises(config.ConfigError, match="a path must not contain NUL"):
        overlays.merged([Path("a\0b.yaml")])


def test_overlays_are_merged_as_snakemake_merges_them(tmp_path):
    from snakemake.utils import update_config

    first, second = {"a": {"b": [1, 2], "c": 1}, "d": 1}, {"a": {"b": [3]}, "e": {"f": None}}
    for name, content in (("first", first), ("second", second)):
        (tmp_path / name).write_text(yaml.safe_dump(content))
    expected = copy.deepcopy(first)
    update_config(expected, second)
    assert overlays.merged([tmp_path / "first", tmp_path / "second"]) == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("root_seed: {a: 1}", "root_seed: has keys and values"),
        ("raim2021: {xi_mean: {draws: 1000000000000}}", "raim2021.xi_mean.draws: would take about"),
        ("scenarios: {a: {kind: additive_counts, released: [1, 2], epsilon: 5.0e-324}}", "scenarios.a.epsilon: 5e-324"),
    ],
)
def test_the_command_stops_before_any_job(tmp_path, text, place):
    folder = Folder(tmp_path)
    (tmp_path / "mine.yaml").write_text(text)
    code, output = run(folder, "--dry-run", "--configfile", "mine.yaml")
    assert code == 1
    assert place in output
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists()
