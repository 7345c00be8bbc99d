"""The (epsilon, delta) guarantee of Gohari et al. (2021) for Dirichlet draws, with delta by exact integration.

Mechanism: Y ~ Dirichlet(k p) for p with p_i >= eta on a set W of cells and at most 1 - eta_bar on W in all; adjacent p
differ by `shift` in L1 norm, on two cells of W. For counts k = r N + d alpha, eta = alpha/k,
eta_bar = (d - |W|) alpha/k and shift = 2 r/k. delta is the largest probability that some Y_i with i in W is gamma or
less.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import beta as beta_function
from scipy.special import betainc, betaln, roots_jacobi, roots_legendre

from .. import _checks

_NODES = 600
_LARGEST_SET = 3


def epsilon(gamma: float, *, concentration: float, eta: float, eta_bar: float, shift: float, members: int = 2) -> float:
    """epsilon of the guarantee that holds off an event of probability `delta`.

    Parameters
    ----------
    gamma : in (0, 1/members).
    concentration : k > 0.
    eta, eta_bar : in (0, 1).
    shift : L1 distance of adjacent p, > 0 and < 2 (1 - eta_bar - eta).
    members : size of W, 2 or more.
    """
    k, gamma, members = _checked(gamma, concentration, eta, eta_bar, members)
    rest = 1 - eta_bar - eta
    half = _checks.positive("shift", shift) / 2
    if half >= rest:
        raise ValueError(f"shift must be < 2 (1 - eta_bar - eta) = {2 * rest:.6g}, got {shift}")
    slope = np.log((1 - (members - 1) * gamma) / gamma)
    return float(k * half * slope + betaln(k * eta, k * rest) - betaln(k * (eta + half), k * (rest - half)))


def delta(gamma: float, *, concentration: float, eta: float, eta_bar: float, members: int = 2) -> float:
    """Largest probability, over the vertices of the region, that a cell of W is gamma or less.

    Parameters as in `epsilon`; `members` 2 or 3 (600^(members - 1) integrand values).

    Returns
    -------
    float
        Relative error below 1e-6 down to 1e-300 (stick breaking: only positive terms are added).
    """
    k, gamma, members = _checked(gamma, concentration, eta, eta_bar, members)
    if members > _LARGEST_SET:
        raise ValueError(f"members must be <= {_LARGEST_SET}, got {members}")
    return max(_some_below(gamma, vertex) for vertex in vertices(k, eta, eta_bar, members))


def vertices(concentration: float, eta: float, eta_bar: float, members: int) -> list[NDArray[np.float64]]:
    """Dirichlet parameters (W first, then all other cells together) at the two kinds of vertices."""
    low = np.full(members, eta)
    high = np.append(low[:-1], 1 - eta_bar - (members - 1) * eta)
    return [concentration * np.append(p, 1 - p.sum()) for p in (low, high)]


def delta_by_product_rule(gamma: float, *, concentration: float, eta: float, eta_bar: float, degree: int = 51) -> float:
    """`delta` for |W| = 2 as 1 minus a product Gauss rule over the triangle of points above gamma: emulates a slip.

    The integrand is far too peaked for a rule of this degree, and the subtraction turns its error into a floor.
    The printed figure came from another rule of about the same degree.
    """
    k, gamma, _ = _checked(gamma, concentration, eta, eta_bar, 2)
    points, weights = _triangle_rule((degree + 1) // 2)
    y = gamma + (1 - 3 * gamma) * points  # all three coordinates above gamma
    y = np.column_stack([y, 1 - y.sum(axis=1)])
    smallest = 1.0
    for a in vertices(k, eta, eta_bar, 2):
        log_density = np.log(y) @ (a - 1) - _log_beta(a)
        smallest = min(smallest, (1 - 3 * gamma) ** 2 * float(weights @ np.exp(log_density)))
    return 1 - smallest


def calibrate(target: float, *, concentration: float, eta: float, eta_bar: float, members: int = 2) -> float:
    """The largest gamma with delta(gamma) <= target, to 1e-12 relative."""
    low, high = np.log(1e-300), np.log(1 / (members + 1))
    while high - low > 1e-12:
        middle = (low + high) / 2
        value = delta(float(np.exp(middle)), concentration=concentration, eta=eta, eta_bar=eta_bar, members=members)
        low, high = (middle, high) if value <= target else (low, middle)
    return float(np.exp(low))


def _checked(gamma: float, concentration: float, eta: float, eta_bar: float, members: int) -> tuple[float, float, int]:
    members = _checks.whole("members", members, least=2)
    for name, value in (("gamma", gamma), ("eta", eta), ("eta_bar", eta_bar)):
        _checks.positive(name, value)
    if gamma * members >= 1:
        raise ValueError(f"gamma must be < 1/{members}, got {gamma}")
    if members * eta + eta_bar > 1 + 1e-12:
        raise ValueError(f"members*eta + eta_bar must be <= 1, got {members * eta + eta_bar}")
    return _checks.positive("concentration", concentration), float(gamma), members


def _some_below(gamma: NDArray | float, a: NDArray[np.float64]) -> NDArray | float:
    """Pr[some of the cells but the last is <= gamma], Y ~ Dirichlet(a); one cell is split off, the rest is rescaled."""
    if len(a) == 2:
        return betainc(a[0], a[1], np.minimum(gamma, 1.0))
    gamma = np.asarray(gamma, dtype=float)
    first, others = a[0], a[1:].sum()
    y, weight = _double_exponential()
    y = gamma[..., None] + (1 - gamma[..., None]) * y
    weight = (1 - gamma[..., None]) * weight
    inside = np.clip(y, 1e-300, 1 - 1e-16)
    density = np.exp((first - 1) * np.log(inside) + (others - 1) * np.log1p(-inside) - betaln(first, others))
    tail = _some_below(np.minimum(gamma[..., None] / (1 - inside), 1.0), a[1:])
    value = betainc(first, others, gamma) + (weight * density * tail).sum(axis=-1)
    return float(value) if value.ndim == 0 else value


def _double_exponential() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights on (0, 1) that crowd at both ends (tanh-sinh)."""
    t = np.linspace(-4.2, 4.2, _NODES)
    inner = np.pi / 2 * np.sinh(t)
    nodes = 0.5 * (1 + np.tanh(inner))
    return nodes, (t[1] - t[0]) * 0.25 * np.pi * np.cosh(t) / np.cosh(inner) ** 2


def _triangle_rule(order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Conical product rule on the triangle x, y >= 0, x + y <= 1: points (order^2, 2) and weights."""
    x, wx = roots_jacobi(order, 1, 0)
    t, wt = roots_legendre(order)
    x, wx, t, wt = (x + 1) / 2, wx / 4, (t + 1) / 2, wt / 2
    points = np.column_stack([np.repeat(x, order), np.outer(1 - x, t).ravel()])
    return points, np.outer(wx, wt).ravel()


def _log_beta(a: NDArray[np.float64]) -> float:
    return float(np.log(beta_function(a[0], a[1:].sum())) + betaln(a[1], a[2]))
