"""What a page or a screen says of a scenario: sentences and rows in words, made from its files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from . import batch, making, words
from .making import Files
from .words import count, percent, real, shares

MOST_SENTENCES = 6  # of a page; the table has a row for everything
MOST_ROWS = 400  # of a page's table
_GLANCE = 24  # rows of a table that are read one by one; in a longer one answers to questions come first
_PART = 20  # reasons of refused tables


@dataclass(frozen=True)
class Line:
    """A row in words: quantity and noun, what was released, mean, interval, state.

    Parameters
    ----------
    key : the point of a grid, the table of a batch, or the analysis of a comparison; empty in a case.
    quantity, noun, released, mean, interval, state : in words.
    beside : estimate of least squares and its standard deviation; empty where there is none.
    usable : whether the number may be used.
    """

    key: str
    quantity: str
    noun: str
    released: str
    mean: str
    interval: str
    state: str
    usable: bool
    beside: str = ""


@dataclass(frozen=True)
class Told:
    """A scenario in words.

    Parameters
    ----------
    name, kind, form : of it.
    headline : the one sentence to read.
    sentences : more of them.
    lines, more : the table, and how many rows it omits.
    level : of the intervals, in words.
    assumed, trust, not_said : sentences.
    comparison : rows that are shown beside, and must not be used.
    release : its folder, or empty.
    facts : as they are in the file.
    """

    name: str
    kind: str
    form: str
    headline: str
    sentences: Sequence[str]
    lines: Sequence[Line]
    more: int
    level: str
    assumed: Sequence[str]
    trust: Sequence[str]
    not_said: Sequence[str]
    comparison: Sequence[Line]
    release: str
    facts: dict[str, Any]


def told(files: Files) -> Told:
    """A scenario in words, from the files that were made of it."""
    facts = making.facts_of(files)
    return _batch(files, facts) if facts["form"] == "batch" else _points(files)


def _points(files: Files) -> Told:
    rows, comparison, facts = making.read(files)
    points = facts["points"]
    keys = list(points[0]["at"])
    first = rows.head(len(rows) // len(points)) if facts["form"] == "grid" else rows
    several = [f"The scenario has {len(points)} points: {_listed(points)}."] if len(points) > 1 else []
    at = f"With {_at(points[0]['at'])}: " if keys else ""
    said = [words.sentence(row, facts, points[0]) for row in _asked_first(first).head(MOST_SENTENCES).itertuples()]
    shown = _asked_first(rows) if len(rows) > _GLANCE else rows
    size = len(rows) + sum(point.get("rows_left_out", 0) for point in points)
    part = words.noise_part(points[0])
    level = f"{100 * facts['settings']['level']:g} %"
    return Told(
        name=facts["scenario"],
        kind=facts["kind"],
        form=facts["form"],
        headline=at + words.headline(first, facts, points[0]),
        sentences=[*several, *([part] if part else []), *said],
        lines=[_line(row, keys) for row in shown.head(MOST_ROWS).to_dict("records")],
        more=size - min(len(rows), MOST_ROWS),
        level=level,
        assumed=words.assumed(facts, points[0]),
        trust=list(dict.fromkeys(text for point in points for text in words.trust(point))),
        not_said=list(words.NOT_SAID),
        comparison=[_line(row, ["analysis"]) for row in comparison.head(MOST_ROWS).to_dict("records")],
        release=facts["release"],
        facts=facts,
    )


def _asked_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Answers to questions before everything else, all in their order."""
    asked = rows["type"] == "question"
    return pd.concat([rows[asked], rows[~asked]])


def _batch(files: Files, facts: dict[str, Any]) -> Told:
    tables = facts["tables"]
    rows = pd.concat([part for part, _ in zip(batch.read(files.csv), range(1), strict=False)]).head(MOST_ROWS)
    statuses = {status: n for status, n in tables["statuses"].items() if not status.startswith(batch.REFUSED)}
    refused = {s.removeprefix(batch.REFUSED): n for s, n in tables["statuses"].items() if s.startswith(batch.REFUSED)}
    answered = tables["all"] - tables["refused"]
    return Told(
        name=facts["scenario"],
        kind=facts["kind"],
        form="batch",
        headline=f"Of {tables['all']:,} tables {answered:,} were answered and {tables['refused']:,} refused.",
        sentences=[f"Refused, {n:,} table{'s' * (n > 1)}: {reason}." for reason, n in list(refused.items())[:_PART]],
        lines=[_line(row, ["table"]) for row in rows.to_dict("records")],
        more=0,
        level=f"{100 * facts['settings']['level']:g} %",
        assumed=["Every table is answered by itself, with the same prior and the same law of its noise."],
        trust=[f"The numbers of {n:,} tables are {words.TRUST[status]}." for status, n in statuses.items()],
        not_said=["No interval is adjusted for the number of tables.", *words.NOT_SAID],
        comparison=[],
        release="",
        facts=facts,
    )


def _listed(points: Sequence[dict[str, Any]]) -> str:
    keys = points[0]["at"]
    parts = [f"{key} {', '.join(dict.fromkeys(str(point['at'][key]) for point in points))}" for key in keys]
    return "; ".join(parts)


def _at(point: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in point.items())


def _line(row: dict[Any, Any], keys: Sequence[str]) -> Line:
    kind, width = str(row["type"]), float(row["upper"]) - float(row["lower"])
    numbers = [_number(row[key], kind, width, key) for key in ("released", "mean", "lower", "upper")]
    if kind == "question" and row["lower"] != row["lower"]:
        numbers[1] = percent(float(row["mean"]), 2)
    key = ", ".join(f"{row[key]:g}" if isinstance(row[key], float) else str(row[key]) for key in keys)
    return Line(
        key=key,
        quantity=str(row["quantity"]),
        noun=words.NOUNS.get(kind, ""),
        released=numbers[0],
        mean=numbers[1],
        interval=f"{numbers[2]} to {numbers[3]}" if numbers[2] and numbers[3] else "",
        state=str(row["status"]),
        usable=row["status"] != "not converged",
        beside=_least_squares(row),
    )


def _least_squares(row: dict[Any, Any]) -> str:
    """Estimate and standard deviation; empty where there is none."""
    found, sd = float(row.get("least_squares", "nan")), float(row.get("least_squares_sd", "nan"))
    return f"{real(found, 2 * sd)} ± {real(sd, 2 * sd)}" if found == found and sd == sd else ""


def _number(value: Any, kind: str, width: float, key: str) -> str:
    number = float(value)
    if number != number:
        return ""
    if kind == "count":
        short = number == round(number, 1) or (key == "mean" and width >= 1)  # an interval makes no more digits worth
        return count(round(number, 1)) if short else f"{number:,.4g}"
    return shares(number, width=width)[0] if kind in ("share", "rate") else real(number, width)
