"""Figures of posteriors, and of the methods beside the paper's."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...style import BLACK, BLUE, DOUBLE, GREEN, GREY, MARKERS, ORANGE, RED, SKY, interval, letters, log_scale

RELEASES = {
    "Algorithm 1 (ind)": ORANGE,
    "Algorithm 1 (summed)": GREEN,
    "Algorithm 2": SKY,
    "Algorithm 3": BLUE,
    "noisy counts": BLACK,
}


def windows(table: pd.DataFrame) -> Figure:
    """Highest probabilities against the window; for algorithm 2 also close up, where the printed digits are decided."""
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
    close.set_title("Algorithm 2, close up")
    for axis in (second, close):
        axis.axhline(0.025, color=BLACK, lw=0.6, ls=":")
    second.set_ylabel("posterior probability")
    last = int(table["row"].max())
    for look, name in (
        ({"color": BLUE, "marker": "o"}, f"rows 1 to {last // 2}"),
        ({"color": RED, "marker": "s", "mfc": "none"}, f"rows {last // 2 + 1} to {last}"),
        ({"color": BLACK, "ls": ":"}, "prints as 0.03 above, 0.02 below"),
        ({"color": GREY, "ls": "--"}, "no window"),
    ):
        second.plot([], [], ms=3, lw=0.8, label=name, **look)
    figure.legend(*second.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    letters((second, close, third))
    return figure


def precision(table: pd.DataFrame) -> Figure:
    """Posterior laws of a component and of the total by release: steps, since counts are whole."""
    figure = Figure(figsize=(DOUBLE, 2.9))
    panels = figure.subplots(1, 2)
    looks = (("-", 2.6), ("--", 1.8), (":", 1.6), ("-", 1.2), ("-", 1.0))  # curves that coincide stay visible
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
    """Posterior mean minus true count with interval, by release."""
    names = list(dict.fromkeys(table["release"]))
    figure = Figure(figsize=(DOUBLE, 4.2))
    panels = figure.subplots(2, 2, sharex=True).ravel()
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
        axis.set_title(f"{name}: {len(rows) - missed.sum()} of {len(rows)} intervals hold", loc="left")
    for axis in panels[::2]:
        axis.set_ylabel("posterior mean $-$ true count\n(linear within ±10, then log)")
    for axis in panels[2:]:
        axis.set_xlabel("component, in rising order of its count")
    letters(panels)
    return figure


def comparison(table: pd.DataFrame) -> Figure:
    """RMSE over all components (also close up), and spread and bias at the largest, by method and example."""
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
    labels = ("RMSE, all counts", "RMSE, close up", "sd at $N_{max}$", "bias at $N_{max}$")
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
