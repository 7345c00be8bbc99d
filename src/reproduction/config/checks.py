"""Check a whole configuration against the schemas of all papers and scenarios, before Snakemake or any job starts.

`schema_of` combines the schemas of all papers. `excess` rejects work and memory above the stated limits. The cost of
every section of settings was measured at its default values. In a schema, ``time: p`` at a setting means that the work
is proportional to its p-th power, and ``memory: p`` means the same for the memory (1 if only ``time`` is given). The
work for a list is the sum over its entries. An estimate is the measured cost times the growth factor of every setting
that is above its default. The estimate is rough, but never far below the true cost. A scenario has no default; its
estimate is in the ``rules.py`` of its kind.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from math import inf
from typing import Any

from ..kind import Kind, discover
from ..paper import SHARED, Paper, PaperError
from . import config, plan_settings, scenario_settings, user_files

_COSTS = ("seconds", "megabytes")  # cost of a section at its defaults (`excess`)
_NAME = {"pattern": "^[a-z][a-z0-9_]*$"}


def schema_of(papers: Mapping[str, Paper]) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of config.yaml, in which no additional keys are allowed.

    Raises
    ------
    PaperError
        If two papers define the same name differently, or a section belongs to no artefact.
    """
    shared = config.read(SHARED)
    definitions = dict(shared["definitions"])
    properties = dict(shared["properties"])
    defined_in = dict.fromkeys(definitions, SHARED.name)
    slugs = list(papers)
    properties["run"] = {
        **{"type": "array", "uniqueItems": True, "items": {"type": "string", "enum": slugs}},
        **{"default": slugs, "description": "papers that a plain `snakemake` reproduces"},
    }
    for slug, paper in papers.items():
        for name, part in paper.settings.get("definitions", {}).items():
            if definitions.setdefault(name, part) != part:
                raise PaperError(
                    f"papers/{slug}/settings.yaml: definitions.{name} is already defined in {defined_in[name]}: rename "
                    "this definition"
                )
            defined_in.setdefault(name, f"papers/{slug}/settings.yaml")
        properties[slug] = _closed_section(paper, definitions)
    properties["scenarios"] = _named("name -> scenario: docs/how-to/scenario.md; its keys by kind: docs/kinds.md")
    properties["plans"] = _named("name -> planned release and the question it must answer: docs/how-to/plan.md")
    properties["releases"] = _named("name -> a release of confidential data; its keys: docs/how-to/release.md")
    properties["budgets"] = _named("source -> privacy budget of all its releases together, e.g. {epsilon: 4.0}")
    return _closed("Configuration of dpmultinomial", properties) | {"$defs": definitions}


