"""The closing words of a run: what was made, what agrees with print, what was not run and why, where to look."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dpmultinomial import _accuracy

from .agreement import JUDGED, VERDICTS

_NAMED = 4  # misfits of a scenario that are told


def text(
    agreement: pd.DataFrame,
    *,
    made: Sequence[str],
    papers: Sequence[str],
    scenarios: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """A few lines for the terminal.

    Parameters
    ----------
    agreement : the agreement table.
    made : files of the run.
    papers : slugs that were run.
    scenarios : name of a scenario -> its facts.
    """
    figures = sum(path.endswith(".png") for path in made)
    some = f"{len(papers)} paper{'s' * (len(papers) > 1)}: {', '.join(papers)}" if papers else "No paper"
    lines = [f"{some}; {figures} figures, {len(made) - figures} tables."]
    judged = agreement["kind"].isin(JUDGED)
    if judged.any():
        lines += [
            "",
            "Printed statements that were judged (numbers, claims, laws, curves):",
            _counts(agreement[judged]),
        ]
    facts = agreement["kind"] == "fact"
    if facts.any():
        lines += ["", "Facts (true by definition, arithmetic or the file that is read; no evidence):"]
        lines.append(_counts(agreement[facts]))
    judged |= facts
    if len(agreement[~judged]):
        lines += ["", "Not judged (timings, inputs chosen to match print, what follows from others):"]
        lines.append(_counts(agreement[~judged]))
    missing = agreement[agreement["verdict"] == "not_run"]
    if len(missing):
        lines += ["", "Not run:"]
        for (paper, note), rows in missing.groupby(["paper", "note"], sort=True):
            lines.append(f"  {paper}: {', '.join(sorted(set(rows['artefact'])))} ({len(rows)} numbers): {note}")
    if scenarios:
        lines += ["", "Scenarios, state of their answers (results/scenarios/<name>.csv):"]
        lines += [line for name, facts in scenarios.items() for line in _scenario(name, facts)]
    lines += [
        "",
        "Look at: figures/<paper>/*.png, results/<paper>/*.csv, results/agreement.tsv (number by number, with",
        "reasons), results/config.effective.yaml (settings as used). All of it to read, offline: make report.",
    ]
    return "\n".join(lines) + "\n"


def _scenario(name: str, facts: Mapping[str, Any]) -> list[str]:
    """How many answers are in which state, those not to be used by name; whether the release fits what is stated."""
    if "tables" in facts:
        return [_batch(name, facts["tables"])]
    counted: dict[str, int] = {}
    for state in (state for point in facts["points"] for state in point["accuracy"]):
        counted[state["status"]] = counted.get(state["status"], 0) + state["rows"]
    known = [word for word in (*_accuracy.STATUSES, *counted) if word in counted]
    lines = [f"  {name}: {', '.join(f'{counted[word]:,} {word}' for word in dict.fromkeys(known)) or 'no numbers'}"]
    if "not converged" in counted:
        lines.append("    NOT CONVERGED: do not use those numbers")
    suspect = [point["fit"]["sentence"] for point in facts["points"] if (point.get("fit") or {}).get("suspect")]
    lines += [f"    {text}" for text in dict.fromkeys(suspect)][:_NAMED]
    return lines


def _batch(name: str, tables: Mapping[str, Any]) -> str:
    good = {status: n for status, n in tables["statuses"].items() if not status.startswith("refused")}
    states = ", ".join(f"{n:,} {status}" for status, n in good.items()) or "none answered"
    found = f"  {name}: {tables['all']:,} tables; {states}; {tables['refused']:,} refused"
    found += " (each says why in its own row)" if tables["refused"] else ""
    return f"{found}; do not use those not converged" if "not converged" in good else found


def _counts(table: pd.DataFrame) -> str:
    """Verdicts by paper; columns without any are omitted."""
    counts = pd.crosstab(table["paper"], table["verdict"])
    shown = counts[[verdict for verdict in VERDICTS if verdict in counts]]
    return shown.to_string(index_names=False).replace("verdict", "       ", 1)
