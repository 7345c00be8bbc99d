"""Define the numbers that methods.md and errata.md quote, and the tables from which these numbers follow."""

from math import exp, sqrt

import pandas as pd

from ...verdicts.quotes import Quote, at, told

GIVEN = {  # sections, a number of seats, numbers of runs, printed numbers
    "methods.md": ("10,000",),
    "errata.md": ("5.1", "4.2", "435", "10,000", "0.03", "0.02"),
}
_NOISE = sqrt(2 * exp(-1)) / (1 - exp(-1))  # sd of P(d) ~ exp(-|d|); the mass beyond +-50 is below 1e-20


def _moment(table: pd.DataFrame, algorithm: str, representative: str, example: str, what: str = "mean") -> float:
    ties = "random" if algorithm == "Algorithm 3" else ""
    rows = table.assign(ties=table["ties"].fillna(""))
    where = {"example": example, "algorithm": algorithm, "ties": ties, "representative": representative}
    return at(rows, f"exact_{what}", **where)


def _smallest(table: pd.DataFrame) -> list[float]:
    means = table.loc[table["representative"] == "N_min", ["mean", "exact_mean"]]
    exact = means["exact_mean"].fillna(means["mean"])
    return [exact.min(), exact.max()]


def _at_the_largest_count(table: pd.DataFrame) -> list[float]:
    return [
        _moment(table, "Algorithm 3", "N_max", "example_2") - 435,
        435 - _moment(table, "Algorithm 1 (ind)", "N_max", "example_2"),
        _NOISE,
        _moment(table, "Algorithm 3", "N_max", "example_2", "variance"),
        _moment(table, "Algorithm 3", "N_min", "example_2", "variance"),
    ]


def _far_from_one(table: pd.DataFrame) -> list[float]:
    names = ("Algorithm 2", "Algorithm 1 (ind)", "Algorithm 3")
    mean, *_ = (_moment(table, name, "N_min", "example_1") for name in names)
    high, low = (_moment(table, name, "N_min", "example_1", "variance") for name in names[1:])
    return [mean, low, high]


def _variances_differ(table: pd.DataFrame) -> list[float]:
    largest = table[table["representative"] == "N_max"]
    one, other = (f"Algorithm 1 ({way})" for way in ("ind", "summed"))
    exact = [at(largest, "exact_variance", algorithm=name) for name in (one, other)]
    run = at(largest, "variance_se", algorithm=one) / at(largest, "variance", algorithm=one)
    return [exact[0] / exact[1] - 1, run]


QUOTES = [
    Quote(
        "methods.md",
        r"$\delta = {{0.34}}$ for a claimed $\varepsilon$ of 1, and $\delta = {{1.8 \cdot 10^{-22}}}$ for a claimed "
        r"$\varepsilon$ of 2",
        "privacy",
        lambda t: [at(t, "delta", claimed=c, counts="total and components") for c in (1.0, 2.0)],
    ),
    Quote(
        "errata.md",
        "±50 requires δ = {{1.8·10⁻²²}}",
        "privacy",
        lambda t: [at(t, "delta", claimed=2.0, counts="total and components")],
    ),
    Quote(
        "errata.md",
        "at the smallest count is between {{0.75}} and {{1.16}}, depending only on the tie-breaking rule",
        "tie_rules",
        _smallest,
    ),
    Quote(
        "errata.md",
        "is {{0.4}} for the other algorithms. The variances are between {{0.7}} and {{2.4}}",
        "exact_moments",
        _far_from_one,
    ),
    Quote(
        "errata.md",
        "mean of algorithm 3 is too large by {{2.7}}, and the mean of algorithm 1 is too small by {{2.6}}. Both "
        "differences are about twice the standard deviation of the noise, {{1.36}}. The variance of algorithm 3 is "
        "{{19}} at the largest count and {{1.2}} at the smallest count",
        "exact_moments",
        _at_the_largest_count,
    ),
    Quote(
        "errata.md",
        "the largest probability is {{0.015}}, whereas",
        "errata",
        lambda t: told(t, 2, r"\+-30, they are ([\d.]+)"),
    ),
    Quote(
        "errata.md",
        "standard deviations of a component are {{12.2}} and {{1.2}}, respectively.",
        "errata",
        lambda t: told(t, 14, r"1-independent: ([\d.]+) and .* 3: ([\d.]+) and"),
    ),
    Quote(
        "errata.md",
        "posterior standard deviation of the total is {{1.92}} (ind) or {{1.57}} (summed) instead of {{1.36}}",
        "errata",
        lambda t: told(
            t, 14, r"1-independent: [\d.]+ and ([\d.]+), 1-summed: [\d.]+ and ([\d.]+), .* 3: [\d.]+ and (\d\.\d+)"
        ),
    ),
    Quote(
        "errata.md",
        "differ by {{0.3 %}} at the largest count, whereas the standard error of a variance from 10,000 runs is "
        "{{1.4 %}}",
        "table_3",
        _variances_differ,
    ),
]
