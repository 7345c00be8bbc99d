"""Tests of posteriors against closed forms: extreme tails, ends of ranges, convergence, stated errors."""

from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import gammaln

import dpmultinomial as dpm
from dpmultinomial import _accuracy
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.swapping import exact_swapping
from dpmultinomial._posteriors.additive import _coupled_counts, _mode_transforms, _noise
from dpmultinomial._posteriors.additive._noise import FLAT, Noise, NoiseModel
from dpmultinomial._posteriors.censored import censored_statistics
from dpmultinomial._posteriors.censored.censored_statistics import CensoredPosterior, Conflict
from dpmultinomial._posteriors.censored.normal_model import Prior
from dpmultinomial._posteriors.counts import panel_density
from dpmultinomial._posteriors.published import _window_sums, cells, conflict, priors, windows
from dpmultinomial._posteriors.published import counts as published_counts
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.published.priors import prior_of
from dpmultinomial._posteriors.swapping import log_odds
from dpmultinomial._posteriors.swapping.unswapped import TwoRowLaw, infer
from dpmultinomial._seeding import stream


def logistic(shift=0.0, scale=1.0):
    """Return panels of a logistic distribution, whose log probabilities are -log(1 + exp(-+x)) at any depth."""

    def log_density(z):
        x = (z - shift) / scale
        return -x - 2 * np.logaddexp(0, -x) - np.log(scale)

    return panel_density.PanelDensity(log_density, centre=shift + scale, width=scale, deepest=3000.0, tolerance=1e-12)


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (3.0, 0.2), (-40.0, 7.0)])
def test_panels_keep_both_tails(shift, scale):
    law = logistic(shift, scale)
    assert law.log_mass() == pytest.approx(0, abs=1e-10)
    for x in (-300.0, -100.0, -75.0, -30.0, -2.0, 0.0, 0.5, 20.0, 79.0, 120.0, 300.0):
        z = shift + scale * x
        lower, upper = -np.logaddexp(0, -x), -np.logaddexp(0, x)
        assert law.log_tail(z, upper=False) == pytest.approx(lower, rel=1e-9, abs=1e-10)
        assert law.log_tail(z, upper=True) == pytest.approx(upper, rel=1e-9, abs=1e-10)
        assert law.log_density(np.array([z, z]))[1] == pytest.approx(lower + upper - np.log(scale), rel=1e-9, abs=1e-9)
        if x < 0:
            assert law.quantile(lower, upper=False) == pytest.approx(z, rel=1e-8)
            assert law.quantile(lower, upper=True) == pytest.approx(2 * shift - z, rel=1e-8)


def test_panels_have_the_moments_of_their_law():
    """Check mean 3, variance (0.2 pi)^2/3 and fourth central moment 7 (0.2 pi)^4/15 of a logistic distribution."""
    law, spread = logistic(3.0, 0.2), 0.2 * np.pi
    found = law.moments(lambda z: np.stack([np.ones_like(z), z - 3, (z - 3) ** 2, (z - 3) ** 4]))
    assert found == pytest.approx([1, 0, spread**2 / 3, 7 * spread**4 / 15], rel=1e-9, abs=1e-9)


def test_panels_end_where_the_density_may_not_be_called():
    """Check that beyond `deepest` the tail continues with the slope at its edge: exp(-|z|) is unchanged."""
    called = []

    def log_density(z):
        called.append(np.abs(z).max())
        return -np.logaddexp(z, -z)

    law = panel_density.PanelDensity(log_density, centre=0.0, width=1.0, deepest=20.0, tolerance=1e-12)
    total = np.log(np.pi / 2)  # of 1/(exp(z) + exp(-z))
    assert law.log_mass() == pytest.approx(total, abs=1e-8)
    for z in (15.0, 25.0, 60.0):
        assert law.log_tail(z, upper=True) == pytest.approx(np.log(np.arctan(np.exp(-z))), rel=1e-7)
        assert law.log_tail(-z, upper=False) == pytest.approx(np.log(np.arctan(np.exp(-z))), rel=1e-7)
        assert law.log_density(np.array([-z, z])) == pytest.approx([-z, -z], rel=1e-7)
        assert law.quantile(-z, upper=True) == pytest.approx(z, rel=1e-7)
        assert law.quantile(-z, upper=False) == pytest.approx(-z, rel=1e-7)
    assert max(called) <= 20.0


@pytest.mark.parametrize("a", [(3.0, 2.5, 4.0, 1.5), (40.0, 9.0, 1.2, 2.0), (0.4, 5.0, 6.0, 0.7)])
def test_a_log_odds_ratio_is_that_of_two_shares(a):
    """Check two components with weights 1 and 3: moments of the odds ratio by E[G^-1] = 1/(a - 1), and the distribution
    by 1,000 draws of independent gammas, Kolmogorov-Smirnov with p > 1e-4."""
    b = (2.0, 3.0, 4.0, 5.0)
    law = log_odds.LogOddsMixture([a, b], [1.0, 3.0])
    expected = 0.25 * a[0] * a[3] / ((a[1] - 1) * (a[2] - 1)) + 0.75 * b[0] * b[3] / ((b[1] - 1) * (b[2] - 1))
    assert law.mean_odds() == pytest.approx(expected, rel=1e-12)
    rng = stream(1, "odds", str(a))
    chosen = np.where((rng.random(1000) < 0.25)[:, None], a, b)
    logs = np.log(rng.standard_gamma(chosen)) @ [1, -1, -1, 1]
    assert stats.kstest(logs, law.cdf).pvalue > 1e-4
    x = law.quantile([1e-9, 0.3, 0.5, 1 - 1e-9])
    assert law.cdf(x) == pytest.approx([1e-9, 0.3, 0.5, 1 - 1e-9], rel=1e-4)
    step = 1e-4
    slope = (law.cdf(x[1:3] + step) - law.cdf(x[1:3] - step)) / (2 * step)
    assert law.pdf(x[1:3]) == pytest.approx(slope, rel=1e-5)
    for end in (law.pdf([-1e4, 1e4]), law.cdf([-1e4])):
        assert (end == 0).all()
    assert law.cdf([1e4]).tolist() == [1.0]
    for q in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="q must be strictly between 0 and 1"):
            law.quantile(q)


