"""Test the scenarios for protected rates, from the input file to the result rows, sentences and figures."""

import numpy as np
import pandas as pd
import pytest

import dpmultinomial as dpm
from reproduction import kind
from reproduction.config import config, plan_settings, scenario_settings
from reproduction.scenarios import figure, making, page, sentences, summary
from reproduction.scenarios.protected_rates import rules


@pytest.fixture
def counties(tmp_path, monkeypatch):
    """Write a file of 30 counties, and return the contents of the file as a DataFrame. The columns contain noisy
    numbers of deaths, births and a covariate.
    """
    monkeypatch.chdir(tmp_path)
    rng = dpm.stream(1, "counties")
    x, births = rng.normal(size=30), np.round(np.exp(rng.normal(8.5, 0.8, 30)))
    deaths = rng.poisson(rng.gamma(6.0, np.exp(0.3 * x) / 6.0) * births / 500)
    value = dpm.DiscreteGaussian(sigma=2.0).sample(deaths, rng=rng)
    frame = pd.DataFrame({"name": [f"county {i}" for i in range(30)], "value": value, "births": births, "x": x})
    frame.to_csv("counties.csv", index=False)
    return frame


STATED = {
    "kind": "protected_rates", "file": "counties.csv", "noise": {"law": "discrete_gaussian", "sigma": 2.0},
    "exposure": "births", "covariates": ["x"], "per": 1000,
    "questions": {"high": {"probability": "'county 3' > 2"}, "top": {"rank": {"of": "all", "top": 3}}},
}  # fmt: skip


def scenario(**more):
    return scenario_settings.single("mine", {**STATED, **more}, kind.discover())


def made(folder, **more):
    files = making.files("mine", folder)
    making.part(scenario(**more), files, root_seed=1)
    return files


def test_rows_sentences_and_figure(counties, tmp_path):
    files = made(tmp_path)
    rows, comparison, facts = making.read(files)
    release = dpm.Release(dict(zip(counties["name"], counties["value"], strict=True)),
                          mechanism=dpm.DiscreteGaussian(sigma=2.0))  # fmt: skip
    found = dpm.posterior(
        release, prior=dpm.Regression((counties["births"] / 1000).tolist(), {"x": counties["x"].tolist()})
    )
    rates = rows[rows["type"] == "rate"]
    assert rates["mean"].to_numpy() == pytest.approx(found.rates.numbers().mean, rel=1e-9)
    assert rates["released"].tolist() == counties["value"].tolist()
    parameters = rows[rows["type"] == "parameter"]["quantity"].tolist()
    assert parameters == ["log shape", "intercept", "slope of x"]
    high = rows[rows["quantity"] == "high"].iloc[0]
    assert high["mean"] == pytest.approx(1 - float(found.rates["county 3"].cdf(2.0)), abs=1e-9)
    naive = comparison.set_index("quantity")["mean"]
    assert naive["county 3"] == pytest.approx(counties["value"][3] / counties["births"][3] * 1000)
    point = facts["points"][0]
    slope = rows[rows["quantity"] == "slope of x"].assign(quantity="slope of GDP")
    assert sentences.sentence(next(slope.itertuples()), facts, point).startswith("Slope of GDP is between ")
    said = sentences.sentence(next(rates.itertuples()), facts, point)
    assert said.startswith("The underlying rate of county 0 per 1,000 births is between ")
    assert said.endswith("the posterior mean is 1.6.")
    assert rates["mean"].iloc[0] == pytest.approx(1.6, abs=0.06)
    drawn = {state["rows"]: state["reason"] for state in point["accuracy"]}[6]  # ranks, and chances of the first 3
    assert drawn.startswith("100,000 independent draws from an approximate distribution (hyperparameters integrated")
    assert drawn.endswith("; error, of the draws alone: one standard error, or a 95 % bound if all draws agree")
    texts = sentences.assumptions(facts, point)
    assert any("rates are per 1,000 births" in text for text in texts)
    assert any(text.startswith("Warning: only 30 areas") for text in texts)
    drawn = figure.of_case(rows, facts)
    labels = [axis.get_xlabel() for axis in drawn.axes]
    assert any("underlying rate, per 1,000 births" in label for label in labels)
    slope = drawn.axes[labels.index("slope of x")]
    assert slope.get_yticks().size == 0
    assert [line.get_xdata() for line in slope.lines if line.get_linestyle() == "--"] == [[0, 0]]
    ends = [line.get_xdata() for line in drawn.axes[0].lines]
    largest = max(np.nanmax(np.asarray(x, dtype=float)) for x in ends if len(x))
    assert largest < 1.05 * rates["upper"].max()


