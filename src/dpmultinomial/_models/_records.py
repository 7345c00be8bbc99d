"""What the estimators share: reading X and y by scikit-learn's conventions, and how their columns are described."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d, validate_data

from . import _columns
from ._columns import Column
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


def name_columns(estimator: BaseEstimator, names: Sequence[str | None]) -> None:
    """Number and names of the columns, as ``fit`` leaves them."""
    estimator.n_features_in_ = len(names)
    if None not in names:
        estimator.feature_names_in_ = np.array(names, dtype=object)
