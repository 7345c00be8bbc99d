"""Plot the figures of Raim (2021), and additional figures that extend the slides."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, NullLocator
from scipy.special import stdtrit

from ...style import (
    BLACK,
    BLUE,
    CYCLE,
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
from .gibbs import BATCHES, PASSED

_ROOM = 0.085  # positions within a panel between two numbers of knots


def _target(table: pd.DataFrame, name: str) -> Figure:
    """Plot the figure for one target density (xi_mean or xi_sse), with one row of panels per sensitivity Delta_s. The
    left panels show the draws and the exact density, and the right panels show the step function, as log P(A_u) against
    log u.
    """
    deltas = list(dict.fromkeys(table["delta_s"]))
    figure = Figure(figsize=(DOUBLE, 2.35 * len(deltas)))
    panels = figure.subplots(len(deltas), 3, squeeze=False)
    for row, delta in zip(panels, deltas, strict=True):
        of = table[table["delta_s"] == delta]
        bars = of[(of["variant"] == "corrected") & (of["kind"] == "histogram")]
        curve = of[(of["variant"] == "corrected") & (of["kind"] == "density")]
        row[0].bar(bars["x"], bars["y"], bars["bin_width"], align="edge", color=SKY, alpha=0.6, label="draws")
        row[0].plot(curve["x"], curve["y"], color=BLACK, label="exact density")
        row[0].set(xlabel=name, ylabel="density")
        row[0].xaxis.set_major_locator(MaxNLocator(4))
        row[0].set_title(rf"$\Delta_s={delta:g}$", loc="left")
        row[0].legend(loc="upper left", fontsize=6, handlelength=1)
        for axis, variant, title in (
            (row[1], "as_written", "$u_L$ as on the slides"),
            (row[2], "corrected", "$u_L$ used here"),
        ):
            kinds = dict(iter(of[of["variant"] == variant].groupby("kind")))
            _steps(axis, kinds["step"], kinds["area"])
            axis.set_title(title, loc="left")
            axis.set_xlabel(r"$-\log u$")
        row[1].set_ylabel(r"$\log P(A_u)$, $\log h^*(u)$")
        row[1].annotate("numbers: order\nof the knots", (0.05, 0.05), xycoords="axes fraction", fontsize=6, color=RED)
    letters(panels.ravel())
    return figure


def _steps(axis, steps: pd.DataFrame, area: pd.DataFrame) -> None:
    """Plot the step function from the lowest knot u_L to the highest knot u_H against -log u, on a reversed logarithmic
    scale. The position of each knot is shown in the order in which the knots were placed.
    """
    steps = steps.sort_values("x")
    finite = np.isfinite(steps["y"])
    floor = area["y"][area["x"] < -1e-3].min() - 0.3
    axis.plot(-area["x"], area["y"], color=BLACK, lw=0.8)
    smallest = -steps["x"][steps["x"] < 0].max() / 3
    x = np.append(-steps["x"][finite], smallest)
    axis.step(x, np.append(steps["y"][finite], steps["y"][finite].iloc[-1]), where="post", color=BLUE, lw=0.8)
    axis.set_xscale("log")
    axis.set_xlim(-steps["x"].min() * 2, smallest)
    top = steps["y"].max() + 0.08 * (steps["y"].max() - floor)
    axis.set_ylim(floor, top)
    last = np.array([np.inf, np.inf])
    extent = np.array([np.log(-steps["x"].min() * 2 / smallest), top - floor])
    for row in steps[finite].itertuples():
        step_places = np.array([np.log(-row.x), row.y]) / extent  # relative to the size of the panel
        if np.hypot(*(step_places - last)) < _ROOM:
            continue  # the number would overlap the previous number
        last = step_places
        look = {"textcoords": "offset points", "fontsize": 5, "color": RED, "ha": "left", "va": "bottom"}
        axis.annotate(f"{row.order:.0f}", (-row.x, row.y), (2, 1), **look)
    axis.plot(-steps["x"][finite], steps["y"][finite], ".", color=BLUE, ms=1.8)


def xi_mean(table: pd.DataFrame) -> Figure:
    """Plot the draws of xi_mean and the step functions of the sampler."""
    return _target(table, TARGETS["xi_mean"])


def xi_sse(table: pd.DataFrame) -> Figure:
    """Plot the draws of the noise xi_sse and the step functions of the sampler."""
    return _target(table, TARGETS["xi_sse"])


def sampler_accuracy(table: pd.DataFrame) -> Figure:
    """Plot rejection rates of the direct sampler against the number of knots N, for each rule for placing the knots.
    The figure shows the exact rate (line), the observed rate (marker) and the bound (dotted line).
    """
    figure = Figure(figsize=(DOUBLE, 2.6))
    panels = figure.subplots(1, 2, sharey=True)
    table = table[table["delta_s"] == table["delta_s"].iloc[0]]
    for axis, (target, name) in zip(panels, TARGETS.items(), strict=True):
        for (rule, rows), colour, marker in zip(
            table[table["target"] == target].groupby("rule", sort=False), CYCLE, MARKERS, strict=False
        ):
            adaptive = rows["mc_se"].isna().all()
            bars = 2 * rows["mc_se"].fillna(0)
            axis.errorbar(
                rows["knots"], rows["observed_rate"], bars, fmt=marker, color=colour, mfc="none", lw=0.8, label=rule
            )
            if adaptive:
                axis.loglog(rows["knots"], rows["observed_rate"], "-", color=colour, lw=0.8)
                continue
            axis.loglog(rows["knots"], rows["exact_rate"], "-", color=colour, lw=0.8)
            axis.loglog(rows["knots"], rows["bound"].clip(upper=1), ":", color=colour, lw=1)
        axis.set(xlabel="$N$", title=name)
        log_scale(axis, "x", table["knots"])
        log_scale(axis)
    panels[0].set_ylabel("probability of a rejection")
    for line, word in (("-", "exact"), (":", "bound")):
        panels[1].plot([], [], line, color=BLACK, lw=1, label=word)
    panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    letters(panels)
    return figure


def weighted_density(table: pd.DataFrame) -> Figure:
    """Plot the base density, the weight function and the target density in the left panel. On the right, plot the
    interval A_u on which the relative weight exceeds u, and the density of x given u.
    """
    figure = Figure(figsize=(DOUBLE, 2.3))
    left, right = figure.subplots(1, 2, sharex=True)
    curves = dict(iter(table.groupby("curve")))
    left.plot(curves["base"]["x"], curves["base"]["y"], color=ORANGE, label="base $g$")
    left.plot(curves["weight"]["x"], curves["weight"]["y"], color=BLUE, ls="--", label="weight $w/c$")
    left.plot(curves["target"]["x"], curves["target"]["y"], color=BLACK, label=r"target $wg/\psi$")
    left.set(xlabel="$x$", ylabel="density, weight", ylim=(0, None))
    inside, level = curves["conditional"], curves["level"]
    right.plot(curves["weight"]["x"], curves["weight"]["y"], color=BLUE, ls="--", label="weight $w/c$")
    right.plot(level["x"], level["y"], color=RED, lw=2.5, label=f"$A_u$, $u={level['y'].iloc[0]:g}$")
    right.fill_between(inside["x"], inside["y"], color=SKY, alpha=0.6, lw=0, label="density of $x$ given $u$")
    right.vlines(level["x"], 0, level["y"], color=RED, lw=0.7, ls=":")
    right.set(xlabel="$x$", ylim=(0, None))
    for axis in (left, right):
        axis.legend(loc="upper left")
    letters((left, right))
    return figure


def descent(table: pd.DataFrame) -> Figure:
    """Plot the probability that the relative weight exceeds u, and the density of log u, against -log u. The first
    curve is P(A_u)/P(A_0), and each target distribution of the direct sampler has a panel.
    """
    figure = Figure(figsize=(DOUBLE, 2.4))
    panels = figure.subplots(1, 2, sharey=True)
    for axis, (target, name) in zip(panels, TARGETS.items(), strict=True):
        curves = dict(iter(table[table["target"] == target].groupby("curve")))
        area, density = curves["area"], curves["density"]
        axis.plot(-area["log_u"], area["y"], color=BLACK, label="$P(A_u)/P(A_0)$")
        axis.plot(-density["log_u"], density["y"], color=BLUE, ls="--", label=r"$u\,p(u)$, density of $\log u$")
        for curve, colour, label in (
            ("u_L machine", RED, "$u_L$, machine precision"),
            ("u_L efficient", GREEN, "$u_L$, used here"),
        ):
            axis.axvline(-curves[curve]["log_u"].iloc[0], color=colour, lw=1, ls=":", label=label)
        axis.set_xscale("log")
        axis.set(xlabel=r"$-\log u$  ($u_H=1$ lies at 0, far left)", title=name, ylim=(0, 1.05))
    panels[0].set_ylabel("probability, density")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    letters(panels)
    return figure


def step_functions(table: pd.DataFrame) -> Figure:
    """Plot, against u, the probability P(A_u) and the step function that approximates this probability, with one panel
    per number of knots N. The rectangles between consecutive steps are filled. A_u is the set on which the relative
    weight exceeds u.
    """
    sizes = [n for n in table["knots"].unique() if n > 0]
    figure = Figure(figsize=(DOUBLE, 2.3))
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    area = table[table["kind"] == "area"]
    for axis, n in zip(panels, sizes, strict=True):
        steps = table[(table["knots"] == n)].sort_values("u")
        u, y = steps["u"].to_numpy(), steps["y"].to_numpy()
        for j in range(len(u) - 1):
            bottom = y[j + 1]
            axis.add_patch(Rectangle((u[j], bottom), u[j + 1] - u[j], y[j] - bottom, fc=SKY, ec="none", alpha=0.6))
        axis.step(u, y, where="post", color=BLUE, label="$h^*(u)$")
        axis.plot(area["u"], area["y"], color=BLACK, label="$P(A_u)$")
        first = steps.iloc[0]
        axis.set_title(f"$N={n}$")
        numbers = f"rejection {first['rejection_rate']:.3f}\nbound {first['bound']:.3f}"
        axis.annotate(numbers, (0.04, 0.06), xycoords="axes fraction", fontsize=7)
        axis.set(xlabel="$u$", xlim=(0, 1), ylim=(0, 1.05))
    panels[0].set_ylabel("probability")
    panels[-1].add_patch(Rectangle((0, 0), 0, 0, fc=SKY, alpha=0.6, label=r"rectangles $\mathcal{R}_j$"))
    panels[-1].legend(loc="upper right")
    letters(panels)
    return figure


def accept_reject(table: pd.DataFrame) -> Figure:
    """Plot the accepted and the rejected candidates of the sampler under the step function."""
    figure = Figure(figsize=(SINGLE, 2.6))
    axis = figure.subplots()
    kinds = dict(iter(table.groupby("kind")))
    axis.plot(kinds["accepted"]["u"], kinds["accepted"]["y"], "o", ms=1.5, color=SKY, label="accepted")
    if "rejected" in kinds:
        axis.plot(kinds["rejected"]["u"], kinds["rejected"]["y"], "x", ms=3, color=RED, label="rejected")
    axis.step(kinds["step"]["u"], kinds["step"]["y"], where="post", color=BLUE, label="$h^*(u)$")
    axis.plot(kinds["area"]["u"], kinds["area"]["y"], color=BLACK, label="$P(A_u)$")
    axis.set(xlabel="$u$", ylabel="$v\\,h^*(u)$", xlim=(0, 1), ylim=(0, 1.05))
    axis.legend(loc="upper right")
    return figure


def weight_functions(table: pd.DataFrame) -> Figure:
    """Plot the normal and the gamma weight functions, with the interval A_u for each of several levels u. The relative
    weight exceeds the level u on the interval A_u.
    """
    figure = Figure(figsize=(DOUBLE, 2.2))
    panels = figure.subplots(1, 2, sharey=True)
    for axis, (target, name) in zip(panels, TARGETS.items(), strict=True):
        rows = table[table["target"] == target]
        curve, ends = (rows[rows["curve"] == kind] for kind in ("weight", "interval"))
        axis.plot(curve["xi"], curve["y"], color=BLACK)
        for (level, pair), colour, marker in zip(ends.groupby("y"), CYCLE, MARKERS, strict=False):
            axis.plot(pair["xi"], pair["y"], marker=marker, color=colour, label=f"$A_u$, $u={level:g}$")
        axis.set(xlabel=name, title="normal weight" if target == "xi_mean" else "gamma weight", ylim=(0, 1.05))
    panels[0].set_ylabel("weight, $w/c$")
    panels[1].legend(loc="upper right")
    letters(panels)
    return figure


TARGETS = {"xi_mean": r"$\xi_{\mathrm{mean}}$", "xi_sse": r"$\xi_{\mathrm{sse}}$"}
METHODS = {
    "as_written": ("as written", RED),
    "slides_model": ("slides' model, consistent", ORANGE),
    "corrected": ("corrected", BLUE),
    "exact": ("exact", BLACK),
    "statistics": ("exact, without records", BLACK),
    "bernstein_sheldon": ("Bernstein, Sheldon", PINK),
    "naive": ("noise ignored", ORANGE),
    "without privacy": ("without privacy", GREEN),
}
PARAMETERS = {"mu": r"$\mu$", "sigma2": r"$\sigma^2$"}


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
    """Plot mu, sigma2 and the number of censored records against the sweep number of the Gibbs sampler."""
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
    """Plot posterior histograms for the methods that converge. The figure only names a method that diverged."""
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
    """Plot the z score of every moment in Geweke's test, by method."""
    figure = Figure(figsize=(DOUBLE, 2.6))
    axis = figure.subplots()
    groups = list(table.groupby(["method", "limits"], sort=False))
    bound = float(-stdtrit(BATCHES - 1, PASSED / (2 * table["moment"].nunique())))  # quantile of Student's t
    axis.axvspan(-bound, bound, color=GREY, alpha=0.35, lw=0)
    for place, ((method, _), rows) in enumerate(groups):
        axis.plot(rows["z"], np.full(len(rows), place), "o", color=METHODS[str(method)][1], mfc="none")
    axis.set_yticks(range(len(groups)), [f"{METHODS[str(m)][0]}, {limits}" for (m, limits), _ in groups])
    axis.invert_yaxis()
    axis.set_xscale("asinh", linear_width=2 * bound)  # linear near the bound
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
    """Plot the coverage of 95 % intervals, and the lengths of these intervals."""
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
    """Plot the posterior standard deviations for each design of the released statistics."""
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
    """Plot the draws from both target densities under four noise distributions of equal variance."""
    figure = Figure(figsize=(DOUBLE, 2.4))
    panels = figure.subplots(1, 2)
    for axis, (target, name) in zip(panels, TARGETS.items(), strict=True):
        rows = table[(table["target"] == target) & (table["kind"] == "histogram")]
        looks = ((BLACK, "-"), (SKY, "--"), (RED, "-"), (ORANGE, "--"))  # dashed lines: noise on the integers
        for (noise, bars), (colour, line) in zip(rows.groupby("noise", sort=False), looks, strict=False):
            look = {"color": colour, "ls": line, "lw": 1, "label": noise}
            axis.stairs(bars["y"].to_numpy()[:-1], bars["x"].to_numpy(), **look)
        axis.set(xlabel=name + (r", $s_c=1$" if target == "xi_mean" else ""), ylim=(0, None))
    panels[0].set_ylabel("density of the draws")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    letters(panels)
    return figure
