"""Many releases at once: their posteriors one by one as they are asked for, and one table of all."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from .._honesty import LEVEL
from .._results.posterior import Posterior
from .._seeding import stream
from .posterior import posterior
from .release import Release


class Posteriors(Sequence[Posterior]):
    """Posteriors of many releases; each is found when it is asked for.

    Parameters
    ----------
    releases : `Release` objects.
    names : of the releases; by default ``"1"``, ``"2"``, ..
    prior, method : as of `posterior`, for all.
    seed : root of one random stream a release, where something has to be drawn.
    """

    def __init__(
        self, releases: Sequence[Release], names: Sequence[str] | None, prior: Any, method: str, seed: int | None
    ) -> None:
        self.releases = tuple(releases)
        self.names = tuple(names) if names is not None else tuple(str(i + 1) for i in range(len(self.releases)))
        if len(self.names) != len(self.releases) or len(set(self.names)) != len(self.names):
            raise ValueError(f"names must be {len(self.releases)} different ones, got {', '.join(self.names[:5])} ..")
        self._prior, self._method, self._seed = prior, method, seed

    def __len__(self) -> int:
        return len(self.releases)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            chosen = self.releases[which], self.names[which]
            return Posteriors(*chosen, self._prior, self._method, self._seed)
        place = self.names.index(which) if isinstance(which, str) else range(len(self))[which]
        rng = None if self._seed is None else stream(self._seed, "posteriors", self.names[place])
        return posterior(self.releases[place], prior=self._prior, method=self._method, rng=rng)

    def __iter__(self) -> Iterator[Posterior]:
        return (self[i] for i in range(len(self)))

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """One row a release and quantity, in the order of the releases.

        Parameters
        ----------
        level : of the central intervals, in (0, 1).

        Returns
        -------
        DataFrame
            Columns release, those of `Posterior.summary`, and reason: why a release has no posterior, which then has
            one row and stops nothing.
        """
        parts = []
        for name, at in zip(self.names, range(len(self)), strict=True):
            try:
                part = self[at].summary(level).assign(reason="")
            except ValueError as error:
                part = pd.DataFrame({"quantity": [""], "status": ["refused"], "reason": [str(error)]})
            part.insert(0, "release", name)
            parts.append(part)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["release"])

    def __repr__(self) -> str:
        return f"Posteriors({len(self)} releases: {', '.join(self.names[:5])}{' ..' if len(self) > 5 else ''})"


def posteriors(
    releases: Sequence[Release],
    *,
    names: Sequence[str] | None = None,
    prior: Any = None,
    method: str = "auto",
    seed: int | None = None,
) -> Posteriors:
    """What many releases say, each by itself.

    Parameters
    ----------
    releases : `Release` objects.
    names : of the releases; by default ``"1"``, ``"2"``, ..
    prior, method : as of `posterior`, for all.
    seed : root of one random stream a release, where something has to be drawn; a result does not depend on the others.

    Returns
    -------
    Posteriors
        A sequence; ``.summary()`` is one table, in which a bad release has its reason and stops nothing.

    Raises
    ------
    ValueError
        If names repeat or do not fit.
    """
    return Posteriors(releases, names, prior, method, seed)
