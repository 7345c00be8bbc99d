"""Conversion of privacy guarantees from adding or removing a record to replacing a record.

A replacement is a removal followed by an addition. Let P, R, Q be the distributions of a release for the data before,
between and after. Each guarantee holds for (P, R) and for (R, Q), in both directions, and implies the guarantee for
(P, Q):

=====================  ================================================  ========================================
stated, add or remove  then, replace                                     because
=====================  ================================================  ========================================
epsilon                2 epsilon                                         P <= e^epsilon R <= e^(2 epsilon) Q
(epsilon, delta)       (2 epsilon, (1 + e^epsilon) delta)                P <= e^epsilon R + delta, used twice
rho (zCDP)             4 rho                                             Bun and Steinke (2016), Prop. 1.9, k = 2
epsilon at order l     epsilon (2 l - 1)/(l - 1) at order l^2/(2 l - 1)  Hölder's inequality, below
=====================  ================================================  ========================================

Rényi: Mironov's (2017) weak triangle inequality with 1/p + 1/q = 1 is D_a(P||Q) <= (a - 1/p)/(a - 1) D_(p a)(P||R) +
D_(q (a - 1/p))(R||Q). With p a = l, the second order is a (l - 1)/(l - a), which is at most l if a <= l^2/(2 l - 1).
Divergences increase with their order, so both are at most epsilon, and for this largest a the first factor is
l/(l - 1). For normal distributions, the bound is attained up to the factor 1 - 1/(2 l - 1)^2.
"""

import math

from .. import _checks
from .renyi import order_at_least_one


def pure(epsilon: float) -> float:
    """Return the epsilon for replacing a record, given the epsilon for adding or removing a record.

    Parameters
    ----------
    epsilon : > 0, for adding or removing a record.

    Raises
    ------
    ValueError, TypeError
        If `epsilon` is not a number > 0.
    """
    return 2 * _checks.positive("epsilon", epsilon)


def approximate(epsilon: float, *, delta: float) -> tuple[float, float]:
    """Return (epsilon, delta) for replacing a record, given (epsilon, delta) for adding or removing a record; a delta
    of 1 or more is not a guarantee.

    Parameters
    ----------
    epsilon : > 0.
    delta : in (0, 1). Both for adding or removing a record.

    Raises
    ------
    ValueError, TypeError
        If an argument is outside its range.
    """
    epsilon, delta = _checks.positive("epsilon", epsilon), _checks.inside("delta", delta)
    return 2 * epsilon, (1 + math.exp(epsilon)) * delta if epsilon < 700 else math.inf


def concentrated(rho: float) -> float:
    """Return the rho of zero-concentrated privacy for replacing a record, given the rho for adding or removing a
    record.

    Parameters
    ----------
    rho : > 0, for adding or removing a record.

    Raises
    ------
    ValueError, TypeError
        If `rho` is not a number > 0.
    """
    return 4 * _checks.positive("rho", rho)


def renyi(epsilon: float, *, order: float) -> tuple[float, float]:
    """Return the Rényi epsilon for replacing a record, and its order, given the epsilon for adding or removing a
    record.

    Parameters
    ----------
    epsilon : > 0.
    order : > 1. Both for adding or removing a record.

    Returns
    -------
    epsilon, order : float
        The order is above half of `order`.

    Raises
    ------
    ValueError, TypeError
        If an argument is outside its range.
    """
    epsilon, order = _checks.positive("epsilon", epsilon), order_at_least_one(order)
    if order == 1:
        raise ValueError("order must be > 1, got 1")
    return epsilon * (2 * order - 1) / (order - 1), order * order / (2 * order - 1)
