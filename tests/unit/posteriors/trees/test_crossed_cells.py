"""Tests of crossed cells: the moves of the chain by enumeration, and the chain against the fast approximation."""

import numpy as np
import pandas as pd
import pytest
from reference.tree_enumeration import CrossedEnumeration, splits

import dpmultinomial as dpm
from dpmultinomial._accuracy import Accuracy
from dpmultinomial._inference import trees
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.noise_law import LawByRow
from dpmultinomial._posteriors.trees import crossed_cells, crossed_chain
from dpmultinomial._posteriors.trees._solver import drawn, solve
from dpmultinomial._posteriors.trees.crossed_chain import Crossed, Moves, directions, starts
from dpmultinomial._posteriors.trees.tree import Leaves, Splits, Tree
from dpmultinomial._seeding import stream

TABLE = {"a": ["a"], "b": ["b"], "c": ["c"], "d": ["d"]}
MARGINS = TABLE | {"ab": ["a", "b"], "cd": ["c", "d"], "ac": ["a", "c"], "bd": ["b", "d"], "all": list("abcd")}
PARENT, MOST = [-1, 0, 0], 3
GAUSSIAN = {"law": "discrete_gaussian", "sigma": 1.2}
EXACT = {"law": "exact"}
OTHERS = [
    {"law": "laplace", "scale": 0.9},
    {"law": "discrete_laplace", "scale": 0.7},
    {"law": "gaussian", "sd": 1.1},
    {"law": "discrete_gaussian", "sigma": 1.2, "clipped": {"at": 1}},
    {"law": "discrete_laplace", "scale": 0.8, "threshold": 2},
    {"law": "discrete_gaussian", "sigma": 1.0, "rounded": 3},
]
PRIORS = {
    "splits": (Splits([0.6]), lambda n: splits(PARENT, np.array([1.0, 0.6, 0.6]), n, np.ones(3, bool))),
    "reciprocal": (Leaves("1/(1+n)"), lambda n: -np.log1p(n[1]) - np.log1p(n[2])),
    "geometric": (
        Leaves({"law": "geometric", "mean": 1.5}),
        lambda n: (n[1] + n[2]) * np.log(0.6) + 2 * np.log(0.4),
    ),
    "table": (
        Leaves({"law": "table", "counts": [0, 1, 2, 3], "probabilities": [0.4, 0.3, 0.2, 0.1]}),
        lambda n: np.log(0.4 - 0.1 * n[1]) + np.log(0.4 - 0.1 * n[2]),
    ),
}


def the_case(seed, prior, exact=(), laws=None):
    """Two leaves of four cells with counts up to `MOST` below a root; measured values, and all counts."""
    rng = stream(seed, "crossed cells")
    names = list(MARGINS)
    sums = np.array([[cell in MARGINS[name] for cell in "abcd"] for name in names])
    leaves = rng.integers(0, MOST + 1, (2, 4))
    truth = np.concatenate([leaves.sum(axis=0, keepdims=True), leaves])
    released, each, measured = np.full((3, len(names)), np.nan), [], []
    for node in range(3):
        for query, name in enumerate(names):
            words = EXACT if (node, name) in exact else (laws[rng.integers(len(laws))] if laws else GAUSSIAN)
            each.append(law_of(words))
            if (node, name) in exact or rng.random() < 0.7:
                value = float(each[-1].sample(truth[[node]] @ sums[query], rng=rng)[0])
                released[node, query] = value
                if not np.isnan(value):
                    measured.append((node, np.flatnonzero(sums[query]), words, value))
    upper = np.full((3, len(names)), np.inf)
    upper[1:, :4] = MOST
    crossed = Crossed(Tree(PARENT), MARGINS, released, LawByRow.of(each), upper=upper)
    return crossed, CrossedEnumeration(PARENT, 4, MOST, PRIORS[prior][1], measured), truth


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("laws", [None, OTHERS], ids=["gaussian", "others"])
def test_every_move_has_the_law_that_enumeration_gives_it(prior, laws):
    """Check moves given all other counts, along every direction, at the root and at both leaves."""
    crossed, law, truth = the_case(3, prior, laws=laws)
    ways = np.concatenate([directions(4, crossed.exact), [[1, -1, -1, 1]]])
    moves = Moves(crossed, [PRIORS[prior][0]] * 4, ways)
    state = starts(crossed, truth)
    for which, way in enumerate(ways):
        sites, tables = moves.weights(state, which)
        messages = solve(crossed.tree, sites, tables).messages
        found = {0: messages.root(), **dict(enumerate(messages.family(0)[2], start=1))}
        for node in range(3):
            expected = law.along(truth, way, node)
            first, p = found[int(crossed.tree.place[node])]
            got = np.zeros(len(expected))
            n = np.arange(first, first + len(p))
            got[n[(n >= 0) & (n < len(got))]] = p[(n >= 0) & (n < len(got))]
            np.testing.assert_allclose(got, expected, atol=1e-10)
        new = drawn(crossed.tree, messages, stream(which, "draw"))
        assert new[0] == new[1:].sum()
        assert expected[new[crossed.tree.place[2]]] > 0


