"""Compare the reproduced figures with the formulas on the slides of Raim (2021). The comparison uses the same columns
that the figures plot.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ...verdicts import draw_tests, power
from ...verdicts.rows import claim, computed, law
from .statistics_laws import LEVEL, TELLS, WORDS, Target

Row = dict[str, Any]
_TARGETS = ("xi_mean", "xi_sse")
_STEP = 0.01  # relative change of a parameter


def rows(tables: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Yield the rows of the agreement table for the figures."""
    yield _areas(tables)
    yield _descent(tables["descent"])
    yield _rectangles(tables["step_functions"])
    yield _candidates(tables["accept_reject"])
    yield _weights(tables["weight_functions"])
    yield _weighted(tables["weighted_density"])
    for name in _TARGETS:
        yield from _target(name, tables[name])


def target_of(kind: str, table: pd.DataFrame) -> Target:
    """Return the target density whose parameters are given in the first row of a table."""
    first: Any = {"mu": 0.0, "count": 1.0} | table.iloc[0].to_dict()
    return Target(kind, **{name: float(first[name]) for name in ("z", "mu", "sigma2", "count", "scale")})


def _areas(tables: dict[str, pd.DataFrame]) -> Row:
    gaps = []
    for name in ("step_functions", "accept_reject"):
        area = tables[name][tables[name]["kind"] == "area"]
        gaps.append(np.abs(target_of("xi_mean", area).area(area["u"]) - area["y"]).max(skipna=False))
    for kind, of in tables["descent"].groupby("target"):
        area = of[(of["curve"] == "area") & (of["log_u"] < -1e-3)]
        gaps.append(np.abs(target_of(str(kind), of).log_area(area["log_u"]) - area["y"]).max(skipna=False))
    note = (
        "The left side is the largest difference between the plotted curves and G(x2) - G(x1) at the end points x1 and "
        "x2 of A_u, over both weights."
    )
    return claim("descent", "the plotted P(A_u) is the base's probability of A_u", gaps, "=", 0, note, rounding=1e-8)


def _descent(table: pd.DataFrame) -> Row:
    gaps = []
    for kind, of in table.groupby("target"):
        line = of[of["curve"] == "density"]
        log_u = line["log_u"].to_numpy()
        area = np.exp(log_u) * target_of(str(kind), of).log_area(log_u)
        gaps.append(np.abs(area / np.trapezoid(area, log_u) - line["y"]).max(skipna=False))
    note = (
        "The left side is the largest difference between the plotted u p(u) and u P(A_u) divided by its integral. The "
        "tolerance of 0.001 allows for the limited number of points of the curve."
    )
    return claim("descent", "the plotted p(u) is proportional to P(A_u)", gaps, "=", 0, note, rounding=1e-3)


def _rectangles(table: pd.DataFrame) -> Row:
    """Return the row of the agreement table for the number of knots N, the bound on the rejection probability and the
    rejection probability in every panel. These numbers are compared with values computed from the plotted steps. The
    value psi/c is the integral of P(A_u).
    """
    area = table[table["kind"] == "area"]
    u = np.linspace(1e-9, 1, 200_001)
    whole = np.trapezoid(target_of("xi_mean", area).area(u), u)
    gaps = []
    for _, of in table[table["kind"] == "step"].groupby("knots"):
        steps = of.sort_values("u")
        u, y = steps["u"].to_numpy(), steps["y"].to_numpy()
        bound = np.sum(np.diff(u) * -np.diff(y)) / whole
        rejected = 1 - whole / (u[0] * y[0] + np.sum(np.diff(u) * y[:-1]))
        gaps += [
            abs(len(u) - 2 - steps["knots"].iloc[0]),
            *np.abs(steps["bound"] - bound),
            *np.abs(steps["rejection_rate"] - rejected),
        ]
    note = (
        "N, the bound and the rejection probability are computed again from the plotted rectangles. The left side is "
        "the largest difference."
    )
    about = ("step_functions", "N, bound and rejection rate are those of the plotted rectangles")
    return claim(*about, gaps, "=", 0, note, rounding=1e-3)


def _candidates(table: pd.DataFrame) -> Row:
    kinds = dict(iter(table.groupby("kind")))
    w = target_of("xi_mean", table)
    over = kinds["accepted"]["y"] - w.area(kinds["accepted"]["u"])
    rejected = kinds.get("rejected", table.iloc[:0])
    under = w.area(rejected["u"]) - rejected["y"]
    note = (
        "The left side is the largest distance of an accepted candidate above P(A_u) or of a rejected candidate below."
    )
    both = np.concatenate([over, under])
    return claim("accept_reject", "a candidate is accepted where v h*(u) < P(A_u)", both, "<=", 0, note, rounding=1e-9)


def _weights(table: pd.DataFrame) -> Row:
    gaps = []
    for kind, of in table.groupby("target"):
        w = target_of(str(kind), of)
        gaps.append(np.abs(np.exp(w.log_weight(of["xi"].to_numpy())) - of["y"]).max(skipna=False))
    note = (
        "The left side is the largest difference between the plotted weights and the printed w/c. The ends of A_u are "
        "compared in the same way."
    )
    about = ("weight_functions", "the plotted weights follow the slides' formulas")
    return claim(*about, gaps, "=", 0, note, rounding=1e-8)


