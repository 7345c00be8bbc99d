"""Tests of counts with a public or a noisy total: enumeration, exact totals, least squares, extreme conflicts."""

import itertools
from functools import reduce

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc, gammaln, logsumexp

import dpmultinomial as dpm
from dpmultinomial._inference import counts as counts_facts
from dpmultinomial._mechanisms.exact import Exact
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.counts import noisy_counts
from dpmultinomial._posteriors.published import _window_sums, conflict, counts_with_total, tied_windows, windows
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.published.counts_with_total import RateLaw
from dpmultinomial._posteriors.published.priors import Reciprocal, Splits, prior_of
from dpmultinomial._results import convolutions
from dpmultinomial._results.convolutions import Window, added, added_up
from dpmultinomial._results.joint import Coupled, Independent
from dpmultinomial._seeding import stream

GAUSS = {"law": "discrete_gaussian", "sigma": 2.0}
UNIFORM = {"law": "multinomial", "alpha": 1.0}
PRIORS = [None, {"law": "multinomial", "alpha": 2.5}, "1/(1+n)", "flat", {"law": "geometric", "mean": 4}]
VECTORS = np.array(list(itertools.product(range(45), repeat=3)))


def enumerated(released, law, total_law, total, prior, lower=0, upper=np.inf):
    n, sums = VECTORS, VECTORS.sum(axis=1)
    logs = sum(law.log_likelihood(y, n[:, i]) for i, y in enumerate(released)) + total_law.log_likelihood(total, sums)
    if prior is None or (isinstance(prior, dict) and prior["law"] == "multinomial"):
        a = 0.5 if prior is None else prior["alpha"]
        logs = logs + (gammaln(n + a) - gammaln(n + 1)).sum(axis=1) + gammaln(sums + 1) - gammaln(sums + 3 * a)
    else:
        logs = logs + sum(prior_of(prior).log_weights(n[:, i]) for i in range(3))
    logs = np.where(((n >= lower) & (n <= upper)).all(axis=1), logs, -np.inf)
    p = np.exp(logs - logs.max())
    return p / p.sum()


@pytest.mark.parametrize("seed", range(20))
def test_counts_shares_and_rates_equal_enumeration(seed):
    """Return twenty releases: each kind of prior four times; totals noisy, public or extreme; bounds in some."""
    rng = stream(seed, "tied")
    words = [GAUSS, {"law": "laplace", "scale": 0.8}, {"law": "discrete_laplace", "scale": 0.9, "clipped": {"at": 0}}]
    law, prior = law_of(words[seed % 3]), PRIORS[seed % 5]
    released = law.sample(rng.integers(0, 8, 3), rng=rng)
    exact_total = seed % 4 == 1
    total = int(rng.integers(2, 25))
    noise = {"law": "exact"} if exact_total else {"law": "discrete_gaussian", "sigma": float(rng.uniform(0.5, 2.5))}
    lower, upper = ([1, 0, 0], [np.inf, 6, np.inf]) if seed % 6 == 5 else (0, np.inf)
    found = counts_with_total.posterior(
        released, noise=law, prior=prior, lower=lower, upper=upper,
        total=total if exact_total else {"released": total, "noise": noise},
    )  # fmt: skip
    p = enumerated(released, law, law_of(noise), total, prior, lower, upper)
    sums = VECTORS.sum(axis=1)
    assert found.facts["neglected"] <= 1e-12
    for i, name in enumerate(found.counts):
        own = np.bincount(VECTORS[:, i], p, minlength=60)
        assert found.counts[name].pmf(np.arange(len(own))) == pytest.approx(own, abs=1e-11)
        share, given = VECTORS[:, i] / np.maximum(sums, 1), p * (sums > 0) / p[sums > 0].sum()
        assert found.shares[name].mean() == pytest.approx(given @ share, abs=1e-11)
        assert found.shares[name].cdf(0.3) == pytest.approx(given @ (share <= 0.3), abs=1e-11)
        if "rates" in found.groups:
            a = 0.5 if prior is None else prior["alpha"]
            alpha, beta = a + VECTORS[:, i], 2 * a + sums - VECTORS[:, i]
            rate = found.rates[name]
            assert rate.mean() == pytest.approx(p @ (alpha / (alpha + beta)), abs=1e-11)
            assert rate.cdf(0.3) == pytest.approx(p @ betainc(alpha, beta, 0.3), abs=1e-11)
            assert rate.cdf(rate.quantile(0.2)) == pytest.approx(0.2, abs=1e-12)
            second = p @ (alpha * (alpha + 1) / ((alpha + beta) * (alpha + beta + 1)))
            assert rate.variance() == pytest.approx(second - rate.mean() ** 2, rel=1e-8)
    assert set(found.groups) == {"counts", "shares"} | ({"rates"} if prior in (PRIORS[0], PRIORS[1]) else set())


def test_with_a_public_total_the_posterior_is_that_of_the_exact_total():
    released, law = [12.3, -4.1, 44.2], law_of({"law": "laplace", "scale": 2.0})
    ours = counts_with_total.posterior(released, noise=law, total=50, prior=UNIFORM)
    theirs = noisy_counts.exact(released, total=50, noise=law, alpha=1.0)
    for i, name in enumerate(ours.counts):
        assert ours.counts[name].pmf(np.arange(51)) == pytest.approx(theirs.counts.marginal(i), abs=1e-13)
        q = [0.025, 0.5, 0.975]
        assert ours.rates[name].quantile(q) == pytest.approx(theirs.quantile(q, category=i), abs=1e-10)
        x = np.array([0.1, 0.4])
        assert ours.rates[name].pdf(x) == pytest.approx(theirs.pdf(x, category=i), rel=1e-9, abs=0)


@pytest.mark.parametrize("law", [GAUSS, {"law": "discrete_laplace", "scale": 1.5}])
@pytest.mark.parametrize(("total", "released"), [(100, (10, 12)), (0, (30, 25)), (5, (-40, 60)), (4000, (10, 12))])
def test_however_far_counts_and_total_are_apart(law, total, released):
    """Check two counts with a public total, which are one: P(n) is the product of both likelihoods, summed in logs."""
    noise = law_of(law)
    found = counts_with_total.posterior(released, noise=noise, total=total, prior=UNIFORM)
    n = np.arange(total + 1)
    logs = noise.log_likelihood(released[0], n) + noise.log_likelihood(released[1], total - n)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    near = 1e-12 + 4e-16 * abs(logs.max())  # rounding of exponents as large as that
    assert found.counts["1"].pmf(n) == pytest.approx(p, abs=near)
    assert found.counts["2"].pmf(total - n) == pytest.approx(p, abs=near)
    assert found.facts["neglected"] <= 1e-12


