"""Tests of many counts with a total: shared windows and Fourier sums, compared with one window and one convolution per
count.
"""

import numpy as np
import pytest
from scipy.special import logsumexp

import dpmultinomial as dpm
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published import counts_with_total, tied_windows
from dpmultinomial._posteriors.published.cells import cells_of, total_of
from dpmultinomial._posteriors.published.priors import Splits, prior_of
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
    assert found == pytest.approx(wanted, rel=1e-9)


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
    """The means add up to the total, equal noisy values have one answer, and larger ones no smaller means."""
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
