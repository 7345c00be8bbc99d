"""A release that was made elsewhere: its public files are here, its confidential file is not."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._files.published import DATA, RECORD, open_release
from . import checks
from ._books import FOLDER
from ._keys import COUNTS
from ._refused import Refused

# key of the settings -> where the record says the same
_SAME = {
    **{key: (key,) for key in ("rate", "lower", "upper", "column", "algorithm", "target", "network", "order", "floor")},
    **{"swap": ("swapped",), "match": ("matched",), "sensitivity": ("sensitivity",)},
}
_TREE = {"levels": ("levels",), "shares": ("shares",), "narrow": ("narrow",), "relation": ("neighbours",)}
_SPENT = {"epsilon": ("cost", "epsilon"), "rho": ("cost", "rho")}


def elsewhere(name: str, settings: Mapping[str, Any], root: Path) -> Path | None:
    """The folder of a published release whose confidential file is not on this machine: only its files can be used.

    Parameters
    ----------
    name, settings, root : as in `room.make`.

    Returns
    -------
    Path, or None where the confidential file is here or nothing was published.

    Raises
    ------
    ValueError
        If the public files are not those of their record and ledger, or the record is of other settings.
    """
    data, generation = settings.get("data"), settings.get("generation", 1)
    good = isinstance(data, str) and "\0" not in data and isinstance(name, str) and checks.NAME.fullmatch(name)
    if not good or (root / str(data)).exists():
        return None
    folder = root / FOLDER / name / str(generation)
    if not (folder / RECORD).is_file() or not (folder / DATA).is_file():
        return None
    if found := [m for m in checks.problems(name, settings, budgets={}, root=root) if not m[0].endswith("/data")]:
        raise Refused("\n".join(f"{path}: {why}" for path, why in found))
    record = open_release(folder).record
    for key, stated, asked in _both(checks.filled(settings), record, name):
        if not _equal(stated, asked, key):
            raise Refused(
                f"releases/{name}: {key} is {asked!r}, the release that was made has {stated!r}, and {data} is not "
                f"here; write what was made, or put the file back to release again"
            )
    return folder


def _both(get: Mapping[str, Any], record: Mapping[str, Any], name: str) -> list[tuple[str, Any, Any]]:
    """(key, what the record states, what is asked) of everything that both say."""
    found = [("mechanism", record["mechanism"], get["mechanism"]), ("source", record["source"], get["source"] or name)]
    each = "epsilon_of_each_count"
    tree = _TREE if record["mechanism"] in COUNTS else {}
    for key, path in (_SAME | _SPENT | tree | ({"epsilon": (each,)} if each in record else {})).items():
        value: Any = record
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        if (
            get.get(key) is not None
            and (value is not None or key in tree)
            and not (key == "sensitivity" and isinstance(value, Mapping))
        ):
            found.append((key, value, get[key]))
    return found


def _equal(stated: Any, asked: Any, key: str) -> bool:
    if isinstance(stated, (int, float)) and isinstance(asked, (int, float)):
        least = 1 - 1e-6 if key in _SPENT else 1.0  # what was spent is at most what was asked, up to a scale's rounding
        return asked * least <= stated <= asked or math.isclose(stated, asked, rel_tol=1e-12)
    return bool(stated == asked)
