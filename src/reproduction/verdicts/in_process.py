"""A paper's tables made in this process, as a run makes them: for tests that put something wrong in its place."""

import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from .. import tables
from ..config import config, schema
from ..jobs import adapters, blocks
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
    """Tables by name, equal to the files that a run leaves.

    Parameters
    ----------
    slug : the paper.
    changes : settings that differ from its defaults, as in its section of config.yaml.
    only : names of the tables wanted, all by default; what they read is made too.
    made : tables that exist already, e.g. of an honest run, or what the paper's own rules make (``by: gather``); they
        are taken as they are.
    root_seed : as in config.yaml.
    """
    papers = discover()
    paper = papers[slug]
    section = config.check({slug: dict(changes or {})}, schema.of(papers), {slug: paper.mistakes})[slug]
    found = dict(made or {})
    by_name = {a.name: a for a in paper.artefacts if a.table and a.table.by != "gather"}

    def make(name: str) -> pd.DataFrame:
        if name == "published":
            return tables.read(paper.folder / "published.tsv")
        if name not in found:
            found[name] = _as_written(_table(paper, by_name[name], section, make, root_seed))
        return found[name]

    wanted = by_name if only is None else only
    return {name: make(name) for name in wanted}


def verdicts(slug: str, made: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Verdict of every printed statement, by (artefact, quantity), from tables of `tables_of`."""
    paper = discover()[slug]
    published = agreement.read_published(paper.folder / "published.tsv")
    ours = adapters.find(f"{slug}.agreement.ours")(dict(made))
    compared = agreement.compare(published, ours, paper=slug)
    return compared.set_index(["artefact", "quantity"])["verdict"]


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
        simulate = adapters.find(f"{paper.slug}.{table.module}.simulate")
        simulated = blocks.simulate(simulate, settings, root_seed=root_seed, names=names)
        read = {"simulated": _as_written(simulated)}
    else:
        read = {name: make(name) for name in table.inputs}
    return adapters.made(
        f"{paper.slug}.{table.function}",
        by=table.by,
        settings=settings,
        read=read,
        programs={name: shutil.which(name) or "" for name in table.programs},
        files={argument: paper.folder / name for argument, name in table.files.items()},
        names=names,
        root_seed=root_seed,
        further={},
    )


def _as_written(table: pd.DataFrame) -> pd.DataFrame:
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        tables.write(table, path)
        return tables.read(path)
