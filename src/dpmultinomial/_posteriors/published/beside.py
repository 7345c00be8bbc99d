"""What a prior decided: every count under its prior beside the same count under a flat one."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
APART = 0.5  # of the wider sd: means under the prior and under a flat one that differ by more are both shown
_NUMBERS = ("mean", "sd", "lower", "upper")
_SHOWN = ["quantity", "mean", "sd", "flat_mean", "flat_sd"]
_FIRST = 10


class Numbers(Protocol):
    """Laws of counts in numbers, float64 (n,) each."""

    @property
    def mean(self) -> Array: ...

    @property
    def sd(self) -> Array: ...

    @property
    def lower(self) -> Array: ...

    @property
    def upper(self) -> Array: ...


def apart(own: Numbers, flat: Numbers) -> NDArray[np.bool_]:
    """Where the means differ by more than `APART` of the wider sd; not where one of them is NaN."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(own.mean - flat.mean) > APART * np.fmax(own.sd, flat.sd))


def table(names: Sequence[str], released: Array, own: Numbers, flat: Numbers, tails: Array) -> pd.DataFrame:
    """Both, count by count.

    Parameters
    ----------
    names, released : of the counts.
    own, flat : their laws in numbers, under the prior and under a flat one.
    tails : how far out each released value lay beforehand (`conflict.tails`).

    Returns
    -------
    DataFrame
        quantity, released, mean, sd, lower, upper, flat_mean, flat_sd, flat_lower, flat_upper, apart, tail.
    """
    columns: dict[str, object] = {"quantity": list(names), "released": released}
    columns |= {name: getattr(own, name) for name in _NUMBERS}
    columns |= {f"flat_{name}": getattr(flat, name) for name in _NUMBERS}
    return pd.DataFrame({**columns, "apart": apart(own, flat), "tail": tails})


def facts(found: pd.DataFrame) -> dict[str, object]:
    """How many counts the prior decided, of how many, and the first of them, JSON-able."""
    decided = found.loc[found["apart"]]
    return {"apart": len(decided), "of": len(found), "first": decided[_SHOWN].head(_FIRST).to_dict("records")}
