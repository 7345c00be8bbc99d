"""The slides' rejection sampler against its exact law, from the very columns that the figures draw."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from ...verdicts import chi_squared, power
from ...verdicts.rows import claim, computed, law, not_run
from . import drawn_formulas as formulas
from .phi_draws import LEVEL

Row = dict[str, Any]
_SLIDES, _RATE, _ITERATIONS = [1, 2, 3, 4], 0.1, 5_000_000
_CELLS = (1, 2, 3, 4)
_STEP = 0.01  # relative, of what a parameter is changed by
_PRIOR, _SWAP = "prior's concentration", "rate"
_ABC = (
    ("abc_posterior", "number of accepted draws"),
    *(("abc_posterior", f"histogram of theta{i}") for i in _CELLS),
    ("abc_checks", "distribution functions of theta1 to theta4"),
    ("abc_checks", "unswapped tables behind the accepted draws"),
    *(("abc_checks", f"posterior mean of theta{i}") for i in _CELLS),
    ("posterior_summary", "weights of the unswapped tables are those of the algorithm"),
    ("abc_posterior", "the drawn curves are the exact and the naive density"),
)


def accepted(posterior: pd.DataFrame, checks: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Row]:
    """The slides' sampler at their table and rate."""
    single = posterior[posterior["x"].isna()].set_index("kind")["y"]
    iterations, number = single["iterations"], single["number accepted"]
    text = "" if iterations == _ITERATIONS else f"this run made {iterations:,.0f} iterations"
    yield computed("abc_posterior", "iterations", iterations, text)
    rate = checks["rate"].iloc[0]
    here = summary[summary["rate"] == rate].set_index("statistic")["value"]
    if f"weight of {_SLIDES}" not in here.index or rate != _RATE:
        yield from (not_run(*key, "the slides' table and rate are not in this run") for key in _ABC)
        return
    if number == 0:
        yield from (not_run(*key, "no draw was accepted") for key in _ABC)
        return
    yield _number(iterations, number, here)
    model = mixture(here)
    for i in _CELLS:
        panel = posterior[posterior["quantity"] == f"theta{i}"]
        p, sees = _theta_bars(panel, number, *model, i - 1)
        note = "p value of chi-squared over its bins and of the prior's score, the lesser times two"
        words = power.words({_PRIOR: sees})
        yield law("abc_posterior", f"histogram of theta{i}", p, note, "as_written", sees=words)
    yield from _checked(checks[checks["rate"] == rate].set_index("check"), number, here)
    yield _curves(posterior, model)
    yield _weights(summary)


def log_phi(table: pd.DataFrame, checks: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Row]:
    """log phi at every rate."""
    numbers: dict[Any, Any] = {row.rate: row.simulated for row in checks[checks["check"] == "accepted"].itertuples()}
    models = {rate: mixture(of.set_index("statistic")["value"]) for rate, of in summary.groupby("rate")}
    histograms, gaps = "histograms of log phi, every p", "distribution functions of log phi, every p"
    curves = "the drawn curves are the densities of log phi"
    if any(number == 0 for number in numbers.values()):
        for artefact, quantity in (("log_phi", histograms), ("abc_checks", gaps), ("log_phi", curves)):
            yield not_run(artefact, quantity, "no draw was accepted")
        return
    found = [
        _log_phi_bars(part, numbers[rate], models[rate], len(numbers)) for rate, part in table.groupby("rate") if rate
    ]
    p, least = (np.array(column) for column in zip(*found, strict=True))
    note = f"chi-squared and score of the prior, {len(p)} rates: least p value times their number"
    words = power.words({_PRIOR: least[:, 0].min()})
    yield law("log_phi", histograms, bonferroni(p), note, "as_written", sees=words)
    distances = checks[checks["check"] == "largest distance, log phi"]["p_value"].to_numpy()
    note = f"Kolmogorov-Smirnov, {len(distances)} rates: least p value times their number"
    words = power.words({_PRIOR: least[:, 1].min()})
    yield law("abc_checks", gaps, bonferroni(distances), note, "as_written", sees=words)
    lines = table[table["kind"] != "accepted"].groupby("rate")
    apart = [_relative(of["y"], formulas.log_phi_density(of["x"], *models[rate])) for rate, of in lines]
    note = "largest distance from the convolution of two logits of Beta laws, in units of the curve's height"
    yield claim("log_phi", curves, apart, "=", 0, note, rounding=1e-6)


