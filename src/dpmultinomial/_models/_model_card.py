"""Model cards of released models: mechanism, parameters, privacy cost, and source of the noise.

The module also reads exported models. For any dict, the result is either a model whose predictions are numbers, or a
clear error.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._accounting.composition import RenyiDP, total
from .._mechanisms.dirichlet import Dirichlet
from .._mechanisms.gaussian import Gaussian
from .._mechanisms.laplace import Laplace
from . import calibrated_noise
from ._support import Support, from_card
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
    """Return the random number generator that is used to fit a model, and a description of the origin of this
    generator.

    Parameters
    ----------
    random_state : random state as in scikit-learn, or a Generator.
    rng : Generator that takes precedence.

    Returns
    -------
    Generator, str

    Raises
    ------
    ValueError, TypeError
        If an argument is not of one of these types.
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
    seed = _checks.integer("random_state", random_state)
    return np.random.Generator(np.random.PCG64(seed)), "a seed: whoever knows it can reproduce the noise"


def open_card(model: str, releases: int, smoothing: float) -> Card:
    """Return the model card of a non-private model.

    Parameters
    ----------
    model : name of the model.
    releases : number of histograms in the model.
    smoothing : number added to every count.

    Returns
    -------
    dict
        Values for JSON.
    """
    return {
        "model": model,
        "mechanism": "none",
        "private": False,
        "releases": releases,
        "smoothing": smoothing,
        "hardened": False,
        "hardened_reason": "no noise at all: the model reveals the data",
    }


def card(model: str, noise: Noise, *, epsilon: float, order: float, releases: int, floor: float, random: str) -> Card:
    """Return the model card of a private model.

    Parameters
    ----------
    model : name of the model.
    noise : noise of one release.
    epsilon, order : Rényi budget of the whole model.
    releases : number of histograms that one record changes.
    floor : smallest value of noisy counts.
    random : description of the origin of the noise.

    Returns
    -------
    dict
        Values for JSON. `epsilon_exact` is the exact Rényi cost of the whole model at `order`, and
        `delta_of_one_release` is the exact delta of one release at `delta_epsilon` = epsilon. `epsilon_hat` is an upper
        bound on the epsilon of the whole model at `delta`, by the best of many Rényi orders; the bound is exact if
        `epsilon_hat_exact` is true.
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
        "epsilon_exact": releases * calibrated_noise.exact_renyi(mechanism, order=order),
        "delta_epsilon": float(epsilon),
        "delta_of_one_release": calibrated_noise.exact_delta(mechanism, epsilon=epsilon),
        "delta": DELTA,
        "epsilon_hat": reach,
        "epsilon_hat_exact": exact,
        "randomness": random,
        "hardened": False,
        "hardened_reason": NOT_HARDENED,
    }


def _mechanism(law: str, scale: float, alpha: float) -> calibrated_noise.Mechanism:
    if law == "dirichlet":
        return Dirichlet(r=scale, alpha=alpha)
    return Gaussian(sigma=scale) if law == "gaussian" else Laplace(scale=scale)


def _approximate(mechanism: calibrated_noise.Mechanism, releases: int) -> tuple[float, bool]:
    """Return the smallest known upper bound on the total epsilon of all releases at delta = `DELTA`. Also return
    whether this bound is exact.
    """
    costs = {o: releases * calibrated_noise.exact_renyi(mechanism, order=o) for o in _ORDERS}
    finite = {o: e for o, e in costs.items() if np.isfinite(e)}
    if isinstance(mechanism, Gaussian):
        return _gaussian_epsilon(mechanism, releases), True
    summed = total([RenyiDP(source="model", relation=RELATION, epsilons=finite)]) if finite else {}
    smallest = min((t.dp(DELTA) for t in summed.values()), default=float("inf"))
    if isinstance(mechanism, Laplace):
        return min(smallest, 2 * releases / mechanism.scale), False
    return smallest, False


def _gaussian_epsilon(mechanism: Gaussian, releases: int) -> float:
    """Return the exact epsilon of several releases with equal Gaussian noise, computed by bisection on the exact delta.
    Together, the releases are equivalent to one release with the sum of the squared shifts.
    """
    low, high = 0.0, 1.0
    while float(mechanism.delta(high, l2_squared=2.0 * releases)) > DELTA:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        covered = float(mechanism.delta(middle, l2_squared=2.0 * releases)) <= DELTA
        low, high = (low, middle) if covered else (middle, high)
    return high


LEAST = -1e290  # smallest log probability; sums over all columns remain finite
_WHOLE = 1e-6  # tolerance for the sum of probabilities
_FEW = 80  # largest number of characters of a value that an error message contains


@dataclass(frozen=True)
class Exported:
    """Parts that all exported models have in common: column names, supports and model card.

    Parameters
    ----------
    names : names of the columns, or None if the columns have no names.
    supports : supports of the columns.
    card : model card.
    """

    names: list[str | None]
    supports: tuple[Support, ...]
    card: Card

    @property
    def mechanism(self) -> str:
        """Name of the mechanism, as stated in the model card."""
        return str(self.card["mechanism"])


def opened(exported: Mapping[str, object], expected: str, keys: Sequence[str]) -> Exported:
    """Check the format of an exported model, and return the parts that all exported models have in common.

    Parameters
    ----------
    exported : result of ``export``.
    expected : format that the model must have.
    keys : further required keys.

    Returns
    -------
    Exported

    Raises
    ------
    ValueError, TypeError
        If `exported` is not such a dict, a column is not described as in ``export``, or the card has an unknown
        mechanism.
    """
    if not isinstance(exported, Mapping):
        raise TypeError(f"exported must be a dict, got {type(exported).__name__}")
    if exported.get("format") != expected:
        raise ValueError(f"exported['format'] must be {expected!r}, got {_shown(exported.get('format'))}")
    if missing := [key for key in ("columns", "card", *keys) if key not in exported]:
        raise ValueError(
            f"exported must contain the following keys: 'columns', 'card', {', '.join(map(repr, keys))}. These keys "
            f"are missing: {', '.join(missing)}"
        )
    if other := [key for key in keys if not isinstance(exported[key], list)]:
        raise TypeError(
            f"the values of the keys {', '.join(other)} in exported must be lists, got "
            f"{', '.join(type(exported[key]).__name__ for key in other)}"
        )
    columns, card = exported["columns"], exported["card"]
    if not isinstance(columns, list) or not columns:
        raise TypeError(f"exported['columns'] must be a list with at least one entry, got {_shown(columns)}")
    if not isinstance(card, dict):
        raise TypeError(f"exported['card'] must be a dict, got {type(card).__name__}")
    known = (*calibrated_noise.MECHANISMS, "none")
    if not isinstance(card.get("mechanism"), str) or card["mechanism"] not in known:
        raise ValueError(
            f"exported['card']['mechanism'] must be one of {', '.join(known)}, got {_shown(card.get('mechanism'))}"
        )
    return Exported(_names(columns), tuple(_support(column) for column in columns), dict(card))


def logs(name: str, values: object, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Check that log probabilities that were read from JSON are finite and at most 0, and return these log
    probabilities as an array of a given shape.

    Parameters
    ----------
    name : name of the values, for error messages.
    values : lists of lists of numbers, as in JSON.
    shape : (n,) or (n, m).

    Returns
    -------
    float64 of `shape`, finite, at most 0.

    Raises
    ------
    ValueError, TypeError
        If a value is not a number, not finite, above 0 or below -1e290, or the lists have another shape.
    """
    rows = _lists(name, values, shape)
    for row in rows:
        for value in row:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} must contain only numbers, got {_shown(value)}")
            if isinstance(value, float) and math.isnan(value):
                raise ValueError(f"{name} must contain only numbers, got NaN")
            if not LEAST <= value <= _WHOLE:
                raise ValueError(f"{name} must contain log probabilities from {LEAST:g} to 0, got {_shown(value)}")
    return np.array(rows, dtype=np.float64).reshape(shape)


