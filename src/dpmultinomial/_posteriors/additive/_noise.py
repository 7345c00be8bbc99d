"""Distribution of the geometric (possibly truncated) noise that the algorithms of Wang (2020) add to a count, and
priors of the true counts.

The noise gives a factor of the total, and operators on likelihoods over a grid of true counts. Priors factorise into
components and total (flat, flat on the total, Dirichlet-multinomial): a prior is prod_s w_s(N_s) times v(N_1 + .. +
N_S). A flat prior on every component is not flat on the total: there are (T + S - 1 choose S - 1) vectors with total T,
so with many small components, this prior largely determines the total. The other priors are flat on the total and
divide it by a Dirichlet-multinomial distribution; with concentration 1, all vectors with the same total have the same
probability.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from ... import _checks
from ..._kernels import geometric
from ..._mechanisms.laplace import TwoSidedGeometric, default_support

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_DIGITS = 60.0  # minus the log of the relative probability exp(-60) beyond which the noise is bounded, but not summed
_WIDE = 300.0
_UNDERFLOW = 690.0


def support_for(epsilon: float, support: float | None) -> float:
    """Return the truncation point of the noise, which is given by the argument `support`. None means ceil(50/epsilon),
    which adds 2e-22 to delta and equals the paper's 50 at epsilon 1.

    Parameters
    ----------
    epsilon : > 0.
    support : integer >= 1, None, or ``math.inf`` for the untruncated two-sided geometric distribution.

    Returns
    -------
    float or int

    Raises
    ------
    ValueError, TypeError
        If `support` is not one of these values.
    """
    if support is None:
        return default_support(epsilon)
    if support == inf:
        return inf
    return _checks.integer("support", support, least=1)


@dataclass(frozen=True)
class NoiseModel:
    """Distribution of the noise D of one count, with P(D = d) = peak exp(-epsilon |d|) for |d| <= support, where peak
    is P(D = 0), and support is the truncation point of the noise (possibly infinite).

    Parameters
    ----------
    epsilon : privacy parameter of every count and of the total, > 0.
    support : integer >= 1, or ``math.inf``.
    """

    epsilon: float
    support: float = inf

    @cached_property
    def peak(self) -> float:
        """Probability that the noise is 0, P(D = 0)."""
        a = np.exp(-self.epsilon)
        tail = 0.0 if self.support == inf else 2.0 * np.exp(-self.epsilon * (self.support + 1)) / (1.0 + a)
        return float(np.tanh(self.epsilon / 2) / (1.0 - tail))

    @cached_property
    def far(self) -> int:
        """Largest absolute value of the noise that is not negligible. Negligible values have a relative probability
        below exp(-60).
        """
        return int(min(self.support, ceil(_DIGITS / self.epsilon)))

    @cached_property
    def wide(self) -> int:
        """Largest absolute value of the noise that is not negligible after exponential tilting of the noise
        distribution by 0.92 epsilon.
        """
        return int(min(self.support, ceil(_WIDE / self.epsilon)))

    @cached_property
    def reach(self) -> int:
        """Largest absolute value of the noise that the computation includes. The probability of a larger absolute value
        is 0 or underflows.
        """
        return int(min(self.support, ceil(_UNDERFLOW / self.epsilon)))

    def at_least(self, d: ArrayLike) -> Array:
        """Return the probability P(D >= d) that the noise D of a count is at least d, for integers d >= 0."""
        values = np.asarray(d, dtype=float)
        rest = -np.expm1(-self.epsilon * np.maximum(self.support - values + 1, 0.0))
        return np.asarray(self.peak * np.exp(-self.epsilon * values) * rest / -np.expm1(-self.epsilon))

    def above_zero(self, noisy: Whole) -> Array:
        """Return the probability P(noisy + D >= 0) for a given noisy count and the random noise D. It is the
        normalising constant of the posterior of a count given its noisy count (equation 5). The result is 1 if this
        probability underflows.
        """
        below = self.at_least(-np.minimum(noisy, 0))
        chance = np.where(noisy > 0, 1.0 - self.at_least(np.maximum(noisy, 0) + 1), below)
        return np.where(chance > 0.0, chance, 1.0)

    def totals(self, released: int, span: float = _DIGITS) -> tuple[Whole, Array]:
        """Return the true totals T near the released total, and the log of P(released total | T) for each T. The
        distance to the released total is at most span/epsilon and within the support of the noise.

        The mechanism releases negative noisy totals as 0.
        """
        far = int(min(self.support, ceil(span / self.epsilon)))
        totals = np.arange(max(released - far, 0), released + far + 1)
        if released == 0:
            with np.errstate(divide="ignore"):
                return totals, np.log(self.at_least(totals))
        return totals, np.log(self.peak) - self.epsilon * np.abs(totals - released)


DIGITS = 38.0  # minus the log of the probability mass exp(-38) that every truncation neglects
# largest half-width of the noise for which sums over the noise are dense products; for larger half-widths, they are
# recursions
BANDED = 64
_BLOCK = 256


class Noise:
    """Noise in one count, with operators that convert likelihoods of noisy counts to likelihoods of true counts on a
    grid. The flat prior is truncated at `largest`.

    Parameters
    ----------
    epsilon : > 0.
    support : integer.
    window, largest : integers or None.
    """

    def __init__(self, *, epsilon: float, support: int, window: int | None, largest: int | None = None) -> None:
        self.epsilon, self.largest = epsilon, largest
        self.reach = min(support, ceil(DIGITS / epsilon), support if window is None else window)
        self.p = TwoSidedGeometric(epsilon=epsilon, support=support).probabilities()
        self.p = self.p[support - self.reach : support + self.reach + 1]
        self._bands: dict[int, Array] = {}
        self.of_total = self if window is None else Noise(epsilon=epsilon, support=support, window=None)

    def capped(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the lower and upper limits of ranges of true counts, after truncation at the largest count that the
        prior allows.
        """
        if self.largest is None:
            return low, high
        return np.minimum(low, self.largest), np.minimum(high, self.largest)

    def spread(self, likelihood: Array) -> Array:
        """Convert a likelihood L(n) of noisy counts n to the likelihood sum_n p(n - N) L(n) of true counts N. Narrow
        noise distributions are processed in blocks. The input has the shape (.., W + 2 reach), and the output has the
        shape (.., W).
        """
        width = likelihood.shape[-1] - 2 * self.reach
        if self.reach > BANDED:
            flat = likelihood.reshape(-1, likelihood.shape[-1])
            smooth = geometric.smooth(flat, epsilon=self.epsilon, reach=self.reach)
            return np.asarray(self.p[self.reach] * smooth.reshape(*likelihood.shape[:-1], width))
        block = min(width, _BLOCK)
        band = self._band(block)
        out = np.empty((*likelihood.shape[:-1], width))
        for start in range(0, width, block):
            size = min(block, width - start)
            part = likelihood[..., start : start + size + 2 * self.reach]
            out[..., start : start + size] = part @ band[: size + 2 * self.reach, :size]
        return out

    def _band(self, block: int) -> Array:
        """Return a cached banded matrix of shape (block + 2 reach, block), whose column i contains the noise
        distribution from row i onwards.
        """
        if block not in self._bands:
            band = np.zeros((block + 2 * self.reach, block))
            row, place = band.strides
            np.lib.stride_tricks.as_strided(band, (block, len(self.p)), (row + place, row))[:] = self.p
            self._bands[block] = band
        return self._bands[block]

    def drawn(self, likelihood: Array, first: int | NDArray[np.int64]) -> Array:
        """Convert a likelihood of posterior draws to a likelihood of noisy counts by equation (5) of Wang (2020), in
        which all draws are at least 0. The entries of `likelihood` belong to the draws first, first + 1, ..

        Entries below 0 must have likelihood 0; `first` may differ by component (.., S, W). The first and last `reach`
        entries are lost.
        """
        n = np.asarray(first)[..., None] + self.reach + np.arange(likelihood.shape[-1] - 2 * self.reach)
        tail = np.cumsum(self.p[::-1])[::-1]
        allowed = np.where(n + self.reach < 0, 1.0, tail[np.clip(self.reach - n, 0, 2 * self.reach)])
        return self.spread(likelihood) / allowed

    def total_factor(self, released: int, *, drawn: bool) -> tuple[int, Array]:
        """Return the probabilities P(released total | true total). The result is a pair: the lowest true total with a
        positive probability, and the array of probabilities from this total on.

        A window restricts only the components. The total has the full range of its noise.
        """
        if self.of_total is not self:
            return self.of_total.total_factor(released, drawn=drawn)
        reach = self.reach * (2 if drawn else 1)
        low = max(released - reach, 0)
        grid = low - 2 * self.reach + np.arange(released + reach - low + 1 + 4 * self.reach)
        if drawn:
            return low, self.spread(self.drawn((grid == released).astype(float), int(grid[0])))
        noisy = grid[self.reach : -self.reach]
        return low, self.spread((np.maximum(noisy, 0) == released).astype(float))


