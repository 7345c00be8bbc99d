"""Tests of the weights of moves along one direction, by their NumPy reference, and of draws of whole trees."""

import numpy as np
import pytest
from reference import tree_enumeration
from scipy import stats
from scipy.special import gammaln

from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.noise_law import LawByRow
from dpmultinomial._posteriors.trees import _sites, crossed_chain, part_of_total
from dpmultinomial._posteriors.trees._sites import Ends
from dpmultinomial._posteriors.trees._solver import drawn, solve
from dpmultinomial._posteriors.trees.crossed_chain import Crossed
from dpmultinomial._posteriors.trees.measurements import FAR, SITE
from dpmultinomial._posteriors.trees.tree import Leaves, Splits, Tree
from dpmultinomial._seeding import stream

SUMS = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1], [1, 0, 0, 1]])
WAYS = [[1, 0, 0, 0], [0, 0, 1, 0], [1, -1, 0, 0], [0, 1, 0, -1], [1, -1, -1, 1], [0, 1, 1, 0]]
TREE = Tree([-1, 0, 0, 1, 1, 2, 2, 2])


def put(columns, width):
    return np.array(columns, dtype=np.int64).reshape(-1, width)


def case(seed, way):
    """Return a state, bounds around its sums, values near them (a tent or parabolas per node), and the kernel."""
    rng, way = stream(seed, "along"), np.array(way)
    state = TREE.sums(np.where(TREE.leaf[:, None], rng.integers(0, 30, (len(TREE), 4)), 0))
    all_sums = state @ SUMS.T
    hard, said = [], []
    for node in range(len(TREE)):
        tent = rng.random() < 0.3
        for query in (3, 0, 1, 2, 4):  # tents are of a sum of all cells first, which has a k of 2 along one way
            if rng.random() < 0.4:
                around = rng.integers(0, 15, 2)
                ends = all_sums[node, query] - around[0], all_sums[node, query] + around[1]
                hard.append((node, query, float(ends[0]), [float(ends[1]), np.inf][int(rng.random() < 0.3)]))
            if rng.random() < 0.6 and not (tent and any(row[0] == node for row in said)):
                said.append((node, query, not tent, all_sums[node, query] + rng.normal(0, 4), rng.uniform(0.01, 2)))
    k = SUMS @ way
    hard_, said_ = [row for row in hard if k[row[1]]], [row for row in said if k[row[1]]]
    given = Ends(
        way,
        np.bincount(TREE.parent[1:], minlength=len(TREE)),
        SUMS,
        put([(v, q, k[q]) for v, q, *_ in hard_], 3),
        np.array([row[2:] for row in hard_], dtype=float).reshape(-1, 2),
        put([(v, q, k[q], bowl) for v, q, bowl, *_ in said_], 4),
        np.array([row[3:] for row in said_], dtype=float).reshape(-1, 2),
    )
    return state, hard, said, given


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_ends_shapes_and_priors_are_those_of_the_reference(seed, way):
    state, hard, said, given = case(seed, way)
    sites = np.zeros(len(TREE), dtype=SITE)
    free, total, most = given.ends(state, sites)
    low, high = tree_enumeration.ends(state, np.array(way), SUMS, hard)
    np.testing.assert_array_equal(sites["lower"], low)
    np.testing.assert_array_equal(sites["upper"], high)
    assert free == (low < high)[TREE.leaf].any()
    given.shapes(state, sites)
    found = np.stack([sites[name] for name in ("centre", "square", "absolute")], axis=1)
    np.testing.assert_allclose(found, tree_enumeration.shapes(state, np.array(way), SUMS, said), rtol=1e-12, atol=1e-12)
    if min(way) == 0:
        return  # a cell may then have any count
    assert total == (high - low + 1).sum()
    moving = np.flatnonzero(way)
    change = np.where(np.array(way)[moving] > 0, high[:, None], low[:, None]) - state[:, [np.argmax(way)]]
    assert most == (state[:, moving] + np.array(way)[moving] * change).max()
    tables = np.log(stream(seed, "tables").random((3, most + 1)))
    rows = stream(seed, "rows").integers(-1, 3, (4, len(TREE)))
    logs = np.zeros(total)
    given.priors(state, sites, tables, rows, logs)

    def log_prior(cell, node, counts):
        return tables[rows[cell, node]][counts] if rows[cell, node] >= 0 else np.zeros(len(counts))

    each = tree_enumeration.priors(state, np.array(way), low, high, log_prior)
    np.testing.assert_allclose(logs, np.concatenate(each), rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(sites["table"], np.cumsum([0, *map(len, each)])[:-1])
    np.testing.assert_array_equal(sites["begin"], low)
    np.testing.assert_array_equal(sites["length"], high - low + 1)
    np.testing.assert_allclose(sites["highest"], [x.max() for x in each], atol=1e-14)
    np.testing.assert_allclose(sites["swing"], [np.ptp(x) for x in each], atol=1e-13)
    assert (sites["below"] == np.inf).all()
    assert (sites["above"] == np.inf).all()


def test_a_direction_whose_leaves_are_all_known_has_no_move():
    """Check any possible bounds of inner nodes."""
    state = TREE.sums(np.where(TREE.leaf[:, None], np.full((len(TREE), 4), 3), 0))
    leaves, none = np.flatnonzero(TREE.leaf), np.zeros((0, 2))
    count = np.bincount(TREE.parent[1:], minlength=len(TREE))
    for free, nodes in ((False, leaves), (True, leaves[1:])):
        hard = put([(v, 0, 1) for v in nodes], 3)
        given = Ends(np.array(WAYS[2]), count, SUMS, hard, np.full((len(nodes), 2), 3.0), put([], 4), none)
        sites = np.zeros(len(TREE), dtype=SITE)
        assert given.ends(state, sites)[0] is free
        assert (sites["lower"] < sites["upper"])[0]


def test_what_does_not_fit_is_refused_before_anything_is_written():
    state, _, _, given = case(0, WAYS[2])
    sites = np.zeros(len(TREE), dtype=SITE)
    with pytest.raises(ValueError, match="state and sites must have 8 nodes and 4 cells, got 7, 8 and 4"):
        given.ends(state[1:].copy(), sites)
    with pytest.raises(ValueError, match="got 8, 7 and 4"):
        given.shapes(state, sites[1:].copy())
    _, total, most = given.ends(state, sites)
    rows, logs = np.zeros((4, 8), dtype=np.int64), np.zeros(total)
    for tables, wanted, room in (
        (np.zeros((1, most)), rows, logs),
        (np.zeros((1, most + 1)), rows, logs[1:]),
        (np.zeros((1, most + 1)), rows + 1, logs),
        (np.zeros((1, most + 1)), rows[1:], logs),
    ):
        with pytest.raises(ValueError, match=r"logs must have at least|rows must have shape \(cells, nodes\)"):
            given.priors(state, sites, tables, wanted, room)
    assert (sites["length"] == 0).all()
    none, nobody = np.zeros((0, 3), dtype=np.int64), np.zeros((0, 4), dtype=np.int64)
    count, free = np.zeros(8, dtype=np.int64), np.zeros((0, 2))
    for row, said in (([8, 0, 1], "hard must"), ([0, 5, 1], "hard must"), ([0, 0, 0], "hard must")):
        with pytest.raises(ValueError, match=said):
            Ends(np.array(WAYS[0]), count, SUMS, put([row], 3), np.zeros((1, 2)), nobody, free)
    with pytest.raises(ValueError, match="measured: both lists of rows"):
        Ends(np.array(WAYS[0]), count, SUMS, none, free, nobody, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="at least one of which is > 0"):
        Ends(np.zeros(4, dtype=np.int64), count, SUMS, none, free, nobody, free)


def by_cell(kind):
    """Return different priors of the four cells: concentrations and means increase from cell to cell."""
    if kind == "splits":
        return [Splits([0.6 * i, 2.5 * i]) for i in range(1, 5)]
    each = [{"even": "1/(1+n)", "odd": {"law": "geometric", "mean": 20.0 * i}} for i in range(1, 5)]
    return [Leaves(prior, ["even", "odd"] * 4) for prior in each]


@pytest.mark.parametrize("kind", ["splits", "leaves"])
@pytest.mark.parametrize("tabled", [True, False])
def test_priors_of_cells_that_move_together_are_written_out_with_tables_and_without(monkeypatch, kind, tabled):
    """Compute Dirichlet-multinomial by level, or the formula of each leaf's group; the same for large counts."""
    if not tabled:
        monkeypatch.setattr(crossed_chain, "TABLED", 0)
    state = case(1, WAYS[2])[0]
    noise = law_of({"law": "discrete_gaussian", "sigma": 3.0})
    crossed = Crossed(TREE, {name: [name] for name in "abcd"}, state.astype(float), LawByRow.of([noise] * 32))
    rows = crossed_chain.starts(crossed, state)
    way = np.array(WAYS[3])
    moves = crossed_chain.Moves(crossed, by_cell(kind), way[None])
    for _ in range(2):
        sites, tables = moves.weights(rows, 0)
        for row, node in enumerate(TREE.order.tolist()):
            n = np.arange(sites["lower"][row], sites["upper"][row] + 1)
            expected = np.zeros(len(n))
            for cell in (1, 3):
                counts = rows[row, cell] + way[cell] * (n - rows[row, 1])
                if kind == "splits":
                    own = [0.0, 0.6, 2.5][TREE.depth[node]] * (cell + 1) if node else 1.0
                    others = [1.2, 5.0, 7.5][node] * (cell + 1) if node < 3 else 1.0
                    expected += gammaln(counts + own) - gammaln(counts + others)
                elif node > 2:
                    expected += (
                        stats.geom.logpmf(counts + 1, 1 / (1 + 20 * (cell + 1))) if node % 2 else -np.log1p(counts)
                    )
            got = tables[sites["table"][row] :][: sites["length"][row]]
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    size = moves._tables(3).shape[1]
    assert moves._tables(size - 1).shape[1] == size  # worked out once
    assert moves._tables(size).shape[1] > size


def test_upper_guesses_are_those_of_the_reference():
    rng = stream(1, "guesses")
    parent = np.array([-1, 0, 0, 1, 1, 2, 2, 2])
    for _ in range(50):
        sites = np.zeros(8, dtype=SITE)
        sites["upper"], sites["table"] = np.where(rng.random(8) < 0.3, rng.integers(0, 50, 8), FAR), -1
        sites["centre"] = rng.normal(0, 20, 8)
        kind = rng.integers(0, 5, 8)
        sites["square"][kind == 1] = rng.uniform(0.01, 2)
        sites["absolute"][kind == 2] = rng.uniform(0.01, 2)
        sites["table"][kind == 3], sites["begin"], sites["length"] = 0, rng.integers(-9, 9), rng.integers(0, 9)
        np.testing.assert_allclose(_sites.reach(parent, sites), tree_enumeration.reach(parent, sites), rtol=1e-15)


def test_a_draw_of_all_families_is_one_of_each_by_itself():
    """Check the same uniforms in the same order: the root's, then family by family in the kernels' order."""
    state = case(2, WAYS[2])[0]
    noise = law_of({"law": "discrete_gaussian", "sigma": 3.0})
    crossed = Crossed(TREE, {name: [name] for name in "abcd"}, state.astype(float), LawByRow.of([noise] * 32))
    moves = crossed_chain.Moves(crossed, [Splits([0.6, 2.5])] * 4, np.array(WAYS[2])[None])
    tree, messages = TREE, solve(TREE, *moves.weights(crossed_chain.starts(crossed, state), 0)).messages
    for seed in range(20):
        rng = stream(seed, "draws")
        first, p = messages.root()
        out = np.zeros(len(tree.order), dtype=np.int64)
        out[0] = first + np.searchsorted(np.cumsum(p)[:-1], rng.random() * np.cumsum(p)[-1], side="right")
        for row in np.flatnonzero(tree.count):
            children = slice(tree.first[row], tree.first[row] + tree.count[row])
            out[children] = messages.split(row, out[row : row + 1], rng=rng)[0]
        np.testing.assert_array_equal(drawn(tree, messages, stream(seed, "draws")), out)
    with pytest.raises(ValueError, match="all totals are impossible at node 0"):
        messages.splits(10**6, rng=stream(1, "draws"))


@pytest.mark.parametrize(
    ("low", "high", "ends", "falls"),
    [(0, 200, (24, 76), (53.0, 53.0)), (45, 200, (45, 76), (np.inf, 53.0)), (0, 60, (24, 60), (53.0, np.inf))],
)
def test_listed_weights_end_where_they_are_negligible_or_at_a_bound(low, high, ends, falls):
    """Check log weights -(n - 50)^2, of which those above -700 are listed: 26^2 = 676, and 27^2 - 26^2 = 53."""
    along, sites = object.__new__(crossed_chain.Along), np.zeros(1, dtype=SITE)
    along.first, along._logs = 0, lambda state, row, members, counts: -((counts - 50.0) ** 2)
    sites["lower"], sites["upper"] = low, high
    found = along._listed(np.array([[50]]), sites, 0, np.zeros(1, dtype=int))
    assert (found.first, found.last) == ends
    assert (found.below, found.above) == falls


WINDOWS = part_of_total.Windows.of([(2, np.array([0.5, 0.5])), (0, np.array([1.0, 1.0, 2.0]))])


def test_numbers_of_windows_by_hand():
    """Check 2 or 3 with equal probabilities, and 0, 1, 2 with probabilities 1/4, 1/4, 1/2."""
    mean, sd, lower, upper = WINDOWS.numbers(0.5)
    assert mean.tolist() == pytest.approx([2.5, 1.25])
    assert sd.tolist() == pytest.approx([0.5, 0.6875**0.5])
    assert (lower.tolist(), upper.tolist()) == ([2, 0], [3, 2])
    assert WINDOWS.numbers(0.4)[2].tolist() == [2, 1]  # 1/4 < 0.3
    assert [part if isinstance(part, int) else part.tolist() for part in WINDOWS.at(1)] == [0, [0.25, 0.25, 0.5]]
    assert WINDOWS.node.tolist() == [0, 0, 1, 1, 1]
    assert WINDOWS.values.tolist() == [2, 3, 0, 1, 2]
    wide = WINDOWS.on(np.array([1, 0]), np.array([4, 3]))
    assert wide.p.tolist() == [0, 0.5, 0.5, 0, 1, 1, 2]


def test_counts_given_that_they_are_at_most_a_limit():
    """Check the limits 1 and 1: the first count is always larger, and the second is with probability 1/2."""
    found, dropped = WINDOWS.at_most(np.array([1, 1]))
    assert dropped.tolist() == [1.0, 0.5]
    assert [(low, p.tolist()) for low, p in map(found.at, (0, 1))] == [(1, [1.0, 0.0]), (0, [0.5, 0.5, 0.0])]
    found, dropped = WINDOWS.at_most(np.array([3, 2]))
    assert dropped.tolist() == [0.0, 0.0]
    assert found.p.tolist() == WINDOWS.scaled().p.tolist()


def test_distances_and_mixtures_of_windows_by_hand():
    other = part_of_total.Windows.of([(3, np.array([1.0, 3.0])), (1, np.array([1.0, 3.0]))])
    # |1/2|, |1/2 - 1/4|, |3/4| and |1/4|, |1/4 - 1/4|, |1/2 - 3/4|, halved
    assert part_of_total.distance(WINDOWS, other).tolist() == pytest.approx([0.75, 0.25])
    assert part_of_total.distance(WINDOWS, WINDOWS).tolist() == [0.0, 0.0]
    mixture = part_of_total.Mixture()
    mixture.add(WINDOWS.scaled())
    assert mixture.difference.tolist() == [1.0, 1.0]
    assert mixture.whole.p.tolist() == WINDOWS.scaled().p.tolist()
    mixture.add(other.scaled())
    assert mixture.difference.tolist() == pytest.approx([0.75, 0.25])
    assert mixture.whole.at(0)[1].tolist() == pytest.approx([0.25, 0.375, 0.375])
    mixture.add(other.scaled())  # to the first half
    assert mixture.difference.tolist() == pytest.approx([0.375, 0.125])
    assert mixture.number == 3


def crossed(queries, values, **more):
    laws, size = [law_of({"law": "discrete_gaussian", "sigma": 2.0})], len(values[0]) * len(values)
    law = LawByRow(laws, np.zeros(size, dtype=int))
    tree = Tree([-1, *[0] * (len(values) - 1)])
    return Crossed(tree, queries, values, law, **more)


def test_cells_and_sums_of_crossed_cells():
    queries = {"all": ["a", "b", "c"], "b": ["b"], "ac": ["a", "c"]}
    found = crossed(queries, [[9.0, np.nan, 4.0], [5.0, 2.0, 1.0]])
    assert found.cells == ("b", "a", "c")  # queries of a single cell are first
    assert found.sums.astype(int).tolist() == [[1, 1, 1], [1, 0, 0], [0, 1, 1]]
    assert found.targets == ("b", "a", "c", "all", "ac")
    assert found.cover.astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 1]]
    assert (found.nodes.tolist(), found.which.tolist()) == ([0, 0, 1, 1, 1], [0, 2, 0, 1, 2])
    assert repr(found) == "Crossed(3 cells, 5 numbers, Tree(2 nodes: 1 level 0, 1 level 1))"
    n = np.array([-1, 0, 3, 12])
    for again in (n, 40 + n, n):
        law = law_of({"law": "discrete_gaussian", "sigma": 2.0})
        assert found.log_likelihood(1, again) == pytest.approx(law.log_likelihood(np.array([4.0]), again), rel=1e-12)


