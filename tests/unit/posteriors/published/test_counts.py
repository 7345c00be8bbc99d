"""Tests of noisy counts without a total: sums over all counts, priors, bounds, conflicts, and scales up to 1e12."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import count_laws as reference
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.perturbation import Perturbation
from dpmultinomial._posteriors.published import _window_sums, cells, conflict, counts, priors, windows
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.published.priors import (
    Flat,
    Geometric,
    Listed,
    NegativeBinomial,
    Reciprocal,
    choose,
    prior_of,
)
from dpmultinomial._seeding import stream

TABLE = {"true": [0, 1, 1, 2, 2, 3], "released": [0, 0, 3, 0, 3, 3], "probability": [1, 2 / 3, 1 / 3, 1 / 3, 2 / 3, 1]}
LAWS = {
    "discrete gaussian": {"law": "discrete_gaussian", "sigma": 3.0},
    "narrow": {"law": "discrete_gaussian", "sigma": 0.4},
    "discrete laplace": {"law": "discrete_laplace", "scale": 2.5},
    "laplace": {"law": "laplace", "scale": 1.7},
    "gaussian": {"law": "gaussian", "sd": 4.0},
    "clipped": {"law": "discrete_gaussian", "sigma": 3.0, "clipped": {"at": 0}},
    "withheld": {"law": "discrete_laplace", "scale": 2.0, "threshold": 4},
    "rounded": {"law": "gaussian", "sd": 3.0, "rounded": 5},
    "exact": {"law": "exact"},
    "random rounding": {"law": "table", "table": TABLE},
}
PRIORS = {
    "flat": "flat",
    "reciprocal": "1/(1+n)",
    "geometric": {"law": "geometric", "mean": 7.0},
    "negative binomial": {"law": "negative_binomial", "mean": 7.0, "shape": 0.6},
    "table": {"law": "table", "counts": [0, 3, 4, 40], "probabilities": [0.1, 0.5, 0.3, 0.1]},
}
FORMULAS = {
    "flat": lambda n: np.ones(len(n)),
    "reciprocal": lambda n: 1 / (1 + n),
    "geometric": lambda n: stats.geom.pmf(n + 1, 1 / 8),
    "negative binomial": lambda n: stats.nbinom.pmf(n, 0.6, 0.6 / 7.6),
    "table": lambda n: np.select([n == 0, n == 3, n == 4, n == 40], [0.1, 0.5, 0.3, 0.1], 0.0),
}
N = np.arange(2000)


def by_sums(released, law, weights, lower=0, upper=np.inf):
    p = weights * np.exp(law.log_likelihood(released, N)) * (lower <= N) * (upper >= N)
    return p / p.sum()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", LAWS)
def test_a_count_has_the_law_that_sums_give(name, prior):
    """Return every noise distribution with every prior, two or three releases each, some of them extreme."""
    law = law_of(LAWS[name])
    values = {
        "exact": [3, 40], "random rounding": [0, 3], "clipped": [0, 4], "withheld": [np.nan, 9], "rounded": [-5, 20.0],
    }.get(name, [-9, 3, 25])  # fmt: skip
    found = counts.posterior({f"{y}": y for y in values}, noise=law, prior=PRIORS[prior])
    batched = counts.exact(values, noise=law, prior=PRIORS[prior], level=0.9)
    for i, y in enumerate(values):
        p = by_sums(y, law, FORMULAS[prior](N))
        own = found.counts[f"{y}"]
        assert own.pmf(N) == pytest.approx(p, abs=1e-12)
        mean = p @ N
        assert own.mean() == pytest.approx(mean, rel=1e-11, abs=1e-12)
        assert batched.own.mean[i] == pytest.approx(mean, rel=1e-11, abs=1e-12)
        assert batched.own.sd[i] == pytest.approx(np.sqrt((N - mean) ** 2 @ p), rel=1e-9, abs=1e-12)
        assert own.interval(0.9) == (batched.own.lower[i], batched.own.upper[i])
        assert own.accuracy.status == "exact"
    assert (found.summary()["status"] == "exact").all()


@pytest.mark.parametrize(("lower", "upper"), [(0, 5), (4, 6), (12, np.inf), (20, 20), (0, np.inf)])
def test_bounds_are_kept_however_far_the_release_is(lower, upper):
    law = law_of(LAWS["discrete gaussian"])
    for y in (-30, 4, 60):
        found = counts.posterior([y], noise=law, prior="1/(1+n)", lower=lower, upper=upper).counts["1"]
        p = by_sums(y, law, FORMULAS["reciprocal"](N), lower, upper)
        assert found.pmf(N) == pytest.approx(p, abs=1e-12)


def test_without_a_bound_a_flat_prior_gives_back_the_noise():
    """Check that N given y has the distribution of y - noise: mean y and the noise's sd, as in least squares."""
    law = law_of(LAWS["discrete gaussian"])
    found = counts.posterior([-7, 3], noise=law, lower=-np.inf)
    assert found.counts.mean().to_numpy() == pytest.approx([-7, 3], abs=1e-12)
    assert found.counts.variance().to_numpy() == pytest.approx(law.variance(), rel=1e-12)
    assert found.facts["prior"]["law"] == "flat"


def test_what_was_not_measured_has_its_prior():
    found = counts.posterior({"a": 3, "b": None}, noise=law_of(LAWS["laplace"]), prior={"law": "geometric", "mean": 7})
    assert found.counts["b"].pmf(N) == pytest.approx(FORMULAS["geometric"](N), abs=1e-15)
    assert found.facts["measured"] == 1
    bounded = counts.posterior([np.nan], noise=law_of(LAWS["laplace"]), prior="flat", upper=4)
    assert bounded.counts["1"].pmf([0, 4, 5]) == pytest.approx([0.2, 0.2, 0])
    with pytest.raises(
        ValueError,
        match="b: the released value nan cannot be used, because the possible values of the count have no limit, "
        "and an improper prior requires a measurement",
    ):
        counts.posterior({"a": 3, "b": None}, noise=law_of(LAWS["laplace"]), prior="1/(1+n)")


