"""Tests of mutated inputs with expected results: 300 configurations, a hundred data files, and invalid YAML files.

No traceback, and no invalid configuration is accepted. The same damage is applied to four data files: a public release
(wang2020), synthetic records (ponnoprat2022), a confidential file in its public checks, and a confidential file in the
reader of `_releases`, whose messages must not show content. Each file is read unchanged, or rejected with its name and
the rule; invalid configuration files and overlays are rejected with file and line.
"""

import copy
import random
from pathlib import Path

import pytest
import yaml

from dpmultinomial._files.csv_table import parse
from reproduction import paper, smoke
from reproduction.config import checks, config, overlays

from .running import ROOT, Folder
from .test_kills import run

pytestmark = pytest.mark.thorough

PAPERS = paper.discover()
SCHEMA = checks.schema_of(PAPERS)
SHIPPED = config.read(ROOT / "config.yaml")
SEED = 20261122


def check(settings):
    """Return the result of the workflow for a configuration that has been read."""
    return checks.checked(settings, PAPERS)


def put(settings, path, value):
    """Return a copy with one value changed."""
    changed = copy.deepcopy(settings)
    place = changed
    for key in path[:-1]:
        place = place.setdefault(key, {})
    place[path[-1]] = value
    return changed


def resolved(part):
    return SCHEMA["$defs"][part["$ref"].rsplit("/", 1)[1]] | part if "$ref" in part else part


def leaves():
    """Return (path, rule) of every setting with a default, in all sections of all papers."""
    for slug in PAPERS:
        for name, section in SCHEMA["properties"][slug]["properties"].items():
            if name != "scenarios":
                for key, part in section.get("properties", {}).items():
                    yield (slug, name, key), resolved(part)


def kinds(rule):
    found = rule.get("type", "")
    return {found} if isinstance(found, str) else set(found)


def wrong_values(rule):
    """Return values that break a rule, for any setting."""
    types = kinds(rule)
    if types & {"integer", "number"}:
        yield from ("many", True, None, {"a": 1}, float("nan"), float("inf"), 1e300, -1e300, 5e-324)
        if not rule.get("items"):
            yield [rule["default"]]
        if "minimum" in rule:
            yield rule["minimum"] - 1
        if "exclusiveMinimum" in rule:
            yield rule["exclusiveMinimum"]
        if "maximum" in rule:
            yield rule["maximum"] + 1
        if types == {"integer"}:
            yield from (2.5, 10**30, f"{rule['default']}")
    elif types == {"array"}:
        yield from ("text", 3, None, {"a": 1}, [{}], [None], [float("nan")], [1e300])
        if rule.get("minItems"):
            yield []
    elif types == {"object"}:
        yield from ([], 1, "text", None)


def made():
    """Return (configuration, path that the error must state) of generated mutations."""
    chance = random.Random(SEED)
    cases = [(path, value) for path, rule in leaves() for value in wrong_values(rule)]
    for path, value in chance.sample(cases, 170):
        yield put(SHIPPED, path, value), ".".join(path)
    for path, _ in chance.sample(list(leaves()), 20):  # a misspelled key
        key = path[-1]
        at = chance.randrange(len(key))
        misspelt = key[:at] + "q" + key[at:]
        yield put(SHIPPED, (*path[:-1], misspelt), 1), ".".join((*path[:-1], misspelt))
    endless = [(path, rule) for path, rule in leaves() if rule.get("time") and kinds(rule) == {"integer"}]
    for path, _ in chance.sample([case for case in endless if "maximum" not in case[1]], 20):  # too much work
        yield put(SHIPPED, path, 10**12), ".".join(path)


