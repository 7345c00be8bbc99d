"""Tests of a tree's estimates by least squares, by a dense inverse, and of contradictions of its released values."""

import numpy as np
import pytest
from reference.tree_enumeration import Enumeration, likelihood, splits
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.noise_law import LawByRow
from dpmultinomial._posteriors.published.conflict import SMALL
from dpmultinomial._posteriors.trees import conflict, measurements, tree_posterior
from dpmultinomial._posteriors.trees.least_squares import LeastSquares
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import NONE, Histogram, Leaves, Splits, Tree
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


@pytest.mark.parametrize("unmeasured", [[], [1, 1, 2, 2]], ids=["all measured", "four nodes not measured"])
@pytest.mark.parametrize(("product", "found"), [(0.045, True), (0.055, False)])
def test_p_values_are_multiplied_by_the_number_of_values(product, found, unmeasured):
    """Check a total and its two parts with the variances 9, 16 and 25: the p-value of each is that of the gap. Nodes
    below the parts that were not measured are not tested.
    """
    gap = stats.norm.isf(product / 3 / 2) * np.sqrt(50)
    y, variance = np.array([20_010.0 + gap, 10_000.0, 10_010.0]), np.array([9.0, 16.0, 25.0])
    tree = Tree([-1, 0, 0, *unmeasured])
    law = infer(Measurements(tree, [0, 1, 2], y, {"law": "gaussian", "variance": variance}), prior=Splits(1))
    told = conflict.facts(law)
    assert told["tested"] == 3
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
    """Check that a tree with a large sum of noise standard deviations has one exact p-value, of the value with the
    smallest approximation.
    """
    parents, released = [None, 0, 0, 0], [300, 150, 75, 140]
    noise = [dpm.DiscreteGaussian(sigma=sigma) for sigma in (2.0, 3.0, 2.0, 4.0)]
    calls = []
    exact = conflict.p_value
    monkeypatch.setattr(conflict, "p_value", lambda law, row: calls.append(row) or exact(law, row))
    few = dpm.Release(released, mechanism=noise, parents=parents)
    whole = dpm.posterior(few)
    assert sorted(calls) == [0, 1, 2, 3]
    each = [exact(whole.source, row) for row in range(4)]
    assert whole.facts["conflict"]["smallest"] == min(each)
    calls.clear()
    monkeypatch.setattr(conflict, "_WIDTH", 11.1)  # the sum of the standard deviations is 11
    p, rows = conflict.quick(whole.source)
    first = int(rows[np.argmin(p)])
    assert dpm.posterior(few).facts["conflict"]["smallest"] == pytest.approx(each[first], rel=1e-9, abs=0)
    assert calls == [first]


@pytest.mark.parametrize(("width", "p", "exact"), [(0.1, 0.12, [1]), (0.1, 0.13, []), (1e6, 1.0, [0, 1, 2, 3])])
def test_approximate_p_values_are_replaced_by_exact_ones_up_to_a_limit(width, p, exact, monkeypatch):
    """Check four values: p times 4 is below 0.5 in a tree with time for one exact p-value, and below 5 in others."""
    calls = []
    law = infer(Measurements(Tree([-1, 0, 0, 0]), [0, 1, 2, 3], [9, 3, 3, 3], dpm.DiscreteLaplace(scale=1.0)))
    monkeypatch.setattr(conflict, "_WIDTH", width)
    monkeypatch.setattr(conflict, "quick", lambda law: (np.array([1.0, p, 1.0, 1.0]), np.arange(4)))
    monkeypatch.setattr(conflict, "p_value", lambda law, row: calls.append(row) or 0.3)
    assert conflict.facts(law)["smallest"] == (0.3 if exact else p)
    assert sorted(calls) == exact


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


def test_a_tree_in_words_and_its_places():
    tree = Tree.named({"all": None, "n": "all", "s": "all", "a": "n", "b": "n"}, levels=["top", "region", "place"])
    assert repr(tree) == "Tree(5 nodes: 1 top, 2 region, 2 place)"
    assert [tree.position(name) for name in tree.names] == [0, 1, 2, 3, 4]
    assert tree.level("place") == 2
    assert (tree.path(4), tree.path(0)) == ([0, 1, 4], [0])
    assert tree.leaf.tolist() == [False, False, True, True, True]
    assert tree.sums([9, 9, 3, 4, 5]).tolist() == [12, 9, 3, 4, 5]
    assert tree.sums(np.array([[0, 0], [0, 0], [1, 2], [3, 4], [5, 6]])).tolist()[0] == [9, 12]
    with pytest.raises(KeyError, match=r"'x' is not a node of Tree\(5 nodes"):
        tree.position("x")
    assert Tree([1, -1, 1]).root == 1
    assert Tree([1, -1, 1]).levels == ("level 0", "level 1")


