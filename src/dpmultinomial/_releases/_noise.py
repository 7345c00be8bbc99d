"""Random noise that cannot be reproduced from a seed. The sources are exact integer samplers that use random bits of
the operating system, and a stream of random numbers whose key is discarded.

Discrete Laplace noise has P(k) ~ exp(-|k|/scale), and discrete Gaussian noise P(k) ~ exp(-k^2/(2 scale^2)), on all
integers. Both are drawn by the exact samplers of Canonne, Kamath and Steinke (2020) in OpenDP, with rational instead of
floating-point arithmetic. Their cost is computed by OpenDP's stability map and rounded upwards. No function in this
module takes a seed or a Generator.

Costs are rounded upwards. A cost is the decimal number that its record prints: JSON, the ledger and the screen show the
shortest decimal that identifies a double, and users write such decimals in their settings. Sums and comparisons of
costs are exact in these decimals. Three releases of epsilon 0.1 therefore cost 0.3 and fit a budget of 0.3, although
the double 0.1 is above one tenth and the double 0.3 is below three tenths.
"""

import math
import secrets
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _checks

_MOST = 10_000  # largest number of steps by the last bit of a scale


def exact(value: float) -> Fraction:
    """Return the exact value of the shortest decimal representation of a finite double, as a `Fraction`."""
    return Fraction(repr(float(value)))


def upwards(value: Fraction) -> float:
    """Return the smallest double whose shortest decimal representation is at least `value`.

    Parameters
    ----------
    value : exact number >= 0, at most 1e308.
    """
    double = math.nextafter(float(value), 0.0)
    while exact(double) < value:
        double = math.nextafter(double, math.inf)
    return double


def total(parts: Iterable[float]) -> float:
    """Return the sum of privacy costs, computed exactly and then rounded upwards."""
    return upwards(sum(map(exact, parts), Fraction()))


