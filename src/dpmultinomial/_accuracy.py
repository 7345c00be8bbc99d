"""Accuracy status of an answer: a common vocabulary for every posterior of the library.

``exact``          closed form or enumeration; exact up to rounding
``converged``      a Markov chain that passed: every ESS >= 400 and every R-hat <= 1.01
``not converged``  a Markov chain that did not pass; its numbers are shown together with this status
``approximate``    a distribution with a stated error, or a truncation that neglects a stated mass

Errors have one unit, probability: the largest error of any probability that a row states, and so of the level of its
interval. For independent draws the error is a standard error, at most 1/2 over the root of their number; for chains it
is not known (NaN). The function that makes a row also computes its error: `summary_frame` takes one `Accuracy` per row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

STATUSES = ("exact", "converged", "not converged", "approximate")
LEAST_ESS = 400.0
LARGEST_RHAT = 1.01
LEVEL = 0.95  # level of every interval, unless a paper prints another
SUMMARY = ("quantity", "mean", "sd", "lower", "upper", "level", "status", "error")


@dataclass(frozen=True)
class Accuracy:
    """Accuracy status of an answer, with its error and the reason.

    Parameters
    ----------
    status : one of `STATUSES`.
    error : largest error of any probability, 0 if the answer is exact up to rounding; for draws a standard error; NaN
        if it is not known.
    reason : description of the check, in one sentence.
    """

    status: str
    error: float = 0.0
    reason: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status must be one of {', '.join(STATUSES)}, got {self.status!r}")
        if self.status == "approximate" and not self.reason:
            raise ValueError("an approximate answer needs a reason that describes its error")
        if not (self.error >= 0 or isnan(self.error)):
            raise ValueError(f"error must be >= 0, or NaN if it is not known, got {self.error}")

    def __str__(self) -> str:
        return f"{self.status} ({self.reason})" if self.reason else self.status


EXACT = Accuracy("exact")


def of_chains(ess: ArrayLike, rhat: ArrayLike) -> Accuracy:
    """Return the accuracy status of Markov chains, from the quantity that has converged worst.

    Parameters
    ----------
    ess : effective sample sizes, one per quantity.
    rhat : R-hat, one per quantity; a NaN in either argument never passes.
    """
    least, largest = float(np.min(np.asarray(ess))), float(np.max(np.asarray(rhat)))
    passed = least >= LEAST_ESS and largest <= LARGEST_RHAT
    reason = f"least ESS {least:.0f} of {LEAST_ESS:.0f}, largest R-hat {largest:.3f} of {LARGEST_RHAT}"
    return Accuracy("converged" if passed else "not converged", float("nan"), reason)


def worst(states: Sequence[Accuracy]) -> Accuracy:
    """Return the worst of several accuracies: the worst status and, among accuracies of equal status, the largest error
    (NaN counts as the largest).
    """
    order = ("exact", "approximate", "converged", "not converged")
    return max(states, key=lambda state: (order.index(state.status), inf if isnan(state.error) else state.error))


def standard_error(effective: float) -> float:
    """Return an upper bound on the standard error of a probability estimated from `effective` draws, 1/(2
    sqrt(effective)); NaN for zero draws.
    """
    return float(0.5 / np.sqrt(effective)) if effective > 0 else float("nan")


def summary_frame(
    quantities: Sequence[str],
    *,
    mean: ArrayLike,
    sd: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    level: float,
    status: Accuracy | Sequence[Accuracy],
) -> pd.DataFrame:
    """Build the table that every posterior's ``summary()`` returns: one row per quantity, columns `SUMMARY`.

    Parameters
    ----------
    quantities : names of the quantities, one per row.
    mean, sd, lower, upper : statistics, one per quantity.
    level : probability level of the intervals.
    status : an `Accuracy` for all quantities, or one per quantity.

    Returns
    -------
    DataFrame with columns `SUMMARY`; `status` and `error` come from the `Accuracy` of each row.

    Raises
    ------
    ValueError
        If there is not one `Accuracy` per quantity, or an interval ends before it begins.
    """
    states = [status] * len(quantities) if isinstance(status, Accuracy) else list(status)
    if len(states) != len(quantities):
        raise ValueError(
            f"status must be one Accuracy for all or one per quantity, got {len(states)} for {len(quantities)}"
        )
    if np.any(np.asarray(lower, dtype=float) > np.asarray(upper, dtype=float)):
        raise ValueError(f"lower must be at most upper, got {lower!r} and {upper!r}")
    words, errors = [s.status for s in states], [s.error for s in states]
    columns = (list(quantities), mean, sd, lower, upper, level, words, errors)
    return pd.DataFrame(dict(zip(SUMMARY, columns, strict=True)))
