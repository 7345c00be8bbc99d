"""Scenarios: a made release, published numbers, rehearsals; what they state, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._files.published import open_release
from dpmultinomial._mechanisms.sufficient_statistics import STATISTICS, CensoredStatistics
from dpmultinomial._releases import room
from dpmultinomial._seeding import stream
from reproduction import paper, tables
from reproduction.config import config, schema
from reproduction.papers.raim2021 import figures, scenario, scenario_source

RELEASE = {"mean": 0.43, "sse": 741.2, "low": 18.6, "high": 31.0}
MODEL = {"n": 1000, "lower": -2.0, "upper": 2.0, "epsilon": 2.0}
SIZE = {"draws": 1000, "chains": 2, "bins": 20}


def summary(table):
    return table[table["statistic"] == "summary"].set_index("quantity")


def words(table):
    return table[table["statistic"] == "assumption"].set_index("quantity")["note"]


def test_one_row_a_quantity_comes_first_and_says_what_it_is():
    table = scenario.table(release=RELEASE, **MODEL, **SIZE, rng=stream(5, "scenario"))
    first = table.iloc[:6]
    assert list(first["quantity"]) == ["mu", "sigma2", "s_mean", "s_sse", "s_low", "s_high"]
    assert (first["lower"] < first["mean"]).all()
    assert (first["mean"] < first["upper"]).all()
    assert set(first["level"]) == {0.95}
    assert set(first["status"]) == {"converged"}
    assert (first["note"].str.len() > 20).all()
    # w = 4, n = 1,000: 1 + w/n + w^2 (1 - 1/n) = 16.988; scale = 16.988/2
    assert "mean 8.494, sse 8.494, low 8.494, high 8.494" in words(table)["noise"]
    assert words(table)["prior"].startswith(
        "Prior(mu ~ N(0, 2^2), sigma2 ~ IG(1, 0.16)"
    )  # middle, width/2, width^2/100
    assert "rehearsal" not in words(table)


def test_level_of_the_interval():
    narrow, wide = (
        summary(scenario.table(release=RELEASE, **MODEL, **SIZE, level=level, rng=stream(5, "level"))).loc["mu"]
        for level in (0.5, 0.99)
    )
    # for a law close to normal the central 50 % and 99 % intervals are 2 x 0.674 and 2 x 2.576 sd wide
    for row, width in ((narrow, 1.349), (wide, 5.152)):
        assert (row["upper"] - row["lower"]) / row["sd"] == pytest.approx(width, rel=0.1)


def test_scales_in_place_of_epsilon():
    public = {key: MODEL[key] for key in ("n", "lower", "upper")}
    scales = dict.fromkeys(STATISTICS, 1e-3)
    true = {"mean": 0.1, "sse": 700.0, "low": 20.0, "high": 30.0}
    table = scenario.table(release=true, scales=scales, **public, **SIZE, rng=stream(5, "scales"))
    rows = summary(table)
    assert rows.loc["s_mean", "mean"] == pytest.approx(0.1, abs=0.01)  # noise of a thousandth hides nothing
    assert rows.loc["s_low", "mean"] == pytest.approx(20, abs=0.01)
    assert rows.loc["mu, noise ignored", "mean"] == pytest.approx(rows.loc["mu", "mean"], abs=0.01)
    assert "unknown" in words(table)["cost"]


def test_released_rows_have_the_deviation_of_their_noise():
    """Laplace noise of scale b has the standard deviation sqrt(2) b: here 3 sqrt(2), 6 sqrt(2), .."""
    public = {key: MODEL[key] for key in ("n", "lower", "upper")}
    scales = dict(zip(STATISTICS, (3.0, 6.0, 1.0, 2.0), strict=True))
    source = scenario_source.inline(RELEASE, **public, epsilon=None, sensitivity=None, scales=scales)
    rows = scenario._released(source).set_index("quantity")
    assert rows["sd"].to_numpy() == pytest.approx(np.sqrt(2) * np.array([3.0, 6.0, 1.0, 2.0]))
    assert rows.loc["released low", "mean"] == RELEASE["low"]


def test_the_weaker_prior_has_half_the_weight(monkeypatch):
    """mu's standard deviation doubled; the inverse gamma as if from half as many records: shape and rate halved."""
    asked, right = [], scenario._sample
    monkeypatch.setattr(scenario, "_sample", lambda *given: (asked.append(given[1]), right(*given))[1])
    prior = {"mu0": 0.5, "var0": 3.0, "shape0": 4.0, "rate0": 6.0}
    scenario.table(release=RELEASE, **MODEL, **SIZE, prior=prior, rng=stream(5, "weaker"))
    assert [tuple(p) for p in asked] == [(0.5, 3.0, 4.0, 6.0), (0.5, 12.0, 2.0, 3.0)]


