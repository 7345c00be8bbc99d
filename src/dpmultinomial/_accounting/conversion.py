"""From Rényi to approximate privacy and back: Canonne et al. (2020), equations 13 and 14 of Ponnoprat (2022)."""

import numpy as np
from scipy.special import xlogy

from .. import _checks
from .renyi import order_at_least_one


def floor(*, order: float, delta: float) -> float:
    """The part of equation 14 that stays when the Rényi epsilon goes to 0: no smaller epsilon can be claimed.

    Parameters
    ----------
    order : lambda > 1; at 1 nothing can be claimed and the floor is ``inf``.
    delta : in (0, 1).

    Returns
    -------
    float
        log(order - 1) - (log(delta) + order log(order))/(order - 1), negative for large orders.

    Raises
    ------
    ValueError, TypeError
        If `order` is below 1 or `delta` is not in (0, 1).
    """
    order = order_at_least_one(order)
    delta = _checks.positive("delta", delta)
    if delta >= 1:
        raise ValueError(f"delta must be < 1, got {delta}")
    return _offset(order, delta)


def rdp_to_dp(epsilon: float, *, order: float, delta: float) -> float:
    """Smallest epsilon_hat with (epsilon_hat, delta)-DP that equation 14 gives an (order, epsilon)-RDP mechanism.

    Parameters
    ----------
    epsilon : Rényi epsilon > 0.
    order, delta : as in `floor`.

    Returns
    -------
    float
        Not clipped: where it is negative the mechanism is (0, delta)-DP.
    """
    return _checks.positive("epsilon", epsilon) + floor(order=order, delta=delta)


def dp_to_rdp(epsilon_hat: float, *, order: float, delta: float) -> float:
    """The Rényi epsilon that equation 14 allows for a target (epsilon_hat, delta).

    Parameters
    ----------
    epsilon_hat : > 0.
    order, delta : as in `floor`.

    Returns
    -------
    float
        ``nan`` at or below the floor.
    """
    rest = _checks.positive("epsilon_hat", epsilon_hat) - floor(order=order, delta=delta)
    return rest if rest > 0 else float("nan")


def dp_to_rdp_unchecked(epsilon_hat: float, *, order: float, delta: float) -> float:
    """`dp_to_rdp` for any delta > 0, also above 1: emulates a slip of a published figure, claims no privacy.

    Parameters
    ----------
    epsilon_hat, order : as in `dp_to_rdp`.
    delta : > 0.

    Returns
    -------
    float
        ``nan`` where nothing is left.
    """
    rest = _checks.positive("epsilon_hat", epsilon_hat) - _offset(
        order_at_least_one(order), _checks.positive("delta", delta)
    )
    return rest if rest > 0 else float("nan")


def _offset(order: float, delta: float) -> float:
    if order == 1:
        return float("inf")
    return float(np.log(order - 1) - (np.log(delta) + xlogy(order, order)) / (order - 1))
