"""Planning a release: the smallest epsilon, or the smallest total, that will answer a question with a given
probability.

A plan asks how often the posterior given a simulated release is good enough. Counts are multinomial with the planned
shares, noise is Laplace, and the posterior of each release is exact; only the frequency over releases is simulated,
and its Wilson interval is stated. The same uniform numbers serve every epsilon and total that is tried, so the search
compares like with like.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from ... import _checks
from ..._honesty import LEVEL, Honesty
from ..._mechanisms.laplace import Laplace
from . import laplace_multinomial

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """What a posterior must achieve.

    Parameters
    ----------
    category : the share asked about.
    given : categories among which it is taken; None: all.
    width : the central interval of `level` must be narrower than this; or
    threshold : P(share > threshold) must be at least `level` or at most 1 - level.
    level : in (1/2, 1).
    """

    category: int
    given: tuple[int, ...] | None = None
    width: float | None = None
    threshold: float | None = None
    level: float = LEVEL

    def __post_init__(self) -> None:
        if (self.width is None) == (self.threshold is None):
            raise ValueError("a question has a width or a threshold, not both and not neither")
        _checks.inside("width" if self.threshold is None else "threshold", self.width or self.threshold)
        if not _checks.inside("level", self.level) > 0.5:
            raise ValueError(f"level must lie in (1/2, 1), got {self.level}")

    def answered(self, noisy: Array, *, total: int, scale: float, alpha: ArrayLike) -> bool:
        """Whether the posterior given this release is good enough."""
        law = laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=alpha).beta(self.category, self.given)
        if self.width is not None:
            lower, upper = law.quantile([(1 - self.level) / 2, (1 + self.level) / 2])
            return bool(upper - lower < self.width)
        above = float(law.sf(self.threshold or 0.0))
        return bool(above >= self.level or above <= 1 - self.level)


@dataclass(frozen=True)
class Plan:
    """The smallest value found, and every value that was tried.

    Parameters
    ----------
    name : ``"epsilon"`` or ``"total"``.
    value : the smallest value tried at which the wish was met.
    wanted : the probability wished for.
    tried : frame with the value, `frequency` of good posteriors over `releases` simulated releases and the ends
        `lower`, `upper` of its 95 % Wilson interval.
    """

    name: str
    value: float
    wanted: float
    tried: pd.DataFrame

    @property
    def honesty(self) -> Honesty:
        """``approximate``: half the Wilson interval of the frequency at `value`."""
        row = self.tried[self.tried[self.name] == self.value].iloc[0]
        return Honesty("approximate", float(row["upper"] - row["lower"]) / 2, "simulated frequency over releases")

    def summary(self) -> pd.DataFrame:
        """Every value tried, rising."""
        return self.tried.sort_values(self.name, ignore_index=True)

    def __repr__(self) -> str:
        return f"Plan({self.name} {self.value:g} for probability {self.wanted}; {self.honesty})"


def smallest_epsilon(
    question: Question,
    *,
    probabilities: ArrayLike,
    total: int,
    rng: np.random.Generator,
    wanted: float = 0.9,
    sensitivity: float = 2.0,
    alpha: ArrayLike = 1.0,
    releases: int = 400,
    low: float = 0.01,
    high: float = 100.0,
    precision: float = 0.02,
) -> Plan:
    """Smallest epsilon in [low, high], to a relative `precision`, at which the question is answered often enough.

    Parameters
    ----------
    question : what a posterior must achieve.
    probabilities : the planned shares (k,).
    total : whole number >= 1, public number of records M.
    rng : numpy Generator.
    wanted : how often, in (0, 1).
    sensitivity : > 0, L1 change of the counts.
    alpha : Dirichlet prior, > 0; one number or one per category.
    releases : how many are simulated, at least 20.
    low, high : between which epsilon is sought.
    precision : relative, of the epsilon found.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If even `high` is not enough, or an argument breaks its rule.
    """
    p, total = _shares(probabilities), _checks.whole("total", total, least=1)
    runs = _checks.whole("releases", releases, least=20)
    counts = _checks.generator(rng).multinomial(total, p, runs)
    noise = rng.laplace(0.0, 1.0, counts.shape)

    def frequency(log_epsilon: float) -> float:
        scale = Laplace.calibrated(float(np.exp(log_epsilon)), sensitivity=sensitivity).scale
        rows = counts + scale * noise
        return float(np.mean([question.answered(r, total=total, scale=scale, alpha=alpha) for r in rows]))

    bounds = np.log(_checks.positive("low", low)), np.log(_checks.positive("high", high))
    found, tried = _bisect(frequency, *bounds, _checks.inside("wanted", wanted), step=np.log1p(precision))
    return _plan("epsilon", float(np.exp(found)), {float(np.exp(k)): v for k, v in tried.items()}, wanted, runs)


def smallest_total(
    question: Question,
    *,
    probabilities: ArrayLike,
    epsilon: float,
    rng: np.random.Generator,
    wanted: float = 0.9,
    sensitivity: float = 2.0,
    alpha: ArrayLike = 1.0,
    releases: int = 400,
    high: int = 5_000,
) -> Plan:
    """Smallest total up to `high` at which the question is answered often enough; arguments as of `smallest_epsilon`.

    Parameters
    ----------
    question, probabilities, wanted, sensitivity, alpha, releases, rng : as in `smallest_epsilon`.
    epsilon : > 0, of the release.
    high : largest total tried.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If even `high` is not enough, or an argument breaks its rule.
    """
    p, runs = _shares(probabilities), _checks.whole("releases", releases, least=20)
    scale = Laplace.calibrated(epsilon, sensitivity=sensitivity).scale
    noise = scale * _checks.generator(rng).laplace(0.0, 1.0, (runs, len(p)))
    seeds = rng.integers(0, 2**63, runs)

    def frequency(value: float) -> float:
        total = int(value)
        counts = [np.random.Generator(np.random.PCG64(seed)).multinomial(total, p) for seed in seeds.tolist()]
        rows = np.array(counts) + noise
        return float(np.mean([question.answered(r, total=total, scale=scale, alpha=alpha) for r in rows]))

    most = _checks.whole("high", high, least=1)
    found, tried = _bisect(frequency, 0.0, float(most), _checks.inside("wanted", wanted), step=1.0, whole=True)
    return _plan("total", found, tried, wanted, runs)


def _bisect(
    frequency: Callable[[float], float], low: float, high: float, wanted: float, *, step: float, whole: bool = False
) -> tuple[float, dict[float, float]]:
    tried = {high: frequency(high)}
    if tried[high] < wanted:
        raise ValueError(f"even the largest value answers in {tried[high]:.1%} of releases only, not in {wanted:.1%}")
    while high - low > step:
        middle = float((low + high) // 2) if whole else (low + high) / 2
        tried[middle] = frequency(middle)
        low, high = (low, middle) if tried[middle] >= wanted else (middle, high)
    return high, tried


def _plan(name: str, value: float, tried: dict[float, float], wanted: float, runs: int) -> Plan:
    share = np.array(list(tried.values()))
    z = float(ndtri(0.975))
    centre = (share + z**2 / (2 * runs)) / (1 + z**2 / runs)
    half = z / (1 + z**2 / runs) * np.sqrt(share * (1 - share) / runs + z**2 / (4 * runs**2))
    frame = pd.DataFrame({name: list(tried), "frequency": share, "lower": centre - half, "upper": centre + half})
    return Plan(name, value, wanted, frame.assign(releases=runs))


def _shares(probabilities: ArrayLike) -> Array:
    p = _checks.reals("probabilities", probabilities, least_size=2)
    if p.min() < 0 or abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"probabilities must be >= 0 and add up to 1, got {probabilities!r}")
    return np.asarray(p / p.sum())
