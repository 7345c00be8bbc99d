"""Plot the figures of Wang (2020), and additional figures that extend the paper."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...style import (
    BLACK,
    BLUE,
    CYCLE,
    DOUBLE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    RED,
    SINGLE,
    SKY,
    calibration_panel,
    interval,
    letters,
    log_scale,
)
from ...verdicts.table_tests import LARGEST_Z

RELEASES = {
    "Algorithm 1 (ind)": ORANGE,
    "Algorithm 1 (summed)": GREEN,
    "Algorithm 2": SKY,
    "Algorithm 3": BLUE,
    "noisy counts": BLACK,
}


def windows(table: pd.DataFrame) -> Figure:
    """Plot the largest posterior probabilities of pairs of true counts against the half-width of the window to which
    the pairs are restricted. For algorithm 2, an additional panel enlarges them to the scale of the printed digits.
    """
    figure = Figure(figsize=(DOUBLE, 2.5))
    second, close, third = figure.subplots(1, 3)
    for axis, algorithm in ((second, "Algorithm 2"), (close, "Algorithm 2"), (third, "Algorithm 3")):
        rows = table[(table["algorithm"] == algorithm) & table["window"].notna()]
        half = rows["row"].max() / 2
        for number, line in rows.groupby("row"):
            look = {"color": BLUE, "marker": "o"} if number <= half else {"color": RED, "marker": "s"}
            axis.plot(line["window"], line["probability"], ms=2, lw=0.6, mfc="none" if number > half else None, **look)
        axis.set(title=algorithm, xlabel="window $\\pm$ (true counts, noise)", ylim=(0, None))
    free = table[table["window"].isna()]
    for axis, algorithm in ((second, "Algorithm 2"), (third, "Algorithm 3")):
        for p in free.loc[free["algorithm"] == algorithm, "probability"]:
            axis.axhline(p, color=GREY, lw=0.5, ls="--", zorder=0)
    near = table["window"].between(8.5, 11.5) & (table["algorithm"] == "Algorithm 2")
    if near.any():
        shown = table.loc[near, "probability"]
        close.set(xlim=(8.7, 11.3), ylim=(0.97 * shown.min(), 1.03 * shown.max()), xticks=[9, 10, 11])
    close.set_title("Algorithm 2, magnified")
    for axis in (second, close):
        axis.axhline(0.025, color=BLACK, lw=0.6, ls=":")
    second.set_ylabel("posterior probability")
    last = int(table["row"].max())
    for look, name in (
        ({"color": BLUE, "marker": "o"}, f"rows 1 to {last // 2}"),
        ({"color": RED, "marker": "s", "mfc": "none"}, f"rows {last // 2 + 1} to {last}"),
        ({"color": BLACK, "ls": ":"}, "rounded to 0.03 above, 0.02 below"),
        ({"color": GREY, "ls": "--"}, "no window"),
    ):
        second.plot([], [], ms=3, lw=0.8, label=name, **look)
    figure.legend(*second.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    letters((second, close, third))
    return figure


def precision(table: pd.DataFrame) -> Figure:
    """Plot the posterior distributions of one component and of the total for each release mechanism. The curves are
    steps, since counts are integers.
    """
    figure = Figure(figsize=(DOUBLE, 2.9))
    panels = figure.subplots(1, 2, sharey=True)
    looks = (("-", 2.6), ("--", 1.8), (":", 1.6), ("-", 1.2), ("-", 1.0))  # curves that coincide remain visible
    sd = table.drop_duplicates(["release", "quantity"]).set_index(["release", "quantity"])["sd"]
    for axis, (quantity, label) in zip(panels, (("N1", "$N_1$"), ("N", "$N$")), strict=True):
        for (release, colour), (style, width) in zip(RELEASES.items(), looks, strict=True):
            rows = table[(table["quantity"] == quantity) & (table["release"] == release)]
            name = f"{release}: sd {sd[release, 'N1']:.2f}, {sd[release, 'N']:.2f}"
            look = {"color": colour, "lw": width, "label": name, "drawstyle": "steps-mid"}
            axis.plot(rows["value"], rows["probability"], style, **look)
        centre = table.loc[table["quantity"] == quantity, "mean"].iloc[-1]
        reach = 3.7 * sd.xs(quantity, level="quantity").max() + 2
        axis.set(xlabel=label, yscale="log", ylim=(1e-5, 1))
        axis.set_xlim(centre - reach, centre + reach)
        axis.set_yticks([1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1])
        axis.minorticks_off()
        axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    panels[0].set_ylabel("posterior probability")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, title="sd of $N_1$, $N$")
    letters(panels)
    return figure


def fifty_components(table: pd.DataFrame) -> Figure:
    """Plot the posterior mean and the interval of each component, minus the true count, for each release mechanism."""
    names = list(dict.fromkeys(table["release"]))
    figure = Figure(figsize=(DOUBLE, 4.2))
    panels = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for axis, name in zip(panels, names, strict=True):
        rows = table[table["release"] == name].sort_values("true", kind="stable").reset_index(drop=True)
        gap = rows["mean"] - rows["true"]
        missed = (rows["true"] < rows["lower"]) | (rows["true"] > rows["upper"])
        for where, colour, marker in ((~missed, BLUE, "o"), (missed, RED, "s")):
            ends = rows.loc[where, ["lower", "upper"]].sub(rows.loc[where, "true"], axis=0)
            look: dict[str, Any] = {"marker": marker, "ms": 2, "lw": 0.7, "color": colour}
            interval(axis, ends.index + 1, gap[where], ends["lower"], ends["upper"], **look)
        axis.axhline(0, color=GREY, lw=0.8, zorder=0)
        axis.set_yscale("symlog", linthresh=10)
        axis.set_yticks([-40, -20, -10, -5, 0, 5, 10, 20, 40], ["−40", "−20", "−10", "−5", "0", "5", "10", "20", "40"])
        axis.minorticks_off()
        axis.set(ylim=(-80, 80))
        axis.set_title(f"{name}: {len(rows) - missed.sum()} of {len(rows)} intervals contain the count", loc="left")
    for axis in panels[::2]:
        axis.set_ylabel("posterior mean $-$ true count\n(linear within ±10, then log)")
    for axis in panels[2:]:
        axis.set_xlabel("component, in increasing order of its count")
    letters(panels)
    return figure


def comparison(table: pd.DataFrame) -> Figure:
    """Plot the errors of the methods for each example. The root mean square error is shown for all components, and the
    standard deviation and the bias are shown for the largest component.
    """
    methods = list(dict.fromkeys(table["method"]))[::-1]
    figure = Figure(figsize=(DOUBLE, 1.1 + 0.28 * len(methods)))
    panels = figure.subplots(1, 4, sharey=True)
    for number, (example, part) in enumerate(table.groupby("example")):
        rows = part.set_index("method").loc[methods]
        y = np.arange(len(methods)) + 0.16 * (1 - 2 * number)
        look = {"color": (BLUE, RED)[number], "marker": MARKERS[number], "ls": "", "lw": 0.8}
        sd = np.sqrt(rows["variance"])
        shown = ((rows["rmse"], rows["rmse_se"]),) * 2 + ((sd, rows["variance_se"] / (2 * sd)),)
        for axis, (value, error) in zip(panels, (*shown, (rows["bias"], rows["bias_se"])), strict=True):
            axis.errorbar(value, y, xerr=2 * error, label=str(example).replace("example_", "Example "), **look)
    labels = ("RMSE, all counts", "RMSE, magnified", "sd at $N_{max}$", "bias at $N_{max}$")
    for axis, label in zip(panels, labels, strict=True):
        axis.set_xlabel(label)
        axis.grid(axis="x", color=GREY, lw=0.4)
    for axis in (panels[0], panels[2]):
        log_scale(axis, "x")
    low = table["rmse"].min()
    panels[1].set_xlim(0.97 * low, 1.25 * low)
    panels[3].axvline(0, color=BLACK, lw=0.6)
    names = [m.replace(", largest", ",\nlargest").replace(", their", ",\ntheir") for m in methods]
    panels[0].set_yticks(range(len(methods)), names, fontsize=6.5)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    letters(panels)
    return figure


SYMBOLS = {
    "N_min": r"$N_{min}$",
    "N_q1": r"$N_{q1}$",
    "N_med": r"$N_{med}$",
    "N_q3": r"$N_{q3}$",
    "N_max": r"$N_{max}$",
}

_BREAK = 1e-9  # smaller deltas are caused only by the truncation of the noise

__all__ = [
    "agreement",
    "calibration",
    "comparison",
    "fifty_components",
    "figure_1",
    "precision",
    "privacy",
    "tie_rules",
    "windows",
]


def figure_1(table: pd.DataFrame) -> Figure:
    """Plot a histogram of the true counts, with the individual counts below the histogram."""
    figure = Figure(figsize=(SINGLE, 2.4))
    axis = figure.subplots()
    axis.hist(table["count"], bins=range(0, 1001, 50), color=SKY, edgecolor="white", lw=0.5)
    top = axis.get_ylim()[1]
    axis.plot(table["count"], np.full(len(table), -0.03 * top), "|", color=BLACK, ms=4, mew=0.6, clip_on=False)
    chosen = table[table["representative"] != ""]
    axis.plot(chosen["count"], np.full(len(chosen), 1.03 * top), "v", color=RED, clip_on=False)
    for count, name in chosen[["count", "representative"]].to_numpy():
        side = {"N_min": "right", "N_q1": "left"}.get(name, "center")  # these two are close to each other
        aside = {"right": 12, "left": -12, "center": 0}[side]
        axis.text(count + aside, 1.08 * top, SYMBOLS[name], ha=side, va="bottom", fontsize=7)
    axis.set(xlabel="true count $N_s$", ylabel="number of components", ylim=(-0.06 * top, 1.2 * top), xlim=(-30, 1000))
    axis.spines["left"].set_bounds(0, top)
    axis.set_yticks([t for t in axis.get_yticks() if 0 <= t <= top and t == int(t)])
    return figure


def tie_rules(table: pd.DataFrame) -> Figure:
    """Plot the bias and the variance of algorithm 3 under each tie-breaking rule. The variance is divided by the
    variance under random ties. The largest count has a separate panel.
    """
    rules = {"first": "lowest index", "last": "highest index", "random": "random", "ieee": "rounding (as written)"}
    figure = Figure(figsize=(DOUBLE, 2.7))
    panels = figure.subplots(1, 3, width_ratios=(4, 1.2, 5))
    random = table[table["ties"] == "random"].set_index("representative")["exact_variance"]
    for number, (rule, label) in enumerate(rules.items()):
        rows = table[table["ties"] == rule].reset_index(drop=True)
        x, scale = np.arange(len(rows)) + 0.18 * (number - 1.5), rows["representative"].map(random)
        bias = (rows["mean"] - rows["true"], 2 * rows["mean_se"], rows["exact_mean"] - rows["true"])
        ratio = (rows["variance"] / scale, 2 * rows["variance_se"] / scale, rows["exact_variance"] / scale)
        largest = np.arange(len(rows)) == len(rows) - 1
        for axis, (value, error, exact), shown in zip(
            panels, (bias, bias, ratio), (~largest, largest, largest | True), strict=True
        ):
            look = {"color": CYCLE[number], "marker": MARKERS[number], "ls": ""}
            axis.errorbar(x[shown], value[shown], error[shown], mfc="none", label=label, lw=0.8, **look)
            axis.plot(x[shown], exact[shown], ms=2, **look)
    panels[0].axhline(0, color=GREY, lw=0.8, zorder=0)
    panels[2].axhline(1, color=GREY, lw=0.8, zorder=0)
    names = [f"{SYMBOLS[r]}\n= {t}" for r, t in table[["representative", "true"]].drop_duplicates().to_numpy()]
    for axis, places in zip(panels, (range(4), (4,), range(5)), strict=True):
        axis.set_xticks(places, [names[place] for place in places], fontsize=6.5)
    panels[1].set_xlim(3.5, 4.5)
    panels[0].set_ylabel("mean $-$ true count")
    panels[2].set_ylabel("variance / variance with random ties")
    for fill, what in (("none", "simulated, 2 s.e."), (BLACK, "exact")):
        panels[0].plot([], [], "o", color=BLACK, mfc=fill, ms=4 if fill == "none" else 2, label=what)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    letters(panels)
    return figure


def calibration(table: pd.DataFrame) -> Figure:
    """Plot the empirical distribution function of the probability integral transforms (PIT) minus the diagonal, with
    simultaneous bands. There is one column of panels per release, with components above totals.
    """
    methods, quantities = list(dict.fromkeys(table["method"])), list(dict.fromkeys(table["quantity"]))
    figure = Figure(figsize=(DOUBLE, 3.2))
    panels = figure.subplots(len(quantities), len(methods), sharex=True, sharey=True, squeeze=False)
    for row, quantity in enumerate(quantities):
        for axis, method in zip(panels[row], methods, strict=True):
            calibration_panel(axis, table[(table["quantity"] == quantity) & (table["method"] == method)], BLUE)
        panels[row, 0].set_ylabel(f"{quantity}\nECDF minus uniform")
    for axis, method in zip(panels[0], methods, strict=True):
        axis.set_title(method)
    for axis in panels[-1]:
        axis.set_xlabel("PIT of the true value")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center")
    return figure


def privacy(table: pd.DataFrame) -> Figure:
    """Plot the delta of a release by an algorithm of Wang (2020) against the claimed epsilon, with a break in the
    logarithmic axis. The value of delta drops at the epsilon from which the claim is true.
    """
    figure = Figure(figsize=(SINGLE, 2.9))
    panels: Any = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    above, below = panels
    looks = ((SKY, "s", 4.5), (BLUE, "o", 3))
    for (counts, rows), (colour, marker, size) in zip(table.groupby("counts", sort=False), looks, strict=True):
        shown = rows[rows["delta"] > 0].sort_values("claimed")
        for axis in panels:
            axis.plot(shown["claimed"], shown["delta"], marker, color=colour, ms=size, label=counts)
        for place in rows[rows["delta"] < _BREAK].nsmallest(1, "claimed").itertuples():
            below.annotate(rf"$\delta$ = {place.delta:.1e}", (place.claimed, place.delta), (0, 8),
                           textcoords="offset points", ha="center", fontsize=6)  # fmt: skip
    above.set(yscale="log", ylim=(0.05, 1), ylabel=r"smallest $\delta$")
    below.set(yscale="log", ylim=(1e-24, 1e-19), xlabel=r"claimed $\varepsilon$")
    below.set_yticks([1e-24, 1e-22, 1e-20])
    below.minorticks_off()
    above.spines["bottom"].set_visible(False)
    above.tick_params(axis="x", length=0)
    broken = {"marker": [(-1, -0.5), (1, 0.5)], "ms": 7, "ls": "", "color": BLACK, "mew": 0.6, "clip_on": False}
    above.plot([0], [0], transform=above.transAxes, **broken)
    below.plot([0], [1], transform=below.transAxes, **broken)
    figure.legend(*above.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def agreement(table: pd.DataFrame) -> Figure:
    """Plot the z score of every printed mean and variance in Tables 1 and 3."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    panels = figure.subplots(1, 2, sharey=True)
    for axis, artefact in zip(panels, ("table_1", "table_3"), strict=True):
        rows = table[(table["artefact"] == artefact) & (table["kind"] == "number")]
        parts = rows["quantity"].str.extract(r"^(?P<algorithm>.*), (?P<place>N_\w+): (?P<what>\w+)$")
        for number, (algorithm, part) in enumerate(parts.groupby("algorithm")):
            for what, fill in (("mean", None), ("variance", "none")):
                chosen = part[part["what"] == what]
                x = [list(SYMBOLS).index(p) + 0.18 * (number - 1.5) for p in chosen["place"]]
                label = algorithm if what == "mean" else None
                look = {"color": CYCLE[number], "mfc": fill or CYCLE[number], "label": label}
                axis.plot(x, rows.loc[chosen.index, "z"], MARKERS[number], **look)
        for level in (-LARGEST_Z, LARGEST_Z):
            axis.axhline(level, color=GREY, lw=0.8, ls="--")
        axis.axhline(0, color=GREY, lw=0.8, zorder=0)
        axis.set_xticks(range(len(SYMBOLS)), SYMBOLS.values())
        axis.set_title(f"Table {artefact[-1]}", loc="left")
        axis.set_ylim(-4.5, 4.5)
    panels[0].set_ylabel("(ours $-$ printed) / standard error")
    handles, labels = panels[0].get_legend_handles_labels()
    for fill, name in ((BLACK, "mean"), ("none", "variance")):
        handles += panels[0].plot([], [], "o", color=BLACK, mfc=fill)
        labels.append(name)
    figure.legend(handles, labels, loc="outside upper center", ncols=6)
    return figure
