"""Tests of 64 and more counts with a total, which use another method; concentrations with a noisy total."""

import pickle
from itertools import combinations_with_replacement
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

import dpmultinomial as dpm
from dpmultinomial._accuracy import Accuracy
from dpmultinomial._inference import _joint_posteriors, tables
from dpmultinomial._inference import counts as adapter
from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.published import counts_with_total, tied_windows
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


@pytest.mark.parametrize("shared", [3, 1000])
def test_the_part_of_the_noise_in_the_variance_of_a_rate(shared, monkeypatch):
    """Check rates that are computed in one pass and one by one. Given the count n of six with the total 30, a rate is
    Beta(n + 1/2, 32.5 - n), with the mean m = (n + 1/2)/33 and the variance m (1 - m)/34.
    """
    monkeypatch.setattr(tied_windows, "SHARED", shared)
    names = ("a", "b", "c", "d", "e", "f")
    values = dict(zip(names, [9, 2, -1, 4, 12, 0], strict=True))
    found = counts_with_total.posterior(values, total=30, noise=dpm.DiscreteLaplace(scale=2.0))
    assert found.rates.in_one_pass == (shared == 3)
    parts = standard.noise_part(found, ())
    assert list(parts) == list(names)
    for name in names:
        law = found.counts[name]
        mean = (law.values + 0.5) / 33
        between = law.probabilities @ (mean - law.probabilities @ mean) ** 2
        within = law.probabilities @ (mean * (1 - mean)) / 34
        assert parts[name] == pytest.approx(between / (between + within), rel=1e-9)


def test_the_part_of_the_noise_in_the_variance_of_a_rate_among_two_by_enumeration():
    """Check all counts (s, t, u) with the sum 8, under Jeffreys' prior. Given the counts, the rate of the first among
    the first two is Beta(s + 1/2, t + 1/2), with the mean m and the variance m (1 - m)/(s + t + 2).
    """
    released, every = np.array([5, 1, 3]), [(s, t, 8 - s - t) for s in range(9) for t in range(9 - s)]
    counts = np.array(every, dtype=float)
    logs = (gammaln(counts + 0.5) - gammaln(counts + 1) - np.abs(counts - released) / 2).sum(axis=1)
    weights = np.exp(logs) / np.exp(logs).sum()
    size = counts[:, 0] + counts[:, 1] + 1
    mean = (counts[:, 0] + 0.5) / size
    between, within = weights @ (mean - weights @ mean) ** 2, weights @ (mean * (1 - mean) / (size + 1))
    law = dpm.DiscreteLaplace(scale=2.0)
    found = counts_with_total.posterior(dict(zip("abc", released, strict=True)), total=8, noise=law)
    parts = standard.noise_part(found, ("a", "b"))
    assert len(parts) == 5
    (label,) = (name for name in parts if name.startswith("a among"))
    assert parts[label] == pytest.approx(between / (between + within), rel=1e-9)
    alone = (counts[:, 0] + 0.5) / 9.5
    between, within = weights @ (alone - weights @ alone) ** 2, weights @ (alone * (1 - alone)) / 10.5
    assert parts["a"] == pytest.approx(between / (between + within), rel=1e-9)


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
        "the exact total of fewer than 16 counts must be <= 1000000, got 1000001"
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
    assert (found["name"], found["found"]) == ("the total", True)
    assert found["smallest"] == pytest.approx((2 + x) / 2 * np.exp(-x), rel=5e-3)
    law, d = dpm.DiscreteLaplace(scale=2.0), np.arange(-300, 301)
    mass = np.exp(-np.abs(d) / 2.0) * np.tanh(0.25)  # (1 - a)/(1 + a) with a = exp(-1/2)
    noise = np.convolve(np.convolve(mass, mass), mass)
    found = posterior(Release([9, 12, 30], mechanism=law, total=91)).facts["conflict"]  # 40 fewer than the total
    assert found["smallest"] == pytest.approx(2 * noise[: 900 - 40 + 1].sum(), rel=1e-6, abs=0)
    clipped = posterior(Release([0, 12, 30], mechanism=law.clipped(0), total=82)).facts["conflict"]
    assert clipped["name"] == "the total"  # the noise sums to -40 or less
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


