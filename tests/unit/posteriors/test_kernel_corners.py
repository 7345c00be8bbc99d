"""Tests of special cases of the kernels' formulas and of their constants, by closed forms; and of the levels of a mode,
tables of two counts, and the normal model, by hand.
"""

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import factorial, gammaln
from scipy.stats import binom, invgamma, kstest, norm

from dpmultinomial._mechanisms.swapping import exact_swapping, permutation_swaps
from dpmultinomial._models import private_blocks
from dpmultinomial._posteriors.additive import _mode_transforms, _noise, _pair_counts, _sum_chain, additive_counts
from dpmultinomial._posteriors.additive._noise import FLAT, NoiseModel
from dpmultinomial._posteriors.censored import normal_model
from dpmultinomial._posteriors.censored.normal_model import Prior
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


def mode_sweep(released=(260, 45, 170), epsilon=0.1, ties="random", slack=3.0, reserve=46.0, support=math.inf):
    problem = _mode_transforms.Problem(np.array(released), NoiseModel(epsilon, support), FLAT, ties)
    return _mode_transforms._Sweep(problem, slack, reserve)


@pytest.mark.parametrize(("slack", "span"), [(3.0, 69), (60.0, 138)])
def test_all_levels_within_the_noise_of_the_total_are_bounded(slack, span):
    """Check totals within span/epsilon of M = 475, 60 + 3 per count or twice as much if the ends are not negligible,
    and levels a/r between (M - span/epsilon)/(M + 3) and (M + span/epsilon)/M, one numerator further."""
    found = mode_sweep(epsilon=1.0, slack=slack)
    assert found.totals.tolist() == [*range(475 - span, 475 + span + 1)]
    lowest, highest = Fraction(475 - span, 478), Fraction(475 + span, 475)
    wanted = {
        Fraction(a, r)
        for r in (260, 45, 170)
        for a in range(math.floor(lowest * r), math.ceil(highest * r) + 1)
    }  # fmt: skip
    levels = found.levels
    assert not found.has_empty
    assert [*map(Fraction, levels.numerator.tolist(), levels.denominator.tolist())] == sorted(wanted)
    bounds = found.masses.bounds()
    kept = bounds > bounds.max() - 36 - slack
    assert found.kept.tolist() == np.flatnonzero(kept).tolist()
    assert found.log_dropped.tolist() == bounds[~kept].tolist()


def test_the_noise_of_a_small_support_ends_the_search_for_levels():
    assert mode_sweep(epsilon=0.1, support=2).totals.tolist() == [473, 474, 475, 476, 477]


@pytest.mark.parametrize(("certificates", "calls"), [
    ([(0, 0)], [(3.0, 46.0)]),
    ([(0.9e-14, 0.9e-14)], [(3.0, 46.0)]),
    ([(1e-14, 0), (0, 0)], [(3.0, 46.0), (5 + math.log(10), 48.0)]),
    ([(0, 1e-12), (0, 0)], [(3.0, 46.0), (5.0, 48 + math.log(1e3))]),
    ([(1e-14, 0)] * 5, [(3 + k * (2 + math.log(10)), 46 + 2.0 * k) for k in range(4)]),
])  # fmt: skip
def test_levels_and_lengths_grow_until_less_than_1e_14_is_neglected(certificates, calls, monkeypatch):
    found, results = [], iter(certificates)

    class Sweep:
        def __init__(self, problem, slack, reserve):
            found.append((slack, reserve))

        def law(self):
            pruned, wrapped = next(results)
            return SimpleNamespace(certificate=SimpleNamespace(pruned=max(pruned, 1e-99), wrapped=max(wrapped, 1e-99)))

    monkeypatch.setattr(_mode_transforms, "_Sweep", Sweep)
    _mode_transforms.solve(_mode_transforms.Problem(np.array([10**9 - 1, 1]), NoiseModel(1.0), FLAT, "random"))
    assert np.array(found) == pytest.approx(np.array(calls), rel=1e-12)


