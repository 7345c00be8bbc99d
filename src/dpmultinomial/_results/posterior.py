"""Result class of all inference functions, which contains the distributions of counts, shares, rates and parameters,
and their accuracy status.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from .._accuracy import LEVEL, Accuracy
from .._printing import not_compared, p_value, prior_matters
from .quantities import Chance, Quantities
from .questions import CERTAIN, Asked, Drawer, about_of

COLUMNS = ("quantity", "type", "mean", "sd", "lower", "upper", "level", "status", "error")
GROUPS = {"counts": "count", "shares": "share", "rates": "rate", "parameters": "parameter"}
_MEANING = {
    "counts": "integers in the confidential file",
    "shares": "ratios of counts in the confidential file",
    "rates": "probabilities of the population from which the file is a sample",
    "parameters": "parameters of a model",
}
_ORDER = ("exact", "approximate", "converged", "not converged")
Joint = Callable[[int, np.random.Generator], Mapping[str, NDArray[Any]]]


class Posterior:
    """Posterior distributions of all quantities given a release, its mechanism and a prior.

    ``.counts``, ``.shares``, ``.rates`` and ``.parameters`` are `Quantities`, if they exist: counts and shares describe
    the confidential file, and rates are the category probabilities in the population from which the file is assumed to
    be sampled.

    Parameters
    ----------
    groups : mapping from ``counts``, ``shares``, ``rates``, ``parameters`` to `Quantities`; at least one.
    joint : function of (size, rng) that returns joint draws of all groups, as a mapping from groups to arrays (size,
        names).
    method : name of the algorithm that computed the posterior.
    facts : assumptions and results of checks, as values for JSON: distribution, prior, total, cost; or a function that
        computes them when they are needed.
    log_evidence : function that computes the log evidence; None if the method does not compute the evidence.
    source : object of the library that contains the distribution, for details that this interface does not offer.

    Attributes
    ----------
    again : function without arguments that computes the same posterior; None if no such function is known. A pickle
        contains this function.
    """

    def __init__(
        self,
        groups: Mapping[str, Quantities],
        *,
        joint: Joint,
        method: str,
        facts: Mapping[str, object] | Callable[[], Mapping[str, object]] | None = None,
        source: object = None,
        log_evidence: Callable[[], float] | None = None,
    ) -> None:
        self._groups, self._joint, self.method = dict(groups), joint, method
        self._log_evidence = log_evidence
        self._facts, self.source = facts, source
        self.again: Callable[[], Posterior] | None = None

    def __reduce__(self) -> tuple[Callable[[], "Posterior"], tuple[()]]:
        """Pickle the release, the prior and the state of the random number generator. The posterior is computed again
        when it is loaded.
        """
        if self.again is None:
            raise TypeError(
                f"only a result of dpmultinomial.posterior can be pickled, got a result of another function (method "
                f"{self.method!r}): save the summary of this result instead"
            )
        return self.again, ()

    @cached_property
    def facts(self) -> dict[str, object]:
        """Assumptions of the inference, and results of checks, in a form that can be written as JSON."""
        return dict((self._facts() if callable(self._facts) else self._facts) or {})

    @cached_property
    def log_evidence(self) -> float:
        """Log of the probability of all released values under the model, or of their density if the values are real
        numbers. It is exact for separate counts with proper priors; for a regression, the integral over the
        hyperparameters is approximate. For counts of a tree, it is exact up to a constant of the prior, because a flat
        prior gives each total (or each count of a leaf) the weight 1. Separate counts without a proper prior have no
        evidence (AttributeError).
        """
        if self._log_evidence is None:
            raise AttributeError(
                f"log_evidence is not available for the method {self.method!r}: it is available only for noisy counts "
                "without a total, for trees and for regressions"
            )
        return float(self._log_evidence())

    @property
    def counts(self) -> Quantities:
        """Posterior distributions of the counts in the confidential file."""
        return self._group("counts")

    @property
    def shares(self) -> Quantities:
        """Posterior distributions of the shares of the categories in the confidential file. The method ``.among(..)``
        gives the shares among a subset of the categories.
        """
        return self._group("shares")

    @property
    def rates(self) -> Quantities:
        """Posterior distributions of the category probabilities in the population from which the records of the file
        are assumed to be sampled. The method ``.among(..)`` gives the probabilities among a subset of the categories.
        """
        return self._group("rates")

    @property
    def parameters(self) -> Quantities:
        """Posterior distributions of the parameters of the model."""
        return self._group("parameters")

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the available groups, which are a subset of ``counts``, ``shares``, ``rates`` and ``parameters``."""
        return tuple(self._groups)

    @property
    def accuracy(self) -> Accuracy:
        """Worst accuracy status among all quantities."""
        states = [state for group in self._groups.values() for state in group.states]
        return max(states, key=lambda state: _ORDER.index(state.status))

    def sample(self, size: int, *, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw all quantities jointly from the posterior distribution.

        Parameters
        ----------
        size : number of draws.
        rng : numpy Generator.

        Returns
        -------
        dict
            Mapping from a group to (size, names); the same row of all groups is one joint draw; columns as in
            ``.names``.
        """
        return dict(self._joint(_checks.integer("size", size), _checks.generator(rng)))

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return a table of posterior summaries with one row per quantity.

        Parameters
        ----------
        level : probability of the central intervals, in (0, 1).

        Returns
        -------
        DataFrame
            Columns quantity, type, mean, sd, lower, upper, level, status, error (0 if exact, NaN if unknown).
        """
        _checks.inside("level", level)
        frames = []
        for name, group in self._groups.items():
            numbers, states = group.numbers(level), group.states
            columns = (list(group), GROUPS[name], numbers.mean, numbers.sd, numbers.lower, numbers.upper, level)
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
        """Return the probability that a comparison of quantities is true.

        Parameters
        ----------
        text : comparison such as ``"men > women"``, ``"met >= 0.6"``, ``"'not met' > 2 * failed + 3"``; a name must be
            quoted if it is a number or a longer name begins with it.
        of : group of the names, ``"counts"``, ``"shares"``, ``"rates"`` or ``"parameters"``.
        among : names among which shares or rates are computed; None: all.
        rng : numpy Generator, needed if there is no closed form.

        Returns
        -------
        Chance
            A float with ``.accuracy``: exact, or estimated from 100,000 draws with its standard error.

        Raises
        ------
        KeyError
            If the text contains an unknown name.
        ValueError, TypeError
            If the text is not a comparison, or draws are needed and no Generator is passed.
        """
        return self._asked(of, rng, among).probability(text)

    def ask(
        self,
        questions: Mapping[str, Mapping[str, Any]],
        *,
        level: float = LEVEL,
        rng: np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Answer questions about several quantities, and return the answers as a table.

        Parameters
        ----------
        questions : mapping from the name of a question to one of ``{sum: [names]}``, ``{difference: [a, b]}``,
            ``{ratio: [a, b]}`` (each side a name or a list), ``{share: {of: [names], among: [names]}}``,
            ``{probability: "a > b"}``, ``{rank: {of: all or [names], top: 5}}``, ``{rank: {of: [names], among: all}}``.
            Add ``about: shares`` (or another group) if the question is not about the first group of `groups`, which is
            counts for most posteriors, but rates for a regression.
        level : probability of the intervals, in (0, 1).
        rng : numpy Generator, needed if there is no closed form.

        Returns
        -------
        DataFrame
            Columns as in `summary`, with type ``question``. For a probability, ``mean`` is the probability, and sd,
            lower and upper are NaN. A rank has two rows per name: the rank, and the probability of being among the
            first. ``error`` is 0 if the answer is exact; for an answer from draws, it is one Monte Carlo standard error
            of ``mean``, or a 95 % bound if all draws agree; otherwise, it is the error of the approximation. NaN if it
            is not known.

        Raises
        ------
        KeyError
            If a question contains an unknown name; the message states the label of the question.
        ValueError, TypeError
            If a question is invalid, or draws are needed and no Generator is passed; the message states the name of the
            question.
        """
        _checks.inside("level", level)
        if not isinstance(questions, Mapping):
            raise TypeError(
                "questions must be a mapping from names to questions, for example {'more': {'probability': 'a > "
                f"b'}}}}, got {questions!r}"
            )
        asked: dict[str, Asked] = {}
        rows: list[tuple[object, ...]] = []
        states: list[Accuracy] = []
        for label, question in questions.items():
            try:
                about = about_of(question, self.groups)
                if about not in asked:
                    asked[about] = self._asked(about, rng)
                for quantity, *numbers, state in asked[about].rows(str(label), question, level):
                    rows.append((quantity, "question", *numbers, level, state.status, state.error))
                    states.append(state)
            except (KeyError, ValueError, TypeError, AttributeError) as wrong:
                raise type(wrong)(f"{label}: {wrong.args[0]}") from None
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        table.attrs["reasons"] = [state.reason for state in states]  # reason for the accuracy status of each row
        table.attrs["certain"] = [state is CERTAIN for state in states]  # whether the answer holds for any data
        return table

    def to_arviz(self, draws: int = 1000, *, rng: np.random.Generator) -> Any:
        """Return draws in the format of ArviZ, with one variable per group. The package arviz-base is required.

        Parameters
        ----------
        draws : number of draws, in a single chain.
        rng : numpy Generator.

        Returns
        -------
        xarray.DataTree
        """
        try:
            from arviz_base import from_dict
        except ImportError as error:
            raise ModuleNotFoundError(
                "to_arviz requires arviz-base: install arviz-base (pip install arviz-base)"
            ) from error
        samples = self.sample(draws, rng=rng)
        names = {f"{group}_name": list(self._groups[group].names) for group in samples}
        dims = {group: [f"{group}_name"] for group in samples}
        return from_dict({"posterior": {k: v[None] for k, v in samples.items()}}, coords=names, dims=dims)

    def plot(
        self, about: str | None = None, *, level: float = LEVEL, largest: int | None = None, ax: Any = None
    ) -> Any:
        """Plot medians and central intervals with one panel per group. The package matplotlib is required.

        Parameters
        ----------
        about : name of a group, e.g. ``"rates"``; by default all groups, or the first group if `ax` is passed.
        level : probability of the intervals, in (0, 1).
        largest : number of quantities per group, starting with the largest medians; by default all.
        ax : matplotlib Axes to draw in; by default a new figure.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ValueError, TypeError
            If the posterior does not have this group, or an argument is out of range.
        """
        from .plot import intervals  # matplotlib is imported only if a plot is requested

        if about is not None and about not in self._groups:
            raise ValueError(f"about must be one of {', '.join(self._groups)}, got {about!r}")
        names = [about] if about is not None else list(self._groups)[: None if ax is None else 1]
        return intervals({name: self._groups[name] for name in names}, level=level, largest=largest, ax=ax)

    def __repr__(self) -> str:
        parts = [
            f"{len(group):,} {name.removesuffix('s') if len(group) == 1 else name}"
            for name, group in self._groups.items()
        ]
        table = self.summary().drop(columns=["level", "error"]).to_string(index=False, max_rows=24)
        first = f"Posterior of {', '.join(parts)} by {self.method}: {self.accuracy}"
        return "\n".join([first, *self._warnings(), table])

    def _repr_html_(self) -> str:
        warnings = "".join(f"<p><strong>{escape(text)}</strong></p>" for text in self._warnings())
        return warnings + str(self.summary().to_html(index=False, max_rows=60))

    def _warnings(self) -> list[str]:
        """Return a line that names the released values that are in conflict with the noise and the prior, followed by
        the warnings of the inference function, a warning for each fitted prior that is too uncertain, and the number
        of counts that depend strongly on the prior.
        """
        stated: Any = self.facts.get("warnings", [])
        warnings = [f"WARNING: {text}" for text in [*stated, *_uncertain(self.facts.get("prior"))]]
        beside: Any = self.facts.get("flat_comparison") or {}
        if decided := prior_matters(beside):
            means = "facts['flat_comparison']['first'] has up to 10 means under a flat prior"
            warnings.append(f"The prior matters for {decided}: {means}")
        if unknown := not_compared(beside):
            warnings.append(unknown)
        check: Any = self.facts.get("conflict")
        if not isinstance(check, Mapping) or not check.get("found"):
            return warnings
        names = ", ".join(dict.fromkeys(map(str, check["names"])))  # a count can have several measurements
        more = check["counts"] - len(check["names"])
        names += f" and {more:,} more" if more else ""
        p = f"smallest p-value {p_value(check['smallest'])} among {check['tested']:,}"
        return [f"CONFLICT: improbable under the stated noise and prior: {names} ({p})", *warnings]

    def _asked(self, group: str, rng: np.random.Generator | None, among: Sequence[str] | None = None) -> Asked:
        quantities = self._group(_checks.one_of("of", group, tuple(GROUPS)))
        quantities = quantities if among is None else quantities.among(*among)
        return Asked(quantities, Drawer(quantities, rng))

    def _group(self, name: str) -> Quantities:
        if name not in self._groups:
            has = " and ".join(self._groups)
            raise AttributeError(f"this posterior has no {name} ({_MEANING[name]}). The available groups are {has}")
        return self._groups[name]


def _uncertain(prior: Any) -> list[str]:
    """Return a sentence for each prior that was fitted to too few counts in relation to the noise in these counts."""
    groups = prior.get("groups") if isinstance(prior, Mapping) else None
    parts = groups if isinstance(groups, Mapping) else {"": prior}
    return [
        f"the prior{f' of group {name}' if name else ''} was fitted to too few counts for their noise (mean "
        f"{part['mean']:.3g}, standard error {part['mean_error']:.2g}), so that the intervals are too short: choose "
        "prior '1/(1+n)', or state a distribution"
        for name, part in parts.items()
        if isinstance(part, Mapping) and part.get("uncertain")
    ]
