"""Tests of an unknown swap rate, and of a common odds ratio, by integrals of enumerated likelihoods."""

import re
from functools import cache
from itertools import permutations
from math import comb, factorial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

import dpmultinomial as dpm
from dpmultinomial._posteriors.swapping import swapped_batches, swapped_table, unknown_rate, unswapped
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture, common_odds_ratio
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
        assert float(found.rate.pdf(r)) == pytest.approx(f(r, 1 - r) / whole(name), rel=found.rate.error, abs=0)


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


def test_the_error_of_a_rate_counts_in_the_numerator_and_the_denominator():
    """Check an interpolation that is 0 where the log likelihood is 0.01, and an error 0.001 of the density. A panel
    that is far below the largest one is not tested.
    """
    panels = [(0.0, 0.7, np.zeros(4), 5.0), (0.7, np.pi / 2, np.zeros(4), -60.0)]
    law = SimpleNamespace(
        _panels=panels, _exact=lambda rate: 0.01 if rate < np.sin(0.7) ** 2 else 9.0, _log_mass=0.0,
        _density=SimpleNamespace(error=lambda level: 0.001),
    )  # fmt: skip
    assert RateLaw.error.func(law) == pytest.approx(2 * (np.expm1(0.01) + 0.001))


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


def rows(**changes):
    columns = {"table": list("tttt"), "row": list("aabb"), "column": list("xyxy"), "count": [3, 1, 2, 4]}
    return pd.DataFrame(columns | changes)


@pytest.mark.parametrize(
    ("changes", "given", "words"),
    [
        ({"row": ["a", "a", None, "b"]}, {}, r"got 1 line\(s\) with missing values \(the first is line 3 of the table"),
        ({"row": list("aaab")}, {}, "the cell in row a, column x is listed twice: list each cell once"),
        ({"count": [3, 1, 2, -1]}, {}, "count must contain only integers >= 0, got -1.0"),
        ({"count": [3, 1, 2, 2.0**40]}, {}, "count must contain only integers >= 0, got 1099511627776.0"),
        ({"count": [3, 1, 2, "x"]}, {}, "count must contain only integers >= 0, got nan"),
        ({}, {"rows": ["a", "c"]}, "row must be one of a, c, got b"),
        ({}, {"columns": ["z", "x"]}, "column must be one of z, x, got y"),
        ({"rate": [0.1, 0.2, 0.1, 0.3]}, {"rate": None}, r"in all lines of a table, got 3 values \(0.1, 0.2, 0.3\)"),
        ({"rate": [1.0] * 4}, {"rate": None}, "rate must lie strictly between 0 and 1, got 1.0"),
    ],
)
def test_a_table_that_cannot_be_used_states_the_reason(changes, given, words):
    found = swapped_batches.summaries(rows(**changes), **{"rate": 0.1, **given})
    assert len(found) == 1
    assert re.search(words, found["status"][0])
    assert found["status"][0].startswith("not used: ")
    assert found.loc[0, ["row", "column", "shape"]].tolist() == ["", "", ""]
    assert found[["mean", "sd", "lower", "upper"]].isna().all(axis=None)


def test_at_most_five_rates_of_a_table_are_listed():
    many = rows(table=["t"] * 4, rate=[0.1, 0.2, 0.3, 0.4])
    more = pd.concat([many, many.assign(row=list("ccdd"), rate=[0.5, 0.6, 0.7, 0.8])])
    status = swapped_batches.summaries(more)["status"][0]
    assert "got 8 values (0.1, 0.2, 0.3, 0.4, 0.5)" in status


@pytest.mark.parametrize("side", ["rows", "columns"])
@pytest.mark.parametrize("labels", [["a"], ["a", "a"], "ab", [1, "1"], []])
def test_a_side_has_two_different_labels(side, labels):
    with pytest.raises(ValueError, match=f"{side} must contain at least two different labels, got"):
        swapped_batches.summaries(rows(), rate=0.1, **{side: labels})


