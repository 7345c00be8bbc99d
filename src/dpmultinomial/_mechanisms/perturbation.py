"""Noise given by a table of P(released | true), as in cell-key methods, random rounding and post-randomisation."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._accounting.composition import RELATIONS, PureDP
from .._accounting.privacy_loss import TableLoss
from .noise_law import DISJOINT, Array, Index, changed_counts, releasable, summed_over_records

BEYOND = ("none", "shift")
_SUM = 1e-6  # tolerance within which the probabilities of one true count must add up to 1; they are scaled


class Perturbation:
    """Mechanism that releases a value drawn from the row of a table that belongs to the true count.

    Parameters
    ----------
    table : columns ``true``, ``released``, ``probability`` (a DataFrame, or a mapping of sequences of equal length),
        one entry per possible pair.
    beyond : ``"none"``: only listed counts are possible; ``"shift"``: above the largest listed count the released value
        moves with the true one, as in tables of cell keys.

    Raises
    ------
    ValueError, TypeError
        If a column is missing, an entry is not a number, a pair is listed twice, or probabilities of a true count are
        negative or do not add up to 1 (within 1e-6).
    """

    discrete = True

    def __init__(self, table: Mapping[str, ArrayLike], *, beyond: str = "none") -> None:
        missing = [name for name in ("true", "released", "probability") if name not in table]
        if missing:
            raise ValueError(f"table needs the columns true, released and probability; missing: {', '.join(missing)}")
        true, p = _checks.counts("true", table["true"]), _checks.reals("probability", table["probability"])
        released = _checks.reals("released", _checks.integral("released", table["released"]))
        if not len(true) == len(released) == len(p):
            raise ValueError(f"columns must have the same length, got {len(true)}, {len(released)} and {len(p)}")
        if p.min() < 0:
            raise ValueError(f"probability must be >= 0, got {p.min()} (index {int(p.argmin())})")
        self.beyond = _checks.one_of("beyond", beyond, BEYOND)
        self.values, rows = np.unique(released.astype(np.int64), return_inverse=True)
        self.true, columns = np.unique(true, return_inverse=True)
        weights = np.zeros((len(self.true), len(self.values)))
        seen = np.zeros(weights.shape, dtype=np.int64)
        np.add.at(seen, (columns, rows), 1)
        if seen.max() > 1:
            t, r = np.argwhere(seen > 1)[0]
            raise ValueError(
                f"the pair true {self.true[t]}, released {self.values[r]} is listed {seen.max()} times: list it once"
            )
        weights[columns, rows] = p
        sums = weights.sum(axis=1)
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > _SUM:
            raise ValueError(f"probabilities of true {self.true[worst]} must add up to 1, got {sums[worst]:.9g}")
        self.weights: Array = weights / sums[:, None]

    @property
    def row_count(self) -> None:
        """Return None, because all rows share one table."""
        return None

    @cached_property
    def _last(self) -> int:
        return int(self.true[-1])

    def possible(self, released: ArrayLike) -> NDArray[np.bool_]:
        """Return, for each value, whether it can be released for some count of the table."""
        good = releasable(released, discrete=True)
        low, high = self.reach(np.where(good, released, 0), 0.0)
        return good & (low <= high)

    def log_likelihood(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Return log P(release | count), by broadcasting; -inf for counts or releases that are not in the table.

        Parameters
        ----------
        released : integers.
        counts : integers, the possible true counts.

        Returns
        -------
        float64 of the broadcast shape
        """
        y, n = np.broadcast_arrays(_checks.integral("noisy_counts", released), np.asarray(counts, dtype=float))
        if self.beyond == "shift":
            excess = np.maximum(n - self._last, 0.0)
            y, n = y - excess, n - excess
        row, column = np.searchsorted(self.true, n), np.searchsorted(self.values, y)
        row, column = np.minimum(row, len(self.true) - 1), np.minimum(column, len(self.values) - 1)
        known = (self.true[row] == n) & (self.values[column] == y)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.where(known, self.weights[row, column], 0.0)))

    log_weights = log_likelihood

    def reach(self, released: ArrayLike, log_mass: float) -> tuple[Array, Array]:
        """Return the smallest and largest true count that can lead to each release; inf, -inf if no count can."""
        y = _checks.integral("noisy_counts", released)
        column = np.minimum(np.searchsorted(self.values, y), len(self.values) - 1)
        possible = (self.weights[:, column] > 0) & (self.values[column] == y)  # (true, ..)
        true = self.true.reshape(-1, *[1] * y.ndim).astype(float)
        low = np.where(possible, true, np.inf).min(axis=0)
        high = np.where(possible, true, -np.inf).max(axis=0)
        if self.beyond == "shift":
            moves = self.values[self.weights[-1] > 0] - self._last
            above = y - moves.min() > self._last  # some count beyond the table explains the release
            low = np.where(above, np.minimum(low, np.maximum(y - moves.max(), self._last)), low)
            high = np.where(above, y - moves.min(), high)
        return low, high

    def halfwidth(self, log_mass: float) -> float:
        """Return the largest distance between a released value and the true count in the table."""
        gaps = np.abs(self.values - self.true[:, None])
        return float(gaps[self.weights > 0].max())

    def variance(self) -> float:
        """Return the largest variance of the released value over all true counts of the table."""
        mean = self.weights @ self.values
        return float(((self.values - mean[:, None]) ** 2 * self.weights).sum(axis=1).max())

    def sample(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw released values for `counts`: int64 of their shape. Not for confidential counts.

        Raises
        ------
        ValueError
            If a count is not in the table.
        """
        n = np.asarray(_checks.integral("counts", counts), dtype=np.int64)
        excess = np.maximum(n - self._last, 0) if self.beyond == "shift" else np.zeros_like(n)
        row = np.minimum(np.searchsorted(self.true, n - excess), len(self.true) - 1)
        if not (good := self.true[row] == n - excess).all():
            raise ValueError(
                f"counts must be among those of the table, {self.true[0]}..{self._last}, got {n[~good][0]}"
            )
        below = np.cumsum(self.weights, axis=1)
        u = _checks.generator(rng).random(n.shape) * below[row, -1]
        place = (u[..., None] >= below[row]).sum(axis=-1)
        return np.asarray(self.values[np.minimum(place, len(self.values) - 1)] + excess, dtype=np.int64)

    def take(self, rows: Index) -> "Perturbation":
        """Return the unchanged distribution, because all rows share one table."""
        return self

    def cost(
        self,
        relation: str,
        *,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> PureDP:
        """Return the privacy cost of one release: the largest log ratio of neighbouring rows of the table.

        Parameters
        ----------
        relation : which data sets are neighbours, one of `composition.RELATIONS`.
        sensitivity : number of steps by 1 by which all counts move in total; None: one if a record is added or removed,
            two if one is replaced.
        changes : instead of `sensitivity`, the numbers of steps of the counts that change, e.g. ``(1, 1)``.
        source : name of the confidential data.

        Returns
        -------
        PureDP
            With the loss distribution if every count changes by one step, which composes more tightly.

        Raises
        ------
        ValueError
            If a value can follow from one count and not from its neighbour: no finite epsilon covers that.
        """
        _checks.one_of("relation", relation, RELATIONS)
        sizes = changed_counts(changes, sensitivity)
        given = None if sensitivity is None else _checks.positive("sensitivity", sensitivity)
        given = given if sizes is None else float(sum(sizes))
        first = self.values[0] - 1 if self.beyond == "shift" else self.values[0]
        y = np.arange(first, self.values[-1] + 2)
        n = np.arange(self.true[0], self._last + (2 if self.beyond == "shift" else 1))
        logs = self.log_likelihood(y, n[:, None])
        with np.errstate(invalid="ignore"):
            ratios = np.abs(np.diff(logs, axis=0))
        largest = float(np.nanmax(ratios, initial=0.0))
        if not 0 < largest < np.inf:
            why = "some value follows from one count, not from the next" if largest else "it has one count alone"
            raise ValueError(f"this table has no finite epsilon: {why}")
        epsilon = summed_over_records(np.asarray(largest), relation, given)
        ones = sizes or ((1.0,) * DISJOINT[relation] if given is None else (given,))
        mechanisms = (_loss(logs),) * len(ones) if set(ones) == {1.0} else None
        return PureDP(epsilon=epsilon, source=source, relation=relation, mechanisms=mechanisms)

    def settings(self) -> dict[str, object]:
        """Return the distribution as configuration keys and values, and the size of the table."""
        return {"law": "table", "beyond": self.beyond, "true": [int(self.true[0]), self._last]}

    def __repr__(self) -> str:
        return f"Perturbation(true {self.true[0]}..{self._last}, released {self.values[0]}..{self.values[-1]})"


def _loss(logs: Array) -> TableLoss:
    """Return the losses between neighbouring rows of log probabilities (counts, released values), in both orders."""
    pairs: dict[tuple[tuple[float, ...], tuple[float, ...]], None] = {}
    for one, two in pairwise(logs):
        some = one > -np.inf
        for p, q in ((one[some], two[some]), (two[some], one[some])):
            pair = tuple((p - q).tolist()), tuple(np.exp(p).tolist())
            pairs[pair] = None
    return TableLoss(tuple(pairs))
