"""Names that a reader takes for one another: they differ by blanks, invisible characters, or how a letter is written.

Two categories whose names look the same are a slip or a trick: one person's count could be split over both. What looks
alike is decided by Unicode's compatibility forms and by a short table of Cyrillic and Greek letters that are drawn like
Latin ones; it is no promise about every font.
"""

import unicodedata
from collections.abc import Iterable

_CYRILLIC = (
    ("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d\u0475", "aeopcyxijsdhqwv"),
    ("\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u04c0\u04ae\u051a"
     "\u051c\u0474", "ABEKMHOPCTYXIJSIYQWV"),
)  # fmt: skip
_GREEK = (
    ("\u03bf\u03bd\u03c1", "ovp"),
    ("\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7", "ABEZHIKMNOPTYX"),
)
_DRAWN_ALIKE = {
    ord(one): latin for alike, drawn in (*_CYRILLIC, *_GREEK) for one, latin in zip(alike, drawn, strict=True)
}
UNSEEN = "blanks, invisible characters, or letters that look the same"
_FILLERS = {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u3164", "\uffa0"}  # letters and marks without a shape


def shown(name: str) -> str:
    """What a reader sees of a name; equal for names that look the same, empty for one that shows nothing.

    Parameters
    ----------
    name : any text.
    """
    if name.isascii() and name.isprintable():
        return " ".join(name.split())
    seen = "".join(c for c in unicodedata.normalize("NFKC", name) if not _invisible(c))
    return " ".join(unicodedata.normalize("NFKC", seen.translate(_DRAWN_ALIKE)).split())


def has_controls(name: str) -> bool:
    """Whether a name has control characters, such as line ends, tabs or what a terminal acts on."""
    return any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in name) if not name.isprintable() else False


def first_pair(names: Iterable[str]) -> tuple[str, str] | None:
    """The first two different names that look the same, or None.

    Parameters
    ----------
    names : in order.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(shown(name), name)
        if other != name:
            return other, name
    return None


def _invisible(character: str) -> bool:
    selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return selector or character in _FILLERS or unicodedata.category(character) == "Cf"
