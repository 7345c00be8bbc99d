"""Parser of comparisons between given names, such as ``"men > women"``, ``"met >= 0.6"`` and
``"'not met' > 2 * failed + 3"``, and of the names in questions.

The configuration of a scenario is checked with the same functions before any kernel is compiled, so the module must not
import compiled modules.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from .. import _checks

OPERATORS = (">=", "<=", "==", "!=", ">", "<", "=")
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_LOOSE = re.compile(r"[^\s<>=!*+]+")


@dataclass(frozen=True)
class Comparison:
    """Comparison of a number with a sum of terms, each of which is a coefficient times a quantity.

    Parameters
    ----------
    coefficients : mapping from the position of a quantity to its coefficient, not 0.
    operator : one of ``> < >= <= == !=``.
    bound : constant with which the sum is compared.
    """

    coefficients: dict[int, float]
    operator: str
    bound: float

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Return a mask of the given values of the sum that satisfy the comparison. Numbers that differ only by
        rounding count as equal.
        """
        bound = np.where(np.isclose(values, self.bound, rtol=1e-12, atol=1e-12), values, self.bound)
        compare = {
            ">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal, "==": np.equal,
            "!=": np.not_equal,
        }  # fmt: skip
        return np.asarray(compare[self.operator](values, bound))


