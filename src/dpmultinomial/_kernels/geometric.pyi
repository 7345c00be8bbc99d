import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST: int

def probabilities(epsilon: float, support: int) -> NDArray[np.float64]: ...
def cumulative(epsilon: float, support: int) -> NDArray[np.float64]: ...
def draw(
    size: int, *, epsilon: float, support: int, rng: np.random.Generator, least: ArrayLike | None = ...
) -> NDArray[np.int64]: ...
def smooth(likelihood: ArrayLike, *, epsilon: float, reach: int) -> NDArray[np.float64]: ...
def boxes(
    lower: ArrayLike,
    upper: ArrayLike,
    kind: ArrayLike,
    *,
    low: ArrayLike,
    width: ArrayLike,
    rise: ArrayLike,
    epsilon: float,
    reach: int,
    length: int,
) -> NDArray[np.float64]: ...
