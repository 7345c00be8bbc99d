"""Tests of the contents of the figures, which are plotted from synthetic tables. Every line, mark, bar and step is
compared with the columns of these tables.
"""

import numpy as np
import pandas as pd
import pytest

from reproduction.papers.wang2020 import figures
from reproduction.style import BLACK, BLUE, CYCLE, GREY, RED, SKY
from reproduction.verdicts import artists as a
from reproduction.verdicts.table_tests import LARGEST_Z

PLACES = ("N_min", "N_q1", "N_med", "N_q3", "N_max")


def test_figure_1():
    counts = [0, 3, 12, 40, 70, 70, 120, 480, 910]
    names = {0: "N_min", 4: "N_med", 8: "N_max"}
    table = pd.DataFrame({"count": counts, "representative": [names.get(i, "") for i in range(9)]})
    (axis,) = figures.figure_1(table).axes
    heights = np.histogram(counts, np.arange(0, 1001, 50))[0]
    top = 1.05 * heights.max()
    full = heights > 0
    expected = [
        a.boxes(50 * np.flatnonzero(full), 0, 50, heights[full], SKY),
        a.line(counts, [-0.03 * top] * 9, BLACK, kind="marks"),
        a.line([0, 70, 910], [1.03 * top] * 3, RED, kind="marks"),
    ]
    assert not a.wrong(axis, *expected)
    assert axis.get_yticks().tolist() == [0, 1, 2, 3, 4]  # no tick is below 0, between integers, or above the bars


def test_windows():
    table = a.crossed(
        "probability", algorithm=["Algorithm 2", "Algorithm 3"], window=[9, 10, 30, np.nan], row=range(1, 5)
    )
    assert a.words(figures.windows(table).axes) == [
        ("Algorithm 2", "window pm (true counts, noise)", "posterior probability"),
        ("Algorithm 2, magnified", "window pm (true counts, noise)", ""),
        ("Algorithm 3", "window pm (true counts, noise)", ""),
    ]
    second, close, third = figures.windows(table).axes
    for axis, algorithm in ((second, "Algorithm 2"), (close, "Algorithm 2"), (third, "Algorithm 3")):
        rows = table[table["algorithm"] == algorithm]
        inside, free = rows[rows["window"].notna()], rows.loc[rows["window"].isna(), "probability"]
        lines = [
            a.line(line["window"], line["probability"], BLUE if row <= 2 else RED, kind="curve")
            for row, line in inside.groupby("row")
        ]
        levels = [] if axis is close else [a.across("level", p, GREY) for p in free]
        levels += [] if axis is third else [a.across("level", 0.025, BLACK)]
        assert not a.wrong(axis, *lines, *levels, own="y")
    near = table.loc[table["window"].isin([9, 10]) & (table["algorithm"] == "Algorithm 2"), "probability"]
    assert close.get_xlim() == (8.7, 11.3)
    assert close.get_ylim() == pytest.approx((0.97 * near.min(), 1.03 * near.max()))
    assert close.get_xticks().tolist() == [9, 10, 11]


def test_precision():
    table = a.crossed("probability", "sd", release=list(figures.RELEASES), quantity=["N1", "N"], value=[10, 11, 12])
    table["mean"] = 11.0
    assert a.words(figures.precision(table).axes) == [
        ("", "N_1", "posterior probability"), ("", "N", ""),
    ]  # fmt: skip
    for axis, quantity in zip(figures.precision(table).axes, ("N1", "N"), strict=True):
        of = {r: table[(table["release"] == r) & (table["quantity"] == quantity)] for r in figures.RELEASES}
        expected = [
            a.line(of[r]["value"], of[r]["probability"], c, kind="step-mid") for r, c in figures.RELEASES.items()
        ]
        assert not a.wrong(axis, *expected)


