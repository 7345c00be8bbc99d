"""Noise distributions that differ between the rows of one release."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import Cost
from .noise_law import Array, Index, NoiseLaw


class LawByRow:
    """Noise distributions by row: row i of a release has the distribution ``laws[which[i]]``.

    Parameters
    ----------
    laws : noise distributions, none with parameters by row.
    which : (rows,), position of each row's distribution in `laws`.

    Raises
    ------
    ValueError, TypeError
        If a position does not refer to a distribution, or a distribution has separate parameters by row.
    """

    def __init__(self, laws: Sequence[NoiseLaw], which: ArrayLike) -> None:
        self.laws, self.which = tuple(laws), _checks.int64s("which", which)
        if self.which.size and not 0 <= self.which.min() <= self.which.max() < len(self.laws):
            raise ValueError(
                f"which must be positions in {len(self.laws)} laws, got {self.which.min()}..{self.which.max()}"
            )
        for law in self.laws:
            if law.row_count is not None:
                raise ValueError(f"laws must have one parameter each, got one with {law.row_count} rows")

    @classmethod
    def of(cls, laws: Sequence[NoiseLaw]) -> "LawByRow":
        """Build a `LawByRow` from one distribution per row; equal distributions are stored once."""
        places: dict[NoiseLaw, int] = {}
        which = [places.setdefault(law, len(places)) for law in laws]
        return cls(list(places), np.array(which, dtype=np.int64))

    @property
    def discrete(self) -> bool:
        """Return whether all noisy values are integers."""
        return all(law.discrete for law in self.laws)

    @property
    def row_count(self) -> int:
        """Number of rows of the release."""
        return len(self.which)

    def take(self, rows: Index) -> "LawByRow":
        """Return the distributions of the selected rows."""
        return LawByRow(self.laws, self.which[rows])

    def parts(self) -> list[tuple[NoiseLaw, NDArray[np.int64]]]:
        """Return each distribution with the rows that it applies to."""
        return [(law, np.flatnonzero(self.which == i)) for i, law in enumerate(self.laws)]

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return, for each value, whether the distribution of its row can release it."""
        values = self._rows(released)
        out = np.zeros(values.shape, dtype=bool)
        for law, rows in self.parts():
            out[rows] = law.possible(values[rows])
        return out

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(release | count), with the distribution of each row of the first axis
        (`NoiseLaw.log_likelihood`).

        Parameters
        ----------
        released : array whose first axis has the rows.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape
        """
        values = self._rows(released)
        n = np.asarray(counts, dtype=np.float64)
        out = np.empty(np.broadcast_shapes(values.shape, n.shape))
        for law, rows in self.parts():
            totals = n[rows] if n.ndim == out.ndim and len(n) == len(values) else n
            out[rows] = law.log_likelihood(values[rows], totals)
        return out

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return the counts (low, high) possible given each release (`NoiseLaw.reach`)."""
        values = self._rows(released)
        low, high = np.empty(values.shape), np.empty(values.shape)
        for law, rows in self.parts():
            low[rows], high[rows] = law.reach(values[rows], log_mass)
        return low, high

    def halfwidth(self, log_mass: float) -> Array:
        """Return the distance that the noise exceeds with negligible probability, for each row."""
        return np.array([law.halfwidth(log_mass) for law in self.laws], dtype=np.float64)[self.which]

    def variance(self) -> Array:
        """Return the variance of the noise of each row."""
        return np.array([law.variance() for law in self.laws], dtype=np.float64)[self.which]

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noisy versions of `counts`, with the distribution of each row: float64 of their shape."""
        values = self._rows(counts)
        out = np.empty(values.shape)
        for law, rows in self.parts():
            out[rows] = law.sample(values[rows], rng=rng)
        return out

    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> Cost:
        """Raise an error, because the costs of different distributions are of different kinds."""
        raise ValueError(
            "distributions that differ by row have no single cost: sum their cost(..) with composition.total"
        )

    def settings(self) -> dict[str, object]:
        """Return the distributions as configuration keys and values, and the number of rows of each."""
        sizes = np.bincount(self.which, minlength=len(self.laws))
        return {"laws": [{**law.settings(), "rows": int(n)} for law, n in zip(self.laws, sizes, strict=True)]}

    def _rows(self, values: ArrayLike) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 0 or len(array) != len(self.which):
            raise ValueError(f"there must be one value per row, {len(self.which)} in total, got shape {array.shape}")
        return array

    def __repr__(self) -> str:
        return f"LawByRow({len(self.laws)} laws, {len(self.which)} rows)"
