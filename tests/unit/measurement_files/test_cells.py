"""Tests of a cell as a part of its total: small trees by enumeration, intervals below the total, synthetic states."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from measured_files import put
from scipy.special import gammaln

from dpmultinomial import Gaussian
from dpmultinomial._measurement_files import cells, reading
from dpmultinomial._measurement_files.cells import CellPlaces
from dpmultinomial._measurement_files.places import Places
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.part_of_total import Mixture, PartOfTotal, Windows, distance, windows
from dpmultinomial._posteriors.trees.tree import Splits, Tree
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._results.distributions import Discrete
from dpmultinomial._seeding import stream
from reproduction import kind, synthetic_census
from reproduction.config import scenario_settings
from reproduction.scenarios import making
from reproduction.scenarios.noisy_measurements import rules

SMALL = [
    ([-1, 0, 0], 8), ([-1, 0, 0, 0], 6), ([-1, 0, 0, 1, 1], 6), ([-1, 0, 0, 1, 1, 2], 5), ([-1, 0, 0, 1, 1, 2, 2], 4),
    ([-1, 0, 0, 0, 2], 5),
]  # fmt: skip
LEVELS = ["State", "County", "Tract", "Block_Group", "Block"]
PERSON = {"product": "pl94", "table": "person", "state": "VT"}


class Small:
    """A small tree with counts, measurements of total, cell and rest, and its enumeration."""

    def __init__(self, number):
        rng = stream(number, "cells")
        self.parent, self.most = SMALL[number]
        n = len(self.parent)
        self.leaf = ~np.isin(np.arange(n), self.parent)
        self.depth = np.array([len(self.path(i)) - 1 for i in range(n)])
        levels = self.depth.max() + 1
        self.cell_a, self.rest_a = (np.append(1.0, np.exp(rng.normal(0, 0.7, levels - 1))) for _ in range(2))
        cell, rest = (self.summed(rng.integers(0, self.most // k + 1, n)) for k in (2, 1))
        self.totals = cell + rest
        sd = {"total": [0.6, 1.0, 1.5][number % 3], "cell": [3.0, 5.0][number % 2], "rest": [3.0, 5.0][number % 2]}
        self.variance = {name: size**2 for name, size in sd.items()}
        true = {"total": self.totals, "cell": cell, "rest": rest}
        self.released = {name: np.rint(x + rng.normal(0, sd[name], n)) for name, x in true.items()}

    def path(self, node):
        found = [node]
        while self.parent[found[-1]] >= 0:
            found.append(self.parent[found[-1]])
        return found

    def summed(self, values):
        out = np.zeros(len(self.parent), dtype=np.int64)
        for i in np.flatnonzero(self.leaf):
            out[self.path(i)] += values[i]
        return out

    def log_prior(self, counts, concentrations):
        """Return the log prior: flat on the root, and Dirichlet-multinomial splits of every count."""
        found = np.zeros(len(counts))
        for node in range(len(self.parent)):
            children = [i for i, above in enumerate(self.parent) if above == node]
            if not children:
                continue
            a, k, total = concentrations[self.depth[children[0]]], len(children), counts[:, node]
            found += gammaln(total + 1) + gammaln(k * a) - gammaln(total + k * a)
            for child in children:
                n = counts[:, child]
                found += gammaln(n + a) - gammaln(n + 1) - gammaln(a)
        return found

    def enumerated(self, totals=None):
        """Return the distribution of the cell's count in every node, given the totals if they are passed."""
        k = int(self.leaf.sum())
        leaves = np.indices((self.most + 1,) * k).reshape(k, -1).T
        counts = np.zeros((len(leaves), len(self.parent)), dtype=np.int64)
        for column, i in enumerate(np.flatnonzero(self.leaf)):
            counts[:, self.path(i)] += leaves[:, [column]]
        logs = self.log_prior(counts, self.cell_a)[:, None] + self.log_prior(counts, self.rest_a)[None, :]
        for node in range(len(self.parent)):
            c = counts[:, node]
            for name, value in (("cell", c[:, None]), ("rest", c[None, :]), ("total", c[:, None] + c[None, :])):
                logs = logs - (value - self.released[name][node]) ** 2 / (2 * self.variance[name])
            if totals is not None:
                logs = np.where(c[:, None] + c[None, :] == totals[node], logs, -np.inf)
        weights = np.exp(logs - logs.max()).sum(axis=1)
        return [np.bincount(counts[:, i], weights / weights.sum()) for i in range(len(self.parent))]

    def tree(self, times=1):
        return Tree(self.parent, upper=np.where(self.leaf, times * self.most, np.inf))

    def part(self):
        """Return the library's model: the estimate of the cell given the total, from the cell and the rest."""
        v, w = self.variance["cell"], self.variance["rest"]
        share = v / (v + w)
        released = (1 - share) * self.released["cell"] - share * self.released["rest"]
        slope = np.full(len(self.parent), share)
        tree, variance = self.tree(), np.full(len(self.parent), v * w / (v + w))
        return PartOfTotal(tree, tree, (self.cell_a, self.rest_a), released, slope, variance)

    def alone(self, name, first, second, sign, concentrations, times=1):
        """Return the posterior of one count from its own tree: its value and the sum or difference of the others."""
        value, v = self.released[first] + sign * self.released[second], self.variance[first] + self.variance[second]
        own, w = self.released[name], self.variance[name]
        joined, sd = (own / w + value / v) / (1 / w + 1 / v), (1 / w + 1 / v) ** -0.5
        nodes = np.arange(len(self.parent))
        found = Measurements(self.tree(times), nodes, joined, Gaussian(sigma=sd))
        return infer(found, prior=Splits(concentrations[1:].tolist()))


