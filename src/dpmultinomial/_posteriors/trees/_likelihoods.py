"""Likelihood of a count given one released value: a parabola, a tent, a single point, or a list of log likelihoods."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._mechanisms.coarsened import Coarsened
from ..._mechanisms.exact import Exact
from ..._mechanisms.gaussian import DiscreteGaussian, Gaussian
from ..._mechanisms.laplace import DiscreteLaplace, Laplace
from ..._mechanisms.noise_law import LawByRow, NoiseLaw
from ..._mechanisms.perturbation import Perturbation
from ..._mechanisms.random_rounding import RandomRounding

Array = NDArray[np.float64]
PARABOLA, TENT, POINT, LISTED = range(4)
REACH = 700.0  # initially, a list ends where the noise has a probability below exp(-700)


@dataclass(frozen=True)
class Shapes:
    """Log likelihoods of released values as functions of the count n, one per value.

    Parameters
    ----------
    kind : int8 (r,): `PARABOLA`, constant - steepness (n - centre)^2; `TENT`, constant - steepness |n - centre|;
        `POINT`, constant at n = centre and -inf elsewhere; `LISTED`, see `listed`.
    centre, steepness, constant : float64 (r,).
    """

    kind: NDArray[np.int8]
    centre: Array
    steepness: Array
    constant: Array


def shapes(released: ArrayLike, noise: NoiseLaw) -> Shapes:
    """Return the forms of the log likelihoods of `released`.

    Parameters
    ----------
    released : (r,), one value per row; NaN if the value was withheld.
    noise : noise distribution, the same for all rows or with parameters by row.

    Returns
    -------
    Shapes

    Raises
    ------
    ValueError, TypeError
        If a value is impossible under its distribution.
    """
    values = np.asarray(released, dtype=np.float64)
    out = Shapes(np.full(len(values), LISTED, dtype=np.int8), *(np.zeros(len(values)) for _ in range(3)))
    if isinstance(noise, LawByRow):
        for i, law in enumerate(noise.laws):
            rows = np.flatnonzero(noise.which == i)
            _put(out, rows, shapes(values[rows], law))
    elif isinstance(noise, Coarsened):
        low, high = noise.behind(values)
        rows = np.flatnonzero((low == high) & (noise.step is None))
        _put(out, rows, shapes(low[rows], noise.noise.take(rows)))
    elif isinstance(noise, Exact):
        noise.log_likelihood(values, 0)
        out.kind[:], out.centre[:] = POINT, values
    elif isinstance(noise, DiscreteGaussian | Gaussian | Laplace | DiscreteLaplace):
        tent = isinstance(noise, Laplace | DiscreteLaplace)
        scale = noise.parameter
        noise.log_likelihood(values, 0)
        out.kind[:], out.centre[:] = TENT if tent else PARABOLA, values
        out.steepness[:] = 1 / scale if tent else 0.5 / scale**2
        out.constant[:] = noise.log_density(np.zeros(len(values)), scale)
    return out


@dataclass(frozen=True)
class Listed:
    """Log weights of consecutive counts first, first + 1, .., and their decrease beyond both ends.

    Parameters
    ----------
    first : first count; may be negative.
    logs : float64; empty if no count is possible.
    below, above : lower bound on the decrease of the log weight per count beyond the lower and the upper end; infinite
        if no count beyond the end is possible, -inf if the decrease is unknown.
    """

    first: int
    logs: Array
    below: float = np.inf
    above: float = np.inf

    @property
    def last(self) -> int:
        """Return the last listed count."""
        return self.first + len(self.logs) - 1

    def at(self, counts: NDArray[np.int64]) -> Array:
        """Return the log weights of counts, -inf outside the list."""
        inside = (counts >= self.first) & (counts <= self.last)
        return np.asarray(np.where(inside, self.logs[np.where(inside, counts - self.first, 0)], -np.inf))


def listed(released: float, noise: NoiseLaw, row: int, reach: float = REACH) -> Listed:
    """Return the log likelihood of one value as a function of the count.

    Parameters
    ----------
    released : the value, NaN if it was withheld.
    noise : distribution of the rows to which it belongs.
    row : row of the value, if parameters differ by row.
    reach : the list ends where the noise has a probability below exp(-reach). With additive noise, a set of adjacent
        released values has a log-concave likelihood, which decreases beyond the ends of the list at least as fast as at
        the ends.

    Returns
    -------
    Listed
    """
    law, value = _law(noise, row), np.array([released])
    low, high = (float(end[0]) for end in law.reach(value, reach))
    first, last = int(np.ceil(low)) if np.isfinite(low) else 0, int(np.floor(high)) if high >= 0 else -1
    if last < first:
        return Listed(0, np.zeros(0))
    if isinstance(law, Perturbation | RandomRounding) or (
        isinstance(law, Coarsened) and law.listed
    ):  # a list that ends
        return Listed(first, _logs(law, value, first, last))
    logs = _logs(law, value, first - 1, last + 1)
    return Listed(first, logs[1:-1], fall(logs[1], logs[0]) if np.isfinite(low) else np.inf, fall(logs[-2], logs[-1]))


def _law(noise: NoiseLaw, row: int) -> NoiseLaw:
    law = noise if noise.row_count is None else noise.take(np.array([row]))
    return law.laws[int(law.which[0])] if isinstance(law, LawByRow) else law


def fall(inner: float, outer: float) -> float:
    """Return the decrease of a log weight from one count to the next count outwards; -inf if it is unknown."""
    if outer == -np.inf:
        return float(np.inf)
    return float(inner - outer) if inner > -np.inf else float(-np.inf)


def _logs(law: NoiseLaw, value: Array, first: int, last: int) -> Array:
    counts = np.arange(first, last + 1)
    logs: Array = np.asarray(law.log_likelihood(value[:, None], counts[None]), dtype=np.float64)
    return logs.ravel()


def same(released: float, noise: NoiseLaw, row: int) -> tuple[tuple[object, ...], int]:
    """Return a key that is equal for lists that are equal up to a shift, and the shift.

    Parameters
    ----------
    released, noise, row : arguments of `listed`.

    Returns
    -------
    (key, shift)
    """
    law = _law(noise, row)
    whole = isinstance(law, Coarsened) and not law.listed and law.step is not None and law.step == np.floor(law.step)
    if (
        isinstance(law, Coarsened)
        and law.step
        and whole
        and law.least is None
        and law.ties != "away"
        and released != law.at
    ):
        period = 2 * law.step  # halves may be rounded to the even multiple
        turns = np.ceil((released - (0.0 if law.at is None else law.at)) / period) - 1
        return (law, released - turns * period), int(turns * period)
    return (law, None if np.isnan(released) else released), 0


def _put(out: Shapes, rows: NDArray[np.int64], part: Shapes) -> None:
    for name in ("kind", "centre", "steepness", "constant"):
        getattr(out, name)[rows] = getattr(part, name)