@pytest.mark.parametrize(("total", "limit"), [(32, ">= 37"), (58, "<= 57")])
def test_a_total_that_is_impossible_under_bounded_noise(total, limit):
    """Check the smallest and largest possible totals of counts that were rounded to 15, 30 and 0 at random: each count
    is less than 5 below or above its released value, so the sum is between 37 and 57."""
    message = f"total must be {limit} given the released values and the noise, got {total}: check"
    release = Release([15, 30, 0], mechanism=dpm.RandomRounding(base=5), total=total)
    with pytest.raises(ValueError, match=message):
        posterior(release)
    assert posterior(Release([15, 30, 0], mechanism=dpm.RandomRounding(base=5), total=57)).accuracy.status == "exact"


@pytest.mark.parametrize("size", [2, 15, 16])
def test_sixteen_counts_with_a_total_use_convolutions(size):
    assert posterior(released(size, 40)).method == ("exact" if size < 16 else "convolutions")


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"bounds": (0, 10)}, True),  # 15 was rounded from 11 to 19
        ({"bounds": (0, 11)}, False),
        ({"bounds": (19, np.inf)}, False),
        ({"bounds": (20, np.inf)}, True),
        ({"total": 10}, True),
        ({"total": 11}, False),
    ],
)
def test_a_release_outside_bounds_is_rejected_before_inference(options, wrong):
    release = Release([15, None], mechanism=dpm.RandomRounding(base=5), **options)
    if not wrong:
        adapter.refuse(release, None)
        return
    with pytest.raises(ValueError, match=r"^1: the released value 15 cannot be used, because .* impossible under the"):
        adapter.refuse(release, None)


@pytest.mark.parametrize(
    ("options", "prior", "words"),
    [
        ({"total": 9}, [1.0, 2.0, 3.0], "prior must be"),
        ({"total": 9}, "flat", None),
        ({"total": 9}, {"law": "multinomial", "alpha": 1.0}, None),
        ({"bounds": (0, 5)}, "1/(1+n)", None),  # noise without a largest value
        ({}, "fitted", "fitting a prior requires at least 30 measured counts, got 2"),
        ({"total": 9}, "fitted", "fitting a prior requires at least 30 measured counts, got 2"),
        ({"groups": ["a"]}, None, r"groups must contain one name per count \(2 counts\), got 1 names"),
    ],
)
def test_a_prior_is_checked_before_inference(options, prior, words):
    release = Release([25.0, 4.0], mechanism=Laplace(scale=2.0), **options)
    if words is None:
        adapter.refuse(release, prior)
        return
    with pytest.raises(ValueError, match=words):
        adapter.refuse(release, prior)


def test_shares_and_tables_are_not_checked_before_inference():
    adapter.refuse(Release([0.2, 0.8], mechanism=dpm.Dirichlet(r=1.0, alpha=1.0)), "nothing")
    adapter.refuse(Release([[1, 2]], mechanism=Laplace(scale=2.0)), "nothing")


@pytest.mark.parametrize(
    ("prior", "found"),
    [(None, [0.5] * 3), ("jeffreys", [0.5] * 3), ("flat", [1.0] * 3), (2, [2.0] * 3), ([1, 2, 3], [1.0, 2.0, 3.0])],
)
def test_concentrations_of_a_prior(prior, found):
    assert adapter._is_concentration(prior)
    assert adapter.concentration(prior, 3).tolist() == found


@pytest.mark.parametrize("prior", ["fitted", "1/(1+n)", {"law": "geometric", "mean": 3}, {}])
def test_priors_of_single_counts_are_not_concentrations(prior):
    assert not adapter._is_concentration(prior)


