"""Counts with a large total by windows, compared with sums over all counts up to the total."""

from functools import partial

import numpy as np
import pytest
from scipy.special import gammaln

import dpmultinomial as dpm
from dpmultinomial._posteriors.counts import (
    _fixed_sum,
    laplace_multinomial,
    noisy_count_batches,
    noisy_counts,
    panel_density,
    share_law,
    windowed_sum,
)
from dpmultinomial._posteriors.counts.dirichlet_mixture import BetaMixture, DirichletMixture, ExplicitLaw
from dpmultinomial._posteriors.counts.noisy_counts import FixedSumLaw
from dpmultinomial._posteriors.counts.windowed_sum import WindowedSumLaw, windows_of
from dpmultinomial._seeding import stream

CASES = [
    ([300, 500, 199], 1000, dpm.DiscreteLaplace(scale=4.0), 0.5),
    ([300, 500, 900], 1000, dpm.DiscreteLaplace(scale=4.0), 0.05),  # 700 more than the total
    ([-90, 20, 3, 40], 800, dpm.DiscreteGaussian(sigma=30.0), 2.5),  # 830 less, one far below 0
    ([10.4, 2.1, 590.0], 600, dpm.Laplace(scale=90.0), 30.0),
    ([0, 0, 0, 0, 0], 400, dpm.DiscreteGaussian(sigma=2.0), 1.0),
    ([5, 700], 705, dpm.DiscreteLaplace(scale=0.3), 0.5),
]


def both(noisy, total, law, alpha):
    alpha = np.full(len(noisy), alpha)
    s = np.arange(total + 1)
    logs = np.stack([law.log_weights(y, s) for y in noisy]) + gammaln(s + alpha[:, None]) - gammaln(s + 1)
    likelihoods = [partial(noisy_counts._log_weights, law, y) for y in noisy]
    return FixedSumLaw(logs), WindowedSumLaw(windows_of(likelihoods, alpha, total), total)


@pytest.mark.parametrize(
    ("noisy", "total", "law", "alpha"),
    [pytest.param(*case, marks=pytest.mark.thorough if case[1] > 400 else ()) for case in CASES],
)
def test_counts_by_windows_are_sums_over_all_counts(noisy, total, law, alpha):
    full, ours = both(noisy, total, law, alpha)
    for i in range(len(noisy)):
        wanted, found = full.marginal(i), ours.marginal(i)
        large = wanted > 1e-40
        assert found[large] == pytest.approx(wanted[large], rel=1e-9, abs=0)
        assert (found[~large] < 1e-39).all()
        part = ours.located(i)
        assert np.array_equal(part.weights, found[part.first : part.last + 1])
    for others in ([1], list(range(1, len(noisy)))):
        pairs = []
        for one in (full, ours):
            s, t, weights = one.pair(0, others)
            pairs.append(np.bincount(s * (total + 1) + t, weights / weights.sum(), (total + 1) ** 2))
        assert pairs[1] == pytest.approx(pairs[0], abs=1e-13)


@pytest.mark.parametrize(("noisy", "total", "law", "alpha"), CASES[:4])
def test_windows_contain_all_weights_above_the_smallest(noisy, total, law, alpha):
    """The windows are those of the tilted weights of all counts up to the total."""
    full, ours = both(noisy, total, law, alpha)
    for row, part in zip(full.windows, ours.windows, strict=True):
        tilt = np.diff(np.log(part.weights[:2]))[0] - np.diff(np.log(row.weights[part.first - row.first :][:2]))[0]
        s = np.arange(total + 1)[row.first : row.last + 1]
        again = np.log(row.weights) + tilt * s
        kept = s[again > again.max() + np.log(windowed_sum.SMALLEST)]
        assert (part.first, part.last) == (kept[0], kept[-1])


