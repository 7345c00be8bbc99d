"""Tests of the transforms: kernels by references, distributions by enumeration and chain, priors, batches, status."""

import math
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from reference import additive_counts as reference_counts
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import chi2, gamma

from dpmultinomial._accuracy import SUMMARY
from dpmultinomial._kernels import geometric
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._posteriors.additive import (
    _frequency_products,
    _mode_levels,
    _mode_transforms,
    _noise,
    _share_transforms,
    _sum_chain,
    additive_counts,
)
from dpmultinomial._posteriors.additive._noise import FLAT, NoiseModel
from dpmultinomial._seeding import stream


@pytest.mark.parametrize(
    ("epsilon", "reach", "width"), [(0.3, 0, 5), (0.3, 3, 9), (1.0, 7, 2), (0.02, 40, 100), (9.0, 2, 1)]
)
def test_smooth_equals_its_reference(epsilon, reach, width):
    likelihood = stream(1, "smooth", reach).random((3, width + 2 * reach)) ** 9
    ours = geometric.smooth(likelihood, epsilon=epsilon, reach=reach)
    assert ours == pytest.approx(reference_counts.smooth(likelihood, epsilon=epsilon, reach=reach), rel=1e-13, abs=0)


@pytest.mark.parametrize("reach", [1, 4, 60])
def test_boxes_equal_their_reference(reach):
    rng = stream(1, "boxes", reach)
    low, width = np.array([0, 5]), np.array([9, 12])
    lower = np.concatenate([rng.integers(-5, 15, 40), [-geometric.LARGEST, 3]])
    upper = np.concatenate([lower[:40] + rng.integers(-1, 8, 40), [4, geometric.LARGEST]])
    shape = {"low": low, "width": width, "rise": rng.random((2, 12)), "epsilon": 0.4, "reach": reach, "length": 14}
    kind = np.arange(42) % 2
    ours = geometric.boxes(lower, upper, kind, **shape)
    assert ours == pytest.approx(reference_counts.boxes(lower, upper, kind, **shape), rel=1e-13, abs=0)


@pytest.mark.parametrize("length", [9, 90])
@pytest.mark.parametrize("kind", ["plain", "random", "first", "last", "single"])
def test_sweep_equals_its_reference(kind, length):
    rng = stream(2, "sweep", kind, length)
    spectra = np.fft.rfft(rng.random((12, length)), axis=1)
    tail, terms = np.fft.rfft(rng.random(length)), 6
    repeats = np.array([1, 3, 2, 1]) if kind in ("plain", "random") else np.ones(4, dtype=int)
    clear = rng.integers(0, 4, (terms, 4))
    clear[3:] = clear[2]
    got = lost = early = late = None
    if kind != "plain":
        got, lost = rng.integers(-1, 8, (2, terms, 4))
        got[:, 1] = 5
        if kind == "single":
            got, lost = np.full((2, terms, 4), -1)
            got[np.arange(terms), np.arange(terms) % 4] = 7
        clear = np.where((got >= 0) & (rng.random(got.shape) < 0.3), -1, clear)
        early = rng.random(terms) if kind == "random" else np.full(terms, float(kind == "first"))
        late = early if kind == "random" else 1.0 - early
    rest = {"weight": rng.random(terms), "repeats": repeats, "length": length, "early": early, "late": late}
    ours = _frequency_products.sweep(spectra, tail, clear, got, lost, **rest)
    expected = reference_counts.sweep(spectra, tail, clear, got, lost, **rest)
    for mine, theirs in zip(ours, expected, strict=True):
        assert np.abs(mine - theirs).max() < 1e-12 * np.abs(theirs).max()


def test_fewer_nodes_than_the_exact_rule_lose_nothing():
    """Check int_0^1 (1 - c + c t)^(n - 1) dt = (1 - (1 - c)^n)/(n c), and the same with a sum of powers."""
    for claims in (1, 2, 3, 4, 7, 30, 100, 300, 1000):
        t, w = _mode_levels.nodes(claims)
        for c in (0.1, 0.5, 0.9):
            exact = -math.expm1(claims * math.log1p(-c)) / (claims * c)
            assert w @ (1 - c + c * t) ** (claims - 1) == pytest.approx(exact, rel=2e-11)


@pytest.mark.parametrize(("algorithm", "ties"), [("1-independent", "random"), ("2", "random"), ("3", "random"),
                                                 ("3", "first"), ("3", "last")])  # fmt: skip
