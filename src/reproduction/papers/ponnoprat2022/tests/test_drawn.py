"""Tests of the contents of the figures, which are plotted from synthetic tables. Every line, marker, bar and band is
compared with the columns of these tables.
"""

import numpy as np
import pandas as pd
import pytest

from reproduction.papers.ponnoprat2022 import figures
from reproduction.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY
from reproduction.verdicts import artists as a

EPSILONS = [0.01, 1.0, 10.0]
COLOURS = {"dirichlet": BLUE, "gaussian": RED, "laplace": GREEN, "gohari": PINK}


def of(table, **kept):
    for column, value in kept.items():
        table = table[table[column] == value]
    return table


def test_figure_1():
    table = a.crossed("trigamma", x=[1.0, 2.0, 3.0]).assign(lower=[0.05, 0.06, 0.07], upper=[1.1, 1.2, 1.3])
    above, below = figures.figure_1(table).axes
    x, psi = table["x"], table["trigamma"]
    assert not a.wrong(above, a.band(x, table["lower"], table["upper"], GREY), a.line(x, psi, BLACK))
    ratio = a.band(x, table["lower"] / psi, table["upper"] / psi, GREY)
    assert not a.wrong(below, ratio, a.across("level", 1, BLACK))


def test_figure_2():
    table = a.crossed("delta", variant=["corrected", "published"], gamma=[1e-6, 1e-3, 1e-2])
    table["gamma_for_1e-5"] = 2e-3
    table.loc[3, "delta"] = 0.0  # not visible on a log axis
    both = figures.figure_2(table).axes
    curves = [
        a.line(of(table, variant=v)["gamma"][skip:], of(table, variant=v)["delta"][skip:], c)
        for v, c, skip in (("corrected", BLACK, 0), ("published", RED, 1))
    ]
    floor = a.across("level", 2.1e-4, GREY)
    assert not a.wrong(both[0], *curves, floor)
    assert not a.wrong(both[1], *curves, floor, a.line([2e-3], [1e-5], BLACK, kind="marks"))


def test_figure_3_top():
    keys = (("Algorithm 1", "corrected", BLUE), ("worst case", "corrected", BLACK))
    keys += (("divergence", "published", ORANGE), ("divergence", "as_written", RED))
    parts = [
        a.crossed("epsilon", seed=n, order=[2.0, 20.0], series=[s], variant=[v], r=[0.1, 1.0])
        for n, (s, v, _) in enumerate(keys)
    ]
    table = pd.concat(parts, ignore_index=True)
    axes = figures.figure_3_top(table).axes
    for column, order in enumerate((2.0, 20.0)):
        worst = of(table, order=order, series="worst case")["epsilon"].to_numpy()
        found = [(of(table, order=order, series=s, variant=v)["epsilon"].to_numpy(), c) for s, v, c in keys]
        assert not a.wrong(axes[column], *(a.line([0.1, 1], y, c) for y, c in found))
        assert not a.wrong(axes[2 + column], *(a.line([0.1, 1], y / worst, c) for y, c in found))


def test_figure_3_bottom():
    keys = (("Algorithm 1", "corrected", BLUE, "curve"), ("Algorithm 1", "published", BLUE, "line"))
    keys += (("exact profile", "corrected", BLACK, "line"), ("Gohari et al.", "corrected", RED, "line"))
    parts = [
        a.crossed("kl_mean", "kl_sd", seed=n, order=[2.0, 20.0], series=[s], variant=[v], epsilon_hat=[1.0, 0.1, 10.0])
        for n, (s, v, *_) in enumerate(keys)
    ]
    table = pd.concat(parts, ignore_index=True).assign(kl_uniform=0.77, delta=1e-5)
    for axis, order in zip(figures.figure_3_bottom(table).axes, (2.0, 20.0), strict=True):
        expected = [a.across("level", 0.77, GREY)]
        for series, variant, colour, kind in keys:
            rows = of(table, order=order, series=series, variant=variant).sort_values("epsilon_hat")
            x, mean, sd = (rows[c].to_numpy() for c in ("epsilon_hat", "kl_mean", "kl_sd"))
            expected.append(a.line(x, mean, colour, kind=kind))
            low = np.maximum(mean - sd, mean / 10)
            expected += [a.band(x, low, mean + sd, colour)] if variant == "corrected" else []
        assert not a.wrong(axis, *expected)


