"""Rules of an additive-counts scenario that its schema cannot express, and its assumptions as sentences.

Plain Python: this module runs before any kernel exists.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...config import question_rules

Columns = Mapping[str, Sequence[str]] | None
LARGEST = 10**8
TOTAL = "total"
PRIORS = ("flat", "flat total")
_PAIRS_ONLY = {"algorithm": "1-summed", "ties": "ieee"}


def stated(settings: Mapping[str, Any], columns: Columns) -> tuple[list[str], list[float]]:
    """Names and counts as written: released, or made up."""
    if columns is not None:
        return list(columns["name"]), [float(text) if text else float("nan") for text in columns["value"]]
    found = settings.get("released", (settings.get("rehearsal") or {}).get("counts", ()))
    if isinstance(found, Mapping):
        return [str(name) for name in found], list(found.values())
    return list(settings.get("names") or [str(i + 1) for i in range(len(found))]), list(found)


def mistakes(settings: Mapping[str, Any], columns: Columns, batch: bool) -> Iterator[tuple[str, str]]:
    """(key, message) of every broken rule; arguments as of every kind's rules."""
    if isinstance(settings["prior"], str) and settings["prior"] not in PRIORS:
        yield ".prior", f"{settings['prior']!r} is no prior; it is {' or '.join(PRIORS)}, or a number"
    if "release" in settings:
        return
    if "epsilon" not in settings and not (batch and columns is not None and "epsilon" in columns):
        yield ".epsilon", "is missing; it is that of the noise in the total and in every count"
    if batch:
        return
    names, counts = stated(settings, columns)
    place = ".file" if columns is not None else ".rehearsal.counts" if "rehearsal" in settings else ".released"
    if len(names) != len(counts):
        yield ".names", f"{len(names)} names for {len(counts)} counts"
    elif len(set(names)) != len(names):
        yield ".names" if columns is None else ".file", "names something twice"
    if TOTAL in names:
        yield place, f"{TOTAL!r} is the sum of the others; leave it out"
    if any(not 0 <= value == round(value) for value in counts if value == value) or any(v != v for v in counts):
        yield place, "must hold whole numbers >= 0"
    elif sum(counts) > LARGEST:
        yield place, f"adds up to {sum(counts):.0f}, beyond {LARGEST}"
    for key, value in _PAIRS_ONLY.items():
        if settings[key] != value or (key == "ties" and settings["algorithm"] != "3"):
            continue
        if len(counts) != 2:
            yield f".{key}", f"{value!r} has a tractable posterior for two counts only, not {len(counts)}"
        if settings["prior"] != "flat":
            yield ".prior", f"must be flat with {key} {value!r}"
    yield from question_rules.mistakes(settings.get("questions") or {}, [*names, TOTAL])


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """CPU seconds and MB: each count's law has as many points as its noise."""
    if "epsilon" not in settings:
        return 60.0, 200.0  # the record of its release states what decides
    size = len(stated(settings, None)[1]) if "file" not in settings else 100
    points = settings.get("support") or max(50.0, 50 / settings["epsilon"])
    return size * (0.1 + 2 * (points / 5000) ** 1.5), size * points * 2.5e-3


def assumptions(point: Mapping[str, Any]) -> list[str]:
    """Return the assumptions about how the release was made."""
    scale = f"{point['noise']['scale']:g}"
    ties = f", ties {point['ties']}" if point["algorithm"] == "3" else ""
    return [
        f"Discrete Laplace noise of scale {scale} was added to the total and to every count; algorithm "
        f"{point['algorithm']}{ties} then made the counts non-negative and consistent with the total."
    ]
