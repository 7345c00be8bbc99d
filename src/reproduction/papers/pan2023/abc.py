"""Compare the rejection sampler on the slides of Pan, Li and Li (2023) with the exact posterior, for theta at one swap
rate and for log phi at several swap rates.
"""

import numpy as np
import pandas as pd
from scipy.special import digamma, polygamma
from scipy.stats import beta, chisquare, kstest, kstwobign, norm

from dpmultinomial._posteriors.swapping import swapped_table, unswapping

from ...verdicts import power
from .phi_density import LEVEL
from .settings import posterior_draws

_DRAWS = 100_000  # number of draws of theta given the table, for tests
_STEP = 0.01  # relative change of a rate
_CELLS = ("theta1", "theta2", "theta3", "theta4")
_TAILS = (0.025, 0.25, 0.5, 0.75, 0.975)


def simulate(
    size: int, *, rng: np.random.Generator, observed: list[list[int]], rates: list[float], bins: int
) -> pd.DataFrame:
    """Return the results of `size` iterations of the rejection sampler at each swap rate. Every proposal is swapped
    record by record, as on the slides.

    There is one row per accepted draw (rate, theta1..theta4, x11 of the unswapped table, iterations 0), and one row per
    rate with the number of iterations (all other columns missing).
    """
    parts = []
    for rate in rates:
        theta, originals = unswapping.abc(np.array(observed), np.ones(4), size, rate=rate, rng=rng)
        drawn = pd.DataFrame(theta, columns=list(_CELLS)).assign(x11=originals[:, 3], iterations=0)
        parts.append(pd.concat([drawn, pd.DataFrame({"iterations": [size]})], ignore_index=True).assign(rate=rate))
    return pd.concat(parts, ignore_index=True)


def abc_posterior(table: pd.DataFrame, *, observed: list[list[int]], rates: list[float], bins: int) -> pd.DataFrame:
    """Return the distributions of the cell probabilities theta1..theta4 at the first swap rate. They are given as
    histograms of the accepted draws, exact densities and naive densities.

    The table is in long format, with the columns quantity, variant (``as_written`` for the draws), kind (``accepted``,
    ``exact``, ``naive``), x and y; and with ``iterations`` and ``number accepted`` at missing x.
    """
    iterations = table.loc[table["rate"] == rates[0], "iterations"].sum()
    draws = _accepted(table, rates[0])[list(_CELLS)].to_numpy()
    laws = {"exact": swapped_table.exact(observed, rate=rates[0]), "naive": swapped_table.naive(observed)}
    grid, edges = np.linspace(0, 1, 401), np.linspace(0, 1, bins + 1)
    numbers = {"iterations": float(iterations), "number accepted": float(len(draws))}
    parts = [
        pd.DataFrame({"kind": list(numbers), "y": list(numbers.values())}).assign(quantity="", variant="as_written")
    ]
    for i, name in enumerate(_CELLS):
        heights = np.histogram(draws[:, i], edges)[0] / (max(len(draws), 1) * np.diff(edges))
        frame = pd.DataFrame({"kind": "accepted", "x": edges[:-1], "y": heights})
        parts.append(frame.assign(quantity=name, variant="as_written"))
        for kind, law in laws.items():
            frame = pd.DataFrame({"kind": kind, "x": grid, "y": law.pdf(grid, category=i)})
            parts.append(frame.assign(quantity=name, variant="as_written" if kind == "naive" else "corrected"))
    return pd.concat(parts, ignore_index=True)[["quantity", "variant", "kind", "x", "y"]]


