"""Text for a terminal or a log, in which characters that move the cursor or reorder a line are shown as escapes.

Names and messages contain text from files that somebody else wrote. A terminal interprets control characters (C0 and
C1, such as ESC), bidirectional marks change the order in which a line is read, and U+2028, U+2029 and U+0085 end a
line. Lone surrogates cannot be encoded. All output of a command is passed through `printable`.
"""

import re
import sys
from typing import NoReturn

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks
    "\u2028\u2029"  # line and paragraph separators
    "\ufeff\ufff9-\ufffb"  # marks without a width
    "\ud800-\udfff]"  # lone surrogates
)


def printable(text: object) -> str:
    """Return a text in which every control character, bidirectional mark and lone surrogate is replaced by an escape
    such as `\\x1b`.

    Tabs and line feeds are not replaced.

    Parameters
    ----------
    text : text, or an error whose message is shown.
    """
    return _UNPRINTABLE.sub(_escaped, str(text))


def has_unprintable(text: str) -> bool:
    """Return whether a text contains a character that `printable` replaces."""
    return _UNPRINTABLE.search(text) is not None


def show(text: object) -> None:
    """Print the `printable` form of a text, and flush the output."""
    print(printable(text), flush=True)


def stop(text: object) -> NoReturn:
    """Exit with status 1, and print the `printable` form of a message on standard error."""
    sys.exit(printable(text))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
