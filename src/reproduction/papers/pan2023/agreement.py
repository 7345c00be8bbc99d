"""What the slides print and say, as this run gives it: numbers, draws against their laws, claims."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.interpolate import CubicSpline
from scipy.stats import binomtest, dirichlet

from ...verdicts import chi_squared
from ...verdicts.rows import claim, computed, not_run
from . import claims

Row = dict[str, Any]
_THETAS = ("(0.27, 0.23, 0.23, 0.27)", "(0.23, 0.27, 0.27, 0.23)", "(0.7, 0.1, 0.1, 0.1)")
_IMAGE = "the slide is an image without numbers; n and the number of swaps are not stated"
_SLIDES, _RATE, _ITERATIONS = [1, 2, 3, 4], 0.1, 5_000_000
_ABC = (
    ("abc_posterior", "number of accepted draws"),
    *(("abc_posterior", f"histogram of theta{i}") for i in (1, 2, 3, 4)),
    ("abc_checks", "distribution functions of theta1 to theta4"),
    ("abc_checks", "unswapped tables behind the accepted draws"),
    *(("abc_checks", f"posterior mean of theta{i}") for i in (1, 2, 3, 4)),
)


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows artefact, quantity, variant, ours, mc_se, note; one or more variants for every published quantity."""
    rows = [
        *_algorithm(tables["algorithm"]),
        *claims.algorithm(tables["algorithm"]),
        *claims.record_example(tables["record_example"]),
        *_phi(tables["phi_examples"]),
        *claims.theorem(tables["exchange_audit"], tables["epsilon_table"]),
        *_densities(tables["phi_density"]),
        *claims.findings(tables["phi_density"]),
        *_draws(tables["phi_draws"]),
        *claims.results(tables["phi_by_rate"], tables["closer_or_farther"]),
        *claims.structures(tables["coverage"]),
        *_posterior(tables["posterior_summary"]),
        *_accepted(tables["abc_posterior"], tables["abc_checks"], tables["posterior_summary"]),
        *_further(tables["log_phi"], tables["abc_checks"]),
    ]
    return pd.DataFrame(rows)


def _algorithm(table: pd.DataFrame) -> Iterator[Row]:
    """Every law of the algorithm: chi-squared of its outcomes."""
    quantities = {
        "worked example, Sect": "worked example matched on Sect: names after the swap",
        "worked example, #Attend": "worked example matched on #Attend: names after the swap",
        "selected of": "each record is selected with probability p, never one alone",
        "permutations of": "the selected are deranged uniformly at random",
        "record example": "record example: V1 after the swap",
    }
    for start, quantity in quantities.items():
        part = table[table["check"].str.startswith(start)]
        size = part["expected"].sum()
        p = chi_squared.pooled(part["simulated"], part["expected"], size)
        note = f"p value of chi-squared over {len(part)} outcomes, {size:,.0f} runs"
        yield computed("algorithm", quantity, p if part["simulated"].sum() > 0 else np.nan, note)


def _phi(table: pd.DataFrame) -> Iterator[Row]:
    before = table[table["rate"] == 0]
    quantities = (
        ("phi at theta = (0.25, 0.25, 0.25, 0.25)", (0.25,) * 4, ""),
        ("phi > 1 at theta = (0.3, 0.2, 0.2, 0.3)", (0.3, 0.2, 0.2, 0.3), ">"),
        ("phi < 1 at theta = (0.2, 0.3, 0.3, 0.2)", (0.2, 0.3, 0.3, 0.2), "<"),
    )
    for quantity, theta, relation in quantities:
        same = np.isclose(before[["theta1", "theta2", "theta3", "theta4"]], theta).all(axis=1)
        found = before.loc[np.asarray(same), "phi"]
        about = ("phi_examples", quantity)
        if len(found):
            phi, note = found.iloc[0], "theta1 theta4/(theta2 theta3)"
            yield claim(*about, phi, relation, 1, note) if relation else computed(*about, phi, note)
        else:
            yield not_run("phi_examples", quantity, "this theta at rate 0 is not in this run")


