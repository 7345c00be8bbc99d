import numpy as np
from numpy.typing import ArrayLike, NDArray

LAWS: tuple[str, ...]

def release(
    counts: ArrayLike,
    starts: ArrayLike,
    *,
    law: str,
    scale: ArrayLike,
    alpha: ArrayLike | None = None,
    floors: ArrayLike | None = None,
    normalise: bool = True,
    rng: np.random.Generator,
) -> NDArray[np.float64]: ...
def scores(
    priors: ArrayLike,
    tables: ArrayLike,
    cells: ArrayLike,
    labels: ArrayLike,
    *,
    cap: float = 0.0,
) -> NDArray[np.float64]: ...
