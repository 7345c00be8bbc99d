"""Posterior distributions of the counts in a hierarchy of geographic units (a geography). The geography is a tree, and
any node of the tree may be measured with noise.

The module also computes posterior distributions of histograms in the nodes of a geography, given noisy sums over cells
of the histograms.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._accuracy import Accuracy
from .._mechanisms.coarsened import Coarsened
from .._mechanisms.law_settings import law_of
from .._mechanisms.noise_law import LawByRow, NoiseLaw
from .._posteriors.trees import conflict, crossed_cells, crossed_chain, tree_posterior
from .._posteriors.trees.crossed_chain import Crossed
from .._posteriors.trees.least_squares import LeastSquares
from .._posteriors.trees.measurements import Measurements
from .._posteriors.trees.tree import Leaves, Splits, Tree
from .._posteriors.trees.tree_posterior import infer
from .._results.distributions import Discrete
from .._results.posterior import Posterior
from .._results.quantities import Quantities
from ._joint_posteriors import of_draws
from .release import Release


def posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """Compute the posterior distribution of all counts of a tree, given a `Release` that states the parent of every
    node.

    Parameters
    ----------
    release : noisy counts, NaN if a node was not measured (or, under a distribution with a threshold, withheld).
    prior : None: flat for the count of the root, and Dirichlet-multinomial splits with one concentration per level,
        fitted by maximum evidence. Or a concentration, one per level below the root, or a mapping from levels to
        concentrations. Or independent priors of the leaves: ``"flat"``, ``"1/(1+n)"``, ``"fitted"``, or a mapping with
        ``law``.
    method : ``"exact"`` or ``"auto"``, which are the same.
    rng : not used.

    Returns
    -------
    Posterior
        Counts of all nodes. ``facts`` contains the evidence, its error bound, the conflict by level, and least-squares
        estimates by node.

    Raises
    ------
    ValueError, TypeError
        If the prior does not match the tree, or counts are inconsistent.
    """
    _checks.one_of("method", method, ("auto", "exact"))
    if isinstance(release.total, Mapping):
        raise ValueError(
            f"total must be omitted for a tree, got {dict(release.total)}: the total is the count of the root, so "
            "give a noisy total as a measurement of the root"
        )
    measurements = _measurements(release)
    tree_law = infer(measurements, prior=prior_of(prior, release, measurements.tree))
    result = tree_law.posterior()
    checked = {"conflict": conflict.facts(tree_law), "least_squares": least_squares_by_name(tree_law.least_squares)}
    result.facts.update(checked | release.facts)
    return result


def _measurements(release: Release) -> Measurements:
    """Return the measurements of the nodes of a tree, or raise an error if a value is impossible under its noise."""
    tree = _tree(release)
    laws = laws_by_row(release.mechanism, len(release))
    values = release.values.ravel()
    known = np.flatnonzero(~np.isnan(values) | withholding(laws, len(values)))
    nodes = np.array([tree.position(release.names[i]) for i in known], dtype=np.int64)
    seen = np.flatnonzero(~np.isnan(values))
    wrong = seen[~laws.take(seen).possible(values[seen])]
    if len(wrong):
        raise ValueError(
            f"{release.names[wrong[0]]}: the released value {values[wrong[0]]:.15g} cannot be used, because this value "
            "is impossible under the noise distribution"
        )
    return Measurements(tree, nodes, values[known], laws.take(known))


def refuse(release: Release, prior: Any) -> None:
    """Raise an error if `posterior` would reject a release or a prior. The posterior is not computed.

    Parameters
    ----------
    release, prior : arguments of `posterior`.

    Raises
    ------
    ValueError, TypeError
        As `posterior`.
    """
    measurements = _measurements(release)
    tree = measurements.tree
    chosen = prior_of(prior, release, tree)
    measurements.weigh()
    if isinstance(chosen, Splits):
        chosen.by_level(tree)
        return
    names, groups = chosen.rows(tree)
    for i, name in enumerate(names):
        if chosen.of(name) == "fitted":
            tree_posterior.enough(int((groups == i).sum()), name)


def _tree(release: Release) -> Tree:
    given = dict(release.parents or {})
    if strangers := [name for name in release.names if name not in given]:
        raise ValueError(
            f"parents must have an entry for every count, but the entry is missing for {', '.join(strangers[:5])}"
        )
    lower, upper = release.bounds or (0, np.inf)
    least = _by_node(release, given, lower, 0.0, np.maximum)
    most = _by_node(release, given, upper, np.inf, np.minimum)
    if isinstance(release.total, int):
        root = [parent is None for parent in given.values()]
        least[root], most[root] = np.maximum(least[root], release.total), np.minimum(most[root], release.total)
    return Tree.named(given, levels=release.levels, lower=least, upper=most)


def _by_node(
    release: Release, nodes: Mapping[str, str | None], given: Any, default: float, closer: np.ufunc
) -> NDArray[np.float64]:
    """Return one bound per node of a tree: the tightest of the bounds stated for the released values of the node, or
    the default if the node has no released value.
    """
    each = np.broadcast_to(np.asarray(default if given is None else given, dtype=np.float64), (len(release),))
    places = {name: i for i, name in enumerate(nodes)}
    tightest = np.full(len(nodes), default)
    closer.at(tightest, [places[name] for name in release.names], each)
    return tightest


def laws_by_row(mechanism: Any, size: int) -> NoiseLaw:
    """Return the noise distributions of the released values, one distribution per value.

    Parameters
    ----------
    mechanism : a distribution, its description as a mapping, or a sequence of either, one per value.
    size : number of values.

    Returns
    -------
    NoiseLaw with `size` rows

    Raises
    ------
    ValueError, TypeError
        If `mechanism` is not a noise distribution for counts, or there is not one distribution per value.
    """
    if isinstance(mechanism, Mapping):
        mechanism = law_of(mechanism)
    if isinstance(mechanism, list | tuple):
        mechanism = LawByRow.of([law_of(law) if isinstance(law, Mapping) else law for law in mechanism])
    if not hasattr(mechanism, "log_likelihood"):
        raise TypeError(f"mechanism must be a noise distribution for counts if parents are given, got {mechanism!r}")
    if mechanism.row_count is None:
        return LawByRow([mechanism], np.zeros(size, dtype=np.int64))
    if mechanism.row_count != size:
        raise ValueError(
            f"mechanism must have one distribution per value ({size} values), got {mechanism.row_count} distributions"
        )
    law: NoiseLaw = mechanism
    return law


def withholding(noise: NoiseLaw, size: int) -> NDArray[np.bool_]:
    """Return a mask of the measurements for which a missing released value means that the noisy value was below a
    threshold.

    Parameters
    ----------
    noise : noise distributions of the values.
    size : number of values.

    Returns
    -------
    bool (size,)
    """
    if isinstance(noise, LawByRow):
        each = np.array([isinstance(law, Coarsened) and law.least is not None for law in noise.laws], dtype=bool)
        return np.asarray(each[noise.which])
    return np.full(size, isinstance(noise, Coarsened) and noise.least is not None)


def prior_of(prior: Any, release: Release, tree: Tree) -> Splits | Leaves:
    """Convert the argument `prior` of `posterior` into a prior of the counts of a tree.

    Parameters
    ----------
    prior : prior, see `posterior`.
    release : release, which contains the groups of the leaves.
    tree : nodes of the geography.

    Returns
    -------
    Splits or Leaves
    """
    if isinstance(prior, str) or (isinstance(prior, Mapping) and "law" in prior):
        groups = None
        if release.groups is not None:
            groups_by_name = dict(zip(release.names, map(str, release.groups), strict=True))
            groups = [groups_by_name.get(name, "") for name in tree.names]
        return Leaves(prior, groups)
    return prior if isinstance(prior, Splits | Leaves) else Splits(prior)


def least_squares_by_name(least: LeastSquares) -> dict[str, list[float | None]]:
    """Return, for each node name, the least-squares estimate of the count and the standard deviation of this estimate.
    Both are None if the measurements do not determine the estimate.

    Parameters
    ----------
    least : least-squares solution of one tree.

    Returns
    -------
    dict
        Mapping from the name of a node to [estimate, standard deviation].
    """
    pairs = zip(least.tree.names, least.estimate.tolist(), least.sd.tolist(), strict=True)
    return {name: [value, sd] if np.isfinite(sd) else [None, None] for name, value, sd in pairs}


Array = NDArray[np.float64]
METHODS = ("auto", "chain", "least squares")
LARGE = 2000  # largest total number of cells in all nodes for which "auto" is a chain
NEGLECTED = (
    "least squares in each node, then one tree per cell; the information of other cells in other nodes and the "
    "dependence between different cells and sums are neglected"
)


def crossed_posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """Compute the posterior distribution of all cells and of all sums of cells (queries), given a `Release` of crossed
    cells.

    Parameters
    ----------
    release : numbers by node and query, NaN if a query was not asked of a node (or, under a distribution with a
        threshold, withheld).
    prior : prior of the tree of every cell, with independent cells, see `trees.posterior`.
    method : ``"chain"``, Markov chains of the joint posterior; ``"least squares"``, the fast approximation; ``"auto"``:
        a chain if all nodes have at most `LARGE` cells in total.
    rng : numpy Generator, for chains.

    Returns
    -------
    Posterior
        Counts ``node/cell`` and ``node/query``, without the node if there is only one table. ``facts`` contains the
        concentrations of each cell, the least-squares estimates, and ESS and R-hat of chains.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, numbers are inconsistent, or `rng` is missing.
    """
    _checks.one_of("method", method, METHODS)
    if release.total is not None:
        raise ValueError(
            f"total must be omitted for crossed cells, got {release.total}: add a query over all cells, with the "
            "distribution 'exact' if the total is exact"
        )
    if release.groups is not None:
        raise ValueError("groups must be omitted for crossed cells, because every cell already has a separate prior")
    crossed = _crossed(release)
    chosen = "chain" if len(crossed.tree) * len(crossed.cells) <= LARGE else "least squares"
    chosen = chosen if method == "auto" else method
    if chosen == "chain" and rng is None:
        raise ValueError(
            "rng is required, because the posterior of crossed cells is sampled by a Markov chain: pass a NumPy "
            "Generator as posterior(.., rng=), or use method='least squares'"
        )
    laws = crossed_cells.laws(crossed, prior_of(prior, release, crossed.tree))
    names = _names(crossed, len(release.shape) == 1)
    single = [leaf and target in crossed.cells for leaf in crossed.tree.leaf for target in crossed.targets]
    sums = [name for name, alone in zip(names, single, strict=True) if not alone]
    facts: dict[str, object] = {
        "prior": laws[0].facts["prior"],
        "concentrations": {
            cell: law.facts.get("concentrations") for cell, law in zip(crossed.cells, laws, strict=False)
        },
        "least_squares": _least_squares(crossed, laws, names),
    }
    if chosen == "least squares":
        return _apart(laws, names, facts | release.facts, sums)
    cells = laws[: len(crossed.cells)]
    chains = crossed_chain.sample(crossed, priors=[law.prior for law in cells], near=cells, rng=_checks.generator(rng))
    draws = chains.draws.reshape(*chains.draws.shape[:2], -1).astype(np.float64)
    facts |= chains.facts | release.facts
    return of_draws(
        {"counts": draws},
        {"counts": names},
        method="chain of trees",
        facts=facts,
        accuracy=chains.accuracy,
        source=chains,
        sums=sums,
    )


def _crossed(release: Release) -> Crossed:
    rows, columns = release.labels or ([], [])
    if len(release.shape) == 1:
        rows, columns = ["all"], list(release.names)
    given = dict(release.queries or {})
    queries = {name: given.get(name, [name]) for name in columns} | given
    tree, places = _crossed_tree(release, rows)
    grid_index = np.ix_(places, range(len(columns)))
    table = release.values.reshape(len(rows), len(columns))
    noise = _noise(release, columns)

    def spread(numbers: Any, elsewhere: float) -> NDArray[Any]:
        """Expand the given numbers to an array with one row per node of the tree and one column per query. Entries
        without a released number have the default `elsewhere`.
        """
        extended = np.full((len(tree), len(queries)), elsewhere)
        given = np.asarray(elsewhere if numbers is None else numbers, dtype=np.float64)
        extended[grid_index] = (
            given.reshape(table.shape) if given.size == table.size else np.broadcast_to(given, table.shape)
        )
        return extended

    withheld = spread(withholding(noise, table.size) & np.isnan(table).ravel(), 0.0) > 0
    law = LawByRow(noise.laws, spread(noise.which, 0.0).astype(np.int64).ravel())
    low, high = release.bounds or (None, None)
    bounds = {"lower": spread(low, 0.0), "upper": spread(high, np.inf)}
    return Crossed(tree, queries, spread(table, np.nan), law, withheld=withheld, **bounds)


def _crossed_tree(release: Release, rows: list[str]) -> tuple[Tree, list[int]]:
    """Return the tree of a release of crossed cells, and the positions of the nodes that have a row in the release."""
    parents = release.parents
    if parents is None:
        if len(rows) != 1:
            raise ValueError(f"parents must contain the parent of each of the {len(rows)} nodes, got None")
        parents = {rows[0]: None}
    if strangers := [name for name in rows if name not in parents]:
        raise ValueError(
            f"parents must have an entry for every node, but the entry is missing for {', '.join(strangers[:5])}"
        )
    tree = Tree.named(parents, levels=release.levels)
    return tree, [tree.position(name) for name in rows]


def _noise(release: Release, columns: list[str]) -> LawByRow:
    """Return the noise distributions of all released numbers, one distribution per number. A mapping from queries to
    distributions assigns one distribution per column.
    """
    kind: Any = release.mechanism
    if isinstance(kind, Mapping) and "law" not in kind:
        if missing := [name for name in columns if name not in kind]:
            raise ValueError(
                f"mechanism must have an entry for every query, but the entry is missing for {', '.join(missing[:5])}"
            )
        each = [law_of(kind[name]) if isinstance(kind[name], Mapping) else kind[name] for name in columns]
        return LawByRow.of(each * (len(release) // len(columns)))
    laws = laws_by_row(kind, len(release))
    if not isinstance(laws, LawByRow):
        raise TypeError(
            "mechanism must be a single distribution, one distribution per query, or one distribution per value, got "
            f"{kind!r}"
        )
    return laws


def _names(crossed: Crossed, alone: bool) -> list[str]:
    if alone:
        return list(crossed.targets)
    return [f"{node}/{target}" for node in crossed.tree.names for target in crossed.targets]


def _least_squares(crossed: Crossed, laws: crossed_cells.Laws, names: list[str]) -> dict[str, list[float | None]]:
    """Return the least-squares estimates of all cells and sums in all nodes of the tree, indexed by name. Every cell
    and every sum has a separate tree, so the estimate of a cell ignores the other cells.
    """
    each = [list(least_squares_by_name(law.least_squares).values()) for law in laws]
    pairs = [each[t][v] for v in range(len(crossed.tree)) for t in range(len(laws))]
    return dict(zip(names, pairs, strict=True))


def _apart(laws: crossed_cells.Laws, names: list[str], facts: dict[str, object], sums: list[str]) -> Posterior:
    """Build a `Posterior` from the separate trees of all cells and sums. The posterior does not describe the dependence
    between different cells and sums.
    """
    state = Accuracy("approximate", float("nan"), NEGLECTED)

    def one(i: int) -> Discrete:
        node, target = divmod(i, len(laws))
        law = laws[target].law(node)
        return Discrete(law.values, law.probabilities, name=names[i], type="count", accuracy=state)

    def joint(size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.stack([law.sample(size, rng=rng) for law in laws], axis=2).reshape(size, -1)

    return Posterior(
        {"counts": Quantities(tuple(names), one, joint=joint, sums=sums)},
        joint=lambda size, rng: {"counts": joint(size, rng)},
        method="least squares, then one tree per cell",
        facts=facts,
        source=laws,
    )
