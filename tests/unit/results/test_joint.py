"""Tests of joint distributions of counts: differences of tied integers against fractions, sums against convolutions.

Ties of selected counts among many counts are Fourier sums; inaccurate ties are rejected.
"""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._results import convolutions, joint, spectral_ties
from dpmultinomial._results.convolutions import Unlisted, Window, added_up, drawn, window_of
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


def listed(window):
    """Return a mapping from each integer of a window to its weight."""
    return dict(zip(range(window.first, window.first + len(window.weights)), window.weights.tolist(), strict=True))


def test_parts_of_a_window():
    """The weights 0, 2, 4, 8, 1 of the integers 3 to 7."""
    window = Window(3, np.array([0.0, 2.0, 4.0, 8.0, 1.0]))
    assert (window.last, window.values().tolist()) == (7, [3, 4, 5, 6, 7])
    assert listed(window.trimmed()) == {4: 0.25, 5: 0.5, 6: 1.0, 7: 0.125}
    assert listed(window.trimmed(0.125)) == {4: 0.25, 5: 0.5, 6: 1.0}  # a weight must exceed the fraction
    assert listed(window.trimmed(0.25)) == {5: 0.5, 6: 1.0}
    assert listed(window.within(4, 5)) == {4: 2.0, 5: 4.0}
    assert listed(window.within(0, 99)) == listed(window)
    assert listed(window.within(7, 9)) == {7: 1.0}
    assert listed(window.within(1, 3)) == {3: 0.0}
    assert listed(window.within(8, 9)) == {8: 0.0}
    assert listed(window.within(-2, 2)) == {-2: 0.0}
    assert listed(window.normalised()) == {3: 0.0, 4: 2 / 15, 5: 4 / 15, 6: 8 / 15, 7: 1 / 15}
    assert listed(window.reflected()) == {-7: 1.0, -6: 8.0, -5: 4.0, -4: 2.0, -3: 0.0}
    assert listed(Window(-1, np.array([2.0, 4.0, 8.0])).spread(3)) == {
        -3: 2.0, -2: 0.0, -1: 0.0, 0: 4.0, 1: 0.0, 2: 0.0, 3: 8.0}  # fmt: skip
    assert window.at(2, 4).tolist() == [0.0, 0.0, 2.0, 4.0]
    assert window.at(6, 3).tolist() == [8.0, 1.0, 0.0]
    assert window.at(7, 1).tolist() == [1.0]
    assert window.at(8, 2).tolist() == window.at(1, 2).tolist() == [0.0, 0.0]
    assert window.log_weights().tolist() == [-np.inf, *np.log([2.0, 4.0, 8.0, 1.0])]
    assert listed(window_of(np.array([2, 5, 6]), np.array([0.1, 0.7, 0.2]))) == {2: 0.1, 3: 0.0, 4: 0.0, 5: 0.7, 6: 0.2}


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8])
def test_a_sum_of_fair_coins_is_binomial(size):
    found = added_up([Window(1, np.ones(2))] * size)
    assert found.first == size
    wanted = np.array([math.comb(size, k) for k in range(size + 1)])
    assert found.weights == pytest.approx(wanted / (wanted.max() if size > 1 else 1), rel=1e-13)


@pytest.mark.parametrize(("u", "value"), [(0.0, 5), (0.2499, 5), (0.25, 7), (0.7499, 7), (0.75, 8), (0.9999, 8)])
def test_a_uniform_number_is_a_quantile_of_the_weights(u, value):
    """Weights 1, 0, 2, 1 of 5 to 8: the distribution function is 1/4 from 5 on and 3/4 from 7 on."""

    class Fixed:
        def random(self, size):
            return np.full(size, u)

    assert drawn(Window(5, np.array([1.0, 0.0, 2.0, 1.0])), 2, Fixed()).tolist() == [value, value]
    law = joint.Enumerated(np.array([[5], [7], [8]]), np.array([1.0, 2.0, 1.0]))
    assert law.draw([0], 2, rng=Fixed()).tolist() == [[value], [value]]