@pytest.mark.parametrize("released", [(12, 0, 3, 41), (5, 5, 5), (0, 0, 0), (1, 0, 0), (1, 1, 2), (7,), (0, 3)])
def test_transforms_equal_the_chain(released, algorithm, ties):
    model = {"epsilon": 0.7, "algorithm": algorithm, "ties": ties, "support": 45}
    ours = additive_counts.posterior(released, method="transforms", **model)
    chain = additive_counts.posterior(released, method="chain", **model)
    assert ours.mean() == pytest.approx(chain.mean(), rel=1e-10)
    assert ours.variance() == pytest.approx(chain.variance(), rel=1e-9)
    values, p = chain.total()
    mine, q = ours.total()
    assert values @ p == pytest.approx(mine @ q, rel=1e-10)
    assert min(q.min(), *(ours.marginal(i)[1].min() for i in range(len(released)))) >= 0  # rounding errors are removed
    assert ours.accuracy.status == "exact"
    vectors, probability = chain.top(4)
    assert np.exp(ours.law.log_probabilities(vectors)) == pytest.approx(probability, rel=1e-8)


@pytest.mark.parametrize("prior", ["flat", "flat total", 0.5, (2.0, 0.4)])
@pytest.mark.parametrize("algorithm", ["1-independent", "2", "3", "noisy"])
def test_priors_against_the_table_of_pairs(prior, algorithm):
    """Check the prior times the flat posterior's table, summed over a sufficiently wide grid (support 6)."""
    released, model = (3, 5), {"epsilon": 0.8, "support": 6}
    if algorithm == "noisy":
        ours = additive_counts.posterior_of_noisy(released, noisy_total=9, prior=prior, **model)
        noise = TwoSidedGeometric(**model)
        grid = np.array(list(product(range(20), repeat=2)))
        weights = noise.pmf(np.array(released) - grid).prod(axis=1) * noise.pmf(9 - grid.sum(axis=1))
    else:
        model["algorithm"] = algorithm
        ours = additive_counts.posterior(released, prior=prior, method="transforms", **model)
        table = additive_counts.posterior(released, method="chain", **model).law
        grid = np.array(
            list(product(*(low + np.arange(n) for low, n in zip(table.low, table.table.shape, strict=True))))
        )
        weights = table.table.ravel()
    if prior != "flat":
        a = np.broadcast_to(1.0 if prior == "flat total" else np.array(prior), 2)
        total = grid.sum(axis=1)
        logs = (gammaln(grid + a) - gammaln(grid + 1)).sum(axis=1) + gammaln(total + 1) - gammaln(total + a.sum())
        weights = weights * np.exp(logs)
    weights = weights / weights.sum()
    mean = weights @ grid
    assert ours.mean() == pytest.approx(mean, rel=1e-10)
    assert ours.variance() == pytest.approx(weights @ (grid - mean) ** 2, rel=1e-9)
    best = np.argsort(-weights)[:5]
    if algorithm != "noisy" or prior != "flat":
        assert np.exp(ours.law.log_probabilities(grid[best])) == pytest.approx(weights[best], rel=1e-9)


def test_flat_prior_decides_the_total_of_zeros():
    """Check fifty zeros at epsilon 1: T is a negative binomial sum for a flat prior, geometric for a flat total.

    P(T | noisy total <= 0) is proportional to P(D >= T) = c a^T; times (T + 49 choose 49) and times 1.
    """
    law = additive_counts.posterior([0] * 50, epsilon=1.0, algorithm="2", support=math.inf)
    table = law.prior_influence().set_index("prior")["mean"]
    a = math.exp(-1.0)
    assert table["flat"] == pytest.approx(50 * a / (1 - a), rel=1e-9)
    assert table["flat total"] == pytest.approx(a / (1 - a), rel=1e-9)
    assert table.iloc[2] == pytest.approx(a / (1 - a), rel=1e-9)


def test_untruncated_noise():
    noise = NoiseModel(0.3)
    d = np.arange(-200, 201)
    assert noise.peak * np.exp(-0.3 * np.abs(d)).sum() == pytest.approx(1, rel=1e-12)
    cut = TwoSidedGeometric(epsilon=0.3, support=4)
    assert NoiseModel(0.3, 4).peak == pytest.approx(cut.probabilities()[4], rel=1e-13)
    assert NoiseModel(0.3, 4).at_least([0, 2, 4, 5]) == pytest.approx(
        [cut.probabilities()[k:].sum() for k in (4, 6, 8, 9)]
    )
    assert NoiseModel(0.3, 4).above_zero(np.array([-4, 0, 3])) == pytest.approx(
        [cut.probabilities()[8], cut.probabilities()[4:].sum(), cut.probabilities()[1:].sum()]
    )


