"""Table 2 and Figure 3: what the formulations and the algorithms cost, all measured in one run."""

from collections.abc import Callable
from math import exp, lgamma, log
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import compositions, laplace_multinomial
from reproduction.papers.balmat2018 import products

from . import numpy_gibbs
from .figure_2 import triplets

ITERATIONS, BURN_IN = 5000, 1000  # of the paper; 4,000 draws are kept


def seconds(call: Callable[[], object], repeats: int = 1) -> float:
    """CPU seconds of one call, the least of `repeats`: the clock of the baseline in R."""
    found = []
    for _ in range(repeats):
        start = process_time()
        call()
        found.append(process_time() - start)
    return min(found)


def table_2_timings(*, total: int, products_each: int, repeats: int, rng: np.random.Generator) -> pd.DataFrame:
    """CPU seconds for `products_each` products p1^S1 p0^S0 perr^Serr: three set-ups, three methods, in Python.

    Set-ups: ``scalar`` (one call a product), ``own p`` (vectorised, a p for every product), ``block`` (one p for each
    full table). Methods: 1 powers, 2 exp of logs (both Python or NumPy), 3 exp of logs (compiled).
    """
    counts = compositions.compositions(total, 3)
    size = -(-products_each // len(counts))
    s = np.tile(counts, (size, 1))
    p_own, p_block = triplets(len(s), rng=rng), triplets(size, rng=rng)
    few = slice(None, min(len(s), 20_000))
    s_list, p_list = s[few].tolist(), p_own[few].tolist()
    calls: dict[tuple[str, int], tuple[Callable[[], object], int]] = {
        ("scalar", 1): (lambda: [_power(a, p) for a, p in zip(s_list, p_list, strict=True)], len(s_list)),
        ("scalar", 2): (lambda: [_exp_log(a, p) for a, p in zip(s_list, p_list, strict=True)], len(s_list)),
        ("scalar", 3): (
            lambda: [products.product_of(*a, *p) for a, p in zip(s_list, p_list, strict=True)],
            len(s_list),
        ),
        ("own p", 1): (lambda: np.prod(p_own**s, axis=1), len(s)),
        ("own p", 2): (lambda: np.exp((s * np.log(p_own)).sum(axis=1)), len(s)),
        ("own p", 3): (lambda: products.product_each(s, p_own), len(s)),
        ("block", 1): (lambda: [np.prod(p**counts, axis=1) for p in p_block], len(s)),
        ("block", 2): (lambda: [np.exp(counts @ np.log(p)) for p in p_block], len(s)),
        ("block", 3): (lambda: [products.product_block(counts, p) for p in p_block], len(s)),
    }
    rows = []
    for repeat in range(repeats):
        for (setup, method), (call, n) in calls.items():
            about = {"setup": setup, "method": method, "environment": "Python", "repeat": repeat}
            rows.append(about | {"seconds": seconds(call) * len(s) / n, "products": len(s)})
    return pd.DataFrame(rows)


def _power(s: list[int], p: list[float]) -> float:
    return p[0] ** s[0] * p[1] ** s[1] * p[2] ** s[2]


def _exp_log(s: list[int], p: list[float]) -> float:
    return exp(s[0] * log(p[0]) + s[1] * log(p[1]) + s[2] * log(p[2]))


def table_2(*, table_2_timings: pd.DataFrame, r_timings: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Median time of each method in proportion to method 1, by set-up and environment (R only where it was found).

    Rows of variant ``published`` are the printed ratios, whose set-up the paper does not state; the others are measured
    (``as_written``). `ratio` is the median of the repeats' ratios; `low`, `high`, `sd`: their middle half and standard
    deviation.
    """
    times = pd.concat([table_2_timings, r_timings[r_timings["what"] == "table_2"]], ignore_index=True)
    times = times[times["seconds"].notna()].assign(method=lambda t: t["method"].astype(int))
    wide = times.pivot_table(index=["environment", "setup", "repeat"], columns="method", values="seconds")
    rows = []
    for (environment, setup), group in wide.groupby(level=[0, 1], sort=False):
        for method in wide.columns:
            ratio = (group[method] / group[1]).dropna()
            if len(ratio):
                about = {"variant": "as_written", "environment": environment, "setup": setup, "method": int(method)}
                low, middle, high = ratio.quantile([0.25, 0.5, 0.75])
                spread = {"low": low, "high": high, "sd": ratio.std(ddof=1), "repeats": len(ratio)}
                rows.append(about | {"ratio": middle} | spread)
    printed = published[(published["artefact"] == "table_2") & (published["kind"] == "timing")]
    number: Any
    for number in printed.itertuples():
        about = {"variant": "published", "environment": "paper", "setup": "not stated"}
        rows.append(about | {"method": int(number.quantity.split()[1]), "ratio": number.value})
    return pd.DataFrame(rows)


def figure_3_timings(
    *,
    totals: list[int],
    epsilons: list[float],
    vectors: int,
    slow_vectors: int,
    standard_iterations: int,
    repeats: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """CPU seconds per posterior (5,000 iterations, or 5,000 exact draws), one row a method, total, epsilon and vector.

    Each is the least of `repeats`.
    The interpreted methods run on `slow_vectors` of the vectors; the standard algorithm (one probability call a row)
    runs `standard_iterations` iterations, scaled to 5,000 (column `scaled`).
    """
    rows = []
    for total in totals:
        counts, logs = compositions.log_multinomial_table(total, 3)
        for epsilon in epsilons:
            mechanism = Laplace.calibrated(epsilon, sensitivity=2.0)
            for vector in range(vectors):
                noisy = mechanism.sample(rng.multinomial(total, rng.dirichlet(np.ones(3))), rng=rng)
                methods = _methods(noisy, total, mechanism.scale, counts, logs, standard_iterations, rng)
                for method, (call, factor, slow) in methods.items():
                    if not slow or vector < slow_vectors:
                        about = {
                            "method": method,
                            "total": total,
                            "rows": len(counts),
                            "epsilon": epsilon,
                            "vector": vector,
                        }
                        rows.append(about | {"seconds": seconds(call, repeats) * factor, "scaled": factor != 1})
    return pd.DataFrame(rows)


def _methods(
    noisy: NDArray, total: int, scale: float, counts: NDArray, logs: NDArray, iterations: int, rng: np.random.Generator
) -> dict[str, tuple[Callable[[], object], float, bool]]:
    """Method -> (call, factor to 5,000 iterations, whether it is slow)."""
    model: dict[str, Any] = {"total": total, "scale": scale, "alpha": 1.0}
    chain: dict[str, Any] = {"draws": ITERATIONS - BURN_IN, "burn_in": BURN_IN, "rng": rng}
    alpha, start, factor = np.ones(3), rng.dirichlet(np.ones(3)), ITERATIONS / iterations

    def numpy_table() -> object:
        static = logs - np.abs(noisy - counts).sum(axis=1) / scale
        return numpy_gibbs.table_chain(counts, static, alpha, start, **chain)

    return {
        "standard (Python)": (lambda: _standard(noisy, scale, counts, iterations, rng), factor, True),
        "vectorised, no table (NumPy)": (lambda: _vectorised(noisy, scale, counts, iterations, rng), factor, True),
        "table (NumPy)": (numpy_table, 1, True),
        "table (compiled)": (lambda: laplace_multinomial.gibbs(noisy, **model, **chain, kernel="table"), 1, False),
        "convolution Gibbs": (lambda: laplace_multinomial.gibbs(noisy, **model, **chain), 1, False),
        "exact draws": (lambda: laplace_multinomial.exact(noisy, **model).sample(ITERATIONS, rng=rng), 1, False),
    }


def _standard(noisy: NDArray, scale: float, counts: NDArray, iterations: int, rng: np.random.Generator) -> NDArray:
    """Section 5.1 as an interpreted loop: one full evaluation of the multinomial probability a row and iteration."""
    rows = counts.tolist()
    noise = -np.abs(noisy - counts).sum(axis=1) / scale
    p = rng.dirichlet(np.ones(3))
    for _ in range(iterations):
        logs = np.array([_dmultinom(s, p) for s in rows]) + noise
        weights = np.exp(logs - logs.max())
        row = rng.choice(len(rows), p=weights / weights.sum())
        p = rng.dirichlet(1.0 + counts[row])
    return p


def _vectorised(noisy: NDArray, scale: float, counts: NDArray, iterations: int, rng: np.random.Generator) -> NDArray:
    """The same evaluations of the same formula, coefficients anew in every iteration, but all rows in one call."""
    noise = -np.abs(noisy - counts).sum(axis=1) / scale
    p = rng.dirichlet(np.ones(3))
    for _ in range(iterations):
        logs = gammaln(counts.sum(axis=1) + 1) + (counts * np.log(p) - gammaln(counts + 1)).sum(axis=1) + noise
        weights = np.exp(logs - logs.max())
        row = rng.choice(len(counts), p=weights / weights.sum())
        p = rng.dirichlet(1.0 + counts[row])
    return p


def _dmultinom(s: list[int], p: NDArray) -> float:
    """log of the multinomial probability with the arithmetic of R's dmultinom."""
    return lgamma(sum(s) + 1) + sum(x * log(q) - lgamma(x + 1) for x, q in zip(s, p.tolist(), strict=True))


def figure_3(*, figure_3_timings: pd.DataFrame, r_timings: pd.DataFrame) -> pd.DataFrame:
    """Mean, median, sd, 10 % and 90 % quantile of the seconds by method, total and epsilon; R where it was found.

    Methods without a measurement (R not found) have one row with missing seconds and the reason in `note`.
    """
    r = r_timings[r_timings["what"] == "figure_3"]
    times = pd.concat([figure_3_timings.assign(note=""), r], ignore_index=True)
    keys = ["method", "total", "rows", "epsilon"]
    groups = times[times["seconds"].notna()].groupby(keys, sort=False)["seconds"]
    table = groups.agg(
        mean="mean",
        median="median",
        sd="std",
        low=lambda s: s.quantile(0.1),
        high=lambda s: s.quantile(0.9),
        runs="size",
    ).reset_index()
    missing = times[times["seconds"].isna()][["method", "note"]].drop_duplicates()
    return pd.concat([table.assign(note=""), missing], ignore_index=True) if len(missing) else table.assign(note="")
