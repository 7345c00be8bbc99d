"""Check the files that are named in a configuration. Confidential files are allowed only under `releases`.

Every string that is the path of a file is checked, under any key. Later code checks each file again before opening
it (`dpmultinomial._files.places`). The section ``releases`` names confidential files. Their existence is checked, but
they are never opened (`release_mistakes`).
"""

import os
from collections.abc import Callable, Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from typing import Any

from dpmultinomial._files import places
from dpmultinomial._releases import checks

_OPENS = ("releases", "budgets")  # sections that name confidential files, or no files
_FOLDERS = ("folder", "folders", "data", "release")  # keys whose values may be folders
_ROOT = Path(__file__).resolve().parents[3]  # some paths are relative to the repository
_LONGEST = 4096


def mistakes(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (path, message) for every string that is the path of a confidential file or folder.

    Parameters
    ----------
    settings : a whole configuration. Paths are relative to the working directory or the repository.
    """
    known = places.inodes()  # listed once for all strings; each file is checked again before it is opened
    reason = cache(lambda text, folder: refusal(text, folder=folder, known=known))
    for key, section in settings.items():
        if key not in _OPENS:
            yield from _below(section, key, key, reason)


def refusal(text: str, *, folder: bool = False, known: Set[places.Inode] | None = None) -> str | None:
    """Return the reason why a string must not be used as the path of a file, or None if the string may be used. The
    function is for every reader of a user's settings.

    Parameters
    ----------
    text : path as written.
    folder : whether the string may be the path of a folder.
    known : confidential files, for the check of many strings (`places.inodes`).
    """
    if "\0" in text or len(text) > _LONGEST:
        return None
    for start in (Path(), _ROOT):
        path = start / text
        exists = os.path.lexists(path) and (folder or not path.is_dir())
        if exists and places.is_confidential(path, known):
            return (
                f"{text!r} is confidential: define a release of this file under `releases:` and use the name of the "
                "release"
            )
    return None


def outside(**options: str | None) -> None:
    """Raise an error if results would be written into the folder of confidential data.

    Parameters
    ----------
    options : mapping from the name of an option to its path, or to None.

    Raises
    ------
    ValueError
        If a path is in this folder.
    """
    for option, text in options.items():
        if text is not None and ("\0" in text or places.is_confidential(Path(text))):
            raise ValueError(
                f"--{option}: {text!r} must not be in {places.FOLDER}/, because only the release command may "
                "write to this folder: choose another folder"
            )


def _below(value: Any, place: str, key: str, reason: Callable[[str, bool], str | None]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _below(part, f"{place}.{name}", name, reason)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _below(part, f"{place}[{number}]", key, reason)
    elif isinstance(value, str) and (why := reason(value, key in _FOLDERS)):
        yield place, why


RECORD = "record.json"


def release_folder(name: str, settings: Mapping[str, Any]) -> Path:
    """Return the path of the folder of a release with the configured generation number, relative to the working
    directory.
    """
    return Path("releases", name, str(settings.get("generation", 1)))


def release_mistakes(
    section: Mapping[str, Mapping[str, Any]], budgets: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, str]]:
    """Yield (path, message) for every mistake in the releases of a configuration. The confidential file of a published
    release may be missing.
    """
    folder = Path.cwd()
    for name, settings in section.items():
        data = str(settings.get("data")).replace("\0", "")
        gone = (release_folder(name, settings) / RECORD).is_file() and not Path(data).exists()
        for place, text in checks.problems(name, settings, budgets=budgets, root=folder):
            section_of, *path = Path(place).parts
            if section_of == "releases" and not (gone and path[-1] == "data"):
                yield ".".join(path), text


def planned_mistakes(
    name: str, settings: Mapping[str, Any], budgets: Mapping[str, Mapping[str, float]]
) -> list[tuple[str, str]]:
    """Return a pair (path, message) for every mistake in the settings of a planned release or in the budgets. The
    confidential file may be missing, and the cost may exceed the budget.
    """
    faults = checks.problems(name, settings, budgets=budgets, root=Path.cwd(), left=False)
    return [(".".join(Path(place).parts), text) for place, text in faults if not place.endswith("/data")]


def ceilings(budgets: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, str]]:
    """Yield a pair (path, message) for every mistake in the section ``budgets``."""
    for place, text in checks.ceilings(budgets):
        yield ".".join(Path(place).parts[1:]), text
