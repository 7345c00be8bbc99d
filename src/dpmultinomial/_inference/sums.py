"""Additive releases: the true counts and their total."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._posteriors.additive import additive_counts
from .._results.distributions import Discrete
from .._results.posterior import Posterior
from .._results.quantities import Quantities
from .release import Release

TOTAL = "total"


def posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """The posterior of a `Release` by `AdditiveCounts`.

    Parameters
    ----------
    release : whole numbers >= 0, the released components.
    prior : ``"flat"`` (the default), ``"flat total"``, or the concentration of a Dirichlet-multinomial law under a flat
        total.
    method : ``"auto"``, ``"chain"`` or ``"transforms"``, two exact algorithms.
    rng : not used.

    Returns
    -------
    Posterior
        Counts: the components by name, and ``total``.

    Raises
    ------
    ValueError, TypeError
        If the values are no whole numbers >= 0, or the release has probability 0 under the mechanism.
    """
    made = release.mechanism
    values = release.values
    if values.ndim > 1 or (values != np.floor(values)).any() or (values < 0).any():
        raise ValueError("values: an additive release is one list of whole numbers >= 0")
    if TOTAL in release.names:
        raise ValueError(f"names: {TOTAL!r} is kept for the sum of all; give that component another name")
    chosen = "flat" if prior is None else prior
    found = additive_counts.posterior(
        values.astype(np.int64), epsilon=made.epsilon, algorithm=made.algorithm, support=made.support, ties=made.ties,
        prior=chosen, method=_checks.one_of("method", method, additive_counts.METHODS),
    )  # fmt: skip
    state = found.honesty
    names = (*release.names, TOTAL)

    def one(i: int) -> Discrete:
        listed, chances = found.total() if names[i] == TOTAL else found.marginal(i)
        return Discrete(listed, chances, name=names[i], type="count", honesty=state)

    def joint(size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        drawn = found.sample(size, rng=rng)
        return {"counts": np.column_stack([drawn, drawn.sum(axis=1)])}

    counts = Quantities(names, one, joint=lambda size, rng: joint(size, rng)["counts"])
    facts = {"prior": {"law": found.prior}} | release.facts
    return Posterior({"counts": counts}, joint=joint, method=method, facts=facts, source=found)
