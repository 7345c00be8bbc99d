"""Laws of sums, differences, ratios and shares of counts, and probabilities of comparisons, without simulation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .expressions import Comparison
from .together import Independent, Pair, Places, Together
from .whole import Array, Window, added_up

LARGEST_PAIR = 4_000_000  # pairs of values that are listed
_MULTIPLES = 1000  # coefficients up to which sums of multiples are listed


def ratio(together: Together, above: Places, below: Places) -> tuple[Array, Array, float] | None:
    """Law of a ratio of two sums, given that it is defined.

    Parameters
    ----------
    together : of which the sums are.
    above, below : positions; none in both, or all of `above` in `below` (a share).

    Returns
    -------
    values, probabilities, undefined : rising values, their probabilities, and the probability of a denominator of 0
        None where it has to be drawn.
    """
    inner = [i for i in below if i not in set(above)]
    share = len(inner) + len(above) == len(below)
    if not share and len(inner) < len(below):
        return None
    if not inner:  # all over itself
        law = together.sum_of(above)
        zero = float(law.at(0, 1)[0])
        return np.ones(1), np.ones(1), zero
    pair = together.pair_of(above, inner)
    if pair is None or len(pair.first.weights) * len(pair.second.weights) > LARGEST_PAIR:
        return None
    weights = pair.matrix()
    s, t = pair.first.values()[:, None].astype(float), pair.second.values()[None].astype(float)
    denominator = np.broadcast_to(s + t if share else t, weights.shape)
    kept = (weights > 0) & (denominator != 0)
    values, place = np.unique(np.broadcast_to(s, weights.shape)[kept] / denominator[kept], return_inverse=True)
    chances = np.asarray(np.bincount(place, weights[kept]), dtype=np.float64)
    return values, chances, float(weights[denominator == 0].sum())


def chance(together: Together, asked: Comparison) -> float | None:
    """Probability of a comparison; None where it has to be drawn.

    Parameters
    ----------
    together : of whose quantities it is.
    asked : the comparison, in units of the quantities.

    Returns
    -------
    float or None
    """
    unit = together.unit
    if not asked.coefficients:
        return float(asked.holds(np.zeros(1))[0])
    plus = {p: c for p, c in asked.coefficients.items() if c > 0}
    minus = {p: -c for p, c in asked.coefficients.items() if c < 0}
    sizes = {abs(c) for c in asked.coefficients.values()}
    if len(sizes) == 1:
        (size,) = sizes
        law = difference(together, list(plus), list(minus))
        return _where(law.values() * (size * unit), law.weights, asked)
    if len(set(plus.values())) == len(set(minus.values())) == 1:
        pair = together.pair_of(list(plus), list(minus))
        if pair is not None and len(pair.first.weights) * len(pair.second.weights) <= LARGEST_PAIR:
            return _of_pair(pair, next(iter(plus.values())), next(iter(minus.values())), unit, asked)
    return _of_multiples(together, asked) if isinstance(together, Independent) else None


def difference(together: Together, plus: list[int], minus: list[int]) -> Window:
    """Law of the sum of some numbers less the sum of others.

    Parameters
    ----------
    together : of which the sums are.
    plus, minus : positions, none in both, not both empty.

    Returns
    -------
    Window
    """
    if plus and minus:
        return together.difference_of(plus, minus)
    return together.sum_of(plus) if plus else together.sum_of(minus).reflected()


def _of_pair(pair: Pair, plus: float, minus: float, unit: float, asked: Comparison) -> float:
    values = np.subtract.outer(plus * unit * pair.first.values(), minus * unit * pair.second.values())
    return _where(values.ravel(), pair.matrix().ravel(), asked)


def _of_multiples(together: Independent, asked: Comparison) -> float | None:
    """A sum of different multiples of independent numbers, where the coefficients have a small common step."""
    step = _common(asked.coefficients)
    if step is None:
        return None
    parts = []
    for place, coefficient in asked.coefficients.items():
        law, factor = together.window(place), round(coefficient / step)
        parts.append(law.spread(factor) if factor > 0 else law.spread(-factor).reflected())
    law = added_up(parts).normalised()
    return _where(law.values() * (step * together.unit), law.weights, asked)


def _common(coefficients: Mapping[int, float]) -> float | None:
    """The largest number of which all coefficients are small multiples."""
    for denominator in range(1, 61):
        scaled = [c * denominator for c in coefficients.values()]
        if all(abs(c - round(c)) < 1e-9 and abs(c) <= _MULTIPLES for c in scaled):
            return 1 / denominator
    return None


def _where(values: NDArray[Any], weights: Array, asked: Comparison) -> float:
    """Probability that values compare as asked: the smaller of it and its complement is summed."""
    true = asked.holds(values)
    yes, no = float(weights[true].sum()), float(weights[~true].sum())
    return yes / (yes + no) if yes <= no else 1 - no / (yes + no)