def test_each_row_its_own_law_or_scale():
    laws = [law_of(LAWS[name]) for name in ("laplace", "exact", "clipped")]
    mixed = counts.posterior([2.5, 7, 0], noise=laws, prior="1/(1+n)")
    for i, (y, law) in enumerate(zip((2.5, 7, 0), laws, strict=True)):
        alone = counts.posterior([y], noise=law, prior="1/(1+n)").counts["1"]
        assert mixed.counts[str(i + 1)].pmf(N) == pytest.approx(alone.pmf(N), abs=1e-14)
    scaled = counts.posterior([4, 9], noise={"law": "discrete_gaussian", "variance": [1.0, 16.0]}, prior="flat")
    alone = counts.posterior([9], noise=law_of({"law": "discrete_gaussian", "sigma": 4.0}), prior="flat")
    assert scaled.counts["2"].pmf(N) == pytest.approx(alone.counts["1"].pmf(N), abs=1e-14)


def test_withheld_and_conflicting_rows_among_different_laws():
    """Check each row separately: a missing value means "below 4" if values are withheld, otherwise nothing."""
    laws = [law_of(LAWS[name]) for name in ("withheld", "laplace", "random rounding", "laplace", "clipped")]
    released = [None, 2.5, 3, None, 0]
    prior = PRIORS["geometric"]
    mixed = counts.posterior(released, noise=laws, prior=prior)
    for i, (y, law) in enumerate(zip(released, laws, strict=True)):
        alone = counts.posterior([y], noise=law, prior=prior)
        assert mixed.counts[str(i + 1)].pmf(N) == pytest.approx(alone.counts["1"].pmf(N), abs=1e-14)
        tail = [found.source.comparison()["tail"][j] for found, j in ((mixed, i), (alone, 0))]
        assert tail[0] == tail[1] or np.isnan(tail).all()
    assert mixed.facts["measured"] == 4
    assert mixed.facts["conflict"]["tested"] == 3  # a table has no tails


def test_draws_follow_the_laws():
    found = counts.posterior([3, 25, 0], noise=law_of(LAWS["discrete laplace"]), prior="1/(1+n)")
    draws = found.sample(40_000, rng=stream(1, "draws"))["counts"]
    for i, name in enumerate(found.counts):
        law = found.counts[name]
        statistic = abs(np.searchsorted(np.sort(draws[:, i]), N, side="right") / 40_000 - law.cdf(N)).max()
        assert statistic < 2.0 / np.sqrt(40_000)  # Kolmogorov, conservative for counts: false alarm below 7e-4
    assert abs(np.corrcoef(draws.T)[0, 1]) < 5 / np.sqrt(40_000)


def test_the_kernel_equals_its_reference():
    rng = stream(1, "rows")
    logs = rng.normal(0, 30, (200, 60))
    logs[rng.random(logs.shape) < 0.2] = -np.inf
    widths = rng.integers(1, 61, 200)
    logs[7] = -np.inf
    logs[8, :1] = 0.0
    widths[8] = 1
    ours = _window_sums.summaries(logs, widths, level=0.9)
    theirs = reference.summaries(logs, widths, level=0.9)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert np.isnan(ours[7, 1:]).all()
    even = _window_sums.summaries(np.zeros((1, 40)), [40], level=0.95)[0]
    assert even[[3, 4]].tolist() == [0, 38]  # a fortieth is left out above
    assert _window_sums.summaries(np.zeros((1, 40)), [40], level=0.9499)[0, [3, 4]].tolist() == [1, 38]
    for wrong, words in [
        (lambda: _window_sums.summaries(np.zeros(3), [3], level=0.9), "log_weights must have 2 dim"),
        (lambda: _window_sums.summaries(np.zeros((1, 3)), [4], level=0.9), r"widths must lie in \[1, 3\]"),
        (lambda: _window_sums.summaries(np.zeros((1, 3)), [3], level=1.0), "level must lie strictly"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()


@pytest.mark.parametrize("prior", [p for p in PRIORS if p not in ("flat", "reciprocal")])
def test_priors_are_their_formulas(prior):
    made, weights = prior_of(PRIORS[prior]), FORMULAS[prior](N)
    assert np.exp(made.log_weights(N)) == pytest.approx(weights, rel=1e-10, abs=1e-300)
    assert made.log_weights([-1.0]) == -np.inf
    assert np.exp(made.peak) == pytest.approx(weights.max(), rel=1e-12)
    assert made.below(N) == pytest.approx(np.concatenate([[0], np.cumsum(weights)[:-1]]), abs=1e-12)
    assert made.below(2.5) == pytest.approx(weights[:3].sum())
    for log_mass in (5.0, 30.0):
        low, high = made.reach(log_mass)
        assert weights[(low > N) | (high < N)].sum() <= np.exp(-log_mass)
    assert prior_of(made) is made


def test_the_wide_negative_binomial_has_its_mode_inside():
    made = NegativeBinomial(mean=50.0, shape=4.0)
    assert made.peak == pytest.approx(stats.nbinom.logpmf(N, 4, 4 / 54).max(), rel=1e-12)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("flta", "prior must be one of flat, .* did you mean flat"),
        ({"law": "geometric"}, "prior: the distribution geometric requires the parameters mean, got none"),
        ({"law": "flat", "mean": 3}, "prior: the distribution flat must not have parameters, got mean"),
        ({"law": "geometric", "mean": 0}, "mean must be finite and > 0, got 0"),
        ({"law": "table", "counts": [1, 1], "probabilities": [0.5, 0.5]}, "counts must be distinct"),
        ({"law": "table", "counts": [1], "probabilities": [0.0]}, "with a positive sum"),
        ("fitted", "must not be 'fitted' for a single noisy count"),
    ],
)
def test_a_wrong_prior_is_told_what_is_right(words, told):
    with pytest.raises(ValueError, match=told):
        prior_of(words)
    with pytest.raises(TypeError, match="prior must be one of flat"):
        prior_of(3)


