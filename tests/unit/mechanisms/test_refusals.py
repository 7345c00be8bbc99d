"""Hostile shapes, types and numbers against the kernels of swapping: refused, or right; never out of bounds."""

import numpy as np
import pytest

from dpmultinomial._mechanisms.swapping import _subset_shuffles, swap_crossings, swap_draws
from dpmultinomial._posteriors.swapping import unswapping
from dpmultinomial._seeding import stream

REFUSED = (ValueError, TypeError, OverflowError)
TABLE = np.array([[1, 2], [3, 4]])
BAD_TABLES = (
    [1, 2, 3], [[1, 2]], np.ones((2, 2, 2)), [[-1, 2], [3, 4]], [[0.5, 2], [3, 4]], [[np.nan, 2], [3, 4]],
    [[np.inf, 2], [3, 4]], np.empty((0, 2)), np.empty((2, 0)), [["a", "b"], ["c", "d"]], None, [[2**40, 0], [0, 1]],
)  # fmt: skip
BAD_RATES = (0, 1, -0.1, 1.5, np.nan, np.inf, "0.1", None, True, 1 + 0j)
BAD_WHOLES = (-1, 1.5, "3", None, np.nan, True, 2**80)


def rng():
    return stream(1, "hostile")


@pytest.mark.parametrize("strata", [[-1, 0], [0, 5], [0.5, 0], [np.nan, 0], [np.inf, 0], [[0, 0]], ["a", "b"], None,
                                    [2**62, 0], 3])  # fmt: skip
def test_sources_refuse(strata):
    with pytest.raises(REFUSED):
        swap_draws.sources(strata, rate=0.5, rng=rng())


def test_sources_take_any_layout_and_emptiness():
    codes = np.zeros(40, dtype=np.int64)
    expected = swap_draws.sources(codes, rate=0.5, rng=rng())
    for other in (np.zeros(80, dtype=np.int64)[::2], codes.astype(np.int8), codes.tolist(), codes[::-1]):
        assert np.array_equal(swap_draws.sources(other, rate=0.5, rng=rng()), expected)
    assert swap_draws.sources([], rate=0.5, rng=rng()).shape == (0,)


@pytest.mark.parametrize("rate", BAD_RATES)
def test_rates_are_refused_everywhere(rate):
    logs = np.zeros(11)
    for call in (
        lambda: swap_draws.sources([0, 0], rate=rate, rng=rng()),
        lambda: swap_draws.tables(TABLE, 3, rate=rate, rng=rng()),
        lambda: swap_draws.each([TABLE], rate=rate, rng=rng()),
        lambda: unswapping.abc(TABLE, np.ones(4), 5, rate=rate, rng=rng()),
        lambda: swap_crossings.log_weights(10, 3, rate=rate),
        lambda: swap_crossings.log_law(10, 3, 4, 1, rate=rate),
    ):
        with pytest.raises(REFUSED):
            call()
    assert len(logs) == 11


@pytest.mark.parametrize("table", BAD_TABLES)
def test_tables_are_refused_everywhere(table):
    for call in (
        lambda: swap_draws.tables(table, 3, rate=0.5, rng=rng()),
        lambda: swap_draws.each([table], rate=0.5, rng=rng()),
        lambda: unswapping.abc(table, np.ones(4), 5, rate=0.5, rng=rng()),
        lambda: unswapping.permutation_chain(
            [table], [np.zeros(11)], np.ones(4), draws=2, burn_in=0, thin=1, rng=rng()
        ),
        lambda: _subset_shuffles.originals(table, np.ones(11), most_tables=100, most_work=1e6),
        lambda: unswapping.moved_chain(table, np.arange(10), np.zeros(11), np.ones(4), draws=2, thin=1, rng=rng()),
    ):
        with pytest.raises(REFUSED):
            call()


@pytest.mark.parametrize("number", BAD_WHOLES)
def test_whole_numbers_are_refused_everywhere(number):
    chain = {"draws": 2, "burn_in": 0, "thin": 1}
    moves = {"draws": 2, "thin": 1}
    calls = [
        lambda: swap_draws.derangements(number, 2, rng=rng()),
        lambda: swap_draws.derangements(3, number, rng=rng()),
        lambda: swap_draws.tables(TABLE, number, rate=0.5, rng=rng()),
        lambda: unswapping.abc(TABLE, np.ones(4), number, rate=0.5, rng=rng()),
        lambda: _subset_shuffles.originals(TABLE, np.ones(11), most_tables=number, most_work=1e6),
        lambda: swap_crossings.log_weights(number, 0, rate=0.1),
        lambda: swap_crossings.log_weights(10, number, rate=0.1),
        lambda: swap_crossings.log_law(number, 0, 0, 0, rate=0.1),
        lambda: swap_crossings.log_law(10, number, 4, 1, rate=0.1),
        lambda: swap_crossings.log_law(10, 3, number, 1, rate=0.1),
        lambda: swap_crossings.log_law(10, 3, 4, number, rate=0.1),
    ]
    calls += [
        lambda key=key: unswapping.permutation_chain(
            TABLE[None], [np.zeros(11)], np.ones(4), **{**chain, key: number}, rng=rng()
        )
        for key in chain
    ]
    calls += [
        lambda key=key: unswapping.moved_chain(
            TABLE, np.arange(10), np.zeros(11), np.ones(4), **{**moves, key: number}, rng=rng()
        )
        for key in moves
    ]
    for call in calls:
        with pytest.raises(REFUSED):
            call()


