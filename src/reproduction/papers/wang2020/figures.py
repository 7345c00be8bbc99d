"""Figures of Wang (2020) and of what goes beyond it."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...style import BLACK, BLUE, CYCLE, DOUBLE, GREEN, GREY, MARKERS, ORANGE, RED, SINGLE, SKY, letters

SYMBOLS = {
    "N_min": r"$N_{min}$",
    "N_q1": r"$N_{q1}$",
    "N_med": r"$N_{med}$",
    "N_q3": r"$N_{q3}$",
    "N_max": r"$N_{max}$",
}
RELEASES = {
    "Algorithm 1 (ind)": ORANGE,
    "Algorithm 1 (summed)": GREEN,
    "Algorithm 2": SKY,
    "Algorithm 3": BLUE,
    "noisy counts": BLACK,
}


def figure_1(table: pd.DataFrame) -> Figure:
    """Histogram of the true counts with the counts themselves below."""
    figure = Figure(figsize=(SINGLE, 2.4))
    axis = figure.subplots()
    axis.hist(table["count"], bins=np.arange(0, 1001, 50), color=SKY, edgecolor="white", lw=0.5)
    top = axis.get_ylim()[1]
    axis.plot(table["count"], np.full(len(table), -0.03 * top), "|", color=BLACK, ms=4, mew=0.6, clip_on=False)
    chosen = table[table["representative"] != ""]
    axis.plot(chosen["count"], np.full(len(chosen), 1.03 * top), "v", color=RED, clip_on=False)
    for count, name in chosen[["count", "representative"]].to_numpy():
        left = name == "N_q1"  # stands close to the minimum
        axis.text(
            count - 20 * left, 1.08 * top, SYMBOLS[name], ha="left" if left else "center", va="bottom", fontsize=7
        )
    axis.set(xlabel="true count $N_s$", ylabel="number of components", ylim=(-0.06 * top, 1.2 * top), xlim=(-30, 1000))
    axis.spines["left"].set_bounds(0, top)
    axis.set_yticks([t for t in axis.get_yticks() if 0 <= t <= top and t == int(t)])
    return figure


def tie_rules(table: pd.DataFrame) -> Figure:
    """Bias and variance of algorithm 3 by tie rule."""
    rules = {"first": "lowest index", "last": "highest index", "random": "random", "ieee": "rounding (as written)"}
    figure = Figure(figsize=(DOUBLE, 2.5))
    panels = figure.subplots(1, 2)
    for number, (rule, label) in enumerate(rules.items()):
        rows = table[table["ties"] == rule].reset_index(drop=True)
        x = np.arange(len(rows)) + 0.18 * (number - 1.5)
        for axis, what, true in zip(panels, ("mean", "variance"), (rows["true"], 0), strict=True):
            look = {"color": CYCLE[number], "marker": MARKERS[number], "ls": ""}
            axis.errorbar(x, rows[what] - true, 2 * rows[f"{what}_se"], mfc="none", label=label, lw=0.8, **look)
            axis.plot(x, rows[f"exact_{what}"] - true, ms=2, **look)
    panels[0].axhline(0, color=GREY, lw=0.8, zorder=0)
    panels[1].set_yscale("log")
    panels[1].set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    panels[1].minorticks_off()
    names = [f"{SYMBOLS[r]} = {t}" for r, t in table[["representative", "true"]].drop_duplicates().to_numpy()]
    for axis, label in zip(panels, ("mean $-$ true count", "variance"), strict=True):
        axis.set_xticks(range(len(names)), names, fontsize=6)
        axis.set_ylabel(label)
    panels[0].legend(loc="upper left")
    letters(panels)
    return figure


def windows(table: pd.DataFrame) -> Figure:
    """Highest probabilities against the window."""
    figure = Figure(figsize=(DOUBLE, 2.4))
    panels = figure.subplots(1, 2)
    for axis, (algorithm, rows) in zip(panels, table.groupby("algorithm"), strict=True):
        finite = rows[rows["window"].notna()]
        last = rows["row"].max()
        for number in sorted(rows["row"].unique()):
            line = finite[finite["row"] == number]
            end = number in (1, last)
            axis.plot(line["window"], line["probability"], color=BLUE if end else SKY, lw=1.2 if end else 0.6)
            unlimited = rows.loc[(rows["row"] == number) & rows["window"].isna(), "probability"].item()
            axis.hlines(
                unlimited, finite["window"].min(), finite["window"].max(), color=GREY, lw=0.5, ls="--", zorder=0
            )
            if end:
                axis.annotate(f"row {number}", (line["window"].iloc[0], line["probability"].iloc[0]), (-3, 0),
                              textcoords="offset points", ha="right", va="center", fontsize=6)  # fmt: skip
        axis.set_title(algorithm, loc="left")
        width = finite["window"].max() - finite["window"].min()
        axis.set(xlabel="window (true counts and noise within $\\pm$)", ylabel="posterior probability", ylim=(0, None))
        axis.set_xlim(finite["window"].min() - 0.16 * width, None)
    panels[0].axhline(0.025, color=RED, lw=0.6, ls=":", label="prints as 0.03 above, as 0.02 below")
    panels[0].plot([], [], color=GREY, ls="--", lw=0.8, label="no window")
    panels[0].legend(loc="upper right")
    return figure


def precision(table: pd.DataFrame) -> Figure:
    """Posterior laws of a component and of the total by release."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    panels = figure.subplots(1, 2)
    looks = (("-", 2.6), ("--", 1.8), (":", 1.6), ("-", 1.2), ("-", 1.0))  # curves that coincide stay visible
    for axis, (quantity, label) in zip(panels, (("N1", "$N_1$"), ("N", "$N$")), strict=True):
        for (release, colour), (style, width) in zip(RELEASES.items(), looks, strict=True):
            rows = table[(table["quantity"] == quantity) & (table["release"] == release)]
            name = f"{release}: sd {rows['sd'].iloc[0]:.2f}"
            axis.plot(rows["value"], rows["probability"], style, color=colour, lw=width, label=name)
        centre = table.loc[table["quantity"] == quantity, "mean"].iloc[-1]
        reach = 3.7 * table.loc[table["quantity"] == quantity, "sd"].max() + 2
        axis.set(xlabel=label, ylabel="posterior probability", yscale="log", ylim=(1e-5, 300))
        axis.set_xlim(centre - reach, centre + reach)
        axis.set_yticks([1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1])
        axis.minorticks_off()
        axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axis.legend(loc="upper left", fontsize=6, handlelength=2.5)
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
        for where, colour in ((~missed, BLUE), (missed, RED)):
            part = rows[where]
            low, high = part["mean"] - part["lower"], part["upper"] - part["mean"]
            axis.errorbar(part.index + 1, gap[where], np.maximum([low, high], 0), fmt="o", ms=2, lw=0.7, color=colour)
        axis.axhline(0, color=GREY, lw=0.8, zorder=0)
        axis.set_yscale("symlog", linthresh=10)
        axis.set_yticks([-40, -20, -10, -5, 0, 5, 10, 20, 40], ["−40", "−20", "−10", "−5", "0", "5", "10", "20", "40"])
        axis.minorticks_off()
        axis.set(ylim=(-80, 80))
        axis.set_title(f"{name}: {len(rows) - missed.sum()} of {len(rows)} intervals hold", loc="left")
    for axis in panels[::2]:
        axis.set_ylabel("posterior mean $-$ true count")
    for axis in panels[2:]:
        axis.set_xlabel("component, in rising order of its count")
    letters(panels)
    return figure


