"""Tests of releases of trees: cost by enumerated neighbours, noise distribution, inference by enumeration, shares."""

import hashlib
import hmac
import itertools
import json
import math

import numpy as np
import pytest
from scipy import optimize, special, stats

import dpmultinomial as dpm
from dpmultinomial._files import published, table_columns
from dpmultinomial._files.csv_table import parse
from dpmultinomial._files.places import FileFault
from dpmultinomial._releases import _confidential, _noise, _tree_counts, checks, room
from dpmultinomial._releases._places import Refused

TREE = "category,parent,count\nstate,,8\nnorth,state,5\nsouth,state,3\na,north,3\nb,north,2\nc,south,0\nd,south,3\n"
LEVELS = ["state", "county", "tract"]
REPLACED, ADDED = "replace a record", "add or remove a record"
GAUSSIAN = {"mechanism": "discrete_gaussian", "rho": 0.5, "levels": LEVELS}
LAPLACE = {"mechanism": "discrete_laplace", "epsilon": 1.0, "levels": LEVELS}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    return tmp_path


def released(root, settings, text=TREE, name="t"):
    (root / "confidential" / f"{name}.csv").write_text(text)
    folder = room.make(name, {"data": f"confidential/{name}.csv", **settings}, root=root)
    return folder, json.loads((folder / "record.json").read_text())


def wide(parents, counts):
    """Return a file of nodes named after their positions."""
    rows = "".join(
        f"n{i},{'' if p < 0 else f'n{p}'},{c}\n" for i, (p, c) in enumerate(zip(parents, counts, strict=True))
    )
    return "category,parent,count\n" + rows


def neighbours(text, relation):
    """Return the changes of all counts between files that differ by one record, by enumeration: [{node: change}]."""
    rows = [line.split(",") for line in text.splitlines()[1:]]
    parent = {name: above for name, above, _ in rows}
    leaves = [name for name in parent if name not in parent.values()]

    def counted(leaf):
        found = [leaf]
        while parent[found[-1]]:
            found.append(parent[found[-1]])
        return found

    if relation == ADDED:
        return [dict.fromkeys(counted(leaf), 1) for leaf in leaves]
    pairs = itertools.permutations(leaves, 2)
    return [{n: (n in counted(b)) - (n in counted(a)) for n in {*counted(a), *counted(b)}} for a, b in pairs]


