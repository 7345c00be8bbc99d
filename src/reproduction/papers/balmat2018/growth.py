"""What grows how in Figure 3: three curves for every method, and the effect of epsilon."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
COLUMNS = (
    *("method", "total", "seconds_at_0", "microseconds_per_row", "r_squared", "rows_misfit", "exponential_misfit"),
    *("linear_misfit", "exponential_margin", "exponential_se", "linear_margin", "linear_se"),
    *("epsilon_effect", "epsilon_effect_se", "at_largest", "times_table"),
)
_TABLE = "table (compiled)"


def figure_3_growth(*, figure_3: pd.DataFrame) -> pd.DataFrame:
    """Straight lines of seconds against table rows, against M, and exponentials in M, for every method.

    Rows are quadratic in M, so a straight line there is quadratic growth in M: not exponential (the paper on the
    standard algorithm), not linear (the paper on its table).

    Returns
    -------
    DataFrame with `COLUMNS`: the line against rows (`seconds_at_0`, `microseconds_per_row`, `r_squared`); root mean
        square of the relative residuals of the line against rows, of a exp(b M) and of the line against M
        (``*_misfit``); ``exponential_margin``, ``linear_margin``: misfit of the line against rows less that of the
        other curve, above 0 where the paper's words fit better, means over the epsilons with their standard errors;
        `epsilon_effect`: largest relative difference between epsilons at the largest M, and its standard error over the
        count vectors; `at_largest`: seconds; `times_table`: relative to the compiled table.
    """
    measured = figure_3[figure_3["median"].notna()]
    rows = [_method(str(name), group) for name, group in measured.groupby("method", sort=False)]
    table = pd.DataFrame([row for row in rows if row], columns=list(COLUMNS))
    base = table.loc[table["method"] == _TABLE, "at_largest"]
    return table.assign(times_table=table["at_largest"] / (base.iloc[0] if len(base) else np.nan))


def misfits(total: Array, rows: Array, seconds: Array) -> tuple[float, float, float]:
    """Root mean square relative residuals of the best line against rows, exponential in M, and line against M.

    Each curve has two parameters and is fitted to the least sum of squared relative residuals. NaN where a time is 0,
    below the tick of the clock.
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
    least = middle.min() if middle.min() > 0 else np.nan  # 0: below the tick of the clock
    errors = 1.2533 * ends["sd"].to_numpy() / np.sqrt(ends["runs"])  # of a median: sqrt(pi/2) that of a mean
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
