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
