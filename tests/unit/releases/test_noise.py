"""Tests of the drawn noise: distribution by chi-squared, closed forms of costs, and the arguments passed to it."""

import csv
import io
import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar

from dpmultinomial._accounting.privacy_loss import DirichletLoss, DiscreteLaplaceLoss, PureLoss
from dpmultinomial._accounting.privacy_profiles import dirichlet_delta
from dpmultinomial._accounting.swapping import exact_epsilon
from dpmultinomial._files import csv_table
from dpmultinomial._files.csv_table import parse
from dpmultinomial._files.places import FileFault
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._releases import _classifier, _microdata, _noise, losses, room, spending
from dpmultinomial._releases._places import Refused


def pmf(kind, scale, reach):
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / scale) if kind == "laplace" else np.exp(-(k**2) / (2 * scale**2))
    return weights / weights.sum()


# The draws cannot be seeded, so a threshold of 1e-9 a case is the false-alarm rate of each run. The tails
# belong to the outermost cells, because chi-squared does not hold for cells with few expected draws. In all
# of 200 simulations, a scale of Gaussian noise that is 5 % too large was detected; one that is 3 % too large, in 63 %
# or more.
@pytest.mark.parametrize(
    ("kind", "scale"), [("laplace", 0.4), ("laplace", 2.0), ("laplace", 7.3), ("gaussian", 0.6), ("gaussian", 4.0)]
)
def test_law(kind, scale):
    size, reach = 40_000, 300
    draw = _noise.discrete_laplace if kind == "laplace" else _noise.discrete_gaussian
    found = draw(np.full(size, 11, dtype=np.int64), scale=scale) - 11
    expected = size * pmf(kind, scale, reach)
    first, last = np.flatnonzero(expected >= 30)[[0, -1]] - reach
    counts = np.bincount(np.clip(found, first, last) - first, minlength=last - first + 1)
    wanted = np.bincount(np.clip(np.arange(-reach, reach + 1), first, last) - first, expected)
    chi2 = float(((counts - wanted) ** 2 / wanted).sum())
    assert stats.chi2.sf(chi2, len(wanted) - 1) > 1e-9


def test_costs_are_the_closed_forms_rounded_upwards():
    for epsilon in (1e-9, 0.01, 0.1, 0.3, 1.0, 7.0, 1000.0):
        for sensitivity in (1, 2, 5):
            scale = _noise.laplace_scale(epsilon, sensitivity=sensitivity)
            assert scale == pytest.approx(sensitivity / epsilon, rel=1e-14)
            assert scale >= sensitivity / epsilon
            stated = _noise.laplace_epsilon(scale, sensitivity=sensitivity)
            assert epsilon * (1 - 1e-14) <= stated <= epsilon
            scale = _noise.gaussian_scale(epsilon, l2_squared=sensitivity)
            assert scale == pytest.approx((sensitivity / (2 * epsilon)) ** 0.5, rel=1e-14)
            assert epsilon * (1 - 1e-13) <= _noise.gaussian_rho(scale, l2_squared=sensitivity) <= epsilon
            assert _noise.gaussian_rho(scale, l2_squared=sensitivity) >= sensitivity / (2 * scale**2)


def test_nothing_that_can_be_seeded_repeats_it():
    values = np.zeros(64, dtype=np.int64)
    drawn = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002
        streams = _noise.private_stream().integers(0, 2**63, 4)
        drawn.append((*_noise.discrete_laplace(values, scale=1e6), *streams))
    # equal by chance in one of 68 places: below 68/1e6
    assert not any(a == b for a, b in zip(*drawn, strict=True))


def test_the_stream_is_chacha20_under_a_key_of_256_bits():
    state = _noise.private_stream().bit_generator.state
    assert state["bit_generator"].endswith("ChaCha")
    assert state["state"]["rounds"] == 20
    assert sum(int(w != 0) for w in np.asarray(state["state"]["keysetup"]).ravel()[:8]) >= 7  # one word 0: 2^-29


def test_the_generator_is_the_cipher():
    # the first 8 bytes of the keystream under the zero key and nonce (RFC 8439, appendix A.1, test vector 1)
    randomgen = pytest.importorskip("randomgen")
    assert int(randomgen.ChaCha(key=0, rounds=20).random_raw()).to_bytes(8, "little").hex() == "76b8e0ada0f13d90"


