"""Reading an exported model back: whatever stands in the dict, a model that predicts numbers or a plain error."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import calibrated_noise
from ._model_card import Card
from ._support import Support, from_card

LEAST = -1e290  # a log probability: sums over all columns stay finite
_WHOLE = 1e-6  # what probabilities may lack of 1
_FEW = 80  # characters of a value that are shown


@dataclass(frozen=True)
class Exported:
    """What every exported model has.

    Parameters
    ----------
    names : of the columns, None where they have none.
    supports : of the columns.
    card : what the model says of itself.
    """

    names: list[str | None]
    supports: tuple[Support, ...]
    card: Card

    @property
    def mechanism(self) -> str:
        """Mechanism of the card."""
        return str(self.card["mechanism"])


def opened(exported: Mapping[str, object], expected: str, keys: Sequence[str]) -> Exported:
    """Check the format of an exported model and take its common parts.

    Parameters
    ----------
    exported : what ``export`` gave.
    expected : its format.
    keys : what else it must hold.

    Returns
    -------
    Exported

    Raises
    ------
    ValueError, TypeError
        If it is no such dict, a column is not described as ``export`` does, or the card has no known mechanism.
    """
    if not isinstance(exported, Mapping):
        raise TypeError(f"exported must be a dict, got {type(exported).__name__}")
    if exported.get("format") != expected:
        raise ValueError(f"exported must have the format {expected!r}, got {_shown(exported.get('format'))}")
    if missing := [key for key in ("columns", "card", *keys) if key not in exported]:
        raise ValueError(f"exported must hold {', '.join(missing)}")
    if other := [key for key in keys if not isinstance(exported[key], list)]:
        raise TypeError(f"exported must hold {', '.join(other)} as a list")
    columns, card = exported["columns"], exported["card"]
    if not isinstance(columns, list) or not isinstance(card, dict) or not columns:
        raise TypeError("exported must hold a list of columns and a card")
    known = (*calibrated_noise.MECHANISMS, "none")
    if not isinstance(card.get("mechanism"), str) or card["mechanism"] not in known:
        raise ValueError(f"card must state a mechanism of {', '.join(known)}, got {_shown(card.get('mechanism'))}")
    return Exported(_names(columns), tuple(_support(column) for column in columns), dict(card))


def logs(name: str, values: object, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Log probabilities of a stated shape.

    Parameters
    ----------
    name : for errors.
    values : lists of lists of numbers, as JSON has them.
    shape : (n,) or (n, m).

    Returns
    -------
    float64 of `shape`, finite, at most 0.

    Raises
    ------
    ValueError, TypeError
        If a value is no number, not finite, above 0 or below -1e290, or the lists have another shape.
    """
    rows = _lists(name, values, shape)
    for row in rows:
        for value in row:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} must hold numbers, got {_shown(value)}")
            if isinstance(value, float) and math.isnan(value):
                raise ValueError(f"{name} must hold numbers, got NaN")
            if not LEAST <= value <= _WHOLE:
                raise ValueError(f"{name} must hold log probabilities, got {_shown(value)}")
    return np.array(rows, dtype=np.float64).reshape(shape)


def add_up(name: str, probabilities: NDArray[np.float64], axis: int) -> None:
    """Refuse probabilities that do not add up to 1 along an axis; ValueError with the sum.

    Parameters
    ----------
    name : for errors.
    probabilities : of a table.
    axis : over which they add up.
    """
    sums = np.atleast_1d(probabilities.sum(axis=axis))
    wrong = np.flatnonzero(np.abs(sums - 1) > _WHOLE)
    if len(wrong):
        raise ValueError(f"{name} must be probabilities that add up to 1, got {sums[wrong[0]]:.6g}")


def texts(name: str, values: object) -> list[str]:
    """Distinct texts; TypeError or ValueError for anything else.

    Parameters
    ----------
    name : for errors.
    values : a list.
    """
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{name} must be a list of texts, got {_shown(values)}")
    if len(set(values)) < len(values):
        raise ValueError(f"{name} must be distinct, got {_shown(values)}")
    return values


def _names(columns: Sequence[object]) -> list[str | None]:
    names: list[str | None] = []
    for column in columns:
        name = column.get("name") if isinstance(column, Mapping) else column
        if not isinstance(column, Mapping) or not (name is None or isinstance(name, str)):
            raise TypeError(f"a column must be a dict with a name, text or None, got {_shown(column)}")
        names.append(name)
    if len(set(map(type, names))) > 1:
        raise ValueError("columns must all have a name, or none")
    texts("names of columns", [name for name in names if name is not None])
    return names


def _support(column: Mapping[str, object]) -> Support:
    if column.get("kind") not in ("levels", "bins") or not isinstance(column.get("public"), bool):
        raise ValueError(f"a column must be levels or bins, public or not, got {_shown(dict(column))}")
    return from_card(column)


def _lists(name: str, values: object, shape: tuple[int, ...]) -> list[list[object]]:
    rows: Any = [values] if len(shape) == 1 else values
    good = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
    if not good or (len(shape) == 2 and len(rows) != shape[0]) or any(len(row) != shape[-1] for row in rows):
        raise ValueError(f"{name} must have the shapes {shape}, got other ones")
    return list(rows)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _FEW else f"{text[:_FEW]} .."
