"""Write a summary of the results at the end of a run. The summary lists the files that were written, the agreement with
the printed numbers, and the statements that were not run, with reasons.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dpmultinomial import _accuracy

from .agreement import CODE, PAPER, VERDICTS, WORDING

_GROUPS = {
    "Evidence for the papers (printed numbers, claims and curves, compared with ours)": PAPER,
    "Verbal statements, judged with thresholds chosen by this project": WORDING,
    "Evidence for the code (tests of the samples and curves of this project)": CODE,
    "Facts (true by definition, by arithmetic or because they were read from a file; not evidence)": ("fact",),
    "Interpretations that are stricter than the wording of the paper (not counted)": ("stricter",),
    "Not checked (timings, inputs chosen to match the paper, statements that follow from others)": (
        *("timing", "input", "derived"),
    ),
}
SCENARIOS = "Scenarios, with the accuracy of their numbers (results/scenarios/<name>.csv):"  # title of the last part
_NAMED = 4  # maximum number of warnings that are shown per scenario


def text(
    agreement: pd.DataFrame,
    *,
    made: Sequence[str],
    papers: Sequence[str],
    scenarios: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Return the text of the summary of a run for the terminal.

    Parameters
    ----------
    agreement : the agreement table.
    made : files that the run made.
    papers : slugs of the papers that were run.
    scenarios : dictionary from the name of each scenario to its metadata.
    """
    figures = sum(path.endswith(".png") for path in made)
    run_papers = f"{len(papers)} paper{'s' * (len(papers) > 1)}: {', '.join(papers)}" if papers else "No paper"
    lines = [f"{run_papers}; {figures} figures, {len(made) - figures} tables."]
    for title, kinds in _GROUPS.items():
        rows = agreement[agreement["kind"].isin(kinds)]
        if len(rows):
            lines += ["", f"{title}:", _counts(rows)]
    missing = agreement[agreement["verdict"] == "not_run"]
    if len(missing):
        lines += ["", "Not run:"]
        for (paper, note), rows in missing.groupby(["paper", "note"], sort=True):
            lines.append(f"  {paper}: {', '.join(sorted(set(rows['artefact'])))} ({len(rows)} numbers): {note}")
    if scenarios:
        lines += ["", SCENARIOS]
        lines += [line for name, facts in scenarios.items() for line in _scenario(name, facts)]
    lines += [
        "",
        "See figures/<paper>/*.png, results/<paper>/*.csv, results/agreement.tsv (each number, with the reason),",
        "and results/config.effective.yaml (settings used). To read everything offline: make report.",
    ]
    return "\n".join(lines) + "\n"


def _scenario(name: str, facts: Mapping[str, Any]) -> list[str]:
    """Return lines of text that state the accuracy of the results of a scenario, with warnings."""
    if "tables" in facts:
        return [_batch(name, facts["tables"])]
    counted: dict[str, int] = {}
    for state in (state for point in facts["points"] for state in point["accuracy"]):
        counted[state["status"]] = counted.get(state["status"], 0) + state["rows"]
    known = [word for word in (*_accuracy.STATUSES, *counted) if word in counted]
    lines = [f"  {name}: {', '.join(f'{counted[word]:,} {word}' for word in dict.fromkeys(known)) or 'no numbers'}"]
    if "not converged" in counted:
        lines.append("    NOT CONVERGED: do not use the numbers with this status")
    suspect = [point["fit"]["sentence"] for point in facts["points"] if (point.get("fit") or {}).get("suspect")]
    checks = [point["conflict"] for point in facts["points"] if (point.get("conflict") or {}).get("found")]
    suspect += [f"CONFLICT: improbable under the noise and prior: {', '.join(check['names'])}" for check in checks]
    lines += [f"    {text}" for text in dict.fromkeys(suspect)][:_NAMED]
    return lines


def _batch(name: str, tables: Mapping[str, Any]) -> str:
    good = {status: n for status, n in tables["statuses"].items() if not status.startswith("refused")}
    states = ", ".join(f"{n:,} {status}" for status, n in good.items()) or "none completely analysed"
    line = f"  {name}: {tables['all']:,} table{'s' * (tables['all'] != 1)}; {states}; {tables['refused']:,} rejected"
    line += " in whole or in part (the rows state the reasons)" if tables["refused"] else ""
    line += f"; {tables['conflicts']:,} in CONFLICT (column conflict)" if tables.get("conflicts") else ""
    line += f"; {tables['warned']:,} with warnings (column warnings)" if tables.get("warned") else ""
    return f"{line}; do not use the numbers that did not converge" if "not converged" in good else line


def _counts(table: pd.DataFrame) -> str:
    """Return the number of statements for each paper and each verdict, as a table in text form. Verdicts that do not
    occur are omitted.
    """
    counts = pd.crosstab(table["paper"], table["verdict"])
    shown = counts[[verdict for verdict in VERDICTS if verdict in counts]]
    return shown.to_string(index_names=False).replace("verdict", "       ", 1)
