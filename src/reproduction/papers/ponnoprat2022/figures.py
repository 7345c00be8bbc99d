"""Plot the figures of Ponnoprat (2022), and additional figures that extend the paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from ...style import (
    BLACK,
    BLUE,
    DOUBLE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PINK,
    RED,
    SINGLE,
    SKY,
    interval,
    letters,
    log_scale,
)
from ...verdicts.agreement import read_published

ORDER = ("CreditCard", "Thyroid", "Shopper", "Digit", "GermanCredit", "Bank", "Spam", "Adult")
LOOKS = {
    "dirichlet": ("Dirichlet", BLUE, "o", "-"),
    "dirichlet, exact": ("Dirichlet, exact calibration", SKY, "D", "--"),
    "gaussian": ("Gaussian", RED, "s", "-"),
    "laplace": ("Laplace", GREEN, "^", "-"),
    "gohari": ("Dirichlet, Gohari et al.", PINK, "v", "-"),
}
FLATS = {
    "non-private": ("non-private", BLACK, "--"),
    "random": ("random guess", GREY, ":"),
    "majority": ("largest class", GREY, "-."),
}
_REACHES = (0.01, 0.1, 1.0, 10.0, 100.0)  # ticks of an axis of epsilon_hat
BUDGET, REACH = r"Rényi $\varepsilon$ of the whole model", r"$\hat\varepsilon$ of the whole model"
LOSS, ACCURACY, LIKELIHOOD = "test cross-entropy (nats)", "test accuracy", "test log-likelihood"


def panel(axis: Axes, rows: pd.DataFrame, measure: str, variant: str) -> None:
    """Plot curves with error bars of one standard deviation over releases, and reference lines, in one panel."""
    rows = rows[rows["variant"] == variant]
    columns = ("method", "epsilon", f"{measure}_mean", f"{measure}_sd")
    methods, *numbers = (rows[column].to_numpy() for column in columns)
    look: dict[str, Any] = {"ms": 2.2, "lw": 0.9, "elinewidth": 0.6}
    for method, (_, colour, marker, line) in LOOKS.items():
        x, y, spread = (values[methods == method] for values in numbers)
        if len(x):
            rising = x.argsort(kind="stable")
            curve = x[rising], y[rising], spread[rising]
            axis.errorbar(*curve, fmt=marker + line, color=colour, **look)
    # a much lower reference line would flatten the curves
    lowest = rows.loc[rows["epsilon"].notna(), f"{measure}_mean"].min()
    for method, (_, colour, line) in FLATS.items():
        level = numbers[1][(methods == method) & ~np.isnan(numbers[1])]
        if len(level) and not (measure == "accuracy" and level[0] < lowest - 0.1):
            axis.axhline(level[0], color=colour, ls=line, lw=0.9, zorder=0)
    log_scale(axis, "x")


def read_off_print(artefact: str) -> pd.DataFrame:
    """Return the numbers that were read off a printed plot. The columns are the columns of ``published.tsv``, the data
    set and the description.
    """
    published = read_published(Path(__file__).with_name("published.tsv"))
    rows = published[(published["artefact"] == artefact) & (published["kind"] == "curve")]
    return rows.assign(**rows["quantity"].str.extract(r"^(?P<dataset>\w+): (?P<what>.*)$"))


def mark(axis: Axes, x: float, row: Any, colour: str = BLACK, unit: float = 1) -> None:
    """Plot a number that was read off a printed figure, as an open diamond with an error bar for the uncertainty of the
    reading.
    """
    value, error = row.value / unit, row.error / unit
    look: dict[str, Any] = {"marker": "D", "mfc": "white", "ms": 4.5, "mew": 1, "zorder": 5}
    interval(axis, x, value, value - error, value + error, color=colour, **look)


def grid(table: pd.DataFrame, blocks: int, height: float = 1.75) -> tuple[Figure, list[tuple[Axes, str]]]:
    """Return a figure with one panel per data set, in rows of at most four panels of the given height. The panels are
    repeated `blocks` times.
    """
    datasets = set(table["dataset"])
    names = [n for n in ORDER if n in datasets] + sorted(datasets - set(ORDER))
    columns = min(4, max(len(names), 2))
    deep = -(-len(names) // columns)
    figure = Figure(figsize=(DOUBLE, height * deep * blocks + 0.6))
    axes = figure.subplots(deep * blocks, columns, squeeze=False)
    panels = []
    for block in range(blocks):
        flat = list(axes[block * deep : (block + 1) * deep].flat)
        for axis in flat[len(names) :]:
            axis.axis("off")
        panels += list(zip(flat, names, strict=False))
    for axis, name in panels:
        axis.set_title(name, fontsize=7)
    return figure, panels


def empty(axis: Axes, rows: pd.DataFrame) -> bool:
    """Return whether the data set of a panel is unavailable and, if so, mark the panel as empty."""
    if (rows["method"] != "not_run").all():
        return False
    axis.text(0.5, 0.5, "not run:\nno data", ha="center", va="center", transform=axis.transAxes, color=GREY)
    axis.set(xticks=[], yticks=[])
    return True


def legend(figure: Figure, table: pd.DataFrame, methods: Sequence[str], further: Sequence[Line2D] = ()) -> None:
    """Add one legend above all panels of a figure. The handles `further` come last."""
    used_methods = set(table["method"].str.removeprefix("network, "))
    looks = {m: LOOKS[m] for m in methods if m in used_methods}
    handles = [Line2D([], [], color=c, marker=m, ls=s, label=name) for name, c, m, s in looks.values()]
    if "as_written" in set(table["variant"]) and "log_likelihood_mean" not in table:
        handles.append(Line2D([], [], color=BLUE, ls=":", label="Dirichlet as in the text"))
    drawn = set(table.dropna(subset=[c for c in map(str, table) if c.endswith("_mean")], how="all")["method"])
    handles += [Line2D([], [], color=c, ls=s, label=word) for m, (word, c, s) in FLATS.items() if m in drawn]
    figure.legend(handles=[*handles, *further], loc="outside upper center", ncol=4)


def short(value: float, _: int) -> str:
    return f"{value:g}"


METHODS = ("dirichlet", "dirichlet, exact", "gaussian", "laplace", "gohari")


def figure_4(table: pd.DataFrame) -> Figure:
    """Plot the cross-entropy by data set, for the author's protocol (above) and for the corrected protocol (below)."""
    return _scores(table, "figure_4", "cross_entropy", LOSS, log=True)


