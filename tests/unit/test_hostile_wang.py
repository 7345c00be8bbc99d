"""Hostile arguments at the kernels of transforms: refused with a word, never a read or write out of bounds."""

import numpy as np
import pytest

from dpmultinomial._posteriors.additive import _frequency_products, _geometric_boxes

REFUSALS = (ValueError, TypeError, OverflowError)
SPECTRA = np.fft.rfft(np.ones((3, 8)), axis=1)
SWEEP = {
    "spectra": SPECTRA,
    "tail": SPECTRA[0],
    "clear": np.array([[0, 1]]),
    "got": np.array([[2, -1]]),
    "lost": np.array([[-1, -1]]),
    "weight": [1.0],
    "repeats": [1, 1],
    "length": 8,
    "early": [0.5],
    "late": [0.5],
}
BOXES = {"lower": [0], "upper": [3], "kind": [0], "low": [0], "width": [4], "rise": np.ones((1, 4))} | {
    "epsilon": 1.0,
    "reach": 3,
    "length": 6,
}
NAN, HUGE = float("nan"), 2**62


@pytest.mark.parametrize(
    "bad",
    [
        {"clear": [[0, 3]]},
        {"clear": [[0, -2]]},
        {"clear": [[0, -1]]},
        {"clear": [[0, HUGE]]},
        {"clear": [[0.0, 1.0]]},
        {"clear": [0, 1]},
        {"got": [[3, -1]]},
        {"got": [[-1, -1]]},
        {"got": None},
        {"lost": [[0]]},
        {"lost": [[-HUGE, 0]]},
        {"spectra": SPECTRA[:, :3]},
        {"spectra": np.full((3, 5), NAN)},
        {"spectra": np.zeros((0, 5))},
        {"tail": SPECTRA[0][:4]},
        {"tail": np.full(5, np.inf)},
        {"weight": [NAN]},
        {"weight": [1.0, 2.0]},
        {"repeats": [0, 1]},
        {"repeats": [1]},
        {"repeats": [2, 1], "early": [0.2]},
        {"length": 9000},
        {"length": 0},
        {"length": -8},
        {"early": ["x"]},
        {"late": [np.inf]},
    ],
)
def test_sweep_refuses(bad):
    with pytest.raises(REFUSALS):
        _frequency_products.sweep(**(SWEEP | bad))


def test_sweep_takes_strided_and_empty_arrays():
    wide = np.repeat(SPECTRA, 2, axis=1)[:, ::2]
    ours = _frequency_products.sweep(**(SWEEP | {"spectra": wide, "clear": np.array([[0, 9, 1, 9]])[:, ::2]}))
    assert np.array_equal(ours[1], _frequency_products.sweep(**SWEEP)[1])
    none = np.zeros((0, 2), dtype=int)
    empty = {"clear": none, "got": none, "lost": none, "weight": [], "early": [], "late": []}
    assert _frequency_products.sweep(**(SWEEP | empty))[0].shape == (0, 2)


@pytest.mark.parametrize(
    "bad",
    [
        {"kind": [1]},
        {"kind": [-1]},
        {"kind": [0, 0]},
        {"kind": [0.5]},
        {"width": [5]},
        {"width": [7]},
        {"width": [-1]},
        {"rise": np.ones((2, 4))},
        {"rise": np.ones(4)},
        {"rise": np.full((1, 4), NAN)},
        {"lower": [HUGE]},
        {"upper": [-HUGE]},
        {"lower": [[0]]},
        {"low": [HUGE]},
        {"low": [0, 1]},
        {"reach": -1},
        {"reach": 10**12},
        {"reach": 1.5},
        {"epsilon": 0.0},
        {"epsilon": NAN},
        {"length": -1},
    ],
)
def test_boxes_refuse(bad):
    with pytest.raises(REFUSALS):
        _geometric_boxes.boxes(**(BOXES | bad))


@pytest.mark.parametrize(
    ("likelihood", "epsilon", "reach"),
    [
        (np.ones((1, 4)), 1.0, 2),
        (np.ones(9), 1.0, 2),
        (np.ones((1, 1, 9)), 1.0, 2),
        (np.full((1, 9), NAN), 1.0, 2),
        (np.full((1, 9), np.inf), 1.0, 2),
        (-np.ones((1, 9)), 1.0, 2),
        ([["a"] * 9], 1.0, 2),
        (np.ones((1, 9), dtype=complex), 1.0, 2),
        (np.ones((1, 9)), 1.0, -1),
        (np.ones((1, 9)), 1.0, 10**9),
        (np.ones((1, 9)), 1.0, None),
        (np.ones((1, 9)), -1.0, 2),
        (np.ones((1, 9)), np.inf, 2),
        ([[1.0, 2.0], [3.0]], 1.0, 0),
    ],
)
def test_smooth_refuses(likelihood, epsilon, reach):
    with pytest.raises(REFUSALS):
        _geometric_boxes.smooth(likelihood, epsilon=epsilon, reach=reach)
    assert _geometric_boxes.smooth(np.ones((0, 9)), epsilon=1.0, reach=2).shape == (0, 5)