@pytest.mark.parametrize(
    ("prior", "exact"),
    [
        ("splits", ()),
        pytest.param("reciprocal", ((0, "all"),), marks=pytest.mark.thorough),
        pytest.param("splits", ((1, "all"), (2, "all")), marks=pytest.mark.thorough),
        pytest.param("geometric", ((0, "ab"), (0, "cd")), marks=pytest.mark.thorough),
        ("splits", tuple((v, name) for v in (1, 2) for name in ("ab", "cd", "ac", "bd"))),
        pytest.param("splits", ((0, "b"), (1, "ab"), (2, "bd")), marks=pytest.mark.thorough),
    ],
    ids=["none", "total", "totals", "rows", "both margins", "mixed"],
)
def test_the_chain_is_the_law_of_enumeration(prior, exact):
    """Check the means of all cells and sums, to five standard errors of converged chains."""
    crossed, law, _ = the_case(11, prior, exact)
    near = crossed_cells.laws(crossed, PRIORS[prior][0])[:4]
    found = crossed_chain.sample(crossed, priors=[PRIORS[prior][0]] * 4, near=near, rng=stream(1, "chain", prior))
    assert found.accuracy.status == "converged"
    least = float(found.facts.get("ess", np.inf))
    for node in range(3):
        for target, cover in enumerate(crossed.cover):
            p = law.law(node, np.flatnonzero(cover))
            n = np.arange(len(p))
            mean = n @ p
            sd = np.sqrt(max(n**2 @ p - mean**2, 0.0))
            error = abs(found.draws[:, :, node, target].mean() - mean)
            assert error <= 5 * sd / np.sqrt(least) + 1e-9, (node, crossed.targets[target])


def test_directions_are_as_many_as_exact_sums_need():
    rows = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    columns = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])
    assert len(directions(4, np.zeros((0, 4), dtype=np.int64))) == 4 + 6 == len(directions(4, rows))
    found = directions(4, np.concatenate([rows, columns]))
    assert len(found) == 11
    assert sorted(found[-1].tolist()) == [-1, -1, 1, 1]
    assert not (np.concatenate([rows, columns]) @ found[-1]).any()
    cube = np.array(list(np.ndindex(2, 2, 2)))
    faces = [
        ((cube[:, i] == a) & (cube[:, j] == b)).astype(int)
        for i, j in ((0, 1), (0, 2), (1, 2))
        for a in (0, 1)
        for b in (0, 1)
    ]
    with pytest.raises(ValueError, match=r"overlap in three dimensions: use method='least squares'"):
        directions(8, np.array(faces))


def test_starts_satisfy_exact_sums_and_change_nothing_else():
    crossed, _, truth = the_case(5, "splits", ((0, "all"), (1, "ab"), (2, "ac")))
    near = truth + 1
    found = crossed.tree.sums(crossed_chain.possible(crossed, near))
    sums = found @ crossed.sums.T.astype(int)
    assert ((sums >= crossed.lower) & (sums <= crossed.upper)).all()
    np.testing.assert_array_equal(crossed.tree.sums(crossed_chain.possible(crossed, truth)), truth)
    gap = np.abs(found - near)[1:].sum()
    assert gap <= np.abs(truth - near)[1:].sum()  # the truth is possible, the nearest is no further


