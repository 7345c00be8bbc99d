"""Check the scenarios for swapped tables against the posterior distribution of the unswapped table, computed by
enumeration. The results of the analysis that ignores the swapping are also checked.
"""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest

from reproduction import kind
from reproduction.config import config, scenario_settings
from reproduction.scenarios import making, page, sentences, summary
from reproduction.scenarios.swapped_table import rules as swapped_rules

TABLE, RATE = [[1, 2], [2, 1]], 0.3


def made(folder, name="mine", **settings):
    scenario = scenario_settings.single(name, {"kind": "swapped_table", **settings}, kind.discover())
    files = making.files(name, folder)
    making.part(scenario, files, root_seed=1)
    return files


def likelihood(original):
    """Return the probability of the swapped table `TABLE` given the original table. The probability is computed by
    enumerating every selection of records and every derangement of the selection.

    Each record is selected with probability RATE, and the selection is repeated while exactly one record is selected.
    The swapped values of the selected records are then permuted; all permutations in which no record keeps its own
    value are equally likely.
    """
    records = [(r, c) for r in range(2) for c in range(2) for _ in range(original[r][c])]
    n, found = len(records), 0.0
    for size in (size for size in range(n + 1) if size != 1):
        for chosen in combinations(range(n), size):
            orders = [p for p in permutations(chosen) if all(a != b for a, b in zip(p, chosen, strict=True))]
            hit = 0
            for order in orders:
                rows = [r for r, _ in records]
                for place, source in zip(chosen, order, strict=True):
                    rows[place] = records[source][0]
                table = [[0, 0], [0, 0]]
                for row, (_, column) in zip(rows, records, strict=True):
                    table[row][column] += 1
                hit += table == TABLE
            found += RATE**size * (1 - RATE) ** (n - size) * hit / len(orders)
    return found / (1 - n * RATE * (1 - RATE) ** (n - 1))


def test_the_table_before_the_swap_by_enumeration(tmp_path):
    """Compare the posterior distribution of the unswapped table with the result of an enumeration. A flat Dirichlet
    prior of the cells gives equal weight to all tables with equal margins.
    """
    originals = [[[a, 3 - a], [3 - a, a]] for a in range(4)]
    weights = np.array([likelihood(t) for t in originals])
    weights /= weights.sum()
    rows, comparison, facts = making.read(made(tmp_path, table=TABLE, rate=RATE, names={"rows": ["m", "f"]}))
    count = rows[(rows["quantity"] == "m/1") & (rows["type"] == "count")].iloc[0]
    assert count["mean"] == pytest.approx(weights @ np.arange(4), rel=1e-10)
    assert count["released"] == 1
    rate = rows[(rows["quantity"] == "m/1") & (rows["type"] == "rate")].iloc[0]
    assert rate["mean"] == pytest.approx((weights @ np.arange(4) + 1) / 10, rel=1e-10)
    variance = weights @ (np.arange(4) - count["mean"]) ** 2
    part = facts["points"][0]["noise_part_of_rate_variance"]["m/1"]
    assert part == pytest.approx(variance / 100 / rate["sd"] ** 2, rel=1e-9)
    # the other diagonal of the table is more probable
    assert facts["points"][0]["probability_odds_ratio_above_1"] < 0.5
    naive = comparison[comparison["quantity"] == "m/1"].iloc[0]
    assert naive["mean"] == pytest.approx(2 / 10)  # the posterior under a flat prior is Dirichlet(1 + counts)
    assert (naive["analysis"], naive["status"]) == ("treating the swapped table as the original", "for comparison")
    assert "for comparison" not in set(rows["status"])
    assert set(rows["type"]) == {"count", "share", "rate", "parameter"}


def test_strata_share_an_odds_ratio(tmp_path):
    rows, _, facts = making.read(made(tmp_path, strata=[TABLE, [[3, 1], [1, 3]]], rate=0.1))
    assert rows["quantity"].tolist()[-1] == "common log odds ratio"
    assert len(rows) == 3 * 8 + 1
    point = facts["points"][0]
    assert "within 2 strata" in sentences.assumptions(facts, point)[1]
    # the row of the common odds ratio has a separate error and a separate prior, and both are stated
    tally = {status: int(n) for status, n in rows["status"].value_counts().items()}
    assert tally == {"exact": 24, "approximate": 1}
    assert sentences.accuracy(point)[1].startswith("1 of the numbers is approximate, with the stated error")
    assert "normal prior with mean 0 and standard deviation 5" in " ".join(sentences.assumptions(facts, point))


def test_the_condition_under_which_the_selection_was_repeated_is_stated(tmp_path):
    """Check two records at rate 0.1. Given that not exactly one is selected, both are exchanged with probability
    0.1^2/(0.1^2 + 0.9^2) = 1/82, and not with probability 0.1. The prior gives both tables the same probability.
    """
    rows, _, facts = making.read(made(tmp_path, table=[[1, 0], [0, 1]], rate=0.1))
    assert rows["mean"].iloc[0] == pytest.approx(81 / 82, rel=1e-12)
    said = sentences.assumptions(facts, facts["points"][0])[1]
    repeated = "if only one record was selected, the selection was repeated."
    assert said.startswith(f"Each record was selected for swapping with probability 10 %, in one stratum; {repeated} ")
    strata = swapped_rules.selection_repeated("of a stratum ", " in this stratum")
    assert strata == "if only one record of a stratum was selected, the selection in this stratum was repeated"


