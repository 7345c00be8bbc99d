"""Tests that objects of the library are immutable and have a readable description."""

import dataclasses
import importlib
import inspect
import pkgutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import dpmultinomial
from dpmultinomial._mechanisms.swapping import exact_swapping, two_by_two
from dpmultinomial._models import _support, bayesian_network
from reproduction.papers.pan2023.algorithms import swapping_audit

MODULES = [m.name for m in pkgutil.walk_packages(dpmultinomial.__path__, "dpmultinomial.") if "_kernels" not in m.name]


@pytest.mark.parametrize("package", sorted({name.split(".")[1] for name in MODULES}))
def test_values_cannot_be_changed(package):
    """Check that every dataclass is frozen, except states of chains, so that checked values remain valid."""
    found = set()
    for name in MODULES:
        if name.split(".")[1] == package:
            module = importlib.import_module(name)
            own = (c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == name)
            found |= {c for c in own if "__dataclass_params__" in vars(c)}
    changeable = {c.__qualname__ for c in found if not c.__dataclass_params__.frozen}
    assert changeable == ({"State", "Proposal"} if package == "_posteriors" else set())
    for kind in found:
        assert all(f.name.isidentifier() for f in dataclasses.fields(kind))


@pytest.mark.parametrize("nodes", ["ab", "abc", "abcd"])
def test_a_cycle_is_shown_from_its_start_to_its_start(nodes):
    parents = {node: (nodes[i - 1],) for i, node in enumerate(nodes)}
    with pytest.raises(ValueError, match="must not contain a cycle") as told:
        bayesian_network.graph(parents, columns=list(nodes))
    shown = str(told.value).removeprefix("network must not contain a cycle, got ").split(" -> ")
    assert shown[0] == shown[-1]
    assert sorted(shown[1:]) == sorted(nodes)
    assert all(parents[below] == (above,) for above, below in pairwise(shown))


def test_what_is_learnt_of_numbers_are_their_ends():
    """Check that numbers with fractions are binned between the extremes, and that a few integers are levels."""
    frame = pd.DataFrame({"x": [2.5, -1.25, 7.0, 0.0], "n": [3, 1, 3, 2], "one": [4.5] * 4, "t": list("baab")})
    found = [_support._seen(column, 5) for column in _support.read_columns(frame)]
    assert found[0] == _support.Bins(-1.25, 7.0, 5, public=False)
    assert found[1:] == [_support.Levels(v, public=False) for v in ((1, 2, 3), (4.5,), ("a", "b"))]
    many = _support.read_columns(pd.DataFrame({"n": np.arange(10, _support.MANY + 11)}))[0]
    assert _support._seen(many, 5) == _support.Bins(10.0, _support.MANY + 10.0, 5, public=False)
    few = _support.read_columns(pd.DataFrame({"n": np.arange(10, _support.MANY + 10)}))[0]
    assert _support._seen(few, 5).size == _support.MANY
    assert found[0].codes(_support.read_columns(frame)[0]).tolist() == [2, 0, 4, 0]  # widths of 1.65 from -1.25


def test_a_swap_needs_two_records():
    with pytest.raises(ValueError, match="n must be >= 2, got 1"):
        swapping_audit.log_kernel(1, 1, 1, rate=0.3)
    x, logs = swapping_audit.log_kernel(2, 1, 1, rate=0.3)
    assert x.tolist() == [0, 1]
    assert np.exp(logs).sum(axis=1) == pytest.approx([1, 1])


@pytest.mark.parametrize("table", [[[3, 0], [2, 0]], [[0, 0], [4, 7]], [[0, 3], [0, 2]]])
def test_a_class_of_one_table_stays_there(table):
    """Check that with a margin of 0 there is no other table, in any orientation."""
    for law in (two_by_two.row(table, rate=0.3), exact_swapping.row(table, rate=0.3)):
        assert law.x.tolist() == [table[1][1]]
        assert (law.log_forward.tolist(), law.log_backward.tolist(), law.position) == ([0.0], [0.0], 0)
