"""Measure the speed of the rejection sampler, of swapping microdata and of the exact posterior, for data sets of ten to
a billion records.
"""

import numpy as np
import pandas as pd
from measuring import Row, limited, timed
from reference import swapping as reference
from reference import unswapping as reference_posterior

from dpmultinomial._accounting import swapping as accounting
from dpmultinomial._mechanisms.swapping import two_by_two
from dpmultinomial._mechanisms.swapping.swapping import permutation_swap
from dpmultinomial._posteriors.swapping import log_odds, swapped_table, unknown_rate, unswapped, unswapping
from dpmultinomial._seeding import stream

TABLE = np.array([[1, 2], [3, 4]])
ITERATIONS, LOOP = 5_000_000, 5_000


def benchmarks():
    rng = stream(1, "bench")
    ones = np.ones(4)
    abc = {"rate": 0.1, "rng": rng}
    honest = timed(lambda: unswapping.abc(TABLE, ones, ITERATIONS, **abc), 2)
    margins = timed(lambda: unswapping.abc(TABLE, ones, ITERATIONS, **abc, margins_first=True), 2)
    loop = timed(lambda: reference_posterior.abc(TABLE, ones, LOOP, **abc), 1) * ITERATIONS / LOOP
    small = timed(lambda: swapped_table.exact(TABLE, rate=0.1), 51)
    yield Row("ABC, 5,000,000 iterations", honest, "limit", 3.0)
    yield Row("ABC, 5,000,000 iterations", honest, "the same loop in Python with NumPy calls, scaled", loop, 100)
    yield Row("ABC, margins first", margins, "limit", 1.5)
    yield Row("exact posterior, 10 records", small, "ABC, 5,000,000 iterations", honest, 100)
    records = pd.DataFrame({"block": rng.integers(0, 1000, 1_000_000), "value": rng.integers(0, 9, 1_000_000)})
    swap = timed(lambda: permutation_swap(records, swap="value", match="block", rate=0.1, rng=rng), 3)
    sample = records["block"].to_numpy()[:20_000]
    slow = timed(lambda: reference.sources(sample, rate=0.1, rng=rng), 1) * 50
    yield Row("swap of 1,000,000 records, 1,000 strata", swap, "limit", 2.0)
    yield Row("swap of 1,000,000 records, 1,000 strata", swap, "the same in NumPy, scaled from 20,000", slow)
    yield from _two_by_two()
    yield from _larger(rng)


def _two_by_two():
    """Measure the computing time of the posterior of 2 x 2 tables, and compare the time with a limit. No cache from
    earlier calls is used.
    """

    def row(table, rate):
        two_by_two._weights.cache_clear()
        return two_by_two.row(table, rate=rate)

    cases = [
        ("1,000 records, 7 tables", [[993, 1], [1, 5]], 0.1, 0.002, 51),
        ("1,000 records, 501 tables", [[270, 230], [230, 270]], 0.1, 0.5, 5),
        ("10,000 records, 5,001 tables", [[2600, 2400], [2400, 2600]], 0.5, 5.0, 2),
        ("1,000,000 records, 1,001 tables", [[500_000, 499_000], [450, 550]], 0.5, 2.0, 2),
    ]
    for name, table, rate, limit, repeats in cases:
        yield limited(f"2 x 2 law, {name}", lambda t=table, r=rate: row(t, r), limit, repeats)
    loss = "exact loss, 1,000,000,000 records"
    yield limited(loss, lambda: accounting.exact_loss(10**9, 10**9, rate=0.1), 0.001, 51)


def _larger(rng):
    """Measure the computing time of posteriors for larger tables, for several strata, and for an unknown rate."""
    wide = [[80, 70, 60, 40], [50, 60, 70, 70]]
    five = [[2, 1, 1, 2, 1], [1, 2, 1, 1, 2], [1, 1, 2, 1, 1]]
    strata = [[[12, 7], [5, 16]], [[30, 21], [14, 35]], [[6, 9], [11, 4]]]
    cases = [
        ("3 x 3 posterior, 18 records", lambda: swapped_table.exact(np.full((3, 3), 2), rate=0.1), 0.05),
        ("3 x 5 posterior, 20 records", lambda: swapped_table.exact(five, rate=0.1), 1.0),
        ("2 x 4 marginals, 500 records", lambda: unswapped.infer(wide, rate=0.1, rng=rng).mean(), 1.0),
        (
            "2 x 4, 500 records, 10,000 draws",
            lambda: unswapped.infer(wide, rate=0.1, rng=rng).sample(10_000, rng=rng),
            1.0,
        ),
        ("5 x 8 chains until they agree, 320 records", lambda: _agreed(np.full((5, 8), 8), rng), 5.0),
        ("three 4 x 4 strata by chains, 480 records", lambda: _agreed(np.full((3, 4, 4), 10), rng), 15.0),
        ("three strata, unknown rate", lambda: unknown_rate.infer_rate(strata).summary(), 5.0),
        ("three strata, common odds ratio", lambda: log_odds.common_odds_ratio(strata, rate=0.1).summary(), 1.0),
    ]
    for name, call, limit in cases:
        yield limited(name, call, limit, 2)


def _agreed(table, rng):
    """Return Markov chains for the posterior given `table`, or raise an error if the chains did not converge. The speed
    of a computation that did not converge is meaningless.
    """
    chains = unswapped.infer(table, rate=0.1, rng=rng)
    if chains.accuracy.status != "converged":
        raise RuntimeError(f"the benchmark's chains did not converge: {chains.accuracy}")
    return chains
