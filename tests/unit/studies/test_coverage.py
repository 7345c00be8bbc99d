"""Tests of the studies of coverage: of intervals by known results, and of rates by exact sums and simulations."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import binom

import dpmultinomial as dpm
from reproduction import studies, style
from reproduction.studies import coverage as study
from reproduction.studies import rate_coverage
from reproduction.verdicts import artists

SETTINGS = {
    "truth": {"mean": 40.0, "shape": 0.5}, "sigma": 10.0, "level": 0.9, "edges": [0, 1, 10, 1000],
    "alone": {"counts": 300, "files": 2, "priors": ["fitted", "flat"]},
    "with_total": {"counts": 20, "files": 10, "sigma": 2.0, "priors": ["multinomial"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return study.table(1, **SETTINGS)


def test_every_description_is_a_study():
    found = studies.discover()
    assert set(found) == {path.stem for path in studies.FOLDER.glob("*.yaml")} > set()
    for one in found.values():
        assert callable(one.function("table"))
        assert callable(one.function("figure"))
        assert one.minutes > 0


def test_a_wrong_description_is_told_all_its_mistakes(tmp_path):
    (tmp_path / "mine.yaml").write_text("title: [a]\nabout: b\ncaption: c\nmore: 1\nsettings: {}\n")
    told = "alt is missing.*minutes is missing.*more is unknown.*title must be a string"
    with pytest.raises(ValueError, match="(?s)" + told):
        studies.discover(tmp_path)


def test_the_table_has_every_method_and_every_count(table):
    alone, total = (table[table["case"] == case] for case in study.CASES.values())
    assert list(alone["method"].unique()) == ["released", "clipped", "fitted", "flat"]
    assert set(total["method"]) == {"released", "clipped", "least squares", "least squares, clipped", "multinomial"}
    for case, counts in ((alone, 600), (total, 200)):
        for _, own in case.groupby("method"):
            assert own.loc[own["to"] == np.inf, "counts"].item() == counts
            assert own.loc[own["to"] < np.inf, "counts"].sum() == counts
    assert (table["level"] == 0.9).all()
    width = 2 * stats.norm.ppf(0.95) * 10
    assert alone.loc[alone["method"] == "released", "width"].to_numpy() == pytest.approx(width)
    sd = np.sqrt(100 - 100**2 / (20 * 100 + 4))  # least squares with a total of sd 2
    assert total.loc[total["method"] == "least squares", "width"].to_numpy() == pytest.approx(width * sd / 10)
    assert pd.testing.assert_frame_equal(study.table(1, **SETTINGS), table) is None


def test_each_case_has_a_stream_of_its_own(table):
    other = study.table(1, **(SETTINGS | {"alone": {"counts": 50, "files": 1, "priors": ["flat"]}}))
    same = [found[found["case"] == "noisy total"].reset_index(drop=True) for found in (table, other)]
    pd.testing.assert_frame_equal(*same)


def test_the_figure_shows_all_of_it(table):
    with style.applied():
        figure = study.figure(table)
    assert len(figure.axes) == 4
    labels = [text.get_text() for text in figure.axes[2].get_xticklabels()]
    assert labels == ["0", "1 to 9", "10 and more", "all"] == study.ranges(table[table["case"] == "no total"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(table["method"].unique())
    assert study.shown(table)["true count"].tolist()[:4] == labels


def test_intervals_by_true_value_against_their_own_counts():
    """Compute coverage, width, bias and error of one file again from the same draws."""
    law, rng = study.DiscreteGaussian(sigma=3.0), study.stream(5, "file")
    truth = np.array([0, 0, 4, 25])
    released = law.sample(truth, rng=study.stream(5, "file")).astype(float)
    found = study.by_true_value(
        lambda rng: truth, law, priors={}, edges=[0, 1, 100], replications=1, rng=rng, level=0.5
    ).set_index(["method", "from", "to"])
    half = stats.norm.ppf(0.75) * np.sqrt(law.variance())
    row = found.loc[("released", 0, np.inf)]
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean((released - truth) ** 2)))
    assert row["bias"] == pytest.approx(np.mean(released - truth))
    assert row["coverage"] == np.mean(np.abs(released - truth) <= half)
    low = np.maximum(released[:2] - half, 0)
    assert found.loc[("clipped", 0, 1), "width"] == pytest.approx((np.maximum(released[:2] + half, 0) - low).mean())
    with pytest.raises(ValueError, match="edges must be increasing"):
        study.by_true_value(lambda rng: truth, law, priors={}, edges=[1], replications=1, rng=rng)


OF_RATES = {
    "scale": 2.0, "level": 0.9, "records": [12], "rates": [0.05, 0.3],
    "several": {"categories": [3], "rates": [0.2], "files": 300},
}  # fmt: skip


@pytest.fixture(scope="module")
def rates():
    return rate_coverage.table(1, **OF_RATES)


@pytest.mark.parametrize("prior", ["flat", "jeffreys"])
def test_a_coverage_is_the_sum_over_all_releases(prior):
    """Compute every file of 6 records and every release within 9 of it, with the posterior of the public interface."""
    n, p, scale, level, reach = 6, 0.15, 0.5, 0.9, 9
    a = np.exp(-1 / scale)
    held, whole = np.zeros(2), 0.0
    answers: dict[tuple[int, int], tuple[tuple[float, float], float]] = {}
    for x, d, e in product(range(n + 1), range(-reach, reach + 1), range(-reach, reach + 1)):
        released = (x + d, n - x + e)
        if released not in answers:
            found = dpm.posterior(
                dpm.Release(released, mechanism=dpm.DiscreteLaplace(scale=scale), total=n), prior=prior
            )
            answers[released] = found.counts["1"].interval(level), found.rates["1"].cdf(p)
        (lower, upper), below = answers[released]
        chance = binom.pmf(x, n, p) * ((1 - a) / (1 + a)) ** 2 * a ** (abs(d) + abs(e))
        held += chance * np.array([lower <= x <= upper, (1 - level) / 2 <= below <= (1 + level) / 2])
        whole += chance
    exact = rate_coverage.exact(n, p, scale=scale, alpha=rate_coverage.concentration(prior, 2), level=level)
    assert whole == pytest.approx(1, abs=1e-7)
    assert held == pytest.approx(exact, abs=1e-6)


def test_with_two_categories_a_simulation_gives_the_exact_sums(rates):
    rng = dpm.stream(1, "two")
    rows = rate_coverage._simulated(2, 12, 0.05, scale=2.0, level=0.9, files=3000, rng=rng)
    frame = pd.DataFrame(rows, columns=rates.columns[:-1])
    both = frame.merge(rates, on=["categories", "records", "p", "prior", "quantity"], suffixes=("", "_exact"))
    assert len(both) == 6
    assert (both["standard_error_exact"] == 0).all()
    error = np.sqrt(both["coverage_exact"] * (1 - both["coverage_exact"]) / 3000)
    assert (np.abs(both["coverage"] - both["coverage_exact"]) < 4.5 * error).all()


def test_the_standard_error_of_a_simulated_coverage_is_that_of_a_proportion():
    """Check eight files, of which k have an interval with the true value: the standard error is sqrt(k (8 - k)/8^3)."""
    rows = rate_coverage._simulated(3, 12, 0.2, scale=2.0, level=0.5, files=8, rng=dpm.stream(2, "eight"))
    shares = np.array([row[5] for row in rows])
    held = np.rint(8 * shares)
    assert held == pytest.approx(8 * shares, abs=1e-12)
    assert ((held > 0) & (held < 8)).any()
    assert [row[6] for row in rows] == pytest.approx(np.sqrt(held * (8 - held) / 8**3), rel=1e-12)


def test_the_default_prior_has_the_best_worst_coverage():
    """Check the choice of the default: the smallest coverage of rates in the settings of the study, by exact sums."""
    own = studies.discover()["rate_coverage"].settings
    least = {
        alpha: min(
            rate_coverage.exact(n, p, scale=own["scale"], alpha=alpha, level=0.95)[1]
            for n in (30, 100)
            for p in own["rates"]
        )
        for alpha in (1.0, 1 / 2, 1 / 3)
    }
    assert least[1.0] < 0.6
    assert max(least, key=least.__getitem__) == rate_coverage.concentration("jeffreys", 2)
    assert least[1 / 2] > 0.93
    release = dpm.Release([3.0, 40.0], mechanism=dpm.DiscreteLaplace(scale=5.0), total=50)
    assert dpm.posterior(release).facts["prior"]["concentration"] == [0.5, 0.5]


def test_the_table_of_rates_and_its_figure(rates):
    assert len(rates) == (2 + 1) * 3 * 2
    assert ((rates["standard_error"] == 0) == (rates["categories"] == 2)).all()
    wide = rate_coverage.shown(rates)
    assert list(wide["p"]) == [0.05, 0.3, 0.2]
    one = rates[(rates["p"] == 0.3) & (rates["prior"] == "jeffreys") & (rates["quantity"] == "rate")]
    assert wide.loc[1, "rate, jeffreys"] == round(one["coverage"].item(), 3)
    with style.applied():
        drawn = rate_coverage.figure(rates)
    count, rate = drawn.axes
    for axes, quantity in ((count, "count"), (rate, "rate")):
        for line, prior in zip(axes.get_lines(), ("flat", "jeffreys"), strict=False):
            rows = rates[(rates["categories"] == 2) & (rates["quantity"] == quantity) & (rates["prior"] == prior)]
            assert line.get_ydata() == pytest.approx(rows["coverage"].to_numpy())


def test_flat_means_the_same_whatever_else_is_known():
    """Check that all vectors of counts with the public total have equal weight, also with bounds or a missing count."""
    noise = dpm.DiscreteLaplace(scale=2.0)
    plain = dpm.posterior(dpm.Release([3.0, 9.0, 7.0], mechanism=noise, total=20), prior="flat")
    bound = dpm.posterior(dpm.Release([3.0, 9.0, 7.0], mechanism=noise, total=20, bounds=(0, 20)), prior="flat")
    assert bound.counts.mean().to_numpy() == pytest.approx(plain.counts.mean().to_numpy(), rel=1e-10)
    assert bound.rates.mean().to_numpy() == pytest.approx(plain.rates.mean().to_numpy(), rel=1e-10)
    gap = dpm.posterior(dpm.Release([3.0, 9.0, np.nan], mechanism=noise, total=20), prior="flat")
    tables = np.array([(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)])
    weights = np.exp(-np.abs(tables[:, :2] - [3, 9]).sum(axis=1) / 2)
    mean = weights @ tables / weights.sum()
    assert gap.counts.mean().to_numpy() == pytest.approx(mean, rel=1e-10)
    assert gap.rates.mean().to_numpy() == pytest.approx((mean + 1) / 23, rel=1e-10)


def test_bins_are_described_in_words():
    assert [study.words(*ends, 100.0) for ends in ((0, 1), (1, 2), (2, 10), (10, 100), (99, 100), (0, np.inf))] == [
        *("0", "1", "2 to 9", "10 and more", "99 and more", "all")
    ]


def test_sums_by_bin_and_method():
    """Check four counts in the bins 0 to 1 and 1 to 5; 5 is outside both bins, but part of all counts."""
    rows = study.errors("m", np.array([0, 1, 4, 5]), np.array([1.0, 1.0, 2.0, 9.0]), np.array([0.0, 1.0, 5.0, 6.0]),
                        np.array([2.0, 1.0, 9.0, 9.0]))  # fmt: skip
    assert rows["held"].tolist() == [True, True, False, False]
    assert rows["width"].tolist() == [2, 0, 4, 3]
    assert rows["error"].tolist() == [1, 0, -2, 4]
    found = study.summed(rows, [0, 1, 5, 5.5, 7]).set_index(["from", "to"])
    assert found["counts"].to_dict() == {(0, 1): 1, (1, 5): 2, (5, 5.5): 1, (0, np.inf): 4}
    middle = found.loc[(1, 5)]
    assert (middle["coverage"], middle["width"], middle["bias"]) == (0.5, 2, -1)
    assert middle["rmse"] == pytest.approx(2**0.5)
    assert middle["coverage_se"] == pytest.approx((0.5 / 2) ** 0.5)  # at least 1/n in place of p (1 - p)
    assert found.loc[(0, np.inf), "coverage_se"] == pytest.approx((0.25 / 4) ** 0.5)


def test_clipped_intervals_consist_of_integers():
    """Check the integers >= 0 within 2 sd of 3.2 (sd 1), of -0.5 (sd 0.1: none, so 0), and of 1 (sd 0.5: 0, 1, 2)."""
    rows = pd.DataFrame({"least_squares": [3.2, -0.5, 1.0], "least_squares_sd": [1.0, 0.1, 0.5], "mean": [1.0, 2, 3],
                         "lower": [0, 1, 2], "upper": [4, 5, 6]})  # fmt: skip
    least, clipped, posterior = study.answers(rows, 2.0).values()
    assert [end.tolist() for end in least] == [
        [3.2, -0.5, 1.0], pytest.approx([1.2, -0.7, 0]), pytest.approx([5.2, -0.3, 2])
    ]  # fmt: skip
    assert [end.tolist() for end in clipped] == [[3.2, 0, 1], [2, 0, 0], [5, 0, 2]]
    assert [end.tolist() for end in posterior] == [[1, 2, 3], [0, 1, 2], [4, 5, 6]]


@pytest.mark.parametrize(("given", "name"), [({"edges": [0, 1, 1]}, "edges"), ({"level": 1.0}, "level"),
                                             ({"replications": 0}, "replications")])  # fmt: skip
def test_invalid_arguments_of_a_coverage_are_rejected(given, name):
    model = {"priors": {}, "edges": [0, 1], "replications": 1, "rng": study.stream(1, "x"), "level": 0.5} | given
    with pytest.raises(ValueError, match=name):
        study.by_true_value(lambda rng: np.array([0]), study.DiscreteGaussian(sigma=1.0), **model)


def test_curves_and_looks_of_the_coverage_figure():
    """Check the curves of nine methods, whose offsets are 0.08 (i - 3), and the error bars of two standard errors."""
    names = [f"m{i}" for i in range(9)]
    table = artists.crossed("coverage", "coverage_se", "width", case=["one"], method=names, place=[0, 1])
    table = table.assign(level=0.9).assign(**{"from": [0, 0] * 9, "to": [1, np.inf] * 9})
    figure = study.figure(table)
    above, below = figure.axes
    colours = [*style.CYCLE, style.GREY, style.CYCLE[0]]
    expected, widths = [artists.across("level", 0.9, style.GREY)], []
    for i, (name, colour) in enumerate(zip(names, colours, strict=True)):
        rows = table[table["method"] == name]
        x, y, reach = np.arange(2) + 0.08 * (i - 3), rows["coverage"], 2 * rows["coverage_se"]
        expected += [artists.line(x, y, colour, kind="curve"), artists.bars(x, y - reach, y + reach, colour=colour)]
        widths.append(artists.line(x, rows["width"], colour, kind="curve"))
    assert not artists.wrong(above, *expected)
    assert not artists.wrong(below, *widths)
    assert [line.get_marker() for line in below.lines][6:] == [style.MARKERS[6], "*", style.MARKERS[0]]
    assert below.get_xticks().tolist() == [0, 1]
    assert artists.words(figure.axes) == [("one", "", "coverage"), ("", "true count", "mean width")]
    shown = study.shown(table.assign(counts=1, bias=0.126, rmse=2.346))
    assert shown["coverage"].tolist() == table["coverage"].round(3).tolist()
    assert (shown["bias"][0], shown["rmse"][0], shown["width"][0]) == (0.13, 2.35, round(table["width"][0], 1))
    assert shown["true count"].tolist() == ["0 and more", "all"] * 9


def test_curves_of_the_coverage_of_rates():
    """Check the two rows and columns of panels, without the prior 1/k and without other numbers of categories."""
    keys = {"categories": [2, 3], "records": [30, 100], "prior": rate_coverage.PRIORS}
    table = artists.crossed("coverage", **keys, quantity=rate_coverage.QUANTITIES, p=[0.01, 0.2]).assign(level=0.9)
    figure = rate_coverage.figure(table)
    axes = iter(figure.axes)
    for quantity in ("count", "rate"):
        for n in (30, 100):
            rows = table[(table["categories"] == 2) & (table["records"] == n) & (table["quantity"] == quantity)]
            curves = [
                artists.line([0.01, 0.2], rows.loc[rows["prior"] == prior, "coverage"], colour, kind="curve")
                for prior, colour in zip(("flat", "jeffreys"), style.CYCLE, strict=False)
            ]
            axis = next(axes)
            assert not artists.wrong(axis, *curves, artists.across("level", 0.9, style.GREY))
            assert axis.get_xscale() == "log"
    assert artists.words(figure.axes) == [
        ("30 records", "", "coverage of the count"), ("100 records", "", ""),
        ("", "true rate p", "coverage of the rate"), ("", "true rate p", ""),
    ]  # fmt: skip
    alone = rate_coverage.figure(table[table["records"] == 30])
    assert len(alone.axes) == 2
    assert [text.get_text() for text in alone.legends[0].get_texts()] == list(rate_coverage._LABELS.values())


def test_concentrations_of_the_priors():
    found = {prior: rate_coverage.concentration(prior, 4) for prior in rate_coverage.PRIORS}
    assert found == {"flat": 1.0, "jeffreys": 0.5, "1/k": 0.25}


def test_a_coverage_without_noise_is_that_of_the_counts():
    """Check that noise of a tiny scale leaves the true count, and the rate's Beta(x + 1, n - x + 1) distribution."""
    n, p, level = 4, 0.3, 0.8
    count, rate = rate_coverage.exact(n, p, scale=0.02, alpha=1.0, level=level)
    x = np.arange(n + 1)
    below = stats.beta(x + 1, n - x + 1).cdf(p)
    assert count == pytest.approx(1, abs=1e-7)
    assert rate == pytest.approx(binom.pmf(x, n, p)[(below >= 0.1) & (below <= 0.9)].sum(), abs=1e-7)