def test_extremes():
    big = np.array([2**53, -(2**53)])
    assert np.abs(_noise.discrete_laplace(big, scale=0.01) - big).max() <= 1  # P(|k| > 1) = 2 exp(-200)
    assert _noise.discrete_laplace(np.zeros(0, dtype=np.int64), scale=1.0).shape == (0,)
    assert np.abs(_noise.discrete_laplace(np.zeros(9, dtype=np.int64), scale=2.0**40)).max() > 2**30


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (np.zeros(3), 1.0),
        (np.zeros((2, 2), dtype=np.int64), 1.0),
        (np.array([2**53 + 1]), 1.0),
        (np.array([-(2**63)]), 1.0),
        (np.zeros(3, dtype=np.int64), 0.0),
        (np.zeros(3, dtype=np.int64), float("nan")),
        (np.zeros(3, dtype=np.int64), 2.0**41),
        (np.zeros(3, dtype=np.int64), "1"),
    ],
)
@pytest.mark.parametrize("draw", [_noise.discrete_laplace, _noise.discrete_gaussian])
def test_bad_input_is_refused(draw, values, scale):
    with pytest.raises((ValueError, TypeError)):
        draw(values, scale=scale)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    return tmp_path


def table(text):
    return parse(text.encode(), name="t.csv", confidential=True)


def test_statistics_reach_the_noise_rounded_to_their_grid(root, monkeypatch):
    monkeypatch.setattr(_noise, "discrete_laplace", lambda values, *, scale: values)
    x = np.array([0.1, 0.5, 1.3, 2.2, 2.9, 3.5, 9.0])
    (root / "confidential" / "x.csv").write_text("x\n" + "".join(f"{v}\n" for v in x))
    settings = {"mechanism": "censored_statistics", "data": "confidential/x.csv", "column": "x", "epsilon": 1.0}
    folder = room.make("c", settings | {"lower": 0.5, "upper": 3}, root=root)
    said = json.loads((folder / "record.json").read_text())
    inside = x[(x >= 0.5) & (x <= 3)]
    truth = {"mean": inside.mean(), "sse": ((inside - inside.mean()) ** 2).sum(), "low": 1, "high": 2}
    found = csv_table.read(folder / "release.csv")
    for key, value in zip(found.texts("statistic"), found.numbers("value"), strict=True):
        assert abs(value - truth[key]) <= said["step"][key] / 2 + 1e-15


def test_the_total_of_an_additive_release_gets_noise_of_its_own(root, monkeypatch):
    monkeypatch.setattr(_noise, "discrete_laplace", lambda values, *, scale: values + 1000)
    (root / "confidential" / "c.csv").write_text("category,count\na,10\nb,20\nc,30\n")
    settings = {"mechanism": "additive_counts", "data": "confidential/c.csv", "epsilon": 1.0, "algorithm": "3"}
    folder = room.make("a", settings, root=root)
    assert csv_table.read(folder / "release.csv").whole("count").sum() == 1060  # 60 and 1000 once, not three times


def test_many_pure_costs_are_cheaper_through_their_renyi_curve():
    many = [spending.Cost(relation=spending.REPLACE, epsilon=0.1)] * 400

    def curve(order):  # randomised response at epsilon = 0.1, and equation 14 of Ponnoprat (2022)
        response = math.log((math.exp(order * 0.1) + math.exp((1 - order) * 0.1)) / (1 + math.exp(0.1))) / (order - 1)
        return 400 * response + math.log1p(-1 / order) - (math.log(1e-6) + math.log(order)) / (order - 1)

    best = minimize_scalar(curve, bounds=(1.01, 100), method="bounded").fun
    assert best < 0.35 * 40  # the sum of all is 40
    assert best - 1e-9 <= spending.epsilon_at(many, delta=1e-6) <= best * 1.01


def test_a_swapped_file_with_another_byte_changed_is_never_published():
    before = table("a,b\n1,x\n2,y\n3,z\n")
    sources = np.array([1, 2, 0])
    good = before.exchanged(["b"], sources)
    _microdata._verify(before, good, ["b"], sources)
    for bad in (good.replace(b"3,", b"4,"), good.replace(b"y", b"x", 1), good + b"\n", good.replace(b"\n", b"\r\n", 1)):
        with pytest.raises(RuntimeError, match="differ from the drawn records"):
            _microdata._verify(before, bad, ["b"], sources)


