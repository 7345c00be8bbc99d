"""Tests of the interface of all posteriors: methods against draws and rules; convolutions in extended precision."""

import contextlib
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import beta, binom, gamma

import dpmultinomial as dpm
from dpmultinomial._accuracy import EXACT, Accuracy
from dpmultinomial._posteriors.censored import normal_model
from dpmultinomial._posteriors.counts.dirichlet_mixture import BetaMixture
from dpmultinomial._printing import limits
from dpmultinomial._results import convolutions, plot
from dpmultinomial._results.convolutions import convolved
from dpmultinomial._results.distributions import TYPES, Continuous, Discrete, Draws, Unavailable
from dpmultinomial._results.joint import _correlated
from dpmultinomial._results.posterior import COLUMNS, GROUPS, Posterior
from dpmultinomial._results.quantities import Chance, Columns, Quantities
from dpmultinomial._seeding import stream

NOISY = {"met": 12.3, "not met": -4.1, "failed": 44.2}
WHOLE = {"met": 12, "not met": -4, "failed": 44}
SHARES = {"a": 0.2, "b": 0.3, "c": 0.5}
TABLE = pd.DataFrame([[1, 2], [3, 4]], index=["x", "y"], columns=["u", "v"])
WIDE = [[4, 0, 2], [1, 3, 5]]
PARENTS = {"state": None, "north": "state", "south": "state", "a": "north", "b": "north", "c": "south"}
PARTS = {"state": 40, "north": 22, "a": 19, "b": -1, "c": 21}
STATISTICS = {"mean": 0.43, "sse": 741.2, "low": 18.6, "high": 31.0}
LIMITS = {"lower": -2.0, "upper": 2.0, "scale": 8.0}
TWO_MOMENTS = normal_model.Prior(0.0, 4.0, 3.0, 1.0)  # the variance of sigma2 is finite
CASES = {
    "laplace": (dpm.Release(NOISY, mechanism=dpm.Laplace(scale=2.0), total=50), {}),
    "discrete laplace": (dpm.Release(WHOLE, mechanism=dpm.DiscreteLaplace(scale=2.0), total=50), {"prior": "jeffreys"}),
    "discrete gaussian": (dpm.Release(WHOLE, mechanism=dpm.DiscreteGaussian(sigma=3.0), total=50), {"prior": 0.7}),
    "a law a count": (
        dpm.Release(WHOLE, mechanism=[dpm.Laplace(scale=s) for s in (1.0, 2.0, 3.0)], total=50),
        {"prior": [1, 2, 3]},
    ),
    "dirichlet": (dpm.Release(SHARES, mechanism=dpm.Dirichlet(r=1.0, alpha=2.0), total=40), {}),
    "gibbs": (dpm.Release(NOISY, mechanism=dpm.Laplace(scale=2.0), total=50), {"method": "gibbs"}),
    "table": (dpm.Release(NOISY, mechanism=dpm.Laplace(scale=2.0), total=50), {"method": "table"}),
    "nobody": (dpm.Release([0.3, 1.2], mechanism=dpm.Laplace(scale=2.0), total=0), {}),
    "swap 2 x 2": (dpm.Release(TABLE, mechanism=dpm.Swap(rate=0.1)), {}),
    "swap 2 x 3": (dpm.Release(WIDE, mechanism=dpm.Swap(rate=0.2)), {}),
    "swap strata": (dpm.Release({"n": TABLE, "s": TABLE + 2}, mechanism=dpm.Swap(rate=0.1)), {}),
    "swap chain": (dpm.Release(WIDE, mechanism=dpm.Swap(rate=0.2)), {"method": "chain"}),
    "swap abc": (dpm.Release(TABLE, mechanism=dpm.Swap(rate=0.1)), {"method": "abc"}),
    "swap rate unknown": (dpm.Release(TABLE, mechanism=dpm.Swap(rate=None)), {}),
    "additive 1": (dpm.Release([12, 3], mechanism=dpm.AdditiveCounts(epsilon=1.0, algorithm="1-independent")), {}),
    "additive 2": (
        dpm.Release([12, 3, 0], mechanism=dpm.AdditiveCounts(epsilon=1.0, algorithm="2")),
        {"method": "chain"},
    ),
    "additive 3": (
        dpm.Release([12, 3, 0], mechanism=dpm.AdditiveCounts(epsilon=0.5)),
        {"prior": "flat total", "method": "transforms"},
    ),
    "tree": (dpm.Release(PARTS, mechanism=dpm.DiscreteGaussian(sigma=2.0), parents=PARENTS), {"prior": [1.0, 0.5]}),
    "tree fitted": (dpm.Release(PARTS, mechanism=dpm.Laplace(scale=1.5), parents=PARENTS), {}),
    "tree of leaves": (
        dpm.Release(PARTS, mechanism=dpm.DiscreteLaplace(scale=1.5), parents=PARENTS),
        {"prior": "flat"},
    ),
    "statistics": (
        dpm.Release(STATISTICS, mechanism=dpm.CensoredStatistics(**LIMITS), total=1000),
        {"prior": TWO_MOMENTS},
    ),
}
DRAWS = 4000
_FOUND = {}


def found(case):
    if case not in _FOUND:
        release, options = CASES[case]
        needs = options.get("method") in ("gibbs", "table", "chain", "abc") or case == "statistics"
        rng = dpm.stream(7, "conformance", case) if needs and "additive" not in case else None
        _FOUND[case] = dpm.posterior(release, **options, rng=rng)
    return _FOUND[case]


def laws(case):
    """Yield (distribution, its draws) for every quantity of a case."""
    for group in found(case).groups:
        own = getattr(found(case), group)
        for i, name in enumerate(own):
            yield own[name], drawn(case)[group][:, i]


