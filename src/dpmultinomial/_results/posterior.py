"""The one result of every inference: laws of counts, shares, rates and parameters, and how far to trust them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from .._accuracy import LEVEL, Accuracy
from .quantities import Chance, Quantities
from .questions import Asked, Drawer, about_of

COLUMNS = ("quantity", "type", "mean", "sd", "lower", "upper", "level", "status", "error")
GROUPS = {"counts": "count", "shares": "share", "rates": "rate", "parameters": "parameter"}
_MEANING = {
    "counts": "whole numbers in the confidential file",
    "shares": "ratios of counts in the confidential file",
    "rates": "probabilities that the file is taken to be a sample of",
    "parameters": "parameters of a model",
}
_ORDER = ("exact", "approximate", "converged", "not converged")
Joint = Callable[[int, np.random.Generator], Mapping[str, NDArray[Any]]]


class Posterior:
    """What a release says, given its mechanism and a prior.

    ``.counts``, ``.shares``, ``.rates`` and ``.parameters`` are `Quantities`, those that exist: counts and shares are
    of the confidential file, rates are probabilities that the file is taken to be a sample of.

    Parameters
    ----------
    groups : ``counts``, ``shares``, ``rates``, ``parameters`` -> `Quantities`; at least one.
    joint : (size, rng) -> draws of all groups together, group -> (size, names).
    method : the algorithm that found it.
    facts : what was assumed and found, JSON-able: law, prior, total, cost; or what works it out when it is asked for.
    source : the object of the library that holds the law, for what this protocol does not give.

    Attributes
    ----------
    again : call without arguments that computes the same posterior; None where it is not known. A pickle holds it.
    """

    def __init__(
        self,
        groups: Mapping[str, Quantities],
        *,
        joint: Joint,
        method: str,
        facts: Mapping[str, object] | Callable[[], Mapping[str, object]] | None = None,
        source: object = None,
    ) -> None:
        self._groups, self._joint, self.method = dict(groups), joint, method
        self._facts, self.source = facts, source
        self.again: Callable[[], Posterior] | None = None

    def __reduce__(self) -> tuple[Callable[[], "Posterior"], tuple[()]]:
        """Pickle the release, the prior and the state of the random generator: the posterior is computed again."""
        if self.again is None:
            raise TypeError("only a posterior made by dpmultinomial.posterior can be pickled")
        return self.again, ()

    @cached_property
    def facts(self) -> dict[str, object]:
        """What was assumed and found, JSON-able."""
        return dict((self._facts() if callable(self._facts) else self._facts) or {})

    @property
    def counts(self) -> Quantities:
        """Counts of the confidential file."""
        return self._group("counts")

    @property
    def shares(self) -> Quantities:
        """Shares of the confidential file; ``.among(..)`` those among some categories."""
        return self._group("shares")

    @property
    def rates(self) -> Quantities:
        """Probabilities that the file is taken to be a sample of; ``.among(..)`` those among some categories."""
        return self._group("rates")

    @property
    def parameters(self) -> Quantities:
        """Parameters of a model."""
        return self._group("parameters")

    @property
    def groups(self) -> tuple[str, ...]:
        """Which of ``counts``, ``shares``, ``rates``, ``parameters`` there are."""
        return tuple(self._groups)

    @property
    def accuracy(self) -> Accuracy:
        """The worst state of accuracy of all quantities."""
        states = [state for group in self._groups.values() for state in group.states]
        return max(states, key=lambda state: _ORDER.index(state.status))

    def sample(self, size: int, *, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draws of everything together.

        Parameters
        ----------
        size : number of draws.
        rng : numpy Generator.

        Returns
        -------
        dict
            Group -> (size, names), row by row from the same draw; the columns are those of ``.names``.
        """
        return dict(self._joint(_checks.whole("size", size), _checks.generator(rng)))

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """One row a quantity.

        Parameters
        ----------
        level : of the central intervals, in (0, 1).

        Returns
        -------
        DataFrame
            Columns quantity, type, mean, sd, lower, upper, level, status, error (0 where exact, NaN where unknown).
        """
        _checks.inside("level", level)
        frames = []
        for name, group in self._groups.items():
            found, states = group.numbers(level), group.states
            columns = (list(group), GROUPS[name], found.mean, found.sd, found.lower, found.upper, level)
            accuracy = ([state.status for state in states], [state.error for state in states])
            frames.append(pd.DataFrame(dict(zip(COLUMNS, (*columns, *accuracy), strict=True))))
        return pd.concat(frames, ignore_index=True)

    def probability(
        self,
        text: str,
        *,
        of: str = "counts",
        among: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> Chance:
        """Probability of a comparison of quantities.

        Parameters
        ----------
        text : such as ``"men > women"``, ``"met >= 0.6"``, ``"'not met' > 2 * failed + 3"``; names that are numbers, or
            with which a longer name begins, stand in quotes.
        of : which group the names are of, ``"counts"``, ``"shares"``, ``"rates"`` or ``"parameters"``.
        among : names among which shares or rates are taken; None: all.
        rng : numpy Generator, needed where no closed form answers.

        Returns
        -------
        Chance
            A float with ``.accuracy``: exact, or from 100,000 draws with its standard error.

        Raises
        ------
        KeyError
            If a word is no name.
        ValueError, TypeError
            If the text is no comparison, or draws are needed and there is no Generator.
        """
        return self._asked(of, rng, among).probability(text)

    def ask(
        self,
        questions: Mapping[str, Mapping[str, Any]],
        *,
        level: float = LEVEL,
        rng: np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Answers to questions about several quantities.

        Parameters
        ----------
        questions : name of a question -> one of ``{sum: [names]}``, ``{difference: [a, b]}``, ``{ratio: [a, b]}`` (each
            side a name or a list), ``{share: {of: [names], among: [names]}}``, ``{probability: "a > b"}``,
            ``{rank: {of: all or [names], top: 5}}``; with ``about: shares`` (or another group) where it is not about
            the first group of the posterior, counts where there are counts.
        level : of the intervals, in (0, 1).
        rng : numpy Generator, needed where no closed form answers.

        Returns
        -------
        DataFrame
            Columns as of `summary`, type ``question``. Of a probability ``mean`` is the probability and sd, lower and
            upper are NaN. A rank has two rows a name: the rank, and the probability of being among the first.
            ``error`` is 0 where exact, else one Monte Carlo standard error of ``mean``.

        Raises
        ------
        KeyError
            If a word is no name; the question is named.
        ValueError, TypeError
            If a question breaks its rule, or draws are needed and there is no Generator; the question is named.
        """
        _checks.inside("level", level)
        asked: dict[str, Asked] = {}
        rows: list[tuple[object, ...]] = []
        for label, question in questions.items():
            try:
                about = about_of(question, self.groups)
                if about not in asked:
                    asked[about] = self._asked(about, rng)
                for quantity, *numbers, status, error in asked[about].rows(str(label), question, level):
                    rows.append((quantity, "question", *numbers, level, status, error))
            except (KeyError, ValueError, TypeError, AttributeError) as wrong:
                raise type(wrong)(f"{label}: {wrong.args[0]}") from None
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def to_arviz(self, draws: int = 1000, *, rng: np.random.Generator) -> Any:
        """Draws as ArviZ takes them, one variable a group; needs the package arviz-base.

        Parameters
        ----------
        draws : number of draws, of one chain.
        rng : numpy Generator.

        Returns
        -------
        xarray.DataTree
        """
        try:
            from arviz_base import from_dict
        except ImportError as error:
            raise ModuleNotFoundError("to_arviz needs arviz-base: install dpmultinomial[arviz]") from error
        found = self.sample(draws, rng=rng)
        names = {f"{group}_name": list(self._groups[group].names) for group in found}
        dims = {group: [f"{group}_name"] for group in found}
        return from_dict({"posterior": {k: v[None] for k, v in found.items()}}, coords=names, dims=dims)

    def plot(self) -> Any:
        """Medians and 95 % intervals of every quantity, a panel a group; needs matplotlib.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from .plot import intervals  # matplotlib only where something is drawn

        return intervals(self._groups)

    def __repr__(self) -> str:
        parts = [f"{len(group)} {name}" for name, group in self._groups.items()]
        table = self.summary().drop(columns=["level", "error"]).to_string(index=False, max_rows=24)
        first = f"Posterior of {', '.join(parts)} by {self.method}: {self.accuracy}"
        return "\n".join([first, *self._warnings(), table])

    def _repr_html_(self) -> str:
        warnings = "".join(f"<p><strong>{escape(text)}</strong></p>" for text in self._warnings())
        return warnings + str(self.summary().to_html(index=False, max_rows=60))

    def _warnings(self) -> list[str]:
        """Return the contradictions found between the released values, the noise and the prior."""
        check: Any = self.facts.get("conflict")
        if not isinstance(check, Mapping) or not check.get("found"):
            return []
        names = ", ".join(map(str, check["names"]))
        p = f"smallest p-value {check['smallest']:.1g} among {check['tested']:,}"
        return [f"CONFLICT: improbable under the stated noise and prior: {names} ({p})"]

    def _asked(self, group: str, rng: np.random.Generator | None, among: Sequence[str] | None = None) -> Asked:
        quantities = self._group(_checks.one_of("of", group, tuple(GROUPS)))
        quantities = quantities if among is None else quantities.among(*among)
        return Asked(quantities, Drawer(quantities, rng))

    def _group(self, name: str) -> Quantities:
        if name not in self._groups:
            has = " and ".join(self._groups)
            raise AttributeError(f"this release says nothing of {name} ({_MEANING[name]}); it has {has}")
        return self._groups[name]
