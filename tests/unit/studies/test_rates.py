"""Tests of the studies of rates: of simulated areas and of infant deaths on a made-up table; toy runs and figures."""

import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpmultinomial as dpm
from reproduction import studies, style
from reproduction.studies import rates as study
from reproduction.studies import sids
from reproduction.verdicts import artists

DECLARED = studies.discover()["rates"]
CASE = {"areas": 120, "exposure": 8, "cv": 0.4, "noise": {"law": "exact", "threshold": 10}}


@pytest.mark.thorough
def test_withheld_counts_toy_run():
    """12 sets: the exact likelihood covers the slope in at least 9 (probability 0.998 at a coverage of 0.95); with 5 in
    place of withheld values, the bias is negative, by more than three standard errors (0.01 each).
    """
    found = study.table(1, sets=12, slope=0.3, cases={"withheld": CASE}).set_index("method")
    exact, ignored = found.loc["exact likelihood"], found.loc["protection ignored"]
    assert exact["slope"] >= 9 / 12
    assert abs(exact["rates"] - 0.95) < 0.03
    assert ignored["bias"] < -0.04 < exact["bias"]
    assert exact["rmse"] < ignored["rmse"]
    again = study.table(1, sets=12, slope=0.3, cases={"withheld": CASE}).set_index("method")
    assert again.equals(found)


def test_means_and_standard_errors_are_over_the_sets(monkeypatch):
    """Four numbers per set and method: a mean each, and for the coverages a standard error, sd/sqrt(sets)."""
    numbers = np.random.default_rng(5).random((3, 2, 4))
    given = iter(numbers.reshape(6, 4).tolist())
    monkeypatch.setattr(study, "judged", lambda *_: next(given))
    found = study.table(1, sets=3, slope=0.3, cases={"withheld": CASE})
    for row, values in zip(found.itertuples(), numbers.transpose(1, 0, 2), strict=True):
        assert [row.slope, row.rates, row.bias, row.rmse] == pytest.approx(values.mean(axis=0), rel=1e-12)
        assert [row.slope_se, row.rates_se] == pytest.approx(values.std(axis=0)[:2] / 3**0.5, rel=1e-12)


def test_the_simulation_has_the_stated_moments():
    """100,000 areas: mean and variation of the rates about exp(slope x), within five standard errors."""
    x, exposure, theta, released = study.simulated(
        {**CASE, "areas": 100_000}, dpm.Exact(), 0.3, dpm.stream(2, "simulated")
    )
    ratio = theta / np.exp(0.3 * x)
    assert ratio.mean() == pytest.approx(1, abs=5 * 0.4 / 316)
    assert ratio.std() == pytest.approx(0.4, rel=0.03)
    assert np.median(exposure) == pytest.approx(8, rel=0.02)
    assert (released / exposure - theta).mean() == pytest.approx(0, abs=0.01)


def test_the_declared_settings_are_those_of_the_function():
    assert set(DECLARED.settings) == {"sets", "slope", "cases"}
    for case in DECLARED.settings["cases"].values():
        study.law_of(dict(case["noise"]))


def test_the_figure_draws_the_columns():
    rows = [("a", m, 10, 0.9 - i / 10, 0.07, 0.8 - i / 10, 0.01, 0.0, 1.0) for i, m in enumerate(study.METHODS)]
    names = ["case", "method", "sets", "slope", "slope_se", "rates", "rates_se", "bias", "rmse"]
    drawn = study.figure(pd.DataFrame(rows, columns=names))
    for axis, first in zip(drawn.axes, (0.9, 0.8), strict=True):
        points = [container.lines[0].get_xdata()[0] for container in axis.containers]
        assert points == pytest.approx([first, first - 0.1])
    slopes, rates = ([c.lines[2][0].get_segments()[0][:, 0] for c in axis.containers] for axis in drawn.axes)
    assert np.array(slopes) == pytest.approx(np.array([[0.76, 1.0], [0.66, 0.94]]))  # two standard errors, at most 1
    assert np.array(rates) == pytest.approx(np.array([[0.78, 0.82], [0.68, 0.72]]))