def drawn(case):
    key = (case, "draws")
    if key not in _FOUND:
        _FOUND[key] = found(case).sample(DRAWS, rng=dpm.stream(8, "draws", case))
    return _FOUND[key]


@pytest.mark.parametrize("case", CASES)
def test_a_posterior_says_what_it_is(case):
    posterior = found(case)
    assert set(posterior.groups) <= set(GROUPS)
    assert posterior.accuracy.status in repr(posterior)
    summary = posterior.summary(0.9)
    assert tuple(summary.columns) == COLUMNS
    assert set(summary["type"]) <= set(TYPES)
    assert (summary["lower"] <= summary["upper"]).all()
    assert (summary["level"] == 0.9).all()
    html = posterior._repr_html_()
    assert "<table" in html
    columns = posterior.summary().columns
    assert re.findall("<th>(.*?)</th>", html) == list(columns)  # no column of row numbers
    for group in set(GROUPS) - set(posterior.groups):
        with pytest.raises(AttributeError, match=f"this posterior has no {group}"):
            getattr(posterior, group)
    for group in posterior.groups:
        with pytest.raises(KeyError, match="unknown name 'nobody of this name': choose from"):
            getattr(posterior, group)["nobody of this name"]
    with pytest.raises(ValueError, match="level"):
        posterior.summary(1.5)
    with pytest.raises(TypeError, match="rng"):
        posterior.sample(3, rng=7)
    assert posterior.facts["prior"]


@pytest.mark.parametrize("case", CASES)
def test_all_groups_are_drawn_together(case):
    posterior, draws = found(case), drawn(case)
    assert set(draws) == set(posterior.groups)
    for group, x in draws.items():
        own = getattr(posterior, group)
        assert x.shape == (DRAWS, len(own))
        assert own.sample(17, rng=dpm.stream(9, "own")).shape == (17, len(own))
    if {"counts", "shares"} <= set(draws) and CASES[case][0].total != 0:
        total = draws["counts"].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(draws["shares"], draws["counts"] / total, rtol=1e-14)
    if "rates" in draws:
        np.testing.assert_allclose(draws["rates"].sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_moments_are_those_of_the_draws(case):
    """Check means within 5 standard errors: 6e-7 for one, 1e-4 for all; variances to a tenth."""
    for law, x in laws(case):
        assert law.mean() == pytest.approx(x.mean(), abs=5 * law.sd() / DRAWS**0.5 + 1e-12)
        assert law.variance() == pytest.approx(law.sd() ** 2, rel=1e-12)
        assert law.sd() == pytest.approx(x.std(), rel=0.15, abs=1e-12)
        alone = law.sample(DRAWS, rng=dpm.stream(10, "alone", case, law.name))
        assert alone.shape == (DRAWS,)
        assert alone.mean() == pytest.approx(law.mean(), abs=5 * law.sd() / DRAWS**0.5 + 1e-12)


@pytest.mark.parametrize("case", CASES)
def test_quantiles_and_probabilities_are_inverse(case):
    for law, _ in laws(case):
        levels = np.array([1e-6, 0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.999, 1 - 1e-6])
        x = law.quantile(levels)
        assert (np.diff(x) >= 0).all()
        if isinstance(law, Continuous):
            np.testing.assert_allclose(law.cdf(x), levels, rtol=1e-6, atol=1e-9)
        if isinstance(law, Discrete):
            assert (law.cdf(x) >= levels * (1 - 1e-11)).all()
            below = law.cdf(np.nextafter(x, -np.inf))
            assert (below < levels * (1 + 1e-11)).all()
            np.testing.assert_allclose(law.sf(law.values) + law.cdf(law.values), 1.0, rtol=1e-12)
        assert law.median() == float(law.quantile(0.5))
        with pytest.raises(ValueError, match="q"):
            law.quantile(1.5)


@pytest.mark.parametrize("case", CASES)
def test_densities_and_masses_are_there_or_refused_with_the_reason(case):
    for law, _ in laws(case):
        if isinstance(law, Discrete):
            assert law.pmf(law.values).sum() == pytest.approx(1.0, rel=1e-12)
            assert law.pmf(law.values[0] - 0.5) == 0.0
            np.testing.assert_allclose(np.exp(law.logpmf(law.values)), law.pmf(law.values))
            assert law.pmf(law.mode()) == law.probabilities.max()
            with pytest.raises(Unavailable, match="use pmf"):
                law.pdf(0.5)
        elif isinstance(law, Continuous):
            levels = np.linspace(0.1, 0.9, 81)
            ends = law.quantile(levels)
            middle = (ends[1:] + ends[:-1]) / 2
            simpson = (law.pdf(ends[1:]) + 4 * law.pdf(middle) + law.pdf(ends[:-1])) / 6 * np.diff(ends)
            np.testing.assert_allclose(simpson, np.diff(levels), rtol=1e-4)
            np.testing.assert_allclose(np.exp(law.logpdf(middle)), law.pdf(middle))
            with contextlib.suppress(Unavailable):  # the density is highest at an end, where it is infinite
                assert float(law.pdf(law.mode())) >= law.pdf(middle).max() * (1 - 1e-6)
            with pytest.raises(Unavailable, match="use pdf"):
                law.pmf(0.5)
        else:
            for asked in (law.pdf, law.pmf):
                with pytest.raises(Unavailable, match="no density and no probabilities"):
                    asked(0.5)
            with pytest.raises(Unavailable):
                law.mode()


@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_their_draws(case):
    """Check the number of draws inside: binomial; 1e-7 below for one, 2e-5 for all; the shortest is never longer."""
    for law, x in laws(case):
        for level in (0.5, 0.95):
            intervals = {kind: law.interval(level, kind=kind) for kind in ("central", "hdi")}
            for kind, (lower, upper) in intervals.items():
                inside = int(((x >= lower - 1e-12) & (x <= upper + 1e-12)).sum())
                assert binom.cdf(inside, DRAWS, level) > 1e-7, (kind, level)
                if not isinstance(law, Discrete):
                    assert binom.sf(inside, DRAWS, level) > 1e-7, (kind, level)
            shortest, central = intervals["hdi"], intervals["central"]
            assert shortest[1] - shortest[0] <= (central[1] - central[0]) * (1 + 1e-9)
        assert law.interval(0.95) == central
        with pytest.raises(ValueError, match="kind"):
            law.interval(0.9, kind="shortest")
        assert law.accuracy.status in repr(law)


def test_a_density_that_is_highest_at_an_end_has_no_mode():
    release = dpm.Release([30, -20], mechanism=dpm.DiscreteLaplace(scale=0.5), total=30)
    rates = dpm.posterior(release, prior="jeffreys").rates
    with pytest.raises(Unavailable, match="2 has no mode, because the density is infinite"):
        rates["2"].mode()
    assert dpm.posterior(release, prior="flat").rates["2"].mode() == 0.0


def test_the_file_and_what_it_is_a_sample_of():
    """Enumerate the 1,326 tables of 50 records in three categories."""
    posterior = found("laplace")
    values = np.array(list(NOISY.values()))
    tables = np.array([(a, b, 50 - a - b) for a in range(51) for b in range(51 - a)])
    # under the prior Dirichlet(1/2, 1/2, 1/2) of the rates
    prior = (gammaln(tables + 0.5) - gammaln(tables + 1)).sum(axis=1)
    weights = np.exp(prior - np.abs(values - tables).sum(axis=1) / 2)
    weights /= weights.sum()
    both = tables[:, 0] + tables[:, 1] > 0
    share = tables[both, 0] / (tables[both, 0] + tables[both, 1])
    among = posterior.shares.among("met", "not met")["met"]
    assert among.mean() == pytest.approx(weights[both] @ share / weights[both].sum(), rel=1e-12)
    assert posterior.counts["not met"].pmf(0) == pytest.approx(weights[tables[:, 1] == 0].sum(), rel=1e-12)
    assert posterior.counts["not met"].pmf(0) == pytest.approx(0.754, abs=5e-4)
    assert posterior.counts.mean()["met"] == pytest.approx(weights @ tables[:, 0], rel=1e-12)
    rate = (tables[:, 0] + 0.5) / (tables[:, 0] + tables[:, 1] + 1)
    behind = posterior.rates.among("met", "not met")["met"]
    assert behind.mean() == pytest.approx(weights @ rate, rel=1e-10)


def test_shares_among_some_are_asked_for_by_name():
    posterior = found("laplace")
    assert posterior.shares.among("met", "failed").names == ("met", "failed")
    with pytest.raises(KeyError, match="unknown name 'lost': choose from met, not met, failed"):
        posterior.shares.among("met", "lost")
    with pytest.raises(ValueError, match="at least two different"):
        posterior.rates.among("met")
    with pytest.raises(Unavailable, match="not available for these quantities"):
        posterior.counts.among("met", "failed")
    draws = posterior.rates.among("met", "failed").sample(50, rng=dpm.stream(1, "among"))
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)


