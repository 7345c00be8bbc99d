"""Compute a paper's tables in the current process, as a run does, for tests that replace code with
deliberate errors.
"""

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from .. import tables
from ..config import checks, config
from ..jobs import blocks, calls
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
    """Return tables by name, equal to the files of a run.

    Parameters
    ----------
    slug : the paper.
    changes : settings, as in the paper's section of config.yaml, with all settings of every table that is made, so that
        no test depends on a default. None for the defaults.
    only : names of the requested tables, all by default; their inputs are made too.
    made : existing tables that are used unchanged, e.g. from an unmodified run, or from the paper's additional rules
        (``by: gather``).
    root_seed : as in config.yaml.

    Raises
    ------
    ValueError
        If `changes` lack a setting of a table that is made.
    """
    paper = discover()[slug]
    section = json.loads(_checked(slug, json.dumps(dict(changes or {}))))
    found = dict(made or {})
    by_name = {a.name: a for a in paper.artefacts if a.table and a.table.by != "gather"}
    stated = None if changes is None else dict(changes)

    def make(name: str) -> pd.DataFrame:
        if name == "published":
            return tables.read(paper.folder / "published.tsv")
        if name not in found:
            _whole(paper, by_name[name], stated)
            found[name] = _as_written(_table(paper, by_name[name], section, make, root_seed))
        return found[name]

    wanted = by_name if only is None else only
    return {name: make(name) for name in wanted}


@cache
def _checked(slug: str, changes: str) -> str:
    """Return the complete section of a paper for given settings, both as JSON; the result is cached because tests
    repeat settings.
    """
    papers = discover()
    checked = config.check({slug: json.loads(changes)}, checks.schema_of(papers), {slug: papers[slug].mistakes})
    return json.dumps(checked[slug])


def verdicts(slug: str, made: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Return the verdict on every printed statement, by (artefact, quantity), from tables of `tables_of`."""
    published = _published(discover()[slug].folder / "published.tsv")
    ours = calls.find(f"{slug}.agreement.ours")(dict(made))
    compared = agreement.compare(published, ours, paper=slug)
    return compared.set_index(["artefact", "quantity"])["verdict"]


@cache
def _published(path: Path) -> pd.DataFrame:
    """Return the published statements, which are read once; callers must not change them."""
    return agreement.read_published(path)


def settings(path: str | Path, **changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a paper's tests: ``settings.yaml`` in the folder of the test file `path`, with some
    sections changed.
    """
    found = config.read(Path(path).with_name("settings.yaml"))
    return found | {section: found.get(section, {}) | dict(keys) for section, keys in changes.items()}


def _whole(paper: Paper, artefact: Artefact, stated: Mapping[str, Any] | None) -> None:
    """Check that every setting of a table is given."""
    assert artefact.table is not None
    section = artefact.table.settings
    known = ((paper.settings.get("sections") or {}).get(section) or {}).get("properties") or {}
    left_out = set() if stated is None else set(known) - set(stated.get(section) or {})
    if left_out:
        raise ValueError(f"{paper.slug}.{section}: the test lacks settings {', '.join(sorted(left_out))}; add them")


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
        simulate = calls.find(f"{paper.slug}.{table.module}.simulate")
        simulated = blocks.simulate(simulate, settings, root_seed=root_seed, names=names)
        read = {"simulated": _as_written(simulated)}
    else:
        read = {name: make(name) for name in table.inputs}
    return calls.made(
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
