"""Many public swapped tables -> mean, standard deviation and interval of every cell of every table."""

from functools import partial

import numpy as np
import pandas as pd

from dpmultinomial._honesty import LEVEL
from dpmultinomial._posteriors.swapping import swapped_batches
from dpmultinomial._seeding import stream

from ...cases.batches import Answer
from ...scenarios.table_stream import Tables

REFUSED = "not used: "


def table(
    tables: Tables,
    *,
    rate: float | None = None,
    alpha: float = 1.0,
    level: float = LEVEL,
    root_seed: int,
    names: tuple[str, ...],
) -> Answer:
    """Posterior shares of all cells, by `swapped_batches.summaries`.

    Parameters
    ----------
    tables : with the columns row, column, count; and rate unless given here.
    rate : swap rate of all tables.
    alpha : Dirichlet prior of every cell.
    level : of the intervals.
    root_seed, names : of the streams of tables that need chains; the table's name is the last name.

    Returns
    -------
    rows : DataFrame
        position (of the table), category (``row, column``), mean, sd, lower, upper, status, total.
    reasons : list of str
        One a table, empty where it was answered.
    """
    owner = np.repeat(np.arange(len(tables.names)), np.diff(tables.starts))
    data = pd.DataFrame({"table": owner, **tables.columns})
    found = swapped_batches.summaries(
        data, rate=rate, alpha=alpha, level=level, stream_of=_streams(tables.names, root_seed, names)
    )
    refused = found["status"].str.startswith(REFUSED)
    reasons = np.full(len(tables.names), "", dtype=object)
    told = found[refused]
    reasons[told["table"].to_numpy(dtype=np.int64)] = told["status"].str.removeprefix(REFUSED)
    rows = found[~refused].rename(columns={"table": "position"})
    totals = np.bincount(owner, np.nan_to_num(tables.columns["count"]), minlength=len(tables.names))
    return (
        rows.assign(
            category=rows["row"] + ", " + rows["column"],
            total=totals[rows["position"].to_numpy(dtype=np.int64)],
        ),
        reasons.tolist(),
    )


def _streams(tables: list[str], root_seed: int, names: tuple[str, ...]):
    """From a table's place, as text, to its stream: it depends on the table's name alone."""
    of = partial(stream, root_seed, *names)
    return lambda place: of(tables[int(place)])
