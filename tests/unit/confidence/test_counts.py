"""Tests of confidence sets of counts: coverage by sums over all outcomes, for every noise distribution and modifier."""

import numpy as np
import pytest
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._confidence import release_sets
from dpmultinomial._confidence.count_sets import AddedSets
from dpmultinomial._mechanisms.coarsened import Coarsened

TRUTHS = np.arange(61)
DL, DG, L, G = dpm.DiscreteLaplace, dpm.DiscreteGaussian, dpm.Laplace, dpm.Gaussian
LAWS = {
    "DL 1": DL(scale=1.0),
    "DL 5": DL(scale=5.0),
    "DG .5": DG(sigma=0.5),
    "DG 2": DG(sigma=2.0),
    "DG 5": DG(sigma=5.0),
    "DG 5 clipped": DG(sigma=5.0).clipped(0),
    "DL 2 clipped": DL(scale=2.0).clipped(0),
    "DG 2 rounded 5": DG(sigma=2.0).rounded(5),
    "DL 2 rounded 10": DL(scale=2.0).rounded(10, ties="away"),
    "DL 5 threshold": DL(scale=5.0).threshold(10),
    "DG 2 rounded threshold": DG(sigma=2.0).rounded(5).threshold(10),
    "L 5 rounded": L(scale=5.0).rounded(1),
    "G 5 rounded clipped": G(sigma=5.0).rounded(1, ties="up").clipped(0),
    "exact rounded": dpm.Exact().rounded(3),
}


def table(rows, **given):
    true, released, p = map(list, zip(*rows, strict=True))
    return dpm.Perturbation({"true": true, "released": released, "probability": p}, **given)


def cell_keys(last, beyond="none"):
    """Return a table with mean 0 around every count and gaps near 0, which is not monotone."""
    rows = []
    for d in range(last + 1):
        moves = [v for v in range(-4, 5) if d + v >= 0 and d + v not in (1, 2)] if d else [0]
        weights = np.exp(-np.abs(moves) / 2.0)
        rows += [(d, d + v, w) for v, w in zip(moves, weights / weights.sum(), strict=True)]
    return table(rows, beyond=beyond)


def uneven(last):
    """Return noise of +-1 or +-6 depending on the count's remainder, so that sets have gaps."""
    return table([(d, d + v, p) for d in range(last + 1) for s in [1 if d % 3 else 6]
                  for v, p in ((-s, 0.25), (0, 0.5), (s, 0.25))])  # fmt: skip


def outcomes(law):
    """Return every value that has probability above 1e-9 for some count up to 60."""
    if isinstance(law, dpm.Perturbation):
        return np.arange(law.values.min(), law.values.max() + 1).astype(float)
    if isinstance(law, dpm.RandomRounding):
        return np.arange(0, 100, law.base, dtype=float)
    step = getattr(law, "step", None) or 1.0
    far = int(np.max(law.halfwidth(21))) + 1
    y = np.arange(-np.ceil(far / step), np.ceil((60 + far) / step) + 1) * step
    if getattr(law, "at", None) is not None:
        y = np.unique(np.r_[law.at, y[y > law.at]])
    if getattr(law, "least", None) is not None:
        y = np.r_[np.nan, y[y >= law.least]]
    return y


def covered(law, level, truths=TRUTHS):
    """Return the coverage of the interval for each true count, and the total probability of the outcomes."""
    y = outcomes(law)
    ends = dpm.confidence(dpm.Release(y, mechanism=law)).counts.interval(level)
    p = np.exp(law.log_likelihood(y[:, None], truths.astype(float)))
    inside = (ends["lower"].to_numpy()[:, None] <= truths) & (truths <= ends["upper"].to_numpy()[:, None])
    return (p * inside).sum(axis=0), p.sum(axis=0)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("name", LAWS)
def test_added_noise_covers_every_count(name, level):
    law = LAWS[name]
    found, mass = covered(law, level)
    assert mass.min() > 1 - 1e-7
    assert found.min() >= level - 1e-9
    stated = dpm.confidence(dpm.Release(outcomes(law), mechanism=law)).summary(level)["coverage"]
    assert found.min() >= stated.max() - 1e-7
    assert stated.min() >= level


