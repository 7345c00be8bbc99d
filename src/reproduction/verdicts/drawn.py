"""Is what is drawn what is judged? Columns are changed, and what is seen in a figure must be seen in a verdict.

A numeric column is drawn where a figure of its table looks otherwise once the column is reversed or a tenth larger. It
is judged where the same change turns a verdict of the paper. What the paper prints nothing about is listed in the
folder's ``beyond_print.yaml``: figure -> reason, or figure -> {column: reason}.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from ..config import config
from ..jobs import adapters
from ..paper import Artefact, Paper
from . import in_process

BEYOND = "beyond_print.yaml"
CHANGES: dict[str, Callable[[pd.Series], Any]] = {
    "reversed": lambda column: column.to_numpy()[::-1],
    "a tenth larger": lambda column: 1.1 * column,
}


def unjudged(paper: Paper, made: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Iterator[str]:
    """What is seen in a figure of `paper`, in no verdict, and not said to be beyond print; or said so needlessly.

    Parameters
    ----------
    paper : whose figures and verdicts.
    made : its tables, all that its verdicts read and all that its figures draw.
    settings : those of the tables that are made from drawn ones, and are made anew where these are changed.
    """
    reasons = beyond(paper)
    before = in_process.verdicts(paper.slug, made)
    for artefact in paper.artefacts:
        known = reasons.pop(artefact.name, {}) if artefact.figure else None
        if isinstance(known, dict) and artefact.name not in made:
            yield f"{artefact.name}: none of its table is here, and {BEYOND} does not say that it is beyond print"
        elif isinstance(known, dict):
            yield from _of_figure(paper, artefact, made, settings, before, known)
    for name in reasons:
        yield f"{name}: {BEYOND} names it, but there is no such figure"


def _of_figure(
    paper: Paper,
    artefact: Artefact,
    made: Mapping[str, pd.DataFrame],
    settings: Mapping[str, Any],
    before: pd.Series,
    known: Mapping[str, str],
) -> Iterator[str]:
    assert artefact.figure is not None
    draw, seen = adapters.find(f"{paper.slug}.{artefact.figure.function}"), set()
    for column, change, table in changed(draw, made[artefact.name]):
        seen.add(column)
        if {column, f"{column}, {change}"} & set(known):
            continue
        if not _noticed(paper, {**made, artefact.name: table}, artefact.name, settings, before):
            yield f"{artefact.name}: {column}, {change}: is seen in the figure and turns no verdict"
    for column in (name for name in known if name.partition(",")[0] not in seen):
        yield f"{artefact.name}: {column}: {BEYOND} names it, but the figure does not draw it"


def beyond(paper: Paper) -> dict[str, Any]:
    """Figure -> reason, or column -> reason; nothing where the folder has no list."""
    path = Path(paper.folder, BEYOND)
    return config.read(path) if path.is_file() else {}


def changed(draw: Callable[[pd.DataFrame], Figure], table: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Column, change and the changed table wherever a change of one numeric column is seen in the figure."""
    honest = picture(draw(table))
    for column in map(str, table.select_dtypes("number", exclude="bool").columns):
        for change, function in CHANGES.items():
            other = table.assign(**{column: function(table[column])})
            if other[column].equals(table[column].astype(other[column].dtype)):
                continue
            if _look(draw, other) != honest:
                yield column, change, other


def picture(figure: Figure) -> str:
    """Digest of all that a figure shows inside its axes: lines, areas, marks, bars, images and words."""
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
    """The picture of a table, or nothing where it cannot be drawn."""
    try:
        return picture(draw(table))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError, FloatingPointError):
        return ""


def _noticed(
    paper: Paper, made: Mapping[str, pd.DataFrame], name: str, settings: Mapping[str, Any], before: pd.Series
) -> bool:
    """Whether a verdict turns once table `name` is another; what cannot even be read is noticed too."""
    above = [a.name for a in paper.artefacts if a.table and a.table.by == "compute" and name in a.table.inputs]
    above = [other for other in above if other in made]
    try:
        kept = {key: table for key, table in made.items() if key not in above}
        anew = in_process.tables_of(paper.slug, settings, only=above, made=kept)
        return not in_process.verdicts(paper.slug, {**made, **anew}).equals(before)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError, FloatingPointError):
        return True
