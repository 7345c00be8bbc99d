"""Tests of counts with parents through the public interface: distributions by enumeration, exact questions."""

import numpy as np
import pandas as pd
import pytest
from reference.tree_enumeration import Enumeration, splits
from scipy.stats import betabinom, norm

import dpmultinomial as dpm
from dpmultinomial._inference import trees
from dpmultinomial._mechanisms.law_settings import law_of

PARENTS = {"state": None, "north": "state", "south": "state", "a": "north", "b": "north", "c": "north", "d": "south"}
VALUES = {"state": 14, "north": 9, "a": 6, "b": -1, "c": 3, "d": 4}
SIGMA = 1.4
WORDS = {"law": "discrete_gaussian", "sigma": SIGMA}
NAMES = list(PARENTS)
PARENT = [-1, 0, 0, 1, 1, 1, 2]


@pytest.fixture(scope="module")
def both():
    release = dpm.Release(VALUES, mechanism=dpm.DiscreteGaussian(sigma=SIGMA), parents=PARENTS, levels=["s", "r", "t"])
    found = dpm.posterior(release, prior={"r": 1.5, "t": 0.5})
    each = np.array([1.0, 1.5, 1.5, 0.5, 0.5, 0.5, 0.5])
    measured = [(NAMES.index(name), WORDS, float(value)) for name, value in VALUES.items()]
    law = Enumeration(PARENT, 30, lambda n: splits(PARENT, each, n, np.ones(7, bool)), measured, [0] * 7, [np.inf] * 7)
    return found, law


def test_counts_are_those_of_enumeration_with_least_squares_beside(both):
    found, law = both
    for i, name in enumerate(NAMES):
        p = law.law(i)
        assert found.counts[name].mean() == pytest.approx(np.arange(len(p)) @ p, abs=1e-11)
    assert found.facts["log_evidence"] == pytest.approx(law.log_evidence, abs=1e-11)
    assert found.accuracy.status == "exact"
    rows = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    expected = np.linalg.lstsq(rows, np.array(list(VALUES.values()), dtype=float), rcond=None)[0]
    got = [found.facts["least_squares"][name][0] for name in "abcd"]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert found.facts["conflict"]["tested"] == len(VALUES)
    assert not found.facts["conflict"]["found"]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ({"sum": ["a", "b", "c"]}, lambda n: n["a"] + n["b"] + n["c"]),
        ({"sum": ["a", "c"]}, lambda n: n["a"] + n["c"]),
        ({"difference": [["a", "b"], ["c"]]}, lambda n: n["a"] + n["b"] - n["c"]),
        ({"difference": ["north", "south"]}, lambda n: n["north"] - n["south"]),
        ({"difference": ["d", "b"]}, lambda n: n["d"] - n["b"]),
        ({"difference": ["state", "a"]}, lambda n: n["state"] - n["a"]),
        ({"sum": ["c", "d"]}, lambda n: n["c"] + n["d"]),
        ({"ratio": ["a", "state"]}, lambda n: n["a"] / n["state"]),
        ({"share": {"of": ["a"], "among": ["a", "b"]}}, lambda n: n["a"] / (n["a"] + n["b"])),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "value",
)
def test_questions_about_siblings_and_pairs_are_exact(both, question, value):
    found, law = both
    row = found.ask({"asked": question}).iloc[0]
    counts = {name: law.counts[i].astype(float) for i, name in enumerate(NAMES)}
    with np.errstate(divide="ignore", invalid="ignore"):
        each = value(counts)
    defined = np.isfinite(each)
    p = law.p[defined] / law.p[defined].sum()
    mean = each[defined] @ p
    assert (row["status"], row["error"]) == ("exact", 0.0)
    assert row["mean"] == pytest.approx(mean, abs=1e-10)
    assert row["sd"] == pytest.approx(np.sqrt((each[defined] - mean) ** 2 @ p), abs=1e-7)


def test_probabilities_are_exact_of_pairs_and_drawn_beyond(both):
    found, law = both
    n = {name: law.counts[i] for i, name in enumerate(NAMES)}
    assert float(found.probability("north > south")) == pytest.approx(law.p[n["north"] > n["south"]].sum(), abs=1e-12)
    assert float(found.probability("a > 2 * d")) == pytest.approx(law.p[n["a"] > 2 * n["d"]].sum(), abs=1e-12)
    assert float(found.probability("a + b > c")) == pytest.approx(law.p[n["a"] + n["b"] > n["c"]].sum(), abs=1e-12)
    with pytest.raises(ValueError, match="rng"):
        found.probability("a + d > c")
    chance = found.probability("a + d > c", rng=dpm.stream(1, "wide"))
    assert chance.accuracy.status == "approximate"
    exact = law.p[n["a"] + n["d"] > n["c"]].sum()
    assert abs(float(chance) - exact) < norm.isf(5e-7) * chance.accuracy.error


