"""Tests of the meaning of cells as agencies publish them, and of the columns of their files."""

import json
from math import inf, sqrt

import numpy as np
import pandas as pd
import pytest

import dpmultinomial as dpm
from reproduction import command, kind
from reproduction.config import config, file_columns, published_cells, scenario_settings
from reproduction.scenarios import making, sentences

KIND = kind.discover()["noisy_counts"]
STATED = {"withheld": {"symbol": ["c", "#"], "below": 5}, "missing": ["..", "n/a"]}
CELLS = {
    "7": (7.0, None), "-3.5": (-3.5, None), "1,234": (1234.0, None), " 12 ": (12.0, None), "": (None, None),
    "1-9": (None, (1, 9)), "10–50": (None, (10, 50)), "10 to 50": (None, (10, 50)), "0—4": (None, (0, 4)),
    "<10": (None, (-inf, 9)), "under 10": (None, (-inf, 9)), "Fewer than 6": (None, (-inf, 5)),
    "≤4": (None, (-inf, 4)), "<=4": (None, (-inf, 4)), "100+": (None, (100, inf)), "≥ 100": (None, (100, inf)),
    "100 or more": (None, (100, inf)), ">100": (None, (101, inf)), "c": (None, (-inf, 4)), "#": (None, (-inf, 4)),
    "..": (None, None), "n/a": (None, None),
}  # fmt: skip


@pytest.mark.parametrize("text", CELLS)
def test_meanings(text):
    assert published_cells.meaning(text, STATED) == CELLS[text]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("*", r"if counts below 10 were withheld, set withheld: \{symbol: '\*', below: 10\}\. If the count is not"),
        ("X", r"set missing: \['X'\]"),
        ("9-1", "lower end 9 of the range must be <= the upper end 1"),
        ("<0", "the limit below which counts are withheld must be >= 1, got 0"),
        ("abc", "must be a number, a range such as 10-50"),
        ("inf", "must be a number"),
        ("nan", "must be a number"),
        ("1_0", "must be a number"),
        ("1e400", "is outside the range of floating-point numbers"),
        ("1,5", "must be a number"),
    ],
)
def test_texts_without_a_meaning(text, words):
    with pytest.raises(ValueError, match=words):
        published_cells.meaning(text, STATED if text != "*" else {})


def test_the_default_symbol_is_a_star():
    assert published_cells.meaning("*", {"withheld": {"below": 10}}) == (None, (-inf, 9))


def test_ranges_are_bounds_without_noise_and_thresholds_with_noise():
    cells, names = [(12.0, None), (None, (-inf, 9)), (None, (3, 7)), (None, None)], list("abcd")
    words, (lower, upper) = published_cells.censored({"law": "exact"}, cells, names)
    assert (words, lower, upper) == ({"law": "exact"}, [0, 0, 3, 0], [inf, 9, 7, inf])
    assert published_cells.texts_of(cells, names) == {"b": "withheld, at most 9", "c": "published as 3 to 7"}
    noisy = {"law": "gaussian", "sd": 2.0}
    assert published_cells.censored(noisy, cells[:2], names[:2]) == ({**noisy, "threshold": 10.0}, None)
    assert published_cells.censored(noisy, cells[:1], names[:1]) == (noisy, None)
    with pytest.raises(ValueError, match=r"'c' is the range 3 to 7, but ranges .* got the noise gaussian"):
        published_cells.censored(noisy, cells[:3], names[:3])
    with pytest.raises(ValueError, match=r"'b' is published as at most 9, .* the same limit \(12\)"):
        published_cells.censored({**noisy, "threshold": 12}, cells[:2], names[:2])
    with pytest.raises(ValueError, match="'d' has no value, but counts below 10 are marked as withheld"):
        published_cells.censored(noisy, [*cells[:2], cells[3]], list("abd"))


