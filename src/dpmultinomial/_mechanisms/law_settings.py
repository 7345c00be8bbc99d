"""Noise distributions described by the keys of a configuration, such as ``{law: discrete_gaussian, sigma: 5.0, clipped:
{at: 0}}``.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from .. import _checks
from .coarsened import Coarsened
from .exact import Exact
from .gaussian import DiscreteGaussian, Gaussian
from .laplace import DiscreteLaplace, Laplace
from .noise_law import NoiseLaw
from .perturbation import Perturbation
from .random_rounding import RandomRounding

# L1 change of disjoint counts; the squared L2 change is the same
_L1 = {"add or remove a record": 1.0, "replace a record": 2.0}
_RELATION = "replace a record"
_SCALES = {
    "laplace": ("scale", "epsilon"),
    "discrete_laplace": ("scale", "epsilon"),
    "gaussian": ("sd", "variance", "rho"),
    "discrete_gaussian": ("sigma", "variance", "rho"),
}
LAWS = (*_SCALES, "exact", "table", "random_rounding")
MODIFIERS = ("rounded", "clipped", "threshold")
_BUDGET = ("epsilon", "rho")
_MEANS = {
    (
        "discrete_gaussian",
        "sd",
    ): "set sigma (for small sigma, the standard deviation of the noise is smaller than sigma)",
    ("gaussian", "sigma"): "set sd or variance",
    ("laplace", "sd"): "set scale (the standard deviation is sqrt(2) times the scale)",
    ("laplace", "variance"): "set scale (the variance is 2 scale^2)",
    ("discrete_laplace", "sd"): "set scale (the standard deviation is not a multiple of the scale)",
    ("discrete_laplace", "variance"): "set scale (the variance is 1/(2 sinh(1/(2 scale))^2))",
}


def law_of(words: Mapping[str, Any]) -> NoiseLaw:
    """Return the noise distribution that a configuration describes.

    Parameters
    ----------
    words : ``law`` and the parameters of this distribution. ``laplace`` and ``discrete_laplace``: ``scale``, or
        ``epsilon``; ``gaussian``: ``sd``, ``variance`` or ``rho``; ``discrete_gaussian``: ``sigma``, ``variance``
        (sigma^2, as agencies publish it) or ``rho``; ``exact``: no parameters; ``random_rounding``: ``base`` and
        ``fixed``; ``table``: ``table`` (columns true, released, probability) and ``beyond``. The values of scale, sd,
        sigma and variance may be arrays, one entry per row. With ``epsilon`` or ``rho``: ``sensitivity`` (L1 or L2), or
        ``relation``, which determines the sensitivity of disjoint counts (default ``replace a record``: 2, sqrt(2)).
        Any distribution: ``rounded`` (a step, or ``{step, ties}``), ``clipped`` (``{at: number}``), ``threshold`` (a
        number).

    Returns
    -------
    NoiseLaw

    Raises
    ------
    ValueError, TypeError
        If a key is unknown, missing or given in two forms; the suggestions in the message are from the same family of
        distributions.
    """
    if not isinstance(words, Mapping):
        raise TypeError(f"noise must be a mapping such as {{law: laplace, scale: 2.0}}, got {words!r}")
    name = _known_law(words.get("law"))
    given = {key: value for key, value in words.items() if key not in ("law", *MODIFIERS)}
    law = _unmodified(name, given)
    steps = {key: words[key] for key in MODIFIERS if key in words}
    return _modified(law, steps) if steps else law


def _unmodified(name: str, given: Mapping[str, Any]) -> NoiseLaw:
    if name == "exact":
        _only(name, given, ())
        return Exact()
    if name == "table":
        _only(name, given, ("table", "beyond"))
        if "table" not in given:
            raise ValueError(
                "noise: the distribution 'table' requires the key 'table' (columns true, released and probability), "
                f"got the keys {', '.join(given) or 'none'}"
            )
        return Perturbation(given["table"], beyond=given.get("beyond", "none"))
    if name == "random_rounding":
        _only(name, given, ("base", "fixed"))
        return RandomRounding(given.get("base", 0), fixed=given.get("fixed"))
    scales = _SCALES[name]
    budget = scales[-1]
    _only(name, given, (*scales, *(("sensitivity", "relation") if budget in given else ())))
    stated = [key for key in scales if key in given]
    if len(stated) != 1:
        raise ValueError(
            f"noise: {name} requires exactly one of the keys {', '.join(scales)}, got {' and '.join(stated) or 'none'}"
        )
    key, value = stated[0], given[stated[0]]
    return _BUILD[name](_scale(key, value, given))


def _scale(key: str, value: Any, given: Mapping[str, Any]) -> Any:
    """Return the parameter (scale or sigma) of the noise distribution."""
    if key == "variance":
        roots = np.sqrt(_checks.positives(key, value, np.size(value)))
        return float(roots[0]) if np.ndim(value) == 0 else roots
    if key not in _BUDGET:
        return value if np.ndim(value) else _checks.positive(key, value)
    relation = _checks.one_of("relation", given.get("relation", _RELATION), tuple(_L1))
    if "sensitivity" in given and "relation" in given:
        raise ValueError(
            f"noise: sensitivity and relation must not both be given, got sensitivity = {given['sensitivity']!r} and "
            f"relation = {relation!r}: omit one of the two keys"
        )
    change = _checks.positive("sensitivity", given["sensitivity"]) if "sensitivity" in given else None
    if key == "epsilon":
        return (_L1[relation] if change is None else change) / _checks.positive(key, value)
    squared = _L1[relation] if change is None else change**2
    return float(np.sqrt(squared / (2 * _checks.positive(key, value))))


_BUILD: dict[str, Callable[[Any], NoiseLaw]] = {
    "laplace": lambda scale: Laplace(scale=scale),
    "discrete_laplace": lambda scale: DiscreteLaplace(scale=scale),
    "gaussian": lambda sigma: Gaussian(sigma=sigma),
    "discrete_gaussian": lambda sigma: DiscreteGaussian(sigma=sigma),
}


def _modified(law: Any, steps: Mapping[str, Any]) -> NoiseLaw:
    rounded = steps.get("rounded")
    if rounded is not None and not isinstance(rounded, Mapping):
        rounded = {"step": rounded}
    clipped = steps.get("clipped")
    if clipped is not None and not (isinstance(clipped, Mapping) and set(clipped) == {"at"}):
        raise ValueError(f"noise: clipped must have the form {{at: number}}, got {clipped!r}")
    if rounded is not None and not {"step"} <= set(rounded) <= {"step", "ties"}:
        raise ValueError(
            f"noise: rounded must be a number (the step) or have the form {{step: number, ties: word}}, got {rounded!r}"
        )
    how = {**(rounded or {}), **(clipped or {})}
    return Coarsened(law, **how, least=steps.get("threshold"))


def _known_law(name: object) -> str:
    if name in LAWS:
        return str(name)
    hint = _same_family(str(name), LAWS) if isinstance(name, str) else None
    if isinstance(name, str) and name.lower() == "tulap":  # discrete Laplace noise plus a uniform variable
        hint = "discrete_laplace, after rounding the values to integers"
    known = f"law must be one of {', '.join(LAWS)}"
    raise ValueError(f"noise: {known}, got {name!r}" + (f": did you mean {hint}?" if hint else ""))


def _only(name: str, given: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    """Raise an error if a key does not belong to the noise distribution."""
    for key in given:
        if key in allowed:
            continue
        if (means := _MEANS.get((name, key))) is not None:
            raise ValueError(f"noise: the distribution {name} has no parameter {key}: {means}")
        if key in ("sensitivity", "relation") and name in _SCALES:
            raise ValueError(f"noise: the key {key} may be given only together with {_SCALES[name][-1]}")
        hint = get_close_matches(str(key), (*allowed, *MODIFIERS), n=1, cutoff=0.75)
        takes = ", ".join((*allowed, *MODIFIERS))
        more = name in _SCALES and "sensitivity" not in allowed
        raise ValueError(
            f"noise: the distribution {name} has no key {key}. The allowed keys are {takes}"
            + (f" and, together with {_SCALES[name][-1]}, sensitivity or relation" if more else "")
            + (f": did you mean {hint[0]}?" if hint else "")
        )


def _same_family(name: str, laws: tuple[str, ...]) -> str | None:
    """Return the name of the noise distribution to which a misspelt name probably refers. The name must state the shape
    (Laplace or Gaussian) and whether the distribution is discrete.
    """
    plain = name.lower().replace("-", "_").replace(" ", "_")
    parts = plain.split("_")
    shapes = {law for law, roots in _SHAPES.items() for root in roots if get_close_matches(root, parts, 1, 0.7)}
    if len(shapes) != 1:
        others = get_close_matches(plain, tuple(law for law in laws if law not in _SCALES), n=1, cutoff=0.75)
        return others[0] if others else None
    shape = shapes.pop()
    if {"geometric", "integer", "tulap"} & set(parts) or get_close_matches("discrete", parts, 1, 0.7):
        return f"discrete_{shape}"
    return shape if len(parts) == 1 else None


_SHAPES = {"laplace": ("laplace", "lap", "geometric", "tulap"), "gaussian": ("gaussian", "gauss", "normal")}
