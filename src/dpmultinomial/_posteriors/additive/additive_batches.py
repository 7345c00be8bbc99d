"""Posteriors of many additive releases at once: one row a count and table, a bad table says why in its own row."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from ... import _checks
from ..._honesty import LEVEL
from . import additive_counts

COLUMNS = ("table", "category", "mean", "sd", "lower", "upper", "level", "status", "reason")
REFUSED = "refused"


@dataclass(frozen=True)
class Release:
    """One table of a batch.

    Parameters
    ----------
    released : whole numbers >= 0 (S,).
    epsilon : > 0.
    algorithm : as in `additive_counts.posterior`.
    """

    released: ArrayLike
    epsilon: float
    algorithm: str


def posteriors(
    releases: Mapping[Any, Release] | Iterable[tuple[Any, Release]],
    *,
    level: float = LEVEL,
    support: float | None = None,
    ties: str = "random",
    prior: Any = "flat",
) -> pd.DataFrame:
    """Mean, sd and central interval of every true count of many releases.

    Parameters
    ----------
    releases : table's name -> Release, or pairs of them.
    level : of the intervals, in (0, 1).
    support, ties, prior : as in `additive_counts.posterior`, the same for all tables.

    Returns
    -------
    DataFrame with columns `COLUMNS`: a row a component (category ``0``, ``1``, ..) and one for the total of every
        table, in the order given. A table that is refused has one row: category empty, numbers NaN, status ``refused``,
        and the reason. Each table is computed by itself, so results do not depend on how a batch is split.

    Raises
    ------
    ValueError, TypeError
        If `level` is not in (0, 1); everything else is told in the rows.
    """
    level = _checks.inside("level", level)
    pairs = releases.items() if isinstance(releases, Mapping) else releases
    rows: list[pd.DataFrame] = []
    for name, release in pairs:
        try:
            law = additive_counts.posterior(
                release.released,
                epsilon=release.epsilon,
                algorithm=release.algorithm,
                support=support,
                ties=ties,
                prior=prior,
            )
            found = law.summary(level).rename(columns={"quantity": "category"})
            ends = found[["lower", "upper"]].astype(float)
            rows.append(found.assign(table=name, reason=law.honesty.reason, **ends)[list(COLUMNS)])
        except (ValueError, TypeError, OverflowError) as error:
            rows.append(_refused(name, level, str(error)))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=list(COLUMNS))


def _refused(name: Any, level: float, reason: str) -> pd.DataFrame:
    nothing = float("nan")
    return pd.DataFrame([(name, "", nothing, nothing, nothing, nothing, level, REFUSED, reason)], columns=list(COLUMNS))
