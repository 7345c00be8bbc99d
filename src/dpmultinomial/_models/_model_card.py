"""What a released model says of itself: mechanism, parameters, cost, and how its noise was drawn."""

from typing import Final

import numpy as np

from .. import _checks
from .._accounting.composition import RenyiDP, total
from .._audits import claims
from .._mechanisms.dirichlet import Dirichlet
from .._mechanisms.gaussian import Gaussian
from .._mechanisms.laplace import Laplace
from .calibrated_noise import Noise

Card = dict[str, object]

DELTA: Final = 1e-5
RELATION: Final = "replace a record"
NOT_HARDENED: Final = (
    "floating-point noise from a general-purpose generator: neither exact nor from a cryptographic source"
)
_ORDERS: Final = tuple(1 + 10 ** (k / 8) for k in range(-16, 41))


def randomness(
    random_state: int | np.random.RandomState | np.random.Generator | None, rng: np.random.Generator | None
) -> tuple[np.random.Generator, str]:
    """The Generator of a fit and where it came from, in words.

    Parameters
    ----------
    random_state : as scikit-learn has it, or a Generator.
    rng : a Generator that goes before it.

    Returns
    -------
    Generator, str

    Raises
    ------
    ValueError, TypeError
        If either is something else.
    """
    if rng is not None:
        return _checks.generator(rng), "a generator of the caller"
    if isinstance(random_state, np.random.Generator):
        return random_state, "a generator of the caller"
    if random_state is None:
        return np.random.Generator(np.random.PCG64()), "the operating system"
    if isinstance(random_state, np.random.RandomState):
        words = random_state.randint(0, 2**32, size=8, dtype=np.uint32).tolist()
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words))), "a generator of the caller"
    seed = _checks.whole("random_state", random_state)
    return np.random.Generator(np.random.PCG64(seed)), "a seed: whoever knows it can undo the noise"


def open_card(model: str, releases: int, smoothing: float) -> Card:
    """The card of a model without privacy.

    Parameters
    ----------
    model : its name.
    releases : histograms it holds.
    smoothing : added to every count.

    Returns
    -------
    dict
        JSON-able.
    """
    return {
        "model": model,
        "mechanism": "none",
        "private": False,
        "releases": releases,
        "smoothing": smoothing,
        "hardened": False,
        "hardened_reason": "no noise at all: the counts can be computed from the model",
    }


def card(model: str, noise: Noise, *, epsilon: float, order: float, releases: int, floor: float, random: str) -> Card:
    """The card of a private model.

    Parameters
    ----------
    model : its name.
    noise : of one release.
    epsilon, order : Rényi budget of the whole model.
    releases : histograms that one record touches.
    floor : under noisy counts.
    random : where the noise came from.

    Returns
    -------
    dict
        JSON-able. `epsilon_exact` is the exact Rényi cost of the whole at `order`; `delta_of_one_release` the exact
        delta of one release at `delta_epsilon` = epsilon; `epsilon_hat` an upper bound of the whole model's epsilon
        at `delta` by the best of many Rényi orders, exact where `epsilon_hat_exact` says so.
    """
    scale, alpha = float(noise.scale[0]), float(noise.alpha[0])
    mechanism = _mechanism(noise.law, scale, alpha)
    named: Card = {"r": scale, "alpha": alpha} if noise.law == "dirichlet" else {"scale": scale, "floor": float(floor)}
    reach, exact = _approximate(mechanism, releases)
    return {
        "model": model,
        "mechanism": noise.law,
        "private": True,
        "relation": RELATION,
        **named,
        "order": float(order),
        "epsilon": float(epsilon),
        "releases": releases,
        "epsilon_exact": releases * claims.exact_renyi(mechanism, order=order),
        "delta_epsilon": float(epsilon),
        "delta_of_one_release": claims.exact_delta(mechanism, epsilon=epsilon),
        "delta": DELTA,
        "epsilon_hat": reach,
        "epsilon_hat_exact": exact,
        "randomness": random,
        "hardened": False,
        "hardened_reason": NOT_HARDENED,
    }


def _mechanism(law: str, scale: float, alpha: float) -> claims.Mechanism:
    if law == "dirichlet":
        return Dirichlet(r=scale, alpha=alpha)
    return Gaussian(sigma=scale) if law == "gaussian" else Laplace(scale=scale)


def _approximate(mechanism: claims.Mechanism, releases: int) -> tuple[float, bool]:
    """Least epsilon_hat at `DELTA` that is known for all releases together, and whether it is exact."""
    costs = {o: releases * claims.exact_renyi(mechanism, order=o) for o in _ORDERS}
    finite = {o: e for o, e in costs.items() if np.isfinite(e)}
    if isinstance(mechanism, Gaussian):
        return _gaussian_epsilon(mechanism, releases), True
    summed = total([RenyiDP(source="model", relation=RELATION, epsilons=finite)]) if finite else {}
    found = min((t.dp(DELTA) for t in summed.values()), default=float("inf"))
    if isinstance(mechanism, Laplace):
        return min(found, 2 * releases / mechanism.scale), False
    return found, False


def _gaussian_epsilon(mechanism: Gaussian, releases: int) -> float:
    """Releases with the same noise are one Gaussian whose squared shift is summed; bisection on its exact delta."""
    low, high = 0.0, 1.0
    while float(mechanism.delta(high, l2_squared=2.0 * releases)) > DELTA:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        covered = float(mechanism.delta(middle, l2_squared=2.0 * releases)) <= DELTA
        low, high = (low, middle) if covered else (middle, high)
    return high