SAMPLED = (
    "The rates and odds ratios (but not the counts) also assume that the records are an independent random sample."
)


@pytest.mark.parametrize(
    ("settings", "sampled"),
    [
        ({"table": TABLE}, SAMPLED),
        ({"table": TABLE, "about": "rates"}, SAMPLED),
        ({"table": TABLE, "about": "counts"}, ""),
        ({"table": [[1, 2, 0], [2, 1, 1]]}, SAMPLED.replace(" and odds ratios", "")),  # only 2 x 2 tables have a ratio
        ({"table": TABLE, "about": "counts", "questions": {"q": {"about": "rates", "probability": "1/1 > 2/2"}}},
         SAMPLED.replace(" and odds ratios", "")),
        ({"strata": [TABLE, TABLE], "about": "counts"}, SAMPLED.replace("rates and ", "")),  # a common odds ratio
    ],
)  # fmt: skip
def test_quantities_of_a_population_state_the_sampling(tmp_path, settings, sampled):
    _, _, facts = making.read(made(tmp_path, rate=RATE, **settings))
    texts = sentences.assumptions(facts, facts["points"][0])
    assert [text for text in texts if "random sample" in text] == [sampled] * bool(sampled)
    only_about_the_file = settings.get("about") == "counts"
    assert any("the odds ratio underlying the table is above 1" in text for text in texts) == (
        settings.get("table") == TABLE and not only_about_the_file
    )


def test_a_file_of_one_table_is_the_table_and_one_of_many_a_batch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [("m", "x", 1), ("m", "y", 2), ("f", "x", 2), ("f", "y", 1)]
    (tmp_path / "one.csv").write_text("\n".join(["row,column,value", *(f"{r},{c},{v}" for r, c, v in cells)]) + "\n")
    lines = [f"{t},{r},{c},{v}" for t in "ab" for r, c, v in cells] + ["bad,m,x,0.5", "bad,f,x,1"]
    (tmp_path / "many.csv").write_text("\n".join(["table,row,column,value", *lines]) + "\n")
    order = {"rows": ["m", "f"], "columns": ["x", "y"]}
    one, _, _ = making.read(made(tmp_path, file="one.csv", rate=RATE, names=order))
    written, _, _ = making.read(made(tmp_path, "written", table=TABLE, rate=RATE))
    assert one["mean"].tolist() == written["mean"].tolist()
    one, _, _ = making.read(made(tmp_path, file="one.csv", rate=RATE))
    # quantities are identified by name, as in a batch; this also tests the sign of the log odds ratio
    assert one["quantity"].iloc[0] == "f/x"
    many = pd.read_csv(made(tmp_path, "many", file="many.csv", rate=RATE).csv)
    rates = one[one["type"] == "rate"].set_index("quantity")
    for table in "ab":
        own = many[many["table"] == table].set_index("quantity")
        assert own.loc[rates.index, "mean"].to_numpy() == pytest.approx(rates["mean"].to_numpy(), rel=1e-9)
        odds, wanted = own.loc["log odds ratio"], one.set_index("quantity").loc["log odds ratio"]
        assert odds["type"] == wanted["type"] == "parameter"
        for number in ("mean", "sd", "lower", "upper"):
            assert odds[number] == pytest.approx(wanted[number], rel=1e-8)
    rated = [f"{line},{RATE}" for line in lines]
    (tmp_path / "rated.csv").write_text("\n".join(["table,row,column,value,rate", *rated]) + "\n")
    found = [summary.summarise(made(tmp_path, name, file=f"{name}.csv", **more)).assumptions
             for name, more in (("many", {"rate": RATE}), ("rated", {}))]  # fmt: skip
    stated = [texts[1] for texts in found]
    assert all(texts[2] == SAMPLED for texts in found)
    begin = "Each record was selected for swapping with"
    end = "; if only one record of a table was selected, the selection in this table was repeated. The margins of each "
    end += "table are those of the original records, and there is no other noise."
    chances = f"probability {100 * RATE:g} %", "the probability in the column rate"
    assert stated == [f"{begin} {chance}{end}" for chance in chances]
    assert page.protected(summary.summarise(making.files("many", tmp_path)), {}) == [
        "The margins of each table are published exactly and are not protected.",
        "The epsilon for an exchange of two records' swapped values is not stated for a batch.",
    ]
    assert many.loc[many["table"] == "bad", "status"].iloc[0].startswith("refused: ")
    beside = pd.read_csv(making.files("many", tmp_path).listed[2])
    single = pd.read_csv(making.files("mine", tmp_path).listed[2])
    single = single[single["type"] == "rate"].set_index("quantity")
    for table in "ab":
        own = beside[beside["table"] == table].set_index("quantity")
        assert own["analysis"].unique().tolist() == ["treating the swapped table as the original"]
        assert own["status"].unique().tolist() == ["for comparison"]
        numbers = ["mean", "sd", "lower", "upper"]
        assert own.loc[single.index, numbers].to_numpy() == pytest.approx(single[numbers].to_numpy(), rel=1e-9)


