"""Synthetic computing times of an idle machine, which replace measured times so that tests are fast and do not require
R.
"""

import pandas as pd

from dpmultinomial._seeding import stream
from reproduction.papers.balmat2018.speed import R_COLUMNS as COLUMNS

TOTALS, EPSILONS = (10, 20, 30, 40, 50), (0.5, 1.0, 1.5)
STANDARD, IMPROVED = "standard (R dmultinom)", "table (R and C)"
SECONDS = {  # seconds of a posterior: with no rows, and per row of the table
    STANDARD: (0.63, 0.0422),
    IMPROVED: (0.10, 0.00052),
    "table (compiled)": (0.003, 0.00004),
    "exact draws": (0.001, 0.0),
}
CALLS = {
    **{"dmultinom": 0.02, "product": 0.002, "coefficient": 0.003},
    **{"weights by apply": 2.0, "weights in C": 0.04, "weights in C by powers": 0.2},
}
RATIOS = {1: 1.0, 2: 0.57, 3: 0.32}


def seconds(method, total, epsilon):
    """Return a synthetic run time in seconds, which is linear in the number of table rows and does not depend on
    epsilon.
    """
    start, slope = SECONDS[method]
    return start + slope * (total + 1) * (total + 2) / 2


def posteriors(methods, time=seconds, vectors=6):
    """Return rows of the data table for Figure 3, with synthetic times that have 2 % noise."""
    noise = stream(1, "sabotage", *methods)
    rows = [
        {"method": method, "total": m, "rows": (m + 1) * (m + 2) / 2, "epsilon": e, "vector": v, "scaled": True}
        | {"seconds": time(method, m, e) * noise.normal(1, 0.02)}
        for method in methods
        for m in TOTALS
        for e in EPSILONS
        for v in range(vectors)
    ]
    return pd.DataFrame(rows)


def in_r(time=seconds, calls=CALLS, ratios=RATIOS):
    """Return a table of synthetic times in the format of the table r_timings."""
    noise = stream(2, "sabotage")
    figure_3 = posteriors([STANDARD, IMPROVED], time).assign(what="figure_3", repeat=0)
    each = [
        {"what": what, "method": method, "setup": "own p", "repeat": repeat, "seconds": value * noise.normal(1, 0.02)}
        for what, values in (("calls", calls), ("table_2", ratios))
        for method, value in values.items()
        for repeat in range(5)
    ]
    table = pd.concat([figure_3, pd.DataFrame(each)], ignore_index=True)
    return table.assign(environment="R", version="", note="").reindex(columns=list(COLUMNS))


def here():
    """Return tables of synthetic times in the formats of the tables figure_3_timings and table_2_timings."""
    rows = [
        {"setup": "own p", "method": method, "environment": "Python", "repeat": repeat, "seconds": value, "products": 1}
        for method, value in RATIOS.items()
        for repeat in range(3)
    ]
    return {
        "figure_3_timings": posteriors(["table (compiled)", "exact draws"]),
        "table_2_timings": pd.DataFrame(rows),
    }


def growing(method, curve):
    """Return a variant of the function `seconds` in which the time of one method is a given function of the total M."""
    return lambda name, total, epsilon: curve(total) if name == method else seconds(name, total, epsilon)


def with_effect(method):
    """Return a variant of the function `seconds` in which one method takes up to 60 % longer at larger epsilon."""
    return lambda name, total, epsilon: seconds(name, total, epsilon) * (1 + 0.4 * epsilon * (name == method))