@pytest.mark.parametrize(
    ("parent", "options", "error", "words"),
    [
        (np.zeros(0, dtype=int), {}, ValueError, "parent must contain at least one node, got none"),
        ([-1, 2], {}, ValueError, r"positions in \[0, 2\) or -1 for the root, got 2 for the node 1$"),
        ([-2, 0], {}, ValueError, r"positions in \[0, 2\) or -1 for the root, got -2 for the node 0$"),
        ([-1, -1], {}, ValueError, r"exactly one node \(the root\), got -1 for 2 nodes$"),
        ([-1, 2, 1], {}, ValueError, "the ancestors of 1 contain a cycle"),
        ([-1, 0], {"names": ["a"]}, ValueError, r"one name per node \(2 nodes\), got 1 names"),
        ([-1, 0], {"names": ["a", ""]}, TypeError, "names must contain only non-empty strings, got ''"),
        ([-1, 0], {"names": ["a", 3]}, TypeError, "names must contain only non-empty strings, got 3"),
        ([-1, 0, 0, 0], {"names": list("abca")}, ValueError, "names must be distinct, got 'a' twice"),
        ([-1, 0], {"levels": ["a"]}, ValueError, r"one name per level \(2 levels\), got 1 names"),
        ([-1, 0], {"lower": [0, -1]}, ValueError, "got -1 to inf for the node 1$"),
        ([-1, 0], {"lower": [0, 3], "upper": 2}, ValueError, "got 3 to 2 for the node 1$"),
    ],
)
def test_trees_that_are_rejected(parent, options, error, words):
    with pytest.raises(error, match=words):
        Tree(parent, **options)


def test_bounds_of_a_tree():
    tree = Tree([-1, 0, 0], lower=[3, 0, 2], upper=[3, np.inf, 5])
    assert (tree.lower.tolist(), tree.upper.tolist()) == ([3, 0, 2], [3, NONE, 5])
    assert Tree([-1, 0]).upper.tolist() == [NONE, NONE]


@pytest.mark.parametrize(
    ("leaves", "rows"), [(1, 2), (64, 65), (65, 69), (96, 100), (97, 102), (2048, 2113), (2049, 2118)]
)
def test_families_of_more_than_64_children_are_divided_into_groups(leaves, rows):
    """Check 64 children per node at most, in groups of 32: 65 children have three groups, and 2,049 children have 65
    groups in three groups. Children are contiguous, follow their parent and are one layer below.
    """
    tree = Tree([-1] + [0] * leaves)
    assert len(tree.order) == rows
    assert tree.count.max() <= 64
    assert sorted(tree.order[tree.order >= 0]) == list(range(leaves + 1))
    assert tree.order[tree.place].tolist() == list(range(leaves + 1))
    assert tree.above[0] == -1
    layer = np.repeat(np.arange(len(tree.layers) - 1), np.diff(tree.layers))
    seen = [0]
    for row in range(rows):
        kin = range(tree.first[row], tree.first[row] + tree.count[row])
        assert tree.first[row] > row or not tree.count[row]
        assert all(tree.above[k] == row and layer[k] == layer[row] + 1 for k in kin)
        seen += kin
    assert seen == list(range(rows))
    sizes = tree.count[(tree.order < 0) & (tree.count > 0)]
    assert sizes.max(initial=0) <= 32
    assert set(tree.first[tree.count == 0]) == {0}


def test_a_root_without_children_has_a_parent():
    tree = Tree([-1])
    assert tree.order.tolist() == tree.above.tolist() == [-1, 0]
    assert (tree.first.tolist(), tree.count.tolist(), tree.layers) == ([1, 0], [1, 0], [0, 1, 2])
    assert tree.place.tolist() == [1]