def figure_5(table: pd.DataFrame) -> Figure:
    """Plot the accuracy by data set, in the same format as `figure_4`."""
    return _scores(table, "figure_5", "accuracy", ACCURACY, log=False)


def figure_9(table: pd.DataFrame) -> Figure:
    """Plot the cross-entropy under approximate differential privacy."""
    return _scores(table, "figure_9", "cross_entropy", LOSS, log=True, budget=REACH)


def figure_10(table: pd.DataFrame) -> Figure:
    """Plot the accuracy under approximate differential privacy."""
    return _scores(table, "figure_10", "accuracy", ACCURACY, log=False, budget=REACH)


def bundled_sets(table: pd.DataFrame) -> Figure:
    """Plot the cross-entropy (above) and the accuracy (below) on the data sets that scikit-learn provides."""
    names = list(dict.fromkeys(table["dataset"]))
    figure = Figure(figsize=(DOUBLE, 4.2))
    axes = figure.subplots(2, len(names), squeeze=False)
    for column, name in enumerate(names):
        for row, (measure, label) in enumerate((("cross_entropy", LOSS), ("accuracy", ACCURACY))):
            axis = axes[row, column]
            panel(axis, table[table["dataset"] == name], measure, "corrected")
            axis.set_ylabel(label if column == 0 else "")
            if row == 0:
                log_scale(axis)
        axes[0, column].set_title(name.removeprefix("bundled_").replace("_", " "))
    figure.supxlabel(BUDGET, fontsize=8)
    legend(figure, table, ("dirichlet", "dirichlet, exact", "gaussian", "laplace"))
    return figure


