"""Costs are rounded upwards. A cost is the decimal number that its record prints.

The shortest decimal that identifies a double is what JSON, the ledger and the screen show, and what users write in
their settings. Sums and comparisons of costs are exact in these decimals. Three releases of epsilon 0.1 therefore cost
0.3 and fit a budget of 0.3, although the double 0.1 is above one tenth and the double 0.3 below three tenths.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

_MOST = 10_000  # steps of the last bit of a scale


def exact(value: float) -> Fraction:
    """Return the decimal number that is printed for a finite double, exactly."""
    return Fraction(repr(float(value)))


def upwards(value: Fraction) -> float:
    """Return the smallest double whose printed decimal is at least `value`.

    Parameters
    ----------
    value : exact number >= 0, at most 1e308.
    """
    found = math.nextafter(float(value), 0.0)
    while exact(found) < value:
        found = math.nextafter(found, math.inf)
    return found


def total(parts: Iterable[float]) -> float:
    """Return the sum of costs, rounded upwards; the sum itself is exact."""
    return upwards(sum(map(exact, parts), Fraction()))


def within(
    most: float, scales: Mapping[str, float], cost: Callable[[str, float], float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return scales that cost at most `most` together, and the cost of each.

    Parameters
    ----------
    most : what the scales may cost together.
    scales : scales that cost at most `most` up to rounding.
    cost : cost of (name, scale), rounded upwards; it falls as the scale rises.

    Returns
    -------
    scales, costs : dict
        The scales, some of them raised by a few last bits.

    Raises
    ------
    ArithmeticError
        If the scales cost more than `most` by more than rounding.
    """
    found = dict(scales)
    spent = {name: cost(name, scale) for name, scale in found.items()}
    for _ in range(_MOST):
        if total(spent.values()) <= most:
            return found, spent
        largest = max(spent, key=spent.__getitem__)
        found[largest] = math.nextafter(found[largest], math.inf)
        spent[largest] = cost(largest, found[largest])
    raise ArithmeticError(f"no noise scales near {scales} keep the privacy cost at or below {most}")
