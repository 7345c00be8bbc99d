"""Figures of Raim (2021) and of what goes beyond it."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from scipy.special import stdtrit

from ...style import BLACK, BLUE, DOUBLE, GREEN, GREY, MARKERS, ORANGE, PINK, RED, SKY, interval, letters, log_scale
from .geweke_level import BATCHES, PASSED
from .labels import METHODS, PARAMETERS, TARGETS
from .method_figures import accept_reject, descent, step_functions, weight_functions, weighted_density
from .target_figures import sampler_accuracy, xi_mean, xi_sse

__all__ = [
    "accept_reject",
    "coverage",
    "descent",
    "geweke",
    "gibbs_posteriors",
    "gibbs_traces",
    "other_noises",
    "release_designs",
    "sampler_accuracy",
    "step_functions",
    "weight_functions",
    "weighted_density",
    "xi_mean",
    "xi_sse",
]


def gibbs_traces(table: pd.DataFrame) -> Figure:
    """mu, sigma2 and the number of uncensored records against the sweep."""
    figure = Figure(figsize=(DOUBLE, 4.2))
    panels = figure.subplots(3, 1, sharex=True)
    censored = table.assign(censored=table["s_low"] + table["s_high"])
    names = {**PARAMETERS, "censored": r"$s_\ell+s_u$"}
    for axis, (column, name) in zip(panels, names.items(), strict=True):
        for method, rows in censored.groupby("method", sort=False):
            label, colour = METHODS[str(method)]
            axis.plot(rows["sweep"], rows[column], color=colour, lw=0.8, label=label)
        axis.set_ylabel(name)
    for axis in panels[1:]:
        log_scale(axis)
    panels[-1].set_xlabel("sweep")
    panels[0].legend(loc="upper left", bbox_to_anchor=(1, 1))
    letters(panels)
    return figure


def gibbs_posteriors(table: pd.DataFrame) -> Figure:
    """Posterior histograms of the methods that converge; a diverged one is named, not drawn."""
    figure = Figure(figsize=(DOUBLE, 2.4))
    panels = figure.subplots(1, 2)
    gone = table[(table["statistic"] == "diverged") & (table["y"] > 0)]["method"].unique()
    for axis, (parameter, name) in zip(panels, PARAMETERS.items(), strict=True):
        for method, rows in table[(table["parameter"] == parameter) & (table["kind"] == "histogram")].groupby(
            "method", sort=False
        ):
            label, colour = METHODS[str(method)]
            if method in gone:
                axis.plot([], [], color=colour, label=f"{label}: diverged, not drawn")
                continue
            edges, heights = rows["x"].to_numpy(), rows["y"].to_numpy()
            filled = {"fill": True, "alpha": 0.4} if method == "corrected" else {"lw": 1}
            axis.stairs(heights[:-1], edges, color=colour, label=label, **filled)
        axis.set(xlabel=name, ylim=(0, None))
    panels[0].set_ylabel("posterior density")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    letters(panels)
    return figure


def geweke(table: pd.DataFrame) -> Figure:
    """z of every moment by method."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    axis = figure.subplots()
    groups = list(table.groupby(["method", "limits"], sort=False))
    bound = float(-stdtrit(BATCHES - 1, PASSED / (2 * table["moment"].nunique())))  # of Student's t
    axis.axvspan(-bound, bound, color=GREY, alpha=0.35, lw=0)
    for place, ((method, _), rows) in enumerate(groups):
        axis.plot(rows["z"], np.full(len(rows), place), "o", color=METHODS[str(method)][1], mfc="none")
    axis.set_yticks(range(len(groups)), [f"{METHODS[str(m)][0]}, {limits}" for (m, limits), _ in groups])
    axis.invert_yaxis()
    axis.set_xscale("asinh", linear_width=2 * bound)  # linear over all that is near the bound
    reach = 1.3 * max(30.0, table["z"].abs().max())
    axis.set_xlim(max(-reach, min(-6.0, 1.3 * table["z"].min())), reach)
    shown = [t for t in (-100, -30, -10, -5, 0, 5, 10, 30, 100) if axis.get_xlim()[0] <= t <= reach]
    axis.set_xticks(shown, [str(t) for t in shown])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel(
        f"$z$ of five moments of $(\\mu,\\sigma^2)$, asinh scale; grey: $|z|<{bound:.2f}$, all five inside at level"
        f" {PASSED:g}"
    )
    return figure