def test_the_largest_total_of_a_mode_is_a_thousand_millions():
    problem = _mode_transforms.Problem(np.array([10**9, 1]), NoiseModel(1.0), FLAT, "random")
    with pytest.raises(ValueError, match="the sum of the released counts must be <= 1000000000, got 1000000001"):
        _mode_transforms.solve(problem)


def test_lengths_of_transforms_bound_the_mass_on_both_sides():
    """Check exp(-gap L) <= exp(-rise) for a tilt on either side of each tilt, by trying all."""
    tilts, rise = np.array([-2.0, -0.5, 0.0, 1.0, 3.0]), np.array([7.0, 5.0, 4.0, 6.0, 90.0])
    found = _mode_transforms._Sweep._lengths(SimpleNamespace(masses=SimpleNamespace(tilts=tilts)), rise)
    for i, tilt in enumerate(tilts):
        sides = [
            min((r / abs(t - tilt) for t, r in zip(tilts, rise, strict=True) if (t - tilt) * sign > 0), default=np.inf)
            for sign in (1, -1)
        ]
        assert found[i] == max(sides)


@pytest.mark.parametrize("released", [(260, 45, 170), (30, 31, 32), (2, 0, 1)])
def test_a_range_of_counts_contains_its_intervals_and_the_noise(released):
    """Check the noise beyond which every tilt has less than exp(-reserve - 6) of the mass, and the shortest length
    among the tilts within a factor of 20 of the best."""
    sweep = mode_sweep(released, epsilon=0.5)
    for rows in (sweep.kept, sweep.kept[:5]):
        window = sweep._window(rows)
        levels, tilts, free = sweep.levels.take(rows), sweep.masses.tilts, sweep.masses.free(rows)
        rise = np.maximum(free - sweep.share + 46.0, 0.0)
        below = min(math.ceil((r + 6) / (0.5 + t)) for r, t in zip(rise, tilts, strict=True))
        above = min(math.ceil((r + 6) / (0.5 - t)) for r, t in zip(rise, tilts, strict=True))
        assert (window.below, window.above) == (below, above)
        for u in range(len(window.low)):
            ends = []
            for k in range(len(rows)):
                first, got = int(levels.lower[k, u]), int(levels.got[k, u])
                ends.append(
                    (0 if first < 0 else got if got >= 0 else first, max(levels.upper[k, u], levels.lost[k, u]))
                )
            least, most = min(a for a, _ in ends), max(0, *(b for _, b in ends))
            assert window.low[u] == max(least - below, 0)
            assert window.low[u] + window.width[u] - 1 == most + above
        lengths = np.maximum(sweep._lengths(rise), window.width.max())
        near = free < max(free[1:-1].min(), sweep.share) + math.log(20)
        assert window.tilt in tilts[near & (lengths == lengths[near].min())]
        least = max(lengths[tilts == window.tilt][0], 32)
        assert least <= window.length <= 1.2 * least + 1
        assert (window.free == free).all()


