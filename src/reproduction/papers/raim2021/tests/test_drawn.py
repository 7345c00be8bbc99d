"""Tests of the contents of the figures, which are plotted from synthetic tables. Every line, mark, bar and rectangle is
compared with the columns of these tables. In addition, test the rows of the agreement table for the figures.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest, chi2, ncx2, norm
from scipy.stats import t as student

from dpmultinomial._seeding import stream
from reproduction.papers.raim2021 import agreement, draws, figure_checks, figures
from reproduction.papers.raim2021 import method as explained
from reproduction.style import BLACK, BLUE, CYCLE, GREEN, GREY, ORANGE, RED, SKY
from reproduction.verdicts import artists as a

PARAMETERS = ("mu", "sigma2")
TARGETS = ("xi_mean", "xi_sse")


def of(table, **kept):
    for column, value in kept.items():
        table = table[table[column] == value]
    return table


@pytest.mark.parametrize("target", TARGETS)
def test_a_target(target):
    bars = a.crossed("y", variant=["corrected"], kind=["histogram"], x=[1.0, 2.0, 3.0]).assign(bin_width=1.0)
    curve = a.crossed("y", seed=2, variant=["corrected"], kind=["density"], x=[1.0, 2.5, 4.0])
    both = {"variant": ["as_written", "corrected"]}
    area = a.crossed("y", seed=3, **both, kind=["area"], x=[-9.0, -2.0, -0.5])
    step = a.crossed("y", seed=4, **both, kind=["step"], x=[-8.0, -3.0, -0.6]).assign(order=[0.0, 1, 2] * 2)
    table = pd.concat([bars, curve, area, step], ignore_index=True).assign(delta_s=17.0)
    draws, *steps = axes = getattr(figures, target)(table).axes
    assert ["order" in " ".join(text.get_text() for text in axis.texts) for axis in axes] == [False, True, False]
    assert [bool(axis.get_ylabel()) for axis in axes] == [True, True, False]
    histogram = a.boxes(bars["x"], 0, 1, bars["y"], SKY)
    assert not a.wrong(draws, histogram, a.line(curve["x"], curve["y"], BLACK), own="y")
    for axis, variant in zip(steps, both["variant"], strict=True):
        one, other = of(area, variant=variant), of(step, variant=variant)
        x, y = -other["x"], other["y"]
        outline = a.line([*x, 0.6 / 3], [*y, y.iloc[-1]], BLUE, kind="step-post")
        assert not a.wrong(axis, a.line(-one["x"], one["y"], BLACK), outline, a.line(x, y, BLUE, kind="marks"), own="y")
        numbers = {text.get_text(): text.xy for text in axis.texts if text.get_text().isdigit()}
        assert numbers == {f"{k:.0f}": (u, v) for k, u, v in zip(other["order"], x, y, strict=True)}


def test_sampler_accuracy():
    columns = ("observed_rate", "exact_rate", "bound", "mc_se")
    table = a.crossed(*columns, target=TARGETS, rule=["equal", "adaptive"], knots=[5, 25]).assign(delta_s=17.0)
    table.loc[table["rule"] == "adaptive", "mc_se"] = np.nan
    table.loc[table["rule"] == "equal", "bound"] *= 2  # some bounds are above 1
    assert a.words(figures.sampler_accuracy(table).axes) == [
        ("xi_mathrmmean", "N", "probability of a rejection"), ("xi_mathrmsse", "N", ""),
    ]  # fmt: skip
    for axis, target in zip(figures.sampler_accuracy(table).axes, TARGETS, strict=True):
        equal, adaptive = (of(table, target=target, rule=rule) for rule in ("equal", "adaptive"))
        seen, reach = equal["observed_rate"], 2 * equal["mc_se"]
        expected = [
            a.line([5, 25], seen, CYCLE[0], kind="marks"),
            a.bars([5, 25], seen - reach, seen + reach, colour=CYCLE[0]),
            a.line([5, 25], equal["exact_rate"], CYCLE[0]),
            a.line([5, 25], np.minimum(equal["bound"], 1), CYCLE[0]),
            a.line([5, 25], adaptive["observed_rate"], CYCLE[1], kind="marks"),
            a.bars([5, 25], adaptive["observed_rate"], adaptive["observed_rate"], colour=CYCLE[1]),
            a.line([5, 25], adaptive["observed_rate"], CYCLE[1]),
        ]
        assert not a.wrong(axis, *expected)


def test_weighted_density():
    table = a.crossed("y", curve=["base", "weight", "target", "conditional"], x=[1.0, 2.0, 3.0])
    level = pd.DataFrame({"curve": "level", "x": [1.2, 2.7], "y": 0.4})
    left, right = figures.weighted_density(pd.concat([table, level], ignore_index=True)).axes
    lines = {
        name: a.line([1, 2, 3], of(table, curve=name)["y"], colour)
        for name, colour in (("base", ORANGE), ("weight", BLUE), ("target", BLACK))
    }
    assert not a.wrong(left, *lines.values(), own="y")
    inside = a.band([1, 2, 3], 0, of(table, curve="conditional")["y"], SKY)
    interval = a.line([1.2, 2.7], [0.4, 0.4], RED)
    assert not a.wrong(right, lines["weight"], inside, interval, a.bars([1.2, 2.7], 0, 0.4, colour=RED), own="y")


def test_descent():
    table = a.crossed(
        "y", target=TARGETS, curve=["area", "density", "u_L machine", "u_L efficient"], log_u=[-9.0, -2.0]
    )
    table.loc[table["curve"] == "u_L efficient", "log_u"] -= 1
    assert a.words(figures.descent(table).axes) == [
        ("xi_mathrmmean", "-log u  (u_H=1 lies at 0, far left)", "probability, density"),
        ("xi_mathrmsse", "-log u  (u_H=1 lies at 0, far left)", ""),
    ]
    axes = figures.descent(table).axes
    assert [axis.get_ylabel() for axis in axes] == ["probability, density", ""]
    for axis, target in zip(axes, TARGETS, strict=True):
        area, density = (of(table, target=target, curve=curve) for curve in ("area", "density"))
        expected = [a.line([9, 2], area["y"], BLACK), a.line([9, 2], density["y"], BLUE)]
        assert not a.wrong(axis, *expected, a.across("upright", 9, RED), a.across("upright", 10, GREEN))


def test_step_functions():
    area = a.crossed("y", kind=["area"], knots=[0], u=[0.1, 0.5, 0.9])
    step = pd.DataFrame({"kind": "step", "knots": 3, "u": [0.2, 0.05, 1.0, 0.6], "y": [0.7, 0.9, 0.1, 0.4]})
    table = pd.concat([area, step], ignore_index=True).assign(rejection_rate=0.2, bound=0.3)
    (axis,) = figures.step_functions(table).axes
    u, y = [0.05, 0.2, 0.6, 1.0], [0.9, 0.7, 0.4, 0.1]
    between = a.boxes(u[:3], y[1:], np.diff(u), -np.diff(y), SKY)
    outline = a.line(u, y, BLUE, kind="step-post")
    assert not a.wrong(axis, between, outline, a.line(area["u"], area["y"], BLACK))
    assert [text.get_text() for text in axis.texts if "bound" in text.get_text()] == ["rejection 0.200\nbound 0.300"]


def test_accept_reject():
    table = a.crossed("y", kind=["accepted", "rejected", "step", "area"], u=[0.1, 0.4, 0.8])
    (axis,) = figures.accept_reject(table).axes
    looks = {
        "accepted": (SKY, "marks"),
        "rejected": (RED, "marks"),
        "step": (BLUE, "step-post"),
        "area": (BLACK, "line"),
    }
    drawn = [
        a.line([0.1, 0.4, 0.8], of(table, kind=name)["y"], colour, kind=kind) for name, (colour, kind) in looks.items()
    ]
    assert not a.wrong(axis, *drawn)


def test_weight_functions():
    curve = a.crossed("y", target=TARGETS, curve=["weight"], xi=[1.0, 2.0, 3.0])
    ends = a.crossed("xi", target=TARGETS, curve=["interval"], y=[0.2, 0.6], end=[0, 1])
    for axis, target in zip(figures.weight_functions(pd.concat([curve, ends])).axes, TARGETS, strict=True):
        pairs = [
            a.line(of(ends, target=target, y=y)["xi"], [y, y], colour, kind="curve")
            for y, colour in zip((0.2, 0.6), CYCLE, strict=False)
        ]
        assert not a.wrong(axis, a.line([1, 2, 3], of(curve, target=target)["y"], BLACK), *pairs)


def test_gibbs_traces():
    table = a.crossed("mu", "sigma2", "s_low", "s_high", method=["corrected", "exact"], sweep=[1, 2, 3])
    table["s_mean"] = table["s_sse"] = 1.0
    values = [table["mu"], table["sigma2"], table["s_low"] + table["s_high"]]
    assert a.words(figures.gibbs_traces(table).axes) == [
        ("", "", "mu"), ("", "", "sigma^2"), ("", "sweep", "s_ell+s_u"),
    ]  # fmt: skip
    for axis, value in zip(figures.gibbs_traces(table).axes, values, strict=True):
        lines = [a.line([1, 2, 3], value[table["method"] == m], c) for m, c in (("corrected", BLUE), ("exact", BLACK))]
        assert not a.wrong(axis, *lines)
    assert [axis.get_xlabel() for axis in figures.gibbs_traces(table).axes] == ["", "", "sweep"]


def test_gibbs_posteriors():
    keys = {"method": ["as_written", "corrected", "exact"], "parameter": PARAMETERS}
    table = a.crossed("y", **keys, kind=["histogram"], x=[1.0, 2.0, 3.0]).assign(statistic="density")
    gone = pd.DataFrame({"method": keys["method"], "kind": "summary", "statistic": "diverged", "y": [1.0, 0, 0]})
    for axis, parameter in zip(figures.gibbs_posteriors(pd.concat([table, gone])).axes, PARAMETERS, strict=True):
        drawn = [
            a.stairs([1, 2, 3], of(table, method=m, parameter=parameter)["y"].iloc[:2], c)
            for m, c in (("corrected", BLUE), ("exact", BLACK))
        ]
        assert not a.wrong(axis, *drawn, own="y")


def test_geweke():
    table = a.crossed("z", method=["as_written", "exact"], limits=["[-2, 2]"], moment=["mu", "sigma2"])
    (axis,) = figures.geweke(table).axes
    bound = student.isf(0.01 / 4, 49)  # two moments, two sides, 50 batches
    marks = [
        a.line(of(table, method=m)["z"], [place] * 2, c, kind="marks")
        for place, (m, c) in enumerate((("as_written", RED), ("exact", BLACK)))
    ]
    assert not a.wrong(axis, *marks, a.span(-bound, bound, GREY))


def test_coverage():
    table = a.crossed(
        "coverage", "length", method=["exact", "without privacy"], epsilon=[2.0, 34.0], parameter=PARAMETERS
    )
    table.loc[table["method"] == "without privacy", "epsilon"] = np.nan
    table = table.drop_duplicates(["method", "epsilon", "parameter"])
    for what in ("coverage", "length"):
        table = table.assign(**{f"{what}_lower": 0.7 * table[what], f"{what}_upper": 1.2 * table[what]})
    assert a.words(figures.coverage(table).axes) == [
        ("mu", "", "coverage of 95 % interval\n(Wilson's 95 % interval)"), ("sigma^2", "", ""),
        ("", "", "median length\n(95 % interval)"), ("", "", ""),
    ]  # fmt: skip
    axes = figures.coverage(table).axes
    for column, parameter in enumerate(PARAMETERS):
        for row, what in enumerate(("coverage", "length")):
            expected = [] if row else [a.across("level", 0.95)]
            for method, x, colour in (("exact", [-0.07, 0.93], BLACK), ("without privacy", [2.0], GREEN)):
                rows = of(table, method=method, parameter=parameter)
                expected.append(a.line(x, rows[what], colour, kind="marks"))
                expected.append(a.bars(x, rows[f"{what}_lower"], rows[f"{what}_upper"]))
            assert not a.wrong(axes[2 * row + column], *expected)


def test_release_designs():
    designs = ("ranges added up", "exact sensitivity", "without privacy")
    table = a.crossed("sd", "mean", parameter=PARAMETERS, design=designs, epsilon=[1.0, 2.0], data_set=range(3))
    assert a.words(figures.release_designs(table).axes) == [
        ("", "epsilon", "posterior sd of mu"), ("", "epsilon", "posterior sd of sigma^2"),
    ]  # fmt: skip
    for axis, parameter in zip(figures.release_designs(table).axes, PARAMETERS, strict=True):
        rows = of(table, parameter=parameter)
        expected = [a.across("level", np.median(of(rows, design="without privacy")["sd"]), BLACK)]
        for design, colour in zip(designs[:2], (RED, BLUE), strict=True):
            found = of(rows, design=design)
            expected.append(a.line(found["epsilon"], found["sd"], colour, kind="marks"))
            medians = found.groupby("epsilon")["sd"].median()
            expected.append(a.line([1, 2], medians, colour, kind="curve"))
        assert not a.wrong(axis, *expected)


def test_other_noises():
    noises = ("Laplace", "Gaussian", "discrete Gaussian")
    table = a.crossed("y", target=TARGETS, noise=noises, kind=["histogram"], x=[1.0, 2.0, 3.0]).assign(expected=0.5)
    for axis, target in zip(figures.other_noises(table).axes, TARGETS, strict=True):
        drawn = [a.stairs([1, 2, 3], of(table, target=target, noise=n)["y"].iloc[:2]) for n in noises]
        assert not a.wrong(axis, *drawn, own="y")


def legend(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def steps_of(x, y, area):
    """Return the axes on which a step function with the given knots and the curve `area` are plotted."""
    axis = figures.Figure().subplots()
    steps = pd.DataFrame({"x": x, "y": y, "order": range(len(x))})
    figures._steps(axis, steps, pd.DataFrame(area, columns=["x", "y"]))
    return axis


def test_limits_of_a_step_function():
    """Check the limits of the axes of a panel against limits derived by hand. The knots are at -log u = 8, 2 and 0 with
    log P = -1, -2 and -inf, and the curve is lowest, -4, at -log u = 0.002; its value nearer to 0 is not used.

    The last step ends at a third of the smallest positive -log u, 2/3. The vertical axis extends from -4.3 to -1 plus
    8 % of the distance of -1 from -4.3.
    """
    axis = steps_of([0.0, -8.0, -2.0], [-np.inf, -1.0, -2.0], [(-9.0, -1.0), (-0.002, -4.0), (-0.0005, -50.0)])
    assert axis.get_xscale() == "log"
    assert axis.get_xlim() == pytest.approx((16, 2 / 3))
    assert axis.get_ylim() == pytest.approx((-4.3, -1 + 0.08 * 3.3))
    assert {text.get_text(): text.xy for text in axis.texts} == {"1": (8, -1), "2": (2, -2)}
    at_limit = steps_of([-8.0, -2.0], [-1.0, -2.0], [(-9.0, -1.0), (-0.001, -40.0), (-0.002, -4.0)])
    assert at_limit.get_ylim()[0] == pytest.approx(-4.3)


@pytest.mark.parametrize(("gap", "shown"), [(0.084, 1), (0.086, 2)])
def test_numbers_that_would_overlap_are_left_out(gap, shown):
    """Check that the label of a knot is omitted if the distance between this label and the previous label is less than
    0.085 of the panel width. The panel is log(16/(r/3)) wide if the knots are at -log u = 8 and r, so that r solves
    log(8/r) = gap log(48/r).
    """
    r = np.exp((np.log(8) - gap * np.log(48)) / (1 - gap))
    axis = steps_of([-8.0, -r], [-1.0, -1.0], [(-9.0, -1.0), (-1.0, -4.0)])
    assert [text.get_text() for text in axis.texts] == ["0", "1"][:shown]


def test_panels_of_every_sensitivity():
    parts = []
    for delta in (8.0, 17.0):
        bars = a.crossed("y", variant=["corrected"], kind=["histogram"], x=[1.0, 2.0]).assign(bin_width=1.0)
        curve = a.crossed("y", variant=["corrected"], kind=["density"], x=[1.0, 2.5])
        both = {"variant": ["as_written", "corrected"]}
        area = a.crossed("y", **both, kind=["area"], x=[-9.0, -2.0])
        step = a.crossed("y", **both, kind=["step"], x=[-8.0, -0.6]).assign(order=[0.0, 1] * 2)
        parts.append(pd.concat([bars, curve, area, step]).assign(delta_s=delta))
    axes = figures.xi_mean(pd.concat(parts, ignore_index=True)).axes
    titles = [axis.get_title(loc="left") for axis in axes]
    words = ["$u_L$ as on the slides", "$u_L$ used here"]
    assert titles == [r"$\Delta_s=8$", *words, r"$\Delta_s=17$", *words]
    assert legend(axes[0]) == ["exact density", "draws"]
    (note,) = [text for text in axes[1].texts if "order" in text.get_text()]
    assert note.xy == (0.05, 0.05)


def test_ticks_and_legend_of_the_accuracy():
    """Check that the figure of rejection rates shows only the first sensitivity, and that the plotted bounds are at
    most 1.
    """
    columns = ("observed_rate", "exact_rate", "bound", "mc_se")
    table = a.crossed(*columns, target=TARGETS, rule=["equal"], knots=[5, 25])
    both = pd.concat([table.assign(delta_s=17.0), table.assign(delta_s=8.0)])
    first, second = figures.sampler_accuracy(both).axes
    for axis in (first, second):
        assert axis.get_xticks().tolist() == [5, 25]
        assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
        assert sum(len(line.get_xdata()) == 2 for line in axis.lines) == 3
        lines = [line.get_linestyle() for line in axis.lines if line.get_marker() == "None" and len(line.get_xdata())]
        assert lines == ["-", ":"]
    assert legend(second) == ["exact", "bound", "equal"]
    assert first.get_legend() is None


def test_limits_of_the_explanations():
    table = a.crossed("y", curve=["base", "weight", "target", "conditional"], x=[1.0, 2.0])
    level = pd.DataFrame({"curve": "level", "x": [1.2, 1.7], "y": 0.25})
    left, right = figures.weighted_density(pd.concat([table, level])).axes
    assert (left.get_ylim()[0], right.get_ylim()[0]) == (0, 0)
    assert legend(left) == ["base $g$", "weight $w/c$", r"target $wg/\psi$"]
    assert legend(right) == ["weight $w/c$", "$A_u$, $u=0.25$", "density of $x$ given $u$"]

    curves = ["area", "density", "u_L machine", "u_L efficient"]
    for axis in figures.descent(a.crossed("y", target=TARGETS, curve=curves, log_u=[-9.0, -2.0])).axes:
        assert (axis.get_xscale(), axis.get_ylim()) == ("log", (0, 1.05))

    area = a.crossed("y", kind=["area"], knots=[0], u=[0.1, 0.9])
    steps = [pd.DataFrame({"kind": "step", "knots": n, "u": [0.1, 1.0], "y": [0.9, 0.1]}) for n in (2, 1)]
    axes = figures.step_functions(pd.concat([area, *steps]).assign(rejection_rate=0.25, bound=0.5)).axes
    assert [axis.get_title() for axis in axes] == ["$N=2$", "$N=1$"]
    for axis in axes:
        assert (axis.get_xlim(), axis.get_ylim()) == ((0, 1), (0, 1.05))
        assert [text.xy for text in axis.texts if "bound" in text.get_text()] == [(0.04, 0.06)]
    assert sorted(legend(axes[1])) == ["$P(A_u)$", "$h^*(u)$", r"rectangles $\mathcal{R}_j$"]
    empty = [patch for patch in axes[1].patches if str(patch.get_label()).startswith("rect")]
    assert [(p.get_x(), p.get_y(), p.get_width(), p.get_height()) for p in empty] == [(0, 0, 0, 0)]

    points = a.crossed("y", kind=["accepted", "step", "area"], u=[0.1, 0.8])
    (axis,) = figures.accept_reject(points).axes
    assert (axis.get_xlim(), axis.get_ylim()) == ((0, 1), (0, 1.05))
    assert legend(axis) == ["accepted", "$h^*(u)$", "$P(A_u)$"]

    weight = a.crossed("y", target=TARGETS, curve=["weight"], xi=[1.0, 2.0])
    ends = a.crossed("xi", target=TARGETS, curve=["interval"], y=[0.5], end=[0, 1])
    axes = figures.weight_functions(pd.concat([weight, ends])).axes
    assert [(axis.get_title(), axis.get_ylim()) for axis in axes] == [
        ("normal weight", (0, 1.05)),
        ("gamma weight", (0, 1.05)),
    ]
    assert legend(axes[1]) == ["$A_u$, $u=0.5$"]


def test_diverged_methods_are_only_named():
    """Check that a method with diverged sweeps is named in the legend and not plotted, and that only the histogram of
    the corrected sampler is filled.
    """
    keys = {"method": ["as_written", "corrected", "exact"], "parameter": PARAMETERS}
    table = a.crossed("y", **keys, kind=["histogram"], x=[1.0, 2.0, 3.0]).assign(statistic="density")
    gone = pd.DataFrame({"method": keys["method"], "kind": "summary", "statistic": "diverged", "y": [0.01, 0, 0]})
    others = pd.DataFrame({"method": ["exact"], "kind": "summary", "statistic": "mean", "y": [3.0]})
    first, second = figures.gibbs_posteriors(pd.concat([table, gone, others])).axes
    assert sorted(legend(second)) == ["as written: diverged, not drawn", "corrected", "exact"]
    assert [patch.get_fill() for patch in first.patches] == [True, False]
    assert first.get_ylim()[0] == second.get_ylim()[0] == 0
    table = a.crossed("mu", "sigma2", "s_low", "s_high", method=["corrected"], sweep=[1, 2])
    axes = figures.gibbs_traces(table).axes
    assert [axis.get_yscale() for axis in axes] == ["linear", "log", "log"]
    assert legend(axes[0]) == ["corrected"]


@pytest.mark.parametrize(
    ("z", "limits", "ticks"),
    [
        ([2.0, -3.0], (-6.0, 39.0), [-5, 0, 5, 10, 30]),  # at least -6 and 1.3 x 30
        ([2.0, -10.0], (-13.0, 39.0), [-10, -5, 0, 5, 10, 30]),
        ([100.0, -3.0], (-6.0, 130.0), [-5, 0, 5, 10, 30, 100]),
        ([-100.0, 4.0], (-130.0, 130.0), [-100, -30, -10, -5, 0, 5, 10, 30, 100]),
    ],
)
def test_limits_of_geweke(z, limits, ticks):
    table = pd.DataFrame({"method": "exact", "limits": "[-2, 2]", "moment": ["mu", "sigma2"], "z": z})
    (axis,) = figures.geweke(table).axes
    assert axis.get_xlim() == pytest.approx(limits)
    assert axis.get_xticks().tolist() == ticks
    assert [label.get_text() for label in axis.get_xticklabels()] == [str(tick) for tick in ticks]
    bound = student.isf(0.01 / 4, 49)
    assert f"grey: $|z|<{bound:.2f}$, all five inside at level 0.01" in axis.get_xlabel()
    assert [label.get_text() for label in axis.get_yticklabels()] == ["exact, [-2, 2]"]
    assert axis.yaxis_inverted()
    scale = axis.xaxis.get_transform()
    # asinh(z/(2 bound)): linear near 0
    x = scale.transform([bound, 2 * bound])
    assert x[1] / x[0] == pytest.approx(np.arcsinh(1) / np.arcsinh(0.5))


def test_ticks_of_the_coverage_and_of_the_designs():
    """Check the axis ticks, and check that the horizontal offsets of the three methods are -0.14, 0 and 0.14."""
    methods = ["exact", "corrected", "naive"]
    table = a.crossed("coverage", "length", method=methods, epsilon=[34.0, 2.0], parameter=PARAMETERS)
    for what in ("coverage", "length"):
        table = table.assign(**{f"{what}_lower": 0.7 * table[what], f"{what}_upper": 1.2 * table[what]})
    axes = figures.coverage(table).axes
    for axis in axes:
        assert axis.get_xticks().tolist() == [0, 1, 2]
        places = [line.get_xdata().tolist() for line in axis.lines if line.get_gid()]
        assert places == [pytest.approx([1 + aside, aside]) for aside in (-0.14, 0.0, 0.14)]
    assert [label.get_text() for label in axes[2].get_xticklabels()] == [r"$\epsilon=2$", r"$\epsilon=34$", "none"]
    assert [axis.get_yscale() for axis in axes] == ["linear", "linear", "log", "log"]
    assert legend(axes[1]) == ["exact", "corrected", "noise ignored"]

    designs = ("ranges added up", "without privacy")
    table = a.crossed("sd", parameter=PARAMETERS, design=designs, epsilon=[1.0, 2.0], data_set=range(3))
    for axis in figures.release_designs(table).axes:
        assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
        assert axis.get_xticks().tolist() == [1.0, 2.0]
    assert legend(axis) == ["ranges added up", "without privacy"]
    table = a.crossed("y", target=TARGETS, noise=["a", "b", "c"], kind=["histogram"], x=[1.0, 2.0])
    first, second = figures.other_noises(table).axes
    assert (first.get_xlabel(), second.get_xlabel()) == (
        r"$\xi_{\mathrm{mean}}$, $s_c=1$",
        r"$\xi_{\mathrm{sse}}$",
    )
    assert first.get_ylim()[0] == 0
    assert legend(second) == ["a", "b", "c"]


SLIDES = {"z_mean": -21.27, "z_sse": 778.56, "mu": 0.0, "sigma2": 1.0, "count": 950}
NORMAL = {"z": 0.5, "sigma2": 1.0, "scale": 1.0}


@pytest.fixture(scope="module")
def honest():
    rng, size = stream(5, "checks"), {"draws": 2000, "knots": 12, "bins": 30, "epsilon": 2.0}
    return {
        "weighted_density": explained.weighted_density(z=3.0, sigma2=1.0, scale=1.0, u=0.3),
        "descent": explained.descent(**SLIDES, scale=8.494),
        "step_functions": explained.step_functions(**NORMAL, knots=[3, 6]),
        "accept_reject": explained.accept_reject(**NORMAL, knots=6, candidates=800, rng=rng),
        "weight_functions": explained.weight_functions(**SLIDES, levels=[0.1, 0.5]),
        **{name: getattr(draws, name)(**SLIDES, **size, deltas=[16.988, 22.0], rng=rng) for name in TARGETS},
    }


@pytest.fixture(scope="module")
def rows(honest):
    return ours_of(figure_checks.rows(honest))


def ours_of(rows):
    return {(row["artefact"], row["quantity"]): row for row in rows}


def judged(function, tables, name):
    return getattr(figure_checks, function)(tables if function == "_areas" else tables[name])


def moved(tables, name, column, by, where):
    """Return tables in which `by` is added to the first value of `column` that fulfils a condition."""
    table = tables[name].copy()
    place = table.index[where(table)][0]
    table.loc[place, column] += by
    return tables | {name: table}


MOVED = [
    *(
        ("_weighted", "weighted_density", "y", lambda t, name=name: t["curve"] == name)
        for name in ("base", "weight", "target", "conditional")
    ),
    ("_weighted", "weighted_density", "x", lambda t: t["curve"] == "level"),
    *(
        (function, "descent", "y", lambda t, name=name, curve=curve: (t["target"] == name) & (t["curve"] == curve))
        for name in TARGETS for function, curve in (("_areas", "area"), ("_descent", "density"))
    ),
    ("_areas", "step_functions", "y", lambda t: t["kind"] == "area"),
    ("_areas", "accept_reject", "y", lambda t: t["kind"] == "area"),
    *(
        ("_rectangles", "step_functions", column, lambda t, n=n: (t["knots"] == n) & (t["kind"] == "step"))
        for column in ("bound", "rejection_rate") for n in (3, 6)
    ),
    *(
        ("_weights", "weight_functions", "y",
         lambda t, name=name, curve=curve: (t["target"] == name) & (t["curve"] == curve))
        for name in TARGETS for curve in ("weight", "interval")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("function", "name", "column", "where"), MOVED)
def test_an_error_in_a_plotted_curve_is_the_left_side(honest, function, name, column, where):
    """Check that the claimed equation about a plotted curve holds, and that the left side of the equation equals the
    error if one point of the curve is changed.
    """
    assert judged(function, honest, name)["ours"] > 0
    for by in (0.125, -0.125):
        row = judged(function, moved(honest, name, column, by, where), name)
        assert row["left"] == pytest.approx(0.125, abs=2e-3)
        assert row["right"] == 0


def test_errors_of_the_plotted_candidates(honest):
    """Check that an accepted candidate at a distance of 0.2 above P(A_u), or a rejected candidate 0.2 below P(A_u),
    changes the left side of the claimed inequality to 0.2.
    """
    right = honest["accept_reject"]
    assert figure_checks._candidates(right)["ours"] >= 0
    for kind, sign in (("accepted", 1), ("rejected", -1)):
        table = right.copy()
        place = table.index[(table["kind"] == kind) & (table["u"] < 0.5)][0]
        table.loc[place, "y"] = target(right).area(table.loc[[place], "u"])[0] + 0.2 * sign
        assert figure_checks._candidates(table)["left"] == pytest.approx(0.2)
    assert figure_checks._candidates(right[right["kind"] != "rejected"])["ours"] >= 0


def target(table):
    return figure_checks.target_of("xi_mean", table)


def test_a_number_of_knots_that_is_not_plotted(honest):
    table = honest["step_functions"]
    assert figure_checks._rectangles(table.assign(knots=table["knots"].replace(6, 8)))["left"] == 2


@pytest.mark.parametrize("name", TARGETS)
def test_rows_of_a_target_by_hand(honest, rows, name):
    """Check the four rows of the agreement table for a target density: the draws, the density, the order of the knots,
    and the position of knot number 2.

    The p-value of the draws is four times the smallest of four p-values, one per panel. A density that is 2 % too small
    at one point has the relative difference 1/0.98 - 1.
    """
    table = honest[name]
    panels = [of for _, of in table.groupby(["variant", "delta_s"])]
    p_values = [figure_checks._bars(name, of)[0] for of in panels]
    drawn = rows[name, "draws follow the target density"]
    assert drawn["ours"] == pytest.approx(min(1, 4 * min(p_values)))
    assert 1e-4 < drawn["ours"] <= 1
    word = {"xi_mean": "sigma2/s_c", "xi_sse": "noise scale"}[name]
    assert drawn["sees"].startswith(f"{word} by ")
    assert "in each of 4 panels" in drawn["note"]
    assert rows[name, "the curve is the target density"]["ours"] > 0
    less = table.copy()
    place = less.index[less["kind"] == "density"][200]
    less.loc[place, "y"] *= 0.98
    found = ours_of(figure_checks._target(name, less))[name, "the curve is the target density"]
    assert found["left"] == pytest.approx(1 / 0.98 - 1, rel=1e-3)
    first = table[(table["variant"] == "as_written") & (table["delta_s"] == 16.988) & (table["order"] == 2)]
    assert rows[name, "log u of knot number 2"]["ours"] == first["x"].item()
    assert rows[name, "every knot splits the largest rectangle"]["ours"] > 0


def test_knots_that_do_not_split_the_largest_rectangle(honest):
    """Check the claim that each new knot splits the largest rectangle, for four knots at u = 1/10, 1, 1/2 and 1/5. The
    third knot splits the only rectangle. The areas are then 0.4 x 0.5 and 0.5 x 0.4, so that splitting the first is
    right. With the heights 0.9, 0, 0.7, the areas are 0.08 and 0.35, and the fourth knot splits a rectangle that is
    27/35 smaller.
    """

    def split(heights, order=(0, 1, 2, 3)):
        x = np.log([0.1, 1.0, 0.5, 0.2])
        with np.errstate(divide="ignore"):
            table = pd.DataFrame({"kind": "step", "x": x, "y": np.log(heights), "order": order})
        return figure_checks._order("xi_mean", [table])

    assert split([0.9, 0.0, 0.4, 0.8])["left"] == pytest.approx(0, abs=1e-12)
    assert split([0.9, 0.0, 0.7, 0.8])["left"] == pytest.approx(1 - 0.08 / 0.35)
    assert split([0.9, 0.0, 0.4, 0.8], (0, 1, 2, 4))["left"] == 1
    assert split([0.9, 0.0, 0.4, np.nan])["left"] == 1


def test_bars_of_a_target_that_are_wrong(honest):
    """Check that the test of a plotted histogram rejects exchanged bars, and that the minimum detectable effect
    decreases with the square root of the number of draws.
    """
    for name in TARGETS:
        of = honest[name][(honest[name]["variant"] == "corrected") & (honest[name]["delta_s"] == 22.0)]
        p, (word, seen) = figure_checks._bars(name, of)
        assert p > 1e-4
        bars = of["kind"] == "histogram"
        turned = of.assign(y=of["y"].where(~bars, of.loc[bars, "y"].to_numpy()[::-1].tolist() + [0] * (~bars).sum()))
        assert figure_checks._bars(name, turned)[0] < 1e-6
        more = figure_checks._bars(name, of.assign(draws=4 * of["draws"]))[1]
        assert more == (word, pytest.approx(seen / 2))


def ours(rows):
    return {row["quantity"]: row for row in rows}


def test_margins_of_the_step_functions():
    """Check the smallest differences between the step function h* and P(A_u), above and below u_L. With knots at u =
    0.25 (height 0.75, u_L) and 1, h* is 0.75 - 0.5 above the area at 0.5, and 0.1 below it at 0.1. The bounds 0.5 and
    0.25 decrease by log 2.
    """
    area = pd.DataFrame({"kind": "area", "knots": 0, "u": [0.1, 0.25, 0.5], "y": [0.85, 0.5, 0.5]})
    steps = pd.DataFrame({"kind": "step", "u": [0.0, 0.25, 1.0], "y": [0.9, 0.75, 0.0], "order": [-1, 0, 1]})
    table = pd.concat([area, steps.assign(knots=3, bound=0.5), steps.assign(knots=9, bound=0.25)])
    found = ours(agreement.step_functions(table))
    assert found["h* >= P(A_u) on [u_L, 1]"]["left"] == pytest.approx(0.25)
    assert found["h* >= P(A_u) below u_L"]["left"] == pytest.approx(-0.1)
    assert found["the bound decreases with N"]["left"] == pytest.approx(np.log(2))
    one = ours(agreement.step_functions(table[table["knots"] != 9]))
    assert one["the bound decreases with N"]["variant"] == "not_run"


def test_margins_of_the_descent():
    """Check that the largest increase of P(A_u) is 0.25, and that the largest decrease of P(A_u) below u_L is 0.125. At
    u_L itself, P(A_u) may be smaller.
    """
    parts = []
    for name, below in (("xi_mean", 0.875), ("xi_sse", 1.0)):
        area = pd.DataFrame({"curve": "area", "log_u": [-5.0, -7.0, -3.0, -1.0, -0.5], "y": [below, 1, 0.5, 0.25, 0.5]})
        end = pd.DataFrame({"curve": ["u_L machine", "u_L efficient"], "log_u": [-3.0, -1.0], "y": np.nan})
        parts.append(pd.concat([area, end]).assign(target=name))
    found = ours(agreement.descent(pd.concat(parts)))
    assert found["P(A_u) never increases"]["left"] == 0.25
    assert found["P(A_u) = P(A_0) below u_L"]["left"] == 0.125


def test_the_peak_of_a_weight_by_its_parabola():
    """Check the mode and the maximum of a weight function that is known only at points that do not include the mode."""
    x = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    curve = pd.DataFrame({"curve": "weight", "xi": x, "y": np.exp(-((x - 1.3) ** 2)), "log_maximum": 2.0})
    other = curve.assign(target="xi_sse", xi=x + 1, log_maximum=0.0)
    found = ours(agreement.weights(pd.concat([curve.assign(target="xi_mean"), other])))
    assert found["xi at the normal weight's maximum"]["ours"] == pytest.approx(1.3)
    assert found["largest value of the normal weight"]["ours"] == pytest.approx(np.exp(2))
    assert found["xi at the gamma weight's maximum"]["ours"] == pytest.approx(2.3)
    assert found["largest value of the gamma weight"]["ours"] == pytest.approx(1)


def test_settings_and_modes_of_the_targets():
    """Check that the reported N is one less than the number of knots in the first panel of the variant as written."""
    kinds = pd.DataFrame({"kind": ["step"] * 4 + ["histogram"], "draws": 70, "count": 950})
    parts = [kinds.assign(variant="as_written", delta_s=d) for d in (16.0, 22.0)]
    parts += [kinds.assign(variant="corrected", delta_s=16.0)]
    tables = dict.fromkeys(TARGETS, pd.concat(parts))
    rows = agreement.draws(tables)
    assert [(row["artefact"], row["quantity"], row["ours"]) for row in rows] == [
        (name, quantity, value)
        for name in TARGETS
        for quantity, value in (("N of the step function", 3), ("draws", 70), ("s_c", 950))
    ]
    laws = pd.DataFrame({"target": ["xi_mean", "xi_sse", "xi_sse"], "delta_s": [16.0, 17.0, 22.0], "mode": [1, 2, 3]})
    mean, sse = agreement.laws(laws)
    assert (mean["ours"], sse["ours"]) == (1, 2)
    assert "Delta_s = 17." in sse["note"]


def test_tests_of_the_accepted_candidates():
    """Check the tests of the proportion and the positions of the accepted candidates. The area under P(A_u) = 1 - u is
    1/2, and h* = 1 up to u = 1, so that 50 of 100 candidates are expected. For 60, the p-value is that of a binomial
    test. The accepted u follow 2u - u^2.
    """
    u = np.linspace(0, 1, 101)
    accepted = 1 - np.sqrt(1 - (np.arange(60) + 0.5) / 60)
    parts = [
        pd.DataFrame({"kind": "area", "u": u, "y": 1 - u}),
        pd.DataFrame({"kind": "step", "u": [0.0, 1.0], "y": [1.0, 0.0]}),
        pd.DataFrame({"kind": "accepted", "u": accepted, "y": 0.1}),
        pd.DataFrame({"kind": "rejected", "u": np.full(40, 0.9), "y": 0.9}),
    ]
    table = pd.concat(parts).assign(**NORMAL)
    share, follow = agreement.accept_reject(table)
    assert share["ours"] == pytest.approx(binomtest(60, 100, 0.5).pvalue)
    # a z test of log p: 100 candidates with odds 1 have the information 100
    needed = norm.isf(1e-4 / 2) + norm.ppf(0.9)
    assert share["sees"] == f"acceptance rate by {100 * needed / 10:.2g} %"
    steep = agreement.accept_reject(pd.concat([parts[0], parts[1].assign(y=[2.0, 0.0]), *parts[2:]]).assign(**NORMAL))
    assert (
        steep[0]["sees"] == f"acceptance rate by {100 * needed / (100 / 3) ** 0.5:.2g} %"
    )  # h* = 2, so the odds are 1/3
    assert follow["ours"] > 0.99
    assert follow["sees"].startswith("scale of the base by ")
    late = pd.concat([*parts[:2], parts[2].assign(u=accepted**0.25), parts[3]]).assign(**NORMAL)
    assert agreement.accept_reject(late)[1]["ours"] < 1e-6
    assert agreement._cumulated(table, pd.Series([0.1, 0.5, 1.0]))[[0, -1]] == pytest.approx([0, 1])


def test_means_of_the_corrected_and_the_exact_sampler():
    """Check the difference between the means 1.2 and 1.0 in units of the standard deviation 0.5, which is 0.4. Its
    error is sqrt(1/25 + 1/100).
    """
    rows = []
    for name, mean, ess in (("corrected", 1.2, 25.0), ("exact", 1.0, 100.0)):
        for parameter in PARAMETERS:
            values = {"mean": mean, "sd": 0.5, "ess": ess}
            rows += [{"method": name, "parameter": parameter, "statistic": s, "y": v} for s, v in values.items()]
    posteriors = pd.DataFrame(rows).assign(kind="summary")
    others = posteriors.assign(kind="histogram", y=9.0)
    moments = pd.DataFrame({"method": "as_written", "moment": ["mu"], "z": [1.0], "se": 0.1, "expected": 1.0})
    found = ours(agreement.corrected_samplers(moments, pd.concat([posteriors, others])))
    assert found["the exact Gibbs sampler draws from the posterior"]["variant"] == "not_run"
    for parameter in PARAMETERS:
        row = found[f"the corrected and the exact sampler have the same mean of {parameter}"]
        assert (row["left"], row["right"], row["mc_se"]) == pytest.approx((0.4, 0.15, 0.05**0.5))
        assert f"mean of {parameter} is 1.2000 for the corrected sampler and 1.0000 for the exact" in row["note"]
    few = ours(agreement.corrected_samplers(moments, posteriors[posteriors["method"] == "exact"]))
    assert [row["variant"] for row in few.values()] == ["not_run"] * 3
    exact = moments.assign(method="exact", moment="sigma2", z=2.0)
    row = ours(agreement.corrected_samplers(exact, posteriors))["the exact Gibbs sampler draws from the posterior"]
    assert row["ours"] == pytest.approx(2 * student.sf(2, 49))
    needed = student.isf(1e-4 / 2, 49) + norm.ppf(0.9)
    assert row["sees"] == f"sigma2 by {10 * needed:.2g} %; a moment by {10 * needed:.2g} %"


def test_tests_of_the_statistics_and_of_other_noises():
    rows = [("s_low", 0.3, 0.01), ("s_high", 0.2, 0.02), ("s_mean", 0.04, 0.03), ("s_sse", 0.05, 0.04)]
    table = pd.DataFrame(rows, columns=["statistic", "p_value", "seen"]).assign(
        variant="as_written", sd=2.0, law_sd=3.0
    )
    both = pd.concat([table, table.assign(variant="corrected", p_value=0.9)])
    counts, mean, sse = agreement.statistics(both)
    assert (counts["ours"], mean["ours"], sse["ours"]) == pytest.approx((0.4, 0.04, 0.05))
    assert [row["sees"] for row in (counts, mean, sse)] == ["q_u by 2 %; q_l by 1 %", "sigma by 3 %", "sigma2 by 4 %"]
    assert "s_mean is 2 in simulated samples and 3 under" in mean["note"]

    # two bins with 30 and 70 of 100 draws, where one half is expected: (20^2/50) 2 = 16
    bars = pd.DataFrame({"kind": "histogram", "x": [0.0, 2.0, 4.0], "y": [0.15, 0.35, 0.0], "expected": [0.5, 0.5, 0]})
    number = pd.DataFrame({"kind": "number", "statistic": ["inside", "p_value", "sees"], "y": [100.0, 0.2, 0.03]})
    one = pd.concat([bars, number])
    assert agreement._bars(one) == pytest.approx(chi2.sf(16, 1))
    noises = ("Laplace", "Gaussian", "two-sided geometric", "discrete Gaussian")
    table = pd.concat([one.assign(target=t, noise=n) for t in TARGETS for n in noises])
    found = agreement.other_noises(table)
    assert [row["quantity"] for row in found] == [f"{noise} noise: draws are exact" for noise in noises[1:]]
    assert [row["ours"] for row in found] == pytest.approx([4 * chi2.sf(16, 1)] * 3)
    assert {row["sees"] for row in found} == {"width of the noise by 3 %"}


def test_counts_that_are_drawn_in_turn():
    """Check the chi-squared test of the counts 30 and 70, both of which are expected to be 50, and a cell that is too
    small to be tested alone. The total variation distance is 0.2.
    """
    table = pd.DataFrame({"drawn": [30, 70], "in_turn": [0.5, 0.5], "joint": [0.3, 0.7], "wider": [0.51, 0.49]})
    test, apart = agreement.counts(table)
    assert test["ours"] == pytest.approx(chi2.sf(16, 1))
    assert apart["left"] == pytest.approx(0.2)
    # noncentrality 2 (1/50) for 1 %, hence 400 for 100 %; the small cell is not counted
    limit = chi2.isf(1e-4, 1)
    needed = brentq(lambda x: ncx2.sf(limit, 1, x) - 0.9, 1, 100)
    assert test["sees"] == f"noise scale by {100 * (needed / 400) ** 0.5:.2g} %"
    small = pd.concat([table, pd.DataFrame({"drawn": [4], "in_turn": [0.04], "joint": [0.0], "wider": [0.1]})])
    assert agreement.counts(small)[0]["sees"] != ""
