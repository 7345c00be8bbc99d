"""Confidence statements about a release that require no prior: intervals, tests and answers to questions."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from .. import _checks
from .._accuracy import LEVEL
from .._printing import LEAST_P
from .._results.expressions import comparison
from .hypotheses import DRAWS, EXCESS, GAMMA, TwoPoissonRates, TwoRates, four_cells, goodness_of_fit
from .intervals import ByName, CountConfidence, RateConfidence, Row, notes
from .noise_sums import NoiseSum, Ratio, SignedSum, added
from .noisy_release import NoisyCounts

COLUMNS = ("quantity", "type", "lower", "upper", "level", "coverage", "method", "status", "error")
QUESTIONS = ("sum", "difference", "ratio")
_LARGEST_RATIO = 1e12  # a larger lower limit is due to rounding: only an infinite ratio fits
MANY_RATES = 1000  # number of categories up to which the summary contains rates


class PValue(float):
    """P-value of a test: a float with attributes for the hypothesis, the method and the accuracy status.

    Attributes
    ----------
    hypothesis : the tested hypothesis.
    method : name of the test.
    status : ``"exact"``, ``"conservative"`` or ``"approximate"``.
    """

    hypothesis: str
    method: str
    status: str

    def __new__(cls, value: float, hypothesis: str = "", method: str = "", status: str = "exact") -> "PValue":
        p_value = super().__new__(cls, min(max(value, 0.0), 1.0))
        p_value.hypothesis, p_value.method, p_value.status = hypothesis, method, status
        return p_value

    def __repr__(self) -> str:
        value = f"{float(self):.4g}" if self >= LEAST_P else f"below {LEAST_P:g}"  # tails of sums are upper bounds
        return f"p-value {value} of {self.hypothesis} ({self.method}, {self.status})"

    def __reduce__(self) -> tuple[type, tuple[float, str, str, str]]:
        return PValue, (float(self), self.hypothesis, self.method, self.status)


class Confidence:
    """Confidence intervals and hypothesis tests for the true counts and the underlying rates of a release.

    These intervals cover the true value in at least the stated share of releases, for every true value. Create a
    `Confidence` with `dpmultinomial.confidence`.

    Parameters
    ----------
    noisy : the counts of the release.
    """

    def __init__(self, noisy: NoisyCounts) -> None:
        self._noisy = noisy
        _ = noisy.sets  # raises an error if the noise cannot produce a released value

    @property
    def counts(self) -> ByName:
        """Mapping from the name of each count to the confidence statements about the true count."""
        noisy = self._noisy

        def ends(level: float) -> tuple[Any, Any]:
            intervals = noisy.sets.ends(level)
            return intervals.lower, intervals.upper

        return ByName(noisy.names, lambda place: CountConfidence(noisy, place), ends)

    @property
    def rates(self) -> ByName:
        """Confidence statements about the category probabilities in the population from which the counts are assumed to
        be sampled, indexed by the names of the counts.
        """
        noisy = self._noisy

        def ends(level: float) -> tuple[Any, Any]:
            rows = [RateConfidence(noisy, place).interval(level) for place in range(len(noisy.names))]
            return tuple(np.array(rows).T)

        return ByName(noisy.names, lambda place: RateConfidence(noisy, place), ends)

    def summary(self, level: float = LEVEL, *, simultaneous: bool = False) -> pd.DataFrame:
        """Return the confidence intervals as a table with one row per count and, if the total is public, one row per
        rate.

        Parameters
        ----------
        level : confidence level, in (0, 1).
        simultaneous : whether all counts are covered together at the level. Each interval then has the level
            level^(1/k), because the noise is independent. The intervals of the k rates have level 1 - (1 - level)/k
            each.

        Returns
        -------
        DataFrame
            Columns quantity, type, lower, upper, level (of the row), coverage (at least), method, status, error.
        """
        level = _checks.inside("level", level)
        noisy, k = self._noisy, len(self._noisy.names)
        one = level ** (1 / k) if simultaneous else level
        ends = noisy.sets.ends(one)
        columns = (noisy.names, "count", ends.lower, ends.upper, one, ends.coverage, noisy.sets.method, "exact", 0.0)
        frames = [pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))]
        if noisy.total is not None and k <= MANY_RATES:
            each = 1 - (1 - level) / k if simultaneous else level
            rows = []
            for place, name in enumerate(noisy.names):
                lower, upper, coverage, method, status, error, note = RateConfidence(noisy, place).row(each)
                method += f": {note}" if note.startswith("no ") else ""  # only the nearest rate is returned
                rows.append((name, "rate", lower, upper, each, coverage, method, status, error))
            frames.append(pd.DataFrame(rows, columns=list(COLUMNS)))
        return pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]

    def notes(self, level: float = LEVEL) -> dict[str, str]:
        """Return remarks on the intervals of counts, such as ``"no count fits at this level; the nearest is 0"``.

        Parameters
        ----------
        level : confidence level, in (0, 1).

        Returns
        -------
        dict
            Name of a count -> remark, for counts with a remark.
        """
        remarks = notes(self._noisy.sets.ends(_checks.inside("level", level)), self._noisy)
        return {name: note for name, note in zip(self._noisy.names, remarks, strict=True) if note}

    def ask(self, questions: Mapping[str, Any], *, level: float = LEVEL) -> pd.DataFrame:
        """Return confidence intervals of sums, differences and ratios of counts.

        Parameters
        ----------
        questions : a single question ``{"sum": [names]}``, ``{"difference": [a, b]}`` or ``{"ratio": [a, b]}``, where a
            and b are names or lists of names; or a mapping from labels to such questions. With ``"sizes": [n1, n2]``,
            public numbers of records, a difference is that of the underlying rates. With ``"exposures": [e1, e2]``,
            such as person-years, a ratio is that of the rates of Poisson counts.
        level : confidence level, in (0, 1).

        Returns
        -------
        DataFrame
            Columns as in `summary`, type ``question``. If no value fits at this level, the column `method` states this.

        Raises
        ------
        KeyError
            If a question contains an unknown name; the message states the label of the question.
        ValueError, TypeError
            If a question is invalid; the message states the name of the question.
        """
        level = _checks.inside("level", level)
        if not isinstance(questions, Mapping):
            raise TypeError(f"questions must be a mapping such as {{'difference': ['a', 'b']}}, got {questions!r}")
        single = any(isinstance(value, list | tuple) for value in questions.values())
        rows = []
        for label, question in {"": questions}.items() if single else questions.items():
            try:
                name, row = self._answer(question, level)
            except (KeyError, ValueError, TypeError) as wrong:
                raise type(wrong)(f"{label}: {wrong.args[0]}" if label else wrong.args[0]) from None
            lower, upper, coverage, method, status, error, note = row
            if note.startswith("no "):  # an empty interval, of which only the nearest value is returned
                method += f": {note}"
            ends = lower + 0.0, upper + 0.0  # -0.0 becomes 0.0
            rows.append((str(label) or name, "question", *ends, level, coverage, method, status, error))
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def _answer(self, question: Any, level: float) -> tuple[str, Row]:
        if not isinstance(question, Mapping):
            raise TypeError(f"a question must be a mapping such as {{'sum': ['a', 'b']}}, got {question!r}")
        kinds = [word for word in question if word not in ("sizes", "exposures")]
        if len(kinds) != 1 or kinds[0] not in QUESTIONS:
            chosen = " and ".join(map(str, kinds)) or "nothing"
            if "rank" in kinds:
                chosen += ": for a rank, use posterior(..)"
            raise ValueError(f"a question must have exactly one of the keys {', '.join(QUESTIONS)}, got {chosen}")
        kind = str(kinds[0])
        if kind == "sum":
            sides = [self._places(question[kind])]
        else:
            if not isinstance(question[kind], list | tuple) or len(question[kind]) != 2:
                raise ValueError(f"{kind} requires two sides (names or lists of names), got {question[kind]!r}")
            sides = [self._places(side) for side in question[kind]]
        flat = [place for side in sides for place in side]
        if len(set(flat)) != len(flat):
            raise ValueError(f"{kind}: a count must not occur twice, got {question[kind]!r}")
        text = {"sum": " + ", "difference": " - ", "ratio": " / "}[kind].join(
            " + ".join(self._noisy.names[place] for place in side) for side in sides
        )
        if "sizes" in question:
            if kind != "difference":
                raise ValueError(f"sizes may be given only for a difference of rates, got {kind}: omit sizes")
            return f"{text} (rates)", self._difference_of_rates(sides, question["sizes"], level)
        if "exposures" in question:
            if kind != "ratio":
                raise ValueError(f"exposures may be given only for a ratio of rates, got {kind}: omit exposures")
            return f"{text} (rates)", self._ratio_of_rates(sides, question["exposures"], level)
        if kind == "ratio":
            return text, self._ratio(sides[0], sides[1], level)
        signs = dict.fromkeys(sides[0], 1) | (dict.fromkeys(sides[1], -1) if kind == "difference" else {})
        return text, self._signed(signs, level)

    def _places(self, side: Any) -> list[int]:
        names = [side] if isinstance(side, str) else side
        if not isinstance(names, Sequence) or not names:
            raise TypeError(f"each side of a sum, difference or ratio must be a name or a list of names, got {side!r}")
        return [self._noisy.words.place(str(name)) for name in names]

    def _sum(self, signs: Mapping[int, int]) -> SignedSum | None:
        """Return the signed sum of several noisy counts. Return None if the noise of a count is not additive (a table
        or random rounding).
        """
        noises = [self._noisy.noise_at(place) for place in signs]
        if any(noise is None for noise in noises):
            return None
        low = high = 0.0
        for place, sign in signs.items():
            ends = self._noisy.limits(place)
            low, high = low + sign * ends[sign < 0], high + sign * ends[sign > 0]
        return SignedSum(low, high, added([(noise, 1) for noise in noises]))

    def _signed(self, signs: Mapping[int, int], level: float) -> Row:
        signed_sum = self._sum(signs)
        if signed_sum is None:
            lower, upper = self._by_parts(signs, level)
            return lower, upper, level, "sum of simultaneous intervals", "conservative", 0.0, ""
        lower, upper = signed_sum.interval(level)
        least, most = self._possible(signs)
        empty = lower > upper or lower > most or upper < least
        if lower > upper:  # no integer is between the limits; both are finite
            lower = upper = float(np.round((signed_sum.low + signed_sum.high) / 2))
        lower, upper = float(np.clip(lower, least, most)), float(np.clip(upper, least, most))
        exact = signed_sum.noise.exact and signed_sum.low == signed_sum.high
        status = "exact" if exact else "conservative"
        note = f"no value fits at this level; the nearest is {lower:.15g}" if empty else ""
        return lower, upper, signed_sum.coverage(level), "tails", status, 0.0, note

    def _possible(self, signs: Mapping[int, int]) -> tuple[float, float]:
        least = most = 0.0
        for place, sign in signs.items():
            ends = self._noisy.lower[place], self._noisy.upper[place]
            least, most = least + sign * ends[sign < 0], most + sign * ends[sign > 0]
        if self._noisy.total is not None:
            least, most = max(least, -float(self._noisy.total)), min(most, float(self._noisy.total))
        return least, most

    def _by_parts(self, signs: Mapping[int, int], level: float) -> tuple[float, float]:
        """Return confidence limits for a signed sum of counts. The limits are the signed sums of the limits of
        simultaneous intervals. These sums are valid limits for independent noise of any distribution.
        """
        ends = self._noisy.sets.ends(level ** (1 / len(signs)))
        lower = upper = 0.0
        for place, sign in signs.items():
            both = float(ends.lower[place]), float(ends.upper[place])
            lower, upper = lower + sign * both[sign < 0], upper + sign * both[sign > 0]
        return lower, upper

    def _ratio(self, top: list[int], bottom: list[int], level: float) -> Row:
        over, under = self._sum(dict.fromkeys(top, 1)), self._sum(dict.fromkeys(bottom, 1))
        if over is None or under is None:
            root = level**0.5
            (a, b), (c, d) = (self._by_parts(dict.fromkeys(side, 1), root) for side in (top, bottom))
            ends = a / d if d > 0 and np.isfinite(d) else 0.0, b / c if c > 0 else np.inf
            return *ends, level, "ratio of simultaneous intervals", "conservative", 0.0, ""
        interval = Ratio(over, under).interval(level)
        if interval is None:
            share = max(over.low, 0.0) / max(under.low, 1.0)
            return share, share, level, "Fieller", "exact", 0.0, "no ratio fits at this level"
        exact = over.noise.exact and under.noise.exact and over.low == over.high and under.low == under.high
        note = "unbounded" if np.isinf(interval[1]) else "with gaps" if interval[2] else ""
        if interval[0] > _LARGEST_RATIO:  # only the denominator 0 fits
            interval, note = (np.inf, np.inf, False), "no finite ratio fits at this level"
        return interval[0], interval[1], level, "Fieller", "exact" if exact else "conservative", 0.0, note

    def _two_rates(self, sides: Sequence[Sequence[int]], sizes: Any) -> TwoRates:
        if not isinstance(sizes, list | tuple) or len(sizes) != 2:
            raise ValueError(
                f"sizes must contain two numbers, the public number of records of each sample, got {sizes!r}"
            )
        n = [_checks.integer("sizes", size, least=1) for size in sizes]
        y, noise = self._two_samples("sizes", sides)
        return TwoRates(y, (n[0], n[1]), noise)

    def _two_poisson_rates(self, sides: Sequence[Sequence[int]], exposures: Any) -> TwoPoissonRates:
        if not isinstance(exposures, list | tuple) or len(exposures) != 2:
            raise ValueError(
                f"exposures must contain two numbers, the public exposure of each sample, got {exposures!r}"
            )
        e = [_checks.positive("exposures", exposure) for exposure in exposures]
        y, noise = self._two_samples("exposures", sides)
        return TwoPoissonRates(y, (e[0], e[1]), noise)

    def _two_samples(
        self, word: str, sides: Sequence[Sequence[int]]
    ) -> tuple[tuple[float, float], tuple[NoiseSum, NoiseSum]]:
        """Return the released counts of two samples, and the distributions of their noise."""
        if not self._noisy.integers:
            raise ValueError(
                f"{word}: an exact test of two rates requires integer-valued noise and counts that are not rounded, "
                f"clipped or withheld, got the distribution {self._noisy.law!r}"
            )
        one, two = (added([(self._noisy.noise_at(place), 1) for place in side]) for side in sides)
        if not (one.exact and two.exact):
            raise ValueError(
                f"{word}: the noise {self._noisy.law!r} is too large for an exact test of two rates: use posterior(..)"
            )
        first, second = (float(self._noisy.values[list(side)].sum()) for side in sides)
        return (first, second), (one, two)

    def _difference_of_rates(self, sides: list[list[int]], sizes: Any, level: float) -> Row:
        pair = self._two_rates(sides, sizes)
        interval = pair.interval(_below(level, "a difference of rates"))
        note = "" if interval else "no difference fits at this level"
        lower, upper = interval or (pair.centre, pair.centre)
        return lower, upper, level, "Berger and Boos", "conservative", GAMMA + EXCESS, note

    def _ratio_of_rates(self, sides: list[list[int]], exposures: Any, level: float) -> Row:
        pair = self._two_poisson_rates(sides, exposures)
        interval = pair.ratio_interval(_below(level, "a ratio of rates"))
        if interval is None:
            rates = [max(y, 0.5) / e for y, e in zip(pair.y, pair.exposures, strict=True)]
            share = rates[0] / rates[1]
            return share, share, level, "Berger and Boos", "conservative", GAMMA + EXCESS, "no ratio fits at this level"
        note = "unbounded" if np.isinf(interval[1]) else "with gaps" if interval[2] else ""
        return interval[0], interval[1], level, "Berger and Boos", "conservative", GAMMA + EXCESS, note

    def test(
        self,
        hypothesis: str | Mapping[str, float],
        *,
        sizes: Sequence[int] | None = None,
        exposures: Sequence[float] | None = None,
        rest: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> PValue:
        """Return the p-value of a test of a hypothesis about true counts or underlying rates.

        Parameters
        ----------
        hypothesis : ``"a = b"``, ``"a + b = c"`` or ``"a = 20"``, equal true counts; with `sizes`, `exposures` or
            `rest` equal underlying rates; or a mapping of all names to rates, tested given the public total.
        sizes : public numbers of records in the samples of a and b.
        exposures : public exposures of a and b, such as person-years, if the true counts are Poisson.
        rest : names of the counts of all other records of the two samples, if the sizes are not public; the test is a
            parametric bootstrap, because no exact test of four noisy cells has useful power.
        rng : numpy Generator, for hypotheses about all rates and with `rest`: 9,999 draws of the release.

        Returns
        -------
        PValue
            A float with the attributes ``method`` and ``status``.

        Raises
        ------
        KeyError
            If the hypothesis contains an unknown name.
        ValueError, TypeError
            If the hypothesis is not of these forms, or the noise does not allow the test.
        """
        if isinstance(hypothesis, Mapping):
            return self._test_rates(hypothesis, rng)
        parsed = comparison(hypothesis, self._noisy.words)
        if parsed.operator != "==" or any(abs(c) != 1 for c in parsed.coefficients.values()) or not parsed.coefficients:
            raise ValueError(
                f"{hypothesis!r}: a hypothesis must be an equation between sums of different counts, such as 'a = b'"
            )
        signs = {place: int(sign) for place, sign in parsed.coefficients.items()}
        given = [
            name for name, value in (("sizes", sizes), ("exposures", exposures), ("rest", rest)) if value is not None
        ]
        if len(given) > 1:
            raise ValueError(
                f"{hypothesis!r}: only one of sizes, exposures and rest may be given, got {', '.join(given)}"
            )
        if not given:
            return self._test_counts(hypothesis, signs, parsed.bound)
        sides = [[place for place, sign in signs.items() if sign == which] for which in (1, -1)]
        if not all(sides) or parsed.bound != 0:
            raise ValueError(
                f"{hypothesis!r}: if {given[0]} is given, the hypothesis must compare two samples, as in 'a = b'"
            )
        if rest is not None:
            return self._bootstrap(hypothesis, sides, rest, rng)
        value = (
            self._two_rates(sides, sizes) if exposures is None else self._two_poisson_rates(sides, exposures)
        ).pvalue()
        return PValue(value, f"{hypothesis} (rates)", "Berger and Boos", "conservative")

    def _test_counts(self, text: str, signs: Mapping[int, int], bound: float) -> PValue:
        summed = self._sum(signs)
        if summed is None:
            raise ValueError(
                f"an exact test of {text!r} is not available for the noise distribution {self._noisy.law!r}: test each "
                "count separately, with .counts[name].pvalue(..)"
            )
        exact = summed.noise.exact and summed.low == summed.high
        return PValue(summed.pvalue(bound, "two"), text, "tails", "exact" if exact else "conservative")

    def _test_rates(self, rates: Mapping[str, float], rng: np.random.Generator | None) -> PValue:
        noisy = self._noisy
        if noisy.total is None:
            raise ValueError(
                "total (the public number of records) is required for a test of rates: pass Release(.., total=)"
            )
        if not noisy.plain:
            raise ValueError(f"a test of rates requires counts that are not rounded or withheld, got {noisy.law!r}")
        if set(rates) != set(noisy.names):
            raise ValueError(
                f"rates must contain a rate for each of {', '.join(noisy.names)}, got rates for {', '.join(rates)}"
            )
        p = _checks.fraction("rates", [rates[name] for name in noisy.names])
        if abs(p.sum() - 1) > 1e-9:
            raise ValueError(f"rates must sum to 1, got {p.sum():.9g}")
        value = goodness_of_fit(
            noisy.values, n=noisy.total, rates=p / p.sum(), law=noisy.law,
            variances=np.atleast_1d(np.asarray(noisy.law.variance(), dtype=float)), rng=_checks.generator(rng),
        )  # fmt: skip
        return PValue(value, "the given rates", f"Monte Carlo, {DRAWS:,} draws", "exact")

    def _bootstrap(
        self, text: str, sides: list[list[int]], rest: Sequence[str], rng: np.random.Generator | None
    ) -> PValue:
        noisy = self._noisy
        if not noisy.plain:
            raise ValueError(
                f"rest may be given only for counts that are not rounded or withheld, got the mechanism {noisy.law!r}"
            )
        if isinstance(rest, str) or len(rest) != 2:
            raise ValueError(f"rest must contain two names, one per sample, got {rest!r}")
        if any(len(side) != 1 for side in sides):
            raise ValueError(f"{text!r}: with the argument `rest`, each side of the hypothesis must be a single count")
        others = [noisy.words.place(name) for name in rest]
        places = np.array([sides[0][0], others[0], sides[1][0], others[1]])
        if len(set(places.tolist())) < 4:
            raise ValueError(f"rest must contain two counts that are not in the hypothesis, got {', '.join(rest)}")
        law = noisy.law if noisy.law.row_count is None else noisy.law.take(places)
        value = four_cells(
            noisy.values[places], law=law, rng=_checks.generator(rng),
            variances=np.atleast_1d(np.asarray(law.variance(), dtype=float)),
        )  # fmt: skip
        return PValue(value, f"{text} (rates)", f"parametric bootstrap, {DRAWS:,} draws", "approximate")

    def __repr__(self) -> str:
        table = self.summary().drop(columns=["level", "error"]).to_string(index=False, max_rows=24)
        return "\n".join([*self._heading(), table])

    def _repr_html_(self) -> str:
        heading = "".join(f"<p>{escape(line)}</p>" for line in self._heading())
        return heading + str(self.summary().to_html(index=False, max_rows=60))

    def _heading(self) -> list[str]:
        """Return the lines above the table: what it contains, and the first ten remarks on the intervals of counts."""
        found = self.notes()
        remarks = [f"{name}: {note}" for name, note in list(found.items())[:10]]
        if (rest := len(found) - 10) > 0:
            remarks.append(f".. ({rest:,} more remark{'s' * (rest > 1)})")
        return ["95 % confidence intervals, without a prior", *remarks]


def _below(level: float, what: str) -> float:
    """Return the confidence level, or raise ValueError if the level is not below 1 - GAMMA."""
    if level >= 1 - GAMMA:
        raise ValueError(f"level must be below {1 - GAMMA:g} for {what}, got {level}")
    return level
