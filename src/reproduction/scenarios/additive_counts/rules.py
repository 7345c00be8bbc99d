"""Check an additive-counts scenario against the rules that the schema cannot express, and return its assumptions as
sentences.

The module is written in plain Python, because it runs before any kernel is compiled.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ...config import question_rules

Columns = Mapping[str, Sequence[str]] | None
LARGEST = 10**8
TOTAL = "total"
PRIORS = ("flat", "flat total")
_PAIRS_ONLY = {"algorithm": "1-summed", "ties": "ieee"}


def stated(settings: Mapping[str, Any], columns: Columns) -> tuple[list[str], list[float]]:
    """Return the names and the counts of the scenario as written by the user. The counts are either released or
    synthetic.
    """
    if columns is not None:
        return list(columns["name"]), [float(text) if text else float("nan") for text in columns["value"]]
    written = settings.get("released", (settings.get("rehearsal") or {}).get("counts", ()))
    if isinstance(written, Mapping):
        return [str(name) for name in written], list(written.values())
    return list(settings.get("names") or [str(i + 1) for i in range(len(written))]), list(written)


def mistakes(settings: Mapping[str, Any], columns: Columns, batch: bool) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the settings of the scenario. The arguments are the same for
    every kind of scenario.
    """
    if isinstance(settings["prior"], str) and settings["prior"] not in PRIORS:
        yield ".prior", f"must be {' or '.join(PRIORS)}, or a number, got {settings['prior']!r}"
    if "release" in settings:
        return
    if "epsilon" not in settings and not (batch and columns is not None and "epsilon" in columns):
        yield ".epsilon", "is missing: state the epsilon of the noise in the total and in every count"
    if batch:
        return
    names, counts = stated(settings, columns)
    place = ".file" if columns is not None else ".rehearsal.counts" if "rehearsal" in settings else ".released"
    if len(names) != len(counts):
        yield ".names", f"must contain one name per count ({len(counts)} counts), got {len(names)} names"
    elif len(set(names)) != len(names):
        yield ".names" if columns is None else ".file", "names must not contain duplicates"
    if TOTAL in names:
        yield place, f"must not contain {TOTAL!r}, which is reserved for the sum of the other counts"
    if any(not 0 <= value == round(value) for value in counts if value == value) or any(v != v for v in counts):
        yield place, "must contain only integers >= 0"
    elif sum(counts) > LARGEST:
        yield place, f"the sum of the counts must be <= {LARGEST}, got {sum(counts):.0f}"
    for key, value in _PAIRS_ONLY.items():
        if settings[key] != value or (key == "ties" and settings["algorithm"] != "3"):
            continue
        if len(counts) != 2:
            yield f".{key}", f"{value!r} is tractable only for two counts, got {len(counts)} counts"
        if settings["prior"] != "flat":
            yield ".prior", f"must be flat if {key} is {value!r}"
    yield from question_rules.mistakes(settings.get("questions") or {}, [*names, TOTAL], dict.fromkeys(names, TOTAL))


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return the CPU time in seconds and the memory in MB that one case of an additive-counts scenario requires. The
    distribution of each count has as many points as the distribution of the noise.
    """
    if "epsilon" not in settings:
        return 60.0, 200.0  # the settings that determine the cost are in the record of the release
    size = len(stated(settings, None)[1]) if "file" not in settings else 100
    points = settings.get("support") or max(50.0, 50 / settings["epsilon"])
    return size * (0.1 + 2 * (points / 5000) ** 1.5), size * points * 2.5e-3


def assumptions(point: Mapping[str, Any]) -> list[str]:
    """Return a sentence that states how the counts are assumed to have been released."""
    return [_released(f"{point['noise']['scale']:.12g}", point.get("noise_bound"), _algorithm(point))]


def assumed_of_tables(settings: Mapping[str, Any], columns: Collection[str]) -> str:
    """Return a sentence that states how the counts of a batch are assumed to have been released. Epsilon is in the
    settings or in a column of the file.
    """
    from dpmultinomial._mechanisms.laplace import default_support  # only a batch needs this import

    epsilon, bound = settings.get("epsilon"), settings.get("support")
    how = "the algorithm in the column algorithm" if "algorithm" in columns else _algorithm(settings)
    if epsilon is None:
        limit = str(bound) if bound else "50/epsilon (rounded up)"
        return _released(f"1/epsilon (column epsilon) between -{limit} and {limit}", None, how)
    return _released(f"{1 / epsilon:.12g}", bound or default_support(epsilon), how)


def _algorithm(stated: Mapping[str, Any]) -> str:
    ties = f" (ties: {stated['ties']})" if stated["algorithm"] == "3" else ""
    return f"algorithm {stated['algorithm']}{ties}"


def _released(scale: str, bound: int | None, how: str) -> str:
    limits = f" between -{bound} and {bound}" if bound else ""
    return (
        f"Discrete Laplace noise of scale {scale}{limits} was added to the total and to every count; {how} then "
        "made the counts non-negative and consistent with the total."
    )
