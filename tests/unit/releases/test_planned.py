"""Plans of releases: noise and cost by settings alone equal those in the records of releases that were made."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpmultinomial._files import table_columns
from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import checks, losses, planned, room
from dpmultinomial._releases.spending import ADD_OR_REMOVE, REPLACE, Cost
from reproduction.scenarios import planning

TREE = "category,parent,count\nstate,,8\nnorth,state,5\nsouth,state,3\na,north,3\nb,north,2\nc,south,0\nd,south,3\n"
LEVELS = ["state", "county", "tract"]
COUNTS = "category,count\na,10\nb,20\nc,30\n"
NUMBERS = "x\n" + "".join(f"{i / 7}\n" for i in range(70))
TABLE = "y,x\na,c\nb,d\na,d\nb,c\n"
MODEL = {"target": "y", "levels": {"y": ["a", "b"], "x": ["c", "d"]}}
CASES = {
    "laplace": (COUNTS, {"mechanism": "discrete_laplace", "epsilon": 0.7}),
    "gaussian": (COUNTS, {"mechanism": "discrete_gaussian", "rho": 0.3, "sensitivity": 4}),
    "laplace tree": (TREE, {"mechanism": "discrete_laplace", "epsilon": 0.9, "levels": LEVELS}),
    "gaussian tree": (
        TREE,
        {"mechanism": "discrete_gaussian", "rho": 0.4, "levels": LEVELS, "narrow": "tract", "relation": REPLACE},
    ),
    "shares": (
        TREE,
        {
            "mechanism": "discrete_laplace", "epsilon": 1.5, "levels": LEVELS,
            "shares": {"state": 0.2, "county": 0.3, "tract": 0.5},
        },
    ),
    "additive": (COUNTS, {"mechanism": "additive_counts", "epsilon": 0.5}),
    "statistics": (
        NUMBERS, {"mechanism": "censored_statistics", "epsilon": 1.0, "column": "x", "lower": 1, "upper": 9},
    ),
    "bayes": (TABLE, {"mechanism": "naive_bayes", "noise": "discrete_laplace", "epsilon": 1.0, **MODEL}),
    "bayes, gaussian": (TABLE, {"mechanism": "naive_bayes", "noise": "discrete_gaussian", "rho": 0.5, **MODEL}),
}  # fmt: skip


def shape_of(text):
    table = parse(text.encode(), name="t.csv", confidential=True)
    return table_columns.of(table, table.texts("category")) if "parent" in table.columns else None


@pytest.mark.parametrize("case", CASES)
def test_scales_and_costs_are_those_of_the_release(tmp_path, case):
    text, settings = CASES[case]
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/f.csv").write_text(text)
    written = {"data": "confidential/f.csv", **settings}
    record = json.loads((room.make("r", written, root=tmp_path) / "record.json").read_text())
    get = checks.filled(written)
    found = planned.widths(get, level=0.9, shape=shape_of(text)).set_index("quantity")
    scale = record["scale"]
    if case == "statistics":  # the plan takes the sensitivity of the sum of squares at many records
        assert scale["sse"] == pytest.approx(found.loc["sse", "scale"] * (1 - 1 / 70), rel=1e-5)
        scale = {key: value for key, value in scale.items() if key != "sse"}
    for name, value in (scale if isinstance(scale, dict) else dict.fromkeys(found.index, scale)).items():
        assert found.loc[name, "scale"] == pytest.approx(value, rel=2e-6)
    if "shares" in record:
        for name, share in record["shares"].items():
            assert found.loc[name, "share"] == share
    cost, covered = planned.costs(get, {"epsilon": 50.0, "delta": 1e-6}, [])
    assert covered == "yes"
    stated = dict(record["cost"])
    assert cost.relation == stated.pop("relation")
    for key, value in stated.items():
        assert getattr(cost, key) == pytest.approx(value, rel=2e-6)
    scales = [value for value in found["scale"].tolist() if value > 0]
    at_delta = losses.at_delta(cost, planned.known_losses(get, scales), delta=1e-6)
    assert at_delta.pop("epsilon") == pytest.approx(record["epsilon_at_delta"].pop("epsilon"), rel=1e-5)
    assert at_delta == record["epsilon_at_delta"]
    if isinstance(record["against_ceiling"], dict):
        against = record["against_ceiling"]
        key = next(key for key in ("epsilon", "rho") if key in against)
        assert getattr(cost.replaced, key) == pytest.approx(against[key], rel=2e-6)


@pytest.mark.parametrize("law", ["discrete_laplace", "discrete_gaussian"])
@pytest.mark.parametrize("scale", [0.3, 1.7, 40.0])
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_a_half_width_is_the_smallest_that_holds(law, scale, level):
    k = np.arange(-2000, 2001)
    weights = np.exp(-np.abs(k) / scale) if law == "discrete_laplace" else np.exp(-(k**2) / (2 * scale**2))
    weights /= weights.sum()
    h = planned.half_width(law, scale, level)
    assert weights[np.abs(k) <= h].sum() >= level
    assert h == 0 or weights[np.abs(k) <= h - 1].sum() < level


def test_least_squares_widths_are_those_of_the_normal_equations():
    settings = checks.filled({"data": "confidential/f.csv", **CASES["gaussian tree"][1], "relation": None})
    found = planned.widths(settings, level=0.9, shape=shape_of(TREE)).set_index("quantity")
    leaves = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], *np.eye(4)])
    scales = found["scale"].to_numpy()[[0, 1, 1, 2, 2, 2, 2]]
    k = np.arange(-400, 401)
    variance = np.array([(k**2 * (w := np.exp(-(k**2) / (2 * s**2)))).sum() / w.sum() for s in scales])
    covariance = leaves @ np.linalg.inv(leaves.T @ (leaves / variance[:, None])) @ leaves.T
    sd = np.sqrt(np.diag(covariance))
    wanted = stats.norm.ppf(0.95) * np.array([sd[0], sd[1:3].mean(), sd[3:].mean()])
    assert found["least_squares"].to_numpy() == pytest.approx(wanted, rel=1e-9)
    assert list(found["nodes"]) == [1, 2, 4]


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_half_widths_of_statistics_are_those_of_laplace_noise(level):
    get = checks.filled({"data": "confidential/f.csv", **CASES["statistics"][1]})
    found = planned.widths(get, level=level)
    assert len(found) == 4
    for scale, near in zip(found["scale"], found["half_width"], strict=True):
        noise = stats.laplace(scale=scale)
        assert noise.cdf(near) - noise.cdf(-near) == pytest.approx(level, rel=1e-12)


def test_a_plan_names_the_parameter_of_its_cost(tmp_path):
    """A replaced record is one record removed and one added, so zCDP with rho becomes zCDP with 2^2 rho."""
    settings = {"data": "confidential/f.csv", "mechanism": "discrete_gaussian", "rho": 0.5, "levels": LEVELS}
    made = planning.release_made(
        "p", {"release": "r"}, releases={"r": settings}, budgets={"r": {"rho": 2.5}}, folder=tmp_path, root=tmp_path
    )
    text = json.loads((tmp_path / "results/plans/p.json").read_text())["sentence"]
    assert text.startswith(
        "The rho that the release states refers to neighbours that differ by one record more or less."
    )
    assert "counts the rho of a replaced record, which is 4 times as large." in text
    assert "covers rho = 0.5, but not rho = 1" in text
    table = planning.shown(made, 0.95)
    assert table.loc[table["rho"] == "0.5", "rho stated"].iloc[0] == "0.5 (add or remove a record)"
    assert table.loc[table["rho"] == "0.5", "rho of the budget"].iloc[0] == "2 (replace a record)"


def test_mechanisms_without_additive_noise():
    swap = checks.filled({"mechanism": "swap", "data": "confidential/f.csv", "swap": "x", "rate": 0.1})
    assert planned.widths(swap, level=0.9)["half_width"].isna().all()
    assert planned.costs(swap, {"exchange": 1.0}, []) == (None, planned.NO_COST)
    dirichlet = {"mechanism": "naive_bayes", "noise": "dirichlet", "epsilon": 1.0, "order": 2.0, **MODEL}
    found = planned.widths(checks.filled({"data": "confidential/f.csv", **dirichlet}), level=0.9)
    assert list(found["quantity"]) == ["each cell"]
    assert found["half_width"].isna().all()


def test_what_is_missing_is_named():
    get = checks.filled({"data": "confidential/f.csv", **CASES["gaussian tree"][1]})
    with pytest.raises(ValueError, match="shape is required if narrow is given"):
        planned.widths(get, level=0.9)
    with pytest.raises(
        ValueError, match=r"levels must contain one name per level of the tree that shape describes .3 levels., got 2"
    ):
        planned.widths({**get, "levels": LEVELS[:2], "narrow": None}, level=0.9, shape=shape_of(TREE))
    with pytest.raises(ValueError, match="levels is required to plan the release of a tree"):
        planned.widths({**get, "levels": None, "narrow": None}, level=0.9)


def test_the_budget_that_is_left_decides(tmp_path):
    """Spent epsilon 1 (add or remove) is 2 of the budget; of 5, epsilon 1 more fits and 2 does not."""
    settings = {"data": "confidential/f.csv", "mechanism": "discrete_laplace", "epsilon": 1.0, "levels": LEVELS}
    get, spent = checks.filled(settings), [Cost(relation=ADD_OR_REMOVE, epsilon=1.0)]
    answers = {e: planned.costs({**get, "epsilon": e}, {"epsilon": 5.0}, spent)[1] for e in (1.0, 1.5, 2.0)}
    assert answers[1.0] == answers[1.5] == "yes"
    assert "would rise from 2 to 6" in answers[2.0]
    made = planning.release_made(
        "p", {"release": "r", "values": [1, 2]}, releases={"r": settings}, budgets={"r": {"epsilon": 3.0}},
        folder=tmp_path, root=tmp_path,
    )  # fmt: skip
    assert list(made["epsilon"]) == [1.0] * 3 + [2.0] * 3
    assert list(made["covered"] == "yes") == [True] * 3 + [False] * 3
    assert (made["budget_cost"] == 2 * made["cost"]).all()
    written = pd.read_csv(tmp_path / "results/plans/p.csv")
    assert list(written.columns) == ["epsilon", *planning.COLUMNS]
    facts = json.loads((tmp_path / "results/plans/p.json").read_text())
    assert "covers epsilon = 1, but not epsilon = 2" in facts["sentence"]
    assert "confidential" not in json.dumps(facts)


def test_the_figure_has_a_line_for_each_level(tmp_path):
    settings = {"data": "confidential/f.csv", "mechanism": "discrete_laplace", "epsilon": 1.0, "levels": LEVELS}
    made = planning.release_made(
        "p", {"release": "r"}, releases={"r": settings}, budgets={}, folder=tmp_path, root=tmp_path
    )
    axes = planning.figure(made, 0.95).axes[0]
    assert [line.get_label() for line in axes.get_lines()] == LEVELS
    for line, level in zip(axes.get_lines(), LEVELS, strict=True):
        rows = made[made["quantity"] == level]
        assert line.get_xdata() == pytest.approx([0.25, 0.5, 1, 2, 4])
        assert line.get_ydata() == pytest.approx(rows["half_width"].to_numpy())
    assert (made["covered"] == "no budget").all()


def test_the_default_values_of_a_rate_stay_below_one():
    assert planning.values({}, 0.4, "rate") == [0.1, 0.2, 0.4, 0.8]