@pytest.mark.parametrize("theta", [-0.3, 0.0, 0.2])
def test_the_bound_of_a_tilt_is_the_sum_of_the_tilted_convolution(theta):
    a, b = np.array([1.0, 4.0, 2.0]), np.array([3.0, 6.0, 1.0, 2.0])
    sums = np.convolve(a, b) * np.exp(theta * np.arange(6))
    tilted = convolutions._Tilted(a, b)
    near, far, log_bound = tilted._covered_by(theta, 0, 6)
    assert (near, far) == (0, 5)
    assert log_bound == pytest.approx(np.log(sums.sum()) - np.log(4.0 * 6.0), rel=1e-13)
    assert tilted.logs == pytest.approx(np.log(np.convolve(a, b)) - np.log(24.0), abs=1e-13)
    assert tilted.log_scale == pytest.approx(np.log(24.0))


@pytest.mark.parametrize(("side", "ends"), [(0, (2, 4)), (1, (2, 4)), (-1, (4, 2))])
def test_a_tilt_fills_the_entries_from_low_on(side, ends):
    tilted = convolutions._Tilted(np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0]))
    assert tilted._covered_by(0.0, 2, 5, side)[:2] == ends
    assert np.isfinite(tilted.logs).tolist() == [False, False, True, True, True, False]


@pytest.mark.parametrize("size", [7, 8, 12])
def test_a_single_transform_is_used_only_for_more_products_than_the_limit(size, monkeypatch):
    """7 * 8 = 56 products are summed term by term; all results are equal to the rounding error of a transform."""
    monkeypatch.setattr(convolutions, "BRIEF", 56)
    a, b = np.arange(1.0, size + 1), np.arange(1.0, 9.0)
    wanted = np.convolve(a, b)
    transforms = []
    plain = convolutions.irfft
    monkeypatch.setattr(convolutions, "irfft", lambda *given: transforms.append(1) or plain(*given))
    assert convolutions.convolved_once(a, b) == pytest.approx(wanted, rel=1e-12)
    assert len(transforms) == (size * 8 > 56)


@pytest.mark.parametrize(("size", "direct", "transforms"), [(7, 56, False), (8, 56, True), (7, None, False)])
def test_a_convolution_is_summed_term_by_term_up_to_the_limit(size, direct, transforms, monkeypatch):
    used = []
    monkeypatch.setattr(convolutions, "_Tilted", lambda *_: used.append(1) or _NoTilt())
    monkeypatch.setattr(convolutions, "DIRECT", 56)
    a, b = np.arange(1.0, size + 1), np.arange(1.0, 9.0)
    assert convolutions.convolved(a, b, smallest=1e-40, direct=direct).tolist() == np.convolve(a, b).tolist()
    assert bool(used) == transforms


class _NoTilt:
    def covered(self, smallest):
        return None


def test_transforms_have_logs_phases_and_a_smallest_size():
    """|3 + 4i| = 5; 0 has the smallest size and the phase 1."""
    logs, phases = spectral_ties._polar(np.array([3 + 4j, 0j, -2j]))
    assert logs == pytest.approx([math.log(5), math.log(1e-14), math.log(2)])
    assert phases == pytest.approx([0.6 + 0.8j, 1, -1j])


@pytest.mark.parametrize("size", [1, 3, 4, 5, 7])
def test_a_bound_on_a_product_omits_the_four_smallest_factors(size):
    sizes = np.array([[0.5], [0.25], [0.9], [0.1], [0.7], [0.3], [0.8]])[:size]
    bound = spectral_ties._bound(*spectral_ties._products(sizes.astype(complex)))
    assert bound == pytest.approx([np.log(np.sort(sizes, axis=0)[4:]).sum()], abs=1e-12)


def test_transforms_are_processed_in_blocks(monkeypatch):
    monkeypatch.setattr(spectral_ties, "_TOGETHER", 12)
    places = np.arange(7)
    parts = {width: [part.tolist() for part in spectral_ties._blocks(places, width)] for width in (4, 5, 12, 13, 99)}
    assert parts[4] == [[0, 1, 2], [3, 4, 5], [6]]
    assert parts[5] == [[0, 1], [2, 3], [4, 5], [6]]
    assert parts[12] == parts[13] == parts[99] == [[i] for i in range(7)]


