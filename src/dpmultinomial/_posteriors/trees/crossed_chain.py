"""The joint posterior of crossed cells, by Markov chains whose moves are trees drawn exactly."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _checks
from ..._honesty import LARGEST_RHAT, Honesty, of_chains
from .. import convergence
from . import _crossed_starts
from ._crossed_directions import directions
from ._crossed_moves import Moves, starts
from ._tree_law import TreeLaw
from .crossed import Crossed
from .priors import Leaves, Splits

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
CHAINS = 4
WARM = 100  # sweeps that are not kept
FIRST = 250  # sweeps of a chain before it is first judged; then twice as many, and so on
MOST = 8000  # sweeps of a chain
PAIRS = 2  # moves in pairs and fours of a sweep, for every cell


@dataclass(frozen=True)
class Chains:
    """Draws of all targets in all nodes.

    Parameters
    ----------
    draws : int64 (chains, draws, nodes, targets).
    honesty : ``converged`` or ``not converged``.
    facts : numbers of sweeps, ESS and R-hat, JSON-able.
    """

    draws: Whole
    honesty: Honesty
    facts: dict[str, object]


def sample(
    crossed: Crossed,
    *,
    priors: list[Splits | Leaves],
    near: list[TreeLaw],
    rng: np.random.Generator,
    most: int = MOST,
) -> Chains:
    """Chains from different starts, made longer until they agree.

    Parameters
    ----------
    crossed : the measured numbers.
    priors : one a cell, independent of each other, everything in them fitted.
    near : laws of single cells (`crossed_cells.laws`), from which starts are drawn.
    rng : numpy Generator.
    most : sweeps of a chain at most, after `WARM` more.

    Returns
    -------
    Chains

    Raises
    ------
    ValueError
        If exact sums and bounds contradict each other, leave no moves, or counts are too large for this.

    Notes
    -----
    A sweep moves along every single cell and `PAIRS` other directions a cell, chosen and ordered at random, so that
    it is reversible. Judged are all counts of cells and of the queries in all nodes but those that never change.
    """
    _checks.whole("most", most, least=convergence.LEAST_DRAWS)
    moves = Moves(crossed, priors, directions(len(crossed.cells), crossed.exact))
    each = rng.spawn(CHAINS)
    states = [_start(crossed, near, own) for own in each]
    for state, own in zip(states, each, strict=True):
        for _ in range(WARM):
            sweep(moves, state, own)
    kept: list[list[Whole]] = [[] for _ in states]
    goal = min(FIRST, most)
    while True:
        for state, own, rows in zip(states, each, kept, strict=True):
            while len(rows) < goal:
                sweep(moves, state, own)
                rows.append(state[crossed.tree.place] @ crossed.cover.T.astype(np.int64))
        draws = np.array(kept)
        honesty, facts = _judged(draws)
        if honesty.word == "converged" or goal == most:
            facts |= {"warm": WARM, "bound": moves.bound}
            return Chains(draws, honesty, facts)
        goal = min(2 * goal, most)


def sweep(moves: Moves, state: Whole, rng: np.random.Generator) -> None:
    """One sweep of moves, in place.

    Parameters
    ----------
    moves : of the posterior.
    state : int64 (m, cells), counts in the kernels' order.
    rng : numpy Generator.
    """
    cells, size = state.shape[1], len(moves.directions)
    others = cells + rng.permutation(size - cells)[: PAIRS * cells]
    for which in rng.permutation(np.concatenate([np.arange(cells), others])).tolist():
        moves.move(state, which, rng)


def _start(crossed: Crossed, near: list[TreeLaw], rng: np.random.Generator) -> Whole:
    """Independent draws of single cells, moved to where all exact sums hold."""
    found = np.stack([law.sample(1, rng=rng)[0] for law in near], axis=1)
    return starts(crossed, _crossed_starts.possible(crossed, found))


def _judged(draws: Whole) -> tuple[Honesty, dict[str, object]]:
    chains, size = draws.shape[:2]
    columns = draws.reshape(chains, size, -1)
    moving = np.flatnonzero((columns != columns[:1, :1]).any(axis=(0, 1)))
    facts: dict[str, object] = {
        "chains": chains,
        "sweeps": size,
        "judged": len(moving),
        "constant": columns.shape[2] - len(moving),
    }
    if not len(moving):
        return of_chains([np.inf], [1.0]), facts
    own = [columns[:, :, i].astype(np.float64) for i in moving]
    rhat = [convergence.rhat(x) for x in own]
    if np.nanmax(rhat) > 2 * LARGEST_RHAT - 1:
        ess = [np.nan]  # far from it: no need to work it out
        facts |= {"rhat": float(np.nanmax(rhat))}
        return of_chains(ess, rhat), facts
    ess = [min(convergence.bulk_ess(x), convergence.mean_ess(x)) for x in own]
    facts |= {"rhat": float(np.max(rhat)), "ess": float(np.min(ess))}
    return of_chains(ess, rhat), facts
