"""Tests of many counts with a total: shared windows and Fourier sums, compared with one window and one convolution per
count.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, logsumexp

import dpmultinomial as dpm
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published import conflict, counts_with_total, priors, tied_windows
from dpmultinomial._posteriors.published.cells import cells_of, total_of
from dpmultinomial._posteriors.published.priors import Flat, Splits, prior_of
from dpmultinomial._results import convolutions, joint, spectral_ties
from dpmultinomial._results.convolutions import Window, added_up
from dpmultinomial._results.joint import Coupled, free_sum
from dpmultinomial._seeding import stream

LAPLACE, GAUSS = {"law": "discrete_laplace", "scale": 2.0}, {"law": "discrete_gaussian", "sigma": 3.0}


def few(monkeypatch, size, *, transforms=False):
    monkeypatch.setattr(tied_windows, "SHARED", size)
    monkeypatch.setattr(joint, "MANY", size)
    if transforms:
        monkeypatch.setattr(joint, "BRIEF", 0)
        monkeypatch.setattr(convolutions, "BRIEF", 0)
        monkeypatch.setattr(convolutions, "DIRECT", 0)


def released(size, rng, law):
    truth = rng.negative_binomial(0.7, 0.7 / 30, size)
    return law.sample(truth, rng=rng), int(truth.sum())


@pytest.mark.parametrize(
    ("words", "prior", "away", "transforms"),
    [
        (LAPLACE, None, 0, True),
        (LAPLACE, None, 60, False),
        (LAPLACE, None, -350, True),
        (LAPLACE, "1/(1+n)", 60, True),
        (GAUSS, None, 60, True),
        (GAUSS, {"law": "geometric", "mean": 9.0}, -200, True),
    ],
)
def test_equal_counts_have_the_laws_of_single_ones(words, prior, away, transforms, monkeypatch):
    """Public totals, also far from the sum of the counts: numbers, rates, and the conflict of the total, whose tail
    probabilities are between 0.5 and 1e-15, each with a relative error far below 1 %.
    """
    law = law_of(words)
    noisy, total = released(150, stream(3, "many", str(away)), law)
    given = {"noise": law, "total": total + away, "prior": prior}
    few(monkeypatch, 10**9)
    plain = counts_with_total.posterior(noisy, **given)
    wanted = plain.summary(0.9), plain.source.tails, plain.facts["neglected"]
    assert not plain.source.together.shared
    few(monkeypatch, 64, transforms=transforms)
    found = counts_with_total.posterior(noisy, **given)
    assert found.source.together.shared
    assert all(getattr(found, group).in_one_pass for group in found.groups)
    ours = found.summary(0.9)
    for column in ("mean", "sd", "lower", "upper"):
        np.testing.assert_allclose(ours[column], wanted[0][column], rtol=1e-9, atol=1e-11)
    assert found.facts["neglected"] == pytest.approx(wanted[2], rel=1e-9, abs=1e-30)
    # the stated relative error is 1e-3 for probabilities below 1e-7
    np.testing.assert_allclose(found.source.tails, wanted[1], rtol=1e-6 if away < -300 else 1e-8, atol=0)
    share = found.shares[list(found.shares)[3]]
    assert share.mean() * (total + away) == pytest.approx(ours["mean"][3], rel=1e-11)


@pytest.mark.parametrize("total", ["public", "noisy"])
def test_different_counts_in_any_order_have_the_laws_of_single_ones(total, monkeypatch):
    """Real-valued noise: all released values differ, and are not in increasing order."""
    law, rng = law_of({"law": "laplace", "scale": 2.0}), stream(5, "different", total)
    noisy, whole = released(40, rng, law)
    assert len(set(noisy.tolist())) == 40
    given = {"noise": law, "total": whole if total == "public" else {"released": whole + 2.5, "noise": law}}
    few(monkeypatch, 10**9)
    wanted = counts_with_total.posterior(noisy, **given)
    few(monkeypatch, 16)
    monkeypatch.setattr(counts_with_total, "_SUMMARISED", 7)
    monkeypatch.setattr(tied_windows, "_TOGETHER", 300)
    monkeypatch.setattr(spectral_ties, "_TOGETHER", 300)
    found = counts_with_total.posterior(noisy, **given)
    assert not found.source.together.shared
    spectrum, _ = found.source.together._smooth
    assert sum(law is not None for law in spectrum.singles(np.arange(40))) >= 20  # by Fourier sums
    assert found.counts.in_one_pass
    assert found.rates.in_one_pass == (total == "public")
    ours, theirs = found.summary(0.9), wanted.summary(0.9)
    for column in ("mean", "sd", "lower", "upper"):
        np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-10, atol=1e-12)
    assert found.counts["7"].mean() == pytest.approx(wanted.counts["7"].mean(), rel=1e-12)
    np.testing.assert_allclose(found.source.tails, wanted.source.tails, rtol=1e-9, atol=0)


@pytest.mark.parametrize("noise", [{"law": "laplace", "scale": 2.0}, LAPLACE])
@pytest.mark.parametrize(
    ("alpha", "away", "root"),
    [(0.5, 0, None), (0.5, 400, None), (1.0, 900, None), (0.5, 400, 20.0), (None, -300, 20.0)],
)
def test_small_tails_of_a_total_of_many_counts(noise, alpha, away, root, monkeypatch):
    """Check tails from .5 to 1e-20 against sums of convolutions with small relative errors. A concentration adds a
    prior of the sum that shifts its distribution by many standard deviations.
    """
    law, rng = law_of(noise), stream(8, "tails", str(away))
    noisy, total = released(300, rng, law)
    cells = cells_of(noisy, law, lower=0, upper=np.inf)
    about = total + away if root is None else {"released": total + away + 0.5, "noise": dpm.Laplace(scale=root)}
    about = total_of(about, None if alpha is None else 300 * alpha)
    priors = [Splits(alpha) if alpha else prior_of({"law": "geometric", "mean": 30.0})] * 300
    few(monkeypatch, 10**9)
    wanted = tied_windows.tail_of_total(cells, priors, about, tied_windows.solve(cells, priors, about))
    few(monkeypatch, 64)
    found = tied_windows.tail_of_total(cells, priors, about, tied_windows.solve(cells, priors, about))
    assert found == pytest.approx(wanted, rel=1e-9, abs=0)


def test_a_count_that_dominates_the_sum_is_left_to_convolutions(monkeypatch):
    """The tie of a count that is wider than the sum of all others is not smooth enough for Fourier sums."""
    few(monkeypatch, 32)
    y = np.arange(-600, 601)
    factors = [Window(-20, np.exp(-np.abs(np.arange(41) - 20.0 + i / 40) / 2)) for i in range(40)]
    factors[7] = Window(-600, np.exp(-np.abs(y) / 60.0))
    root = Window(30, np.ones(1))
    assert Coupled(factors, root)._smooth is None  # most of a table of all windows would be empty
    monkeypatch.setattr(joint, "_UNEVEN", 1000)
    law = Coupled(factors, root)
    assert [place for place, single in enumerate(law._smooth[0].singles(np.arange(40))) if single is None] == [7]
    few(monkeypatch, 10**9)
    plain = Coupled(factors, root)
    for place in (0, 7, 39):
        assert law.sum_of([place]).weights == pytest.approx(plain.sum_of([place]).weights, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("factor", [0.6, 1.0, 1.6])
def test_a_prior_of_the_sum_that_is_nearly_as_informative_as_the_counts(factor, rough, monkeypatch):
    """Check small counts with wide noise against sums of logs, term by term: the prior moves the distribution of the
    sum, and widens it to several times its standard deviation.
    """
    law, rng = law_of({"law": "laplace", "scale": 3.0}), stream(9, "wide")
    truth = rng.poisson(rng.gamma(0.5, 2.0, 40))
    noisy, total = law.sample(truth, rng=rng), int(truth.sum() * factor)
    cells, priors = cells_of(noisy, law, lower=0, upper=np.inf), [Splits(0.5)] * 40
    about = total_of(total, 20.0)
    n = np.arange(130)
    logs = law.log_likelihood(noisy[:, None], n.astype(float)) + priors[0].log_weights(n.astype(float))
    sums = logs[0]
    for row in logs[1:]:
        by_count = sums[:, None] + row
        out = np.full(len(sums) + len(row) - 1, -np.inf)
        for k in range(len(row)):
            out[k : k + len(sums)] = np.logaddexp(out[k : k + len(sums)], by_count[:, k])
        sums = out
    sums += about.log_prior(np.arange(float(len(sums))))
    p = np.exp(sums - logsumexp(sums))
    few(monkeypatch, 16 if rough else 10**9)
    found = tied_windows.tail_of_total(cells, priors, about, tied_windows.solve(cells, priors, about))
    assert found == pytest.approx(min(p[: total + 1].sum(), p[total:].sum()), rel=1e-6)


def test_counts_that_may_be_negative_have_rates(monkeypatch):
    """A window with negative counts, which the prior excludes, and with counts above the total."""
    law, rng = law_of({"law": "laplace", "scale": 20.0}), stream(10, "negative")
    noisy = law.sample(np.full(40, 1), rng=rng)
    given = {"noise": law, "total": 30, "lower": -1, "prior": {"law": "multinomial", "alpha": 0.01}}
    few(monkeypatch, 10**9)
    wanted = counts_with_total.posterior(noisy, **given).summary(0.9)
    few(monkeypatch, 16)
    found = counts_with_total.posterior(noisy, **given).summary(0.9)
    for column in ("mean", "sd", "upper"):
        np.testing.assert_allclose(found[column], wanted[column], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("level", [0.2, 0.5, 0.95, 0.999])
def test_intervals_of_the_rates_of_many_counts_at_any_level(level, monkeypatch):
    """Check the ends of the intervals against the quantiles of single rates."""
    few(monkeypatch, 60)
    law = law_of({"law": "discrete_laplace", "scale": 3.0})
    noisy, total = released(90, stream(12, "levels"), law)
    found = counts_with_total.posterior(noisy, noise=law, total=total)
    table = found.summary(level)
    rates = table[table["type"] == "rate"][["lower", "upper"]].to_numpy(dtype=float)
    for i in (0, 11, 89):
        wanted = found.rates[found.rates.names[i]].quantile([(1 - level) / 2, (1 + level) / 2])
        np.testing.assert_allclose(rates[i], wanted, rtol=1e-11)


@pytest.mark.parametrize("transforms", [False, True])
def test_a_noisy_total_of_equal_counts(transforms, monkeypatch):
    law, root = law_of({"law": "discrete_gaussian", "sigma": 2.0}), law_of({"law": "discrete_gaussian", "sigma": 6.0})
    noisy, total = released(120, stream(4, "many"), law)
    about = {"released": total + 25, "noise": root}
    given = {"noise": law, "total": about, "prior": {"law": "geometric", "mean": 30.0}}
    few(monkeypatch, 10**9)
    plain = counts_with_total.posterior(noisy, **given)
    names = list(plain.counts)[:8]
    wanted = [plain.counts[name].mean() for name in names], plain.source.together.total, plain.shares[names[0]].mean()
    few(monkeypatch, 64, transforms=transforms)
    found = counts_with_total.posterior(noisy, **given)
    np.testing.assert_allclose([found.counts[name].mean() for name in names], wanted[0], rtol=1e-11)
    ours, theirs = found.source.together.total, wanted[1]
    assert ours.at(theirs.first, len(theirs.weights)) == pytest.approx(theirs.weights, abs=1e-13)
    assert found.shares[names[0]].mean() == pytest.approx(wanted[2], rel=1e-11)


@pytest.mark.parametrize("far", [0, 40, 300, 600])
def test_factors_of_several_counts_are_powers(far, monkeypatch):
    """The sum has the absolute accuracy that is stated, or small relative errors in its tails; ties far from the sum
    of the counts are computed with small relative errors.
    """
    few(monkeypatch, 0, transforms=True)
    rng = stream(5, "sum", str(far))
    y = np.arange(31)
    factors = [Window(int(first), np.exp(-abs(y - 15) / rng.uniform(1, 4))) for first in rng.integers(-3, 900, 6)]
    which = rng.integers(0, 6, 200)
    which[:6] = np.arange(6)
    monkeypatch.setattr(convolutions, "DIRECT", 10**12)
    wanted = added_up([factors[i] for i in which])
    root = Window(int(wanted.values() @ wanted.weights / wanted.weights.sum()) + far, np.ones(1))
    plain = Coupled([factors[i] for i in which], root)
    expected = [plain.sum_of([place]).weights for place in (0, 17, 199)]
    monkeypatch.setattr(convolutions, "DIRECT", 0)
    rough, fine = (free_sum(factors, which, tails=tails) for tails in (False, True))
    values = wanted.at(fine.first, len(fine.weights))
    assert fine.weights / fine.weights.max() == pytest.approx(values / values.max(), rel=1e-9, abs=1e-38)
    values = wanted.at(rough.first, len(rough.weights))
    assert rough.weights / rough.weights.max() == pytest.approx(values / values.max(), abs=1e-12)
    ours = Coupled(factors, root, which=which)
    for place, law in zip((0, 17, 199), expected, strict=True):
        assert ours.sum_of([place]).weights == pytest.approx(law, rel=1e-9, abs=1e-12)
    assert ours.pair_of([0], [5]).matrix() == pytest.approx(plain.pair_of([0], [5]).matrix(), abs=1e-12)


def test_thousands_of_names_with_a_total_are_answered():
    """The means sum to the total, equal noisy values have one answer, and larger ones no smaller means."""
    law = dpm.DiscreteLaplace(scale=5.0)
    noisy, total = released(6000, stream(6, "names"), law)
    found = dpm.posterior(dpm.Release(noisy, mechanism=law, total=total))
    table = found.counts.numbers()
    assert table.mean.sum() == pytest.approx(total, rel=1e-12)
    means = dict(zip(noisy.tolist(), table.mean.tolist(), strict=True))
    assert [means[y] for y in noisy.tolist()] == table.mean.tolist()
    in_order = [means[y] for y in sorted(means)]
    assert in_order == pytest.approx(sorted(in_order), rel=1e-12)


@pytest.mark.parametrize("place", [0, 700, 2999])
def test_one_wide_window_does_not_divide_the_others(place, monkeypatch):
    """Check that the parts cover all rows once, have at most the allowed size, and are few."""
    monkeypatch.setattr(tied_windows, "_TOGETHER", 10_000)
    width = np.full(3000, 30.0)
    width[place], width[place - 1] = 5000.0, 20_000.0
    parts = list(tied_windows._row_blocks(width))
    assert [part for rows, _ in parts for part in range(rows.start, rows.stop)] == list(range(3000))
    for rows, entries in parts:
        assert entries == slice(int(width[: rows.start].sum()), int(width[: rows.stop].sum()))
        assert rows.stop - rows.start == 1 or (rows.stop - rows.start) * width[rows].max() <= 10_000
    assert len(parts) <= 3000 // 333 + 6


def test_windows_of_equal_counts_are_counted_once(monkeypatch):
    """Check the message about 2,000 counts with three different released values, which have three windows."""
    cells = cells_of(np.resize([3.0, 4.0, 5.0], 2000), dpm.Laplace(scale=2.0))
    monkeypatch.setattr(tied_windows, "_ENTRIES", 10)
    words = (
        r"^the 3 different noisy counts in the total have \S+ possible values together, more than the limit of 10: set"
    )
    with pytest.raises(tied_windows.TooWide, match=words):
        tied_windows.solve(cells, [prior_of("flat")] * 2000, total_of(8000, None))


A = np.exp(-1 / 2.0)  # ratio of consecutive probabilities of the noise, discrete Laplace of scale 2


def leaves(log_mass=4.0, *, times=None, lower=-1000, upper=np.inf, values=(3.0, 40.0)):
    noisy = cells_of(values, dpm.DiscreteLaplace(scale=2.0), lower=lower, upper=upper)
    return tied_windows.Leaves.of(noisy, [Flat()] * len(values), log_mass, times)


@pytest.mark.parametrize("theta", [0.0, 0.2, -0.3])
def test_windows_of_flat_counts_under_a_tilt_have_geometric_tails(theta):
    """Check all sums over a window, and that the bound equals the mass a^|n - y| exp(theta n) beyond both ends."""
    times = np.array([1.0, 3.0])
    found = leaves(times=times)
    n = np.arange(-400.0, 500.0)
    log_totals, means, variances, outside = [], [], [], []
    for y, low, width in zip((3.0, 40.0), found.low, found.width, strict=True):
        weights = A ** np.abs(n - y) * (1 - A) / (1 + A) * np.exp(theta * n)
        inside = (n >= low) & (n < low + width)
        p = weights[inside] / weights[inside].sum()
        log_totals.append(np.log(weights[inside].sum()))
        means.append(p @ n[inside])
        variances.append(p @ (n[inside] - p @ n[inside]) ** 2)
        outside.append(weights[~inside].sum() / weights[inside].sum())
    assert found.log_total(theta) == pytest.approx(times @ log_totals, rel=1e-12)
    assert found.moments(theta) == pytest.approx((times @ means, times @ variances), rel=1e-9)
    assert found.neglected(theta) == pytest.approx(times @ outside, rel=1e-9)
    assert found.ends() == (times @ found.low, times @ (found.low + found.width - 1))
    windows = found.tilted(theta)
    for window, y, low in zip(windows, (3.0, 40.0), found.low, strict=True):
        expected = np.exp(-np.abs(window.values() - y) / 2.0 + theta * window.values())
        assert window.first == low
        assert window.weights == pytest.approx(expected / expected.max(), rel=1e-9)
    assert found.neglected(0.6) == np.inf  # the weights increase beyond the upper end
    assert found.neglected(-0.6) == np.inf


def test_windows_that_end_at_bounds_neglect_nothing():
    found = leaves(lower=[0, 38], upper=[6, 44])
    assert found.neglected(0.0) == 0
    assert (found.low.tolist(), found.width.tolist()) == ([0, 38], [7, 7])
    one_side = leaves(lower=[0, 38])
    n = np.arange(1000.0)
    outside = []
    for y, low, width in zip((3.0, 40.0), one_side.low, one_side.width, strict=True):
        weights = A ** np.abs(n - y)
        outside.append(weights[n >= low + width].sum() / weights[(n >= low) & (n < low + width)].sum())
    assert one_side.neglected(0.0) == pytest.approx(sum(outside), rel=1e-9)


def test_windows_without_a_possible_count():
    assert leaves(lower=[0, 100], upper=[6, 99]) is None
    exact = cells_of([3.0], dpm.Exact(), lower=5, upper=9)
    assert tied_windows.Leaves.of(exact, [Flat()], 4.0) is None


@pytest.mark.parametrize("total", [30.0, 43.0, 60.0])
def test_the_tilt_moves_the_mean_of_the_sum_to_the_total(total):
    found = leaves(40.0)
    theta = found.tilt(np.array([total]), np.zeros(1))
    mean, variance = found.moments(theta)
    assert abs(mean - total) <= 0.1 * variance**0.5
    assert (theta == 0) == (total == 43)
    sums = np.arange(total - 2, total + 3)  # a total of variance 2
    theta = found.tilt(sums, np.zeros(5))
    mean, variance = found.moments(theta)
    weights = np.exp(-theta * (sums - total))
    weights /= weights.sum()
    spread = variance + weights @ (sums - total) ** 2
    assert abs(mean - weights @ sums) <= 0.1 * spread**0.5


def test_the_evidence_of_a_sum_is_twice_a_normal_approximation():
    """Check weights of three sums under a normal density with the variance of the sum and 1/2 more."""
    found, sums, weights = leaves(40.0), np.array([40.0, 43.0, 50.0]), np.array([0.2, 0.5, 0.1])
    mean, variance = found.moments(0.0)
    assert mean == pytest.approx(43)
    density = np.exp(-((sums - 43) ** 2) / (2 * (variance + 0.5))) / np.sqrt(2 * np.pi * (variance + 0.5))
    assert found.evidence(0.0, sums, weights) == pytest.approx(2 * density @ weights, rel=1e-9)
    assert found.evidence(0.0, np.arange(0.0, 90.0), np.ones(90)) == 1.0


@pytest.mark.parametrize("most", [1, 5, 12, 30, 10**6])
def test_rows_that_are_computed_together_are_as_many_as_fit(most, monkeypatch):
    monkeypatch.setattr(tied_windows, "_TOGETHER", most)
    width = np.array([3.0, 5.0, 1.0, 1.0, 1.0, 20.0, 2.0, 2.0, 2.0, 2.0])
    ends, stop = np.append(0, np.cumsum(width)), 0
    for rows, part in tied_windows._row_blocks(width):
        assert rows.start == stop
        stop = rows.stop
        assert (part.start, part.stop) == (ends[rows.start], ends[stop])
        own = width[rows]
        assert len(own) * own.max() <= most or len(own) == 1
        if stop < len(width):
            assert (len(own) + 1) * max(own.max(), width[stop]) > most
    assert stop == len(width)


@pytest.mark.parametrize(
    ("width", "shared", "text"),
    [
        ([3e6, 5.0], False, "each of the 2 true counts in the total has up to 3e+06 possible values, more than the "
         "limit of 2,000,000"),
        ([1.9e6] * 30, True, "the 30 different noisy counts in the total have 5.7e+07 possible values together, more "
         "than the limit of 50,000,000"),
    ],
)  # fmt: skip
def test_windows_that_are_too_wide_in_words(width, shared, text):
    assert tied_windows._too_wide(np.array(width), shared=shared) == (
        f"{text}: set tighter bounds on the counts, or more informative priors"
    )


@pytest.mark.parametrize("name", ["_WIDEST", "_ENTRIES"])
def test_windows_up_to_the_limit_are_computed(name, monkeypatch):
    width = leaves(values=(3.0, 40.0, 5.0)).width
    most = int(width.max() if name == "_WIDEST" else width.sum())
    monkeypatch.setattr(tied_windows, name, most)
    assert leaves(values=(3.0, 40.0, 5.0)).width.tolist() == width.tolist()
    monkeypatch.setattr(tied_windows, name, most - 1)
    with pytest.raises(tied_windows.TooWide, match="true counts"):
        leaves(values=(3.0, 40.0, 5.0))


@pytest.mark.parametrize(
    ("logs", "open_end", "weight"),
    [
        ([-2.0, -5.0], True, np.exp(-2.0)),
        ([-2.0, -2.0], True, np.exp(-2.0)),
        ([-2.0, -1.0], True, np.inf),
        ([-np.inf, -1.0], True, 0.0),
        ([-2.0, -1.0], False, 0.0),
    ],
)
def test_the_weight_of_a_total_beyond_the_computed_range(logs, open_end, weight):
    assert tied_windows._root_tail(np.array(logs), open_end) == weight


@pytest.mark.parametrize(
    ("total", "lower", "upper", "ends"),
    [
        (12, 0, 50, (12, 12)),
        (12, 4, 50, (12, 12)),
        (12, 5, 50, (15, 15)),  # 3 x 5
        (12, 0, 3, (9, 9)),
        ({"released": 12, "noise": dpm.RandomRounding(5)}, 0, 50, None),
        ({"released": 10, "noise": dpm.RandomRounding(5)}, 0, 50, (6, 14)),
        ({"released": 10, "noise": dpm.RandomRounding(5)}, 3, 4, (9, 12)),
    ],
)
def test_possible_totals_of_three_counts(total, lower, upper, ends):
    noisy = cells_of([3.0] * 3, dpm.DiscreteLaplace(scale=2.0), lower=lower, upper=upper)
    if ends is None:
        with pytest.raises(ValueError, match="impossible"):
            total_of(total, None)
        return
    assert tied_windows._sums(noisy, total_of(total, None), 40.0) == ends


def test_the_largest_number_of_totals(monkeypatch):
    """Check 9 totals of a value that was rounded to a multiple of 5 at random."""
    noisy = cells_of([3.0] * 3, dpm.DiscreteLaplace(scale=2.0))
    total = total_of({"released": 10, "noise": dpm.RandomRounding(5)}, None)
    monkeypatch.setattr(tied_windows, "_WIDEST", 9)
    assert tied_windows._sums(noisy, total, 40.0) == (6, 14)
    monkeypatch.setattr(tied_windows, "_WIDEST", 8)
    with pytest.raises(ValueError, match=r"^9 sums of the true counts are possible .* more than the limit of 8: set"):
        tied_windows._sums(noisy, total, 40.0)


def test_counts_are_grouped_if_values_and_priors_are_equal(monkeypatch):
    noisy = cells_of([5.0, 3.0, 5.0, 3.0, 5.0], dpm.DiscreteLaplace(scale=2.0))
    one, two = Flat(), Flat()
    monkeypatch.setattr(tied_windows, "SHARED", 6)
    rows, which = tied_windows._kinds(noisy, [one, one, two, one, one])
    assert rows.tolist() == which.tolist() == [0, 1, 2, 3, 4]
    monkeypatch.setattr(tied_windows, "SHARED", 5)
    rows, which = tied_windows._kinds(noisy, [one, one, two, one, one])
    assert rows.tolist() == [1, 0, 2]
    assert which.tolist() == [1, 0, 2, 0, 1]


@pytest.mark.parametrize(
    ("prior", "found"),
    [
        (None, [0.5, 0.5]),
        ({"law": "multinomial"}, [0.5, 0.5]),
        ({"law": "multinomial", "alpha": 2.0}, [2.0, 2.0]),
        ({"law": "multinomial", "alpha": [1.0, 3.0]}, [1.0, 3.0]),
        ("flat", None),
        ({"law": "geometric", "mean": 3.0}, None),
    ],
)
def test_concentrations_of_counts_with_a_total(prior, found):
    alpha = counts_with_total._concentrations(prior, 2)
    assert (None if alpha is None else alpha.tolist()) == found


def test_concentrations_and_bounds_that_are_rejected():
    with pytest.raises(ValueError, match=r"must have no parameter other than alpha, got alpha, mean, shape$"):
        counts_with_total._concentrations({"law": "multinomial", "shape": 1, "mean": 2, "alpha": 3}, 2)
    with pytest.raises(ValueError, match=r"lower must be finite if counts have a total, got -inf for b$"):
        counts_with_total.posterior({"a": 3, "b": 4}, total=9, noise=dpm.DiscreteLaplace(scale=1.0), lower=[0, -np.inf])


@pytest.mark.parametrize("weights", [[3.0], [1.0, 2.0, 3.0], [0.5, 1e-30, 1e-20]])
def test_sums_of_later_weights(weights):
    expected = [sum(weights[:i:-1]) for i in range(len(weights))]
    assert counts_with_total._later(np.array(weights)).tolist() == pytest.approx(expected, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 5, 1.0), (1, 4, 3.0), (2, 3, 0.5), (4, 1, 0.25)],  # one total, with a gap
        [(0, 3, 1.0), (0, 4, 2.0), (0, 5, 4.0), (2, 1, 1.0), (2, 2, 0.5), (3, 0, 2.0)],  # runs of pairs
        [(7, 2, 1.0)],
    ],
)
def test_a_rate_is_the_mixture_over_its_pairs(pairs):
    """Check a Beta(a + s, b + t) distribution for every pair of counts (s, t), and the ends of the range."""
    s, t, weights = np.array(pairs).T
    law, p = counts_with_total.RateLaw(0.5, 1.5, s, t, weights), weights / weights.sum()
    parts = stats.beta(0.5 + s, 1.5 + t)
    mean = p @ parts.mean()
    assert law.mean() == pytest.approx(mean, rel=1e-12)
    assert law.variance() == pytest.approx(p @ (parts.var() + (parts.mean() - mean) ** 2), rel=1e-12)
    for x in (1e-6, 0.1, 0.5, 0.97):
        assert law.cdf(x) == pytest.approx(p @ parts.cdf(x), rel=1e-11, abs=0)
        assert law.pdf(x) == pytest.approx(p @ parts.pdf(x), rel=1e-9, abs=0)
        assert law.quantile(p @ parts.cdf(x)) == pytest.approx(x, rel=1e-8)
    assert law.cdf([-1.0, 0.0, 1.0, 2.0]).tolist() == [0, 0, 1, 1]
    assert law.pdf([-0.1, 1.1]).tolist() == [0, 0]
    assert law.quantile([0.0, 1.0]).tolist() == [0, 1]
    drawn = law.sample(4000, stream(1, "rate"))
    assert abs(drawn.mean() - mean) < 5 * (law.variance() / 4000) ** 0.5


def test_a_file_without_records_has_no_shares():
    found = counts_with_total.posterior([0.4, -0.3], total=0, noise=dpm.Laplace(scale=1.0))
    drawn = found.sample(3, rng=stream(1, "nothing"))
    assert (drawn["counts"] == 0).all()
    assert found.groups == tuple(drawn) == ("counts", "rates")
    assert drawn["rates"].sum(axis=1) == pytest.approx(1)
    facts = found.facts
    assert facts["omitted"] == "shares of the file, because the file has no records"
    assert facts["prior"] == {"law": "multinomial", "alpha": [0.5, 0.5], "total": "flat"}
    assert (facts["counts"], facts["measured"]) == (2, 2)


@pytest.mark.parametrize("size", [5, 6])
def test_summaries_of_many_counts_and_shares_are_computed_together(size, monkeypatch):
    """Check that summaries for all counts, shares and rates equal those of single quantities, for both methods."""
    monkeypatch.setattr(tied_windows, "SHARED", size)
    noisy, names = [9.0, 4.0, 0.0, 14.0, 3.0], list("abcde")
    found = counts_with_total.posterior(noisy, total=30, noise=dpm.DiscreteLaplace(scale=1.5), names=names)
    for group in (found.counts, found.shares, found.rates):
        numbers = group.numbers(0.9)
        for i, name in enumerate(names):
            one = group[name]
            assert (one.mean(), one.sd(), *one.interval(0.9)) == pytest.approx(
                (numbers.mean[i], numbers.sd[i], numbers.lower[i], numbers.upper[i]), rel=1e-8
            )
    together = counts_with_total._Parts(found.source)
    assert (together._numbers_of("rates") is None) == (size == 6)
    noisy_total = {"released": 30, "noise": dpm.DiscreteLaplace(scale=1.0)}
    other = counts_with_total.posterior(noisy, total=noisy_total, noise=dpm.DiscreteLaplace(scale=1.5))
    together = counts_with_total._Parts(other.source)
    assert (together._numbers_of("counts") is None) == (size == 6)
    assert together._numbers_of("shares") is None  # their denominators differ
    assert together._numbers_of("rates") is None


def test_moments_of_counts_with_few_possible_values():
    """Check one value, and two values with the odds 1 to a."""
    mean, variance = leaves(lower=[3, 40], upper=[3, 41]).moments(0.0)
    assert mean == pytest.approx(43 + A / (1 + A), rel=1e-12)
    assert variance == pytest.approx(A / (1 + A) ** 2, rel=1e-9)
    assert leaves(lower=[3, 40], upper=[3, 40]).moments(0.0) == (43.0, 0.0)


@pytest.mark.parametrize(
    ("y", "least"),
    [  # a rate is Beta(1/2, 1): P(rate <= x) = sqrt(x), P(count = 10) = B(10.5, 1)/B(1/2, 1)
        (8.0, (1 - 0.8**0.5) / 2 * 0.5),
        (10.0, 0.5 / 10.5 * 0.5),
        (12.0, 0.5 / 10.5 * np.exp(-1) / 2),
        (0.0, np.exp(betaln(0.5, 11) - betaln(0.5, 1)) * 0.5),
        (-4.0, np.exp(betaln(0.5, 11) - betaln(0.5, 1)) * np.exp(-2) / 2),
    ],
)
def test_the_least_tail_of_a_count_of_a_table_by_hand(y, least):
    """Half of P(rate beyond y/10), or P(count at the end), times a tail of the noise. Rates are Dirichlet(1/2)."""
    cells = cells_of([y], dpm.Laplace(scale=2.0))
    found = conflict.least_given_totals(cells, np.array([10.0]), 0.5, np.array([3]))
    assert found == pytest.approx([least], rel=1e-12)
    assert found[0] <= conflict.of_count(y, dpm.Laplace(scale=2.0), 10, 0.5, 1.0)


def test_the_evidence_of_a_smoothness_is_that_of_a_normal_approximation():
    """Check the log of the integral of exp(value) over the normal prior, with the curvature at the maximum."""
    likelihood = np.exp(-((np.arange(40)[:, None] % 8 - np.arange(8)) ** 2) / 3)
    problem, weights = priors._Problem(likelihood, np.full(40, 3.0), np.ones(8)), priors.penalty(8, 1.0, 0.1)
    f, evidence = problem.climb(np.zeros(8), weights)
    _, _, observed = problem._local(f, weights)
    log_sizes = [np.linalg.slogdet(matrix)[1] for matrix in (weights, observed + 1e-9 * np.trace(observed) * np.eye(8))]
    assert evidence == pytest.approx(problem.value(f, weights) + (log_sizes[0] - log_sizes[1]) / 2, rel=1e-9)


@pytest.mark.parametrize(
    ("more", "chosen"),
    [  # the prior of log10 of the smoothness is N(1.5, 1): 10 and 100 are equally probable, 1000 and 1 less by exp(-1)
        ({2: 0.02}, 100.0),
        ({1: 0.02}, 10.0),
        ({3: 1.02}, 1000.0),
        ({3: 0.98}, 100.0),
        ({0: 1.02}, 1.0),
        ({3: 5.0, 2: 1.0, 1: 4.5}, 10.0),  # one smoothness with less evidence does not end the search
        ({3: 5.0, 2: 1.0, 1: 1.0, 0: 9.0}, 1000.0),  # two of them do
    ],
)
def test_the_smoothness_has_a_normal_prior(more, chosen, monkeypatch):
    tried = []

    class Problem:
        def __init__(self, *_):
            pass

        def climb(self, f, weights):
            tried.append(weights)
            return f, more.get(round(np.log10(weights[-1, -1])), 0.0)

        def masses(self, f):
            return f

    monkeypatch.setattr(priors, "_Problem", Problem)
    assert priors.largest(np.ones((3, 6)), np.ones(3), np.ones(6))[1] == chosen
    free = tried[-1][0, 0] - 1e-6  # the weight of the second difference at the count 0
    assert round(free**-0.5) == 3  # one standard deviation of its log
