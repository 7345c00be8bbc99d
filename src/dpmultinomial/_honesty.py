"""How far an answer can be trusted: one vocabulary for every posterior of the library.

``exact``          closed form or enumeration; only rounding is left
``converged``      a Markov chain that passed: every ESS >= 400 and every R-hat <= 1.01
``not converged``  a Markov chain that did not pass; its numbers are shown with this word beside them
``approximate``    a law with a stated error, or a truncation that neglects a stated mass
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

WORDS = ("exact", "converged", "not converged", "approximate")
LEAST_ESS = 400.0
LARGEST_RHAT = 1.01
LEVEL = 0.95  # of every interval, unless a paper prints another
SUMMARY = ("quantity", "mean", "sd", "lower", "upper", "level", "status")


@dataclass(frozen=True)
class Honesty:
    """The state of an answer.

    Parameters
    ----------
    word : one of `WORDS`.
    error : bound or estimate of the error that is left, in the unit `reason` names; NaN where none is known.
    reason : what was checked, in one sentence.
    """

    word: str
    error: float = 0.0
    reason: str = ""

    def __post_init__(self) -> None:
        if self.word not in WORDS:
            raise ValueError(f"word must be one of {', '.join(WORDS)}, got {self.word!r}")
        if self.word == "approximate" and not self.reason:
            raise ValueError("an approximate answer needs a reason that says what its error is")

    def __str__(self) -> str:
        return f"{self.word} ({self.reason})" if self.reason else self.word


EXACT = Honesty("exact")


def of_chains(ess: ArrayLike, rhat: ArrayLike) -> Honesty:
    """Judge Markov chains by the worst of their quantities.

    Parameters
    ----------
    ess : effective sample sizes, one a quantity.
    rhat : R-hat, one a quantity; a NaN in either never passes.
    """
    least, largest = float(np.min(np.asarray(ess))), float(np.max(np.asarray(rhat)))
    passed = least >= LEAST_ESS and largest <= LARGEST_RHAT
    reason = f"least ESS {least:.0f} of {LEAST_ESS:.0f}, largest R-hat {largest:.3f} of {LARGEST_RHAT}"
    return Honesty("converged" if passed else "not converged", float("nan"), reason)


def summary_frame(
    quantities: Sequence[str],
    *,
    mean: ArrayLike,
    sd: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    level: float,
    status: Honesty | Sequence[Honesty],
) -> pd.DataFrame:
    """The table every posterior's ``summary()`` returns: one row a quantity, columns `SUMMARY`.

    Parameters
    ----------
    quantities : names, one a row.
    mean, sd, lower, upper : numbers, one a quantity.
    level : of the intervals.
    status : a `Honesty` for all, or one a quantity.

    Returns
    -------
    DataFrame with columns `SUMMARY`.
    """
    words = [s.word for s in ([status] * len(quantities) if isinstance(status, Honesty) else status)]
    columns = (list(quantities), mean, sd, lower, upper, level, words)
    return pd.DataFrame(dict(zip(SUMMARY, columns, strict=True)))
