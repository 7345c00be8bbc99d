"""Tests of regression as the prior of protected counts: input, results and messages."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._inference import rates, regression
from dpmultinomial._posteriors.rates.integration import Hyperparameters

NAMES = tuple(f"area {i}" for i in range(40))
LAW = dpm.DiscreteGaussian(sigma=3.0)


def example(seed=1, *, n=40, shape=4.0, law=LAW):
    rng = dpm.stream(seed, "regression")
    x = rng.normal(5.0, 2.0, n)
    births = np.exp(rng.normal(np.log(8), 0.8, n))
    theta = rng.gamma(shape, np.exp(0.2 * (x - 5)) / shape)
    released = law.sample(rng.poisson(theta * births), rng=rng)
    return pd.DataFrame({"released": released, "births": births, "x": x}, index=[f"area {i}" for i in range(n)])


DATA = example()


def posterior(data=DATA, *, law=LAW, exposure=None, covariates=None, bounds=None, **more):
    release = dpm.Release(data["released"], mechanism=law, bounds=bounds)
    exposure = data["births"] if exposure is None else exposure
    return dpm.posterior(release, prior=dpm.Regression(exposure, covariates, **more))


FOUND = posterior(covariates=DATA[["x"]])


def test_the_groups_and_their_accuracy():
    assert FOUND.groups == ("rates", "counts", "parameters")
    assert FOUND.parameters.names == ("log shape", "intercept", "slope of x")
    table = FOUND.summary()
    assert set(table["status"]) == {"approximate"}
    assert (table["error"] < 0.02).all()
    assert "an estimate of the numerical error" in FOUND.accuracy.reason
    rate = FOUND.rates["area 3"]
    row = table.loc[3]
    assert rate.interval() == pytest.approx((row["lower"], row["upper"]), rel=1e-9)
    assert (rate.mean(), rate.sd()) == pytest.approx((row["mean"], row["sd"]), rel=1e-9)
    assert rate.cdf(rate.quantile(0.3)) == pytest.approx(0.3, abs=1e-9)
    assert rate.cdf([-1.0, 0.0, 1e9]) == pytest.approx([0, 0, 1], abs=1e-14)
    assert rate.pdf(-1.0) == 0
    count = FOUND.counts["area 3"]
    at = table[table["type"] == "count"].iloc[3]
    assert (count.mean(), count.sd(), *count.interval()) == pytest.approx(
        (at["mean"], at["sd"], at["lower"], at["upper"]), rel=1e-8
    )


def test_draws_agree_with_the_distributions():
    """Check 4,000 joint draws: means within five standard errors (false alarms 1 in 20,000)."""
    drawn = FOUND.sample(4000, rng=dpm.stream(2, "draws"))
    for group in ("rates", "counts"):
        numbers = getattr(FOUND, group).numbers()
        gaps = (drawn[group].mean(axis=0) - numbers.mean) / (numbers.sd / 4000**0.5)
        assert np.abs(gaps).max() < 5
    assert drawn["parameters"].shape == (4000, 3)
    slope = FOUND.parameters["slope of x"]
    assert drawn["parameters"][:, 2].mean() == pytest.approx(slope.mean(), abs=0.1 * slope.sd())
    assert drawn["parameters"][:, 2].std() == pytest.approx(slope.sd(), rel=0.15)


def test_the_scale_of_a_covariate_and_of_the_exposure_does_not_matter():
    """Check other units: slopes change by the factor, and rates per 1000 are 1000 times as large, in all forms."""
    other = posterior(
        DATA.iloc[::-1], exposure=dict(DATA["births"] / 1000), covariates={"x": dict(100 * DATA["x"] - 7)}
    )
    assert other.parameters["slope of x"].mean() == pytest.approx(FOUND.parameters["slope of x"].mean() / 100, rel=1e-3)
    one, two = FOUND.rates.numbers(), other.rates.numbers()
    assert two.mean[::-1] / 1000 == pytest.approx(one.mean, rel=2e-3)
    assert two.upper[::-1] / 1000 == pytest.approx(one.upper, rel=2e-3)
    listed = posterior(covariates={"x": DATA["x"].tolist()}, exposure=DATA["births"].tolist())
    assert listed.rates.numbers().mean == pytest.approx(one.mean, rel=1e-12)


def test_questions():
    asked = FOUND.ask(
        {
            "high": {"probability": "'area 3' > 1", "about": "rates"},
            "more": {"probability": "'area 3' > 'area 4'"},
            "top": {"rank": {"of": "all", "top": 5}},
        },
        rng=dpm.stream(3, "questions"),
    )
    assert asked["mean"][0] == pytest.approx(1 - float(FOUND.rates["area 3"].cdf(1.0)), abs=1e-12)
    drawn = FOUND.sample(20_000, rng=dpm.stream(4, "questions"))["rates"]
    assert asked["mean"][1] == pytest.approx((drawn[:, 3] > drawn[:, 4]).mean(), abs=0.02)
    assert len(asked) == 12
    assert (asked["error"][1:] > 0).all()


def test_predictions():
    """Check a new count of a known area by draws of its rate, and of a new area by draws of the hyperparameters."""
    rng = dpm.stream(5, "predictions")
    law = FOUND.predicted(exposure=20.0)["area 3"]
    drawn = rng.poisson(20 * FOUND.rates["area 3"].sample(100_000, rng=rng))
    assert law.mean() == pytest.approx(20 * FOUND.rates["area 3"].mean(), rel=1e-6)
    assert law.sd() == pytest.approx(drawn.std(), rel=0.02)
    assert float(law.cdf(15)) == pytest.approx((drawn <= 15).mean(), abs=0.006)
    new = FOUND.predicted(exposure={"new": 20.0}, covariates={"x": [5.0]})
    assert new.names == ("new",)
    parameters = FOUND.sample(50_000, rng=rng)["parameters"]
    a = np.exp(parameters[:, 0])
    theta = rng.standard_gamma(a) / a * np.exp(parameters[:, 1:] @ [1.0, 5.0])
    assert new["new"].mean() == pytest.approx(20 * theta.mean(), rel=0.03)
    assert new["new"].sd() == pytest.approx(rng.poisson(20 * theta).std(), rel=0.05)
    assert new.sample(5, rng=rng).shape == (5, 1)
    with pytest.raises(ValueError, match="covariates must have exactly the columns x, got the columns z"):
        FOUND.predicted(exposure={"new": 20.0}, covariates={"z": [5.0]})
    with pytest.raises(ValueError, match="exposure must be finite and > 0 for every new count, got 0"):
        FOUND.predicted(exposure=0.0)


def test_a_check_of_the_prior_detects_another_noise():
    good = FOUND.prior_check(rng=dpm.stream(6, "check"))
    assert good["p"].min() > 0.02
    data = DATA.assign(released=DATA["released"] + np.where(np.arange(40) % 2, 300, 0))
    shifted = posterior(data.assign(released=data["released"] * 0 + 9.0), shape=(0.0, 0.1))
    bad = shifted.prior_check(rng=dpm.stream(7, "check"))
    assert bad.set_index("statistic").loc["standard deviation", "p"] < 0.02


def test_a_protected_exposure():
    """Check that small noise in the exposure gives the rates of the public exposure, and large noise wider ones."""
    persons = np.round(DATA["births"] * 40)
    public = posterior(exposure=persons, covariates=DATA[["x"]]).rates.numbers()
    for sigma, wider in ((0.3, False), (60.0, True)):
        noise = dpm.DiscreteGaussian(sigma=sigma)
        noisy = noise.sample(persons.astype(int).to_numpy(), rng=dpm.stream(8, "exposure", str(sigma)))
        exposure = dpm.Release(dict(zip(DATA.index, noisy, strict=True)), mechanism=noise)
        found = posterior(exposure=exposure, covariates=DATA[["x"]])
        numbers = found.rates.numbers()
        assert found.facts["exposure"]["kind"] == "protected counts"
        if wider:
            assert (numbers.sd / numbers.mean).mean() > 1.03 * (public.sd / public.mean).mean()
        else:
            assert numbers.mean == pytest.approx(public.mean, rel=0.1)


def test_shares_of_persons():
    rng = dpm.stream(9, "shares")
    persons = rng.integers(10, 200, 40)
    counts = rng.binomial(persons, rng.beta(3.0, 9.0, 40))
    data = DATA.assign(released=LAW.sample(counts, rng=rng).astype(float), births=persons)
    found = posterior(data, family="shares")
    assert found.parameters.names == ("log concentration", "intercept")
    level = found.rates.interval()
    assert (level["upper"] < 1).all()
    assert np.abs(found.rates.numbers().mean - counts / persons).mean() < 0.06
    assert found.predicted(exposure=30)["area 2"].mean() == pytest.approx(30 * found.rates["area 2"].mean(), rel=1e-6)
    assert found.sample(10, rng=rng)["rates"].max() < 1
    assert found.prior_check(rng=rng)["p"].min() > 0.01
    with pytest.raises(ValueError, match=r"for shares, exposure must contain integers \(population sizes\), got 12\.5"):
        posterior(data.assign(births=12.5), family="shares")
    with pytest.raises(ValueError, match="exposure must contain public"):
        dpm.Regression(dpm.Release(data["released"], mechanism=LAW), family="shares")


@pytest.mark.parametrize(
    ("released", "exposure", "family", "crude"),
    [
        ([10, -4, 30], [2.0, 3.0, 5.0], "rates", (10 + 0 + 30 + 0.5) / 10),
        ([1, 2, 0], [2.0, 3.0, 5.0], "rates", 3.5 / 10),
        ([1, 2, 0], [2, 3, 5], "shares", 3.5 / 10),
        ([2, 3, 5], [2, 3, 5], "shares", 0.99),  # 10.5 / 10 is not a share below 1
    ],
)
def test_the_fit_starts_at_the_crude_rate(released, exposure, family, crude):
    """Check the sum of the positive counts and 1/2, divided by the sum of the exposures."""
    names = ["a", "b", "c"]
    prior = dpm.Regression(dict(zip(names, exposure, strict=True)), family=family)
    release = dpm.Release(dict(zip(names, released, strict=True)), mechanism=LAW)
    assert rates._crude(rates._areas(release, prior), prior) == pytest.approx(crude, rel=1e-12)


def test_exact_counts_and_flat_priors_of_a_known_area():
    """Check one exact count with fixed log a: the rate is Gamma(a + d, a/mu + E), averaged over the intercept."""
    data = example(3, n=60, law=dpm.Exact())
    found = posterior(data, law=dpm.Exact(), shape=(np.log(4.0), 1e-4), slopes=100.0)
    i = int(data["births"].argmax())
    name = data.index[i]
    mu = np.exp(found.parameters["intercept"].mean())
    law = stats.gamma(4 + data["released"].iloc[i], scale=1 / (4 / mu + data["births"].iloc[i]))
    assert found.rates[name].interval() == pytest.approx(law.interval(0.95), rel=5e-3)


def test_standard_errors_by_the_sandwich():
    """Check that the errors equal the model's for the right model, 1,500 areas, but not if variation depends on x."""
    data = example(11, n=1500)
    model = posterior(data, covariates=data[["x"]]).parameters["slope of x"].sd()
    robust = posterior(data, covariates=data[["x"]], se="sandwich").parameters["slope of x"].sd()
    assert robust == pytest.approx(model, rel=0.1)
    rng = dpm.stream(12, "misspecified")
    shape = np.exp(-(data["x"] - 5) / 1.5) * 4
    theta = rng.gamma(shape, np.exp(0.2 * (data["x"] - 5)) / shape)
    data["released"] = LAW.sample(rng.poisson(theta * data["births"]), rng=rng)
    wrong = posterior(data, covariates=data[["x"]])
    better = posterior(data, covariates=data[["x"]], se="sandwich")
    assert better.parameters["slope of x"].sd() > 1.15 * wrong.parameters["slope of x"].sd()
    assert better.parameters["slope of x"].mean() == pytest.approx(wrong.parameters["slope of x"].mean(), abs=0.01)


