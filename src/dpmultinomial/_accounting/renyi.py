"""Rényi divergences of the Dirichlet, Laplace and Gaussian mechanisms, in closed form.

Neighbouring histograms differ by replacing one record, which moves from one cell to another, so that two cells change
by one each (L1 = 2, squared L2 = 2, largest change 1). Every function has an order lambda >= 1; order 1 is the KL
divergence. Sources: Ponnoprat (2022), equations 16-18; Mironov (2017), Table II and Corollary 2.

The module also has the zero-concentrated differential privacy (Bun and Steinke 2016) of continuous and discrete
Gaussian noise.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln, polygamma

from .. import _checks, _quadrature

_NODES = 20
_NEAR_ONE = 0.05  # if order - 1 is below this value, divergences are computed as means
_SMALL_SHIFT = 1e-4  # shift of Laplace noise below which leading terms would cancel


def order_at_least_one(order: float) -> float:
    """Check that `order` is a finite number >= 1, and return the number as a float.

    Parameters
    ----------
    order : Rényi order lambda.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If `order` is not a finite number >= 1.
    """
    value = _checks.positive("order", order)
    if value < 1:
        raise ValueError(f"order must be >= 1, got {order}")
    return value


def dirichlet_divergence(u: ArrayLike, v: ArrayLike, *, order: float) -> float:
    """Return the Rényi divergence D_order(Dirichlet(u) || Dirichlet(v)), by equations 16 and 17 of Ponnoprat (2022).

    Parameters
    ----------
    u, v : float (d,), positive, of the same length.
    order : lambda >= 1; 1 gives the KL divergence.

    Returns
    -------
    float
        ``inf`` if u_i + (order - 1)(u_i - v_i) <= 0 for some i. The absolute error is about 1e-16 times the largest
        log-gamma: a relative error of 1e-7 for r >= 1e-3 and counts up to 1e3.
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
    """Return the bound of Theorem 1 of Ponnoprat (2022) on the Rényi epsilon of a draw from Dirichlet(r f + alpha),
    where f denotes the counts. As in line 1 of Algorithm 1, alpha = 1 + 4(order - 1) r linf.

    Parameters
    ----------
    r : > 0.
    order : lambda >= 1.
    l2_squared, linf : squared L2 and L-infinity sensitivity of the counts, > 0.

    Returns
    -------
    float
        Rényi epsilon, with a relative error of 1e-15. The cost is O(1).
    """
    order, r = order_at_least_one(order), _checks.positive("r", r)
    trigamma = polygamma(1, 1 + 3 * (order - 1) * r * _checks.positive("linf", linf))
    return float(0.5 * order * r**2 * _checks.positive("l2_squared", l2_squared) * trigamma)


def dirichlet_worst_case(r: float, *, alpha: float, order: float) -> float:
    """Return the largest Rényi divergence of the Dirichlet mechanism over all pairs of histograms that differ in one
    replaced record.

    A record moves from cell i to cell j. The totals cancel, and each of the two terms decreases in its own count, so
    the supremum is attained with one record in i and none in j (methods of Ponnoprat, 2022, in the documentation).

    Parameters
    ----------
    r, alpha : parameters of the mechanism, > 0.
    order : lambda >= 1.

    Returns
    -------
    float
        ``inf`` if alpha <= (order - 1) r; otherwise, the relative error is 1e-12 for any r and any order >= 1. The cost
        is O(1).
    """
    order, r, alpha = order_at_least_one(order), _checks.positive("r", r), _checks.positive("alpha", alpha)
    least = alpha - (order - 1) * r
    if least <= 0:
        return float("inf")
    if order * r < least:  # the four log-gammas nearly cancel: integrate their second derivative instead
        x, w = _unit_rule()
        return float(order * r**2 * (w @ polygamma(1, least + r * ((order - 1) * x[:, None] + order * x)) @ w))
    if order == 1:
        return float(r * (digamma(alpha + r) - digamma(alpha)))
    if order - 1 < _NEAR_ONE:
        return _worst_case_near_one(r, alpha, order - 1)
    ends = gammaln(alpha + order * r) + gammaln(least)
    return float((ends - gammaln(alpha + r) - gammaln(alpha)) / (order - 1))


