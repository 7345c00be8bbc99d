"""Compute Tables 1 and 3, and compare the moments in these tables with the exact moments. The tables contain means and
variances of the released counts over many releases.
"""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._mechanisms import additive_counts

from . import examples
from .algorithms import release_moments

EXACT = {
    "Algorithm 1 (ind)": ("1-independent", "random"),
    "Algorithm 1 (summed)": ("1-summed", "random"),
    "Algorithm 2": ("2", "random"),
    "Algorithm 3, random ties": ("3", "random"),
}
RULES = ("ieee", "random", "first", "last")
ALGORITHMS = ("Algorithm 1 (ind)", "Algorithm 1 (summed)", "Algorithm 2", "Algorithm 3")
_POWERS = ("s1", "s2", "s3", "s4")


def simulate(size: int, *, vector: int, epsilon: float, support: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return sums of powers of the differences between the released and the true counts, for the representative
    components. The columns are example, algorithm, ties, representative, n and s1 .. s4.

    The sums are integers, so blocks can be added exactly in any order. Algorithm 3 is run under every tie-breaking
    rule, on separate releases.
    """
    parts = []
    for example, counts in examples.both(vector).items():
        chosen = examples.representatives(counts)
        model: dict[str, Any] = {"epsilon": epsilon, "support": support, "size": size, "rng": rng}
        first = additive_counts.release_all(counts, **model, ties=RULES[0])
        releases = [
            (name, RULES[0] if name.endswith("3") else "", r) for name, r in zip(ALGORITHMS, first, strict=True)
        ]
        for rule in RULES[1:]:
            more = additive_counts.release_all(counts, **model, algorithms=("3",), ties=rule)
            releases.append((ALGORITHMS[-1], rule, more[0]))
        for name, rule, released in releases:
            gap = released[:, chosen] - counts[chosen]
            sums = {p: (gap ** (i + 1)).sum(axis=0) for i, p in enumerate(_POWERS)}
            about = {"example": example, "algorithm": name, "ties": rule, "representative": examples.REPRESENTATIVES}
            parts.append(pd.DataFrame({**about, "true": counts[chosen], "n": size, **sums}))
    return pd.concat(parts, ignore_index=True)


def moments(table: pd.DataFrame, *, vector: int, epsilon: float, support: int) -> pd.DataFrame:
    """Return the means and the variances of the released counts, with their standard errors. The columns are example,
    algorithm, ties, representative, true, n, mean, mean_se, variance, variance_se (the square root of (mu4 -
    variance^2)/n), and the correlation of mean and variance.
    """
    keys = ["example", "algorithm", "ties", "representative", "true"]
    sums = table.groupby(keys, sort=False, dropna=False)[["n", *_POWERS]].sum().reset_index()
    n = sums["n"]
    m1, m2, m3, m4 = (sums[p] / n for p in _POWERS)
    spread = m2 - m1**2
    fourth = m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4
    third = m3 - 3 * m1 * m2 + 2 * m1**3
    of_squares = np.maximum(fourth - spread**2, 0)
    return sums[[*keys, "n"]].assign(
        mean=sums["true"] + m1,
        mean_se=np.sqrt(spread / n),
        variance=spread * n / (n - 1),
        variance_se=np.sqrt(of_squares / n),
        correlation=third / np.sqrt(np.maximum(spread * of_squares, 1e-300)),
    )


def exact_moments(*, vector: int, epsilon: float, support: int) -> pd.DataFrame:
    """Return the exact moments of the released counts, computed without simulation. The columns are example, algorithm,
    ties, representative, exact_mean and exact_variance.
    """
    parts = []
    for example, counts in examples.both(vector).items():
        chosen = examples.representatives(counts).tolist()
        wanted = [(name, algorithm, ties) for name, (algorithm, ties) in EXACT.items()]
        if example == "example_2":
            wanted += [("Algorithm 3", "3", rule) for rule in ("first", "last")]
        for name, algorithm, ties in wanted:
            mean, variance = release_moments.moments(
                counts, components=chosen, epsilon=epsilon, algorithm=algorithm, support=support, ties=ties
            )
            about = {"example": example, "algorithm": name.split(",")[0], "ties": ties if algorithm == "3" else ""}
            rows = {"representative": examples.REPRESENTATIVES, "exact_mean": mean, "exact_variance": variance}
            parts.append(pd.DataFrame({**about, **rows}))
    return pd.concat(parts, ignore_index=True)


def table_1(*, releases: pd.DataFrame, exact_moments: pd.DataFrame) -> pd.DataFrame:
    """Return the simulated and the exact moments of the released counts for Example 1, with one row per algorithm,
    variant and representative component.
    """
    return _side_by_side(releases, exact_moments, "example_1")


def table_3(*, releases: pd.DataFrame, exact_moments: pd.DataFrame) -> pd.DataFrame:
    """Return the simulated and the exact moments for Example 2, in the format of `table_1`."""
    return _side_by_side(releases, exact_moments, "example_2")


def _side_by_side(releases: pd.DataFrame, exact_moments: pd.DataFrame, example: str) -> pd.DataFrame:
    """Return a table that compares the simulated moments of the released counts with the exact moments. The columns are
    algorithm, variant, representative, true, mean, variance, their standard errors, exact values and z.

    Algorithm 3 is ``as_written`` with Theorem 1 in doubles and ``corrected`` with exact random ties.
    """
    keys = ["example", "algorithm", "ties", "representative"]
    simulated = releases[(releases["example"] == example) & ~releases["ties"].isin(("first", "last"))]
    table = simulated.merge(exact_moments, on=keys, how="left")
    table["variant"] = np.where(table["ties"] == "ieee", "as_written", "corrected")
    table["mean_z"] = (table["mean"] - table["exact_mean"]) / table["mean_se"]
    table["variance_z"] = (table["variance"] - table["exact_variance"]) / table["variance_se"]
    first = ["algorithm", "variant", "ties", "representative", "true", "n", "mean", "mean_se", "exact_mean", "mean_z"]
    return table[[*first, "variance", "variance_se", "exact_variance", "variance_z"]].reset_index(drop=True)


def tie_rules(*, releases: pd.DataFrame, exact_moments: pd.DataFrame) -> pd.DataFrame:
    """Return the results of algorithm 3 on Example 2 for each tie-breaking rule. The columns are ties, representative,
    true, n, mean, variance, their errors, the correlation of the errors, and the exact values.
    """
    rows = releases[(releases["example"] == "example_2") & (releases["algorithm"] == "Algorithm 3")]
    table = rows.merge(exact_moments, on=["example", "algorithm", "ties", "representative"], how="left")
    return table.drop(columns=["example", "algorithm"])


def readings(*, epsilon: float, support: int) -> pd.DataFrame:
    """Return the exact moments of Example 2 under the two possible meanings of "positive" in the paper, > 0 and >= 0.

    The columns are algorithm, reading, variant, representative, mean and variance.
    """
    counts = examples.example_2()
    chosen = examples.representatives(counts).tolist()
    parts = []
    for name, algorithm in (("Algorithm 1 (ind)", "1-independent"), ("Algorithm 2", "2")):
        for least, variant in ((0, "corrected"), (1, "as_written")):
            model = {"components": chosen, "epsilon": epsilon, "algorithm": algorithm, "support": support}
            mean, variance = release_moments.moments(counts, **model, least=least)
            about = {"algorithm": name, "reading": f">= {least}", "variant": variant}
            rows = {"representative": examples.REPRESENTATIVES, "mean": mean, "variance": variance}
            parts.append(pd.DataFrame({**about, **rows}))
    return pd.concat(parts, ignore_index=True)