def test_the_law_of_a_coefficient_weighs_the_grid_of_log_a_by_its_density():
    """Check densities 1, 4 and 3 on a grid of log a, the means (not the modes) of b given log a, and the variance c'Cc
    of the combination c = (2, -1).
    """
    modes = [np.array([1.0, 0.5]), np.array([2.0, 0.0]), np.array([0.0, 3.0])]
    covariances = [np.array([[k, 0.5], [0.5, 2.0]]) for k in (1.0, 2.0, 3.0)]
    fits = [SimpleNamespace(parameters=np.r_[0.0, b], covariance=c) for b, c in zip(modes, covariances, strict=True)]
    grid = SimpleNamespace(log_marginal=np.log([1.0, 4.0, 3.0]) - 50, fits=fits)
    hyper = SimpleNamespace(grid=grid, mean=lambda fit: fit.parameters[1:] + np.array([0.1, -0.2]))
    parts = SimpleNamespace(regression=SimpleNamespace(se="model"), _hyper=hyper)
    law = rates.RegressionPosterior._slope(parts, np.array([2.0, -1.0]))
    assert law.weights == pytest.approx([1 / 8, 1 / 2, 3 / 8], rel=1e-12)
    assert law.means == pytest.approx([1.9, 4.4, -2.6], rel=1e-12)  # 2 b1 - b2, and 0.2 + 0.2 for the mean
    assert law.sds**2 == pytest.approx([4.0, 8.0, 12.0], rel=1e-12)  # 4 k + 2 - 2