def test_wide_windows_end_at_weights_that_no_stated_tail_needs(monkeypatch):
    noisy, total, law, alpha = [3000, 5000, 1990], 10_000, dpm.DiscreteLaplace(scale=40.0), 0.5
    narrow = both(noisy, total, law, alpha)[1].share(0, [1], alpha=0.5, beta=0.5)
    monkeypatch.setattr(windowed_sum, "NARROW", 1000)
    wide = both(noisy, total, law, alpha)[1]
    assert max(len(part.weights) for part in wide.windows) < 2 * 140 * 40
    share = wide.share(0, [1], alpha=0.5, beta=0.5)
    assert share.mean() == pytest.approx(narrow.mean(), rel=1e-12)
    levels = [1e-14, 0.025, 0.5, 0.975, 1 - 1e-12]
    assert share.quantile(levels) == pytest.approx(narrow.quantile(levels), rel=1e-7)


def test_draws_have_the_sums_and_means_of_the_distribution():
    law = both([300, 500, 900], 1000, dpm.DiscreteLaplace(scale=4.0), 0.5)[1]
    draws = law.draw(4000, rng=stream(1, "windowed"))
    assert (draws.sum(axis=1) == 1000).all()
    for i in range(3):
        part = law.located(i)
        mean = float(part.weights @ part.values())
        sd = np.sqrt(part.weights @ (part.values() - mean) ** 2)
        assert abs(draws[:, i].mean() - mean) < 5 * sd / np.sqrt(4000)  # false alarm 6e-7


def test_seven_digit_counts_depend_on_the_noise_and_not_on_the_total():
    """Adding a million records to every count and three million to the total moves the posterior by a million: the
    prior is nearly flat there.
    """
    law = dpm.DiscreteLaplace(scale=30.0)
    near = dpm.posterior(dpm.Release([50_010, 70_000, 60_000], mechanism=law, total=180_000), prior="flat")
    far = dpm.posterior(
        dpm.Release([10_050_010, 10_070_000, 10_060_000], mechanism=law, total=30_180_000), prior="flat"
    )
    assert far.counts.numbers().mean - 10_000_000 == pytest.approx(near.counts.numbers().mean, abs=1e-7)
    assert far.counts.numbers().sd == pytest.approx(near.counts.numbers().sd, rel=1e-9)
    assert len(far.counts["1"].values) < 30_000


@pytest.mark.parametrize("total", [100_000_000, 10**12])
def test_noise_as_wide_as_a_large_total_is_rejected_before_any_work(total, monkeypatch):
    monkeypatch.setattr(_fixed_sum, "tilted", None)
    release = dpm.Release([12, 7, 31], mechanism=dpm.DiscreteLaplace(scale=1.1e7), total=total)
    with pytest.raises(ValueError, match=r"the noise is too large .* limit of 4,000,000.*: set tighter bounds"):
        dpm.posterior(release)


def test_a_large_total_of_other_noise_is_rejected_with_its_size():
    release = dpm.Release([5, 10, 15], mechanism=dpm.RandomRounding(base=5), total=10**8)
    with pytest.raises(ValueError, match=r"3 counts between 0 and 100,000,000 .* noise that is not additive"):
        dpm.posterior(release)


