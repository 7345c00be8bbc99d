"""Sentences of swapped tables."""

from collections.abc import Mapping
from typing import Any

from ..words import listed, percent

_MOST = 12  # names of a side that are listed
MEANINGS = {
    "log odds ratio": "the logarithm of the odds ratio underlying the table",
    "common log odds ratio": "the logarithm of the odds ratio that all strata share",
}


def assumed(point: Mapping[str, Any]) -> list[str]:
    """How the table was made, what stays as it was."""
    strata = "in one stratum" if point["strata"] == 1 else f"within {point['strata']} strata"
    found = [
        f"Every record was in the swap with probability {percent(point['rate'])}, {strata}; the margins are those of "
        f"the original {point['total']:,} records, and there is no other noise."
    ]
    rows, columns = (point["sides"][side] for side in ("rows", "columns"))
    found.append(f"The table has the rows {_few(rows)} and the columns {_few(columns)}, and no others.")
    if "probability_odds_ratio_above_1" in point:
        found.append(
            f"The odds ratio is above 1 with probability {percent(point['probability_odds_ratio_above_1'], 2)}."
        )
    if protects := point.get("protects"):
        found.append(
            f"An exchange of two records' swapped values is protected with epsilon "
            f"{protects['epsilon_of_an_exchange']:.4g}; the margins are published as they are and not protected."
        )
    return found


def _few(names: list[str]) -> str:
    return listed(names) if len(names) <= _MOST else f"{', '.join(names[:_MOST])}, .. ({len(names)})"
