"""Tests of shapes, types and numbers that the kernels of swapping must reject, and of inputs that are just valid."""

from functools import partial

import numpy as np
import pytest
from refusals import REJECTED, cases, rejects

from dpmultinomial._mechanisms.swapping import permutation_swaps, swap_crossings
from dpmultinomial._posteriors.swapping import unswapping
from dpmultinomial._seeding import stream

NAN, INF = np.nan, np.inf
RNG = stream(1, "hostile")
TABLE = np.array([[1, 2], [3, 4]])
BAD_TABLES = [
    [1, 2, 3], [[1, 2]], np.ones((2, 2, 2)), [[-1, 2], [3, 4]], [[0.5, 2], [3, 4]], [[NAN, 2], [3, 4]],
    [[INF, 2], [3, 4]], np.empty((0, 2)), np.empty((2, 0)), None,
]  # fmt: skip
TEXTS, HUGE_TABLE = [["a", "b"], ["c", "d"]], [[2**40, 0], [0, 1]]
BAD_RATES = [0, 1, -0.1, 1.5, NAN, INF, "0.1", None, True, 1 + 0j]
BAD_INTEGERS = [-1, 1.5, "3", None, NAN, True, 2**80]
BAD_PRIORS = [0, -1.0, NAN, INF, np.ones(3), np.ones((2, 2)), "x", None, [1, 1, 1, 0], []]
BAD_WEIGHTS = [np.zeros(10), np.zeros(12), np.zeros((11, 1)), np.full(11, NAN), np.full(11, -INF), [], 0.0,
               np.r_[0.0, 0.0, INF, np.zeros(8)], None]  # fmt: skip
BAD_STARTS = [np.arange(9), np.arange(11), np.arange(10) + 1, np.arange(10) - 1, np.zeros(10, np.int64),
              np.arange(10.0), np.arange(10, dtype=np.int32), np.arange(20)[::2], list(range(10)), None,
              np.full(10, 2**60), np.arange(10).reshape(2, 5)]  # fmt: skip
READ_ONLY = np.arange(10)
READ_ONLY.setflags(write=False)

# Calls with good arguments: a row of the table replaces one of them.
sources = partial(permutation_swaps.sources, strata=[0, 0], rate=0.5, rng=RNG)
tables = partial(permutation_swaps.tables, table=TABLE, size=3, rate=0.5, rng=RNG)
each = partial(permutation_swaps.each, tables=[TABLE], rate=0.5, rng=RNG)
derangements = partial(permutation_swaps.derangements, k=3, size=2, rng=RNG)
abc = partial(unswapping.abc, observed=TABLE, alpha=np.ones(4), iterations=5, rate=0.5, rng=RNG)
chain = partial(
    unswapping.permutation_chain, swapped=TABLE[None], log_weights=[np.zeros(11)], alpha=np.ones(4), draws=2,
    burn_in=0, thin=1, rng=RNG,
)  # fmt: skip
moved = partial(
    unswapping.moved_chain, swapped=TABLE, sigma=np.arange(10), log_weights=np.zeros(11), alpha=np.ones(4), draws=2,
    thin=1, rng=RNG,
)  # fmt: skip
originals = partial(
    permutation_swaps.originals, swapped=TABLE, coefficients=np.ones(11), most_tables=100, most_work=1e6
)
log_weights = partial(swap_crossings.log_weights, n=10, small=3, rate=0.1)
log_law = partial(swap_crossings.log_law, n=10, small=3, other=4, at=1, rate=0.1)