def add_up(name: str, probabilities: NDArray[np.float64], axis: int) -> None:
    """Raise ValueError if probabilities do not sum to 1 along an axis. The error message states the sum.

    Parameters
    ----------
    name : name of the values, for error messages.
    probabilities : probabilities of a table.
    axis : axis along which the probabilities must sum to 1.
    """
    sums = np.atleast_1d(probabilities.sum(axis=axis))
    wrong = np.flatnonzero(np.abs(sums - 1) > _WHOLE)
    if len(wrong):
        raise ValueError(f"{name} must contain probabilities that sum to 1, got a sum of {sums[wrong[0]]:.6g}")


def texts(name: str, values: object) -> list[str]:
    """Check that a value is a list of distinct strings, and return the list.

    Parameters
    ----------
    name : name of the values, for error messages.
    values : a list.
    """
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{name} must be a list of strings, got {_shown(values)}")
    if len(set(values)) < len(values):
        raise ValueError(f"{name} must contain distinct strings, got {_shown(values)}")
    return values


def _names(columns: Sequence[object]) -> list[str | None]:
    names: list[str | None] = []
    for column in columns:
        name = column.get("name") if isinstance(column, Mapping) else column
        if not isinstance(column, Mapping) or not (name is None or isinstance(name, str)):
            raise TypeError(
                "every column in exported must be a dict in which the value of the key 'name' is a string or None, got "
                f"{_shown(column)}"
            )
        names.append(name)
    if len(set(map(type, names))) > 1:
        raise ValueError(f"either all columns or none of the columns must have a name, got {_shown(names)}")
    texts("names of columns", [name for name in names if name is not None])
    return names


def _support(column: Mapping[str, object]) -> Support:
    if column.get("kind") not in ("levels", "bins") or not isinstance(column.get("public"), bool):
        raise ValueError(
            "every column in exported must have the keys 'kind' ('levels' or 'bins') and 'public' (True or False), got "
            f"{_shown(dict(column))}"
        )
    return from_card(column)


def _lists(name: str, values: object, shape: tuple[int, ...]) -> list[list[object]]:
    rows: Any = [values] if len(shape) == 1 else values
    good = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
    if not good or (len(shape) == 2 and len(rows) != shape[0]) or any(len(row) != shape[-1] for row in rows):
        raise ValueError(f"{name} must have shape {shape}, got {_shown(values)}")
    return list(rows)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _FEW else f"{text[:_FEW]} .."
