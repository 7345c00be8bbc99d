"""Check the functions that compute the results for the paper's printed statements. The expected values are derived by
hand or by another method.
"""

from fractions import Fraction
from math import lgamma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import dblquad
from scipy.stats import beta, binom, chi2, kstest, multinomial

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import _fixed_sum, compositions, laplace_multinomial
from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018 import (
    agreement,
    beyond,
    calibration,
    figure_1,
    figure_2,
    figures,
    laws,
    speed,
    tables,
)
from reproduction.papers.balmat2018.algorithms import numpy_gibbs
from reproduction.verdicts.agreement import read_published

from . import sabotage_times as times


def test_the_law_of_a_p_of_the_three_stages():
    """Check the distribution of a single probability that is drawn in the three stages of footnote 13. By
    exchangeability, E p = 1/3, and P(p <= 1/2) = 1/6 + 2/3 (1/2)(1 + log 2) = 1/2 + (log 2)/3.
    """
    x = np.linspace(0, 1, 200_001)
    f = laws.three_stages(x)
    assert np.sum(1 - (f[1:] + f[:-1]) / 2) * (x[1] - x[0]) == pytest.approx(1 / 3, abs=1e-9)
    assert laws.three_stages(0.5) == pytest.approx(0.5 + np.log(2) / 3, rel=1e-14)
    p = figure_2.triplets(4000, rng=stream(3, "stages"))
    assert all(kstest(p[:, i], laws.three_stages).pvalue > 1e-4 for i in range(3))


def test_kolmogorov_is_scipy_s():
    sample = stream(1, "u").random(500)
    found, theirs = laws.kolmogorov(sample, sample), kstest(sample, "uniform", mode="exact")
    assert (found["distance"], found["p_value"]) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-12)


def test_equation_3_by_a_third_way():
    """Check the results for equation (3), with the counts (2, 8, 2) and epsilon = 1, against a third, independent
    method. This method sums over all compositions and integrates over p by adaptive quadrature.
    """
    counts, total = (2, 8, 2), 12
    table = beyond.equation_3(counts=list(counts), epsilon=1.0, simulations=4000, rng=stream(2, "joint"))
    value = table.set_index(["law", "quantity", "way"])["value"]
    error = table.set_index(["law", "quantity", "way"])["se"]
    rows = [(a, b, total - a - b) for a in range(total + 1) for b in range(total + 1 - a)]
    weights = [np.exp(-sum(abs(x - y) for x, y in zip(s, counts, strict=True)) / 2) for s in rows]
    means = [(1 + s[0]) / (2 + s[0] + s[1]) for s in rows]  # r given S, by conjugacy; the prior of S is flat
    model = np.average(means, weights=weights)
    coefficients = tables.exact_coefficients(np.array(rows))
    s = np.array(rows).T

    def z(r, e):
        p1, p0 = r * (1 - e), (1 - r) * (1 - e)
        return np.sum(np.array(weights) * coefficients * p1 ** s[0] * p0 ** s[1] * e ** s[2])

    def own(r, e):
        return (1 - e) * (r * (1 - e)) ** 2 * ((1 - r) * (1 - e)) ** 8 * e**2 / z(r, e)

    given = dblquad(lambda r, e: r * own(r, e), 0, 1, 0, 1)[0] / dblquad(own, 0, 1, 0, 1)[0]
    assert value[beyond.MODEL, "mean of r", "closed form"] == pytest.approx(model, rel=1e-12)
    assert value[beyond.MODEL, "mean of r", "quadrature"] == pytest.approx(model, rel=1e-12)
    assert value[beyond.EQUATION, "mean of r", "quadrature"] == pytest.approx(0.5, abs=1e-12)
    assert value[beyond.EQUATION, "mean of r given S", "quadrature"] == pytest.approx(given, rel=1e-7)
    for name in ("mean of r", "mean of r given S"):
        key = (beyond.EQUATION, name, "simulation")
        assert abs(value[key] - value[beyond.EQUATION, name, "quadrature"]) < 4.5 * error[key]  # 7e-6 each


