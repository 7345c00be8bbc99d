"""Figures of Ponnoprat (2022) and of what goes beyond it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ...style import BLACK, BLUE, DOUBLE, GREEN, GREY, ORANGE, PINK, RED, SINGLE, SKY, letters

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
BUDGET, REACH = r"Rényi $\varepsilon$ of the whole model", r"$\hat\varepsilon$ of the whole model"
LOSS, ACCURACY, LIKELIHOOD = "test cross-entropy (nats)", "test accuracy", "test log-likelihood"
SERIES = {
    ("Algorithm 1", "corrected"): ("Algorithm 1", BLUE, "-"),
    ("Algorithm 1", "published"): (r"Algorithm 1 as printed ($\delta=2$)", BLUE, ":"),
    ("exact profile", "corrected"): ("exact profile", BLACK, "-"),
    ("Gohari et al.", "corrected"): ("Gohari et al.", RED, "-"),
}


def figure_1(table: pd.DataFrame) -> Figure:
    """psi' between the bounds of equation 6."""
    figure = Figure(figsize=(SINGLE, 2.3))
    axis = figure.subplots()
    axis.fill_between(
        table["x"], table["lower"], table["upper"], color=GREY, alpha=0.6, lw=0, label="bounds, equation 6"
    )
    axis.plot(table["x"], table["trigamma"], color=BLACK, label=r"$\psi'(x)$")
    axis.set(xlabel="$x$", ylabel=r"$\psi'(x)$", yscale="log")
    axis.legend()
    return figure