def test_only_leaves_of_large_families_are_sorted():
    """Check 70 leaves in groups beside an inner node with two leaves: the ranks reverse the large family alone."""
    parent = [-1] + [0] * 70 + [1, 1]
    tree = Tree(parent)
    other = tree.arranged(-tree.order)
    assert other.order[other.place].tolist() == list(range(73))
    small = [row for row in range(len(tree.order)) if tree.order[row] in (0, 1, 71, 72) or tree.order[row] < 0]
    assert (other.order[small] == tree.order[small]).all()
    large = [int(i) for i in other.order if 2 <= i <= 70]
    assert large == list(range(70, 1, -1))
    assert [int(i) for i in tree.order if 2 <= i <= 70] == list(range(2, 71))  # the first tree is not changed


def test_concentrations_by_level():
    tree = Tree([-1, 0, 1], levels=["a", "b", "c"])
    for given in (2.0, [2.0, 2.0], {"c": 2.0, "b": 2.0}):
        assert Splits(given).by_level(tree).tolist() == [1.0, 2.0, 2.0]
    assert Splits({"c": 3.0, "b": 2.0}).by_level(tree).tolist() == [1.0, 2.0, 3.0]
    assert Splits().by_level(tree) is None
    assert Splits().settings() == {"law": "splits"}
    with pytest.raises(ValueError, match=r"one entry per level \(b, c\), got entries for a, b$"):
        Splits({"a": 1.0, "b": 2.0}).by_level(tree)
    with pytest.raises(ValueError, match="concentrations must be one number or 2 numbers"):
        Splits([1.0, 2.0, 3.0]).by_level(tree)


def test_priors_of_groups_of_leaves():
    tree = Tree([-1, 0, 0, 0])
    prior = Leaves({"x": "flat", "y": "fitted", "z": {"law": "fitted"}}, ["inner", "y", "x", "y"])
    names, which = prior.rows(tree)
    assert (names, which.tolist()) == (["x", "y", "z"], [-1, 1, 0, 1])
    assert (prior.of("y"), prior.of("z"), prior.of("x").settings()) == ("fitted", "fitted", {"law": "flat"})
    assert prior.settings() == {
        "law": "leaves", "priors": {"x": {"law": "flat"}, "y": "fitted", "z": "fitted"},
    }  # fmt: skip
    one = Leaves("1/(1+n)", ["inner", "y", "x", "y"])
    assert [part if isinstance(part, list) else part.tolist() for part in one.rows(tree)] == [["x", "y"], [-1, 1, 0, 1]]
    assert one.settings() == {"law": "leaves", "priors": {"law": "1/(1+n)"}}
    assert Leaves().of("any").settings() == {"law": "1/(1+n)"}
    assert [part if isinstance(part, list) else part.tolist() for part in Leaves().rows(tree)] == [[""], [-1, 0, 0, 0]]
    new = one.replaced({"x": "one", "y": "two"})
    assert (new.of("x"), new.of("y"), new.groups) == ("one", "two", one.groups)
    alone = Leaves("fitted").replaced({"": "one"})
    assert alone.of("") == "one"
    with pytest.raises(ValueError, match=r"no prior is given for group 'y' of 1\. The groups with a prior are x$"):
        Leaves({"x": "flat"}, ["inner", "y", "x", "y"]).rows(tree)
    with pytest.raises(ValueError, match=r"one group per node \(4 nodes\), got 2 groups"):
        Leaves("flat", ["x", "y"]).rows(tree)
    with pytest.raises(ValueError, match=r"a prior per group \(x, y\)$"):
        Leaves({"x": "flat", "y": "flat"})


def test_a_histogram_by_hand():
    """Check masses 1/4 at 0 and 3/4 at 1 and 2."""
    prior = Histogram([0, 1, 3], [2.0, 6.0], fitted_on=9)
    expected = np.log([0.25, 0.375, 0.375])
    assert prior.log_weights([-1, 0, 1, 2, 3]).tolist() == pytest.approx([-np.inf, *expected, -np.inf])
    assert prior.settings() == {"law": "fitted", "fitted_on": 9, "zero": 0.25}
    assert (prior.first, prior.last, prior.peak) == (0.0, 2.0, pytest.approx(np.log(0.375)))