def test_groups_answer_for_all_their_names():
    rates = found("swap 2 x 2").rates
    assert list(rates.mean().index) == list(rates) == ["x/u", "x/v", "y/u", "y/v"]
    assert rates.mean().sum() == pytest.approx(1.0)
    for name in rates:
        law = rates[name]
        assert (rates.sd()[name], rates.variance()[name]) == (law.sd(), law.variance())
        assert (rates.median()[name], rates.mode()[name]) == (law.median(), law.mode())
        assert rates.quantile([0.1, 0.9]).loc[name, 0.9] == law.quantile(0.9)
        assert tuple(rates.interval(0.8).loc[name]) == law.interval(0.8)
        assert rates.cdf(0.2).loc[name, 0.2] == law.cdf(0.2)
    assert repr(rates).count("\n") == 3


def test_chains_and_rejection_agree_with_the_exact_law():
    for case, exact in (
        ("gibbs", "laplace"),
        ("table", "laplace"),
        ("swap chain", "swap 2 x 3"),
        ("swap abc", "swap 2 x 2"),
    ):
        ours, truth = found(case).rates, found(exact).rates
        for name in truth:
            n = len(ours[name].draws) if isinstance(ours[name], Draws) else 400
            error = 5 * truth[name].sd() / min(n, 1400) ** 0.5
            assert ours[name].mean() == pytest.approx(truth[name].mean(), abs=error), (case, name)


def test_a_plot_shows_what_was_asked_for():
    """Check the group, the level, the ranked quantities and the axes, from the artists."""
    from matplotlib.figure import Figure

    release = dpm.Release({"a": 5, "b": 70, "c": 31}, mechanism=dpm.DiscreteLaplace(scale=2.0), total=106)
    posterior = dpm.posterior(release)
    axes = Figure().subplots()
    assert posterior.plot("counts", level=0.8, largest=2, ax=axes) is axes.figure
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "c"]
    ends = posterior.counts.interval(0.8).loc[["b", "c"]]
    (lines,) = axes.collections
    assert [segment[:, 0].tolist() for segment in lines.get_segments()] == ends.to_numpy().tolist()
    assert axes.lines[0].get_xdata().tolist() == posterior.counts.median().loc[["b", "c"]].tolist()
    assert axes.get_title(loc="left") == "counts: median and 80 % interval, 2 largest of 3"
    assert len(posterior.plot("rates").axes) == 1
    first = Figure().subplots()
    posterior.plot(ax=first)
    assert first.get_title(loc="left") == "counts: median and 95 % interval"
    for change, message in (
        ({"about": "totals"}, "about must be one of counts, shares, rates, got 'totals'"),
        ({"level": 1.5}, "level must lie strictly between 0 and 1"),
        ({"largest": 0}, "largest must be"),
    ):
        with pytest.raises(ValueError, match=message):
            posterior.plot(**change)


