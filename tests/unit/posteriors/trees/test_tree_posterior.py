"""Tests of counts on a tree of totals: enumeration, closed forms, and attempts to violate the bounds."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from reference.tree_enumeration import Enumeration, splits
from scipy import stats
from scipy.optimize import brentq
from scipy.special import gammaln

from dpmultinomial._accuracy import Accuracy
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published.priors import prior_of
from dpmultinomial._posteriors.trees import _sites, _solver, tree_posterior
from dpmultinomial._posteriors.trees._sum_product import SumProduct
from dpmultinomial._posteriors.trees.measurements import FAR, Listed, Measurements, both, multiply_splits
from dpmultinomial._posteriors.trees.tree import Leaves, Splits, Tree, moments
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._seeding import stream

TABLE = {
    "true": [0, 1, 1, 2, 2, 3, 4, 5, 6],
    "released": [0, 0, 3, 0, 3, 3, 3, 6, 6],
    "probability": [1, 2 / 3, 1 / 3, 1 / 3, 2 / 3, 1, 1, 1, 1],
}
WIDE = {"law": "discrete_gaussian", "sigma": 1.3}
LAWS = [
    WIDE,
    {"law": "discrete_gaussian", "sigma": 0.45},
    {"law": "discrete_laplace", "scale": 0.8},
    {"law": "laplace", "scale": 0.7},
    {"law": "gaussian", "sd": 1.1},
    {"law": "exact"},
    {"law": "table", "table": TABLE},
    {"law": "discrete_gaussian", "sigma": 1.2, "clipped": {"at": 0}},
    {"law": "discrete_laplace", "scale": 0.6, "threshold": 3},
    {"law": "discrete_gaussian", "sigma": 1.0, "rounded": 3},
    {"law": "discrete_laplace", "scale": 0.7, "rounded": 2, "clipped": {"at": 2}},
    {"law": "discrete_gaussian", "sigma": 1.1, "clipped": {"at": 1}, "threshold": 2},
]
UNBOUNDED = ("discrete_gaussian", "discrete_laplace", "gaussian", "laplace")
MOST = {1: 300, 2: 300, 3: 90, 4: 38}  # of a leaf's count, by number of leaves
LISTED = {"law": "table", "counts": [0, 1, 2, 5], "probabilities": [0.4, 0.3, 0.2, 0.1]}
PRIORS = {
    "flat": ("flat", lambda n: np.zeros(n.shape)),
    "reciprocal": ("1/(1+n)", lambda n: -np.log1p(n)),
    "geometric": ({"law": "geometric", "mean": 2.0}, lambda n: stats.geom.logpmf(n + 1, 1 / 3)),
    "negative binomial": (
        {"law": "negative_binomial", "mean": 2.0, "shape": 0.6},
        lambda n: stats.nbinom.logpmf(n, 0.6, 0.6 / 2.6),
    ),
    "table": (LISTED, lambda n: np.log(np.select([n == 0, n == 1, n == 2, n == 5], [0.4, 0.3, 0.2, 0.1], 1e-300))),
}


def shape(rng, alone):
    """Return parents of a random tree of 3 to 8 nodes with at most four leaves, or of a single node."""
    while True:
        parent = [-1] + [int(rng.integers(0, i)) for i in range(1, 1 if alone else int(rng.integers(3, 9)))]
        if len(parent) - len(set(parent[1:])) <= 4:
            return parent


def case(seed):
    """A random tree with measurements, bounds and a prior, and all of its counts."""
    tree, prior, log_prior, measured = random_case(seed)
    lower, upper = tree.lower, np.where(tree.upper == np.iinfo(np.int64).max, np.inf, tree.upper)
    parent, most = tree.parent.tolist(), MOST[int(tree.leaf.sum())]
    law = Enumeration(parent, most, log_prior, measured, lower, upper)
    assert law.edge < 1e-15
    return tree, prior, measured, law


def random_case(seed):
    """Return a random tree with its prior, for the library and as a formula, and measurements."""
    rng = stream(seed, "trees of totals")
    parent = shape(rng, seed % 20 == 19)
    size = len(parent)
    leaves = [v for v in range(size) if v not in parent]
    truth = np.zeros(size, dtype=np.int64)
    truth[leaves] = rng.integers(0, 5, len(leaves))
    truth = Tree(parent).sums(truth)
    measured = [(0, WIDE, float(truth[0] + rng.integers(-2, 3)))]
    for v in range(size):
        for _ in range(rng.choice([0, 1, 2], p=[0.25, 0.6, 0.15])):
            words = LAWS[rng.integers(len(LAWS))]
            words = WIDE if words["law"] == "table" and truth[v] > 6 else words
            measured.append((v, words, float(law_of(words).sample(truth[[v]], rng=rng)[0])))
    if seed % 5 == 1:  # prior or measurements disagree
        measured.append((int(rng.integers(size)), WIDE, float(truth.max() + 7)))
    lower, upper = np.zeros(size, dtype=np.int64), np.full(size, np.inf)
    if seed % 3 == 0:
        v, w = rng.integers(size, size=2)
        lower[v], upper[w] = max(truth[v] - 1, 0), truth[w] + rng.integers(0, 3)
    tree = Tree(parent, lower=lower, upper=upper)
    return tree, *chosen(seed, rng, tree, truth), measured


def chosen(seed, rng, tree, truth):
    leaves = np.flatnonzero(tree.leaf)
    if seed % 2:
        by_level = rng.uniform(0.2, 3, len(tree.levels) - 1)
        each = np.concatenate([[1.0], by_level])[tree.depth]
        upper = np.where(tree.upper == np.iinfo(np.int64).max, np.inf, tree.upper)
        for v in range(1, len(tree)):
            upper[v] = min(upper[v], upper[tree.parent[v]])
        return Splits(by_level.tolist()), lambda n: splits(tree.parent, each, n, upper > 0)
    name = list(PRIORS)[seed // 2 % 5]
    name = "geometric" if name == "table" and set(truth[leaves]) - {0, 1, 2, 5} else name
    words, formula = PRIORS[name]
    return Leaves(words), lambda n: sum(formula(np.arange(n[v].max() + 1))[n[v]] for v in leaves)


def measurements(tree, measured):
    nodes, laws, values = zip(*measured, strict=True)
    return Measurements(tree, nodes, values, [law_of(words) for words in laws])


def spread(law, size):
    out = np.zeros(size)
    out[np.asarray(law.values, dtype=np.int64)] = law.probabilities
    return out


@pytest.mark.parametrize("seed", range(80))
def test_counts_have_the_law_that_going_through_all_of_them_gives(seed):
    """Check all distributions and modifiers, exact counts, several or no measurements of a node, bounds, priors."""
    tree, prior, measured, law = case(seed)
    found = infer(measurements(tree, measured), prior=prior)
    assert found.log_evidence == pytest.approx(law.log_evidence, abs=1e-12 * max(1, abs(law.log_evidence)))
    assert found.accuracy.status == "exact"
    assert found.bound <= 1e-12
    for v in range(len(tree)):
        p = law.law(v)
        q = spread(found.law(v), len(p) + 2000)[: len(p)]
        n = np.arange(len(p))
        assert 0.5 * np.abs(p - q).sum() < 1e-12
        np.testing.assert_allclose(q[p > 1e-9], p[p > 1e-9], rtol=1e-11)
        assert found.mean[v] == pytest.approx(n @ p, abs=1e-11)
        assert found.sd[v] == pytest.approx(np.sqrt((n - n @ p) ** 2 @ p), abs=1e-7)
        below = np.cumsum(p)
        if np.abs(below - 0.025).min() > 1e-9 and np.abs(below - 0.975).min() > 1e-9:
            assert (found.lower[v], found.upper[v]) == (np.argmax(below > 0.025), np.argmax(below > 0.975))


def test_all_laws_and_modifiers_are_met():
    met = [words for seed in range(80) for _, words, _ in random_case(seed)[3]]
    assert all(words in met for words in LAWS)


@pytest.mark.parametrize("seed", [3, 8, 15, 21, 33])
def test_draws_have_the_joint_law(seed):
    tree, prior, measured, law = case(seed)
    found = infer(measurements(tree, measured), prior=prior)
    size, nodes = 40_000, list(range(len(tree)))
    draws = found.sample(size, rng=stream(seed, "draws of a tree"))
    assert (tree.sums(draws.T)[~tree.leaf] == draws.T[~tree.leaf]).all()
    joint = law.joint(nodes)
    values, counts = np.unique(draws, axis=0, return_counts=True)
    seen = {tuple(int(k) for k in row): int(c) for row, c in zip(values, counts, strict=True)}
    assert set(seen) <= set(joint)
    often = {key: p * size for key, p in joint.items() if p * size >= 10}
    rest = size - sum(seen.get(key, 0) for key in often), size - sum(often.values())
    pairs = [(seen.get(key, 0), expected) for key, expected in often.items()] + ([rest] if rest[1] >= 10 else [])
    statistic = sum((got - expected) ** 2 / expected for got, expected in pairs)
    assert stats.chi2.sf(statistic, max(len(pairs) - 1, 1)) > 1e-5 / 5  # false alarms: 1e-5 of all five together


def test_draws_of_some_nodes_are_those_of_all():
    tree, prior, measured, _ = case(40)
    found = infer(measurements(tree, measured), prior=prior)
    some = found.sample(50, rng=stream(1, "some"), nodes=[2, 0])
    assert some.shape == (50, 2)
    assert (some[:, 0] <= some[:, 1]).all()


@pytest.mark.parametrize("seed", [2, 9, 16, 27, 39, 45])
def test_differences_and_sums_of_two_counts_are_exact_wherever_they_stand(seed):
    tree, prior, measured, law = case(seed)
    found = infer(measurements(tree, measured), prior=prior)
    for a in range(len(tree)):
        for b in range(len(tree)):
            for sign, answer in ((1, found.sum(a, b)), (-1, found.difference(a, b))):
                expected = law.combined(a, b, sign)
                got = dict(zip(np.asarray(answer.values).tolist(), answer.probabilities.tolist(), strict=True))
                assert sum(abs(got.get(k, 0.0) - expected.get(k, 0.0)) for k in {*got, *expected}) < 2e-12


@pytest.mark.parametrize("seed", range(10))
def test_differences_and_sums_are_exact_where_a_total_or_bounds_leave_few_counts(seed):
    """Check possible counts that are restricted beyond the subtree, on every path between two counts."""
    rng = stream(seed, "few counts")
    parent = [[-1, 0, 1, 1, 0, 4], [-1, 0, 1, 1, 2], [-1, 0, 0, 1, 1, 2], [-1, 0, 1, 2, 2], [-1, 0, 0, 0, 1, 2]][
        seed % 5
    ]
    truth = Tree(parent).sums(
        np.where([v not in parent for v in range(len(parent))], rng.integers(0, 4, len(parent)), 0)
    )
    lower, upper = np.zeros(len(parent), dtype=np.int64), np.full(len(parent), np.inf)
    upper[0] = truth[0] + (seed >= 5)
    lower[0], upper[-1] = truth[0], truth[-1] + 1
    measured = [
        (v, WIDE, float(truth[v] + rng.integers(-2, 3))) for v in range(len(parent)) if v == 0 or rng.random() < 0.7
    ]
    law = Enumeration(parent, int(upper[0]), lambda n: np.zeros(n[0].shape), measured, lower, upper)
    tree = Tree(parent, lower=lower, upper=upper)
    nodes, laws, values = zip(*measured, strict=True)
    found = infer(Measurements(tree, nodes, values, [law_of(words) for words in laws]), prior=Leaves("flat"))
    for a, b in itertools.product(range(len(tree)), repeat=2):
        for sign, answer in ((1, found.sum(a, b)), (-1, found.difference(a, b))):
            expected = law.combined(a, b, sign)
            got = dict(zip(np.asarray(answer.values).tolist(), answer.probabilities.tolist(), strict=True))
            assert sum(abs(got.get(k, 0.0) - expected.get(k, 0.0)) for k in {*got, *expected}) < 2e-12


# --- the bound -----------------------------------------------------------------------------------------------------


def large_cut(seed):
    """Return messages of one tree almost without truncation, and the arguments for other messages."""
    rng = stream(seed, "cuts")
    size = int(rng.integers(3, 14))
    tree = Tree([-1] + [int(rng.integers(max(0, i - 4), i)) for i in range(1, size)])
    truth = tree.sums(np.where(tree.leaf, rng.integers(0, 9, size), 0))
    wide = {"law": "discrete_gaussian", "sigma": 3.0}
    measured = [(0, wide, float(truth[0] + rng.integers(-9, 9)))]
    for v in range(size):
        if rng.random() < 0.7:
            words = [*LAWS[:1], *LAWS[2:5], LAWS[9], wide][rng.integers(6)]
            moved = int(rng.integers(-6, 7)) if rng.random() < 0.2 and "rounded" not in words else 0
            measured.append((v, words, float(law_of(words).sample(truth[[v]], rng=rng)[0]) + moved))
    sites, lists, _ = measurements(tree, measured).weigh()
    prior = [Leaves("flat"), Leaves("1/(1+n)"), Leaves({"law": "geometric", "mean": 3.0})][seed % 3]
    if seed % 4 == 3:
        multiply_splits(sites, tree, rng.uniform(0.3, 2, len(tree.levels)))
    else:
        tree_posterior._assume(prior, tree, sites, lists)
    return tree, sites, lists.joined(), _solver.solve(tree, sites, lists.joined())


def all_laws(tree, messages):
    messages.down(tree.count > 0, 0.25)
    found = {0: messages.root()}
    for v in np.flatnonzero(tree.count):
        found.update((int(tree.first[v]) + k, law) for k, law in enumerate(messages.family(v)[2]))
    return found


def variation(one, two):
    low, high = min(one[0], two[0]), max(one[0] + len(one[1]), two[0] + len(two[1]))
    p, q = np.zeros(high - low), np.zeros(high - low)
    p[one[0] - low : one[0] - low + len(one[1])] = one[1]
    q[two[0] - low : two[0] - low + len(two[1])] = two[1]
    return 0.5 * np.abs(p - q).sum()


def test_the_bound_holds_whatever_is_cut_and_would_not_if_it_were_smaller():
    """Check truncation of 1e-3 to 1e-8 of every message: all errors are within the bound, one nearly attains it."""
    nearest = 0.0
    for seed in range(150):
        tree, sites, tables, solved = large_cut(seed)
        exact = all_laws(tree, solved.messages)
        for drop in (1e-3, 1e-5, 1e-8):
            given = tree.above, tree.first, tree.count, sites, tables, solved.tilts, solved.slacks
            messages = SumProduct(*given, drop)
            log_evidence, bound, failed = messages.up()
            assert failed[0] == -1
            cut = all_laws(tree, messages)
            off = max(variation(exact[v], cut[v]) for v in exact)
            lost = -np.expm1(log_evidence - solved.log_evidence)
            assert max(off, lost) <= bound + 1e-13, (seed, drop)
            nearest = max(nearest, lost / bound)
    assert nearest > 0.99  # a bound 1 % smaller is broken


@pytest.mark.parametrize("order", [["even", "odd", "noisy"], ["odd", "even", "noisy"]])
def test_what_is_cut_spread_over_many_counts_costs_what_a_parent_takes_of_it(order):
    """Check one noisy child, one with 0 to 499, one with 0 or 1: the weight truncated from the first is spread over 500
    sums, of which a parent known to 2 selects five. The bound includes this, and 1 % less would be too small."""
    upper = {"noisy": np.inf, "even": 499, "odd": 1}
    tree = Tree([-1, 0, 0, 0], upper=[np.inf, *(upper[name] for name in order)])
    measured = [(0, {"law": "discrete_gaussian", "sigma": 2.0}, 350.0)]
    measured.append((1 + order.index("noisy"), {"law": "discrete_gaussian", "sigma": 20.0}, 100.0))
    sites, lists, _ = measurements(tree, measured).weigh()
    tree_posterior._assume(Leaves("flat"), tree, sites, lists)
    solved = _solver.solve(tree, sites, lists.joined())
    messages = SumProduct(tree.above, tree.first, tree.count, sites, lists.joined(), solved.tilts, solved.slacks, 9e-4)
    log_evidence, bound, _ = messages.up()
    lost = -np.expm1(log_evidence - solved.log_evidence)
    assert 0.99 * bound < lost <= bound


def test_ends_of_intervals_at_ties_do_not_depend_on_rounding():
    """Check counts 0 to 9 of equal probability: P(N <= 10 t - 1) and P(N > 9 - 10 t) are exactly t, and rounded sums of
    0.1 are not."""
    tree = Tree([-1, 0], upper=[np.inf, 9])
    sites, lists, _ = Measurements(tree, np.arange(0), np.zeros(0), DiscreteGaussian(sigma=1.0)).weigh()
    tree_posterior._assume(Leaves("flat"), tree, sites, lists)
    messages = _solver.solve(tree, sites, lists.joined()).messages
    for tenths in range(1, 5):
        ends = messages.down(np.ones(2, dtype=bool), tenths / 10)[0][:, 2:]
        assert ends.tolist() == [[tenths - 1, 9 - tenths]] * 2


def folded(parts):
    """Return the convolution of weights of 0, 1, .., each normalised to maximum 1."""
    out = parts[0]
    for part in parts[1:]:
        out = np.convolve(out, part)
        out /= out.max()
    return out


@pytest.mark.parametrize(("concentration", "children", "sigmas"), [(6.0, 60, (24, 12, 50)), (3.0, 40, (120, 60, 300))])
def test_wide_noise_in_large_families_is_exact_and_equals_sums_over_all_counts(concentration, children, sigmas):
    """Check that less is truncated if bounds overflow, against all counts up to 1,000, family by family."""
    most, families = 1000, 4
    tree = Tree([-1, *[0] * families, *(1 + np.repeat(np.arange(families), children))])
    rng, law = np.random.default_rng(1), DiscreteGaussian(sigma=np.array(sigmas, dtype=float)[tree.depth])
    truth = np.where(tree.leaf, rng.poisson(3, len(tree)), 0)
    released = law.sample(tree.sums(truth), rng=rng)
    found = infer(Measurements(tree, np.arange(len(tree)), released, law), prior=Splits([1.0, concentration]))
    assert found.accuracy.status == "exact"
    assert found.bound < 1e-9

    def noise(n, node):
        return -((n - released[node]) ** 2) / (2 * np.array(sigmas)[tree.depth[node]] ** 2)

    def scaled(logs):
        return np.exp(logs - logs.max(axis=-1, keepdims=True))

    n, sums = np.arange(most + 1.0), []
    for i in range(1, families + 1):
        leaves = np.flatnonzero(tree.parent == i)
        logs = gammaln(n + concentration) - gammaln(n + 1) + noise(n, leaves[:, None])

        def gap(tilt, logs=logs, i=i):
            weights = scaled(logs + tilt * n)
            return (weights @ n / weights.sum(axis=1)).sum() - found.mean[i]  # where the sum matters

        tilt = brentq(gap, -5, 0.1)
        with np.errstate(divide="ignore"):
            below = np.log(folded(scaled(logs + tilt * n))[: most + 1]) - tilt * n
        sums.append(scaled(below + gammaln(n + 1) - gammaln(n + children * concentration) + noise(n, i)))
    total = np.arange(families * most + 1.0)
    above = scaled(gammaln(total + 1) - gammaln(total + families) + noise(total, 0))
    root = folded(sums) * above
    assert found.mean[0] == pytest.approx(root @ total / root.sum(), rel=1e-9)
    rest = folded(sums[1:])
    first = sums[0] * [above[k : k + len(rest)] @ rest for k in range(most + 1)]
    assert found.mean[1] == pytest.approx(first @ n / first.sum(), rel=1e-9)


def test_questions_about_an_approximate_tree_draw_what_is_asked_for_alone(monkeypatch):
    tree = Tree([-1, 0, 0, 0, 1, 1], names=["all", "a", "b", "c", "aa", "ab"])
    law = DiscreteGaussian(sigma=2.0)
    found = infer(Measurements(tree, np.arange(6), [30, 12, 11, 9, 5, 4], law), prior=Splits(1.0))
    exact = found.posterior().ask({"more": {"probability": "a > b"}, "gap": {"difference": ["a", "b"]}})
    assert set(exact["status"]) == {"exact"}
    found.accuracy = Accuracy("approximate", 1.0, "its bound is too large")
    asked, sample = [], found.sample

    def counted(size, *, rng, nodes=None):
        asked.append(nodes)
        return sample(size, rng=rng, nodes=nodes)

    monkeypatch.setattr(found, "sample", counted)
    rows = found.posterior().ask(
        {"more": {"probability": "a > b"}, "gap": {"difference": ["a", "b"]}}, rng=stream(1, "questions")
    )
    assert asked == [[1, 2], [1, 2]]
    assert set(rows["status"]) == {"approximate"}
    assert ((rows["mean"] - exact["mean"]).abs() < 5 * rows["error"].astype(float)).all()


def test_what_is_said_of_a_bound_that_is_too_large(monkeypatch):
    """Check that a result is `exact` up to 1e-9 and `approximate` above, with the bound as its error."""
    tree, prior, measured, _ = case(40)
    solve = _solver.solve
    for bound, word in ((1e-9, "exact"), (1.1e-9, "approximate"), (np.inf, "approximate")):
        monkeypatch.setattr(_solver, "solve", lambda *args, bound=bound: replace(solve(*args), bound=bound))
        found = infer(measurements(tree, measured), prior=prior)
        assert (found.accuracy.status, found.accuracy.error) == (word, min(bound, 1.0))
        assert set(found.table()["status"]) == {word}


# --- pitfalls ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [30, 60, 90, 120, 400])
@pytest.mark.parametrize("prior", ["flat", "reciprocal"])
def test_contradictions_are_met_not_missed(far, prior):
    """Check a rounded 3 with noise of 1 against a distant measured child: the mean is outside both initial lists."""
    words, formula = PRIORS[prior]
    tree = Tree([-1, 0])
    measured = [(0, LAWS[9], 3.0), (1, {"law": "gaussian", "sd": 0.5}, float(far))]
    found = infer(measurements(tree, measured), prior=Leaves(words))
    n = np.arange(2 * far)
    rounded = np.asarray(law_of(LAWS[9]).log_likelihood(np.array([[3.0]]), n[None]))[0]
    logs = rounded - 2.0 * (n - far) ** 2 + formula(n)
    p = np.exp(logs - logs.max())
    assert found.accuracy.status == "exact"
    np.testing.assert_allclose(found.mean, n @ p / p.sum(), rtol=1e-12)


def test_a_list_that_ends_too_early_for_the_last_time_voids_the_bound(monkeypatch):
    """Check that the bound includes the counts outside a list: without longer lists, the result is not exact."""
    monkeypatch.setattr(tree_posterior, "REACHES", (700.0,))
    measured = [(0, LAWS[9], 3.0), (1, {"law": "gaussian", "sd": 0.5}, 60.0)]
    found = infer(measurements(Tree([-1, 0]), measured), prior=Leaves("flat"))
    assert found.accuracy.status == "approximate"
    assert found.bound > 0.9


@pytest.mark.parametrize(("leaves", "total"), [(16, 3000), (3000, 20_000), (70, 5)])
def test_wide_families_behind_an_exact_total_have_their_closed_form(leaves, total):
    """Check that flat leaves equal shares of concentration 1: beta-binomial(total, 1, leaves - 1) each."""
    tree = Tree([-1] + [0] * leaves)
    n = np.arange(total + 1)
    logs = gammaln(total - n + leaves - 1) - gammaln(total - n + 1) - gammaln(total + leaves) + gammaln(total + 1)
    p = np.exp(logs + np.log(leaves - 1))
    for prior in (Leaves("flat"), Splits(1.0)):
        found = infer(Measurements(tree, [0], [total], {"law": "exact"}), prior=prior)
        assert found.bound <= 1e-9
        for v in (1, leaves // 2, leaves):
            law = found.law(v)
            q = np.zeros(total + 1)
            q[np.asarray(law.values, dtype=np.int64)] = law.probabilities
            assert 0.5 * np.abs(p / p.sum() - q).sum() < 1e-9


@pytest.mark.parametrize("concentration", [0.2, 3.5])
def test_splits_below_an_exact_total_are_beta_binomial(concentration):
    tree = Tree([-1, 0, 0, 0, 1, 1])
    found = infer(Measurements(tree, [0], [900], {"law": "exact"}), prior=Splits([concentration, 1.0]))
    p = stats.betabinom.pmf(np.arange(901), 900, concentration, 2 * concentration)
    assert np.abs(spread(found.law(2), 901) - p).sum() < 2e-9
    assert found.mean[4] == pytest.approx(150, rel=1e-9)


def minority(blocks=3000, seed=5):
    """Check blocks with few counts each below precise totals, as in a state's file: most counts are 0."""
    rng = stream(seed, "minority")
    sizes = (1, 5, 100, 300, blocks)
    parent, start = [np.array([-1])], 0
    for above, below in itertools.pairwise(sizes):
        extra = rng.integers(0, above, below - above)
        parent.append(start + np.sort(np.concatenate([np.arange(above), extra])))
        start += above
    tree = Tree(np.concatenate(parent))
    group = tree.parent[-blocks:]
    mean = rng.gamma(0.5, 20.0, len(tree))[group] * rng.gamma(0.5, 2.0, blocks) * 300 / blocks
    truth = np.zeros(len(tree), dtype=np.int64)
    truth[-blocks:] = rng.poisson(mean)
    return tree, tree.sums(truth), np.array([9.0, 8.0, 2.1, 2.0, 12.0])[tree.depth]


