"""Which prior each count has: as asked for, or by default, group by group; what was chosen is said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import fitted
from .cells import Cells
from .priors import CountPrior, Flat, Reciprocal, prior_of

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """A prior for every row.

    Parameters
    ----------
    priors : one a group.
    which : int64 (n,), position of each row's prior.
    groups : name of each group; ``""`` where there is but one.
    asked : whether the user chose.
    """

    priors: tuple[CountPrior, ...]
    which: Whole
    groups: tuple[str, ...]
    asked: bool

    def facts(self) -> dict[str, object]:
        """What was assumed, JSON-able: the prior, or one a group, and who chose it."""
        sizes = np.bincount(self.which, minlength=len(self.priors))
        listed = [{**prior.words(), "rows": int(n)} for prior, n in zip(self.priors, sizes, strict=True)]
        chosen = "as asked for" if self.asked else f"by default: fitted from {fitted.FEWEST} counts on, else 1/(1+n)"
        if self.groups == ("",):
            return {**listed[0], "chosen": chosen}
        return {"groups": dict(zip(self.groups, listed, strict=True)), "chosen": chosen}


def choose(cells: Cells, prior: Any, groups: Sequence[object] | NDArray[Any] | None) -> Choice:
    """The prior of every row.

    Parameters
    ----------
    cells : noisy counts.
    prior : None for the default: fitted in groups of `fitted.FEWEST` measured counts and more, else 1/(1+n), flat where
        counts have no lower bound; ``"fitted"``; what `priors.prior_of` takes; or a mapping of groups to any of these.
    groups : one name a row, within which priors are fitted; None for one group of all.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError, TypeError
        If a prior cannot be made, e.g. fitted on too few counts; the group is named.
    """
    names, which = _grouped(groups, len(cells))
    by_group = isinstance(prior, Mapping) and "law" not in prior
    if by_group and set(prior) != set(names):
        raise ValueError(f"prior must have one entry a group, {', '.join(names)}; got {', '.join(map(str, prior))}")
    made = []
    for i, name in enumerate(names):
        wanted = prior[name] if by_group else prior
        try:
            made.append(_made(cells.take(np.flatnonzero(which == i)), wanted))
        except ValueError as error:
            raise ValueError(f"group {name}: {error}" if name else str(error)) from None
    return Choice(tuple(made), which, names, prior is not None)


def _made(cells: Cells, prior: Any) -> CountPrior:
    if prior is None:
        usable = cells.good & cells.measured
        if (cells.lower[usable] < 0).any():
            return Flat()
        prior = "fitted" if usable.sum() >= fitted.FEWEST else Reciprocal()
    if prior == "fitted" or prior == {"law": "fitted"}:
        return fitted.fit(cells)
    return prior_of(prior)


def _grouped(groups: Sequence[object] | NDArray[Any] | None, n: int) -> tuple[tuple[str, ...], Whole]:
    if groups is None:
        return ("",), np.zeros(n, dtype=np.int64)
    labels = np.array([str(group) for group in groups], dtype=object)
    if len(labels) != n:
        raise ValueError(f"groups must be one name a count, {n} in all, got {len(labels)}")
    names, which = np.unique(labels.astype(str), return_inverse=True)
    return tuple(str(name) for name in names), np.asarray(which, dtype=np.int64)