class Names:
    """Set of names that may contain spaces, slashes, and plus and minus signs. In a string, the longest matching name
    is found.

    Parameters
    ----------
    names : names of the quantities; a name is resolved to its position.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.places = {name: i for i, name in enumerate(names)}

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(name) for name in self.places if name}, reverse=True)

    def at(self, text: str, start: int) -> str | None:
        """Return the longest name that begins at the position `start` of a string, or None if no name begins there. A
        name that is also a number must be quoted.
        """
        for length in self._lengths:
            name, after = text[start : start + length], text[start + length : start + length + 1]
            if len(name) < length or name not in self.places or _NUMBER.fullmatch(name):
                continue
            if not (_is_word(name[-1:]) and _is_word(after)):
                return name
        return None

    def place(self, name: str) -> int:
        """Return the position of a name, or raise `KeyError` with suggestions if the name is unknown."""
        if name not in self.places:
            near = get_close_matches(name, self.places, n=3)
            shown = list(self.places)[:10]
            hint = (
                f"did you mean {', '.join(near)}?"
                if near
                else f"the known names are {', '.join(shown)}" + ", .." * (len(self.places) > 10)
            )
            if name[:1] in ("/", "*"):
                raise KeyError(
                    f"unexpected {name[:1]!r} before {name[1:].strip()!r}: a comparison must contain only sums and "
                    "differences, such as '2 * a - b > 3'. For a ratio, write {ratio: [a, b]}. If a name contains this "
                    "character, put the name in quotation marks"
                )
            raise KeyError(f"unknown name {name!r}: {hint}")
        return self.places[name]


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def comparison(text: str, names: Names) -> Comparison:
    """Parse a comparison of two sums of quantities.

    Parameters
    ----------
    text : two sums of numbers, names and ``number * name`` around one of `OPERATORS`. A name must be in single or
        double quotes if it is a number or the beginning of a longer name.
    names : known names.

    Returns
    -------
    Comparison

    Raises
    ------
    KeyError
        If the text contains an unknown name.
    ValueError, TypeError
        If the text is not a comparison.
    """
    _check_text(text)
    tokens = _tokens(text, names)
    operators = [i for i, (kind, _) in enumerate(tokens) if kind == "operator"]
    if len(operators) != 1:
        raise ValueError(
            f"{text!r}: a probability must contain exactly one of the operators {' '.join(OPERATORS)}, got "
            f"{len(operators) or 'none'}"
        )
    sides = [_linear(tokens[: operators[0]], text), _linear(tokens[operators[0] + 1 :], text)]
    (left, a), (right, b) = sides
    coefficients = {p: left.get(p, 0.0) - right.get(p, 0.0) for p in {**left, **right}}
    operator = "==" if tokens[operators[0]][1] == "=" else str(tokens[operators[0]][1])
    return Comparison({p: c for p, c in coefficients.items() if c}, operator, b - a)


def _tokens(text: str, names: Names) -> list[tuple[str, Any]]:
    tokens: list[tuple[str, Any]] = []
    i = 0
    while i < len(text):
        if text[i].isspace():
            i += 1
        elif quoted := _QUOTED.match(text, i):
            tokens.append(("name", names.place(quoted[1] if quoted[1] is not None else quoted[2])))
            i = quoted.end()
        elif (name := names.at(text, i)) is not None:
            tokens.append(("name", names.places[name]))
            i += len(name)
        elif operator := next((o for o in OPERATORS if text.startswith(o, i)), None):
            tokens.append(("operator", operator))
            i += len(operator)
        elif number := _NUMBER.match(text, i):
            tokens.append(("number", float(number[0])))
            i = number.end()
        elif text[i] in "+-*":
            tokens.append((text[i], None))
            i += 1
        else:
            loose = _LOOSE.match(text, i)
            names.place(loose[0] if loose else text[i:])
            raise ValueError(f"the part {text[i:]!r} of {text!r} cannot be parsed: put names in quotes")
    return tokens


def _linear(tokens: list[tuple[str, Any]], text: str) -> tuple[dict[int, float], float]:
    """Return the coefficients and the constant of a sum of terms."""
    coefficients: dict[int, float] = {}
    constant, i, sign = 0.0, 0, 1.0
    wrong = ValueError(f"{text!r}: each side must be a sum of numbers, names, and products of a number and a name")
    while True:
        while i < len(tokens) and tokens[i][0] in "+-":
            sign, i = sign * (-1.0 if tokens[i][0] == "-" else 1.0), i + 1
        factors = []
        while True:
            if i == len(tokens) or tokens[i][0] not in ("name", "number"):
                raise wrong
            factors.append(tokens[i])
            i += 1
            if i == len(tokens) or tokens[i][0] != "*":
                break
            i += 1
        places = [int(value) for kind, value in factors if kind == "name"]
        size = sign * float(np.prod([value for kind, value in factors if kind == "number"]))
        if len(places) > 1:
            raise wrong
        if places:
            coefficients[places[0]] = coefficients.get(places[0], 0.0) + size
        else:
            constant += size
        if i == len(tokens):
            return coefficients, constant
        if tokens[i][0] not in "+-":
            raise wrong
        sign = 1.0


def _check_text(text: Any) -> None:
    if not isinstance(text, str):
        raise TypeError(f"a probability requires a comparison such as 'a > b', got {text!r}")


KINDS = ("sum", "difference", "ratio", "share", "probability", "rank")


def kind_of(question: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the type and the content of a question, or raise ValueError if it does not have exactly one type."""
    kinds = [key for key in question if key != "about"]
    if len(kinds) != 1 or kinds[0] not in KINDS:
        raise ValueError(
            f"a question must have exactly one of the keys {', '.join(KINDS)}, got "
            f"{', '.join(map(str, question)) or 'none'}"
        )
    return str(kinds[0]), question[kinds[0]]


