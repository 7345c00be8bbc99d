"""Several configuration files as one: Snakemake merges mappings key by key and replaces everything else."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import config


def merged(paths: Iterable[Path]) -> dict[str, Any]:
    """What Snakemake makes of configuration files, the later over the earlier.

    Raises
    ------
    ConfigError
        If a file cannot be read (`config.read`), or one has keys and values where another has none: Snakemake would
        drop the one silently, or stop in the middle.
    """
    found: dict[str, Any] = {}
    for path in paths:
        _merge(found, config.read(path), str(path), "")
    return found


def _merge(into: dict[str, Any], new: dict[str, Any], file: str, place: str) -> None:
    for key, value in new.items():
        here = f"{place}.{key}".lstrip(".")
        old = into.get(key)
        if key in into and isinstance(old, dict) != isinstance(value, dict):
            known, given = ("keys and values" if isinstance(v, dict) else repr(v) for v in (old, value))
            raise config.ConfigError(
                f"{file}: {here}: has {given[:80]} where another file has {known[:80]}; write the same kind in both"
            )
        if isinstance(old, dict):
            _merge(old, value, file, here)
        else:
            into[key] = value