@pytest.mark.parametrize("size", [1 << 12, 1 << 14, 1 << 19])
@pytest.mark.parametrize("released", [(260, 45, 170), (31, 31, 32), (5, 5, 5)])
def test_chunks_of_levels_are_all_levels_in_order(released, size, monkeypatch):
    monkeypatch.setattr(_mode_transforms, "_CHUNK", size)
    sweep = mode_sweep(released, epsilon=0.5)
    parts = sweep._chunks()
    assert np.concatenate(parts).tolist() == sweep.kept.tolist()
    empty = len(sweep.levels) - 1
    assert sweep.has_empty == (released != (260, 45, 170))
    if sweep.has_empty and empty in sweep.kept:
        assert parts[-1].tolist() == [empty]
        parts = parts[:-1]
    limit = max(size // sweep.whole.length - len(sweep.whole.low), 64)
    loads = []
    for rows in parts:  # new intervals, and two rows for every claim
        levels = sweep.levels.take(rows)
        fresh = (np.diff(levels.lower, axis=0) != 0) | (np.diff(levels.upper, axis=0) != 0)
        loads.append(fresh.sum() + 2 * levels.claimed.sum())
        heaviest = 2 * levels.claimed.sum(axis=1).max() + 3
    assert max(loads) < limit + heaviest
    assert all(load > limit - heaviest - 9 for load in loads[1:-1])


@pytest.mark.parametrize(("released", "epsilon", "support"), [((260, 45, 170), 0.5, math.inf), ((3, 0, 5), 1.0, 90)])
def test_the_bounds_of_a_certificate_are_the_smallest_of_all_tilts(released, epsilon, support):
    """Check the mass of totals at distances of at least a transform, of counts beyond the windows of three components,
    and of totals beyond the largest and the smallest: geometric sums at each tilt. The smallest total may be 0."""
    sweep = mode_sweep(released, epsilon, support=support)
    sweep.law()
    tilts, total = sweep.masses.tilts, sum(released)
    wrapped = cut = 0.0
    for _, window in sweep.parts:
        shares = np.exp(window.free - sweep.log_whole)
        for sign in (1, -1):
            wrapped += min(s * math.exp(-abs(t - window.tilt) * window.length)
                           for s, t in zip(shares, tilts, strict=True) if sign * (t - window.tilt) > 0)  # fmt: skip
            far = window.below if sign > 0 else window.above
            if far < support:
                cut += 3 * min(s * math.exp(-(epsilon + sign * t) * far) / math.expm1(epsilon + sign * t)
                               for s, t in zip(shares, tilts, strict=True))  # fmt: skip
    rest = np.exp(sweep.whole.free - sweep.log_whole - sweep.masses.totals)
    ends = [(sweep.totals[-1], sweep.log_g[-1], 1)] + [(sweep.totals[0], sweep.log_g[0], -1)] * int(sweep.totals[0] > 0)
    for end, log_g, sign in ends:
        if abs(end - total) < support:
            cut += min(s * math.exp(log_g - t * (end - total)) / math.expm1(epsilon + sign * t)
                       for s, t in zip(rest, tilts, strict=True))  # fmt: skip
    pruned = np.exp(sweep.log_dropped - sweep.log_whole).sum()
    found = sweep._certificate(7.0)
    assert (found.pruned, found.wrapped) == pytest.approx((pruned, wrapped), rel=1e-9, abs=0)
    assert found.cut == pytest.approx(cut, rel=1e-9, abs=0)
    assert found.condition == 7.0


def test_different_rows_are_numbered_in_increasing_order():
    rng = stream(1, "different")
    columns = rng.integers(0, 3, (3, 50))
    first, number = _mode_transforms._different(*columns)
    unique, inverse = np.unique(columns.T, axis=0, return_inverse=True)
    assert number.tolist() == inverse.ravel().tolist()
    assert (columns.T[first] == unique).all()
    assert [part.tolist() for part in _mode_transforms._different(np.zeros(0, int), np.zeros(0, int))] == [[], []]


@pytest.mark.parametrize("reach", [1, 3, 50])
def test_sums_of_noise_over_intervals_are_written_out(reach):
    """Check sum of exp(-0.7 |n - x|) over n in the interval and within the reach of x."""
    terms = SimpleNamespace(frame=SimpleNamespace(noise=NoiseModel(0.7, reach)))
    ends = np.array([(a, b) for a in range(-6, 7) for b in range(a - 2, 8)])
    x = np.arange(5)
    found = _mode_transforms.ModeTerms._box(terms, ends[:, 0], ends[:, 1], x)
    for (a, b), row in zip(ends.tolist(), found, strict=True):
        wanted = [sum(math.exp(-0.7 * abs(n - v)) for n in range(a, b + 1) if abs(n - v) <= reach) for v in x]
        assert row == pytest.approx(wanted, rel=1e-12, abs=0)


def test_vectors_outside_the_range_of_the_totals_are_impossible(monkeypatch):
    law = additive_counts.posterior([5, 7], epsilon=0.9, algorithm="3", method="transforms", support=4).law
    vectors = np.array(list(product(range(-1, 20), repeat=2)))
    logs = law.log_probabilities(vectors)
    total = vectors.sum(axis=1)
    possible = (vectors >= 0).all(axis=1) & (total >= 8) & (total <= 16)
    assert not np.isfinite(logs[~possible]).any()
    assert np.isfinite(logs[possible]).sum() > 60
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-11)
    monkeypatch.setattr(_mode_transforms, "_ROOM", 1)
    assert (law.log_probabilities(vectors) == logs).all()