def test_a_figure_and_arviz():
    posterior = found("swap 2 x 2")
    figure = posterior.plot()
    assert len(figure.axes) == 4
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["x/u", "x/v", "y/u", "y/v"]
    tree = pytest.importorskip("arviz_base") and posterior.to_arviz(50, rng=dpm.stream(1, "arviz"))
    assert tree["posterior"]["rates"].shape == (1, 50, 4)
    assert list(tree["posterior"]["rates_name"].values) == ["x/u", "x/v", "y/u", "y/v"]


def test_many_releases_are_one_table_and_a_bad_one_stops_nothing():
    good = dpm.Release([5, 7], mechanism=dpm.DiscreteLaplace(scale=1.0), total=12)
    bad = dpm.Release([5, 7.5], mechanism=dpm.DiscreteLaplace(scale=1.0), total=12)
    together = dpm.posteriors([good, bad, good], names=["a", "b", "c"])
    table = together.summary(0.8)
    assert list(table.loc[table["reason"] != "", "release"]) == ["b"]
    assert "integers" in table.loc[table["release"] == "b", "reason"].item()
    alone = dpm.posterior(good).summary(0.8)
    for name in ("a", "c"):
        own = table[table["release"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(own[list(COLUMNS)], alone, check_dtype=False)
    assert len(together) == 3
    assert len(together[:2]) == 2
    assert together["c"].counts.mean()["1"] == dpm.posterior(good).counts.mean()["1"]
    with pytest.raises(ValueError, match="distinct"):
        dpm.posteriors([good, good], names=["a", "a"])


def laplace(size, scale, centre, power=0.0):
    return np.exp(-abs(np.arange(size) - centre) / scale) * (np.arange(size) + 1.0) ** power


def gaussian(size, sd, centre):
    return np.exp(-0.5 * ((np.arange(size) - centre) / sd) ** 2)


PAIRS = {
    "laplace": (laplace(1500, 20, 700), laplace(1200, 9, 300)),
    "prior": (laplace(1500, 20, -400, -0.5), laplace(1200, 9, 300)),
    "gaussian": (gaussian(1500, 40, 700), gaussian(1200, 25, 300)),
    "mixed": (laplace(1500, 20, 700), gaussian(1200, 25, 300)),
    "flat": (np.ones(1500), np.ones(1499)),
    "steep": (laplace(1500, 3, 0), laplace(1200, 20, 1199)),
    "small": (1e-200 * laplace(1500, 20, 700), 1e-90 * gaussian(1200, 25, 300)),
    "two modes": (gaussian(1500, 20, 200) + 1e-12 * gaussian(1500, 20, 1400), laplace(900, 9, 300)),
    "a gap": (np.where(abs(np.arange(1500) - 750) < 300, 0.0, laplace(1500, 20, 750)), gaussian(400, 20, 150)),
    "rough": (stream(1, "rough").random(1500) ** 60, stream(2, "rough").random(900)),
    "one far weight": (np.r_[1.0, np.zeros(1200), 1e-30], gaussian(900, 30, 300)),
}


@pytest.mark.parametrize("smallest", [1e-40, 1e-250])
@pytest.mark.parametrize("name", PAIRS)
def test_every_entry_has_small_relative_error(name, smallest):
    a, b = PAIRS[name]
    wanted = np.convolve(a.astype(np.longdouble), b.astype(np.longdouble))
    found = convolved(a, b, smallest=smallest, direct=0)
    large = (wanted > smallest * wanted.max()) & (wanted > 1e-300)
    assert np.abs(found[large] / wanted[large] - 1).max() < 1e-11
    assert (found[~large] <= 1.001 * max(float(smallest * wanted.max()), 1e-300)).all()


@pytest.mark.parametrize("name", ["laplace", "prior", "gaussian", "mixed", "flat", "steep"])
def test_likelihoods_of_noise_are_not_summed_term_by_term(name, monkeypatch):
    """A few tilts cover all entries of such weights; the sum term by term is only for other shapes."""
    monkeypatch.setattr(convolutions.np, "convolve", None)
    assert convolved(*PAIRS[name], smallest=1e-100, direct=0).max() > 0


@pytest.mark.parametrize("low", [0, 40, 700, 1050])
def test_messages_have_small_relative_error_wherever_the_tie_is(low, monkeypatch):
    """The sums that are needed may be far below the largest sum."""
    monkeypatch.setattr(convolutions, "DIRECT", 0)
    weights, size = laplace(600, 9, 300), 500
    along = np.zeros(size + len(weights) - 1)
    along[low : low + 80] = gaussian(80, 2.0, 30)[: max(len(along) - low, 0)]
    wanted = np.convolve(along.astype(np.longdouble), weights[::-1].astype(np.longdouble), mode="valid")
    found = _correlated(along, weights, size)
    large = wanted > 1e-40 * wanted.max()
    assert found[large] == pytest.approx(wanted[large].astype(float), rel=1e-11, abs=0)


def discrete(values, p, name="x", accuracy=EXACT):
    return Discrete(values, p, name=name, type="count", accuracy=accuracy)


def test_a_listed_distribution_by_hand():
    """Values 1, 3, 4 with the probabilities 1/4, 1/4, 1/2; a value of weight 0 is not a value."""
    law = discrete([1, 2, 3, 4], [1.0, 0.0, 1.0, 2.0])
    assert law.values.tolist() == [1, 3, 4]
    assert (law.mean(), law.variance(), law.mode()) == (3.0, pytest.approx(1.5), 4.0)
    assert law.cdf([0, 1, 2, 3, 4, 9]).tolist() == [0, 0.25, 0.25, 0.5, 1, 1]
    assert law.sf([0, 1, 2, 3, 4, 9]).tolist() == [1, 0.75, 0.75, 0.5, 0, 0]
    assert law.pmf([0, 1, 2, 3, 4, 9]).tolist() == [0, 0.25, 0, 0.25, 0.5, 0]
    levels = [0, 0.25, 0.2500001, 0.5, 0.5000001, 1]
    assert law.quantile(levels).tolist() == [1, 1, 3, 3, 4, 4]
    assert law.quantile(0.25 * (1 + 1e-13)) == 1  # equal up to rounding
    assert law.quantile(0.5 * (1 + 1e-13)) == 3
    assert discrete([1, 2], [1, 1]).mode() == 1  # the smallest of several
    assert law.interval(0.5) == (1.0, 4.0)
    assert law.interval(0.5, kind="hdi") == (4.0, 4.0)
    assert law.interval(0.51, kind="hdi") == (3.0, 4.0)
    assert law.interval(0.75, kind="hdi") == (3.0, 4.0)
    assert law.interval(0.76, kind="hdi") == (1.0, 4.0)


@pytest.mark.parametrize(("u", "value"), [(0.0, 1), (0.2499, 1), (0.25, 3), (0.4999, 3), (0.5, 4), (0.9999, 4)])
def test_a_draw_is_the_quantile_of_a_uniform_number(u, value):
    class Fixed(np.random.Generator):
        def random(self, size=None):
            return np.full(size, u)

    law = discrete([1, 3, 4], [1.0, 1.0, 2.0])
    assert law.sample(2, rng=Fixed(np.random.PCG64(1))).tolist() == [value, value]


class Triangle:
    """Density x/2 on (0, 2): distribution function x^2/4, mean 4/3, variance 2/9."""

    def mean(self):
        return 4 / 3

    def variance(self):
        return 2 / 9

    def pdf(self, x):
        return np.asarray(x) / 2

    def cdf(self, x):
        return np.asarray(x) ** 2 / 4

    def quantile(self, q):
        return 2 * np.sqrt(np.asarray(q))


def test_a_density_by_hand():
    law = Continuous(Triangle(), name="x", type="rate", accuracy=EXACT)
    assert (law.mean(), law.sd()) == (4 / 3, pytest.approx(np.sqrt(2) / 3))
    assert law.median() == pytest.approx(np.sqrt(2))
    assert law.interval(0.9) == pytest.approx((2 * np.sqrt(0.05), 2 * np.sqrt(0.95)))
    lower, upper = law.interval(0.75, kind="hdi")  # the density increases: the upper three quarters
    assert (lower, upper) == pytest.approx((1.0, 2.0), abs=1e-5)
    assert law.mode() == pytest.approx(2.0, abs=1e-3)
    draws = law.sample(20_000, rng=stream(1, "triangle"))
    assert abs((draws < 1).mean() - 0.25) < 6 * np.sqrt(0.1875 / 20_000)
    given = Continuous(Triangle(), name="x", type="rate", accuracy=EXACT, draw=lambda size, rng: np.full(size, 7.0))
    assert given.sample(2, rng=stream(1, "x")).tolist() == [7.0, 7.0]


@pytest.mark.parametrize(("a", "b", "level"), [(2.0, 5.0, 0.5), (5.0, 2.0, 0.5), (2.0, 9.0, 0.95), (9.0, 2.0, 0.95)])
def test_the_shortest_interval_of_a_unimodal_density_ends_at_equal_densities(a, b, level):
    law = Continuous(BetaMixture([a], [b], [1.0]), name="x", type="rate", accuracy=EXACT)
    lower, upper = law.interval(level, kind="hdi")
    assert beta.cdf(upper, a, b) - beta.cdf(lower, a, b) == pytest.approx(level, rel=1e-9)
    assert beta.pdf(lower, a, b) == pytest.approx(beta.pdf(upper, a, b), rel=1e-4)


def test_a_sample_by_hand():
    law = Draws([[4.0, 1.0], [2.0, 3.0]], name="x", type="rate", accuracy=EXACT)
    assert law.draws.tolist() == [1, 2, 3, 4]
    assert (law.mean(), law.variance()) == (2.5, pytest.approx(5 / 3))
    assert law.cdf([0, 1, 2.5, 4]).tolist() == [0, 0.25, 0.5, 1]
    assert law.quantile([0, 0.5, 1]).tolist() == [1, 2.5, 4]
    assert law.quantile([0.25, 0.9]) == pytest.approx([1.75, 3.7])  # linear in the ranks: at 1 + (4 - 1) q
    assert set(law.sample(100, rng=stream(1, "sample")).tolist()) == {1, 2, 3, 4}


def test_a_distribution_is_shown_in_one_line():
    law = discrete([1, 3, 4], [1.0, 1.0, 2.0], accuracy=Accuracy("approximate", 0.1, "x"))
    assert repr(law) == "count x: mean 3, sd 1.22, 95 % interval 1 .. 4, approximate"
    large = Discrete([1234564, 1234567], [0.5, 0.5], name="x", type="count", accuracy=EXACT)
    assert "mean 1234566, sd 1.5, 95 % interval 1234564 .. 1234567" in repr(large)
    share = discrete([0.1234567, 0.7654321], [1.0, 1.0])
    assert "95 % interval 0.123456 .. 0.765433, " in repr(share)  # the limits are rounded outwards
    assert limits(-0.1, 0.1, 3) == "-0.1 .. 0.1"  # the nearest double of 0.1 is above 0.1
    assert limits(-np.inf, 12345.2, 3) == "-inf .. 12346"
    with pytest.raises(ValueError, match="type must be one of"):
        Discrete([1], [1.0], name="x", type="number", accuracy=EXACT)


def group(size=3, numbers=None, status="exact", **more):
    """Return quantities q0, q1, .. that are i or i + 2 with probability 1/2 each."""
    return Quantities(
        [f"q{i}" for i in range(size)],
        lambda i: discrete([i, i + 2], [1, 1], f"q{i}", Accuracy(status, 0.0, "" if status == "exact" else "draws")),
        joint=lambda n, rng: np.tile(np.arange(size), (n, 1)),
        numbers=numbers,
        **more,
    )


def columns_of(level):
    """Return made-up numbers of three quantities, which depend on the level."""
    return Columns(np.array([1.5, 2.5, 3.5]), np.array([2.0, 3, 4]), np.full(3, level), np.full(3, 1 + level), EXACT)


def test_numbers_of_a_group_are_computed_in_one_pass_or_each_by_itself():
    each, at_once = group(), group(numbers=columns_of)
    assert (each.in_one_pass, at_once.in_one_pass) == (False, True)
    assert each.mean().to_dict() == {"q0": 1.0, "q1": 2.0, "q2": 3.0}
    assert each.sd().tolist() == each.variance().tolist() == [1.0] * 3
    assert at_once.mean().to_dict() == {"q0": 1.5, "q1": 2.5, "q2": 3.5}  # not those of the distributions
    assert (at_once.sd().tolist(), at_once.variance().tolist()) == ([2.0, 3.0, 4.0], [4.0, 9.0, 16.0])
    assert at_once.interval().to_numpy().tolist() == [[0.95, 1.95]] * 3
    assert at_once.interval(0.5).to_numpy().tolist() == [[0.5, 1.5]] * 3
    assert at_once.interval(0.5, kind="hdi").to_numpy().tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert each.interval(0.9).to_numpy().tolist() == [[0.0, 2.0], [1.0, 3.0], [2.0, 4.0]]
    found = each.numbers(0.9)
    assert [x.tolist() for x in found[:4]] == [[1, 2, 3], [1, 1, 1], [0, 1, 2], [2, 3, 4]]
    assert list(at_once.states) == [EXACT] * 3
    assert [state.status for state in each.states] == ["exact"] * 3
    states = [EXACT, Accuracy("approximate", 0.1, "draws"), EXACT]
    assert group(numbers=lambda level: columns_of(level)._replace(states=states)).states == states
    assert each.median().tolist() == [0, 1, 2]
    assert each.mode().tolist() == [0, 1, 2]
    assert each.quantile([0.2, 0.8]).to_numpy().tolist() == [[0, 2], [1, 3], [2, 4]]
    assert each.cdf([0, 2]).to_numpy().tolist() == [[0.5, 1], [0, 0.5], [0, 0.5]]
    assert each.quantile(0.2).shape == (3, 1)
    assert each._ipython_key_completions_() == ["q0", "q1", "q2"]


@pytest.mark.parametrize(("size", "end"), [(20, "q19"), (21, "q19, .. (21 in all)")])
def test_an_unknown_name_lists_twenty_names(size, end):
    with pytest.raises(KeyError) as told:
        group(size)["no"]
    assert told.value.args[0].endswith(end)


@pytest.mark.parametrize(("size", "lines"), [(10, 10), (11, 11), (12, 11)])
def test_a_group_shows_ten_quantities(size, lines):
    text = repr(group(size)).splitlines()
    assert len(text) == lines
    assert (text[-1] == f".. and {size - 10} more") == (size > 10)


def test_shares_are_among_two_different_names():
    shares = group(among=lambda names: names)
    assert shares.among("q0", "q2") == ("q0", "q2")
    for wrong, words in ((("q0",), "got q0"), ((), "got none"), (("q0", "q0"), "got q0, q0")):
        with pytest.raises(ValueError, match=f"must contain at least two different names, {words}"):
            shares.among(*wrong)
    with pytest.raises(Unavailable, match=r"not available for these quantities \(q0, q1, q2\)"):
        group(4).among("q0", "q1")


def test_the_joint_distribution_may_be_computed_later():
    made = []
    later = group(together=lambda: made.append(1) or "joint")
    assert not made
    assert (later.together, later.together, made) == ("joint", "joint", [1])
    assert group(together="joint").together == "joint"
    assert group().together is None


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [(0.25, 0.0, "0.25 (exact)"), (1.5, 0.0, "1 (exact)"), (-0.1, 0.0, "0 (exact)"),
     (1 - 2.5e-9, 0.0, "1 - 2.5e-09 (exact)"), (1 / 3, 0.0123, "0.333333 (approximate, error 0.012)")],
)  # fmt: skip
def test_a_probability_is_between_0_and_1_and_states_its_error(value, error, shown):
    chance = Chance(value, Accuracy("approximate", error, "draws") if error else EXACT)
    assert repr(chance) == shown
    assert 0 <= chance <= 1
    again = type(chance).__reduce__(chance)
    assert again[0](*again[1]) == chance
    assert again[1][1] is chance.accuracy
    assert Chance(0.5).accuracy is EXACT


def result(*groups, **more):
    return Posterior(dict(groups), joint=lambda n, rng: {}, method="by hand", **more)


@pytest.mark.parametrize(
    ("states", "worst"),
    [(["exact", "exact"], "exact"), (["exact", "approximate"], "approximate"),
     (["converged", "approximate"], "converged"), (["not converged", "converged"], "not converged")],
)  # fmt: skip
def test_the_accuracy_of_a_result_is_that_of_its_worst_quantity(states, worst):
    found = result(*((name, group(status=state)) for name, state in zip(("counts", "rates"), states, strict=True)))
    assert found.accuracy.status == worst
    assert found.groups == ("counts", "rates")


def test_facts_and_evidence_are_computed_when_they_are_needed():
    assert result(("counts", group())).facts == {}
    assert result(("counts", group()), facts={"a": 1}).facts == {"a": 1}
    assert result(("counts", group()), facts=lambda: {"a": 2}).facts == {"a": 2}
    assert result(("counts", group()), log_evidence=lambda: 3).log_evidence == 3.0
    with pytest.raises(AttributeError, match="log_evidence is not available for the method 'by hand'"):
        _ = result(("counts", group())).log_evidence
    with pytest.raises(TypeError, match=r"only a result of dpmultinomial\.posterior can be pickled"):
        result(("counts", group())).__reduce__()
    with pytest.raises(AttributeError, match="this posterior has no rates"):
        _ = result(("counts", group())).rates


def test_a_conflict_precedes_the_warnings_of_a_result():
    conflict = {"found": True, "names": ["a", 3], "counts": 2, "smallest": 0.00042, "tested": 1234}
    said = "CONFLICT: improbable under the stated noise and prior: a, 3{} (smallest p-value 0.0004 among 1,234)"
    beside = "The prior matters for {}: facts['flat_comparison']['first'] has up to 10 means under a flat prior"
    groups = {"x": {"uncertain": True, "mean": 0.1484, "mean_error": 5.479}, "y": {"uncertain": False}}
    for check, lines in (
        ({}, ["WARNING: w<"]),
        ({"conflict": {**conflict, "found": False}}, ["WARNING: w<"]),
        ({"conflict": conflict}, [said.format(""), "WARNING: w<"]),
        ({"conflict": {**conflict, "counts": 1200}}, [said.format(" and 1,198 more"), "WARNING: w<"]),
        (
            {"prior": {"groups": groups}},
            [
                "WARNING: w<",
                "WARNING: the prior of group x was fitted to too few counts for their noise (mean 0.148, standard "
                "error 5.5), so that the intervals are too short: choose prior '1/(1+n)', or state a distribution",
            ],
        ),
        ({"prior": {"law": "fitted", **groups["y"]}}, ["WARNING: w<"]),
        ({"flat_comparison": {"prior_matters": 0, "of": 1}}, ["WARNING: w<"]),
        ({"flat_comparison": {"prior_matters": 1, "of": 1}}, ["WARNING: w<", beside.format("the count")]),
        ({"flat_comparison": {"prior_matters": 2, "of": 1200}}, ["WARNING: w<", beside.format("2 of 1,200 counts")]),
        (
            {"flat_comparison": {"prior_matters": 2, "of": 1200, "not_compared": 1, "reason": "r"}},
            [
                "WARNING: w<",
                beside.format("2 of the 1,200 counts that can be compared with a flat prior"),
                "1 count cannot be compared with a flat prior, which gives no result: r",
            ],
        ),
    ):
        found = result(("counts", group()), facts={"warnings": ["w<"], **check})
        assert found._warnings() == lines
        assert repr(found).splitlines()[1 : 1 + len(lines)] == lines
        assert "<p><strong>WARNING: w&lt;</strong></p>" in found._repr_html_()
    assert repr(found).startswith("Posterior of 3 counts by by hand: exact")
    one = repr(result(("counts", group(1)), ("rates", group(1)), ("parameters", group(2))))
    assert one.startswith("Posterior of 1 count, 1 rate, 2 parameters by by hand: exact")


def test_panels_of_a_plot_have_a_line_for_each_quantity():
    found = result(("counts", group(2)), ("rates", group(5)))
    figure = found.plot(level=0.5)
    first, second = figure.axes
    assert figure.get_size_inches() == pytest.approx([6.0, 0.9 + 0.28 * 7 + 0.5 * 2])
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        "counts: median and 50 % interval", "rates: median and 50 % interval"]  # fmt: skip
    assert second.get_ylim() == (-0.6, 4.6)
    assert second.get_yticks().tolist() == [4, 3, 2, 1, 0]
    assert second.lines[0].get_data()[1].tolist() == [4, 3, 2, 1, 0]
    assert [segment[0, 1] for segment in second.collections[0].get_segments()] == [4, 3, 2, 1, 0]
    assert first.get_position().height < second.get_position().height
    few = found.plot("rates", largest=2).axes[0]
    assert [label.get_text() for label in few.get_yticklabels()] == ["q4", "q3"]
    assert few.get_title(loc="left") == "rates: median and 95 % interval, 2 largest of 5"
    with pytest.raises(ValueError, match="about must be one of counts, rates, got 'shares'"):
        found.plot("shares")
    with pytest.raises(ValueError, match="largest must be >= 1"):
        found.plot(largest=0)


