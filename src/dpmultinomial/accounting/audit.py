"""Check a claimed guarantee against the exact cost of the mechanism under replace-one neighbours.

A claim is right when the exact worst case does not exceed it; `slack` = claimed/exact says how much noise is wasted.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from .. import _checks
from ..mechanisms.dirichlet import Dirichlet
from ..mechanisms.gaussian import Gaussian
from ..mechanisms.laplace import Laplace
from . import dirichlet_profile, renyi

Mechanism = Dirichlet | Gaussian | Laplace


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Outcome: what was claimed, what is exact (same unit), and the verdict."""

    claimed: float
    exact: float

    @property
    def holds(self) -> bool:
        """Whether the claim covers the exact cost (1e-9 relative is left to rounding)."""
        return self.exact <= self.claimed * (1 + 1e-9)

    @property
    def slack(self) -> float:
        """claimed/exact: 1 is tight, below 1 the claim is false."""
        return self.claimed / self.exact


def renyi_claim(mechanism: Mechanism, *, order: float, epsilon: float) -> Audit:
    """Is one release of `mechanism` (order, epsilon)-RDP when one record is replaced?

    Parameters
    ----------
    mechanism : `Dirichlet`, `Gaussian` or `Laplace`; the last two add noise to every cell of the histogram.
    order, epsilon : the claim.

    Returns
    -------
    Audit
        In units of the Rényi epsilon.
    """
    return Audit(claimed=_checks.positive("epsilon", epsilon), exact=exact_renyi(mechanism, order=order))


def dp_claim(mechanism: Mechanism, *, epsilon: float, delta: float) -> Audit:
    """Is one release of `mechanism` (epsilon, delta)-DP when one record is replaced? `Audit` in units of delta."""
    return Audit(claimed=_checks.positive("delta", delta), exact=exact_delta(mechanism, epsilon=epsilon))


def exact_renyi(mechanism: Mechanism, *, order: float) -> float:
    """Largest Rényi divergence of order `order` over replace-one neighbours."""
    if isinstance(mechanism, Dirichlet):
        return renyi.dirichlet_worst_case(mechanism.r, alpha=mechanism.alpha, order=order)
    if isinstance(mechanism, Gaussian):
        return renyi.gaussian(mechanism.sigma, order=order, l2_squared=2.0)
    if isinstance(mechanism, Laplace):
        return renyi.laplace(mechanism.scale, order=order, l1=2.0, cells=2)
    raise TypeError(f"mechanism must be Dirichlet, Gaussian or Laplace, got {mechanism!r}")


def exact_delta(mechanism: Mechanism, *, epsilon: float) -> float:
    """Smallest delta at `epsilon` over replace-one neighbours."""
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be >= 0, got {epsilon}")
    if isinstance(mechanism, Dirichlet):
        return float(dirichlet_profile.delta(epsilon, r=mechanism.r, alpha=mechanism.alpha))
    if isinstance(mechanism, Gaussian):
        return float(mechanism.delta(epsilon, l2_squared=2.0))
    if isinstance(mechanism, Laplace):
        return _two_laplace_cells(epsilon, 1 / mechanism.scale)
    raise TypeError(f"mechanism must be Dirichlet, Gaussian or Laplace, got {mechanism!r}")


def _two_laplace_cells(epsilon: float, shift: float) -> float:
    """delta of two Laplace cells that move by `shift` scales each: the second cell averaged over the first's loss.

    The loss of one cell has atoms at +shift (1/2) and -shift (exp(-shift)/2) and density exp((l - shift)/2)/4 between.
    """
    kinks = np.unique(np.clip([-shift, epsilon - shift, epsilon + shift, shift], -shift, shift))
    x, w = leggauss(60)
    value = 0.5 * _one_cell(np.array(epsilon - shift), shift)
    value = value + 0.5 * np.exp(-shift) * _one_cell(np.array(epsilon + shift), shift)
    for low, high in pairwise(kinks):
        loss = (low + high) / 2 + (high - low) / 2 * x
        value = value + (high - low) / 2 * np.sum(w * np.exp((loss - shift) / 2) / 4 * _one_cell(epsilon - loss, shift))
    return float(value)


def _one_cell(epsilon: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
    """Hockey-stick divergence of one Laplace cell at any real epsilon."""
    middle = -np.expm1((np.clip(epsilon, -shift, shift) - shift) / 2)
    return np.where(epsilon <= -shift, -np.expm1(np.minimum(epsilon, 0.0)), middle)
