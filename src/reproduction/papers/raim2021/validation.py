"""What a configuration of raim2021 must obey beyond its schema. Plain Python: it runs before any kernel exists."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

RELEASE = ("mean", "sse", "low", "high")
_LIMITED = ("gibbs_traces", "gibbs_posteriors", "geweke", "coverage", "release_designs")


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
    if not scenario["lower"] < scenario["upper"]:
        yield ".lower", f"{scenario['lower']} is not below upper, {scenario['upper']}"
    if ("release" in scenario) == ("csv" in scenario):
        found = "has both" if "csv" in scenario else "has neither release nor csv"
        yield "", f"{found}; give release (four noisy numbers) and n, or csv (your file) and column"
        return
    if "release" in scenario and "n" not in scenario:
        yield "", "a release needs n, the public number of records; the statistics cannot tell it"
    if "csv" in scenario:
        if "column" not in scenario:
            yield "", "csv needs column, the name of the column with the records"
        if "n" in scenario:
            yield ".n", "is counted from the file; leave it out"
        if not Path(scenario["csv"]).is_file():
            yield ".csv", f"no file {scenario['csv']!r} (paths are relative to the directory of the run)"
