"""Simulation-based calibration of the posterior of the originals of swapped tables (Cook, Gelman and Rubin, 2006).

Shares are drawn from the prior, records from the shares, and a swap from the records. The rank of the true share in its
posterior is uniform on (0, 1), and so are those of a true count (spread over its step) and of the true distance between
original and swapped tables. The distance also depends on the data and is most sensitive to the rate: the shares hardly
depend on whether the rate is squared. The formulas of the posterior are not used. Uniformity is tested by Kolmogorov's
test; the false-alarm rate of a correct implementation is stated at each threshold.
"""

import numpy as np
import pytest
from scipy.stats import kstest

from dpmultinomial._mechanisms.swapping import swap_draws
from dpmultinomial._posteriors.swapping import unknown_rate, unswapped
from dpmultinomial._seeding import stream

LEAST = 1e-4  # p-value: each setting has three tests, so a false alarm in 1 of 3,300 settings
DRAWS = 399  # originals among which the true one has its rank
SETTINGS = {  # shape, records, prior, rate, method
    "2 x 2, few swaps": ((1, 2, 2), 40, 1.0, 0.05, "auto"),
    "2 x 2, many swaps": ((1, 2, 2), 40, 0.5, 0.7, "auto"),
    "2 x 4 by two rows": ((1, 2, 4), 40, 1.0, 0.3, "auto"),
    "3 x 3 listed": ((1, 3, 3), 15, 1.0, 0.3, "exact"),
    "3 x 3 by chains": ((1, 3, 3), 30, 1.0, 0.1, "chain"),
    "4 x 3 by chains, many swaps": ((1, 4, 3), 40, 0.7, 0.6, "chain"),
    "three strata of 2 x 3": ((3, 2, 3), 36, 1.0, 0.2, "auto"),
    "two strata of 3 x 3 by chains": ((2, 3, 3), 40, 1.0, 0.3, "chain"),
}
SMALL = {"2 x 2, many swaps": 400, "3 x 3 by chains": 40, "three strata of 2 x 3": 60}  # data sets


def simulated(rng, shape, records, alpha, rate):
    """Return true shares and counts (cells,), and the swapped tables (strata, rows, columns)."""
    cells = int(np.prod(shape))
    theta = rng.dirichlet(np.full(cells, alpha))
    original = rng.multinomial(records, theta)
    layers = original.reshape(shape)
    swapped = [swap_draws.tables(x, 1, rate=rate, rng=rng)[0] if x.sum() > 1 else x for x in layers]
    return theta, original, np.array(swapped)


def places(posterior, theta, original, swapped, cell, rng):
    """Return the ranks in (0, 1) of the true share and count of one cell, and of the true distance to the tables."""
    p, at = posterior.counts.marginal(cell), original[cell]
    drawn = np.abs(posterior.counts.draw(DRAWS, rng=rng) - swapped.ravel()).sum(axis=1)
    true = np.abs(original - swapped.ravel()).sum()
    rank = (drawn < true).sum() + rng.random() * ((drawn == true).sum() + 1)
    return float(posterior.beta(cell).cdf(theta[cell])), float(p[:at].sum() + rng.random() * p[at]), rank / (DRAWS + 1)


def calibrated(name, sets, believed=lambda rate: rate):
    """Return ranks (sets, 3) and the texts of the results, for posteriors with the rate times `believed`."""
    shape, records, alpha, rate, method = SETTINGS[name]
    rng, found, words = stream(12, "calibration", name), [], []
    for number in range(sets):
        theta, original, swapped = simulated(rng, shape, records, alpha, rate)
        posterior = unswapped.infer(swapped, rate=believed(rate), rng=rng, alpha=alpha, method=method)
        found.append(places(posterior, theta, original, swapped, number % theta.size, rng))
        words.append(posterior.accuracy.status)
    return np.array(found), words


def least(found):
    """Return the smallest p-value of the uniformity of the columns."""
    return min(kstest(column, "uniform").pvalue for column in found.T)


@pytest.mark.parametrize("name", SMALL)
def test_posteriors_are_calibrated(name):
    found, words = calibrated(name, SMALL[name])
    assert set(words) <= ({"converged"} if "chains" in name else {"exact"})
    assert least(found) > LEAST


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("believed", [lambda rate: rate**2, lambda rate: rate / 4], ids=["squared", "a quarter"])
def test_a_posterior_at_the_wrong_rate_is_not_calibrated(name, believed):
    """Check that the test has sufficient power."""
    found, _ = calibrated(name, SMALL[name], believed)
    assert least(found) < LEAST


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_posteriors_are_calibrated_over_500_sets(name):
    found, words = calibrated(name, 500)
    assert words.count("not converged") == 0
    assert least(found) > LEAST


@pytest.mark.slow
def test_an_unknown_rate_is_calibrated():
    rng, found = stream(12, "calibration", "rate"), []
    for number in range(500):
        rate = float(rng.beta(2.0, 5.0))
        theta, original, swapped = simulated(rng, (2, 2, 2), 40, 1.0, rate)
        posterior = unknown_rate.infer_rate(swapped, prior=(2.0, 5.0))
        k = np.clip(np.searchsorted(posterior.rates, rate), 1, len(posterior.rates) - 1)  # the nodes on either side
        below = np.append(0.0, np.cumsum(posterior.weights))[k - 1 : k + 2]
        of_rate = rng.uniform(0.5 * (below[0] + below[1]), 0.5 * (below[1] + below[2]))
        found.append((*places(posterior.cells, theta, original, swapped, number % 8, rng), of_rate))
    assert least(np.array(found)) > LEAST
