"""The additive release of Wang (2020) as a mechanism: counts whose total is their sum, its cost."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._accounting import two_sided_geometric
from ..._accounting.composition import RELATIONS, ApproxDP, PureDP
from ..geometric import default_support
from .additive_counts import ALGORITHMS, TIES, release


@dataclass(frozen=True, kw_only=True)
class AdditiveCounts:
    """Release counts that add up to a released total, from two-sided geometric noise on both.

    Parameters
    ----------
    epsilon : > 0, spent on the total and again on the components.
    algorithm : ``"1-independent"``, ``"1-summed"`` (two components), ``"2"`` or ``"3"`` of Wang (2020), section 3.1.
    ties : of algorithm 3: ``"random"``, ``"first"``, ``"last"`` or ``"ieee"``.
    support : the noise stays within +-support; None: ceil(50/epsilon); ``math.inf``: it is not cut.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """

    epsilon: float
    algorithm: str = "3"
    ties: str = "random"
    support: float | None = None

    def __post_init__(self) -> None:
        _checks.positive("epsilon", self.epsilon)
        _checks.one_of("algorithm", self.algorithm, ALGORITHMS)
        _checks.one_of("ties", self.ties, TIES)
        if self.support is not None and self.support != math.inf:
            _checks.whole("support", self.support, least=1)

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """One release of whole numbers >= 0: int64 of the same length. A simulation; not for confidential counts.

        Raises
        ------
        ValueError
            If the noise is not cut: its draws are made by the mechanisms of releases.
        """
        if self.support == math.inf:
            raise ValueError("support: a simulation needs noise that is cut; leave support out, or give a whole number")
        cut = None if self.support is None else int(self.support)
        drawn = release(
            counts, epsilon=self.epsilon, algorithm=self.algorithm, rng=rng, size=1, support=cut, ties=self.ties
        )
        return np.asarray(drawn[0])

    def cost(self, relation: str = "add or remove a record", *, source: str = "data") -> PureDP | ApproxDP:
        """What one release costs: 2 epsilon, with the delta of the cut.

        One record moves the total and one component, or two components; algorithms 1 to 3 are post-processing.

        Parameters
        ----------
        relation : ``"add or remove a record"`` or ``"replace a record"``.
        source : name of the confidential data.

        Returns
        -------
        PureDP, or ApproxDP where the noise is cut
        """
        _checks.one_of("relation", relation, RELATIONS[:2])
        spent = 2 * self.epsilon
        if self.support == math.inf:
            return PureDP(source=source, relation=relation, epsilon=spent)
        cut = default_support(self.epsilon) if self.support is None else int(self.support)
        delta = two_sided_geometric.delta(spent, epsilon=self.epsilon, changed=2, support=cut)
        return ApproxDP(source=source, relation=relation, epsilon=spent, delta=delta)