def made(tmp_path, **settings):
    scenario = scenario_settings.single("mine", {"kind": "noisy_counts", **settings}, kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    return files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_published_file_by_enumeration(folder):
    """Check counts in ranges under a geometric prior of mean 20 against its weights, and the sentences about them."""
    pd.DataFrame({"county": ["Anson", "Bertie", "Clay", "Dare"], "people": ["12", "<10", "c", "1-3"]}).to_csv(
        "c.csv", index=False
    )
    files = made(
        folder, file="c.csv", columns={"name": "county", "value": "people"}, noise="exact",
        withheld={"symbol": "c", "below": 5}, prior={"law": "geometric", "mean": 20},
    )  # fmt: skip
    rows, _, facts = making.read(files)
    weights = (20 / 21) ** np.arange(10.0)
    expected = [12, *(np.average(np.arange(a, b + 1), weights=weights[a : b + 1]) for a, b in [(0, 9), (0, 4), (1, 3)])]
    assert rows["mean"].to_numpy() == pytest.approx(expected, rel=1e-10)
    assert np.isnan(rows["released"].to_numpy()).tolist() == [False, True, True, True]
    point = facts["points"][0]
    said = [sentences.sentence(row, facts, point) for row in rows.itertuples()]
    assert said[1].endswith("This count was withheld, at most 9.")
    assert said[3].endswith("This count was published as 1 to 3.")
    assert "Columns with other names: county is read as name and people is read as value." in sentences.assumptions(
        facts, point
    )


def test_texts_among_counts_in_the_configuration(folder):
    files = made(folder, counts={"a": 3, "b": "<3", "c": None}, noise="exact", total=9)
    rows, _, _ = making.read(files)
    counts = rows[rows["type"] == "count"].set_index("quantity")
    assert (counts.loc["b", "lower"], counts.loc["b", "upper"]) == (0, 2)
    assert (counts.loc["c", "lower"], counts.loc["c", "upper"]) == (4, 6)  # 9 - 3 - b
    with pytest.raises(config.ConfigError, match=r"counts: b: the meaning of the symbol .*, got '\*'"):
        made(folder, counts={"a": 3, "b": "*"}, noise="exact")


def test_withheld_noisy_counts_of_a_tree(folder):
    """Check a withheld leaf under noise against the same tree with an empty cell and a stated threshold."""
    table = pd.DataFrame({"area": ["all", "x", "y"], "up": ["", "all", "all"], "n": ["40", "31", "*"]})
    table.to_csv("t.csv", index=False)
    names = {"name": "area", "parent": "up", "value": "n"}
    law = {"law": "discrete_laplace", "scale": 2.0}
    one = making.read(made(folder, file="t.csv", columns=names, noise=law, withheld={"below": 12}))[0]
    table.assign(n=["40", "31", ""]).to_csv("t.csv", index=False)
    two = making.read(made(folder, file="t.csv", columns=names, noise={**law, "threshold": 12}))[0]
    assert one["mean"].tolist() == two["mean"].tolist()


def test_invalid_cells_are_named_by_line_symbol_and_remedy(folder):
    (folder / "c.csv").write_text('name,value\n"two\nlines",3\nb,*\nc,oops\n')
    with pytest.raises(config.ConfigError) as found:
        made(folder, file="c.csv", noise="exact")
    text = str(found.value)
    assert "line 4, column 'value': the meaning of the symbol '*' is not stated" in text
    assert "set withheld: {symbol: '*', below: 10}" in text
    assert "got '*'" in text
    assert "line 5, column 'value': must be a number, a range such as 10-50" in text
    pd.DataFrame({"name": ["a", "b"], "value": ["3", "*"]}).to_parquet("c.parquet")
    with pytest.raises(config.ConfigError, match=r"row 2, column 'value': the meaning of the symbol"):
        made(folder, file="c.parquet", noise="exact")


def test_a_range_without_end_needs_a_prior_with_a_mean(folder):
    (folder / "c.csv").write_text("name,value\na,3\nb,100+\n")
    with pytest.raises(config.ConfigError, match="'b' has no upper end: limit it by a total or by a prior with"):
        made(folder, file="c.csv", noise="exact")
    rows = making.read(made(folder, file="c.csv", noise="exact", prior={"law": "geometric", "mean": 50}))[0]
    assert rows["mean"][1] == pytest.approx(150, rel=1e-9)  # 100, and a geometric count without memory


def test_a_name_of_several_columns(folder):
    (folder / "c.csv").write_text("state,county,n\nNC,Anson,3\nVA,Anson,5\n")
    rows = making.read(made(folder, file="c.csv", columns={"name": ["state", "county"], "value": "n"}, noise="exact"))
    assert rows[0]["quantity"].tolist() == ["NC/Anson", "VA/Anson"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"name": "county", "value": "n"},
            "has no column 'county'. The columns of the file are country, n: did you mean 'country'",
        ),
        ({"value": ["country", "n"]}, "'value' must be a single column"),
        (
            {"people": "n"},
            "'people' is not the name of a column that the scenario reads. The names are name, value, scale",
        ),
        ({}, "lacks the columns name, value. .* other names, set columns: {name: .., value: ..}"),
    ],
)
def test_wrong_columns_are_rejected(folder, columns, words):
    (folder / "c.csv").write_text("country,n\na,3\n")
    with pytest.raises(config.ConfigError, match=words):
        made(folder, file="c.csv", columns=columns, noise="exact")
    with pytest.raises(config.ConfigError, match="columns: is allowed only with file"):
        made(folder, counts=[3], columns={"name": "a"}, noise="exact")


@pytest.mark.parametrize(("law", "key", "factor"), [("gaussian", "sd", 1), ("laplace", "scale", 1 / sqrt(2))])
def test_columns_of_pipelinedp(folder, law, key, factor):
    """Check partition_key, count and count_noise_stddev against the file with our columns and the scale of the law."""
    frame = pd.DataFrame(
        {
            "partition_key": ["a", "b"],
            "privacy_id_count": [3, 4],
            "count": [10.4, -1.2],
            "count_noise_stddev": [2.0, 4.0],
        }
    )
    frame.to_csv("p.csv", index=False)
    rows, _, facts = making.read(made(folder, file="p.csv", noise=law, prior="flat"))
    ours = {"name": frame["partition_key"], "value": frame["count"], key: frame["count_noise_stddev"] * factor}
    pd.DataFrame(ours).to_csv("o.csv", index=False)
    same = making.read(made(folder, file="o.csv", noise=law, prior="flat"))[0]
    assert rows["mean"].tolist() == pytest.approx(same["mean"].tolist(), rel=1e-12)
    assert facts["read_as"]["name"] == "partition_key"
    assert facts["read_as"][key].startswith("count_noise_stddev")


