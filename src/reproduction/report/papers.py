"""Contents of the report page about one paper. The page shows the artefacts in the order of the paper, the errata with
evidence, and the methods.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from ..paper import Artefact, Paper
from . import score as scores
from . import texts
from .files import Figure, Folder, Run
from .statements import LOOK, Grid, Statement, Verdict, counts, grid, grouped
from .texts import Prose

_FEW = 12
_ROW = re.compile(r"^\| *(\d+) *\|(.*)\|(.*)\|[ ]*$", re.MULTILINE)
_TABLE = re.compile(r"^\|.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Erratum:
    """Erratum of a paper, with its description, its consequence, and the evidence from the run. The command that
    reproduces the evidence is also given.
    """

    number: int
    text: Markup
    follows: Markup
    evidence: str
    command: str
    artefacts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shown:
    """Artefact of a paper (a table or a figure) in the form in which the page of the paper shows it.

    Parameters
    ----------
    name, label, caption : entries in paper.yaml.
    figure, table : the figure and the table; None if the artefact does not have one, or if it was not made.
    statements : printed statements about the artefact.
    errata : numbers of the errata that name the artefact.
    made : provenance of the artefact.
    missing : command that makes the missing files; empty if no file is missing.
    grid : statements arranged as in the printed table, if their names form a table.
    """

    name: str
    label: str
    caption: str
    figure: Figure | None = None
    table: texts.Table | None = None
    statements: list[Statement] = field(default_factory=list)
    errata: list[int] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)
    missing: str = ""
    grid: Grid | None = None

    @property
    def first(self) -> list[Statement]:
        """Return the statements about an artefact that the page shows at the top. These are all statements if there are
        few, and otherwise the statements that are not reproduced.
        """
        few = len(self.statements) <= _FEW
        return [s for s in self.statements if few or s.verdict.name in LOOK]

    @property
    def rest(self) -> list[Statement]:
        """Return the statements about an artefact that are not in `first`, which the page shows below the statements in
        `first`.
        """
        return [s for s in self.statements if s not in self.first]

    @property
    def verdicts(self) -> list[tuple[Verdict, int]]:
        """Return, for each verdict, the number of statements about an artefact with this verdict."""
        return counts(statement.verdict.name for statement in self.statements)


@dataclass(frozen=True)
class PaperPage:
    """Contents of the page of a paper in the report. The entry `files` contains pairs (address, name) for the files of
    complete verdicts.

    `score` is a sentence, `lines` contains one entry per printed artefact in the order of the paper, and `plot` shows z
    for every number.
    """

    paper: Paper
    artefacts: list[Shown]
    errata: list[Erratum]
    remarks: Markup
    methods: Markup
    verdicts: list[scores.Group]
    files: list[tuple[str, str]] = field(default_factory=list)
    score: str = ""
    lines: list[scores.Line] = field(default_factory=list)
    plot: scores.Plot | None = None

    @property
    def made(self) -> bool:
        """Return whether at least one result of the paper was computed."""
        return bool(self.lines) or any(shown.table or shown.figure for shown in self.artefacts)

    @property
    def printed(self) -> list[Shown]:
        """Return the artefacts to which printed statements refer, in the order in which the artefacts occur in the
        paper.
        """
        named = {line.address.partition("#")[2]: place for place, line in enumerate(self.lines)}
        return sorted((a for a in self.artefacts if a.name in named), key=lambda a: named[a.name])

    @property
    def extras(self) -> list[Shown]:
        """Return the artefacts of the paper to which no printed statement refers. They are extensions of the paper and
        intermediate results.
        """
        return [a for a in self.artefacts if not a.statements]

    @property
    def address(self) -> str:
        """Return the address of the report page that describes the paper."""
        return f"paper-{self.paper.slug}.html"


def page(run: Run, paper: Paper, statements: list[Statement], folder: Folder) -> PaperPage:
    """Return the contents of the page of the paper `paper` in the report. The argument `statements` contains only the
    statements of this paper.
    """
    groups = grouped(statements)
    known = [artefact.name for artefact in paper.artefacts]
    further = [name for name in groups if name not in known]
    prose = Prose(paper.slug, {*known, *further})
    errata, remarks = _errata(run, paper, prose)
    named: dict[str, list[int]] = {}
    for erratum in errata:
        for name in erratum.artefacts:
            named.setdefault(name, []).append(erratum.number)
    shown = [_shown(run, paper, a, folder, groups, named) for a in paper.artefacts if a.name != "errata"]
    shown += [
        Shown(name, rows[0].label, "Statements of the text.", statements=rows, grid=grid(rows))
        for name, rows in ((name, groups[name]) for name in further)
    ]
    methods = paper.folder / "methods.md"
    text = prose.block(_untitled(methods.read_text(encoding="utf-8"))) if methods.is_file() else Markup("")
    judged = [f"results/{paper.slug}/{name}.csv" for name in ("agreement", "agreement_tables")]
    return PaperPage(
        paper=paper,
        artefacts=shown,
        errata=errata,
        remarks=remarks,
        methods=text,
        verdicts=scores.groups(statements),
        score=scores.sentence(statements) if statements else "",
        lines=scores.lines(statements),
        plot=scores.plot(statements),
        files=[(href, path.rpartition("/")[2]) for path in judged if (href := folder.table(path))],
    )


def _shown(
    run: Run,
    paper: Paper,
    artefact: Artefact,
    folder: Folder,
    groups: dict[str, list[Statement]],
    named: dict[str, list[int]],
) -> Shown:
    figure, table, name, missing = None, None, artefact.name, []
    described = artefact.table or artefact.figure
    assert described is not None  # `paper.read` rejects an artefact without table and figure
    if artefact.figure:
        path = f"figures/{paper.slug}/{name}.png"
        figure = folder.figure(path, alt=artefact.figure.alt, caption=artefact.figure.caption)
        missing += [] if figure else [path]
    if artefact.table:
        path = f"results/{paper.slug}/{name}.csv"
        frame = run.read(path)
        table = None if frame is None else texts.shown(frame, file=folder.table(path), path=path)
        missing += [] if table else [path]
    return Shown(
        name=name,
        label=artefact.label,
        caption=described.caption,
        figure=figure,
        table=table,
        statements=groups.get(name, []),
        errata=named.get(name, []),
        made=run.provenance(paper.slug, name),
        missing=f"snakemake --cores 1 {' '.join(missing)}" if missing else "",
        grid=grid(groups.get(name, [])),
    )


def _errata(run: Run, paper: Paper, prose: Prose) -> tuple[list[Erratum], Markup]:
    """Return the errata and the remarks in ``errata.md``, each erratum with its evidence from the run."""
    frame = run.read(f"results/{paper.slug}/errata.csv")
    evidence = {} if frame is None else {int(row["number"]): row for row in frame.to_dict("records")}
    path = paper.folder / "errata.md"
    text = _untitled(path.read_text(encoding="utf-8")) if path.is_file() else ""
    written = {int(number): (what.strip(), then.strip()) for number, what, then in _ROW.findall(text)}
    errata = []
    for number in sorted({*written, *evidence}):
        row = evidence.get(number, {})
        what, then = written.get(number, (str(row.get("erratum", "")), ""))
        errata.append(
            Erratum(
                number=number,
                text=prose.line(what),
                follows=prose.line(then),
                evidence=str(row.get("evidence", "")),
                command=str(row.get("command", "")),
                artefacts=tuple(prose.mentioned(f"{what} {then}")),
            )
        )
    return errata, prose.block(_TABLE.sub("", text).strip())


def _untitled(text: str) -> str:
    return re.sub(r"\A# .*\n+", "", text)