BY_HAND = {
    "epsilon 1e300": ("scenarios.what_if.epsilon", 1e300),
    "epsilon 5e-324": ("scenarios.what_if.epsilon", 5e-324),
    "epsilon 1e-9": ("scenarios.what_if.epsilon", 1e-9),
    "epsilon 1e-6 is too much work": ("scenarios.what_if.epsilon", 1e-6, "scenarios.what_if"),
    "epsilon nan": ("scenarios.what_if.epsilon", float("nan")),
    "no epsilon": ("scenarios.what_if.epsilon", None),
    "an empty grid": ("scenarios.what_if.epsilon", []),
    "a grid of one value twice": ("scenarios.what_if.epsilon", [1.0, 1.0]),
    "a grid with a wrong point": ("scenarios.what_if.epsilon", [1.0, -1.0]),
    "a grid of 500 points": ("scenarios.what_if.epsilon", [1 + i / 500 for i in range(500)], "scenarios.what_if"),
    "algorithm as a number": ("scenarios.what_if.algorithm", 3),
    "support 1e9": ("scenarios.what_if.support", 10**9),
    "counts beyond 64 bits": ("scenarios.what_if.rehearsal.counts", [2**70, 1], "scenarios.what_if"),
    "negative counts": ("scenarios.what_if.rehearsal.counts", [-1, 2]),
    "no counts": ("scenarios.what_if.rehearsal.counts", []),
    "100,000 components": (
        "scenarios.what_if",
        {"kind": "additive_counts", "released": [3] * 10**5, "epsilon": 0.001},
    ),
    "limits 1e300": ("scenarios.sample.upper", 1e300),
    "limits that are one": ("scenarios.sample.lower", 2.0),
    "records 1e300": ("scenarios.sample.records", 10**300),
    "statistics nan": ("scenarios.sample.statistics.mean", float("nan")),
    "a release of text": ("scenarios.sample", {"release": ["county"]}, "scenarios.sample.release"),
    "a release that is none": ("scenarios.sample", {"release": "county"}, "scenarios.sample.release"),
    "a table of one row": ("scenarios.swapped.table", [[1, 2]]),
    "ragged table": ("scenarios.swapped.table", [[1, 2], [3]]),
    "rate 1": ("scenarios.swapped.rate", 1),
    "cells of 1e300": ("scenarios.swapped.table", [[10**300, 1], [1, 1]]),
    "2,500 cells": ("scenarios.swapped.table", [[1] * 50] * 50, "scenarios.swapped"),
    "names twice": (
        "scenarios.survey",
        {"kind": "noisy_counts", "counts": [1, 2], "names": ["a", "a"], "epsilon": 1.0},
        "scenarios.survey.names",
    ),
    "a scenario above the limit of time": ("limits.hours", 1e-5, "scenarios.survey"),
    "a scenario above the limit of memory": ("limits.memory_gb", 1e-3, "scenarios.survey"),
    "scale 1e300": ("scenarios.survey.noise", {"law": "laplace", "scale": 1e300}, "scenarios.survey.noise.scale"),
    "a law that is none": ("scenarios.survey.noise.law", "laplase", "scenarios.survey.noise"),
    "prior 5e-324": ("scenarios.survey.prior", 5e-324, "scenarios.survey"),
    "a question about nobody": ("scenarios.survey.questions", {"q": {"sum": ["nobody"]}}),
    "a question that is none": ("scenarios.survey.questions", {"q": {"product": ["met"]}}),
    "true counts": ("scenarios.survey.true_counts", [1, 2]),
    "a kind that is none": ("scenarios.survey.kind", "noisy_count"),
    "a scenario that is a list": ("scenarios.survey", [1, 2]),
    "a scenario that is nothing": ("scenarios.survey", None),
    "a name with a blank": ("scenarios", {"A b": {}}),
    "a path as a name": ("scenarios", {"../x": {}}),
    "scenarios as a list": ("scenarios", []),
    "a name that is taken": ("scenarios", {"x_densities": {"kind": "noisy_counts"}}, "scenarios.x_densities"),
    "an old section": ("balmat2018.scenarios", {"mine": {}}),
    "an old batch": ("wang2020.batches", {"mine": {}}),
    "a section as a number": ("balmat2018", 3),
    "shares that are no law": (
        "scenarios.shares",
        {"kind": "noisy_shares", "shares": [0.5, 0.6], "total": 3},
        "scenarios.shares.shares",
    ),
    "repeats 1e9 of a rehearsal": (
        "scenarios.shares",
        {"kind": "classifier", "rehearsal": {"csv": "config.yaml", "target": "x", "repeats": 10**9}},
    ),
    "order 1e9": ("scenarios.shares.order", 1e9),
    "seed as a mapping": ("root_seed", {}),
    "seed as text": ("root_seed", "7"),
    "negative seed": ("root_seed", -1),
    "a paper twice": ("run", ["pan2023", "pan2023"]),
    "an unknown paper": ("run", ["pan2032"]),
    "shards 0": ("shards", 0),
    "shards 1e9": ("shards", 10**9),
    "limits as text": ("limits.hours", "24"),
    "no memory": ("limits.memory_gb", 0),
    "less time than it takes": ("limits.hours", 0.001, "wang2020.calibration"),
    "unknown mechanism": ("releases", {"a": {"mechanism": "laplac"}}),
    "a release of nothing": ("releases", {"a": None}),
    "a release with epsilon beyond floats": (
        "releases",
        {"a": {"source": "s", "data": "x.csv", "mechanism": "discrete_laplace", "epsilon": 10**400}},
    ),
    "a ceiling beyond floats": (
        "",
        {
            "releases": {"a": {"source": "s", "data": "x", "mechanism": "discrete_laplace", "epsilon": 1.0}},
            "budgets": {"s": {"epsilon": "much"}},
        },
        "releases",
    ),
}