def within(
    most: float, scales: Mapping[str, float], cost: Callable[[str, float], float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return noise scales with a total privacy cost of at most `most`, and the cost of each scale.

    Parameters
    ----------
    most : largest total cost of the scales.
    scales : scales that cost at most `most` up to rounding.
    cost : cost of (name, scale), rounded upwards; the cost decreases as the scale increases.

    Returns
    -------
    scales, costs : dict
        The scales, some of them increased by a few last bits.

    Raises
    ------
    ArithmeticError
        If the scales cost more than `most`, and the difference is not due to rounding.
    """
    adjusted = dict(scales)
    spent = {name: cost(name, scale) for name, scale in adjusted.items()}
    for _ in range(_MOST):
        if total(spent.values()) <= most:
            return adjusted, spent
        largest = max(spent, key=spent.__getitem__)
        adjusted[largest] = math.nextafter(adjusted[largest], math.inf)
        spent[largest] = cost(largest, adjusted[largest])
    raise ArithmeticError(
        f"no noise scales near {scales} have a privacy cost of at most {most}: internal error, please report it"
    )


LARGEST = 2**53  # largest value, and largest sum of values
LARGEST_SCALE = 2.0**40  # 2^23 scales are below the limit of 64 bits


class _Measurement(Protocol):
    def __call__(self, values: NDArray[np.int64], /) -> list[int]: ...

    def map(self, distance: float) -> float: ...


def laplace_epsilon(scale: float, *, sensitivity: int) -> float:
    """Return the privacy cost epsilon = sensitivity/scale of discrete Laplace noise, rounded upwards by OpenDP's
    stability map.

    Parameters
    ----------
    scale : > 0, at most 2^40.
    sensitivity : integer >= 1, the L1 sensitivity of the counts.
    """
    change = _checks.integer("sensitivity", sensitivity, least=1)
    stated = float(_laplace(_scale(scale)).map(change))
    return max(stated, upwards(Fraction(change) / Fraction(float(scale))))


def laplace_scale(epsilon: float, *, sensitivity: int) -> float:
    """Return the smallest noise scale (a double >= sensitivity/epsilon) whose stated privacy cost is at most epsilon.

    Raises
    ------
    ValueError, TypeError
        If epsilon is not > 0 or needs a scale above 2^40.
    """
    scale = _checks.integer("sensitivity", sensitivity, least=1) / _checks.positive("epsilon", epsilon)
    return _raised(scale, epsilon, lambda s: laplace_epsilon(s, sensitivity=sensitivity))


def gaussian_rho(scale: float, *, l2_squared: int) -> float:
    """Return the zCDP parameter rho = l2_squared/(2 scale^2) of discrete Gaussian noise, rounded upwards.

    Parameters
    ----------
    scale : > 0, at most 2^40.
    l2_squared : integer >= 1, the squared L2 sensitivity of the counts.
    """
    change = _checks.integer("l2_squared", l2_squared, least=1)
    distance = math.sqrt(change)
    while Fraction(distance) ** 2 < change:
        distance = math.nextafter(distance, math.inf)
    stated = float(_gaussian(_scale(scale)).map(distance))
    return max(stated, upwards(Fraction(change) / (2 * Fraction(float(scale)) ** 2)))


def gaussian_scale(rho: float, *, l2_squared: int) -> float:
    """Return the smallest scale, up to rounding, at which the stated zCDP parameter of discrete Gaussian noise is at
    most rho. The errors are those of `laplace_scale`.
    """
    scale = math.sqrt(_checks.integer("l2_squared", l2_squared, least=1) / (2 * _checks.positive("rho", rho)))
    return _raised(scale, rho, lambda s: gaussian_rho(s, l2_squared=l2_squared))


def discrete_laplace(values: NDArray[np.int64], *, scale: float) -> NDArray[np.int64]:
    """Add independent discrete Laplace noise to n integers, with an exact sampler.

    Parameters
    ----------
    values : int64 (n,), within +-2^53.
    scale : > 0, at most 2^40.

    Returns
    -------
    int64 (n,). 1,000,000 values take about 7 s.

    Raises
    ------
    ValueError, TypeError
        If `values` is not an int64 row within +-2^53, or the scale is invalid. The message does not contain the values.
    """
    return _drawn(_laplace(_scale(scale)), values)


def discrete_gaussian(values: NDArray[np.int64], *, scale: float) -> NDArray[np.int64]:
    """Add independent discrete Gaussian noise to n integers, with an exact sampler. The arguments are those of
    `discrete_laplace`, and the function takes about twice as long.

    The time is that of OpenDP's sampler, 18 microseconds per value. Lists, smaller integers and shorter calls take the
    same time.
    """
    return _drawn(_gaussian(_scale(scale)), values)


def private_stream() -> np.random.Generator:
    """Return a Generator that is based on the stream cipher ChaCha20 (20 rounds), with a key that consists of 256 bits
    from the operating system.

    The Generator is intended for long streams: the derangements of a swap, or post-processing after the noise. The key
    is neither stored nor derived from other data.
    """
    bits: np.random.BitGenerator = _extra("randomgen").ChaCha(key=secrets.randbits(256), rounds=20)
    return np.random.Generator(bits)


def _raised(scale: float, most: float, cost: Callable[[float], float]) -> float:
    """Return the smallest double s >= `scale` such that noise of scale s has a privacy cost of at most `most`. Because
    of rounding, the search takes a few steps.
    """
    for _ in range(100):
        if cost(scale) <= most:
            return scale
        scale = math.nextafter(scale, math.inf)
    raise ArithmeticError(
        f"no noise scale near {scale} has a privacy cost of at most {most}: internal error, please report it"
    )


def _scale(scale: float) -> float:
    if _checks.positive("scale", scale) > LARGEST_SCALE:
        raise ValueError(f"scale must be <= 2^40, got {scale}")
    return float(scale)


def _drawn(measurement: _Measurement, values: NDArray[np.int64]) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.dtype != np.int64 or array.ndim != 1:
        raise TypeError(
            f"values must be a one-dimensional int64 array, got dtype {array.dtype} and shape {array.shape}"
        )
    if len(array) and max(int(array.max()), -int(array.min())) > LARGEST:
        first = int(((array > LARGEST) | (array < -LARGEST)).argmax())
        raise ValueError(f"values must lie between -2^53 and 2^53, got a value outside this range at position {first}")
    return np.array(measurement(np.ascontiguousarray(array)), dtype=np.int64) if len(array) else array.copy()


@cache
def _laplace(scale: float) -> _Measurement:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement: _Measurement = dp.m.make_laplace(*space, scale=scale)
    return measurement


@cache
def _gaussian(scale: float) -> _Measurement:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    measurement: _Measurement = dp.m.make_gaussian(*space, scale=scale)
    return measurement


def _opendp() -> ModuleType:
    prelude = _extra("opendp.prelude")
    prelude.enable_features("contrib")
    return prelude


def _extra(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        raise ModuleNotFoundError(f"releases require {package}: install {package} (pip install {package})") from error