@pytest.mark.parametrize("alpha", [0, -1.0, np.nan, np.inf, np.ones(3), np.ones((2, 2)), "x", None, [1, 1, 1, 0], []])
def test_priors_are_refused_everywhere(alpha):
    for call in (
        lambda: unswapping.abc(TABLE, alpha, 5, rate=0.5, rng=rng()),
        lambda: unswapping.permutation_chain(TABLE[None], [np.zeros(11)], alpha, draws=2, burn_in=0, thin=1, rng=rng()),
        lambda: unswapping.moved_chain(TABLE, np.arange(10), np.zeros(11), alpha, draws=2, thin=1, rng=rng()),
    ):
        with pytest.raises(REFUSED):
            call()


@pytest.mark.parametrize(
    "weights", [np.zeros(10), np.zeros(12), np.zeros((11, 1)), np.full(11, np.nan), np.full(11, -np.inf), [], 0.0,
                np.r_[0.0, 0.0, np.inf, np.zeros(8)], "weights", None],
)  # fmt: skip
def test_weights_are_refused(weights):
    with pytest.raises(REFUSED):
        unswapping.permutation_chain(TABLE[None], [weights], np.ones(4), draws=2, burn_in=0, thin=1, rng=rng())
    with pytest.raises(REFUSED):
        unswapping.moved_chain(TABLE, np.arange(10), weights, np.ones(4), draws=2, thin=1, rng=rng())


@pytest.mark.parametrize(
    "sigma", [np.arange(9), np.arange(11), np.arange(10) + 1, np.arange(10) - 1, np.zeros(10, np.int64),
              np.arange(10.0), np.arange(10, dtype=np.int32), np.arange(20)[::2], list(range(10)), None,
              np.full(10, 2**60), np.arange(10).reshape(2, 5)],
)  # fmt: skip
def test_starts_of_the_chain_are_refused(sigma):
    with pytest.raises(REFUSED):
        unswapping.moved_chain(TABLE, sigma, np.zeros(11), np.ones(4), draws=2, thin=1, rng=rng())


def test_read_only_starts_are_refused():
    sigma = np.arange(10)
    sigma.setflags(write=False)
    with pytest.raises(REFUSED):
        unswapping.moved_chain(TABLE, sigma, np.zeros(11), np.ones(4), draws=2, thin=1, rng=rng())


@pytest.mark.parametrize(
    "change",
    [{"small": 6}, {"other": 2}, {"other": 8}, {"at": 4}, {"log_prior": np.zeros(3)}, {"log_prior": np.zeros((4, 1))},
     {"log_prior": np.full(4, np.nan)}, {"window": 0}, {"window": -1.0}, {"window": np.nan}, {"log_w": np.zeros(3)},
     {"log_w": np.zeros(8)[::2]}, {"log_w": np.zeros(4, np.float32)}, {"log_w": [0, 0, 0, 0]}, {"n": 1}, {"n": 2**41}],
)  # fmt: skip
def test_laws_refuse(change):
    arguments = {"n": 10, "small": 3, "other": 4, "at": 1} | change
    numbers = [arguments.pop(key) for key in ("n", "small", "other", "at")]
    with pytest.raises(REFUSED):
        swap_crossings.log_law(*numbers, rate=0.1, **arguments)


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-17, 1 - 2**-53])
def test_extreme_rates_have_finite_or_absent_mass_but_no_nan(rate):
    for n, small, other, at in ((2, 1, 1, 0), (10, 3, 4, 1), (1000, 100, 500, 50), (2500, 1250, 1250, 625)):
        assert not np.isnan(swap_crossings.log_law(n, small, other, at, rate=rate)).any()
        assert not np.isnan(swap_crossings.log_weights(n, small, rate=rate)).any()


@pytest.mark.parametrize(
    "coefficients", [np.ones(10), np.ones(12), np.ones((11, 1)), np.full(11, np.nan), np.full(11, np.inf), [], None,
                     "ones", 1.0, np.ones(11, dtype=complex)],
)  # fmt: skip
def test_coefficients_are_refused(coefficients):
    with pytest.raises(REFUSED):
        _subset_shuffles.originals(TABLE, coefficients, most_tables=100, most_work=1e6)


def test_tall_tables_are_refused():
    with pytest.raises(REFUSED):
        _subset_shuffles.originals(np.ones((17, 2)), np.ones(35), most_tables=100, most_work=1e18)


@pytest.mark.parametrize("bad", [1, None, np.random.RandomState(1), "rng"])
def test_streams_are_refused(bad):
    for call in (
        lambda: swap_draws.sources([0, 0], rate=0.5, rng=bad),
        lambda: swap_draws.derangements(3, 2, rng=bad),
        lambda: swap_draws.tables(TABLE, 2, rate=0.5, rng=bad),
        lambda: swap_draws.each([TABLE], rate=0.5, rng=bad),
        lambda: unswapping.abc(TABLE, np.ones(4), 2, rate=0.5, rng=bad),
        lambda: unswapping.moved_chain(TABLE, np.arange(10), np.zeros(11), np.ones(4), draws=2, thin=1, rng=bad),
    ):
        with pytest.raises(TypeError):
            call()