def by_hand():
    for path, value, *named in BY_HAND.values():
        yield (put(SHIPPED, path.split("."), value) if path else SHIPPED | value), (named or [path])[0]


def refused(settings, path):
    """Return the lines of the error with which a configuration is rejected."""
    try:
        check(settings)
    except config.ConfigError as error:
        return str(error).splitlines()
    raise AssertionError(f"accepted: {path}")


def test_what_is_wrong_is_refused_and_its_path_is_named():
    cases = [*made(), *by_hand()]
    assert len(cases) >= 250
    for settings, path in cases:
        lines = refused(settings, path)
        assert "nothing was run" in lines[0]
        assert any(line.strip().startswith(path) for line in lines[1:]), (path, lines)
        assert max(map(len, lines)) < 1500, path


def test_what_is_right_is_accepted():
    chance = random.Random(SEED)
    good = [SHIPPED, smoke.configuration(), {}]
    for path, rule in chance.sample(list(leaves()), 60):
        if kinds(rule) == {"integer"}:
            larger = min(2 * rule["default"], rule.get("maximum", 10**9))
            good.append(put(SHIPPED, path, max(larger, rule.get("minimum", 0))))
    for settings in good:
        if not any(key in str(settings) for key in ("'figure_1': {'total'", "'total': 100")):
            check(settings)


COUNTS = "name,value\nnorth,3\nsouth,4\nwest,5\n"
RECORDS = "colour,size,class\n" + "red,1.5,a\nblue,2.5,b\ngreen,3.5,a\n" * 5
GOOD, BAD = True, False