def _bonferroni(p_values: pd.Series) -> float:
    """The least p value times their number, at most 1; NaN if one is missing."""
    values = p_values.to_numpy(dtype=float)
    return float(np.minimum(1.0, len(values) * values.min()))


def _densities(table: pd.DataFrame) -> Iterator[Row]:
    for theta in _THETAS[:2]:
        quantity = f"draws of phi at theta = {theta}, p = 0.5"
        mine = table[(table["theta"] == theta) & table["kind"].isin(["p tables", "p phi"])]
        rates = table.loc[(table["theta"] == theta) & (table["kind"] == "rate"), "y"]
        note = f"{len(mine)} tests (swapped tables, phi after each swap; every n), least p value times their number"
        if rates.isin([0.5]).any():
            yield computed("phi_density", quantity, _bonferroni(mine["y"]), note, "as_written")
        else:
            yield not_run("phi_density", quantity, "this theta or rate is not in this run")


def _draws(table: pd.DataFrame) -> Iterator[Row]:
    for theta in _THETAS:
        mine = table[table["theta"] == theta]
        quantity = f"draws of phi at theta = {theta}, every p"
        tests = pd.concat([mine["p_phi"], mine.loc[mine["rate"] > 0, "p_tables"]])
        note = f"{len(tests)} tests (swapped tables, phi after each swap; every p), least p value times their number"
        if len(mine):
            yield computed("phi_draws", quantity, _bonferroni(tests), note, "as_written")
        else:
            yield not_run("phi_draws", quantity, "this theta is not in this run")
        for rate in (0.0, 0.5):
            quantity = f"median of phi at theta = {theta}, p = {rate:g}"
            found = mine[(mine["rate"] == rate) & (mine["total"] == mine["total"].max())]
            if len(found):
                row = found.iloc[0]
                note = f"{_IMAGE}; here n = {row['total']}, {row['swaps']} swaps; exact {row['exact']:.4f}"
                yield computed("phi_draws", quantity, row["median"], note, "as_written", row["mc_se"])
            else:
                yield not_run("phi_draws", quantity, "this rate or theta is not in this run")


def _posterior(table: pd.DataFrame) -> Iterator[Row]:
    """The conjugate posterior of the slide Generating Models, from its own formula."""
    naive = table[table["rate"] == 0].set_index("statistic")["value"]
    (weight,) = [name for name in naive.index if name.startswith("weight of ")]
    law = dirichlet(1 + np.array([int(count) for count in weight.removeprefix("weight of ").strip("[]").split(",")]))
    gaps = [abs(naive[f"mean theta{i + 1}"] - law.mean()[i]) for i in range(4)]
    gaps += [abs(naive[f"sd theta{i + 1}"] - np.sqrt(law.var()[i])) for i in range(4)]
    note = "largest gap of the naive means and standard deviations to that law's"
    about = ("posterior_summary", "the posterior given y is Dir(1 + y)")
    yield claim(*about, np.max(gaps), "=", 0, note, "as_written", rounding=1e-9)


