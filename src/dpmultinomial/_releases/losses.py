"""Privacy loss distributions of releases, and the epsilon that they imply at a given delta.

A budget adds the stated epsilon or rho of its releases. The loss distribution of the noise gives a smaller epsilon at a
delta > 0 (`_accounting.loss_composition`), which a record and a plan state for the single release.
"""

import math
from collections import Counter
from collections.abc import Sequence

from .._accounting import loss_composition
from .._accounting.privacy_loss import DiscreteLaplaceLoss, Mechanism
from .._mechanisms.gaussian import DiscreteGaussian
from .._mechanisms.laplace import DiscreteLaplace
from .spending import REPLACE, Cost, epsilon_at

DELTA = 1e-6  # delta at which an epsilon is stated if neither the release nor its budget has a delta
Losses = tuple[Mechanism, ...]


def of_counts(mechanism: str, scale: float, *, change: int, relation: str) -> Losses | None:
    """Return the privacy losses of a release of noisy counts of disjoint groups of records.

    Parameters
    ----------
    mechanism : ``"discrete_laplace"`` or ``"discrete_gaussian"``.
    scale : parameter of the noise.
    change : L1 norm, or squared L2 norm, of the changes of the counts. If the norm is 2 for replaced records or 1 for
        added records, one count increases by 1, or one increases and one decreases. For other norms, all splits into
        integers are possible.
    relation : which data sets are neighbours.

    Returns
    -------
    tuple of mechanisms, or None if the norm has too many splits
    """
    usual = change == (2 if relation == REPLACE else 1)
    if mechanism == "discrete_laplace":
        return DiscreteLaplace(scale=scale).cost(relation, sensitivity=None if usual else change).mechanisms
    norm = None if usual else math.sqrt(change)
    return DiscreteGaussian(sigma=scale).cost(relation, sensitivity=norm).mechanisms


def of_levels(mechanism: str, scales: Sequence[float], *, change: int, relation: str) -> Losses | None:
    """Return the privacy losses of the noisy counts at all levels of a tree, or None if the losses of a level are not
    known.

    Parameters
    ----------
    mechanism : mechanism of the noise, as in `of_counts`.
    scales : parameter of the noise, one per level.
    change : norm of the changes that one record makes on each level, as in `of_counts`.
    relation : relation of two neighbouring files.

    Returns
    -------
    Losses or None
        One or more losses per level; None if the losses of a level are not known.
    """
    parts = [of_counts(mechanism, scale, change=change, relation=relation) for scale in scales]
    known = [part for part in parts if part is not None]
    return tuple(one for part in known for one in part) if len(known) == len(parts) else None


def of_additive_counts(scale: float) -> Losses:
    """Return the privacy losses of a release of counts that add up to a total. One record changes the total and one
    component by 1 each.
    """
    return (DiscreteLaplaceLoss(scale, 1),) * 2


def at_delta(cost: Cost, losses: Losses | None, *, delta: float) -> dict[str, float | str]:
    """Return the smallest known epsilon of one release at a given delta, in the format of the release's record.

    Parameters
    ----------
    cost : stated cost.
    losses : mechanisms of the release, or None.
    delta : in (0, 1).

    Returns
    -------
    dict
        The keys are epsilon, rounded upwards; delta; and method, ``"loss distributions"`` or ``"conversion"`` of the
        cost.
    """
    converted = epsilon_at([cost], delta=delta)
    tight = loss_composition.epsilon(Counter(losses), delta) if losses else math.inf
    method = "loss distributions" if tight < converted else "conversion"
    return {"epsilon": min(tight, converted), "delta": delta, "method": method}