def clipping_floor(table: pd.DataFrame) -> Figure:
    """Plot the cross-entropy of the Gaussian mechanism for each lower bound (floor) of its noisy counts. The Dirichlet
    mechanism is shown for comparison.
    """
    figure, axes = grid(table, 1)
    shades = {"1e-06": (RED, ":"), "0.1": (ORANGE, "--"), "1.0": (GREEN, "-."), "sigma": (BLACK, "-")}
    for axis, name in axes:
        rows = table[table["dataset"] == name]
        if empty(axis, rows):
            continue
        for floor, (colour, line) in shades.items():
            gaussian = rows[(rows["method"] == "gaussian") & (rows["floor"].astype(str) == floor)].sort_values(
                "epsilon"
            )
            _with_errors(axis, gaussian, line, colour)
        _with_errors(axis, rows[rows["method"] == "dirichlet"].sort_values("epsilon"), "o-", BLUE)
        log_scale(axis, "xy")
    handles = [Line2D([], [], color=c, ls=s, label=_floor_label(f)) for f, (c, s) in shades.items()]
    handles.append(Line2D([], [], color=BLUE, marker="o", label="Dirichlet"))
    figure.legend(handles=handles, loc="outside upper center", ncol=5)
    figure.supxlabel(BUDGET, fontsize=8)
    figure.supylabel(LOSS, fontsize=8)
    return figure


def paired_differences(table: pd.DataFrame) -> Figure:
    """Plot the score of the Dirichlet mechanism minus the score of the Gaussian mechanism, with an interval. The lower
    bound of the noisy counts is 1e-6 or sigma.
    """
    table = table[table["method"].isin(["gaussian", "not_run"]) & (table["measure"] == "cross_entropy")]
    looks = {"1e-06": (RED, "--"), "sigma": (BLACK, "-")}
    figure, axes = grid(table, 1)
    for axis, name in axes:
        if empty(axis, table[table["dataset"] == name]):
            continue
        axis.axhline(0, color=GREY, lw=0.8)
        for floor, (colour, line) in looks.items():
            rows = table[(table["dataset"] == name) & (table["floor"].astype(str) == floor)].sort_values("epsilon")
            axis.fill_between(rows["epsilon"], rows["lower"], rows["upper"], color=colour, alpha=0.25, lw=0)
            axis.plot(rows["epsilon"], rows["difference"], line, color=colour)
        log_scale(axis, "x")
        axis.set_yscale("symlog", linthresh=0.1)
        axis.yaxis.set_major_formatter(FuncFormatter(short))
    handles = [Line2D([], [], color=c, ls=s, label=_floor_label(f)) for f, (c, s) in looks.items()]
    figure.legend(handles=handles, loc="outside upper center", ncol=2)
    figure.supxlabel(BUDGET, fontsize=8)
    figure.supylabel("cross-entropy, Dirichlet − Gaussian\n(nats; linear within ±0.1, then log)", fontsize=8)
    return figure


def figure_7(table: pd.DataFrame) -> Figure:
    """Plot the log-likelihoods of the networks, with one row of panels for each of three variants: the printed budget,
    the stated budget and the corrected variant.
    """
    return _likelihoods(
        table,
        "figure_7",
        {"published": r"published, $\varepsilon/3$", "stated_share": "stated budget", "corrected": "corrected"},
        BUDGET,
    )


def figure_11(table: pd.DataFrame) -> Figure:
    """Plot the log-likelihoods of the networks under approximate differential privacy."""
    return _likelihoods(table, "figure_11", {"published": "as published", "corrected": "corrected"}, REACH)


def _scores(table: pd.DataFrame, artefact: str, measure: str, label: str, *, log: bool, budget: str = BUDGET) -> Figure:
    """Plot the scores in two panels per data set: a panel for the published variant and, below it, a panel for the
    corrected variant.
    """
    figure, panels = grid(table, 2)
    printed = read_off_print(artefact)
    half = len(panels) // 2
    for number, (axis, name) in enumerate(panels):
        rows = table[table["dataset"] == name]
        variant = "published" if number < half else "corrected"
        axis.set_title(f"{name}, {variant}", fontsize=7)
        if empty(axis, rows):
            continue
        panel(axis, rows, measure, variant)
        if budget == REACH:  # the ranges differ by data set
            log_scale(axis, "x", at=_REACHES)
        if variant == "published":
            literal = rows[(rows["variant"] == "as_written") & (rows["method"] == "dirichlet")].sort_values("epsilon")
            axis.plot(literal["epsilon"], literal[f"{measure}_mean"], ":", color=BLUE)
            for row in printed[printed["dataset"] == name].itertuples():
                mark(axis, rows["epsilon"].max(), row)
        if log:
            log_scale(axis)
    legend(figure, table, METHODS, [_printed("non-private, read from the printed plot")] if len(printed) else ())
    figure.supxlabel(budget, fontsize=8)
    figure.supylabel(label, fontsize=8)
    return figure