def test_fifty_components():
    table = a.crossed("mean", release=["one", "two", "three", "four"], true=[5.0, 1.0, 30.0])
    table["mean"] += table["true"]
    table["lower"], table["upper"] = table["mean"] - 0.3, table["mean"] + 0.45  # some intervals contain the true count
    for axis, release in zip(figures.fifty_components(table).axes, ("one", "two", "three", "four"), strict=True):
        rows = table[table["release"] == release].sort_values("true").reset_index(drop=True)
        gaps = rows[["mean", "lower", "upper"]].sub(rows["true"], axis=0)
        missed = gaps["lower"] > 0
        expected = [a.across("level", 0)]
        for where, colour in ((~missed, BLUE), (missed, RED)):
            x = np.flatnonzero(where) + 1
            expected.append(a.line(x, gaps["mean"][where], colour, kind="marks"))
            expected += [a.bars(x, gaps["lower"][where], gaps["upper"][where], colour=colour)] if len(x) else []
        drawn = [one for one in expected if one.points]
        assert not a.wrong(axis, *drawn)


def test_comparison():
    columns = ("rmse", "rmse_se", "variance", "variance_se", "bias", "bias_se")
    methods = ["Algorithm 2", "Algorithm 3"]
    table = a.crossed(*columns, example=["example_1", "example_2"], method=methods)
    assert a.words(figures.comparison(table).axes) == [
        ("", "RMSE, all counts", ""), ("", "RMSE, magnified", ""), ("", "sd at N_max", ""), ("", "bias at N_max", ""),
    ]  # fmt: skip
    axes = figures.comparison(table).axes
    least = table["rmse"].min()
    assert axes[1].get_xlim() == pytest.approx((0.97 * least, 1.25 * least))  # close to the best method
    assert axes[0].get_xlim()[1] > table["rmse"].max()
    values = {
        0: ("rmse", lambda r: r["rmse"], lambda r: r["rmse_se"]),
        1: ("rmse", lambda r: r["rmse"], lambda r: r["rmse_se"]),
        2: ("sd", lambda r: np.sqrt(r["variance"]), lambda r: r["variance_se"] / (2 * np.sqrt(r["variance"]))),
        3: ("bias", lambda r: r["bias"], lambda r: r["bias_se"]),
    }
    for number, (_, value, error) in values.items():
        expected = [a.across("upright", 0)] if number == 3 else []
        for example, colour, aside in (("example_1", BLUE, 0.16), ("example_2", RED, -0.16)):
            rows = table[table["example"] == example].set_index("method").loc[methods[::-1]]
            y, x, reach = np.arange(2) + aside, value(rows), 2 * error(rows)
            expected.append(a.line(x, y, colour, kind="marks"))
            expected.append(a.bars(y, x - reach, x + reach, horizontal=True, colour=colour))
        assert not a.wrong(axes[number], *expected)


def test_tie_rules():
    columns = ("mean", "mean_se", "exact_mean", "variance", "variance_se", "exact_variance")
    rules = ("first", "last", "random", "ieee")
    table = a.crossed(*columns, ties=rules, representative=PLACES)
    table["true"] = table["representative"].map(dict(zip(PLACES, (0, 5, 20, 70, 900), strict=True)))
    random = table[table["ties"] == "random"]["exact_variance"].to_numpy()
    expected = [[a.across("level", 0)], [], [a.across("level", 1)]]
    for number, rule in enumerate(rules):
        rows = table[table["ties"] == rule]
        x = np.arange(5) + 0.18 * (number - 1.5)
        bias = (rows["mean"] - rows["true"], 2 * rows["mean_se"], rows["exact_mean"] - rows["true"])
        ratio = (rows["variance"] / random, 2 * rows["variance_se"] / random, rows["exact_variance"] / random)
        for panel, numbers, part in ((0, bias, slice(4)), (1, bias, slice(4, 5)), (2, ratio, slice(5))):
            value, reach, exact = (np.asarray(n)[part] for n in numbers)
            for y in (value, exact):
                expected[panel].append(a.line(x[part], y, CYCLE[number], kind="marks"))
            expected[panel].append(a.bars(x[part], value - reach, value + reach, colour=CYCLE[number]))
    for axis, drawn in zip(figures.tie_rules(table).axes, expected, strict=True):
        assert not a.wrong(axis, *drawn, own="y")


def test_calibration():
    table = a.crossed("ecdf_difference", quantity=["component", "total"], method=["one", "two"], bin=[0, 0.5]).assign(
        band=0.2
    )
    drawn = figures.calibration(table).axes
    assert [axis.get_title() for axis in drawn] == ["one", "two", "", ""]
    axes = iter(drawn)
    for quantity in ("component", "total"):
        for method in ("one", "two"):
            rows = table[(table["quantity"] == quantity) & (table["method"] == method)]
            curve = a.line([0, 0.5, 1], [0, *rows["ecdf_difference"]], BLUE, kind="curve")
            assert not a.wrong(next(axes), curve, a.span(-0.2, 0.2), a.across("level", 0))


