"""Proven upper bound on the smallest epsilon of a composition of privacy loss distributions at a given delta.

The privacy loss of an outcome is the log of its probability under a file over that under the neighbouring file. Losses
of independent releases add, and delta(epsilon) is the expected value of max(1 - exp(epsilon - loss), 0). If all
releases share one lattice of losses, the sums are exact. Otherwise every loss is split between the two neighbouring
points of a common grid such that both total probabilities stay the same, which can only increase delta(epsilon)
(Doroshenko et al. 2022, "connect the dots").

Sums of losses are convolved by a Fourier transform after exponential tilting at the Chernoff point, so that rounding
errors are small relative to the answer. Three bounds make the result an upper bound in spite of rounding (u = 2^-53):

Tilting. The probabilities p_j are replaced by floats y_j, about p_j exp(power loss_j)/moment. The scale K is the
largest p_j exp(power loss_j)/y_j, rounded upwards. Then p_j <= K y_j exp(-power loss_j) for every j, however y_j was
rounded.

Transform. A transform of length N = 2^t consists of t passes, each of which is a multiple of a unitary matrix. With
twiddle factors accurate to 2 u, its result differs from the exact one by at most e = 16 u t of its length (Euclidean
norm; Higham 2002, theorem 24.2, has 7.7 u t). Let G_i = sum y_i + e sqrt(N) |y_i|, which bounds the exact and the
computed transform at every frequency. The product of the transforms to the powers n_i, of M = sum n_i releases, then
has an error of at most G (sum n_i e |y_i|) sqrt(N) from the transforms, with G the product of the G_i^n_i, and of
((1 + 3 u)^M - 1) times its own size from M complex multiplications (3 u each; Brent, Percival and Zimmermann 2007:
2.24 u). The inverse transform adds e times the size again. The size is at most the smallest |y_i| times G, by Young's
inequality. The sum is a bound on the Euclidean norm of the error of all probabilities of the total loss.

Tail. delta(epsilon) is an inner product of these probabilities and weights; by the Cauchy-Schwarz inequality, its error
is at most the norm of the error times the norm of the weights. Losses that are rounded by at most d each increase
epsilon by at most d.
"""

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.optimize import brentq, minimize_scalar

from .privacy_loss import UNIT, Array, Losses, Mechanism

_FINE = 200.0  # points of the grid per standard deviation of the loss of the most precise mechanism
_MOST = 2**21  # largest number of grid points
_NEGLECTED = 25.0  # log of the ratio of delta to the probability that a mechanism may neglect
_EXACT = 34.0  # the same ratio if all losses are on one lattice: 12 digits of delta are then exact
_ROUNDS = 6  # number of Fourier transforms; each uses the tilting power for the previous answer
_NEAR = 0.02  # relative change of the answer below which its power is kept
_INSIDE = 0.98  # largest fraction of the maximum loss for which a power is computed
_LEAST = 1e-300  # smallest tilted probability; smaller probabilities would lose digits


def transform_error(size: int) -> float:
    """Return a bound on the relative error, in the Euclidean norm, of a fast Fourier transform of a given size.

    Parameters
    ----------
    size : length of the transform, a power of two.

    Returns
    -------
    float
        16 u log2(size) with u = 2^-53.
    """
    return 16 * UNIT * max(size.bit_length() - 1, 1)