def depth_of(text):
    table = parse(text.encode(), name="t", confidential=False)
    names = table.texts("category")
    return dict(zip(names, table_columns.of(table, names).depth, strict=True))


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
@pytest.mark.parametrize("uneven", [False, True])
def test_epsilon_is_the_largest_loss_of_any_neighbours(root, relation, uneven):
    """Check discrete Laplace noise of scale b: the largest log ratio at a change d is |d|/b; nodes are independent."""
    text = TREE + "e,b,1\nf,b,1\n" if uneven else TREE
    levels = [*LEVELS, "block"] if uneven else LEVELS
    measured = levels[relation == REPLACED :]
    shares = {level: weight / sum(range(1, len(measured) + 1)) for weight, level in enumerate(measured, start=1)}
    folder, said = released(root, LAPLACE | {"relation": relation, "levels": levels, "shares": shares}, text)
    depth = depth_of(text)

    def loss(change):
        parts = [(abs(d), levels[depth[node]]) for node, d in change.items() if d]
        return math.fsum(d / said["scale"][level] for d, level in parts)

    largest = max(map(loss, neighbours(text, relation)))
    assert said["cost"]["relation"] == relation
    assert said["cost"]["epsilon"] >= largest * (1 - 1e-15)
    if not (uneven and relation == REPLACED):  # where two blocks of one tract are all blocks, no record changes all
        assert said["cost"]["epsilon"] == pytest.approx(largest, rel=1e-12)
    assert said["cost"]["epsilon"] == pytest.approx(1.0, rel=1e-9)
    assert published.open_release(folder).record == said


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
def test_rho_bounds_every_renyi_divergence_of_neighbours(root, relation):
    """Check divergences of the released tables by sums; equality if order times change is an integer."""
    _, said = released(root, GAUSSIAN | {"relation": relation})
    depth, k = depth_of(TREE), np.arange(-400, 401)

    def divergence(change, scale, order):
        log_p = -(k**2) / (2 * scale**2)
        log_p -= np.logaddexp.reduce(log_p)
        moved = np.roll(log_p, change)  # the mass at the ends is below exp(-400)
        inside = slice(5, -5)
        return np.logaddexp.reduce((order * moved + (1 - order) * log_p)[inside]) / (order - 1)

    for order in (1.5, 2.0, 7.0):
        worst = max(
            sum(divergence(d, said["scale"][LEVELS[depth[node]]], order) for node, d in change.items() if d)
            for change in neighbours(TREE, relation)
        )
        assert worst <= order * said["cost"]["rho"] * (1 + 1e-9)
        if order == 2.0:
            assert worst == pytest.approx(order * said["cost"]["rho"], rel=1e-9)
    assert 0.5 * (1 - 1e-9) <= said["cost"]["rho"] <= 0.5


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
@pytest.mark.parametrize("settings", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_every_level_has_the_share_that_is_its_own(root, settings, relation):
    """Check scales by hand: change/(epsilon share), sqrt(change/(2 rho share)); change 1, or 2 for replacing."""
    shares = {"state": 0.1, "county": 0.3, "tract": 0.6} if relation == ADDED else {"county": 0.3, "tract": 0.7}
    _, said = released(root, settings | {"relation": relation, "shares": shares})
    change = 1 if relation == ADDED else 2
    for level, share in shares.items():
        by_hand = change / share if settings is LAPLACE else math.sqrt(change / (2 * 0.5 * share))
        assert said["scale"][level] == pytest.approx(by_hand, rel=1e-12)
    assert said["shares"] == shares


def test_noise_that_can_just_be_drawn_is_not_refused(root):
    """Check half of epsilon = 3/2^40 per level: scale 2/3 2^40 for adding records, twice that for replacing."""
    settings = {"mechanism": "discrete_laplace", "epsilon": 3 / 2**40, "levels": ["state", "county"]}
    settings |= {"data": "confidential/t.csv", "shares": {"state": 0.5, "county": 0.5}}
    (root / "confidential/t.csv").write_text("category,parent,count\na,,3\nb,a,3\n")
    assert checks.problems("t", settings, budgets={}, root=root) == []
    settings |= {"relation": REPLACED, "levels": ["nation", "state", "county"]}
    [(key, words)] = checks.problems("t", settings, budgets={}, root=root)
    assert key == "releases/t/epsilon"
    assert "requires noise of scale 1.47e+12, which exceeds 2^40" in words


def test_against_a_ceiling_it_costs_what_a_replacement_may(root):
    _, said = released(root, LAPLACE)
    assert said["against_ceiling"] == {"relation": REPLACED, "epsilon": 2 * said["cost"]["epsilon"]}
    assert said["total"] is None
    settings = {"data": "confidential/t.csv", "source": "t", **LAPLACE}
    budgets = {"t": {"epsilon": 3.0}}
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 4"):
        room.make("u", settings, budgets=budgets, root=root)
    room.make("u", settings | {"relation": REPLACED}, budgets=budgets, root=root)


def test_a_sensitivity_is_that_of_a_replacement(root):
    _, said = released(root, GAUSSIAN | {"sensitivity": 18})  # three of one person: 9 + 9 squared, and 9 where one goes
    assert said["change_of_a_level"] == 9
    assert said["scale"]["tract"] == pytest.approx(math.sqrt(9 * 3 / (2 * 0.5)), rel=1e-6)
    assert _tree_counts.changed(7, public=False) == 4
    assert _tree_counts.changed(7, public=True) == 7


@pytest.mark.parametrize("settings", [LAPLACE | {"epsilon": 2.0}, GAUSSIAN], ids=["laplace", "gaussian"])
def test_every_level_has_the_noise_that_its_law_states(root, settings):
    """Check 5,000 nodes per level. Mean of |noise| (Laplace) or noise^2 (Gaussian) within 6 standard errors: false
    alarm below 1e-8; a scale 20 % too large is detected with probability above 0.999. Shape by chi-squared."""
    size = 5000
    parents = [-1] + [0] * size + list(range(1, size + 1))
    counts = [size * 10] + [10] * size * 2
    shares = {"state": 0.1, "county": 0.3, "tract": 0.6}
    folder, said = released(root, settings | {"shares": shares}, wide(parents, counts))
    noise = published.open_release(folder).table.whole("count") - np.array(counts)
    laplace = settings["mechanism"] == "discrete_laplace"
    for level, rows in (("county", slice(1, size + 1)), ("tract", slice(size + 1, None))):
        scale, mine, k = said["scale"][level], noise[rows], np.arange(-300, 301)
        p = np.exp(-np.abs(k) / scale if laplace else -(k**2) / (2 * scale**2))
        p /= p.sum()
        power = 1 if laplace else 2
        first, second = (float((p * np.abs(k) ** (power * m)).sum()) for m in (1, 2))
        error = math.sqrt((second - first**2) / size)
        assert abs((np.abs(mine) ** power).mean() - first) < 6 * error
        larger = 1.2**power  # what a scale that is 20 % larger does to the mean, and to its error
        assert stats.norm.cdf((first * (larger - 1) - 6 * error) / (error * larger)) > 0.999
        ends = [-np.inf, *np.unique(np.round(scale * np.array([-1.5, -0.7, -0.2, 0.2, 0.7, 1.5]))), np.inf]
        wanted = np.histogram(k, bins=ends, weights=p)[0] * size
        found = np.histogram(mine, bins=ends)[0]
        assert stats.chi2.sf(((found - wanted) ** 2 / wanted).sum(), len(wanted) - 1) > 1e-8
    assert not np.array_equal(noise[1 : size + 1], noise[size + 1 :])


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
@pytest.mark.parametrize("mechanism", ["discrete_gaussian", "discrete_laplace"])
def test_inference_from_the_record_is_enumeration(root, relation, mechanism):
    """Check four leaves, prior of concentration 1: given N at a node, all N + 1 splits are equally likely."""
    loss = {"rho": 6.0} if mechanism == "discrete_gaussian" else {"epsilon": 15.0}
    settings = {"mechanism": mechanism, "levels": LEVELS, "relation": relation, **loss}
    folder, said = released(root, settings)
    noisy = dict(zip(*(published.open_release(folder).table.texts(c) for c in ("category", "count")), strict=True))
    noisy = {name: int(value) for name, value in noisy.items()}
    found = dpm.posterior(dpm.read(folder), prior=1.0)

    def log_noise(name, values, level):
        if level not in said["scale"]:
            return np.where(values == noisy[name], 0.0, -np.inf)
        scale, gap = said["scale"][level], np.abs(values - noisy[name])
        return -(gap**2) / (2 * scale**2) if mechanism == "discrete_gaussian" else -gap / scale

    top = 26  # beyond it a leaf has a weight below 1e-14
    a, b, c, d = np.meshgrid(*[np.arange(top)] * 4, indexing="ij", sparse=True)
    values = {"a": a, "b": b, "c": c, "d": d, "north": a + b, "south": c + d, "state": a + b + c + d}
    log_p = sum(log_noise(n, v, LEVELS[{"state": 0, "north": 1, "south": 1}.get(n, 2)]) for n, v in values.items())
    log_p = log_p - np.log1p(values["north"]) - np.log1p(values["south"]) - np.log1p(values["state"])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    for name, value in values.items():
        full = np.broadcast_to(value, p.shape)
        mean = float((p * full).sum())
        assert found.counts[name].mean() == pytest.approx(mean, abs=1e-9)
        assert found.counts[name].variance() == pytest.approx(float((p * (full - mean) ** 2).sum()), abs=1e-8)
    chance = float(p[np.broadcast_to(values["north"] > values["south"], p.shape)].sum())
    assert found.probability("north > south") == pytest.approx(chance, abs=1e-9)
    assert found.facts["release"] == "t"


def test_shares_do_not_depend_on_counts(root):
    parents = [-1, 0, 0, 0, 1, 1, 1, 2, 2, 3]

    def filled(leaves):
        counts = [0] * 10
        for node, value in zip([4, 5, 6, 7, 8, 9], leaves, strict=True):
            while node >= 0:
                counts[node] += value
                node = parents[node]
        return counts

    leaves = ([0] * 6, [1000, 0, 0, 0, 0, 0], [3, 1, 4, 1, 5, 9])
    for mechanism, loss in (("discrete_gaussian", "rho"), ("discrete_laplace", "epsilon")):
        for level in LEVELS:
            settings = {"mechanism": mechanism, loss: 1.0, "levels": LEVELS, "narrow": level, "source": "s"}
            said = [
                released(root, settings, wide(parents, filled(v)), f"{mechanism}_{level}_{i}")[1]
                for i, v in enumerate(leaves)
            ]
            for key in ("shares", "scale", "cost", "nodes", "cost_of_each"):
                assert said[0][key] == said[1][key] == said[2][key]
            assert said[0]["shares"][level] == max(said[0]["shares"].values())


def dense(parents, variances, depth, target):
    """Return the mean standard deviation at a level by normal equations, without recursion."""
    leaves = [i for i in range(len(parents)) if i not in parents]
    design = np.zeros((len(parents), len(leaves)))
    for column, node in enumerate(leaves):
        while node >= 0:
            design[node, column] = 1
            node = parents[node]
    weights = 1 / np.array([variances[d] for d in depth])
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    at = [i for i, d in enumerate(depth) if d == target]
    return np.sqrt(np.diag(design @ covariance @ design.T))[at].mean()


@pytest.mark.parametrize(("mechanism", "power"), [("discrete_gaussian", 1), ("discrete_laplace", 2)])
@pytest.mark.parametrize("targets", [(0,), (1,), (2,), (2, 1), (0, 1, 2)])
def test_shares_are_the_best_there_are(mechanism, power, targets):
    """Compare with a search over a grid of all shares, with a dense inverse; rounding to 1/1000 may cost 0.2 %."""
    parents, depth = [-1, 0, 0, 0, *[1] * 5, *[2] * 3, 3], [0, 1, 1, 1, *[2] * 9]
    shares = _tree_counts.narrowing(
        table_columns.Hierarchy(parents, depth), mechanism=mechanism, targets=targets, known=False
    )
    assert sum(shares) == pytest.approx(1, abs=1e-12)
    assert min(shares) >= 0.1 / 3 - 1e-3

    def width(parts):
        variances = [float(part) ** -power for part in parts]
        return math.prod(dense(parents, variances, depth, target) for target in targets)

    grid = np.arange(0.034, 0.95, 0.0305)
    best = min((width((x, y, 1 - x - y)), (x, y)) for x in grid for y in grid if 1 - x - y >= 0.1 / 3)
    assert width(shares) <= best[0] * 1.002
    assert width(shares) <= width([1 / 3] * 3)


@pytest.mark.parametrize(("mechanism", "power"), [("discrete_gaussian", 1), ("discrete_laplace", 2)])
def test_what_is_made_least_is_the_width_of_least_squares(mechanism, power):
    """Check that noise of a share s has a variance proportional to s^-1 (Gaussian, rho) or s^-2 (Laplace, epsilon)."""
    parents, depth, parts = [-1, 0, 0, 0, 1, 1, 1, 2, 2, 3], [0, 1, 1, 1, *[2] * 6], [0.2, 0.3, 0.5]
    shape = table_columns.Hierarchy(parents, depth)
    width = _tree_counts._width(shape, power=_tree_counts._POWERS[mechanism], targets=(2, 1), first=0)
    by_hand = [dense(parents, [part**-power for part in parts], depth, target) for target in (2, 1)]
    assert width(np.array(parts)) == pytest.approx(math.log(by_hand[0] * by_hand[1]), rel=1e-12)


@pytest.mark.parametrize(("mechanism", "power"), [("discrete_gaussian", 1), ("discrete_laplace", 2)])
@pytest.mark.parametrize("targets", [(0, 2), (0, 1, 2), (1, 2)])
def test_shares_of_several_levels_are_no_worse_than_those_of_one(mechanism, power, targets):
    """Check that for Laplace noise, with variance 1/share^2, nearly everything for one level can be best for all."""
    parents, depth = [-1, *[0] * 3, *[v for v in (1, 2, 3) for _ in range(4)]], [0, *[1] * 3, *[2] * 12]
    shares = _tree_counts.narrowing(
        table_columns.Hierarchy(parents, depth), mechanism=mechanism, targets=targets, known=False
    )

    def width(parts):
        return math.prod(dense(parents, [part**-power for part in parts], depth, target) for target in targets)

    for level in range(3):
        assert width(shares) <= 1.003 * width([0.9 * (level == other) + 0.1 / 3 for other in range(3)])


@pytest.mark.parametrize(("sizes", "targets"), [((2, 2, 2), (0, 3)), ((3, 8), (1, 2)), ((8, 3), (0, 1))])
def test_shares_of_two_levels_may_be_nearly_everything_for_one(sizes, targets):
    """Check Laplace noise, for which a search from equal shares ends at a minimum that is larger by 15 %."""
    parents, depth, last = [-1], [0], [0]
    for level, size in enumerate(sizes, 1):
        first = len(parents)
        parents += [node for node in last for _ in range(size)]
        depth += [level] * (len(parents) - first)
        last = list(range(first, len(parents)))
    shape, least = table_columns.Hierarchy(parents, depth), 0.1 / (len(sizes) + 1)
    shares = _tree_counts.narrowing(shape, mechanism="discrete_laplace", targets=targets, known=False)

    def width(parts):
        return math.prod(dense(parents, [part**-2 for part in parts], depth, target) for target in targets)

    for level in range(len(shares)):
        assert width(shares) <= 1.003 * width([0.9 * (level == other) + least for other in range(len(shares))])


@pytest.mark.parametrize("targets", [(0, 1, 2), (0, 2)])
def test_shares_are_those_of_a_search_over_all(targets):
    """Compare with Nelder and Mead's search with a dense inverse; its steps and rounding may cost 0.002."""
    parents, depth = [-1, *[0] * 3, *[v for v in (1, 2, 3) for _ in range(4)]], [0, *[1] * 3, *[2] * 12]

    def parts(logs):
        return 0.1 / 3 + 0.9 * special.softmax(logs)

    def width(logs):
        return sum(math.log(dense(parents, 1 / parts(logs), depth, target)) for target in targets)

    best = optimize.minimize(width, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-14})
    found = _tree_counts.narrowing(
        table_columns.Hierarchy(parents, depth), mechanism="discrete_gaussian", targets=targets, known=False
    )
    assert found == pytest.approx(parts(best.x), abs=0.002)