@pytest.mark.parametrize("algorithm", ["1-independent", "2", "3"])
def test_draws_follow_the_marginals(algorithm):
    law = additive_counts.posterior([0, 3, 17, 3], epsilon=0.4, algorithm=algorithm, method="transforms")
    draws = law.sample(20_000, rng=stream(5, algorithm))
    z = (draws.mean(axis=0) - law.mean()) / np.sqrt(law.variance() / 20_000)
    assert np.abs(z).max() < 4.5  # 4 normal values: false alarm 3e-5
    for law_of, seen in ((law.total(), draws.sum(axis=1)), (law.marginal(1), draws[:, 1])):
        values, p = law_of
        kept = 20_000 * p > 5
        found = np.bincount(seen - values[0], minlength=len(values))[: len(values)]
        statistic = ((found - 20_000 * p)[kept] ** 2 / (20_000 * p[kept])).sum()
        assert statistic < chi2.isf(1e-6, kept.sum() - 1)  # false alarm 1e-6 each


def test_low_epsilon_certificates():
    for algorithm in ("1-independent", "2", "3"):
        law = additive_counts.posterior([12, 0, 3, 41, 158], epsilon=0.1, algorithm=algorithm, support=math.inf)
        values, p = law.total()
        assert law.mean().sum() == pytest.approx(values @ p, rel=1e-12)
        assert law.accuracy.status == "exact"
        assert law.law.certificate.error < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.03, 0.01])
def test_very_low_epsilon(epsilon):
    """Check that the component means sum to the mean of the total, and that the sd is at least near sqrt(2)/epsilon."""
    for algorithm in ("1-independent", "2", "3"):
        law = additive_counts.posterior([12, 0, 3, 41, 158], epsilon=epsilon, algorithm=algorithm, support=math.inf)
        values, p = law.total()
        assert law.mean().sum() == pytest.approx(values @ p, rel=1e-11)
        assert law.accuracy.status == "exact"


def test_windows_say_what_they_cut():
    law = additive_counts.posterior([250, 357, 12], epsilon=0.2, algorithm="2", window=30)
    wide = additive_counts.posterior([250, 357, 12], epsilon=0.2, algorithm="2")
    assert law.accuracy.status == "approximate"
    values, p = wide.marginal(0)
    assert law.accuracy.error >= p[np.abs(values - 250) > 30].sum() * (1 - 1e-9)
    assert law.accuracy.error > 0.001
    assert wide.accuracy.status == "exact"


def test_summary_and_repr():
    law = additive_counts.posterior([3, 5], epsilon=1.0, algorithm="3")
    table = law.summary(0.9)
    assert tuple(table.columns) == SUMMARY
    assert table["mean"].to_numpy()[:2] == pytest.approx(law.mean())
    assert table["sd"].to_numpy()[:2] ** 2 == pytest.approx(law.variance())
    assert (table["lower"][0], table["upper"][0]) == law.interval(0, level=0.9)
    assert table["mean"].to_numpy()[:2].sum() == pytest.approx(table["mean"][2])
    assert "2 counts" in repr(law)
    assert "exact" in repr(law)
    with pytest.raises(ValueError, match="level"):
        law.summary(1.0)
    with pytest.raises(ValueError, match="window"):
        additive_counts.posterior([3, 5], epsilon=1.0, algorithm="3", window=5).prior_influence()


def test_batches_do_not_depend_on_how_they_are_split():
    tables = [
        (f"t{i}", additive_counts.Release([i, 2 * i, 5], 1.0 if i % 2 else 0.5, a))
        for i, a in enumerate(("2", "3", "1-independent", "3"))
    ]
    tables.insert(2, ("bad", additive_counts.Release([1, -2], 1.0, "3")))
    tables.append(("worse", additive_counts.Release([1, 2], 0.0, "2")))
    whole = additive_counts.posteriors(tables)
    parts = [additive_counts.posteriors([pair]) for pair in tables]
    rows = [tuple(map(str, row)) for part in parts for row in part.itertuples(index=False)]
    assert [tuple(map(str, row)) for row in whole.itertuples(index=False)] == rows
    refused = whole[whole["status"] == "refused"].set_index("table")["reason"]
    assert "released" in refused["bad"]
    assert "epsilon" in refused["worse"]
    assert len(whole) == 4 * 4 + 2
    assert additive_counts.posteriors([]).empty


@pytest.mark.parametrize("bad", [{"prior": "peaked"}, {"prior": -1.0}, {"prior": [1.0, 2.0]}, {"method": "magic"},
                                 {"support": 0}, {"support": 1.5}, {"prior": 0.5, "window": 5},
                                 {"window": 3, "method": "transforms"}])  # fmt: skip
def test_new_arguments_are_checked(bad):
    with pytest.raises((ValueError, TypeError)):
        additive_counts.posterior([1, 2, 3], **({"epsilon": 1.0, "algorithm": "3"} | bad))
    assert _noise.of(_noise.FLAT, 3) is _noise.FLAT