def test_privacy_of_the_noises_and_of_the_first_p():
    """Check that the noise has a privacy loss of 2/scale, because two counts change by one each. For one partition in
    50 and n draws, E (1 - q)^n = 49/(49 + n).
    """
    table = beyond.privacy(settings={"a": [5, 40, 5]}, epsilon=0.5).set_index("release")
    assert table.loc[beyond.TEXT, ["scale", "claimed", "lost"]].tolist() == pytest.approx([2.0, 0.5, 1.0])
    assert table.loc[beyond.LISTINGS, ["scale", "claimed", "lost"]].tolist() == pytest.approx([4.0, 0.5, 0.5])
    assert table.loc[beyond.FIRST_P, "lost"] == pytest.approx(np.log((49 + 200_000) / 49), rel=1e-9)


@pytest.mark.parametrize(
    ("curve", "best"),
    [
        (lambda m: 0.3 + 0.02 * (m + 1) * (m + 2) / 2, 0),
        (lambda m: 0.2 * np.exp(0.07 * m), 1),
        (lambda m: 0.1 + 0.3 * m, 2),
    ],
)
def test_a_curve_fits_itself_and_no_other(curve, best):
    m = np.array([10.0, 20.0, 30.0, 40.0, 50.0])
    found = speed.misfits(m, (m + 1) * (m + 2) / 2, curve(m))
    assert int(np.argmin(found)) == best
    assert found[best] < 1e-4 < 0.02 < min(f for i, f in enumerate(found) if i != best)


def test_growth_and_the_effect_of_epsilon_of_made_up_times():
    """Check the effects of the total M and of epsilon on computing times, as estimated from synthetic times. These
    times are quadratic in M and 10 % longer at the second epsilon. The standard error is sqrt(pi/2) .1 sqrt(2)/5.
    """
    rows = [
        {"method": "table (compiled)", "total": m, "rows": (m + 1) * (m + 2) / 2, "epsilon": e, "runs": 25, "sd": 0.1}
        | {"median": (1 + (m + 1) * (m + 2) / 2 / 1326) / 2 * (1 + 0.1 * (e > 1)), "note": ""}
        for m in (10, 30, 50)
        for e in (1.0, 2.0)
    ]
    table = speed.figure_3_growth(figure_3=pd.DataFrame(rows)).iloc[0]
    assert table["epsilon_effect"] == pytest.approx(0.1)
    assert table["epsilon_effect_se"] == pytest.approx(np.sqrt(np.pi / 2) * 0.1 * np.sqrt(2) / 5, rel=1e-4)
    assert table["exponential_margin"] < 0
    assert table["linear_margin"] < 0
    assert table["microseconds_per_row"] == pytest.approx(1e6 * 1.05 / 2 / 1326)


def test_the_recurrences_as_the_paper_words_them():
    """Check the recurrence for the multinomial coefficients with the total M = 4. The coefficient of row 5, (2, 1, 1),
    is 12, but the rule in words gives mc[3] (M - 1)/2 = 6, which is an error of one half.
    """
    table = tables.table_1(total=4)
    column, words = agreement._recurrences(table, 4)
    assert column < 1e-15
    k, s0 = table["k"], table["S0"]
    off = [
        abs(Fraction(int(table["exact"][i - k[i]])) * (4 - int(k[i]) + 1) / int(k[i]) / int(table["exact"][i]) - 1)
        for i in range(1, len(table))
    ]
    assert words == pytest.approx(float(max(off)))
    assert off[3] == Fraction(1, 2)
    assert all(o == 0 for o, first in zip(off, s0[1:] == 0, strict=True) if first)


def test_other_numbers_of_categories():
    """Check that the table for the total M has C(M + k - 1, k - 1) rows for k categories, and that integers below 2^53
    are exact.
    """
    table = tables.table_1_categories(total=6, categories=[2, 3, 4])
    assert table["rows"].tolist() == [7, 28, 84]
    assert (table["largest_error"] == 0).all()


def test_alpha_keeps_chains_alive():
    found = laws.trapped(
        settings={"a": [1, 8, 1]}, total=10, epsilon=1.0, chains=4, iterations=400, rng=stream(4, "trapped")
    ).set_index("alpha")
    assert found["trapped"].to_dict() == {0.0: 4, 1.0: 0}


