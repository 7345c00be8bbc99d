"""Questions about several quantities at once: sums, differences, ratios, shares, probabilities, ranks.

Exact where the posterior says how its quantities hang together (`together`); else from independent draws of the exact
joint law, with their Monte Carlo error beside the answer.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import _checks
from .._honesty import EXACT, Honesty
from . import _exact_laws, ranks
from ._drawn import Drawer
from .chance import Chance
from .expressions import Comparison, comparison
from .laws import Discrete, Draws
from .marginals import Marginal
from .quantities import Quantities
from .together import Independent
from .whole import Unlisted, Window

KINDS = ("sum", "difference", "ratio", "share", "probability", "rank")
NAN = float("nan")
_ZERO = "its denominator is 0 for certain"
Found = TypeVar("Found")
Row = tuple[str, float, float, float, float, str, float]  # quantity, mean, sd, lower, upper, status, error


class Asked:
    """Questions about one group of quantities.

    Parameters
    ----------
    group : the quantities.
    drawer : draws of them, for what has no closed form.
    """

    def __init__(self, group: Quantities, drawer: Drawer) -> None:
        self.group, self.drawer = group, drawer

    def rows(self, label: str, question: Mapping[str, Any], level: float) -> list[Row]:
        """What is said to one question.

        Parameters
        ----------
        label : the question's name.
        question : a mapping with one of `KINDS`.
        level : of intervals, in (0, 1).

        Returns
        -------
        list of rows
            Of a probability the mean is the probability, and sd, lower and upper are NaN; a rank has two rows a name.
        """
        kind, what = _one(question)
        if kind == "probability":
            found = self.probability(what)
            return [(label, float(found), NAN, NAN, NAN, found.honesty.word, found.honesty.error)]
        if kind == "rank":
            return self._rank_rows(label, what, level)
        law = self.law(label, kind, what)
        ends = law.interval(level)
        return [(label, law.mean(), law.sd(), *ends, law.honesty.word, law.honesty.error)]

    def law(self, label: str, kind: str, what: Any) -> Marginal:
        """Law of a sum, difference, ratio or share.

        Parameters
        ----------
        label : name of the law.
        kind : one of the first four of `KINDS`.
        what : names: those that are summed; the two sides of a difference or a ratio, each a name or several;
            ``{of: [..], among: [..]}`` for a share.

        Returns
        -------
        Marginal
            Of type ``question``; a ratio or share is given that its denominator is not 0 (`Marginal.honesty` says how
            probable that is).
        """
        if kind == "sum":
            plus: list[int] = self._places("sum", what)
            minus: list[int] = []
        elif kind == "share":
            plus, minus = self._share(what)
        else:
            plus, minus = self._sides(kind, what)
        together = self.group.together
        if kind in ("ratio", "share"):
            found = _listed(lambda: None if together is None else _exact_laws.ratio(together, plus, minus))
            if found is not None:
                values, probabilities, undefined = found
                if not len(values) or undefined >= 1:
                    raise ValueError(_ZERO)
                return Discrete(values, probabilities, name=label, type="question", honesty=self._state(undefined))
            return self._drawn_ratio(label, plus, minus)
        both = set(plus) & set(minus)
        plus, minus = [i for i in plus if i not in both], [i for i in minus if i not in both]
        if not plus + minus:  # what is on both sides cancels, whatever it is
            return Discrete(np.zeros(1), np.ones(1), name=label, type="question", honesty=EXACT)
        if together is None:
            return self._drawn(label, plus, minus)
        law = _listed(lambda: _exact_laws.difference(together, plus, minus))
        return self._drawn(label, plus, minus) if law is None else _discrete(law, together.unit, label)

    def probability(self, text: str) -> Chance:
        """Probability of a comparison.

        Parameters
        ----------
        text : as `expressions.comparison` reads it.

        Returns
        -------
        Chance
        """
        asked, together = comparison(text, self.group.words), self.group.together
        if together is not None:
            found = _listed(lambda: _exact_laws.chance(together, asked))
            if found is not None:
                return Chance(found, EXACT)
        if len(asked.coefficients) <= 1 and (single := self._of_one(asked)) is not None:
            return single
        places = list(asked.coefficients)
        values = self.drawer.columns(places) @ np.array([asked.coefficients[p] for p in places])
        return self.drawer.chance(asked.holds(values))

    def _of_one(self, asked: Comparison) -> Chance | None:
        """A single quantity against a number: its own law, if that is no sample."""
        if not asked.coefficients:
            return Chance(float(asked.holds(np.zeros(1))[0]), EXACT)
        ((place, size),) = asked.coefficients.items()
        law = self.group[self.group.names[place]]
        if isinstance(law, Draws):
            return None
        if isinstance(law, Discrete):
            true = asked.holds(size * np.asarray(law.values, dtype=float))
            yes, no = float(law.probabilities[true].sum()), float(law.probabilities[~true].sum())
            return Chance(yes / (yes + no) if yes <= no else 1 - no / (yes + no), law.honesty)
        if asked.operator in ("==", "!="):
            return Chance(float(asked.operator == "!="), law.honesty)
        below = float(law.cdf(asked.bound / size))
        return Chance(below if (asked.operator in ("<", "<=")) == (size > 0) else 1 - below, law.honesty)

    def _rank_rows(self, label: str, what: Any, level: float) -> list[Row]:
        """Two rows a name: its rank, and the probability of being among the first."""
        if not isinstance(what, Mapping) or not {"of"} <= set(what) <= {"of", "top"}:
            raise ValueError(f"rank must be {{of: all or names, top: number}}, got {what!r}")
        every = what["of"] == "all"
        places = list(range(len(self.group))) if every else self._places("rank", what["of"])
        top = _checks.whole("top", what.get("top", min(5, len(places))), least=1, most=len(places))
        together = self.group.together
        exact = ranks.exact(together, places, top) if isinstance(together, Independent) else None
        state = self.drawer.state if exact is None else EXACT
        rows: list[Row] = []
        for rank in self.drawer.ranks(places, top) if exact is None else exact:
            name, p = self.group.names[rank.place], rank.among(top)
            law = Discrete(rank.ranks, rank.probabilities, name=name, type="question", honesty=state)
            errors = (0.0, 0.0) if exact else (self.drawer.error(law.sd()), self.drawer.error_of_chance(p))
            rows.append((f"{label}: {name}", law.mean(), law.sd(), *law.interval(level), state.word, errors[0]))
            rows.append((f"{label}: P({name} in top {top})", p, NAN, NAN, NAN, state.word, errors[1]))
        return rows

    def _drawn(self, label: str, plus: list[int], minus: list[int]) -> Marginal:
        x = self.drawer.columns(plus + minus) @ np.array([1.0] * len(plus) + [-1.0] * len(minus))
        return self.drawer.law(x, label)

    def _drawn_ratio(self, label: str, above: list[int], below: list[int]) -> Marginal:
        every = [*above, *(i for i in below if i not in set(above))]
        draws = self.drawer.columns(every)
        column = {place: i for i, place in enumerate(every)}
        top = draws[:, [column[i] for i in above]].sum(axis=1)
        bottom = draws[:, [column[i] for i in below]].sum(axis=1)
        good = bottom != 0
        if not good.any():
            raise ValueError(_ZERO)
        return self.drawer.law(top[good] / bottom[good], label)

    def _state(self, undefined: float) -> Honesty:
        if undefined <= 0:
            return EXACT
        return Honesty("exact", 0.0, f"given that the denominator is not 0, which has probability {1 - undefined:.6g}")

    def _places(self, kind: str, names: Any) -> list[int]:
        """Positions of one name, or of several different ones."""
        listed = [names] if isinstance(names, str) else names
        if not isinstance(listed, Sequence) or not listed:
            raise ValueError(f"{kind} needs names, got {names!r}")
        places = [self.group.words.place(str(name)) for name in listed]
        if len(set(places)) < len(places):
            raise ValueError(f"{kind}: names must differ, got {', '.join(map(str, listed))}")
        return places

    def _sides(self, kind: str, what: Any) -> tuple[list[int], list[int]]:
        if not isinstance(what, Sequence) or isinstance(what, str) or len(what) != 2:
            raise ValueError(f"{kind} needs two sides, [a, b] or [[a, b], [c]], got {what!r}")
        first, second = (self._places(kind, side) for side in what)
        return first, second

    def _share(self, what: Any) -> tuple[list[int], list[int]]:
        if not isinstance(what, Mapping) or set(what) != {"of", "among"}:
            raise ValueError(f"share must be {{of: [..], among: [..]}}, got {what!r}")
        of, among = self._places("share", what["of"]), self._places("share", what["among"])
        if not set(of) <= set(among):
            raise ValueError(f"share: all of {what['of']!r} must be among {what['among']!r}")
        return of, among


def about_of(question: Any, groups: Sequence[str]) -> str:
    """The group that a question is about: what it says, or the first of `groups`."""
    if not isinstance(question, Mapping):
        raise TypeError(f"a question must be a mapping such as {{difference: [a, b]}}, got {question!r}")
    return _checks.one_of("about", question.get("about", groups[0]), tuple(groups))


def _one(question: Mapping[str, Any]) -> tuple[str, Any]:
    """Kind and content of a question."""
    kinds = [key for key in question if key != "about"]
    if len(kinds) != 1 or kinds[0] not in KINDS:
        raise ValueError(
            f"a question must have one of {', '.join(KINDS)}, got {', '.join(map(str, question)) or 'none'}"
        )
    return str(kinds[0]), question[kinds[0]]


def _listed(find: Callable[[], Found]) -> Found | None:
    """What is found; None where it has to be drawn."""
    try:
        return find()
    except Unlisted:
        return None


def _discrete(law: Window, unit: float, label: str) -> Discrete:
    values = law.values() if unit == 1 else law.values() * unit
    return Discrete(values, law.weights, name=label, type="question", honesty=EXACT)
