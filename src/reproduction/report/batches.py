"""The page of one batch: how many tables, how wide the answers are, which tables failed and why."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ..paper import Paper
from . import cells
from .files import Figure, Folder
from .gather import Run

REFUSED = "refused"
_TAILS = {"narrowest": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "widest": 1.0}
_MOST_REASONS = 20


@dataclass(frozen=True)
class BatchPage:
    """What the page of a batch shows.

    Parameters
    ----------
    paper, name, settings : of the batch, as configured.
    tables, failed : numbers of tables.
    statuses : (status, rows).
    reasons : (why refused, tables, one of them).
    level : of the intervals.
    widths : distribution of the intervals' widths by category.
    first, summary : tables as the run made them.
    figure : None where there is none.
    missing : command that makes it; empty where it was made.
    """

    paper: Paper
    name: str
    tables: int = 0
    failed: int = 0
    statuses: list[tuple[str, int]] = field(default_factory=list)
    reasons: list[tuple[str, int, str]] = field(default_factory=list)
    level: str = ""
    widths: cells.Table | None = None
    first: cells.Table | None = None
    summary: cells.Table | None = None
    figure: Figure | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    missing: str = ""

    @property
    def address(self) -> str:
        """File of the page."""
        return f"batch-{self.paper.slug}-{self.name}.html"


def page(run: Run, paper: Paper, name: str, settings: dict[str, Any], folder: Folder) -> BatchPage:
    """The page of the batch `name`, made or not."""
    path = f"results/{paper.slug}/batch_{name}.csv"
    table = run.read(path)
    if table is None:
        return BatchPage(paper, name, settings=settings, missing=f"snakemake --cores 1 {path}")
    refused = table[table["status"].astype(str).str.startswith(REFUSED)]
    good = table.drop(refused.index)
    counted = path.replace(".csv", "_summary.csv")
    summary = run.read(counted)
    drawn = f"figures/{paper.slug}/batch_{name}.png"
    alt = f"Batch {name}: the posterior intervals of all its tables at once."
    levels = sorted(set(good["level"].dropna())) if "level" in good else []
    return BatchPage(
        paper=paper,
        name=name,
        tables=int(table["table"].nunique()),
        failed=int(refused["table"].nunique()),
        statuses=[(str(status), int(rows)) for status, rows in good["status"].value_counts().items()],
        reasons=reasons(refused),
        level=", ".join(f"{100 * level:g} %" for level in levels),
        widths=cells.shown(widths(good)),
        first=cells.shown(table, file=folder.table(path), path=path),
        summary=None if summary is None else cells.shown(summary, file=folder.table(counted), path=counted),
        figure=folder.figure(drawn, alt=alt, caption="Posterior intervals of all tables."),
        settings=settings,
    )


def widths(good: pd.DataFrame) -> pd.DataFrame:
    """Distribution of upper - lower over all rows and, up to 30 of them, in each category."""
    width = (good["upper"] - good["lower"]).rename("width")
    by = [name for name in ("category", "quantity") if name in good][:1]
    groups = width.groupby(good[by[0]], sort=False) if by and good[by[0]].nunique() <= cells.ROWS_WHOLE else None
    rows = [{"of": "all", **_parts(width)}]
    rows += [{"of": str(name), **_parts(part)} for name, part in groups] if groups is not None else []
    return pd.DataFrame(rows)


def reasons(refused: pd.DataFrame) -> list[tuple[str, int, str]]:
    """(why, tables, one of them), the most frequent first."""
    why = refused["status"].astype(str).str.removeprefix(f"{REFUSED}:").str.strip()
    found = [(str(reason), int(t.nunique()), str(t.iloc[0])) for reason, t in refused["table"].groupby(why)]
    return sorted(found, key=lambda row: -row[1])[:_MOST_REASONS]


def _parts(width: pd.Series) -> dict[str, float]:
    return {"rows": len(width)} | {name: float(width.quantile(q)) for name, q in _TAILS.items()}
