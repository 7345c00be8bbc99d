"""Rows of trials, the file of those judged equivalent, and the rates that the documentation shows."""

import csv
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

import mutations
import packages

EQUIVALENT = packages.TREE / packages.HERE / "equivalent.tsv"
RATES = packages.TREE / packages.HERE / "rates.tsv"
ENOUGH = 0.9  # of the sampled mutants that could be killed must be
_RATES = ("package", "sample", "rate", "mutants", "killed", "out of time", "equivalent", "survived")


@dataclass(frozen=True)
class Row:
    """One mutant's fate: ``killed`` (by which test), ``timeout``, ``survived``, or ``equivalent`` (why)."""

    package: str
    module: str
    line: int
    operator: str
    before: str
    after: str
    outcome: str
    by: str
    seconds: float

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells a mutant apart, whatever its line."""
        return self.module, self.before, self.after

    def told(self) -> str:
        """One line for people."""
        place = f"{Path(self.module).name}:{self.line}"
        return f"{self.outcome:10} {place} {self.before!r} -> {self.after!r} {self.by} {self.seconds:.1f} s"


def row(package: str, mutation: mutations.Mutation, outcome: str, by: str, seconds: float) -> Row:
    """The row of a mutation and its outcome."""
    m = mutation
    return Row(package, m.module, m.lines[0], m.operator, m.before, m.after, outcome, by, round(seconds, 1))


def write(path: Path, rows: list[Row]) -> None:
    """Rows as a table with tabs."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow([field.name for field in fields(Row)])
        writer.writerows(astuple(row) for row in rows)


def read(path: Path) -> list[Row]:
    """Rows of a table that `write` wrote; none if there is none."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        found = csv.DictReader(stream, delimiter="\t")
        return [Row(**{**r, "line": int(r["line"]), "seconds": float(r["seconds"])}) for r in found]


@cache
def _equivalents() -> dict[tuple[str, str, str], str]:
    if not EQUIVALENT.exists():
        return {}
    with EQUIVALENT.open(newline="", encoding="utf-8") as stream:
        found = csv.DictReader(stream, delimiter="\t")
        return {(r["module"], r["before"], r["after"]): r["reason"] for r in found}


def equivalent(module: str, before: str, after: str) -> str:
    """Why this mutant is no other program, or nothing if nobody has said so."""
    return _equivalents().get((module, before, after), "")


def kept_rate(package: str, sample: str, rows: list[Row]) -> str:
    """Put the counts of a package's rows into ``rates.tsv``, sampled and by hand apart; the lines put there."""
    kept = {}
    if RATES.exists():
        with RATES.open(newline="", encoding="utf-8") as stream:
            kept = {(r[0], r[1]): r for r in list(csv.reader(stream, delimiter="\t"))[1:]}
    told = []
    for name, part in (
        (sample, [r for r in rows if r.operator != "by hand"]),
        ("by hand", [r for r in rows if r.operator == "by hand"]),
    ):
        if part:
            kept[package, name] = [package, name, *_counts(part)]
            told.append("  ".join(kept[package, name]))
    with RATES.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(_RATES)
        writer.writerows(kept[key] for key in sorted(kept))
    return "\n".join(told)


def enough(rows: list[Row]) -> bool:
    """Whether all by hand that are no other program were killed, and `ENOUGH` of the sampled ones."""
    able = [row for row in rows if row.outcome != "equivalent"]
    alive = [row for row in able if row.outcome == "survived"]
    sampled = sum(row.operator != "by hand" for row in able)
    return all(row.operator != "by hand" for row in alive) and len(alive) <= (1 - ENOUGH) * sampled + 1e-9


def _counts(rows: list[Row]) -> list[str]:
    count = {name: sum(r.outcome == name for r in rows) for name in ("killed", "timeout", "equivalent", "survived")}
    able = len(rows) - count["equivalent"]
    rate = f"{100 * (count['killed'] + count['timeout']) / able:.0f} %" if able else ""
    return [rate, str(len(rows)), *map(str, count.values())]