class Composition:
    """Composition of mechanisms that were chosen before the first release.

    Parameters
    ----------
    often : mechanism -> number of releases.
    delta : the delta at which epsilon is computed, in (0, 1); the neglected probability is small relative to this
        delta.
    """

    def __init__(self, often: Mapping[Mechanism, int], delta: float) -> None:
        log_mass = math.log(sum(often.values())) - math.log(delta)
        steps = {one.step for one in often}
        step = next(iter(steps)) if len(steps) == 1 else None
        self.parts = [(one.lattice(log_mass + _EXACT), n) for one, n in often.items()] if step is not None else []
        if step is None or sum(len(p.mass) * n for p, n in self.parts) > _MOST:
            self.parts = self._gridded(often, log_mass + _NEGLECTED)
        masked_parts = [(p, p.mass > 0, n) for p, n in self.parts]
        self._finite = [(np.log(p.mass[positive]), p.values[positive], n) for p, positive, n in masked_parts]
        self.infinite = -math.expm1(math.fsum(n * math.log1p(-p.infinite) for p, n in self.parts)) * (1 + 1e-12)
        self.relative = math.fsum(n * math.log1p(p.relative) for p, n in self.parts)
        farthest = math.fsum(n * max(abs(float(p.values[0])), abs(float(p.values[-1]))) for p, n in self.parts)
        self.shift = 16 * UNIT * farthest  # largest error of a total loss

    @staticmethod
    def _gridded(often: Mapping[Mechanism, int], log_mass: float) -> list[tuple[Losses, int]]:
        step = min(one.spread for one in often) / _FINE
        reach = sum(n * one.spread * math.sqrt(8 * (log_mass + 1)) for one, n in often.items())
        step = max(step, reach / _MOST)
        widest = max((one.step for one in often if one.step is not None), default=0.0)
        if widest > step:
            step = widest / math.floor(widest / step)  # losses on the widest lattice are points of the grid
        return [(one.gridded(step, log_mass), n) for one, n in often.items()]

    def log_moment(self, power: float) -> float:
        """Return the log moment generating function of the privacy loss, log E[exp(power * loss)], at `power`. The
        expected value includes only finite losses.
        """
        return math.fsum(n * _log_sum(logs + power * values) for logs, values, n in self._finite)

    def _chernoff(self, epsilon: float) -> tuple[float, float]:
        """Return the exponent that minimises the Chernoff bound on P(loss > epsilon), and the log of this bound."""

        def bound(log_power: float) -> float:
            power = math.exp(log_power)
            return self.log_moment(power) - power * epsilon

        grid = np.linspace(-12.0, min(12.0, math.log(500 / self.parts[0][0].step)), 25)
        log_bounds = [bound(x) for x in grid]
        position = int(np.argmin(log_bounds))
        best = minimize_scalar(
            bound, bounds=(grid[max(position - 1, 0)], grid[min(position + 1, 24)]), method="bounded"
        )
        return (
            (math.exp(best.x), float(best.fun))
            if best.fun < log_bounds[position]
            else (math.exp(grid[position]), log_bounds[position])
        )

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the smallest epsilon >= 0 for which the composition is (epsilon, delta)-DP. The
        bound is infinite if `delta` is at most the probability of an infinite loss.

        Parameters
        ----------
        delta : in (0, 1).

        Returns
        -------
        float
        """
        if self.infinite >= delta:
            return math.inf
        left = math.log(delta - self.infinite)
        top = math.fsum(n * float(p.values[-1]) for p, n in self.parts) + self.shift
        if top <= self.shift:
            return 0.0
        candidate = best = top
        start = self._start(left, top)
        # any power gives an upper bound; the power computed at the answer gives the smallest bound
        for _ in range(_ROUNDS):
            candidate = self._solved(self._tail(self._chernoff(start)[0]), left, top)
            best = min(best, candidate)
            if abs(candidate - start) <= _NEAR * candidate:
                break
            start = min(candidate, _INSIDE * top)
        return best

    def _start(self, left: float, top: float) -> float:
        """Return a starting value for the search for epsilon. This value is the epsilon at which the Chernoff bound
        equals delta, limited to the interval from 0 to a value just below the largest loss.
        """
        high = _INSIDE * top
        if self._chernoff(high)[1] >= left or self._chernoff(0.0)[1] <= left:
            return high if self._chernoff(high)[1] >= left else 0.0
        return float(brentq(lambda e: self._chernoff(e)[1] - left, 0.0, high, xtol=1e-6 * top))

    def _solved(self, tail: "Tail", left: float, top: float) -> float:
        """Return an epsilon at which the log of the bound on delta is at most `left`. For this bound, all losses are
        increased by their rounding errors.
        """
        if tail(-self.shift) <= left:
            return 0.0
        root = float(brentq(lambda e: tail(e) - left, -self.shift, top, xtol=1e-13, rtol=1e-14))
        step = 1e-13 * max(root, 1.0)
        while root < top and tail(root) > left:
            root, step = root + step, 2 * step
        return root + self.shift

    def _tail(self, power: float) -> "Tail":
        """Return the tail of the total privacy loss, computed from exponentially tilted probabilities of the loss and
        from a bound on the errors of these probabilities.
        """
        first, offset, length, step = 0, 0.0, 1, self.parts[0][0].step
        for part, n in self.parts:
            first, offset = first + n * part.first, offset + n * part.offset
            length += n * (len(part.mass) - 1)
        size = 1 << (length - 1).bit_length() if length > 1 else 2
        each, releases = transform_error(size), sum(n for _, n in self.parts)
        spectrum: NDArray[np.complex128] = np.ones(size // 2 + 1, dtype=np.complex128)
        log_scale, growth, errors, least = self.relative, 0.0, 0.0, math.inf
        for part, n in self.parts:
            tilted, one = tilt(part, power)
            log_scale += n * one
            spectrum *= _to_power(fft.rfft(tilted, size), n)
            norm = math.sqrt(float(tilted @ tilted)) * (1 + 1e-9)
            growth += n * max(math.log(float(tilted.sum()) * (1 + 1e-9) + each * math.sqrt(size) * norm), 0.0)
            errors, least = errors + n * each * norm, min(least, norm)
        growth = math.exp(min(growth, 700.0))
        errors *= growth
        errors += math.expm1(min(3 * UNIT * releases, 700.0)) * (least * growth + errors)
        errors += each * (least * growth + errors) + _LEAST
        mass = np.maximum(fft.irfft(spectrum, size)[:length], 0.0)
        values = np.asarray(offset + (first + np.arange(length)) * step, dtype=np.float64)
        return Tail(values, mass, errors, power, log_scale)


class Tail:
    """Log of an upper bound on the contribution of finite losses to delta(epsilon). The bound is computed from tilted
    probabilities of the total loss.

    Parameters
    ----------
    values : possible total losses, in increasing order.
    mass : their tilted probabilities, approximately.
    error : bound on the Euclidean norm of the errors of `mass`.
    power : power of the exponential tilting.
    log_scale : log of the factor K: the probabilities are at most K mass exp(-power values).
    """

    def __init__(self, values: Array, mass: Array, error: float, power: float, log_scale: float) -> None:
        self.values, self.mass, self.error, self.power, self.log_scale = values, mass, error, power, log_scale
        self._rounding = 1 + (2 * len(values) + 16) * UNIT  # relative rounding error of a sum of products

    def __call__(self, epsilon: float) -> float:
        """Return the log of an upper bound on the contribution of finite losses to delta(epsilon). The log is below
        -700 if no loss exceeds epsilon.
        """
        first = int(np.searchsorted(self.values, epsilon, side="right"))
        gap = self.values[first:] - epsilon
        if not len(gap):
            return -1e4
        moved = self.power * gap
        weights = np.exp(-moved) * -np.expm1(-gap) * (1 + 4 * UNIT * moved)  # exp(-x) has an error of 2 x + 1 roundings
        weighted_sum = float(self.mass[first:] @ weights) + self.error * math.sqrt(float(weights @ weights))
        log = self.log_scale - self.power * epsilon
        rounding = 8 * UNIT * (abs(self.log_scale) + self.power * abs(epsilon))
        return math.log(max(weighted_sum * self._rounding, _LEAST)) + log + rounding


def tilt(part: Losses, power: float) -> tuple[Array, float]:
    """Return exponentially tilted probabilities y of the privacy losses, and the logarithm of a factor K in an upper
    bound on the original probabilities. The sum of y is near 1, and every probability is at most K y exp(-power loss).

    Parameters
    ----------
    part : distribution of the privacy loss of a mechanism.
    power : power of the exponential tilting, >= 0.

    Returns
    -------
    tilted, log_scale : float64 of the shape of the probabilities, float
        log K is the largest log(mass) + power loss - log(y), plus 8 roundings of its terms. The roundings are largest
        for improbable losses. Increasing every y by twice its roundings makes K depend on the probable losses only.
    """
    positive = part.mass > 0
    logs, moved = np.log(part.mass[positive]), power * part.values[positive]
    log_tilted = logs + moved - _log_sum(logs + moved)

    def rounding(log_y: Array) -> Array:
        return np.asarray(8 * UNIT * (np.abs(logs) + np.abs(moved) + np.abs(log_y) + 1))

    tilted = np.zeros(len(part.mass))
    tilted[positive] = np.maximum(np.exp(log_tilted + 2 * rounding(log_tilted)), _LEAST)
    log_tilted = np.log(tilted[positive])
    return tilted, float((logs + moved - log_tilted + rounding(log_tilted)).max())


def _to_power(values: NDArray[np.complex128], power: int) -> NDArray[np.complex128]:
    """Return values^power, computed by repeated squaring. The relative error is that of power - 1 multiplications."""
    product = None
    while power:
        if power & 1:
            product = values if product is None else product * values
        power >>= 1
        if power:
            values = values * values
    assert product is not None
    return product


def _log_sum(logs: Array) -> float:
    """Return the log of a sum, given the logs of its terms."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def epsilon(mechanisms: Counter[Mechanism], delta: float) -> float:
    """Return an upper bound on the epsilon of a composition at a given delta.

    The slow tests check that the bound exceeds the exact epsilon by less than 0.005 in 2,000 random compositions.

    Parameters
    ----------
    mechanisms : mechanism -> number of releases.
    delta : in (0, 1).

    Returns
    -------
    float
        Accurate to about 12 significant digits if all noise is discrete Gaussian of one sigma, or discrete Laplace of
        one scale; inf if no epsilon holds at this delta.

    Raises
    ------
    ValueError
        If there is no mechanism, or `delta` is not in (0, 1).
    """
    if not mechanisms:
        raise ValueError("mechanisms must contain at least one mechanism, got none")
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta}")
    return Composition(mechanisms, delta).epsilon(delta)