def test_a_table_of_pairs_by_hand():
    """Check rows 3 and 4, columns 5 to 7 with weights 1 .. 6; equal probabilities are in the order of the table."""
    table = _pair_counts.PairTable(np.array([3, 5]), np.array([[1.0, 2.0, 3.0], [4.0, 4.0, 6.0]]))
    values, p = table.marginal(0)
    assert (values.tolist(), (20 * p).tolist()) == ([3, 4], pytest.approx([6, 14]))
    values, p = table.marginal(1)
    assert (values.tolist(), (20 * p).tolist()) == ([5, 6, 7], pytest.approx([5, 6, 9]))
    values, p = table.total()
    assert (values.tolist(), (20 * p).tolist()) == ([8, 9, 10, 11], pytest.approx([1, 6, 7, 6]))
    vectors, p = table.top(4)
    assert vectors.tolist() == [[4, 7], [4, 5], [4, 6], [3, 7]]
    assert p == pytest.approx([0.3, 0.2, 0.2, 0.15])
    assert table.components == 2
    drawn = table.draw(6000, rng=stream(1, "table"))
    for vector, chance in zip([[3, 5], [3, 7], [4, 7]], [0.05, 0.15, 0.3], strict=True):
        share = (drawn == vector).all(axis=1).mean()
        assert abs(share - chance) < 4.5 * (chance * (1 - chance) / 6000) ** 0.5
    with pytest.raises(ValueError, match="probability 0 under this mechanism and these windows"):
        _pair_counts.PairTable(np.array([0, 0]), np.zeros((2, 2)))


def test_sums_along_diagonals_by_hand():
    """Check the sums 1, 2 + 4, 3 + 5, 6 over row + column = 0 .. 3, and 0 beyond."""
    table = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for first, size, wanted in ((0, 4, [1, 6, 8, 6]), (1, 2, [6, 8]), (2, 5, [8, 6, 0, 0, 0]), (0, 1, [1])):
        assert _pair_counts._along_sums(table, first, size).tolist() == wanted


def test_the_likelihood_of_shares_is_binomial():
    n1, n2 = np.arange(-2, 5), np.arange(-1, 4)
    found = _pair_counts.share_likelihood(np.array([3, 4]), n1, n2)
    for (i, a), (j, b) in product(enumerate(np.maximum(n1, 0)), enumerate(np.maximum(n2, 0))):
        share = a / (a + b) if a + b else 0.5
        assert found[i, j] == pytest.approx(binom.pmf(3, 7, share), rel=1e-11, abs=0)


@pytest.mark.parametrize("ties", ["first", "last", "random"])
def test_the_likelihood_of_a_mode_is_that_of_equal_claims(ties):
    """Check 5 units with weights w: (3, 2) is the mode if w1/3 > w2/3 and w2/2 > w1/4, and by the rule if equal."""
    n = np.arange(-1, 9)
    found = _pair_counts.mode_likelihood(np.array([3, 2]), n, n, ties=ties)
    for (i, a), (j, b) in product(enumerate(np.maximum(n, 0)), repeat=2):
        a, b = (1, 1) if a + b == 0 else (a, b)
        if a == b:
            wanted = {"first": 1.0, "last": 0.0, "random": 0.5}[ties]  # both claim the last unit
        elif 2 * b == a:
            wanted = {"first": 0.0, "last": 1.0, "random": 0.5}[ties]
        else:
            wanted = float(b < a < 2 * b)
        assert found[i, j] == wanted


