"""From the bytes of a file to bytes that contain ASCII as it is, and back without losing one.

UTF-8 and Latin-1 stay as they are; UTF-16 becomes UTF-8 and returns as the same UTF-16 (a lone surrogate is refused, so
the way there and back is the identity).
"""

import codecs
from dataclasses import dataclass

from .. import _checks
from .faults import FileFault

ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True)
class Decoded:
    """Bytes that contain ASCII, and how they were stored.

    Parameters
    ----------
    data : the file without its mark, in UTF-8 or Latin-1.
    stored : ``"utf-8"``, ``"utf-16-le"``, ``"utf-16-be"`` or ``"latin-1"``, the file's encoding.
    mark : the byte order mark it began with, or nothing.
    """

    data: bytes
    stored: str
    mark: bytes

    @property
    def inner(self) -> str:
        """Encoding of `data`."""
        return "latin-1" if self.stored == "latin-1" else "utf-8"

    def encode(self, data: bytes) -> bytes:
        """`data` as the file stores it, mark included."""
        if self.stored in ("utf-8", "latin-1"):
            return self.mark + data
        return self.mark + data.decode("utf-8").encode(self.stored)


def decode(raw: bytes, *, name: str, encoding: str | None = None) -> Decoded:
    """Find the encoding, or check the stated one.

    Parameters
    ----------
    raw : the whole file.
    name : of the file, for errors.
    encoding : one of `ENCODINGS`; None takes a byte order mark at its word and UTF-8 without one. ``"utf-16"`` needs
        a mark. Latin-1 accepts any bytes, so it is never guessed.

    Returns
    -------
    Decoded

    Raises
    ------
    ValueError
        If the bytes are not in that encoding (file and line), or a mark contradicts it. No byte of the file is shown.
    """
    mark, marked = next(((m, e) for m, e in _MARKS if raw.startswith(m)), (b"", ""))
    stated = None if encoding is None else _checks.one_of("encoding", encoding, ENCODINGS)
    if stated == "latin-1":
        return Decoded(raw, "latin-1", b"")
    if stated == "utf-16" and marked not in ("utf-16-le", "utf-16-be"):
        raise FileFault(f"{name}: encoding utf-16 needs a byte order mark; without one say utf-16-le or utf-16-be")
    if stated not in (None, "utf-16") and marked and marked != stated:
        raise FileFault(f"{name}: encoding {stated} was asked for, but the file begins with the mark of {marked}")
    stored = marked or stated or "utf-8"
    body = raw[len(mark) :]
    problem = None
    try:
        text = body.decode(stored)
    except UnicodeDecodeError as error:
        problem = error.start
    if problem is not None:
        raise FileFault(_not(name, stored, body, problem))
    return Decoded(body if stored == "utf-8" else text.encode("utf-8"), stored, mark)


def _not(name: str, stored: str, body: bytes, place: int) -> str:
    unit = "\n".encode(stored)
    line = 1 + body[:place].count(unit)
    hint = "" if stored != "utf-8" else "; state its encoding (latin-1, utf-16-le, utf-16-be)"
    return f"{name}, line {line}: not {stored} at byte {place} of the file{hint}"
