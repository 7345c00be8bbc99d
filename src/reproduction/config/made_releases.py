"""What the workflow asks about `releases:` in the configuration; a confidential file is looked for, never opened."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpmultinomial._releases import checks

RECORD = "record.json"


def folder(name: str, settings: Mapping[str, Any]) -> Path:
    """Where the generation lies that the configuration asks for, below the working directory."""
    return Path("releases", name, str(settings.get("generation", 1)))


def mistakes(
    section: Mapping[str, Mapping[str, Any]], budgets: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, str]]:
    """(path, message) of every mistake; where a release was published elsewhere its confidential file may be away."""
    here = Path.cwd()
    for name, settings in section.items():
        data = str(settings.get("data")).replace("\0", "")
        gone = (folder(name, settings) / RECORD).is_file() and not Path(data).exists()
        for place, text in checks.problems(name, settings, budgets=budgets, root=here):
            section_of, *path = Path(place).parts
            if section_of == "releases" and not (gone and path[-1] == "data"):
                yield ".".join(path), text


def ceilings(budgets: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, str]]:
    """(path, message) of every mistake of the section ``budgets``."""
    for place, text in checks.ceilings(budgets):
        yield ".".join(Path(place).parts[1:]), text
