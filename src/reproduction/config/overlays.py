"""Merge several configuration files into one configuration. Mappings are merged key by key, and all other values are
replaced.

`python -m reproduction.run` merges the files before Snakemake starts, and passes a single file, named after its
content. If ``snakemake`` is called directly, it has already read its overlays. The overlays are then read a second time
in this module, and only the second reading is used.

`taken_apart` extracts the configuration options from Snakemake's command line before Snakemake reads any file.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from dpmultinomial._files import places

from . import reading
from .reading import ConfigError

BASE = Path("config.yaml")
WRITTEN = Path(".snakemake/configuration")  # folder of the merged file


def merged(paths: Iterable[Path], further: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the merged contents of configuration files, in which later files override earlier files.

    Parameters
    ----------
    paths : configuration files.
    further : single settings, which override all files.

    Raises
    ------
    ConfigError
        As in `reading.read`, or if a key is a mapping in one file and not in another.
    """
    settings: dict[str, Any] = {}
    for path in paths:
        _merge(settings, reading.read(path), str(path), "")
    _merge(settings, dict(further or {}), "--config", "")
    return settings


def pairs(words: Iterable[str]) -> dict[str, Any]:
    """Return the settings written as ``name=value`` on the command line. Each value is parsed as in a configuration
    file.

    Raises
    ------
    ConfigError
        If an argument has no name, or its value cannot be read.
    """
    settings: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name.isidentifier() or name.startswith("__"):
            raise reading.ConfigError(f"--config must have the form name=value, got {word[:80]!r}")
        try:
            settings[name] = reading.parse(value, form="yaml")
        except reading.ConfigError as error:
            raise reading.ConfigError(f"--config {name}: {error}") from None
    return settings


def write(settings: Mapping[str, Any], folder: Path) -> Path:
    """Write a merged configuration as JSON below `folder`, in a file whose name is a digest of its content. Raise
    OSError on failure.
    """
    text = json.dumps(settings, indent=1)
    path = folder / WRITTEN / f"{_digest(text)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = places.draft(path)
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
    return path


def in_use(overlays: Iterable[Path], further: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the configuration of a workflow that was started in `folder`.

    Parameters
    ----------
    overlays : files named on the command line: the merged file that `write` wrote, or the user's files.
    further : single settings from the command line.
    folder : working directory, with its config.yaml.

    Raises
    ------
    ConfigError
        As in `merged`, and if there is neither a config.yaml nor an overlay.
    """
    given, base = [Path(path) for path in overlays], folder / BASE
    if len(given) == 1 and _written(given[0], folder):
        return merged(given, further)
    if not base.exists() and not given:
        raise reading.ConfigError(
            f"{BASE} was not found in {folder}: change to the folder that contains {BASE}, or pass another file with "
            "--configfile"
        )
    return merged([*([base] if base.exists() else []), *given], further)


def _written(path: Path, folder: Path) -> bool:
    """Return whether a file was written by `write` and has not been changed since then."""
    if path.resolve().parent != (folder / WRITTEN).resolve() or not path.is_file():
        return False
    return path.stem == _digest(path.read_text(encoding="utf-8", errors="replace"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _merge(into: dict[str, Any], new: dict[str, Any], file: str, place: str) -> None:
    for key, value in new.items():
        key_path = f"{place}.{key}".lstrip(".")
        old = into.get(key)
        if key in into and isinstance(old, dict) != isinstance(value, dict):
            known, given = ("keys and values" if isinstance(v, dict) else repr(v) for v in (old, value))
            raise reading.ConfigError(
                f"{file}: {key_path} contains {given[:80]}, but contains {known[:80]} in another configuration file: "
                "use the same type in both files"
            )
        if isinstance(old, dict):
            _merge(old, value, file, key_path)
        else:
            into[key] = value


_FILES, _PAIRS = "--configfiles", ("--config", "-C")
_FOLDER = re.compile(r"(-d|--dir(e(c(t(o(r(y)?)?)?)?)?)?(=|$))")
_PROFILES = ("--profile", "--workflow-profile")
_TEMPLATE = "__use_yte__"
_IN_PROFILE = re.compile(r"^\s*[\"']?configfiles?[\"']?\s*:", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """Command line arguments of Snakemake in parsed form.

    Parameters
    ----------
    overlays : files named by ``--configfile``.
    pairs : arguments after ``--config``.
    rest : all other arguments, in order.
    """

    overlays: tuple[Path, ...]
    pairs: tuple[str, ...]
    rest: tuple[str, ...]

    def with_one(self, file: Path | None) -> list[str]:
        """Return the command line arguments for Snakemake. The option ``--configfile`` for `file` replaces all
        configuration options of the user.
        """
        if file is None:
            return list(self.rest)
        position = self.rest.index("--") if "--" in self.rest else len(self.rest)
        return [*self.rest[:position], f"--configfile={file}", *self.rest[position:]]


def taken_apart(words: Sequence[str]) -> Asked:
    """Split the command line arguments into overlays, single settings and all other arguments.

    Raises
    ------
    ConfigError
        For ``--directory``, for a target after ``--configfile``, and for a profile that names configuration files.
    """
    overlays: list[Path] = []
    pairs: list[str] = []
    rest: list[str] = []
    into: list[Path] | list[str] | None = None
    for position, word in enumerate(words):
        if word == "--":
            rest += words[position:]
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
                raise ConfigError(
                    f"the option {word} is not supported: change to the project folder with cd, and run the "
                    "command without this option"
                )
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
            raise ConfigError(
                f"{path} is not a configuration file. If {path} is a target, write the target before --configfile"
            )
    return Asked(tuple(overlays), tuple(pairs), tuple(rest))


def _put(into: list, value: str, overlays: list[Path]) -> None:
    into.append(Path(value) if into is overlays else value)


def _number(word: str) -> bool:
    return re.fullmatch(r"-\d+(\.\d*)?", word) is not None


def _refuse_hidden(words: Sequence[str]) -> None:
    """Reject a Snakemake profile with templates, which Snakemake would execute, or with a ``configfile:`` key, which
    would be ignored because Snakemake receives one merged file.
    """
    named = [os.environ.get("SNAKEMAKE_PROFILE", "")]
    for word, following in pairwise([*words, ""]):
        option, sign, value = word.partition("=")
        if len(option) > len("--p") and any(full.startswith(option) for full in _PROFILES):
            named.append(value if sign else following)
    homes = (
        Path(),
        Path("profiles"),
        Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "snakemake",
    )
    places = {home / name for name in named if name for home in homes}
    for place in sorted(places):
        files = [place] if place.is_file() else sorted(place.glob("*.yaml")) if place.is_dir() else []
        for file in files:
            text = file.read_text(encoding="utf-8", errors="replace")
            if _has_template(text):
                raise ConfigError(
                    f"{file}: a profile must be plain YAML without templates, because Snakemake executes templates: "
                    f"remove the key {_TEMPLATE}"
                )
            if _IN_PROFILE.search(text):
                raise ConfigError(
                    f"{file}: a profile must not contain the key configfile: pass --configfile FILE instead"
                )


def _has_template(text: str) -> bool:
    """Return whether Snakemake would execute templates in a profile. Text that is not plain YAML counts as such."""
    try:
        parsed = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return True
    return isinstance(parsed, dict) and _TEMPLATE in parsed