def distances(found, expected):
    out = []
    for i, exact in enumerate(expected):
        low, p = found.at(i)
        both = np.zeros((2, max(len(exact), low + len(p))))
        both[0, : len(exact)], both[1, low : low + len(p)] = exact, p
        out.append(np.abs(both[0] - both[1]).sum() / 2)
    return np.array(out)


def test_mixtures_of_256_draws_against_enumeration():
    """Check total variation distances in six trees: mean below 0.08, and below half that of the cell's own tree."""
    ours, today = [], []
    for number in range(len(SMALL)):
        small, mixture = Small(number), Mixture()
        exact, part = small.enumerated(), small.part()
        totals = small.alone("total", "cell", "rest", 1, small.cell_a + small.rest_a, times=2)
        for t in totals.sample(256, rng=stream(number, "totals")):
            mixture.add(windows(part.given(t)))
        ours.append(distances(mixture.whole, exact))
        today.append(distances(windows(small.alone("cell", "total", "rest", -1, small.cell_a)), exact))
    assert np.concatenate(ours).mean() < 0.08
    assert np.concatenate(ours).mean() < 0.5 * np.concatenate(today).mean()


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_a_cell_given_all_totals_is_exact(number):
    small = Small(number)
    part = small.part()
    for _ in range(2):  # the second time, the solver begins with the tilts of the first
        assert distances(windows(part.given(small.totals)), small.enumerated(small.totals)).max() < 1e-9


def test_totals_that_the_bounds_exclude_are_rejected():
    tree = Tree([-1, 0, 0], upper=[np.inf, 3, 3])
    part = PartOfTotal(tree, tree, (np.ones(2), np.ones(2)), np.zeros(3), np.full(3, 0.5), np.ones(3))
    with pytest.raises(
        ValueError, match=r"no count of the cell in .*1 agrees .* which require at least 4 and at most 3"
    ):
        part.given(np.array([9, 7, 2]))


