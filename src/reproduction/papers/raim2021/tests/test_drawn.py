"""Tests of the contents of the figures, which are plotted from synthetic tables. Every line, mark, bar and rectangle is
compared with the columns of these tables.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from reproduction.papers.raim2021 import figures
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
    """Return the panel of a step function with the given knots, in the order of the lists, and the curve `area`."""
    axis = figures.Figure().subplots()
    steps = pd.DataFrame({"x": x, "y": y, "order": range(len(x))})
    figures._steps(axis, steps, pd.DataFrame(area, columns=["x", "y"]))
    return axis


def test_limits_of_a_step_function():
    """Check the limits of a panel by hand. The knots are at -log u = 8, 2 and 0 with log P = -1, -2 and -inf, and the
    curve is lowest, -4, at -log u = 0.002; its value nearer to 0 is not used.

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
    """Check that the number of a knot is omitted if its distance from the last number is below 0.085 of the panel. The
    panel is log(16/(r/3)) wide if the knots are at -log u = 8 and r, so that r solves log(8/r) = gap log(48/r).
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
    """Check that only the first sensitivity is plotted, and that the bound of a rule is at most 1."""
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
    """Check that a method is named as diverged if any share of its sweeps diverged, and that the posterior of the
    corrected sampler is filled.
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
    """Check the ticks, and the offsets of three methods, which are -0.14, 0 and 0.14."""
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
