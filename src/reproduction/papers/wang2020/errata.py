"""Errata of the paper, each with evidence that a run produces.

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
    return f"Example 2, N_min, algorithm 1 (ind): mean {means[0]:.3f} with draws > 0, {means[1]:.3f} with draws >= 0"


def _top(algorithm: str, window: int | None, ties: str = "random") -> str:
    law = additive_counts.posterior(_PAIR, epsilon=1.0, algorithm=algorithm, window=window, ties=ties)
    return " ".join(f"{p:.4f}" for p in law.top(10)[1])


def _window(rng: np.random.Generator, size: int) -> str:
    return (
        "; ".join(f"window +-{w}: {_top('2', w)}" for w in (30, 9, 10, 11)) + f"; without a window: {_top('2', None)}"
    )


def _swapped_captions(rng: np.random.Generator, size: int) -> str:
    tops = _top("2", 30)[:6], _top("3", 30, "ieee")[:6]
    return f"highest probability: algorithm 2 {tops[0]}, algorithm 3 {tops[1]}; caption (4) is algorithm 2's table"


def _total_noise(rng: np.random.Generator, size: int) -> str:
    released = mechanism.release(examples.example_2(), algorithm="2", size=size, rng=rng, **_MODEL).sum(axis=1)
    return f"released totals of {size} runs: mean {released.mean():.2f} (N = 863), variance {released.var():.2f}"


def _sum_of_three(rng: np.random.Generator, size: int) -> str:
    found = []
    for size_of_sum in (3, 50):
        logs, reach = additive_release.summed_noise(1.0, 50, size_of_sum)
        values = np.arange(-reach, reach + 1)
        found.append(f"{size_of_sum} components: variance {np.exp(logs) @ values**2:.2f}")
    logs, reach = additive_release.summed_noise(2.0, 50, 50)
    values = np.arange(-reach, reach + 1)
    return "; ".join(found) + f"; re-weighted by their own probability, 50 components: {np.exp(logs) @ values**2:.2f}"


def _theorem(rng: np.random.Generator, size: int) -> str:
    weights = np.array([1, 0, 3])
    return (
        f"a component with k = 0 would give f/0; ours {mechanism.multinomial_mode(2, weights).tolist()} for weights "
        f"{weights.tolist()}, total 2"
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
    means = ", ".join(f"{rule} {found[:, smallest].mean():.2f}" for rule, found in modes.items())
    return f"{several:.1%} of {size} modes are not unique; doubles give the first in {same:.1%}; mean at N_min: {means}"


def _near_one(rng: np.random.Generator, size: int) -> str:
    counts = examples.example_1(1)
    smallest = [int(examples.representatives(counts)[0])]
    found = []
    for algorithm in ("1-independent", "2"):
        mean, variance = release_moments.moments(counts, components=smallest, algorithm=algorithm, **_MODEL)
        found.append(f"{algorithm}: mean {mean[0]:.2f}, variance {variance[0]:.2f}")
    released = mechanism.release(counts, algorithm="3", size=size, rng=rng, **_MODEL)[:, smallest[0]]
    return "; ".join(found) + f"; 3 (simulated): mean {released.mean():.2f}, variance {released.var(ddof=1):.2f}"


def _seats(rng: np.random.Generator, size: int) -> str:
    counts = examples.example_2()
    sevens = [name for name, seats in examples.SEATS.items() if seats == 7]
    kinds = {method: float(np.quantile(counts, 0.25, method=method)) for method in ("linear", "closest_observation")}
    return (
        f"{len(counts) - 1} states with {counts[:-1].sum()} seats, the total {counts[-1]}; sevens: {', '.join(sevens)} "
        f"(Alabama missing); first quartile: default {kinds['linear']:g}, type 3 {kinds['closest_observation']:g}"
    )


def _alpha_twice(rng: np.random.Generator, size: int) -> str:
    p = TwoSidedGeometric(**_MODEL).pmf([0, 1])
    return f"P(0)/P(1) = {p[0] / p[1]:.4f} = exp(1): in Definition 1 alpha is epsilon, in the pmf exp(-epsilon)"


def _budget(rng: np.random.Generator, size: int) -> str:
    found = [privacy_profiles.geometric_delta(claim, epsilon=1.0) for claim in (1.0, 2.0)]
    return f"total and components: epsilon 1 needs delta {found[0]:.3f}, epsilon 2 delta {found[1]:.1e} (the cut at 50)"


def _close_means(rng: np.random.Generator, size: int) -> str:
    counts = examples.example_2()
    largest = [int(examples.representatives(counts)[-1])]
    found = []
    for algorithm in ("1-independent", "2"):
        mean = release_moments.moments(counts, components=largest, algorithm=algorithm, **_MODEL)[0]
        found.append(f"algorithm {algorithm} {mean[0]:.2f}")
    released = mechanism.release(counts, algorithm="3", size=size, rng=rng, ties="ieee", **_MODEL)[:, largest[0]]
    return (
        f"Example 2, N_max = {counts.max()}: mean by {', '.join(found)} (exact), algorithm 3 "
        f"{released.mean():.2f} with variance {released.var(ddof=1):.1f} ({size} runs); the noise alone has sd "
        f"{TwoSidedGeometric(**_MODEL).variance() ** 0.5:.2f}"
    )


def _similar_posteriors(rng: np.random.Generator, size: int) -> str:
    found = []
    for algorithm in ("1-independent", "1-summed", "2", "3"):
        law = additive_counts.posterior(_PAIR, epsilon=1.0, algorithm=algorithm)
        values, p = law.total()
        spread = np.sqrt((values - values @ p) ** 2 @ p)
        found.append(f"{algorithm}: {np.sqrt(law.variance()[0]):.2f} and {spread:.2f}")
    return f"sd of N1 and of N given (250, 357) by algorithm {', '.join(found)}"


def _empty(rng: np.random.Generator, size: int) -> str:
    try:
        with np.errstate(invalid="raise", divide="raise"):
            for _ in range(1000):
                literal.release([0, 0], rng=rng, **_MODEL)
    except FloatingPointError as error:
        released = mechanism.release([0, 0], algorithm="2", size=size, rng=rng, **_MODEL)
        return (
            f"all weights 0, as written: {error}; ours shares equally: mean {released.mean(axis=0).round(3).tolist()}"
        )
    return "no release had only zero weights in this run"


ERRATA: evidence.Errata = {
    1: ('"positive" draws must allow 0', _positive),
    2: ("Table (4) is not computed with windows of +-30; +-10 fits", _window),
    3: ("section 4.2 cites Tables (5) and (6), the captions are (4) and (5)", _swapped_captions),
    4: ("n = n + delta should read n = N + delta; the sample size s of algorithm 2 is n", _total_noise),
    5: ('"sum of three" noises should be S; re-weighting draws by their probability squares alpha', _sum_of_three),
    6: ("Theorem 1 divides by k = 0 and mixes r and S", _theorem),
    7: ("the mode is often not unique and rounding decides", _ties),
    8: ("N_min means close to 1 and equal variances hold for algorithm 1 only", _near_one),
    9: ("Example 2 is 49 states and the national total; its quartiles need another quantile", _seats),
    10: ("alpha means epsilon and exp(-epsilon)", _alpha_twice),
    11: ("a release costs 2 epsilon, and the cut makes it approximate", _budget),
    12: ("weights that are all zero are not provided for", _empty),
    13: ("means are not all very close, and algorithm 3's variances not all alike, in Example 2", _close_means),
    14: ("posteriors: algorithms 2 and 3 are not similar, nor algorithms 1 and 2 for the total", _similar_posteriors),
}


def errata(*, size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return all errata as a table with the columns number, erratum, evidence and command."""
    return evidence.table("wang2020", ERRATA, rng=rng, size=size)
