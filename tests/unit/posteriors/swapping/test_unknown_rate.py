"""Tests of an unknown swap rate, and of a common odds ratio, by integrals of enumerated likelihoods."""

from functools import cache
from itertools import permutations
from math import comb, factorial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import kstest

import dpmultinomial as dpm
from dpmultinomial._posteriors.swapping import unknown_rate
from dpmultinomial._posteriors.swapping.log_odds import common_odds_ratio
from dpmultinomial._posteriors.swapping.unknown_rate import RateLaw
from dpmultinomial._seeding import stream

LEVELS = (1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.025, 0.3)
DERANGED = [1, 0, 1, 2, 9, 44, 265]  # permutations without a fixed point


@cache
def moves(original, swapped):
    """Count the permutations that move m records and turn the rows of one table into those of another."""
    (a, b), (c, d) = original
    rows, columns = [0] * (a + b) + [1] * (c + d), [0] * a + [1] * b + [0] * c + [1] * d
    n = len(rows)
    found = [0] * (n + 1)
    for order in permutations(range(n)):
        table = [[0, 0], [0, 0]]
        for place, source in enumerate(order):
            table[rows[source]][columns[place]] += 1
        if tuple(map(tuple, table)) == swapped:
            found[sum(place != source for place, source in enumerate(order))] += 1
    return found


def swap_chance(original, swapped, rate, rest):
    """Return P(swapped | original): records are selected with the rate, again if exactly one is, and deranged."""
    n = sum(map(sum, original))
    each = (
        count * rate**m * rest ** (n - m) / DERANGED[m]
        for m, count in enumerate(moves(original, swapped))
        if count and m != 1
    )
    return sum(each) / (1 - n * rate * rest ** (n - 1))


def originals(swapped):
    """Return the tables with the margins of this table."""
    (a, b), (c, d) = swapped
    for x in range(min(a + b, a + c) + 1):
        table = ((x, a + b - x), (a + c - x, d - a + x))
        if min(map(min, table)) >= 0:
            yield table


def likelihood(table, rate, rest):
    """Return the marginal probability of a swapped table under the uniform prior: all tables are equally likely."""
    n = sum(map(sum, table))
    return sum(swap_chance(x, table, rate, rest) for x in originals(table)) / comb(n + 3, 3)


SETTINGS = {
    "62 strata of two": ({((2, 0), (0, 2)): 50, ((1, 1), (1, 1)): 12}, (1, 1)),
    "six records": ({((3, 0), (0, 3)): 1}, (2, 5)),
    "two strata": ({((2, 1), (1, 2)): 1, ((1, 0), (2, 2)): 1}, (1, 1)),
    "a low rate beforehand": ({((2, 1), (1, 2)): 3}, (0.5, 60)),
}
"""Name -> tables and how often each, Beta prior of the rate."""


@cache
def of(name):
    tables, prior = SETTINGS[name]
    return unknown_rate.infer_rate([table for table, times in tables.items() for _ in range(times)], prior=prior)


def density(name):
    tables, (a, b) = SETTINGS[name]

    def at(r, rest):
        like = np.prod([likelihood(table, r, rest) ** times for table, times in tables.items()], axis=0)
        return r ** (a - 1.0) * rest ** (b - 1.0) * like

    return at


def integral(f, low, high):
    """Integrate a density of r = sin(t)^2 and 1 - r with positive terms: 60 pieces with 40 Gauss nodes each."""
    places, weights = np.polynomial.legendre.leggauss(40)
    cuts = low + (high - low) * np.linspace(0, 1, 61)
    half = np.diff(cuts)[:, None] / 2
    t = cuts[:-1, None] + half * (1 + places)
    sine, cosine = np.sin(t), np.cos(t)
    return float((f(sine**2, cosine**2) * 2 * sine * cosine * weights * half).sum())


def tail(f, x, upper):
    """Integrate a density of a rate beyond x."""
    if upper:  # measured from the other end, where nothing cancels
        return integral(lambda r, rest: f(rest, r), 0.0, np.arctan2(np.sqrt(1 - x), np.sqrt(x)))
    return integral(f, 0.0, np.arctan2(np.sqrt(x), np.sqrt(1 - x)))


