"""Check the statements of the paper about its releases, and the tie-breaking rule of Table 3. The checks use draws
and exact distributions.
"""

from collections.abc import Iterator
from math import exp, sqrt
from typing import Any

import numpy as np
import pandas as pd
import scipy  # scipy.stats is loaded on first use
from numpy.typing import NDArray

from dpmultinomial._mechanisms import additive_counts, additive_release
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric

from ...verdicts import draw_tests, power
from . import examples
from .algorithms import release_moments

Whole = NDArray[np.int64]
_LEAST_EXPECTED = 5.0  # smallest expected number of draws per cell of a chi-squared test
_PRINTED_RUNS = 10_000
# number of releases of algorithm 2 of which only the total is checked, for each release that is checked completely
_TOTALS = 5
LEVEL = 1e-4  # level of the test of the released total (published.tsv)


def release_checks(*, vector: int, epsilon: float, support: int, size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the results of all checks of simulated releases, computed from `size` releases by every algorithm. The
    columns are statement, example, algorithm, value, se (of a proportion) and n.

    The statements are ``zeros at 0 or 1`` and ``zeros above 0``: proportions of releases in which a true count of 0
    becomes such a count (Example 1); ``wrong totals``: number of releases with a negative count or with a total that
    differs from the noisy total (algorithms 2 and 3); ``not additive``: proportion of noise values for which the
    components do not sum to the noisy total; ``no mode``: number of results of Theorem 1 in doubles that are not a
    mode; ``noise, p value``: chi-squared test of the noise of the released total against its distribution, over
    `_TOTALS` releases of algorithm 2 for each of `size`; ``noise, z of its width``: mean absolute noise of both
    examples compared with its expectation, in standard errors; ``noise, z of neighbours``: `draw_tests.serial_z` of the
    noise; ``noise, epsilon seen``: relative error of epsilon that the width rejects at level `LEVEL` with probability
    0.9; ``sum and total, z``: correlation of n* and n, times sqrt(size); ``beyond the cut``: probability that
    untruncated noise is outside +-support.
    """
    rows: list[dict[str, Any]] = []
    noise, widths = TwoSidedGeometric(epsilon=epsilon, support=support), []
    model: dict[str, Any] = {"epsilon": epsilon, "support": support, "rng": rng}
    for example, counts in examples.both(vector).items():
        released = additive_counts.release_all(counts, size=size, ties="ieee", **model)
        about = {"example": example, "n": size}
        rows += [about | row for row in _of_releases(released, counts)]
        totals = additive_counts.release_all(counts, size=_TOTALS * size, algorithms=("2",), **model)[0].sum(axis=1)
        widths.append(totals - counts.sum())
        rows.append(
            about | {"n": len(totals)} | _number("noise, p value", "Algorithm 2", noise_test(widths[-1], noise))
        )
        noisy = noise.sample(np.broadcast_to(counts, (size, len(counts))), rng=rng)
        totals = noise.sample(np.full(size, counts.sum()), rng=rng)
        apart = float(np.mean(noisy.sum(axis=1) != totals))
        rows.append(about | _share("not additive", "", apart, size))
        with np.errstate(divide="ignore", invalid="ignore"):  # constant noise does not have a correlation
            together = float(np.corrcoef(noisy.sum(axis=1), totals)[0, 1]) * sqrt(size)
        rows.append(about | _number("sum and total, z", "", together))
        weights, totals = np.maximum(noisy, 0), np.maximum(totals, 0)
        modes = additive_release.modes(totals, weights, ties="ieee", rng=rng)
        wrong = sum(not is_mode(k, x) for k, x in zip(modes, weights, strict=True))
        rows.append(about | _number("no mode", "Algorithm 3", wrong))
    deviations = np.abs(np.concatenate(widths))
    rows += [{"example": "", "n": len(deviations)} | row for row in _width(deviations, noise)]
    sd = sqrt(float(noise.values() ** 2 @ noise.probabilities()))
    for example, apart in zip(examples.both(vector), widths, strict=True):
        about = {"example": example, "n": len(apart)}
        rows.append(about | _number("noise, z of neighbours", "Algorithm 2", draw_tests.serial_z(apart, sd=sd)))
    a = exp(-epsilon)
    rows.append({"example": "", "n": 0} | _number("beyond the cut", "", 2 * a ** (support + 1) / (1 + a)))
    return pd.DataFrame(rows)[["statement", "example", "algorithm", "value", "se", "n"]]


def _width(found: Whole, noise: TwoSidedGeometric) -> Iterator[dict[str, Any]]:
    """Yield the results of tests of the mean absolute value of the noise. The mean absolute noise is a sufficient
    statistic for epsilon. One draw has the information Var(|noise|) epsilon^2 about log epsilon.
    """
    values, p = np.abs(noise.values()), noise.probabilities()
    mean = float(values @ p)
    sd = sqrt(float((values - mean) ** 2 @ p))
    yield _number("noise, z of its width", "Algorithm 2", (found.mean() - mean) / (sd / sqrt(len(found))))
    seen = power.normal(noise.epsilon * sd * sqrt(len(found)), LEVEL / 5)
    yield _number("noise, epsilon seen", "Algorithm 2", seen)


def _of_releases(released: Whole, counts: Whole) -> Iterator[dict[str, Any]]:
    names = ("Algorithm 1 (ind)", "Algorithm 1 (summed)", "Algorithm 2", "Algorithm 3")
    smallest = int(np.argmin(counts))
    if counts[smallest] == 0:
        for name, of_one in zip(names, released[:, :, smallest], strict=True):
            yield _share("zeros at 0 or 1", name, float(np.mean(of_one <= 1)), len(of_one))
            yield _share("zeros above 0", name, float(np.mean(of_one > 0)), len(of_one))
    totals = released.sum(axis=2)
    wrong = (released[2:] < 0).any(axis=(0, 2)) | (totals[2] != totals[3])
    yield _number("wrong totals", "Algorithms 2 and 3", int(wrong.sum()))


def _share(statement: str, algorithm: str, value: float, size: int) -> dict[str, Any]:
    return _number(statement, algorithm, value) | {"se": sqrt(max(value * (1 - value), 1 / size) / size)}


def _number(statement: str, algorithm: str, value: float) -> dict[str, Any]:
    return {"statement": statement, "algorithm": algorithm, "value": value, "se": 0.0}


def noise_test(found: Whole, noise: TwoSidedGeometric) -> float:
    """Return the p-value of a chi-squared test of draws against the noise distribution. The p-value is 0 if a draw is
    outside the support.

    Cells are single values if at least five draws are expected, and otherwise the two tails.
    """
    if np.abs(found).max() > noise.support:
        return 0.0
    values, expected = noise.values(), noise.probabilities() * len(found)
    single = np.abs(values) <= max(int(np.sum(expected >= _LEAST_EXPECTED)) // 2 - 1, 0)
    edge = int(values[single].max()) + 1
    cells = np.clip(found, -edge, edge)
    merged = np.clip(values, -edge, edge)
    counts = [np.sum(cells == v) for v in range(-edge, edge + 1)]
    return float(scipy.stats.chisquare(counts, [expected[merged == v].sum() for v in range(-edge, edge + 1)]).pvalue)


def is_mode(k: Whole, weights: Whole) -> bool:
    """Return whether k is a mode of Multinomial(sum k, weights). At a mode, moving one unit never increases the
    probability, that is, x_i (k_j + 1) >= x_j k_i.
    """
    if not weights.any():
        return True  # all results of the same shape are equally probable; equal shares are not checked
    served = np.where(k > 0, weights / np.maximum(k, 1), np.inf)
    i, j = int(np.argmin(served)), int(np.argmax(weights / (k + 1)))
    return bool(int(weights[i]) * (int(k[j]) + 1) >= int(weights[j]) * int(k[i]))


def many_zeros(*, zeros: int, large: int, count: int, epsilon: float, support: int) -> pd.DataFrame:
    """Return the exact mean of a large count after release, for a vector that contains many counts of 0. The columns
    are algorithm, true, exact_mean, bias and exact_variance.

    Parameters
    ----------
    zeros, large : number of counts that are 0, and of counts that are `count`.
    count : the large count, an integer >= 0.
    epsilon, support : parameters of the noise.
    """
    counts = np.repeat([0, count], [zeros, large])
    rows = []
    for name, algorithm in (("Algorithm 1 (ind)", "1-independent"), ("Algorithm 2", "2"), ("Algorithm 3", "3")):
        mean, variance = release_moments.moments(
            counts, components=[len(counts) - 1], epsilon=epsilon, algorithm=algorithm, support=support
        )
        about = {"algorithm": name, "true": count, "zeros": zeros, "large": large}
        rows.append(about | {"exact_mean": mean[0], "bias": mean[0] - count, "exact_variance": variance[0]})
    return pd.DataFrame(rows)


def tie_fit(*, tie_rules: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return the results of chi-squared tests that compare each tie-breaking rule with the ten printed values in the
    last row of Table 3. The columns are ties, cells, chi_squared and p_value.

    The mean and the variance of a count are correlated (`correlation` of `tie_rules`). Their errors are the errors of
    the printed 10,000 runs, of our simulation if no exact value is known, and of rounding (unit^2/12).
    """
    printed = published[published["artefact"] == "table_3"].set_index("quantity")
    rows = []
    for ties, part in tie_rules.groupby("ties", sort=False):
        statistic = sum(_squared(row, printed) for _, row in part.iterrows())
        p_value = float(scipy.stats.chi2.sf(statistic, 2 * len(part)))
        rows.append({"ties": ties, "cells": 2 * len(part), "chi_squared": statistic, "p_value": p_value})
    return pd.DataFrame(rows)


def _squared(row: "pd.Series[Any]", printed: pd.DataFrame) -> float:
    """Return the squared Mahalanobis distance between a printed and a reproduced pair of mean and variance."""
    known = np.isfinite(row["exact_mean"])
    gap, errors, rounding = [], [], []
    for what in ("mean", "variance"):
        cell = printed.loc[f"Algorithm 3, {row['representative']}: {what}"]
        gap.append((row[f"exact_{what}"] if known else row[what]) - cell["value"])
        runs = row["n"] / _PRINTED_RUNS + (0 if known else 1)
        errors.append(row[f"{what}_se"] * sqrt(runs))
        rounding.append(100.0 ** -cell["digits"] / 12)
    r = row["correlation"]
    covariance = np.outer(errors, errors) * [[1, r], [r, 1]] + np.diag(rounding)
    return float(np.array(gap) @ np.linalg.solve(covariance, gap))
