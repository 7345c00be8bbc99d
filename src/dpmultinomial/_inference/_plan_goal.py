"""What a planned release shall tell, and whether it does: sure, and on the side of the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._results.expressions import Comparison, Names, comparison
from .._results.posterior import Posterior
from .._results.quantities import Quantities

OF = ("shares", "counts", "rates")
_ROUNDING = 1e-12  # ends of an interval of shares are this near


@dataclass(frozen=True)
class Goal:
    """A width that an interval shall have, or a comparison that shall be decided.

    Parameters
    ----------
    names : of all categories.
    of : ``"shares"`` or ``"counts"`` of the file, or ``"rates"`` that it is a sample of.
    among : names among which shares or rates are taken; None: all.
    interval : name whose central interval of `level` must be narrower than `narrower`; or
    question : a comparison of names, whose probability must be at least `level` or at most 1 - `level`.
    narrower : > 0, in the unit of `of`.
    level : in (1/2, 1).

    Raises
    ------
    ValueError, KeyError
        If there is not one of `interval` and `question`, or a name or number breaks its rule.
    """

    names: tuple[str, ...]
    of: str
    among: tuple[str, ...] | None
    interval: str | None
    narrower: float | None
    question: str | None
    level: float

    def __post_init__(self) -> None:
        _checks.one_of("of", self.of, OF)
        if not _checks.inside("level", self.level) > 0.5:
            raise ValueError(f"level must lie in (1/2, 1), got {self.level}")
        if (self.interval is None) == (self.question is None):
            raise ValueError("a plan needs either interval= with narrower=, or question=")
        if (self.interval is None) != (self.narrower is None):
            raise ValueError("interval= and narrower= belong together: the interval of a name, and its largest width")
        if self.narrower is not None:
            _checks.positive("narrower", self.narrower)
        if self.among is not None:
            self._check_group(self.among)
        if self.interval is not None:
            _checks.one_of("interval", self.interval, self.members)
        else:
            _ = self.compared

    @property
    def members(self) -> tuple[str, ...]:
        """Names that the goal can be about."""
        return self.names if self.among is None else self.among

    @cached_property
    def compared(self) -> Comparison:
        """The question, read."""
        return comparison(self.question or "", Names(self.members))

    def truth(self, values: NDArray[np.float64]) -> float | bool:
        """The true value of what is asked: a number for an interval, yes or no for a question.

        Parameters
        ----------
        values : float64 (k,), true counts for counts and shares, probabilities for rates.

        Returns
        -------
        float or bool
            NaN where a share among categories without records is asked for.
        """
        part = values[[self.names.index(name) for name in self.members]]
        if self.of != "counts":
            part = part / part.sum() if part.sum() > 0 else np.full(len(part), np.nan)
        if self.interval is not None:
            return float(part[self.members.index(self.interval)])
        asked = sum(factor * part[place] for place, factor in self.compared.coefficients.items())
        return float(asked) if np.isnan(asked) else bool(self.compared.holds(np.asarray(asked)))

    def met(self, found: Posterior, truth: float | bool, *, rng: np.random.Generator) -> tuple[bool, bool]:
        """Whether a posterior is sure and right, and whether it is sure and wrong.

        Parameters
        ----------
        found : posterior given a release.
        truth : of `truth`, for the file that the release was made from.
        rng : numpy Generator, for comparisons that need draws.

        Returns
        -------
        (right, wrong)
            An interval is right if it holds the true value; both are False where there is no true value.
        """
        if not isinstance(truth, bool) and np.isnan(truth):
            return False, False
        if self.interval is not None:
            group: Quantities = getattr(found, self.of)
            group = group if self.among is None else group.among(*self.among)
            lower, upper = group[self.interval].interval(self.level)
            narrow = bool(upper - lower < (self.narrower or 0.0))
            holds = bool(lower - _ROUNDING <= truth <= upper + _ROUNDING)
            return narrow and holds, narrow and not holds
        chance = found.probability(self.question or "", of=self.of, among=self.among, rng=rng)
        yes, no = chance >= self.level, chance <= 1 - self.level
        return (yes, no) if truth else (no, yes)

    def _check_group(self, among: Sequence[str]) -> None:
        if self.of == "counts":
            raise ValueError("among must not be given for counts: shares and rates are taken among categories")
        if len(among) < 2 or len(set(among)) < len(among):
            raise ValueError(f"among must name at least two different categories, got {', '.join(among)}")
        for name in among:
            _checks.one_of("among", name, self.names)
