"""Reference implementation of `_sites.Ends`, array by array: bounds, parabolas, tents, listed priors, upper bounds."""

import numpy as np
from numpy.typing import NDArray

FAR = 1 << 52


def ends(state, direction, sums, hard):
    """Return the first and last possible count of the first cell in every node.

    Parameters
    ----------
    state : int64 (m, cells).
    direction : int64 (cells,).
    sums : int64 (queries, cells).
    hard : (node, query, lower, upper) of every bounded sum.
    """
    n = state[:, np.argmax(direction)]
    low = n - state[:, direction == 1].min(axis=1)
    down = state[:, direction == -1]
    high = n + down.min(axis=1) if down.shape[1] else np.full(len(n), FAR)
    for node, query, least, most in hard:
        k = int(sums[query] @ direction)
        if k:
            rest = state[node] @ sums[query] - k * n[node]
            one, two = sorted(((least - rest) / k, (most - rest) / k))
            low[node] = max(low[node], int(np.ceil(max(one, -1.0))))
            high[node] = min(high[node], int(np.floor(min(two, FAR))))
    return low, high


def shapes(state, direction, sums, said):
    """Return centre, square and absolute of every node, float64 (m, 3); zeros for nodes without measurements.

    Parameters
    ----------
    said : (node, query, parabola, centre, steepness) of every measured value; a tent is the only value at its node.
    """
    out, n = np.zeros((len(state), 3)), state[:, np.argmax(direction)]
    bowls: dict[int, list[tuple[float, float]]] = {}
    for node, query, bowl, centre, steepness in said:
        if k := int(sums[query] @ direction):
            at = n[node] + (centre - state[node] @ sums[query]) / k
            if bowl:
                bowls.setdefault(node, []).append((at, steepness * k**2))
            else:
                out[node] = at, 0.0, steepness * abs(k)
    for node, each in bowls.items():
        at, steep = np.array(each).T
        out[node] = at @ steep / steep.sum(), steep.sum(), 0.0
    return out


def priors(state, direction, low, high, log_prior) -> list[NDArray[np.float64]]:
    """Return the log prior of all moving cells, one list per node over its possible counts.

    Parameters
    ----------
    log_prior : function of (cell, node, counts) that returns float64.
    """
    first, out = np.argmax(direction), []
    for node in range(len(state)):
        change = np.arange(low[node], high[node] + 1) - state[node, first]
        moving = np.flatnonzero(direction)
        out.append(sum(log_prior(i, node, state[node, i] + direction[i] * change) for i in moving))
    return out


def reach(parent, sites):
    """Return the bound of the nearest node at or above each that has a list, a likelihood or a bound; 1 without one."""
    found = []
    for v, site in enumerate(sites):
        steep = 2 * site["square"] or site["absolute"] ** 2
        if site["table"] >= 0:
            found.append(max(float(site["begin"] + site["length"]), 1.0))
        elif steep:
            found.append(max(site["centre"], 0.0) + 3 / np.sqrt(steep))
        elif site["upper"] < FAR:
            found.append(float(site["upper"]))
        else:
            found.append(found[parent[v]] if v else 1.0)
    return np.array(found)
