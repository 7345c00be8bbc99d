"""A whole configuration, checked against everything that is known about it, before Snakemake or any job starts."""

from collections.abc import Mapping
from typing import Any

from ..paper import Paper
from . import config, estimates, made_releases, schema, user_files


def checked(settings: dict[str, Any], papers: Mapping[str, Paper]) -> dict[str, Any]:
    """The configuration with all defaults.

    Parameters
    ----------
    settings : as merged from its files; left as it is.
    papers : by slug.

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
    return config.check(settings, allowed, judges, lambda filled: estimates.excess(filled, allowed, papers))