def brute_force_sd(noisy, total, scale):
    """Return the posterior standard deviation of the share r = p1/(p1 + p0), computed by a sum over all compositions.
    In the model, r given S has the distribution Beta(1 + S1, 1 + S0), and S has a flat prior.
    """
    parts = []
    for a in range(total + 1):
        for b in range(total + 1 - a):
            s = (a, b, total - a - b)
            weight = np.exp(-sum(abs(x - y) for x, y in zip(noisy, s, strict=True)) / scale)
            n = 2 + a + b
            parts.append((weight, (1 + a) / n, (1 + a) * (1 + b) / n**2 / (n + 1) + ((1 + a) / n) ** 2))
    weight, mean, square = np.array(parts).T
    return np.sqrt(np.average(square, weights=weight) - np.average(mean, weights=weight) ** 2)


def test_choosing_epsilon_takes_noise_of_scale_two_over_epsilon():
    """Check the table for the choice of epsilon against posteriors that are computed by enumeration for the same draws.
    The scale of the noise at epsilon = 0.5 is 4.
    """
    asked = {"totals": [6], "epsilons": [0.5], "probabilities": [0.3, 0.6, 0.1], "releases": 3}
    table = beyond.choosing_epsilon(**asked, rng=stream(5, "choosing"))
    rng = stream(5, "choosing")
    counts = rng.multinomial(6, [0.3, 0.6, 0.1], 3)
    noisy = counts + rng.laplace(0.0, 4.0, counts.shape)
    sds = [brute_force_sd(row, 6, 4.0) for row in noisy]
    clean = [brute_force_sd(row, 6, 1e-6) for row in counts]
    first = table.iloc[0]
    assert first["sd"] == pytest.approx(np.mean(sds), rel=1e-10)
    assert first["sd_se"] == pytest.approx(np.std(sds, ddof=1) / np.sqrt(3), rel=1e-10)
    assert first["relative"] == pytest.approx(np.mean(sds) / np.mean(clean), rel=1e-9)


def test_six_categories_release_at_scale_two_over_epsilon():
    """Check that the noise for six categories at epsilon = 0.5 equals draws of Laplace noise with scale 4 from the same
    random stream.
    """
    table = beyond.six_categories(counts=[3, 2, 1], epsilon=0.5, rng=stream(6, "six"))
    noisy = table.loc[table["kind"] == "noisy", "y"].to_numpy()
    assert noisy == pytest.approx(Laplace(scale=4.0).sample([3, 2, 1], rng=stream(6, "six")), rel=1e-14)


def test_dips_are_differences_of_medians_over_their_own_p():
    """Check the mean difference between the median numbers of significant digits for p = 0.3 and for p near 0 or 1. In
    two blocks, there are 13 digits for p = 0.3, and 12.8 or 12.6 digits for p near 0 or 1. The differences are 0.2 and
    0.4, and the standard error is half the difference between them.
    """
    block = pd.DataFrame({"p1": [0.3, 0.3, 0.005, 0.99], "p0": 0.3, "perr": [0.2, 0.2, 0.2, 0.999]})
    frame = pd.concat([block.assign(block=0, end=12.8), block.assign(block=1, end=12.6)], ignore_index=True)
    for name in figure_2.COLUMNS:
        frame[name] = np.where(frame["p1"] == 0.3, 13.0, frame["end"])
    row = figure_2.digits(frame, total=50).iloc[0]
    assert row["dip_p1"] == pytest.approx(0.3)
    assert row["dip_p1_se"] == pytest.approx(0.1)
    assert np.isnan(row["dip_p0"])
    assert row["fewest"] == 12.6
    assert row["below_12"] == 0


