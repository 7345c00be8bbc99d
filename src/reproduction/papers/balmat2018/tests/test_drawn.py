"""Tests of the contents of the figures, which are plotted from synthetic tables. Every line, marker, bar and band is
compared with the columns of these tables.
"""

import numpy as np
import pandas as pd
import pytest

from reproduction.papers.balmat2018 import figures
from reproduction.style import BLACK, BLUE, CYCLE, GREEN, ORANGE, RED, SKY
from reproduction.verdicts import artists as a


def outline(rows):
    """Return the corners of the outline of a histogram on [0, 1] with left bin edges x and heights y."""
    edges = [*rows["x"], 1.0]
    return np.repeat(edges, 2)[1:-1], np.repeat(rows["y"], 2)


def test_figure_1():
    left = np.arange(4) / 4
    parts = [
        a.crossed("y", seed=1, kind=["density"], run=[0], x=np.linspace(0, 1, 7)),
        a.crossed("y", seed=2, kind=["exact draws", "gibbs"], run=[0], x=left),
        a.crossed("y", seed=3, kind=["frozen"], run=[0, 1], x=left),
        a.crossed("y", seed=4, kind=["noise"], run=[0, 1], x=np.linspace(0, 1, 5)),
    ]
    table = pd.concat(parts, ignore_index=True).assign(setting="a", counts="15, 30, 5")
    of = dict(iter(table.groupby("kind")))
    top, bottom = figures.figure_1(table).axes
    density = a.line(of["density"]["x"], of["density"]["y"], BLACK)
    x, y = outline(of["exact draws"])
    noise = [a.line(rows["x"], rows["y"]) for _, rows in of["noise"].groupby("run")]
    assert not a.wrong(top, density, a.band(x, 0, y, SKY), a.line(*outline(of["gibbs"]), ORANGE), *noise)
    runs = [a.line(*outline(rows), CYCLE[run]) for run, rows in of["frozen"].groupby("run")]
    assert not a.wrong(bottom, density, *runs)


def test_figure_2():
    table = a.crossed("p1", "p0", "perr", "pair", *figures.FORMULATIONS, seed=3, i=range(60))
    *panels, below = figures.figure_2(table).axes
    bins = {p: np.floor(table[p] / 0.05).astype(int) for p in ("p1", "p0", "perr")}
    for axis, p in zip(panels, bins, strict=True):
        median = table["pair"].groupby(bins[p]).median()
        middles = a.line(0.05 * median.index + 0.025, median, BLACK)
        assert not a.wrong(axis, a.line(table[p], table["pair"], kind="marks"), middles, a.across("level", 12))
    expected = []
    for name, (_, colour, _) in figures.FORMULATIONS.items():
        groups = table[name].groupby(bins["p1"])
        x = 0.05 * groups.median().index + 0.025
        expected += [a.line(x, groups.median(), colour), a.band(x, groups.min(), groups.max(), colour)]
    assert not a.wrong(below, *expected)


def test_calibration():
    table = a.crossed("ecdf_difference", epsilon=[0.5, 1.0], method=["exact", "listing"], bin=[0, 0.25, 0.5, 0.75])
    table["variant"] = np.where(table["method"] == "exact", "corrected", "as_written")
    table["band"] = np.where(table["epsilon"] == 0.5, 0.2, 0.3)
    assert a.words(figures.calibration(table).axes) == [
        ("exact", "", "varepsilon = 0.5\nECDF minus uniform"), ("listing", "", ""),
        ("", "PIT of the true r", "varepsilon = 1\nECDF minus uniform"), ("", "PIT of the true r", ""),
    ]  # fmt: skip
    axes = iter(figures.calibration(table).axes)
    for epsilon in (0.5, 1.0):
        for method, colour in (("exact", BLUE), ("listing", RED)):
            rows = table[(table["epsilon"] == epsilon) & (table["method"] == method)]
            curve = a.line([0, 0.25, 0.5, 0.75, 1], [0, *rows["ecdf_difference"]], colour, kind="curve")
            band = rows["band"].iloc[0]
            assert not a.wrong(next(axes), curve, a.span(-band, band), a.across("level", 0))


