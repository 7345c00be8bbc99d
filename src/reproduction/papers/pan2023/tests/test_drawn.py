"""Tests of the contents of the figures, which are plotted from synthetic tables. Every line, marker, bar and band is
compared with the columns of these tables.
"""

import numpy as np
import pandas as pd
import pytest

from reproduction.papers.pan2023 import figures
from reproduction.style import BLACK, BLUE, CYCLE, GRADED, GREEN, GREY, ORANGE, RED, SKY
from reproduction.verdicts import artists as a

THETAS = ("(0.27, 0.23, 0.23, 0.27)", "(0.7, 0.1, 0.1, 0.1)")


def curves(*kinds, **keys):
    """Return a synthetic table of curves of the given kinds, with four points per curve."""
    return a.crossed("y", **keys, kind=kinds, x=[0.5, 1.0, 1.5, 2.0])


def single(seed, *kinds, **keys):
    """Return a synthetic table that contains one value y for each combination of the given keys. All x coordinates are
    missing.
    """
    return a.crossed("y", seed=seed, **keys, kind=kinds).assign(x=np.nan)


def of(table, **kept):
    for column, value in kept.items():
        table = table[table[column] == value]
    return table


def test_phi_density():
    keys = {"theta": THETAS, "total": [50, 200]}
    table = pd.concat(
        [curves("original", "swapped", "swapped exact", "one swap", **keys), single(2, "phi", "limit", **keys)]
    )
    assert a.words(figures.phi_density(table).axes) == [
        ("theta^*=(0.27, 0.23, 0.23, 0.27), n=50", "", "density"),
        ("theta^*=(0.7, 0.1, 0.1, 0.1), n=50", "", ""),
        ("theta^*=(0.27, 0.23, 0.23, 0.27), n=200", "phi=theta_1theta_4/(theta_2theta_3)", "density"),
        ("theta^*=(0.7, 0.1, 0.1, 0.1), n=200", "phi=theta_1theta_4/(theta_2theta_3)", ""),
    ]
    axes = iter(figures.phi_density(table).axes)
    for total in keys["total"]:
        for theta in THETAS:
            rows = of(table, theta=theta, total=total)
            lines = [
                a.line(of(rows, kind=kind)["x"], of(rows, kind=kind)["y"], colour)
                for kind, colour in (("original", BLUE), ("swapped exact", RED), ("one swap", BLACK))
            ]
            bars = a.stairs([0.5, 1.0, 1.5, 2.0, 2.5], of(rows, kind="swapped")["y"], ORANGE)
            marks = [a.across("upright", 1, GREY)]
            marks += [a.across("upright", of(rows, kind=k)["y"].item(), c) for k, c in (("phi", BLUE), ("limit", RED))]
            assert not a.wrong(next(axes), *lines, bars, *marks, own="xy")


def test_phi_by_rate():
    keys = {"theta": THETAS, "total": [50, 200], "rate": [0.1, 0.3, 0.5]}
    table = pd.concat([curves("density", **keys), single(2, "median", "limit", **keys)])
    assert a.words(figures.phi_by_rate(table).axes) == [
        ("theta^*=(0.27, 0.23, 0.23, 0.27), n=50", "phi", "density"),
        ("theta^*=(0.7, 0.1, 0.1, 0.1), n=50", "phi", ""),
        ("theta^*=(0.27, 0.23, 0.23, 0.27), n=200", "phi", "density"),
        ("theta^*=(0.7, 0.1, 0.1, 0.1), n=200", "phi", ""),
        ("", "swap rate p", "median of phi"),
        ("", "swap rate p", ""),
    ]
    axes = figures.phi_by_rate(table).axes
    for j, theta in enumerate(THETAS):
        for i, total in enumerate(keys["total"]):
            lines = [
                a.line(
                    of(table, theta=theta, total=total, rate=rate, kind="density")["x"],
                    of(table, theta=theta, total=total, rate=rate, kind="density")["y"],
                    colour,
                )
                for rate, colour in zip(keys["rate"], GRADED, strict=False)
            ]
            assert not a.wrong(axes[2 * i + j], *lines, a.across("upright", 1), own="y")
        medians = [
            a.line(keys["rate"], of(table, theta=theta, total=total, kind="median")["y"], colour, kind="marks")
            for total, colour in ((50, BLUE), (200, ORANGE))
        ]
        limit = a.line(keys["rate"], of(table, theta=theta, total=50, kind="limit")["y"], BLACK)
        assert not a.wrong(axes[4 + j], *medians, limit, a.across("level", 1), own="y")


