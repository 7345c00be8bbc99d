"""Tests of a tree's estimates by least squares, by a dense inverse, and of contradictions of its released values."""

import numpy as np
import pytest
from reference.tree_enumeration import Enumeration, likelihood, splits
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published.conflict import SMALL
from dpmultinomial._posteriors.trees import conflict
from dpmultinomial._posteriors.trees.least_squares import LeastSquares
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import Leaves, Splits, Tree
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
        (([0, 0], [1.0, 2.0], 0.0), "0 has several exact counts with different values, such as 1 and 2"),
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


PARENT = [-1, 0, 0, 1, 1]
LAWS = {
    "gaussian": {"law": "discrete_gaussian", "sigma": 1.5},
    "laplace": {"law": "discrete_laplace", "scale": 1.2},
    "clipped": {"law": "discrete_laplace", "scale": 1.2, "clipped": {"at": 0}},
    "withheld": {"law": "discrete_laplace", "scale": 1.2, "threshold": 2},
}


def tail(words, released, counts):
    """Return P(value <= released) and P(value >= released) for every count, by sums over all possible values."""
    if np.isnan(released):  # withheld: the smallest that can be seen
        return likelihood(words, released, counts)
    low = 0 if "clipped" in words else words.get("threshold", -60)
    p = np.array([likelihood(words, value, counts) for value in range(low, 60)])
    below = p[: int(released) - low + 1].sum(axis=0) + (
        likelihood(words, np.nan, counts) if "threshold" in words else 0
    )
    return below, p[int(released) - low :].sum(axis=0)


def _prior(counts):
    return splits(PARENT, np.array([1.0, 1.5, 1.5, 0.7, 0.7]), counts, np.ones(5, bool))


@pytest.mark.parametrize("name", LAWS)
def test_p_values_are_those_of_enumeration_without_the_value(name):
    words, tree = LAWS[name], Tree(PARENT)
    values = [12.0, 5.0, 4.0, 3.0, 9.0]
    law = infer(Measurements(tree, np.arange(5), values, words), prior=Splits([1.5, 0.7]))
    for row in range(5):
        measured = [(i, words, values[i]) for i in range(5) if i != row]
        rest = Enumeration(PARENT, 45, _prior, measured, [0] * 5, [np.inf] * 5)
        p = rest.law(row)
        ends = [float(p @ end) for end in tail(words, values[row], np.arange(len(p)))]
        assert conflict.p_value(law, row) == pytest.approx(min(1.0, 2 * min(ends)), rel=1e-6)


def test_p_values_of_large_counts_are_those_of_the_normal_model():
    """Check 2 P(Z > |y - m|/sqrt(s^2 + v)) with the mean m and variance v given the other measurements."""
    y, variance = np.array([2_000_040.0, 1_000_000.0, 1_000_010.0]), np.array([9.0, 16.0, 25.0])
    tree = Tree([-1, 0, 0])
    found = infer(Measurements(tree, [0, 1, 2], y, {"law": "gaussian", "variance": variance}), prior=Splits(1.0))
    expected = 2 * stats.norm.sf(30 / np.sqrt(50))
    for row in range(3):
        assert conflict.p_value(found, row) == pytest.approx(expected, rel=2e-3)
    p, rows = conflict.quick(found)
    assert rows.tolist() == [0, 1, 2]
    np.testing.assert_allclose(p, expected, rtol=2e-3)
    told = conflict.facts(found)
    assert (told["tested"], told["found"], told["counts"]) == (3, True, 3)
    assert told["smallest"] == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("product", "found"), [(0.045, True), (0.055, False)])
def test_p_values_are_multiplied_by_the_number_of_values(product, found):
    """Check a total and its two parts with the variances 9, 16 and 25: the p-value of each is that of the gap."""
    gap = stats.norm.isf(product / 3 / 2) * np.sqrt(50)
    y, variance = np.array([2_000_010.0 + gap, 1_000_000.0, 1_000_010.0]), np.array([9.0, 16.0, 25.0])
    law = infer(
        Measurements(Tree([-1, 0, 0]), [0, 1, 2], y, {"law": "gaussian", "variance": variance}), prior=Splits(1)
    )
    told = conflict.facts(law)
    assert told["smallest"] == pytest.approx(product / 3, rel=2e-3)
    assert told["found"] == found
    assert len(told.get("names", [])) == (3 if found else 0)


