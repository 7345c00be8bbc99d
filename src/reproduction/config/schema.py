"""The whole configuration's schema, put together from what every paper declares."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ..paper import SHARED, Paper, PaperError
from . import config

_COSTS = ("seconds", "megabytes")  # of a section at its defaults (`estimates`)
_NAME = {"pattern": "^[a-z][a-z0-9_]*$"}


def of(papers: Mapping[str, Paper]) -> dict[str, Any]:
    """Closed JSON Schema (draft 2020-12) of config.yaml.

    Raises
    ------
    PaperError
        If two papers define the same name differently, or a section belongs to no artefact.
    """
    shared = config.read(SHARED)
    definitions = dict(shared["definitions"])
    properties = dict(shared["properties"])
    slugs = list(papers)
    properties["run"] = {
        **{"type": "array", "uniqueItems": True, "items": {"type": "string", "enum": slugs}},
        **{"default": slugs, "description": "papers that a plain `snakemake` makes"},
    }
    for slug, paper in papers.items():
        for name, part in paper.settings.get("definitions", {}).items():
            if definitions.setdefault(name, part) != part:
                raise PaperError(f"papers/{slug}/settings.yaml: definitions.{name}: is defined elsewhere; rename it")
        properties[slug] = _section(paper, definitions)
    properties["scenarios"] = _named(
        "name -> a case of your own: docs/how-to/scenario.md, its keys by kind: docs/kinds.md"
    )
    properties["plans"] = _named("name -> a release that is planned, and what it shall tell: docs/how-to/plan.md")
    properties["releases"] = _named("name -> a release of confidential data; its keys: docs/how-to/release.md")
    properties["budgets"] = _named("source -> ceiling of what its releases may cost together, e.g. {epsilon: 4.0}")
    return _closed("Configuration of dpmultinomial", properties) | {"$defs": definitions}


def _section(paper: Paper, definitions: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, part in (paper.settings.get("sections") or {}).items():
        plain = "$ref" in part or "type" in part
        costs = {key: part[key] for key in _COSTS if key in part}
        keys = {key: _with_default(rule, definitions) for key, rule in part.get("properties", {}).items()}
        closed = _closed(part.get("description", ""), keys) | costs
        properties[name] = part if plain else closed
    for artefact in paper.artefacts:
        if artefact.table:
            properties.setdefault(artefact.table.settings, _closed("takes no settings of its own", {}))
    return _closed(f"{paper.title} ({paper.year})", properties)


def _with_default(rule: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A setting with the default of what it refers to, where it has none of its own."""
    known = definitions.get(rule.get("$ref", "").rpartition("/")[2], {})
    return {"default": deepcopy(known["default"])} | rule if "default" in known else rule


def _named(description: str) -> dict[str, Any]:
    """A section whose entries are named by the user and judged elsewhere."""
    entries = {"type": "object", "default": {}, "additionalProperties": {"type": "object"}}
    return entries | {"description": description, "propertyNames": _NAME}


def _closed(description: str, properties: dict[str, Any]) -> dict[str, Any]:
    closed = {"type": "object", "additionalProperties": False, "default": {}}
    return closed | {"description": description, "properties": properties}