def _likelihoods(table: pd.DataFrame, artefact: str, variants: dict[str, str], budget: str) -> Figure:
    """Plot the log-likelihoods of the networks, with one row of panels per variant and one column per network. Points
    read off the printed figure are in the first row.
    """
    printed = read_off_print(artefact)
    names = list(dict.fromkeys(table["dataset"]))
    figure = Figure(figsize=(DOUBLE, 1.9 * len(variants) + 0.5))
    axes = figure.subplots(len(variants), len(names), squeeze=False, sharex=True)
    for row, (variant, word) in enumerate(variants.items()):
        for column, name in enumerate(names):
            axis, rows = axes[row, column], table[table["dataset"] == name]
            axis.set_title(f"{name}, {word}", fontsize=7)
            if empty(axis, rows):
                continue
            panel(
                axis,
                rows.assign(
                    log_likelihood_mean=rows["log_likelihood_mean"] / 1e3,
                    log_likelihood_sd=rows["log_likelihood_sd"] / 1e3,
                ),
                "log_likelihood",
                variant,
            )
            if variant == "published":
                for spot in printed[printed["dataset"] == name].itertuples():
                    method, epsilon = str(spot.what).split(" at epsilon = ")
                    mark(axis, float(epsilon), spot, LOOKS[method][1], unit=1e3)
    legend(figure, table, METHODS, [_printed("read from the printed plot")] if len(printed) else ())
    figure.supxlabel(budget, fontsize=8)
    figure.supylabel(f"{LIKELIHOOD} (thousand nats)", fontsize=8)
    return figure


def _with_errors(axis: Axes, rows: pd.DataFrame, line: str, colour: str) -> None:
    """Plot the mean cross-entropy with error bars of two standard errors."""
    look: dict[str, Any] = {"fmt": line, "color": colour, "ms": 2.2, "elinewidth": 0.6}
    axis.errorbar(rows["epsilon"], rows["cross_entropy_mean"], 2 * rows["cross_entropy_se"], **look)


def _printed(label: str) -> Line2D:
    return Line2D([], [], color=BLACK, ls="", marker="D", mfc="white", ms=4.5, label=label)


def _floor_label(floor: str) -> str:
    return {"1e-06": r"Gaussian, floor $10^{-6}$", "sigma": r"Gaussian, floor $\sigma$"}.get(
        floor, f"Gaussian, floor {floor}"
    )


__all__ = [
    "bundled_sets",
    "clipping_floor",
    "exact_calibration",
    "figure_1",
    "figure_2",
    "figure_3_bottom",
    "figure_3_top",
    "figure_4",
    "figure_5",
    "figure_6",
    "figure_7",
    "figure_8",
    "figure_9",
    "figure_10",
    "figure_11",
    "paired_differences",
    "theorem_2",
]


_STARTS = "Algorithm 1 (starts at the dot)"
SERIES = {
    ("Algorithm 1", "corrected"): (_STARTS, BLUE, "-"),
    ("Algorithm 1", "published"): (r"Algorithm 1 as printed ($\delta=2$)", BLUE, ":"),
    ("exact profile", "corrected"): ("exact profile", BLACK, "-"),
    ("Gohari et al.", "corrected"): ("Gohari et al.", RED, "-"),
}


def figure_1(table: pd.DataFrame) -> Figure:
    """Plot the trigamma function psi' together with the bounds of equation 6, and the ratios of the bounds to psi'."""
    figure = Figure(figsize=(SINGLE, 3.2))
    panels: Any = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    axis, ratio = panels
    axis.fill_between(
        table["x"], table["lower"], table["upper"], color=GREY, alpha=0.6, lw=0, label="bounds, equation 6"
    )
    axis.plot(table["x"], table["trigamma"], color=BLACK, label=r"$\psi'(x)$")
    axis.set(ylabel=r"$\psi'(x)$", yscale="log")
    axis.legend()
    ratio.fill_between(
        table["x"], table["lower"] / table["trigamma"], table["upper"] / table["trigamma"], color=GREY, alpha=0.6, lw=0
    )
    ratio.axhline(1, color=BLACK)
    ratio.set(xlabel="$x$", ylabel=r"divided by $\psi'(x)$")
    return figure