PRIORS = ("flat", "flat total")


@dataclass(frozen=True)
class CountsPrior:
    """Prior distribution of the true counts of a release of S counts with additive noise.

    Parameters
    ----------
    name : name of the prior in results.
    concentration : float64 (S,), parameters of the Dirichlet-multinomial distribution given the total (the total itself
        is flat on the integers >= 0); None: flat on every component.
    """

    name: str
    concentration: Array | None = None

    def shapes(self, size: int) -> Array:
        """Return the exponent a_s of the prior factor of each count, as a float64 array of shape (size,). For large N,
        the prior factor w_s(N) of a count is proportional to N^(a_s - 1).
        """
        return np.ones(size) if self.concentration is None else self.concentration

    def log_component(self, counts: ArrayLike, shape: float) -> Array:
        """Return the log of the prior factor of one component, for given counts of this component. The factor w(N) of a
        count N depends on the concentration `shape`. The argument is an array of integers N >= 0 of any shape.
        """
        values = np.asarray(counts, dtype=float)
        if self.concentration is None or shape == 1.0:
            return np.zeros(values.shape)
        return np.asarray(gammaln(values + shape) - gammaln(values + 1.0) - gammaln(shape))

    def log_total(self, totals: ArrayLike) -> Array:
        """Return log v(T), the logarithm of the factor of the total T in the prior, for an array of integers T >= 0 of
        any shape.
        """
        values = np.asarray(totals, dtype=float)
        if self.concentration is None:
            return np.zeros(values.shape)
        concentration_sum = float(self.concentration.sum())
        return np.asarray(gammaln(values + 1.0) + gammaln(concentration_sum) - gammaln(values + concentration_sum))


FLAT = CountsPrior("flat")


def dirichlet_multinomial(concentration: ArrayLike, size: int) -> CountsPrior:
    """Return the prior of the counts that is flat on the total and Dirichlet-multinomial given the total.

    Parameters
    ----------
    concentration : concentrations > 0, one number for all components or one number each; 1/2 is Jeffreys' prior, and
        small values favour zeros.
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
    """Build the prior distribution of the true counts from the argument `prior`.

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
        If the argument does not describe a prior, or the number of concentrations is wrong.
    """
    if isinstance(prior, CountsPrior):
        if prior.concentration is not None and prior.concentration.shape != (size,):
            raise ValueError(
                f"prior must have {size} concentrations, one per component, got shape {prior.concentration.shape}"
            )
        return prior
    if isinstance(prior, str):
        _checks.one_of("prior", prior, PRIORS)
        return FLAT if prior == "flat" else CountsPrior("flat total", np.ones(size))
    return dirichlet_multinomial(prior, size)