def test_windows_have_the_numbers_of_their_distributions():
    rng = np.random.default_rng(3)
    parts = [(int(low), rng.random(size)) for low, size in ((0, 1), (4, 7), (2, 30), (0, 3))]
    found = Windows.of(parts)
    mean, sd, lower, upper = found.numbers(0.9)
    for i, (low, p) in enumerate(parts):
        law = Discrete(np.arange(low, low + len(p)), p, name="", type="count", accuracy=None)
        assert (mean[i], sd[i]) == pytest.approx((law.mean(), law.sd()))
        assert (lower[i], upper[i]) == law.interval(0.9)
    cut, dropped = found.at_most(np.array([0.0, 6.0, 1.0, np.inf]))
    p = parts[1][1] / parts[1][1].sum()
    assert dropped.tolist() == pytest.approx([0, p[3:].sum(), 1, 0])
    np.testing.assert_allclose(cut.at(1)[1], np.append(p[:3] / p[:3].sum(), np.zeros(4)))
    assert cut.numbers(0.9)[3].tolist()[2] == 1  # certainly more than its upper end: the upper end
    moved = Windows(found.low + 40, found.size, found.p)
    assert distance(found, moved).tolist() == pytest.approx([1, 1, 1, 1])


@pytest.mark.parametrize(("level", "cut"), [(0.5, 250), (0.9, 50), (0.95, 25), (0.99, 5)])
def test_intervals_of_a_uniform_distribution_by_hand(level, cut):
    """Of 1,001 values, the interval omits the 1,001 (1 - level)/2 smallest and as many of the largest, rounded down."""
    found = Windows.of([(3, np.ones(2)), (7, np.ones(1001))])
    _, _, lower, upper = found.numbers(level)
    assert (lower[1], upper[1]) == (7 + cut, 1007 - cut)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells") / "nmf"
    size = synthetic_census.Size(counties=3, tracts=8, groups=16, blocks=120, reservation=True)
    return folder, synthetic_census.write(folder, state="VT", rng=np.random.default_rng(4), size=size)


def read(folder, cell, **rest):
    return reading.read_with_total(folder, **{**PERSON, "cell": cell, **rest})


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    "levels", [LEVELS, pytest.param(["State", "County", "Tract"], marks=pytest.mark.thorough)], ids=["blocks", "tracts"]
)
@pytest.mark.parametrize(
    ("cell", "coupled"),
    [
        ({"hispanic": "hispanic"}, True),
        pytest.param({"votingage": "voting"}, True, marks=pytest.mark.thorough),
        ({"hhgq": "household"}, False),
    ],
)
def test_no_interval_of_a_cell_ends_above_that_of_the_total(state, cell, coupled, levels):
    """Check units of one node and of two nodes, and units of many nodes up to the error of two samples; households,
    from their own tree, end above the total in many units.
    """
    measured = read(state[0], cell)
    found = CellPlaces(measured, levels, rng=rng())
    assert found.coupled == coupled
    rows, total = found.table("cell", rng=rng(2)), found.total.table("total", rng=rng(3))
    sizes = np.array([len(nodes) for of in found.nodes.values() for nodes in of.values()])
    assert {1, 2} <= set(sizes.tolist())
    slack = np.where(sizes > 2, 0.3 * (total["upper"] - total["lower"]), 0)
    assert (rows["upper"] <= total["upper"] + slack).all()
    assert (rows["lower"] <= rows["mean"]).all()
    assert (rows["mean"] <= rows["upper"]).all()
    if not coupled:
        alone = Places(measured.cell, levels).table("cell", rng=rng(2))
        assert (alone["upper"] > total["upper"]).mean() > 0.2
        same = (sizes == 1) & (rows["error"] < 1e-6)
        assert same.any()
        np.testing.assert_allclose(rows["mean"][same], alone["mean"][same], rtol=1e-5)
    assert set(rows["status"]) == {"approximate"}
    assert rows["error"].between(0, 1, inclusive="right").all()
    reason = "given 16 draws of the totals" if coupled else "from the cell's own measurements, truncated"
    assert found.accuracy.reason.startswith(reason)


@pytest.mark.parametrize(
    ("cell", "coupled"), [({"cenrace": "white"}, (False, True)), ({"hhgq": "nursing"}, (False,) * 2)]
)
def test_draws_of_totals_are_used_only_if_the_total_is_measured_well(state, cell, coupled):
    """Check that White alone is measured three times as precisely as the total; many blocks have no nursing home."""
    found = [CellPlaces(read(state[0], cell), [level], rng=rng(), draws=2) for level in ("Block", "County")]
    assert tuple(one.coupled for one in found) == coupled


