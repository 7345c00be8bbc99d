"""Calibration of posteriors and questions for noisy counts without a total, of fitted priors, and coverage by count."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published import counts, counts_with_total
from dpmultinomial._posteriors.published.priors import prior_of
from dpmultinomial._seeding import stream
from reproduction.studies.coverage import by_true_value

GAUSS = law_of({"law": "discrete_gaussian", "sigma": 3.0})
GEOMETRIC = {"law": "geometric", "mean": 6.0}
K = np.arange(100_001)


def drawn(prior, size, rng):
    """Draw counts from a geometric prior."""
    return rng.geometric(1 / (1 + prior["mean"]), size) - 1


@pytest.mark.parametrize(
    "words",
    [
        {"law": "discrete_gaussian", "sigma": 3.0},
        {"law": "discrete_laplace", "scale": 2.0, "clipped": {"at": 0}},
        {"law": "laplace", "scale": 2.0, "rounded": 5},
        {"law": "discrete_gaussian", "sigma": 2.0, "threshold": 5},
    ],
)
def test_counts_are_uniform_in_their_posteriors(words):
    """Check that P(count < truth) + U P(count = truth) is uniform for truths from the prior; false alarm 1e-4."""
    law, rng, n = law_of(words), stream(1, "uniform", str(words)), 1500
    truth = drawn(GEOMETRIC, n, rng)
    found = counts.posterior(law.sample(truth, rng=rng), noise=law, prior=GEOMETRIC)
    own = [found.counts[name] for name in found.counts]
    place = [q.cdf(t - 1) + rng.random() * q.pmf(t) for q, t in zip(own, truth, strict=True)]
    assert stats.kstest(place, "uniform").pvalue > 1e-4


def test_tied_counts_and_rates_are_uniform_in_their_posteriors():
    """Draw 600 files of four counts with uniform totals in 0..199, which represent all totals, and Dirichlet rates."""
    rng, places = stream(1, "tied"), {"count": [], "rate": []}
    noise = law_of({"law": "discrete_gaussian", "sigma": 2.0})
    while len(places["count"]) < 600:
        whole, rates = int(rng.integers(0, 200)), rng.dirichlet(np.ones(4))
        truth = rng.multinomial(whole, rates)
        seen = int(noise.sample(np.array([whole]), rng=rng)[0])
        if not 20 < seen < 180:
            continue  # given what was seen, totals outside 0..199 have no weight
        found = counts_with_total.posterior(
            GAUSS.sample(truth, rng=rng), noise=GAUSS, total={"released": seen, "noise": noise}
        )
        own = found.counts["2"]
        places["count"].append(float(own.cdf(truth[1] - 1) + rng.random() * own.pmf(truth[1])))
        places["rate"].append(float(found.rates["2"].cdf(rates[1])))
    for name, values in places.items():
        assert stats.kstest(values, "uniform").pvalue > 1e-4, name


def test_answers_to_questions_hold_as_often_as_they_say():
    """Check 1,200 pairs of counts with the stated prior and noise: probabilities against outcomes (normal, 4 errors,
    6e-5), and intervals of differences, sums and ratios against their level."""
    rng, n, level = stream(1, "questions"), 1200, 0.8
    truth = drawn(GEOMETRIC, 2 * n, rng)
    found = counts.posterior(GAUSS.sample(truth, rng=rng), noise=GAUSS, prior=GEOMETRIC)
    a, b = truth[::2], truth[1::2]
    names = [(str(2 * i + 1), str(2 * i + 2)) for i in range(n)]
    for text, outcome in {"'{}' > '{}'": a > b, "'{}' >= 2 * '{}'": a >= 2 * b, "'{}' + '{}' <= 9": a + b <= 9}.items():
        p = np.array([found.probability(text.format(*pair)) for pair in names])
        z = (outcome - p).sum() / np.sqrt((p * (1 - p)).sum())
        assert abs(z) < 4, text
        for low in (0.0, 0.3, 0.7):  # and in thirds of what was said
            part = (p >= low) & (p < low + 0.4)
            z = (outcome - p)[part].sum() / np.sqrt((p * (1 - p))[part].sum())
            assert abs(z) < 4, (text, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {"difference": a - b, "ratio": a / b}
    for kind, value in values.items():
        rows = found.ask({f"{i}": {kind: list(pair)} for i, pair in enumerate(names)}, level=level)
        good = np.isfinite(value)
        inside = (rows["lower"] <= value + 1e-12) & (value <= rows["upper"] + 1e-12)
        share = inside[good].mean()
        assert share > level - 4 * np.sqrt(0.16 / good.sum())
        assert share < level + 0.13  # whole numbers: an interval holds a little more than its level


TRUTHS = {
    "geometric": prior_of({"law": "geometric", "mean": 30.0}),
    "many zeros": 0.4 * (K == 0) + 0.6 * stats.nbinom.pmf(K, 0.8, 0.8 / 60.8),
    "power law": 1 / (1.0 + K) ** 1.7,
    "poisson": stats.poisson.pmf(K, 200),
    "two groups": 0.7 * stats.poisson.pmf(K, 4) + 0.3 * stats.nbinom.pmf(K, 3, 3 / 403),
}
NOISES = [
    {"law": "discrete_gaussian", "sigma": 3.0},
    {"law": "discrete_gaussian", "sigma": 20.0},
    {"law": "laplace", "scale": 10.0},
]


def truth_of(name):
    """Return a distribution of true counts as a prior of listed counts."""
    own = TRUTHS[name]
    if not isinstance(own, np.ndarray):
        return own
    kept = np.flatnonzero(own > 1e-300)
    return prior_of({"law": "table", "counts": kept, "probabilities": own[kept]})


@pytest.mark.thorough
@pytest.mark.parametrize("words", NOISES, ids=["narrow", "wide", "laplace"])
@pytest.mark.parametrize("name", TRUTHS)
def test_a_fitted_prior_is_as_good_as_the_true_law_at_ten_thousand_counts(name, words):
    """Check that the root mean square error is within 2 % of that of the true prior, and the coverage 0.93 to 0.99."""
    law, prior, rng = law_of(words), truth_of(name), stream(1, "fitted", name, str(words))
    p = np.exp(prior.log_weights(K))
    truth = rng.choice(K, size=10_000, p=p / p.sum())
    released = law.sample(truth, rng=rng)
    fitted, best = (counts.exact(released, noise=law, prior=x).own for x in ("fitted", prior))
    error, least = (np.sqrt(np.mean((own.mean - truth) ** 2)) for own in (fitted, best))
    assert error < 1.02 * least
    held = ((fitted.lower <= truth) & (truth <= fitted.upper)).mean()
    assert 0.93 < held < 0.99


def test_intervals_by_true_value():
    """Check the documentation on zeros, small and large counts; with normal noise, the released interval is exact."""
    wide = law_of({"law": "discrete_gaussian", "sigma": 10.0})
    truth = prior_of({"law": "negative_binomial", "mean": 40.0, "shape": 0.5})
    p = np.exp(truth.log_weights(K[:3000]))
    table = by_true_value(
        lambda rng: rng.choice(3000, size=2500, p=p / p.sum()), wide,
        priors={"fitted": "fitted", "flat": "flat"}, edges=[0, 1, 10, 50, 3000], replications=4, rng=stream(1, "value"),
    ).set_index(["method", "from", "to"])  # fmt: skip
    every = table.xs((0.0, np.inf), level=("from", "to"))
    low, high = table.xs((0, 1), level=("from", "to")), table.xs((50, 3000), level=("from", "to"))
    assert every["counts"].tolist() == [10_000] * 4
    for method in ("released", "clipped"):  # 0.95 at every count, up to the rounding of a whole number's law
        for part in (every, low, high):
            assert part.loc[method, "coverage"] > 0.95 - 4.5 * part.loc[method, "coverage_se"] - 0.005
    assert 0.95 < every.loc["fitted", "coverage"] < 0.98
    errors = [every.loc[method, "rmse"] for method in ("fitted", "clipped", "released")]
    assert all(b - a > 4 * b / np.sqrt(2 * 10_000) for a, b in pairwise(errors))  # four standard errors, about
    assert low.loc["flat", "coverage"] < 0.92 < 0.96 < low.loc["fitted", "coverage"]  # of zeros
    assert low.loc["fitted", "width"] < low.loc["clipped", "width"]
    assert low.loc["flat", "bias"] > 1.5 * low.loc["fitted", "bias"] > 0
    assert abs(high.loc["released", "bias"]) < 5 * 10 / np.sqrt(high.loc["released", "counts"])


def test_least_squares_stands_beside_a_total():
    narrow = law_of({"law": "discrete_gaussian", "sigma": 1.0})
    table = by_true_value(
        lambda rng: rng.geometric(1 / 41, 8) - 1, law_of({"law": "discrete_gaussian", "sigma": 10.0}), total=narrow,
        priors={"splits": None}, edges=[0, 1000], replications=150, rng=stream(1, "total"),
    ).set_index(["method", "to"])  # fmt: skip
    every = table.xs(np.inf, level="to")
    assert set(every.index) == {"released", "least squares", "clipped", "least squares, clipped", "splits"}
    exact = np.sqrt(100 - 100**2 / 801)  # sd of least squares
    assert every.loc["least squares", "rmse"] == pytest.approx(exact, rel=4 / np.sqrt(2 * 1200))
    assert every.loc["least squares", "coverage"] > 0.95 - 4.5 * every.loc["least squares", "coverage_se"]
    assert every.loc["splits", "rmse"] < every.loc["least squares, clipped", "rmse"] * 1.02
    with pytest.raises(ValueError, match="edges must be increasing"):
        by_true_value(lambda rng: np.zeros(1), narrow, priors={}, edges=[1], replications=1, rng=stream(1, "e"))