def test_a_sensitivity_too_small_is_told_as_a_cost():
    source = scenario_source.inline(RELEASE, **MODEL, sensitivity=8.494, scales=None)
    assert "epsilon 4, not 2" in source.cost  # half the sensitivity spends twice


def test_a_made_release(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    records = 40_300 + 20_000 * stream(5, "income").standard_normal(3000)
    text = "income\n" + "".join(f"{x:.2f}\n" for x in records)
    (tmp_path / "confidential" / "income.csv").write_text(text)
    settings = {"mechanism": "censored_statistics", "data": "confidential/income.csv", "column": "income"}
    settings |= {"lower": 0.0, "upper": 100_000.0, "epsilon": 2.0}
    made = open_release(room.make("income", settings, root=tmp_path))
    source = scenario_source.made(made)
    # a quarter of epsilon each: scale_j = sensitivity_j/0.5, raised by the two spare steps of 2^-20
    expected = CensoredStatistics(lower=0.0, upper=100_000.0).sensitivities(3000) * 2
    assert source.scale == pytest.approx(expected, rel=1e-5)
    assert (source.step > 0).all()
    assert (source.step < source.scale / 1000).all()
    assert (source.n, source.lower, source.upper) == (3000, 0.0, 100_000.0)
    table = scenario.table(release=made, **SIZE, rng=stream(5, "made"))
    row = summary(table).loc["mu"]
    assert abs(row["mean"] - 40_300) < 6 * row["sd"]
    assert row["sd"] < 5000
    assert "discrete Laplace on the grid" in words(table)["noise"]
    assert words(table)["cost"].startswith("epsilon 2")
    assert "release income, generation 1" in words(table)["origin"]
    with pytest.raises(ValueError, match="must be of censored_statistics"):
        scenario_source.made(type(made)(made.folder, {**made.record, "mechanism": "swap"}, made.table))


def test_a_rehearsal_says_so_everywhere():
    model = {"lower": -2.0, "upper": 2.0, "epsilon": 2.0}
    made_up = {"n": 400, "mu": 0.5, "sigma2": 1.0}
    table = scenario.table(rehearsal=made_up, **model, **SIZE, rng=stream(5, "rehearsal"))
    shown = table[table["statistic"].isin(["summary", "released"])]
    assert shown["note"].str.contains(scenario_source.REHEARSAL).all()
    figure = figures.scenario(table)
    found = [t.get_text() for t in figure.findobj(lambda a: hasattr(a, "get_text"))]
    assert any(scenario_source.REHEARSAL in text for text in found)
    again = scenario.table(rehearsal=made_up, **model, **SIZE, rng=stream(5, "rehearsal"))
    pd.testing.assert_frame_equal(table, again)
    source = scenario_source.rehearsed(made_up, **model, rng=stream(5, "rehearsal"))
    # w = 4, n = 400, a quarter of epsilon = 0.5 each: 4/0.5, 16 (1 - 1/400)/0.5, 1/0.5, 1/0.5
    assert source.scale == pytest.approx([8.0, 31.92, 2.0, 2.0])


def test_not_converged_and_conflict_are_shown():
    short = scenario.table(release=RELEASE, **MODEL, draws=20, chains=2, bins=5, rng=stream(5, "short"))
    assert set(short.iloc[:6]["status"]) == {"not converged"}
    assert short.iloc[:6]["note"].str.startswith("NOT CONVERGED").all()
    assert any("not converged" in a.get_title() for f in [figures.scenario(short)] for a in f.axes)
    far = scenario.table(release=RELEASE, **MODEL, prior={"mu0": 90.0, "var0": 1.0}, **SIZE, rng=stream(5, "far"))
    assert far.iloc[:2]["note"].str.contains("prior and release disagree").all()


def test_density_has_the_mass_it_shows():
    table = scenario.table(release=RELEASE, **MODEL, **SIZE, rng=stream(5, "density"))
    for name in ("mu", "sigma2"):
        curve = table[(table["quantity"] == name) & (table["statistic"] == "density")]
        mass = curve["density"].sum() * curve["x"].diff().median()
        assert mass == pytest.approx(0.998, abs=1.1e-3)  # the middle 99.8 % of 2,000 draws


def test_table_survives_its_file(tmp_path):
    table = scenario.table(release=RELEASE, **MODEL, **SIZE, rng=stream(5, "file"))
    tables.write(table, tmp_path / "table.csv")
    found = tables.read(tmp_path / "table.csv")
    assert np.array_equal(found["mean"], table["mean"], equal_nan=True)
    assert len(figures.scenario(found).axes) == 2


def refused(scenario_settings):
    papers = paper.discover()
    section = {"raim2021": {"scenarios": {"mine": scenario_settings}}}
    with pytest.raises(config.ConfigError) as error:
        config.check(section, schema.of(papers), {"raim2021": papers["raim2021"].mistakes})
    return str(error.value)


@pytest.mark.parametrize(("settings", "text"), [
    ({"release": RELEASE, **MODEL, "lower": 2.0}, "mine.lower: 2.0 is not below upper, 2.0"),
    (MODEL, "mine: has neither release nor rehearsal"),
    ({"release": RELEASE, "rehearsal": {"n": 9}, **MODEL}, "mine: has both"),
    ({"release": RELEASE, "lower": -2.0, "upper": 2.0, "epsilon": 1.0}, "mine: a release needs n"),
    ({"release": RELEASE, "n": 10, "epsilon": 1.0}, "mine: needs lower"),
    ({"release": RELEASE, "n": 10, "lower": -2.0, "upper": 2.0}, "give epsilon"),
    ({"release": RELEASE, **MODEL, "scales": dict.fromkeys(STATISTICS, 1.0)}, "not both"),
    ({"release": {"mean": 1.0}, **MODEL}, "missing sse, low, high"),
    ({"release": {**RELEASE, "mean": 1e300}, **MODEL}, "must be <= 1000000000000000"),
    ({"release": RELEASE, **MODEL, "epsilon": 1e300}, "must be <= 1000000"),
    ({"release": "county", "n": 1000}, "mine.n: the release's record states it"),
    ({"release": "county", "epsilon": 2.0}, "mine.epsilon: the release's record states it"),
    ({"rehearsal": {"n": 50}, "lower": -2.0, "upper": 2.0}, "a rehearsal needs epsilon"),
    ({"rehearsal": {"n": 50}, **MODEL}, "mine.n: stands under rehearsal"),
    ({"csv": "mine.csv", "column": "x", "lower": -2.0, "upper": 2.0, "epsilon": 1.0}, "mine.csv: true values get no"),
    ({"data": "mine.csv", "lower": -2.0, "upper": 2.0, "epsilon": 1.0}, "mechanism: censored_statistics"),
    ({"counts": [1, 2], **MODEL}, "rehearsal: {n: .., mu: .., sigma2: ..}"),
])  # fmt: skip
def test_scenarios_with_mistakes(settings, text):
    assert text in refused(settings)


def test_a_named_release_and_a_rehearsal_are_accepted():
    papers = paper.discover()
    wanted = {"made": {"release": "county"}, "try": {"rehearsal": {"n": 50}, "lower": 0, "upper": 1, "epsilon": 1}}
    section = {"raim2021": {"scenarios": wanted}}
    found = config.check(section, schema.of(papers), {"raim2021": papers["raim2021"].mistakes})
    assert found["raim2021"]["scenarios"]["try"]["rehearsal"] == {"n": 50, "mu": 0.0, "sigma2": 1.0}


def test_limits_that_are_equal_are_refused_in_every_section():
    papers = paper.discover()
    section = {"raim2021": {"sensitivity": {"limits": [[-2, 2], [1, 1]]}, "geweke": {"lower": 2.0, "upper": 2.0}}}
    with pytest.raises(config.ConfigError) as error:
        config.check(section, schema.of(papers), {"raim2021": papers["raim2021"].mistakes})
    assert "sensitivity.limits[1]: 1 is not below 1" in str(error.value)
    assert "geweke.lower: 2.0 is not below upper, 2.0" in str(error.value)