def test_rows_of_different_width_are_padded_and_positions_are_spread():
    padded = spectral_ties._padded([np.array([1.0, 2.0]), np.array([3.0])], 3)
    assert padded.tolist() == [[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]]
    assert spectral_ties._sampled(11, 3).tolist() == [0, 5, 10]
    assert spectral_ties._sampled(4, 4).tolist() == [0, 1, 2, 3]
    assert spectral_ties._sampled(9, 1).tolist() == [0]


def test_the_length_of_a_transform_exceeds_the_differences_of_all_sums():
    """No two of the sums first..last, shifted by up to four counts and the values of the root, coincide."""
    factors, root = many(80, 50, seed=3)
    for one in (root, Window(root.first - 900, root.weights), Window(root.first + 900, root.weights)):
        ties = SpectralTies(factors, one)
        reach = max(one.last - ties.first, ties.last - one.first, ties.last - ties.first) + 4 * ties.widest
        assert 2 * reach + 1 <= ties.length <= 1.1 * (2 * reach + 1) + 64
        assert ties.widest == max(len(factor.weights) for factor in factors)


def test_sums_outside_their_range_are_improbable_and_the_range_is_not_much_too_wide():
    """The sum of 400 fair coins has the mean 200 and the sd 10; Chernoff's bound is 1e-26 at about 11 sd."""
    ties = SpectralTies([Window(0, np.ones(2))] * 400, None, smooth=True)
    assert (ties.root.first, len(ties.root.weights)) == ((ties.first + ties.last) // 2, 1)
    assert ties.first + ties.last == 400
    assert 200 - ties.first >= 105
    assert 200 - ties.first <= 125
    free = ties.free()
    assert (free.first, free.last) == (ties.first, ties.last)
    exact = np.array([math.comb(400, n) for n in range(ties.first, ties.last + 1)], dtype=float)
    assert free.weights / free.weights.max() == pytest.approx(exact / exact.max(), abs=1e-13)


def test_single_counts_are_those_of_convolutions_also_of_different_widths():
    factors, root = many(150, 40, seed=21)
    ties = SpectralTies(factors, root)
    found = ties.singles(np.arange(150))
    assert sum(law is not None for law in found) > 100
    for i in (0, 7, 80, 149):
        if found[i] is not None:
            tie = by_convolution(factors, root, [i], factors[i].first, factors[i].last)
            weights = factors[i].weights * tie
            assert found[i].first == factors[i].first
            assert found[i].weights == pytest.approx(weights / weights.sum(), rel=1e-9, abs=1e-14)


def test_a_tie_has_at_most_as_many_values_as_there_are_waves():
    """The widest count has three values: there are twelve waves, three for each of up to four counts."""
    factors, root = [Window(0, np.ones(3))] * 64, Window(64, np.ones(1))
    ties = SpectralTies(factors, root)
    assert len(ties.waves) == 12
    found = ties.tie([0, 1, 2, 3], 0, 11)
    assert found.weights == pytest.approx(by_convolution(factors, root, [0, 1, 2, 3], 0, 11), rel=1e-12)
    assert ties.tie([0, 1, 2, 3], 0, 12) is None


@pytest.fixture
def small(monkeypatch):
    """Return seven counts with separate weights, a root, and the probabilities of all vectors by enumeration."""
    rng = stream(31, "small")
    factors = [Window(int(rng.integers(-1, 3)), rng.uniform(0.1, 1.0, int(rng.integers(2, 4)))) for _ in range(7)]
    middle = sum(factor.first + 1 for factor in factors)
    root = Window(middle - 2, np.array([0.5, 1.0, 0.8, 0.2, 0.7]))
    grid = np.meshgrid(*(factor.values() for factor in factors), indexing="ij")
    vectors = np.stack([axis.ravel() for axis in grid], axis=1)
    p = np.prod([f.weights[vectors[:, i] - f.first] for i, f in enumerate(factors)], axis=0)
    p *= np.array([root.at(int(n), 1)[0] for n in vectors.sum(axis=1)])
    return factors, root, vectors, p / p.sum()


def chances(values, p):
    """Return the probabilities of all values that have one."""
    return {int(v): float(p[values == v].sum()) for v in np.unique(values[p > 0])}


def close(window, wanted):
    found = {n: w for n, w in listed(window).items() if w > 0}
    assert found == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("places", [[0], [6], [2, 5], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6], [6, 5, 1]])
