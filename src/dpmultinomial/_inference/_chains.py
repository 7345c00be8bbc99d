"""A `Posterior` of draws: of Markov chains, judged, or of a sampler of independent draws."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._honesty import Honesty, of_chains
from .._posteriors import convergence
from .._results.laws import Discrete, Draws
from .._results.marginals import Marginal
from .._results.posterior import GROUPS, Posterior
from .._results.quantities import Quantities

Array = NDArray[np.float64]


def of_draws(
    draws: Mapping[str, Array],
    names: Mapping[str, Sequence[str]],
    *,
    method: str,
    facts: dict[str, object],
    honesty: Honesty | None = None,
    source: object = None,
) -> Posterior:
    """A `Posterior` whose laws are samples.

    Parameters
    ----------
    draws : group -> float64 (chains, draws, names); rows of all groups belong together.
    names : group -> names of its quantities.
    method, facts, source : as of `Posterior`.
    honesty : state of all; None: by the chains' R-hat and effective sample sizes.

    Returns
    -------
    Posterior
    """
    pooled = {group: np.asarray(x).reshape(-1, x.shape[2]) for group, x in draws.items()}
    state = honesty or _judged(np.concatenate(list(draws.values()), axis=2))

    def joint(size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        rows = rng.integers(len(next(iter(pooled.values()))), size=size)
        return {group: x[rows] for group, x in pooled.items()}

    def group_of(group: str) -> Quantities:
        listed = tuple(names[group])

        def one(i: int) -> Marginal:
            about: dict[str, Any] = {"name": listed[i], "type": GROUPS[group], "honesty": state}
            if group == "counts":
                values, times = np.unique(pooled[group][:, i], return_counts=True)
                return Discrete(values, times, **about)
            return Draws(pooled[group][:, i], **about)

        return Quantities(listed, one, joint=lambda size, rng: joint(size, rng)[group])

    return Posterior(
        {group: group_of(group) for group in draws}, joint=joint, method=method, facts=facts, source=source
    )


def _judged(chains: Array) -> Honesty:
    columns = [chains[:, :, i] for i in range(chains.shape[2])]
    return of_chains([convergence.bulk_ess(x) for x in columns], [convergence.rhat(x) for x in columns])
