"""The quadrature of the printed Figure 2: Xiao and Gimbutas's rule of degree 50 on the triangle, 453 points.

Source: Xiao, Gimbutas (2010), Computers & Mathematics with Applications 59, 663-676; their numbers, as modepy (MIT)
hands them out, are in ``triangle_rule_50.tsv``. That the rule is exact to degree 50 is tested, not taken over.
"""

from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .... import tables
from . import gohari

RULE = Path(__file__).with_name("triangle_rule_50.tsv")

Array = NDArray[np.float64]


@cache
def rule(path: Path = RULE) -> tuple[Array, Array]:
    """Barycentric coordinates (453, 3) and weights that add up to 1.

    A row of the file is an orbit under the triangle's symmetries: two coordinates of one of its 3 or 6 points.
    """
    points, weights = [], []
    for size, first, second, weight in tables.read(path).to_numpy(dtype=np.float64):
        corner = (first, second, 1 - first - second)
        orders = list(permutations(range(3))) if size == 6 else [(0, 1, 2), (0, 2, 1), (2, 0, 1)]
        points += [[corner[i] for i in order] for order in orders]
        weights += [weight] * len(orders)
    return np.array(points), np.array(weights)


def delta(gamma: float, *, concentration: float, eta: float, eta_bar: float, path: Path = RULE) -> float:
    """delta of Gohari et al. for two cells as 1 minus this rule's integral over the triangle of points above gamma.

    As `gohari.delta_by_product_rule`: the density is too peaked for the degree, and its error becomes a floor.
    """
    corners, weights = rule(path)
    y = gamma + (1 - 3 * gamma) * corners
    kept = []
    for a in gohari.vertices(concentration, eta, eta_bar, 2):
        log_density = np.log(y) @ (a - 1) + gammaln(a.sum()) - gammaln(a).sum()
        kept.append((1 - 3 * gamma) ** 2 / 2 * float(weights @ np.exp(log_density)))
    return 1 - min(kept)
