"""Calibration tests of trees and of crossed cells.

Counts of a tree are drawn from the prior, measured and inferred, and their ranks are uniform. For crossed cells, the
truth is a draw from the posterior. If a reversible chain is run from it in both directions, and the truth is at a
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
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import Leaves, Splits, Tree
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._seeding import stream

TREES, MOST, MEAN = 500, 60, 4.0
ROUNDING = {
    "true": np.repeat(np.arange(MOST + 1), 2).tolist(),
    "released": np.stack([np.arange(MOST + 1) // 3 * 3, (np.arange(MOST + 1) + 2) // 3 * 3], axis=1).ravel().tolist(),
    "probability": np.stack([1 - np.arange(MOST + 1) % 3 / 3, np.arange(MOST + 1) % 3 / 3], axis=1).ravel().tolist(),
}
KEPT = np.array(ROUNDING["probability"]) > 0  # random rounding to multiples of 3, as it is published
LAWS = {
    "discrete gaussian": {"law": "discrete_gaussian", "sigma": 2.5},
    "discrete laplace": {"law": "discrete_laplace", "scale": 2.0},
    "gaussian": {"law": "gaussian", "sd": 2.5},
    "laplace": {"law": "laplace", "scale": 2.0},
    "clipped": {"law": "discrete_gaussian", "sigma": 2.5, "clipped": {"at": 0}},
    "withheld": {"law": "discrete_laplace", "scale": 2.0, "threshold": 4},
    "rounded": {"law": "discrete_gaussian", "sigma": 2.5, "rounded": 5},
    "table": {"law": "table", "table": {key: np.array(value)[KEPT].tolist() for key, value in ROUNDING.items()}},
}


def a_tree(rng):
    """Draw a tree of three levels with a uniform root count up to `MOST` and splits by Dirichlet shares."""
    width = rng.integers(1, 5, 3)
    parent = [-1, *[0] * 3, *np.repeat([1, 2, 3], width)]
    upper = np.full(len(parent), np.inf)
    upper[0] = MOST
    return Tree(parent, upper=upper)


def split(tree, by_level, rng):
    truth = np.zeros(len(tree), dtype=np.int64)
    truth[0] = rng.integers(0, MOST + 1)
    for v in range(len(tree)):
        children = np.flatnonzero(tree.parent == v)
        if len(children):
            shares = rng.dirichlet(np.full(len(children), by_level[tree.depth[v]]))
            truth[children] = rng.multinomial(truth[v], shares)
    return truth


def place(law, true, rng):
    """Return the position of a count in its distribution, with a uniform number for the count itself."""
    below = law.probabilities[law.values < true].sum()
    return below + rng.random() * law.probabilities[law.values == true].sum()


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["splits", "leaves"])
@pytest.mark.parametrize("name", LAWS)
def test_places_are_uniform(name, prior):
    """Check one node in each of 500 trees; a chi-squared test of 20 bins at 1e-6, 2e-5 for all."""
    rng, law = stream(1, "calibration of trees", name, prior), law_of(LAWS[name])
    places = []
    for _ in range(TREES):
        tree = a_tree(rng)
        if prior == "splits":
            by_level = [float(x) for x in rng.uniform(0.3, 3, 2)]
            truth, assumed = split(tree, by_level, rng), Splits(by_level)
        else:
            tree = Tree(tree.parent)
            leaf = np.where(tree.leaf, rng.geometric(1 / (1 + MEAN), len(tree)) - 1, 0)
            truth, assumed = tree.sums(leaf), Leaves({"law": "geometric", "mean": MEAN})
        # a leaf without a measurement below a withheld count may be refused as too wide: all leaves are measured there
        measured = np.flatnonzero((rng.random(len(tree)) < 0.8) | (tree.leaf & (name == "withheld")))
        if name == "table":
            measured = measured[truth[measured] <= MOST]
        y = law.sample(truth[measured], rng=rng)
        found = infer(Measurements(tree, measured, y, law), prior=assumed)
        assert found.accuracy.status == "exact"
        node = int(rng.integers(len(tree)))
        places.append(place(found.law(node), truth[node], rng))
    counts = np.histogram(places, bins=20, range=(0, 1))[0]
    assert stats.chisquare(counts).pvalue > 1e-6


GROUPS, LEAVES, LARGEST = 8, 40, 20_000
BY_LEVEL = [1.5, 0.8]


def wide_tree():
    """Build a total with 8 counts below it and 40 below each of these: 329 nodes, counts much larger than the noise."""
    parent = [-1, *[0] * GROUPS, *np.repeat(np.arange(1, GROUPS + 1), LEAVES)]
    upper = np.full(len(parent), np.inf)
    upper[0] = LARGEST
    return Tree(parent, upper=upper)


def counts_of(tree, rng):
    truth = np.zeros(len(tree), dtype=np.int64)
    truth[0] = rng.integers(0, LARGEST + 1)
    truth[1 : GROUPS + 1] = rng.multinomial(truth[0], rng.dirichlet(np.full(GROUPS, BY_LEVEL[0])))
    shares = rng.dirichlet(np.full(LEAVES, BY_LEVEL[1]), GROUPS)
    truth[GROUPS + 1 :] = np.concatenate(
        [rng.multinomial(n, p) for n, p in zip(truth[1 : GROUPS + 1], shares, strict=True)]
    )
    return truth


def squares(name, factor):
    """Return the squared noise minus its posterior mean, summed over a tree: mean of 500, in standard errors."""
    words, rng, tree = LAWS[name], stream(2, "squares of noise", name), wide_tree()
    drawn = law_of({key: value * factor if key in ("sigma", "sd", "scale") else value for key, value in words.items()})
    gaps = []
    for _ in range(TREES):
        truth = counts_of(tree, rng)
        y = drawn.sample(truth, rng=rng)
        found = infer(Measurements(tree, np.arange(len(tree)), y, law_of(words)), prior=Splits(BY_LEVEL))
        gaps.append(float(np.nansum((y - truth) ** 2 - (y - found.mean) ** 2 - found.sd**2)))  # NaN: withheld
    return float(np.mean(gaps) / (np.std(gaps, ddof=1) / np.sqrt(TREES)))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LAWS if name != "table"])
def test_noise_is_as_large_as_its_posterior_says(name):
    """Check that the squared noise has its posterior mean, so that the differences have mean 0: 4.5 standard errors,
    5e-5 for all distributions. With the same draws, a noise scale that is 2 % too large is detected; 2.5 % if small
    counts are withheld and contain less information."""
    assert abs(squares(name, 1.0)) < 4.5
    assert squares(name, 1.025 if name == "withheld" else 1.02) > 4.5


CELLS = {"a": ["a"], "b": ["b"], "c": ["c"], "d": ["d"]}
QUERIES = CELLS | {"ab": ["a", "b"], "ac": ["a", "c"], "bd": ["b", "d"], "all": list("abcd")}
SETS, STRETCH, MOST_PEOPLE = 200, 19, 40
CELL_LAWS = {
    "discrete gaussian": {"law": "discrete_gaussian", "sigma": 2.0},
    "discrete laplace": {"law": "discrete_laplace", "scale": 1.5},
    "clipped": {"law": "discrete_gaussian", "sigma": 2.0, "clipped": {"at": 0}},
}


def truth_of(tree, values, rng):
    """Draw the root's cells uniformly up to `MOST_PEOPLE`; split each cell independently by Dirichlet shares."""
    found = np.zeros((len(tree), 4), dtype=np.int64)
    for cell in range(4):
        found[0, cell] = rng.integers(0, MOST_PEOPLE + 1)
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
    noise, known = law_of(CELL_LAWS[name]), law_of({"law": "exact"})
    each = [[known if exact and v == 0 and q >= 6 else noise for q in range(len(sums))] for v in range(len(tree))]
    law = LawByRow.of([one for row in each for one in row])
    y = law.sample((truth @ sums.T).ravel().astype(float), rng=rng).reshape(len(tree), -1)
    y = np.where((rng.random(y.shape) < 0.7) | (np.array(each) == known), y, np.nan)
    upper = np.full(y.shape, np.inf)
    upper[0, :4] = MOST_PEOPLE
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
@pytest.mark.parametrize("name", CELL_LAWS)
def test_ranks_are_uniform(name, exact):
    """Check one count in each of 200 data sets; a chi-squared test of the 20 ranks at 1e-6, 6e-6 for all."""
    ranks = [rank(name, exact, number) for number in range(SETS)]
    counts = np.bincount(ranks, minlength=STRETCH + 1)
    assert stats.chisquare(counts).pvalue > 1e-6