def test_shares_are_given_that_the_file_is_not_empty():
    """Check that the shares of all counts sum to 1, although the file is probably empty, by sums over all counts."""
    total = {"released": 0, "noise": dpm.Laplace(scale=1.0)}
    found = counts_with_total.posterior([1.0, 0.0], total=total, noise=dpm.Laplace(scale=2.0), names=["a", "b"])
    a, b = np.meshgrid(np.arange(90), np.arange(90), indexing="ij")
    log = -abs(1 - a) / 2 - b / 2 - (a + b)  # noise; flat on the total; beta-binomial with concentrations 1/2
    log += sum(gammaln(n + 0.5) - gammaln(n + 1) for n in (a, b))  # times (a + b)!/Gamma(a + b + 1) = 1
    weights = np.exp(log)
    assert weights[0, 0] > 0.6 * weights.sum()
    weights[0, 0] = 0
    weights /= weights.sum()
    part = a / np.maximum(a + b, 1)
    mean = float((weights * part).sum())
    assert found.shares["a"].mean() == pytest.approx(mean, rel=1e-12)
    assert found.shares["b"].mean() == pytest.approx(1 - mean, rel=1e-12)
    assert found.shares["a"].variance() == pytest.approx(float((weights * (part - mean) ** 2).sum()), rel=1e-10)
    assert found.shares.among("a", "b")["a"].mean() == pytest.approx(mean, rel=1e-12)
    drawn = found.shares.sample(20_000, rng=stream(2, "shares"))
    assert drawn.sum(axis=1) == pytest.approx(1)
    assert abs(drawn[:, 0].mean() - mean) < 5 * found.shares["a"].sd() / 20_000**0.5
    empty = counts_with_total.posterior([1.0, 0.0], total=0, noise=dpm.Laplace(scale=2.0))
    assert empty.groups == ("counts", "rates")
    sure = counts_with_total.posterior([1.0], total=total, noise=dpm.Laplace(scale=2.0))
    assert sure.shares["1"].interval(0.9) == (1, 1)


def test_far_from_bounds_a_flat_prior_gives_least_squares():
    """Check normal noise on large counts and the total: mean and covariance are those of the projection."""
    rng = stream(1, "squares")
    sigma, root = np.array([3.0, 5.0, 8.0, 4.0, 6.0]), 2.5
    released = 1000 + rng.integers(-50, 50, 5)
    total = int(released.sum() + 40)
    found = counts_with_total.posterior(
        released, noise={"law": "discrete_gaussian", "sigma": sigma}, prior="flat",
        total={"released": total, "noise": {"law": "discrete_gaussian", "sigma": root}},
    )  # fmt: skip
    design = np.vstack([np.eye(5), np.ones(5)])
    weight = np.diag(1 / np.append(sigma, root) ** 2)
    covariance = np.linalg.inv(design.T @ weight @ design)
    estimate = covariance @ design.T @ weight @ np.append(released, total)
    assert found.counts.mean().to_numpy() == pytest.approx(estimate, rel=1e-12)
    assert found.counts.variance().to_numpy() == pytest.approx(np.diag(covariance), rel=1e-10)
    answers = found.ask({"s": {"sum": ["1", "2", "3", "4", "5"]}, "d": {"difference": ["1", "4"]}}).set_index(
        "quantity"
    )
    ones, apart = np.ones(5), np.array([1.0, 0, 0, -1, 0])
    assert answers.loc["s", "sd"] == pytest.approx(np.sqrt(ones @ covariance @ ones), rel=1e-9)
    assert answers.loc["d", "sd"] == pytest.approx(np.sqrt(apart @ covariance @ apart), rel=1e-9)


def test_a_thousand_counts_add_up_to_their_total():
    rng = stream(1, "thousand")
    truth = rng.geometric(1 / 30, 1000) - 1
    law = law_of({"law": "discrete_gaussian", "sigma": 10.0})
    found = counts_with_total.posterior(
        law.sample(truth, rng=rng), noise=law, prior="fitted", total={"released": int(truth.sum()), "noise": GAUSS}
    )
    together = found.source.together
    whole = together.total.values() @ together.total.weights
    assert found.counts.mean().sum() == pytest.approx(whole, rel=1e-12)
    assert together.sum_of(range(1000)).values() @ together.sum_of(range(1000)).weights == pytest.approx(
        whole, rel=1e-12
    )
    some = together.sum_of(range(0, 1000, 3))
    assert some.values() @ some.weights == pytest.approx(found.counts.mean().to_numpy()[::3].sum(), rel=1e-12)
    draws = together.draw([3, 500, 999], 20_000, rng=rng)
    assert abs(draws.mean(axis=0) - found.counts.mean().to_numpy()[[3, 500, 999]]).max() < 5 * 10 / np.sqrt(20_000)


def test_draws_follow_the_joint_law():
    """Check all vectors of three counts with probability of at least 0.001: chi-squared, false alarm 1e-4."""
    law, noise = law_of({"law": "discrete_laplace", "scale": 0.6}), law_of({"law": "discrete_gaussian", "sigma": 0.8})
    found = counts_with_total.posterior([2, 1, 3], noise=law, total={"released": 7, "noise": noise})
    p = enumerated([2, 1, 3], law, noise, 7, None)
    size = 60_000
    drawn = found.sample(size, rng=stream(1, "joint"))
    key = drawn["counts"] @ np.array([45 * 45, 45, 1])
    seen = np.bincount(key, minlength=len(p))
    cells = p > 1e-3
    expected, got = np.append(p[cells], p[~cells].sum()) * size, np.append(seen[cells], seen[~cells].sum())
    statistic, df = ((got - expected) ** 2 / expected).sum(), len(got) - 1
    assert statistic < df + 3.8 * np.sqrt(2 * df) + 10
    assert drawn["shares"] == pytest.approx(drawn["counts"] / np.maximum(drawn["counts"].sum(axis=1, keepdims=True), 1))
    assert drawn["rates"].sum(axis=1) == pytest.approx(np.ones(size))
    assert abs(drawn["rates"].mean(axis=0) - found.rates.mean().to_numpy()).max() < 5 * 0.2 / np.sqrt(size)


