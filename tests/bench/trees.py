"""Benchmark of trees of totals: a nation of 60,000 leaves, and accuracy for a state with the noise of the 2020 release.

``PYTHONPATH=src python tests/bench/trees.py 10`` writes the table of the documentation next to this file, from ten
synthetic states of either kind. The true counts are drawn at random, and no data of an agency are used.
"""

import sys
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from measuring import Beside, Row, alone  # noqa: E402

from dpmultinomial._mechanisms.gaussian import DiscreteGaussian  # noqa: E402
from dpmultinomial._posteriors.trees.measurements import Measurements  # noqa: E402
from dpmultinomial._posteriors.trees.tree import Tree  # noqa: E402
from dpmultinomial._posteriors.trees.tree_posterior import infer  # noqa: E402
from dpmultinomial._seeding import stream  # noqa: E402

LEVELS = ("state", "county", "tract", "block group", "block")
SIGMA = {"cell": (13.1, 14.0, 2.21, 2.15, 12.2), "total": (1.10, 2.17, 2.47, 1.75, 89.24)}  # of the five levels
BLOCKS = {"cell": 12_000, "total": 6_000}
NORMAL = 1.959963984540054
NATION = """
import sys
sys.path.insert(0, {here!r})
import trees
tree, released, law = trees.nation()
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import Leaves
from dpmultinomial._posteriors.trees.tree_posterior import infer
import numpy as np
# timed
infer(Measurements(tree, np.arange(len(tree)), released, law), prior=Leaves({prior!r}))
"""


def benchmarks():
    from dpmultinomial._posteriors.trees.tree import Leaves

    given = nation()
    bounds = []
    for prior in ("flat", "1/(1+n)"):
        seconds, mib = alone(NATION.format(here=str(HERE), prior=prior))
        yield Row(f"63,051 nodes, every one measured, prior {prior}", seconds, "limit", 2.0)
        yield Row(f"63,051 nodes, prior {prior}, peak memory", mib, "limit", 300.0, unit="MiB")
        bounds.append(infer(measured(*given), prior=Leaves(prior)).bound)
    yield Row("63,051 nodes, bound of what is neglected, in 1e-12", max(bounds) / 1e-12, "limit", 1.0, unit="x")
    for case, goals in (("cell", (2.4, 5.6, 1.0)), ("total", (45.0, 145.0, None))):
        yield from _accuracy(case, *goals)


def _accuracy(case, error, width, seconds):
    tables = [study(case, seed) for seed in range(3)]
    block = pd.concat(tables).query("level == 'block'").groupby("method").mean(numeric_only=True)
    ours, clipped = block.loc["posterior"], block.loc["clipped least squares"]
    yield Row(
        f"{case}: RMSE of blocks (clipped least squares {clipped['rmse']:.3g})", ours["rmse"], "limit", error, unit="x"
    )
    yield Row(f"{case}: width of blocks' intervals ({clipped['width']:.3g})", ours["width"], "limit", width, unit="x")
    yield Row(f"{case}: blocks not covered", 1 - ours["coverage"], "limit", 0.05, unit="x")
    if seconds is not None:
        yield Row(
            f"{case}: 13,621 nodes, concentrations fitted", min(t.attrs["seconds"] for t in tables), "limit", seconds
        )
    for level in LEVELS[1:]:
        own = [t[t["level"] == level].set_index("method")["rmse"] for t in tables]
        errors = [[float(t[name]) for t in own] for name in ("posterior", "clipped least squares")]
        yield Beside(f"{case}: RMSE of {level}s", *errors, "clipped least squares", unit="x")