def test_a_factor_of_the_total_is_placed_on_every_pair():
    found = _pair_counts._on_totals(7, np.array([1.0, 2.0, 3.0]), np.array([2, 4]), np.array([3, 4]))
    wanted = [[{7: 1.0, 8: 2.0, 9: 3.0}.get(2 + i + 4 + j, 0.0) for j in range(4)] for i in range(3)]
    assert found.tolist() == wanted


@pytest.mark.parametrize(
    ("algorithm", "window", "released", "found"),
    [
        ("3", None, (5, 200), (400 - 200 + 200 + 1, 4000)),  # 200 +- 4 x 50, from 0 on
        ("3", None, (5, 500), (401, 4000)),
        ("3", 9, (5, 500), (19, 4000)),
        ("2", 9, (5, 500), (19, 3000)),
        ("1-summed", 9, (5, 4), (15, 3000)),  # 0 .. 14
    ],
)
def test_the_widest_table_is_that_of_the_noise_or_the_window(algorithm, window, released, found):
    noise = _noise.Noise(epsilon=0.5, support=50, window=window)
    noise.reach = 50 if window is None else noise.reach
    assert _pair_counts.widest(np.array(released), noise, algorithm=algorithm, window=window) == found


def test_wide_noise_is_summed_in_blocks_of_rows(monkeypatch):
    """Check 1-independent and 1-summed with three rows at a time."""
    noise = _noise.Noise(epsilon=0.9, support=4, window=None)
    wide = [np.arange(-8, 14), np.arange(-8, 17)]
    whole = _pair_counts._drawn_shares(np.array([3, 5]), wide, noise)
    monkeypatch.setattr(_pair_counts, "BANDED", 3)
    monkeypatch.setattr(_pair_counts, "_ROWS", 3)
    assert whole.shape == (22 - 8, 25 - 8)
    assert _pair_counts._drawn_shares(np.array([3, 5]), wide, noise) == pytest.approx(whole, rel=1e-13, abs=0)
    own, summed = stream(1, "own").random((5, 9)), stream(1, "summed").random((7, 9))
    monkeypatch.setattr(_pair_counts, "_DENSE", 8)
    assert _pair_counts._over_totals(summed, own) == pytest.approx(summed @ own.T, rel=1e-13)
    monkeypatch.setattr(_pair_counts, "_DENSE", 9)
    assert _pair_counts._over_totals(summed, own) == pytest.approx(summed @ own.T, rel=1e-13)


@pytest.mark.parametrize("released", [0, 2, 9])
def test_a_total_given_the_noisy_counts_is_drawn_between_both(released):
    """Check P(M | V, n) proportional to P(D1 + D2 = V - m) P(D = m - n) over the totals m >= 0, and its rows and
    columns."""
    noise = _noise.Noise(epsilon=0.7, support=2, window=None)
    once = dict(zip(range(-2, 3), noise.p, strict=True))
    twice = dict(zip(range(-4, 5), np.convolve(noise.p, noise.p), strict=True))
    found, sums = _pair_counts._chance(released, noise, 2)
    assert sums.tolist() == [*range(released - 4, released + 5)]
    assert found.shape == (9, 5)
    for (i, v), (j, n) in product(enumerate(sums), enumerate(range(released - 2, released + 3))):
        weights = {m: twice.get(v - m, 0.0) * once.get(m - n, 0.0) for m in range(30)}
        whole = sum(weights.values())
        assert found[i, j] == pytest.approx(weights[released] / whole if whole else 0.0, rel=1e-9, abs=1e-16)
    totals = np.arange(15)
    factor, same = _pair_counts._factor(released, totals, noise, 2)
    assert (same == sums).all()
    for t, i in product(totals, range(9)):
        wanted = sum(once.get(n - t, 0.0) * found[i, j] for j, n in enumerate(range(released - 2, released + 3)))
        assert factor[t, i] == pytest.approx(wanted, rel=1e-12, abs=0)


