"""Benchmark of confidence intervals, tests of two rates, and composed privacy losses."""

import math

import numpy as np
from measuring import limited

import dpmultinomial as dpm
from dpmultinomial._accounting.loss_composition import epsilon
from dpmultinomial._accounting.privacy_loss import DiscreteGaussianLoss, DiscreteLaplaceLoss, LaplaceLoss

SMALL, LARGE = {"a": 12, "b": 48}, {"a": 600, "b": 2400}
_CELLS = dpm.Release({"a": 5, "b": 15}, mechanism=dpm.DiscreteLaplace(scale=2.0))


def summarised(values, mechanism):
    """All intervals of counts."""
    return dpm.confidence(dpm.Release(values, mechanism=mechanism)).summary()


def rate(values):
    """Interval of a rate without a public total."""
    return dpm.confidence(dpm.Release(values, mechanism=dpm.DiscreteGaussian(sigma=4.0))).rates["a"].interval()


def benchmarks():
    rng = np.random.default_rng(1)
    many, sigmas = rng.integers(0, 200, 100_000), rng.uniform(2, 9, 1000)
    law = dpm.DiscreteGaussian(sigma=5.0)
    yield limited("100,000 counts with one distribution: all intervals", lambda: summarised(many, law), 1.0)
    by_row = dpm.DiscreteGaussian(sigma=sigmas)
    yield limited("1,000 counts with different sigmas: all intervals", lambda: summarised(many[:1000], by_row), 1.35)
    for values, limit in ((SMALL, 0.5), (LARGE, 8.0)):
        what = f"rate without a public total, about {sum(values.values()):,} records: one interval"
        yield limited(what, lambda values=values: rate(values), limit)
    yield limited("two samples of 50: test", lambda: dpm.confidence(_CELLS).test("a = b", sizes=[50, 50]), 0.5)
    equal = {DiscreteGaussianLoss(math.sqrt(88 / 5.112), 1): 88}
    mixed = {DiscreteGaussianLoss(10.0, 1): 10, DiscreteLaplaceLoss(5.0, 1): 5, LaplaceLoss(4.0, 1.0): 2}
    yield limited("88 equal discrete Gaussian releases: epsilon", lambda: epsilon(equal, 1e-10), 0.2)
    yield limited("17 releases of three kinds: epsilon", lambda: epsilon(mixed, 1e-9), 1.0)