@pytest.mark.parametrize(
    ("targets", "known", "wanted"),
    [([2], False, [0.333, 0.333, 0.334]), ([1, 2], False, [0.333, 0.334, 0.333]), ([2], True, [0.333, 0.334, 0.333])],
)
def test_the_level_of_the_first_target_takes_what_rounding_leaves(targets, known, wanted, monkeypatch):
    monkeypatch.setattr(_tree_counts, "_width", lambda *_, **__: None)
    monkeypatch.setattr(_tree_counts, "_lowered", lambda width, start: (np.full(3, 1 / 3), 0.0))
    shape = table_columns.Hierarchy(list(range(-1, 3 if known else 2)), list(range(4 if known else 3)))
    found = _tree_counts.narrowing(shape, mechanism="discrete_gaussian", targets=targets, known=known)
    assert found == pytest.approx(wanted, abs=1e-12)


def test_a_root_that_is_public_has_no_share():
    shape = table_columns.Hierarchy([-1, 0, 0, 1, 1], [0, 1, 1, 2, 2])
    assert len(_tree_counts.narrowing(shape, mechanism="discrete_gaussian", targets=[2], known=True)) == 2
    assert _tree_counts.narrowing(
        table_columns.Hierarchy([-1, 0], [0, 1]), mechanism="discrete_laplace", targets=[1], known=True
    ) == [1]


