"""Test the baseline of Bernstein and Sheldon: the agreement of the kernel with the reference implementation, the
distributions of the draws, and the rejection of invalid input.
"""

import numpy as np
import pytest
from reference import censored_gibbs as reference

from dpmultinomial._seeding import stream
from reproduction.papers.raim2021.algorithms import baseline_gibbs, bernstein_sheldon
from reproduction.papers.raim2021.algorithms.censored_normal import VAGUE

RELEASE, SLIDES = (-21.27, 778.56, 23.0, 27.0), {"n": 1000, "lower": -2.0, "upper": 2.0, "scale": 8.494}


@pytest.mark.parametrize(("n", "z", "scale"), [
    (1000, (0.1, 250.0, 23.0, 150.0), 4.0),
    (1000, (-0.4, 120.0, 300.0, 2.0), (0.01, 0.1, 0.5, 0.5)),  # little noise, few records above the limits
    (5, (0.0, 1.0, 1.0, 0.0), 1.0),
    (60, (3.0, -40.0, 90.0, -20.0), 20.0),  # outside the range of the statistics
    (60, (1.2, 70.0, 5.0, -3.0), 1e-3),  # the same, without noise that could explain the values
    (60, (-1.2, -3.0, 30.0, 45.0), 1e-3),
])  # fmt: skip
def test_the_baseline_equals_its_reference(n, z, scale):
    """Check that three chains from different starting points are equal to the chains of the reference implementation.
    This implementation computes matrix inverses and square roots with LAPACK.
    """
    start = np.array(
        [[0.0, 0.25, 0.0, 0.2 * n, 1.0, 1.0], [-1.5, 1.0, 0.3, 0.1 * n, 2.0, 0.0], [0.9, 0.04, 0.5, 1.0, 0.0, 1.0]]
    )
    setting = (np.array(z), n, np.full(4, scale), (0.2, 4.0, 1.5, 0.3), start)
    size = {"draws": 40, "burn_in": 2}
    ours = baseline_gibbs.gibbs(*setting, **size, rng=stream(11, "baseline"))
    theirs = reference.gibbs(*setting, **size, rng=stream(11, "baseline"))
    assert ours.shape == (3, 40, 2)
    assert np.allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("changes", "match"), [
    ({"release": (0.0, 1.0, 2.0)}, "release must have 4 entries, got 3"),
    ({"n": 3}, "n must be >= 4, got 3"),
    ({"scales": (1.0, 0.0, 1.0, 1.0)}, "scales must be finite and > 0"),
    ({"prior": (0.0, 0.0, 1.0, 1.0)}, "prior must have the form"),
    ({"start": np.zeros((2, 5))}, r"start must have shape \(any, 6\), got shape \(2, 5\)"),
    ({"start": np.zeros((2, 6))}, "start must have at least one row and only sigma2 > 0"),
    ({"start": np.empty((0, 6))}, "start must have at least one row"),
    ({"draws": -1}, "draws must be >= 0, got -1"),
    ({"rng": 1}, "Generator"),
])  # fmt: skip
def test_bad_input_of_the_baseline_is_named(changes, match):
    good = {
        "release": (0.0, 9.0, 2.0, 2.0),
        "n": 30,
        "scales": 1.0,
        "prior": (0.0, 4.0, 1.0, 1.0),
        "start": np.ones((2, 6)),
    }
    good |= {"draws": 3, "burn_in": 0, "rng": stream(12, "bad")}
    with pytest.raises((ValueError, TypeError), match=match):
        baseline_gibbs.gibbs(**(good | changes))


def test_a_normal_law_without_covariance_is_said():
    """Check that an error is raised if the covariance of the statistics cannot be computed, which is the case at sigma2
    = 1e-320.
    """
    start = np.array([[0.0, 1e-320, 0.0, 1.0, 0.0, 0.0]])
    with pytest.raises(np.linalg.LinAlgError, match="the covariance of the statistics is not positive definite"):
        baseline_gibbs.statistics((0.0, 1.0, 2.0, 2.0), 30, 1.0, start, rng=stream(13, "none"))


def test_bernstein_sheldon_is_near_where_its_normal_laws_are():
    """Check the posterior means and standard deviations of the Bernstein-Sheldon sampler with symmetric limits and n =
    1,000. The means are within 0.03 of the exact posterior means, and the standard deviations are within 15 %.
    """
    found = bernstein_sheldon.gibbs(
        RELEASE, **SLIDES, draws=1500, burn_in=200, prior=VAGUE, chains=8, rng=stream(9, "baseline")
    )
    assert found.shape == (8, 1500, 2)
    assert found.mean(axis=(0, 1)) == pytest.approx([0.030, 1.108], abs=0.03)
    assert found.std(axis=(0, 1)) == pytest.approx([0.120, 0.092], rel=0.15)


def test_scale_mixture_of_the_baseline_is_laplace_noise():
    """Check that the simulated noise has a Laplace distribution if the true statistics s vary much more than the noise.
    The noise is z - s for noisy statistics z, and the parameters theta are fixed.

    The mean absolute noise over 4,000 draws is within 5 % of the scale: 4 standard errors for a dependence over two
    steps.
    """
    rng, z = stream(10, "mixture"), np.array([0.0, 300.0, 250.0, 250.0])
    scale, s = np.array([1e-4, 0.01, 0.02, 0.02]), np.tile(z, (400, 1))
    found = []
    for t in range(40):
        start = np.column_stack([np.zeros(400), np.full(400, 2.0), s])
        s = baseline_gibbs.statistics(z, 1000, scale, start, rng=rng)
        if t >= 10:
            found.append(np.abs(s - z).mean(axis=0))
    assert np.mean(found, axis=0) == pytest.approx(scale, rel=0.05)
