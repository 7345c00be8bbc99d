"""Tables of noisy counts with their noise distributions, public bounds and error messages, and public information about
the sum of the counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, polygamma

from ... import _checks
from ..._mechanisms.exact import Exact
from ..._mechanisms.law_settings import law_of
from ..._mechanisms.noise_law import Index, LawByRow, NoiseLaw

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
FEWEST = 30  # smallest number of measured counts to which a prior is fitted
LARGEST = 2.0**52  # largest released value or bound
_SCALES = ("scale", "sd", "sigma", "variance")


@dataclass(frozen=True)
class Cells:
    """Table of noisy counts with their noise distributions, public bounds and error messages, with one row per count.

    Parameters
    ----------
    released : float64 (n,), NaN if nothing was measured or a value was withheld.
    noise : noise distribution, either common to all rows or with parameters by row.
    lower, upper : float64 (n,), integers or infinite: public bounds of the counts.
    measured : (n,), whether a row contains information about its count.
    reasons : one string per row, which states the error; empty if there is no error.
    """

    released: Array
    noise: NoiseLaw
    lower: Array
    upper: Array
    measured: NDArray[np.bool_]
    reasons: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.released)

    @property
    def good(self) -> NDArray[np.bool_]:
        """Mask of the rows with a valid noisy count, for which there is no error message."""
        return np.asarray(self.reasons == "", dtype=bool)

    def take(self, rows: Index) -> "Cells":
        """Return the noisy counts in the selected rows."""
        ends = self.lower[rows], self.upper[rows]
        return Cells(self.released[rows], self.noise.take(rows), *ends, self.measured[rows], self.reasons[rows])

    def with_reason(self, bad: NDArray[np.bool_], text: str) -> "Cells":
        """Return a copy of the counts with the error message `text` in each row for which `bad` is true. Existing error
        messages are not replaced.
        """
        return replace(self, reasons=np.where(bad & (self.reasons == ""), text, self.reasons))

    @cached_property
    def kinds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of the distinct rows and, for each row, the index of the distinct row that is equal to
        this row.

        Returns
        -------
        rows : int64 (kinds,), positions of distinct rows.
        which : int64 (n,): row i is equal to row ``rows[which[i]]``.

        Notes
        -----
        The groups are in the order of their released values, bounds and parameters. The cost is O(n) if these are
        integers in a short range, and otherwise O(n log n).
        """
        code = np.zeros(len(self), dtype=np.int64)
        for column in (self.released, self.lower, self.upper, self.measured, _parameter(self.noise, len(self))):
            if not (column == column[:1]).all():
                place = _ranks(np.asarray(column, dtype=np.float64))
                code = _ranks(code * (int(place.max()) + 1) + place)
        rows = np.empty(int(code.max(initial=-1)) + 1, dtype=np.int64)
        rows[code[::-1]] = np.arange(len(self))[::-1]
        return rows, code


