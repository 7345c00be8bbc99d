"""Permutation swapping (Bailie, Gong and Meng 2023) of the records in data frames and tables. The module also computes
the exact distribution of swapped tables and the attenuation of associations.

`Swap` is permutation swapping as a mechanism, for records or tables, with its privacy cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from ... import _checks
from ..._accounting import swapping as accounting
from ..._accounting.composition import RELATIONS, PureDP
from ..._accounting.privacy_loss import PureLoss
from ..noise_law import changed_counts
from . import exact_swapping, permutation_swaps


def permutation_swap(
    data: pd.DataFrame,
    *,
    swap: str | Sequence[str],
    match: str | Sequence[str] = (),
    rate: float,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Swap the values of the columns `swap` among records with equal values in the columns `match`.

    Within each stratum, every record is selected with probability `rate`, and the selection is repeated while exactly
    one record is selected. The swapped values of the selected records are deranged uniformly, so a record may receive a
    value that is equal to its own.

    Parameters
    ----------
    data : DataFrame
        One row per record; not modified. All columns except `swap` are held.
    swap : str or sequence of str Columns that are swapped together.
    match : str or sequence of str
        Columns of the swap key; if it is empty, all records form one stratum.
    rate : float
        Swap rate, in (0, 1).
    rng : Generator

    Returns
    -------
    DataFrame
        A DataFrame with the same index, columns and dtypes. Within every stratum, the joint table of the swapped
        columns and the joint table of the held columns are invariant. The swap takes less than a second for 1,000,000
        records in 1,000 strata.

    Raises
    ------
    ValueError, TypeError
        If a column is missing, named twice, or both swapped and matched; if the swap key has missing values; or if
        `rate` is not in (0, 1).
    """
    _checks.inside("rate", rate)
    _checks.generator(rng)
    moving, key = _columns(data, "swap", swap), _columns(data, "match", match)
    if not moving:
        raise ValueError("swap must contain the name of at least one column, got none")
    if both := [c for c in moving if c in key]:
        raise ValueError(
            f"the arguments `swap` and `match` must not contain the same column, got "
            f"{', '.join(map(repr, both))} in both"
        )
    sources = permutation_swaps.sources(strata(data, match=key), rate=rate, rng=rng)
    result = data.copy()
    for column in moving:
        result[column] = data[column].take(sources).set_axis(data.index)
    return result


def strata(data: pd.DataFrame, *, match: str | Sequence[str]) -> NDArray[np.int64]:
    """Return the index of the stratum of every record, numbered 0, 1, .. in order of first appearance. Records with
    equal values in all columns of `match` form a stratum.

    Parameters
    ----------
    data : DataFrame
    match : str or sequence of str
        Columns of the swap key; if it is empty, all records form one stratum.

    Returns
    -------
    int64 (records,)

    Raises
    ------
    ValueError
        If a column is missing or named twice, or a key has missing values.
    """
    key = _columns(data, "match", match)
    if not key:
        return np.zeros(len(data), dtype=np.int64)
    missing = data[key].isna().any(axis=1)
    if missing.any():
        first = data.index[missing.to_numpy()].tolist()[0]
        raise ValueError(
            f"the columns in match must not contain missing values, got {int(missing.sum())} record(s) with missing "
            f"values, the first at index {first!r}"
        )
    return np.asarray(data.groupby(key, sort=False, observed=True).ngroup(), dtype=np.int64)


