"""The closing words of a run: what was made, what agrees with print, what was not run and why, where to look."""

from collections.abc import Mapping, Sequence

import pandas as pd

from dpmultinomial import _honesty

from .agreement import JUDGED, VERDICTS

_SAID = ("assumption", "density", "check")  # rows of a scenario that hold no answer
_FIT = ("prior and release", "release as stated")  # rows that say whether the release fits what was assumed
_NAMED = 4  # quantities named beside a state that must not be used


def text(
    agreement: pd.DataFrame,
    *,
    made: Sequence[str],
    papers: Sequence[str],
    scenarios: Mapping[str, pd.DataFrame] | None = None,
    batches: Mapping[str, pd.DataFrame] | None = None,
) -> str:
    """A few lines for the terminal.

    Parameters
    ----------
    agreement : the agreement table.
    made : files of the run.
    papers : slugs that were run.
    scenarios : words for a scenario, of a grid or not -> its table, with the columns quantity, status, note.
    batches : words for a batch -> its summary, with the columns status, tables.
    """
    figures = sum(path.endswith(".png") for path in made)
    lines = [f"{len(papers)} paper(s): {', '.join(papers)}; {figures} figures, {len(made) - figures} tables."]
    judged = agreement["kind"].isin(JUDGED)
    lines += ["", "Printed statements that were judged (numbers, claims, laws, curves):", _counts(agreement[judged])]
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
        lines += ["", "Scenarios, state of their answers:"]
        lines += [line for name, table in scenarios.items() for line in _scenario(name, table)]
    if batches:
        lines += ["", "Batches:", *(_batch(name, table) for name, table in batches.items())]
    lines += [
        "",
        "Look at: figures/<paper>/*.png, results/<paper>/*.csv, results/agreement.tsv (number by number, with",
        "reasons), results/config.effective.yaml (settings as used). All of it to read, offline: make report.",
    ]
    return "\n".join(lines) + "\n"


def _scenario(name: str, table: pd.DataFrame) -> list[str]:
    """How many answers are in which state, those not to be used by name; whether the release fits the assumptions."""
    kind = table["statistic"] if "statistic" in table else pd.Series("", index=table.index)
    rows = table[~kind.isin(_SAID)]
    status = (rows["status"] if "status" in rows else pd.Series("", index=rows.index)).fillna("").astype(str)
    known = [word for word in _honesty.WORDS if (status == word).any()]
    others = [word for word in dict.fromkeys(status) if word not in (*_honesty.WORDS, "")]
    found = ", ".join(f"{(status == word).sum():,} {word}" for word in [*known, *others])
    lines = [f"  {name}: {found or 'no state given'}"]
    failed = list(dict.fromkeys(rows.loc[status == "not converged", "quantity"].astype(str)))
    if failed:
        more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
        lines.append(f"    NOT CONVERGED, do not use: {', '.join(failed[:_NAMED])}{more}")
    if "note" in table:
        fit = table[table["quantity"].isin(_FIT)].dropna(subset="note").drop_duplicates(["quantity", "note"])
        said = [f"    {row.quantity}: {str(row.note).partition(';')[0]}" for row in fit.itertuples()]
        lines += said[:_NAMED] + ([f"    and {len(said) - _NAMED} more, in its table"] if len(said) > _NAMED else [])
    return lines


def _batch(name: str, table: pd.DataFrame) -> str:
    tables = table.set_index("status")["tables"]
    states = ", ".join(f"{n:,} {status}" for status, n in tables.iloc[2:].items() if not str(status).startswith("refu"))
    found = f"  {name}: {tables['tables']:,} tables; {states or 'none answered'}; {tables['refused']:,} refused"
    found += " (each says why in its own row)" if tables["refused"] else ""
    return f"{found}; do not use those not converged" if "not converged" in tables else found


def _counts(table: pd.DataFrame) -> str:
    """Verdicts by paper; columns without any are omitted."""
    counts = pd.crosstab(table["paper"], table["verdict"])
    shown = counts[[verdict for verdict in VERDICTS if verdict in counts]]
    return shown.to_string(index_names=False).replace("verdict", "       ", 1)
