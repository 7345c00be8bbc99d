"""Sections of earlier versions, refused with the words that say the same now (``old_sections.yaml``)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import config

_WORDS = Path(__file__).with_suffix(".yaml")
_GUIDE = "docs/how-to/scenario.md"
_BATCH = "data is file now, with the columns table, name, value, and a batch is a scenario"


def mistakes(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every section that a paper no longer takes.

    Parameters
    ----------
    settings : a whole configuration, as written.
    """
    for slug, words in config.read(_WORDS).items():
        section = settings.get(slug)
        for key in ("scenarios", "batches"):
            if not isinstance(section, dict) or key not in section:
                continue
            names = [str(name) for name in section[key]] if isinstance(section[key], dict) else []
            name = names[0] if names else "mine"
            about = _BATCH if key == "batches" else f"{words['keys']}; of a release it is {name}: {{release: ..}} alone"
            new = f"scenarios: {{{name}: {{kind: {words['kind']}, ..}}}}"
            yield f"{slug}.{key}", f"is written at the top level now, {new}; {about}; {_GUIDE}"
