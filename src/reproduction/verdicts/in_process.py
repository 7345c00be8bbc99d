"""Compute the tables and verdicts of a paper in the current process, with the same steps as in a run. Tests that
replace code with deliberate errors use this module.

Computing the verdicts of a paper takes up to a second, and tests that change one table at a time do this hundreds of
times. Functions of a paper that take whole tables return the same rows for the same tables, so `Judge` caches their
rows.
"""

import json
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from inspect import isfunction, isgeneratorfunction, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pandas as pd

from .. import tables
from ..config import checks, config
from ..jobs import making
from ..paper import Artefact, Paper, discover
from . import agreement

ROOT_SEED = 20180531


def tables_of(
    slug: str,
    changes: Mapping[str, Any] | None = None,
    *,
    only: Collection[str] | None = None,
    made: Mapping[str, pd.DataFrame] | None = None,
    root_seed: int = ROOT_SEED,
) -> dict[str, pd.DataFrame]:
    """Return the tables of a paper, as a dictionary indexed by name. The tables are equal to the tables that a run
    writes.

    Parameters
    ----------
    slug : slug of the paper.
    changes : settings as in the paper's section of config.yaml. They must contain all settings of every table that is
        made, so that no test depends on a default. If None, the defaults are used.
    only : names of the requested tables (by default, all tables); the tables from which they are made are made too.
    made : existing tables that are used unchanged, e.g. from an unmodified run, or from the paper's additional rules
        (``by: gather``).
    root_seed : root seed, as in config.yaml.

    Raises
    ------
    ValueError
        If `changes` lacks a setting of a table that is made.
    """
    paper = discover()[slug]
    section = json.loads(_checked(slug, json.dumps(dict(changes or {}))))
    computed = dict(made or {})
    by_name = {a.name: a for a in paper.artefacts if a.table and a.table.by != "gather"}
    stated = None if changes is None else dict(changes)

    def make(name: str) -> pd.DataFrame:
        if name == "published":
            return tables.read(paper.folder / "published.tsv")
        if name not in computed:
            _whole(paper, by_name[name], stated)
            computed[name] = _as_written(_table(paper, by_name[name], section, make, root_seed))
        return computed[name]

    wanted = by_name if only is None else only
    return {name: make(name) for name in wanted}


@cache
def _checked(slug: str, changes: str) -> str:
    """Return the configuration section of a paper, with defaults for all settings that are not given. Both the settings
    and the section are JSON text. The result is cached, because tests repeat settings.
    """
    papers = discover()
    checked = config.check({slug: json.loads(changes)}, checks.schema_of(papers), {slug: papers[slug].mistakes})
    return json.dumps(checked[slug])