@pytest.mark.parametrize("number", [100, 101])
def test_a_table_of_a_batch_has_at_most_ten_thousand_cells(number):
    labels = [*"ab", *map(str, range(number - 2))]
    given = {"rows": labels, "columns": [*"xy", *map(str, range(98))]}
    found = swapped_batches.summaries(rows(), rate=0.1, **given)["status"][0]
    too_many = "a table must have at most 10000 cells, got 101 x 100 cells"
    assert (too_many in found) == (number == 101)


def test_a_missing_column_and_a_level_outside_its_range():
    with pytest.raises(
        ValueError, match=r"data must have the columns table, row, column, count, but lacks row, count$"
    ):
        swapped_batches.summaries(rows().drop(columns=["row", "count"]), rate=0.1)
    with pytest.raises(ValueError, match=r"columns table, row, column, count, rate, but lacks rate$"):
        swapped_batches.summaries(rows())
    for wrong, words in (
        ({"alpha": 0.0}, "alpha must be"),
        ({"level": 1.0}, "level must"),
        ({"rate": 1.0}, "rate must"),
    ):
        with pytest.raises(ValueError, match=words):
            swapped_batches.summaries(rows(), **{"rate": 0.1, **wrong})


def test_the_line_of_a_log_odds_ratio():
    """The line of a batch and the posterior of the table alone; a table that is not 2 x 2 has no such line."""
    found = swapped_batches.summaries(rows(), rate=0.1, odds=True)
    law = swapped_table.exact([[3, 1], [2, 4]], rate=0.1).log_odds()
    last = found.iloc[-1]
    assert (len(found), last["row"], last["column"], last["shape"]) == (5, "log odds ratio", "", "2 x 2")
    assert last[["mean", "sd"]].tolist() == pytest.approx([law.mean(), law.variance() ** 0.5], rel=1e-10)
    assert last[["lower", "upper"]].tolist() == pytest.approx(list(law.quantile([0.025, 0.975])), abs=1e-8)
    wide = swapped_batches.summaries(pd.concat([rows(), rows(row=list("ccdd"))]), rate=0.1, odds=True)
    assert (len(wide), "log odds ratio" in set(wide["row"])) == (8, False)


def accepted(*_):
    raise ValueError("accepted")


@pytest.mark.parametrize(("prior", "good"), [((500, 1), True), ((1, 500), True), ((501, 1), False), ((1, 501), False)])
def test_parameters_of_the_prior_of_a_rate(monkeypatch, prior, good):
    """What follows the check is replaced, because a likelihood takes seconds."""
    monkeypatch.setattr(unknown_rate, "_Strata", accepted)
    words = "accepted" if good else f"must be <= 500, got {prior[0]:.1f} and {prior[1]:.1f}"
    with pytest.raises(ValueError, match=words):
        unknown_rate.infer_rate([[1, 1], [1, 1]], prior=prior)


def test_ends_and_draws_of_a_rate():
    law = of("six records").rate
    assert [float(law.cdf(x)) for x in (0.0, 1.0)] == [0.0, 1.0]
    assert [float(law.sf(x)) for x in (0.0, 1.0)] == [1.0, 0.0]
    assert law.quantile([0.0, 1.0]).tolist() == [0.0, 1.0]
    draws = law.sample(20_000, rng=stream(2, "rates"))
    assert kstest(draws, lambda x: np.interp(x, (grid := np.linspace(0, 1, 401)), law.cdf(grid))).pvalue > 1e-5
    assert law.sample(0, rng=stream(2, "none")).shape == (0,)
    with pytest.raises(ValueError, match=r"x must lie strictly between 0 and 1, got 1.0"):
        law.pdf([0.5, 1.0])
    assert law.pdf([[0.2], [0.3]]).shape == (2, 1)


def test_a_rate_and_its_tables_are_printed():
    found = of("two strata")
    text = repr(found)
    assert text.startswith(
        f"UnknownRate(rate {found.mean():.4g} +- {found.sd():.3g}; UnswappedPosterior(2 x (2 x 2), 11 "
    )
    assert "11 records; 2 listed or two rows; approximate (average over the rate, compared with half as many" in text