@pytest.mark.parametrize("family", ["rates", "shares"])
def test_the_sandwich_is_the_sum_of_squared_scores_between_two_inverse_informations(family):
    """Check the errors of 15 areas with exact counts by differences of the negative binomial or beta-binomial log
    likelihood: the squares of the scores of the areas are summed about 0, and their number does not enter.
    """
    rng, size, step = dpm.stream(21, "sandwich", family), 15, 1e-4
    x, e = rng.normal(5.0, 2.0, size), rng.integers(20, 90, size)
    theta = rng.beta(2.0, 6.0, size) if family == "shares" else rng.gamma(3.0, 0.4 / 3, size)
    counts = rng.binomial(e, theta) if family == "shares" else rng.poisson(theta * e)
    release = dpm.Release(counts.astype(float), mechanism=dpm.Exact())
    found = dpm.posterior(release, prior=dpm.Regression(e, {"x": x}, family, se="sandwich"))
    z, mode = (x - x.mean()) / x.std(), found._fit.parameters

    def each(parameters):
        """Return the log likelihood of every area."""
        a, mean = np.exp(parameters[0]), parameters[1] + parameters[2] * z
        if family == "shares":
            share = 1 / (1 + np.exp(-mean))
            return stats.betabinom.logpmf(counts, e, a * share, a * (1 - share))
        return stats.nbinom.logpmf(counts, a, a / (a + np.exp(mean) * e))

    units = step * np.eye(3)
    scores = np.array([each(mode + unit) - each(mode - unit) for unit in units]) / (2 * step)
    curve = [
        [sum(s * t * each(mode + s * one + t * two).sum() for s in (1, -1) for t in (1, -1)) for two in units]
        for one in units
    ]
    prior = np.array([2.0, 10.0, 10.0]) ** -2.0  # the documented standard deviations of log a and of the slopes
    inverse = np.linalg.inv(np.diag(prior) - np.array(curve) / (4 * step**2))
    sd = np.sqrt(np.diag(inverse @ scores @ scores.T @ inverse))
    assert found.parameters["slope of x"].sd() == pytest.approx(sd[2] / x.std(), rel=1e-3)
    user = np.array([0.0, 1.0, -x.mean() / x.std()])  # the intercept at x = 0
    intercept = np.sqrt(user @ inverse @ scores @ scores.T @ inverse @ user)
    assert found.parameters["intercept"].sd() == pytest.approx(intercept, rel=1e-3)


def test_a_shape_that_depends_on_the_exposure_is_reported():
    """Check that variation that grows with the exposure is reported at 400 areas, but not the right model in 20 data
    sets (a false alarm in one of them has a probability of about 1 in 10 or less).
    """
    rng = dpm.stream(13, "exposure")
    data = example(14, n=400)
    shape = 4 / (data["births"] / data["births"].median())
    theta = rng.gamma(shape, 1 / shape)
    data["released"] = LAW.sample(rng.poisson(theta * data["births"] * 3), rng=rng)
    data["births"] *= 3
    texts = posterior(data).facts["warnings"]
    assert any("grows with the exposure" in text for text in texts)
    for seed in range(20):
        facts = posterior(example(100 + seed, n=150)).facts
        assert facts["shape by exposure"]["bayes_factor"] < rates.EVIDENCE


def test_what_a_result_says():
    facts = FOUND.facts
    assert json.loads(json.dumps(facts))["areas"] == 40
    assert facts["prior"]["covariates"] == ["x"]
    assert facts["neglected"] < 1e-12
    assert any("only 40 areas" in text for text in facts["warnings"])
    assert "WARNING: only 40 areas" in repr(FOUND)
    assert repr(dpm.Regression([1.0])) == "Regression(rates; no covariates)"
    few = posterior(DATA.head(8))
    assert np.isnan(few.accuracy.error)
    assert "fewer than 12 areas" in few.accuracy.reason
    held = posterior(DATA.head(13).assign(released=lambda d: np.round(d["births"])))
    assert held.facts["held by its prior"] == ["log shape"]
    assert "determined mainly by the prior: log shape" in held.accuracy.reason


