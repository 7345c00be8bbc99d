"""Tests of `private_blocks` against reference implementations, and of arrays that it must reject or read correctly."""

from functools import partial

import numpy as np
import pytest
from reference import private_blocks as reference_blocks
from refusals import REJECTED, cases, rejects

from dpmultinomial._models import calibrated_noise, private_blocks
from dpmultinomial._models.naive_bayes import Counts
from dpmultinomial._seeding import stream

NAN, INF = np.nan, np.inf
ONE = np.ones(1)
BLOCKS = {"counts": np.arange(5.0), "starts": np.array([0, 2, 5]), "law": "dirichlet", "scale": ONE, "alpha": ONE}
SCORES = {
    "priors": np.zeros((2, 3)),
    "tables": np.zeros((2, 4, 3)),
    "cells": np.array([[0, 3], [-1, 2]], dtype=np.int32),
    "labels": np.array([0, 2], dtype=np.int32),
}
release = partial(private_blocks.release, **BLOCKS, rng=stream(1, "hostile"))
gaussian = partial(release, law="gaussian")
scores = partial(private_blocks.scores, **SCORES)
INT32 = np.int32

ROWS = cases(
    (release, "starts", [
        np.array([-5, 0]), np.array([0, 2, 6]), np.array([0, 2**62, 5]), np.array([0, 2**63 + 5], dtype=np.uint64),
        np.array([0, 3, 2, 5]), np.array([0, 2, 2, 5]), np.array([], dtype=np.int64), np.array([0]), np.array([5]),
        np.array([1, 5]),
        np.array([[0, 5]]), np.array([0.0, 5.0]), None, "05",
    ]),
    (release, "counts", [
        np.ones((5, 1)), np.array([]), np.array([1.0, NAN, 1, 1, 1]), np.array([1.0, INF, 1, 1, 1]),
        np.array([1.0, -1, 1, 1, 1]), np.ones(5, dtype=complex), np.array(["1"] * 5), np.float64(5.0),
    ]),
    (partial(release, scale=np.array([1e10])), "counts", [np.full(5, 1e308)],
     r"scale \* counts \+ alpha must be finite"),
    (release, "scale", [np.array([NAN]), np.zeros(1), np.ones((1, 1)), None]),
    (release, "scale", [np.ones(2)], "alpha must be one number or 2 numbers"),
    (release, "alpha", [np.ones(3), np.array([-1.0])]),
    (release, "floors", [np.array([-1.0]), np.array([NAN]), np.ones(2), np.array([]), np.ones((1, 1))]),
    (gaussian, "floors", [None, np.zeros(1), np.ones(4)]),
    (release, "law", [0]),
    (release, "rng", [1, None]),
    (scores, "cells", [
        np.array([[0, 4], [-1, 2]], dtype=INT32), np.array([[0, -2], [-1, 2]], dtype=INT32),
        np.array([[0, 2**40], [-1, 2]]), np.array([[0, 2**32], [-1, 2]]), np.array([[0.0, 1.0], [1, 2]]),
        np.array([[0, 2**63], [1, 2]], dtype=np.uint64), np.zeros((2, 0), dtype=INT32), np.zeros(2, dtype=INT32),
        np.zeros((3, 2), dtype=INT32), None,
    ]),
    (scores, "labels", [
        np.array([0, 3], dtype=INT32), np.array([-1, 0], dtype=INT32), np.array([0, 2**33]),
        np.zeros((2, 1), dtype=INT32), np.array([True, False]),
    ]),
    (partial(scores, cells=np.zeros((0, 2), dtype=INT32)), "labels", [np.array([], dtype=INT32)]),
    (scores, "priors", [
        np.zeros((2, 4)), np.zeros((1, 3)), np.zeros(3), np.full((2, 3), NAN), np.full((2, 3), INF),
        np.zeros((2, 3), dtype=complex),
    ]),
    (scores, "tables", [
        np.zeros((2, 4)), np.zeros((2, 0, 3)), np.zeros((3, 4, 3)), np.array([[["a"]]]), None,
        np.where(np.arange(24).reshape(2, 4, 3) == 7, NAN, 0.0),
    ]),
    (partial(scores, priors=np.zeros((2, 0))), "tables", [np.zeros((2, 4, 0))]),
    (scores, "cap", [-1e-9, NAN, "0"]),
)  # fmt: skip


