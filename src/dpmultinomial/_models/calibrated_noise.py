"""Calibration of noise to a privacy budget, and checks of claimed privacy guarantees.

The three mechanisms are used in the experiments of Ponnoprat (2022), and are described in the format of
`private_blocks`. A claim is checked against the exact cost of the mechanism when one record is replaced. A claim is
valid if it is at least the exact worst case; `slack` = claimed/exact measures how much noise is unnecessary.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting import privacy_profiles, renyi
from .._mechanisms import dirichlet
from .._mechanisms.dirichlet import Dirichlet
from .._mechanisms.gaussian import Gaussian
from .._mechanisms.laplace import Laplace

Array = NDArray[np.float64]

MECHANISMS = ("dirichlet", "gaussian", "laplace")
LAPLACE_CELLS = {"one cell": (2.0, 1), "exact": (2.0, 2)}


@dataclass(frozen=True)
class Noise:
    """Noise distribution of several releases, with the parameters of each release in the format of `private_blocks`.

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
        """Standard deviation of the additive noise of every release, as a float64 array of shape (releases,). It is 0
        for the Dirichlet mechanism.
        """
        return self.scale * float({"dirichlet": 0.0, "gaussian": 1.0, "laplace": np.sqrt(2.0)}[self.law])

    def repeated(self, times: int) -> "Noise":
        """Return a copy of the noise in which the parameters of every release are repeated `times` times, as by
        `numpy.repeat`.

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
    """Return the noise parameters for which a single release of disjoint histograms satisfies (order, epsilon)-RDP, for
    each given epsilon.

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
    """Return the lower bound of the noisy counts for each release. Smaller noisy counts are raised to this bound.

    Parameters
    ----------
    rule : a number > 0, or ``"sigma"``, the public standard deviation of the noise.
    noise : noise of the releases.
    smoothing : lower limit of the floor. The variants in the paper use 0, so that the floor decreases to 0 with the
        noise, and an empty cell makes a category impossible.

    Returns
    -------
    float64 (releases,)

    Raises
    ------
    ValueError, TypeError
        If `rule` is neither a number > 0 nor ``"sigma"``, or `smoothing` is negative or not a number.
    """
    if _checks.number("smoothing", smoothing) < 0:
        raise ValueError(f"smoothing must be >= 0, got {smoothing}")
    if isinstance(rule, str):
        _checks.one_of("floor", rule, ("sigma",))
        return np.maximum(noise.sd(), smoothing)
    return np.asarray(np.maximum(np.full(len(noise.scale), _checks.positive("floor", rule)), smoothing))


