"""Check the mode of a regression of exact counts with flat priors against statsmodels' negative binomial regression."""

import numpy as np
import pytest

import dpmultinomial as dpm
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.rates.likelihoods import likelihoods_of
from dpmultinomial._posteriors.rates.model import Model, Prior

discrete = pytest.importorskip("statsmodels.discrete.discrete_model")


@pytest.mark.filterwarnings("ignore")
def test_mode_standard_errors_and_log_likelihood():
    rng = dpm.stream(1, "statsmodels")
    x, exposure = rng.normal(size=120), np.exp(rng.normal(2.0, 0.8, 120))
    counts = rng.poisson(rng.gamma(3.0, np.exp(0.4 * x) / 3.0) * exposure)
    design = np.column_stack([np.ones(120), x])
    table = likelihoods_of(cells_of(counts.astype(float), dpm.Exact()))
    flat = Prior(0.0, np.inf, np.inf)
    model = Model(table, exposure[:, None], np.zeros((120, 1)), design, flat, shares=False)
    fit = model.fit(np.r_[1.0, np.log(counts.sum() / exposure.sum()), 0.0], gain=1e-18)
    theirs = discrete.NegativeBinomial(counts, design, loglike_method="nb2", exposure=exposure)
    found = theirs.fit(disp=0, method="newton", maxiter=200, tol=1e-14)
    assert fit.parameters[0] == pytest.approx(-np.log(found.params[2]), abs=1e-7)
    assert fit.parameters[1:] == pytest.approx(found.params[:2], abs=1e-7)
    assert fit.value == pytest.approx(found.llf, abs=1e-9)
    assert np.sqrt(np.diag(fit.covariance))[1:] == pytest.approx(found.bse[:2], rel=1e-5)