def test_the_curve_of_a_plan_has_its_frequencies_and_two_standard_errors():
    curve = pd.DataFrame({"epsilon": [0.5, 1.0], "frequency": [0.2, 0.9], "wrong": [0.1, 0.05]})
    (axis,) = plot.plan_curve(curve, 0.8, 0.7, 0.02).axes
    right, wrong, dot = axis.lines[:3]
    assert (right.get_xdata().tolist(), right.get_ydata().tolist()) == ([0.5, 1.0], [0.2, 0.9])
    assert wrong.get_ydata().tolist() == [0.1, 0.05]
    assert (list(dot.get_xdata()), list(dot.get_ydata())) == ([0.8], [0.7])
    (bars,) = axis.collections
    assert bars.get_segments()[0][:, 1] == pytest.approx([0.66, 0.74])
    assert (axis.get_xscale(), axis.get_xlabel(), axis.get_ylabel()) == ("log", "epsilon", "frequency")
    assert axis.get_ylim() == (-0.03, 1.03)
    assert {text.get_text() for text in axis.get_legend().get_texts()} == {
        "decisive and correct", "decisive but wrong", "fresh releases"}  # fmt: skip


@pytest.mark.parametrize(
    ("count", "mean", "sd", "reason"),
    [  # rates of exact counts 3 and n are Beta(3.5, n + 0.5); E (1 - x)/x = 3.5/(n - 0.5), finite variance if n > 1.5
        (0, np.inf, np.inf, "the mean of this ratio is infinite, because its denominator can be close to 0"),
        (1, 7.0, np.inf, "the standard deviation of this ratio is infinite, because its denominator can be close to 0"),
        (5, 3.5 / 4.5, None, "100,000 independent draws"),
    ],
)
def test_a_ratio_of_rates_may_have_no_finite_mean(count, mean, sd, reason):
    found = dpm.posterior(dpm.Release({"a": 3, "b": count}, mechanism=dpm.Exact(), total=3 + count))
    asked = {"r": {"ratio": ["a", "b"], "about": "rates"}, "s": {"share": {"of": ["b"], "among": ["a", "b"]}}}
    row, share = found.ask({**asked, "s": {**asked["s"], "about": "rates"}}, rng=stream(1, "r")).to_dict("records")
    assert row["mean"] == pytest.approx(mean, rel=0.02 if sd is None else 0.2)
    assert np.isnan(row["error"]) == np.isinf(row["sd"]) == (sd is not None)
    assert found._asked("rates", stream(1, "r")).law("r", "ratio", ["a", "b"]).accuracy.reason.startswith(reason)
    assert share["mean"] == pytest.approx((count + 0.5) / (count + 4), rel=0.02)
    assert share["error"] > 0


