"""The page of one scenario, in words: what was assumed, what was found, how far to trust it, what it does not say."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from dpmultinomial._honesty import LEVEL

from ..paper import Paper
from . import cells, clauses
from .files import Figure, Folder
from .gather import Run

# Values of the column `statistic`; a table without it has summaries alone.
ASSUMPTION, SUMMARY, CHECK = "assumption", "summary", "check"
TRUST = ("state of the answer", "prior and release", "influence of the prior", "sensitivity")
SILENT = "what this does not say"
_STANDS = re.compile(r"^answer: ")  # clauses that the table's own columns say
_NAMING = ("quantity", "node", "given", "category", "analysis")  # columns that say what a row is about
_ALWAYS_SILENT = (
    "Anything about a single person or record: the answer is about shares, totals and parameters.",
    "Anything that holds if the law of the noise or the model above is not the one that was used.",
)
_WORDS = {
    "exact": "Computed in closed form or by enumeration; only rounding is left.",
    "converged": "Drawn by a Markov chain that passed its checks: every effective sample size at least 400, every "
    "R-hat at most 1.01.",
    "not converged": "Drawn by a Markov chain that did not pass its checks: do not use these numbers.",
    "approximate": "A law with a stated error; the note says which.",
}


@dataclass(frozen=True)
class Finding:
    """One quantity: what was found, in numbers and in a sentence."""

    quantity: str
    estimate: str
    sd: str
    interval: str
    level: str
    status: str
    sentence: str
    note: str


@dataclass(frozen=True)
class ScenarioPage:
    """What the page of a scenario shows.

    Parameters
    ----------
    paper, name, settings : of the scenario, as configured.
    assumed, trust : (name, text).
    found : a row a quantity.
    silent : what it does not say.
    figure : None where there is none.
    release : name of the release it is about, if it is.
    files : (address, name) of its tables.
    made : its provenance.
    missing : command that makes it; empty where it was made.
    """

    paper: Paper
    name: str
    assumed: list[tuple[str, str]] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    trust: list[tuple[str, str]] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    figure: Figure | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    release: str = ""
    files: list[tuple[str, str]] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)
    missing: str = ""

    @property
    def address(self) -> str:
        """File of the page."""
        return f"scenario-{self.paper.slug}-{self.name}.html"

    @property
    def converged(self) -> bool:
        """Whether no quantity failed its checks."""
        return all(finding.status != "not converged" for finding in self.found)


def page(run: Run, paper: Paper, name: str, settings: dict[str, Any], folder: Folder) -> ScenarioPage:
    """The page of the scenario `name`, made or not."""
    path = f"results/{paper.slug}/scenario_{name}.csv"
    table = run.read(path)
    about = settings.get("release")
    release = about if isinstance(about, str) else ""
    if table is None:
        return ScenarioPage(paper, name, settings=settings, release=release, missing=f"snakemake --cores 1 {path}")
    drawn = f"figures/{paper.slug}/scenario_{name}.png"
    main, words = parted(table)
    every = main.to_dict("records")
    rows = [row for row in every if row.get("statistic") != CHECK]
    shared = clauses.shared(row.get("note") for row in rows)
    said = clauses.labelled(clause for clause in shared if not _STANDS.search(clause))
    densities = path.replace(".csv", "_densities.csv")
    return ScenarioPage(
        paper=paper,
        name=name,
        assumed=[pair for pair in [*words, *said] if pair[0] not in (*TRUST, SILENT)] + _levels(main),
        found=[_finding(row, _own(row, shared)) for row in rows],
        trust=[
            *_states(pd.DataFrame(rows)),
            *_checks(every, shared),
            *_influences(rows, shared),
            *(pair for pair in words if pair[0] in TRUST),
        ],
        silent=[text for key, text in words if key == SILENT] + list(_ALWAYS_SILENT),
        figure=folder.figure(drawn, alt=_alt(name, len(main)), caption=f"Scenario {name} of {paper.slug}."),
        settings=settings,
        release=release,
        files=[(href, p.rpartition("/")[2]) for p in (path, densities) if (href := folder.table(p))],
        made=run.provenance(paper.slug, f"scenario_{name}"),
    )


def parted(table: pd.DataFrame) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """(one row a quantity, the assumptions in words); points of densities are in neither."""
    kind = table["statistic"] if "statistic" in table else pd.Series(SUMMARY, index=table.index)
    words = table[kind == ASSUMPTION].to_dict("records")
    main = table[~kind.isin([ASSUMPTION, "density"])]
    return main, [(str(row["quantity"]), str(row["note"])) for row in words]


def _levels(main: pd.DataFrame) -> list[tuple[str, str]]:
    """The level of the intervals, in words."""
    if "level" not in main or main["level"].dropna().empty:
        return []
    found = " and ".join(f"{100 * level:g} %" for level in sorted(set(main["level"].dropna())))
    return [("level", f"intervals are central and hold {found} of the posterior probability")]


def _checks(rows: list[dict[Any, Any]], shared: list[str]) -> list[tuple[str, str]]:
    """What a table says about whether the release fits what is stated about it."""
    return [(str(row["quantity"]), _own(row, shared)) for row in rows if row.get("statistic") == CHECK]


def _own(row: dict[Any, Any], shared: list[str]) -> str:
    return "; ".join(clause for clause in clauses.of(row.get("note")) if clause not in shared)


def _influences(rows: list[dict[Any, Any]], shared: list[str]) -> list[tuple[str, str]]:
    weights = [("weight of the prior", clause) for clause in shared if clauses.WEIGHT.search(clause)]
    return weights + [(f"sensitivity, {other}", words) for other, words in clauses.influences(rows)]


def _finding(row: dict[Any, Any], note: str) -> Finding:
    values = {key: _number(row.get(key)) for key in ("mean", "sd", "lower", "upper", "level")}
    found = {key: cells.number(value, 4) for key, value in values.items()}
    known = bool(found["lower"] and found["upper"])
    level = values["level"] if found["level"] else LEVEL
    status = cells.text(row.get("status"))
    return Finding(
        quantity=_named(row),
        estimate=found["mean"],
        sd=found["sd"],
        interval=f"{found['lower']} to {found['upper']}" if known else "",
        level=f"{100 * level:g} %" if known else "",
        status=status,
        sentence=_sentence(_named(row), found, known, level, status),
        note=note,
    )


def _named(row: dict[Any, Any]) -> str:
    """The quantity, with the analysis it is of where a table has several."""
    given = {key: cells.text(row.get(key)) for key in _NAMING}
    about = [given.pop("quantity")] if given["quantity"] else [given["node"], given["given"], given["category"]]
    return ", ".join(filter(None, [*about, given["analysis"]]))


def _sentence(name: str, found: dict[str, str], known: bool, level: float, status: str) -> str:
    if status == "not converged":
        return f"The chain for {name} did not converge: this number must not be used."
    if known:
        middle = f", with mean {found['mean']}" if found["mean"] not in ("", "inf", "-inf") else ""
        return f"{name} lies between {found['lower']} and {found['upper']} with probability {level:g}{middle}."
    return f"{name}: {found['mean']}." if found["mean"] else ""


def _states(main: pd.DataFrame) -> Iterator[tuple[str, str]]:
    if "status" not in main:
        return
    for status, rows in main.groupby("status", sort=False):
        if str(status):
            yield str(status), f"{len(rows)} of {len(main)} rows. {_WORDS.get(str(status), '')}"


def _alt(name: str, rows: int) -> str:
    return f"Scenario {name}: what the {rows} quantities in the table on this page look like as laws or intervals."


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")