def _closed_section(paper: Paper, definitions: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, part in (paper.settings.get("sections") or {}).items():
        plain = "$ref" in part or "type" in part
        costs = {key: part[key] for key in _COSTS if key in part}
        keys = {key: _with_default(rule, definitions) for key, rule in part.get("properties", {}).items()}
        closed = _closed(part.get("description", ""), keys) | costs
        properties[name] = part if plain else closed
    for artefact in paper.artefacts:
        if artefact.table:
            properties.setdefault(artefact.table.settings, _closed("must contain at least one setting", {}))
    return _closed(f"{paper.title} ({paper.year})", properties)


def _with_default(rule: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a setting, with the default of the referenced definition if the schema itself has no
    default.
    """
    known = definitions.get(rule.get("$ref", "").rpartition("/")[2], {})
    return {"default": deepcopy(known["default"])} | rule if "default" in known else rule


def _named(description: str) -> dict[str, Any]:
    """Return the schema of a section in which the user chooses the names of the entries, and whose entries are checked
    elsewhere.
    """
    entries = {"type": "object", "default": {}, "additionalProperties": {"type": "object"}}
    return entries | {"description": description, "propertyNames": _NAME}


def _closed(description: str, properties: dict[str, Any]) -> dict[str, Any]:
    closed = {"type": "object", "additionalProperties": False, "default": {}}
    return closed | {"description": description, "properties": properties}


SECONDS, MEGABYTES = 5.0, 2.0  # cost of a section at its defaults if it does not state a cost; most sections cost less
PROGRAM = 200.0  # MB of memory of a process before any work
WAY_OUT = "reduce this setting, or increase limits.{key} if the machine is large enough"


def excess(
    config: Mapping[str, Any], schema: Mapping[str, Any], papers: Mapping[str, Paper], kinds: Mapping[str, Kind]
) -> Iterator[tuple[str, str]]:
    """Yield (path, message) for every section and scenario whose cost would exceed the ``limits`` of `config`.

    Parameters
    ----------
    config : configuration that was checked against `schema`, with its defaults.
    schema : schema of the whole configuration.
    papers : papers by slug.
    kinds : kinds of scenarios, by name.
    """
    for name, scenario in scenario_settings.named(config, kinds).items():
        seconds, megabytes = scenario_work(scenario, config["shards"])
        yield from _judged(f"scenarios.{name}", seconds, PROGRAM + megabytes, config["limits"], "")
    definitions = schema["$defs"]
    for slug in papers:
        for name, part in schema["properties"][slug]["properties"].items():
            yield from _section(f"{slug}.{name}", config[slug][name], part, definitions, config)


def scenario_work(scenario: scenario_settings.Scenario, shards: int | str) -> tuple[float, float]:
    """Return the CPU time in seconds and the memory in MB of the longest job of a scenario. The points of a grid are
    computed sequentially within a job.

    The tables of a batch are analysed sequentially. The number of tables is not checked.
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
    causes = [f"{key}: {str(settings[key])[:60]}" for key in grown if grown[key] != (1.0, 1.0)]
    shown = f", with {', '.join(causes)}" if causes else ""
    place = f"{path}.{most}" if most and causes else path
    spread = ", or split the loop into more shards" if loop else ""
    yield from _judged(place, seconds / shards, PROGRAM + megabytes, config["limits"], shown, spread)


def growth(
    settings: Any, part: Mapping[str, Any], definitions: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield each setting that affects the cost, with the factors by which the setting multiplies the computing time and
    the memory. The format is (setting, (factor of the time, factor of the memory)). Each factor is at least 1.
    """
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
    path: str, seconds: float, megabytes: float, limits: Mapping[str, float], where: str, spread: str = ""
) -> Iterator[tuple[str, str]]:
    for key, needed, unit in (("hours", seconds / 3600, "hours"), ("memory_gb", megabytes / 1000, "GB of memory")):
        if needed > limits[key]:
            way = WAY_OUT.format(key=key)
            way += spread if key == "hours" else ""
            yield (
                path,
                f"would take about {needed:.3g} {unit} in one job{where}, but the limit is {limits[key]:g}: {way}",
            )


def checked(
    settings: dict[str, Any], papers: Mapping[str, Paper], kinds: Mapping[str, Kind] | None = None
) -> dict[str, Any]:
    """Check a configuration, and return a copy in which all missing keys have their default values.

    Parameters
    ----------
    settings : settings as merged from their files; not changed.
    papers : papers by slug.
    kinds : kinds of scenarios, by name; by default all existing kinds.

    Raises
    ------
    ConfigError
        For all mistakes, one per line (`config.check`), and if work or memory exceeds ``limits``.
    PaperError
        If the declarations of two papers conflict.
    """
    if errors := sorted(user_files.mistakes(settings)):  # this check runs before a rule of any paper opens a named file
        noun = "mistake" if len(errors) == 1 else "mistakes"
        raise config.ConfigError(
            f"{len(errors)} {noun} in the configuration; nothing was run.\n"
            + "\n".join(f"  {place}: {why}" for place, why in errors)
        )
    allowed = schema_of(papers)
    judges: config.Rules = {slug: described.mistakes for slug, described in papers.items()}
    judges["releases"] = lambda section: user_files.release_mistakes(section, settings.get("budgets") or {})
    judges["budgets"] = user_files.ceilings
    known = discover() if kinds is None else kinds
    judges["plans"] = lambda section: plan_settings.mistakes(section, settings.get("releases") or {})
    judges["scenarios"] = lambda section: scenario_settings.mistakes({**settings, "scenarios": section}, known)
    filled = config.check(settings, allowed, judges, lambda filled: excess(filled, allowed, papers, known))
    scenarios = scenario_settings.named(filled, known)
    return filled | {"scenarios": {name: dict(scenario.settings) for name, scenario in scenarios.items()}}
