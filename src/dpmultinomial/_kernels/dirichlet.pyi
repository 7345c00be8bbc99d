import numpy as np
from numpy.typing import ArrayLike, NDArray

def draw(alpha: ArrayLike, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]: ...
