"""Check regressions of protected counts against NumPyro and statsmodels.

These packages are not in the environment of the tests: each has an interpreter of its own, made in build/peers.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpmultinomial as dpm
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.rates.likelihoods import likelihoods_of
from dpmultinomial._posteriors.rates.model import Model, Prior

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/likelihoods.md"
NUMPYRO = """
import json, sys
import jax, numpy as np, numpyro
import jax.numpy as jnp
import numpyro.distributions as dist
from jax.scipy.special import logsumexp
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS
{model}
data = np.load(sys.argv[1])
chains = MCMC(NUTS(model), num_warmup=1000, num_samples=3000, num_chains=2, progress_bar=False,
              chain_method="sequential")
chains.run(jax.random.PRNGKey(1), *(jnp.asarray(data[name]) for name in ("d", "L", "E", "X")))
found = chains.get_samples(group_by_chain=True)
draws = np.concatenate([np.asarray(found["log_a"])[..., None], np.asarray(found["b"])], axis=2)
sizes = [float(effective_sample_size(draws[..., i])) for i in range(draws.shape[2])]
print(json.dumps({{"mean": draws.mean((0, 1)).tolist(), "sd": draws.std((0, 1)).tolist(), "size": sizes}}))
"""
STATSMODELS = """
import json, sys, warnings
import numpy as np
from statsmodels.discrete.discrete_model import NegativeBinomial
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
model = NegativeBinomial(data["counts"], data["design"], loglike_method="nb2", exposure=data["exposure"])
found = model.fit(disp=0, method="newton", maxiter=200, tol=1e-14)
print(json.dumps({"params": found.params.tolist(), "bse": found.bse.tolist(), "llf": float(found.llf)}))
"""


def interpreter(name, requirement):
    """Return the path of a Python interpreter that has a package, from PyPI; skip the test if it cannot be installed.

    Parameters
    ----------
    name : name of the package. The variable NAME_PYTHON may name an interpreter that has it; otherwise one is made in
        build/peers.
    requirement : version to install, such as ``numpyro==0.22.0``.
    """
    if stated := os.environ.get(f"{name.upper()}_PYTHON"):
        return stated
    folder = ROOT / "build/peers" / name
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        steps = [[sys.executable, "-m", "venv", "--clear", folder], [python, "-m", "pip", "install", "-q", requirement]]
        for step in steps:
            if subprocess.run(step, capture_output=True, check=False).returncode:
                pytest.skip(f"needs {requirement} from PyPI, or {name.upper()}_PYTHON")
        (folder / "complete").touch()
    return str(python)


def run(python, script, *arguments):
    """Run a script in an interpreter, without the paths of the test run, and return its output."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run([python, "-c", script, *map(str, arguments)], capture_output=True, text=True, env=clean,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.thorough
def test_the_how_to_in_numpyro_has_our_posterior(tmp_path):
    """Run the code of the page on 100 areas with noise: means within four Monte Carlo errors, sds within 6 %.

    The standard deviation of an estimated sd is about 1/sqrt(2 x 2000) = 1.6 % for an effective size of 2000.
    """
    text = PAGE.read_text(encoding="utf-8")
    model = re.search(r"```(?:python)?\n(# NumPyro.*?)```", text, re.DOTALL)[1]
    rng = dpm.stream(1, "numpyro")
    x = rng.normal(size=100)
    x = (x - x.mean()) / x.std()
    exposure = np.exp(rng.normal(2.5, 0.7, 100))
    law = dpm.DiscreteGaussian(sigma=3.0)
    released = law.sample(rng.poisson(rng.gamma(4.0, np.exp(0.3 * x) / 4.0) * exposure), rng=rng)
    release = dpm.Release(released, mechanism=law)
    table = release.likelihood()
    data = {"d": table.counts, "L": table.log, "E": exposure, "X": np.column_stack([np.ones(100), x])}
    np.savez(tmp_path / "data.npz", **data)
    python = interpreter("numpyro", "numpyro==0.22.0")
    x64 = "jax.config.update('jax_enable_x64', True)"
    theirs = json.loads(run(python, NUMPYRO.format(model=f"{x64}\n{model}"), tmp_path / "data.npz"))
    ours = dpm.posterior(release, prior=dpm.Regression(exposure=exposure, covariates={"x": x})).parameters
    assert min(theirs["size"]) > 1000
    for i, name in enumerate(("log shape", "intercept", "slope of x")):
        error = theirs["sd"][i] / np.sqrt(theirs["size"][i])
        assert ours[name].mean() == pytest.approx(theirs["mean"][i], abs=4 * error), name
        assert ours[name].sd() == pytest.approx(theirs["sd"][i], rel=0.06), name


@pytest.mark.thorough
def test_statsmodels_has_the_mode_standard_errors_and_log_likelihood(tmp_path):
    """Check the mode of a regression of exact counts with flat priors."""
    rng = dpm.stream(1, "statsmodels")
    x, exposure = rng.normal(size=120), np.exp(rng.normal(2.0, 0.8, 120))
    counts = rng.poisson(rng.gamma(3.0, np.exp(0.4 * x) / 3.0) * exposure)
    design = np.column_stack([np.ones(120), x])
    table = likelihoods_of(cells_of(counts.astype(float), dpm.Exact()))
    flat = Prior(0.0, np.inf, np.inf)
    model = Model(table, exposure[:, None], np.zeros((120, 1)), design, flat, shares=False)
    fit = model.fit(np.r_[1.0, np.log(counts.sum() / exposure.sum()), 0.0], gain=1e-18)
    np.savez(tmp_path / "data.npz", counts=counts, design=design, exposure=exposure)
    python = interpreter("statsmodels", "statsmodels>=0.14")
    theirs = json.loads(run(python, STATSMODELS, tmp_path / "data.npz"))
    assert fit.parameters[0] == pytest.approx(-np.log(theirs["params"][2]), abs=1e-7)
    assert fit.parameters[1:] == pytest.approx(theirs["params"][:2], abs=1e-7)
    assert fit.value == pytest.approx(theirs["llf"], abs=1e-9)
    assert np.sqrt(np.diag(fit.covariance))[1:] == pytest.approx(theirs["bse"][:2], rel=1e-5)


def test_the_page_has_the_code_that_is_run():
    assert len(re.findall(r"```(?:python)?\n(# NumPyro.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)) == 1
