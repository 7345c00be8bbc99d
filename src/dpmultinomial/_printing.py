"""Output of printable text to a terminal or a log. Characters that move the cursor or reorder a line are replaced by
escape sequences.

Names and messages contain text from files that somebody else wrote. A terminal interprets control characters (C0 and
C1, such as ESC), bidirectional marks change the order in which a line is read, and U+2028, U+2029 and U+0085 end a
line. Lone surrogates cannot be encoded. All output of a command is passed through `printable`, and all error messages
through `message`, which also shortens long values.

Computations of more than three seconds show their progress with `steps`.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isfinite
from typing import Any, NoReturn, TypeVar

Part = TypeVar("Part")
SHOWN = "DPMULTINOMIAL_PROGRESS"  # environment variable; 0: no progress is shown
_QUICK = 3.0  # seconds without a message
_EVERY = 0.5  # seconds between messages
_shown: list[str] = []  # the computation whose progress is shown; computations inside it show none

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks
    "\u2028\u2029"  # line and paragraph separators
    "\ufeff\ufff9-\ufffb"  # marks without a width
    "\ud800-\udfff]"  # unpaired surrogates
)


def printable(text: object) -> str:
    """Return the string with every control character, bidirectional mark and unpaired surrogate replaced by an escape
    sequence such as `\\x1b`.

    Tabs and line feeds are not replaced.

    Parameters
    ----------
    text : text, or an error whose message is shown.
    """
    return _UNPRINTABLE.sub(_escaped, str(text))


LONGEST = 1000  # largest number of characters in a line of a message
_VALUE, _ENTRIES = 120, 3  # numbers of characters of a long value, and of first entries of a long list, that are kept
_WORD = re.compile(rf"\S{{{_VALUE + 1},}}")
_QUOTED = re.compile(r"""(?<![\w\\])(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")(?!\w)""")
_LIST = re.compile(r"""(?:(?:'[^']{0,999}'|[^\s,]++), ){8,}""")


def message(text: object) -> str:
    """Return the `printable` form of an error message, in which no line has more than `LONGEST` characters.

    Only longer lines are changed. Words and quoted values with more than 120 characters are cut in the middle, and of
    long lists, only the first entries and the last entry are kept. If the line is still too long, the middle of the
    line is omitted, so that the beginning (fault and rule) and the end (remedy) remain. Two dots mark each omission.

    Parameters
    ----------
    text : text, or an error whose message is shown.
    """
    return "\n".join(line if len(line) <= LONGEST else _shortened(line) for line in printable(text).split("\n"))


def _shortened(line: str) -> str:
    """Return a line of a message with at most `LONGEST` characters."""
    for pattern, short in ((_WORD, _cut_value), (_QUOTED, _cut_value), (_LIST, _cut_list)):
        line = pattern.sub(short, line)
    return _cut(line, LONGEST, share=0.6)


def _cut_value(found: re.Match[str]) -> str:
    return _cut(found[0], _VALUE, share=0.5)


def _cut(text: str, most: int, *, share: float) -> str:
    """Return a text that is shortened to at most `most` characters by omitting its middle part. The fraction `share` of
    the characters is taken from the beginning of the original text.
    """
    first = int(share * most)
    return text if len(text) <= most else f"{text[:first]}..{text[first + 2 - most :]}"


def _cut_list(found: re.Match[str]) -> str:
    entries = found[0].split(", ")
    return ", ".join([*entries[:_ENTRIES], "..", ""])


def has_unprintable(text: str) -> bool:
    """Return whether a string contains a character that `printable` replaces."""
    return _UNPRINTABLE.search(text) is not None


def show(text: object) -> None:
    """Print the `printable` form of a string, and flush the output."""
    print(printable(text), flush=True)


def notice(text: object) -> None:
    """Print the `printable` form of a string to standard error, if the process has a standard error."""
    if sys.stderr is not None:
        print(printable(text), file=sys.stderr, flush=True)


def stop(text: object) -> NoReturn:
    """Print the `message` form of a text or an error to standard error, and exit with status 1."""
    sys.exit(message(text))


def progress(done: int, of: int, what: str, passed: float) -> str:
    """Return a message that states the number of finished parts, the elapsed time and the expected time of completion.

    Parameters
    ----------
    done, of : number of finished parts, and of all parts.
    what : what the parts are, such as ``"tables"``.
    passed : seconds since the start.

    Returns
    -------
    str
    """
    left = passed * (of - done) / done if done else 0.0
    end = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
    share = done * 100 // of / 100 if of else 1.0  # 100% only at the end
    return f"{what}: {done:,} of {of:,} ({share:.0%}) in {passed:.0f} s; expected end {end} (in {left:.0f} s)"


