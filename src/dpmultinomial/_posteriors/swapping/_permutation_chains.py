"""Chains over the permutation that made a swapped table, run until they agree or a limit of work is reached."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..._honesty import EXACT, LARGEST_RHAT, LEAST_ESS, Honesty, of_chains
from ..._mechanisms.swapping import permutation_weights, swap_draws
from .. import convergence
from . import _permutation_moves

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
CHAINS = 4
DRAWS = 500  # kept a chain
MOST_MOVES = 60_000_000  # of all chains together: a few seconds
_FIRST_MOVES = 5_000  # a chain


@dataclass(frozen=True)
class Chains:
    """What the chains of one stratum found.

    Parameters
    ----------
    originals : int64 (chains, draws, cells)
    moved : int64 (chains, draws)
        Records that the swap moved.
    ess, rhat : float64 (quantities,)
        Of every cell that varies, `moved`, the log prior of the original and, in 2 x 2 tables, nothing else.
    moves : int
        Proposals of all chains, warm-up included.
    honesty : Honesty
    """

    originals: Counts
    moved: Counts
    ess: Array
    rhat: Array
    moves: int
    honesty: Honesty


def sample(
    table: Counts, alpha: Array, *, rate: float, rng: np.random.Generator, most_moves: int = MOST_MOVES
) -> Chains:
    """Four chains from different starts, run anew with twice the moves until they pass.

    Parameters
    ----------
    table : int64 (rows, columns)
        The swapped table of one stratum, checked.
    alpha : float64 (cells,)
        Dirichlet prior of its cells.
    rate : float
        Swap rate, in (0, 1).
    rng : Generator
    most_moves : int
        The last run starts before this many proposals.

    Returns
    -------
    Chains
        ``converged`` if every bulk ESS is at least 400 and every R-hat at most 1.01, otherwise ``not converged``.

    Notes
    -----
    The starts are the identity and swaps of the table at the rate, at two or three times it, and at 0.9. Each run goes
    on where the last one ended and forgets its draws. Relaxation takes about n times the moved records in proposals.
    """
    n = int(table.sum())
    if n < 2:
        flat = np.broadcast_to(table.ravel(), (CHAINS, DRAWS, table.size)).copy()
        return Chains(flat, np.zeros((CHAINS, DRAWS), dtype=np.int64), np.zeros(0), np.zeros(0), 0, EXACT)
    logs = permutation_weights.log_permutation_weights(n, rate=rate)
    states = [np.arange(n)]
    states += [
        swap_draws.sources(np.zeros(n, dtype=np.int64), rate=p, rng=rng) for p in (rate, min(0.9, 3 * rate), 0.9)
    ]
    thin, moves = -(-_FIRST_MOVES // DRAWS), 0
    while True:
        runs = [_permutation_moves.moved_chain(table, s, logs, alpha, draws=DRAWS, thin=thin, rng=rng) for s in states]
        moves += CHAINS * DRAWS * thin
        originals, moved = (np.stack([run[part] for run in runs]) for part in (0, 1))
        ess, rhat = _diagnostics(originals, moved, alpha)
        passed = len(ess) == 0 or bool(np.min(ess) >= LEAST_ESS and np.max(rhat) <= LARGEST_RHAT)
        if (passed and moves > CHAINS * DRAWS * thin) or moves + 2 * CHAINS * DRAWS * thin > most_moves:
            state = of_chains(ess, rhat) if len(ess) else Honesty("not converged", float("nan"), "no quantity moved")
            return Chains(originals, moved, ess, rhat, moves, state)
        thin *= 2


def _diagnostics(originals: Counts, moved: Counts, alpha: Array) -> tuple[Array, Array]:
    """Bulk ESS and R-hat of everything that varies."""
    log_prior = np.round((gammaln(originals + alpha) - gammaln(originals + 1.0)).sum(axis=2), 9)
    quantities = [*np.moveaxis(originals, 2, 0).astype(float), moved.astype(float), log_prior]
    varying = [q for q in quantities if np.ptp(q) > 0]
    ess = np.array([convergence.bulk_ess(q) for q in varying])
    rhat = np.array([convergence.rhat(q) for q in varying])
    return np.nan_to_num(ess, nan=0.0), np.nan_to_num(rhat, nan=np.inf)