def test_best_estimates_in_a_node_are_those_of_least_squares():
    """Compare with the pseudo-inverse of the weighted sums; exact totals are kept, undetermined sums are omitted."""
    y = np.array([[5.0, 9.0, 2.0, 7.0, 12.0, 10.0, 8.0, 15.0, 25.0]])
    sds = np.array([1.0, 2, 3, 1, 2, 1, 1.5, 2, 0.5])
    law = LawByRow.of([law_of({"law": "gaussian", "sd": sd}) for sd in sds])
    crossed = Crossed(Tree([-1]), MARGINS, y, law)
    weighted = crossed.sums / sds[:, None]
    inverse = np.linalg.pinv(weighted)
    expected = inverse @ (y[0] / sds)
    spread = inverse @ inverse.T
    for target, one in enumerate(crossed_cells.combined(crossed)):
        cover = crossed.cover[target].astype(float)
        assert one.values[0] == pytest.approx(cover @ expected, abs=1e-10)
        assert one.variance[0] == pytest.approx(cover @ spread @ cover, abs=1e-10)
    exact = Crossed(Tree([-1]), MARGINS, y, LawByRow.of([*law.laws[:0], *[law_of(GAUSSIAN)] * 8, law_of(EXACT)]))
    found = crossed_cells.combined(exact)
    assert sum(one.values[0] for one in found[:4]) == pytest.approx(25.0, abs=1e-10)
    assert (found[-1].values[0], found[-1].variance[0], found[-1].alone[0]) == (25.0, 0.0, 8)
    some = y.copy()
    some[0, [1, 2, 3, 4, 5, 7, 8]] = np.nan  # a, and a + c: b and d stay open
    sizes = [len(one.values) for one in crossed_cells.combined(Crossed(Tree([-1]), MARGINS, some, law))]
    assert sizes == [1, 0, 1, 0, 0, 0, 1, 0, 0]


def big(rng, sigma=2.0):
    """Check cells of at least 40 in every leaf, with all queries in all nodes and equal noise: the dependence of the
    cells is the same everywhere, so that one tree per cell is exact if no count is near 0."""
    tree = Tree([-1, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3])
    leaves = rng.integers(40, 120, (len(tree), 4))
    truth = tree.sums(leaves)
    law = law_of({"law": "discrete_gaussian", "sigma": sigma})
    sums = np.array([[cell in cells for cell in "abcd"] for cells in MARGINS.values()]).astype(int)
    return Crossed(tree, MARGINS, law.sample(truth @ sums.T, rng=rng).astype(float), law), truth @ sums.T


@pytest.mark.thorough
def test_the_fast_way_is_the_chain_where_counts_are_large():
    crossed, _ = big(stream(4, "large"))
    laws = crossed_cells.laws(crossed, None)
    found = crossed_chain.sample(
        crossed, priors=[law.prior for law in laws[:4]], near=laws[:4], rng=stream(5, "large chain")
    )
    assert found.accuracy.status == "converged"
    for target, law in enumerate(laws):
        draws = found.draws[:, :, :, target].reshape(-1, len(crossed.tree))
        error = 1 / np.sqrt(found.facts["ess"])
        assert np.abs(draws.mean(axis=0) - law.mean).max() <= (5 * error + 0.05) * law.sd.max()
        np.testing.assert_allclose(draws.std(axis=0) / law.sd, 1.0, atol=5 * error / np.sqrt(2) + 0.05)


@pytest.mark.thorough
def test_the_face_gives_both_and_says_which():
    noisy = {"a": 3, "b": 11, "c": 6, "d": 14, "ac": 12, "bd": 22, "all": 35}
    given = {name: MARGINS[name] for name in ("ac", "bd", "all")}
    release = dpm.Release(noisy, mechanism=dpm.DiscreteGaussian(sigma=2.0), queries=given)
    fast = dpm.posterior(release, method="least squares")
    chain = dpm.posterior(release, rng=stream(1, "face"))
    assert (fast.method, fast.accuracy.status) == ("least squares, then one tree per cell", "approximate")
    assert (chain.method, chain.accuracy.status) == ("chain of trees", "converged")
    assert chain.facts["ess"] >= 400
    assert chain.facts["rhat"] <= 1.01
    assert chain.counts.names == fast.counts.names == ("a", "b", "c", "d", "ac", "bd", "all")
    draws = chain.sample(50, rng=stream(2, "face"))["counts"]
    np.testing.assert_array_equal(draws[:, 0] + draws[:, 2], draws[:, 4])
    for name in chain.counts.names:
        assert chain.counts[name].mean() == pytest.approx(fast.counts[name].mean(), abs=0.25)
    with pytest.raises(ValueError, match="the posterior of crossed cells is sampled by a Markov chain"):
        dpm.posterior(release)


