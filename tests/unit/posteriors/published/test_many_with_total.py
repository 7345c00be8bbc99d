"""Thousands of counts with a total: sums over all counts are Fourier sums; compared with sums of products."""

import numpy as np
import pytest

import dpmultinomial as dpm
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published import counts_with_total
from dpmultinomial._results import coupled
from dpmultinomial._results.coupled import Coupled, free_sum
from dpmultinomial._results.integers import Window, added_up
from dpmultinomial._seeding import stream


def few(monkeypatch, size):
    monkeypatch.setattr(coupled, "MANY", size)
    monkeypatch.setattr(counts_with_total, "MANY", size)


def released(size, rng, law):
    truth = rng.negative_binomial(0.7, 0.7 / 30, size)
    return law.sample(truth, rng=rng), int(truth.sum())


@pytest.mark.parametrize("words", [{"law": "discrete_laplace", "scale": 2.0}, {"law": "gaussian", "sd": 3.0}])
@pytest.mark.parametrize(
    "prior", [None, {"law": "multinomial", "alpha": 0.5}, "1/(1+n)", {"law": "geometric", "mean": 9.0}]
)
@pytest.mark.parametrize("away", [0, 60, -200])
def test_many_counts_have_the_laws_of_convolutions(words, prior, away, monkeypatch):
    """Public totals, also 60 and 200 from the sum of the counts; numbers, single laws, rates and the conflict."""
    law = law_of(words)
    noisy, total = released(150, stream(3, "many", str(away)), law)
    given = {"noise": law, "total": total + away, "prior": prior}
    few(monkeypatch, 10**9)
    plain = counts_with_total.posterior(noisy, **given)
    wanted = [plain.summary(0.9), plain.facts, [plain.counts[name].mean() for name in list(plain.counts)[:9]]]
    few(monkeypatch, 64)
    found = counts_with_total.posterior(noisy, **given)
    assert all(getattr(found, group).in_one_pass for group in found.groups)
    ours = found.summary(0.9)
    for column in ("mean", "sd", "lower", "upper"):
        np.testing.assert_allclose(ours[column], wanted[0][column], rtol=1e-10, atol=1e-12)
    assert found.facts["neglected"] <= 1e-12
    np.testing.assert_allclose([found.counts[name].mean() for name in list(found.counts)[:9]], wanted[2], rtol=1e-12)
    smallest = wanted[1]["conflict"]["smallest"]
    assert found.facts["conflict"]["smallest"] == pytest.approx(
        smallest, abs=2e-12
    )  # 20 sds of trimmed entries, 1e-13 each
    share = found.shares[list(found.shares)[3]]
    assert share.mean() * (total + away) == pytest.approx(ours["mean"][3], rel=1e-12)


def test_a_noisy_total_of_many_counts(monkeypatch):
    law, root = law_of({"law": "discrete_gaussian", "sigma": 2.0}), law_of({"law": "discrete_gaussian", "sigma": 6.0})
    noisy, total = released(120, stream(4, "many"), law)
    given = {
        "noise": law,
        "total": {"released": total + 25, "noise": root},
        "prior": {"law": "geometric", "mean": 30.0},
    }
    few(monkeypatch, 10**9)
    plain = counts_with_total.posterior(noisy, **given)
    names = list(plain.counts)[:8]
    wanted = [plain.counts[name].mean() for name in names], plain.source.together.total
    few(monkeypatch, 64)
    found = counts_with_total.posterior(noisy, **given)
    np.testing.assert_allclose([found.counts[name].mean() for name in names], wanted[0], rtol=1e-12)
    ours, theirs = found.source.together.total, wanted[1]
    assert ours.at(theirs.first, len(theirs.weights)) == pytest.approx(theirs.weights, abs=1e-13)
    assert found.shares[names[0]].mean() == pytest.approx(plain.shares[names[0]].mean(), rel=1e-11)


@pytest.mark.parametrize("shared", [True, False])
def test_the_sum_of_many_counts_is_their_convolution(shared, monkeypatch):
    """Factors of several counts, and one factor per count; the sum need not begin near 0."""
    rng = stream(5, "sum")
    factors = [Window(int(first), rng.random(9) + 0.01) for first in rng.integers(-3, 900, 40)]
    which = rng.integers(0, 40, 200) if shared else np.arange(40)
    which[:40] = np.arange(40)
    monkeypatch.setattr(coupled, "MANY", 10**9)
    wanted = added_up([factors[i] for i in which]).normalised()
    monkeypatch.setattr(coupled, "MANY", 40)
    found = free_sum(factors, which).normalised()
    assert found.at(wanted.first, len(wanted.weights)) == pytest.approx(wanted.weights, abs=1e-14)
    root = Window(int(wanted.values() @ wanted.weights), np.ones(1))
    ours = Coupled(factors, root, which=which)
    monkeypatch.setattr(coupled, "MANY", 10**9)
    plain = Coupled([factors[i] for i in which], root)
    for place in (0, 17, len(which) - 1):
        np.testing.assert_allclose(ours.sum_of([place]).weights, plain.sum_of([place]).weights, rtol=1e-11)
    np.testing.assert_allclose(ours.pair_of([0], [5]).matrix(), plain.pair_of([0], [5]).matrix(), atol=1e-13)


def test_thousands_of_names_with_a_total_are_answered():
    """The means add up to the total, and counts of one noisy value have one answer."""
    law = dpm.DiscreteLaplace(scale=5.0)
    noisy, total = released(6000, stream(6, "names"), law)
    found = dpm.posterior(dpm.Release(noisy, mechanism=law, total=total))
    table = found.counts.numbers()
    assert table.mean.sum() == pytest.approx(total, rel=1e-12)
    means = dict(zip(noisy.tolist(), table.mean.tolist(), strict=True))
    assert [means[y] for y in noisy.tolist()] == table.mean.tolist()
    in_order = [means[y] for y in sorted(means)]
    assert in_order == pytest.approx(sorted(in_order), rel=1e-12)  # a larger noisy value has no smaller mean
    assert found.source.tails[-1] >= 1e-12
