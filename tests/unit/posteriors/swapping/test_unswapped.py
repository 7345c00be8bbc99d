"""Tests of swapped tables that cannot be listed: spectra, enumeration, references, and agreement of posteriors."""

from fractions import Fraction
from functools import partial
from itertools import permutations
from math import comb
from types import SimpleNamespace

import mpmath
import numpy as np
import pandas as pd
import pytest
from reference import swapping as reference_swaps
from reference import unswapping as reference_moves
from scipy.special import gammaln, logsumexp
from scipy.stats import chisquare, norm

from dpmultinomial import _accuracy
from dpmultinomial._accounting import swapping as accounting
from dpmultinomial._mechanisms.swapping import exact_swapping, permutation_swaps, swap_crossings, two_by_two
from dpmultinomial._mechanisms.swapping import swapping as mechanism
from dpmultinomial._posteriors.swapping import (
    swapped_batches,
    swapped_table,
    unknown_rate,
    unswapped,
    unswapping,
)
from dpmultinomial._posteriors.swapping.log_odds import CommonOdds, common_odds_ratio
from dpmultinomial._posteriors.swapping.unswapped import MixedLaw, StrataLaw, TwoRowLaw
from dpmultinomial._seeding import stream

RATES = (1e-6, 0.01, 0.1, 0.37, 0.5, 0.9, 0.9999)


# --- 2 x 2: positive sums ---