@pytest.mark.parametrize("gap", [13, 17])
def test_p_values_are_multiplied_by_the_number_of_all_values(gap):
    """Check ten leaves that are measured twice, with a gap between the values of one leaf only. Under a flat prior, the
    gap is the difference of two noise terms. Only two exact p-values are computed, but 20 values could be tested.
    """
    k = np.arange(-300, 301)
    noise = np.exp(-np.abs(k) / 2)
    difference = np.convolve(noise, noise) / noise.sum() ** 2
    p = 2 * difference[600 + gap :].sum()
    assert (20 * p < SMALL) == (gap == 17)
    assert 2 * p < SMALL
    values = np.full(20, 1000.0)
    values[7] += gap
    leaves, words = np.repeat(np.arange(1, 11), 2), {"law": "discrete_laplace", "scale": 2.0}
    told = conflict.facts(infer(Measurements(Tree([-1] + [0] * 10), leaves, values, words), prior=Leaves("flat")))
    assert told["tested"] == 20
    assert told["smallest"] == pytest.approx(p, rel=1e-6)
    assert told["found"] == (gap == 17)
    assert told.get("counts", 0) == (2 if gap == 17 else 0)


def test_one_contradiction_is_found_by_name_and_shown_first():
    names, parents = ["all", "a", "b", "a1", "a2"], [None, "all", 0, "a", 1]
    noise = dpm.DiscreteGaussian(sigma=2.0)
    wrong = dpm.posterior(dpm.Release([300, 150, 152, 76, 140], mechanism=noise, names=names, parents=parents))
    assert wrong.facts["conflict"]["found"]
    assert {"a", "a1", "a2"} <= set(wrong.facts["conflict"]["names"])  # a = a1 + a2 fails
    assert repr(wrong).splitlines()[1].startswith("CONFLICT: improbable under the stated noise and prior: a")
    assert "<strong>CONFLICT" in wrong._repr_html_()
    sound = dpm.posterior(dpm.Release([300, 150, 152, 76, 73], mechanism=noise, names=names, parents=parents))
    assert not sound.facts["conflict"]["found"]
    assert "CONFLICT" not in repr(sound)


def test_wide_noise_leaves_time_for_one_exact_p_value(monkeypatch):
    """Check that a tree with a large sum of noise standard deviations has one exact p-value, of the largest error."""
    parents, released = [None, 0, 0, 0], [300, 150, 75, 140]
    noise = [dpm.DiscreteGaussian(sigma=sigma) for sigma in (2.0, 3.0, 2.0, 4.0)]
    calls = []
    exact = conflict.p_value
    monkeypatch.setattr(conflict, "p_value", lambda law, row: calls.append(row) or exact(law, row))
    few = dpm.Release(released, mechanism=noise, parents=parents)
    whole = dpm.posterior(few).facts["conflict"]
    assert sorted(calls) == [0, 1, 2, 3]
    calls.clear()
    monkeypatch.setattr(conflict, "_WIDTH", 11.1)  # the sum of the standard deviations is 11
    assert dpm.posterior(few).facts["conflict"]["smallest"] == pytest.approx(whole["smallest"], rel=1e-9)
    assert len(calls) == 1


def test_a_value_that_nothing_else_speaks_of_is_never_in_conflict():
    alone = infer(Measurements(Tree([-1, 0]), [1], [50.0], {"law": "gaussian", "sd": 2.0}), prior=Splits(1.0))
    assert conflict.p_value(alone, 0) == 1.0
    mixed = [law_of({"law": "exact"}), law_of({"law": "discrete_gaussian", "sigma": 1.0})]
    exact = infer(Measurements(Tree([-1, 0, 0]), [0, 1], [50.0, 20.0], mixed), prior=Splits(1.0))
    assert conflict.facts(exact)["tested"] == 1


