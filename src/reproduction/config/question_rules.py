"""Check the questions of a scenario against the names of its quantities before any job starts. The module is
written in plain Python.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

KINDS = ("sum", "difference", "ratio", "share", "probability", "rank")
GROUPS = ("counts", "shares", "rates", "parameters")


def mistakes(
    questions: Mapping[str, Any], names: Sequence[str], parents: Mapping[str, str | None] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every invalid question.

    Parameters
    ----------
    questions : mapping from the name of a question to the question, in the form that `dpmultinomial` accepts.
    names : names of the quantities; empty if they are not known yet.
    parents : for each quantity that is a part of another one, the name of the other one; None if there are no parts.
    """
    for label, question in questions.items():
        place = f".questions.{label}"
        kinds = [key for key in question if key != "about"]
        if len(kinds) != 1 or kinds[0] not in KINDS:
            yield (
                place,
                f"must have exactly one of the keys {', '.join(KINDS)}, got {', '.join(map(str, question)) or 'none'}",
            )
            continue
        if question.get("about", "counts") not in GROUPS:
            yield f"{place}.about", f"must be one of {', '.join(GROUPS)}, got {question['about']!r}"
        try:
            if text := _wrong(kinds[0], question[kinds[0]], names, parents or {}):
                yield place, text
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            yield place, str(error.args[0] if error.args else error)


def _wrong(kind: str, what: Any, names: Sequence[str], parents: Mapping[str, str | None]) -> str:
    if (text := _misshapen(kind, what)) or not names:
        return text
    try:
        from dpmultinomial._results.expressions import Names, comparison
    except ImportError:  # the job reports this mistake
        return ""
    known = Names(tuple(names))
    if kind == "probability":
        comparison(what, known)
        return ""
    if kind in ("share", "rank"):
        sides = [part for key, part in what.items() if key != "top"]
    else:
        sides = [what] if kind == "sum" else what
    for side in (side for side in sides if side != "all"):
        if not isinstance(side, (str, list)):
            return f"{kind} requires names of quantities, got {side!r}"
        for name in [side] if isinstance(side, str) else side:
            known.place(str(name))
    return _beyond(kind, what, names, parents)


def _beyond(kind: str, what: Any, names: Sequence[str], parents: Mapping[str, str | None]) -> str:
    """Return an error message if a question about a rank or a share is inconsistent, and otherwise an empty string. All
    names in the question are assumed to be known.
    """
    if kind not in ("share", "rank"):
        return ""
    sums = set(parents.values())
    every = [name for name in names if name not in sums]
    of, among = (
        every if side == "all" else [side] if isinstance(side, str) else list(map(str, side))
        for side in (what["of"], what.get("among", what["of"]))
    )
    if kind == "rank" and len(among) < 2 <= len(every):
        return f"rank requires at least two quantities: to rank {of[0]} among all, write {{of: {of[0]}, among: all}}"
    parts: set[str] = set()
    for key, side in (("of", of), ("among", among)) if kind == "share" else ():
        for name in side:
            above = set(_above(name, parents))
            if twice := above.intersection(side):
                return (
                    f"share: {name} is a part of {twice.pop()}, so its records would be counted twice: list only one "
                    f"of them under {key!r}"
                )
            if above.intersection(among):
                parts.add(name)
    if outside := [name for name in of if name not in parts.union(among)]:
        return (
            f"{kind}: every name under 'of' must also be listed under 'among', which lacks {', '.join(outside)} ('all' "
            "omits sums of other quantities)"
        )
    top = what.get("top", 1)
    return f"top must be in [1, {len(among)}], got {top}" if top > len(among) else ""


def _above(name: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the names of the quantities of which a quantity is a part."""
    while above := parents.get(name):
        yield above
        name = above


def _misshapen(kind: str, what: Any) -> str:
    """Return an error message if a question has an invalid form, and otherwise an empty string. The names of the
    quantities are not checked.
    """
    if kind == "probability":
        return "" if isinstance(what, str) else f"probability requires a comparison such as 'a > b', got {what!r}"
    if kind in ("share", "rank"):
        wanted, more = ({"of", "among"}, set()) if kind == "share" else ({"of"}, {"among", "top"})
        if not isinstance(what, Mapping) or not wanted <= set(what) <= wanted | more:
            return (
                "share must have the form {of: [..], among: [..]}"
                if kind == "share"
                else "rank must have the form {of: all, top: 5} or {of: a, among: all}"
            )
        top = what.get("top", 1)
        return "" if type(top) is int and top >= 1 else f"top must be an integer >= 1, got {top!r}"
    if kind != "sum" and (not isinstance(what, list) or len(what) != 2):
        return f"{kind} requires two sides, such as [a, b] or [[a, b], [c]], got {what!r}"
    return "" if isinstance(what, (str, list)) else f"{kind} requires names of quantities, got {what!r}"
