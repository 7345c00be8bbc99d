"""What counts with two-sided geometric noise cost: exact hockey-stick divergence of several noisy counts at once."""

import numpy as np

from .. import _checks
from .._kernels import geometric


def delta(claimed: float, *, epsilon: float, changed: int = 2, support: int = 50) -> float:
    """Smallest delta for which the noisy counts are (claimed, delta)-DP.

    Parameters
    ----------
    claimed : epsilon of the claim, >= 0.
    epsilon : privacy parameter of each noisy count.
    changed : how many of them one person moves by one. In an additive release the total and one component: 2.
    support : the noise stays within +-support.

    Returns
    -------
    float
        max over events E and both orders of neighbours of P(E) - exp(claimed) P'(E), summed exactly: an outcome has
        likelihood ratio exp(epsilon (2 j - changed)) if j of the changed counts point one way, and an infinite one if a
        count sits at the edge that the neighbour cannot reach. Post-processing (every algorithm of the paper) never
        costs more.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.
    """
    if not claimed >= 0:
        raise ValueError(f"claimed must be >= 0, got {claimed}")
    changed = _checks.whole("changed", changed, least=1)
    support = _checks.whole("support", support, least=1)
    p = geometric.probabilities(_checks.positive("epsilon", epsilon), support)
    edge, up = p[0], p[1 : support + 1].sum()  # noise -support; -support + 1..0 (ratio e^eps); the rest (ratio e^-eps)
    down = p[support + 1 :].sum()
    infinite = -np.expm1(changed * np.log1p(-edge))
    total, ways = infinite, 1.0
    for j in range(changed + 1):  # j counts with ratio e^eps
        ratio = epsilon * (2 * j - changed)
        if ratio > claimed:
            total += ways * up**j * down ** (changed - j) * -np.expm1(claimed - ratio)
        ways *= (changed - j) / (j + 1)
    return float(total)