@pytest.mark.parametrize("level", [0.6, 0.9, 0.95])
@pytest.mark.parametrize("law", [cell_keys(80), cell_keys(30, "shift"), uneven(90), dpm.RandomRounding(3),
                                 dpm.RandomRounding(5), dpm.RandomRounding(47)], ids=str)  # fmt: skip
def test_tables_cover_every_count(law, level):
    y = np.arange(-8, 110).astype(float)
    y = y[law.possible(y)]
    found = dpm.confidence(dpm.Release(y, mechanism=law))
    ends, p = found.counts.interval(level), np.exp(law.log_likelihood(y[:, None], TRUTHS.astype(float)))
    inside = (ends["lower"].to_numpy()[:, None] <= TRUTHS) & (ends["upper"].to_numpy()[:, None] >= TRUTHS)
    assert (p * inside).sum(axis=0).min() >= max(level, found.summary(level)["coverage"].max()) - 1e-12
    accepted = [set(found.counts[str(i + 1)].accepted(level)) for i in range(len(y))]
    sets = np.array([[d in s for d in TRUTHS] for s in accepted])
    assert (p * sets).sum(axis=0).min() >= level - 1e-12
    for i in (0, len(y) // 4, len(y) // 2):  # acceptance and p-value agree
        one = found.counts[str(i + 1)]
        assert [d for d in range(60) if one.pvalue(d) > 1 - level] == [d for d in sorted(accepted[i]) if d < 60]


def test_intervals_by_hand():
    """Check a discrete Gaussian of sigma 5: P(N >= 10) = .0283 and P(N >= 11) = .0177, so h = 10 at 95 %."""
    law = DG(sigma=5.0)
    x = np.arange(-80, 81)
    p = np.exp(-(x**2) / 50.0)
    p /= p.sum()
    assert p[x >= 10].sum() > 0.025 > p[x >= 11].sum()
    found = dpm.confidence(dpm.Release({"a": 17, "b": -2, "c": -15}, mechanism=law))
    assert [found.counts[n].interval() for n in "abc"] == [(7, 27), (0, 8), (0, 0)]
    assert found.notes() == {"c": "no count fits at this level; the nearest is 0"}
    assert found.summary()["coverage"].iloc[0] == pytest.approx(p[np.abs(x) <= 10].sum(), rel=1e-12)
    one = found.counts["a"]
    assert one.pvalue(5, "right") == pytest.approx(p[x >= 12].sum(), rel=1e-10)
    assert one.pvalue(5, "left") == pytest.approx(p[x <= 12].sum(), rel=1e-10)
    assert one.pvalue(5) == pytest.approx(2 * p[x >= 12].sum(), rel=1e-10)
    assert list(one.accepted()) == list(range(7, 28)) == [d for d in range(60) if one.pvalue(d) > 0.05]
    assert found.counts["c"].accepted().size == 0


def test_continuous_noise_has_the_distance_of_its_quantile():
    """Check Laplace noise of scale 2: P(N >= h) = exp(-h/2)/2 = .025 at h = 2 log 20 = 5.99, so 12.3 -+ 5.99."""
    found = dpm.confidence(dpm.Release([12.3, 0.4, 7.6], mechanism=[L(scale=2.0), G(sigma=0.1), G(sigma=0.1)]))
    assert found.counts["1"].interval() == (7, 18)
    assert found.counts["2"].interval() == (0, 0)  # .4 -+ .196 has no integer; 0 is nearest
    assert found.counts["3"].interval() == (8, 8)
    assert "no count fits" in found.counts["2"].note()


def test_withheld_and_missing_values():
    """Check a count withheld below 10, a noisy value of at most 9: all counts up to 9 + h, P(N >= h) > .025."""
    law = DL(scale=5.0).threshold(10)
    h = max(t for t in range(60) if np.exp(-t / 5) / (1 + np.exp(-1 / 5)) > 0.025)
    found = dpm.confidence(dpm.Release([np.nan, 30], mechanism=law))
    assert found.counts["1"].interval() == (0, 9 + h)
    missing = dpm.confidence(dpm.Release([np.nan, 30], mechanism=DL(scale=5.0)))
    assert missing.counts["1"].interval() == (0, np.inf)
    assert missing.notes() == {"1": "unbounded"}
    with pytest.raises(ValueError, match="every count >= 0 is accepted"):
        missing.counts["1"].accepted()
    bounded = dpm.confidence(dpm.Release([np.nan, 30], mechanism=DL(scale=5.0), bounds=(2, [40, 31])))
    assert bounded.counts.interval()["upper"].tolist() == [40, 31]
    assert bounded.counts["1"].accepted().tolist() == list(range(2, 41))


@pytest.mark.parametrize("name", ["DG 2 rounded 5", "DL 5 threshold", "DG 5 clipped"])
def test_pvalues_of_modified_values_agree_with_the_accepted_counts(name):
    law = LAWS[name]
    value = {"DG 2 rounded 5": 20, "DL 5 threshold": np.nan, "DG 5 clipped": 0}[name]
    one = dpm.confidence(dpm.Release([value, 20], mechanism=law)).counts["1"]
    assert one.accepted().tolist() == [d for d in range(80) if one.pvalue(d) > 0.05]


def test_noise_by_row_and_together():
    sigmas = np.array([2.0, 5.0, 2.0])
    found = dpm.confidence(dpm.Release([10, 20, 30], mechanism=DG(sigma=sigmas)))
    for i, sigma in enumerate(sigmas):
        alone = dpm.confidence(dpm.Release([[10, 20, 30][i]], mechanism=DG(sigma=float(sigma))))
        assert found.counts[str(i + 1)].interval() == alone.counts["1"].interval()
    both = found.summary(0.95, simultaneous=True)
    assert both["level"].iloc[0] == pytest.approx(0.95 ** (1 / 3))
    assert both["coverage"].prod() >= 0.95
    mixed = dpm.confidence(dpm.Release([10, 20, 30], mechanism=[DG(sigma=2.0), dpm.RandomRounding(5), uneven(60)]))
    assert mixed.counts["2"].interval() == (16, 24)
    assert mixed.counts["3"].note() == "with gaps"
    assert mixed.counts["1"].pvalue(10) == 1.0
    grid = dpm.confidence(dpm.Release(np.full((2, 3), 20.0), mechanism=DG(sigma=np.array([1.0, 9.0]))))
    widths = grid.counts.interval()
    assert (widths["upper"] - widths["lower"]).tolist() == [
        4,
        4,
        4,
        36,
        36,
        36,
    ]  # P(N >= 18) = .026, P(N >= 19) = .020 at sigma 9


@pytest.mark.parametrize(
    ("base", "level", "far"), [(10, 0.4, 5), (10, 0.55, 5), (10, 0.65, 6), (5, 0.3, 2), (4, 0.2, 2)]
)
def test_random_rounding_at_low_levels_by_hand(base, level, far):
    """The likelier of two outcomes has the p-value 1, the other one its probability 1 - distance/base."""
    one = dpm.confidence(dpm.Release([60.0], mechanism=dpm.RandomRounding(base))).counts["1"]
    assert one.interval(level) == (60 - far, 60 + far)
    assert one.accepted(level).tolist() == [d for d in range(40, 80) if one.pvalue(d) > 1 - level]


@pytest.mark.parametrize(
    ("bounds", "near"), [((25, 27), 25), ((26, 28), 28), ((25, 28), 25), ((40, 50), 40), ((3, 20), 20), ((32, 33), 32)]
)
def test_the_possible_count_that_is_nearest_to_those_that_fit(bounds, near):
    """30 is released by 24, 29, 30, 31 and 36, each of which fits at 95 %."""
    found = dpm.confidence(dpm.Release([30.0], mechanism=uneven(90), bounds=bounds))
    assert found.counts["1"].interval() == (near, near)
    assert found.counts["1"].note() == f"no count fits at this level; the nearest is {near}"
    free = dpm.confidence(dpm.Release([30.0], mechanism=uneven(90)))
    assert free.counts["1"].accepted().tolist() == [24, 29, 30, 31, 36]


def test_remarks_on_what_is_not_used():
    tree = dpm.Release(
        {"all": 30, "a": 10, "b": 18}, mechanism=DG(sigma=2.0), parents={"all": None, "a": "all", "b": "all"}
    )
    assert dpm.confidence(tree).notes()["a"] == "uses this value alone; the tree is not used"
    total = dpm.Release({"a": 10, "b": 18}, mechanism=DG(sigma=2.0), total=19)
    found = dpm.confidence(total)
    assert found.counts["b"].interval() == (14, 19)
    assert "the total is not used, except as an upper limit" in found.counts["a"].note()
    total = {"released": 9, "noise": dpm.Laplace(scale=1.0)}
    noisy = dpm.Release({"a": 1234567}, mechanism=dpm.DiscreteLaplace(scale=0.01), total=total)
    said = "a: 95 % confidence interval 1234567 to 1234567 (uses this value alone; the total is not used)"
    assert repr(dpm.confidence(noisy).counts["a"]) == said


def test_answers_have_all_digits_and_say_that_they_are_about_rates():
    large = dpm.confidence(dpm.Release({"a": 1234567.4, "b": 5.0}, mechanism=dpm.Gaussian(sigma=0.001)))
    assert large.ask({"sum": ["a", "b"]})["method"][0].endswith("the nearest is 1234572")
    two = dpm.confidence(dpm.Release({"a": 5, "b": 9}, mechanism=DG(sigma=1.0)))
    assert two.ask({"difference": ["a", "b"], "sizes": [20, 30]})["quantity"][0] == "a - b (rates)"
    assert two.ask({"ratio": ["a", "b"], "exposures": [20, 30]})["quantity"][0] == "a / b (rates)"


def test_shifting_table_is_the_same_far_above():
    law = cell_keys(30, "shift")
    found = dpm.confidence(dpm.Release([500.0, 501.0, 10**9], mechanism=law))
    (a, b), (c, d), (e, f) = (found.counts[n].interval() for n in "123")
    assert (c - 1, d - 1) == (a, b)
    assert (e - 10**9, f - 10**9) == (a - 500, b - 500)
    long = dpm.confidence(dpm.Release([500.0], mechanism=cell_keys(520)))
    assert long.counts["1"].interval() == (a, b)
    assert found.counts["1"].pvalue(498) == pytest.approx(long.counts["1"].pvalue(498), rel=1e-12)
    assert found.counts["1"].pvalue(498, "left") == pytest.approx(long.counts["1"].pvalue(498, "left"), rel=1e-12)
    assert [found.counts["3"].pvalue(3, side) for side in ("two", "left", "right")] == [0.0, 1.0, 0.0]


def test_normal_tails_at_a_wide_sigma():
    """Check that at sigma 50,000 the discrete Gaussian is normal: h within 1 of 1.96 sigma."""
    lower, upper = dpm.confidence(dpm.Release([10**7], mechanism=DG(sigma=5e4))).counts["1"].interval(0.95)
    z = stats.norm.isf(0.025)
    assert lower == pytest.approx(10**7 - z * 5e4, abs=1.5)
    assert upper == pytest.approx(10**7 + z * 5e4, abs=1.5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dpm.confidence([1, 2]), TypeError, "release must be a Release, got list"),
        (lambda: dpm.confidence(dpm.Release([1, 2], mechanism=dpm.AdditiveCounts(epsilon=1.0))), TypeError,
         "is not defined for AdditiveCounts: use posterior"),
        (lambda: dpm.confidence(dpm.Release([0.2, 0.8], mechanism=dpm.Dirichlet(r=10.0, alpha=1.0))), TypeError,
         "is not defined for Dirichlet"),
        (lambda: dpm.confidence(dpm.Release([1], mechanism="noise")), TypeError, "a noise distribution such as"),
        (lambda: dpm.confidence(dpm.Release([1.5], mechanism=DG(sigma=1.0))), ValueError, "must be integers, got"),
        (lambda: dpm.confidence(dpm.Release([7], mechanism=dpm.RandomRounding(5))), ValueError, "of the base 5, got 7"),
        (lambda: dpm.confidence(dpm.Release([999], mechanism=uneven(9))), ValueError, "noise table, got 999"),
        (lambda: dpm.confidence(dpm.Release([1], mechanism=DL(scale=1.0).threshold(5))), ValueError, "withheld"),
        (lambda: one().interval(1.0), ValueError, "level must lie strictly between 0 and 1, got 1.0"),
        (lambda: one().pvalue(2.5), TypeError, "count must be an integer, got 2.5"),
        (lambda: one().pvalue(-1), ValueError, "count must be >= 0, got -1"),
        (lambda: one().pvalue(1, "up"), ValueError, "side must be one of 'two', 'left', 'right', got 'up'"),
        (lambda: dpm.confidence(dpm.Release([3], mechanism=uneven(9))).counts["1"].pvalue(40), ValueError,
         r"true counts in the noise table \(0 to 9\), got 40"),
        (lambda: dpm.confidence(dpm.Release([3], mechanism=DL(scale=1.0))).counts["b"], KeyError, "unknown name 'b'"),
    ],
)  # fmt: skip
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


