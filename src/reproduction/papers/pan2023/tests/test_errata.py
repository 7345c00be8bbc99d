"""Test the claims of the errata against arithmetic, against the compiled swapping algorithm, and against draws from the
posteriors.
"""

import re
from math import comb, exp, log

import numpy as np
import pytest

from dpmultinomial._mechanisms.swapping import permutation_swaps as kernel
from dpmultinomial._seeding import stream
from reproduction import evidence
from reproduction.papers.pan2023 import errata

SLIDES = np.array([[1, 2], [3, 4]])
RUNS = 200_000


def said(number, size=4000):
    return evidence.show(errata.ERRATA, number, rng=stream(1, "errata"), size=size)


def numbers(pattern, text):
    return [float(n) for n in re.search(pattern.replace("#", r"(-?[\d.]+)"), text).groups()]


def drawn_phi(tables, rng):
    """Draw one odds ratio for each table, computed from cell probabilities with the distribution Dir(1 + table)."""
    a, b, c, d = rng.gamma(1.0 + tables.reshape(-1, 4)).T
    return a * d / (b * c)


def off(log_phi):
    """Return four times the relative standard error of a median of exp(log_phi), assuming that the distribution of
    log_phi is nearly normal.
    """
    return 4 * 1.2533 * log_phi.std() / len(log_phi) ** 0.5


@pytest.mark.parametrize("total", [100, 300])
def test_medians_before_and_after_one_swap(total):
    """Check the medians of the odds ratio phi before and after one swap against draws from the posteriors. The original
    table has the shares 0.27, 0.23, 0.23, 0.27. The tables are swapped by the compiled sampler.
    """
    rng = stream(2, "medians")
    table = np.rint(total * np.array([[0.27, 0.23], [0.23, 0.27]])).astype(np.int64)
    swapped = kernel.tables(table, RUNS, rate=0.5, rng=rng)
    words = (
        "the median of phi is # before a swap and # after a swap. A single swap moves phi away from 1 with probability "
    )
    found = numbers(rf"n = {total}, {words}(\d\.\d\d)\.", said(1))
    for ours, tables in zip(found, (np.repeat(table[None], RUNS, axis=0), swapped), strict=False):
        phi = drawn_phi(tables, rng)
        assert ours == pytest.approx(np.median(phi), rel=off(np.log(phi)) + 4e-4)
    # distance |log(ad/bc)| from 1; a last cell that is one smaller goes with a first cell that is one smaller
    gaps = np.abs(np.log(swapped[:, 0, 0] * swapped[:, 1, 1] / (swapped[:, 0, 1] * swapped[:, 1, 0])))
    away = np.mean(gaps > abs(log(0.27**2 / 0.23**2)) + 1e-9)
    assert found[2] == pytest.approx(away, abs=4 * (0.25 / RUNS) ** 0.5 + 0.005)


def test_a_share_of_zero_is_no_parameter_of_zero():
    phi = drawn_phi(np.repeat([[0, 3, 4, 3]], RUNS, axis=0), stream(2, "zero"))
    assert numbers(r"median of phi is (\d\.\d+)\.$", said(2))[0] == pytest.approx(
        np.median(phi), rel=off(np.log(phi)) + 4e-3
    )


def test_the_odds_ratio_of_the_heads():
    """Check the odds ratio of the table on the interpretation of phi, after the column heads of this table are
    corrected. The odds ratio is .3 x .3/(.2 x .2) = 9/4.
    """
    assert "phi = 2.25 at (0.3, 0.2, 0.2, 0.3)" in said(3)


def test_what_the_margins_and_what_the_cells_accept():
    """Check the acceptance probabilities of the rejection sampler for the row sums 3, 7 and the column sums 4, 6. Four
    of the C(13, 3) = 286 tables of ten records have these margins (the first cell is 0 to 3).

    An original has the weight with which it is swapped into (1, 2, 3, 4).
    """
    text = said(4)
    assert f"the acceptance probability would be {4 / 286:.4f} for any p" in text
    assert "each original table would have the weight 0.25." in text
    rng, into = stream(2, "cells"), []
    for first in range(4):
        original = np.array([[first, 3 - first], [4 - first, 3 + first]])
        swapped = kernel.tables(original, RUNS, rate=0.1, rng=rng)
        into.append((swapped == SLIDES).all(axis=(1, 2)).mean())
    errors = 4 * (np.array(into) / RUNS) ** 0.5
    words = "the acceptance probability is #, and the original tables have the weights "
    accepted, *weights = numbers(words + r"\[#, #, #, #\]", text)
    assert accepted == pytest.approx(sum(into) / comb(13, 3), abs=errors.sum() / 286 + 1e-6)
    assert sorted(weights) == pytest.approx(sorted(np.array(into) / sum(into)), abs=2 * errors.max() + 5e-5)
    assert sum(weights) == pytest.approx(1, abs=2e-4)


def test_a_held_value_that_moves():
    """Check which record on the slide is the first record with a changed value of V2, although the swap must not change
    V2. The record changes from (1, 0) to (1, 1).
    """
    assert said(5) == "On the slide, record 2 changes from (1, 0) to (1, 1)."