@pytest.mark.parametrize(
    ("total", "scale", "alpha", "noisy", "reason"),
    [
        (1_000_000, 1.0, 1.0, 3.0, ""),
        (1_000_001, 1.0, 1.0, 3.0, "total must be an integer in [0, 1000000]"),
        (-1, 1.0, 1.0, 3.0, "total must be an integer in [0, 1000000]"),
        (0, 1.0, 1.0, 3.0, ""),
        (2.5, 1.0, 1.0, 3.0, "total must be an integer in [0, 1000000]"),
        (10, 1e-99, 1.0, 3.0, ""),
        (10, 0.9e-99, 1.0, 3.0, "scale must be finite and > 0"),
        (0, 1e-100, 1.0, 3.0, ""),
        (0, 0.9e-100, 1.0, 3.0, "scale must be finite and > 0"),
        (5, np.inf, 1.0, 3.0, "scale must be finite and > 0"),
        (5, 1.0, 0.0, 3.0, "alpha must be finite and > 0"),
        (5, 1.0, np.inf, 3.0, "alpha must be finite and > 0"),
        (np.nan, 0.0, -1.0, np.inf, "total must be an integer in [0, 1000000]; noisy counts must be finite; scale must "
         "be finite and > 0; alpha must be finite and > 0"),
    ],
)  # fmt: skip
def test_reasons_of_a_table(total, scale, alpha, noisy, reason):
    """Check the second of two tables, in which one entry is wrong."""
    entries = [np.array([1.0, 1.0, 1.0, x, 1.0]) for x in (noisy, scale, alpha)]
    entries[1][4] = max(entries[1][4], 1.0)
    totals = np.array([3.0, total])
    found = noisy_count_batches._reasons(entries[0], np.array([0, 2, 5]), totals, *entries[1:])
    assert found == ["", reason]
    assert noisy_count_batches._reasons(np.zeros(0), np.zeros(1, dtype=int), np.zeros(0), *entries[1:]) == []


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (2.0, [2.0] * 5),
        ([2.0, 3.0], [2.0, 2.0, 3.0, 3.0, 3.0]),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0]),
        ([[1.0, 2.0, 3.0, 4.0, 5.0]], [1.0, 2.0, 3.0, 4.0, 5.0]),
    ],
)
def test_values_by_table_or_by_entry(values, found):
    assert noisy_count_batches._entries("scales", values, np.array([2, 3])).tolist() == found
    with pytest.raises(ValueError, match=r"scales must be one number, 2 numbers \(one per table\) or 5 .* \(3,\)$"):
        noisy_count_batches._entries("scales", [1.0, 2.0, 3.0], np.array([2, 3]))


@pytest.mark.parametrize(
    ("noisy", "starts", "flat", "bounds"),
    [
        (np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), None, [1, 2, 3, 4, 5, 6], [0, 3, 6]),
        ([[1.0, 2.0], [4.0, 5.0, 6.0]], None, [1, 2, 4, 5, 6], [0, 2, 5]),
        ([1.0, 2.0, 4.0, 5.0, 6.0], [0, 2, 5], [1, 2, 4, 5, 6], [0, 2, 5]),
        ([], None, [], [0]),
    ],
)
def test_tables_in_one_row(noisy, starts, flat, bounds):
    found = noisy_count_batches._flat(noisy, starts)
    assert [part.tolist() for part in found] == [flat, bounds]


@pytest.mark.parametrize(
    ("noisy", "starts", "words"),
    [
        ([1.0, 2.0], [0, 1], r"starts must begin with 0 and end with the number of noisy counts \(2\), got \[0, 1\]$"),
        ([1.0, 2.0], [1, 2], r"starts must begin with 0"),
        ([1.0, 2.0], np.zeros(0, dtype=int), "starts must begin with 0"),
        ([[1.0, 2.0]], [0, 2], "starts must begin with 0"),
        ([1.0, 2.0, 3.0], [0, 2, 3], "at least 2 categories, but the table at index 1 has 1$"),
        ([[1.0, 2.0], [[3.0]]], None, r"must be one-dimensional, got shape \(1, 1\)$"),
    ],
)
def test_tables_that_are_rejected(noisy, starts, words):
    with pytest.raises(ValueError, match=words):
        noisy_count_batches._flat(noisy, starts)


def test_a_batch_in_words_and_by_row():
    batch = noisy_count_batches.exact([[1.0, 2.0], [np.nan, 2.0], [3.0, 4.0, 1.0]], totals=[3, 3, 8], scales=1.0)
    table = batch.summary()
    assert table["table"].tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert table["quantity"].tolist() == ["p1", "p2", "p1", "p2", "p1", "p2", "p3"]
    assert table["reason"].tolist() == ["", "", *["noisy counts must be finite"] * 2, "", "", ""]
    assert table["level"].tolist() == [0.95] * 7
    worst = max(batch.error[[0, 2]])
    assert repr(batch) == f"Batch(3 tables, 1 refused; largest error {worst:.1e}; level 0.95)"
    assert repr(noisy_count_batches.exact([], totals=3, scales=1.0)) == (
        "Batch(0 tables, 0 refused; largest error 0.0e+00; level 0.95)"
    )
    assert batch.accuracy.status == "exact"