def log_phi(table: pd.DataFrame, *, observed: list[list[int]], rates: list[float], bins: int) -> pd.DataFrame:
    """Return the distributions of the log odds ratio log phi for every swap rate: the naive density (rate 0), the exact
    densities, and histograms of the draws. The long format has the columns rate, variant, kind, x and y.
    """
    laws = {0.0: swapped_table.naive(observed).log_odds()}
    laws |= {rate: swapped_table.exact(observed, rate=rate).log_odds() for rate in rates}
    low = min(law.quantile(0.002) for law in laws.values())
    high = max(law.quantile(0.998) for law in laws.values())
    grid, edges = np.linspace(low, high, 401), np.linspace(low, high, bins + 1)
    parts = []
    for rate, law in laws.items():
        frame = pd.DataFrame({"kind": "exact" if rate else "naive", "x": grid, "y": law.pdf(grid)})
        parts.append(frame.assign(rate=rate, variant="corrected" if rate else "as_written"))
        if rate:
            values = _log_phi(_accepted(table, rate))
            heights = np.histogram(values, edges)[0] / (max(len(values), 1) * np.diff(edges))
            frame = pd.DataFrame({"kind": "accepted", "x": edges[:-1], "y": heights})
            parts.append(frame.assign(rate=rate, variant="as_written"))
    return pd.concat(parts, ignore_index=True)[["rate", "variant", "kind", "x", "y"]]


def abc_checks(table: pd.DataFrame, *, observed: list[list[int]], rates: list[float], bins: int) -> pd.DataFrame:
    """Compare simulations of the rejection sampler with its exact distribution. The long format has the columns rate,
    check, simulated, exact, mc_se, z and p_value.

    The checks are the number of accepted draws; the unswapped tables of the draws (one row each, followed by their
    chi-squared test); the means of theta; and the largest difference between empirical and exact distribution functions
    of theta and log phi (for which `exact` is the difference between naive and exact, which is the effect of the swap).
    """
    rows = []
    for rate in rates:
        law = swapped_table.exact(observed, rate=rate)
        drawn = _accepted(table, rate)
        n = len(drawn)
        iterations = table.loc[table["rate"] == rate, "iterations"].sum()
        expected = iterations * law.acceptance
        rows.append(_check(rate, "accepted", n, expected, np.sqrt(expected * (1 - law.acceptance))))
        counts = np.array([(drawn["x11"] == x).sum() for x in law.tables[:, 1, 1]])
        for x, count, weight in zip(law.tables, counts, law.weights, strict=True):
            se = np.sqrt(weight * (1 - weight) / max(n, 1))
            rows.append(_check(rate, f"P(original = {x.ravel().tolist()})", count / max(n, 1), weight, se))
        if n:
            test = chisquare(counts, law.weights * n)
            record = {"rate": rate, "check": "chi-squared of the originals", "simulated": test.statistic}
            rows.append(record | dict.fromkeys(("exact", "mc_se", "z"), np.nan) | {"p_value": test.pvalue})
            rows += _distances(rate, drawn, law, swapped_table.naive(observed))
    return pd.DataFrame(rows)