def _worst_case_near_one(r: float, alpha: float, excess: float) -> float:
    """Return the sum of the two differences of log-gamma functions in the worst-case Rényi divergence, divided by
    `excess` = order - 1. Each quotient is r times a mean of digamma functions.
    """
    x, w = _unit_rule()
    upper = r * (w @ digamma(alpha + r + excess * r * x))
    if 2 * excess * r < alpha:
        return float(upper - r * (w @ digamma(alpha - excess * r * x)))
    return float(upper + (gammaln(alpha - excess * r) - gammaln(alpha)) / excess)


def _unit_rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights of Gauss-Legendre quadrature on (0, 1)."""
    u, w = _quadrature.legendre(_NODES)
    return (u + 1) / 2, w / 2


def laplace(scale: float, *, order: float, l1: float, cells: int = 1) -> float:
    """Return the Rényi divergence between Laplace(scale) noise and the same noise shifted by a total of `l1` (Mironov
    2017, Corollary 2).

    Parameters
    ----------
    scale : Laplace scale b > 0.
    order : lambda >= 1.
    l1 : total shift > 0.
    cells : integer >= 1; the shift is divided equally among this number of independent cells. Replacing one record is
        ``l1=2, cells=2``, which is exact; ``l1=2, cells=1`` is valid but larger.

    Returns
    -------
    float
        The relative error is 2e-11 for any order and scale. The cost is O(1).
    """
    order, scale = order_at_least_one(order), _checks.positive("scale", scale)
    cells = _checks.integer("cells", cells, least=1)
    return _laplace(scale, order, _checks.positive("l1", l1), cells)


def _laplace(scale: float, order: float, l1: float, cells: int) -> float:
    """Compute the Rényi divergence that `laplace` returns, for arguments that have been checked."""
    shift = l1 / cells / scale
    if order - 1 < _NEAR_ONE or (2 * order - 1) * shift < _SMALL_SHIFT:
        return cells * _laplace_near_one(shift, order - 1)
    up, down = (order - 1) * shift, -order * shift
    weight = order / (2 * order - 1)
    if up < 1:  # the logarithm of 1 + a small number
        return float(cells * np.log1p(weight * np.expm1(up) + (1 - weight) * np.expm1(down)) / (order - 1))
    return float(cells * np.logaddexp(np.log(weight) + up, np.log1p(-weight) + down) / (order - 1))


def _laplace_near_one(shift: float, excess: float) -> float:
    """Compute the Rényi divergence between Laplace noise in one cell and the same noise after a shift, for orders near
    1 or for small shifts. The computation avoids cancellation.

    The moment is 1 + excess y with y = (1 + excess)/(1 + 2 excess) times the integral over t from 0 to shift of
    exp(excess t) - exp(-(1 + excess) t), which is positive; for a shift above 1 it is evaluated in closed form.
    """
    rate, front = 1 + 2 * excess, (1 + excess) / (1 + 2 * excess)
    if excess * shift > 1:
        rest = np.log1p(excess / (1 + excess) * np.exp(-rate * shift))
        return float(shift + (np.log(front) + rest) / excess)
    if rate * shift < 1:
        x, w = _unit_rule()
        t = shift * x
        y = front * shift * float(w @ (-np.exp(excess * t) * np.expm1(-rate * t)))
    else:
        grown = np.expm1(excess * shift) / excess if excess > 0 else shift
        y = front * float(grown + np.expm1(-(1 + excess) * shift) / (1 + excess))
    return float(np.log1p(excess * y) / excess) if excess > 0 else y


def laplace_scale(epsilon: float, *, order: float, l1: float, cells: int = 1) -> float:
    """Return the smallest scale at which Laplace noise is (order, epsilon)-RDP.

    Parameters
    ----------
    epsilon : > 0.
    order, l1, cells : as in `laplace`.

    Returns
    -------
    float
        The relative error is 1e-11; about 30 evaluations of `laplace`.

    Raises
    ------
    ValueError, TypeError
        As in `laplace`; the message states the argument.
    """
    from scipy.optimize import brentq  # the import takes a third of a second and is only needed here

    epsilon = _checks.positive("epsilon", epsilon)
    order, l1 = order_at_least_one(order), _checks.positive("l1", l1)
    cells = _checks.integer("cells", cells, least=1)
    lower, upper = l1 / cells * np.array([1e-12, 1.0])
    while laplace(upper, order=order, l1=l1, cells=cells) > epsilon:
        upper *= 4
    while laplace(lower, order=order, l1=l1, cells=cells) < epsilon:
        lower /= 4

    def gap(log_scale: float) -> float:
        return float(np.log(_laplace(float(np.exp(log_scale)), order, l1, cells) / epsilon))

    return float(np.exp(brentq(gap, np.log(lower), np.log(upper), xtol=1e-14, rtol=1e-15)))


def gaussian(sigma: float, *, order: float, l2_squared: float) -> float:
    """Return the Rényi divergence between N(0, sigma^2) noise in every cell and the same noise with a shifted mean. The
    squared L2 norm of the shift is `l2_squared`.

    Parameters
    ----------
    sigma : standard deviation > 0.
    order : lambda >= 1.
    l2_squared : squared L2 shift, > 0; 2 if one record is replaced.

    Returns
    -------
    float
        order l2_squared / (2 sigma^2), Mironov (2017), Corollary 3.
    """
    return float(
        order_at_least_one(order)
        * _checks.positive("l2_squared", l2_squared)
        / (2 * _checks.positive("sigma", sigma) ** 2)
    )


def gaussian_sigma(epsilon: float, *, order: float, l2_squared: float) -> float:
    """Return the smallest standard deviation at which Gaussian noise is (order, epsilon)-RDP.

    Parameters
    ----------
    epsilon : > 0.
    order, l2_squared : as in `gaussian`.

    Returns
    -------
    float
        sqrt(order l2_squared / (2 epsilon)).
    """
    squared = order_at_least_one(order) * _checks.positive("l2_squared", l2_squared)
    return float(np.sqrt(squared / (2 * _checks.positive("epsilon", epsilon))))


def concentrated_gaussian(sigma: float, *, l2_squared: float) -> float:
    """Return the zCDP parameter rho = l2_squared/(2 sigma^2) of N(0, sigma^2) noise or of discrete Gaussian noise
    (Canonne, Kamath and Steinke 2020, Theorem 4).

    Parameters
    ----------
    sigma : > 0.
    l2_squared : > 0, largest squared L2 change of the released vector.
    """
    return _checks.positive("l2_squared", l2_squared) / (2 * _checks.positive("sigma", sigma) ** 2)


def concentrated_gaussian_sigma(rho: float, *, l2_squared: float) -> float:
    """Return the standard deviation sigma for which Gaussian noise satisfies rho-zCDP."""
    return float(np.sqrt(_checks.positive("l2_squared", l2_squared) / (2 * _checks.positive("rho", rho))))


def to_dp(rho: float, *, delta: float) -> float:
    """Return the smallest epsilon for which rho-zCDP implies (epsilon, delta)-DP according to Canonne, Kamath and
    Steinke (2020), Corollary 13.

    Parameters
    ----------
    rho : > 0.
    delta : in (0, 1).

    Returns
    -------
    float
        min over orders a > 1 of rho a + log(1/(a delta))/(a - 1) + log(1 - 1/a), never below 0.
    """
    # this import takes a third of a second and is needed only for this bound
    from scipy.optimize import minimize_scalar

    rho, delta = _checks.positive("rho", rho), _checks.inside("delta", delta)

    def bound(log_gap: float) -> float:
        a = 1 + np.exp(log_gap)
        return float(rho * a - np.log(a * delta) / (a - 1) + log_gap - np.log(a))

    optimum = minimize_scalar(bound, bounds=(-20.0, 40.0), method="bounded", options={"xatol": 1e-10})
    return max(0.0, float(optimum.fun))