WRONG = {
    "a parent that is not a node": (
        "a,,3\nb,a,1\nc,x,2\n",
        r"t\.csv, line 4, column 'parent': must be the name of a node",
    ),
    "no root": ("a,b,3\nb,a,3\n", r"line 2, column 'parent': must lead to the root in fewer than 50 steps"),
    "two roots": ("a,,3\nb,a,3\nc,,1\n", r"line 4, column 'parent': must be the name of a node, .* \(line 2\)"),
    "its own parent": ("a,,3\nb,a,3\nc,c,0\n", r"line 4, column 'parent': must lead to the root"),
    "children that do not add up": ("a,,3\nb,a,1\nc,a,1\n", r"line 2, column 'count': must be the sum of the counts"),
    "a count that is none": ("a,,3\nb,a,\nc,a,1\n", r"line 3, column 'count': must be an integer"),
    "a node twice": ("a,,3\nb,a,1\nb,a,2\n", r"line 4, column 'category': must differ from the category in line 3"),
    "levels that are others": ("a,,3\nb,a,1\nc,a,2\n", r"levels must contain one name per level"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_is_no_tree_is_refused_where_it_is_wrong(root, what):
    rows, words = WRONG[what]
    (root / "confidential/t.csv").write_text("category,parent,count\n" + rows)
    with pytest.raises((Refused, FileFault), match=words):
        room.make("t", {"data": "confidential/t.csv", **LAPLACE}, root=root)
    assert not (root / "releases/t").exists()


def test_what_is_asked_of_trees_is_refused_of_other_files(root):
    (root / "confidential/t.csv").write_text("category,count\na,1\nb,2\n")
    for settings in (LAPLACE, LAPLACE | {"levels": None, "relation": ADDED}):
        with pytest.raises(Refused, match=r"only for a tree of counts, but confidential/t\.csv has no column 'parent'"):
            room.make("t", {"data": "confidential/t.csv", **settings}, root=root)
    flat = {"data": "confidential/t.csv", "mechanism": "discrete_laplace", "epsilon": 1.0}
    room.make("t", flat | {"relation": REPLACED}, root=root)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"shares": {"state": 1.0}},
            "releases/t/shares: must contain a share for each of state, county, tract, got state",
        ),
        ({"shares": {"state": 0.5, "county": 0.4, "tract": 0.2}}, "that sum to 1"),
        ({"shares": {"state": 0.5, "county": 0.3, "tract": 0.2 + 1e-8}}, "that sum to 1"),
        (
            {"narrow": "block"},
            "releases/t/narrow: must contain only names of measured levels .state, county, tract., got 'block'",
        ),
        (
            {"narrow": "state", "relation": REPLACED},
            r"must contain only names of measured levels \(county, tract\), .* the count of state is public",
        ),
        (
            {"narrow": "tract", "shares": {"state": 0.2, "county": 0.3, "tract": 0.5}},
            "must not be given together with shares",
        ),
        ({"narrow": "tract", "levels": None}, "releases/t/narrow: requires the key 'levels'"),
        ({"levels": ["state"]}, "releases/t/levels: must contain the names of at least two levels"),
        ({"levels": ["state", "a", "\u0430"]}, r"releases/t/levels: 'a' and '\\u0430' must differ by more than spaces"),
        ({"levels": ["state", " ", "tract"]}, "releases/t/levels: must be names without control characters, got ' '"),
        ({"levels": ["state", "a\nb", "tract"]}, r"must be names without control characters, got 'a\\nb'"),
        ({"relation": "both"}, "releases/t/relation: must be one of"),
        ({"epsilon": 1e-11, "shares": {"state": 0.9, "county": 0.0999, "tract": 0.0001}}, "which exceeds 2"),
    ],
)
def test_settings_that_do_not_fit_together_are_told_before_anything_is_opened(root, settings, words):
    (root / "confidential/t.csv").write_text("not read")
    with pytest.raises(Refused, match=words):
        room.make("t", {"data": "confidential/t.csv", **LAPLACE, **settings}, root=root)