def test_what_windows_of_tied_counts_neglect_is_within_the_bound(monkeypatch):
    """Check windows that are too short: the error of every marginal, by wide windows, is below the stated bound."""
    rng, finite = stream(1, "cut"), 0
    for words in (GAUSS, {"law": "laplace", "scale": 1.0}):
        law = law_of(words)
        released = law.sample([3, 9, 0, 14], rng=rng)
        cells = cells_of(released, law)
        for about in (
            counts_with_total.total_of(30, None),
            counts_with_total.total_of({"released": 22, "noise": GAUSS}, 4.0),
        ):
            priors = [Splits(1.0) if about.concentration else Reciprocal()] * 4
            wide = tied_windows.solve(cells, priors, about)
            for log_mass in (4.0, 8.0, 14.0):
                with monkeypatch.context() as short:
                    short.setattr(windows, "NEGLECTED", 1.0)
                    cut = tied_windows._attempt(cells, priors, about, log_mass, tied_windows._kinds(cells, priors))
                if cut is None:
                    continue
                for i in range(4):
                    a, b = wide.together.sum_of([i]), cut.together.sum_of([i])
                    gap = np.abs(a.at(-5, 80) - b.at(-5, 80)).sum() / 2
                    assert gap <= cut.error + 1e-13
                finite += cut.error < 1e-3
    assert finite >= 4


def test_unmeasured_counts_share_what_the_total_leaves():
    """Check a public total of 20, one exact count of 8, two unmeasured ones: 0..12 for both, uniform splits."""
    noise = [law_of({"law": "exact"}), law_of(GAUSS), law_of(GAUSS)]
    found = counts_with_total.posterior([8, None, np.nan], noise=noise, total=20, prior=UNIFORM)
    assert found.counts["2"].pmf(np.arange(14)) == pytest.approx([1 / 13] * 13 + [0])
    assert found.shares["1"].mean() == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"total": 2.5}, TypeError, "total must be an integer"),
        (
            {"total": {"released": 3}},
            ValueError,
            "total must be an integer or a mapping with exactly the keys released and noise",
        ),
        ({"total": {"released": 3.5, "noise": GAUSS}}, ValueError, "the released value 3.5 of the total is impossible"),
        ({"total": 3, "upper": 0}, ValueError, "no counts within the bounds are consistent with the total 3, or"),
        (
            {"total": 3, "lower": [0, -np.inf], "released": {"a": 1, "b": 2}},
            ValueError,
            "lower must be finite if counts have a total, got -inf for b",
        ),
        (
            {"total": 3, "prior": {"law": "multinomial", "beta": 1}},
            ValueError,
            "the multinomial prior must have no parameter other than alpha, got beta",
        ),
        ({"total": 3, "prior": {"law": "multinomial", "alpha": 0}}, ValueError, "alpha must be finite and > 0"),
        (
            {"total": 10**9, "released": [None, 4]},
            ValueError,
            "each of the 2 true counts in the total has up to 1e\\+09 possible values",
        ),
    ],
)
def test_what_cannot_be_is_refused(change, error, words):
    with pytest.raises(error, match=words):
        counts_with_total.posterior(**{"released": [1, 2], "noise": GAUSS, **change})


def test_sums_keep_their_tails_and_their_places():
    a, b = Window(-3, np.exp(-np.arange(30.0))), Window(5, np.exp(-2.0 * np.arange(30)))
    found = added(a, b)
    exact = np.convolve(a.weights, b.weights)
    assert (found.first, found.last) == (2, 2 + len(found.weights) - 1)
    assert found.weights == pytest.approx(exact[: len(found.weights)] / exact.max(), rel=1e-13, abs=0)
    assert found.weights.min() > 1e-40
    assert added_up([]).values().tolist() == [0]
    assert a.reflected().values().tolist() == list(range(-26, 4))
    assert a.spread(3).at(-9, 4).tolist() == [1.0, 0, 0, np.exp(-1)]
    assert a.at(-5, 3).tolist() == [0, 0, 1]


def test_five_counts_under_a_tie_in_every_grouping():
    """Check sums and pairs of all subsets for an odd number of leaves with random weights, by listing all vectors."""
    rng = stream(1, "tree")
    factors = [Window(int(rng.integers(-2, 3)), rng.random(4)) for _ in range(5)]
    root = Window(-3, rng.random(20))
    law = Coupled(factors, root)
    vectors = np.array(list(itertools.product(*[f.values() for f in factors])))
    p = np.prod([f.weights[vectors[:, i] - f.first] for i, f in enumerate(factors)], axis=0)
    p = p * [root.at(int(s), 1)[0] for s in vectors.sum(axis=1)]
    p /= p.sum()
    for size in range(1, 6):
        for places in itertools.combinations(range(5), size):
            own = law.sum_of(places)
            for value, chance in zip(own.values(), own.weights, strict=True):
                assert chance == pytest.approx(p @ (vectors[:, list(places)].sum(axis=1) == value), abs=1e-14)
            rest = [i for i in range(5) if i not in places][:2]
            if rest:
                d = law.difference_of(places, rest)
                gap = vectors[:, list(places)].sum(axis=1) - vectors[:, rest].sum(axis=1)
                assert d.weights == pytest.approx([p @ (gap == v) for v in d.values()], abs=1e-14)
    with pytest.raises(ValueError, match="contradict each other"):
        Coupled(factors, Window(100, np.ones(3)))


def test_independent_numbers_are_drawn_from_their_laws():
    from dpmultinomial._accuracy import EXACT
    from dpmultinomial._results.distributions import Discrete

    laws = [Discrete([0, 3], [0.25, 0.75], name="a", type="count", accuracy=EXACT)] * 2
    together = Independent(lambda i: laws[i])
    assert together.sum_of([0, 1]).at(0, 7) == pytest.approx([1 / 16, 0, 0, 6 / 16, 0, 0, 9 / 16])
    draws = together.draw([1], 40_000, rng=stream(1, "two"))
    assert abs((draws == 3).mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 40_000)