# name -> (change of the text of a valid file, whether the result may be read)
DAMAGE = {
    "none": (lambda t: t.encode(), GOOD),
    "mark": (lambda t: b"\xef\xbb\xbf" + t.encode(), GOOD),
    "carriage returns": (lambda t: t.replace("\n", "\r\n").encode(), GOOD),
    "quoted": (lambda t: ('"' + t.replace(",", '","').replace("\n", '"\n"')[:-1]).encode(), GOOD),
    "semicolons": (lambda t: t.replace(",", ";").encode(), GOOD),
    "tabs": (lambda t: t.replace(",", "\t").encode(), GOOD),
    "blank line": (lambda t: t.replace("\n", "\n\n", 1).encode(), GOOD),
    "no last line feed": (lambda t: t.rstrip("\n").encode(), GOOD),
    "utf-16 with its mark": (lambda t: t.encode("utf-16"), GOOD),
    "an accent": (lambda t: t.replace("\n", "\nñ", 1).encode(), GOOD),
    "latin-1": (lambda t: t.replace("\n", "\nñ", 1).encode("latin-1"), BAD),
    "utf-16 without mark": (lambda t: t.encode("utf-16-le"), BAD),
    "utf-32": (lambda t: t.encode("utf-32"), BAD),
    "binary": (lambda t: bytes(range(256)) * 9, BAD),
    "a picture": (lambda t: b"\x89PNG\r\n\x1a\n" + bytes(500), BAD),
    "a zip": (lambda t: b"PK\x03\x04" + bytes(500), BAD),
    "empty": (lambda t: b"", BAD),
    "only a mark": (lambda t: b"\xef\xbb\xbf", BAD),
    "only blank lines": (lambda t: b"\n\n\n", BAD),
    "header alone": (lambda t: t.split("\n")[0].encode(), BAD),
    "short row": (lambda t: (t + "east\n").encode(), BAD),
    "long row": (lambda t: (t + "east,1,2,3,4\n").encode(), BAD),
    "column twice": (lambda t: ("x,x," + t.replace("\n", "\n1,2,")).rpartition("1,2,")[0].encode(), BAD),
    "column without name": (lambda t: ("," + t.replace("\n", "\n1,")).rpartition("1,")[0].encode(), BAD),
    "open quote": (lambda t: (t + '"east,1\n').encode(), BAD),
    "quote inside": (lambda t: t.replace("\n", '\nx"', 1).encode(), BAD),
    "NUL": (lambda t: t.replace("\n", "\n\0", 1).encode(), BAD),
    "bare carriage return": (lambda t: t.replace("\n", "\n\r", 1).encode(), BAD),
    "half a character": (lambda t: t.encode() + b"\xc3", BAD),
    "20,000 columns": (lambda t: b",".join(b"c%d" % i for i in range(20000)) + b"\n1" + b",1" * 19999 + b"\n", BAD),
    "a cell of a megabyte": (lambda t: t.replace("\n", "\n" + "9" * 2**20, 1).encode(), BAD),
}  # fmt: skip


def refusal(settings):
    """Return the error with which a configuration is rejected, or None."""
    try:
        check(settings)
    except config.ConfigError as error:
        return str(error)
    return None


def wang(name):
    return SHIPPED | {
        "scenarios": {"mine": {"kind": "additive_counts", "file": name, "epsilon": 1.0, "algorithm": "2"}}
    }


batch = wang  # a column `table` makes the file a batch


def ponn(name):
    rehearsal = {"csv": name, "target": "class"}
    return SHIPPED | {"scenarios": {"mine": {"kind": "classifier", "rehearsal": rehearsal}}}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(("text", "settings"), [(COUNTS, wang), (RECORDS, ponn)], ids=["release", "records"])
def test_a_public_file_is_read_as_it_is_or_refused_by_name(tmp_path, monkeypatch, damage, text, settings):
    monkeypatch.chdir(tmp_path)
    spoil, good = DAMAGE[damage]
    (tmp_path / "mine.csv").write_bytes(spoil(text))
    said = refusal(settings("mine.csv"))
    if good:
        assert said is None, said
    else:
        assert said is not None
        assert "scenarios.mine" in said
        assert any(word in said for word in ("mine.csv", "records", "no column", "adds up to 0"))
        assert max(map(len, said.splitlines())) < 1500


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_confidential_file_is_looked_for_and_never_opened(tmp_path, monkeypatch, damage):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "confidential").mkdir(mode=0o700)
    file = tmp_path / "confidential/mine.csv"
    file.write_bytes(DAMAGE[damage][0](COUNTS))
    before = file.stat().st_atime_ns
    release = {"source": "s", "data": "confidential/mine.csv", "mechanism": "discrete_laplace", "epsilon": 1.0}
    assert refusal({"releases": {"mine": release}, "budgets": {"s": {"epsilon": 2.0}}}) is None
    assert file.stat().st_atime_ns == before