def figure_2(table: pd.DataFrame) -> Figure:
    """delta against gamma: over the whole range, and over the range of the printed plot."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    axes = figure.subplots(1, 2)
    looks = {"corrected": ("exact", BLACK, "-"), "published": ("quadrature of degree 51", RED, ":")}
    for axis in axes:
        for variant, (label, colour, line) in looks.items():
            rows = table[table["variant"] == variant]
            shown = rows[rows["delta"] > 0]
            axis.plot(shown["gamma"], shown["delta"], line, color=colour, label=label)
        axis.axhline(2.1e-4, color=GREY, lw=0.8, label=r"printed floor, $2.1\times10^{-4}$")
        axis.set(xlabel=r"$\gamma$", ylabel=r"$\delta$", yscale="log")
    axes[0].set(xscale="log")
    least = table["gamma"][table["gamma"] > 1e-5].min()
    axes[1].set(xlim=(least, table["gamma"].max()), ylim=(1e-14, 1e-2))
    reach = table["gamma_for_1e-5"].iloc[0]
    axes[1].plot([reach], [1e-5], "o", color=BLACK)
    axes[1].annotate(r"$\delta=10^{-5}$", (reach, 1e-5), (4, -10), textcoords="offset points", fontsize=7)
    axes[1].ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
    axes[0].legend(loc="lower right")
    letters(axes)
    return figure


def figure_3_top(table: pd.DataFrame) -> Figure:
    """Rényi divergence against r, one panel an order."""
    orders = sorted(table["order"].unique())
    figure = Figure(figsize=(DOUBLE, 2.5))
    axes = figure.subplots(1, len(orders), sharey=True, squeeze=False)[0]
    looks = {
        ("Algorithm 1", "corrected"): ("Algorithm 1", BLUE, "-"),
        ("worst case", "corrected"): ("exact worst case", BLACK, "-"),
        ("divergence", "published"): ("pair of the figure", ORANGE, "--"),
        ("divergence", "as_written"): ("pair of the text", RED, ":"),
    }
    for axis, order in zip(axes, orders, strict=True):
        for (series, variant), (label, colour, line) in looks.items():
            rows = table[(table["order"] == order) & (table["series"] == series) & (table["variant"] == variant)]
            axis.loglog(rows["r"], rows["epsilon"], line, color=colour, label=label)
        axis.set(xlabel="$r$", title=rf"$\lambda={order:g}$")
    axes[0].set_ylabel(r"Rényi divergence $\varepsilon$ (nats)")
    axes[0].legend()
    letters(axes)
    return figure


def figure_3_bottom(table: pd.DataFrame) -> Figure:
    """Expected KL divergence against epsilon_hat, one panel an order; bands are one standard deviation of a draw."""
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
            axis.loglog(rows["epsilon_hat"], rows["kl_mean"], line, color=colour, label=label)
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
    """epsilon_hat of equation 14 against r."""
    figure = Figure(figsize=(SINGLE, 2.6))
    axis = figure.subplots()
    for order, colour in zip(sorted(table["order"].unique()), (BLUE, RED, GREEN, ORANGE), strict=False):
        for variant, line in (("corrected", "-"), ("published", ":")):
            rows = table[(table["order"] == order) & (table["variant"] == variant)]
            axis.plot(
                rows["r"],
                rows["epsilon_hat"],
                line,
                color=colour,
                label=rf"$\lambda={order:g}$" if line == "-" else None,
            )
    axis.plot([], [], ":", color=BLACK, label=r"printed ($\Delta_2^2=1$)")
    axis.set(xlabel="$r$", ylabel=_reach(table), yscale="log")
    axis.legend()
    return figure


def exact_calibration(table: pd.DataFrame) -> Figure:
    """Expected KL by calibration, for both kinds of privacy."""
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
    """Frequency of a divergence above eta beside the bound, against alpha."""
    etas = sorted(table["eta"].unique())
    figure = Figure(figsize=(DOUBLE, 2.7))
    axes = figure.subplots(1, len(etas), sharey=True, squeeze=False)[0]
    for axis, eta in zip(axes, etas, strict=True):
        axis.axvspan(table["alpha"].min() * 0.9, 0.5, color=GREY, alpha=0.3, lw=0)
        for cells, colour, marker in zip(
            sorted(table["cells"].unique()), (BLUE, RED, GREEN, ORANGE), "os^D", strict=False
        ):
            rows = table[(table["eta"] == eta) & (table["cells"] == cells)].sort_values("alpha")
            axis.errorbar(
                rows["alpha"], rows["frequency"], 2 * rows["mc_se"], fmt=marker, color=colour, label=f"$d={cells}$"
            )
            axis.plot(rows["alpha"], rows["bound"], "-", color=colour, lw=0.9)
        axis.set(xlabel=r"$\alpha$", title=rf"$\eta={eta:g}$", xscale="log", ylim=(-0.03, 1.05))
    axes[0].plot([], [], "-", color=BLACK, lw=0.9, label="bound of Theorem 2")
    axes[0].set_ylabel(r"$\Pr[D_{\mathrm{KL}}(p\,\Vert\,q)>\eta]$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=5)
    letters(axes)
    return figure


def figure_4(table: pd.DataFrame) -> Figure:
    """Cross-entropy by data set: the author's protocol above, the corrected one below."""
    return _scores(table, "cross_entropy", LOSS, log=True)


def figure_5(table: pd.DataFrame) -> Figure:
    """Accuracy by data set, as `figure_4`."""
    return _scores(table, "accuracy", ACCURACY, log=False)


def figure_9(table: pd.DataFrame) -> Figure:
    """Cross-entropy under approximate differential privacy."""
    return _scores(table, "cross_entropy", LOSS, log=True, budget=REACH)


def figure_10(table: pd.DataFrame) -> Figure:
    """Accuracy under approximate differential privacy."""
    return _scores(table, "accuracy", ACCURACY, log=False, budget=REACH)


def bundled_sets(table: pd.DataFrame) -> Figure:
    """Cross-entropy (above) and accuracy (below) on the sets that scikit-learn carries."""
    names = list(dict.fromkeys(table["dataset"]))
    figure = Figure(figsize=(DOUBLE, 4.2))
    axes = figure.subplots(2, len(names), squeeze=False)
    for column, name in enumerate(names):
        for row, (measure, label) in enumerate((("cross_entropy", LOSS), ("accuracy", ACCURACY))):
            axis = axes[row, column]
            _panel(axis, table[table["dataset"] == name], measure, "corrected")
            axis.set(xlabel=BUDGET, ylabel=label if column == 0 else "")
            if row == 0:
                _plain_log(axis)
        axes[0, column].set_title(name.removeprefix("bundled_").replace("_", " "))
    _legend(figure, table, ("dirichlet", "dirichlet, exact", "gaussian", "laplace"))
    return figure


