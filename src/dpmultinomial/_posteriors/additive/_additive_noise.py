"""The noise of one count in an additive release, untruncated or cut, and the factor of the total that follows from
it."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._mechanisms.geometric import default_support

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_DIGITS = 60.0  # exp(-60): the noise beyond is bounded, not summed
_WIDE = 300.0
_UNDERFLOW = 690.0


def support_for(epsilon: float, support: float | None) -> float:
    """The support an argument means: None is ceil(50/epsilon), which costs 2e-22 in delta, and at epsilon 1 the
    paper's 50.

    Parameters
    ----------
    epsilon : > 0.
    support : whole number >= 1, None, or ``math.inf`` for the untruncated two-sided geometric law.

    Returns
    -------
    float or int

    Raises
    ------
    ValueError, TypeError
        If `support` is none of these.
    """
    if support is None:
        return default_support(epsilon)
    if support == inf:
        return inf
    return _checks.whole("support", support, least=1)


@dataclass(frozen=True)
class NoiseModel:
    """P(D = d) = peak exp(-epsilon |d|) for |d| <= support (which may be infinite).

    Parameters
    ----------
    epsilon : > 0, of every count and of the total.
    support : whole number >= 1, or ``math.inf``.
    """

    epsilon: float
    support: float = inf

    @cached_property
    def peak(self) -> float:
        """P(D = 0)."""
        a = np.exp(-self.epsilon)
        tail = 0.0 if self.support == inf else 2.0 * np.exp(-self.epsilon * (self.support + 1)) / (1.0 + a)
        return float(np.tanh(self.epsilon / 2) / (1.0 - tail))

    @cached_property
    def far(self) -> int:
        """Noise beyond this is negligible against exp(-60), or impossible."""
        return int(min(self.support, ceil(_DIGITS / self.epsilon)))

    @cached_property
    def wide(self) -> int:
        """The same under a tilt of 0.92 epsilon."""
        return int(min(self.support, ceil(_WIDE / self.epsilon)))

    @cached_property
    def reach(self) -> int:
        """Half-width of the noise: what lies beyond underflows, or is impossible."""
        return int(min(self.support, ceil(_UNDERFLOW / self.epsilon)))

    def at_least(self, d: ArrayLike) -> Array:
        """P(D >= d) for whole d >= 0."""
        values = np.asarray(d, dtype=float)
        rest = -np.expm1(-self.epsilon * np.maximum(self.support - values + 1, 0.0))
        return np.asarray(self.peak * np.exp(-self.epsilon * values) * rest / -np.expm1(-self.epsilon))

    def above_zero(self, noisy: Whole) -> Array:
        """P(noisy + D >= 0): what divides a posterior draw's law (equation 5); 1 where nothing is left."""
        below = self.at_least(-np.minimum(noisy, 0))
        chance = np.where(noisy > 0, 1.0 - self.at_least(np.maximum(noisy, 0) + 1), below)
        return np.where(chance > 0.0, chance, 1.0)

    def totals(self, released: int, span: float = _DIGITS) -> tuple[Whole, Array]:
        """log P(released total | T) for T within span/epsilon (and the support): (T, logs).

        Noisy totals below 0 are released as 0.
        """
        far = int(min(self.support, ceil(span / self.epsilon)))
        totals = np.arange(max(released - far, 0), released + far + 1)
        if released == 0:
            with np.errstate(divide="ignore"):
                return totals, np.log(self.at_least(totals))
        return totals, np.log(self.peak) - self.epsilon * np.abs(totals - released)