def test_rates_are_the_mixture_of_their_beta_laws():
    """Check runs of pairs by one incomplete beta function each, against all pairs: tails to ten digits, quantiles."""
    rng = stream(1, "mixture")
    s, t = np.repeat(np.arange(3.0, 40.0), 50), np.tile(np.arange(60.0, 110.0), 37)
    weights = np.exp(-((s - 20) ** 2) / 40 - (t - 80) ** 2 / 60) * (rng.random(len(s)) > 0.2)  # gaps break runs
    kept = weights > 0
    s, t, weights = s[kept], t[kept], weights[kept]
    law = RateLaw(0.5, 1.5, s, t, weights)
    p = weights / weights.sum()
    x = np.array([1e-6, 0.02, 0.1, 0.19, 0.3, 0.6, 0.99])
    exact = np.array([p @ betainc(0.5 + s, 1.5 + t, one) for one in x])
    assert law.cdf(x) == pytest.approx(exact, rel=1e-10, abs=0)
    assert law.cdf([-1.0, 0.0, 1.0, 2.0]).tolist() == [0.0, 0.0, 1.0, 1.0]
    for level in (1e-9, 0.025, 0.5, 0.975, 1 - 1e-9):
        assert law.cdf(law.quantile(level)) == pytest.approx(level, rel=1e-11)
    assert law.quantile([0.0, 1.0]).tolist() == [0.0, 1.0]
    means = (0.5 + s) / (2 + s + t)
    assert law.mean() == pytest.approx(p @ means, rel=1e-12)
    second = p @ (means * (1.5 + s) / (3 + s + t))
    assert law.variance() == pytest.approx(second - (p @ means) ** 2, rel=1e-9)
    assert law.pdf(0.2) == pytest.approx(p @ stats.beta.pdf(0.2, 0.5 + s, 1.5 + t), rel=1e-11)
    assert stats.kstest(law.sample(20_000, rng), law.cdf).pvalue > 1e-4
    with pytest.raises(ValueError, match=r"q must lie in \[0, 1\], got 1\.5"):
        law.quantile(1.5)


@pytest.mark.parametrize("gap", [False, True])
def test_rates_given_a_public_total_are_the_mixture_of_their_beta_laws(gap):
    """Check pairs with the same total, with and without a gap between the counts."""
    s = np.arange(3.0, 60.0)
    weights = np.exp(-((s - 20) ** 2) / 90) * (np.abs(s - 24) > 2 if gap else 1.0)
    law = RateLaw(0.5, 1.5, s, 80.0 - s, weights)
    assert law._fixed is not None
    p = weights / weights.sum()
    x = np.array([1e-6, 0.02, 0.1, 0.19, 0.3, 0.6, 0.99])
    exact = np.array([p @ betainc(0.5 + s, 81.5 - s, one) for one in x])
    assert law.cdf(x) == pytest.approx(exact, rel=1e-10, abs=0)
    for level in (1e-9, 0.025, 0.5, 0.975, 1 - 1e-9):
        assert law.cdf(law.quantile(level)) == pytest.approx(level, rel=1e-11)


@pytest.mark.parametrize(("total", "middle"), [(60, 55), (90_000, 3), (5_000, 200), (3_000_000, 40)])
def test_rates_of_a_large_public_total_are_accurate(total, middle):
    """Check distribution function and density against sums of mpmath's incomplete beta functions, with 30 digits."""
    s = np.arange(max(middle - 9, 0), min(middle + 9, total + 1))
    weights = np.exp(-np.abs(s - middle) / 2.0) * (np.abs(s - middle + 4) > 1)  # with a gap
    weights /= weights.sum()
    law = RateLaw(0.5, 20.0, s.astype(float), (total - s).astype(float), weights)
    with mpmath.workdps(30):
        for level in (1e-9, 0.025, 0.975, 1 - 1e-6):
            x = float(law.quantile(level))
            kept = [
                (mpmath.mpf(float(w)), 0.5 + int(n), 20 + total - int(n)) for n, w in zip(s, weights, strict=True) if w
            ]
            below = mpmath.fsum(w * mpmath.betainc(a, b, 0, x, regularized=True) for w, a, b in kept)
            assert float(below) == pytest.approx(level, rel=1e-13)
            assert float(law.cdf(x)) == pytest.approx(float(below), rel=1e-13, abs=0)
            point = mpmath.mpf(x)
            logs = [(a - 1) * mpmath.log(point) + (b - 1) * mpmath.log1p(-point) for _, a, b in kept]
            terms = [w * mpmath.exp(log) / mpmath.beta(a, b) for (w, a, b), log in zip(kept, logs, strict=True)]
            assert float(law.pdf(x)) == pytest.approx(float(mpmath.fsum(terms)), rel=1e-12)


def test_summaries_of_many_rates_are_those_of_single_rates():
    """Check rows of different widths against closed forms and quantiles of single rates."""
    rng, total = stream(7, "rates"), 5000
    widths, first = np.array([1, 7, 40, 23]), np.array([0, 3, 900, 4977])
    weights = np.zeros((4, 40))
    for row, width in zip(weights, widths, strict=True):
        row[:width] = rng.dirichlet(np.ones(width))
    a, b = 0.5 + first, 700.0 + total - (first + widths - 1)
    level = 0.9
    found = _window_sums.rate_summaries(weights, widths, a, b, level=level, score=float(stats.norm.ppf(0.95)))
    for row, width, low, out in zip(weights, widths, first, found, strict=True):
        s = np.arange(low, low + width).astype(float)
        law = RateLaw(0.5, 700.0, s, total - s, row[:width])
        assert out[:2] == pytest.approx([law.mean(), np.sqrt(law.variance())], rel=1e-12)
        exact = [row[:width] @ betainc(0.5 + s, 700 + total - s, x) for x in out[2:]]
        assert exact == pytest.approx([0.05, 0.95], rel=1e-12)
        assert law.quantile([0.05, 0.95]) == pytest.approx(out[2:], rel=1e-12)
    with pytest.raises(ValueError, match="a and b must be > 0 for all rows"):
        _window_sums.rate_summaries(weights, widths, a, np.array([1.0, 6.5, 0.0, 30.0]), level=level, score=1.6)
    for wrong in ((np.ones(3), 0.5, 0.0), (np.ones(0), 0.5, 2.0), (np.ones(3), 0.0, 5.0)):
        with pytest.raises(ValueError, match="a and b must be > 0, and weights must not be empty"):
            _window_sums.rate_cdf(*wrong, 0.0)


