"""The law of one quantity: what every one of them is asked, whatever it is the law of."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from .. import _checks
from .._honesty import LEVEL, Honesty

Array = NDArray[np.float64]
TYPES = ("count", "share", "rate", "parameter", "question")
KINDS = ("central", "hdi")
_END = 1e-6  # of the mass outside an interval: the least on one side of the shortest


class Unavailable(TypeError):
    """What a law cannot give, with the reason."""


class Marginal(ABC):
    """The law of one quantity given the release.

    Parameters
    ----------
    name : of the quantity.
    type : one of `TYPES`.
    honesty : state of accuracy.
    """

    def __init__(self, name: str, type: str, honesty: Honesty) -> None:
        self.name, self.type, self.honesty = name, _checks.one_of("type", type, TYPES), honesty

    @abstractmethod
    def mean(self) -> float:
        """Expected value."""

    @abstractmethod
    def sd(self) -> float:
        """Standard deviation."""

    def variance(self) -> float:
        """Variance."""
        return self.sd() ** 2

    @abstractmethod
    def quantile(self, q: ArrayLike) -> Array:
        """Smallest x with P(quantity <= x) >= q.

        Parameters
        ----------
        q : levels in [0, 1], any shape.

        Returns
        -------
        float64, of the shape of `q`.

        Raises
        ------
        ValueError, TypeError
            If a level is no number in [0, 1].
        """

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Array:
        """P(quantity <= x), of the shape of `x`."""

    @abstractmethod
    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Independent draws, (size,); draws of a chain are taken from it with replacement."""

    @abstractmethod
    def mode(self) -> float:
        """Most probable value, or place of the highest density; `Unavailable` where there is none."""

    def median(self) -> float:
        """The quantile at 1/2."""
        return float(self.quantile(0.5))

    def interval(self, level: float = LEVEL, *, kind: str = "central") -> tuple[float, float]:
        """Ends of an interval that holds the quantity with probability `level`, at least.

        Parameters
        ----------
        level : in (0, 1).
        kind : ``"central"``, as much beyond either end; ``"hdi"``, the shortest.

        Returns
        -------
        (lower, upper)

        Raises
        ------
        ValueError, TypeError
            If an argument breaks its rule.
        """
        level, tail = _checks.inside("level", level), (1 - level) / 2
        if _checks.one_of("kind", kind, KINDS) == "hdi":
            return self._shortest(level)
        lower, upper = self.quantile([tail, 1 - tail])
        return float(lower), float(upper)

    def _shortest(self, level: float) -> tuple[float, float]:
        def ends(tail: float) -> Array:
            return self.quantile([tail, tail + level])

        def width(tail: float) -> float:
            lower, upper = ends(tail)
            return float(upper - lower)

        rest = 1.0 - level
        grid = rest * np.concatenate([[_END], np.linspace(0, 1, 41)[1:-1], [1 - _END]])  # ends may be infinitely far
        at = int(np.argmin([width(tail) for tail in grid]))
        bounds = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
        found = minimize_scalar(width, bounds=bounds, method="bounded", options={"xatol": 1e-9})
        lower, upper = ends(min((found.x, grid[at]), key=width))
        return float(lower), float(upper)

    def pdf(self, x: ArrayLike) -> Array:
        """Density at `x`, of its shape; `Unavailable` for whole numbers and draws."""
        raise Unavailable(f"{self.name}: {self._no_density}")

    def logpdf(self, x: ArrayLike) -> Array:
        """Log of `pdf`."""
        with np.errstate(divide="ignore"):
            return np.log(self.pdf(x))

    def pmf(self, x: ArrayLike) -> Array:
        """P(quantity = x), of the shape of `x`; `Unavailable` for real numbers and draws."""
        raise Unavailable(f"{self.name}: {self._no_mass}")

    def logpmf(self, x: ArrayLike) -> Array:
        """Log of `pmf`."""
        with np.errstate(divide="ignore"):
            return np.log(self.pmf(x))

    _no_density = "its values have probabilities; ask for pmf"
    _no_mass = "single values have probability 0; ask for pdf"

    def __repr__(self) -> str:
        lower, upper = self.interval()
        return (
            f"{self.type} {self.name}: mean {self.mean():.6g}, sd {self.sd():.3g}, {LEVEL:.0%} in "
            f"{lower:.6g} .. {upper:.6g}, {self.honesty.word}"
        )