@pytest.mark.parametrize(("method", "kernel"), [("gibbs", "convolution"), ("table", "table")])
def test_four_chains_of_a_thousand_draws_after_five_hundred(method, kernel, monkeypatch):
    calls, rng = [], stream(1, "chains")

    def gibbs(values, **setting):
        calls.append(setting)
        return stream(len(calls), "draws").dirichlet(np.ones(2), 1000)

    monkeypatch.setattr(adapter.laplace_multinomial, "gibbs", gibbs)
    release = Release([4.0, 5.5], mechanism=Laplace(scale=2.0), total=9, facts={"source": "a"})
    found = posterior(release, method=method, rng=rng)
    assert len(calls) == 4
    for call in calls:
        assert (call["total"], call["scale"], call["draws"], call["burn_in"]) == (9, 2.0, 1000, 500)
        assert (call["kernel"], call["alpha"].tolist()) == (kernel, [0.5, 0.5])
        assert call["rng"] is calls[0]["rng"]
    assert found.groups == ("rates",)
    assert found.method == method
    prior = {"law": "Dirichlet", "concentration": [0.5, 0.5]}
    assert found.facts == {"prior": prior, "total": 9, "source": "a"}
    pooled = np.concatenate([stream(i, "draws").dirichlet(np.ones(2), 1000)[:, 0] for i in (1, 2, 3, 4)])
    assert found.rates["1"].mean() == pytest.approx(pooled.mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("values", "options", "fault"),
    [
        ([4, 5], {}, "no exact total"),
        ([4, 5], {"total": {"released": 9, "noise": TINY}}, "no exact total"),
        ([4, None], {"total": 9}, "unmeasured counts"),
        ([4, 5], {"total": 9, "bounds": (0, 9)}, "bounds"),
        ([4, None], {"total": 9, "bounds": (0, 9)}, "bounds"),
    ],
)
def test_chains_require_measured_counts_with_an_exact_total(values, options, fault):
    release = Release(values, mechanism=Laplace(scale=2.0), **options)
    with pytest.raises(
        ValueError, match=rf"^method 'table' requires an exact total .*, got {fault}: use method 'auto'$"
    ):
        posterior(release, method="table", rng=stream(1, "unused"))


def test_a_file_without_records_has_the_prior_of_the_rates():
    found = posterior(Release({"a": 0.3, "b": -0.2}, mechanism=Laplace(scale=2.0), total=0), prior=[1.0, 3.0])
    assert found.counts["a"].interval() == (0.0, 0.0)
    assert found.rates["a"].mean() == pytest.approx(0.25, rel=1e-12)
    drawn = found.sample(2000, rng=stream(1, "nothing"))
    assert (drawn["counts"] == 0).all()
    assert found.groups == tuple(drawn) == ("counts", "rates")  # 0/0 is not a share
    assert found.facts["omitted"] == "shares of the file, because the file has no records"
    assert drawn["rates"].sum(axis=1) == pytest.approx(1)
    assert abs(drawn["rates"][:, 0].mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 5 / 2000)  # variance of Beta(1, 3)


def test_names_of_shares_among_some_categories():
    found = posterior(Release({"a": 3.0, "b": 9.0, "c": 1.0}, mechanism=Laplace(scale=2.0), total=12))
    assert found.shares["a"].name == "a"
    assert found.shares.among("c", "a")["a"].name == "a among c, a"
    assert found.rates.among("c", "a")["c"].name == "c among c, a"
    assert found.facts["total"] == 12


@pytest.mark.parametrize("total", [30, 10_001])
def test_windows_of_counts_up_to_the_limit_have_a_joint_distribution(total, monkeypatch):
    """Check the limit of the number of values of a count, for listed counts and for windows of large counts."""
    values = {"a": total - 9.0, "b": 9.0}
    release = Release(values, mechanism=Laplace(scale=0.5), total=total)
    law = posterior(release).source.counts
    spans = [row.nonzero()[0] for row in law.factors] if total == 30 else [part.weights for part in law.windows]
    widest = max(int(span[-1] - span[0]) + 1 for span in spans) if total == 30 else max(map(len, spans))
    for limit, exact in ((widest, True), (widest - 1, False)):
        monkeypatch.setattr(_joint_posteriors, "WIDEST", limit)
        assert (posterior(release).counts.together is not None) == exact


def test_distributions_of_draws():
    """Check the values and frequencies of the pooled draws; all groups of a joint draw come from the same row."""
    counts = np.array([[[1.0], [3.0], [3.0]], [[2.0], [3.0], [1.0]]])  # two chains of three draws
    state = Accuracy("approximate", 0.1, "by hand")
    found = _joint_posteriors.of_draws(
        {"counts": counts, "rates": counts / 10}, {"counts": ["a"], "rates": ["a"]}, method="by hand",
        facts={"x": 1}, accuracy=state,
    )  # fmt: skip
    assert found.counts["a"].mean() == pytest.approx(13 / 6)
    assert [found.counts["a"].cdf(x) for x in (0, 1, 2, 3)] == pytest.approx([0, 1 / 3, 1 / 2, 1])
    assert found.counts["a"].accuracy is found.rates["a"].accuracy is state
    assert found.rates["a"].mean() == pytest.approx(0.13 / 0.6)
    drawn = found.sample(400, rng=stream(1, "draws"))
    np.testing.assert_allclose(drawn["counts"], 10 * drawn["rates"])
    assert set(drawn["counts"].ravel()) == {1.0, 2.0, 3.0}
    assert found.counts.sample(5, rng=stream(2, "draws")).shape == (5, 1)
    independent = stream(3, "draws").normal(size=(4, 500, 2))
    walk = independent.copy()
    walk[:, :, 1] = np.cumsum(walk[:, :, 1], axis=1)
    for draws, status in ((independent, "converged"), (walk, "not converged")):
        judged = _joint_posteriors.of_draws({"rates": draws}, {"rates": ["a", "b"]}, method="by hand", facts={})
        assert judged.accuracy.status == status


