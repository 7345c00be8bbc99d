"""Check simulated swaps and posteriors against their exact distributions, and calibrate the posterior of the originals
of swapped tables by simulation (Cook, Gelman and Rubin, 2006).

Random streams are fixed; the false-alarm rate of a correct implementation under another seed is stated at each
threshold. For the calibration, shares are drawn from the prior, records from the shares, and a swap from the records.
The rank of the true share in its posterior is uniform on (0, 1), and so are those of a true count (spread over its
step) and of the true distance between original and swapped tables. The distance also depends on the data and is most
sensitive to the rate: the shares hardly depend on whether the rate is squared. The formulas of the posterior are not
used. Uniformity is tested by Kolmogorov's test.
"""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, kstwobign

from dpmultinomial._mechanisms.swapping import permutation_swaps
from dpmultinomial._mechanisms.swapping import swapping as mechanism
from dpmultinomial._posteriors.swapping import swapped_table, unknown_rate, unswapped
from dpmultinomial._seeding import stream

SLIDES = np.array([[1, 2], [3, 4]])
SEED = 690
SWAPS = 60_000


def wrong_swap(kind, table, size, rate, rng):
    """Return swapped last cells under plausible misreadings of the algorithm."""
    row, column = (np.repeat(codes.ravel(), table.ravel()) for codes in np.indices(table.shape))
    out = np.empty(size, dtype=np.int64)
    for i in range(size):
        while True:
            chosen = np.flatnonzero(rng.random(len(row)) < rate)
            again = len(chosen) == 1 and kind != "one selected: do nothing"
            if not (again or (len(chosen) == 0 and kind == "none selected: again")):
                break
        moved = row.copy()
        if len(chosen) >= 2:
            order = rng.permutation(len(chosen))
            if kind == "shuffle":
                image = order
            elif kind == "cycle":
                image = np.empty_like(order)
                image[order] = np.roll(order, 1)
            elif kind == "pairs":
                image = np.arange(len(chosen))
                pairs = order[: len(order) // 2 * 2].reshape(-1, 2)
                image[pairs] = pairs[:, ::-1]
            else:
                image = np.arange(len(chosen))
                while (image == np.arange(len(chosen))).any():
                    image = rng.permutation(len(chosen))
            moved[chosen] = row[chosen[image]]
        out[i] = np.sum(moved & column)
    return out


def p_value(last_cells, table, rate):
    tables, p = mechanism.swap_law(table, rate=rate)
    counts = np.array([(last_cells == x).sum() for x in tables[:, 1, 1]])
    rare = p * len(last_cells) < 5
    counts, p = np.append(counts[~rare], counts[rare].sum()), np.append(p[~rare], p[rare].sum())
    kept = p > 0
    return chisquare(counts[kept], p[kept] / p[kept].sum() * counts.sum()).pvalue


CASES = [(SLIDES, 0.1), (np.array([[2, 1], [2, 3]]), 0.5), (np.array([[27, 23], [23, 27]]), 0.3)]


@pytest.mark.parametrize(("table", "rate"), CASES)
def test_simulated_swaps_follow_the_exact_law(table, rate):
    last = permutation_swaps.tables(table, 10 * SWAPS, rate=rate, rng=stream(SEED, "law"))[:, 1, 1]
    assert p_value(last, table, rate) > 1e-3  # false alarm rate 1e-3


@pytest.mark.parametrize(
    "kind", ["shuffle", "one selected: do nothing", "none selected: again", "cycle", "pairs", "right"]
)
def test_wrong_implementations_are_told_apart(kind):
    """Check that all except "right" fail: selection and shuffle at 0.1, cycles and pairs at 0.5 (8 records)."""
    table, rate = (np.array([[2, 1], [3, 2]]), 0.5) if kind in ("cycle", "pairs") else (SLIDES, 0.1)
    last = wrong_swap(kind, table, SWAPS, rate, stream(SEED, "wrong", kind))
    assert (p_value(last, table, rate) > 1e-3) == (kind == "right")  # false alarm 1e-3, misses below 1e-6


def test_derangements_are_uniform():
    """Check all 9 derangements of four and all 265 of six elements."""
    for k, count in ((4, 9), (6, 265)):
        draws = permutation_swaps.derangements(k, 200 * count * 4, rng=stream(SEED, "derangements", k))
        _, counts = np.unique(draws, axis=0, return_counts=True)
        assert len(counts) == count
        assert chisquare(counts).pvalue > 1e-3  # false alarm 1e-3 each


def test_number_selected_in_a_data_frame_of_strata():
    strata = np.repeat(np.arange(2000), 5)
    moved = [
        (permutation_swaps.sources(strata, rate=0.3, rng=stream(SEED, "s", i)) != np.arange(10_000)).sum()
        for i in range(40)
    ]
    expected = 10_000 * mechanism.selected_share(5, rate=0.3)
    assert abs(np.mean(moved) - expected) < 4 * np.std(moved, ddof=1) / np.sqrt(40)  # false alarm 3e-4


@pytest.fixture(scope="module")
def five_million():
    return swapped_table.abc_run(SLIDES, rate=0.1, iterations=5_000_000, rng=stream(SEED, "pan2023", "abc"))


def test_acceptances_of_the_slides_run(five_million):
    assert 19257 <= len(five_million.draws) <= 20381  # 19,818.7 +- 4 sd, false alarm 6e-5


def test_originals_behind_the_accepted_draws(five_million):
    """Check that the four possible originals have their exact posterior weights."""
    exact = swapped_table.exact(SLIDES, rate=0.1)
    counts = [(five_million.originals[:, 3] == x).sum() for x in exact.tables[:, 1, 1]]
    assert sum(counts) == len(five_million.draws)
    assert chisquare(counts, exact.weights * sum(counts)).pvalue > 1e-3  # false alarm rate 1e-3


def test_accepted_draws_follow_the_exact_mixture(five_million):
    exact = swapped_table.exact(SLIDES, rate=0.1)
    draws, n = five_million.draws, len(five_million.draws)
    sd = np.sqrt(exact.variance())
    assert (np.abs(draws.mean(axis=0) - exact.mean()) < 4 * sd / np.sqrt(n)).all()  # false alarm 2e-4
    steps = np.arange(1, n + 1) / n
    for cell in range(4):
        distance = np.abs(exact.cdf(np.sort(draws[:, cell]), category=cell) - steps).max()
        assert distance < 1.95 / np.sqrt(n)  # false alarm rate 1e-3
    logs = np.sort(np.log(draws[:, 0] * draws[:, 3] / (draws[:, 1] * draws[:, 2])))
    distance = np.abs(exact.log_odds().cdf(logs) - steps).max()
    assert kstwobign.sf(distance * np.sqrt(n)) > 1e-3  # false alarm rate 1e-3
    naive = swapped_table.naive(SLIDES).log_odds()
    assert kstwobign.sf(np.abs(naive.cdf(logs) - steps).max() * np.sqrt(n)) < 1e-6  # the swap is seen in phi


@pytest.mark.parametrize("method", swapped_table.METHODS)
def test_both_forms_of_the_rejection_sampler_have_one_law(method):
    exact = swapped_table.exact(SLIDES, rate=0.5)
    run = swapped_table.abc_run(
        SLIDES, rate=0.5, iterations=4_000_000, rng=stream(SEED, "forms", method), method=method
    )
    expected = 4_000_000 * exact.acceptance
    assert abs(len(run.draws) - expected) < 4 * np.sqrt(expected)  # false alarm rate 6e-5
    counts = [(run.originals[:, 3] == x).sum() for x in exact.tables[:, 1, 1]]
    assert chisquare(counts, exact.weights * sum(counts)).pvalue > 1e-3  # false alarm rate 1e-3


@pytest.mark.parametrize(("rate", "efficiency"), [(0.1, 0.86), (0.3, 0.63), (0.5, 0.49)])
def test_reverse_swap_importance_sampling(rate, efficiency):
    exact = swapped_table.exact(SLIDES, rate=rate)
    run = swapped_table.reverse_swap(SLIDES, rate=rate, size=400_000, rng=stream(SEED, "reverse", str(rate)))
    weights = [run.weights[run.originals[:, 3] == x].sum() for x in exact.tables[:, 1, 1]]
    assert np.allclose(weights, exact.weights, rtol=0, atol=0.0045)  # 4 sd or more, false alarm 3e-4
    assert run.efficiency == pytest.approx(efficiency, abs=0.01)
    assert run.weights @ run.draws == pytest.approx(exact.mean(), abs=0.002)


def batch_error(values, batches=50):
    means = values[: len(values) // batches * batches].reshape(batches, -1).mean(axis=1)
    return means.std(ddof=1) / np.sqrt(batches)


@pytest.mark.parametrize(("table", "rate"), [(SLIDES, 0.5), (np.array([[1, 0, 2], [1, 2, 0]]), 0.3)])
def test_permutation_chain_has_the_exact_weights(table, rate):
    exact = swapped_table.exact(table, rate=rate)
    run = swapped_table.mcmc(table, rate=rate, draws=150_000, burn_in=200, rng=stream(SEED, "chain"))
    for original, weight in zip(exact.tables.reshape(-1, table.size), exact.weights, strict=True):
        hit = (run.originals == original).all(axis=1).astype(float)
        if weight > 1e-3:
            assert abs(hit.mean() - weight) < 4.5 * batch_error(hit)  # false alarm 1e-4 with 20 weights
    assert run.draws.mean(axis=0) == pytest.approx(exact.mean(), abs=0.004)


def test_permutation_chain_over_strata_is_the_product_of_its_strata():
    layers, rate = np.array([[[1, 2], [3, 4]], [[2, 1], [2, 3]]]), 0.3
    run = swapped_table.mcmc(layers, rate=rate, draws=150_000, burn_in=200, rng=stream(SEED, "strata"))
    for layer, columns in zip(layers, (slice(0, 4), slice(4, 8)), strict=True):
        exact = swapped_table.exact(layer, rate=rate)
        for x, weight in zip(exact.tables[:, 1, 1], exact.weights, strict=True):
            hit = (run.originals[:, columns][:, 3] == x).astype(float)
            assert abs(hit.mean() - weight) < 4.5 * batch_error(hit)  # false alarm 1e-4


@pytest.mark.thorough
def test_rejection_sampler_on_larger_tables():
    table = np.array([[1, 0, 2], [1, 2, 0]])
    exact = swapped_table.exact(table, rate=0.3, alpha=0.8)
    run = swapped_table.abc_run(
        table, rate=0.3, iterations=4_000_000, rng=stream(SEED, "six"), alpha=0.8, method="margins_first"
    )
    expected = 4_000_000 * exact.acceptance
    assert abs(len(run.draws) - expected) < 4 * np.sqrt(expected)  # false alarm rate 6e-5
    sd = np.sqrt(exact.variance() / len(run.draws))
    assert (np.abs(run.draws.mean(axis=0) - exact.mean()) < 4 * sd).all()  # false alarm 4e-4


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
    swapped = [permutation_swaps.tables(x, 1, rate=rate, rng=rng)[0] if x.sum() > 1 else x for x in layers]
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


@pytest.mark.thorough
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