def test_bins_are_closed_below_and_the_outer_ones_take_the_rest():
    settings = {"numeric": ["x"], "bounds": {"x": [0, 10]}, "bins": 5, "levels": {}}
    names, codes = _classifier.categories(settings, table("x\n-3\n0\n1.9\n2\n8\n9.9\n10\n77\n"), "x")
    assert names == ["[0, 2)", "[2, 4)", "[4, 6)", "[6, 8)", "[8, 10)"]
    assert codes.tolist() == [0, 0, 0, 1, 4, 4, 4, 4]


def test_a_dirichlet_model_shares_its_budget_over_its_tables(root):
    (root / "confidential" / "p.csv").write_text("t,u,v\n" + "a,c,e\nb,d,f\n" * 9)
    levels = {"t": ["a", "b"], "u": ["c", "d"], "v": ["e", "f"]}
    settings = {"mechanism": "naive_bayes", "data": "confidential/p.csv", "target": "t", "levels": levels}
    folder = room.make("m", settings | {"noise": "dirichlet", "epsilon": 3.0, "order": 5.0}, root=root)
    said = json.loads((folder / "record.json").read_text())
    assert (said["r"], said["alpha"]) == dirichlet.calibrate(1.0, order=5.0)
    assert said["exact_delta_of_one_table"]["epsilon"] == 1.0


def test_association_is_that_of_a_chi_squared_table():
    """Check Cramer's V of a two by two table: |ad - bc| divided by the root of the product of its margins."""
    a, b = np.repeat([0, 0, 1, 1], [5, 2, 1, 4]), np.repeat([0, 1, 0, 1], [5, 2, 1, 4])
    assert _microdata.cramers_v(a, b) == pytest.approx((5 * 4 - 2 * 1) / (7 * 5 * 6 * 6) ** 0.5, rel=1e-12)
    assert np.isnan(_microdata.cramers_v(a, np.zeros_like(a)))


RECORDS = "y,u,v\nb,c,1\na,c,1\nb,d,9\nb,c,5\na,d,0\n"
MODEL = {
    "target": "y", "numeric": ["v"], "bounds": {"v": [0, 6]}, "bins": 2, "levels": {"y": ["a", "b"], "u": ["c", "d"]},
    "epsilon": 6.0, "rho": 0.75, "order": 4.0, "delta": 1e-5, "floor": None, "noise": "discrete_laplace",
}  # fmt: skip
NETWORK = {"y": ["v", "u"], "u": [], "v": ["u"]}


def rows_of(plan):
    return list(csv.reader(io.StringIO(plan.draw().data.decode())))


def test_a_level_that_is_not_public_is_named_by_its_line_only():
    with pytest.raises(ValueError, match=r"line 3, column 'u'.*must be one of the public levels") as caught:
        _classifier.naive_bayes(MODEL, table("y,u,v\na,c,1\nb,secret,2\n"))
    assert "secret" not in str(caught.value)


def test_counts_of_a_network_by_hand(monkeypatch):
    """Check five records: parents in their order, the last one changing fastest, then the categories of the node."""
    tables = _classifier._tables(MODEL, table(RECORDS), NETWORK)
    # v is below 3 in the records 1, 2, 5; rows (v, u) = (low, c), (low, d), (high, c), (high, d), columns y = a, b
    assert tables.counts[0].tolist() == [[1, 1], [1, 0], [0, 1], [0, 1]]
    assert tables.counts[1].tolist() == [[3, 2]]
    assert tables.counts[2].tolist() == [[2, 1], [1, 1]]
    monkeypatch.setattr(_classifier, "MOST_CELLS", 14)
    assert len(_classifier._tables(MODEL, table(RECORDS), NETWORK).counts) == 3
    monkeypatch.setattr(_classifier, "MOST_CELLS", 13)
    with pytest.raises(Refused, match="the model must have at most 13 cells, got 14: use fewer columns"):
        _classifier._tables(MODEL, table(RECORDS), NETWORK)


