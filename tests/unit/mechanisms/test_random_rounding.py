"""Tests of random rounding: probabilities by hand, draws by an exact test, posteriors by a table and enumeration."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._seeding import stream


def table(base, largest):
    """Return the same mechanism as a table of probabilities, up to a largest count."""
    rows = [(n, y, 1 - abs(y - n) / base) for n in range(largest + 1) for y in {n - n % base, n + -n % base}]
    true, released, p = map(list, zip(*rows, strict=True))
    return dpm.Perturbation({"true": true, "released": released, "probability": p})


@pytest.mark.parametrize("base", [2, 3, 5, 10])
def test_probabilities_add_up_and_keep_the_mean(base):
    law, n, y = dpm.RandomRounding(base=base), np.arange(40), np.arange(-base, 60)
    p = np.exp(law.log_likelihood(y, n[:, None]))
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_allclose(p @ y, n, atol=1e-12)
    assert (p[:, y % base != 0] == 0).all()
    assert p[1, y == 0] == 1 - 1 / base
    spread = p @ y**2 - n**2
    assert law.variance() == pytest.approx(spread.max())
    low, high = law.reach(y[y % base == 0], 40.0)
    assert all(n_ > lo and n_ < hi for n_, lo, hi in zip(y[y % base == 0], low, high, strict=True))


def test_draws_go_up_as_often_as_the_remainder_says():
    """Check 20,000 draws of every remainder by binomial tests; an error of 0.02 is detected with probability 0.99."""
    law, rng = dpm.RandomRounding(base=5), stream(1, "random rounding")
    for m in range(5):
        y = law.sample(np.full(20_000, 35 + m), rng=rng)
        assert set(np.unique(y)) <= {35, 40}
        assert stats.binomtest(int((y == 40).sum()), 20_000, m / 5).pvalue > 1e-4


@pytest.mark.parametrize("prior", ["flat", "1/(1+n)", {"law": "geometric", "mean": 7.0}])
def test_a_posterior_is_that_of_a_table_that_is_long_enough(prior):
    values = [0.0, 5.0, 30.0]
    short = dpm.posterior(dpm.Release(values, mechanism=dpm.RandomRounding(base=5)), prior=prior)
    long = dpm.posterior(dpm.Release(values, mechanism=table(5, 60)), prior=prior)
    for name in short.counts:
        n = np.arange(60)
        np.testing.assert_allclose(short.counts[name].pmf(n), long.counts[name].pmf(n), atol=1e-14)
    assert short.accuracy.status == "exact"


def test_a_large_rounded_count_is_known_to_less_than_the_base():
    """Check a flat prior: weights 1 - d/5 at distance d, so P(2946) = P(2954) = 1/25; 95 % interval 2946 to 2954."""
    found = dpm.posterior(dpm.Release([2950.0], mechanism=dpm.RandomRounding(base=5)), prior="flat").counts["1"]
    assert found.interval(0.95) == (2946, 2954)
    assert found.pmf(2946) == pytest.approx(1 / 25, rel=1e-12)
    assert found.mean() == pytest.approx(2950, rel=1e-14)


def test_counts_of_a_tree_add_up():
    """Check a root and two children, by enumeration of all pairs under the flat root and equal splits."""
    law = law_of({"law": "random_rounding", "base": 3})
    release = dpm.Release([9.0, 6.0, 6.0], mechanism=law, parents=[None, 0, 0])
    found = dpm.posterior(release, prior=1.0)
    a, b = np.indices((20, 20))
    weights = np.exp(law.log_likelihood(9, a + b) + law.log_likelihood(6, a) + law.log_likelihood(6, b)) / (a + b + 1)
    p = weights.sum(axis=1) / weights.sum()
    assert found.counts["2"].mean() == pytest.approx(p @ np.arange(20), rel=1e-10)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dpm.RandomRounding(base=1), ValueError, r"base must be in \[2, 10000\], got 1"),
        (lambda: dpm.RandomRounding(base=2.5), TypeError, "base must be"),
        (lambda: law_of({"law": "random_rounding"}), ValueError, "base must be"),
        (lambda: dpm.RandomRounding(base=5, fixed="even"), ValueError, "fixed must be one of .nearest., .up., .down."),
        (
            lambda: law_of({"law": "random_rounding", "scale": 5}),
            ValueError,
            "has no key scale. The allowed keys are base",
        ),
        (lambda: dpm.RandomRounding(base=5).cost("replace a record"), ValueError, "no finite epsilon"),
        (
            lambda: dpm.posterior(dpm.Release([7.0], mechanism=dpm.RandomRounding(base=5))),
            ValueError,
            "released value 7 cannot be used",
        ),
    ],
)
def test_what_cannot_be_is_rejected(call, error, words):
    with pytest.raises(error, match=words):
        call()


FIXED = {  # base -> direction -> released value of 0, 1, .., 2 base - 1, by hand
    (3, "up"): [0, 3, 3, 3, 6, 6], (3, "down"): [0, 0, 0, 3, 3, 3], (3, "nearest"): [0, 0, 3, 3, 3, 6],
    (4, "nearest"): [0, 0, 4, 4, 4, 4, 8, 8], (4, "up"): [0, 4, 4, 4, 4, 8, 8, 8],
}  # fmt: skip


@pytest.mark.parametrize(("base", "fixed"), FIXED)
def test_fixed_rounding_by_hand(base, fixed):
    law, listed = dpm.RandomRounding(base=base, fixed=fixed), np.array(FIXED[base, fixed])
    n = np.arange(len(listed))
    assert law.sample(n, rng=stream(1, "fixed")).tolist() == listed.tolist()
    for y in range(0, 13):
        assert np.exp(law.log_likelihood(y, n)).tolist() == (listed == y).astype(float).tolist()
    inside = n[listed == base]
    assert [float(end) for end in law.reach(base, 40.0)] == [inside.min(), inside.max()]
    assert law.halfwidth(40.0) == np.abs(listed - n).max()
    assert law.variance() == 0
    words = {"law": "random_rounding", "base": base, "fixed": fixed}
    assert law.settings() == words
    assert law_of(words) == law
    sure = dpm.confidence(dpm.Release([base], mechanism=law))
    assert sure.counts["1"].accepted(0.95).tolist() == inside.tolist()
    assert sure.summary()["coverage"].tolist() == [1.0]


MODIFIED = {
    "threshold": ({"threshold": 10}, lambda y: np.where(y < 10, np.nan, y)),
    "clipped": ({"clipped": {"at": 5}}, lambda y: np.maximum(y, 5)),
    "rounded": ({"rounded": 10}, lambda y: 10 * np.round(y / 10)),
    "rounded, clipped, withheld": (
        {"rounded": 10, "clipped": {"at": 0}, "threshold": 20},
        lambda y: np.where(10 * np.round(y / 10) < 20, np.nan, 10 * np.round(y / 10)),
    ),
}


@pytest.mark.parametrize("modifier", MODIFIED)
@pytest.mark.parametrize("words", [{"law": "random_rounding", "base": 5}, {"law": "random_rounding", "base": 3},
                                   {"law": "table", "table": None, "beyond": {"period": 5}}])  # fmt: skip
def test_values_that_are_changed_after_rounding_or_a_table(words, modifier):
    """Check P(release | count) against the sum over all values that the modifiers turn into the release."""
    steps, changed = MODIFIED[modifier]
    if words["law"] == "table":
        short = table(5, 9)
        rows = [(t, y, p) for t in range(10) for y, p in short._row(t).items()]
        words = {**words, "table": dict(zip(("true", "released", "probability"), zip(*rows, strict=True), strict=True))}
    plain, law = law_of(words), law_of({**words, **steps})
    y, n = np.arange(0, 90), np.arange(60)
    p = np.exp(plain.log_likelihood(y, n[:, None]))
    releases = changed(y.astype(float))
    for release in np.unique(releases):
        same = np.isnan(releases) if np.isnan(release) else releases == release
        if not p[:, same].any():
            continue
        expected = p[:, same].sum(axis=1)
        found = np.exp(law.log_likelihood(release, n))
        np.testing.assert_allclose(found, expected, atol=1e-14)
        low, high = law.reach(release, 40.0)
        assert not expected[(n < low) | (n > high)].any()
    drawn = law.sample(np.full(4000, 12), rng=stream(2, modifier))
    share = np.mean(np.isnan(drawn)) if "withheld" in modifier or modifier == "threshold" else np.mean(drawn == 10)
    target = np.nan if "withheld" in modifier or modifier == "threshold" else 10.0
    expected = float(np.exp(law.log_likelihood(target, 12)))
    assert share == pytest.approx(expected, abs=5 * np.sqrt(0.25 / 4000))
    methods = {
        "threshold": lambda: plain.threshold(10), "clipped": lambda: plain.clipped(5),
        "rounded": lambda: plain.rounded(10),
        "rounded, clipped, withheld": lambda: plain.rounded(10).clipped(0).threshold(20),
    }  # fmt: skip
    assert methods[modifier]().settings() == law.settings()


def test_withheld_rounded_counts_in_posteriors_and_trees():
    """Check a withheld count (rounded value below 10) by enumeration, alone and as a part of a tree."""
    law = dpm.RandomRounding(base=5).threshold(10)
    n = np.arange(40)
    likelihood = np.exp(law.log_likelihood(np.nan, n))
    assert likelihood[[0, 5, 6, 9, 10]] == pytest.approx([1, 1, 0.8, 0.2, 0])
    found = dpm.posterior(dpm.Release([np.nan, 20.0], mechanism=law), prior="flat").counts["1"]
    np.testing.assert_allclose(found.pmf(n), likelihood / likelihood.sum(), atol=1e-14)
    release = dpm.Release([20.0, np.nan, 15.0], mechanism=law, parents=[None, 0, 0])
    tree = dpm.posterior(release, prior="flat").counts["2"]
    a, b = np.indices((40, 40))
    joint = likelihood[:, None] * np.exp(law.log_likelihood(20.0, a + b) + law.log_likelihood(15.0, b))
    np.testing.assert_allclose(tree.pmf(n), joint.sum(axis=1) / joint.sum(), atol=1e-12)
    sure = dpm.confidence(dpm.Release([20.0, np.nan], mechanism=law)).counts
    plain = dpm.confidence(dpm.Release([20.0], mechanism=dpm.RandomRounding(base=5))).counts["1"].interval(0.95)
    assert sure["1"].interval(0.95) == plain
    assert sure["2"].interval(0.95) == (0, 9)  # 9 is withheld with probability 0.2


def test_a_table_with_a_period_is_random_rounding_however_large():
    """Check 10 rows of base 5, which repeat, against the mechanism; likelihoods, reach, draws and confidence."""
    rows = [(n, y, 1 - abs(y - n) / 5) for n in range(10) for y in {n - n % 5, n + -n % 5}]
    columns = dict(zip(("true", "released", "probability"), zip(*rows, strict=True), strict=True))
    law, same = dpm.Perturbation(columns, beyond={"period": 5}), dpm.RandomRounding(base=5)
    y, n = np.arange(0, 3000, 5), np.r_[np.arange(40), np.arange(2940, 2960)]
    np.testing.assert_allclose(
        np.exp(law.log_likelihood(y, n[:, None])), np.exp(same.log_likelihood(y, n[:, None])), atol=1e-15
    )
    assert np.isneginf(law.log_likelihood([7, 2951], 2950)).all()
    for value in (0, 5, 10, 15, 2950):
        low, high = (float(end) for end in law.reach(value, 40.0))
        assert (low, high) == (max(value - 4, 0), value + 4)
    assert [float(end) for end in law.reach(2951, 40.0)] == [np.inf, -np.inf]
    found = dpm.posterior(dpm.Release([2950], mechanism=law), prior="flat").counts["1"]
    assert found.interval(0.95) == (2946, 2954)
    drawn = law.sample(np.full(20_000, 2953), rng=stream(3, "period"))
    assert set(np.unique(drawn)) == {2950, 2955}
    assert stats.binomtest(int((drawn == 2955).sum()), 20_000, 0.6).pvalue > 1e-4
    values = [0.0, 5.0, 40.0, 2950.0]
    one, two = (dpm.confidence(dpm.Release(values, mechanism=m)) for m in (law, same))
    for name in ("1", "2", "3", "4"):
        assert one.counts[name].interval(0.9) == two.counts[name].interval(0.9)
    assert law.settings()["beyond"] == {"period": 5}


@pytest.mark.parametrize(
    ("last", "beyond", "words"),
    [
        (9, "shift", "rows of the true counts 8 and 9 must be equal after 1 is added"),
        (10, "shift", "For random rounding, beyond: {period: 5}"),
        (9, {"period": 4}, "rows of the true counts 2 and 6 must be equal after 4 is added"),
        (3, {"period": 5}, "the last 5 true counts of the table must be consecutive, got 0, 1, 2, 3"),
        (9, {"period": 0}, "period must be"),
        (9, {"every": 5}, "beyond must be none, shift or {period: number}"),
    ],
)
def test_rows_that_contradict_what_lies_beyond_are_rejected(last, beyond, words):
    rows = [(n, y, 1 - abs(y - n) / 5) for n in range(last + 1) for y in {n - n % 5, n + -n % 5}]
    columns = dict(zip(("true", "released", "probability"), zip(*rows, strict=True), strict=True))
    with pytest.raises(ValueError, match=words):
        dpm.Perturbation(columns, beyond=beyond)


def test_a_cell_key_table_that_ends_at_its_largest_noise_shifts():
    """Check a table of largest noise 2: true 1 cannot become -1, so that its row is not that of true 2 moved."""
    rows = [(0, 0, 1.0), (1, 0, 0.5), (1, 1, 0.25), (1, 2, 0.0), (1, 3, 0.25)]
    rows += [(2, 2 + v, p) for v, p in zip(range(-2, 3), (0.1, 0.2, 0.4, 0.2, 0.1), strict=True)]
    columns = dict(zip(("true", "released", "probability"), zip(*rows, strict=True), strict=True))
    law = dpm.Perturbation(columns, beyond="shift")
    assert np.exp(law.log_likelihood([28, 30, 33], 30)) == pytest.approx([0.1, 0.4, 0.0])
    skewed = {**columns, "probability": [*columns["probability"][:5], 0.2, 0.1, 0.4, 0.2, 0.1]}
    with pytest.raises(ValueError, match="rows of the true counts 1 and 2 must be equal"):
        dpm.Perturbation(skewed, beyond="shift")


def test_a_long_table_is_small():
    """Check a table of random rounding to 12,000: at most 20 MB (a dense one has 230 MB), the same likelihoods."""
    rows = [(n, y, 1 - abs(y - n) / 5) for n in range(12_001) for y in {n - n % 5, n + -n % 5}]
    columns = dict(zip(("true", "released", "probability"), zip(*rows, strict=True), strict=True))
    tracemalloc.start()
    law = dpm.Perturbation(columns)
    found = dpm.posterior(dpm.Release([2950, 11_000], mechanism=law), prior="flat").counts["1"]
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.interval(0.95) == (2946, 2954)
    assert size < 20e6
    with pytest.raises(ValueError, match="the noise table of a confidence set must have at most"):
        dpm.confidence(dpm.Release([2950], mechanism=law)).counts["1"].interval(0.95)


@pytest.mark.parametrize(
    ("ties", "rounded"),
    [("even", [0, 20, 20, 10, 10]), ("up", [10, 20, 30, 10, 10]), ("away", [10, 20, 30, 10, 10])],
)
def test_halves_are_rounded_by_the_rule_for_ties(ties, rounded):
    law = dpm.Exact().rounded(10, ties=ties)
    drawn = law.sample(np.array([5, 15, 25, 6, 14]), rng=stream(1, "ties"))
    assert drawn.tolist() == rounded
    for count, value in zip([5, 15, 25, 6, 14], rounded, strict=True):
        assert np.exp(law.log_likelihood(float(value), count)) == 1
