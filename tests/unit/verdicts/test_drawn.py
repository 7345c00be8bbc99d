"""Tests of the checks of figures: overlapping texts, cut texts, curves through texts, marks beside their bars."""

import pytest
from matplotlib.figure import Figure

from reproduction import style
from tests import drawn


def axes():
    figure = Figure(figsize=(3, 2), dpi=100)
    axis = figure.add_axes((0.2, 0.2, 0.7, 0.7))
    axis.set(xlim=(0, 1), ylim=(0, 1))
    return figure, axis


def test_a_figure_that_can_be_read_has_no_faults():
    figure, axis = axes()
    style.interval(axis, [0.5], [0.5], [0.4], [0.6])
    axis.plot([0, 1], [0.1, 0.1])
    axis.text(0.2, 0.7, "free")
    assert list(drawn.faults(figure)) == []


def test_texts_on_each_other_are_found_also_labels_of_ticks():
    figure, axis = axes()
    axis.set_xticks([0.5, 0.55], ["2x10", "3x10"])
    assert list(drawn.faults(figure)) == ["'2x10' lies on '3x10'"]


def test_a_cut_text_is_found():
    figure, axis = axes()
    axis.text(0.9, 0.5, "longer than its place")
    assert list(drawn.faults(figure)) == ["'longer than its place' is cut at the figure's edge"]


@pytest.mark.parametrize("shape", ["default", "steps-post"])
def test_a_curve_through_a_word_is_found(shape):
    figure, axis = axes()
    axis.plot([0, 0.5, 1], [0.5, 0.5, 0.9], drawstyle=shape)
    axis.text(0.2, 0.5, "here", va="center")
    assert list(drawn.faults(figure)) == ["a curve runs through 'here'"]


def test_steps_are_no_slopes():
    """Check a staircase that descends to the right of a word; a line between its corners would cross the word."""
    figure, axis = axes()
    axis.text(0.3, 0.6, "word", va="center", ha="center")
    (line,) = axis.plot([0.1, 0.5], [0.3, 0.9], drawstyle="steps-post")
    assert list(drawn.faults(figure)) == []
    line.set_drawstyle("default")
    assert list(drawn.faults(figure)) == ["a curve runs through 'word'"]


@pytest.mark.parametrize("horizontal", [False, True])
def test_a_mark_beside_its_bar_is_found(horizontal):
    figure, axis = axes()
    style.interval(axis, [0.5, 0.7], [0.2, 0.5], [0.4, 0.4], [0.6, 0.6], horizontal=horizontal, label="ratio")
    (fault,) = drawn.faults(figure)
    assert fault.startswith("a mark of 'ratio' lies beside its bar")
