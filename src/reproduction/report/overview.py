"""The start page: what was run, verdicts by paper, and what to look at first; and the page of settings and versions."""

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
    """A row of a table whose answer did not pass its checks."""

    paper: str
    label: str
    rows: int
    address: str


@dataclass(frozen=True)
class NotRun:
    """Statements that were not computed, for one reason."""

    paper: str
    reason: str
    statements: list[Statement]

    @property
    def artefacts(self) -> dict[str, str]:
        """Label -> address of their artefacts."""
        return {statement.label: statement.address for statement in self.statements}


@dataclass(frozen=True)
class Made:
    """What the provenance of all tables says together: value -> number of tables."""

    tables: int
    commits: dict[str, int]
    versions: dict[str, dict[str, int]]
    seeds: dict[str, int]
    platforms: dict[str, int]

    @property
    def mixed(self) -> bool:
        """Whether tables of several commits lie beside each other."""
        return len(self.commits) > 1


def not_run(statements: list[Statement]) -> list[NotRun]:
    """Statements without an answer, grouped by paper and reason."""
    groups: dict[tuple[str, str], list[Statement]] = {}
    for statement in statements:
        if statement.verdict.name == "not_run":
            groups.setdefault((statement.paper, statement.note), []).append(statement)
    return [NotRun(paper, note, rows) for (paper, note), rows in groups.items()]


def not_converged(run: Run, pages: list[PaperPage], cases: list[ScenarioPage]) -> list[NotConverged]:
    """Tables of papers and of scenarios with rows whose status is `NOT_CONVERGED`."""
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
    """Rows of a table that say that they did not converge."""
    if table is None or "status" not in table:
        return 0
    return int(table["status"].astype(str).eq(NOT_CONVERGED).sum())


def made(run: Run) -> Made:
    """Versions, seed and commit of every table of the run."""
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
    """(section, YAML) of the configuration as used; what stands at its top first."""
    top = {key: value for key, value in run.config.items() if not isinstance(value, dict)}
    sections = {key: value for key, value in run.config.items() if isinstance(value, dict)}
    return [("all", as_yaml(top)), *((key, as_yaml(value)) for key, value in sections.items())] if run.config else []


def as_yaml(value: Any) -> str:
    """Settings as a user would write them."""
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=100, allow_unicode=True).strip()


def _counted(values: Any) -> dict[str, int]:
    return dict(Counter(str(value) for value in values if value is not None))