@pytest.mark.parametrize("released", [[3, 5], [0, 0], [0, 4], [40, 2]])
def test_summed_totals_of_whole_noise_equal_the_dense_products(released):
    """Check that running sums for untruncated noise, and products with the band of noise truncated at exp(-38), agree
    up to the truncation."""
    law = {"epsilon": 1.5, "algorithm": "1-summed"}
    whole = additive_counts.posterior(released, **law).law.table
    dense = additive_counts.posterior(released, **law, support=26).law.table
    assert whole == pytest.approx(dense, rel=1e-6, abs=1e-15)


def test_cut_noise_and_windows_are_summed_as_cut(monkeypatch):
    """Check that noise truncated within its tail is not a power beyond the truncation, so no recursion may be used."""
    monkeypatch.setattr(_sum_chain, "pairs", None)
    for cut in ({"support": 9}, {"window": 9}):
        law = {"epsilon": 0.8, "algorithm": "1-summed", **cut}
        dense = additive_counts.posterior([6, 11], **law).law.table
        with monkeypatch.context() as patch:
            patch.setattr(_noise, "BANDED", 0)
            boxes = additive_counts.posterior([6, 11], **law).law.table
        assert boxes == pytest.approx(dense, rel=1e-9, abs=1e-18)


def test_pair_sums_are_the_sum_written_out():
    """Compute every term of the definition separately, with weights that exclude sums and totals."""
    rng, reach, shift, epsilon, wide, high = stream(6, "pair sums"), 2, 3, 0.4, 6, 9
    like = rng.random((wide + 2 * reach, high + 2 * reach))
    like[2, 3] = 50.0
    weights = rng.random((wide + high - 1, 25)) * (rng.random((wide + high - 1, 25)) < 0.8)
    wanted = np.zeros((wide, high))
    for i, j, p, q in product(*map(range, (wide, high, *like.shape))):
        if 0 <= p + q - shift < 25:
            away = abs(p - reach - i) + abs(q - reach - j) - abs(p + q - 2 * reach - i - j)
            wanted[i, j] += weights[i + j, p + q - shift] * like[p, q] * np.exp(-epsilon * away)
    found = _sum_chain.pairs(like, weights, epsilon=epsilon, reach=reach, shift=shift)
    assert found == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize("bad", [{"likelihood": np.ones((4, 6))}, {"likelihood": -np.ones((7, 6))}, {"reach": -1},
                                 {"weights": np.ones((3, 5))}, {"weights": np.full((4, 5), np.inf)}, {"shift": -1},
                                 {"epsilon": 0.0}, {"weights": np.ones(4)}])  # fmt: skip
def test_pair_sums_refuse_what_does_not_fit(bad):
    given = {"likelihood": np.ones((7, 6)), "weights": np.ones((4, 5)), "epsilon": 0.4, "reach": 2, "shift": 3}
    assert _sum_chain.pairs(**given).shape == (3, 2)
    with pytest.raises(ValueError):
        _sum_chain.pairs(**(given | bad))


@pytest.mark.parametrize(
    "law",
    [
        {"algorithm": "1-summed", "epsilon": 0.01},
        {"algorithm": "3", "ties": "ieee", "epsilon": 0.01},
        {"algorithm": "3", "ties": "ieee", "epsilon": 0.03},  # its table is four times as wide as the windows of others
    ],
)
def test_pairs_too_wide_for_a_table_are_refused_before_any_work(law):
    with pytest.raises(ValueError, match="only for two components of moderate size"):
        additive_counts.posterior([10, 20], **law)


def test_large_counts_under_little_noise_have_a_narrow_table():
    """Check that the table covers the range of the noise for counts of any size: the mode is near the release."""
    law = additive_counts.posterior([100_000, 250_000], epsilon=4.0, algorithm="3", ties="ieee")
    assert law.mean() == pytest.approx([100_000, 250_000], abs=2)


def test_masses_of_equal_claims_are_their_integrals():
    """Check levels of different shape together: sum over the last served component, with the chance t integrated."""
    shapes = [[(0, 2), (1, 1)], [(0, 3)], [(0, 1), (1, 4)], [(1, 2), (2, 1)]]  # columns and their repeats, a level each
    rng, tilts = stream(3, "claims"), 2
    repeats = np.array([m for level in shapes for _, m in level])
    parts = [rng.random((tilts, len(repeats))) + 0.1 for _ in range(3)]
    begin = np.cumsum([0, *map(len, shapes)])
    claims = np.add.reduceat(repeats, begin[:-1])
    logs = (*map(np.log, parts), repeats)
    found = dict(_mode_levels._batched(np.arange(4), begin[:-1], begin[1:], claims, logs, "random"))
    for level, (k, tilt) in product(range(4), enumerate(range(tilts))):
        clear, got, lost = (part[tilt, begin[level] : begin[level + 1]] for part in parts)
        m = repeats[begin[level] : begin[level + 1]]

        def integrand(t, clear=clear, got=got, lost=lost, m=m):
            before = clear + t * got + (1 - t) * lost
            return (m * got / before).sum() * (before**m).prod()

        assert found[level][k] == pytest.approx(np.log(quad(integrand, 0, 1)[0]), abs=1e-11)


