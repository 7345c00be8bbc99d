"""Measurements of one cell at each node of one level of the spine, as read from the files of the level.

The estimate of a cell of a histogram is the best linear combination of the queries and constraints that involve it.

A cell is a product of sets of levels. The cell and its complements along its a restricted axes divide the histogram
into 2^a classes, whose counts are the unknowns. The cells of a query are summed over the classes that its binning
distinguishes. The best linear unbiased weights minimise w' V w subject to A' w = e, where V is diagonal, with 0 for
exact sums.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .files import Batch, Query, Texts, batches
from .products import CONSTRAINT, DPQUERY, Mask, Product, parts

Array = NDArray[np.float64]
_FEASIBLE = 1e-9
MARGIN = 1.01  # queries whose omission increases the standard deviation by less than this factor are not read


@dataclass(frozen=True)
class Sums:
    """Grouping of the cells of a histogram into the classes of a query. The query measures only the sum of the cells in
    each class.

    Parameters
    ----------
    place : int64 (cells,), class of every cell, in row-major order.
    cells : int64 (classes,), number of cells in each class.
    knows : float64 (classes, unknowns), 1 if the unknown is part of the class.
    """

    place: NDArray[np.int64]
    cells: NDArray[np.int64]
    knows: Array

    def added(self, values: Array) -> Array:
        """Return the sums of the values over the cells of each class. The values have the shape (nodes, cells), and the
        sums (nodes, classes).
        """
        classes = len(self.cells)
        return np.asarray(values @ (self.place[:, None] == np.arange(classes)), dtype=np.float64)


def restricted(masks: Sequence[Mask]) -> list[int]:
    """Return the axes along which a cell does not include all levels."""
    return [i for i, mask in enumerate(masks) if not mask.all()]


def sums(product: Product, specs: tuple[str, ...], masks: Sequence[Mask]) -> Sums | None:
    """Classify the cells of a query by their position relative to a given histogram cell. A class states, for each
    axis, whether its cells lie inside or outside the histogram cell.

    Parameters
    ----------
    product : product with the histogram.
    specs : binnings of the query.
    masks : the cell, as one mask per axis.

    Returns
    -------
    Sums : the query's cells grouped by class; None if the cells of the query do not cover the histogram.
    """
    if not product.knows(specs):
        return None
    axes = restricted(masks)
    classes = 2 ** len(axes)
    # 1 if the unknown is inside the cell along the axis
    unknowns = np.arange(classes) >> np.arange(len(axes))[::-1, None] & 1
    labels, shape = [], []
    knows = np.ones((1, classes))
    for i, (axis, spec) in enumerate(zip(product.axes, specs, strict=True)):
        bins = axis.all_binnings[spec]
        if sum(map(len, bins)) < len(axis.levels):
            return None
        inside = [float(masks[i][list(part)].mean()) for part in bins]
        tells = i in axes and set(inside) <= {0.0, 1.0}
        labels.append(np.array(inside, dtype=np.int64) if tells else np.zeros(len(bins), dtype=np.int64))
        shape.append(2 if tells else 1)
        if tells:
            indicator = unknowns[axes.index(i)]
            knows = np.concatenate([row * (indicator == side) for row in knows for side in (0, 1)]).reshape(
                -1, len(indicator)
            )
    place = np.ravel_multi_index(np.meshgrid(*labels, indexing="ij"), shape).ravel()
    return Sums(place, np.bincount(place, minlength=prod(shape)), knows)


@dataclass(frozen=True)
class Combination:
    """Best linear unbiased estimate of a cell's count from the measurements.

    Parameters
    ----------
    weights : weights, one float64 (classes,) per query.
    variance : variance of the estimate; infinite if the count is not determined.
    alone : whether the estimate is a single measured number, whose distribution is known.
    error : first-order total variation distance between the distribution of the estimate and a normal distribution; 0
        if the estimate is a single measured number.
    """

    weights: tuple[Array, ...]
    variance: float
    alone: bool
    error: float


@dataclass(frozen=True)
class Target:
    """Specification of the count that is estimated at every node of a geographic level.

    Parameters
    ----------
    masks : the cell, as one mask per axis.
    rest : whether the count is that of all other cells.
    given_total : whether the total of the histogram is known; the estimate is then linear in the total.
    """

    masks: Sequence[Mask]
    rest: bool = False
    given_total: bool = False

    def coefficients(self, unknowns: int) -> Array:
        """Return the coefficient of each unknown count in the linear combination that is estimated, as a float64 array
        of shape (unknowns,).
        """
        last = np.zeros(unknowns)
        last[-1] = 1.0
        return 1.0 - last if self.rest else last

    def nuisance(self, design: Array) -> Array:
        """Return the design matrix of the nuisance counts, which are integrated out. The counts are expressed in
        unconstrained integer coordinates.

        Given the total and the cell, the other classes determine the first class.
        """
        return design[:, 1:-1] - design[:, :1] if self.given_total else design[:, :-1]


def _total(unknowns: int) -> Sums:
    """Return the query that measures only the total of a histogram. The answer to this query is a single number."""
    return Sums(np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64), np.ones((1, unknowns)))


def combine(parts: Sequence[Sums], variances: Sequence[float], target: Target | None = None) -> Combination:
    """Compute the weights with which least squares combines the queries of a node.

    Parameters
    ----------
    parts : sums of the queries.
    variances : noise variance of one cell of each query; 0 for exact queries, NaN or infinite if a query was not
        measured.
    target : the count; by default the cell, with an unknown total.

    Returns
    -------
    Combination : weights and variance; the variance is infinite if the queries do not determine the count.

    Notes
    -----
    The weights assume nothing about the other classes, not even that their counts are non-negative.
    """
    cells = np.concatenate([np.zeros(0), *(part.cells for part in parts)])
    single = np.repeat(np.asarray(variances, dtype=np.float64), [len(part.cells) for part in parts])
    use = np.isfinite(single)
    weights = np.zeros(len(single))
    nothing = Combination(_split(weights, parts), np.inf, False, 0.0)
    if not use.any():
        return nothing
    a, v = np.vstack([part.knows for part in parts])[use], (single * cells)[use]
    unknowns, asked = a.shape[1], target or Target(())
    wanted = asked.coefficients(unknowns)
    scale = float(v.max()) or 1.0
    system = np.block([[np.diag(v / scale), a], [a.T, np.zeros((unknowns, unknowns))]])
    w = np.linalg.lstsq(system, np.concatenate([np.zeros(len(v)), wanted]), rcond=1e-13)[0][: len(v)]
    if np.abs(a.T @ w - wanted).max() > _FEASIBLE:
        return nothing
    w[np.abs(w) < 1e-12] = 0.0
    active = np.flatnonzero(w)
    if len(active) == 1 and abs(w[active[0]] - 1) < 1e-9:
        w[active] = 1.0  # the value is exactly the published number
    weights[use] = w
    variance = float(w**2 @ v)
    alone = len(active) == 1 and w[active[0]] == 1 and (cells[use][active[0]] == 1 or variance == 0)
    error = 0.0 if alone or variance == 0 else _error(asked.nuisance(a), v, cells[use], single[use])
    return Combination(_split(weights, parts), variance, bool(alone), error)


def _split(weights: Array, parts: Sequence[Sums]) -> tuple[Array, ...]:
    ends = np.cumsum([len(part.cells) for part in parts])
    return tuple(np.split(weights, ends[:-1])) if len(parts) else ()


def _error(nuisance: Array, v: Array, cells: Array, single: Array) -> float:
    """Return a first-order approximation of the total variation distance between a linear combination of integer-valued
    noise terms and a normal distribution.

    The distance is the sum of two terms of the Poisson summation formula. The first compares sums over the integer
    counts of the other classes with integrals: (1 + 2 exp(-2 pi^2 c))^m - 1, with c the smallest variance of a
    combination of m of these counts given the cell. The second compares sums of k discrete Gaussian variables with a
    single variable: 40 s k exp(-2 pi^2 sigma^2 (1 - 1/k)) with s^2 = k sigma^2, which bounds the error of the density
    over 20 standard deviations.
    """
    noisy = v > 0
    total = 0.0
    for k, sigma2 in zip(cells[noisy], single[noisy], strict=True):
        if k > 1:
            total += 40 * np.sqrt(k * sigma2) * k * np.exp(-2 * np.pi**2 * sigma2 * (1 - 1 / k))
    others = nuisance[noisy]
    if others.size:
        precision = others.T @ (others / v[noisy][:, None])
        largest = float(np.linalg.eigvalsh(precision)[-1])
        if largest > 0:
            total += (1 + 2 * np.exp(-2 * np.pi**2 / largest)) ** others.shape[1] - 1
    return float(min(total, 1.0))


def worth_reading(parts: Sequence[Sums], variances: Sequence[float], target: Target | None = None) -> list[int]:
    """Return the positions of the queries whose measurements noticeably reduce the variance of the estimate. The other
    queries are dropped, starting with the largest query.

    Parameters
    ----------
    parts, variances, target : as in `combine`.

    Returns
    -------
    list of int
    """
    kept = [i for i, v in enumerate(variances) if np.isfinite(v)]
    best = combine([parts[i] for i in kept], [variances[i] for i in kept], target).variance
    if not np.isfinite(best):
        return []
    for i in sorted(kept, key=lambda i: -len(parts[i].place)):
        rest = [j for j in kept if j != i]
        if (
            variances[i]
            and combine([parts[j] for j in rest], [variances[j] for j in rest], target).variance <= best * MARGIN**2
        ):
            kept = rest
    return kept


@dataclass(frozen=True)
class Bound:
    """Weights with which the values of a constraint enter the lower and the upper bound on the count of a cell. A bound
    that does not exist is None.
    """

    lower: Array | None
    upper: Array | None


def bound(product: Product, specs: tuple[str, ...], sign: str, masks: Sequence[Mask]) -> Bound:
    """Return the bounds on the count of a cell that follow from a constraint and that hold for all possible counts of
    the other cells of the histogram.

    Parameters
    ----------
    product : product with the histogram.
    specs : binnings of the constraint.
    sign : ``=``, ``>=`` or ``<=``.
    masks : the cell, as one mask per axis.

    Returns
    -------
    Bound : the cells of the constraint whose sum is a lower or an upper bound; None if there is no bound.

    Notes
    -----
    The lower bound uses the constraint's cells inside the cell. The upper bound uses the constraint's cells that
    overlap the cell, if they cover it.
    """
    if not product.knows(specs):
        return Bound(None, None)
    bins = [axis.all_binnings[spec] for axis, spec in zip(product.axes, specs, strict=True)]
    within = _product(
        [[bool(mask[list(part)].all()) for part in axis_bins] for axis_bins, mask in zip(bins, masks, strict=True)]
    )
    touching = _product(
        [[bool(mask[list(part)].any()) for part in axis_bins] for axis_bins, mask in zip(bins, masks, strict=True)]
    )
    covered = all(
        set(np.flatnonzero(mask).tolist()) <= {i for part in axis_bins for i in part}
        for axis_bins, mask in zip(bins, masks, strict=True)
    )
    lower = within if sign in ("=", ">=") and within.any() else None
    return Bound(lower, touching if sign in ("=", "<=") and covered else None)


def bound_of_rest(product: Product, specs: tuple[str, ...], sign: str, masks: Sequence[Mask]) -> Bound:
    """Return the bounds that a constraint implies for the sum of all cells outside a given cell (compare `bound`). The
    lower bound uses the cells of the constraint outside the cell; the upper bound uses the cells that are not entirely
    inside, if they cover the histogram.

    Parameters
    ----------
    product, specs, sign, masks : as in `bound`.

    Returns
    -------
    Bound
    """
    if not product.knows(specs):
        return Bound(None, None)
    bins = [axis.all_binnings[spec] for axis, spec in zip(product.axes, specs, strict=True)]
    within = _product(
        [[bool(mask[list(part)].all()) for part in axis_bins] for axis_bins, mask in zip(bins, masks, strict=True)]
    )
    touching = _product(
        [[bool(mask[list(part)].any()) for part in axis_bins] for axis_bins, mask in zip(bins, masks, strict=True)]
    )
    covered = all(sum(map(len, axis_bins)) == len(mask) for axis_bins, mask in zip(bins, masks, strict=True))
    lower = 1.0 - touching if sign in ("=", ">=") and not touching.all() else None
    return Bound(lower, 1.0 - within if sign in ("=", "<=") and covered else None)


def _product(sides: list[list[bool]]) -> Array:
    return np.asarray(reduce(np.multiply.outer, [np.array(side, dtype=np.float64) for side in sides])).ravel()


Whole = NDArray[np.int64]
Rows = dict[Query, list[tuple[pa.Array, Array]]]


@dataclass(frozen=True, kw_only=True)
class Level:
    """Measurements of one histogram cell at all nodes of a geographic level.

    Parameters
    ----------
    codes : geocodes, sorted.
    released : float64 (n,), one measured number or the best combination of several; NaN if nothing was measured.
    variance : float64 (n,), noise variance (for a single discrete Gaussian number the parameter, as published); 0:
        exact.
    alone : bool (n,), whether the value is a single measured number.
    error : float64 (n,), distance between the distribution of the value and the assumed distribution (`Combination`).
    lower, upper : float64 (n,), bounds that follow from constraints; infinite if there is no bound.
    used : names of the combined queries.
    unused : names of constraints that do not bound the cell, and of rows with an unknown binning.
    slope : float64 (n,), coefficient of the total in the estimate `released + slope * total` given the total
        (`Target.given_total`); 0 for all other estimates.
    """

    codes: Texts
    released: Array
    variance: Array
    alone: NDArray[np.bool_]
    error: Array
    lower: Array
    upper: Array
    used: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    slope: Array


def read(product: Product, folders: Sequence[Path], masks: Sequence[Mask], query: str | None = None) -> Level:
    """Read the measurements of a cell at all nodes of one level of a state.

    Parameters
    ----------
    product : product of the files.
    folders : folders of the state at this level.
    masks : the cell (`products.masks`).
    query : name of the only query to use (`Product.name`); None combines all informative queries.

    Returns
    -------
    Level : estimates and exact sums of the cell by geocode.

    Raises
    ------
    ValueError
        If a file breaks the layout, or the query does not measure the cell.
    """
    return _read(product, folders, {"cell": Target(masks)}, query)["cell"]


def read_with_total(product: Product, folders: Sequence[Path], masks: Sequence[Mask]) -> dict[str, Level]:
    """Read the measurements of a cell, of its complement and of the total in one pass over the files of a level.

    Parameters
    ----------
    product, folders, masks : as in `read`.

    Returns
    -------
    dict : ``cell``; ``total``; ``rest``, which is the total minus the cell; ``given``, the cell given the total.
    """
    everything = [np.ones_like(mask) for mask in masks]
    targets = {
        "cell": Target(masks),
        "total": Target(everything),
        "rest": Target(masks, rest=True),
        "given": Target(masks, given_total=True),
    }
    return _read(product, folders, targets, None)


def _read(
    product: Product, folders: Sequence[Path], targets: Mapping[str, Target], query: str | None
) -> dict[str, Level]:
    """Read the measurements of several counts in one pass over the files."""
    noisy, exact = parts(folders, DPQUERY), parts(folders, CONSTRAINT)
    seen = _seen(product, noisy, DPQUERY)
    rules = _seen(product, exact, CONSTRAINT)
    codes = _codes([part for rows in (seen, rules) for each in rows.values() for part, _ in each])
    stated = [q for q in rules if q.sign == "=" and query is None]
    masks = next(iter(targets.values())).masks
    every = {q: part for q in [*seen, *stated] if (part := sums(product, q.specs, masks)) is not None}
    if query is not None:
        names = {q: product.name(q.specs) for q, part in every.items() if part.knows[-1].sum() == 1}
        every = {q: every[q] for q, name in names.items() if name == query}
        if seen and not every:
            there = ", ".join(sorted(names.values())) or "none"
            level = next((part for part in reversed(folders[0].parts) if part.endswith(".parquet")), folders[0].name)
            raise ValueError(
                f"query must measure the requested cell at level {level.removesuffix('.parquet')}, got {query}. The "
                f"queries that measure this cell are {there}"
            )
    queries = list(every)
    known = np.full((len(codes), len(queries)), np.inf)
    for j, q in enumerate(queries):
        for part, variances in (seen | rules)[q]:
            known[_places(codes, part), j] = variances
        _once(q.name, codes, [part for part, _ in (seen | rules)[q]], np.isfinite(known[:, j]).sum())
    strange = [q.name for q in seen if not product.knows(q.specs)]
    del seen
    plans = {name: _Plan(product, target, queries, known) for name, target in targets.items()}
    wanted = {q for plan in plans.values() for q in plan.wanted}
    for paths, kind in ((noisy, DPQUERY), (exact, CONSTRAINT)):
        for batch in batches(product, paths, kind, values=True, wanted=wanted) if wanted else ():
            for plan in plans.values():
                plan.add(codes, batch)
    limits = _bounds(product, exact, rules, codes, targets)
    return {name: plan.level(codes, limits[name], strange) for name, plan in plans.items()}


class _Plan:
    """Combination of queries from which one count is estimated, with the sums of the values that have been read."""

    def __init__(self, product: Product, target: Target, queries: list[Query], known: Array) -> None:
        self.product, self.target, self.queries = product, target, queries
        self.found = [part for q in queries if (part := sums(product, q.specs, target.masks)) is not None]
        parts = self.found
        if target.given_total:
            parts = [*parts, _total(2 ** len(restricted(target.masks)))]
            known = np.column_stack([known, np.zeros(len(known))])
        self.which, self.combined = _combined(parts, known, target)
        self.wanted = {q.name for plan in self.combined for q, w in zip(queries, plan.weights, strict=False) if w.any()}
        self.released = np.zeros(len(known))

    def add(self, codes: Texts, batch: Batch) -> None:
        """Add the weighted measurements of a query to the combined estimates of the nodes."""
        if batch.query in self.queries and batch.query.name in self.wanted:
            _add(self.released, batch, codes, self.which, self.combined, self.found, self.queries.index(batch.query))

    def level(self, codes: Texts, limits: tuple[Array, Array, list[str]], strange: list[str]) -> Level:
        """Return the estimates at all nodes of a level, given the bounds on the counts and the names of the redundant
        constraints.
        """
        variance, slope = self._each("variance"), np.zeros(len(codes))
        self.released[~np.isfinite(variance)] = np.nan
        if self.target.given_total and self.combined:
            slope = np.array([float(plan.weights[-1][0]) for plan in self.combined])[self.which]
        lower, upper, unused = limits
        return Level(
            codes=codes,
            released=self.released,
            variance=variance,
            alone=self._each("alone"),
            error=self._each("error"),
            lower=lower,
            upper=upper,
            used=sorted({self.product.name(q.specs) for q in self.queries if q.name in self.wanted}),
            unused=sorted({*unused, *strange}),
            slope=slope,
        )

    def _each(self, name: str) -> Any:
        return np.array([getattr(plan, name) for plan in self.combined])[self.which]


def _seen(product: Product, paths: Sequence[Path], kind: str) -> Rows:
    """Return a mapping from each query to the geocodes and variances in all rows of this query."""
    by_query: Rows = {}
    for batch in batches(product, paths, kind, values=False):
        by_query.setdefault(batch.query, []).append((batch.codes, batch.variances))
    return dict(sorted(by_query.items()))


def _codes(found: Sequence[pa.Array]) -> Texts:
    """Return all distinct geocodes in increasing order."""
    if not found:
        return np.zeros(0, dtype="<U1")
    texts = pc.unique(pa.chunked_array(found))
    if texts.null_count:
        empty = sum(part.null_count for part in found)
        raise ValueError(f"the column geocode must not contain empty cells, got {empty} rows without a geocode")
    return np.sort(texts.to_numpy(zero_copy_only=False).astype(str))


def _places(codes: Texts, own: pa.Array) -> Whole:
    """Return the position of each geocode in the sorted list of all geocodes."""
    return np.asarray(np.searchsorted(codes, own.to_numpy(zero_copy_only=False).astype(codes.dtype)))


def _once(name: str, codes: Texts, parts: Sequence[pa.Array], different: int) -> None:
    """Raise ValueError if a node occurs in more than one row of the measurements of a query, in one file or in several
    files. Otherwise, the two values would be summed by mistake.
    """
    if different < sum(map(len, parts)):
        times = np.bincount(np.concatenate([_places(codes, part) for part in parts]))
        twice = codes[int(times.argmax())]
        raise ValueError(
            f"{name}: the geocode {twice} occurs in more than one row: remove the duplicates from the files"
        )


def _combined(found: Sequence[Sums], known: Array, target: Target) -> tuple[Whole, list[Combination]]:
    """Return, for each node, the index of its combination of queries, and the list of the distinct combinations. Nodes
    whose measurements have the same variances share a combination.
    """
    kinds, which = np.unique(known, axis=0, return_inverse=True)
    plans = []
    for variances in kinds:
        kept = worth_reading(found, variances.tolist(), target)
        limited = np.where(np.isin(np.arange(len(found)), kept), variances, np.inf)
        plans.append(combine(found, limited.tolist(), target))
    return np.asarray(which).ravel(), plans


def _add(
    released: Array,
    batch: Batch,
    codes: Texts,
    which: Whole,
    combined: Sequence[Combination],
    found: Sequence[Sums],
    j: int,
) -> None:
    """Add the weighted measurements of a query to the combined estimates of the nodes."""
    assert batch.values is not None
    places = _places(codes, batch.codes)
    weights = np.array([plan.weights[j] for plan in combined])
    released[places] += (found[j].added(batch.values) * weights[which[places]]).sum(axis=1)


def _bounds(
    product: Product, paths: Sequence[Path], rules: Rows, codes: Texts, targets: Mapping[str, Target]
) -> dict[str, tuple[Array, Array, list[str]]]:
    """Return the lower and upper bounds of every count at every node. Also return, for every count, the names of the
    constraints that imply no bound.
    """
    each = {
        name: {q: (bound_of_rest if t.rest else bound)(product, q.specs, q.sign, t.masks) for q in rules}
        for name, t in targets.items()
    }
    wanted = {
        name: {q.name for q, one in bounds_by_rule.items() if one.lower is not None or one.upper is not None}
        for name, bounds_by_rule in each.items()
    }
    limits = {name: (np.zeros(len(codes)), np.full(len(codes), np.inf)) for name in targets}
    wanted_names = set().union(*wanted.values())
    for batch in batches(product, paths, CONSTRAINT, values=True, wanted=wanted_names) if wanted_names else ():
        places = _places(codes, batch.codes)
        assert batch.values is not None
        for name, (lower, upper) in limits.items():
            one = each[name][batch.query]
            if one.lower is not None:
                np.maximum.at(lower, places, batch.values @ one.lower)
            if one.upper is not None:
                np.minimum.at(upper, places, batch.values @ one.upper)
    return {name: (*limits[name], [q.name for q in rules if q.name not in wanted[name]]) for name in targets}