def _weighted(table: pd.DataFrame) -> Row:
    w = target_of("xi_mean", table)
    kinds = dict(iter(table.groupby("curve")))
    level = float(np.log(kinds["level"]["y"].iloc[0]))
    base = {name: np.exp(-np.abs(of["x"]) / w.scale) / (2 * w.scale) for name, of in kinds.items()}
    wanted = {
        "base": base["base"],
        "weight": np.exp(w.log_weight(kinds["weight"]["x"].to_numpy())),
        "target": w.density(kinds["target"]["x"].to_numpy()),
        "conditional": base["conditional"] / float(w.log_area(np.array([level]))[0]),
    }
    gaps = [np.abs(kinds[name]["y"] - value).max(skipna=False) for name, value in wanted.items()]
    gaps.append(np.abs(np.ravel(w.ends(np.array([level]))) - kinds["level"]["x"]).max(skipna=False))
    note = (
        "The plotted curves and the ends of A_u are compared with g, w/c, w g/psi and g/P(A_u). The left side is the "
        "largest difference."
    )
    about = ("weighted_density", "the plotted curves are g, w/c, w g/psi and the density of x given u")
    return claim(*about, gaps, "=", 0, note, rounding=1e-6)


def _target(name: str, table: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table for one of the two figures on the slides of Raim (2021). The rows concern
    the draws, the density and the knots in every panel.
    """
    panels = [of for _, of in table.groupby(["variant", "delta_s"])]
    tests = [_bars(name, of) for of in panels]
    p_values, seen = [p for p, _ in tests], max((s for _, s in tests), key=lambda s: s[1])
    joint = float(np.minimum(1.0, len(tests) * np.min(p_values)))
    note = (
        f"The histogram in each of {len(panels)} panels is tested by a chi-squared test and by a score test of the "
        f"parameter '{seen[0]}'. The reported p-value is the smallest p-value times the number of panels."
    )
    yield law(name, "draws follow the target density", joint, note, sees=power.words({seen[0]: seen[1]}))
    gaps = []
    for of in panels:
        curve, w = of[of["kind"] == "density"], _panel(name, of)
        gaps.append(np.abs(w.density(curve["x"].to_numpy()) / curve["y"] - 1).max(skipna=False))
    note = (
        "The left side is the largest relative difference between the plotted curves and w g/psi at the Delta_s of "
        "each panel, where psi is computed by quadrature."
    )
    yield claim(name, "the curve is the target density", gaps, "=", 0, note, rounding=1e-5)
    yield _order(name, panels)
    second = panels[0][panels[0]["kind"] == "step"].set_index("order")["x"]
    note = (
        "The numbers of the knots in panel (b) are part of an image and cannot be read from the text. In this project, "
        "number 2 is the first knot that was added."
    )
    yield computed(name, "log u of knot number 2", second.get(2.0, np.nan), note, "as_written")


def _panel(name: str, of: pd.DataFrame) -> Target:
    return target_of(name, of.assign(scale=of["delta_s"] / of["epsilon"]))


def _bars(name: str, of: pd.DataFrame) -> tuple[float, tuple[str, float]]:
    """Return the p-value of a test of the histogram in a panel, and the minimum detectable effect of this test. The
    p-value combines a chi-squared test with a score test of the most sensitive parameter.
    """
    bars, w = of[of["kind"] == "histogram"], _panel(name, of)
    size, width = bars["draws"].iloc[0], bars["bin_width"].iloc[0]
    edges = np.append(bars["x"], bars["x"].iloc[-1] + width)
    seen, expected = bars["y"].to_numpy() * width * size, w.masses(edges) * size
    moved = w.changed(**{TELLS[name]: getattr(w, TELLS[name]) * (1 + _STEP)})
    p_value, sees = draw_tests.scored(seen, expected, moved.masses(edges) * size, size, step=_STEP, level=LEVEL / 4)
    return p_value, (WORDS[name], sees)


def _order(name: str, panels: list[pd.DataFrame]) -> Row:
    """Check whether each plotted knot splits the largest rectangle, as the small rectangles algorithm requires, and
    return the row of the agreement table.
    """
    worst = []
    for of in panels:
        steps = of[of["kind"] == "step"].sort_values("order")
        order = steps["order"].to_numpy()
        if not np.array_equal(order, np.arange(len(order))) or steps[["x", "y"]].isna().any(axis=None):
            return claim(
                name,
                _SPLIT,
                1.0,
                "=",
                0,
                "The order numbers are not 0, 1, .., N, or a knot is missing.",
                "as_written",
                rounding=1e-6,
            )
        x, height = steps["x"].to_numpy(), np.exp(steps["y"].to_numpy())
        for i in range(2, len(order)):
            before = np.argsort(x[:i])
            areas = np.diff(np.exp(x[:i][before])) * -np.diff(height[:i][before])
            split = np.searchsorted(x[:i][before], x[i]) - 1
            inside = 0 <= split < len(areas) and areas.max() > 0
            worst.append(1 - areas[split] / areas.max() if inside else 1.0)
    note = (
        "The left side is the largest relative amount, over all panels, by which a rectangle that was split is smaller "
        "than the largest rectangle."
    )
    return claim(name, _SPLIT, worst, "=", 0, note, "as_written", rounding=1e-6)


_SPLIT = "every knot splits the largest rectangle"
