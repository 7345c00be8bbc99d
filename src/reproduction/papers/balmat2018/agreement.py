"""Compare the paper's printed statements with the results of the run. The statements are about the model, the
coefficients, Figures 1 and 2, and the computing times.

Statements about figures are checked with the columns that the figures plot. Times (Table 2, footnote 11, Figure 3) are
measured in this run.
"""

import math
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ...verdicts import draw_tests, power
from ...verdicts.rows import NOT_RUN, claim, computed, law, not_run
from . import beyond, laws
from .algorithms import enumerated
from .figure_2 import PROBABILITIES
from .speed import NOT_FOUND

Array = NDArray[np.float64]

Row = dict[str, Any]
_PANELS = "abcd"
_GIBBS_WORTH = 1 / 3  # smallest cost of an independent draw in iterations (autocorrelation time 1.4 to 2.5)
_IMAGE = "The printed figure is an image without numbers, and the paper does not state the noise in its panels."
_AGAIN = 40  # number of triplets whose digits are recomputed
_GROUPS = 20  # number of groups of consecutive triplets, for standard errors
_DIP = (
    "The number is the median number of digits for 0.1 < p < 0.6 minus the median for p < 0.01 or p > 0.95. The "
    "tolerance is half a unit of the printed digit plus 3.5 standard errors"
)


def drawn_rows(tables: dict[str, pd.DataFrame]) -> list[Row]:
    """Return the rows of the agreement table for Figures 1 and 2."""
    rows = [*_figure_1(tables["figure_1"], tables["figure_1_laws"]), *_modes(tables["figure_1_moments"])]
    total = int(tables["figure_2_digits"]["total"].iloc[0])
    return [*rows, *_digits(tables["figure_2"], tables["figure_2_tiny_p"], total), *_triplets(tables["figure_2"])]