@pytest.mark.parametrize("family", ["rates", "shares"])
def test_moments_of_a_count_without_a_measurement(family):
    """Given the rate r, the count is Poisson(e r) or binomial(e, r); the rates of few areas have a very long tail."""
    counts, e = {"a": 3.0, "b": 1.0, "c": 2.0, "d": np.nan}, 10
    found = dpm.posterior(dpm.Release(counts, mechanism=dpm.Exact()), prior=dpm.Regression([e] * 4, family=family))
    rate, row = found.rates["d"], found.summary().query("type == 'count' and quantity == 'd'").iloc[0]
    first, second = rate.mean(), rate.variance() + rate.mean() ** 2
    assert [found.counts["d"].mean(), row["mean"]] == pytest.approx([e * first] * 2, rel=1e-12)
    inside = e * first if family == "rates" else e * (first - second)
    assert row["sd"] ** 2 == pytest.approx(inside + e**2 * rate.variance(), rel=1e-9)


def test_a_count_whose_upper_tail_is_not_listed_has_no_bound(monkeypatch):
    """Of the values 0, 1, .., only those up to a limit are listed; the probability of the others is at infinity."""
    release = dpm.Release({"a": 3.0, "b": 1.0, "c": 2.0, "d": np.nan}, mechanism=dpm.Exact())
    full = dpm.posterior(release, prior=dpm.Regression([10] * 4)).counts["d"]
    monkeypatch.setattr(rates, "_MOST_COUNTS", 5)
    short = dpm.posterior(release, prior=dpm.Regression([10] * 4)).counts["d"]
    assert short.cdf(np.arange(6)) == pytest.approx(full.cdf(np.arange(6)), rel=1e-9)
    assert full.cdf(5) < 0.975
    assert short.interval() == (full.interval()[0], np.inf)


def test_areas_without_exposure_or_measurement():
    data = DATA.copy()
    data.loc["area 5", "births"] = 0.0
    data.loc["area 6", "released"] = np.nan
    found = posterior(data, covariates=data[["x"]])
    assert "area 5" not in found.rates.names
    assert found.facts["dropped"] == ["area 5"]
    assert found.facts["unmeasured"] == ["area 6"]
    unknown, known = found.rates["area 6"], found.rates["area 7"]
    assert unknown.sd() / unknown.mean() > known.sd() / known.mean()
    births = data.loc["area 6", "births"]  # the count is Poisson given the rate
    assert found.counts["area 6"].mean() == pytest.approx(births * unknown.mean(), rel=1e-6)
    data.loc["area 5", "released"] = 40.0
    with pytest.raises(
        ValueError, match="area 5: the exposure is 0, so the count must be 0, but the release excludes a count of 0"
    ):
        posterior(data)


@pytest.mark.parametrize(("value", "refused"), [(8.0, True), (28.0, False)])
def test_a_value_that_is_compatible_with_zero_is_refused(value, refused):
    """Of one value y with Laplace noise of scale 2, the likelihood of the count 0 is exp(-y/2) of the largest one:
    0.018 for 8, so it is more than 0.001 of the likelihood at the mode, and 8e-7 for 28, where the mode has a
    likelihood above 0.01: a geometric distribution with mean 28 has the probability 1/(29 e) = 0.013 at its mean.
    """
    data = pd.DataFrame({"released": [value], "births": [100.0]}, index=["a"])
    law = dpm.DiscreteLaplace(scale=2.0)
    if refused:
        with pytest.raises(ValueError, match="compatible with counts of 0 in all areas: their likelihood is then "):
            posterior(data, law=law)
    else:
        assert posterior(data, law=law).rates["a"].mean() == pytest.approx(value / 100, rel=0.05)


def test_two_areas_and_a_covariate():
    """With as many coefficients as areas, the means fit both counts: the posterior mean of a rate is close to the count
    divided by the exposure. At the smallest shapes, x'b reaches values above 709, whose exponential is infinite.
    """
    data = pd.DataFrame({"released": [78, 13], "births": [1406.0, 302.0], "x": [0.65, 0.75]}, index=["a", "b"])
    found = posterior(data, law=dpm.Exact(), covariates=data[["x"]])
    numbers = found.rates.numbers()
    assert numbers.mean == pytest.approx(data["released"] / data["births"], rel=0.01)
    assert np.isfinite(np.stack([numbers.sd, numbers.lower, numbers.upper])).all()
    # the scores of both areas are then almost 0, so sandwich standard errors would be almost 0
    with pytest.raises(ValueError, match="more areas than coefficients, got 2 areas with counts and 2 coefficients"):
        posterior(data, law=dpm.Exact(), covariates=data[["x"]], se="sandwich")
    assert posterior(data, law=dpm.Exact(), se="sandwich").parameters["intercept"].sd() > 0


def test_separate_areas_of_a_tree():
    data = DATA.head(20)
    names = ("state", *data.index)
    release = dpm.Release(
        [float(data["released"].sum()), *data["released"]],
        mechanism=LAW,
        names=names,
        parents={name: None if name == "state" else "state" for name in names},
    )
    found = dpm.posterior(release, prior=dpm.Regression(exposure=dict(data["births"])))
    alone = posterior(data)
    assert found.rates.numbers().mean == pytest.approx(alone.rates.numbers().mean, rel=1e-12)
    assert any("other nodes of the tree are not used" in text for text in found.facts["warnings"])
    with pytest.raises(ValueError, match="area 0 is part of the area state, but areas must not overlap"):
        dpm.posterior(release, prior=dpm.Regression(exposure={"state": 100.0, **data["births"]}))
    with pytest.raises(ValueError, match="mapping from names of areas"):
        dpm.posterior(release, prior=dpm.Regression(exposure=[1.0] * 21))