def posterior_summary(
    table: pd.DataFrame, *, observed: list[list[int]], rates: list[float], bins: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return exact summaries of the naive posterior distribution and of the exact posterior distribution at every swap
    rate. The long format has the columns rate (0: naive), variant, statistic and value.

    Statistics whose name ends in ``1 % less`` are computed at a rate that is 1 % smaller. The naive analysis also has a
    test of draws: their number, ``p value of draws`` and ``sees concentration`` (the relative change of the prior's
    concentration that the test rejects).
    """
    rows = []
    for rate in (0.0, *rates):
        law = swapped_table.exact(observed, rate=rate) if rate else swapped_table.naive(observed)
        odds = law.log_odds()
        statistics = {"acceptance": law.acceptance} if rate else {}
        statistics |= {f"weight of {t.ravel().tolist()}": w for t, w in zip(law.tables, law.weights, strict=True)}
        if rate:
            less = swapped_table.exact(observed, rate=(1 - _STEP) * rate)
            statistics |= {"acceptance, 1 % less": less.acceptance}
            statistics |= {
                f"weight of {t.ravel().tolist()}, 1 % less": w for t, w in zip(less.tables, less.weights, strict=True)
            }
        else:
            statistics |= _draws_tested(np.ravel(observed), rng)
        statistics |= {f"mean {c}": v for c, v in zip(_CELLS, np.asarray(law.mean()), strict=True)}
        statistics |= {f"sd {c}": v for c, v in zip(_CELLS, np.sqrt(law.variance()), strict=True)}
        statistics |= {f"phi {q:.1%}": v for q, v in zip(_TAILS, np.exp(odds.quantile(_TAILS)), strict=True)}
        statistics |= {"P(phi > 1)": float(1 - odds.cdf(0.0)), "mean phi": odds.mean_odds()}
        statistics |= {"mean log phi": odds.mean(), "sd log phi": odds.variance() ** 0.5}
        variant = "corrected" if rate else "as_written"
        rows += [{"rate": rate, "variant": variant, "statistic": k, "value": float(v)} for k, v in statistics.items()]
    return pd.DataFrame(rows)


def _draws_tested(counts: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """Test whether draws of the cell probabilities theta follow the posterior distribution given the counts. Return the
    joint p-value of several tests, and the minimum detectable effect of the test of the concentration. The tests are
    one Kolmogorov test per cell, and a score test for the concentration.
    """
    theta = posterior_draws(np.repeat(counts[None], _DRAWS, axis=0), rng)
    a = 1.0 + counts
    cells = [float(kstest(theta[:, i], beta(a[i], a.sum() - a[i]).cdf).pvalue) for i in range(4)]
    score = np.log(theta).sum(axis=1) - (digamma(a) - digamma(a.sum())).sum()
    sd = np.sqrt(polygamma(1, a).sum() - 16 * polygamma(1, a.sum()))
    cells.append(float(2 * norm.sf(abs(score.mean() / sd * np.sqrt(_DRAWS)))))
    sees = power.normal(sd * np.sqrt(_DRAWS), LEVEL / len(cells))
    p_value = np.minimum(1.0, len(cells) * np.min(cells))
    return {"draws": _DRAWS, "p value of draws": p_value, "sees concentration": sees}


def _accepted(table: pd.DataFrame, rate: float) -> pd.DataFrame:
    return table[(table["rate"] == rate) & (table["iterations"] == 0)]


def _log_phi(drawn: pd.DataFrame) -> np.ndarray:
    return np.log(drawn["theta1"] * drawn["theta4"] / (drawn["theta2"] * drawn["theta3"])).to_numpy()


def _check(rate: float, name: str, found: float, exact: float, se: float) -> dict:
    z = (found - exact) / se if se > 0 else np.nan
    return {"rate": rate, "check": name, "simulated": found, "exact": exact, "mc_se": se, "z": z, "p_value": np.nan}


def _distances(rate: float, drawn: pd.DataFrame, law, naive) -> list[dict]:
    n = len(drawn)
    steps, grid = np.arange(1, n + 1) / n, np.linspace(0, 1, 2001)[1:-1]
    rows = []
    for i, name in enumerate(_CELLS):
        se = np.sqrt(law.variance(category=i) / n)
        rows.append(_check(rate, f"mean {name}", drawn[name].mean(), law.mean(category=i), se))
        gap = np.abs(law.cdf(np.sort(drawn[name]), category=i) - steps).max()
        apart = np.abs(law.cdf(grid, category=i) - naive.cdf(grid, category=i)).max()
        rows.append(_gap(rate, f"largest distance, {name}", gap, apart, n))
    odds, plain = law.log_odds(), naive.log_odds()
    low, high = odds.quantile([1e-4, 1 - 1e-4])
    wide = np.linspace(low, high, 2001)
    gap = np.abs(odds.cdf(np.sort(_log_phi(drawn))) - steps).max()
    return [*rows, _gap(rate, "largest distance, log phi", gap, np.abs(odds.cdf(wide) - plain.cdf(wide)).max(), n)]


def _gap(rate: float, name: str, gap: float, apart: float, n: int) -> dict:
    p = float(kstwobign.sf(gap * np.sqrt(n)))
    return {"rate": rate, "check": name, "simulated": gap, "exact": apart, "mc_se": np.nan, "z": np.nan, "p_value": p}