def test_a_question_is_about_rates_by_default(counties, tmp_path):
    asked = {"both": {"sum": ["county 1", "county 2"]}, "less": {"difference": ["county 1", "county 2"]}}
    asked |= {"p": {"about": "parameters", "difference": ["intercept", "log shape"]}}
    files = made(tmp_path, questions={**asked, "c": {"about": "counts", "sum": ["county 1", "county 2"]}})
    rows, _, facts = making.read(files)
    said = [sentences.sentence(row, facts, facts["points"][0]) for row in rows[rows["type"] == "question"].itertuples()]
    assert said[0].startswith("both: the total rate of county 1 and county 2 is between ")
    assert said[1].startswith("less: the rate of county 1 minus the rate of county 2 is between ")
    assert said[2].startswith("p: intercept minus log shape is between ")
    assert all(text.endswith(" with probability 95 %.") for text in said[:3])
    assert said[3].startswith("c: the total count of county 1 and county 2 is between ")
    assert said[3].endswith(" with probability at least 95 %.")
    shown = {line.quantity: line.interval for line in summary.summarise(files).lines}
    assert "." in shown["both"]  # a rate is not an integer
    assert "." not in shown["c"]
    many = made(tmp_path, per=1_000_000, questions=asked | {"small": {"sum": ["county 1"]}})  # limits such as 1,234
    rows, _, facts = making.read(many)
    large = [
        sentences.sentence(row, facts, facts["points"][0]) for row in rows[rows["type"] == "question"].itertuples()
    ]
    assert all("," in text and text.endswith(" with probability 95 %.") for text in (large[0], large[1], large[3]))


def test_values_as_agencies_publish_them(counties, tmp_path):
    """Check that withheld values and ranges are used as bounds on the counts. The expected rates are computed with the
    mechanism that withheld the values.
    """
    counties["value"] = [str(v) if v >= 10 else "*" for v in counties["value"]]
    counties.to_csv("counties.csv", index=False)
    rows, _, _ = making.read(made(tmp_path, noise="exact", withheld={"below": 10}, questions={}))
    law = dpm.Exact().rounded(1).threshold(10)
    values = [np.nan if v == "*" else float(v) for v in counties["value"]]
    found = dpm.posterior(
        dpm.Release(values, mechanism=law),
        prior=dpm.Regression((counties["births"] / 1000).tolist(), {"x": counties["x"].tolist()}),
    )
    expected = found.rates.numbers()
    assert rows["mean"].to_numpy()[:30] == pytest.approx(expected.mean, rel=1e-6)
    assert rows["upper"].to_numpy()[:30] == pytest.approx(expected.upper, rel=1e-6)
    assert rows["released"].isna().tolist() == [v == "*" for v in counties["value"]] + [True] * 3
    counties["value"] = [v.replace("*", "0-9") for v in counties["value"]]
    counties.to_csv("counties.csv", index=False)
    again, _, _ = making.read(made(tmp_path, noise="exact", questions={}))
    assert again["mean"].to_numpy() == pytest.approx(rows["mean"].to_numpy(), rel=1e-12)


def test_rates_are_drawn_against_the_covariate(counties, tmp_path):
    """Check that the last panel shows the rates with their intervals, plotted against the covariate. Naive rates are
    shown as crosses.
    """
    rows, comparison, facts = making.read(made(tmp_path))
    rates = rows[rows["type"] == "rate"]
    first, *_, axis = figure.of_case(rows, facts).axes
    assert axis.get_xlabel() == "x"
    ranked = rates.sort_values("mean", ascending=False)["quantity"].tolist()
    assert [label.get_text() for label in first.get_yticklabels()] == ranked
    assert axis.get_ylabel() == "underlying rate\nper 1,000 births"
    lines = {line.get_label(): line for line in axis.lines}
    crosses = lines["naive rate"]
    assert crosses.get_xdata() == pytest.approx(counties["x"].to_numpy(), rel=1e-12)
    naive = comparison.set_index("quantity")["mean"].loc[rates["quantity"]]
    assert crosses.get_ydata() == pytest.approx(naive.to_numpy(), rel=1e-12)
    data = np.concatenate([np.column_stack(line.get_data()) for line in axis.lines if line is not crosses]
                          + [np.concatenate(c.get_segments()) for c in axis.collections])  # fmt: skip
    for key in ("mean", "lower", "upper"):
        for x, y in zip(counties["x"], rates[key], strict=True):
            assert np.isclose(data, [x, y], rtol=1e-9, atol=1e-12).all(axis=1).any(), key


