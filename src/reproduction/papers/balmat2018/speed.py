"""Measure the computing time of the products p1^S1 p0^S0 perr^Serr and of complete samplers. The growth of the time
with M is also measured, and the time in base R is the baseline.

The R baseline runs if Rscript is found; otherwise it is reported as not run.
"""

import subprocess
from collections.abc import Callable
from math import exp, lgamma, log
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import compositions, laplace_multinomial

from .algorithms import composition_tables, numpy_gibbs
from .figure_2 import triplets

ITERATIONS, BURN_IN = 5000, 1000  # number of draws in the paper; 4,000 are kept


def seconds(call: Callable[[], object], repeats: int = 1) -> float:
    """Return the CPU time in seconds of the fastest of `repeats` calls. The times in R are also CPU times."""
    times = []
    for _ in range(repeats):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def table_2_timings(*, total: int, products_each: int, repeats: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the CPU time in seconds for `products_each` products p1^S1 p0^S0 perr^Serr, for each of three set-ups and
    three methods.

    The set-ups are ``scalar`` (one call per product), ``own p`` (vectorised, with a separate p for every product) and
    ``block`` (one p for each full table). The methods are 1, powers; 2, exp of logs (both in Python or NumPy); and 3,
    exp of logs (compiled).
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
            lambda: [composition_tables.product_of(*a, *p) for a, p in zip(s_list, p_list, strict=True)],
            len(s_list),
        ),
        ("own p", 1): (lambda: np.prod(p_own**s, axis=1), len(s)),
        ("own p", 2): (lambda: np.exp((s * np.log(p_own)).sum(axis=1)), len(s)),
        ("own p", 3): (lambda: composition_tables.product_each(s, p_own), len(s)),
        ("block", 1): (lambda: [np.prod(p**counts, axis=1) for p in p_block], len(s)),
        ("block", 2): (lambda: [np.exp(counts @ np.log(p)) for p in p_block], len(s)),
        ("block", 3): (lambda: [composition_tables.product_block(counts, p) for p in p_block], len(s)),
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
    """Return the median time of each method relative to method 1, by set-up and environment. The environment R is
    included only if R is found.

    Rows of variant ``published`` are the printed ratios, whose set-up the paper does not state. All other rows are
    measured (``as_written``). `ratio` is the median of the ratios of the repeats; `low`, `high` and `sd` are their
    middle half and standard deviation. Repeats with a time of 0, which is below the clock resolution, are not counted;
    `ratio` is NaN if no repeat remains.
    """
    times = pd.concat([table_2_timings, r_timings[r_timings["what"] == "table_2"]], ignore_index=True)
    times = times[times["seconds"].notna()].assign(method=lambda t: t["method"].astype(int))
    wide = times.pivot_table(index=["environment", "setup", "repeat"], columns="method", values="seconds")
    rows = []
    for (environment, setup), group in wide.groupby(level=[0, 1], sort=False):
        resolved = group.where(group > 0)
        for method in group.columns[group.notna().any()]:
            ratio = (resolved[method] / resolved[1]).dropna()
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
    """Return the CPU time in seconds per posterior (5,000 iterations or 5,000 exact draws), with one row per method,
    total, epsilon and vector of counts.

    Each time is the fastest of `repeats` calls. The interpreted methods run on `slow_vectors` of the vectors. The
    standard algorithm (one probability call per row) runs `standard_iterations` iterations, and its time is scaled to
    5,000 iterations (column `scaled`).
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
    """Return, for each method, a function that runs the method, the factor that scales the measured time to 5,000
    iterations, and whether the method is slow.
    """
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
    """Run the algorithm of section 5.1 as a loop in pure Python, which computes one multinomial probability per row and
    iteration.
    """
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
    """Run the algorithm of section 5.1 in NumPy, with all table rows in one vectorised call. The coefficients are
    recomputed in every iteration.
    """
    noise = -np.abs(noisy - counts).sum(axis=1) / scale
    p = rng.dirichlet(np.ones(3))
    for _ in range(iterations):
        logs = gammaln(counts.sum(axis=1) + 1) + (counts * np.log(p) - gammaln(counts + 1)).sum(axis=1) + noise
        weights = np.exp(logs - logs.max())
        row = rng.choice(len(counts), p=weights / weights.sum())
        p = rng.dirichlet(1.0 + counts[row])
    return p


def _dmultinom(s: list[int], p: NDArray) -> float:
    """Return the log of a multinomial probability, computed with the arithmetic of R's dmultinom."""
    return lgamma(sum(s) + 1) + sum(x * log(q) - lgamma(x + 1) for x, q in zip(s, p.tolist(), strict=True))


