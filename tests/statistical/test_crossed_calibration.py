"""Calibration test of crossed cells: drawn from the prior, measured, and moved by the chain in both directions.

The truth is a draw from the posterior. If a reversible chain is run from it in both directions, and the truth is at a
random position of this run, its rank among the states of the run is uniform, however slowly the chain mixes, if and
only if the moves leave the posterior invariant (Besag and Clifford 1989).
"""

import numpy as np
import pytest
from scipy import stats

from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.noise_law import LawByRow
from dpmultinomial._posteriors.trees import crossed_chain
from dpmultinomial._posteriors.trees.crossed_chain import Crossed, Moves, directions, starts
from dpmultinomial._posteriors.trees.priors import Splits
from dpmultinomial._posteriors.trees.tree import Tree
from dpmultinomial._seeding import stream

CELLS = {"a": ["a"], "b": ["b"], "c": ["c"], "d": ["d"]}
QUERIES = CELLS | {"ab": ["a", "b"], "ac": ["a", "c"], "bd": ["b", "d"], "all": list("abcd")}
SETS, STRETCH, MOST = 200, 19, 40
LAWS = {
    "discrete gaussian": {"law": "discrete_gaussian", "sigma": 2.0},
    "discrete laplace": {"law": "discrete_laplace", "scale": 1.5},
    "clipped": {"law": "discrete_gaussian", "sigma": 2.0, "clipped": {"at": 0}},
}


def truth_of(tree, values, rng):
    """Draw the root's cells uniformly up to `MOST`, and split them by Dirichlet shares, independently for each cell."""
    found = np.zeros((len(tree), 4), dtype=np.int64)
    for cell in range(4):
        found[0, cell] = rng.integers(0, MOST + 1)
        for v in range(len(tree)):
            children = np.flatnonzero(tree.parent == v)
            if len(children):
                shares = rng.dirichlet(np.full(len(children), values[tree.depth[v]]))
                found[children, cell] = rng.multinomial(found[v, cell], shares)
    return found


def rank(name, exact, number):
    rng = stream(number, "calibration of crossed cells", name, str(exact))
    tree = Tree([-1, 0, 0, *[1] * int(rng.integers(1, 3)), *[2] * int(rng.integers(1, 4))])
    values = rng.uniform(0.4, 2.0, 2).tolist()
    truth = truth_of(tree, values, rng)
    sums = np.array([[cell in cells for cell in "abcd"] for cells in QUERIES.values()]).astype(int)
    noise, known = law_of(LAWS[name]), law_of({"law": "exact"})
    each = [[known if exact and v == 0 and q >= 6 else noise for q in range(len(sums))] for v in range(len(tree))]
    law = LawByRow.of([one for row in each for one in row])
    y = law.sample((truth @ sums.T).ravel().astype(float), rng=rng).reshape(len(tree), -1)
    y = np.where((rng.random(y.shape) < 0.7) | (np.array(each) == known), y, np.nan)
    upper = np.full(y.shape, np.inf)
    upper[0, :4] = MOST
    crossed = Crossed(tree, QUERIES, y, law, upper=upper)
    moves = Moves(crossed, [Splits(values)] * 4, directions(4, crossed.exact))
    node, target, place = (int(rng.integers(n)) for n in (len(tree), len(crossed.cover), STRETCH + 1))
    seen = []
    for length in (place, STRETCH - place):
        state = starts(crossed, truth)
        for _ in range(length):
            crossed_chain.sweep(moves, state, rng)
            seen.append(int(state[tree.place[node]] @ crossed.cover[target]))
    own = int(truth[node] @ crossed.cover[target])
    below, ties = sum(x < own for x in seen), sum(x == own for x in seen)
    return below + int(rng.integers(ties + 1))


@pytest.mark.slow
@pytest.mark.parametrize("exact", [False, True], ids=["noisy", "exact sums at the root"])
@pytest.mark.parametrize("name", LAWS)
def test_ranks_are_uniform(name, exact):
    """Check one count in each of 200 data sets; a chi-squared test of the 20 ranks at 1e-6, 6e-6 for all."""
    ranks = [rank(name, exact, number) for number in range(SETS)]
    counts = np.bincount(ranks, minlength=STRETCH + 1)
    assert stats.chisquare(counts).pvalue > 1e-6