@pytest.mark.parametrize("damage", [name for name, (_, good) in DAMAGE.items() if not good])
def test_the_reader_of_confidential_files_tells_nothing_of_them(damage):
    raw = DAMAGE[damage][0](COUNTS.replace("north", "c4nary"))
    said = "mine.csv: no record"  # unless it says something itself
    try:
        assert len(parse(raw, name="mine.csv", confidential=True).whole("count", least=0, most=10**8)) == 0
    except ValueError as error:
        said = str(error)
    assert "mine.csv" in said
    assert "c4nary" not in said


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ("north,3.5\n", "line 2"),
        ("north,-1\n", "line 2"),
        ("north,nan\n", "line 2"),
        ("north,\n", "line 2"),
        ("north,1e3\n", "line 2"),
        ("north,many\n", "line 2"),
        ("north,99999999999999999999\n", "line 2"),
        ("north,3\nnorth,4\n", "must not contain duplicates"),
        ("north,100000000\nsouth,100000000\n", "<= 100000000"),
        ("north,1\n" * 3 + "south,x\n", "line 5"),
    ],
)
def test_counts_that_are_none_are_refused_with_their_line(tmp_path, monkeypatch, rows, rule):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("name,value\n" + rows)
    said = refusal(wang("mine.csv"))
    assert said is not None
    assert rule in said