def _accepted(posterior: pd.DataFrame, checks: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Row]:
    """The slides' sampler at their table and rate."""
    single = posterior[posterior["x"].isna()].set_index("kind")["y"]
    iterations, accepted = single["iterations"], single["number accepted"]
    text = "" if iterations == _ITERATIONS else f"this run made {iterations:,.0f} iterations"
    yield computed("abc_posterior", "iterations", iterations, text)
    rate = checks["rate"].iloc[0]
    here = summary[summary["rate"] == rate].set_index("statistic")["value"]
    if f"weight of {_SLIDES}" not in here.index or rate != _RATE:
        yield from (not_run(*key, "the slides' table and rate are not in this run") for key in _ABC)
        return
    if accepted == 0:
        yield from (not_run(*key, "no draw was accepted") for key in _ABC)
        return
    exact = here["acceptance"]
    counted = np.isfinite(accepted) and 0 <= exact <= 1
    p = binomtest(int(accepted), int(iterations), exact).pvalue if counted else np.nan
    note = (
        f"{accepted:,.0f}, expected {iterations * exact:,.1f} with sd {np.sqrt(iterations * exact * (1 - exact)):.1f}"
    )
    yield computed("abc_posterior", "number of accepted draws", p, f"p value of a binomial test; {note}", "as_written")
    for i in (1, 2, 3, 4):
        p = _histogram(posterior[posterior["quantity"] == f"theta{i}"], accepted)
        yield computed(
            "abc_posterior", f"histogram of theta{i}", p, "p value of chi-squared over its bins", "as_written"
        )
    yield from _checked(checks[checks["rate"] == rate].set_index("check"), accepted)


def _checked(rows: pd.DataFrame, accepted: float) -> Iterator[Row]:
    gaps = rows.loc[[f"largest distance, theta{i}" for i in (1, 2, 3, 4)], "p_value"]
    note = "Kolmogorov-Smirnov, four cells: least p value times four"
    quantity = "distribution functions of theta1 to theta4"
    yield computed("abc_checks", quantity, _bonferroni(gaps), note, "as_written")
    weights = rows[rows.index.str.startswith("P(original")]
    p = chi_squared.pooled(accepted * weights["simulated"], accepted * weights["exact"], accepted)
    note = f"p value of chi-squared over {len(weights)} possible originals"
    yield computed("abc_checks", "unswapped tables behind the accepted draws", p, note, "as_written")
    for i in (1, 2, 3, 4):
        row: Any = rows.loc[f"mean theta{i}"]
        note = f"the slide is an image without numbers; exact {row['exact']:.6f}"
        quantity = f"posterior mean of theta{i}"
        yield computed("abc_checks", quantity, row["simulated"], note, "as_written", row["mc_se"])


def _histogram(rows: pd.DataFrame, accepted: float) -> float:
    """p value of a histogram of draws against the exact density beside it."""
    bars, exact = (rows[rows["kind"] == kind] for kind in ("accepted", "exact"))
    if not np.all(np.isfinite(exact["y"])):
        return float("nan")
    edges = np.append(bars["x"], 2 * bars["x"].iloc[-1] - bars["x"].iloc[-2])
    expected = accepted * np.diff(CubicSpline(exact["x"], exact["y"]).antiderivative()(edges))
    return chi_squared.pooled(accepted * np.diff(edges) * bars["y"], expected, accepted)


def _further(table: pd.DataFrame, checks: pd.DataFrame) -> Iterator[Row]:
    """log phi at every rate."""
    numbers: dict[Any, Any] = {row.rate: row.simulated for row in checks[checks["check"] == "accepted"].itertuples()}
    groups: Iterable[tuple[Any, pd.DataFrame]] = table.groupby("rate")
    parts = [(part, numbers[rate]) for rate, part in groups if rate > 0]
    quantity = "histograms of log phi, every p"
    if all(number != 0 for _, number in parts):
        p = _bonferroni(pd.Series([_histogram(part, number) for part, number in parts]))
        note = f"chi-squared, {len(parts)} rates: least p value times their number"
        yield computed("log_phi", quantity, p, note, "as_written")
    else:
        yield not_run("log_phi", quantity, "no draw was accepted")
    gaps = checks[checks["check"] == "largest distance, log phi"]
    quantity = "distribution functions of log phi, every p"
    if len(gaps) == len(numbers):
        note = f"Kolmogorov-Smirnov, {len(gaps)} rates: least p value times their number"
        yield computed("abc_checks", quantity, _bonferroni(gaps["p_value"]), note, "as_written")
    else:
        yield not_run("abc_checks", quantity, "no draw was accepted")