class Selection:
    """Quantities that the questions about a group select. The methods return positions, and raise KeyError, TypeError
    or ValueError if a question is not valid.

    Parameters
    ----------
    words : names of the quantities; None if they are not known yet, so that only the form of a question is checked.
    sums : names of the quantities that are sums of others, which the word ``all`` omits.
    parents : position of the quantity of which each quantity is a part, -1 for none; None if there are no such parts.
    """

    def __init__(
        self, words: Names | None, *, sums: Collection[str] = (), parents: Sequence[int] | np.ndarray | None = None
    ) -> None:
        self.words, self.sums, self.parents = words, sums, parents

    @property
    def names(self) -> Sequence[str]:
        """Names of the quantities; empty if they are not known yet."""
        return () if self.words is None else self.words.names

    def check(self, kind: str, what: Any) -> None:
        """Raise an error if a question is not valid.

        Parameters
        ----------
        kind, what : type and content of the question (`kind_of`).
        """
        if kind == "probability":
            if self.words is None:
                _check_text(what)
            else:
                comparison(what, self.words)
        elif kind == "sum":
            self.places(kind, what)
        elif kind == "share":
            self.share(what)
        elif kind == "rank":
            self.rank(what)
        else:
            self.sides(kind, what)

    def every(self) -> list[int]:
        """Return the positions of all quantities that are not sums of others."""
        return [place for place, name in enumerate(self.names) if name not in self.sums]

    def places(self, kind: str, names: Any) -> list[int]:
        """Return the positions of the quantities that are selected by one name, several different names, or ``all``.

        Parameters
        ----------
        kind : type of the question.
        names : the names.
        """
        if names == "all" and isinstance(names, str) and (self.words is None or names not in self.words.places):
            return self.every()
        listed = [names] if isinstance(names, str) else names
        if not isinstance(listed, Sequence) or not listed:
            raise ValueError(f"{kind} requires names of quantities, got {names!r}")
        texts = [str(name) for name in listed]
        places = [] if self.words is None else [self.words.place(text) for text in texts]
        if len(set(texts)) < len(texts):
            raise ValueError(f"{kind}: the names must be distinct, got {', '.join(texts)}")
        return places

    def sides(self, kind: str, what: Any) -> tuple[list[int], list[int]]:
        """Return the positions of the quantities on both sides of a difference or a ratio."""
        if not isinstance(what, Sequence) or isinstance(what, str) or len(what) != 2:
            raise ValueError(f"{kind} requires two sides, such as [a, b] or [[a, b], [c]], got {what!r}")
        first, second = (self.places(kind, side) for side in what)
        return first, second

    def share(self, what: Any) -> tuple[list[int], list[int]]:
        """Return the positions of the quantities in the numerator and in the denominator of a share."""
        if not isinstance(what, Mapping) or set(what) != {"of", "among"}:
            raise ValueError(f"share must have the form {{of: [..], among: [..]}}, got {what!r}")
        of, among = self.places("share", what["of"]), self.places("share", what["among"])
        for key, side in (("of", of), ("among", among)):
            listed = set(side)
            for place in side:
                if above := listed.intersection(self._above(place)):
                    name, container = self.names[place], self.names[above.pop()]
                    raise ValueError(
                        f"share: {name} is a part of {container}, so its records would be counted twice: list only one "
                        f"of them under {key!r}"
                    )
        self._check_listed("share", [place for place in of if not set(among).intersection(self._above(place))], among)
        return of, among

    def rank(self, what: Any) -> tuple[list[int], list[int], int]:
        """Return the positions of the quantities whose ranks are requested, the positions of all quantities that are
        ranked, and the largest rank that is at the top.
        """
        if not isinstance(what, Mapping) or not {"of"} <= set(what) <= {"of", "among", "top"}:
            raise ValueError(
                "rank must have the form {of: all, top: 5}, {of: [a, b, c], top: 2} or {of: a, among: all}, got "
                f"{what!r}"
            )
        of = self.places("rank", what["of"])
        among = self.places("rank", what["among"]) if "among" in what else of
        if self.words is None:
            return of, among, _checks.integer("top", what.get("top", 1), least=1)
        if len(among) < 2 and len(self.every()) > 1:
            name = self.names[of[0]]
            raise ValueError(
                f"rank requires at least two quantities, got {name}: to rank {name} among all, write {{of: {name}, "
                "among: all}"
            )
        self._check_listed("rank", of, among)
        return of, among, _checks.integer("top", what.get("top", min(5, len(among))), least=1, most=len(among))

    def _check_listed(self, kind: str, of: Sequence[int], among: Sequence[int]) -> None:
        """Raise ValueError if `among` lacks a quantity in `of`."""
        listed = set(among)
        if outside := [self.names[place] for place in of if place not in listed]:
            raise ValueError(
                f"{kind}: every name under 'of' must also be listed under 'among', which lacks {', '.join(outside)} "
                "('all' omits sums of other quantities)"
            )

    def _above(self, place: int) -> Iterator[int]:
        """Yield the positions of the quantities of which a quantity is a part."""
        while self.parents is not None and (place := int(self.parents[place])) >= 0:
            yield place
