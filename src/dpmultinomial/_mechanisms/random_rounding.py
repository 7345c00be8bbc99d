"""Random or deterministic rounding of counts to multiples of a base. Statistical agencies use base 3, 5 or 10."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .coarsened import Coarsenable
from .noise_law import Array, Index, WithoutCost, releasable

LARGEST_BASE = 10_000
FIXED = ("nearest", "up", "down")


@dataclass(frozen=True)
class RandomRounding(WithoutCost, Coarsenable):
    """Mechanism that rounds each count to a multiple of a base. By default, the direction is random, such that the
    expected value of the rounded count is the true count.

    A count n with remainder m = n mod base is then rounded up with probability m/base and down with probability 1 -
    m/base, so P(released | n) = max(0, 1 - |released - n|/base) at multiples of the base. Multiples of the base do not
    change.

    Parameters
    ----------
    base : integer from 2 to 10,000.
    fixed : None for random rounding. ``"up"`` or ``"down"`` if every count is rounded in this direction; ``"nearest"``
        if every count is rounded to the nearest multiple, and halves are rounded up.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    Source: Nargundkar, Saveland (1972). Random rounding to prevent statistical disclosures. Proceedings of the Social
    Statistics Section, American Statistical Association, 382-385.
    """

    base: int
    fixed: str | None = None
    discrete = True
    why_no_cost = "rounding to a base has no finite epsilon, because a multiple of the base is released without change"

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", _checks.integer("base", self.base, least=2, most=LARGEST_BASE))
        if self.fixed is not None:
            _checks.one_of("fixed", self.fixed, FIXED)

    @property
    def row_count(self) -> None:
        """Return None, which means that all rows have the same rounding base."""
        return None

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return a mask of the values that are multiples of the base."""
        good = releasable(released, discrete=True)
        return np.asarray(good & (np.where(good, released, 0) % self.base == 0))

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(release | count), which is -inf if the count cannot be rounded to the release. The arguments are
        broadcast against each other.

        Parameters
        ----------
        released : integers.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape
        """
        y = np.asarray(_checks.integral("noisy_counts", released), dtype=np.float64)
        return self.log_between(y, y, counts)

    log_weights = log_likelihood

    def log_between(self, low: ArrayLike, high: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(low <= released <= high | count), with the arguments broadcast against each other.

        Parameters
        ----------
        low, high : ends of the interval; infinite if there is no end.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape
        """
        n = np.asarray(counts, dtype=np.float64)
        up = self._up(n % self.base)
        below = n - n % self.base
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        p = np.where((low <= below) & (below <= high), 1.0 - up, 0.0)
        p = p + np.where((low <= below + self.base) & (below + self.base <= high), up, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p))

    def _up(self, remainder: Array) -> Array:
        """Return the probability that a count with a given remainder is rounded up."""
        if self.fixed is None:
            return np.asarray(remainder / self.base)
        least = {"up": 1.0, "down": float(self.base), "nearest": self.base / 2}[self.fixed]
        return np.asarray(remainder >= least, dtype=np.float64)

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return the smallest and the largest possible true count for each released value."""
        y = np.asarray(_checks.integral("noisy_counts", released), dtype=np.float64)
        half = self.base // 2
        below, above = {
            None: (self.base - 1, self.base - 1),
            "up": (self.base - 1, 0),
            "down": (0, self.base - 1),
            "nearest": (half, self.base - half - 1),
        }[self.fixed]
        return y - below, y + above

    def halfwidth(self, log_mass: float) -> float:
        """Return the largest distance between a released value and the true count."""
        return float(self.base // 2 if self.fixed == "nearest" else self.base - 1)

    def variance(self) -> float:
        """Return the largest variance m (base - m) of the released value over all remainders m, or 0 for deterministic
        rounding.
        """
        half = self.base // 2
        return float(half * (self.base - half)) if self.fixed is None else 0.0

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw randomly rounded versions of `counts`, as an int64 array of the same shape. Do not use this function for
        confidential counts.
        """
        n = np.asarray(_checks.integral("counts", counts), dtype=np.int64)
        remainder = n % self.base
        up = _checks.generator(rng).random(n.shape) < self._up(remainder.astype(np.float64))
        return np.asarray(n - remainder + self.base * up, dtype=np.int64)

    def take(self, rows: Index) -> "RandomRounding":
        """Return this distribution unchanged for any selection of rows, because all rows share one rounding base."""
        return self

    def settings(self) -> dict[str, object]:
        """Return the settings of the distribution as a dict of configuration keys and values."""
        return {"law": "random_rounding", "base": self.base, **({"fixed": self.fixed} if self.fixed else {})}
