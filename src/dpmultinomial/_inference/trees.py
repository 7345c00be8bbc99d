"""Counts of a geography: nodes with parents, measured with noise anywhere."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._mechanisms.coarsened import Coarsened
from .._mechanisms.law_words import law_of
from .._mechanisms.noise_law import NoiseLaw
from .._mechanisms.rows import LawByRow
from .._posteriors.trees.least_squares import LeastSquares
from .._posteriors.trees.measurements import Measurements
from .._posteriors.trees.priors import Leaves, Splits
from .._posteriors.trees.tree import Tree
from .._posteriors.trees.tree_posterior import infer
from .._results.posterior import Posterior
from .release import Release


def posterior(release: Release, *, prior: Any, method: str, rng: np.random.Generator | None) -> Posterior:
    """The posterior of all counts of a `Release` with parents.

    Parameters
    ----------
    release : counts with noise, NaN where a node was not measured (or, of a law with a threshold, withheld).
    prior : None: flat on the root's count, Dirichlet-multinomial splits with a concentration a level, fitted on the
        evidence; a concentration, one a level below the root, or level -> concentration; or independent priors of the
        leaves: ``"flat"``, ``"1/(1+n)"``, ``"fitted"``, a mapping with ``law``.
    method : ``"exact"``, which ``"auto"`` is.
    rng : not used.

    Returns
    -------
    Posterior
        Counts of all nodes; ``facts`` has the evidence, the bound, conflict by level, and least squares by node.

    Raises
    ------
    ValueError, TypeError
        If the prior does not fit, or counts contradict each other.
    """
    _checks.one_of("method", method, ("auto", "exact"))
    if isinstance(release.total, Mapping):
        raise ValueError("total: of a tree it is the root's count; a noisy one is a measurement of the root")
    tree = _tree(release)
    laws = laws_by_row(release.mechanism, len(release))
    values = release.values.ravel()
    known = np.flatnonzero(~np.isnan(values) | withholding(laws, len(values)))
    nodes = np.array([tree.position(release.names[i]) for i in known], dtype=np.int64)
    found = infer(Measurements(tree, nodes, values[known], laws.take(known)), prior=prior_of(prior, release, tree))
    result = found.posterior()
    conflict = found.conflict().to_dict("records")
    result.facts.update({"conflict": conflict, "least_squares": beside(found.least_squares)} | release.facts)
    return result


def _tree(release: Release) -> Tree:
    given = dict(release.parents or {})
    if strangers := [name for name in release.names if name not in given]:
        raise ValueError(f"parents must name every count, got none for {', '.join(strangers[:5])}")
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
    """A bound of every node, the closer one where it is stated twice; of nodes that are no values, the default."""
    each = np.broadcast_to(np.asarray(default if given is None else given, dtype=np.float64), (len(release),))
    places = {name: i for i, name in enumerate(nodes)}
    found = np.full(len(nodes), default)
    closer.at(found, [places[name] for name in release.names], each)
    return found


def laws_by_row(mechanism: Any, size: int) -> NoiseLaw:
    """One law a value.

    Parameters
    ----------
    mechanism : a law, its words, or a sequence of either, one a value.
    size : number of values.

    Returns
    -------
    NoiseLaw of `size` rows

    Raises
    ------
    ValueError, TypeError
        If it is no law of noise of counts, or laws are not one a value.
    """
    if isinstance(mechanism, Mapping):
        mechanism = law_of(mechanism)
    if isinstance(mechanism, list | tuple):
        mechanism = LawByRow.of([law_of(law) if isinstance(law, Mapping) else law for law in mechanism])
    if not hasattr(mechanism, "log_likelihood"):
        raise TypeError(f"mechanism must be noise of counts where there are parents, got {mechanism!r}")
    if mechanism.row_count is None:
        return LawByRow([mechanism], np.zeros(size, dtype=np.int64))
    if mechanism.row_count != size:
        raise ValueError(f"mechanism must be one a value, {size}, got {mechanism.row_count}")
    law: NoiseLaw = mechanism
    return law


def withholding(noise: NoiseLaw, size: int) -> NDArray[np.bool_]:
    """Where an absent value says that the noisy one was below a threshold.

    Parameters
    ----------
    noise : of the values.
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
    """The prior of a tree from what `posterior` takes.

    Parameters
    ----------
    prior : as of `posterior`.
    release : whose groups are those of the leaves.
    tree : the nodes.

    Returns
    -------
    Splits or Leaves
    """
    if isinstance(prior, str) or (isinstance(prior, Mapping) and "law" in prior):
        groups = None
        if release.groups is not None:
            own = dict(zip(release.names, map(str, release.groups), strict=True))
            groups = [own.get(name, "") for name in tree.names]
        return Leaves(prior, groups)
    return prior if isinstance(prior, Splits | Leaves) else Splits(prior)


def beside(least: LeastSquares) -> dict[str, list[float | None]]:
    """Estimate and standard deviation by node; None where measurements do not determine them.

    Parameters
    ----------
    least : of one tree.

    Returns
    -------
    dict
        Name of a node -> [estimate, standard deviation].
    """
    pairs = zip(least.tree.names, least.estimate.tolist(), least.sd.tolist(), strict=True)
    return {name: [value, sd] if np.isfinite(sd) else [None, None] for name, value, sd in pairs}
