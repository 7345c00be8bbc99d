"""Posterior distributions of independent counts whose total is not released, each given the noisy value of the count.

To show the effect of the prior, the posterior of every count is compared with its posterior under a flat prior.

`exact` is the vectorised form of `posterior` and returns summaries for many noisy counts as arrays. The result for a
row depends only on the values in this row and on the priors. Priors are fitted once, on all rows (`priors_of`). Any
subset of the rows then has bitwise the same results as all rows together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ... import _checks
from ..._accuracy import EXACT, LEVEL, Accuracy
from ..._mechanisms.noise_law import NoiseLaw
from ..._results.distributions import Discrete
from ..._results.joint import Independent
from ..._results.posterior import Posterior
from ..._results.quantities import Columns, Quantities
from . import conflict, windows
from .cells import Cells, cells_of, refuse
from .priors import Choice, Flat, choose
from .windows import CountPrior

Array = NDArray[np.float64]
Reasons = str | NDArray[np.object_]
# the prior matters if the means under the prior and under a flat prior differ by more than this number of standard
# deviations
APART = 0.5
ENDS_APART = 1.0  # the prior matters if an endpoint of the interval changes by more than this number of SDs
_NUMBERS = ("mean", "sd", "lower", "upper")
_SHOWN = ["quantity", "mean", "sd", "flat_mean", "flat_sd"]
_FIRST = 10


class Numbers(Protocol):
    """Interface of posterior summaries of counts, with the mean, the standard deviation and the ends of the interval as
    float64 arrays of shape (n,).
    """

    @property
    def mean(self) -> Array: ...

    @property
    def sd(self) -> Array: ...

    @property
    def lower(self) -> Array: ...

    @property
    def upper(self) -> Array: ...


def differs_from_flat(own: Numbers, flat: Numbers) -> NDArray[np.bool_]:
    """Return a mask of the counts whose posterior distribution depends strongly on the prior. This is the case if the
    posterior means under the prior and under a flat prior differ by more than `APART` times the larger standard
    deviation, or if an endpoint of the interval differs by more than `ENDS_APART` times this standard deviation. The
    result is False if there is no posterior under a flat prior; differences that are NaN are ignored.
    """
    sd = np.fmax(own.sd, flat.sd)
    with np.errstate(invalid="ignore"):
        means = np.abs(own.mean - flat.mean) > APART * sd
        ends = np.fmax(np.abs(own.lower - flat.lower), np.abs(own.upper - flat.upper)) > ENDS_APART * sd
    return np.asarray(means | ends)


def flat_comparison(
    names: Sequence[str], released: Array, own: Numbers, flat: Numbers, tails: Array, reasons: Reasons = ""
) -> pd.DataFrame:
    """Return a table that compares the posterior summaries of every count under the prior with the summaries under a
    flat prior.

    Parameters
    ----------
    names, released : names and released values of the counts.
    own, flat : posterior summaries under the prior and under a flat prior.
    tails : prior probability of each released value (`conflict.tails`).
    reasons : reason why a count has no posterior under a flat prior, which can be improper; one string or one per
        count, empty if there is a posterior.

    Returns
    -------
    DataFrame
        quantity, released, mean, sd, lower, upper, flat_mean, flat_sd, flat_lower, flat_upper, prior_matters,
        tail, flat_reason. If `flat_reason` is not empty, the count was not compared, and `prior_matters` is False.
    """
    columns: dict[str, object] = {"quantity": list(names), "released": released}
    columns |= {name: getattr(own, name) for name in _NUMBERS}
    columns |= {f"flat_{name}": getattr(flat, name) for name in _NUMBERS}
    columns |= {"prior_matters": differs_from_flat(own, flat), "tail": tails}
    return pd.DataFrame(columns).assign(flat_reason=reasons)


def facts(found: pd.DataFrame) -> dict[str, object]:
    """Return a description of the counts whose posterior depends strongly on the prior, in a form that can be written
    as JSON. It contains their number, the number of compared counts, and the results for the first of them. If some
    counts were not compared, it also contains the number of these counts and the first reason.
    """
    decided, reasons = found.loc[found["prior_matters"]], found.loc[found["flat_reason"] != "", "flat_reason"]
    rest = {"not_compared": len(reasons), "reason": reasons.iloc[0]} if len(reasons) else {}
    first = decided[_SHOWN].head(_FIRST).to_dict("records")
    return {"prior_matters": len(decided), "of": len(found) - len(reasons), "first": first, **rest}


# number of counts whose distributions are computed in one call; number of such calls that are cached
_TOGETHER, _KEPT = 256, 64


def posterior(
    released: ArrayLike | Mapping[str, float],
    *,
    noise: NoiseLaw | Sequence[NoiseLaw] | Mapping[str, Any],
    names: Sequence[str] | None = None,
    prior: Any = None,
    lower: ArrayLike = 0,
    upper: ArrayLike = np.inf,
    groups: Sequence[object] | None = None,
    facts: Mapping[str, object] | None = None,
) -> Posterior:
    """Compute the posterior distribution of independent counts given their noisy values.

    Parameters
    ----------
    released : noisy counts (n,), or a mapping from names to noisy counts; None or NaN if nothing was measured or a
        value was withheld.
    noise : a noise distribution, one distribution per count, or a description as a mapping.
    names : names of the counts, if `released` does not contain names; by default ``"1"``, ``"2"``, ..
    prior : prior of each count (`priors.choose`); by default, the prior is fitted if there are enough counts, and is
        otherwise 1/(1+n).
    lower, upper : public bounds of the counts, one number or one number per count; ``-inf`` if a count may be negative.
    groups : one group name per count; priors are fitted within each group.
    facts : further facts for the result, as values for JSON.

    Returns
    -------
    Posterior
        ``.counts``, exact: windows neglect less than 1e-12. The facts state the distribution, the prior and who chose
        it, conflicts, and the counts for which a flat prior gives a different answer. ``.source`` is a
        `PublishedCounts`.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid or a noisy value is impossible for its count; the message names the count.
    """
    values, labels = named(released, names)
    cells = cells_of(values, noise, lower=lower, upper=upper)
    refuse(cells, labels)
    source = PublishedCounts(cells, choose(cells, prior, groups), labels)
    refuse(source.checked, labels)
    counts = source.quantities()
    return Posterior(
        {"counts": counts},
        joint=lambda size, rng: {"counts": counts.sample(size, rng=rng)},
        method="windows",
        facts=lambda: source.facts() | dict(facts or {}),
        source=source,
        log_evidence=source.log_evidence,
    )


class PublishedCounts:
    """Posterior distributions of the true counts given noisy counts, with the prior of each count and the effect of the
    prior.

    Parameters
    ----------
    cells : noisy counts, all valid.
    choice : choice of the priors.
    names : names of the counts.
    """

    def __init__(self, cells: Cells, choice: Choice, names: tuple[str, ...]) -> None:
        self.cells, self.choice, self.names = cells, choice, names
        self._near = lru_cache(_KEPT)(self._windows)

    @cached_property
    def _numbers(self) -> windows.Answers:
        return self._answers(self.choice.priors, LEVEL)

    @property
    def checked(self) -> Cells:
        """Return the noisy counts, with an error message in every row in which the prior contradicts the released
        value.
        """
        return replace(self.cells, reasons=self._numbers.reasons)

    def log_evidence(self) -> float:
        """Return the log of the probability of all released values. Raise AttributeError if a prior is improper."""
        improper = next((prior for prior in self.choice.priors if not prior.proper), None)
        if improper is not None:
            raise AttributeError(
                f"log_evidence requires a proper prior, got the improper prior {improper.settings()['law']!r}, which "
                "is not normalised even within bounds: pass a proper prior"
            )
        return float(self.numbers().log_evidence.sum())

    def quantities(self) -> Quantities:
        """Return the posterior distributions of the counts, indexed by name."""
        joint = Independent(self.law)
        every = range(len(self.names))
        return Quantities(
            self.names,
            self.law,
            joint=lambda size, rng: joint.draw(every, size, rng=rng),
            together=joint,
            numbers=self._columns,
        )

    def _columns(self, level: float) -> Columns:
        numbers = self.numbers(level)
        return Columns(numbers.mean, numbers.sd, numbers.lower, numbers.upper, EXACT)

    def law(self, i: int) -> Discrete:
        """Return the posterior distribution of the count at position `i`."""
        first, weights = self._near(i // _TOGETHER)[i % _TOGETHER]
        values = np.arange(first, first + len(weights))
        return Discrete(values, weights, name=self.names[i], type="count", accuracy=EXACT)

    def numbers(self, level: float = LEVEL) -> windows.Answers:
        """Return the posterior means, standard deviations and central intervals of all counts.

        Parameters
        ----------
        level : level of the intervals, in (0, 1).

        Returns
        -------
        windows.Answers
        """
        return self._numbers if level == LEVEL else self._answers(self.choice.priors, _checks.inside("level", level))

    def comparison(self, level: float = LEVEL) -> pd.DataFrame:
        """Compare the posterior of every count under its prior with the posterior under a flat prior.

        Parameters
        ----------
        level : level of the intervals, in (0, 1).

        Returns
        -------
        DataFrame
            Columns of `flat_comparison`.
        """
        answers = self.numbers(level)
        flat = self._answers((Flat(),) * len(self.choice.priors), level)
        return flat_comparison(self.names, self.cells.released, answers, flat, self._tails, flat.reasons)

    def facts(self) -> dict[str, object]:
        """Return the assumptions about the counts and their effects on the results, in a form that can be written as
        JSON.
        """
        return {
            "noise": self.cells.noise.settings(),
            "prior": self.choice.facts(),
            "total": None,
            "bounds": {"lower": float(self.cells.lower.min()), "upper": float(self.cells.upper.max())},
            "counts": len(self.names),
            "measured": int(self.cells.measured.sum()),
            "conflict": conflict.facts(self._tails, self.names),
            "flat_comparison": facts(self.comparison()),
        }

    @cached_property
    def _tails(self) -> Array:
        out = np.full(len(self.names), np.nan)
        for i, prior in enumerate(self.choice.priors):
            rows = np.flatnonzero(self.choice.which == i)
            out[rows] = conflict.tails(self.cells.take(rows), prior)
        return out

    def _windows(self, part: int) -> list[tuple[int, Array]]:
        """Return the window (range of counts) of every row in a block of consecutive rows, as the first count and the
        posterior weights. A window does not depend on the other rows of its block.
        """
        rows = np.arange(part * _TOGETHER, min((part + 1) * _TOGETHER, len(self.names)))
        windows_by_row: dict[int, tuple[int, Array]] = {}
        for i in np.unique(self.choice.which[rows]):
            group_rows = rows[self.choice.which[rows] == i]

            def keep(block: windows.Block, logs: Array, kept: NDArray[np.int64] = group_rows) -> None:
                for row, low, width, line in zip(block.rows, block.low, block.width, logs, strict=True):
                    # a window computed earlier is replaced by a wider window
                    windows_by_row[int(kept[row])] = int(low), line[:width].copy()

            windows.settle(self.cells.take(group_rows), self.choice.priors[i], LEVEL, keep)
        return [(low, np.exp(logs - logs.max())) for low, logs in (windows_by_row[int(row)] for row in rows)]

    def _answers(self, priors: Sequence[CountPrior], level: float) -> windows.Answers:
        return answers_by_group(self.cells, priors, self.choice.which, level)


def answers_by_group(
    cells: Cells, priors: Sequence[CountPrior], which: NDArray[np.int64], level: float
) -> windows.Answers:
    """Compute the posterior summaries of counts, each under the prior of its group.

    Parameters
    ----------
    cells : noisy counts.
    priors : one per group.
    which : int64 (n,), the group of every row.
    level : level of the intervals, in (0, 1).

    Returns
    -------
    windows.Answers
    """
    if len(priors) == 1:
        return windows.answers(cells, priors[0], level)
    numbers, error = np.full((len(cells), 5), np.nan), np.full(len(cells), np.nan)
    reasons = cells.reasons.copy()
    for i, prior in enumerate(priors):
        rows = np.flatnonzero(which == i)
        settled = windows.settle(cells.take(rows), prior, level)
        numbers[rows], error[rows], reasons[rows] = settled.numbers, settled.error, settled.reasons
    return windows.Settled(numbers, error, reasons).answers()


def named(released: Any, names: Sequence[str] | None) -> tuple[Any, tuple[str, ...]]:
    """Return released counts with their names, from a mapping or from separate arguments.

    Parameters
    ----------
    released : mapping from names to noisy counts, or noisy counts (n,).
    names : names, if `released` does not contain names; None numbers the counts from 1.

    Returns
    -------
    (released, names)

    Raises
    ------
    ValueError
        If names are repeated or their number is wrong.
    """
    if isinstance(released, Mapping):
        if names is not None:
            raise ValueError(
                "names must be omitted, because the released counts already have names "
                f"({', '.join(map(str, list(released)[:3]))}, ..)"
            )
        return list(released.values()), tuple(str(name) for name in released)
    values = np.asarray(released, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"released must be one-dimensional (one noisy count per row), got shape {values.shape}")
    labels = tuple(str(name) for name in names) if names is not None else tuple(str(i + 1) for i in range(len(values)))
    if len(labels) != len(values) or len(set(labels)) != len(labels):
        raise ValueError(
            f"names must contain {len(values)} distinct names, got {len(labels)} names, of "
            f"which {len(set(labels))} are distinct"
        )
    return released, labels


Noise = NoiseLaw | Sequence[NoiseLaw] | Mapping[str, Any]
COLUMNS = (
    "released",
    "mean",
    "sd",
    "lower",
    "upper",
    "level",
    "status",
    "error",
    "flat_mean",
    "prior_matters",
    "reason",
)


@dataclass(frozen=True)
class Batch:
    """Posterior summaries of many noisy counts of a release, under the given prior and under a flat prior.

    Parameters
    ----------
    released : float64 (n,).
    own : distributions under the prior.
    flat : distributions under a flat prior.
    level : level of the intervals.
    choice : choice of the priors.
    """

    released: Array
    own: windows.Answers
    flat: windows.Answers
    level: float
    choice: Choice

    @property
    def reasons(self) -> NDArray[np.object_]:
        """Reasons why rows of released counts have no posterior distribution, as one string per row. The string is
        empty for a valid row.
        """
        return self.own.reasons

    @property
    def prior_matters(self) -> NDArray[np.bool_]:
        """Mask of the rows whose posterior depends strongly on the prior, according to `differs_from_flat`."""
        return differs_from_flat(self.own, self.flat)

    @property
    def not_compared(self) -> NDArray[np.bool_]:
        """Mask of the rows that have a posterior, but no posterior under a flat prior, so they cannot be compared."""
        return np.asarray((self.reasons == "") & (self.flat.reasons != ""), dtype=bool)

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy status ``exact`` of the results. For every count, the posterior probability of the
        neglected values is below 1e-12.
        """
        return EXACT

    def facts(self) -> dict[str, object]:
        """Return the assumptions about the counts and their effects on the results, in a form that can be written as
        JSON.
        """
        bad = self.reasons != ""
        return {
            "prior": self.choice.facts(),
            "counts": len(bad),
            "refused": int(bad.sum()),
            "prior_matters": int(self.prior_matters.sum()),
            "not_compared": int(self.not_compared.sum()),
        }

    def summary(self) -> pd.DataFrame:
        """Return the posterior summaries as a table with one row per count (`COLUMNS`). The ``status`` of a row without
        posterior is ``refused``.
        """
        status = np.where(self.reasons == "", EXACT.status, "refused")
        summaries = self.own
        columns = (
            self.released,
            summaries.mean,
            summaries.sd,
            summaries.lower,
            summaries.upper,
            self.level,
            status,
            summaries.error,
        )
        return pd.DataFrame(
            dict(zip(COLUMNS, (*columns, self.flat.mean, self.prior_matters, self.reasons), strict=True)),
            columns=list(COLUMNS),
        )

    def __repr__(self) -> str:
        bad, unknown = int((self.reasons != "").sum()), int(self.not_compared.sum())
        rest = f", {unknown} not compared with a flat prior" if unknown else ""
        decided = int(self.prior_matters.sum())
        return f"Batch({len(self.released)} counts, {bad} refused, {decided} decided by the prior{rest})"


