"""Confidence intervals of rates: coverage by sums over files and releases, closed forms, and published values."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import dpmultinomial as dpm
from dpmultinomial._confidence import confidence as confidence_module
from dpmultinomial._confidence.noise_sums import added
from dpmultinomial._confidence.rates import GAMMA, Pair, TailsGivenCount, enveloped, rate_interval, rate_tails

RATES = np.r_[0.005, 0.01, 0.02, 0.03, np.arange(0.05, 0.96, 0.05), 0.97, 0.98, 0.99, 0.995]
DL, DG = dpm.DiscreteLaplace, dpm.DiscreteGaussian


def noise(law, mass=1e-12):
    """Values and probabilities of integer-valued noise."""
    half = int(law.halfwidth(-math.log(mass))) + 1
    x = np.arange(-half, half + 1)
    return x, np.exp(law.log_likelihood(x.astype(float), np.zeros(1)))


@pytest.mark.parametrize(("n", "law"), [(30, DL(scale=2.0)), (30, DG(sigma=1.0)), (60, DG(sigma=4.0))], ids=str)
def test_two_counts_of_a_public_total_cover_every_rate(n, law):
    """Y1 - Y0 = 2 x - n + N1 - N0: every value of the difference, every x."""
    x, p = noise(law)
    both = np.convolve(p, p)
    gaps = np.arange(2 * x[0], 2 * x[-1] + 1)
    files = stats.binom.pmf(np.arange(n + 1)[:, None], n, RATES)
    covered, mass = np.zeros(len(RATES)), np.zeros(len(RATES))
    for d in range(int(gaps[0]) - n, int(gaps[-1]) + n + 1):
        chance = np.interp(d - (2 * np.arange(n + 1) - n), gaps, both, left=0, right=0) @ files
        if chance.max() < 1e-9:
            continue
        release = dpm.Release({"a": d, "b": 0}, mechanism=law, total=n)
        lower, upper = dpm.confidence(release).rates["a"].interval()
        covered += chance * ((lower <= RATES) & (upper >= RATES))
        mass += chance
    assert mass.min() > 1 - 1e-6
    assert covered.min() >= 0.95 - 1e-9
    assert covered.mean() < 0.985  # and does not cover by being wide


LAWS = [DL(scale=2.0).threshold(3), DG(sigma=3.0).rounded(5), dpm.RandomRounding(3), DG(sigma=2.0).clipped(0)]


@pytest.mark.parametrize("law", [*LAWS, "table"], ids=str)
def test_one_modified_count_of_a_public_total_covers_every_rate(law):
    n = 25
    if law == "table":  # noise by remainder: tails are not monotone in the count
        rows = [
            (d, d + v, p) for d in range(n + 1) for s in [1 if d % 3 else 6] for v, p in ((-s, 0.3), (0, 0.4), (s, 0.3))
        ]
        true, released, p = map(list, zip(*rows, strict=True))
        law = dpm.Perturbation({"true": true, "released": released, "probability": p})
    step = getattr(law, "step", None) or getattr(law, "base", 1)
    y = np.arange(-60 // step * step, 90, step).astype(float)
    y = y[law.possible(y)]
    if getattr(law, "least", None) is not None:
        y = np.r_[np.nan, y]
    p = np.exp(law.log_likelihood(y[:, None], np.arange(n + 1.0)))
    assert p.sum(axis=0) == pytest.approx(1, abs=1e-8)
    chance = p @ stats.binom.pmf(np.arange(n + 1)[:, None], n, RATES)
    ends = [dpm.confidence(dpm.Release([one], mechanism=law, total=n)).rates["1"].interval() for one in y]
    lower, upper = np.array(ends).T
    covered = (chance * ((lower[:, None] <= RATES) & (upper[:, None] >= RATES))).sum(axis=0)
    assert covered.min() >= 0.95 - 1e-9


def test_without_noise_it_is_clopper_and_pearson():
    for n, x in ((20, 0), (20, 7), (20, 20), (1000, 30)):
        found = dpm.confidence(dpm.Release([x], mechanism=dpm.Exact(), total=n)).rates["1"].interval(0.9)
        exact = stats.binomtest(x, n).proportion_ci(0.9, method="exact")
        assert found == pytest.approx((exact.low, exact.high), abs=1e-10)


def test_all_counts_are_more_precise_than_one():
    """k = 4 and n = 100: the pivot k y - sum + n has 3/4 of the noise variance."""
    law = DL(scale=5.0)
    four = dpm.confidence(dpm.Release({"a": 30, "b": 20, "c": 25, "d": 25}, mechanism=law, total=100))
    alone = dpm.confidence(dpm.Release({"a": 30, "b": None}, mechanism=law, total=100))
    widths = [np.diff(found.rates["a"].interval())[0] for found in (four, alone)]
    assert widths[0] < widths[1]
    _, p = noise(law)
    table = four.summary()
    assert table.loc[table["type"] == "rate", "method"].unique().tolist() == ["exact binomial, all counts"]
    assert (table["status"] == "exact").all()
    triple = np.zeros((len(p) - 1) * 3 + 1)
    triple[::3] = p
    pivot = np.convolve(np.convolve(np.convolve(triple, p), p), p)
    at = np.arange(-(len(pivot) // 2), len(pivot) // 2 + 1)
    right = [pivot[at >= 4 * 30 - 100 + 100 - 4 * k].sum() for k in range(101)]
    assert four.rates["a"].pvalue(0.3, "right") == pytest.approx(
        stats.binom.pmf(range(101), 100, 0.3) @ right, abs=1e-9
    )


UNEQUAL = [DL(scale=1.0), DG(sigma=4.0), DL(scale=0.4)]


def of_sum(terms):
    """Values and probabilities of a sum of multiples of independent noise terms, by convolution."""
    total = np.ones(1)
    for law, multiple in terms:
        _, p = noise(law, 1e-15)
        stretched = np.zeros((len(p) - 1) * multiple + 1)
        stretched[::multiple] = p
        total = np.convolve(total, stretched)
    return np.arange(-(len(total) // 2), len(total) // 2 + 1), total


@pytest.mark.parametrize("place", range(3))
def test_each_of_three_counts_with_unequal_noise_enters_with_its_own_noise(place):
    """Given x records, 3 y - sum(y) + n is 3 x plus twice the noise of the count, minus the noise of both others."""
    y, n, x = np.array([14, 30, 9]), 50, np.arange(51)
    at, mass = of_sum([(law, 2 if i == place else 1) for i, law in enumerate(UNEQUAL)])
    pivot = 3 * y[place] - y.sum() + n
    right, left = (
        np.array([mass[side(at, pivot - 3 * k)].sum() for k in x]) for side in (np.greater_equal, np.less_equal)
    )
    rate = dpm.confidence(dpm.Release(y.tolist(), mechanism=UNEQUAL, total=n)).rates[str(place + 1)]

    def tail(p, given):
        return stats.binom.pmf(x, n, p) @ given

    assert rate.pvalue(0.35, "right") == pytest.approx(tail(0.35, right), rel=1e-9)
    assert rate.pvalue(0.35, "left") == pytest.approx(tail(0.35, left), rel=1e-9)
    ends = [optimize.brentq(lambda p, given=given: tail(p, given) - 0.025, 0, 1, xtol=1e-13) for given in (right, left)]
    assert rate.interval() == pytest.approx(ends, abs=1e-9)


@pytest.mark.parametrize("place", range(3))
def test_a_pair_has_the_noise_of_the_count_of_all_others_and_of_their_sum(place):
    y = [14, 30, 9]
    pair = dpm.confidence(dpm.Release(y, mechanism=UNEQUAL)).rates[str(place + 1)]._noisy.pair(place)
    own, rest = [(UNEQUAL[place], 1)], [(law, 1) for i, law in enumerate(UNEQUAL) if i != place]
    assert (pair.y1, pair.y0) == (y[place], sum(y) - y[place])
    for found, terms in ((pair.noise1, own), (pair.noise0, rest), (pair.noise, own + rest)):
        at, mass = of_sum(terms)
        assert [float(found.right(d)) for d in range(-12, 13, 3)] == pytest.approx(
            [mass[at >= d].sum() for d in range(-12, 13, 3)], rel=1e-9
        )


def tulap(t, b, q):
    """Distribution function of truncated Tulap noise (Awan and Slavkovic 2018, definition 2.6)."""
    r = np.round(t)
    below = b ** (-r) / (1 + b) * (b + (t - r + 0.5) * (1 - b))
    above = 1 - b**r / (1 + b) * (b + (r - t + 0.5) * (1 - b))
    f = np.where(t <= 0, below, above)
    return np.where(f < q / 2, 0, np.where(f > 1 - q / 2, 1, (f - q / 2) / (1 - q)))


def test_published_values_of_binomialdp():
    """Vignette of the R package binomialDP: n 30, epsilon 1, delta .01; left p-values of .4, lower limits at 95 %."""
    z = [18.70, 10.65, 12.89, 9.12, 9.88, 15.15, 6.14, 8.41, 10.46, 11.87]
    pvalues = [0.99, 0.33, 0.62, 0.17, 0.24, 0.85, 0.02, 0.11, 0.30, 0.49]
    limits = [0.46, 0.21, 0.27, 0.17, 0.19, 0.34, 0.09, 0.15, 0.21, 0.24]
    b = math.exp(-1)
    q = 2 * 0.01 * b / (1 - b + 2 * 0.01 * b)
    for one, pvalue, limit in zip(z, pvalues, limits, strict=True):
        tails = TailsGivenCount(30, lambda x, y=one: tulap(x - y, b, q), lambda x, y=one: 1 - tulap(x - y, b, q))
        assert round(rate_tails(tails, 0.4)[1], 2) == pytest.approx(pvalue, abs=1e-9)
        assert round(rate_interval(tails, 0.9)[0], 2) == pytest.approx(limit, abs=1e-9)


def test_a_randomised_test_is_that_of_tulap_noise():
    """P(N + U >= y + u) of discrete Laplace noise: Tulap without truncation."""
    law, n, rng = DL(scale=1.0), 12, np.random.default_rng(5)
    u = np.random.default_rng(5).random()
    found = dpm.confidence(dpm.Release({"a": 7}, mechanism=law, total=n)).rates["a"].pvalue(0.4, "right", rng=rng)
    x = np.arange(n + 1)
    exact = stats.binom.pmf(x, n, 0.4) @ tulap(x - (7 + u - 0.5), math.exp(-1), 0.0)
    assert found == pytest.approx(exact, abs=1e-12)
    with pytest.raises(ValueError, match="only for a one-sided test with integer-valued noise"):
        dpm.confidence(dpm.Release({"a": 7}, mechanism=law, total=n)).rates["a"].pvalue(0.4, rng=rng)


def test_running_maxima_are_upper_bounds_that_are_monotone():
    right, left = np.array([0.1, 0.5, 0.2, 0.9]), np.array([0.9, 0.3, 0.8, 0.1])
    tails = enveloped(TailsGivenCount(3, lambda x: right[x.astype(int)], lambda x: left[x.astype(int)]))
    x = np.arange(4.0)
    assert tails.right(x).tolist() == [0.1, 0.5, 0.5, 0.9]
    assert tails.left(x).tolist() == [0.9, 0.8, 0.8, 0.1]


@pytest.mark.parametrize(
    ("n", "law", "rates"), [(12, DL(scale=1.0), [0.05, 0.3, 0.5]), (20, DG(sigma=1.5), [0.1, 0.8])]
)
def test_without_a_public_total_every_rate_is_covered(n, law, rates):
    """All pairs of releases that matter at a true number of records n, which the method does not know."""
    x, p = noise(law, 1e-6)
    one = added([(law, 1)])
    both = added([(law, 1), (law, 1)])
    y1 = np.arange(x[0], n + x[-1] + 1)
    for rate in rates:
        covered = mass = 0.0
        chance = np.zeros((len(y1), len(y1)))
        for k, b in enumerate(stats.binom.pmf(np.arange(n + 1), n, rate)):
            chance += b * np.outer(np.interp(y1 - k, x, p, 0, 0), np.interp(y1 - (n - k), x, p, 0, 0))
        for i, j in np.argwhere(chance > 2e-6):
            pair = Pair(float(y1[i]), float(y1[j]), one, one, both)
            covered += chance[i, j] * pair.accepts(rate, 0.95)
            mass += chance[i, j]
        assert mass > 0.995
        assert covered + 1 - mass >= 0.95
        assert covered < 0.99


def test_without_a_public_total_tails_are_sums_over_all_noise():
    law = DG(sigma=1.5)
    x, p = noise(law, 1e-15)
    pair = Pair(4.0, 11.0, added([(law, 1)]), added([(law, 1)]), added([(law, 1), (law, 1)]))
    n, rate = 13, 0.3
    k = np.arange(n + 1)
    t = (1 - rate) * (k[:, None, None] + x[:, None]) - rate * (n - k[:, None, None] + x)
    weight = stats.binom.pmf(k, n, rate)[:, None, None] * p[:, None] * p
    own = 0.7 * 4 - 0.3 * 11
    assert pair.tails(rate, n) == pytest.approx(
        (weight[t >= own - 1e-9].sum(), weight[t <= own + 1e-9].sum()), abs=1e-12
    )


def test_interval_without_a_public_total():
    found = dpm.confidence(dpm.Release({"a": 12, "b": 48}, mechanism=DG(sigma=4.0)))
    lower, upper = found.rates["a"].interval()
    assert 0.0 < lower < 0.2 < upper < 0.45
    pair = Pair(12.0, 48.0, *(added([(DG(sigma=4.0), 1)] * k) for k in (1, 1, 2)))
    assert all(pair.accepts(p, 0.95) for p in np.linspace(lower + 2e-4, upper - 2e-4, 9))
    assert not pair.accepts(lower - 2e-3, 0.95)
    assert not pair.accepts(upper + 2e-3, 0.95)
    assert found.rates["a"].pvalue(0.2) > 0.5 > 0.05 > found.rates["a"].pvalue(upper + 0.01)
    assert found.rates["b"].interval() == pytest.approx((1 - upper, 1 - lower), abs=2e-3)
    row = found.rates["a"].row(0.95)
    assert row[3:6] == ("Berger and Boos", "conservative", GAMMA)
    large = dpm.confidence(dpm.Release({"a": 20_000, "b": 80_000}, mechanism=DG(sigma=4.0))).rates["a"].row(0.95)
    half = 1.96 * math.sqrt(0.2 * 0.8 / 1e5 + 16 * (0.04 + 0.64) / 1e10)
    assert large[:2] == pytest.approx((0.2 - half, 0.2 + half), abs=2e-5)
    assert large[4] == "approximate"
    assert 0 < large[5] < 2e-3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dpm.confidence(dpm.Release([3], mechanism=DL(scale=1.0))).rates["1"].interval(), "only one count"),
        (lambda: dpm.confidence(dpm.Release([3, 4], mechanism=DL(scale=1.0))).rates["1"].interval(0.999),
         "level must be below 0.998 if the total is not public"),
        (lambda: dpm.confidence(dpm.Release([3, 4], mechanism=dpm.Laplace(scale=1.0))).rates["1"].interval(),
         "rates without a public total require integer-valued noise"),
        (lambda: dpm.confidence(dpm.Release([3], mechanism=DL(scale=1.0), total=9)).rates["1"].pvalue(1.5),
         r"rate must lie in \[0, 1\], got 1.5"),
        (lambda: dpm.confidence(dpm.Release([1], mechanism=dpm.Perturbation(
            {"true": [0, 1], "released": [0, 1], "probability": [1, 1]}), total=5)).rates["1"].interval(),
         r"up to the total \(5\), but the largest true count in the table is 1"),
    ],
)  # fmt: skip
def test_bad_requests(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_the_interval_ends_where_the_tails_are_alpha_over_two():
    release = dpm.Release({"a": 17, "b": 25}, mechanism=DG(sigma=3.0), total=40)
    rate = dpm.confidence(release).rates["a"]
    lower, upper = rate.interval()
    assert lower == pytest.approx(optimize.brentq(lambda p: rate.pvalue(p, "right") - 0.025, 1e-6, 0.9), abs=1e-9)
    assert upper == pytest.approx(optimize.brentq(lambda p: rate.pvalue(p, "left") - 0.025, 0.1, 1 - 1e-6), abs=1e-9)


def test_the_pvalue_of_a_pair_by_enumeration():
    """Check the level from which a rate is accepted: P(T >= t) and P(T <= t) for all numbers of records, every file and
    every pair of noise values, and the probability gamma that the number is outside its set.
    """
    law, p, y1, y0 = DL(scale=1.0), 0.7, 5, 9
    one = added([(law, 1)])
    pair = Pair(float(y1), float(y0), one, one, added([(law, 1), (law, 1)]))
    x, mass = noise(law)
    t = (1 - p) * y1 - p * y0
    tails = []
    for n in pair.sizes().astype(int):
        k = np.arange(n + 1)
        values = (1 - p) * (k[:, None, None] + x[:, None]) - p * (n - k[:, None, None] + x)
        weights = stats.binom.pmf(k, n, p)[:, None, None] * mass[:, None] * mass
        tails.append([weights[values >= t - 1e-9].sum(), weights[values <= t + 1e-9].sum()])
    right, left = np.max(tails, axis=0)
    pvalue = 2 * min(right, left) + GAMMA
    assert 2 * GAMMA < pvalue < 0.5
    assert pair.accepts(p, 1 - pvalue + 1e-5)
    assert not pair.accepts(p, 1 - pvalue - 1e-5)


def test_a_normal_distribution_replaces_the_sums_above_5000_records():
    sure = dpm.confidence(dpm.Release({"a": 1001, "b": 4000}, mechanism=DL(scale=2.0)))
    row = sure.rates["a"].row(0.95)
    assert row[3:5] == ("normal distribution", "approximate")
    assert 0 < row[5] < 1e-3


@pytest.mark.parametrize(("value", "rate"), [(60, 1.0), (-40, 0.0)])
def test_a_count_beyond_its_total_has_the_nearest_rate(value, rate):
    found = dpm.confidence(dpm.Release({"a": value, "b": None}, mechanism=DL(scale=1.0), total=20))
    assert found.rates["a"].interval() == (rate, rate)
    assert f"the nearest is {rate:g}" in found.rates["a"].row(0.95)[-1]
    remark = f"no rate fits at this level; the nearest is {rate:g}"
    assert repr(found.rates["a"]) == f"a: 95 % confidence interval {rate:g} to {rate:g} ({remark})"
    assert found.summary()["method"].tolist()[2] == f"exact binomial: {remark}"
    assert found.rates["a"].row(0.5)[:2] == (rate, rate)  # at a low level too


@pytest.mark.parametrize("sets", [[(0.03, 0.1), (0.4, 0.6)], [(0.03, 0.6)], [(0.3, 0.4), (0.5, 0.6)]])
def test_rejected_rates_between_accepted_ones_are_reported(sets):
    class Accepting(Pair):
        def accepts(self, p, level):
            return any(low <= p <= high for low, high in sets)

    one, both = added([(DL(scale=1.0), 1)]), added([(DL(scale=1.0), 1)] * 2)
    lower, upper, gaps = Accepting(12.0, 48.0, one, one, both).interval(0.95)
    assert gaps == (len(sets) > 1)
    assert (lower, upper) == pytest.approx((sets[0][0], sets[-1][1]), abs=1e-4)
    assert lower <= sets[0][0]  # rounded outwards
    assert upper >= sets[-1][1]


@pytest.mark.parametrize(("y1", "y0"), [(12.0, 30.0), (0.0, 40.0), (30.0, 2.0)])
def test_the_normal_interval_by_its_roots_and_its_error_by_enumeration(y1, y0):
    """(n q - y1)^2 = z^2 (n q (1 - q) + (1 - q)^2 v1 + q^2 v0), noise of one count and of the sum of three."""
    law, level = DG(sigma=2.0), 0.9
    pair = Pair(y1, y0, *(added([(law, 1)] * k) for k in (1, 3, 4)))
    x, mass = noise(law, 1e-13)
    three = np.convolve(np.convolve(mass, mass), mass)
    v1 = float(mass @ x**2)
    z, n = stats.norm.isf(0.05), y1 + y0

    def beyond(q):
        return (n * q - y1) ** 2 - z**2 * (n * q * (1 - q) + (1 - q) ** 2 * v1 + q**2 * 3 * v1)

    p = min(max(y1 / n, 1e-9), 1 - 1e-9)
    lower, upper, error = pair.normal_interval(level)
    assert lower == pytest.approx(optimize.brentq(beyond, 0, p) if beyond(0) > 0 else 0.0, abs=1e-9)
    assert upper == pytest.approx(optimize.brentq(beyond, p, 1) if beyond(1) > 0 else 1.0, abs=1e-9)
    k, wide = np.arange(n + 1), np.arange(3 * x[0], 3 * x[-1] + 1)
    t = (1 - p) * (k[:, None, None] + x[:, None]) - p * (n - k[:, None, None] + wide)
    far = z * math.sqrt(n * p * (1 - p) + (1 - p) ** 2 * v1 + p**2 * 3 * v1)
    weights = stats.binom.pmf(k, n, p)[:, None, None] * mass[:, None] * three
    tails = weights[t >= far - 1e-9].sum(), weights[t <= 1e-9 - far].sum()
    assert error == pytest.approx(max(abs(tail - 0.05) for tail in tails), abs=1e-9)


def test_rates_together_have_a_smaller_tail_each():
    found = dpm.confidence(dpm.Release({"a": 17, "b": 25}, mechanism=DG(sigma=3.0), total=40))
    table = found.summary(0.9, simultaneous=True)
    rates = table[table["type"] == "rate"]
    assert rates["level"].tolist() == [0.95, 0.95]
    alone = found.rates.interval(0.95)
    assert rates[["lower", "upper"]].to_numpy().tolist() == alone.to_numpy().tolist()
    assert found.rates["a"].interval(0.95) == tuple(alone.loc["a"])


@pytest.mark.parametrize(("number", "rates"), [(2, 2), (3, 3), (4, 0)])
def test_summaries_of_many_categories_contain_no_rates(monkeypatch, number, rates):
    """Check both sides of the limit, with a limit of three categories."""
    monkeypatch.setattr(confidence_module, "MANY_RATES", 3)
    release = dpm.Release([5.0] * number, mechanism=dpm.DiscreteLaplace(scale=1.0), total=5 * number)
    assert (dpm.confidence(release).summary(0.9)["type"] == "rate").sum() == rates


@pytest.mark.parametrize(("number", "words"), [(16, "exact binomial, all counts"), (17, "exact binomial")])
def test_up_to_sixteen_counts_enter_the_statistic_of_a_rate(number, words):
    release = dpm.Release([5.0] * number, mechanism=DL(scale=1.0), total=5 * number)
    assert dpm.confidence(release).rates["1"].row(0.95)[3] == words


@pytest.mark.parametrize(("reach", "status"), [(1, "exact"), (6, "conservative")])
def test_rates_by_a_table_are_exact_if_its_tails_are_monotone(reach, status):
    rows = [(d, d + v, 1 / 3) for d in range(13) for s in [1 if d % 3 else reach] for v in (-s, 0, s)]
    true, released, p = map(list, zip(*rows, strict=True))
    law = dpm.Perturbation({"true": true, "released": released, "probability": p})
    row = dpm.confidence(dpm.Release([5.0], mechanism=law, total=12)).rates["1"].row(0.95)
    assert row[3:5] == ("exact binomial", status)


def test_one_sided_pvalues_without_a_public_total_by_enumeration():
    """P(T >= t) and P(T <= t) for all numbers of records in the set, and gamma; twice the smaller has gamma once."""
    law, p, y1, y0 = DL(scale=1.0), 0.7, 5, 9
    rate = dpm.confidence(dpm.Release({"a": y1, "b": y0}, mechanism=law)).rates["a"]
    one = added([(law, 1)])
    x, mass = noise(law)
    t, tails = (1 - p) * y1 - p * y0, []
    for n in Pair(float(y1), float(y0), one, one, added([(law, 1), (law, 1)])).sizes().astype(int):
        k = np.arange(n + 1)
        values = (1 - p) * (k[:, None, None] + x[:, None]) - p * (n - k[:, None, None] + x)
        weights = stats.binom.pmf(k, n, p)[:, None, None] * mass[:, None] * mass
        tails.append([weights[values >= t - 1e-9].sum(), weights[values <= t + 1e-9].sum()])
    right, left = np.max(tails, axis=0)
    assert rate.pvalue(p, "right") == pytest.approx(min(right + GAMMA, 1), abs=1e-9)
    assert rate.pvalue(p, "left") == pytest.approx(left + GAMMA, abs=1e-9)
    assert rate.pvalue(p) == pytest.approx(2 * min(left, right) + GAMMA, abs=1e-9)


def test_rates_of_zero_and_one_without_a_public_total():
    """Without records of a or of b, the rates 0 or 1 fit; with fifty records of both, they do not."""
    few = dpm.confidence(dpm.Release({"a": 0, "b": 50}, mechanism=DL(scale=1.0)))
    assert [few.rates[name].pvalue(p) > 0.5 for name in "ab" for p in (0.0, 1.0)] == [True, False, False, True]
    both = dpm.confidence(dpm.Release({"a": 50, "b": 50}, mechanism=DL(scale=1.0)))
    assert [both.rates["a"].pvalue(p) <= GAMMA + 1e-9 for p in (0.0, 1.0)] == [True, True]


def test_the_two_randomised_tails_add_up_to_one():
    rate = dpm.confidence(dpm.Release({"a": 7}, mechanism=DL(scale=1.0), total=12)).rates["a"]
    right, left = (rate.pvalue(0.4, side, rng=np.random.default_rng(5)) for side in ("right", "left"))
    assert right + left == pytest.approx(1, abs=1e-12)
    assert right < rate.pvalue(0.4, "right")
    assert left < rate.pvalue(0.4, "left")
    wide = dpm.confidence(dpm.Release({"a": 7}, mechanism=dpm.Laplace(scale=1.0), total=12)).rates["a"]
    with pytest.raises(ValueError, match="with integer-valued noise, got side = 'right'"):
        wide.pvalue(0.4, "right", rng=np.random.default_rng(5))


@pytest.mark.parametrize(("y1", "y0", "share"), [(-45, 60, "0"), (30, -60, "1"), (60, -45, "1")])
def test_the_nearest_share_replaces_rates_that_do_not_fit(y1, y0, share):
    row = dpm.confidence(dpm.Release({"a": y1, "b": y0}, mechanism=DL(scale=1.0))).rates["a"].row(0.95)
    assert row[:2] == (float(share), float(share))
    assert row[3:] == (
        "Berger and Boos", "conservative", GAMMA, f"no rate fits at this level; the interval contains only {share}",
    )  # fmt: skip


@pytest.mark.parametrize("level", [0.8, 0.95, 0.997])
def test_many_records_without_a_public_total_have_nearly_the_normal_interval(level):
    """Check the quantile of tails of (1 - level - .002)/2, whose part .002 belongs to the number of records."""
    law = DL(scale=0.3)
    pair = Pair(168.0, 392.0, *(added([(law, 1)] * k) for k in (1, 1, 2)))
    lower, upper, gaps = pair.interval(level)
    variance = 0.3 * 0.7 / 560 + (0.7**2 + 0.3**2) * float(law.variance()) / 560**2
    half = stats.norm.isf((0.998 - level) / 2) * np.sqrt(variance)
    assert (0.3 - lower, upper - 0.3) == pytest.approx((half, half), rel=0.1)
    assert not gaps


@pytest.mark.parametrize(("y1", "words"), [(1000, "Berger and Boos"), (1001, "normal distribution")])
def test_five_thousand_records_are_summed_exactly(y1, words):
    sure = dpm.confidence(dpm.Release({"a": y1, "b": 4000}, mechanism=DL(scale=0.05)))
    assert sure.rates["a"].row(0.95)[3] == words


def test_the_level_of_a_rate_without_a_public_total_is_below_that_of_the_number_of_records():
    rate = dpm.confidence(dpm.Release([3, 4], mechanism=DL(scale=1.0))).rates["1"]
    with pytest.raises(ValueError, match=r"level must be below 0.998 .*, got 0.998: .* only with confidence 0.998$"):
        rate.row(0.998)
    assert rate.row(0.9979)[2] == 0.9979
    wide = dpm.confidence(dpm.Release([3, 4], mechanism=[DG(sigma=1.0), DG(sigma=5e4)]))
    with pytest.raises(ValueError, match="small enough for exact summation"):
        wide.rates["1"].interval()


def test_collections_by_name_are_printed_and_name_their_quantities():
    found = dpm.confidence(dpm.Release([20.0] * 21, mechanism=DL(scale=1.0)))
    names = [str(i) for i in range(1, 22)]
    assert (list(found.counts), len(found.counts), found.counts._ipython_key_completions_()) == (names, 21, names)
    with pytest.raises(KeyError, match=f"unknown name 'x': choose from {', '.join(names[:20])}, .. .21 in all."):
        found.counts["x"]
    lines = repr(found.counts).splitlines()
    assert lines == [*(f"{name}: 95 % confidence interval 17 to 23" for name in names[:10]), "..."]
    fewer = dpm.confidence(dpm.Release([20.0] * 20, mechanism=DL(scale=1.0)))
    with pytest.raises(KeyError, match=f"unknown name 'x': choose from {', '.join(names[:20])}[\"']$"):
        fewer.counts["x"]
    ten = dpm.confidence(dpm.Release([20.0] * 10, mechanism=DL(scale=1.0)))
    assert len(repr(ten.counts).splitlines()) == 10
    noted = dpm.confidence(dpm.Release([-20.0], mechanism=DL(scale=1.0)))
    assert repr(noted.counts["1"]) == (
        "1: 95 % confidence interval 0 to 0 (no count fits at this level; the nearest is 0)"
    )


def test_a_printed_rate_has_four_digits():
    """Without noise, the interval is that of Clopper and Pearson."""
    ends = stats.binomtest(7, 20).proportion_ci(0.95, method="exact")
    rate = dpm.confidence(dpm.Release([7], mechanism=dpm.Exact(), total=20)).rates["1"]
    assert repr(rate) == f"1: 95 % confidence interval {ends.low:.4g} to {ends.high:.4g}"
    ends = stats.binomtest(1, 20).proportion_ci(0.95, method="exact")  # 0.0012650.. and 0.2487332.., rounded outwards
    rate = dpm.confidence(dpm.Release([1], mechanism=dpm.Exact(), total=20)).rates["1"]
    assert repr(rate) == f"1: 95 % confidence interval {ends.low - 5e-7:.4g} to {ends.high + 5e-5:.4g}"


def test_a_randomised_test_needs_a_public_total():
    found = dpm.confidence(dpm.Release([1, 2], mechanism=dpm.DiscreteLaplace(scale=2.0))).rates["1"]
    assert 0 < found.pvalue(0.5) <= 1
    with pytest.raises(ValueError, match="rng may be given only with a public total"):
        found.pvalue(0.5, "right", rng=np.random.default_rng(1))