def test_shares_are_drawn_against_the_covariate_in_per_cent(counties, tmp_path):
    files = made(tmp_path, family="shares", per=1, questions={})
    rows, _, facts = making.read(files)
    axis = figure.of_case(rows, facts).axes[-1]
    assert axis.get_ylabel() == "underlying rate\nin per cent"
    naive = [line for line in axis.get_lines() if line.get_label() == "naive rate"]
    assert naive[0].get_ydata() == pytest.approx(100 * counties["value"] / counties["births"])
    page.write(files, tmp_path / "page.html")
    assert (tmp_path / "page.html").is_file()


@pytest.mark.parametrize(
    ("noise", "cost"),
    [
        ({"law": "discrete_laplace", "epsilon": 1.0}, "epsilon = 1 (neighbouring files: replace a record)"),
        ({"law": "discrete_gaussian", "rho": 0.5}, "rho = 0.5 (neighbouring files: replace a record)"),
        # the areas are disjoint: a replaced record changes two counts by 1, and the rho of independent noise is a sum
        ({"law": "discrete_gaussian", "rho": 0.5, "sensitivity": 1},
         "rho = 0.5 (neighbouring files: add or remove a record; rho = 1 to replace a record)"),
        ({"law": "discrete_laplace", "scale": 2.0}, ""),
    ],
)  # fmt: skip
def test_the_stated_privacy_cost_is_stated_again(counties, tmp_path, noise, cost):
    found = summary.summarise(made(tmp_path, noise=noise))
    stated = [text for text in found.assumptions if text.startswith("Privacy cost")]
    assert stated == ([f"Privacy cost of the release: {cost}."] if cost else [])
    unknown = "The privacy cost of the published numbers is not stated."
    assert (unknown in page.protected(found, {})) == (not cost)


def test_plans_reject_rates_in_their_own_words(tmp_path):
    for plan in ({"kind": "protected_rates", "file": "c.csv", "exposure": "births"}, {"covariates": ["x"]}):
        ((place, said),) = plan_settings.mistakes({"w": plan})
        assert place == "w"
        assert said.startswith("a plan cannot contain rates with exposures or covariates")


@pytest.mark.parametrize(
    ("noise", "value", "shown", "assumption"),
    [
        ("exact", "*", "withheld, at most 9", "only bounds of the count were published"),
        ("exact", "10-50", "published as 10 to 50", "only bounds of the count were published"),
        ("exact", "", "not measured", "no count was published"),
        (STATED["noise"], "*", "withheld", "the noisy count was withheld"),
        ({**STATED["noise"], "threshold": 10}, "", "withheld", "the noisy count was withheld"),
        ({"law": "exact", "threshold": 10}, "", "withheld", "the count was withheld"),
    ],
)
def test_counts_that_were_not_published_are_stated(counties, tmp_path, noise, value, shown, assumption):
    """Check that the results state which counts were withheld or published as a range, and the number of these
    counts.
    """
    counties["value"] = [value if i in (0, 4) else str(max(v, 0) + 10) for i, v in enumerate(counties["value"])]
    counties.to_csv("counties.csv", index=False)
    result = summary.summarise(made(tmp_path, noise=noise, withheld={"below": 10}, questions={}))
    assert [line.released for line in result.lines[:5]][::4] == [shown, shown]
    assert sum(line.released == shown for line in result.lines) == 2
    stated = [text for text in result.assumptions if text.startswith("For ")]
    assert stated == [f"For 2 of the 30 areas, {assumption}."]