def test_bounds_and_exact_sums_of_crossed_cells():
    """Check bounds that are rounded inwards, and an exact sum of two cells in one node."""
    queries = {"a": ["a"], "ab": ["a", "b"]}
    lower, upper = [[1.5, 7.0], [0.0, 0.0]], [[4.5, 7.0], [np.inf, np.inf]]
    found = crossed(queries, [[3.0, 6.0], [2.0, 5.0]], lower=lower, upper=upper)
    assert found.lower.tolist() == [[2, 7], [0, 0]]
    assert found.upper.tolist() == [[4, 7], [np.inf, np.inf]]
    assert found.exact.tolist() == [[1, 1]]
    assert [part.tolist() for part in found.hard] == [[0, 0], [0, 1], [2, 7], [4, 7]]
    tree = found.tree_of(0)
    assert (tree.lower.tolist(), tree.upper[0]) == ([2, 0], 4)
    assert found.tree_of(2).lower.tolist() == [7, 0]
    with pytest.raises(ValueError, match=r"got 5 to 4 for the node 1 and the query a$"):
        crossed(queries, [[3.0, 6.0], [2.0, 5.0]], lower=[[0, 0], [5, 0]], upper=4)
    with pytest.raises(ValueError, match="bounds must be set on queries, got bounds on the nodes of the tree"):
        Crossed(Tree([-1], lower=1), queries, [[3.0, 6.0]], law_of({"law": "laplace", "scale": 1.0}))
    with pytest.raises(TypeError, match="a LawByRow with 2 rows"):
        Crossed(Tree([-1]), queries, [[3.0, 6.0]], LawByRow([law_of({"law": "laplace", "scale": 1.0})], [0, 0, 0]))


