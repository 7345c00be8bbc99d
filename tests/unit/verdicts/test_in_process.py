"""Tests of verdicts if some tables are replaced: rows of unchanged tables are computed once, and nothing is cached."""

import sys
from types import ModuleType

import pandas as pd
import pytest

from reproduction.verdicts import in_process

CODE = """
from collections.abc import Callable
from typing import Any
import pandas as pd

calls = []

def made(table: pd.DataFrame, name: str = "a") -> list[dict[str, Any]]:
    calls.append(("made", name))
    return [{"quantity": name, "verdict": float(table["x"].sum())}]

def generated(table: pd.DataFrame):
    calls.append(("generated", ""))
    for value in table["x"]:
        yield {"quantity": "each", "verdict": float(value)}

def scaled(table: pd.DataFrame, by: Any) -> float:
    calls.append(("scaled", by))
    return float(by(table["x"].sum()) if callable(by) else by * table["x"].sum())

def one(number: int) -> int:
    calls.append(("one", number))
    return number

def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    rows = [*made(tables["first"]), *made(tables["second"], "b"), *generated(tables["second"])]
    rows += made(tables["first"][:1], "part")
    rows[0]["verdict"] += one(0)
    return pd.DataFrame(rows)
"""


@pytest.fixture
def toy(monkeypatch):
    module = ModuleType("reproduction.papers.toy.agreement")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(CODE, vars(module))
    monkeypatch.setattr(in_process, "verdicts", lambda slug, made: module.ours(made)["verdict"])
    return module


@pytest.fixture
def honest():
    return {"first": pd.DataFrame({"x": [1.0, 2.0]}), "second": pd.DataFrame({"x": [3.0, 5.0]})}


def test_rows_of_honest_tables_are_made_once_and_those_of_others_each_time(toy, honest):
    judge = in_process.Judge("toy", honest)
    assert judge.verdicts.tolist() == [3, 8, 3, 5, 1]
    judge({})
    toy.calls.clear()
    for _ in range(2):
        assert judge({"first": pd.DataFrame({"x": [10.0, 20.0]})}).tolist() == [30, 8, 3, 5, 10]
    assert toy.calls == 2 * [("made", "a"), ("made", "part"), ("one", 0)]
    assert judge({"second": honest["second"].copy()}).equals(judge.verdicts)
    assert toy.calls[-4:] == [("made", "b"), ("generated", ""), ("made", "part"), ("one", 0)]


def test_tables_that_change_places_are_told_apart(toy, honest):
    judge = in_process.Judge("toy", honest)
    exchanged = {"first": honest["second"], "second": honest["first"]}
    assert judge({}).equals(judge.verdicts)
    assert judge(exchanged).tolist() == in_process.verdicts("toy", exchanged).tolist() == [8, 3, 1, 2, 3]


def test_who_changes_rows_changes_none_that_are_kept(toy, honest):
    judge = in_process.Judge("toy", honest)
    with judge._remembering():
        toy.made(honest["first"])[0]["verdict"] = 0
        next(toy.generated(honest["first"]))["verdict"] = 0
    assert judge({}).tolist() == [3, 8, 3, 5, 1]
    with judge._remembering():
        assert [row["verdict"] for row in toy.generated(honest["first"])] == [1, 2]
        assert [row["verdict"] for row in toy.generated(honest["first"])] == [1, 2]


def test_values_are_told_apart_by_kind_and_functions_are_not_kept(toy, honest):
    judge, table = in_process.Judge("toy", honest), honest["first"]
    toy.calls.clear()
    with judge._remembering():
        assert [toy.scaled(table, by) for by in (2, 3, 2, True, 1, 1.0)] == [6, 9, 6, 3, 3, 3]
        assert [str(by) for _, by in toy.calls] == ["2", "3", "True", "1", "1.0"]
        assert [toy.scaled(table, by=lambda x: x + 1) for _ in range(2)] == [4, 4]
    assert len(toy.calls) == 7


def test_the_papers_own_functions_are_back_also_after_an_error(toy, honest):
    own = dict(vars(toy))
    judge = in_process.Judge("toy", honest)
    judge({})
    with pytest.raises(KeyError, match="x"):
        judge({"second": pd.DataFrame({"y": [1.0]})})
    assert dict(vars(toy)) == own
    with judge._remembering():
        assert {name for name, value in vars(toy).items() if value is not own[name]} == {"made", "generated", "scaled"}
