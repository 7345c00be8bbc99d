"""Choose fonts for names that users write, in any script for which the machine has a font; names in other scripts
become numbered labels.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

FIRST = "DejaVu Sans"  # comes with matplotlib: Latin, Greek, Cyrillic, mathematics
_NO_SHAPES = ("Last Resort", "cm")  # has a box for every character; TeX fonts use their own character codes
_SHAPELESS = ("Cc", "Cf", "Zl", "Zp", "Zs")  # control characters, joiners, direction marks, spaces


def families(texts: Iterable[str] = ()) -> list[str]:
    """Return font families that together cover as many characters of `texts` as possible; `FIRST` comes first."""
    found = (_family(character) for character in sorted(set("".join(texts))))
    return list(dict.fromkeys([FIRST, *(name for name in found if name)]))


def unwritable(text: str) -> bool:
    """Return whether `text` contains a character that no font of the machine has."""
    return any(not _family(character) for character in text)


def names(texts: Sequence[str], noun: str) -> tuple[list[str], str]:
    """Return the labels of a figure, and a note if some labels had to be replaced.

    Parameters
    ----------
    texts : names as a user wrote them.
    noun : what the names denote, e.g. ``category``.

    Returns
    -------
    labels : list of str
        The names; a name that no font of this machine can draw is replaced by `noun` and its number from 1.
    told : str
        A note on the replaced names; empty if all can be drawn.
    """
    hidden = [unwritable(text) for text in texts]
    labels = [f"{noun} {n}" if no else text for n, (text, no) in enumerate(zip(texts, hidden, strict=True), start=1)]
    if not any(hidden):
        return labels, ""
    which = "some names" if sum(hidden) > 1 else "one name"
    return labels, f"No font of this machine can draw {which}; numbers in the order of the table are shown instead."


@cache
def _family(character: str) -> str:
    """Return the first font family that has the character; None for characters without a shape (spaces, joiners)."""
    if unicodedata.category(character) in _SHAPELESS:
        return FIRST
    return next((name for name, known in _known().items() if _has(known, character)), "")


@cache
def _known() -> dict[str, str]:
    """Return a mapping from each font family to the file of its regular font, with `FIRST` first and the other families
    by name.
    """
    listed = [e for e in font_manager.fontManager.ttflist if not e.name.startswith(_NO_SHAPES)]
    regular = [e for e in listed if e.style == "normal" and e.weight in (400, "normal")]
    found = {entry.name: entry.fname for entry in sorted(regular, key=lambda entry: (entry.name, entry.fname))}
    return {FIRST: font_manager.findfont(FIRST)} | found


@cache
def _font(path: str) -> FT2Font | None:
    try:
        return FT2Font(path)
    except (OSError, RuntimeError):
        return None  # listed, but deleted or not a scalable font


def _has(path: str, character: str) -> bool:
    font = _font(path)
    return font is not None and font.get_char_index(ord(character)) != 0
