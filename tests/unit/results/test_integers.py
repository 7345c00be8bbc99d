"""Tests of the distribution of a difference of two tied integers, by integers and fractions."""

from fractions import Fraction

import numpy as np
import pytest

from dpmultinomial import stream
from dpmultinomial._results.integers import Window
from dpmultinomial._results.joint import Pair, tied_differences


@pytest.mark.parametrize("sizes", [(1, 1), (1, 4), (5, 1), (3, 3), (7, 4), (4, 9), (40, 31)])
def test_every_weight_is_the_sum_over_its_pairs(sizes):
    """Compare with fractions of the same float64 weights, 1e-100 to 1; positive sums have errors of 1e-16 per term."""
    rng = stream(1, "differences", str(sizes))
    first, second = (10.0 ** rng.uniform(-100, 0, size) for size in sizes)
    tie = 10.0 ** rng.uniform(-100, 0, sum(sizes) - 1)
    found = tied_differences(first, second, tie)
    a, b, g = ([Fraction(float(w)) for w in weights] for weights in (first, second, tie))
    for d, value in zip(range(-(sizes[1] - 1), sizes[0]), found.tolist(), strict=True):
        exact = sum(a[i] * b[i - d] * g[2 * i - d] for i in range(sizes[0]) if 0 <= i - d < sizes[1])
        assert abs(Fraction(value) / exact - 1) < Fraction(1, 10**14)


def test_zeros_say_nothing():
    assert tied_differences([0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 1.0, 3.0, 1.0]).tolist() == [0.0, 0.0, 6.0, 0.0]


def test_a_pair_gives_the_law_that_its_listed_matrix_gives():
    rng = stream(2, "pairs")
    first, second = Window(5, rng.random(12)), Window(-3, rng.random(8))
    tie = Window(4, rng.random(9))  # sums 2 to 20: some are beyond its window and have no weight
    pair = Pair(first, second, tie)
    listed = Pair(first, second, tie, pair.matrix())
    one, two = pair.difference(), listed.difference()
    assert one.first == two.first == 5 - 4
    assert one.weights == pytest.approx(two.weights, rel=1e-13)
    assert one.weights.sum() == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0], [1.0, 2.0], [1.0]), "tie must have 2 entries, one per sum, got 1"),
        (([[1.0]], [1.0], [1.0]), "first must be one-dimensional"),
        (([1.0], [], [1.0]), "second must be one-dimensional with at least 1"),
        (([1.0], [1.0], [np.nan]), "tie must be finite"),
    ],
)
def test_bad_weights_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        tied_differences(*arguments)