def changed(*keywords):
    """Return one case per set of keywords, with its name."""
    return [pytest.param(k, id=" ".join(f"{name}={value!r}"[:40] for name, value in k.items())) for k in keywords]


@pytest.mark.parametrize(REJECTED, ROWS)
def test_rejects(call, arguments, words, error):
    rejects(call, arguments, words, error)


@pytest.mark.parametrize(
    "change",
    changed(
        {"counts": np.arange(10.0)[::2]},
        {"counts": np.arange(5, dtype=np.int8)},
        {"counts": [0, 1, 2, 3, 4]},
        {"counts": np.asfortranarray(np.arange(10.0).reshape(5, 2))[:, 0]},
        {"starts": np.array([0, 9, 2, 9, 5])[::2]},
        {"starts": np.array([0, 2, 5], dtype=np.uint8)},
        {"starts": np.array([0, 2, 5], dtype=">i4")},
        {"scale": np.array([1.0], dtype=np.float32)},
        {"scale": 1.0, "alpha": 1.0},
        {"floors": 0.25},
    ),
)
def test_private_blocks_read_other_layouts_rightly(change):
    given = BLOCKS | change
    clean = {k: np.atleast_1d(np.array(given[k], dtype=float)) for k in ("counts", "scale", "alpha")}
    floors = np.atleast_1d(change["floors"]) if "floors" in change else None
    starts = np.array(given["starts"], dtype=np.int64)
    ours = private_blocks.release(**given, rng=stream(2, "layout"))
    expected = reference_blocks.release(starts=starts, law="dirichlet", floors=floors, rng=stream(2, "layout"), **clean)
    assert np.allclose(ours, expected, rtol=1e-13, atol=1e-14)


def test_private_blocks_without_releases_are_empty():
    nothing = np.array([])
    found = private_blocks.release(**BLOCKS | {"scale": nothing, "alpha": nothing}, rng=stream(3, "none"))
    assert found.shape == (0, 5)


@pytest.mark.parametrize(
    "change",
    changed(
        {"tables": np.asfortranarray(stream(4, "t").normal(size=(2, 4, 3)))},
        {"tables": stream(4, "u").normal(size=(2, 8, 3))[:, ::2]},
        {"tables": stream(4, "v").normal(size=(2, 4, 3)).astype(np.float32)},
        {"priors": stream(4, "p").normal(size=(3, 2)).T},
        {"cells": np.array([[0, 9, 3], [-1, 9, 2]], dtype=np.int64)[:, ::2]},
        {"cells": np.array([[0, 3], [-1, 2]], dtype=np.int8)},
        {"cells": [[0, 3], [-1, 2]]},
        {"labels": np.array([0, 2], dtype=np.uint16)},
        {"labels": np.array([2, 9, 0])[::-2]},
        {"tables": np.full((2, 4, 3), -np.inf)},
        {"priors": np.array([[-np.inf, 0, 0], [0, -np.inf, -np.inf]])},
        {"cap": 1e-3},
    ),
)
def test_scores_read_other_layouts_rightly(change):
    given = SCORES | change
    clean = {k: np.array(given[k], dtype=float) for k in ("priors", "tables")}
    clean |= {k: np.array(given[k], dtype=np.int32) for k in ("cells", "labels")}
    ours = private_blocks.scores(**given)
    assert np.allclose(ours, reference_blocks.scores(**clean, cap=given.get("cap", 0.0)), rtol=1e-12)
    assert not np.isnan(ours).any()


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