Mechanism = Dirichlet | Gaussian | Laplace


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Comparison of a claimed privacy guarantee with the exact privacy cost of a mechanism.

    Parameters
    ----------
    claimed : claimed cost.
    exact : exact worst case, in the same unit.
    """

    claimed: float
    exact: float

    @property
    def holds(self) -> bool:
        """Return whether the claimed cost is at least the exact cost, up to a relative rounding error of 1e-9."""
        return self.exact <= self.claimed * (1 + 1e-9)

    @property
    def slack(self) -> float:
        """Ratio of the claimed to the exact privacy cost. The claim is tight if the ratio is 1, and false if the ratio
        is below 1. The ratio is ``inf`` if the exact cost is 0.
        """
        return self.claimed / self.exact if self.exact > 0 else float("inf")

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "is false"
        return f"Audit(claimed {self.claimed:.6g} {verdict}, exact {self.exact:.6g}, slack {self.slack:.4g})"


def audit(mechanism: Mechanism, *, epsilon: float, delta: float | None = None, order: float | None = None) -> Audit:
    """Compare the claimed privacy guarantee of one release with the exact privacy cost of replacing one record.

    Parameters
    ----------
    mechanism : `Dirichlet`, `Gaussian` or `Laplace`; the last two add noise to every cell of a histogram.
    epsilon : claimed epsilon, > 0.
    delta : in (0, 1); the claim is (epsilon, delta)-differential privacy.
    order : >= 1; the claim is Rényi differential privacy of this order.

    Returns
    -------
    Audit
        Result with ``.holds``, and ``.slack``, the ratio of the claimed to the exact cost, in units of delta or Rényi
        epsilon.

    Raises
    ------
    ValueError, TypeError
        If not exactly one of delta and order is given, or an argument is invalid.

    Examples
    --------
    >>> import dpmultinomial as dpm
    >>> dpm.audit(dpm.Gaussian(sigma=2.0), epsilon=1.0, order=2.0).holds
    True
    """
    if (delta is None) == (order is None):
        raise ValueError(f"exactly one of delta and order must be given, got delta = {delta} and order = {order}")
    if order is not None:
        return renyi_claim(mechanism, order=order, epsilon=epsilon)
    assert delta is not None
    return dp_claim(mechanism, epsilon=epsilon, delta=delta)


def renyi_claim(mechanism: Mechanism, *, order: float, epsilon: float) -> Audit:
    """Check whether one release of a mechanism satisfies (order, epsilon)-RDP if neighbouring data sets differ by
    replacing one record.

    Parameters
    ----------
    mechanism : `Dirichlet`, `Gaussian` or `Laplace`; the last two add noise to every cell of the histogram.
    order, epsilon : claimed guarantee; order >= 1, epsilon > 0.

    Returns
    -------
    Audit
        In units of the Rényi epsilon.

    Raises
    ------
    ValueError, TypeError
        For another mechanism, or a claim that is not a number or outside its range.
    """
    return Audit(claimed=_checks.positive("epsilon", epsilon), exact=exact_renyi(mechanism, order=order))


def dp_claim(mechanism: Mechanism, *, epsilon: float, delta: float) -> Audit:
    """Check whether one release of a mechanism satisfies (epsilon, delta)-DP if neighbouring data sets differ by
    replacing one record.

    Parameters
    ----------
    mechanism : as in `renyi_claim`.
    epsilon, delta : claimed guarantee; epsilon >= 0, delta > 0.

    Returns
    -------
    Audit
        In units of delta.

    Raises
    ------
    ValueError, TypeError
        As in `renyi_claim`.
    """
    return Audit(claimed=_checks.positive("delta", delta), exact=exact_delta(mechanism, epsilon=epsilon))


def exact_renyi(mechanism: Mechanism, *, order: float) -> float:
    """Return the largest Rényi divergence between the release distributions of two data sets that differ in one
    replaced record.

    Parameters
    ----------
    mechanism : as in `renyi_claim`.
    order : lambda >= 1.

    Returns
    -------
    float
        ``inf`` if the divergence is unbounded.

    Raises
    ------
    ValueError, TypeError
        As in `renyi_claim`.
    """
    if isinstance(mechanism, Dirichlet):
        return renyi.dirichlet_worst_case(mechanism.r, alpha=mechanism.alpha, order=order)
    if isinstance(mechanism, Gaussian):
        return renyi.gaussian(mechanism.sigma, order=order, l2_squared=2.0)
    if isinstance(mechanism, Laplace):
        return renyi.laplace(mechanism.scale, order=order, l1=2.0, cells=2)
    raise TypeError(f"mechanism must be Dirichlet, Gaussian or Laplace, got {mechanism!r}")


def exact_delta(mechanism: Mechanism, *, epsilon: float) -> float:
    """Return the smallest delta for which a release is (epsilon, delta)-DP if neighbouring data sets differ by
    replacing one record.

    Parameters
    ----------
    mechanism : as in `renyi_claim`.
    epsilon : >= 0.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError, TypeError
        As in `renyi_claim`.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be >= 0, got {epsilon}")
    if isinstance(mechanism, Dirichlet):
        return float(privacy_profiles.dirichlet_delta(epsilon, r=mechanism.r, alpha=mechanism.alpha))
    if isinstance(mechanism, Gaussian):
        return float(mechanism.delta(epsilon, l2_squared=2.0))
    if isinstance(mechanism, Laplace):
        return float(privacy_profiles.laplace_delta(epsilon, scale=mechanism.scale))
    raise TypeError(f"mechanism must be Dirichlet, Gaussian or Laplace, got {mechanism!r}")
