"""Compute the (epsilon, delta) guarantee of Gohari et al. (2021) for Dirichlet draws, with delta computed by exact
integration.

Mechanism: Y ~ Dirichlet(k p) for p with p_i >= eta on a set W of cells, and with a sum over W of at most 1 - eta_bar.
Adjacent p differ by `shift` in L1 norm, on two cells of W. For counts, k = r N + d alpha, eta = alpha/k, eta_bar = (d -
|W|) alpha/k and shift = 2 r/k. Then delta is the largest probability that some Y_i with i in W is at most gamma.

The printed Figure 2 integrates by the rule of degree 50 on the triangle (453 points) of Xiao and Gimbutas (2010),
Computers & Mathematics with Applications 59, 663-676. The numbers, as distributed by modepy (MIT licence), are in
``triangle_rule_50.tsv``. A test checks that the rule is exact to degree 50.
"""

from functools import cache, lru_cache
from itertools import permutations
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import beta as beta_function
from scipy.special import betainc, betaincinv, betaln, gammaln, roots_jacobi, roots_legendre

from dpmultinomial import _checks, _quadrature

from .... import tables

DEGREE_50_RULE = Path(__file__).with_name("triangle_rule_50.tsv")
_NODES: Final = 600
_LARGEST_SET: Final = 3
_AGREEMENT: Final = 1e-7  # required relative agreement of the two rules of `delta`

Array = NDArray[np.float64]


def epsilon(gamma: float, *, concentration: float, eta: float, eta_bar: float, shift: float, members: int = 2) -> float:
    """Return the epsilon of the (epsilon, delta) guarantee of Gohari et al. (2021). The guarantee holds outside an
    event of probability `delta`.

    Parameters
    ----------
    gamma : in (0, 1/members).
    concentration : k > 0.
    eta, eta_bar : in (0, 1).
    shift : L1 distance of adjacent p, > 0 and < 2 (1 - eta_bar - eta).
    members : size of W, 2 or more.

    Returns
    -------
    float
        Epsilon of the guarantee, by the printed formula. It is negative for shifts just below the limit.

    Raises
    ------
    ValueError, TypeError
        If an argument is not a number or is outside its range, or if `members` eta + eta_bar exceeds 1.

    Notes
    -----
    Gohari et al. (2021), Theorem 1, in the form of Ponnoprat (2022), section 4.3; O(1).
    """
    k, gamma, members = _checked(gamma, concentration, eta, eta_bar, members)
    rest = 1 - eta_bar - eta
    half = _checks.positive("shift", shift) / 2
    if half >= rest:
        raise ValueError(f"shift must be < 2 (1 - eta_bar - eta) = {2 * rest:.6g}, got {shift}")
    slope = np.log((1 - (members - 1) * gamma) / gamma)
    return float(k * half * slope + betaln(k * eta, k * rest) - betaln(k * (eta + half), k * (rest - half)))


def delta(gamma: float, *, concentration: float, eta: float, eta_bar: float, members: int = 2) -> float:
    """Return the largest probability, over all permitted parameters, that at least one of `members` cells of a
    Dirichlet vector is at most gamma. The maximum is over the vertices of the parameter region.

    Parameters
    ----------
    gamma, concentration, eta, eta_bar : as in `epsilon`.
    members : size of W, 2 or 3 (600^(members - 1) values of the integrand, 1 ms or 0.3 s).

    Returns
    -------
    float
        In [0, 1]; relative error below 1e-6 down to 1e-300.

    Raises
    ------
    ValueError, TypeError
        As in `epsilon`, and for more than 3 members.

    Notes
    -----
    Two rules are compared: stick breaking with tanh-sinh nodes, which adds positive terms, and inclusion and exclusion
    over quantiles, which is also accurate for cells with less than one pseudo-record. If they disagree, the second is
    used.
    """
    k, gamma, members = _checked(gamma, concentration, eta, eta_bar, members)
    if members > _LARGEST_SET:
        raise ValueError(f"members must be <= {_LARGEST_SET}, got {members}")
    return max(_checked_some_below(gamma, vertex) for vertex in vertices(k, eta, eta_bar, members))


def vertices(concentration: float, eta: float, eta_bar: float, members: int) -> list[Array]:
    """Return the Dirichlet parameters at the two kinds of vertices of the region of permitted parameters.

    Parameters
    ----------
    concentration, eta, eta_bar, members : as in `epsilon`; not checked.

    Returns
    -------
    list of float64 (members + 1,)
        The cells of W first, then the sum of all other cells.
    """
    low = np.full(members, eta)
    high = np.append(low[:-1], 1 - eta_bar - (members - 1) * eta)
    return [concentration * np.append(p, 1 - p.sum()) for p in (low, high)]