@pytest.mark.parametrize("ties", ["random", "first"])
def test_each_interval_is_transformed_once(monkeypatch, ties):
    """Intervals that several levels share have one row, and empty intervals beside a claim have none."""
    chunks, collect = [], _mode_transforms.Chunk.collect
    monkeypatch.setattr(
        _mode_transforms.Chunk, "collect", lambda self, marginals: chunks.append(self) or collect(self, marginals)
    )
    problem = _mode_transforms.Problem(np.array([200, 190, 213]), NoiseModel(0.5), _noise.FLAT, ties)
    _mode_transforms.solve(problem)
    assert any((chunk.clear == -1).any() for chunk in chunks)
    for chunk in chunks:
        intervals = np.stack([chunk.kind, chunk.lower, chunk.upper])
        assert len(np.unique(intervals, axis=1).T) == len(chunk.kind)


def framed(totals=(9, 12), low=(2, 4), width=4, **changes):
    """Return a frame of three components in two columns, one of which is repeated, and random factors."""
    rng = stream(5, "framed", *totals, *low)
    columns = _mode_levels.columns(np.array([3, 3, 5]), np.ones(3), together=True)
    values = np.arange(*totals)
    given = {
        "columns": columns, "low": np.array(low), "totals": values, "log_g": rng.normal(size=len(values)),
        "log_prior": rng.normal(size=(2, width)), "rate": 1.0, "endless": False,
    }  # fmt: skip
    return _share_transforms.Frame(**(given | changes)), 5.0 * rng.random((2, width))


def listed(frame, factors):
    """Return the weight of every vector of counts: factors, priors, and the factor of the total."""
    of = frame.columns.of
    weights = {}
    for place in product(range(factors.shape[1]), repeat=len(of)):
        vector = tuple((frame.low[of] + place).tolist())
        at = sum(vector) - int(frame.totals[0])
        if 0 <= at < len(frame.totals):
            logs = frame.log_prior[of, place].sum() + frame.log_g[at]
            weights[vector] = float(factors[of, place].prod() * np.exp(logs))
    return weights


@pytest.mark.parametrize(
    ("totals", "low"), [((9, 12), (2, 4)), ((0, 40), (2, 4)), ((17, 20), (2, 4)), ((8, 9), (0, 0))]
)
def test_a_product_is_the_sum_over_all_vectors(totals, low):
    frame, factors = framed(totals, low)
    weights = listed(frame, factors)
    whole = sum(weights.values())
    found = _share_transforms.product(frame, factors, 0.7)
    assert found.log_weight == pytest.approx(0.7 + math.log(whole), abs=1e-12)
    for column, component in enumerate((0, 2) if frame.columns.of[0] == 0 else (2, 0)):
        marginal = np.zeros(4)
        for vector, weight in weights.items():
            marginal[vector[component] - low[column]] += weight / whole
        assert found.marginals[column] == pytest.approx(marginal, abs=1e-13)
    total = [sum(w for v, w in weights.items() if sum(v) == t) / whole for t in range(*totals)]
    assert found.total == pytest.approx(total, abs=1e-13)
    assert 0 < found.wrapped < 1e-15
    assert 1 <= found.condition < 50
    assert found.length >= 32


def test_products_that_are_impossible_or_negligible_are_not_computed():
    frame, factors = framed()
    tilted = _share_transforms.Tilted(frame, factors * np.exp(frame.log_prior))
    bound = tilted.cumulants(tilted.best())[0]
    assert _share_transforms.product(frame, factors, -2.0, bound - 2.0 - 1e-9) is not None
    assert _share_transforms.product(frame, factors, -2.0, bound - 2.0 + 1e-9) is None
    factors[1] = 0.0
    assert _share_transforms.product(frame, factors, 0.0) is None
    factors[1, 2] = 1e-300
    assert _share_transforms.product(frame, factors, 0.0) is not None


@pytest.mark.parametrize("theta", [-0.4, 0.0, 0.3])
def test_tilted_weights_are_normalised(theta):
    frame, factors = framed()
    h, g = _share_transforms.Tilted(frame, factors).weights(theta)
    wanted = factors * np.exp(theta * np.arange(4))
    assert h == pytest.approx(wanted / wanted.sum(axis=1, keepdims=True), rel=1e-12)
    wanted = np.exp(frame.log_g - theta * frame.totals)
    assert g == pytest.approx(wanted / wanted.sum(), rel=1e-12)


