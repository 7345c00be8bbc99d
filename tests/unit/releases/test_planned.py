"""Plans of releases: noise and cost by settings alone equal those in the records of releases that were made."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpmultinomial._files import table_columns
from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import checks, losses, planned, room
from dpmultinomial._releases.spending import ADD_OR_REMOVE, REPLACE, Cost
from reproduction.config import user_files
from reproduction.scenarios import page, planning, sentences

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
    assert "counts an upper bound on the rho of a replaced record, which is 4 times as large." in text
    assert "covers rho = 0.5, but not rho = 1" in text
    table = planning.shown(made, 0.95)
    assert table.loc[table["rho"] == "0.5", "rho stated"].iloc[0] == "0.5 (add or remove a record)"
    assert table.loc[table["rho"] == "0.5", "rho counted"].iloc[0] == "2 (replace a record)"


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
    flat = {**get, "levels": None, "narrow": None, "shares": None, "relation": ADD_OR_REMOVE}
    with pytest.raises(ValueError, match=r"^levels is required to plan .* without a column parent, omit relation$"):
        planned.widths(flat, level=0.9)
    kept = planned.widths({**flat, "relation": REPLACE}, level=0.9)  # a release accepts this key for any file
    assert kept.equals(planned.widths({**flat, "relation": None}, level=0.9))
    assert kept["quantity"].tolist() == ["each count"]


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
    assert planning.values({}, 400.0, "epsilon", most=1000) == [100.0, 200.0, 400.0, 800.0]


@pytest.mark.parametrize(
    ("sensitivity", "text"),
    [
        (2.0, "epsilon = 0.333 (replace a record)"),
        (1.0, "epsilon = 0.333 (for an L1 change of 1)"),
        (4.0, "epsilon = 0.333 (for an L1 change of 4)"),
    ],
)
def test_an_epsilon_is_stated_for_the_relation_of_a_public_total(sensitivity, text):
    assert planning.epsilons(1 / 3, sensitivity) == text


@pytest.mark.parametrize(
    ("want", "of", "goal"),
    [
        (
            {"question": "a > b"},
            "counts",
            "the correct answer to the question whether a > b (true counts) has a probability of at least 90 %",
        ),
        (
            {"interval": "a", "narrower": 0.125},
            "shares",
            "the 90 % interval of the true share of a is narrower than 12.5 percentage points and contains the true "
            "value",
        ),
        (
            {"interval": "a", "narrower": 12.5},
            "counts",
            "the 90 % interval of the true count of a is narrower than 12.5 and contains the true value",
        ),
        (
            {"interval": "a", "narrower": 0.5},
            "rates",
            "the 90 % interval of the underlying rate of a is narrower than 50 percentage points and contains the true "
            "value",
        ),
    ],
)
def test_the_result_of_a_plan_is_a_sentence(want, of, goal):
    found = SimpleNamespace(epsilon=0.5, frequency=0.955, standard_error=0.0123, wrong=0.02, releases=400)
    assert planning.sentence(found, {"want": want, "level": 0.9, "of": of, "sensitivity": 1.0}) == (
        f"With epsilon = 0.5 (for an L1 change of 1), {goal} in 95.5 % of 400 simulated releases "
        "that the search did not use (standard error 1.2 %), and the release is decisive but wrong in 2 %."
    )
    if of != "counts":
        part = planning.sentence(found, {"want": want, "level": 0.9, "of": of, "sensitivity": 1, "among": ["a", "b"]})
        assert " of a among a and b is narrower than" in part


def plan_of(covered, factor=2.0, relation=ADD_OR_REMOVE, values=(0.5, 1.0, 2.0), key="epsilon"):
    """Return the table of a plan with two quantities per value."""
    made = [
        {key: value, "quantity": name, "share": np.nan, "scale": scale / value, "half_width": 3 * scale / value,
         "least_squares": np.nan, "cost": value, "relation": relation, "budget_cost": factor * value,
         "budget_relation": REPLACE, "covered": text, "epsilon_at_delta": value / 3, "delta": 1e-6, "method": "m"}
        for value, text in zip(values, covered, strict=True) for name, scale in (("a", 2.0), ("b", 0.0))
    ]  # fmt: skip
    return pd.DataFrame(made)


@pytest.mark.parametrize(
    ("covered", "end"),
    [
        (["yes", "yes", "yes"], "The budget that is left covers epsilon = 2 and all smaller values."),
        (["yes", "yes", "too much"], "The budget that is left covers epsilon = 1, but not epsilon = 2: too much."),
        (["yes", "much", "more"], "The budget that is left covers epsilon = 0.5, but not epsilon = 1: much."),
        (["first", "second", "third"], "The budget covers none of the values: first."),
        (["no budget"] * 3, "s has no budget."),
    ],
)
def test_the_largest_value_that_the_budget_covers_is_stated(covered, end):
    text = planning.release_sentence(plan_of(covered), {"release": "r"}, "s")
    assert text == (
        "The epsilon that the release states refers to neighbours that differ by one record more or less. The budget "
        "of s counts an upper bound on the epsilon of a replaced record, which is 2 times as large. At delta = 1e-06, "
        f"a release alone has at most the epsilon in its column; budgets do not count it. {end}"
    )


def test_a_relation_of_replacement_is_counted_as_it_is():
    text = planning.release_sentence(plan_of(["yes"] * 3, 1.0, REPLACE, key="rho"), {"release": "r"}, "s")
    assert text.startswith(
        "The rho that the release states refers to neighbours that differ by one record that was repl"
    )
    assert "counts the rho of a replaced record, which is the same number. " in text
    assert "column parent" not in text  # the rows of the plan are levels
    disjoint = planning.release_sentence(plan_of(["yes"] * 3).assign(quantity="each count"), {"release": "r"}, "s")
    assert (
        "The table is for a file without a column parent; for a tree, add the key levels to the release. " in disjoint
    )
    assert disjoint.endswith("The budget that is left covers epsilon = 2 and all smaller values.")
    rate = planning.release_sentence(plan_of(["yes"] * 3, key="rate"), {"release": "r"}, "s")
    assert rate.startswith("The epsilon that the release states")
    none = plan_of(["yes"] * 3).assign(cost=np.nan)
    assert planning.release_sentence(none, {"release": "r"}, "s") == (
        f"r: {planned.NO_COST}; it is not limited by a budget of s."
    )
    limited = planning.release_sentence(none, {"release": "r"}, "s", {"exchange": 1.0})
    assert limited == f"r: {planned.NO_COST}; dpm release compares it with the budget of s."


@pytest.mark.parametrize(
    ("ceiling", "said"),
    [
        ({"rho": 2.0}, "is the same number, but it limits rho, which this release does not have. At"),
        ({"epsilon": 2.0}, "is the same number, but it limits pure epsilon, which this release does not have. At"),
        (
            {"epsilon": 2.0, "delta": 1e-6},
            "is the same number, and converts the sum of all costs to epsilon at delta = 1e-06. At",
        ),
    ],
)
def test_a_plan_with_dirichlet_noise_states_a_renyi_epsilon(ceiling, said):
    """A bound on one Rényi divergence implies neither pure differential privacy nor a rho."""
    found = plan_of(["yes"] * 3, 1.0, REPLACE).assign(scale=np.nan, quantity="each cell")
    text = planning.release_sentence(found, {"release": "r"}, "s", ceiling)
    assert "counts the Rényi epsilon of a replaced record, which " + said in text
    text = planning.release_sentence(found, {"release": "r"}, "s", ceiling, order=2.0)
    assert text.startswith("The Rényi epsilon (order 2) that the release states is an upper bound and refers to")
    assert "Rényi epsilon stated" in planning.shown(found, 0.9)
    cost = {"epsilon": 1.0, "order": 2.0, "relation": REPLACE}
    said = f"Privacy cost of the release: Rényi epsilon at most 1, order = 2 (neighbouring files: {REPLACE})."
    assert sentences.cost_text({"cost": cost}) == said
    protected = page._protected({"cost": cost}, {})[0]
    assert protected.endswith(f" protected with Rényi epsilon at most 1 and order = 2 ({REPLACE}).")


def test_a_plan_explains_the_rows_of_additive_counts_and_statistics():
    summed = planning.release_sentence(plan_of(["yes"] * 3).assign(quantity="noisy total"), {"release": "r"}, "s")
    assert "is the epsilon of each noisy count; the release states twice this epsilon. " in summed
    text = planning.release_sentence(plan_of(["yes"] * 3).assign(quantity="sse"), {"release": "r"}, "s")
    assert "The scale of sse is an upper limit" in text


def test_the_table_of_a_plan_has_rounded_cells():
    found = plan_of(["yes", "no budget", "beyond"])
    table = planning.shown(found, 0.9)
    assert list(table.columns) == [
        "epsilon", "quantity", "scale of noise", "within (90 %)", "epsilon stated", "epsilon counted",
        "epsilon at delta 1e-06", "covered",
    ]  # fmt: skip
    assert table.iloc[0].tolist() == [
        "0.5", "a", "4", "12", "0.5 (add or remove a record)", "1 (replace a record)", "0.166667", "yes",
    ]  # fmt: skip
    assert table.iloc[1].tolist()[1:4] == ["b", "exact", ""]
    assert table["covered"].tolist() == ["yes", "yes", "no budget", "no budget", "no", "no"]
    more = planning.shown(found.assign(share=[0.25, np.nan] * 3, least_squares=[1.23456, np.nan] * 3), 0.9)
    assert more["share"].tolist()[:2] == ["25 %", ""]
    assert more["least squares"].tolist()[:2] == ["1.23", ""]
    without = planning.shown(found.assign(cost=np.nan, scale=np.nan), 0.9)
    assert list(without.columns) == ["epsilon", "quantity", "scale of noise", "within (90 %)"]
    assert without["scale of noise"].tolist() == [""] * 6


def test_the_figure_of_a_plan_has_noisy_quantities_and_least_squares():
    found = plan_of(["yes"] * 3).assign(least_squares=[1.0, np.nan, 2.0, np.nan, 3.0, np.nan])
    axes = planning.figure(found, 0.9).axes[0]
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()}
    assert lines == {
        "a": ([0.5, 1.0, 2.0], [12.0, 6.0, 3.0]),
        "a, least squares": ([0.5, 1.0, 2.0], [1.0, 2.0, 3.0]),
    }
    assert len({line.get_color() for line in axes.get_lines()}) == 1
    assert (axes.get_xscale(), axes.get_xlabel(), axes.get_ylim()[0]) == ("log", "epsilon", 0)
    assert axes.get_ylabel() == "half-width of 90 % intervals"
    assert axes.get_legend() is not None
    empty = planning.figure(found.assign(scale=0.0), 0.9).axes[0]
    (text,) = empty.texts
    assert (text.get_text(), text.get_position()) == ("no additive noise", (0.5, 0.5))
    assert not empty.get_lines()


def test_the_values_of_a_plan_increase_and_default_to_multiples():
    assert planning.values({"values": [3, 1, 2]}, 9.0, "epsilon") == [1.0, 2.0, 3.0]
    assert planning.values({}, 8.0, "epsilon") == [2.0, 4.0, 8.0, 16.0, 32.0]
    assert planning.values({"values": [0.5, 1.0, 0.25]}, 0.4, "rate") == [0.25, 0.5]
    assert planning.values({"values": [0.5, 1.0]}, 0.4, "epsilon") == [0.5, 1.0]
    assert planning._costs(Cost(relation=ADD_OR_REMOVE, rho=0.5)) == {
        "cost": 0.5, "relation": ADD_OR_REMOVE, "budget_cost": 2.0, "budget_relation": REPLACE,
    }  # fmt: skip


def test_mistakes_of_a_planned_release_and_of_its_budgets_have_their_own_places():
    settings = {"data": "confidential/f.csv", "mechanism": "discrete_laplace", "epsilon": -1}
    budgets = {"r": {"epsilon": 4.0, "people": "staff"}, "other": {"epsilon": 1.0, "people": "staff"}}
    found = dict(user_files.planned_mistakes("r", settings, budgets))
    assert sorted(found) == ["budgets.other", "releases.r.epsilon"]
    assert found["budgets.other"].startswith("must be equal to the budget of r,")


@pytest.mark.parametrize(
    ("budget", "stated"),
    [
        ({}, "A budget of r would count the epsilon of a replaced record, which is the same number."),
        ({"epsilon": 4.0}, "The budget of r counts the epsilon of a replaced record, which is the same number."),
        ({"rho": 0.5}, "which is the same number, converted to rho = epsilon²/2."),
        ({"epsilon": 4.0, "rho": 0.5}, "which is the same number, and also rho = epsilon²/2."),
        (
            {"epsilon": 4.0, "delta": 1e-6},
            "which is the same number, and converts the sum of all costs to epsilon at delta = 1e-06.",
        ),
    ],
)
def test_a_plan_states_in_which_unit_the_budget_counts(tmp_path, budget, stated):
    """A pure epsilon implies zero-concentrated privacy with rho = epsilon^2/2 (Bun and Steinke 2016)."""
    settings = {"data": "confidential/f.csv", "mechanism": "discrete_laplace", "epsilon": 0.5}
    budgets = {"r": budget} if budget else {}
    planning.release_made(
        "p", {"release": "r"}, releases={"r": settings}, budgets=budgets, folder=tmp_path, root=tmp_path
    )
    assert stated in json.loads((tmp_path / "results/plans/p.json").read_text())["sentence"]
