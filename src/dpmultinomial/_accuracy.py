"""How far an answer can be trusted: one vocabulary for every posterior of the library.

``exact``          closed form or enumeration; only rounding is left
``converged``      a Markov chain that passed: every ESS >= 400 and every R-hat <= 1.01
``not converged``  a Markov chain that did not pass; its numbers are shown with this word beside them
``approximate``    a law with a stated error, or a truncation that neglects a stated mass

Errors have one unit, probability: how far any probability that a row states can be off, and so the level of its
interval. For independent draws that is a standard error, at most 1/2 over the root of their number; for chains it is
not known (NaN). A function that makes a row makes its error: `summary_frame` takes one `Accuracy` a row.
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
LEVEL = 0.95  # of every interval, unless a paper prints another
SUMMARY = ("quantity", "mean", "sd", "lower", "upper", "level", "status", "error")


@dataclass(frozen=True)
class Accuracy:
    """The state of an answer.

    Parameters
    ----------
    status : one of `STATUSES`.
    error : how far any probability can be off, 0 where only rounding is left; for draws a standard error; NaN where
        it is not known.
    reason : what was checked, in one sentence.
    """

    status: str
    error: float = 0.0
    reason: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status must be one of {', '.join(STATUSES)}, got {self.status!r}")
        if self.status == "approximate" and not self.reason:
            raise ValueError("an approximate answer needs a reason that says what its error is")
        if not (self.error >= 0 or isnan(self.error)):
            raise ValueError(f"error must be >= 0, or NaN where it is not known, got {self.error}")

    def __str__(self) -> str:
        return f"{self.status} ({self.reason})" if self.reason else self.status


EXACT = Accuracy("exact")


def of_chains(ess: ArrayLike, rhat: ArrayLike) -> Accuracy:
    """Judge Markov chains by the worst of their quantities.

    Parameters
    ----------
    ess : effective sample sizes, one a quantity.
    rhat : R-hat, one a quantity; a NaN in either never passes.
    """
    least, largest = float(np.min(np.asarray(ess))), float(np.max(np.asarray(rhat)))
    passed = least >= LEAST_ESS and largest <= LARGEST_RHAT
    reason = f"least ESS {least:.0f} of {LEAST_ESS:.0f}, largest R-hat {largest:.3f} of {LARGEST_RHAT}"
    return Accuracy("converged" if passed else "not converged", float("nan"), reason)


def worst(states: Sequence[Accuracy]) -> Accuracy:
    """The state of several answers together: the worst word, of those the largest error (NaN is the largest)."""
    order = ("exact", "approximate", "converged", "not converged")
    return max(states, key=lambda state: (order.index(state.status), inf if isnan(state.error) else state.error))


def standard_error(effective: float) -> float:
    """Standard error of a probability from so many effective draws: at most 1/2 over their root; NaN for none."""
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
    """The table every posterior's ``summary()`` returns: one row a quantity, columns `SUMMARY`.

    Parameters
    ----------
    quantities : names, one a row.
    mean, sd, lower, upper : numbers, one a quantity.
    level : of the intervals.
    status : a `Accuracy` for all, or one a quantity.

    Returns
    -------
    DataFrame with columns `SUMMARY`; `status` and `error` are those of each row's own `Accuracy`.

    Raises
    ------
    ValueError
        If there is not one `Accuracy` a quantity, or an interval ends before it begins.
    """
    states = [status] * len(quantities) if isinstance(status, Accuracy) else list(status)
    if len(states) != len(quantities):
        raise ValueError(f"status must be one for all or one a quantity, got {len(states)} for {len(quantities)}")
    if np.any(np.asarray(lower, dtype=float) > np.asarray(upper, dtype=float)):
        raise ValueError(f"lower must be at most upper, got {lower!r} and {upper!r}")
    words, errors = [s.status for s in states], [s.error for s in states]
    columns = (list(quantities), mean, sd, lower, upper, level, words, errors)
    return pd.DataFrame(dict(zip(SUMMARY, columns, strict=True)))
