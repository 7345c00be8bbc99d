"""Permutation swapping (Bailie, Gong and Meng 2023) as a mechanism: of records or of tables, its cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._accounting import swapping as accounting
from ..._accounting.composition import RELATIONS, PureDP
from . import swap_draws
from .swapping import permutation_swap


@dataclass(frozen=True, kw_only=True)
class Swap:
    """Every record is selected with probability `rate`; the selected exchange their values of the swapped variable.

    Parameters
    ----------
    rate : in (0, 1); None where it is not published.

    Raises
    ------
    ValueError, TypeError
        If the rate is not in (0, 1).

    Notes
    -----
    Within a stratum the selection is drawn anew while exactly one record is selected, and the values of the selected
    are deranged uniformly. The joint tables of the swapped and of the held variables stay as they are.
    """

    rate: float | None

    def __post_init__(self) -> None:
        if self.rate is not None:
            _checks.inside("rate", self.rate)

    @classmethod
    def calibrated(cls, epsilon: float, *, largest: int) -> "Swap":
        """The swap whose exchanges cost `epsilon` each; `largest`: records of the largest stratum that can change."""
        return cls(rate=accounting.rate_for(_checks.positive("epsilon", epsilon) / 2, largest=largest))

    def sample(
        self,
        data: ArrayLike | pd.DataFrame,
        *,
        rng: np.random.Generator,
        swap: str | Sequence[str] | None = None,
        match: str | Sequence[str] = (),
    ) -> Any:
        """Swap a table, or the records of a data frame. A simulation; not for confidential data.

        Parameters
        ----------
        data : whole numbers (rows, columns), one stratum whose rows are swapped; or a DataFrame of records.
        rng : numpy Generator.
        swap : columns of a DataFrame that move together.
        match : columns of a DataFrame that make the strata; none makes one.

        Returns
        -------
        int64 (rows, columns), or DataFrame

        Raises
        ------
        ValueError, TypeError
            If the rate is not known, or an argument breaks its rule.
        """
        rate = self._known()
        if isinstance(data, pd.DataFrame) and swap is not None:
            return permutation_swap(data, swap=swap, match=match, rate=rate, rng=rng)
        drawn: NDArray[np.int64] = swap_draws.tables(_checks.table("data", data), 1, rate=rate, rng=rng)
        return drawn[0]

    def cost(self, relation: str = "exchange within invariants", *, largest: int, source: str = "data") -> PureDP:
        """What a swap costs two data sets with equal invariants that differ by one exchange.

        Parameters
        ----------
        relation : ``"exchange within invariants"``; a swap protects nothing else.
        largest : records of the largest stratum in which a swap can change anything, >= 2.
        source : name of the confidential data.

        Returns
        -------
        PureDP
            Twice the loss per unit of Hamming distance (Bailie, Gong and Meng 2023).
        """
        _checks.one_of("relation", relation, RELATIONS[2:])
        return PureDP(source=source, relation=relation, epsilon=2 * accounting.epsilon(largest, rate=self._known()))

    def _known(self) -> float:
        if self.rate is None:
            raise ValueError("rate: an unknown rate neither swaps nor costs; give the rate")
        return self.rate
