"""Render every page of a report from a template, and copy the required styles, scripts and files.

The start page shows what was run, the verdicts by paper, and the most important results. Another page shows settings
and versions.
"""

import base64
import json
import shutil
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import itables
import matplotlib
import pandas as pd
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dpmultinomial import __version__

from .. import paper as folders
from ..verdicts.agreement import JUDGED
from . import papers, scenarios, score, statements
from .files import Folder, Run
from .papers import PaperPage
from .scenarios import ScenarioPage
from .statements import Statement

HERE = Path(__file__).resolve().parent
FONT = "fonts/ttf/DejaVuSerif.ttf"  # for formulas, if the reader does not have a mathematical font


def write(root: Path, target: Path) -> Path:
    """Write the report of the run in the folder `root`, and return the path of its first page.

    Parameters
    ----------
    root : folder with ``results/``, ``figures/`` and ``releases/``; missing results are listed in the report.
    target : folder of the report; its content is replaced.

    Returns
    -------
    Path of the first page.
    """
    shutil.rmtree(target, ignore_errors=True)
    folder = Folder(root, target)
    for name, context in _pages(Run(root), folder):
        template = _environment().get_template(f"{context.pop('template')}.html")
        folder.write(name, template.render(**context, here=name))
    for path in sorted((HERE / "static").iterdir()):
        folder.write(f"assets/{path.name}", path.read_bytes())
    folder.write("assets/datatables.css", (files(itables) / "html/dt_bundle.css").read_bytes())
    folder.write("assets/formulas.ttf", Path(matplotlib.get_data_path(), FONT).read_bytes())
    return target / "index.html"


def _pages(run: Run, folder: Folder) -> list[tuple[str, dict[str, Any]]]:
    """Return a list with a pair (file, variables of its template) for every page of the report."""
    labels = {(p.slug, a.name): a.label for p in folders.discover().values() for a in p.artefacts}
    stated = statements.listed(run.agreement, labels)
    of = {p.slug: [s for s in stated if s.paper == p.slug] for p in run.papers}
    paper_pages = [papers.page(run, paper, of[paper.slug], folder) for paper in run.papers]
    pages = [
        scenarios.page(run, name, settings, folder) for name, settings in (run.config.get("scenarios") or {}).items()
    ]
    used = [(case.release, case.address, case.name) for case in pages]
    released = [
        scenarios.release_page(run, name, settings, [(a, text) for r, a, text in used if r == name], folder)
        for name, settings in (run.config.get("releases") or {}).items()
    ]
    shared = {
        "papers": paper_pages,
        "scenarios": pages,
        "releases": released,
        "made": made(run),
        "version": __version__,
    }
    return [
        ("index.html", shared | _first(run, stated, paper_pages, pages) | {"template": "index"}),
        ("agreement.html", shared | _agreement(stated) | {"template": "agreement"}),
        ("settings.html", shared | {"template": "settings", "sections": settings(run)}),
        *((page.address, shared | {"template": "paper", "page": page}) for page in paper_pages),
        *((page.address, shared | {"template": "scenario", "page": page}) for page in pages),
        *((page.address, shared | {"template": "release", "page": page}) for page in released),
    ]


def _first(
    run: Run,
    stated: list[statements.Statement],
    paper_pages: list[papers.PaperPage],
    cases: list[scenarios.ScenarioPage],
) -> dict[str, Any]:
    return {
        "differs": [s for s in stated if s.verdict.name in ("differs", "undecided") and s.kind in JUDGED],
        "not_run": not_run(stated),
        "not_converged": not_converged(run, paper_pages, cases),
        "score": score.sentence(stated) if stated else "",
        "groups": score.groups(stated),
        "all_verdicts": statements.ALL,
        "config": run.config,
    }


def _agreement(stated: list[statements.Statement]) -> dict[str, Any]:
    """Return the template variables of the page that lists all statements. The script DataTables is embedded, since a
    page opened from disk cannot load a module.
    """
    bundle = (files(itables) / "html/dt_bundle.js").read_bytes()
    return {
        "statements": stated,
        "datatables": base64.b64encode(bundle).decode("ascii"),
        "all_verdicts": statements.ALL,
    }