def test_table_1_accuracy():
    methods = ("recurrence", "exp(lgamma)", "log table", "lgamma")
    table = a.crossed("largest_error", method=methods, total=[10, 20, 30, 40])
    table.loc[0, "largest_error"] = 0.0  # exact
    table.loc[3, "largest_error"] = np.nan  # overflow
    of = dict(iter(table[table["largest_error"] > 0].groupby("method")))
    curves = {m: a.line(rows["total"], rows["largest_error"], kind="curve") for m, rows in of.items()}
    left, right = figures.table_1_accuracy(table).axes
    limit = a.across("level", 2.0**-53)
    exact = a.line([10], [2.0**-53 / 3], kind="marks")
    assert not a.wrong(left, curves["recurrence"], curves["exp(lgamma)"], limit, exact, a.across("upright", 40))
    assert not a.wrong(right, curves["log table"], curves["lgamma"], limit)


def test_table_2():
    table = a.crossed("ratio", setup=["scalar", "own p", "block"], environment=["Python", "R"], method=[2, 3])
    table = table.assign(low=0.8 * table["ratio"], high=1.3 * table["ratio"], variant="as_written")
    printed = pd.DataFrame({"method": [2, 3], "ratio": [0.47, 0.29], "variant": "published"})
    found = figures.table_2(pd.concat([table, printed], ignore_index=True))
    for axis in found.axes:
        expected = [a.across("level", 1), a.across("level", 0.47, ORANGE), a.across("level", 0.29, BLUE)]
        for method, colour, aside in ((2, ORANGE, -0.1), (3, BLUE, 0.1)):
            rows = table[(table["environment"] == axis.get_title()) & (table["method"] == method)]
            x = np.arange(3) + aside
            expected.append(a.line(x, rows["ratio"], colour, kind="marks"))
            expected.append(a.bars(x, rows["low"], rows["high"], colour=colour))
        assert not a.wrong(axis, *expected)


def test_figure_3():
    table = a.crossed("median", method=["table (compiled)", "exact draws"], total=[10, 20], epsilon=[0.5, 1.0, 1.5])
    table = table.assign(low=0.7 * table["median"], high=1.6 * table["median"])
    gone = pd.DataFrame({"method": ["standard (R dmultinom)"], "median": [np.nan]})
    (axis,) = figures.figure_3(pd.concat([table, gone], ignore_index=True)).axes
    expected = []
    for method, colour in (("table (compiled)", BLUE), ("exact draws", BLACK)):
        middle = table[table["method"] == method].groupby("total")[["median", "low", "high"]].median()
        expected.append(a.line([10, 20], middle["median"], colour, kind="curve"))
        expected.append(a.band([10, 20], middle["low"], middle["high"], colour))
    assert not a.wrong(axis, *expected)


def test_choosing_epsilon():
    table = a.crossed("sd", "sd_se", total=[20, 50], epsilon=[0.5, 1.0, np.inf])
    (axis,) = figures.choosing_epsilon(table).axes
    expected = []
    for total, colour in zip((20, 50), CYCLE, strict=False):
        rows = table[table["total"] == total]
        noisy = rows[:2]
        ends = (noisy["sd"] - 2 * noisy["sd_se"], noisy["sd"] + 2 * noisy["sd_se"])
        expected.append(a.line([0.5, 1.0], noisy["sd"], colour, kind="curve"))
        expected += [a.bars([0.5, 1.0], *ends, colour=colour), a.across("level", rows["sd"].iloc[2], colour)]
    assert not a.wrong(axis, *expected)


def test_realised_share():
    table = a.crossed("y", setting=["a", "b"], kind=["share", "r"], x=[0.1, 0.4, 0.8]).assign(counts="1, 2, 3")
    axes = figures.realised_share(table).axes
    assert [axis.get_ylabel() for axis in axes] == ["posterior P(share ≤ x)", ""]
    for axis, setting in zip(axes, "ab", strict=True):
        share, r = (table[(table["setting"] == setting) & (table["kind"] == kind)] for kind in ("share", "r"))
        steps = a.line(share["x"], np.cumsum(share["y"]), RED, kind="step-post")
        assert not a.wrong(axis, a.line(r["x"], r["y"], BLACK), steps)


