"""Settings of the reproduced papers, each of which has a folder below `papers`. This module finds, reads and checks
these folders.

=================  =================================================================================================
file               what belongs in it
=================  =================================================================================================
``paper.yaml``     title, authors, year, subject; every figure and table: function, caption, alt, minutes
``settings.yaml``  every setting of its section in config.yaml: type, range, default, description; ``smoke``: toy sizes
``published.tsv``  the statements printed in the paper: artefact, quantity, kind, value, digits, error, place, words
``agreement.py``   ``ours(tables)``: our value of each printed number
``figures.py``     ``<artefact>(table)`` -> matplotlib Figure, for each artefact with a figure
``*.py``           the functions that make the tables
=================  =================================================================================================

Optional: ``errata.py`` (``ERRATA``: number -> (description, function that returns the evidence)), ``validation.py``
(``mistakes(section)``, checks that a schema cannot express), ``methods.md``, ``errata.md`` (remarks), ``quoted.py``
(checks quoted numbers against tables), ``rules.smk`` (further rules), ``tests/``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import Any

from .config import config

FOLDER = Path(__file__).resolve().parent / "papers"
REQUIRED = {
    "paper.yaml": "title, authors, year, about, and artefacts: each with its label, table and figure",
    "settings.yaml": "sections: artefact -> properties with type, range, default and description (may be empty: {})",
    "published.tsv": "the printed statements, by tabs: artefact, quantity, kind, value, digits, error, place, words",
    "agreement.py": "ours(tables) -> DataFrame: artefact, quantity, variant, ours, mc_se, note for each printed number",
}
_ERRATA = "ERRATA = {number: (description, function(rng, size) -> evidence as text)}"
SHARED = Path(__file__).with_name("settings.yaml")
_SCHEMA = Path(__file__).with_name("paper.schema.yaml")
_DEFINED = re.compile(
    r"^(?:(?:async )?(?:def|class) (\w+)|(\w+)(?:: [^=\n]+)? = |from \S+ import (\([^)]*\)|[^\n]+))", re.MULTILINE
)
_GATHERED = re.compile(r"[a-z0-9_]+/[a-z0-9_]+")
_PUBLISHED = "artefact\tquantity\tkind\tvalue\tdigits\terror\tplace\twords"


class PaperError(ValueError):
    """Error that is raised if the folder of a paper is invalid. The message lists all mistakes, each with its
    file and the expected content.
    """


@dataclass(frozen=True)
class Table:
    """Settings of the table ``results/<paper>/<name>.csv`` of a reproduced paper."""

    by: str
    function: str
    settings: str
    inputs: tuple[str, ...]
    programs: tuple[str, ...]
    files: dict[str, str]
    caption: str
    minutes: float
    loop_minutes: float
    mem_mb: int

    @property
    def module(self) -> str:
        """Return the name of the module in the paper's folder that defines the function for the table."""
        return self.function.partition(".")[0]


@dataclass(frozen=True)
class Figure:
    """Settings of the figure ``figures/<paper>/<name>.png``, which is plotted from the table of the same name."""

    function: str
    caption: str
    alt: str
    minutes: float
    mem_mb: int

    @property
    def module(self) -> str:
        """Return the name, relative to the paper's package, of the module that plots the figure."""
        return self.function.partition(".")[0]


@dataclass(frozen=True)
class Artefact:
    """Figure or table that is printed in a paper or added by the reproduction. An artefact consists of a table, a
    figure, or both.
    """

    name: str
    label: str
    table: Table | None
    figure: Figure | None


