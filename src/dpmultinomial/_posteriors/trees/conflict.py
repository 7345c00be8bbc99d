"""Tests of each released value of a tree against its predictive distribution, given all other released values.

The p-value of a released value is twice the smaller tail probability of its predictive distribution. This is the noise
distribution averaged over the posterior of the count, computed without this value. The p-value is exact, but it
requires the solution of another tree. Therefore, it is computed only for values that are suspicious according to a fast
approximation. The smallest p-value is multiplied by the number of values that could have been tested (Bonferroni), so
that testing only a few values does not increase the rate of false alarms.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..._mechanisms.exact import Exact
from ..._mechanisms.noise_law import LawByRow
from ..._printing import steps
from ..published import conflict
from . import _solver
from ._tree_law import TreeLaw
from .measurements import Measurements
from .tree import NONE, Leaves
from .tree_posterior import infer

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
# largest number of exact p-values; largest number of nodes, and largest sum of the standard deviations of the noise, of
# all trees that are solved for exact p-values
_MOST, _NODES, _WIDTH = 8, 40_000, 40_000.0
_SUSPICIOUS = {
    True: 5.0,
    False: 0.5,
}  # threshold of the approximate p-value times the number of values, for small trees and for large trees
_RESOLVED = 1e-6  # fraction of the noise variance; with a smaller variance, the other values give no information


def facts(law: TreeLaw) -> dict[str, Any]:
    """Test whether released values of a tree contradict the other released values. The results have the format of
    `published.conflict.facts`.

    Parameters
    ----------
    law : posterior of a tree.

    Returns
    -------
    dict
        ``tested``: number of values; ``smallest``: smallest p-value, and ``name`` of the node; ``found``: whether the
        smallest p-value times `tested` is below 0.05, and if so, ``names`` and ``counts`` of the values concerned. If
        no value is suspicious, `smallest` is the fast approximation.
    """
    p, rows = quick(law)
    tested = np.flatnonzero(~np.isnan(p))
    if not len(tested):
        return {"tested": 0, "found": False}
    spread = float(np.sqrt(law.measurements.variance[np.isfinite(law.measurements.variance)]).sum())
    most = min(_MOST, max(1, min(_NODES // len(law.tree), int(_WIDTH // max(spread, 1.0)))))
    order = tested[np.argsort(p[tested], kind="stable")][:most]
    suspects = [int(i) for i in order if p[i] * len(tested) < _SUSPICIOUS[most == _MOST]]
    exact = {i: p_value(law, int(rows[i])) for i in steps(suspects, len(suspects), "exact p-values")}
    smallest = min(exact, key=exact.__getitem__) if exact else int(order[0])
    names = [law.tree.names[i] for i in law.measurements.nodes[rows]]
    suspicious_names = [
        names[i] for i in sorted(exact, key=exact.__getitem__) if exact[i] * len(tested) < conflict.SMALL
    ]
    return {
        "tested": len(tested),
        "smallest": exact.get(smallest, float(p[smallest])),
        "name": names[smallest],
        "found": bool(suspicious_names),
        **({"names": suspicious_names, "counts": len(suspicious_names)} if suspicious_names else {}),
    }


def p_value(law: TreeLaw, row: int) -> float:
    """Return the p-value of one released value: twice the smaller tail probability of its predictive distribution.

    Parameters
    ----------
    law : posterior of a tree; its prior is used with the fitted values.
    row : index of the value among the measurements.

    Returns
    -------
    float
        At most 1, and exactly 1 if the other values give no information about this count. Public bounds within which
        the released value lies are no such information.
    """
    m, node = law.measurements, int(law.measurements.nodes[row])
    others = np.delete(np.arange(len(m.released)), row)
    if not _proper(law) and _only_bounded(law, row):
        return 1.0
    reduced = Measurements(law.tree, m.nodes[others], m.released[others], m.noise.take(others))
    try:
        count = infer(reduced, prior=law.prior, level=law.level, deepest=law.tree.levels[0]).law(node)
    except (_solver.Unsolved, _solver.Unbounded):  # the prior is improper without this value
        return 1.0
    noise = _law_of(m, row)
    return min(1.0, 2 * conflict.of_mixture(m.released[row], noise, count.values.astype(float), count.probabilities))


def _proper(law: TreeLaw) -> bool:
    """Return whether the leaves have proper priors, which limit every count."""
    return isinstance(law.prior, Leaves) and all(getattr(prior, "proper", True) for prior in law.prior.priors.values())


def _only_bounded(law: TreeLaw, row: int) -> bool:
    """Return whether only the public bounds limit the count of a released value if this value is omitted, and the value
    lies within them. Its tail probability would then be that of an improper prior, cut off at the bounds.
    """
    tree, m, node = law.tree, law.measurements, int(law.measurements.nodes[row])
    low, high = tree.lower.astype(float), np.where(tree.upper == NONE, np.inf, tree.upper.astype(float))
    held = np.zeros(len(tree), dtype=bool)
    held[np.delete(m.nodes, row)] = True
    down = np.argsort(tree.depth, kind="stable")
    for i in down[1:]:
        held[i] |= held[tree.parent[i]]
    loose = tree.leaf & ~held
    least, most = np.zeros(len(tree)), np.zeros(len(tree))  # sums over the children
    for i in down[::-1]:
        if not tree.leaf[i]:
            low[i], high[i] = max(low[i], least[i]), min(high[i], most[i])
        if (above := tree.parent[i]) >= 0:
            loose[above] |= loose[i]
            least[above], most[above] = least[above] + low[i], most[above] + high[i]
    for i in down[1:]:
        high[i] = min(high[i], high[tree.parent[i]])
    return bool(loose[node] and low[node] <= m.released[row] <= high[node])


def quick(law: TreeLaw) -> tuple[Array, Whole]:
    """Return fast approximations of the p-values of all released values that can be tested, and the indices of these
    values.

    The p-value is the smaller of two approximations: the residual divided by sqrt(noise variance - posterior variance),
    which is standard normal if all distributions are normal; and the tail probability of the noise at the posterior
    mean.
    """
    m = law.measurements
    mean, sd = law.mean[m.nodes], law.sd[m.nodes]
    rows = np.flatnonzero(np.isfinite(mean) & _testable(m))
    variance, gap = m.variance[rows], m.released[rows] - mean[rows]
    left = variance - sd[rows] ** 2
    clear = (left > _RESOLVED * variance) & np.isfinite(gap)
    z = np.where(clear, gap / np.sqrt(np.where(clear, left, 1.0)), 0.0)
    normal = 2 * ndtr(-np.abs(z))
    tail = np.ones(len(rows))
    for part, places in _parts(m, rows):
        tail[places] = conflict.at_counts(m.released[rows[places]], part, np.rint(mean[rows[places]]))
    return np.minimum(normal, np.minimum(2 * tail, 1.0)), rows


def _testable(m: Measurements) -> NDArray[np.bool_]:
    """Return a mask of the released values that can be tested against their predictive distributions. The test requires
    the tail probabilities of the noise distribution. Exact counts are not tested, because they have no noise.
    """
    if not isinstance(m.noise, LawByRow):
        return np.full(len(m.released), conflict.has_tails(m.noise) and not isinstance(m.noise, Exact))
    good = np.array([conflict.has_tails(law) and not isinstance(law, Exact) for law in m.noise.laws], dtype=bool)
    return good[m.noise.which]


def _parts(m: Measurements, rows: Whole) -> list[tuple[Any, Whole]]:
    """Return the distinct noise distributions of the selected released values, each with the indices of the values that
    have this noise distribution.
    """
    noise = m.noise.take(rows)
    if isinstance(noise, LawByRow):
        return [(law, places) for law, places in noise.parts() if len(places)]
    return [(noise, np.arange(len(rows)))] if len(rows) else []


def _law_of(m: Measurements, row: int) -> Any:
    noise = m.noise.take(np.array([row]))
    return noise.laws[int(noise.which[0])] if isinstance(noise, LawByRow) else noise