def test_six_categories():
    single = {"lower": 0.1, "upper": 0.6, "noisy": 4.0, "count": 3.0}
    rows = [{"category": c, "kind": k, "x": np.nan, "y": v * (1 + 0.1 * c)} for c in (1, 2) for k, v in single.items()]
    curves = a.crossed("y", category=[1, 2], kind=["density"], x=[0.2, 0.4, 0.6])
    (axis,) = figures.six_categories(pd.concat([pd.DataFrame(rows), curves], ignore_index=True)).axes
    total, peak, expected = 3.0 * (1.1 + 1.2), curves["y"].max(), []
    for c in (1, 2):
        more, curve = 1 + 0.1 * c, curves[curves["category"] == c]
        expected.append(a.band(curve["x"], -c, -c + 0.8 * curve["y"] / peak, SKY))
        expected.append(a.line([0.1 * more, 0.6 * more], [-c, -c], BLACK))
        expected.append(a.line([4 * more / total], [-c], RED, kind="marks"))
        expected.append(a.line([3 * more / total], [-c], BLUE, kind="marks"))
    assert not a.wrong(axis, *expected)


def test_what_is_drawn_otherwise_is_named():
    """Check that the comparison of a figure with its table reports exchanged end points, a line instead of a band, a
    different column, and an additional line.
    """
    axis = figures.Figure().subplots()
    axis.plot([1, 2], [3, 4], color=GREEN)
    axis.fill_between([1, 2], [0, 1], [3, 4])
    axis.vlines([1, 2], [0, 1], [3, 4])
    right = (a.line([1, 2], [3, 4], GREEN), a.band([1, 2], [0, 1], [3, 4]), a.bars([1, 2], [0, 1], [3, 4]))
    assert not a.wrong(axis, *right)
    for at, other in (
        (0, a.line([1, 2], [3, 4], RED)),
        (0, a.line([1, 2], [4, 3])),
        (0, a.line([1, 2], [3, 4], kind="curve")),
        (1, a.band([1, 2], [0, 1], [4, 3])),
        (1, a.line([1, 2], [3, 4])),
        (2, a.bars([1, 2], [0, 1], [4, 4])),
    ):
        mistakes = a.wrong(axis, *right[:at], other, *right[at + 1 :])
        assert [text.partition(":")[0] for text in mistakes] == ["missing", "not expected"]
    assert a.wrong(axis, *right[:2]) == ["not expected: bars #1f77b4 (1, 0, 1, 3) (2, 1, 2, 4)"]


@pytest.mark.parametrize("side", ["x", "y"])
def test_an_axis_without_a_label_has_the_limits_of_the_panel_with_the_label(side):
    rows, columns = (2, 1) if side == "x" else (1, 2)
    first, second = figures.Figure().subplots(rows, columns)
    labelled, other = (second, first) if side == "x" else (first, second)
    for axis, end in ((labelled, 2), (other, 3)):
        axis.set(**{f"{side}lim": (0, end)})
    assert not a.wrong(other)
    labelled.set(**{f"{side}label": "count"})
    assert [text[:10] for text in a.wrong(other)] == [f"the {side} axis"]
    assert not a.wrong(other, own=side)
    assert not a.wrong(labelled)
    other.set(**{f"{side}lim": (0, 2)})
    assert "repeats the tick labels" in a.wrong(other)[0]
    other.label_outer()
    assert not a.wrong(other)


@pytest.mark.parametrize("where", ["post", "mid"])
def test_steps_are_no_lines(where):
    axis = figures.Figure().subplots()
    axis.step([1, 2], [3, 4], where=where)
    assert not a.wrong(axis, a.line([1, 2], [3, 4], kind=f"step-{where}"))
    assert len(a.wrong(axis, a.line([1, 2], [3, 4]))) == 2