def test_the_calibration_band_holds_for_all_places_at_once():
    """Check that the half-width of the band for the empirical distribution function is Kolmogorov's 1 % critical value
    1.6276/sqrt(n) for large n. The reason is that K(1.6276) = 0.99.
    """
    pit = np.linspace(0.0, 0.5, 2500)  # all values are in the lower half, so the ECDF is 1 at 1/2
    frame = pd.DataFrame({"epsilon": 1.0, **dict.fromkeys(calibration.METHODS, pit)})
    table = calibration.calibration(frame, total=50, epsilons=[1.0], gibbs_draws=1, burn_in=0)
    exact = table[table["method"] == "exact"].set_index("bin")
    assert exact["band"].iloc[0] == pytest.approx(1.6276 / 50, rel=0.01)
    assert exact.loc[0.45, "ecdf_difference"] == pytest.approx(0.5, abs=1e-3)
    assert exact["ecdf_difference"].iloc[-1] == pytest.approx(0.0, abs=1e-12)
    # The number in each of 20 bins is Binomial(2500, 1/20); the band is its 99 % range divided by the expected 125.
    low, high = binom(2500, 0.05).ppf([0.005, 0.995]) / 125
    assert exact["lower"].iloc[0] == pytest.approx(low, abs=0.02)
    assert exact["upper"].iloc[0] == pytest.approx(high, abs=0.02)


def test_no_figure_cuts_what_it_draws():
    sizes = {"settings": {"a": [5, 4, 3]}, "total": 12, "epsilon": 1.0, "draws": 100, "burn_in": 10}
    table = figure_1.figure_1(**sizes, frozen_runs=3, noise_draws=2, bins=40, rng=stream(8, "figure"))
    for axis in figures.figure_1(table).axes:
        assert axis.get_ylim()[1] > max(line.get_ydata().max() for line in axis.lines)
    triplets = figure_2.simulate(80, total=12, rng=stream(8, "digits"))
    above = figures.figure_2(triplets).axes[:3]
    assert [axis.get_xlabel() for axis in above] == ["$p_1$", "$p_0$", r"$p_{\mathrm{err}}$"]
    assert above[0].get_ylim()[0] < triplets["pair"].min() < triplets["pair"].max() < above[0].get_ylim()[1]


def test_times_below_the_tick_of_the_clock_are_not_judged():
    zero = times.in_r(time=lambda *about: 0.0, calls=dict.fromkeys(times.CALLS, 0.0))
    here = times.here()
    figure_3 = speed.figure_3(figure_3_timings=here["figure_3_timings"], r_timings=zero)
    printed = read_published(Path(agreement.__file__).with_name("published.tsv"))
    made = {
        "r_timings": zero,
        "figure_3": figure_3,
        "table_2": speed.table_2(table_2_timings=here["table_2_timings"], r_timings=zero, published=printed),
        "figure_3_growth": speed.figure_3_growth(figure_3=figure_3),
    }
    rows = pd.DataFrame(agreement.timing_rows(made)).set_index("quantity")
    assert rows.loc["time of the weights by apply relative to C", "variant"] == "not_run"
    assert "clock resolution" in rows.loc["the improved algorithm's time grows linearly in M", "note"]
    assert rows.loc["logarithms are faster than powers", "ours"] == pytest.approx(1 - 0.57, abs=0.03)


def test_the_interpreted_probability_is_that_of_the_multinomial():
    p = np.array([0.2, 0.5, 0.3])
    assert speed._dmultinom([3, 0, 4], p) == pytest.approx(multinomial(7, p).logpmf([3, 0, 4]), rel=1e-13)


@pytest.mark.parametrize("name", ["_standard", "_vectorised"])
def test_interpreted_samplers_choose_rows_by_probability_and_noise(name):
    """Check the samplers in pure Python on tables with three cells and the total 2. The probability of the table s must
    be proportional to 2!/(s1! s2! s3!) p^s exp(-|s - noisy|/scale).
    """
    p, chosen = np.array([0.2, 0.5, 0.3]), []
    rows = np.array([(a, b, 2 - a - b) for a in range(3) for b in range(3 - a)])

    class Fixed:
        def dirichlet(self, alpha):
            chosen.append(np.asarray(alpha))
            return p

        def choice(self, size, p):
            chosen.append(p)
            return 4

    getattr(speed, name)(np.array([1.0, 0.0, 2.0]), 2.0, rows, 1, Fixed())
    weights = np.exp(multinomial(2, p).logpmf(rows) - np.abs(rows - [1, 0, 2]).sum(axis=1) / 2)
    assert chosen[0].tolist() == [1, 1, 1]
    assert chosen[1] == pytest.approx(weights / weights.sum(), rel=1e-12)
    assert chosen[2].tolist() == (1 + rows[4]).tolist()