@pytest.mark.parametrize(
    "prior", [Leaves("flat"), Leaves("1/(1+n)"), Splits([2.0, 0.3, 2.0, 0.5])], ids=["flat", "reciprocal", "splits"]
)
@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_priors_against_many_measured_totals_end_in_a_bound_not_in_a_miss(prior, scale):
    """Check flat leaves, which imply thousands where the totals are hundreds: windows must follow the totals."""
    tree, truth, sigma = minority()
    law = DiscreteGaussian(sigma=sigma * scale)
    y = law.sample(truth, rng=stream(6, "minority"))
    found = infer(Measurements(tree, np.arange(len(tree)), y, law), prior=prior)
    assert found.bound <= 1e-9
    assert found.rounding < 1e-8
    assert found.accuracy.status == "exact"


def test_values_far_below_zero_and_counts_of_hundreds_of_millions():
    tree = Tree([-1, 0, 0, 1, 1])
    measured = [(0, {"law": "discrete_gaussian", "sigma": 3.0}, 152_345_678.0)]
    measured += [(1, {"law": "discrete_laplace", "scale": 4.0}, 152_000_010.0), (2, LAWS[0], 345_670.0)]
    measured += [(3, LAWS[0], -400.0), (4, {"law": "laplace", "scale": 2.0}, 152_000_001.5)]
    found = infer(measurements(tree, measured), prior=Leaves("flat"))
    assert found.accuracy.status == "exact"
    assert found.upper[3] == 0
    assert found.mean[1] == pytest.approx(found.mean[3] + found.mean[4], rel=1e-15)


