"""Errata of Wang (2020), each with evidence that a run produces.

``python -m reproduction.evidence wang2020 N`` shows erratum N, and ``errata`` makes the whole table.
"""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._accounting import privacy_profiles
from dpmultinomial._mechanisms import additive_counts as mechanism
from dpmultinomial._mechanisms import additive_release
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._posteriors.additive import additive_counts

from ... import evidence
from . import examples, literal
from .algorithms import release_moments

_MODEL: dict[str, Any] = {"epsilon": 1.0, "support": 50}
_PAIR = (250, 357)


def _positive(rng: np.random.Generator, size: int) -> str:
    counts = examples.example_2()
    smallest = [int(examples.representatives(counts)[0])]
    means = [
        release_moments.moments(counts, components=smallest, algorithm="1-independent", least=least, **_MODEL)[0][0]
        for least in (1, 0)
    ]
    return (
        f"For algorithm 1 (ind) in Example 2, the mean at N_min is {means[0]:.3f} with draws > 0 and {means[1]:.3f} "
        "with draws >= 0."
    )


def _top(algorithm: str, window: int | None, ties: str = "random") -> str:
    law = additive_counts.posterior(_PAIR, epsilon=1.0, algorithm=algorithm, window=window, ties=ties)
    return " ".join(f"{p:.4f}" for p in law.top(10)[1])


def _window(rng: np.random.Generator, size: int) -> str:
    by_window = " ".join(f"With windows of +-{w}, they are {_top('2', w)}." for w in (30, 9, 10, 11))
    return (
        "The ten largest posterior probabilities for algorithm 2 depend on the window. "
        f"{by_window} Without a window, they are {_top('2', None)}."
    )


def _swapped_captions(rng: np.random.Generator, size: int) -> str:
    tops = _top("2", 30)[:6], _top("3", 30, "ieee")[:6]
    return (
        f"The highest posterior probability is {tops[0]} for algorithm 2 and {tops[1]} for algorithm 3. The table with "
        "the caption (4) is that of algorithm 2."
    )


def _total_noise(rng: np.random.Generator, size: int) -> str:
    released = mechanism.release(examples.example_2(), algorithm="2", size=size, rng=rng, **_MODEL).sum(axis=1)
    return (
        f"The released totals of {size} runs have the mean {released.mean():.2f} (N = 863) and the variance "
        f"{released.var():.2f}."
    )


def _sum_of_three(rng: np.random.Generator, size: int) -> str:
    variances = []
    for size_of_sum in (3, 50):
        logs, reach = additive_release.summed_noise(1.0, 50, size_of_sum)
        values = np.arange(-reach, reach + 1)
        variances.append(f"{np.exp(logs) @ values**2:.2f} for {size_of_sum} components")
    logs, reach = additive_release.summed_noise(2.0, 50, 50)
    values = np.arange(-reach, reach + 1)
    return (
        f"The variance of the summed noise is {' and '.join(variances)}. If the draws are re-weighted by their own "
        f"probability, the variance for 50 components is {np.exp(logs) @ values**2:.2f}."
    )


def _theorem(rng: np.random.Generator, size: int) -> str:
    weights = np.array([1, 0, 3])
    return (
        "A component with k = 0 would lead to the quotient f/0. This project computes the mode "
        f"{mechanism.multinomial_mode(2, weights).tolist()} for the weights {weights.tolist()} and the total 2."
    )


def _ties(rng: np.random.Generator, size: int) -> str:
    counts = examples.example_2()
    noise = TwoSidedGeometric(**_MODEL)
    noisy = np.maximum(noise.sample(np.broadcast_to(counts, (size, len(counts))), rng=rng), 0)
    totals = np.maximum(noise.sample(np.full(size, counts.sum()), rng=rng), 0)
    modes = {rule: additive_release.modes(totals, noisy, ties=rule, rng=rng) for rule in ("first", "last", "ieee")}
    several = (modes["first"] != modes["last"]).any(axis=1).mean()
    same = (modes["first"] == modes["ieee"]).all(axis=1).mean()
    smallest = examples.representatives(counts)[0]
    means = ", ".join(f"{mode_draws[:, smallest].mean():.2f} ({rule})" for rule, mode_draws in modes.items())
    return (
        f"In {100 * several:.1f} % of {size} releases, the mode is not unique. In {100 * same:.1f} % of the releases, "
        "double-precision rounding gives the mode in which the first component wins each tie. The mean at N_min by tie "
        f"rule is {means}."
    )


def _near_one(rng: np.random.Generator, size: int) -> str:
    counts = examples.example_1(1)
    smallest = [int(examples.representatives(counts)[0])]
    phrases = []
    for algorithm in ("1-independent", "2"):
        mean, variance = release_moments.moments(counts, components=smallest, algorithm=algorithm, **_MODEL)
        phrases.append(f"{mean[0]:.2f} and {variance[0]:.2f} for algorithm {algorithm}")
    released = mechanism.release(counts, algorithm="3", size=size, rng=rng, **_MODEL)[:, smallest[0]]
    return (
        f"In Example 1, the mean and the variance at N_min are {', '.join(phrases)}, and {released.mean():.2f} and "
        f"{released.var(ddof=1):.2f} for algorithm 3 (simulated)."
    )