@cache
def whole(name):
    return integral(density(name), 0.0, np.pi / 2)


def off(name, law):
    """Return the largest relative error of a tail at a quantile, and of `cdf` and `sf` at the quantile."""
    f, worst = density(name), 0.0
    for q in LEVELS:
        for upper in (False, True):
            level = 1 - q if upper else q
            x = float(law.quantile(level))
            exact = tail(f, x, upper) / whole(name)
            spacing = abs(f(x, 1 - x) * (x - np.nextafter(x, 0.5)) / whole(name) / exact)
            worst = max(worst, abs(exact / (1 - level if upper else level) - 1) - spacing)
            worst = max(worst, abs(float(law.sf(x) if upper else law.cdf(x)) / exact - 1))
    return worst


@pytest.mark.parametrize("name", SETTINGS)
def test_the_rate_is_right_to_the_error_it_states(name):
    found = of(name)
    assert off(name, found.rate) <= found.rate.error < 1e-8
    f = density(name)
    mean = integral(lambda r, s: r * f(r, s), 0.0, np.pi / 2) / whole(name)
    variance = integral(lambda r, s: (r - mean) ** 2 * f(r, s), 0.0, np.pi / 2) / whole(name)
    assert (found.mean(), found.sd()) == pytest.approx((mean, variance**0.5), rel=found.rate.error)
    for r in (0.01, 0.05, 0.4):
        assert float(found.rate.pdf(r)) == pytest.approx(f(r, 1 - r) / whole(name), rel=found.rate.error)


ROUGH = ("six records", "two strata", "a low rate beforehand")


def test_a_rough_rate_law_states_its_error():
    """Check fewer nodes and a larger tolerance: the stated error is met, and a tenth of it is not."""
    found = []
    for name in ROUGH:
        tables, (a, b) = SETTINGS[name]
        law = RateLaw(
            lambda r, t=tables: float(sum(n * np.log(likelihood(x, r, 1 - r)) for x, n in t.items())),
            float(a), float(b), nodes=5, tolerance=1e-2,
        )  # fmt: skip
        found.append(off(name, law) / law.error)
    assert 0.1 < max(found) <= 1


def test_intervals_are_those_of_dense_quadrature():
    """Check intervals by dense quadrature of the enumerated likelihood, to the given digits."""
    assert np.allclose(of("62 strata of two").rate.quantile([0.025, 0.975]), (0.00214, 0.13856), atol=6e-6)
    assert np.allclose(of("six records").rate.quantile([0.025, 0.975]), (0.03177, 0.55795), atol=6e-6)


