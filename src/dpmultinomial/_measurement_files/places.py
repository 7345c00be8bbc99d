"""Counts of geographic units, such as counties, computed from the posterior distribution of the nodes of a tree. The
units are named by their GEOIDs.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from .._accuracy import Accuracy
from .._posteriors.trees.least_squares import LeastSquares
from .._posteriors.trees.tree import Leaves, Splits
from .._posteriors.trees.tree_posterior import infer
from .._results.distributions import Discrete
from .._results.expressions import Names, comparison
from .._results.posterior import Posterior
from .reading import MeasuredCell

COLUMNS = (
    "geoid", "geocode", "level", "quantity", "type", "released", "least_squares", "least_squares_sd", "mean", "sd",
    "lower", "upper", "status", "error",
)  # fmt: skip
_DRAWS = 4000  # number of draws for units that are sums of many nodes
_AT_ONCE = 500  # number of nodes that are drawn together
_SAMPLED = f"{_DRAWS:,} independent draws; error: largest standard error, plus the error of the distribution"
_GAUSSIAN = (
    "the combined error of several measurements is treated as Gaussian; error: approximate total variation distance"
)


class Places:
    """Posterior distributions of the count of one cell in all geographic units.

    Parameters
    ----------
    measured : measurements of the cell in all nodes.
    levels : names of the levels of the units.
    level : level of the intervals, in (0, 1).
    prior : concentrations of the splits, one number or a mapping from levels to numbers, by default fitted; or a string
        for independent priors of the deepest nodes, ``"flat"``, ``"1/(1+n)"``, ``"fitted"``.

    Raises
    ------
    ValueError
        If a level does not exist, or counts contradict each other.
    """

    def __init__(
        self, measured: MeasuredCell, levels: Sequence[str], *, level: float = 0.95, prior: Any = None
    ) -> None:
        self.measured, self.levels, self.level = measured, tuple(levels), level
        deepest = measured.spine.levels[self._depth()]
        chosen = Leaves(prior) if isinstance(prior, str) else Splits(prior)
        self.law = infer(measured.measurements, prior=chosen, level=level, deepest=deepest)
        accuracy = self.law.accuracy
        self.accuracy = accuracy
        if measured.error:
            self.accuracy = Accuracy("approximate", min(accuracy.error + measured.error, 1.0), _GAUSSIAN)

    def _depth(self) -> int:
        """Return the depth of the deepest node that is part of a geographic unit.

        Raises
        ------
        ValueError
            If a level does not exist.
        """
        spine = self.measured.spine
        known = [name for name in spine.tabulated if name in self.measured.levels or name not in spine.levels]
        if strangers := [name for name in self.levels if name not in known]:
            raise ValueError(
                f"levels: the files contain no data for {', '.join(strangers)}. The "
                f"available levels are {', '.join(known)}"
            )
        last = max(i for of in self.nodes.values() for rows in of.values() for i in rows)
        return int(np.searchsorted(spine.starts, last, side="right")) - 1

    @cached_property
    def nodes(self) -> dict[str, dict[str, list[int]]]:
        """Mapping from level and GEOID to the positions of the nodes that make up the geographic unit."""
        return {name: self.measured.spine.places(name) for name in self.levels}

    @cached_property
    def names(self) -> dict[str, list[int]]:
        """Mapping from the names used in questions, such as ``county 50001``, to the positions of the nodes."""
        return {f"{_word(level)} {geoid}": rows for level, of in self.nodes.items() for geoid, rows in of.items()}

    @property
    def least_squares(self) -> LeastSquares:
        """Least-squares solution for the measurements from which the posterior is computed."""
        return self.law.least_squares

    @cached_property
    def drawn(self) -> Accuracy:
        """Accuracy of the count of a geographic unit that is computed from joint draws of the nodes."""
        error = min(self.accuracy.error + 0.5 / np.sqrt(_DRAWS), 1.0)
        return Accuracy("approximate", error, _SAMPLED)

    @property
    def states(self) -> list[Accuracy]:
        """Accuracy of each row of the table, in the order of the rows."""
        return [self.drawn if len(rows) > 2 else self.accuracy for of in self.nodes.values() for rows in of.values()]

    def table(self, quantity: str, *, rng: np.random.Generator) -> pd.DataFrame:
        """Return a table with one row per geographic unit, level by level.

        Parameters
        ----------
        quantity : name of the cell.
        rng : numpy Generator, for units that are sums of nodes whose distribution does not have a closed form.

        Returns
        -------
        DataFrame The columns are `COLUMNS`; ``geoid`` is empty if the GEOID is not known.
        """
        return pd.concat([self._level(name, quantity, rng) for name in self.levels], ignore_index=True)

    def _level(self, name: str, quantity: str, rng: np.random.Generator) -> pd.DataFrame:
        places, spine = self.nodes[name], self.measured.spine
        first = np.array([rows[0] for rows in places.values()])
        single = np.array([len(rows) == 1 for rows in places.values()])
        codes = spine.codes[first].astype(object)
        columns: dict[str, Any] = {
            "geoid": [spine.geoid(name, place) for place in places],
            "geocode": np.where(single, codes, ""),
            "level": name,
            "quantity": self._quantities(name, quantity),
            "type": "count",
            "released": self._sums(self.measured.whole.released, places),
            "least_squares": self._sums(self.least_squares.estimate, places),
            "least_squares_sd": [self._spread(rows) for rows in places.values()],
        }
        frame = pd.DataFrame(columns | self._numbers(first))
        for rows, distribution in self.several([rows for rows in places.values() if len(rows) > 1], rng):
            row = int(np.flatnonzero(first == rows[0])[0])
            ends = distribution.interval(self.level)
            frame.loc[row, ["mean", "sd", "lower", "upper"]] = distribution.mean(), distribution.sd(), *ends
            frame.loc[row, "status"], frame.loc[row, "error"] = (
                distribution.accuracy.status,
                distribution.accuracy.error,
            )
        return frame[list(COLUMNS)]

    def _numbers(self, nodes: Any) -> dict[str, Any]:
        """Return the numeric columns of the table for geographic units that consist of a single node."""
        columns = {key: getattr(self.law, key)[nodes].copy() for key in ("mean", "sd", "lower", "upper")}
        return {**columns, "status": self.accuracy.status, "error": self.accuracy.error}

    def _quantities(self, name: str, quantity: str) -> list[str]:
        """Return the name of the cell for each geographic unit, with the remark "part outside AIAN areas" for counties
        from which these areas are missing.
        """
        spine = self.measured.spine
        part = f"{quantity} (part outside AIAN areas)" if spine.lacks_aian_parts(name) else quantity
        return [part if spine.geoid(name, place) else quantity for place in self.nodes[name]]

    @staticmethod
    def _sums(values: Any, places: Mapping[str, list[int]]) -> Any:
        return [float(values[rows].sum()) for rows in places.values()]

    def _spread(self, rows: list[int]) -> float:
        """Return the standard deviation of the least-squares estimate of a sum of node counts."""
        least = self.least_squares
        if len(rows) == 1:
            return float(least.sd[rows[0]])
        if not np.isfinite(least.sd[rows]).all():
            return float("nan")
        return float(np.sqrt(max(sum(least.covariance(a, b) for a in rows for b in rows), 0.0)))

    def several(self, wanted: list[list[int]], rng: np.random.Generator) -> list[tuple[list[int], Any]]:
        """Return the distributions of several sums of counts, each over a given list of nodes. The distribution is
        exact for a sum of two nodes, and is otherwise computed from joint draws.
        """
        distributions: list[tuple[list[int], Any]] = []
        many: list[list[int]] = []
        for rows in wanted:
            if len(rows) == 2:
                law = self.law.sum(*rows)
                distributions.append(
                    (rows, Discrete(law.values, law.probabilities, name="", type="count", accuracy=self.accuracy))
                )
            else:
                many.append(rows)
        while many:
            size = np.cumsum([len(rows) for rows in many])
            take = max(int(np.searchsorted(size, _AT_ONCE, side="right")), 1)
            batch, many = many[:take], many[take:]
            draws = self.law.sample(_DRAWS, rng=rng, nodes=[i for rows in batch for i in rows])
            ends = np.cumsum([0, *map(len, batch)])
            distributions += [
                (rows, self._drawn(draws[:, a:b].sum(axis=1)))
                for rows, a, b in zip(batch, ends, ends[1:], strict=False)
            ]
        return distributions

    def _drawn(self, values: Any) -> Discrete:
        unique, counts = np.unique(values, return_counts=True)
        return Discrete(unique, counts / _DRAWS, name="", type="count", accuracy=self.drawn)

    def ask(self, questions: Mapping[str, Any], *, rng: np.random.Generator) -> pd.DataFrame:
        """Answer questions about geographic units. The questions have the format of `Posterior.ask` and use the `names`
        of the units.

        Raises
        ------
        KeyError, ValueError
            If a name is unknown, or a rank is requested for units that consist of several nodes.
        """
        known = Names(tuple(self.names))
        translated = {label: self._translated(question, known) for label, question in questions.items()}
        answers = self._posterior(translated).ask(translated, level=self.level, rng=rng)
        reasons, certain = answers.attrs["reasons"], np.array(answers.attrs["certain"], dtype=bool)
        back = {self.measured.tree.names[rows[0]]: name for name, rows in self.names.items() if len(rows) == 1}
        answers["quantity"] = [_renamed(str(text), back) for text in answers["quantity"]]
        if more := self._error_of_questions(translated):
            answers["status"] = np.where(certain, answers["status"], "approximate")
            error = np.minimum(answers["error"].astype(float) + more, 1.0)
            answers["error"] = np.where(certain, answers["error"], error)
            base = self.accuracy.reason
            reasons = [
                reason if sure or base in reason else "; ".join([base, *([reason] * bool(reason))])
                for reason, sure in zip(reasons, certain, strict=True)
            ]
        empty = pd.DataFrame("", index=answers.index, columns=["geoid", "geocode", "level"])
        numbers = pd.DataFrame(np.nan, index=answers.index, columns=["released", "least_squares", "least_squares_sd"])
        table = pd.concat([empty, numbers, answers.drop(columns=["level"], errors="ignore")], axis=1)[list(COLUMNS)]
        table.attrs |= {"reasons": reasons, "certain": certain.tolist()}
        return table

    def _posterior(self, questions: Mapping[str, Any]) -> Posterior:
        """Return the posterior distribution of the counts of nodes, which is used to answer questions."""
        return self.law.posterior()

    def _error_of_questions(self, questions: Mapping[str, Any]) -> float:
        """Return a bound on the error that the Gaussian approximation of the combined noise adds to every answer. The
        bound is 0 unless the combined noise is treated as Gaussian.
        """
        return self.accuracy.error if self.measured.error else 0.0

    def _translated(self, question: Any, known: Names) -> Any:
        """Return a question about nodes that is equivalent to a question about geographic units."""
        if not isinstance(question, Mapping):
            raise TypeError(f"a question must be a mapping such as {{difference: [a, b]}}, got {question!r}")
        kinds = {"probability": self._compared, "rank": self._ranked, "share": self._shared}
        about = {key: part for key, part in question.items() if key == "about"}
        asked = {key: part for key, part in question.items() if key != "about"}
        translated: dict[str, Any] = {}
        for key, part in asked.items():
            if key in kinds:
                translated[key] = kinds[key](part, known)
            elif key == "sum" or isinstance(part, str):
                translated[key] = self._listed(part, known)
            else:
                translated[key] = [self._listed(side, known) for side in part]
        return {**translated, **about}

    def _listed(self, side: Any, known: Names) -> list[str]:
        """Return the nodes of one place, of several places, or of ``all`` places of the only level."""
        rows = [i for name in self._wanted(side) for i in self._rows(name, known)]
        return [self.measured.tree.names[i] for i in rows]

    def _wanted(self, side: Any) -> list[str]:
        if side != "all":
            return [side] if isinstance(side, str) else [str(name) for name in side]
        if len(self.levels) > 1:
            raise ValueError(
                f"'all' requires a single level, got {len(self.levels)} levels ({', '.join(self.levels)}): choose one "
                "level, or list the places"
            )
        return list(self.names)

    def _rows(self, name: str, known: Names) -> list[int]:
        known.place(name)
        return self.names[name]

    def _compared(self, text: Any, known: Names) -> str:
        asked, places = comparison(text, known), list(self.names.values())
        terms = [
            f"{size:+.17g} * '{self.measured.tree.names[i]}'"
            for p, size in asked.coefficients.items()
            for i in places[p]
        ]
        return f"{' '.join(terms) or '0'} {asked.operator} {asked.bound:.17g}"

    def _shared(self, part: Any, known: Names) -> Any:
        if not isinstance(part, Mapping):
            return part
        return {key: self._listed(side, known) for key, side in part.items()}

    def _ranked(self, part: Any, known: Names) -> Any:
        if not isinstance(part, Mapping) or "of" not in part:
            return part
        sides = {key: side for key, side in part.items() if key != "top"}
        for name in (name for side in sides.values() for name in self._wanted(side)):
            if len(self._rows(name, known)) > 1:
                raise ValueError(
                    f"{name} cannot be ranked, because this place is a sum of several nodes of the geographic "
                    "hierarchy: ask for differences"
                )
        return {**part, **{key: self._listed(side, known) for key, side in sides.items()}}


def _word(level: str) -> str:
    return level.lower().replace("_", " ")


def _renamed(text: str, back: Mapping[str, str]) -> str:
    """Replace geocodes by the names of geographic units in the row names of a table of ranks. Such a name has the form
    ``label: name`` or ``label: P(name in top k)``.
    """
    label, colon, rest = text.rpartition(": ")
    inside = rest.removeprefix("P(").split(" in top ")[0] if colon else ""
    return f"{label}: {rest.replace(inside, back[inside])}" if inside in back else text
