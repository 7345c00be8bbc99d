import numpy as np
from numpy.typing import ArrayLike, NDArray

FORMS: dict[str, int]

def statistics_chain(
    release: ArrayLike,
    n: int,
    a: float,
    b: float,
    scales: ArrayLike,
    prior: ArrayLike,
    initial: ArrayLike,
    *,
    form: str,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
    again: bool = False,
) -> tuple[NDArray[np.float64], float]: ...
def inside_moments(mu: float, sigma2: float, a: float, b: float) -> tuple[float, float, float, float]: ...
def counts_law(
    release: ArrayLike,
    n: int,
    a: float,
    b: float,
    scales: ArrayLike,
    theta: ArrayLike,
    *,
    form: str,
    near: ArrayLike = (0, 0),
) -> NDArray[np.float64]: ...
def log_psis(z: float, shapes: ArrayLike, beta: float, scale: float) -> NDArray[np.float64]: ...
def records_chain(
    release: ArrayLike,
    n: int,
    a: float,
    b: float,
    scales: ArrayLike,
    prior: ArrayLike,
    initial: ArrayLike,
    records: ArrayLike,
    *,
    draws: int,
    burn_in: int,
    rng: np.random.Generator,
    again: bool = False,
    sums: bool = False,
) -> tuple[NDArray[np.float64], float]: ...
