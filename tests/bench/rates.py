"""Benchmark of regressions of rates on three covariates: fit and all intervals, and the kernel alone."""

import numpy as np
from measuring import limited

import dpmultinomial as dpm
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.rates.likelihoods import likelihoods_of
from dpmultinomial._posteriors.rates.model import Model, Prior

CASES = ((3143, 8.0, 5.0, 1.0), (3143, 3000.0, 300.0, 12.0), (100_000, 8.0, 5.0, 10.0))


def data(n, median, sigma):
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


def benchmarks():
    for n, median, sigma, limit in CASES:
        found = data(n, median, sigma)
        what = f"{n:,} areas, {median:g} expected events, noise of {sigma:g}: fit and intervals"
        yield limited(what, lambda found=found: answered(*found), limit)
    law, released, exposure, x = data(3143, 8.0, 5.0)
    design = np.column_stack([np.ones(3143), x])
    table = likelihoods_of(cells_of(released, law))
    zeros = np.zeros((3143, 1))
    model = Model(table, exposure[:, None], zeros, design, Prior(np.log(4), 2.0, 10.0), shares=False)
    at = np.array([1.8, 0.0, 0.3, -0.2, 0.1])
    yield limited("3,143 areas: log posterior, gradient and Hessian once", lambda: model.objective(at), 0.01)
