"""Printed numbers beside ours: does a paper's number reproduce, by which variant, and if not, why.

Verdicts: ``reproduced`` (text or corrected method gives the printed number), ``reproduced_by_slip`` (only an emulated
slip does), ``differs`` (a reason is in the note), ``not_stated`` (the paper prints no number), ``not_run`` (ours is
missing in this run; the note says why).
"""

from typing import Any

import numpy as np
import pandas as pd

PUBLISHED = ("artefact", "quantity", "value", "digits", "place")
OURS = ("artefact", "quantity", "variant", "ours", "mc_se", "note")
COLUMNS = (
    *("paper", "artefact", "quantity", "printed", "printed_digits", "ours", "mc_se", "z"),
    *("variant", "verdict", "note", "place"),
)
VERDICTS = ("reproduced", "reproduced_by_slip", "differs", "not_stated", "not_run")
VARIANTS = ("corrected", "as_written", "published")  # the order in which a number is looked for
_LARGEST_Z = 3.0


def computed(
    artefact: str, quantity: str, value: float, note: str = "", variant: str = "corrected", mc_se: float = 0.0
) -> dict[str, Any]:
    """One computed number: a row of the table that a paper's ``agreement.ours`` returns (columns `OURS`)."""
    values = (artefact, quantity, variant, float(value), float(mc_se), note)
    return dict(zip(OURS, values, strict=True))


def compare(published: pd.DataFrame, ours: pd.DataFrame, *, paper: str) -> pd.DataFrame:
    """One row per printed number.

    Parameters
    ----------
    published : columns artefact, quantity, value (NaN: nothing printed), digits (decimals printed, may be negative),
        place.
    ours : columns artefact, quantity, variant, ours (NaN: not run), mc_se, note; one or more variants a quantity. mc_se
        holds all simulation error of the difference, that of the printed number included.
    paper : slug.

    Returns
    -------
    DataFrame with `COLUMNS`. z = (ours - printed)/sqrt(mc_se^2 + 10^(-2 digits)/12). Without simulation error a number
    is reproduced if it rounds to the printed one, with it if \\|z\\| <= 3.

    Raises
    ------
    ValueError
        If the two tables do not name the same quantities, or a variant is unknown.
    """
    keys = ["artefact", "quantity"]
    printed, found = (set(map(tuple, table[keys].to_numpy())) for table in (published, ours))
    if printed != found or published.duplicated(keys).any():
        raise ValueError(
            f"{paper}: published and computed numbers must pair up; only printed {sorted(printed - found)}, "
            f"only computed {sorted(found - printed)}"
        )
    if unknown := set(ours["variant"]) - set(VARIANTS):
        raise ValueError(f"{paper}: unknown variants {sorted(unknown)}; allowed are {', '.join(VARIANTS)}")
    groups = dict(iter(ours.groupby(keys, sort=False)))
    rows = [_row(number, groups[number.artefact, number.quantity], paper) for number in published.itertuples()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(number: Any, candidates: pd.DataFrame, paper: str) -> dict[str, Any]:
    order = candidates.assign(rank=candidates["variant"].map(VARIANTS.index)).sort_values("rank", kind="stable")
    judged = [(*_judge(number, row), row) for row in order.itertuples()]
    good = [j for j in judged if j[0].startswith("reproduced")]
    verdict, z, row = good[0] if good else judged[0]
    return {
        **{"paper": paper, "artefact": number.artefact, "quantity": number.quantity, "printed": number.value},
        **{"printed_digits": number.digits, "ours": row.ours, "mc_se": row.mc_se, "z": z},
        **{"variant": row.variant, "verdict": verdict, "note": row.note, "place": number.place},
    }


def _judge(number: Any, row: Any) -> tuple[str, float]:
    if np.isnan(row.ours):
        return "not_run", np.nan
    if np.isnan(number.value):
        return "not_stated", np.nan
    unit = 10.0 ** -float(number.digits)
    gap = row.ours - number.value
    z = gap / np.hypot(row.mc_se, unit / np.sqrt(12))
    agrees = abs(z) <= _LARGEST_Z if row.mc_se > 0 else abs(gap) <= unit / 2 * (1 + 1e-9)
    if not agrees:
        return "differs", z
    return ("reproduced_by_slip" if row.variant == "published" else "reproduced"), z


def read_published(path: Any) -> pd.DataFrame:
    """``workflow/published/<slug>.tsv``.

    Raises
    ------
    ValueError
        If the columns differ from `PUBLISHED`.
    """
    table = pd.read_csv(path, sep="\t", dtype={"value": float, "digits": float})
    if tuple(table.columns) != PUBLISHED:
        raise ValueError(f"{path}: columns must be {', '.join(PUBLISHED)}, found {', '.join(table.columns)}")
    return table