def mixture(values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Tables (m, 4) and weights of a posterior, from the rows `weight of [..]` of its summary."""
    weights = values[values.index.str.startswith("weight of") & values.index.str.endswith("]")]
    tables = [name.removeprefix("weight of [").removesuffix("]").split(",") for name in weights.index]
    return np.array(tables, dtype=float), weights.to_numpy(dtype=float)


def bonferroni(p_values: Any) -> float:
    """The least p value times their number, at most 1; NaN if one is missing."""
    values = np.asarray(p_values, dtype=float)
    return float(np.minimum(1.0, len(values) * values.min()))


def _number(iterations: float, number: float, here: pd.Series) -> Row:
    exact = here["acceptance"]
    counted = np.isfinite(number) and 0 <= exact <= 1
    p = binomtest(int(number), int(iterations), exact).pvalue if counted else np.nan
    sd = np.sqrt(iterations * exact * (1 - exact))
    per_unit = np.sqrt(iterations * exact / (1 - exact)) / _STEP
    prior = formulas.accepted(*mixture(here), 1 + _STEP) - 1
    swap = here["acceptance, 1 % less"] / exact - 1
    changes = {_PRIOR: power.normal(per_unit * prior, LEVEL), _SWAP: power.normal(per_unit * swap, LEVEL)}
    note = f"p value of a binomial test; {number:,.0f}, expected {iterations * exact:,.1f} with sd {sd:.1f}"
    about = ("abc_posterior", "number of accepted draws")
    return law(*about, p, note, "as_written", sees=power.words(changes))


def _theta_bars(rows: pd.DataFrame, number: float, tables: Any, weights: Any, cell: int) -> tuple[float, float]:
    """A drawn histogram against the drawn exact density, and what its test sees of the prior."""
    bars, exact = (rows[rows["kind"] == kind] for kind in ("accepted", "exact"))
    edges = _edges(bars["x"])
    again = formulas.reweighted(tables, weights, 1 + _STEP)
    moved = np.diff(formulas.theta_cdf(edges, tables, again, cell, 1 + _STEP))
    return _bars(bars, exact, number, moved, LEVEL)


def _log_phi_bars(
    rows: pd.DataFrame, number: float, model: tuple[Any, Any], tests: int
) -> tuple[float, tuple[float, float]]:
    """As `_theta_bars`; with what the test of its distribution function sees."""
    bars, exact = (rows[rows["kind"] == kind] for kind in ("accepted", "exact"))
    x, again = exact["x"].to_numpy(), formulas.reweighted(*model, 1 + _STEP)
    other, own = (formulas.log_phi_density(x, model[0], w, alpha) for w, alpha in ((again, 1 + _STEP), (model[1], 1.0)))
    p, sees = _bars(bars, exact, number, chi_squared.masses(bars["x"], x, other), LEVEL / tests)
    apart = np.abs(np.cumsum(other - own)).max() * (x[-1] - x[0]) / (len(x) - 1) / _STEP
    return p, (sees, power.kolmogorov(float(apart), number, LEVEL / tests))


def _bars(
    bars: pd.DataFrame, exact: pd.DataFrame, number: float, moved: np.ndarray, level: float
) -> tuple[float, float]:
    if not np.all(np.isfinite(exact["y"])):
        return np.nan, np.inf
    seen = number * np.diff(_edges(bars["x"])) * bars["y"].to_numpy()
    expected = number * chi_squared.masses(bars["x"], exact["x"], exact["y"])
    return chi_squared.scored(seen, expected, number * moved, number, step=_STEP, level=level)


def _checked(rows: pd.DataFrame, number: float, here: pd.Series) -> Iterator[Row]:
    tables, weights = mixture(here)
    again, grid = formulas.reweighted(tables, weights, 1 + _STEP), np.linspace(0, 1, 1001)[1:-1]
    apart = []
    for cell in range(4):
        own = formulas.theta_cdf(grid, tables, weights, cell)
        apart.append(np.abs(formulas.theta_cdf(grid, tables, again, cell, 1 + _STEP) - own).max() / _STEP)
    sees = power.words({_PRIOR: power.kolmogorov(max(apart), number, LEVEL / 4)})
    gaps = rows.loc[[f"largest distance, theta{i}" for i in _CELLS], "p_value"]
    note = "Kolmogorov-Smirnov, four cells: least p value times four"
    quantity = "distribution functions of theta1 to theta4"
    yield law("abc_checks", quantity, bonferroni(gaps), note, "as_written", sees=sees)
    originals = rows[rows.index.str.startswith("P(original")]
    less = here[here.index.str.startswith("weight of") & here.index.str.endswith("less")].to_numpy(dtype=float)
    seen, expected = (number * originals[name].to_numpy() for name in ("simulated", "exact"))
    p, swap = chi_squared.scored(seen, expected, number * less, number, step=-_STEP, level=LEVEL)
    note = f"chi-squared over {len(originals)} possible originals and score of the rate, the lesser p value times two"
    quantity = "unswapped tables behind the accepted draws"
    yield law("abc_checks", quantity, p, note, "as_written", sees=power.words({_SWAP: swap}))
    for i in _CELLS:
        row: Any = rows.loc[f"mean theta{i}"]
        note = f"the slide is an image without numbers; exact {row['exact']:.6f}"
        quantity = f"posterior mean of theta{i}"
        yield computed("abc_checks", quantity, row["simulated"], note, "as_written", row["mc_se"])


def _weights(summary: pd.DataFrame) -> Row:
    """Weights of the possible originals and the chance of acceptance at every rate, against inclusion and exclusion."""
    gaps = []
    for rate, of in summary[summary["rate"] > 0].groupby("rate"):
        values = of.set_index("statistic")["value"]
        tables, weights = mixture(values)
        law = np.array([formulas.forward(table, _SLIDES, float(str(rate))) for table in tables])
        records = sum(_SLIDES)
        possible = (records + 3) * (records + 2) * (records + 1) / 6  # tables of so many records, all alike a priori
        gaps += [np.abs(weights - law / law.sum()).max(), abs(values["acceptance"] * possible / law.sum() - 1)]
    note = "largest distance of weights, and of the chance of acceptance, relative, from inclusion and exclusion"
    return claim(*_ABC[-2], gaps, "=", 0, note, "as_written", rounding=1e-9)


def _curves(posterior: pd.DataFrame, model: tuple[Any, Any]) -> Row:
    models = {"exact": model, "naive": (np.array([_SLIDES]), np.ones(1))}
    gaps = []
    for (name, kind), of in posterior[posterior["kind"].isin(list(models))].groupby(["quantity", "kind"]):
        gaps.append(_relative(of["y"], formulas.theta_density(of["x"], *models[str(kind)], int(str(name)[-1]) - 1)))
    note = "largest distance from mixtures of Beta laws, in units of the curve's height"
    return claim(*_ABC[-1], gaps, "=", 0, note, rounding=1e-9)


def _relative(drawn: pd.Series, wanted: np.ndarray) -> float:
    return float(np.abs(drawn - wanted).max(skipna=False) / wanted.max()) if wanted.max() > 0 else np.nan


def _edges(left: pd.Series) -> np.ndarray:
    ends = left.to_numpy(dtype=float)
    return np.append(ends, 2 * ends[-1] - ends[-2])
