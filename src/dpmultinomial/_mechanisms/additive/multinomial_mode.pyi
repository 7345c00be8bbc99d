import numpy as np
from numpy.typing import ArrayLike, NDArray

RULES: tuple[str, ...]
LARGEST: int

def modes(totals: ArrayLike, weights: ArrayLike, *, ties: str, rng: np.random.Generator) -> NDArray[np.int64]: ...
