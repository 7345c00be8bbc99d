"""Checks of the compatibility of the prior with the release, based on the prior predictive distribution of each
released value.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, gammaln

from ..._mechanisms.coarsened import Coarsened
from ..._mechanisms.dirichlet import Dirichlet
from ..._mechanisms.noise_law import AddedNoise, LawByRow, NoiseLaw
from . import windows
from .cells import Cells, cells_of
from .priors import Flat
from .windows import CountPrior

Array = NDArray[np.float64]
_LOG_MASS, _LOG_FAR = 40.0, 60.0
SMALL = 0.05  # a conflict is reported if the smallest p-value times the number of tested values is below this
LISTED = 2_000_000  # largest number of counts times categories for which prior predictive probabilities are summed


def tails(cells: Cells, prior: CountPrior) -> Array:
    """Return the prior predictive tail probability of each released value. It is the probability of a value at least as
    extreme as the observed value, on the same side.

    Parameters
    ----------
    cells : noisy counts.
    prior : prior of every count.

    Returns
    -------
    float64 (n,) min(P(value <= observed), P(value >= observed)), before the release. The probability is computed under
        the prior if the prior is proper. Otherwise, it is the largest probability over all counts within the bounds.
        Values that were rounded, clipped or withheld count as intervals. NaN if the distribution has no tails (a
        table), nothing was measured, or a row is invalid.
    """
    out = np.full(len(cells), np.nan)
    if isinstance(cells.noise, LawByRow):
        for law, rows_of_part in cells.noise.parts():
            out[rows_of_part] = tails(replace(cells.take(rows_of_part), noise=law), prior)
        return out
    rows = np.flatnonzero(cells.good & cells.measured)
    if not has_tails(cells.noise) or not len(rows):
        return out
    if len(rows) >= windows.MANY:
        kinds, which = (cells if len(rows) == len(cells) else cells.take(rows)).kinds
        if len(kinds) < len(rows):
            out[rows] = tails(cells.take(rows[kinds]), prior)[which]
            return out
    part = cells.take(rows)
    first, last = np.maximum(part.lower, prior.first), np.minimum(part.upper, prior.last)
    if not prior.proper:
        out[rows] = np.minimum(*(_tail(part, end, side) for end, side in ((first, "low"), (last, "high"))))
        return out
    low, high = windows.spans(part, prior, _LOG_MASS)
    fits = np.flatnonzero((high >= low) & (high - low < windows.WIDEST))
    for block in windows.blocks(part, fits, low[fits], high[fits]):
        block_cells = part.take(block.rows)
        weights = np.exp(windows.prior_weights(prior, block))
        weights[block.counts > (block.low + block.width - 1)[:, None]] = 0.0
        least, most = prior.below(first[block.rows]), prior.below(last[block.rows] + 1)
        at_most = (
            prior.below(block.low) - least + (weights * _tails_along(block_cells, block.counts, "low")).sum(axis=1)
        )
        smaller, total_mass = at_most, most - least
        upper = np.flatnonzero(~(at_most <= total_mass / 2))  # in the other rows, the lower tail is smaller
        if len(upper):
            along = _tails_along(block_cells.take(upper), block.counts[upper], "high")
            beyond = most[upper] - prior.below((block.low + block.width)[upper])
            at_least = beyond + (weights[upper] * along).sum(axis=1)
            smaller[upper] = np.minimum(at_most[upper], at_least)
        out[rows[block.rows]] = np.minimum(smaller / np.maximum(total_mass, 1e-300), 1.0)
    return out


def given_total(released: Array, laws: Sequence[Any], total: int, alpha: Array) -> Array:
    """Return, for each released count or share, the prior predictive probability of a value that is at least as extreme
    on the same side. The probability is conditional on the public total.

    Parameters
    ----------
    released : float64 (k,), k >= 2, the released counts; or shares, if the distribution is a `Dirichlet`.
    laws : noise distribution of each row, with a single parameter, or the same `Dirichlet` for all rows.
    total : public total of the true counts.
    alpha : float64 (k,), concentrations of the Dirichlet prior of the rates.

    Returns
    -------
    float64 (k,)
        min(P(value <= observed), P(value >= observed)). A true count has a beta-binomial distribution. If k (total + 1)
        is greater than `LISTED`, the most favourable count between 0 and `total` is used instead. NaN if the noise
        distribution has no tails (a table).

    Notes
    -----
    Cost: O(k total) time and O(total) memory.
    """
    listed = len(released) * (total + 1) <= LISTED
    whole = float(alpha.sum())
    out = np.full(len(released), np.nan)
    for i, (value, law, a) in enumerate(zip(released.tolist(), laws, alpha.tolist(), strict=True)):
        if isinstance(law, Dirichlet):
            counts = np.arange(total + 1.0) if listed else np.array([0.0, float(total)])
            low, high = law.tails(value, counts, total=total, categories=len(released))
            prior = _beta_binomial(total, a, whole - a)[0] if listed else None
            out[i] = min(low[0], high[-1]) if prior is None else min(prior @ low, prior @ high, 1.0)
        elif has_tails(law):
            out[i] = of_count(value, law, total, a, whole - a, listed=listed)
    return out


def of_count(value: float, law: Any, total: int, a: float, b: float, *, listed: bool = True) -> float:
    """Return the prior predictive tail probability of one released count (see `given_total`).

    Parameters
    ----------
    value : released count.
    law : noise distribution of the count.
    total : public total.
    a, b : parameters of the beta-binomial distribution of the true count.
    listed : whether to sum over the true counts; otherwise, the most favourable true count is used.

    Returns
    -------
    float
    """
    cell = cells_of([value], law, upper=total)
    if not listed:
        return float(min(_tail(cell, np.array([0.0]), "low")[0], _tail(cell, np.array([float(total)]), "high")[0]))
    prior, below, above = _beta_binomial(total, a, b)
    first, last = (int(end[0]) for end in windows.spans(cell, Flat(), _LOG_FAR))
    counts = np.arange(first, last + 1.0)[None]
    low, high = (float(prior[first : last + 1] @ _tail(cell, counts, side)[0]) for side in ("low", "high"))
    return float(min(below[first] + low, above[last] + high, 1.0))


def least_given_totals(cells: Cells, totals: Array, alpha: float, sizes: Array) -> Array:
    """Return a lower bound on the prior predictive tail probability of each released count (see `given_total`), for the
    counts of many tables in one pass.

    Parameters
    ----------
    cells : noisy counts of all tables.
    totals : float64 (n,), public total of the table of each count.
    alpha : concentration of the Dirichlet prior of the rates, which is the same for all categories.
    sizes : number of categories of the table of each count.

    Returns
    -------
    float64 (n,)

    Notes
    -----
    For every count m, P(value <= y) >= P(count <= m) P(value <= y | m). If the rate is at most m/total, the count is at
    most m with a probability of at least 1/2, because the median of a binomial distribution is at most its mean,
    rounded up. Therefore, P(count <= m) is at least half the probability that the rate is at most m/total. P(count <=
    m) is also at least the probability of the count 0. The upper tail has the same bounds.
    """
    own, rest = np.full(len(cells), alpha), alpha * (sizes - 1.0)
    low, high = (np.clip(rounded(cells.released), 0, totals) for rounded in (np.floor, np.ceil))
    ends = []
    for side, m, beyond, a, b in (("low", low, low, own, rest), ("high", high, totals - high, rest, own)):
        rate = betainc(a, b, beyond / np.maximum(totals, 1)) / 2
        none = np.exp(betaln(a, b + totals) - betaln(a, b))
        ends.append(np.maximum(rate, none) * _tail(cells, m, side))
    return np.asarray(np.minimum(*ends))


@lru_cache(maxsize=8)
def _beta_binomial(total: int, a: float, b: float) -> tuple[Array, Array, Array]:
    """Return, for each count from 0 to total, its beta-binomial probability, the total probability of all smaller
    counts, and the total probability of all larger counts.
    """
    n = np.arange(total + 1.0)
    logs = gammaln(total + 1.0) - gammaln(n + 1) - gammaln(total - n + 1) + betaln(n + a, total - n + b) - betaln(a, b)
    p = np.asarray(np.exp(logs))
    return p, np.append(0.0, np.cumsum(p)[:-1]), np.append(np.cumsum(p[:0:-1])[::-1], 0.0)


def has_tails(law: NoiseLaw) -> bool:
    """Return whether the tail probabilities of a noise distribution can be computed. This is true for all distributions
    except tables.
    """
    return hasattr(law.noise if isinstance(law, Coarsened) else law, "log_within")


def of_mixture(
    released: float, law: NoiseLaw, counts: Array, probabilities: Array, *, side: str | None = None
) -> float:
    """Return the smaller tail probability of a released value under a given distribution of the true count. The two
    tails consist of the values that are at most, or at least, the released value.

    Parameters
    ----------
    released : the value, NaN if it was withheld.
    law : noise distribution for which `has_tails` is true.
    counts, probabilities : float64 (n,), distribution of the count.
    side : the tail that is known to be smaller, ``"low"`` or ``"high"``; None: both tails are computed.

    Returns
    -------
    float
    """
    cell, all_counts, sides = cells_of([released], law), counts[None], ("low", "high") if side is None else (side,)
    ends = [float(probabilities @ _tail(cell, all_counts, side)[0]) for side in sides]
    return min(*ends, 1.0)


def at_counts(released: Array, law: NoiseLaw, counts: Array) -> Array:
    """Return, for each observed value, the probability of a released value that is at least as extreme, given the true
    count.

    Parameters
    ----------
    released : float64 (n,), NaN if a value was withheld.
    law : noise distribution for which `has_tails` is true.
    counts : float64 (n,).

    Returns
    -------
    float64 (n,)
    """
    cells = cells_of(released, law)
    return np.minimum(_tail(cells, counts, "low"), _tail(cells, counts, "high"))


def _added(law: NoiseLaw) -> AddedNoise:
    """Return the distribution of the additive noise, before noisy values are rounded, clipped or withheld. The caller
    has checked with `has_tails` that the noise is additive.
    """
    return law.noise if isinstance(law, Coarsened) else law  # type: ignore[return-value]


def _tail(cells: Cells, counts: Array, side: str) -> Array:
    """Return the tail probability of each released value given the true count. It is P(value <= observed | count) if
    `side` is ``"low"``, and P(value >= observed | count) otherwise. The observed value is the interval that the
    released value represents. The result is 1 if a row has no count.
    """
    values, finite = cells.released, np.where(np.isfinite(counts), counts, 0.0)
    column = values.reshape(-1, *[1] * (counts.ndim - 1))
    law = cells.noise
    low, high = law.behind(values) if isinstance(law, Coarsened) else (values, values)
    noise = _added(law)
    parameter = noise.by_row(column)
    if side == "low":
        logs = noise.log_at_most(high.reshape(column.shape) - finite, parameter)
    else:
        logs = noise.log_at_most(finite - low.reshape(column.shape), parameter)
    return np.where(np.isfinite(counts), np.exp(logs), 1.0)


def _tails_along(cells: Cells, counts: Array, side: str) -> Array:
    """Compute the tail probability of each released value given each possible true count. Every row of the array of
    true counts contains consecutive integers. For integer-valued noise, the probabilities are cumulative sums that
    start in the extreme tail.
    """
    law = cells.noise
    if not law.discrete or len(cells) == 0:
        return _tail(cells, counts, side)
    noise = _added(law)
    ends = law.behind(cells.released) if isinstance(law, Coarsened) else (cells.released, cells.released)
    end = ends[1 if side == "low" else 0][:, None]
    if not np.isfinite(end).all():
        return _tail(cells, counts, side)
    points = np.exp(noise.log_density(end - counts, noise.by_row(end)))
    if side == "low":
        points, counts = points[:, ::-1], counts[:, ::-1]
    points[:, 0] = _tail(cells, counts[:, :1], side)[:, 0]
    along = np.cumsum(points, axis=1)
    return np.asarray(along[:, ::-1] if side == "low" else along)


def by_table(tail: Array, starts: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Return the results of the test for a conflict between the prior and the release, separately for each of many
    tables.

    Parameters
    ----------
    tail : float64 (n,), one-sided tail probabilities of the values of all tables, NaN for values without a test.
    starts : int64 (tables + 1,), position of the first value of each table, and n.

    Returns
    -------
    (p, worst)
        For each table, the smallest p-value times the number of tested values of the table if it is below `SMALL`, and
        otherwise NaN; and the position in the table of the value with the smallest p-value.
    """
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    tested = np.bincount(owner, ~np.isnan(tail), len(starts) - 1)
    # the first of the smallest tails of a table, up to rounding errors; NaN is last
    order = np.lexsort((np.round(np.log(np.maximum(tail, 1e-320)), 9), owner))
    first = order[starts[:-1]]
    p = 2 * tail[first] * tested
    return np.where(p < SMALL, p, np.nan), first - starts[:-1]


def facts(tail: Array, names: list[str] | tuple[str, ...]) -> dict[str, object]:
    """Return the results of the test for a conflict between the prior and the release, as a dictionary.

    Parameters
    ----------
    tail : one-sided tail probabilities, as returned by `tails`.
    names : names of the counts.

    Returns
    -------
    dict
        ``tested``, the ``smallest`` p-value and its ``name``, and whether there is a conflict: ``found`` is true if the
        smallest p-value times the number of tested values is below `SMALL`, with ``names`` of up to ten counts for
        which this holds. A p-value is twice the tail probability, because both tails are tested.
    """
    tested = np.flatnonzero(~np.isnan(tail))
    if not len(tested):
        return {"tested": 0, "found": False}
    p = np.minimum(2 * tail, 1.0)
    order = tested[np.argsort(p[tested], kind="stable")]
    far = [names[i] for i in order[p[order] * len(tested) < SMALL].tolist()]
    return {
        "tested": len(tested),
        "smallest": float(p[order[0]]),
        "name": names[order[0]],
        "found": bool(far),
        **({"names": far[:10], "counts": len(far)} if far else {}),
    }
