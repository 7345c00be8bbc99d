"""Check of a claimed privacy guarantee against the exact cost of the mechanism when one record is replaced.

A claim is valid if it is at least the exact worst case; `slack` = claimed/exact measures how much noise is unnecessary.
"""

from dataclasses import dataclass

from .. import _checks
from .._accounting import privacy_profiles, renyi
from .._mechanisms.dirichlet import Dirichlet
from .._mechanisms.gaussian import Gaussian
from .._mechanisms.laplace import Laplace

Mechanism = Dirichlet | Gaussian | Laplace


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Result of checking a claimed privacy guarantee.

    Parameters
    ----------
    claimed : claimed cost.
    exact : exact worst case, in the same unit.
    """

    claimed: float
    exact: float

    @property
    def holds(self) -> bool:
        """Return whether the claimed cost covers the exact cost (with a relative tolerance of 1e-9 for rounding)."""
        return self.exact <= self.claimed * (1 + 1e-9)

    @property
    def slack(self) -> float:
        """Ratio of claimed to exact cost; the claim is tight at 1 and false below 1; ``inf`` if the exact cost is 0."""
        return self.claimed / self.exact if self.exact > 0 else float("inf")

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "is false"
        return f"Audit(claimed {self.claimed:.6g} {verdict}, exact {self.exact:.6g}, slack {self.slack:.4g})"


def audit(mechanism: Mechanism, *, epsilon: float, delta: float | None = None, order: float | None = None) -> Audit:
    """Compare the claimed privacy guarantee of one release with the exact cost when one record is replaced.

    Parameters
    ----------
    mechanism : `Dirichlet`, `Gaussian` or `Laplace`; the last two add noise to every cell of a histogram.
    epsilon : claimed epsilon, > 0.
    delta : in (0, 1); the claim is (epsilon, delta)-differential privacy.
    order : >= 1; the claim is Rényi differential privacy of this order.

    Returns
    -------
    Audit
        Result with ``.holds``, and ``.slack``, the ratio of claimed to exact cost, in units of delta or Rényi epsilon.

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
        raise ValueError("pass exactly one of delta and order")
    if order is not None:
        return renyi_claim(mechanism, order=order, epsilon=epsilon)
    assert delta is not None
    return dp_claim(mechanism, epsilon=epsilon, delta=delta)


def renyi_claim(mechanism: Mechanism, *, order: float, epsilon: float) -> Audit:
    """Check whether one release of `mechanism` is (order, epsilon)-RDP when one record is replaced.

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
    """Check whether one release of `mechanism` is (epsilon, delta)-DP when one record is replaced.

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
    """Return the largest Rényi divergence of a release when one record is replaced.

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
    """Return the smallest delta of a release at a given `epsilon` when one record is replaced.

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