@pytest.mark.parametrize("totals", [(9, 12), (10, 11), (15, 16), (0, 30)])
def test_the_best_tilt_has_a_mean_within_half_a_deviation(totals):
    tilted = _share_transforms.Tilted(*framed(totals))
    theta = tilted.best()
    _, mean, variance = tilted.cumulants(theta)
    assert abs(mean) <= 0.5 * variance**0.5
    assert -8.0 < theta < 0.9


@pytest.mark.parametrize(
    ("totals", "rate", "width", "limit"),
    [((60, 61), 1.0, 4, 0.9), ((0, 1), 1.0, 4, -8.0), ((0, 1), 20.0, 4, -18.0), ((60, 61), 500.0, 4, 135.0)],
)
def test_the_best_tilt_of_an_impossible_total_is_at_its_limit(totals, rate, width, limit):
    """Check 0.9 of the rate, or of 600 divided by the width, and at least 8 towards 0."""
    tilted = _share_transforms.Tilted(*framed(totals, rate=rate, width=width))
    assert tilted.steepest == min(rate, 600 / width)
    assert tilted.best() == pytest.approx(limit, abs=2e-5 * abs(limit))


@pytest.mark.parametrize(
    ("steepest", "theta", "variance", "length", "bounds"),
    [
        # log sums theta^2/2. Upwards, the room is 9.5 - 0.5 = 9, of which 7.2 has (7.7^2/2 - 0.125 + 44)/7.2 = 10.21;
        # downwards, it is 9.5 + 0.5 = 10, of which 8 has (7.5^2/2 - 0.125 + 44)/8 = 9
        (10.0, 0.5, 1.0, 11, [(7.2, 7.7**2 / 2), (8.0, 7.5**2 / 2)]),
        # rooms 0.95 and 9, at least 8 + 1 towards 0: (0.76^2/2 + 44)/0.76 = 58.3, but 6/sd = 0.8 has 55.4
        (1.0, 0.0, 56.25, 56, [(0.8, 0.32), (7.2, 7.2**2 / 2)]),
        # a variance of 0 has the whole room: (0.95^2/2 + 44)/0.95 = 46.8
        (1.0, 0.0, 0.0, 47, [(0.95, 0.95**2 / 2), (9.0, 9.0**2 / 2)]),
    ],
)
def test_a_length_neglects_less_than_exp_of_minus_44(steepest, theta, variance, length, bounds):
    tilted = SimpleNamespace(steepest=steepest, log_sum=lambda t: t * t / 2)
    found = _share_transforms.length_of(tilted, theta, theta**2 / 2, variance)
    assert found[0] == length
    assert np.array(found[1]) == pytest.approx(np.array(bounds), rel=1e-12)


def mixed(orders, log_weights, scales=lambda _: 0.0, **changes):
    """Return a mixture of products, and the indices of the factors that it asked for."""
    frame, first = framed(**changes)
    table, asked = [first, *(framed((9, 12), (k, k))[1] for k in range(1, 6))], []

    def factors(key):
        asked.append(key)
        return table[key]

    law = _share_transforms.mixture(frame, factors, np.array(log_weights), orders, scales)
    return law, frame, table, asked


def test_a_mixture_is_the_sum_of_its_products():
    """Check every vector, in the ranges and next to them, with weights and scales of the products."""
    law, frame, table, _ = mixed([[1, 0], [2]], [0.3, -0.5, 1.0], lambda key: 0.1 * key)
    parts = [listed(frame, factors) for factors in table[:3]]
    weights = np.exp([0.3, -0.5 + 0.1, 1.0 + 0.2])
    wanted = {v: sum(w * part[v] for w, part in zip(weights, parts, strict=True)) for v in parts[0]}
    whole = sum(wanted.values())
    assert law.solved.weights == pytest.approx(
        [w * sum(part.values()) / whole for w, part in zip(weights, parts, strict=True)], rel=1e-11
    )
    vectors = np.array(list(product(range(1, 9), repeat=3)))
    chances = [wanted.get(tuple(v), 0.0) / whole for v in vectors.tolist()]
    assert np.exp(law.log_probabilities(vectors)) == pytest.approx(chances, rel=1e-10, abs=0)
    for i in range(3):
        values, p = law.marginal(i)
        assert p == pytest.approx([np.array(chances)[vectors[:, i] == v].sum() for v in values], abs=1e-13)
    values, p = law.total()
    assert p == pytest.approx([np.array(chances)[vectors.sum(axis=1) == v].sum() for v in values], abs=1e-13)
    certificate = law.certificate
    assert certificate.pruned == pytest.approx(3 * math.exp(-37), rel=1e-12, abs=0)
    assert certificate.cut == 0.0
    assert 0 < certificate.wrapped < 1e-15
    assert 1 <= certificate.condition < 50
    drawn = law.draw(4000, rng=stream(1, "mixed"))
    for vector in map(list, sorted(wanted, key=wanted.get)[-3:]):
        chance = wanted[tuple(vector)] / whole
        assert abs((drawn == vector).all(axis=1).mean() - chance) < 4.5 * (chance * (1 - chance) / 4000) ** 0.5


