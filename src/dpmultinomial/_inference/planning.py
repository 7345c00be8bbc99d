"""Planning of a release: the smallest epsilon at which conclusive and correct answers occur with the required
frequency.

A plan simulates the complete process: files with the planned shares, their releases, and the posterior given each
release. The truth of every file is known, so an answer that is confident but wrong, because of the prior, does not
count as a success.

`Goal` is the planned use of a release. It determines whether a posterior is conclusive and agrees with the truth.

`Search` finds the epsilon at which a simulated curve first reaches the target frequency, by a grid over the whole range
and then by bisection.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from .._accuracy import LEVEL, Accuracy
from .._mechanisms.laplace import DiscreteLaplace, Laplace
from .._printing import steps
from .._results.expressions import Comparison, Names, comparison
from .._results.plot import plan_curve
from .._results.posterior import Posterior
from .._results.quantities import Quantities
from .._seeding import stream
from .posterior import posterior
from .release import Release

OF = ("shares", "counts", "rates")
_ROUNDING = 1e-12  # tolerance for the ends of an interval of shares


@dataclass(frozen=True)
class Goal:
    """Goal of a planned release: either a maximum width of an interval, or a comparison that must be decided from the
    release.

    Parameters
    ----------
    names : names of all categories.
    of : ``"shares"`` or ``"counts"`` of the file, or ``"rates"``, the category probabilities in the population from
        which the file is sampled.
    among : names among which shares or rates are computed; None: all.
    interval : name of the quantity whose central interval of `level` must be narrower than `narrower`; or None.
    question : comparison of names, whose probability must be >= `level` or <= 1 - `level`; or None.
    narrower : maximum width of the interval, > 0, in the unit of `of`.
    level : probability level, in (1/2, 1).

    Raises
    ------
    ValueError, KeyError
        If not exactly one of `interval` and `question` is given, or a name or number is invalid.
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
            raise ValueError(
                f"exactly one of question and interval must be given, got question = {self.question!r} and interval = "
                f"{self.interval!r}"
            )
        if (self.interval is None) != (self.narrower is None):
            raise ValueError(
                "interval (the name of a quantity) and narrower (the maximum width of the interval) must be given "
                f"together, got interval = {self.interval!r} and narrower = {self.narrower}"
            )
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
        """Names of the quantities that may be used in the goal of a plan."""
        return self.names if self.among is None else self.among

    @cached_property
    def compared(self) -> Comparison:
        """Parsed form of the comparison that must be decided from the planned release."""
        return comparison(self.question or "", Names(self.members))

    def truth(self, values: NDArray[np.float64]) -> float | bool:
        """Return the true value of the planned quantity: a number for an interval, and True or False for a comparison.

        Parameters
        ----------
        values : float64 (k,), true counts for counts and shares, probabilities for rates.

        Returns
        -------
        float or bool
            NaN if the share is among categories without records.
        """
        part = values[[self.names.index(name) for name in self.members]]
        if self.of != "counts":
            part = part / part.sum() if part.sum() > 0 else np.full(len(part), np.nan)
        if self.interval is not None:
            return float(part[self.members.index(self.interval)])
        asked = sum(factor * part[place] for place, factor in self.compared.coefficients.items())
        return float(asked) if np.isnan(asked) else bool(self.compared.holds(np.asarray(asked)))

    def met(self, found: Posterior, truth: float | bool, *, rng: np.random.Generator) -> tuple[bool, bool]:
        """Return two booleans: whether a posterior is conclusive and correct, and whether it is conclusive and wrong.

        Parameters
        ----------
        found : posterior given one release.
        truth : value of `truth` for the file from which the release was made.
        rng : numpy Generator, for comparisons that need draws.

        Returns
        -------
        (right, wrong)
            An interval is correct if it contains the true value. Both are False if the true value does not exist.
        """
        if not isinstance(truth, bool) and np.isnan(truth):
            return False, False
        if self.interval is not None:
            group: Quantities = getattr(found, self.of)
            group = group if self.among is None else group.among(*self.among)
            lower, upper = group[self.interval].interval(self.level)
            narrow = bool(upper - lower < (self.narrower or 0.0) - _ROUNDING)  # 0.61 - 0.41 < 0.2 by rounding alone
            holds = bool(lower - _ROUNDING <= truth <= upper + _ROUNDING)
            return narrow and holds, narrow and not holds
        chance = found.probability(self.question or "", of=self.of, among=self.among, rng=rng)
        yes, no = chance >= self.level, chance <= 1 - self.level
        return (yes, no) if truth else (no, yes)

    def _check_group(self, among: Sequence[str]) -> None:
        if self.of == "counts":
            raise ValueError(
                f"the argument `among` is valid only for shares and rates, got {', '.join(among)} for counts: omit "
                "`among`"
            )
        if len(among) < 2 or len(set(among)) < len(among):
            raise ValueError(
                f"the argument `among` must contain at least two different categories, got {', '.join(among)}"
            )
        for name in among:
            _checks.one_of("among", name, self.names)


