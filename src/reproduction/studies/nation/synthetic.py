"""Synthetic states of the size of a nation's: a tree, true counts, and noisy ones at the scales of a census release.

Of a state are published, and stand in ``states.tsv``: its population in 2020 and its number of counties. Numbers of
tracts, block groups and populated blocks are published for the nation; a state is given its share of the population of
them, which is approximate (states of few people have more blocks for them). Who lives where is drawn.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._mechanisms.exact import Exact
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.noise_law import NoiseLaw
from dpmultinomial._mechanisms.rows import LawByRow
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import Tree

Whole = NDArray[np.int64]
LEVELS = ("state", "county", "tract", "block group", "block")
NATION = {"tract": 84_414, "block group": 239_780, "block": 5_769_942}  # 2020; blocks: those with people
STATES = Path(__file__).with_name("states.tsv")
CLUSTERED = 4.0  # shape of the gamma law by which people of tracts of one size differ
UNEQUAL = 0.9  # the same, of blocks within a block group


class State(NamedTuple):
    """One state.

    Parameters
    ----------
    tree : its nodes.
    truth : int64 (n,), true counts; the root's is the published population at scale 1.
    measured : the root exactly, all others with noise.
    """

    tree: Tree
    truth: Whole
    measured: Measurements


def sizes(state: str, scale: float) -> tuple[int, int, int, int, int]:
    """Counties, tracts, block groups, populated blocks, people of a state.

    Parameters
    ----------
    state : its two letters.
    scale : share of the nation in (0, 1]; every number is at least 1 and no smaller than that of the level above.

    Returns
    -------
    (counties, tracts, block groups, blocks, people)
    """
    every = pd.read_csv(STATES, sep="\t").set_index("state")
    people, own_counties = (int(every[name].to_dict()[state]) for name in ("population", "counties"))
    share = people / int(every["population"].sum())
    found = [max(round(own_counties * scale), 1)]
    for level in LEVELS[2:]:
        found.append(max(round(NATION[level] * share * scale), found[-1]))
    counties, tracts, groups, blocks = found
    return counties, tracts, groups, blocks, max(round(people * scale), 1)


def drawn(state: str, *, scale: float, sigmas: dict[str, float], rng: np.random.Generator) -> State:
    """A synthetic state.

    Parameters
    ----------
    state : its two letters.
    scale : share of the nation in (0, 1].
    sigmas : level below the state -> parameter of its discrete Gaussian noise.
    rng : numpy Generator.

    Returns
    -------
    State
    """
    counties, tracts, groups, blocks, people = sizes(state, scale)
    county = _above(tracts, counties, 0.7, rng)
    tract, group = _above(groups, tracts, 5.0, rng), _above(blocks, groups, 2.0, rng)
    starts = np.cumsum((0, 1, counties, tracts, groups))
    parents = [np.array([-1]), np.zeros(counties, dtype=np.int64), starts[1] + county, starts[2] + tract]
    tree = Tree(np.concatenate([*parents, starts[3] + group]), levels=LEVELS)
    weight = rng.gamma(UNEQUAL, size=blocks) * rng.gamma(CLUSTERED, size=tracts)[tract[group]]
    leaves = np.zeros(len(tree), dtype=np.int64)
    leaves[starts[4] :] = rng.multinomial(people, weight / weight.sum())
    truth = tree.sums(leaves)
    laws: list[NoiseLaw] = [Exact(), *(DiscreteGaussian(sigma=sigmas[level]) for level in LEVELS[1:])]
    law = LawByRow(laws, tree.depth)
    return State(tree, truth, Measurements(tree, np.arange(len(tree)), law.sample(truth, rng=rng), law))


def _above(size: int, parents: int, shape: float, rng: np.random.Generator) -> Whole:
    """A parent for every node, each parent at least one, the others by weights from a gamma law."""
    weights = rng.gamma(shape, size=parents)
    more = rng.choice(parents, size - parents, p=weights / weights.sum())
    return np.sort(np.concatenate([np.arange(parents), more]))
