"""Calibration of noise to a budget, for the three mechanisms in the experiments of Ponnoprat (2022), in the format of
`private_blocks`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting import renyi
from .._mechanisms import dirichlet

Array = NDArray[np.float64]

MECHANISMS = ("dirichlet", "gaussian", "laplace")
LAPLACE_CELLS = {"one cell": (2.0, 1), "exact": (2.0, 2)}


@dataclass(frozen=True)
class Noise:
    """Noise distribution for `private_blocks`, with one entry of its parameters per release.

    Parameters
    ----------
    law : ``"dirichlet"``, ``"gaussian"`` or ``"laplace"``.
    scale : r of the Dirichlet, standard deviation or Laplace scale of the noise; float64 (releases,), > 0.
    alpha : parameter of the Dirichlet, float64 (releases,); not used by additive noise.
    """

    law: str
    scale: Array
    alpha: Array

    def sd(self) -> Array:
        """Standard deviation of additive noise (releases,); 0 for the Dirichlet mechanism."""
        return self.scale * float({"dirichlet": 0.0, "gaussian": 1.0, "laplace": np.sqrt(2.0)}[self.law])

    def repeated(self, times: int) -> "Noise":
        """Return the noise with every release repeated `times` times, consecutively.

        Parameters
        ----------
        times : integer >= 1.

        Returns
        -------
        Noise
        """
        return Noise(self.law, np.repeat(self.scale, times), np.repeat(self.alpha, times))

    def __repr__(self) -> str:
        named = f", alpha {self.alpha}" if self.law == "dirichlet" else ""
        return f"Noise({self.law}, scale {self.scale}{named})"


def calibrated(
    mechanism: str, epsilons: ArrayLike, *, order: float, laplace: str = "exact", exact: bool = False
) -> Noise:
    """Return the noise with which one release of disjoint histograms is (order, epsilon)-RDP, for each epsilon.

    Parameters
    ----------
    mechanism : ``"dirichlet"``, ``"gaussian"`` or ``"laplace"``; neighbouring data sets differ by replacing one record.
    epsilons : budgets of one release, (releases,), > 0.
    order : lambda >= 1.
    laplace : ``"exact"`` assumes a shift of 1 in each of the two changed cells; ``"one cell"`` assumes a shift of 2 in
        one cell, which is valid, but the noise is about sqrt(2) times too large.
    exact : whether the Dirichlet is calibrated to its exact worst case instead of the bound of Theorem 1.

    Returns
    -------
    Noise
        One entry per budget, computed in less than 1 ms.

    Raises
    ------
    ValueError, TypeError
        For an unknown mechanism or option, or a budget or order outside its range.
    """
    _checks.one_of("mechanism", mechanism, MECHANISMS)
    _checks.one_of("laplace", laplace, tuple(LAPLACE_CELLS))
    budgets = _checks.reals("epsilons", epsilons).tolist()
    if mechanism == "dirichlet":
        find = dirichlet.calibrate_exact if exact else dirichlet.calibrate
        pairs = np.array([find(e, order=order) for e in budgets])
        return Noise("dirichlet", pairs[:, 0].copy(), pairs[:, 1].copy())
    if mechanism == "gaussian":
        scales = [renyi.gaussian_sigma(e, order=order, l2_squared=2.0) for e in budgets]
    else:
        l1, cells = LAPLACE_CELLS[laplace]
        scales = [renyi.laplace_scale(e, order=order, l1=l1, cells=cells) for e in budgets]
    return Noise(mechanism, np.array(scales), np.ones(len(budgets)))


def floors(rule: float | str, noise: Noise, *, smoothing: float = 0.0) -> Array:
    """Return the lower bounds to which noisy counts are raised, one per release.

    Parameters
    ----------
    rule : a number > 0, or ``"sigma"``, the public standard deviation of the noise.
    noise : noise of the releases.
    smoothing : lower limit of the floor. The paper's variants use 0: their floor goes to 0 with the noise, and an empty
        cell makes a category impossible.

    Returns
    -------
    float64 (releases,)

    Raises
    ------
    ValueError, TypeError
        If `rule` is neither of these, or `smoothing` is negative or not a number.
    """
    if _checks.number("smoothing", smoothing) < 0:
        raise ValueError(f"smoothing must be >= 0, got {smoothing}")
    if isinstance(rule, str):
        _checks.one_of("floor", rule, ("sigma",))
        return np.maximum(noise.sd(), smoothing)
    return np.asarray(np.maximum(np.full(len(noise.scale), _checks.positive("floor", rule)), smoothing))
