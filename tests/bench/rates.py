"""Benchmark of confidence intervals, tests of two rates and composed privacy losses; and of regressions of rates on
three covariates: fit and all intervals, and the kernel alone.
"""

import math

import numpy as np
from measuring import limited

import dpmultinomial as dpm
from dpmultinomial._accounting.loss_composition import epsilon
from dpmultinomial._accounting.privacy_loss import DiscreteGaussianLoss, DiscreteLaplaceLoss, LaplaceLoss
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.rates.likelihoods import likelihoods_of
from dpmultinomial._posteriors.rates.model import Model, Prior

SMALL, LARGE = {"a": 12, "b": 48}, {"a": 600, "b": 2400}
_CELLS = dpm.Release({"a": 5, "b": 15}, mechanism=dpm.DiscreteLaplace(scale=2.0))
CASES = ((3143, 8.0, 5.0, 1.0), (3143, 3000.0, 300.0, 6.0), (100_000, 8.0, 5.0, 10.0))


def benchmarks():
    yield from of_confidence()
    yield from of_regressions()


def summarised(values, mechanism):
    """All intervals of counts."""
    return dpm.confidence(dpm.Release(values, mechanism=mechanism)).summary()


def rate_interval(values):
    """Interval of a rate without a public total."""
    return dpm.confidence(dpm.Release(values, mechanism=dpm.DiscreteGaussian(sigma=4.0))).rates["a"].interval()


def of_confidence():
    rng = np.random.default_rng(1)
    many, sigmas = rng.integers(0, 200, 100_000), rng.uniform(2, 9, 1000)
    law = dpm.DiscreteGaussian(sigma=5.0)
    yield limited("100,000 counts with one distribution: all intervals", lambda: summarised(many, law), 1.0)
    by_row = dpm.DiscreteGaussian(sigma=sigmas)
    yield limited("1,000 counts with different sigmas: all intervals", lambda: summarised(many[:1000], by_row), 1.35)
    for values, limit in ((SMALL, 0.5), (LARGE, 8.0)):
        what = f"rate without a public total, about {sum(values.values()):,} records: one interval"
        yield limited(what, lambda values=values: rate_interval(values), limit)
    found = dpm.confidence(_CELLS)
    yield limited("two samples of 50: test", lambda: found.test("a = b", sizes=[50, 50]), 0.02)
    yield limited("two samples of 200: test", lambda: found.test("a = b", sizes=[200, 200]), 0.05)
    difference, ratio = {"difference": ["a", "b"], "sizes": [50, 50]}, {"ratio": ["a", "b"], "exposures": [1.0, 2.0]}
    yield limited("two samples of 50: interval of the difference", lambda: found.ask(difference), 0.25)
    yield limited("two Poisson counts: interval of the ratio", lambda: found.ask(ratio), 0.8)
    equal = {DiscreteGaussianLoss(math.sqrt(88 / 5.112), 1): 88}
    mixed = {DiscreteGaussianLoss(10.0, 1): 10, DiscreteLaplaceLoss(5.0, 1): 5, LaplaceLoss(4.0, 1.0): 2}
    yield limited("88 equal discrete Gaussian releases: epsilon", lambda: epsilon(equal, 1e-10), 0.05)
    yield limited("17 releases of three kinds: epsilon", lambda: epsilon(mixed, 1e-9), 0.1)


def areas(n, median, sigma):
    """Released values, exposures and covariates of n areas with log-normal exposures."""
    rng, law = dpm.stream(1, "bench", "rates", str(n)), dpm.DiscreteGaussian(sigma=sigma)
    x = rng.normal(size=(n, 3))
    exposure = np.exp(rng.normal(np.log(median), 0.8, n))
    theta = rng.gamma(6.25, np.exp(x @ [0.3, -0.2, 0.1]) / 6.25)
    return law, np.asarray(law.sample(rng.poisson(theta * exposure), rng=rng), dtype=float), exposure, x


def answered(law, released, exposure, x):
    """All intervals of the rates, hyperparameters integrated."""
    prior = dpm.Regression(exposure, dict(zip("abc", x.T, strict=True)))
    return dpm.posterior(dpm.Release(released, mechanism=law), prior=prior).rates.numbers()


def of_regressions():
    for n, median, sigma, limit in CASES:
        found = areas(n, median, sigma)
        what = f"{n:,} areas, {median:g} expected events, noise of {sigma:g}: fit and intervals"
        yield limited(what, lambda found=found: answered(*found), limit)
    law, released, exposure, x = areas(3143, 8.0, 5.0)
    design = np.column_stack([np.ones(3143), x])
    table = likelihoods_of(cells_of(released, law))
    zeros = np.zeros((3143, 1))
    model = Model(table, exposure[:, None], zeros, design, Prior(np.log(4), 2.0, 10.0), shares=False)
    at = np.array([1.8, 0.0, 0.3, -0.2, 0.1])
    yield limited("3,143 areas: log posterior, gradient and Hessian once", lambda: model.objective(at), 0.01)
