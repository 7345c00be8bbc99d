"""Random rounding to a multiple of a base, as statistical agencies publish counts (base 3, 5 or 10)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import Cost
from .noise_law import Array, Index, releasable

LARGEST_BASE = 10_000


@dataclass(frozen=True)
class RandomRounding:
    """Mechanism that rounds each count at random to a multiple of a base, so that its expected value is the count.

    A count n with remainder m = n mod base is rounded up with probability m/base and down with probability 1 - m/base;
    multiples of the base stay. Hence P(released | n) = max(0, 1 - |released - n|/base) at multiples of the base.

    Parameters
    ----------
    base : integer from 2 to 10,000.

    Raises
    ------
    ValueError, TypeError
        If `base` is not such an integer.

    Notes
    -----
    Source: Nargundkar, Saveland (1972). Random rounding to prevent statistical disclosures. Proceedings of the Social
    Statistics Section, American Statistical Association, 382-385.
    """

    base: int
    discrete = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", _checks.integer("base", self.base, least=2, most=LARGEST_BASE))

    @property
    def row_count(self) -> None:
        """Return None, because all rows share one base."""
        return None

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return, for each value, whether it is a multiple of the base."""
        good = releasable(released, discrete=True)
        return np.asarray(good & (np.where(good, released, 0) % self.base == 0))

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(release | count), by broadcasting; -inf if the count cannot be rounded to the release.

        Parameters
        ----------
        released : integers.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape
        """
        y = np.asarray(_checks.integral("noisy_counts", released), dtype=np.float64)
        p = np.maximum(1.0 - np.abs(y - np.asarray(counts, dtype=np.float64)) / self.base, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.where(y % self.base == 0, p, 0.0)))

    log_weights = log_likelihood

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return the smallest and largest true count that can lead to each release."""
        y = np.asarray(_checks.integral("noisy_counts", released), dtype=np.float64)
        return y - (self.base - 1), y + (self.base - 1)

    def halfwidth(self, log_mass: float) -> float:
        """Return the largest distance of a released value from the true count."""
        return float(self.base - 1)

    def variance(self) -> float:
        """Return the largest variance m (base - m) of the released value over all remainders m."""
        half = self.base // 2
        return float(half * (self.base - half))

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw randomly rounded `counts`: int64 of their shape. Not for confidential counts."""
        n = np.asarray(_checks.integral("counts", counts), dtype=np.int64)
        remainder = n % self.base
        up = _checks.generator(rng).random(n.shape) * self.base < remainder
        return np.asarray(n - remainder + self.base * up, dtype=np.int64)

    def take(self, rows: Index) -> "RandomRounding":
        """Return the unchanged distribution, because all rows share one base."""
        return self

    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> Cost:
        """Raise ValueError, because random rounding has no finite epsilon: multiples of the base are released
        unchanged.
        """
        raise ValueError("random rounding has no finite epsilon: a multiple of the base is released as it is")

    def settings(self) -> dict[str, object]:
        """Return the distribution as configuration keys and values."""
        return {"law": "random_rounding", "base": self.base}
