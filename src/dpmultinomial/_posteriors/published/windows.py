"""Posterior distributions of independent counts. Each posterior is computed on a window of integers that contains all
but a negligible part of the probability.

The width of a window depends on the noise and not on the size of the counts. Let b be the most likely count within the
bounds, and h a half-width with P(|noise| > h) <= exp(-m). The likelihood of added noise g is log-concave in the count.
At a distance of k counts from b, it is therefore at most g(k)/g(0) times the likelihood of b, even if the released
value is beyond the bound b. A window contains all counts up to a distance h from b, and up to h from every count that
the released value represents. It therefore omits at most peak * likelihood(b) * exp(-m) * (1 + 2.6 sd), where peak is
the largest weight of the prior. Divided by the sum over the window, this is a bound on the omitted probability. If the
bound of a row exceeds `NEGLECTED`, its window is widened.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._printing import steps
from . import _window_sums
from .cells import Cells

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
NEGLECTED = 1e-12  # bound on the posterior probability outside a window
WIDEST = 20_000_000  # largest number of counts in a window
# values that are tried in this order; 40 corresponds to 18 standard deviations of normal noise
_LOG_MASS = (40.0, 160.0, 640.0, 2560.0, 10_240.0, 40_960.0, 163_840.0)
_ENTRIES = 1_000_000  # number of entries of a block
_NO_END = (
    "the possible values of the count have no limit, and an improper prior requires a measurement and, if values are "
    "clipped, a lower bound"
)
MANY = 1000  # smallest number of rows for which equal rows are computed once
NOTHING = "the released value is impossible under the prior, the bounds and the noise"


class CountPrior(Protocol):
    """Interface for the prior of a count, which is given by the weights of all counts from 0 upwards.

    Attributes
    ----------
    proper : whether the weights sum to 1; if not, their sum is infinite.
    peak : log of the largest weight.
    first, last : smallest and largest possible count.
    """

    proper: bool
    peak: float
    first: float
    last: float

    def log_weights(self, counts: ArrayLike) -> Array: ...

    def below(self, counts: ArrayLike) -> Array: ...

    def reach(self, log_mass: float) -> tuple[float, float]: ...

    def settings(self) -> dict[str, object]: ...


def too_wide(counts: float) -> str:
    """Return the error message for a count with noise so large that no posterior distribution can be computed.

    Parameters
    ----------
    counts : number of possible true counts.

    Returns
    -------
    str
    """
    return (
        f"the noise is too large: {counts:.3g} true counts are possible, more than the limit of {WIDEST:,}; set "
        "tighter bounds on the count"
    )


@dataclass(frozen=True)
class Block:
    """Group of rows of noisy counts whose windows (ranges of counts) have similar widths.

    Parameters
    ----------
    rows : positions in the cells.
    low, width : int64, first count and number of counts of each window.
    counts : float64 (rows, widest), low, low + 1, ..
    log_likelihood : float64 (rows, widest), -inf beyond a window.
    """

    rows: Whole
    low: Whole
    width: Whole
    counts: Array
    log_likelihood: Array


def spans(cells: Cells, prior: CountPrior, log_mass: float) -> tuple[Array, Array]:
    """Return the limits of the window of every row, that is, the smallest and the largest count that is considered. The
    ends are infinite if a window is unbounded.

    Parameters
    ----------
    cells : rows without a reason.
    prior : prior, whose first and last count are additional bounds.
    log_mass : the noise has a probability below exp(-log_mass) beyond the half-width h.

    Returns
    -------
    (low, high)
        float64 (n,). The window extends by h beyond all counts that the released value represents, and by at least h
        beyond the bound that is nearest to them. It is truncated at the bounds.
    """
    lower, upper = np.maximum(cells.lower, prior.first), np.minimum(cells.upper, prior.last)
    low, high = (np.full(len(cells), end) for end in prior.reach(log_mass))
    seen = np.flatnonzero(cells.measured)
    noise = cells.noise.take(seen)
    ends = noise.reach(cells.released[seen], log_mass)
    half = np.ceil(np.asarray(noise.halfwidth(log_mass)))
    low[seen], high[seen] = around(np.floor(ends[0]), np.ceil(ends[1]), half, lower[seen], upper[seen])
    return np.maximum(low, lower), np.minimum(high, upper)


def around(low: Array, high: Array, half: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
    """Return the ends of the given windows (ranges of counts), after extending the windows if necessary. Each lower end
    becomes at most `upper` - `half`, and each upper end at least `lower` + `half`.

    Parameters
    ----------
    low, high : ends of the windows around the counts that the released value represents, including `half`.
    half : half-width of the noise.
    lower, upper : bounds of the counts; the ends are not truncated at these bounds.

    Returns
    -------
    (low, high)
        float64 (n,).
    """
    return np.minimum(low, np.subtract(upper, half)), np.maximum(high, np.add(lower, half))


def blocks(cells: Cells, rows: Whole, low: Array, high: Array) -> Iterator[Block]:
    """Yield the windows (ranges of counts) of the given rows in blocks. Each block has at most `_ENTRIES` counts,
    unless it consists of a single row.

    Parameters
    ----------
    cells : noisy counts of all rows.
    rows : positions of the requested rows.
    low, high : float64 (rows,), finite ends of the windows of these rows.

    Yields
    ------
    Block
    """
    width = (high - low + 1).astype(np.int64)
    order = np.lexsort((low, np.ceil(4 * np.log2(width))))
    start = 0
    while start < len(order):
        # largest number of rows that fit into a block
        rest = order[start : start + max(_ENTRIES // int(width[order[start]]), 1)]
        widest = np.maximum.accumulate(width[rest])
        size = max(int(np.searchsorted(widest * np.arange(1, len(rest) + 1), _ENTRIES, side="right")), 1)
        block_rows = rest[:size]
        start += size
        part = cells.take(rows[block_rows])
        counts = low[block_rows, None] + np.arange(int(width[block_rows].max()), dtype=np.float64)
        logs = np.zeros(counts.shape)
        seen = np.flatnonzero(part.measured)
        logs[seen] = part.noise.take(seen).log_likelihood(part.released[seen, None], counts[seen])
        logs[counts > high[block_rows, None]] = -np.inf
        yield Block(rows[block_rows], low[block_rows].astype(np.int64), width[block_rows], counts, logs)


@dataclass(frozen=True)
class Answers:
    """Posterior summaries of counts, with one row per count. The entries of a row are NaN if the row has no posterior
    distribution.

    Parameters
    ----------
    mean, sd, lower, upper : float64 (n,).
    log_evidence : float64 (n,), log of the prior probability of the release (up to a constant if the prior is
        improper).
    error : float64 (n,), upper bound on the neglected posterior probability.
    reasons : one string per row, empty if the row is valid.
    """

    mean: Array
    sd: Array
    lower: Array
    upper: Array
    log_evidence: Array
    error: Array
    reasons: NDArray[np.object_]


def answers(cells: Cells, prior: CountPrior, level: float) -> Answers:
    """Compute the posterior mean, standard deviation and central interval of every count separately.

    Parameters
    ----------
    cells : noisy counts; invalid rows are skipped.
    prior : prior of every count.
    level : level of the intervals, in (0, 1).

    Returns
    -------
    Answers

    Raises
    ------
    ValueError, TypeError
        If `level` is invalid.
    """
    return settle(cells, prior, level).answers()


@dataclass(frozen=True)
class Settled:
    """Posterior summaries of all rows of noisy counts, each computed on a window of counts outside which the posterior
    mass is negligible.

    Parameters
    ----------
    numbers : float64 (n, 5), log evidence, mean, sd, lower, upper; NaN if a row has a reason.
    error : float64 (n,), upper bound on the mass that a window neglects.
    reasons : one string per row.
    """

    numbers: Array
    error: Array
    reasons: NDArray[np.object_]

    def answers(self) -> Answers:
        """Return the posterior summaries of all counts as an object with one array per column."""
        evidence, mean, sd, lower, upper = np.ascontiguousarray(self.numbers.T)
        return Answers(mean, sd, lower, upper, evidence, self.error, self.reasons)


def settle(
    cells: Cells, prior: CountPrior, level: float, keep: Callable[[Block, Array], None] | None = None
) -> Settled:
    """Compute the posterior summaries of all rows of noisy counts. The windows are extended for rows whose bound on the
    neglected mass is too large.

    Parameters
    ----------
    cells, prior, level : arguments of `answers`.
    keep : function called with each block and its log weights; a row may be passed again with a wider window.

    Returns
    -------
    Settled
    """
    out, error = np.full((len(cells), 5), np.nan), np.full(len(cells), np.nan)
    reasons = cells.reasons.copy()
    left = np.flatnonzero(cells.good)
    if keep is None and len(left) >= MANY:
        rows, which = (cells if len(left) == len(cells) else cells.take(left)).kinds
        if len(rows) < len(left):
            separate = _settled(cells.take(left[rows]), prior, level, None)
            out[left], error[left], reasons[left] = (
                separate.numbers[which],
                separate.error[which],
                separate.reasons[which],
            )
            return Settled(out, error, reasons)
    return _settled(cells, prior, level, keep)


def _settled(cells: Cells, prior: CountPrior, level: float, keep: Callable[[Block, Array], None] | None) -> Settled:
    """Compute the posterior summaries of all rows of noisy counts separately, even if several rows are equal."""
    out, error = np.full((len(cells), 5), np.nan), np.full(len(cells), np.nan)
    reasons = cells.reasons.copy()
    left = np.flatnonzero(cells.good)
    for log_mass in _LOG_MASS:
        low, high = spans(cells.take(left), prior, log_mass)
        size = high - low + 1
        reasons[left[size < 1]] = NOTHING
        wide = np.isfinite(size) & (size > WIDEST)
        reasons[left[wide]] = [too_wide(counts) for counts in size[wide]]
        reasons[left[~np.isfinite(size)]] = _NO_END
        fits = np.flatnonzero(reasons[left] == "")
        parts = blocks(cells, left[fits], low[fits], high[fits])
        for block in steps(parts, len(fits), "counts", lambda block: len(block.rows)):
            logs = block.log_likelihood + prior_weights(prior, block)
            sums = _window_sums.summaries(logs, block.width, level=level)
            sums[:, [1, 3, 4]] += block.low[:, None]
            out[block.rows] = sums
            error[block.rows] = neglected(cells.take(block.rows), prior, block, sums[:, 0], log_mass)
            if keep is not None:
                keep(block, logs)
        left = left[fits][~(error[left[fits]] <= NEGLECTED)]
        if not len(left):
            break
    reasons[left] = NOTHING
    bad = reasons != ""
    out[bad], error[bad] = np.nan, np.nan
    return Settled(out, error, reasons)


def neglected(cells: Cells, prior: CountPrior, block: Block, log_evidence: Array, log_mass: float) -> Array:
    """Return an upper bound on the posterior probability of the neglected counts for each row of a block.

    Parameters
    ----------
    cells : rows of the block.
    prior : prior of the counts.
    block : windows of the block.
    log_evidence : log of the sum over each window.
    log_mass : log mass with which the windows were made.

    Returns
    -------
    float64 (rows,)
        The result is 0 if the window ends at the bounds of the count, and inf if all weights of the window are 0.
    """
    lower, upper = np.maximum(cells.lower, prior.first), np.minimum(cells.upper, prior.last)
    covers_all = (block.low <= lower) & (block.low + block.width - 1 >= upper)
    sd = np.broadcast_to(np.sqrt(np.asarray(cells.noise.variance())), (len(cells),))
    best = block.log_likelihood.max(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        bound = np.exp(prior.peak + best - log_evidence - log_mass + np.log1p(2.6 * sd))
    bound = np.where(cells.measured, bound, np.exp(-log_mass))
    bound = np.where(covers_all, 0.0, bound)
    return np.where(log_evidence > -np.inf, bound, np.inf)


def prior_weights(prior: CountPrior, block: Block) -> Array:
    """Return the log prior weights of all counts in the windows (ranges of counts) of a block of rows. The weights come
    from a table if the block contains few distinct counts.
    """
    first = int(block.low.min())
    size = int((block.low + block.counts.shape[1]).max()) - first
    if size > block.counts.size:
        return prior.log_weights(block.counts)
    table = prior.log_weights(np.arange(first, first + size, dtype=np.float64))
    return np.asarray(table[(block.counts - first).astype(np.int64)])