def test_wide_laplace_noise_keeps_a_count_from_growing():
    """Check a leaf without a prior, noise of scale 7.5: weights exp(-|n - 3|/7.5) on n >= 0 and geometric sums."""
    tree = Tree.named({"state": None, "a": "state", "b": "state"}, levels=["state", "county"])
    wide = {"law": "laplace", "scale": 7.5}
    found = infer(measurements(tree, [(1, wide, 3.0), (2, wide, 40.0)]), prior=Leaves("flat"))
    n = np.arange(4000)
    for leaf, released in ((1, 3.0), (2, 40.0)):
        weights = np.exp(-np.abs(n - released) / 7.5)
        assert found.mean[leaf] == pytest.approx(weights @ n / weights.sum(), rel=1e-10)


def test_of_several_unbounded_counts_the_message_names_the_first_one():
    tree, noise = Tree([-1, 0, 0, 0], names=["s", "a", "b", "c"]), law_of({"law": "exact"})
    with pytest.raises(_solver.Unbounded, match="the count of b is unbounded: measure this node or one of its"):
        infer(Measurements(tree, ["a"], [3], noise), prior=Leaves("flat"))
    with pytest.raises(_solver.Unbounded, match="the count of a is unbounded"):
        infer(Measurements(tree, ["b"], [3], noise), prior=Leaves("flat"))