ROWS = cases(
    (sources, "strata", [[-1, 0], [0, 5], [0.5, 0], [NAN, 0], [INF, 0], [[0, 0]], ["a", "b"], None, [2**62, 0], 3]),
    ([sources, tables, each, abc, log_weights, log_law], "rate", BAD_RATES),
    (tables, "table", [*BAD_TABLES, HUGE_TABLE]),
    (each, "tables", [*([table] for table in BAD_TABLES), [TEXTS]]),
    (each, "tables", [[HUGE_TABLE]], "total of a table must be in"),
    (abc, "observed", [*BAD_TABLES, HUGE_TABLE]),
    (chain, "swapped", [[table] for table in BAD_TABLES]),
    (chain, "swapped", [[HUGE_TABLE]], "log_weights must have n . 1 entries for a stratum of n records"),
    ([originals, moved], "swapped", BAD_TABLES),
    (originals, "swapped", [HUGE_TABLE]),
    (moved, "swapped", [HUGE_TABLE], "sigma must be a .* permutation of 0..1099511627776"),
    (tables, "table", [TEXTS], "could not convert string to float"),
    (abc, "observed", [TEXTS], "could not convert string to float"),
    (chain, "swapped", [[TEXTS]], "could not convert string to float"),
    ([originals, moved], "swapped", [TEXTS], "could not convert string to float"),
    (partial(originals, coefficients=np.ones(35), most_work=1e18), "swapped", [np.ones((17, 2))], "rows of swapped"),
    (derangements, "k size", BAD_INTEGERS),
    (tables, "size", BAD_INTEGERS),
    (abc, "iterations", BAD_INTEGERS),
    (originals, "most_tables", BAD_INTEGERS),
    (partial(log_weights, small=0), "n", BAD_INTEGERS),
    (partial(log_law, small=0, other=0, at=0), "n", BAD_INTEGERS),
    (log_weights, "small", BAD_INTEGERS),
    (log_law, "small other at", BAD_INTEGERS),
    (chain, "draws burn_in thin", BAD_INTEGERS),
    (moved, "draws thin", BAD_INTEGERS[:-1]),
    (moved, "draws", BAD_INTEGERS[-1:], "Maximum allowed dimension exceeded"),
    (moved, "thin", BAD_INTEGERS[-1:], "too large to convert", OverflowError),
    ([abc, chain, moved], "alpha", BAD_PRIORS),
    (chain, "log_weights", [[weights] for weights in BAD_WEIGHTS]),
    (moved, "log_weights", BAD_WEIGHTS),
    (chain, "log_weights", [["weights"]], "could not convert string to float"),
    (moved, "log_weights", ["weights"], "could not convert string to float"),
    (moved, "sigma", [*BAD_STARTS, READ_ONLY]),
    (log_law, "small", [6]),
    (log_law, "other", [2, 8]),
    (log_law, "at", [4]),
    (log_law, "log_prior", [np.zeros(3), np.zeros((4, 1)), np.full(4, NAN)]),
    (log_law, "window", [0, -1.0, NAN]),
    (log_law, "log_w", [np.zeros(3), np.zeros(8)[::2], np.zeros(4, np.float32), [0, 0, 0, 0]]),
    (log_law, "n", [1, 2**41]),
    (originals, "coefficients", [
        np.ones(10), np.ones(12), np.ones((11, 1)), np.full(11, NAN), np.full(11, INF), [], None, "ones", 1.0,
        np.ones(11, dtype=complex),
    ]),
    ([sources, derangements, tables, each, abc, moved], "rng", [1, None, np.random.RandomState(1), "rng"],
     "rng", TypeError),
)  # fmt: skip


@pytest.mark.parametrize(REJECTED, ROWS)
def test_rejects(call, arguments, words, error):
    rejects(call, arguments, words, error)


def test_sources_take_any_layout_and_emptiness():
    codes = np.zeros(40, dtype=np.int64)
    expected = permutation_swaps.sources(codes, rate=0.5, rng=stream(1, "same"))
    for other in (np.zeros(80, dtype=np.int64)[::2], codes.astype(np.int8), codes.tolist(), codes[::-1]):
        assert np.array_equal(permutation_swaps.sources(other, rate=0.5, rng=stream(1, "same")), expected)
    assert permutation_swaps.sources([], rate=0.5, rng=RNG).shape == (0,)


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-17, 1 - 2**-53])
def test_extreme_rates_have_finite_or_absent_mass_but_no_nan(rate):
    for n, small, other, at in ((2, 1, 1, 0), (10, 3, 4, 1), (1000, 100, 500, 50), (2500, 1250, 1250, 625)):
        assert not np.isnan(swap_crossings.log_law(n, small, other, at, rate=rate)).any()
        assert not np.isnan(swap_crossings.log_weights(n, small, rate=rate)).any()
