"""Tests of 64 and more counts with a total, which use another method; concentrations with a noisy total."""

import pickle
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

import dpmultinomial as dpm
from dpmultinomial._inference import counts as adapter
from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._results.posterior import Posterior
from dpmultinomial._seeding import stream
from reproduction.scenarios import standard
from reproduction.scenarios.noisy_counts import rules

NUMBERS = ["mean", "sd", "lower", "upper"]
TINY = DiscreteGaussian(sigma=1.5)


def released(k: int, total: int, *, noise=TINY, **more) -> Release:
    rng = stream(k, "many counts")
    truth = rng.multinomial(total, rng.dirichlet(np.ones(k)))
    return Release(noise.sample(truth, rng=rng), mechanism=noise, total=total, **more)


@pytest.mark.parametrize("noise", [TINY, Laplace(scale=2.0)])
@pytest.mark.parametrize("prior", [None, "jeffreys", 2.5])
@pytest.mark.parametrize(("k", "total"), [(16, 1500), pytest.param(64, 200, marks=pytest.mark.thorough)])
def test_many_counts_have_the_law_of_few(k, total, noise, prior, monkeypatch):
    """Check the mixture of Dirichlet distributions, which sums whole ranges, against windows of the tree."""
    release = released(k, total, noise=noise)
    found = posterior(release, prior=prior)
    assert found.method == "convolutions"
    monkeypatch.setattr(adapter, "MANY", 65)
    plain = posterior(release, prior=prior)
    assert plain.method == "exact"
    assert found.facts["prior"] == plain.facts["prior"]
    assert found.facts["total"] == plain.facts["total"] == total
    ours, theirs = found.summary(), plain.summary()
    assert ours[["quantity", "type", "status"]].equals(theirs[["quantity", "type", "status"]])
    assert ours[NUMBERS].to_numpy() == pytest.approx(theirs[NUMBERS].to_numpy(), abs=1e-9)
    some = ("3", "11", str(k - 1))
    for group in ("shares", "rates"):
        for name in some:
            own, other = (getattr(f, group).among(*some)[name] for f in (found, plain))
            assert own.name == other.name
            assert (own.mean(), own.sd()) == pytest.approx((other.mean(), other.sd()), abs=1e-10)
            assert own.interval() == pytest.approx(other.interval(), abs=1e-8)
    own, other = (standard.noise_part(f, some) for f in (found, plain))
    assert own == pytest.approx(other, abs=1e-10)
    assert len(own) == k + 3


def test_shares_among_some_of_many_are_drawn_from_their_law():
    found = posterior(released(64, 500))
    some = found.shares.among("1", "2")
    draws = some.sample(20_000, rng=stream(3, "among"))
    draws = draws[~np.isnan(draws[:, 0])]
    assert draws.sum(axis=1) == pytest.approx(1)
    law = some["1"]
    assert abs(draws[:, 0].mean() - law.mean()) < 5 * law.sd() / len(draws) ** 0.5


@pytest.mark.parametrize(("k", "total"), [(1000, 1000), (200, 3_000_000)])
def test_small_and_large_totals_of_many_counts_have_answers(k, total):
    """Check totals that whole ranges cannot sum: the means sum to the total; noise of sd 1.5 gives no larger sds."""
    found = posterior(released(k, total))
    assert found.counts.mean().sum() == pytest.approx(total, rel=1e-9)
    assert (found.counts.sd() < 1.6).all()
    assert np.isfinite(found.rates["1"].interval()).all()


@pytest.mark.parametrize("prior", ["jeffreys", 0.5, [0.5] * 5])
def test_a_concentration_beside_a_noisy_total_is_that_of_the_rates(prior):
    total = {"released": 52.0, "noise": TINY}
    release = Release([12, 3, 20, 9, 8], mechanism=TINY, total=total)
    found = posterior(release, prior=prior).summary()
    same = posterior(release, prior={"law": "multinomial", "alpha": 0.5}).summary()
    assert found.equals(same)
    assert set(found["type"]) == {"count", "share", "rate"}


