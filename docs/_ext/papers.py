"""Write a page for every paper from the paper's folder when the site is built.

The pages go to ``docs/papers/`` (not under version control): an index and one Markdown file a paper, with its
artefacts, settings, printed numbers, errata and methods. A new paper has its page by being there.
"""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from reproduction import evidence
from reproduction import paper as folders
from reproduction.archive import claims
from reproduction.config import checks
from reproduction.jobs import artefacts

_CLAIMS = (
    "This page lists all artefacts for which the papers print a number or a statement. For each artefact, the page",
    "contains the number of printed statements, the command that produces the artefact, the file,",
    "and the run time in minutes on one core. The run times include the computation of all inputs, except for the",
    "experiments on data sets. The table `results/<paper>/agreement.csv` contains the verdict on each statement, and",
    "the command `make reproduce` produces all artefacts. The archive contains the same table (`CLAIMS.tsv`) with the",
    "CPU seconds of the archived run: see [how to deposit a run](how-to/archive.md).",
)
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~])")
_KINDS = {"integer": "integer", "boolean": "true or false", "string": "string", "null": "empty"}
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def write(folder: Path, gallery: Path) -> list[Path]:
    """Write all pages into `folder`; pages of removed papers are deleted.

    Raises
    ------
    reproduction.paper.PaperError
        All mistakes in the papers' folders.
    """
    papers = folders.discover()
    settings = checks.schema_of(papers)
    pages = {f"{slug}.md": page(paper, settings, gallery) for slug, paper in papers.items()}
    pages["index.md"] = index(list(papers.values()))
    folder.mkdir(exist_ok=True)
    for stale in {path.name for path in folder.glob("*.md")} - set(pages):
        (folder / stale).unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


def index(papers: Sequence[folders.Paper]) -> str:
    """Return the page that lists the papers, in the order of `discover`."""
    rows = [
        (f"[{plain(p.title)}]({p.slug}.md)", plain(f"{', '.join(p.authors)} ({p.year})"), plain(p.beyond))
        for p in papers
    ]
    listed = "\n".join(p.slug for p in papers)
    return "\n".join(
        [
            "# The papers",
            "",
            "Each page is generated from the paper's folder `src/reproduction/papers/<slug>/`. The page of a paper",
            "lists artefacts, settings, printed statements and errata, and contains the derivations.",
            "",
            *_table(("paper", "authors", "beyond the paper"), rows),
            "",
            f"```{{toctree}}\n:maxdepth: 1\n:hidden:\n\n{listed}\n```",
            "",
        ]
    )


def page(paper: folders.Paper, settings: dict[str, Any], gallery: Path) -> str:
    """Return the page of one paper as MyST Markdown.

    Parameters
    ----------
    paper : the paper as its folder describes it.
    settings : the whole configuration's schema.
    gallery : folder of thumbnails named ``<slug>.<artefact>.png``.
    """
    authors = ", ".join(paper.authors)
    beyond = f" · beyond the paper: {plain(paper.beyond)}" if paper.beyond else ""
    kind = "" if paper.kind == "article" else f" ({paper.kind})"
    parts = [
        f"({paper.slug})=\n# {plain(paper.title)}",
        f"`{paper.slug}` · {plain(paper.about)}{beyond}",
        f"> {plain(authors)} ({paper.year}). *{plain(paper.title)}*{kind}.",
        f"The command `snakemake --cores 2 {paper.slug}` reproduces all artefacts of the paper.",
        *_thumbnails(paper, gallery),
        *_artefacts(paper),
        *_settings(paper, settings),
        *_printed(paper),
        *_errata(paper),
        *_methods(paper),
    ]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Return a text with all Markdown escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def quoted(text: str) -> str:
    """Return a text as the value of a directive's option, with colons and other signs escaped."""
    return "'" + " ".join(text.split()).replace("'", "''") + "'"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell for cell in line) + " |" for line in lines]


def _thumbnails(paper: folders.Paper, gallery: Path) -> Iterator[str]:
    for artefact in paper.artefacts:
        image = gallery / f"{paper.slug}.{artefact.name}.png"
        if artefact.figure and image.is_file():
            options = f":alt: {quoted(artefact.figure.alt)}\n:align: left"
            yield f"```{{figure}} ../gallery/{image.name}\n{options}\n\n{plain(artefact.label)}\n```"


def _artefacts(paper: folders.Paper) -> Iterator[str]:
    rows = []
    for a in paper.artefacts:
        if a.table:
            file, rule = f"results/{paper.slug}/{a.name}.csv", artefacts.table_rule(paper, a)
            rows.append((plain(a.label), f"`{file}`<br>`{rule}`", f"{a.table.minutes:g}", plain(a.table.caption)))
        if a.figure:
            file, rule = f"figures/{paper.slug}/{a.name}.png", artefacts.figure_rule(paper, a)
            rows.append((plain(a.label), f"`{file}`<br>`{rule}`", f"{a.figure.minutes:g}", plain(a.figure.caption)))
    yield f"({paper.slug}-artefacts)=\n## Artefacts"
    yield (
        "The command `snakemake --cores 2 <file>` produces the given file and all files from which this file is "
        "computed. The column `minutes` contains the run time on one core with the sample sizes of the paper."
    )
    yield "\n".join(_table(("artefact", "file and rule", "minutes", "content"), rows))


