"""Input for the inference: released numbers, the mechanism that produced them, and public facts about the release."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from .._files.table_columns import DEEPEST
from .._posteriors.published.cells import cells_of, refuse
from .._posteriors.rates.likelihoods import CountLikelihood, table_of


class Release:
    """Released numbers, the mechanism that produced them, and public facts about the release.

    Parameters
    ----------
    values : released numbers; None or NaN if a count was not measured or was withheld. A mapping or Series of names to
        numbers, a list, a table (DataFrame, or (rows, columns)), or several tables (a mapping of strata to tables, or
        (strata, rows, columns)).
    mechanism : mechanism that produced the numbers, e.g. ``Laplace(scale=2.0)``: one mechanism for all numbers, or a
        sequence with one mechanism per number.
    names : names of the numbers, if `values` does not contain names; by default ``"1"``, ``"2"``, ..
    total : public total: the sum of the true counts, or the number of records of statistics and shares. An integer, or
        ``{"released": number, "noise": law}`` if the total is noisy too; None if the total is unknown.
    bounds : (lower, upper), public bounds of the true counts, one number or one per count; None: 0 and infinity.
    groups : group names, one per count; a prior is fitted within each group.
    parents : mapping from the name of a count to the name of the count that it is part of, None for the root. Each
        count is then the sum of the counts of its parts. A name without a value is a count that was not measured, and a
        name that occurs twice in `names` was measured twice.
    levels : names of the levels of `parents`, starting with the level of the root.
    queries : sums over cells of a histogram, as a mapping from the name of a number to the names of its cells; all
        other numbers are single cells. With `parents`, the values are a table with one row per node and one column per
        query.
    facts : further public facts, as values for JSON; they are stored and shown with the results.

    Attributes
    ----------
    values : float64 array, of the shape of the numbers.
    names : one string per number; cells of tables are named ``row/column`` or ``stratum/row/column``.
    shape : shape of the numbers.
    labels : names of the rows and columns of a DataFrame; None for other values.

    Raises
    ------
    ValueError, TypeError
        If a number is infinite, names are repeated or their number is wrong, or the total is not an integer >= 0.

    Examples
    --------
    >>> import dpmultinomial as dpm
    >>> release = dpm.Release({"met": 12.3, "not_met": -4.1}, mechanism=dpm.Laplace(scale=2.0), total=50)
    >>> release.names
    ('met', 'not_met')
    """

    def __init__(
        self,
        values: Any,
        *,
        mechanism: Any,
        names: Sequence[str] | None = None,
        total: Any = None,
        bounds: tuple[Any, Any] | None = None,
        groups: Sequence[object] | None = None,
        parents: Mapping[str, str | None] | Sequence[str | int | None] | None = None,
        levels: Sequence[str] | None = None,
        queries: Mapping[str, Sequence[str]] | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        array, labels = _labelled(values)
        self.values: NDArray[np.float64] = array
        self.shape: tuple[int, ...] = array.shape
        self.names = _named(labels, names, array.shape, repeated=parents is not None and queries is None)
        self.mechanism = mechanism
        self.total = total if total is None or isinstance(total, Mapping) else _checks.integer("total", total)
        self.bounds, self.groups = bounds, groups
        self.parents, self.levels = None if parents is None else _parents(parents, self.names), levels
        if levels is not None and parents is None:
            raise ValueError(
                f"levels may be given only together with parents, got levels = {levels} without parents: pass parents, "
                "or omit levels"
            )
        self.queries = None if queries is None else dict(queries)
        self.labels = None
        if isinstance(values, pd.DataFrame):
            self.labels = [str(name) for name in values.index], [str(name) for name in values.columns]
        elif queries is not None and len(self.shape) > 1:
            raise ValueError(
                "if queries are given, values must be one-dimensional (one histogram) or a DataFrame (one row per node "
                f"and one column per query), got an array of shape {self.shape}"
            )
        self.facts = dict(facts or {})

    def likelihood(self, *, log_mass: float = 40.0) -> CountLikelihood:
        """Return the likelihoods of all plausible true counts, for use in models that are fitted with other software.

        With weights p(D = d) of a model, log p(released) of a row is the logarithm of the sum, over the entries of the
        row, of exp(log) times the weights of `counts`. Counts outside the row contribute at most exp(`log_bound`).

        Parameters
        ----------
        log_mass : the noise has a probability below exp(-log_mass) beyond the half-width of a window. The values 20, 30
            and 40 give windows of about 13, 15 and 18 standard deviations of normal noise.

        Returns
        -------
        CountLikelihood
            Named tuple with names (n,), first (n,), counts (n, width), log (n, width), log_mass and log_bound (n,).
            Counts that were not measured are dropped unless their bounds are finite. Each count is treated separately:
            totals, parents and queries are not used.

        Raises
        ------
        ValueError, TypeError
            If the mechanism is not separate noise of counts, or a value is impossible.

        Examples
        --------
        >>> import dpmultinomial as dpm
        >>> found = dpm.Release({"a": 3, "b": 40}, mechanism=dpm.DiscreteLaplace(scale=2.0)).likelihood(log_mass=20)
        >>> found.log.shape == found.counts.shape and found.first.tolist()
        [0, 0]
        """
        law = self.mechanism
        if not (isinstance(law, Sequence) or (hasattr(law, "log_likelihood") and hasattr(law, "reach"))):
            raise TypeError(f"a likelihood requires counts with independent noise, got the mechanism {law!r}")
        lower, upper = self.bounds or (0, np.inf)
        cells = cells_of(self.values.ravel(), law, lower=lower, upper=upper)
        refuse(cells, self.names)
        return table_of(cells, self.names, _checks.positive("log_mass", log_mass))

    def __len__(self) -> int:
        return int(self.values.size)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{n} {v:.12g}" for n, v in zip(self.names[:6], self.values.ravel()[:6].tolist(), strict=True)
        )
        more = f", .. {len(self)} in all" if len(self) > 6 else ""
        total = "" if self.total is None else f"; total {self.total}"
        return f"Release({shown}{more}{total}; {self.mechanism!r})"

    def _repr_html_(self) -> str:
        return _html(self)


def _html(release: "Release") -> str:
    rows = {"name": release.names[:60], "released": release.values.ravel()[:60]}
    more = f"<p>{len(release):,} in all</p>" if len(release) > 60 else ""
    total = "" if release.total is None else f"<p>total {escape(str(release.total))}</p>"
    return f"<p>{escape(repr(release.mechanism))}</p>{total}{pd.DataFrame(rows).to_html(index=False)}{more}"


def _labelled(values: Any) -> tuple[NDArray[np.float64], list[str] | None]:
    """Return the released numbers as an array, and the list of their names (or None if the numbers have no names)."""
    if isinstance(values, pd.DataFrame):
        names = [f"{row}/{column}" for row in values.index for column in values.columns]
        return _numbers(values.to_numpy()), names
    if isinstance(values, pd.Series):
        return _numbers(values.to_numpy()), [str(name) for name in values.index]
    if isinstance(values, Mapping):
        if values and all(np.ndim(v) == 2 for v in values.values()):
            return _strata(values)
        return _numbers(list(values.values())), [str(name) for name in values]
    return _numbers(values), None


def _strata(values: Mapping[Any, Any]) -> tuple[NDArray[np.float64], list[str]]:
    parts = {str(stratum): _labelled(table) for stratum, table in values.items()}
    shapes = {numbers.shape for numbers, _ in parts.values()}
    if len(shapes) > 1:
        raise ValueError(
            f"values must contain tables of the same shape in all strata, got {', '.join(map(str, sorted(shapes)))}"
        )
    shape = shapes.pop()
    names = [f"{stratum}/{name}" for stratum, (_, labels) in parts.items() for name in labels or _numbered(shape)]
    return np.stack([numbers for numbers, _ in parts.values()]), names


def _numbers(values: Any) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"values must contain only numbers, got {values!r}") from None
    if array.size == 0 or not 1 <= array.ndim <= 3:
        raise ValueError(f"values must have one to three dimensions and at least one number, got shape {array.shape}")
    if np.isinf(array).any():
        raise ValueError(f"values must be finite, or NaN for unmeasured counts, got {array[np.isinf(array)][0]}")
    return array


def _numbered(shape: tuple[int, ...]) -> list[str]:
    return ["/".join(str(i + 1) for i in place) for place in np.ndindex(*shape)]


def _parents(
    given: Mapping[str, str | None] | Sequence[str | int | None], names: tuple[str, ...]
) -> dict[str, str | None]:
    """Return a mapping from the name of each count to the name of its parent. The argument is such a mapping, or one
    parent per count (a name, a position or None).
    """
    if isinstance(given, Mapping):
        return _shallow(dict(given))
    listed = list(given)
    if len(listed) != len(names):
        raise ValueError(f"parents must have one entry per count ({len(names)} counts), got {len(listed)} entries")
    for entry in listed:
        if not (entry is None or isinstance(entry, str)) and not 0 <= _checks.number("parents", entry) < len(names):
            raise ValueError(f"parents must contain names, positions below {len(names)}, or None, got {entry!r}")
    parents = [entry if entry is None or isinstance(entry, str) else names[int(entry)] for entry in listed]
    return _shallow(dict(zip(names, parents, strict=True)))


def _shallow(parents: dict[str, str | None]) -> dict[str, str | None]:
    """Check that a tree has no cycles and at most `DEEPEST` levels. Return the mapping `parents`. Invalid trees are
    rejected before any memory is allocated. The cost is O(nodes x levels).
    """
    places = {name: i for i, name in enumerate(parents)}
    above = np.array([places.get(name, -1) if name is not None else -1 for name in parents.values()], dtype=np.int64)
    if not (above < 0).any():
        return parents  # without a root, the tree is rejected later
    node = np.arange(len(above))
    for _ in range(DEEPEST):
        node = np.where(node >= 0, above[node], -1)
    if (node >= 0).any():
        name = list(parents)[int(np.argmax(node >= 0))]
        raise ValueError(
            f"parents: the path from {name!r} to the root must have fewer than {DEEPEST} steps and must not contain a "
            "cycle: correct the parents"
        )
    return parents


def _named(
    own: list[str] | None, names: Sequence[str] | None, shape: tuple[int, ...], *, repeated: bool
) -> tuple[str, ...]:
    if own is not None and names is not None:
        raise ValueError(f"names must be omitted, because values already have names ({', '.join(own[:3])}, ..)")
    if isinstance(names, str):
        raise TypeError(f"names must be a sequence of strings, got {names!r}")
    labels = own or ([str(name) for name in names] if names is not None else _numbered(shape))
    if len(labels) != int(np.prod(shape)):
        raise ValueError(
            f"names must contain one name per value ({int(np.prod(shape))} values), got {len(labels)} names"
        )
    if len(set(labels)) == len(labels) and all(map(str.strip, labels)):
        return tuple(labels)
    seen: set[str] = set()
    for name in labels:
        if not name.strip():
            raise ValueError(f"names must not be empty, got {name!r}")
        if name in seen and not repeated:
            raise ValueError(f"names must be distinct, got {name!r} twice")
        seen.add(name)
    return tuple(labels)
