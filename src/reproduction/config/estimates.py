"""Work and memory of what a configuration asks for, estimated before any job, and refused above stated limits.

Every section of settings was measured at its defaults. In a schema ``time: p`` at a setting says that work grows like
its p-th power, ``memory: p`` the same of memory (1 where only ``time`` is given); a list counts as long as the sum over
its entries. An estimate is the measured cost times the growth of every setting that is above its default: rough, never
below what it takes by much. What has no default, a scenario, its kind estimates in ``rules.py``.
"""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from ..kind import Kind
from ..paper import Paper
from . import scenario_settings

SECONDS, MEGABYTES = 5.0, 2.0  # of a section at its defaults, where it states nothing else: most take less
PROGRAM = 200.0  # MB before the first number
WAY_OUT = "make it smaller, or raise limits.{key} if the machine can do it"


def excess(
    config: Mapping[str, Any], schema: Mapping[str, Any], papers: Mapping[str, Paper], kinds: Mapping[str, Kind]
) -> Iterator[tuple[str, str]]:
    """(path, message) of every section and scenario that would take more than ``limits`` of `config` allow.

    Parameters
    ----------
    config : checked against `schema`, with its defaults.
    schema : of the whole configuration.
    papers : by slug.
    kinds : of scenarios, by name.
    """
    for name, scenario in scenario_settings.named(config, kinds).items():
        seconds, megabytes = scenario_work(scenario, config["shards"])
        yield from _judged(f"scenarios.{name}", seconds, PROGRAM + megabytes, config["limits"], "")
    definitions = schema["$defs"]
    for slug in papers:
        for name, part in schema["properties"][slug]["properties"].items():
            yield from _section(f"{slug}.{name}", config[slug][name], part, definitions, config)


def scenario_work(scenario: scenario_settings.Scenario, shards: int | str) -> tuple[float, float]:
    """CPU seconds and MB of the longest job of a scenario: the points of a grid follow each other in one.

    A batch answers its tables one after the other; how many there are is not looked up.
    """
    if scenario.form == "batch":
        return 0.0, 0.0
    each = [scenario.kind.rule("work")(scenario.at(point)) for point in scenario.points]
    blocks = min(shards, len(each)) if isinstance(shards, int) else 1
    return sum(seconds for seconds, _ in each) / blocks, max(megabytes for _, megabytes in each)


def _section(
    path: str, settings: Any, part: Mapping[str, Any], definitions: Mapping[str, Any], config: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    grown = dict(growth(settings, part, definitions))
    seconds, megabytes = part.get("seconds", SECONDS), part.get("megabytes", MEGABYTES)
    for time, memory in grown.values():
        seconds, megabytes = _times(seconds, time), _times(megabytes, memory)
    loop, stated = "replications" in grown, config["shards"]
    shards = stated if loop and isinstance(stated, int) else 1
    most = max(grown, key=lambda key: grown[key][0], default="")
    found = [f"{key}: {str(settings[key])[:60]}" for key in grown if grown[key] != (1.0, 1.0)]
    said = f", with {', '.join(found)}" if found else ""
    place = f"{path}.{most}" if most and found else path
    spread = ", or spread it over more shards" if loop else ""
    yield from _judged(place, seconds / shards, PROGRAM + megabytes, config["limits"], said, spread)


def growth(
    settings: Any, part: Mapping[str, Any], definitions: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[float, float]]]:
    """(key, (factor of work, factor of memory)) of every setting of a section that costs work; at least 1."""
    for key, stated in part.get("properties", {}).items():
        rule = definitions[stated["$ref"].rsplit("/", 1)[1]] | stated if "$ref" in stated else stated
        if "default" in rule and ("time" in rule or isinstance(rule["default"], (list, dict))):
            time = rule.get("time", 0)
            work, memory = (
                max(1.0, _ratio(settings[key], rule["default"], power))
                for power in (time, rule.get("memory", min(time, 1)))
            )
            yield key, (work, memory)


def _ratio(value: Any, default: Any, power: float) -> float:
    least = _size(default, power)
    return _size(value, power) / least if least else 1 + _size(value, power)


def _size(value: Any, power: float) -> float:
    if isinstance(value, (list, dict)):
        return sum((_size(v, power) for v in (value.values() if isinstance(value, dict) else value)), 0.0)
    if not power or isinstance(value, (str, bool)):
        return 1.0
    try:
        return float(value) ** power
    except (OverflowError, ZeroDivisionError):
        return inf if value or power < 0 else 0.0


def _times(a: float, b: float) -> float:
    return min(a * b, 1e300)


def _judged(
    path: str, seconds: float, megabytes: float, limits: Mapping[str, float], said: str, spread: str = ""
) -> Iterator[tuple[str, str]]:
    for key, needed, unit in (("hours", seconds / 3600, "hours"), ("memory_gb", megabytes / 1000, "GB of memory")):
        if needed > limits[key]:
            way = WAY_OUT.format(key=key)
            way += spread if key == "hours" else ""
            yield path, f"would take about {needed:.3g} {unit} in one job{said}; the limit is {limits[key]:g}: {way}"