def test_the_table_of_the_documentation_has_the_studys_cases_and_columns():
    """Check the written table by the columns of `shown`, and each coverage against a binomial bound on its sets."""
    rows = [(c, m, 200, 0.9, 0.01, 0.8, 0.01, 0.0, 1.0) for c in DECLARED.settings["cases"] for m in study.METHODS]
    names = ["case", "method", "sets", "slope", "slope_se", "rates", "rates_se", "bias", "rmse"]
    shown = study.shown(
        pd.DataFrame(rows, columns=names).assign(rates=lambda t: 0.5 + 0.1 * (t["method"] == "exact likelihood"))
    )
    assert shown["slope, exact likelihood"].tolist() == [0.9] * len(shown)
    assert shown["rates, exact likelihood"].tolist() == [0.6] * len(shown)
    assert shown["rates, protection ignored"].tolist() == [0.5] * len(shown)
    written = pd.read_csv(Path(__file__).parents[3] / "docs/methods/rates.tsv", sep="\t")
    assert written.columns.tolist() == shown.columns.tolist()
    assert written["case"].tolist() == list(DECLARED.settings["cases"])
    assert set(written["sets"]) == {DECLARED.settings["sets"]}
    hits = written["slope, exact likelihood"] * written["sets"]
    assert hits.to_numpy() == pytest.approx(np.round(hits), abs=1e-9)  # a number of sets
    assert (written["slope, exact likelihood"] > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)).all()
    assert (written["rates, exact likelihood"] > written["rates, protection ignored"]).all()


