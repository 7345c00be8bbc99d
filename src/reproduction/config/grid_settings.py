"""What a configuration says about grids: lists for keys of a scenario, which becomes their product. Plain Python."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from . import config

GRID = "grid"
MOST_POINTS = 200
_FILES = ("release", "released_file")  # a job's inputs; what a scenario is about stays the same
_TAKEN = "_densities"  # of results/<paper>/scenario_<name>_densities.csv
_SCALARS = ("number", "integer", "string")
SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": {"type": ["number", "string"]},
    },
    "description": (
        "key -> list of values, in place of the key's own; the scenario becomes the product of the lists, at most "
        f"{MOST_POINTS} points"
    ),
}
Rule = Callable[[dict[str, Any]], Iterable[tuple[str, str]]]


def points(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Values of the grid's keys at every point, the last key running fastest.

    Parameters
    ----------
    scenario : with `GRID`, a mapping from keys to lists.
    """
    grid = scenario[GRID]
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def at(scenario: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario at one point, as it would be written by itself."""
    return {key: value for key, value in scenario.items() if key != GRID} | dict(point)


def label(point: Mapping[str, Any]) -> str:
    """The point in words, which also name its random stream."""
    return ", ".join(f"{key}={value}" for key, value in point.items())


def mistakes(
    section: Mapping[str, Any], each: Mapping[str, Any], definitions: Mapping[str, Any], rule: Rule
) -> Iterator[tuple[str, str]]:
    """(path, message) of what a section breaks, every point of a grid judged as a scenario of its own.

    Parameters
    ----------
    section : of a paper in the configuration.
    each : schema of one scenario.
    definitions : that it refers to.
    rule : the paper's own ``mistakes(section)``.
    """
    written = section.get("scenarios") or {}
    for name in written:
        if name.endswith(_TAKEN):
            yield f"scenarios.{name}", f"{_TAKEN} is the end of another scenario's file; end the name otherwise"
    grids = {n: s for n, s in written.items() if isinstance(s, dict) and isinstance(s.get(GRID), dict)}
    plain = {name: scenario for name, scenario in written.items() if name not in grids}
    known: dict[str, tuple[str, str]] = {}
    for name, scenario in grids.items():
        wrong = list(_wrong_lists(scenario[GRID], each, definitions))
        yield from ((f"scenarios.{name}.{GRID}{key}", text) for key, text in wrong)
        for i, point in enumerate(() if wrong else points(scenario)):
            inside = f"{name}@{i}"
            plain[inside] = at(scenario, point)
            known[inside] = (name, label(point))
    said = set()
    for path, text in rule({**section, "scenarios": plain} if "scenarios" in section else dict(section)):
        inside = path.removeprefix("scenarios.").partition(".")[0]
        if inside not in known:
            yield path, text
            continue
        name, words = known[inside]
        place = path.replace(inside, name, 1)
        if (place, text) not in said:
            said.add((place, text))
            yield place, f"{text} (at {words})"


def _wrong_lists(
    grid: Mapping[str, Any], each: Mapping[str, Any], definitions: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    schema = {"type": "object", "additionalProperties": False, **each, "$defs": dict(definitions)}
    allowed = sorted(key for key, part in each["properties"].items() if _scalar(key, part, definitions))
    size = 1
    for key, values in grid.items():
        if key not in allowed:
            yield f".{key}", f"cannot be in a grid; these can: {', '.join(allowed)}"
            continue
        if not isinstance(values, list) or not values:
            return  # the schema says so
        size *= len(values)
        for value in values:
            for path, text in config.broken({key: value}, schema):
                if path.partition("[")[0] == key:
                    yield f".{key}", text
    if size > MOST_POINTS:
        yield "", f"has {size} points; at most {MOST_POINTS}"


def _scalar(key: str, part: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    """Whether a key can be one number or one text, and is no file."""
    whole = {**definitions[part["$ref"].rsplit("/", 1)[1]], **part} if "$ref" in part else part
    kinds = whole.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    kinds += [kind for option in whole.get("anyOf", ()) for kind in [option.get("type", "string")]]
    refused = str(whole.get("description", "")).startswith("refused")
    return key not in _FILES and not refused and any(kind in _SCALARS for kind in kinds)
