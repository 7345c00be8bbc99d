"""The most probable vectors of a law on whole numbers, by best-first search over single-unit moves."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray


def most_probable(
    log_probabilities: Callable[[NDArray[np.int64]], NDArray[np.float64]], start: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k most probable vectors, most probable first; equal ones in rising lexicographic order.

    Climbs from `start` to a local maximum, then always expands the best vector seen: one unit more, one less, or one
    moved between two components. Complete for laws without separate peaks (every superlevel set connected by such
    moves), as the posteriors of this package are; the probabilities themselves do not depend on the search.

    Parameters
    ----------
    log_probabilities : int64 (n, S) -> float64 (n,), -inf for what cannot be.
    start : int64 (S,).
    k : number of vectors >= 0.

    Returns
    -------
    vectors, log_probabilities : int64 (k, S), float64 (k,); fewer rows where fewer can be.
    """
    moves = _moves(len(start))
    best, value = start, float(log_probabilities(start[None])[0])
    while True:
        around = best + moves
        logs = log_probabilities(around)
        if not logs.max() > value:
            break
        best, value = around[np.argmax(logs)], float(logs.max())
    seen, queue = {tuple(best.tolist())}, [(-value, tuple(best.tolist()))]
    found: list[tuple[tuple[int, ...], float]] = []
    heapify(queue)
    while queue and len(found) < k:
        negative, vector = heappop(queue)
        found.append((vector, -negative))
        around = np.array(vector, dtype=np.int64) + moves
        logs = log_probabilities(around)
        for index in np.argsort(-logs, kind="stable")[: 4 * k + 8]:
            other = tuple(around[index].tolist())
            if logs[index] > -np.inf and other not in seen:
                seen.add(other)
                heappush(queue, (-float(logs[index]), other))
    vectors = np.array([v for v, _ in found], dtype=np.int64).reshape(-1, len(start))
    return vectors, np.array([p for _, p in found])


def _moves(size: int) -> NDArray[np.int64]:
    """+1, -1 and all exchanges of one unit."""
    unit = np.eye(size, dtype=np.int64)
    swaps = (unit[:, None] - unit[None]).reshape(-1, size)
    return np.concatenate([unit, -unit, swaps[np.any(swaps != 0, axis=1)]])
