"""One level of the spine: what its files say of one cell in each node."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from . import cells
from .axes import Mask
from .cells import Combination, Sums
from .files import Batch, Query, batches
from .products import CONSTRAINT, DPQUERY, Product, parts
from .spine import Texts

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Rows = dict[Query, list[tuple[pa.Array, Array]]]


@dataclass(frozen=True, kw_only=True)
class Level:
    """A cell in the nodes of a level.

    Parameters
    ----------
    codes : geocodes, sorted.
    released : float64 (n,), one measured number or the best combination of several; NaN where nothing was measured.
    variance : float64 (n,), of its noise (of a single discrete Gaussian number the parameter, as published); 0: exact.
    alone : bool (n,), whether it is one measured number.
    error : float64 (n,), how far its law is from the one that is taken for it (`cells.Combination`).
    lower, upper : float64 (n,), bounds that follow from constraints; infinite for none.
    used : names of the queries that were combined.
    unused : names of constraints that say nothing of the cell, and of rows with a binning that is not known.
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


def read(product: Product, folders: Sequence[Path], masks: Sequence[Mask], query: str | None = None) -> Level:
    """A cell in all nodes of a level of one state.

    Parameters
    ----------
    product : whose files they are.
    folders : of the state at this level.
    masks : the cell (`products.masks`).
    query : name of the only query that is to be used (`Product.name`); None combines all that matter.

    Returns
    -------
    Level : estimates and exact sums of the cell by geocode.

    Raises
    ------
    ValueError
        If a file breaks the layout, or the query does not measure the cell.
    """
    noisy, exact = parts(folders, DPQUERY), parts(folders, CONSTRAINT)
    seen = _seen(product, noisy, DPQUERY)
    rules = _seen(product, exact, CONSTRAINT)
    codes = _codes([part for rows in (seen, rules) for each in rows.values() for part, _ in each])
    stated = [q for q in rules if q.sign == "=" and query is None]
    every = {q: part for q in [*seen, *stated] if (part := cells.sums(product, q.specs, masks)) is not None}
    if query is not None:
        names = {q: product.name(q.specs) for q, part in every.items() if part.knows[-1].sum() == 1}
        every = {q: every[q] for q, name in names.items() if name == query}
        if seen and not every:
            there = ", ".join(sorted(names.values())) or "none"
            raise ValueError(
                f"query: {query} does not measure this cell at {folders[0].parent.parent.name}: {there} does"
            )
    queries, found = list(every), list(every.values())
    known = np.full((len(codes), len(queries)), np.inf)
    for j, q in enumerate(queries):
        for part, variances in (seen | rules)[q]:
            known[_places(codes, part), j] = variances
        _once(q.name, codes, [part for part, _ in (seen | rules)[q]], np.isfinite(known[:, j]).sum())
    strange = [q for q in seen if not product.knows(q.specs)]
    del seen
    which, combined = _combined(found, known)
    wanted = {queries[j].name for plan in combined for j, w in enumerate(plan.weights) if w.any()}
    released = np.zeros(len(codes))
    for paths, kind in ((noisy, DPQUERY), (exact, CONSTRAINT)):
        for batch in batches(product, paths, kind, values=True, wanted=wanted) if wanted else ():
            if batch.query in queries:
                _add(released, batch, codes, which, combined, found, queries.index(batch.query))
    variance = np.array([plan.variance for plan in combined])[which]
    released[~np.isfinite(variance)] = np.nan
    lower, upper, unused = _bounds(product, exact, rules, codes, masks)
    return Level(
        codes=codes,
        released=released,
        variance=variance,
        alone=np.array([plan.alone for plan in combined])[which],
        error=np.array([plan.error for plan in combined])[which],
        lower=lower,
        upper=upper,
        used=sorted({product.name(q.specs) for q in queries if q.name in wanted}),
        unused=sorted({*unused, *(q.name for q in strange)}),
    )


def _seen(product: Product, paths: Sequence[Path], kind: str) -> Rows:
    """Which rows there are: query -> geocodes and variances."""
    found: Rows = {}
    for batch in batches(product, paths, kind, values=False):
        found.setdefault(batch.query, []).append((batch.codes, batch.variances))
    return dict(sorted(found.items()))


def _codes(found: Sequence[pa.Array]) -> Texts:
    """All different geocodes, sorted."""
    if not found:
        return np.zeros(0, dtype="<U1")
    texts = pc.unique(pa.chunked_array(found))
    if texts.null_count:
        raise ValueError("column geocode: is empty in some row")
    return np.sort(texts.to_numpy(zero_copy_only=False).astype(str))


def _places(codes: Texts, own: pa.Array) -> Whole:
    """Where geocodes stand among all."""
    return np.asarray(np.searchsorted(codes, own.to_numpy(zero_copy_only=False).astype(codes.dtype)))


def _once(name: str, codes: Texts, parts: Sequence[pa.Array], different: int) -> None:
    """Refuse a query that measured a node twice, in one file or in several: its numbers would be added up."""
    if different < sum(map(len, parts)):
        times = np.bincount(np.concatenate([_places(codes, part) for part in parts]))
        twice = codes[int(times.argmax())]
        raise ValueError(f"{name}: geocode {twice} has two rows; is a part of the files there twice?")


def _combined(found: Sequence[Sums], known: Array) -> tuple[Whole, list[Combination]]:
    """How the queries of each node are combined: nodes whose measurements have the same variances are alike."""
    kinds, which = np.unique(known, axis=0, return_inverse=True)
    plans = []
    for variances in kinds:
        kept = cells.worth_reading(found, variances.tolist())
        limited = np.where(np.isin(np.arange(len(found)), kept), variances, np.inf)
        plans.append(cells.combine(found, limited.tolist()))
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
    """Add what a query's rows contribute to the nodes' combinations."""
    assert batch.values is not None
    places = _places(codes, batch.codes)
    weights = np.array([plan.weights[j] for plan in combined])
    released[places] += (found[j].added(batch.values) * weights[which[places]]).sum(axis=1)


def _bounds(
    product: Product, paths: Sequence[Path], rules: Rows, codes: Texts, masks: Sequence[Mask]
) -> tuple[Array, Array, list[str]]:
    """Lower and upper bounds of every node, and the constraints that give none."""
    lower, upper = np.zeros(len(codes)), np.full(len(codes), np.inf)
    each = {q: cells.bound(product, q.specs, q.sign, masks) for q in rules}
    wanted = {q.name for q, one in each.items() if one.lower is not None or one.upper is not None}
    for batch in batches(product, paths, CONSTRAINT, values=True, wanted=wanted) if wanted else ():
        one, places = each[batch.query], _places(codes, batch.codes)
        assert batch.values is not None
        if one.lower is not None:
            np.maximum.at(lower, places, batch.values @ one.lower)
        if one.upper is not None:
            np.minimum.at(upper, places, batch.values @ one.upper)
    return lower, upper, [q.name for q in rules if q.name not in wanted]