@pytest.mark.parametrize(
    ("last", "more"),
    [(0, []), (5, []), (6, [9]), (8, [9]), (9, [9, 13]), (26, [9, 13, 19, 27]), (27, [9, 13, 19, 27, 38])],
)
def test_cells_of_a_histogram_have_widths_that_grow_by_two_fifths(last, more):
    assert tree_posterior.grid(last).tolist() == [0, 1, 2, 3, 4, 5, 6, *more]


@pytest.mark.parametrize(("group", "words"), [("", "got 29: choose"), ("n", "got 29 in group 'n': choose")])
def test_a_prior_is_fitted_to_thirty_leaves(group, words):
    tree_posterior.enough(30, group)
    with pytest.raises(ValueError, match=f"^fitting a prior requires at least 30 leaves, {words} another prior"):
        tree_posterior.enough(29, group)


TWELVE = [-1] + [0] * 6 + [1 + i // 2 for i in range(12)]  # a root, six children, two leaves each


@pytest.mark.parametrize(
    ("parent", "most", "kept", "members"),
    [
        ([-1] + [0] * 10, 10, list(range(11)), [1] * 11),
        ([-1] + [0] * 10, 9, [0, 1, 3, 5, 7, 9], [1] * 6 + [5]),  # every second leaf, and the sum of the others
        ([-1] + [0] * 10, 4, [0, 1, 4, 7, 10], [1] * 5 + [6]),  # every third leaf
        (TWELVE, 12, list(range(19)), [1] * 19),
        (TWELVE, 6, [*range(7), 7, 8, 11, 12, 15, 16], [1] * 13),  # the families of every second child
        (TWELVE, 5, [0, 1, 3, 5, 7, 8, 15, 16], [1] * 8 + [3]),  # three children, and two of their families
    ],
)
def test_the_part_of_a_tree_that_is_used_for_a_fit(parent, most, kept, members):
    tree = Tree(parent, lower=np.arange(len(parent)), upper=np.where(np.arange(len(parent)) == 1, 50.0, np.inf))
    part, places = tree_posterior.thinned(tree, most)
    assert places.tolist() == kept
    assert part.members.tolist() == members
    own = [-1 if parent[i] < 0 else kept.index(parent[i]) for i in kept]
    assert part.parent[: len(kept)].tolist() == own
    assert part.lower[: len(kept)].tolist() == kept
    assert part.upper[1] == 50
    if len(part) > len(kept):
        assert part.names[-1] == f"{members[-1]} other children of 0"
        assert (part.parent[-1], part.lower[-1], part.upper[-1], part.upper[0]) == (0, 0, NONE, NONE)


def test_leaves_that_must_be_0_are_not_among_the_others():
    upper = np.full(11, np.inf)
    upper[[2, 3, 4]] = 0  # the leaves 1, 4, 7 and 10 are in the part
    part, _ = tree_posterior.thinned(Tree([-1] + [0] * 10, upper=upper), 4)
    assert part.members.tolist() == [1] * 5 + [4]


@pytest.mark.parametrize(
    ("parent", "options", "nodes", "star"),
    [
        ([-1] + [0] * 65, {}, [1], True),
        ([-1] + [0] * 64, {}, [1], False),
        ([-1] + [0] * 65, {}, [0, 1], False),
        ([-1] + [0] * 65, {"lower": [1] + [0] * 65}, [1], False),
        ([-1] + [0] * 65, {"upper": [99] + [np.inf] * 65}, [1], False),
        ([-1] + [0] * 65, {"lower": [0, 1] + [0] * 64, "upper": [np.inf, 9] + [np.inf] * 64}, [1], True),
        ([-1] + [0] * 65, {"members": [1] * 65 + [2]}, [1], False),
        ([-1] + [0] * 65 + [1], {}, [2], False),
    ],
)
def test_a_root_with_more_than_64_leaves_and_no_measurement_is_a_star(parent, options, nodes, star):
    measured = Measurements(Tree(parent, **options), nodes, [3.0] * len(nodes), dpm.DiscreteGaussian(sigma=1.0))
    assert tree_posterior.is_star(measured) == star


@pytest.mark.parametrize(
    ("x", "slope", "bend", "step"),
    [
        (0.0, 1.0, 4.0, -0.25),  # a Newton step
        (0.0, 1.0, -4.0, -0.25),  # the size of a negative curvature
        (0.0, 0.2, 0.0, -0.8),  # at least the curvature 1/4 of the prior
        (0.0, 1.0, 0.0, -1.5),  # at most 1.5
        (0.0, -1.0, 0.1, 1.5),
        (np.log(1e4) - 1, -9.0, 1.0, 1.0),  # up to 10,000
        (np.log(1e-3) + 1, 9.0, 1.0, -1.0),  # down to 1/1000
    ],
)
def test_a_step_of_a_concentration(x, slope, bend, step):
    found = tree_posterior._step(np.array([x]), np.array([slope]), np.array([[bend]]))
    assert found == pytest.approx([step], rel=1e-12)


def test_a_step_of_several_concentrations_keeps_its_direction():
    bend = np.array([[2.0, 1.0], [1.0, 3.0]])
    newton = -np.linalg.solve(bend, [1.0, 20.0])
    found = tree_posterior._step(np.zeros(2), np.array([1.0, 20.0]), bend)
    assert found == pytest.approx(newton * 1.5 / np.abs(newton).max(), rel=1e-12)


def test_the_minimum_of_a_quadratic_cost():
    """Check a quadratic cost, whose curvature follows from differences of its gradients without an error."""
    matrix, at = np.array([[6.0, 1.0, 0.5], [1.0, 4.0, 0.0], [0.5, 0.0, 9.0]]), np.array([2.0, -3.0, 0.4])

    class Cost:
        levels, calls = 3, 0

        def cost(self, x):
            self.calls += 1
            return (x - at) @ matrix @ (x - at) / 2, matrix @ (x - at)

    cost = Cost()
    assert tree_posterior._curvature(cost, at, np.zeros(3), np.array([0, 2])) == pytest.approx(matrix[[0, 2]], rel=1e-9)
    found, bend = tree_posterior._lowest(cost)
    assert found == pytest.approx(at, abs=1e-9)
    assert bend == pytest.approx(matrix, rel=1e-6)
    assert cost.calls == 2 + 1 + 3 + 2  # the curvature above, the start, its curvature, and two steps of at most 1.5


@pytest.mark.parametrize(
    ("inner", "outer", "decrease"),
    [
        (-1.0, -3.0, 2.0),
        (-3.0, -1.0, -2.0),
        (-1.0, -np.inf, np.inf),
        (-np.inf, -2.0, -np.inf),
        (-np.inf, -np.inf, np.inf),
    ],
)
def test_the_decrease_of_a_weight_beyond_a_list(inner, outer, decrease):
    assert measurements.fall(inner, outer) == decrease


def test_a_list_has_no_weight_beyond_its_ends():
    part = measurements.Listed(-2, np.array([1.0, 2.0, 3.0]))
    assert part.last == 0
    assert part.at(np.arange(-3, 2)).tolist() == [-np.inf, 1.0, 2.0, 3.0, -np.inf]


@pytest.mark.parametrize(
    ("one", "two", "first", "logs", "below", "above"),
    [
        # both lists end at the same counts: the decreases are added
        ((0, [1.0, 2.0], 3.0, 4.0), (0, [5.0, 7.0], 0.5, 0.25), 0, [6.0, 9.0], 3.5, 4.25),
        # the second list rises by 2 below the first count of the first list, and by 1 above its last count
        ((1, [0.0, 0.0], 3.0, 4.0), (0, [2.0, 0.0, 0.0, 1.0], 1.0, 1.0), 1, [0.0, 0.0], 1.0, 3.0),
        # it falls there, so that nothing is subtracted
        ((1, [0.0, 0.0], 3.0, 4.0), (0, [-2.0, 0.0, 0.0, -1.0], 1.0, 1.0), 1, [0.0, 0.0], 3.0, 4.0),
        # no count beyond the end of one list
        ((1, [0.0, 0.0], np.inf, np.inf), (0, [2.0, 0.0, 0.0, 1.0], 1.0, 1.0), 1, [0.0, 0.0], np.inf, np.inf),
        # the decrease of the second list beyond its own ends is not known, or it increases there
        ((1, [0.0, 0.0], 3.0, 4.0), (0, [0.0, 0.0, 0.0, 0.0], -np.inf, -1.0), 1, [0.0, 0.0], -np.inf, -np.inf),
        # the second list has no weight at the ends of the first
        ((1, [0.0, 0.0], 3.0, 4.0), (0, [0.0, -np.inf, -np.inf, 0.0], 1.0, 1.0), 1, [-np.inf] * 2, -np.inf, -np.inf),
        # no common count: beyond the ends that face each other, both may have weights, or one has none
        ((0, [0.0], 1.0, 1.0), (2, [0.0], 1.0, 1.0), 0, [], -np.inf, -np.inf),
        ((0, [0.0], 1.0, np.inf), (2, [0.0], 1.0, 1.0), 0, [], np.inf, np.inf),
        ((0, [0.0], 1.0, 1.0), (2, [0.0], np.inf, 1.0), 0, [], np.inf, np.inf),
        ((0, [0.0], np.inf, 1.0), (2, [0.0], 1.0, np.inf), 0, [], -np.inf, -np.inf),
    ],
)
def test_the_sum_of_two_lists_by_hand(one, two, first, logs, below, above):
    parts = [measurements.Listed(start, np.array(x), low, high) for start, x, low, high in (one, two)]
    for pair in (parts, parts[::-1]):
        found = measurements.both(*pair)
        assert (found.first, found.logs.tolist(), found.below, found.above) == (first, logs, below, above)


@pytest.mark.parametrize(
    ("law", "values"),
    [
        (dpm.DiscreteLaplace(scale=2.0).rounded(5), [0.0, 5.0, 10.0, 15.0, 20.0, -10.0]),
        (dpm.DiscreteLaplace(scale=2.0).rounded(5, ties="away"), [0.0, 5.0, 10.0]),
        (dpm.DiscreteLaplace(scale=2.0).rounded(5).clipped(0), [0.0, 5.0, 10.0, 15.0, 20.0, 30.0]),
        (dpm.DiscreteLaplace(scale=2.0).rounded(5).threshold(10), [np.nan, 10.0, 15.0, 20.0, 30.0]),
    ],
)
def test_values_with_the_same_key_have_the_same_list_up_to_a_shift(law, values):
    """Check that lists with one key are equal up to the shift, and that values of one period share a key."""
    found = {}
    for value in values:
        key, shift = measurements.same(value, law, 0)
        part = measurements.listed(value, law, 0, 40.0)
        shifted = measurements.listed(value - shift, law, 0, 40.0)
        if shift <= 0 or part.first > 0:
            n = np.arange(max(part.first, shifted.first + shift), min(part.last, shifted.last + shift) + 1)
            assert part.at(n) == pytest.approx(shifted.at(n - shift), rel=1e-9, abs=1e-12)
        found.setdefault(key, []).append(value)
    if law.ties != "away" and law.least is None:
        assert [10.0, 20.0] in [[x for x in group if x in (10.0, 20.0)] for group in found.values()]
        assert not any({5.0, 10.0} <= set(group) for group in found.values())
    else:
        assert max(map(len, found.values())) == 1


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"lower": [0, 5, 0]}, "the exact count of 1 is 3, but must be within the bounds 5 or more$"),
        ({"upper": [np.inf, 2, np.inf]}, "the exact count of 1 is 3, but must be within the bounds 0 to 2$"),
        ({"lower": [0, 3, 0], "upper": [np.inf, 3, np.inf]}, None),
    ],
)
def test_exact_counts_and_bounds(bounds, words):
    measured = Measurements(Tree([-1, 0, 0], **bounds), [1], [3.0], dpm.Exact())
    if words is None:
        sites = measured.weigh()[0][measured.tree.place]
        assert (sites["lower"].tolist(), sites["upper"][1]) == ([0, 3, 0], 3)
        return
    with pytest.raises(ValueError, match=words):
        measured.weigh()