def _seats(rng: np.random.Generator, size: int) -> str:
    counts = examples.example_2()
    sevens = [name for name, seats in examples.SEATS.items() if seats == 7]
    kinds = {method: float(np.quantile(counts, 0.25, method=method)) for method in ("linear", "closest_observation")}
    return (
        f"The data contain {len(counts) - 1} states with {counts[:-1].sum()} seats, and the national total "
        f"{counts[-1]}. The states with seven seats are {' and '.join(sevens)}, whereas Alabama is missing. The first "
        f"quartile is {kinds['linear']:g} with the default quantile type of R and {kinds['closest_observation']:g} "
        "with type 3."
    )


def _alpha_twice(rng: np.random.Generator, size: int) -> str:
    p = TwoSidedGeometric(**_MODEL).pmf([0, 1])
    return (
        f"For epsilon = 1, P(0)/P(1) = {p[0] / p[1]:.4f} = exp(1). Therefore, alpha denotes epsilon in Definition 1 "
        "and exp(-epsilon) in the probability mass function of the noise."
    )


def _budget(rng: np.random.Generator, size: int) -> str:
    deltas = [privacy_profiles.geometric_delta(claim, epsilon=1.0) for claim in (1.0, 2.0)]
    return (
        f"If the total and the components are released, epsilon = 1 requires delta = {deltas[0]:.3f}. For epsilon = 2, "
        f"delta = {deltas[1]:.1e} is sufficient, and this delta is due to the truncation of the noise at 50."
    )


def _close_means(rng: np.random.Generator, size: int) -> str:
    counts = examples.example_2()
    largest = [int(examples.representatives(counts)[-1])]
    phrases = []
    for algorithm in ("1-independent", "2"):
        mean = release_moments.moments(counts, components=largest, algorithm=algorithm, **_MODEL)[0]
        phrases.append(f"{mean[0]:.2f} for algorithm {algorithm}")
    released = mechanism.release(counts, algorithm="3", size=size, rng=rng, ties="ieee", **_MODEL)[:, largest[0]]
    return (
        f"In Example 2, the largest count is N_max = {counts.max()}. Its exact mean is {' and '.join(phrases)}. For "
        f"algorithm 3, the mean is {released.mean():.2f} and the variance is {released.var(ddof=1):.1f} in {size} "
        f"runs. The standard deviation of the noise is {TwoSidedGeometric(**_MODEL).variance() ** 0.5:.2f}."
    )


def _similar_posteriors(rng: np.random.Generator, size: int) -> str:
    phrases = []
    for algorithm in ("1-independent", "1-summed", "2", "3"):
        law = additive_counts.posterior(_PAIR, epsilon=1.0, algorithm=algorithm)
        values, p = law.total()
        spread = np.sqrt((values - values @ p) ** 2 @ p)
        phrases.append(f"{algorithm}: {np.sqrt(law.variance()[0]):.2f} and {spread:.2f}")
    return f"The standard deviations of N1 and of N given (250, 357) are, by algorithm, {', '.join(phrases)}."


def _empty(rng: np.random.Generator, size: int) -> str:
    try:
        with np.errstate(invalid="raise", divide="raise"):
            for _ in range(1000):
                literal.release([0, 0], rng=rng, **_MODEL)
    except FloatingPointError as error:
        released = mechanism.release([0, 0], algorithm="2", size=size, rng=rng, **_MODEL)
        return (
            f"If all weights are 0, the algorithm as written fails: {error}. In this project, the components receive "
            f"equal shares, and their means are {released.mean(axis=0).round(3).tolist()}."
        )
    return "In this run, no release had only zero weights."


ERRATA: evidence.Errata = {
    1: ('"Positive" draws must include the value 0.', _positive),
    2: ("Table (4) was not computed with windows of +-30. Windows of +-10 reproduce the table.", _window),
    3: ("Section 4.2 cites Tables (5) and (6), but the captions are (4) and (5).", _swapped_captions),
    4: (
        "The formula n = n + delta should read n = N + delta, and the sample size s of algorithm 2 should read n.",
        _total_noise,
    ),
    5: (
        'The noise of "three" components should be that of S components. Re-weighting draws by their probability '
        "squares alpha.",
        _sum_of_three,
    ),
    6: ("Theorem 1 divides by k = 0 and confuses r and S.", _theorem),
    7: ("The mode is often not unique, so that the result depends on rounding.", _ties),
    8: ("At N_min, the means are close to 1 only for algorithm 1, and the variances differ.", _near_one),
    9: (
        "Example 2 consists of 49 states and the national total, and its quartiles require another quantile type.",
        _seats,
    ),
    10: ("The symbol alpha denotes both epsilon and exp(-epsilon).", _alpha_twice),
    11: (
        "A release has a privacy cost of 2 epsilon, and the truncation of the noise makes the guarantee approximate.",
        _budget,
    ),
    12: ("The algorithms do not provide for weights that are all zero.", _empty),
    13: (
        "In Example 2, not all means are very close to the counts, and the variances of algorithm 3 are not similar.",
        _close_means,
    ),
    14: (
        "The posteriors of algorithms 2 and 3 are not similar, and those of algorithms 1 and 2 differ for the total.",
        _similar_posteriors,
    ),
}


def errata(*, size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return all errata as a table with the columns number, erratum, evidence and command."""
    return evidence.table("wang2020", ERRATA, rng=rng, size=size)