@pytest.mark.parametrize("first", [0, 5, 9, 20])
def test_weights_of_untruncated_noise_are_the_factor_times_a_power(first, monkeypatch):
    """Check P(M | T, V) exp(-epsilon |V - T|) in blocks of seven sums, for totals from `first` on, with M = 9."""
    noise, totals = _noise.Noise(epsilon=2.0, support=25, window=None), np.arange(first, first + 12)
    factor, sums = _pair_counts._factor(9, totals, noise, 25)
    wanted = factor * np.exp(-2.0 * np.abs(sums - totals[:, None]))
    monkeypatch.setattr(_pair_counts, "_SUMS", 7)
    found = _pair_counts._weights(9, totals, noise, 25, np.ones(len(sums)))
    best = wanted.max(axis=1, keepdims=True)
    assert found / best == pytest.approx(wanted / best, rel=1e-9, abs=1e-19)
    kept = wanted > 1.0001e-20 * best
    assert ((found > 0) == kept)[np.abs(wanted / best / 1e-20 - 1) > 1e-3].all()


def test_a_prior_is_drawn_and_evaluated_as_scipy_does():
    prior = Prior(2.0, 9.0, 3.0, 5.0)
    mu, sigma2 = prior.sample(2000, rng=stream(1, "prior")).T
    assert kstest(mu, norm(2.0, 3.0).cdf).pvalue > 1e-3
    assert kstest(sigma2, invgamma(3.0, scale=5.0).cdf).pvalue > 1e-3
    logs = norm.logpdf(mu, 2.0, 3.0) + invgamma.logpdf(sigma2, 3.0, scale=5.0) + np.log(sigma2)
    gap = prior.log_density(mu, np.log(sigma2)) - logs
    assert np.ptp(gap) < 1e-9
    assert tuple(prior.standardised(-4.0, 8.0)) == pytest.approx((0.0, 0.25, 3.0, 5 / 36), rel=1e-13)


@pytest.mark.parametrize(
    ("release", "treated"),
    [
        ((0.1, -3.0, -2.4, 5.6), (0.1, 0.0, 0.0, 6.0)),
        ((0.1, 7.0, 12.4, 50.0), (0.1, 7.0, 12.0, 28.0)),
        ((0.1, 7.0, 55.0, 3.0), (0.1, 7.0, 40.0, 0.0)),
        ((0.1, 7.0, 2.6, -0.6), (0.1, 7.0, 3.0, 0.0)),
    ],
)
def test_a_naive_analysis_rounds_and_clips_the_counts(release, treated):
    model = {"n": 40, "lower": -1.0, "upper": 2.0}
    found, same = normal_model.naive(release, **model), normal_model.posterior(treated, **model)
    assert (found.mass == same.mass).all()
    assert (found.mu == same.mu).all()
    assert (found.noise_ignored, same.noise_ignored) == (True, False)


@pytest.mark.parametrize(
    ("statistics", "words"),
    [
        ((0.0, 1.0, -1.0, 3.0), "got -1 and 3"),
        ((0.0, 1.0, 3.0, -1.0), "got 3 and -1"),
        ((0.0, 1.0, 20.0, 21.0), "with low [+] high <= n = 40, got 20 and 21"),
        ((0.0, 1.0, 3.0, 2.5), "got 3 and 2.5"),
        ((0.0, -1e-9, 3.0, 2.0), "sse must be >= 0, got -1e-09"),
        ((0.0, 0.0, 0.0, 0.0), ""),
        ((0.0, 1.0, 20.0, 20.0), ""),
    ],
)
def test_which_statistics_without_noise_are_possible(statistics, words):
    model = {"n": 40, "lower": -1.0, "upper": 2.0}
    if words:
        with pytest.raises(ValueError, match=words):
            normal_model.posterior(statistics, **model)
    else:
        assert normal_model.posterior(statistics, **model).mass.sum() == pytest.approx(1)