def test_the_rules_know_from_where_totals_may_be_large():
    assert rules.MANY == adapter.MANY
    few = {"counts": [1.0] * 15, "total": 10**6 + 1}
    assert [text for _, text in rules._numbers(few, None, few["counts"])] == [
        "the exact total of fewer than 16 counts must be at most 1000000, got 1000001"
    ]
    many = {"counts": [1.0] * 16, "total": 10**6 + 1}
    assert not list(rules._numbers(many, None, many["counts"]))


def test_a_pickled_posterior_is_computed_again_to_the_same_numbers():
    exact = dpm.posterior(dpm.Release({"a": 3.0, "b": 9.0}, mechanism=dpm.Laplace(scale=2.0), total=12))
    drawn = dpm.posterior(dpm.Release([[8, 2], [1, 9]], mechanism=dpm.Swap(rate=0.2)), rng=dpm.stream(1, "pickle"))
    tree = dpm.posterior(dpm.Release([9, 4, 6], mechanism=dpm.DiscreteGaussian(sigma=1.0), parents=[None, 0, 0]))
    for found in (exact, drawn, tree):
        again = pickle.loads(pickle.dumps(found))
        pd.testing.assert_frame_equal(again.summary(), found.summary())
    part = Posterior({"counts": exact.counts}, joint=lambda size, rng: {}, method="windows")
    with pytest.raises(TypeError, match=r"only a result of dpmultinomial\.posterior can be pickled"):
        pickle.dumps(part)


def test_a_notebook_completes_names_and_shows_releases():
    release = dpm.Release({"<b>": 3.0, "c": 9.0}, mechanism=dpm.Laplace(scale=2.0), total=12)
    assert dpm.posterior(release).counts._ipython_key_completions_() == ["<b>", "c"]
    html = release._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "Laplace(scale=2" in html
    many = dpm.Release(np.arange(100.0), mechanism=dpm.Exact())
    assert "100 in all" in many._repr_html_()


def test_questions_must_be_a_mapping():
    found = dpm.posterior(dpm.Release([3, 5], mechanism=dpm.Laplace(scale=1.0), names=["a", "b"]))
    with pytest.raises(TypeError, match=r"questions must be a mapping from names to questions, .*got 'a > b'"):
        found.ask("a > b")


@pytest.mark.parametrize("group", ["shares", "rates"])
def test_joint_draws_of_shares_are_divided_by_their_own_sum(group):
    noisy = {"a": 12.0, "b": 5.0, "c": 33.0}
    found = getattr(dpm.posterior(dpm.Release(noisy, mechanism=dpm.Laplace(scale=2.0), total=50)), group)
    rng = np.random.default_rng(5)
    for part in (found, found.among("a", "b")):
        draws = part.sample(4000, rng=rng)
        assert draws.shape == (4000, len(part))
        assert draws.sum(axis=1) == pytest.approx(np.ones(4000))
        mean = np.array([part[name].mean() for name in part])
        error = np.array([part[name].sd() for name in part]) / 4000**0.5
        assert (np.abs(draws.mean(axis=0) - mean) < 5 * error).all()  # false alarm below 1e-5


