"""Figures of the direct sampler's method: densities, P(A_u), step functions, weights."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...style import BLACK, BLUE, CYCLE, DOUBLE, GREEN, MARKERS, ORANGE, RED, SINGLE, SKY, letters
from .labels import TARGETS


def weighted_density(table: pd.DataFrame) -> Figure:
    """Left: base, weight and target. Right: the interval A_u and the density of x given u."""
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
    """P(A_u) and the density of log u for both targets, on the scale of -log u."""
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
    """One panel an N: P(A_u), the step function and the rectangles between them."""
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
    """Candidates under the step function."""
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
    """Normal and gamma weights with A_u at some u."""
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
