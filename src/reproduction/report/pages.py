"""Render every page of a report from its template, and copy the required styles, scripts and files."""

import base64
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import itables
import matplotlib
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dpmultinomial import __version__

from .. import paper as folders
from ..verdicts.agreement import JUDGED
from . import overview, papers, releases, scenarios, score, statements
from .files import Folder, Run

HERE = Path(__file__).resolve().parent
FONT = "fonts/ttf/DejaVuSerif.ttf"  # for formulas if the reader has no mathematical font


def write(root: Path, target: Path) -> Path:
    """Write the report of the run in `root`.

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
    """Yield (file, variables of its template) for every page."""
    labels = {(p.slug, a.name): a.label for p in folders.discover().values() for a in p.artefacts}
    stated = statements.listed(run.agreement, labels)
    of = {p.slug: [s for s in stated if s.paper == p.slug] for p in run.papers}
    paper_pages = [papers.page(run, paper, of[paper.slug], folder) for paper in run.papers]
    pages = [
        scenarios.page(run, name, settings, folder) for name, settings in (run.config.get("scenarios") or {}).items()
    ]
    used = [(case.release, case.address, case.name) for case in pages]
    released = [
        releases.page(run, name, settings, [(a, text) for r, a, text in used if r == name], folder)
        for name, settings in (run.config.get("releases") or {}).items()
    ]
    shared = {
        "papers": paper_pages,
        "scenarios": pages,
        "releases": released,
        "made": overview.made(run),
        "version": __version__,
    }
    return [
        ("index.html", shared | _first(run, stated, paper_pages, pages) | {"template": "index"}),
        ("agreement.html", shared | _agreement(stated) | {"template": "agreement"}),
        ("settings.html", shared | {"template": "settings", "sections": overview.settings(run)}),
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
        "not_run": overview.not_run(stated),
        "not_converged": overview.not_converged(run, paper_pages, cases),
        "score": score.sentence(stated) if stated else "",
        "groups": score.groups(stated),
        "all_verdicts": statements.ALL,
        "config": run.config,
    }


def _agreement(stated: list[statements.Statement]) -> dict[str, Any]:
    """Return the page of all statements, with the script DataTables embedded, since a page opened from disk cannot load
    a module.
    """
    bundle = (files(itables) / "html/dt_bundle.js").read_bytes()
    return {
        "statements": stated,
        "datatables": base64.b64encode(bundle).decode("ascii"),
        "all_verdicts": statements.ALL,
    }


def _environment() -> Environment:
    """Return a template environment that escapes all values and raises an error for an undefined name."""
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["yaml"] = overview.as_yaml
    return found