@pytest.mark.parametrize(("accepted", "enough"), [(399, False), (400, True)])
def test_rejection_sampling_needs_four_hundred_accepted_tables(accepted, enough, monkeypatch):
    asked = {}

    def abc_run(table, **setting):
        asked.update(setting)
        draws = np.full((accepted, 4), 0.25)
        state = Accuracy("approximate", 0.1, "by hand")
        return SimpleNamespace(draws=draws, originals=np.ones((accepted, 4), dtype=int), accuracy=state)

    monkeypatch.setattr(tables.swapped_table, "abc_run", abc_run)
    release = Release([[8, 2], [1, 9]], mechanism=dpm.Swap(rate=0.2))
    if enough:
        found = posterior(release, method="abc", rng=stream(1, "unused"))
        assert found.counts.mean().tolist() == [1.0] * 4
        assert found.facts == {"prior": {"law": "Dirichlet", "concentration": [1.0] * 4}, "total": 20, "rate": 0.2}
        assert (asked["iterations"], asked["rate"], asked["method"]) == (2_000_000, 0.2, "margins_first")
        return
    with pytest.raises(ValueError, match=r"^method 'abc' accepted only 399 of 2000000 proposals: use method 'auto'$"):
        posterior(release, method="abc", rng=stream(1, "unused"))


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ([[8, 2], [1, 9]], {"method": "abc"}, "rng is required for method 'abc'"),
        ([[8, 2], [1, 9]], {"method": "chain"}, "rng is required for method 'chain'"),
        ([[[8, 2]], [[1, 9]]], {"method": "abc", "rng": stream(1, "unused")}, "without strata, got 2 strata"),
        ([[8, -1], [1, 9]], {}, r"values of a swapped table must be integers >= 0, got -1$"),
        ([[8, 0.5], [1, 9]], {}, r"values of a swapped table must be integers >= 0, got 0.5$"),
        ([8, 1], {}, r"if the mechanism is a swap, got shape \(2,\)$"),
    ],
)
def test_swapped_tables_that_are_rejected(table, options, words):
    with pytest.raises(ValueError, match=words):
        posterior(Release(table, mechanism=dpm.Swap(rate=0.2)), **options)


def test_the_distribution_of_an_unknown_rate_states_its_prior():
    found = posterior(Release([[8, 0], [1, 9]], mechanism=dpm.Swap(rate=None)))
    assert found.facts["prior of the rate"] == {"law": "Beta", "a": 1.0, "b": 1.0}
    assert found.parameters.names == ("swap rate",)
    assert found.parameters["swap rate"].accuracy.reason == "relative error of probabilities: interpolated likelihood"
    assert found.parameters.sample(7, rng=stream(1, "rate")).shape == (7, 1)
    known = posterior(Release([[8, 0], [1, 9]], mechanism=dpm.Swap(rate=0.3)))
    assert known.parameters.names == ("log odds ratio",)
    assert known.parameters.sample(7, rng=stream(1, "odds")).shape == (7, 1)


def releases(count: int) -> list[Release]:
    return [Release([3.0 + i, 5.0], mechanism=Laplace(scale=1.0)) for i in range(count)]


def test_posteriors_of_many_releases_are_those_of_each():
    each = releases(6)
    found = dpm.posteriors(each, prior="flat")
    assert found.names == ("1", "2", "3", "4", "5", "6")
    assert repr(found) == "Posteriors(6 releases: 1, 2, 3, 4, 5 ..)"
    assert repr(found[:1]) == "Posteriors(1 release: 1)"
    assert repr(found[1:]) == "Posteriors(5 releases: 2, 3, 4, 5, 6)"
    for key, place in ((0, 0), (-1, 5), ("3", 2)):
        assert found[key].summary().equals(posterior(each[place], prior="flat").summary())
    assert [one.counts["1"].mean() for one in found] == [
        posterior(one, prior="flat").counts["1"].mean() for one in each
    ]
    with pytest.raises(IndexError):
        found[6]
    with pytest.raises(ValueError, match="names must contain 2 distinct names, got 2 names, of which 1 are distinct"):
        dpm.posteriors(each[:2], names=["a", "a"])
    with pytest.raises(ValueError, match="names must contain 2 distinct names, got 3 names, of which 3 are distinct"):
        dpm.posteriors(each[:2], names=["a", "b", "c"])


