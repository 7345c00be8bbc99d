"""Released values of nodes of a tree, and the distributions of the noise."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._mechanisms.law_settings import law_of
from ..._mechanisms.noise_law import LawByRow, NoiseLaw
from ._likelihoods import LISTED, REACH, shapes
from .least_squares import LeastSquares
from .sites import Lists, bounded, measure
from .tree import Tree

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class Measurements:
    """Released values of nodes of a tree.

    Parameters
    ----------
    tree : the nodes.
    nodes : name or position of the node of each value.
    released : (r,), NaN if a value was withheld below a threshold.
    noise : a noise distribution, one per value, or its description as a mapping (`law_settings.law_of`).

    Raises
    ------
    ValueError, TypeError, KeyError
        If an argument is invalid, or a value is impossible under its distribution.
    """

    def __init__(
        self,
        tree: Tree,
        nodes: ArrayLike,
        released: ArrayLike,
        noise: NoiseLaw | Sequence[NoiseLaw] | Mapping[str, Any],
    ) -> None:
        self.tree, self.released = tree, np.asarray(released, dtype=np.float64)
        if self.released.ndim != 1:
            raise ValueError(f"released must be one-dimensional, got shape {self.released.shape}")
        given = np.asarray(nodes)
        if given.dtype.kind in "UO":
            given = np.array([tree.position(name) for name in given.tolist()], dtype=np.int64)
        self.nodes = _checks.int64s("nodes", given if len(given) else np.zeros(0, dtype=np.int64))
        if len(self.nodes) != len(self.released):
            raise ValueError(f"nodes must be one per released value, {len(self.released)}, got {len(self.nodes)}")
        if len(self.nodes) and not 0 <= self.nodes.min() <= self.nodes.max() < len(tree):
            raise ValueError(f"nodes must be positions below {len(tree)}, got {self.nodes.min()}..{self.nodes.max()}")
        if isinstance(noise, Mapping):
            self.noise = law_of(noise)
        else:
            self.noise = LawByRow.of(noise) if isinstance(noise, Sequence) else noise
        shapes(self.released, self.noise)

    @property
    def variance(self) -> Array:
        """Variance of the noise, float64 (r,)."""
        return np.broadcast_to(np.asarray(self.noise.variance(), dtype=np.float64), self.released.shape)

    @property
    def listed(self) -> bool:
        """Return whether some likelihoods are lists, which have a limited range."""
        return bool((shapes(self.released, self.noise).kind == LISTED).any())

    def within(self, part: Tree, kept: Whole) -> "Measurements":
        """Return the measurements of a part of the tree, given the positions of its nodes in the full tree."""
        place = np.full(len(self.tree), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        rows = np.flatnonzero(place[self.nodes] >= 0)
        return Measurements(part, place[self.nodes[rows]], self.released[rows], self.noise.take(rows))

    def weigh(self, reach: float = REACH) -> tuple[NDArray[Any], Lists, float]:
        """Return sites, lists and constant of the likelihoods, including the bounds of the tree.

        Parameters
        ----------
        reach : range of the lists, see `sites.Lists`.
        """
        sites, lists = bounded(self.tree), Lists(reach)
        return sites, lists, measure(sites, lists, self.tree, self.nodes, self.released, self.noise)

    def least_squares(self) -> LeastSquares:
        """Return the least-squares estimates from the values that are neither withheld nor clipped."""
        seen = np.flatnonzero(np.isfinite(self.released))
        return LeastSquares(self.tree, self.nodes[seen], self.released[seen], self.variance[seen])