def test_an_odds_ratio_without_a_mean_says_so():
    for a in ((2.0, 1.0, 3.0, 2.0), (2.0, 3.0, 1.0, 2.0), (2.0, 0.5, 0.5, 2.0)):
        assert log_odds.LogOddsMixture([a]).mean_odds() == np.inf
    assert np.isfinite(log_odds.LogOddsMixture([(2.0, 1.001, 1.001, 2.0)]).mean_odds())
    for bad in ([(1, 2, 3)], [(1, 2, 3, 0)], [(1, 2, 3, -1)], [(1, 2, 3, np.inf)], [(1, 2, 3, 4)] * 2):
        with pytest.raises(ValueError, match="`a` must"):
            log_odds.LogOddsMixture(bad)
    for weights in ([-1.0], [0.0], [np.inf], [np.nan]):
        with pytest.raises(ValueError, match="weights"):
            log_odds.LogOddsMixture([(1, 2, 3, 4)], weights)


@pytest.mark.parametrize("released", [(3, 2), (0, 7, 1), (12, 0), (40, 25, 8)])
def test_the_levels_of_a_mode_are_all_that_are_possible(released):
    """Check that level L serves M units of S quotients if M L <= T <= L (M + S) for a sum T of the weights; T is at
    most `below` or `above` from M, and each L is an integer weight divided by a released count."""
    noise, released = Noise(epsilon=1.5, support=12, window=None), np.array(released)
    total, size = int(released.sum()), len(released)
    below, above = _coupled_counts._beyond(noise, size)
    found = _coupled_counts._levels(released, noise)
    wanted = {
        Fraction(a, r)
        for r in released.tolist()
        if r > 0
        for a in range(1, 40 * (total + above))
        if Fraction(a, r) * total <= total + above and Fraction(a, r) * (total + size) >= total - below
    }
    assert [Fraction(a, r) for a, r in found.tolist()] == sorted(wanted)
    # the noise of the total and of every count leaves that range with a chance below 1e-27 a step
    spread = np.convolve(noise.p, noise.p)
    for _ in range(size - 1):
        spread = np.convolve(spread, noise.p)
    middle = len(spread) // 2
    assert spread[middle + above + 1 :].sum() < 1e-24
    assert _coupled_counts._levels(np.zeros(size, np.int64), noise).shape == (0, 2)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("released", [(3, 2), (0, 7, 1), (0, 0), (400, 25)])
def test_windows_leave_out_nothing(drawn, released):
    """Check that a component of k units has a gamma(k + 1) share of the weights' sum T, at most the total plus noise:
    the probability outside its window is below exp(-60) for T at its largest and smallest."""
    noise, released = Noise(epsilon=2.0, support=15, window=None), np.array(released)
    low, high = _coupled_counts.windows(released, noise, None, drawn=drawn)
    total, slack = int(released.sum()), noise.reach * (1 + drawn)
    for k, first, last in zip(released.tolist(), low.tolist(), high.tolist(), strict=True):
        assert 0 <= first <= k <= last
        at_most = (last - slack) / max((total + slack) / (total + len(released)), 1e-300)
        assert last - slack == total or stats.gamma(k + 1).sf(at_most) <= np.exp(-_noise.DIGITS) * 1.0001
        if first > 0:
            at_least = (first + slack) / ((total - slack) / (total + len(released)))
            assert stats.gamma(k + 1).cdf(at_least - 1) <= np.exp(-_noise.DIGITS) * 1.0001
    fixed = _coupled_counts.windows(released, noise, 5, drawn=drawn)
    assert (fixed[0] == np.maximum(released - 5, 0)).all()
    assert (fixed[1] == released + 5).all()
    capped = Noise(epsilon=2.0, support=15, window=None, largest=2)
    assert max(array.max() for array in _coupled_counts.windows(released, capped, None, drawn=drawn)) <= 2


def pair(law_error, checks):
    return law_error, checks


def posterior(**changes):
    """Check that four chains of independent draws pass all checks."""
    draws = stream(3, "draws").normal(size=(4, 500, 2))
    conflict = Conflict((0.5,) * 4, (0.5,) * 2)
    check_law = partial(pair, changes.pop("law_error", 0.0), 9)
    given = {"prior": Prior(0.0, 1.0, 2.0, 1.0), "conflict": conflict, "check_law": check_law, "unsolved": 0}
    return CensoredPosterior(**({"draws": draws, "statistics": np.zeros((4, 500, 4))} | given | changes))


