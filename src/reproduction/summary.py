"""The closing words of a run: what was made, what agrees with print, what was not run and why, where to look."""

from collections.abc import Mapping, Sequence

import pandas as pd

from .agreement import JUDGED, VERDICTS


def text(
    agreement: pd.DataFrame,
    *,
    made: Sequence[str],
    papers: Sequence[str],
    batches: Mapping[str, pd.DataFrame] | None = None,
) -> str:
    """A few lines for the terminal.

    Parameters
    ----------
    agreement : the agreement table. made : files of the run. papers : slugs that were run.
    batches : words for a batch -> its summary, with the columns status, tables.
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
    if batches:
        lines += ["", "Batches:", *(_batch(name, table) for name, table in batches.items())]
    lines += [
        "",
        "Look at: figures/<paper>/*.png, results/<paper>/*.csv, results/agreement.tsv (number by number, with",
        "reasons), results/config.effective.yaml (settings as used). All of it to read, offline: make report.",
    ]
    return "\n".join(lines) + "\n"


def _batch(name: str, table: pd.DataFrame) -> str:
    tables = table.set_index("status")["tables"]
    states = ", ".join(f"{n:,} {status}" for status, n in tables.iloc[2:].items() if not str(status).startswith("refu"))
    found = f"  {name}: {tables['tables']:,} tables; {states or 'none answered'}; {tables['refused']:,} refused"
    return f"{found} (each says why in its own row)" if tables["refused"] else found


def _counts(table: pd.DataFrame) -> str:
    """Verdicts by paper; columns without any are left out."""
    counts = pd.crosstab(table["paper"], table["verdict"])
    shown = counts[[verdict for verdict in VERDICTS if verdict in counts]]
    return shown.to_string(index_names=False).replace("verdict", "       ", 1)
