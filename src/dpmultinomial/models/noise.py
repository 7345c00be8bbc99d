"""How one budget becomes noise: the three mechanisms of the experiments, in the form `kernels.private_blocks` takes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from ..accounting import renyi
from ..mechanisms import dirichlet

MECHANISMS = ("dirichlet", "gaussian", "laplace")
LAPLACE_CELLS = {"one cell": (2.0, 1), "exact": (2.0, 2)}


@dataclass(frozen=True)
class Noise:
    """A law of `kernels.private_blocks` with its parameters, one entry a release."""

    law: str
    first: NDArray[np.float64]
    second: NDArray[np.float64]

    def scale(self) -> NDArray[np.float64]:
        """Standard deviation of additive noise; 0 for the Dirichlet."""
        return self.first * {"dirichlet": 0.0, "gaussian": 1.0, "laplace": np.sqrt(2.0)}[self.law]

    def repeated(self, times: int) -> "Noise":
        """Every release `times` times, one after the other."""
        return Noise(self.law, np.repeat(self.first, times), np.repeat(self.second, times))


def calibrated(
    mechanism: str, epsilons: Sequence[float], *, order: float, laplace: str = "exact", exact: bool = False
) -> Noise:
    """Noise with which one release of disjoint histograms is (order, epsilon)-RDP for each epsilon.

    Parameters
    ----------
    mechanism : ``"dirichlet"``, ``"gaussian"`` or ``"laplace"``; neighbours replace one record.
    epsilons : budgets of one release, > 0.
    order : lambda >= 1.
    laplace : ``"exact"`` charges the two touched cells one each, ``"one cell"`` charges a shift of 2 in one cell, which
        is valid and about sqrt(2) too noisy.
    exact : True calibrates the Dirichlet to its exact worst case instead of Theorem 1's bound.
    """
    _checks.one_of("mechanism", mechanism, MECHANISMS)
    _checks.one_of("laplace", laplace, tuple(LAPLACE_CELLS))
    ones = np.ones(len(epsilons))
    if mechanism == "dirichlet":
        find = dirichlet.calibrate_exact if exact else dirichlet.calibrate
        pairs = np.array([find(e, order=order) for e in epsilons])
        return Noise("dirichlet", pairs[:, 0].copy(), pairs[:, 1].copy())
    if mechanism == "gaussian":
        return Noise(
            mechanism, np.array([renyi.gaussian_sigma(e, order=order, l2_squared=2.0) for e in epsilons]), ones
        )
    l1, cells = LAPLACE_CELLS[laplace]
    scales = [renyi.laplace_scale(e, order=order, l1=l1, cells=cells) for e in epsilons]
    return Noise(mechanism, np.array(scales), ones)


def floors(rule: float | str, noise: Noise) -> NDArray[np.float64]:
    """Floors under noisy counts, one a release: a number, or ``"sigma"``, the noise's public standard deviation."""
    if rule == "sigma":
        return noise.scale()
    return np.full(len(noise.first), _checks.positive("floor", rule))
