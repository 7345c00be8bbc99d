"""Additive counts by the four algorithms of Wang (2020), section 3.1, from untruncated discrete Laplace noise.

The total and every component get noise of scale 1/epsilon and one person moves both, so a release costs 2 epsilon,
pure: no support is truncated, so there is no delta. Later draws of the algorithms are post-processing, from a stream
under a discarded key.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .._files.csv_table import CsvTable
from .._mechanisms.additive import additive_release
from . import _noise
from ._counts import COLUMNS, read
from ._places import Refused
from .spending import ADD_OR_REMOVE, Cost, Drawn, Plan, csv_bytes

LARGEST_TOTAL = 4 * 10**8
LARGEST_SUMMED_SCALE = 200.0  # for algorithm 1-summed, whose work grows with its square


def additive(settings: Mapping[str, Any], table: CsvTable) -> Plan:
    """Plan an additive release of a file of counts.

    Parameters
    ----------
    settings : checked and filled keys: epsilon (of each noisy count), algorithm.
    table : columns category, count.

    Raises
    ------
    Rejected, FileFault
        If the counts, noise included, could exceed 4e8 in total, or the file breaks a rule of `_counts.read`.
    """
    names, counts = read(table)
    scale = _noise.laplace_scale(settings["epsilon"], sensitivity=1)
    if int(counts.sum()) + 60 * scale * (len(counts) + 1) > LARGEST_TOTAL:
        raise Refused(f"{table.name}: counts, noise included, must stay below {LARGEST_TOTAL} in total")
    algorithm = str(settings["algorithm"])
    if algorithm == "1-summed" and scale > LARGEST_SUMMED_SCALE:
        raise Refused(
            f"epsilon: algorithm 1-summed needs at least {1 / LARGEST_SUMMED_SCALE:g}, got {settings['epsilon']}"
        )
    facts = {
        "law": "discrete Laplace",
        "support": "all integers",
        "scale": scale,
        "step": 1,
        "epsilon_of_each_count": float(settings["epsilon"]),
        "sensitivity": 2,
        "sensitivity_norm": "L1",
        "algorithm": algorithm,
        "ties": "random",
        "categories": len(names),
        "hardened": True,
    }

    def drawn() -> Drawn:
        noisy = _noise.discrete_laplace(np.append(counts, counts.sum()), scale=scale)
        released = arranged(noisy[:-1], int(noisy[-1]), scale=scale, algorithm=algorithm, rng=_noise.private_stream())
        return Drawn(data=csv_bytes(COLUMNS, zip(names, released.tolist(), strict=True)))

    cost = Cost(relation=ADD_OR_REMOVE, epsilon=_noise.laplace_epsilon(scale, sensitivity=2))
    return Plan(cost=cost, facts=facts, draw=drawn)


def arranged(
    noisy: NDArray[np.int64], total: int, *, scale: float, algorithm: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Make additive counts from noisy ones by post-processing.

    Parameters
    ----------
    noisy : int64 (S,), noisy components.
    total : the noisy total.
    scale : scale of their noise.
    algorithm : ``"1-independent"``: components and total are posterior draws given their noisy values, at least 0, then
        Multinomial; ``"1-summed"``: the total given also the sum of the noisy components; ``"2"``: noisy values clipped
        at 0, then Multinomial; ``"3"``: a mode of that distribution, ties at random.
    rng : numpy Generator.

    Returns
    -------
    int64 (S,), >= 0; components share equally if all weights are 0.
    """
    weights, size = np.maximum(noisy, 0), max(total, 0)
    if algorithm.startswith("1"):
        weights = noisy + conditioned(-noisy, scale=scale, rng=rng)
        if algorithm == "1-independent":
            size = total + int(conditioned(np.array([-total]), scale=scale, rng=rng)[0])
        else:
            size = summed_total(total, int(noisy.sum()), len(noisy), scale=scale, rng=rng)
    if not weights.any():
        weights = np.ones_like(weights)
    if algorithm == "3":
        modes = additive_release.modes(np.array([size]), weights[None], ties="random", rng=rng)
        return np.asarray(modes[0], dtype=np.int64)
    found: NDArray[np.int64] = rng.multinomial(size, weights / weights.sum())
    return found


def conditioned(least: NDArray[np.int64], *, scale: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw discrete Laplace noise d given d >= least: int64 (n,).

    Above 0 the distribution is memoryless: least plus a geometric draw. Otherwise d >= 0 and d < 0 have masses 1 and q
    - q^(m+1) up to a constant, q = exp(-1/scale), m = -least; each side is a geometric draw, the lower one cut at m,
    inverted.

    Parameters
    ----------
    least : int64 (n,).
    scale : > 0.
    rng : numpy Generator.

    Returns
    -------
    int64 (n,)
    """
    m = np.maximum(-least, 0).astype(float)
    reach = -np.expm1(-m / scale)  # 1 - q^m
    below = np.exp(-1 / scale) * reach
    u = rng.random(len(least))
    negative = rng.random(len(least)) * (1 + below) < below
    up = np.floor(-scale * np.log1p(-u))
    down = np.minimum(np.floor(-scale * np.log1p(-u * reach)) + 1, np.maximum(m, 1))
    found: NDArray[np.int64] = (np.maximum(least, 0) + np.where(negative, -down, up)).astype(np.int64)
    return found


def summed_total(total: int, summed: int, size: int, *, scale: float, rng: np.random.Generator) -> int:
    """Draw M >= 0 with weight exp(-|M - total|/scale) P(sum of `size` noises = summed - M) (Wang's equation 6).

    The sum is a difference of two negative binomials, added up term by term; M is searched within 40 scales of `total`
    and of `summed` (the neglected mass is below 1e-16).

    Parameters
    ----------
    total, summed : noisy total, and sum of the noisy components.
    size : number of components.
    scale : > 0.
    rng : numpy Generator.

    Returns
    -------
    int
    """
    reach = int(np.ceil(40 * scale))
    candidates = np.arange(max(min(total, summed) - reach, 0), max(total, summed, 0) + reach + 1)
    logs = -np.abs(candidates - total) / scale + summed_law(np.abs(summed - candidates), size, scale)
    weights = np.exp(logs - logs.max())
    return int(rng.choice(candidates, p=weights / weights.sum()))


def summed_law(values: NDArray[np.int64], size: int, scale: float) -> NDArray[np.float64]:
    """Return log probabilities of the sum of `size` discrete Laplace noises at `values` >= 0, up to a constant.

    P(d) = sum_j NB(j + d) NB(j), NB(j) = C(j + size - 1, j) q^j: positive terms; O(values x terms), as many terms as
    the negative binomial has within 12 standard deviations and 40 scales.

    Parameters
    ----------
    values : int64 (n,), >= 0.
    size : number of summands, >= 1.
    scale : > 0.

    Returns
    -------
    float64 (n,)
    """
    most = int(np.ceil(size * scale + 12 * np.sqrt(size) * scale + 40 * scale)) + 1
    distinct, back = np.unique(values, return_inverse=True)
    j = np.arange(most + int(distinct.max(initial=0)) + 1, dtype=float)
    law = gammaln(j + size) - gammaln(j + 1) - j / scale
    found = np.empty(len(distinct))
    for i, d in enumerate(distinct.tolist()):
        both = law[:most] + law[d : d + most]
        peak = both.max()
        found[i] = peak + np.log(np.exp(both - peak).sum())
    return found[back]