def test_windows_are_as_narrow_as_the_noise_and_wider_where_they_must_be():
    law, prior = law_of(LAWS["discrete gaussian"]), Reciprocal()
    cells = cells_of([5, 10**9, -400], law)
    low, high = windows.spans(cells, prior, 40.0)
    assert high[1] - low[1] <= 20 * 3 + 4
    assert (low[0], low[2]) == (0, 0)
    assert high[2] == np.ceil((high[1] - low[1]) / 2)  # a half-width beyond the bound
    far = prior_of({"law": "table", "counts": [0, 1000], "probabilities": [0.5, 0.5]})
    found = windows.answers(cells_of([500, 499], law), far, 0.95)
    assert found.mean == pytest.approx([500, 0])  # likelihoods of both counts: equal at 500, e^-111 apart at 499
    assert (found.error <= windows.NEGLECTED).all()
    never = windows.answers(cells_of([500], law_of(LAWS["exact"])), far, 0.95)
    assert never.reasons[0] == "the released value is impossible under the prior, the bounds and the noise"


FAR = {
    **{name: LAWS[name] for name in ("discrete gaussian", "narrow", "discrete laplace", "laplace", "gaussian")},
    **{name: LAWS[name] for name in ("clipped", "withheld", "rounded")},
    "laplace 7": {"law": "laplace", "scale": 7.0},
    "clipped gaussian": {"law": "gaussian", "sd": 3.0, "clipped": {"at": 0}},
}
BOUNDS = [(0, np.inf), (0, 55), (27, 400), (300, 310), (12, 12)]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", FAR)
def test_a_window_at_a_bound_holds_what_sums_over_all_counts_hold(name, prior):
    """Check released values from three half-widths below the lower to three above the upper bound, for every bound."""
    law, chosen = law_of(FAR[name]), prior_of(PRIORS[prior])
    every = np.arange(3000)
    weights = chosen.log_weights(every)
    rng, half = stream(7, "far", name, prior), float(np.max(law.halfwidth(40.0)))
    for lower, upper in BOUNDS:
        ends = lower - 3 * half, (lower if np.isinf(upper) else upper) + 3 * half
        values = _releasable(
            name, np.concatenate([ends, rng.uniform(*ends, 20), lower + half * np.array([-1.0, -0.999, -1.001])])
        )
        cells = cells_of(values, law, lower=lower, upper=upper)
        found = windows.answers(cells, chosen, 0.9)
        for i in np.flatnonzero(found.reasons == ""):
            logs = weights + law.log_likelihood(cells.released[i], every)
            logs = np.where((every >= lower) & (every <= upper), logs, -np.inf)
            p = np.exp(logs - logs.max())
            p /= p.sum()
            mean = p @ every
            sd = np.sqrt(p @ (every - mean) ** 2)
            assert found.mean[i] == pytest.approx(mean, rel=1e-9, abs=1e-9), values[i]
            assert found.sd[i] == pytest.approx(sd, rel=1e-8, abs=1e-6), values[i]
            below = np.cumsum(p)
            assert below[int(found.upper[i])] >= 0.95 - 1e-9
            assert found.upper[i] == 0 or below[int(found.upper[i]) - 1] <= 0.95 + 1e-9
            assert below[int(found.lower[i])] >= 0.05 - 1e-9
            assert found.lower[i] == 0 or below[int(found.lower[i]) - 1] <= 0.05 + 1e-9
        nothing = found.reasons == "the released value is impossible under the prior, the bounds and the noise"
        if prior != "table":  # the table's counts may all lie outside the bounds
            assert not nothing.any(), values[nothing]


def _releasable(name, values):
    """Return the nearest values that this mechanism can release."""
    law = law_of(FAR[name])
    values = np.round(values) if law.discrete else values
    if name == "rounded":
        values = 5 * np.round(values / 5)
    if name.startswith("clipped"):
        values = np.maximum(values, 0.0)
    return np.where(values < 4, np.nan, values) if name == "withheld" else values


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_of_what_a_window_neglects_holds(seed):
    """Check random noise, priors and extreme releases: the probability outside, by full sums, is within the bound."""
    rng = stream(seed, "neglected")
    law = law_of(list(LAWS.values())[rng.integers(8)])
    prior = prior_of(list(PRIORS.values())[rng.integers(4)])
    y = law.sample(rng.integers(0, 60, 1), rng=rng) + (0 if law.discrete else 0.0)
    cells = cells_of(y, law)
    for log_mass in (2.0, 6.0, 15.0):
        low, high = windows.spans(cells, prior, log_mass)
        (block,) = windows.blocks(cells, np.zeros(1, dtype=np.int64), low, high)
        logs = block.log_likelihood + windows.prior_weights(prior, block)
        evidence = _window_sums.summaries(logs, block.width, level=0.5)[:, 0]
        bound = windows.neglected(cells, prior, block, evidence, log_mass)[0]
        p = np.exp(prior.log_weights(N) + law.log_likelihood(y[0], N))
        outside = p[(low[0] > N) | (high[0] < N)].sum() / p.sum()
        assert outside <= bound
        assert bound < 1e6 * np.exp(-log_mass)