@pytest.mark.parametrize(
    ("released", "sigma", "alpha", "total"),
    [
        ((10, 1000), 40.0, 1e4, 900),  # the prior moves every count by more than ten standard deviations of the noise
        ((10, 1000), 30.0, 1e4, 1060),
        ((0, 0), 2.0, 100.0, 0),  # a skewed distribution
        ((5, 7), 0.08, 0.5, 12),  # a sum with one probable value
        ((0, 0), 2.0, 3.0, 25),
    ],
)
def test_tails_of_a_total_are_sums_over_all_pairs_of_counts(released, sigma, alpha, total):
    """Check the tail probability of a public total against the sum over all pairs of counts."""
    law, n = law_of({"law": "discrete_gaussian", "sigma": sigma}), np.arange(1600.0)
    logs = [law.log_likelihood(np.array([y]), n) + gammaln(n + alpha) - gammaln(n + 1) for y in released]
    sums = _log_convolved(*logs)
    u = np.arange(float(len(sums)))
    sums += gammaln(u + 1) - gammaln(u + 2 * alpha)
    p = np.exp(sums - logsumexp(sums))
    prior = {"law": "multinomial", "alpha": alpha}
    found = counts_with_total.posterior(list(released), total=total, noise=law, prior=prior).source.tails[-1]
    assert found == pytest.approx(min(p[: total + 1].sum(), p[total:].sum(), 1.0), rel=1e-8, abs=0)


def test_the_rate_of_a_single_category_is_1():
    found = counts_with_total.posterior({"a": 5}, total=5, noise=law_of(GAUSS))
    rate = found.rates["a"]
    assert rate.mean() == 1.0
    assert rate.interval(0.9) == (1.0, 1.0)
    assert rate.cdf(0.999) == pytest.approx(0.0, abs=1e-290)


def test_a_tiny_concentration_is_not_rounded_away():
    """The last count of a window can be the total, and then the second parameter is the concentration alone."""
    law = RateLaw(0.5, 1e-15, np.arange(90.0, 101.0), np.arange(10.0, -1.0, -1.0), np.ones(11))
    assert law.cdf(0.9) == pytest.approx(
        sum(betainc(0.5 + s, 1e-15 + 100 - s, 0.9) for s in range(90, 101)) / 11, rel=1e-12
    )


def test_rates_at_the_very_ends():
    """Check a category without records, or with all: Beta(1/2, 1/2 + t) and its mirror image, by SciPy."""
    low = RateLaw(0.5, 0.5, np.zeros(1), np.array([1e6]), np.ones(1))
    high = RateLaw(0.5, 0.5, np.array([1e6]), np.zeros(1), np.ones(1))
    for level in (1e-12, 0.025, 0.975):
        assert low.quantile(level) == pytest.approx(stats.beta.ppf(level, 0.5, 1e6 + 0.5), rel=1e-9, abs=0)
        assert 1 - high.quantile(1 - level) == pytest.approx(stats.beta.ppf(level, 0.5, 1e6 + 0.5), rel=1e-3, abs=1e-15)


@pytest.mark.parametrize("prior", [None, "1/(1+n)"])
def test_a_total_that_does_not_fit_its_counts_is_a_conflict(prior):
    """Return P(released total at least as extreme), over every vector of counts without the total, and the noise."""
    noise, whole = law_of(GAUSS), law_of({"law": "discrete_laplace", "scale": 2.0})
    released, n = [4, 7], np.array(list(itertools.product(range(80), repeat=2)))
    logs = sum(noise.log_likelihood(y, n[:, i]) for i, y in enumerate(released))
    total = n.sum(axis=1)
    # Dirichlet(1/2, 1/2): the factors that depend on the total cancel
    logs = logs + (gammaln(n + 0.5) - gammaln(n + 1) if prior is None else -np.log1p(n)).sum(axis=1)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    d = np.arange(-300, 301)
    mass = np.exp(whole.log_likelihood(0, d))
    for seen in (3, 11, 40, 75):
        found = counts_with_total.posterior(
            released, noise=noise, prior=prior, total={"released": seen, "noise": whole}
        )
        at_most = sum(mass[d <= seen - N].sum() * w for N, w in enumerate(np.bincount(total, p)))
        at_least = sum(mass[d >= seen - N].sum() * w for N, w in enumerate(np.bincount(total, p)))
        assert found.source.tails[-1] == pytest.approx(min(at_most, at_least), rel=1e-8, abs=0)
        said = found.facts["conflict"]
        assert said["tested"] == 3
        assert said["found"] == (seen > 39)
        assert said.get("names", ["the total"])[0] == "the total"
    exact = counts_with_total.posterior(released, noise=noise, prior=prior, total=60)
    assert exact.source.tails[-1] == pytest.approx(np.bincount(total, p)[60:].sum(), rel=1e-8, abs=0)
    unmeasured = counts_with_total.posterior([4, None], noise=noise, prior="flat", total=60)
    assert np.isnan(unmeasured.source.tails).tolist() == [False, True, True]


def gaussian_tail(y, n, sigma=3.0):
    """Return P(n + discrete Gaussian noise <= y) by a sum."""
    d = np.arange(-100, 101)
    mass = np.exp(-(d**2) / (2 * sigma**2))
    return np.array([mass[d <= y - m].sum() for m in n]) / mass.sum()


LOWER_TAILS = {
    "laplace": (dpm.Laplace(scale=1.7), lambda y, n: stats.laplace.cdf(y - n, scale=1.7)),
    "rounded": (dpm.Gaussian(sigma=4.0).rounded(5), lambda y, n: stats.norm.cdf(y + 2.5 - n, scale=4.0)),
    "discrete": (dpm.DiscreteGaussian(sigma=3.0), gaussian_tail),
    "clipped": (dpm.DiscreteGaussian(sigma=3.0).clipped(0), lambda y, n: gaussian_tail(y, n) if y >= 0 else 0 * n),
}


@pytest.mark.parametrize("name", LOWER_TAILS)
def test_tails_of_a_count_given_a_public_total(name, monkeypatch):
    """Check predictive tails against a beta-binomial distribution from SciPy, and the bound that is used if there are
    too many counts: the tails at the most favourable counts, 0 and the total.
    """
    law, lower = LOWER_TAILS[name]
    total, alpha, n = 12, np.array([0.5, 2.0, 1.0]), np.arange(13)
    for y in (0.0, 5.0, 40.0) if name == "clipped" else (-10.0, 0.0, 5.0, 20.0):
        step = 5 if name == "rounded" else 1 if law.discrete else 0
        at_most, below = lower(y, n), lower(y - step, n)
        found = conflict.given_total(np.full(3, y), [law] * 3, total, alpha)
        for i in range(3):
            prior = stats.betabinom.pmf(n, total, alpha[i], alpha.sum() - alpha[i])
            wanted = min(prior @ at_most, 1 - prior @ below)
            assert found[i] == pytest.approx(wanted, rel=1e-9, abs=1e-14)
        with monkeypatch.context() as patch:
            patch.setattr(conflict, "LISTED", 0)
            bound = conflict.given_total(np.full(3, y), [law] * 3, total, alpha)
        assert bound == pytest.approx(np.full(3, min(at_most[0], 1 - below[-1])), rel=1e-9, abs=1e-14)
    table = dpm.RandomRounding(base=5)
    assert np.isnan(conflict.given_total(np.full(3, 5.0), [table] * 3, total, alpha)).all()