def test_closer_or_farther():
    keys = {"theta": THETAS, "data": ["fixed", "random"], "rate": [0.1, 0.5], "total": [10, 100]}
    table = a.crossed("farther", "closer", "mc_se", **keys)
    assert a.words(figures.closer_or_farther(table).axes) == [
        ("theta^*=(0.27, 0.23, 0.23, 0.27)", "number of records n", "P(one swap moves phi away from 1)"),
        ("theta^*=(0.7, 0.1, 0.1, 0.1)", "number of records n", ""),
    ]
    for axis, theta in zip(figures.closer_or_farther(table).axes, THETAS, strict=True):
        expected = []
        for rate, colour, aside in ((0.1, BLUE, 1 / 1.03), (0.5, GREEN, 1.03)):
            fixed, drawn = (of(table, theta=theta, rate=rate, data=data) for data in ("fixed", "random"))
            x, y, reach = aside * drawn["total"], drawn["farther"], 2 * drawn["mc_se"]
            expected.append(a.line(fixed["total"], fixed["farther"], colour, kind="curve"))
            expected.append(a.line(x, y, colour, kind="marks"))
            expected.append(a.bars(x, y - reach, y + reach, colour=colour))
        assert not a.wrong(axis, *expected)


def test_abc_posterior():
    names = ["theta1", "theta2", "theta3", "theta4"]
    numbers = pd.DataFrame({"quantity": "", "kind": ["number accepted", "iterations"], "x": np.nan, "y": [400.0, 9e4]})
    table = pd.concat([numbers, curves("accepted", "exact", "naive", quantity=names)])
    for axis, name in zip(figures.abc_posterior(table).axes, names, strict=True):
        accepted, exact, naive = (of(table, quantity=name, kind=kind) for kind in ("accepted", "exact", "naive"))
        heights = accepted["y"].to_numpy()
        reach = 2 * np.sqrt(heights / (400 * 0.5))
        bars = a.bars([0.75, 1.25, 1.75, 2.25], heights - reach, heights + reach, colour=BLUE)
        lines = (a.line(exact["x"], exact["y"], BLACK), a.line(naive["x"], naive["y"], RED))
        assert not a.wrong(axis, a.stairs([0.5, 1.0, 1.5, 2.0, 2.5], heights, SKY), bars, *lines)


def test_log_phi():
    rates = [0.0, 0.1, 0.3]
    table = pd.concat([curves("naive", rate=[0.0]), curves("accepted", "exact", rate=rates[1:])])
    assert a.words(figures.log_phi(table).axes) == [
        ("all", "log,phi", "posterior density"),
        ("p=0.1", "log,phi", ""),
        ("p=0.3", "log,phi", ""),
    ]
    first, *others = figures.log_phi(table).axes
    naive = of(table, kind="naive")
    exact = {rate: of(table, kind="exact", rate=rate) for rate in rates[1:]}
    lines = {rate: a.line(exact[rate]["x"], exact[rate]["y"], c) for rate, c in ((0.1, BLUE), (0.3, GREEN))}
    dashed, zero = a.line(naive["x"], naive["y"], BLACK), a.across("upright", 0)
    assert not a.wrong(first, dashed, *lines.values(), zero)
    for axis, rate in zip(others, rates[1:], strict=True):
        bars = a.stairs([0.5, 1.0, 1.5, 2.0, 2.5], of(table, kind="accepted", rate=rate)["y"], SKY)
        assert not a.wrong(axis, bars, lines[rate], dashed, zero)


