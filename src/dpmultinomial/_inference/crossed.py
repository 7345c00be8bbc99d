"""Histograms in the nodes of a geography, with noisy sums over some of their cells."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._honesty import Honesty
from .._mechanisms.law_words import law_of
from .._mechanisms.rows import LawByRow
from .._posteriors.trees import crossed_cells, crossed_chain
from .._posteriors.trees.crossed import Crossed
from .._posteriors.trees.tree import Tree
from .._results.laws import Discrete
from .._results.posterior import Posterior
from .._results.quantities import Quantities
from ._chains import of_draws
from .release import Release
from .trees import beside, laws_by_row, prior_of, withholding

Array = NDArray[np.float64]
METHODS = ("auto", "chain", "least squares")
LARGE = 2000  # cells in all nodes together, up to which "auto" is a chain
NEGLECTED = (
    "least squares in each node, then one tree a cell: what cells say of each other beyond their node is neglected"
)


def posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """The posterior of all cells, and of the queries, of a `Release` with queries.

    Parameters
    ----------
    release : numbers by node and query, NaN where a query was not asked of a node (or, of a law with a threshold,
        withheld).
    prior : of every cell's tree, cells independent of each other: as of `trees.posterior`.
    method : ``"chain"``, Markov chains of the joint posterior; ``"least squares"``, the fast approximate way;
        ``"auto"``: a chain up to `LARGE` cells in all nodes together.
    rng : numpy Generator, for chains.

    Returns
    -------
    Posterior
        Counts ``node/cell`` and ``node/query``, without the node where there is only one table. ``facts`` has the
        concentrations of each cell, least squares beside, and of chains ESS and R-hat.

    Raises
    ------
    ValueError, TypeError
        If an argument does not fit, numbers contradict each other, or `rng` is missing.
    """
    _checks.one_of("method", method, METHODS)
    if release.total is not None:
        raise ValueError("total: of cells it is a query; add one of all cells, with the law exact")
    if release.groups is not None:
        raise ValueError("groups are not for crossed cells: every cell has a prior of its own")
    crossed = _crossed(release)
    chosen = "chain" if len(crossed.tree) * len(crossed.cells) <= LARGE else "least squares"
    chosen = chosen if method == "auto" else method
    if chosen == "chain" and rng is None:
        raise ValueError("rng: a chain draws; give a Generator, posterior(.., rng=), or method='least squares'")
    laws = crossed_cells.laws(crossed, prior_of(prior, release, crossed.tree))
    names = _names(crossed, len(release.shape) == 1)
    facts: dict[str, object] = {
        "prior": laws[0].facts["prior"],
        "concentrations": {
            cell: law.facts.get("concentrations") for cell, law in zip(crossed.cells, laws, strict=False)
        },
        "least_squares": _least_squares(crossed, laws, names),
    }
    if chosen == "least squares":
        return _apart(laws, names, facts | release.facts)
    cells = laws[: len(crossed.cells)]
    found = crossed_chain.sample(crossed, priors=[law.prior for law in cells], near=cells, rng=_checks.generator(rng))
    draws = found.draws.reshape(*found.draws.shape[:2], -1).astype(np.float64)
    facts |= found.facts | release.facts
    return of_draws(
        {"counts": draws}, {"counts": names}, method="chain of trees", facts=facts, honesty=found.honesty, source=found
    )


def _crossed(release: Release) -> Crossed:
    rows, columns = release.labels or ([], [])
    if len(release.shape) == 1:
        rows, columns = ["all"], list(release.names)
    given = dict(release.queries or {})
    queries = {name: given.get(name, [name]) for name in columns} | given
    tree, places = _tree(release, rows)
    at = np.ix_(places, range(len(columns)))
    own = release.values.reshape(len(rows), len(columns))
    noise = _noise(release, columns)

    def spread(numbers: Any, elsewhere: float) -> NDArray[Any]:
        """To all nodes and queries."""
        found = np.full((len(tree), len(queries)), elsewhere)
        given = np.asarray(elsewhere if numbers is None else numbers, dtype=np.float64)
        found[at] = given.reshape(own.shape) if given.size == own.size else np.broadcast_to(given, own.shape)
        return found

    withheld = spread(withholding(noise, own.size) & np.isnan(own).ravel(), 0.0) > 0
    law = LawByRow(noise.laws, spread(noise.which, 0.0).astype(np.int64).ravel())
    low, high = release.bounds or (None, None)
    bounds = {"lower": spread(low, 0.0), "upper": spread(high, np.inf)}
    return Crossed(tree, queries, spread(own, np.nan), law, withheld=withheld, **bounds)


def _tree(release: Release, rows: list[str]) -> tuple[Tree, list[int]]:
    """The nodes, and where those are that have a row."""
    parents = release.parents
    if parents is None:
        if len(rows) != 1:
            raise ValueError(f"parents must say which of the {len(rows)} nodes is part of which")
        parents = {rows[0]: None}
    if strangers := [name for name in rows if name not in parents]:
        raise ValueError(f"parents must name every node, got none for {', '.join(strangers[:5])}")
    tree = Tree.named(parents, levels=release.levels)
    return tree, [tree.position(name) for name in rows]


def _noise(release: Release, columns: list[str]) -> LawByRow:
    """One law a number; of a mapping from queries to laws, one a column."""
    kind: Any = release.mechanism
    if isinstance(kind, Mapping) and "law" not in kind:
        if missing := [name for name in columns if name not in kind]:
            raise ValueError(f"mechanism must name every query, got none for {', '.join(missing[:5])}")
        each = [law_of(kind[name]) if isinstance(kind[name], Mapping) else kind[name] for name in columns]
        return LawByRow.of(each * (len(release) // len(columns)))
    found = laws_by_row(kind, len(release))
    if not isinstance(found, LawByRow):
        raise TypeError(f"mechanism must be one law, one a query, or a sequence of one a number, got {kind!r}")
    return found


def _names(crossed: Crossed, alone: bool) -> list[str]:
    if alone:
        return list(crossed.targets)
    return [f"{node}/{target}" for node in crossed.tree.names for target in crossed.targets]


def _least_squares(crossed: Crossed, laws: crossed_cells.Laws, names: list[str]) -> dict[str, list[float | None]]:
    """By node and target; of one tree a target, cells apart."""
    each = [list(beside(law.least_squares).values()) for law in laws]
    pairs = [each[t][v] for v in range(len(crossed.tree)) for t in range(len(laws))]
    return dict(zip(names, pairs, strict=True))


def _apart(laws: crossed_cells.Laws, names: list[str], facts: dict[str, object]) -> Posterior:
    """Cells and sums one by one."""
    state = Honesty("approximate", float("nan"), NEGLECTED)

    def one(i: int) -> Discrete:
        node, target = divmod(i, len(laws))
        law = laws[target].law(node)
        return Discrete(law.values, law.probabilities, name=names[i], type="count", honesty=state)

    def joint(size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.stack([law.sample(size, rng=rng) for law in laws], axis=2).reshape(size, -1)

    return Posterior(
        {"counts": Quantities(tuple(names), one, joint=joint)},
        joint=lambda size, rng: {"counts": joint(size, rng)},
        method="least squares, then a tree a cell",
        facts=facts,
        source=laws,
    )