def test_a_share_too_small_for_its_noise_is_refused_by_name(root):
    with pytest.raises(Refused, match=r"the noise scale of the level 'level 0' must be <= 2\^40, got 1\.2e"):
        released(root, {"mechanism": "discrete_laplace", "epsilon": 2.5e-12})


def test_settings_without_keys_of_trees_are_marked_as_before():
    """Check that a release older than these keys is still found: its settings have the same fingerprint."""
    written = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0}
    asked = type("A", (), {"release": "county", "generation": 1})
    before = (
        '{"delimiter": null, "encoding": null, "epsilon": 1.0, "mechanism": "discrete_laplace", "sensitivity": 2, '
        '"source": null}'
    )
    code = hmac.new(b"k", digestmod=hashlib.sha256)
    for part in (b"settings", b"county\n1", before.encode()):
        code.update(len(part).to_bytes(8, "little") + part)
    assert room._Marks(b"k", b"").settings(asked, checks.filled(written)) == code.hexdigest()
    changed = room._Marks(b"k", b"").settings(asked, checks.filled(written | {"relation": REPLACED}))
    assert changed != code.hexdigest()


def test_other_shares_under_one_generation_are_refused(root):
    released(root, GAUSSIAN | {"narrow": "tract"})
    with pytest.raises(Refused, match="the settings changed after the release was made"):
        released(root, GAUSSIAN | {"narrow": "county"})
    folder, said = released(root, GAUSSIAN | {"narrow": "tract"})
    (root / "confidential/t.csv").unlink()
    again = {"data": "confidential/t.csv", **GAUSSIAN}
    assert room.make("t", again | {"narrow": "tract"}, root=root) == folder
    for other in (
        {"narrow": "county"},
        {"shares": {"state": 0.2, "county": 0.3, "tract": 0.5}},
        {"relation": REPLACED},
    ):
        with pytest.raises(Refused, match="but the existing release has"):
            room.make("t", again | other, root=root)
    assert said["shares"]["tract"] > 0.5


