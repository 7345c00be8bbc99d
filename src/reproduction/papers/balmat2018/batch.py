"""Many public tables of noisy counts -> mean, standard deviation and interval of every share of every table."""

import numpy as np
import pandas as pd

from dpmultinomial._honesty import LEVEL
from dpmultinomial._posteriors.counts import noisy_count_batches

from ...cases.batches import Answer, both, one_a_table
from ...scenarios.table_stream import Tables

_FEWEST = 2


def table(
    tables: Tables,
    *,
    epsilon: float | None = None,
    scale: float | None = None,
    sensitivity: float = 2.0,
    alpha: float = 1.0,
    level: float = LEVEL,
) -> Answer:
    """Exact posterior shares, by `noisy_count_batches.exact`.

    Parameters
    ----------
    tables : with the columns category, noisy_count, total; and epsilon or scale unless given here.
    epsilon, scale : of all tables. The noise is Laplace, or discrete Laplace (whose law has the same shape on whole
        numbers), of scale `scale` or sensitivity/epsilon.
    sensitivity : > 0, L1 change of the counts.
    alpha : Dirichlet prior of every category.
    level : of the intervals.

    Returns
    -------
    rows : DataFrame
        position (of the table), category, mean, sd, lower, upper, status, total.
    reasons : list of str
        One a table, empty where it was answered.
    """
    totals, reasons = one_a_table(tables, "total")
    if scale is None and "scale" not in tables.columns:
        spent, odd = one_a_table(tables, "epsilon", epsilon)
        with np.errstate(divide="ignore", invalid="ignore"):
            scales = np.where(spent > 0, sensitivity / spent, np.nan)
        words = ["" if np.isfinite(one) else "epsilon must be finite and > 0" for one in scales]
    else:
        scales, odd = one_a_table(tables, "scale", scale)
        words = [""] * len(odd)
    sizes = np.diff(tables.starts)
    few = ["" if size >= _FEWEST else f"needs at least {_FEWEST} categories" for size in sizes]
    reasons = both(both(reasons, both(odd, words)), few)
    good = np.array([reason == "" for reason in reasons], dtype=bool)
    rows = np.repeat(good, sizes)
    found = noisy_count_batches.exact(
        tables.columns["noisy_count"][rows],
        starts=np.concatenate([[0], np.cumsum(sizes[good])]).astype(np.int64),
        totals=totals[good],
        scales=scales[good],
        alphas=alpha,
        level=level,
    )
    for place, reason in zip(np.flatnonzero(good), found.reasons, strict=True):
        reasons[place] = reason
    return _rows(tables, rows, totals, reasons, found), reasons


def _rows(
    tables: Tables, tried: np.ndarray, totals: np.ndarray, reasons: list[str], found: noisy_count_batches.Batch
) -> pd.DataFrame:
    owner = np.repeat(np.arange(len(reasons)), np.diff(tables.starts))[tried]
    answered = np.array([reason == "" for reason in reasons], dtype=bool)[owner]
    frame = pd.DataFrame(
        {
            **{"position": owner, "category": tables.columns["category"][tried]},
            **{"mean": found.mean, "sd": found.sd, "lower": found.lower, "upper": found.upper},
            **{"status": found.honesty.word, "total": totals[owner]},
        }
    )
    return frame[answered]