def test_the_sum_of_the_noise_is_compared_with_a_public_total():
    """Check the p-value of the total. The sum of two Laplace variables of scale b satisfies
    P(|sum| >= g) = (2 + g/b) exp(-g/b)/2. The sum of discrete Laplace variables is a convolution.
    """
    found = posterior(Release([19.0, 20.5], mechanism=Laplace(scale=1.5), total=24)).facts["conflict"]
    x = 15.5 / 1.5
    assert (found["name"], found["found"]) == ("total", True)
    assert found["smallest"] == pytest.approx((2 + x) / 2 * np.exp(-x), rel=5e-3)
    law, d = dpm.DiscreteLaplace(scale=2.0), np.arange(-300, 301)
    mass = np.exp(-np.abs(d) / 2.0) * np.tanh(0.25)  # (1 - a)/(1 + a) with a = exp(-1/2)
    noise = np.convolve(np.convolve(mass, mass), mass)
    found = posterior(Release([9, 12, 30], mechanism=law, total=91)).facts["conflict"]  # 40 fewer than the total
    assert found["smallest"] == pytest.approx(2 * noise[: 900 - 40 + 1].sum(), rel=1e-6, abs=0)
    clipped = posterior(Release([0, 12, 30], mechanism=law.clipped(0), total=82)).facts["conflict"]
    assert clipped["name"] == "total"  # the noise sums to -40 or less
    assert clipped["smallest"] == pytest.approx(2 * noise[: 900 - 40 + 1].sum(), rel=1e-6, abs=0)
    rounded = posterior(Release([10, 10, 30], mechanism=law.rounded(5, ties="up"), total=96)).facts["conflict"]
    assert rounded["smallest"] == pytest.approx(2 * noise[: 900 - 40 + 1].sum(), rel=1e-6, abs=0)  # 12 + 12 + 32 - 96
    exact = posterior(Release([9.0, 12], mechanism=dpm.Exact(), total=21)).facts["conflict"]
    assert exact["tested"] == 2


def test_a_parameter_for_each_count_with_a_public_total():
    """Check that a distribution with one parameter per count gives the same posterior as one distribution per count."""
    values, scales = [12.3, -4.1, 44.2], [2.0, 1.0, 5.0]
    for modify in (lambda law: law, lambda law: law.clipped(0.0)):
        shown = np.maximum(values, 0.0) if modify(Laplace(scale=1.0)) != Laplace(scale=1.0) else values
        one = posterior(Release(shown, mechanism=modify(Laplace(scale=np.array(scales))), total=50))
        each = posterior(Release(shown, mechanism=[modify(Laplace(scale=b)) for b in scales], total=50))
        assert one.summary().equals(each.summary())
        assert one.facts["conflict"] == each.facts["conflict"]
    with pytest.raises(ValueError, match=r"one parameter, or one per count \(3 counts\), got 2 parameters"):
        posterior(Release(values, mechanism=Laplace(scale=np.array([1.0, 2.0])), total=50))


def test_sixteen_shares_by_enumeration():
    """Check the posterior of 16 shares of a total of 3: all 816 vectors of counts."""
    k, total, r, alpha = 16, 3, 2.0, 1.5
    law = dpm.Dirichlet(r=r, alpha=alpha)
    shares = stream(1, "shares").dirichlet(np.full(k, 2.0))
    found = posterior(Release(shares, mechanism=law, total=total))
    places = np.array(list(combinations_with_replacement(range(k), total)))
    counts = np.stack([np.bincount(row, minlength=k) for row in places])
    a = r * counts + alpha
    logs = ((a - 1) * np.log(shares) - gammaln(a) + gammaln(counts + 0.5) - gammaln(counts + 1)).sum(axis=1)
    p = np.exp(logs - logs.max())
    assert found.counts.mean().to_numpy() == pytest.approx(p @ counts / p.sum(), rel=1e-9)
    assert found.facts["conflict"]["tested"] == k


@pytest.mark.parametrize(("total", "limit"), [(32, "at least 37"), (58, "at most 57")])
def test_a_total_that_is_impossible_under_bounded_noise(total, limit):
    """Check the smallest and largest possible totals of counts that were rounded to 15, 30 and 0 at random: each count
    is less than 5 below or above its released value, so the sum is between 37 and 57."""
    message = f"total must be {limit} given the released values and the noise, got {total}: check"
    release = Release([15, 30, 0], mechanism=dpm.RandomRounding(base=5), total=total)
    with pytest.raises(ValueError, match=message):
        posterior(release)
    assert posterior(Release([15, 30, 0], mechanism=dpm.RandomRounding(base=5), total=57)).accuracy.status == "exact"