def test_coverage():
    keys = {"theta": THETAS, "method": ["naive", "exact"], "rate": [0.1], "total": [10, 100]}
    table = a.crossed("coverage", **keys).assign(size=40, level=0.9)
    assert a.words(figures.coverage(table).axes) == [
        ("theta^*=(0.27, 0.23, 0.23, 0.27)", "number of records n", "coverage of 90% intervals for log,phi"),
        ("theta^*=(0.7, 0.1, 0.1, 0.1)", "number of records n", ""),
    ]
    for axis, theta in zip(figures.coverage(table).axes, THETAS, strict=True):
        expected = [a.across("level", 0.9)]
        for method, colour, aside in (("naive", RED, 1 / 1.03), ("exact", BLUE, 1.03)):
            rows = of(table, theta=theta, method=method)
            p, z2 = rows["coverage"], 1.96**2
            middle, half = p + z2 / 80, 1.96 * np.sqrt(p * (1 - p) / 40 + z2 / 6400)  # Wilson's interval
            low, high = ((middle + sign * half) / (1 + z2 / 40) for sign in (-1, 1))
            expected.append(a.line(aside * rows["total"], p, colour, kind="curve"))
            expected.append(a.bars(aside * rows["total"], low, high, colour=colour))
        assert not a.wrong(axis, *expected)


def test_privacy_loss():
    rate = a.crossed("y", kind=["rate"], group=[10, 100], variant=["as_written", "corrected"], x=[0.1, 0.4, 0.7])
    paid = a.crossed("y", seed=2, kind=["association"], group=[10, 100], variant=["corrected"], x=[0.5, 0.8, 1.0])
    cost = a.crossed(
        "y", seed=3, kind=["exchange"], group=[0.1, 0.5], variant=["corrected", "as_written", "twice"], x=[2, 4]
    )
    table = pd.concat([rate, paid, cost], ignore_index=True)
    first, second, third = figures.privacy_loss(table).axes
    stated, exact, left = [], [], []
    for group, colour in ((10, BLUE), (100, GREEN)):
        rows = {v: of(rate, group=group, variant=v) for v in ("as_written", "corrected")}
        stated.append(a.line(rows["as_written"]["x"], rows["as_written"]["y"], colour, kind="curve"))
        exact.append(a.line(rows["corrected"]["x"], rows["corrected"]["y"], colour))
        left.append(a.line([0.5, 0.8, 1.0], of(paid, group=group)["y"], colour, kind="curve"))
    assert not a.wrong(first, *stated, *exact, a.across("upright", 0.5))
    assert not a.wrong(third, *left)
    lines = [
        a.line([2, 4], of(cost, group=p, variant=v)["y"], colour, kind="curve" if v == "corrected" else "line")
        for p, colour in ((0.1, BLUE), (0.5, GREEN))
        for v in ("corrected", "as_written", "twice")
    ]
    assert not a.wrong(second, *lines)


def legend(owner):
    found = owner.legends[0] if hasattr(owner, "legends") else owner.get_legend()
    return [text.get_text() for text in found.get_texts()]