def test_the_summary_of_opendp(folder):
    """Check a released table with a column len, and its summary, against the stated distribution."""
    (folder / "r.csv").write_text("region,len\nnorth,12\nsouth,40\n")
    (folder / "s.csv").write_text(
        "column,aggregate,distribution,scale,threshold\n"
        "len,Frame Length,Integer Gaussian,3.0,\nx,Sum,Integer Laplace,9.0,\n"
    )
    rows, _, facts = making.read(made(folder, file="r.csv", noise="s.csv", prior="flat"))
    law = dpm.DiscreteGaussian(sigma=3.0)
    expected = dpm.posterior(dpm.Release({"north": 12, "south": 40}, mechanism=law), prior="flat").counts
    assert rows["mean"].tolist() == pytest.approx([expected[n].mean() for n in ("north", "south")], rel=1e-12)
    assert facts["read_as"] == {"value": "len", "name": "region", "noise": "the distribution in s.csv"}
    assert facts["points"][0]["noise"] == {"law": "discrete_gaussian", "sigma": 3.0}
    (folder / "s.csv").write_text("column,distribution,scale,threshold\nlen,Integer Laplace,2.0,10\n")
    settings = file_columns.with_noise({"noise": "s.csv"}, {"value": "len"})
    assert settings["noise"] == {"law": "discrete_laplace", "scale": 2.0, "threshold": 10.0}
    scenario = scenario_settings.single(
        "m", {"kind": "noisy_counts", "file": "r.csv", "noise": "s.csv"}, kind.discover()
    )
    assert scenario.files == ["r.csv", "s.csv"]
    for text, words in [
        ("column,scale\nlen,2\n", "lacks the column distribution"),
        ("column,distribution,scale\nlen,Uniform,2\n", "must be one of Integer Laplace"),
        (
            "column,distribution,scale\na,Integer Laplace,2\nb,Integer Laplace,2\n",
            "must have one row for the column 'len'",
        ),
    ]:
        (folder / "s.csv").write_text(text)
        with pytest.raises(config.ConfigError, match=words):
            made(folder, file="r.csv", noise="s.csv")
    with pytest.raises(config.ConfigError, match=r"'none\.csv' is not a file"):
        made(folder, file="r.csv", noise="none.csv")


def test_the_table_of_ptable(folder):
    """Check columns i, j, p of a table of cell keys against the table with our columns."""
    rows = [(0, 0, 1.0), (1, 0, 0.5), (1, 1, 0.25), (1, 3, 0.25)]
    rows += [(2, 2 + v, p) for v, p in zip(range(-2, 3), (0.1, 0.2, 0.4, 0.2, 0.1), strict=True)]
    frame = pd.DataFrame(rows, columns=["i", "j", "p"])
    frame.assign(v=frame["j"] - frame["i"], type="all").to_csv("ptable.csv", index=False)
    noise = {"law": "table", "file": "ptable.csv", "beyond": "shift"}
    found, _, facts = making.read(made(folder, counts=[3, 30], noise=noise, prior="flat"))
    assert facts["read_as"] == {"true": "i", "released": "j", "probability": "p"}
    law = dpm.Perturbation(dict(zip(("true", "released", "probability"), zip(*rows, strict=True), strict=True)),
                           beyond="shift")  # fmt: skip
    expected = dpm.posterior(dpm.Release([3, 30], mechanism=law), prior="flat").counts
    assert found["mean"].tolist() == pytest.approx([expected[n].mean() for n in ("1", "2")], rel=1e-12)


def test_batches_of_published_files(folder):
    """Check a batch with ranges, symbols, other column names and a wrong cell against the same counts alone."""
    frame = pd.DataFrame(
        {"table": list("ttuuvw"), "area": list("abcdef"), "n": ["12", "<10", "1-3", "..", "oops", "100+"]}
    )
    frame.to_csv("b.csv", index=False)
    prior = {"law": "geometric", "mean": 20}
    stated = {"columns": {"name": "area", "value": "n"}, "noise": "exact", "missing": [".."], "prior": prior}
    rows = pd.read_csv(made(folder, file="b.csv", **stated).csv).set_index("quantity")
    one = making.read(made(folder, counts={"b": "<10", "c": "1-3"}, noise="exact", prior=prior))[0].set_index(
        "quantity"
    )
    for name in ("b", "c"):
        assert rows.loc[name, "mean"] == pytest.approx(one.loc[name, "mean"], rel=1e-10)
    assert rows.loc["d", "status"] == "refused: no value is available"  # the cell contains the symbol ..
    assert rows.loc["e", "status"] == "refused: value is not a number"
    assert rows.loc["f", "status"] == "refused: the range has no upper end"  # the cell is not empty
    assert np.isnan(rows.loc["e", "released"])  # "oops" is not a released value
    with_total = {**stated, "prior": 1.0, "total": 14}
    frame[frame["table"] == "t"].to_csv("b.csv", index=False)
    rows = pd.read_csv(made(folder, file="b.csv", **with_total).csv).set_index("quantity")
    counts = rows[rows["type"] == "count"]
    assert counts.loc["b", ["lower", "upper"]].tolist() == [2, 2]  # 14 - 12
    frame[:2].to_csv("b.csv", index=False)
    noisy = {**stated, "noise": {"law": "discrete_laplace", "scale": 1.0}}
    rows = pd.read_csv(made(folder, file="b.csv", **noisy).csv).set_index("quantity")
    law = dpm.DiscreteLaplace(scale=1.0).threshold(10)
    expected = dpm.posterior(dpm.Release([12, np.nan], mechanism=law), prior=prior).counts
    assert rows["mean"].tolist() == pytest.approx([expected["1"].mean(), expected["2"].mean()], rel=1e-10)


