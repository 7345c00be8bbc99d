"""Tests of blocks: streams depend only on seed and names, and results do not depend on the shards."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmultinomial._seeding import stream
from reproduction.jobs import blocks, calls


def first(*names, seed=1):
    return stream(seed, *names).random()


def test_a_stream_is_a_function_of_seed_and_names():
    assert first("a", "b") == first("a", "b")
    different = [("a", "b"), ("ab",), ("b", "a"), ("a", "b", 0), ("a", "b", "0"), ("a", "b", 1)]
    assert len({first(*names) for names in different}) == len(different)
    assert first("a", seed=1) != first("a", seed=2)


def test_a_stream_is_the_same_on_every_machine():
    assert stream(20180531, "balmat2018", "figure_2", 0).integers(2**63) == 667598270787715058


@pytest.mark.parametrize(
    ("seed", "names", "error"),
    [
        (-1, ("a",), ValueError),
        (1, (), ValueError),
        (None, ("a",), TypeError),
        (1.0, ("a",), TypeError),
        (1, (2.5,), TypeError),
    ],
)
def test_bad_seeds_and_names_are_refused(seed, names, error):
    with pytest.raises(error):
        stream(seed, *names)


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 30))
def test_shards_share_out_every_block_once(replications, block, shards):
    parts = [blocks.of_shard(replications, block, s, shards) for s in range(1, shards + 1)]
    together = [b for part in parts for b in part]
    assert [index for index, _ in together] == list(range(len(together)))
    assert sum(size for _, size in together) == replications
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def draw(size, *, rng):
    return pd.DataFrame({"x": rng.random(size)})


@pytest.mark.parametrize("shards", [1, 2, 5, 40])
def test_stacked_shards_equal_one_run(shards):
    settings = {"replications": 101, "block": 10}
    known = {"root_seed": 3, "names": ("test",)}
    whole = blocks.simulate(draw, settings, **known)
    parts = [blocks.simulate(draw, settings, **known, shard=s, shards=shards) for s in range(1, shards + 1)]
    pd.testing.assert_frame_equal(calls.stack(parts), whole)
    assert np.array_equal(whole["x"][:10], stream(3, "test", 0).random(10))