@pytest.mark.parametrize("y", [-31.5, 4.5, 2500.5, 4990.5, 5040.5])
def test_tails_of_a_count_are_sums_over_all_counts(y):
    """Check the tail of one value, which is computed in a window of counts, for 5,000 records and three categories."""
    n, b = np.arange(5001), 3.0
    prior = stats.betabinom.pmf(n, 5000, 0.5, 1.0)
    gap = n - y
    below = np.where(gap >= 0, np.exp(-abs(gap) / b) / 2, 1 - np.exp(-abs(gap) / b) / 2)  # P(y or less | n)
    found = conflict.given_total(np.array([y, 1.0, 2.0]), [dpm.Laplace(scale=b)] * 3, 5000, np.full(3, 0.5))[0]
    assert found == pytest.approx(min(prior @ below, prior @ (1 - below)), rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("size", "total", "listed"), [(3, 666_665, True), (3, 666_666, False), (2, 999_999, True), (2, 1_000_000, False)]
)
def test_tails_of_many_counts_and_records_use_the_most_favourable_count(size, total, listed):
    """Check that up to 2,000,000 numbers of records and counts are listed, and otherwise the count 0 is used.

    Under Jeffreys' prior, the tail of a value far below 0 is P(count = 0) P(noise <= value), up to 5 %.
    """
    tail, values = np.exp(-20.0 / 0.2) / 2, np.array([-20.0, 1.0, 2.0])[:size]
    found = conflict.given_total(values, [dpm.Laplace(scale=0.2)] * size, total, np.full(size, 0.5))[0]
    chance = stats.betabinom.pmf(0, total, 0.5, 0.5 * (size - 1)) if listed else 1.0
    assert found == pytest.approx(chance * tail, rel=0.05, abs=0)


@pytest.mark.parametrize("discrete", [False, True])
def test_many_tables_with_a_public_total_have_the_conflicts_of_all_sums(discrete):
    """Check which of 400 tables are in conflict, and the p-values, by a sum over all counts for every released count.

    No table may be missed by the bounds that decide which p-values are computed. In half of the tables, the noise is
    twice as large as stated. The tail of the sum is 1/2 + g/(4 b) times exp(-g/b) for two Laplace terms, and a
    convolution for discrete Laplace terms.
    """
    rng, k, scale = stream(7, "tables"), 2, 1.5
    totals = rng.integers(0, 60, 400)
    law = (dpm.DiscreteLaplace if discrete else dpm.Laplace)(scale=np.full(400 * k, scale))
    truth = np.stack([rng.multinomial(n, rng.dirichlet(np.full(k, 0.5))) for n in totals])
    noise = law.sample(np.zeros(400 * k, dtype=int), rng=rng).reshape(-1, k) * np.repeat([1, 2], 200)[:, None]
    values, a, d = truth + noise, np.exp(-1 / scale), np.arange(-80, 81)
    sums = np.convolve(a ** abs(d), a ** abs(d)) * ((1 - a) / (1 + a)) ** 2

    def beyond(gap):
        """Return P(noise <= -gap) for one term."""
        if discrete:
            return np.where(gap >= 0, a ** np.maximum(gap, 0), 1 + a - a ** np.maximum(1 - gap, 0)) / (1 + a)
        return np.where(gap >= 0, np.exp(-abs(gap) / scale) / 2, 1 - np.exp(-abs(gap) / scale) / 2)

    p, worst = counts_facts.conflicts(values.ravel(), law, np.arange(401) * k, totals, 0.5)
    found = 0
    for t, (row, n) in enumerate(zip(values, totals, strict=True)):
        m, prior = np.arange(n + 1), stats.betabinom.pmf(np.arange(n + 1), n, 0.5, 0.5)
        g = abs(row.sum() - n)
        tails = [min(prior @ beyond(m - y), prior @ beyond(y - m)) for y in row]
        tails.append(sums[160 + round(g) :].sum() if discrete else (0.5 + g / (4 * scale)) * np.exp(-g / scale))
        smallest = 6 * min(tails)
        if abs(smallest - 0.05) < 1e-3:  # on the line, the tail of a sum is an upper bound
            continue
        assert np.isnan(p[t]) == (smallest >= 0.05)
        if smallest < 0.05:
            found += 1
            assert worst[t] == np.argmin(tails)
            slack = 1e-9 if discrete or worst[t] < k else 0.02
            assert (1 - 1e-9) * smallest <= p[t] <= (1 + slack) * smallest + 1e-13
    assert 30 < found < 150


@pytest.mark.parametrize(
    ("tail", "p", "worst"),
    [
        ([np.nan, 0.2, 0.001, np.nan], 2 * 2 * 0.001, 2),  # two of the four values were tested
        ([0.0124, np.nan, 0.3], 0.0496, 0),
        ([0.0125, np.nan, 0.3], np.nan, 0),  # 0.05 is not below the limit
        ([0.4, np.nan, 0.024], 2 * 2 * 0.024, 2),
        ([0.024], 0.048, 0),
    ],
)
def test_the_smallest_pvalue_of_a_table_is_multiplied_by_the_number_of_tested_values(tail, p, worst):
    """Values without a test, such as those that were not measured, do not count. A table alone has the same result."""
    first, second = np.array(tail), np.array([0.3, 1e-4, 0.2])
    found, place = conflict.by_table(np.concatenate([first, second]), np.array([0, len(first), len(first) + 3]))
    expected = p if p < 0.05 else np.nan
    assert found.tolist() == pytest.approx([expected, 2 * 3 * 1e-4], rel=1e-12, nan_ok=True)
    assert place.tolist() == [worst, 1]
    alone = conflict.facts(first, [str(i) for i in range(len(first))])
    assert alone["found"] == np.isfinite(expected)
    assert (alone["tested"], alone["name"]) == (np.isfinite(first).sum(), str(worst))
    assert alone["smallest"] == pytest.approx(2 * np.nanmin(first), rel=1e-12)