def coverage(table: pd.DataFrame) -> Figure:
    """Coverage of 95 % intervals, and their length."""
    figure = Figure(figsize=(DOUBLE, 3.2))
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    epsilons = sorted(table["epsilon"].dropna().unique())
    ticks = [f"$\\epsilon={e:g}$" for e in epsilons] + ["none"]
    places = {e: i for i, e in enumerate(epsilons)}
    methods = list(dict.fromkeys(table["method"]))
    for column, (parameter, name) in zip(panels.T, PARAMETERS.items(), strict=True):
        for number, method in enumerate(methods):
            rows = table[(table["method"] == method) & (table["parameter"] == parameter)]
            x = rows["epsilon"].map(places).fillna(len(epsilons)) + 0.14 * (number - (len(methods) - 1) / 2)
            if method == "without privacy":
                x = np.full(len(rows), float(len(epsilons)))
            label, colour = METHODS[str(method)]
            style: dict[str, Any] = {"color": colour, "marker": MARKERS[number], "ls": "", "label": label}
            for axis, what in zip(column, ("coverage", "length"), strict=True):
                interval(axis, x, rows[what], rows[f"{what}_lower"], rows[f"{what}_upper"], **style)
        column[0].axhline(0.95, color=GREY, lw=0.8, zorder=0)
        column[0].set_title(name)
        log_scale(column[1])
        column[1].set_xticks(range(len(ticks)), ticks)
    panels[0, 0].set_ylabel("coverage of 95 % interval\n(Wilson's 95 % interval)")
    panels[1, 0].set_ylabel("median length\n(95 % interval)")
    panels[0, 1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    letters(panels.ravel())
    return figure


def release_designs(table: pd.DataFrame) -> Figure:
    """Posterior standard deviation by what is released."""
    figure = Figure(figsize=(DOUBLE, 2.5))
    panels = figure.subplots(1, 2)
    designs = [d for d in dict.fromkeys(table["design"]) if d != "without privacy"]
    for axis, (parameter, name) in zip(panels, PARAMETERS.items(), strict=True):
        rows = table[table["parameter"] == parameter]
        for design, colour, marker in zip(designs, (RED, BLUE, PINK, GREEN), MARKERS, strict=False):
            of = rows[rows["design"] == design]
            axis.loglog(of["epsilon"], of["sd"], marker, color=colour, mfc="none", ms=2, mew=0.5, alpha=0.6)
            axis.loglog(of.groupby("epsilon")["sd"].median(), marker + "-", color=colour, label=design)
        axis.axhline(
            rows[rows["design"] == "without privacy"]["sd"].median(),
            color=BLACK,
            ls="--",
            lw=0.8,
            label="without privacy",
        )
        log_scale(axis, "x", rows["epsilon"])
        log_scale(axis)
        axis.set(xlabel=r"$\epsilon$", ylabel=f"posterior sd of {name}")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    letters(panels)
    return figure


def other_noises(table: pd.DataFrame) -> Figure:
    """Draws under four noises of equal variance."""
    figure = Figure(figsize=(DOUBLE, 2.4))
    panels = figure.subplots(1, 2)
    for axis, (target, name) in zip(panels, TARGETS.items(), strict=True):
        rows = table[(table["target"] == target) & (table["kind"] == "histogram")]
        looks = ((BLACK, "-"), (SKY, "--"), (RED, "-"), (ORANGE, "--"))  # dashed: whole numbers
        for (noise, bars), (colour, line) in zip(rows.groupby("noise", sort=False), looks, strict=False):
            look = {"color": colour, "ls": line, "lw": 1, "label": noise}
            axis.stairs(bars["y"].to_numpy()[:-1], bars["x"].to_numpy(), **look)
        axis.set(xlabel=name + (r", $s_c=1$" if target == "xi_mean" else ""), ylim=(0, None))
    panels[0].set_ylabel("density of the draws")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    letters(panels)
    return figure