@pytest.mark.parametrize(
    ("target", "network"),
    [("y", {"y": [], "v": ["y"], "u": ["y"]}), ("v", {"v": [], "y": ["v"], "u": ["v"]})],
)
def test_a_naive_bayes_model_is_a_network_of_the_target(target, network):
    facts = _classifier.naive_bayes(MODEL | {"target": target}, table(RECORDS)).facts
    assert facts["network"] == network
    assert list(facts["network"]) == list(network)
    assert (facts["target"], facts["tables"], facts["records"]) == (target, 3, 5)
    assert facts["levels"] == MODEL["levels"] | {"v": ["[0, 3)", "[3, 6)"]}


@pytest.mark.parametrize(("floor", "used"), [(None, 1.0), (1.5, 1.5)])
def test_discrete_noise_on_a_network_by_hand(floor, used, monkeypatch):
    """Check a change of 2 per table, so a scale of 6/6; counts below the floor are raised to it."""
    asked = []
    monkeypatch.setattr(_noise, "discrete_laplace", lambda values, *, scale: asked.append(scale) or values)
    plan = _classifier.bayesian_network(MODEL | {"network": NETWORK, "floor": floor, "target": None}, table(RECORDS))
    facts = plan.facts
    assert (facts["law"], facts["step"], facts["sensitivity"], facts["hardened"]) == ("discrete Laplace", 1, 6, True)
    assert facts["scale"] == pytest.approx(1.0, rel=1e-14)
    assert facts["floor"] == pytest.approx(used, rel=1e-14)
    assert (plan.cost.relation, plan.cost.rho, plan.cost.order) == ("replace a record", None, None)
    assert plan.cost.epsilon == pytest.approx(6.0, rel=1e-14)
    assert plan.losses == losses.of_counts("discrete_laplace", facts["scale"], change=2, relation=spending.REPLACE) * 3
    header, *rows = rows_of(plan)
    assert header == ["node", "given", "category", "probability"]
    assert asked == [facts["scale"]]
    assert [row[:3] for row in rows[:4]] == [
        ["y", '{"v": "[0, 3)", "u": "c"}', "a"], ["y", '{"v": "[0, 3)", "u": "c"}', "b"],
        ["y", '{"v": "[0, 3)", "u": "d"}', "a"], ["y", '{"v": "[0, 3)", "u": "d"}', "b"],
    ]  # fmt: skip
    assert [row[:3] for row in rows[8:10]] == [["u", "{}", "c"], ["u", "{}", "d"]]
    counts = np.array([[1, 1], [1, 0], [0, 1], [0, 1], [3, 2], [2, 1], [1, 1]])
    raised = np.maximum(counts, used)
    wanted = (raised / raised.sum(axis=1, keepdims=True)).ravel()
    assert [float(row[3]) for row in rows] == pytest.approx(wanted, rel=1e-13)


def test_gaussian_noise_on_a_model_has_the_scale_of_its_rho(monkeypatch):
    """Check rho = 6/(2 sigma^2) for a squared change of 2 in each of three tables: sigma = 2 at rho 0.75."""
    monkeypatch.setattr(_noise, "discrete_gaussian", lambda values, *, scale: values)
    plan = _classifier.naive_bayes(MODEL | {"noise": "discrete_gaussian"}, table(RECORDS))
    assert (plan.facts["law"], plan.facts["sensitivity"]) == ("discrete Gaussian", 6)
    assert plan.facts["scale"] == plan.facts["floor"] == pytest.approx(2.0, rel=1e-13)
    assert plan.cost.rho == pytest.approx(0.75, rel=1e-13)
    assert (plan.cost.epsilon, plan.cost.order) == (None, None)
    assert plan.facts["epsilon_at_delta"] == losses.at_delta(plan.cost, plan.losses, delta=1e-5)
    assert len(rows_of(plan)) == 1 + 2 + 4 + 4