def test_range_of_the_densities():
    """Check that a panel shows the range in which at least one curve is above one hundredth of its maximum. The curve
    with maximum 2 exceeds 0.02 from 1 to 3, and the bars with maximum 4 exceed 0.04 from 2 to 4.
    """
    curve = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 4.0], "y": [0.02, 0.021, 2.0, 0.03, 0.0]})
    bars = pd.DataFrame({"x": [1.0, 2.0, 4.0, 5.0], "y": [0.04, 4.0, 0.041, 0.0]})
    assert figures._end(curve) == (1, 3)
    assert figures._end(curve, bars) == (1, 4)
    assert figures._edges(bars["x"]).tolist() == [1, 2, 4, 5, 6]
    parts = [curve.assign(kind=kind) for kind in ("original", "swapped exact", "one swap")]
    single = pd.DataFrame({"x": np.nan, "y": [0.7, 0.8], "kind": ["phi", "limit"]})
    table = pd.concat([*parts, bars.assign(kind="swapped"), single]).assign(theta="t", total=5)
    figure = figures.phi_density(table)
    (axis,) = figure.axes
    assert axis.get_xlim() == (1, 4)
    assert axis.get_ylim()[0] == 0
    assert legend(figure) == [
        *("swapped, simulated", "original", "swapped, exact mixture", "after a single swap", "independence"),
        *(r"$\phi$ of the original table", r"limit for $n\to\infty$"),
    ]


def test_colours_of_many_rates():
    """Check that the curves have graded colours for up to six rates, and the colours of the default cycle for more than
    six rates.
    """
    for count in (1, 6, 7):
        rates = [0.1 * n for n in range(1, count + 1)]
        table = pd.concat(
            [curves("density", theta=["t"], total=[50], rate=rates), single(2, "median", "limit", theta=["t"],
                                                                             total=[50], rate=rates)]
        )  # fmt: skip
        figure = figures.phi_by_rate(table)
        density, medians = figure.axes
        drawn = [line.get_color() for line in density.lines if len(line.get_xdata()) == 4]
        assert drawn == list(GRADED[:count] if count <= 6 else CYCLE[:count])
        assert [line.get_color() for line in figure.legends[0].get_lines()] == drawn
        assert legend(figure) == [f"$p={rate:g}$" for rate in rates]
        assert density.get_ylim()[0] == 0
        shown = [of(table, rate=rate, kind="density") for rate in rates]
        assert density.get_xlim() == figures._end(*shown)
        assert legend(medians) == ["$n=50$", r"$n\to\infty$"]
        assert medians.lines[0].get_markerfacecolor() == "none"


def test_limits_and_legends_of_the_other_figures():
    keys = {"theta": ["t"], "data": ["fixed", "random"], "rate": [0.1, 0.3, 0.5], "total": [10, 100]}
    (axis,) = figures.closer_or_farther(a.crossed("farther", "closer", "mc_se", **keys)).axes
    assert axis.get_ylim()[0] == -0.006
    assert axis.get_xticks().tolist() == [10, 100]
    assert legend(axis) == [*("$p=0.1$", "$p=0.3$", "$p=0.5$"), r"$X=n\theta^*$, exact", "$X$ random (bars: 2 s.e.)"]
    filled = [line.get_markerfacecolor() == "white" for line in axis.lines if len(line.get_xdata()) == 2]
    assert filled == [False, True] * 3

    table = a.crossed("coverage", theta=["t"], method=["naive", "exact"], rate=[0.1, 0.2], total=[10, 100])
    figure = figures.coverage(table.assign(size=40, level=[0.9] + [0.5] * 7))
    (axis,) = figure.axes
    assert axis.get_ylim() == (-0.02, 1.03)
    assert axis.get_ylabel() == r"coverage of 90% intervals for $\log\,\phi$"
    assert axis.get_xticks().tolist() == [10, 100]
    looks = {str(one.get_label()): (one.get_linestyle(), one.get_marker()) for one in axis.lines if one.get_gid()}
    assert looks == {
        **{"naive, $p=0.1$": ("--", "o"), "naive, $p=0.2$": ("--", "s")},
        **{"exact, $p=0.1$": ("-", "o"), "exact, $p=0.2$": ("-", "s")},
    }
    assert legend(figure) == list(looks)
    places = [one.get_xdata()[0] for one in axis.lines if one.get_gid()]
    assert places == pytest.approx([10 * 1.03**k for k in (-3, -1, 1, 3)])

    numbers = pd.DataFrame({"quantity": "", "kind": ["number accepted", "iterations"], "x": np.nan, "y": [400.0, 9e4]})
    names = ["theta1", "theta2", "theta3", "theta4"]
    figure = figures.abc_posterior(pd.concat([numbers, curves("accepted", "exact", "naive", quantity=names)]))
    for number, axis in enumerate(figure.axes, 1):
        assert (axis.get_xlim(), axis.get_ylim()[0]) == ((0, 0.9), 0)
        assert [(text.get_text(), text.xy) for text in axis.texts] == [(rf"$\theta_{number}$", (0.97, 0.9))]
    assert [axis.get_xlabel() for axis in figure.axes] == ["", "", *["probability of the cell"] * 2]
    assert legend(figure) == [
        *("400 draws accepted of 90,000", "exact posterior", "naive Dirichlet posterior", "2 standard errors")
    ]