@pytest.mark.parametrize(
    ("orders", "log_weights", "asked", "kept"),
    [
        ([[0, 1, 2, 3]], [0.0, -45.0, 0.0, 0.0], [0, 1], 1),  # the second ends the order
        ([[0, 1], [2, 3]], [0.0, -45.0, 0.0, 0.0], [0, 1, 2, 3], 3),
        ([[3, 2, 1, 0]], [0.0] * 4, [3, 2, 1, 0], 4),
        ([[0, 1, 2]], [0.0, -36.0, 0.0], [0, 1, 2], 3),
    ],
)
def test_an_order_ends_at_the_first_negligible_product(orders, log_weights, asked, kept):
    law, _, _, found = mixed(orders, log_weights)
    assert found[: len(asked)] == asked
    assert len(found) == len(asked)
    assert len(law.solved.weights) == kept


def test_impossible_products_are_skipped_until_there_is_a_possible_one():
    frame, factors = framed()
    table = [np.zeros_like(factors), factors, np.zeros_like(factors), factors]
    law = _share_transforms.mixture(frame, table.__getitem__, np.zeros(4), [[0, 1, 2, 3]])
    assert len(law.solved.weights) == 1
    with pytest.raises(ValueError, match="probability 0 under this mechanism and these windows"):
        _share_transforms.mixture(frame, table.__getitem__, np.zeros(3), [[0, 2]])


@pytest.mark.parametrize(
    ("low", "first", "cut"),
    [((2, 4), 9, 2 * (0.1 + 0.2) + 0.3 + 0.4 + 0.05 + 0.07), ((0, 0), 0, 2 * 0.2 + 0.4 + 0.07)],
)
def test_the_mass_beyond_the_windows_is_a_geometric_sum_of_their_ends(low, first, cut):
    """Check the marginals' and the total's first (unless it is 0) and last probability, 1/(1 - exp(-rate)) times."""
    frame, _ = framed((first, first + 3), low, rate=0.5, endless=True)
    repeated = int(np.argmax(frame.columns.repeats))
    marginals = np.zeros((2, 4))
    marginals[repeated, [0, 3]], marginals[1 - repeated, [0, 3]] = (0.1, 0.2), (0.3, 0.4)
    part = _share_transforms.Product(0.0, marginals, np.array([0.05, 0.9, 0.07]), 40, 0.0, 1.0)
    half = _share_transforms.Product(0.0, 0 * marginals, np.zeros(3), 40, 0.0, 1.0)
    found = _share_transforms._edges(frame, [part, half], np.array([0.25, 0.75]))
    assert found == pytest.approx(0.25 * cut / (1 - math.exp(-0.5)), rel=1e-12)


def share_problem(released, epsilon, support=math.inf, prior=FLAT, drawn=False):
    return _share_transforms.Problem(np.array(released), NoiseModel(epsilon, support), prior, drawn)


@pytest.mark.parametrize(
    ("released", "epsilon", "support", "drawn", "span"),
    [
        ([3, 5], 1.0, math.inf, False, 66),
        ([3, 5, 7], 0.9, math.inf, False, 77),
        ([3, 5, 7], 0.9, math.inf, True, 154),
        ([3, 5, 7], 0.9, 4, False, 12),
        ([3, 5, 7], 0.9, 4, True, 24),
    ],
)
def test_the_span_of_totals_is_60_and_3_per_count_by_epsilon(released, epsilon, support, drawn, span):
    problem = share_problem(released, epsilon, support, drawn=drawn)
    assert (problem.span, problem.total, problem.doses) == (span, sum(released), 1 + drawn)


