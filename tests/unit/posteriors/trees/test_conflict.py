"""Tests of contradictions of released values: p-values by enumeration and the normal model, and the findings."""

import numpy as np
import pytest
from reference.tree_enumeration import Enumeration, likelihood, splits
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.trees import conflict
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import Leaves, Splits, Tree
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._seeding import stream

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


def test_a_value_that_nothing_else_speaks_of_is_never_in_conflict():
    alone = infer(Measurements(Tree([-1, 0]), [1], [50.0], {"law": "gaussian", "sd": 2.0}), prior=Splits(1.0))
    assert conflict.p_value(alone, 0) == 1.0
    mixed = [law_of({"law": "exact"}), law_of({"law": "discrete_gaussian", "sigma": 1.0})]
    exact = infer(Measurements(Tree([-1, 0, 0]), [0, 1], [50.0, 20.0], mixed), prior=Splits(1.0))
    assert conflict.facts(exact)["tested"] == 1


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