def test_moves_of_four_cells_are_the_minors_of_a_table():
    """Check a table of 3 rows and 3 columns with exact margins: one move for two rows and two columns."""
    rows, columns = np.repeat(np.eye(3, dtype=int), 3, axis=1), np.tile(np.eye(3, dtype=int), 3)
    found = crossed_chain._fours(np.eye(9, dtype=int), np.concatenate([rows, columns]))
    expected = set()
    for a, b in ((0, 1), (0, 2), (1, 2)):
        for c, d in ((0, 1), (0, 2), (1, 2)):
            move = np.zeros((3, 3), dtype=int)
            move[a, c] = move[b, d] = 1
            move[a, d] = move[b, c] = -1
            expected.add(tuple(move.ravel()))
    assert {tuple(move.tolist()) for move in found} == expected
    assert len(found) == 9
    assert len(crossed_chain.directions(9, np.concatenate([rows, columns]))) == 9 + 36 + 9
    assert len(crossed_chain.directions(9, rows)) == 9 + 36  # pairs within rows are sufficient
    assert len(crossed_chain.directions(3, np.zeros((0, 3), dtype=int))) == 3 + 3


@pytest.mark.parametrize(("size", "others"), [(10, 6), (9, 6), (8, 5), (3, 0)])
def test_a_sweep_moves_each_cell_and_two_more_directions_per_cell(size, others):
    """Check three cells: every cell once, and at most six of the other directions once, in a random order."""
    made = []

    class Moves:
        directions = range(size)

        def move(self, state, which, rng):
            made.append(which)

    crossed_chain.sweep(Moves(), np.zeros((1, 3)), stream(1, "sweep"))
    assert sorted(made)[:3] == [0, 1, 2]
    assert len(made) == len(set(made)) == 3 + others
    assert max(made) < size


