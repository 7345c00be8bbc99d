"""Compute the coverage of intervals for slopes and rates that are estimated from protected counts. The intervals are
based on the exact likelihood or on an analysis that ignores the protection.

The rates are theta = exp(slope x) times a gamma variable with mean 1 and shape 1/cv^2, the exposures are log-normal,
the counts are Poisson(theta E), and the released values follow the mechanism of the case. Both methods analyse the same
data sets.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.regression import Regression
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.exact import Exact
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._seeding import stream

from ..style import CYCLE, DOUBLE, GREY, MARKERS, letters

Array = NDArray[np.float64]
METHODS = ("exact likelihood", "protection ignored")
_SPREAD = 0.8  # standard deviation of the logarithms of the exposures
_WITHHELD = 5.0  # value that replaces a withheld count in the analysis that ignores the protection
LEVEL = 0.95


def table(root_seed: int, *, sets: int, slope: float, cases: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return the coverage of intervals for the slope and the rates, by case and method.

    Parameters
    ----------
    root_seed : root seed of all streams; each data set has its own stream.
    sets : number of simulated sets of areas.
    slope : true slope of the covariate, which is a standard normal variable.
    cases : dictionary from names to the number of areas, the median exposure in expected events, the coefficient of
        variation of the rates, and the noise as in the settings of a scenario.

    Returns
    -------
    DataFrame
        The columns are case, method (`METHODS`), sets, slope and rates (coverage), slope_se and rates_se (standard
        errors of the coverage over data sets), bias (of the slope) and rmse (of the rates).
    """
    rows = []
    for name, case in cases.items():
        law = law_of(dict(case["noise"]))
        scores: dict[str, list[list[float]]] = {method: [] for method in METHODS}
        for i in range(sets):
            rng = stream(root_seed, "studies", "rates", name, str(i))
            x, exposure, theta, released = simulated(case, law, slope, rng)
            ignored = np.round(np.maximum(np.where(np.isnan(released), _WITHHELD, released), 0.0))
            cases_of_methods: list[tuple[Any, Any]] = [(released, law), (ignored, Exact())]
            for method, (values, mechanism) in zip(METHODS, cases_of_methods, strict=True):
                scores[method].append(judged(values, mechanism, x, exposure, theta, slope))
        for method, values_of_sets in scores.items():
            numbers = np.array(values_of_sets)
            mean, error = numbers.mean(axis=0), numbers.std(axis=0) / np.sqrt(sets)
            rows.append((name, method, sets, mean[0], error[0], mean[1], error[1], mean[2], mean[3]))
    names = ["case", "method", "sets", "slope", "slope_se", "rates", "rates_se", "bias", "rmse"]
    return pd.DataFrame(rows, columns=names)


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage table for the documentation, with one row per case and one column per quantity and method.

    Parameters
    ----------
    table : table returned by `table`.

    Returns
    -------
    DataFrame
        The columns are case, sets, "slope, exact likelihood", .., rounded to three decimals.
    """
    wide = table.pivot(index="case", columns="method", values=["slope", "rates"]).round(3)
    order = [(quantity, method) for quantity in ("slope", "rates") for method in METHODS]
    ordered = wide[order].loc[list(dict.fromkeys(table["case"]))]
    ordered.columns = pd.Index([", ".join(pair) for pair in order])
    return ordered.assign(sets=table["sets"].iloc[0]).reset_index()[["case", "sets", *ordered.columns]]


def simulated(
    case: Mapping[str, Any], law: Any, slope: float, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Return one simulated data set of areas: the covariate, the exposures, the true rates and the released values."""
    n, shape = int(case["areas"]), case["cv"] ** -2.0
    x = rng.normal(size=n)
    exposure = np.exp(rng.normal(np.log(case["exposure"]), _SPREAD, n))
    theta = rng.gamma(shape, np.exp(slope * x) / shape)
    released = np.asarray(law.sample(rng.poisson(theta * exposure), rng=rng), dtype=np.float64)
    return x, exposure, theta, released


def judged(released: Array, law: Any, x: Array, exposure: Array, theta: Array, slope: float) -> list[float]:
    """Return four measures of the accuracy of a posterior for the slope and the rates, given the true values. The
    measures are 1 if the interval for the slope contains the true slope and 0 otherwise, the proportion of rates inside
    their intervals, the error of the slope, and the root mean square error of the rates.
    """
    inferred = posterior(Release(released, mechanism=law), prior=Regression(exposure, {"x": x}))
    law_of_slope = inferred.parameters["slope of x"]
    lower, upper = law_of_slope.interval(LEVEL)
    rates = inferred.rates.numbers(LEVEL)
    inside = (rates.lower <= theta) & (theta <= rates.upper)
    error = float(np.sqrt(((rates.mean - theta) ** 2).mean()))
    return [float(lower <= slope <= upper), float(inside.mean()), law_of_slope.mean() - slope, error]


def figure(table: pd.DataFrame) -> Figure:
    """Plot the coverage of the intervals with error bars of +/- 2 standard errors, for the slope in the left panel and
    for the rates in the right panel.
    """
    cases = list(dict.fromkeys(table["case"]))
    drawn = Figure(figsize=(DOUBLE, 0.9 + 0.35 * len(cases)))
    axes = drawn.subplots(1, 2, sharey=True)
    for axis, quantity, title in zip(axes, ("slope", "rates"), ("slope", "rates of the areas"), strict=True):
        for i, method in enumerate(METHODS):
            rows = table[table["method"] == method].set_index("case").loc[cases]
            place = np.arange(len(cases)) + 0.2 * (i - 0.5)
            look = {"fmt": MARKERS[i], "color": CYCLE[i], "ms": 4, "lw": 1.2}
            reach = 2 * rows[f"{quantity}_se"]
            ends = np.minimum(reach, rows[quantity]), np.minimum(reach, 1 - rows[quantity])  # a coverage is in [0, 1]
            axis.errorbar(rows[quantity], place, xerr=np.array(ends), label=method, **look)
        axis.axvline(LEVEL, color=GREY, ls="--", lw=0.8, zorder=0)
        axis.set(xlabel=f"coverage of the {title}", yticks=range(len(cases)), yticklabels=cases)
        axis.set_xlim(None, 1.02)
    axes[0].invert_yaxis()
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    letters(axes)
    return drawn