@pytest.mark.parametrize(("n", "small", "other"), [(2, 1, 1), (7, 3, 4), (12, 1, 6), (31, 9, 14), (60, 2, 33)])
@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.9])
def test_crossings_equal_their_reference(n, small, other, rate):
    ours = swap_crossings.log_weights(n, small, rate=rate)
    assert np.allclose(ours, reference_swaps.log_weights(n, small, rate=rate), rtol=1e-13, atol=2e-12)
    assert np.exp(ours).sum() == pytest.approx(1, abs=1e-13)
    for at in {0, small // 2, small}:
        slow = reference_swaps.log_law(n, small, other, at, rate=rate)
        assert np.allclose(swap_crossings.log_law(n, small, other, at, rate=rate), slow, rtol=1e-13, atol=2e-12)


@pytest.mark.parametrize(
    "table",
    [[[9, 0], [1, 10]], [[12, 1], [0, 11]], [[1, 49], [50, 3]], [[30, 30], [30, 30]], [[1, 0], [0, 1]],
     [[1, 1], [0, 1]], [[70, 10], [10, 10]], [[2, 150], [40, 8]]],
)  # fmt: skip
@pytest.mark.parametrize("rate", RATES)
def test_positive_sums_equal_the_spectrum_in_every_tail(table, rate):
    old, new = exact_swapping.row(table, rate=rate), two_by_two.row(table, rate=rate)
    assert np.array_equal(old.x, new.x)
    assert old.position == new.position
    for a, b in ((old.log_forward, new.log_forward), (old.log_backward, new.log_backward)):
        assert np.all(np.abs(a - b) <= 1e-12 + 4e-15 * np.abs(a))


def test_weights_equal_whole_number_counts_of_crossings():
    """Check n = 5, r = 2 at rate 1/2: all 120 permutations, by how many of the first two records give outside."""
    derangements = [1, 0, 1, 2, 9, 44]
    total, expected = Fraction(0), [Fraction(0)] * 3
    for sigma in permutations(range(5)):
        k = sum(i != s for i, s in enumerate(sigma))
        p = Fraction(comb(5, k), 32) / (comb(5, k) * derangements[k]) if k != 1 else Fraction(0)
        total += p
        expected[sum(sigma[i] >= 2 for i in range(2))] += p
    found = np.exp(swap_crossings.log_weights(5, 2, rate=0.5))
    assert np.allclose(found, [float(e / total) for e in expected], rtol=1e-14)


def share(k, i):
    """Compute g(k, i) of `swap_crossings` with mpmath."""
    total, term = mpmath.mpf(0), mpmath.mpf(1)
    for f in range(min(k - i, 40) + 1):
        total += term
        term *= mpmath.mpf(i + f - k) / (max(k - f, 1) * (f + 1))
    return total


@pytest.mark.parametrize(
    ("n", "small", "rate", "places"),
    [
        pytest.param(700, 260, 0.5, (25, 70), marks=pytest.mark.thorough),
        (300, 110, 0.5, (0, 1, 60, 110)),
        (300, 30, 0.03, (0, 3)),
        (200, 100, 0.97, (50, 97)),
    ],
)
def test_crossings_of_hundreds_of_records_equal_every_term_with_thirty_digits(n, small, rate, places):
    """Check i = 25 and 70 of 260, where both sums have strides."""
    ours = swap_crossings.log_weights(n, small, rate=rate)
    with mpmath.workdps(30):
        odds, choose = mpmath.mpf(rate) / (1 - mpmath.mpf(rate)), mpmath.binomial
        powers = [odds**k * mpmath.factorial(k) for k in range(n + 1)]
        whole = np.array([1 / share(k, 0) / mpmath.factorial(k) if k != 1 else mpmath.mpf(0) for k in range(n + 1)])
        norm = (1 - mpmath.mpf(rate)) ** n / (1 - n * rate * (1 - mpmath.mpf(rate)) ** (n - 1))
        for i in places:
            one, two = (
                np.array([choose(size, k) * powers[k] * choose(k, i) * share(k, i) for k in range(i, size + 1)])
                for size in (small, n - small)
            )
            total = mpmath.fsum(x * (two @ whole[i + k : i + k + len(two)]) for k, x in enumerate(one, i))
            assert ours[i] == pytest.approx(float(mpmath.log(total * norm)), rel=5e-16, abs=1e-13)


@pytest.mark.parametrize(
    ("n", "small", "other", "at", "rate"),
    [(1200, 500, 550, 230, 0.5), (700, 260, 330, 20, 0.1), (300, 110, 140, 110, 0.03), (200, 30, 90, 0, 0.97)],
)
def test_laws_of_hundreds_of_records_equal_every_term_with_thirty_digits(n, small, other, at, rate):
    """Compute P(at | y) given the weights w_i, as the double sum over u and j = i - u, with strides in both."""
    ours = swap_crossings.log_law(n, small, other, at, rate=rate)
    logs, m = swap_crossings.log_weights(n, small, rate=rate), n - small
    with mpmath.workdps(30):
        choose = mpmath.binomial
        omega = np.array([mpmath.exp(x) / choose(small, i) / choose(m, i) for i, x in enumerate(logs.tolist())])
        for y in sorted({0, small // 9, max(at - 40, 0), at, small // 2, small}):
            u = range(max(0, y - at), min(y, other - at) + 1)
            j = range(max(0, at - y), min(small - y, m - other + at) + 1)
            one = [choose(y, k) * choose(other - y, k + at - y) for k in u]
            two = np.array([choose(small - y, k) * choose(m - other + y, k - at + y) for k in j])
            total = mpmath.fsum(x * (two @ omega[k + j[0] : k + j[0] + len(two)]) for k, x in zip(u, one, strict=True))
            assert ours[y] == pytest.approx(float(mpmath.log(total)), rel=1e-15, abs=2e-13)


@pytest.mark.parametrize(
    ("n", "small", "other", "at", "rate"),
    [(10_000, 5000, 5000, 2600, 0.1), (10_000, 5000, 5000, 2400, 0.01), (4000, 1200, 1800, 900, 0.5),
     (1_000_000, 1000, 499_550, 450, 0.1), (1_000_000, 1000, 1000, 500, 1e-4), (2**40, 40, 2**38, 3, 0.2),
     (300_000, 50, 150_000, 20, 0.9999)],
)  # fmt: skip
def test_large_classes_add_up_and_have_the_closed_mean(n, small, other, at, rate):
    """Check reversibility: sum_y h(y) P(at | y) = h(at), and the mean of one more swap."""
    backward = swap_crossings.log_law(n, small, other, at, rate=rate)
    y = np.arange(small, dtype=float)
    steps = np.log((other - y) * (small - y) / ((y + 1) * (n - other - small + y + 1)))
    ratios = np.concatenate([-np.cumsum(steps[:at][::-1])[::-1], [0.0], np.cumsum(steps[at:])])
    forward = np.exp(backward + ratios)
    size = -backward.min() * 4e-15
    assert forward.sum() == pytest.approx(1, abs=1e-12 + size)
    e = small * other / n
    if n <= 1e6:
        first = mechanism.attenuation(n, rate=rate)[0]
        assert forward @ np.arange(small + 1) == pytest.approx(e + first * (at - e), rel=1e-10)


def test_the_window_and_the_shared_weights_change_nothing_that_is_left():
    whole = swap_crossings.log_law(3000, 800, 1400, 500, rate=0.2)
    memory = np.full(801, np.nan)
    prior = np.linspace(0, 30, 801)
    for _ in range(2):
        part = swap_crossings.log_law(3000, 800, 1400, 500, rate=0.2, log_prior=prior, window=75.0, log_w=memory)
        kept = np.isfinite(part)
        assert 20 < kept.sum() < 700
        assert np.allclose(part[kept], whole[kept], rtol=0, atol=1e-12)
        posterior = whole + prior
        assert logsumexp(posterior[~kept]) - logsumexp(posterior) < -70
    assert 0 < np.isfinite(memory).sum() < 801


def test_exact_posteriors_take_either_road():
    table, alpha = np.array([[60, 25], [20, 55]]), np.array([0.5, 1.0, 2.0, 1.0])
    assert table.sum() > exact_swapping.SPECTRAL_UP_TO
    new = swapped_table.exact(table, rate=0.2, alpha=alpha)
    row = exact_swapping.row(table, rate=0.2)
    tables = row.tables(table)
    logs = row.log_backward + swapped_table.log_dirichlet_multinomial(tables.reshape(-1, 4), alpha)
    assert new.acceptance == pytest.approx(np.exp(logsumexp(logs)), rel=1e-11)
    kept = np.isin(tables[:, 1, 1], new.tables[:, 1, 1])
    assert np.allclose(new.weights, np.exp(logs - logsumexp(logs))[kept], rtol=1e-10, atol=0)
    assert np.array_equal(np.array(two_by_two.log_prior_ratios(table, alpha)).round(9),
                          (logs - row.log_backward - (logs - row.log_backward)[row.position]).round(9))  # fmt: skip


# --- r x c: transfer over columns ---


@pytest.mark.parametrize(
    "table", [[[1, 0, 2], [0, 2, 1]], [[1, 1], [0, 2], [2, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 2], [3, 1]]]
)
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_listed_classes_equal_their_reference_in_fractions(table, rate):
    table = np.array(table)
    n = int(table.sum())
    exact = [Fraction(a, 1 << 600) for a in exact_swapping.mixture_coefficients(n, rate, 600)]
    tables, logs = reference_swaps.originals(table, exact)
    found, log_p, loss = permutation_swaps.originals(
        table, np.array([float(a) for a in exact]), most_tables=1000, most_work=1e9
    )
    order = np.lexsort(found.reshape(len(found), -1).T[::-1])
    assert np.array_equal(found[order], tables)
    assert np.allclose(log_p[order], logs, rtol=0, atol=1e-14 * loss.max() + 1e-14)
    assert np.all(loss >= 1 - 1e-15)
    listed, forward, backward = exact_swapping.class_law(table, rate=rate)
    if table.shape != (2, 2):
        assert np.array_equal(listed, tables)
        assert np.allclose(backward, logs, rtol=0, atol=1e-13)
        assert np.exp(forward).sum() == pytest.approx(1, abs=1e-13)


def test_listing_refuses_what_is_too_large():
    with pytest.raises(ValueError, match="the exact distribution of swaps is not available"):
        exact_swapping.class_law(np.full((5, 8), 8), rate=0.1)
    with pytest.raises(ValueError, match="most_tables = 3"):
        permutation_swaps.originals(np.full((3, 3), 2), np.ones(19), most_tables=3, most_work=1e9)
    with pytest.raises(ValueError, match="cancellation"):
        exact_swapping.class_law(np.eye(7, dtype=int), rate=0.9999)


# --- 2 x c without listing ---


@pytest.mark.parametrize("table", [[[3, 2, 4], [1, 5, 2]], [[2, 2, 2, 2], [4, 1, 0, 3]], [[3, 1], [2, 5], [4, 2]],
                                   [[0, 3, 1], [6, 1, 2]]])  # fmt: skip
@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_two_rows_equal_the_listed_law(table, rate):
    table = np.array(table)
    alpha = np.linspace(0.5, 2, table.size)
    law, exact = TwoRowLaw(table, alpha, rate=rate), swapped_table.exact(table, rate=rate, alpha=alpha)
    assert law.log_acceptance == pytest.approx(exact.log_acceptance, abs=1e-12)
    for cell in range(table.size):
        assert np.allclose(law.marginal(cell), exact.counts.marginal(cell), rtol=0, atol=1e-13)
    drawn = law.draw(20_000, rng=stream(1, "two rows", str(rate)))
    listed = exact.tables.reshape(len(exact.tables), -1)
    counts = np.array([(drawn == t).all(axis=1).sum() for t in listed])
    assert counts.sum() == len(drawn)
    common = exact.weights * len(drawn) > 5
    pooled = np.append(counts[common], counts[~common].sum())
    expected = np.append(exact.weights[common], exact.weights[~common].sum()) * len(drawn)
    assert chisquare(pooled[expected > 0], expected[expected > 0]).pvalue > 1e-4  # false alarm 8e-4 in all


def test_two_rows_at_scale_equal_the_two_by_two_law():
    table = np.array([[150, 130], [110, 140]])
    law, exact = TwoRowLaw(table, np.ones(4), rate=0.3), swapped_table.exact(table, rate=0.3)
    assert np.allclose(law.marginal(3), exact.counts.marginal(3), rtol=0, atol=1e-12)
    assert law.log_acceptance == pytest.approx(exact.log_acceptance, abs=1e-10)


# --- the chain aimed at moved records ---


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("table", [[[3, 1, 2], [0, 4, 1]], [[1, 2], [3, 4]]])
def test_moves_equal_their_reference(table, rate):
    table = np.array(table)
    n = int(table.sum())
    logs, alpha = exact_swapping.log_permutation_weights(n, rate=rate), np.linspace(0.5, 2, table.size)
    one, two = np.arange(n), np.arange(n)
    ours = unswapping.moved_chain(table, one, logs, alpha, draws=150, thin=7, rng=stream(1, "moves"))
    slow = reference_moves.moved_chain(table, two, logs, alpha, draws=150, thin=7, rng=stream(1, "moves"))
    assert all(np.array_equal(a, b) for a, b in zip(ours, slow, strict=True))
    assert np.array_equal(one, two)
    assert len(set(ours[1].tolist())) > 2


@pytest.mark.parametrize(("table", "rate"), [([[1, 2], [3, 4]], 0.5), ([[1, 2], [3, 4]], 0.05),
                                             ([[1, 0, 2], [1, 2, 0]], 0.3), ([[1, 1], [1, 0]], 0.9)])  # fmt: skip
def test_moves_have_the_exact_law(table, rate):
    table = np.array(table)
    n = int(table.sum())
    alpha = np.linspace(0.5, 1.5, table.size)
    exact = swapped_table.exact(table, rate=rate, alpha=alpha)
    logs = exact_swapping.log_permutation_weights(n, rate=rate)
    start = np.arange(n)
    drawn, _ = unswapping.moved_chain(table, start, logs, alpha, draws=200_000, thin=5, rng=stream(2, "law", str(rate)))
    for original, weight in zip(exact.tables.reshape(-1, table.size), exact.weights, strict=True):
        hit = (drawn == original).all(axis=1).reshape(100, -1).mean(axis=1)
        if weight > 1e-3:
            assert abs(hit.mean() - weight) < 4.5 * hit.std(ddof=1) / 10  # t of 99 df, 4 to 7 weights: 5e-4 in all


def test_chains_say_whether_they_agree():
    rng = stream(3, "chains")
    good = unswapped.sample(np.full((3, 4), 4), np.ones(12), rate=0.2, rng=rng)
    assert good.accuracy.status == "converged"
    assert good.ess.min() >= _accuracy.LEAST_ESS
    assert good.rhat.max() <= _accuracy.LARGEST_RHAT
    bad = unswapped.sample(np.full((5, 8), 60), np.ones(40), rate=0.5, rng=rng, most_moves=100_000)
    assert bad.accuracy.status == "not converged"
    assert bad.ess.min() < _accuracy.LEAST_ESS
    one = unswapped.sample(np.array([[1, 0], [0, 0]]), np.ones(4), rate=0.5, rng=rng)
    assert one.accuracy.status == "exact"


# --- any shape, strata, unknown rates ---


def test_infer_chooses_and_every_road_agrees():
    table = np.array([[3, 1, 2], [1, 4, 2], [2, 2, 2]])
    exact, chain = (
        unswapped.infer(table, rate=0.15, rng=stream(4, "roads"), alpha=0.7, method=m) for m in ("auto", "chain")
    )
    assert (exact.how, exact.accuracy.status) == (("listed",), "exact")
    assert (chain.how, chain.accuracy.status) == (("chain",), "converged")
    gap = np.abs(exact.mean() - chain.mean()) / np.sqrt(exact.variance())
    assert gap.max() < 0.15  # within-sd shares of 400 effective draws or more: 3 standard errors
    wide = unswapped.infer([[40, 35, 30], [25, 30, 35]], rate=0.1, rng=stream(4, "wide"))
    assert wide.how == ("two rows",)
    far = unswapped.infer(np.full((5, 8), 8), rate=0.1, rng=stream(4, "far"))
    assert far.how == ("chain",)
    assert list(far.summary().columns) == list(_accuracy.SUMMARY)
    assert "converged" in repr(far)
    with pytest.raises(ValueError, match="the exact distribution of swaps is not available"):
        unswapped.infer(np.full((5, 8), 8), rate=0.1, rng=stream(4, "far"), method="exact")


def test_strata_are_independent_given_their_margins():
    layers = np.array([[[1, 2], [3, 4]], [[2, 1], [2, 3]]])
    both = unswapped.infer(layers, rate=0.3, rng=stream(5, "strata"))
    for k, layer in enumerate(layers):
        alone = swapped_table.exact(layer, rate=0.3)
        counts = alone.tables.reshape(-1, 4)
        expected = (alone.weights @ counts + 1) / (layers.sum() + 8)
        assert np.allclose(np.asarray(both.mean()).reshape(2, 4)[k], expected, rtol=1e-12)
    law = both.counts
    assert isinstance(law, StrataLaw)
    s, t, w = law.pair(0, [1, 2, 3, 4, 5, 6, 7])
    assert np.all((s + t == layers.sum()) | (w < 1e-15))
    with pytest.raises(ValueError, match="no cell of each of the other strata"):
        law.pair(0, [4])
    drawn = law.draw(50, rng=stream(5, "draw")).reshape(50, 2, 2, 2)
    assert (drawn.sum(axis=3) == layers.sum(axis=2)).all()


def test_an_unknown_rate_is_averaged_by_bayes():
    """Compute the Beta(2, 5) prior of the rate on a grid of 4,000 midpoints, with exact acceptance probabilities."""
    table = [[4, 1], [2, 6]]
    found = unknown_rate.infer_rate(table, prior=(2, 5))
    rates = (np.arange(4000) + 0.5) / 4000
    laws = [swapped_table.two_by_two_posterior(np.array(table), float(r), np.ones(4)) for r in rates[::40]]
    like = np.interp(rates, rates[::40], [law.acceptance for law in laws])
    weights = rates * (1 - rates) ** 4 * like
    assert found.mean() == pytest.approx(weights @ rates / weights.sum(), rel=2e-4)  # the grid's own error
    assert found.accuracy.status == "approximate"
    assert found.accuracy.error < 1e-4
    assert found.summary()["quantity"].tolist()[:2] == ["rate", "theta(0, 0)"]
    mixed = found.cells.counts
    assert isinstance(mixed, MixedLaw)
    assert mixed.marginal(0).sum() == pytest.approx(1, abs=1e-12)
    certain = unknown_rate.infer_rate(table, prior=(100, 400))
    assert np.allclose(certain.cells.mean(), swapped_table.exact(table, rate=0.2).mean(), atol=1e-3)


def test_common_odds_equal_direct_integration():
    tables, rate = np.array([[[3, 2], [1, 4]], [[2, 5], [3, 3]], [[0, 0], [4, 1]]]), 0.3
    grid = np.linspace(-14, 14, 1401)
    logs = -0.5 * (grid / 2) ** 2
    for table in tables[:2]:
        n, r1, c1 = table.sum(), table[1].sum(), table[:, 1].sum()
        row = exact_swapping.row(table, rate=rate)
        free = np.array([comb(c1, x) * comb(n - c1, r1 - x) for x in row.x]) * np.exp(grid[:, None] * row.x)
        logs = logs + np.log((free / free.sum(axis=1, keepdims=True)) @ np.exp(row.log_backward))
    density = np.exp(logs - logs.max())
    mean = density @ grid / density.sum()
    sd = np.sqrt(density @ (grid - mean) ** 2 / density.sum())
    found = common_odds_ratio(tables, rate=rate, prior_sd=2.0)
    assert (found.mean(), found.sd()) == pytest.approx((mean, sd), rel=1e-7)
    assert found.strata == 2
    assert found.cdf(found.quantile(0.3)) == pytest.approx(0.3, abs=1e-9)
    alone = common_odds_ratio([[0, 0], [4, 1]], rate=rate, prior_sd=2.0)  # says nothing: the prior
    assert (alone.mean(), alone.sd()) == pytest.approx((0, 2), abs=1e-8)
    # without information, the posterior is the default prior N(0, 5^2), and the grid leaves 1e-17 on each side
    default = common_odds_ratio([[0, 0], [4, 1]], rate=rate)
    assert default.sd() == pytest.approx(5, abs=1e-8)
    assert default.grid == pytest.approx(np.linspace(-5, 5, 801) * norm.isf(1e-17), abs=1e-6)
    assert default.density == pytest.approx(norm.pdf(default.grid, scale=5), rel=1e-6)


@pytest.mark.parametrize(
    ("size", "few", "prior_sd", "least", "most", "at_least"),
    [
        (300, 10, 0.5, 3, 6.5, 4.5),
        (1000, 2, 0.5, 5.5, 8.5, 6.9),
        (1000, 2, 0.1, 1.6, 3, 2.2),  # 22 standard deviations of the prior; the density at the mode is below exp(-745)
        (1000, 2, 0.01, -0.04, 0.13, 0.04),
    ],
)
def test_a_common_odds_ratio_far_from_a_narrow_prior(size, few, prior_sd, least, most, at_least):
    """Check means of 4 to 22 standard deviations of the prior, by a sum over a grid of log odds ratios."""
    table, rate, grid = np.array([[size, few], [few, size]]), 0.01, np.linspace(least, most, 701)
    row = two_by_two.row(table, rate=rate)
    x, margin = row.tables(table)[:, 1, 1], size + few
    choices = -2 * (gammaln(x + 1) + gammaln(margin + 1 - x))  # C(m, x)^2 = C(m, x) C(m, m - x)
    logs = -0.5 * (grid / prior_sd) ** 2
    for part in np.array_split(np.arange(len(grid)), 10):
        tilted = grid[part, None] * (x - size)
        logs[part] += logsumexp(row.log_backward + choices + tilted, axis=1) - logsumexp(choices + tilted, axis=1)
    density = np.exp(logs - logs.max())
    mean = density @ grid / density.sum()
    found = common_odds_ratio(table, rate=rate, prior_sd=prior_sd)
    assert mean > at_least
    assert (found.mean(), found.sd()) == pytest.approx(
        (mean, np.sqrt(density @ (grid - mean) ** 2 / density.sum())), rel=1e-6
    )
    assert found.mode == pytest.approx(grid[np.argmax(logs)], abs=grid[1] - grid[0])


@pytest.mark.parametrize("prior_sd", [1e-12, 58.0])
def test_the_prior_of_a_common_odds_ratio_is_narrow_or_wide(prior_sd):
    """Check a table without information, whose posterior is the prior, and standard deviations beyond the limits."""
    found = common_odds_ratio([[0, 0], [4, 1]], rate=0.1, prior_sd=prior_sd)
    assert found.mean() == pytest.approx(0, abs=1e-8 * prior_sd)
    assert (found.sd(), float(found.quantile(0.975))) == pytest.approx((prior_sd, norm.isf(0.025) * prior_sd), rel=1e-8)
    with pytest.raises(ValueError, match=r"^prior_sd must be from 1e-12 to 58, got "):
        common_odds_ratio([[0, 0], [4, 1]], rate=0.1, prior_sd=prior_sd * (0.9 if prior_sd < 1 else 1.1))


def test_a_common_odds_ratio_has_the_errors_of_a_numerator_and_a_denominator():
    """Check that the error of a density, at the levels down to 1e-15, counts twice in a probability."""
    levels = []
    law = SimpleNamespace(log_mass=lambda: 3.0, error=lambda level: levels.append(level) or 0.001)
    assert CommonOdds(law, 0.0, 1).error == 0.002
    assert levels == [pytest.approx(3.0 + np.log(1e-15))]


def cells(*lines):
    return pd.DataFrame([("t", *line) for line in lines], columns=["table", "row", "column", "count"])


def test_a_category_without_cells_is_in_the_table_where_it_is_named():
    """Check that a file without its rows of zeros gives the same results as the file with them."""
    dense = cells(("a", "x", 3), ("a", "y", 4), ("b", "x", 2), ("b", "y", 2), ("c", "x", 0), ("c", "y", 0))
    sparse = dense[dense["count"] > 0]
    labels = {"rows": ["a", "b", "c"], "columns": ["x", "y"]}
    full = swapped_batches.summaries(dense, rate=0.1)
    assert (full["shape"] == "3 x 2").all()
    pd.testing.assert_frame_equal(swapped_batches.summaries(sparse, rate=0.1, **labels), full)
    pd.testing.assert_frame_equal(swapped_batches.summaries(dense, rate=0.1, **labels), full)
    short = swapped_batches.summaries(sparse, rate=0.1)
    assert (short["shape"] == "2 x 2").all()  # what the answer is about is said
    assert short["mean"][0] != pytest.approx(full["mean"][0], abs=0.01)
    turned = swapped_batches.summaries(sparse, rate=0.1, rows=["c", "b", "a"], columns=["x", "y"])
    assert turned["row"].tolist() == ["c", "c", "b", "b", "a", "a"]
    np.testing.assert_allclose(turned["mean"][4], full["mean"][0], rtol=1e-12)
    other = swapped_batches.summaries(dense, rate=0.1, rows=["a", "b"])["status"].item()
    assert other == "not used: row must be one of a, b, got c"
    for wrong in ({"rows": ["a"]}, {"columns": ["x", "x"]}, {"rows": "ab"}):
        with pytest.raises(ValueError, match="must contain at least two different labels"):
            swapped_batches.summaries(dense, rate=0.1, **wrong)


def test_labels_are_compared_as_text_and_no_record_is_lost():
    data = cells((1, "x", 2), ("1", "x", 5), ("2", "x", 3), ("2", "y", 1))
    assert (
        swapped_batches.summaries(data, rate=0.1)["status"].item()
        == "not used: the cell in row 1, column x is listed twice: list each cell once"
    )
    mixed = cells((1, "x", 2), ("1", "y", 5), (2, "x", 3), ("2", "y", 1))
    plain = cells(("1", "x", 2), ("1", "y", 5), ("2", "x", 3), ("2", "y", 1))
    pd.testing.assert_frame_equal(
        swapped_batches.summaries(mixed, rate=0.1), swapped_batches.summaries(plain, rate=0.1)
    )


def test_batches_do_not_depend_on_their_pieces():
    rng = stream(6, "batch")
    rows = []
    for k in range(12):
        for i in "ab":
            rows += [(f"t{k}", i, j, c) for j, c in zip("xyz"[: 2 + k % 2], rng.poisson(7, 2 + k % 2), strict=True)]
    rows += [("bad", "a", "x", -1), ("bad", "b", "y", 2), ("one", "a", "x", 3), ("twice", "a", "x", 1),
             ("twice", "a", "x", 1), ("text", "a", "x", "many"), ("text", "b", "y", 1)]  # fmt: skip
    data = pd.DataFrame(rows, columns=["table", "row", "column", "count"])
    whole = swapped_batches.summaries(data, rate=0.1)
    names = data["table"].unique()
    parts = [swapped_batches.summaries(data[data["table"].isin(p)], rate=0.1) for p in (names[:5], names[5:])]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole, check_exact=True)
    assert whole["status"].str.startswith("not used").sum() == 4
    first = data[data["table"] == "t0"]["count"].to_numpy(dtype=int).reshape(2, 2)
    exact = swapped_table.exact(first, rate=0.1).summary()
    mine = whole[whole["table"] == "t0"]
    for column in ("mean", "sd", "lower", "upper"):
        assert np.allclose(mine[column], exact[column][:4], rtol=1e-9)
    own = swapped_batches.summaries(data.assign(rate=0.1))
    pd.testing.assert_frame_equal(own, whole)
    large = pd.DataFrame([("big", i, j, 9) for i in range(5) for j in range(8)], columns=data.columns)
    assert "stream_of" in swapped_batches.summaries(large, rate=0.1)["status"].item()
    drawn = swapped_batches.summaries(large, rate=0.1, stream_of=partial(stream, 1, "batch"))
    assert set(drawn["status"]) <= {"converged", "not converged"}
    assert len(drawn) == 40


# --- results say what they are ---


def test_results_have_their_state_and_a_summary():
    exact = swapped_table.exact([[1, 2], [3, 4]], rate=0.1)
    frame = exact.summary(0.9)
    assert list(frame.columns) == list(_accuracy.SUMMARY)
    assert frame["quantity"].tolist()[-1] == "log odds ratio"
    assert (frame["status"] == "exact").all()
    assert frame["lower"][0] == pytest.approx(exact.quantile(0.05, category=0))
    run = swapped_table.abc_run([[1, 2], [3, 4]], rate=0.1, iterations=100_000, rng=stream(7, "abc"))
    assert run.accuracy.status == "approximate"
    assert np.allclose(run.summary()["mean"], run.draws.mean(axis=0))
    reverse = swapped_table.reverse_swap([[1, 2], [3, 4]], rate=0.1, size=5000, rng=stream(7, "rev"))
    assert np.allclose(reverse.summary()["mean"], reverse.weights @ reverse.draws)
    chain = swapped_table.mcmc([[1, 2], [3, 4]], rate=0.1, draws=50, burn_in=5, rng=stream(7, "mcmc"))
    assert chain.accuracy.status == "not converged"
    odds = exact.log_odds()
    assert odds.summary()["mean"].item() == pytest.approx(odds.mean())
    for result in (exact, run, reverse, chain, odds):
        assert len(repr(result)) < 250


# --- privacy ---


def brute_loss(b, d, rate):
    """Yield every pair of reachable numbers of moved records."""
    logs, o = accounting._log_derangements(b), np.log(rate / (1 - rate))
    f = np.arange(b + 1) * o - logs
    pairs = [(k, j) for k in range(b + 1) for j in range(b + 1) if 1 not in (k, j) and abs(k - j) <= d <= k + j]
    return max([0.0, *(f[k] - f[j] for k, j in pairs)])


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.5, 0.500001, 0.6, 0.9, 0.999])
def test_closed_losses_equal_all_pairs(rate):
    for b in (2, 3, 4, 5, 9, 24):
        for d in range(2, b + 1):
            assert accounting.exact_loss(b, d, rate=rate) == pytest.approx(brute_loss(b, d, rate), abs=1e-12)