Seen = NDArray[np.bool_]  # (releases, 2): conclusive and correct, conclusive and wrong
Simulation = Callable[[float, int], Seen]  # arguments: epsilon, number of releases
_STEP = 2.0  # factor between grid points
_FALL = 4.0  # number of standard errors; a larger decrease of the curve is not due to chance
_WEAKER_GOAL = (
    "increase the upper limit in the argument `between` of the function `plan`, or state a weaker goal (a wider "
    "interval or a smaller probability). The uncertainty of a rate remains, however large epsilon is"
)
_FEWER = 4  # at grid points, the number of releases is divided by this number


class Search:
    """Search for the smallest epsilon at which the success rate of simulated releases reaches a target. The simulated
    files and the seeds are the same for all values of epsilon.

    Parameters
    ----------
    simulate : function of epsilon and a number of releases; returns the outcome of each release.
    low, high : ends of the range of epsilon.
    wanted : target frequency, in (0, 1).
    releases : number of releases at every epsilon of the bisection; grid points use a quarter of this number.
    precision : relative precision of the epsilon found.
    """

    def __init__(
        self, simulate: Simulation, *, low: float, high: float, wanted: float, releases: int, precision: float
    ) -> None:
        self._simulate, self._ends, self._wanted = simulate, (low, high), wanted
        self._releases, self._precision = releases, precision
        self._seen: dict[float, Seen] = {}

    def smallest(self) -> float:
        """Return the smallest epsilon at which the success rate of the simulated releases exceeds the target by one
        standard error.

        Raises
        ------
        ValueError
            If the curve falls below the target by more than four standard errors, or does not cross it.
        """
        low, high = self._ends
        points = np.geomspace(low, high, max(2, int(np.ceil(np.log(high / low) / np.log(_STEP))) + 1)).tolist()
        for point in steps(points, len(points), "values of epsilon"):
            self._seen[point] = self._simulate(point, max(self._releases // _FEWER, 20))
        self._refuse_falls(points)
        return self._bisected(*self._bracket(points))

    def curve(self) -> pd.DataFrame:
        """Return the success rates of the search as a table with one row per epsilon and the columns epsilon, frequency
        and wrong.
        """
        tried = sorted(self._seen)
        shares = np.array([self._seen[epsilon].mean(axis=0) for epsilon in tried])
        return pd.DataFrame({"epsilon": tried, "frequency": shares[:, 0], "wrong": shares[:, 1]})

    @property
    def _target(self) -> float:
        error = float(np.sqrt(self._wanted * (1 - self._wanted) / self._releases))
        return min(self._wanted + error, (1 + self._wanted) / 2)

    def _refuse_falls(self, points: list[float]) -> None:
        """Raise ValueError if the success rate decreases significantly as epsilon increases. All grid points use the
        same files, so they can be compared release by release.
        """
        for first, second in combinations(points, 2):
            fall = self._seen[first][:, 0].astype(float) - self._seen[second][:, 0]
            chance = _FALL * float(fall.std()) / np.sqrt(len(fall))
            if fall.mean() > chance and self._seen[second][:, 0].mean() < self._wanted:
                raise ValueError(
                    f"the success rate decreases with epsilon ({self._words(first)}, but "
                    f"{self._words(second)}), because the prior determines the answer at small "
                    "epsilon: choose larger values for the argument `between` of the function `plan`, or change the "
                    "prior"
                )

    def _bracket(self, points: list[float]) -> tuple[float, float]:
        """Return two neighbouring grid points of epsilon between which the success rate over all simulated releases
        crosses the target.
        """
        below = [i for i, point in enumerate(points) if self._share(point) < self._target]
        if below and below[-1] == len(points) - 1 and self._full(points[-1]) < self._target:
            raise self._too_low(points[-1])
        i = min(below[-1], len(points) - 2) if below else 0
        while i > 0 and self._full(points[i]) >= self._target:
            i -= 1
        if self._full(points[i]) >= self._target:
            raise ValueError(
                f"the success rate at the smallest epsilon must be below {self._aim}, but "
                f"{self._words(points[0])}: decrease the lower limit in the argument `between` of the function "
                "`plan`, or state a stricter goal. If the prior alone determines the answer, every epsilon is "
                "sufficient"
            )
        while self._full(points[i + 1]) < self._target:
            i += 1
            if i == len(points) - 1:
                raise self._too_low(points[-1])
        return points[i], points[i + 1]

    def _too_low(self, epsilon: float) -> ValueError:
        return ValueError(
            f"the success rate is below {self._aim} even at the largest epsilon ({self._words(epsilon)}): "
            f"{_WEAKER_GOAL}"
        )

    @property
    def _aim(self) -> str:
        """Return the target of the search as text. It contains a margin for the error of the simulation."""
        return f"{100 * self._target:.4g}% (the probability {self._wanted:g} and a margin)"

    def _bisected(self, low: float, high: float) -> float:
        while high / low > 1 + self._precision:
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if self._full(middle) >= self._target else (middle, high)
        return high

    def _share(self, epsilon: float) -> float:
        return float(self._seen[epsilon][:, 0].mean())

    def _full(self, epsilon: float) -> float:
        """Return the success rate at a given epsilon, computed from the full number of simulated releases."""
        if len(self._seen.get(epsilon, ())) < self._releases:
            self._seen[epsilon] = self._simulate(epsilon, self._releases)
        return self._share(epsilon)

    def _words(self, epsilon: float) -> str:
        right, wrong = self._seen[epsilon].mean(axis=0)
        return (
            f"epsilon {epsilon:.3g} gives a correct answer in {right:.1%} and a wrong answer in {wrong:.1%} of releases"
        )


Made = Callable[[float], Any]  # function of epsilon that returns a mechanism
MECHANISMS: dict[str, Any] = {"discrete_laplace": DiscreteLaplace, "laplace": Laplace}


@dataclass(frozen=True)
class Plan:
    """Result of planning a release: the smallest sufficient epsilon, and the frequency of conclusive and correct
    answers at this epsilon.

    Parameters
    ----------
    epsilon : epsilon found by the search.
    frequency : fraction of new releases at `epsilon`, independent of the search, that are conclusive and correct.
    wrong : fraction of the same releases that are conclusive and wrong.
    standard_error : binomial standard error of `frequency`; two successes and two failures are added, so that the
        standard error is not 0.
    releases : number of new releases.
    curve : frame with columns epsilon, frequency and wrong, from the releases used in the search, in increasing order
        of epsilon. The grid points use a quarter of the number of releases of the bisection points.
    facts : settings of the plan, as values for JSON.
    """

    epsilon: float
    frequency: float
    wrong: float
    standard_error: float
    releases: int
    curve: pd.DataFrame = field(repr=False)
    facts: dict[str, object] = field(repr=False)

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy of the simulated frequency: the status ``approximate``, and the standard error of the estimate."""
        return Accuracy("approximate", self.standard_error, f"frequency in {self.releases} simulated releases")

    def summary(self) -> pd.DataFrame:
        """Return the result of the plan as a table with one row and the columns epsilon, frequency, wrong,
        standard_error and releases.
        """
        names = ("epsilon", "frequency", "wrong", "standard_error", "releases")
        return pd.DataFrame({name: [getattr(self, name)] for name in names})

    def plot(self) -> Any:
        """Plot the frequencies of correct and wrong answers as functions of epsilon, and mark the planned epsilon. This
        method requires matplotlib.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return plan_curve(self.curve, self.epsilon, self.frequency, self.standard_error)

    def __repr__(self) -> str:
        return (
            f"Plan(epsilon {self.epsilon:.3g}: decisive and correct in {self.frequency:.1%} of releases "
            f"(standard error {self.standard_error:.1%}), decisive but wrong in {self.wrong:.1%})"
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
    """Find the smallest epsilon at which a release of counts gives a conclusive and correct answer with the required
    frequency.

    Parameters
    ----------
    shares : planned shares, >= 0 with sum 1: a mapping of names, or a list (names ``"1"``, ``"2"``, ..).
    total : integer >= 1, public number of records; a simulated file has a multinomial distribution with the planned
        shares.
    interval, narrower : name of a quantity, and the maximum width of its central interval of `level`, in the unit of
        `of`. The answer is correct if the interval contains the true value. Pass either these two arguments or
        `question`.
    question : comparison of names, such as ``"met > not_met"``. The answer is yes if its probability is at least
        `level`, and no if its probability is at most 1 - `level`. The answer is correct if it is true of the file.
    level : probability level, in (1/2, 1).
    probability : target frequency of correct answers, in (0, 1). For an interval, the target must be below `level`,
        because intervals contain the true value with a frequency of at most about `level`.
    mechanism : ``"discrete_laplace"``, which releases of counts use, ``"laplace"``, or a function of epsilon that
        returns a mechanism.
    sensitivity : L1 sensitivity of the counts, > 0: 2 if one record is replaced, 1 if one is added or removed.
    among : names among which shares or rates are computed; None: all.
    of : ``"shares"`` or ``"counts"`` of the file, or ``"rates"``: the planned shares themselves.
    prior : prior of the inference, see `posterior`.
    releases : number of simulated releases from which the stated frequency is estimated, at least 100; the search uses
        the same number of separate releases at each epsilon that it tries.
    between : smallest and largest epsilon of the search.
    precision : relative precision of the epsilon found.
    rng : numpy Generator.

    Returns
    -------
    Plan
        The stated frequency is estimated from new releases. It is therefore not biased by the search, and can be below
        `probability` by about one standard error. The target of the search is one standard error higher.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, if the largest epsilon is not sufficient, if the smallest epsilon is already
        sufficient, or if the frequency falls below `probability` by more than four standard errors as epsilon
        increases. In the last case, the prior determines the answers.

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
        raise ValueError(
            f"for an interval, probability must be below the level of the interval ({level}), got {probability}"
        )
    mechanism_type, words = _mechanism(mechanism, _checks.positive("sensitivity", sensitivity))
    runs = _checks.integer("releases", releases, least=100)
    low, high = (_checks.positive("between", end) for end in between)
    if not low < high:
        raise ValueError(f"the argument `between` must be (lower, upper) with lower < upper, got {between}")
    simulation = _Simulation(goal, names, p, _checks.integer("total", total, least=1), mechanism_type, prior)
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
    """Simulation of a planned release: data files with the planned shares, releases of these files, and answers
    computed from the releases.
    """

    goal: Goal
    names: tuple[str, ...]
    shares: NDArray[np.float64]
    total: int
    made: Made
    prior: Any

    def seen(self, epsilon: float, releases: int, seed: int) -> Seen:
        """Return, for each simulated release, whether the answer is conclusive and correct, and whether it is
        conclusive and wrong. The result is a boolean array of shape (releases, 2). Release i uses the same random
        stream at every epsilon.
        """
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
    by_name = isinstance(shares, Mapping)
    values = list(shares.values()) if isinstance(shares, Mapping) else shares
    p = _checks.reals("shares", values, least_size=2)
    if p.min() < 0 or abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"shares must be >= 0 and sum to 1, got {shares!r} with the sum {p.sum():.9g}")
    names = tuple(str(name) for name in shares) if by_name else tuple(str(i + 1) for i in range(len(p)))
    return names, np.asarray(p / p.sum())