MISSING = DATA.assign(x=np.where(np.arange(40) < 3, np.nan, DATA["x"]))
REJECTED = {
    "missing": (lambda: posterior(covariates=MISSING[["x"]]),
                r"x is missing for area 0 \(and 2 more\): remove these areas or the covariate x"),
    "constant": (lambda: posterior(covariates={"x": [2.0] * 40}),
                 "the covariate x must have at least two different values, got 2 for"),
    "collinear": (lambda: posterior(covariates={"x": DATA["x"], "y": 3 - DATA["x"]}), "covariates x, y are collinear"),
    "withheld": (lambda: posterior(DATA.assign(released=np.nan), law=dpm.Exact().rounded(1).threshold(10)),
                 "at least one of the 40 counts must be published, got only withheld counts"),
    "unmeasured": (lambda: posterior(DATA.assign(released=np.nan)), "at least one of the 40 counts must be measured"),
    "zero": (lambda: posterior(DATA.assign(released=0.0)),
             "at least one of the 40 released counts must be > 0, got a maximum of 0"),
    "bounds from 0": (lambda: dpm.posterior(
        dpm.Release([np.nan] * 3, mechanism=dpm.Exact(), bounds=([0, 0, 0], [4, 9, 4])), prior=dpm.Regression([9] * 3)),
                      "at least one of the 3 counts must be > 0, but the released values and bounds allow 0 for all"),
    "negative": (lambda: posterior(exposure=-DATA["births"]), "exposure must be a number >= 0 .* got -"),
    "absent": (lambda: posterior(exposure=DATA["births"].head(30)), r"got none for area 30 \(and 9 more\)"),
    "strange": (lambda: posterior(exposure={"a": 1.0}),
                r"exposure must contain areas of the release \(area 0, \.\.\), got only other names \(a, \.\.\)"),
    "short": (lambda: posterior(exposure=[1.0]), "exposure must have one number per area .40 areas."),
    "text": (lambda: posterior(covariates={"x": ["a"] * 40}), "x must contain only numbers, got 'a': code cat"),
    "intercept": (lambda: posterior(covariates={"intercept": DATA["x"]}), "'intercept', which is always part"),
    "columns": (lambda: posterior(covariates=3), "covariates must be a DataFrame or a mapping"),
    "family": (lambda: dpm.Regression([1.0], family="counts"), "family must be one of"),
    "se": (lambda: dpm.Regression([1.0], se="robust"), "se must be one of"),
    "shape": (lambda: dpm.Regression([1.0], shape=(0.0, 0.0)), "shape must be finite and > 0"),
    "method": (lambda: dpm.posterior(dpm.Release(DATA["released"], mechanism=LAW),
                                     prior=dpm.Regression(DATA["births"]), method="chain"), "method must be one of"),
    "mechanism": (lambda: posterior(law=dpm.AdditiveCounts(epsilon=1.0)), "counts with independent noise"),
    "no exposure": (lambda: posterior(exposure=DATA["births"] * 0), "excludes a count of 0|the exposures of all"),
    "impossible": (lambda: posterior(law=dpm.RandomRounding(7)), "impossible under the noise"),
    "exposure release": (lambda: posterior(exposure=dpm.Release({"area 0": 3.0}, mechanism=LAW)),
                         r"contains no value for area 1 \(and 38 more\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", REJECTED)
def test_rejects(case):
    call, words = REJECTED[case]
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_a_posterior_can_be_pickled():
    import pickle

    again = pickle.loads(pickle.dumps(FOUND))
    assert again.rates["area 3"].mean() == FOUND.rates["area 3"].mean()


def test_the_log_evidence_is_the_probability_of_the_release():
    """Independent counts with a geometric prior, by sums over all counts; improper priors have none."""
    law, prior = dpm.DiscreteLaplace(scale=2.0), {"law": "geometric", "mean": 10.0}
    released = np.array([3.0, 17.0, -2.0])
    found = dpm.posterior(dpm.Release(released, mechanism=law), prior=prior)
    d = np.arange(2000)
    weights = stats.geom.pmf(d + 1, 1 / 11)
    expected = sum(np.log(weights @ np.exp(law.log_likelihood(np.array([y]), d.astype(float)))) for y in released)
    assert found.log_evidence == pytest.approx(expected, abs=1e-10)
    with pytest.raises(AttributeError, match="log_evidence requires a proper prior, got the improper prior 'flat'"):
        _ = dpm.posterior(dpm.Release(released, mechanism=law), prior="flat").log_evidence
    tree = dpm.Release([20.0, *released], mechanism=law, names=("all", "a", "b", "c"),
                       parents={"all": None, "a": "all", "b": "all", "c": "all"})  # fmt: skip
    found = dpm.posterior(tree, prior=1.0)
    assert found.log_evidence == found.facts["log_evidence"]


def test_only_the_window_of_an_extreme_area_is_widened():
    """An improbable value has a longer tail of counts: its window alone grows, and no result of another area moves."""
    data = DATA.assign(released=DATA["released"].where(DATA.index != "area 7", 260))
    found = posterior(data)
    plain = rates.likelihoods_of(found.areas.cells)
    width, before = (np.diff(table.start) for table in (found._model.table, plain))
    assert found.facts["neglected"] <= rates.NEGLECTED
    assert np.flatnonzero(width != before).tolist() == [7]
    assert width[7] > 1.5 * before[7]
    a, b = np.exp(found._fit.parameters[0]), np.exp(found._fit.parameters[1])
    d, mean = np.arange(2000.0), b * data["births"].to_numpy()
    for i in (0, 6, 7, 8, 39):
        weights = stats.nbinom.pmf(d, a, a / (a + mean[i]))
        expected = np.log(weights @ np.exp(LAW.log_likelihood(data["released"].to_numpy(float)[i : i + 1], d)))
        assert found._model.log_evidence(found._fit.parameters)[i] == pytest.approx(expected, abs=1e-10)


def test_the_table_of_likelihoods_gives_the_evidence_of_a_model():
    """The sum over a row of the table is p(released) under a Poisson model, by a sum over all counts."""
    law = dpm.DiscreteGaussian(sigma=3.0)
    table = dpm.Release({"a": 12, "b": -2, "c": None}, mechanism=law, bounds=(0, 400)).likelihood()
    assert table.names == ("a", "b", "c")
    assert table.log_mass == 40.0
    assert (table.log[2, :401] == 0).all()
    d = np.arange(0.0, 401)
    for i, y in enumerate((12.0, -2.0)):
        row = np.logaddexp.reduce(table.log[i] + stats.poisson.logpmf(table.counts[i], 7.0))
        whole = np.log(stats.poisson.pmf(d, 7.0) @ np.exp(law.log_likelihood(np.array([y]), d)))
        assert row == pytest.approx(whole, abs=1e-12)
        assert table.log_bound[i] < whole - 25
    narrow = dpm.Release({"a": 12}, mechanism=law).likelihood(log_mass=20)
    assert narrow.log.shape[1] < 0.85 * dpm.Release({"a": 12}, mechanism=law).likelihood().log.shape[1]
    with pytest.raises(TypeError, match="independent noise"):
        dpm.Release([1, 2], mechanism=dpm.AdditiveCounts(epsilon=1.0)).likelihood()
    with pytest.raises(ValueError, match="log_mass must be finite and > 0"):
        dpm.Release([1, 2], mechanism=law).likelihood(log_mass=0)


def stated(*, areas=50, dropped=(), held=(), factor=1.0, slope=1.0, done=True):
    """Return the parts of a regression posterior from which its accuracy and its warnings are written."""
    return SimpleNamespace(
        areas=SimpleNamespace(names=range(areas), dropped=dropped, ignored=("first",)),
        _held=list(held),
        _by_exposure={"bayes_factor": factor, "slope": slope},
        _hyper=SimpleNamespace(nodes=SimpleNamespace(rule="a rule")),
        _fit=SimpleNamespace(done=done),
    )


GROWS = "the variation of the rates around their means {} with the exposure (Bayes factor {}): intervals of areas with "
GROWS += "small or large exposure are unreliable"


@pytest.mark.parametrize(
    ("parts", "warnings"),
    [
        ({}, []),
        ({"areas": 49}, [f"only 49 areas: intervals may be too short ({rates.COVERAGE} for 50 areas)"]),
        ({"areas": 1}, [f"only 1 area: intervals may be too short ({rates.COVERAGE} for 50 areas)"]),
        ({"dropped": tuple("abcdef")}, ["dropped, because the exposure is 0: a, b, c, d, e and 1 more"]),
        (
            {"held": ["log shape", "slope of x"]},
            ["determined mainly by the prior: log shape, slope of x"],
        ),
        ({"factor": 10.0}, []),
        ({"factor": 12.34}, [GROWS.format("falls", "12.3")]),
        ({"factor": 12.34, "slope": -0.5}, [GROWS.format("grows", "12.3")]),
        ({"factor": 12.34, "slope": 0.5}, [GROWS.format("falls", "12.3")]),
    ],
)
def test_warnings_of_a_regression(parts, warnings):
    assert rates.RegressionPosterior._all_warnings(stated(**parts)) == ["first", *warnings]


@pytest.mark.parametrize(
    ("parts", "error", "reason"),
    [
        ({"areas": 12}, 0.01, "hyperparameters integrated by a rule; error: an estimate of the numerical error"),
        (
            {"areas": 11},
            np.nan,
            "hyperparameters integrated by a rule; the error cannot be estimated with fewer than 12 areas",
        ),
        (
            {"held": ["a", "b"]},
            0.01,
            "hyperparameters integrated by a rule; error: an estimate of the numerical error; determined mainly by the "
            "prior: a, b",
        ),
        ({"done": False}, np.nan, "the search for the hyperparameters did not end at a mode"),
    ],
)
def test_the_accuracy_of_a_regression(parts, error, reason):
    state = rates.RegressionPosterior._state(stated(**parts), 0.01)
    assert (state.status, state.reason) == ("approximate", reason)
    np.testing.assert_equal(state.error, error)


@pytest.mark.parametrize(("observed", "tail"), [(3, 5), (98, 3), (-1, 1), (100, 1)])
def test_limits_of_a_check_of_the_prior_by_hand(observed, tail, monkeypatch):
    """Check simulated statistics 0, 1, .., 99 and an observed one: with the observed 3, five of 101 are at most 3, so p
    is 2 x 5/101. The quantiles of level q of the simulated ones lie at 99 q.
    """
    values = iter([*range(100), observed])
    monkeypatch.setattr(rates, "_statistics", lambda _: [float(next(values))] * 5)
    found = FOUND.prior_check(rng=dpm.stream(6, "limits"), size=100).iloc[0]
    assert (found["observed"], found["p"]) == (observed, pytest.approx(2 * tail / 101))
    assert found[["lower", "median", "upper"]].tolist() == pytest.approx([2.475, 49.5, 96.525])


@pytest.mark.parametrize(("shape", "held"), [(1.79, False), (1.81, True)])
def test_parameters_with_a_wide_posterior_are_held_by_the_prior(shape, held):
    """Check the limits 0.6 times the prior sd 3 of log a, and half the prior sd 8 of the coefficients."""
    fit = SimpleNamespace(covariance=np.diag([shape**2, 3.99**2, 4.01**2]))
    model = SimpleNamespace(prior=SimpleNamespace(sd=3.0, slopes=8.0))
    found = Hyperparameters.held.func(SimpleNamespace(fit=fit, model=model))
    assert (found[0], found[1].tolist()) == (held, [False, True])


def test_statistics_of_released_values_by_hand():
    """Check the mean 0 and variance 26/4 of 1, 3, -4 and 0; two of four are at most 0, and one of five is withheld."""
    assert rates._statistics(np.array([1.0, 3.0, -4.0, 0.0, np.nan])) == [0.0, 6.5**0.5, 3.0, 0.5, pytest.approx(0.2)]
    assert rates._statistics(np.full(3, np.nan)) == [0.0, 0.0, 0.0, 0.0, 1.0]


def test_the_evidence_of_a_shape_that_depends_on_the_exposure():
    """Check the derivatives by differences. Area i has the log shape log a + c z_i, and the prior of c is N(0, 1). The
    Laplace approximation with score s and curvature k has the log factor s^2/(2 (k + 1)) - log(1 + k)/2.
    """
    found, step = posterior(example(5, n=60)), 1e-3
    log = np.log(found.areas.mean_exposure)
    z, mode = (log - log.mean()) / log.std(), found._fit.parameters

    def evidence(c, change):
        """Return the log evidence at another c and other hyperparameters."""
        parameters = mode + change
        each = [found._model.log_evidence(parameters + np.r_[c * z[i], 0.0])[i] for i in range(60)]
        return sum(each)

    none = np.zeros(2)
    score = (evidence(step, none) - evidence(-step, none)) / (2 * step)
    direct = -(evidence(step, none) - 2 * evidence(0.0, none) + evidence(-step, none)) / step**2
    cross = [
        sum(a * b * evidence(a * step, b * step * unit) for a in (1, -1) for b in (1, -1)) / (4 * step**2)
        for unit in np.eye(2)
    ]
    curvature = direct - cross @ found._fit.covariance @ cross
    assert curvature > 1
    stated = found.facts["shape by exposure"]
    assert stated["slope"] == pytest.approx(score / (curvature + 1), rel=1e-4)
    factor = np.exp(score**2 / (2 * (curvature + 1))) / np.sqrt(1 + curvature)
    assert stated["bayes_factor"] == pytest.approx(factor, rel=1e-4)
    assert posterior(exposure=[2.0] * 40).facts["shape by exposure"] == {"bayes_factor": 0.0, "slope": 0.0}


@pytest.mark.parametrize(("released", "kept"), [(39.0, True), (40.0, False)])
def test_an_area_without_exposure_can_have_a_released_value_of_small_probability(released, kept):
    """Check discrete Laplace noise of scale 1: log P(y given 0) = log tanh(1/2) - y is -39.8 and -40.8."""
    law = dpm.DiscreteLaplace(scale=1.0)
    release = dpm.Release({"a": 3.0, "b": 5.0, "c": released}, mechanism=law)
    prior = dpm.Regression({"a": 1.0, "b": 1.0, "c": 0.0})
    if kept:
        assert rates._areas(release, prior).dropped == ("c",)
        return
    with pytest.raises(ValueError, match=r"^c: the exposure is 0, so the count must be 0"):
        rates._areas(release, prior)


@pytest.mark.parametrize(("lower", "upper", "kept"), [(0, 4, True), (1, 4, False), (-3, -1, False), (-3, 0, True)])
def test_an_area_without_exposure_can_have_bounds_that_contain_0(lower, upper, kept):
    release = dpm.Release({"a": 3.0, "b": None}, mechanism=LAW, bounds=([0, lower], [9, upper]))
    prior = dpm.Regression({"a": 1.0, "b": 0.0})
    if kept:
        assert rates._areas(release, prior).names == ("a",)
        return
    with pytest.raises(ValueError, match=r"^b: the exposure is 0"):
        rates._areas(release, prior)


def test_counts_of_persons_are_at_most_their_number():
    bounds = ([0, 5, 0], [np.inf, np.inf, 7])
    release = dpm.Release({"a": 3.0, "b": 4.0, "c": 6.0}, mechanism=LAW, bounds=bounds)
    areas = rates._areas(release, dpm.Regression({"a": 10, "b": 5, "c": 9}, family="shares"))
    assert areas.cells.upper.tolist() == [10, 5, 7]
    with pytest.raises(
        ValueError,
        match=r"^b: the lower bound of the count is 5, but the area has only 4 persons: correct the bounds or the expo",
    ):
        rates._areas(release, dpm.Regression({"a": 10, "b": 4, "c": 9}, family="shares"))


def test_the_crude_rate_uses_the_middle_of_published_bounds():
    """Check (10 + (10 + 50)/2 + 1/2)/(2 + 3): the third area has no measurement and no upper bound."""
    release = dpm.Release({"a": 10.0, "b": None, "c": None}, mechanism=LAW, bounds=([0, 10, 0], [np.inf, 50, np.inf]))
    prior = dpm.Regression({"a": 2.0, "b": 3.0, "c": 5.0})
    assert rates._crude(rates._areas(release, prior), prior) == pytest.approx(40.5 / 5, rel=1e-12)


def test_coefficients_on_the_scale_of_the_user_give_the_same_predictor():
    """Check covariates with means 2, 20 and standard deviations sqrt(2/3), 10 sqrt(2/3)."""
    columns = np.array([[1.0, 30.0], [2.0, 10.0], [3.0, 20.0], [2.0, 20.0]])[:3]
    design = regression.design_of({"x": columns[:, 0], "y": columns[:, 1]}, ("a", "b", "c"))
    assert design.names == ("x", "y")
    assert design.centres.tolist() == pytest.approx([2, 20])
    assert design.scales.tolist() == pytest.approx([(2 / 3) ** 0.5, 10 * (2 / 3) ** 0.5])
    standard = np.array([0.5, -2.0, 3.0])
    user = design.user() @ standard
    assert user[0] + columns @ user[1:] == pytest.approx(design.matrix @ standard, rel=1e-12)
    assert design.of(columns) == pytest.approx(design.matrix, rel=1e-12)
    assert design.of(np.array([[4.0, 0.0]])) @ standard == pytest.approx(user @ [1.0, 4.0, 0.0], rel=1e-12)


def test_as_many_covariates_as_areas_are_collinear_and_fewer_are_not():
    rows = {"x": [0.0, 1.0, 1.0], "y": [1.0, 1.0, 0.0]}
    assert regression.design_of(rows, ("a", "b", "c")).matrix.shape == (3, 3)
    with pytest.raises(ValueError, match="the covariates x, y are collinear over 2 areas: remove one covariate"):
        regression.design_of({"x": [0.0, 1.0], "y": [1.0, 3.0]}, ("a", "b"))


def test_only_the_collinear_covariates_are_named():
    x = np.array([0.0, 1.0, 3.0, 2.0, 5.0])
    columns = {"x": x, "z": [1.0, 0.0, 4.0, -2.0, 1.0], "y": 7 - 2 * x}
    with pytest.raises(ValueError, match="the covariates x, y are collinear over 5 areas"):
        regression.design_of(columns, tuple("abcde"))
    assert len(regression.design_of({"x": 1e6 + 1e-3 * x}, tuple("abcde")).names) == 1  # small, but not constant


def test_settings_and_defaults_of_a_regression():
    """Check the documented priors of log a: N(log 4, 2) for rates, N(log 10, 2) for shares, and N(0, 10) for slopes."""
    for family, centre in (("rates", np.log(4.0)), ("shares", np.log(10.0))):
        assert dpm.Regression([1.0], {"x": [1.0]}, family).settings() == {
            "law": "regression",
            "family": family,
            "covariates": ["x"],
            "log shape": {"mean": pytest.approx(centre), "sd": 2.0},
            "slopes": {"mean": 0.0, "sd": 10.0},
            "se": "model",
        }
    assert repr(dpm.Regression([1.0], {"x": [1.0], "y": [2.0]}, "shares")) == "Regression(shares; x, y)"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, np.nan, 3.0], r"the value of x is missing for b: remove these areas or the covariate x"),
        ([1.0, np.inf, np.nan], r"the value of x is missing for b \(and 1 more\): remove"),
    ],
)
def test_missing_covariates_are_counted(values, words):
    with pytest.raises(ValueError, match=words):
        regression.covariates_of({"x": values}, ("a", "b", "c"))