def test_withheld_noisy_values_are_below_a_threshold(counties, tmp_path):
    """Check that a withheld value is treated as a noisy value below the limit if noise was added. The true count itself
    may be above the limit.
    """
    counties["value"] = [str(v) if v >= 4 else "<4" for v in counties["value"]]
    counties.to_csv("counties.csv", index=False)
    rows, comparison, _ = making.read(made(tmp_path, questions={}))
    law = dpm.DiscreteGaussian(sigma=2.0).threshold(4)
    values = [np.nan if v == "<4" else float(v) for v in counties["value"]]
    prior = dpm.Regression((counties["births"] / 1000).tolist(), {"x": counties["x"].tolist()})
    expected = dpm.posterior(dpm.Release(values, mechanism=law), prior=prior).rates.numbers()
    assert rows["mean"].to_numpy()[:30] == pytest.approx(expected.mean, rel=1e-9)
    i = int(np.flatnonzero(np.isnan(values))[0])
    naive = comparison.set_index("quantity")["mean"][f"county {i}"]
    assert naive == pytest.approx(1.5 / counties["births"][i] * 1000)
    counties["value"] = [v if v != "<4" else "1-3" for v in counties["value"]]
    counties.to_csv("counties.csv", index=False)
    with pytest.raises(config.ConfigError, match="is the range 1 to 3, but ranges are supported only"):
        scenario()


def test_a_batch_has_the_rates_of_each_table(counties, tmp_path):
    both = pd.concat([counties.assign(table="a"), counties.iloc[::-1].assign(table="b")])
    none = counties.assign(table="c", value=0)
    word = counties.assign(table="d", value=["many", *counties["value"][1:].astype(str)])
    pd.concat([both, none, word]).to_csv("batch.csv", index=False)
    stated = {key: STATED[key] for key in ("kind", "noise", "exposure", "covariates", "per")}
    batch = scenario_settings.single("batch", {**stated, "file": "batch.csv"}, kind.discover())
    files = making.files("batch", tmp_path)
    making.part(batch, files, root_seed=1)
    rows = pd.read_csv(files.csv)
    rates = rows[rows["type"] == "rate"]
    one, two = (rates[rates["table"] == name].set_index("quantity")["mean"] for name in "ab")
    assert two.to_dict() == pytest.approx(one.to_dict(), rel=1e-6)
    assert "at least one of the 30 released counts must be > 0" in rows[rows["table"] == "c"]["status"].iloc[0]
    assert rows[rows["table"] == "d"]["status"].tolist() == ["refused: value is not a number"]


def test_the_warnings_of_a_table_are_those_of_a_single_file(counties, tmp_path):
    """A table of 30 areas, one of which has the exposure 0, has two warnings; a table that is rejected has none."""
    counties.loc[4, "births"] = 0
    counties.to_csv("counties.csv", index=False)
    facts = making.facts_of(made(tmp_path, questions={}))
    few, dropped = (next(t for t in facts["points"][0]["warnings"] if t.startswith(s)) for s in ("only 29", "dropped"))
    tables = {"a": counties, "b": counties.assign(value=0), "c": counties}
    pd.concat([table.assign(table=name) for name, table in tables.items()]).to_csv("batch.csv", index=False)
    files, stated = making.files("batch", tmp_path), {key: STATED[key] for key in set(STATED) - {"questions"}}
    making.part(scenario_settings.single("batch", {**stated, "file": "batch.csv"}, kind.discover()), files, root_seed=1)
    rows = pd.read_csv(files.csv, keep_default_na=False)
    assert set(rows.loc[rows["table"] == "b", "warnings"]) == {""}
    (text,) = set(rows.loc[rows["table"] != "b", "warnings"])
    assert few in text
    assert dropped in text
    assert making.facts_of(files)["tables"]["warned"] == 2
    assert "WARNING: 2 tables have warnings (see the column warnings)." in summary.summarise(files).warnings


def test_withheld_counts_and_ranges_of_a_batch_have_the_bounds_of_a_single_file(counties, tmp_path):
    """Check that withheld counts and ranges in a batch give the same results as in a single file."""
    counties["value"] = ["*", "10-50", "20+", *(str(max(v, 0) + 10) for v in counties["value"][3:])]
    stated = {"noise": {"law": "exact"}, "withheld": {"below": 10}, "questions": {}}
    counties.to_csv("counties.csv", index=False)
    expected, _, _ = making.read(made(tmp_path, **stated))
    counties.assign(table="t").to_csv("batch.csv", index=False)
    settings = {**STATED, **stated, "file": "batch.csv"}
    del settings["questions"]
    files = making.files("batch", tmp_path)
    making.part(scenario_settings.single("batch", settings, kind.discover()), files, root_seed=1)
    rows = pd.read_csv(files.csv)
    assert rows["quantity"].tolist() == expected["quantity"].tolist()
    for column in ("mean", "lower", "upper"):
        assert rows[column].to_numpy() == pytest.approx(expected[column].to_numpy(), rel=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"exposure": "people"}, "has no column 'people'. The columns of the file are name, value, births, x"),
        ({"covariates": ["births"]}, "must not contain the exposure 'births'"),
        ({"questions": {"q": {"probability": "'county 99' > 2"}}}, "unknown name"),
        ({"family": "counts"}, "family"),
    ],
)
def test_mistakes(counties, change, said):
    with pytest.raises(config.ConfigError, match=said):
        scenario(**change)