@pytest.mark.parametrize(
    ("changes", "word", "text"),
    [
        ({}, "converged", "total variation distance from the exact posterior about 0"),
        ({"law_error": 0.005}, "converged", "about 0.005"),
        ({"law_error": 0.0051}, "approximate", "about 0.005"),
        (
            {"statistics": np.cumsum(stream(4, "walk").normal(size=(4, 500, 4)), axis=1)},
            "not converged",
            "smallest ESS",
        ),
        ({"unsolved": 3}, "approximate", "; 3 proposals without a density"),
        ({"draws": np.cumsum(stream(4, "walk").normal(size=(4, 500, 2)), axis=1)}, "not converged", "smallest ESS"),
        (
            {"draws": np.cumsum(stream(4, "walk").normal(size=(4, 500, 2)), axis=1), "law_error": 1.0},
            "not converged",
            "",
        ),
    ],
)
def test_a_posterior_behind_statistics_says_what_it_is(changes, word, text):
    found = posterior(**changes)
    assert found.accuracy.status == word
    assert text in found.accuracy.reason
    assert found.accuracy.error == found.law_error == changes.get("law_error", 0.0)
    assert found.checks == 9
    drawn = found.sample(7, rng=stream(5, "again"))
    assert drawn.shape == (7, 2)
    assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in found.draws.reshape(-1, 2).tolist()}


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9, 0.999])
@pytest.mark.parametrize(
    "table", [[[3, 0, 0], [0, 4, 2]], [[1, 1], [1, 1]], [[2, 1], [1, 2], [0, 3]], [[1, 2, 1], [5, 0, 1]]]
)
def test_two_rows_at_any_rate_are_those_of_the_list(table, rate):
    """Check every original with the same margins: prior Gamma(s + alpha)/s! per cell, times the probability of the
    released table. 4,000 draws, chi-squared with p > 1e-4, fixed seeds."""
    table = np.array(table)
    alpha = np.linspace(0.5, 1.5, table.size)
    originals, _, chances = exact_swapping.class_law(table, rate=rate)
    flat = originals.reshape(len(originals), -1)
    weights = np.exp((gammaln(flat + alpha) - gammaln(flat + 1)).sum(axis=1) + chances)
    p = weights / weights.sum()
    law = TwoRowLaw(table, alpha, rate=rate)
    for cell in range(table.size):
        expected = np.bincount([t.ravel()[cell] for t in originals], p, minlength=int(table.sum()) + 1)
        assert law.marginal(cell) == pytest.approx(expected, abs=1e-11)
    drawn = law.draw(4000, rng=stream(8, "rows", str(table.tolist()), str(rate)))
    found = np.array([(drawn == t.ravel()).all(axis=1).sum() for t in originals])
    assert found.sum() == 4000
    order = np.argsort(-p)  # the rare ones join the most frequent
    rare = p[order] * 4000 <= 5
    counts, means = (np.append(v[order][~rare][1:], v[order][0] + v[order][rare].sum()) for v in (found, p * 4000))
    assert len(counts) == 1 or stats.chisquare(counts, means).pvalue > 1e-4


def apart(one, two):
    """Return the total variation distance of two distributions, each (values, probabilities) on adjacent integers."""
    low, high = min(one[0][0], two[0][0]), max(one[0][-1], two[0][-1])
    gap = np.zeros(int(high - low) + 1)
    for (values, p), sign in ((one, 1), (two, -1)):
        gap[(np.asarray(values) - low).astype(int)] += sign * p
    return np.abs(gap).sum() / 2


@pytest.mark.parametrize("slack", [-10.0, -18.0, -26.0, -30.0])
def test_terms_left_out_of_a_posterior_of_modes_are_within_their_bound(slack):
    """Compare levels kept down to exp(-36 - slack) of the largest with those that omit less than 1e-16."""
    problem = _mode_transforms.Problem(np.array([0, 3, 17, 3]), NoiseModel(0.4), FLAT, "random")
    fine, rough = (_mode_transforms._Sweep(problem, s, 46.0).law() for s in (3.0, slack))
    assert fine.certificate.error < 2e-16
    found = max(apart(fine.marginal(i), rough.marginal(i)) for i in range(4))
    assert 0.1 < max(found, apart(fine.total(), rough.total())) / rough.certificate.error <= 1


@pytest.mark.parametrize(("reserve", "ties"), [(2.0, "random"), (10.0, "last"), (20.0, "random")])
def test_short_transforms_of_many_levels_are_within_their_bound(reserve, ties):
    """Compare transforms and windows that neglect exp(-reserve) with those that neglect less than 1e-16. Each of the
    chunks of levels has its own tilt, windows and length.
    """
    problem = _mode_transforms.Problem(np.array([260, 45, 170]), NoiseModel(0.1), FLAT, ties)
    fine, rough = (_mode_transforms._Sweep(problem, 3.0, r) for r in (46.0, reserve))
    assert len({window.tilt for _, window in fine.parts}) > 3
    assert max(window.length for _, window in fine.parts) < fine.whole.length
    fine, rough = fine.law(), rough.law()
    assert fine.certificate.error < 2e-16
    found = max(apart(fine.marginal(i), rough.marginal(i)) for i in range(3))
    assert 1e-12 < max(found, apart(fine.total(), rough.total())) <= rough.certificate.error


