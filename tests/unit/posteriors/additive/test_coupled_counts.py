"""Tests of the transforms: kernels by references, distributions by enumeration and chain, priors, batches, status."""

import math
from itertools import product

import numpy as np
import pytest
from reference import additive_counts as reference_counts
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import chi2

from dpmultinomial._accuracy import SUMMARY
from dpmultinomial._kernels import geometric
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._posteriors.additive import (
    _frequency_products,
    _mode_levels,
    _mode_transforms,
    _noise,
    _sum_chain,
    additive_counts,
)
from dpmultinomial._posteriors.additive._noise import NoiseModel
from dpmultinomial._seeding import stream


@pytest.mark.parametrize(
    ("epsilon", "reach", "width"), [(0.3, 0, 5), (0.3, 3, 9), (1.0, 7, 2), (0.02, 40, 100), (9.0, 2, 1)]
)
def test_smooth_equals_its_reference(epsilon, reach, width):
    likelihood = stream(1, "smooth", reach).random((3, width + 2 * reach)) ** 9
    ours = geometric.smooth(likelihood, epsilon=epsilon, reach=reach)
    assert ours == pytest.approx(reference_counts.smooth(likelihood, epsilon=epsilon, reach=reach), rel=1e-13)


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
