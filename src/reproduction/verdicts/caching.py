"""Compute verdicts for many sets of tables that differ in only one or two tables, and reuse results for unmodified
tables.

Judging a paper takes up to a second, and tests that change one table at a time do it hundreds of times. Functions of a
paper that take whole tables return the same rows for the same tables, so their rows are cached.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from inspect import isfunction, isgeneratorfunction, signature
from types import ModuleType
from typing import Any

import pandas as pd

from . import in_process

_PLAIN = (str, int, float, bool, type(None))


class Judge:
    """Verdicts of a paper, computed from its unmodified tables, some of which may be replaced.

    Cached rows were computed earlier: if a test replaces code, the replacement affects only recomputed tables and their
    verdicts.

    Parameters
    ----------
    slug : the paper.
    honest : all unmodified tables that its verdicts read; they must not be changed in place.

    Attributes
    ----------
    verdicts : verdicts of the unmodified tables, from `in_process.verdicts`.
    """

    def __init__(self, slug: str, honest: Mapping[str, pd.DataFrame]) -> None:
        self.slug, self.honest = slug, dict(honest)
        self.verdicts = in_process.verdicts(slug, self.honest)
        self._ids = {id(table): name for name, table in self.honest.items()}
        self._rows: dict[Any, Any] = {}
        self._wrapped: dict[Callable[..., Any], Callable[..., Any]] = {}

    def __call__(self, changed: Mapping[str, pd.DataFrame]) -> pd.Series:
        """Return the verdicts with the tables `changed` in place of the unmodified tables of the same names."""
        with self._remembering():
            return in_process.verdicts(self.slug, self.honest | dict(changed))

    @contextmanager
    def _remembering(self) -> Iterator[None]:
        """Replace the paper's functions that take whole tables by cached versions."""
        places = [
            (module, name, call) for module in _modules(self.slug) for name, call in _of_tables(self.slug, module)
        ]
        try:
            for module, name, call in places:
                setattr(module, name, self._wrapped.setdefault(call, self._remembered(call)))
            yield
        finally:
            for module, name, call in places:
                setattr(module, name, call)

    def _remembered(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def rows(*arguments: Any, **named: Any) -> Any:
            key = self._key(call, arguments, named)
            if key is None:
                return call(*arguments, **named)
            if key not in self._rows:
                found = call(*arguments, **named)
                self._rows[key] = list(found) if isgeneratorfunction(call) else found
            return _copied(self._rows[key], isgeneratorfunction(call))

        return rows

    def _key(self, call: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Return a cache key for a call; None if an argument is neither an unmodified table nor a plain value."""
        parts: list[Any] = []
        for name, value in [*enumerate(arguments), *named.items()]:
            if id(value) in self._ids:
                parts.append((name, "table", self._ids[id(value)]))
            elif isinstance(value, _PLAIN):
                parts.append((name, type(value), value))
            else:
                return None
        return (call, *parts)


def _modules(slug: str) -> Iterator[ModuleType]:
    prefix = f"reproduction.papers.{slug}."
    for name, module in list(sys.modules.items()):
        if name.startswith(prefix) and not name.startswith(f"{prefix}tests"):
            yield module


def _of_tables(slug: str, module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return the functions of the paper that a module has, by name, and that take a whole table."""
    for name, value in list(vars(module).items()):
        mine = isfunction(value) and value.__module__.startswith(f"reproduction.papers.{slug}.")
        if mine and _takes_tables(value):
            yield name, value


@cache
def _takes_tables(call: Callable[..., Any]) -> bool:
    return any(parameter.annotation is pd.DataFrame for parameter in signature(call).parameters.values())


def _copied(kept: Any, generated: bool) -> Any:
    """Return copies of rows, so that a repeated call does not share them."""
    if generated:
        return iter([_copied(row, False) for row in kept])
    if isinstance(kept, list):
        return [_copied(row, False) for row in kept]
    return kept.copy() if isinstance(kept, (dict, pd.DataFrame, pd.Series)) else kept
