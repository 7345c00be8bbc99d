"""Plot the figures of Pan, Li and Li (2023), and additional figures that extend the slides."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...style import (
    BLACK,
    BLUE,
    CYCLE,
    DOUBLE,
    GRADED,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PINK,
    RED,
    SKY,
    interval,
    letters,
    log_scale,
)
from .privacy import ALL_CLASSES


def privacy_loss(table: pd.DataFrame) -> Figure:
    """Plot the privacy cost of swapping, and the association that remains after swapping. The stated and the exact
    epsilon are plotted against the rate, and the privacy cost of one exchange is plotted against n.
    """
    figure = Figure(figsize=(DOUBLE, 2.9))
    first, second, third = figure.subplots(1, 3)
    rows = table[table["kind"] == "rate"]
    for size, colour, marker in zip(sorted(rows["group"].unique()), (BLUE, GREEN, RED, ORANGE), MARKERS, strict=False):
        look = {"color": colour, "marker": marker, "markevery": 0.2, "label": f"$b={size:g}$"}
        line = rows[rows["group"] == size].set_index("variant")
        stated, exact = line.loc[["as_written"]], line.loc[["corrected"]]
        first.plot(stated["x"], stated["y"], **look)
        first.plot(exact["x"], exact["y"], "--", lw=0.9, color=colour, label="_exact")
        paid = table[(table["kind"] == "association") & (table["group"] == size)]
        third.plot(paid["x"], paid["y"], **look)
    first.axvline(0.5, color=GREY, lw=0.8, zorder=0)
    first.annotate(
        "limit in the slides", (0.485, 0.01), xycoords=("data", "axes fraction"), ha="right", va="bottom", fontsize=6
    )
    first.set(xlabel="swap rate $p$", ylabel=r"$\varepsilon$ per record of distance", ylim=(0, 1.5 * rows["y"].max()))
    first.legend(
        loc="upper right",
        title="strata of $b$ records\nsolid: theorem\ndashed: exact",
        title_fontsize=6.5,
        fontsize=6.5,
    )
    _exchanges(second, table[table["kind"] == "exchange"])
    third.set(xlabel=r"remaining association $\lambda_1$", ylabel=r"exact $\varepsilon$ per record", ylim=(0, None))
    third.legend(title="strata of $b$ records", title_fontsize=6.5, fontsize=6.5)
    letters((first, second, third))
    return figure


def _exchanges(axis, audits: pd.DataFrame) -> None:
    """Plot the privacy cost of one exchange against the number of records, together with epsilon and twice epsilon."""
    rates = zip(sorted(audits["group"].unique()), (BLUE, GREEN, RED, ORANGE), MARKERS, strict=False)
    for rate, colour, marker in rates:
        for variant, dash, width in (("corrected", f"{marker}-", 1.2), ("as_written", "--", 0.9), ("twice", ":", 0.9)):
            line = audits[(audits["group"] == rate) & (audits["variant"] == variant)]
            label = f"$p={rate:g}$" if variant == "corrected" else None
            axis.plot(line["x"], line["y"], dash, color=colour, lw=width, ms=2.5, label=label)
            if variant == "corrected":
                shown = line[line["x"] > ALL_CLASSES]
                reach = 0.05 * audits["y"].max()
                look = {"color": colour, "mfc": "white", "lw": 0.8, "label": "_bound"}
                axis.errorbar(shown["x"], shown["y"], reach, fmt=marker, lolims=True, **look)
    log_scale(axis, "x")
    top = 1.25 * audits["y"].max()
    axis.set(xlabel="records in a 2 × 2 table", ylabel="loss of one exchange", ylim=(0, top))
    handles = [*axis.get_legend_handles_labels()[0]]
    handles += [
        Line2D([], [], color=BLACK, ls=d, lw=0.9, label=t)
        for d, t in (("--", r"$\varepsilon$"), (":", r"$2\varepsilon$"))
    ]
    if (audits["x"] > ALL_CLASSES).any():
        handles.append(Line2D([], [], color=BLACK, ls="", marker=r"$\uparrow$", ms=5, label="lower bound"))
    axis.legend(handles=handles, fontsize=6.5, ncols=2, handlelength=1.4, columnspacing=0.8)


__all__ = [
    "abc_posterior",
    "closer_or_farther",
    "coverage",
    "log_phi",
    "phi_by_rate",
    "phi_density",
    "privacy_loss",
]

PHI = r"$\phi=\theta_1\theta_4/(\theta_2\theta_3)$"


def phi_density(table: pd.DataFrame) -> Figure:
    """Plot the density of the odds ratio phi before swapping, and the pooled and the exact density after swapping.
    There is one column of panels per theta* and one row per number of records.
    """
    thetas, totals = list(dict.fromkeys(table["theta"])), list(dict.fromkeys(table["total"]))
    figure = Figure(figsize=(DOUBLE, 2.1 * len(totals) + 0.4))
    panels = figure.subplots(len(totals), len(thetas), squeeze=False)
    for (i, total), (j, theta) in ((r, c) for r in enumerate(totals) for c in enumerate(thetas)):
        rows = table[(table["theta"] == theta) & (table["total"] == total)]
        _density_panel(panels[i, j], rows)
        panels[i, j].set_title(rf"$\theta^*=${theta}, $n={total}$", loc="left")
    for axis in panels[-1]:
        axis.set_xlabel(PHI)
    for axis in panels[:, 0]:
        axis.set_ylabel("density")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _density_panel(axis, rows: pd.DataFrame) -> None:
    kinds = dict(iter(rows.groupby("kind")))
    single = rows[rows["x"].isna()].set_index("kind")["y"]
    bars = kinds["swapped"]
    axis.stairs(bars["y"], _edges(bars["x"]), fill=True, color=ORANGE, alpha=0.45, label="swapped, simulated")
    axis.plot(kinds["original"]["x"], kinds["original"]["y"], color=BLUE, lw=2, label="original")
    axis.plot(kinds["swapped exact"]["x"], kinds["swapped exact"]["y"], color=RED, lw=1, label="swapped, exact mixture")
    one = kinds["one swap"]
    axis.plot(one["x"], one["y"], color=BLACK, lw=1, ls=(0, (5, 3)), zorder=4, label="after a single swap")
    marks = ((1.0, GREY, "-", "independence"), (single["phi"], BLUE, ":", r"$\phi$ of the original table"))
    for x, colour, dash, label in (*marks, (single["limit"], RED, ":", r"limit for $n\to\infty$")):
        axis.axvline(x, color=colour, ls=dash, lw=0.8, label=label, zorder=0)
    axis.set_ylim(0)
    axis.set_xlim(_end(kinds["original"], bars))


def _edges(left: pd.Series) -> np.ndarray:
    ends = left.to_numpy()
    return np.append(ends, 2 * ends[-1] - ends[-2])


def _end(*curves: pd.DataFrame) -> tuple[float, float]:
    """Return the range of the horizontal axis in which at least one curve is above one hundredth of its maximum."""
    seen = [c["x"][c["y"] > 0.01 * c["y"].max()] for c in curves]
    return min(s.min() for s in seen), max(s.max() for s in seen)


def phi_by_rate(table: pd.DataFrame) -> Figure:
    """Plot the density of the odds ratio phi for every swap rate. There is one column of panels per vector theta* of
    cell probabilities, and one row of panels per number of records. Below them, plot the median against the rate, with
    its limit.
    """
    thetas, totals = list(dict.fromkeys(table["theta"])), list(dict.fromkeys(table["total"]))
    rates = sorted(table["rate"].unique())
    colours = dict(zip(rates, GRADED if len(rates) <= len(GRADED) else CYCLE * 9, strict=False))
    figure = Figure(figsize=(DOUBLE, 1.7 * (len(totals) + 1) + 0.3))
    panels = figure.subplots(len(totals) + 1, len(thetas), squeeze=False)
    for j, theta in enumerate(thetas):
        for i, total in enumerate(totals):
            axis = panels[i, j]
            rows = table[(table["theta"] == theta) & (table["total"] == total)]
            density = rows[rows["kind"] == "density"]
            for rate, line in density.groupby("rate"):
                axis.plot(line["x"], line["y"], color=colours[rate], lw=1)
            axis.axvline(1, color=GREY, lw=0.8, zorder=0)
            axis.set(xlim=_end(*(line for _, line in density.groupby("rate"))), xlabel=r"$\phi$")
            axis.set_ylim(0)
            axis.set_title(rf"$\theta^*=${theta}, $n={total}$", loc="left", fontsize=7)
        _median_panel(panels[-1, j], table[table["theta"] == theta], totals)
    for axis in panels[:-1, 0]:
        axis.set_ylabel("density")
    panels[-1, 0].set_ylabel(r"median of $\phi$")
    handles = [Line2D([], [], color=c, label=f"$p={r:g}$") for r, c in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(rates))
    return figure


def _median_panel(axis, rows: pd.DataFrame, totals: list[int]) -> None:
    for total, colour, marker in zip(totals, (BLUE, ORANGE, GREEN, PINK), MARKERS, strict=False):
        chosen = rows[rows["total"] == total]
        medians = chosen[chosen["kind"] == "median"]
        axis.plot(medians["rate"], medians["y"], marker, color=colour, mfc="none", label=f"$n={total}$")
    limit = rows[(rows["kind"] == "limit") & (rows["total"] == totals[0])]
    axis.plot(limit["rate"], limit["y"], color=BLACK, lw=0.8, label=r"$n\to\infty$")
    axis.axhline(1, color=GREY, lw=0.8, zorder=0)
    axis.set_xlabel("swap rate $p$")
    axis.legend(handlelength=1.2)


def closer_or_farther(table: pd.DataFrame) -> Figure:
    """Plot the probability that a single swap moves the odds ratio phi away from 1, as a function of the number of
    records n. There is one panel per theta*.
    """
    thetas, rates = list(dict.fromkeys(table["theta"])), sorted(table["rate"].unique())
    figure = Figure(figsize=(DOUBLE, 2.6))
    panels = figure.subplots(1, len(thetas), sharey=True, squeeze=False)[0]
    for axis, theta in zip(panels, thetas, strict=True):
        for i, (rate, colour, marker) in enumerate(zip(rates, (BLUE, GREEN, RED, ORANGE, PINK), MARKERS, strict=False)):
            aside = 1.03 ** (2 * i + 1 - len(rates))  # horizontal offset, so that error bars do not overlap
            rows = table[(table["theta"] == theta) & (table["rate"] == rate)]
            fixed, drawn = rows[rows["data"] == "fixed"], rows[rows["data"] == "random"]
            axis.plot(fixed["total"], fixed["farther"], marker + "-", color=colour, label=f"$p={rate:g}$")
            axis.errorbar(
                aside * drawn["total"],
                drawn["farther"],
                2 * drawn["mc_se"],
                fmt=marker,
                color=colour,
                mfc="white",
                lw=0.8,
            )
        axis.set_xlabel("number of records $n$")
        log_scale(axis, "x", table["total"])
        axis.set_title(rf"$\theta^*=${theta}", loc="left")
        axis.set_ylim(-0.006)
    panels[0].set_ylabel(r"P(one swap moves $\phi$ away from 1)")
    kinds = [Line2D([], [], color=BLACK, marker="o", label=r"$X=n\theta^*$, exact")]
    kinds.append(Line2D([], [], color=BLACK, marker="o", mfc="white", ls="", label="$X$ random (bars: 2 s.e.)"))
    panels[-1].legend(handles=[*panels[-1].get_legend_handles_labels()[0][: len(rates)], *kinds])
    letters(panels)
    return figure


def abc_posterior(table: pd.DataFrame) -> Figure:
    """Plot the accepted draws, the exact densities and the naive densities of the four cell probabilities."""
    single = table[table["x"].isna()].set_index("kind")["y"]
    names = [name for name in dict.fromkeys(table["quantity"]) if name]
    figure = Figure(figsize=(DOUBLE, 3.7))
    panels = figure.subplots(2, 2, sharex=True).ravel()
    accepted = f"{single['number accepted']:,.0f} draws accepted of {single['iterations']:,.0f}"
    for i, (axis, name) in enumerate(zip(panels, names, strict=True)):
        kinds = dict(iter(table[table["quantity"] == name].groupby("kind")))
        bars = kinds["accepted"]
        axis.stairs(bars["y"], _edges(bars["x"]), fill=True, color=SKY, alpha=0.6, label=accepted)
        edges = _edges(bars["x"])
        error = 2 * np.sqrt(bars["y"] / (single["number accepted"] * np.diff(edges)))
        middle = (edges[:-1] + edges[1:]) / 2
        axis.errorbar(middle, bars["y"], error, fmt="none", ecolor=BLUE, elinewidth=0.6, label="2 standard errors")
        axis.plot(kinds["exact"]["x"], kinds["exact"]["y"], color=BLACK, label="exact posterior")
        axis.plot(kinds["naive"]["x"], kinds["naive"]["y"], color=RED, ls="--", label="naive Dirichlet posterior")
        axis.set(xlim=(0, 0.9), ylabel="density", ylim=(0, None))
        axis.annotate(rf"$\theta_{i + 1}$", (0.97, 0.9), xycoords="axes fraction", ha="right", va="top", fontsize=10)
    for axis in panels[2:]:
        axis.set_xlabel("probability of the cell")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def log_phi(table: pd.DataFrame) -> Figure:
    """Plot the exact posterior of the log odds ratio for several swap rates, and compare each posterior with the
    accepted draws.
    """
    rates = sorted(table["rate"].unique())
    figure = Figure(figsize=(DOUBLE, 2.5))
    panels = figure.subplots(1, len(rates), sharex=True, sharey=True, squeeze=False)[0]
    colours = dict(zip(rates, (BLACK, BLUE, GREEN, RED, ORANGE, PINK), strict=False))
    for axis, rate in zip(panels, rates, strict=True):
        rows = table[table["rate"] == rate]
        if rate == 0:
            for other in rates:
                line = table[(table["rate"] == other) & table["kind"].isin(["naive", "exact"])]
                axis.plot(
                    line["x"],
                    line["y"],
                    color=colours[other],
                    ls="-" if other else "--",
                    label="naive (dashed)" if other == 0 else f"exact, $p={other:g}$",
                )
            axis.set_title("all", loc="left")
        else:
            bars, naive = rows[rows["kind"] == "accepted"], table[table["kind"] == "naive"]
            axis.stairs(bars["y"], _edges(bars["x"]), fill=True, color=SKY, alpha=0.6, label="accepted draws")
            exact = rows[rows["kind"] == "exact"]
            axis.plot(exact["x"], exact["y"], color=colours[rate])
            axis.plot(naive["x"], naive["y"], color=BLACK, ls="--", lw=0.8)
            axis.set_title(f"$p={rate:g}$", loc="left")
        axis.axvline(0, color=GREY, lw=0.8, zorder=0)
        axis.set(xlabel=r"$\log\,\phi$", ylim=(0, None))
    panels[0].set_ylabel("posterior density")
    handles = panels[0].get_legend_handles_labels()[0]
    handles += panels[-1].get_legend_handles_labels()[0][:1] if len(rates) > 1 else []
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def coverage(table: pd.DataFrame) -> Figure:
    """Plot the coverage of intervals for log phi against the number of records, with 95 % Wilson intervals as bars."""
    thetas, rates = list(dict.fromkeys(table["theta"])), sorted(table["rate"].unique())
    figure = Figure(figsize=(DOUBLE, 2.9))
    panels = figure.subplots(1, len(thetas), sharey=True, squeeze=False)[0]
    groups = [(method, rate) for method in dict.fromkeys(table["method"]) for rate in rates]
    for axis, theta in zip(panels, thetas, strict=True):
        for k, (method, rate) in enumerate(groups):
            chosen = (table["theta"] == theta) & (table["method"] == method) & (table["rate"] == rate)
            rows = table[chosen]
            aside = 1.03 ** (2 * k + 1 - len(groups))  # horizontal offset, so that bars do not overlap
            naive = method == "naive"
            look: dict[str, Any] = {
                "marker": MARKERS[rates.index(rate) % len(MARKERS)],
                "ls": "--" if naive else "-",
                "lw": 1,
            }
            look |= {"color": RED, "mfc": "white"} if naive else {"color": BLUE}
            ends = _wilson(rows["coverage"], rows["size"])
            label = f"{method}, $p={rate:g}$"
            interval(axis, aside * rows["total"], rows["coverage"], *ends, label=label, **look)
        axis.axhline(table["level"].iloc[0], color=BLACK, lw=0.8, ls=":", zorder=0)
        axis.set(xlabel="number of records $n$", ylim=(-0.02, 1.03))
        log_scale(axis, "x", table["total"])
        axis.set_title(rf"  $\theta^*=${theta}", loc="left")
    panels[0].set_ylabel(rf"coverage of {table['level'].iloc[0]:.0%} intervals for $\log\,\phi$")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=max(len(rates), 3))
    letters(panels)
    return figure


def _wilson(share: pd.Series, size: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return the limits of the 95 % Wilson interval for a proportion, widened if it does not contain the proportion."""
    z2 = 1.96**2
    middle = (share + z2 / (2 * size)) / (1 + z2 / size)
    half = 1.96 * np.sqrt(share * (1 - share) / size + z2 / (4 * size**2)) / (1 + z2 / size)
    return np.minimum(middle - half, share), np.maximum(middle + half, share)  # equal at 0 and 1 up to rounding
