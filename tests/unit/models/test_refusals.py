"""Hostile arrays at the border of `private_blocks` and `naive_bayes_scores`: refused, or right; never out of bounds."""

import numpy as np
import pytest
from reference import private_blocks as reference_blocks

from dpmultinomial._models import private_blocks
from dpmultinomial._seeding import stream

REFUSED = (ValueError, TypeError, OverflowError)
ONE = np.ones(1)
BLOCKS = {"counts": np.arange(5.0), "starts": np.array([0, 2, 5]), "law": "dirichlet", "scale": ONE, "alpha": ONE}
SCORES = {
    "priors": np.zeros((2, 3)),
    "tables": np.zeros((2, 4, 3)),
    "cells": np.array([[0, 3], [-1, 2]], dtype=np.int32),
    "labels": np.array([0, 2], dtype=np.int32),
}


@pytest.mark.parametrize(
    "change",
    [
        {"starts": np.array([-5, 0])},
        {"starts": np.array([0, 2, 6])},
        {"starts": np.array([0, 2**62, 5])},
        {"starts": np.array([0, 2**63 + 5], dtype=np.uint64)},
        {"starts": np.array([0, 3, 2, 5])},
        {"starts": np.array([0, 2, 2, 5])},
        {"starts": np.array([], dtype=np.int64)},
        {"starts": np.array([0])},
        {"starts": np.array([5])},
        {"starts": np.array([[0, 5]])},
        {"starts": np.array([0.0, 5.0])},
        {"starts": None},
        {"starts": "05"},
        {"counts": np.ones((5, 1))},
        {"counts": np.array([])},
        {"counts": np.array([1.0, np.nan, 1, 1, 1])},
        {"counts": np.array([1.0, np.inf, 1, 1, 1])},
        {"counts": np.array([1.0, -1, 1, 1, 1])},
        {"counts": np.ones(5, dtype=complex)},
        {"counts": np.array(["1"] * 5)},
        {"counts": np.full(5, 1e308), "scale": np.array([1e10])},
        {"counts": np.float64(5.0)},
        {"scale": np.array([np.nan])},
        {"scale": np.zeros(1)},
        {"scale": np.ones((1, 1))},
        {"scale": np.ones(2)},
        {"scale": None},
        {"alpha": np.ones(3)},
        {"alpha": np.array([-1.0])},
        {"floors": np.array([-1.0])},
        {"floors": np.array([np.nan])},
        {"floors": np.ones(2)},
        {"floors": np.array([])},
        {"floors": np.ones((1, 1))},
        {"law": "gaussian", "floors": None},
        {"law": "gaussian", "floors": np.zeros(1)},
        {"law": "gaussian", "floors": np.ones(4)},
        {"law": 0},
        {"rng": 1},
        {"rng": None},
    ],
    ids=lambda change: " ".join(f"{k}={v!r}"[:40] for k, v in change.items()),
)
def test_private_blocks_refuse(change):
    with pytest.raises(REFUSED):
        private_blocks.release(**BLOCKS | {"rng": stream(1, "hostile")} | change)


@pytest.mark.parametrize(
    "change",
    [
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
    ],
    ids=lambda change: " ".join(f"{k}={v!r}"[:40] for k, v in change.items()),
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
    [
        {"cells": np.array([[0, 4], [-1, 2]], dtype=np.int32)},
        {"cells": np.array([[0, -2], [-1, 2]], dtype=np.int32)},
        {"cells": np.array([[0, 2**40], [-1, 2]])},
        {"cells": np.array([[0, 2**32], [-1, 2]])},
        {"cells": np.array([[0, 2**63], [1, 2]], dtype=np.uint64)},
        {"cells": np.array([[0.0, 1.0], [1, 2]])},
        {"cells": np.zeros((2, 0), dtype=np.int32)},
        {"cells": np.zeros(2, dtype=np.int32)},
        {"cells": np.zeros((3, 2), dtype=np.int32)},
        {"cells": None},
        {"labels": np.array([0, 3], dtype=np.int32)},
        {"labels": np.array([-1, 0], dtype=np.int32)},
        {"labels": np.array([0, 2**33])},
        {"labels": np.zeros((2, 1), dtype=np.int32)},
        {"labels": np.array([True, False])},
        {"labels": np.array([], dtype=np.int32), "cells": np.zeros((0, 2), dtype=np.int32)},
        {"priors": np.zeros((2, 4))},
        {"priors": np.zeros((1, 3))},
        {"priors": np.zeros(3)},
        {"priors": np.full((2, 3), np.nan)},
        {"priors": np.full((2, 3), np.inf)},
        {"priors": np.zeros((2, 3), dtype=complex)},
        {"tables": np.zeros((2, 4))},
        {"tables": np.zeros((2, 0, 3))},
        {"tables": np.zeros((2, 4, 0)), "priors": np.zeros((2, 0))},
        {"tables": np.zeros((3, 4, 3))},
        {"tables": np.where(np.arange(24).reshape(2, 4, 3) == 7, np.nan, 0.0)},
        {"tables": np.array([[["a"]]])},
        {"tables": None},
        {"cap": -1e-9},
        {"cap": np.nan},
        {"cap": "0"},
    ],
    ids=lambda change: " ".join(f"{k}={v!r}"[:40] for k, v in change.items()),
)
def test_scores_refuse(change):
    with pytest.raises(REFUSED):
        private_blocks.scores(**SCORES | change)


@pytest.mark.parametrize(
    "change",
    [
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
    ],
    ids=lambda change: " ".join(f"{k}={v!r}"[:40] for k, v in change.items()),
)
def test_scores_read_other_layouts_rightly(change):
    given = SCORES | change
    clean = {k: np.array(given[k], dtype=float) for k in ("priors", "tables")}
    clean |= {k: np.array(given[k], dtype=np.int32) for k in ("cells", "labels")}
    ours = private_blocks.scores(**given)
    assert np.allclose(ours, reference_blocks.scores(**clean, cap=given.get("cap", 0.0)), rtol=1e-12)
    assert not np.isnan(ours).any()