def _settings(paper: folders.Paper, settings: dict[str, Any]) -> Iterator[str]:
    known = settings["$defs"]
    sections = settings["properties"][paper.slug]["properties"]
    yield f"({paper.slug}-settings)=\n## Settings"
    yield (
        f"The table lists the keys below `{paper.slug}` in `config.yaml`. If a key is missing from the file, the "
        "default value is used."
    )
    header = ("setting", "type and range", "default", "meaning")
    rows = [row for name, part in sections.items() for row in _rows(name, part, known)]
    if rows:
        yield "\n".join(_table(header, rows))


def _rows(name: str, part: dict[str, Any], known: dict[str, Any], needed: bool = False) -> Iterator[tuple[str, ...]]:
    part = _resolved(part, known)
    if "properties" in part:
        for key, inner in part["properties"].items():
            yield from _rows(f"{name}.{key}".lstrip("."), inner, known, key in part.get("required", []))
        return
    default = f"`{json.dumps(part['default'], ensure_ascii=False)}`" if "default" in part else ""
    yield (
        f"`{name}`",
        plain(described(part, known)),
        "required" if needed else default,
        plain(part.get("description", "")),
    )


def _resolved(part: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    reference = part.get("$ref", "").removeprefix("#/$defs/")
    return {**known[reference], **{k: v for k, v in part.items() if k != "$ref"}} if reference else part


def described(part: dict[str, Any], known: dict[str, Any]) -> str:
    """Return type and range of a setting as text."""
    part = _resolved(part, known)
    if "enum" in part:
        return "one of " + ", ".join(map(str, part["enum"]))
    kinds = part.get("type", "object")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(_kind(kind, part, known) for kind in kinds)


def _kind(kind: str, part: dict[str, Any], known: dict[str, Any]) -> str:
    """Return one of the types of a setting, with its range."""
    if kind == "object":
        each = part.get("additionalProperties")
        return f"name -> {described(each, known)}" if isinstance(each, dict) else "keys and values"
    if kind == "array":
        least, most = part.get("minItems"), part.get("maxItems")
        length = f" of {least}" if least == most and least else f" of at least {least}" if least else ""
        return f"list{length}: {described(part['items'], known)}" if "items" in part else f"list{length}"
    bounds = [f"{sign} {part[key]}" for key, sign in _BOUNDS.items() if key in part]
    numeric = kind in ("integer", "number")
    return f"{_KINDS.get(kind, kind)} {', '.join(bounds) if numeric else ''}".strip()


def _printed(paper: folders.Paper) -> Iterator[str]:
    with (paper.folder / "published.tsv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    numbers = [(f"`{r['artefact']}`", r["kind"], plain(r["quantity"]), _shown(r), plain(r["place"])) for r in rows]
    yield f"({paper.slug}-printed)=\n## Printed statements"
    yield (
        f"A run checks {len(rows)} statements of the paper and writes the verdicts to `results/agreement.tsv`. The "
        "page [how to read the results](../results.md) explains the kinds of statements. The entry *none* means that "
        "the paper does not print a number. Text in quotation marks is quoted from the paper. A quoted statement is "
        "judged with a threshold chosen by this project, or under an interpretation that is stricter than these words."
    )
    listed = "\n".join(_table(("artefact", "kind", "quantity", "printed", "where"), numbers))
    yield f"````{{dropdown}} All printed statements\n{listed}\n````"


def _shown(row: dict[str, str]) -> str:
    """Return the printed number, the words of the paper in quotation marks, or ``none``."""
    words = f"“{plain(row['words'])}”" if row.get("words") else ""
    return " ".join(filter(None, [row["value"], words])) or "none"


def _errata(paper: folders.Paper) -> Iterator[str]:
    yield f"({paper.slug}-errata)=\n## Errata"
    if (paper.folder / "errata.md").is_file():
        yield _text(paper.folder / "errata.md")
        return
    errata = evidence.of(paper.package)
    if not errata:
        yield "No errors are known."
        return
    yield f"The command `python -m reproduction.evidence {paper.slug} N` runs the evidence for erratum N."
    yield "\n".join(_table(("N", "erratum"), [(str(n), plain(text)) for n, (text, _) in errata.items()]))


def _methods(paper: folders.Paper) -> Iterator[str]:
    if (paper.folder / "methods.md").is_file():
        yield f"({paper.slug}-methods)=\n## Methods"
        yield _text(paper.folder / "methods.md")


def _text(path: Path) -> str:
    """Return a Markdown file for inclusion below a heading: without its title, headings one level down."""
    body = re.sub(r"\A# .*\n+", "", path.read_text(encoding="utf-8"))
    return re.sub(r"^(#+ )", r"#\1", body, flags=re.MULTILINE).strip()


def printed() -> str:
    """Return the page of printed statements: claim, command, file, minutes."""
    lines = ["# Claims, one by one", "", *_CLAIMS]
    for slug, found in folders.discover().items():
        rows = [
            (
                plain(claim.claim),
                plain(f"{claim.statements}: {claim.places}"),
                f"`{claim.command}`",
                f"`{claim.file}`",
                f"{claim.minutes:.2g}",
            )
            for claim in claims.of_paper(found)
        ]
        lines += ["", f"## {slug}", "", *_table(("claim", "printed statements", "command", "file", "minutes"), rows)]
    return "\n".join(lines) + "\n"


def _write(app: Sphinx) -> None:
    write(Path(app.srcdir, "papers"), Path(app.srcdir, "gallery"))
    Path(app.srcdir, "claims.md").write_text(printed(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the pages, which are written before Sphinx looks for sources."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
