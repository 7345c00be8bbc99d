"""A scenario as text for a job, and back."""

from typing import Any

from .. import kind
from ..config.scenario_settings import Scenario


def text(scenario: Scenario) -> dict[str, Any]:
    """JSON-able; `restored` makes the scenario of it."""
    return {
        "name": scenario.name,
        "kind": scenario.kind.name,
        "settings": dict(scenario.settings),
        "form": scenario.form,
        "release": scenario.release,
    }


def restored(found: dict[str, Any]) -> Scenario:
    """The scenario that `text` made a text of."""
    return Scenario(**{**found, "kind": kind.discover()[found["kind"]]})