def _environment() -> Environment:
    """Return a template environment that escapes all values and raises an error for an undefined name."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["yaml"] = as_yaml
    return environment


NOT_CONVERGED = "not converged"


@dataclass(frozen=True)
class NotConverged:
    """Table of results that contains rows with a failed convergence check, with the number of these rows."""

    paper: str
    label: str
    rows: int
    address: str


@dataclass(frozen=True)
class NotRun:
    """Group of statements of a paper that were not computed, all for the same reason."""

    paper: str
    reason: str
    statements: list[Statement]

    @property
    def artefacts(self) -> dict[str, str]:
        """Return a mapping from the label of each artefact to which the statements refer to the address of the
        artefact.
        """
        return {statement.label: statement.address for statement in self.statements}


@dataclass(frozen=True)
class Made:
    """Numbers of tables that were computed at each commit, with each version of each package, with each seed and on
    each platform.
    """

    tables: int
    commits: dict[str, int]
    versions: dict[str, dict[str, int]]
    seeds: dict[str, int]
    platforms: dict[str, int]

    @property
    def mixed(self) -> bool:
        """Return whether the tables of results were computed with more than one commit of the source code."""
        return len(self.commits) > 1


def not_run(statements: list[Statement]) -> list[NotRun]:
    """Return the statements that were not computed, grouped by paper and reason."""
    groups: dict[tuple[str, str], list[Statement]] = {}
    for statement in statements:
        if statement.verdict.name == "not_run":
            groups.setdefault((statement.paper, statement.note), []).append(statement)
    return [NotRun(paper, note, rows) for (paper, note), rows in groups.items()]


def not_converged(run: Run, pages: list[PaperPage], cases: list[ScenarioPage]) -> list[NotConverged]:
    """Return the tables of papers and scenarios with at least one row that has the status `NOT_CONVERGED`."""
    unconverged = []
    for page in pages:
        for shown in page.artefacts:
            table = run.read(f"results/{page.paper.slug}/{shown.name}.csv")
            rows = failed(table)
            if rows:
                address = f"{page.address}#{shown.name}"
                unconverged.append(NotConverged(page.paper.slug, shown.label, rows, address))
    for case in cases:
        rows = case.unusable
        if rows:
            unconverged.append(NotConverged("scenarios", case.name, rows, case.address))
    return unconverged


def failed(table: pd.DataFrame | None) -> int:
    """Return the number of rows of a table with the status `NOT_CONVERGED`."""
    if table is None or "status" not in table:
        return 0
    return int(table["status"].astype(str).eq(NOT_CONVERGED).sum())


def made(run: Run) -> Made:
    """Return the numbers of tables by commit, package version, seed and platform, as stated in the provenance records
    of the run.
    """
    records: list[dict[str, Any]] = []
    results = run.root / "results"
    paths = [path for paper in run.papers for path in sorted((results / paper.slug).glob("*.provenance.json"))]
    for section in ("scenarios", "plans"):
        cases = [results / section / f"{name}.provenance.json" for name in run.config.get(section) or {}]
        paths += [path for path in cases if path.is_file()]
    for path in paths:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        records += [record] if "settings" in record else []
    packages = sorted({name for record in records for name in record.get("packages", {})})
    versions = {name: _counted(record.get("packages", {}).get(name) for record in records) for name in packages}
    main_versions = {key: _counted(record.get(key) for record in records) for key in ("dpmultinomial", "python")}
    return Made(
        tables=len(records),
        commits=_counted(record.get("commit") for record in records),
        versions=main_versions | versions,
        seeds=_counted(record.get("root_seed") for record in records),
        platforms=_counted(f"{record.get('platform')}, {record.get('machine')}" for record in records),
    )


def settings(run: Run) -> list[tuple[str, str]]:
    """Return a pair (section, YAML) for each section of the configuration of the run. The top-level settings come
    first.
    """
    top = {key: value for key, value in run.config.items() if not isinstance(value, dict)}
    sections = {key: value for key, value in run.config.items() if isinstance(value, dict)}
    return [("all", as_yaml(top)), *((key, as_yaml(value)) for key, value in sections.items())] if run.config else []


def as_yaml(value: Any) -> str:
    """Return settings as YAML text, in the form that a user would write."""
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=100, allow_unicode=True).strip()


def _counted(values: Any) -> dict[str, int]:
    return dict(Counter(str(value) for value in values if value is not None))
