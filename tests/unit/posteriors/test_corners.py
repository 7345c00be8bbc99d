"""Tests of posteriors against closed forms: extreme tails, ends of ranges, convergence, stated errors."""

from fractions import Fraction
from functools import partial

import numpy as np
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
from dpmultinomial._posteriors.published import _window_sums, windows
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
        ({}, "converged", "total variation of the law at most 0; prior and release agree"),
        ({"law_error": 0.005}, "converged", "at most 0.005"),
        ({"law_error": 0.0051}, "approximate", "at most 0.005"),
        ({"unsolved": 3}, "approximate", "; 3 proposals without a density"),
        ({"draws": np.cumsum(stream(4, "walk").normal(size=(4, 500, 2)), axis=1)}, "not converged", "least ESS"),
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