def test_contradicting_exact_counts_and_counts_without_an_end_are_refused():
    tree = Tree.named({"state": None, "a": "state", "b": "state"}, levels=["state", "county"])
    exact = {"law": "exact"}
    with pytest.raises(
        ValueError, match=r"the counts of the children of state sum to 3 or more, but the count of state is 2"
    ):
        infer(Measurements(tree, ["state", "a"], [2, 3], exact))
    with pytest.raises(ValueError, match="the count of b is unbounded"):
        infer(Measurements(tree, ["a"], [3], exact), prior=Leaves("flat"))
    with pytest.raises(ValueError, match=r"the exact count of a is 3, but must be within the bounds 4 or more"):
        infer(Measurements(Tree([-1, 0], names=["s", "a"], lower=[0, 4]), ["a"], [3], exact), prior=Leaves("flat"))
    with pytest.raises(ValueError, match="concentrations must be finite and > 0"):
        infer(Measurements(tree, ["state"], [3], exact), prior=Splits(0.0))
    with pytest.raises(TypeError, match="prior must be Splits or Leaves"):
        infer(Measurements(tree, ["state"], [3], exact), prior="flat")


# --- tilts, evidence -----------------------------------------------------------------------------------------------


def test_tilts_balance_every_family():
    """Check that at the multipliers the tilted mean of a measured node is the sum of its children's, by full sums."""
    tree = Tree([-1, 0, 0, 1, 1, 2, 2])
    sigma = np.array([2.0, 1.5, 1.0, 2.0, 2.5, 3.0, 1.2])
    y = np.array([40.0, 10.0, 22.0, 9.0, 4.0, 7.0, 8.0])
    sites, lists, _ = Measurements(tree, np.arange(7), y, DiscreteGaussian(sigma=sigma)).weigh()
    given = tree.above, tree.count, sites, lists.joined(), _sites.reach(tree.above, sites)
    tilts, slacks, _, failed = _sites.balance(*given)
    assert failed[0] == -1
    assert (slacks >= 0).all()
    n = np.arange(200.0)

    def mean(v):
        above = tilts[tree.parent[v]] if v else 0.0
        logs = -((n - y[v]) ** 2) / (2 * sigma[v] ** 2) + (above - tilts[v]) * n
        p = np.exp(logs - logs.max())
        return n @ p / p.sum()

    for v, children in ((0, (1, 2)), (1, (3, 4)), (2, (5, 6))):
        sd = np.sqrt(sum(sigma[c] ** 2 for c in children))
        assert abs(mean(v) - sum(mean(c) for c in children)) < 0.3 * sd


