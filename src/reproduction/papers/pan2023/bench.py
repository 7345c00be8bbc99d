"""Speed of the rejection sampler, of swapping microdata and of the exact posterior."""

import numpy as np
import pandas as pd
from run import timed

from dpmultinomial.kernels import unswapping
from dpmultinomial.kernels.reference import swapping as twin
from dpmultinomial.kernels.reference import unswapping as twin_posterior
from dpmultinomial.mechanisms import exact_swapping, permutation_weights
from dpmultinomial.mechanisms.swapping import permutation_swap
from dpmultinomial.posteriors import swapped_table
from dpmultinomial.seeding import stream

TABLE = np.array([[1, 2], [3, 4]])
ITERATIONS, LOOP = 5_000_000, 5_000


def benchmarks():
    rng = stream(1, "bench")
    ones = np.ones(4)
    abc = {"rate": 0.1, "rng": rng}
    honest = timed(lambda: unswapping.abc(TABLE, ones, ITERATIONS, **abc), 3)
    margins = timed(lambda: unswapping.abc(TABLE, ones, ITERATIONS, **abc, margins_first=True), 3)
    loop = timed(lambda: twin_posterior.abc(TABLE, ones, LOOP, **abc), 3) * ITERATIONS / LOOP
    small = timed(lambda: swapped_table.exact(TABLE, rate=0.1), 51)
    large = timed(lambda: _fresh([[270, 230], [230, 270]]), 1)
    records = pd.DataFrame({"block": rng.integers(0, 1000, 1_000_000), "value": rng.integers(0, 9, 1_000_000)})
    swap = timed(lambda: permutation_swap(records, swap="value", match="block", rate=0.1, rng=rng), 5)
    some = records["block"].to_numpy()[:20_000]
    slow = timed(lambda: twin.sources(some, rate=0.1, rng=rng), 1) * 50
    rows = [
        (
            "ABC, 5,000,000 iterations",
            honest,
            "the same loop in Python with NumPy calls, scaled",
            loop,
            "<= 3 s, >= 100x",
        ),
        ("ABC, margins first", margins, "every proposal swapped", honest, "<= 1.5 s"),
        ("exact posterior, 10 records", small, "ABC, 5,000,000 iterations", honest, "milliseconds"),
        ("exact posterior, 1,000 records", large, "ten seconds", 10.0, "seconds"),
        ("swap of 1,000,000 records, 1,000 strata", swap, "the same in NumPy, scaled from 20,000", slow, "<= 2 s"),
    ]
    keys = ("name", "seconds", "baseline", "baseline_seconds", "target")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _fresh(table):
    """Without what an earlier call has left in the caches."""
    for cached in (permutation_weights.mixture_coefficients, exact_swapping.eigenvalues, exact_swapping._hahn):
        cached.cache_clear()
    return swapped_table.exact(table, rate=0.1)