def test_a_tree_says_what_its_leaves_say():
    leaves = parse(b"category,count\na,812\nb,390\nc,77\nd,0\n", name="t", confidential=True)
    rows = b"category,parent,count\ns,,1279\nn,s,1202\nb,n,390\na,n,812\nd,s,0\nc,s,77\n"
    tree = parse(rows, name="t", confidential=True)
    assert _confidential.content(tree) == _confidential.content(leaves)
    other = parse(rows.replace(b"77", b"76").replace(b"1279", b"1278"), name="t", confidential=True)
    assert _confidential.content(other) != _confidential.content(leaves)


@pytest.mark.parametrize("settings", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_no_node_is_published_without_the_noise_of_its_level(root, monkeypatch, settings):
    seen = []
    for name in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(_noise, name, lambda v, *, scale, n=name: seen.append((n, scale)) or v + 100)
    folder, said = released(root, settings)
    before = [line.split(",") for line in TREE.splitlines()[1:]]
    after = [line.split(",") for line in (folder / "release.csv").read_text().splitlines()[1:]]
    assert after == [[name, above, str(int(count) + 100)] for name, above, count in before]
    assert seen == [(settings["mechanism"], said["scale"][level]) for level in LEVELS]


def test_a_public_root_is_published_as_it_is_and_exact(root, monkeypatch):
    seen = []
    monkeypatch.setattr(_noise, "discrete_gaussian", lambda v, *, scale: seen.append(v.tolist()) or v + 100)
    folder, said = released(root, GAUSSIAN | {"relation": REPLACED})
    rows = (folder / "release.csv").read_text().splitlines()
    assert rows[:3] == ["category,parent,count", "state,,8", "north,state,105"]
    assert said["total"] == 8
    assert seen == [[5, 3], [3, 2, 0, 3]]
    assert dpm.read(folder).mechanism.variance()[0] == 0


def test_the_deepest_tree_and_one_that_is_deeper():
    def chain(size):
        return parse(wide(range(-1, size - 1), [1] * size).encode(), name="t", confidential=False)

    def names(size):
        return [f"n{i}" for i in range(size)]

    assert table_columns.of(chain(50), names(50)).depth == list(range(50))
    with pytest.raises(FileFault, match="fewer than 50 steps"):
        table_columns.of(chain(51), names(51))
    backwards = parse(wide([*range(1, 50), -1], [1] * 50).encode(), name="t", confidential=False)
    assert table_columns.of(backwards, names(50)).depth == list(range(49, -1, -1))


@pytest.mark.parametrize(
    ("shares", "kept"),
    [
        ([1.0, 1.0], [0.5, 0.5]),
        ([3.0, 1.0], [0.75, 0.25]),
        ([1.0, 0.0], [0.95, 0.05]),
        ([0.96, 0.04], [0.95, 0.05]),
        ([0.95, 0.05], [0.95, 0.05]),
        ([1.0, 0.0, 0.0, 0.0], [0.925, 0.025, 0.025, 0.025]),
        ([0.96, 0.03, 0.005, 0.005], [0.95 * 0.96 / 0.99, 0.95 * 0.03 / 0.99, 0.025, 0.025]),
        ([0.97, 0.0255, 0.0025, 0.002], [0.925, 0.025, 0.025, 0.025]),  # the second falls below with the others raised
        ([5.0], [1.0]),
    ],
)
def test_every_level_keeps_a_tenth_of_an_equal_share(shares, kept):
    assert _tree_counts._kept(np.array(shares)) == pytest.approx(kept, rel=1e-12)


@pytest.mark.parametrize(
    ("sensitivity", "public", "change"), [(2, True, 2), (3, True, 3), (2, False, 1), (3, False, 2)]
)
def test_the_change_of_a_level(sensitivity, public, change):
    assert _tree_counts.changed(sensitivity, public=public) == change


def test_nodes_are_sorted_by_depth_parent_and_name():
    shape = table_columns.Hierarchy([3, 3, 0, -1, 1, 0], [1, 1, 2, 0, 2, 2])
    names, above = ["b", "a", "z", "root", "x", "y"], ["root", "root", "b", "", "a", "b"]
    counts = np.array([1, 2, 3, 4, 5, 6])
    found = _tree_counts._in_order(names, above, counts, shape)
    assert found[:2] == (["root", "a", "b", "x", "y", "z"], ["", "root", "root", "a", "b", "b"])
    assert found[2].tolist() == [4, 2, 1, 5, 6, 3]
    assert (found[3].parent, found[3].depth) == ([-1, 0, 0, 1, 2, 2], [0, 1, 1, 2, 2, 2])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, [1 / 3] * 3),
        ({"relation": "replace a record"}, [0.5] * 2),
        ({"shares": {"a": 0.2, "b": 0.3, "c": 0.5}}, [0.2, 0.3, 0.5]),
        ({"shares": {"b": 0.25, "c": 0.75}, "relation": "replace a record"}, [0.25, 0.75]),
    ],
)
def test_shares_of_the_budget_of_a_tree(change, expected):
    shape = table_columns.Hierarchy([-1, 0, 0, 1, 1], [0, 1, 1, 2, 2])
    settings = {"relation": "add or remove a record", "shares": None, "narrow": None, "mechanism": "discrete_laplace"}
    assert _tree_counts.shares_of(settings | change, shape, ["a", "b", "c"]) == expected