def swap_law(table: ArrayLike, *, rate: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return every table that a swap can produce, with the exact probability of each table.

    Parameters
    ----------
    table : integers, (rows, columns) One stratum: 2 x 2 with any total, or larger with a small total
        (`exact_swapping.class_law`).
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    tables : int64 (m, rows, columns)
        All tables with the margins of `table`, in lexicographic order (for 2 x 2 tables: in increasing order of the
        last cell).
    probabilities : float64 (m,)
        Each has a relative error of 1e-12, or of 4e-15 times its log or the log of the reverse probability, if that is
        larger. A probability is 0 only below 5e-324.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range or the class of an r x c table is too large to list.
    """
    tables, forward, _ = exact_swapping.class_law(table, rate=rate)
    return tables, np.exp(forward)


def selected_share(n: int, *, rate: float) -> float:
    """Return the expected fraction of the records of a stratum that are selected, conditional on the number of selected
    records not being 1.

    Parameters
    ----------
    n : int
        Number of records, at least 2.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    n, p = _checks.integer("n", n, least=2), _checks.inside("rate", rate)
    alone = (1 - p) ** (n - 1)
    return p * (1 - alone) / (1 - n * p * alone)


def attenuation(n: int, *, rate: float) -> tuple[float, float]:
    """Return (lambda_1, lambda_2), the factors by which a swap of n records reduces the associations of degree one and
    two in a table.

    In every cell of every r x c table, E[S - e | X] = lambda_1 (X - e), e = row total x column total/n. The factor
    lambda_2 occurs in the variance (`cell_sd`); it is 1 if the table has too few records to have a second degree (n <
    4).

    Parameters
    ----------
    n : int
        Number of records, at least 2.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    first, second : float

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.

    Notes
    -----
    The cost is O(n).
    """
    share = selected_share(n, rate=rate)
    first = 1 - share * n / (n - 1)
    if n < 4:
        return first, 1.0
    k = np.arange(n + 1)
    logs = k * np.log(rate) + (n - k) * np.log1p(-rate) + gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    weights = np.exp(logs) * (k != 1)
    pairs = np.zeros(n + 1)  # expected number of two-cycles in a derangement of k: C(k, 2) D_(k-2)/D_k
    pairs[2] = 1.0
    ratio = 0.0  # D_(k-1)/D_k, with the initial value D_1/D_2
    for size in range(3, n + 1):
        before, ratio = ratio, 1 / ((size - 1) * (1 + ratio))
        pairs[size] = size * (size - 1) / 2 * ratio * before
    fixed = n - k
    character = fixed * (fixed - 1) / 2 + pairs - fixed
    return first, float(weights @ character / weights.sum() / (n * (n - 3) / 2))


def expected_table(table: ArrayLike, *, rate: float) -> NDArray[np.float64]:
    """Return the exact expected counts of an r x c table after a random swap of values between records.

    Parameters
    ----------
    table : integers >= 0, (rows, columns)
        One stratum.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    float64 (rows, columns)

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    counts = _checks.table("table", table)
    n = int(counts.sum())
    if n < 2:
        return counts.astype(float)
    independent = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    return independent + attenuation(n, rate=rate)[0] * (counts - independent)


def cell_sd(table: ArrayLike, *, rate: float) -> float:
    """Return the standard deviation of a cell count of a 2 x 2 table after a swap, in closed form. All four cells have
    the same standard deviation.

    Parameters
    ----------
    table : integers >= 0, (2, 2)
        At least 4 records.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    counts = _checks.table("table", table)
    if counts.shape != (2, 2) or counts.sum() < 4:
        raise ValueError(f"table must be 2 x 2 with at least 4 records, got {counts.tolist()}")
    n = int(counts.sum())
    (r0, r1), (c0, c1) = counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist()
    first, second = attenuation(n, rate=rate)
    gap = counts[1, 1] - r1 * c1 / n
    # variance of the hypergeometric distribution; skew: third / second moment
    variance = r0 * r1 * c0 * c1 / (n**2 * (n - 1))
    skew = (n - 2 * r1) * (n - 2 * c1) / (n * (n - 2))
    return float(np.sqrt(variance * (1 - second) + skew * (first - second) * gap + (second - first**2) * gap**2))


def limit_odds_ratio(theta: ArrayLike, *, rate: float) -> float:
    """Return the odds ratio of a 2 x 2 table after a swap, in the limit of infinitely many records with the cell
    probabilities `theta` (cells 00, 01, 10, 11).

    The margins do not change, and the distance to independence is multiplied by 1 - rate.

    Parameters
    ----------
    theta : float64 (4,)
        Probabilities, > 0; normalised to a sum of 1.
    rate : float
        Swap rate, in [0, 1].

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    shares = _checks.positives("theta", theta, 4).reshape(2, 2)
    shares = shares / shares.sum()
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    (a, b), (c, d) = independent + (1 - float(_checks.fraction("rate", rate))) * (shares - independent)
    return float(a * d / (b * c))


def _columns(data: pd.DataFrame, name: str, wanted: str | Sequence[str]) -> list[str]:
    columns = [wanted] if isinstance(wanted, str) else list(wanted)
    if missing := [c for c in columns if c not in data.columns]:
        raise ValueError(
            f"{name} must contain only names of columns of the data, got {', '.join(map(repr, missing))}. The "
            f"columns of the data are {', '.join(map(str, data.columns))}"
        )
    if len(set(columns)) < len(columns):
        raise ValueError(f"{name} must not contain a column more than once, got {columns}")
    return columns


@dataclass(frozen=True, kw_only=True)
class Swap:
    """Permutation swapping as a release mechanism. Every record is selected with probability `rate`, and the selected
    records exchange their values of the swapped variable.

    Parameters
    ----------
    rate : swap rate, in (0, 1); None if it is not published.

    Raises
    ------
    ValueError, TypeError
        If the rate is not in (0, 1).

    Notes
    -----
    Within a stratum, the selection is repeated while exactly one record is selected, and the values of the selected
    records are deranged uniformly. The joint tables of the swapped variables and of the held variables do not change.
    """

    rate: float | None

    def __post_init__(self) -> None:
        if self.rate is not None:
            _checks.inside("rate", self.rate)

    @classmethod
    def calibrated(cls, epsilon: float, *, largest: int) -> "Swap":
        """Return the swapping mechanism in which each exchange has a privacy cost of `epsilon`. The argument `largest`
        is the number of records in the largest stratum that can change. Swap rates above 1/2 are not used, so the
        smallest possible cost is 2 ln(largest + 1).
        """
        wanted, least = (
            _checks.positive("epsilon", epsilon),
            2 * np.log(_checks.integer("largest", largest, least=2) + 1),
        )
        if wanted < least:
            shown = np.ceil(least * 1e4) / 1e4  # rounded upwards, so that this value is accepted
            raise ValueError(
                f"epsilon must be >= 2 ln(largest + 1) = {shown:.4f} for swap rates up to 1/2, got {epsilon}"
            )
        return cls(rate=accounting.rate_for(wanted / 2, largest=largest))

    def sample(
        self,
        data: ArrayLike | pd.DataFrame,
        *,
        rng: np.random.Generator,
        swap: str | Sequence[str] | None = None,
        match: str | Sequence[str] = (),
    ) -> Any:
        """Simulate the swapping of the records in a table or in a data frame. Do not use this function for confidential
        data.

        Parameters
        ----------
        data : integers (rows, columns), one stratum whose row variable is swapped; or a DataFrame of records.
        rng : numpy Generator.
        swap : columns of a DataFrame that are swapped together.
        match : columns of a DataFrame that define the strata; without them, there is one stratum.

        Returns
        -------
        int64 (rows, columns), or DataFrame

        Raises
        ------
        ValueError, TypeError
            If the rate is not known, or an argument is invalid.
        """
        rate = self._known()
        if isinstance(data, pd.DataFrame) and swap is not None:
            return permutation_swap(data, swap=swap, match=match, rate=rate, rng=rng)
        drawn: NDArray[np.int64] = permutation_swaps.tables(_checks.table("data", data), 1, rate=rate, rng=rng)
        return drawn[0]

    def cost(
        self,
        relation: str = "exchange within invariants",
        *,
        largest: int,
        sensitivity: float | None = None,
        changes: Sequence[float] | None = None,
        source: str = "data",
    ) -> PureDP:
        """Return the privacy cost of swapping, for pairs of data sets that have equal invariants and differ by
        exchanges of records.

        Parameters
        ----------
        relation : ``"exchange within invariants"``; a swap does not protect anything else.
        largest : number of records in the largest stratum in which a swap can change anything, >= 2.
        sensitivity : number of records that differ, integer >= 2; None: 2, which is one exchange.
        changes : instead of `sensitivity`, the numbers of records that differ by stratum, e.g. ``(2,)`` or ``(2, 3)``.
        source : name of the confidential data.

        Returns
        -------
        PureDP
            The loss per unit of Hamming distance (Bailie, Gong and Meng 2023) times the number of records that differ.
            The loss distribution is that of randomised response, the least private mechanism with this epsilon.

        Raises
        ------
        ValueError, TypeError
            If the rate is not known, or a number of records is not an integer >= 2.
        """
        _checks.one_of("relation", relation, RELATIONS[2:])
        changed_counts(changes, sensitivity)
        wanted, name = (changes, "changes") if changes is not None else ((sensitivity or 2,), "sensitivity")
        distance = sum(_checks.integer(name, number, least=2) for number in wanted)
        epsilon = distance * accounting.epsilon(largest, rate=self._known())
        return PureDP(source=source, relation=relation, epsilon=epsilon, mechanisms=(PureLoss(epsilon),))

    def _known(self) -> float:
        if self.rate is None:
            raise ValueError("rate is required to swap records and to compute the privacy cost: pass Swap(rate=..)")
        return self.rate
