"""Finished chains of `censored_normal`: their draws, their state of convergence and their summary."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ... import _checks
from ..._honesty import LEVEL, Honesty, of_chains, summary_frame
from .. import convergence

COLUMNS = ("mu", "sigma2", "s_mean", "s_sse", "s_low", "s_high")
APPROXIMATE = {  # why the law of a sampler is not the posterior
    "corrected": "s_mean and s_sse are drawn as independent",
    "as_written": "the slides' updates do not leave the posterior as it is",
    "slides_model": "the slides' laws of the statistics",
}


class Chain(NamedTuple):
    """A finished chain: draws (draws, 6) with `COLUMNS`, share of accepted proposals, share of impossible sweeps.

    Parameters
    ----------
    draws : float64 (draws, 6).
    accepted, impossible : shares in [0, 1].
    method : which of `METHODS` ran.
    """

    draws: NDArray[np.float64]
    accepted: float
    impossible: float
    method: str = "exact"

    @property
    def diverged(self) -> bool:
        """Whether more than 5 % of the sweeps have a mean of uncensored records outside [a, b]: no data have that."""
        return self.impossible > 0.05

    @property
    def honesty(self) -> Honesty:
        """Never better than ``not converged``: one chain is not judged, `judged` compares several."""
        why = f"{self.impossible:.0%} of the sweeps are impossible; " if self.diverged else ""
        return Honesty("not converged", float("nan"), f"{why}one chain is not judged, several are (`judged`)")

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Mean, sd and central interval of mu, sigma2 and the four statistics; columns `honesty.SUMMARY`.

        Parameters
        ----------
        level : probability of the interval, strictly between 0 and 1.
        """
        if not len(self.draws):
            raise ValueError("a chain without draws has no summary: run it with draws >= 1")
        tail = (1 - _checks.inside("level", level)) / 2
        lower, upper = np.quantile(self.draws, [tail, 1 - tail], axis=0)
        mean, sd = self.draws.mean(axis=0), self.draws.std(axis=0)
        return summary_frame(COLUMNS, mean=mean, sd=sd, lower=lower, upper=upper, level=level, status=self.honesty)


def judged(chains: Sequence[Chain]) -> Honesty:
    """The state of several chains of equal length together, by mu and sigma2.

    Parameters
    ----------
    chains : two or more of one method and length.

    Returns
    -------
    Honesty
        ``not converged`` where ESS, R-hat or the share of impossible sweeps say so; else ``converged`` for
        ``method="exact"`` and ``approximate`` for the others, whose law is not quite the posterior.

    Raises
    ------
    ValueError
        If there is one chain, or their methods or lengths differ.
    """
    kinds = {(c.method, len(c.draws)) for c in chains}
    if len(chains) < 2 or len(kinds) > 1:
        raise ValueError(f"chains must be two or more of one method and length, got {len(chains)} of {sorted(kinds)}")
    values = [np.array([c.draws[:, i] for c in chains]) for i in range(2)]
    state = of_chains([convergence.bulk_ess(x) for x in values], [convergence.rhat(x) for x in values])
    if any(c.diverged for c in chains):
        worst = max(c.impossible for c in chains)
        return Honesty("not converged", float("nan"), f"{worst:.0%} of the sweeps are impossible; {state.reason}")
    if state.word == "converged" and chains[0].method != "exact":
        return Honesty("approximate", float("nan"), f"{APPROXIMATE[chains[0].method]}; {state.reason}")
    return state