@pytest.mark.parametrize("scales", [(1.0, 3.0), (3.0, 1.0)])
@pytest.mark.parametrize("gap", [-25, 25])
def test_a_sum_is_tested_with_the_noise_of_the_counts_of_its_own_table(scales, gap):
    """The tail of the sum of two discrete Laplace terms, by convolution. The other table has much wider noise."""
    d = np.arange(-200, 201)
    one, two = ((1 - a) / (1 + a) * a ** np.abs(d) for a in np.exp(-1 / np.array(scales)))
    tail = np.convolve(one, two)[400 + abs(gap) :].sum()
    law = dpm.DiscreteLaplace(scale=np.array([*scales, 40.0, 40.0]))
    values = np.array([50.0, 50.0 + gap, 45.0, 60.0])
    p, worst = counts_facts.conflicts(values, law, np.array([0, 2, 4]), np.array([100, 100]), 0.5)
    assert p[0] == pytest.approx(2 * 3 * tail, rel=1e-9, abs=0)
    assert worst[0] == 2  # the total
    assert np.isnan(p[1])


def test_the_facts_state_how_many_counts_were_measured():
    law = dpm.DiscreteLaplace(scale=2.0)
    found = dpm.posterior(dpm.Release([12, None, 7, None, 20], mechanism=law, total=60)).facts
    assert (found["counts"], found["measured"]) == (5, 3)


@pytest.mark.parametrize("total", [100_000, 333_332, 333_333, 400_000])
def test_a_large_table_is_tested_alone_as_among_many_tables(total):
    """Check totals on both sides of the limit above which the most favourable count is used."""
    values = np.array([-3.0, *[total / 5] * 3, total / 5 + 3, total / 5])
    law = dpm.Laplace(scale=np.full(6, 2.0))
    p, worst = counts_facts.conflicts(values, law, np.array([0, 6]), np.array([total]), 0.5)
    check = dpm.posterior(dpm.Release(values, mechanism=law, total=total), prior=0.5).facts["conflict"]
    assert check["found"] == np.isfinite(p[0])
    if check["found"]:
        assert p[0] == pytest.approx(check["smallest"] * check["tested"], rel=1e-9)
        assert check["name"] == str(worst[0] + 1)


def test_tails_of_a_share_given_a_public_total():
    """Check predictive tails of shares: one share of a Dirichlet distribution has a Beta distribution."""
    law, total, n, alpha = dpm.Dirichlet(r=0.7, alpha=3.0), 9, np.arange(10), np.array([0.5, 2.0, 1.0])
    shares = np.array([0.02, 0.9, 0.08])
    found = conflict.given_total(shares, [law] * 3, total, alpha)
    for i, y in enumerate(shares):
        beta = stats.beta(0.7 * n + 3.0, 0.7 * (total - n) + 6.0)
        prior = stats.betabinom.pmf(n, total, alpha[i], alpha.sum() - alpha[i])
        assert found[i] == pytest.approx(min(prior @ beta.cdf(y), prior @ beta.sf(y)), rel=1e-9)


def test_the_flat_comparison_of_a_noisy_total_is_flat_on_the_counts():
    """Check two counts with a noisy total by enumeration: the prior of the sum that belongs to Dirichlet rates, which
    falls like 1/T^4 at a concentration of 2.5 for each, is not a part of the flat prior.
    """
    noise = law_of({"law": "discrete_gaussian", "sigma": 6.0})
    found = counts_with_total.posterior(
        {"a": 9, "b": 25},
        noise=noise,
        prior={"law": "multinomial", "alpha": 2.5},
        total={"released": 40, "noise": noise},
    )
    n = np.arange(161)
    logs = noise.log_likelihood(9, n)[:, None] + noise.log_likelihood(25, n) + noise.log_likelihood(40, n[:, None] + n)
    flat = np.exp(logs - logs.max())
    own = flat * np.exp((gammaln(n + 2.5) - gammaln(n + 1))[:, None] + gammaln(n + 2.5) - gammaln(n + 1))
    own *= np.exp(gammaln(n[:, None] + n + 1) - gammaln(n[:, None] + n + 5))
    beside = found.source.comparison(0.9).set_index("quantity")
    for name, axis in (("a", 1), ("b", 0)):
        for column, weights in (("flat_", flat), ("", own)):
            p = weights.sum(axis=axis) / weights.sum()
            assert beside.loc[name, f"{column}mean"] == pytest.approx(p @ n, rel=1e-10)
            assert beside.loc[name, f"{column}sd"] == pytest.approx(np.sqrt(p @ (n - p @ n) ** 2), rel=1e-9)
            ends = [n[np.argmax(np.cumsum(p) >= level)] for level in (0.05, 0.95)]
            assert beside.loc[name, [f"{column}lower", f"{column}upper"]].tolist() == ends


def test_what_a_prior_decides_beside_a_total_is_shown():
    """Check flat counts with a total of 30, by enumeration, with a prior that favours the first count."""
    noise = law_of({"law": "discrete_gaussian", "sigma": 6.0})
    prior = {"few": {"law": "geometric", "mean": 0.5}, "many": "flat"}
    released = {"a": 9, "b": 25}
    found = counts_with_total.posterior(released, noise=noise, prior=prior, groups=["few", "many"], total=30)
    n = np.arange(31)
    p = np.exp(noise.log_likelihood(9, n) + noise.log_likelihood(25, 30 - n))
    beside = found.source.comparison(0.9).set_index("quantity")
    assert beside.loc["a", "flat_mean"] == pytest.approx(p @ n / p.sum(), rel=1e-10)
    assert beside["prior_matters"].all()
    assert found.facts["flat_comparison"]["prior_matters"] == 2
    own = p * 3.0 ** -n.astype(float)  # geometric of mean 1/2
    assert beside.loc["a", "mean"] == pytest.approx(own @ n / own.sum(), rel=1e-10)
    below = np.cumsum(own) / own.sum()
    assert beside.loc["a", "upper"] == n[np.argmax(below >= 0.95)]
    noisy = np.arange(-200, 201)
    mass = np.exp(-(noisy**2) / 72) / np.exp(-(noisy**2) / 72).sum()
    tail = sum(2 / 3 * 3.0**-m * mass[noisy >= 9 - m].sum() for m in range(40))  # a value of at least 9
    assert beside.loc["a", "tail"] == pytest.approx(tail, rel=1e-9)
    assert beside.loc["b", "tail"] == pytest.approx(
        mass[noisy <= 25].sum(), rel=1e-9
    )  # of the most favourable count, 0
    calm = counts_with_total.posterior(released, noise=noise, prior="flat", total=30)
    assert calm.facts["flat_comparison"] == {"prior_matters": 0, "of": 2, "first": []}
    few = {"law": "table", "counts": [0, 1], "probabilities": [0.5, 0.5]}
    wide, whole = law_of({"law": "discrete_gaussian", "sigma": 1e6}), law_of({"law": "discrete_gaussian", "sigma": 1e5})
    far = counts_with_total.posterior([0] * 60, noise=wide, prior=few, total={"released": 30, "noise": whole})
    assert "more than the limit of" in far.facts["flat_comparison"]["reason"]
    assert (far.facts["flat_comparison"]["of"], far.facts["flat_comparison"]["not_compared"]) == (0, 60)
    assert far.counts.mean().to_numpy() == pytest.approx(np.full(60, 0.5), abs=1e-9)