@dataclass(frozen=True)
class Paper:
    """Settings of a reproduced paper, read from the folder of the paper."""

    slug: str
    folder: Path
    title: str
    authors: tuple[str, ...]
    year: int
    kind: str
    about: str
    beyond: str
    artefacts: tuple[Artefact, ...]
    settings: dict[str, Any] = field(repr=False)
    rules: dict[str, str] = field(default_factory=dict)
    beyond_print: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def package(self) -> str:
        """Return the dotted name of the package of a paper."""
        return f"{__package__}.papers.{self.slug}"

    def tables(self) -> list[str]:
        """Return the files of all tables of the paper."""
        return [f"results/{self.slug}/{a.name}.csv" for a in self.artefacts if a.table]

    def figures(self) -> list[str]:
        """Return the files of all figures of the paper."""
        return [f"figures/{self.slug}/{a.name}.png" for a in self.artefacts if a.figure]

    def mistakes(self, section: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield a pair (path, message) for every mistake that the schema cannot detect in a paper's section of the
        configuration.
        """
        if (self.folder / "validation.py").is_file():
            yield from import_module(f"{self.package}.validation").mistakes(section)


@cache
def discover(folder: Path = FOLDER) -> dict[str, Paper]:
    """Return a mapping from slug to paper for all papers, ordered by year and slug.

    Raises
    ------
    PaperError
        For all mistakes in all folders.
    """
    folders = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(("_", ".")))
    papers, mistakes = [], []
    for place in folders:
        try:
            papers.append(read(place))
        except PaperError as error:
            mistakes.append(str(error))
    if mistakes:
        raise PaperError("\n".join(mistakes))
    return {paper.slug: paper for paper in sorted(papers, key=lambda paper: (paper.year, paper.slug))}


def read(folder: Path) -> Paper:
    """Return the paper that is declared in `folder`.

    Raises
    ------
    PaperError
        For every missing or invalid part, with its file and the expected content.
    """
    missing = [
        (name, f"is missing; it must contain {what}")
        for name, what in REQUIRED.items()
        if not (folder / name).is_file()
    ]
    if missing:
        raise _error(folder, missing)
    try:
        written = config.read(folder / "paper.yaml")
        settings = config.read(folder / "settings.yaml")
    except config.ConfigError as error:
        raise PaperError(f"papers/{folder.name}: {error}") from None
    mistakes = [("paper.yaml", text) for text in _cut_texts(written)]
    described = config.with_defaults(written, _schema())
    mistakes += [("paper.yaml", f"{place}: {text}") for place, text in config.broken(described, _schema())]
    if mistakes:
        raise _error(folder, mistakes)
    artefacts = tuple(_artefact(name, parts) for name, parts in described["artefacts"].items())
    own_rules = [part for name, rule in described["rules"].items() for part in _function(folder, rule, f"rules.{name}")]
    if mistakes := [*own_rules, *_wrong_parts(folder, artefacts, settings)]:
        raise _error(folder, mistakes)
    about = {key: described[key] for key in ("title", "year", "kind", "about", "beyond", "beyond_print")}
    declared = {"authors": tuple(described["authors"]), "artefacts": artefacts, "rules": described["rules"]}
    return Paper(folder.name, folder, **about, **declared, settings=settings)


@cache
def _schema() -> dict[str, Any]:
    return config.read(_SCHEMA)


def _cut_texts(part: dict[str, Any], place: str = "") -> Iterator[str]:
    """Remove keys without a value from the settings of a paper, and yield an error message for each removed key. Such
    keys arise if YAML ends a string in braces at a comma.
    """
    kept = ""
    for key, value in list(part.items()):
        if value is None and kept in ("about", "alt", "beyond", "caption", "label", "title"):
            del part[key]
            yield (
                f"{place}{kept}: in braces, YAML ends a string at its first comma and reads {key!r} as a key: "
                f"write a block instead: `{kept}: >-`, with the string indented on the next line"
            )
            continue
        kept = key
        if isinstance(value, dict):
            yield from _cut_texts(value, f"{place}{key}.")


def _error(folder: Path, mistakes: list[tuple[str, str]]) -> PaperError:
    return PaperError("\n".join(f"papers/{folder.name}/{name}: {text}" for name, text in mistakes))


def _artefact(name: str, parts: dict[str, Any]) -> Artefact:
    table = figure = None
    if table_parts := parts.get("table"):
        listed = {key: tuple(table_parts[key]) for key in ("inputs", "programs")}
        table = Table(**table_parts | {"settings": table_parts.get("settings", name)} | listed)
    if drawn := parts.get("figure"):
        figure = Figure(**{"function": f"figures.{name}"} | drawn)
    return Artefact(name, parts["label"], table, figure)


def _wrong_parts(folder: Path, artefacts: tuple[Artefact, ...], settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    tables = {a.name for a in artefacts if a.table}
    for artefact in artefacts:
        place = f"artefacts.{artefact.name}"
        if not (artefact.table or artefact.figure):
            yield "paper.yaml", f"{place}: must have at least the key 'table', got neither 'table' nor 'figure'"
        if artefact.figure and not artefact.table and artefact.name != "agreement":
            yield "paper.yaml", f"{place}.figure: requires a table of the same name: add the key 'table'"
        for key, part in (("table", artefact.table), ("figure", artefact.figure)):
            if part:
                yield from _function(folder, part.function, f"{place}.{key}.function")
        if artefact.table and artefact.table.by == "summarise":
            yield from _function(folder, f"{artefact.table.module}.simulate", f"{place}.table.by")
        for name in artefact.table.inputs if artefact.table else ():
            if artefact.table and artefact.table.by == "gather":
                if not _GATHERED.fullmatch(name):
                    yield "paper.yaml", f"{place}.table.inputs: {name!r} must be <folder>/<setting that lists names>"
            elif name not in tables | {"published"}:
                yield (
                    "paper.yaml",
                    (
                        f"{place}.table.inputs: {name!r} is not a table of this paper. The tables are "
                        f"{', '.join(sorted(tables))}"
                    ),
                )
        for name in artefact.table.files.values() if artefact.table else ():
            if not (folder / name).is_file():
                yield name, f"is missing, but paper.yaml names this file at {place}.table.files"
    yield from _circles(artefacts)
    for name in set(settings) - {"definitions", "sections", "smoke"}:
        yield "settings.yaml", f"{name}: unknown key. The allowed keys are definitions, sections and smoke"
    for name in set(settings.get("sections") or {}) - {a.table.settings for a in artefacts if a.table}:
        if not (folder / "rules.smk").is_file():  # these may use sections in the rules of the paper
            yield (
                "settings.yaml",
                f"sections.{name}: no table in paper.yaml uses this section: remove or rename the section",
            )
    for file, name, holds in (("agreement.py", "ours", REQUIRED["agreement.py"]), ("errata.py", "ERRATA", _ERRATA)):
        if (folder / file).is_file() and name not in _names(folder / file):
            yield file, f"must define {name}. This file must contain {holds}"
    header = (folder / "published.tsv").read_text(encoding="utf-8").partition("\n")[0]
    if header != _PUBLISHED:
        yield "published.tsv", f"the first line must be {_PUBLISHED!r}, got {header!r}"


def _circles(artefacts: tuple[Artefact, ...]) -> Iterator[tuple[str, str]]:
    try:
        TopologicalSorter({a.name: a.table.inputs for a in artefacts if a.table}).prepare()
    except CycleError as error:
        yield "paper.yaml", f"the tables depend on each other in a cycle: {' -> '.join(error.args[1])}"


def _function(folder: Path, function: str, named_at: str) -> Iterator[tuple[str, str]]:
    module, _, name = function.partition(".")
    path = folder / f"{module}.py"
    if not path.is_file():
        yield f"{module}.py", f"is missing, but {named_at} names its function {name}"
    elif name not in _names(path):
        yield f"{module}.py", f"must contain the function {name}, which is named at {named_at}"


@cache
def _names(path: Path) -> frozenset[str]:
    """Return the names that a Python module defines or imports at top level. The names are found with regular
    expressions instead of a syntax tree.
    """
    names: set[str] = set()
    for defined, assigned, imported in _DEFINED.findall(path.read_text(encoding="utf-8")):
        listed = re.sub(r"#[^\n]*|[()]", " ", imported).split(",") if imported else [defined or assigned]
        names |= {words.split()[-1] for words in listed if words.strip()}
    return frozenset(names)
