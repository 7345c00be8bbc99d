"""Check a censored-sample scenario against the rules that the schema cannot express, and return its assumptions as
sentences.

The module is written in plain Python, because it runs before any kernel is compiled.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...config import question_rules

_NAMES = ("mu", "sigma2", "below", "above")


def mistakes(settings: Mapping[str, Any], columns: Any, batch: bool) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the settings of the scenario. The arguments are the same for
    every kind of scenario.
    """
    for label, question in (settings.get("questions") or {}).items():
        group = question.get("about", "parameters")  # the first group of the posterior
        names = {"parameters": _NAMES[:2], "counts": _NAMES[2:]}.get(group, ())
        yield from question_rules.mistakes({label: question}, names)
    if "release" in settings:
        return
    for key in ("lower", "upper"):
        if key not in settings:
            yield f".{key}", "is missing: state the public limit"
    if "lower" in settings and "upper" in settings and not settings["lower"] < settings["upper"]:
        yield ".lower", f"must be below upper, got lower = {settings['lower']} and upper = {settings['upper']}"
    if "rehearsal" in settings:
        if "epsilon" not in settings:
            yield ".epsilon", "is missing: a rehearsal requires this key"
        for key in ("records", "sensitivity", "scales"):
            if key in settings:
                yield (
                    f".{key}",
                    "must be omitted, because a rehearsal derives this value"
                    if key != "records"
                    else "must be omitted, because rehearsal contains this key",
                )
        return
    if "records" not in settings:
        yield ".records", "is missing: state the public number of records, which cannot be inferred from the statistics"
    if ("epsilon" in settings) == ("scales" in settings):
        yield (
            "",
            (
                "a scenario must contain epsilon (the scale of all four statistics is then sensitivity/epsilon) or "
                "scales (one scale per statistic)"
            ),
        )
    if "sensitivity" in settings and "scales" in settings:
        yield ".sensitivity", "must be omitted, because scales is given"


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return the CPU time in seconds and the memory in MB for one case of a censored-sample scenario. A case runs
    Markov chains under two priors.
    """
    return 5.0, 50.0 + 1e-4 * (settings.get("rehearsal") or {}).get("records", 0)


MEANINGS = {
    "mu": "the mean mu of the normal distribution of the records",
    "sigma2": "the variance sigma2 of the normal distribution of the records",
    "below": "records below the lower limit",
    "above": "records above the upper limit",
}


def assumptions(point: Mapping[str, Any]) -> list[str]:
    """Return the assumptions about the records and the noise, as sentences."""
    scales = ", ".join(f"{name} {scale:.4g}" for name, scale in point["scales"].items())
    noise = "Laplace noise, discretised to a public grid" if point.get("on_grid") else "Laplace noise"
    shape = point.get("prior", {}).get("shape0", 2.0)
    infinite = ["The prior and the posterior distribution of sigma2 have no finite mean, because shape0 is at most 1."]
    return [
        f"The records ({point['records']:,}) are independent draws from one normal distribution.",
        f"Four statistics were released: the mean of the records in [{point['lower']:.12g}, {point['upper']:.12g}], "
        "the sum of their squared deviations from this mean (sse), and the numbers of records below and above.",
        f"Each statistic has independent {noise}, with scale {scales}.",
        "The results depend on normality, because the censored records are known only as counts and the tails of the "
        "normal distribution replace them.",
        *(infinite if shape <= 1 else []),
    ]