def test_sums_of_a_few_tied_counts_equal_enumeration(small, places):
    factors, root, vectors, p = small
    law = Coupled(factors, root)
    close(law.sum_of(places), chances(vectors[:, places].sum(axis=1), p))
    close(law.total, chances(vectors.sum(axis=1), p))
    assert law.scaled(0.25).unit == 0.25
    assert law.unit == 1.0
    if len(places) > 1:
        close(
            law.difference_of(places[:1], places[1:]),
            chances(vectors[:, places[0]] - vectors[:, places[1:]].sum(axis=1), p),
        )
        pair = law.pair_of(places[:1], places[1:])
        matrix = pair.matrix()
        for (i, s), (j, t) in (
            ((0, pair.first.first), (0, pair.second.first)),
            ((1, pair.first.first + 1), (1, pair.second.first + 1)),
        ):
            both = (vectors[:, places[0]] == s) & (vectors[:, places[1:]].sum(axis=1) == t)
            assert matrix[i, j] == pytest.approx(p[both].sum(), rel=1e-11, abs=1e-300)


def test_draws_of_tied_counts_have_their_probabilities(small):
    """Check all vectors with at least 20 expected draws, each by 6 standard deviations of a binomial."""
    factors, root, vectors, p = small
    draws = Coupled(factors, root).draw(range(7), 8000, rng=stream(4, "tied draws"))
    assert set(map(tuple, draws.tolist())) <= set(map(tuple, vectors[p > 0].tolist()))
    for vector, chance in zip(vectors, p, strict=True):
        if chance > 0.0025:
            seen = (draws == vector).all(axis=1).sum()
            assert abs(seen - 8000 * chance) < 6 * np.sqrt(8000 * chance)
    part = Coupled(factors, root).draw([6, 2], 8000, rng=stream(4, "tied draws"))
    for column, place in enumerate((6, 2)):
        for value, chance in chances(vectors[:, place], p).items():
            assert abs((part[:, column] == value).sum() - 8000 * chance) < 6 * np.sqrt(8000 * chance)
    assert Coupled(factors, root).draw([], 3, rng=stream(4, "none")).shape == (3, 0)


@pytest.mark.parametrize("place", range(7))
def test_a_count_and_the_sum_of_all_others(small, place):
    """The weights of the others are those of a convolution, for all sums that the root and the count allow."""
    factors, root, _, _ = small
    own, others = Coupled(factors, root).beside(place)
    scale = factors[place].weights.max()
    assert listed(own) == pytest.approx({n: w / scale for n, w in listed(factors[place]).items()})
    rest = added_up([factor for i, factor in enumerate(factors) if i != place])
    low, high = max(rest.first, root.first - own.last), min(rest.last, root.last - own.first)
    assert (others.first, others.last) == (low, high)
    wanted = rest.at(low, high - low + 1)
    assert others.weights / others.weights.max() == pytest.approx(wanted / wanted.max(), rel=1e-12)


def test_counts_with_shared_factors_equal_enumeration():
    """Five counts of two kinds, in mixed order."""
    factors = [Window(0, np.array([1.0, 2.0, 0.5])), Window(1, np.array([1.0, 3.0]))]
    which, root = np.array([1, 0, 0, 1, 0]), Window(3, np.array([1.0, 0.5, 2.0]))
    law = Coupled(factors, root, which=which)
    assert law.shared
    grid = np.meshgrid(*(factors[k].values() for k in which), indexing="ij")
    vectors = np.stack([axis.ravel() for axis in grid], axis=1)
    p = np.prod([factors[k].weights[vectors[:, i] - factors[k].first] for i, k in enumerate(which)], axis=0)
    p *= np.array([root.at(int(n), 1)[0] for n in vectors.sum(axis=1)])
    p /= p.sum()
    for place in range(5):
        close(law.sum_of([place]), chances(vectors[:, place], p))
    close(law.sum_of([0, 1]), chances(vectors[:, :2].sum(axis=1), p))
    close(law.total, chances(vectors.sum(axis=1), p))
    one, other = law.singles([0, 1])
    close(one, chances(vectors[:, 1], p))
    close(other, chances(vectors[:, 0], p))