@pytest.mark.parametrize(
    ("exposure", "words"),
    [
        ([1.0, -2.5, 3.0], "got -2.5 for b$"),
        ([1.0, np.nan, np.inf], r"got none for b \(and 1 more\)$"),
    ],
)
def test_invalid_exposures_are_counted(exposure, words):
    prior = dpm.Regression(exposure)
    with pytest.raises(ValueError, match=words):
        rates._public_exposure(prior, ("a", "b", "c"))


def test_released_exposures_must_contain_every_area():
    exposure = dpm.Release({"a": 30.0, "d": None}, mechanism=LAW)
    for names, words in (
        (("a", "b"), "contains no value for b$"),
        (("a", "b", "c"), r"contains no value for b \(and 1 more\)$"),
        (("a", "d"), "a measured value for each area, but the value of d was not measured$"),
    ):
        with pytest.raises(ValueError, match=words):
            rates._noisy_exposure(exposure, names)
    nodes, log_weights = rates._noisy_exposure(exposure, ("a",))
    assert nodes.min() >= 1
    assert np.exp(log_weights).sum() == pytest.approx(1)


def test_facts_of_a_release_with_gaps():
    """Check the numbers of published, withheld and missing counts: 30 of 40 areas are not measured."""
    law = LAW.threshold(3)
    values = DATA["released"].where(DATA["released"] >= 3)
    facts = posterior(DATA.assign(released=values), law=law).facts
    assert (facts["areas"], facts["measured"]) == (40, 40)
    assert facts["withheld"] == int((DATA["released"] < 3).sum()) > 0
    assert facts["unmeasured"] == []
    few = posterior(DATA.assign(released=DATA["released"].where(np.arange(40) >= 30))).facts
    assert (few["measured"], few["withheld"]) == (10, 0)
    assert few["unmeasured"] == [f"area {i}" for i in range(20)]  # the first twenty of thirty
    assert few["exposure"] == {"kind": "public"}


