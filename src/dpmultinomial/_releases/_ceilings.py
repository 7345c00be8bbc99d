"""Ceilings of what the releases of a source may cost together: what may stand under ``budgets:``."""

import math
import re
from collections.abc import Mapping
from typing import Any

from . import _keys
from ._keys import LARGEST_DELTA, Key

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
CEILINGS = ("epsilon", "delta", "rho", "exchange")


def problems(budgets: Any) -> list[tuple[str, str]]:
    """(path, what is wrong) of every ceiling that is none.

    Parameters
    ----------
    budgets : source -> ``epsilon`` with or without ``delta``, and/or ``rho``: what one person can lose whose record is
        replaced; ``exchange``: of exchanges within invariants, apart.
    """
    if not isinstance(budgets, Mapping):
        return [("budgets", "must give each source its ceiling")]
    found: list[tuple[str, str]] = []
    for source, ceiling in budgets.items():
        here = f"budgets/{source}"
        if not isinstance(source, str) or not _NAME.fullmatch(source):
            found.append((here, "a source's name must be [a-z][a-z0-9_]*"))
        if not isinstance(ceiling, Mapping) or not set(ceiling) & (set(CEILINGS) - {"delta"}):
            found.append((here, "must have epsilon (with delta, where it has one), rho or exchange"))
            continue
        for key, value in ceiling.items():
            if key not in CEILINGS:
                found.append((f"{here}/{key}", f"no such key; a ceiling has {', '.join(CEILINGS)}"))
            elif why := number(Key(str(key), "number", "", above=0, below=1 if key == "delta" else None), value):
                found.append((f"{here}/{key}", why))
            elif key == "delta" and value > LARGEST_DELTA:
                found.append((f"{here}/{key}", f"must be at most {LARGEST_DELTA:g}, above it records are given away"))
            elif key == "delta" and "epsilon" not in ceiling:
                found.append((f"{here}/{key}", "belongs to an epsilon, and there is none"))
    return found


def number(key: Key, value: Any) -> str | None:
    """Why a value is no number of a key's range, or None.

    Parameters
    ----------
    key : of kind ``"number"`` or ``"whole"``.
    value : what was written.
    """
    whole = key.kind == "whole"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        return f"must be a {'whole ' if whole else ''}number, got {value!r}"
    good = (
        (isinstance(value, int) or math.isfinite(value))
        and (key.above is None or value > key.above)
        and (key.least is None or value >= key.least)
    )
    if not good or (key.most is not None and value > key.most) or (key.below is not None and value >= key.below):
        return f"must be {_keys.bounds(key) or 'finite'}, got {value}"
    return None
