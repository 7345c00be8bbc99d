"""Meaning of the cells of a column of published counts: numbers, ranges, limits, and symbols of withheld counts.

The module is written in plain Python, because it runs before any kernel exists. A range such as ``1-9`` has the bounds
(1, 9), and a limit such as ``<10`` the bounds (-inf, 9). A symbol has a meaning only if the scenario states it: counts
below a limit were withheld (`withheld`), or the count is not available (`missing`).
"""

import re
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

Bounds = tuple[float, float]
Cell = tuple[float | None, Bounds | None]
SYMBOLS = ("*", "**", "x", "..", "...", ":", "c", "s", "d", "-", "n/a", "na", "nd")  # usual symbols in tables
_PLAIN = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
_RANGE = re.compile(r"(\d+)\s*(?:-|–|—|to)\s*(\d+)")
_BELOW = re.compile(r"(?:<|under|below|less than|fewer than)\s*(\d+)", re.IGNORECASE)
_AT_MOST = re.compile(r"(?:<=|≤|at most)\s*(\d+)", re.IGNORECASE)
_AT_LEAST = re.compile(r"(?:(?:>=|≥|at least)\s*(\d+)|(\d+)\s*(?:\+|or more))", re.IGNORECASE)
_ABOVE = re.compile(r"(?:>|over|above|more than)\s*(\d+)", re.IGNORECASE)
_NEEDED = "must be a number, a range such as 10-50, a limit such as <10, or a symbol with a stated meaning"


def meaning(text: str, settings: Mapping[str, Any]) -> Cell:
    """Return the number in a cell, or the bounds that the cell states.

    Parameters
    ----------
    text : content of the cell.
    settings : settings of the scenario, with ``withheld`` (symbol, below) and ``missing`` (symbols) if they are stated.

    Returns
    -------
    (number, bounds)
        One or both are None; bounds are (lowest, highest) of integers, infinite if there is no end.

    Raises
    ------
    ValueError
        If the text has no meaning; the message is the rule, without the text.
    """
    text = text.strip()
    withheld = settings.get("withheld")
    if withheld and text in _listed(withheld.get("symbol", "*")):
        return None, (-inf, withheld["below"] - 1)
    if not text or text in (settings.get("missing") or ()):
        return None, None
    if _PLAIN.fullmatch(text) or _THOUSANDS.fullmatch(text):
        number = float(text.replace(",", ""))
        if not isfinite(number):
            raise ValueError("the value must be a number in the range of floating-point numbers")
        return number, None
    if bounds := _bounds(text):
        return None, bounds
    if text.lower() in SYMBOLS:
        raise ValueError(
            "the meaning of the symbol in this cell is not stated: if counts below 10 were withheld, set "
            f"withheld: {{symbol: {text!r}, below: 10}}; if the count is not available, set missing: [{text!r}]"
        )
    raise ValueError(_NEEDED)


def _bounds(text: str) -> Bounds | None:
    if found := _RANGE.fullmatch(text):
        low, high = int(found[1]), int(found[2])
        if low > high:
            raise ValueError("the lower end of a range must be at most its upper end")
        return low, high
    if found := _AT_MOST.fullmatch(text):
        return -inf, int(found[1])
    if found := _BELOW.fullmatch(text):
        if int(found[1]) < 1:
            raise ValueError("the value is invalid, because no count is below 0")
        return -inf, int(found[1]) - 1
    if found := _AT_LEAST.fullmatch(text):
        return int(found[1] or found[2]), inf
    if found := _ABOVE.fullmatch(text):
        return int(found[1]) + 1, inf
    return None


def _listed(symbols: str | Sequence[str]) -> Sequence[str]:
    return [symbols] if isinstance(symbols, str) else symbols


def parsed(texts: Sequence[str], settings: Mapping[str, Any]) -> list[Cell]:
    """Return the meaning of every cell of a column (see `meaning`). Equal texts are parsed once."""
    known: dict[str, Cell] = {}
    return [known[text] if text in known else known.setdefault(text, meaning(text, settings)) for text in texts]


def shown(bounds: Bounds) -> str:
    """Return bounds as text, such as ``1 to 9``, ``at most 9`` or ``at least 100``."""
    low, high = bounds
    if low == -inf:
        return f"at most {high:,.0f}"
    return f"at least {low:,.0f}" if high == inf else f"{low:,.0f} to {high:,.0f}"


Limits = tuple[list[float], list[float]]
_HOW = {True: "withheld,", False: "published as"}  # texts for bounds without and with a lower end


def censored(
    words: Mapping[str, Any], cells: Sequence[Cell], names: Sequence[str]
) -> tuple[dict[str, Any], Limits | None]:
    """Return the noise distribution and the bounds of the counts that follow from ranges, limits and withheld counts.

    Without added noise, the true count is in the range, so the range is a bound. With noise, the noisy value was
    withheld below a common limit, which becomes the threshold of the distribution.

    Parameters
    ----------
    words : noise as settings.
    cells : meanings of the cells (`parsed`).
    names : names of the counts, for error messages.

    Returns
    -------
    (words, limits)
        The limits are (lower, upper), one number per count; None if all limits are 0 and infinity.

    Raises
    ------
    ValueError
        If noise was added and the counts without a number were not all withheld below the same limit.
    """
    stated = [(name, bounds) for name, (_, bounds) in zip(names, cells, strict=True) if bounds is not None]
    if not stated:
        return dict(words), None
    if words.get("law") == "exact":
        lower = [0.0 if bounds is None else max(bounds[0], 0.0) for _, bounds in cells]
        return dict(words), (lower, [inf if bounds is None else float(bounds[1]) for _, bounds in cells])
    limit = float(words.get("threshold", stated[0][1][1] + 1))
    for name, (low, high) in stated:
        if low > 0 or high + 1 != limit:
            raise ValueError(
                f"{name!r} is {shown((low, high))}, but with noise ({words.get('law')}), every count "
                f"without a number must be withheld below the same limit ({limit:g}): remove the noise "
                "(noise: exact) to use ranges"
            )
    if "threshold" in words:  # an empty cell was withheld too
        return dict(words), None
    if empty := [name for name, cell in zip(names, cells, strict=True) if cell == (None, None)]:
        raise ValueError(
            f"{empty[0]!r} has no value, but other counts were withheld below {limit:g}: state that "
            "this count was withheld as well, or remove the row"
        )
    return {**words, "threshold": limit}, None


def texts_of(cells: Sequence[Cell], names: Sequence[str]) -> dict[str, str]:
    """Return the bounds of each count without a number as text, such as ``withheld, at most 9`` or ``published as 10 to
    50``, by the name of the count.
    """
    stated = {name: bounds for name, (_, bounds) in zip(names, cells, strict=True) if bounds is not None}
    return {
        name: f"{'withheld,' if ends[0] == -inf else 'published as'} {shown(ends)}" for name, ends in stated.items()
    }