def nation(leaves=60_000):
    """Return a nation, 50 states, 3,000 counties and leaves; a quarter of the leaves are 0, some have a million."""
    rng = stream(1, "bench", "nation")
    county = rng.choice(50, 3000, p=rng.dirichlet(np.full(50, 2.0)))
    leaf = rng.choice(3000, leaves, p=rng.dirichlet(np.full(3000, 1.0)))
    tree = Tree(np.concatenate([[-1], np.zeros(50, dtype=int), 1 + county, 51 + leaf]))
    kind = rng.random(leaves)
    size = np.select(
        [kind < 0.25, kind < 0.55, kind < 0.95],
        [np.zeros(leaves), rng.geometric(0.2, leaves) - 1.0, np.exp(rng.normal(5, 1.5, leaves))],
        np.minimum(np.exp(rng.normal(9, 2, leaves)), 1e6),
    )
    truth = np.zeros(len(tree), dtype=np.int64)
    truth[-leaves:] = size
    law = DiscreteGaussian(sigma=np.array([2.0, 3.0, 5.0, 8.0])[tree.depth])
    return tree, law.sample(tree.sums(truth), rng=rng), law


def measured(tree, released, law):
    """Return one measurement of every node."""
    return Measurements(tree, np.arange(len(tree)), released, law)


def state(case, seed):
    """Return 20 counties, 400 tracts, 1,200 block groups and blocks: tree, true counts, and the noise of every node."""
    rng, blocks = stream(seed, "bench", "state", case), BLOCKS[case]
    sizes = (1, 20, 400, 1200, blocks)
    starts = np.cumsum((0, *sizes))
    group = np.concatenate([np.arange(1200), rng.integers(0, 1200, blocks - 1200)])
    above = [np.zeros(20, dtype=int), np.arange(400) % 20, np.arange(1200) % 400, group]
    parents = [start + rows for start, rows in zip(starts, above, strict=False)]
    tree = Tree(np.concatenate([[-1], *parents]), levels=LEVELS)
    people = np.where(rng.random(blocks) < 0.3, 0, rng.negative_binomial(1.2, 1.2 / 81.2, blocks))
    share = rng.beta(0.4, 20, 400)[group % 400]
    truth = np.zeros(len(tree), dtype=np.int64)
    truth[starts[4] :] = people if case == "total" else rng.binomial(people, share)
    return tree, tree.sums(truth), DiscreteGaussian(sigma=np.array(SIGMA[case])[tree.depth]), rng


def study(case, seed):
    """Return error, coverage and width by level: least squares, clipped least squares, posterior with fitted splits."""
    tree, truth, law, rng = state(case, seed)
    released = law.sample(truth, rng=rng)
    start = process_time()
    found = infer(measured(tree, released, law))
    seconds = process_time() - start
    least, sd = found.least_squares.estimate, found.least_squares.sd
    low, high = least - NORMAL * sd, least + NORMAL * sd
    answers = {
        "least squares": (least, low, high),
        "clipped least squares": (np.maximum(least, 0), np.maximum(np.ceil(low), 0), np.maximum(np.floor(high), 0)),
        "posterior": (found.mean, found.lower, found.upper),
    }
    rows = []
    for depth, level in enumerate(LEVELS):
        own = tree.depth == depth
        for method, (mean, lower, upper) in answers.items():
            inside = (lower <= truth) & (truth <= upper)
            rmse = float(np.sqrt(np.mean((mean - truth)[own] ** 2)))
            numbers = (rmse, float(inside[own].mean()), float((upper - lower)[own].mean()))
            rows.append((case, level, int(own.sum()), method, *numbers))
    table = pd.DataFrame(rows, columns=["case", "level", "nodes", "method", "rmse", "coverage", "width"])
    table.attrs.update(seconds=seconds, bound=found.bound, concentrations=found.facts["concentrations"])
    return table


if __name__ == "__main__":
    every = pd.concat([study(case, seed) for case in SIGMA for seed in range(int(sys.argv[1]))])
    by = every.groupby(["case", "level", "nodes", "method"], sort=False).mean(numeric_only=True).round(3)
    by.to_csv(HERE / "trees.tsv", sep="\t")
    print(by.to_string())