def one():
    return dpm.confidence(dpm.Release([3], mechanism=DL(scale=1.0))).counts["1"]


@pytest.mark.parametrize("change", ["rounded", "clipped", "withheld", "rounded and withheld"])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_modified_tables_cover_every_count(change, level):
    """Sums over the rows of the table, whose values are changed here by hand."""
    rng, rows = np.random.default_rng(7), []
    for d in range(21):
        values = np.unique(np.maximum(d + rng.integers(-4, 5, 4), 0))
        rows += [(d, int(v), p) for v, p in zip(values, rng.dirichlet(np.ones(len(values))), strict=True)]
    law, totals = table(rows), {}
    changed = {
        "rounded": law.rounded(5, ties="up"), "clipped": law.clipped(6), "withheld": law.threshold(4),
        "rounded and withheld": law.rounded(5, ties="up").threshold(5),
    }[change]  # fmt: skip
    for d, v, p in rows:
        y = 5 * ((v + 2.5) // 5) if "rounded" in change else max(v, 6) if change == "clipped" else float(v)
        least = {"withheld": 4, "rounded and withheld": 5}.get(change, 0)
        totals.setdefault(y if y >= least else np.nan if least else y, np.zeros(21))[d] += p
    y, p = np.array(list(totals)), np.array(list(totals.values()))
    sure = dpm.confidence(dpm.Release(y, mechanism=changed))
    accepted = np.zeros_like(p)
    for i, name in enumerate(sure.counts):
        accepted[i, sure.counts[name].accepted(level)] = 1
        pvalues = [sure.counts[name].pvalue(d) for d in range(21)]
        assert accepted[i].tolist() == [one > 1 - level for one in pvalues]
    cover = (p * accepted).sum(axis=0)
    assert cover.min() == pytest.approx(sure.summary(level)["coverage"].iloc[0], abs=1e-12)
    assert cover.min() >= level
    right = [sure.counts["1"].pvalue(d, "right") for d in range(21)]  # P(Y >= y), a withheld value is the smallest
    order = np.nan_to_num(y, nan=-1.0)
    assert right == pytest.approx(p[order >= order[0]].sum(axis=0).tolist(), abs=1e-12)
    rates = [dpm.confidence(dpm.Release([v], mechanism=changed, total=12)).rates["1"].interval(level) for v in y]
    for rate in (0.02, 0.4, 0.9):
        x = stats.binom.pmf(np.arange(13), 12, rate)
        inside = np.array([low <= rate <= high for low, high in rates])
        assert (p[:, :13] @ x) @ inside >= level - 1e-9


ENDLESS = {
    "random rounding, withheld": (dpm.RandomRounding(5), {"least": 10}),
    "random rounding, clipped": (dpm.RandomRounding(5), {"at": 7.5}),
    "random rounding, rounded again": (dpm.RandomRounding(3), {"step": 5}),
    "random rounding, rounded and withheld": (dpm.RandomRounding(5), {"step": 10, "least": 20}),
    "ties that go up": (dpm.RandomRounding(4), {"step": 6, "ties": "up"}),
    "rounded up": (dpm.RandomRounding(5, fixed="up"), {}),
    "rounded to the nearest, withheld": (dpm.RandomRounding(5, fixed="nearest"), {"least": 8.5}),
    "cell keys, withheld": (cell_keys(9, beyond="shift"), {"least": 4}),
    "cell keys, rounded": (cell_keys(9, beyond="shift"), {"step": 3, "ties": "away"}),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_modified_tables_that_do_not_end(name):
    """Check p-values and coverage by sums over 120 counts, whose values are changed here by hand."""
    noise, change = ENDLESS[name]
    law = Coarsened(noise, **change) if change else noise
    counts, values = np.arange(120), np.arange(-12.0, 140)
    values = values[noise.possible(values)]
    with np.errstate(divide="ignore"):
        p = np.exp(noise.log_likelihood(values, counts[:, None].astype(float)))
    values, p = values[p.any(axis=0)], p[:, p.any(axis=0)]
    step, at, least = (change.get(key, default) for key, default in (("step", 0), ("at", -99), ("least", -99)))
    shown = values
    if step:
        low, left = step * np.floor(values / step), values % step
        ties = {"up": True, "away": values > 0}.get(change.get("ties", "even"), (low / step) % 2 == 1)
        shown = low + step * ((left > step / 2) | ((left == step / 2) & ties))
    shown = np.maximum(shown, at)
    shown = np.where(shown < least, -np.inf, shown)
    outcomes, place = np.unique(shown, return_inverse=True)
    weights = np.zeros((120, len(outcomes)))
    np.add.at(weights.T, place, p.T)
    ratio = weights / np.maximum(weights.max(axis=0), 1e-300)
    used = np.flatnonzero(outcomes <= 60)
    sure = dpm.confidence(dpm.Release(np.where(np.isinf(outcomes), np.nan, outcomes)[used], mechanism=law))
    accepted = np.zeros((100, len(used)), dtype=bool)
    for k, y in enumerate(used):
        below = ratio[:, None, :] <= ratio[:, [y], None] * (1 + 1e-12)
        expected = np.where(weights[:, y] > 0, (weights[:, None, :] * below).sum(axis=2)[:, 0], 0.0)[:100]
        one = sure.counts[str(k + 1)]
        assert [one.pvalue(d) for d in (0, 1, 7, 11, 33, 58, 61, 99)] == pytest.approx(
            expected[[0, 1, 7, 11, 33, 58, 61, 99]].tolist(), abs=1e-12
        )
        accepted[one.accepted(0.9), k] = True
        assert accepted[:, k].tolist() == (expected > 0.1 + 1e-12).tolist()
        assert one.pvalue(11, "right") == pytest.approx(weights[11, outcomes >= outcomes[y]].sum(), abs=1e-12)
    inside = counts[:50]  # their released values are all among those used
    cover = (weights[inside][:, used] * accepted[inside]).sum(axis=1)
    assert cover.min() >= 0.9
    assert sure.summary(0.9)["coverage"].iloc[0] == pytest.approx(cover.min(), abs=1e-12)


def test_modified_tables_that_are_too_long_or_cannot_release_a_value():
    law = dpm.RandomRounding(10).threshold(90_000)
    words = r"a table of 90,0\d\d true counts, more than the limit of .*: compute a posterior"
    with pytest.raises(ValueError, match=words):
        dpm.confidence(dpm.Release([90_010.0], mechanism=law))
    with pytest.raises(ValueError, match="values must be among the released values of the noise table, got 90"):
        dpm.confidence(dpm.Release([90.0], mechanism=cell_keys(9).rounded(5)))


@pytest.mark.parametrize("usual", [((0, 0.6), (1, 0.4)), ((0, 1.0),)])
def test_a_table_whose_early_rows_reach_beyond_its_last_row(usual):
    """Count 2 can release 30, far above what the last row releases; p-values by sums over 80 counts."""
    rows = [(d, d + v, p) for d in range(6) for v, p in usual if d != 2]
    law = table([*rows, (2, 2, 0.7), (2, 30, 0.3)], beyond="shift")
    counts, values = np.arange(80), np.arange(82.0)
    with np.errstate(divide="ignore"):
        p = np.exp(law.log_likelihood(values, counts[:, None].astype(float)))
    ratio = p / np.maximum(p.max(axis=0), 1e-300)
    for y in (2, 29, 30, 31, 36, 60):
        one = dpm.confidence(dpm.Release([float(y)], mechanism=law)).counts["1"]
        for d in (0, 2, 5, 28, 29, 30, 31, 35, 36, 59, 60):
            expected = p[d][ratio[d] <= ratio[d, y] * (1 + 1e-12)].sum() if p[d, y] > 0 else 0.0
            assert one.pvalue(d) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("law", [uneven(20), dpm.RandomRounding(5)], ids=["table", "rounding"])
def test_a_count_that_a_table_did_not_release_is_unknown(law):
    found = dpm.confidence(dpm.Release([None, 10.0], mechanism=law, bounds=([3, 0], [8, 20])))
    assert found.counts["1"].interval() == (3, 8)
    assert [found.counts["1"].pvalue(5, side) for side in ("two", "left", "right")] == [1.0] * 3
    with pytest.raises(ValueError, match="only for measured counts, but count 1 was not measured: choose a measured"):
        found.counts["1"].accepted()
    assert found.counts["2"].accepted().size > 0
    free = dpm.confidence(dpm.Release([None, 10.0], mechanism=law))
    assert free.counts["1"].interval() == (0, np.inf)


@pytest.mark.parametrize(("most", "refused"), [(8, True), (9, False)])
def test_the_largest_table_of_a_confidence_set(monkeypatch, most, refused):
    """Three true counts and three released values have nine probabilities."""
    monkeypatch.setattr(release_sets, "_LARGEST", most)
    release = dpm.Release([1.0], mechanism=table([(d, v, 1 / 3) for d in range(3) for v in range(3)]))
    if refused:
        with pytest.raises(ValueError, match=r"must have at most 8 probabilities, got 9$"):
            dpm.confidence(release)
    else:
        assert dpm.confidence(release).counts["1"].interval() == (0, 2)


def test_the_limit_of_true_counts_is_the_root_of_that_of_probabilities():
    """The square root of 20,000,000 is 4,472.1."""
    with pytest.raises(ValueError, match="more than the limit of 4,472: compute a posterior"):
        dpm.confidence(dpm.Release([90_010.0], mechanism=dpm.RandomRounding(10).threshold(90_000)))


@pytest.mark.parametrize(("longest", "refused"), [(29, True), (30, False)])
def test_the_longest_period_of_a_table(monkeypatch, longest, refused):
    """Multiples of 5 rounded to multiples of 3 repeat after 2 lcm(5, 3) = 30 counts."""
    monkeypatch.setattr(release_sets, "_LONGEST", longest)
    release = dpm.Release([9.0], mechanism=dpm.RandomRounding(5).rounded(3))
    if refused:
        with pytest.raises(ValueError, match="mechanism RandomRounding requires a table of"):
            dpm.confidence(release)
    else:
        assert dpm.confidence(release).counts["1"].interval()[0] >= 5


def test_the_method_names_every_kind_of_set_once():
    laws = [DG(sigma=2.0), dpm.RandomRounding(5), DG(sigma=3.0)]
    found = dpm.confidence(dpm.Release([10, 20, 30], mechanism=laws))
    assert found.summary()["method"].tolist() == ["likelihood ratio or tails"] * 3


@pytest.mark.parametrize(("law", "rule"), [(DG(sigma=2.0), "integers"), (L(scale=2.0), "finite")])
def test_values_that_cannot_be_released(law, rule):
    value = 1.5 if rule == "integers" else np.inf
    with pytest.raises(ValueError, match=f"released values under .* must be {rule}, got {value:g}$"):
        AddedSets(law, np.array([2.0, value, np.nan]), np.zeros(3), np.full(3, np.inf))


def test_a_page_of_intervals_states_the_remarks():
    """The released value -200 with scale 2 fits no count, so only the nearest count is shown."""
    found = dpm.confidence(dpm.Release({"<a>": 1, "b": -200}, mechanism=dpm.DiscreteLaplace(scale=2.0), total=5))
    shown = found._repr_html_()
    assert "<p>95 % confidence intervals, without a prior</p>" in shown
    assert "<p>b: no count fits at this level; the nearest is 0; " in shown
    assert "<p>&lt;a&gt;: uses this value alone" in shown


def test_the_limits_of_large_counts_are_stated_in_full():
    """By symmetry of the noise, the limits 10^15 - k and 10^15 + k have the same distance from the released value."""
    found = dpm.confidence(dpm.Release({"a": 1e15}, mechanism=dpm.DiscreteLaplace(scale=2.0))).counts["a"]
    lower, upper = found.interval()
    assert upper - 10**15 == 10**15 - lower > 0
    assert repr(found) == f"a: 95 % confidence interval {lower} to {upper}"