def clipping_floor(table: pd.DataFrame) -> Figure:
    """Cross-entropy of the Gaussian mechanism by the floor under its noisy counts, beside the Dirichlet."""
    figure, axes = _grid(table, 1)
    shades = {"1e-06": (RED, ":"), "0.1": (ORANGE, "--"), "1.0": (GREEN, "-."), "sigma": (BLACK, "-")}
    for axis, name in axes:
        rows = table[table["dataset"] == name]
        if _empty(axis, rows):
            continue
        for floor, (colour, line) in shades.items():
            some = rows[(rows["method"] == "gaussian") & (rows["floor"].astype(str) == floor)].sort_values("epsilon")
            axis.plot(some["epsilon"], some["cross_entropy_mean"], line, color=colour)
        some = rows[rows["method"] == "dirichlet"].sort_values("epsilon")
        axis.plot(some["epsilon"], some["cross_entropy_mean"], "o-", color=BLUE)
        axis.set_xscale("log")
        _plain_log(axis)
    handles = [Line2D([], [], color=c, ls=s, label=_floor_label(f)) for f, (c, s) in shades.items()]
    handles.append(Line2D([], [], color=BLUE, marker="o", label="Dirichlet"))
    figure.legend(handles=handles, loc="outside upper center", ncol=5)
    figure.supxlabel(BUDGET, fontsize=8)
    figure.supylabel(LOSS, fontsize=8)
    return figure


def paired_differences(table: pd.DataFrame) -> Figure:
    """Dirichlet minus Gaussian with its interval: floor 1e-6 and floor sigma."""
    table = table[table["method"].isin(["gaussian", "not_run"]) & (table["measure"] == "cross_entropy")]
    figure, axes = _grid(table, 1)
    for axis, name in axes:
        if _empty(axis, table[table["dataset"] == name]):
            continue
        axis.axhline(0, color=GREY, lw=0.8)
        for floor, colour in (("1e-06", RED), ("sigma", BLACK)):
            rows = table[(table["dataset"] == name) & (table["floor"].astype(str) == floor)].sort_values("epsilon")
            axis.fill_between(rows["epsilon"], rows["lower"], rows["upper"], color=colour, alpha=0.25, lw=0)
            axis.plot(rows["epsilon"], rows["difference"], color=colour)
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=0.1)
        axis.yaxis.set_major_formatter(FuncFormatter(_short))
    handles = [Line2D([], [], color=c, label=_floor_label(f)) for f, c in (("1e-06", RED), ("sigma", BLACK))]
    figure.legend(handles=handles, loc="outside upper center", ncol=2)
    figure.supxlabel(BUDGET, fontsize=8)
    figure.supylabel("cross-entropy, Dirichlet − Gaussian (nats)", fontsize=8)
    return figure


def figure_6(table: pd.DataFrame) -> Figure:
    """The three networks, parents above children."""
    figure = Figure(figsize=(DOUBLE, 4.4))
    names = list(dict.fromkeys(table["dataset"]))
    for axis, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        rows = table[table["dataset"] == name]
        place = _places(rows)
        for row in rows[rows["parent"] != ""].itertuples():
            (x0, y0), (x1, y1) = place[row.parent], place[row.node]
            bend = 0.06 * (1 if x1 >= x0 else -1) * min(y0 - y1, 4)
            arrow = {
                "arrowstyle": "-|>",
                "color": "#777777",
                "lw": 0.7,
                "shrinkA": 6,
                "shrinkB": 6,
                "mutation_scale": 6,
            }
            axis.annotate("", (x1, y1), (x0, y0), arrowprops=arrow | {"connectionstyle": f"arc3,rad={bend:.3f}"})
        for node, spot in place.items():
            box = {"boxstyle": "round,pad=0.25", "fc": "white", "ec": BLUE, "lw": 0.7}
            axis.text(*spot, node, ha="center", va="center", fontsize=6, bbox=box)
        axis.set(xlim=(-0.15, 1.15), ylim=(-rows["depth"].max() - 0.5, 0.5), title=name)
        axis.axis("off")
    return figure