def test_privacy_of_ten_records():
    """Check the privacy loss of swapping for ten records at the swap rate p = 0.1. Epsilon is ln(11) - ln(1/9) = ln 99,
    and the bound for an exchange, which changes two records, is 2 ln 99.
    """
    nine = said(9)
    claimed, twice = numbers(r"epsilon is #, and the bound for one exchange is (\d\.\d+)\.$", nine)
    assert (claimed, twice) == pytest.approx((log(99), 2 * log(99)), abs=1e-5)
    worst = numbers(r"at the output 5 is (\d\.\d+)\. The", nine)[0]
    assert log(99) < worst < 2 * log(99)
    assert numbers("at most # per record", said(6))[0] == pytest.approx(worst / 2, abs=1e-4)


def test_the_worst_pair_of_ten_records_by_enumeration():
    """Check by enumeration which pair of tables with ten records has the largest privacy loss. Five records have V1 =
    1, and five records have V2 = 1. The originals (5, 0, 0, 5) and (4, 1, 1, 4) are swapped into (0, 5, 5, 0), or the
    reverse.

    K = k records are selected with probability C(10, k) p^k q^(10 - k), k not 1. Derangements of k records are uniform,
    so the value that a record receives is that of any other selected record.
    """
    text = said(9)
    assert "the numbers of records with V1 = 1 and with V2 = 1 are (5, 5)." in text
    assert "last cells (0, 1), the privacy loss at the output 5" in text
    none = 1 - 10 * 0.1 * 0.9**9

    def derangements(k):
        return round(sum((-1) ** j * comb(k, j) * np.prod(np.arange(1, k - j + 1, dtype=float)) for j in range(k + 1)))

    def chance(k):
        return comb(10, k) * 0.1**k * 0.9 ** (10 - k) / none

    # five records have V2 = 1; all five ones must move there, and none is there: every record moves
    all_five = np.prod(np.arange(1.0, 6.0)) ** 2  # ones move to these five, zeros to the others, in any order
    from_zero = chance(10) * all_five / derangements(10)
    # one of the ones is there already: the other four and the corresponding records on the other side move; these two
    # may move, but not to their own place
    eight = np.prod(np.arange(1.0, 5.0)) ** 2
    # five places, one of which is excluded for the fifth
    nine = 2 * 4 * np.prod(np.arange(1.0, 5.0)) * np.prod(np.arange(1.0, 5.0))
    ten = (4 * np.prod(np.arange(1.0, 5.0))) ** 2
    ways = [(8, 1, eight), (9, 1, nine), (10, 1, ten)]
    from_one = sum(chance(k) / comb(10, k) * sets * way / derangements(k) for k, sets, way in ways)
    assert numbers(r"at the output 5 is (\d\.\d+)\. The", text)[0] == pytest.approx(
        abs(log(from_one / from_zero)), abs=1e-5
    )


def test_means_of_phi():
    """Check that the expected odds ratio E phi under Dir(2, 3, 4, 5) is 2 x 5/((3 - 1)(4 - 1)). E phi is infinite if a
    possible original table has a count of 0.
    """
    ignored = f"The posterior mean of phi is {10 / 6:.4f} if the swapping is ignored"
    assert said(7) == f"{ignored}, and it is inf for swapping at p = 0.1."


def test_shares_after_swapping():
    """Check that swapping half of 1,000 records moves the expected shares half of the way towards the product of the
    margins.

    (.7, .1, .1, .1) has margins .8, .2: (.64, .16, .16, .04) under independence; half way (.67, .13, .13, .07), to
    1/1000.
    """
    text = said(8)
    assert "the expected shares for (0.7, 0.1, 0.1, 0.1) are [0.67, 0.13, 0.13, 0.07]." in text
    entropies = [-sum(s * log(s) for s in shares) for shares in ((0.7, 0.1, 0.1, 0.1), (0.67, 0.13, 0.13, 0.07))]
    before, after, most = numbers("increases from # to # nats, where the maximum is ln 4 = #,", text)
    assert (before, after, most) == pytest.approx((*entropies, log(4)), abs=1e-3)


def test_nobody_selected():
    """Check the probability P(K = 0) = .9^10/(1 - 10 x .1 x .9^9) that none of ten records is selected. The frequency
    with which a table remains unchanged is compared with the compiled swap.
    """
    words = r"no record is selected is #, and the probability that the table does not change is # \(simulated #\)"
    none, stays, simulated = numbers(words, said(10))
    assert none == pytest.approx(0.9**10 / (1 - 0.9**9), abs=5e-5)
    same = (kernel.tables(SLIDES, RUNS, rate=0.1, rng=stream(2, "same")) == SLIDES).all(axis=(1, 2)).mean()
    assert stays == pytest.approx(same, abs=4 * (0.1 / RUNS) ** 0.5)
    assert simulated == pytest.approx(same, abs=4 * (0.1 / 4000) ** 0.5 + 5e-4)


def test_the_best_rate_of_ten_records():
    """Check the swap rate at which epsilon is smallest, for ten records. Epsilon is ln(11) at p = 1/2, and it is half
    as large at the odds o = sqrt(11), where p = o/(1 + o).
    """
    at_half, least, rate = numbers("epsilon is # at p = 0.5, and the smallest epsilon is # at p = #,", said(12))
    assert (at_half, least) == pytest.approx((log(11), log(11) / 2), abs=5e-5)
    assert rate == pytest.approx(exp(log(11) / 2) / (1 + exp(log(11) / 2)), abs=5e-5)
