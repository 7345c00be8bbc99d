"""Tests of a hundred files as users provide them: each is read unchanged, or rejected with its name and the rule.

The same damage is applied to four files: a public release (wang2020), synthetic records (ponnoprat2022), a confidential
file in its public checks, and a confidential file in the reader of `_releases`, whose messages must not show content.
"""

import pytest

from dpmultinomial._files.csv_table import parse
from reproduction.config import config

from .test_campaign import SHIPPED, check

pytestmark = pytest.mark.thorough

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
        ("north,100000000\nsouth,100000000\n", "at most 100000000"),
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
        (RECORDS.replace(",b\n", ",a\n"), "one class"),
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
    assert "has 'wide' in line 3" in refusal(settings)


def test_the_campaign_is_of_a_hundred_files():
    assert 3 * len(DAMAGE) + 10 + 12 + 4 >= 100