@pytest.mark.parametrize(("total", "kind"), [(10_000, FixedSumLaw), (10_001, WindowedSumLaw)])
def test_counts_up_to_ten_thousand_are_listed(total, kind):
    s = np.arange(total + 1.0)
    assert type(noisy_counts.law_of_counts(np.stack([-np.abs(s - 20), -np.abs(s - total + 20)]))) is kind
    found = noisy_counts.exact([20.0, total - 20.0], total=total, noise=dpm.Laplace(scale=1.0), alpha=1.0)
    assert type(found.counts) is kind


def test_the_largest_number_of_listed_values(monkeypatch):
    """Check two counts between 0 and 30, which have 62 possible values."""
    given = {"total": 30, "noise": dpm.RandomRounding(5), "alpha": 1.0}
    monkeypatch.setattr(noisy_counts, "MOST_LISTED", 62)
    assert noisy_counts.exact([10, 20], **given).counts.total == 30
    monkeypatch.setattr(noisy_counts, "MOST_LISTED", 61)
    with pytest.raises(
        ValueError,
        match=r"^2 counts between 0 and 30 have 62 possible values, more than the limit of 61 for noise that is not",
    ):
        noisy_counts.exact([10, 20], **given)
    with pytest.raises(ValueError, match="noise must be one distribution or 2 distributions, got 3 distributions"):
        noisy_counts.exact([10, 20], total=30, noise=[dpm.RandomRounding(5)] * 3, alpha=1.0)


def test_sums_of_any_categories_are_convolutions():
    """Check all 31 sets of five categories, in two orders of the calls, because sums of leading ones are kept."""
    logs = stream(1, "sets").normal(size=(5, 13))
    sets = [[i for i in range(5) if number >> i & 1] for number in range(1, 32)]
    for order in (sets, sets[::-1]):
        law = FixedSumLaw(logs)
        for members in order:
            expected = np.ones(1)
            for i in members:
                expected = np.convolve(expected, law.factors[i])[:13]
            expected = np.append(expected, np.zeros(13 - len(expected)))
            found = law._sum_of(members)
            assert found / found.sum() == pytest.approx(expected / expected.sum(), rel=1e-10, abs=1e-15)


def test_pairs_up_to_the_limit_are_listed(monkeypatch):
    """Check three counts of a total of 12, of which all 13 x 13 pairs of values are counted."""
    law = FixedSumLaw(np.zeros((3, 13)))
    monkeypatch.setattr(noisy_counts, "LISTED_PAIRS", 169)
    assert law.share(0, [1], alpha=1.0, beta=1.0) is None
    monkeypatch.setattr(noisy_counts, "LISTED_PAIRS", 168)
    assert law.share(0, [1], alpha=1.0, beta=1.0) is not None
    assert law.share(0, [1, 2], alpha=1.0, beta=2.0) is None  # all categories: one pair per count
    s, t, weights = law.pair(1, [2])
    assert (s + t <= 12).all()
    assert len(s) == 13 * 14 / 2
    assert weights == pytest.approx(np.full(len(s), weights[0]))


def test_the_largest_number_of_weights_of_windows():
    windowed_sum._refuse(4_000_000, 5)
    with pytest.raises(ValueError, match=r"^the noise is too large for the total 5, because 4,000,001 true counts are"):
        windowed_sum._refuse(4_000_001, 5)


@pytest.mark.parametrize(("total", "scale", "valid"), [(7, 7e-100, True), (7, 6.9e-100, False), (0, 1e-100, True)])
def test_the_smallest_scale_relative_to_the_total(total, scale, valid):
    given = {"total": total, "scale": scale, "alpha": 1.0}
    if valid:
        assert laplace_multinomial._checked([3.0, 4.0], **given)[1] == total
        return
    with pytest.raises(ValueError, match=rf"^scale must be >= 1e-100 times the total \(7\), got {scale}"):
        laplace_multinomial._checked([3.0, 4.0], **given)


