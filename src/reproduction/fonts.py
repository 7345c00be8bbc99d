"""Fonts for what users write: every script that some font of this machine can draw, a word for what none can."""

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

FIRST = "DejaVu Sans"  # comes with matplotlib: Latin, Greek, Cyrillic, mathematics
_NO_SHAPES = ("Last Resort", "cm")  # a box for every character; TeX's own places of characters
_SHAPELESS = ("Cc", "Cf", "Zl", "Zp", "Zs")  # controls, joiners, marks of direction, spaces


def families(texts: Iterable[str] = ()) -> list[str]:
    """Families that together draw the characters of `texts`, as far as this machine has them; `FIRST` comes first."""
    found = (_family(character) for character in sorted(set("".join(texts))))
    return list(dict.fromkeys([FIRST, *(name for name in found if name)]))


def unwritable(text: str) -> bool:
    """Whether a character of `text` is in no font of this machine."""
    return any(not _family(character) for character in text)


def names(texts: Sequence[str], noun: str) -> tuple[list[str], str]:
    """Labels of a figure, and what a reader must be told of them.

    Parameters
    ----------
    texts : names as a user wrote them.
    noun : what they are names of, e.g. ``category``.

    Returns
    -------
    labels : list of str
        The names; `noun` and its number from 1 in place of one that no font of this machine can draw.
    told : str
        A sentence that says so; empty where all can be drawn.
    """
    hidden = [unwritable(text) for text in texts]
    labels = [f"{noun} {n}" if no else text for n, (text, no) in enumerate(zip(texts, hidden, strict=True), start=1)]
    if not any(hidden):
        return labels, ""
    which = "some names" if sum(hidden) > 1 else "one name"
    return labels, f"No font of this machine can draw {which}: numbered in the order of the table."


@cache
def _family(character: str) -> str:
    """First family with the character, or nothing; what has no shape of its own (spaces, joiners) needs none."""
    if unicodedata.category(character) in _SHAPELESS:
        return FIRST
    return next((name for name, known in _known().items() if _has(known, character)), "")


@cache
def _known() -> dict[str, str]:
    """Family -> file of its upright face, `FIRST` first, the others by name."""
    listed = [e for e in font_manager.fontManager.ttflist if not e.name.startswith(_NO_SHAPES)]
    regular = [e for e in listed if e.style == "normal" and e.weight in (400, "normal")]
    found = {entry.name: entry.fname for entry in sorted(regular, key=lambda entry: (entry.name, entry.fname))}
    return {FIRST: font_manager.findfont(FIRST)} | found


@cache
def _font(path: str) -> FT2Font | None:
    try:
        return FT2Font(path)
    except (OSError, RuntimeError):
        return None  # listed, but gone or not a font that can be scaled


def _has(path: str, character: str) -> bool:
    font = _font(path)
    return font is not None and font.get_char_index(ord(character)) != 0
