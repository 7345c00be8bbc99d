"""Compare the figures of the odds ratio phi, of the privacy loss and of the rejection sampler (ABC) with the formulas
on the slides of Pan, Li and Li (2023) and with exact distributions.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from dpmultinomial._mechanisms.swapping import two_by_two

from ...verdicts import draw_tests, power
from ...verdicts.rows import claim, computed, law, not_run
from . import drawn_formulas as formulas
from .phi_density import LEVEL
from .settings import odds_ratio, table_of

Row = dict[str, Any]
_SOME = 12  # the number of points of a curve is divided by this number for the comparison
_FEW = 20  # largest number of records whose derangements are counted
_SIGNS = np.array([[1, -1], [-1, 1]])


def rows(tables: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Yield the rows of the agreement table for the figures."""
    yield _densities(tables["phi_density"])
    yield _by_rate(tables["phi_by_rate"])
    yield _epsilon(tables["privacy_loss"])


def bars(rows: pd.DataFrame) -> float:
    """Return the p-value of a goodness-of-fit test of a plotted histogram against the exact curve in the same panel.
    Each swap counts as one effective draw.
    """
    drawn, exact = (rows[rows["kind"] == kind] for kind in ("swapped", "swapped exact"))
    swaps = rows.loc[rows["kind"] == "swaps", "y"].iloc[0]
    return draw_tests.histogram(drawn["x"], drawn["y"], exact["x"], exact["y"], swaps)


def _original(theta: str, total: int) -> np.ndarray:
    return table_of([float(share) for share in theta.strip("()").split(",")], int(total))