def test_the_counts_for_comparison_do_not_depend_on_the_level(folder):
    """Check, by sums, that 95 % intervals determine the counts for which a flat prior is shown at the level 0.9."""
    n = np.arange(400)
    weights = np.exp(-np.abs(n - 17) / 3.0)
    own, flat = (p / p.sum() for p in (weights / (1 + n), weights))
    sd = max(np.sqrt(p @ n**2 - (p @ n) ** 2) for p in (own, flat))

    def apart(level):
        starts, stops = ([np.searchsorted(p.cumsum(), tail) for p in (own, flat)] for tail in (1 - level, level))
        return max(abs(starts[0] - starts[1]), abs(stops[0] - stops[1]))

    assert apart(0.95) < sd < apart(0.975)
    assert abs(own @ n - flat @ n) < sd / 2
    noise = {"noise": {"law": "discrete_laplace", "scale": 3.0}, "prior": "1/(1+n)", "level": 0.9}
    _, single, facts = making.read(made(folder, counts={"a": 17}, **noise))
    (folder / "b.csv").write_text("table,name,value\nt,a,17\n")
    many = pd.read_csv(made(folder, file="b.csv", **noise).listed[2])
    row = ["a", np.searchsorted(flat.cumsum(), 0.05), 0.9]
    for shown in (single, many):
        assert shown[["quantity", "lower", "level"]].to_numpy().tolist() == [row]
    assert facts["points"][0]["flat_comparison"]["prior_matters"] == 1


