"""What a configuration of raim2021 must obey beyond its schema. Plain Python: it runs before any kernel exists."""

from collections.abc import Iterator
from typing import Any

_LIMITED = (
    *("gibbs_traces", "gibbs_posteriors", "geweke", "coverage", "coverage_asymmetric", "release_designs"),
    *("statistics_laws", "counts_in_turn", "privacy_loss"),
)
_CONFIDENTIAL = ("counts", "csv", "column", "data", "records")
_WAY_OUT = (
    "true values get no noise here: noise from a public seed can be taken off again. For a release write a section "
    "releases: (mechanism: censored_statistics) and name it under release; for made-up data write rehearsal: "
    "{n: .., mu: .., sigma2: ..}"
)
_OF_THE_RECORD = ("n", "lower", "upper", "epsilon", "sensitivity", "scales")


def work(scenario: dict[str, Any]) -> tuple[float, float]:
    """CPU seconds and MB of a scenario: two priors, every step of every chain."""
    kept = scenario.get("chains", 4) * scenario.get("draws", 2000)
    return 0.5 + 4e-5 * kept * scenario.get("thin", 5), 4e-4 * kept + 1e-4 * scenario.get("rehearsal", {}).get("n", 0)


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every broken rule."""
    for name, scenario in section.get("scenarios", {}).items():
        for key, text in _scenario(scenario):
            yield f"scenarios.{name}{key}", text
    for name in _LIMITED:
        if not section[name]["lower"] < section[name]["upper"]:
            yield f"{name}.lower", f"{section[name]['lower']} is not below upper, {section[name]['upper']}"
    for place, (lower, upper) in enumerate(section["sensitivity"]["limits"]):
        if not lower < upper:
            yield f"sensitivity.limits[{place}]", f"{lower} is not below {upper}"


def _scenario(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in _CONFIDENTIAL:
        if key in scenario:
            yield f".{key}", _WAY_OUT
    if ("release" in scenario) == ("rehearsal" in scenario):
        found = "has both" if "release" in scenario else "has neither release nor rehearsal"
        yield (
            "",
            f"{found}; give release: the name of a release, or {{mean, sse, low, high}} with n, lower, upper and "
            "epsilon; or rehearsal: {n, mu, sigma2} with lower, upper and epsilon",
        )
        return
    if isinstance(scenario.get("release"), str):
        for key in _OF_THE_RECORD:
            if key in scenario:
                yield f".{key}", "the release's record states it; leave it out"
        return
    yield from _inline(scenario) if "release" in scenario else _rehearsal(scenario)
    for key in ("lower", "upper"):
        if key not in scenario:
            yield "", f"needs {key}, a public limit"
    if "lower" in scenario and "upper" in scenario and not scenario["lower"] < scenario["upper"]:
        yield ".lower", f"{scenario['lower']} is not below upper, {scenario['upper']}"


def _inline(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "n" not in scenario:
        yield "", "a release needs n, the public number of records; the statistics cannot tell it"
    if ("epsilon" in scenario) == ("scales" in scenario):
        yield "", "give epsilon (one scale, sensitivity/epsilon, for all four) or scales (one a statistic), not both"
    if "sensitivity" in scenario and "scales" in scenario:
        yield ".sensitivity", "has no meaning beside scales; leave it out"


def _rehearsal(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "epsilon" not in scenario:
        yield "", "a rehearsal needs epsilon"
    for key in ("n", "sensitivity", "scales"):
        if key in scenario:
            yield f".{key}", "a rehearsal derives it" if key != "n" else "stands under rehearsal"