def comparison(table: pd.DataFrame) -> Figure:
    """RMSE over all components, and spread and bias at the largest, by method and example."""
    methods = list(dict.fromkeys(table["method"]))[::-1]
    examples = list(dict.fromkeys(table["example"]))
    figure = Figure(figsize=(DOUBLE, 0.9 + 0.28 * len(methods)))
    left, right = figure.subplots(1, 2, sharey=True)
    for number, example in enumerate(examples):
        rows = table[table["example"] == example].set_index("method").loc[methods]
        y = np.arange(len(methods)) + 0.16 * (0.5 - number) * 2
        look = {"color": (BLUE, RED)[number], "marker": MARKERS[number], "ls": "", "lw": 0.8}
        name = example.replace("example_", "Example ")
        left.errorbar(rows["rmse"], y, xerr=2 * rows["rmse_se"], label=name, **look)
        sd = np.sqrt(rows["variance"])
        right.errorbar(sd, y, xerr=rows["variance_se"] / sd, label=f"{name}: sd", **look)
        right.plot(rows["bias"].abs().clip(lower=0.012), y, mfc="none", **look, label=f"{name}: |bias|")
    for axis, label in zip((left, right), ("RMSE over all components", r"at $N_{max}$"), strict=True):
        axis.set(xscale="log", xlabel=label)
        axis.grid(axis="x", color=GREY, lw=0.4)
    left.set_xlim(1, 30)
    left.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    left.minorticks_off()
    right.set_xlim(0.01, 50)
    right.set_xticks([0.01, 0.1, 1, 10], ["< 0.01", "0.1", "1", "10"])
    names = [m.replace(", largest", ",\nlargest").replace(", their", ",\ntheir") for m in methods]
    left.set_yticks(range(len(methods)), names, fontsize=6.5)
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=4)
    return figure


def calibration(table: pd.DataFrame) -> Figure:
    """PIT histograms: one column per release, components above totals."""
    methods, quantities = list(dict.fromkeys(table["method"])), list(dict.fromkeys(table["quantity"]))
    figure = Figure(figsize=(DOUBLE, 3.0))
    panels = figure.subplots(len(quantities), len(methods), sharex=True, sharey=True, squeeze=False)
    for row, quantity in enumerate(quantities):
        for column, method in enumerate(methods):
            axis = panels[row, column]
            bars = table[(table["quantity"] == quantity) & (table["method"] == method)]
            axis.axhspan(bars["lower"].iloc[0], bars["upper"].iloc[0], color=GREY, alpha=0.6, lw=0)
            edges = np.append(bars["bin"], 1.0)
            axis.plot(np.repeat(edges, 2)[1:-1], np.repeat(bars["density"].to_numpy(), 2), color=BLUE)
            if row == 0:
                axis.set_title(method)
        panels[row, 0].set_ylabel(f"{quantity}\ndensity")
    for axis in panels[-1]:
        axis.set(xlabel="PIT of the true value", xlim=(0, 1), ylim=(0, None))
    return figure