def test_interpreted_chains_are_the_compiled_ones():
    """Check that the chains in pure Python and the compiled chains produce the same draws, up to rounding, from the
    same random stream. Draws at the boundary between two rows are an exception.
    """
    counts, logs = compositions.log_multinomial_table(9, 3)
    static = logs - np.abs(np.array([2.0, 5.0, 3.0]) - counts).sum(axis=1) / 2
    alpha, start, size = np.ones(3), np.array([0.3, 0.3, 0.4]), {"draws": 60, "burn_in": 3}
    ours = numpy_gibbs.table_chain(counts, static, alpha, start, **size, rng=stream(1, "chain"))
    theirs = _fixed_sum.table_chain(counts, static, alpha, start, **size, rng=stream(1, "chain"))
    assert ours == pytest.approx(theirs, rel=1e-9)
    s = np.arange(10)
    terms = np.array([-np.abs(noisy - s) / 2 for noisy in (2.0, 5.0, 3.0)]) - np.array([lgamma(x + 1) for x in s])
    mean = numpy_gibbs.convolution_chain(
        terms, alpha, start, start, draws=4000, burn_in=50, rng=stream(2, "chain")
    ).mean(0)
    rows = np.array([(a, b, 9 - a - b) for a in range(10) for b in range(10 - a)])
    weights = np.exp(-np.abs(rows - [2, 5, 3]).sum(axis=1) / 2)
    exact = weights @ (1 + rows) / 12 / weights.sum()
    # the sd of a share is at most 0.2, and the autocorrelation time is below 6: four standard errors
    assert mean == pytest.approx(exact, abs=4 * 0.2 * (6 / 4000) ** 0.5)


def test_shares_of_trapped_chains():
    """Check that 3 trapped chains among 10 chains give a proportion of 0.3 with the standard error sqrt((1/3)(2/3)/12).
    The standard error is based on the proportion 4/12, after one success and one failure have been added.
    """
    share, error = agreement._share(pd.Series({"trapped": 3, "chains": 10}))
    assert (share, error) == pytest.approx((0.3, np.sqrt(2 / 9 / 12)))
    row = {"setting": "a", "chains": 10}
    table = pd.DataFrame([row | {"alpha": 0.0, "trapped": 3}, row | {"alpha": 1.0, "trapped": 0}])
    moving, kept = agreement._trapped(table)
    assert (moving["ours"], moving["mc_se"]) == pytest.approx((-0.3, error))
    assert (kept["ours"], kept["mc_se"]) == pytest.approx((0.3, np.hypot(error, np.sqrt(11 / 144 / 12))))


class AtOneP(np.random.Generator):
    """Random number generator whose Dirichlet draws are all equal."""

    def dirichlet(self, *given):
        return np.array([0.25, 0.5, 0.25])


@pytest.mark.parametrize(("shift", "wanted"), [(0.0, 1.0), (1e-6, 0.0)])
def test_the_share_of_draws_below_r_counts_equal_ones(monkeypatch, shift, wanted):
    """Check the probability integral transform (PIT) of chains with known draws. The PIT is 1 if all draws equal the
    true p, and 0 if all draws of r are above the true r.
    """
    chain = np.array([[0.25 + shift, 0.5, 0.25]] * 3)
    monkeypatch.setattr(laplace_multinomial, "gibbs", lambda *given, **stated: chain)
    rng = AtOneP(np.random.PCG64(1))
    row = calibration.simulate(1, total=8, epsilons=[1.0], gibbs_draws=3, burn_in=0, rng=rng).iloc[0]
    assert row[list(calibration.METHODS)[1]] == wanted


def test_margins_of_the_first_p():
    """Check the margins by which the claims about the privacy loss at epsilon = 0.5 hold or fail. For losses of 2
    epsilon, epsilon and 8 epsilon, the last margin is 0.5 (1 - 8).
    """
    table = pd.DataFrame(
        {"release": [beyond.TEXT, beyond.LISTINGS, beyond.FIRST_P], "claimed": 0.5, "lost": [1.0, 0.5, 4.0]}
    )
    assert [row["ours"] for row in agreement._privacy(table)] == pytest.approx([2, 1, -3.5])


def by_quantity(rows):
    return {(row["quantity"], row["variant"]): row for row in rows}