def delta_by_product_rule(gamma: float, *, concentration: float, eta: float, eta_bar: float, degree: int = 51) -> float:
    """Return the probability `delta` for a set W of two cells, computed by a product Gauss rule. The value is 1 minus
    the integral over the points at which both cells are above gamma. This method emulates an error in the printed
    figure.

    The integrand is far too peaked for a rule of this degree, and the subtraction turns the error of the rule into a
    floor. The printed figure was computed by another rule of about the same degree.

    Parameters
    ----------
    gamma, concentration, eta, eta_bar : as in `epsilon`.
    degree : degree of the product rule; cost O(degree^2).

    Returns
    -------
    float
        The value emulates the printed figure. It is not a probability and may be negative.
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
    """Return the largest value of the parameter gamma for which the probability `delta` is at most `target`, to a
    relative accuracy of 1e-12.

    Parameters
    ----------
    target : value of `delta`, in (0, 1).
    concentration, eta, eta_bar, members : as in `delta`; about ten evaluations of `delta`.

    Returns
    -------
    float
        gamma in [1e-300, 1/(members + 1)].
    """
    _checks.inside("target", target)

    def above(log_gamma: float) -> float:
        value = delta(float(np.exp(log_gamma)), concentration=concentration, eta=eta, eta_bar=eta_bar, members=members)
        return float(np.log(max(value, 1e-300) / target))

    least, most = float(np.log(1e-300)), float(np.log(1 / (members + 1)))
    law = _checked(1e-300, concentration, eta, eta_bar, members)
    low, high = (min(max(end, least), most) for end in _around(target, vertices(law[0], eta, eta_bar, law[2])))
    if above(low) > 0:
        low, high = least, low
        if above(low) > 0:
            return 1e-300
    if above(high) <= 0:
        low, high = high, most
        if above(high) <= 0:
            return float(np.exp(high))
    return float(np.exp(brentq(above, low, high, xtol=1e-12)))


def _around(target: float, parameters: list[Array]) -> tuple[float, float]:
    """Return the logs of a lower and an upper bound on the gamma that `calibrate` computes. The bounds follow from the
    most probable cell and from the union bound.
    """
    ends = []
    for level in (target / (len(parameters[0]) - 1), target):
        roots = np.array([betaincinv(a[:-1], a.sum() - a[:-1], level) for a in parameters])
        ends.append(float(np.log(np.clip(np.nan_to_num(roots).min(), 1e-300, 1.0))))
    return ends[0] - 1e-6, ends[1] + 1e-6


def _checked(gamma: float, concentration: float, eta: float, eta_bar: float, members: int) -> tuple[float, float, int]:
    members = _checks.integer("members", members, least=2)
    for name, value in (("gamma", gamma), ("eta", eta), ("eta_bar", eta_bar)):
        _checks.positive(name, value)
    if gamma * members >= 1:
        raise ValueError(f"gamma must be < 1/{members}, got {gamma}")
    if members * eta + eta_bar > 1 + 1e-12:
        raise ValueError(f"members*eta + eta_bar must be <= 1, got {members * eta + eta_bar}")
    return _checks.positive("concentration", concentration), float(gamma), members


def _checked_some_below(gamma: float, a: Array) -> float:
    """Return the probability that at least one component of a Dirichlet vector, other than the last component, is at
    most gamma. It is computed by two rules, and the second rule is used if they disagree.
    """
    with np.errstate(all="ignore"):
        sticks = float(_some_below(np.asarray(gamma), a))
    quantiles = float(_some_below_by_quantiles(np.asarray(gamma), a))
    return sticks if abs(sticks - quantiles) <= _AGREEMENT * quantiles else quantiles


def _some_below_by_quantiles(gamma: Array, a: Array) -> Array:
    """Return the probability that at least one component of a Dirichlet vector, other than the last component, is at
    most gamma. The probability is computed as Pr[first] + Pr[some other] - Pr[both]. Since Pr[both] is at most either
    term, no digits are lost by cancellation.

    Given Y_1 = y, the other variables are a Dirichlet vector scaled by 1 - y. The variable y runs over quantiles q
    exp(-v) of its distribution below gamma.
    """
    if len(a) == 2:
        return np.asarray(betainc(a[0], a[1], np.minimum(gamma, 1.0)))
    first = betainc(a[0], a[1:].sum(), gamma)
    v, weight = _exponential()
    y = np.nan_to_num(
        betaincinv(a[0], a[1:].sum(), first[..., None] * np.exp(-v))
    )  # NaN only if "both" has probability 0
    given = _some_below_by_quantiles(np.minimum(gamma[..., None] / (1 - y), 1.0), a[1:])
    others = _some_below_by_quantiles(gamma, np.append(a[1:-1], a[-1] + a[0]))
    return np.asarray(first * (1 - given @ weight) + others)


@lru_cache(maxsize=1)
def _exponential() -> tuple[Array, Array]:
    """Return the nodes and weights of a quadrature rule for the integral of exp(-v) g(v) over v > 0. They combine Gauss
    rules on intervals that become shorter towards 0.
    """
    x, w = _quadrature.legendre(12)
    edges = np.concatenate([[0.0], np.geomspace(1e-9, 1.0, 28), np.arange(2.0, 46.0, 2.0)])
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half * (1 + x)).ravel()
    return nodes, (half * w).ravel() * np.exp(-nodes)


def _some_below(gamma: Array, a: Array) -> Array:
    """Return the probability that at least one component of Y ~ Dirichlet(a), other than the last component, is at most
    gamma. It is computed recursively by integrating over the first cell.
    """
    if len(a) == 2:
        return np.asarray(betainc(a[0], a[1], np.minimum(gamma, 1.0)))
    first, others = a[0], a[1:].sum()
    y, weight = _double_exponential()
    y = gamma[..., None] + (1 - gamma[..., None]) * y
    weight = (1 - gamma[..., None]) * weight
    inside = np.clip(y, 1e-300, 1 - 1e-16)
    density = np.exp((first - 1) * np.log(inside) + (others - 1) * np.log1p(-inside) - betaln(first, others))
    tail = _some_below(np.minimum(gamma[..., None] / (1 - inside), 1.0), a[1:])
    return np.asarray(betainc(first, others, gamma) + (weight * density * tail).sum(axis=-1))


@lru_cache(maxsize=1)
def _double_exponential() -> tuple[Array, Array]:
    """Return the nodes and the weights of the tanh-sinh quadrature rule on (0, 1). The nodes are dense at both ends."""
    t = np.linspace(-4.2, 4.2, _NODES)
    inner = np.pi / 2 * np.sinh(t)
    nodes = 0.5 * (1 + np.tanh(inner))
    return nodes, (t[1] - t[0]) * 0.25 * np.pi * np.cosh(t) / np.cosh(inner) ** 2


def _triangle_rule(order: int) -> tuple[Array, Array]:
    """Return the points, of shape (order^2, 2), and the weights of the conical product rule on the triangle x, y >= 0,
    x + y <= 1.
    """
    x, wx = roots_jacobi(order, 1, 0)
    t, wt = roots_legendre(order)
    x, wx, t, wt = (x + 1) / 2, wx / 4, (t + 1) / 2, wt / 2
    points = np.column_stack([np.repeat(x, order), np.outer(1 - x, t).ravel()])
    return points, np.outer(wx, wt).ravel()


def _log_beta(a: Array) -> float:
    return float(np.log(beta_function(a[0], a[1:].sum())) + betaln(a[1], a[2]))


@cache
def degree_50_rule(path: Path = DEGREE_50_RULE) -> tuple[Array, Array]:
    """Return the quadrature rule of degree 50 on the triangle, as barycentric coordinates of shape (453, 3) and weights
    that sum to 1.

    A row of the file is an orbit under the symmetries of the triangle: two coordinates of one of its 3 or 6 points.
    """
    points, weights = [], []
    for size, first, second, weight in tables.read(path).to_numpy(dtype=np.float64):
        corner = (first, second, 1 - first - second)
        orders = list(permutations(range(3))) if size == 6 else [(0, 1, 2), (0, 2, 1), (2, 0, 1)]
        points += [[corner[i] for i in order] for order in orders]
        weights += [weight] * len(orders)
    return np.array(points), np.array(weights)


def delta_by_degree_50(
    gamma: float, *, concentration: float, eta: float, eta_bar: float, path: Path = DEGREE_50_RULE
) -> float:
    """Return the probability delta of Gohari et al. for two cells, computed by the quadrature rule of degree 50. Delta
    is 1 minus the integral of the density over the points at which both cells exceed gamma.

    As in `delta_by_product_rule`, the density is too peaked for a rule of this degree, so the error of the rule becomes
    a lower bound of the result.
    """
    corners, weights = degree_50_rule(path)
    y = gamma + (1 - 3 * gamma) * corners
    kept = []
    for a in vertices(concentration, eta, eta_bar, 2):
        log_density = np.log(y) @ (a - 1) + gammaln(a.sum()) - gammaln(a).sum()
        kept.append((1 - 3 * gamma) ** 2 / 2 * float(weights @ np.exp(log_density)))
    return 1 - min(kept)
