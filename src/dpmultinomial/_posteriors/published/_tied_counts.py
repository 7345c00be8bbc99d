"""What was assumed of counts with a total and what it did: beside flat priors, and whether counts and total fit."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._honesty import LEVEL
from ..._results.coupled import Coupled
from . import _window_sums, beside, conflict, totals
from .cells import Cells
from .priors import CountPrior, Flat

Array = beside.Array
TOTAL = "total"  # as which the total stands among the names of what was tested


class _Numbers(NamedTuple):
    mean: Array
    sd: Array
    lower: Array
    upper: Array


class TiedCounts:
    """Counts tied by their total, and what they were found from.

    Parameters
    ----------
    cells : noisy counts, none of them wrong.
    priors : one a count.
    total : what is known of the sum.
    names : of the counts.
    alpha : concentrations of the rates, float64 (n,); None where counts have priors of their own.

    Raises
    ------
    ValueError
        If counts and total have next to nothing in common.
    """

    def __init__(
        self,
        cells: Cells,
        priors: Sequence[CountPrior],
        total: totals.Total,
        names: tuple[str, ...],
        alpha: Array | None = None,
    ) -> None:
        self.cells, self.priors, self.total, self.names, self.alpha = cells, priors, total, names, alpha
        self.solved = totals.solve(cells, priors, total)
        self.together = self.solved.together

    def beside(self, level: float = LEVEL) -> pd.DataFrame:
        """Every count under its prior and under flat ones, with the same total.

        Parameters
        ----------
        level : of the intervals, in (0, 1).

        Returns
        -------
        DataFrame
            As of `beside.table`.

        Raises
        ------
        ValueError
            If windows under flat priors would be too wide.
        """
        plain = totals.Total(self.total.released, self.total.noise, None)
        flat = totals.solve(self.cells, (Flat(),) * len(self.names), plain).together
        both = _numbers(self.together, level), _numbers(flat, level)
        return beside.table(self.names, self.cells.released, *both, self.tails[:-1])

    def facts(self) -> dict[str, object]:
        """What was found, JSON-able: conflict of counts and total, and where flat priors say otherwise."""
        try:
            decided = beside.facts(self.beside())
        except ValueError as error:
            decided = {"apart": 0, "of": 0, "first": [], "reason": str(error)}
        return {
            "total": {"released": self.total.released, "noise": self.total.noise.words()},
            "counts": len(self.names),
            "measured": int(self.cells.measured.sum()),
            "neglected": self.solved.error,
            "conflict": conflict.facts(self.tails, (*self.names, TOTAL)),
            "flat_beside": decided,
        }

    @cached_property
    def tails(self) -> Array:
        """How far out each released count lay beforehand (`conflict.tails`), and the total by the counts alone."""
        out = np.full(len(self.names) + 1, np.nan)
        for prior in {id(prior): prior for prior in self.priors}.values():
            rows = np.flatnonzero([other is prior for other in self.priors])
            out[rows] = conflict.tails(self.cells.take(rows), prior)
        law = totals.foreseen(self.cells, self.priors, self.total)
        if law is not None and conflict.has_tails(self.total.noise):
            values = law.values().astype(float)
            out[-1] = conflict.of_mixture(self.total.released, self.total.noise, values, law.weights)
        return out


def _numbers(law: Coupled, level: float) -> _Numbers:
    """Every count in numbers."""
    laws = [law.sum_of([i]) for i in range(law.size)]
    widths = np.array([len(own.weights) for own in laws])
    logs = np.full((law.size, int(widths.max())), -np.inf)
    for row, own in zip(logs, laws, strict=True):
        row[: len(own.weights)] = own.log_weights()
    _, mean, sd, lower, upper = _window_sums.summaries(logs, widths, level=level).T
    first = np.array([own.first for own in laws])
    return _Numbers(first + mean, sd, first + lower, first + upper)