def test_the_distance_of_two_distributions_of_a_cell_by_hand():
    """Counts 0 to 2 of a cell, prior 1 of 4: .25 of the distribution function, or the means in standard errors."""
    fine, coarse = np.array([0.25, 0.5, 0.25]), np.array([0.5, 0.25, 0.25])
    share, n = (1 + 1.0) / 6, 6
    variance = share * (1 - share) / 7 + 0.5 / (6 * 7)
    expected = max(0.25, 0.25 / n / variance**0.5)
    assert unknown_rate._apart(fine, coarse, 1.0, 4.0) == pytest.approx(expected, rel=1e-12)
    fine, coarse = np.array([0.0, 1.0, 0.0]), np.array([0.1, 0.9, 0.0])
    variance = share * (1 - share) / 7
    assert unknown_rate._apart(fine, coarse, 1.0, 4.0) == pytest.approx(max(0.1, 0.1 / 6 / variance**0.5), rel=1e-12)


def test_the_distance_of_two_means_is_in_standard_deviations_of_the_share():
    """Check the count 20 with probability 1/10 or 0, and otherwise 0. Given the count, the share is a beta variable
    with the parameters 1/2 or 41/2, and 22 minus that. Its variance is the mean of the variances 21.5 x 0.5/(22^2 23)
    and 20.5 x 1.5/(22^2 23), plus the variance 0.09 (20/22)^2 of the two means.
    """
    fine, coarse = np.zeros(21), np.zeros(21)
    fine[[0, 20]], coarse[0] = (0.9, 0.1), 1.0
    within = (0.9 * 21.5 * 0.5 + 0.1 * 20.5 * 1.5) / (22**2 * 23)
    expected = 2 / 22 / (within + 0.09 * (20 / 22) ** 2) ** 0.5
    assert expected > 0.1  # the largest difference of the distribution functions
    assert unknown_rate._apart(fine, coarse, 0.5, 2.0) == pytest.approx(expected, rel=1e-12)


WEIGHTED = swapped_table.Weighted(
    np.array([[0.1, 0.9], [0.3, 0.7], [0.5, 0.5]]), np.zeros((3, 2), dtype=int), np.array([0.5, 0.25, 0.25])
)


def test_weighted_draws_by_hand():
    """1/(1/4 + 1/16 + 1/16) = 8/3 effective draws of 3; mean .25 and variance .5 .0225 + .25 (.0025 + .0625)."""
    assert WEIGHTED.efficiency == pytest.approx(8 / 9, rel=1e-12)
    error = 0.5 / (8 / 3) ** 0.5
    assert WEIGHTED.accuracy.error == pytest.approx(error, rel=1e-12)
    assert WEIGHTED.accuracy.reason == f"3 effective draws, standard error of a probability {error:.2g}"
    table = WEIGHTED.summary(0.5)
    assert table["quantity"].tolist() == ["theta1", "theta2"]
    assert table["mean"].tolist() == pytest.approx([0.25, 0.75])
    assert table["sd"].tolist() == pytest.approx([0.0275**0.5] * 2)
    assert table[["lower", "upper"]].to_numpy().tolist() == [[0.1, 0.3], [0.5, 0.9]]
    assert repr(WEIGHTED) == f"Weighted(3 draws of 2 cells, {WEIGHTED.accuracy})"


def test_equal_draws_by_hand():
    """Levels .1 and .9 of five equal draws are the first and the last; a level of 0.4 has the second and the fourth."""
    draws = np.arange(1.0, 6.0)[[3, 0, 4, 2, 1], None] / 10
    found = swapped_table.Accepted(draws, np.zeros((5, 1), dtype=int))
    assert found.summary(0.8)[["lower", "upper"]].to_numpy().tolist() == [[0.1, 0.5]]
    assert found.summary(0.41)[["lower", "upper"]].to_numpy().tolist() == [[0.2, 0.4]]
    assert found.summary(0.8)[["mean", "sd"]].to_numpy()[0].tolist() == pytest.approx([0.3, 0.02**0.5])
    assert found.accuracy.status == "not converged"
    assert repr(found) == f"Accepted(5 draws of 1 cells, {found.accuracy})"
    with pytest.raises(ValueError, match="the sampler accepted no proposal: increase the number of proposals"):
        swapped_table.Accepted(np.zeros((0, 2)), np.zeros((0, 2), dtype=int)).summary()
    run = swapped_table.abc_run([[1, 0], [0, 1]], rate=0.5, iterations=2000, rng=stream(1, "abc"))
    assert run.accuracy.error == pytest.approx(0.5 / len(run.draws) ** 0.5, rel=1e-12)


