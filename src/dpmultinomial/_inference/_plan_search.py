"""Where a simulated curve first reaches a wanted frequency: a grid over the whole range, then bisection."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Seen = NDArray[np.bool_]  # (releases, 2): sure and right, sure and wrong
Simulation = Callable[[float, int], Seen]  # epsilon, number of releases
_STEP = 2.0  # of the grid
_FALL = 4.0  # standard errors of a fall that is no chance
_FEWER = 4  # a point of the grid has this part of the releases


class Search:
    """Frequencies of simulated releases, the same files and seeds at every epsilon.

    Parameters
    ----------
    simulate : from epsilon and a number of releases to what each of them shows.
    low, high : range of epsilon.
    wanted : frequency, in (0, 1).
    releases : at every epsilon of the bisection; a quarter of them on the grid.
    precision : relative, of the epsilon found.
    """

    def __init__(
        self, simulate: Simulation, *, low: float, high: float, wanted: float, releases: int, precision: float
    ) -> None:
        self._simulate, self._ends, self._wanted = simulate, (low, high), wanted
        self._releases, self._precision = releases, precision
        self._seen: dict[float, Seen] = {}

    def smallest(self) -> float:
        """Smallest epsilon at which the search's own releases reach the wanted frequency and one standard error more.

        Raises
        ------
        ValueError
            If the curve falls to below the wanted frequency by more than four standard errors, or does not cross it.
        """
        low, high = self._ends
        points = np.geomspace(low, high, max(2, int(np.ceil(np.log(high / low) / np.log(_STEP))) + 1)).tolist()
        for point in points:
            self._seen[point] = self._simulate(point, max(self._releases // _FEWER, 20))
        self._refuse_falls(points)
        return self._bisected(*self._bracket(points))

    def curve(self) -> pd.DataFrame:
        """Every epsilon that was tried: epsilon, frequency, wrong."""
        tried = sorted(self._seen)
        shares = np.array([self._seen[epsilon].mean(axis=0) for epsilon in tried])
        return pd.DataFrame({"epsilon": tried, "frequency": shares[:, 0], "wrong": shares[:, 1]})

    @property
    def _target(self) -> float:
        error = float(np.sqrt(self._wanted * (1 - self._wanted) / self._releases))
        return min(self._wanted + error, (1 + self._wanted) / 2)

    def _refuse_falls(self, points: list[float]) -> None:
        """Compare release by release: two points of the grid have the same files."""
        for first, second in combinations(points, 2):
            fall = self._seen[first][:, 0].astype(float) - self._seen[second][:, 0]
            chance = _FALL * float(fall.std()) / np.sqrt(len(fall))
            if fall.mean() > chance and self._seen[second][:, 0].mean() < self._wanted:
                raise ValueError(
                    f"more epsilon must not answer less, but {self._words(first)} and {self._words(second)}: the "
                    "prior answers where the release says little; plan between larger values (between=), or change it"
                )

    def _bracket(self, points: list[float]) -> tuple[float, float]:
        """Neighbours of the grid between which the full number of releases crosses the target."""
        below = [i for i, point in enumerate(points) if self._share(point) < self._target]
        if below and below[-1] == len(points) - 1 and self._full(points[-1]) < self._target:
            raise ValueError(
                f"even the largest epsilon is not enough for {self._wanted:.1%}: {self._words(points[-1])}"
            )
        i = min(below[-1], len(points) - 2) if below else 0
        while i > 0 and self._full(points[i]) >= self._target:
            i -= 1
        if self._full(points[i]) >= self._target:
            raise ValueError(
                f"the smallest epsilon is enough: {self._words(points[0])}; the prior may answer alone, else plan from "
                "a smaller value (between=)"
            )
        while self._full(points[i + 1]) < self._target:
            i += 1
            if i == len(points) - 1:
                raise ValueError(
                    f"even the largest epsilon is not enough for {self._wanted:.1%}: {self._words(points[-1])}"
                )
        return points[i], points[i + 1]

    def _bisected(self, low: float, high: float) -> float:
        while high / low > 1 + self._precision:
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if self._full(middle) >= self._target else (middle, high)
        return high

    def _share(self, epsilon: float) -> float:
        return float(self._seen[epsilon][:, 0].mean())

    def _full(self, epsilon: float) -> float:
        """Frequency in all releases of the search."""
        if len(self._seen.get(epsilon, ())) < self._releases:
            self._seen[epsilon] = self._simulate(epsilon, self._releases)
        return self._share(epsilon)

    def _words(self, epsilon: float) -> str:
        right, wrong = self._seen[epsilon].mean(axis=0)
        return f"epsilon {epsilon:.3g} answers rightly in {right:.1%} of releases and wrongly in {wrong:.1%}"