def test_bounds_unmeasured_and_withheld_counts():
    values = {"state": 14, "north": None, "a": 6, "b": None, "c": 3, "d": 4}
    bounds = (0, [14, np.inf, np.inf, np.inf, 3, np.inf])
    withheld = {"law": "discrete_gaussian", "sigma": SIGMA, "threshold": 2}
    laws = [WORDS, WORDS, WORDS, withheld, WORDS, WORDS]
    release = dpm.Release(values, mechanism=laws, parents=PARENTS, bounds=bounds)
    found = dpm.posterior(release, prior="1/(1+n)")
    measured = [(0, WORDS, 14.0), (3, WORDS, 6.0), (4, withheld, np.nan), (5, WORDS, 3.0), (6, WORDS, 4.0)]
    upper = [14, np.inf, np.inf, np.inf, np.inf, 3, np.inf]
    law = Enumeration(PARENT, 30, lambda n: -sum(np.log1p(n[v]) for v in range(3, 7)), measured, [0] * 7, upper)
    for i, name in enumerate(NAMES):
        p = law.law(i)
        assert found.counts[name].mean() == pytest.approx(np.arange(len(p)) @ p, abs=1e-11)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (
            {"parents": {"state": None}},
            "parents must have an entry for every count, but the entry is missing for north, a, b, c, d",
        ),
        ({"parents": {**PARENTS, "south": "nowhere"}}, "parent of south must be a node, got 'nowhere'"),
        ({"parents": PARENTS, "total": {"released": 14, "noise": {"law": "exact"}}}, "as a measurement of the root"),
        (
            {"parents": PARENTS, "total": 14, "bounds": (0, 9)},
            "bounds must satisfy 0 <= lower <= upper, got 14 to 9 for the node state",
        ),
        ({"parents": PARENTS, "levels": ["s", "r"]}, "levels must contain one name per level .3 levels., got 2"),
        ({"levels": ["s"]}, "only together with parents, got levels = "),
        ({"parents": {**PARENTS, "state": "d"}}, "parent must be -1 for exactly one node .the root., got -1 for 0"),
    ],
)
def test_what_is_no_tree_is_refused(rest, message):
    with pytest.raises(ValueError, match=message):
        dpm.posterior(dpm.Release(VALUES, mechanism=dpm.Laplace(scale=1.0), **rest))


def test_a_mechanism_of_something_else_is_refused():
    swap = dpm.Release(VALUES, mechanism=dpm.Swap(rate=0.1), parents=PARENTS)
    with pytest.raises(TypeError, match="mechanism must be a noise distribution for counts"):
        dpm.posterior(swap)


SCALES = [1.0, 10.0, 100.0, 3e3, 1e4, 3e4, 1e5, 1e6, 1e9, 1e12]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("law", [dpm.Laplace, dpm.DiscreteLaplace])
def test_a_tree_of_large_counts_has_an_answer_or_an_error_with_the_size_at_every_scale(law, scale):
    """Compare the mean of the root with least squares: far from 0, prior and bounds hardly matter (under .3 sd)."""
    released = {"all": 300_100, "a": 100_000, "b": 100_300, "c": 99_800}
    parents = {"all": None, "a": "all", "b": "all", "c": "all"}
    release = dpm.Release(released, mechanism=law(scale=scale), parents=parents)
    if scale >= 3e3:
        with pytest.raises(ValueError, match=r"(all|c): about .* counts are possible given its"):
            dpm.posterior(release)
        return
    found = dpm.posterior(release, prior=1.0)
    assert found.accuracy.status == "exact"
    estimate, sd = found.facts["least_squares"]["all"]
    assert abs(found.counts["all"].mean() - estimate) < 0.3 * sd


