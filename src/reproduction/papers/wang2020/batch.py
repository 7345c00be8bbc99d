"""Many public additive releases -> mean, standard deviation and interval of every true count of every table."""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._honesty import LEVEL
from dpmultinomial._posteriors.additive import additive_batches
from dpmultinomial._posteriors.additive.additive_batches import Release

from ...cases.batches import Answer, both, one_a_table
from ...scenarios.table_stream import Tables

TOTAL = "total"
LARGEST = 10**8
_ALGORITHM = "3"


def table(
    tables: Tables,
    *,
    epsilon: float | None = None,
    algorithm: str | None = None,
    ties: str = "random",
    support: int | None = None,
    prior: str | float = "flat",
    level: float = LEVEL,
) -> Answer:
    """Exact posteriors of all components and of the total, by `additive_batches.posteriors`.

    Parameters
    ----------
    tables : with the columns category, released; and epsilon, algorithm unless given here.
    epsilon : of the noise of every count.
    algorithm : as in a scenario; 3 if stated nowhere.
    ties, support, prior, level : as in a scenario, the same for all tables.

    Returns
    -------
    rows : DataFrame
        position (of the table), category (the last is ``total``), mean, sd, lower, upper, status, total, note.
    reasons : list of str
        One a table, empty where it was answered.
    """
    spent, reasons = one_a_table(tables, "epsilon", epsilon)
    if algorithm is None and "algorithm" in tables.columns:
        how, odd = one_a_table(tables, "algorithm")
        reasons = both(reasons, odd)
    else:
        how = np.full(len(reasons), algorithm or _ALGORITHM, dtype=object)
    parts: list[pd.DataFrame] = []
    known: dict[tuple[Any, ...], pd.DataFrame] = {}
    for t, (first, last) in enumerate(zip(tables.starts, tables.starts[1:], strict=False)):
        counts, names = tables.columns["released"][first:last], tables.columns["category"][first:last]
        reasons[t] = reasons[t] or _reason(counts, names)
        if reasons[t]:
            continue
        key = (float(spent[t]), str(how[t]), counts.tobytes())
        if key not in known:
            release = Release(counts.astype(np.int64), key[0], key[1])
            known[key] = additive_batches.posteriors(
                [(t, release)], level=level, support=support, ties=ties, prior=prior
            )
        found = known[key]
        if found["status"].iloc[0] == additive_batches.REFUSED:
            reasons[t] = found["reason"].iloc[0]
        else:
            parts.append(found.assign(position=t, category=[*names, TOTAL], total=counts.sum()))
    columns = ["position", "category", "mean", "sd", "lower", "upper", "status", "total", "note"]
    if not parts:
        return pd.DataFrame(columns=columns), reasons
    return pd.concat(parts, ignore_index=True).rename(columns={"reason": "note"})[columns], reasons


def _reason(counts: np.ndarray, names: np.ndarray) -> str:
    """Why these are no released counts."""
    if not np.all(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))):
        return "released must be whole numbers >= 0"
    if counts.sum() > LARGEST:
        return f"released must add up to at most {LARGEST}"
    return f"category {TOTAL} is the sum of the others; leave it out" if TOTAL in names else ""
