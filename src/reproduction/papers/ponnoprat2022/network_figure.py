"""Figure 6: the three Bayesian networks, laid out so that no arrow runs through a box it does not belong to."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text
from numpy.typing import NDArray

from ...style import BLUE, DOUBLE

Array = NDArray[np.float64]
_LAYOUTS = 80  # orders of the layers that are tried
_BENDS = np.array(sorted(np.linspace(-0.6, 0.6, 37), key=abs))  # curvatures, the straightest first
_ALONG = np.linspace(0, 1, 41)[:, None]
_MARGIN = 3.0  # pixels, at 100 an inch, between an arrow and a box that it passes
_NEAR = 8.0  # between two arrows, in their middles
_MIDDLE = slice(12, 29)


def figure_6(table: pd.DataFrame) -> Figure:
    """The three networks, parents above children."""
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
    figure.draw_without_rendering()  # the boxes have their sizes
    for axis, rows, layers, boxes in shown:
        _laid_out(axis, rows, layers, boxes)
    return figure


def _box(axis: Axes, node: str, spot: tuple[float, float]) -> Text:
    box = {"boxstyle": "round,pad=0.25", "fc": "white", "ec": BLUE, "lw": 0.7}
    return axis.text(*spot, node, ha="center", va="center", fontsize=6, bbox=box, zorder=1)


def _layers(rows: pd.DataFrame) -> list[tuple[int, list[str], Array]]:
    """Depth, nodes and their places from left to right, from top to bottom."""
    each = rows.drop_duplicates("node").groupby("depth")
    return [(int(str(depth)), layer["node"].astype(str).tolist(), layer["x"].to_numpy(float)) for depth, layer in each]


def _places(layers: list[tuple[int, list[str], Array]], layout: int) -> dict[str, tuple[float, float]]:
    """Nodes of every layer in an order that `layout` numbers; what is alone in its layer swings sideways."""
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
    """The layout with the least harm, and its arrows from parents to children."""
    patches: dict[str, Any] = {node: text.get_bbox_patch() for node, text in boxes.items()}
    half: dict[str, Array] = {
        node: np.array(patch.get_window_extent().size) / 2 + _MARGIN for node, patch in patches.items()
    }
    edges = [(str(row.parent), str(row.node)) for row in rows[rows["parent"] != ""].itertuples()]
    least, bends, places = np.inf, [0.0], _places(layers, 0)
    for layout in range(_LAYOUTS):
        tried = _places(layers, layout)
        spots = dict(zip(tried, axis.transData.transform(list(tried.values())), strict=True))
        harm, found = _routes(edges, spots, half, (axis.bbox.x0, axis.bbox.x1), least)
        if harm < least:
            least, bends, places = harm, found, tried
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
    """Harm of a layout, and for each edge the least bend that keeps it off other nodes and other arrows.

    Harm only grows from edge to edge: once it has reached `least` this is no layout to keep, and what is found so far
    is returned.
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
        rivals = np.flatnonzero(harm <= bound)  # the others are worse before any arrow is looked at
        whole = _beside(harm, curves, drawn, rivals)
        best = int(rivals[whole.argmin()])
        drawn.append(curves[best, _MIDDLE])
        bends.append(float(_BENDS[best]))
        total += float(whole.min()) + 1e-3 * float(np.hypot(*(spots[edge[0]] - spots[edge[1]])))
        if total >= least:
            break
    return total, bends


def _beside(harm: Array, curves: Array, drawn: list[Array], bends: NDArray[np.intp]) -> Array:
    """Harm of some bends, with what they do to the arrows that are drawn."""
    found = harm[bends]
    if not drawn:
        return found
    middles, others = curves[bends, None, _MIDDLE, None], np.array(drawn)[:, None]
    aside, apart = (middles[..., axis] - others[..., axis] for axis in (0, 1))
    near = ((aside**2 + apart**2).min(axis=-1) < _NEAR**2).sum(axis=-1)
    for arrow in near.T:
        found = found + 0.05 * arrow
    return found


def _curves(start: Array, end: Array) -> Array:
    """Points, in pixels, of matplotlib's ``arc3`` (a quadratic Bézier curve) at every bend."""
    dx, dy = end - start
    control = ((start + end) / 2 + _BENDS[:, None] * np.array([dy, -dx]))[:, None]
    whole: Array = (1 - _ALONG) ** 2 * start + 2 * _ALONG * (1 - _ALONG) * control + _ALONG**2 * end
    return whole