def _figure_1(drawn: pd.DataFrame, tests: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table for the draws in every panel of Figure 1. The rows are tests of long
    samples and of the drawn histogram.
    """
    by_method = tests.set_index(["setting", "method"])
    named = (
        (laws.EXACT, "exact draws", laws.LISTING_52, 1.0),
        (laws.GIBBS, "Gibbs draws", laws.LISTING_64, _GIBBS_WORTH),
    )
    for method, name, listing, worth in named:
        for panel in _PANELS:
            about = ("figure_1", f"panel {panel}: r follows the posterior, {name}")
            if (panel, method) not in by_method.index or panel not in set(drawn["setting"]):
                yield not_run(*about, f"This run has no panel {panel}.")
                continue
            long: Any = by_method.loc[(panel, method)]
            bars = _histogram(drawn[drawn["setting"] == panel], method, worth)
            note = (
                f"The reported p-value is twice the smaller of two p-values. The test of {long['draws']:,.0f} draws "
                f"against the enumerated distribution gives {long['p_value']:.2g}, and the test of the plotted "
                f"histogram against the plotted curve gives {bars:.2g}. The noisy counts are set equal to the true "
                "counts, because the noisy counts of the printed panel are unknown."
            )
            seen = power.words({enumerated.SCALE: long["sees_scale"], enumerated.ALPHA: long["sees_alpha"]})
            p_value = float(np.minimum(1.0, 2 * np.minimum(long["p_value"], bars)))
            yield law(*about, p_value, note, sees=seen)
            as_run: Any = by_method.loc[(panel, listing)]
            words = {enumerated.SCALE: as_run["sees_scale"], enumerated.ALPHA: as_run["sees_alpha"]}
            note = f"The test uses one run of {listing} as R executes it. In this run, p is never updated."
            yield law(*about, as_run["p_value"], note, "published", sees=power.words(words))
    kept = float(tests["kept"].iloc[0])
    typo = (
        "The rows 1,001 through 4,000 are 3,000 rows, but the listing (1001:5000) and other passages of the text imply "
        "4,000 rows."
    )
    yield computed("figure_1", "kept iterations", kept)
    yield computed("figure_1", "kept iterations, from the row numbers of section 6.4", kept, typo)
    yield _curve(drawn)


def _histogram(panel: pd.DataFrame, method: str, worth: float) -> float:
    bars, curve = (panel[panel["kind"] == kind] for kind in (method, "density"))
    return draw_tests.histogram(bars["x"], bars["y"], curve["x"], curve["y"], worth * bars["draws"].iloc[0])


def _curve(drawn: pd.DataFrame) -> Row:
    """Return the row of the agreement table that compares the plotted density of the share r with the density computed
    by enumeration, over all panels.
    """
    gaps = []
    for _, line in drawn[drawn["kind"] == "density"].groupby("setting"):
        counts = [float(count) for count in line["counts"].iloc[0].split(",")]
        model = {"total": int(sum(counts)), "scale": 2 / line["epsilon"].iloc[0]}
        gaps.append(np.abs(line["y"] - enumerated.density(line["x"].to_numpy(), counts, **model)).max(skipna=False))
    note = "The left side is the largest difference between the plotted density of r and the enumerated density."
    return claim("figure_1", "the curves are the posterior's density", gaps, "=", 0, note, rounding=1e-8)


def _modes(moments: pd.DataFrame) -> Iterator[Row]:
    """Yield rows of the agreement table for the estimate of the mode of a histogram (steps 7 and 8 of section 5.1). The
    panels show the mode, but the paper does not print it.
    """
    of_r = moments[moments["quantity"] == "r"].set_index(["setting", "method"])["mode"]
    for panel in _PANELS:
        about = ("figure_1", f"panel {panel}: mode of r")
        if (panel, "gibbs") not in of_r:
            yield not_run(*about, f"This run has no panel {panel}.")
            continue
        exact: Any = of_r[panel, "exact"]
        note = (
            "The mode is computed from the five histogram bins with the most draws (of 250 bins) and averaged over "
            f"chains, as in section 6.4. The mode of the exact density is {exact:.3f}. {_IMAGE}"
        )
        yield computed(*about, of_r[panel, "gibbs"], note)


def _digits(drawn: pd.DataFrame, tiny: pd.DataFrame, total: int) -> Iterator[Row]:
    names = ["all differences are beyond the twelfth digit, no p below 1e-6"]
    names += [f"dip near the end points of {p}, digits" for p in PROBABILITIES]
    ordinary = drawn.loc[drawn[list(PROBABILITIES)].min(axis=1) > 1e-6, "pair"]
    if total != 50:
        yield from (not_run("figure_2", name, f"This run used M = {total} instead of 50.") for name in names)
    else:
        below = int((drawn["pair"] < 12).sum())
        note = (
            "The left side is the smallest number of digits over triplets in which no p is below 1e-6. Over all "
            f"triplets, the smallest number of digits is {drawn['pair'].min():.2f}, and the number of triplets with "
            f"fewer than 12 digits is {below}."
        )
        yield claim("figure_2", names[0], ordinary.min(skipna=False), ">", 12, note)
        for name, p in zip(names[1:], PROBABILITIES, strict=True):
            columns = drawn[p].to_numpy(dtype=float), drawn["pair"].to_numpy(dtype=float)
            dip, error = _dip(*columns), _dip_error(*columns)
            allowed = f", in total {0.05 / error + 3.5:.0f} standard errors" if error > 0 else ""
            yield computed("figure_2", name, dip, f"{_DIP}{allowed}.", mc_se=error)
    yield computed("figure_2", "random triplets", len(drawn))
    apart = np.abs(drawn[list(PROBABILITIES)].sum(axis=1, skipna=False) - 1)
    note = "The left side is the largest distance of a sum from one."
    yield claim("figure_2", "every triplet adds up to one", apart, "=", 0, note, rounding=1e-12)
    yield _footnote_12(drawn[drawn[list(PROBABILITIES)].min(axis=1) > 1e-6].head(_AGAIN), total)
    least: Any = tiny["pair"].idxmin()
    worst = tiny.loc[least]
    note = (
        f"The left side is the smallest number of digits, which occurs at p1 = {worst['p1']:g}. There, the factor "
        "exp(.) underflows before it is multiplied by the coefficient."
    )
    quantity = "all differences are beyond the twelfth digit, at any p"
    yield claim("figure_2_tiny_p", quantity, worst["pair"], ">", 12, note, "as_written")


def _footnote_12(points: pd.DataFrame, total: int) -> Row:
    """Return the row of the agreement table that checks the numbers of significant digits of the plotted triplets of
    probabilities. The numbers are compared with numbers that are recomputed with Python's integers, logarithms and log
    gamma function.
    """
    gaps = []
    for p, digits in zip(points[list(PROBABILITIES)].to_numpy().tolist(), points["pair"], strict=True):
        gaps.append(_fewest(total, tuple(p)) - digits)
    worst = float(max(np.max(np.abs(gaps)), 2 * abs(np.mean(gaps)))) if gaps else np.nan
    note = (
        f"The numbers of digits for {len(gaps)} triplets are compared with recomputed numbers. The left side is the "
        "larger of the largest absolute difference and twice the absolute mean difference. The tolerance of 0.3 digits "
        "allows for different rounding errors."
    )
    return claim(
        "figure_2", "the digits are computed as in footnote 12", worst, "=", 0, note, "as_written", rounding=0.3
    )


@cache
def _fewest(total: int, p: tuple[float, ...]) -> float:
    """Return the smallest number of digits to which two computations of a multinomial probability agree. The first
    computation is the product of the coefficient and the powers, the second is the formula of R's dmultinom, and the
    minimum is over all compositions.
    """
    gammas, fewest = [math.lgamma(k + 1) for k in range(total + 1)], math.inf
    first, second, third = ([k * math.log(x) for k in range(total + 1)] for x in p)
    one, two, three = ([x - g for x, g in zip(logs, gammas, strict=True)] for logs in (first, second, third))
    for s1, s0, s2, coefficient in _compositions(total):
        product = coefficient * math.exp(first[s1] + second[s0] + third[s2])
        gap = abs(product - math.exp(gammas[total] + (one[s1] + two[s0] + three[s2])))
        if gap and product > sys.float_info.min:
            fewest = min(fewest, math.log10(product) - math.log10(gap))
    return fewest


@cache
def _compositions(total: int) -> list[tuple[int, int, int, int]]:
    """Return all compositions of a total into three parts, with their multinomial coefficients."""
    return [
        (s1, s0, total - s1 - s0, math.comb(total, s1) * math.comb(total - s1, s0))
        for s1 in range(total + 1)
        for s0 in range(total + 1 - s1)
    ]


def _dip(points: Array, digits: Array) -> float:
    """Return the loss of significant digits for values of p near 0 or 1, as a difference of two medians. The difference
    is the median number of digits for p from 0.1 to 0.6, minus the median number of digits for p below 0.01 or above
    0.95.
    """
    outer = (points < 0.01) | (points > 0.95)
    middle = (points >= 0.1) & (points <= 0.6)
    return _median(digits[middle]) - _median(digits[outer])


def _median(values: Array) -> float:
    """Return the median of the finite values, or NaN if no value is finite."""
    finite = values[~np.isnan(values)]
    return float(np.median(finite)) if len(finite) else np.nan


def _dip_error(points: Array, digits: Array) -> float:
    """Return the standard error of a difference between two median numbers of digits, estimated from several groups of
    triplets. The result is NaN if fewer than two groups are usable.
    """
    groups = zip(np.array_split(points, _GROUPS), np.array_split(digits, _GROUPS), strict=True)
    dips = np.array([_dip(*group) for group in groups])
    usable = dips[np.isfinite(dips)]
    return float(usable.std(ddof=1) / np.sqrt(len(usable))) if len(usable) > 1 else np.nan


def _triplets(drawn: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of the agreement table that check whether the plotted triplets of probabilities follow the three
    stages of footnote 13.
    """
    margins = {}
    for name in PROBABILITIES:
        p = drawn[name].to_numpy()
        test = laws.kolmogorov(p, laws.three_stages(p))
        shift = np.abs(laws.three_stages(_UNIT, width=0.99) - laws.three_stages(_UNIT)).max() / 0.01
        seen = power.words({"width of the second stage": power.kolmogorov(shift, len(p), laws.LEVEL)})
        note = "The p-value is that of a Kolmogorov-Smirnov test."
        yield law("figure_2_laws", f"{name} follows the three stages", test["p_value"], note, sees=seen)
        margins[name] = ((p > 0.75).mean(), (p < 0.25).mean())
    nearest = min(margins, key=lambda name: margins[name][1] - margins[name][0])
    above, below = margins[nearest]
    error = np.sqrt((below + above) / len(drawn))
    note = (
        "The left side is the proportion of triplets with p > 3/4, and the right side is the proportion with p < 1/4. "
        f"Of the three p, the row shows the one with the smallest difference ({nearest})."
    )
    yield claim("figure_2_laws", "the points become sparser as p increases", above, "<", below, note, mc_se=error)


_UNIT = np.linspace(0, 1, 1001)


_TICK = "Some times in this run are below the clock resolution of one millisecond."
_NO_C = "The installed version of R could not compile C."
_STANDARD, _IMPROVED = "standard (R dmultinom)", "table (R and C)"
_SAME = {"standard": (_STANDARD, "standard (Python)"), "improved": (_IMPROVED, "table (compiled)")}
_LARGEST_EFFECT = 0.15  # largest relative effect of epsilon on time that counts as no effect
_MACHINE = (
    "The value is a ratio of CPU times, which depends on the machine and on the versions of the programs. The paper "
    "states neither."
)


def timing_rows(tables: dict[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Return the rows of the agreement table for the computing times."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = [*_table_2(tables["table_2"]), *_calls(tables["r_timings"]), *_figure_3(tables["figure_3"])]
        rows += _growth(tables["figure_3_growth"])
    if (tables["r_timings"]["seconds"] == 0).any():  # the ratio to a time of 0 is undefined
        rows = [row if np.isfinite([row["ours"], row["mc_se"]]).all() else _too_short(row) for row in rows]
    return rows


def _too_short(row: dict[str, Any]) -> dict[str, Any]:
    return row if row["variant"] == NOT_RUN else not_run(row["artefact"], row["quantity"], _TICK)


def _table_2(table: pd.DataFrame) -> list[dict[str, Any]]:
    own_p = table[(table["setup"] == "own p") & (table["environment"] == "R")].set_index("method")
    names = [f"method {method} relative to method 1" for method in (2, 3)]
    claims = ["logarithms are faster than powers", "compiled C is faster than both R methods"]
    if not {2, 3} <= set(own_p.index):
        reason = f"{NOT_FOUND if own_p.empty else _NO_C}{_in_python(table)}"
        return [not_run("table_2", name, reason) for name in (*names, *claims)]
    two, three = (cast("pd.Series", own_p.loc[method]) for method in (2, 3))
    errors = [1.2533 * row["sd"] / np.sqrt(row["repeats"]) for row in (two, three)]  # of medians
    best, error = (1.0, 0.0) if two["ratio"] > 1 else (two["ratio"], errors[0])
    how = "The R code is vectorised with a different p for each product, and each ratio is the median over the repeats."
    slower = "The left side is the time of method 2 divided by the time of method 1."
    compiled = (
        "The left side is the time of the C code, and the right side is the time of the faster R method, both divided "
        "by the time of method 1."
    )
    return [
        computed("table_2", names[0], two["ratio"], f"{_MACHINE} {how}", "as_written", errors[0]),
        computed("table_2", names[1], three["ratio"], f"{_MACHINE} {how}", "as_written", errors[1]),
        claim("table_2", claims[0], two["ratio"], "<", 1, f"{slower} {how}", "as_written", errors[0]),
        claim(
            *("table_2", claims[1], three["ratio"], "<", best),
            f"{compiled} {how}",
            "as_written",
            float(np.hypot(errors[1], error)),
        ),
    ]


def _in_python(table: pd.DataFrame) -> str:
    """Return a sentence that states the computing times of methods 2 and 3 relative to method 1 in Python. The figure
    shows these ratios even if R is not installed.
    """
    own_p = table[(table["setup"] == "own p") & (table["environment"] == "Python")].set_index("method")["ratio"]
    if not {2, 3} <= set(own_p.index):
        return ""
    return (
        f" The figure shows times in Python, where the times of methods 2 and 3 are {own_p[2]:.2g} and {own_p[3]:.2g} "
        "times the time of method 1."
    )


def _calls(timings: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the agreement table that concern the run times in footnote 11 and in two comments in the
    listings. Each run time is the minimum over repeated calls.
    """
    calls = timings[(timings["what"] == "calls") & timings["seconds"].notna()].groupby("method")["seconds"]
    least = calls.min()
    error: pd.Series = calls.std(ddof=1) / np.sqrt(calls.size())
    wanted = {
        "dmultinom takes longer than the bare product": ("dmultinom", "product"),
        "the coefficients take most of the time of dmultinom": ("coefficient", "dmultinom"),
        "in C, exp of logarithms is faster than powers": ("weights in C by powers", "weights in C"),
        "time of the weights by apply relative to C": ("weights by apply", "weights in C"),
    }
    rows = []
    for quantity, (above, below) in wanted.items():
        if not {above, below} <= set(least.index):
            rows.append(not_run("r_timings", quantity, NOT_FOUND if least.empty else _NO_C))
            continue
        ratio = least[above] / least[below]
        relative = float(np.hypot(error[above] / least[above], error[below] / least[below]))
        if quantity == "time of the weights by apply relative to C":
            rows.append(computed("r_timings", quantity, ratio, _MACHINE, "as_written", ratio * relative))
        elif above == "coefficient":
            note = (
                f"The coefficients take a proportion of {ratio:.2f} of the time of dmultinom. The remaining time is "
                "spent on checks and by the interpreter."
            )
            rows.append(claim("r_timings", quantity, ratio, ">", 0.5, note, "as_written", ratio * relative))
        else:
            note = f"The left side is the log of the ratio of the two times. The ratio is {ratio:.3g}."
            rows.append(claim("r_timings", quantity, np.log(ratio), ">", 0, note, "as_written", relative))
    return rows


def _figure_3(table: pd.DataFrame) -> list[dict[str, Any]]:
    measured = table[table["median"].notna()]
    wide = measured.pivot_table(index=["total", "epsilon"], columns="method", values="median")
    about, faster = (
        "time of the standard relative to the improved algorithm at M = 50",
        "the improved algorithm is faster at every M",
    )
    always = [*_longer(measured), *_seconds(measured)]
    vectors = computed("figure_3", "random count vectors", measured["runs"].max())
    if not {_STANDARD, _IMPROVED} <= set(wide.columns):
        notes = table.loc[table["method"].isin([_STANDARD, _IMPROVED]), "note"]
        reason = next((note for note in notes if note), _NO_C)
        pair = [_SAME[name][1] for name in ("standard", "improved")]  # the same algorithms in Python
        if not set(pair) <= set(wide.columns):
            return [vectors, *always, *(not_run("figure_3", name, reason) for name in (about, faster))]
        ratio = wide[pair[0]] / wide[pair[1]]
        shown = (
            f"{reason} The figure shows the same algorithms in Python, for which the ratio of the two times is at "
            f"least {ratio.min():.3g}."
        )
        rows = [claim("figure_3", faster, np.log(ratio.min()), ">", 0, shown, "as_written", _relative(measured, pair))]
        return [vectors, *always, not_run("figure_3", about, shown), *rows]
    ratio = wide[_STANDARD] / wide[_IMPROVED]
    if not wide[_IMPROVED].min() > 0:
        return [vectors, *always, *(not_run("figure_3", name, _TICK) for name in (about, faster))]
    errors = measured.assign(e=1.2533 * measured["sd"] / np.sqrt(measured["runs"]) / measured["median"])
    error = errors.pivot_table(index=["total", "epsilon"], columns="method", values="e", dropna=False)
    relative = np.hypot(error[_STANDARD], error[_IMPROVED])
    worst: Any = ratio.idxmin()
    note = (
        "The left side is the log of the smallest ratio of the two times. The smallest ratio is "
        f"{ratio[worst]:.1f}, at M = {worst[0]:g} and epsilon = {worst[1]:g}."
    )
    rows = [vectors, *always]
    rows += [claim("figure_3", faster, np.log(ratio[worst]), ">", 0, note, "as_written", relative[worst])]
    at_50 = ratio[ratio.index.get_level_values("total") == 50]
    if at_50.empty:
        return [*rows, not_run("figure_3", about, "This run does not include M = 50.")]
    others = measured[measured["total"] == 50].groupby("method")["median"].median()
    more = [
        f" The standard algorithm in R takes {others[_STANDARD] / others[m]:.0f} times as long as the method '{m}'."
        for m in ("table (compiled)", "exact draws")
        if m in others
    ]
    note = f"{_MACHINE} The ratio is the median over epsilons.{''.join(more)}"
    spread = at_50.median() * np.sqrt(np.mean(relative[at_50.index] ** 2) / len(at_50))
    return [*rows, computed("figure_3", about, at_50.median(), note, "as_written", spread)]


def _relative(measured: pd.DataFrame, pair: list[str]) -> float:
    """Return the relative standard error of a ratio of two median computing times, given the relative errors of the two
    methods. The error of a single run counts as 100 %.
    """
    errors = measured.assign(e=1.2533 * measured["sd"] / np.sqrt(measured["runs"]) / measured["median"])
    by_method = errors[errors["method"].isin(pair)].fillna({"e": 1.0}).groupby("method")["e"].max()
    return float(np.sqrt((by_method**2).sum()))


def _of(measured: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the computing times of an algorithm in R or, if no times were measured in R, of the same algorithm in
    Python.
    """
    for method in _SAME[name]:
        if (measured["method"] == method).any():
            return measured[measured["method"] == method]
    return measured.iloc[:0]


def _longer(measured: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the agreement table for the claim that computing times increase with M. The plotted seconds
    are medians over the values of epsilon.
    """
    quantity, steps = "both algorithms take longer as M grows", []
    for name in _SAME:
        by_total = _of(measured, name).groupby("total")["median"].median()
        steps += list(np.diff(np.log(by_total[by_total > 0])))
    if not steps:
        return [not_run("figure_3", quantity, "This run includes only one value of M.")]
    note = (
        "The left side is the smallest increase of the log of the median time from one M to the next. If R was not "
        "measured, the times are those of the same algorithms in Python."
    )
    return [claim("figure_3", quantity, steps, ">", 0, note, "as_written")]


def _seconds(measured: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the agreement table for the computing time of an analysis. The figure in the paper is an image
    without numbers.
    """
    quantity = "reduction from many minutes to seconds: seconds at M = 50"
    by_method = {name: _of(measured, name) for name in _SAME}
    secs = {name: rows.loc[rows["total"] == 50, "median"].median() for name, rows in by_method.items()}
    if np.isnan(secs["improved"]):
        return [not_run("figure_3", quantity, "This run does not include M = 50.")]
    note = (
        f"The value is the time of the improved algorithm. The standard algorithm took {secs['standard']:.3g} seconds. "
        "Figure 3 of the paper is an image without numbers."
    )
    return [computed("figure_3", quantity, secs["improved"], note, "as_written")]


_GROWS = {"standard": "appears to grow", "improved": "grows"}


def _growth(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the agreement table for the growth of the computing time with the total count M, and for the
    effect of epsilon. The times are measured in R or, if R was not measured, for the same algorithm in Python.
    """
    by_method = table.set_index("method")
    rows = []
    for name, curve in (("standard", "exponential"), ("improved", "linear")):
        grows = f"the {name} algorithm's time {_GROWS[name]} {curve}ly in M"
        same = f"epsilon has no effect on the {name} algorithm"
        method = next((m for m in _SAME[name] if m in by_method.index), None)
        if method is None:
            reason = "This run includes fewer than three values of M."
            rows += [not_run("figure_3_growth", q, reason) for q in (grows, same)]
            continue
        one = cast("pd.Series", by_method.loc[method])
        fitted = "an exponential curve" if curve == "exponential" else "a straight line"
        note = (
            f"Method '{method}': the left side is the relative misfit of a straight line in the number of table rows, "
            f"{one['rows_misfit']:.3f}, minus the relative misfit of {fitted} in M, {one[f'{curve}_misfit']:.3f}. The "
            "time grows quadratically in M."
        )
        margin, error = one[f"{curve}_margin"], one[f"{curve}_se"]
        rows.append(claim("figure_3_growth", grows, margin, ">", 0, note, "as_written", error))
        effect, error = one["epsilon_effect"], one["epsilon_effect_se"]
        if np.isnan(error):
            reason = f"Method '{method}': with only one count vector, the standard error cannot be estimated."
            rows.append(not_run("figure_3_growth", same, reason))
            continue
        note = (
            f"Method '{method}': at the largest M, the largest relative difference between epsilons is "
            f"{100 * effect:.1f} %. A difference of up to 15 % is counted as no effect."
        )
        rows.append(claim("figure_3_growth", same, effect, "<", _LARGEST_EFFECT, note, "as_written", error))
    return rows


_ITERATIONS = 5000
_CLOSE = 1e-6
_COEFFICIENTS = "the coefficients are M!/(S1! S0! Serr!)"
_MISPRINT = "row 5: M!/((M - 2)!0!2!) is the coefficient"


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the reproduced values as a table with the columns artefact, quantity, variant, ours, mc_se and note. Every
    published quantity has one row for each of its variants.
    """
    rows = [*_table_1(tables["table_1"]), _categories(tables["table_1_categories"])]
    rows += [*_equation_3(tables["equation_3"]), *_privacy(tables["privacy"])]
    rows += [*_listings(tables["figure_1_moments"]), _no_noise(tables["figure_1_moments"])]
    rows += [*_trapped(tables["trapped"]), *drawn_rows(tables), *_calibration(tables)]
    return pd.DataFrame([*rows, *timing_rows(tables)])


def _table_1(table: pd.DataFrame) -> list[dict[str, Any]]:
    total = int(table["S1"].max())
    at_50 = {
        "rows at M = 50": (float(len(table)), "The number of rows is (M + 1)(M + 2)/2."),
        "coefficient evaluations of the standard algorithm": (
            float(len(table) * _ITERATIONS),
            "The number of evaluations is the number of rows times the number of iterations.",
        ),
        "unique evaluations, percent": (
            100 / _ITERATIONS,
            "Each coefficient is evaluated once in every iteration, although one evaluation is sufficient.",
        ),
    }
    by_row = table.set_index("i")["coefficient"]
    for i in range(1, 11):
        at_50[f"row {i}: coefficient at M = 50"] = (by_row.get(i, np.nan), "The coefficient is M!/(S1! S0! Serr!).")
    misprint = (
        "This is a misprint. Row 5 is (M - 2, 1, 1), so 0!2! should read 1!1!. The recurrence printed in this row is "
        "correct."
    )
    if total == 50:
        rows = [computed("table_1", name, *value) for name, value in at_50.items()]
    else:
        rows = [not_run("table_1", name, f"This run used M = {total} instead of 50.") for name in at_50]
    rows.append(claim("table_1", _MISPRINT, by_row.get(5, np.nan), "=", total * (total - 1) / 2, misprint))
    column, words = _recurrences(table, total)
    pairs = zip(table["S1"].astype(int), table["S0"].astype(int), strict=True)
    multiplicities = np.array([float(math.comb(total, s1) * math.comb(total - s1, s0)) for s1, s0 in pairs])
    apart = np.abs(table["coefficient"] / multiplicities - 1)
    index, linear = table["i"].to_numpy(float), total - table["k"].to_numpy(float) + 1
    bend = float(np.abs(linear - np.polyval(np.polyfit(index, linear, 1), index)).max())
    exact = "The left side is the largest relative error of the coefficients, compared with exact integers."
    deviation = "The left side is the largest relative deviation of this rule from the computed coefficients."
    first = (
        "The rule is correct only for the first row of each block. In general, the divisor is k - S0, and the last row "
        "of a block is a copy of its first row."
    )
    quadratic = (
        "The integers are linear in k, but the row index is quadratic in k. The left side is the largest distance of "
        "the integers from a straight line in the row index."
    )
    return [
        *rows,
        claim("table_1", _COEFFICIENTS, apart, "=", 0, exact, rounding=1e-12),
        claim("table_1", _RULES[0], column, "=", 0, deviation, rounding=1e-12),
        claim("table_1", _RULES[1], words, "=", 0, f"{first} {deviation}", rounding=1e-12),
        claim("table_1", _RULES[2], bend, "=", 0, quadratic, rounding=_CLOSE),
    ]


_RULES = (
    "last column: (M - k + 1)/(k - S0), and the last row of a block copies its first",
    "the coefficient of row i is that of row i - k times (M - k + 1)/k",
    "the integers in the ratio are linear in the row index",
)


def _recurrences(table: pd.DataFrame, total: int) -> tuple[float, float]:
    """Return the largest relative errors of a recurrence for the multinomial coefficients, separately for two versions
    of the recurrence. The errors are relative to the computed coefficients. The versions are the last column of Table 1
    and the rule in the text of the paper.
    """
    mc, k, s0 = (table[name].to_numpy(float) for name in ("coefficient", "k", "S0"))
    column, words = [0.0], [0.0]
    for i in range(1, len(table)):
        before = mc[int(i - k[i])]
        ours = mc[i]
        stated = before if s0[i] == k[i] else before * (total - k[i] + 1) / (k[i] - s0[i])
        column.append(abs(stated - ours) / ours)
        words.append(abs(before * (total - k[i] + 1) / k[i] - ours) / ours)
    return float(np.max(column)), float(np.max(words))


def _categories(table: pd.DataFrame) -> dict[str, Any]:
    numbers = ", ".join(map(str, table["categories"]))
    note = f"The left side is the largest relative error of the coefficients for {numbers} categories."
    quantity = "the table extends to any number of categories"
    return claim("table_1_categories", quantity, table["largest_error"].max(), "=", 0, note, rounding=1e-12)


def _equation_3(table: pd.DataFrame) -> list[dict[str, Any]]:
    value = table.set_index(["law", "quantity", "way"])["value"]
    mean, given = ("mean of r", "mean of r given S")
    rows = []
    for name in (mean, given):
        model = value[beyond.MODEL, name, "closed form"]
        under, again = (value[beyond.EQUATION, name, way] for way in ("quadrature", "simulation"))
        note = (
            f"The {name} is {under:.4f} under equation (3) ({again:.4f} by simulation) and {model:.4f} under the model "
            "(erratum 13)."
        )
        joint_law = f"equation (3) is the joint distribution: {name}"
        rows.append(claim("equation_3", joint_law, under, "=", model, note, rounding=_CLOSE))
    apart = value[beyond.EQUATION, "distance of the laws of S", "quadrature"]
    note = (
        f"The total variation distance between this distribution and the model's distribution of S is {apart:.3f} "
        "(erratum 13)."
    )
    rows.append(claim("equation_3", "equation (4) is the distribution of S", apart, "=", 0, note, rounding=_CLOSE))
    gap = abs(value[beyond.MODEL, mean, "closed form"] - value[beyond.MODEL, mean, "quadrature"])
    note = (
        "The posterior has a closed form, a finite mixture of Beta distributions. The mean of r under this mixture "
        f"differs from the mean by quadrature by {gap:.0e}."
    )
    rows.append(claim("equation_3", "numerical evaluation is unavoidable", gap, ">", 0, note, rounding=_CLOSE))
    return rows


def _privacy(table: pd.DataFrame) -> list[dict[str, Any]]:
    lost = table.set_index("release")["lost"] / table["claimed"].to_numpy()
    claimed = table.set_index("release")["claimed"]
    wrong = (
        "If one partition moves to another category, two counts change by one each. Therefore, noise of scale "
        "1/epsilon has a privacy cost of 2 epsilon instead of epsilon."
    )
    two = "Two counts change by one each, and each count has noise of scale 2/epsilon."
    start = (
        f"The privacy cost is at least {lost[beyond.FIRST_P]:.2f} epsilon. In fact, no finite epsilon is sufficient, "
        "because some outputs have probability 0 for one data set and a positive probability for a neighbouring data "
        "set."
    )
    spent = claimed[beyond.FIRST_P] * lost[beyond.FIRST_P]
    return [
        computed("privacy", "privacy cost of the noise in the text at epsilon = 1", lost[beyond.TEXT], wrong),
        computed("privacy", "privacy cost of the noise in the listings at epsilon = 1", lost[beyond.LISTINGS], two),
        claim(
            "privacy",
            "starting from the true counts preserves the privacy guarantee",
            spent,
            "<=",
            claimed[beyond.FIRST_P],
            start,
        ),
    ]


def _listings(moments: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the agreement table for the standard deviation of the mean of r over several runs of a code
    listing. This standard deviation is compared with the standard deviation over Gibbs chains for the same data.
    """
    of_r = moments[moments["quantity"] == "r"].set_index(["method", "setting"])[["spread", "runs"]]
    gibbs = of_r.loc["gibbs"]
    rows = []
    for listing in ("listing 5.2", "listing 6.4"):
        method = next(m for m in of_r.index.get_level_values(0) if m.startswith(listing))
        wide = of_r.loc[method]
        worst = (wide["spread"] - 3 * gibbs["spread"]).idxmax()
        spread, runs = wide.loc[worst]
        thrice, error = 3 * gibbs.loc[worst, "spread"], spread / np.sqrt(2 * (runs - 1))
        note = (
            f"Over runs on the same data (panel {worst}), the mean of r has a standard deviation of {spread:.3f}, "
            "because the listing never updates p. The right side is three times the standard deviation over Gibbs "
            "chains."
        )
        about = ("figure_1", f"{listing} gives the same posterior in every run")
        rows.append(claim(*about, spread, "<=", thrice, note, "published", error))
    return rows


def _no_noise(moments: pd.DataFrame) -> dict[str, Any]:
    """Return the row of the agreement table for the posterior of r without noise. This posterior is Beta(1 + S1, 1 +
    S0), evaluated at the counts of the panels.
    """
    about = ("figure_1", "without noise, the posterior has a closed form")
    rows = moments[(moments["quantity"] == "r") & (moments["method"] == "no noise")]
    if "S1" not in rows:
        return not_run(*about, "The table has no counts.")
    s1, s0 = rows["S1"].to_numpy(float), rows["S0"].to_numpy(float)
    gap = np.abs(rows["mean"].to_numpy() - (1 + s1) / (2 + s1 + s0)).max()
    note = "The left side is the largest difference from the mean of the distribution Beta(1 + S1, 1 + S0)."
    return claim(*about, gap, "=", 0, note, rounding=_CLOSE)


def _calibration(tables: dict[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Return the rows of the agreement table that concern the calibration of the package's posteriors. If a posterior
    is calibrated, the posterior distribution function at the true r is uniformly distributed.

    The alternative hypothesis of the score test is a posterior whose sd is too small by a relative error d. In a normal
    approximation, the integral transform is then Phi((1 + d) Z).
    """
    drawn, sizes, rows = tables["calibration"], tables["calibration_coverage"]["replications"], []
    for method in ("exact", "gibbs"):
        p_values, seen = [], []
        for _, of in drawn[drawn["method"] == method].groupby("epsilon"):
            ends = of["bin"].to_numpy() + 1 / len(of)
            size = float(sizes.iloc[0])
            counts = np.diff(of["ecdf_difference"].to_numpy() + ends, prepend=0.0) * size
            moved = np.diff(ndtr(ndtri(np.minimum(ends, 1.0)) / (1 + _NARROWER)), prepend=0.0) * size
            expected = np.full(len(of), size / len(of))
            p, sees = draw_tests.scored(counts, expected, moved, size, step=_NARROWER, level=laws.LEVEL)
            p_values.append(p)
            seen.append(sees)
        note = (
            f"For {size:,.0f} simulated data sets and each epsilon, a chi-squared test with {len(counts)} bins is "
            "combined with a score test of the posterior's standard deviation. The reported p-value is the smallest "
            f"p-value times the number of values of epsilon, {len(seen)}."
        )
        joint = float(np.minimum(1.0, len(p_values) * np.min(p_values)))
        words = power.words({"posterior's standard deviation": max(seen)})
        about = ("calibration", f"the integral transform of the true r is uniform, {method}")
        rows.append(law(*about, joint, note, sees=words))
    return rows


_NARROWER = 0.01
_TRAPPED = ("step 6.4 without alpha keeps moving", "alpha keeps draws from being trapped")


def _trapped(table: pd.DataFrame) -> list[dict[str, Any]]:
    without, with_alpha = (table[table["alpha"] == a].set_index("setting") for a in (0.0, 1.0))
    worst: Any = without["trapped"].idxmax()
    one = without.loc[worst]
    share, error = _share(one)
    kept, error_kept = _share(with_alpha.loc[worst])
    moving, helped = (("trapped", what) for what in _TRAPPED)
    note = f"Panel {worst}: without alpha, {one['trapped']:.0f} of {one['chains']:.0f} chains end at a vertex."
    sides = "The left side is the proportion of such chains with alpha, and the right side is that without alpha."
    return [
        claim(*moving, share, "=", 0, f"{note} See erratum 4.", "as_written", error),
        claim(*helped, kept, "<", share, f"{note} {sides}", mc_se=float(np.hypot(error, error_kept))),
    ]


def _share(row: pd.Series) -> tuple[float, float]:
    """Return the proportion of chains that are trapped at a vertex of the simplex, and the standard error of this
    proportion. For the standard error, one success and one failure are added (Laplace).
    """
    share = row["trapped"] / row["chains"]
    safe = (row["trapped"] + 1) / (row["chains"] + 2)
    return share, float(np.sqrt(safe * (1 - safe) / (row["chains"] + 2)))