def figure_2(table: pd.DataFrame) -> Figure:
    """Plot the delta of Gohari et al. as a function of gamma, over the whole range and over the range of the printed
    plot.
    """
    figure = Figure(figsize=(DOUBLE, 2.6))
    axes = figure.subplots(1, 2)
    looks = {"corrected": ("exact", BLACK, "-"), "published": ("quadrature of degree 50", RED, "--")}
    for axis in axes:
        for variant, (label, colour, line) in looks.items():
            rows = table[table["variant"] == variant]
            shown = rows[rows["delta"] > 0]
            axis.plot(shown["gamma"], shown["delta"], line, color=colour, label=label)
        axis.axhline(2.1e-4, color=GREY, lw=3, zorder=0, label=r"printed floor, $2.1\times10^{-4}$")
        axis.set(xlabel=r"$\gamma$", ylabel=r"$\delta$", yscale="log")
    axes[0].set(xscale="log")
    least = table["gamma"][table["gamma"] > 1e-5].min()
    axes[1].set(xlim=(least, table["gamma"].max()), ylim=(1e-14, 1e-2))
    reach = table["gamma_for_1e-5"].iloc[0]
    (point,) = axes[1].plot([reach], [1e-5], "o", color=BLACK, label=r"$\delta=10^{-5}$")
    axes[1].legend(handles=[point], loc="lower right")
    axes[1].ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
    axes[0].legend(loc="lower right")
    letters(axes)
    return figure


def figure_3_top(table: pd.DataFrame) -> Figure:
    """Plot the Rényi divergence against the parameter r of the Dirichlet mechanism, with one column of panels per
    order. The upper panels show the divergence, and the lower panels show its ratio to the exact worst case.
    """
    orders = sorted(table["order"].unique())
    figure = Figure(figsize=(DOUBLE, 3.6))
    panels = figure.subplots(2, len(orders), sharex=True, sharey="row", squeeze=False, height_ratios=(3, 2))
    looks = {
        ("Algorithm 1", "corrected"): ("Algorithm 1", BLUE, "-"),
        ("worst case", "corrected"): ("exact worst case", BLACK, "-"),
        ("divergence", "published"): ("pair of the figure", ORANGE, "--"),
        ("divergence", "as_written"): ("pair of the text", RED, ":"),
    }
    for (axis, below), order in zip(panels.T, orders, strict=True):
        of = table[table["order"] == order].set_index(["series", "variant"])
        worst = of.loc[("worst case", "corrected"), "epsilon"].to_numpy()
        for key, (label, colour, line) in looks.items():
            rows = of.loc[key]
            axis.loglog(rows["r"], rows["epsilon"], line, color=colour, label=label)
            below.semilogx(rows["r"], rows["epsilon"] / worst, line, color=colour)
        axis.set(title=rf"$\lambda={order:g}$")
        below.set(xlabel="$r$")
    panels[0, 0].set_ylabel(r"Rényi divergence $\varepsilon$ (nats)")
    panels[1, 0].set_ylabel("divided by\nthe worst case")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncol=4)
    letters(panels.ravel())
    return figure