@pytest.mark.parametrize(("count", "mean"), [(0, np.inf), (1, 4.0), (2, 2.0)])
def test_the_moments_of_a_ratio_are_infinite_at_the_limits_of_the_shape(count, mean):
    """Rates are Beta(4, n + 1): E (1 - x)/x = 4/n, so none at n = 0, where x^-1 is integrated; no variance at n = 1."""
    release = dpm.Release({"a": 3, "b": count}, mechanism=dpm.Exact(), total=3 + count)
    law = dpm.posterior(release, prior=1.0)._asked("rates", stream(1, "limit")).law("r", "ratio", ["a", "b"])
    assert law.mean() == pytest.approx(mean, rel=0.1)
    assert np.isinf(law.sd()) == (count < 2)


def test_a_mean_that_may_be_infinite_is_stated():
    """Ratios to sums of rates or to rates of areas, whose densities near 0 are not known, are only doubted; if all
    counts are 40 or more, no denominator is near 0."""
    for least, doubt in ((0, True), (40, False)):
        counts = {"a": 30, "b": least, "c": least}
        asked = {"r": {"ratio": ["a", ["b", "c"]], "about": "rates"}, "s": {"ratio": ["a", "b"]}}
        table = dpm.posterior(dpm.Release(counts, mechanism=dpm.Exact(), total=30 + 2 * least), prior=0.3)
        areas = dpm.posterior(
            dpm.Release({**counts, **{f"x{i}": 5 for i in range(12)}}, mechanism=dpm.Exact()),
            prior=dpm.Regression([1.0] * 15),
        )
        for found, label in ((table, "r"), (areas, "s")):
            row = found.ask({label: asked[label]}, rng=stream(1, "r"))
            assert row[["mean", "sd", "error"]].isna().all(axis=None) == doubt
            assert ("may be infinite" in row.attrs["reasons"][0]) == doubt