def test_dirichlet_draws_have_the_weights_of_the_counts(monkeypatch):
    """Check gamma draws with shape r n + alpha, replaced by their shapes, and facts of a third of the budget."""
    monkeypatch.setattr(_noise, "private_stream", lambda: SimpleNamespace(standard_gamma=lambda shape: shape))
    plan = _classifier.naive_bayes(MODEL | {"noise": "dirichlet", "epsilon": 3.0}, table(RECORDS))
    facts, (r, alpha) = plan.facts, dirichlet.calibrate(1.0, order=4.0)
    stated = {key: facts[key] for key in ("law", "r", "alpha", "order", "hardened", "not_hardened_because")}
    assert stated == {
        "law": "Dirichlet(r counts + alpha)", "r": r, "alpha": alpha, "order": 4.0, "hardened": False,
        "not_hardened_because": _classifier.FLOATING,
    }  # fmt: skip
    assert facts["exact_delta_of_one_table"] == {
        "epsilon": 1.0, "delta": pytest.approx(float(dirichlet_delta(1.0, r=r, alpha=alpha)), rel=1e-12)
    }  # fmt: skip
    assert (plan.cost.relation, plan.cost.epsilon, plan.cost.order) == ("replace a record", 3.0, 4.0)
    assert plan.losses == (DirichletLoss(r, alpha),) * 3
    shares = [float(row[3]) for row in rows_of(plan)[1:3]]
    assert shares == pytest.approx([(2 * r + alpha) / (5 * r + 2 * alpha), (3 * r + alpha) / (5 * r + 2 * alpha)])


SWAPPED = "a,b,c,d\n1,x,p,k\n2,x,p,k\n1,y,p,l\n3,z,q,k\n1,x,r,k\n1,x,r,l\n"


def test_the_facts_of_a_swap_by_hand(monkeypatch):
    """Check strata p (3 records), q (1) and r (2, whose swapped values are equal): epsilon = ln(4) - ln(0.2/0.8)."""
    settings = {"swap": ["a"], "match": ["c"], "rate": 0.2}
    plan = _microdata.swap(settings, table(SWAPPED))
    facts = dict(plan.facts)
    unit = math.log(16)
    assert facts.pop("cost_of_one_exchange") == plan.cost.epsilon
    assert 2 * unit < plan.cost.epsilon == pytest.approx(2 * unit, rel=1e-14)
    assert facts.pop("epsilon_per_unit_of_distance") == pytest.approx(unit, rel=1e-14)
    assert facts.pop("epsilon_per_unit_of_distance_exact") == exact_epsilon(3, rate=0.2)
    assert facts == {
        "law": "permutation swapping", "rate": 0.2, "invariants": _microdata.INVARIANTS, "records": 6, "strata": 3,
        "strata_of_one_record": 1, "largest_stratum": 3, "hardened": True, "swapped": ["a"], "matched": ["c"],
        "encoding": "utf-8", "delimiter": ",",
    }  # fmt: skip
    assert plan.cost.relation == spending.EXCHANGE
    for most, known in ((3, True), (2, False)):
        monkeypatch.setattr(_microdata, "_EXACT_UP_TO", most)
        facts = _microdata.swap(settings, table(SWAPPED)).facts
        assert (facts["epsilon_per_unit_of_distance_exact"] is not None) == known


def test_a_swap_that_can_change_nothing_is_refused():
    for match in (["a", "b", "c"], ["a"], ["c", "d", "b"]):
        with pytest.raises(Refused, match="no record can change in any stratum"):
            _microdata.swap({"swap": ["a"], "match": match, "rate": 0.2}, table(SWAPPED))
    two = table("a,b\n1,x\n2,y\n")
    assert _microdata.swap({"swap": ["a"], "match": [], "rate": 0.2}, two).facts["largest_stratum"] == 2


def test_columns_are_coded_in_the_order_of_their_values():
    codes = {name: _microdata.coded_column(table(SWAPPED), name) for name in "abcd"}
    assert codes["a"].tolist() == [0, 1, 0, 2, 0, 0]
    assert codes["b"].tolist() == [0, 0, 1, 2, 0, 0]
    assert _microdata.joint(codes, [], 6).tolist() == [0] * 6
    assert _microdata.joint(codes, ["a"], 6).tolist() == [0, 1, 0, 2, 0, 0]
    assert _microdata.joint(codes, ["a", "b"], 6).tolist() == [0, 1, 2, 3, 0, 0]
    assert _microdata.joint(codes, ["d", "b", "a"], 6).tolist() == [0, 1, 2, 3, 0, 4]
    strata = np.array([0, 0, 0, 1, 2, 2])
    assert _microdata._distinct(strata, codes["a"], 3).tolist() == [2, 1, 1]
    assert _microdata._distinct(strata, codes["d"], 4).tolist() == [2, 1, 2, 0]


