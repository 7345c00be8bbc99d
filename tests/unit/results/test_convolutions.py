"""Convolutions by tilted transforms, compared with sums term by term in extended precision."""

import numpy as np
import pytest

from dpmultinomial._results import convolutions
from dpmultinomial._results.convolutions import convolved
from dpmultinomial._results.joint import _correlated
from dpmultinomial._seeding import stream


def laplace(size, scale, centre, power=0.0):
    return np.exp(-abs(np.arange(size) - centre) / scale) * (np.arange(size) + 1.0) ** power


def gaussian(size, sd, centre):
    return np.exp(-0.5 * ((np.arange(size) - centre) / sd) ** 2)


PAIRS = {
    "laplace": (laplace(1500, 20, 700), laplace(1200, 9, 300)),
    "prior": (laplace(1500, 20, -400, -0.5), laplace(1200, 9, 300)),
    "gaussian": (gaussian(1500, 40, 700), gaussian(1200, 25, 300)),
    "mixed": (laplace(1500, 20, 700), gaussian(1200, 25, 300)),
    "flat": (np.ones(1500), np.ones(1499)),
    "steep": (laplace(1500, 3, 0), laplace(1200, 20, 1199)),
    "small": (1e-200 * laplace(1500, 20, 700), 1e-90 * gaussian(1200, 25, 300)),
    "two modes": (gaussian(1500, 20, 200) + 1e-12 * gaussian(1500, 20, 1400), laplace(900, 9, 300)),
    "a gap": (np.where(abs(np.arange(1500) - 750) < 300, 0.0, laplace(1500, 20, 750)), gaussian(400, 20, 150)),
    "rough": (stream(1, "rough").random(1500) ** 60, stream(2, "rough").random(900)),
    "one far weight": (np.r_[1.0, np.zeros(1200), 1e-30], gaussian(900, 30, 300)),
}


@pytest.mark.parametrize("smallest", [1e-40, 1e-250])
@pytest.mark.parametrize("name", PAIRS)
def test_every_entry_has_small_relative_error(name, smallest):
    a, b = PAIRS[name]
    wanted = np.convolve(a.astype(np.longdouble), b.astype(np.longdouble))
    found = convolved(a, b, smallest=smallest, direct=0)
    large = (wanted > smallest * wanted.max()) & (wanted > 1e-300)
    assert np.abs(found[large] / wanted[large] - 1).max() < 1e-11
    assert (found[~large] <= 1.001 * max(float(smallest * wanted.max()), 1e-300)).all()


@pytest.mark.parametrize("name", ["laplace", "prior", "gaussian", "mixed", "flat", "steep"])
def test_likelihoods_of_noise_are_not_summed_term_by_term(name, monkeypatch):
    """A few tilts cover all entries of such weights; the sum term by term is only for other shapes."""
    monkeypatch.setattr(convolutions.np, "convolve", None)
    assert convolved(*PAIRS[name], smallest=1e-100, direct=0).max() > 0


@pytest.mark.parametrize("low", [0, 40, 700, 1050])
def test_messages_have_small_relative_error_wherever_the_tie_is(low, monkeypatch):
    """The sums that are needed may be far below the largest sum."""
    monkeypatch.setattr(convolutions, "DIRECT", 0)
    weights, size = laplace(600, 9, 300), 500
    along = np.zeros(size + len(weights) - 1)
    along[low : low + 80] = gaussian(80, 2.0, 30)[: max(len(along) - low, 0)]
    wanted = np.convolve(along.astype(np.longdouble), weights[::-1].astype(np.longdouble), mode="valid")
    found = _correlated(along, weights, size)
    large = wanted > 1e-40 * wanted.max()
    assert found[large] == pytest.approx(wanted[large].astype(float), rel=1e-11, abs=0)
