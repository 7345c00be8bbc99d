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


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_limits_and_legend_of_figure_1():
    """Check that the horizontal axes of Figure 1 end at 1, and that each vertical axis ends 5 % above the highest curve
    of its panel. The legend has one entry for all curves of the same kind.
    """
    left, heights = [0.0, 0.5], [1.0, 3.0]
    kinds = [("density", 0, 1.0), ("exact draws", 0, 2.0), ("gibbs", 0, 1.5), ("frozen", 0, 4.0), ("frozen", 1, 1.0)]
    kinds += [("noise", 0, 1.0), ("noise", 1, 5.0)]
    table = pd.concat(
        [pd.DataFrame({"kind": k, "run": r, "x": left, "y": [top * y / 3 for y in heights]}) for k, r, top in kinds]
    )
    figure = figures.figure_1(table.assign(setting="a", counts="1, 2, 3"))
    for axis, highest in zip(figure.axes, (5.0, 4.0), strict=True):
        assert (axis.get_xlim(), axis.get_ylim()) == ((0, 1), (0, pytest.approx(1.05 * highest)))
        assert axis.get_xticks().tolist() == [0, 0.5, 1]
    assert legend(figure) == [
        *("exact, other noise", "exact draws", "Gibbs draws", "exact density"),
        "runs of the listing (one colour per run)",
    ]


def test_limits_of_figure_2_and_its_outermost_bins():
    """Check that the vertical axes of Figure 2 extend beyond the plotted digits by 6 % of their range at both ends. The
    share p = 1 is in the last of 20 bins.
    """
    table = a.crossed("p1", "p0", "perr", *figures.FORMULATIONS, seed=3, i=range(4)).assign(pair=[12.0, 13.0, 12.5, 12])
    *panels, below = figures.figure_2(table).axes
    for axis in panels:
        assert axis.get_xlim() == (0, 1)
        assert axis.get_ylim() == pytest.approx((11.94, 13.06))
        assert axis.get_xticks().tolist() == [0, 0.5, 1]
    assert below.get_xlim() == (0, 1)
    assert [axis.get_legend() is None for axis in panels] == [True, True, False]
    assert figures._bin(pd.Series([0.0, 0.049, 0.051, 0.949, 0.951, 1.0])).tolist() == [0, 0, 1, 18, 19, 19]


def test_notes_of_table_1_accuracy():
    """Check the positions of the notes on overflow and on 2^-53, and that a figure without overflows and exact values
    does not indicate any.
    """
    table = a.crossed("largest_error", method=["recurrence", "lgamma"], total=[10, 20, 30, 40])
    plain = figures.table_1_accuracy(table).axes
    assert [[text.get_text() for text in axis.texts if "over" in text.get_text()] for axis in plain] == [[], []]
    assert [line.get_label() for line in plain[0].lines if "exact" in str(line.get_label())] == []
    table.loc[[2, 3], "largest_error"] = np.nan
    left, right = figures.table_1_accuracy(table).axes
    notes = {text.get_text(): text.xy for text in left.texts}
    assert notes["overflow at 30"] == (30, 0.02)
    for axis in (left, right):
        assert {text.get_text(): text.xy for text in axis.texts}["$2^{-53}$"] == (0.99, 2.0**-53)


def test_setups_of_table_2():
    table = a.crossed("ratio", setup=["block", "scalar"], environment=["R"], method=[2, 3])
    table = table.assign(low=0.8 * table["ratio"], high=1.3 * table["ratio"], variant="as_written")
    printed = pd.DataFrame({"method": [3], "ratio": [0.29], "variant": ["published"]})
    figure = figures.table_2(pd.concat([table, printed], ignore_index=True))
    (axis,) = figure.axes
    assert axis.get_xlim() == (-0.5, 1.5)
    assert axis.get_xticks().tolist() == [0, 1]
    assert [label.get_text().replace("\n", " ") for label in axis.get_xticklabels()] == [
        "one call per product",
        "vectorised, one p",
    ]
    assert axis.get_yscale() == "log"
    assert legend(figure) == ["1: powers", "2: exp of logs", "3: exp of logs, compiled", "3, printed"]


def test_eight_methods_of_figure_3_have_different_marks():
    """Check that the legend starts with the slowest method, and that the eighth method has the same marker as the first
    method, but with a white face.
    """
    names = [f"method {n}" for n in range(8)]
    table = a.crossed("x", method=names, total=[10, 20], epsilon=[1.0])
    table["median"] = table["total"] * 2.0 ** table["method"].str[-1].astype(int)
    table = table.assign(low=table["median"], high=table["median"])
    gone = pd.DataFrame({"method": ["standard (R dmultinom)"], "median": [np.nan]})
    (axis,) = figures.figure_3(pd.concat([table, gone], ignore_index=True)).axes
    curves = [line for line in axis.lines if len(line.get_xdata())]
    assert [line.get_label() for line in curves] == names[::-1]
    assert len({line.get_marker() for line in curves[:7]}) == 7
    assert curves[7].get_marker() == curves[0].get_marker() == "o"
    assert [line.get_markerfacecolor() == "white" for line in curves] == [False] * 7 + [True]
    assert axis.get_xticks().tolist() == [10, 20]
    assert axis.get_legend().get_texts()[-1].get_text() == "standard (R dmultinom): not run"


def test_limits_of_the_choice_of_epsilon():
    table = a.crossed("sd", "sd_se", total=range(1, 10), epsilon=[0.5, 1.0, np.inf])
    (axis,) = figures.choosing_epsilon(table).axes
    assert axis.get_ylim()[0] == 0
    assert axis.get_xticks().tolist() == [0.5, 1.0]
    colours = [line.get_color() for line in axis.lines if len(line.get_xdata()) == 2 and line.get_marker() != "None"]
    assert colours == [*CYCLE, *CYCLE][:9]


def test_limits_of_the_realised_share():
    table = a.crossed("y", setting=["a"], kind=["share", "r"], x=[0.1, 0.4]).assign(counts="1, 2, 3")
    figure = figures.realised_share(table)
    (axis,) = figure.axes
    assert (axis.get_xlim(), axis.get_ylim()) == ((0, 1), (0, 1.02))
    assert axis.get_xticks().tolist() == [0, 0.5, 1]
    assert axis.get_title() == "(a) S = (1, 2, 3)"
    assert legend(figure) == ["$r$", "realised share"]


@pytest.mark.parametrize(
    ("noisy", "upper", "limits"),
    [
        ((-2.0, 4.0), 0.6, (-0.22, 0.7)),  # noisy shares -2/10 and 4/10; the interval ends at 0.6
        ((1.0, 8.0), 0.6, (-0.05, 0.9)),  # the noisy share 8/10 is above the interval
        ((1.0, 9.8), 0.6, (-0.05, 1.05)),
    ],
)
def test_limits_of_six_categories(noisy, upper, limits):
    rows = []
    for category, value in enumerate(noisy, 1):
        single = {"lower": 0.1, "upper": upper, "noisy": value, "count": 5.0}
        rows += [{"category": category, "kind": k, "x": np.nan, "y": v} for k, v in single.items()]
    curve = a.crossed("y", category=[1, 2], kind=["density"], x=[0.2, 0.4])
    (axis,) = figures.six_categories(pd.concat([pd.DataFrame(rows), curve], ignore_index=True)).axes
    assert axis.get_xlim() == pytest.approx(limits)
    assert axis.get_yticks().tolist() == [-1, -2]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["1", "2"]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        *("95 % interval", "noisy count / M", "true count / M")
    ]