def _log_convolved(a, b):
    out = np.full(len(a) + len(b) - 1, -np.inf)
    for i in np.flatnonzero(a > -np.inf):
        out[i : i + len(b)] = np.logaddexp(out[i : i + len(b)], a[i] + b)
    return out


@pytest.mark.parametrize("size", [3, 8, 17, 20])
@pytest.mark.parametrize(
    "noise",
    [dpm.Laplace(scale=1e-3), dpm.Laplace(scale=0.5), dpm.DiscreteGaussian(sigma=0.1), dpm.Gaussian(sigma=2.0)],
    ids=lambda law: f"{type(law).__name__} {law.scale if hasattr(law, 'scale') else law.sigma:g}",
)
def test_totals_far_from_the_counts_have_the_law_of_log_sums(noise, size):
    """Check released counts and totals many sds apart, by convolutions of log weights."""
    rng, top = stream(11, "far totals", type(noise).__name__, size), 60
    every = np.arange(top + 1)
    for known in (Exact(), dpm.Laplace(scale=0.01), dpm.Laplace(scale=30.0)):
        y = rng.integers(0, 9, size).astype(float)
        total = float(max(round(y.sum() + rng.choice([-1, 1]) * rng.integers(3, 30)), 0))
        stated = int(total) if isinstance(known, Exact) else {"released": total, "noise": known}
        found = dpm.posterior(dpm.Release(y, mechanism=noise, total=stated, bounds=(0, top)), prior="1/(1+n)")
        logs = [noise.log_likelihood(value, every) - np.log1p(every) for value in y]
        rest = reduce(_log_convolved, logs[1:])
        sums = np.arange(len(rest))
        joint = np.array([logsumexp(rest + known.log_likelihood(total, sums + n)) for n in every]) + logs[0]
        p = np.exp(joint - logsumexp(joint))
        law = found.counts["1"]
        assert law.mean() == pytest.approx(p @ every, rel=1e-9, abs=1e-9)
        assert law.pmf(every) == pytest.approx(p, abs=1e-9)
        assert found.accuracy.status == "exact"


@pytest.mark.parametrize("prior", [None, "flat", {"law": "geometric", "mean": 90.0}])
@pytest.mark.parametrize("away", [0, 900, -700])
def test_long_windows_have_the_laws_of_sums_term_by_term(prior, away, monkeypatch):
    """Counts, totals and tails by tilted transforms, also if counts and total contradict each other."""
    law, root = dpm.DiscreteLaplace(scale=30.0), dpm.DiscreteGaussian(sigma=50.0)
    given = {"noise": law, "total": {"released": 1860 + away, "noise": root}, "prior": prior}
    plain = counts_with_total.posterior([300, 500, 900, 160], **given)
    wanted = plain.counts.numbers(), plain.source.together.total, plain.source.tails
    monkeypatch.setattr(convolutions, "DIRECT", 0)
    found = counts_with_total.posterior([300, 500, 900, 160], **given)
    for ours, theirs in zip(found.counts.numbers()[:4], wanted[0][:4], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-10)
    total = found.source.together.total
    assert total.at(wanted[1].first, len(wanted[1].weights)) == pytest.approx(wanted[1].weights, rel=1e-9, abs=1e-30)
    np.testing.assert_allclose(found.source.tails, wanted[2], rtol=1e-9, atol=0)


@pytest.mark.parametrize("among", [None, ("1", "3")])
def test_rates_of_many_pairs_are_interpolated_with_a_stated_error(among, monkeypatch):
    given = {
        "noise": dpm.DiscreteLaplace(scale=6.0),
        "total": {"released": 170, "noise": dpm.DiscreteLaplace(scale=9.0)},
    }
    groups = []
    for listed in (counts_with_total.LISTED, 0):
        monkeypatch.setattr(counts_with_total, "LISTED", listed)
        rates = counts_with_total.posterior([30, 50, 70, -2], **given).rates
        part = rates if among is None else rates.among(*among)
        groups.append({name: part[name] for name in part})  # computed here
    x = np.array([0.001, 0.1, 0.3, 0.6])
    for name in groups[0]:
        exact, ours = (group[name] for group in groups)
        assert (exact.accuracy.status, ours.accuracy.status) == ("exact", "approximate")
        assert ours.accuracy.error < 1e-6
        assert ours.mean() == pytest.approx(exact.mean(), rel=1e-11)
        assert ours.sd() == pytest.approx(exact.sd(), rel=1e-10)
        assert ours.cdf(x) == pytest.approx(exact.cdf(x), rel=2 * ours.accuracy.error + 1e-11)


def test_shares_with_too_many_values_are_omitted_with_the_reason():
    law = dpm.DiscreteLaplace(scale=300.0)
    found = counts_with_total.posterior([12, 7, 31], noise=law, total={"released": 50, "noise": law})
    assert found.groups == ("counts", "rates")
    assert "shares of the file" in found.facts["omitted"]
    assert "more than the limit of 20,000,000" in found.facts["omitted"]
    small = counts_with_total.posterior([12, 7, 31], noise=law, total=50, prior="flat", lower=1)
    assert "omitted" not in small.facts
    with pytest.raises(ValueError, match=r"requires at most 20,000,000 possible pairs of counts, got .* pairs"):
        counts_with_total.posterior([90_012, 80_007, 70_031], noise=law, total=240_050, prior="flat").shares.among(
            "1", "2"
        )["1"]


@pytest.mark.parametrize("scale", [1e5, 1e7, 1e12])
def test_a_noisy_total_of_wide_noise_is_rejected_before_any_work(scale, monkeypatch):
    monkeypatch.setattr(tied_windows.Leaves, "of", None)
    law = dpm.DiscreteLaplace(scale=scale)
    with pytest.raises(ValueError, match=r"sums .* in the total, .* more than the limit of 2,000,000: set tighter"):
        counts_with_total.posterior([12, 7, 31], noise=law, total={"released": 50, "noise": law})