@pytest.mark.parametrize("correlation", [-0.95, 0.95])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_grid_follows_a_ridge(axis, correlation):
    """Check correlated normal coordinates of sd 0.2 and 0.06: the profile falls by 30 at 60^(1/2) sd; the ends are
    1e-6 1.3^k, of which none is within 5 % of that."""
    sd = np.array([0.2, 0.06])

    def log_density(mu, t):
        x, y = mu / sd[0], t / sd[1]
        return -0.5 * (x**2 - 2 * correlation * x * y + y**2) / (1 - correlation**2)

    k = math.ceil(math.log(60**0.5 * sd[axis] / 1e-6) / math.log(1.3))
    assert 1e-6 * 1.3 ** (k - 1) < 0.95 * 60**0.5 * sd[axis]
    ends = normal_model._cover(log_density, np.zeros(2), 0.0, axis)[[0, -1]]
    assert ends == pytest.approx([-1e-6 * 1.3**k, 1e-6 * 1.3**k], rel=1e-9)


def test_a_grid_of_nine_cells_by_hand():
    """Check masses 1/4, 1/2, 1/4 of mu = 1, 3, 5 and of log sigma2 = 0, 1, 2: means, deviations, and quantiles between
    the ends of the cells."""
    p, e = np.array([0.25, 0.5, 0.25]), np.exp([0.0, 1.0, 2.0])
    found = normal_model.GridPosterior(
        np.array([1.0, 3.0, 5.0]),
        np.array([0.0, 1.0, 2.0]),
        np.outer(p, p),
        Prior(0.0, 100.0, 1.0, 1.0),
        noise_ignored=True,
    )
    assert found.mean() == pytest.approx([3.0, p @ e], rel=1e-13)
    assert found.sd() == pytest.approx([2**0.5, (p @ e**2 - (p @ e) ** 2) ** 0.5], rel=1e-12)
    ends = found.quantile([0.0, 0.125, 0.25, 0.5, 0.9, 1.0])
    assert ends[:, 0] == pytest.approx([0.0, 1.0, 2.0, 3.0, 5.2, 6.0], rel=1e-12)
    assert np.log(ends[:, 1]) == pytest.approx([-0.5, 0.0, 0.5, 1.0, 2.1, 2.5], rel=1e-12)
    table = found.summary(0.75)
    assert table["lower"].to_numpy() == pytest.approx([1.0, 1.0], rel=1e-12)
    assert table["upper"].to_numpy() == pytest.approx([5.0, np.exp(2.0)], rel=1e-12)
    assert "mu = 3 +- 1.4, sigma2 = 3.4" in repr(found)
    assert found.accuracy.status == "approximate"
    exact = normal_model.posterior((0.0, 1.0, 3.0, 2.0), n=40, lower=-1.0, upper=2.0)
    assert exact.mass.shape == (401, 401)
    assert exact.accuracy.reason == "sums on a grid of 401 x 401"


@pytest.mark.parametrize(("level", "ends"), [(0.5, [0, 2]), (0.4999, [1, 2]), (0.5001, [0, 3])])
def test_ends_of_intervals_of_a_table_are_quantiles_even_if_probabilities_are_equal_to_levels(level, ends):
    """Two released zeros of a total of 3: |n| + |3 - n| = 3, so each count is 0, 1, 2 or 3 with probability 1/4."""
    values, _ = _noisy_tables.counts_and_rates(
        np.zeros(2), starts=[0, 2], totals=[3], scales=np.ones(2), alphas=np.ones(2), level=level
    )
    assert values[:, 6:].tolist() == [ends, ends]
