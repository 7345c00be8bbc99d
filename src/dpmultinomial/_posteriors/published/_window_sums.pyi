import numpy as np
from numpy.typing import ArrayLike, NDArray

def summaries(log_weights: ArrayLike, widths: ArrayLike, *, level: float) -> NDArray[np.float64]: ...