@pytest.mark.parametrize(
    ("nodes", "released", "words"),
    [
        ([0], [[1.0]], r"released must be one-dimensional, got shape \(1, 1\)"),
        ([0], [1.0, 2.0], r"one node per released value \(2 values\), got 1 nodes"),
        ([0, 3], [1.0, 2.0], r"nodes must contain positions in \[0, 3\), got positions from 0 to 3$"),
        ([-1, 2], [1.0, 2.0], r"nodes must contain positions in \[0, 3\), got positions from -1 to 2$"),
    ],
)
def test_measurements_that_are_rejected(nodes, released, words):
    with pytest.raises(ValueError, match=words):
        Measurements(Tree([-1, 0, 0]), nodes, released, dpm.Laplace(scale=1.0))


def test_measurements_by_name_and_without_values():
    tree = Tree([-1, 0, 0], names=["all", "a", "b"])
    assert Measurements(tree, ["b", "a"], [1.0, 2.0], dpm.Laplace(scale=1.0)).nodes.tolist() == [2, 1]
    none = Measurements(tree, [], [], dpm.Laplace(scale=1.0))
    assert len(none.nodes) == 0
    assert not none.listed
    assert Measurements(tree, [1], [5.0], dpm.RandomRounding(5)).listed


@pytest.mark.parametrize(("leaves", "sorted_again"), [(64, False), (65, True)])
def test_leaves_of_large_families_are_arranged(leaves, sorted_again):
    tree = Tree([-1] + [0] * leaves)
    measured = Measurements(tree, np.arange(1, leaves + 1), np.arange(leaves) % 2, dpm.Laplace(scale=1.0))
    assert (measured.arranged() is not measured) == sorted_again