def test_privacy():
    table = a.crossed("delta", counts=["total", "total and components"], claimed=[3.0, 1.0, 2.0])
    table.loc[0, "delta"] = 0.0  # not shown on a log axis
    for axis in figures.privacy(table).axes:
        expected = []
        for counts, colour in (("total", SKY), ("total and components", BLUE)):
            rows = table[(table["counts"] == counts) & (table["delta"] > 0)].sort_values("claimed")
            expected.append(a.line(rows["claimed"], rows["delta"], colour, kind="marks"))
        assert not a.wrong(axis, *expected)


def test_agreement():
    names = [
        f"{m}, {p}: {what}" for m in ("Algorithm 1", "Algorithm 2") for p in PLACES for what in ("mean", "variance")
    ]
    table = a.crossed("z", artefact=["table_1", "table_3"], quantity=names).assign(kind="number")
    assert a.words(figures.agreement(table).axes) == [
        ("Table 1", "", "(ours - printed) / standard error"), ("Table 3", "", ""),
    ]  # fmt: skip
    for axis, artefact in zip(figures.agreement(table).axes, ("table_1", "table_3"), strict=True):
        rows, expected = table[table["artefact"] == artefact], []
        for number, method in enumerate(("Algorithm 1", "Algorithm 2")):
            for what in ("mean", "variance"):
                z = [rows.loc[rows["quantity"] == f"{method}, {p}: {what}", "z"].item() for p in PLACES]
                expected.append(a.line(np.arange(5) + 0.18 * (number - 1.5), z, CYCLE[number], kind="marks"))
        levels = [a.across("level", at) for at in (-LARGEST_Z, 0, LARGEST_Z)]
        assert not a.wrong(axis, *expected, *levels)
        hollow = [line.get_markerfacecolor() == "none" for line in axis.lines if len(line.get_xdata()) == len(PLACES)]
        assert hollow == [False, True, False, True]  # means are filled, variances are not


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def labels(axis, which="x"):
    return [label.get_text() for label in getattr(axis, f"get_{which}ticklabels")()]


@pytest.mark.parametrize(("last", "words"), [(4, ("1 to 2", "3 to 4")), (5, ("1 to 2", "3 to 5"))])
def test_the_rows_of_a_window_have_two_halves(last, words):
    """Check that the first half of the rows has blue filled markers, and that no panel is magnified if no window has a
    half-width near 10.
    """
    table = a.crossed("probability", algorithm=["Algorithm 2", "Algorithm 3"], window=[4, 12], row=range(1, last + 1))
    figure = figures.windows(table)
    assert legend(figure) == [*(f"rows {part}" for part in words), "rounded to 0.03 above, 0.02 below", "no window"]
    second, close, third = figure.axes
    for axis in (second, close, third):
        curves = [line for line in axis.lines if len(line.get_xdata()) == 2 and line.get_marker() != "None"]
        assert [line.get_color() for line in curves] == [BLUE] * 2 + [RED] * (last - 2)
        assert [line.get_markerfacecolor() == "none" for line in curves] == [False] * 2 + [True] * (last - 2)
        assert axis.get_ylim()[0] == 0
    assert close.get_xlim() != (8.7, 11.3)


@pytest.mark.parametrize(("window", "magnified"), [(8.4, False), (8.5, True), (11.5, True), (11.6, False)])
def test_windows_near_ten_are_magnified(window, magnified):
    table = a.crossed("probability", algorithm=["Algorithm 2", "Algorithm 3"], window=[window, 30.0], row=[1, 2])
    assert (figures.windows(table).axes[1].get_xlim() == (8.7, 11.3)) == magnified