def test_rows_of_figure_1(monkeypatch):
    """Check the rows of the agreement table for one panel of Figure 1. The draws have the p-values 0.2 and 0.3, and the
    histogram has 0.1, so that twice the smaller p-value is 0.2 in both cases. A Gibbs draw is counted as a third of a
    draw.
    """
    worths = {}

    def histogram(left, heights, x, y, draws):
        worths[float(np.max(heights))] = draws
        return 0.1

    monkeypatch.setattr(agreement.draw_tests, "histogram", histogram)
    monkeypatch.setattr(agreement, "_curve", lambda drawn: {"quantity": "curve", "variant": "corrected"})
    kinds = (("exact draws", 1.0), ("gibbs", 2.0), ("density", 3.0))
    drawn = pd.concat([
        pd.DataFrame({"setting": "a", "kind": kind, "x": [0.0, 0.5], "y": height, "draws": 600.0})
        for kind, height in kinds
    ])  # fmt: skip
    names = (laws.EXACT, laws.GIBBS, laws.LISTING_52, laws.LISTING_64)
    tests = pd.DataFrame({
        "setting": "a", "method": names, "p_value": [0.2, 0.3, 0.01, 0.02], "sees_scale": [0.02, 0.03, 0.04, 0.05],
        "sees_alpha": [0.06, 0.07, 0.08, 0.09], "draws": 1234, "kept": 4000,
    })  # fmt: skip
    rows = list(agreement._figure_1(drawn, tests))
    found = by_quantity(rows)
    assert worths == {1.0: 600, 2.0: pytest.approx(200)}
    scale, alpha = agreement.enumerated.SCALE, agreement.enumerated.ALPHA
    for name, sees, listed, words in (("exact", (2, 6), 0.01, (4, 8)), ("Gibbs", (3, 7), 0.02, (5, 9))):
        quantity = f"panel a: r follows the posterior, {name} draws"
        row = found[quantity, "corrected"]
        assert row["ours"] == pytest.approx(0.2)
        assert row["sees"] == f"{scale} by {sees[0]} %; {alpha} by {sees[1]} %"
        assert "The test of 1,234 draws" in row["note"]
        as_run = found[quantity, "published"]
        assert (as_run["ours"], as_run["sees"]) == (listed, f"{scale} by {words[0]} %; {alpha} by {words[1]} %")
        for panel in "bcd":
            assert found[f"panel {panel}: r follows the posterior, {name} draws", "not_run"]
    assert found["kept iterations", "corrected"]["ours"] == 4000
    assert found["kept iterations, from the row numbers of section 6.4", "corrected"]["ours"] == 4000
    assert len(rows) == 2 * (2 + 3) + 3


def test_the_plotted_density_of_figure_1():
    """Check that the plotted density for epsilon = 1/2 is compared with the posterior at the noise scale 4, and that
    the left side of the claimed equation equals an error of 0.125 that is added at one point.
    """
    x = np.linspace(0.1, 0.9, 5)
    rows = [(a, b) for a in range(5) for b in range(5 - a)]
    weights = np.array([np.exp(-(abs(a - 2) + abs(b - 1) + abs(4 - a - b - 1)) / 4) for a, b in rows])
    y = weights @ [beta(1 + a, 1 + b).pdf(x) for a, b in rows] / weights.sum()
    table = pd.DataFrame({"kind": "density", "setting": "a", "counts": "2, 1, 1", "epsilon": 0.5, "x": x, "y": y})
    other = table.assign(kind="gibbs", y=9.0)
    assert agreement._curve(pd.concat([table, other]))["ours"] > 0
    wrong = pd.concat([table, table.assign(setting="b", y=y - 0.125 * (np.arange(5) == 3))])
    assert agreement._curve(wrong)["left"] == pytest.approx(0.125)


def test_rows_of_the_modes():
    moments = pd.DataFrame({
        "setting": "b", "method": ["gibbs", "exact", "gibbs"], "quantity": ["r", "r", "pe"],
        "mode": [0.11, 0.1092, 0.5],
    })  # fmt: skip
    rows = list(agreement._modes(moments))
    assert [row["variant"] for row in rows] == ["not_run", "corrected", "not_run", "not_run"]
    assert rows[1]["ours"] == 0.11
    assert "The mode of the exact density is 0.109." in rows[1]["note"]