def test_large_strata_cost_nothing_to_account_for():
    assert np.allclose(accounting._log_subfactorial(np.arange(300)), accounting._log_derangements(299), rtol=1e-14)
    b = 10**9
    expected = gammaln(b + 1.0) - gammaln(b - 1.0) + 2 * np.log(9)
    assert accounting.exact_loss(b, 2, rate=0.1) == pytest.approx(expected, rel=1e-6)  # lgamma's own digits at 2e10
    for rate in (0.2, 0.7):
        small, large = (accounting.exact_loss(n, 2, rate=rate) for n in (2000, 2001))
        assert large == pytest.approx(small, abs=2e-3)  # the road changes there, the loss grows by 2/b


def test_the_smallest_change_costs_twice_epsilon():
    cost = accounting.smallest_change(10, rate=0.1)
    assert cost.stated == pytest.approx(2 * 4.59512, abs=1e-4)
    assert cost.exact == pytest.approx(2 * 4.44713, abs=1e-4)
    assert cost.distance == 2
    assert "9.19" in str(cost)
    for rate in (0.01, 0.5, 0.8):
        cost = accounting.smallest_change(30, rate=rate)
        assert cost.per_record < cost.exact <= cost.stated


@pytest.mark.slow
@pytest.mark.parametrize(("n", "table", "rate"), [(100_000, [[1, 50_004], [3, 49_992]], 0.3),
                                                  (10_000, [[2, 4000], [1, 5997]], 0.5)])  # fmt: skip