@pytest.mark.parametrize(("total_sd", "coupled"), [(1.49, True), (1.51, False)])
def test_the_precision_at_the_deepest_level_decides_on_draws(total_sd, coupled):
    """Check a cell with noise of sd 1 in three leaves; the root, where the total is precise, does not count."""
    tree = Tree([-1, 0, 0, 0])
    given = {"upper": np.full(4, np.inf)}
    cell = SimpleNamespace(whole=SimpleNamespace(variance=np.array([9.0, 1, 1, 1]), **given), tree=tree)
    total = SimpleNamespace(whole=SimpleNamespace(variance=np.array([0.01, *[total_sd**2] * 3]), **given))
    measured = SimpleNamespace(cell=cell, rest=total, total=total)
    assert cells._coupled(measured, np.arange(4)) == coupled


@pytest.mark.parametrize(("draws", "each"), [(16, 250), (3, 1334), (0, 4000)])
def test_a_unit_of_many_nodes_uses_4000_joint_draws(draws, each):
    """Three nodes with the sum 6 in every draw: the error is that of the draws, 0.5/sqrt(number), and of the parts."""

    class Component:
        def sample(self, size, *, rng, nodes):
            assert size == each
            return np.tile(np.arange(1, 1 + len(nodes)), (size, 1))

    found = object.__new__(CellPlaces)
    found.draws, found.coupled, found.place, found.reason = draws, draws > 0, np.arange(3), "draws"
    found.level, found.combination_error = 0.95, 0.01
    found.components = lambda: iter([Component()] * max(draws, 1))
    above = Discrete(np.array([9]), np.ones(1), name="", type="count", accuracy=None)
    found.total = SimpleNamespace(several=lambda wanted, rng: [(rows, above) for rows in wanted])
    ((rows, law),) = found.several([[0, 1, 2]], rng())
    assert (rows, law.mean(), law.sd()) == ([0, 1, 2], 6.0, 0.0)
    assert law.accuracy.error == pytest.approx(0.01 + 0.5 / np.sqrt(each * max(draws, 1)), rel=1e-12)


def test_blocks_are_cut_off_unless_the_view_needs_them(state):
    measured = read(state[0], {"hispanic": "hispanic"})
    blocks = len(measured.cell.spine.rows("Block"))
    every = len(measured.cell.spine.codes)
    assert len(CellPlaces(measured, ["Block"], rng=rng(), draws=1).kept) == every
    cut = CellPlaces(measured, ["State"], rng=rng(), draws=1)
    assert len(cut.kept) == every - blocks
    assert cut.error.tolist() == [1.0] * (every - blocks)  # one draw tells nothing about the error


def test_total_rest_and_cell_are_read_in_one_pass(state):
    """Check the total as measured alone, and the cell given the total as conditioning on all measurements."""
    for cell in ({"hispanic": "hispanic"}, {"hispanic": "hispanic", "votingage": "voting"}):
        found = read(state[0], cell)
        everyone = reading.read(state[0], **PERSON, cell={}).whole
        np.testing.assert_array_equal(found.total.whole.released, everyone.released)
        np.testing.assert_array_equal(found.total.whole.variance, everyone.variance)
        np.testing.assert_array_equal(
            found.cell.whole.released, reading.read(state[0], **PERSON, cell=cell).whole.released
        )
        seen = np.isfinite(found.given.whole.variance)
        part, rest, given = (getattr(found, name).whole for name in ("cell", "rest", "given"))
        assert (part.upper >= part.lower).all()
        gap = part.released + rest.released - found.total.whole.released
        scale = np.sqrt(part.variance + rest.variance)
        assert (np.abs(gap) < 5 * scale)[seen].all()
        assert (given.variance <= part.variance * 1.03)[seen].all()
        assert ((given.slope > 0) & (given.slope < 1))[seen].all()
        middle = given.released + given.slope * found.total.whole.released  # at the estimate of the total
        assert np.sqrt(((middle - part.released) ** 2 / part.variance)[seen].mean()) < 0.2