def test_fitted_concentrations_make_the_measurements_most_probable():
    """Check that the gradient of the evidence is 0 at the fit, up to the weak prior; by enumerated evidence."""
    tree = Tree([-1, 0, 0, 0])
    measured = [(0, WIDE, 9.0), (1, WIDE, 8.0), (2, WIDE, 1.0), (3, WIDE, -1.0)]
    found = infer(measurements(tree, measured))
    fitted = found.facts["concentrations"]["level 1"]

    def evidence(log_a):
        each = np.exp(np.array([0.0, log_a, log_a, log_a]))
        law = Enumeration(
            [-1, 0, 0, 0],
            60,
            lambda n: splits([-1, 0, 0, 0], each, n, np.ones(4, bool)),
            measured,
            np.zeros(4),
            np.full(4, np.inf),
        )
        return law.log_evidence - log_a**2 / 8  # a normal law of sd 2 holds the log

    at = np.log(fitted)
    best = max(evidence(x) for x in np.linspace(-6, 6, 241))
    assert evidence(at) > best - 0.02
    assert found.log_evidence == pytest.approx(evidence(at) + at**2 / 8, abs=1e-12)


def test_a_fit_does_not_stop_where_its_curvature_is_that_of_elsewhere():
    """Return a valley that is narrow at the start and wide at its end, with the minimum near (1, -1.9)."""

    class Valley:
        levels = 2

        def cost(self, x):
            narrow = 100 * np.exp(-8 * x[0])
            value = 25 * (x[0] - 1) ** 2 + narrow * x[1] ** 2 / 2 + (x[1] + 2) ** 2 / 4
            return value, np.array([50 * (x[0] - 1) - 4 * narrow * x[1] ** 2, narrow * x[1] + (x[1] + 2) / 2])

    found = tree_posterior._lowest(Valley())[0]
    assert found == pytest.approx([1.0, -2 / (1 + 200 * np.exp(-8))], abs=0.3)


