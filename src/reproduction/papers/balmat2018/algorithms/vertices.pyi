import numpy as np
from numpy.typing import ArrayLike

def last_move(
    rows: ArrayLike, static: ArrayLike, alpha: float, iterations: int, rng: np.random.Generator
) -> int | None: ...
