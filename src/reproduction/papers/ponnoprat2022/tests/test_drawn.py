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
    """Return synthetic scores of mechanisms at three budgets, and the scores of reference models without a budget."""
    table = a.crossed(f"{measure}_mean", f"{measure}_sd", **keys, method=methods, epsilon=EPSILONS)
    flat = a.crossed(f"{measure}_mean", seed=2, **keys, method=["non-private", "random"]).assign(epsilon=np.nan)
    return pd.concat([table, flat], ignore_index=True).assign(floor="sigma")


def curves(rows, measure, unit=1.0):
    """Yield the expected contents of a panel: one curve for each mechanism, with error bars of one standard deviation,
    and two horizontal lines.
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
