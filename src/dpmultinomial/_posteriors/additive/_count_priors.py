"""Priors of true counts that factorise into components and total: flat, flat on the total, Dirichlet-multinomial.

A prior is prod_s w_s(N_s) times v(N_1 + .. + N_S). A flat prior on every component is not flat on their total: there
are (T + S - 1 choose S - 1) vectors with total T, so with many small components it largely determines the total. The
others are flat on the total and divide it by a Dirichlet-multinomial distribution; with concentration 1 all vectors of
a total are equal.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from ... import _checks

Array = NDArray[np.float64]
PRIORS = ("flat", "flat total")


@dataclass(frozen=True)
class CountsPrior:
    """Prior of the S true counts of an additive release.

    Parameters
    ----------
    name : name of the prior in results.
    concentration : float64 (S,), parameters of the Dirichlet-multinomial distribution given the total (the total itself
        is flat on the integers >= 0); None: flat on every component.
    """

    name: str
    concentration: Array | None = None

    def shapes(self, size: int) -> Array:
        """Return the exponents a_s for which the prior factor w_s(N) grows like N^(a_s - 1), float64 (size,)."""
        return np.ones(size) if self.concentration is None else self.concentration

    def log_component(self, counts: ArrayLike, shape: float) -> Array:
        """Return the log prior factor log w(N) of a component with this concentration, for integers N >= 0, any array
        shape.
        """
        values = np.asarray(counts, dtype=float)
        if self.concentration is None or shape == 1.0:
            return np.zeros(values.shape)
        return np.asarray(gammaln(values + shape) - gammaln(values + 1.0) - gammaln(shape))

    def log_total(self, totals: ArrayLike) -> Array:
        """Return the log prior factor log v(T) of the total for integers T >= 0, any array shape."""
        values = np.asarray(totals, dtype=float)
        if self.concentration is None:
            return np.zeros(values.shape)
        whole = float(self.concentration.sum())
        return np.asarray(gammaln(values + 1.0) + gammaln(whole) - gammaln(values + whole))


FLAT = CountsPrior("flat")


def dirichlet_multinomial(concentration: ArrayLike, size: int) -> CountsPrior:
    """Return the prior that is flat on the total and Dirichlet-multinomial given the total.

    Parameters
    ----------
    concentration : concentrations > 0, one number for all components or one each; 1/2 is Jeffreys', small values favour
        zeros.
    size : number of components S.

    Returns
    -------
    CountsPrior

    Raises
    ------
    ValueError, TypeError
        If a concentration is not finite and > 0.
    """
    values = _checks.positives("prior", concentration, size)
    shown = f"{values[0]:g}" if np.all(values == values[0]) else "one each"
    return CountsPrior(f"Dirichlet-multinomial ({shown})", values)


def of(prior: str | ArrayLike | CountsPrior, size: int) -> CountsPrior:
    """Return the prior that the user's argument describes.

    Parameters
    ----------
    prior : ``"flat"``, ``"flat total"``, a concentration (`dirichlet_multinomial`), or a CountsPrior.
    size : number of components.

    Returns
    -------
    CountsPrior

    Raises
    ------
    ValueError, TypeError
        If the argument describes no prior, or its concentrations do not fit.
    """
    if isinstance(prior, CountsPrior):
        if prior.concentration is not None and prior.concentration.shape != (size,):
            raise ValueError(f"prior must have {size} concentrations, got shape {prior.concentration.shape}")
        return prior
    if isinstance(prior, str):
        _checks.one_of("prior", prior, PRIORS)
        return FLAT if prior == "flat" else CountsPrior("flat total", np.ones(size))
    return dirichlet_multinomial(prior, size)