def _places(rows: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Layers from top to bottom; a layer of one node swings sideways, so that arrows past it stay visible."""
    place = {}
    for depth, layer in rows.drop_duplicates("node").groupby("depth"):
        for number, (node, x) in enumerate(zip(layer["node"], layer["x"], strict=True)):
            lone = 0.5 + 0.32 * np.cos(2.0 * depth)
            sink = 0.34 * (number % 2) if len(layer) > 2 else 0.0
            place[node] = (lone if len(layer) == 1 else x, -float(depth) - sink)
    return place


def figure_7(table: pd.DataFrame) -> Figure:
    """Log-likelihoods of the networks: the printed budget, the stated budget, and corrected, from top to bottom."""
    return _likelihoods(
        table,
        {"published": r"published, $\varepsilon/3$", "as_written": "stated budget", "corrected": "corrected"},
        BUDGET,
    )


def figure_11(table: pd.DataFrame) -> Figure:
    """Log-likelihoods of the networks under approximate differential privacy."""
    return _likelihoods(table, {"published": "as published", "corrected": "corrected"}, REACH)


def scenario(table: pd.DataFrame) -> Figure:
    """A user's own data: cross-entropy, accuracy and, with a network, log-likelihood."""
    measures = [("cross_entropy", LOSS), ("accuracy", ACCURACY)]
    network = table["method"].str.startswith("network, ")
    figure = Figure(figsize=(DOUBLE, 2.8))
    axes = figure.subplots(1, 2 + network.any())
    for axis, (measure, label) in zip(axes, measures, strict=False):
        _panel(axis, table[~network], measure, "corrected")
        axis.set(xlabel=BUDGET, ylabel=label)
    if network.any():
        rows = table[network].assign(method=table["method"].str.removeprefix("network, "))
        _panel(axes[2], rows, "log_likelihood", "corrected")
        axes[2].set(xlabel=BUDGET, ylabel=LIKELIHOOD)
    _legend(figure, table, ("dirichlet", "gaussian", "laplace"))
    return figure


def _scores(table: pd.DataFrame, measure: str, label: str, *, log: bool, budget: str = "") -> Figure:
    """Published panels above corrected ones, in the paper's order of data sets."""
    figure, panels = _grid(table, 2)
    half = len(panels) // 2
    for number, (axis, name) in enumerate(panels):
        variant = "published" if number < half else "corrected"
        rows = table[table["dataset"] == name]
        axis.set_title(f"{name}, {variant}", fontsize=7)
        if _empty(axis, rows):
            continue
        _panel(axis, rows, measure, variant)
        if variant == "published" and (rows["variant"] == "as_written").any():
            literal = rows[(rows["variant"] == "as_written") & (rows["method"] == "dirichlet")].sort_values("epsilon")
            axis.plot(literal["epsilon"], literal[f"{measure}_mean"], ":", color=BLUE)
        if log:
            _plain_log(axis)
    shown = ("dirichlet", "dirichlet, exact", "gaussian", "laplace", "gohari")
    _legend(figure, table, shown)
    figure.supxlabel(budget or BUDGET, fontsize=8)
    figure.supylabel(label, fontsize=8)
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, measure: str, variant: str) -> None:
    """Curves with bars of one standard deviation over releases, and flat reference lines."""
    rows = rows[rows["variant"] == variant]
    for method, (_, colour, marker, line) in LOOKS.items():
        some = rows[rows["method"] == method].sort_values("epsilon")
        if len(some):
            x, y, spread = (some[c].to_numpy() for c in ("epsilon", f"{measure}_mean", f"{measure}_sd"))
            axis.errorbar(x, y, spread, fmt=marker + line, color=colour, ms=2.2, lw=0.9, elinewidth=0.6)
    lowest = rows.loc[rows["epsilon"].notna(), f"{measure}_mean"].min()  # a far lower guess would flatten the curves
    for method, (_, colour, line) in FLATS.items():
        some = rows[(rows["method"] == method) & rows[f"{measure}_mean"].notna()]
        if len(some) and not (measure == "accuracy" and some["accuracy_mean"].iloc[0] < lowest - 0.1):
            axis.axhline(some[f"{measure}_mean"].iloc[0], color=colour, ls=line, lw=0.9, zorder=0)
    axis.set_xscale("log")