def test_a_category_without_a_row_in_the_file_counts_where_it_is_named(tmp_path, monkeypatch):
    """Check that a category that is named in the settings is included in the table even if the file has no row for this
    category. A third named row of [[3, 4], [2, 2]] changes the prior, and therefore the distribution of every cell.
    """
    monkeypatch.chdir(tmp_path)
    cells = [("x", "u", 3), ("x", "v", 4), ("y", "u", 2), ("y", "v", 2)]
    sparse = [f"one,{r},{c},{v}" for r, c, v in cells] + [f"two,{r},{c},{v}" for r, c, v in cells]
    dense = [*sparse, *(f"{t},z,{c},0" for t in ("one", "two") for c in "uv")]
    for name, lines in (("sparse", sparse), ("dense", dense)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["table,row,column,value", *lines]) + "\n")
    names = {"rows": ["x", "y", "z"], "columns": ["u", "v"]}
    alone, written = (pd.read_csv(made(tmp_path, n, file=f"{n}.csv", rate=RATE).csv) for n in ("sparse", "dense"))
    named = pd.read_csv(made(tmp_path, "named", file="sparse.csv", rate=RATE, names=names).csv)
    pd.testing.assert_frame_equal(named, written)
    assert len(alone) < len(named)
    assert alone["mean"].iloc[0] != pytest.approx(named["mean"].iloc[0], rel=0.05)
    few = pd.read_csv(made(tmp_path, "few", file="sparse.csv", rate=RATE, names={"rows": ["x", "w"]}).csv)
    assert few["status"].str.contains("row must be one of x, w, got y").all()


def test_a_category_without_cells_in_a_single_file_counts_where_it_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [("x", "u", 3), ("x", "v", 4), ("y", "u", 2), ("y", "v", 2)]
    lines = [f"{r},{c},{v}" for r, c, v in cells]
    (tmp_path / "one.csv").write_text("\n".join(["row,column,value", *lines]) + "\n")
    names = {"rows": ["x", "y", "z"], "columns": ["u", "v"]}
    named, _, facts = making.read(made(tmp_path, file="one.csv", rate=RATE, names=names))
    table = [[3, 4], [2, 2], [0, 0]]
    written, _, _ = making.read(made(tmp_path, "written", table=table, rate=RATE, names=names))
    pd.testing.assert_frame_equal(named, written)
    said = " ".join(sentences.assumptions(facts, facts["points"][0]))
    assert "rows x, y and z and the columns u and v" in said
    with pytest.raises(ValueError, match=r"row 'y' must be listed under names\.rows, which contains x, w"):
        made(tmp_path, "few", file="one.csv", rate=RATE, names={"rows": ["x", "w"]})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rate": None}, "mine.rate: is missing"),
        ({"held": ["a"]}, "mine.held: is allowed only for a release"),
        ({"table": [[1, 2], [3, 4, 5]]}, "rows with 2, 3 entries"),
        ({"table": [[1] * 50] * 50}, "got 2500 cells"),
        ({"table": [[0, 0], [0, 0]]}, "must contain at least one record"),
        ({"prior": [1.0]}, "mine.prior: must be one number or one number per cell (4 cells), got 1"),
        ({"names": {"rows": ["a"]}}, "mine.names.rows: 1 names for 2 rows"),
    ],
)
def test_mistakes(change, said):
    asked = {"kind": "swapped_table", "table": TABLE, "rate": 0.1, **change}
    with pytest.raises(config.ConfigError) as caught:
        scenario_settings.single("mine", {k: v for k, v in asked.items() if v is not None}, kind.discover())
    assert said in str(caught.value)


@pytest.mark.parametrize("most", [3, 4])
def test_many_cells_are_allowed_only_in_tables_of_two_by_two(tmp_path, monkeypatch, most):
    """Check that a 2 x 2 table with more cells than the limit has only results for the odds ratio, and that a 2 x 3
    table with more cells is rejected.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(swapped_rules, "MOST_CELLS", most)
    cells = [("m", "x", 1), ("m", "y", 2), ("f", "x", 2), ("f", "y", 1)]
    (tmp_path / "one.csv").write_text("row,column,value\n" + "".join(f"{r},{c},{v}\n" for r, c, v in cells))
    rows, _, facts = making.read(made(tmp_path, file="one.csv", rate=RATE))
    names = rows["quantity"].tolist()
    assert (names == ["common log odds ratio"]) == (most == 3)
    assert facts["points"][0]["groups"] == (
        ["parameters"] if most == 3 else ["counts", "shares", "rates", "parameters"]
    )
    more = [("m", "z", 1), ("f", "z", 1)]
    (tmp_path / "two.csv").write_text("row,column,value\n" + "".join(f"{r},{c},{v}\n" for r, c, v in [*cells, *more]))
    with pytest.raises(ValueError, match=f"a table must have at most {most} cells, got 6"):
        made(tmp_path, "two", file="two.csv", rate=RATE)