def figure_3_bottom(table: pd.DataFrame) -> Figure:
    """Plot the expected KL divergence against epsilon_hat, with one panel per order. The bands show plus or minus one
    standard deviation of a single draw.
    """
    orders = sorted(table["order"].unique())
    figure = Figure(figsize=(DOUBLE, 3.0))
    axes = figure.subplots(1, len(orders), sharey=True, squeeze=False)[0]
    for axis, order in zip(axes, orders, strict=True):
        for (series, variant), (label, colour, line) in SERIES.items():
            rows = table[(table["order"] == order) & (table["series"] == series) & (table["variant"] == variant)]
            rows = rows.sort_values("epsilon_hat")
            low = np.maximum(rows["kl_mean"] - rows["kl_sd"], rows["kl_mean"] / 10)
            if variant == "corrected":
                axis.fill_between(
                    rows["epsilon_hat"], low, rows["kl_mean"] + rows["kl_sd"], color=colour, alpha=0.15, lw=0
                )
            start = {"marker": "o", "ms": 3, "markevery": [0]} if label == _STARTS and len(rows) else {}
            axis.loglog(rows["epsilon_hat"], rows["kl_mean"], line, color=colour, label=label, **start)
        axis.axhline(table["kl_uniform"].iloc[0], color=GREY, lw=1, ls="-.", label="uniform")
        reach = table[table["series"] != "Gohari et al."]["epsilon_hat"]
        axis.set(
            xlabel=_reach(table),
            title=rf"$\lambda={order:g}$",
            xlim=(reach.min(), reach.max()),
        )
    axes[0].set_ylabel(r"$D_{\mathrm{KL}}(f\,\Vert\,y)$ (nats)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=5)
    letters(axes)
    return figure


def figure_8(table: pd.DataFrame) -> Figure:
    """Plot epsilon_hat from equation 14 as a function of the parameter r of the Dirichlet mechanism."""
    figure = Figure(figsize=(SINGLE, 2.6))
    axis = figure.subplots()
    looks = zip(sorted(table["order"].unique()), (BLUE, RED, GREEN, ORANGE), MARKERS, strict=False)
    for order, colour, marker in looks:
        for variant, line in (("corrected", "-"), ("published", ":")):
            rows = table[(table["order"] == order) & (table["variant"] == variant)]
            look: dict[str, Any] = {"color": colour, "marker": marker, "markevery": 0.18}
            look |= {"label": rf"$\lambda={order:g}$"} if line == "-" else {"mfc": "none"}
            axis.plot(rows["r"], rows["epsilon_hat"], line, **look)
    axis.plot([], [], ":", color=BLACK, label=r"printed ($\Delta_2^2=1$)")
    axis.set(xlabel="$r$", ylabel=_reach(table), yscale="log")
    axis.legend()
    return figure


def exact_calibration(table: pd.DataFrame) -> Figure:
    """Plot the expected KL divergence by method of calibration, for Rényi and for approximate differential privacy."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    axes = figure.subplots(1, 2, sharey=True)
    looks = {"Algorithm 1": (BLUE, "o-"), "exact worst case": (ORANGE, "s--"), "exact, free alpha": (BLACK, "^-")}
    for axis, privacy in zip(axes, ("renyi", "approximate"), strict=True):
        for method, (colour, line) in looks.items():
            rows = table[(table["privacy"] == privacy) & (table["method"] == method)]
            if len(rows):
                label = method.replace("alpha", r"$\alpha$")
                if privacy == "approximate":
                    label = label.replace("Algorithm 1", r"Algorithm 1, best $\lambda$")
                axis.loglog(rows["epsilon"], rows["kl_mean"], line, color=colour, label=label)
        axis.legend()
    order = table["order"].iloc[0]
    axes[0].set(
        xlabel=rf"Rényi $\varepsilon$ at $\lambda={order:g}$", ylabel=r"expected $D_{\mathrm{KL}}(f\,\Vert\,y)$ (nats)"
    )
    axes[1].set(xlabel=_reach(table))
    letters(axes)
    return figure


def theorem_2(table: pd.DataFrame) -> Figure:
    """Plot the frequency of KL divergences above a threshold eta against the Dirichlet parameter alpha. The figure also
    shows the bound of Theorem 2 on the probability of such a divergence.
    """
    etas = sorted(table["eta"].unique())
    figure = Figure(figsize=(DOUBLE, 2.7))
    axes = figure.subplots(1, len(etas), sharey=True, squeeze=False)[0]
    for axis, eta in zip(axes, etas, strict=True):
        axis.axvspan(table["alpha"].min() * 0.85, 0.5, color=GREY, alpha=0.3, lw=0, label=r"$\alpha<1/2$: not proved")
        sizes = sorted(table["cells"].unique())
        looks = zip(sizes, (BLUE, RED, GREEN, ORANGE), MARKERS, ("-", "--", "-.", ":"), strict=False)
        for number, (cells, colour, marker, line) in enumerate(looks):
            rows = table[(table["eta"] == eta) & (table["cells"] == cells)].sort_values("alpha")
            aside = 1.05 ** (2 * number + 1 - len(sizes))  # horizontal offset, so that points do not overlap
            x, y, reach = aside * rows["alpha"], rows["frequency"], 2 * rows["mc_se"]
            look: dict[str, Any] = {"marker": marker, "ms": 3, "mfc": "white", "color": colour, "label": f"$d={cells}$"}
            interval(axis, x, y, y - reach, y + reach, **look)
            axis.plot(rows["alpha"], rows["bound"], line, color=colour, lw=0.9, label=f"bound, $d={cells}$")
        axis.set(xlabel=r"$\alpha$", title=rf"$\eta={eta:g}$", ylim=(-0.05, 1.05))
        log_scale(axis, "x")
    axes[0].set_ylabel(r"$\Pr[D_{\mathrm{KL}}(p\,\Vert\,q)>\eta]$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=4, columnspacing=1.2)
    letters(axes)
    return figure


def _reach(table: pd.DataFrame) -> str:
    """Return the label of an axis that shows epsilon_hat. The label states the delta of the table."""
    delta = table["delta"].iloc[0]
    power = np.log10(delta)
    shown = f"10^{{{round(power)}}}" if np.isclose(power, round(power)) else f"{delta:g}"
    return rf"$\hat\varepsilon$ at $\delta={shown}$"


Array = NDArray[np.float64]
_LAYOUTS = 80  # maximum number of layer orders that are tried
_BENDS = np.array(sorted(np.linspace(-0.6, 0.6, 37), key=abs))  # curvatures, starting with the straightest
_ALONG = np.linspace(0, 1, 41)[:, None]
_MARGIN = 3.0  # pixels, at 100 per inch, between an arrow and a box that it passes
_NEAR = 8.0  # smallest distance between the midpoints of two arrows
_MIDDLE = slice(12, 29)


def figure_6(table: pd.DataFrame) -> Figure:
    """Plot the three Bayesian networks, with parents above children."""
    figure = Figure(figsize=(DOUBLE, 5.0), dpi=100)
    names = list(dict.fromkeys(table["dataset"]))
    widest = [table[table["dataset"] == n].drop_duplicates("node").groupby("depth").size().max() for n in names]
    panels = figure.subplots(1, len(names), squeeze=False, width_ratios=[2 + number for number in widest])[0]
    shown = []
    for axis, name in zip(panels, names, strict=True):
        rows = table[table["dataset"] == name]
        axis.set(xlim=(-0.25, 1.25), ylim=(-rows["depth"].max() - 0.5, 0.3), title=name)
        axis.axis("off")
        layers = _layers(rows)
        shown.append((axis, rows, layers, {node: _box(axis, node, spot) for node, spot in _places(layers, 0).items()}))
    figure.draw_without_rendering()  # sizes of the boxes are known only after drawing
    for axis, rows, layers, boxes in shown:
        _laid_out(axis, rows, layers, boxes)
    return figure


def _box(axis: Axes, node: str, spot: tuple[float, float]) -> Text:
    box = {"boxstyle": "round,pad=0.25", "fc": "white", "ec": BLUE, "lw": 0.7}
    return axis.text(*spot, node, ha="center", va="center", fontsize=6, bbox=box, zorder=1)


def _layers(rows: pd.DataFrame) -> list[tuple[int, list[str], Array]]:
    """Return the layers of a network from top to bottom. For each layer, the result contains the depth, the nodes, and
    the positions of the nodes from left to right.
    """
    each = rows.drop_duplicates("node").groupby("depth")
    return [(int(str(depth)), layer["node"].astype(str).tolist(), layer["x"].to_numpy(float)) for depth, layer in each]


def _places(layers: list[tuple[int, list[str], Array]], layout: int) -> dict[str, tuple[float, float]]:
    """Return the coordinates of the nodes of a network in the layout with the given number. The number of the layout
    determines the order of the nodes in every layer. If a layer has only one node, this node is shifted sideways.
    """
    place: dict[str, tuple[float, float]] = {}
    for level, nodes, places in layers:
        lone = 0.1 + 0.8 * ((0.5 + 0.618034 * layout * (level + 1)) % 1)  # spread evenly over the layouts
        x = np.roll(places, layout * (level + 1))[:: -1 if layout >> level & 1 else 1]
        for number, node in enumerate(nodes):
            sink = 0.34 * (number % 2) if len(nodes) > 2 else 0.0
            place[node] = (lone if len(nodes) == 1 else float(x[number]), -float(level) - sink)
    return place


def _laid_out(
    axis: Axes, rows: pd.DataFrame, layers: list[tuple[int, list[str], Array]], boxes: dict[str, Text]
) -> None:
    """Plot a network with arrows from parents to children. The layout is the tried layout with the smallest penalty."""
    patches: dict[str, Any] = {node: text.get_bbox_patch() for node, text in boxes.items()}
    half: dict[str, Array] = {
        node: np.array(patch.get_window_extent().size) / 2 + _MARGIN for node, patch in patches.items()
    }
    edges = [(str(row.parent), str(row.node)) for row in rows[rows["parent"] != ""].itertuples()]
    least, bends, places = np.inf, [0.0], _places(layers, 0)
    for layout in range(_LAYOUTS):
        tried = _places(layers, layout)
        spots = dict(zip(tried, axis.transData.transform(list(tried.values())), strict=True))
        harm, new_bends = _routes(edges, spots, half, (axis.bbox.x0, axis.bbox.x1), least)
        if harm < least:
            least, bends, places = harm, new_bends, tried
    for node, spot in places.items():
        boxes[node].set_position(spot)
    look: dict[str, Any] = {"arrowstyle": "-|>", "color": "#777777", "lw": 0.7, "mutation_scale": 6, "zorder": 2}
    for (parent, node), bend in zip(edges, bends, strict=True):
        joined = {"patchA": patches[parent], "patchB": patches[node], "shrinkA": 0, "shrinkB": 0.5}
        style = f"arc3,rad={bend:.4f}"
        axis.add_patch(FancyArrowPatch(places[parent], places[node], connectionstyle=style, **joined, **look))


def _routes(
    edges: list[tuple[str, str]],
    spots: dict[str, Array],
    half: dict[str, Array],
    sides: tuple[float, float],
    least: float = np.inf,
) -> tuple[float, list[float]]:
    """Return the penalty of one layout of a network, and the best curvature of each arrow. The best curvature is the
    curvature at which the arrow best avoids other nodes and arrows.

    The penalty can only increase. If it reaches `least`, the layout cannot be the best, and the partial result is
    returned.
    """
    drawn: list[Array] = []
    total, bends = 0.0, []
    for edge in edges:
        others = [node for node in spots if node not in edge]
        curves = _curves(spots[edge[0]], spots[edge[1]])
        centres, sizes = np.array([spots[n] for n in others]), np.array([half[n] for n in others])
        across, along = (abs(curves[:, :, None, axis] - centres[:, axis]) < sizes[:, axis] for axis in (0, 1))
        beyond = (curves[..., 0] < sides[0]) | (curves[..., 0] > sides[1])
        harm = 10.0 * ((across & along).sum(axis=(1, 2)) + beyond.sum(axis=1)) + np.abs(_BENDS)
        bound = _beside(harm, curves, drawn, harm.argmin(keepdims=True))
        rivals = np.flatnonzero(harm <= bound)  # all other curvatures are worse even without the penalties for arrows
        whole = _beside(harm, curves, drawn, rivals)
        best = int(rivals[whole.argmin()])
        drawn.append(curves[best, _MIDDLE])
        bends.append(float(_BENDS[best]))
        total += float(whole.min()) + 1e-3 * float(np.hypot(*(spots[edge[0]] - spots[edge[1]])))
        if total >= least:
            break
    return total, bends


def _beside(harm: Array, curves: Array, drawn: list[Array], bends: NDArray[np.intp]) -> Array:
    """Return the penalty of an edge at each of several curvatures, given the arrows that have been plotted so far."""
    penalties = harm[bends]
    if not drawn:
        return penalties
    middles, others = curves[bends, None, _MIDDLE, None], np.array(drawn)[:, None]
    aside, apart = (middles[..., axis] - others[..., axis] for axis in (0, 1))
    near = ((aside**2 + apart**2).min(axis=-1) < _NEAR**2).sum(axis=-1)
    for arrow in near.T:
        penalties = penalties + 0.05 * arrow
    return penalties


def _curves(start: Array, end: Array) -> Array:
    """Return points in pixels along quadratic Bézier curves (``arc3`` in matplotlib), with one curve for each
    curvature.
    """
    dx, dy = end - start
    control = ((start + end) / 2 + _BENDS[:, None] * np.array([dy, -dx]))[:, None]
    whole: Array = (1 - _ALONG) ** 2 * start + 2 * _ALONG * (1 - _ALONG) * control + _ALONG**2 * end
    return whole