def test_a_cell_given_the_total_of_two_queries(tmp_path):
    """Check total variance 4, Hispanic and not variance 9 each: given t, the estimate is the mean of 8 and t - 13."""
    codes = ("050100011", "050100031")
    rows = [(code, "hispanic_dpq", {"hispanic": "hispanic"}, [13, 8], 9.0) for code in codes]
    put(tmp_path, "County", [*rows, *[(code, "total_dpq", {}, [20], 4.0) for code in codes]])
    found = read(tmp_path, {"hispanic": "hispanic"})
    given = found.given.levels["County"]
    assert given.slope.tolist() == pytest.approx([0.5, 0.5])
    assert given.released.tolist() == pytest.approx([(8 - 13) / 2] * 2)
    assert given.variance.tolist() == pytest.approx([4.5, 4.5])
    rest = found.rest.levels["County"]
    assert rest.variance.tolist() == pytest.approx([1 / (1 / 9 + 1 / 13)] * 2)
    assert rest.released.tolist() == pytest.approx([(13 / 9 + 12 / 13) / (1 / 9 + 1 / 13)] * 2)
    assert isinstance(read(tmp_path, {}), reading.MeasuredCell)


def test_bounds_of_the_rest(tmp_path):
    """Check at least 3 and at most 9 people in each of the first two types of quarters; the cell is the second type."""
    code = "050100011"
    quarters = ("household", "correctional", "juvenile", "nursing", "other institutional", "university", "military")
    put(tmp_path, "County", [(code, "hhgq_dpq", {"hhgq": "hhgq"}, [5] * 8, 9.0)])
    lower, upper = [3, 3] + [0] * 6, [9, 9] + [0] * 6
    put(tmp_path, "County", [(code, "lb_con", {"hhgq": "hhgq"}, lower, ">=")], kind="Constraint")
    put(tmp_path, "County", [(code, "ub_con", {"hhgq": "hhgq"}, upper, "<=")], kind="Constraint", part=1)
    found = read(tmp_path, {"hhgq": quarters[1]})
    for name, ends in (("cell", (3, 9)), ("rest", (3, 9)), ("total", (6, 18))):
        whole = getattr(found, name).whole
        assert (whole.lower[-1], whole.upper[-1]) == ends


@pytest.mark.parametrize(
    ("own", "ends"),
    [
        ((0.0, np.inf), (4, 9)),  # the blocks have 1 + 3 to 2 + 7 records
        ((5.0, 8.0), (5, 8)),
        ((2.0, 8.0), (4, 8)),
        ((5.0, 20.0), (5, 9)),
        ((5 + 1e-9, 8 - 1e-9), (5, 8)),  # rounding errors
        ((4.1, 8.9), (5, 8)),
    ],
)
def test_a_node_without_its_blocks_has_the_closer_of_two_bounds(own, ends):
    """The bounds of the node and the sums of the bounds of its blocks; the other node keeps its blocks."""
    tree = Tree([-1, 0, 0, 1, 1, 2])
    lower, upper = np.array([0, own[0], 0, 1, 3, 2]), np.array([np.inf, own[1], np.inf, 2, 7, 6])
    low, high = cells._gathered(tree, np.array([0, 1, 2, 5]), lower, upper)
    assert (low[1], high[1]) == ends
    assert (low[[0, 2, 5]].tolist(), high[[0, 2, 5]].tolist()) == ([0, 0, 2], [np.inf, np.inf, 6])


def units(folder):
    """Housing units of two counties, with exact totals 7 and 4."""
    put(folder, "County", [("050100011", "h1_dpq", {"h1": "h1"}, [4, 5], 9.0)], ending="Unit_PL_PROD")
    put(folder, "County", [("050100031", "h1_dpq", {"h1": "h1"}, [1, 2], 4.0)], ending="Unit_PL_PROD", part=1)
    exact = [("050100011", "total_con", {}, [7], "="), ("050100031", "total_con", {}, [4], "=")]
    put(folder, "County", exact, kind="Constraint", ending="Unit_PL_PROD")
    return read(folder, {"h1": "vacant"}, table="unit")