@pytest.mark.parametrize("prior", [FLAT, _noise.of([0.5, 2.0, 1.0], 3)])
@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("released", [(400, 30, 0), (5, 2, 0), (90_000, 5, 100)])
def test_windows_contain_gamma_quantiles_of_the_shares_and_the_noise(released, drawn, prior):
    """Check the quantiles of gamma(k + a) at exp(-38), scaled to the largest and smallest sum of the weights, plus the
    noise of a count once or twice."""
    problem = share_problem(released, 1.5, prior=prior, drawn=drawn)
    low, width = _share_transforms._windows(problem)
    a, total = prior.shapes(3), sum(released)
    span, slack = 46 * (1 + drawn), min(40 * (1 + drawn), 46 * (1 + drawn))  # 69/1.5 and 60/1.5
    ends = []
    for k, shape, first in zip(released, a, low[problem.columns.of].tolist(), strict=True):
        scale = total / (total + a.sum())
        least = gamma(k + shape).ppf(math.exp(-38)) * scale * max(1 - span / total, 0)
        most = gamma(k + shape).isf(math.exp(-38)) * scale * (1 + span / total)
        assert first == max(math.floor(least) - slack, 0)
        ends.append(min(math.ceil(most), total + span) + slack - first)
    assert width == max(ends) + 1
    assert problem.columns.repeats.sum() == 3


def test_windows_of_a_release_of_zeros_end_at_the_span():
    low, width = _share_transforms._windows(share_problem([0, 0], 1.0))
    assert (low.tolist(), width) == ([0], 67)


@pytest.mark.parametrize("released", [(0, 0), (1, 3), (40, 9)])
@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize(("support", "reach"), [(3, 3), (math.inf, 44)])
def test_totals_have_the_probability_of_their_noise(released, drawn, support, reach):
    """Check P(M | T) up to a constant, by listing the noise: max(T + D, 0) = M, or a draw given the noisy total; the
    noise of the total ends at 66/1.5 = 44."""
    problem = share_problem(released, 1.5, support, drawn=drawn)
    totals, logs = _share_transforms._totals(problem)
    m, far = sum(released), reach * (1 + drawn)
    assert totals.tolist() == [*range(max(m - far, 0), m + far + 1)]
    d = np.arange(-200, 201)
    p = np.exp(-1.5 * np.abs(d)) * (np.abs(d) <= support)
    wanted = []
    for t in totals.tolist():
        if drawn:
            n = t + d
            kept = (np.abs(m - n) <= reach) & (np.abs(d) <= reach)
            above = np.array([p[d >= -v].sum() for v in n])
            chance = np.exp(-1.5 * np.abs(m - n[kept])) @ (p[kept] / above[kept])
        else:
            chance = p[np.maximum(t + d, 0) == m].sum()
        wanted.append(chance)
    with np.errstate(divide="ignore"):
        gap = logs - np.log(wanted)
    assert gap == pytest.approx(gap[0], abs=1e-9)


@pytest.mark.parametrize("total", [1, 2, 7, 60, 900])
@pytest.mark.parametrize("span", [5, 40])
def test_nodes_of_a_trapezoid_rule_give_powers(total, span):
    """The integral of u^(M - 1) exp(-u T)/Gamma(M) is T^-M, for every T within `span` of M; neighbouring nodes have the
    same ratio, and every second node is not enough."""
    nodes, log_weights = _share_transforms._nodes(total, span)
    steps = np.diff(np.log(nodes))
    assert steps == pytest.approx(steps[0], rel=1e-9)
    for t in {max(total - span, 1), total, total + span}:
        terms = np.exp(log_weights - nodes * t + total * math.log(t))
        assert math.fsum(terms) == pytest.approx(1, rel=1e-12)
        assert abs(math.fsum(2 * terms[::2]) - 1) > 1e-12
        assert max(terms[0], terms[-1]) < 1e-13


@pytest.mark.parametrize(
    ("noisy", "total", "epsilon", "support", "ends", "of_total"),
    [
        ([200, 300], 510, 1.0, math.inf, [(134, 266), (234, 366)], (444, 576)),  # 66/1
        ([200, -9], 195, 1.5, math.inf, [(156, 244), (0, 44)], (151, 239)),  # 44
        ([200, 300], 510, 1.0, 4, [(202, 204), (302, 304)], (506, 508)),  # the counts sum to at most 508
        ([2, -3], -1, 1.0, 4, [(0, 3), (0, 1)], (0, 3)),
    ],
)
def test_noisy_counts_are_within_their_noise_of_the_true_ones(noisy, total, epsilon, support, ends, of_total):
    law = _share_transforms.solve_noisy(np.array(noisy), total, NoiseModel(epsilon, support), FLAT)
    for i, (first, last) in enumerate(ends):
        column = law.solved.of[i]
        if support == math.inf:
            assert law.solved.low[column] == first
            assert len(law.solved.marginals[column]) == max(b - a for a, b in ends) + 1
        else:
            values, p = law.marginal(i)
            assert (values[p > 1e-12].min(), values[p > 1e-12].max()) == (first, last)
    values, p = law.total()
    if support == math.inf:
        assert (law.solved.totals[0], law.solved.totals[-1]) == of_total
    else:
        assert (values[p > 1e-12].min(), values[p > 1e-12].max()) == of_total
    assert law.certificate.error < 1e-11
