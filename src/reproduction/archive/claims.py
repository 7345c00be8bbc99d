"""Table of claims for evaluators, with the claim, the command, the file and the computing time in minutes for every
artefact with printed statements.

The table is made from the papers' folders: statements from ``published.tsv`` and commands from ``paper.yaml``. If there
was a run, its CPU seconds are taken from its benchmarks.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from math import isfinite
from pathlib import Path

from .. import paper as folders
from ..jobs import artefacts, costs
from ..paper import Artefact, Paper

NAME = "CLAIMS.tsv"
_DETAIL, _NAMED = re.compile(r"[,:;(]"), 3


@dataclass(frozen=True)
class Claim:
    """Artefact with printed statements, as one row of the table of claims.

    Parameters
    ----------
    paper : slug of the paper.
    claim : the artefact as printed.
    statements : number of printed statements.
    places : places at which the paper prints the statements.
    command : command that makes the artefact with all its inputs.
    file : the figure, or the table if there is no figure; the agreement for statements that use several tables.
    judged_in : file that compares the printed numbers with our numbers.
    minutes : expected minutes on one core with all inputs, except the experiments that the artefact gathers.
    cpu_seconds : CPU seconds of the table and the figure in the run in this folder; NaN if there was no run.
    """

    paper: str
    claim: str
    statements: int
    places: str
    command: str
    file: str
    judged_in: str
    minutes: float
    cpu_seconds: float


def every(run: Path | None = None) -> list[Claim]:
    """Return all claims, in the order of the papers and of their artefacts.

    Parameters
    ----------
    run : folder of a run, for the CPU seconds.
    """
    return [claim for paper in folders.discover().values() for claim in of_paper(paper, run)]


def of_paper(found: Paper, run: Path | None = None) -> Iterator[Claim]:
    """Yield the claims of one paper, in the order of its artefacts. The arguments are those of `every`."""
    with (found.folder / "published.tsv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    printed = Counter(row["artefact"] for row in rows)
    minutes = artefacts.minutes_from_nothing(found)
    by_name = {artefact.name: artefact for artefact in found.artefacts}
    for name in sorted(printed, key=[*by_name, *printed].index):
        artefact = by_name.get(name)
        judged = f"results/{found.slug}/agreement.csv"
        file = _file(found.slug, artefact) if artefact else judged
        yield Claim(
            paper=found.slug,
            claim=artefact.label if artefact else name.replace("_", " ").capitalize(),
            statements=printed[name],
            places=_places(row["place"] for row in rows if row["artefact"] == name),
            command=f"snakemake --cores 2 {file}",
            file=file,
            judged_in=judged,
            minutes=_minutes(artefact, minutes) if artefact else _all(found),
            cpu_seconds=_spent(found, artefact, run) if artefact else float("nan"),
        )


def text(run: Path | None = None) -> str:
    """Return all claims of all papers as text in TSV format. The argument `run` is that of `every`."""
    lines = ["\t".join(field.name for field in fields(Claim))]
    for claim in every(run):
        lines.append("\t".join(_cell(value) for value in astuple(claim)))
    return "\n".join(lines) + "\n"


def _places(places: Iterable[str]) -> str:
    """Return, as text, at most three sections, tables or figures of the paper that contain the statements about an
    artefact. Remarks on individual numbers are omitted.
    """
    distinct = [*dict.fromkeys(_DETAIL.split(place)[0].strip() for place in places if place)]
    return "; ".join(distinct[:_NAMED]) + (f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else "")


def _file(slug: str, artefact: Artefact) -> str:
    return f"figures/{slug}/{artefact.name}.png" if artefact.figure else f"results/{slug}/{artefact.name}.csv"


def _minutes(artefact: Artefact, from_nothing: dict[str, float]) -> float:
    """Return the computing time of an artefact in minutes. This time includes the table, all inputs of the table, and
    the figure.
    """
    table = from_nothing[artefact.name] if artefact.table else 0.0
    return table + (artefact.figure.minutes if artefact.figure else 0.0)


def _all(found: Paper) -> float:
    """Return the declared computing time of all tables of a paper, in minutes."""
    minutes = sum(a.table.minutes for a in found.artefacts if a.table)
    return minutes + sum(loop.minutes for loop in artefacts.loops(found))


def _spent(found: Paper, artefact: Artefact, run: Path | None) -> float:
    """Return the CPU time in seconds of the jobs for an artefact's table and figure, or NaN if the time of a job is
    unknown.
    """
    rules = [artefacts.table_rule(found, artefact)] if artefact.table else []
    rules += [artefacts.figure_rule(found, artefact)] if artefact.figure else []
    return sum(costs.cpu_seconds(run / costs.BENCHMARKS, rule) for rule in rules) if run else float("nan")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if isfinite(value) else ""
    return str(value)
