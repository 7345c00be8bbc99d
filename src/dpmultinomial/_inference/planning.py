"""Planning a release: how much epsilon is needed until what it says is sure, and right.

A plan simulates the whole way: files with the planned shares, their releases, the posterior given each. It knows the
truth of every file, so that what the prior says with confidence, and wrongly, is no answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from .._honesty import LEVEL, Honesty
from .._mechanisms.discrete_laplace import DiscreteLaplace
from .._mechanisms.laplace import Laplace
from .._results.plot import plan_curve
from .._seeding import stream
from ._plan_goal import Goal
from ._plan_search import Search, Seen
from .posterior import posterior
from .release import Release

Made = Callable[[float], Any]  # from epsilon to a mechanism
MECHANISMS: dict[str, Any] = {"discrete_laplace": DiscreteLaplace, "laplace": Laplace}


@dataclass(frozen=True)
class Plan:
    """A planned epsilon, and how often its releases are sure and right.

    Parameters
    ----------
    epsilon : found by the search.
    frequency : part of fresh releases at `epsilon`, none of the search's, that are sure and right.
    wrong : part of the same releases that are sure and wrong.
    standard_error : of `frequency`, binomial; with two answers of either kind added, so that it is not 0.
    releases : number of fresh releases.
    curve : frame epsilon, frequency, wrong of the search's own releases, rising; the grid has a quarter of the releases
        of the points between which epsilon was sought.
    facts : what was planned, JSON-able.
    """

    epsilon: float
    frequency: float
    wrong: float
    standard_error: float
    releases: int
    curve: pd.DataFrame = field(repr=False)
    facts: dict[str, object] = field(repr=False)

    @property
    def honesty(self) -> Honesty:
        """``approximate``: the standard error of the frequency."""
        return Honesty("approximate", self.standard_error, f"frequency in {self.releases} simulated releases")

    def summary(self) -> pd.DataFrame:
        """One row: epsilon, frequency, wrong, standard_error, releases."""
        names = ("epsilon", "frequency", "wrong", "standard_error", "releases")
        return pd.DataFrame({name: [getattr(self, name)] for name in names})

    def plot(self) -> Any:
        """Frequencies over epsilon, right and wrong, and the epsilon found; needs matplotlib.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return plan_curve(self.curve, self.epsilon, self.frequency, self.standard_error)

    def __repr__(self) -> str:
        return (
            f"Plan(epsilon {self.epsilon:.3g}: sure and right in {self.frequency:.1%} of releases "
            f"(standard error {self.standard_error:.1%}), sure and wrong in {self.wrong:.1%})"
        )


