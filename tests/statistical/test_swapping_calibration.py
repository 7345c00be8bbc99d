"""Simulation-based calibration of what lies behind swapped tables (Cook, Gelman and Rubin, 2006).

Shares from the prior, records, a swap, the posterior: the place of the true share in its posterior is uniform on
(0, 1), and so is that of a true count spread over its step. Nothing of the posterior's own formulas is used. The test
of uniformity is Kolmogorov's; the chance that an untouched implementation fails stands at the thresholds.
"""

import numpy as np
import pytest
from scipy.stats import kstest

from dpmultinomial.kernels import swapping
from dpmultinomial.posteriors import unknown_rate, unswapped
from dpmultinomial.seeding import stream

LEAST = 1e-4  # p-value: each setting has two tests, so a false alarm in 1 of 5,000 settings
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
SMALL = ("2 x 2, many swaps", "3 x 3 by chains", "three strata of 2 x 3")


def simulated(rng, shape, records, alpha, rate):
    """True shares and counts (cells,), and the swapped tables (strata, rows, columns)."""
    cells = int(np.prod(shape))
    theta = rng.dirichlet(np.full(cells, alpha))
    original = rng.multinomial(records, theta)
    layers = original.reshape(shape)
    swapped = [swapping.tables(x, 1, rate=rate, rng=rng)[0] if x.sum() > 1 else x for x in layers]
    return theta, original, np.array(swapped)


def places(posterior, theta, original, cell, rng):
    """Places in (0, 1) of the true share and of the true count of one cell."""
    p, at = posterior.counts.marginal(cell), original[cell]
    return float(posterior.beta(cell).cdf(theta[cell])), float(p[:at].sum() + rng.random() * p[at])


def calibrated(name, sets):
    """Places (sets, 2) and the words of the results."""
    shape, records, alpha, rate, method = SETTINGS[name]
    rng, found, words = stream(12, "calibration", name), [], []
    for number in range(sets):
        theta, original, swapped = simulated(rng, shape, records, alpha, rate)
        posterior = unswapped.infer(swapped, rate=rate, rng=rng, alpha=alpha, method=method)
        found.append(places(posterior, theta, original, number % theta.size, rng))
        words.append(posterior.honesty.word)
    return np.array(found), words


@pytest.mark.parametrize("name", SMALL)
def test_posteriors_are_calibrated(name):
    found, words = calibrated(name, 15 if "chains" in name else 60)
    assert set(words) <= ({"converged"} if "chains" in name else {"exact"})
    assert min(kstest(column, "uniform").pvalue for column in found.T) > LEAST


def test_a_posterior_at_the_wrong_rate_is_not_calibrated():
    """The test sees what it is there for: shares taken for unswapped are too sure of themselves."""
    rng, found = stream(12, "calibration", "wrong"), []
    for _ in range(150):
        theta, original, swapped = simulated(rng, (1, 2, 2), 60, 1.0, 0.7)
        posterior = unswapped.infer(swapped, rate=0.01, rng=rng)
        found.append(places(posterior, theta, original, 0, rng))
    assert max(kstest(column, "uniform").pvalue for column in np.array(found).T) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_posteriors_are_calibrated_over_500_sets(name):
    found, words = calibrated(name, 500)
    assert words.count("not converged") == 0
    assert min(kstest(column, "uniform").pvalue for column in found.T) > LEAST


@pytest.mark.slow
def test_an_unknown_rate_is_calibrated():
    rng, found = stream(12, "calibration", "rate"), []
    for number in range(500):
        rate = float(rng.beta(2.0, 5.0))
        theta, original, swapped = simulated(rng, (2, 2, 2), 40, 1.0, rate)
        cells = unknown_rate.infer_rate(swapped, prior=(2.0, 5.0)).cells
        found.append(places(cells, theta, original, number % 8, rng))
    assert min(kstest(column, "uniform").pvalue for column in np.array(found).T) > LEAST
