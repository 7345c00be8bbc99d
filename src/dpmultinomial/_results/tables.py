"""Posteriors of several tables as one, so that questions may name cells of different tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .apart import Apart
from .distributions import Marginal
from .posterior import Posterior
from .quantities import Quantities


def side_by_side(posteriors: Mapping[str, Posterior]) -> Posterior:
    """One posterior of independent tables.

    Parameters
    ----------
    posteriors : name of a table -> its posterior, at least one.

    Returns
    -------
    Posterior
        With the groups that all tables have; a quantity is named ``table/quantity``. Tables are independent given their
        releases, as they are where no record stands in two of them and priors are not shared.

    Raises
    ------
    ValueError
        If there is no table, or tables have no group in common.
    """
    if not posteriors:
        raise ValueError("posteriors must be one table at least, got none")
    first = next(iter(posteriors.values()))
    common = [g for g in first.groups if all(g in p.groups for p in posteriors.values())]
    if not common:
        raise ValueError(f"tables {', '.join(posteriors)} have no group in common")
    groups = {group: _stacked({t: p._group(group) for t, p in posteriors.items()}) for group in common}

    def joint(size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        drawn = [p.sample(size, rng=rng) for p in posteriors.values()]
        return {group: np.concatenate([found[group] for found in drawn], axis=1) for group in common}

    facts = {"tables": {name: p.facts for name, p in posteriors.items()}}
    return Posterior(groups, joint=joint, method="side by side", facts=facts, source=dict(posteriors))


def _stacked(parts: Mapping[str, Quantities]) -> Quantities:
    own = [(table, group, name) for table, group in parts.items() for name in group]

    def law(i: int) -> Marginal:
        _, group, name = own[i]
        return group[name]

    tied = [(group.together, len(group)) for group in parts.values() if group.together is not None]
    alike = len(tied) == len(parts) and len({together.unit for together, _ in tied}) == 1
    return Quantities(
        [f"{table}/{name}" for table, _, name in own],
        law,
        joint=lambda size, rng: np.concatenate([g.sample(size, rng=rng) for g in parts.values()], axis=1),
        together=Apart(tied) if alike else None,
    )
