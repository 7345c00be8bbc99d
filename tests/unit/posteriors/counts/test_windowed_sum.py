"""Counts with a large total by windows, compared with sums over all counts up to the total."""

from functools import partial

import numpy as np
import pytest
from scipy.special import gammaln

import dpmultinomial as dpm
from dpmultinomial._posteriors.counts import _fixed_sum, noisy_counts, windowed_sum
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