def test_legend_of_log_phi():
    naive, exact = curves("naive", rate=[0.0]), curves("accepted", "exact", rate=[0.1, 0.3])
    figure = figures.log_phi(pd.concat([naive, exact]))
    assert legend(figure) == ["naive (dashed)", "exact, $p=0.1$", "exact, $p=0.3$", "accepted draws"]
    assert [axis.get_ylim()[0] for axis in figure.axes] == [0, 0, 0]
    dashes = [[line.get_linestyle() for line in axis.lines if len(line.get_xdata()) == 4] for axis in figure.axes]
    assert dashes == [["--", "-", "-"], ["-", "--"], ["-", "--"]]
    assert legend(figures.log_phi(naive)) == ["naive (dashed)"]


def test_exchanges_of_large_tables_are_lower_bounds():
    """Check that arrows, which mark lower bounds, are drawn only for numbers of records above the largest number at
    which all classes of tables are compared. Each arrow is 5 % of the largest loss long, and the highest loss is at
    four fifths of the height.
    """
    rate = a.crossed("y", kind=["rate"], group=[10], variant=["as_written", "corrected"], x=[0.1, 0.4])
    paid = a.crossed("y", seed=2, kind=["association"], group=[10], variant=["corrected"], x=[0.5, 1.0])
    sizes = [2, figures.ALL_CLASSES, figures.ALL_CLASSES + 1]
    keys = {"kind": ["exchange"], "group": [0.1], "variant": ["corrected", "as_written", "twice"]}
    for last in (2, 3):
        cost = a.crossed("y", seed=3, **keys, x=sizes[:last])
        first, second, third = figures.privacy_loss(pd.concat([rate, paid, cost], ignore_index=True)).axes
        top = cost["y"].max()
        assert first.get_ylim() == pytest.approx((0, 1.5 * rate["y"].max()))
        assert second.get_ylim() == pytest.approx((0, 1.25 * top))
        assert third.get_ylim()[0] == 0
        words = ["$p=0.1$", r"$\varepsilon$", r"$2\varepsilon$"]
        assert legend(second) == (words if last == 2 else [*words, "lower bound"])
        arrows = [line for line in second.lines if line.get_markerfacecolor() == "white"]
        assert sum(len(line.get_xdata()) for line in arrows) == last - 2
        if last == 3:
            spots = [line.get_xydata()[0].tolist() for line in arrows]
            assert spots == [[sizes[2], cost["y"].iloc[2]]]
            heights = np.concatenate([s[:, 1] for c in second.collections for s in c.get_segments()])
            assert np.ptp(heights) == pytest.approx(0.05 * top)
        (note,) = [text for text in first.texts if "limit" in text.get_text()]
        assert note.xy == (0.485, 0.01)
        assert second.get_xscale() == "log"
        dashed = [(line.get_linestyle(), line.get_color()) for line in first.lines if len(line.get_xdata()) == 2]
        assert ("--", BLUE) in dashed
