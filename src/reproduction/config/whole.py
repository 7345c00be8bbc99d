"""A whole configuration, checked against everything that is known about it, before Snakemake or any job starts."""

from collections.abc import Mapping
from typing import Any

from ..kind import Kind, discover
from ..paper import Paper
from . import config, estimates, made_releases, plan_settings, scenario_settings, schema, user_files


def checked(
    settings: dict[str, Any], papers: Mapping[str, Paper], kinds: Mapping[str, Kind] | None = None
) -> dict[str, Any]:
    """The configuration with all defaults.

    Parameters
    ----------
    settings : as merged from its files; left as it is.
    papers : by slug.
    kinds : of scenarios, by name; those that are there unless given.

    Raises
    ------
    ConfigError
        Every mistake, one a line (`config.check`); work and memory above ``limits``.
    PaperError
        If two papers do not go together.
    """
    if found := sorted(user_files.mistakes(settings)):  # before any rule of a paper opens what is named
        raise config.ConfigError(
            f"{len(found)} confidential files where only public ones may stand; nothing was run.\n"
            + "\n".join(f"  {place}: {why}" for place, why in found)
        )
    allowed = schema.of(papers)
    judges: config.Rules = {slug: found.mistakes for slug, found in papers.items()}
    judges["releases"] = lambda section: made_releases.mistakes(section, settings.get("budgets") or {})
    judges["budgets"] = made_releases.ceilings
    known = discover() if kinds is None else kinds
    judges["plans"] = plan_settings.mistakes
    judges["scenarios"] = lambda section: scenario_settings.mistakes({**settings, "scenarios": section}, known)
    filled = config.check(settings, allowed, judges, lambda filled: estimates.excess(filled, allowed, papers, known))
    scenarios = scenario_settings.named(filled, known)
    return filled | {"scenarios": {name: dict(scenario.settings) for name, scenario in scenarios.items()}}
