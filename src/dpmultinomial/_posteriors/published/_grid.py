"""The grid of a fitted prior: cells that are narrow where counts are many, and grow with the count."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_GROWTH = 0.25  # of the count: widest cell
_NOISE = 0.2  # of the noise's sd: no cell need be narrower
_SHARE = 1 / 150  # of the counts: what a cell should hold
_RIDGE = 1e-6


def edges_of(centre: Array, sd: Array, last: float) -> Whole:
    """Edges of the cells, 0 first: cell b holds the counts edges[b]..edges[b + 1] - 1; 0 has a cell of its own.

    Parameters
    ----------
    centre : float64 (n,), rough values of the counts.
    sd : float64 (n,), of their noise.
    last : largest count that the prior must know.

    Returns
    -------
    int64 (cells + 1,)
        Rising.
    """
    places, width = np.sort(centre), _NOISE * np.quantile(sd, 0.25)
    hold = max(int(np.ceil(_SHARE * len(places))), 1)
    edges = [0, 1]
    while edges[-1] <= last or len(edges) < 6:
        n = edges[-1]
        ahead = np.searchsorted(places, n) + hold
        reach = places[ahead] - n if ahead < len(places) else np.inf
        step = min(max(reach, width, 1.0), max(_GROWTH * n, width, 1.0))
        edges.append(n + max(int(step), 1))
    return np.array(edges, dtype=np.int64)


def penalty(cells: int, smoothness: float, zero: float) -> Array:
    """The quadratic form that keeps log densities smooth: `smoothness` times their squared second differences.

    Parameters
    ----------
    cells : number of cells, at least 5.
    smoothness : > 0.
    zero : in the place of `smoothness` in the difference that holds the cell of 0.

    Returns
    -------
    float64 (cells, cells)
        Positive definite; a geometric run of densities costs next to nothing.
    """
    second = np.diff(np.eye(cells), n=2, axis=0)
    weights = np.full(len(second), smoothness)
    weights[0] = zero
    return np.asarray((second.T * weights) @ second + _RIDGE * np.eye(cells))