@pytest.mark.parametrize("scale", [1.0, 10.0, 30.0, 1e6, 1e9, 1e12])
def test_a_tree_of_small_counts_has_an_answer_or_an_error_with_the_size_at_every_scale(scale):
    """Compare with full sums over both counts, with the weights of the noise, the splits and a flat total."""
    released, parents = {"all": 13, "a": 7, "b": 4}, {"all": None, "a": "all", "b": "all"}
    release = dpm.Release(released, mechanism=dpm.DiscreteLaplace(scale=scale), parents=parents)
    if scale > 100:
        with pytest.raises(ValueError, match=r"(all|a|b): about .* counts are possible"):
            dpm.posterior(release, prior=1.0)
        return
    n = np.arange(60 * scale + 60)
    logs = -(np.abs(n[:, None] - 7) + np.abs(n - 4) + np.abs(n[:, None] + n - 13)) / scale
    weights = np.exp(logs) / (n[:, None] + n + 1)  # (N + 1) splits of each total N are equally likely
    found = dpm.posterior(release, prior=1.0)
    assert found.counts["a"].mean() == pytest.approx((weights.sum(axis=1) @ n) / weights.sum(), rel=1e-9)


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12])
def test_counts_with_a_total_tend_to_their_prior_under_wide_noise(scale):
    """Check the limit: beta-binomial counts of 3,000 records, with concentrations 1/2 and 1."""
    release = dpm.Release({"a": 3000, "b": 100, "c": 5}, mechanism=dpm.DiscreteLaplace(scale=scale), total=3000)
    count = dpm.posterior(release).counts["a"]
    limit = betabinom(3000, 0.5, 1.0)
    assert count.mean() == pytest.approx(limit.mean(), rel=5000 / scale)
    assert count.sd() == pytest.approx(limit.std(), rel=5000 / scale)


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12])
def test_single_counts_under_too_wide_noise_are_rejected_with_the_number_of_counts(scale):
    """Check the number of possible counts: 40 scales above the released value, and the value below."""
    release = dpm.Release({"a": 3000, "b": 100}, mechanism=dpm.DiscreteLaplace(scale=scale))
    with pytest.raises(ValueError, match=r"a: .* the noise is too large: .* true counts are possible") as error:
        dpm.posterior(release)
    assert float(str(error.value).split("too large: ")[1].split()[0]) == pytest.approx(40 * scale, rel=0.01)


@pytest.mark.parametrize(
    ("options", "prior", "words"),
    [
        ({}, None, None),
        ({}, "1/(1+n)", None),
        ({}, "fitted", "fitting a prior requires at least 30 leaves, got 4: choose"),
        ({}, [1.0], "concentrations must be one number or 2 numbers"),
        ({}, {"r": 1.0, "t": 2.0}, None),
        ({}, {"r": 1.0}, r"one entry per level \(r, t\), got entries for r"),
        ({"bounds": (0, 3)}, None, None),
    ],
)
def test_a_tree_is_checked_before_inference(options, prior, words):
    law = dpm.DiscreteGaussian(sigma=SIGMA)
    release = dpm.Release(VALUES, mechanism=law, parents=PARENTS, levels=["s", "r", "t"], **options)
    if words is None:
        trees.refuse(release, prior)
        return
    with pytest.raises(ValueError, match=words):
        trees.refuse(release, prior)


def test_an_impossible_value_of_a_tree_is_named():
    law = dpm.DiscreteGaussian(sigma=SIGMA)
    release = dpm.Release({"state": 9, "north": 2.5, "south": 3.5}, mechanism=law, parents=[None, 0, 0])
    with pytest.raises(
        ValueError, match=r"^north: the released value 2\.5 cannot be used, because this value is impos"
    ):
        trees.refuse(release, None)


def test_the_tightest_bounds_of_a_node_are_used():
    """Check two values of a node with different bounds, a total, and a node without a value."""
    release = dpm.Release(
        [9, 8, 3], names=["all", "a", "a"], mechanism=dpm.Laplace(scale=1.0), bounds=([2, 1, 3], [20, 7, 9]), total=12,
        parents={"all": None, "a": "all", "b": "all"},
    )  # fmt: skip
    tree = trees._tree(release)
    assert tree.lower.tolist() == [12, 3, 0]
    assert tree.upper[:2].tolist() == [12, 7]
    assert tree.upper[2] == np.iinfo(np.int64).max
    free = trees._tree(dpm.Release([9, 8], mechanism=dpm.Laplace(scale=1.0), parents=[None, 0]))
    assert free.lower.tolist() == [0, 0]
    missing = dpm.Release([9] * 7, mechanism=dpm.Laplace(scale=1.0), names=list("abcdefg"), parents={"a": None})
    with pytest.raises(ValueError, match=r"the entry is missing for b, c, d, e, f$"):
        trees._tree(missing)