@pytest.mark.parametrize("change", ["length", "window"])
def test_a_short_length_or_window_of_every_chunk_is_within_its_bound(change):
    """Halve the lengths of the transforms of twenty counts, or truncate the windows of three counts at five values."""

    def changed(window):
        if change == "length":
            return window._replace(length=max(window.length // 2, int(window.width.max())))
        inside = np.where(window.low > 0, window.below - 5, 0)
        width = window.width - inside - (window.above - 100)
        return window._replace(below=5, above=100, low=window.low + inside, width=width)

    released, epsilon = (np.arange(30, 50), 1.0) if change == "length" else (np.array([260, 245, 270]), 0.1)
    problem = _mode_transforms.Problem(released, NoiseModel(epsilon), FLAT, "random")
    fine, rough = (_mode_transforms._Sweep(problem, 3.0, 46.0) for _ in range(2))
    rough.parts = [(rows, changed(window)) for rows, window in rough.parts]
    fine, rough = fine.law(), rough.law()
    found = max(apart(fine.marginal(i), rough.marginal(i)) for i in range(len(released)))
    assert 1e-12 < max(found, apart(fine.total(), rough.total())) <= rough.certificate.error


@pytest.mark.parametrize("span", [14.0, 30.0])
def test_a_short_range_of_totals_of_many_levels_is_within_its_bound(monkeypatch, span):
    """Compare the totals within `span` / epsilon of the released total with all totals of a larger mass than 1e-16. The
    bound contains all chunks of levels: the last chunk has less than 1e-8 of their tilted mass.
    """
    problem = _mode_transforms.Problem(np.array([260, 45, 170]), NoiseModel(0.1), FLAT, "random")
    fine, totals = _mode_transforms._Sweep(problem, 3.0, 46.0).law(), _mode_transforms.Problem.totals
    monkeypatch.setattr(_mode_transforms.Problem, "totals", lambda problem, _: totals(problem, span))
    rough = _mode_transforms._Sweep(problem, 3.0, 46.0)
    assert rough.parts[-1][1].free.min() < rough.whole.free.min() + np.log(1e-8)
    rough = rough.law()
    found = max(apart(fine.marginal(i), rough.marginal(i)) for i in range(3))
    assert 1e-14 < max(found, apart(fine.total(), rough.total())) <= rough.certificate.error < 1e-3


@pytest.mark.parametrize("draws", [1, 100, 4321])
def test_a_standard_error_is_that_of_an_even_chance(draws):
    """Check that the share of successes in n draws has its largest standard deviation at 1/2."""
    error = _accuracy.standard_error(draws)
    spread = [stats.binom(draws, p).std() / draws for p in (0.05, 0.5, 0.8)]
    assert max(spread) == pytest.approx(error, rel=1e-12)
    assert np.isnan(_accuracy.standard_error(0))


def test_accepted_tables_state_the_standard_error_of_a_probability():
    swap = dpm.Swap(rate=0.2)
    found = dpm.posterior(dpm.Release([[3, 1], [2, 4]], mechanism=swap), method="abc", rng=stream(1, "accepted"))
    number = len(found.source.draws)
    assert number > 1000
    assert found.summary()["error"].to_numpy() == pytest.approx(0.5 / np.sqrt(number))
    assert (found.summary()["status"] == "approximate").all()
    assert f"{number} effective draws" in found.accuracy.reason


@pytest.mark.parametrize("reach", [1e-3, 0.1, 0.7])
def test_the_distance_of_two_laws_from_the_range_of_their_ratio(reach, monkeypatch):
    """Check two points of probability 1/2 with ratio exp(reach): distance 1/2 - 1/(1 + exp(reach)) within the bound."""
    monkeypatch.setattr(censored_statistics, "log_ratio", lambda mean, *_: np.where(mean > 0, reach, 0.0) - 3.0)
    mean, counts = np.array([-0.2, 0.2] * 30), np.full(60, 100)
    bound, checked = censored_statistics.total_variation(mean, 0.3 * counts, counts)
    assert checked > 8  # both ends of the order are among them
    assert 0.1 < (0.5 - 1 / (1 + np.exp(reach))) / bound <= 1


def test_two_rows_refuse_tails_of_which_no_digit_is_known():
    """Check that probabilities have an error of 1e-13: two digits at 1e-11, one at 1e-12."""
    law = infer([[40, 35, 30], [25, 30, 35]], rate=0.1, rng=stream(1, "two rows"))
    assert law.how == ("two rows",)
    share = law.beta(0)
    assert 0 < float(share.quantile(2e-11)) < float(share.quantile(1e-6))
    for level in (5e-12, 1 - 5e-12):
        with pytest.raises(ValueError, match="1e-11"):
            share.quantile(level)


@pytest.mark.parametrize("log_mass", [2.0, 6.0, 15.0])
def test_the_bound_of_what_a_window_of_an_unmeasured_count_neglects(log_mass):
    """Check a geometric prior of mean 7: P(N >= k) = (7/8)^k."""
    cells = cells_of([np.nan], law_of({"law": "discrete_gaussian", "sigma": 3.0}))
    prior = prior_of({"law": "geometric", "mean": 7.0})
    assert not cells.measured[0]
    low, high = windows.spans(cells, prior, log_mass)
    (block,) = windows.blocks(cells, np.zeros(1, dtype=np.int64), low, high)
    logs = block.log_likelihood + windows.prior_weights(prior, block)
    evidence = _window_sums.summaries(logs, block.width, level=0.5)[:, 0]
    assert low[0] == 0
    outside = (7 / 8) ** (high[0] + 1)
    assert 0.1 < outside / windows.neglected(cells, prior, block, evidence, log_mass)[0] <= 1


@pytest.mark.parametrize(
    "values",
    [
        [3.0, 3.0, -1.0, 5.0, 4.0],
        [0.5, 1.5, 0.5],
        [7.0],
        [0.0, 11.0, 3.0],  # a range of 4 n - 1 integers
        [0.0, 12.0, 3.0],  # a range of 4 n
        [2.0, np.nan, -4.0, np.nan],
        [1e15, -3.0, 1e15],
    ],
)
def test_ranks_are_positions_among_the_distinct_values(values):
    distinct = sorted({v for v in values if not np.isnan(v)})
    expected = [len(distinct) if np.isnan(v) else distinct.index(v) for v in values]
    assert cells._ranks(np.array(values)).tolist() == expected


def test_the_first_error_of_a_row_is_kept_and_the_first_row_is_named():
    three = cells_of([1.0, 2.0, 3.5], dpm.Laplace(scale=1.0))
    one = three.with_reason(np.array([False, True, False]), "first")
    with pytest.raises(ValueError, match=r"^b: the released value 2 cannot be used, because first$"):
        cells.refuse(one, "abc")
    two = one.with_reason(np.array([False, True, True]), "second")
    assert two.reasons.tolist() == ["", "first", "second"]
    assert two.good.tolist() == [True, False, False]
    with pytest.raises(ValueError, match=r"^b: the released value 2 cannot be used, because first \(and 1 more\)$"):
        cells.refuse(two, "abc")
    cells.refuse(three, "abc")


@pytest.mark.parametrize(
    ("released", "lower", "upper", "reason"),
    [
        (2.0**52, 0, np.inf, ""),
        (-(2.0**52), 0, np.inf, ""),
        (2.0**52 + 1, 0, np.inf, "released values must be below 2^52 in absolute value"),
        (-(2.0**52) - 1, 0, np.inf, "released values must be below 2^52 in absolute value"),
        (np.nan, 0, np.inf, ""),
        (3.0, 2.0**52, 2.0**52, ""),
        (3.0, 0, 2.0**52 + 1, "the bounds must be integers with lower <= upper"),
        (3.0, -(2.0**52) - 1, 0, "the bounds must be integers with lower <= upper"),
        (3.0, 0.5, 3, "the bounds must be integers with lower <= upper"),
        (3.0, 0, 3.5, "the bounds must be integers with lower <= upper"),
        (3.0, 4, 3, "the bounds must be integers with lower <= upper"),
        (3.0, 4, 4, ""),
        (3.0, -np.inf, np.inf, ""),
        (3.0, np.nan, 4, "the bounds must be integers with lower <= upper"),
    ],
)
def test_released_values_and_bounds_up_to_the_limit(released, lower, upper, reason):
    assert cells_of([released], dpm.Laplace(scale=1.0), lower=lower, upper=upper).reasons.tolist() == [reason]


@pytest.mark.parametrize("key", ["scale", "sd"])
def test_a_scale_that_is_not_positive_spoils_only_its_row(key):
    scales = [2.0, 0.0, -1.0, np.inf, np.nan, 1e-3]
    noise = {"law": "laplace" if key == "scale" else "gaussian", key: scales}
    found = cells_of(np.full(6, 3.0), noise)
    assert found.good.tolist() == [True, False, False, False, False, True]
    assert set(found.reasons[1:5]) == {"the scale of the noise must be finite and > 0"}


def test_withheld_values_are_measured_and_missing_ones_are_not():
    plain = dpm.DiscreteLaplace(scale=1.0)
    laws = [plain, plain.threshold(4), plain.clipped(0)]
    assert cells_of([np.nan] * 3, laws).measured.tolist() == [False, True, False]
    assert cells_of([np.nan] * 2, plain.threshold(4)).measured.tolist() == [True, True]
    assert cells_of([3.0, np.nan], plain).measured.tolist() == [True, False]


@pytest.mark.parametrize(
    ("released", "options", "error", "words"),
    [
        (3.0, {}, ValueError, r"released must be one-dimensional with at least one number, got shape \(\)"),
        ([], {}, ValueError, r"released must be one-dimensional with at least one number, got shape \(0,\)"),
        (
            [1, 2],
            {"lower": [[0], [1]]},
            ValueError,
            r"lower must be one number or one number per row, got shape \(2, 1\)",
        ),
        ([1, 2], {"upper": [1, 2, 3]}, ValueError, "upper must be one number or 2 numbers, got 3 numbers"),
        ([1, 2], {"upper": "many"}, TypeError, "upper must contain only numbers, got 'many'"),
    ],
)
def test_shapes_of_noisy_counts(released, options, error, words):
    with pytest.raises(error, match=words):
        cells_of(released, dpm.Laplace(scale=1.0), **options)


@pytest.mark.parametrize("concentration", [0.3, 1.0, 2.0, 5.5])
def test_the_factor_of_a_total_is_a_ratio_of_gamma_functions(concentration):
    """Check N! Gamma(A)/Gamma(N + A) by products (1 at A = 1, 1/(N + 1) at A = 2), and derivatives by differences."""
    total = cells.Total(12.0, dpm.Exact(), concentration)
    n = np.array([0.0, 1.0, 2.0, 7.0, 100.0])
    rising = [np.prod((concentration + np.arange(k)) / np.arange(1, k + 1)) for k in n.astype(int)]
    assert total.log_prior(n) == pytest.approx(-np.log(rising), rel=1e-12, abs=1e-12)
    assert total.log_prior(np.array([-3.0]))[0] == 0
    for at in (0.5, 3.0, 50.0):
        h = 1e-4 * (1 + at)
        up, middle, down = total.log_prior(np.array([at + h, at, at - h]))
        first, second = total.slope(at)
        assert first == pytest.approx((up - down) / (2 * h), abs=1e-6)
        assert second == pytest.approx((up - 2 * middle + down) / h**2, abs=1e-5)
    assert total.slope(-4.0) == total.slope(0.0)
    assert total.log_weights(np.array([11.0, 12.0])).tolist() == [-np.inf, total.log_prior(np.array([12.0]))[0]]
    free = cells.Total(12.0, dpm.Exact(), None)
    assert free.slope(9.0) == (0.0, 0.0)
    assert free.log_prior(n).tolist() == [0.0] * 5


@pytest.mark.parametrize(
    ("total", "error", "words"),
    [
        ({"released": 9}, ValueError, "with exactly the keys released and noise, got the keys released$"),
        ({"released": 9, "noise": {}, "x": 1}, ValueError, "got the keys released, noise, x$"),
        (
            {"released": 9.5, "noise": dpm.Exact()},
            ValueError,
            "the released value 9.5 of the total is impossible under",
        ),
        (-1, ValueError, "total must"),
        (2.5, TypeError, "total must"),
    ],
)
def test_totals_that_are_rejected(total, error, words):
    with pytest.raises(error, match=words):
        cells.total_of(total, 1.0)


def test_a_total_has_the_stated_noise():
    assert cells.total_of({"released": 9, "noise": {"law": "laplace", "scale": 2.0}}, 0.5) == cells.Total(
        9.0, dpm.Laplace(scale=2.0), 0.5
    )
    assert cells.total_of(7, None) == cells.Total(7.0, dpm.Exact(), None)


NINE = "fitting a prior requires at least 30 measured counts, got 29: choose another prior, such as 1/\\(1\\+n\\)$"


@pytest.mark.parametrize("group", ["", "north"])
def test_a_prior_is_fitted_to_thirty_counts(group):
    cells.enough(30, group)
    with pytest.raises(ValueError, match=f"^{'group north: ' if group else ''}{NINE}"):
        cells.enough(29, group)


@pytest.mark.parametrize(
    ("prior", "groups", "words"),
    [
        ({"a": "flat", "b": "flat"}, None, r"names of groups: pass groups, or write \{'law': 'a', \.\.\}$"),
        ({"a": "flat", "c": "flat"}, list("ab"), r"prior must have one entry per group \(a, b\), got a, c$"),
        ("fitted", list("ab"), "^group a: fitting a prior requires at least 30 measured counts, got 1:"),
        ({"a": "flat", "b": {"law": "fitted"}}, list("ab"), "^group b: fitting a prior .* got 1:"),
        (None, list("abc"), r"groups must contain one name per count \(2 counts\), got 3 names$"),
        (None, ["a", " "], "groups must contain a name for each count, but the name for count 2 is empty$"),
    ],
)
def test_groups_that_do_not_match_a_prior(prior, groups, words):
    with pytest.raises(ValueError, match=words):
        cells.groups_of(cells_of([1, 2], dpm.Laplace(scale=1.0)), prior, groups)


def test_groups_are_sorted_by_name():
    names, which = cells.groups_of(cells_of([1, 2, 3], dpm.Laplace(scale=1.0)), None, ["b", 7, "b"])
    assert names == ("7", "b")
    assert which.tolist() == [1, 0, 1]
    assert cells.groups_of(cells_of([1, 2], dpm.Laplace(scale=1.0)), "flat", None)[0] == ("",)


@pytest.mark.parametrize(
    ("centre", "sd", "last", "edges"),
    [
        # cells of width n/4 rounded down, at least 1, until the last count is covered and there are five cells
        ([0.0] * 10, [0.0] * 10, 3, [0, 1, 2, 3, 4, 5]),
        ([0.0] * 10, [0.0] * 10, 4, [0, 1, 2, 3, 4, 5]),
        ([0.0] * 10, [0.0] * 10, 5, [0, 1, 2, 3, 4, 5, 6]),
        ([0.0] * 10, [0.0] * 10, 30, [*range(9), 10, 12, 15, 18, 22, 27, 33]),
        # noise of sd 20: at least a fifth of it
        ([0.0] * 10, [20.0] * 10, 30, [0, 1, 5, 9, 13, 17, 21, 26, 32]),
        # the lower quartile of 0, 20, 20, 20 is 15: at least 3
        ([0.0] * 4, [20.0, 20.0, 0.0, 20.0], 12, [0, 1, 4, 7, 10, 13]),
        # one of 150 counts, and three of 301 counts, are in a cell
        (np.arange(150.0), [0.0] * 150, 149, [*range(150), 186]),
        (np.repeat(np.arange(150.0), 2), [0.0] * 300, 149, [*range(150), 186]),
        # the cell from 27 ends at 32, the second of the counts 28, 32, .., and not at 27 + 27/4
        (np.arange(0.0, 600, 4), [0.0] * 150, 30, [*range(9), 10, 12, 15, 18, 22, 27, 32]),
        # few counts below 1000, where cells are wide, and one count of each size from 1000 on
        (1000 + np.arange(150.0), [0.0] * 150, 1010,
         [*range(9), 10, 12, 15, 18, 22, 27, 33, 41, 51, 63, 78, 97, 121, 151, 188, 235, 293, 366, 457, 571, 713, 891,
          *range(1001, 1012)]),
    ],
)  # fmt: skip
def test_the_cells_of_a_fitted_prior_by_hand(centre, sd, last, edges):
    assert priors.edges_of(np.asarray(centre), np.asarray(sd), last).tolist() == edges


@pytest.mark.parametrize(("smoothness", "zero"), [(10.0, 0.1), (0.5, 0.5)])
def test_the_penalty_of_a_histogram_is_that_of_second_differences(smoothness, zero):
    """Check sum of w_i (f_i - 2 f_(i+1) + f_(i+2))^2 + 1e-6 sum f_i^2, where the first weight is different."""
    matrix = priors.penalty(7, smoothness, zero)
    for seed in range(3):
        f = stream(seed, "penalty").normal(size=7)
        second = f[:-2] - 2 * f[1:-1] + f[2:]
        expected = zero * second[0] ** 2 + smoothness * (second[1:] ** 2).sum() + 1e-6 * (f**2).sum()
        assert f @ matrix @ f == pytest.approx(expected, rel=1e-10)
    assert np.array_equal(matrix, matrix.T)


@pytest.mark.parametrize(("counts", "uncertain"), [(3, True), (4, False)])
def test_a_fit_is_uncertain_below_two_standard_errors(counts, uncertain):
    """Check n counts without noise: the standard error of the mean is sd/sqrt(n), which is sd/2 at n = 4."""
    assert priors.Fitted([0, 1, 2], [0.5, 0.5], fitted_on=counts, smoothness=1.0).uncertain == uncertain


def test_the_settings_of_a_fitted_prior_by_hand():
    """Check masses 1/2 and 1/2 at the count 0 and the counts 1 to 3: mean 1, variance (1 + 4 + 9)/6 - 1 = 4/3."""
    prior = priors.Fitted([0, 1, 4], [2.0, 2.0], fitted_on=12, smoothness=10.0)
    sd = (4 / 3) ** 0.5
    assert prior.settings() == {
        "law": "fitted", "fitted_on": 12, "cells": 2, "smoothness": 10.0, "mean": pytest.approx(1.0),
        "mean_error": pytest.approx(sd / 12**0.5), "sd": pytest.approx(sd), "uncertain": False, "zero": 0.5,
    }  # fmt: skip
    assert (prior.first, prior.last, prior.reach(40.0)) == (0.0, 3.0, (0.0, 3.0))
    assert prior.peak == pytest.approx(np.log(0.5))
    assert prior.below([-1, 0, 1, 2, 4, 9]) == pytest.approx([0, 0, 0.5, 0.5 + 1 / 6, 1, 1])


@pytest.mark.parametrize(
    ("most", "rows", "times"),
    [
        (10, list(range(10)), [1] * 10),
        (9, [0, 2, 4, 6, 8], [1] * 5),  # every second row
        (5, [0, 2, 4, 6, 8], [1] * 5),
        (4, [0, 3, 6, 9], [1] * 4),  # five rows are too many: every third row
        (2, [0, 5], [1] * 2),
    ],
)
def test_many_distinct_rows_are_thinned_for_a_fit(most, rows, times, monkeypatch):
    monkeypatch.setattr(priors, "MOST_ROWS", most)
    found = priors._different(cells_of(np.arange(10.0), dpm.Laplace(scale=1.0)), np.arange(10))
    assert [part.tolist() for part in found] == [rows, times]


def test_equal_rows_are_counted_for_a_fit():
    found = priors._different(cells_of([5.0, 3.0, 5.0, 5.0], dpm.Laplace(scale=1.0)), np.array([0, 1, 3]))
    assert [part.tolist() for part in found] == [[1, 0], [1, 2]]


@pytest.mark.parametrize("log_mass", [0.5, 5.0, 40.0])
@pytest.mark.parametrize("mean", [0.2, 7.0, 300.0])
def test_the_range_of_a_proper_prior_has_the_stated_mass(mean, log_mass):
    """Check P(N >= k) = (mean/(1 + mean))^k of a geometric prior, and the survival function of a negative binomial."""
    first, last = priors.Geometric(mean).reach(log_mass)
    log_ratio = np.log(mean / (1 + mean))
    assert first == 0
    assert last * log_ratio <= -log_mass * (1 - 1e-12)
    assert (last - 1) * log_ratio > -log_mass
    for shape in (0.4, 1.0, 6.0):
        law = stats.nbinom(shape, shape / (shape + mean))
        first, last = priors.NegativeBinomial(mean, shape).reach(log_mass)
        assert first == 0
        assert law.logsf(last) <= -log_mass
        exact = law.isf(np.exp(-log_mass))
        assert last <= max(1.5 * exact, 1.2 * (mean + shape + 2)) + 4


FITTED = priors.Fitted([0, 1, 4], [2.0, 2.0], fitted_on=40, smoothness=10.0)
DEFAULT = "default: fitted if there are at least 30 measured counts, otherwise 1/(1+n)"
OF_GROUPS = (
    "default: fitted in groups of at least 30 measured counts, otherwise 1/(1+n)"  # a prior is fitted to each group
)


@pytest.mark.parametrize(
    ("groups", "asked", "unfitted", "chosen"),
    [
        (("",), True, 0, "given by the user"),
        (("",), False, 0, DEFAULT),
        (("",), False, 1, f"{DEFAULT}; the noise is too large to fit a prior to so few counts"),
        (("a", "b"), False, 0, OF_GROUPS),
        (("a", "b"), False, 1, f"{OF_GROUPS}; the noise is too large to fit a prior to so few counts in 1 of 2 groups"),
    ],
)
@pytest.mark.parametrize("prior", [priors.Reciprocal(), priors.Flat()])
def test_who_chose_a_prior(prior, groups, asked, unfitted, chosen):
    """Check the text; the default is flat only in a file whose counts may be negative, and the text then says so."""
    which = np.array([0, len(groups) - 1, len(groups) - 1])
    found = priors.Choice((prior,) * len(groups), which, groups, asked, unfitted).facts()
    law = prior.settings()["law"]
    if law == "flat":
        default = DEFAULT if groups == ("",) else OF_GROUPS
        chosen = chosen.replace(default, f"{default}; flat if counts may be negative")
    if groups == ("",):
        assert found == {"law": law, "rows": 3, "chosen": chosen}
    else:
        assert found == {"groups": {"a": {"law": law, "rows": 1}, "b": {"law": law, "rows": 2}}, "chosen": chosen}


@pytest.mark.parametrize(
    ("size", "lower", "law"), [(29, 0, "1/(1+n)"), (30, 0, "fitted"), (29, -1, "flat"), (40, -np.inf, "flat")]
)
def test_the_default_prior(size, lower, law):
    released = np.round(np.linspace(0, 200, size))
    found = priors.choose(cells_of(released, dpm.DiscreteLaplace(scale=0.5), lower=lower), None, None)
    assert found.facts()["law"] == law
    assert not found.asked


def test_a_large_number_of_counts_in_words():
    assert windows.too_wide(123_456_789.0) == (
        "the noise is too large: 1.23e+08 true counts are possible, more than the limit of 20,000,000; set tighter "
        "bounds on the count"
    )


@pytest.mark.parametrize("entries", [1, 7, 40, 100, 10**6])
def test_blocks_contain_every_window_and_few_entries(entries, monkeypatch):
    """Check all windows, their likelihoods, and the size of each block, for windows of different widths."""
    monkeypatch.setattr(windows, "_ENTRIES", entries)
    law = dpm.DiscreteLaplace(scale=2.0)
    released = np.array([3.0, np.nan, 11.0, -4.0, 0.0, 7.0])
    noisy = cells_of(np.append(99.0, released), law)
    low, high = np.array([0.0, 2, 5, 0, 0, 0]), np.array([4.0, 3, 25, 0, 9, 9])
    seen = []
    for block in windows.blocks(noisy, np.arange(1, 7), low, high):
        assert block.counts.size <= entries or len(block.rows) == 1
        for i, row in enumerate(block.rows):
            n = np.arange(low[row - 1], high[row - 1] + 1)
            assert (block.low[i], block.width[i]) == (low[row - 1], len(n))
            assert block.counts[i, : len(n)].tolist() == n.tolist()
            value = released[row - 1]
            expected = np.zeros(len(n)) if np.isnan(value) else law.log_likelihood(np.array([value]), n)
            assert block.log_likelihood[i, : len(n)] == pytest.approx(expected, rel=1e-14)
            assert (block.log_likelihood[i, len(n) :] == -np.inf).all()
        seen += block.rows.tolist()
    assert sorted(seen) == [1, 2, 3, 4, 5, 6]


def test_prior_weights_come_from_a_table_or_from_the_prior():
    noisy = cells_of([3.0, 4000.0], dpm.DiscreteLaplace(scale=2.0))
    for low in ([0.0, 5.0], [0.0, 3990.0]):  # a table of few counts, and counts that are far apart
        (block,) = windows.blocks(noisy, np.arange(2), np.array(low), np.array(low) + 9)
        found = windows.prior_weights(priors.Geometric(7.0), block)
        assert found == pytest.approx(stats.geom.logpmf(block.counts + 1, 1 / 8), rel=1e-12)


@pytest.mark.parametrize(
    ("tail", "found"),
    [
        ([np.nan, np.nan], {"tested": 0, "found": False}),
        ([0.3, np.nan, 0.2, 0.2], {"tested": 3, "smallest": 0.4, "name": "c", "found": False}),
        ([0.6, np.nan], {"tested": 1, "smallest": 1.0, "name": "a", "found": False}),
        ([0.5, 0.0125], {"tested": 2, "smallest": 0.025, "name": "b", "found": False}),  # 2 times 0.025 is 0.05
        (
            [0.01, 0.001, 0.3],
            {"tested": 3, "smallest": 0.002, "name": "b", "found": True, "names": ["b"], "counts": 1},
        ),
        (
            [0.001, 1e-5] * 6,
            {
                "tested": 12, "smallest": 2e-5, "name": "b", "found": True, "names": list("bdfhjlaceg"), "counts": 12,
            },
        ),
    ],
)  # fmt: skip
def test_a_conflict_in_facts(tail, found):
    """Check twice the smallest tail, multiplied by the number of tests: at most ten names, the smallest first."""
    stated = conflict.facts(np.array(tail), "abcdefghijkl")
    assert stated == {key: pytest.approx(x) if isinstance(x, float) else x for key, x in found.items()}


def test_conflicts_of_tables_by_hand():
    """Check tables of two, three and one values: 2 x 2 x 0.01, none, and none at exactly 0.05 = 2 x 1 x 0.025."""
    tail = np.array([0.3, 0.01, 0.5, np.nan, 0.02, 0.025])
    p, worst = conflict.by_table(tail, np.array([0, 2, 5, 6]))
    assert p.tolist() == pytest.approx([0.04, np.nan, np.nan], nan_ok=True)
    assert worst.tolist() == [1, 2, 0]


def test_a_batch_of_counts_in_words():
    found = published_counts.exact([3.0, 4.5, 40.0], noise=dpm.DiscreteLaplace(scale=2.0), prior="1/(1+n)")
    matters = int(found.prior_matters.sum())
    assert repr(found) == f"Batch(3 counts, 1 refused, {matters} decided by the prior)"
    facts = found.facts()
    assert (facts["counts"], facts["refused"], facts["prior_matters"]) == (3, 1, matters)
    table = found.summary()
    assert table["status"].tolist() == ["exact", "refused", "exact"]
    assert table["reason"].tolist() == ["", "this value is impossible under the noise distribution", ""]
    assert table["level"].tolist() == [0.95] * 3
    assert found.accuracy.status == "exact"


def test_priors_of_groups_are_used_for_any_rows():
    law, prior = dpm.DiscreteLaplace(scale=2.0), {"a": priors.Geometric(3.0), "b": priors.Flat()}
    found = published_counts.exact([3.0, 4.0], noise=law, prior=prior, groups=["b", "a"])
    for i, name in enumerate("ba"):
        alone = published_counts.exact([3.0 + i], noise=law, prior=prior[name])
        assert found.own.mean[i] == alone.own.mean[0]
    assert found.choice.asked
    with pytest.raises(
        ValueError, match=r"prior must contain a prior for each group, but the prior is missing for c, d$"
    ):
        published_counts.exact([3.0, 4.0], noise=law, prior=prior, groups=["d", "c"])
    with pytest.raises(ValueError, match=r"groups must contain one name per count \(2 counts\), got 3 names"):
        published_counts.exact([3.0, 4.0], noise=law, prior=prior, groups=["a", "b", "a"])
    with pytest.raises(ValueError, match=r"the released counts already have names \(a, b, c, \.\.\)$"):
        published_counts.named({"a": 1, "b": 2, "c": 3, "d": 4}, ["e"])
    assert published_counts.named([5, 6], None)[1] == ("1", "2")


def test_the_facts_of_counts_with_bounds():
    found = published_counts.posterior(
        {"a": 3.0, "b": None, "c": 9.0}, noise=dpm.Laplace(scale=2.0), prior="1/(1+n)", lower=[0, 1, 2],
        upper=[9, 4, 30], facts={"source": "x"},
    ).facts  # fmt: skip
    assert found["bounds"] == {"lower": 0.0, "upper": 30.0}
    assert (found["counts"], found["measured"], found["total"], found["source"]) == (3, 2, None, "x")


def test_the_facts_of_a_comparison_show_ten_counts():
    frame = pd.DataFrame({name: np.arange(14.0) for name in ("mean", "sd", "flat_mean", "flat_sd")})
    frame = frame.assign(quantity=list("abcdefghijklmn"), prior_matters=[False] + [True] * 12 + [False])
    frame["flat_reason"] = ""
    found = published_counts.facts(frame)
    assert (found["prior_matters"], found["of"]) == (12, 14)
    assert [row["quantity"] for row in found["first"]] == list("bcdefghijk")
    assert found["first"][0] == {"quantity": "b", "mean": 1.0, "sd": 1.0, "flat_mean": 1.0, "flat_sd": 1.0}


def test_counts_beyond_one_call_have_the_distributions_of_their_rows(monkeypatch):
    """Check every count if two distributions are computed in one call, in two groups with different priors."""
    monkeypatch.setattr(published_counts, "_TOGETHER", 2)
    law, released = dpm.DiscreteLaplace(scale=2.0), np.array([3.0, 8.0, 0.0, 5.0, 12.0])
    prior = {"a": {"law": "geometric", "mean": 3.0}, "b": "1/(1+n)"}
    found = published_counts.posterior(released, noise=law, prior=prior, groups=list("ababb"))
    for i, group in enumerate("ababb"):
        alone = published_counts.posterior(released[i : i + 1], noise=law, prior=prior[group])
        assert found.counts[str(i + 1)].mean() == alone.counts["1"].mean()