def test_rows_of_the_calibration():
    """Check the calibration test with 20 bins and 400 simulations per method and epsilon. Evenly filled bins have the
    p-value 1. With the counts 40 and 0 in the first two bins, where 20 and 20 are expected, the chi-squared statistic
    is 40 with 19 degrees of freedom; the p-value is doubled because of the score test, and again because of two values
    of epsilon.
    """
    ends = np.arange(1, 21) / 20
    rows = []
    for method in ("exact", "gibbs"):
        for epsilon in (0.5, 1.0):
            counts = np.full(20, 20.0)
            if (method, epsilon) == ("gibbs", 1.0):
                counts[:2] = (40, 0)
            difference = np.cumsum(counts) / 400 - ends
            rows.append(pd.DataFrame({"method": method, "epsilon": epsilon, "bin": ends - 0.05,
                                      "ecdf_difference": difference}))  # fmt: skip
    tables = {"calibration": pd.concat(rows), "calibration_coverage": pd.DataFrame({"replications": [400]})}
    exact, gibbs = agreement._calibration(tables)
    assert exact["ours"] == 1
    assert gibbs["ours"] == pytest.approx(2 * 2 * chi2.sf(40, 19), rel=1e-6)
    assert "For 400 simulated data sets and each epsilon, a chi-squared test with 20 bins" in gibbs["note"]
    assert "values of epsilon, 2." in gibbs["note"]
    assert gibbs["sees"].startswith("posterior's standard deviation by ")


def test_figure_3_without_r_is_that_of_python():
    """Check that the smallest ratio of the computing times of two algorithms in Python is 3, and check the standard
    error of this ratio. A single run has an error of 100 %.
    """
    rows = [("standard (Python)", 50, 8.0, 4), ("table (compiled)", 50, 2.0, 25), ("standard (Python)", 30, 9.0, 1),
            ("table (compiled)", 30, 3.0, 25)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "total", "median", "runs"]).assign(epsilon=1.0, note="")
    table["sd"] = np.where(table["runs"] > 1, 0.1 * table["median"], np.nan)
    gone = pd.DataFrame({"method": [times.STANDARD, times.IMPROVED], "note": "no R here"})
    found = by_quantity(agreement._figure_3(pd.concat([table, gone], ignore_index=True)))
    faster = found["the improved algorithm is faster at every M", "as_written"]
    assert (faster["ours"], faster["mc_se"]) == pytest.approx((np.log(3), np.hypot(1.0, 1.2533 * 0.1 / 5)))
    assert faster["note"].startswith("no R here The figure shows the same algorithms in Python")
    assert "is at least 3." in faster["note"]
    about = "time of the standard relative to the improved algorithm at M = 50"
    assert found[about, "not_run"]["note"] == faster["note"]
    assert found["random count vectors", "corrected"]["ours"] == 25
    longer = found["both algorithms take longer as M grows", "as_written"]
    assert longer["left"] == pytest.approx(np.log(2 / 3))  # the times decrease, most for the table
    seconds = found["reduction from many minutes to seconds: seconds at M = 50", "as_written"]
    assert seconds["ours"] == 2.0
    assert "The standard algorithm took 8 seconds." in seconds["note"]
    none = by_quantity(agreement._figure_3(pd.concat([table[table["method"] == "table (compiled)"], gone])))
    assert none[about, "not_run"]["note"] == "no R here"


def test_methods_of_figure_3_in_r_come_before_those_in_python():
    rows = [(times.IMPROVED, 20, 1.0), ("table (compiled)", 20, 9.0), ("table (compiled)", 30, 9.0)]
    table = pd.DataFrame(rows, columns=["method", "total", "median"])
    assert agreement._of(table, "improved")["median"].tolist() == [1.0]
    assert agreement._of(table[1:], "improved")["median"].tolist() == [9.0, 9.0]
    assert agreement._of(table, "standard").empty
    (only,) = agreement._longer(table)
    assert only["variant"] == "not_run"
    (late,) = agreement._seconds(table)
    assert late["note"] == "This run does not include M = 50."


