"""The closing words of a run: what was made, what agrees with print, what was not run and why, where to look."""

from collections.abc import Sequence

import pandas as pd

from .agreement import VERDICTS


def text(agreement: pd.DataFrame, *, made: Sequence[str], papers: Sequence[str]) -> str:
    """A few lines for the terminal.

    Parameters
    ----------
    agreement : the agreement table. made : files of the run. papers : slugs that were run.
    """
    figures = sum(path.endswith(".png") for path in made)
    lines = [f"{len(papers)} paper(s): {', '.join(papers)}; {figures} figures, {len(made) - figures} tables."]
    counts = pd.crosstab(agreement["paper"], agreement["verdict"]).reindex(columns=list(VERDICTS), fill_value=0)
    lines += ["", "Printed numbers:", counts.to_string(index_names=False).replace("verdict", "       ", 1)]
    missing = agreement[agreement["verdict"] == "not_run"]
    if len(missing):
        lines += ["", "Not run:"]
        for (paper, note), rows in missing.groupby(["paper", "note"], sort=True):
            lines.append(f"  {paper}: {', '.join(sorted(set(rows['artefact'])))} ({len(rows)} numbers): {note}")
    lines += [
        "",
        "Look at: figures/<paper>/*.png, results/<paper>/*.csv, results/agreement.tsv (number by number, with",
        "reasons), results/config.effective.yaml (settings as used). One HTML report of it all: make report.",
    ]
    return "\n".join(lines) + "\n"
