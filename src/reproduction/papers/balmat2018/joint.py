"""Equations (3) and (4): are they the joint law of p and S given the release? Each number in two ways.

Equation (3) multiplies the law of S given p, equation (1), by the prior of p. Given the release the prior has to be
weighted by Z(p), the denominator of (1): without it p keeps its prior whatever was released.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import compositions, laplace_multinomial

from .figure_1 import SHARE

Array = NDArray[np.float64]
MODEL, EQUATION = "model", "equation (3)"
_NODES = 64  # in each direction: exact for polynomials of degree 127
_CHUNK = 2000


def equation_3(*, counts: list[int], epsilon: float, simulations: int, rng: np.random.Generator) -> pd.DataFrame:
    """Mean of r, mean of r given S = counts, and distance of the laws of S, at noisy counts = counts, alpha = 1.

    Returns
    -------
    DataFrame: law (model, equation (3)), quantity, way, value, se. Ways: ``quadrature`` of p over the simplex, for the
        model without use of conjugacy; ``closed form``, the finite mixture; ``simulation`` of p from its prior. The
        distance is the total variation between the laws of S under both.
    """
    total, scale = sum(counts), Laplace.calibrated(epsilon, sensitivity=2.0).scale
    rows = compositions.compositions(total)
    log_noise = -np.abs(np.array(counts) - rows).sum(axis=1) / scale
    at = int(np.flatnonzero((rows == counts).all(axis=1))[0])
    exact = laplace_multinomial.exact(counts, total=total, scale=scale, alpha=1.0)
    weights = np.exp(log_noise - log_noise.max())  # alpha = 1: the Dirichlet-multinomial law is flat
    found: list[dict[str, Any]] = []

    def add(law: str, quantity: str, way: str, value: float, se: float = 0.0) -> None:
        found.append({"law": law, "quantity": quantity, "way": way, "value": value, "se": se, "total": total})

    r, p, prior = simplex_nodes()
    conditional, z = given_p(p, rows, log_noise)
    add(MODEL, "mean of r", "quadrature", float(np.sum(r * prior * z) / np.sum(prior * z)))
    add(MODEL, "mean of r", "closed form", float(exact.mean(**SHARE)))
    add(MODEL, "mean of r given S", "closed form", (1 + counts[0]) / (2 + counts[0] + counts[1]))
    own = conditional[:, at] * z  # p(S | p) up to a factor
    add(MODEL, "mean of r given S", "quadrature", float(np.sum(r * prior * own) / np.sum(prior * own)))
    _under_equation(add, "quadrature", r, prior, conditional, at, weights / weights.sum())
    p = rng.dirichlet(np.ones(3), simulations)
    conditional, _ = given_p(p, rows, log_noise)
    even = np.full(simulations, 1 / simulations)
    _under_equation(add, "simulation", p[:, 0] / (p[:, 0] + p[:, 1]), even, conditional, at, weights / weights.sum())
    return pd.DataFrame(found)


def simplex_nodes() -> tuple[Array, Array, Array]:
    """Gauss-Legendre nodes of the flat law on the simplex: r (n,), p (n, 3) and weights (n,) that add up to one.

    In r = p1/(p1 + p0) and pe the flat law has density 2 (1 - pe) on the unit square.
    """
    x, w = np.polynomial.legendre.leggauss(_NODES)
    x, w = (x + 1) / 2, w / 2
    r, pe = (side.ravel() for side in np.meshgrid(x, x))
    p = np.column_stack([r * (1 - pe), (1 - r) * (1 - pe), pe])
    return r, p, np.outer(w, w).ravel() * 2 * (1 - pe)


def given_p(p: Array, rows: NDArray[np.int64], log_noise: Array) -> tuple[Array, Array]:
    """Equation (1): the law of S given each p, float64 (n, rows), and its denominator Z(p), float64 (n,)."""
    static = gammaln(rows[0].sum() + 1) - gammaln(rows + 1).sum(axis=1) + log_noise
    parts = [np.exp(static + sum(xlogy(rows[:, i], q[:, i, None]) for i in range(3))) for q in _chunks(p)]
    joint = np.concatenate(parts)
    z = joint.sum(axis=1)
    return joint / z[:, None], z


def _chunks(p: Array) -> list[Array]:
    return [p[i : i + _CHUNK] for i in range(0, len(p), _CHUNK)]


def _under_equation(add: Any, way: str, r: Array, prior: Array, conditional: Array, at: int, weights: Array) -> None:
    """Equation (3) as it stands: prior times the conditional law of S, summed over p."""
    mass = prior[:, None] * conditional
    mass /= mass.sum()
    mean = float(np.sum(r[:, None] * mass))
    own = mass[:, at] / mass[:, at].sum()
    given = float(r @ own)
    simulated = way == "simulation"
    se = float(np.sqrt(np.sum((r - mean) ** 2)) / len(r)) if simulated else 0.0
    se_given = float(np.sqrt(np.sum((own * (r - given)) ** 2))) if simulated else 0.0
    add(EQUATION, "mean of r", way, mean, se)
    add(EQUATION, "mean of r given S", way, given, se_given)
    add(EQUATION, "distance of the laws of S", way, float(np.abs(mass.sum(axis=0) - weights).sum() / 2))