def test_a_ratio_of_rates_with_a_noisy_total_has_no_finite_mean():
    """The count of b can be 0, and its rate is then Beta(1/2, ..); of the rates of a and b, a is never near 0 here."""
    noise = dpm.DiscreteLaplace(scale=1.0)
    found = dpm.posterior(dpm.Release({"a": 90, "b": 2}, mechanism=noise, total={"released": 91, "noise": noise}))
    asked = {"r": {"ratio": ["a", "b"], "about": "rates"}, "s": {"ratio": ["b", "a"], "about": "rates"}}
    row, other = found.ask(asked, rng=stream(1, "r")).to_dict("records")
    assert np.isinf(row["mean"])
    assert np.isnan(row["error"])
    assert 0 < other["error"] < other["mean"] < 0.1


@pytest.mark.parametrize(("shape", "mode"), [(0.5, None), (1.0, 0.0), (3.0, 2.0)])
def test_the_mode_of_a_gamma_density(shape, mode):
    """A gamma density with shape a >= 1 is highest at a - 1, and infinite at 0 for a < 1."""
    frozen = gamma(shape)
    law = SimpleNamespace(mean=frozen.mean, variance=frozen.var, pdf=frozen.pdf, cdf=frozen.cdf, quantile=frozen.ppf)
    found = Continuous(law, name="g", type="rate", accuracy=EXACT)
    if mode is None:
        with pytest.raises(Unavailable, match="g has no mode"):
            found.mode()
    else:
        assert found.mode() == pytest.approx(mode, abs=1e-6)