@pytest.mark.parametrize(("below", "above"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("log_mass", [2.0, 6.0])
def test_a_window_neglects_nothing_only_if_it_reaches_both_bounds(below, above, log_mass):
    """Check bounds that lie `below` and `above` counts beyond the window, with the likelihood exp(-abs(n - 40)/2)."""
    law, prior, rows = law_of({"law": "discrete_laplace", "scale": 2.0}), Flat(), np.zeros(1, dtype=np.int64)
    low, high = windows.spans(cells_of([40.0], law), prior, log_mass)
    bounded = cells_of([40.0], law, lower=low - below, upper=high + above)
    (block,) = windows.blocks(bounded, rows, low, high)
    evidence = _window_sums.summaries(block.log_likelihood, block.width, level=0.5)[:, 0]
    (bound,) = windows.neglected(bounded, prior, block, evidence, log_mass)
    n = np.arange(low[0] - below, high[0] + above + 1)
    p = np.exp(-np.abs(n - 40) / 2)
    outside = p[(n < low[0]) | (n > high[0])].sum() / p.sum()
    assert (bound > 0) == (outside > 0) == (below + above > 0)
    assert bound >= outside


def test_a_wrong_row_is_named_and_stops_nothing_in_a_batch():
    released = [3.0, 2.5, np.nan, np.inf, 7.0, 4.0, 1.0]
    sigma = [1.0, 1.0, 1.0, 1.0, -2.0, np.nan, 1.0]
    found = counts.exact(
        released, noise={"law": "discrete_gaussian", "sigma": sigma}, prior="1/(1+n)", upper=[9, 9, np.inf, 9, 9, 9, -1]
    )
    words = [
        "",
        "impossible under",
        "have no limit",
        "impossible under|2^52",
        "scale of the noise",
        "scale",
        "bounds must be integers",
    ]
    for reason, part in zip(found.reasons, words, strict=True):
        assert any(piece in reason for piece in part.split("|"))
        assert (reason == "") == (part == "")
    table = found.summary()
    assert list(table["status"]) == ["exact", *["refused"] * 6]
    assert table["mean"].notna().tolist() == [True, *[False] * 6]
    assert "6 refused" in repr(found)
    with pytest.raises(
        ValueError,
        match=r"c: the released value 2\.5 cannot be used, because this value is impossible under the",
    ):
        counts.posterior({"a": 3, "c": 2.5}, noise=law_of(LAWS["narrow"]))
    clipped = counts.exact([0, -1, 3], noise=law_of(LAWS["clipped"]), prior="flat")
    assert [bool(reason) for reason in clipped.reasons] == [False, True, False]


@pytest.mark.parametrize("name", ["clipped", "laplace", "discrete gaussian"])
def test_a_batch_in_parts_has_equal_bits(name, monkeypatch):
    """Check parts of the rows, in any order, with any block size; scales by row; two groups with fitted priors."""
    rng = stream(1, "parts", name)
    n = 400
    words = dict(LAWS[name])
    key = "scale" if "scale" in words else "sigma"
    words[key] = np.exp(rng.uniform(-1, 3, n))
    released = law_of(words).sample(rng.geometric(0.05, n) - 1, rng=rng).astype(float)
    groups = np.where(rng.random(n) < 0.5, "a", "b")
    priors = counts.priors_of(released, noise=words, groups=groups)
    whole = counts.exact(released, noise=words, prior=priors, groups=groups)
    assert {type(p).__name__ for p in priors.values()} == {"Fitted"}
    assert np.array_equal(counts.exact(released, noise=words, groups=groups).own.mean, whole.own.mean)
    order = rng.permutation(n)
    for part, size in ((order[:137], 1_000_000), (order[137:], 3000), (order, 700), (order[:1], 50)):
        monkeypatch.setattr(windows, "_ENTRIES", size)
        own = {**words, key: words[key][part]}
        found = counts.exact(released[part], noise=own, prior=priors, groups=groups[part])
        for column in ("mean", "sd", "lower", "upper", "log_evidence", "error"):
            assert np.array_equal(getattr(found.own, column), getattr(whole.own, column)[part]), column
        assert np.array_equal(found.flat.mean, whole.flat.mean[part])


def test_the_default_prior_is_said():
    rng = stream(1, "default")
    law = law_of(LAWS["discrete gaussian"])
    few, many = law.sample(rng.geometric(0.1, 29), rng=rng), law.sample(rng.geometric(0.1, 30), rng=rng)
    assert counts.posterior(few, noise=law).facts["prior"] == {
        "law": "1/(1+n)", "rows": 29,
        "chosen": "default: fitted if there are at least 30 measured counts, otherwise 1/(1+n)",
    }  # fmt: skip
    said = counts.posterior(many, noise=law).facts["prior"]
    assert (said["law"], said["fitted_on"], said["rows"]) == ("fitted", 30, 30)
    grouped = counts.posterior(np.append(few, many), noise=law, groups=["few"] * 29 + ["many"] * 30).facts["prior"]
    assert [grouped["groups"][name]["law"] for name in ("few", "many")] == ["1/(1+n)", "fitted"]
    with pytest.raises(ValueError, match="group few: fitting a prior requires at least 30 measured counts, got 29"):
        counts.posterior(np.append(few, many), noise=law, prior="fitted", groups=["few"] * 29 + ["many"] * 30)
    asked = counts.posterior(few, noise=law, prior="flat").facts["prior"]
    assert (asked["law"], asked["chosen"]) == ("flat", "given by the user")
    by_group = counts.posterior(few[:2], noise=law, prior={"a": "flat", "b": "1/(1+n)"}, groups=["a", "b"])
    assert by_group.facts["prior"]["groups"]["b"]["law"] == "1/(1+n)"
    with pytest.raises(ValueError, match=r"prior must have one entry per group \(a, b\), got a"):
        counts.posterior(few[:2], noise=law, prior={"a": "flat"}, groups=["a", "b"])


def test_where_a_flat_prior_says_otherwise_both_are_shown():
    law = law_of({"law": "discrete_gaussian", "sigma": 10.0})
    found = counts.posterior({"small": 4, "large": 400}, noise=law, prior={"law": "geometric", "mean": 2.0})
    beside = found.source.comparison(0.9).set_index("quantity")
    flat = by_sums(4, law, np.ones(len(N)))
    assert beside.loc["small", "flat_mean"] == pytest.approx(flat @ N, rel=1e-11)
    assert beside["prior_matters"].tolist() == [True, True]
    assert found.facts["flat_comparison"]["prior_matters"] == 2
    near = counts.posterior({"large": 400}, noise=law, prior={"law": "geometric", "mean": 400.0})
    assert near.facts["flat_comparison"] == {"prior_matters": 0, "of": 1, "first": []}
    # counts without a measurement or an upper bound: flat weights have an infinite sum
    released = {"a": 4, "b": None, "c": 400, "d": None}
    found = counts.posterior(released, noise=law, prior={"law": "geometric", "mean": 2.0})
    stated = {key: value for key, value in found.facts["flat_comparison"].items() if key not in ("first", "reason")}
    assert stated == {"prior_matters": 2, "of": 2, "not_compared": 2}
    assert [bool(text) for text in found.source.comparison()["flat_reason"]] == [False, True, False, True]
    many = counts.exact(list(released.values()), noise=law, prior={"law": "geometric", "mean": 2.0})
    assert (many.facts()["prior_matters"], many.not_compared.tolist()) == (2, [False, True, False, True])
    assert repr(many) == "Batch(4 counts, 0 refused, 2 decided by the prior, 2 not compared with a flat prior)"


@pytest.mark.parametrize("name", [n for n in LAWS if n not in ("random rounding", "narrow", "exact")])
@pytest.mark.parametrize("prior", ["geometric", "negative binomial", "table"])
def test_how_far_out_a_release_is_equals_the_sum(name, prior):
    """Return P(value <= released) and P(value >= released), by sums over counts of the tails of the noise."""
    law, weights = law_of(LAWS[name]), FORMULAS[prior](N)
    values = {"clipped": [0, 4, 30], "withheld": [np.nan, 9, 30], "rounded": [-5.0, 5.0, 30.0]}.get(name, [-9, 3, 30])
    found = conflict.tails(cells_of(values, law), prior_of(PRIORS[prior]))
    base = getattr(law, "noise", law)
    for y, tail in zip(values, found, strict=True):
        low, high = law.behind(np.array([y])) if hasattr(law, "behind") else (np.array([y]), np.array([y]))
        at_most = weights @ np.exp(base.log_within(-np.inf, high - N, base.parameter))
        at_least = weights @ np.exp(base.log_within(low - N, np.inf, base.parameter))
        assert tail == pytest.approx(min(at_most, at_least) / weights.sum(), rel=1e-9)


@pytest.mark.parametrize("name", ["laplace", "discrete gaussian"])
@pytest.mark.parametrize(("lower", "upper", "y"), [(10, np.inf, 2), (0, 12, 30), (4, 12, 7), (10, 10, -3), (3, 90, 4)])
def test_tail_probabilities_refer_to_counts_within_the_bounds(name, lower, upper, y):
    """Compare with the sum over the counts within the bounds, whose prior probabilities are scaled to 1."""
    law, inside = law_of(LAWS[name]), (lower <= N) & (upper >= N)
    weights = FORMULAS["geometric"](N)[inside]
    cells = cells_of([y], law, lower=lower, upper=upper)
    at_most = weights @ np.exp(law.log_within(-np.inf, y - N[inside], law.parameter))
    at_least = weights @ np.exp(law.log_within(y - N[inside], np.inf, law.parameter))
    expected = min(at_most, at_least) / weights.sum()
    assert conflict.tails(cells, prior_of(PRIORS["geometric"]))[0] == pytest.approx(expected, rel=1e-9, abs=0)


def test_numbers_of_all_counts_are_those_of_each_count():
    """Compare the pass over all counts with the distribution of each count, which has its own sums."""
    law = law_of(LAWS["discrete gaussian"])
    found = counts.posterior({"a": 3, "b": 40, "c": -2}, noise=law, prior="1/(1+n)").counts
    for name in found:
        one = found[name]
        for level in (0.95, 0.8):
            assert tuple(found.interval(level).loc[name]) == one.interval(level)
        numbers = (found.mean()[name], found.sd()[name], found.variance()[name], found.median()[name])
        assert numbers == pytest.approx((one.mean(), one.sd(), one.sd() ** 2, float(one.quantile(0.5))), rel=1e-12)


def test_a_conflict_is_said():
    law = law_of(LAWS["discrete gaussian"])
    found = counts.posterior({"a": 3, "b": -30}, noise=law, prior="flat").facts["conflict"]
    noise = np.exp(-(np.arange(-200, 201) ** 2) / 18)
    assert found["found"]
    assert found["names"] == ["b"]
    assert found["smallest"] == pytest.approx(2 * noise[:171].sum() / noise.sum(), rel=1e-9, abs=0)  # noise <= -30
    calm = counts.posterior({"a": 3, "b": -2}, noise=law, prior="flat").facts["conflict"]
    assert not calm["found"]
    wrong = counts.posterior({"a": 300}, noise=law, prior={"law": "geometric", "mean": 1.0}).facts["conflict"]
    assert (wrong["found"], wrong["name"]) == (True, "a")
    bounded = counts.posterior({"a": -11}, noise=law, lower=10, prior={"law": "geometric", "mean": 9.0})
    assert bounded.facts["conflict"]["found"]  # 7 standard deviations below the smallest possible count
    table = counts.posterior([0], noise=Perturbation(TABLE), prior="flat").facts["conflict"]
    assert table == {"tested": 0, "found": False}


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "discrete laplace"])
def test_tails_of_clipped_and_withheld_values(noise):
    """Check the tails of a value that is clipped at 0, which means noise of -4 or less if the count is at least 4, and
    of a value that is withheld below 3, which means noise below -1, or of -2 or less on the integers.
    """
    law = law_of(LAWS[noise])
    below = {"laplace": stats.laplace(scale=1.7).cdf, "gaussian": stats.norm(scale=4.0).cdf}
    a = np.exp(-1 / 2.5)
    below |= {"discrete laplace": lambda d: a ** abs(d) / (1 + a)}  # P(noise <= d) for an integer d < 0
    for changed, value, end in ((law.clipped(0), 0.0, -4), (law.threshold(3), np.nan, -2 if law.discrete else -1)):
        cells = cells_of([value], changed, lower=4)
        assert conflict.tails(cells, prior_of("flat"))[0] == pytest.approx(below[noise](end), rel=1e-9)
    # P(count + noise < 60) > 0.99 under the geometric prior with mean 7, and every value is at least a withheld one
    assert conflict.tails(cells_of([np.nan], law.threshold(60)), prior_of(PRIORS["geometric"]))[0] > 0.99