def _likelihoods(table: pd.DataFrame, variants: dict[str, str], budget: str) -> Figure:
    names = list(dict.fromkeys(table["dataset"]))
    figure = Figure(figsize=(DOUBLE, 1.9 * len(variants) + 0.5))
    axes = figure.subplots(len(variants), len(names), squeeze=False, sharex=True)
    for row, (variant, word) in enumerate(variants.items()):
        for column, name in enumerate(names):
            axis, rows = axes[row, column], table[table["dataset"] == name]
            axis.set_title(f"{name}, {word}", fontsize=7)
            if _empty(axis, rows):
                continue
            _panel(
                axis,
                rows.assign(
                    log_likelihood_mean=rows["log_likelihood_mean"] / 1e3,
                    log_likelihood_sd=rows["log_likelihood_sd"] / 1e3,
                ),
                "log_likelihood",
                variant,
            )
    _legend(figure, table, ("dirichlet", "dirichlet, exact", "gaussian", "laplace", "gohari"))
    figure.supxlabel(budget, fontsize=8)
    figure.supylabel(f"{LIKELIHOOD} (thousand nats)", fontsize=8)
    return figure


def _grid(table: pd.DataFrame, blocks: int) -> tuple[Figure, list[tuple[Axes, str]]]:
    """Up to four panels a row, all data sets, `blocks` times."""
    found = set(table["dataset"])
    names = [n for n in ORDER if n in found] + sorted(found - set(ORDER))
    columns = min(4, max(len(names), 2))
    deep = -(-len(names) // columns)
    figure = Figure(figsize=(DOUBLE, 1.75 * deep * blocks + 0.6))
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


def _empty(axis: Axes, rows: pd.DataFrame) -> bool:
    """Mark a panel whose data set could not be had."""
    if (rows["method"] != "not_run").all():
        return False
    axis.text(0.5, 0.5, "not run:\nno data", ha="center", va="center", transform=axis.transAxes, color=GREY)
    axis.set(xticks=[], yticks=[])
    return True


def _legend(figure: Figure, table: pd.DataFrame, methods: Sequence[str]) -> None:
    found = set(table["method"].str.removeprefix("network, "))
    looks = {m: LOOKS[m] for m in methods if m in found}
    handles = [Line2D([], [], color=c, marker=m, ls=s, label=name) for name, c, m, s in looks.values()]
    if "as_written" in set(table["variant"]) and "log_likelihood_mean" not in table:
        handles.append(Line2D([], [], color=BLUE, ls=":", label="Dirichlet as the text says"))
    drawn = set(table.dropna(subset=[c for c in table if c.endswith("_mean")], how="all")["method"])
    handles += [Line2D([], [], color=c, ls=s, label=word) for m, (word, c, s) in FLATS.items() if m in drawn]
    figure.legend(handles=handles, loc="outside upper center", ncol=4)


def _plain_log(axis: Axes) -> None:
    """A logarithmic y axis with ordinary numbers at 1, 2 and 5."""
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    low, high = axis.get_ylim()
    if high / low < 3:
        axis.yaxis.set_major_locator(LogLocator(subs=tuple(np.arange(1.0, 10.0))))
    axis.yaxis.set_major_formatter(FuncFormatter(_short))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _short(value: float, _: int) -> str:
    return f"{value:g}"


def _floor_label(floor: str) -> str:
    return {"1e-06": r"Gaussian, floor $10^{-6}$", "sigma": r"Gaussian, floor $\sigma$"}.get(
        floor, f"Gaussian, floor {floor}"
    )


def _reach(table: pd.DataFrame) -> str:
    """Label of an axis of epsilon_hat, with the table's delta."""
    delta = table["delta"].iloc[0]
    power = np.log10(delta)
    shown = f"10^{{{round(power)}}}" if np.isclose(power, round(power)) else f"{delta:g}"
    return rf"$\hat\varepsilon$ at $\delta={shown}$"