@pytest.mark.thorough
@pytest.mark.parametrize("prior", ["splits", "leaves"])
def test_sound_releases_raise_few_alarms(prior):
    """Check 60 trees per distribution; a rate of 5 % gives at most 27 false alarms in 240 with probability 1 - 2e-4."""
    alarms = 0
    for name, words in LAWS.items():
        rng, law = stream(3, "alarms", name, prior), law_of(words)
        for _ in range(60):
            tree = Tree([-1, 0, 0, 1, 1, 2, 2, 2])
            truth = np.zeros(len(tree), dtype=np.int64)
            if prior == "splits":
                truth[0] = rng.integers(20, 200)
                for v in range(3):
                    children = np.flatnonzero(tree.parent == v)
                    truth[children] = rng.multinomial(truth[v], rng.dirichlet(np.full(len(children), 0.8)))
                assumed = Splits(0.8)
            else:
                truth = tree.sums(np.where(tree.leaf, rng.geometric(1 / 9, len(tree)) - 1, 0))
                assumed = Leaves({"law": "geometric", "mean": 8.0})
            values = np.asarray(law.sample(truth, rng=rng), dtype=float)
            alarms += conflict.facts(infer(Measurements(tree, np.arange(8), values, words), prior=assumed))["found"]
    assert alarms <= 27


def chances(law, row, shift):
    """Return the predictive probabilities of integer values of one measurement given all others, in an array whose rows
    are the values that it has without an error, with +shift, and with -shift.
    """
    m = law.measurements
    others = np.delete(np.arange(len(m.released)), row)
    count = infer(Measurements(law.tree, m.nodes[others], m.released[others], m.noise.take(others)), prior=law.prior)
    noise, of = m.noise.take(np.array([row])), count.law(int(m.nodes[row]))
    grid = np.arange(m.released[row] - 260, m.released[row] + 261)
    p = np.exp(noise.log_density(grid[:, None] - of.values, noise.by_row(grid[:, None]))) @ of.probabilities
    assert p.sum() == pytest.approx(1, abs=1e-9)
    return grid[shift:-shift], np.stack([p[shift:-shift], p[: -2 * shift], p[2 * shift :]])


def most_powerful(sound, wrong, size):
    """Return the power of the (randomised) likelihood ratio test of two distributions, given its size."""
    order = np.argsort(-wrong / np.maximum(sound, 1e-300), kind="stable")
    return np.interp(size, np.append(0.0, np.cumsum(sound[order])), np.append(0.0, np.cumsum(wrong[order])))


def test_the_power_is_close_to_the_bound_of_neyman_and_pearson():
    """Check the test of one value against the most powerful tests of the same size, which know the node and the error.

    In each of twenty trees of 20 counts, one count has an error of plus or minus six standard deviations of the noise.
    By the lemma of Neyman and Pearson, the most powerful test uses the likelihood ratio of this value given all others.
    If the sign is unknown, the ratio is that of the mean of both errors, and the test of the library must lose less
    than 0.03 (it is not randomised, so its size is smaller). If the sign is known, the test may lose 0.1.
    """
    rng, noise, shift = stream(36, "power"), law_of({"law": "discrete_gaussian", "sigma": 5.0}), 30
    tree = Tree([-1, *[0] * 6, *np.repeat(np.arange(1, 7), [2, 2, 2, 2, 2, 3])])
    size, own, signless, signed, easy = SMALL / len(tree), [], [], [], []
    for i in range(len(tree)):
        truth = np.zeros(len(tree), dtype=np.int64)
        truth[0] = rng.integers(500, 3000)
        for v in range(7):
            children = np.flatnonzero(tree.parent == v)
            truth[children] = rng.multinomial(truth[v], rng.dirichlet(np.full(len(children), 1.5)))
        values = noise.sample(truth, rng=rng).astype(float)
        law = infer(Measurements(tree, np.arange(len(tree)), values, noise), prior=Splits(1.5))
        grid, (sound, above, below) = chances(law, i, shift)
        two_sided = 2 * np.minimum(np.cumsum(sound), np.cumsum(sound[::-1])[::-1])
        place = np.flatnonzero(grid == values[i])[0]
        assert conflict.p_value(law, i) == pytest.approx(min(1.0, two_sided[place]), rel=1e-6)
        own.append((above + below)[two_sided < size].sum() / 2)
        signless.append(most_powerful(sound, (above + below) / 2, size))
        signed += [most_powerful(sound, wrong, size) for wrong in (above, below)]
        easy += [most_powerful(sound, wrong, SMALL) for wrong in (above, below)]
    assert 0.6 < np.mean(own) < 0.8
    assert np.mean(signless) - 0.03 < np.mean(own) <= np.mean(signless)
    assert np.mean(own) < np.mean(signed) < np.mean(own) + 0.1
    assert np.mean(easy) > 0.93  # at the size 0.05, if the node and the sign are known
