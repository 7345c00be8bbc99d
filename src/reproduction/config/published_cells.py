"""Interpret the cells in a column of published counts. The settings of a scenario (`table_columns`) specify the meaning
of symbols.

The module is written in plain Python, because it runs before any kernel exists. A symbol has a meaning only if the
scenario states it: counts below a limit were withheld (`withheld`), or the count is not available (`missing`).
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from dpmultinomial._files import table_columns
from dpmultinomial._files.table_columns import SYMBOLS, Cell, Limits, shown


def meaning(text: str, settings: Mapping[str, Any]) -> Cell:
    """Return the number in a cell, or the bounds that are given by a range or limit in the cell.

    Parameters
    ----------
    text : content of the cell.
    settings : settings of the scenario, with ``withheld`` (symbol, below) and ``missing`` (symbols) if they are stated.

    Returns
    -------
    (number, bounds)
        See `table_columns.meaning`.

    Raises
    ------
    ValueError
        If the text has no meaning; the message is the rule, without the text.
    """
    stated, missing, text = settings.get("withheld"), settings.get("missing") or (), text.strip()
    withheld = dict.fromkeys(_listed(stated.get("symbol", "*")), stated["below"]) if stated else {}
    if text.lower() in SYMBOLS and text not in withheld and text not in missing:
        raise ValueError(
            f"the meaning of the symbol {text!r} is not stated: if counts below 10 were withheld, set "
            f"withheld: {{symbol: {text!r}, below: 10}}. If the count is not available, set missing: [{text!r}]"
        )
    return table_columns.meaning(text, withheld, missing)


def _listed(symbols: str | Sequence[str]) -> Sequence[str]:
    return [symbols] if isinstance(symbols, str) else symbols


def parsed(texts: Sequence[str], settings: Mapping[str, Any]) -> list[Cell]:
    """Return the number or the bounds in every cell of a column (see `meaning`). Equal texts are parsed once."""
    known: dict[str, Cell] = {}
    return [known[text] if text in known else known.setdefault(text, meaning(text, settings)) for text in texts]


def censored(
    words: Mapping[str, Any], cells: Sequence[Cell], names: Sequence[str]
) -> tuple[dict[str, Any], Limits | None]:
    """Return the noise settings with the threshold of withheld counts, and the bounds on the counts (see
    `table_columns.censored`).

    Parameters
    ----------
    words : noise as settings.
    cells : meanings of the cells (`parsed`).
    names : names of the counts, for errors.

    Returns
    -------
    (words, limits)

    Raises
    ------
    ValueError
        As `table_columns.censored`.
    """
    stated = words.get("threshold")
    threshold, limits = table_columns.censored(cells, names, str(words.get("law")), stated)
    return ({**words, "threshold": threshold} if threshold != stated else dict(words)), limits


def texts_of(cells: Sequence[Cell], names: Sequence[str]) -> dict[str, str]:
    """Return a dict with one entry for each count that is published as bounds: the key is the name of the count, and
    the value states the bounds as text. Examples of values are ``withheld, at most 9`` and ``published as 10 to 50``.
    """
    stated = {name: bounds for name, (_, bounds) in zip(names, cells, strict=True) if bounds is not None}
    return {
        name: f"{'withheld,' if ends[0] == -inf else 'published as'} {shown(ends)}" for name, ends in stated.items()
    }