@pytest.mark.parametrize(("coupled", "error"), [(True, 0.02 + 0.08), (False, 0.2 + 0.08)])
def test_errors_of_the_combined_noise_are_added(tmp_path, monkeypatch, coupled, error):
    """Given draws of the totals, the estimate of the cell given the total has an error, and without draws the estimate
    of the cell. The totals have an error in both cases. All are sums over the two counties.
    """
    monkeypatch.setattr(cells, "_coupled", lambda *_: coupled)
    measured = units(tmp_path)
    parts = {}
    for name, each in (("given", 0.01), ("cell", 0.1), ("total", 0.04), ("rest", 0.2)):
        part = getattr(measured, name)
        levels = {key: replace(level, error=np.full(len(level.codes), each)) for key, level in part.levels.items()}
        parts[name] = replace(part, levels=levels)
    found = CellPlaces(replace(measured, **parts), ["County"], rng=rng(), prior=0.7)
    assert found.combination_error == pytest.approx(error, abs=1e-6)
    assert found.table("vacant", rng=rng())["error"].to_numpy() == pytest.approx(error, abs=1e-3 if coupled else 1e-1)


def test_exact_totals_make_every_draw_equal(tmp_path):
    """Check housing units: totals are exact in every node, so the mixture has no error and equals enumeration."""
    measured = units(tmp_path)
    found = CellPlaces(measured, ["County"], rng=rng(), prior=0.7)
    assert found.error.max() < 1e-6
    t, y, v = np.array([7, 4]), np.array([[4, 5], [1, 2]]), np.array([9.0, 4.0])
    c = np.stack(np.meshgrid(np.arange(8), np.arange(5), indexing="ij"), axis=-1).reshape(-1, 2)
    logs = np.zeros(len(c))
    for counts, values in ((c, y[:, 0]), (t - c, y[:, 1])):  # level 0 of h1 is vacant
        logs -= ((counts - values) ** 2 / (2 * v)).sum(axis=1)
        total = counts.sum(axis=1)
        logs += gammaln(total + 1) - gammaln(total + 1.4) + (gammaln(counts + 0.7) - gammaln(counts + 1)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    expected = [np.bincount(c[:, k], weights / weights.sum()) for k in range(2)]
    at = found.place[[nodes[0] for nodes in found.nodes["County"].values()]]
    for k, i in enumerate(at.tolist()):
        low, p = found.windows.at(i)
        np.testing.assert_allclose(p, expected[k][low : low + len(p)], atol=1e-9)


def scenario(folder, **settings):
    stated = {
        "kind": "noisy_measurements",
        "state": "VT",
        "cell": {"hispanic": "hispanic"},
        "levels": ["County", "Tract"],
    }
    return scenario_settings.single("mine", {**stated, "folder": str(folder), **settings}, kind.discover())


def answered(folder, into, **settings):
    files = making.files("mine", into)
    making.part(scenario(folder, **settings), files, root_seed=1)
    return files


def test_the_same_seed_gives_equal_rows(state, tmp_path):
    """Check that a scenario with questions gives the same bytes twice, and other draws for another seed."""
    questions = {"larger": {"probability": "county 50001 > county 50003"}}
    one, two = (answered(state[0], tmp_path / name, questions=questions) for name in "ab")
    assert one.csv.read_bytes() == two.csv.read_bytes()
    measured = read(state[0], {"hispanic": "hispanic"})
    first, again, other = (CellPlaces(measured, ["County"], rng=rng(seed)).totals for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("change", [{"draws": 0}, {"query": "hispanic"}, {"prior": "flat"}])
def test_the_answer_from_the_cell_alone_is_still_there(state, tmp_path, change):
    files = answered(state[0], tmp_path, **change)
    rows = pd.read_csv(files.csv, dtype={"geoid": str, "geocode": str})
    measured = reading.read(state[0], **PERSON, cell={"hispanic": "hispanic"}, query=change.get("query"))
    expected = Places(measured, ["County", "Tract"], prior=change.get("prior"))
    alone = expected.table("hispanic", rng=stream(1, "scenarios", "mine"))
    for column in ("mean", "sd", "lower", "upper"):
        np.testing.assert_array_equal(rows[column], alone[column])
    facts = json.loads(files.facts.read_text())["points"][0]
    assert facts["draws_of_totals"] == 0
    # a query of its own measures the cell; otherwise, measurements of other sums are among the combined queries
    used = {name for names in facts["queries"].values() for name in names}
    source = "the measurements of the cell" if used == {"hispanic"} else "the combined values of the cell"
    assert ("total" in used) == ("query" not in change)
    assert f"only from {source}" in " ".join(rules.assumptions(facts))


def test_a_cell_that_is_everything_is_the_total(state, tmp_path):
    files = answered(state[0], tmp_path, cell={})
    facts = json.loads(files.facts.read_text())["points"][0]
    assert (facts["draws_of_totals"], facts["part_of_total"]) == (0, False)
    assert "part of the total" not in " ".join(rules.assumptions(facts))


def test_questions_agree_with_joint_draws(state):
    """Check that sums, differences and comparisons of two counts are exact mixtures, and others are drawn."""
    found = CellPlaces(read(state[0], {"hispanic": "hispanic"}), ["County", "Tract"], rng=rng())
    *single, third = [name for name, rows in found.names.items() if len(rows) == 1][:3]
    a, b, c = (found.place[found.names[name][0]] for name in (*single, third))
    draws = np.concatenate([law.sample(2000, rng=rng(k)) for k, law in enumerate(found.components())])
    questions = {
        "more": {"probability": f"{single[0]} > {single[1]}"},
        "sum": {"sum": single},
        "gap": {"difference": single},
        "share": {"share": {"of": single[0], "among": single}},
        "two": {"difference": [single[0], [single[1], third]]},
        "three": {"sum": list(found.names)[:3]},
    }
    rows = found.ask(questions, rng=rng()).set_index("quantity")
    x, y = draws[:, a].astype(float), draws[:, b].astype(float)
    three = draws[:, [found.place[i] for name in list(found.names)[:3] for i in found.names[name]]].sum(axis=1)
    wanted = {"more": x > y, "sum": x + y, "gap": x - y, "share": x / (x + y), "two": x - y - draws[:, c]}
    for name, values in {**wanted, "three": three}.items():
        error = values.std() / np.sqrt(len(values))
        assert rows.loc[name, "mean"] == pytest.approx(values.mean(), abs=6 * error + 1e-9)
    mean = found.windows.numbers(0.95)[0]  # exact means of the mixture; sums and differences of two have them too
    assert rows.loc[["sum", "gap"], "mean"].tolist() == pytest.approx([mean[a] + mean[b], mean[a] - mean[b]], rel=1e-9)
    assert set(rows["status"]) == {"approximate"}
    assert (rows["error"] >= found.error[[a, b]].max()).all()


@pytest.mark.thorough
def test_blocks_have_smaller_errors_than_from_the_cell_alone(tmp_path):
    """Return root mean square errors of 600 blocks of a synthetic state, Hispanic counts."""
    size = synthetic_census.Size(counties=4, tracts=20, groups=60, blocks=600)
    data = synthetic_census.write(tmp_path, state="VT", rng=stream(1, "cells", "state"), size=size)
    people = pq.read_table(data / synthetic_census.TRUTH).to_pandas()
    people = people[people["hispanic"] == 1]
    true = people.groupby(people["geocode"].str[-16:-5] + people["geocode"].str[-4:])["count"].sum()
    measured = read(tmp_path, {"hispanic": "hispanic"})
    errors = []
    for found in (CellPlaces(measured, ["Block"], rng=rng()), Places(measured.cell, ["Block"])):
        rows = found.table("n", rng=rng()).set_index("geoid")
        truth = true.reindex(rows.index).fillna(0)
        errors.append(float(np.sqrt(((rows["mean"] - truth) ** 2).mean())))
        assert 0.85 < ((rows["lower"] <= truth) & (truth <= rows["upper"])).mean() < 1
    assert errors[0] < errors[1]