def verdicts(slug: str, made: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Return the verdict on every printed statement of a paper, computed from given tables. The verdicts are indexed by
    (artefact, quantity), and the tables have the format of `tables_of`.
    """
    published = _published(discover()[slug].folder / "published.tsv")
    ours = making.find(f"{slug}.agreement.ours")(dict(made))
    compared = agreement.compare(published, ours, paper=slug)
    return compared.set_index(["artefact", "quantity"])["verdict"]


@cache
def _published(path: Path) -> pd.DataFrame:
    """Return the published statements of a paper as a cached table. The file is read only once, so callers must not
    change the table.
    """
    return agreement.read_published(path)


def settings(path: str | Path, **changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings for the tests of a paper, with some sections changed. The settings are read from
    ``settings.yaml`` in the folder of the test file `path`.
    """
    written = config.read(Path(path).with_name("settings.yaml"))
    return written | {section: written.get(section, {}) | dict(keys) for section, keys in changes.items()}


def _whole(paper: Paper, artefact: Artefact, stated: Mapping[str, Any] | None) -> None:
    """Raise ValueError if a test does not specify every setting of a table."""
    assert artefact.table is not None
    section = artefact.table.settings
    known = ((paper.settings.get("sections") or {}).get(section) or {}).get("properties") or {}
    left_out = set() if stated is None else set(known) - set(stated.get(section) or {})
    if left_out:
        raise ValueError(
            f"the test of {paper.slug}.{section} does not set {', '.join(sorted(left_out))}: add these settings"
        )


def _table(
    paper: Paper,
    artefact: Artefact,
    section: Mapping[str, Any],
    make: Callable[[str], pd.DataFrame],
    root_seed: int,
) -> pd.DataFrame:
    table = artefact.table
    assert table is not None
    settings, names = section[table.settings], (paper.slug, table.settings)
    if table.by == "summarise":
        simulate = making.find(f"{paper.slug}.{table.module}.simulate")
        simulated = making.simulate(simulate, settings, root_seed=root_seed, names=names)
        read = {"simulated": _as_written(simulated)}
    else:
        read = {name: make(name) for name in table.inputs}
    return making.made(
        f"{paper.slug}.{table.function}",
        by=table.by,
        settings=settings,
        read=read,
        programs={name: shutil.which(name) or "" for name in table.programs},
        files={argument: paper.folder / name for argument, name in table.files.items()},
        names=names,
        root_seed=root_seed,
    )


def _as_written(table: pd.DataFrame) -> pd.DataFrame:
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        tables.write(table, path)
        return tables.read(path)


_PLAIN = (str, int, float, bool, type(None))


class Judge:
    """Verdicts on the statements of a paper, for the unmodified tables and for tables of which some have been replaced.

    Cached rows are not recomputed. If a test replaces code, the replacement therefore affects only the tables that are
    recomputed, and their verdicts.

    Parameters
    ----------
    slug : slug of the paper.
    honest : all unmodified tables that the verdicts read; they must not be changed in place.

    Attributes
    ----------
    verdicts : verdicts of the unmodified tables, computed by `in_process.verdicts`.
    """

    def __init__(self, slug: str, honest: Mapping[str, pd.DataFrame]) -> None:
        self.slug, self.honest = slug, dict(honest)
        self.verdicts = verdicts(slug, self.honest)
        self._ids = {id(table): name for name, table in self.honest.items()}
        self._rows: dict[Any, Any] = {}
        self._wrapped: dict[Callable[..., Any], Callable[..., Any]] = {}

    def __call__(self, changed: Mapping[str, pd.DataFrame]) -> pd.Series:
        """Return the verdicts after the tables `changed` have replaced the unmodified tables of the same names."""
        with self._remembering():
            return verdicts(self.slug, self.honest | dict(changed))

    @contextmanager
    def _remembering(self) -> Iterator[None]:
        """Cache, while the context is active, the results of the functions of a paper that take complete tables. Only
        functions that take complete tables as arguments are cached.
        """
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
                returned = call(*arguments, **named)
                self._rows[key] = list(returned) if isgeneratorfunction(call) else returned
            return _copied(self._rows[key], isgeneratorfunction(call))

        return rows

    def _key(self, call: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Return the cache key of a function call, or None if an argument of the call is neither an unmodified table
        nor a plain value.
        """
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
    """Yield pairs (name, function) for the functions in a paper's module that take a complete table as an argument."""
    for name, value in list(vars(module).items()):
        mine = isfunction(value) and value.__module__.startswith(f"reproduction.papers.{slug}.")
        if mine and _takes_tables(value):
            yield name, value


@cache
def _takes_tables(call: Callable[..., Any]) -> bool:
    return any(parameter.annotation is pd.DataFrame for parameter in signature(call).parameters.values())


def _copied(kept: Any, generated: bool) -> Any:
    """Return copies of cached rows, so that repeated calls do not share objects."""
    if generated:
        return iter([_copied(row, False) for row in kept])
    if isinstance(kept, list):
        return [_copied(row, False) for row in kept]
    return kept.copy() if isinstance(kept, (dict, pd.DataFrame, pd.Series)) else kept
