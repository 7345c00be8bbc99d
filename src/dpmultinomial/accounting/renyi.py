"""Rényi divergences of the Dirichlet, Laplace and Gaussian mechanisms, in closed form.

Counts are compared under replace-one neighbours: one record moves from one cell to another, so two cells change by one
each (L1 = 2, squared L2 = 2, largest change 1). Every function takes the order lambda >= 1; 1 is the KL divergence.
Sources: Ponnoprat (2022), equations 16-18; Mironov (2017), Table II and Corollary 2.
"""

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, polygamma

from .. import _checks

_NODES = 20


def order_at_least_one(order: float) -> float:
    """`order` as a finite number >= 1."""
    value = _checks.positive("order", order)
    if value < 1:
        raise ValueError(f"order must be >= 1, got {order}")
    return value


def dirichlet_divergence(u: ArrayLike, v: ArrayLike, *, order: float) -> float:
    """D_order(Dirichlet(u) || Dirichlet(v)), equations 16-17.

    Parameters
    ----------
    u, v : float (d,), positive, of equal length.
    order : lambda >= 1; 1 gives the KL divergence.

    Returns
    -------
    float
        ``inf`` where u_i + (order - 1)(u_i - v_i) <= 0 for some i. The absolute error is about 1e-16 times the
        largest log-gamma: 1e-7 relative from r = 1e-3 on with counts up to 1e3.
    """
    order = order_at_least_one(order)
    u = _checks.reals("u", u, least_size=2)
    u, v = _checks.positives("u", u, len(u)), _checks.positives("v", v, len(u))
    step = u - v
    both = np.append(u, u.sum()), np.append(step, step.sum())
    sign = np.append(np.ones(len(u)), -1.0)
    if order == 1:
        return float(sign @ (gammaln(both[0] - both[1]) - gammaln(both[0]) + both[1] * digamma(both[0])))
    far = both[0] + (order - 1) * both[1]
    if far.min() <= 0:
        return float("inf")
    near = (order - 1) * (gammaln(both[0] - both[1]) - gammaln(both[0]))
    return float(sign @ (near + gammaln(far) - gammaln(both[0])) / (order - 1))


def dirichlet_bound(r: float, *, order: float, l2_squared: float = 2.0, linf: float = 1.0) -> float:
    """The guarantee of Theorem 1 for Dirichlet(r f + alpha), alpha = 1 + 4(order - 1) r linf: line 1 of Algorithm 1."""
    order, r = order_at_least_one(order), _checks.positive("r", r)
    trigamma = polygamma(1, 1 + 3 * (order - 1) * r * _checks.positive("linf", linf))
    return float(0.5 * order * r**2 * _checks.positive("l2_squared", l2_squared) * trigamma)


def dirichlet_worst_case(r: float, *, alpha: float, order: float) -> float:
    """Largest D_order over all replace-one neighbours of counts, whatever their number, size and dimension.

    A record moves from cell i to cell j. The totals cancel, and each of the two terms falls in its own count, so the
    supremum is at one record in i and none in j (docs/methods.md). ``inf`` where alpha <= (order - 1) r;
    else good to 1e-12 relative for any r.
    """
    order, r, alpha = order_at_least_one(order), _checks.positive("r", r), _checks.positive("alpha", alpha)
    least = alpha - (order - 1) * r
    if least <= 0:
        return float("inf")
    if order * r < least:  # the four log-gammas nearly cancel: integrate their second derivative instead
        u, w = leggauss(_NODES)
        x, w = (u + 1) / 2, w / 2
        return float(order * r**2 * (w @ polygamma(1, least + r * ((order - 1) * x[:, None] + order * x)) @ w))
    if order == 1:
        return float(r * (digamma(alpha + r) - digamma(alpha)))
    ends = gammaln(alpha + order * r) + gammaln(least)
    return float((ends - gammaln(alpha + r) - gammaln(alpha)) / (order - 1))


def laplace(scale: float, *, order: float, l1: float, cells: int = 1) -> float:
    """Rényi divergence of Laplace(scale) noise whose centre moves by `l1` in all (Mironov 2017, Corollary 2).

    Parameters
    ----------
    scale : Laplace scale b > 0.
    order : lambda >= 1.
    l1 : total shift > 0.
    cells : whole number >= 1; the shift is shared equally by so many independent cells. One moved record is
        ``l1=2, cells=2``, which is exact; ``l1=2, cells=1`` is valid and larger.

    Returns
    -------
    float
    """
    order, scale = order_at_least_one(order), _checks.positive("scale", scale)
    cells = _checks.whole("cells", cells, least=1)
    shift = _checks.positive("l1", l1) / cells / scale
    if order == 1:
        return float(cells * (shift + np.expm1(-shift)))
    up, down = (order - 1) * shift, -order * shift
    weight = order / (2 * order - 1)
    if up < 1:  # the logarithm of 1 + something small
        return float(cells * np.log1p(weight * np.expm1(up) + (1 - weight) * np.expm1(down)) / (order - 1))
    return float(cells * np.logaddexp(np.log(weight) + up, np.log1p(-weight) + down) / (order - 1))


def laplace_scale(epsilon: float, *, order: float, l1: float, cells: int = 1) -> float:
    """The smallest Laplace scale that is (order, epsilon)-RDP; arguments as in `laplace`."""
    epsilon = _checks.positive("epsilon", epsilon)
    lower, upper = l1 / cells * np.array([1e-12, 1.0])
    while laplace(upper, order=order, l1=l1, cells=cells) > epsilon:
        upper *= 4
    while laplace(lower, order=order, l1=l1, cells=cells) < epsilon:
        lower /= 4
    gap = lambda log_scale: np.log(laplace(np.exp(log_scale), order=order, l1=l1, cells=cells) / epsilon)  # noqa: E731
    return float(np.exp(brentq(gap, np.log(lower), np.log(upper), xtol=1e-14, rtol=1e-15)))


def gaussian(sigma: float, *, order: float, l2_squared: float) -> float:
    """Rényi divergence of N(0, sigma^2) noise in every cell whose centre moves by `l2_squared` in squared L2 norm."""
    return float(
        order_at_least_one(order)
        * _checks.positive("l2_squared", l2_squared)
        / (2 * _checks.positive("sigma", sigma) ** 2)
    )


def gaussian_sigma(epsilon: float, *, order: float, l2_squared: float) -> float:
    """The smallest standard deviation that is (order, epsilon)-RDP."""
    squared = order_at_least_one(order) * _checks.positive("l2_squared", l2_squared)
    return float(np.sqrt(squared / (2 * _checks.positive("epsilon", epsilon))))