def priors_of(
    released: ArrayLike,
    *,
    noise: Noise,
    prior: Any = None,
    lower: ArrayLike = 0,
    upper: ArrayLike = np.inf,
    groups: Sequence[object] | NDArray[Any] | None = None,
) -> dict[str, CountPrior]:
    """Return the prior of every group, in a form that can be passed to `exact` with any subset of the rows.

    Parameters
    ----------
    released, noise, prior, lower, upper, groups : as in `counts.posterior`.

    Returns
    -------
    dict
        Mapping from groups to priors; without groups, the only key is ``""``.
    """
    choice = choose(cells_of(released, noise, lower=lower, upper=upper), prior, groups)
    return dict(zip(choice.groups, choice.priors, strict=True))


def exact(
    released: ArrayLike,
    *,
    noise: Noise,
    prior: Any = None,
    lower: ArrayLike = 0,
    upper: ArrayLike = np.inf,
    groups: Sequence[object] | NDArray[Any] | None = None,
    level: float = LEVEL,
) -> Batch:
    """Compute the exact posterior distributions of many independent counts, and return their summaries.

    Parameters
    ----------
    released, noise, lower, upper, groups : as in `counts.posterior`; a scale that is not a number > 0 invalidates only
        its row.
    prior : as in `counts.posterior`, or the result of `priors_of`.
    level : level of the central intervals, in (0, 1).

    Returns
    -------
    Batch

    Raises
    ------
    ValueError, TypeError
        If the shapes of the arrays are inconsistent. Errors in one row are stated in ``.reasons``.

    Notes
    -----
    Computing time: 5 to 30 microseconds per count for noise with scale 10, in proportion to the scale; about 200 bytes
    per count.
    """
    level = _checks.inside("level", level)
    cells = cells_of(released, noise, lower=lower, upper=upper)
    choice = _given(prior, groups, len(cells)) or choose(cells, prior, groups)
    answers = answers_by_group(cells, choice.priors, choice.which, level)
    flat = windows.answers(cells, Flat(), level)
    return Batch(cells.released, answers, flat, level, choice)


def _given(prior: Any, groups: Sequence[object] | NDArray[Any] | None, n: int) -> Choice | None:
    """Return the priors of the given rows if the argument `prior` was returned by `priors_of`, and otherwise None."""
    if not isinstance(prior, Mapping) or "law" in prior or not all(hasattr(p, "log_weights") for p in prior.values()):
        return None
    labels = np.zeros(n, dtype="U1") if groups is None else np.array([str(group) for group in groups])
    places = {name: i for i, name in enumerate(prior)}
    unknown = sorted(set(labels) - set(places))
    if len(labels) != n:
        raise ValueError(f"groups must contain one name per count ({n} counts), got {len(labels)} names")
    if unknown:
        raise ValueError(
            f"prior must contain a prior for each group, but the prior is missing for {', '.join(unknown[:5])}"
        )
    which = np.array([places[label] for label in labels], dtype=np.int64)
    return Choice(tuple(prior.values()), which, tuple(prior), asked=True)