def test_limits_of_the_posteriors_of_the_releases():
    """Check that the horizontal axis extends by 3.7 times the largest standard deviation, plus 2, on both sides of the
    last mean.
    """
    table = a.crossed("probability", release=list(figures.RELEASES), quantity=["N1", "N"], value=[10, 11, 12])
    table["sd"] = np.where(table["release"] == "Algorithm 2", 3.0, 1.25) + (table["quantity"] == "N")
    table["mean"] = np.where(table["release"] == "noisy counts", 11.5, 9.0)
    figure = figures.precision(table)
    for axis, reach in zip(figure.axes, (3.7 * 3 + 2, 3.7 * 4 + 2), strict=True):
        assert axis.get_xlim() == pytest.approx((11.5 - reach, 11.5 + reach))
        assert axis.get_ylim() == (1e-5, 1)
        assert axis.get_yticks() == pytest.approx([1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1])
        assert all(at == int(at) for at in axis.get_xticks())
        assert 3 <= len(axis.get_xticks()) <= 9
        assert {line.get_linestyle() for line in axis.lines} == {"-", "--", ":"}
    assert legend(figure) == [
        f"{release}: sd {'3.00, 4.00' if release == 'Algorithm 2' else '1.25, 2.25'}" for release in figures.RELEASES
    ]


def test_titles_and_scale_of_the_fifty_components():
    """Check the number of intervals that contain the true count, including intervals with an end at this count, and the
    scale of the vertical axis.
    """
    rows = pd.DataFrame({"true": [5.0, 1.0, 30.0], "mean": [5.0, 2.0, 25.0]})
    rows = rows.assign(lower=[5.0, 1.5, 20.0], upper=[6.0, 3.0, 30.0])
    table = pd.concat([rows.assign(release=name) for name in ("one", "two", "three", "four")])
    axes = figures.fifty_components(table).axes
    assert [axis.get_title(loc="left") for axis in axes] == [
        f"{name}: 2 of 3 intervals contain the count" for name in ("one", "two", "three", "four")
    ]
    for number, axis in enumerate(axes):
        assert axis.get_ylim() == (-80, 80)
        assert axis.get_yticks().tolist() == [-40, -20, -10, -5, 0, 5, 10, 20, 40]
        assert labels(axis, "y") == ["−40", "−20", "−10", "−5", "0", "5", "10", "20", "40"] or number % 2
        scale = axis.yaxis.get_transform()
        assert scale.transform([5.0])[0] == pytest.approx(scale.transform([10.0])[0] / 2)  # linear up to 10
        assert scale.transform([20.0])[0] < 1.9 * scale.transform([10.0])[0]
    assert [bool(axis.get_ylabel()) for axis in axes] == [True, False, True, False]
    assert [bool(axis.get_xlabel()) for axis in axes] == [False, False, True, True]


def test_rows_of_the_comparison():
    columns = ("rmse", "rmse_se", "variance", "variance_se", "bias", "bias_se")
    table = a.crossed(*columns, example=["example_1", "example_2"], method=["a, largest first", "b, their sum", "c"])
    figure = figures.comparison(table)
    first = figure.axes[0]
    assert first.get_yticks().tolist() == [0, 1, 2]
    assert labels(first, "y") == ["c", "b,\ntheir sum", "a,\nlargest first"]
    assert [axis.get_xscale() for axis in figure.axes] == ["log", "linear", "log", "linear"]
    assert legend(figure) == ["Example 1", "Example 2"]
    assert [line.get_marker() for line in first.lines if len(line.get_xdata()) == 3][:2] == ["o", "s"]


def test_names_and_limits_of_the_histogram():
    """Check that the labels of the two smallest counts are moved apart by 12 counts, so that the labels do not
    overlap.
    """
    names = dict(zip((0, 2, 4, 6, 8), PLACES, strict=True))
    counts = [0, 3, 12, 40, 70, 70, 120, 480, 910]
    table = pd.DataFrame({"count": counts, "representative": [names.get(i, "") for i in range(9)]})
    (axis,) = figures.figure_1(table).axes
    top = 1.05 * 4  # four counts are below 50
    places = {text.get_text(): (text.get_position(), text.get_ha()) for text in axis.texts}
    assert places == {
        "$N_{min}$": ((12, pytest.approx(1.08 * top)), "right"),
        "$N_{q1}$": ((0, pytest.approx(1.08 * top)), "left"),
        **{
            f"$N_{{{name}}}$": ((count, pytest.approx(1.08 * top)), "center")
            for name, count in (("med", 70), ("q3", 120), ("max", 910))
        },
    }
    assert axis.get_xlim() == (-30, 1000)
    assert axis.get_ylim() == pytest.approx((-0.06 * top, 1.2 * top))
    assert axis.spines["left"].get_bounds() == pytest.approx((0, top))
    assert [line.get_clip_on() for line in axis.lines] == [False, False]