def test_the_report_of_a_swap_by_hand():
    """Check a swap of the first two of four records: half of them have another value; V falls from 1 to 0."""
    codes = {"a": np.array([0, 1, 1, 0]), "b": np.array([0, 1, 1, 0]), "c": np.array([0, 0, 0, 1])}
    raw = _microdata._report(codes, ["a"], ["b", "c"], np.array([1, 0, 2, 3])).decode()
    header, changed, first, second = csv.reader(io.StringIO(raw))
    assert header == ["marking", "quantity", "before", "after"]
    assert changed == ["confidential", "share of records with another a", "0.0", "0.5"]
    assert first[:2] == ["confidential", "Cramer's V of a and b"]
    assert [float(v) for v in first[2:]] == pytest.approx([1.0, 0.0])
    assert second[1] == "Cramer's V of a and c"
    assert [float(v) for v in second[2:]] == pytest.approx([3**-0.5, 3**-0.5])  # (1 3 - 0)/(1 3 2 2)^(1/2) each


@pytest.mark.parametrize(("levels", "rows"), [(50, 2), (51, 1)])
def test_associations_are_reported_for_at_most_50_values(levels, rows):
    codes = {"a": np.array([0, 1, *range(levels)]), "b": np.arange(levels + 2) % 2}
    raw = _microdata._report(codes, ["a"], ["b"], np.arange(levels + 2)).decode()
    assert len(raw.splitlines()) == 1 + rows


def test_association_of_larger_tables_is_that_of_scipy():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 60)
    b = (a + rng.integers(0, 2, 60)) % 3
    observed = np.array([[((a == i) & (b == j)).sum() for j in range(3)] for i in range(4)])
    assert _microdata.cramers_v(a, b) == pytest.approx(stats.contingency.association(observed, "cramer"), rel=1e-12)
    assert _microdata.cramers_v(a, a) == pytest.approx(1.0)
    assert np.isnan(_microdata.cramers_v(np.zeros(4, int), np.array([0, 1, 0, 1])))


@pytest.mark.parametrize(
    ("r", "alpha", "known"),
    [(1e3, 1.0, True), (1e3, 2e4, True), (1000.001, 1.0, False), (1.0, 20_000.1, False), (1.0, 0.999, False)],
)
def test_losses_of_models_are_known_up_to_a_size(r, alpha, known):
    assert losses.of_shares(r, alpha, tables=2) == ((DirichletLoss(r, alpha),) * 2 if known else None)


@pytest.mark.parametrize(
    ("change", "relation", "scale", "known"),
    [
        (2, "replace a record", 0.01, True),  # the usual changes have no limit
        (1, "add or remove a record", 0.01, True),
        (1, "replace a record", 0.16, True),  # rho = 1/(2 0.16^2) = 19.5
        (1, "replace a record", 0.158, False),  # 20.03
        (4, "add or remove a record", 0.317, True),  # 19.9
        (4, "add or remove a record", 0.316, False),  # 20.03
    ],
)
def test_losses_of_several_splits_are_known_up_to_a_rho_of_20(change, relation, scale, known):
    assert (losses.of_counts("discrete_gaussian", scale, change=change, relation=relation) is not None) == known
    assert losses.of_counts("discrete_laplace", scale, change=change, relation=relation) is not None


