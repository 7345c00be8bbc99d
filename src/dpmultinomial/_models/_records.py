"""What the estimators share: reading X and y by scikit-learn's conventions, and the layout of an exported model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d, validate_data

from . import _columns
from ._columns import Column
from ._model_card import Card
from ._support import Support


def read(
    estimator: BaseEstimator,
    X: pd.DataFrame | ArrayLike,
    y: ArrayLike | str | None = "no_validation",
    *,
    reset: bool = True,
) -> tuple[list[Column], NDArray[np.generic]]:
    """Columns of X and the labels; names and number of columns are kept or compared on `estimator`.

    Parameters
    ----------
    estimator : a scikit-learn estimator.
    X : data frame or array.
    y : labels; optional.
    reset : True in ``fit``, False after.

    Returns
    -------
    list of Column, ndarray (n,)
        The labels are empty without `y`.

    Raises
    ------
    ValueError, TypeError
        As `columns.read`, and for other columns than those of ``fit``.
    """
    framed = isinstance(X, pd.DataFrame)
    supervised = not isinstance(y, str)
    if framed:
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)
        labels = column_or_1d(y, warn=True) if supervised else np.empty(0)
        if supervised:
            check_consistent_length(X, labels)
            assert_all_finite(labels, input_name="y")
    elif supervised:
        X, labels = validate_data(estimator, X, y, reset=reset, dtype=None)
    else:
        X, labels = validate_data(estimator, X, reset=reset, dtype=None), np.empty(0)
    return _columns.read(X), labels


def column(name: str, values: ArrayLike) -> Column:
    """One column of values."""
    return _columns.read(pd.DataFrame({name: np.asarray(values)}))[0]


def described(estimator: BaseEstimator, supports: Sequence[Support]) -> list[dict[str, object]]:
    """Name and support of every column of a fitted estimator, JSON-able."""
    names = getattr(estimator, "feature_names_in_", None)
    listed = [None] * len(supports) if names is None else [str(n) for n in names]
    return [{"name": name, **s.card()} for name, s in zip(listed, supports, strict=True)]


@dataclass(frozen=True)
class Exported:
    """The parts every exported model has: column descriptions and card."""

    columns: list[Mapping[str, object]]
    card: Card


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
        If it is no such dict.
    """
    if not isinstance(exported, Mapping):
        raise TypeError(f"exported must be a dict, got {type(exported).__name__}")
    if exported.get("format") != expected:
        raise ValueError(f"exported must have the format {expected!r}, got {exported.get('format')!r}")
    if missing := [key for key in ("columns", "card", *keys) if key not in exported]:
        raise ValueError(f"exported must hold {', '.join(missing)}")
    if other := [key for key in keys if not isinstance(exported[key], list)]:
        raise TypeError(f"exported must hold {', '.join(other)} as a list")
    listed, card = exported["columns"], exported["card"]
    if not isinstance(listed, list) or not isinstance(card, dict) or not listed:
        raise TypeError("exported must hold a list of columns and a card")
    return Exported(listed, dict(card))


def name_columns(estimator: BaseEstimator, parts: Exported) -> None:
    """Number and names of the columns, as ``fit`` leaves them."""
    estimator.n_features_in_ = len(parts.columns)
    if all(isinstance(c.get("name"), str) for c in parts.columns):
        estimator.feature_names_in_ = np.array([c["name"] for c in parts.columns], dtype=object)
