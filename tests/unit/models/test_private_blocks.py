"""Tests of the kernels of ponnoprat2022's experiments, against reference implementations, and at the range ends."""

import numpy as np
import pytest
from reference import private_blocks as reference_blocks

from dpmultinomial._models import calibrated_noise, private_blocks
from dpmultinomial._models.naive_bayes import Counts
from dpmultinomial._seeding import stream


def table(rows=200, sizes=(3, 5, 2), groups=4):
    rng = stream(1, "table", rows)
    codes = np.column_stack([rng.integers(-1, s, rows) for s in sizes]).astype(np.int32)
    return codes, rng.integers(0, groups, rows).astype(np.int32), np.append(0, np.cumsum(sizes)).astype(np.int64)


@pytest.mark.parametrize("rows", [0, 1, 200])
def test_class_counts_count_one_by_one(rows):
    codes, groups, starts = table(rows)
    found = Counts(codes, groups, sizes=[3, 5, 2], classes=4)
    expected = np.zeros((4, 10), dtype=np.int64)
    for row, label in zip(codes, groups, strict=True):
        for start, code in zip(starts, row, strict=False):
            expected[label, start + code] += code >= 0
    np.testing.assert_array_equal(found.table, expected)
    assert found.labels.sum() == rows


def test_class_counts_refuse_codes_out_of_range():
    codes, groups, _ = table()
    with pytest.raises(
        ValueError,
        match=r"the category codes of each feature must be below the number of categories of the feature ..3, 5, 2..",
    ):
        Counts(codes + np.int32(1), groups, sizes=[3, 5, 2], classes=4)
    for wrong in (groups + np.int32(1), groups - np.int32(1)):
        with pytest.raises(ValueError, match=r"labels must lie in .0, 4., got values from"):
            Counts(codes, wrong, sizes=[3, 5, 2], classes=4)


@pytest.mark.parametrize(
    ("law", "rest"),
    [
        ("dirichlet", {"alpha": np.array([1.0, 2.5, 9.0])}),
        ("gaussian", {"floors": np.array([1e-6, 0.1, 3.0])}),
        ("laplace", {"floors": np.array([1e-6, 0.1, 3.0])}),
        ("laplace", {"floors": np.array([1e-6, 0.1, 3.0]), "normalise": False}),
    ],
)
def test_private_blocks_equal_the_reference(law, rest):
    counts, starts = np.array([0.0, 3, 10, 200, 0, 1, 7]), np.array([0, 3, 5, 7])
    scale = np.array([0.02, 0.7, 30.0])
    ours = private_blocks.release(counts, starts, law=law, scale=scale, **rest, rng=stream(2, law))
    expected = reference_blocks.release(counts, starts, law=law, scale=scale, **rest, rng=stream(2, law))
    assert np.allclose(ours, expected, rtol=1e-13, atol=1e-14)
    if rest.get("normalise", True):
        assert np.allclose(np.add.reduceat(np.exp(ours), starts[:-1], axis=1), 1, rtol=1e-13)


def test_private_blocks_refuse_bad_input():
    counts, starts, rng = np.ones(3), np.array([0, 3]), stream(3, "bad")
    with pytest.raises(ValueError, match="floors must be given with additive noise"):
        private_blocks.release(counts, starts, law="gaussian", scale=np.ones(1), rng=rng)
    with pytest.raises(ValueError, match="law must be one of"):
        private_blocks.release(counts, starts, law="cauchy", scale=np.ones(1), rng=rng)
    with pytest.raises(ValueError, match="starts must increase from 0 to 3"):
        private_blocks.release(counts, np.array([0, 2]), law="dirichlet", scale=np.ones(1), rng=rng)
    with pytest.raises(ValueError, match="scale must be finite and > 0"):
        private_blocks.release(counts, starts, law="dirichlet", scale=np.zeros(1), rng=rng)


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("cap", [0.0, 1e-20])
def test_scores_equal_the_reference(classes, cap):
    rng = stream(4, "scores", classes)
    priors, tables = rng.normal(size=(5, classes)), 3 * rng.normal(size=(5, 12, classes))
    cells = rng.integers(-1, 12, (50, 6)).astype(np.int32)
    labels = rng.integers(0, classes, 50).astype(np.int32)
    ours = private_blocks.scores(priors, tables, cells, labels, cap=cap)
    assert np.allclose(ours, reference_blocks.scores(priors, tables, cells, labels, cap=cap), rtol=1e-13)


def test_scores_survive_weights_far_apart_and_count_ties_as_right():
    tables = np.array([[[-800.0, 0.0]]])
    one = np.zeros((1, 1), dtype=np.int32)
    label = np.zeros(1, dtype=np.int32)
    assert private_blocks.scores(np.zeros((1, 2)), tables, one, label)[0].tolist() == [800.0, 0.0]
    capped = private_blocks.scores(np.zeros((1, 2)), tables, one, label, cap=1e-20)[0, 0]
    assert capped == pytest.approx(-np.log(1e-20), rel=1e-12)
    assert private_blocks.scores(np.zeros((1, 2)), np.zeros((1, 1, 2)), one, label)[0, 1] == 1.0


def test_scores_refuse_bad_input():
    one, label = np.zeros((1, 1), dtype=np.int32), np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match=r"cells must lie in \[-1, 1\)"):
        private_blocks.scores(np.zeros((1, 2)), np.zeros((1, 1, 2)), one + np.int32(1), label)
    with pytest.raises(ValueError, match=r"labels must lie in \[0, 2\)"):
        private_blocks.scores(np.zeros((1, 2)), np.zeros((1, 1, 2)), one, label + np.int32(2))
    with pytest.raises(ValueError, match="labels must contain at least one label"):
        private_blocks.scores(np.zeros((1, 2)), np.zeros((1, 1, 2)), one[:0], label[:0])


def test_noise_is_repeated_in_place_and_names_itself():
    noise = calibrated_noise.Noise("laplace", np.array([1.0, 2.0]), np.ones(2))
    twice = noise.repeated(2)
    assert (twice.law, twice.scale.tolist(), twice.alpha.tolist()) == ("laplace", [1, 1, 2, 2], [1, 1, 1, 1])
    assert "alpha" not in repr(noise)
    assert "alpha" in repr(calibrated_noise.Noise("dirichlet", np.ones(1), np.ones(1)))
    assert calibrated_noise.floors("sigma", noise, smoothing=2.0) == pytest.approx([2.0, 8**0.5])
