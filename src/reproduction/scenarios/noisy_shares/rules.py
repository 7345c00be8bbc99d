"""Check a noisy-shares scenario against the rules that the schema cannot express, and return its assumptions as
sentences.

The module is written in plain Python, because it runs before any kernel is compiled.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...config import question_rules
from ..sentences import sampled

_ROUNDING = 1e-3  # tolerance for the rounding of each printed share
_WAYS = ({"epsilon", "order"}, {"r", "alpha"})


def stated(settings: Mapping[str, Any]) -> tuple[list[str], list[float]]:
    """Return the names of the shares as written by the user, and the released shares or the synthetic counts."""
    written = settings.get("shares", (settings.get("rehearsal") or {}).get("counts", ()))
    if isinstance(written, Mapping):
        return [str(name) for name in written], list(written.values())
    return list(settings.get("names") or [str(i + 1) for i in range(len(written))]), list(written)


def mistakes(settings: Mapping[str, Any], columns: Any, batch: bool) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the settings of the scenario. The arguments are the same for
    every kind of scenario.
    """
    names, listed = stated(settings)
    if "shares" in settings:
        if "total" not in settings:
            yield ".total", "is missing: state the public number of records from which the shares are computed"
        if abs(sum(listed) - 1) > _ROUNDING * len(listed):
            yield ".shares", f"must sum to 1, got {sum(listed):.6g}"
    else:
        if "total" in settings:
            yield (
                ".total",
                f"must be omitted for a rehearsal, because the total is the sum of the counts ({sum(listed)})",
            )
        if not sum(listed):
            yield ".rehearsal.counts", "must contain at least one record"
    given = {key for way in _WAYS for key in way if key in settings}
    if given not in _WAYS:
        yield (
            "",
            (
                "must contain either epsilon and order (Algorithm 1), or r and alpha, got "
                f"{', '.join(sorted(given)) or 'none'}"
            ),
        )
    if len(names) != len(listed):
        yield ".names", f"must contain one name per share ({len(listed)} shares), got {len(names)} names"
    if isinstance(settings["prior"], str) and settings["prior"] not in ("flat", "jeffreys"):
        yield ".prior", f"must be flat, jeffreys or a number, got {settings['prior']!r}"
    elif isinstance(settings["prior"], list) and len(settings["prior"]) != len(listed):
        yield (
            ".prior",
            f"must be one number or one number per share ({len(listed)} shares), got {len(settings['prior'])} numbers",
        )
    if unknown := [name for name in settings.get("among") or () if name not in names]:
        yield ".among", f"{', '.join(map(repr, unknown))}: unknown share. The shares are {', '.join(names[:20])}"
    yield from question_rules.mistakes(settings.get("questions") or {}, names)


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return the CPU time in seconds and the memory in MB that one case of a noisy-shares scenario requires. Both grow
    linearly with the total multiplied by the number of shares.
    """
    _, listed = stated(settings)
    size = len(listed) * settings.get("total", sum(listed))
    return 1.0 + 0.1 * len(listed) + 4e-6 * size, 7e-5 * size + 0.2 * len(listed)


def assumptions(point: Mapping[str, Any]) -> list[str]:
    """Return the assumptions about the shares and the total, as sentences."""
    sentences = [
        f"The shares are one draw from a Dirichlet distribution with parameters {point['r']:.5g} times each count plus "
        f"{point['alpha']:.5g}.",
        f"The total of {point['total']:,} record{'s' * (point['total'] != 1)} is public and exact.",
    ]
    return [*sentences, sampled("rates")] if "rates" in point.get("groups", ()) else sentences