def test_times_that_are_too_short_are_not_run():
    row = {"artefact": "a", "quantity": "q", "variant": "as_written"}
    assert agreement._too_short(row)["note"] == agreement._TICK
    gone = row | {"variant": "not_run", "note": "no R"}
    assert agreement._too_short(gone) is gone


def test_notes_of_table_2_without_r():
    """Check that the note on Table 2 states the ratios in Python with two digits if both methods were measured."""
    rows = [{"setup": "own p", "environment": "Python", "method": m, "ratio": r} for m, r in ((2, 0.634), (3, 0.251))]
    table = pd.DataFrame(rows)
    text = agreement._in_python(table)
    assert text.endswith("where the times of methods 2 and 3 are 0.63 and 0.25 times the time of method 1.")
    assert agreement._in_python(table[:1]) == ""
    assert agreement._in_python(table.assign(setup="block")) == ""
    found = agreement._table_2(table)
    assert [row["note"] for row in found] == [f"{speed.NOT_FOUND}{text}"] * 4
    in_r = pd.concat([table, table[:1].assign(environment="R")])
    assert agreement._table_2(in_r)[0]["note"] == f"The installed version of R could not compile C.{text}"


def test_digits_that_leave_one_group():
    """Check that the standard error of a difference of medians is computed only if at least two groups contain values
    in both ranges of p.
    """
    p, digits = np.array([0.005, 0.3] + [0.8] * 38), np.array([12.0, 13.0] + [1.0] * 38)
    assert np.isnan(agreement._dip_error(p, digits))
    both = np.array([0.005, 0.3] * 2 + [0.8] * 36), np.array([12.0, 13.0, 12.0, 15.0] + [1.0] * 36)
    # the differences 1 and 3 in two of twenty groups: sd sqrt(2), divided by sqrt(2)
    assert agreement._dip_error(*both) == pytest.approx(1)
    assert agreement._dip(*both) == 2
    edges = np.array([0.01, 0.95, 0.0099, 0.951, 0.1, 0.6, 0.0999, 0.6001])
    # below 0.01 or above 0.95: the digits 3 and 4; from 0.1 to 0.6: the digits 5 and 6
    assert agreement._dip(edges, np.arange(1.0, 9.0)) == 5.5 - 3.5
    assert np.isnan(agreement._median(np.array([np.nan])))
    assert agreement._median(np.array([np.nan, 3.0, 5.0])) == 4


def test_a_digit_more_than_expected_is_twice_its_mean(monkeypatch):
    """Check that the left side of the claimed equation is the largest absolute difference in digits (0.3) or, if
    larger, twice the absolute mean difference (0.4).
    """
    monkeypatch.setattr(agreement, "_fewest", lambda total, p: 12.0)
    table = pd.DataFrame({"p1": [0.2, 0.3], "p0": 0.3, "perr": 0.5, "pair": [12.1, 12.3]})
    assert agreement._footnote_12(table, 50)["left"] == pytest.approx(0.4)
    assert agreement._footnote_12(table.assign(pair=[12.3, 11.7]), 50)["left"] == pytest.approx(0.3)
    assert np.isnan(agreement._footnote_12(table[:0], 50)["ours"])


def test_compositions_of_footnote_12():
    assert sorted(agreement._compositions(2)) == [
        *((0, 0, 2, 1), (0, 1, 1, 2), (0, 2, 0, 1), (1, 0, 1, 2), (1, 1, 0, 2), (2, 0, 0, 1))
    ]


def test_effects_of_epsilon_up_to_fifteen_percent_count_as_none():
    names = ("rows_misfit", "exponential_misfit", "linear_misfit", "exponential_margin", "exponential_se")
    row = dict.fromkeys((*names, "linear_margin", "linear_se"), 0.1) | {"method": times.STANDARD}
    table = pd.DataFrame([row | {"epsilon_effect": 0.149, "epsilon_effect_se": 0.001}])
    found = by_quantity(agreement._growth(table))
    same = found["epsilon has no effect on the standard algorithm", "as_written"]
    assert same["ours"] == pytest.approx(0.001)
    assert "between epsilons is 14.9 %." in same["note"]
    assert found["epsilon has no effect on the improved algorithm", "not_run"]
    assert found["the improved algorithm's time grows linearly in M", "not_run"]
