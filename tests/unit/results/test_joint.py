"""Tests of joint distributions of counts: differences of tied integers against fractions, sums against convolutions.

Ties of a few of many counts are Fourier sums; inaccurate ties are rejected.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._results import joint, spectral_ties
from dpmultinomial._results.convolutions import Unlisted, Window
from dpmultinomial._results.joint import Coupled, Pair, tied_differences
from dpmultinomial._results.spectral_ties import SpectralTies
from dpmultinomial._seeding import stream


def normal(middle: float, sd: float) -> Window:
    x = np.arange(max(round(middle - 9 * sd), 0), round(middle + 9 * sd) + 3)
    return Window(int(x[0]), np.exp(-((x - middle) ** 2) / (2 * sd**2)))


def many(k: int, width: int, seed: int, *, away: float = 0.0) -> tuple[list[Window], Window]:
    """Return k counts of random position and spread, and a root of `width` values, `away` from the middle sum."""
    rng = stream(seed, "spectral")
    factors = [normal(float(rng.integers(0, 60)), float(rng.uniform(1, 9))) for _ in range(k)]
    middle = sum(int(np.average(f.values(), weights=f.weights)) for f in factors) + round(away)
    x = np.arange(middle - width // 2, middle - width // 2 + width)
    return factors, Window(int(x[0]), np.exp(-((x - middle) ** 2) / (2 * (width / 8 + 0.1) ** 2)))


def by_convolution(factors: list[Window], root: Window, places: list[int], low: int, high: int) -> np.ndarray:
    """Compute sum_N g(N) P(rest = N - u) for u = low..high, term by term; all terms are positive."""
    rest, first = np.ones(1), 0
    for i, factor in enumerate(factors):
        if i not in places:
            rest, first = np.convolve(rest, factor.weights / factor.weights.sum()), first + factor.first
    out = np.zeros(high - low + 1)
    for n, g in zip(root.values(), root.weights, strict=True):
        at = n - np.arange(low, high + 1) - first
        good = (at >= 0) & (at < len(rest))
        out[good] += g * rest[at[good]]
    return out / out.max()


@pytest.mark.parametrize(("k", "width"), [(64, 1), (70, 40), (130, 1), (300, 60), (65, 3000)])
def test_ties_are_those_of_convolutions(k, width):
    factors, root = many(k, width, seed=k)
    ties, rng, used = SpectralTies(factors, root), stream(2, str(k)), 0
    for size in (1, 2, 3, 4) * 3:
        places = [int(i) for i in rng.choice(k, size, replace=False)]
        low, high = (sum(getattr(factors[i], end) for i in places) for end in ("first", "last"))
        found = ties.tie(places, low, high)
        if found is not None:
            used += 1
            assert found.first == low
            assert found.weights == pytest.approx(by_convolution(factors, root, places, low, high), rel=1e-12)
    assert used >= (3 if k < 100 else 6)


@pytest.mark.parametrize(("k", "p", "total"), [(90, 0.01, 1), (80, 0.02, 2), (200, 0.004, 1)])
def test_ties_of_sparse_counts_are_binomial(k, p, total):
    """Counts of 0 or 1 have a transform of 1 - 2p at the frequency 1/2, so the product of all transforms is not small
    there. Given the total, each count is 1 with probability total/k. The other counts are Binomial(k - m, p).
    """
    ties = SpectralTies([Window(0, np.array([1 - p, p]))] * k, Window(total, np.ones(1)))
    assert ties.length % 2 == 0
    assert ties.frequencies[-1] == ties.length // 2
    for window in ties.singles(np.arange(k)):
        assert window.first == 0
        assert window.weights == pytest.approx([1 - total / k, total / k], rel=1e-12)
    for m in (1, 2):
        found = ties.tie(range(m), 0, 1)
        others = [math.comb(k - m, n) * p**n * (1 - p) ** (k - m - n) for n in (total, total - 1)]
        assert found.weights == pytest.approx(np.array(others) / max(others), rel=1e-12)


@pytest.mark.parametrize("away", [-450, -300, 120, 300, 450])
def test_where_the_total_is_far_from_the_counts_nothing_wrong_is_said(away):
    """Check ties without a tilt, which decrease over many powers of ten: cancellation must be detected."""
    factors, root = many(64, 20, seed=9, away=away)
    ties = SpectralTies(factors, root)
    for places in ([0], [3, 40], [5, 6, 7]):
        low, high = (sum(getattr(factors[i], end) for i in places) for end in ("first", "last"))
        found = ties.tie(places, low, high)
        if found is not None:
            assert found.weights == pytest.approx(by_convolution(factors, root, places, low, high), rel=1e-12)
        else:
            assert abs(away) > 100


def around(factors: list[Window]) -> Window:
    """Return a root around the middle of the sum."""
    middle = sum(int(np.average(f.values(), weights=f.weights)) for f in factors)
    return Window(middle - 20, np.exp(-((np.arange(41) - 20.0) ** 2) / 50))


@pytest.mark.parametrize("sd", [9.0, 12.0, 15.0, 30.0, 150.0])
def test_wide_counts_are_divided_out_or_left_to_convolutions(sd):
    """Check four wide counts that suppress frequencies of all others, as long as they are in the product."""
    factors = [normal(400.0 if i < 4 else 30.0, sd if i < 4 else 3.0) for i in range(64)]
    root = around(factors)
    ties = SpectralTies(factors, root)
    for places in ([0, 1, 2, 3], [0], [9, 30]):
        middle = sum((factors[i].first + factors[i].last) // 2 for i in places)
        low, high = middle - 15, middle + 15
        found = ties.tie(places, low, high)
        assert found is not None or sd > 9
        if found is not None:
            assert found.weights == pytest.approx(by_convolution(factors, root, places, low, high), rel=1e-12)
    assert ties.tie([9], 0, 10**6) is None  # more values than there are waves


@pytest.mark.parametrize("nothing", [1e-12, 1e-9, 1e-6])
def test_frequencies_that_were_dropped_are_counted(nothing, monkeypatch):
    monkeypatch.setattr(spectral_ties, "_NOTHING", nothing)
    factors, root = many(200, 30, seed=12)
    ties = SpectralTies(factors, root)
    assert ties.tie([3], factors[3].first, factors[3].last) is None


@pytest.mark.parametrize("k", [63, 64, 200])
def test_pairs_of_many_tied_counts_equal_those_by_convolutions(k, monkeypatch):
    factors, root = many(k, 30, seed=k + 1)
    law = Coupled(factors, root)
    with monkeypatch.context() as without:
        without.setattr(joint, "FEWEST", 10**9)
        plain = Coupled(factors, root)
        wanted = [plain.difference_of([0], [k - 1]), plain.sum_of([1, 2, 3]), plain.difference_of([4, 5], [6, 7])]
    found = [law.difference_of([0], [k - 1]), law.sum_of([1, 2, 3]), law.difference_of([4, 5], [6, 7])]
    assert (law._spectrum is not None) == (k >= 64)
    for own, by_sums in zip(found, wanted, strict=True):
        assert own.first == by_sums.first
        assert own.weights == pytest.approx(by_sums.weights, rel=1e-11, abs=1e-30)


def test_sums_of_too_many_values_are_left_to_convolutions():
    factors = [Window(0, np.ones(3))] * 64
    with pytest.raises(Unlisted, match="values"):
        SpectralTies(factors, Window(0, np.ones(130_000)))
    wide = Coupled(factors, Window(0, np.ones(130_000)))
    assert wide._spectrum is None
    assert wide.sum_of([4, 5]).weights == pytest.approx(np.array([1, 2, 3, 2, 1]) / 9, rel=1e-12)


def test_a_thousand_differences_of_three_thousand_tied_counts():
    """Check that the mean of a difference is the difference of the means, which use another method (down the tree)."""
    rng = stream(5, "counties")
    truth = rng.negative_binomial(1, 0.02, 3143)
    noise = DiscreteGaussian(sigma=5.0)
    names = [f"c{i}" for i in range(3143)]
    release = Release(
        noise.sample(truth, rng=rng), names=names, mechanism=noise, total={"released": int(truth.sum()), "noise": noise}
    )
    found, means = posterior(release), {}
    pairs = [tuple(int(i) for i in rng.choice(3143, 2, replace=False)) for _ in range(1000)]
    answers = found.ask({f"{a}-{b}": {"difference": [names[a], names[b]]} for a, b in pairs})
    assert (answers["status"] == "exact").all()
    for (a, b), mean in zip(pairs, answers["mean"], strict=True):
        for i in (a, b):
            means.setdefault(i, found.counts[names[i]].mean())
        assert mean == pytest.approx(means[a] - means[b], abs=1e-9)


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
        (([1.0], [1.0, 2.0], [1.0]), r"tie must have one entry per sum \(2 sums\), got 1"),
        (([[1.0]], [1.0], [1.0]), "first must be one-dimensional"),
        (([1.0], [], [1.0]), "second must be one-dimensional with at least 1"),
        (([1.0], [1.0], [np.nan]), "tie must be finite"),
    ],
)
def test_bad_weights_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        tied_differences(*arguments)


def test_draws_of_enumerated_rows_have_their_weights():
    """Check three rows with the weights 1, 3 and 4 in 8,000 draws, by a chi-squared test at 1e-6."""
    law = joint.Enumerated(np.array([[0, 5], [1, 7], [2, 9]]), np.array([1.0, 3.0, 4.0]))
    draws = law.draw([1], 8000, rng=stream(1, "enumerated"))
    seen = [int((draws == value).sum()) for value in (5, 7, 9)]
    assert sum(seen) == 8000
    assert sum((n - mean) ** 2 / mean for n, mean in zip(seen, (1000, 3000, 4000), strict=True)) < 27.6