def _ranks(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rank (0, 1, ..) of each value among the distinct values. All NaN have the same rank, which is the
    largest.
    """
    low, high = values.min(), values.max()
    if high - low < 4 * len(values) and (values == np.floor(values)).all():
        places = (values - low).astype(np.int64)
        present = np.zeros(int(high - low) + 1, dtype=np.int64)
        present[places] = 1
        return np.asarray((np.cumsum(present) - 1)[places])
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def cells_of(
    released: ArrayLike,
    noise: NoiseLaw | Sequence[NoiseLaw] | Mapping[str, Any],
    *,
    lower: ArrayLike = 0,
    upper: ArrayLike = np.inf,
) -> Cells:
    """Build a table of noisy counts from the arguments that a user passed, and record an error message for each invalid
    row.

    Parameters
    ----------
    released : numbers (n,), None or NaN if nothing was measured.
    noise : a distribution, one distribution per row, or the keys of a configuration (`law_settings.law_of`), in which
        scale, sd, sigma or variance may have one entry per row. An entry that is not a number > 0 invalidates only its
        row.
    lower, upper : bounds of the counts, one number or one number per row; 0 and infinity by default, ``-inf`` for no
        lower bound.

    Returns
    -------
    Cells

    Raises
    ------
    ValueError, TypeError
        If the shapes of arrays are inconsistent, or an error is not confined to single rows.
    """
    values = _column("released", released)
    n = len(values)
    spoilt: NDArray[np.bool_] = np.zeros(n, dtype=bool)
    if isinstance(noise, Mapping):
        words, spoilt = _mended(noise, n)
        law: NoiseLaw = law_of(words)
    else:
        law = LawByRow.of(noise) if isinstance(noise, Sequence) else noise
    if law.row_count not in (None, n):
        raise ValueError(
            f"noise must be one distribution or one distribution per row, got {law.row_count} distributions for {n} "
            "rows"
        )
    measured = ~np.isnan(values) | _withholds(law)
    ends = _broadcast("lower", lower, n), _broadcast("upper", upper, n)
    cells = Cells(values, law, *ends, measured, np.full(n, "", dtype=object))
    cells = cells.with_reason(spoilt, "the scale of the noise must be finite and > 0")
    valid_ends = [(np.abs(end) <= LARGEST) & (end == np.floor(end)) | np.isinf(end) for end in ends]
    cells = cells.with_reason(
        ~(valid_ends[0] & valid_ends[1] & (ends[0] <= ends[1])), "the bounds must be integers with lower <= upper"
    )
    filled = np.where(measured, values, 0.0)
    with np.errstate(invalid="ignore"):
        cells = cells.with_reason(
            measured & (np.abs(values) > LARGEST), "released values must be below 2^52 in absolute value"
        )
        cells = cells.with_reason(
            measured & ~law.possible(filled), "this value is impossible under the noise distribution"
        )
    return cells


def _broadcast(name: str, values: ArrayLike, n: int) -> Array:
    column = _column(name, values)
    if column.ndim and len(column) != n:
        raise ValueError(f"{name} must be one number or {n} numbers, got {len(column)} numbers")
    return np.broadcast_to(column, (n,))


def refuse(cells: Cells, names: Sequence[str]) -> None:
    """Raise an error for the first invalid row of noisy counts. The error message states the name of the row."""
    bad = np.flatnonzero(~cells.good)
    if len(bad):
        i = int(bad[0])
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise ValueError(
            f"{names[i]}: the released value {cells.released[i]:g} cannot be used, because {cells.reasons[i]}{more}"
        )


def _column(name: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must contain only numbers, got {values!r}") from None
    if array.ndim > 1 or (name == "released" and (array.ndim == 0 or not len(array))):
        rule = "one-dimensional with at least one number" if name == "released" else "one number or one number per row"
        raise ValueError(f"{name} must be {rule}, got shape {array.shape}")
    return array


def _mended(words: Mapping[str, Any], n: int) -> tuple[dict[str, Any], NDArray[np.bool_]]:
    """Return the settings of a noise distribution with every invalid scale replaced by 1, and a mask of the invalid
    scales. A scale is invalid if it is not a number > 0.
    """
    settings, spoilt = dict(words), np.zeros(n, dtype=bool)
    for key in _SCALES:
        if np.ndim(words.get(key, 0)) > 0:
            column = _column(key, words[key])
            if len(column) != n:
                raise ValueError(f"{key} must be one number or {n} numbers, got {len(column)} numbers")
            spoilt |= ~(np.isfinite(column) & (column > 0))
            settings[key] = np.where(spoilt, 1.0, column)
    return settings, spoilt


def _withholds(law: Any) -> Any:
    """Return whether the mechanism withholds small values, so that a missing value contains information about its
    count. The result is a bool array of shape () or (n,).
    """
    if isinstance(law, LawByRow):
        return np.array([_withholds(part_law) for part_law in law.laws], dtype=bool)[law.which]
    return getattr(law, "least", None) is not None


def _parameter(noise: Any, n: int) -> Array:
    if noise.row_count is None:
        return np.zeros(n)
    if hasattr(noise, "which"):
        return np.asarray(noise.which, dtype=np.float64)
    return np.asarray(noise.parameter if hasattr(noise, "parameter") else noise.noise.parameter)


@dataclass(frozen=True)
class Total:
    """Public information about the sum of the counts.

    Parameters
    ----------
    released : released value of the sum.
    noise : noise distribution of the sum.
    concentration : sum A of the alphas of `Splits`, for which the sum N has the factor N! Gamma(A)/Gamma(N + A); None
        if counts have separate priors.
    """

    released: float
    noise: NoiseLaw
    concentration: float | None

    def log_weights(self, totals: Array) -> Array:
        """Return the log weight of each possible sum of the counts, including the prior factor."""
        return np.asarray(self.noise.log_likelihood(self.released, totals) + self.log_prior(totals))

    def slope(self, total: float) -> tuple[float, float]:
        """Return the first and the second derivative of the log prior factor at a possible sum of the counts."""
        if self.concentration is None:
            return 0.0, 0.0
        n, shape = max(total, 0.0), self.concentration
        first, second = (float(polygamma(k, n + 1) - polygamma(k, n + shape)) for k in (0, 1))
        return first, second

    def log_prior(self, totals: Array) -> Array:
        """Return the log prior factor of each possible sum of the counts. The factor is the weight without the
        likelihood.
        """
        if self.concentration is None:
            return np.zeros(totals.shape)
        n, shape = np.maximum(totals, 0.0), self.concentration
        return np.asarray(gammaln(n + 1) - gammaln(n + shape) + gammaln(shape))


def total_of(total: Any, concentration: float | None) -> Total:
    """Return the public information about the total of the counts, built from the description that the user passed. The
    user passes an integer (an exact total) or ``{released: number, noise: keys or a distribution}``.

    Parameters
    ----------
    total : total in either form.
    concentration : concentration of `Total`.

    Returns
    -------
    Total

    Raises
    ------
    ValueError, TypeError
        If `total` has neither form, or its released value is impossible under its noise distribution.
    """
    if not isinstance(total, Mapping):
        return Total(float(_checks.integer("total", total)), Exact(), concentration)
    if set(total) != {"released", "noise"}:
        raise ValueError(
            "total must be an integer or a mapping with exactly the keys released and noise, got the keys "
            f"{', '.join(map(str, total))}"
        )
    law = total["noise"] if hasattr(total["noise"], "log_likelihood") else law_of(total["noise"])
    released = _checks.number("total", total["released"])
    if not law.possible(np.array([released]))[0]:
        raise ValueError(
            f"the released value {released:g} of the total is impossible under the noise {law!r}: check the released "
            "value and the noise"
        )
    return Total(released, law, concentration)


def enough(size: int, group: str = "") -> None:
    """Raise ValueError if there are too few measured counts to fit a prior.

    Parameters
    ----------
    size : number of measured counts.
    group : name of the group of the counts, or empty.
    """
    if size < FEWEST:
        raise ValueError(
            f"{f'group {group}: ' if group else ''}fitting a prior requires at least {FEWEST} measured counts, got "
            f"{size}: choose another prior, such as 1/(1+n)"
        )


def groups_of(
    cells: Cells, prior: Any, groups: Sequence[object] | NDArray[Any] | None
) -> tuple[tuple[str, ...], Whole]:
    """Return the names of the groups of noisy counts, and the index of the group of every count. Raise an error if the
    requested prior does not match the groups, or cannot be fitted because a group has too few measured counts.

    Parameters
    ----------
    cells, prior, groups : arguments of `priors.choose`.

    Returns
    -------
    (names, which)

    Raises
    ------
    ValueError
        The message states the group.
    """
    names, which = _grouped(groups, len(cells))
    by_group = isinstance(prior, Mapping) and "law" not in prior
    if by_group and groups is None:
        law = f"{{'law': {next(iter(prior), '..')!r}, ..}}"
        named = ", ".join(map(str, prior))
        raise ValueError(
            f"groups is required if the keys of prior ({named}) are names of groups: pass groups, or write {law}"
        )
    if by_group and set(prior) != set(names):
        raise ValueError(f"prior must have one entry per group ({', '.join(names)}), got {', '.join(map(str, prior))}")
    usable = cells.good & cells.measured
    for i, name in enumerate(names):
        wanted = prior[name] if by_group else prior
        if isinstance(wanted, str | Mapping) and wanted in ("fitted", {"law": "fitted"}):
            enough(int((usable & (which == i)).sum()), name)
    return names, which


def _grouped(groups: Sequence[object] | NDArray[Any] | None, n: int) -> tuple[tuple[str, ...], Whole]:
    if groups is None:
        return ("",), np.zeros(n, dtype=np.int64)
    labels = np.array([str(group) for group in groups], dtype=object)
    if len(labels) != n:
        raise ValueError(f"groups must contain one name per count ({n} counts), got {len(labels)} names")
    if blank := [i + 1 for i, label in enumerate(labels.tolist()) if not label.strip()]:
        raise ValueError(f"groups must contain a name for each count, but the name for count {blank[0]} is empty")
    names, which = np.unique(labels.astype(str), return_inverse=True)
    return tuple(str(name) for name in names), np.asarray(which, dtype=np.int64)