@pytest.mark.parametrize("swapped", [[1, 2, 3], np.ones((0, 2, 2)), np.ones((1, 1, 2, 2))])
def test_shapes_of_swapped_tables(swapped):
    words = r"swapped must have shape \(rows, columns\) or \(strata, rows, columns\), got shape"
    rng = stream(1, "shapes")
    for call in (
        lambda: swapped_table.mcmc(swapped, rate=0.1, draws=1, burn_in=0, rng=rng),
        lambda: unswapped.infer(swapped, rate=0.1, rng=rng),
        lambda: unknown_rate.infer_rate(swapped),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(ValueError, match=r"swapped must have shape \(strata, 2, 2\), got shape"):
        common_odds_ratio(swapped, rate=0.1)


def test_a_posterior_of_a_swapped_table_is_printed():
    found = swapped_table.exact([[2, 1], [1, 2]], rate=0.3)
    assert repr(found) == "SwappedTablePosterior(2 x 2, 6 records, 4 possible originals, exact)"
    assert found.summary()["quantity"].tolist() == [
        "theta(0, 0)", "theta(0, 1)", "theta(1, 0)", "theta(1, 1)", "log odds ratio"
    ]  # fmt: skip
    wide = swapped_table.exact([[2, 1, 0], [1, 2, 1]], rate=0.3)
    assert len(wide.summary()) == 6
    with pytest.raises(ValueError, match=r"defined only for a 2 x 2 table, got shape \(2, 3\)"):
        wide.log_odds()
    plain = swapped_table.naive([[2, 1], [1, 2]])
    assert (len(plain.tables), plain.weights.tolist()) == (1, [1.0])
    assert plain.summary()["mean"].tolist()[:4] == pytest.approx([0.3, 0.2, 0.2, 0.3])


@pytest.mark.parametrize(
    ("a", "odds"),
    [([2.0, 2.0, 3.0, 4.0], 2 * 4 / (1 * 2)), ([2.0, 1.0, 3.0, 4.0], np.inf), ([1.0, 3.0, 1.0, 2.0], np.inf)],
)
def test_the_mean_of_an_odds_ratio(a, odds):
    """E[G1 G4] E[1/G2] E[1/G3] with E[1/G] = 1/(a - 1) for a > 1."""
    assert LogOddsMixture([a]).mean_odds() == odds
    assert LogOddsMixture([a, [1.0, 2.0, 2.0, 1.0]], [1, 3]).mean_odds() == pytest.approx(odds / 4 + 3 / 4)


@pytest.mark.parametrize(
    ("a", "weights", "words"),
    [
        (np.ones((2, 4)), [1.0], r"`a` must have shape \(1, 4\), got shape \(2, 4\)"),
        ([[1.0, 1.0, 0.0, 2.0]], [1.0], "must be finite and > 0, got values from 0.0 to 2.0"),
        (np.ones((2, 4)), [1.0, -1.0], "weights must be >= 0 with a finite, positive sum"),
        (np.ones((2, 4)), [0.0, 0.0], "weights must be >= 0 with a finite, positive sum"),
    ],
)
def test_components_of_a_log_odds_ratio(a, weights, words):
    with pytest.raises(ValueError, match=words):
        LogOddsMixture(a, weights)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.9997, 0.9999, 0.999999])
def test_the_fast_interval_is_that_of_the_quantiles(level):
    """Tails below and above 1e-4."""
    law = LogOddsMixture(np.array([[3.0, 2.0, 5.0, 1.5], [4.0, 1.0, 4.0, 2.5]]), [0.3, 0.7])
    assert law.central_interval(level) == pytest.approx(
        tuple(law.quantile([(1 - level) / 2, (1 + level) / 2])), abs=1e-8
    )
    assert repr(law) == f"LogOddsMixture(2 components, {law.mean():.4g} +- {law.variance() ** 0.5:.3g})"