DECLARED_DEATHS = studies.discover()["sids"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Write 60 made-up counties as a dBASE table in a wheel; the slope is 0.4."""
    rng = dpm.stream(1, "sids")
    births = np.round(np.exp(rng.normal(7.7, 0.8, 60))).astype(int)
    others = rng.binomial(births, rng.uniform(0.05, 0.6, 60))
    share = others / births
    x = (share - share.mean()) / share.std()
    deaths = rng.poisson(rng.gamma(8.0, 0.002 * np.exp(0.4 * x) / 8.0) * births)
    names = [("NAME", "C", 12), ("BIR74", "N", 8), ("SID74", "N", 6), ("NWBIR74", "N", 8)]
    width = 1 + sum(size for *_, size in names)
    data = struct.pack("<B3sIHH20x", 3, b"\x5f\x07\x1a", 60, 32 + 32 * len(names) + 1, width)
    data += b"".join(name.encode().ljust(11, b"\0") + kind.encode() + bytes(4) + bytes([size]) + bytes(15)
                     for name, kind, size in names) + b"\r"  # fmt: skip
    for i in range(60):
        values = (f"county {i}", births[i], deaths[i], others[i])
        data += b" " + b"".join(str(v).rjust(size).encode() for v, (*_, size) in zip(values, names, strict=True))
    path = tmp_path_factory.mktemp("wheel") / "libpysal-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("libpysal/examples/sids2/sids2.dbf", data + b"\x1a")
    return str(path), deaths, births, x


def test_the_table_is_read_from_the_wheel(made, tmp_path):
    path, deaths, births, x = made
    found = sids.counties(path, "0")
    for one, other in zip(found, (deaths, births, x), strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as packed:
        packed.writestr("nothing", "")
    with pytest.raises(ValueError, match=r"does not contain sids2/sids2\.dbf"):
        sids.counties(str(tmp_path / "empty.whl"), "0")


def test_a_toy_run_and_its_figure(made):
    """The exact likelihood keeps the slope; with 5 in place of withheld counts it falls by a quarter or more."""
    noise = {"noise": {"law": "discrete_gaussian", "sigma": 2.0}, "withheld": {"law": "exact", "threshold": 10}}
    found = sids.table(1, wheel=made[0], version="0", releases=3, protections=noise)
    slope = found.set_index(["protection", "method"])["slope"]
    free = slope["unprotected", "exact likelihood"]
    assert free == pytest.approx(0.4, abs=0.25)
    for name in noise:
        assert slope[name, "exact likelihood"] == pytest.approx(free, abs=0.2)
    assert slope["withheld", "protection ignored"] < 0.75 * free
    correlation = found.set_index(["protection", "method"])["rank_correlation"]
    assert (correlation.xs("exact likelihood", level="method") > 0.75).all()
    drawn = sids.figure(found)
    bars = [container.lines[0].get_xdata().tolist() for container in drawn.axes[0].containers]
    assert bars[0] == pytest.approx(found.loc[found["method"] == sids.METHODS[0], "slope"].tolist())
    assert drawn.axes[1].lines[1].get_xdata().tolist() == pytest.approx(
        found.loc[found["method"] == sids.METHODS[1], "rank_correlation"].tolist()
    )


def test_the_declared_settings_are_those_of_infant_deaths():
    assert set(DECLARED_DEATHS.settings) == {"wheel", "version", "releases", "protections"}
    for noise in DECLARED_DEATHS.settings["protections"].values():
        sids.law_of(dict(noise))


def test_points_and_limits_of_the_figure_of_infant_deaths():
    """Check the slopes with 1.959964 standard errors, and the rank correlations, at the places -0.1 and 0.1 around the
    number of each protection. The unprotected slope has a dashed line.
    """
    table = artists.crossed("slope", "se", "rank_correlation", protection=["noise", "rounded"], method=sids.METHODS)
    free = pd.DataFrame({"protection": sids.UNPROTECTED, "method": sids.METHODS[:1], "slope": 0.3, "se": 0.1,
                         "rank_correlation": 1.0})  # fmt: skip
    table = pd.concat([free, table], ignore_index=True)
    slopes, ranks = sids.figure(table).axes
    expected, marks = [artists.across("upright", 0.3, style.GREY)], []
    for i, method in enumerate(sids.METHODS):
        rows = table[table["method"] == method]
        y = np.array(([0] if i == 0 else []) + [1, 2]) + 0.2 * (i - 0.5)
        reach = 1.959964 * rows["se"]
        expected.append(artists.line(rows["slope"], y, style.CYCLE[i], kind="marks"))
        expected.append(
            artists.bars(y, rows["slope"] - reach, rows["slope"] + reach, horizontal=True, colour=style.CYCLE[i])
        )
        marks.append(artists.line(rows["rank_correlation"], y, style.CYCLE[i], kind="marks"))
    assert not artists.wrong(slopes, *expected)
    assert not artists.wrong(ranks, *marks)
    assert slopes.get_yticks().tolist() == [0, 1, 2]
    assert [label.get_text() for label in slopes.get_yticklabels()] == ["unprotected", "noise", "rounded"]
    assert slopes.yaxis_inverted()
    assert (slopes.get_xlabel(), ranks.get_xlabel()) == ("slope", "rank correlation of the rates")


def test_numbers_of_the_releases_of_infant_deaths(made, monkeypatch):
    """Check the means over three releases, the sd of their slopes, and one release of a protection without noise. With
    5 in place of a withheld count, negative noisy counts are set to 0 and rounded.
    """
    asked = []

    def analysed(released, law, births, x):
        asked.append((released, type(law).__name__))
        k = float(len(asked))
        low = np.arange(60.0)
        return k, 10 * k, low, low + 0.5, low + 1 - 0.5 * (np.arange(60) < 15)

    monkeypatch.setattr(sids, "analysed", analysed)
    noise = {"noise": {"law": "discrete_gaussian", "sigma": 9.0}, "withheld": {"law": "exact", "threshold": 10}}
    found = sids.table(1, wheel=made[0], version="0", releases=3, protections=noise)
    assert found["releases"].tolist() == [1, 3, 3, 1, 1]
    assert found["slope"].tolist() == pytest.approx([1, (2 + 4 + 6) / 3, (3 + 5 + 7) / 3, 8, 9])
    assert found["se"].tolist() == pytest.approx([10, 40, 50, 80, 90])
    assert found["slope_sd"].tolist() == pytest.approx([0, (8 / 3) ** 0.5, (8 / 3) ** 0.5, 0, 0])
    # the rates 0, 1, .. are below the lower limits, which are 0.5 larger
    assert found["inside"].tolist() == [1, 0, 0, 0, 0]
    assert found["rank_correlation"].tolist() == pytest.approx([1] * 5)
    (own, law), (ignored, other) = asked[1:3]
    assert (law, other) == ("DiscreteGaussian", "Exact")
    assert own.min() < 0
    assert ignored == pytest.approx(np.round(np.maximum(own, 0)))
    (own, _), (ignored, _) = asked[-2:]
    assert np.isnan(own).any()
    assert ignored == pytest.approx(np.where(np.isnan(own), 5, own))


def test_panels_of_the_figure_of_rates():
    """Check the level of 95 %, the places of two cases, and the end of the axis at 1.02."""
    rows = artists.crossed("slope", "slope_se", "rates", "rates_se", case=["a", "b"], method=study.METHODS)
    drawn = study.figure(rows.assign(slope_se=0.02, rates_se=0.01))
    for axis, quantity, reach in zip(drawn.axes, ("slope", "rates"), (0.04, 0.02), strict=True):
        expected = [artists.across("upright", 0.95, style.GREY)]
        for i, method in enumerate(study.METHODS):
            own = rows.loc[rows["method"] == method, quantity]
            y = np.arange(2) + 0.2 * (i - 0.5)
            expected.append(artists.line(own, y, style.CYCLE[i], kind="marks"))
            expected.append(artists.bars(y, own - reach, own + reach, horizontal=True, colour=style.CYCLE[i]))
        assert not artists.wrong(axis, *expected)
        assert axis.get_xlim()[1] == 1.02
        assert axis.get_yticks().tolist() == [0, 1]
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ["a", "b"]
    assert drawn.axes[0].yaxis_inverted()