def test_a_large_tree_is_fitted_on_a_part_from_where_a_smaller_part_ends(monkeypatch):
    """Check a fit of the part that is as good as from equal shares, with fewer evaluations; all of a smaller tree."""
    tree, truth, sigma = minority(600)
    law = DiscreteGaussian(sigma=sigma)
    given = Measurements(tree, np.arange(len(tree)), law.sample(truth, rng=stream(12, "parts")), law)
    costs = []
    right = tree_posterior._Evidence.cost

    def counted(self, logs):
        found = right(self, logs)
        costs.append((len(self.tree), found[0], logs))
        return found

    monkeypatch.setattr(tree_posterior._Evidence, "cost", counted)
    infer(given)
    whole, costs[:] = list(costs), []
    assert {size for size, _, _ in whole} == {len(tree)}
    monkeypatch.setattr(tree_posterior, "MOST_NODES", 300)
    infer(given)
    few, part = sorted({size for size, _, _ in costs})
    assert few < part < len(tree)
    begun = [(value, logs) for size, value, logs in costs if size == part]
    assert len(begun) < len(whole)
    monkeypatch.setattr(
        tree_posterior, "_lowest", lambda evidence, *begin, right=tree_posterior._lowest: right(evidence)
    )
    costs[:] = []
    infer(given)
    direct = min(value for size, value, _ in costs if size == part)
    assert min(value for value, _ in begun) == pytest.approx(direct, abs=2 * tree_posterior.ENOUGH_EVIDENCE)