def test_swaps_of_records_have_the_law(n, table, rate):
    law = two_by_two.row(table, rate=rate)
    drawn = permutation_swaps.tables(table, 4000, rate=rate, rng=stream(8, "records", str(n)))[:, 1, 1]
    counts = np.array([(drawn == x).sum() for x in law.x])
    assert chisquare(counts, np.exp(law.log_forward) * len(drawn)).pvalue > 1e-3  # false alarm rate 1e-3


def test_an_error_inside_the_sums_does_not_turn_into_a_chain(monkeypatch):
    """Check that only a class that is too large uses chains, without catching an exception."""
    table = np.array([[3, 1, 2], [2, 4, 1], [1, 1, 3]])
    assert exact_swapping.listed_law(np.full((3, 3), 40), 0.3, 1e9).startswith(
        "the exact distribution of swaps is not available for a table with 360 records"
    )
    found = unswapped.infer(table, rate=0.3, rng=stream(1, "listed"))
    assert found.how == ("listed",)

    def broken(*_, **__):
        raise ValueError("a bug")

    monkeypatch.setattr(permutation_swaps, "originals", broken)
    with pytest.raises(ValueError, match="a bug"):
        unswapped.infer(table, rate=0.3, rng=stream(1, "listed"))


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.6])
@pytest.mark.parametrize("table", [[[30, 20], [10, 60]], [[9, 31, 4], [60, 5, 70]], [[150, 150], [150, 150]]])
def test_the_tilt_makes_the_conditions_on_both_sums_probable(table, rate):
    """Check that under the tilted distributions of the columns, the mean of sum x is the number of records in the row,
    and the mean number of records that cross is where the tilted weights are flat, up to one record.
    """
    table = np.array(table)
    law = TwoRowLaw(table, np.ones(table.size), rate=rate)
    x_mean, u_mean = (
        sum(float(p.sum(axis=1 - axis) @ np.arange(p.shape[axis])) for p in law._pairs) for axis in (0, 1)
    )
    assert x_mean == pytest.approx(min(table.sum(axis=1)), abs=1e-3)
    flat = int(np.argmin(np.abs(np.diff(np.log(law._weights)))))
    assert flat - 1.5 < u_mean < flat + 1.5
