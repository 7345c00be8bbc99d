"""Tests of least squares on a tree in two passes: estimates and covariances of all pairs by a dense inverse."""

import numpy as np
import pytest

from dpmultinomial._posteriors.trees.least_squares import LeastSquares
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import Splits, Tree
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._seeding import stream


def random_tree(seed):
    rng = stream(seed, "least squares")
    size = int(rng.integers(2, 30))
    tree = Tree([-1] + [int(rng.integers(max(0, i - 6), i)) for i in range(1, size)])
    times = rng.choice([0, 1, 3], size=size, p=[0.3, 0.5, 0.2])
    times[tree.leaf] = np.maximum(times[tree.leaf], 1)
    nodes = np.repeat(np.arange(size), times)
    return tree, nodes, rng.normal(50, 20, len(nodes)), rng.uniform(0.2, 40, len(nodes)), rng


def dense(tree, nodes, released, variance, exact=()):
    """Return estimates and covariances of all nodes by normal equations, exact counts by Lagrange multipliers."""
    leaves = np.flatnonzero(tree.leaf)
    adding = np.zeros((len(tree), len(leaves)))
    for k, leaf in enumerate(leaves):
        adding[tree.path(int(leaf)), k] = 1
    x = adding[nodes]
    weights = x.T / variance
    k, fixed = len(leaves), adding[[node for node, _ in exact]]
    both = np.block([[weights @ x, fixed.T], [fixed, np.zeros((len(exact), len(exact)))]])
    inverse = np.linalg.pinv(both, rcond=1e-13) if len(exact) else np.linalg.inv(both)
    leaf = inverse @ np.concatenate([weights @ released, [value for _, value in exact]])
    return adding @ leaf[:k], adding @ inverse[:k, :k] @ adding.T


@pytest.mark.parametrize("seed", range(25))
def test_estimates_and_all_covariances_are_those_of_a_dense_inverse(seed):
    tree, nodes, released, variance, _ = random_tree(seed)
    found = LeastSquares(tree, nodes, released, variance)
    estimate, covariance = dense(tree, nodes, released, variance)
    np.testing.assert_allclose(found.estimate, estimate, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(found.sd**2, np.diag(covariance), rtol=1e-12)
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    for a in range(len(tree)):
        for b in range(len(tree)):
            assert found.covariance(a, b) == pytest.approx(covariance[a, b], abs=1e-12 * size[a, b])
    value, sd = found.difference(0, len(tree) - 1)
    assert value == pytest.approx(estimate[0] - estimate[-1], abs=1e-10)
    spread = covariance[0, 0] + covariance[-1, -1] - 2 * covariance[0, -1]
    assert sd == pytest.approx(np.sqrt(spread), abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_exact_counts_are_met_and_share_what_they_fix(seed):
    tree, nodes, released, variance, _ = random_tree(100 + seed)
    inner = int(np.flatnonzero(~tree.leaf)[-1])
    given = np.append(nodes, inner), np.append(released, 77.0), np.append(variance, 0.0)
    found = LeastSquares(tree, *given)
    estimate, covariance = dense(tree, nodes, released, variance, [(inner, 77.0)])
    assert found.estimate[inner] == 77.0
    assert found.sd[inner] == 0.0
    np.testing.assert_allclose(found.estimate, estimate, rtol=1e-9, atol=1e-8)
    for a in range(len(tree)):
        for b in range(len(tree)):
            assert found.covariance(a, b) == pytest.approx(covariance[a, b], abs=1e-8)


def test_what_is_not_determined_is_said_so_and_what_is_by_difference_is_found():
    tree = Tree([-1, 0, 0, 0])
    found = LeastSquares(tree, [0, 1], [10.0, 4.0], [2.0, 3.0])
    assert np.isnan(found.estimate[[2, 3]]).all()
    assert np.isinf(found.sd[[2, 3]]).all()
    assert np.isnan(found.covariance(2, 1))
    found = LeastSquares(tree, [0, 1, 2], [10.0, 4.0, 1.0], [2.0, 3.0, 5.0])
    assert found.estimate[3] == 5.0
    assert found.sd[3] ** 2 == pytest.approx(10.0, rel=1e-14)
    assert found.covariance(1, 3) == pytest.approx(-3.0, rel=1e-14)
    assert found.covariance(1, 2) == 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0, 0], [1.0, 2.0], 0.0), "0 has several exact counts with different values"),
        (([0], [1.0], -1.0), "variance must be >= 0, got -1"),
        (([0], [1.0, 2.0], 1.0), r"one node per measurement \(2 measurements\), got 1"),
    ],
)
def test_measurements_that_make_no_sense_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        LeastSquares(Tree([-1, 0]), *given)


def test_posterior_of_large_counts_is_least_squares():
    """Check that far from 0, with flat splits, the posterior is normal as in least squares, up to the prior's slope."""
    rng = stream(3, "large")
    tree = Tree([-1, 0, 0, 1, 1, 2, 2, 2])
    truth = tree.sums(np.where(tree.leaf, 1_000_000, 0))
    y = np.round(truth + rng.normal(0, 8, len(tree)))
    found = infer(Measurements(tree, np.arange(8), y, {"law": "discrete_gaussian", "sigma": 8.0}), prior=Splits(1.0))
    np.testing.assert_allclose(found.mean, found.least_squares.estimate, atol=2e-3)
    np.testing.assert_allclose(found.sd, found.least_squares.sd, rtol=1e-3)