def privacy(table: pd.DataFrame) -> Figure:
    """Delta against the claimed epsilon."""
    figure = Figure(figsize=(SINGLE, 2.3))
    axis = figure.subplots()
    styles = ((SKY, "-"), (BLUE, "--"))
    for (counts, rows), (colour, line) in zip(table.groupby("counts", sort=False), styles, strict=True):
        shown = rows.sort_values("claimed")
        axis.plot(shown["claimed"], shown["delta"], line, color=colour, label=counts)
    axis.set(xlabel=r"claimed $\varepsilon$", ylabel=r"smallest $\delta$", ylim=(0, None))
    for _, rows in table.groupby("counts", sort=False):
        for place in rows[rows["delta"] < 1e-9].nsmallest(1, "claimed").itertuples():
            axis.plot(place.claimed, place.delta, "o", color=BLACK, ms=3, clip_on=False)
            axis.annotate(rf"$\delta$ = {place.delta:.1e}", (place.claimed, place.delta), (5, 5),
                          textcoords="offset points", fontsize=6)  # fmt: skip
    axis.legend(loc="upper right")
    return figure


def agreement(table: pd.DataFrame) -> Figure:
    """z of every printed mean and variance of the two simulation tables."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    panels = figure.subplots(1, 2, sharey=True)
    for axis, artefact in zip(panels, ("table_1", "table_3"), strict=True):
        rows = table[table["artefact"] == artefact]
        parts = rows["quantity"].str.extract(r"^(?P<algorithm>.*), (?P<place>N_\w+): (?P<what>\w+)$")
        for number, (algorithm, part) in enumerate(parts.groupby("algorithm")):
            for what, fill in (("mean", None), ("variance", "none")):
                chosen = part[part["what"] == what]
                x = [list(SYMBOLS).index(p) + 0.18 * (number - 1.5) for p in chosen["place"]]
                label = algorithm if what == "mean" else None
                look = {"color": CYCLE[number], "mfc": fill or CYCLE[number], "label": label}
                axis.plot(x, rows.loc[chosen.index, "z"], MARKERS[number], **look)
        for level in (-3, 3):
            axis.axhline(level, color=GREY, lw=0.8, ls="--")
        axis.axhline(0, color=GREY, lw=0.8, zorder=0)
        axis.set_xticks(range(len(SYMBOLS)), SYMBOLS.values())
        axis.set_title(f"Table {artefact[-1]}", loc="left")
        axis.set_ylim(-4, 4)
    panels[0].set_ylabel("(ours $-$ printed) / standard error")
    handles, labels = panels[0].get_legend_handles_labels()
    for fill, name in ((BLACK, "mean"), ("none", "variance")):
        handles += panels[0].plot([], [], "o", color=BLACK, mfc=fill)
        labels.append(name)
    figure.legend(handles, labels, loc="outside upper center", ncols=6)
    return figure


def scenario(table: pd.DataFrame) -> Figure:
    """A user's scenario: how far the true counts are from the released ones, by component and for the total."""
    other = table["quantity"].str.startswith("total, if the prior")
    own, others = table[~other], table[other]
    shown = own if len(own) <= 61 else pd.concat([own.head(60), own.tail(1)])
    shown = pd.concat([shown, others], ignore_index=True)
    figure = Figure(figsize=(SINGLE, 1.4 + 0.17 * len(shown)))
    axis = figure.subplots()
    y = np.arange(len(shown))[::-1]
    gap = shown[["lower", "mean", "upper"]].sub(shown["released"], axis=0)
    axis.axvline(0, color=RED, lw=0.8)
    axis.hlines(y, gap["lower"], gap["upper"], color=BLUE, lw=1)
    axis.plot(gap["mean"], y, "o", color=BLUE)
    axis.set_yticks(y, [f"{_short(row.quantity)}: {row.released:.0f}" for row in shown.itertuples()])
    rest = "" if len(own) + len(others) == len(shown) else f" (first 60 of {len(own) - 1})"
    axis.set_title(f"quantity: released count{rest}", loc="left")
    axis.set_ylim(-0.7, len(shown) - 0.3)
    first = own.iloc[0]
    axis.set_xlabel(
        f"true count $-$ released count\n(posterior mean and central {first['level']:.0%} interval; {first['status']})"
    )
    if str(first["note"]).startswith("rehearsal"):
        words = str(first["note"]).partition(";")[0] + ";\n" + "not a release"
        figure.text(0.5, 1.0, words, color=RED, ha="center", va="bottom", fontsize=7)
    return figure


def _short(quantity: str) -> str:
    return quantity.replace("total, if the prior were", "total,")
