"""Joint law of two counts of a tree, from the messages of the families between them."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._results.whole import Unlisted
from ._sum_product import SumProduct
from .tree import Tree

Array = NDArray[np.float64]
LARGEST = 40_000_000  # entries of a joint law


class Pair(NamedTuple):
    """Probabilities of (low + i, other_low + j).

    Parameters
    ----------
    low, other_low : smallest value of either.
    p : float64 (values of the first, values of the second).
    """

    low: int
    other_low: int
    p: Array


class _Window(NamedTuple):
    low: int
    p: Array


class _Given(NamedTuple):
    """P(low + i | a count above is above + j): columns on the whole window of that count."""

    low: int
    above: int
    p: Array

    def on(self, low: int, size: int) -> Array:
        """The columns of low .. low + size - 1: messages and laws are kept on the part of a window that is possible."""
        return self.p[:, low - self.above : low - self.above + size]


def pair(
    tree: Tree,
    messages: SumProduct,
    rows: tuple[int, int],
    reach: Callable[[int], None],
    law: Callable[[int], tuple[int, Array]],
) -> Pair:
    """Joint law of two nodes.

    Parameters
    ----------
    tree, messages : the tree, with messages up and down.
    rows : the two nodes, in the kernels' order.
    reach : makes sure that what the rest says of a node is known.
    law : law of a single node.

    Returns
    -------
    Pair

    Raises
    ------
    Unlisted
        If the joint law, or one on the way, has more than `LARGEST` entries.
    """
    one, two = _up(tree, rows[0]), _up(tree, rows[1])
    shared = next(row for row in one if row in two)
    first, second = one[: one.index(shared)], two[: two.index(shared)]
    if not first or not second:
        low, p = law(shared)
        chain = _chain(tree, messages, [*(first or second), shared], reach)
        if chain is None:
            return Pair(low, low, _sized(np.diag(p)))
        joint = _sized(chain.on(low, len(p)) * p[None, :])  # given the count above, times its law
        return Pair(chain.low, low, joint) if first else Pair(low, chain.low, joint.T)
    reach(shared)
    children, others, _ = messages.family(shared)
    start = int(tree.first[shared])
    a, b = first[-1] - start, second[-1] - start
    rest = [_Window(*message) for i, message in enumerate(children) if i not in (a, b)]
    x, y = _Window(*children[a]), _Window(*children[b])
    outer = _correlated(_Window(*others), _summed(rest), x.low + y.low, len(x.p) + len(y.p) - 1)
    low, other_low, joint = _joint(x, y, outer)
    if (chain := _chain(tree, messages, first, reach)) is not None:
        low, joint = chain.low, _sized(chain.on(x.low, len(x.p)) @ joint)
    if (chain := _chain(tree, messages, second, reach)) is not None:
        other_low, joint = chain.low, _sized(joint @ chain.on(y.low, len(y.p)).T)
    return Pair(low, other_low, joint)


def siblings(
    tree: Tree, messages: SumProduct, first: list[int], second: list[int], reach: Callable[[int], None]
) -> Pair | None:
    """Joint law of two sums over different children of one node, none of which may be empty; None for other nodes.

    Parameters
    ----------
    tree, messages, reach : as of `pair`.
    first, second : the children, in the kernels' order.

    Returns
    -------
    Pair or None
    """
    above = {int(tree.above[row]) for row in first + second}
    parent = above.pop()
    if above or parent < 0:
        return None
    reach(parent)
    children, others, _ = messages.family(parent)
    own = [row - int(tree.first[parent]) for row in first], [row - int(tree.first[parent]) for row in second]
    x, y = (_summed([_Window(*children[i]) for i in part]) for part in own)
    rest = _summed([_Window(*message) for i, message in enumerate(children) if i not in own[0] + own[1]])
    return _joint(x, y, _correlated(_Window(*others), rest, x.low + y.low, len(x.p) + len(y.p) - 1))


def _joint(x: "_Window", y: "_Window", outer: Array) -> Pair:
    """Weights x(n) y(m) outer(n + m), scaled."""
    _sized_as(len(x.p), len(y.p))
    joint = x.p[:, None] * y.p[None, :] * outer[np.arange(len(x.p))[:, None] + np.arange(len(y.p))[None, :]]
    return Pair(x.low, y.low, joint / joint.sum())


def difference(joint: Pair) -> tuple[int, Array]:
    """Law of the first count less the second: smallest value, probabilities."""
    rows, columns = joint.p.shape
    gaps = np.arange(rows)[:, None] - np.arange(columns)[None, :] + columns - 1
    p: Array = np.bincount(gaps.ravel(), joint.p.ravel(), rows + columns - 1).astype(np.float64)
    return joint.low - joint.other_low - columns + 1, p


def total(joint: Pair) -> tuple[int, Array]:
    """Law of the sum of both counts: smallest value, probabilities."""
    rows, columns = joint.p.shape
    sums = np.arange(rows)[:, None] + np.arange(columns)[None, :]
    p: Array = np.bincount(sums.ravel(), joint.p.ravel(), rows + columns - 1).astype(np.float64)
    return joint.low + joint.other_low, p


def _up(tree: Tree, row: int) -> list[int]:
    path = [row]
    while path[-1] > 0:
        path.append(int(tree.above[path[-1]]))
    return path


def _chain(tree: Tree, messages: SumProduct, path: list[int], reach: Callable[[int], None]) -> _Given | None:
    """P(count of path[0] | count of path[-1]), rows of the first, columns of the last; None where they are the same."""
    found: _Given | None = None
    for child, parent in pairwise(path):
        reach(parent)
        children, _, _ = messages.family(parent)
        place = child - int(tree.first[parent])
        own = _Window(*children[place])
        rest = _summed([_Window(*m) for i, m in enumerate(children) if i != place])
        window = _window_of(tree, messages, parent)
        gaps = window.low + np.arange(len(window.p))[None, :] - own.low - np.arange(len(own.p))[:, None] - rest.low
        inside = (gaps >= 0) & (gaps < len(rest.p))
        step = _sized(own.p[:, None] * np.where(inside, rest.p[np.where(inside, gaps, 0)], 0.0))
        sums = step.sum(axis=0)
        step = step / np.where(sums > 0, sums, 1.0)
        p = step if found is None else found.on(own.low, len(own.p)) @ step
        found = _Given(own.low if found is None else found.low, window.low, p)
    return found


def _window_of(tree: Tree, messages: SumProduct, row: int) -> _Window:
    """The window of an inner node's count."""
    low, size, _ = messages.nodes()[row]
    return _Window(int(low), np.zeros(int(size)))


def _summed(parts: list[_Window]) -> _Window:
    """Convolution of windows."""
    out = _Window(0, np.ones(1))
    for part in parts:
        p = np.convolve(out.p, part.p)
        out = _Window(out.low + part.low, p / p.max())
    return out


def _correlated(a: _Window, b: _Window, low: int, size: int) -> Array:
    """sum_r a(low + k + r) b(r) for k < size."""
    padded = np.zeros(size + len(b.p) - 1)
    shift = low + b.low - a.low
    start, end = max(shift, 0), min(shift + len(padded), len(a.p))
    if start < end:
        padded[start - shift : end - shift] = a.p[start:end]
    return np.asarray(np.correlate(padded, b.p, "valid"))


def _sized(p: Array) -> Array:
    _sized_as(*p.shape)
    return p


def _sized_as(rows: int, columns: int) -> None:
    if rows * columns > LARGEST:
        raise Unlisted(f"the joint law of the two counts has {rows} x {columns} entries: take draws instead")
