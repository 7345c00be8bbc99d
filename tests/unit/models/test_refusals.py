"""Tests of arrays that `private_blocks` must reject, and of arrays of other layouts that it must read correctly."""

from functools import partial

import numpy as np
import pytest
from reference import private_blocks as reference_blocks
from refusals import REJECTED, cases, rejects

from dpmultinomial._models import private_blocks
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
