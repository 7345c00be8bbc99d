"""Measure the computing times of releases with additive noise and of their exact posteriors, for Example 2 of the paper
and for up to 500 components.
"""

import numpy as np
from measuring import Row, alone, limited, timed

from dpmultinomial._mechanisms import additive_counts as mechanism
from dpmultinomial._posteriors.additive import additive_counts
from dpmultinomial._seeding import stream
from reproduction.papers.wang2020 import examples, literal

RELEASES, LITERAL = 10_000, 60
FEW = [400, 250, 130, 60, 20]
MANY = """
import numpy as np
from dpmultinomial._mechanisms import additive_counts as mechanism
from dpmultinomial._posteriors.additive import additive_counts
from dpmultinomial._seeding import stream
counts = stream(1, "bench").integers(0, 40, 500)
released = mechanism.release(counts, epsilon=1.0, algorithm="{name}", size=1, rng=stream(2, "bench"))[0]
# timed
law = additive_counts.posterior(released, epsilon=1.0, algorithm="{name}")
law.mean(), law.summary()
"""


def benchmarks():
    rng = stream(1, "bench")
    counts = examples.example_2()
    model = {"epsilon": 1.0, "support": 50, "rng": rng}
    fast = timed(lambda: mechanism.release_all(counts, size=RELEASES, **model), 5)
    loop = timed(lambda: [literal.release(counts.tolist(), **model) for _ in range(LITERAL)], 1) * RELEASES / LITERAL
    name = "10,000 releases, four algorithms, Example 2"
    yield Row(name, fast, "limit", 0.25)
    yield Row(name, fast, "one by one in Python, scaled", loop, 100)
    window = 20
    pair = timed(lambda: additive_counts.posterior([250, 357], epsilon=1.0, algorithm="2", window=window), 31)
    fourfold = timed(lambda: literal.pair_table([250, 357], epsilon=1.0, window=window), 1)
    yield Row(f"posterior of two counts, window {window}", pair, "four-fold loop", fourfold, 1000)
    yield from _posteriors()


def _posteriors():
    """Measure, for each algorithm, the computing time of the posterior distribution of all components, including the
    means and intervals.
    """
    fifty = stream(3, "bench").integers(0, 40, 50)
    for counts, epsilon, limit, repeats in ((FEW, 0.01, 5.0, 1), (FEW, 0.1, 0.3, 3), (fifty, 0.1, 2.0, 1)):
        for algorithm in ("1-independent", "2", "3"):
            law = {"epsilon": epsilon, "algorithm": algorithm}
            released = mechanism.release(np.array(counts), size=1, rng=stream(2, "bench"), **law)[0]
            name = f"posterior, S = {len(counts)}, epsilon = {epsilon}, algorithm {algorithm}"
            yield limited(name, lambda r=released, w=law: _whole(r, w), limit, repeats)
    hard = {"epsilon": 0.01, "algorithm": "3"}
    yield limited("posterior of (1, 0, 0, 0), epsilon = 0.01, algorithm 3", lambda: _whole([1, 0, 0, 0], hard), 5.0, 1)
    for epsilon, limit in ((0.3, 0.3), (0.1, 2.0)):
        two = {"epsilon": epsilon, "algorithm": "1-summed"}
        name = f"posterior, S = 2, epsilon = {epsilon}, algorithm 1-summed"
        yield limited(name, lambda w=two: _whole([10, 20], w), limit)
    for algorithm in ("1-independent", "2", "3"):
        seconds, memory = alone(MANY.format(name=algorithm))
        name = f"posterior, S = 500, epsilon = 1, algorithm {algorithm}"
        yield Row(name, seconds, "limit", 5.0)
        yield Row(f"{name}: peak memory", memory, "limit", 500.0, unit="MiB")


def _whole(released, law):
    posterior = additive_counts.posterior(released, **law)
    return posterior.mean(), posterior.summary()