def test_names_and_legend_of_the_tie_rules():
    columns = ("mean", "mean_se", "exact_mean", "variance", "variance_se", "exact_variance")
    table = a.crossed(*columns, ties=["first", "last", "random", "ieee"], representative=PLACES)
    table["true"] = table["representative"].map(dict(zip(PLACES, (0, 5, 20, 70, 900), strict=True)))
    figure = figures.tie_rules(table)
    names = [f"{figures.SYMBOLS[place]}\n= {n}" for place, n in zip(PLACES, (0, 5, 20, 70, 900), strict=True)]
    ticks = [(axis.get_xticks().tolist(), labels(axis)) for axis in figure.axes]
    assert ticks == [([0, 1, 2, 3], names[:4]), ([4], names[4:]), ([0, 1, 2, 3, 4], names)]
    assert figure.axes[1].get_xlim() == (3.5, 4.5)
    assert sorted(legend(figure)) == sorted(
        ["lowest index", "highest index", "random", "rounding (as written)", "simulated, 2 s.e.", "exact"]
    )
    empty = [line for line in figure.axes[0].lines if not len(line.get_xdata())]
    assert [(line.get_markerfacecolor(), line.get_markersize()) for line in empty] == [("none", 4), (BLACK, 2)]
    for axis in figure.axes:
        hollow = [line for line in axis.lines if line.get_markerfacecolor() == "none" and len(line.get_xdata())]
        assert len(hollow) == 4


def test_limits_and_note_of_the_privacy_of_a_release():
    """Check that a note marks the smallest claimed epsilon with a delta below 1e-9, and that a delta of exactly 1e-9 is
    not marked.
    """
    table = pd.DataFrame({
        "counts": ["total"] * 4, "claimed": [0.5, 1.0, 1.5, 2.0], "delta": [0.4, 1e-9, 3e-23, 2e-24],
    })  # fmt: skip
    other = table.assign(counts="both", delta=0.3)
    above, below = figures.privacy(pd.concat([table, other])).axes
    assert (above.get_yscale(), above.get_ylim()) == ("log", (0.05, 1))
    assert (below.get_yscale(), below.get_ylim()) == ("log", (1e-24, 1e-19))
    assert below.get_yticks() == pytest.approx([1e-24, 1e-22, 1e-20], rel=1e-12)
    assert [(text.get_text(), text.xy) for text in below.texts] == [(r"$\delta$ = 3.0e-23", (1.5, 3e-23))]
    assert not above.spines["bottom"].get_visible()
    # the marks of the broken axis are at the lower end of the first panel, and at the upper end of the second panel
    broken = [[line for line in axis.lines if line.get_transform() == axis.transAxes] for axis in (above, below)]
    assert [[line.get_xydata().tolist() for line in lines] for lines in broken] == [[[[0, 0]]], [[[0, 1]]]]
    assert [lines[0].get_marker() for lines in broken] == [[(-1, -0.5), (1, 0.5)]] * 2
    assert not any(lines[0].get_clip_on() for lines in broken)


def test_ticks_and_legend_of_the_agreement():
    names = [f"Algorithm 1, {p}: {what}" for p in PLACES for what in ("mean", "variance")]
    table = a.crossed("z", artefact=["table_1", "table_3"], quantity=names).assign(kind="number")
    text = table.assign(kind="claim", quantity="Algorithm 9, N_min: mean")
    figure = figures.agreement(pd.concat([table, text], ignore_index=True))
    for axis in figure.axes:
        assert axis.get_ylim() == (-4.5, 4.5)
        assert axis.get_xticks().tolist() == [0, 1, 2, 3, 4]
        assert labels(axis) == list(figures.SYMBOLS.values())
    assert legend(figure) == ["Algorithm 1", "mean", "variance"]
    assert [line.get_markerfacecolor() for line in figure.legends[0].get_lines()] == [CYCLE[0], BLACK, "none"]