REPLACED = {"relation": "replace a record"}


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"mechanism": "additive_counts", "scale": 3.0, "cost": REPLACED}, (DiscreteLaplaceLoss(3.0, 1),) * 2),
        (
            {"mechanism": "censored_statistics", "epsilon_of_each": {"mean": 0.5, "low": 0.25}, "cost": REPLACED},
            (PureLoss(0.5), PureLoss(0.25)),
        ),
        ({"mechanism": "swap", "cost": {"relation": "exchange"}}, None),
        (
            {"mechanism": "naive_bayes", "network": {"a": [], "b": ["a"]}, "r": 2.0, "alpha": 3.0, "cost": REPLACED},
            (DirichletLoss(2.0, 3.0),) * 2,
        ),
        (
            {"mechanism": "bayesian_network", "network": {"a": [], "b": [], "c": []}, "law": "discrete Laplace",
             "scale": 4.0, "cost": REPLACED},
            losses.of_counts("discrete_laplace", 4.0, change=2, relation=spending.REPLACE) * 3,
        ),
        (
            {"mechanism": "discrete_laplace", "scale": 4.0, "sensitivity": 1, "cost": REPLACED},
            losses.of_counts("discrete_laplace", 4.0, change=1, relation=spending.REPLACE),
        ),
        (
            {"mechanism": "discrete_laplace", "scale": {"a": 4.0, "b": 5.0}, "levels": ["a", "b"],
             "change_of_a_level": 2, "cost": REPLACED},
            tuple(one for scale in (4.0, 5.0)
                  for one in losses.of_counts("discrete_laplace", scale, change=2, relation=spending.REPLACE)),
        ),
    ],
)  # fmt: skip
def test_losses_follow_from_the_record_of_a_release(record, found):
    assert losses.of_record(record) == found


@pytest.mark.parametrize(
    ("stated", "method", "epsilon"),
    [(0.5, "loss distributions", 0.5), (1.0, "conversion", 1.0), (2.0, "conversion", 1.0)],
)
def test_the_smaller_epsilon_at_a_delta_is_stated(stated, method, epsilon, monkeypatch):
    asked = []
    monkeypatch.setattr(losses.loss_composition, "epsilon", lambda parts, delta: asked.append((parts, delta)) or stated)
    cost, parts = spending.Cost(relation=spending.REPLACE, epsilon=1.0), (PureLoss(0.5), PureLoss(0.25), PureLoss(0.5))
    monkeypatch.setattr(losses, "epsilon_at", lambda costs, *, delta: {1e-5: 1.0}[delta] if costs == [cost] else None)
    found = losses.at_delta(cost, parts, delta=1e-5)
    assert found == {"epsilon": epsilon, "delta": 1e-5, "method": method}
    assert asked == [({PureLoss(0.5): 2, PureLoss(0.25): 1}, 1e-5)]


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Return a function that opens a release with the given statement, for which epsilon 2 is found at any delta."""

    def opens(stated, error=None):
        def at_delta(cost, parts, *, delta):
            assert (cost, parts) == (spending.Cost(relation=spending.REPLACE, rho=0.5), None)
            if error:
                raise error
            return {"epsilon": 2.0, "delta": delta, "method": "conversion"}

        record = {"mechanism": "swap", "cost": {"relation": spending.REPLACE, "rho": 0.5}, **stated}
        monkeypatch.setattr(losses, "open_release", lambda folder: SimpleNamespace(record=record, folder=folder))
        monkeypatch.setattr(losses, "at_delta", at_delta)
        assert losses.opened(tmp_path).record == record

    return opens


@pytest.mark.parametrize(("epsilon", "good"), [(2.0, True), (3.0, True), (2 - 1.9e-6, True), (2 - 2.1e-6, False)])
def test_a_stated_epsilon_may_be_too_small_by_a_millionth(recorded, epsilon, good, tmp_path):
    stated = {"epsilon_at_delta": {"epsilon": epsilon, "delta": 1e-5}}
    if good:
        recorded(stated)
        recorded({})  # a record of version 0.2
        return
    words = (
        f"{tmp_path / 'record.json'}: epsilon_at_delta must be >= 2 at delta 1e-05, according to the noise and the "
        "cost in the record, got 1.9999979: ask the author of the release for the original record"
    )
    with pytest.raises(FileFault, match=f"^{re.escape(words)}$"):
        recorded(stated)


@pytest.mark.parametrize("error", [ValueError("a"), TypeError("a"), OverflowError("a"), ZeroDivisionError("a")])
def test_an_epsilon_that_cannot_be_computed_is_a_fault_of_the_record(recorded, error):
    with pytest.raises(FileFault, match=r"record\.json: epsilon_at_delta cannot be computed from the record \(a\)$"):
        recorded({"epsilon_at_delta": {"epsilon": 1.0, "delta": 1e-5}}, error)
