"""Test that the figures show the arrowheads, ratios and labels that a reader needs."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import ConnectionStyle, FancyArrowPatch
from matplotlib.path import Path

from reproduction import style
from reproduction.papers.ponnoprat2022 import figures, networks, privacy


def test_arrows_end_at_the_border_of_the_box_they_point_to():
    """Check that every arrow in the plot of a network ends at the border of the box to which it points. If wide boxes
    are side by side, an arrow to a fixed distance from the centre would end under a box.
    """
    nodes = [("a long parent", "", 0.0, 0), ("a long child", "a long parent", 1.0, 1), ("x", "a long child", 0.4, 2)]
    table = pd.DataFrame(nodes, columns=["node", "parent", "x", "depth"]).assign(dataset="Adult")
    with style.applied():
        figure = figures.figure_6(table)
        figure.draw_without_rendering()
        figure.draw_without_rendering()  # the boxes get their positions
    (axis,) = figure.axes
    boxes = {t.get_text(): t.get_bbox_patch().get_window_extent() for t in axis.texts}
    arrows = [patch for patch in axis.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 2
    for arrow, child in zip(arrows, ("a long child", "x"), strict=True):
        box = boxes[child]
        centre = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
        outline = arrow.get_transform().transform(arrow.get_path().vertices)
        tip = min(outline, key=lambda vertex, centre=centre: np.hypot(*(vertex - centre)))
        inner = box.expanded(0.9, 0.8)
        assert not inner.contains(*tip)
        assert box.expanded(1.2, 1.6).contains(*tip)


@pytest.mark.thorough
def test_no_arrow_runs_through_a_box_that_it_does_not_belong_to():
    """Check, for all three networks of the paper, that no arrow crosses the box of a node other than its two end nodes.
    Such a crossing would look like an additional edge.
    """
    with style.applied():
        figure = figures.figure_6(networks.figure_6())
        figure.draw_without_rendering()
        figure.draw_without_rendering()
    arrows = 0
    for axis in figure.axes:
        boxes = [t.get_bbox_patch() for t in axis.texts if t.get_bbox_patch()]
        for arrow in (patch for patch in axis.patches if isinstance(patch, FancyArrowPatch)):
            arrows += 1
            others = [b for b in boxes if b not in (arrow.patchA, arrow.patchB)]
            line = arrow.get_transform().transform_path(arrow.get_path())
            points = np.concatenate([Path(p).interpolated(9).vertices for p in line.to_polygons(closed_only=False)])
            assert not any(box.get_window_extent().count_contains(points) for box in others)
            assert axis.bbox.expanded(1.02, 1.02).count_contains(points) == len(points)
    table = networks.figure_6()
    assert arrows == (table["parent"] != "").sum()


def test_the_layout_tells_what_lies_in_the_way():
    """Check that a layout has a large penalty if the edge between two boxes cannot avoid a third box. If there is room
    next to the box, the edge curves around it.
    """
    spots = {"above": np.array([50.0, 200.0]), "between": np.array([50.0, 100.0]), "below": np.array([50.0, 0.0])}
    half = dict.fromkeys(spots, np.array([20.0, 5.0]))
    free, (bend,) = figures._routes([("above", "below")], spots, half, (-100, 200))
    assert abs(bend) > 0.2
    assert free < 10
    shut, _ = figures._routes([("above", "below")], spots, half, (40, 60))
    assert shut > 10


def _plain(edges, spots, half, sides):
    """Return the cumulative penalty after each edge of a layout, and the best curvature of each edge, found by an
    exhaustive search. All curvatures are compared with every box and every arrow.
    """
    drawn, totals, bends = [], [0.0], []
    for edge in edges:
        harms, start, end = [], *(spots[node] for node in edge)
        for bend, curve in zip(figures._BENDS, figures._curves(start, end), strict=True):
            inside = sum((abs(curve - spots[n]) < half[n]).all(axis=1).sum() for n in spots if n not in edge)
            outside = np.sum((curve[:, 0] < sides[0]) | (curve[:, 0] > sides[1]))
            apart = [np.linalg.norm(curve[12:29, None] - other, axis=2).min(axis=1) for other in drawn]
            harms.append((10 * (inside + outside) + abs(bend) + 0.05 * np.sum(np.array(apart) < 8), bend, curve))
        harm, bend, curve = min(harms, key=lambda one: one[0])
        drawn.append(curve[12:29])
        bends.append(bend)
        totals.append(totals[-1] + harm + 1e-3 * np.linalg.norm(start - end))
    return totals, bends


@pytest.mark.parametrize("seed", [7, 13])
def test_the_bends_that_are_not_looked_at_are_worse(seed):
    """Compare the search for the curvature of each edge with an exhaustive search over all curvatures of the edge. The
    first search stops as soon as the penalty reaches a bound.
    """
    rng, names = np.random.default_rng(seed), "abcdefgh"
    spots = {name: rng.uniform(0, 100, 2) for name in names}
    half = dict.fromkeys(names, np.array([8.0, 5.0]))
    edges = [("a", "b"), ("b", "c"), ("a", "d"), ("d", "e"), ("c", "f"), ("g", "h"), ("e", "h")]
    totals, bends = _plain(edges, spots, half, (5, 95))
    assert len({*map(abs, bends)}) > 4
    assert figures._routes(edges, spots, half, (5, 95)) == (pytest.approx(totals[-1], rel=1e-13), bends)
    for number, part in enumerate(totals[1:], 1):
        given_up = figures._routes(edges, spots, half, (5, 95), part * (1 - 1e-9))
        assert given_up == (pytest.approx(part, rel=1e-13), bends[:number])


THIRDS = [1 / 6, 3 / 6, 5 / 6]


def test_layers_are_from_top_to_bottom_and_each_node_has_one_place():
    rows = [("b", "a", 0.25, 1), ("a", "", 0.5, 0), ("b", "x", 0.25, 1), ("c", "a", 0.75, 1)]
    found = figures._layers(pd.DataFrame(rows, columns=["node", "parent", "x", "depth"]))
    assert [(depth, nodes, x.tolist()) for depth, nodes, x in found] == [
        (0, ["a"], [0.5]), (1, ["b", "c"], [0.25, 0.75])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "lone", "middle", "bottom"),
    [
        (0, 0.5, THIRDS, [0.25, 0.75]),
        (1, 0.1944272, [3 / 6, 5 / 6, 1 / 6], [0.75, 0.25]),  # 0.1 + 0.8 (1.118034 mod 1); shifted by 2 and by 3
        (2, 0.6888544, [3 / 6, 1 / 6, 5 / 6], [0.25, 0.75]),  # shifted by 4 and reversed; by 6
        (4, 0.8777088, [3 / 6, 5 / 6, 1 / 6], [0.75, 0.25]),  # shifted by 8; by 12 and reversed
        (6, 0.2665632, [5 / 6, 3 / 6, 1 / 6], [0.75, 0.25]),  # by 12 and 18, and both reversed
    ],
)
def test_layouts_shift_and_reverse_the_layers_by_hand(layout, lone, middle, bottom):
    """Check that every second node of more than two is a third of a layer lower, and a single node is moved by the
    golden section between 0.1 and 0.9."""
    layers = [
        (0, ["r"], np.array([0.5])),
        (1, ["a", "b", "c"], np.array(THIRDS)),
        (2, ["x", "y"], np.array([0.25, 0.75])),
    ]
    found = figures._places(layers, layout)
    wanted = {"r": (lone, 0), "a": (middle[0], -1), "b": (middle[1], -1.34), "c": (middle[2], -1)}
    wanted |= {"x": (bottom[0], -2), "y": (bottom[1], -2)}
    assert list(found) == list(wanted)
    for node, place in wanted.items():
        assert found[node] == pytest.approx(place, abs=1e-6)


def test_a_single_node_moves_by_its_own_golden_section():
    """Check 0.1 + 0.8 ((0.5 + 0.618034 k) mod 1) for layout 1 at level 2: k = 3, 2.354102 mod 1."""
    assert figures._places([(2, ["r"], np.array([0.5]))], 1)["r"] == pytest.approx((0.1 + 0.8 * 0.354102, -2), abs=1e-6)


def test_curves_are_those_that_matplotlib_draws():
    start, end = np.array([10.0, 80.0]), np.array([60.0, 20.0])
    found = figures._curves(start, end)
    assert found.shape == (37, 41, 2)
    for bend, curve in zip(figures._BENDS, found, strict=True):
        first, control, last = ConnectionStyle.Arc3(rad=bend).connect(start, end).vertices
        t = np.linspace(0, 1, 41)[:, None]
        assert curve == pytest.approx((1 - t) ** 2 * first + 2 * t * (1 - t) * control + t**2 * last, abs=1e-9)


def test_the_straightest_curves_come_first():
    bends = figures._BENDS
    assert bends[0] == pytest.approx(0.0, abs=1e-15)
    assert np.abs(bends).tolist() == sorted(np.abs(bends))
    assert sorted(bends) == pytest.approx([k / 30 for k in range(-18, 19)])


@pytest.mark.parametrize(("apart", "near"), [(7.9, 17), (8.1, 0)])
def test_points_of_an_arrow_within_8_pixels_of_another_are_penalised(apart, near):
    """Check the 17 points of the middle parts, at heights 70, 67.5, .. 30, of straight arrows from 100 to 0."""
    straight = figures._curves(np.array([0.0, 100.0]), np.array([0.0, 0.0]))[:1]
    beside = straight[0, figures._MIDDLE] + [apart, 0.0]
    for drawn, points in (([], 0), ([beside], near), ([beside, beside], 2 * near), ([beside + 30.0], 0)):
        found = figures._beside(np.array([9.0, 0.3]), straight[[0, 0]], drawn, np.array([1]))
        assert found == pytest.approx([0.3 + 0.05 * points])
    for height, points in ((34.0, 5), (77.5, 1), (78.5, 0)):  # 30 to 40; 70
        found = figures._beside(np.array([0.3]), straight, [np.array([[0.0, height]])], np.array([0]))
        assert found == pytest.approx([0.3 + 0.05 * points])


def network():
    """Return a network in which the middle node of three is in the way of an arrow."""
    edges = {"top": [""], "one": ["top"], "two": ["top"], "three": ["top"], "last": ["one", "two", "three", "top"],
             "end": ["last", "one"]}  # fmt: skip
    place = {
        "top": (0.5, 0),
        "one": (1 / 6, 1),
        "two": (0.5, 1),
        "three": (5 / 6, 1),
        "last": (0.5, 2),
        "end": (0.5, 3),
    }
    rows = [(node, parent, *place[node]) for node, parents in edges.items() for parent in parents]
    return pd.DataFrame(rows, columns=["node", "parent", "x", "depth"])


def test_a_network_has_the_best_of_80_layouts():
    """Check the layout and the curvatures with the smallest penalty, with boxes 3 pixels larger on each side."""
    table = network()
    with style.applied():
        figure = figures.figure_6(table.assign(dataset="Adult"))
        (axis,) = figure.axes
        boxes = {text.get_text(): text for text in axis.texts}
        half = {n: np.array(t.get_bbox_patch().get_window_extent().size) / 2 + 3 for n, t in boxes.items()}
        edges = [(row.parent, row.node) for row in table.itertuples() if row.parent]
        tried = []
        for layout in range(80):
            places = figures._places(figures._layers(table), layout)
            spots = {node: axis.transData.transform(place) for node, place in places.items()}
            tried.append((*figures._routes(edges, spots, half, (axis.bbox.x0, axis.bbox.x1)), places))
    harm, bends, places = min(tried, key=lambda one: one[0])
    assert harm < tried[0][0]
    for node, text in boxes.items():
        assert text.get_position() == pytest.approx(places[node])
    arrows = [patch for patch in axis.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == len(edges)
    for arrow, (parent, node), bend in zip(arrows, edges, bends, strict=True):
        assert arrow.get_connectionstyle().rad == pytest.approx(bend, abs=5.1e-5)
        assert (arrow.patchA, arrow.patchB) == (boxes[parent].get_bbox_patch(), boxes[node].get_bbox_patch())
        assert arrow.get_zorder() > boxes[node].get_zorder()  # arrowheads are above the boxes


def test_panels_of_networks_are_as_wide_as_their_widest_layers():
    """Check layers of one and of three nodes: ratios 3 and 5; a margin of half a layer below, and of 0.3 above."""
    nodes = {"node": ["a", "b", "c"], "parent": ["", "a", "b"], "x": 0.5, "depth": [0, 1, 2]}
    one = pd.DataFrame(nodes).assign(dataset="A")
    figure = figures.figure_6(pd.concat([one, network().assign(dataset="B")]))
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("A", "B")
    assert first.get_subplotspec().get_gridspec().get_width_ratios() == [3, 5]
    for axis, depth in ((first, 2), (second, 3)):
        assert axis.get_xlim() == (-0.25, 1.25)
        assert axis.get_ylim() == (-depth - 0.5, 0.3)
        assert not axis.axison
    assert {to_hex(text.get_bbox_patch().get_edgecolor()) for text in second.texts} == {style.BLUE.lower()}
    assert [text.get_text() for text in first.texts] == ["a", "b", "c"]
    assert len(second.texts) == 6


def test_a_point_read_off_print_stands_where_it_was_printed():
    """Check that values that were read off the published figures are plotted at the same positions as in these figures.
    The examples are 0.864 for Bank (Figure 5, read with an error of 0.003) and -241,000 for the Gaussian mechanism on
    Adult (Figure 7).
    """
    scores = {"epsilon": [0.001, 10.0], "accuracy_mean": [0.5, 0.9], "accuracy_sd": [0.0, 0.0]}
    table = pd.DataFrame(scores | {"dataset": "Bank", "variant": "published", "method": "dirichlet"})
    (axis,) = [a for a in figures.figure_5(table).axes if a.get_title() == "Bank, published"]
    marks = [line.get_xydata().tolist() for line in axis.lines if line.get_marker() == "D"]
    assert marks == [[[10.0, 0.864]]]
    ends = [c.get_segments()[0][:, 1] for c in axis.collections if c.get_gid()]
    assert ends[0] == pytest.approx([0.861, 0.867])
    scores = {"epsilon": [0.001, 10.0], "log_likelihood_mean": [-2e5, -1e5], "log_likelihood_sd": [0.0, 0.0]}
    table = pd.DataFrame(scores | {"dataset": "Adult", "variant": "published", "method": "gaussian"})
    published = figures.figure_7(table).axes[0]
    spots = {line.get_color(): line.get_xydata().tolist() for line in published.lines if line.get_marker() == "D"}
    assert spots[style.RED] == [[0.001, -241.0]]


def test_published_and_corrected_curves_of_a_set_have_a_panel_each():
    scores = {"epsilon": [0.1, 1.0], "accuracy_sd": [0.01, 0.01], "dataset": "Spam", "method": "gaussian"}
    means = {"published": [0.5, 0.9], "corrected": [0.6, 0.8]}
    rows = [pd.DataFrame(scores | {"variant": variant, "accuracy_mean": mean}) for variant, mean in means.items()]
    figure = figures.figure_5(pd.concat(rows))
    for variant, mean in means.items():
        (axis,) = [a for a in figure.axes if a.get_title() == f"Spam, {variant}"]
        assert [line.get_ydata().tolist() for line in axis.lines if line.get_marker() == "s"] == [mean]


def test_a_curve_rises_in_epsilon_with_its_own_bars_however_its_rows_are_listed():
    scores = {"epsilon": [10.0, 0.1, 1.0], "accuracy_mean": [0.9, 0.5, 0.7], "accuracy_sd": [0.03, 0.01, 0.02]}
    table = pd.DataFrame(scores | {"dataset": "Spam", "variant": "corrected", "method": "gaussian"})
    (axis,) = [a for a in figures.figure_5(table).axes if a.get_title() == "Spam, corrected"]
    (curve,) = [line.get_xydata().tolist() for line in axis.lines if len(line.get_xydata()) == 3]
    assert curve == [[0.1, 0.5], [1.0, 0.7], [10.0, 0.9]]
    (bars,) = [c.get_segments() for c in axis.collections if len(c.get_segments()) == 3]
    assert np.diff([bar[:, 1] for bar in bars])[:, 0] == pytest.approx([0.02, 0.04, 0.06])


def test_ratios_of_figure_3_are_over_the_worst_case():
    table = privacy.figure_3_top(orders=[2.0], least=0.1, most=1.0, points=3)
    above, below = figures.figure_3_top(table).axes
    heights = {line.get_label(): line.get_ydata() for line in above.lines}
    worst = heights["exact worst case"]
    for upper, lower in zip(above.lines, below.lines, strict=True):
        assert lower.get_ydata() == pytest.approx(upper.get_ydata() / worst)
    assert (below.lines[0].get_ydata() >= 1).all()  # Algorithm 1 guarantees the worst case


def test_the_emulated_curve_of_figure_2_is_the_printed_floor():
    """Check that, for gamma below 3e-4, the delta from the degree-50 quadrature rule agrees with the printed value
    2.1e-4 (section 2.4) to within one seventh. The exact delta is below 1e-6 for these values of gamma.
    """
    setting = {"total": 147, "cells": 6, "r": 0.97, "order": 2.0, "least": 1e-8, "most": 1e-3, "points": 6}
    table = privacy.figure_2(**setting, rule=privacy.gohari.DEGREE_50_RULE)
    floor = table.loc[table["variant"] == "published", "delta"]
    assert floor.to_numpy() == pytest.approx(2.1e-4, rel=1 / 7)
    labels = [line.get_label() for line in figures.figure_2(table).axes[0].lines]
    assert "quadrature of degree 50" in labels


def test_bundled_sets_share_one_label_of_the_budget():
    rows = {"variant": "corrected", "method": "gaussian", "floor": "sigma", "epsilon": [0.1, 1.0]}
    scores = {f"{m}_{s}": 0.5 for m in ("cross_entropy", "accuracy") for s in ("mean", "sd", "se")}
    table = pd.concat([pd.DataFrame(rows | scores | {"dataset": name}) for name in ("bundled_iris", "bundled_wine")])
    with style.applied():
        figure = figures.bundled_sets(table)
        figure.draw_without_rendering()
    assert all(not axis.get_xlabel() for axis in figure.axes)
    words = [figure._supxlabel, *(axis.yaxis.label for axis in figure.axes)]
    page = figure.bbox.expanded(1.001, 1.001)
    for word in words:
        place = word.get_window_extent()
        assert page.contains(place.x0, place.y0)
        assert page.contains(place.x1, place.y1)