def test_the_command_reads_such_files_and_prints_json(folder, capsys):
    (folder / "c.csv").write_text("county,people\nAnson,12\nBertie,*\nClay,..\n")
    asked = ["answer", "c.csv", "--noise", "exact", "--columns", "name=county", "value=people", "--withheld", "*=10",
             "--missing", "..", "--total", "30", "--json"]  # fmt: skip
    command.main(asked)
    found = json.loads(capsys.readouterr().out)
    counts = {row["quantity"]: row for row in found["rows"] if row["type"] == "count"}
    assert counts["Anson"]["released"] == 12
    assert counts["Bertie"]["released"] is None
    assert counts["Bertie"]["upper"] <= 9
    assert counts["Clay"]["lower"] == 30 - 12 - 9
    assert any("county is read as name" in text for text in found["assumptions"])
    assert found["headline"].startswith("The true count of")
    command.main([one for one in asked if one != "--json"])
    assert "withheld, at most 9" in capsys.readouterr().out
    (folder / "d.csv").write_text("name,value\na,12\nb,3\n")
    command.main(
        ["answer", "d.csv", "--noise", "laplace", "--scale", "2", "--total", "15", "--confidence", "0.9", "--json"]
    )
    rows = {(row["quantity"], row["type"]): row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["a", "count"]["ci_lower"] < 12 < rows["a", "count"]["ci_upper"]
    assert (rows["a", "share"]["ci_lower"], rows["a", "share"]["ci_method"]) == (None, None)
    for wrong, words in [
        (["--withheld", "*"], "must have the form symbol=limit"),
        (["--columns", "county"], "must have the form name=column"),
    ]:
        with pytest.raises(SystemExit, match=words):
            command.main(["answer", "c.csv", "--noise", "exact", *wrong])


ALL = {"cells": ["a", "b", "c", "d"], "are": "zero"}
GEOMETRIC = {"law": "geometric", "mean": 20}


def means(*args, **settings):
    found, _, facts = making.read(made(*args, **settings))
    return found.set_index("quantity"), facts


@pytest.mark.parametrize(
    ("are", "row"), [({"are": "zero"}, "0"), ({"are": "withheld", "below": 5}, "<5"), ({"are": "unknown"}, "")]
)
def test_cells_that_the_file_does_not_list(folder, are, row):
    """Check against the same file with a row for every such cell; the noise of all rows is a constant column."""
    (folder / "c.csv").write_text("name,value,scale\na,12,2\nc,7,2\n")
    (folder / "w.csv").write_text(f"name,value,scale\na,12,2\nc,7,2\nb,{row},2\nd,{row},2\n")
    stated = {"noise": "discrete_laplace", "prior": GEOMETRIC}
    found, facts = means(folder, file="c.csv", absent={**ALL, **are}, **stated)
    expected, _ = means(folder, file="w.csv", **stated)
    assert found.index.tolist() == ["a", "c", "b", "d"]
    assert found["mean"].tolist() == expected["mean"].tolist()
    said = [text for text in sentences.assumptions(facts, facts["points"][0]) if "not listed" in text]
    how = {
        "zero": "0 was released",
        "withheld": "the value was withheld (values below 5)",
        "unknown": "no value is known",
    }
    assert said == [f"2 cells are not listed in the file; for these cells, {how[are['are']]}."]


def test_cells_of_a_file_and_of_all_combinations(folder):
    """Check a file of cells with the standard deviation of every cell, and names of several columns."""
    (folder / "c.csv").write_text("state,age,n,sd\nNC,old,12,2.0\nVA,young,7,3.0\n")
    (folder / "all.csv").write_text("age,state,sd\nold,NC,2.0\nyoung,NC,4.0\nold,VA,5.0\nyoung,VA,3.0\n")
    (folder / "w.csv").write_text("name,value,sd\nNC/old,12,2\nVA/young,7,3\nNC/young,0,4\nVA/old,0,5\n")
    columns = {"name": ["state", "age"], "value": "n"}
    stated = {"file": "c.csv", "columns": columns, "noise": "gaussian", "prior": GEOMETRIC}
    found, _ = means(folder, absent={"cells": "all.csv", "are": "zero"}, **stated)
    expected, _ = means(folder, file="w.csv", noise="gaussian", prior=GEOMETRIC)
    assert found["mean"].to_dict() == expected["mean"].to_dict()
    both = {"absent": {"cells": "combinations", "are": "zero"}}
    with pytest.raises(
        config.ConfigError, match=r"absent: the column 'sd' has different values, so its value for 'NC/"
    ):
        made(folder, **stated, **both)
    (folder / "c.csv").write_text("state,age,n\nNC,old,12\nVA,young,7\n")
    noise = {"law": "gaussian", "sd": 2.0}
    found, facts = means(folder, **{**stated, "noise": noise}, **both)
    assert found.index.tolist() == ["NC/old", "VA/young", "NC/young", "VA/old"]
    assert found.loc["VA/old", "mean"] == found.loc["NC/young", "mean"]
    assert facts["points"][0]["absent"]["number"] == 2
    chosen = {"kind": "noisy_counts", **stated, "noise": noise, "absent": {"cells": "all.csv", "are": "zero"}}
    assert scenario_settings.single("m", chosen, kind.discover()).files == ["c.csv", "all.csv"]
    chosen |= both
    assert scenario_settings.single("m", chosen, kind.discover()).files == ["c.csv"]


@pytest.mark.parametrize(
    ("absent", "words"),
    [
        ({"cells": ["a", "b"]}, "the file has the cell 'C', which is not among the 2 cells"),
        ({"cells": ["a", "c", "b"]}, "the file has the cell 'C', .*"),
        ({"are": "withheld"}, r"absent: the key 'below' is required: set the limit below which cells were omitted"),
        ({"below": 5}, "below is allowed only with are: withheld, got are: zero"),
        ({"cells": "combinations"}, "combinations require a name that is made of several columns"),
        ({"cells": "none.csv"}, r"absent: cells: 'none\.csv' is not a file"),
        ({"cells": "cells.csv"}, r"absent: cells: 'cells\.csv' has no column 'name'"),
        ({"cells": "twice.csv"}, "absent: the cell 'b' is listed twice"),
        ({"cells": "tables.csv"}, r"'tables\.csv' has a column table, but the cells are the same for every table"),
        ({"are": "none"}, "'none' is not allowed. The allowed values are zero, withheld, unknown"),
        ({"cells": ["a", "C", "b"], "are": "unknown"}, "'b' has no value: fill the empty cell"),
    ],
)  # fmt: skip
def test_wrong_descriptions_of_absent_cells(folder, absent, words):
    (folder / "c.csv").write_text("name,value\na,12\nC,7\n")
    (folder / "cells.csv").write_text("area\na\nC\n")
    (folder / "twice.csv").write_text("name\na\nC\nb\nb\n")
    (folder / "tables.csv").write_text("name,table\na,t\nC,t\n")
    with pytest.raises(config.ConfigError, match=words):
        made(folder, file="c.csv", noise="exact", absent={**ALL, **absent})
    with pytest.raises(config.ConfigError, match="absent: is allowed only with file"):
        made(folder, counts={"a": 3}, noise="exact", absent=ALL)


def test_absent_cells_and_the_threshold_of_the_noise(folder):
    """Check that a cell below the threshold of the noise is an empty cell, and that it cannot be unknown."""
    (folder / "c.csv").write_text("name,value\na,12\nc,7\n")
    law = {"law": "discrete_laplace", "scale": 2.0, "threshold": 5.5}
    stated = {"file": "c.csv", "noise": law, "prior": GEOMETRIC}
    found, _ = means(folder, absent={**ALL, "are": "withheld"}, **stated)
    mechanism = dpm.DiscreteLaplace(scale=2.0).threshold(5.5)
    expected = dpm.posterior(dpm.Release([12, 7, np.nan, np.nan], mechanism=mechanism), prior=GEOMETRIC).counts
    assert found["mean"].tolist() == pytest.approx([expected[n].mean() for n in "1234"], rel=1e-12)
    with pytest.raises(config.ConfigError, match="with a threshold of the noise, a cell without a value was withheld"):
        made(folder, absent={**ALL, "are": "unknown"}, **stated)
    (folder / "t.csv").write_text("name,parent,value\nall,,12\na,all,7\n")
    with pytest.raises(
        config.ConfigError, match="the key 'absent' is not allowed for a tree: add a row with an empty value"
    ):
        made(folder, file="t.csv", noise="exact", absent=ALL)


@pytest.mark.parametrize(("are", "row"), [({"are": "zero"}, "0"), ({"are": "withheld", "below": 5}, "<5")])
def test_absent_cells_of_a_batch(folder, are, row):
    """Check every table against the same batch with rows for these cells, and the tables that are refused."""
    (folder / "b.csv").write_text("table,name,value,sd\nt,a,12,2\nt,c,7,2\nu,b,9,1\nv,x,9,1\nw,a,8,2\nw,b,8,3\n")
    full = f"t,a,12,2\nt,c,7,2\nt,b,{row},2\nu,b,9,1\nu,a,{row},1\nu,c,{row},1\n"
    (folder / "w.csv").write_text(f"table,name,value,sd\n{full}")
    stated = {"noise": "gaussian", "prior": GEOMETRIC}
    absent = {"cells": ["a", "b", "c"], **are}
    found, expected = (
        pd.read_csv(made(folder, file=file, **stated, **more).csv)
        for file, more in (("b.csv", {"absent": absent}), ("w.csv", {}))
    )
    good = found[found["table"].isin(["t", "u"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(good, expected, check_dtype=False)
    refused = found[~found["table"].isin(["t", "u"])].set_index("table")["status"]
    assert refused["v"] == "refused: absent: the file has the cell 'x', which is not among the 3 cells"
    assert refused["w"].startswith("refused: absent: the column 'sd' has different values, so its value for 'c' is")
    (folder / "all.csv").write_text("name,sd\na,2\nb,3\nc,4\n")
    found = pd.read_csv(made(folder, file="b.csv", **stated, absent={**absent, "cells": "all.csv"}).csv)
    value = np.nan if "below" in are else 0.0
    law = dpm.Gaussian(sigma=np.array([2.0, 3.0, 4.0]))
    law = law.threshold(5) if "below" in are else law
    one = dpm.posterior(dpm.Release([8.0, 8.0, value], mechanism=law), prior=GEOMETRIC).counts
    assert found[found["table"] == "w"]["mean"].tolist() == pytest.approx([one[n].mean() for n in "123"], rel=1e-9)


def test_the_command_takes_absent_cells(folder, capsys):
    (folder / "c.csv").write_text("name,value\na,12\nb,30\n")
    (folder / "all.csv").write_text("name\na\nb\nz\n")
    asked = ["answer", "c.csv", "--noise", "exact", "--json", "--absent"]
    command.main([*asked, "withheld=10", "all.csv"])
    rows = {row["quantity"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert (rows["z"]["lower"], rows["z"]["upper"]) == (0, 9)
    for wrong in ("withheld=x", "zero=5=6"):
        with pytest.raises(SystemExit, match="--absent must be zero, withheld, withheld=limit or unknown, got"):
            command.main([*asked, wrong, "all.csv"])
    with pytest.raises(SystemExit, match=r"'none' is not allowed\. The allowed values are zero, withheld, unknown"):
        command.main([*asked, "none", "all.csv"])


MIXED = {
    "t": ["a,12,2", "b,<10,2"], "u": ["c,3,1", "d,5,2"], "v": ["e,7,2", "f,<5,1"], "w": ["g,1-9,2", "k,8,2"],
    "x": ["h,12,2", "i,,2", "j,<10,2"], "y": ["l,4,0", "m,<3,-1", "n,6,1"],
}  # fmt: skip


@pytest.mark.parametrize("scales", [False, True], ids=["one scale", "a scale per row"])
def test_tables_with_ranges_and_tables_with_numbers_in_one_batch(folder, scales):
    """Check that every table has the results and the message that it has in a file of its own."""
    stated = {"noise": "discrete_laplace" if scales else {"law": "discrete_laplace", "scale": 2.0}, "prior": GEOMETRIC}

    def answered(tables):
        lines = [f"{t},{row if scales else row.rpartition(',')[0]}" for t in tables for row in MIXED[t]]
        header = "table,name,value,scale" if scales else "table,name,value"
        (folder / "b.csv").write_text("\n".join([header, *lines]) + "\n")
        return pd.read_csv(made(folder, file="b.csv", **stated).csv)

    alone = pd.concat([answered([t]) for t in MIXED], ignore_index=True)
    together = answered(MIXED)
    pd.testing.assert_frame_equal(together, alone, check_dtype=False, rtol=1e-12)
    status = together.set_index("quantity")["status"]
    assert status[list("abcdef")].tolist() == ["exact"] * 6
    assert status["g"].startswith(
        "refused: 'g' is the range 1 to 9, but ranges are supported only for counts without noise"
    )
    assert status["k"] == status["h"] == "exact"
    assert status["i"].startswith("refused: 'i' has no value, but counts below 10 are marked as withheld")
    assert status[["l", "m"]].str.contains("scale of the noise must be").tolist() == [scales, scales]


def test_a_prior_fitted_to_tables_with_different_limits(folder):
    """Check the fitted prior against the library, to which the distribution of every count is stated."""
    rng = dpm.stream(1, "limits")
    values = dpm.DiscreteLaplace(scale=1.0).sample(rng.geometric(1 / 12, 60) - 1, rng=rng)
    limits = np.repeat([10, -np.inf, 4], 20)
    shown = [str(v) if v >= least else f"<{least:.0f}" for v, least in zip(values, limits, strict=True)]
    tables = np.repeat(list("tuv"), 20)
    pd.DataFrame({"table": tables, "name": range(60), "value": shown}).to_csv("b.csv", index=False)
    found = pd.read_csv(made(folder, file="b.csv", noise={"law": "discrete_laplace", "scale": 1.0}, prior="fitted").csv)
    law = dpm.DiscreteLaplace(scale=1.0)
    laws = [law.threshold(10), law, law.threshold(4)]
    released = np.where(values < limits, np.nan, values.astype(float))
    expected = dpm.posterior(dpm.Release(released, mechanism=[laws[i // 20] for i in range(60)]), prior="fitted")
    assert found["mean"].to_numpy() == pytest.approx(expected.counts.numbers().mean, rel=1e-9)


def test_ranges_and_numbers_with_a_total_in_one_batch(folder):
    """Check tables with a public total: the others are analysed together, with the results of a file of their own."""
    rows = {"t": "t,a,12,20\nt,b,<10,20\n", "u": "u,c,3,8\nu,d,5,8\n", "v": "v,e,7,9\nv,f,4,9\n"}
    rows |= {"w": "w,g,12,0\nw,h,<10,0\n", "x": "x,i,1,0\nx,j,-2,0\n"}  # 0/0 is not a share
    stated = {"noise": {"law": "discrete_laplace", "scale": 1.0}}

    def answered(tables):
        (folder / "b.csv").write_text("table,name,value,total\n" + "".join(rows[t] for t in tables))
        return pd.read_csv(made(folder, file="b.csv", **stated).csv)

    alone = pd.concat([answered(t) for t in rows], ignore_index=True)
    pd.testing.assert_frame_equal(answered(rows), alone, check_dtype=False, rtol=1e-12)
    assert (alone["status"] == "exact").all()
    assert [table for table, of in alone.groupby("table") if "share" not in set(of["type"])] == ["w", "x"]


@pytest.mark.parametrize(
    ("header", "settings", "expected"),
    [
        (["name", "value"], {}, {}),
        (["county", "count"], {}, {"value": "count", "name": "county"}),
        (["county", "len"], {}, {"value": "len", "name": "county"}),
        (["county", "len", "count"], {}, {"value": "count"}),
        (["county", "state", "count"], {}, {"value": "count"}),
        (["state", "partition_key", "count"], {}, {"value": "count", "name": "partition_key"}),
        (["name", "number"], {}, {}),
        (["county", "value"], {}, {"name": "county"}),
        (["county", "count", "sum", "mean", "table", "privacy_id_count"], {}, {"value": "count", "name": "county"}),
        (["name", "count", "count_noise_stddev"], {"noise": "laplace"},
         {"value": "count", "scale": "count_noise_stddev"}),
        (["name", "count", "count_noise_stddev"], {"noise": {"law": "gaussian"}},
         {"value": "count", "sd": "count_noise_stddev"}),
        (["name", "count", "count_noise_stddev"], {"noise": {"law": "laplace", "scale": 2}}, {"value": "count"}),
        (["name", "count", "count_noise_stddev", "sd"], {"noise": "gaussian"}, {"value": "count"}),
        (["name", "count", "count_noise_stddev"], {}, {"value": "count"}),
        (["name", "count", "value_noise_stddev"], {"noise": "laplace"}, {"value": "count"}),
        (["a", "b", "n"], {"columns": {"value": "n", "name": ["a", "b"]}}, {"value": "n", "name": ["a", "b"]}),
        (["a", "n", "n_noise_stddev"], {"columns": {"value": "n"}, "noise": "discrete_gaussian"},
         {"name": "a", "sigma": "n_noise_stddev", "value": "n"}),
    ],
)  # fmt: skip
def test_columns_that_are_recognised(header, settings, expected):
    assert file_columns.names(settings, header, KIND) == expected


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"nothing": "a"}, "^columns: 'nothing' is not the name of a column that the scenario reads. The names are "),
        ({"value": ["a", "b"]}, r"^columns: 'value' must be a single column, got \['a', 'b'\]. Only 'name'"),
        ({"name": "county"}, "^columns: the file has no column 'county'. .* are a, b, countys: did you mean 'countys'"),
        ({"name": ["a", "zzz"]}, "^columns: the file has no column 'zzz'. The columns of the file are a, b, countys$"),
    ],
)
def test_columns_that_are_not_there(columns, words):
    with pytest.raises(ValueError, match=words):
        file_columns.names({"columns": columns}, ["a", "b", "countys"], KIND)


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"absent": {"are": "zero"}}, "0"),
        ({"absent": {"are": "unknown"}}, ""),
        ({"absent": {"are": "withheld", "below": 7}}, "<7"),
        ({"absent": {"are": "withheld"}, "withheld": {"below": 5}}, "<5"),
        ({"absent": {"are": "withheld"}, "noise": {"law": "laplace", "threshold": 3}}, ""),
        ({"absent": {"are": "withheld", "below": 7}, "noise": {"law": "laplace", "threshold": 3}}, "<7"),
    ],
)
def test_values_of_absent_cells(settings, value):
    assert file_columns.absent_value(settings) == value


@pytest.mark.parametrize(
    ("absent", "more", "words"),
    [
        ({"are": "withheld"}, {}, ["the key 'below' is required"]),
        ({"are": "withheld", "below": 5}, {}, []),
        ({"are": "withheld"}, {"withheld": {"below": 5}}, []),
        ({"are": "withheld"}, {"noise": {"threshold": 5}}, []),
        ({"are": "zero", "below": 5}, {}, ["below is allowed only with are: withheld, got are: zero"]),
        ({"are": "unknown"}, {"noise": {"threshold": 5}}, ["with a threshold of the noise, a cell without a value"]),
        ({"are": "unknown"}, {"noise": {"law": "laplace"}}, []),
        ({"are": "zero", "cells": "combinations"}, {}, ["combinations require a name that is made of several columns"]),
    ],
)
def test_mistakes_of_absent_cells(absent, more, words):
    found = file_columns.absent_mistakes({"absent": {"cells": ["a"], **absent}, **more}, {}, False)
    assert len(found) == len(words)
    assert all(text.startswith(word) for text, word in zip(found, words, strict=True))
    assert file_columns.absent_mistakes({}, {}, False) == []


def test_combinations_of_values_stand_in_their_order(monkeypatch):
    found = file_columns._combinations([["b", "a", "b"], ["x", "y", "x"]])
    assert found == ["b/x", "b/y", "a/x", "a/y"]
    monkeypatch.setattr(file_columns, "_MOST_CELLS", 4)
    assert len(file_columns._combinations([["b", "a"], ["x", "y"]])) == 4
    with pytest.raises(ValueError, match=r"^absent: .* must have at most 4 combinations of values, got 6: list the"):
        file_columns._combinations([["b", "a", "c"], ["x", "y"]])


@pytest.mark.parametrize(
    ("cells", "words"), [(["a", "b", "a"], "^absent: the cell 'a' is listed twice$"), (["a", ""], "has an empty name$")]
)
def test_listed_cells_have_different_names(cells, words):
    with pytest.raises(ValueError, match=words):
        file_columns.listed_cells({"absent": {"cells": cells}}, {}, {})
    assert file_columns.listed_cells({"absent": {"cells": ["a", "b"]}}, {}, {}) == {"name": ["a", "b"]}


def test_a_cell_that_is_not_listed_is_told_with_the_nearest():
    assert file_columns.not_a_cell("Adams", ["Adam", "Bo"]) == (
        "absent: the file has the cell 'Adams', which is not among the 2 cells: did you mean 'Adam'?"
    )
    assert file_columns.not_a_cell("zz", ["a"] * 1000).endswith("'zz', which is not among the 1,000 cells")


def test_columns_are_told_under_which_name_they_are_read():
    names = {"name": ["a", "b"], "value": "n", "scale": "n_noise_stddev"}
    assert file_columns.read_as({}, names) == {
        **{"name": "a/b", "value": "n"},
        "scale": "n_noise_stddev, divided by the square root of 2",
    }
    assert file_columns.read_as({"noise": "S.CSV"}, {}) == {"noise": "the distribution in S.CSV"}
    assert [file_columns.is_summary(noise) for noise in ("a.csv", "laplace", {"law": "a.csv"}, None)] == [
        *(True, False, False, False)
    ]


@pytest.mark.parametrize(
    ("columns", "read"),
    [
        (["i", "j", "p", "v"], ("i", "j", "p")),
        (["true", "released", "probability"], ("true", "released", "probability")),
        (["i", "j", "p", "true", "released", "probability"], ("true", "released", "probability")),
        (["i", "j"], ("true", "released", "probability")),
    ],
)
def test_columns_of_a_table_of_noise(columns, read):
    found = file_columns.table_of_noise(columns)
    assert tuple(found.values()) == read
    assert tuple(found) == ("true", "released", "probability")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("n,len,Integer Laplace,2.5", {"law": "discrete_laplace", "scale": 2.5}),
        ("other,len,Float Gaussian,3", {"law": "gaussian", "sd": 3.0}),
        ("n,len,Integer Gaussian,1\nm,len,Float Laplace,9", {"law": "discrete_gaussian", "sigma": 1.0}),
        ("m,len,Integer Gaussian,1\nn,len,Float Laplace,9", {"law": "laplace", "scale": 9.0}),
        ("k,len,Integer Gaussian,1\nm,len,Float Laplace,9", "one row for the column 'n', but has rows only for k, m"),
        ("n,len,Integer Gaussian,1\nn,len,Float Laplace,9", "must have one row for the column 'n'"),
        ("n,len,Uniform,1", "must be one of Integer Laplace, Integer Gaussian, .* got 'Uniform'"),
        ("n,len,Float Laplace,", "must have a scale, got 'Float Laplace'"),
    ],
)  # fmt: skip
def test_rows_of_a_summary_of_opendp(tmp_path, rows, expected):
    path = tmp_path / "s.csv"
    path.write_text(f"column,aggregate,distribution,scale\n{rows}\n")
    settings = {"noise": str(path), "level": 0.9}
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            file_columns.with_noise(settings, {"value": "n"})
    else:
        assert file_columns.with_noise(settings, {"value": "n"}) == {"noise": expected, "level": 0.9}
    assert file_columns.with_noise({"noise": "laplace"}, {}) == {"noise": "laplace"}


def test_a_summary_of_opendp_may_have_a_threshold(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("column,distribution,scale,threshold\nn,Float Laplace,2,30\nm,Float Laplace,2,\n")
    noise = {"law": "laplace", "scale": 2.0}
    found = [file_columns.with_noise({"noise": str(path)}, {"value": name})["noise"] for name in ("n", "m")]
    assert found == [noise | {"threshold": 30.0}, noise]
    path.write_text("column,distribution\nn,Float Laplace\n")
    with pytest.raises(ValueError, match=r"^noise: 'none.csv' is not a file"):
        file_columns.with_noise({"noise": "none.csv"}, {"value": "n"})
    with pytest.raises(ValueError, match="lacks the column scale: pass a file written by OpenDP's summarize"):
        file_columns.with_noise({"noise": str(path)}, {"value": "n"})