def test_counts_that_never_change_are_not_judged():
    rng = stream(1, "judged")
    draws = np.full((4, 300, 2, 2), 7)
    accuracy, facts = crossed_chain._judged(draws)
    assert accuracy.status == "converged"
    assert facts == {"chains": 4, "sweeps": 300, "judged": 0, "constant": 4}
    draws[:, :, 1, 0] = rng.integers(0, 50, (4, 300))
    accuracy, facts = crossed_chain._judged(draws)
    assert accuracy.status == "converged"
    assert (facts["judged"], facts["constant"]) == (1, 3)
    assert facts["ess"] > 400
    assert facts["rhat"] < 1.01
    draws[:, :, 0, 0] = rng.integers(0, 50, (4, 300)) + 100 * np.arange(4)[:, None]  # far apart
    accuracy, facts = crossed_chain._judged(draws)
    assert accuracy.status == "not converged"
    assert (facts["judged"], "ess" in facts) == (2, False)
    assert facts["rhat"] > 2


@pytest.mark.parametrize(("rhat", "ess"), [(1.005, 480.0), (1.019, 480.0), (1.021, None)])
def test_chains_are_judged_by_the_smaller_of_two_sample_sizes(rhat, ess, monkeypatch):
    """Check that the sample sizes are computed up to an R-hat of 1.02, twice as far from 1 as the limit."""
    monkeypatch.setattr(crossed_chain._accuracy, "rhat", lambda x: rhat)
    for bulk, mean in ((500.0, 480.0), (480.0, 500.0)):
        monkeypatch.setattr(crossed_chain._accuracy, "bulk_ess", lambda x, bulk=bulk: bulk)
        monkeypatch.setattr(crossed_chain._accuracy, "mean_ess", lambda x, mean=mean: mean)
        accuracy, facts = crossed_chain._judged(np.arange(32).reshape(4, 8, 1, 1))
        assert (facts["rhat"], facts.get("ess")) == (rhat, ess)
        assert accuracy.status == ("converged" if rhat <= 1.01 else "not converged")


def test_starting_counts_of_inner_nodes_and_groups_are_sums():
    tree = Tree([-1, 0, 0] + [1] * 70)
    found = Crossed(tree, {"a": ["a"], "b": ["b"]}, np.full((73, 2), 1.0), law_of({"law": "laplace", "scale": 1.0}))
    counts = np.stack([np.arange(73), 2 * np.arange(73)], axis=1)
    state = crossed_chain.starts(found, counts)
    assert state[tree.place[tree.leaf]].tolist() == counts[tree.leaf].tolist()
    for row in np.flatnonzero(tree.count > 0):
        kin = state[tree.first[row] : tree.first[row] + tree.count[row]]
        assert (state[row] == kin.sum(axis=0)).all()
    assert state[0].tolist() == [2 + sum(range(3, 73)), 2 * (2 + sum(range(3, 73)))]
    below = crossed_chain._leaves_below(np.array([-1, 0, 0, 1, 1]), np.array([2, 3, 4]))
    assert below == {0: [2, 3, 4], 1: [3, 4], 2: [2], 3: [3], 4: [4]}