def test_noise_of_values_and_withheld_values():
    plain = dpm.DiscreteLaplace(scale=1.0)
    laws = trees.laws_by_row([plain, {"law": "discrete_laplace", "scale": 1.0, "threshold": 3}, plain.clipped(0)], 3)
    assert trees.withholding(laws, 3).tolist() == [False, True, False]
    assert trees.withholding(plain, 2).tolist() == [False, False]
    assert trees.withholding(plain.threshold(3), 2).tolist() == [True, True]
    assert trees.withholding(plain.clipped(0), 1).tolist() == [False]
    assert trees.laws_by_row(plain, 2).which.tolist() == [0, 0]
    many = dpm.Laplace(scale=np.array([1.0, 2.0]))
    assert trees.laws_by_row(many, 2) is many
    with pytest.raises(ValueError, match=r"one distribution per value \(3 values\), got 2 distributions"):
        trees.laws_by_row(many, 3)
    with pytest.raises(TypeError, match="mechanism must be a noise distribution for counts if parents are given"):
        trees.laws_by_row("laplace", 3)


def test_least_squares_are_missing_where_nothing_is_known():
    law, parents = law_of({"law": "gaussian", "sd": 2.0}), {"a": "all", "b": "all", "all": None}
    release = dpm.Release({"all": 9.0, "a": 4.0}, mechanism=law, parents=parents)
    measured = trees._measurements(release)
    found = trees.least_squares_by_name(measured.least_squares())
    assert found == {"a": [4.0, 2.0], "b": [5.0, pytest.approx(8**0.5)], "all": [9.0, 2.0]}
    alone = dpm.Release({"all": 9.0}, mechanism=law, parents=parents)
    found = trees.least_squares_by_name(trees._measurements(alone).least_squares())
    assert found == {"a": [None, None], "b": [None, None], "all": [9.0, 2.0]}


def test_groups_of_a_release_are_those_of_named_nodes():
    release = dpm.Release(
        {"all": 9.0, "a": 4.0}, mechanism=dpm.Laplace(scale=1.0), parents={"all": None, "a": "all", "b": "all"},
        groups=["top", 7],
    )  # fmt: skip
    tree = trees._tree(release)
    assert trees.prior_of("flat", release, tree).groups == ("top", "7", "")
    assert trees.prior_of({"law": "geometric", "mean": 3.0}, release, tree).groups == ("top", "7", "")
    assert trees.prior_of(2.0, release, tree).concentrations == 2.0
    assert trees.prior_of({"level 1": 2.0}, release, tree).concentrations == {"level 1": 2.0}
    ready = trees.Leaves("flat")
    assert trees.prior_of(ready, release, tree) is ready


def test_the_limit_of_cells_for_which_a_chain_is_the_default(monkeypatch):
    """Check one node with three cells: a chain needs a generator, and least squares do not."""
    law = dpm.DiscreteGaussian(sigma=2.0)
    release = dpm.Release({"a": 30, "b": 20, "c": 10}, mechanism=law, queries={"ab": ["a", "b"]})
    monkeypatch.setattr(trees, "LARGE", 3)
    with pytest.raises(ValueError, match=r"^rng is required, because the posterior of crossed cells is sampled"):
        dpm.posterior(release)
    monkeypatch.setattr(trees, "LARGE", 2)
    found = dpm.posterior(release, prior=1.0)
    assert found.method == "least squares, then one tree per cell"
    assert found.counts.names == ("a", "b", "c", "ab")
    assert found.counts.sample(6, rng=dpm.stream(1, "cells")).shape == (6, 4)
    assert found.facts["least_squares"]["ab"] == pytest.approx([50.0, 8**0.5])
    assert np.isnan(found.accuracy.error)
    assert set(found.facts["concentrations"]) == {"a", "b", "c"}


def test_the_fast_method_treats_cells_as_independent_and_states_it():
    """Check the noise variance 4 of a, b and a + b. The estimates have the covariance 4/3 ((2, -1), (-1, 2)), so the
    sum has the variance 8/3 by its own tree, and 8/3 + 8/3 by draws of a and b.
    """
    noisy = {"a": 100, "b": 120, "ab": 220}
    release = dpm.Release(noisy, mechanism=dpm.DiscreteGaussian(sigma=2.0), queries={"ab": ["a", "b"]})
    found = dpm.posterior(release, prior="flat", method="least squares")
    asked = found.ask({"own": {"sum": ["ab"]}, "drawn": {"sum": ["a", "b"]}}, rng=dpm.stream(1, "apart"))
    assert asked["sd"].tolist() == pytest.approx([(8 / 3) ** 0.5, (16 / 3) ** 0.5], rel=0.02)
    assert "the dependence between different cells and sums are neglected" in found.accuracy.reason


