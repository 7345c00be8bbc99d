"""Tests of the ledger: accepted entries, reading, and reports of damaged ledgers."""

from dataclasses import replace

import pytest

from dpmultinomial._releases import _budget_records, room, spending

ENTRY = _budget_records.Entry(
    time="2026-01-01T00:00:00Z", release="r", generation=1, source="s", mechanism="discrete_laplace",
    cost=str(spending.Cost(relation="replace a record", epsilon=0.5)), sha256="0", record_sha256="1", settings="2",
    data="3", state=_budget_records.SPENT,
)  # fmt: skip
COST = str(ENTRY.spent).encode()
PUBLISHED = replace(ENTRY, state=_budget_records.PUBLISHED)
LEDGER = _budget_records.HEADER + ENTRY.line + PUBLISHED.line
NO_COST = "line 2: cost must be a valid privacy cost of a release"
UNREADABLE = [
    (LEDGER.replace(COST, b"-5"), NO_COST + ", got '-5'"),
    (LEDGER.replace(COST, b"NaN"), NO_COST + ", got 'NaN'"),
    (LEDGER.replace(COST, b"{}"), NO_COST),
    (LEDGER.replace(COST, b"much"), NO_COST),
    (LEDGER.replace(COST, COST.replace(b"0.5", b"-0.5")), NO_COST),
    (LEDGER.replace(COST, COST.replace(b"0.5", b"NaN")), NO_COST),
    (LEDGER.replace(COST, COST.replace(b"0.5", b"0.50")), "line 2: cost must be written as"),
    (LEDGER.replace(b"\ts\t", b"\tS\t"), "line 2: source must consist of"),
    (b"time\n", "line 1: the header must contain the columns time, release"),
    (LEDGER.replace(b"spent, not published", b"lost"), "line 2: state must be 'spent, not published'"),
    (LEDGER.replace(b"\tr\t1\t", b"\tr\tx\t"), "line 2: generation must be an integer, got 'x'"),
    (LEDGER.replace(b"\tr\t1\t", "\tr\t\u0661\t".encode()), "generation must be an integer"),
    (LEDGER + b"a\tb\n", "line 4: a line must have 11 fields, got 2"),
]


@pytest.mark.parametrize(("content", "words"), UNREADABLE)
def test_a_ledger_that_cannot_be_read_is_reported_by_line(tmp_path, content, words):
    (tmp_path / "ledger.tsv").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        _budget_records.Ledger(tmp_path / "ledger.tsv").entries()


def test_a_ledger_takes_only_what_it_can_read_back(tmp_path):
    kept = _budget_records.Ledger(tmp_path / "ledger.tsv")
    assert kept.entries() == []
    kept.mend()
    kept.add(ENTRY)
    assert kept.entries() == [ENTRY]
    assert _budget_records.costs(kept.entries(), "s") == [ENTRY.spent]
    assert _budget_records.costs(kept.entries(), "other") == []
    assert ENTRY.name == ("r", 1)
    assert repr(kept).endswith("ledger.tsv: 1 releases)")
    kept.add(replace(ENTRY, state=_budget_records.PUBLISHED))
    assert [e.state for e in kept.entries()] == [_budget_records.PUBLISHED]
    for bad in ("a\tb", "a\nb", "a\rb"):
        with pytest.raises(ValueError, match="must not contain tabs or line breaks"):
            kept.add(replace(ENTRY, source=bad))
    assert kept.path.read_bytes() == LEDGER
    kept.path.write_bytes(LEDGER + b"half a li")
    assert len(kept.entries()) == 1
    kept.mend()
    assert kept.path.read_bytes() == LEDGER


DAMAGED = {
    "a word": (b"nonsense\n", "line 3: a line must have 11 fields, got 1"),
    "a number": (ENTRY.line.replace(COST, b"-5"), "line 3: cost must be a valid privacy cost of a release, got '-5'"),
    "no cost": (ENTRY.line.replace(COST, b"{}"), "line 3: cost must be a valid privacy cost of a release"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_ledger_is_reported_by_line_before_anything_is_made(tmp_path, what):
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential" / "c.csv").write_text("category,count\na,1\nb,2\n")
    (tmp_path / "releases").mkdir()
    line, words = DAMAGED[what]
    (tmp_path / "releases/ledger.tsv").write_bytes(_budget_records.HEADER + PUBLISHED.line + line)
    settings = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 0.5}
    with pytest.raises(ValueError, match=rf"ledger\.tsv, {words}.*{_budget_records.RESTORE}"):
        room.make("r", settings, root=tmp_path)
    assert [p.name for p in (tmp_path / "confidential").iterdir()] == ["c.csv"]
