"""Tests of special cases of the kernels' formulas, and of their constants, by closed forms."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import factorial, gammaln

from dpmultinomial._mechanisms.swapping import exact_swapping, permutation_swaps
from dpmultinomial._models import private_blocks
from dpmultinomial._posteriors.additive import _sum_chain
from dpmultinomial._posteriors.counts import _fixed_sum, _noisy_tables, beta_mixtures, compositions
from dpmultinomial._posteriors.swapping import unswapping
from dpmultinomial._seeding import stream
from reproduction.papers.raim2021.algorithms import laplace_noise


@pytest.mark.parametrize("y", [1e-6, 0.3, 5.0, 37.0, 59.9, 61.0, 2000.0])
def test_incomplete_gamma_integrals_of_whole_shapes(y):
    """Check integrals of v^(a - 1) exp(-x (v - 1)) over (0, 1) and over v > 1, by parts for a = 1 and 2."""
    x = np.longdouble(y)
    one = -np.expm1(-x) / x  # a = 1, x = -y
    assert laplace_noise.log_lower(1.0, -y) == pytest.approx(float(np.log(one)), abs=1e-14)
    two = (1 - one) / x if y > 0.1 else sum((-x) ** k / factorial(k + 2) for k in range(9))
    assert laplace_noise.log_lower(2.0, -y) == pytest.approx(float(np.log(two)), abs=1e-13)
    assert laplace_noise.log_upper(1.0, y) == pytest.approx(float(-np.log(x)), abs=1e-13)
    assert laplace_noise.log_upper(2.0, y) == pytest.approx(float(np.log1p(x) - 2 * np.log(x)), abs=1e-13)
    assert laplace_noise.log_lower(1.0, y) == pytest.approx(float(x + np.log(one)), abs=1e-13)


@pytest.mark.parametrize("z", [-30.0, -0.9, -1e-3, 0.0])
def test_a_release_below_zero_hides_no_gamma_value_below_it(z):
    """Check z <= 0 < s, where the noise is z - s: its density is exp((z - s)/b)/(2 b), E exp(-S/b) = (1 +
    beta/b)^-shape, and given z, S is Gamma(shape, 1/(1/beta + 1/b))."""
    shape, beta, b = 2.5, 1.5, 3.0
    expected = z / b - shape * np.log1p(beta / b) - np.log(2 * b)
    assert laplace_noise.gamma_log_psi(z, shape, beta, b) == pytest.approx(expected, abs=1e-13)
    law, s = stats.gamma(shape, scale=1 / (1 / beta + 1 / b)), np.array([1e-3, 1.0, 9.0])
    arguments = {"z": z, "shape": shape, "beta": beta, "scale": b}
    assert laplace_noise.gamma_log_pdf(s, **arguments) == pytest.approx(law.logpdf(s), abs=1e-12)
    assert laplace_noise.gamma_log_cdf(s, **arguments) == pytest.approx(law.logcdf(s), abs=1e-12)
    assert laplace_noise.gamma_log_cdf(s, **arguments, upper=True) == pytest.approx(law.logsf(s), abs=1e-12)


@pytest.mark.parametrize("m", [-40.0, -6.0, 0.3, 6.0, 40.0])
def test_a_normal_behind_narrow_noise(m):
    """Integrate exp(-|xi|/b) N(m - xi; 0, v), xi < -t: exp(m/b + v/(2 b^2)) Phi(-(t + m + v/b)/sqrt(v)); 60 digits."""
    mp = pytest.importorskip("mpmath")
    with mp.workdps(60):
        v, b = mp.mpf(4), mp.mpf("0.01")

        def beyond(t, centre):
            return mp.exp(centre / b + v / (2 * b**2)) * mp.ncdf(-(t + centre + v / b) / mp.sqrt(v))

        whole = beyond(0, mp.mpf(m)) + beyond(0, -mp.mpf(m))
        below, above = (float(mp.log(beyond(b / 2, c * mp.mpf(m)) / whole)) for c in (1, -1))
        expected = float(mp.log(whole))
    assert laplace_noise.normal_log_total(m, 4.0, 0.01) == pytest.approx(expected, abs=1e-11)
    assert laplace_noise.normal_log_cdf([-0.005], m, 4.0, 0.01)[0] == pytest.approx(below, abs=1e-10)
    assert laplace_noise.normal_log_cdf([0.005], m, 4.0, 0.01, upper=True)[0] == pytest.approx(above, abs=1e-10)


@pytest.mark.parametrize(("noisy", "total"), [((3.0, 4.0, 2.4), 10), ((0.0, 5.0, 5.4), 11), ((7.5, 1.2, 1.0), 9)])
@pytest.mark.parametrize("scale", [0.05, 0.12, 0.4])
def test_shares_behind_noise_narrower_than_a_count(noisy, total, scale):
    """List every composition: weights exp(-|x - s|/scale) Gamma(s + alpha)/s!, and the share Beta(alpha + s, ..)."""
    alpha, weights, means, squares = 1.3, [], [], []
    whole = total + 3 * alpha
    for s0 in range(total + 1):
        for s1 in range(total + 1 - s0):
            s = np.array([s0, s1, total - s0 - s1])
            weights.append((gammaln(s + alpha) - gammaln(s + 1) - np.abs(s - noisy) / scale).sum())
            share = (s + alpha) / whole
            means.append(share)
            squares.append(share * (1 - share) / (whole + 1) + share**2)
    w = np.exp(np.array(weights) - max(weights))
    w /= w.sum()
    mean, square = w @ np.array(means), w @ np.array(squares)
    values, error = _noisy_tables.counts_and_rates(noisy, starts=[0, 3], totals=[total], scales=np.full(3, scale),
                                                  alphas=np.full(3, alpha))  # fmt: skip
    assert error[0] < 1e-9
    assert values[:, 0] == pytest.approx(mean, rel=1e-10)
    assert values[:, 1] == pytest.approx(np.sqrt(square - mean**2), rel=1e-9)


def test_a_shares_density_at_a_million_is_symmetric_where_both_are_alike():
    n = 500_000
    arguments = {"mine": np.ones(n), "theirs": np.ones(n), "of_total": np.ones(2 * n - 1)}
    density = beta_mixtures.Density(**arguments, alpha=1.0, beta=1.0)
    found = density.at(np.array([-0.1, 0.0, 0.1]))
    assert found[0] == pytest.approx(found[2], abs=1e-9)  # mine and theirs exchanged
    assert found[0] < found[1]


def test_compositions_are_listed_in_their_order():
    """Check that first counts decrease, the second increases within one, like an odometer; values by definition."""
    for total, k in ((0, 2), (4, 2), (5, 3), (4, 4), (3, 5)):
        found = compositions.compositions(total, k)
        assert len(found) == compositions.rows(total, k)
        assert (found.sum(axis=1) == total).all()
        keys = [(-s[0], *s[1:-1]) for s in found.tolist()]
        assert keys == sorted(keys)
        assert len(set(keys)) == len(keys)
        logs = gammaln(total + 1) - gammaln(found + 1).sum(axis=1)
        assert np.log(compositions.multinomial_table(total, k)[1]) == pytest.approx(logs, abs=1e-10)


def test_chains_end_where_no_probability_is_left():
    """Check Gamma(1e-4) draws, below 1e-308 with probability 0.93 each: all of a row vanish within few iterations."""
    chain = {"draws": 200, "burn_in": 0}
    alpha, start = np.full(2, 1e-4), np.array([0.5, 0.5])
    with pytest.raises(FloatingPointError, match="alpha"):
        _fixed_sum.table_chain(np.zeros((1, 2), np.int64), [0.0], alpha, start, rng=stream(1, "end"), **chain)
    with pytest.raises(FloatingPointError, match="alpha"):
        _fixed_sum.convolution_chain(np.zeros((2, 1)), alpha, start, start, rng=stream(2, "end"), **chain)


@pytest.mark.parametrize("states", [1, 3])
def test_draws_of_a_chain_have_the_law_of_the_list(states):
    """List every x: a product of factors, summed over the position of the single move if there are three, times the
    factor of the total. 20,000 draws, chi-squared with p > 1e-4 in two cases, fixed seed."""
    rng = stream(9, "chain", str(states))
    h, g = rng.random((states, 3, 4)), rng.random(4)
    listed = list(product(range(4), repeat=3))
    weights = []
    for x in listed:
        paths = [[0] * 3] if states == 1 else [[0] * m + [1] + [2] * (2 - m) for m in range(3)]
        total = g[sum(x) - 2] if 2 <= sum(x) < 6 else 0.0
        along = [np.prod([h[s, i, v] for i, (s, v) in enumerate(zip(path, x, strict=True))]) for path in paths]
        weights.append(total * sum(along))
    p = np.array(weights) / sum(weights)
    log_weight, marginals, _, chain = _sum_chain.solve(h, g, 2)
    assert log_weight == pytest.approx(np.log(sum(weights)), abs=1e-12)
    assert marginals[1] == pytest.approx(np.bincount([x[1] for x in listed], p, minlength=4), abs=1e-12)
    drawn = _sum_chain.draw(h, chain, 20_000, rng=rng)
    found = np.bincount(drawn @ [16, 4, 1], minlength=64)
    assert not found[p == 0].any()
    order = np.argsort(-p)  # the rare ones join the most frequent
    rare = p[order] * 20_000 <= 5
    counts, means = (np.append(v[order][~rare][1:], v[order][0] + v[order][rare].sum()) for v in (found, p * 20_000))
    assert stats.chisquare(counts, means).pvalue > 1e-4


@pytest.mark.parametrize(("shape", "beta", "z"), [(400.0, 2.0, 800.0), (4749.5, 2.0, 9e7), (12.3, 0.7, 9.0)])
def test_the_peak_itself_is_a_quantile(shape, beta, z):
    """Check levels at P(noise <= 0) and within a few rounding steps: the quantile is 0."""
    law = {"z": z, "shape": shape, "beta": beta, "scale": 0.01}
    level = float(np.exp(laplace_noise.peak_log_cdf([0.0], **law)[0]))
    levels = level + np.spacing(level) * np.arange(-6, 7)
    assert np.abs(laplace_noise.peak_quantile(levels, **law)).max() < 1e-12


@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 2.0**30])
def test_quantiles_have_the_unit_of_the_release(unit):
    """Check z, beta and the scale in another unit: the noise is in this unit too, unless its distribution is a peak."""
    law = {"z": 700.0, "shape": 400.0, "beta": 2.0, "scale": 30.0}
    other = {**{key: unit * value for key, value in law.items()}, "shape": law["shape"]}
    levels = np.array([1e-6, 0.02, 0.3, 0.6, 0.95, 1 - 1e-6])
    for quantile in (laplace_noise.peak_quantile, laplace_noise.gamma_quantile):
        assert quantile(levels, **other) == pytest.approx(unit * quantile(levels, **law), rel=1e-11)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_floors_lift_positive_cells_too(law):
    """Check that noise of scale 1e-12 leaves (0, 3, 10, 7), and a floor of 5 gives (5, 5, 10, 7) with sum 27."""
    found = private_blocks.release(
        np.array([0.0, 3, 10, 7]), np.array([0, 4]), law=law, scale=np.array([1e-12]), floors=np.array([5.0]),
        rng=stream(1, "floor", law),
    )  # fmt: skip
    assert np.exp(found[0]) == pytest.approx(np.array([5, 5, 10, 7]) / 27, rel=1e-10)


def test_two_records_are_the_smallest_class():
    """Check two records at rate p: both are selected, and exchanged, with odds p^2/(1 - p)^2 (never exactly one)."""
    p = 0.3
    both = p**2 / (p**2 + (1 - p) ** 2)
    tables, forward, backward = exact_swapping.class_law([[1, 0, 0], [0, 1, 0]], rate=p)
    assert tables.tolist() == [[[0, 1, 0], [1, 0, 0]], [[1, 0, 0], [0, 1, 0]]]
    assert np.exp(forward) == pytest.approx([both, 1 - both], rel=1e-13)
    assert np.exp(backward) == pytest.approx([both, 1 - both], rel=1e-13)


def test_a_list_may_be_as_long_as_allowed():
    """Check that [[1, 1, 1], [1, 1, 1]] has 7 tables with its margins: itself and the 6 orders of (2, 1, 0)."""
    arguments = {"coefficients": np.ones(7), "most_work": 1e9}
    found, log_p, _ = permutation_swaps.originals(np.ones((2, 3), dtype=int), most_tables=7, **arguments)
    assert len(found) == len(log_p) == 7
    assert {tuple(sorted(t[0])) for t in found.tolist()} == {(0, 1, 2), (1, 1, 1)}
    with pytest.raises(ValueError, match="over 6 originals"):
        permutation_swaps.originals(np.ones((2, 3), dtype=int), most_tables=6, **arguments)


@pytest.mark.parametrize(("odds", "share"), [(1.0, 1 / 2), (1 / 3, 1 / 4), (3.0, 3 / 4)])
def test_a_stratum_of_two_records_has_its_law(odds, share):
    """Check a table exchanged or not, with the odds of the weights under a flat prior: cells have at most one record.

    Each of the two proposals of a sweep is accepted with probability min(1, odds)/2 in one direction and min(1,
    1/odds)/2 in the other, so a sweep keeps (1 - both)^2 of the distance to the share, which multiplies the variance of
    a mean by (1 + kept)/(1 - kept). False alarm 6e-5 each.
    """
    pair, rest, draws = np.eye(2, dtype=int), np.array([[2, 1], [1, 2]]), 20_000
    logs = [np.zeros(7), np.array([0.0, 0.0, np.log(odds)])]
    drawn = unswapping.permutation_chain(
        np.array([rest, pair]), logs, np.ones(8), draws=draws, burn_in=20, thin=1, rng=stream(2, "two", int(9 * odds))
    )[:, 4:]
    exchanged = (drawn == [0, 1, 1, 0]).all(axis=1)
    assert (exchanged | (drawn == [1, 0, 0, 1]).all(axis=1)).all()
    kept = (1 - min(1, odds) / 2 - min(1, 1 / odds) / 2) ** 2
    sd = np.sqrt(share * (1 - share) / draws * (1 + kept) / (1 - kept))
    assert abs(exchanged.mean() - share) < 4 * sd


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_stratum_of_one_record_keeps_it(place):
    """Check a stratum in which nothing can move, next to others: the margins of every stratum are kept."""
    alone, rest = np.array([[0, 0], [0, 1]]), np.array([[2, 1], [1, 2]])
    table = np.array([alone if k == place else rest for k in range(3)])
    logs = [np.zeros(int(t.sum()) + 1) for t in table]
    drawn = unswapping.permutation_chain(
        table, logs, np.ones(12), draws=300, burn_in=0, thin=1, rng=stream(2, "alone", place)
    ).reshape(300, 3, 2, 2)
    assert (drawn[:, place] == alone).all()
    for axis in (2, 3):
        assert (drawn.sum(axis=axis) == table.sum(axis=axis - 1)).all()
    assert (drawn != table).any()