def test_the_count_of_an_area_without_a_measurement_is_predicted():
    """Such a count is Poisson with mean 100 times the rate: its mean is 100 E rate, its variance 100 E rate + 100^2 Var
    rate.
    """
    values = {f"a{i}": value for i, value in enumerate([3, 8, 5, 4, 9, 12, 0, 1, 7, 7, 4, 2, None])}
    found = dpm.posterior(dpm.Release(values, mechanism=LAW), prior=dpm.Regression(exposure=[100.0] * 13))
    rate, count = found.rates["a12"], found.counts["a12"]
    assert count.mean() == pytest.approx(100 * rate.mean(), rel=1e-6)
    assert count.variance() == pytest.approx(100 * rate.mean() + 1e4 * rate.variance(), rel=1e-5)
    row = found.summary().query("quantity == 'a12' and type == 'count'").iloc[0]
    assert (row["mean"], row["lower"], row["upper"]) == pytest.approx((count.mean(), *count.interval()))
    drawn = found.sample(4000, rng=dpm.stream(7, "unmeasured"))["counts"][:, 12]
    assert abs(drawn.mean() - count.mean()) < 5 * count.sd() / np.sqrt(4000)


def test_quantiles_of_a_rate_with_a_long_tail():
    """Few areas leave a rate without measurement a mixture whose mean is far above nearly all of its probability."""
    release = dpm.Release({"a": 3, "b": 8, "c": 0, "d": None}, mechanism=dpm.DiscreteGaussian(sigma=2.0))
    law = dpm.posterior(release, prior=dpm.Regression(exposure=[100, 200, 50, 10])).rates["d"]
    assert law.mean() > law.quantile(0.99)
    for level in (0.01, 0.5, 0.975):
        assert law.cdf(law.quantile(level)) == pytest.approx(level, rel=1e-6)