@pytest.mark.parametrize("values", [[0.0, 0.0], [-0.1, 1.1], [1.0], [0.5, 0.25, 0.25]])
def test_probabilities_that_are_rejected(values):
    with pytest.raises(ValueError, match="p must contain 2 numbers >= 0 with a positive sum, got"):
        laplace_multinomial._probabilities("p", values, 2)
    assert laplace_multinomial._probabilities("p", [0.0, 4.0], 2).tolist() == [0.0, 1.0]


def test_a_frozen_chain_drops_its_first_draws():
    given = {"total": 9, "scale": 2.0, "alpha": 1.0}
    law = laplace_multinomial.conditional([3.0, 6.0], probabilities=[0.2, 0.8], **given)
    draws = laplace_multinomial.gibbs(
        [3.0, 6.0], **given, draws=5, burn_in=3, rng=stream(1, "frozen"), initial=[1.0, 4.0], frozen=True
    )
    assert draws.tolist() == law.sample(8, rng=stream(1, "frozen"))[3:].tolist()


@pytest.mark.parametrize(("size", "more"), [(6, ""), (7, ", ..")])
def test_a_mixture_in_words(size, more):
    law = DirichletMixture(np.ones(size), ExplicitLaw(np.eye(size, dtype=int), np.ones(size)))
    means = ", ".join([f"{1 / size:.4g}"] * 6)
    assert repr(law) == f"DirichletMixture({size} shares, total 1; means {means}{more})"
    assert law.summary(given=[0, 2])["quantity"].tolist() == ["p1 | p1, p3", "p3 | p1, p3"]
    assert law.summary()["quantity"].tolist() == [f"p{i + 1}" for i in range(size)]
    assert law.sample(3, rng=stream(1, "words")).shape == (3, size)
    for category, given in ((0, (0,)), (0, (1, 2)), (0, (0, 1, 1))):
        with pytest.raises(ValueError, match="at least two different categories, including category=0, got"):
            law.beta(category, given)
    for category in (-1, size):
        with pytest.raises(ValueError, match="category"):
            law.beta(category)


def test_shares_of_listed_counts_by_hand():
    """Check (2, 0, 0), (1, 1, 0) and (0, 0, 2): the share of the first among the first two is 1, 1/2, or 0/0."""
    rows = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 2]])
    law = DirichletMixture(np.array([1.0, 2.0, 3.0]), ExplicitLaw(rows, np.array([1.0, 2.0, 5.0])))
    values, p = law.share_of_counts(category=0, given=(0, 1))
    assert values.tolist() == pytest.approx([0.5, 1.0, np.nan], nan_ok=True)
    assert p.tolist() == pytest.approx([0.25, 0.125, 0.625])
    assert law.counts.marginal(0).tolist() == pytest.approx([0.625, 0.25, 0.125])
    # Beta(1 + s, 2 + t) has the mean (1 + s)/(3 + s + t)
    assert law.mean(category=0, given=(0, 1)) == pytest.approx(0.125 * 3 / 5 + 0.25 * 2 / 5 + 0.625 / 3)
    assert law.mean(category=0) == pytest.approx((0.125 * 3 + 0.25 * 2 + 0.625 * 1) / 8)
    drawn = law.counts.draw(4000, rng=stream(1, "listed"))
    shares = [(drawn == row).all(axis=1).mean() for row in rows]
    assert shares == pytest.approx([0.125, 0.25, 0.625], abs=5 * 0.5 / 4000**0.5)
    assert sum(shares) == 1


def test_a_mixture_of_beta_distributions_in_words():
    """Check Beta(1, 1) and Beta(3, 1) with equal weights: mean (1/2 + 3/4)/2, and the variance by hand."""
    law = BetaMixture([1.0, 3.0], [1.0, 1.0], [1.0, 1.0])
    sd = ((1 / 12 + 3 / 80) / 2 + (1 / 8) ** 2) ** 0.5
    assert repr(law) == f"BetaMixture(2 components; mean 0.625, sd {sd:.3g})"