@pytest.mark.parametrize("prior", [Splits(0.7), Leaves("fitted")])
@pytest.mark.parametrize("law", [WIDE, {"law": "discrete_laplace", "scale": 0.8}])
def test_equal_leaves_of_a_large_family_share_their_messages(prior, law):
    """Compare 2,200 leaves of 4 values with the same leaves under different upper bounds, so that none are equal."""
    size = 2200
    values = stream(31, "equal leaves").choice([0.0, 1.0, 2.0, 9.0], size, p=[0.6, 0.2, 0.1, 0.1])
    total = [(0, law, float(values.sum()) + 3)] + [(1 + i, law, float(value)) for i, value in enumerate(values)]
    parents = [-1] + [0] * size
    shared = infer(measurements(Tree(parents), total), prior=prior)
    upper = np.arange(size + 1) + 10**6
    apart = infer(measurements(Tree(parents, upper=upper), total), prior=prior)
    # 69 groups of 32 leaves, 3 groups of those, and the root; of 4 values, at most 4 + 3 groups and the last differ
    assert apart._messages.distinct() == 69 + 3 + 1
    assert shared._messages.distinct() <= 4 + 3 + 1 + 3 + 1
    assert shared.log_evidence == pytest.approx(apart.log_evidence, rel=1e-12)
    for one, other in zip(shared.numbers(0.9), apart.numbers(0.9), strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)
    for v in (1, 700, size):
        assert shared.law(v).mean() == pytest.approx(apart.law(v).mean(), rel=1e-9)


def test_the_sum_of_unmeasured_siblings_has_the_sum_of_their_concentrations():
    """Compare the evidence, and its derivative, of a family with one node for 3 of its 5 children."""
    law, a = {"law": "discrete_gaussian", "sigma": 1.3}, 0.6
    given = [(0, law, 12.0), (1, law, 3.0), (2, law, 4.0)]
    costs = []
    for tree in (Tree([-1] + [0] * 5), Tree([-1, 0, 0, 0], members=[1, 1, 1, 3])):
        sites, lists, _ = measurements(tree, given).weigh()
        costs.append(tree_posterior._Evidence(tree, sites, lists, 1).cost(np.log([a])))
    assert costs[1][0] == pytest.approx(costs[0][0], abs=1e-5)  # messages of a fit are truncated
    assert costs[1][1] == pytest.approx(costs[0][1], abs=1e-5)


def test_a_large_family_is_fitted_on_some_children_and_the_sum_of_the_others(monkeypatch):
    rng, size = stream(32, "large family"), 2000
    law = DiscreteGaussian(sigma=2.0)
    truth = rng.negative_binomial(0.7, 0.7 / 30, size)
    tree = Tree([-1] + [0] * size)
    given = Measurements(tree, np.arange(size + 1), law.sample(tree.sums([0, *truth]), rng=rng), law)
    monkeypatch.setattr(tree_posterior, "MOST_NODES", 500)
    part, kept = tree_posterior.thinned(tree, 500)
    assert (len(part), part.members.tolist()) == (502, [1] * 501 + [1500])
    assert part.names[-1] == "1500 other children of 0"
    sites, _, _ = given.weigh_part(part, kept)
    left = np.setdiff1d(np.arange(size + 1), kept)
    assert sites["centre"][part.place[-1]] == given.released[left].sum()
    assert 0.5 / sites["square"][part.place[-1]] == pytest.approx(1500 * law.variance())
    fit = infer(given)
    assert fit.facts["fitted_on"]["nodes"] == 502
    assert fit.facts["concentrations"]["level 1"] == pytest.approx(0.7, rel=0.2)  # 500 shares: sd about .05