def plan(
    shares: Mapping[str, float] | Sequence[float],
    total: int,
    *,
    interval: str | None = None,
    narrower: float | None = None,
    question: str | None = None,
    level: float = LEVEL,
    probability: float = 0.9,
    mechanism: str | Made = "discrete_laplace",
    sensitivity: float = 2.0,
    among: Sequence[str] | None = None,
    of: str = "shares",
    prior: Any = None,
    releases: int = 400,
    between: tuple[float, float] = (0.01, 100.0),
    precision: float = 0.02,
    rng: np.random.Generator,
) -> Plan:
    """Smallest epsilon at which a release of counts will be sure, and right, often enough.

    Parameters
    ----------
    shares : planned shares, >= 0 with sum 1: a mapping of names, or a list (names ``"1"``, ``"2"``, ..).
    total : whole number >= 1, public number of records; a file is multinomial with the planned shares.
    interval, narrower : name, and the width that its central interval of `level` must be below, in the unit of `of`;
        the answer is right if the interval holds the true value; or
    question : comparison of names, such as ``"met > not_met"``: the answer is yes where its probability is at least
        `level`, no where it is at most 1 - `level`; right if so in the file.
    level : in (1/2, 1).
    probability : wanted frequency of right answers, in (0, 1); below `level` for an interval, which holds the true
        value no more often.
    mechanism : ``"discrete_laplace"``, the law that releases of counts use, ``"laplace"``, or a function of epsilon
        that returns a mechanism.
    sensitivity : > 0, L1 change of the counts by one record: 2 where one is replaced, 1 where one is added or removed.
    among : names among which shares or rates are taken; None: all.
    of : ``"shares"`` or ``"counts"`` of the file, or ``"rates"``: the planned shares themselves.
    prior : as of `posterior`.
    releases : number of simulated releases that the stated frequency comes from, at least 100; the search has as many
        of its own at each epsilon it tries.
    between : smallest and largest epsilon looked at.
    precision : relative, of the epsilon found.
    rng : numpy Generator.

    Returns
    -------
    Plan
        The frequency stated comes from fresh releases: it is no better for having been found, and can lie below
        `probability` by its standard error. The search aims one standard error above.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; if the largest epsilon is not enough, or the smallest is; if the frequency falls
        to below `probability` as epsilon rises, by more than four standard errors: then the prior answers.

    Examples
    --------
    >>> import dpmultinomial as dpm
    >>> shares, rng = {"met": 0.5, "not_met": 0.4, "failed": 0.1}, dpm.stream(1, "plan")
    >>> found = dpm.plan(shares, 200, interval="met", narrower=0.1, releases=100, rng=rng)
    >>> 0.5 < found.epsilon < 0.9, found.frequency > 0.8
    (True, True)
    """
    names, p = _shares(shares)
    group = None if among is None else tuple(str(name) for name in among)
    goal = Goal(names, of, group, interval, narrower, question, level)
    wanted = _checks.inside("probability", probability)
    if interval is not None and wanted >= level:
        raise ValueError(f"probability must be below level {level} for an interval, got {probability}")
    made, words = _mechanism(mechanism, _checks.positive("sensitivity", sensitivity))
    runs = _checks.whole("releases", releases, least=100)
    low, high = (_checks.positive("between", end) for end in between)
    if not low < high:
        raise ValueError(f"between must rise, got {between}")
    simulation = _Simulation(goal, names, p, _checks.whole("total", total, least=1), made, prior)
    seeds = _checks.generator(rng).integers(2**62, size=2).tolist()
    search = Search(
        lambda epsilon, size: simulation.seen(epsilon, size, seeds[0]), low=low, high=high, wanted=wanted,
        releases=runs, precision=_checks.positive("precision", precision),
    )  # fmt: skip
    epsilon = search.smallest()
    right, wrong = simulation.seen(epsilon, runs, seeds[1]).mean(axis=0).tolist()
    about = {"of": of, "among": group, "interval": interval, "narrower": narrower, "question": question}
    facts = {"shares": dict(zip(names, p.tolist(), strict=True)), "total": simulation.total} | about
    facts |= {"level": level, "probability": wanted, "mechanism": words, "sensitivity": sensitivity}
    error = _standard_error(right, runs)
    return Plan(epsilon, right, wrong, error, runs, search.curve(), facts)


@dataclass(frozen=True)
class _Simulation:
    """Files with the planned shares, their releases, and what each says."""

    goal: Goal
    names: tuple[str, ...]
    shares: NDArray[np.float64]
    total: int
    made: Made
    prior: Any

    def seen(self, epsilon: float, releases: int, seed: int) -> Seen:
        """Bool (releases, 2): sure and right, sure and wrong; release i has one stream, whatever epsilon is."""
        law = self.made(epsilon)
        return np.array([self._one(law, stream(seed, "plan", i)) for i in range(releases)], dtype=bool)

    def _one(self, law: Any, rng: np.random.Generator) -> tuple[bool, bool]:
        counts = rng.multinomial(self.total, self.shares)
        truth = self.goal.truth(self.shares if self.goal.of == "rates" else counts.astype(float))
        release = Release(law.sample(counts, rng=rng), mechanism=law, names=self.names, total=self.total)
        return self.goal.met(posterior(release, prior=self.prior), truth, rng=rng)


def _standard_error(share: float, releases: int) -> float:
    p = (share * releases + 2) / (releases + 4)
    return float(np.sqrt(p * (1 - p) / releases))


def _mechanism(mechanism: str | Made, sensitivity: float) -> tuple[Made, str]:
    if callable(mechanism):
        return mechanism, repr(mechanism(1.0))
    law = MECHANISMS[_checks.one_of("mechanism", mechanism, tuple(MECHANISMS))]
    return (lambda epsilon: law.calibrated(epsilon, sensitivity=sensitivity)), mechanism


def _shares(shares: Mapping[str, float] | Sequence[float]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    own = isinstance(shares, Mapping)
    values = list(shares.values()) if isinstance(shares, Mapping) else shares
    p = _checks.reals("shares", values, least_size=2)
    if p.min() < 0 or abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"shares must be >= 0 and add up to 1, got {shares!r}")
    names = tuple(str(name) for name in shares) if own else tuple(str(i + 1) for i in range(len(p)))
    return names, np.asarray(p / p.sum())