@pytest.mark.parametrize(("times", "most"), [(0, 0), (1, 1), (2, 2), (3, 3), (6, 6), (7, 7)])
def test_a_power_of_a_coin_is_binomial(times, most):
    kinds = joint._Kinds([Window(2, np.ones(2))], [1], tails=True)
    power = kinds._power(Window(2, np.ones(2)), times)
    wanted = np.array([math.comb(times, k) for k in range(most + 1)], dtype=float)
    assert power.first == 2 * times
    assert power.weights / power.weights.max() == pytest.approx(wanted / wanted.max(), rel=1e-13)


def test_counts_that_contradict_the_sum_are_rejected():
    with pytest.raises(joint.Incompatible, match=r"\(2 to 4 according to the counts, 7 to 8 according to the sum\)"):
        Coupled([Window(1, np.ones(2)), Window(1, np.ones(2))], Window(7, np.ones(2)))


@pytest.mark.parametrize(
    ("many_from", "uneven", "smooth"), [(60, 3.75, True), (61, 3.75, False), (60, 3.74, False), (60, 4, True)]
)
def test_fourier_sums_of_all_counts_need_many_counts_of_similar_width(many_from, uneven, smooth, monkeypatch):
    """60 counts, of which 12 have 12 values and 48 have one: 60 * 12 = 720 is 3.75 times the sum, 192."""

    class Spectrum:
        def __init__(self, factors, root, *, smooth):
            assert smooth

        def free(self):
            return Window(0, np.ones(900))

    monkeypatch.setattr(joint, "MANY", many_from)
    monkeypatch.setattr(joint, "_UNEVEN", uneven)
    monkeypatch.setattr(joint, "SpectralTies", Spectrum)
    factors = [Window(0, np.ones(12))] * 12 + [Window(0, np.ones(1))] * 48
    assert (Coupled(factors, Window(0, np.ones(800)))._smooth is not None) == smooth


@pytest.mark.parametrize(("level", "smooth"), [(0.5, False), (0.51, True)])
def test_fourier_sums_are_used_only_if_the_sum_needs_no_accurate_tails(level, smooth, monkeypatch):
    """The root is largest where the weight of the sum is `level` times the largest; the limit is set to 0.5."""
    monkeypatch.setattr(joint, "MANY", 3)
    monkeypatch.setattr(joint, "_LEVEL", 0.5)
    free = SimpleNamespace(free=lambda: Window(0, np.array([level, 1.0, level])))
    monkeypatch.setattr(joint, "SpectralTies", lambda *_, **how: free)
    law = Coupled([Window(0, np.ones(2))] * 3, Window(0, np.array([1.0, 1e-9])))
    assert (law._smooth is not None) == smooth


def test_the_level_of_a_sum_is_its_largest_common_weight():
    """Weights 1, 4, 2 of 0 to 2 and 10, 1 of 2 to 3: only 2 is common, 2 * 10/(4 * 10)."""
    free, root = Window(0, np.array([1.0, 4.0, 2.0])), Window(2, np.array([10.0, 1.0]))
    assert joint._level(free, root) == 0.5
    assert joint._rounding(2) == 3e-15
    assert joint._rounding(100) == pytest.approx(4e-14, rel=1e-9, abs=0)
    assert [joint._between(np.array([1, 4, 4, 9]), *ends) for ends in ((0, 1), (1, 2), (1, 5), (4, 9), (4, 10))] == [
        0, 1, 3, 2, 3]  # fmt: skip