def _swapped(original: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables that can result from one swap of records in a table, and their probabilities."""
    if rate == 0:
        return original.reshape(1, 4), np.ones(1)
    row = two_by_two.row(original, rate=rate)
    return row.tables(original).reshape(-1, 4), np.exp(row.log_forward)


def _limit(original: np.ndarray, rate: float) -> float:
    """Return the odds ratio of a table after swapping, in the limit of infinitely many records. In this limit, selected
    records have independent columns, and the other records are unchanged.
    """
    share = original / original.sum()
    return odds_ratio((1 - rate) * share + rate * np.outer(share.sum(axis=1), share.sum(axis=0)))


def _gap(curve: pd.DataFrame, model: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the largest relative difference between a plotted density of phi and the density under the model. The
    difference is relative to the largest value of the density under the model.
    """
    subset = curve.iloc[::_SOME]
    phi = subset["x"].to_numpy(dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = formulas.log_phi_density(np.log(phi), *model) / phi
    return float(np.abs(subset["y"] - wanted).max(skipna=False) / np.max(wanted))


def _densities(table: pd.DataFrame) -> Row:
    gaps: list[float] = []
    about = ("phi_density", "the plotted curves are the densities of phi")
    for (theta, total), of in table.groupby(["theta", "total"], sort=False):
        single = of[of["x"].isna()].set_index("kind")["y"]
        original = _original(str(theta), int(str(total)))
        if np.isnan(single["one swap x11"]):
            return claim(*about, np.nan, "=", 0, _MISSING)
        once = original + int(single["one swap x11"] - original[1, 1]) * _SIGNS
        models = {
            "original": (original.reshape(1, 4), np.ones(1)),
            "swapped exact": _swapped(original, single["rate"]),
            "one swap": (once.reshape(1, 4), np.ones(1)),
        }
        gaps += [_gap(of[of["kind"] == kind], model) for kind, model in models.items()]
        gaps.append(abs(single["phi"] / odds_ratio(original) - 1))
        gaps.append(abs(single["limit"] / _limit(original, single["rate"]) - 1))
    note = (
        "The densities, the value of phi in the table and its limit are compared with the formulas of the slides. The "
        "left side is the largest relative difference."
    )
    return claim(*about, gaps, "=", 0, note, rounding=1e-6)


def _by_rate(table: pd.DataFrame) -> Row:
    gaps = []
    for (theta, total, rate), of in table.groupby(["theta", "total", "rate"], sort=False):
        original, single = _original(str(theta), int(str(total))), of[of["x"].isna()].set_index("kind")["y"]
        model = _swapped(original, float(str(rate)))
        gaps.append(_gap(of[of["kind"] == "density"], model))
        gaps.append(abs(single["limit"] / _limit(original, float(str(rate))) - 1))
        gaps.append(_half(np.log(single["median"]), model))
    note = (
        "The densities and limits are compared with their formulas, and the probability below each median is compared "
        "with one half. The left side is the largest difference (relative for densities and limits)."
    )
    about = ("phi_by_rate", "the plotted densities, medians and limits are those of phi")
    return claim(*about, gaps, "=", 0, note, rounding=1e-6)


def _half(median: float, model: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the absolute difference between 1/2 and the probability, under the model, of values below a plotted
    median.
    """
    return abs(formulas.log_phi_excess(median, *model)) / 2 if np.isfinite(median) else np.nan


def _epsilon(table: pd.DataFrame) -> Row:
    """Compare the plotted curves with the epsilon of the theorem, with twice this epsilon, and with the exact constant.
    The exact constant is (1/2) ln(D_b/D_(b-2)) - ln(o) for b >= 4, p <= 1/2.
    """
    about = ("privacy_loss", "the plotted epsilon is ln(b + 1) - ln(o)")
    if table[["group", "x", "y"]].isna().any(axis=None):
        return claim(*about, np.nan, "=", 0, _MISSING)
    stated = table[table["kind"] == "rate"]
    gaps = [np.abs(_differences(stated[stated["variant"] == "as_written"]))]
    audits = table[table["kind"] == "exchange"].rename(columns={"group": "x", "x": "group"})
    gaps.append(np.abs(_differences(audits[audits["variant"] == "as_written"])))
    twice = audits[audits["variant"] == "twice"]
    gaps.append(np.abs(_differences(twice.assign(y=twice["y"] / 2))))
    exact = stated[(stated["variant"] == "corrected") & (stated["group"] >= 4) & (stated["x"] <= 0.5)]
    ratio = np.array([_ratio(b) for b in exact["group"].astype(int)])
    gaps.append(np.abs(exact["y"] - np.log(ratio) / 2 + np.log(exact["x"] / (1 - exact["x"]))))
    left = table[table["kind"] == "association"]
    kept = exact.assign(left=_kept(exact["x"], exact["group"])).sort_values(["group", "left"])["left"]
    gaps.append(np.abs(kept.to_numpy() - left[left["group"] >= 4].sort_values(["group", "x"])["x"].to_numpy()))
    note = (
        "The left side is the largest difference of the plotted epsilon and of the plotted remaining association from "
        "their formulas."
    )
    return claim(*about, np.concatenate([np.asarray(gap, float) for gap in gaps]), "=", 0, note, rounding=1e-8)


def _differences(rows: pd.DataFrame) -> pd.Series:
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = np.log(rows["x"] / (1 - rows["x"]))
    return rows["y"] - np.maximum(np.log(rows["group"] + 1) - odds, odds)


def _ratio(b: int) -> float:
    """Return the ratio D_b/D_(b-2), where D_b is the number of derangements of b records. For more than `_FEW` records,
    D_b is replaced by b!/e.
    """
    counts = [1.0, 0.0]
    for k in range(2, min(b, _FEW) + 1):
        counts.append((k - 1) * (counts[-1] + counts[-2]))
    return counts[b] / counts[b - 2] if b <= _FEW else float(b * (b - 1))


def _kept(rate: pd.Series, size: pd.Series) -> pd.Series:
    """Return the factor lambda_1 = 1 - E[K]/(b - 1), where K is the number of selected records in a stratum of b
    records. K has a binomial distribution conditional on K != 1.
    """
    none = (1 - rate) ** (size - 1)
    return 1 - size / (size - 1) * rate * (1 - none) / (1 - size * rate * none)


_MISSING = "A number is missing in the table."
_NONE_ACCEPTED = "No draw was accepted in this run."
_SLIDES, _RATE, _ITERATIONS = [1, 2, 3, 4], 0.1, 5_000_000
_CELLS = (1, 2, 3, 4)
_STEP = 0.01  # relative change of a parameter
_PRIOR, _SWAP = "prior's concentration", "swap rate"
_ABC = (
    ("abc_posterior", "number of accepted draws"),
    *(("abc_posterior", f"histogram of theta{i}") for i in _CELLS),
    ("abc_checks", "distribution functions of theta1 to theta4"),
    ("abc_checks", "unswapped tables of the accepted draws"),
    *(("abc_checks", f"posterior mean of theta{i}") for i in _CELLS),
    ("posterior_summary", "weights of the unswapped tables are those of the algorithm"),
    ("abc_posterior", "the plotted curves are the exact and the naive density"),
)


def accepted(posterior: pd.DataFrame, checks: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Row]:
    """Yield rows of the agreement table for the rejection sampler on the slides of Pan, Li and Li (2023), run with the
    data table and the swap rate from the slides.
    """
    single = posterior[posterior["x"].isna()].set_index("kind")["y"]
    iterations, number = single["iterations"], single["number accepted"]
    text = "" if iterations == _ITERATIONS else f"This run made {iterations:,.0f} iterations."
    yield computed("abc_posterior", "iterations", iterations, text)
    rate = checks["rate"].iloc[0]
    at_rate = summary[summary["rate"] == rate].set_index("statistic")["value"]
    if f"weight of {_SLIDES}" not in at_rate.index or rate != _RATE:
        yield from (not_run(*key, "This run does not include the table and swap rate of the slides.") for key in _ABC)
        return
    if number == 0:
        yield from (not_run(*key, _NONE_ACCEPTED) for key in _ABC)
        return
    yield _number(iterations, number, at_rate)
    model = mixture(at_rate)
    for i in _CELLS:
        panel = posterior[posterior["quantity"] == f"theta{i}"]
        p, sees = _theta_bars(panel, number, *model, i - 1)
        note = (
            "The histogram is tested by a chi-squared test over its bins and by a score test of the prior. The "
            "reported p-value is twice the smaller of the two p-values."
        )
        words = power.words({_PRIOR: sees})
        yield law("abc_posterior", f"histogram of theta{i}", p, note, "as_written", sees=words)
    yield from _checked(checks[checks["rate"] == rate].set_index("check"), number, at_rate)
    yield _curves(posterior, model)
    yield _weights(summary)


def log_phi(table: pd.DataFrame, checks: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table for the posterior of the log odds ratio log phi at every swap rate."""
    numbers: dict[Any, Any] = {row.rate: row.simulated for row in checks[checks["check"] == "accepted"].itertuples()}
    models = {rate: mixture(of.set_index("statistic")["value"]) for rate, of in summary.groupby("rate")}
    histograms, gaps = "histograms of log phi, every p", "distribution functions of log phi, every p"
    curves = "the plotted curves are the densities of log phi"
    if any(number == 0 for number in numbers.values()):
        for artefact, quantity in (("log_phi", histograms), ("abc_checks", gaps), ("log_phi", curves)):
            yield not_run(artefact, quantity, _NONE_ACCEPTED)
        return
    tests = [
        _log_phi_bars(part, numbers[rate], models[rate], len(numbers)) for rate, part in table.groupby("rate") if rate
    ]
    p, least = (np.array(column) for column in zip(*tests, strict=True))
    note = (
        f"For each of {len(p)} swap rates, the histogram is tested by a chi-squared test and by a score test of the "
        f"prior. The reported p-value is the smallest of the {len(p)} p-values times their number."
    )
    words = power.words({_PRIOR: least[:, 0].min()})
    yield law("log_phi", histograms, bonferroni(p), note, "as_written", sees=words)
    distances = checks[checks["check"] == "largest distance, log phi"]["p_value"].to_numpy()
    note = (
        f"The p-value is the smallest p-value of Kolmogorov-Smirnov tests for {len(distances)} swap rates times the "
        "number of tests."
    )
    words = power.words({_PRIOR: least[:, 1].min()})
    yield law("abc_checks", gaps, bonferroni(distances), note, "as_written", sees=words)
    lines = table[table["kind"] != "accepted"].groupby("rate")
    apart = [_relative(of["y"], formulas.log_phi_density(of["x"], *models[rate])) for rate, of in lines]
    note = (
        "Each curve is compared with the convolution of the distributions of two logits of Beta variables. The left "
        "side is the largest difference relative to the maximum of the curve."
    )
    yield claim("log_phi", curves, apart, "=", 0, note, rounding=1e-6)


def mixture(values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables of a posterior mixture, as an array of shape (m, 4), and their weights. They are read from the
    rows `weight of [..]` of its summary.
    """
    weights = values[values.index.str.startswith("weight of") & values.index.str.endswith("]")]
    tables = [name.removeprefix("weight of [").removesuffix("]").split(",") for name in weights.index]
    return np.array(tables, dtype=float), weights.to_numpy(dtype=float)


def bonferroni(p_values: Any) -> float:
    """Return the smallest p-value after a Bonferroni correction. The result is at most 1, and it is NaN if a p-value is
    missing.
    """
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
    note = (
        f"The p-value is that of a binomial test. The number of accepted draws is {number:,.0f}, and its expectation "
        f"is {iterations * exact:,.1f} with standard deviation {sd:.1f}."
    )
    about = ("abc_posterior", "number of accepted draws")
    return law(*about, p, note, "as_written", sees=power.words(changes))


def _theta_bars(rows: pd.DataFrame, number: float, tables: Any, weights: Any, cell: int) -> tuple[float, float]:
    """Return the p-value of a test of a plotted histogram of theta against the plotted exact density. In addition,
    return the minimum detectable effect for the concentration of the prior.
    """
    bars, exact = (rows[rows["kind"] == kind] for kind in ("accepted", "exact"))
    edges = _edges(bars["x"])
    again = formulas.reweighted(tables, weights, 1 + _STEP)
    moved = np.diff(formulas.theta_cdf(edges, tables, again, cell, 1 + _STEP))
    return _bars(bars, exact, number, moved, LEVEL)


def _log_phi_bars(
    rows: pd.DataFrame, number: float, model: tuple[Any, Any], tests: int
) -> tuple[float, tuple[float, float]]:
    """Return the p-value of a test of a plotted histogram of the log odds ratio log phi, and two minimum detectable
    effects for the concentration of the prior. The minimum detectable effects are those of this test and of a
    Kolmogorov-Smirnov test.
    """
    bars, exact = (rows[rows["kind"] == kind] for kind in ("accepted", "exact"))
    x, again = exact["x"].to_numpy(), formulas.reweighted(*model, 1 + _STEP)
    other, model_density = (
        formulas.log_phi_density(x, model[0], w, alpha) for w, alpha in ((again, 1 + _STEP), (model[1], 1.0))
    )
    p, sees = _bars(bars, exact, number, draw_tests.masses(bars["x"], x, other), LEVEL / tests)
    apart = np.abs(np.cumsum(other - model_density)).max() * (x[-1] - x[0]) / (len(x) - 1) / _STEP
    return p, (sees, power.kolmogorov(float(apart), number, LEVEL / tests))


def _bars(
    bars: pd.DataFrame, exact: pd.DataFrame, number: float, moved: np.ndarray, level: float
) -> tuple[float, float]:
    if not np.all(np.isfinite(exact["y"])):
        return np.nan, np.inf
    seen = number * np.diff(_edges(bars["x"])) * bars["y"].to_numpy()
    expected = number * draw_tests.masses(bars["x"], exact["x"], exact["y"])
    return draw_tests.scored(seen, expected, number * moved, number, step=_STEP, level=level)


def _checked(rows: pd.DataFrame, number: float, here: pd.Series) -> Iterator[Row]:
    tables, weights = mixture(here)
    again, grid = formulas.reweighted(tables, weights, 1 + _STEP), np.linspace(0, 1, 1001)[1:-1]
    apart = []
    for cell in range(4):
        cdf_values = formulas.theta_cdf(grid, tables, weights, cell)
        apart.append(np.abs(formulas.theta_cdf(grid, tables, again, cell, 1 + _STEP) - cdf_values).max() / _STEP)
    sees = power.words({_PRIOR: power.kolmogorov(max(apart), number, LEVEL / 4)})
    gaps = rows.loc[[f"largest distance, theta{i}" for i in _CELLS], "p_value"]
    note = "The p-value is the smallest p-value of Kolmogorov-Smirnov tests for the four cells times four."
    quantity = "distribution functions of theta1 to theta4"
    yield law("abc_checks", quantity, bonferroni(gaps), note, "as_written", sees=sees)
    originals = rows[rows.index.str.startswith("P(original")]
    less = here[here.index.str.startswith("weight of") & here.index.str.endswith("less")].to_numpy(dtype=float)
    seen, expected = (number * originals[name].to_numpy() for name in ("simulated", "exact"))
    p, swap = draw_tests.scored(seen, expected, number * less, number, step=-_STEP, level=LEVEL)
    note = (
        f"The tables are tested by a chi-squared test over {len(originals)} possible original tables and by a score "
        "test of the swap rate. The reported p-value is twice the smaller of the two p-values."
    )
    quantity = "unswapped tables of the accepted draws"
    yield law("abc_checks", quantity, p, note, "as_written", sees=power.words({_SWAP: swap}))
    for i in _CELLS:
        row: Any = rows.loc[f"mean theta{i}"]
        note = f"The slide is an image without numbers. The exact mean is {row['exact']:.6f}."
        quantity = f"posterior mean of theta{i}"
        yield computed("abc_checks", quantity, row["simulated"], note, "as_written", row["mc_se"])


def _weights(summary: pd.DataFrame) -> Row:
    """Return the row of the agreement table for the weights of the original tables and for the acceptance probability.
    They are compared with values computed by inclusion and exclusion.
    """
    gaps = []
    for rate, of in summary[summary["rate"] > 0].groupby("rate"):
        values = of.set_index("statistic")["value"]
        tables, weights = mixture(values)
        law = np.array([formulas.forward(table, _SLIDES, float(str(rate))) for table in tables])
        records = sum(_SLIDES)
        possible = (
            (records + 3) * (records + 2) * (records + 1) / 6
        )  # largest number of records for which all tables are compared; they are equally likely a priori
        gaps += [np.abs(weights - law / law.sum()).max(), abs(values["acceptance"] * possible / law.sum() - 1)]
    note = (
        "The weights and the acceptance probability are compared with values computed by inclusion and exclusion. The "
        "left side is the largest absolute difference of the weights or relative difference of the acceptance "
        "probability."
    )
    return claim(*_ABC[-2], gaps, "=", 0, note, "as_written", rounding=1e-9)


def _curves(posterior: pd.DataFrame, model: tuple[Any, Any]) -> Row:
    models = {"exact": model, "naive": (np.array([_SLIDES]), np.ones(1))}
    gaps = []
    for (name, kind), of in posterior[posterior["kind"].isin(list(models))].groupby(["quantity", "kind"]):
        gaps.append(_relative(of["y"], formulas.theta_density(of["x"], *models[str(kind)], int(str(name)[-1]) - 1)))
    note = (
        "Each curve is compared with a mixture of Beta densities. The left side is the largest difference relative to "
        "the maximum of the density."
    )
    return claim(*_ABC[-1], gaps, "=", 0, note, rounding=1e-9)


def _relative(drawn: pd.Series, wanted: np.ndarray) -> float:
    return float(np.abs(drawn - wanted).max(skipna=False) / wanted.max()) if wanted.max() > 0 else np.nan


def _edges(left: pd.Series) -> np.ndarray:
    ends = left.to_numpy(dtype=float)
    return np.append(ends, 2 * ends[-1] - ends[-2])