def test_the_face_takes_nodes_by_queries(monkeypatch):
    """Check rows in any order, nodes without a row, a distribution per query, an exact total at the root, bounds."""
    table = pd.DataFrame({"all": [30.0, np.nan], "a": [9.0, 4.0], "b": [20.0, 6.0]}, index=["n", "s"])
    table.loc["state"] = [41.0, np.nan, np.nan]
    laws = {"all": [{"law": "discrete_gaussian", "sigma": 1.5}] * 2 + [EXACT], "cell": GAUSSIAN}
    each = [law for top in laws["all"] for law in (top, laws["cell"], laws["cell"])]
    parents = {"state": None, "s": "state", "n": "state"}
    release = dpm.Release(table, mechanism=each, queries={"all": ["a", "b"]}, parents=parents, bounds=(0, 35))
    with pytest.raises(
        ValueError, match=r"bounds must satisfy 0 <= lower <= upper.*41 to 35 for the node state and the query all"
    ):
        dpm.posterior(release, rng=stream(1, "face"))
    release = dpm.Release(table, mechanism=each, queries={"all": ["a", "b"]}, parents=parents)
    found = dpm.posterior(release, rng=stream(1, "face"))
    assert found.counts.names[:3] == ("state/a", "state/b", "state/all")
    assert found.counts["state/all"].interval() == (41.0, 41.0)
    draws = found.sample(200, rng=stream(2, "face"))["counts"]
    at = {name: draws[:, i] for i, name in enumerate(found.counts.names)}
    for cell in ("a", "b", "all"):
        np.testing.assert_array_equal(at[f"state/{cell}"], at[f"n/{cell}"] + at[f"s/{cell}"])
    assert found.facts["constant"] == 1
    fast = dpm.posterior(release, method="least squares")
    assert fast.facts["least_squares"]["state/all"] == [41.0, 0.0]
    by_query = {"all": GAUSSIAN, "a": GAUSSIAN, "b": {"law": "laplace", "scale": 2.0}}
    same = dpm.Release(table, mechanism=by_query, queries={"all": ["a", "b"]}, parents=parents)
    assert dpm.posterior(same, method="least squares").accuracy.status == "approximate"
    assert (found.method, fast.method) == ("chain of trees", dpm.posterior(same, method="least squares").method)
    monkeypatch.setattr(trees, "LARGE", 5)  # of 6 cells in 3 nodes
    assert dpm.posterior(release).method == fast.method


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"queries": {"all": "ab"}}, "query all must be a list of cell names, got 'ab'"),
        ({"queries": {"all": ["a", "a"]}}, "query all must not contain a cell more than once"),
        ({"queries": {"all": []}}, "query all must be a list"),
        (
            {"queries": {"a": ["a", "b"]}},
            "the query a has the same name as a cell but is the sum of several cells .a, b.",
        ),
        ({"total": 5}, "total must be omitted for crossed cells, got 5: add a query over all cells"),
        ({"groups": ["x", "y", "z"]}, "groups must be omitted for crossed cells"),
        ({"mechanism": {"a": GAUSSIAN, "b": GAUSSIAN}}, "every query, but the entry is missing for all"),
        (
            {"mechanism": {"law": "table", "table": {"true": [3], "released": [3], "probability": [1]}}},
            "additive, got Perturbation",
        ),
    ],
)
def test_what_does_not_fit_is_refused(change, said):
    given = {"values": {"a": 3, "b": 4, "all": 6}, "mechanism": dpm.DiscreteGaussian(sigma=2.0)}
    given |= {"queries": {"all": ["a", "b"]}} | change
    with pytest.raises((ValueError, TypeError), match=said):
        dpm.posterior(dpm.Release(given.pop("values"), **given), rng=stream(1, "refused"))


@pytest.mark.thorough
def test_chains_that_have_not_met_say_so():
    crossed, _ = big(stream(4, "large"))
    laws = crossed_cells.laws(crossed, None)[:4]
    found = crossed_chain.sample(crossed, priors=[law.prior for law in laws], near=laws, rng=stream(5, "short"), most=8)
    assert found.accuracy.status == "not converged"


def test_the_number_of_sweeps_is_doubled_until_the_limit(monkeypatch):
    """Check the number of sweeps at every check of convergence, if no check succeeds. The limit is 2^5 times the first
    number, so that every check has twice the sweeps of the check before.
    """
    crossed, _, _ = the_case(11, "splits")
    near = crossed_cells.laws(crossed, PRIORS["splits"][0])[:4]
    checked = []

    def failed(draws):
        checked.append(draws.shape[:2])
        return Accuracy("not converged", float("nan"), "test"), {}

    monkeypatch.setattr(crossed_chain, "sweep", lambda *_: None)  # the chains stay at their starting points
    monkeypatch.setattr(crossed_chain, "_judged", failed)
    found = crossed_chain.sample(crossed, priors=[PRIORS["splits"][0]] * 4, near=near, rng=stream(6, "doubled"))
    assert checked == [(4, 250 * 2**k) for k in range(6)]
    assert found.draws.shape[:2] == (4, 8000)
