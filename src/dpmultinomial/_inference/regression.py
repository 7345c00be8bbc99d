"""Regression of rates or shares on covariates, used as a prior for protected counts. The exposures and covariates are
matched to the areas.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from .release import Release

Array = NDArray[np.float64]
FAMILIES = ("rates", "shares")
STANDARD_ERRORS = ("model", "sandwich")
INTERCEPT = "intercept"
_CENTRES = {"rates": float(np.log(4.0)), "shares": float(np.log(10.0))}  # of log a
_RANK = 1e-9  # singular value, relative to the largest, below which covariates are collinear


class Regression:
    """Regression prior for the protected counts of many areas. The rates (or shares) of the areas depend on covariates
    and vary around the regression. The total and the groups of a release are not used.

    ``"rates"``: the rate of area i has a gamma distribution with shape a and mean exp(x_i'b), and its count is Poisson
    with mean rate times exposure. ``"shares"``: the share has a beta distribution with mean 1/(1 + exp(-x_i'b)) and
    a = A + B, and the count is binomial with the public number of persons.

    Parameters
    ----------
    exposure : exposures of the areas, numbers > 0, one per area: a mapping or Series by name, or a list in the order of
        the release. Exposures are, for example, persons or births; for shares, they must be integers. If the exposures
        are protected counts, pass a `Release` of them. An area with exposure 0 is dropped if its count can be 0.
    covariates : DataFrame, or mapping of names to columns; each column is by name of the area or in the order of the
        release. Columns are standardised internally; results are on the user's scale. None: one mean rate for all
        areas.
    family : ``"rates"`` or ``"shares"``.
    shape : (mean, standard deviation) of the normal prior of log a. None: mean log 4 and standard deviation 2; for
        shares, log 10 and 2.
    slopes : standard deviation of the normal prior of the coefficients of the standardised covariates.
    se : ``"model"``, or ``"sandwich"``: standard errors of the coefficients that remain valid if the variation of the
        rates around their means has another form.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Examples
    --------
    >>> import dpmultinomial as dpm
    >>> deaths = {"Anson": 15.0, "Bladen": 6.0, "Clay": 1.0, "Dare": 2.0, "Edgecombe": 21.0, "Gates": 3.0}
    >>> births = {"Anson": 1570, "Bladen": 1782, "Clay": 284, "Dare": 521, "Edgecombe": 3657, "Gates": 420}
    >>> release = dpm.Release(deaths, mechanism=dpm.DiscreteGaussian(sigma=2.0))
    >>> found = dpm.posterior(release, prior=dpm.Regression(exposure=births))
    >>> lower, upper = found.rates["Anson"].interval()
    >>> print(f"{1000 * lower:.1f} to {1000 * upper:.1f} deaths per 1000 births")
    4.1 to 12.2 deaths per 1000 births
    """

    def __init__(
        self,
        exposure: Any,
        covariates: Any = None,
        family: str = "rates",
        *,
        shape: tuple[float, float] | None = None,
        slopes: float = 10.0,
        se: str = "model",
    ) -> None:
        self.family = _checks.one_of("family", family, FAMILIES)
        self.se = _checks.one_of("se", se, STANDARD_ERRORS)
        self.exposure, self.covariates = exposure, covariates
        if family == "shares" and isinstance(exposure, Release):
            raise ValueError(
                "for shares, exposure must contain public population sizes, got a Release: use family='rates'"
            )
        centre, sd = (_CENTRES[family], 2.0) if shape is None else shape
        self.shape = _checks.number("shape", centre), _checks.positive("shape", sd)
        self.slopes = _checks.positive("slopes", slopes)

    def settings(self) -> dict[str, object]:
        """Return a description of the regression prior in a form that can be written as JSON."""
        return {
            "law": "regression",
            "family": self.family,
            "covariates": list(columns_of(self.covariates)),
            "log shape": {"mean": self.shape[0], "sd": self.shape[1]},
            "slopes": {"mean": 0.0, "sd": self.slopes},
            "se": self.se,
        }

    def __repr__(self) -> str:
        names = ", ".join(columns_of(self.covariates)) or "no covariates"
        return f"Regression({self.family}; {names})"


@dataclass(frozen=True)
class Design:
    """Standardised covariates of a regression, with their means and standard deviations.

    Parameters
    ----------
    names : names of the covariates.
    matrix : float64 (n, p), a column of ones and the standardised covariates.
    centres, scales : float64 (p - 1,), means and standard deviations on the user's scale.
    """

    names: tuple[str, ...]
    matrix: Array
    centres: Array
    scales: Array

    def user(self) -> Array:
        """Return the matrix that converts coefficients of standardised covariates to coefficients of the original
        covariates, as a float64 array of shape (p, p) for p coefficients.
        """
        out = np.diag(np.r_[1.0, 1 / self.scales])
        out[0, 1:] = -self.centres / self.scales
        return out

    def of(self, columns: Array) -> Array:
        """Return the design matrix of further areas, as a float64 array of shape (areas, p) for p coefficients. The
        covariates, float64 (areas, p - 1), are given on the user's scale.
        """
        return np.column_stack([np.ones(len(columns)), (columns - self.centres) / self.scales])


def columns_of(covariates: Any) -> dict[str, Any]:
    """Return a mapping from the names of the covariates to their columns, or raise TypeError if the columns have no
    names.
    """
    if covariates is None:
        return {}
    if isinstance(covariates, pd.DataFrame):
        return {str(name): covariates[name] for name in covariates.columns}
    if isinstance(covariates, Mapping):
        return {str(name): column for name, column in covariates.items()}
    raise TypeError(f"covariates must be a DataFrame or a mapping of names to columns, got {type(covariates).__name__}")


def aligned(what: str, given: Any, names: Sequence[str]) -> Array:
    """Return one number per area, in the order of the areas, with NaN for missing numbers.

    Parameters
    ----------
    what : name of the numbers, for errors.
    given : mapping or Series by name of the area, or numbers in the order of `names`.
    names : names of the areas.

    Returns
    -------
    float64 (n,)

    Raises
    ------
    ValueError, TypeError
        If the numbers cannot be matched to the areas, or are not numbers.
    """
    if isinstance(given, pd.Series) and not isinstance(given.index, pd.RangeIndex):
        given = {str(name): value for name, value in given.items()}
    if isinstance(given, Mapping):
        listed = {str(name): value for name, value in given.items()}
        if not set(listed) & set(names):
            raise ValueError(
                f"{what} must contain areas of the release ({names[0]}, ..), got only other names "
                f"({next(iter(listed), 'none')}, ..): use the names of the release"
            )
        values = [listed.get(name) for name in names]
    else:
        values = list(given) if np.ndim(given) == 1 else []
        if len(values) != len(names):
            raise ValueError(f"{what} must have one number per area ({len(names)} areas), got shape {np.shape(given)}")
    try:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        wrong = next(value for value in values if not isinstance(value, Real | None))
        raise TypeError(
            f"{what} must contain only numbers, got {wrong!r}: code categorical variables as 0/1 indicator variables"
        ) from None


def covariates_of(covariates: Any, names: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    """Return the names and the columns of the covariates of all areas, on the user's scale.

    Parameters
    ----------
    covariates : as in `Regression`.
    names : names of the areas.

    Returns
    -------
    (names, columns)
        Columns float64 (areas, covariates), finite.

    Raises
    ------
    ValueError, TypeError
        If a number is missing or infinite.
    """
    columns = columns_of(covariates)
    if INTERCEPT in columns:
        raise ValueError(
            f"covariates must not contain {INTERCEPT!r}, which is always part of the regression: rename this column"
        )
    values = np.empty((len(names), len(columns)))
    for j, (name, column) in enumerate(columns.items()):
        values[:, j] = aligned(name, column, names)
        bad = np.flatnonzero(~np.isfinite(values[:, j]))
        if len(bad):
            more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
            raise ValueError(
                f"the value of {name} is missing for {names[bad[0]]}{more}: remove these areas or the covariate {name}"
            )
    return tuple(columns), values


def design_of(covariates: Any, names: Sequence[str]) -> Design:
    """Standardise the covariates of all areas and return the design matrix of a regression.

    Parameters
    ----------
    covariates : as in `Regression`.
    names : names of the areas.

    Returns
    -------
    Design

    Raises
    ------
    ValueError, TypeError
        If a number is missing, a covariate is constant, or covariates are collinear.
    """
    labels, columns = covariates_of(covariates, names)
    centres, scales = columns.mean(axis=0), columns.std(axis=0)
    for j, label in enumerate(labels):
        if not scales[j] > 1e-12 * max(np.abs(columns[:, j]).max(), 1e-300):
            raise ValueError(
                f"the covariate {label} must have at least two different values, got {columns[0, j]:g} for all areas: "
                "remove this covariate"
            )
    matrix = np.column_stack([np.ones(len(names)), (columns - centres) / scales])
    if len(labels):
        _, values, directions = np.linalg.svd(matrix, full_matrices=False)
        few = len(names) <= len(labels)
        if few or values[-1] < _RANK * values[0]:
            weights = np.abs(directions[-1, 1:])
            involved = labels if few else [label for label, x in zip(labels, weights, strict=True) if x > 1e-6]
            raise ValueError(
                f"the covariates {', '.join(involved)} are collinear over {len(names)} areas: remove one covariate"
            )
    return Design(labels, matrix, centres, scales)