def test_every_row_has_its_own_error():
    found = of("two strata")
    table = found.summary()
    assert table["quantity"].tolist()[:2] == ["rate", "theta(0, 0, 0)"]
    assert table["error"].tolist() == [found.rate.error, *found.cell_errors]
    assert (table["status"] == "approximate").all()
    assert found.accuracy.error == max(found.rate.error, *found.cell_errors)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_cells_are_off_by_no_more_than_stated(size, monkeypatch):
    """Check cells averaged over few rates, against 48: the stated error is met, and a tenth of it is not."""
    tables, prior = SETTINGS["two strata"]
    fine = of("two strata")
    monkeypatch.setattr(unknown_rate, "_NODES", (size // 2, size))
    rough = unknown_rate.infer_rate(list(tables), prior=prior)
    gaps = []
    for i in range(8):
        laws = [found.cells.counts.marginal(i) for found in (rough, fine)]
        gaps.append(np.abs(np.cumsum(laws[0] - laws[1])).max())
    assert (np.array(gaps) <= rough.cell_errors).all()
    assert rough.cell_errors.max() > 1e-6


def test_a_release_with_an_unknown_rate_shows_the_rate():
    release = dpm.Release([[4, 1], [2, 6]], mechanism=dpm.Swap(rate=None))
    found = dpm.posterior(release)
    rate = found.parameters["swap rate"]
    law = unknown_rate.infer_rate([[4, 1], [2, 6]]).rate
    assert rate.type == "parameter"
    assert rate.interval() == pytest.approx(tuple(law.quantile([0.025, 0.975])))
    assert (rate.mean(), rate.variance()) == pytest.approx((law.mean(), law.variance()))
    assert (rate.accuracy.status, rate.accuracy.error) == ("approximate", law.error)
    row = found.summary().set_index("quantity").loc["swap rate"]
    assert (row["type"], row["error"]) == ("parameter", law.error)
    draws = found.sample(200_000, rng=stream(1, "rate"))["parameters"]
    assert draws.shape == (200_000, 1)
    assert kstest(draws[:, 0], lambda x: np.interp(x, (grid := np.linspace(0, 1, 201)), law.cdf(grid))).pvalue > 1e-6
    assert found.facts["prior of the rate"] == {"law": "Beta", "a": 1.0, "b": 1.0}


ODDS = {
    "one table": ([[[2, 1], [1, 2]]], 0.3, 2.0),
    "three strata": ([[[3, 0], [1, 2]], [[2, 1], [1, 2]], [[1, 2], [2, 0]]], 0.1, 5.0),
}


def odds_density(name):
    tables, rate, spread = ODDS[name]
    rows = []
    for table in tables:
        table = tuple(map(tuple, table))
        (a, b), (c, d) = table
        n = a + b + c + d
        free = [(x, comb(b + d, x[1][1]) * comb(a + c, c + d - x[1][1])) for x in originals(table)]
        rows.append([(x[1][1], ways, swap_chance(x, table, rate, 1 - rate)) for x, ways in free])
        assert sum(ways for _, ways in free) == factorial(n) // factorial(c + d) // factorial(a + b)

    def at(t):
        out = np.exp(-0.5 * (t / spread) ** 2)
        for row in rows:
            tilt = [ways * np.exp(t * x) for x, ways, _ in row]
            out = out * sum(v * chance for v, (_, _, chance) in zip(tilt, row, strict=True)) / sum(tilt)
        return out

    return at


def line(f, low, high):
    """Integrate a positive function: 60 pieces with 40 Gauss nodes each."""
    places, weights = np.polynomial.legendre.leggauss(40)
    cuts = np.linspace(low, high, 61)
    half = np.diff(cuts)[:, None] / 2
    return float((f(cuts[:-1, None] + half * (1 + places)) * weights * half).sum())


def odds_off(name, law):
    f, far, worst = odds_density(name), 14 * ODDS[name][2], 0.0
    for q in LEVELS:
        for upper in (False, True):
            level = 1 - q if upper else q
            x = float(law.quantile(level))
            exact = (line(f, x, far) if upper else line(f, -far, x)) / line(f, -far, far)
            worst = max(worst, abs(exact / (1 - level if upper else level) - 1))
            worst = max(worst, abs(float(law.sf(x) if upper else law.cdf(x)) / exact - 1))
    return worst


def test_a_common_odds_ratio_is_right_to_the_error_it_states():
    """Check that for any accuracy of the interpolation the stated error is met, and a tenth of it is not."""
    for tolerances in ([None], [1e-3, 1e-4]):
        ratios = []
        for tolerance in tolerances:
            for name, (tables, rate, spread) in ODDS.items():
                more = {} if tolerance is None else {"tolerance": tolerance}
                law = common_odds_ratio(tables, rate=rate, prior_sd=spread, **more)
                ratios.append(odds_off(name, law) / law.error)
                assert law.error < (1e-10 if tolerance is None else 100 * tolerance)
                assert law.summary()["error"].tolist() == [law.error]
        assert 0.1 < max(ratios) <= 1


def test_gauss_rules_of_a_law_on_few_rates_are_that_law():
    """Check that three rates have three orthogonal polynomials, so the rule is the distribution itself."""
    x, mass = np.array([0.1, 0.35, 0.8]), np.array([0.2, 0.5, 0.3])
    few = SimpleNamespace(_discrete=(x, mass))
    for size in (3, 4, 9):
        rates, weights = RateLaw.nodes(few, size)
        assert rates == pytest.approx(x, abs=1e-14)
        assert weights == pytest.approx(mass, abs=1e-14)
    rates, weights = RateLaw.nodes(few, 2)
    for degree in range(4):
        assert weights @ rates**degree == pytest.approx(mass @ x**degree, abs=1e-14)
