"""Check that a test covers all data that a figure shows. A change of a column that is visible in the figure must change
a verdict.

A numeric column is visible in a figure if the figure changes when the column is reversed or increased by a tenth. It is
tested if the same change alters a verdict of the paper. Columns about which the paper prints nothing are listed under
``beyond_print`` in the ``paper.yaml`` of its folder, either as figure -> reason or as figure -> {column: reason}.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from ..jobs import making
from ..paper import Artefact, Paper
from . import in_process

BEYOND = "beyond_print in paper.yaml"
CHANGES: dict[str, Callable[[pd.Series], Any]] = {
    "reversed": lambda column: column.to_numpy()[::-1],
    "a tenth larger": lambda column: 1.1 * column,
}


def unjudged(paper: Paper, made: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each column that is visible in a figure of `paper` but is not checked by any test. Invalid
    entries in the list of exceptions are also reported.

    Parameters
    ----------
    paper : paper whose figures and verdicts are checked.
    made : all tables that the verdicts and figures of the paper use.
    settings : settings of the tables that are made from other tables and are recomputed if these change.
    """
    reasons, judge = dict(paper.beyond_print), in_process.Judge(paper.slug, made)
    for artefact in paper.artefacts:
        known = reasons.pop(artefact.name, {}) if artefact.figure else None
        if isinstance(known, dict) and artefact.name not in made:
            yield f"{artefact.name}: the table is missing, and {BEYOND} does not list this figure"
        elif isinstance(known, dict):
            yield from _of_figure(paper, artefact, judge, settings, known)
    for name in reasons:
        yield f"{name}: {BEYOND} lists this figure, but the paper has no such figure"


def _of_figure(
    paper: Paper, artefact: Artefact, judge: in_process.Judge, settings: Mapping[str, Any], known: Mapping[str, str]
) -> Iterator[str]:
    """Yield a message for each column of a table that is visible in the figure but is not checked by any test. A
    visible change that alters no verdict is allowed only if the column is listed as an exception.
    """
    assert artefact.figure is not None
    draw, table = making.find(f"{paper.slug}.{artefact.figure.function}"), judge.honest[artefact.name]
    honest, listed = picture(draw(table)), {name.partition(",")[0] for name in known}
    seen: set[str] = set()
    unturned = []
    for column, change, other in changes(table):
        if column in listed - seen and _look(draw, other) != honest:
            seen.add(column)
        if not ({column, f"{column}, {change}"} & set(known) or _noticed(paper, artefact.name, other, judge, settings)):
            unturned.append((column, change, other))
    if unturned and _look(draw, _together(table, {column for column, _, _ in unturned})) != honest:
        for column, change, other in unturned:
            if _look(draw, other) != honest:
                yield (
                    f"{artefact.name}: the change '{change}' of the column {column} is visible in the figure but "
                    "does not change any verdict"
                )
    for column in (name for name in known if name.partition(",")[0] not in seen):
        yield f"{artefact.name}: {BEYOND} lists the column {column}, but the figure does not plot this column"


def _together(table: pd.DataFrame, columns: set[str]) -> pd.DataFrame:
    """Return a copy of a table in which each of the given columns is multiplied by a different factor and reversed. If
    the figure does not change, it shows none of these columns.
    """
    factors = 1.1 + 0.01 * np.sqrt(np.arange(2, 2 + len(columns)))
    return table.assign(
        **{name: factor * table[name].to_numpy()[::-1] for name, factor in zip(sorted(columns), factors, strict=True)}
    )


def changes(table: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield a triple (column, change, changed table) for every numeric column and every change that alters at least one
    value of the column.
    """
    for column in map(str, table.select_dtypes("number", exclude="bool").columns):
        for change, function in CHANGES.items():
            other = table.assign(**{column: function(table[column])})
            if not other[column].equals(table[column].astype(other[column].dtype)):
                yield column, change, other


def picture(figure: Figure) -> str:
    """Return a hash digest of all lines, areas, markers, bars, images and texts that are drawn inside the axes of a
    figure.
    """
    digest = hashlib.sha256()
    for axes in figure.axes:
        for artist in axes.get_children():
            for part in _parts(artist):
                digest.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else part.encode())
    return digest.hexdigest()


def _parts(artist: Any) -> Iterator[Any]:
    match artist:
        case Line2D():
            yield np.asarray(artist.get_xydata(), dtype=float)
        case Collection():
            yield np.ma.filled(np.ma.asarray(artist.get_offsets(), dtype=float), np.nan)
            yield from (np.asarray(path.vertices, dtype=float) for path in artist.get_paths())
            if artist.get_array() is not None:
                yield np.ma.filled(np.ma.asarray(artist.get_array(), dtype=float), np.nan)
        case Patch():
            yield np.asarray(artist.get_patch_transform().transform_path(artist.get_path()).vertices, dtype=float)
        case AxesImage():
            yield np.ma.filled(np.ma.asarray(artist.get_array(), dtype=float), np.nan)
        case Text():
            yield f"{artist.get_text()} {artist.get_position()}"


def _look(draw: Callable[[pd.DataFrame], Figure], table: pd.DataFrame) -> str:
    """Return the hash digest of the figure that is plotted from a table, or an empty string if the figure cannot be
    plotted.
    """
    try:
        return picture(draw(table))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError, FloatingPointError):
        return ""


def _noticed(
    paper: Paper, name: str, table: pd.DataFrame, judge: in_process.Judge, settings: Mapping[str, Any]
) -> bool:
    """Return whether a verdict changes if the table `name` is changed. An error while the changed table is read counts
    as a change.

    A verdict whose computation gives a warning does not count, because statements about such numbers are meaningless.
    """
    above = [a.name for a in paper.artefacts if a.table and a.table.by == "compute" and name in a.table.inputs]
    above = [other for other in above if other in judge.honest]
    try:
        kept = {key: one for key, one in judge.honest.items() if key not in above} | {name: table}
        anew = in_process.tables_of(paper.slug, settings, only=above, made=kept) if above else {}
        return not judge({name: table, **anew}).equals(judge.verdicts)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError, FloatingPointError):
        return True
    except Warning:  # warnings are raised as errors and end here
        return False