def figure_3(*, figure_3_timings: pd.DataFrame, r_timings: pd.DataFrame) -> pd.DataFrame:
    """Return summary statistics of the run times in seconds, by method, total and epsilon. The statistics are the mean,
    the median, the standard deviation and the 10 % and 90 % quantiles. R is included if it was found.

    Methods that were not measured, because R was not found, have one row with missing seconds and the reason in `note`.
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


Array = NDArray[np.float64]
COLUMNS = (
    *("method", "total", "seconds_at_0", "microseconds_per_row", "r_squared", "rows_misfit", "exponential_misfit"),
    *("linear_misfit", "exponential_margin", "exponential_se", "linear_margin", "linear_se"),
    *("epsilon_effect", "epsilon_effect_se", "at_largest", "times_table"),
)
_TABLE = "table (compiled)"


def figure_3_growth(*, figure_3: pd.DataFrame) -> pd.DataFrame:
    """Fit three growth curves to the computing times of every method, as functions of the number of table rows or of
    the total count M. The functions are a straight line in the number of table rows, a straight line in M, and an
    exponential in M.

    The number of rows is quadratic in M, so a straight line in the number of rows is quadratic growth in M: neither
    exponential (as the paper states for the standard algorithm) nor linear (as the paper states for its table).

    Returns
    -------
    DataFrame with `COLUMNS`: the line in the number of rows (`seconds_at_0`, `microseconds_per_row`, `r_squared`); the
        root mean square of the relative residuals of the line in the number of rows, of a exp(b M), and of the line in
        M (``*_misfit``); ``exponential_margin`` and ``linear_margin``, the misfit of the line in the number of rows
        minus that of the other curve, which is above 0 if the paper's description fits better, as means over the
        epsilons with their standard errors; `epsilon_effect`, the largest relative difference between epsilons at the
        largest M, and its standard error over the count vectors; `at_largest`, seconds; `times_table`, relative to the
        compiled table.
    """
    measured = figure_3[figure_3["median"].notna()]
    rows = [_method(str(name), group) for name, group in measured.groupby("method", sort=False)]
    table = pd.DataFrame([row for row in rows if row], columns=list(COLUMNS))
    base = table.loc[table["method"] == _TABLE, "at_largest"]
    return table.assign(times_table=table["at_largest"] / (base.iloc[0] if len(base) else np.nan))


def misfits(total: Array, rows: Array, seconds: Array) -> tuple[float, float, float]:
    """Return the root mean square relative residual of each of three fitted growth curves. The curves are a line in the
    number of rows, an exponential function of M, and a line in M.

    Each curve has two parameters and is fitted by least squares of the relative residuals. The result is NaN if a time
    is 0, which is below the clock resolution.
    """
    if not seconds.min() > 0:
        return np.nan, np.nan, np.nan
    straight = [_line(x, seconds) for x in (rows, total)]
    rates = np.linspace(-0.1, 0.5, 6001)
    shapes = np.exp(np.outer(rates, total - total.max())) / seconds  # relative; the factor a is solved for each rate
    factors = shapes.sum(axis=1) / (shapes**2).sum(axis=1)
    exponential = np.sqrt(((factors[:, None] * shapes - 1) ** 2).mean(axis=1)).min()
    return straight[0], float(exponential), straight[1]


def _line(x: Array, seconds: Array) -> float:
    design = np.column_stack([np.ones(len(x)), x]) / seconds[:, None]
    best = np.linalg.lstsq(design, np.ones(len(x)), rcond=None)[0]
    return float(np.sqrt(((design @ best - 1) ** 2).mean()))


def _method(name: str, group: pd.DataFrame) -> dict[str, float | str] | None:
    by_total = group.groupby("total")[["rows", "median"]].median()
    if len(by_total) < 3:
        return None
    x, y = by_total["rows"].to_numpy(float), by_total["median"].to_numpy()
    slope, start = np.polyfit(x, y, 1)
    fits = np.array(
        [
            misfits(one["total"].to_numpy(float), one["rows"].to_numpy(float), one["median"].to_numpy())
            for _, one in group.groupby("epsilon")
        ]
    )
    margins = fits[:, :1] - fits[:, 1:]
    ends = group[group["total"] == group["total"].max()]
    middle, around = ends["median"].to_numpy(), ((y - y.mean()) ** 2).sum()
    least = middle.min() if middle.min() > 0 else np.nan  # a time of 0 is below the clock resolution
    errors = (
        1.2533 * ends["sd"].to_numpy() / np.sqrt(ends["runs"])
    )  # the standard error of a median is sqrt(pi/2) times that of a mean
    effect_se = np.hypot(errors.iloc[int(middle.argmax())], errors.iloc[int(middle.argmin())]) / least
    return {
        **{"method": name, "total": group["total"].max(), "seconds_at_0": start, "microseconds_per_row": 1e6 * slope},
        "r_squared": 1 - ((y - start - slope * x) ** 2).sum() / around if around else np.nan,
        **dict(zip(("rows_misfit", "exponential_misfit", "linear_misfit"), fits.mean(axis=0), strict=True)),
        **{"exponential_margin": margins[:, 0].mean(), "exponential_se": _error(margins[:, 0])},
        **{"linear_margin": margins[:, 1].mean(), "linear_se": _error(margins[:, 1])},
        **{"epsilon_effect": middle.max() / least - 1, "epsilon_effect_se": effect_se},
        "at_largest": float(np.median(middle)),
    }


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


NOT_FOUND = "Rscript was not found on this machine."
R_COLUMNS = (
    *("what", "method", "setup", "environment", "repeat", "total", "rows", "epsilon", "vector", "seconds"),
    *("products", "scaled", "version", "note"),
)
_METHODS = ("standard (R dmultinom)", "table (R and C)")


def r_timings(
    *,
    rscript: str,
    script: Path,
    root_seed: int,
    totals: list[int],
    epsilons: list[float],
    iterations: int,
    products_each: int,
    vectors: int,
    repeats: int,
) -> pd.DataFrame:
    """Return the CPU times in seconds that the R script measured, with one row per measurement. The column `what` is
    the kind of measurement.

    The kinds are ``figure_3``, a posterior, the fastest of `repeats` calls, for each of `vectors` random count vectors;
    ``table_2``, `products_each` products, with one row per repeat; and ``calls``, 5,000 calls of functions that the
    paper compares in words, with one row per repeat.

    Parameters
    ----------
    rscript : path of the interpreter; empty if R was not found. The seconds are then missing and `note` states the
        reason.
    script : the R script.
    root_seed : seed of R's random number generator (timings do not depend on it).
    totals, epsilons : M and epsilon of the posteriors.
    iterations : number of iterations of the standard algorithm at M = 20; the number is smaller for larger tables, and
        the time is scaled to 5,000 iterations.
    products_each, vectors, repeats : numbers described above.
    """
    if not rscript:
        about = {"what": "figure_3", "method": _METHODS, "environment": "R", "seconds": np.nan, "note": NOT_FOUND}
        table2 = {"what": "table_2", "method": 1, "environment": "R", "seconds": np.nan, "note": NOT_FOUND}
        rest = pd.DataFrame([table2, table2 | {"what": "calls", "method": "dmultinom"}])
        return pd.concat([pd.DataFrame(about), rest]).reindex(columns=list(R_COLUMNS))
    with TemporaryDirectory() as folder:
        out = Path(folder, "timings.csv")
        lists = [",".join(map(str, values)) for values in (totals, epsilons)]
        sizes = [str(int(v)) for v in (iterations, products_each, repeats, root_seed % 2**31, vectors)]
        run = subprocess.run(
            [rscript, "--vanilla", str(script), str(out), *lists, *sizes], capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise RuntimeError(f"{script.name} failed with exit status {run.returncode}:\n{run.stderr}")
        return pd.read_csv(out)[list(R_COLUMNS)]