def test_a_missing_exposure_and_a_strange_value(counties):
    stated = {key: value for key, value in STATED.items() if key != "exposure"}
    with pytest.raises(config.ConfigError, match="exposure: is missing"):
        scenario_settings.single("mine", stated, kind.discover())
    counties["value"] = counties["value"].astype(str)
    counties.loc[4, "value"] = "*"
    counties.to_csv("counties.csv", index=False)
    with pytest.raises(
        config.ConfigError, match=r"line 6, column 'value': the meaning of the symbol '\*' is not stated"
    ):
        scenario()


def test_the_command_line(counties, capsys):
    from reproduction import command

    arguments = ["answer", "counties.csv", "--noise", "discrete_gaussian", "--sigma", "2", "--exposure", "births"]
    command.main([*arguments, "--covariates", "x", "--per", "1000", "--ask", "'county 3' > 2"])
    shown = capsys.readouterr().out
    assert "per 1,000 births" in shown
    assert "the probability that 'county 3' > 2 is" in shown


def test_areas_that_the_file_does_not_list(counties, tmp_path):
    """Check that areas that are missing from the file are treated as areas with a count of zero. The check covers a
    single file and a batch.
    """
    less = counties[counties.index % 5 != 2]
    counties.drop(columns="value").to_csv("areas.csv", index=False)
    full = pd.concat([less, counties[counties.index % 5 == 2].assign(value=0)])
    full.to_csv("counties.csv", index=False)
    expected, _, _ = making.read(made(tmp_path, questions={}))
    less.to_csv("counties.csv", index=False)
    absent = {"absent": {"cells": "areas.csv", "are": "zero"}}
    rows, comparison, facts = making.read(made(tmp_path, questions={}, **absent))
    pd.testing.assert_frame_equal(rows, expected)
    assert comparison.set_index("quantity")["mean"]["county 2"] == 0
    assert facts["points"][0]["absent"]["number"] == 6
    less.assign(table="t").to_csv("counties.csv", index=False)
    stated = {key: value for key, value in STATED.items() if key != "questions"}
    batch = scenario_settings.single("many", {**stated, **absent}, kind.discover())
    files = making.files("many", tmp_path)
    making.part(batch, files, root_seed=1)
    assert pd.read_csv(files.csv)["mean"].to_numpy() == pytest.approx(expected["mean"].to_numpy(), rel=1e-9)
    less.to_csv("counties.csv", index=False)
    with pytest.raises(config.ConfigError, match="absent: the column 'births' has different values, so its value for"):
        scenario(absent={"cells": counties["name"].tolist(), "are": "zero"})


def test_the_prior_names_the_coefficients_that_the_model_contains():
    prior = {"log shape": {"mean": 1.4, "sd": 2.0}, "slopes": {"sd": 10.0}, "family": "rates", "covariates": []}
    assert rules.prior_text(prior).endswith("the intercept is normal with mean 0 and standard deviation 10")
    assert "the intercept and the coefficients of standardised" in rules.prior_text(prior | {"covariates": ["x"]})


def test_the_rows_of_a_grid_have_the_units_of_their_points(tmp_path):
    file = tmp_path / "areas.csv"
    areas = "".join(f"area{i},{20 + 7 * i % 13},{400 + 10 * i}\n" for i in range(14))
    file.write_text(f"name,value,persons\n{areas}", encoding="utf-8")
    settings = {"kind": "protected_rates", "file": str(file), "noise": "exact", "exposure": "persons"}
    scenario = scenario_settings.single("mine", {**settings, "family": ["rates", "shares"]}, kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    first = [line for line in summary.summarise(files).lines if line.quantity == "area0"]
    assert [line.mean[-1] == "%" for line in first] == [False, True]  # per person, and in per cent of the persons