def test_splits_of_a_sum_have_the_weights_of_their_parts():
    """Parts 0..2 with weights 1, 2, 3 and 5..6 with weights 1, 4: the sum 7 is 1 + 6 or 2 + 5 with 8 : 3."""
    left, right = Window(0, np.array([1.0, 2.0, 3.0])), Window(5, np.array([1.0, 4.0]))
    whole = np.repeat([7, 5, 8, 6], [11_000, 3, 3, 6_000])
    found = joint._split(left, right, whole, stream(2, "split"))
    assert set(found[whole == 5].tolist()) == {0}
    assert set(found[whole == 8].tolist()) == {2}
    assert abs((found[whole == 7] == 1).sum() - 8000) < 6 * np.sqrt(11_000 * 8 / 11 * 3 / 11)
    assert set(found[whole == 7].tolist()) == {1, 2}
    # 6 is 0 + 6 or 1 + 5 with 4 : 2
    assert abs((found[whole == 6] == 0).sum() - 4000) < 6 * np.sqrt(6_000 * 2 / 9)


def test_independent_counts_are_rounded_to_their_unit_and_drawn_separately():
    from dpmultinomial._accuracy import EXACT
    from dpmultinomial._results.distributions import Discrete

    laws = [([0.0, 0.5, 0.75], [0.25, 0.5, 0.25]), ([0.25, 0.5], [0.5, 0.5])]
    law = joint.Independent(lambda i: Discrete(*laws[i], name=str(i), type="share", accuracy=EXACT), unit=0.25)
    assert listed(law.window(0)) == {0: 0.25, 1: 0.0, 2: 0.5, 3: 0.25}
    assert listed(law.sum_of([0, 1])) == {1: 0.125, 2: 0.125, 3: 0.25, 4: 0.375, 5: 0.125}
    assert listed(law.difference_of([0], [1])) == {-2: 0.125, -1: 0.125, 0: 0.25, 1: 0.375, 2: 0.125}
    draws = law.draw([1, 0], 4000, rng=stream(1, "independent"))
    assert abs((draws[:, 0] == 1).sum() - 2000) < 6 * np.sqrt(1000)
    assert abs((draws[:, 1] == 2).sum() - 2000) < 6 * np.sqrt(1000)
    assert set(draws[:, 1].tolist()) == {0, 2, 3}


@pytest.mark.parametrize(("size", "transform"), [(8, True), (9, False)])
def test_a_free_sum_of_many_counts_is_one_transform(size, transform, monkeypatch):
    """Coins: binomial weights, with the absolute accuracy of the largest or with small relative errors."""
    monkeypatch.setattr(joint, "MANY", size if transform else size + 1)
    used = []
    plain = joint.SpectralTies
    monkeypatch.setattr(joint, "SpectralTies", lambda *given, **how: used.append(1) or plain(*given, **how))
    factors = [Window(0, np.ones(2))] * size
    wanted = np.array([math.comb(size, k) for k in range(size + 1)], dtype=float)
    for tails in (False, True):
        found = joint.free_sum(factors, np.arange(size), tails=tails)
        assert found.first == 0
        assert found.weights / found.weights.max() == pytest.approx(wanted / wanted.max(), rel=1e-9)
    assert len(used) == transform
    shared = joint.free_sum([Window(0, np.ones(2))], np.zeros(size, dtype=int))
    assert shared.weights / shared.weights.max() == pytest.approx(wanted / wanted.max(), rel=1e-12)


def test_an_improbable_sum_of_equal_counts_has_a_small_relative_error():
    """The sum of 2 x 120 counts is given to be five values of 1e-9 of the largest probability: all by direct sums."""
    factors = [np.exp(-np.arange(40) / 8), np.exp(-((np.arange(40) - 20) ** 2) / 50)]
    free = np.ones(1)
    for factor in np.repeat(factors, 120, axis=0):
        free = np.convolve(free, factor / factor.sum())
    first = int(np.flatnonzero(free > 1e-9 * free.max())[-1])
    given = Coupled([Window(0, factor) for factor in factors], Window(first, np.ones(5)), which=np.repeat([0, 1], 120))
    near = free[first : first + 5]
    assert given.total.at(first, 5) == pytest.approx(near / near.sum(), rel=1e-11, abs=0)
