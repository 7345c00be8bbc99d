"""The closing words of a run: what was made, what agrees with print, what was not run and why, where to look."""

from collections.abc import Sequence

import pandas as pd

from .agreement import JUDGED, VERDICTS


def text(agreement: pd.DataFrame, *, made: Sequence[str], papers: Sequence[str]) -> str:
    """A few lines for the terminal.

    Parameters
    ----------
    agreement : the agreement table. made : files of the run. papers : slugs that were run.
    """
    figures = sum(path.endswith(".png") for path in made)
    lines = [f"{len(papers)} paper(s): {', '.join(papers)}; {figures} figures, {len(made) - figures} tables."]
    judged = agreement["kind"].isin(JUDGED)
    lines += ["", "Printed statements that were judged (numbers, claims, laws, curves):", _counts(agreement[judged])]
    if len(agreement[~judged]):
        lines += ["", "Not judged (timings, inputs chosen to match print, what follows from others):"]
        lines.append(_counts(agreement[~judged]))
    missing = agreement[agreement["verdict"] == "not_run"]
    if len(missing):
        lines += ["", "Not run:"]
        for (paper, note), rows in missing.groupby(["paper", "note"], sort=True):
            lines.append(f"  {paper}: {', '.join(sorted(set(rows['artefact'])))} ({len(rows)} numbers): {note}")
    lines += [
        "",
        "Look at: figures/<paper>/*.png, results/<paper>/*.csv, results/agreement.tsv (number by number, with",
        "reasons), results/config.effective.yaml (settings as used). All of it to read, offline: make report.",
    ]
    return "\n".join(lines) + "\n"


def _counts(table: pd.DataFrame) -> str:
    """Verdicts by paper; columns without any are left out."""
    counts = pd.crosstab(table["paper"], table["verdict"])
    shown = counts[[verdict for verdict in VERDICTS if verdict in counts]]
    return shown.to_string(index_names=False).replace("verdict", "       ", 1)
