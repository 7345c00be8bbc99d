"""A user's own microdata -> swapped data and what changed; or a user's swapped table -> its posterior."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from dpmultinomial.accounting import swapping as accounting
from dpmultinomial.mechanisms import swapping
from dpmultinomial.posteriors import swapped_table

_LEVELS = 40  # columns with more different values have no association table


def table(
    *,
    rate: float,
    table: list[list[int]] | None = None,
    alpha: float | list[float] = 1.0,
    level: float = 0.95,
    data: str | None = None,
    swap: list[str] | None = None,
    match: list[str] | None = None,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Posterior of a swapped table, or the report of a swap. Parameters are the keys of a scenario (config.yaml).

    Returns
    -------
    DataFrame, long: analysis (``naive``, ``swap-aware``; or ``swap``), quantity, statistic, x, value. Densities have
    a value at every x, single numbers a missing x.
    """
    if table is not None:
        return _posterior(table, rate, alpha, level)
    original = read(data)
    swapped = swapping.permutation_swap(original, swap=swap, match=match or (), rate=rate, rng=rng)
    return _report(original, swapped, list(swap), list(match or ()), rate)


def swapped_data(
    *, rate: float, data: str, swap: list[str], match: list[str] | None = None, rng: np.random.Generator, **_: object
) -> pd.DataFrame:
    """The swapped microdata that the report of `table` describes, if the stream is the same."""
    return swapping.permutation_swap(read(data), swap=swap, match=match or (), rate=rate, rng=rng)


def read(path: str | Path) -> pd.DataFrame:
    """A CSV file with every value as its text; empty fields are missing."""
    return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""], encoding="utf-8-sig")


def _posterior(table: list[list[int]], rate: float, alpha: float | list[float], level: float) -> pd.DataFrame:
    tails = [(1 - level) / 2, (1 + level) / 2]
    grid = np.linspace(0, 1, 401)
    parts = []
    laws = {
        "naive": swapped_table.naive(table, alpha=alpha),
        "swap-aware": swapped_table.exact(table, rate=rate, alpha=alpha),
    }
    names = [f"theta({i}, {j})" for i, row in enumerate(table) for j in range(len(row))]
    for analysis, law in laws.items():
        for i, name in enumerate(names):
            marginal = law.beta(i)
            single = {"mean": marginal.mean(), "sd": marginal.variance() ** 0.5}
            single |= dict(zip(("lower", "upper"), marginal.quantile(tails), strict=True))
            density = marginal.pdf(grid)
            parts.append(_long(analysis, name, single, grid, np.where(np.isfinite(density), density, np.nan)))
        if len(table) == len(table[0]) == 2:
            odds = law.log_odds()
            single = {"mean": odds.mean(), "sd": odds.variance() ** 0.5, "P(> 0)": float(1 - odds.cdf(0.0))}
            single |= dict(zip(("lower", "median", "upper"), odds.quantile([tails[0], 0.5, tails[1]]), strict=True))
            span = np.linspace(*odds.quantile([0.001, 0.999]), 301)
            parts.append(_long(analysis, "log phi", single, span, odds.pdf(span)))
    originals = laws["swap-aware"]
    common = originals.weights > 1e-4
    weights = {
        f"P(original = {t.tolist()})": w
        for t, w in zip(originals.tables[common], originals.weights[common], strict=True)
    }
    parts.append(_long("swap-aware", "original table", weights, [], []))
    return pd.concat(parts, ignore_index=True)


def _long(analysis: str, quantity: str, single: dict[str, float], x, y) -> pd.DataFrame:
    numbers = pd.DataFrame({"statistic": list(single), "x": np.nan, "value": [float(v) for v in single.values()]})
    curve = pd.DataFrame({"statistic": "density", "x": np.asarray(x, float), "value": np.asarray(y, float)})
    frame = pd.concat([numbers, curve], ignore_index=True) if len(curve) else numbers
    frame.insert(0, "quantity", quantity)
    frame.insert(0, "analysis", analysis)
    return frame


def _report(
    original: pd.DataFrame, swapped: pd.DataFrame, swap: list[str], match: list[str], rate: float
) -> pd.DataFrame:
    codes = swapping.strata(original, match=match)
    sizes = np.bincount(codes) if len(codes) else np.zeros(0, dtype=int)
    held = [c for c in original.columns if c not in swap]
    moving, staying = (original.groupby(c, sort=False, dropna=False).ngroup().to_numpy() for c in (swap, held or swap))
    kinds = [_distinct(codes, values, len(sizes)) for values in (moving, staying)]
    largest = accounting.largest_stratum(list(zip(sizes.tolist(), *(k.tolist() for k in kinds), strict=True)))
    numbers = {
        "records": len(original),
        "strata": len(sizes),
        "strata of one record": int((sizes == 1).sum()),
        "largest stratum in which a swap can change anything": largest,
        "swap rate": rate,
    }
    for column in swap:
        same = (original[column] == swapped[column]) | (original[column].isna() & swapped[column].isna())
        numbers[f"changed values of {column}, share"] = float(1 - same.mean()) if len(original) else 0.0
    if largest >= 2:
        numbers["epsilon per unit of distance"] = accounting.epsilon(largest, rate=rate)
        numbers["epsilon per unit of distance, exact"] = accounting.exact_epsilon(largest, rate=rate)
    parts = [_long("swap", "all records", numbers, [], [])]
    for a, b in combinations(original.columns, 2):
        if (a in swap) != (b in swap) and max(original[a].nunique(), original[b].nunique()) <= _LEVELS:
            single = {"before": cramers_v(original[a], original[b]), "after": cramers_v(swapped[a], swapped[b])}
            parts.append(_long("swap", f"association of {a} and {b}", single, [], []))
    return pd.concat(parts, ignore_index=True)


def _distinct(codes: np.ndarray, values: np.ndarray, strata: int) -> np.ndarray:
    """Number of different values in each stratum."""
    pairs = np.unique(np.column_stack([codes, values]), axis=0)
    return np.bincount(pairs[:, 0], minlength=strata) if len(pairs) else np.zeros(strata, dtype=int)


def cramers_v(a: pd.Series, b: pd.Series) -> float:
    """Cramer's V of two columns, 0 (no association) to 1; missing if a column is constant."""
    counts = pd.crosstab(a, b).to_numpy(dtype=float)
    if min(counts.shape, default=0) < 2:
        return np.nan
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    chi2 = ((counts - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi2 / counts.sum() / (min(counts.shape) - 1)))