@pytest.mark.parametrize("settings", [wang, ponn, batch])
@pytest.mark.parametrize("name", ["none.csv", ".", "no/such/folder.csv", "x" * 300 + ".csv", "{brace}.csv", "a\nb.csv"])
def test_paths_that_lead_nowhere_are_refused(tmp_path, monkeypatch, settings, name):
    monkeypatch.chdir(tmp_path)
    said = refusal(settings(name))
    assert said is not None
    assert ".mine" in said


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_file_of_a_batch_ends_no_configuration_in_a_traceback(tmp_path, monkeypatch, damage):
    """Check the header and readability of a batch; its tables are checked one by one later."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_bytes(DAMAGE[damage][0]("table,name,value\na,north,3\na,south,4\n"))
    said = refusal(batch("mine.csv"))
    unreadable = ("binary", "a picture", "a zip", "empty", "only a mark", "only blank lines", "header alone", "utf-32")
    assert said is None or "scenarios.mine" in said
    assert said is not None or damage not in unreadable


def test_records_that_cannot_be_rehearsed_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text, rule in (
        (RECORDS.replace(",b\n", ",a\n"), "at least two classes"),
        (RECORDS[:39] + "\n", "at least 10"),
        (RECORDS.replace("class", "kind"), "no column 'class'"),
    ):
        (tmp_path / "mine.csv").write_text(text)
        said = refusal(ponn("mine.csv"))
        assert said is not None
        assert rule in said
    (tmp_path / "mine.csv").write_text(RECORDS.replace("2.5", "wide"))
    settings = ponn("mine.csv")
    settings["scenarios"]["mine"]["rehearsal"]["numeric"] = ["size"]
    assert "contains 'wide' in line 3" in refusal(settings)


def test_the_campaign_is_of_a_hundred_files():
    assert 3 * len(DAMAGE) + 10 + 12 + 4 >= 100


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
    "latin-1": ("# für\nroot_seed: 1\n".encode("latin-1"), "is not valid UTF-8"),
    "utf-16": ("root_seed: 1\n".encode("utf-16"), "is not valid UTF-8"),
    "utf-16 without mark": ("root_seed: 1\n".encode("utf-16-le"), ""),
    "utf-32": ("root_seed: 1\n".encode("utf-32"), ""),
    "a list": (b"- 1\n", "must contain keys and values"),
    "a text": (b"root_seed\n", "must contain keys and values"),
    "a number": (b"7\n", "must contain keys and values"),
    "two documents": (b"a: 1\n---\nb: 2\n", "document"),
    "tabs": (b"run:\n\t- balmat2018\n", "line 2"),
    "unclosed": (b"run: [balmat2018\n", "line"),
    "octal": (b"root_seed: 010\n", "reads the number 010 as 8"),
    "sexagesimal": (b"shards: 1:30\n", "reads the number 1:30 as 90"),
    "underscores": (b"root_seed: 1_000\n", "reads the number 1_000 as 1000"),
    "hexadecimal": (b"root_seed: 0x1F\n", "reads the number 0x1F as 31"),
    "binary number": (b"root_seed: 0b11\n", "reads the number 0b11 as 3"),
    "key as number": (b"1: 2\n", "put the key in quotation marks"),
    "key as truth": (b"yes: 2\n", "put the key in quotation marks"),
    "key as nothing": (b"null: 2\n", "put the key in quotation marks"),
    "key as list": (b"? [a, b]\n: 1\n", ""),
    "key as mapping": (b"? {a: b}\n: 1\n", ""),
    "twice": (b"root_seed: 1\nroot_seed: 2\n", "duplicate key"),
    "twice below": (b"pan2023: {abc: {bins: 1, bins: 2}}\n", "duplicate key"),
    "template": (b"__use_yte__: true\nroot_seed: ?1+1\n", "templates are not allowed"),
    "python object": (b"root_seed: !!python/object/apply:os.getcwd []\n", ""),
    "unknown tag": (b"root_seed: !seed 7\n", ""),
    "float of text": (b"root_seed: !!float many\n", ""),
    "int of a list": (b"root_seed: !!int [1]\n", ""),
    "set": (b"root_seed: !!set [1]\n", ""),
    "template's key escaped": (b'"__use_yt\\x65__": true\n', "keys must not contain escapes (line 1)"),
    "template's key escaped below": (
        b'pan2023: {abc: {"\\u005f_use_yte__": true}}\n',
        "keys must not contain escapes (line 1)",
    ),
    "template's key in quotes": (b"'__use_yte__': true\n", "templates are not allowed"),
    "template's key as a block": (b"? |-\n  __use_yte__\n: true\n", "templates are not allowed"),
    "template's key in a list": (b"run: [{__definitions__: [import os]}]\n", "templates are not allowed"),
    "template's condition": (b"pan2023:\n  '?if True':\n    abc: 1\n", "templates are not allowed"),
    "any key escaped": (b'"run\\x61": 3\n', "keys must not contain escapes"),
    "a key folded over lines": (b'? "ro\\\n  ot_seed"\n: 1\n', "keys must not contain escapes"),
    "alias of a scalar": (b"root_seed: &s 7\nshards: *s\n", "anchors are not supported, but line 1 contains &s"),
    "merge key": (b"pan2023: {<<: {abc: {bins: 3}}}\n", "merge keys (<<) are not supported, but line 1 contains one"),
    "plain tag": (b"root_seed: !!int 7\n", "tags are not supported, but line 1 contains tag:"),
    "tag of a key": (b"!!str root_seed: 7\n", "tags are not supported"),
    "directive": (b"%YAML 1.1\n---\nroot_seed: 7\n", "directives (%) are not supported"),
    "16 MB": (b"# " + b"x" * (1 << 24) + b"\nroot_seed: 7\n", "must have at most 16,777,216 bytes"),
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
    "surrogate": (b'run: ["\xed\xa0\x80"]\n', "is not valid UTF-8"),
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
    with pytest.raises(config.ConfigError, match=rf"mine\.yaml: {place} contains .* in another configuration file"):
        overlays.merged([ROOT / "config.yaml", path])


JSON_FILES = {
    "twice": ('{"root_seed": 1, "root_seed": 2}', "duplicate key 'root_seed'"),
    "twice below": ('{"pan2023": {"abc": {"bins": 1, "bins": 2}}}', "duplicate key 'bins'"),
    "template": ('{"__use_yte__": true}', "templates are not allowed"),
    "template escaped": ('{"\\u005f_use_yte__": true}', "templates are not allowed"),
    "no number": ('{"root_seed": NaN}', "NaN is not a valid JSON number"),
    "infinity": ('{"root_seed": -Infinity}', "-Infinity is not a valid JSON number"),
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
    with pytest.raises(config.ConfigError, match="must not contain NUL characters"):
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
        ("root_seed: {a: 1}", "root_seed contains keys and values"),
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