def test_nodes_that_take_part_in_splits():
    """Check a subtree with the bound 0: its nodes have no share, and their parent has the remaining concentrations."""
    tree = Tree([-1, 0, 0, 0, 1, 1, 2], upper=[np.inf, 0, np.inf, np.inf, np.inf, np.inf, np.inf])
    assert measurements.split_takers(tree).tolist() == [False, False, True, True, False, False, True]
    sites = measurements.bounded(tree)
    constant = measurements.multiply_splits(sites, tree, np.array([1.0, 0.5, 2.0]))
    assert sites["own"][tree.place].tolist() == [1.0, 1.0, 0.5, 0.5, 1.0, 1.0, 2.0]
    assert sites["others"][tree.place].tolist() == [1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    # Gamma(1/2 + 1/2) Gamma(2)/(Gamma(1/2)^2 Gamma(2)) = 1/pi
    assert constant == pytest.approx(-np.log(np.pi), rel=1e-12)


def test_the_fast_estimate_of_differences():
    tree = Tree([-1, 0, 0])
    found = LeastSquares(tree, [1, 2], [10.0, 4.0], [2.0, 3.0])
    assert found.difference(1, 2) == (6.0, pytest.approx(5**0.5))
    assert found.difference(0, 2) == (10.0, pytest.approx(2**0.5))
    assert found.difference(1, 1) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("law", "value", "variance"),
    [
        (dpm.Gaussian(sigma=3.0).rounded(0.6), 3.0, 9 + 0.6**2 / 12),
        # mean squares of the residues -1, 0, 1 and of -2, -1, 0, 1 and 2 (which is rounded in either direction)
        (dpm.DiscreteLaplace(scale=2.0).rounded(3), 3.0, dpm.DiscreteLaplace(scale=2.0).variance() + 2 / 3),
        (dpm.DiscreteLaplace(scale=2.0).rounded(4), 4.0, dpm.DiscreteLaplace(scale=2.0).variance() + 6 / 4),
        (dpm.Gaussian(sigma=3.0).clipped(0), 0.0, 9),
        (dpm.Gaussian(sigma=3.0).threshold(5), np.nan, np.inf),
        (dpm.Exact(), 5.0, 0),
        (dpm.Exact().clipped(5), 7.0, 0),
        (dpm.Exact().clipped(5), 5.0, np.inf),
        (dpm.Exact().rounded(5), 5.0, np.inf),
        (dpm.RandomRounding(5), 5.0, 6),  # 2 (5 - 2), the largest m (base - m)
        (dpm.RandomRounding(5, fixed="up"), 5.0, np.inf),
        (dpm.RandomRounding(5, fixed="up").threshold(5), 5.0, np.inf),
    ],
)
def test_the_error_of_a_changed_value_in_least_squares(law, value, variance):
    """Check the sd of the only measured leaf, alone and in rows that have different distributions."""
    tree = Tree([-1, 0, 0])
    for noise, released in ((law, [value]), (LawByRow([law, dpm.Gaussian(sigma=1.0)], np.array([0, 1])), [value, 2.0])):
        found = Measurements(tree, [1, 2][: len(released)], released, noise).least_squares()
        assert found.sd[1] == pytest.approx(np.sqrt(variance), rel=1e-12)
        assert found.sd[0] == pytest.approx(np.sqrt(variance + 1) if len(released) == 2 else np.inf, rel=1e-12)
        assert np.isnan(found.estimate[1]) if variance == np.inf else found.estimate[1] == pytest.approx(value)