def test_figure_8():
    table = a.crossed("epsilon_hat", order=[2.0, 20.0], variant=["corrected", "published"], r=[0.1, 1.0]).assign(
        delta=1e-5
    )
    (axis,) = figures.figure_8(table).axes
    lines = [
        a.line([0.1, 1], of(table, order=order, variant=v)["epsilon_hat"], colour, kind="curve")
        for order, colour in ((2.0, BLUE), (20.0, RED))
        for v in ("corrected", "published")
    ]
    assert not a.wrong(axis, *lines)


def test_exact_calibration():
    methods = {"Algorithm 1": BLUE, "exact worst case": ORANGE, "exact, free alpha": BLACK}
    table = a.crossed("kl_mean", privacy=["renyi", "approximate"], method=list(methods), epsilon=[0.1, 1.0])
    table = table.assign(order=5.0, delta=1e-5)
    for axis, privacy in zip(figures.exact_calibration(table).axes, ("renyi", "approximate"), strict=True):
        lines = [
            a.line([0.1, 1], of(table, privacy=privacy, method=m)["kl_mean"], c, kind="curve")
            for m, c in methods.items()
        ]
        assert not a.wrong(axis, *lines)


def test_theorem_2():
    table = a.crossed("frequency", "bound", "mc_se", eta=[0.1, 1.0], cells=[10, 100], alpha=[2.0, 0.1, 0.5])
    for axis, eta in zip(figures.theorem_2(table).axes, (0.1, 1.0), strict=True):
        expected = [a.span(0.085, 0.5, GREY)]
        for cells, colour, aside in ((10, BLUE, 1 / 1.05), (100, RED, 1.05)):
            rows = of(table, eta=eta, cells=cells).sort_values("alpha")
            x, y, reach = aside * rows["alpha"], rows["frequency"], 2 * rows["mc_se"]
            expected.append(a.line(x, y, colour, kind="marks"))
            expected.append(a.bars(x, y - reach, y + reach, colour=colour))
            expected.append(a.line(rows["alpha"], rows["bound"], colour))
        assert not a.wrong(axis, *expected)


def scored(measure, methods, **keys):
    """Return synthetic scores of mechanisms at three budgets, and synthetic scores of non-private reference models."""
    table = a.crossed(f"{measure}_mean", f"{measure}_sd", **keys, method=methods, epsilon=EPSILONS)
    flat = a.crossed(f"{measure}_mean", seed=2, **keys, method=["non-private", "random"]).assign(epsilon=np.nan)
    return pd.concat([table, flat], ignore_index=True).assign(floor="sigma")


def curves(rows, measure, unit=1.0):
    """Yield the expected contents of a panel, which are one curve with error bars for each mechanism and two horizontal
    lines.
    """
    for method, colour in COLOURS.items():
        mine = of(rows, method=method).dropna(subset="epsilon").sort_values("epsilon")
        if len(mine):
            y, sd = mine[f"{measure}_mean"] / unit, mine[f"{measure}_sd"] / unit
            yield a.line(mine["epsilon"], y, colour, kind="curve")
            yield a.bars(mine["epsilon"], y - sd, y + sd, colour=colour)
    for method, colour in (("non-private", BLACK), ("random", GREY)):
        yield a.across("level", of(rows, method=method)[f"{measure}_mean"].item() / unit, colour)


@pytest.mark.parametrize(
    ("name", "measure"),
    [("figure_4", "cross_entropy"), ("figure_5", "accuracy"), ("figure_9", "cross_entropy"), ("figure_10", "accuracy")],
)
def test_scores(name, measure):
    keys = {"dataset": ["Spam", "Thyroid"], "variant": ["published", "corrected", "as_written"]}
    table = scored(measure, list(COLOURS), **keys)
    table[f"{measure}_mean"] += (
        1.0 * (table["method"] == "random") * (measure == "accuracy")
    )  # slightly below the other values
    shuffled = table.sample(frac=1, random_state=3)
    for axis in (axis for axis in getattr(figures, name)(shuffled).axes if axis.get_title()):
        dataset, variant = axis.get_title().split(", ")
        expected = list(curves(of(table, dataset=dataset, variant=variant), measure))
        if variant == "published":
            literal = of(table, dataset=dataset, variant="as_written", method="dirichlet")
            expected.append(a.line(EPSILONS, literal[f"{measure}_mean"], BLUE))
        assert not a.wrong(axis, *expected), axis.get_title()


