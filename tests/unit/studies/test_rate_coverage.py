"""Tests of the study of the coverage of rates: exact sums by the library's posteriors, simulations, the default."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import dpmultinomial as dpm
from reproduction import studies, style
from reproduction.studies import rate_coverage as study

SETTINGS = {
    "scale": 2.0, "level": 0.9, "records": [12], "rates": [0.05, 0.3],
    "several": {"categories": [3], "rates": [0.2], "files": 300},
}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return study.table(1, **SETTINGS)


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
    exact = study.exact(n, p, scale=scale, alpha=study.concentration(prior, 2), level=level)
    assert whole == pytest.approx(1, abs=1e-7)
    assert held == pytest.approx(exact, abs=1e-6)


def test_with_two_categories_a_simulation_gives_the_exact_sums(table):
    rng = dpm.stream(1, "two")
    rows = study._simulated(2, 12, 0.05, scale=2.0, level=0.9, files=3000, rng=rng)
    frame = pd.DataFrame(rows, columns=table.columns[:-1])
    both = frame.merge(table, on=["categories", "records", "p", "prior", "quantity"], suffixes=("", "_exact"))
    assert len(both) == 6
    assert (both["standard_error_exact"] == 0).all()
    error = np.sqrt(both["coverage_exact"] * (1 - both["coverage_exact"]) / 3000)
    assert (np.abs(both["coverage"] - both["coverage_exact"]) < 4.5 * error).all()


def test_the_default_prior_has_the_best_worst_coverage():
    """Check the choice of the default: the smallest coverage of rates in the settings of the study, by exact sums."""
    own = studies.discover()["rate_coverage"].settings
    least = {
        alpha: min(
            study.exact(n, p, scale=own["scale"], alpha=alpha, level=0.95)[1] for n in (30, 100) for p in own["rates"]
        )
        for alpha in (1.0, 1 / 2, 1 / 3)
    }
    assert least[1.0] < 0.6
    assert max(least, key=least.__getitem__) == study.concentration("jeffreys", 2)
    assert least[1 / 2] > 0.93
    release = dpm.Release([3.0, 40.0], mechanism=dpm.DiscreteLaplace(scale=5.0), total=50)
    assert dpm.posterior(release).facts["prior"]["concentration"] == [0.5, 0.5]


def test_the_table_and_its_figure(table):
    assert len(table) == (2 + 1) * 3 * 2
    assert ((table["standard_error"] == 0) == (table["categories"] == 2)).all()
    wide = study.shown(table)
    assert list(wide["p"]) == [0.05, 0.3, 0.2]
    one = table[(table["p"] == 0.3) & (table["prior"] == "jeffreys") & (table["quantity"] == "rate")]
    assert wide.loc[1, "rate, jeffreys"] == round(one["coverage"].item(), 3)
    with style.applied():
        drawn = study.figure(table)
    count, rate = drawn.axes
    for axes, quantity in ((count, "count"), (rate, "rate")):
        for line, prior in zip(axes.get_lines(), ("flat", "jeffreys"), strict=False):
            rows = table[(table["categories"] == 2) & (table["quantity"] == quantity) & (table["prior"] == prior)]
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
