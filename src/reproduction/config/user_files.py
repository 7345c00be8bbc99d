"""Files that a configuration names, wherever it names them: none of them may be confidential, but under `releases`.

A key that reads a file need not be known here: every text that is the path of a file is looked at. What comes after
asks the same of each file that it opens (`dpmultinomial._files.places`).
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpmultinomial._files import places

_OPENS = ("releases", "budgets")  # sections that name confidential files, or none
_FOLDERS = ("folder", "folders", "data", "release")  # keys whose texts may be folders
_ROOT = Path(__file__).resolve().parents[3]  # some paths start in the repository
_LONGEST = 4096


def mistakes(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every text that is the path of a confidential file or folder.

    Parameters
    ----------
    settings : a whole configuration. Paths start in the working directory, or in the repository.
    """
    for key, section in settings.items():
        if key not in _OPENS:
            yield from _below(section, key, key)


def refusal(text: str, *, folder: bool = False) -> str | None:
    """Why a text must not be used as the path of a file, or None; for any reader of a user's settings.

    Parameters
    ----------
    text : as written.
    folder : whether it may be the path of a folder.
    """
    if "\0" in text or len(text) > _LONGEST:
        return None
    for start in (Path(), _ROOT):
        path = start / text
        there = os.path.lexists(path) and (folder or not path.is_dir())
        if there and places.is_confidential(path):
            return f"{text!r} is confidential: make a release of it under `releases:`, and use that by its name"
    return None


def outside(**options: str | None) -> None:
    """Refuse to write results where confidential data lie, perhaps in their place.

    Parameters
    ----------
    options : name of an option -> the path that it has; None where it was not given.

    Raises
    ------
    ValueError
        If one leads into the folder.
    """
    for option, text in options.items():
        if text is not None and ("\0" in text or places.is_confidential(Path(text))):
            raise ValueError(f"--{option}: {text!r} is in {places.FOLDER}/, where nothing but a release writes")


def _below(value: Any, place: str, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _below(part, f"{place}.{name}", name)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _below(part, f"{place}[{number}]", key)
    elif isinstance(value, str) and (why := refusal(value, folder=key in _FOLDERS)):
        yield place, why
