"""What a command line of Snakemake says about the configuration: found before Snakemake sees a byte of it."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .reading import ConfigError

_FILES, _PAIRS = "--configfiles", ("--config", "-C")
_FOLDER = re.compile(r"(-d|--dir(e(c(t(o(r(y)?)?)?)?)?)?(=|$))")
_PROFILES = ("--profile", "--workflow-profile")
_IN_PROFILE = re.compile(r"^\s*[\"']?configfiles?[\"']?\s*:", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """A command line, taken apart.

    Parameters
    ----------
    overlays : files named by ``--configfile``.
    pairs : words after ``--config``.
    rest : all other words, in order.
    """

    overlays: tuple[Path, ...]
    pairs: tuple[str, ...]
    rest: tuple[str, ...]

    def with_one(self, file: Path | None) -> list[str]:
        """The words for Snakemake, with `file` in place of all that was said about the configuration."""
        if file is None:
            return list(self.rest)
        at = self.rest.index("--") if "--" in self.rest else len(self.rest)
        return [*self.rest[:at], f"--configfile={file}", *self.rest[at:]]


def taken_apart(words: Sequence[str]) -> Asked:
    """Overlays, single settings, and the rest.

    Raises
    ------
    ConfigError
        For ``--directory``, for a target after ``--configfile``, and for a profile that names configuration files.
    """
    overlays: list[Path] = []
    pairs: list[str] = []
    rest: list[str] = []
    into: list[Path] | list[str] | None = None
    for at, word in enumerate(words):
        if word == "--":
            rest += words[at:]
            break
        option, sign, value = word.partition("=")
        if word.startswith("-") and not _number(word):
            into = None
            if len(option) > len("--config") and _FILES.startswith(option):
                into = overlays
            elif option in _PAIRS:
                into = pairs
            elif word.startswith("-C"):
                pairs.append(word[2:])
                continue
            elif _FOLDER.match(word):
                raise ConfigError(f"{word}: is not taken here; go to that folder and start it there")
            if into is None:
                rest.append(word)
            elif sign:
                _put(into, value, overlays)
        elif into is None:
            rest.append(word)
        else:
            _put(into, word, overlays)
    _refuse_hidden(words)
    for path in overlays:
        if not path.suffix and not path.exists():
            raise ConfigError(f"{path}: is no configuration file; where it is a target, write it before --configfile")
    return Asked(tuple(overlays), tuple(pairs), tuple(rest))


def _put(into: list, value: str, overlays: list[Path]) -> None:
    into.append(Path(value) if into is overlays else value)


def _number(word: str) -> bool:
    return re.fullmatch(r"-\d+(\.\d*)?", word) is not None


def _refuse_hidden(words: Sequence[str]) -> None:
    """A profile's own ``configfile:`` would be passed over in silence, since one file stands for all."""
    named = [os.environ.get("SNAKEMAKE_PROFILE", ""), "default"]
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, sign, value = word.partition("=")
        if option in _PROFILES:
            named.append(value if sign else following)
    homes = (
        Path(),
        Path("profiles"),
        Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "snakemake",
    )
    places = {home / name for name in named if name for home in homes} - {Path("default")}
    for place in sorted(places):
        files = [place] if place.is_file() else sorted(place.glob("*.yaml")) if place.is_dir() else []
        for file in files:
            if _IN_PROFILE.search(file.read_text(encoding="utf-8", errors="replace")):
                raise ConfigError(f"{file}: a profile must not name configuration files; write --configfile FILE")