def steps(parts: Iterable[Part], of: int, what: str, size: Callable[[Part], int] = lambda _: 1) -> Iterator[Part]:
    """Yield the parts of a computation, and show the progress if the computation takes more than three seconds.

    The progress is one line on standard error, which is removed at the end. Nothing is shown if standard error is not
    a terminal, if the environment variable `DPMULTINOMIAL_PROGRESS` is 0, as in jobs of the workflow, and for
    computations inside another one that shows its progress.

    Parameters
    ----------
    parts : the parts.
    of : sum of the sizes of all parts; a computation may end earlier.
    what : what is counted, such as ``"counts"``.
    size : function that returns the size of a part.

    Yields
    ------
    Part
    """
    if _shown or sys.stderr is None or not sys.stderr.isatty() or os.environ.get(SHOWN) == "0":
        yield from parts
        return
    _shown.append(what)
    started, reported, done = time.monotonic(), 0.0, 0
    try:
        for part in parts:
            yield part
            done += size(part)
            passed = time.monotonic() - started
            if passed > _QUICK and passed - reported > _EVERY:
                reported = passed
                print(f"\r\x1b[K{printable(progress(done, of, what, passed))}", end="", file=sys.stderr, flush=True)
    finally:
        _shown.remove(what)
        if reported:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def clear() -> None:
    """Remove the progress line from the terminal before an error message is printed."""
    if _shown and sys.stderr is not None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


LEAST_P = 1e-12  # a smaller p-value is stated as a bound, because tail probabilities of sums are upper bounds


def limits(lower: float, upper: float, digits: int = 6) -> str:
    """Return the limits of an interval as text, rounded outwards. An excess of less than 1e-12 of a limit (and at most
    0.001), which may be due to rounding errors, is ignored.

    Parameters
    ----------
    lower, upper : limits of the interval.
    digits : smallest number of significant digits. All digits before the decimal point are shown.

    Returns
    -------
    str
        Such as ``0.1 .. 2.5``.
    """
    return f"{_rounded(lower, 1e-12, ROUND_FLOOR, digits)} .. {_rounded(upper, -1e-12, ROUND_CEILING, digits)}"


def _rounded(end: float, inside: float, way: str, digits: int) -> str:
    if not isfinite(end):
        return f"{end:g}"
    size = max(digits, len(f"{abs(end):.0f}"))
    # the change is far less than 1, also for large counts
    moved = Decimal(end) + Decimal(inside) * min(Decimal(abs(end)), Decimal(10**9))
    return f"{float(Context(prec=size, rounding=way).create_decimal(moved)):.{size}g}"


def at_most(value: float, digits: int = 2) -> str:
    """Return an upper bound as text, rounded upwards. An excess of less than 1e-9 of the value, which may be due to
    rounding errors, is ignored.

    Parameters
    ----------
    value : finite number >= 0.
    digits : number of significant digits.
    """
    up = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{float(up.create_decimal(Decimal(value * (1 - 1e-9)))):.{digits}g}"


def p_value(value: float) -> str:
    """Return a p-value as text, with one significant digit, such as ``0.02`` or ``below 1e-12``."""
    return f"{value:.1g}" if value >= LEAST_P else f"below {LEAST_P:g}"


def prior_matters(comparison: Mapping[str, Any]) -> str:
    """Return the number of counts whose posterior depends strongly on the prior as text, such as ``3 of 1,500 counts``.

    Parameters
    ----------
    comparison : entry ``flat_comparison`` of the facts of a posterior.

    Returns
    -------
    str
        The text is empty if there is no such count. If some counts have no posterior under a flat prior, the text
        refers only to the other counts.
    """
    number, of = comparison.get("prior_matters", 0), comparison.get("of", 0)
    if not number:
        return ""
    if comparison.get("not_compared"):
        compared = "that can be compared with a flat prior"
        return f"the only count {compared}" if of == 1 else f"{number:,} of the {of:,} counts {compared}"
    return "the count" if of == 1 else f"{number:,} of {of:,} counts"


def not_compared(comparison: Mapping[str, Any]) -> str:
    """Return a sentence without a period that states how many counts could not be compared with a flat prior, and the
    reason. The sentence is empty if all counts were compared.

    Parameters
    ----------
    comparison : entry ``flat_comparison`` of the facts of a posterior.
    """
    if not (number := comparison.get("not_compared", 0)):
        return ""
    counts = f"{number:,} counts" if number > 1 else "1 count" if comparison["of"] else "The count"
    return f"{counts} cannot be compared with a flat prior, which gives no result: {comparison['reason']}"