@pytest.mark.parametrize(
    ("law", "far"), [("discrete_laplace", 2 * 20 * np.log(10)), ("gaussian", 2 * np.sqrt(40 * np.log(10)))]
)
@pytest.mark.parametrize("scale", [1e5, 1e7, 1e12])
def test_noise_that_is_too_wide_is_rejected_with_the_number_of_possible_counts(law, far, scale):
    """Check the number of counts with a density of at least 1e-20 times its maximum: 2 scale log(1e20), or
    2 sd sqrt(2 log(1e20)).
    """
    words = {"law": law, "scale" if law == "discrete_laplace" else "sd": scale}
    given = measurements(Tree([-1, 0, 0]), [(0, words, 50.0), (1, words, 12.0), (2, words, 7.0)])
    with pytest.raises(_solver.Unsolved, match=r"[012]: about .* counts are possible given its measurements") as error:
        infer(given, prior=Splits(1.0))
    assert float(str(error.value).split("about ")[1].split()[0]) == pytest.approx(far * scale, rel=0.05)


@pytest.mark.parametrize("row", [0, 1])
def test_a_message_on_wide_sums_under_a_count_without_a_measurement_names_the_ways_out(row):
    given = measurements(Tree([-1, 0, 0]), [(0, {"law": "gaussian", "sd": 2.0}, 50.0)])
    sites = given.weigh()[0]
    sites["square"][row] = sites["absolute"][row] = 0.0
    sites["table"] = -1
    sites["lower"], sites["upper"] = 0, FAR
    text = _solver._words(given.tree, sites, 0, "wide")
    assert re.fullmatch(r"[01]: this count is not measured, .* or use a prior of the leaves, such as 'fitted'", text)
    assert "infinitely" not in text


def test_fitted_concentrations_recover_those_that_made_the_counts():
    rng = stream(8, "recover")
    tree = Tree(np.concatenate([[-1], np.zeros(30, int), np.repeat(np.arange(1, 31), 20)]))
    shares = rng.dirichlet(np.full(30, 2.0))
    truth = np.zeros(len(tree), dtype=np.int64)
    county = rng.multinomial(60_000, shares)
    for k in range(30):
        truth[31 + 20 * k : 51 + 20 * k] = rng.multinomial(county[k], rng.dirichlet(np.full(20, 0.5)))
    law = DiscreteGaussian(sigma=5.0)
    y = law.sample(tree.sums(truth), rng=rng)
    found = infer(Measurements(tree, np.arange(len(tree)), y, law))
    a, b = found.facts["concentrations"].values()
    assert 1.0 < a < 4.0  # 30 shares: the sd of the log of the estimate is about .25
    assert 0.44 < b < 0.57  # 600 shares: about .04


def test_a_prior_fitted_to_exact_counts_is_their_histogram(monkeypatch):
    """The cells of exact counts are known, so that the second step is the fixed point and the third gains nothing."""
    counts, solved = np.array([0] * 20 + [1] * 8 + [3] * 5 + [7] * 2 + [12]), []
    solve = _solver.solve
    monkeypatch.setattr(_solver, "solve", lambda *a, **k: (solved.append("goal" in k), solve(*a, **k))[1])
    tree = Tree([-1] + [0] * len(counts))
    found = infer(Measurements(tree, np.arange(1, len(tree)), counts, {"law": "exact"}), prior=Leaves("fitted"))
    prior = found.prior.of("")
    base = np.log(prior.edges[1:]) - np.log(np.maximum(prior.edges[:-1], 0.5))
    in_cells = np.histogram(counts, prior.edges - 0.5)[0]
    assert prior.masses == pytest.approx((in_cells + base / base.sum()) / (len(counts) + 1), rel=1e-9)
    assert solved == [True] * 3 + [False]


def test_a_prior_fitted_to_the_leaves_is_near_their_law():
    tree, truth, sigma = minority(2000)
    law = DiscreteGaussian(sigma=np.minimum(sigma, 3.0))
    y = law.sample(truth, rng=stream(9, "histogram"))
    found = infer(Measurements(tree, np.arange(len(tree)), y, law), prior=Leaves("fitted"))
    fitted = found.prior.of("")
    assert fitted.fitted_on == 2000
    assert fitted.masses[0] == pytest.approx((truth[tree.leaf] == 0).mean(), abs=0.06)
    with pytest.raises(ValueError, match="requires at least 30 leaves, got 2"):
        infer(Measurements(Tree([-1, 0, 0]), [0], [3], WIDE), prior=Leaves("fitted"))


@pytest.mark.parametrize(("tail", "beyond"), [(np.inf, np.inf), (0.5, -np.inf)])
def test_two_lists_without_a_common_count_have_an_empty_sum(tail, beyond):
    """If no count outside a list is possible, no count is; otherwise the decrease beyond the lists is unknown."""
    one, two = Listed(0, np.zeros(4), tail, tail), Listed(10, np.zeros(3), tail, tail)
    for found in (both(one, two), both(two, one)):
        assert len(found.logs) == 0
        assert (found.below, found.above) == (beyond, beyond)


THREE = {"law": "table", "counts": [0, 2, 4], "probabilities": [0.2, 0.3, 0.5]}


@pytest.mark.parametrize(
    ("words", "mean", "variance"),
    [
        ({"law": "geometric", "mean": 7.0}, 7.0, 7.0 + 7.0**2),
        ({"law": "negative_binomial", "mean": 6.0, "shape": 0.5}, 6.0, 6.0 + 6.0**2 / 0.5),
        # squared distances from the mean 0.3 * 2 + 0.5 * 4 = 2.6: 2.6^2, 0.6^2, 1.4^2
        (
            {"law": "table", "counts": [0, 2, 4], "probabilities": [0.2, 0.3, 0.5]},
            2.6,
            0.2 * 6.76 + 0.3 * 0.36 + 0.5 * 1.96,
        ),
        ("flat", np.inf, np.inf),
    ],
)
def test_moments_of_priors_by_hand(words, mean, variance):
    assert moments(prior_of(words)) == pytest.approx((mean, variance), rel=1e-12)
