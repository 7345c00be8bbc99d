"""Compute the exact privacy loss of swapped tables. The loss is computed for every output and every pair of original
tables with the same margins.

The theorem states epsilon per unit of Hamming distance, and therefore 2 epsilon for one exchange. If epsilon is read as
the loss of one exchange, the theorem is false; `two_by_two` computes the difference.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmultinomial import _checks
from dpmultinomial._accounting import swapping
from dpmultinomial._mechanisms.swapping import exact_swapping


@dataclass(frozen=True, kw_only=True)
class SwapAudit:
    """Largest privacy losses of swapping over all margins of 2 x 2 tables with n records.

    Parameters
    ----------
    per_exchange : float Largest loss between two tables that differ by one exchange (two records).
    per_unit : float
        Largest loss per unit of Hamming distance over all pairs.
    claimed : float
        epsilon of the theorem, per unit of distance.
    margins : (#V1 = 1, #V2 = 1) of the class in which `per_exchange` is attained.
    pair : last cells of the two originals of this class.
    output : last cell of the output.
    """

    per_exchange: float
    per_unit: float
    claimed: float
    margins: tuple[int, int]
    pair: tuple[int, int]
    output: int

    @property
    def holds(self) -> bool:
        """Return whether the claimed privacy loss per unit of distance is at least the exact loss."""
        return self.per_unit <= self.claimed * (1 + 1e-9)

    @property
    def holds_per_exchange(self) -> bool:
        """Return whether the epsilon of the theorem also bounds the privacy loss of one exchange of records. The
        theorem does not claim this bound.
        """
        return self.per_exchange <= self.claimed * (1 + 1e-9)


def log_kernel(n: int, r1: int, c1: int, *, rate: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the log transition probabilities of the swapping mechanism between 2 x 2 tables with n records. Of these
    records, r1 have V1 = 1, and c1 have V2 = 1.

    Parameters
    ----------
    n, r1, c1 : int Number of records, and the two margins.
    rate : float
        Swap rate, in (0, 1).

    Returns
    -------
    x : int64 (d,)
        Last cells.
    logs : float64 (d, d)
        log P(output column | original row).

    Raises
    ------
    ValueError, TypeError
        If the margins exceed n or the rate is not in (0, 1).
    """
    _checks.integer("r1", r1, most=_checks.integer("n", n, least=2))
    _checks.integer("c1", c1, most=n)
    x = np.arange(max(0, r1 + c1 - n), min(r1, c1) + 1)
    rows = [exact_swapping.row([[n - r1 - c1 + v, c1 - v], [r1 - v, v]], rate=rate).log_forward for v in x.tolist()]
    return x, np.array(rows)


def two_by_two(n: int, *, rate: float, classes: str = "all") -> SwapAudit:
    """Compute the largest privacy losses of swapping in 2 x 2 tables with n records, by enumeration.

    Parameters
    ----------
    n : int Number of records in the stratum, 2 to 60.
    rate : float
        Swap rate, in (0, 1).
    classes : str ``"all"``, or ``"extreme"`` for only the margins (1, 1) and (n/2, n/2), in which every full audit
        found its maximum.

    Returns
    -------
    SwapAudit

    Raises
    ------
    ValueError, TypeError
        If an argument is outside its range.

    Notes
    -----
    Computing time: milliseconds for n = 10, seconds for all classes of n = 20.
    """
    _checks.integer("n", n, least=2, most=60)
    half = n // 2
    if _checks.one_of("classes", classes, ("all", "extreme")) == "all":
        pairs = [(r, c) for r in range(1, half + 1) for c in range(r, half + 1)]
    else:
        pairs = sorted({(1, 1), (half, half)})
    best = (-1.0, (0, 0), (0, 0), 0)
    per_unit = 0.0
    for margins in pairs:
        x, logs = log_kernel(n, *margins, rate=rate)
        for gap in range(1, len(x)):
            losses = np.abs(logs[gap:] - logs[:-gap])
            per_unit = max(per_unit, losses.max() / (2 * gap))
            if gap == 1 and losses.max() > best[0]:
                i, j = np.unravel_index(losses.argmax(), losses.shape)
                best = (float(losses.max()), margins, (int(x[i]), int(x[i + 1])), int(x[j]))
    return SwapAudit(
        per_exchange=best[0], per_unit=float(per_unit), claimed=swapping.epsilon(n, rate=rate),
        margins=best[1], pair=best[2], output=best[3],
    )  # fmt: skip