def test_the_parents_of_several_nodes_with_queries_are_required():
    table = pd.DataFrame([[1, 2], [3, 4]], index=["n", "s"], columns=["a", "b"])
    release = dpm.Release(table, mechanism=dpm.DiscreteGaussian(sigma=2.0), queries={"ab": ["a", "b"]})
    with pytest.raises(ValueError, match="parents must contain the parent of each of the 2 nodes, got None"):
        dpm.posterior(release)
    release = dpm.Release(table, mechanism=dpm.DiscreteGaussian(sigma=2.0), queries={}, parents={"n": None})
    with pytest.raises(ValueError, match=r"parents must have an entry for every node, but the entry is missing for s$"):
        dpm.posterior(release)


def test_all_counts_of_a_tree_are_those_that_contain_no_others():
    """Counts without noise: the sum of the leaves is the root, and shares and ranks are among the leaves."""
    parents = {"all of it": None, "x": "all of it", "c": "all of it", "a": "x", "b": "x"}
    release = dpm.Release({"all of it": 60, "x": 30, "c": 30, "a": 10, "b": 20}, mechanism=dpm.Exact(), parents=parents)
    found = dpm.posterior(release)
    shares = {name: {"share": {"of": name, "among": "all"}} for name in "abc"}
    below = {"x in it": {"share": {"of": "x", "among": "all of it"}}, "a in x": {"share": {"of": "a", "among": "x"}}}
    below |= {
        "two": {"share": {"of": ["a", "c"], "among": ["x", "c"]}},
        "a in it": {"share": {"of": "a", "among": "all of it"}},
    }
    questions = {"sum": {"sum": "all"}, **shares, **below, "r": {"rank": {"of": "all"}}}
    rows = found.ask(questions, rng=dpm.stream(1, "t")).set_index("quantity")["mean"]
    assert [rows[name] for name in ("sum", "a", "b", "c")] == pytest.approx([60, 1 / 6, 1 / 3, 1 / 2])
    assert [rows[name] for name in below] == pytest.approx([1 / 2, 1 / 3, 2 / 3, 1 / 6])
    assert {name: rows.get(f"r: {name}") for name in parents} == {"all of it": None, "x": None, "a": 3, "b": 2, "c": 1}
    with pytest.raises(ValueError, match=r"which lacks x \('all' omits sums of other quantities\)"):
        found.ask({"q": {"share": {"of": "x", "among": "all"}}})
    for of, among, key in (("a", ["x", "a", "c"], "among"), (["b", "x"], "all of it", "of")):
        with pytest.raises(ValueError, match=f"share: [ab] is a part of x, .* list only one of them under '{key}'"):
            found.ask({"q": {"share": {"of": of, "among": among}}})


@pytest.mark.parametrize("method", ["chain", "least squares"])
def test_all_counts_of_crossed_cells_are_the_cells(method):
    """Noise of sd .05 leaves the counts as they are; the total of the four cells is 10."""
    sums = {"top": ["a", "b"], "every": ["a", "b", "c", "d"]}
    law = dpm.DiscreteGaussian(sigma=0.05)
    release = dpm.Release({"a": 1, "b": 2, "c": 3, "d": 4, "top": 3, "every": 10}, mechanism=law, queries=sums)
    found = dpm.posterior(release, method=method, rng=dpm.stream(1, "t"))
    assert found.ask({"q": {"sum": "all"}}, rng=dpm.stream(2, "t"))["mean"].tolist() == pytest.approx([10])
    rows = {name: dict.fromkeys("abcd", 3) for name in ("n", "m")} | {"nm": dict.fromkeys("abcd", 6)}
    tree = {"nm": None, "n": "nm", "m": "nm"}
    release = dpm.Release(pd.DataFrame(rows).T, mechanism=law, queries={}, parents=tree)
    found = dpm.posterior(release, method=method, rng=dpm.stream(1, "t"))
    assert found.ask({"q": {"sum": "all"}}, rng=dpm.stream(2, "t"))["mean"].tolist() == pytest.approx([24])