@pytest.mark.parametrize("law", ["discrete gaussian", "discrete laplace", "clipped"])
def test_false_alarms_of_one_count(law):
    """Check that the probability of a false alarm is at most 5 %, and not much below this value unless values are
    clipped, by a sum over all released values of one count with a geometric prior.
    """
    noise, n = law_of(LAWS[law]), np.arange(400)
    values = np.arange(0 if law == "clipped" else -80, 480)
    likelihood = np.exp(noise.log_likelihood(values[:, None], n))
    chance = likelihood @ FORMULAS["geometric"](n)
    assert chance.sum() == pytest.approx(1, abs=1e-9)
    tail = conflict.tails(cells_of(values, noise), prior_of(PRIORS["geometric"]))
    alarms = [conflict.facts(tail[i : i + 1], ["a"])["found"] for i in range(len(values))]
    assert chance @ np.array(alarms) <= 0.05
    assert chance @ np.array(alarms) > (0.015 if law == "clipped" else 0.03)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda law: counts.posterior([], noise=law),
            ValueError,
            "released must be one-dimensional with at least one number",
        ),
        (lambda law: counts.posterior(["x"], noise=law), TypeError, "released must contain only numbers"),
        (lambda law: counts.posterior([1, 2], noise=law, names=["a", "a"]), ValueError, "2 distinct names"),
        (lambda law: counts.posterior({"a": 1}, noise=law, names=["a"]), ValueError, "names must be omitted"),
        (lambda law: counts.posterior([[1]], noise=law), ValueError, r"\(one noisy count per row\), got shape"),
        (lambda law: counts.posterior([1, 2], noise=law, lower=[1, 2, 3]), ValueError, "lower must be one number or 2"),
        (
            lambda law: counts.posterior([1, 2], noise=law, groups=["a"]),
            ValueError,
            "groups must contain one name per count",
        ),
        (
            lambda law: counts.posterior([1, 2], noise=[law]),
            ValueError,
            "noise must be one distribution or one distribution per row, got 1",
        ),
        (lambda law: counts.exact([1], noise=law, level=0), ValueError, "level must lie strictly"),
        (
            lambda law: counts.exact([1], noise={"law": "discrete_gaussian", "sigma": [1.0, 2.0]}),
            ValueError,
            "sigma must be one number or 1 numbers, got 2",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(law_of(LAWS["discrete gaussian"]))


def test_a_prior_by_group_must_know_the_group():
    priors = {"a": Geometric(3.0)}
    with pytest.raises(ValueError, match="the prior is missing for b"):
        counts.exact([1, 2], noise=law_of(LAWS["narrow"]), prior=priors, groups=["a", "b"])
    assert counts.exact([1], noise=law_of(LAWS["narrow"]), prior=priors, groups=["a"]).facts()["counts"] == 1


def test_a_fitted_prior_is_a_histogram_that_can_be_written_down():
    rng = stream(1, "fit")
    law = law_of(LAWS["discrete gaussian"])
    cells = cells_of(law.sample(rng.geometric(0.05, 500), rng=rng), law)
    prior = priors.fit(cells)
    again = priors.Fitted(prior.edges, prior.masses, fitted_on=500, smoothness=prior.smoothness)
    assert np.array_equal(again.log_weights(N), prior.log_weights(N))
    p = np.exp(prior.log_weights(N))
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert prior.mean() == pytest.approx(p @ N, rel=1e-12)
    assert prior.below(N) == pytest.approx(np.concatenate([[0], np.cumsum(p)[:-1]]), abs=1e-12)
    assert prior.log_weights([-1.0, prior.last + 1]).tolist() == [-np.inf, -np.inf]
    assert prior.settings()["fitted_on"] == 500
    assert choose(cells, {"law": "fitted"}, None).priors[0].settings() == prior.settings()


def test_the_error_of_a_fitted_mean_is_that_of_a_weighted_mean_of_noisy_counts():
    p = np.array([0.5, 0.2, 0.15, 0.15])
    prior = priors.Fitted([0, 1, 2, 4], [0.5, 0.2, 0.3], fitted_on=3, smoothness=1.0, noise=[1.0, 4.0, 9.0])
    variance = p @ np.arange(4) ** 2 - (p @ np.arange(4)) ** 2
    assert prior.variance() == pytest.approx(variance, rel=1e-12)
    assert prior.sd() == pytest.approx(variance**0.5, rel=1e-12)
    weights = 1 / (variance + np.array([1.0, 4.0, 9.0]))
    assert prior.mean_error == pytest.approx(weights.sum() ** -0.5, rel=1e-12)
    assert prior.uncertain  # sd 1.07, twice the standard error is 2.4
    known = priors.Fitted([0, 1, 2, 4], [0.5, 0.2, 0.3], fitted_on=5, smoothness=1.0)
    assert known.mean_error == pytest.approx((variance / 5) ** 0.5, rel=1e-12)
    assert not known.uncertain


@pytest.mark.parametrize(("rows", "columns"), [(5, 3), (130, 118), (1000, 60), (40, 300)])
def test_products_of_blocks_of_rows(rows, columns):
    """Check products of few rows, of a number of rows that is not a multiple of the block, and of many columns."""
    some = stream(rows, "rows").normal(size=(rows, columns))
    assert priors._cross(some) == pytest.approx(np.einsum("ij,ik->jk", some, some), rel=1e-9, abs=1e-11)


def test_the_default_prior_is_not_fitted_if_the_noise_is_too_large():
    """Under the fitted prior, the intervals of these counts contain the truth in 0.75 of the cases on average."""
    law, inside = law_of({"law": "discrete_gaussian", "sigma": 30.0}), []
    for i in range(12):
        rng = stream(i, "uncertain")
        true = rng.poisson(3, 30)
        noisy = law.sample(true, rng=rng)
        found = counts.posterior(noisy, noise=law)
        said, own = found.facts["prior"], found.source.numbers()
        fitted = priors.fit(cells_of(noisy, law))
        assert fitted.uncertain == (said["law"] == "1/(1+n)")
        assert ("; the noise is too large to fit a prior to so few counts" in said["chosen"]) == fitted.uncertain
        assert counts.posterior(noisy, noise=law, prior="fitted").facts["prior"]["uncertain"] == fitted.uncertain
        inside.append(np.mean((own.lower <= true) & (true <= own.upper)))
    assert np.mean(inside) >= 0.95
    small = law_of({"law": "discrete_gaussian", "sigma": 0.5})
    rng = stream(1, "mixed")
    noisy = np.append(law.sample(rng.poisson(3, 30), rng=rng), small.sample(rng.poisson(3, 30), rng=rng))
    laws, groups = [law] * 30 + [small] * 30, ["wide"] * 30 + ["narrow"] * 30
    said = counts.posterior(noisy, noise=laws, groups=groups).facts["prior"]
    assert [said["groups"][name]["law"] for name in ("wide", "narrow")] == ["1/(1+n)", "fitted"]
    assert said["chosen"].endswith("so few counts in 1 of 2 groups")


def test_the_fit_is_the_maximum_of_its_evidence():
    """Check that no change of log densities increases the penalised evidence, and that its gradient is 0."""
    from dpmultinomial._posteriors.published import priors

    rng = stream(1, "maximum")
    likelihood = np.exp(-((rng.integers(0, 12, 300)[:, None] - np.arange(12)) ** 2) / 8)
    width = np.array([1.0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 12])
    times = rng.integers(1, 4, 300).astype(float)
    problem, weights = priors._Problem(likelihood, times, width), priors.penalty(12, 10.0, 0.1)
    f, _ = problem.climb(np.zeros(12), weights)
    best = problem.value(f, weights)
    for size, change in itertools.product((0.01, 0.3), [*np.eye(12), *-np.eye(12), *rng.normal(0, 1, (50, 12))]):
        assert problem.value(f + size * change, weights) <= best + 1e-4
    slope, complete, observed = problem._local(f, weights)
    step = 1e-5
    for i in range(12):
        up, down = (problem.value(f + s * step * np.eye(12)[i], weights) for s in (1, -1))
        assert slope[i] == pytest.approx((up - down) / (2 * step), abs=1e-3)
        slopes = [problem._local(f + s * step * np.eye(12)[i], weights)[0] for s in (1, -1)]
        assert observed[i] == pytest.approx(-(slopes[0] - slopes[1]) / (2 * step), abs=1e-3)
    assert np.linalg.eigvalsh(complete).min() > 0
    assert np.linalg.eigvalsh(complete - observed).min() > -1e-6  # what EM takes for granted is never too little


def test_a_prior_is_listed_once():
    frame = pd.DataFrame({"counts": [2, 0], "probabilities": [1.0, 3.0]})
    assert np.exp(Listed(frame["counts"], frame["probabilities"]).log_weights([0, 1, 2])) == pytest.approx(
        [0.75, 0, 0.25]
    )
    assert dpm.Laplace(scale=1.0).row_count is None


@pytest.mark.parametrize(
    ("change", "matters"),
    [
        ({}, False),
        ({"mean": 0.49}, False),
        ({"mean": 0.51}, True),
        ({"lower": -0.99}, False),
        ({"lower": -1.01}, True),
        ({"upper": 1.01}, True),
        ({"upper": np.nan}, False),
    ],
)
def test_the_prior_matters_if_means_or_ends_differ_by_enough_standard_deviations(change, matters):
    """Check the limits: more than half an sd for the mean, more than one for an end; here both sds are 1."""
    at = {"mean": 0.0, "sd": 1.0, "lower": 0.0, "upper": 0.0}
    own, flat = (SimpleNamespace(**{key: np.array([x]) for key, x in (at | one).items()}) for one in ({}, change))
    assert counts.differs_from_flat(own, flat).tolist() == [matters]
    assert counts.differs_from_flat(flat, own).tolist() == [matters]


@pytest.mark.parametrize(("prior", "matters"), [({"law": "geometric", "mean": 2.0}, 2), ("flat", 0)])
def test_facts_of_a_batch_count_its_rows(prior, matters):
    """Two values under a prior with a mean far below sd 10, and a fraction, which is impossible."""
    law = law_of({"law": "discrete_gaussian", "sigma": 10.0})
    found = counts.exact([4.0, 400.0, 2.5], noise=law, prior=prior)
    facts = found.facts()
    assert [facts[key] for key in ("counts", "refused", "prior_matters")] == [3, 1, matters]
    assert repr(found) == f"Batch(3 counts, 1 refused, {matters} decided by the prior)"


def test_a_prior_that_moves_only_an_end_is_reported():
    """Check a pole at 0 with heavy tails: 2.5 % of the mass near 0 moves the lower end, but not the mean by .5 sd."""
    found = counts.posterior([41_000.0], noise={"law": "laplace", "scale": 6553.6}, prior="1/(1+n)")
    (row,) = found.source.comparison().itertuples()
    assert abs(row.mean - row.flat_mean) < 0.5 * max(row.sd, row.flat_sd)
    assert row.lower < row.flat_lower - max(row.sd, row.flat_sd)
    assert row.prior_matters


SCALES = 10.0 ** np.arange(13)
WIDE_LAWS = {
    "Laplace": lambda scale: dpm.Laplace(scale=scale),
    "DiscreteLaplace": lambda scale: dpm.DiscreteLaplace(scale=scale),
    "Gaussian": lambda scale: dpm.Gaussian(sigma=scale),
    "DiscreteGaussian": lambda scale: dpm.DiscreteGaussian(sigma=scale),
}
RELEASED = 12


def mean_of_geometric_sides(y, scale):
    """Return the mean of n >= 0 with weights exp(-|y - n|/scale): finite sums below y, geometric series from y on."""
    n, rate = np.arange(y), 1 / scale
    below = np.exp(-(y - n) * rate)
    mass = -1 / np.expm1(-rate)  # sum over j >= 0 of exp(-j rate)
    above = y * mass + np.exp(-rate) / np.expm1(-rate) ** 2
    return (below @ n + above) / (below.sum() + mass)


@pytest.mark.parametrize("law", WIDE_LAWS)
def test_one_count_has_the_mean_of_the_formula_or_an_error_with_the_number_of_counts(law):
    """Check that the means are those of truncated normal distributions: a relative difference below 1/scale."""
    answered = 0
    for scale in SCALES:
        release = dpm.Release({"a": RELEASED}, mechanism=WIDE_LAWS[law](scale))
        message, found = "", np.nan
        try:
            found = dpm.posterior(release, prior="flat").summary()["mean"].iloc[0]
        except ValueError as error:
            message = str(error)
        if message:
            assert scale >= 1e6
            assert "a: the released value 12 cannot be used, because the noise is too large" in message
            size = float(message.partition("too large: ")[2].partition(" true counts")[0])
            assert size >= windows.WIDEST
            assert 8 * scale < size < 100 * scale  # 40 units of the exponent, or 9 standard deviations
            continue
        answered += 1
        if "Laplace" in law:
            assert found == pytest.approx(mean_of_geometric_sides(RELEASED, scale), rel=1e-9)
        else:
            reference = stats.truncnorm.mean((-0.5 - RELEASED) / scale, np.inf, loc=RELEASED, scale=scale)
            assert found == pytest.approx(reference, rel=0.1 / scale)
    assert answered >= 6


def test_windows_at_the_limit_are_answered_and_wider_ones_are_not(monkeypatch):
    monkeypatch.setattr(windows, "WIDEST", 500)
    law = dpm.DiscreteLaplace(scale=5.0)
    reach = windows.spans(cells_of([1000], law), Flat(), 40.0)
    width = int(reach[1][0] - reach[0][0]) + 1
    for limit, reason in (
        (width, ""),
        (width - 1, f"{width} true counts are possible, more than the limit of {width - 1}"),
    ):
        monkeypatch.setattr(windows, "WIDEST", limit)
        found = windows.answers(cells_of([1000], law), Flat(), 0.9)
        assert reason in found.reasons[0]
        assert (found.reasons[0] == "") == (reason == "")


def rows(size, rng):
    scales = rng.choice([2.0, 3.5], size)
    law = dpm.DiscreteLaplace(scale=scales)
    released = rng.integers(-5, 30, size).astype(float)
    released[rng.random(size) < 0.05] = np.nan
    return cells_of(released, law, lower=rng.choice([0.0, 2.0], size), upper=rng.choice([40.0, 50.0], size))


def test_equal_rows_have_the_same_answer_as_each_row_alone():
    """Check that equal rows are computed once, with bit-identical results, and with the reason of an invalid row."""
    noisy = rows(3 * windows.MANY, stream(1, "kinds"))
    noisy = noisy.with_reason(np.arange(len(noisy)) % 97 == 0, "stated reason")
    kinds = noisy.kinds[0]
    assert len(kinds) < len(noisy) / 2
    for prior in (Flat(), Geometric(7.0)):
        found = windows.answers(noisy, prior, 0.9)
        alone = [windows.answers(noisy.take(np.array([i])), prior, 0.9) for i in range(0, len(noisy), 61)]
        for name in ("mean", "sd", "lower", "upper", "error"):
            single = [getattr(one, name)[0] for one in alone]
            np.testing.assert_array_equal(getattr(found, name)[::61], single)
        assert found.reasons[::61].tolist() == [one.reasons[0] for one in alone]
        tails = conflict.tails(noisy, prior)
        single = [conflict.tails(noisy.take(np.array([i])), prior)[0] for i in range(0, len(noisy), 61)]
        np.testing.assert_allclose(tails[::61], single, rtol=1e-12)


def test_kinds_are_the_distinct_rows_in_order():
    """Compare with sorted tuples; fractions and integers use different methods."""
    rng = stream(2, "kinds")
    whole = rows(2000, rng)
    for released in (whole.released, whole.released / 7, np.array([1e15, 3.0, np.nan, np.nan, 1e15] * 400)):
        noisy = cells.Cells(released, whole.noise, whole.lower, whole.upper, whole.measured, whole.reasons)
        columns = zip(released, whole.lower, whole.upper, whole.measured, noisy.noise.parameter, strict=True)
        keys = [(np.isnan(r), 0.0 if np.isnan(r) else r, *rest) for r, *rest in columns]
        order = sorted(set(keys))
        kinds, which = noisy.kinds
        assert [keys[i] for i in kinds] == order
        assert [order[k] for k in which] == keys
        assert all(keys.index(order[k]) == kinds[k] for k in range(0, len(order), 50))


def test_the_tail_at_a_count_is_the_smaller_one():
    """Check values on both sides of the count against P(N >= k) = a^k/(1 + a), a = exp(-1/scale)."""
    a, gaps = np.exp(-1 / 2.0), np.array([-7, -2, 1, 9])
    tails = conflict.at_counts(20.0 + gaps, dpm.DiscreteLaplace(scale=2.0), np.full(4, 20.0))
    np.testing.assert_allclose(tails, a ** np.abs(gaps) / (1 + a), rtol=1e-12)


@pytest.mark.parametrize(("size", "rises", "change"), [(1e3, 1, 3.0), (2.0, 1, 2.0), (1e3, 2, 1.5), (1e3, 99, None)])
def test_a_step_of_a_fit_changes_no_log_density_by_more_than_three(size, rises, change):
    """Check Newton steps of a given size in the first bin, which are halved until the evidence rises."""
    problem, tried = object.__new__(priors._Problem), []
    problem.value = lambda f, weights: tried.append(f) or (1.0 if len(tried) >= rises else -1.0)
    f, information = np.array([0.0, -1.0, -2.0]), np.eye(3) / (1 + 3e-9)  # a ridge of 1e-9 of the trace is added
    found = problem._step(f, 0.0, np.array([-size, 0.0, 0.0]), information, np.ones(3))
    if change is None:
        assert found is None
    else:
        assert found[1] == 1.0
        assert np.diff(found[0] - f) == pytest.approx([change, 0.0], rel=1e-6, abs=1e-12)