@pytest.mark.parametrize(
    ("name", "variants"),
    [("figure_7", ("published", "stated_share", "corrected")), ("figure_11", ("published", "corrected"))],
)
def test_likelihoods(name, variants):
    table = scored("log_likelihood", list(COLOURS), dataset=["Spam", "Thyroid"], variant=list(variants))
    found = getattr(figures, name)(table).axes
    for number, axis in enumerate(found):
        rows = of(table, dataset=["Spam", "Thyroid"][number % 2], variant=variants[number // 2])
        assert not a.wrong(axis, *curves(rows, "log_likelihood", 1e3))


def test_points_read_off_print_have_their_reading_error():
    table = scored("accuracy", ["gaussian"], dataset=["Bank"], variant=["published"])
    (axis,) = [axis for axis in figures.figure_5(table).axes if axis.get_title() == "Bank, published"]
    row = next(figures.read_off_print("figure_5").query("dataset == 'Bank'").itertuples())
    point = a.line([10.0], [row.value], BLACK, kind="marks")
    error = a.bars([10.0], row.value - row.error, row.value + row.error, colour=BLACK)
    drawn = list(a.shown(axis))
    assert all(any(one[:2] == other[:2] for other in drawn) for one in (point, error))


def test_bundled_sets():
    table = scored(
        "cross_entropy", ["dirichlet", "gaussian"], dataset=["bundled_x", "bundled_y"], variant=["corrected"]
    )
    table = table.assign(accuracy_mean=table["cross_entropy_mean"] + 0.05, accuracy_sd=table["cross_entropy_sd"] / 2)
    found = figures.bundled_sets(table).axes
    for number, (axis, measure) in enumerate(zip(found, ("cross_entropy",) * 2 + ("accuracy",) * 2, strict=True)):
        rows = of(table, dataset=["bundled_x", "bundled_y"][number % 2])
        expected = list(curves(rows, measure))
        lowest = rows.loc[rows["epsilon"].notna(), "accuracy_mean"].min()
        random = of(rows, method="random")["accuracy_mean"].item()
        if measure == "accuracy" and random < lowest - 0.1:
            expected = [one for one in expected if one != a.across("level", random, GREY)]
        assert not a.wrong(axis, *expected, own="y")


def test_clipping_floor():
    shades = {"1e-06": RED, "0.1": ORANGE, "1.0": GREEN, "sigma": BLACK}
    columns = ("cross_entropy_mean", "cross_entropy_se")
    table = a.crossed(*columns, dataset=["Spam"], method=["gaussian"], floor=list(shades), epsilon=EPSILONS[::-1])
    mine = a.crossed(*columns, seed=2, dataset=["Spam"], method=["dirichlet"], floor=["none"], epsilon=EPSILONS[::-1])
    figure = figures.clipping_floor(pd.concat([table, mine]))
    (axis,) = [axis for axis in figure.axes if axis.get_title() == "Spam"]
    expected = []
    for rows, colour, kind in [
        *((of(table, floor=floor), colour, "line") for floor, colour in shades.items()),
        (mine, BLUE, "curve"),
    ]:
        rising = rows.sort_values("epsilon")
        y, reach = rising["cross_entropy_mean"], 2 * rising["cross_entropy_se"]
        expected.append(a.line(EPSILONS, y, colour, kind=kind))
        expected.append(a.bars(EPSILONS, y - reach, y + reach, colour=colour))
    assert not a.wrong(axis, *expected)


def test_paired_differences():
    table = a.crossed("difference", "reach", dataset=["Spam"], floor=["1e-06", "sigma"], epsilon=EPSILONS)
    table = table.assign(method="gaussian", measure="cross_entropy")
    table = table.assign(lower=table["difference"] - table["reach"], upper=table["difference"] + 2 * table["reach"])
    (axis,) = [axis for axis in figures.paired_differences(table).axes if axis.get_title() == "Spam"]
    expected = [a.across("level", 0)]
    for floor, colour in (("1e-06", RED), ("sigma", BLACK)):
        rows = of(table, floor=floor)
        expected.append(a.band(EPSILONS, rows["lower"], rows["upper"], colour))
        expected.append(a.line(EPSILONS, rows["difference"], colour))
    assert not a.wrong(axis, *expected)


def test_the_dirichlet_of_exact_calibration_has_its_own_colour():
    table = scored("accuracy", ["dirichlet, exact"], dataset=["Spam"], variant=["corrected"])
    (axis,) = [axis for axis in figures.figure_5(table).axes if axis.get_title() == "Spam, corrected"]
    rows = of(table, method="dirichlet, exact")
    curve = a.line(EPSILONS, rows["accuracy_mean"], SKY, kind="curve")
    assert curve in list(a.shown(axis))


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def shown_ticks(axis, which="x"):
    low, high = sorted(getattr(axis, f"get_{which}lim")())
    return [at for at in getattr(axis, f"get_{which}ticks")() if low <= at <= high]


@pytest.mark.parametrize(
    ("sets", "shape", "hidden"),
    [(1, (1, 2), 1), (2, (1, 2), 0), (3, (1, 3), 0), (4, (1, 4), 0), (5, (2, 4), 3), (8, (2, 4), 0), (9, (3, 4), 3)],
)
@pytest.mark.parametrize("blocks", [1, 2])
def test_panels_of_many_data_sets(sets, shape, hidden, blocks):
    """Check that each row has at most four panels, first in the order of the paper and then the other data sets by
    name.
    """
    names = [*figures.ORDER, "another"][-sets:]
    figure, panels = figures.grid(pd.DataFrame({"dataset": names[::-1]}), blocks)
    assert [name for _, name in panels] == names * blocks
    assert [axis.get_title() for axis, _ in panels] == names * blocks
    places = figure.axes[0].get_subplotspec().get_gridspec()
    assert (places.nrows, places.ncols) == (shape[0] * blocks, shape[1])
    assert sum(not axis.axison for axis in figure.axes) == hidden * blocks
    assert all(axis.axison for axis, _ in panels)
    rows = [axis.get_subplotspec().rowspan.start for axis, _ in panels]
    assert rows == sorted(rows)
    assert rows[sets * (blocks - 1)] == shape[0] * (blocks - 1)  # a block begins in a new row


def test_a_set_that_is_not_available_has_an_empty_panel():
    table = scored("cross_entropy", ["gaussian"], dataset=["Spam"], variant=["corrected", "published"])
    gone = pd.DataFrame({"dataset": ["Bank"], "method": ["not_run"], "variant": ["corrected"], "epsilon": [np.nan]})
    axes = {axis.get_title(): axis for axis in figures.figure_4(pd.concat([table, gone], ignore_index=True)).axes}
    (note,) = axes["Bank, corrected"].texts
    assert (note.get_text(), note.get_position()) == ("not run:\nno data", (0.5, 0.5))
    assert note.get_transform() == axes["Bank, corrected"].transAxes
    assert [*axes["Bank, corrected"].get_xticks(), *axes["Bank, corrected"].get_yticks()] == []
    assert not axes["Spam, corrected"].texts
    assert axes["Spam, corrected"].get_yscale() == "log"
    for figure in (figures.clipping_floor, figures.paired_differences):
        alone = gone.assign(floor="", measure="cross_entropy")
        assert [len(axis.texts) for axis in figure(alone).axes] == [1, 0]


@pytest.mark.parametrize(("level", "drawn"), [(0.39, False), (0.41, True)])
def test_a_reference_line_far_below_the_curves_is_omitted(level, drawn):
    """Check that a reference line for the accuracy is omitted if it is more than 0.1 below the lowest plotted accuracy,
    0.5. Reference losses are always shown.
    """
    rows = pd.DataFrame(
        {"dataset": "Spam", "variant": "corrected", "method": ["gaussian", "gaussian", "random"]}
        | {"epsilon": [0.1, 1.0, np.nan]}
    )
    for measure, figure, wanted in (
        ("accuracy", figures.figure_5, drawn),
        ("cross_entropy", figures.figure_4, True),
    ):
        table = rows.assign(**{f"{measure}_mean": [0.5, 0.9, level], f"{measure}_sd": [0.01, 0.01, 0.0]})
        (axis,) = [axis for axis in figure(table).axes if axis.get_title() == "Spam, corrected"]
        assert (a.across("level", level, GREY) in list(a.shown(axis))) == wanted


@pytest.mark.parametrize("name", ["figure_4", "figure_9"])
def test_ticks_and_legend_of_scores(name):
    methods = ["dirichlet", "gaussian"]
    table = scored("cross_entropy", methods, dataset=["Shopper"], variant=["corrected", "published", "as_written"])
    figure = getattr(figures, name)(table)
    for axis in figure.axes:
        if axis.get_title():
            assert axis.get_yscale() == "log"
            assert shown_ticks(axis) == [0.01, 0.1, 1.0, 10.0]
            assert (100.0 in axis.get_xticks().tolist()) == (name == "figure_9")
    words = ["Dirichlet", "Gaussian", "Dirichlet as in the text", "non-private", "random guess"]
    printed = ["non-private, read from the printed plot"] if len(figures.read_off_print(name)) else []
    assert legend(figure) == words + printed
    plain = getattr(figures, name)(table[table["variant"] != "as_written"])
    assert legend(plain) == [word for word in words if "text" not in word] + printed


def test_legend_of_likelihoods_names_networks_without_their_prefix():
    """Check that the legend has no entry for a variant that the figures of networks do not plot."""
    table = scored("log_likelihood", ["dirichlet"], dataset=["Adult"], variant=["published", "as_written"])
    table.loc[table["method"] == "random", "log_likelihood_mean"] = np.nan  # no reference line
    table["method"] = table["method"].replace("dirichlet", "network, dirichlet")
    found = legend(figures.figure_7(table))
    assert found == ["Dirichlet", "non-private", "read from the printed plot"]


def test_labels_of_the_bundled_sets():
    table = scored("cross_entropy", ["gaussian"], dataset=["bundled_a_b", "bundled_c"], variant=["corrected"])
    table = table.assign(accuracy_mean=table["cross_entropy_mean"], accuracy_sd=0.01)
    figure = figures.bundled_sets(table)
    assert a.words(figure.axes) == [
        ("a b", "", figures.LOSS), ("c", "", ""), ("", "", figures.ACCURACY), ("", "", ""),
    ]  # fmt: skip
    assert [axis.get_yscale() for axis in figure.axes] == ["log", "log", "linear", "linear"]


def test_scales_and_limits_of_the_formulas():
    table = a.crossed("delta", variant=["corrected", "published"], gamma=[1e-6, 1e-5, 1e-3, 1e-2])
    table["gamma_for_1e-5"] = 2e-3
    whole, near = figures.figure_2(table).axes
    assert (whole.get_xscale(), whole.get_yscale(), near.get_xscale(), near.get_yscale()) == (
        *("log", "log", "linear", "log"),
    )
    assert (near.get_xlim(), near.get_ylim()) == ((1e-3, 1e-2), (1e-14, 1e-2))  # gamma above 1e-5
    assert [text.get_text() for text in near.get_legend().get_texts()] == [r"$\delta=10^{-5}$"]
    assert len(whole.get_legend().get_texts()) == 3
    near.figure.draw_without_rendering()
    assert near.xaxis.get_offset_text().get_text() != ""  # in units of a power of ten

    table = a.crossed("trigamma", x=[1.0, 2.0]).assign(lower=0.05, upper=1.1)
    above, below = figures.figure_1(table).axes
    assert (above.get_yscale(), below.get_yscale()) == ("log", "linear")
    assert above.get_xlim() == below.get_xlim()


def test_the_start_of_algorithm_1_is_marked_and_limits_ignore_gohari():
    parts = [
        a.crossed("kl_mean", "kl_sd", order=[2.0], series=[series], variant=["corrected"], epsilon_hat=places)
        for series, places in (("Algorithm 1", [0.5, 0.2]), ("exact profile", [0.3, 2.0]), ("Gohari et al.", [0.1, 9]))
    ]
    (axis,) = figures.figure_3_bottom(pd.concat(parts).assign(kl_uniform=0.7, delta=1e-5)).axes
    assert axis.get_xlim() == pytest.approx((0.2, 2.0))
    marked = {line.get_label(): line.get_markevery() for line in axis.lines if line.get_marker() == "o"}
    assert marked == {"Algorithm 1 (starts at the dot)": [0]}
    assert axis.get_title() == r"$\lambda=2$"


def test_hollow_marks_are_the_printed_curves_of_figure_8():
    table = a.crossed("epsilon_hat", order=[2.0, 5.0], variant=["corrected", "published"], r=[0.1, 1.0])
    (axis,) = figures.figure_8(table.assign(delta=1e-5)).axes
    looks = [
        (line.get_linestyle(), line.get_markerfacecolor() == "none", str(line.get_label()).startswith("$"))
        for line in axis.lines
        if len(line.get_xdata())
    ]
    assert looks == [("-", False, True), (":", True, False)] * 2
    assert {line.get_markevery() for line in axis.lines if len(line.get_xdata())} == {0.18}
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        *(r"$\lambda=2$", r"$\lambda=5$", r"printed ($\Delta_2^2=1$)")
    ]
    assert axis.get_yscale() == "log"


@pytest.mark.parametrize(
    ("delta", "shown"), [(1e-5, "10^{-5}"), (1e-6, "10^{-6}"), (2e-5, "2e-05"), (0.05, "0.05"), (0.1, "10^{-1}")]
)
def test_delta_of_an_axis(delta, shown):
    assert figures._reach(pd.DataFrame({"delta": [delta, 0.5]})) == rf"$\hat\varepsilon$ at $\delta={shown}$"


def test_legends_of_the_exact_calibration():
    """Check that Algorithm 1 uses its best order only in the panel for approximate privacy, and that the legend has no
    entries for empty curves.
    """
    methods = ["Algorithm 1", "exact, free alpha"]
    table = a.crossed("kl_mean", privacy=["renyi", "approximate"], method=methods, epsilon=[0.1, 1.0])
    table = table.assign(order=[5.0] + [6.0] * 7, delta=1e-5)
    axes = figures.exact_calibration(table).axes
    assert [[text.get_text() for text in axis.get_legend().get_texts()] for axis in axes] == [
        ["Algorithm 1", r"exact, free $\alpha$"],
        [r"Algorithm 1, best $\lambda$", r"exact, free $\alpha$"],
    ]
    assert axes[0].get_xlabel() == r"Rényi $\varepsilon$ at $\lambda=5$"


def test_limits_of_theorem_2():
    """Check that the vertical axis extends from -0.05 to 1.05, and that three curves are shifted horizontally so that
    they do not overlap.
    """
    table = a.crossed("frequency", "bound", "mc_se", eta=[0.5], cells=[10, 20, 30], alpha=[1.0])
    (axis,) = figures.theorem_2(table).axes
    assert axis.get_ylim() == (-0.05, 1.05)
    places = [line.get_xdata()[0] for line in axis.lines if line.get_gid()]
    assert places == pytest.approx([1.05**-2, 1, 1.05**2])
    assert axis.get_title() == r"$\eta=0.5$"
    assert {line.get_linestyle() for line in axis.lines if not line.get_gid()} == {"-", "--", "-."}


def test_labels_of_floors_and_small_differences():
    assert [figures._floor_label(floor) for floor in ("1e-06", "sigma", "0.1")] == [
        *(r"Gaussian, floor $10^{-6}$", r"Gaussian, floor $\sigma$", "Gaussian, floor 0.1")
    ]
    table = a.crossed("difference", dataset=["Spam"], floor=["1e-06"], epsilon=EPSILONS)
    table = table.assign(method="gaussian", measure="cross_entropy", lower=-2.0, upper=3.0)
    others = pd.concat([table, table.assign(measure="accuracy"), table.assign(method="laplace")])
    (axis,) = [axis for axis in figures.paired_differences(others).axes if axis.get_title()]
    assert len([line for line in axis.lines if len(line.get_xdata()) == 3]) == 1
    transform = axis.yaxis.get_transform()
    # linear up to 0.1: half of the threshold is at half the height
    assert transform.transform([0.05])[0] == pytest.approx(transform.transform([0.1])[0] / 2)
    assert transform.transform([0.2])[0] < 1.9 * transform.transform([0.1])[0]
    assert axis.yaxis.get_major_formatter()(0.10000000001, 0) == "0.1"


def test_order_of_the_panels_of_figure_3():
    table = pd.concat(
        [
            a.crossed("epsilon", order=[20.0, 2.0], series=[s], variant=[v], r=[0.1, 1.0])
            for s, v in (("Algorithm 1", "corrected"), ("worst case", "corrected"), ("divergence", "published"))
        ]
        + [a.crossed("epsilon", order=[20.0, 2.0], series=["divergence"], variant=["as_written"], r=[0.1, 1.0])]
    )
    axes = figures.figure_3_top(table).axes
    assert a.words(axes) == [
        ("lambda=2", "", "Rényi divergence varepsilon (nats)"), ("lambda=20", "", ""),
        ("", "r", "divided by\nthe worst case"), ("", "r", ""),
    ]  # fmt: skip
    assert [axis.get_xscale() for axis in axes] == ["log"] * 4
    assert [axis.get_yscale() for axis in axes] == ["log", "log", "linear", "linear"]
