"""Start page of a report (what was run, verdicts by paper, and the results to look at first), and page of settings and
versions.
"""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pandas as pd
import yaml

from .files import Run
from .papers import PaperPage
from .scenarios import ScenarioPage
from .statements import Statement

NOT_CONVERGED = "not converged"


@dataclass(frozen=True)
class NotConverged:
    """Number of table rows of a result that did not pass their convergence checks."""

    paper: str
    label: str
    rows: int
    address: str


@dataclass(frozen=True)
class NotRun:
    """Statements of a paper that were not computed for the same reason."""

    paper: str
    reason: str
    statements: list[Statement]

    @property
    def artefacts(self) -> dict[str, str]:
        """Return a mapping from label to address for the artefacts of the statements."""
        return {statement.label: statement.address for statement in self.statements}


@dataclass(frozen=True)
class Made:
    """Summary of the provenance of all tables: the number of tables for each value."""

    tables: int
    commits: dict[str, int]
    versions: dict[str, dict[str, int]]
    seeds: dict[str, int]
    platforms: dict[str, int]

    @property
    def mixed(self) -> bool:
        """Return whether the tables come from several commits."""
        return len(self.commits) > 1


def not_run(statements: list[Statement]) -> list[NotRun]:
    """Return the statements that were not computed, grouped by paper and reason."""
    groups: dict[tuple[str, str], list[Statement]] = {}
    for statement in statements:
        if statement.verdict.name == "not_run":
            groups.setdefault((statement.paper, statement.note), []).append(statement)
    return [NotRun(paper, note, rows) for (paper, note), rows in groups.items()]


def not_converged(run: Run, pages: list[PaperPage], cases: list[ScenarioPage]) -> list[NotConverged]:
    """Return the tables of papers and scenarios that have rows with the status `NOT_CONVERGED`."""
    found = []
    for page in pages:
        for shown in page.artefacts:
            table = run.read(f"results/{page.paper.slug}/{shown.name}.csv")
            rows = failed(table)
            if rows:
                address = f"{page.address}#{shown.name}"
                found.append(NotConverged(page.paper.slug, shown.label, rows, address))
    for case in cases:
        rows = case.unusable
        if rows:
            found.append(NotConverged("scenarios", case.name, rows, case.address))
    return found


def failed(table: pd.DataFrame | None) -> int:
    """Return the number of rows of a table with the status `NOT_CONVERGED`."""
    if table is None or "status" not in table:
        return 0
    return int(table["status"].astype(str).eq(NOT_CONVERGED).sum())


def made(run: Run) -> Made:
    """Return the versions, seeds and commits of all tables of the run."""
    records: list[dict[str, Any]] = []
    for paper in run.papers:
        for path in sorted((run.root / "results" / paper.slug).glob("*.provenance.json")):
            record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            records += [record] if "settings" in record else []
    packages = sorted({name for record in records for name in record.get("packages", {})})
    versions = {name: _counted(record.get("packages", {}).get(name) for record in records) for name in packages}
    own = {key: _counted(record.get(key) for record in records) for key in ("dpmultinomial", "python")}
    return Made(
        tables=len(records),
        commits=_counted(record.get("commit") for record in records),
        versions=own | versions,
        seeds=_counted(record.get("root_seed") for record in records),
        platforms=_counted(f"{record.get('platform')}, {record.get('machine')}" for record in records),
    )


def settings(run: Run) -> list[tuple[str, str]]:
    """Return (section, YAML) for each section of the configuration that the run used; top-level settings come first."""
    top = {key: value for key, value in run.config.items() if not isinstance(value, dict)}
    sections = {key: value for key, value in run.config.items() if isinstance(value, dict)}
    return [("all", as_yaml(top)), *((key, as_yaml(value)) for key, value in sections.items())] if run.config else []


def as_yaml(value: Any) -> str:
    """Return settings in the form that a user would write."""
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=100, allow_unicode=True).strip()


def _counted(values: Any) -> dict[str, int]:
    return dict(Counter(str(value) for value in values if value is not None))