@pytest.mark.parametrize(
    ("weights", "first", "found"),
    [
        ([0.0, 1e-251, 2.0, 4.0, 0.0], 5, (7, [0.5, 1.0])),
        ([4e-250, 2.0, 4.0, 4.1e-250], 5, (6, [0.5, 1.0, 1.025e-250])),  # not more than 1e-250 times the largest
        ([1.0, 0.0, 0.5], 0, (0, [1.0, 1e-250, 0.5])),
    ],
)
def test_a_window_ends_at_weights_that_are_not_negligible(weights, first, found):
    part = share_law.window(np.array(weights), first=first)
    assert (part.first, part.weights.tolist()) == (found[0], pytest.approx(found[1], rel=1e-12, abs=0))
    assert part.last == found[0] + len(found[1]) - 1
    assert part.values().tolist() == list(range(part.first, part.last + 1))
    mirrored = part.reflected(20)
    assert (mirrored.first, mirrored.last) == (20 - part.last, 20 - part.first)
    assert mirrored.weights.tolist() == part.weights[::-1].tolist()


def test_blocks_of_weights_by_hand():
    """Check the counts 5 to 9 in blocks of three: 3 to 5, 6 to 8, and 9 to 11."""
    part = share_law._blocks(share_law.Window(5, np.array([1.0, 2.0, 3.0, 4.0, 5.0])), 3)
    assert (part.first, part.weights.tolist()) == (1, [1.0, 9.0, 5.0])
    whole = share_law._blocks(share_law.Window(6, np.array([1.0, 2.0, 3.0])), 3)
    assert (whole.first, whole.weights.tolist()) == (2, [6.0])


def test_sums_of_two_windows_up_to_the_largest():
    one, two = share_law.Window(2, np.array([1.0, 0.5])), share_law.Window(3, np.array([0.5, 1.0]))
    for largest, weights in ((7, [0.4, 1.0, 0.4]), (9, [0.4, 1.0, 0.4]), (6, [0.4, 1.0]), (5, [1.0])):
        found = share_law.convolve(one, two, largest=largest)  # the weights 1/2, 5/4 and 1/2 of the sums 5, 6 and 7
        assert (found.first, found.weights.tolist()) == (5, pytest.approx(weights))


def test_moments_and_weights_of_a_share_are_sums_over_all_pairs():
    """Check Beta(a + s, b + t) for all pairs (s, t), with a limited range of s + t."""
    rng = stream(1, "pairs")
    mine, theirs, both = (share_law.Window(first, rng.random(size)) for first, size in ((2, 5), (7, 6), (11, 4)))
    s, t = np.meshgrid(mine.values(), theirs.values(), indexing="ij")
    inside = (s + t >= 11) & (s + t <= 14)
    p = np.outer(mine.weights, theirs.weights)[inside] * both.weights[(s + t)[inside] - 11]
    assert share_law.log_weight(mine, theirs, both) == pytest.approx(np.log(p.sum()), rel=1e-12)
    a, b = 0.7 + s[inside], 1.9 + t[inside]
    means = a / (a + b)
    mean = p @ means / p.sum()
    variance = p @ (means * (1 - means) / (a + b + 1) + (means - mean) ** 2) / p.sum()
    found = share_law.share_moments(mine, theirs, both, alpha=0.7, beta=1.9)
    assert (found.mean, found.variance) == pytest.approx((mean, variance), rel=1e-10)
    far = share_law.Window(18, np.ones(3))
    with pytest.raises(ValueError, match="between 9 and 18, but must lie between 19 and 21: check"):
        share_law.log_weight(mine, theirs, share_law.Window(19, np.ones(3)))
    assert share_law._common(mine, theirs, far) == (18, 18)
    assert share_law._common(mine, theirs, share_law.Window(3, np.ones(7))) == (9, 9)


@pytest.mark.parametrize(("level", "log", "upper"), [(0.75, 0.25, True), (0.5, 0.5, False), (0.25, 0.25, False)])
def test_the_nearer_tail_of_a_level(level, log, upper):
    assert panel_density.nearer_tail(level) == (pytest.approx(np.log(log)), upper)
