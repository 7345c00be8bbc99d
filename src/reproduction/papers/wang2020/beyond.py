"""Posteriors of pairs of counts (Section 4.2, Tables 4 and 5), and posteriors of all fifty components as an extension
of the paper.
"""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._accounting import privacy_profiles
from dpmultinomial._mechanisms.additive_counts import release_from_noisy
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._posteriors.additive import additive_counts

from . import examples


def _top(released: list[int], epsilon: float, algorithm: str, rows: int, readings: list[tuple]) -> pd.DataFrame:
    parts = []
    for variant, window, ties in readings:
        law = additive_counts.posterior(released, epsilon=epsilon, algorithm=algorithm, window=window, ties=ties)
        pairs, probability = law.top(rows)
        about = {"variant": variant, "window": window or np.nan, "ties": ties if algorithm == "3" else ""}
        columns = {"row": np.arange(1, len(pairs) + 1), "N1": pairs[:, 0], "N2": pairs[:, 1], "N": pairs.sum(axis=1)}
        parts.append(pd.DataFrame({**about, **columns, "probability": probability}))
    return pd.concat(parts, ignore_index=True)


def table_4(*, released: list[int], epsilon: float, window: int, other_window: int, rows: int) -> pd.DataFrame:
    """Return the most probable pairs of true counts given a release that was made by algorithm 2.

    The variants are ``as_written``, with the stated window; ``published``, with the narrower window that gives the
    printed probabilities; and ``corrected``, without a window (NaN). The columns are variant, window, ties, row, N1,
    N2, N and probability.
    """
    readings = [("as_written", window, "random"), ("published", other_window, "random"), ("corrected", None, "random")]
    return _top(released, epsilon, "2", rows, readings)


def table_5(*, released: list[int], epsilon: float, window: int, other_window: int, rows: int) -> pd.DataFrame:
    """Return the most probable pairs of true counts given a release that was made by algorithm 3. In the variant as
    written, ties are broken by floating-point rounding.
    """
    readings = [("as_written", window, "ieee"), ("published", other_window, "ieee"), ("corrected", None, "random")]
    return _top(released, epsilon, "3", rows, readings)


def windows(*, released: list[int], epsilon: float, windows: list[int], rows: int) -> pd.DataFrame:
    """Return the largest posterior probabilities of pairs of counts, for several widths of the window and without a
    window. A window truncates the true counts and the noise. The columns are algorithm, window (NaN if there is no
    window), row and probability.
    """
    parts = []
    for algorithm in ("2", "3"):
        for window in [*windows, None]:
            ties = "ieee" if algorithm == "3" else "random"
            law = additive_counts.posterior(released, epsilon=epsilon, algorithm=algorithm, window=window, ties=ties)
            about = {"algorithm": f"Algorithm {algorithm}", "window": window or np.nan}
            parts.append(pd.DataFrame({**about, "row": np.arange(1, rows + 1), "probability": law.top(rows)[1]}))
    return pd.concat(parts, ignore_index=True)


RELEASES = {
    "Algorithm 1 (ind)": "1-independent",
    "Algorithm 1 (summed)": "1-summed",
    "Algorithm 2": "2",
    "Algorithm 3": "3",
}


def precision(*, released: list[int], epsilon: float) -> pd.DataFrame:
    """Return posterior means and standard deviations under each release mechanism, given the same released numbers. No
    window is used.

    The table is in long format, with the columns release, quantity (``N1``, ``N``), mean, sd, and the distribution as
    value and probability (one row per value).
    """
    laws = {name: additive_counts.posterior(released, epsilon=epsilon, algorithm=a, window=None)
            for name, a in RELEASES.items()}  # fmt: skip
    noisy = additive_counts.posterior_of_noisy(released, noisy_total=sum(released), epsilon=epsilon)
    parts = []
    for name, law in (laws | {"noisy counts": noisy}).items():
        for quantity, (values, p) in (("N1", law.marginal(0)), ("N", law.total())):
            mean = float(values @ p)
            about = {
                "release": name,
                "quantity": quantity,
                "mean": mean,
                "sd": float(np.sqrt((values - mean) ** 2 @ p)),
            }
            parts.append(pd.DataFrame({**about, "value": values, "probability": p}))
    table = pd.concat(parts, ignore_index=True)
    return table[table["probability"] > 1e-12].reset_index(drop=True)


def fifty_components(*, epsilon: float, support: int, level: float, rng: np.random.Generator) -> pd.DataFrame:
    """Return the exact posterior of every component of Example 2 for each release mechanism. All kinds of release use
    the same noise. The columns are release (the algorithm, or the noisy counts), component, true, released, mean, sd,
    lower, upper (central interval), and ``log10_pairs`` of the paper's brute force.
    """
    counts = examples.example_2()
    noise = TwoSidedGeometric(epsilon=epsilon, support=support)
    noisy, total = noise.sample(counts, rng=rng), int(noise.sample(counts.sum(), rng=rng))
    model: dict[str, Any] = {"epsilon": epsilon, "support": support}
    laws = {}
    for name, algorithm in {"Algorithm 1 (ind)": "1-independent", "Algorithm 2": "2", "Algorithm 3": "3"}.items():
        released = release_from_noisy(noisy[None], np.array([total]), algorithm=algorithm, rng=rng, **model)[0]
        laws[name] = released, additive_counts.posterior(released, algorithm=algorithm, window=None, **model)
    laws["noisy counts"] = noisy, additive_counts.posterior_of_noisy(noisy, noisy_total=total, **model)
    parts = []
    for name, (released, law) in laws.items():
        bounds = np.array([law.interval(i, level=level) for i in range(len(counts))])
        columns = {"component": list(examples.SEATS), "true": counts, "released": released, "mean": law.mean()}
        columns |= {"sd": np.sqrt(law.variance()), "lower": bounds[:, 0], "upper": bounds[:, 1]}
        parts.append(pd.DataFrame({"release": name, **columns}))
    return pd.concat(parts, ignore_index=True)


def privacy(*, epsilon: float, support: int, claims: list[float]) -> pd.DataFrame:
    """Return, for each claimed epsilon, the smallest delta for which a release by an algorithm of Wang (2020) is
    (epsilon, delta)-DP. The columns are claimed, counts, changed and delta.

    The total changes only one count. The release in the paper uses the total and one component, two counts.
    """
    rows = [
        {"claimed": claim, "counts": counts, "changed": changed,
         "delta": privacy_profiles.geometric_delta(claim, epsilon=epsilon, changed=changed, support=support)}
        for counts, changed in (("the total alone", 1), ("total and components", 2))
        for claim in claims
    ]  # fmt: skip
    return pd.DataFrame(rows)
