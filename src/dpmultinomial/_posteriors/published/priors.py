"""Priors of a count, that is, assumptions about the count before its noisy value is known."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, gammaln

from ... import _checks

Array = NDArray[np.float64]
WORDS = ("flat", "1/(1+n)", "geometric", "negative_binomial", "table", "fitted")
_LOG_ZERO = -np.inf


class CountPrior(Protocol):
    """Interface of a prior, given by weights of the counts 0, 1, 2, ..

    ``proper``        whether the weights add up to 1; else they have no finite sum
    ``peak``          log of the largest weight
    ``first, last``   smallest and largest possible count
    """

    proper: bool
    peak: float
    first: float
    last: float

    def log_weights(self, counts: ArrayLike) -> Array: ...

    def below(self, counts: ArrayLike) -> Array: ...

    def reach(self, log_mass: float) -> tuple[float, float]: ...

    def settings(self) -> dict[str, object]: ...


class Flat:
    """Flat prior with the same weight for every count: improper; many flat counts together imply an assumption about
    their sum.
    """

    proper, peak, first, last = False, 0.0, -np.inf, np.inf

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return 0 for every integer, including negative integers."""
        return np.zeros(np.shape(counts))

    def below(self, counts: ArrayLike) -> Array:
        """Return NaN, because an improper prior has no probabilities."""
        return np.full(np.shape(counts), np.nan)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return infinite limits, because no finite range contains almost all of the weight of an improper prior."""
        return -np.inf, np.inf

    def settings(self) -> dict[str, object]:
        """Return the prior as configuration keys and values."""
        return {"law": "flat"}


class Reciprocal:
    """Prior with weight 1/(1 + n) for every count n >= 0: improper, and nearly flat in the logarithm of the count."""

    proper, peak, first, last = False, 0.0, 0.0, np.inf

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log weight -log(1 + n), -inf below 0."""
        n = np.asarray(counts, dtype=np.float64)
        return np.where(n >= 0, -np.log1p(np.maximum(n, 0.0)), _LOG_ZERO)

    def below(self, counts: ArrayLike) -> Array:
        """Return NaN, because an improper prior has no probabilities."""
        return np.full(np.shape(counts), np.nan)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return infinite limits, because no finite range contains almost all of the weight of an improper prior."""
        return -np.inf, np.inf

    def settings(self) -> dict[str, object]:
        """Return the prior as configuration keys and values."""
        return {"law": "1/(1+n)"}


class Geometric:
    """Geometric prior P(n) = (1 - a) a^n with a = mean/(1 + mean).

    Parameters
    ----------
    mean : mean of the count, > 0.
    """

    proper, first, last = True, 0.0, np.inf

    def __init__(self, mean: float) -> None:
        self.mean = _checks.positive("mean", mean)
        self.peak = -float(np.log1p(self.mean))

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior probability log P(n), -inf below 0."""
        n = np.asarray(counts, dtype=np.float64)
        return np.where(n >= 0, self.peak - n * np.log1p(1 / self.mean), _LOG_ZERO)

    def below(self, counts: ArrayLike) -> Array:
        """Return P(count < n), with the arguments broadcast against each other."""
        n = np.ceil(np.maximum(np.asarray(counts, dtype=np.float64), 0.0))
        return np.asarray(-np.expm1(-n * np.log1p(1 / self.mean)))

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return the first and last count of a range that contains all but exp(-log_mass) of the prior probability."""
        return 0.0, float(np.ceil(log_mass / np.log1p(1 / self.mean)))

    def settings(self) -> dict[str, object]:
        """Return the prior as configuration keys and values."""
        return {"law": "geometric", "mean": self.mean}


class NegativeBinomial:
    """Negative binomial prior: the count is Poisson with a Gamma-distributed mean, variance mean + mean^2/shape;
    geometric at shape 1.

    Parameters
    ----------
    mean : mean of the count, > 0.
    shape : shape of the Gamma distribution, > 0; small if there are many zeros and a long tail.
    """

    proper, first, last = True, 0.0, np.inf

    def __init__(self, mean: float, shape: float) -> None:
        self.mean, self.shape = _checks.positive("mean", mean), _checks.positive("shape", shape)
        top = max(int(np.floor(self.mean * (self.shape - 1) / self.shape)), 0)
        self.peak = float(self.log_weights(np.array([top, top + 1])).max())

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior probability log P(n), -inf below 0."""
        n = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
        rising = gammaln(n + self.shape) - gammaln(n + 1) - gammaln(self.shape)
        logs = rising - n * np.log1p(self.shape / self.mean) - self.shape * np.log1p(self.mean / self.shape)
        return np.where(np.asarray(counts) >= 0, logs, _LOG_ZERO)

    def below(self, counts: ArrayLike) -> Array:
        """Return P(count < n), with the arguments broadcast against each other."""
        n = np.ceil(np.maximum(np.asarray(counts, dtype=np.float64), 0.0))
        return np.where(n > 0, betainc(self.shape, np.maximum(n, 1.0), self.shape / (self.shape + self.mean)), 0.0)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return the first and last count of a range that contains all but exp(-log_mass) of the prior probability."""
        last = np.ceil(self.mean + self.shape + 1.0)
        while True:
            fall = (
                (last + self.shape) / (last + 1) * self.mean / (self.mean + self.shape)
            )  # ratio of the next weight, or less
            if fall < 1 and self.log_weights(last) - np.log1p(-fall) <= -log_mass:
                return 0.0, float(last)
            last = np.ceil(1.2 * last)

    def settings(self) -> dict[str, object]:
        """Return the prior as configuration keys and values."""
        return {"law": "negative_binomial", "mean": self.mean, "shape": self.shape}


class Listed:
    """Prior on a list of counts with given probabilities; no other count is possible.

    Parameters
    ----------
    counts : integers >= 0, all distinct.
    probabilities : numbers >= 0 with a positive sum; scaled to 1.
    """

    proper = True

    def __init__(self, counts: ArrayLike, probabilities: ArrayLike) -> None:
        n, p = _checks.counts("counts", counts), _checks.reals("probabilities", probabilities)
        if len(n) != len(p) or len(np.unique(n)) != len(n):
            raise ValueError(f"counts must be different, with one probability each, got {len(n)} and {len(p)}")
        if p.min() < 0 or not p.sum() > 0:
            raise ValueError(f"probabilities must be >= 0 with a positive sum, got {p.min()}")
        order = np.argsort(n)
        self.counts = n[order]
        with np.errstate(divide="ignore"):
            self.logs: Array = np.log(p[order] / p.sum())
        self.peak = float(self.logs.max())
        possible = self.counts[self.logs > _LOG_ZERO]
        self.first, self.last = float(possible[0]), float(possible[-1])

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log prior probability log P(n), -inf if n is not listed."""
        n = np.asarray(counts, dtype=np.float64)
        place = np.minimum(np.searchsorted(self.counts, n), len(self.counts) - 1)
        return np.where(self.counts[place] == n, self.logs[place], _LOG_ZERO)

    def below(self, counts: ArrayLike) -> Array:
        """Return P(count < n), with the arguments broadcast against each other."""
        sums = np.concatenate([[0.0], np.cumsum(np.exp(self.logs))])
        return np.asarray(sums[np.searchsorted(self.counts, np.asarray(counts, dtype=np.float64))])

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return the smallest and the largest listed count."""
        return self.first, self.last

    def settings(self) -> dict[str, object]:
        """Return the prior as configuration keys and values, without the list of counts."""
        return {"law": "table", "counts": len(self.counts)}


class Splits:
    """Improper prior weights Gamma(n + alpha)/(n! Gamma(alpha)) of a count: multiplied by the factor of the sum, they
    yield the Dirichlet-multinomial distribution of shares.

    Parameters
    ----------
    alpha : concentration of one category, > 0.
    """

    proper, first, last = False, 0.0, np.inf

    def __init__(self, alpha: float) -> None:
        self.alpha = _checks.positive("alpha", alpha)
        self.peak = 0.0 if self.alpha <= 1 else np.inf

    def log_weights(self, counts: ArrayLike) -> Array:
        """Return the log of the prior weight, -inf below 0."""
        n = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
        logs = gammaln(n + self.alpha) - gammaln(n + 1) - gammaln(self.alpha)
        return np.where(np.asarray(counts) >= 0, logs, -np.inf)

    def below(self, counts: ArrayLike) -> Array:
        """Return NaN, because an improper prior has no probabilities."""
        return np.full(np.shape(counts), np.nan)

    def reach(self, log_mass: float) -> tuple[float, float]:
        """Return infinite limits, because no finite range contains almost all of the weight of an improper prior."""
        return -np.inf, np.inf

    def settings(self) -> dict[str, object]:
        """Return the prior as configuration keys and values."""
        return {"law": "multinomial", "alpha": self.alpha}


def prior_of(words: Any) -> CountPrior:
    """Build a prior from a string, a mapping or a prior; ``"fitted"`` is handled by `prior_choice.fit` instead.

    Parameters
    ----------
    words : ``"flat"``, ``"1/(1+n)"``; ``{law: geometric, mean: m}``, ``{law: negative_binomial, mean: m, shape: s}``,
        ``{law: table, counts: [..], probabilities: [..]}``; or an object with ``log_weights``.

    Returns
    -------
    CountPrior

    Raises
    ------
    ValueError, TypeError
        If a key is unknown or missing.
    """
    if hasattr(words, "log_weights"):
        prior: CountPrior = words
        return prior
    given = {"law": words} if isinstance(words, str) else words
    if not isinstance(given, Mapping):
        raise TypeError(f"prior must be one of {', '.join(WORDS)}, a mapping with law, or a prior, got {words!r}")
    law = given.get("law")
    if law == "fitted":
        raise ValueError("prior: a fitted prior needs many noisy counts; use prior_choice.fit(..)")
    if law not in WORDS:
        hint = get_close_matches(str(law), WORDS, n=1)
        raise ValueError(
            f"prior must be one of {', '.join(WORDS)}, got {law!r}" + (f"; did you mean {hint[0]}?" if hint else "")
        )
    needs = _NEEDS[law]
    if set(given) - {"law"} != set(needs):
        got = ", ".join(sorted(set(given) - {"law"})) or "nothing"
        raise ValueError(f"prior: {law} takes {' and '.join(needs) or 'no parameters'}, got {got}")
    made: CountPrior = _MADE[law](**{name: given[name] for name in needs})
    return made


_NEEDS = {
    "flat": (),
    "1/(1+n)": (),
    "geometric": ("mean",),
    "negative_binomial": ("mean", "shape"),
    "table": ("counts", "probabilities"),
}
_MADE: dict[str, Any] = {
    "flat": Flat,
    "1/(1+n)": Reciprocal,
    "geometric": Geometric,
    "negative_binomial": NegativeBinomial,
    "table": Listed,
}