def test_a_release_without_a_posterior_has_one_row_with_the_reason():
    wrong = Release([3.5, 5.0], mechanism=dpm.DiscreteLaplace(scale=1.0))
    table = dpm.posteriors([*releases(1), wrong], names=["a", "b"]).summary(0.5)
    assert table["release"].tolist() == ["a", "a", "b"]
    assert table.columns[0] == "release"
    assert table["reason"].tolist()[:2] == ["", ""]
    assert table["status"].tolist() == ["exact", "exact", "refused"]
    assert "the released value 3.5 cannot be used" in table["reason"][2]
    assert table["level"].tolist()[:2] == [0.5, 0.5]
    assert list(dpm.posteriors([]).summary().columns) == list(table.columns)


def test_each_release_has_its_own_random_stream():
    """Check that draws depend on the seed and the name of a release, and not on other releases."""
    swap = [Release([[8, 2, 1], [1, 9, 4], [2, 2, 2]], mechanism=dpm.Swap(rate=0.2)) for _ in range(2)]
    both = dpm.posteriors(swap, names=["a", "b"], method="chain", seed=3)
    rng = stream(3, "posteriors", "b")
    alone = posterior(swap[1], method="chain", rng=rng)
    assert both["b"].summary().equals(alone.summary())
    assert dpm.posteriors(swap[1:], names=["b"], method="chain", seed=3)[0].summary().equals(alone.summary())
    assert not both["a"].summary().equals(alone.summary())


def test_a_release_with_an_argument_of_the_wrong_type_stops_no_other():
    wrong = Release([3, 5], mechanism="laplace")
    table = dpm.posteriors([wrong, *releases(1)]).summary()
    assert table["status"].tolist()[0] == "refused"
    assert table["reason"][0].startswith("mechanism must be an object such as dpmultinomial.Laplace")
    assert set(table["status"][1:]) == {"exact"}


def test_many_posteriors_state_the_names_and_the_seed():
    law = dpm.CensoredStatistics(lower=0, upper=10, scale=1)
    many = dpm.posteriors([Release([3, 1, 0, 0], mechanism=law, total=20)], names=["a"])
    with pytest.raises(KeyError, match="unknown name 'x': choose from a"):
        many["x"]
    with pytest.raises(ValueError, match=r"rng is required, .*: pass a seed as posteriors\(.., seed=\)$"):
        many["a"]


@pytest.mark.parametrize(
    ("mechanism", "values", "facts", "said"),
    [
        (dpm.AdditiveCounts(epsilon=1.0), [3, 4], {"total": 7}, "total cannot be used with .* AdditiveCounts"),
        (dpm.AdditiveCounts(epsilon=1.0), [3, 4], {"bounds": (0, 9)}, "bounds cannot be used"),
        (dpm.Swap(rate=0.1), [[3, 1], [4, 2]], {"bounds": (0, 9)}, "bounds cannot be used with the mechanism Swap"),
        (
            dpm.Swap(rate=0.1),
            [[3, 1], [4, 2]],
            {"total": 11},
            "must be the sum of the values, .* got 11 and the sum 10",
        ),
        (dpm.Dirichlet(r=1.0, alpha=1.0), [0.5, 0.5], {"total": 9, "bounds": (0, 9)}, "bounds cannot be used"),
        (
            dpm.Dirichlet(r=1.0, alpha=1.0),
            [0.5, 0.5],
            {"total": {"released": 9, "noise": dpm.DiscreteLaplace(scale=1.0)}},
            "total must be an integer for the mechanism Dirichlet",
        ),
    ],
)
def test_a_public_fact_that_cannot_be_used_is_refused(mechanism, values, facts, said):
    with pytest.raises(ValueError, match=said):
        posterior(Release(values, mechanism=mechanism, **facts))


def test_the_priors_of_counts_with_a_total_are_listed():
    release = Release([1, 2], mechanism=dpm.DiscreteLaplace(scale=2.0), total=5)
    with pytest.raises(ValueError, match=r"a concentration > 0 or one of flat, jeffreys, 1/.*, got 'x'"):
        posterior(release, prior="x")
